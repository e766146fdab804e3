//! Seconds for benches: of the processor on one thread, which other programs disturb least, else of the wall.

use std::sync::LazyLock;
use std::time::Instant;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

pub fn now() -> f64 {
    if rayon::current_num_threads() == 1 { processor_seconds() } else { START.elapsed().as_secs_f64() }
}

/// Processor time of all threads of this process.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = |t: std::fs::DirEntry| {
        let text = std::fs::read_to_string(t.path().join("schedstat")).unwrap_or_default();
        text.split_whitespace().next().and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0)
    };
    tasks.flatten().map(nanoseconds).sum::<f64>() * 1e-9
}
