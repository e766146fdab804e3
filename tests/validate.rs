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
fn a_jet_falls_as_fast_on_any_grid() {
    assert_passes("pour");
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
