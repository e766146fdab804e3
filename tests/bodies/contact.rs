//! Bodies of whole scenes: how they fly, touch, slide and bounce.

use super::scene_support::*;
use super::support::G;
use meniscus::math::{Pose, Vec3};
use meniscus::simulation::Simulation;
use meniscus::simulation::report::{ColliderPose, FrameReport};
use nalgebra::{Quaternion, UnitQuaternion};

#[test]
fn a_tumbling_block_keeps_its_angular_momentum() {
    let mut sim = on_threads(
        r#"{"meniscus": 1, "frames": [1, 40], "gravity": [0, 0, 0], "resolution": {"cell": 0.05},
            "initial": [{"shape": {"sphere": {"center": [5, 0, 0], "radius": 0.1}}}],
            "bodies": [{"shape": {"box": {"min": [-0.1, -0.2, -0.3], "max": [0.1, 0.2, 0.3]}}, "density": 700,
                "velocity": [0.1, 0, 0], "angular_velocity": [5, 200, 10]}]}"#,
        1,
    );
    let momentum = |report: &FrameReport| {
        let (body, pose) = (&report.bodies[0], &report.colliders[0].rotate_quaternion_wxyz);
        let q = nalgebra::Quaternion::new(pose[0], pose[1], pose[2], pose[3]);
        let r = nalgebra::UnitQuaternion::new_unchecked(q);
        let square = Vec3::new(0.2 * 0.2, 0.4 * 0.4, 0.6 * 0.6);
        let inertia =
            Vec3::new(square.y + square.z, square.x + square.z, square.x + square.y) * (body.mass / 12.0);
        r * inertia.component_mul(&(r.inverse() * Vec3::from(body.angular_velocity)))
    };
    let start = momentum(&sim.report());
    let end = run(&mut sim, 30);
    // The middle axis of inertia is not stable: it has begun to turn over.
    let spin = Vec3::from([5.0, 200.0, 10.0].map(f64::to_radians));
    assert!((Vec3::from(end.bodies[0].angular_velocity) - spin).norm() > 0.1 * spin.norm());
    assert!((momentum(&end) - start).norm() < 1e-12 * start.norm());
    assert_eq!(end.bodies[0].velocity, [0.1, 0.0, 0.0]);
}

/// Bodies in a domain whose water lies far off in a corner; gravity and frames a second are given.
fn dry(gravity: [f64; 3], fps: u32, bodies: &str) -> Simulation {
    on_threads(
        &format!(
            r#"{{"meniscus": 1, "frames": [1, 4000], "fps": {fps}, "gravity": {gravity:?},
                "domain": {{"min": [-2, 0, -2], "max": [2, 3, 2]}}, "resolution": {{"cell": 0.05}},
                "initial": [{{"shape": {{"box": {{"min": [-2, 0, -2], "max": [-1.9, 0.05, -1.9]}}}}}}],
                "bodies": [{bodies}]}}"#
        ),
        1,
    )
}

#[test]
fn a_block_slides_down_an_incline_or_stays() {
    let (angle, seconds) = (30f64.to_radians(), 0.2);
    // Down the slope along a side of the block and along its diagonal.
    for (x, z) in [(1.0, 0.0), (0.5f64.sqrt(), 0.5f64.sqrt())] {
        let pull = G * angle.sin();
        let gravity = [pull * x, -G * angle.cos(), pull * z];
        for (friction, exact) in [(0.2, G * (angle.sin() - 0.2 * angle.cos())), (0.7, 0.0)] {
            let block = format!(
                r#"{{"shape": {{"box": {{"min": [-0.1, 0, -0.1], "max": [0.1, 0.1, 0.1]}}}}, "density": 2000,
                    "friction": {friction}}}"#
            );
            let mut sim = dry(gravity, 100, &block);
            let end = run(&mut sim, (100.0 * seconds) as usize);
            let v = Vec3::from(end.bodies[0].velocity);
            let along = v.x * x + v.z * z;
            // The first step may begin without contact.
            assert!((along - exact * seconds).abs() < 0.02 * pull * seconds, "{along} m/s at {friction}");
            assert!((v.norm() - along.abs()).abs() < 0.01 * pull * seconds, "{v:?}");
        }
    }
}

#[test]
fn a_stack_with_the_heaviest_on_top_stands() {
    let block = |y: f64, density: f64| {
        format!(
            r#"{{"shape": {{"box": {{"min": [-0.1, {y}, -0.1], "max": [0.1, {}, 0.1]}}}}, "density": {density}}}"#,
            y + 0.1
        )
    };
    let mut sim =
        dry([0.0, -G, 0.0], 24, &[block(0.0, 500.0), block(0.1, 1000.0), block(0.2, 8000.0)].join(","));
    let start: Vec<Vec3> = sim.report().bodies.iter().map(|b| b.centre.into()).collect();
    let end = run(&mut sim, 24);
    for (body, start) in end.bodies.iter().zip(start) {
        // What overlaps by a thousandth of a cell is left alone.
        let creep = (Vec3::from(body.centre) - start).norm();
        assert!(creep < 1e-3 * 0.05, "a block creeps by {creep:e} m in a second");
        let (v, spin) = (Vec3::from(body.velocity).norm(), Vec3::from(body.angular_velocity).norm());
        // Contact and pressure agree to a thousandth of what gravity adds in a step.
        assert!(v < 1e-3 * G / 24.0 && spin < 1e-3 * G / 24.0 / 0.1, "{v:e} m/s, {spin:e} radians a second");
    }
}

#[test]
fn a_ball_bounces_to_the_square_of_its_restitution() {
    let (height, e, fps) = (0.5, 0.6, 400);
    let ball = r#"{"shape": {"sphere": {"center": [0, 0.6, 0], "radius": 0.1}}, "density": 500,
        "restitution": 0.6}"#;
    let mut sim = dry([0.0, -G, 0.0], fps, ball);
    let fall = (2.0 * height / G).sqrt();
    let frames = |t: f64| (t * fps as f64) as usize;
    run(&mut sim, frames(1.05 * fall));
    let mut top = 0.0f64;
    for _ in 0..frames(2.0 * e * fall) {
        top = top.max(run(&mut sim, 1).bodies[0].centre[1] - 0.1);
    }
    // A step is .8 % of the fall, and where in it the floor is met decides by as much.
    assert!((top / (e * e * height) - 1.0).abs() < 0.03, "{top} instead of {} m", e * e * height);
}

#[test]
fn hinges_turn_and_sliders_slide() {
    // A rod of length 0.6 hinged at its end: α = m g L / (I + m L²), held level at first.
    let rod = r#"{"shape": {"box": {"min": [0, 0.98, -0.02], "max": [0.6, 1.02, 0.02]}}, "density": 700,
        "joint": {"hinge": {"point": [0, 1, 0], "axis": [0, 0, 1]}}}"#;
    let bead = r#"{"shape": {"sphere": {"center": [1, 2, 1], "radius": 0.1}}, "density": 700,
        "joint": {"slider": {"axis": [3, -4, 0]}}}"#;
    let still =
        r#"{"shape": {"sphere": {"center": [-1, 1, 1], "radius": 0.1}}, "density": 700, "joint": "fixed"}"#;
    let fps = 1000;
    let mut sim = dry([0.0, -G, 0.0], fps, &[rod, bead, still].join(", "));
    let first = run(&mut sim, 1);
    let (l, dt) = (0.3, 1.0 / fps as f64);
    let inertia = (0.6f64.powi(2) + 0.04f64.powi(2)) / 12.0;
    let alpha = -G * l / (inertia + l * l);
    let w = first.bodies[0].angular_velocity[2];
    assert!((w / (alpha * dt) - 1.0).abs() < 1e-9, "{w} instead of {} 1/s", alpha * dt);
    let later = run(&mut sim, 299);
    // Energy of the swing: ½(I + mL²)ω² = m g (height lost); a step of a thousandth is first order.
    let (w, y) = (later.bodies[0].angular_velocity[2], later.bodies[0].centre[1]);
    let exact = (2.0 * G * (1.0 - y) / (inertia + l * l)).sqrt();
    assert!((w.abs() / exact - 1.0).abs() < 5e-3, "{w} instead of {exact} 1/s");
    let arm = Vec3::from(later.bodies[0].centre) - Vec3::new(0.0, 1.0, 0.0);
    assert!((arm.norm() - l).abs() < 1e-9 && arm.z.abs() < 1e-12, "the rod has left its hinge: {arm:?}");
    // The bead is pulled by g·4/5 along its way, and stays on it.
    let (v, x) = (Vec3::from(later.bodies[1].velocity), Vec3::from(later.bodies[1].centre));
    let axis = Vec3::new(0.6, -0.8, 0.0);
    assert!((v - axis * (0.8 * G * 0.3)).norm() < 1e-9, "{v:?}");
    assert!((x - Vec3::new(1.0, 2.0, 1.0)).cross(&axis).norm() < 1e-9, "{x:?}");
    assert_eq!(later.bodies[2].velocity, [0.0; 3]);
}

#[test]
fn a_moving_collider_takes_bodies_along() {
    // A kinematic paddle pushes a ball over the floor at its own speed.
    let json = r#"{"meniscus": 1, "frames": [1, 60], "fps": 50,
        "domain": {"min": [-2, 0, -1], "max": [2, 1, 1]}, "resolution": {"cell": 0.05},
        "initial": [{"shape": {"box": {"min": [-2, 0, -1], "max": [-1.9, 0.05, -0.9]}}}],
        "colliders": [{"shape": {"box": {"min": [-0.05, 0, -0.3], "max": [0.05, 0.5, 0.3]}},
            "transform": {"translate": {"keys": [[1, [-0.4, 0, 0]], [51, [0.6, 0, 0]]]}}}],
        "bodies": [{"shape": {"sphere": {"center": [0, 0.15, 0], "radius": 0.15}}, "density": 300}]}"#;
    let end = run(&mut on_threads(json, 1), 40);
    let (v, x) = (end.bodies[0].velocity, end.bodies[0].centre);
    let paddle = -0.4 + 40.0 / 50.0 + 0.05;
    // Without friction and restitution it keeps the speed of the paddle and stays before it.
    assert!((v[0] - 1.0).abs() < 0.02, "{v:?}");
    assert!(x[0] - 0.15 > paddle - 1e-3 && x[0] - 0.15 < paddle + 0.03, "{x:?} before {paddle}");
}

/// The three shapes of a crowd: a ball of radius 0.1, a box, and a capsule along x. Distance to number n of them.
fn crowd_distance(n: usize, x: &Vec3) -> f64 {
    match n % 3 {
        0 => x.norm() - 0.1,
        1 => {
            let q = x.abs() - Vec3::new(0.09, 0.06, 0.08);
            q.sup(&Vec3::zeros()).norm() + q.max().min(0.0)
        }
        _ => (x - Vec3::x() * x.x.clamp(-0.05, 0.05)).norm() - 0.06,
    }
}

/// Points of its surface, the corners of the box among them.
fn crowd_points(n: usize) -> Vec<Vec3> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let even = (0..400).map(|k| {
        let y = (k as f64 + 0.5) / 200.0 - 1.0;
        let (r, a) = ((1.0 - y * y).sqrt(), golden * k as f64);
        Vec3::new(r * a.cos(), y, r * a.sin())
    });
    let corners = (0..8).map(|k| Vec3::from_fn(|a, _| if k >> a & 1 == 1 { 1.0 } else { -1.0 }));
    let half = Vec3::new(0.09, 0.06, 0.08);
    match n % 3 {
        0 => even.map(|d| d * 0.1).collect(),
        1 => {
            let on_box = |d: Vec3| (d / d.component_div(&half).amax()).inf(&half).sup(&-half);
            even.map(on_box).chain(corners.map(|c| c.component_mul(&half))).collect()
        }
        _ => even.map(|d| d * 0.06 + Vec3::x() * (0.05 * d.x.signum())).collect(),
    }
}

/// How deep bodies of a crowd sink into each other, m.
fn deepest_overlap(report: &FrameReport) -> f64 {
    let pose = |c: &ColliderPose| {
        let [w, i, j, k] = c.rotate_quaternion_wxyz;
        Pose {
            rotation: UnitQuaternion::from_quaternion(Quaternion::new(w, i, j, k)),
            translation: Vec3::from(c.translate),
        }
    };
    let poses: Vec<Pose> = report.colliders.iter().map(pose).collect();
    let points: Vec<Vec<Vec3>> = (0..3).map(crowd_points).collect();
    let mut deepest = 0.0f64;
    for (a, from) in poses.iter().enumerate() {
        for (b, to) in poses.iter().enumerate() {
            // No body of the crowd reaches further than 0.14 from its middle.
            if a == b || (from.translation - to.translation).norm() > 0.28 {
                continue;
            }
            for x in &points[a % 3] {
                deepest = deepest.max(-crowd_distance(b, &to.to_local(&from.to_world(x))));
            }
        }
    }
    deepest
}

/// Bodies of many densities on a lattice above a pool, thrown in. They must stay in the tank, out of walls and out of each
/// other.
fn crowd(per_side: usize, layers: usize, cell: f64, frames: usize) {
    let (room, radius) = (0.3, 0.1);
    let side = room * per_side as f64;
    let body = |n: usize| {
        let (i, j, k) = (n % per_side, n / per_side / per_side, n / per_side % per_side);
        let at = [(i as f64 + 0.5) * room, 0.5 + (j as f64 + 0.5) * room, (k as f64 + 0.5) * room];
        let density = [30.0, 200.0, 700.0, 1500.0, 8000.0][n % 5];
        let shape = match n % 3 {
            0 => format!(r#"{{"sphere": {{"center": [0, 0, 0], "radius": {radius}}}}}"#),
            1 => r#"{"box": {"min": [-0.09, -0.06, -0.08], "max": [0.09, 0.06, 0.08]}}"#.to_string(),
            _ => r#"{"capsule": {"from": [-0.05, 0, 0], "to": [0.05, 0, 0], "radius": 0.06}}"#.to_string(),
        };
        format!(
            r#"{{"shape": {shape}, "transform": {{"translate": {at:?}, "rotate": [{}, {}, 20]}},
                "density": {density}, "friction": 0.3, "restitution": 0.2,
                "velocity": [{}, -1, {}], "angular_velocity": [90, {}, 0]}}"#,
            37 * n % 90,
            53 * n % 90,
            (n % 7) as f64 * 0.3 - 0.9,
            (n % 4) as f64 * 0.4 - 0.6,
            (31 * n) % 200
        )
    };
    let count = per_side * per_side * layers;
    let bodies: Vec<String> = (0..count).map(body).collect();
    let top = 0.6 + room * layers as f64;
    let json = format!(
        r#"{{"meniscus": 1, "frames": [1, 1000], "domain": {{"min": [0,0,0], "max": [{side}, {top}, {side}]}},
            "resolution": {{"cell": {cell}}},
            "initial": [{{"shape": {{"box": {{"min": [0,0,0], "max": [{side}, 0.4, {side}]}}}}}}],
            "bodies": [{}]}}"#,
        bodies.join(", ")
    );
    let mut sim = on_threads(&json, 2);
    let mut deepest = 0.0f64;
    for _ in 0..frames {
        let report = run(&mut sim, 1);
        deepest = deepest.max(deepest_overlap(&report));
        if report.frame % 25 == 0 {
            println!(
                "frame {}: {} substeps, {} iterations, {:.1} s, volume {:+.3} %, overlap at most {deepest:.1e} m",
                report.frame,
                report.substeps,
                report.iterations,
                report.seconds,
                100.0 * report.volume_error()
            );
        }
        assert!(deepest < 0.1 * cell, "frame {}: bodies overlap by {deepest} m", report.frame);
        for (n, body) in report.bodies.iter().enumerate() {
            // The least distance of a centre from a wall that its shape allows, less a hundredth of a cell.
            let least = [radius, 0.06, 0.06][n % 3] - 0.01 * cell;
            let x = Vec3::from(body.centre);
            let inside = (0..3).all(|a| x[a] >= least && x[a] <= [side, top, side][a] - least);
            assert!(inside, "frame {}: body {n} of {count} is at {x:?}", report.frame);
            assert!(linear_speed(&report, n) < 10.0, "frame {}: body {n} flies", report.frame);
        }
    }
}

/// How many frames the long form is to run, if it is asked for.
fn frames_of(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

#[test]
fn a_crowd_of_bodies_stays_in_its_tank() {
    // MENISCUS_CROWD=500 runs a hundred bodies in a heap for as many frames.
    match frames_of("MENISCUS_CROWD") {
        Some(frames) => crowd(5, 4, 0.075, frames),
        None => crowd(3, 2, 0.075, 12),
    }
}

#[test]
fn a_crowd_that_floats_side_by_side_stays_in_its_tank() {
    // MENISCUS_FLOATING=500 runs a hundred of them.
    match frames_of("MENISCUS_FLOATING") {
        Some(frames) => crowd(10, 1, 0.075, frames),
        None => crowd(4, 1, 0.075, 8),
    }
}

#[test]
fn a_saved_run_with_bodies_continues_bit_for_bit_on_any_number_of_threads() {
    let json = r#"{"meniscus": 1, "frames": [1, 10],
        "domain": {"min": [0,0,0], "max": [0.5, 0.5, 0.4]}, "resolution": {"cell": 0.025},
        "initial": [{"shape": {"box": {"min": [0,0,0], "max": [0.5, 0.2, 0.4]}}}],
        "bodies": [{"shape": {"sphere": {"center": [0.2, 0.22, 0.2], "radius": 0.08}}, "density": 300},
            {"shape": {"box": {"min": [0.25, 0.25, 0.1], "max": [0.4, 0.35, 0.3]}}, "density": 2500,
             "friction": 0.3, "velocity": [0, -1, 0]}]}"#;
    let mut one = on_threads(json, 1);
    run(&mut one, 2);
    let saved = one.save();
    run(&mut one, 3);
    for threads in [2, 3] {
        let mut other = on_threads(json, threads);
        other.load(&saved).expect("the state");
        assert!(other.save() == saved);
        run(&mut other, 3);
        assert!(one.save() == other.save(), "the states differ on {threads} threads");
    }
}

#[test]
fn a_stone_on_the_floor_pushes_no_water() {
    let mut sim = on_threads(
        r#"{"meniscus": 1, "frames": [1, 20], "domain": {"min": [0,0,0], "max": [0.8, 0.6, 0.8]},
            "resolution": {"cell": 0.04},
            "initial": [{"shape": {"box": {"min": [0,0,0], "max": [0.8, 0.41, 0.8]}}}],
            "bodies": [{"shape": {"sphere": {"center": [0.4, 0.16, 0.4], "radius": 0.16}}, "density": 3000}]}"#,
        2,
    );
    let end = run(&mut sim, 6);
    let (centre, v) = (end.bodies[0].centre, end.bodies[0].velocity);
    assert!((centre[1] - 0.16).abs() < 1e-3 * 0.16, "the stone is at {centre:?}");
    // Contact and pressure agree to a thousandth of what gravity adds in a step.
    let speed = v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(speed < 2e-3 * G / 24.0, "the stone moves at {speed:e} m/s");
    assert!(end.max_speed < 0.02, "the water moves at {} m/s", end.max_speed);
    assert!(end.volume_error().abs() < 1e-3, "{} of {} l", end.litres, end.litres_expected);
}

#[test]
fn light_and_heavy_bodies_stay_in_the_tank_and_out_of_each_other() {
    let ball = |x: f64, y: f64, z: f64, density: f64| {
        format!(
            r#"{{"shape": {{"sphere": {{"center": [{x}, {y}, {z}], "radius": 0.1}}}}, "density": {density},
                "friction": 0.3, "restitution": 0.2, "velocity": [0.3, -2, 0.1]}}"#
        )
    };
    let bodies = [
        ball(0.2, 0.45, 0.2, 10.0),
        ball(0.5, 0.45, 0.25, 100.0),
        ball(0.22, 0.7, 0.22, 8000.0),
        ball(0.45, 0.7, 0.4, 900.0),
    ];
    let json = format!(
        r#"{{"meniscus": 1, "frames": [1, 40], "domain": {{"min": [0,0,0], "max": [0.7, 1.0, 0.6]}},
            "resolution": {{"cell": 0.035}},
            "initial": [{{"shape": {{"box": {{"min": [0,0,0], "max": [0.7, 0.3, 0.6]}}}}}}], "bodies": [{}]}}"#,
        bodies.join(", ")
    );
    let mut sim = on_threads(&json, 2);
    for _ in 0..20 {
        let report = run(&mut sim, 1);
        let centres: Vec<Vec3> = report.bodies.iter().map(|b| b.centre.into()).collect();
        for (i, x) in centres.iter().enumerate() {
            // A ball may overlap a wall or another ball by a hundredth of its radius at most.
            let room = (0..3).all(|a| x[a] > 0.099 && x[a] < [0.7, 1.0, 0.6][a] - 0.099);
            assert!(room, "frame {}: body {i} is at {x:?}", report.frame);
            let fast = linear_speed(&report, i);
            assert!(fast < 6.0, "frame {}: body {i} flies at {fast} m/s", report.frame);
            for y in &centres[..i] {
                assert!((x - y).norm() > 0.198, "frame {}: bodies {x:?} and {y:?}", report.frame);
            }
        }
        assert!(report.volume_error().abs() < 0.02, "{} of {} l", report.litres, report.litres_expected);
    }
}

fn linear_speed(report: &FrameReport, body: usize) -> f64 {
    Vec3::from(report.bodies[body].velocity).norm()
}
