//! Bodies that liquid on the lattice moves, sizes that a scene asks for, and nozzles that give what they are told to.

use super::support::{advance, simulation};
use serde_json::{Value, json};

const G: f64 = 9.81;

/// A tank of 0.8 m, filled to 0.41 m, with a body.
fn tank(body: Value) -> Value {
    json!({"meniscus": 1, "frames": [1, 50], "fps": 24, "resolution": {"cell": 0.04},
        "simulator": {"type": "bcc", "detail": 2, "pressure_tolerance": 1e-12},
        "domain": {"min": [0, 0, 0], "max": [0.8, 0.64, 0.8]},
        "initial": [{"shape": {"box": {"min": [-1, -1, -1], "max": [2, 0.41, 2]}}}],
        "bodies": [body]})
}

#[test]
fn a_neutral_body_at_rest_stays_at_rest_on_the_lattice() {
    let ball = json!({"shape": {"sphere": {"center": [0.41, 0.23, 0.38], "radius": 0.13}}, "density": 1000});
    let block = json!({"shape": {"box": {"min": [-0.11, -0.08, -0.1], "max": [0.11, 0.08, 0.1]}}, "density": 1000,
        "transform": {"translate": [0.41, 0.21, 0.38], "rotate": [17, 29, 40]}});
    for body in [ball, block] {
        let mut sim = simulation(&tank(body), 2);
        // Round-off of solves to 1e-12 against the velocity that gravity adds.
        for _ in 0..3 {
            advance(&mut sim, 1);
            let report = sim.report();
            let fastest = report.bodies[0].velocity.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            assert!(fastest < 1e-9 * G / 24.0, "the body moves at {fastest:e} m/s");
            assert!(report.max_speed < 1e-8 * G / 24.0, "the water moves at {:e} m/s", report.max_speed);
        }
    }
}

#[test]
fn a_pool_whose_level_meets_the_points_of_the_lattice_stays_still() {
    // Circumcentres lie on multiples of a quarter cell, vertices of half a cell: rounding decides on which side of the
    // surface they are, and must not move water.
    for level in [0.40, 0.41] {
        let mut scene = tank(json!({}));
        scene["bodies"] = json!([]);
        scene["initial"] = json!([{"shape": {"box": {"min": [-1, -1, -1], "max": [2, level, 2]}}}]);
        let mut sim = simulation(&scene, 2);
        for _ in 0..4 {
            advance(&mut sim, 1);
            let fastest = sim.report().max_speed;
            assert!(fastest < 1e-8 * G / 24.0, "level {level}: the water moves at {fastest:e} m/s");
        }
    }
}

#[test]
fn a_sphere_floats_at_its_draught_on_the_lattice() {
    // Draught over radius for the specific gravities 1/4, 1/2 and 3/4.
    for (gravity, draught) in [(0.25, 0.65270), (0.5, 1.0), (0.75, 1.34730)] {
        let r = 0.15;
        let centre = [0.41, 0.41 + r - draught * r, 0.38];
        let ball = json!({"shape": {"sphere": {"center": centre, "radius": r}}, "density": 1000.0 * gravity});
        let mut sim = simulation(&tank(ball), 2);
        advance(&mut sim, 1);
        let body = &sim.report().bodies[0];
        // By how much it would have to sink to carry the rest of its weight, over its draught.
        let plane = std::f64::consts::PI * draught * (2.0 - draught) * r * r;
        let off = (body.force[1] - body.mass * G) / (1000.0 * G * plane) / (draught * r);
        assert!(off.abs() < 1e-3, "specific gravity {gravity}: draught off by {off:e}");
    }
}

#[test]
fn a_heavy_ball_comes_to_rest_on_the_floor_of_the_lattice() {
    let ball = json!({"shape": {"sphere": {"center": [0.4, 0.16, 0.4], "radius": 0.16}}, "density": 3000});
    let mut sim = simulation(&tank(ball), 2);
    advance(&mut sim, 6);
    let report = sim.report();
    let (centre, v) = (report.bodies[0].centre, report.bodies[0].velocity);
    assert!((centre[1] - 0.16).abs() < 1e-3 * 0.16, "the ball is at {centre:?}");
    let speed = v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    // Contact and pressure agree to a thousandth of what gravity adds in a step.
    assert!(speed < 2e-3 * G / 24.0, "the ball moves at {speed:e} m/s");
    assert!(report.max_speed < 0.02, "the water moves at {} m/s", report.max_speed);
}

#[test]
fn a_nozzle_with_sharp_edges_gives_what_it_is_told_to() {
    let (side, speed, fps, frames) = (0.08, 0.5, 50.0, 10);
    let mut sim = simulation(
        &json!({"meniscus": 1, "frames": [0, 50], "fps": fps, "resolution": {"cell": 0.01},
            "simulator": {"type": "bcc", "detail": 4},
            "domain": {"min": [-0.16, 0, -0.16], "max": [0.16, 0.64, 0.16]},
            "liquids": [{"density": 1000, "viscosity": 20}],
            "emitters": [{"shape": {"box": {"min": [-0.04, 0.5, -0.04], "max": [0.04, 0.58, 0.04]}},
                "velocity": [0, -speed, 0]}]}),
        2,
    );
    advance(&mut sim, 2);
    let first = sim.report().litres_expected;
    advance(&mut sim, frames);
    // The rim of the box wears off and is filled up again all the time; that is no liquid that was given.
    let report = sim.report();
    let (given, exact) = (report.litres_expected - first, 1e3 * side * side * speed * frames as f64 / fps);
    assert!((given / exact - 1.0).abs() < 0.01, "the ledger says {given} of {exact} l");
}

#[test]
fn cells_are_fine_where_a_scene_paints_them_and_wide_where_no_camera_looks() {
    let cells = |sizing: Value| {
        let mut scene = tank(json!({"shape": {"sphere": {"center": [0.4, 0.2, 0.4], "radius": 0.05}}}));
        scene["bodies"] = json!([]);
        scene["simulator"] = json!({"type": "bcc", "detail": 4, "cube": 1, "sizing": sizing});
        let sim = simulation(&scene, 2);
        let view = sim.cells().unwrap();
        (view.lattice.octree().leaves(), view.lattice.cells())
    };
    let plain = cells(json!({}));
    let painted = cells(json!({"regions": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.3, 0.2, 0.3]}}}]}));
    let camera = json!({"eye": [0.4, 0.5, 9], "look_at": [0.4, 0.4, 0], "half_angle": 20, "resolves": 1});
    let seen = cells(json!({"camera": camera}));
    // The painted box holds 8 × 5 × 8 finest cubes; what the band of the surface had not refined of it is new.
    assert!(painted.0 > plain.0 + 100, "{plain:?} {painted:?}");
    // A degree at 9 m is 157 mm: cubes of 80 mm are fine enough.
    assert!(seen.0 < plain.0 / 2, "{plain:?} {seen:?}");
}
