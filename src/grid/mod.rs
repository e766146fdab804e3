//! The tiled staggered grid, and what is done with scalar fields on it.

mod tiles;

pub use tiles::{Halo, NONE, SIDE, Tiles};
