//! Particles, sampling, and the solids that liquid meets.

mod particles;
mod solids;
mod velocity;

pub use particles::{Affine, Particles};
pub use solids::{Solid, SolidShape, Solids, Wall};
pub use velocity::{VelocityPatch, face_offset};
