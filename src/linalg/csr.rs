//! Sparse matrices in compressed rows.
//!
//! Row i has the entries `columns[offsets[i]..offsets[i+1]]`, strictly ascending, with `values` along
//! them. Indices and offsets are u32: reading an entry costs 12 bytes, and a matrix–vector product is
//! bound by exactly that. The constructors check every index, and the structure cannot be changed
//! afterwards, which is what lets the row kernel read `x` without bounds checks (the only `unsafe` here).

use super::accumulate::Accumulator;
use super::operator::LinearOperator;
use super::prefetch::ahead;
use super::vector::{Real, chunk_dot};
use crate::error::{Error, Result};
use crate::math::CHUNK;
use rayon::prelude::*;
use std::ops::Range;

/// A sparse matrix with compressed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr<T: Real = f64> {
    column_count: usize,
    offsets: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

/// Rows that follow each other, before they join a matrix.
#[derive(Default)]
pub(crate) struct Block<T> {
    pub(crate) ends: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<T>,
}

impl<T: Real> Block<T> {
    pub(crate) fn end_row(&mut self) {
        self.ends.push(self.columns.len() as u32);
    }
}

impl<T: Real> Csr<T> {
    /// From parts, checked: offsets ascending from 0 to the number of entries, columns strictly
    /// ascending in each row and below `column_count`.
    pub fn new(column_count: usize, offsets: Vec<u32>, columns: Vec<u32>, values: Vec<T>) -> Result<Self> {
        let invalid = |message: String| Err(Error::invalid("sparse matrix", message));
        if offsets.first() != Some(&0) || offsets.last().copied() != u32::try_from(columns.len()).ok() {
            return invalid(format!("offsets must lead from 0 to the {} entries", columns.len()));
        }
        if columns.len() != values.len() {
            return invalid(format!("{} columns but {} values", columns.len(), values.len()));
        }
        if u32::try_from(column_count).is_err() {
            return invalid(format!("{column_count} columns do not fit 32 bits"));
        }
        if let Some(row) = offsets.par_windows(2).position_first(|w| w[0] > w[1]) {
            return invalid(format!("the offset after row {row} is smaller than the one before"));
        }
        let wrong = |w: &[u32]| {
            let row = &columns[w[0] as usize..w[1] as usize];
            row.windows(2).any(|c| c[0] >= c[1]) || row.last().is_some_and(|&c| c as usize >= column_count)
        };
        if let Some(row) = offsets.par_windows(2).position_first(wrong) {
            return invalid(format!(
                "the columns of row {row} do not ascend or leave {column_count} columns"
            ));
        }
        Ok(Self { column_count, offsets, columns, values })
    }

    /// From rows written by `row(i, &mut entries)`, in parallel; entries may come in any order, and
    /// those of the same column are added in the order they were pushed.
    pub fn from_rows(
        rows: usize,
        column_count: usize,
        row: impl Fn(usize, &mut Vec<(u32, T)>) + Sync + Send,
    ) -> Result<Self> {
        Self::from_row_chunks(rows, column_count, |range| {
            let (mut entries, mut block) = (vec![], Block::default());
            for i in range {
                entries.clear();
                row(i, &mut entries);
                sum_duplicates(&mut entries);
                block.columns.extend(entries.iter().map(|e| e.0));
                block.values.extend(entries.iter().map(|e| e.1));
                block.end_row();
            }
            block
        })
    }

    /// From rows that `row(i, &mut sums)` adds up, in parallel.
    pub(crate) fn from_sums(
        rows: usize,
        column_count: usize,
        row: impl Fn(usize, &mut Accumulator) + Sync + Send,
    ) -> Result<Self> {
        Self::from_row_chunks(rows, column_count, |range| {
            let (mut sums, mut block) = (Accumulator::new(), Block::default());
            for i in range {
                row(i, &mut sums);
                sums.drain_sorted(&mut block.columns, &mut block.values);
                block.end_row();
            }
            block
        })
    }

    /// From chunks of rows, written in parallel.
    fn from_row_chunks(
        rows: usize,
        column_count: usize,
        write: impl Fn(Range<usize>) -> Block<T> + Sync + Send,
    ) -> Result<Self> {
        let range = |c: usize| c * CHUNK..((c + 1) * CHUNK).min(rows);
        Self::from_blocks(rows.div_ceil(CHUNK), column_count, |c| write(range(c)))
    }

    /// From blocks of rows that follow each other, written in parallel.
    pub(crate) fn from_blocks(
        block_count: usize,
        column_count: usize,
        write: impl Fn(usize) -> Block<T> + Sync + Send,
    ) -> Result<Self> {
        let blocks: Vec<_> = (0..block_count).into_par_iter().map(write).collect();
        let total: usize = blocks.iter().map(|b| b.columns.len()).sum();
        check_count(total)?;
        let rows: usize = blocks.iter().map(|b| b.ends.len()).sum();
        // Zeros are not written before they are needed, so the copies touch memory first, in parallel.
        let (mut offsets, mut columns, mut values) =
            (vec![0; rows + 1], vec![0; total], vec![T::default(); total]);
        let (mut ends, mut places, mut numbers) = (&mut offsets[1..], &mut columns[..], &mut values[..]);
        let (mut start, mut parts) = (0, Vec::with_capacity(blocks.len()));
        for block in blocks {
            let (e, c, v);
            (e, ends) = ends.split_at_mut(block.ends.len());
            (c, places) = places.split_at_mut(block.columns.len());
            (v, numbers) = numbers.split_at_mut(block.values.len());
            let count = block.columns.len() as u32;
            parts.push((start, block, e, c, v));
            start += count;
        }
        parts.into_par_iter().for_each(|(start, block, ends, columns, values)| {
            ends.iter_mut().zip(&block.ends).for_each(|(to, e)| *to = start + e);
            columns.copy_from_slice(&block.columns);
            values.copy_from_slice(&block.values);
        });
        Self::new(column_count, offsets, columns, values)
    }

    /// From (row, column, value) in any order; duplicates are added in the order given.
    pub fn from_triplets(rows: usize, column_count: usize, triplets: &[(u32, u32, T)]) -> Result<Self> {
        check_count(triplets.len())?;
        if let Some(t) = triplets.iter().find(|t| t.0 as usize >= rows || t.1 as usize >= column_count) {
            return Err(Error::invalid(
                "sparse matrix",
                format!("entry ({}, {}) is outside {rows} rows and {column_count} columns", t.0, t.1),
            ));
        }
        let mut starts = vec![0u32; rows + 1];
        triplets.iter().for_each(|t| starts[t.0 as usize + 1] += 1);
        for i in 0..rows {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut sorted) = (starts.clone(), vec![(0u32, T::default()); triplets.len()]);
        for &(r, c, v) in triplets {
            sorted[next[r as usize] as usize] = (c, v);
            next[r as usize] += 1;
        }
        let span = |i: usize| starts[i] as usize..starts[i + 1] as usize;
        Self::from_rows(rows, column_count, |i, entries| entries.extend_from_slice(&sorted[span(i)]))
    }

    /// The identity.
    pub fn identity(n: usize) -> Result<Self> {
        Self::from_rows(n, n, |i, row| row.push((i as u32, T::from_f64(1.0))))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.column_count
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// Where the rows start in [`Csr::columns`] and [`Csr::values`]; one more than there are rows.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The column of each entry.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The value of each entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values, to be changed in place; the structure stays.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The places of row `i` in columns and values.
    pub fn span(&self, i: usize) -> Range<usize> {
        self.offsets[i] as usize..self.offsets[i + 1] as usize
    }

    /// Columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let span = self.span(i);
        (&self.columns[span.clone()], &self.values[span])
    }

    /// The value at (i, j), zero if it is not stored.
    pub fn get(&self, i: usize, j: usize) -> T {
        let (columns, values) = self.row(i);
        columns.binary_search(&(j as u32)).map_or(T::default(), |k| values[k])
    }

    /// The diagonal, zero where it is not stored.
    pub fn diagonal(&self) -> Vec<T> {
        (0..self.rows()).into_par_iter().with_min_len(CHUNK).map(|i| self.get(i, i)).collect()
    }

    /// The same matrix with values in another precision.
    pub fn convert<S: Real>(&self) -> Csr<S> {
        let values = self.values.par_iter().with_min_len(CHUNK).map(|v| S::from_f64(v.to_f64())).collect();
        Csr {
            column_count: self.column_count,
            offsets: self.offsets.clone(),
            columns: self.columns.clone(),
            values,
        }
    }

    /// Whether all values are finite.
    pub fn is_finite(&self) -> bool {
        self.values.par_chunks(CHUNK).all(|c| c.iter().all(|v| v.to_f64().is_finite()))
    }

    /// The largest |aᵢⱼ − aⱼᵢ| over the largest |aᵢⱼ|: zero for a symmetric matrix.
    pub fn asymmetry(&self) -> f64 {
        if self.rows() != self.column_count {
            return f64::INFINITY;
        }
        let row_max = |i: usize| {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).fold((0.0f64, 0.0f64), |(difference, largest), (&j, v)| {
                let other = self.get(j as usize, i).to_f64();
                (difference.max((v.to_f64() - other).abs()), largest.max(v.to_f64().abs()))
            })
        };
        let larger = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        let (difference, largest) =
            (0..self.rows()).into_par_iter().with_min_len(CHUNK).map(row_max).reduce(|| (0.0, 0.0), larger);
        if largest > 0.0 { difference / largest } else { 0.0 }
    }

    /// The transpose: the same entries sorted by columns.
    pub fn transpose(&self) -> Csr<T> {
        if self.offsets.is_empty() {
            return Csr { offsets: vec![0; self.column_count + 1], ..Csr::default() };
        }
        let shape = (self.rows(), self.column_count);
        // What the constructors have checked is what the other library asks for.
        let view = sprs::CsMatViewI::new(shape, &self.offsets, &self.columns, &self.values);
        let (offsets, columns, values) = view.to_other_storage().into_raw_storage();
        Csr { column_count: self.rows(), offsets, columns, values }
    }

    /// The product with another matrix; sums are taken in the order of the columns of `self`.
    pub fn product(&self, other: &Csr<T>) -> Result<Csr<T>> {
        if self.column_count != other.rows() {
            let message =
                format!("{} columns cannot be multiplied with {} rows", self.column_count, other.rows());
            return Err(Error::invalid("sparse product", message));
        }
        Csr::from_sums(self.rows(), other.column_count, |i, sums| {
            let (columns, values) = self.row(i);
            for (&k, v) in columns.iter().zip(values) {
                let (inner, factors) = other.row(k as usize);
                inner.iter().zip(factors).for_each(|(&j, f)| sums.add(j, v.to_f64() * f.to_f64()));
            }
        })
    }

    /// y ← A x. The lengths of `x` and `y` must be those of the matrix.
    pub fn multiply(&self, x: &[T], y: &mut [T]) {
        self.map_rows(x, y, |_, sum| sum);
    }

    /// r ← b − A x.
    pub fn subtract_from(&self, b: &[T], x: &[T], r: &mut [T]) {
        let b = &b[..self.rows()];
        self.map_rows(x, r, |i, sum| b[i] - sum);
    }

    /// y ← y + A x.
    pub fn add_to(&self, x: &[T], y: &mut [T]) {
        self.check_lengths(x, y);
        for_row_chunks(y, |start, part| {
            part.iter_mut().enumerate().for_each(|(k, y)| *y += self.row_dot(start + k, x));
        });
    }

    /// y[i] ← f(i, (A x)[i]).
    fn map_rows(&self, x: &[T], y: &mut [T], f: impl Fn(usize, T) -> T + Sync + Send) {
        self.check_lengths(x, y);
        for_row_chunks(y, |start, part| {
            part.iter_mut().enumerate().for_each(|(k, y)| *y = f(start + k, self.row_dot(start + k, x)));
        });
    }

    /// A wrong length is a mistake of the calling code; it must not reach the unchecked kernel.
    fn check_lengths(&self, x: &[T], y: &[T]) {
        assert!(x.len() == self.column_count && y.len() == self.rows(), "vector and matrix sizes differ");
    }

    /// (A x)[i], terms in the order of the columns.
    #[inline(always)]
    fn row_dot(&self, i: usize, x: &[T]) -> T {
        let mut sum = T::default();
        // SAFETY: i is below the number of rows, offsets ascend to the number of entries and columns
        // are below `column_count` (all checked by the constructors and immutable), and x has
        // `column_count` elements (checked by the callers).
        unsafe {
            let start = *self.offsets.get_unchecked(i) as usize;
            let end = *self.offsets.get_unchecked(i + 1) as usize;
            ahead(&self.columns, start..end);
            ahead(&self.values, start..end);
            for k in start..end {
                let c = *self.columns.get_unchecked(k) as usize;
                sum += *self.values.get_unchecked(k) * *x.get_unchecked(c);
            }
        }
        sum
    }
}

/// Run `f(start, part)` over chunks of `y`, in parallel if there are several.
fn for_row_chunks<T: Real>(y: &mut [T], f: impl Fn(usize, &mut [T]) + Sync + Send) {
    if y.len() <= CHUNK {
        f(0, y);
    } else {
        y.par_chunks_mut(CHUNK).enumerate().for_each(|(c, part)| f(c * CHUNK, part));
    }
}

/// Sort by column and add entries of the same column in the order they stand.
fn sum_duplicates<T: Real>(entries: &mut Vec<(u32, T)>) {
    if entries.windows(2).all(|w| w[0].0 < w[1].0) {
        return;
    }
    entries.sort_by_key(|e| e.0);
    entries.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 += later.1;
        }
        same
    });
}

fn check_count(entries: usize) -> Result<()> {
    if u32::try_from(entries).is_err() {
        return Err(Error::invalid("sparse matrix", format!("{entries} entries do not fit 32-bit offsets")));
    }
    Ok(())
}

impl LinearOperator for Csr {
    fn size(&self) -> usize {
        self.rows()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.multiply(x, y);
    }

    fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        self.check_lengths(x, y);
        let chunk = |(c, part): (usize, &mut [f64])| {
            part.iter_mut().enumerate().for_each(|(k, y)| *y = self.row_dot(c * CHUNK + k, x));
            chunk_dot(part, &x[c * CHUNK..])
        };
        if y.len() <= CHUNK {
            return chunk((0, y));
        }
        y.par_chunks_mut(CHUNK).enumerate().map(chunk).collect::<Vec<f64>>().iter().sum()
    }

    fn residual(&self, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.subtract_from(b, x, r);
    }

    fn assembled(&self) -> Option<Csr> {
        Some(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triplets_in_any_order_give_sorted_rows_with_duplicates_added() {
        let a = Csr::from_triplets(2, 3, &[(1, 2, 4.0), (0, 1, 1.0), (1, 0, 3.0), (0, 1, 2.0)]).unwrap();
        assert_eq!(
            (a.offsets(), a.columns(), a.values()),
            (&[0, 1, 3][..], &[1, 0, 2][..], &[3.0, 3.0, 4.0][..])
        );
        let mut y = [0.0; 2];
        a.multiply(&[1.0, 10.0, 100.0], &mut y);
        assert_eq!(y, [30.0, 403.0]);
        let t = a.transpose();
        assert_eq!((t.rows(), t.column_count(), t.get(2, 1), t.get(1, 0)), (3, 2, 4.0, 3.0));
        assert_eq!(t.transpose(), a);
    }

    #[test]
    fn broken_structure_is_refused() {
        let make = |o: &[u32], c: &[u32]| Csr::new(2, o.to_vec(), c.to_vec(), vec![1.0; c.len()]);
        assert!(make(&[0, 1, 2], &[0, 1]).is_ok());
        assert!(make(&[0, 1, 3], &[0, 1]).is_err());
        assert!(make(&[0, 2, 1], &[0]).is_err());
        assert!(make(&[], &[]).is_err());
        assert!(make(&[0, 2], &[1, 0]).is_err());
        assert!(make(&[0, 2], &[1, 1]).is_err());
        assert!(make(&[0, 1], &[2]).is_err());
        assert!(Csr::from_triplets(1, 1, &[(1, 0, 1.0)]).is_err());
    }

    #[test]
    fn an_empty_matrix_works() {
        let a = Csr::<f64>::from_triplets(0, 0, &[]).unwrap();
        a.multiply(&[], &mut []);
        assert_eq!((a.rows(), a.entries(), a.asymmetry()), (0, 0, 0.0));
    }

    #[test]
    fn asymmetry_is_measured() {
        let a = Csr::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 0.5)]).unwrap();
        assert_eq!(a.asymmetry(), 0.25);
    }
}
