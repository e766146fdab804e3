//! Whole frames of the simulator `mac`: seconds by stage, cost a liquid cell, memory.
//!
//! ```sh
//! cargo bench --bench frame                       # the three sizes, and a litre in a huge domain
//! cargo bench --bench frame -- dam 128 2 10       # one size: divisions, threads, frames
//! cargo bench --bench frame -- tank 128 2 30      # the tank of benches/peers/mantaflow.sh, at its settings
//! cargo bench --bench frame -- tank 128 2 30 0.05 # the same with a kinematic viscosity, m²/s
//! cargo bench --bench frame -- sheet 300 2 24     # a sheet of thick liquid that buckles: cells along it, threads, frames
//! cargo bench --bench frame -- step 64 2 10       # frames of one substep, 491,520 particles at 64 cubed
//! cargo bench --bench frame -- threads 96 10      # one thread, two, and two simulations side by side
//! cargo bench --bench frame -- particles 10       # ten million particles in 256 cubed: seconds, bytes a particle
//! cargo bench --bench frame -- particles          # one, then ten million
//! ```
//!
//! The tank is two cubes side by side with a column of water at one end. `dam` runs it with our defaults;
//! `tank` with the CFL number 4, at most 4 substeps and a narrow band of 3 cells, which are those of the
//! peer. `sheet` is that of [Bat10, figure 3.3] on 45 × 45 × 300 cells of 3 mm, for which one minute a frame is reported:
//! 3 cells thick, 33 high, 7 above the floor and 10 shorter than the room, 10 Pa·s. Wall-clock times: use an idle machine. One JSON line a case.
//!
//! Bytes are those that the process has asked for and not given back, counted by its allocator: between frames, and
//! at most while a frame was made, when the state before and the state after a substep are both there.

use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation};
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with a count of what is held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn taken(bytes: usize) {
    PEAK.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; beside it only numbers are changed.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |n: usize, other: usize| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(other);
    match args.first().map(String::as_str) {
        Some(kind @ ("dam" | "tank")) => {
            let viscosity = args.get(4).and_then(|a| a.parse().ok()).unwrap_or(0.0);
            tank(kind, number(1, 64), number(2, 2), number(3, 10), viscosity)
        }
        Some("sheet") => sheet(number(1, 300), number(2, 2), number(3, 24)),
        Some("step") => one_step(number(1, 64), number(2, 2), number(3, 10)),
        Some("threads") => threads(number(1, 96), number(2, 10)),
        Some("particles") if args.len() > 1 => particles(number(1, 10), number(2, 2), number(3, 3)),
        Some("particles") => [1, 10].into_iter().for_each(|millions| particles(millions, 2, 3)),
        _ => {
            for divisions in [48, 72, 108] {
                tank("dam", divisions, 1, 4, 0.0);
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

/// Frames of one substep: a block of 40 × 48 × 32 cells falls apart in a cube of 64.
fn one_step(divisions: usize, threads: usize, frames: usize) {
    let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 60, "simulator": {"substeps_max": 1},
        "domain": {"min": [0, 0, 0], "max": [1, 1, 1]}, "resolution": {"divisions": divisions},
        "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.625, 0.75, 0.5]}}}]});
    measure("step", divisions, &scene, threads, frames);
}

/// The tank with one thread, with two, and twice at once with one thread each.
///
/// Two cores share memory and caches, so that even work without a serial part gains less than two. What they gain on
/// this work, G, is what two simulations side by side get done compared with one. With a serial share f of the work two threads
/// take T₂ = T₁ (f + (1 − f)/G), hence f = (1/s − 1/G)/(1 − 1/G) for a gain of s = T₁/T₂. `by_amdahl` is the same for G = 2.
/// benches/serial counts the share instead.
fn threads(divisions: usize, frames: usize) {
    let scene = tank_with(json!({}), divisions);
    let [one, two] = [1, 2].map(|n| measure("dam", divisions, &scene, n, frames));
    let clock = std::time::Instant::now();
    std::thread::scope(|s| {
        (0..2).for_each(|_| drop(s.spawn(|| measure("dam", divisions, &scene, 1, frames))))
    });
    let (gain, cores) = (one / two, 2.0 * one / clock.elapsed().as_secs_f64());
    let share = |most: f64| (1.0 / gain - 1.0 / most) / (1.0 - 1.0 / most);
    let line = json!({"case": "threads", "gain_of_two": gain, "gain_of_two_simulations": cores,
        "serial_share": share(cores), "by_amdahl": share(2.0)});
    println!("{line}");
}

/// A block of so many million particles, eight a cell, in a domain of 256 cubed cells of 20 mm.
fn particles(millions: usize, threads: usize, frames: usize) {
    let cells = (millions as f64 * 125e3).cbrt().round();
    let side = 0.02 * cells;
    for transfer in ["flip", "apic"] {
        let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 24, "simulator": {"transfer": transfer},
            "domain": {"min": [0, 0, 0], "max": [5.12, 5.12, 5.12]}, "resolution": {"cell": 0.02},
            "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [side, side, side]}}}]});
        let before = HELD.load(Relaxed);
        let mut sim = simulation(&scene, threads);
        let (mut seconds, mut substeps) = (0.0, 0);
        PEAK.store(HELD.load(Relaxed), Relaxed);
        for _ in 0..frames {
            let report = sim.advance_frame(&mut |_| false).expect("a frame");
            (seconds, substeps) = (seconds + report.seconds, substeps + report.substeps);
        }
        let held = (HELD.load(Relaxed) - before) as f64;
        let (most, count) = ((PEAK.load(Relaxed) - before) as f64, sim.particles().len() as f64);
        let arrays = sim.particles().bytes() as f64;
        let line = json!({"case": "particles", "transfer": transfer, "particles": count, "threads": threads,
            "seconds_a_frame": seconds / frames as f64, "substeps": substeps,
            "nanoseconds_a_particle_and_substep": 1e9 * seconds / (count * substeps as f64),
            "gigabytes_between_frames": held / 1e9, "gigabytes_at_most": most / 1e9,
            "bytes_a_particle_between_frames": held / count, "bytes_a_particle_at_most": most / count,
            "bytes_of_both_states_of_a_particle": 2.0 * arrays / count, "peak_megabytes": peak_megabytes()});
        println!("{line}");
    }
}

fn tank(kind: &str, divisions: usize, threads: usize, frames: usize, viscosity: f64) {
    let simulator = match kind {
        "tank" => json!({"cfl": 4, "substeps_max": 4, "narrow_band": 3}),
        _ => json!({}),
    };
    let mut scene = tank_with(simulator, divisions);
    if viscosity > 0.0 {
        scene["liquids"] = json!([{"density": 1000, "viscosity": 1000.0 * viscosity}]);
    }
    measure(kind, divisions, &scene, threads, frames);
}

fn tank_with(simulator: Value, divisions: usize) -> Value {
    json!({"meniscus": 1, "frames": [1, 1000], "fps": 24, "simulator": simulator,
        "domain": {"min": [-1, 0, -0.5], "max": [1, 1, 0.5]}, "resolution": {"divisions": divisions},
        "initial": [{"shape": {"box": {"min": [-0.98, 0.02, -0.48], "max": [-0.2, 0.7, 0.48]}}}]})
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

/// Run some frames, print what they cost, and return the seconds of all.
fn measure(kind: &str, divisions: usize, scene: &Value, threads: usize, frames: usize) -> f64 {
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
        "liquid_cells": last.liquid_cells, "tiles": last.tiles, "vertices": vertices, "volume_error": worst,
        "megabytes": last.memory_bytes as f64 / 1e6});
    println!("{line}");
    seconds + surface
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
