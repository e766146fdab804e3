//! OpenVDB: the surface as a level set and the fields of a frame, under the names that Houdini gives them.
//!
//! | grid | what | where |
//! |---|---|---|
//! | `surface` | level set of the surface mesh, negative inside, m | voxels of half a cell, three each way |
//! | `vel` | velocity, m/s, each component on the lower face of its voxel | cells in and three round the liquid |
//! | `pressure` | Pa | cells of liquid |
//! | `viscosity` | dynamic viscosity, Pa·s, if any liquid has one | cells of liquid |
//! | `collision` | level set of the solids, m | near the liquid, three cells each way |
//!
//! Files are made by OpenVDB itself, through `cxx`, with its default compression: a library that film studios keep up
//! is worth more than a writer of our own. It is a large dependency, so it stands behind the cargo feature `openvdb`;
//! without it everything here answers with an error that says so. The level set is made from the mesh that is written
//! beside it, so both show the same liquid, lone drops as well. Tiles have the size of OpenVDB's leaves; all numbers
//! become f32. Checked by tests/formats with Debian's pyopenvdb and with Blender.

#[cfg(feature = "openvdb")]
mod bridge;
#[cfg(feature = "openvdb")]
mod with_library;
#[cfg(not(feature = "openvdb"))]
mod without_library;

#[cfg(feature = "openvdb")]
pub use with_library::{read_surface, write};
#[cfg(not(feature = "openvdb"))]
pub use without_library::{read_surface, write};

use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::simulation::VolumesView;

/// Whether this build can write volumes.
pub const AVAILABLE: bool = cfg!(feature = "openvdb");

/// An error if this build cannot write volumes; `what` asked for them.
pub fn check_available(what: &str) -> Result<()> {
    match AVAILABLE {
        true => Ok(()),
        false => Err(Error::invalid(
            what,
            "this build has no OpenVDB: install libopenvdb-dev and build with --features openvdb, or leave volumes out",
        )),
    }
}

/// What a file holds.
pub struct VdbFrame<'a> {
    /// The surface, which becomes a level set.
    pub surface: &'a TriMesh,
    /// Edge of a voxel of the level set, m.
    pub voxel: f64,
    /// The fields, if there are any.
    pub fields: Option<&'a VolumesView<'a>>,
    /// Threads that OpenVDB may use.
    pub threads: usize,
}
