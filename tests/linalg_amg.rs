//! The multigrid hierarchy: flat iteration counts, symmetry, closed regions, rigid motions, equal bits.

mod linalg_support;

use linalg_support::*;
use meniscus::Cancel;
use meniscus::linalg::*;

fn solve(a: &Csr, m: &mut dyn Preconditioner, b: &[f64], tolerance: f64) -> (Vec<f64>, SolveInfo) {
    let mut x = vec![0.0; b.len()];
    let params = KrylovParams { tolerance, max_iterations: 200, ..Default::default() };
    let info = cg(a, m, b, &mut x, &params, &Cancel::new()).unwrap();
    (x, info)
}

#[test]
fn iterations_do_not_grow_with_the_grid() {
    let count = |n: usize| {
        let a = cases::poisson(n).unwrap();
        let info = solve(&a, &mut Amg::new(&a, &AmgParams::default()).unwrap(), &vec![1.0; a.rows()], 1e-6).1;
        assert!(info.converged(), "{info:?}");
        info.iterations
    };
    let counts = [16, 32, 64].map(count);
    assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 3, "{counts:?}");
    assert!(counts[2] <= 14, "{counts:?}");
}

#[test]
fn a_splash_is_solved_in_few_iterations() {
    let a = cases::splash(48).unwrap();
    let b = random_vector(a.rows(), 1);
    let (_, info) = solve(&a, &mut Amg::new(&a, &AmgParams::default()).unwrap(), &b, 1e-6);
    assert!(info.converged() && info.iterations <= 18, "{info:?}");
}

#[test]
fn linear_cycles_are_symmetric_and_positive() {
    let base = AmgParams { precision: Precision::Double, bottom_rows: 20, ..Default::default() };
    let a = cases::splash(20).unwrap();
    let flow = cases::viscosity(7, 3.0).unwrap();
    for cycle in [Cycle::V, Cycle::W] {
        for smoothed in [false, true] {
            let params = AmgParams { cycle, smoothed, ..base };
            check_symmetric(&mut Amg::new(&a, &params).unwrap(), a.rows());
            let mut m = Amg::with_near_null(&flow.matrix, 6, &flow.rigid_motions, &params).unwrap();
            check_symmetric(&mut m, flow.matrix.rows());
        }
    }
}

#[test]
fn every_option_converges_and_single_precision_costs_no_iterations() {
    let a = cases::splash(24).unwrap();
    let b = random_vector(a.rows(), 5);
    for cycle in [Cycle::V, Cycle::W, Cycle::K] {
        for smoothed in [false, true] {
            let run = |precision| {
                let params = AmgParams { cycle, smoothed, precision, bottom_rows: 50, ..Default::default() };
                let (_, info) = solve(&a, &mut Amg::new(&a, &params).unwrap(), &b, 1e-10);
                assert!(info.converged(), "{params:?} {info:?}");
                info.iterations
            };
            assert!(run(Precision::Single) <= run(Precision::Double) + 1);
        }
    }
}

#[test]
fn closed_regions_of_any_size_are_solved() {
    // A closed tank, closed cups of two cells, and an open pool.
    let parts: Vec<Csr> = [[14, 14, 14], [2, 1, 1], [1, 2, 1], [3, 3, 2]].map(neumann).into_iter().collect();
    let open = poisson([8, 8, 8]);
    let a = block_diagonal(&[&parts[0], &parts[1], &parts[2], &open, &parts[3]]);
    let mut labels = vec![0u32; 2744];
    labels.extend([1, 1, 2, 2]);
    labels.extend([u32::MAX; 512]);
    labels.extend([3; 18]);
    let space = NullSpace::constants(&labels).unwrap();
    let b = random_vector(a.rows(), 2);
    let params =
        KrylovParams { tolerance: 1e-9, null_space: Some(&space), max_iterations: 60, ..Default::default() };
    for bottom_rows in [10, 200] {
        let mut m = Amg::new(&a, &AmgParams { bottom_rows, ..Default::default() }).unwrap();
        let mut x = vec![0.0; a.rows()];
        let info = cg(&a, &mut m, &b, &mut x, &params, &Cancel::new()).unwrap();
        assert!(info.converged() && info.iterations < 30, "{info:?} {:?}", m.sizes());
    }
}

#[test]
fn units_do_not_matter() {
    let mut a = cases::splash(20).unwrap();
    let mut b = random_vector(a.rows(), 3);
    let count = |a: &Csr, b: &[f64]| solve(a, &mut Amg::new(a, &AmgParams::default()).unwrap(), b, 1e-8).1;
    let plain = count(&a, &b);
    // Powers of two change no rounding, so even single precision takes the same path.
    let (tiny, huge) = (f64::powi(2.0, -200), f64::powi(2.0, 180));
    a.values_mut().iter_mut().for_each(|v| *v *= tiny);
    b.iter_mut().for_each(|v| *v *= huge);
    assert_eq!(plain, count(&a, &b));
}

#[test]
fn viscous_iterations_at_most_double_from_thin_to_thick() {
    let count = |s: f64| {
        let case = cases::viscosity(16, s).unwrap();
        let mut m = Amg::with_near_null(&case.matrix, 6, &case.rigid_motions, &AmgParams::default()).unwrap();
        let info = solve(&case.matrix, &mut m, &random_vector(case.matrix.rows(), 1), 1e-6).1;
        assert!(info.converged(), "{info:?}");
        info.iterations
    };
    let counts = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5].map(count);
    assert!(counts.iter().all(|&c| c <= 2 * counts[0]), "{counts:?}");
}

#[test]
fn rigid_motion_feels_no_viscosity() {
    // K u = 0, so (1 + sK) u = u for any s.
    let case = cases::viscosity(9, 1e7).unwrap();
    let n = case.matrix.rows();
    for motion in 0..6 {
        let b: Vec<f64> = (0..n).map(|i| case.rigid_motions[6 * i + motion]).collect();
        let mut y = vec![0.0; n];
        case.matrix.multiply(&b, &mut y);
        // K b = 0: products of size s cancel to rounding.
        assert!(distance(&y, &b) < 1e-14 * 1e7 * norm(&b), "{motion}");
        let mut m = Amg::with_near_null(
            &case.matrix,
            6,
            &case.rigid_motions,
            &AmgParams { precision: Precision::Double, ..Default::default() },
        )
        .unwrap();
        let (x, info) = solve(&case.matrix, &mut m, &b, 1e-6);
        assert!(info.iterations <= 25, "{motion} {info:?}");
        // The smallest eigenvalue of 1 + sK is 1, so the error is at most the residual.
        assert!(distance(&x, &b) < 1.1e-6 * norm(&b), "{motion}");
    }
}

#[test]
fn groups_are_used_again_when_only_values_change() {
    let mut a = cases::poisson(20).unwrap();
    let b = random_vector(a.rows(), 3);
    let m = Amg::new(&a, &AmgParams::default()).unwrap();
    let sizes = m.sizes().to_vec();
    shift_diagonal(&mut a, 0.5);
    let mut m = m.update(&a).unwrap();
    assert_eq!(m.sizes(), sizes);
    let (again, fresh) =
        (solve(&a, &mut m, &b, 1e-8), solve(&a, &mut Amg::new(&a, &AmgParams::default()).unwrap(), &b, 1e-8));
    assert_eq!(again, fresh);
}

#[test]
fn smoothed_groups_are_used_again_too() {
    let case = cases::viscosity(9, 10.0).unwrap();
    let (mut a, params) =
        (case.matrix, AmgParams { smoothed: true, cycle: Cycle::V, ..AmgParams::default() });
    let b = random_vector(a.rows(), 3);
    let m = Amg::with_near_null(&a, 6, &case.rigid_motions, &params).unwrap();
    // Other couplings would be matched otherwise; the old groups stay.
    for i in 0..a.rows() {
        let span = a.span(i);
        let columns = a.columns()[span.clone()].to_vec();
        for (v, c) in a.values_mut()[span].iter_mut().zip(columns) {
            *v *= if c as usize == i { 1.0 } else { 0.5 + 0.4 * ((i + c as usize) % 2) as f64 };
        }
    }
    let sizes: Vec<usize> = m.sizes().iter().map(|s| s.0).collect();
    let mut m = m.update(&a).unwrap();
    assert_eq!(m.sizes().iter().map(|s| s.0).collect::<Vec<_>>(), sizes);
    let (_, info) = solve(&a, &mut m, &b, 1e-8);
    assert!(info.converged(), "{info:?}");
}

#[test]
fn the_default_cycle_is_symmetric_enough_for_conjugate_gradients() {
    // Its inner conjugate gradients make it nonlinear: u·M⁻¹v and v·M⁻¹u part by some per cent of their bound.
    let a = cases::splash(24).unwrap();
    let mut m = Amg::new(&a, &AmgParams::default()).unwrap();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for seed in 0..4 {
        let (u, v) = (random_vector(a.rows(), seed), random_vector(a.rows(), seed + 50));
        let (mut mu, mut mv) = (vec![0.0; a.rows()], vec![0.0; a.rows()]);
        m.apply(&u, &mut mu);
        m.apply(&v, &mut mv);
        let bound = norm(&u) * norm(&mv);
        let off = (dot(&u, &mv) - dot(&v, &mu)).abs() / bound;
        assert!(off < 0.05, "{off}");
        assert!(dot(&u, &mu) > 0.0 && dot(&v, &mv) > 0.0);
    }
}

#[test]
fn trivial_matrices_are_no_trouble() {
    for n in [0, 1, 2, 1000] {
        let a = Csr::identity(n).unwrap();
        let b = random_vector(n, 1);
        let (x, info) = solve(&a, &mut Amg::new(&a, &AmgParams::default()).unwrap(), &b, 1e-6);
        assert!(info.converged() && distance(&x, &b) <= 1e-6 * norm(&b), "{n} {info:?}");
    }
    let mut a = poisson([3, 3, 3]);
    a.values_mut()[4] = f64::NAN;
    assert!(Amg::new(&a, &AmgParams::default()).is_err());
    let wide = Csr::from_triplets(1, 2, &[(0, 1, 1.0)]).unwrap();
    assert!(Amg::new(&wide, &AmgParams::default()).is_err());
    let a = poisson([3, 3, 3]);
    assert!(Amg::with_near_null(&a, 2, &[1.0; 27], &AmgParams::default()).is_err());
}

#[test]
fn one_thread_and_eight_agree_bitwise() {
    let pressure = cases::splash(56).unwrap();
    let flow = cases::viscosity(14, 50.0).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let b = random_vector(pressure.rows(), 1);
            let (x, info) =
                solve(&pressure, &mut Amg::new(&pressure, &AmgParams::default()).unwrap(), &b, 1e-8);
            let b = random_vector(flow.matrix.rows(), 1);
            let mut m =
                Amg::with_near_null(&flow.matrix, 6, &flow.rigid_motions, &AmgParams::default()).unwrap();
            let (y, other) = solve(&flow.matrix, &mut m, &b, 1e-8);
            (info.iterations, other.iterations, bits(&x), bits(&y))
        })
    };
    let one = run(1);
    assert!([2, 3, 8].iter().all(|&t| run(t) == one));
}
