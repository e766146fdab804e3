"""A bake: export, then the command as a child process. Nothing here waits, so Blender goes on.

    job = Job(context, domain)
    while job.step(0.03): ...        # called by a timer; each call takes about that long
    job.cancel()                     # at any time

A crash of the simulation ends the child and not Blender. What the child says comes through a pipe, one JSON
object a line; frames that it reports are whole on the disk.
"""

import atexit
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading
import time

import bpy
import meniscus

from . import export, marks, meshes, playback, properties

# A child that was asked to stop may write its checkpoint; Blender listens for so long, and the next bake waits
# longer before it ends the child. Frames on the disk are whole either way.
PATIENCE = 0.8
LAST_PATIENCE = 15.0
# Jobs that run, by the number of their domain in this session; what they say is not part of the .blend.
running = {}
# Children that were asked to stop and have not yet, by folder, with the time they were asked.
stopping = {}


class Unready(RuntimeError):
    """A bake that cannot begin; the text says what to do."""


def running_for(domain):
    return running.get(domain.session_uid)


def base_folder(domain) -> pathlib.Path:
    """Where a domain keeps its scene files, meshes and versions."""
    given = domain.meniscus.domain.cache_folder
    # The name of the first bake stays, so that a renamed domain finds its frames.
    name = domain.meniscus.domain.folder_name or bpy.path.clean_name(domain.name)
    if given:
        if given.startswith("//") and not bpy.data.filepath:
            raise Unready("The cache folder is relative to a .blend that is not saved: save it first (Ctrl S)")
        return pathlib.Path(bpy.path.abspath(given)) / name
    if not bpy.data.filepath:
        raise Unready("Save the .blend first (Ctrl S): frames are kept beside it. Or set a cache folder")
    blend = pathlib.Path(bpy.data.filepath)
    return blend.with_name(f"{blend.stem}_liquid") / name


def cache_folder(domain, version=None) -> pathlib.Path:
    return base_folder(domain) / f"v{version or domain.meniscus.domain.version:03d}"


def scene_file(domain, version=None) -> pathlib.Path:
    cache = cache_folder(domain, version)
    return cache.with_name(cache.name + ".json")


def versions(domain) -> list:
    """Versions that are on the disk, rising."""
    try:
        entries = list(base_folder(domain).iterdir())
    except (OSError, Unready):
        return []
    found = (re.fullmatch(r"v(\d{3,})", e.name) for e in entries if e.is_dir())
    return sorted(int(m.group(1)) for m in found if m)


def marks_file(domain, version=None) -> pathlib.Path:
    """What a version was baked with; see marks.py."""
    return scene_file(domain, version).with_suffix(".marks")


def baked_frames(domain, version=None) -> list:
    """Frames of a version that are whole."""
    try:
        manifest = json.loads((cache_folder(domain, version) / "manifest.json").read_text(encoding="utf-8"))
        return manifest["frames"]
    except (OSError, Unready, ValueError, KeyError):
        return []


class Job:
    """One bake of one domain."""

    def __init__(self, context, domain, new_version=False, branch_from=None, resume=False):
        self.context, self.uid = context, domain.session_uid
        self.folder = base_folder(domain)
        self.new_version, self.branch_from = new_version, branch_from
        self.stage, self.fraction = "export", 0.0
        self.child, self.lines, self.asked = None, queue.Queue(), None
        self.frame = self.report = self.left = None
        self.first = self.last = None
        self.warnings = []
        self.error, self.cancelled, self.finished = "", False, False
        self.exporter = export.Exporter(context, domain, self.folder)
        self.steps = self.exporter.steps()
        # What was exported for this version goes on as it is.
        self.saved = _saved(scene_file(domain), self.exporter.frames()[1]) if resume else None
        self.longest_step = 0.0
        running[self.uid] = self

    @property
    def domain(self):
        """Looked up each time: undo makes new objects, and the artist may rename them."""
        return next((o for o in bpy.data.objects if o.session_uid == self.uid), None)

    @property
    def settings(self):
        return self.domain.meniscus.domain

    def step(self, budget: float = 0.03) -> bool:
        """Do a little; returns whether there is more to do."""
        begin = time.monotonic()
        try:
            while not self.finished:
                stages = {"export": self._export, "wait": self._wait, "simulate": self._listen, "keys": self._key}
                more = stages[self.stage]()
                if not more or time.monotonic() - begin > budget:
                    break
        except (export.BadScene, meshes.BadMesh, Unready) as wrong:
            self._end(str(wrong))
        except OSError as wrong:
            self._end(f"{wrong.strerror or wrong}: {wrong.filename or self.folder}. Choose another cache folder")
        if self.stage != "export":
            self.longest_step = max(self.longest_step, time.monotonic() - begin)
        return not self.finished

    def run(self):
        """To the end, for background use."""
        while self.step(0.1):
            time.sleep(0.02)

    def cancel(self):
        """Ask to stop; a second from now it has."""
        if self.finished or self.asked:
            return
        self.asked, self.cancelled = time.monotonic(), True
        if self.child is None:
            # Closing the export brings back the frame that was shown.
            self.steps.close()
            self._end("")
        else:
            self.child.send_signal(signal.SIGTERM)

    def abandon(self):
        """Nobody will listen any more: the child stops where it can be resumed."""
        running.pop(self.uid, None)
        self.finished = True
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)

    def _export(self) -> bool:
        if self.saved is not None:
            self.stage = "wait"
            return True
        try:
            done, total = next(self.steps)
            self.fraction = done / total
            return True
        except StopIteration:
            self.stage = "wait"
            return True

    def _wait(self) -> bool:
        """Begin as soon as the bake before has stopped."""
        child, asked = stopping.get(self.folder, (None, 0.0))
        if child is not None and child.poll() is None:
            if time.monotonic() - asked > LAST_PATIENCE:
                child.kill()
            return False
        stopping.pop(self.folder, None)
        self.warnings += self.exporter.warnings
        self._start(self.saved or self.exporter.scene)
        return True

    def _start(self, scene: dict):
        domain = self.domain
        known = versions(domain)
        text = export.text(scene)
        source = self.settings.version
        self.folder.mkdir(parents=True, exist_ok=True)
        self.settings.folder_name = self.folder.name
        if self.new_version or self.branch_from is not None:
            self.settings.version = max(known, default=0) + 1
        elif self.settings.version in known and not _same(scene_file(domain), scene):
            raise Unready(
                f"Version {self.settings.version} was baked with other values: Rebake makes a new version beside it, "
                "Revert brings the values back"
            )
        file, cache = scene_file(domain), cache_folder(domain)
        _replace(file, text)
        words = [str(meniscus.command()), "run", str(file), "-o", str(cache), "--progress", "json", "--no-report"]
        if self.branch_from is not None:
            words += ["--branch", str(cache_folder(domain, source)), "--from", str(self.branch_from)]
        else:
            words.append("--resume")
        self.child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=str(self.folder)
        )
        for pipe in (self.child.stdout, self.child.stderr):
            threading.Thread(target=self._read, args=(pipe,), daemon=True).start()
        self.first, self.last = scene["frames"]
        if self.saved is None:
            self.settings.baked = marks.signature(self.context.scene, domain)
            _replace(marks_file(domain), self.settings.baked)
        self.stage, self.fraction = "simulate", 0.0
        self.words = []
        self.closed = 0

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                self.lines.put(line)
        self.lines.put(None)

    def _listen(self) -> bool:
        """Take one line; returns whether there may be another."""
        if self.asked and time.monotonic() - self.asked > PATIENCE and self.child.poll() is None:
            stopping[self.folder] = (self.child, self.asked)
            self._begin_keys("")
            return True
        try:
            line = self.lines.get_nowait()
        except queue.Empty:
            return False
        if line is None:
            # Both pipes end before the child is done.
            self.closed += 1
            if self.closed == 2:
                self._begin_keys(self._verdict(self.child.wait()))
            return True
        try:
            self._hear(json.loads(line))
        except ValueError:
            self.words.append(line.decode("utf-8", "replace").strip())
        return True

    def _hear(self, event: dict):
        kind = event.get("event")
        if kind == "progress":
            self.frame, self.left = event["frame"], event.get("seconds_left")
            self.fraction = (event["frame"] - 1 + event["fraction"] - self.first) / max(self.last - self.first, 1)
        elif kind == "frame":
            self.frame, self.report = event["frame"], event
            self.fraction = (event["frame"] - self.first) / max(self.last - self.first, 1)
            if self.domain is not None:
                for obj in properties.objects(self.context.scene, "BODY"):
                    if obj.name in self.exporter.bodies and properties.rest(obj) is None:
                        obj[properties.REST] = [x for row in self.exporter.bodies[obj.name] for x in row]
                playback.frame_arrived(self.context, self.domain, cache_folder(self.domain), event)
        elif kind == "warning":
            self.warnings.append(event["message"])
        elif kind == "error":
            self.words.append(event.get("end", ""))

    def _begin_keys(self, message: str):
        """The simulation is over: bodies get the keys of every frame there is, also of those nobody listened to."""
        self.stage, self.said = "keys", message
        domain = self.domain
        self.keys = playback.rekey(self.context, domain, cache_folder(domain)) if domain is not None else iter(())

    def _key(self) -> bool:
        if next(self.keys, None) is None:
            self._end(self.said)
            return False
        return True

    def _verdict(self, code: int) -> str:
        if code == 0 or self.cancelled:
            return ""
        if code < 0:
            return (f"The simulation was ended by the system (signal {-code}), perhaps for its memory. "
                    "Finished frames are whole; Resume goes on")
        said = next((w for w in reversed(self.words) if w), f"exit code {code}")
        return said.removeprefix("meniscus: ")

    def _end(self, message: str):
        self.finished, self.error = True, message
        running.pop(self.uid, None)
        if self.domain is None:
            return
        if message:
            self.settings.message, self.settings.message_kind = message, "ERROR"
        elif self.cancelled:
            self.settings.message, self.settings.message_kind = "Stopped. Resume goes on from here", "INFO"
        else:
            self.settings.message, self.settings.message_kind = "", "INFO"
        if self.warnings:
            # What the check before the bake found doubtful stays to be read.
            once = list(dict.fromkeys([self.settings.message] if self.settings.message else []) | dict.fromkeys(self.warnings))
            self.settings.message = "\n".join(once[:6])
            self.settings.message_kind = "ERROR" if message else "WARNING"
        if self.child is not None:
            playback.show(self.context, self.domain, cache_folder(self.domain))


@atexit.register
def _stop_all():
    for one in list(running.values()):
        one.abandon()


def _replace(path: pathlib.Path, text: str):
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def _saved(file: pathlib.Path, last: int):
    """The scene that a version was exported as, up to a last frame; None if it does not reach so far."""
    try:
        scene = json.loads(file.read_text(encoding="utf-8"))
        text = json.dumps(scene)
        if last > scene["frames"][1] and ('"keys"' in text or '"samples"' in text):
            return None
        scene["frames"][1] = max(last, scene["frames"][0])
        return scene
    except (OSError, ValueError, KeyError):
        return None


def _same(file: pathlib.Path, scene: dict) -> bool:
    """Whether a version was baked from this scene; its last frame and limits may be others."""
    try:
        old = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True
    def liquid(s):
        s = json.loads(json.dumps(s))
        s["frames"][1] = None
        s.pop("memory_limit", None)
        s["outputs"].pop("checkpoint_every", None)
        return s
    return liquid(old) == liquid(scene)
