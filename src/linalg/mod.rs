//! Sparse matrices, Krylov methods, preconditioners and bound-constrained quadratic programs.
//!
//! A simulator assembles a [`Csr`] (or implements [`LinearOperator`]), builds a [`Preconditioner`]
//! and calls a Krylov method such as [`cg`]. Every kernel runs on the rayon pool that is current
//! and gives the same bits for any number of threads: rows are independent, and sums are taken over
//! chunks of fixed length in order. Krylov vectors and residuals are f64; preconditioners may keep
//! their own copy in f32.

mod accumulate;
mod amg;
pub mod cases;
mod csr;
mod dense;
mod incomplete;
mod krylov;
mod null_space;
mod operator;
pub mod vector;

pub use amg::{Amg, AmgParams, Cycle, Precision};
pub use csr::Csr;
pub use dense::DenseLdlt;
pub use incomplete::{Ic0, Ic0Params};
pub use krylov::{KrylovParams, Outcome, SolveInfo, cg};
pub use null_space::NullSpace;
pub use operator::{Identity, Jacobi, LinearOperator, Preconditioner};
