//! Algebraic multigrid by aggregation, as a preconditioner.
//!
//! Rows are gathered in groups of about eight ([`aggregate`](self::aggregate)), each group becomes one
//! unknown of the next level, and so on until a dense factorisation is cheap. One application is a cycle:
//! smooth, restrict the residual, solve the coarse system approximately, prolong, smooth again.
//!
//! Plain aggregation makes set-up cheap (no sparse products) and keeps the coarse matrices as sparse as
//! the fine one, but a V-cycle over it slows down with every level. The K-cycle [NV08] cures this: each
//! coarse system is solved by one or two steps of flexible conjugate gradients, preconditioned by the
//! cycle below it. That makes the preconditioner slightly nonlinear, which the flexible β of our CG allows.
//!
//! Set-up works in f64; the hierarchy is stored in f32 by default, since a preconditioner needs no more
//! and memory bandwidth is what a cycle costs. Matrix and vectors are scaled by powers of two first, so
//! that the range of f32 is never an issue.

mod aggregate;
mod block_smoother;
mod blocks;
mod cycle;
mod smoother;
mod transfer;

use crate::error::{Error, Result};
use crate::linalg::csr::Csr;
use crate::linalg::operator::Preconditioner;
use crate::linalg::vector::{self, Real};
pub use blocks::BlockAmg;
use cycle::Hierarchy;
use transfer::NearNull;

/// How a coarse system is solved inside the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// One visit of the coarser level.
    V,
    /// Two visits.
    W,
    /// One or two steps of conjugate gradients; not quite linear.
    K,
}

/// The precision in which the hierarchy is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Single,
    Double,
}

/// How a hierarchy is built and used.
#[derive(Clone, Copy, Debug)]
pub struct AmgParams {
    pub cycle: Cycle,
    pub precision: Precision,
    /// Rounds of pairwise matching: groups have about 2^passes rows.
    pub passes: usize,
    /// Smooth the prolongation (smoothed aggregation): fewer iterations, a dearer set-up and denser levels.
    pub smoothed: bool,
    /// A level with at most this many rows is solved directly.
    pub bottom_rows: usize,
}

impl Default for AmgParams {
    fn default() -> Self {
        Self { cycle: Cycle::K, precision: Precision::Single, passes: 3, smoothed: false, bottom_rows: 200 }
    }
}

/// An algebraic multigrid preconditioner.
#[derive(Debug)]
pub struct Amg {
    levels: Levels,
    sizes: Vec<(usize, usize)>,
    params: AmgParams,
    near: Option<NearNull>,
}

#[derive(Debug)]
enum Levels {
    Single(Hierarchy<f32>),
    Double(Hierarchy<f64>),
}

impl Amg {
    /// Build the hierarchy of a symmetric positive (semi-)definite matrix whose near-null vector is the constant.
    pub fn new(a: &Csr, params: &AmgParams) -> Result<Self> {
        let near = params.smoothed.then(|| NearNull { width: 1, values: vec![1.0; a.rows()] });
        Self::build(a, near, params)
    }

    /// Build the hierarchy of a matrix with `width` near-null vectors; row i has the entries
    /// `near_null[i*width..][..width]`. For viscosity these are the six rigid motions, centred on the liquid.
    pub fn with_near_null(a: &Csr, width: usize, near_null: &[f64], params: &AmgParams) -> Result<Self> {
        if width == 0
            || width.checked_mul(a.rows()) != Some(near_null.len())
            || !vector::all_finite(near_null)
        {
            let message = format!(
                "{width} near-null vectors of {} rows need as many finite numbers, not {}",
                a.rows(),
                near_null.len()
            );
            return Err(Error::invalid("amg", message));
        }
        Self::build(a, Some(NearNull { width, values: near_null.to_vec() }), params)
    }

    fn build(a: &Csr, near: Option<NearNull>, params: &AmgParams) -> Result<Self> {
        check(a)?;
        let mut sizes = Vec::new();
        let levels = match params.precision {
            Precision::Single => Levels::Single(Hierarchy::new(a, near.clone(), params, None, &mut sizes)?),
            Precision::Double => Levels::Double(Hierarchy::new(a, near.clone(), params, None, &mut sizes)?),
        };
        Ok(Self { levels, sizes, params: *params, near })
    }

    /// The hierarchy of a matrix of the same size, with the groups of this one: for values that changed. None of our
    /// simulators keeps its pattern from one solve to the next, since the surface of the liquid moves through the
    /// cells; a program that calls the engine with a pattern of its own may.
    pub fn update(self, a: &Csr) -> Result<Self> {
        check(a)?;
        let Self { levels, params, near, .. } = self;
        let mut sizes = Vec::new();
        let levels = match levels {
            Levels::Single(old) => {
                Levels::Single(Hierarchy::new(a, near.clone(), &params, Some(old), &mut sizes)?)
            }
            Levels::Double(old) => {
                Levels::Double(Hierarchy::new(a, near.clone(), &params, Some(old), &mut sizes)?)
            }
        };
        Ok(Self { levels, sizes, params, near })
    }

    /// Rows and entries of each level.
    pub fn sizes(&self) -> &[(usize, usize)] {
        &self.sizes
    }

    /// Entries of all levels over those of the first.
    pub fn operator_complexity(&self) -> f64 {
        let total: usize = self.sizes.iter().map(|s| s.1).sum();
        total as f64 / self.sizes.first().map_or(1, |s| s.1.max(1)) as f64
    }
}

impl Preconditioner for Amg {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        match &mut self.levels {
            Levels::Single(h) => apply(h, r, z),
            Levels::Double(h) => apply(h, r, z),
        }
    }
}

fn check(a: &Csr) -> Result<()> {
    if a.rows() != a.column_count() {
        return Err(Error::invalid("amg", format!("{} rows but {} columns", a.rows(), a.column_count())));
    }
    if !a.is_finite() {
        return Err(Error::invalid("amg", "the matrix has numbers that are not finite"));
    }
    Ok(())
}

/// Scale to about one, convert, cycle, convert back.
fn apply<T: Real>(hierarchy: &mut Hierarchy<T>, r: &[f64], z: &mut [f64]) {
    let size = vector::max_norm(r);
    if !(size > 0.0 && size.is_finite()) {
        // A residual of zero maps to zero; one that is not finite is passed on for CG to refuse.
        vector::scaled_copy(size, r, z);
        return;
    }
    let unit = power_of_two(size);
    hierarchy.solve(r, 1.0 / unit, z, unit);
}

/// The power of two at or below a positive number.
fn power_of_two(v: f64) -> f64 {
    f64::from_bits(v.max(f64::MIN_POSITIVE).to_bits() & 0x7FF0_0000_0000_0000)
}
