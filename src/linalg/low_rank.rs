//! A matrix plus a product of low rank: A + Jᵀ C J.
//!
//! A rigid body adds JᵀM⁻¹J to the pressure matrix, of rank six but dense over all cells it touches. It is
//! never multiplied out: a product costs one pass over the entries of J each way.

use super::csr::Csr;
use super::operator::LinearOperator;
use super::vector;
use crate::error::{Error, Result};

/// A + Jᵀ C J with J sparse (k×n) and C small, dense and symmetric.
pub struct LowRank<'a, A: LinearOperator + ?Sized> {
    base: &'a A,
    j: Csr,
    transposed: Csr,
    middle: Vec<f64>,
}

impl<'a, A: LinearOperator + ?Sized> LowRank<'a, A> {
    /// `middle` holds the rows of C one after the other.
    pub fn new(base: &'a A, j: Csr, middle: Vec<f64>) -> Result<Self> {
        let k = j.rows();
        if j.column_count() != base.size() || middle.len() != k * k || !vector::all_finite(&middle) {
            let message = format!(
                "{k}×{} onto {} rows with {} numbers between",
                j.column_count(),
                base.size(),
                middle.len()
            );
            return Err(Error::invalid("low-rank addition", message));
        }
        let transposed = j.transpose();
        Ok(Self { base, j, transposed, middle })
    }
}

impl<A: LinearOperator + ?Sized> LinearOperator for LowRank<'_, A> {
    fn size(&self) -> usize {
        self.base.size()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let k = self.j.rows();
        let mut share = vec![0.0; k];
        for (row, share) in share.iter_mut().enumerate() {
            let (columns, values) = self.j.row(row);
            let part = |r: std::ops::Range<usize>| {
                columns[r.clone()].iter().zip(&values[r]).map(|(&c, v)| v * x[c as usize]).sum()
            };
            *share = crate::math::ordered_sum(columns.len(), part);
        }
        let moved: Vec<f64> = self
            .middle
            .chunks(k.max(1))
            .map(|row| row.iter().zip(&share).map(|(c, s)| c * s).sum())
            .collect();
        self.base.apply(x, y);
        self.transposed.add_to(&moved, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_that_of_the_sum() {
        let base = Csr::identity(3).unwrap();
        let j = Csr::from_triplets(2, 3, &[(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]).unwrap();
        let a = LowRank::new(&base, j, vec![2.0, 1.0, 1.0, 4.0]).unwrap();
        let mut y = [0.0; 3];
        a.apply(&[1.0, 1.0, 1.0], &mut y);
        // J x = (3, 3), C J x = (9, 15), Jᵀ(…) = (9, 45, 18).
        assert_eq!(y, [10.0, 46.0, 19.0]);
        assert!(LowRank::new(&base, Csr::identity(2).unwrap(), vec![1.0; 4]).is_err());
    }
}
