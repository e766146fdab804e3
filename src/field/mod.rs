//! Particles, sampling, and the solids that liquid meets.

mod particles;
mod solids;

pub use particles::{Affine, Particles};
pub use solids::{Solid, SolidShape, Solids, Wall};
