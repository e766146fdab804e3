//! The staggered grid: weights of solids, pressure, and the exchange with particles.

mod block;
mod block_weights;
mod bodies;
pub mod cases;
mod drag;
pub mod graph;
mod grid;
mod multigrid;
mod peel;
mod pressure;
mod regions;
mod sheets;
mod stencil;
mod stokes;
mod tension;
mod transfer;
mod viscosity;
mod walls;

pub(crate) use block::Equations;
pub use block::{Block, BlockField, BlockOptions, Place, Scheme};
pub use bodies::{Afloat, Bodies, Carried, Contact};
pub use drag::wall_drag;
pub use grid::{MacGrid, REACH_CELLS};
pub use multigrid::{Multigrid, PressureSolve};
pub use pressure::{Asked, PressureOptions, Projected, project, project_with_bodies};
pub use regions::ClosedRegions;
pub use sheets::close_faces;
pub use stencil::Stencil;
pub use stokes::{Crept, StokesSolve, creep};
pub use tension::{surface_tension, tension_step};
pub use transfer::{Transfer, grid_to_particles, particles_to_grid};
pub use viscosity::{
    Diffused, Face, Held, NEGLIGIBLE, ViscosityOptions, ViscousSolve, ViscousSystem, diffuse,
};
pub use walls::{constrain, slide};
