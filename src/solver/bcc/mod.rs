//! The discrete equations on the graded lattice.

mod embedded;
mod reconstruct;
mod velocity;

pub use embedded::{Cut, Embedded, open_shares};
pub use reconstruct::reconstruct;
pub use velocity::LatticeVelocity;
