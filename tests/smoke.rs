//! Smoke: air without a free surface that carries density and heat.

mod scene_support;

use meniscus::math::Vec3;
use meniscus::simulation::Simulation;
use scene_support::*;

const G: f64 = 9.81;

fn carried(sim: &Simulation, name: &str) -> Vec<f32> {
    let all = sim.particle_attributes();
    all.iter().find(|a| a.name == name).expect(name).data.clone()
}

/// Where the middle of the smoke is.
fn middle(sim: &Simulation) -> Vec3 {
    let density = carried(sim, "density");
    let sum: f64 = density.iter().map(|d| f64::from(*d)).sum();
    let at = sim.particles().position.iter().zip(&density).map(|(x, d)| x * f64::from(*d));
    at.fold(Vec3::zeros(), |s, x| s + x) / sum
}

fn ball(smoke: &str, attributes: &str) -> Simulation {
    simulation(&format!(
        r#"{{"meniscus": 1, "frames": [1, 48], "fps": 48, "domain": {{"min": [-0.7,-0.7,-0.7], "max": [0.7, 0.7, 0.7]}},
            "resolution": {{"cell": 0.05}}, "smoke": {smoke}, "liquids": [{{"density": 1.2}}],
            "initial": [{{"shape": {{"sphere": {{"center": [0, 0, 0], "radius": 0.3}}}},
                "attributes": {attributes}}}]}}"#
    ))
}

#[test]
fn air_of_one_temperature_stays_still() {
    // Heat everywhere is balanced by the pressure, and so is smoke that weighs nothing.
    let mut sim = ball(r#"{"lift": 0}"#, r#"{"density": 1, "temperature": 100}"#);
    let end = run(&mut sim, 4);
    assert!(end.max_speed < 1e-5 * (G * 1.0f64).sqrt(), "{} m/s", end.max_speed);
    assert_eq!(end.liquid_cells, sim.report().liquid_cells);
}

#[test]
fn a_warm_ball_rises_and_a_heavy_one_sinks_as_bodies_of_their_weight_would() {
    // A sphere that is lighter by the share s accelerates by s g/(1 + ½) in air without end: the added mass of a ball
    // is half of what it displaces. Particles move with the velocity of the step before, so that n steps go (n − 1)/n
    // as far. A closed box takes back the share of the ball in its volume, 4 %, and the mean of a cell blurs the
    // surface of a ball of six cells in radius over a cell, which takes a sixth of the push at most.
    for (smoke, attributes, share) in [
        (r#"{"lift": 0.003}"#, r#"{"density": 1, "temperature": 30}"#, 0.09),
        (r#"{"weight": 0.09}"#, r#"{"density": 1}"#, -0.09),
    ] {
        // What takes crowds of particles apart shifts them as well, by some hundredths of a cell, in still air too.
        let mut steps = 0.0;
        let [rise, settling] = [smoke, r#"{"lift": 0}"#].map(|smoke| {
            let mut sim = ball(smoke, attributes);
            let start = middle(&sim);
            steps = (0..6).map(|_| run(&mut sim, 1).substeps).sum::<u32>() as f64;
            middle(&sim) - start
        });
        let (rise, seconds) = (rise - settling, 6.0 / 48.0);
        let exact = 0.5 * share * G / 1.5 * seconds * seconds * (1.0 - 1.0 / steps);
        println!("rise {rise:?} of {exact}, settling {settling:?}");
        assert!(rise.y / exact > 0.96 * 5.0 / 6.0 && rise.y / exact < 1.0, "{} instead of {exact} m", rise.y);
        assert!(rise.x.abs() < 0.02 * exact.abs() && rise.z.abs() < 0.02 * exact.abs(), "{rise:?}");
    }
}

#[test]
fn smoke_is_carried_and_fades_as_asked() {
    let mut sim = ball(r#"{"fading": 0.5, "cooling": 0.25}"#, r#"{"density": 2, "temperature": 30}"#);
    let sums = |sim: &Simulation| {
        ["density", "temperature"].map(|n| carried(sim, n).iter().map(|v| f64::from(*v)).sum::<f64>())
    };
    let before = sums(&sim);
    run(&mut sim, 6);
    let after = sums(&sim);
    // Numbers on particles do not spread: what is left is exp(−t/τ) to the rounding of f32.
    for (n, tau) in [0.5f64, 0.25].into_iter().enumerate() {
        let exact = (-0.125 / tau).exp();
        assert!(
            (after[n] / before[n] / exact - 1.0).abs() < 1e-5,
            "{} instead of {exact}",
            after[n] / before[n]
        );
    }
}

#[test]
fn a_source_colours_air_and_a_saved_run_goes_on_bit_for_bit() {
    let json = r#"{"meniscus": 1, "frames": [1, 48], "domain": {"min": [0,0,0], "max": [0.5, 1, 0.5]},
        "resolution": {"cell": 0.0625}, "smoke": {"cooling": 2},
        "emitters": [{"shape": {"sphere": {"center": [0.25, 0.15, 0.25], "radius": 0.1}},
            "velocity": [0, 0.2, 0], "attributes": {"density": 1, "temperature": 80}}],
        "bodies": [{"shape": {"box": {"min": [0.15, 0.55, 0.2], "max": [0.35, 0.6, 0.3]}}, "density": 5,
            "joint": {"hinge": {"point": [0.25, 0.575, 0.25], "axis": [0, 0, 1]}}}]}"#;
    let mut one = on_threads(json, 1);
    run(&mut one, 3);
    let smoke: f64 = carried(&one, "density").iter().map(|v| f64::from(*v)).sum();
    assert!(smoke > 100.0 && middle(&one).y > 0.15, "{smoke} at {:?}", middle(&one));
    let saved = one.save();
    run(&mut one, 2);
    let mut other = on_threads(json, 2);
    other.load(&saved).expect("the state");
    run(&mut other, 2);
    assert!(one.save() == other.save());
}

#[test]
fn smoke_without_walls_is_refused() {
    let scene = |domain: &str| {
        let json = format!(
            r#"{{"meniscus": 1, "resolution": {{"cell": 0.1}}, "smoke": {{}}, {domain} "frames": [1, 2]}}"#
        );
        let scene = meniscus::scene::Scene::from_json(&json).expect("a scene");
        Simulation::supports(&scene).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(scene("").contains("domain"));
    let open = r#""domain": {"min": [0,0,0], "max": [1,1,1], "sides": {"y_max": "open"}},"#;
    assert!(scene(open).contains("closed"));
    assert!(scene(r#""domain": {"min": [0,0,0], "max": [1,1,1]},"#).is_empty());
}
