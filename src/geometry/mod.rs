//! Triangle meshes and shapes, their distances, and the fractions that a surface cuts from simplices and boxes.

pub mod fraction;
mod mesh;
pub mod shape;
mod shape_profile;

pub use mesh::{Attribute, TriMesh};
pub use shape::Shape;
