//! Null vectors of a singular system: one vector for each connected component.
//!
//! A closed region of liquid fixes its pressure only up to a constant. The matrix is then singular,
//! and the system is solvable only if the right-hand side is orthogonal to the null vectors. The
//! vectors have disjoint supports, so they are orthogonal and projecting them out one by one,
//! v ← v − n (n·v)/(n·n), is exact.

use crate::error::{Error, Result};
use crate::math::{CHUNK, ordered_sum};
use rayon::prelude::*;

/// The label of a row that belongs to no singular component.
pub const NONE: u32 = u32::MAX;

/// Null vectors with disjoint supports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NullSpace {
    /// Rows of component c: `rows[starts[c]..starts[c+1]]`, ascending.
    starts: Vec<usize>,
    rows: Vec<u32>,
    /// The entries of the unit null vectors, along `rows`.
    values: Vec<f64>,
    /// For each row its component, or [`NONE`], and its entry.
    labels: Vec<u32>,
    entries: Vec<f64>,
}

impl NullSpace {
    /// Constants on the rows of equal label; [`u32::MAX`] marks rows of components that are not singular.
    pub fn constants(labels: &[u32]) -> Result<Self> {
        Self::weighted(labels, |_| 1.0)
    }

    /// Vectors with the entries `value(row)` on the rows of equal label, for scaled systems: if A has
    /// the constant, S A S has the null vector S⁻¹1.
    pub fn weighted(labels: &[u32], value: impl Fn(usize) -> f64) -> Result<Self> {
        let count = labels.iter().filter(|&&l| l != NONE).max().map_or(0, |&l| l as usize + 1);
        if count > labels.len() {
            return Err(Error::invalid(
                "null space",
                format!(
                    "the largest label is {}, with {} rows labels must be below that",
                    count - 1,
                    labels.len()
                ),
            ));
        }
        let mut starts = vec![0usize; count + 1];
        labels.iter().filter(|&&l| l != NONE).for_each(|&l| starts[l as usize + 1] += 1);
        for c in 0..count {
            starts[c + 1] += starts[c];
        }
        let (mut next, mut rows) = (starts.clone(), vec![0u32; starts[count]]);
        for (row, &l) in labels.iter().enumerate().filter(|(_, l)| **l != NONE) {
            rows[next[l as usize]] = row as u32;
            next[l as usize] += 1;
        }
        let mut values: Vec<f64> = rows.iter().map(|&r| value(r as usize)).collect();
        for c in 0..count {
            let part = &mut values[starts[c]..starts[c + 1]];
            let length = part.iter().map(|v| v * v).sum::<f64>().sqrt();
            if !(part.is_empty() || length > 0.0 && length.is_finite()) {
                return Err(Error::invalid(
                    "null space",
                    format!("the vector of label {c} has norm {length}"),
                ));
            }
            part.iter_mut().for_each(|v| *v /= length);
        }
        let mut entries = vec![0.0; labels.len()];
        rows.iter().zip(&values).for_each(|(&row, v)| entries[row as usize] = *v);
        Ok(Self { starts, rows, values, labels: labels.to_vec(), entries })
    }

    /// Rows of the system.
    pub fn size(&self) -> usize {
        self.labels.len()
    }

    /// Number of null vectors.
    pub fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The label of each row, [`u32::MAX`] for none, and its entry in the unit null vector.
    pub fn by_row(&self) -> (&[u32], &[f64]) {
        (&self.labels, &self.entries)
    }

    /// The share of `v` along null vector `c`.
    pub fn component(&self, c: usize, v: &[f64]) -> f64 {
        let span = self.starts[c]..self.starts[c + 1];
        let (rows, values) = (&self.rows[span.clone()], &self.values[span]);
        ordered_sum(rows.len(), |r| {
            rows[r.clone()].iter().zip(&values[r]).map(|(&i, n)| n * v[i as usize]).sum()
        })
    }

    /// Σ of the entries of unit null vector `c`: √n for a constant on n rows.
    pub fn length(&self, c: usize) -> f64 {
        self.values[self.starts[c]..self.starts[c + 1]].iter().sum()
    }

    /// Make `v` orthogonal to all null vectors.
    pub fn project(&self, v: &mut [f64]) {
        if self.count() == 0 {
            return;
        }
        // Supports are disjoint, so that no vector changes the share of another.
        let shares: Vec<f64> = (0..self.count()).map(|c| self.component(c, v)).collect();
        let chunk = |(c, part): (usize, &mut [f64])| {
            let from = c * CHUNK;
            let rows = self.labels[from..].iter().zip(&self.entries[from..]);
            for (v, (&label, n)) in part.iter_mut().zip(rows) {
                if label != NONE {
                    *v -= shares[label as usize] * n;
                }
            }
        };
        if v.len() <= CHUNK { chunk((0, v)) } else { v.par_chunks_mut(CHUNK).enumerate().for_each(chunk) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_component_loses_its_own_mean() {
        let space = NullSpace::constants(&[0, 1, NONE, 0, 1]).unwrap();
        let mut v = [1.0, 10.0, 7.0, 3.0, 20.0];
        space.project(&mut v);
        let expected = [-1.0, -5.0, 7.0, 1.0, 5.0];
        assert!(v.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-14), "{v:?}");
        assert_eq!(space.count(), 2);
    }

    #[test]
    fn a_scaled_system_has_a_scaled_null_vector() {
        let space = NullSpace::weighted(&[0, 0], |i| [3.0, 4.0][i]).unwrap();
        let mut v = [3.0, 4.0];
        space.project(&mut v);
        assert!(v.iter().all(|v| v.abs() < 1e-15));
        assert!(NullSpace::weighted(&[0], |_| 0.0).is_err());
        assert!(NullSpace::constants(&[9]).is_err());
    }
}
