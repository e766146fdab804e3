//! Dense LDLᵀ of small symmetric matrices, also singular ones.
//!
//! A = L D Lᵀ without pivoting, for matrices that are positive semi-definite up to rounding. A pivot
//! below 10⁻¹¹ of the diagonal it started from belongs to a null vector: its unknown is set to zero,
//! which solves a consistent singular system exactly and keeps the inverse symmetric and semi-definite.

use super::operator::Preconditioner;
use super::vector::chunk_dot;
use crate::error::{Error, Result};

/// The share of the original diagonal below which a pivot counts as zero.
const ZERO_PIVOT: f64 = 1e-11;

/// A factored matrix.
#[derive(Clone, Debug)]
pub struct DenseLdlt {
    n: usize,
    /// Strictly lower rows of L, packed.
    lower: Vec<f64>,
    inverse: Vec<f64>,
}

impl DenseLdlt {
    /// Factor the symmetric matrix whose rows are stored one after the other; only the lower triangle is read.
    pub fn new(n: usize, a: &[f64]) -> Result<Self> {
        if a.len() != n * n {
            return Err(Error::invalid("dense ldlt", format!("{} numbers for {n} rows", a.len())));
        }
        let start = |i: usize| i * i.saturating_sub(1) / 2;
        let mut lower = vec![0.0; start(n) + n];
        let mut inverse = vec![0.0; n];
        for i in 0..n {
            let (done, row) = lower.split_at_mut(start(i));
            let mut pivot = a[i * n + i];
            // Row i of L·D, then of L.
            for j in 0..i {
                row[j] = a[i * n + j] - chunk_dot(&row[..j], &done[start(j)..start(j) + j]);
            }
            for j in 0..i {
                let l = row[j] * inverse[j];
                pivot -= row[j] * l;
                row[j] = l;
            }
            if !pivot.is_finite() {
                return Err(Error::invalid("dense ldlt", format!("the pivot of row {i} is not finite")));
            }
            if pivot > ZERO_PIVOT * a[i * n + i].abs() {
                inverse[i] = 1.0 / pivot;
            }
        }
        lower.truncate(start(n));
        Ok(Self { n, lower, inverse })
    }

    /// Rows.
    pub fn size(&self) -> usize {
        self.n
    }

    /// x ← A⁻¹ x.
    pub fn solve(&self, x: &mut [f64]) {
        let row = |i: usize| &self.lower[i * i.saturating_sub(1) / 2..][..i];
        for i in 0..self.n {
            x[i] -= chunk_dot(row(i), &x[..i]);
        }
        x.iter_mut().zip(&self.inverse).for_each(|(x, d)| *x *= d);
        for i in (0..self.n).rev() {
            let (before, at) = x.split_at_mut(i);
            before.iter_mut().zip(row(i)).for_each(|(x, l)| *x -= l * at[0]);
        }
    }
}

impl Preconditioner for DenseLdlt {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        z.copy_from_slice(r);
        self.solve(z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_is_solved() {
        let ldlt = DenseLdlt::new(2, &[4.0, 2.0, 2.0, 3.0]).unwrap();
        let mut x = [8.0, 8.0];
        ldlt.solve(&mut x);
        assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15);
    }

    #[test]
    fn a_singular_consistent_system_is_solved() {
        let ldlt = DenseLdlt::new(3, &[1.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 1.0]).unwrap();
        let mut x = [1.0, 1.0, -2.0];
        ldlt.solve(&mut x);
        assert!((x[0] - x[1] - 1.0).abs() < 1e-14 && (x[2] - x[1] + 2.0).abs() < 1e-14);
    }
}
