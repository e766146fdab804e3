//! The discrete equations on the graded lattice.

mod block;
mod bodies;
mod carry;
mod embedded;
mod reconstruct;
mod velocity;
mod viscosity;

pub use block::{LatticeBlock, LatticeField, LatticeSolve, Seat};
pub use bodies::{body_rows, missing_lift};
pub use carry::{Carrier, held_by};
pub use embedded::{Afloat, Cut, Embedded, open_shares, touches_wall};
pub use reconstruct::{extend, extend_velocity, fit_cells, fit_leaving, reconstruct};
pub use velocity::{LatticeValues, LatticeVelocity};
pub use viscosity::{
    Coupling, Crept, FaceViscosity, FacesToNodes, Hold, Moving, NodalSolver, NodalViscosity, Thick,
    ThickOptions, Thickened, creep, stresses, thicken,
};
