//! Trackers of the liquid surface.

mod particle_level_set;
mod seeding;

pub use particle_level_set::{Band, advect, correct, vouch};
pub use seeding::{Seeding, hash_unit};
