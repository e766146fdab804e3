//! Files that a scene may name, and those it may not.

use super::*;

fn scene(file: &str) -> String {
    let rock = serde_json::json!([{"name": "rock", "shape": {"mesh": {"file": file}}}]);
    with("\"initial\"", &format!("\"colliders\": {rock}, \"initial\"")).replace("[1, 4]", "[1, 2]")
}

const ROCK: &str = "v .6 0 .4\nv .8 0 .4\nv .7 .2 .5\nv .7 0 .6\nf 1 3 2\nf 2 3 4\nf 1 4 3\nf 1 2 4\n";

/// A scene in a folder, and a rock outside of it.
fn folders(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::create_dir_all(folder.0.join("shot/models")).unwrap();
    fs::create_dir(folder.0.join("library")).unwrap();
    folder.write("library/rock.obj", ROCK);
    folder.write("shot/models/rock.obj", ROCK);
    folder
}

#[test]
fn a_scene_reads_nothing_outside_its_folder() {
    let folder = folders("outside");
    let absolute = folder.0.join("library/rock.obj").display().to_string();
    let mut tricks = vec![
        "../library/rock.obj".to_string(),
        "models/../../library/rock.obj".into(),
        absolute,
        "/dev/zero".into(),
        "/etc/passwd".into(),
        "../library/none.obj".into(),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.0.join("library/rock.obj"), folder.0.join("shot/link.obj"))
            .unwrap();
        std::os::unix::fs::symlink(folder.0.join("library"), folder.0.join("shot/folder")).unwrap();
        tricks.extend(["link.obj".into(), "folder/rock.obj".into()]);
    }
    for file in &tricks {
        folder.write("shot/scene.json", scene(file));
        for word in ["check", "run"] {
            let begin = Instant::now();
            let output = folder.run(&[word, "shot/scene.json"]);
            expect(&output, 2, &["\"rock\"", "leads out of the scene's folder", "--allow-path"]);
            // A second is promised; the rest is for a loaded machine.
            assert!(begin.elapsed() < Duration::from_secs(5), "{file}");
        }
    }
    // A pipe inside the folder would never begin.
    if Command::new("mkfifo").arg(folder.0.join("shot/pipe.obj")).status().is_ok_and(|s| s.success()) {
        folder.write("shot/scene.json", scene("pipe.obj"));
        expect(&folder.run(&["check", "shot/scene.json"]), 2, &["pipe.obj", "not a file"]);
    }
    // Neither does a scene choose to write elsewhere.
    let elsewhere =
        scene("models/rock.obj").replace("\"frames\"", "\"cache\": \"../library/out\", \"frames\"");
    folder.write("shot/scene.json", elsewhere);
    expect(&folder.run(&["run", "shot/scene.json"]), 2, &["leads out"]);
    assert!(!folder.0.join("library/out").exists());
}

#[test]
fn folders_are_allowed_by_name_and_mapped_on_farms() {
    let folder = folders("allowed");
    let run = |more: &[&str], out: &str| {
        folder.run(&[&["run", "shot/scene.json", "--no-report", "-o", out][..], more].concat())
    };
    folder.write("shot/scene.json", scene("models/rock.obj"));
    expect(&run(&[], "inside"), 0, &[]);
    let inside = bytes_of(&folder, "inside/surface/0002.ply");
    folder.write("shot/scene.json", scene("../library/rock.obj"));
    expect(&run(&["--allow-path", "library"], "allowed"), 0, &[]);
    // A path of another machine.
    folder.write("shot/scene.json", scene("P:\\show\\rock.obj"));
    expect(&run(&[], "none"), 2, &["P:"]);
    expect(&run(&["--path-map", "P:/show"], "none"), 2, &["--path-map", "FROM=TO"]);
    let map = format!("P:/show={}", folder.0.join("library").display());
    expect(&run(&["--path-map", &map], "mapped"), 0, &[]);
    for out in ["allowed", "mapped"] {
        assert!(bytes_of(&folder, &format!("{out}/surface/0002.ply")) == inside, "{out}");
    }
    // A wedge takes what was allowed with it and needs no leave any more.
    let sweep = ["--sweep", "gravity=[0,-9.8,0],[0,-1.6,0]", "--path-map", &map];
    expect(&folder.run(&[&["wedge", "shot/scene.json", "-o", "jobs"][..], &sweep].concat()), 0, &[]);
    assert!(folder.0.join("jobs/scene/meshes/0_rock.obj").exists());
    expect(&folder.run(&["check", "jobs/scene/scene.json"]), 0, &[]);
}
