//! Whether a cache is what its manifest says.
//!
//! Every file of a frame must have the sum that was noted when the frame was listed; caches of older versions
//! have no sums, and there files must at least be readable. The same holds for the scene and for solids. Checkpoints
//! carry their own sums; the summary must be readable. What an interrupted writer left under a temporary name is no
//! fault but is told. Pages and pictures are made from the rest and are not looked at.

use super::cache::{Manifest, frame_files};
use super::frame::frame_number;
use super::{any, checkpoint};
use crate::error::{Error, Result};
use crate::simulation::state;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Files that were read.
    pub files: usize,
    pub bytes: u64,
    /// Files that are missing, changed or cannot be read, each with what is wrong.
    pub damaged: Vec<(String, String)>,
    /// Frames with a damaged file: they need to be simulated again.
    pub frames: Vec<i64>,
    /// Checkpoints that are whole, newest first.
    pub checkpoints: Vec<i64>,
    /// Temporary files that nobody will rename any more.
    pub leftovers: Vec<String>,
}

/// Read everything that the manifest lists.
pub fn verify(cache: &Path) -> Result<Findings> {
    let manifest = Manifest::read(cache)?;
    let mut found = Findings::default();
    for frame in &manifest.frames {
        let before = found.damaged.len();
        frame_is_whole(cache, &manifest, *frame, &mut found);
        if found.damaged.len() > before {
            found.frames.push(*frame);
        }
    }
    let of_a_frame = |file: &str| file.rsplit('/').next().is_some_and(is_frame_file) && file.contains('/');
    let constant = manifest.sums.keys().filter(|f| !of_a_frame(f)).cloned();
    let summary = cache.join("summary.json").exists().then(|| "summary.json".to_string());
    constant.chain(summary).for_each(|file| file_is_whole(cache, &manifest, file, &mut found));
    for (frame, path) in checkpoint::all(cache) {
        let sound = |b: Vec<u8>| checkpoint::unpacked(b, u64::MAX).and_then(|b| state::check(&b));
        let checked = read(&path, &mut found).and_then(|b| sound(b).map_err(|e| e.to_string()));
        match checked {
            Ok(_) => found.checkpoints.push(frame),
            Err(message) => found.damaged.push((name(cache, &path), message)),
        }
    }
    leftovers(cache, cache, &mut found)?;
    found.leftovers.sort();
    Ok(found)
}

/// Unlist the frames that were found damaged and remove damaged checkpoints, so that a run that goes on makes them
/// again. The caller holds the lock of the cache.
pub fn mend(cache: &Path, found: &Findings) -> Result<()> {
    let mut manifest = Manifest::read(cache)?;
    manifest.forget(&found.frames);
    manifest.write(cache)?;
    for (frame, path) in checkpoint::all(cache) {
        if !found.checkpoints.contains(&frame) {
            std::fs::remove_file(&path).map_err(|e| Error::io(&path, &e))?;
        }
    }
    Ok(())
}

/// Whether a file is named by a frame.
fn is_frame_file(name: &str) -> bool {
    name.split('.').next().and_then(frame_number).is_some()
}

fn frame_is_whole(cache: &Path, manifest: &Manifest, frame: i64, found: &mut Findings) {
    let mut wanted = manifest.files_of(frame);
    wanted.extend(frame_files(cache, frame));
    wanted.sort();
    wanted.dedup();
    wanted.into_iter().for_each(|file| file_is_whole(cache, manifest, file, found));
}

fn file_is_whole(cache: &Path, manifest: &Manifest, file: String, found: &mut Findings) {
    let checked = read(&cache.join(&file), found).and_then(|bytes| match manifest.sums.get(&file) {
        Some(sum) if crc32fast::hash(&bytes) != *sum => Err("it has changed since it was written".into()),
        Some(_) => Ok(()),
        None => readable(&file, &bytes),
    });
    if let Err(message) = checked {
        found.damaged.push((file, message));
    }
}

/// Whether a file without a sum can be read at all.
fn readable(file: &str, bytes: &[u8]) -> std::result::Result<(), String> {
    let read = match file.rsplit('.').next() {
        Some("ply" | "obj" | "usdc" | "usda" | "vtp") => any::parse(file, bytes).map(|_| ()),
        Some("json") => serde_json::from_slice::<serde_json::Value>(bytes)
            .map(|_| ())
            .map_err(|e| Error::invalid(file, e.to_string())),
        _ => Ok(()),
    };
    read.map_err(|e| e.to_string())
}

fn read(path: &Path, found: &mut Findings) -> std::result::Result<Vec<u8>, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    found.files += 1;
    found.bytes += bytes.len() as u64;
    Ok(bytes)
}

fn name(cache: &Path, path: &Path) -> String {
    path.strip_prefix(cache).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn leftovers(cache: &Path, folder: &Path, found: &mut Findings) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, &e))?;
    let paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    for path in paths {
        let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            leftovers(cache, &path, found)?;
        } else if hidden && path.extension().is_some_and(|e| e == "tmp") {
            found.leftovers.push(name(cache, &path));
        }
    }
    Ok(())
}
