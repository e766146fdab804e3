//! The staggered grid: weights, pressure, velocity.
