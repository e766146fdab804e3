//! Gauss–Seidel inside blocks of rows, Jacobi between them: parallel, and the same for any thread count.
//!
//! A level's matrix is split as A = D + L + U + O with L, U the strict triangles inside blocks of a
//! fixed number of rows and O the couplings between blocks. One smoothing step before the coarse grid
//! is x = (D̃+L)⁻¹ b, one after it is x ← x + (D̃+U)⁻¹(b − A x); the two are adjoint, so the cycle is
//! symmetric. It is also definite, for D̃ is at least (D + Σ|O|)/2 in every row [BFKY11] and equals D
//! wherever the couplings between blocks are no stronger than the diagonal.
//!
//! Rows are stored divided by D̃, so that in the sweeps only a product and a difference separate a row
//! from the one before, and four blocks are swept side by side to hide that latency. Starting from
//! zero, b − A x = (D̃−D)x − U x − O x needs half of the matrix only.
//!
//! The kernels read without bounds checks: `Rows` are built here from a checked [`Csr`], columns never
//! leave the level, those of L and U never leave their block, and nothing changes them later.

use super::block_smoother::Relax;
use crate::linalg::csr::Csr;
use crate::linalg::vector::Real;
use crate::math::CHUNK;
use rayon::prelude::*;
use std::ops::Range;

/// Blocks that are swept side by side.
const SIDE_BY_SIDE: usize = 4;
/// Blocks of a large level: few, so that few couplings leave them, but enough for every thread.
const BLOCKS: usize = 32;
/// A level with at most this many rows is one block.
const SERIAL: usize = 8192;

/// Sparse rows, without the diagonal.
#[derive(Clone, Debug, Default)]
struct Rows<T> {
    offsets: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Real> Rows<T> {
    /// Σ values·x[column − shift] over row i.
    ///
    /// # Safety
    /// Row i exists and every column of it, less `shift`, is an index of `x`.
    #[inline(always)]
    unsafe fn dot(&self, i: usize, x: &[T], shift: usize) -> T {
        let mut sum = T::default();
        // SAFETY: promised by the caller; offsets are built ascending to the number of entries.
        unsafe {
            let end = *self.offsets.get_unchecked(i + 1) as usize;
            for k in *self.offsets.get_unchecked(i) as usize..end {
                let c = *self.columns.get_unchecked(k) as usize;
                sum += *self.values.get_unchecked(k) * *x.get_unchecked(c - shift);
            }
        }
        sum
    }

    /// Room for the given rows and entries.
    fn with_room(rows: usize, entries: usize) -> Self {
        Self { offsets: vec![0; rows + 1], columns: vec![0; entries], values: vec![T::default(); entries] }
    }

    /// The whole, to be cut into parts.
    fn whole(&mut self) -> RowsPart<'_, T> {
        RowsPart {
            offsets: &mut self.offsets[1..],
            columns: &mut self.columns,
            values: &mut self.values,
            first: 0,
            rows: 0,
            entries: 0,
        }
    }
}

/// Rows of one block while they are written into their place.
#[derive(Default)]
struct RowsPart<'a, T> {
    offsets: &'a mut [u32],
    columns: &'a mut [u32],
    values: &'a mut [T],
    /// Entries before this part.
    first: usize,
    /// Rows and entries written so far.
    rows: usize,
    entries: usize,
}

impl<T: Real> RowsPart<'_, T> {
    /// Cut off a part with the given rows and entries from the front.
    fn cut(&mut self, rows: usize, entries: usize) -> Self {
        let first = self.first;
        self.first += entries;
        let offsets = cut(&mut self.offsets, rows);
        let (columns, values) = (cut(&mut self.columns, entries), cut(&mut self.values, entries));
        Self { offsets, columns, values, first, rows: 0, entries: 0 }
    }

    fn push(&mut self, column: u32, value: T) {
        self.columns[self.entries] = column;
        self.values[self.entries] = value;
        self.entries += 1;
    }

    fn end_row(&mut self) {
        self.offsets[self.rows] = (self.first + self.entries) as u32;
        self.rows += 1;
    }
}

/// Take `count` elements from the front of a slice.
pub(super) fn cut<'a, T>(slice: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (front, rest) = std::mem::take(slice).split_at_mut(count);
    *slice = rest;
    front
}

/// A matrix with its smoother.
#[derive(Clone, Debug, Default)]
pub(crate) struct Smoother<T> {
    n: usize,
    block: usize,
    /// D̃, its inverse, and D/D̃ where some of them differ.
    pivot: Vec<T>,
    inverse: Vec<T>,
    ratio: Option<Vec<T>>,
    lower: Rows<T>,
    upper: Rows<T>,
    /// Rows with couplings that leave their block, and those couplings.
    outer_rows: Vec<u32>,
    outer: Rows<T>,
}

/// The places that the rows of one block go to.
struct Part<'a, T> {
    range: Range<usize>,
    pivot: &'a mut [T],
    inverse: &'a mut [T],
    ratio: &'a mut [T],
    lower: RowsPart<'a, T>,
    upper: RowsPart<'a, T>,
    outer_rows: &'a mut [u32],
    outer: RowsPart<'a, T>,
}

/// How many entries of a block go where.
struct Counts {
    lower: usize,
    upper: usize,
    outer: usize,
    outer_rows: usize,
}

impl<T: Real> Smoother<T> {
    /// From a square matrix, multiplied by `scale`.
    pub(crate) fn new(a: &Csr, scale: f64) -> Self {
        let n = a.rows();
        let block = if n <= SERIAL { n.max(1) } else { n.div_ceil(BLOCKS).max(SERIAL / 4) };
        let range = |b: usize| b * block..((b + 1) * block).min(n);
        // Count first, so that every array is allocated once and at its size.
        let counts: Vec<Counts> =
            (0..n.div_ceil(block)).into_par_iter().map(|b| count(a, range(b))).collect();
        let total = |f: fn(&Counts) -> usize| counts.iter().map(f).sum::<usize>();
        let zeros = || vec![T::default(); n];
        let (mut pivot, mut inverse, mut ratio) = (zeros(), zeros(), zeros());
        let (mut lower, mut upper) =
            (Rows::with_room(n, total(|c| c.lower)), Rows::with_room(n, total(|c| c.upper)));
        let mut outer_rows = vec![0u32; total(|c| c.outer_rows)];
        let mut outer = Rows::with_room(outer_rows.len(), total(|c| c.outer));
        let mut rest = Part {
            range: 0..n,
            pivot: &mut pivot,
            inverse: &mut inverse,
            ratio: &mut ratio,
            lower: lower.whole(),
            upper: upper.whole(),
            outer_rows: &mut outer_rows,
            outer: outer.whole(),
        };
        let mut parts = Vec::with_capacity(counts.len());
        for (b, counts) in counts.iter().enumerate() {
            parts.push(rest.cut(range(b), counts));
        }
        let plain = parts.into_par_iter().map(|part| part.fill(a, scale)).reduce(|| true, |a, b| a && b);
        Self { n, block, pivot, inverse, ratio: (!plain).then_some(ratio), lower, upper, outer_rows, outer }
    }

    fn task_rows(&self) -> usize {
        self.block * SIDE_BY_SIDE
    }

    /// The order in which a task visits its `len` rows: the k-th row of each of its blocks, then the next.
    #[inline(always)]
    fn visit(&self, len: usize, backward: bool, mut row: impl FnMut(usize)) {
        let whole = if len == self.task_rows() { self.block } else { 0 };
        for k in 0..whole {
            let k = if backward { whole - 1 - k } else { k };
            for q in 0..SIDE_BY_SIDE {
                row(q * self.block + k);
            }
        }
        // A task with missing rows at its end takes its blocks one by one.
        if whole == 0 {
            if backward { (0..len).rev().for_each(row) } else { (0..len).for_each(row) }
        }
    }

    fn map_rows(&self, y: &mut [T], f: impl Fn(usize) -> T + Sync + Send) {
        let chunk = |(c, y): (usize, &mut [T])| {
            y.iter_mut().enumerate().for_each(|(k, y)| *y = f(c * CHUNK + k));
        };
        for_tasks(&mut y[..self.n], CHUNK, chunk);
    }

    fn subtract_outer(&self, x: &[T], r: &mut [T]) {
        self.add_outer(x, r, T::from_f64(-1.0));
    }

    /// r ← r + s·O x.
    fn add_outer(&self, x: &[T], r: &mut [T], s: T) {
        if self.outer_rows.is_empty() {
            return;
        }
        let x = &x[..self.n];
        let chunk = |(c, r): (usize, &mut [T])| {
            let place = |row: usize| self.outer_rows.partition_point(|&i| (i as usize) < row);
            for k in place(c * CHUNK)..place(c * CHUNK + r.len()) {
                let i = self.outer_rows[k] as usize;
                // SAFETY: k is a row of `outer`, whose columns are below n.
                r[i - c * CHUNK] += s * self.pivot[i] * unsafe { self.outer.dot(k, x, 0) };
            }
        };
        for_tasks(&mut r[..self.n], CHUNK, chunk);
    }
}

impl<T: Real> Relax<T> for Smoother<T> {
    fn size(&self) -> usize {
        self.n
    }

    fn forward_from_zero(&self, b: &[T], x: &mut [T]) {
        let (b, n) = (&b[..self.n], self.task_rows());
        let task = |(t, x): (usize, &mut [T])| {
            let start = t * n;
            self.visit(x.len(), false, |k| {
                let i = start + k;
                // SAFETY: k < x.len() and i < n; columns of `lower` stay in the block of i, which lies in x.
                unsafe {
                    let sum = self.lower.dot(i, x, start);
                    *x.get_unchecked_mut(k) = *b.get_unchecked(i) * *self.inverse.get_unchecked(i) - sum;
                }
            });
        };
        for_tasks(&mut x[..self.n], n, task);
    }

    fn residual_after_forward(&self, x: &[T], r: &mut [T]) {
        let x = &x[..self.n];
        self.map_rows(r, |i| {
            let slack = self.ratio.as_ref().map_or(T::default(), |d| x[i] - d[i] * x[i]);
            // SAFETY: i < n, and the columns of `upper` are below n.
            self.pivot[i] * (slack - unsafe { self.upper.dot(i, x, 0) })
        });
        self.subtract_outer(x, r);
    }

    fn backward(&self, b: &[T], x: &mut [T], t: &mut [T]) {
        let n = self.task_rows();
        let b = if self.outer_rows.is_empty() {
            &b[..self.n]
        } else {
            crate::linalg::vector::copy(b, t);
            self.subtract_outer(x, t);
            &t[..self.n]
        };
        let task = |(t, x): (usize, &mut [T])| {
            let start = t * n;
            self.visit(x.len(), true, |k| {
                let i = start + k;
                // SAFETY: k < x.len() and i < n; columns of both triangles stay in the block of i.
                unsafe {
                    let old = self
                        .ratio
                        .as_ref()
                        .map_or(T::default(), |d| *x.get_unchecked(k) - d[i] * *x.get_unchecked(k));
                    let known = *b.get_unchecked(i) * *self.inverse.get_unchecked(i) + old
                        - self.lower.dot(i, x, start);
                    *x.get_unchecked_mut(k) = known - self.upper.dot(i, x, start);
                }
            });
        };
        for_tasks(&mut x[..self.n], n, task);
    }

    fn multiply(&self, x: &[T], y: &mut [T]) {
        let x = &x[..self.n];
        self.map_rows(y, |i| {
            let own = self.ratio.as_ref().map_or(x[i], |d| d[i] * x[i]);
            // SAFETY: i < n, and columns are below n.
            self.pivot[i] * (own + unsafe { self.lower.dot(i, x, 0) + self.upper.dot(i, x, 0) })
        });
        self.add_outer(x, y, T::from_f64(1.0));
    }
}

/// Run tasks over pieces of `x`, in parallel if there are several.
pub(super) fn for_tasks<T: Real>(x: &mut [T], length: usize, task: impl Fn((usize, &mut [T])) + Sync + Send) {
    if x.len() <= length {
        task((0, x));
    } else {
        x.par_chunks_mut(length).enumerate().for_each(task);
    }
}

fn count(a: &Csr, range: Range<usize>) -> Counts {
    let mut counts = Counts { lower: 0, upper: 0, outer: 0, outer_rows: 0 };
    for i in range.clone() {
        let before = counts.outer;
        for &c in a.row(i).0 {
            let c = c as usize;
            counts.outer += !range.contains(&c) as usize;
            counts.lower += (c >= range.start && c < i) as usize;
            counts.upper += (c > i && c < range.end) as usize;
        }
        counts.outer_rows += (counts.outer > before) as usize;
    }
    counts
}

impl<T: Real> Part<'_, T> {
    /// Cut off the part of a block from the front.
    fn cut(&mut self, range: Range<usize>, counts: &Counts) -> Self {
        let n = range.len();
        Part {
            range,
            pivot: cut(&mut self.pivot, n),
            inverse: cut(&mut self.inverse, n),
            ratio: cut(&mut self.ratio, n),
            lower: self.lower.cut(n, counts.lower),
            upper: self.upper.cut(n, counts.upper),
            outer_rows: cut(&mut self.outer_rows, counts.outer_rows),
            outer: self.outer.cut(counts.outer_rows, counts.outer),
        }
    }

    /// Write the rows; returns whether D̃ = D in all of them.
    fn fill(mut self, a: &Csr, scale: f64) -> bool {
        let mut plain = true;
        for (k, i) in self.range.clone().enumerate() {
            let (columns, values) = a.row(i);
            let (mut diagonal, mut outside) = (0.0, 0.0);
            for (&c, v) in columns.iter().zip(values) {
                if c as usize == i {
                    diagonal = *v;
                } else if !self.range.contains(&(c as usize)) {
                    outside += v.abs();
                }
            }
            // A row without a diagonal belongs to a null vector and is left alone.
            let pivot = if diagonal > 0.0 { diagonal.max(0.55 * (diagonal + outside)) } else { 0.0 };
            let inverse = if pivot > 0.0 { 1.0 / pivot } else { 0.0 };
            self.pivot[k] = T::from_f64(pivot * scale);
            self.inverse[k] = T::from_f64(inverse / scale);
            self.ratio[k] = T::from_f64(if pivot > 0.0 { diagonal * inverse } else { 1.0 });
            plain &= pivot == diagonal;
            self.split_row(i, columns, values, inverse);
        }
        plain
    }

    /// Send the entries of row i, divided by its pivot, to their triangles.
    fn split_row(&mut self, i: usize, columns: &[u32], values: &[f64], inverse: f64) {
        let before = self.outer.entries;
        for (&c, v) in columns.iter().zip(values).filter(|e| *e.0 as usize != i) {
            let value = T::from_f64(v * inverse);
            if !self.range.contains(&(c as usize)) {
                self.outer.push(c, value);
            } else if (c as usize) < i {
                self.lower.push(c, value);
            } else {
                self.upper.push(c, value);
            }
        }
        self.lower.end_row();
        self.upper.end_row();
        if self.outer.entries > before {
            self.outer_rows[self.outer.rows] = i as u32;
            self.outer.end_row();
        }
    }
}
