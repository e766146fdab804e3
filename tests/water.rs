//! Water in a scene behaves like water: stillness, free fall, walls that hold, volume that stays.

use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation};

fn simulation(json: &str) -> Simulation {
    let scene = Scene::from_json(json).expect("a valid scene");
    Simulation::new(&scene, &|_| unreachable!("no meshes"), &Settings::default()).expect("a simulation")
}

fn run(sim: &mut Simulation, frames: usize) -> meniscus::simulation::report::FrameReport {
    let mut last = sim.report();
    for _ in 0..frames {
        last = sim.advance_frame(&mut |_| false).expect("a frame");
    }
    last
}

#[test]
fn a_flat_pool_has_no_ripples() {
    let mut sim = simulation(
        r#"{"meniscus": 1, "frames": [1, 20], "domain": {"min": [0,0,0], "max": [1, 0.7, 0.6]},
            "resolution": {"divisions": 24},
            "initial": [{"shape": {"box": {"min": [0,0,0], "max": [1, 0.333, 0.6]}}}]}"#,
    );
    let start = sim.report();
    let end = run(&mut sim, 10);
    eprintln!("{} {} {:?}", start.litres, end.litres, end);
    // The surface is a plane that never moves, so only the tolerance of the pressure solve is left:
    // 1e-6 of the velocity g·dt that gravity adds in a step.
    let scale = (9.81f64 * 0.333).sqrt();
    assert!(end.max_speed < 1e-5 * scale, "speed {}", end.max_speed);
    assert!((end.litres / start.litres - 1.0).abs() < 1e-6);
    // The initial volume is exact up to the flat surface: 1 × 0.333 × 0.6 m.
    assert!((start.litres - 199.8).abs() < 0.01, "{} l", start.litres);
}
