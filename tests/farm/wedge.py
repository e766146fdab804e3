"""A wedge of six tasks through openjd-cli and Slurm, with and without tasks that are killed: the same sheet."""

import getpass
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

MENISCUS = os.environ["MENISCUS_COMMAND"]
SCENE = {
    "meniscus": 1,
    "name": "block",
    "frames": [1, 14],
    "domain": {"min": [0, 0, 0], "max": [1, 1, 1]},
    "resolution": {"divisions": 16},
    "initial": [{"name": "block", "shape": {"box": {"min": [0, 0, 0], "max": [0.5, 0.5, 1]}}}],
}
SWEEPS = ["--sweep", "resolution.divisions=10,12,14", "--sweep", "gravity=[0,-9.8,0],[0,-3,0]"]
VICTIM = "2_divisions=12_gravity=_0_-9.8_0_"


def run(*words, check=True, **options):
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, **options)
    if check and done.returncode != 0:
        sys.exit(f"{words}: code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def wedge(folder):
    scene = folder.parent / "scene.json"
    scene.write_text(json.dumps(SCENE))
    run(MENISCUS, "wedge", scene, "-o", folder, "--checkpoint-every", "2", "--tiles", "2", *SWEEPS)


def tree(folder):
    """Every file that must not depend on interruptions."""
    names = sorted(p for p in folder.rglob("*") if p.suffix in (".ply", ".png") and p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in names}


def writers(cache):
    """Processes that simulate into a cache."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"run" in words and any(w.endswith(cache.name.encode()) for w in words) and words[0] == MENISCUS.encode():
                yield int(entry.name)


def kill_at(cache, frames, killed):
    """Kill whoever writes to a cache once it has some frames."""
    end = time.time() + 240
    while time.time() < end:
        try:
            listed = json.loads((cache / "manifest.json").read_text())["frames"]
        except (OSError, ValueError):
            listed = []
        if len(listed) >= frames:
            for process in writers(cache):
                try:
                    os.kill(process, signal.SIGKILL)
                    killed.append((process, len(listed)))
                except ProcessLookupError:
                    pass
                return
        time.sleep(0.002)


def openjd(folder, check=True):
    job = folder / "job.json"
    return run("openjd", "run", job, "-p", f"Meniscus={MENISCUS}", "--step", "gather", "--run-dependencies", check=check)


def test_openjd(work):
    calm, stormy = work / "calm" / "jobs", work / "stormy" / "jobs"
    for folder in (calm, stormy):
        folder.parent.mkdir()
        wedge(folder)
    run("openjd", "check", calm / "job.json")
    done = openjd(calm)
    assert "openjd_progress" in done.stdout or "Progress" in done.stdout, done.stdout[-2000:]
    killed = []
    for frames in (3, 8):
        before = len(killed)
        watcher = threading.Thread(target=kill_at, args=(stormy / "out" / VICTIM, frames, killed))
        watcher.start()
        failed = openjd(stormy, check=False)
        watcher.join()
        assert len(killed) == before + 1, "the task was too quick to be killed"
        assert failed.returncode != 0, "a killed task must fail its session"
    done = openjd(stormy)
    assert tree(calm / "out") == tree(stormy / "out"), "the interrupted wedge ended otherwise"
    sheet = calm / "out" / "contact.png"
    print(f"openjd: 6 tasks, one killed at {[n for _, n in killed]} frames; the same {len(tree(calm / 'out'))} files, sheet of {sheet.stat().st_size} bytes")
    return sheet


def start_slurm(work):
    """One node with its controller, by hand; a sentence if this machine cannot."""
    needed = ("munged", "slurmctld", "slurmd", "sbatch")
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [n for n in needed if shutil.which(n, path=path) is None]
    if os.getuid() != 0 or missing:
        return f"needs root and Debian's slurm-wlm and munge; missing: {missing or 'root'}"
    os.environ["PATH"] = path
    host = socket.gethostname()
    state = work / "slurm"
    state.mkdir()
    (state / "spool").mkdir()
    conf = state / "slurm.conf"
    ports = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("", 0))
            ports.append(s.getsockname()[1])
    conf.write_text(
        f"ClusterName=test\nSlurmctldHost={host}\nSlurmUser=root\nAuthType=auth/munge\nCryptoType=crypto/munge\n"
        f"AuthInfo=socket={state}/munge.socket\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
        f"SelectType=select/cons_tres\nSlurmctldPort={ports[0]}\nSlurmdPort={ports[1]}\nStateSaveLocation={state}\n"
        f"SlurmdSpoolDir={state}/spool\nSlurmctldPidFile={state}/ctld.pid\nSlurmdPidFile={state}/d.pid\nMpiDefault=none\n"
        f"ReturnToService=2\nSchedulerParameters=sched_interval=2,bf_interval=2\nMinJobAge=300\nInactiveLimit=0\n"
        f"SlurmctldLogFile={state}/ctld.log\nSlurmdLogFile={state}/d.log\nJobRequeue=1\nJobCompType=jobcomp/none\n"
        f"NodeName={host} CPUs={os.cpu_count()} State=UNKNOWN\nPartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
    os.environ["SLURM_CONF"] = str(conf)
    key = state / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    state.chmod(0o755)
    processes = []

    def start(*words):
        log = open(state / f"{words[0]}.out", "w")
        processes.append(subprocess.Popen(words, stdout=log, stderr=log))

    start("munged", "--foreground", f"--socket={state}/munge.socket", f"--key-file={key}", "--force",
          f"--pid-file={state}/munge.pid", f"--seed-file={state}/munge.seed", f"--log-file={state}/munge.log")
    time.sleep(1)
    start("slurmctld", "-D")
    start("slurmd", "-D", "-N", host)
    for _ in range(60):
        time.sleep(0.5)
        seen = run("sinfo", "-h", "-o", "%T", check=False).stdout.split()
        if seen == ["idle"]:
            return processes
    stop(processes)
    logs = "".join((state / name).read_text()[-500:] for name in ("slurmctld.out", "slurmd.out"))
    return f"the node did not come up: {seen}\n{logs}"


def stop(processes):
    for process in reversed(processes):
        process.terminate()
    for process in reversed(processes):
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def hurry(over):
    """Slurm lets a requeued job wait for two minutes; a test need not."""
    while not over.wait(1):
        for line in run("squeue", "-h", "-o", "%i %r", check=False).stdout.splitlines():
            job, _, reason = line.partition(" ")
            if reason == "BeginTime":
                run("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)


def test_slurm(work, sheet):
    processes = start_slurm(work)
    if isinstance(processes, str):
        print(f"SKIPPED: slurm: {processes}")
        return
    over = threading.Event()
    threading.Thread(target=hurry, args=(over,), daemon=True).start()
    try:
        (work / "array").mkdir()
        folder = work / "array" / "jobs"
        wedge(folder)
        ids = run(folder / "slurm.sh", env={**os.environ, "MENISCUS": MENISCUS}).stdout.split()
        killed = []
        # Killed twice: a task that dies by a signal puts itself back into the queue.
        for kills, frames in enumerate((3, 8), start=1):
            kill_at(folder / "out" / VICTIM, frames, killed)
            assert len(killed) == kills, f"kill {kills} of 2 found nobody to kill: the task was too quick or was not requeued"
        assert killed[0][0] != killed[1][0], "the second kill must meet the task after it was requeued"
        for _ in range(240):
            time.sleep(1)
            if not run("squeue", "-h", "-o", "%i %T").stdout.strip():
                break
        logs = "".join(p.read_text()[-300:] for p in sorted((folder / "out").glob("slurm_*.log")))
        assert (folder / "out" / "contact.png").exists(), f"{ids}: no sheet\n{logs[-3000:]}"
        assert tree(sheet.parent) == tree(folder / "out"), "the wedge on Slurm ended otherwise"
        print(f"slurm: 6 tasks in an array, one killed twice, at {[n for _, n in killed]} frames and requeued; the same files")
    finally:
        over.set()
        stop(processes)


def main():
    with tempfile.TemporaryDirectory(prefix="meniscus_farm_") as folder:
        work = pathlib.Path(folder)
        begin = time.time()
        sheet = test_openjd(work)
        keep = os.environ.get("MENISCUS_KEEP")
        if keep:
            shutil.copy(sheet, keep)
        test_slurm(work, sheet)
        print(f"farm: done in {time.time() - begin:.0f} s by {getpass.getuser()}")


main()
