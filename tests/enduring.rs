//! Scenes at the edge of what there is, and scenes that go on for long: each ends well or with a clear error, with
//! finite numbers and no more memory than before.

mod counting;

use counting::HELD;
use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

/// Memory is counted for one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn simulation(json: &str) -> Simulation {
    let scene = Scene::from_json(json).unwrap_or_else(|e| panic!("{e}: {json}"));
    let settings = Settings { threads: Some(2), memory_limit: Some(4 << 30) };
    Simulation::new(&scene, &|_| unreachable!("no meshes"), &settings)
        .unwrap_or_else(|e| panic!("{e}: {json}"))
}

/// Some frames; every number that is reported or drawn is finite.
#[track_caller]
fn goes_well(name: &str, json: &str, frames: usize) -> f64 {
    let mut simulation = simulation(json);
    for _ in 0..frames {
        let report = simulation.advance_frame(&mut |_| false).unwrap_or_else(|e| panic!("{name}: {e}"));
        let surface = simulation.surface().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(surface.positions.iter().all(|x| x.iter().all(|c| c.is_finite())), "{name}");
        let numbers = [report.litres, report.litres_expected, report.max_speed, report.volume_error()];
        assert!(numbers.iter().all(|n| n.is_finite()), "{name}: {numbers:?}");
        let particles = simulation.particles();
        let all = particles.position.iter().chain(&particles.velocity);
        assert!(all.flat_map(|v| v.iter()).all(|c| c.is_finite()), "{name}");
    }
    simulation.report().litres
}

fn scene(kind: &str, rest: &str) -> String {
    format!(
        r#"{{"meniscus": 1, "frames": [1, 9], "simulator": {{"type": "{kind}", "detail": 2}},
        "domain": {{"min": [0, 0, 0], "max": [0.4, 0.4, 0.4]}}, "resolution": {{"divisions": 8}}, {rest}}}"#
    )
}

#[test]
fn next_to_no_liquid_is_no_trouble() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    for kind in ["mac", "bcc"] {
        let drip = r#""emitters": [{"shape": {"sphere": {"center": [0.2, 0.3, 0.2], "radius": 0.06}}, "velocity": [0, -1, 0],
            "active": {"keys": [[1, false], [4, true]]}}]"#;
        let litres = goes_well(&format!("{kind}: empty at first"), &scene(kind, drip), 5);
        assert!(litres > 0.0, "{kind}: what is poured later comes");
        // All of the liquid is inside a solid: none of it is there.
        let buried = r#""initial": [{"shape": {"sphere": {"center": [0.2, 0.2, 0.2], "radius": 0.08}}}],
            "colliders": [{"name": "rock", "shape": {"sphere": {"center": [0.2, 0.2, 0.2], "radius": 0.18}}}]"#;
        let litres = goes_well(&format!("{kind}: all in a solid"), &scene(kind, buried), 3);
        assert!(litres < 0.05, "{kind}: {litres} litres inside a rock");
        let drop = r#""initial": [{"shape": {"box": {"min": [0.2, 0.2, 0.2], "max": [0.25, 0.25, 0.25]}}}]"#;
        goes_well(&format!("{kind}: one cell"), &scene(kind, drop), 4);
        // A gap of a third of a cell between two blocks, with water above it.
        let gap = r#""initial": [{"shape": {"box": {"min": [0, 0.2, 0], "max": [0.4, 0.3, 0.4]}}}],
            "colliders": [
                {"name": "left", "shape": {"box": {"min": [-0.1, -0.1, -0.1], "max": [0.19, 0.2, 0.5]}}},
                {"name": "right", "shape": {"box": {"min": [0.206, -0.1, -0.1], "max": [0.5, 0.2, 0.5]}}}]"#;
        goes_well(&format!("{kind}: a gap thinner than a cell"), &scene(kind, gap), 3);
    }
}

/// A dam of a micrometre and one of a thousand kilometres. Gravity is scaled along, so that each falls a part of its
/// height in a frame; the shape after it must be the same to rounding.
#[test]
fn dams_of_a_micrometre_and_of_a_thousand_kilometres_fall_alike() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    for kind in ["mac", "bcc"] {
        let mut shapes = Vec::new();
        for size in [1.0f64, 1e-6, 1e6] {
            let json = format!(
                r#"{{"meniscus": 1, "frames": [1, 9], "simulator": {{"type": "{kind}", "detail": 2}}, "gravity": [0, {}, 0],
                "liquids": [{{"name": "thin", "density": 1000, "viscosity": 0, "surface_tension": 0}}],
                "domain": {{"min": [0, 0, 0], "max": [{size}, {size}, {size}]}}, "resolution": {{"divisions": 8}},
                "initial": [{{"shape": {{"box": {{"min": [0, 0, 0], "max": [{}, {}, {size}]}}}}}}]}}"#,
                -9.81 * size,
                0.5 * size,
                0.5 * size
            );
            let litres = goes_well(&format!("{kind} at {size} m"), &json, 3);
            shapes.push(litres / (1e3 * size.powi(3)));
        }
        println!("{kind}: {shapes:?}");
        assert!(shapes.iter().all(|s| (s / shapes[0] - 1.0).abs() < 1e-3), "{kind}: {shapes:?}");
    }
}

/// Memory after many steps is that after some; MENISCUS_STEPS says how many, a few hundred when absent.
#[test]
fn many_steps_hold_no_more_than_some() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let steps: u32 = std::env::var("MENISCUS_STEPS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let json = r#"{"meniscus": 1, "frames": [1, 100000], "domain": {"min": [0, 0, 0], "max": [0.4, 0.3, 0.2]},
        "resolution": {"divisions": 10}, "simulator": {"substeps_min": 10},
        "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.2, 0.2, 0.2]}}}]}"#;
    let mut simulation = simulation(json);
    let (mut done, mut some, mut resident) = (0, None, None);
    let resident_now = || -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:").map(str::to_string));
        line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
    };
    while done < steps {
        done += simulation.advance_frame(&mut |_| false).unwrap().substeps;
        // Liquid that still splashes has more tiles at one time than at another; the tenth part is long enough to rest.
        if done >= steps / 10 && some.is_none() {
            some = Some(HELD.load(Relaxed));
            resident = Some(resident_now());
        }
    }
    let (some, many) = (some.unwrap(), HELD.load(Relaxed));
    let grown = (resident_now() as f64 - resident.unwrap() as f64) / 1024.0;
    println!("{done} steps: {some} bytes after a tenth, {many} at the end; resident {grown:+.1} MB");
    assert!(
        many as f64 <= 1.01 * some as f64 || steps < 5000 && many < 2 * some,
        "{some} became {many} bytes"
    );
    // The short form still splashes, and the allocator keeps what its tiles once took.
    assert!(steps < 5000 || grown <= 1.0 + f64::from(done) / 1000.0, "resident memory grew by {grown} MB");
}
