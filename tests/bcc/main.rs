//! The graded tetrahedral lattice: its geometry, its equations, and liquid on it.

mod bodies;
mod lattice;
mod meeting;
mod peel;
mod pieces;
mod pressure;
mod simulator;
mod support;
mod velocity;
mod vessels;
mod viscosity;
