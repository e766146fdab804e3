//! Chebyshev polynomials of the scaled matrix as a preconditioner.
//!
//! With D⁻¹A having its spectrum in (0, λ], the polynomial of the given degree that is smallest on
//! [λ/ratio, λ] among those with value 1 at 0 damps the upper part of the spectrum. It needs only products
//! with A, so it works for matrix-free operators and has no order of rows: parallel with the same bits by
//! nature. It is symmetric in the D-inner product and positive as long as λ is not below the spectrum.

use super::operator::{LinearOperator, Preconditioner, inverse_diagonal};
use super::vector;
use crate::error::{Error, Result};

/// Power steps for the largest eigenvalue, and the margin by which its estimate is raised.
const POWER_STEPS: usize = 15;
const MARGIN: f64 = 1.1;

/// The polynomial preconditioner.
pub struct Chebyshev<'a, A: LinearOperator + ?Sized> {
    a: &'a A,
    inverse: Vec<f64>,
    degree: usize,
    /// Middle and half width of the interval.
    middle: f64,
    half: f64,
    residual: Vec<f64>,
    step: Vec<f64>,
}

impl<'a, A: LinearOperator + ?Sized> Chebyshev<'a, A> {
    /// A polynomial of `degree` ≥ 1 on the upper part [λ/ratio, λ] of the spectrum, λ estimated by power steps.
    pub fn new(a: &'a A, diagonal: &[f64], degree: usize, ratio: f64) -> Result<Self> {
        let n = a.size();
        if degree == 0 || ratio.is_nan() || ratio <= 1.0 || diagonal.len() != n {
            return Err(Error::invalid(
                "chebyshev",
                "the degree must be at least 1, the ratio above 1, and the diagonal as long as the matrix",
            ));
        }
        let inverse = inverse_diagonal("chebyshev", diagonal)?;
        let largest = MARGIN * largest_eigenvalue(a, &inverse)?;
        let (middle, half) = (0.5 * largest * (1.0 + 1.0 / ratio), 0.5 * largest * (1.0 - 1.0 / ratio));
        Ok(Self { a, inverse, degree, middle, half, residual: vec![0.0; n], step: vec![0.0; n] })
    }
}

impl<A: LinearOperator + ?Sized> Preconditioner for Chebyshev<'_, A> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let sigma = self.middle / self.half;
        let mut rho = 1.0 / sigma;
        vector::multiply(&self.inverse, r, &mut self.step);
        vector::scale(1.0 / self.middle, &mut self.step);
        vector::copy(&self.step, z);
        for _ in 1..self.degree {
            let next = 1.0 / (2.0 * sigma - rho);
            self.a.residual(r, z, &mut self.residual);
            vector::scale(next * rho, &mut self.step);
            let factor = 2.0 * next / self.half;
            vector::multiply_add(factor, &self.inverse, &self.residual, &mut self.step);
            vector::axpy(1.0, &self.step, z);
            rho = next;
        }
    }
}

/// The largest eigenvalue of D⁻¹A by power steps from a fixed start.
pub(crate) fn largest_eigenvalue<A: LinearOperator + ?Sized>(a: &A, inverse: &[f64]) -> Result<f64> {
    let n = a.size();
    let mut x: Vec<f64> =
        (0..n as u32).map(|i| (i.wrapping_mul(2654435761) >> 8) as f64 / 8388608.0 - 1.0).collect();
    let mut y = vec![0.0; n];
    let mut largest = 1.0;
    for _ in 0..POWER_STEPS {
        let before = vector::norm(&x);
        a.apply(&x, &mut y);
        vector::multiply(inverse, &y, &mut x);
        let after = vector::norm(&x);
        if !after.is_finite() {
            return Err(Error::invalid("largest eigenvalue", "the matrix has numbers that are not finite"));
        }
        if before == 0.0 || after == 0.0 {
            return Ok(1.0);
        }
        largest = after / before;
        vector::scale(1.0 / after, &mut x);
    }
    Ok(largest)
}
