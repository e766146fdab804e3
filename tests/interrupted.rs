//! A frame that is stopped on its way ends, later, where it would have ended.

use meniscus::Error;
use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation};

/// Many substeps, so that a frame takes several looks at the progress.
fn simulation() -> Simulation {
    let json = r#"{"meniscus": 1, "frames": [1, 9], "domain": {"min": [0, 0, 0], "max": [0.5, 0.4, 0.3]},
        "resolution": {"divisions": 20}, "simulator": {"substeps_min": 40},
        "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.2, 0.3, 0.3]}}}]}"#;
    let scene = Scene::from_json(json).unwrap();
    Simulation::new(&scene, &|_| unreachable!("no meshes"), &Settings::default()).unwrap()
}

#[test]
fn a_stopped_frame_goes_on_where_it_was() {
    let mut whole = simulation();
    whole.advance_frame(&mut |_| false).unwrap();
    let mut stopped = simulation();
    let mut stops = 0;
    // Stop at every look that sees another substep done; each time go on, once through a saved state.
    loop {
        let mut seen = None;
        let result = stopped.advance_frame(&mut |p| *seen.get_or_insert(p.substeps) != p.substeps);
        match result {
            Ok(_) => break,
            Err(error) => assert_eq!(error, Error::Cancelled),
        }
        assert_eq!(stopped.frame(), 1);
        stops += 1;
        if stops == 1 {
            let saved = stopped.save();
            stopped = simulation();
            stopped.load(&saved).unwrap();
        }
    }
    assert!(stops > 0, "the frame was too quick to be stopped");
    assert_eq!(stopped.frame(), 2);
    assert_eq!(stopped.particles().position, whole.particles().position);
    assert_eq!(stopped.particles().velocity, whole.particles().velocity);
}
