//! The short forms of the cases with known answers; `meniscus validate mac` has them all.

use meniscus::Cancel;
use meniscus::simulation::validation::{Effort, Figure, cases, run};

fn figures(case: &str) -> Vec<Figure> {
    run("mac", case, Effort::Quick, &Cancel::new()).expect("a case that runs")
}

fn assert_passes(case: &str) {
    for f in figures(case) {
        assert!(f.pass, "{}: {} is not {} ± {}", f.name, f.value, f.reference, f.tolerance);
    }
}

#[test]
fn water_in_a_tank_rests() {
    assert_passes("still-tank");
}

#[test]
fn a_ball_of_water_falls_as_a_stone() {
    assert_passes("free-fall");
}

#[test]
fn a_basin_swings_at_its_own_frequency() {
    assert_passes("sloshing");
}

#[test]
fn a_disk_is_drawn_out_into_the_exact_ellipse() {
    assert_passes("elliptical-drop");
}

#[test]
fn a_drop_swings_with_the_frequency_of_rayleigh() {
    assert_passes("swinging-drop");
}

#[test]
fn a_jet_falls_as_fast_on_any_grid() {
    // Each arrival alone is late by the first substep, in which an emitter fills its region.
    let spread = figures("pour").pop().expect("the spread");
    assert!(spread.name == "pour-arrival-spread" && spread.pass, "{spread:?}");
}

#[test]
fn an_unknown_case_is_refused_with_the_known_ones() {
    let error = run("mac", "tsunami", Effort::Quick, &Cancel::new()).expect_err("no such case");
    assert!(error.to_string().contains("sloshing"), "{error}");
    assert!(cases("lattice").is_err());
}

#[test]
fn a_case_can_be_stopped() {
    let stop = Cancel::new();
    stop.cancel();
    let error = run("mac", "sloshing", Effort::Quick, &stop).expect_err("stopped");
    assert!(matches!(error, meniscus::Error::Cancelled), "{error}");
}

#[test]
fn a_volume_starts_with_the_velocity_that_the_scene_gives() {
    let json = r#"{"meniscus": 1, "domain": {"min": [0,0,0], "max": [1,1,1]}, "resolution": {"divisions": 16},
        "initial": [{"shape": {"sphere": {"center": [0.5, 0.6, 0.4], "radius": 0.2}},
            "velocity": [0.1, 0, 0], "angular_velocity": [0, 0, 90],
            "velocity_gradient": [[-2, 0, 0], [0, 2, 0], [0, 3, 0]]}]}"#;
    let scene = meniscus::scene::Scene::from_json(json).expect("a valid scene");
    let settings = meniscus::simulation::Settings::default();
    let sim = meniscus::simulation::Simulation::new(&scene, &|_| unreachable!("no meshes"), &settings);
    let sim = sim.expect("a simulation");
    let turn = std::f64::consts::FRAC_PI_2;
    for (x, v) in sim.particles().position.iter().zip(&sim.particles().velocity) {
        let (dx, dy) = (x.x - 0.5, x.y - 0.6);
        let exact = [0.1 - 2.0 * dx - turn * dy, 2.0 * dy + turn * dx, 3.0 * dy];
        assert!((0..3).all(|a| (v[a] - exact[a]).abs() < 1e-12), "{v:?} is not {exact:?}");
    }
}
