//! Trackers of the liquid surface.

mod bending;
mod closing;
mod fullness;
mod into_solids;
mod leaving;
mod level_set;
mod particle_level_set;
mod seeding;
mod side;
mod tiled_level_set;
mod tracker;

pub use fullness::{fullness, guide};
pub use into_solids::{LAYERS, TOUCHES, continue_from_own_side, continue_into_solids, is_free};
pub use level_set::{Band, advect};
pub use particle_level_set::{Marker, ParticleLevelSet};
pub use seeding::{Seeding, hash_unit};
pub use tiled_level_set::{BAND, TiledLevelSet};
pub use tracker::{Carry, SurfaceTracker};
