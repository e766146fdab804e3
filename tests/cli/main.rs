//! The command as a pipeline meets it: exit codes, messages, and nothing half written.

mod farm;
mod lasting;
mod pages;
mod paths;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const MENISCUS: &str = env!("CARGO_BIN_EXE_meniscus");

/// A few cells of water that fall for a few frames.
const SMALL: &str = r#"{
    "meniscus": 1, "name": "small", "frames": [1, 4],
    "domain": {"min": [0, 0, 0], "max": [1, 1, 1]},
    "resolution": {"divisions": 12},
    "initial": [{"name": "block", "shape": {"box": {"min": [0, 0, 0], "max": [0.5, 0.5, 1]}}}]
}"#;

/// A folder that goes away with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("meniscus_cli_{name}_{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(MENISCUS);
        command.args(arguments).current_dir(&self.0);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Every file below the folder, for "nothing was left behind".
    fn files(&self) -> Vec<String> {
        let mut all = Vec::new();
        list(&self.0, &mut all);
        all.sort();
        all.iter().map(|p| p.strip_prefix(&self.0).unwrap().display().to_string()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn list(folder: &Path, all: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() { list(&path, all) } else { all.push(path) }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("messages are UTF-8")
}

#[track_caller]
fn expect(output: &Output, code: i32, parts: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{message}");
    for part in parts {
        assert!(message.contains(part), "\"{part}\" is not in: {message}");
    }
    let clean = |c: char| c == '\n' || !c.is_control();
    assert!(message.chars().all(clean), "control characters in {message:?}");
}

/// The small scene with something replaced.
fn with(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from));
    SMALL.replace(from, to)
}

#[test]
fn a_wrong_scene_is_told_apart_and_leaves_nothing() {
    let deep = format!("{{\"meniscus\": 1, \"gravity\": {}", "[".repeat(1_000_000));
    let collider = |shape: &str| {
        with(
            "\"initial\"",
            &format!("\"colliders\": [{{\"name\": \"rock\", \"shape\": {shape}}}], \"initial\""),
        )
    };
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        ("nan", with("0.5, 0.5, 1", "NaN, 0.5, 1"), vec!["scene: initial[0].shape.box.max", "finite"]),
        ("infinite", with("0.5, 0.5, 1", "1e999, 0.5, 1"), vec!["initial[0].shape.box.max", "finite"]),
        ("deep", deep, vec!["scene: gravity", "sequence"]),
        ("divisions", with("12", "1000000000"), vec!["resolution", "1000000000", "1000000 are allowed"]),
        (
            "outside",
            with("[0, 0, 0], \"max\": [0.5, 0.5, 1]", "[5, 0, 0], \"max\": [6, 1, 1]"),
            vec!["initial[0]", "\"block\" lies outside the domain", "enlarge"],
        ),
        ("unknown", with("divisions", "divsions"), vec!["resolution", "did you mean \"divisions\""]),
        ("empty mesh", collider(r#"{"mesh": {"file": "empty.obj"}}"#), vec!["rock", "empty.obj"]),
        ("no mesh", collider(r#"{"mesh": {"file": "missing.obj"}}"#), vec!["missing.obj"]),
        ("broken mesh", collider(r#"{"mesh": {"file": "nan.obj"}}"#), vec!["nan.obj"]),
        ("escape", with("\"name\": \"small\"", "\"name\": \"\\u001b[2J\""), vec!["name", "control"]),
        ("future", with("\"meniscus\": 1", "\"meniscus\": 9"), vec!["version 9", "version 1"]),
        ("nothing", String::new(), vec!["file"]),
    ];
    for (name, scene, parts) in cases {
        let folder = Folder::new("wrong");
        folder.write("scene.json", scene);
        folder.write("empty.obj", "v 0 0 0\nv 1 0 0\n");
        folder.write("nan.obj", "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
        let before = folder.files();
        let begin = Instant::now();
        let output = folder.run(&["run", "scene.json", "-o", "out"]);
        assert_eq!(folder.files(), before, "{name} left something");
        println!("{name}: {}", text(&output.stderr).trim_end());
        expect(&output, 2, &parts);
        // Generous for a loaded machine; each takes milliseconds.
        assert!(begin.elapsed() < Duration::from_secs(5), "{name}");
    }
}

#[test]
fn a_wrong_command_is_told_apart() {
    let folder = Folder::new("command");
    folder.write("scene.json", SMALL);
    folder.write("binary.json", [0xff, 0xfe, 0x00]);
    for (arguments, parts) in [
        (vec!["run", "missing.json"], vec!["missing.json", "cannot be read"]),
        (vec!["run", "."], vec!["not a file"]),
        (vec!["run", "/dev/zero"], vec!["not a file"]),
        (vec!["run", "binary.json"], vec!["UTF-8"]),
        (vec!["run", "scene.json", "--frames", "3-99"], vec!["--frames", "1 to 4"]),
        (vec!["run", "scene.json", "--set", "liquids"], vec!["--set", "PATH=VALUE"]),
        (vec!["run", "scene.json", "--set", "initial[7].name=x"], vec!["initial[7]", "1 in the list"]),
        (vec!["run", "scene.json", "--set", "resolution.divisions=-3"], vec!["resolution"]),
        (vec!["run", "scene.json", "--threads", "0"], vec!["threads", "from 1"]),
        (vec!["run", "scene.json", "--memory", "nan"], vec!["memory_limit"]),
        (vec!["run"], vec!["SCENE"]),
        (vec!["fly"], vec!["fly"]),
    ] {
        let before = folder.files();
        expect(&folder.run(&arguments), 2, &parts);
        assert_eq!(folder.files(), before, "{arguments:?} left something");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_a_resource() {
    let folder = Folder::new("unwritable");
    folder.write("scene.json", SMALL);
    folder.write("file", "not a folder");
    expect(&folder.run(&["run", "scene.json", "-o", "file/out"]), 3, &["file", "not a folder"]);
    expect(&folder.run(&["run", "scene.json", "-o", "/proc/meniscus"]), 3, &["/proc/meniscus"]);
    assert_eq!(folder.files(), ["file", "scene.json"]);
}

#[test]
fn too_little_memory_is_a_resource() {
    let folder = Folder::new("memory");
    folder.write("scene.json", SMALL);
    let fine = ["run", "scene.json", "-o", "out", "--set", "resolution.divisions=400", "--memory", "0.05"];
    expect(&folder.run(&fine), 3, &["MB are allowed", "larger cells"]);
    assert_eq!(folder.files(), ["scene.json"]);
}

#[test]
fn a_full_disk_stops_cleanly_with_whole_frames() {
    let folder = Folder::new("full");
    folder.write("scene.json", with("[1, 4]", "[1, 400]"));
    // A disk of our own, small enough to fill; needs user namespaces, which some machines forbid.
    let script = format!(
        "mkdir disk && mount -t tmpfs -o size=400k none disk && {MENISCUS} run scene.json -o disk/out; \
         code=$?; ls -A disk/out disk/out/* | grep tmp; cat disk/out/manifest.json; exit $code"
    );
    let output = Command::new("unshare").args(["-rm", "sh", "-c", &script]).current_dir(&folder.0).output();
    let output = match output {
        Ok(output)
            if !text(&output.stderr).contains("unshare:") && !text(&output.stderr).contains("mount:") =>
        {
            output
        }
        _ => return println!("skipped: no user namespaces here"),
    };
    expect(&output, 3, &["disk is full", "disk/out"]);
    let said = text(&output.stdout);
    assert!(!said.contains(".tmp"), "{said}");
    let manifest: serde_json::Value = serde_json::from_str(&said).expect("the manifest is whole");
    assert!(!manifest["frames"].as_array().unwrap().is_empty());
}

fn wait_for_frames(folder: &Folder, child: &mut Child, count: usize) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(120) {
        let text = fs::read_to_string(folder.0.join("out/manifest.json")).unwrap_or_default();
        let frames = serde_json::from_str::<serde_json::Value>(&text)
            .map_or(0, |m| m["frames"].as_array().map_or(0, Vec::len));
        if frames >= count {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no frames came");
}

#[test]
fn a_signal_stops_within_a_second_and_leaves_whole_frames() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::new(signal);
        folder.write("scene.json", with("[1, 4]", "[1, 100000]"));
        let mut child = folder
            .command(&["run", "scene.json", "-o", "out", "--progress", "none"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_frames(&folder, &mut child, 3);
        let begin = Instant::now();
        // Twice at once, as `timeout` and schedulers do that signal the group as well.
        for _ in 0..2 {
            let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
            assert!(kill.unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        // A second is promised; the rest is for a loaded machine.
        assert!(begin.elapsed() < Duration::from_secs(5));
        expect(&output, 4, &["cancelled"]);
        let read = |name: &str| -> serde_json::Value {
            serde_json::from_str(&fs::read_to_string(folder.0.join("out").join(name)).unwrap()).unwrap()
        };
        assert_eq!(read("summary.json")["end"], "cancelled");
        let frames: Vec<i64> =
            read("manifest.json")["frames"].as_array().unwrap().iter().map(|f| f.as_i64().unwrap()).collect();
        for frame in frames {
            let mesh = meniscus::io::mesh::read(folder.0.join(format!("out/surface/{frame:04}.ply")));
            assert!(mesh.is_ok_and(|m| !m.is_empty()), "frame {frame} is not whole");
        }
        assert!(folder.files().iter().all(|f| !f.ends_with(".tmp")));
        let checkpoints = fs::read_dir(folder.0.join("out/checkpoint")).unwrap().count();
        assert!(checkpoints > 0, "it can go on from where it was stopped");
    }
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let folder = Folder::new("two");
    folder.write("scene.json", with("[1, 4]", "[1, 20]"));
    expect(&folder.run(&["run", "scene.json", "-o", "alone", "--no-report"]), 0, &[]);
    let mut first = folder
        .command(&["run", "scene.json", "-o", "out", "--progress", "none", "--no-report"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_frames(&folder, &mut first, 1);
    let second = folder.run(&["run", "scene.json", "-o", "out", "--overwrite"]);
    expect(&second, 3, &["in use", "another run, process"]);
    assert!(first.wait().unwrap().success());
    for frame in 1..=20 {
        let name = format!("surface/{frame:04}.ply");
        let same = bytes_of(&folder, &format!("out/{name}")) == bytes_of(&folder, &format!("alone/{name}"));
        assert!(same, "the second writer changed {name}");
    }
}

#[test]
fn progress_as_json_is_one_object_a_line() {
    let folder = Folder::new("json");
    folder.write("scene.json", SMALL);
    let output = folder.run(&["run", "scene.json", "-o", "out", "--frames", "2-4", "--progress", "json"]);
    expect(&output, 0, &[]);
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|l| serde_json::from_str(l).expect(l)).collect();
    let events: Vec<_> =
        lines.iter().map(|l| l["event"].as_str().unwrap()).filter(|e| *e != "progress").collect();
    assert_eq!(events, ["start", "frame", "frame", "frame", "frame", "done"]);
    assert!(lines.iter().filter(|l| l["event"] == "frame").all(|l| l["litres"].as_f64().unwrap() > 0.0));
    assert_eq!(lines.last().unwrap()["frames_written"], 3);
    let manifest = fs::read_to_string(folder.0.join("out/manifest.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&manifest).unwrap()["frames"],
        serde_json::json!([2, 3, 4])
    );
}

#[test]
fn an_earlier_run_is_kept_unless_told_otherwise() {
    let folder = Folder::new("again");
    folder.write("scene.json", SMALL);
    let run = ["run", "scene.json", "-o", "out", "--frames", "1-2"];
    expect(&folder.run(&run), 0, &[]);
    let before = folder.files();
    expect(&folder.run(&run), 2, &["--overwrite"]);
    assert_eq!(folder.files(), before);
    expect(&folder.run(&[&run[..], &["--overwrite"]].concat()), 0, &[]);
    assert_eq!(folder.files(), before);
}

/// The bytes of a file of a cache.
fn bytes_of(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn a_run_goes_on_where_it_was_stopped_and_ends_the_same() {
    let folder = Folder::new("resume");
    let scene = with(
        "\"resolution\"",
        "\"outputs\": {\"surface\": \"usdc\", \"checkpoint_every\": 2}, \"resolution\"",
    );
    folder.write("scene.json", scene);
    expect(&folder.run(&["run", "scene.json", "-o", "whole"]), 0, &[]);
    expect(&folder.run(&["run", "scene.json", "-o", "parts", "--frames", "1-3"]), 0, &[]);
    // A damaged checkpoint is passed over for an older one.
    folder.write("parts/checkpoint/0009.state", b"not a state");
    expect(&folder.run(&["run", "scene.json", "-o", "parts", "--resume"]), 0, &[]);
    for name in ["surface/0003.usdc", "surface/0004.usdc", "checkpoint/0004.state"] {
        assert!(
            bytes_of(&folder, &format!("whole/{name}")) == bytes_of(&folder, &format!("parts/{name}")),
            "{name}"
        );
    }
    // Resuming what is done does nothing; another scene is refused; a branch leaves the old run alone.
    expect(&folder.run(&["run", "scene.json", "-o", "parts", "--resume"]), 0, &[]);
    let gravity = ["--set", "gravity=[0,-1.6,0]"];
    let other = folder.run(&["run", "scene.json", "-o", "parts", "--resume", gravity[0], gravity[1]]);
    expect(&other, 2, &["another scene", "--branch"]);
    let branch =
        ["run", "scene.json", "-o", "moon", "--branch", "parts", "--from", "3", gravity[0], gravity[1]];
    expect(&folder.run(&branch), 0, &[]);
    assert!(bytes_of(&folder, "moon/surface/0002.usdc") == bytes_of(&folder, "parts/surface/0002.usdc"));
    assert!(bytes_of(&folder, "moon/surface/0004.usdc") != bytes_of(&folder, "parts/surface/0004.usdc"));
    let info = text(&folder.run(&["cache", "info", "moon"]).stdout);
    assert!(info.contains("4 of 4 frames") && info.contains("usdc"), "{info}");
}

#[test]
fn the_schema_describes_every_value() {
    let folder = Folder::new("schema");
    let output = folder.run(&["schema"]);
    expect(&output, 0, &[]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let described = |object: &serde_json::Value, name: &str| {
        for (key, value) in object["properties"].as_object().into_iter().flatten() {
            assert!(value["description"].is_string(), "{name}.{key} has no description");
        }
    };
    described(&schema, "scene");
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        described(definition, name);
    }
    assert!(schema["properties"]["fps"].is_object() && schema["$defs"]["Emitter"].is_object());
}

#[test]
fn the_preflight_speaks_in_words_and_in_json() {
    let folder = Folder::new("check");
    folder.write("scene.json", SMALL);
    folder.write("nothing.json", r#"{"meniscus": 1, "resolution": {"cell": 0.01}}"#);
    let output = folder.run(&["check", "scene.json", "--set", "frames=[1,24]"]);
    expect(&output, 0, &[]);
    let said = text(&output.stdout);
    for part in ["24 frames (1 to 24)", "12 × 12 × 12", "memory", "disk", "no doubts"] {
        assert!(said.contains(part), "{said}");
    }
    expect(&folder.run(&["check", "nothing.json"]), 2, &["nothing pours"]);
    let json = folder.run(&["check", "scene.json", "--json"]);
    assert!(serde_json::from_slice::<serde_json::Value>(&json.stdout).unwrap()["estimate"].is_object());
}

#[test]
fn help_explains_the_exit_codes() {
    let folder = Folder::new("help");
    let output = folder.run(&["--help"]);
    expect(&output, 0, &[]);
    assert!(text(&output.stdout).contains("do not retry"));
}
