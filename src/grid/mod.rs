//! The tiled staggered grid, and what is done with scalar fields on it.

mod contour;
mod contour_table;
mod contour_tets;
mod curvature;
mod extrapolate;
mod layers;
mod mesh_distance;
mod mesh_distance_scan;
mod mesh_distance_sign;
mod patch;
mod redistance;
mod sheets;
mod sides;
mod smooth;
mod tiles;

pub use contour::{Contour, MARGIN, contour};
pub use contour_tets::contour_tets;
pub use curvature::curvature;
pub(crate) use extrapolate::extend_into;
pub use extrapolate::{close_in_walls, extend_average, extend_linear, extend_motion, wall_closing};
pub use mesh_distance::{DistanceParams, Kind, MeshDistance};
pub use patch::{MAX_MARGIN, Patch};
pub use redistance::{Order, redistance, redistance_where};
pub use sheets::{SEES_ALL, TileSheets};
pub use sides::{Side, Sides};
pub use smooth::smooth;
pub(crate) use tiles::whole_below;
pub use tiles::{Halo, NONE, SIDE, Tiles};
