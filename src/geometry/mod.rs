//! Triangle meshes and shapes, their distances, and the fractions that a surface cuts from simplices and boxes.

mod bvh;
mod bvh_build;
mod bvh_query;
mod check;
mod closest_motion;
pub mod curvature;
pub mod fraction;
mod mesh;
mod mesh_edges;
mod moments;
mod pieces;
pub mod predicates;
pub mod shape;
mod shape_profile;
mod sheet;
mod triangle;
mod triangle_moving;
mod winding;

pub use bvh::Bvh;
pub use bvh_query::{Closest, Crossing, Hit};
pub use check::{MeshReport, check, components};
pub use closest_motion::closest_motion;
pub use mesh::{Attribute, TriMesh};
pub use mesh_edges::{MeshEdges, largest_opening};
pub use moments::Moments;
pub use pieces::facing_alike;
pub use shape::Shape;
pub use sheet::away_from_hollow;
pub use triangle::{Feature, barycentric, closest_on_triangle, segment_crosses, solid_angle};
pub use triangle_moving::moving_triangle_meets;
pub use winding::Winding;
