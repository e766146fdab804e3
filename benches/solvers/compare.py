#!/usr/bin/env python3
"""Meniscus, hypre and pyamg on the same matrices in one run.

    python3 benches/solvers/compare.py [--size 128] [--threads 1] [--cases poisson splash] [--skip-pyamg]

Installs libhypre-dev (apt, needs root) and pyamg (pip, in a virtual environment under the build folder)
where they are missing, compiles hypre.c, writes each system once and gives the file to all. Every solver
runs to a relative residual of 1e-6 (2-norm); the best of --repeats runs counts. Seconds are those of the
processor, so that other work on the machine matters less; with --threads above 1 ours are wall seconds. Peak memory is that of the
whole process, with the matrix.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "solvers"
PYAMG = """
import json, resource, sys, time
import numpy as np, scipy.sparse as sp, pyamg
with open(sys.argv[1], "rb") as f:
    n, entries = np.fromfile(f, np.uint64, 2)
    offsets = np.fromfile(f, np.uint32, n + 1).astype(np.int32)
    columns = np.fromfile(f, np.uint32, entries).astype(np.int32)
    values = np.fromfile(f, np.float64, entries)
    b = np.fromfile(f, np.float64, n)
a = sp.csr_matrix((values, columns, offsets), shape=(n, n))
start = time.process_time()
ml = pyamg.smoothed_aggregation_solver(a, max_coarse=500)
middle = time.process_time()
residuals = []
ml.solve(b, tol=1e-6, accel="cg", residuals=residuals, maxiter=200)
end = time.process_time()
print(json.dumps(dict(solver="pyamg smoothed aggregation", setup=middle - start, solve=end - middle,
    iterations=len(residuals) - 1, residual=residuals[-1] / np.linalg.norm(b),
    peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)))
"""


def run(command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def prepare(skip_pyamg, bench):
    WORK.mkdir(parents=True, exist_ok=True)
    if not Path("/usr/include/hypre/HYPRE.h").exists() or not shutil.which("mpicc"):
        run(["apt-get", "install", "-y", "libhypre-dev", "mpi-default-dev"])
    run(["mpicc", "-O2", Path(__file__).with_name("hypre.c"), "-I/usr/include/hypre", "-lHYPRE", "-lm", "-o", WORK / "hypre"])
    python = WORK / "venv" / "bin" / "python"
    if not skip_pyamg and not python.exists():
        run([sys.executable, "-m", "venv", WORK / "venv"])
        run([python, "-m", "pip", "install", "-q", "pyamg"])
    if bench:
        return bench, python
    lines = run(["cargo", "bench", "--bench", "linalg", "--no-run", "--message-format=json"], cwd=ROOT).splitlines()
    built = [json.loads(line) for line in lines if line.startswith("{")]
    return next(b["executable"] for b in built if b.get("executable") and b["target"]["name"] == "linalg"), python


def best(command, repeats, environment):
    results = [json.loads(run(command, env=environment).strip().splitlines()[-1]) for _ in range(repeats)]
    return min(results, key=lambda r: r["setup"] + r["solve"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=["poisson", "splash"])
    parser.add_argument("--bench", help="a bench program that is built already")
    parser.add_argument("--skip-pyamg", action="store_true")
    options = parser.parse_args()
    bench, python = prepare(options.skip_pyamg, options.bench)
    one = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    print(run([bench, "triad", 0, options.threads]).strip())
    print(f"{'case':12} {'solver':32} {'set-up':>8} {'solve':>8} {'sum':>8} {'its':>4} {'peak MB':>8} {'sum/hypre':>9}")
    for case in options.cases:
        system = WORK / f"{case}-{options.size}.bin"
        if not system.exists():
            run([bench, "export", options.size, 1, case, system])
        rows = [best([WORK / "hypre", system, kind], options.repeats, one) for kind in ("hmis", "aggressive", "classic")]
        if not options.skip_pyamg:
            rows.append(best([python, "-c", PYAMG, system], 1, one))
        rows.append(best([bench, "solve", 0, options.threads, system], options.repeats, one))
        hypre = min(r["setup"] + r["solve"] for r in rows[:3])
        for r in rows:
            total = r["setup"] + r["solve"]
            print(f"{case:12} {r['solver']:32} {r['setup']:8.3f} {r['solve']:8.3f} {total:8.3f} {r['iterations']:4d} "
                  f"{r['peak_mb']:8.0f} {total / hypre:9.2f}")


if __name__ == "__main__":
    main()
