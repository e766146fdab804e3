#!/usr/bin/env python3
"""Meniscus, hypre and pyamg on the same matrices in one run.

    python3 benches/solvers/compare.py [--size 128] [--cases poisson splash] [--skip-pyamg]

Installs libhypre-dev (apt, needs root) and pyamg (pip, in a virtual environment under the build folder)
where they are missing, compiles hypre.c, writes each system anew and gives the file to all. Every solver
runs to a relative residual of 1e-6 (2-norm); the best of --repeats runs counts. Seconds are those of the
processor on one thread, so that other work on the machine matters less; with two threads ours are wall seconds, and
are compared with our own wall seconds on one. Peak memory is that of the whole process, with the matrix. The multigrid of
the grid solves the same equations without an assembled matrix. docs/solvers.md says what bounds each figure.

Ends with a line a gate: HELD or MISSED.
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


def verdict(name, holds, figure, gate):
    print(f"{'HELD  ' if holds else 'MISSED'} {name:44} {figure:>22}   gate: {gate}")


def gates(case, hypre, ours, twice, geometric, ratio):
    """What was asked for, on one case; `ratio` is that of the triad on two threads and one."""
    total = lambda row: row["setup"] + row["solve"]
    share, most = total(ours) / total(hypre), 0.5 if case == "poisson" else 1 / 1.5
    verdict(f"{case}: amg-cg over hypre", share <= most, f"{share:.3f}", f"at most {most:.3f}")
    share = ours["peak_mb"] / hypre["peak_mb"]
    verdict(f"{case}: peak memory over hypre", share <= 0.5, f"{share:.3f}", "at most 0.5")
    share = total(geometric) / total(hypre)
    if case == "poisson":
        verdict(f"{case}: multigrid of the grid over hypre", share <= 0.1, f"{share:.3f}", "at most 0.1")
    gain = ours["wall"] / twice["wall"]
    verdict(f"{case}: whole solve, two threads", gain >= 0.9 * ratio, f"{gain:.2f} of {ratio:.2f}",
            "90 % of the triad's own ratio")
    for row in (hypre, ours, twice, geometric):
        verdict(f"{case}: residual of {row['solver']}"[:44], row["residual"] <= 1e-6, f"{row['residual']:.1e}", "1e-6")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=["poisson", "splash"])
    parser.add_argument("--bench", help="a bench program that is built already")
    parser.add_argument("--skip-pyamg", action="store_true")
    options = parser.parse_args()
    bench, python = prepare(options.skip_pyamg, options.bench)
    one = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    triads = []
    for threads in (1, 2):
        text = run([bench, "triad", 0, threads]).strip()
        triads.append(float(text.split()[1]))
        print(text)
    print(f"{'case':8} {'solver':32} {'set-up':>8} {'solve':>8} {'sum':>8} {'its':>4} {'residual':>9} {'peak MB':>8} "
          f"{'sum/hypre':>9}")
    results = []
    for case in options.cases:
        system = WORK / f"{case}-{options.size}.bin"
        run([bench, "export", options.size, 1, case, system])
        rows = [best([WORK / "hypre", system, kind], options.repeats, one) for kind in ("hmis", "aggressive", "classic")]
        hypre = min(rows, key=lambda r: r["setup"] + r["solve"])
        if not options.skip_pyamg:
            rows.append(best([python, "-c", PYAMG, system], 1, one))
        ours, twice = (best([bench, "solve", 0, threads, system], options.repeats, one) for threads in (1, 2))
        geometric = best([bench, "geometric", options.size, 1, case], options.repeats, one)
        rows += [ours, twice, geometric]
        system.unlink()
        for r in rows:
            total = r["setup"] + r["solve"]
            print(f"{case:8} {r['solver']:32} {r['setup']:8.3f} {r['solve']:8.3f} {total:8.3f} {r['iterations']:4d} "
                  f"{r['residual']:9.1e} {r['peak_mb']:8.0f} {total / (hypre['setup'] + hypre['solve']):9.3f}")
        results.append((case, hypre, ours, twice, geometric))
    for result in results:
        gates(*result, triads[1] / triads[0])


if __name__ == "__main__":
    main()
