//! A sea beyond the sides: rest stays rest, waves that meet a side are gone, waves of the sea come in.

mod scene_support;

use meniscus::simulation::Simulation;
use scene_support::*;

/// A tank 2 m long, 0.3 m deep and one cell wide, with a surface that starts as told.
fn tank(surface: &str, more: &str) -> Simulation {
    simulation(&format!(
        r#"{{"meniscus": 1, "frames": [0, 400], "fps": 50, "domain": {{"min": [0,0,0], "max": [2, 0.45, 0.02]}},
            "resolution": {{"cell": 0.02}}, "liquids": [{{"name": "water"}}],
            "initial": [{surface}] {more}}}"#
    ))
}

const LEVEL: &str = r#"{"shape": {"box": {"min": [0,0,0], "max": [2, 0.301, 0.02]}}}"#;
const BOTH_ENDS: &str = r#", "water_line": {"height": 0.301, "sides": ["x_min", "x_max"], "width": 0.5}"#;

/// Energy of motion, m⁵/s².
fn motion(sim: &Simulation) -> f64 {
    let p = sim.particles();
    p.velocity.iter().zip(&p.volume).map(|(v, volume)| 0.5 * *volume as f64 * v.norm_squared()).sum()
}

/// Height of the surface at x: the volume in a column over its area.
fn level(sim: &Simulation, x: f64) -> f64 {
    let (p, half) = (sim.particles(), 0.03);
    let inside = p.position.iter().zip(&p.volume).filter(|(at, _)| (at.x - x).abs() < half);
    inside.map(|(_, volume)| *volume as f64).sum::<f64>() / (2.0 * half * 0.02)
}

#[test]
fn a_sea_at_rest_stays_at_rest() {
    let mut sim = tank(LEVEL, BOTH_ENDS);
    let start = sim.report();
    let end = run(&mut sim, 20);
    // Nothing is led that does not move, so only the tolerance of the pressure solve is left, as in any flat pool.
    assert!(end.max_speed < 1e-5 * (9.81f64 * 0.3).sqrt(), "{}", end.max_speed);
    assert_eq!(end.litres_expected, start.litres_expected);
}

#[test]
fn a_wave_that_meets_the_side_is_gone() {
    let hump = r#"{"shape": {"box": {"min": [0,0,0], "max": [2, 0.301, 0.02]}}},
        {"shape": {"box": {"min": [0.85,0.25,0], "max": [1.15, 0.36, 0.02]}}}"#;
    let (mut sea, mut closed) = (tank(hump, BOTH_ENDS), tank(hump, ""));
    // What is slowest of the hump, waves of twice its width, runs at √(g/k tanh kd) = 0.97 m/s: to the side and back takes 2 s.
    run(&mut sea, 110);
    run(&mut closed, 110);
    // Motion and height take turns; the mean over half a second counts both.
    let mean = |sim: &mut Simulation| (0..25).map(|_| (run(sim, 1), motion(sim)).1).sum::<f64>() / 25.0;
    let (left, kept) = (mean(&mut sea), mean(&mut closed));
    assert!(left < 0.05 * kept, "{left} of {kept}");
    // The hump has spread: 0.3 m of 59 mm over 2 m of tank is 9 mm more, and the tank is level to a quarter of a cell.
    for x in [0.1, 1.0, 1.9] {
        assert!((level(&sea, x) - 0.310).abs() < 0.005, "{} at {x}", level(&sea, x));
    }
}

#[test]
fn a_wave_of_the_sea_comes_in_with_its_height() {
    let waves = r#", "water_line": {"height": 0.301, "sides": ["x_min", "x_max"], "width": 0.6,
        "waves": [{"height": 0.03, "length": 0.8}]}"#;
    let mut sim = tank(LEVEL, waves);
    // A period is 2π/√(gk tanh kd) = 0.72 s, 36 frames; look at two after four, at places over three quarters of a wave.
    run(&mut sim, 144);
    let places = [0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3];
    let mut levels = vec![Vec::new(); places.len()];
    for _ in 0..72 {
        run(&mut sim, 1);
        places.iter().zip(&mut levels).for_each(|(x, levels)| levels.push(level(&sim, *x)));
    }
    let mean = |l: &[f64]| l.iter().sum::<f64>() / l.len() as f64;
    // Of a wave of the height H the mean square is H²/8.
    let height = |l: &Vec<f64>| {
        let squares: Vec<f64> = l.iter().map(|v| (v - mean(l)).powi(2)).collect();
        (8.0 * mean(&squares)).sqrt()
    };
    let heights: Vec<f64> = levels.iter().map(height).collect();
    assert!((mean(&heights) / 0.03 - 1.0).abs() < 0.2, "{heights:?}");
    // Nowhere do waves from the sides cancel: it is one wave that runs through.
    assert!(heights.iter().all(|h| (h / 0.03 - 1.0).abs() < 0.4), "{heights:?}");
    // No water is given or taken, so that the level is that of the start to a quarter of a cell.
    assert!(levels.iter().all(|l| (mean(l) - 0.301).abs() < 0.005), "{levels:?}");
}
