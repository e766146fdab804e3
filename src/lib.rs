//! Meniscus simulates liquids for pictures.
//!
//! A [`scene::Scene`] is turned into a [`simulation::Simulation`], which is stepped frame by frame
//! and read through named flat fields. See `ARCHITECTURE.md` for the plan of the house and
//! `src/references.md` for the citation keys.
//!
//! Layers, lowest first; a module imports only from lower ones:
//! {error, cancel, math} → {geometry, linalg} → {grid, mesh} → field → {scene, surface} → solver →
//! simulation → io → {ffi, bin}.

pub mod cancel;
pub mod error;
pub mod ffi;
pub mod field;
pub mod geometry;
pub mod grid;
pub mod io;
pub mod linalg;
pub mod math;
pub mod mesh;
pub mod scene;
pub mod simulation;
pub mod solver;
pub mod surface;

pub use cancel::Cancel;
pub use error::{Error, Result};
