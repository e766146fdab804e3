//! How much memory there is for us.

use std::fs;

/// Share of the memory that a run takes unless told otherwise; the rest is for everybody else.
const SHARE: f64 = 0.75;

/// Bytes that a run may use when nobody says: three quarters of what the machine or the control group
/// (a container, a farm's slot) has, whichever is less; nothing if neither can be read.
pub fn default_memory_limit() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let groups = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = groups.iter().filter_map(|p| read(p)).find_map(|t| t.trim().parse::<u64>().ok());
    let machine = read("/proc/meminfo").and_then(|t| machine_memory(&t));
    let least = group.into_iter().chain(machine).min()?;
    Some((least as f64 * SHARE) as u64)
}

/// `MemTotal` of a `/proc/meminfo`, which counts in kB.
fn machine_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(machine_memory("MemTotal:       16 kB\nMemFree: 3 kB\n"), Some(16384));
        assert_eq!(machine_memory("MemTotal: many\n"), None);
    }
}
