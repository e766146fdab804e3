//! Bounded quadratic programs against clarabel: `cargo run --release --bin bounds` in this folder.
//!
//! min ½ xᵀA x − bᵀx with x ≥ l, for small matrices of the pressure kind and random ones. Both of our methods must find
//! what clarabel finds; its interior points leave some 10⁻⁸, which is the gate.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use meniscus::Cancel;
use meniscus::linalg::{Csr, Jacobi, KrylovParams, active_set, cases, mprgp};

/// Relative distance that counts as the same answer.
const SAME: f64 = 1e-6;

fn main() {
    let mut worst = 0.0f64;
    for (name, a) in [("cube", cases::poisson(5).unwrap()), ("splash", cases::splash(9).unwrap())] {
        for seed in 0..10 {
            let n = a.rows();
            let b = cases::random_vector(n, seed);
            let lower: Vec<f64> = cases::random_vector(n, seed + 100).iter().map(|v| 0.2 * v - 0.1).collect();
            let theirs = clarabel(&a, &b, &lower);
            for (method, ours) in
                [("mprgp", by_mprgp(&a, &b, &lower)), ("active set", by_sets(&a, &b, &lower))]
            {
                let size = theirs.iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
                let off = ours.iter().zip(&theirs).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs())) / size;
                worst = worst.max(off);
                if off > SAME {
                    println!("MISSED {name} {seed} {method}: {off:.1e} apart");
                }
            }
        }
    }
    println!(
        "{} bounded programs agree with clarabel to {worst:.1e}",
        if worst <= SAME { "HELD  " } else { "MISSED" }
    );
    std::process::exit((worst > SAME) as i32);
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
        tol_gap_abs: 1e-12,
        tol_gap_rel: 1e-12,
        tol_feas: 1e-12,
        ..Default::default()
    };
    let cones = [SupportedConeT::NonnegativeConeT(n)];
    let mut solver =
        DefaultSolver::new(&p, &q, &g, &h, &cones, settings).expect("a program that clarabel takes");
    solver.solve();
    solver.solution.x.clone()
}
