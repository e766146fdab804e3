//! A cache as Alembic, one file for the shot, and its particles as BGEO, a file a frame.

use super::preview::cache::Cache;
use super::terminal::say;
use meniscus::geometry::TriMesh;
use meniscus::io::alembic::{self, Content};
use meniscus::io::frame::frame_name;
use meniscus::io::{atomic, bgeo, mesh};
use meniscus::math::Vec3;
use meniscus::{Cancel, Error, Result};
use std::path::Path;

/// All frames of a cache as one Alembic file: the surface, or the particles.
pub fn to_alembic(from: &Path, to: &Path, particles: bool, stop: &Cancel) -> Result<()> {
    let cache = Cache::open(from)?;
    let manifest = &cache.manifest;
    let (content, name) = if particles { (Content::Points, "particles") } else { (Content::Mesh, "liquid") };
    let mut fault = None;
    let written = atomic::write_with(to, |out| {
        let read = |frame: i64| {
            stop.check()?;
            if particles { particles_of(from, &cache, frame) } else { cache.surface(frame) }
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

/// The particles of every frame as BGEO in a new folder.
pub fn to_bgeo(from: &Path, to: &Path, stop: &Cancel) -> Result<()> {
    let cache = Cache::open(from)?;
    atomic::create_folder(to)?;
    let radius = (0.25 * cache.manifest.cell) as f32;
    for frame in &cache.manifest.frames {
        stop.check()?;
        let points = particles_of(from, &cache, *frame)?;
        let velocity: Vec<Vec3> = points.attribute("velocity").map_or(Vec::new(), |a| {
            a.data.chunks_exact(3).map(|v| Vec3::new(v[0].into(), v[1].into(), v[2].into())).collect()
        });
        let id: Vec<u64> =
            points.attribute("id").map_or(Vec::new(), |a| a.data.iter().map(|i| *i as u64).collect());
        let path = to.join(frame_name(*frame) + ".bgeo");
        atomic::write_with(&path, |out| bgeo::write_points(&points.positions, &velocity, &id, radius, out))?;
    }
    say(&format!("{} frames of particles in {}", cache.manifest.frames.len(), to.display()));
    Ok(())
}

fn particles_of(from: &Path, cache: &Cache, frame: i64) -> Result<TriMesh> {
    if !cache.manifest.particles {
        let message = "the run wrote no particles; run it with --set outputs.particles=true";
        return Err(Error::invalid(from.display().to_string(), message));
    }
    let path = from.join("particles").join(frame_name(frame) + ".ply");
    let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, &e))?;
    mesh::parse_points(&path.display().to_string(), &bytes)
}
