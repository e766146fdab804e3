//! Alembic: the surfaces of a shot, or its points, as one animated file.
//!
//! No library in Rust that is kept up writes Alembic, and Debian packages none, so this writes the little of the
//! format that liquids need: an Ogawa file, as version 1.8 of the reference library makes it. Everything is a
//! group (a count and the places of its children) or data (a size and bytes); a place with its highest bit set is
//! data, place 0 is empty.
//!
//! ```text
//! "Ogawa" ff 0001 place of the root                                             all numbers little endian
//! root    0  library version  top object  words about the archive  times  words in common
//! object  properties, child objects …, names of the children with 32 bytes of hash
//! mesh    .geom: .selfBnds  P  .faceIndices  .faceCounts  .velocities  .arbGeomParams, headers of the properties
//! points  .geom: .selfBnds  P  .pointIds  .velocities  .arbGeomParams, headers of the properties
//! array   for each frame: 16 bytes of hash and the values; their dimensions, empty for a plain list
//! ```
//!
//! Faces run clockwise seen from outside, against our counter-clockwise. Velocities are in metres a second, time
//! is the frame over the frame rate. Equal samples stand once. Frames go out one by one, so a long shot needs the
//! memory of one frame.
//!
//! The reader takes the first mesh or set of points of such a file, whoever wrote it, frame by frame; it refuses one
//! below a transform, because it would stand elsewhere. Values that are indexed or do not sit on vertices are left out.
//! Checked by tests/formats/read_back.py with alembic3d, the reference library, and with Blender.

mod read;
mod write;

pub use read::{Alembic, is_alembic};
pub use write::write;

use super::points::Points;
use crate::geometry::TriMesh;

/// Marks a place as data.
const DATA: u64 = 1 << 63;

/// Whether frames are surfaces or points without triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Mesh,
    Points,
}

/// A frame: vertices with velocity and whatever else they carry, and for points the numbers that stay theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlembicFrame {
    pub mesh: TriMesh,
    pub id: Vec<u64>,
}

impl From<TriMesh> for AlembicFrame {
    fn from(mesh: TriMesh) -> Self {
        Self { mesh, id: Vec::new() }
    }
}

impl From<Points> for AlembicFrame {
    fn from(points: Points) -> Self {
        Self { mesh: points.to_mesh(), id: points.id }
    }
}
