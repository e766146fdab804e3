"""The command ``meniscus`` that lies beside the library in the wheel."""

import os
import pathlib
import shutil
import stat
import tempfile


def command() -> pathlib.Path:
    """The path of the command; MENISCUS_COMMAND names another, for those who build their own."""
    given = os.environ.get("MENISCUS_COMMAND")
    if given:
        return pathlib.Path(given)
    path = pathlib.Path(__file__).with_name("bin") / "meniscus"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: this wheel was made without the command")
    if os.access(path, os.X_OK):
        return path
    # Some installers forget that a file can be run.
    try:
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        return path
    except OSError:
        copy = pathlib.Path(tempfile.mkdtemp(prefix="meniscus_")) / "meniscus"
        shutil.copyfile(path, copy)
        copy.chmod(0o755)
        return copy
