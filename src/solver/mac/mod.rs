//! The staggered grid: weights of solids, pressure, and the exchange with particles.

mod block;
mod block_weights;
mod grid;
mod pressure;
mod transfer;
mod walls;

pub use block::{Block, BlockField, BlockOptions, Place, Scheme};
pub use grid::{MacGrid, REACH_CELLS};
pub use pressure::{PressureOptions, Projected, project};
pub use transfer::{Transfer, grid_to_particles, particles_to_grid};
pub use walls::constrain;
