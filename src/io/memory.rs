//! How much memory there is for us.
//!
//! A control group (a container, a slot of a farm) may lie in others, each with a limit of its own, so every one from
//! ours up to the root counts: version 2 has them below one folder, version 1 below `memory`.

use std::fs;
use std::path::{Path, PathBuf};

/// Share of the memory that a run takes unless told otherwise; the rest is for everybody else.
const SHARE: f64 = 0.75;

/// Bytes that a run may use when nobody says: three quarters of what the machine or the control groups have,
/// whichever is less; nothing if neither can be read.
pub fn default_limit() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let groups =
        group_files(&own).into_iter().filter_map(|p| read(&p)).filter_map(|t| t.trim().parse::<u64>().ok());
    let machine = read(Path::new("/proc/meminfo")).and_then(|t| machine_memory(&t));
    let least = groups.chain(machine).min()?;
    Some((least as f64 * SHARE) as u64)
}

/// Bytes of memory that this process has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resident {
    pub now: u64,
    /// The most so far.
    pub peak: u64,
}

/// As the system counts it; nothing where it does not say.
pub fn resident() -> Option<Resident> {
    resident_in(&fs::read_to_string("/proc/self/status").ok()?)
}

fn resident_in(status: &str) -> Option<Resident> {
    Some(Resident { now: kilobytes(status, "VmRSS:")?, peak: kilobytes(status, "VmHWM:")? })
}

/// The files with the limits of the groups in a `/proc/self/cgroup`, innermost first, and those of the root.
fn group_files(own: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut up = |root: &str, group: &str, name: &str| {
        let mut path = Path::new(group.trim_start_matches('/')).to_path_buf();
        loop {
            files.push(Path::new(root).join(&path).join(name));
            if !path.pop() {
                break;
            }
        }
    };
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        match (parts.next(), parts.next(), parts.next()) {
            // A path with dots leads out of what this container can see.
            (_, _, Some(group)) if group.contains("..") => {}
            (Some("0"), Some(""), Some(group)) => up("/sys/fs/cgroup", group, "memory.max"),
            (_, Some(kinds), Some(group)) if kinds.split(',').any(|k| k == "memory") => {
                up("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
            }
            _ => {}
        }
    }
    files.push("/sys/fs/cgroup/memory.max".into());
    files.push("/sys/fs/cgroup/memory/memory.limit_in_bytes".into());
    files
}

/// `MemTotal` of a `/proc/meminfo`, which counts in kB.
fn machine_memory(text: &str) -> Option<u64> {
    kilobytes(text, "MemTotal:")
}

/// A line of a file below /proc that counts in kB, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
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

    #[test]
    fn what_the_process_holds_is_read() {
        let text = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
        assert_eq!(resident_in(text), Some(Resident { now: 1 << 20, peak: 2 << 20 }));
        assert!(resident().is_none_or(|r| r.now > 0 && r.peak >= r.now));
    }

    #[test]
    fn every_group_up_to_the_root_counts() {
        let second = group_files("0::/farm/slot3\n");
        let names: Vec<String> = second.iter().map(|p| p.display().to_string()).collect();
        assert_eq!(names[0], "/sys/fs/cgroup/farm/slot3/memory.max");
        assert_eq!(names[1], "/sys/fs/cgroup/farm/memory.max");
        let first = group_files("12:cpu:/x\n4:memory,hugetlb:/docker/ab\n");
        assert_eq!(first[0].display().to_string(), "/sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes");
        assert!(group_files("0::/../../x\n").iter().all(|p| !p.display().to_string().contains("..")));
    }
}
