//! Truth for the multigrid solver: factorisations of the assembled matrix, and definitions.

use super::*;
use crate::linalg::{LinearOperator, Outcome, SparseLdlt, cases::random_vector};
use crate::math::Vec3;
use crate::solver::mac::cases;

/// Numbers between 0 and 1 from a fixed sequence.
fn shares(n: usize, seed: u64) -> Vec<f64> {
    random_vector(n, seed).into_iter().map(|v| 0.5 * (v + 1.0)).collect()
}

/// A stencil over the cells where `liquid` holds. Faces between them are open by `open(axis, cell)`, the air
/// beyond the others pulls by `pull(cell)` for each face.
fn stencil(
    tiles: &Tiles,
    liquid: impl Fn([i32; 3]) -> bool,
    open: impl Fn(usize, [i32; 3]) -> f32,
    pull: impl Fn([i32; 3]) -> f64,
) -> Stencil {
    let mut made = Stencil::new(tiles);
    for place in 0..tiles.cells() {
        let cell = tiles.cell(place);
        for axis in 0..tiles.axes() {
            let mut low = cell;
            low[axis] -= 1;
            let below = tiles.locate(low);
            let (here, there) = (liquid(cell), below.is_some() && liquid(low));
            let c = open(axis, cell);
            match (here, there, below) {
                (true, true, Some(below)) => {
                    made.coupling[axis][place] = c;
                    made.diagonal[place] += c as f64;
                    made.diagonal[below] += c as f64;
                }
                (true, false, _) => made.diagonal[place] += pull(cell),
                (false, true, Some(below)) => made.diagonal[below] += pull(low),
                _ => {}
            }
        }
    }
    made
}

fn solve(tiles: &Tiles, stencil: &Stencil, rhs: &[f64], tolerance: f64) -> (Vec<f64>, PressureSolve) {
    let mut p = tiles.field(0.0);
    let params = KrylovParams { tolerance, ..Default::default() };
    let mut solver = Multigrid::new(tiles, stencil).unwrap();
    let done = solver.solve(tiles, stencil, rhs, &mut p, &params, &Cancel::new()).unwrap();
    (p, done)
}

/// Compare with the factorised matrix; in closed regions up to the mean, which the solver makes zero.
fn agrees_with_a_direct_solve(tiles: &Tiles, stencil: &Stencil, seed: u64) -> PressureSolve {
    let (matrix, places) = stencil.assemble(tiles).unwrap();
    let regions = Multigrid::new(tiles, stencil).unwrap().regions;
    let mut rhs = random_vector(tiles.cells(), seed);
    rhs.iter_mut().zip(&stencil.diagonal).for_each(|(b, d)| *b *= (*d > 0.0) as u32 as f64);
    let (p, done) = solve(tiles, stencil, &rhs, 1e-11);
    assert!(done.info.converged(), "{done:?}");
    regions.project(tiles, &mut rhs);
    let b: Vec<f64> = places.iter().map(|&place| rhs[place as usize]).collect();
    let mut x = vec![0.0; b.len()];
    SparseLdlt::new(&matrix).unwrap().solve(&b, &mut x);
    let mut truth = tiles.field(0.0);
    places.iter().zip(&x).for_each(|(&place, x)| truth[place as usize] = *x);
    regions.project(tiles, &mut truth);
    let (mut worst, mut largest) = (0.0, 1.0);
    for (p, truth) in p.iter().zip(&truth) {
        (worst, largest) = (f64::max(worst, (p - truth).abs()), f64::max(largest, truth.abs()));
    }
    // The residual is 1e-11 of the right-hand side; sinuous regions of some thousand cells add a factor.
    assert!(worst <= 1e-7 * largest, "{worst} of {largest}, {done:?}");
    done
}

#[test]
fn random_rooms_agree_with_a_direct_solve() {
    let tiles = cases::block(24, false);
    let random = shares(3 * tiles.cells(), 5);
    let at =
        |axis: usize, cell: [i32; 3]| random[3 * ((cell[2] * 24 + cell[1]) * 24 + cell[0]) as usize + axis];
    for (filled, closed, air) in [(0.7, 0.2, true), (0.35, 0.0, true), (0.2, 0.0, false), (0.95, 0.5, false)]
    {
        let liquid = |cell: [i32; 3]| at(0, cell) < filled;
        let open =
            |axis: usize, cell: [i32; 3]| if at(1, cell) < closed { 0.0 } else { at(axis, cell) as f32 };
        let pull = |cell: [i32; 3]| if air { 1.0 / (at(2, cell) + 1e-6) } else { 0.0 };
        let made = stencil(&tiles, liquid, open, pull);
        let done = agrees_with_a_direct_solve(&tiles, &made, 3);
        assert_eq!(done.closed_regions > 0, !air);
    }
}

#[test]
fn thin_sheets_agree_with_a_direct_solve() {
    let tiles = cases::block(32, false);
    for gap in [2, 3, 4] {
        // Sheets one cell thick under air on both sides, and the same sheets between walls with one outlet.
        let liquid = |c: [i32; 3]| c[1] % gap == 0;
        agrees_with_a_direct_solve(&tiles, &stencil(&tiles, liquid, |_, _| 1.0, |_| 2.0), 1);
        let outlet = |c: [i32; 3]| if c[0] == 0 && c[2] == 0 { 1.0 } else { 0.0 };
        agrees_with_a_direct_solve(&tiles, &stencil(&tiles, liquid, |_, _| 1.0, outlet), 2);
    }
}

#[test]
fn a_sinuous_channel_agrees_with_a_direct_solve() {
    // Thin walls fold a channel 3 cells wide; each wall has a gap at alternating ends.
    for flat in [true, false] {
        let n = if flat { 64 } else { 16 };
        let tiles = cases::block(n, flat);
        let open = |axis: usize, c: [i32; 3]| {
            let wall = axis == 0 && c[0] % 3 == 0;
            let gap = if c[0] / 3 % 2 == 0 { c[1] < 3 } else { c[1] >= n as i32 - 3 };
            if wall && !gap { 0.0 } else { 1.0 }
        };
        let outlet = |c: [i32; 3]| (c == [0, 0, 0]) as u32 as f64;
        agrees_with_a_direct_solve(&tiles, &stencil(&tiles, |_| true, open, outlet), 4);
    }
}

#[test]
fn hundreds_of_drops_agree_with_a_direct_solve() {
    let tiles = cases::block(32, false);
    // Drops of 2×2×2 and 3×3×3 cells on a lattice of 4: some open, some closed, some touching tile corners.
    let liquid = |c: [i32; 3]| {
        let size = 2 + (c[0] / 4 + c[1] / 4) % 2;
        c.iter().all(|v| v % 4 < size)
    };
    let pull = |c: [i32; 3]| ((c[2] / 4) % 2) as f64 * 3.0;
    let done = agrees_with_a_direct_solve(&tiles, &stencil(&tiles, liquid, |_, _| 1.0, pull), 6);
    assert_eq!(done.closed_regions, 256);
}

#[test]
fn flat_grids_agree_with_a_direct_solve() {
    let coords = (0..64).map(|i| [i % 8 - 4, i / 8 - 3, 0]).collect();
    let tiles = Tiles::new(0.1, Vec3::zeros(), true, coords);
    let liquid = |c: [i32; 3]| c[0] * c[0] + c[1] * c[1] < 500 && (c[0] + 7 * c[1]) % 11 != 0;
    let done = agrees_with_a_direct_solve(&tiles, &stencil(&tiles, liquid, |_, _| 1.0, |_| 1.5), 7);
    assert_eq!(done.closed_regions, 0);
    agrees_with_a_direct_solve(&tiles, &stencil(&tiles, |_| true, |_, _| 1.0, |_| 0.0), 8);
}

#[test]
fn nothing_and_single_cells_are_solved() {
    let none = Tiles::new(1.0, Vec3::zeros(), false, vec![]);
    let (p, done) = solve(&none, &Stencil::new(&none), &[], 1e-9);
    assert!(p.is_empty() && done.info.converged());
    let (p, done) = solve(&Tiles::default(), &Stencil::default(), &[], 1e-9);
    assert!(p.is_empty() && done.info.converged());
    let tiles = cases::block(8, false);
    let (p, _) = solve(&tiles, &Stencil::new(&tiles), &tiles.field(1.0), 1e-9);
    assert!(p.iter().all(|p| *p == 0.0));
    let one = stencil(&tiles, |c| c == [3, 4, 5], |_, _| 1.0, |_| 0.5);
    let (p, _) = solve(&tiles, &one, &tiles.field(6.0), 1e-12);
    let place = tiles.locate([3, 4, 5]).unwrap();
    // Three lower and three upper faces pull by 0.5 each.
    assert!((p[place] - 2.0).abs() < 1e-14 && p.iter().filter(|p| **p != 0.0).count() == 1);
}

#[test]
fn still_water_with_vanishing_theta_is_exact() {
    // Walls at the sides and below; the surface lies θ cells above the centres of the top layer.
    let (tiles, n) = (cases::block(32, false), 32);
    for theta in [1e-6, 0.3, 1.0] {
        let top = |c: [i32; 3]| if c[1] == 20 { 1.0 / theta } else { 0.0 };
        let mut made = stencil(&tiles, |c| c[1] <= 20, |_, _| 1.0, |_| 0.0);
        let mut rhs = tiles.field(0.0);
        // Weight moves down by g through all inner faces: it leaves each cell as it enters, but for the bottom
        // one (walls let nothing out) and the top one, whose upper face is open.
        for place in 0..tiles.cells() {
            let c = tiles.cell(place);
            made.diagonal[place] += top(c);
            rhs[place] = if c[1] == 0 { 1.0 } else { 0.0 };
        }
        let (p, done) = solve(&tiles, &made, &rhs, 1e-13);
        assert!(done.info.converged() && !done.fell_back, "{done:?}");
        for (place, p) in p.iter().enumerate().filter(|p| tiles.cell(p.0)[1] <= 20) {
            let depth = 20.0 - tiles.cell(place)[1] as f64 + theta;
            // 1e-13 of the right-hand side (norm n) times the depth in cells, squared at worst.
            assert!((p - depth).abs() < 1e-13 * (n * 400) as f64, "θ {theta}: {p} at {depth}");
        }
    }
}

#[test]
fn the_cycle_is_symmetric_and_positive_definite() {
    let tiles = cases::block(16, false);
    let random = shares(tiles.cells(), 9);
    let at = |c: [i32; 3]| random[((c[2] * 16 + c[1]) * 16 + c[0]) as usize];
    let liquid = |c: [i32; 3]| c[2] < 3 && at(c) < 0.8;
    let made = stencil(&tiles, liquid, |_, c| (at(c) * 1.2).min(1.0) as f32, |c| 1.0 / (at(c) + 1e-3));
    let (matrix, places) = made.assemble(&tiles).unwrap();
    let mut solver = Multigrid::new(&tiles, &made).unwrap();
    assert!(solver.levels() >= 2);
    let n = matrix.rows();
    let mut inverse = vec![0.0; n * n];
    for (k, &place) in places.iter().enumerate() {
        let (mut r, mut z) = (tiles.field(0.0), tiles.field(0.0));
        r[place as usize] = 1.0;
        solver.apply(&r, &mut z);
        places.iter().enumerate().for_each(|(i, &p)| inverse[i * n + k] = z[p as usize]);
    }
    let mut asymmetry = 0f64;
    for i in 0..n {
        for j in 0..i {
            let scale = (inverse[i * n + i] * inverse[j * n + j]).sqrt();
            asymmetry = asymmetry.max((inverse[i * n + j] - inverse[j * n + i]).abs() / scale);
        }
    }
    // The cycle is computed in f32.
    assert!(asymmetry < 1e-5, "{asymmetry}");
    // Positive pivots all the way: definite. The symmetric part is what counts.
    let mut a: Vec<f64> = (0..n * n).map(|k| 0.5 * (inverse[k] + inverse[k % n * n + k / n])).collect();
    for i in 0..n {
        assert!(a[i * n + i] > 0.0, "pivot {i} is {}", a[i * n + i]);
        for j in i + 1..n {
            let f = a[j * n + i] / a[i * n + i];
            (i + 1..n).for_each(|k| a[j * n + k] -= f * a[i * n + k]);
        }
    }
}

#[test]
fn one_thread_and_three_agree_bitwise() {
    let (tiles, made) = cases::splash(40).unwrap();
    let rhs = random_vector(tiles.cells(), 2);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&tiles, &made, &rhs, 1e-9))
    };
    let (p, done) = run(1);
    assert!(done.info.converged() && !done.fell_back);
    for threads in [2, 3] {
        let (q, again) = run(threads);
        assert!(again == done && p.iter().zip(&q).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn iterations_do_not_grow_with_the_grid() {
    let counts = [32, 64, 128].map(|n| {
        let (tiles, made) = cases::poisson(n).unwrap();
        let (_, done) = solve(&tiles, &made, &random_vector(tiles.cells(), 1), 1e-6);
        assert!(done.info.converged() && !done.fell_back);
        done.info.iterations
    });
    assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 2, "{counts:?}");
}

#[test]
fn every_digit_costs_as_much_as_the_last() {
    // Directions and residuals are rounded to f32; a round that begins with the true residual must lose nothing.
    for (tiles, made) in [cases::splash(40).unwrap(), cases::poisson(32).unwrap()] {
        let rhs = random_vector(tiles.cells(), 2);
        let count = |tolerance: f64| {
            let (_, done) = solve(&tiles, &made, &rhs, tolerance);
            assert!(done.info.converged() && !done.fell_back && done.info.residual <= tolerance);
            done.info.iterations
        };
        let (six, twelve) = (count(1e-6), count(1e-12));
        assert!(twelve <= 2 * six + 2, "{six} iterations for six digits, {twelve} for twelve");
    }
}

#[test]
fn a_few_cells_take_one_step_for_seven_digits() {
    // So few cells are solved directly: the preconditioner is the inverse up to its rounding to f32, some 10⁻⁷, and
    // what is left after a step is rounding, which has no reason to be orthogonal to the direction before.
    let tiles = cases::block(8, false);
    for seed in 1..=20 {
        let random = shares(4 * tiles.cells(), seed);
        let at = |k: usize, c: [i32; 3]| random[4 * ((c[2] * 8 + c[1]) * 8 + c[0]) as usize + k];
        let liquid = |c: [i32; 3]| c.iter().all(|v| (2..6).contains(v)) && at(3, c) < 0.9;
        let made =
            stencil(&tiles, liquid, |a, c| (2.0 * at(a, c)).min(1.0) as f32, |c| 1.0 / (at(3, c) + 0.01));
        let rhs = random_vector(tiles.cells(), seed + 100);
        for (tolerance, most) in [(1e-6, 1), (1e-9, 2), (1e-13, 3)] {
            let (_, done) = solve(&tiles, &made, &rhs, tolerance);
            assert!(done.info.converged() && !done.fell_back, "{seed}: {done:?}");
            assert!(done.info.iterations <= most, "{seed}: {done:?}");
        }
    }
}

#[test]
fn memory_is_used_again_and_the_answer_is_the_same() {
    let (tiles, made) = cases::splash(24).unwrap();
    let (other_tiles, other) = cases::poisson(16).unwrap();
    let rhs = random_vector(tiles.cells(), 2);
    let fresh = solve(&tiles, &made, &rhs, 1e-8);
    let mut solver = Multigrid::new(&other_tiles, &other).unwrap();
    let params = KrylovParams { tolerance: 1e-8, ..Default::default() };
    let mut p = other_tiles.field(0.0);
    let b = random_vector(other_tiles.cells(), 3);
    solver.solve(&other_tiles, &other, &b, &mut p, &params, &Cancel::new()).unwrap();
    assert!(solver.solve(&tiles, &made, &rhs, &mut tiles.field(0.0), &params, &Cancel::new()).is_err());
    solver.rebuild(&tiles, &made).unwrap();
    let mut p = tiles.field(0.0);
    let done = solver.solve(&tiles, &made, &rhs, &mut p, &params, &Cancel::new()).unwrap();
    assert!(done == fresh.1 && p == fresh.0);
}

#[test]
fn a_guess_that_is_the_answer_costs_no_iteration() {
    let (tiles, made) = cases::splash(24).unwrap();
    let rhs = random_vector(tiles.cells(), 2);
    let (mut p, _) = solve(&tiles, &made, &rhs, 1e-10);
    let mut solver = Multigrid::new(&tiles, &made).unwrap();
    let params = KrylovParams { tolerance: 1e-9, ..Default::default() };
    let done = solver.solve(&tiles, &made, &rhs, &mut p, &params, &Cancel::new()).unwrap();
    assert_eq!(done.info.iterations, 0);
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    let (tiles, made) = cases::poisson(8).unwrap();
    let mut bad = made.clone();
    bad.diagonal[7] = f64::NAN;
    assert!(Multigrid::new(&tiles, &bad).is_err());
    let mut bad = made.clone();
    bad.coupling[1][9] = f32::INFINITY;
    assert!(Multigrid::new(&tiles, &bad).is_err());
    let mut bad = made.clone();
    bad.diagonal[7] = 0.0;
    assert!(Multigrid::new(&tiles, &bad).is_err());
    let mut bad = made.clone();
    bad.coupling[0][0] = 0.5;
    assert!(Multigrid::new(&tiles, &bad).is_err(), "a coupling with a tile that does not exist");
    let mut solver = Multigrid::new(&tiles, &made).unwrap();
    let (params, mut p) = (KrylovParams::default(), tiles.field(0.0));
    let bad = tiles.field(f64::NAN);
    assert!(solver.solve(&tiles, &made, &bad, &mut p, &params, &Cancel::new()).is_err());
    assert!(
        solver.solve(&tiles, &made, &tiles.field(1.0), &mut bad.clone(), &params, &Cancel::new()).is_err()
    );
}

#[test]
fn a_solve_can_be_cancelled() {
    let (tiles, made) = cases::poisson(16).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let mut solver = Multigrid::new(&tiles, &made).unwrap();
    let done = solver.solve(
        &tiles,
        &made,
        &tiles.field(1.0),
        &mut tiles.field(0.0),
        &KrylovParams::default(),
        &cancel,
    );
    assert!(matches!(done, Err(Error::Cancelled)));
}

#[test]
fn the_fallback_solves_what_the_cycle_could_not() {
    let (tiles, made) = cases::splash(24).unwrap();
    let rhs = random_vector(tiles.cells(), 2);
    let solver = Multigrid::new(&tiles, &made).unwrap();
    let params = KrylovParams { tolerance: 1e-9, ..Default::default() };
    let mut p = tiles.field(0.0);
    let info = solver.solve_assembled(&tiles, &made, None, &rhs, &mut p, &params, &Cancel::new()).unwrap();
    assert_eq!(info.outcome, Outcome::Converged);
    let (q, _) = solve(&tiles, &made, &rhs, 1e-9);
    assert!(p.iter().zip(&q).all(|(p, q)| (p - q).abs() < 1e-6));
    let (matrix, places) = made.assemble(&tiles).unwrap();
    let gather = |f: &[f64]| -> Vec<f64> { places.iter().map(|&i| f[i as usize]).collect() };
    let mut r = vec![0.0; matrix.rows()];
    matrix.residual(&gather(&rhs), &gather(&q), &mut r);
    assert!(vector::norm(&r) <= 1.001e-9 * vector::norm(&gather(&rhs)));
}
