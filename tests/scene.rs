//! A scene is read whole or refused with its path and the fix.

use meniscus::scene::{Fps, Keyed, Resolution, Scene, Severity};

const SMALL: &str = r#"{
    "meniscus": 1,
    "domain": {"min": [0, 0, 0], "max": [1, 1, 1]},
    "resolution": {"divisions": 32},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.5, 0.5, 1]}}}]
}"#;

fn refusal(text: &str) -> String {
    Scene::from_json(text).expect_err("this scene is wrong").to_string()
}

/// The small scene with one more line.
fn with(line: &str) -> String {
    SMALL.replacen("\"meniscus\": 1,", &format!("\"meniscus\": 1, {line},"), 1)
}

#[test]
fn a_small_scene_has_sensible_defaults() {
    let scene = Scene::from_json(SMALL).expect("a good scene");
    assert_eq!(scene.frames, [1, 48]);
    assert_eq!(scene.fps, Fps { numerator: 24, denominator: 1 });
    assert_eq!(scene.cell(), 1.0 / 32.0);
    assert_eq!(scene.gravity.at(1.0), [0.0, -9.81, 0.0]);
    assert_eq!(scene.initial[0].name, "initial_1");
    assert!(scene.preflight().is_empty(), "{:?}", scene.preflight());
}

#[test]
fn a_scene_survives_writing_and_reading() {
    let text = with(
        r#""liquids": [{"name": "honey", "preset": "honey_20c", "viscosity": {"keys": [[1, 5], [20, 50]]}}],
           "fps": "24000/1001",
           "emitters": [{"name": "tap", "liquid": "honey", "parent": "spoon", "rate_ml_s": 5, "total_ml": 30,
                         "active": {"keys": [[1, true], [40, false]]},
                         "shape": {"cylinder": {"from": [0.5, 0.9, 0.5], "to": [0.5, 0.95, 0.5], "radius": 0.01}}}],
           "colliders": [{"name": "spoon", "shape": {"capsule": {"from": [0,0,0], "to": [0.1,0,0], "radius": 0.01}},
                          "transform": {"translate": {"keys": [[1, [0.5, 0.8, 0.5]], [48, [0.5, 0.4, 0.5]]]}},
                          "wall": "stick", "look": "glass"}],
           "bodies": [{"name": "cork", "density": 240, "shape": {"sphere": {"radius": 0.02}}}],
           "forces": [{"vortex": {"strength": 3, "radius": 0.2}}]"#,
    );
    let scene = Scene::from_json(&text).expect("a good scene");
    let again = Scene::from_json(&scene.to_json().expect("text")).expect("its own text");
    assert_eq!(scene, again);
    assert_eq!(scene.fps.to_string(), "24000/1001");
    assert_eq!(scene.liquids[0].viscosity().at(10.5), 27.5);
}

#[test]
fn an_unknown_key_names_its_path_and_the_nearest_key() {
    let message = refusal(&with(r#""liquids": [{}, {"viscsity": 3}]"#));
    for part in ["liquids[1].viscsity", "unknown key", "did you mean \"viscosity\"?", "density"] {
        assert!(message.contains(part), "{message}");
    }
    let message = refusal(&with(r#""colliders": [{"shape": {"sphere": {"radus": 3}}}]"#));
    assert!(
        message.contains("colliders[0].shape.sphere.radus") && message.contains("\"radius\""),
        "{message}"
    );
    let message = refusal(&with(r#""time_scale": {"kes": []}"#));
    assert!(message.contains("time_scale.kes") && message.contains("\"keys\""), "{message}");
}

#[test]
fn a_bad_value_says_what_is_allowed() {
    for (line, parts) in [
        (r#""simulator": {"transfer": "flp"}"#, ["simulator.transfer", "did you mean \"flip\"?", "apic"]),
        (r#""simulator": {"flip_blend": 1.5}"#, ["simulator.flip_blend", "1.5", "from 0 to 1"]),
        (r#""fps": 23.976"#, ["fps", "exact", "24000/1001"]),
        (r#""gravity": 9.81"#, ["gravity", "invalid", "line 2"]),
        (r#""frames": [20, 10]"#, ["frames", "10", "before the first"]),
        (r#""liquids": [{"preset": "honey"}]"#, ["liquids[0].preset", "no preset", "honey_20c"]),
        (
            r#""emitters": [{"parent": "jg", "shape": {"sphere": {"radius": 0.1}}}], "colliders": [{"name": "jug", "shape": {"plane": {}}}]"#,
            ["emitters[0].parent", "jug", "did you mean"],
        ),
        (
            r#""time_scale": {"keys": [[5, 1], [2, 1]]}"#,
            ["time_scale.keys[1]", "frame 2 follows frame 5", "rise"],
        ),
        (r#""time_scale": {"keys": []}"#, ["time_scale.keys", "empty", "at least one"]),
        (r#""bodies": [{"shape": {"sphere": {"radius": 1}}}]"#, ["bodies[0]", "density", "mass"]),
        (
            r#""colliders": [{"name": "../up", "shape": {"plane": {}}}]"#,
            ["colliders[0].name", "../up", "file"],
        ),
        (
            r#""colliders": [{"name": "a", "shape": {"plane": {}}}, {"name": "a", "shape": {"plane": {}}}]"#,
            ["colliders[1].name", "another", "\"a\""],
        ),
        (r#""initial": []"#, ["initial", "twice", "key"]),
        (r#""name": "a\u001b[2J""#, ["name", "control", "not allowed"]),
        (
            r#""emitters": [{"name": "tap", "shape": {"sphere": {"center": [5, 0, 0], "radius": 0.1}}}]"#,
            ["emitters[0]", "\"tap\" lies outside the domain", "enlarge"],
        ),
    ] {
        let message = refusal(&with(line));
        for part in parts {
            assert!(message.contains(part), "{line}\ngave: {message}\nwithout: {part}");
        }
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused_everywhere() {
    for number in ["NaN", "Infinity", "-inf", "1e999", "null"] {
        for line in [r#""unit_length": X"#, r#""gravity": [0, X, 0]"#, r#""time_scale": {"keys": [[X, 1]]}"#]
        {
            let message = refusal(&with(&line.replace('X', number)));
            assert!(message.starts_with("scene: "), "{number}: {message}");
        }
    }
    let nan = f64::NAN;
    let good = Scene::from_json(SMALL).expect("a good scene");
    assert!(Scene { unit_length: nan, ..good.clone() }.validate().is_err());
    assert!(Scene { gravity: [0.0, nan, 0.0].into(), ..good.clone() }.validate().is_err());
    assert!(Scene { resolution: Resolution::Cell(nan), ..good.clone() }.validate().is_err());
    assert!(Scene { time_scale: Keyed::Keys(vec![(nan, 1.0)]), ..good }.validate().is_err());
}

#[test]
fn absurd_sizes_are_refused_at_once() {
    let begin = std::time::Instant::now();
    assert!(refusal(&SMALL.replace("32", "1000000000")).contains("resolution"));
    assert!(refusal(&SMALL.replace(r#"{"divisions": 32}"#, r#"{"cell": 1e-8}"#)).contains("resolution"));
    let deep = format!("{{\"meniscus\": 1, \"name\": {}", "[".repeat(1_000_000));
    assert!(Scene::from_json(&deep).is_err());
    let deep = format!("{{\"meniscus\": 1, \"gravity\": {}", "{\"keys\":".repeat(1_000_000));
    assert!(Scene::from_json(&deep).is_err());
    let long = format!("{{\"meniscus\": 1, \"name\": \"{}\"}}", "x".repeat(17 << 20));
    assert!(refusal(&long).contains("16 MB"));
    // Generous for a loaded machine; each takes a few milliseconds.
    assert!(begin.elapsed().as_secs_f64() < 2.0);
}

#[test]
fn every_truncation_of_a_scene_is_refused() {
    for end in 0..SMALL.len() {
        assert!(Scene::from_json(&SMALL[..end]).is_err(), "{end}");
    }
    assert!(refusal(&format!("{SMALL} x")).contains("file"));
}

#[test]
fn messages_carry_no_terminal_codes() {
    for text in [
        "{\"meniscus\": 1, \"\x1b[31mred\": 2}",
        "{\"meniscus\": 1, \"\\u001b[31mred\": 2}",
        "\x1b]0;title\x07",
    ] {
        let message = refusal(text);
        assert!(message.chars().all(|c| !c.is_control()), "{message:?}");
    }
}

#[test]
fn a_newer_scene_says_its_version() {
    let message = refusal(r#"{"meniscus": 2, "hologram": true}"#);
    assert!(message.contains("version 2") && message.contains("version 1"), "{message}");
    assert!(refusal("{}").contains("\"meniscus\" is missing"));
}

#[test]
fn scene_units_become_metres_once() {
    let text = SMALL
        .replace("[1, 1, 1]", "[100, 100, 100]")
        .replace("[0.5, 0.5, 1]", "[50, 50, 100]")
        .replacen("\"meniscus\": 1,", "\"meniscus\": 1, \"unit_length\": 0.01,", 1);
    let si = Scene::from_json(&text).expect("a scene in centimetres").to_si();
    let metres = Scene::from_json(SMALL).expect("a good scene");
    assert_eq!(si, metres);
    assert_eq!(si.to_si(), si);
}

#[test]
fn slow_motion_stretches_time() {
    let scene =
        Scene::from_json(&with(r#""time_scale": {"keys": [[1, 1], [25, 1], [49, 0]]}"#)).expect("good");
    assert_eq!(scene.seconds(1.0), 0.0);
    assert_eq!(scene.seconds(25.0), 1.0);
    // A second of film in which the scale falls from 1 to 0.
    assert!((scene.seconds(49.0) - 1.5).abs() < 1e-12);
    assert!((scene.seconds(73.0) - 1.5).abs() < 1e-12);
    assert!((scene.seconds(-23.0) + 1.0).abs() < 1e-12);
}

#[test]
fn preflight_speaks_to_an_artist() {
    let finds = |line: &str, path: &str, part: &str| {
        let scene = Scene::from_json(&with(line)).expect(line);
        let found = scene.preflight();
        assert!(found.iter().any(|f| f.path == path && f.message.contains(part)), "{line}: {found:?}");
        found
    };
    finds(
        r#""colliders": [{"name": "glass", "shape": {"cup": {"radius": 0.1, "height": 0.1, "thickness": 0.002}}}]"#,
        "colliders[0]",
        "2.00 mm thick",
    );
    finds(
        r#""colliders": [{"name": "block", "shape": {"box": {"min": [0, 0, 0], "max": [0.8, 0.8, 1]}}}]"#,
        "initial[0]",
        "inside \"block\"",
    );
    finds(r#""unit_length": 1000"#, "unit_length", "centimetres");
    finds(r#""frames": [7, 7]"#, "frames", "one frame");
    finds(
        r#""colliders": [{"name": "bat", "shape": {"sphere": {"radius": 0.1}}, "transform": {"translate": {"keys": [[1, [0,0,0]], [2, [5,0,0]]]}}}]"#,
        "colliders[0].transform",
        "160 cells in frame 1",
    );
    let nothing =
        Scene::from_json(r#"{"meniscus": 1, "resolution": {"cell": 0.01}}"#).expect("empty but well formed");
    assert_eq!(nothing.preflight()[0].severity, Severity::Error);
    assert!(nothing.preflight()[0].message.contains("nothing pours"));
}

#[test]
fn every_example_scene_is_good() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenes");
    for file in std::fs::read_dir(folder).expect("the example scenes") {
        let file = file.expect("a file").path();
        if file.is_dir() {
            // The models that some of them use.
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("its text");
        let scene = Scene::from_json(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let doubts: Vec<_> = scene.preflight().into_iter().map(|f| f.message).collect();
        assert!(doubts.is_empty(), "{}: {doubts:?}", file.display());
    }
}
