//! Bound-constrained programs against every possible active set, and on walls.

mod linalg_support;

use linalg_support::*;
use meniscus::Cancel;
use meniscus::linalg::*;

/// The solution by trying all active sets: exactly one satisfies the conditions.
fn by_enumeration(a: &Csr, b: &[f64], lower: &[f64]) -> Vec<f64> {
    let (n, full) = (b.len(), dense(a));
    for set in 0..1u32 << n {
        let active = |i: usize| set >> i & 1 == 1;
        if (0..n).any(|i| active(i) && lower[i] == f64::NEG_INFINITY) {
            continue;
        }
        let matrix =
            nalgebra::DMatrix::from_fn(
                n,
                n,
                |i, j| if active(i) { (i == j) as u32 as f64 } else { full[(i, j)] },
            );
        let rhs = nalgebra::DVector::from_fn(n, |i, _| if active(i) { lower[i] } else { b[i] });
        let x = matrix.lu().solve(&rhs).unwrap();
        let g = &full * &x - nalgebra::DVector::from_column_slice(b);
        let fits = |i: usize| if active(i) { g[i] >= -1e-12 } else { x[i] >= lower[i] - 1e-12 };
        if (0..n).all(fits) {
            return x.as_slice().to_vec();
        }
    }
    unreachable!("a convex program has a solution")
}

type Method = fn(
    &Csr,
    &[f64],
    &mut dyn Preconditioner,
    &[f64],
    &[f64],
    &mut [f64],
    &KrylovParams,
    &Cancel,
) -> meniscus::Result<BoundInfo>;

const METHODS: [Method; 2] = [mprgp::<Csr>, active_set::<Csr>];

#[test]
fn small_programs_agree_with_the_enumeration_of_all_active_sets() {
    for seed in 0..40 {
        let n = 2 + seed as usize % 8;
        let a = random_spd(n, seed);
        let b = random_vector(n, seed + 11);
        let mut lower: Vec<f64> = random_vector(n, seed + 22).iter().map(|v| 0.5 * v).collect();
        if seed % 3 == 0 {
            lower[0] = f64::NEG_INFINITY;
        }
        let truth = by_enumeration(&a, &b, &lower);
        let params = KrylovParams { tolerance: 1e-11, ..Default::default() };
        for method in METHODS {
            let mut m = Ic0::new(&a, &Ic0Params::ic0()).unwrap();
            let mut x = random_vector(n, seed + 33);
            let info =
                method(&a, &a.diagonal(), &mut m, &b, &lower, &mut x, &params, &Cancel::new()).unwrap();
            assert!(info.solve.converged(), "seed {seed} {info:?}");
            // Smallest eigenvalue 1: the error is at most the violation.
            assert!(distance(&x, &truth) < 1e-9, "seed {seed} {info:?}");
            assert!(x.iter().zip(&lower).all(|(x, l)| x >= l));
            let active = truth.iter().zip(&lower).filter(|(x, l)| **x - **l < 1e-9).count();
            assert_eq!(info.active, active, "seed {seed}");
        }
    }
}

#[test]
fn liquid_may_leave_the_wall_but_not_pull_at_it() {
    // Suction on one half, pressure on the other; p ≥ 0 everywhere.
    let a = poisson([16, 16, 16]);
    let b: Vec<f64> = (0..a.rows()).map(|i| if i % 16 < 8 { -1.0 } else { 1.0 }).collect();
    let lower = vec![0.0; a.rows()];
    let params = KrylovParams { tolerance: 1e-8, ..Default::default() };
    let mut found = vec![];
    for method in METHODS {
        let mut m = Ic0::new(&a, &Ic0Params::mic0()).unwrap();
        let mut x = vec![0.0; a.rows()];
        let info = method(&a, &a.diagonal(), &mut m, &b, &lower, &mut x, &params, &Cancel::new()).unwrap();
        assert!(info.solve.converged() && info.active > 500, "{info:?}");
        let mut g = vec![0.0; a.rows()];
        a.multiply(&x, &mut g);
        let slack = 1e-7 * norm(&b);
        assert!(
            (0..a.rows())
                .all(|i| x[i] >= 0.0 && (g[i] - b[i] >= -slack) && x[i] * (g[i] - b[i]) <= slack * 100.0)
        );
        // Starting from the solution costs nothing.
        let again = method(&a, &a.diagonal(), &mut m, &b, &lower, &mut x, &params, &Cancel::new()).unwrap();
        assert!(again.solve.iterations <= 2, "{again:?}");
        found.push(x);
    }
    assert!(distance(&found[0], &found[1]) < 1e-5 * norm(&found[0]));
}

#[test]
fn free_unknowns_make_it_an_ordinary_solve() {
    let a = poisson([10, 10, 10]);
    let b = random_vector(1000, 1);
    let mut m = Ic0::new(&a, &Ic0Params::mic0()).unwrap();
    let params = KrylovParams { tolerance: 1e-8, ..Default::default() };
    let mut y = vec![0.0; 1000];
    let plain = cg(&a, &mut m, &b, &mut y, &params, &Cancel::new()).unwrap();
    for method in METHODS {
        let mut x = vec![0.0; 1000];
        let lower = [f64::NEG_INFINITY; 1000];
        let info = method(&a, &a.diagonal(), &mut m, &b, &lower, &mut x, &params, &Cancel::new()).unwrap();
        assert!(info.solve.converged() && info.active == 0, "{info:?}");
        assert!(info.solve.iterations <= plain.iterations + 3, "{info:?} {plain:?}");
        assert!(distance(&x, &y) < 1e-6 * norm(&y));
    }
}

#[test]
fn bad_bounds_are_refused() {
    let a = poisson([2, 2, 2]);
    let params = KrylovParams::default();
    for method in METHODS {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut lower = [0.0; 8];
            lower[3] = bad;
            let mut x = [0.0; 8];
            let run =
                method(&a, &a.diagonal(), &mut Identity, &[1.0; 8], &lower, &mut x, &params, &Cancel::new());
            assert!(run.is_err());
        }
        let mut x = [0.0; 8];
        let run = method(
            &a,
            &a.diagonal(),
            &mut Identity,
            &[f64::NAN; 8],
            &[0.0; 8],
            &mut x,
            &params,
            &Cancel::new(),
        );
        assert!(run.is_err());
    }
}

#[test]
fn one_thread_and_eight_agree_bitwise() {
    let a = poisson([24, 24, 24]);
    let b = random_vector(a.rows(), 5);
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut found = vec![];
            for method in METHODS {
                let mut x = vec![0.0; a.rows()];
                let mut m = Ic0::new(&a, &Ic0Params { block_rows: 2000, ..Ic0Params::mic0() }).unwrap();
                let lower = vec![-0.1; a.rows()];
                method(&a, &a.diagonal(), &mut m, &b, &lower, &mut x, &params, &Cancel::new()).unwrap();
                found.push(bits(&x));
            }
            for method in [minres::<Csr>, fgmres::<Csr>] {
                let mut x = vec![0.0; a.rows()];
                let mut m = SymmetricGaussSeidel::new(&a).unwrap();
                method(&a, &mut m, &b, &mut x, &params, &Cancel::new()).unwrap();
                found.push(bits(&x));
            }
            found
        })
    };
    let one = run(1);
    assert!([2, 3, 8].iter().all(|&t| run(t) == one));
}
