//! Symmetric Gauss–Seidel with the rows sorted by colour.
//!
//! No two rows of a colour are coupled, so all of them can be relaxed at once: parallel, and the result
//! depends on the colouring alone. Colours are given greedily in the order of rows: the smallest one that
//! no coupled earlier row has. With the rows permuted colour by colour,
//! M = (D+L) D⁻¹ (D+U), which is symmetric and positive definite whenever A is.

use super::csr::Csr;
use super::operator::{Preconditioner, inverse_diagonal};
use crate::error::{Error, Result};
use crate::math::CHUNK;
use rayon::prelude::*;

/// One forward and one backward sweep, colour by colour.
#[derive(Clone, Debug)]
pub struct SymmetricGaussSeidel {
    /// Rows of colour c stand at `starts[c]..starts[c+1]` of the permuted order.
    starts: Vec<usize>,
    /// The row at each place, and the place of each row.
    rows: Vec<u32>,
    places: Vec<u32>,
    inverse: Vec<f64>,
    /// Rows in permuted order divided by their diagonal, without it; columns are places.
    lower: Csr,
    upper: Csr,
    work: Vec<f64>,
}

impl SymmetricGaussSeidel {
    /// From a symmetric matrix with a positive diagonal.
    pub fn new(a: &Csr) -> Result<Self> {
        let n = a.rows();
        if n != a.column_count() {
            return Err(Error::invalid("gauss-seidel", format!("{n} rows, {} columns", a.column_count())));
        }
        let inverse = inverse_diagonal("gauss-seidel", &a.diagonal())?;
        let colours = colour(a);
        let count = colours.iter().max().map_or(0, |&c| c as usize + 1);
        let mut starts = vec![0usize; count + 1];
        colours.iter().for_each(|&c| starts[c as usize + 1] += 1);
        for c in 0..count {
            starts[c + 1] += starts[c];
        }
        let (mut next, mut rows, mut place) = (starts.clone(), vec![0u32; n], vec![0u32; n]);
        for (i, &c) in colours.iter().enumerate() {
            rows[next[c as usize]] = i as u32;
            place[i] = next[c as usize] as u32;
            next[c as usize] += 1;
        }
        let half = |lower: bool| {
            Csr::from_rows(n, n, |p, row| {
                let i = rows[p] as usize;
                let (columns, values) = a.row(i);
                let entries = columns.iter().zip(values).map(|(&c, v)| (place[c as usize], v * inverse[i]));
                row.extend(entries.filter(|e| e.0 as usize != p && (e.0 as usize <= p) == lower));
            })
        };
        let (lower, upper) = (half(true)?, half(false)?);
        let inverse = rows.iter().map(|&i| inverse[i as usize]).collect();
        Ok(Self { starts, rows, places: place, inverse, lower, upper, work: vec![0.0; n] })
    }

    /// Number of colours.
    pub fn colours(&self) -> usize {
        self.starts.len() - 1
    }
}

/// The smallest colour that no coupled earlier row has, row by row.
fn colour(a: &Csr) -> Vec<u16> {
    let mut colours = vec![0u16; a.rows()];
    let mut used: Vec<usize> = Vec::new();
    for i in 0..a.rows() {
        for &c in a.row(i).0.iter().take_while(|&&c| (c as usize) < i) {
            let taken = colours[c as usize] as usize;
            if used.len() <= taken {
                used.resize(taken + 1, usize::MAX);
            }
            used[taken] = i;
        }
        colours[i] = used.iter().position(|&mark| mark != i).unwrap_or(used.len()) as u16;
    }
    colours
}

/// part[k] ← f(k), in parallel if it is long.
fn for_rows(part: &mut [f64], f: impl Fn(usize, &mut f64) + Sync + Send) {
    if part.len() <= CHUNK {
        part.iter_mut().enumerate().for_each(|(k, v)| f(k, v));
    } else {
        part.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(k, v)| f(k, v));
    }
}

fn row_dot(a: &Csr, p: usize, x: &[f64], shift: usize) -> f64 {
    let (columns, values) = a.row(p);
    columns.iter().zip(values).map(|(&c, v)| v * x[c as usize - shift]).sum()
}

impl Preconditioner for SymmetricGaussSeidel {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        for c in 0..self.colours() {
            let (start, end) = (self.starts[c], self.starts[c + 1]);
            let (done, rest) = self.work.split_at_mut(start);
            for_rows(&mut rest[..end - start], |k, v| {
                let p = start + k;
                *v = r[self.rows[p] as usize] * self.inverse[p] - row_dot(&self.lower, p, done, 0);
            });
        }
        for c in (0..self.colours()).rev() {
            let (start, end) = (self.starts[c], self.starts[c + 1]);
            let (rest, done) = self.work.split_at_mut(end);
            for_rows(&mut rest[start..], |k, v| *v -= row_dot(&self.upper, start + k, done, end));
        }
        for_rows(z, |i, z| *z = self.work[self.places[i] as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::cases::poisson;

    #[test]
    fn a_grid_needs_two_colours() {
        assert_eq!(SymmetricGaussSeidel::new(&poisson(6).unwrap()).unwrap().colours(), 2);
    }
}
