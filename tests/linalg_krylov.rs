//! Krylov methods and point preconditioners against dense truth, null spaces and bad input.

mod linalg_support;

use linalg_support::*;
use meniscus::linalg::*;
use meniscus::{Cancel, Error};

fn solve(a: &Csr, m: &mut dyn Preconditioner, b: &[f64], tolerance: f64) -> (Vec<f64>, SolveInfo) {
    let mut x = vec![0.0; b.len()];
    let params = KrylovParams { tolerance, ..Default::default() };
    let info = cg(a, m, b, &mut x, &params, &Cancel::new()).unwrap();
    (x, info)
}

#[test]
fn every_preconditioner_leads_to_the_dense_solution() {
    for seed in 0..30 {
        let n = 1 + (seed as usize * 7) % 40;
        let a = random_spd(n, seed);
        let b = random_vector(n, seed + 100);
        let truth = dense_solve(&a, &b);
        for (name, mut m) in point_preconditioners(&a) {
            let (x, info) = solve(&a, m.as_mut(), &b, 1e-13);
            assert!(info.residual < 1e-12, "{name} {info:?}");
            // The matrices have condition numbers below 1e3.
            assert!(distance(&x, &truth) < 1e-9 * (1.0 + norm(&truth)), "{name} seed {seed}: {info:?}");
        }
    }
}

#[test]
fn preconditioners_are_symmetric_and_positive() {
    for seed in 0..10 {
        let a = random_spd(30, seed);
        let mut all = point_preconditioners(&a);
        let blocks = BlockCsr::<3>::from_csr(&a).unwrap();
        all.push(("block jacobi", Box::new(BlockJacobi::new(&blocks).unwrap())));
        all.push(("sparse ldlt", Box::new(SparseLdlt::new(&a).unwrap())));
        for (name, mut m) in all {
            let columns: Vec<Vec<f64>> = (0..30)
                .map(|j| {
                    let (mut e, mut z) = (vec![0.0; 30], vec![0.0; 30]);
                    e[j] = 1.0;
                    m.apply(&e, &mut z);
                    z
                })
                .collect();
            let dense = nalgebra::DMatrix::from_fn(30, 30, |i, j| columns[j][i]);
            assert!((&dense - dense.transpose()).amax() < 1e-12 * dense.amax(), "{name}");
            assert!(dense.symmetric_eigenvalues().min() > 0.0, "{name}");
        }
    }
}

#[test]
fn incomplete_cholesky_of_a_tridiagonal_matrix_is_exact() {
    let a = poisson([50, 1, 1]);
    let b = random_vector(50, 1);
    let (_, info) = solve(&a, &mut Ic0::new(&a, &Ic0Params::ic0()).unwrap(), &b, 1e-12);
    assert_eq!(info.iterations, 1);
}

#[test]
fn modified_incomplete_cholesky_beats_the_plain_one_on_a_cube() {
    let a = poisson([24, 24, 24]);
    let b = random_vector(a.rows(), 3);
    let count = |m: &mut dyn Preconditioner| solve(&a, m, &b, 1e-8).1.iterations;
    let plain = count(&mut Identity);
    let ic0 = count(&mut Ic0::new(&a, &Ic0Params::ic0()).unwrap());
    let mic0 = count(&mut Ic0::new(&a, &Ic0Params::mic0()).unwrap());
    assert!(mic0 < ic0 && 2 * ic0 < plain + 10, "plain {plain}, ic0 {ic0}, mic0 {mic0}");
}

#[test]
fn closed_regions_are_solved_up_to_a_constant_each() {
    // Two closed boxes and an open one, side by side in one matrix.
    let (closed, open) = (neumann([6, 5, 4]), poisson([4, 4, 4]));
    let a = block_diagonal(&[&closed, &closed, &open]);
    let labels: Vec<u32> = (0..a.rows()).map(|i| if i < 240 { (i / 120) as u32 } else { u32::MAX }).collect();
    let space = NullSpace::constants(&labels).unwrap();
    let mut b = random_vector(a.rows(), 9);
    let params = KrylovParams { tolerance: 1e-11, null_space: Some(&space), ..Default::default() };
    for (name, mut m) in point_preconditioners(&a) {
        let mut x = random_vector(a.rows(), 4);
        let info = cg(&a, m.as_mut(), &b, &mut x, &params, &Cancel::new()).unwrap();
        assert!(info.converged(), "{name} {info:?}");
        assert!((0..2).all(|c| space.component(c, &x).abs() < 1e-12));
    }
    // A right-hand side that is all null space has the solution zero.
    b.iter_mut().enumerate().for_each(|(i, b)| *b = if i < 120 { 3.0 } else { 0.0 });
    let mut x = random_vector(a.rows(), 4);
    let info = cg(&a, &mut Identity, &b, &mut x, &params, &Cancel::new()).unwrap();
    assert!(info.converged() && x.iter().all(|x| x.abs() < 1e-12), "{info:?}");
}

#[test]
fn a_zero_right_hand_side_and_an_empty_system_need_no_iterations() {
    let a = poisson([3, 3, 3]);
    let mut x = vec![1.0; 27];
    let info = cg(&a, &mut Identity, &[0.0; 27], &mut x, &KrylovParams::default(), &Cancel::new()).unwrap();
    assert_eq!((info.iterations, info.converged(), x), (0, true, vec![0.0; 27]));
    let empty = Csr::from_triplets(0, 0, &[]).unwrap();
    assert!(
        cg(&empty, &mut Identity, &[], &mut [], &KrylovParams::default(), &Cancel::new())
            .unwrap()
            .converged()
    );
}

#[test]
fn the_solution_as_start_needs_no_iterations() {
    let a = poisson([8, 8, 8]);
    let b = random_vector(512, 5);
    let (mut x, _) = solve(&a, &mut Identity, &b, 1e-12);
    let info = cg(&a, &mut Identity, &b, &mut x, &KrylovParams::default(), &Cancel::new()).unwrap();
    assert_eq!(info.iterations, 0);
}

#[test]
fn bad_numbers_are_refused() {
    let mut a = poisson([4, 4, 4]);
    let b = random_vector(64, 6);
    let run = |a: &Csr, b: &[f64], x: f64| {
        cg(a, &mut Identity, b, &mut [x; 64], &KrylovParams::default(), &Cancel::new())
    };
    let mut bad = b.clone();
    bad[10] = f64::NAN;
    assert!(matches!(run(&a, &bad, 0.0), Err(Error::Invalid { .. })));
    assert!(matches!(run(&a, &b, f64::INFINITY), Err(Error::Invalid { .. })));
    assert!(matches!(run(&a, &b[1..], 0.0), Err(Error::Invalid { .. })));
    a.values_mut()[20] = f64::NAN;
    assert!(matches!(run(&a, &b, 0.0), Err(Error::Diverged { .. })));
}

#[test]
fn an_indefinite_matrix_is_detected() {
    let mut a = poisson([10, 10, 10]);
    // −Δ − 0.6/h² has eigenvalues of both signs.
    shift_diagonal(&mut a, -0.6);
    let (_, info) = solve(&a, &mut Identity, &random_vector(1000, 7), 1e-10);
    assert_eq!(info.outcome, Outcome::Indefinite);
    assert!(info.iterations < 100);
}

#[test]
fn a_matrix_that_is_not_symmetric_is_detected() {
    // Upwind transport along x on top of diffusion.
    let a = poisson([10, 10, 10]);
    let wind = Csr::from_rows(1000, 1000, |i, row| {
        let (columns, values) = a.row(i);
        row.extend(
            columns.iter().zip(values).map(|(&c, &v)| (c, if c as usize + 1 == i { v - 3.0 } else { v })),
        );
        row.push((i as u32, 3.0));
    })
    .unwrap();
    let (_, info) = solve(&wind, &mut Identity, &random_vector(1000, 8), 1e-10);
    assert_eq!(info.outcome, Outcome::NotSymmetric);
    assert!(info.iterations < 20, "{info:?}");
}

#[test]
fn an_unreachable_tolerance_ends_as_a_stall() {
    let a = poisson([12, 12, 12]);
    let (_, info) = solve(&a, &mut Identity, &random_vector(a.rows(), 2), 1e-17);
    assert_eq!(info.outcome, Outcome::Stalled);
    assert!(info.residual < 1e-14 && info.iterations < 1000, "{info:?}");
}

#[test]
fn a_raised_flag_stops_the_solve() {
    let a = poisson([8, 8, 8]);
    let cancel = Cancel::new();
    cancel.cancel();
    let run =
        cg(&a, &mut Identity, &random_vector(512, 1), &mut [0.0; 512], &KrylovParams::default(), &cancel);
    assert_eq!(run, Err(Error::Cancelled));
}

#[test]
fn one_thread_and_eight_agree_bitwise() {
    let a = poisson([30, 30, 30]);
    let b = random_vector(a.rows(), 11);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut bits = vec![];
            for (_, mut m) in point_preconditioners(&a) {
                let (x, info) = solve(&a, m.as_mut(), &b, 1e-8);
                bits.push((info.iterations, x.iter().map(|v| v.to_bits()).collect::<Vec<_>>()));
            }
            bits
        })
    };
    let one = run(1);
    assert!([2, 3, 8].iter().all(|&t| run(t) == one));
}

#[test]
fn blocks_saddles_and_low_ranks_agree_bitwise_on_any_number_of_threads() {
    let a = poisson([27, 27, 27]);
    let n = a.rows();
    let blocks = BlockCsr::<3>::from_csr(&a).unwrap();
    let entry = |i: usize, k: usize| (i as u32, ((7 * i + 5 * k) % n) as u32, 0.3 + (k % 3) as f64);
    let gather = |rows: usize, each: usize| -> Csr {
        let triplets: Vec<_> = (0..rows).flat_map(|i| (0..each).map(move |k| entry(i, k))).collect();
        Csr::from_triplets(rows, n, &triplets).unwrap()
    };
    let saddle = Saddle::new(a.clone(), gather(9000, 4), Some(Csr::identity(9000).unwrap())).unwrap();
    let middle: Vec<f64> = (0..36).map(|i| 0.1 + ((i / 6) * (i % 6)) as f64).collect();
    let low = LowRank::new(&a, gather(6, 9000), middle).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let operators: [&dyn LinearOperator; 3] = [&blocks, &saddle, &low];
            operators.map(|o| {
                let x = random_vector(o.size(), 5);
                let (mut y, mut r) = (vec![0.0; o.size()], vec![0.0; o.size()]);
                let product = o.apply_dot(&x, &mut y);
                o.residual(&x, &y, &mut r);
                (product.to_bits(), bits(&y), bits(&r))
            })
        })
    };
    let one = run(1);
    assert!([2, 3, 8].iter().all(|&t| run(t) == one));
}

#[test]
fn products_transposes_and_sums_of_triplets_are_those_of_sprs() {
    let mut random = Random(9);
    for (rows, inner, columns) in [(1, 1, 1), (13, 7, 29), (90, 140, 60), (3, 500, 2)] {
        let mut matrix = |rows: usize, columns: usize| {
            let count = 4 * rows.max(columns);
            let one = |r: &mut Random| {
                let (i, j) = (r.next() % rows as u64, r.next() % columns as u64);
                // Eighths: sums are exact in any order.
                (i as u32, j as u32, (r.next() % 64) as f64 / 8.0 - 3.0)
            };
            let triplets: Vec<(u32, u32, f64)> = (0..count).map(|_| one(&mut random)).collect();
            let ours = Csr::from_triplets(rows, columns, &triplets).unwrap();
            let mut theirs = sprs::TriMatI::<f64, u32>::new((rows, columns));
            triplets.iter().for_each(|&(i, j, v)| theirs.add_triplet(i as usize, j as usize, v));
            (ours, theirs.to_csr::<u32>())
        };
        let same = |ours: &Csr, theirs: &sprs::CsMatI<f64, u32>| {
            assert_eq!((ours.rows(), ours.column_count()), theirs.shape());
            for i in 0..ours.rows() {
                for j in 0..ours.column_count() {
                    assert_eq!(ours.get(i, j), theirs.get(i, j).copied().unwrap_or(0.0), "({i}, {j})");
                }
            }
        };
        let ((a, their_a), (b, their_b)) = (matrix(rows, inner), matrix(inner, columns));
        same(&a, &their_a);
        same(&a.product(&b).unwrap(), &(&their_a * &their_b));
        let turned = their_a.transpose_view().to_csr();
        same(&a.transpose(), &turned);
        assert_eq!(a.transpose().transpose(), a);
    }
}

#[test]
fn gmres_ends_in_any_unit() {
    // A lucky breakdown: the second direction already holds the solution.
    for unit in [1e-30, 1.0, 1e30] {
        let a =
            Csr::from_triplets(3, 3, &[(0, 0, 2.0 * unit), (1, 1, 3.0 * unit), (2, 2, 3.0 * unit)]).unwrap();
        let (b, mut x) = ([2.0 * unit, 3.0 * unit, 3.0 * unit], [0.0; 3]);
        let params = KrylovParams { tolerance: 1e-14, ..Default::default() };
        let info = fgmres(&a, &mut Identity, &b, &mut x, &params, &Cancel::new()).unwrap();
        assert!(info.converged() && info.iterations <= 3, "{unit} {info:?}");
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-12), "{unit} {x:?}");
    }
}

#[test]
fn minres_and_gmres_lead_to_the_dense_solution_of_indefinite_systems() {
    for seed in 0..20 {
        let n = 5 + seed as usize;
        let mut a = random_spd(n, seed);
        // Every third diagonal turns negative: symmetric and indefinite.
        for i in (0..n).step_by(3) {
            let place = a.span(i).find(|&k| a.columns()[k] as usize == i).unwrap();
            a.values_mut()[place] -= 5.0;
        }
        let b = random_vector(n, seed + 7);
        let truth = dense_solve(&a, &b);
        let params = KrylovParams { tolerance: 1e-11, ..Default::default() };
        let weights: Vec<f64> = random_vector(n, seed + 9).iter().map(|v| 1.5 + v).collect();
        for method in [minres::<Csr>, fgmres::<Csr>] {
            let mut x = random_vector(n, seed + 3);
            let info =
                method(&a, &mut Jacobi::new(&weights).unwrap(), &b, &mut x, &params, &Cancel::new()).unwrap();
            assert!(info.converged(), "{info:?}");
            // Random matrices of this size have condition numbers below 1e4.
            assert!(distance(&x, &truth) < 1e-6 * (1.0 + norm(&truth)), "{info:?}");
        }
    }
}

#[test]
fn gmres_restarts_and_solves_transport() {
    let a = poisson([12, 12, 12]);
    let wind = Csr::from_rows(a.rows(), a.rows(), |i, row| {
        let (columns, values) = a.row(i);
        row.extend(
            columns.iter().zip(values).map(|(&c, &v)| (c, if c as usize + 1 == i { v - 3.0 } else { v })),
        );
        row.push((i as u32, 3.0));
    })
    .unwrap();
    let b = random_vector(a.rows(), 1);
    let params = KrylovParams { tolerance: 1e-10, restart: 10, ..Default::default() };
    let mut x = vec![0.0; a.rows()];
    let info =
        fgmres(&wind, &mut Jacobi::new(&wind.diagonal()).unwrap(), &b, &mut x, &params, &Cancel::new())
            .unwrap();
    assert!(info.converged() && info.iterations > 10, "{info:?}");
}

#[test]
fn closed_regions_are_solved_by_minres_and_gmres() {
    let a = neumann([7, 6, 5]);
    let space = NullSpace::constants(&[0; 210]).unwrap();
    let b = random_vector(210, 9);
    let params = KrylovParams { tolerance: 1e-10, null_space: Some(&space), ..Default::default() };
    for method in [minres::<Csr>, fgmres::<Csr>] {
        let mut x = random_vector(210, 4);
        let info = method(&a, &mut Jacobi::new(&a.diagonal()).unwrap(), &b, &mut x, &params, &Cancel::new())
            .unwrap();
        assert!(info.converged() && space.component(0, &x).abs() < 1e-12, "{info:?}");
    }
}

#[test]
fn a_zero_matrix_and_an_indefinite_preconditioner_do_not_loop() {
    struct Negative;
    impl Preconditioner for Negative {
        fn apply(&mut self, r: &[f64], z: &mut [f64]) {
            z.iter_mut().zip(r).for_each(|(z, r)| *z = -r);
        }
    }
    let a = poisson([4, 4, 4]);
    let b = random_vector(64, 1);
    let params = KrylovParams::default();
    let info = minres(&a, &mut Negative, &b, &mut [0.0; 64], &params, &Cancel::new()).unwrap();
    assert_eq!(info.outcome, Outcome::Indefinite);
    let zero = Csr::from_triplets(64, 64, &[]).unwrap();
    for method in [cg::<Csr>, minres::<Csr>, fgmres::<Csr>] {
        let info = method(&zero, &mut Identity, &b, &mut [0.0; 64], &params, &Cancel::new()).unwrap();
        assert!(!info.converged() && info.iterations < 5, "{info:?}");
    }
}

/// Iterations of coupled velocity and pressure on a free block, with the Cahouet–Chabard Schur complement.
fn stokes(n: usize, s: f64, symmetric: bool) -> SolveInfo {
    let flow = cases::viscosity(n, s).unwrap();
    let b = cases::divergence(n).unwrap();
    let poisson = b.product(&b.transpose()).unwrap();
    let cycle = if symmetric { Cycle::V } else { Cycle::K };
    let options = AmgParams { cycle, ..Default::default() };
    let mut velocity = Amg::with_near_null(&flow.matrix, 6, &flow.rigid_motions, &options).unwrap();
    let mut laplace = Amg::new(&poisson, &options).unwrap();
    let mut pressure = CahouetChabard::new(vec![2.0 * s; b.rows()], &mut laplace).unwrap();
    let system = Saddle::new(flow.matrix.clone(), b, None).unwrap();
    let rhs = random_vector(system.size(), 3);
    let mut x = vec![0.0; rhs.len()];
    let params = KrylovParams { tolerance: 1e-6, max_iterations: 300, ..Default::default() };
    let info = if symmetric {
        let velocities = system.velocities();
        let mut m = BlockDiagonal { velocity: &mut velocity, pressure: &mut pressure, velocities };
        minres(&system, &mut m, &rhs, &mut x, &params, &Cancel::new()).unwrap()
    } else {
        let mut inner = InnerSolve {
            matrix: &flow.matrix,
            preconditioner: &mut velocity,
            tolerance: 1e-2,
            max_iterations: 30,
        };
        let mut m = BlockTriangular::new(&system, &mut inner, &mut pressure);
        fgmres(&system, &mut m, &rhs, &mut x, &params, &Cancel::new()).unwrap()
    };
    assert!(info.converged(), "n {n}, s {s}: {info:?}");
    info
}

#[test]
fn coupled_flow_takes_few_iterations_from_thin_to_thick() {
    for s in [1.0, 1e2, 1e4] {
        let (triangular, diagonal) = (stokes(8, s, false).iterations, stokes(8, s, true).iterations);
        assert!(triangular <= 40 && diagonal <= 130, "s {s}: fgmres {triangular}, minres {diagonal}");
    }
}

#[test]
fn the_diagonal_schur_complement_is_exact_for_one_pressure_and_diagonal_velocities() {
    let a = Csr::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)]).unwrap();
    let b = Csr::from_triplets(1, 2, &[(0, 0, 1.0), (0, 1, 2.0)]).unwrap();
    let c = Csr::from_triplets(1, 1, &[(0, 0, 0.5)]).unwrap();
    let system = Saddle::new(a, b, Some(c)).unwrap();
    let mut z = [0.0];
    system.diagonal_schur().unwrap().apply(&[4.0], &mut z);
    // 1/2 + 4/4 + 0.5 = 2.
    assert_eq!(z, [2.0]);
    let mut y = [0.0; 3];
    system.apply(&[1.0, 1.0, 2.0], &mut y);
    assert_eq!(y, [4.0, 8.0, 2.0]);
}
