//! Times of the linear-algebra engine. `cargo bench --bench linalg -- [kernels|amg] [n] [threads]`

use meniscus::Cancel;
use meniscus::linalg::*;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |k: usize, default: usize| arguments.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (n, threads) = (number(1, 128), number(2, 1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| match arguments.first().map(String::as_str) {
        Some("amg") => amg(n),
        Some("viscosity") => viscosity(n),
        _ => kernels(n),
    });
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

fn kernels(n: usize) {
    let a = cases::poisson(n).unwrap();
    let x = cases::random_vector(a.rows(), 1);
    let mut y = vec![0.0; a.rows()];
    let bytes = 12.0 * a.entries() as f64 + 20.0 * a.rows() as f64;
    let t = best(30, || a.multiply(&x, &mut y));
    println!("spmv {:.2} ms {:.1} GB/s", t * 1e3, bytes / t * 1e-9);
    let t = best(30, || {
        vector::dot(&x, &y);
    });
    println!("dot {:.2} ms {:.1} GB/s", t * 1e3, 16.0 * a.rows() as f64 / t * 1e-9);
    let t = best(30, || vector::axpy(1e-9, &x, &mut y));
    println!("axpy {:.2} ms {:.1} GB/s", t * 1e3, 24.0 * a.rows() as f64 / t * 1e-9);
}

fn report(name: &str, a: &Csr, b: &[f64], build: impl Fn() -> Amg) {
    let start = Instant::now();
    let mut m = build();
    let setup = start.elapsed().as_secs_f64();
    let mut x = vec![0.0; a.rows()];
    let start = Instant::now();
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let info = cg(a, &mut m, b, &mut x, &params, &Cancel::new()).unwrap();
    let solve = start.elapsed().as_secs_f64();
    let (complexity, sizes) = (m.operator_complexity(), m.sizes());
    println!(
        "{name}: set-up {setup:.3} solve {solve:.3} iterations {} residual {:.1e} {:?} complexity {complexity:.2} {sizes:?}",
        info.iterations, info.residual, info.outcome
    );
}

fn amg(n: usize) {
    let a = cases::poisson(n).unwrap();
    let b = cases::random_vector(a.rows(), 1);
    let ones = vec![1.0; a.rows()];
    let default = AmgParams::default();
    report("poisson K f32", &a, &b, || Amg::new(&a, &default).unwrap());
    report("poisson K f32, smooth rhs", &a, &ones, || Amg::new(&a, &default).unwrap());
    report("poisson K f32 2 passes", &a, &ones, || {
        Amg::new(&a, &AmgParams { passes: 2, ..default }).unwrap()
    });
    report("poisson V smoothed", &a, &b, || {
        Amg::new(&a, &AmgParams { cycle: Cycle::V, smoothed: true, passes: 4, ..default }).unwrap()
    });
    let a = cases::splash(n).unwrap();
    let b = cases::random_vector(a.rows(), 1);
    report("splash K f32", &a, &b, || Amg::new(&a, &default).unwrap());
    report("splash K f32 2 passes", &a, &b, || Amg::new(&a, &AmgParams { passes: 2, ..default }).unwrap());
}

fn viscosity(n: usize) {
    let default = AmgParams::default();
    for s in [1.0, 1e1, 1e2, 1e3, 1e4, 1e5] {
        let case = cases::viscosity(n, s).unwrap();
        let b = cases::random_vector(case.matrix.rows(), 1);
        let build =
            |params: AmgParams| Amg::with_near_null(&case.matrix, 6, &case.rigid_motions, &params).unwrap();
        report(&format!("viscosity {s:e} K"), &case.matrix, &b, || build(default));
        report(&format!("viscosity {s:e} V smoothed"), &case.matrix, &b, || {
            build(AmgParams { cycle: Cycle::V, smoothed: true, ..default })
        });
        report(&format!("viscosity {s:e} K smoothed"), &case.matrix, &b, || {
            build(AmgParams { smoothed: true, ..default })
        });
    }
}
