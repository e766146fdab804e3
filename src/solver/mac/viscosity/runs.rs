//! Rows that are alike.
//!
//! In the inside of a liquid the rows of faces that follow each other along x have the same weights, and their
//! neighbours follow each other as well ([`super::places`]). Such rows are kept once, as a run, and are multiplied
//! some at a time: a number of the matrix is read once for all of them, and their neighbours are read together. The
//! sum of a row is taken in the same order whether it is in a run or alone, so that no result depends on runs.
//!
//! A row is read without bounds checks, which take as long as the sums themselves: the numbers of its neighbours are
//! those of rows.

use crate::linalg::vector::Real;
use std::ops::Range;

/// Neighbours of a face.
pub(super) const ARMS: usize = 14;

/// One row. What is not there is the row itself times zero.
pub(super) struct Row {
    pub(super) columns: [u32; ARMS],
    pub(super) arms: [f32; ARMS],
    pub(super) diagonal: f64,
}

/// Rows that follow each other and whose neighbours do, with the same arms.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) rows: Range<u32>,
    /// The neighbours of the first row.
    pub(super) columns: [u32; ARMS],
    pub(super) arms: [f32; ARMS],
}

impl Run {
    /// Whether a row is the next one of this run.
    pub(super) fn goes_on(&self, number: u32, row: &Row) -> bool {
        let by = number - self.rows.start;
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
        self.columns.iter().zip(&row.columns).all(|(a, b)| a + by == *b)
            && self.arms.iter().zip(&row.arms).all(same)
    }

    /// Σ of the arms of rows of this run times their values, from a row on.
    #[inline(always)]
    pub(super) fn pull<T: Real>(&self, first: usize, x: &[T], out: &mut [T]) {
        let mut at = first - self.rows.start as usize;
        let (eight, rest) = out.as_chunks_mut::<8>();
        for out in eight {
            *out = self.some(at, x);
            at += 8;
        }
        let (four, rest) = rest.as_chunks_mut::<4>();
        for out in four {
            *out = self.some(at, x);
            at += 4;
        }
        for out in rest {
            [*out] = self.some(at, x);
            at += 1;
        }
    }

    /// The sums of N rows from the one `at` places after the first.
    #[inline(always)]
    fn some<T: Real, const N: usize>(&self, at: usize, x: &[T]) -> [T; N] {
        let mut sum = [[T::default(); N]; 2];
        for (k, (column, arm)) in self.columns.iter().zip(&self.arms).enumerate() {
            let (from, w) = (*column as usize + at, T::from_f64(*arm as f64));
            // SAFETY: the columns of a run are numbers of rows for all of its rows, as `Rows::build` has seen, and
            // `Rows::pull` asks for rows of the run alone, with an x that has a value for each row.
            let x = unsafe { x.get_unchecked(from..from + N) };
            (0..N).for_each(|i| sum[k % 2][i] += w * x[i]);
        }
        std::array::from_fn(|i| sum[0][i] + sum[1][i])
    }
}
