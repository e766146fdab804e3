//! Times of the viscous step, with incomplete Cholesky on the same matrix in the same run.
//!
//! ```text
//! cargo bench --bench viscosity -- [n] [threads] [repeats]      a drop of radius .23 in a round room
//! cargo bench --bench viscosity -- stiff [n]                    iterations for μΔt/ρh² from 1 to 10⁶
//! cargo bench --bench viscosity -- stokes [n] [n] …             pressure and viscosity in one solve: iterations for the same at 32, 64
//!                                                               and 96 cells, and times beside project, diffuse, project
//! ```
//! Times are of the whole stage: weights, matrix, levels and the solve to 10⁻⁹. On one thread they are those
//! of the processor, which other programs on the machine disturb least.

#[path = "common/clock.rs"]
mod clock;

use clock::now;
use meniscus::Cancel;
use meniscus::field::{Solid, SolidShape, Solids, Wall};
use meniscus::grid::{Tiles, extend_average};
use meniscus::linalg::{Ic0, Ic0Params, KrylovParams, cg};
use meniscus::math::{Aabb, Motion, Pose, Vec3};
use meniscus::solver::mac::{
    MacGrid, Multigrid, PressureOptions, ViscosityOptions, ViscousSystem, constrain, creep, diffuse, project,
};
use std::sync::Arc;

struct Room;

impl SolidShape for Room {
    fn distance(&self, x: &Vec3) -> f64 {
        0.35 - (x - Vec3::repeat(0.5)).norm()
    }
    fn bounds(&self) -> Aabb {
        Aabb::new(Vec3::repeat(-9.0), Vec3::repeat(9.0))
    }
}

fn scene(n: usize) -> (MacGrid, Solids) {
    let solid = Solid {
        name: "room".into(),
        shape: Arc::new(Room),
        scale: 1.0,
        motion: Motion::at_rest(Pose::identity()),
        before: Pose::identity(),
        animated: false,
        wall: Wall { stick: true, ..Wall::default() },
    };
    let solids = Solids::new(vec![solid], None, [[false; 2]; 3], Wall { stick: true, ..Wall::default() });
    let (h, m) = (1.0 / n as f64, n.div_ceil(8) as i32);
    let coords = (0..m * m * m).map(|i| [i % m, i / m % m, i / (m * m)]).collect();
    let mut grid = MacGrid::new(Tiles::new(h, Vec3::zeros(), false, coords), &solids, None);
    for p in 0..grid.tiles.cells() {
        let x = grid.tiles.centre(grid.tiles.cell(p));
        grid.liquid[p] = ((x - Vec3::new(0.55, 0.55, 0.4)).norm() - 0.23).clamp(-4.0 * h, 4.0 * h);
        grid.velocity[0][p] = (5.0 * x.y).sin();
        grid.velocity[1][p] = -1.0 + x.x * x.z;
        grid.velocity[2][p] = (7.0 * x.x + 3.0 * x.y).cos();
    }
    (grid, solids)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let stiff = arguments.first().is_some_and(|a| a == "stiff");
    let number = |k: usize, default: usize| arguments.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    if arguments.first().is_some_and(|a| a == "stokes") {
        let sizes: Vec<usize> = arguments[1..].iter().filter_map(|a| a.parse().ok()).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        return pool.install(|| stokes(if sizes.is_empty() { &[32, 64, 96] } else { &sizes }));
    }
    let n = number(stiff as usize, 64);
    let (grid, solids) = scene(n);
    let mu = grid.tiles.field(1.0);
    if stiff {
        for power in 0..7 {
            let dt = 10f64.powi(power) / (n * n) as f64;
            let options = ViscosityOptions { dt, density: 1.0, tolerance: 1e-9, draft: false };
            let system = ViscousSystem::new(&grid, &solids, &mu, &options).unwrap();
            let (_, solve) = system.solve(1e-9, &Cancel::new()).unwrap();
            println!(
                "{n}: μΔt/ρh² = 1e{power}: {} iterations, fell back {}",
                solve.info.iterations, solve.fell_back
            );
        }
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number(1, 1)).build().unwrap();
    let options = ViscosityOptions { dt: 0.01, density: 1.0, tolerance: 1e-9, draft: false };
    pool.install(|| (0..number(2, 3)).for_each(|_| compare(&grid, &solids, &mu, &options)));
}

fn compare(grid: &MacGrid, solids: &Solids, mu: &[f64], options: &ViscosityOptions) {
    let start = now();
    let system = ViscousSystem::new(grid, solids, mu, options).unwrap();
    let set_up = now() - start;
    let (u, solve) = system.solve(options.tolerance, &Cancel::new()).unwrap();
    let ours = now() - start;
    let start = now();
    drop(system.preconditioner(&Default::default()).unwrap());
    let levels = now() - start;
    println!(
        "{} unknowns, {} threads: equations {set_up:.3} s, levels {levels:.3} s, whole stage {ours:.3} s, {} iterations, {} levels, {:.0} MB",
        solve.unknowns,
        rayon::current_num_threads(),
        solve.info.iterations,
        solve.levels,
        solve.bytes as f64 * 1e-6
    );
    let start = now();
    let matrix = system.assemble().unwrap();
    let mut ic = Ic0::new(&matrix, &Ic0Params::ic0()).unwrap();
    let mut x = system.start().to_vec();
    let params = KrylovParams { tolerance: options.tolerance, ..Default::default() };
    let info = cg(&matrix, &mut ic, system.rhs(), &mut x, &params, &Cancel::new()).unwrap();
    let theirs = set_up + now() - start;
    let difference = u.iter().zip(&x).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    println!(
        "  incomplete Cholesky: whole stage {theirs:.3} s, {} iterations; {:.1} times as long; differs by {difference:.1e}",
        info.iterations,
        theirs / ours
    );
}

/// Relative residual of the solves that are compared.
const TOLERANCE: f64 = 1e-6;

/// A step of project and creep, or of project, diffuse and project: its seconds, and the outer iterations of creep.
fn step(start: &MacGrid, solids: &Solids, dt: f64, together: bool) -> (f64, usize) {
    let (mut grid, mut multigrid, cancel) = (start.clone(), Multigrid::default(), Cancel::new());
    let (calm, mu) = (grid.tiles.field(0.0), grid.tiles.field(1.0));
    let pressure = PressureOptions { dt, density: 1.0, tolerance: TOLERANCE };
    let viscous = ViscosityOptions { dt, density: 1.0, tolerance: TOLERANCE, draft: false };
    let began = now();
    let once = |grid: &mut MacGrid, multigrid: &mut Multigrid| {
        let mut known = project(grid, solids, &pressure, &calm, multigrid, &cancel).unwrap().known;
        for (u, known) in grid.velocity.iter_mut().zip(&mut known) {
            extend_average(&grid.tiles, u, known, 3).unwrap();
        }
        constrain(grid, solids, &known, 4);
    };
    once(&mut grid, &mut multigrid);
    if together {
        let done = creep(&mut grid, solids, &mu, &viscous, None, &mut multigrid, &cancel).unwrap();
        return (now() - began, done.solve.map_or(0, |s| s.info.iterations));
    }
    diffuse(&mut grid, solids, &mu, &viscous, None, &cancel).unwrap();
    grid.pressure.fill(0.0);
    once(&mut grid, &mut multigrid);
    (now() - began, 0)
}

fn stokes(sizes: &[usize]) {
    let verdict = |held: bool| if held { "HELD" } else { "MISSED" };
    let mut counts: Vec<Vec<usize>> = Vec::new();
    for &n in sizes {
        let (grid, solids) = scene(n);
        let mut of_size = Vec::new();
        let mut worst: f64 = 0.0;
        for power in 0..7 {
            let dt = 10f64.powi(power) / (n * n) as f64;
            let ((one, iterations), (three, _)) =
                (step(&grid, &solids, dt, true), step(&grid, &solids, dt, false));
            println!(
                "{n}: μΔt/ρh² = 1e{power}: {iterations} outer iterations, {one:.3} s against {three:.3} s: {:.1} times",
                one / three
            );
            worst = worst.max(one / three);
            of_size.push(iterations);
        }
        let most = of_size.iter().max().copied().unwrap_or(0);
        println!("{n}: at most {most} outer iterations (25): {}", verdict(most < 25));
        println!("{n}: at most {worst:.1} times project, diffuse, project (3): {}", verdict(worst <= 3.0));
        counts.push(of_size);
    }
    let spread = (0..7).map(|k| {
        let of_power = counts.iter().map(|c| c[k]);
        of_power.clone().max().unwrap_or(0) - of_power.min().unwrap_or(0)
    });
    let spread = spread.max().unwrap_or(0);
    println!("counts differ by at most {spread} between sizes (3): {}", verdict(spread <= 3));
}
