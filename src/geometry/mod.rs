//! Triangle meshes and shapes, their distances, and the fractions that a surface cuts from simplices and boxes.

pub mod fraction;
mod mesh;

pub use mesh::{Attribute, TriMesh};
