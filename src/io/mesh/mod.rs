//! Mesh and particle files: OBJ, PLY, STL, and the surface of a field of distances in NRRD.
//!
//! Readers check every size against the file before they allocate, name the line or byte at fault,
//! and refuse numbers that are not finite. Polygons become triangles; faces of fewer than three
//! corners are skipped. Writers go to any `Write`; who wants whole files or none writes to a
//! temporary name first.
//!
//! Attributes in PLY are float properties of a vertex. An attribute of width 1 is a property of its
//! own name. The names that other programs know are used where there is one: `normal` is `nx ny nz`,
//! `velocity` is `vx vy vz`, `uv` is `s t`, `color` is `red green blue`. Any other attribute of width w
//! is `name_0` to `name_{w−1}`. The reader turns all of them back. The OBJ reader keeps normals and
//! texture coordinates, of the first corner that uses a vertex, and vertex colours. OBJ has no place for anything
//! else, so its writer puts attributes into comments, `#velocity 1 0 0` after the line of each vertex, which other
//! programs pass over and the reader here takes back. STL has no place at all.

mod obj;
mod ply_header;
mod ply_read;
mod ply_write;
mod polygon;
mod stl;
mod tokens;

pub use obj::write_obj;
pub use ply_write::{write_particles_ply, write_ply};
pub(super) use polygon::Polygons;
pub use stl::write_stl;

use super::{atomic, nrrd};
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::math::Vec3;
use std::path::Path;

/// The longest mesh file that is read.
pub const MAX_MESH_BYTES: u64 = 1 << 32;

/// Read a mesh file; the format follows from its content, then from the ending of its name.
pub fn read(path: impl AsRef<Path>) -> Result<TriMesh> {
    let path = path.as_ref();
    parse(&path.display().to_string(), &atomic::read(path, MAX_MESH_BYTES)?)
}

/// Read a mesh from the bytes of a file; `file` is its name, for the ending and for errors.
pub fn parse(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    let ending = file.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let mesh = if nrrd::is_nrrd(bytes) {
        nrrd::parse(file, bytes)?.surface(file)
    } else if bytes.starts_with(b"ply") {
        ply_read::parse(file, bytes)
    } else if stl::is_binary(bytes) || (ending != "obj" && bytes.starts_with(b"solid")) {
        stl::parse(file, bytes)
    } else {
        match ending.as_str() {
            "obj" => obj::parse(file, bytes),
            "stl" => stl::parse(file, bytes),
            "ply" => Err(fault(file, "byte 0", "a PLY file starts with the letters ply")),
            _ => Err(fault(file, "byte 0", "neither OBJ, PLY, STL nor NRRD; name it .obj, .ply or .stl")),
        }
    }?;
    if mesh.triangles.is_empty() {
        return Err(Error::geometry(file, "holds no triangles"));
    }
    Ok(mesh)
}

/// Read points, such as particles, from the bytes of a PLY file; faces are kept if there are any.
pub fn parse_points(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    ply_read::parse(file, bytes)
}

/// Points of a PLY file, and the whole numbers of their property `id` if there is one.
pub(super) fn parse_numbered(file: &str, bytes: &[u8]) -> Result<(TriMesh, Option<Vec<u64>>)> {
    ply_read::parse_numbered(file, bytes)
}

/// Whether bytes are an OBJ file of a frame without liquid.
pub(super) fn is_empty_obj(file: &str, bytes: &[u8]) -> bool {
    file.ends_with(".obj") && bytes.is_empty()
}

fn fault(file: &str, place: impl Into<String>, message: impl Into<String>) -> Error {
    Error::Format { file: file.to_string(), place: place.into(), message: message.into() }
}

/// The message for a coordinate or attribute that is not a finite number.
fn check_finite(values: &[f64], what: &str, index: usize) -> std::result::Result<(), String> {
    match values.iter().find(|v| !v.is_finite()) {
        Some(v) => Err(format!("{what} {index} holds {v}, which is not a finite number")),
        None => Ok(()),
    }
}

fn vec3(v: &[f64; 3]) -> Vec3 {
    Vec3::new(v[0], v[1], v[2])
}

#[cfg(test)]
mod tests;
