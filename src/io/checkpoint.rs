//! Checkpoints in a cache: the state of the simulation after a frame, from which a run goes on.
//!
//! `CACHE/checkpoint/0010.state` holds what [`crate::simulation::Simulation::save`] gives, packed or not, with a sum over
//! every array, so that a damaged one is noticed and an older one is taken. A run may go on only with the
//! scene that began it; what does not change the liquid (the last frame, threads, memory, how often a
//! checkpoint is written, where the cache lies) may be another.
//!
//! The simulation waits only while its state is copied: sums, writing and flushing are done by a thread of their own,
//! one checkpoint at a time. What that thread could not do is told with the next checkpoint or at the end.

use super::atomic;
use super::frame::{frame_name, frame_number};
use super::{memory, packed};
use crate::error::{Error, Result};
use crate::scene::Scene;
use crate::simulation::state;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// The folder of checkpoints in a cache.
pub const FOLDER: &str = "checkpoint";

/// The checkpoint of a frame.
pub fn file(cache: &Path, frame: i64) -> PathBuf {
    cache.join(FOLDER).join(frame_name(frame) + ".state")
}

/// All checkpoints of a cache, newest first.
pub fn all(cache: &Path) -> Vec<(i64, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(cache.join(FOLDER)) else { return Vec::new() };
    let frame = |path: &Path| {
        let known = path.extension().is_some_and(|e| e == "state");
        path.file_stem().filter(|_| known)?.to_str().and_then(frame_number)
    };
    let paths = entries.flatten().map(|e| e.path());
    let mut found: Vec<_> = paths.filter_map(|p| Some((frame(&p)?, p))).collect();
    found.sort_by_key(|c| std::cmp::Reverse(c.0));
    found
}

/// Of the checkpoints up to a frame remove all but the newest `keep`, at least one; returns the frames whose
/// checkpoints went. Later ones are of another life of the run and stay.
pub fn prune(cache: &Path, last: i64, keep: usize) -> Result<Vec<i64>> {
    let mut gone = Vec::new();
    for (frame, path) in all(cache).into_iter().filter(|c| c.0 <= last).skip(keep.max(1)) {
        std::fs::remove_file(&path).map_err(|e| atomic::explain(&path, &e))?;
        gone.push(frame);
    }
    Ok(gone)
}

/// The bytes of a checkpoint, unpacked if they are packed.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    // What is larger than all memory cannot be gone on from.
    let most = memory::default_limit().unwrap_or(1 << 42);
    unpacked(atomic::read(path, most)?, most)
}

/// Bytes that may be packed, as they were before; at most `most` of them.
pub fn unpacked(bytes: Vec<u8>, most: u64) -> Result<Vec<u8>> {
    if packed::is_packed(&bytes) { packed::unpack(&bytes, most) } else { Ok(bytes) }
}

/// How checkpoints are kept.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    /// How many of the newest; 0 for all.
    pub newest: usize,
    /// Whether they are packed by zstd.
    pub packed: bool,
}

/// Writes checkpoints beside the simulation.
#[derive(Debug)]
pub(super) struct Background {
    cache: PathBuf,
    busy: Option<JoinHandle<Result<()>>>,
}

impl Background {
    pub fn new(cache: &Path) -> Self {
        Background { cache: cache.into(), busy: None }
    }

    /// Begin to write a state, after the one before it.
    pub fn write(&mut self, frame: i64, mut state: state::Writer, keep: Keeping) -> Result<()> {
        self.wait()?;
        let cache = self.cache.clone();
        let work = move || {
            atomic::create_folder(&cache.join(FOLDER))?;
            let path = file(&cache, frame);
            match keep.packed {
                true => {
                    let bytes = state.finish();
                    atomic::write_pieces(&path, |give| packed::pack(&bytes, give))?;
                }
                false => atomic::write_pieces(&path, |give| state.finish_into(give))?,
            }
            if keep.newest > 0 { prune(&cache, frame, keep.newest).map(|_| ()) } else { Ok(()) }
        };
        let thread = std::thread::Builder::new().name("checkpoint".into()).spawn(work);
        // Without a thread the state would be lost with it, so this is no small matter.
        self.busy = Some(thread.map_err(|e| Error::io(&self.cache, &e))?);
        Ok(())
    }

    /// Wait until everything is written.
    pub fn wait(&mut self) -> Result<()> {
        let Some(thread) = self.busy.take() else { return Ok(()) };
        let died = |_| Err(Error::invalid("checkpoint", "the thread that writes it has died"));
        thread.join().unwrap_or_else(died)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Whoever cares for errors has waited.
        let _ = self.wait();
    }
}

/// Whether the run in a cache is a run of this scene.
pub fn check_same(cache: &Path, scene: &Scene) -> Result<()> {
    let path = cache.join("scene.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, &e))?;
    let before = Scene::from_json(&text)?.to_si();
    if liquid_of(&before) == liquid_of(&scene.to_si()) {
        return Ok(());
    }
    let message = "the run in it is of another scene: choose another folder with -o, add --overwrite, or branch \
                   from it with --branch CACHE --from FRAME";
    Err(Error::invalid(cache.display().to_string(), message))
}

/// The scene without what leaves the liquid as it is.
fn liquid_of(scene: &Scene) -> Scene {
    let mut scene = scene.clone();
    scene.frames[1] = scene.frames[0];
    scene.threads = None;
    scene.memory_limit = None;
    scene.cache = None;
    scene.outputs.checkpoint_every = 0;
    scene
}

/// Make a file appear in a second place; one that is not there is left out.
pub(super) fn link(from: &Path, to: &Path) -> Result<()> {
    if !from.exists() || to.exists() {
        return Ok(());
    }
    // Frames are replaced and never changed, so both caches may share one. Not every disk can.
    if std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let bytes = std::fs::read(from).map_err(|e| Error::io(from, &e))?;
    atomic::write(to, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_found_newest_first() {
        let dir = std::env::temp_dir().join(format!("meniscus_checkpoint_{}", std::process::id()));
        std::fs::create_dir_all(dir.join(FOLDER)).unwrap();
        assert!(all(&dir.join("nowhere")).is_empty());
        for name in ["0010.state", "0100.state", "-0002.state", "0020.state.tmp", "notes.state", "0030.ply"] {
            std::fs::write(dir.join(FOLDER).join(name), "").unwrap();
        }
        assert_eq!(all(&dir).iter().map(|c| c.0).collect::<Vec<_>>(), [100, 10, -2]);
        assert!(file(&dir, -2).exists());
        assert_eq!(prune(&dir, 100, 2).unwrap(), [-2]);
        assert!(prune(&dir, 10, 0).unwrap().is_empty(), "the newest up to the frame stays");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
