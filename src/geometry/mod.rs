//! Triangle meshes and shapes, their distances, and the fractions that a surface cuts from simplices and boxes.

pub mod fraction;
mod mesh;
pub mod shape;
mod shape_profile;
mod bvh;
mod bvh_build;
mod bvh_query;
mod mesh;
mod triangle;

pub use bvh::Bvh;
pub use bvh_query::{Closest, Crossing, Hit};
pub use mesh::{Attribute, TriMesh};
pub use shape::Shape;
pub use triangle::{Feature, barycentric, closest_on_triangle, segment_crosses, solid_angle};
