//! Trackers of the liquid surface.

mod fullness;
mod level_set;
mod seeding;

pub use fullness::{fullness, guide};
pub use level_set::{Band, advect};
pub use seeding::{Seeding, hash_unit};
