//! The lock of a cache: one writer at a time, also on disks that several machines share.
//!
//! `CACHE/lock` is held by the system (flock) for as long as its writer lives, however it ends. Network disks do not
//! always pass that on to other machines, so beside it `CACHE/writer.json` has the host, the process and a sign of
//! life every [`BEAT`]. A file of another host that is younger than [`DEAD`] means that somebody writes there; an
//! older one was left by a machine that died. Ages are differences of the disk's own times, so that clocks of
//! machines need not agree. On one's own host flock is the truth and the file only tells who has it.

use super::atomic;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Between two signs of life.
pub const BEAT: Duration = Duration::from_secs(10);
/// Without a sign for this long a writer on another host counts as dead.
pub const DEAD: Duration = Duration::from_secs(60);
const FILE: &str = "writer.json";

/// Who writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sign {
    host: String,
    process: u32,
    /// Seconds since 1970 by the writer's clock, for those who read the file.
    time: u64,
}

impl Sign {
    fn own() -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        Sign { host: host(), process: std::process::id(), time }
    }

    fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|e| Error::invalid("lock", e.to_string()))?;
        atomic::write(file, (text + "\n").as_bytes())
    }

    /// The sign in a cache, if it can be read.
    fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&atomic::read(file, 4096).ok()?).ok()
    }
}

/// The lock of a cache, held until it is dropped.
#[derive(Debug)]
pub struct CacheLock {
    _file: File,
    sign: PathBuf,
    stop: Option<Sender<()>>,
    beating: Option<JoinHandle<()>>,
}

impl CacheLock {
    /// Take it, or say who has it.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join("lock");
        let sign = folder.join(FILE);
        let file =
            File::options().create(true).append(true).open(&path).map_err(|e| atomic::explain(&path, &e))?;
        let who = Sign::read(&sign);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(folder, who.as_ref(), None)),
            Err(TryLockError::Error(e)) => return Err(atomic::explain(&path, &e)),
        }
        if let Some(other) = who.filter(|w| w.host != host()) {
            // A byte to our own file on the same disk tells what time it is there.
            let now = (&file).write_all(b".").and_then(|()| file.metadata()?.modified());
            let _ = file.set_len(0);
            let then = std::fs::metadata(&sign).and_then(|m| m.modified());
            let age = now.ok().zip(then.ok()).and_then(|(now, then)| now.duration_since(then).ok());
            if age.is_none_or(|age| age < DEAD) {
                return Err(busy(folder, Some(&other), age));
            }
        }
        Sign::own().write(&sign)?;
        let (stop, stopped) = channel();
        let beat = sign.clone();
        let beating = std::thread::Builder::new().name("heartbeat".into()).spawn(move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                // A sign that cannot be written is missed by nobody on this host.
                let _ = Sign::own().write(&beat);
            }
        });
        // Without a thread for it the lock of the system still holds.
        Ok(CacheLock { _file: file, sign, stop: Some(stop), beating: beating.ok() })
    }
}

impl Drop for CacheLock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(beating) = self.beating.take() {
            let _ = beating.join();
        }
        let _ = std::fs::remove_file(&self.sign);
    }
}

fn busy(folder: &Path, who: Option<&Sign>, age: Option<Duration>) -> Error {
    let who = who.map_or_else(String::new, |w| format!(", process {} on {},", w.process, w.host));
    let seen = age.map_or(String::new(), |a| {
        format!(
            " (last sign of life {} s ago; if it is dead, try again in {} s)",
            a.as_secs(),
            DEAD.as_secs()
        )
    });
    Error::Busy {
        what: folder.display().to_string(),
        message: format!(
            "another run{who} is writing to it{seen}; wait for it or choose another folder with -o"
        ),
    }
}

/// The name of this machine; empty if it has none, and then flock alone decides.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"))
        .unwrap_or_default();
    name.trim().chars().filter(|c| !c.is_control()).take(255).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_on_another_machine_is_believed_while_it_lives() {
        let dir = std::env::temp_dir().join(format!("meniscus_lock_{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let lock = CacheLock::take(&dir).unwrap();
        assert_eq!(Sign::read(&dir.join(FILE)).map(|s| s.process), Some(std::process::id()));
        let second = CacheLock::take(&dir).unwrap_err().to_string();
        assert!(second.contains(&format!("process {}", std::process::id())), "{second}");
        drop(lock);
        assert!(!dir.join(FILE).exists());
        // A disk that does not know the lock of another machine, but has its sign of life.
        let far = Sign { host: "far-away".into(), process: 7, time: 1 };
        far.write(&dir.join(FILE)).unwrap();
        let refused = CacheLock::take(&dir).unwrap_err();
        assert!(matches!(refused, Error::Busy { .. }) && refused.to_string().contains("far-away"));
        let old = File::options().append(true).open(dir.join(FILE)).unwrap();
        old.set_modified(SystemTime::now() - DEAD - BEAT).unwrap();
        drop(CacheLock::take(&dir).unwrap());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
