//! Particles, sampling, and the solids that liquid meets.

mod collider_deform;
mod collider_mesh;
mod collider_morph;
mod columns;
mod dense;
mod flow;
mod id;
mod painted;
mod particles;
mod reach;
mod scatter;
mod sight;
mod solid;
mod solids;
mod velocity;

pub use collider_deform::DeformedMesh;
pub use collider_mesh::MovingMesh;
pub use collider_morph::MorphedMesh;
pub use columns::{Column, Columns};
pub use dense::DenseField;
pub use flow::VelocityField;
pub use id::Id;
pub use painted::{PaintedMesh, Rough};
pub use particles::{Affine, Particles, Run, Runs, TileBox};
pub use reach::Reach;
pub use scatter::{Block, Hats, between, gather_blocks, volume_at_centres};
pub use sight::{Eyes, SidedFaces, Sight};
pub use solid::{Container, Solid, SolidShape, Wall};
pub use solids::Solids;
pub use velocity::{FacePatch, NearPatch, TwinPatch, VelocityPatch, face_offset};
