//! Pictures of a small cache on disk, whole and broken.

use super::super::{PreviewArgs, main};
use super::shapes;
use clap::Parser;
use meniscus::Cancel;
use meniscus::geometry::TriMesh;
use meniscus::io::cache::CacheWriter;
use meniscus::math::Vec3;
use meniscus::scene::{Look, Scene};
use std::path::{Path, PathBuf};

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    preview: PreviewArgs,
}

fn preview(cache: &Path, words: &[&str]) -> Result<(), String> {
    let path = cache.display().to_string();
    let small = ["--size", "96x54", "--quality", "draft"];
    let defaults = small.chunks(2).filter(|option| !words.contains(&option[0])).flatten();
    let line = ["preview", &path].into_iter().chain(defaults.copied()).chain(words.iter().copied());
    let words = Words::try_parse_from(line).map_err(|e| e.to_string())?;
    main(&words.preview, &Cancel::new()).map_err(|e| e.to_string())
}

/// A cache of six frames: a ball of liquid that falls beside a turning glass box; frame 1 is empty.
fn cache(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("meniscus_preview_{name}_{}", std::process::id()));
    let text = r#"{"meniscus": 1, "name": "drop", "resolution": {"cell": 0.01},
        "initial": [{"shape": {"sphere": {"radius": 0.1}}}]}"#;
    let scene = Scene::from_json(text).unwrap();
    let mut writer = CacheWriter::create(&folder, &scene, text, true).unwrap();
    let cuboid = shapes::cuboid(&Vec3::new(0.2, 0.0, -0.1), &Vec3::new(0.4, 0.2, 0.1));
    writer.write_collider("box", Look::Glass, false, &cuboid).unwrap();
    for frame in 1..=6 {
        let height = 0.6 - 0.08 * frame as f64;
        let ball = shapes::sphere(&Vec3::new(0.0, height, 0.0), 0.1, 24);
        let surface = if frame == 1 { TriMesh::default() } else { ball };
        writer.write_surface(frame, &surface).unwrap();
        let (s, c) = (0.1 * frame as f64).sin_cos();
        let report = serde_json::json!({"time": frame as f64 / 24.0, "litres": 4.1, "litres_expected": 4.19,
            "colliders": [{"name": "box", "translate": [0.0, 0.0, 0.0],
                "rotate_quaternion_wxyz": [c, 0.0, s, 0.0], "mesh_changed": false}]});
        writer.finish_frame(frame, &report).unwrap();
    }
    folder
}

#[test]
fn a_cache_becomes_pictures_a_sheet_and_an_animation() {
    let folder = cache("whole");
    preview(&folder, &[]).unwrap();
    let sheet = folder.join("preview/contact.png");
    assert!(sheet.exists() && !folder.join("preview/0001.png").exists());
    let out = folder.join("out");
    let words = ["--stills", "--animation", "--no-contact-sheet", "--frames", "2-5", "--every", "2", "-o"];
    preview(&folder, &[&words[..], &[out.to_str().unwrap()]].concat()).unwrap();
    for (file, there) in [
        ("0002.png", true),
        ("0003.png", false),
        ("0004.png", true),
        ("animation.png", true),
        ("contact.png", false),
    ] {
        assert_eq!(out.join(file).exists(), there, "{file}");
    }
    preview(&folder, &["--shade", "speed", "--camera", "-1,1,1,0,0.2,0", "--frames", "3"]).unwrap();
    preview(&folder, &["--shade", "clay", "--orthographic", "0.9", "--no-ground", "--frames", "3"]).unwrap();
    preview(&folder, &["--camera-from", folder.to_str().unwrap(), "--ground", "-0.1", "--frames", "3"])
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_missing_or_broken_file_is_named() {
    let folder = cache("broken");
    std::fs::write(folder.join("surface/0003.ply"), "ply\nformat binary_little_endian 1.0\nelement ver")
        .unwrap();
    let error = preview(&folder, &["--frames", "3"]).unwrap_err();
    assert!(error.contains("surface/0003.ply"), "{error}");
    std::fs::remove_file(folder.join("surface/0003.ply")).unwrap();
    let error = preview(&folder, &["--frames", "3"]).unwrap_err();
    assert!(error.contains("surface/0003.ply"), "{error}");
    std::fs::remove_file(folder.join("colliders/box.ply")).unwrap();
    let error = preview(&folder, &[]).unwrap_err();
    assert!(error.contains("box.ply"), "{error}");
    std::fs::write(folder.join("manifest.json"), "{").unwrap();
    let error = preview(&folder, &[]).unwrap_err();
    assert!(error.contains("manifest.json"), "{error}");
    let error = preview(Path::new("no/such/cache"), &[]).unwrap_err();
    assert!(error.contains("no/such/cache"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_options_are_explained() {
    let folder = cache("options");
    let cases: [(&[&str], &str); 8] = [
        (&["--frames", "7-9"], "1 to 6"),
        (&["--frames", "x"], "1-48"),
        (&["--size", "0x5"], "960x540"),
        (&["--camera", "1,2,3"], "ex,ey,ez"),
        (&["--ground", "nan"], "finite"),
        (&["--top-speed", "0"], "more than 0"),
        (&["--orthographic", "0"], "orthographic"),
        (&["--quality", "superb"], "best"),
    ];
    for (words, expected) in cases {
        let error = preview(&folder, words).unwrap_err();
        assert!(error.contains(expected), "{words:?}: {error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
