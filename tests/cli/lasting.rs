//! Runs that are killed, and caches that are damaged.

use super::*;
use std::time::Duration;

/// A small scene with a checkpoint after every frame.
fn scene(frames: usize) -> String {
    let outputs = "\"outputs\": {\"checkpoint_every\": 1}, \"resolution\"";
    with("\"resolution\"", outputs).replace("[1, 4]", &format!("[1, {frames}]"))
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Kills without warning over whole runs; MENISCUS_KILLS says how many, a few when absent.
#[test]
fn a_run_killed_anywhere_ends_as_if_never_stopped() {
    let wanted: u32 = std::env::var("MENISCUS_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let folder = Folder::new("killed");
    let last = 12;
    folder.write("scene.json", scene(last));
    let begin = Instant::now();
    expect(&folder.run(&["run", "scene.json", "-o", "whole", "--no-report"]), 0, &[]);
    let length = begin.elapsed().as_millis() as u64;
    let end = format!("checkpoint/{last:04}.state");
    let expected = bytes_of(&folder, &format!("whole/{end}"));
    let (mut kills, mut runs, mut dice) = (0, 0, Dice(0x9e37_79b9_7f4a_7c15));
    while kills < wanted {
        let _ = fs::remove_dir_all(folder.0.join("out"));
        // One run is killed up to five times, at any moment, then left alone.
        for round in 0..6 {
            let mut child = folder
                .command(&["run", "scene.json", "-o", "out", "--resume", "--no-report", "--progress", "none"])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            if round < 5 && kills < wanted {
                std::thread::sleep(Duration::from_millis(dice.roll(length / 2 + 20)));
                kills += u32::from(child.try_wait().unwrap().is_none());
                child.kill().unwrap();
                child.wait().unwrap();
            } else {
                expect(&child.wait_with_output().unwrap(), 0, &[]);
            }
            if folder.0.join("out/manifest.json").exists() {
                let verified = folder.run(&["cache", "verify", "out"]);
                assert!(verified.status.success(), "after {kills} kills: {}", text(&verified.stdout));
            }
        }
        runs += 1;
        assert!(bytes_of(&folder, &format!("out/{end}")) == expected, "run {runs} ended otherwise");
        for frame in 1..=last {
            let name = format!("surface/{frame:04}.ply");
            assert!(
                bytes_of(&folder, &format!("whole/{name}")) == bytes_of(&folder, &format!("out/{name}")),
                "{name}"
            );
        }
    }
    println!("{kills} kills over {runs} runs: no damage, the same end");
}

/// A run that was killed before its manifest stood there has not begun, whatever else is there.
#[test]
fn a_run_killed_before_it_began_begins() {
    let folder = Folder::new("unborn");
    folder.write("scene.json", scene(2));
    let run = ["run", "scene.json", "-o", "out", "--no-report"];
    expect(&folder.run(&run), 0, &[]);
    let expected = bytes_of(&folder, "out/surface/0002.ply");
    // What there is after a kill before the first frame, at the latest moment and at an earlier one.
    for left in [&["scene.json", "lock"][..], &["lock"]] {
        let kept: Vec<_> = left.iter().map(|f| (f, fs::read(folder.0.join("out").join(f)))).collect();
        fs::remove_dir_all(folder.0.join("out")).unwrap();
        fs::create_dir_all(folder.0.join("out")).unwrap();
        for (file, bytes) in kept {
            folder.write(&format!("out/{file}"), bytes.unwrap_or_default());
        }
        expect(&folder.run(&[&run[..], &["--resume"]].concat()), 0, &[]);
        assert!(bytes_of(&folder, "out/surface/0002.ply") == expected);
    }
}

#[test]
fn packed_checkpoints_are_shorter_and_gone_on_from() {
    let folder = Folder::new("packed");
    folder.write("scene.json", scene(4));
    let run = |out, more: &[&str]| {
        let words = ["run", "scene.json", "--no-report", "-o", out];
        expect(&folder.run(&[&words[..], more].concat()), 0, &[]);
    };
    run("whole", &[]);
    run("packed", &["--pack-checkpoints", "--frames", "1-2"]);
    let (plain, packed) =
        (bytes_of(&folder, "whole/checkpoint/0002.state"), bytes_of(&folder, "packed/checkpoint/0002.state"));
    println!("{} bytes became {}", plain.len(), packed.len());
    assert!(packed.len() < 4 * plain.len() / 5);
    expect(&folder.run(&["cache", "verify", "packed"]), 0, &[]);
    // From a packed one, with others unpacked after it.
    run("packed", &["--resume"]);
    for file in ["checkpoint/0004.state", "surface/0004.ply"] {
        let same =
            bytes_of(&folder, &format!("packed/{file}")) == bytes_of(&folder, &format!("whole/{file}"));
        assert!(same, "{file} is another");
    }
    let mut bad = packed.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    folder.write("packed/checkpoint/0002.state", bad);
    expect(&folder.run(&["cache", "verify", "packed"]), 3, &["1 files are damaged"]);
}

#[test]
fn damage_in_a_cache_is_found_and_named() {
    let folder = Folder::new("verify");
    folder.write("scene.json", scene(5));
    expect(&folder.run(&["run", "scene.json", "-o", "out", "--keep-checkpoints", "0"]), 0, &[]);
    let whole = folder.run(&["cache", "verify", "out"]);
    expect(&whole, 0, &[]);
    assert!(text(&whole.stdout).contains("0 damaged"), "{}", text(&whole.stdout));
    let checkpoints = || fs::read_dir(folder.0.join("out/checkpoint")).unwrap().count();
    assert_eq!(checkpoints(), 4);
    // A bit of a surface, half of a checkpoint, and what a killed writer leaves.
    let mut surface = bytes_of(&folder, "out/surface/0003.ply");
    let middle = surface.len() / 2;
    surface[middle] ^= 4;
    folder.write("out/surface/0003.ply", surface);
    let state = bytes_of(&folder, "out/checkpoint/0005.state");
    folder.write("out/checkpoint/0005.state", &state[..state.len() / 2]);
    folder.write("out/surface/.0006.ply.1.0.tmp", "half");
    fs::remove_file(folder.0.join("out/report/0002.json")).unwrap();
    let found = folder.run(&["cache", "verify", "out", "--json"]);
    expect(&found, 3, &["3 files are damaged"]);
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["frames"], serde_json::json!([2, 3]));
    assert_eq!(found["checkpoints"], serde_json::json!([4, 3, 2]));
    assert_eq!(found["leftovers"], serde_json::json!(["surface/.0006.ply.1.0.tmp"]));
    // Pruning keeps the newest whole checkpoint, not the newest.
    expect(&folder.run(&["cache", "prune", "out"]), 0, &[]);
    assert_eq!(checkpoints(), 1);
    assert!(
        folder.0.join("out/checkpoint/0004.state").exists()
            && !folder.0.join("out/surface/.0006.ply.1.0.tmp").exists()
    );
}

#[test]
fn damaged_frames_are_mended_by_going_on_from_before_them() {
    let folder = Folder::new("mend");
    folder.write("scene.json", scene(6));
    let run = ["run", "scene.json", "-o", "out", "--no-report"];
    expect(&folder.run(&run), 0, &[]);
    let verify = |more: &[&str]| folder.run(&[&["cache", "verify", "out"][..], more].concat());
    let resume = || folder.run(&[&run[..], &["--resume"]].concat());
    // Frame 2 lies before the three checkpoints that are kept, frame 5 after two of them.
    for (file, damage) in
        [("surface/0005.ply", true), ("surface/0002.ply", true), ("surface/0004.ply", false)]
    {
        let name = format!("out/{file}");
        let whole = bytes_of(&folder, &name);
        let mut bad = whole.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        if damage {
            folder.write(&name, bad);
            expect(&verify(&[]), 3, &["1 files are damaged", "--mend", "--resume"]);
            expect(&verify(&["--mend"]), 0, &[]);
        } else {
            // What is missing is noticed without reading everything.
            fs::remove_file(folder.0.join(&name)).unwrap();
        }
        expect(&resume(), 0, &[]);
        assert!(bytes_of(&folder, &name) == whole, "{file} is another now");
        expect(&verify(&[]), 0, &[]);
    }
    // A solid or the scene may be damaged as well; the scene cannot be made again from anything.
    folder.write("out/scene.json", "{}");
    expect(&verify(&["--mend"]), 3, &["--overwrite"]);
}

#[test]
fn a_run_goes_on_only_with_the_meshes_and_cells_that_began_it() {
    let folder = Folder::new("other");
    let rock = r#""colliders": [{"name": "rock", "shape": {"mesh": {"file": "rock.obj"}}}], "initial""#;
    let obj = "v .6 0 .4\nv .8 0 .4\nv .7 .2 .5\nv .7 0 .6\nf 1 3 2\nf 2 3 4\nf 1 4 3\nf 1 2 4\n";
    folder.write("rock.obj", obj);
    folder.write("scene.json", scene(3).replace("\"initial\"", rock));
    let run = ["run", "scene.json", "--no-report", "-o"];
    expect(&folder.run(&[&run[..], &["out"]].concat()), 0, &[]);
    let more = ["--set", "frames=[1,4]"];
    folder.write("rock.obj", obj.replace(".2 .5", ".3 .5"));
    expect(&folder.run(&[&run[..], &["out", "--resume"], &more].concat()), 2, &["rock.obj has changed"]);
    // A branch may have another rock, but not other cells.
    let branch = |name, change: &[&str]| {
        let words = [&run[..], &[name, "--branch", "out"], &more, change].concat();
        folder.run(&words)
    };
    expect(&branch("rocky", &[]), 0, &[]);
    expect(&branch("fine", &["--set", "resolution.divisions=14"]), 2, &["width of cells"]);
    expect(&branch("lower", &["--set", "domain.min=[0,-0.02,0]"]), 2, &["saved state", "same"]);
    expect(&branch("bcc", &["--set", "simulator.type=bcc"]), 2, &["simulator.type"]);
    folder.write("rock.obj", obj);
    expect(&folder.run(&[&run[..], &["out", "--resume"], &more].concat()), 0, &[]);
}

#[test]
fn too_little_memory_on_the_way_leaves_a_checkpoint() {
    let folder = Folder::new("memory");
    // Points that no triangle uses are in no estimate; four million of them are a hundred megabytes.
    let mut obj =
        String::from("v .6 0 .4\nv .8 0 .4\nv .7 .2 .5\nv .7 0 .6\nf 1 3 2\nf 2 3 4\nf 1 4 3\nf 1 2 4\n");
    obj += &"v 0 0 0\n".repeat(4_000_000);
    folder.write("rock.obj", obj);
    let rock = r#""colliders": [{"name": "rock", "shape": {"mesh": {"file": "rock.obj"}}}], "initial""#;
    folder.write("scene.json", with("\"initial\"", rock));
    let run = ["run", "scene.json", "-o", "out", "--no-report", "--memory"];
    expect(&folder.run(&[&run[..], &["0.15"]].concat()), 3, &["the run", "MB"]);
    assert!(folder.0.join("out/checkpoint/0001.state").exists());
    expect(&folder.run(&[&run[..], &["2", "--resume"]].concat()), 0, &[]);
    let summary: serde_json::Value = serde_json::from_slice(&bytes_of(&folder, "out/summary.json")).unwrap();
    assert!(
        summary["peak_memory_bytes"].as_u64().unwrap() > 150_000_000,
        "the process counts, not its arrays"
    );
}

#[test]
fn a_disk_that_was_full_is_gone_on_with() {
    let folder = Folder::new("freed");
    folder.write("scene.json", scene(8));
    expect(&folder.run(&["run", "scene.json", "-o", "whole", "--no-report"]), 0, &[]);
    // A disk of our own with something else on it; needs user namespaces, which some machines forbid.
    let script = format!(
        "mkdir disk && mount -t tmpfs -o size=8m none disk && dd if=/dev/zero of=disk/ballast bs=1k count=7700 status=none; \
         {MENISCUS} run scene.json -o disk/out --no-report --resume; echo code $?; ls -A disk/out disk/out/* | grep tmp; \
         rm disk/ballast; {MENISCUS} run scene.json -o disk/out --no-report --resume; echo code $?; cp -r disk/out out"
    );
    let output = Command::new("unshare").args(["-rm", "sh", "-c", &script]).current_dir(&folder.0).output();
    let said = match &output {
        Ok(o) if !text(&o.stderr).contains("unshare:") && !text(&o.stderr).contains("mount:") => {
            text(&o.stdout)
        }
        _ => return println!("skipped: no user namespaces here"),
    };
    let errors = output.map(|o| text(&o.stderr)).unwrap_or_default();
    assert!(said.contains("code 3") && said.contains("code 0") && !said.contains(".tmp"), "{said}\n{errors}");
    assert!(errors.contains("disk is full"), "{errors}");
    for file in ["checkpoint/0008.state", "surface/0001.ply", "surface/0008.ply"] {
        let same = bytes_of(&folder, &format!("out/{file}")) == bytes_of(&folder, &format!("whole/{file}"));
        assert!(same, "{file} is another");
    }
}

/// Whole short runs of five scenes: other numbers of threads, and a machine without wide instructions.
/// MENISCUS_SAME_FRAMES says how many frames, a few when absent.
#[test]
fn threads_and_processors_make_no_difference() {
    let folder = Folder::new("same");
    let frames: usize = std::env::var("MENISCUS_SAME_FRAMES").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let pour = r#""emitters": [{"shape": {"sphere": {"center": [0.7, 0.7, 0.5], "radius": 0.15}}, "velocity": [0, -2, 0]}], "initial""#;
    let cork = r#""bodies": [{"name": "cork", "density": 300, "shape": {"sphere": {"center": [0.6, 0.3, 0.5], "radius": 0.15}}}], "initial""#;
    let honey = r#""liquids": [{"name": "honey", "density": 1400, "viscosity": 10}], "initial""#;
    for (name, kind, more) in [
        ("dam", "mac", "\"initial\""),
        ("lattice", "bcc", "\"initial\""),
        ("pour", "mac", pour),
        ("cork", "mac", cork),
        ("honey", "mac", honey),
    ] {
        let json = scene(frames).replace("\"initial\"", more);
        folder.write("scene.json", &json);
        let mut expected: Option<Vec<u8>> = None;
        for (threads, tunables) in [
            (1, ""),
            (2, ""),
            (3, ""),
            (4, ""),
            (8, ""),
            (2, "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable"),
        ] {
            let out = format!("{name}_{threads}_{}", tunables.len());
            let words = ["run", "scene.json", "--no-report", "-o", &out, "--threads", &threads.to_string()];
            let set = ["--set", &format!("simulator.type={kind}"), "--progress", "none"];
            let mut command = folder.command(&[&words[..], &set].concat());
            expect(&command.env("GLIBC_TUNABLES", tunables).output().unwrap(), 0, &[]);
            let end = bytes_of(&folder, &format!("{out}/checkpoint/{frames:04}.state"));
            let first = expected.get_or_insert_with(|| end.clone());
            assert!(*first == end, "{name} with {threads} threads and \"{tunables}\" ended otherwise");
        }
        println!("{name}: {frames} frames, the same state six times");
    }
}

#[test]
fn old_checkpoints_go_by_themselves() {
    let folder = Folder::new("prune");
    folder.write("scene.json", scene(7));
    expect(&folder.run(&["run", "scene.json", "-o", "out", "--no-report"]), 0, &[]);
    let mut left: Vec<_> =
        fs::read_dir(folder.0.join("out/checkpoint")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["0005.state", "0006.state", "0007.state"]);
}
