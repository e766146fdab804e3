//! What liquid does to bodies in one solve: buoyancy, added mass, momentum, gaps.

use super::support::*;
use meniscus::geometry::Shape;
use meniscus::math::{Pose, Vec3};
use meniscus::solver::mac::{Afloat, MacGrid};
use meniscus::solver::rigid::{Six, linear};
use std::sync::Arc;

#[test]
fn a_neutral_body_at_rest_stays_at_rest() {
    let dt = 0.02;
    let ball = Shape::sphere(0.37).unwrap();
    let block = Shape::cuboid(Vec3::new(0.4, 0.25, 0.3), 0.0).unwrap();
    for (shape, level) in [(&ball, 0.33), (&block, 0.33), (&ball, -0.2)] {
        let body = afloat(shape, turned(), WATER);
        let mut tank = tank(vec![], &[(shape.clone(), turned())], 1.5, |x| x.y - level);
        let done = tank.fall(&[body], dt, 1e-13);
        let (v, u) = (done.bodies[0].velocity.amax(), tank.fastest(&done));
        // Round-off of a solve to 1e-13 against the velocity g·dt that gravity adds.
        assert!(v < 1e-11 * G * dt && u < 1e-10 * G * dt, "body {v:e} m/s, water {u:e} m/s");
    }
}

#[test]
fn spheres_float_at_their_draught() {
    // Draught over radius for the specific gravities 1/4, 1/2 and 3/4.
    for (gravity, draught) in [(0.25, 0.65270), (0.5, 1.0), (0.75, 1.34730)] {
        let (r, dt) = (0.5, 0.01);
        let ball = Shape::sphere(r).unwrap();
        let pose = at(0.02, 0.013 + r - draught * r, -0.03);
        let body = afloat(&ball, pose, gravity * WATER);
        let mut tank = tank(vec![], &[(ball, pose)], 1.5, |x| x.y - 0.013);
        let done = tank.fall(std::slice::from_ref(&body), dt, 1e-12);
        let force = done.bodies[0].force[1] - body.mass * G;
        // By how much it would have to sink to carry the rest of its weight.
        let plane = std::f64::consts::PI * draught * (2.0 - draught) * r * r;
        let off = force / (WATER * G * plane) / (draught * r);
        assert!(off.abs() < 1e-3, "specific gravity {gravity}: draught off by {off:e}");
    }
}

#[test]
fn boxes_float_at_their_draught_wherever_the_cells_are() {
    for (gravity, shift) in [(0.3, 0.0), (0.62, 0.017), (0.9, 0.041)] {
        let (half, dt) = (Vec3::new(0.45, 0.3, 0.4), 0.01);
        let block = Shape::cuboid(half, 0.0).unwrap();
        let pose = at(0.0, shift + half.y - gravity * 2.0 * half.y, 0.01);
        let body = afloat(&block, pose, gravity * WATER);
        let mut tank = tank(vec![], &[(block, pose)], 1.5, |x| x.y - shift);
        let done = tank.fall(std::slice::from_ref(&body), dt, 1e-12);
        let off = (done.bodies[0].force[1] - body.mass * G) / (body.mass * G);
        assert!(off.abs() < 1e-6, "specific gravity {gravity}: draught off by {off:e}");
        assert!(tank.fastest(&done) < 1e-6 * G * dt);
    }
}

#[test]
fn a_ball_in_a_ball_of_water_has_its_added_mass() {
    // Concentric spheres of radii a and b: added mass over displaced mass (b³ + 2a³)/(b³ − a³)/2.
    let (a, b, dt) = (0.5, 1.0, 0.01);
    let ball = Shape::sphere(a).unwrap();
    let vessel = solid(Arc::new(Hollow(Shape::sphere(b).unwrap())), at(0.0, 0.0, 0.0), false);
    for ratio in [0.01, 0.5, 8.0] {
        let body = afloat(&ball, at(0.0, 0.0, 0.0), ratio * WATER);
        let mut first = None;
        for dt in [dt, 1e-3 * dt] {
            let mut tank = tank(vec![vessel.clone()], &[(ball.clone(), at(0.0, 0.0, 0.0))], 1.5, |_| -1.0);
            let done = tank.fall(std::slice::from_ref(&body), dt, 1e-12);
            assert_eq!(done.report.closed_regions, 1);
            let acceleration = done.bodies[0].velocity[1] / dt;
            let before = *first.get_or_insert(acceleration);
            // The acceleration from rest does not depend on the step.
            assert!((acceleration / before - 1.0).abs() < 1e-8, "{acceleration} after {before}");
        }
        let added = 0.5 * (b.powi(3) + 2.0 * a.powi(3)) / (b.powi(3) - a.powi(3));
        let exact = (1.0 - ratio) * G / (ratio + added);
        let found = first.unwrap();
        // Radii of 8 and 16 cells: to second order (h/a)², of both spheres.
        assert!((found / exact - 1.0).abs() < 0.02, "ratio {ratio}: {found} instead of {exact} m/s²");
    }
}

#[test]
fn liquid_and_body_keep_their_momentum() {
    let ball = Shape::sphere(0.3).unwrap();
    let pose = at(0.03, -0.05, 0.02);
    let mut body = afloat(&ball, pose, 300.0);
    body.body.velocity = Six::new(1.0, -2.0, 0.5, 0.3, 0.1, -0.7);
    // A drop of liquid round it, away from all walls.
    let mut tank = tank(vec![], &[(ball, pose)], 1.5, |x| x.norm() - 0.8);
    for p in 0..tank.grid.tiles.cells() {
        let x = tank.grid.tiles.centre(tank.grid.tiles.cell(p));
        for a in 0..3 {
            tank.grid.velocity[a][p] = (7.0 * x[a] + 3.0 * x[(a + 1) % 3] + a as f64).sin();
        }
    }
    let before = momentum(&tank.grid) + linear(&body.body.velocity) * body.mass;
    let (mass, start) = (body.mass, linear(&body.body.velocity));
    let done = tank.project(&[body], 0.01, 1e-12, 0.0);
    let carried = linear(&done.bodies[0].velocity);
    let after = momentum(&tank.grid) + carried * mass;
    // What was exchanged is a share of the body's momentum; the sum holds to the tolerance of the solve.
    assert!((carried - start).norm() > 0.1);
    assert!((after - before).norm() < 1e-9 * before.norm(), "{before:?} became {after:?}");
}

/// Momentum of the liquid: a face carries the open area times the length over which pressure drops.
fn momentum(grid: &MacGrid) -> Vec3 {
    let tiles = &grid.tiles;
    let mut sum = Vec3::zeros();
    for p in 0..tiles.cells() {
        for axis in 0..3 {
            let mut low = tiles.cell(p);
            low[axis] -= 1;
            let Some(q) = tiles.locate(low) else { continue };
            let (a, b) = (grid.liquid[q].min(grid.liquid[p]), grid.liquid[q].max(grid.liquid[p]));
            if a < 0.0 {
                let share = if b < 0.0 { 1.0 } else { a / (a - b) };
                sum[axis] += WATER * H.powi(3) * grid.open[axis][p] as f64 * share * grid.velocity[axis][p];
            }
        }
    }
    sum
}

#[test]
fn a_stopper_on_a_closed_tube_holds() {
    // A tube of 16×16 cells, full of water up to a block that fills it.
    let dt = 0.01;
    let block = Shape::cuboid(Vec3::new(0.5, 0.25, 0.5), 0.0).unwrap();
    for ratio in [0.5, 3.0] {
        let pose = at(0.0, 0.25, 0.0);
        let body = afloat(&block, pose, ratio * WATER);
        let mut tube = tank(vec![], &[(block.clone(), pose)], 0.5, |x| x.y - 0.25);
        let done = tube.fall(std::slice::from_ref(&body), dt, 1e-12);
        let v = done.bodies[0].velocity.amax();
        assert!(v < 1e-9 * G * dt, "the stopper moves by {v:e} m/s");
        assert!(tube.fastest(&done) < 1e-9 * G * dt);
        // The water carries its weight: a body feels the pressure of the cells that it touches, m g over 1 m².
        let under = tube.grid.tiles.locate([0, -1, 0]).unwrap();
        let exact = body.mass * G;
        let found = tube.grid.pressure[under];
        assert!((found / exact - 1.0).abs() < 1e-6, "{found} instead of {exact} Pa");
    }
}

#[test]
fn water_gets_past_a_box_that_nearly_fills_its_tube() {
    // A closed tube of 16×16 cells, full of water, and a box in it that leaves half a cell on all sides.
    let half = 0.5 - 0.5 * H;
    let block = Shape::cuboid(Vec3::new(half, 0.25, half), 0.0).unwrap();
    // Heavy and in motion: what it displaces has to pass through the gaps.
    let mut body = afloat(&block, at(0.0, 0.0, 0.0), 1e7 * WATER);
    body.body.velocity[1] = -1.0;
    let mut tube = tank(vec![], &[(block.clone(), at(0.0, 0.0, 0.0))], 0.5, |_| -1.0);
    let done = tube.project(&[body], 0.01, 1e-12, 0.0);
    let v = done.bodies[0].velocity[1];
    assert!((v + 1.0).abs() < 1e-4, "the box goes on at {v} m/s");
    assert!(done.report.refused_inflow < 1e-12);
    let (mut gap, mut flow) = (0.0, 0.0);
    for i in -8..8 {
        for k in -8..8 {
            let p = tube.grid.tiles.locate([i, 0, k]).unwrap();
            let open = tube.grid.open[1][p] as f64 * H * H;
            gap += open;
            flow += open * tube.grid.velocity[1][p];
        }
    }
    // Faces in the gap are half open, but for the four at edges of the box, which are cut askew.
    for cell in [[7, 0, 0], [-8, 0, 3], [2, 0, 7], [-5, 0, -8]] {
        let open = tube.grid.open[1][tube.grid.tiles.locate(cell).unwrap()];
        assert!((open - 0.5).abs() < 1e-6, "{cell:?} is open by {open}");
    }
    let area = 4.0 * half * half;
    assert!((gap - (1.0 - area)).abs() < 4.0 * 0.1 * H * H, "the gap is {gap} instead of {} m²", 1.0 - area);
    // All that the box displaces passes.
    assert!((flow + v * (1.0 - gap)).abs() < 1e-9, "{flow} m³/s pass instead of {}", -v * (1.0 - gap));
    // Released from rest a stone sinks: slowly, as for every metre the water beside it goes seven.
    let stone = afloat(&block, at(0.0, 0.0, 0.0), 3.0 * WATER);
    let mut tube = tank(vec![], &[(block, at(0.0, 0.0, 0.0))], 0.5, |_| -1.0);
    let fall = -tube.fall(&[stone], 0.01, 1e-12).bodies[0].velocity[1] / 0.01;
    // Water in the gap, of the length of the box, has the inertia ρ V A/(1 − A); what turns into it at both ends
    // adds that of some widths of the gap, which is a sixteenth of its length.
    let most = 2.0 / (3.0 + area / (1.0 - area)) * G;
    println!("the stone falls with {fall}, at most {most} m/s²");
    assert!(fall < most && fall > 0.7 * most, "it falls with {fall}, at most {most} m/s²");
}

#[test]
fn a_long_square_box_floats_at_its_angle() {
    // Side 1 and specific gravity s: where the water line cuts the two sides, the metacentre is at the middle of
    // gravity for tan² = 2(6s(1 − s) − 1).
    let (s, side) = (0.23f64, 0.625);
    let tan = (2.0 * (6.0 * s * (1.0 - s) - 1.0)).sqrt();
    assert!(tan > 0.3 && tan < 2.0 * s);
    let block = Shape::cuboid(Vec3::new(0.5 * side, 0.5 * side, 0.8), 0.0).unwrap();
    let torque = |angle: f64| {
        let rotation = Pose::from_euler_xyz(&Vec3::new(0.0, 0.0, angle));
        let pose = Pose {
            rotation,
            // The middle of the water line lies the draught s above the middle of the bottom, along the box.
            translation: Vec3::new(0.01, 0.021 + (0.5 - s) * side * angle.cos(), 0.02),
        };
        let body = afloat(&block, pose, s * WATER);
        let mut tank = tank(vec![], &[(block.clone(), pose)], 1.5, |x| x.y - 0.021);
        let done = tank.fall(std::slice::from_ref(&body), 1e-4, 1e-12);
        done.bodies[0].force[5] / (body.mass * G * side)
    };
    let stable = tan.atan();
    let [less, there, more, flat] = [0.7 * stable, stable, 1.25 * stable, 0.05].map(torque);
    // The draught is exact, and so is the moment up to what the water line between cells leaves.
    assert!(there.abs() < 1e-3 * less.abs().max(more.abs()).max(1e-3), "{there:e} at its angle");
    assert!(less > 0.0 && more < 0.0 && flat > 0.0, "{less:e} before, {more:e} beyond, {flat:e} near flat");
}

#[test]
fn ten_bodies_cost_little_more_than_ten_stones() {
    let ball = Shape::sphere(0.2).unwrap();
    let places: Vec<Pose> = (0..10)
        .map(|n| {
            at(-1.0 + 0.5 * (n % 5) as f64, -0.3 - 0.11 * (n % 3) as f64, if n < 5 { -0.5 } else { 0.45 })
        })
        .collect();
    let shapes: Vec<(Shape, Pose)> = places.iter().map(|p| (ball.clone(), *p)).collect();
    let iterations = |density: Option<f64>| {
        let mut tank = tank(vec![], &shapes, 1.5, |x| x.y - 0.2);
        // Water that is thrown about.
        for p in 0..tank.grid.tiles.cells() {
            let x = tank.grid.tiles.centre(tank.grid.tiles.cell(p));
            (0..3).for_each(|a| tank.grid.velocity[a][p] = (5.0 * x[a] + 3.0 * x[(a + 1) % 3]).sin());
        }
        let mut bodies: Vec<Afloat> =
            places.iter().map(|p| afloat(&ball, *p, density.unwrap_or(WATER))).collect();
        if density.is_none() {
            // Held in place: what the liquid sees is the same, but nothing moves.
            bodies.iter_mut().for_each(|b| b.body.inverse_mass *= 0.0);
        }
        tank.fall(&bodies, 0.01, 1e-6).report.solve.unwrap().iterations
    };
    let [stones, half, light] = [None, Some(500.0), Some(10.0)].map(iterations);
    println!("iterations: held {stones}, ratio 0.5 {half}, ratio 0.01 {light}");
    assert!(half as f64 <= 1.5 * stones as f64, "{half} iterations instead of {stones}");
    assert!(light as f64 <= 2.5 * stones as f64, "{light} iterations instead of {stones}");
}
