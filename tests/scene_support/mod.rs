//! Scenes as simulations, run for a number of frames.
#![allow(dead_code)]

use meniscus::scene::Scene;
use meniscus::simulation::report::FrameReport;
use meniscus::simulation::{Settings, Simulation};

pub fn simulation(json: &str) -> Simulation {
    with(json, Settings::default())
}

pub fn on_threads(json: &str, threads: usize) -> Simulation {
    with(json, Settings { threads: Some(threads), ..Settings::default() })
}

fn with(json: &str, settings: Settings) -> Simulation {
    let scene = Scene::from_json(json).expect("a valid scene");
    Simulation::new(&scene, &|_| unreachable!("no meshes"), &settings).expect("a simulation")
}

/// The report of the last frame.
pub fn run(sim: &mut Simulation, frames: usize) -> FrameReport {
    let mut last = sim.report();
    for _ in 0..frames {
        last = sim.advance_frame(&mut |_| false).expect("a frame");
    }
    last
}
