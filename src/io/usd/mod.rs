//! Universal Scene Description: a frame as `.usdc` (binary) or `.usda` (text), and the way back.
//!
//! Written from the published layout of the crate format, without Pixar's library, which would be larger
//! than Meniscus. [`frame`] says what a file holds, [`crate_write`] how the bytes lie. Surfaces keep f32
//! positions and velocities exactly; readers take the first mesh or the first points of binary files from
//! version 0.7 on, and of text.

mod assemble;
mod crate_read;
mod crate_write;
mod frame;
mod integers;
mod layer;
mod lz4;
mod stage;
mod text_read;
mod text_write;

#[cfg(test)]
mod tests;

pub use frame::{UsdFrame, UsdPoints, UsdSolid};
pub use stage::{StageOf, stage};

use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::io::points::Points;

/// The bytes of a binary file.
pub fn to_usdc(frame: &UsdFrame) -> Vec<u8> {
    crate_write::to_bytes(&frame.layer())
}

/// The text of a file for people.
pub fn to_usda(frame: &UsdFrame) -> String {
    text_write::to_text(&frame.layer())
}

/// Whether bytes begin as binary USD does.
pub fn is_usdc(bytes: &[u8]) -> bool {
    bytes.starts_with(crate_write::IDENT)
}

/// Whether bytes begin as USD does, binary or text.
pub fn is_usd(bytes: &[u8]) -> bool {
    is_usdc(bytes) || bytes.starts_with(b"#usda")
}

/// The first mesh of a file; `file` is its name, for errors.
pub fn parse_mesh(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    let mesh = prim(file, bytes, "Mesh")?.and_then(|own| assemble::mesh(&own));
    let mesh = mesh.ok_or_else(|| fault(file, "geometry", "it holds no mesh, or a damaged one"))?;
    mesh.check(file)?;
    Ok(mesh)
}

/// The first points of a file, such as particles.
pub fn parse_points(file: &str, bytes: &[u8]) -> Result<Points> {
    let points = prim(file, bytes, "Points")?.and_then(|own| assemble::points(&own));
    points.ok_or_else(|| fault(file, "geometry", "it holds no points, or damaged ones"))
}

/// The attributes of the first prim of a type.
fn prim(file: &str, bytes: &[u8], kind: &str) -> Result<Option<assemble::Values>> {
    if is_usdc(bytes) {
        let found = crate_read::find(bytes, kind);
        return found
            .ok_or_else(|| fault(file, "binary USD", "the file is damaged, or uses what is not read here"));
    }
    text_read::find(bytes, kind).map_err(|(line, message)| fault(file, &format!("line {line}"), message))
}

fn fault(file: &str, place: &str, message: &str) -> Error {
    Error::Format { file: file.into(), place: place.into(), message: message.into() }
}
