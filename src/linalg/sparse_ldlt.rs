//! Sparse LDLᵀ: a direct solve for systems of some ten thousand rows.
//!
//! The rows are numbered by the reverse Cuthill–McKee order, which keeps neighbours close and the factor
//! narrow. The elimination tree gives the pattern of each row of L, and the rows are computed one after the
//! other by a sparse triangular solve [Dav05]. There is no pivoting: the matrix must be definite, semi-definite
//! or quasi-definite (a saddle point with a definite second block). A pivot below 10⁻¹¹ of its diagonal
//! belongs to a null vector, and its unknown is set to zero.

use super::csr::Csr;
use super::operator::Preconditioner;
use crate::error::{Error, Result};

/// The share of the original diagonal below which a pivot counts as zero.
const ZERO_PIVOT: f64 = 1e-11;
const NONE: u32 = u32::MAX;

/// A factored sparse matrix.
#[derive(Clone, Debug)]
pub struct SparseLdlt {
    /// The row at each place of the new order.
    order: Vec<u32>,
    /// Columns of L below the diagonal.
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
    inverse: Vec<f64>,
    work: Vec<f64>,
}

impl SparseLdlt {
    /// Factor a symmetric matrix.
    pub fn new(a: &Csr) -> Result<Self> {
        let n = a.rows();
        if n != a.column_count() {
            return Err(Error::invalid("sparse ldlt", format!("{n} rows, {} columns", a.column_count())));
        }
        if !a.is_finite() {
            return Err(Error::invalid("sparse ldlt", "the matrix has numbers that are not finite"));
        }
        let order = cuthill_mckee(a);
        let mut place = vec![0u32; n];
        order.iter().enumerate().for_each(|(k, &i)| place[i as usize] = k as u32);
        let (parent, starts) = analyse(a, &order, &place);
        let entries = starts[n];
        let mut factor = Self {
            order,
            starts,
            rows: vec![0; entries],
            values: vec![0.0; entries],
            inverse: vec![0.0; n],
            work: vec![0.0; n],
        };
        factor.eliminate(a, &place, &parent);
        Ok(factor)
    }

    /// Entries of L below the diagonal.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    fn eliminate(&mut self, a: &Csr, place: &[u32], parent: &[u32]) {
        let n = self.order.len();
        let mut filled = self.starts.clone();
        let (mut mark, mut sums) = (vec![NONE; n], vec![0.0; n]);
        let (mut path, mut pattern) = (Vec::new(), Vec::new());
        for k in 0..n {
            let original = row_pattern(
                a,
                self.order[k],
                k,
                place,
                parent,
                &mut mark,
                &mut path,
                &mut pattern,
                &mut sums,
            );
            let mut pivot = original;
            // Columns in the order of elimination: the last path found comes first.
            for &i in pattern.iter().rev() {
                let i = i as usize;
                let y = std::mem::take(&mut sums[i]);
                for p in self.starts[i]..filled[i] {
                    sums[self.rows[p] as usize] -= self.values[p] * y;
                }
                let l = y * self.inverse[i];
                pivot -= l * y;
                (self.rows[filled[i]], self.values[filled[i]]) = (k as u32, l);
                filled[i] += 1;
            }
            sums[k] = 0.0;
            if pivot.abs() > ZERO_PIVOT * original.abs() {
                self.inverse[k] = 1.0 / pivot;
            }
        }
    }

    /// x ← A⁻¹ b.
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) {
        let n = self.order.len();
        let w = &mut self.work;
        self.order.iter().zip(w.iter_mut()).for_each(|(&i, w)| *w = b[i as usize]);
        for k in 0..n {
            let v = w[k];
            for p in self.starts[k]..self.starts[k + 1] {
                w[self.rows[p] as usize] -= self.values[p] * v;
            }
        }
        w.iter_mut().zip(&self.inverse).for_each(|(w, d)| *w *= d);
        for k in (0..n).rev() {
            let span = self.starts[k]..self.starts[k + 1];
            let sum: f64 =
                self.rows[span.clone()].iter().zip(&self.values[span]).map(|(&r, v)| v * w[r as usize]).sum();
            w[k] -= sum;
        }
        self.order.iter().zip(w.iter()).for_each(|(&i, w)| x[i as usize] = *w);
    }
}

impl Preconditioner for SparseLdlt {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        self.solve(r, z);
    }
}

/// Breadth-first order from a row of lowest degree in each component, neighbours by degree, then reversed.
fn cuthill_mckee(a: &Csr) -> Vec<u32> {
    let n = a.rows();
    let degree = |i: u32| a.span(i as usize).len();
    let mut starts: Vec<u32> = (0..n as u32).collect();
    starts.sort_by_key(|&i| (degree(i), i));
    let (mut seen, mut order) = (vec![false; n], Vec::with_capacity(n));
    let mut neighbours = Vec::new();
    for start in starts {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        let mut next = order.len();
        order.push(start);
        while next < order.len() {
            neighbours.clear();
            neighbours.extend(a.row(order[next] as usize).0.iter().copied().filter(|&c| !seen[c as usize]));
            neighbours.sort_by_key(|&i| (degree(i), i));
            neighbours.iter().for_each(|&c| seen[c as usize] = true);
            order.extend_from_slice(&neighbours);
            next += 1;
        }
    }
    order.reverse();
    order
}

/// The elimination tree and the starts of the columns of L.
fn analyse(a: &Csr, order: &[u32], place: &[u32]) -> (Vec<u32>, Vec<usize>) {
    let n = order.len();
    let (mut parent, mut mark) = (vec![NONE; n], vec![NONE; n]);
    let mut starts = vec![0usize; n + 1];
    for k in 0..n as u32 {
        mark[k as usize] = k;
        for &c in a.row(order[k as usize] as usize).0 {
            let mut i = place[c as usize];
            while i < k && mark[i as usize] != k {
                if parent[i as usize] == NONE {
                    parent[i as usize] = k;
                }
                starts[i as usize + 1] += 1;
                mark[i as usize] = k;
                i = parent[i as usize];
            }
        }
    }
    for k in 0..n {
        starts[k + 1] += starts[k];
    }
    (parent, starts)
}

/// The columns that row k of L has, in reverse order of elimination, with the entries of A in `sums`.
/// Returns the diagonal of A.
#[allow(clippy::too_many_arguments)]
fn row_pattern(
    a: &Csr,
    row: u32,
    k: usize,
    place: &[u32],
    parent: &[u32],
    mark: &mut [u32],
    path: &mut Vec<u32>,
    pattern: &mut Vec<u32>,
    sums: &mut [f64],
) -> f64 {
    let (columns, values) = a.row(row as usize);
    let mut diagonal = 0.0;
    mark[k] = k as u32;
    pattern.clear();
    for (&c, v) in columns.iter().zip(values) {
        let mut i = place[c as usize] as usize;
        if i == k {
            diagonal = *v;
        }
        if i >= k {
            continue;
        }
        sums[i] += v;
        path.clear();
        while mark[i] != k as u32 {
            path.push(i as u32);
            mark[i] = k as u32;
            i = parent[i] as usize;
        }
        // Each path leads up the tree; a later path ends where an earlier one began, so it is eliminated first.
        pattern.extend(path.iter().rev());
    }
    diagonal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::LinearOperator;
    use crate::linalg::cases::{poisson, random_vector, splash};

    fn check(a: &Csr, b: &[f64], tolerance: f64) {
        let mut x = vec![0.0; b.len()];
        SparseLdlt::new(a).unwrap().solve(b, &mut x);
        let mut r = vec![0.0; b.len()];
        a.residual(b, &x, &mut r);
        let worst = r.iter().fold(0.0, |m: f64, r| m.max(r.abs()));
        assert!(worst < tolerance, "{worst}");
    }

    #[test]
    fn grids_and_splashes_are_solved_to_rounding() {
        let a = poisson(9).unwrap();
        check(&a, &random_vector(a.rows(), 1), 1e-12);
        let a = splash(14).unwrap();
        check(&a, &random_vector(a.rows(), 2), 1e-9);
        check(&Csr::from_triplets(0, 0, &[]).unwrap(), &[], 1.0);
    }

    #[test]
    fn a_closed_region_is_solved_up_to_its_constant() {
        let n = 40;
        let a = Csr::from_rows(n, n, |i, row| {
            for j in [i.wrapping_sub(1), i + 1].into_iter().filter(|&j| j < n) {
                row.extend([(j as u32, -1.0), (i as u32, 1.0)]);
            }
        })
        .unwrap();
        let mut b = random_vector(n, 3);
        let mean = b.iter().sum::<f64>() / n as f64;
        b.iter_mut().for_each(|b| *b -= mean);
        check(&a, &b, 1e-12);
    }

    #[test]
    fn a_quasi_definite_matrix_is_factored_without_pivoting() {
        let a = Csr::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, -3.0)]).unwrap();
        check(&a, &[1.0, 2.0], 1e-14);
    }
}
