//! A surface from a file of any format that is read here; what it is follows from its first bytes.

use super::{mesh, usd, vdb, vtp};
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use std::path::Path;

/// Read a surface: PLY, OBJ, STL, USD, VTP, and VDB in builds with OpenVDB. A frame without liquid is an empty mesh.
pub fn read(path: &Path) -> Result<TriMesh> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("vdb")) {
        return vdb::read_surface(path);
    }
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
    parse(&path.display().to_string(), &bytes)
}

/// The same from the bytes of a file; `file` is its name, for the ending and for errors.
pub fn parse(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    if usd::is_usd(bytes) {
        return usd::parse_mesh(file, bytes);
    }
    if vtp::is_vtp(bytes) {
        return vtp::parse(file, bytes).map(|(mesh, _)| mesh);
    }
    // Without triangles it is a frame without liquid.
    if bytes.starts_with(b"ply") {
        return mesh::parse_points(file, bytes);
    }
    if mesh::is_empty_obj(file, bytes) {
        return Ok(TriMesh::default());
    }
    mesh::parse(file, bytes)
}
