//! Speed of a checkpoint, against the disk and against one copy of its bytes, all in the same run.
//!
//! `cargo bench --bench checkpoint`. MENISCUS_CHECKPOINT_MB says how large, 1000 when absent;
//! MENISCUS_CHECKPOINT_FOLDER where, the folder of temporary files when absent. The simulation waits only for
//! "copied". Goal: written at 1 GB/s or at the speed of dd, whichever is less, and copied as fast as bytes are.

use meniscus::io::atomic;
use meniscus::simulation::state::{Writer, check};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

fn main() {
    let set = |name: &str| std::env::var(name).ok();
    let megabytes: usize = set("MENISCUS_CHECKPOINT_MB").and_then(|n| n.parse().ok()).unwrap_or(1000);
    let folder = set("MENISCUS_CHECKPOINT_FOLDER").map_or_else(std::env::temp_dir, Into::into);
    let folder = folder.join(format!("meniscus_checkpoint_bench_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let total = megabytes * 1_000_000;
    // Ten arrays, as a simulation has; numbers that nobody can guess from each other.
    let array: Vec<f64> = (0..total / 80).map(|i| (i as f64).sqrt()).collect();
    let (mut copies, mut plain, mut written, mut disk) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..3 {
        let start = Instant::now();
        let parts: Vec<Vec<f64>> = (0..10).map(|_| black_box(&array).clone()).collect();
        plain = plain.min(start.elapsed().as_secs_f64());
        drop(black_box(parts));

        let start = Instant::now();
        let mut state = Writer::with_room(total + 4096);
        (0..10).for_each(|_| state.f64s("array", black_box(&array)));
        copies = copies.min(start.elapsed().as_secs_f64());

        // Until the file stands there; the copy is given back after that.
        let (start, file) = (Instant::now(), folder.join("0001.state"));
        atomic::write_pieces(&file, |give| state.finish_into(give)).unwrap();
        written = written.min(start.elapsed().as_secs_f64());
        drop(state);

        let start = Instant::now();
        let words = [
            "if=/dev/zero".to_string(),
            format!("of={}", folder.join("dd").display()),
            "bs=1M".into(),
            format!("count={}", total >> 20),
            "conv=fsync".into(),
            "status=none".into(),
        ];
        assert!(Command::new("dd").args(words).status().is_ok_and(|s| s.success()));
        disk = disk.min(start.elapsed().as_secs_f64());
    }
    assert!(check(&std::fs::read(folder.join("0001.state")).unwrap()).is_ok());
    std::fs::remove_dir_all(folder).unwrap();
    let speed = |seconds: f64| total as f64 * 1e-9 / seconds;
    println!("a checkpoint of {megabytes} MB, best of three, GB/s");
    println!("  copied, while the simulation waits   {:6.2}", speed(copies));
    println!("  the same bytes cloned                {:6.2}", speed(plain));
    println!("  sums, written and flushed beside it  {:6.2}", speed(written));
    println!("  dd with a flush at its end           {:6.2}", speed(disk));
}
