//! Trackers of the liquid surface.

mod fullness;
mod into_solids;
mod level_set;
mod seeding;

pub use fullness::{fullness, guide};
pub use into_solids::{continue_into_solids, is_free};
pub use level_set::{Band, advect};
pub use seeding::{Seeding, hash_unit};
