//! Saddle-point systems and their block preconditioners.
//!
//! ```text
//!   K = | A   Bᵀ |      u: n velocities, A symmetric positive definite
//!       | B  −C  |      p: m pressures,  C symmetric positive semi-definite (often zero)
//! ```
//!
//! With the Schur complement S = B A⁻¹Bᵀ + C, diag(A, S) gives MINRES three distinct eigenvalues [MGW00], and
//! the triangular form gives FGMRES two. Two approximations of S⁻¹:
//!
//! - Cahouet–Chabard [CC88]: for A = ρ/Δt·M + viscosity, S⁻¹ ≈ (B M⁻¹Bᵀ)⁻¹·ρ/Δt + 2μ·(cell volume)⁻¹. In the
//!   units of the caller: S⁻¹r ≈ viscous∘r + Poisson⁻¹r, where Poisson is B D⁻¹Bᵀ with D the mass part of A.
//! - Diagonal: S ≈ diag(B diag(A)⁻¹ Bᵀ + C), which costs nothing and is good where A is nearly diagonal.

use super::csr::Csr;
use super::krylov::{KrylovParams, cg};
use super::operator::{Jacobi, LinearOperator, Preconditioner};
use super::vector;
use crate::cancel::Cancel;
use crate::error::{Error, Result};

/// The matrix K.
#[derive(Clone, Debug)]
pub struct Saddle {
    a: Csr,
    b: Csr,
    transposed: Csr,
    c: Option<Csr>,
}

impl Saddle {
    /// From A (n×n), B (m×n) and, unless it is zero, C (m×m).
    pub fn new(a: Csr, b: Csr, c: Option<Csr>) -> Result<Self> {
        let (n, m) = (a.rows(), b.rows());
        let fits = a.column_count() == n && b.column_count() == n;
        if !fits || c.as_ref().is_some_and(|c| c.rows() != m || c.column_count() != m) {
            let message =
                format!("A is {n}×{}, B is {m}×{}: they do not fit", a.column_count(), b.column_count());
            return Err(Error::invalid("saddle point", message));
        }
        let transposed = b.transpose();
        Ok(Self { a, b, transposed, c })
    }

    /// The number n of velocities; pressures follow them.
    pub fn velocities(&self) -> usize {
        self.a.rows()
    }

    /// The block B.
    pub fn divergence(&self) -> &Csr {
        &self.b
    }

    /// diag(B diag(A)⁻¹ Bᵀ + C)⁻¹, the diagonal approximation of S⁻¹.
    pub fn diagonal_schur(&self) -> Result<Jacobi> {
        let velocity = self.a.diagonal();
        let pressure = self.c.as_ref().map(Csr::diagonal);
        let entry = |i: usize| {
            let (columns, values) = self.b.row(i);
            let sum: f64 = columns.iter().zip(values).map(|(&j, v)| v * v / velocity[j as usize]).sum();
            sum + pressure.as_ref().map_or(0.0, |c| c[i])
        };
        Jacobi::new(&(0..self.b.rows()).map(entry).collect::<Vec<_>>())
    }
}

impl LinearOperator for Saddle {
    fn size(&self) -> usize {
        self.a.rows() + self.b.rows()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let (u, p) = x.split_at(self.velocities());
        let (v, q) = y.split_at_mut(self.velocities());
        self.a.multiply(u, v);
        self.transposed.add_to(p, v);
        match &self.c {
            Some(c) => {
                c.multiply(p, q);
                vector::scale(-1.0, q);
                self.b.add_to(u, q);
            }
            None => self.b.multiply(u, q),
        }
    }
}

/// diag(A, S)⁻¹ for MINRES: both parts must be symmetric, positive and linear (V- or W-cycles).
pub struct BlockDiagonal<'a> {
    pub velocity: &'a mut dyn Preconditioner,
    pub pressure: &'a mut dyn Preconditioner,
    /// Rows of the first block.
    pub velocities: usize,
}

impl Preconditioner for BlockDiagonal<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let (z_u, z_p) = z.split_at_mut(self.velocities);
        self.velocity.apply(&r[..self.velocities], z_u);
        self.pressure.apply(&r[self.velocities..], z_p);
    }
}

/// The inverse of the block triangle (A 0; B −S) for FGMRES; its parts may vary from call to call.
pub struct BlockTriangular<'a> {
    velocity: &'a mut dyn Preconditioner,
    pressure: &'a mut dyn Preconditioner,
    divergence: &'a Csr,
    work: Vec<f64>,
}

impl<'a> BlockTriangular<'a> {
    pub fn new(
        system: &'a Saddle,
        velocity: &'a mut dyn Preconditioner,
        pressure: &'a mut dyn Preconditioner,
    ) -> Self {
        let divergence = system.divergence();
        Self { velocity, pressure, divergence, work: vec![0.0; divergence.rows()] }
    }
}

impl Preconditioner for BlockTriangular<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let (z_u, z_p) = z.split_at_mut(self.divergence.column_count());
        self.velocity.apply(&r[..z_u.len()], z_u);
        // z_p = S⁻¹(B z_u − r_p).
        self.divergence.multiply(z_u, &mut self.work);
        vector::axpy(-1.0, &r[z_u.len()..], &mut self.work);
        self.pressure.apply(&self.work, z_p);
    }
}

/// A few steps of CG as a preconditioner of FGMRES: an inexact but strong inverse of a block.
pub struct InnerSolve<'a, A: LinearOperator + ?Sized> {
    pub matrix: &'a A,
    pub preconditioner: &'a mut dyn Preconditioner,
    /// Relative residual at which the inner solve stops.
    pub tolerance: f64,
    pub max_iterations: usize,
}

impl<A: LinearOperator + ?Sized> Preconditioner for InnerSolve<'_, A> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let Self { tolerance, max_iterations, .. } = *self;
        let params = KrylovParams { tolerance, max_iterations, ..Default::default() };
        vector::fill(0.0, z);
        // An inner solve that fails leaves a poor direction; the outer method sees the true residual.
        let done = cg(self.matrix, &mut *self.preconditioner, r, z, &params, &Cancel::new());
        if done.is_err() {
            self.preconditioner.apply(r, z);
        }
    }
}

/// S⁻¹r ≈ viscous∘r + Poisson⁻¹r.
pub struct CahouetChabard<'a> {
    viscous: Vec<f64>,
    poisson: &'a mut dyn Preconditioner,
}

impl<'a> CahouetChabard<'a> {
    /// `viscous` is 2μ over the weight of a pressure cell, in the units of the system; it must not be negative.
    pub fn new(viscous: Vec<f64>, poisson: &'a mut dyn Preconditioner) -> Result<Self> {
        match viscous.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            None => Ok(Self { viscous, poisson }),
            Some(i) => {
                Err(Error::invalid("cahouet-chabard", format!("the viscosity of row {i} is {}", viscous[i])))
            }
        }
    }
}

impl Preconditioner for CahouetChabard<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        self.poisson.apply(r, z);
        vector::multiply_add(1.0, &self.viscous, r, z);
    }
}
