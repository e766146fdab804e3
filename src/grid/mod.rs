//! The tiled staggered grid, and what is done with scalar fields on it.

mod contour;
mod contour_table;
mod contour_tets;
mod mesh_distance;
mod mesh_distance_scan;
mod mesh_distance_sign;
mod patch;
mod smooth;
mod stub;
mod tiles;

pub use contour::{Contour, MARGIN, contour};
pub use contour_tets::contour_tets;
pub use mesh_distance::{DistanceParams, Kind, MeshDistance};
pub use patch::{MAX_MARGIN, Patch};
pub use smooth::smooth;
pub use stub::{extrapolate_distance, extrapolate_velocity, overlap_walls, redistance};
pub use tiles::{Halo, NONE, SIDE, Tiles};
