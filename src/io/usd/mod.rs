//! Universal Scene Description: a frame as `.usdc` (binary) or `.usda` (text), and the way back.
//!
//! Written from the published layout of the crate format, without Pixar's library, which would be larger
//! than Meniscus. [`frame`] says what a file holds, [`crate_write`] how the bytes lie. Surfaces keep f32
//! positions and velocities exactly; the reader takes the first mesh of any file of versions 0.7 on.

mod crate_read;
mod crate_write;
mod frame;
mod integers;
mod layer;
mod lz4;
mod stage;
mod text_write;

#[cfg(test)]
mod tests;

pub use frame::{UsdFrame, UsdPoints, UsdSolid};
pub use stage::stage;

use crate::error::{Error, Result};
use crate::geometry::TriMesh;

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

/// The first mesh of a binary file; `file` is its name, for errors.
pub fn parse_mesh(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    if !is_usdc(bytes) {
        return Err(Error::Format {
            file: file.into(),
            place: "byte 0".into(),
            message: "not binary USD: text (.usda) is written but not read here; usdcat turns it into .usdc"
                .into(),
        });
    }
    crate_read::parse(file, bytes)
}
