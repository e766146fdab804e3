//! A frame that is stopped on its way ends, later, where it would have ended; a saved state that is damaged is
//! refused; a solve that fails leaves the last good state.

mod state_support;

use meniscus::Error;
use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation, state};

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

/// Seconds of work of this process, in hundredths.
fn work() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> = after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// A request to stop is heard in a quarter of a second, whenever in a substep it comes. One thread is the slowest to hear
/// it, and its work is what an idle machine takes; other programs do not count. MENISCUS_STOP_DIVISIONS=128 is the
/// long form.
#[test]
fn a_request_to_stop_is_heard_soon() {
    let divisions: u32 =
        std::env::var("MENISCUS_STOP_DIVISIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    for more in ["", r#", "liquids": [{"name": "honey", "density": 1400, "viscosity": 10}]"#] {
        let json = format!(
            r#"{{"meniscus": 1, "frames": [1, 9], "domain": {{"min": [0, 0, 0], "max": [1, 1, 1]}},
            "resolution": {{"divisions": {divisions}}}{more},
            "initial": [{{"shape": {{"box": {{"min": [0, 0, 0], "max": [0.5, 0.5, 1]}}}}}}]}}"#
        );
        let scene = Scene::from_json(&json).unwrap();
        let settings = Settings { threads: Some(1), ..Settings::default() };
        let mut simulation = Simulation::new(&scene, &|_| unreachable!("no meshes"), &settings).unwrap();
        let cancel = simulation.cancel_flag();
        let begin = std::time::Instant::now();
        let first = simulation.advance_frame(&mut |p| p.substeps > 0);
        let substep = begin.elapsed();
        let (mut slowest, mut heard) = (0.0f64, u32::from(first.is_err()));
        for round in 0..12 {
            std::thread::scope(|scope| {
                let asked = scope.spawn(|| {
                    std::thread::sleep(substep.mul_f64(0.02 + 0.08 * f64::from(round)));
                    let asked = work();
                    cancel.cancel();
                    asked
                });
                let ended = simulation.advance_frame(&mut |p| p.substeps > 1);
                let now = work();
                let asked = asked.join().unwrap();
                if ended == Err(Error::Cancelled) && asked <= now {
                    (slowest, heard) = (slowest.max(now - asked), heard + 1);
                }
            });
        }
        println!(
            "{divisions} divisions{more}: {heard} requests, a substep {substep:.2?}, the slowest {slowest} s"
        );
        assert!(heard > 3, "only {heard} of 13 requests came in time to be heard");
        // Hundredths are counted at both ends.
        assert!(slowest <= 0.25 + 0.02, "{slowest} s");
    }
}

#[test]
fn every_damage_of_a_checkpoint_is_refused() {
    let json = r#"{"meniscus": 1, "frames": [1, 9], "domain": {"min": [0, 0, 0], "max": [0.2, 0.2, 0.2]},
        "resolution": {"divisions": 8}, "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.1, 0.1, 0.2]}}}]}"#;
    let scene = Scene::from_json(json).unwrap();
    let mut simulation =
        Simulation::new(&scene, &|_| unreachable!("no meshes"), &Settings::default()).unwrap();
    simulation.advance_frame(&mut |_| false).unwrap();
    let saved = simulation.save();
    assert!(state::check(&saved).is_ok());
    // Behind the last array that is read stands the sum over everything, for those who read none.
    let sum = saved.len() - (4 + 3 + 8 + 4 + 4);
    let mut damages = 0;
    let mut damaged = |bytes: &[u8], first: usize| {
        damages += 1;
        assert!(state::check(bytes).is_err(), "damage at byte {first} was not noticed");
        assert_eq!(simulation.load(bytes).is_err(), first < sum, "damage at byte {first}");
    };
    for end in 0..4096.min(saved.len()) {
        damaged(&saved[..end], end);
    }
    let mut random = 88_172_645_463_325_252u64;
    let mut place = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % saved.len()
    };
    for _ in 0..1000 {
        let (at, mut bytes) = (place(), saved.clone());
        bytes[at] ^= 1 << (at % 8);
        damaged(&bytes, at);
    }
    for _ in 0..50 {
        let (at, mut bytes) = (place(), saved.clone());
        let end = (at + 512).min(bytes.len());
        let first = bytes[at..end].iter().position(|b| *b != 0).map(|k| at + k);
        bytes[at..end].fill(0);
        if let Some(first) = first {
            damaged(&bytes, first);
        }
    }
    assert!(damages >= 5000);
    assert_eq!(simulation.save(), saved, "refused states left it as it was");
}

#[test]
fn a_solve_that_cannot_converge_is_tried_in_shorter_steps_and_leaves_the_last_good_state() {
    // A column of 240 cells has a condition of some 10⁴, so rounding alone leaves more than the 10⁻¹⁴ that are asked for:
    // the solve cannot converge, however short the step.
    let json = r#"{"meniscus": 1, "frames": [1, 9], "domain": {"min": [0, 0, 0], "max": [0.08, 3.0, 0.08]},
        "resolution": {"cell": 0.01}, "simulator": {"pressure_tolerance": 1e-14},
        "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.08, 2.4, 0.08]}}, "velocity": [0.3, 0, 0.1]}]}"#;
    let scene = Scene::from_json(json).unwrap();
    let mut simulation =
        Simulation::new(&scene, &|_| unreachable!("no meshes"), &Settings::default()).unwrap();
    let before = simulation.save();
    let error = simulation.advance_frame(&mut |_| false).unwrap_err();
    let Error::Diverged { message, .. } = &error else { panic!("{error:?}") };
    for part in ["frame 2", "in substep", "residual", "s down to"] {
        assert!(message.contains(part), "{message}");
    }
    println!("{error}");
    assert_eq!(simulation.frame(), 1);
    // The clock of the unfinished frame is kept as well; the liquid is what it was.
    let after = simulation.save();
    simulation.load(&before).unwrap();
    assert_eq!(simulation.save(), before);
    simulation.load(&after).unwrap();
    assert_eq!(simulation.save(), after, "and what had been done of the frame can be saved too");
}

/// A number that is none, put into a sound state, whose sums are made right.
#[test]
fn a_number_that_is_none_is_found_with_its_cell_and_the_last_good_state_can_be_saved() {
    for (kind, array) in [("mac", "particle velocity"), ("bcc", "velocity")] {
        let json = format!(
            r#"{{"meniscus": 1, "frames": [1, 9], "domain": {{"min": [0, 0, 0], "max": [0.2, 0.2, 0.2]}},
            "resolution": {{"divisions": 8}}, "simulator": {{"type": "{kind}", "detail": 2}},
            "initial": [{{"shape": {{"box": {{"min": [0, 0, 0], "max": [0.1, 0.1, 0.2]}}}}}}]}}"#
        );
        let scene = Scene::from_json(&json).unwrap();
        let mut simulation =
            Simulation::new(&scene, &|_| unreachable!("no meshes"), &Settings::default()).unwrap();
        simulation.advance_frame(&mut |_| false).unwrap();
        let good = simulation.save();
        // The fastest of all surely is liquid.
        let speeds = state_support::numbers(&good, array);
        let fastest = (0..speeds.len()).fold(0, |a, b| if speeds[b].abs() > speeds[a].abs() { b } else { a });
        let bad = state_support::with_number(&good, array, fastest, f64::NAN);
        assert!(state::check(&bad).is_ok(), "the sums are right");
        simulation.load(&bad).unwrap();
        let error = simulation.advance_frame(&mut |_| false).unwrap_err();
        println!("{kind}: {error}");
        let Error::Diverged { message, .. } = &error else { panic!("{error:?}") };
        for part in ["cell", "frame 3", "in substep 1", "s down to"] {
            assert!(message.contains(part), "{kind}: {message}");
        }
        assert_eq!(simulation.frame(), 2);
        assert!(state::check(&simulation.save()).is_ok(), "what there is can be saved");
        simulation.load(&good).unwrap();
        assert_eq!(simulation.save(), good);
        simulation.advance_frame(&mut |_| false).unwrap();
    }
}
