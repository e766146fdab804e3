//! What Krylov methods need to know: a matrix that can be applied, and something close to its inverse.
//!
//! A [`Preconditioner`] is applied through `&mut self`, so that it owns its scratch vectors and
//! allocates nothing per application; one preconditioner serves one solve at a time.

use super::csr::Csr;
use super::vector;
use crate::error::{Error, Result};

/// A matrix with more rows than this is not found column by column.
const FEW: usize = 4096;

/// A square matrix known by its action.
pub trait LinearOperator: Sync {
    /// Rows and columns.
    fn size(&self) -> usize;

    /// y ← A x.
    fn apply(&self, x: &[f64], y: &mut [f64]);

    /// y ← A x, and x·y. Assembled matrices fuse the two passes.
    fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        self.apply(x, y);
        vector::dot(x, y)
    }

    /// r ← b − A x.
    fn residual(&self, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.apply(x, r);
        vector::xpay(b, -1.0, r);
    }

    /// A guess of the first unknowns, the others zero, or nothing but zeros: what leaves less to be done.
    fn start_from(&self, b: &[f64], guess: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; b.len()];
        x[..guess.len()].copy_from_slice(guess);
        let mut r = vec![0.0; b.len()];
        self.residual(b, &x, &mut r);
        if vector::norm(&r) > vector::norm(b) {
            x.fill(0.0);
        }
        x
    }

    /// The entries, for a solve that failed and is written down. Without assembled ones a small matrix is found
    /// column by column; None for a large one.
    fn assembled(&self) -> Option<Csr> {
        let n = self.size();
        if n > FEW {
            return None;
        }
        let (mut x, mut y, mut triplets) = (vec![0.0; n], vec![0.0; n], Vec::new());
        for j in 0..n {
            x[j] = 1.0;
            self.apply(&x, &mut y);
            x[j] = 0.0;
            let entries = y.iter().enumerate().filter(|(_, v)| **v != 0.0);
            triplets.extend(entries.map(|(i, v)| (i as u32, j as u32, *v)));
        }
        Csr::from_triplets(n, n, &triplets).ok()
    }
}

/// An approximation of A⁻¹. For CG and MINRES it must be symmetric and positive definite.
pub trait Preconditioner {
    /// z ← M⁻¹ r.
    fn apply(&mut self, r: &[f64], z: &mut [f64]);
}

/// No preconditioning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl Preconditioner for Identity {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        vector::copy(r, z);
    }
}

/// Division by the diagonal.
#[derive(Clone, Debug)]
pub struct Jacobi {
    inverse: Vec<f64>,
}

impl Jacobi {
    /// From the diagonal of a matrix, which must be positive.
    pub fn new(diagonal: &[f64]) -> Result<Self> {
        Ok(Self { inverse: inverse_diagonal("jacobi", diagonal)? })
    }
}

impl Preconditioner for Jacobi {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        vector::multiply(&self.inverse, r, z);
    }
}

/// 1/d, or an error that names the row whose diagonal is not positive.
pub(crate) fn inverse_diagonal(what: &str, diagonal: &[f64]) -> Result<Vec<f64>> {
    match diagonal.iter().position(|d| !(*d > 0.0 && d.is_finite())) {
        None => Ok(diagonal.iter().map(|d| 1.0 / d).collect()),
        Some(row) => {
            Err(Error::invalid(what, format!("the diagonal of row {row} is {}, not positive", diagonal[row])))
        }
    }
}
