//! Krylov methods: what they are told and what they tell.
//!
//! The residual of a solve is always the true one, ‖b − A x‖₂/‖b‖₂, recomputed in f64 before a method
//! reports that it converged.

mod cg;
mod gmres;
mod inner;
mod minres;

use super::null_space::NullSpace;
use super::operator::{LinearOperator, Preconditioner};
use super::{Method, dump, vector};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::math::CHUNK;
pub use inner::InnerCg;
use rayon::prelude::*;
use std::borrow::Cow;

/// When to stop, and what is known about the system.
#[derive(Clone, Copy, Debug)]
pub struct KrylovParams<'a> {
    /// Stop when ‖b − A x‖ ≤ tolerance·‖b‖ (2-norms).
    pub tolerance: f64,
    /// Give up after this many iterations.
    pub max_iterations: usize,
    /// Give up when the best residual has not fallen by 1 % in this many iterations.
    pub stall_iterations: usize,
    /// Directions that GMRES keeps before it restarts.
    pub restart: usize,
    /// Null vectors of a singular matrix; they are projected out of b, the search and x.
    pub null_space: Option<&'a NullSpace>,
}

impl Default for KrylovParams<'_> {
    fn default() -> Self {
        Self { tolerance: 1e-8, max_iterations: 2000, stall_iterations: 300, restart: 40, null_space: None }
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The residual is below the tolerance.
    Converged,
    /// The residual no longer falls: the tolerance is below what rounding or the system allows.
    Stalled,
    /// The iterations were used up.
    MaxIterations,
    /// A direction p with pᵀA p ≤ 0 or a residual with rᵀM⁻¹r ≤ 0 was met: matrix or preconditioner is not positive definite.
    Indefinite,
    /// Matrix or preconditioner is not symmetric.
    NotSymmetric,
}

/// What a solve reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveInfo {
    /// The method, as in `"cg"`.
    pub method: &'static str,
    /// Iterations taken.
    pub iterations: usize,
    /// The true relative residual ‖b − A x‖/‖b‖ at the end.
    pub residual: f64,
    /// How it ended.
    pub outcome: Outcome,
}

impl SolveInfo {
    /// Whether the tolerance was reached.
    pub fn converged(&self) -> bool {
        self.outcome == Outcome::Converged
    }

    /// The info if the solve converged, an error that names `stage` if it did not.
    pub fn require(self, stage: &str) -> Result<Self> {
        if self.converged() {
            return Ok(self);
        }
        let Self { method, iterations, residual, outcome } = self;
        Err(Error::diverged(
            stage,
            format!("{method}: {outcome:?} after {iterations} iterations, residual {residual:.3e}"),
        ))
    }
}

/// Solve A x = b by a method, starting from the `x` given. See [`KrylovParams`] for when it stops.
pub fn krylov<A: LinearOperator + ?Sized>(
    method: Method,
    a: &A,
    m: &mut dyn Preconditioner,
    b: &[f64],
    x: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<SolveInfo> {
    dump::watched(method, a, b, x, params, |x| {
        check_system(method.name(), a.size(), b, x, params)?;
        let rounding = 1e-14 * vector::norm(b);
        let mut b = Cow::Borrowed(b);
        if let Some(space) = params.null_space {
            space.project(b.to_mut());
        }
        let scale = vector::norm(&b);
        let mut system = System { method: method.name(), a, m, b: &b, scale, params, cancel };
        // Zero, or only rounding after projection.
        if scale <= rounding.max(f64::MIN_POSITIVE) {
            vector::fill(0.0, x);
            return Ok(system.ended(0, 0.0, Outcome::Converged));
        }
        match method {
            Method::Cg => cg::solve(&mut system, x),
            Method::Minres => minres::solve(&mut system, x),
            Method::Fgmres => gmres::solve(&mut system, x),
        }
    })
}

/// Methods by their names.
macro_rules! methods {
    ($($(#[$meaning:meta])* $name:ident is $method:expr;)*) => {$(
        $(#[$meaning])*
        pub fn $name<A: LinearOperator + ?Sized>(
            a: &A,
            m: &mut dyn Preconditioner,
            b: &[f64],
            x: &mut [f64],
            params: &KrylovParams,
            cancel: &Cancel,
        ) -> Result<SolveInfo> {
            krylov($method, a, m, b, x, params, cancel)
        }
    )*};
}

methods! {
    /// [`krylov`] for symmetric positive definite, or singular but consistent, A and M.
    cg is Method::Cg;
    /// [`krylov`] for symmetric A; M must be positive definite.
    minres is Method::Minres;
    /// [`krylov`] for any square A; M may change from step to step.
    fgmres is Method::Fgmres;
}

/// Check sizes and numbers of a system before a method starts.
fn check_system(method: &str, n: usize, b: &[f64], x: &[f64], params: &KrylovParams) -> Result<()> {
    let invalid = |message: String| Err(Error::invalid(method, message));
    if b.len() != n || x.len() != n {
        return invalid(format!("{n} rows, but b has {} and x has {} elements", b.len(), x.len()));
    }
    if params.null_space.is_some_and(|s| s.size() != n) {
        return invalid(format!("the null space is not of size {n}"));
    }
    if !(params.tolerance > 0.0 && params.tolerance < 1.0) {
        return invalid(format!("the tolerance is {}, it must lie between 0 and 1", params.tolerance));
    }
    if !vector::all_finite(b) {
        return invalid("the right-hand side has numbers that are not finite".into());
    }
    if !vector::all_finite(x) {
        return invalid("the start vector has numbers that are not finite".into());
    }
    Ok(())
}

/// What a method works on: a system that was checked, with b in the range of A.
struct System<'a, A: ?Sized> {
    method: &'static str,
    a: &'a A,
    m: &'a mut dyn Preconditioner,
    b: &'a [f64],
    /// ‖b‖, not zero.
    scale: f64,
    params: &'a KrylovParams<'a>,
    cancel: &'a Cancel,
}

impl<A: LinearOperator + ?Sized> System<'_, A> {
    /// A vector of zeros that all threads write: its memory is that of another vector before.
    fn zeros(&self) -> Vec<f64> {
        self.b.par_iter().with_min_len(CHUNK).map(|_| 0.0).collect()
    }

    fn ended(&self, iterations: usize, residual: f64, outcome: Outcome) -> SolveInfo {
        SolveInfo { method: self.method, iterations, residual, outcome }
    }

    /// The length that a residual must reach.
    fn goal(&self) -> f64 {
        self.params.tolerance * self.scale
    }

    /// Remove the null vectors, if there are any.
    fn project(&self, v: &mut [f64]) {
        if let Some(space) = self.params.null_space {
            space.project(v);
        }
    }

    /// z = M⁻¹r without null vectors. A preconditioner that hears a request to stop ends early with anything in z, which
    /// nobody may look at.
    fn precondition(&mut self, r: &[f64], z: &mut [f64]) -> Result<()> {
        self.m.apply(r, z);
        self.cancel.check()?;
        self.project(z);
        Ok(())
    }

    /// r = b − A x.
    fn residual(&self, x: &[f64], r: &mut [f64]) {
        self.a.residual(self.b, x, r);
    }

    /// The end of a method that stopped for some reason: what it reached counts.
    fn settle(&self, iterations: usize, x: &mut [f64], r: &mut [f64], outcome: Outcome) -> SolveInfo {
        self.project(x);
        self.residual(x, r);
        let residual = vector::norm(r) / self.scale;
        let outcome = if residual <= self.params.tolerance { Outcome::Converged } else { outcome };
        self.ended(iterations, residual, outcome)
    }

    /// An error if a reduction is not finite: matrix or preconditioner holds a bad number, or it overflowed.
    fn finite(&self, iteration: usize, value: f64) -> Result<f64> {
        if value.is_finite() {
            return Ok(value);
        }
        Err(Error::diverged(
            self.method,
            format!(
                "a number that is not finite appeared in iteration {iteration}; look for one in the matrix"
            ),
        ))
    }
}

/// Notices when the residual has stopped falling.
struct StallWatch {
    best: f64,
    since: usize,
    patience: usize,
}

impl StallWatch {
    fn new(start: f64, patience: usize) -> Self {
        Self { best: start, since: 0, patience: patience.max(1) }
    }

    /// Whether the best residual has not fallen by 1 % for `patience` iterations.
    fn stalled(&mut self, iteration: usize, residual: f64) -> bool {
        if residual < 0.99 * self.best {
            (self.best, self.since) = (residual, iteration);
        }
        iteration >= self.since + self.patience
    }
}
