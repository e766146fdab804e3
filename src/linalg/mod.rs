//! Sparse matrices, Krylov methods, preconditioners and bound-constrained quadratic programs.
//!
//! A simulator assembles a [`Csr`] (or implements [`LinearOperator`]), builds a [`Preconditioner`]
//! and calls a Krylov method such as [`cg`]. Every kernel runs on the rayon pool that is current
//! and gives the same bits for any number of threads: rows are independent, and sums are taken over
//! chunks of fixed length in order. Krylov vectors and residuals are f64; preconditioners may keep
//! their own copy in f32.

mod accumulate;
mod amg;
pub mod bench;
mod block_csr;
mod bounds;
pub mod cases;
mod chebyshev;
mod csr;
mod dense;
pub mod dump;
mod gauss_seidel;
mod incomplete;
mod krylov;
mod low_rank;
pub mod matrix_market;
mod null_space;
mod operator;
mod prefetch;
mod recipe;
mod saddle;
mod sparse_ldlt;
pub mod vector;

pub use amg::{Amg, AmgParams, BlockAmg, Cycle, Precision};
pub use block_csr::{BlockCsr, BlockJacobi};
pub use bounds::{BoundInfo, active_set, mprgp};
pub use chebyshev::Chebyshev;
pub use csr::Csr;
pub use dense::DenseLdlt;
pub use gauss_seidel::SymmetricGaussSeidel;
pub use incomplete::{Ic0, Ic0Params};
pub use krylov::{InnerCg, KrylovParams, Outcome, SolveInfo, cg, fgmres, krylov, minres};
pub use low_rank::LowRank;
pub use null_space::NullSpace;
pub use operator::{Identity, Jacobi, LinearOperator, Preconditioner};
pub use recipe::{Method, PreconditionerKind, Recipe};
pub use saddle::{BlockDiagonal, BlockTriangular, CahouetChabard, InnerSolve, Saddle};
pub use sparse_ldlt::SparseLdlt;
