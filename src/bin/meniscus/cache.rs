//! `meniscus cache`: what a cache holds, and its surfaces in another format.

use super::convert::{ConvertArgs, convert};
use super::presets::print_json;
use super::terminal::{bytes, say};
use clap::{Args, Subcommand};
use meniscus::io::cache::{Manifest, extension};
use meniscus::io::lock::CacheLock;
use meniscus::io::{atomic, checkpoint, verify};
use meniscus::{Cancel, Error, Result};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug)]
pub struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum CacheCommand {
    /// Say what a cache holds
    #[command(after_help = "Example: meniscus cache info dam")]
    Info {
        /// The cache
        cache: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Read the frames, solids, scene and checkpoints of a cache and compare them with their sums; exit code 3 if one is damaged
    #[command(after_help = "Example: meniscus cache verify dam")]
    Verify {
        /// The cache
        cache: PathBuf,
        /// Forget damaged frames and remove damaged checkpoints, so that a run with --resume makes them again
        #[arg(long)]
        mend: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove old checkpoints and what interrupted runs left under temporary names; frames are never removed
    #[command(after_help = "Example: meniscus cache prune dam --keep 2")]
    Prune {
        /// The cache
        cache: PathBuf,
        /// Whole checkpoints to keep, the newest
        #[arg(long, value_name = "N", default_value_t = 1)]
        keep: usize,
    },
    /// Write the surfaces or particles of a cache, or one file, in another format
    #[command(after_help = "Example: meniscus cache convert dam dam_vtp --to vtp")]
    Convert(ConvertArgs),
}

pub fn cache(args: &CacheArgs, stop: &Cancel) -> Result<()> {
    match &args.command {
        CacheCommand::Info { cache, json } => info(cache, *json),
        CacheCommand::Verify { cache, mend, json } => verify(cache, *mend, *json),
        CacheCommand::Prune { cache, keep } => prune(cache, *keep),
        CacheCommand::Convert(args) => convert(args, stop),
    }
}

fn info(cache: &Path, as_json: bool) -> Result<()> {
    let manifest = Manifest::read(cache)?;
    let checkpoints: Vec<i64> = checkpoint::all(cache).iter().rev().map(|c| c.0).collect();
    let size = |frame: i64| {
        let file = manifest.surface_file(cache, frame)?;
        std::fs::metadata(file).ok().map(|m| m.len())
    };
    let total: u64 = manifest.frames.iter().filter_map(|f| size(*f)).sum();
    if as_json {
        return print_json(&json!({
            "name": manifest.name, "range": manifest.range, "frames": manifest.frames, "fps": manifest.fps,
            "cell": manifest.cell, "surface": manifest.surface, "surface_bytes": total,
            "checkpoints": checkpoints,
        }));
    }
    let [first, last] = manifest.range;
    let whole = manifest.frames.len();
    say(&format!("{}: {whole} of {} frames ({first} to {last})", manifest.name, last - first + 1));
    say(&format!("surfaces: {} in {}", extension(manifest.surface).unwrap_or("none"), bytes(total)));
    match checkpoints.last() {
        Some(frame) => say(&format!("{} checkpoints, the newest at frame {frame}", checkpoints.len())),
        None => say("no checkpoint: a run would begin anew"),
    }
    Ok(())
}

fn verify(cache: &Path, mend: bool, as_json: bool) -> Result<()> {
    // Nobody may be writing while the manifest is replaced.
    let _lock = if mend { Some(CacheLock::take(cache)?) } else { None };
    let found = verify::verify(cache)?;
    if as_json {
        print_json(&found)?;
    } else {
        found.damaged.iter().for_each(|(file, fault)| say(&format!("damaged: {file}: {fault}")));
        found.leftovers.iter().for_each(|file| say(&format!("left over: {file}")));
        say(&format!("{} files read, {}; {} damaged", found.files, bytes(found.bytes), found.damaged.len()));
    }
    let damaged = |fix: &str| Error::Io {
        path: cache.display().to_string(),
        message: format!("{} files are damaged: {fix}", found.damaged.len()),
    };
    if found.damaged.is_empty() {
        return Ok(());
    }
    if found.damaged.iter().any(|(file, _)| file == "scene.json") {
        return Err(damaged("the scene itself is, so run it again with --overwrite"));
    }
    if !mend {
        return Err(damaged(
            "add --mend, then run the scene again with --resume; or run it with --overwrite",
        ));
    }
    verify::mend(cache, &found)?;
    if !as_json {
        say(&format!("{} frames forgotten: run the scene again with --resume", found.frames.len()));
    }
    Ok(())
}

/// Keep the newest whole checkpoints; damaged ones and leftovers go.
fn prune(cache: &Path, keep: usize) -> Result<()> {
    // Nobody may be writing meanwhile.
    let _lock = CacheLock::take(cache)?;
    let found = verify::verify(cache)?;
    let keep = &found.checkpoints[..found.checkpoints.len().min(keep.max(1))];
    let mut gone = 0;
    let mut remove = |path: PathBuf| -> Result<()> {
        gone += std::fs::metadata(&path).map_or(0, |m| m.len());
        std::fs::remove_file(&path).map_err(|e| atomic::explain(&path, &e))
    };
    for (frame, path) in checkpoint::all(cache) {
        if !keep.contains(&frame) {
            remove(path)?;
        }
    }
    for file in &found.leftovers {
        remove(cache.join(file))?;
    }
    say(&format!("{} freed; checkpoints at {keep:?}", bytes(gone)));
    Ok(())
}
