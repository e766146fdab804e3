//! Sparse matrices of small dense blocks: nodal unknowns of tetrahedra, rigid motions of groups.
//!
//! A block of N×N numbers shares one column index, so a product reads 8 + 4/N² bytes an entry instead of 12,
//! and the loops over a block have fixed length. A product takes two rows at a time, half a chunk apart: the blocks of
//! one row are one stream, which a core reads at half the speed at which it reads two. Each row is still
//! summed in the order of its columns, so that nothing depends on how rows are paired.

use super::csr::Csr;
use super::operator::{LinearOperator, Preconditioner};
use crate::error::{Error, Result};
use crate::math::CHUNK;
use nalgebra::SMatrix;
use rayon::prelude::*;

/// A square sparse matrix of N×N blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockCsr<const N: usize> {
    /// The pattern of blocks; its values are not used.
    offsets: Vec<u32>,
    columns: Vec<u32>,
    /// Rows of each block one after the other.
    values: Vec<[[f64; N]; N]>,
}

impl<const N: usize> BlockCsr<N> {
    /// From (block row, block column, block) in any order; blocks at the same place are added.
    pub fn from_triplets(rows: usize, triplets: &[(u32, u32, [[f64; N]; N])]) -> Result<Self> {
        let pattern: Vec<(u32, u32, f64)> = triplets.iter().map(|t| (t.0, t.1, 0.0)).collect();
        let pattern = Csr::from_triplets(rows, rows, &pattern)?;
        let mut values = vec![[[0.0; N]; N]; pattern.entries()];
        for (i, j, block) in triplets {
            let span = pattern.span(*i as usize);
            if let Ok(k) = pattern.columns()[span.clone()].binary_search(j) {
                add(&mut values[span.start + k], block);
            }
        }
        Ok(Self { offsets: pattern.offsets().to_vec(), columns: pattern.columns().to_vec(), values })
    }

    /// From rows written by `row(i, &mut entries)`, in parallel; blocks of the same column are added in the order
    /// they were pushed.
    pub fn from_rows(
        rows: usize,
        row: impl Fn(usize, &mut Vec<(u32, [[f64; N]; N])>) + Sync + Send,
    ) -> Result<Self> {
        let chunk = |c: usize| {
            let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
            let (mut entries, mut order) = (vec![], vec![]);
            for i in c * CHUNK..((c + 1) * CHUNK).min(rows) {
                entries.clear();
                row(i, &mut entries);
                // Sums are taken in the order of pushing. Numbers are sorted instead of blocks, which are long.
                order.clear();
                order.extend(entries.iter().enumerate().map(|(n, e)| (e.0 as u64) << 32 | n as u64));
                order.sort_unstable();
                let begin = columns.len();
                for n in &order {
                    let (column, block) = &entries[*n as u32 as usize];
                    if columns.len() > begin && columns.last() == Some(column) {
                        let last = values.len() - 1;
                        add(&mut values[last], block);
                    } else {
                        columns.push(*column);
                        values.push(*block);
                    }
                }
                ends.push(columns.len());
            }
            (ends, columns, values)
        };
        let chunks: Vec<_> = (0..rows.div_ceil(CHUNK)).into_par_iter().map(chunk).collect();
        let (mut offsets, mut columns, mut values) = (vec![0u32], Vec::new(), Vec::new());
        for (ends, mut c, mut v) in chunks {
            let start = columns.len();
            offsets.extend(ends.iter().map(|e| (start + e) as u32));
            columns.append(&mut c);
            values.append(&mut v);
        }
        let outside = columns.iter().any(|c| *c as usize >= rows);
        if outside || N * N * columns.len() > u32::MAX as usize {
            let message =
                format!("{} blocks in {rows} rows are too many, or one lies outside", columns.len());
            return Err(Error::invalid("block matrix", message));
        }
        Ok(Self { offsets, columns, values })
    }

    /// From a matrix of single numbers whose size is a multiple of N.
    pub fn from_csr(a: &Csr) -> Result<Self> {
        if a.rows() != a.column_count() || !a.rows().is_multiple_of(N) {
            let message = format!(
                "{} rows and {} columns are not a square of blocks of {N}",
                a.rows(),
                a.column_count()
            );
            return Err(Error::invalid("block matrix", message));
        }
        let mut triplets = Vec::new();
        for i in 0..a.rows() {
            let (columns, values) = a.row(i);
            for (&c, v) in columns.iter().zip(values) {
                let mut block = [[0.0; N]; N];
                block[i % N][c as usize % N] = *v;
                triplets.push(((i / N) as u32, c / N as u32, block));
            }
        }
        Self::from_triplets(a.rows() / N, &triplets)
    }

    /// The same matrix with single numbers.
    pub fn to_csr(&self) -> Result<Csr> {
        Csr::from_rows(self.size(), self.size(), |i, row| {
            for k in self.span(i / N) {
                let c = self.columns[k] * N as u32;
                row.extend(self.values[k][i % N].iter().enumerate().map(|(j, v)| (c + j as u32, *v)));
            }
        })
    }

    /// Rows of blocks.
    pub fn block_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Stored blocks.
    pub fn blocks(&self) -> usize {
        self.columns.len()
    }

    /// Columns and blocks of row i, columns ascending.
    pub(crate) fn row(&self, i: usize) -> (&[u32], &[[[f64; N]; N]]) {
        (&self.columns[self.span(i)], &self.values[self.span(i)])
    }

    /// The diagonal of row i of blocks; zero if it has no block there.
    pub(crate) fn diagonal_of(&self, i: usize) -> [f64; N] {
        let (columns, blocks) = self.row(i);
        match columns.binary_search(&(i as u32)) {
            Ok(k) => std::array::from_fn(|a| blocks[k][a][a]),
            Err(_) => [0.0; N],
        }
    }

    /// Whether all numbers are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.values.par_iter().with_min_len(CHUNK).all(|b| b.iter().flatten().all(|v| v.is_finite()))
    }

    fn span(&self, i: usize) -> std::ops::Range<usize> {
        self.offsets[i] as usize..self.offsets[i + 1] as usize
    }

    /// Rows i and j of blocks times x.
    #[inline(always)]
    fn row_products(&self, [i, j]: [usize; 2], x: &[f64]) -> [[f64; N]; 2] {
        let mut sums = [[0.0; N]; 2];
        let ([p, q], both) = ([self.span(i), self.span(j)], self.span(i).len().min(self.span(j).len()));
        let [first, second] =
            [p.start, q.start].map(|k| self.columns[k..k + both].iter().zip(&self.values[k..k + both]));
        for ((c, block), (d, other)) in first.zip(second) {
            add_product(&mut sums[0], block, *c, x);
            add_product(&mut sums[1], other, *d, x);
        }
        // What the longer row has left.
        for (sum, rest) in sums.iter_mut().zip([p, q]) {
            let rest = rest.start + both..rest.end;
            for (c, block) in self.columns[rest.clone()].iter().zip(&self.values[rest]) {
                add_product(sum, block, *c, x);
            }
        }
        sums
    }
}

/// Add a block times its part of x.
#[inline(always)]
fn add_product<const N: usize>(sums: &mut [f64; N], block: &[[f64; N]; N], column: u32, x: &[f64]) {
    let part = &x[column as usize * N..][..N];
    for (sum, row) in sums.iter_mut().zip(block) {
        for (v, x) in row.iter().zip(part) {
            *sum += v * x;
        }
    }
}

fn add<const N: usize>(to: &mut [[f64; N]; N], block: &[[f64; N]; N]) {
    to.iter_mut().flatten().zip(block.iter().flatten()).for_each(|(t, b)| *t += b);
}

impl<const N: usize> LinearOperator for BlockCsr<N> {
    fn size(&self) -> usize {
        self.block_rows() * N
    }

    fn assembled(&self) -> Option<Csr> {
        self.to_csr().ok()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let chunk = |(c, part): (usize, &mut [f64])| {
            let (start, rows) = (c * CHUNK, part.len() / N);
            let (low, high) = part.split_at_mut(rows / 2 * N);
            let (pairs, last) = high.split_at_mut(rows / 2 * N);
            for (k, (y, z)) in low.chunks_exact_mut(N).zip(pairs.chunks_exact_mut(N)).enumerate() {
                let [first, second] = self.row_products([start + k, start + rows / 2 + k], x);
                y.copy_from_slice(&first);
                z.copy_from_slice(&second);
            }
            if !last.is_empty() {
                let row = start + rows - 1;
                last.copy_from_slice(&self.row_products([row, row], x)[0]);
            }
        };
        if y.len() <= CHUNK * N {
            chunk((0, y))
        } else {
            y.par_chunks_mut(CHUNK * N).enumerate().for_each(chunk)
        }
    }
}

/// The inverses of the diagonal blocks.
#[derive(Clone, Debug)]
pub struct BlockJacobi<const N: usize> {
    inverse: Vec<SMatrix<f64, N, N>>,
}

impl<const N: usize> BlockJacobi<N> {
    /// From a matrix with invertible diagonal blocks.
    pub fn new(a: &BlockCsr<N>) -> Result<Self> {
        let invert = |i: usize| {
            let at = a.columns[a.span(i)].binary_search(&(i as u32)).ok();
            let block = at.map(|k| SMatrix::from_fn(|r, c| a.values[a.span(i).start + k][r][c]));
            let inverse = block.and_then(|b: SMatrix<f64, N, N>| b.try_inverse());
            // A block that is nearly singular inverts to numbers that are not finite.
            let inverse = inverse.filter(|b| b.iter().all(|v| v.is_finite()));
            inverse.ok_or_else(|| {
                Error::invalid("block jacobi", format!("diagonal block {i} cannot be inverted"))
            })
        };
        let inverse: Result<Vec<_>> =
            (0..a.block_rows()).into_par_iter().with_min_len(256).map(invert).collect();
        Ok(Self { inverse: inverse? })
    }
}

impl<const N: usize> Preconditioner for BlockJacobi<N> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let rows = z.par_chunks_exact_mut(N).zip(r.par_chunks_exact(N)).zip(&self.inverse);
        rows.with_min_len(CHUNK).for_each(|((z, r), inverse)| {
            for (i, z) in z.iter_mut().enumerate() {
                *z = r.iter().enumerate().map(|(j, r)| inverse[(i, j)] * r).sum();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::cases::{poisson, random_vector};

    #[test]
    fn blocks_and_single_numbers_give_the_same_product() {
        let a = poisson(6).unwrap();
        let blocks = BlockCsr::<3>::from_csr(&a).unwrap();
        let x = random_vector(a.rows(), 1);
        let (mut y, mut z) = (vec![0.0; a.rows()], vec![0.0; a.rows()]);
        a.multiply(&x, &mut y);
        blocks.apply(&x, &mut z);
        assert!(y.iter().zip(&z).all(|(y, z)| (y - z).abs() < 1e-14));
        let back = blocks.to_csr().unwrap();
        assert!((0..a.rows()).all(|i| (0..a.rows()).all(|j| a.get(i, j) == back.get(i, j))));
        assert!(BlockCsr::<5>::from_csr(&a).is_err());
    }

    #[test]
    fn rows_of_any_length_are_multiplied_as_if_alone() {
        // Row i has i % 5 blocks; an odd number of rows, and more than one chunk.
        let rows = CHUNK + 7;
        let a = BlockCsr::<3>::from_rows(rows, |i, row| {
            for k in 0..i % 5 {
                let v = (i * 7 + k) as f64;
                let column = (i * 31 + k * 977) % rows;
                row.push((column as u32, [[v, 1.0, -2.0], [0.5, v, 3.0], [v - 1.0, 0.25, v]]));
            }
        })
        .unwrap();
        let x = random_vector(3 * rows, 1);
        let mut y = vec![f64::NAN; 3 * rows];
        a.apply(&x, &mut y);
        for i in 0..rows {
            let mut alone = [0.0; 3];
            for k in a.span(i) {
                add_product(&mut alone, &a.values[k], a.columns[k], &x);
            }
            assert_eq!(y[3 * i..][..3], alone);
        }
    }

    #[test]
    fn block_jacobi_inverts_a_block_diagonal_matrix() {
        let block = [[4.0, 1.0], [1.0, 3.0]];
        let a = BlockCsr::from_triplets(2, &[(0, 0, block), (1, 1, block)]).unwrap();
        let (b, mut z, mut back) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4], [0.0; 4]);
        BlockJacobi::new(&a).unwrap().apply(&b, &mut z);
        a.apply(&z, &mut back);
        assert!(back.iter().zip(b).all(|(x, b)| (x - b).abs() < 1e-14));
        let singular = BlockCsr::from_triplets(1, &[(0, 0, [[1.0, 1.0], [1.0, 1.0]])]).unwrap();
        assert!(BlockJacobi::new(&singular).is_err());
    }
}
