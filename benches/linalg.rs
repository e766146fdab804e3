//! Times of the linear-algebra engine.
//!
//! ```text
//! cargo bench --bench linalg                                    every gate of this page with its verdict
//! cargo bench --bench linalg -- gates     [n]                   kernels and a whole solve on one and two threads
//! cargo bench --bench linalg -- kernels   [n] [threads]         products and vector kernels against STREAM triad
//! cargo bench --bench linalg -- amg       [n] [threads]         hierarchies on a cube and on a splash
//! cargo bench --bench linalg -- flat                            iterations at 64³, 128³ and 192³
//! cargo bench --bench linalg -- viscosity [n] [threads]         six rigid motions, μΔt/ρh² from 1 to 1e5
//! cargo bench --bench linalg -- export    n threads case FILE   write a system for benches/solvers/compare.py
//! cargo bench --bench linalg -- solve     n threads FILE        solve such a system, print one line of JSON
//! cargo bench --bench linalg -- geometric n threads case        the same system by the multigrid of the grid, likewise
//! ```
//! Times are the best of several runs; ratios compare numbers of the same run. docs/solvers.md says what bounds them.

#[path = "common/clock.rs"]
mod clock;

use clock::now;
use meniscus::Cancel;
use meniscus::linalg::*;
use meniscus::solver::mac::{Multigrid, cases as mac_cases};
use rayon::prelude::*;
use std::io::{BufReader, BufWriter, Read, Write};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |k: usize, default: usize| arguments.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (n, threads) = (number(1, 128), number(2, 1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| match arguments.first().map(String::as_str) {
        Some("amg") => amg(n),
        Some("flat") => flat(),
        Some("viscosity") => viscosity(number(1, 24)),
        Some("kernels") => kernels(n),
        Some("gates") => gates(n),
        Some("geometric") => geometric(n, threads, arguments.get(3).map_or("poisson", String::as_str)),
        Some("export") => export(n, &arguments[3], &arguments[4]),
        Some("solve") => solve(threads, &arguments[3]),
        Some("triad") => println!("triad {:.1} GB/s on {threads} threads", triad()),
        _ => {
            gates(n);
            flat();
            viscosity(24);
        }
    });
}

/// A line that says whether a figure holds.
fn verdict(name: &str, holds: bool, figure: &str, gate: &str) {
    println!("{} {name:34} {figure:>24}   gate: {gate}", if holds { "HELD  " } else { "MISSED" });
}

fn best(repeats: usize, mut f: impl FnMut()) -> f64 {
    (0..repeats)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// GB/s of a = b + s·c over arrays far larger than the caches.
fn triad() -> f64 {
    const N: usize = 16 << 20;
    let (b, c, mut a) = (vec![1.0; N], vec![2.0; N], vec![0.0; N]);
    let t = best(8, || {
        a.par_chunks_mut(4096).zip(b.par_chunks(4096)).zip(c.par_chunks(4096)).for_each(|((a, b), c)| {
            a.iter_mut().zip(b).zip(c).for_each(|((a, b), c): ((&mut f64, &f64), &f64)| *a = b + 3.0 * c)
        })
    });
    24.0 * N as f64 / t * 1e-9
}

/// Called with each kernel: its name, the bytes it must move, and one run of it.
type See<'a> = &'a mut dyn FnMut(&'static str, f64, &mut (dyn FnMut() + Send));

/// Every kernel whose time is that of the memory.
fn each_kernel(n: usize, see: See) {
    let a = cases::poisson(n).unwrap();
    let x = cases::random_vector(a.rows(), 1);
    let (mut y, mut z) = (vec![0.0; a.rows()], vec![0.0; a.rows()]);
    let rows = a.rows() as f64;
    see("spmv", 12.0 * a.entries() as f64 + 20.0 * rows, &mut || a.multiply(&x, &mut y));
    see("residual", 12.0 * a.entries() as f64 + 28.0 * rows, &mut || a.residual(&x, &x, &mut y));
    see("dot", 16.0 * rows, &mut || {
        std::hint::black_box(vector::dot(&x, &y));
    });
    see("axpy", 24.0 * rows, &mut || vector::axpy(1e-9, &x, &mut y));
    see("cg step", 48.0 * rows, &mut || {
        std::hint::black_box(vector::step(1e-9, &x, &x, &mut y, &mut z));
    });
    let blocks = nodal_blocks(n / 2);
    let x = cases::random_vector(blocks.size(), 1);
    let mut y = vec![0.0; blocks.size()];
    let bytes = 76.0 * blocks.blocks() as f64 + 52.0 * blocks.block_rows() as f64;
    see("spmv 3x3 blocks", bytes, &mut || blocks.apply(&x, &mut y));
}

fn kernels(n: usize) {
    println!("triad {:.1} GB/s", triad());
    each_kernel(n, &mut |name, bytes, f| {
        // The machine is shared: measure the roof next to each kernel.
        let before = triad();
        let t = best(15, f);
        let (roof, rate) = (before.max(triad()), bytes / t * 1e-9);
        println!("{name:14} {:7.2} ms {rate:6.1} GB/s {:4.0} % of triad", t * 1e3, 100.0 * rate / roof);
    });
}

/// Kernels at their share of the triad, and two threads against one, for kernels and a whole solve.
fn gates(n: usize) {
    let pools = [1, 2].map(|t| rayon::ThreadPoolBuilder::new().num_threads(t).build().unwrap());
    let mut ratio = 0.0f64;
    each_kernel(n, &mut |name, bytes, f| {
        // Roof, kernel and roof again on one thread, then on two: all within a second or two.
        let [one, two] = [0, 1].map(|p| {
            pools[p].install(|| {
                let before = triad();
                let t = best(15, &mut *f);
                (before.max(triad()), bytes / t * 1e-9)
            })
        });
        let share = one.1 / one.0;
        match name {
            "spmv" => verdict(name, share >= 0.70, &of_triad(share, one.1), "70 % of the triad"),
            "spmv 3x3 blocks" => verdict(name, share >= 0.85, &of_triad(share, one.1), "85 % of the triad"),
            _ => println!("       {name:34} {:>24}", of_triad(share, one.1)),
        }
        ratio = ratio.max(two.0 / one.0);
        two_threads(name, two.1 / one.1, two.0 / one.0);
    });
    let a = cases::poisson(n).unwrap();
    let b = cases::random_vector(a.rows(), 1);
    let [one, two] =
        [0, 1].map(|p| pools[p].install(|| best(3, || drop(std::hint::black_box(solved(&a, &b))))));
    two_threads("whole solve", one / two, ratio);
}

fn of_triad(share: f64, rate: f64) -> String {
    format!("{:.0} % ({rate:.1} GB/s)", 100.0 * share)
}

fn two_threads(name: &str, gain: f64, roof: f64) {
    let figure = format!("{gain:.2} of {roof:.2}");
    verdict(&format!("{name}, two threads"), gain >= 0.9 * roof, &figure, "90 % of the triad's own ratio");
}

/// Set-up and solve by algebraic multigrid.
fn solved(a: &Csr, b: &[f64]) -> Vec<f64> {
    let mut m = Amg::new(a, &AmgParams::default()).unwrap();
    let (mut x, params) = (vec![0.0; a.rows()], KrylovParams { tolerance: 1e-6, ..Default::default() });
    cg(a, &mut m, b, &mut x, &params, &Cancel::new()).unwrap();
    x
}

/// A nodal matrix of 3×3 blocks with 15 neighbours a node, as on a BCC lattice.
fn nodal_blocks(n: usize) -> BlockCsr<3> {
    let mut triplets = Vec::new();
    let offsets: Vec<[i64; 3]> = (-1..=1)
        .flat_map(|z| (-1..=1).flat_map(move |y| (-1..=1).map(move |x| [x, y, z])))
        .filter(|o: &[i64; 3]| o.iter().map(|v| v.abs()).sum::<i64>() != 2)
        .collect();
    for i in 0..n * n * n {
        let p = [i % n, i / n % n, i / (n * n)];
        for o in &offsets {
            let q = [0, 1, 2].map(|k| p[k] as i64 + o[k]);
            if q.iter().all(|&v| v >= 0 && v < n as i64) {
                let j = q[0] as usize + n * (q[1] as usize + n * q[2] as usize);
                triplets.push((i as u32, j as u32, [[1.0, 0.1, 0.2], [0.1, 1.0, 0.3], [0.2, 0.3, 1.0]]));
            }
        }
    }
    BlockCsr::from_triplets(n * n * n, &triplets).unwrap()
}

fn report(name: &str, a: &Csr, b: &[f64], build: impl Fn() -> Amg) -> usize {
    let start = Instant::now();
    let mut m = build();
    let setup = start.elapsed().as_secs_f64();
    let mut x = vec![0.0; a.rows()];
    let start = Instant::now();
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let info = cg(a, &mut m, b, &mut x, &params, &Cancel::new()).unwrap();
    let solve = start.elapsed().as_secs_f64();
    let (complexity, levels) = (m.operator_complexity(), m.sizes().len());
    println!(
        "{name:28} rows {:8} set-up {setup:.3} solve {solve:.3} iterations {:3} residual {:.1e} {:?} complexity {complexity:.2} levels {levels}",
        a.rows(),
        info.iterations,
        info.residual,
        info.outcome
    );
    info.iterations
}

fn amg(n: usize) {
    let default = AmgParams::default();
    let double = AmgParams { precision: Precision::Double, ..default };
    for (name, a) in [("poisson", cases::poisson(n).unwrap()), ("splash", cases::splash(n).unwrap())] {
        let (b, ones) = (cases::random_vector(a.rows(), 1), vec![1.0; a.rows()]);
        report(&format!("{name} K f32"), &a, &b, || Amg::new(&a, &default).unwrap());
        report(&format!("{name} K f32 smooth rhs"), &a, &ones, || Amg::new(&a, &default).unwrap());
        report(&format!("{name} K f64"), &a, &b, || Amg::new(&a, &double).unwrap());
        let old = std::cell::RefCell::new(Some(Amg::new(&a, &default).unwrap()));
        report(&format!("{name} K f32 groups reused"), &a, &b, || old.take().unwrap().update(&a).unwrap());
    }
}

fn flat() {
    let mut counts = [Vec::new(), Vec::new()];
    for n in [64, 128, 192] {
        let a = cases::poisson(n).unwrap();
        let sides = [("", cases::random_vector(a.rows(), 1)), (" smooth rhs", vec![1.0; a.rows()])];
        for (counts, (name, b)) in counts.iter_mut().zip(sides) {
            let build = || Amg::new(&a, &AmgParams::default()).unwrap();
            counts.push(report(&format!("poisson {n}{name}"), &a, &b, build));
        }
    }
    for (name, counts) in ["iterations, random", "iterations, smooth"].iter().zip(counts) {
        let apart = counts.iter().max().unwrap() - counts.iter().min().unwrap();
        let gate = "within 3 at 64³, 128³ and 192³";
        verdict(name, apart <= 3, &format!("{counts:?}"), gate);
    }
}

fn viscosity(n: usize) {
    let mut counts = Vec::new();
    for s in [1.0, 1e1, 1e2, 1e3, 1e4, 1e5] {
        let case = cases::viscosity(n, s).unwrap();
        let b = cases::random_vector(case.matrix.rows(), 1);
        counts.push(report(&format!("viscosity {s:e}"), &case.matrix, &b, || {
            Amg::with_near_null(&case.matrix, 6, &case.rigid_motions, &AmgParams::default()).unwrap()
        }));
    }
    let holds = counts.iter().all(|c| *c <= 2 * counts[0]);
    verdict("viscous iterations", holds, &format!("{counts:?}"), "at most double from 1 to 1e5");
}

/// Sizes as u64, offsets and columns as u32, values and right-hand side as f64, little endian.
fn export(n: usize, case: &str, path: &str) {
    let a = match case {
        "splash" => cases::splash(n).unwrap(),
        _ => cases::poisson(n).unwrap(),
    };
    let b = cases::random_vector(a.rows(), 1);
    let mut out = BufWriter::new(std::fs::File::create(path).unwrap());
    for size in [a.rows() as u64, a.entries() as u64] {
        out.write_all(&size.to_le_bytes()).unwrap();
    }
    a.offsets().iter().chain(a.columns()).for_each(|v| out.write_all(&v.to_le_bytes()).unwrap());
    a.values().iter().chain(&b).for_each(|v| out.write_all(&v.to_le_bytes()).unwrap());
}

fn import(path: &str) -> (Csr, Vec<f64>) {
    let mut file = BufReader::new(std::fs::File::open(path).unwrap());
    let mut word = [0u8; 8];
    let mut size = || {
        file.read_exact(&mut word).unwrap();
        u64::from_le_bytes(word) as usize
    };
    let (n, entries) = (size(), size());
    let mut half = [0u8; 4];
    let mut indices = |count: usize| -> Vec<u32> {
        (0..count)
            .map(|_| {
                file.read_exact(&mut half).unwrap();
                u32::from_le_bytes(half)
            })
            .collect()
    };
    let (offsets, columns) = (indices(n + 1), indices(entries));
    let mut numbers = |count: usize| -> Vec<f64> {
        (0..count)
            .map(|_| {
                file.read_exact(&mut word).unwrap();
                f64::from_le_bytes(word)
            })
            .collect()
    };
    let (values, b) = (numbers(entries), numbers(n));
    (Csr::new(n, offsets, columns, values).unwrap(), b)
}

fn solve(threads: usize, path: &str) {
    let (a, b) = import(path);
    // On one thread the processor's time is what counts, on several the wall's.
    let (start, wall) = (now(), Instant::now());
    let mut m = Amg::new(&a, &AmgParams::default()).unwrap();
    let middle = now();
    let mut x = vec![0.0; a.rows()];
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let info = cg(&a, &mut m, &b, &mut x, &params, &Cancel::new()).unwrap();
    let solver = format!("meniscus amg-cg, {threads} threads");
    line(&solver, [start, middle, now()], wall.elapsed().as_secs_f64(), &info);
}

/// The multigrid of the grid on the system of `export`; it needs no assembled matrix.
fn geometric(n: usize, threads: usize, case: &str) {
    let (tiles, stencil) = match case {
        "splash" => mac_cases::splash(n).unwrap(),
        _ => mac_cases::poisson(n).unwrap(),
    };
    let random = cases::random_vector(tiles.cells(), 1);
    let rhs: Vec<f64> =
        random.iter().zip(&stencil.diagonal).map(|(b, d)| if *d > 0.0 { *b } else { 0.0 }).collect();
    let mut p = tiles.field(0.0);
    let (start, wall) = (now(), Instant::now());
    let mut solver = Multigrid::new(&tiles, &stencil).unwrap();
    let middle = now();
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let done = solver.solve(&tiles, &stencil, &rhs, &mut p, &params, &Cancel::new()).unwrap();
    let name = format!("meniscus multigrid, {threads} threads");
    line(&name, [start, middle, now()], wall.elapsed().as_secs_f64(), &done.info);
}

/// One line for benches/solvers/compare.py.
fn line(solver: &str, [start, middle, end]: [f64; 3], wall: f64, info: &SolveInfo) {
    println!(
        "{{\"solver\":\"{solver}\",\"setup\":{:.4},\"solve\":{:.4},\"wall\":{wall:.4},\"iterations\":{},\"residual\":{:.2e},\"peak_mb\":{:.0}}}",
        middle - start,
        end - middle,
        info.iterations,
        info.residual,
        peak_megabytes()
    );
}

/// The high-water mark of this process's memory.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
