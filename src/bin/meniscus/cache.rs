//! `meniscus cache`: what a cache holds, and its surfaces in another format.

use super::convert;
use super::presets::print_json;
use super::terminal::{bytes, say};
use clap::{Args, Subcommand, ValueEnum};
use meniscus::geometry::TriMesh;
use meniscus::io::cache::{Manifest, extension};
use meniscus::io::lock::CacheLock;
use meniscus::io::usd::{self, UsdFrame};
use meniscus::io::{atomic, checkpoint, mesh, verify};
use meniscus::scene::{Fps, SurfaceFormat};
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
    Info {
        /// The cache
        cache: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Read the frames, solids, scene and checkpoints of a cache and compare them with their sums; exit code 3 if one is damaged
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
    Prune {
        /// The cache
        cache: PathBuf,
        /// Whole checkpoints to keep, the newest
        #[arg(long, value_name = "N", default_value_t = 1)]
        keep: usize,
    },
    /// Write the surfaces of a cache, or one mesh, in another format
    Convert {
        /// A cache, or a mesh: PLY, OBJ, STL or USDC
        from: PathBuf,
        /// A new folder for the cache, an Alembic file (.abc) for the whole shot, or the mesh to write
        to: PathBuf,
        /// The format for the surfaces of a cache; bgeo for its particles
        #[arg(long = "to", value_enum)]
        format: Option<Format>,
        /// The particles instead of the surface, into an Alembic file
        #[arg(long)]
        particles: bool,
    },
}

/// Formats to write.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    Ply,
    Obj,
    Usdc,
    Usda,
    Abc,
    Bgeo,
}

impl Format {
    fn surface(self) -> SurfaceFormat {
        match self {
            Format::Ply => SurfaceFormat::Ply,
            Format::Obj => SurfaceFormat::Obj,
            Format::Usdc => SurfaceFormat::Usdc,
            Format::Usda => SurfaceFormat::Usda,
            // Neither is a folder of surfaces.
            Format::Abc | Format::Bgeo => SurfaceFormat::None,
        }
    }

    fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        Format::from_str(ending, true).map_err(|_| {
            Error::invalid(path.display().to_string(), "name the file .ply, .obj, .usdc or .usda")
        })
    }
}

pub fn cache(args: &CacheArgs, stop: &Cancel) -> Result<()> {
    match &args.command {
        CacheCommand::Info { cache, json } => info(cache, *json),
        CacheCommand::Verify { cache, mend, json } => verify(cache, *mend, *json),
        CacheCommand::Prune { cache, keep } => prune(cache, *keep),
        CacheCommand::Convert { from, to, format, particles } if from.is_dir() => {
            let named = to.extension().is_some_and(|e| e.eq_ignore_ascii_case("abc")).then_some(Format::Abc);
            match format.or(named) {
                Some(Format::Abc) => convert::to_alembic(from, to, *particles, stop),
                Some(Format::Bgeo) => convert::to_bgeo(from, to, stop),
                Some(format) => convert_all(from, to, format, stop),
                None => Err(Error::invalid("--to", "say ply, obj, usdc, usda or bgeo, or name a file .abc")),
            }
        }
        CacheCommand::Convert { from, to, format, .. } => {
            let format = format.map_or_else(|| Format::of(to), Ok)?;
            write(&read(from)?, to, format, 1, Fps::default())
        }
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

fn read(path: &Path) -> Result<TriMesh> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
    let name = path.display().to_string();
    if usd::is_usdc(&bytes) {
        return usd::parse_mesh(&name, &bytes);
    }
    // A PLY without triangles is a frame without liquid.
    if bytes.starts_with(b"ply") { mesh::parse_points(&name, &bytes) } else { mesh::parse(&name, &bytes) }
}

fn write(surface: &TriMesh, to: &Path, format: Format, frame: i64, fps: Fps) -> Result<()> {
    let shown = UsdFrame { frame, fps, surface: Some(surface), particles: None, solids: &[] };
    match format {
        Format::Ply => atomic::write_with(to, |out| mesh::write_ply(surface, out)),
        Format::Obj => atomic::write_with(to, |out| mesh::write_obj(surface, out)),
        Format::Usdc => atomic::write(to, &usd::to_usdc(&shown)),
        Format::Usda => atomic::write(to, usd::to_usda(&shown).as_bytes()),
        Format::Abc | Format::Bgeo => {
            let message = "Alembic and BGEO are made of a cache: give the folder of a run";
            Err(Error::invalid(to.display().to_string(), message))
        }
    }
}

/// The surfaces of a cache into a new folder, with a manifest of their own.
fn convert_all(from: &Path, to: &Path, format: Format, stop: &Cancel) -> Result<()> {
    let mut manifest = Manifest::read(from)?;
    if to.join("manifest.json").exists() {
        return Err(Error::invalid(
            to.display().to_string(),
            "there is a cache already: choose another folder",
        ));
    }
    atomic::create_folder(&to.join("surface"))?;
    let old = manifest.clone();
    manifest.surface = format.surface();
    (manifest.particles, manifest.colliders) = (false, Vec::new());
    manifest.sums.clear();
    for frame in &old.frames {
        stop.check()?;
        if let (Some(a), Some(b)) = (old.surface_file(from, *frame), manifest.surface_file(to, *frame)) {
            write(&read(&a)?, &b, format, *frame, old.fps)?;
        }
    }
    if let (Format::Usdc | Format::Usda, [first, .., last]) = (format, &old.frames[..])
        && let Some(text) =
            usd::stage([*first, *last], old.fps, extension(manifest.surface).unwrap_or_default())
    {
        atomic::write(&to.join("liquid.usda"), text.as_bytes())?;
    }
    let text = serde_json::to_string_pretty(&manifest).map_err(|e| Error::invalid("JSON", e.to_string()))?;
    atomic::write(&to.join("manifest.json"), (text + "\n").as_bytes())?;
    say(&format!("{} surfaces in {}", old.frames.len(), to.display()));
    Ok(())
}
