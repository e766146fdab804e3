//! Pressure, viscosity and Stokes flow on dense blocks: published tables, two forms of one system, null spaces.

use meniscus::Cancel;
use meniscus::math::Vec3;
use meniscus::simulation::validation::stokes::{
    Form, Scheme, Setting, case, problem, run, run_space, tables,
};
use meniscus::solver::mac::{Block, BlockField, BlockOptions};
use meniscus::solver::stokes::{
    Options, Physics, Problem, Samples, Shares, Site, Solution, Wall, solve_pressure_stress,
    solve_velocity_pressure,
};

fn assert_table(table: &str, n: usize, form: Form) {
    for row in run(table, n, Scheme::Volume, form, &Cancel::new()).expect("a table that runs") {
        assert!(row.pass == Some(true), "{row:?}");
    }
}

#[test]
fn published_errors_of_pressure_viscosity_and_stokes_flow_are_met() {
    for table in tables().into_iter().filter(|t| *t != "4.9") {
        for n in [16, 32, 64] {
            assert_table(table, n, Form::VelocityPressure);
        }
    }
}

#[test]
fn the_pressure_stress_form_meets_the_published_errors_too() {
    for table in tables().into_iter().filter(|t| *t != "4.9") {
        assert_table(table, 32, Form::PressureStress);
    }
}

#[test]
fn published_errors_of_stokes_flow_in_space_are_met() {
    // Against 60³ cells with the viscosity of the published 155³; `meniscus validate stokes --table 4.9` takes those.
    let rows = run_space(&[12, 24], 60, Setting::AsComputed, &Cancel::new()).unwrap();
    assert_eq!(rows.len(), 18);
    for row in rows {
        assert!(row.pass == Some(true), "{row:?}");
    }
}

#[test]
fn sharp_weights_raise_the_order_of_pressure_and_of_what_it_leaves() {
    let orders = |table: &str, scheme: Scheme| {
        let errors =
            [32, 128].map(|n| run(table, n, scheme, Form::VelocityPressure, &Cancel::new()).unwrap());
        // p, then u; two doublings.
        [0, 1].map(|f| (errors[0][f].L1 / errors[1][f].L1).log2() / 2.0)
    };
    for table in ["4.1", "4.2"] {
        let (published, sharp) = (orders(table, Scheme::Volume), orders(table, Scheme::Sharp));
        assert!(published[1] < 1.1, "{table}: {published:?}");
        assert!(sharp.iter().all(|o| *o > 1.7), "{table}: {sharp:?}");
    }
    assert!(run("4.3", 32, Scheme::Sharp, Form::VelocityPressure, &Cancel::new()).is_err());
}

/// L1 errors of p and u of tables 4.1 and 4.2 as a block of the grid door finds them with the scheme `area`.
fn errors_of_a_block(table: &str, n: usize) -> [f64; 2] {
    let h = 3.0 / n as f64;
    let mut block = Block::new([n, n, 1], Vec3::new(-1.5, -1.5, -0.5 * h), h).unwrap();
    let radius = |x: &Vec3| x.x.hypot(x.y);
    let wall = table == "4.2";
    let pressure = |x: &Vec3| if wall { x.x * x.y.powi(3) } else { x.x * x.x + x.y * x.y - 1.0 };
    let after = |x: &Vec3| if wall { [x.y, -x.x] } else { [2.0 * x.x * x.y, -x.y * x.y] };
    let slope = |x: &Vec3| {
        if wall { [x.y.powi(3), 3.0 * x.x * x.y * x.y] } else { [2.0 * x.x, 2.0 * x.y] }
    };
    let mut set = |field: BlockField, value: &dyn Fn(&Vec3) -> f64| {
        let values = block.positions(field.place()).unwrap().iter().map(value).collect();
        block.set(field, values, "field").unwrap();
    };
    if wall {
        set(BlockField::SolidDistance, &|x| 1.0 - radius(x));
        set(BlockField::LiquidDistance, &|_| -1.0);
    } else {
        set(BlockField::LiquidDistance, &|x| radius(x) - 1.0);
    }
    for axis in 0..2 {
        set(BlockField::Velocity(axis), &|x| after(x)[axis] + slope(x)[axis]);
    }
    block.set(BlockField::Density, vec![1.0], "density").unwrap();
    let options = BlockOptions {
        scheme: meniscus::solver::mac::Scheme::Area,
        dt: 1.0,
        tolerance: 1e-11,
        expansion: 0.0,
    };
    block.project(&options, &Cancel::new()).unwrap();
    let differences = |field: BlockField, exact: &dyn Fn(&Vec3) -> f64| -> Vec<f64> {
        let places = block.positions(field.place()).unwrap();
        let inside = places.iter().zip(block.get(field)).filter(|(x, _)| radius(x) < 1.0);
        inside.map(|(x, value)| value - exact(x)).collect()
    };
    let p = differences(BlockField::Pressure, &pressure);
    // Where walls leave p free up to a constant, its mean does not count.
    let mean = if wall { p.iter().sum::<f64>() / p.len() as f64 } else { 0.0 };
    let u = differences(BlockField::Velocity(0), &|x| after(x)[0]);
    [p.iter().map(|e| (e - mean).abs()).sum::<f64>() * h * h, u.iter().map(|e| e.abs()).sum::<f64>() * h * h]
}

#[test]
fn the_grid_door_has_the_sharp_scheme() {
    // At a surface the weights are the same. Walls are straight between nodes there, so what they give differs by what
    // the chords of the circle do, but falls as fast.
    let sharp = run("4.1", 64, Scheme::Sharp, Form::VelocityPressure, &Cancel::new()).unwrap();
    for (block, sharp) in errors_of_a_block("4.1", 64).iter().zip(&sharp) {
        assert!((block / sharp.L1 - 1.0).abs() < 1e-6, "{block} against {sharp:?}");
    }
    for table in ["4.1", "4.2"] {
        let [coarse, fine] = [32, 128].map(|n| errors_of_a_block(table, n));
        let orders = [0, 1].map(|f| (coarse[f] / fine[f]).log2() / 2.0);
        println!("{table}: orders of p and u {orders:?}");
        assert!(orders.iter().all(|o| *o > 1.7), "{table}: {orders:?}");
    }
}

#[test]
fn projections_with_sharp_weights_are_symmetric_and_leave_rigid_motions() {
    for table in ["4.1", "4.2"] {
        let mut p = problem(case(table).unwrap(), 24, Scheme::Sharp).unwrap();
        let options = Options { tolerance: 1e-12, ..Options::default() };
        let mut project = |u: &dyn Fn(Vec3) -> Vec3| {
            set_velocity(&mut p, u);
            let s = solve_velocity_pressure(&p, Physics::Pressure, &options, &Cancel::new()).unwrap();
            (p.velocity.clone(), s.velocity)
        };
        let a = project(&|x| Vec3::new((3.0 * x.y).sin() + x.x, x.x * x.x, 0.0));
        let b = project(&|x| Vec3::new(x.y * x.y, (2.0 * x.x).cos() - x.y, 0.0));
        let turned = project(&|x| Vec3::new(0.3 - x.y, x.x - 0.2, 0.0));
        let dot = |u: &[Vec<f64>; 3], v: &[Vec<f64>; 3]| -> f64 {
            let one = |i: usize, a: usize| u[a][i] * v[a][i] * p.liquid.face[a][i] * p.open.face[a][i];
            (0..2).map(|a| (0..u[a].len()).map(|i| one(i, a)).sum::<f64>()).sum()
        };
        // ⟨Pa, b⟩ = ⟨a, Pb⟩ in the weights of the mass holds for symmetric matrices alone.
        let (left, right) = (dot(&a.1, &b.0), dot(&a.0, &b.1));
        assert!((left - right).abs() < 1e-8 * dot(&a.0, &a.0), "{table}: {left} {right}");
        if table == "4.1" {
            (0..2).for_each(|a| assert!(largest(&turned.0[a], &turned.1[a]) < 1e-9));
        }
    }
}

fn largest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// Equal to a millionth of the largest value, far above what residuals of 1e-11 leave.
fn assert_same(a: &[f64], b: &[f64], what: &str) {
    let size = b.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
    assert!(largest(a, b) <= 1e-6 * size, "{what}: {} of {size}", largest(a, b));
}

#[test]
fn pressure_and_stress_as_unknowns_give_the_same_flow_as_velocity_and_pressure() {
    // A surface, a wall, both, a moving wall; in the plane and in space.
    let options = Options { tolerance: 1e-11, ..Options::default() };
    let plane = ["4.5", "4.6", "4.7", "4.8"].map(|t| problem(case(t).unwrap(), 24, Scheme::Volume).unwrap());
    for p in plane.into_iter().chain([shell(10, false, 30.0)]) {
        let direct = solve_pressure_stress(&p, Physics::Stokes, &Cancel::new()).unwrap();
        let coupled = solve_velocity_pressure(&p, Physics::Stokes, &options, &Cancel::new()).unwrap();
        for a in 0..p.samples.axes() {
            assert_same(&direct.velocity[a], &coupled.velocity[a], "velocity");
            assert_same(&direct.stress.normal[a], &coupled.stress.normal[a], "normal stress");
        }
        for e in p.samples.edge_axes() {
            assert_same(&direct.stress.shear[e], &coupled.stress.shear[e], "shear stress");
        }
        // A closed region leaves a constant free; cells without pressure have zero in both.
        let wet = || direct.pressure.iter().zip(&coupled.pressure).filter(|(a, _)| **a != 0.0);
        let mean = wet().map(|(a, b)| b - a).sum::<f64>() / wet().count() as f64;
        let shift = if direct.closed_regions > 0 { mean } else { 0.0 };
        let (a, b): (Vec<f64>, Vec<f64>) = wet().map(|(a, b)| (a + shift, *b)).unzip();
        assert_same(&a, &b, "pressure");
    }
}

/// Liquid between a wall of radius 0.25 and a surface of radius 1, with μΔt/ρh² = `number`.
fn shell(n: usize, flat: bool, number: f64) -> Problem {
    let h = 2.4 / n as f64;
    let cells = [n, n, if flat { 1 } else { n }];
    let samples = Samples::new(cells, Vec3::new(-1.2, -1.2, if flat { -0.5 * h } else { -1.2 }), h).unwrap();
    let mut p = Problem::new(samples);
    let radius = move |x: Vec3| if flat { x.x.hypot(x.y) } else { x.norm() };
    p.liquid = Shares::of_distance(&samples, 2, |x| radius(x) - 1.0);
    p.open = Shares::of_distance(&samples, 2, |x| 0.25 - radius(x));
    p.dt = 0.01;
    p.viscosity = vec![number * h * h / p.dt];
    set_velocity(&mut p, |x| {
        Vec3::new(0.5 + x.x * (x.y + x.y * x.z).sin(), (0.25 * x.y).cos() + 0.5 * x.x * x.y, x.x + 0.5 * x.y)
    });
    p
}

fn set_velocity(p: &mut Problem, u: impl Fn(Vec3) -> Vec3) {
    for a in 0..p.samples.axes() {
        let site = Site::Face(a);
        p.velocity[a] = (0..p.samples.count(site)).map(|i| u(p.samples.position(site, i))[a]).collect();
    }
}

fn stokes(p: &Problem) -> Solution {
    solve_velocity_pressure(p, Physics::Stokes, &Options::default(), &Cancel::new()).unwrap()
}

#[test]
fn rigid_motion_feels_neither_viscosity_nor_pressure() {
    for flat in [true, false] {
        let mut p = shell(16, flat, 1e4);
        p.open = Shares::uniform(&p.samples, 1.0);
        let turn = if flat { Vec3::new(0.0, 0.0, 2.0) } else { Vec3::new(0.3, -1.0, 2.0) };
        set_velocity(&mut p, |x| Vec3::new(0.4, -0.7, 0.1) + turn.cross(&x));
        for physics in [
            Physics::Viscosity { trace_free: false },
            Physics::Viscosity { trace_free: true },
            Physics::Stokes,
        ] {
            let s = solve_velocity_pressure(&p, physics, &Options::default(), &Cancel::new()).unwrap();
            for a in 0..p.samples.axes() {
                assert!(largest(&s.velocity[a], &p.velocity[a]) < 1e-6, "{physics:?}");
            }
        }
    }
}

#[test]
fn a_free_drop_keeps_its_momentum_and_its_spin() {
    let mut p = shell(16, false, 1e3);
    p.open = Shares::uniform(&p.samples, 1.0);
    let s = stokes(&p);
    let moments = |u: &[Vec<f64>; 3]| {
        let (mut momentum, mut spin) = (Vec3::zeros(), Vec3::zeros());
        for (a, u) in u.iter().enumerate() {
            for (i, u) in u.iter().enumerate() {
                let m = Vec3::ith(a, u * p.liquid.face[a][i]);
                momentum += m;
                spin += p.samples.position(Site::Face(a), i).cross(&m);
            }
        }
        (momentum, spin)
    };
    let (before, after) = (moments(&p.velocity), moments(&s.velocity));
    let size = before.0.norm();
    assert!((before.0 - after.0).norm() < 1e-6 * size, "{before:?} {after:?}");
    assert!((before.1 - after.1).norm() < 1e-6 * size, "{before:?} {after:?}");
}

#[test]
fn a_constant_pressure_of_the_air_moves_nothing_and_is_found_inside() {
    let mut p = shell(24, true, 10.0);
    let still = stokes(&p);
    p.surface_pressure = vec![7.5; p.samples.count(Site::Centre)];
    let pressed = stokes(&p);
    for a in 0..2 {
        assert!(largest(&still.velocity[a], &pressed.velocity[a]) < 1e-6);
    }
    let shifted: Vec<f64> = still.pressure.iter().map(|p| p + 7.5).collect();
    assert!(largest(&shifted, &pressed.pressure) < 1e-5);
}

#[test]
fn a_linear_pressure_of_the_air_accelerates_all_liquid_alike() {
    let mut p = shell(24, true, 10.0);
    p.open = Shares::uniform(&p.samples, 1.0);
    set_velocity(&mut p, |_| Vec3::zeros());
    p.surface_pressure =
        (0..p.samples.count(Site::Centre)).map(|i| 3.0 * p.samples.position(Site::Centre, i).x).collect();
    let s = stokes(&p);
    for (u, k) in s.velocity[0].iter().zip(&s.known[0]).filter(|(_, k)| **k == 1) {
        assert!((u + 3.0 * p.dt).abs() < 1e-8 || *u == 0.0, "{u} {k}");
    }
}

#[test]
fn outer_iterations_stay_few_from_thin_to_thick_liquid_and_on_finer_grids() {
    for (flat, sizes) in [(true, [64, 128]), (false, [16, 24])] {
        for number in [1.0, 1e2, 1e4, 1e6] {
            let count = |n: usize| stokes(&shell(n, flat, number)).solve.iterations;
            let counts = sizes.map(count);
            assert!(counts.iter().all(|c| *c < 25), "{number}: {counts:?}");
            assert!(counts[0].abs_diff(counts[1]) <= 3, "{number}: {counts:?}");
        }
    }
}

#[test]
fn one_thread_and_several_agree_bitwise() {
    let p = shell(16, false, 50.0);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| stokes(&p))
    };
    let one = with(1);
    for threads in [2, 5] {
        let other = with(threads);
        assert!((0..3).all(|a| one.velocity[a] == other.velocity[a]) && one.pressure == other.pressure);
    }
}

#[test]
fn stokes_without_viscosity_is_pressure() {
    // Without walls, which pressure alone lets slide and viscosity does not, however little there is.
    let mut p = shell(24, true, 0.0);
    p.open = Shares::uniform(&p.samples, 1.0);
    let options = Options { tolerance: 1e-11, ..Options::default() };
    let projected = solve_velocity_pressure(&p, Physics::Pressure, &options, &Cancel::new()).unwrap();
    let coupled = solve_velocity_pressure(&p, Physics::Stokes, &options, &Cancel::new()).unwrap();
    (0..2).for_each(|a| assert_same(&projected.velocity[a], &coupled.velocity[a], "velocity"));
    assert_same(&projected.pressure, &coupled.pressure, "pressure");
}

#[test]
fn liquid_on_a_slide_wall_keeps_its_speed() {
    // A layer on a floor at y = 0, moved along it.
    let n = 24;
    let h = 1.0 / n as f64;
    let samples = Samples::new([n, n, 1], Vec3::new(0.0, -0.3, -0.5 * h), h).unwrap();
    let mut p = Problem::new(samples);
    let block = |x: Vec3| ((x.x - 0.5).abs() - 0.3).max(x.y - 0.3);
    p.liquid = Shares::of_distance(&samples, 4, block);
    p.open = Shares::of_distance(&samples, 4, |x| -x.y);
    p.viscosity = vec![100.0];
    p.dt = 0.1;
    set_velocity(&mut p, |_| Vec3::new(1.0, 0.0, 0.0));
    p.walls = vec![Wall::Slide; samples.count(Site::Centre)];
    let slid = stokes(&p);
    for ((u, k), w) in slid.velocity[0].iter().zip(&slid.known[0]).zip(&p.open.face[0]) {
        assert!(*k == 0 || *w == 0.0 || *u == 0.0 || (u - 1.0).abs() < 1e-6, "{u}");
    }
    assert!(slid.velocity[1].iter().all(|v| v.abs() < 1e-6));
}

#[test]
fn shares_of_a_ball_add_up_to_its_volume() {
    let samples = Samples::new([24, 24, 24], Vec3::repeat(-1.2), 0.1).unwrap();
    let shares = Shares::of_distance(&samples, 4, |x| x.norm() - 1.0);
    let exact = 4.0 / 3.0 * std::f64::consts::PI;
    for site in samples.sites() {
        let volume = shares.get(site).iter().sum::<f64>() * 1e-3;
        assert!((volume - exact).abs() < 1e-3 * exact, "{site:?}: {volume}");
    }
}

#[test]
fn a_field_of_the_wrong_length_is_named() {
    let mut p = shell(8, true, 1.0);
    p.viscosity = vec![1.0; 3];
    let error =
        solve_velocity_pressure(&p, Physics::Stokes, &Options::default(), &Cancel::new()).unwrap_err();
    assert!(error.to_string().contains("viscosity"), "{error}");
    p.viscosity = vec![-1.0];
    assert!(solve_pressure_stress(&p, Physics::Stokes, &Cancel::new()).is_err());
    assert!(
        run("9.9", 32, Scheme::Volume, Form::VelocityPressure, &Cancel::new())
            .unwrap_err()
            .to_string()
            .contains("4.3")
    );
}
