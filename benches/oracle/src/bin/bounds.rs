//! Bounded quadratic programs against clarabel: `cargo run --release --bin bounds` in this folder.
//!
//! min f(x) = ½ xᵀA x − bᵀx with x ≥ l, for small matrices of the pressure kind. Clarabel ends with a bound on how much lower f
//! can be, 10⁻⁹ of its size; ours, whose x keep x ≥ l exactly, must come as low. Where f is within ε of its least value,
//! x is within √(2ε/λ_min): the distance of the two x is shown, and must be below that for λ_min = 0.1.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use meniscus::Cancel;
use meniscus::linalg::{Csr, Jacobi, KrylovParams, active_set, cases, mprgp};

/// Share of f that clarabel may leave.
const GAP: f64 = 1e-9;
/// The least eigenvalue of the matrices, about.
const LEAST: f64 = 0.1;

fn main() {
    let (mut above, mut apart, mut held) = (f64::NEG_INFINITY, 0.0f64, true);
    for (name, a) in [("cube", cases::poisson(5).unwrap()), ("splash", cases::splash(9).unwrap())] {
        for seed in 0..10 {
            let n = a.rows();
            let b = cases::random_vector(n, seed);
            let lower: Vec<f64> = cases::random_vector(n, seed + 100).iter().map(|v| 0.2 * v - 0.1).collect();
            let theirs = clarabel(&a, &b, &lower);
            let least = value(&a, &b, &theirs);
            for (method, ours) in
                [("mprgp", by_mprgp(&a, &b, &lower)), ("active set", by_sets(&a, &b, &lower))]
            {
                let higher = (value(&a, &b, &ours) - least) / least.abs();
                let off = ours.iter().zip(&theirs).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                let within = ours.iter().zip(&lower).all(|(x, l)| x >= l);
                if !within || higher > GAP || off > (2.0 * GAP * least.abs() / LEAST).sqrt() {
                    println!(
                        "MISSED {name} {seed} {method}: f {higher:.1e} higher, x {off:.1e} apart, in bounds: {within}"
                    );
                    held = false;
                }
                (above, apart) = (above.max(higher), apart.max(off));
            }
        }
    }
    let word = if held { "HELD  " } else { "MISSED" };
    println!(
        "{word} bounded programs against clarabel: f at most {above:.1e} of its size higher, x {apart:.1e} apart"
    );
    std::process::exit(!held as i32);
}

/// ½ xᵀA x − bᵀx.
fn value(a: &Csr, b: &[f64], x: &[f64]) -> f64 {
    let row = |i: usize| {
        let (columns, numbers) = a.row(i);
        let product: f64 = columns.iter().zip(numbers).map(|(&c, v)| v * x[c as usize]).sum();
        x[i] * (0.5 * product - b[i])
    };
    (0..x.len()).map(row).sum()
}

fn params() -> KrylovParams<'static> {
    KrylovParams { tolerance: 1e-10, ..Default::default() }
}

fn by_mprgp(a: &Csr, b: &[f64], lower: &[f64]) -> Vec<f64> {
    let (mut x, mut jacobi) = (vec![0.0; b.len()], Jacobi::new(&a.diagonal()).expect("a positive diagonal"));
    mprgp(a, &a.diagonal(), &mut jacobi, b, lower, &mut x, &params(), &Cancel::new()).expect("mprgp");
    x
}

fn by_sets(a: &Csr, b: &[f64], lower: &[f64]) -> Vec<f64> {
    let (mut x, mut jacobi) = (vec![0.0; b.len()], Jacobi::new(&a.diagonal()).expect("a positive diagonal"));
    active_set(a, &a.diagonal(), &mut jacobi, b, lower, &mut x, &params(), &Cancel::new())
        .expect("active set");
    x
}

fn clarabel(a: &Csr, b: &[f64], lower: &[f64]) -> Vec<f64> {
    let n = a.rows();
    // Columns of the upper triangle, which are rows of the lower one.
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for j in 0..n {
        let (columns, numbers) = a.row(j);
        for (&i, v) in columns.iter().zip(numbers).filter(|(i, _)| **i as usize <= j) {
            rows.push(i as usize);
            values.push(*v);
        }
        starts.push(rows.len());
    }
    let p = CscMatrix::new(n, n, starts, rows, values);
    let q: Vec<f64> = b.iter().map(|b| -b).collect();
    // −x + s = −l with s ≥ 0.
    let g = CscMatrix::new(n, n, (0..=n).collect(), (0..n).collect(), vec![-1.0; n]);
    let h: Vec<f64> = lower.iter().map(|l| -l).collect();
    let settings = DefaultSettings {
        verbose: false,
        // Asked for more it gives up on the way, with an answer that is wrong in the second digit.
        tol_gap_abs: 1e-9,
        tol_gap_rel: 1e-9,
        tol_feas: 1e-9,
        ..Default::default()
    };
    let cones = [SupportedConeT::NonnegativeConeT(n)];
    let mut solver =
        DefaultSolver::new(&p, &q, &g, &h, &cones, settings).expect("a program that clarabel takes");
    solver.solve();
    assert_eq!(solver.solution.status, SolverStatus::Solved, "clarabel gave up");
    solver.solution.x.clone()
}
