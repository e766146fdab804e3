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
fn old_checkpoints_go_by_themselves() {
    let folder = Folder::new("prune");
    folder.write("scene.json", scene(7));
    expect(&folder.run(&["run", "scene.json", "-o", "out", "--no-report"]), 0, &[]);
    let mut left: Vec<_> =
        fs::read_dir(folder.0.join("out/checkpoint")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["0005.state", "0006.state", "0007.state"]);
}
