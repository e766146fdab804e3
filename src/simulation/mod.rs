//! The simulation: stages, clock, reports, state.
