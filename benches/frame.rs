//! Whole frames of the simulator `mac`: seconds by stage, cost a liquid cell, memory.
//!
//! ```sh
//! cargo bench --bench frame                       # the three sizes, and a litre in a huge domain
//! cargo bench --bench frame -- dam 128 2 10       # one size: divisions, threads, frames
//! cargo bench --bench frame -- tank 128 2 30      # the tank of benches/peers/mantaflow.sh, at its settings
//! cargo bench --bench frame -- sheet 300 2 24     # a sheet of thick liquid that buckles: cells along it, threads, frames
//! ```
//!
//! The tank is two cubes side by side with a column of water at one end. `dam` runs it with our defaults;
//! `tank` with the CFL number 4, at most 4 substeps and a narrow band of 3 cells, which are those of the
//! peer. `sheet` is that of [Bat10, figure 3.3] on 45 × 45 × 300 cells of 3 mm, for which one minute a frame is reported:
//! 3 cells thick, 33 high, 7 above the floor and 10 shorter than the room, 10 Pa·s. Wall-clock times: use an idle machine. One JSON line a case.

use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation};
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |n: usize, other: usize| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(other);
    match args.first().map(String::as_str) {
        Some(kind @ ("dam" | "tank")) => tank(kind, number(1, 64), number(2, 2), number(3, 10)),
        Some("sheet") => sheet(number(1, 300), number(2, 2), number(3, 24)),
        _ => {
            for divisions in [48, 72, 108] {
                tank("dam", divisions, 1, 4);
            }
            litre();
        }
    }
}

fn simulation(scene: &Value, threads: usize) -> Simulation {
    let scene = Scene::from_json(&scene.to_string()).expect("a scene");
    let settings = Settings { threads: Some(threads), ..Settings::default() };
    Simulation::new(&scene, &|_| unreachable!("no meshes"), &settings).expect("a simulation")
}

fn tank(kind: &str, divisions: usize, threads: usize, frames: usize) {
    let simulator = match kind {
        "tank" => json!({"cfl": 4, "substeps_max": 4, "narrow_band": 3}),
        _ => json!({}),
    };
    let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 24, "simulator": simulator,
        "domain": {"min": [-1, 0, -0.5], "max": [1, 1, 0.5]}, "resolution": {"divisions": divisions},
        "initial": [{"shape": {"box": {"min": [-0.98, 0.02, -0.48], "max": [-0.2, 0.7, 0.48]}}}]});
    measure(kind, divisions, &scene, threads, frames);
}

fn sheet(along: usize, threads: usize, frames: usize) {
    let length = 0.003 * along as f64;
    let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 24, "simulator": {"transfer": "apic"},
        "domain": {"min": [-0.0675, 0, 0], "max": [0.0675, 0.135, length], "wall": "stick", "sides": {"y_max": "open"}},
        "resolution": {"cell": 0.003},
        "liquids": [{"name": "honey", "density": 1000, "viscosity": 10}],
        "initial": [{"shape": {"box": {"min": [-0.0045, 0.021, 0.015], "max": [0.0045, 0.12, length - 0.015]}}}]});
    measure("sheet", along, &scene, threads, frames);
}

fn measure(kind: &str, divisions: usize, scene: &Value, threads: usize, frames: usize) {
    let mut sim = simulation(scene, threads);
    let (mut seconds, mut surface, mut substeps, mut cells) = (0.0, 0.0, 0, 0.0);
    let mut stages: Vec<(String, f64)> = Vec::new();
    let (mut vertices, mut worst) = (0, 0.0f64);
    for _ in 0..frames {
        let report = sim.advance_frame(&mut |_| false).expect("a frame");
        let clock = std::time::Instant::now();
        vertices = sim.surface().expect("a surface").positions.len();
        surface += clock.elapsed().as_secs_f64();
        seconds += report.seconds;
        substeps += report.substeps;
        worst = worst.max(report.volume_error().abs());
        cells += report.liquid_cells as f64 * report.substeps as f64;
        if stages.is_empty() {
            stages = report.stage_seconds.clone();
        } else {
            stages.iter_mut().zip(&report.stage_seconds).for_each(|(s, r)| s.1 += r.1);
        }
    }
    let last = sim.report();
    let stages: serde_json::Map<String, Value> =
        stages.into_iter().map(|(name, s)| (name, json!(s / substeps as f64))).collect();
    let line = json!({"case": kind, "divisions": divisions, "threads": threads, "frames": frames,
        "seconds_a_frame": (seconds + surface) / frames as f64, "surface_seconds_a_frame": surface / frames as f64,
        "substeps": substeps, "seconds_a_substep": seconds / substeps as f64, "stages_a_substep": stages,
        "nanoseconds_a_liquid_cell": 1e9 * seconds / cells, "particles": last.particles,
        "liquid_cells": last.liquid_cells, "vertices": vertices, "volume_error": worst,
        "megabytes": last.memory_bytes as f64 / 1e6});
    println!("{line}");
}

/// One litre at 1 mm in a domain of 2000³ cells: only the liquid costs memory.
fn litre() {
    let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 1000,
        "domain": {"min": [-1, -1, -1], "max": [1, 1, 1]}, "resolution": {"cell": 0.001},
        "initial": [{"shape": {"box": {"min": [-0.05, -0.05, -0.05], "max": [0.05, 0.05, 0.05]}}}]});
    let mut sim = simulation(&scene, 2);
    sim.advance_frame(&mut |_| false).expect("a frame");
    let report = sim.report();
    let line = json!({"case": "litre in 2000 cubed", "liquid_cells": report.liquid_cells, "particles": report.particles,
        "megabytes": report.memory_bytes as f64 / 1e6,
        "bytes_a_liquid_cell": report.memory_bytes as f64 / report.liquid_cells as f64,
        "bytes_a_particle": report.memory_bytes as f64 / report.particles as f64,
        "peak_megabytes": peak_megabytes()});
    println!("{line}");
}

/// The most that the process has held, where the system tells.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1e3)
}
