//! `meniscus cache convert`: surfaces and particles of a cache, or of one file, in another format.
//!
//! Surfaces go into a cache of their own, particles and volumes into a folder with a file a frame, Alembic into one
//! file for the shot and out of it into a folder. What a format cannot hold is said, never left out silently.

use super::preview::cache::Cache;
use super::terminal::say;
use clap::{Args, ValueEnum};
use meniscus::geometry::TriMesh;
use meniscus::io::alembic::{self, Alembic, Content};
use meniscus::io::cache::{Manifest, extension};
use meniscus::io::frame::frame_name;
use meniscus::io::points::{self, Points};
use meniscus::io::usd::{self, StageOf, UsdFrame, UsdPoints};
use meniscus::io::vdb::{self, VdbFrame};
use meniscus::io::{any, atomic, bgeo, mesh, vtp};
use meniscus::math::Aabb;
use meniscus::scene::{Fps, SurfaceFormat};
use meniscus::{Cancel, Error, Result};
use std::path::{Path, PathBuf};

/// Voxels to the longest side of a single mesh.
const VOXELS: f64 = 256.0;

#[derive(Args, Clone, Debug)]
pub struct ConvertArgs {
    /// A cache, one file (PLY, OBJ, STL, VTP, USD, BGEO, or VDB in builds with OpenVDB), or a shot as Alembic
    pub from: PathBuf,
    /// A new folder for a cache or an Alembic shot, an Alembic file (.abc) for the whole shot, or the file to write
    pub to: PathBuf,
    /// The format; by the ending of the file to write when absent
    #[arg(long = "to", value_enum)]
    pub format: Option<Format>,
    /// The particles instead of the surface
    #[arg(long)]
    pub particles: bool,
    /// Edge of a voxel in metres, for vdb; half a cell of the run, or a 256th of a single mesh, when absent
    #[arg(long, value_name = "METRES")]
    pub voxel: Option<f64>,
}

/// Formats to write.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Format {
    /// Stanford polygons: surfaces and particles
    Ply,
    /// Wavefront: surfaces
    Obj,
    /// Polygons of VTK, for ParaView: surfaces and particles
    Vtp,
    /// USD, binary: surfaces and particles
    Usdc,
    /// USD, text: surfaces and particles
    Usda,
    /// OpenVDB: surfaces as level sets
    Vdb,
    /// Alembic, one file for the shot: surfaces or particles
    Abc,
    /// Houdini's points: particles
    Bgeo,
}

impl Format {
    fn surface(self) -> Option<SurfaceFormat> {
        match self {
            Format::Ply => Some(SurfaceFormat::Ply),
            Format::Obj => Some(SurfaceFormat::Obj),
            Format::Vtp => Some(SurfaceFormat::Vtp),
            Format::Usdc => Some(SurfaceFormat::Usdc),
            Format::Usda => Some(SurfaceFormat::Usda),
            Format::Vdb | Format::Abc | Format::Bgeo => None,
        }
    }

    fn ending(self) -> String {
        self.to_possible_value().map_or(String::new(), |v| v.get_name().to_string())
    }
}

/// What is to be written, and where.
pub fn convert(args: &ConvertArgs, stop: &Cancel) -> Result<()> {
    let format = args.format.or_else(|| Format::from_str(&ending(&args.to), true).ok()).ok_or_else(|| {
        let message = "say --to ply, obj, vtp, usdc, usda, vdb or bgeo, or give the file to write one of these endings or .abc";
        Error::invalid(args.to.display().to_string(), message)
    })?;
    if format == Format::Vdb {
        vdb::check_available("--to vdb")?;
    }
    if args.voxel.is_some_and(|v| !(v > 0.0 && v.is_finite())) {
        return Err(Error::invalid("--voxel", "must be a positive number of metres"));
    }
    let particles = args.particles || format == Format::Bgeo || ending(&args.from) == "bgeo";
    match (args.from.is_dir(), format) {
        (true, Format::Abc) => to_alembic(&args.from, &args.to, particles, stop),
        (true, _) if particles => particles_of_all(args, format, stop),
        (true, Format::Vdb) => volumes_of_all(args, stop),
        (true, _) => surfaces_of_all(&args.from, &args.to, format, stop),
        (false, _) if ending(&args.from) == "abc" => from_alembic(args, format, stop),
        (false, Format::Abc) => {
            let message = "Alembic is made of a cache: give the folder of a run";
            Err(Error::invalid(args.to.display().to_string(), message))
        }
        (false, _) if particles => {
            write_points(&points::read(&args.from)?, &args.to, format, 1, Fps::default())
        }
        (false, Format::Vdb) => {
            let surface = any::read(&args.from)?;
            let longest = Aabb::of_points(&surface.positions).size().max();
            write_volume(&surface, &args.to, args.voxel.unwrap_or(longest / VOXELS))
        }
        (false, _) => write_surface(&any::read(&args.from)?, &args.to, format, 1, Fps::default()),
    }
}

fn ending(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// All frames of a cache as one Alembic file: the surface, or the particles.
fn to_alembic(from: &Path, to: &Path, particles: bool, stop: &Cancel) -> Result<()> {
    let cache = Cache::open(from)?;
    let manifest = &cache.manifest;
    let (content, name) = if particles { (Content::Points, "particles") } else { (Content::Mesh, "liquid") };
    let mut fault = None;
    let written = atomic::write_with(to, |out| {
        let read = |frame: i64| {
            stop.check()?;
            match particles {
                true => particles_at(from, manifest, frame).map(Into::into),
                false => cache.surface(frame).map(Into::into),
            }
        };
        alembic::write(out, content, name, manifest.fps.value(), &manifest.frames, read).map_err(|error| {
            let message = error.to_string();
            fault = Some(error);
            std::io::Error::other(message)
        })
    });
    // What stopped the reader says more than that the file could not be filled.
    match fault {
        Some(error) => return Err(error),
        None => written?,
    }
    say(&format!("{} frames in {}", manifest.frames.len(), to.display()));
    Ok(())
}

/// Every frame of an Alembic file as a file of its own in a folder, whatever the shot holds.
fn from_alembic(args: &ConvertArgs, format: Format, stop: &Cancel) -> Result<()> {
    let name = args.from.display().to_string();
    let bytes = std::fs::read(&args.from).map_err(|e| Error::io(&args.from, &e))?;
    let shot = Alembic::open(&name, &bytes)?;
    if format == Format::Abc {
        return Err(Error::invalid(
            args.to.display().to_string(),
            "it is Alembic already: say --to another format",
        ));
    }
    let fps = Fps::nearest(shot.fps());
    atomic::create_folder(&args.to)?;
    for (i, frame) in shot.frames().iter().enumerate() {
        stop.check()?;
        let path = args.to.join(format!("{}.{}", frame_name(*frame), format.ending()));
        let shown = shot.read(i)?;
        match (shot.content(), format) {
            (Content::Points, _) => {
                let points = Points::from_mesh(shown.mesh, Some(shown.id));
                write_points(&points, &path, format, *frame, fps)?;
            }
            (Content::Mesh, Format::Vdb) => {
                let longest = Aabb::of_points(&shown.mesh.positions).size().max();
                write_volume(&shown.mesh, &path, args.voxel.unwrap_or(longest / VOXELS))?;
            }
            (Content::Mesh, _) => write_surface(&shown.mesh, &path, format, *frame, fps)?,
        }
    }
    say(&format!("{} frames in {}", shot.frames().len(), args.to.display()));
    Ok(())
}

/// The particles of every frame in a folder.
fn particles_of_all(args: &ConvertArgs, format: Format, stop: &Cancel) -> Result<()> {
    let manifest = Manifest::read(&args.from)?;
    atomic::create_folder(&args.to)?;
    for frame in &manifest.frames {
        stop.check()?;
        let path = args.to.join(format!("{}.{}", frame_name(*frame), format.ending()));
        write_points(&particles_at(&args.from, &manifest, *frame)?, &path, format, *frame, manifest.fps)?;
    }
    say(&format!("{} frames of particles in {}", manifest.frames.len(), args.to.display()));
    Ok(())
}

/// The particles of a frame; a run that writes USD keeps them in the file of the surface.
fn particles_at(from: &Path, manifest: &Manifest, frame: i64) -> Result<Points> {
    if !manifest.particles {
        let message = "the run wrote no particles; run it with --set outputs.particles=true";
        return Err(Error::invalid(from.display().to_string(), message));
    }
    let usd = matches!(manifest.surface, SurfaceFormat::Usdc | SurfaceFormat::Usda);
    match manifest.surface_file(from, frame).filter(|_| usd) {
        Some(path) => points::read(&path),
        None => points::read(&from.join("particles").join(frame_name(frame) + ".ply")),
    }
}

fn write_points(points: &Points, to: &Path, format: Format, frame: i64, fps: Fps) -> Result<()> {
    let Points { position, velocity, id, radius, attributes } = points;
    let shown = UsdPoints { position, velocity, id, width: 2.0 * radius, carried: attributes };
    let usd = UsdFrame { frame, fps, surface: None, particles: Some(shown), solids: &[] };
    match format {
        Format::Ply => atomic::write_with(to, |out| {
            mesh::write_particles_ply(position, id, *radius, velocity, attributes, out)
        }),
        Format::Vtp => atomic::write_with(to, |out| vtp::write_points(points, out)),
        Format::Bgeo => atomic::write_with(to, |out| bgeo::write_points(points, out)),
        Format::Usdc => atomic::write(to, &usd::to_usdc(&usd)),
        Format::Usda => atomic::write(to, usd::to_usda(&usd).as_bytes()),
        Format::Obj | Format::Vdb | Format::Abc => {
            let message =
                "particles are written as ply, vtp, bgeo, usdc or usda, and of a whole cache as .abc";
            Err(Error::invalid(to.display().to_string(), message))
        }
    }
}

fn write_surface(surface: &TriMesh, to: &Path, format: Format, frame: i64, fps: Fps) -> Result<()> {
    let shown = UsdFrame { frame, fps, surface: Some(surface), particles: None, solids: &[] };
    match format {
        Format::Ply => atomic::write_with(to, |out| mesh::write_ply(surface, out)),
        Format::Obj => atomic::write_with(to, |out| mesh::write_obj(surface, out)),
        Format::Vtp => atomic::write_with(to, |out| vtp::write_surface(surface, out)),
        Format::Usdc => atomic::write(to, &usd::to_usdc(&shown)),
        Format::Usda => atomic::write(to, usd::to_usda(&shown).as_bytes()),
        Format::Vdb | Format::Abc | Format::Bgeo => {
            Err(Error::invalid(to.display().to_string(), "a surface is not written in this format"))
        }
    }
}

fn write_volume(surface: &TriMesh, to: &Path, voxel: f64) -> Result<()> {
    let threads = rayon::current_num_threads();
    vdb::write(to, &VdbFrame { surface, voxel, fields: None, threads })
}

/// The surfaces of a cache as level sets. The fields of a run are in its checkpoints alone: `outputs.volumes` writes
/// them as it goes.
fn volumes_of_all(args: &ConvertArgs, stop: &Cancel) -> Result<()> {
    let cache = Cache::open(&args.from)?;
    atomic::create_folder(&args.to)?;
    for frame in &cache.manifest.frames {
        stop.check()?;
        let path = args.to.join(frame_name(*frame) + ".vdb");
        write_volume(&cache.surface(*frame)?, &path, args.voxel.unwrap_or(0.5 * cache.manifest.cell))?;
    }
    say(&format!("{} level sets in {}", cache.manifest.frames.len(), args.to.display()));
    Ok(())
}

/// The surfaces of a cache into a new folder, with a manifest of their own.
fn surfaces_of_all(from: &Path, to: &Path, format: Format, stop: &Cancel) -> Result<()> {
    let mut manifest = Manifest::read(from)?;
    if to.join("manifest.json").exists() {
        return Err(Error::invalid(
            to.display().to_string(),
            "there is a cache already: choose another folder",
        ));
    }
    atomic::create_folder(&to.join("surface"))?;
    let old = manifest.clone();
    manifest.surface = format.surface().unwrap_or(SurfaceFormat::None);
    (manifest.particles, manifest.cells, manifest.volumes, manifest.colliders) =
        (false, false, false, Vec::new());
    manifest.sums.clear();
    for frame in &old.frames {
        stop.check()?;
        if let (Some(a), Some(b)) = (old.surface_file(from, *frame), manifest.surface_file(to, *frame)) {
            write_surface(&any::read(&a)?, &b, format, *frame, old.fps)?;
        }
    }
    if let (Format::Usdc | Format::Usda, [first, .., last]) = (format, &old.frames[..]) {
        let surfaces = extension(manifest.surface);
        let stage = StageOf { range: [*first, *last], fps: old.fps, surfaces, volumes: &[], fields: &[] };
        if let Some(text) = usd::stage(&stage) {
            atomic::write(&to.join("liquid.usda"), text.as_bytes())?;
        }
    }
    let text = serde_json::to_string_pretty(&manifest).map_err(|e| Error::invalid("JSON", e.to_string()))?;
    atomic::write(&to.join("manifest.json"), (text + "\n").as_bytes())?;
    say(&format!("{} surfaces in {}", old.frames.len(), to.display()));
    Ok(())
}
