//! Mesh and particle files: OBJ, PLY, STL.
//!
//! Readers check every size against the file before they allocate, and name the line or byte at
//! fault. Writers go to any `Write`; who wants whole files or none writes to a temporary name first.
//!
//! Attributes in PLY are float properties of a vertex. An attribute of width 1 is a property of its
//! own name. The names that other programs know are used where there is one: `normal` is `nx ny nz`,
//! `velocity` is `vx vy vz`, `uv` is `s t`, `color` is `red green blue`. Any other attribute of width w
//! is `name_0` to `name_{w−1}`. The reader turns all of them back. OBJ has no place for attributes:
//! its writer leaves them out.

mod obj;
mod ply;

pub use obj::write_obj;
pub use ply::{write_particles_ply, write_ply};
