//! Small vectors, boxes, rigid transforms, and elementary functions that give the same bits everywhere.

mod aabb;
mod axes;
pub mod elementary;
mod lanes;
mod number;
mod ordered;
mod pose;
mod sets;

pub use aabb::Aabb;
pub use axes::principal_axes;
pub use lanes::{Four, Two, trilinear, trilinear_gradient};
pub use number::Number;
pub use ordered::{CHUNK, ordered_max, ordered_sum};
pub use pose::{Motion, Pose};
pub use sets::Sets;

/// A point or vector in space, metres unless said otherwise.
pub type Vec3 = nalgebra::Vector3<f64>;
/// A 3×3 matrix.
pub type Mat3 = nalgebra::Matrix3<f64>;
