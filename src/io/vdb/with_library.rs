//! Fields and meshes handed to OpenVDB.

use super::VdbFrame;
use super::bridge::{Grids, Layout, new_grids, read_liquid};
use crate::error::{Error, Result};
use crate::geometry::{Attribute, TriMesh};
use crate::io::atomic;
use crate::math::Vec3;
use crate::simulation::VolumesView;
use cxx::UniquePtr;
use rayon::prelude::*;
use std::path::Path;

/// Half the width of bands, in voxels; OpenVDB's own choice.
const HALF_WIDTH: f64 = 3.0;
/// Marks of a voxel: active, and a value that counts although it is not.
const ACTIVE: u8 = 1;
const KEPT: u8 = 2;

/// Write a frame as `.vdb`.
pub fn write(path: &Path, frame: &VdbFrame) -> Result<()> {
    let failed = |e: cxx::Exception| Error::Io {
        path: path.display().to_string(),
        message: format!("OpenVDB: {}", e.what()),
    };
    let mut grids = new_grids(frame.threads as u32).map_err(failed)?;
    let origin = frame.fields.map_or([0.0; 3], |f| f.tiles.origin().into());
    add_surface(&mut grids, frame.surface, frame.voxel, origin).map_err(failed)?;
    if let Some(fields) = frame.fields {
        add_fields(&mut grids, fields).map_err(failed)?;
    }
    atomic::write_by(path, |temporary| {
        let name = temporary.to_str().ok_or_else(|| {
            Error::invalid(path.display().to_string(), "OpenVDB takes only names that are UTF-8")
        })?;
        grids.write(name).map_err(failed)
    })
}

fn add_surface(
    grids: &mut UniquePtr<Grids>,
    surface: &TriMesh,
    voxel: f64,
    origin: [f64; 3],
) -> std::result::Result<(), cxx::Exception> {
    let points: Vec<f32> =
        surface.positions.iter().flat_map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
    let background = (HALF_WIDTH * voxel) as f32;
    let layout = Layout { tiles: Vec::new(), depth: 8, voxel, origin, background, level_set: true };
    grids.pin_mut().add_surface("surface", &points, surface.triangles.as_flattened(), &layout)
}

fn add_fields(grids: &mut UniquePtr<Grids>, fields: &VolumesView) -> std::result::Result<(), cxx::Exception> {
    let h = fields.tiles.h();
    let band = (HALF_WIDTH * h) as f32;
    let near = marks(&fields.liquid, |d| u8::from(d < HALF_WIDTH * h));
    // The liquid's distance goes on through walls; what is inside them is no liquid.
    let wet: Vec<u8> =
        fields.liquid.par_iter().zip(&*fields.solid).map(|(d, s)| u8::from(*d < 0.0 && *s > 0.0)).collect();
    let narrow = |values: &[f64]| values.par_iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let layout = |background: f32, level_set: bool| Layout {
        tiles: (0..fields.tiles.len()).flat_map(|t| fields.tiles.base(t)).collect(),
        depth: fields.tiles.depth() as u32,
        voxel: h,
        origin: fields.tiles.origin().into(),
        background,
        level_set,
    };
    let [x, y, z] = &fields.velocity;
    let velocity: Vec<f32> =
        (0..x.len()).into_par_iter().flat_map_iter(|i| [x[i] as f32, y[i] as f32, z[i] as f32]).collect();
    grids.pin_mut().add_staggered("vel", &layout(0.0, false), &velocity, &near)?;
    grids.pin_mut().add_scalar("pressure", &layout(0.0, false), &narrow(&fields.pressure), &wet)?;
    if !fields.viscosity.is_empty() {
        grids.pin_mut().add_scalar("viscosity", &layout(0.0, false), &narrow(&fields.viscosity), &wet)?;
    }
    let within = f64::from(band);
    let solid = marks(&fields.solid, |d| match d {
        d if d.abs() < within => ACTIVE,
        d if d < 0.0 => KEPT,
        _ => 0,
    });
    let cut: Vec<f32> = fields.solid.par_iter().map(|d| (*d as f32).clamp(-band, band)).collect();
    grids.pin_mut().add_scalar("collision", &layout(band, true), &cut, &solid)
}

fn marks(values: &[f64], mark: impl Fn(f64) -> u8 + Sync) -> Vec<u8> {
    values.par_iter().map(|v| mark(*v)).collect()
}

/// The level set of a file as triangles, with velocity if the file has one.
pub fn read_surface(path: &Path) -> Result<TriMesh> {
    let file = path.display().to_string();
    let fault = |message: String| Error::Format { file: file.clone(), place: "OpenVDB".into(), message };
    let name = path.to_str().ok_or_else(|| fault("its name is not UTF-8".into()))?;
    let threads = rayon::current_num_threads() as u32;
    let liquid = read_liquid(name, threads).map_err(|e| fault(e.what().into()))?;
    let positions: Vec<Vec3> =
        liquid.points.chunks_exact(3).map(|p| Vec3::new(p[0].into(), p[1].into(), p[2].into())).collect();
    let triangles = liquid.triangles.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect();
    let mut mesh = TriMesh::new(positions, triangles);
    if !liquid.velocity.is_empty() {
        mesh.attributes = vec![Attribute { name: "velocity".into(), width: 3, data: liquid.velocity }];
    }
    mesh.check(&file)?;
    Ok(mesh)
}
