//! Pressure, viscosity and both at once (unsteady Stokes) on a dense block with embedded boundaries.
//!
//! The variational form of [Bat10, chapter 4]: [`weights`] gives the share of liquid W_L (ignoring solids) and of
//! not solid W_F (ignoring the surface) of the box round each sample, [`system`] has the equations in
//! which all weights sit on diagonals, [`pressure_stress`] and [`velocity_pressure`] solve them.

mod block;
mod problem;
mod samples;
mod system;
mod weights;

mod pressure_stress;
mod velocity_pressure;

pub use block::{BlockStokes, solve_block};
pub use pressure_stress::solve as solve_pressure_stress;
pub use problem::{Physics, Problem, Solution, Stress, Wall};
pub use samples::{Samples, Site};
pub use velocity_pressure::{Options, solve as solve_velocity_pressure};
pub use weights::{Lattice, Shares};
