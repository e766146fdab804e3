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

use crate::linalg::csr::Csr;
use crate::linalg::vector::Real;
use crate::math::CHUNK;
use rayon::prelude::*;
use std::ops::Range;

/// Blocks that are swept side by side.
const SIDE_BY_SIDE: usize = 4;
/// Rows of a block: enough that few couplings leave it, few enough that every thread has blocks.
const BLOCK: Range<usize> = 1024..16384;

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

    fn concatenate(parts: Vec<Self>) -> Self {
        let entries = parts.iter().map(|p| p.columns.len()).sum();
        let rows: usize = parts.iter().map(|p| p.offsets.len()).sum();
        let mut all = Self {
            offsets: Vec::with_capacity(rows + 1),
            columns: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
        };
        all.offsets.push(0);
        for part in parts {
            let start = all.columns.len() as u32;
            all.offsets.extend(part.offsets.iter().map(|o| start + o));
            all.columns.extend(part.columns);
            all.values.extend(part.values);
        }
        all
    }

    fn end_row(&mut self) {
        self.offsets.push(self.columns.len() as u32);
    }

    fn push(&mut self, column: u32, value: T) {
        self.columns.push(column);
        self.values.push(value);
    }
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

/// What the rows of one chunk become.
struct Part<T> {
    pivot: Vec<T>,
    inverse: Vec<T>,
    ratio: Vec<T>,
    lower: Rows<T>,
    upper: Rows<T>,
    outer_rows: Vec<u32>,
    outer: Rows<T>,
}

impl<T: Real> Smoother<T> {
    /// From a square matrix, multiplied by `scale`.
    pub(crate) fn new(a: &Csr, scale: f64) -> Self {
        let n = a.rows();
        let block = if n <= CHUNK { n.max(1) } else { n.div_ceil(64).clamp(BLOCK.start, BLOCK.end) };
        let parts: Vec<Part<T>> =
            (0..n.div_ceil(block)).into_par_iter().map(|b| part(a, b, block, scale)).collect();
        let mut s = Self { n, block, ..Default::default() };
        let (mut lower, mut upper, mut outer) = (vec![], vec![], vec![]);
        let mut ratio = Vec::new();
        for p in parts {
            s.pivot.extend(p.pivot);
            s.inverse.extend(p.inverse);
            ratio.extend(p.ratio);
            lower.push(p.lower);
            upper.push(p.upper);
            s.outer_rows.extend(p.outer_rows);
            outer.push(p.outer);
        }
        s.lower = Rows::concatenate(lower);
        s.upper = Rows::concatenate(upper);
        s.outer = Rows::concatenate(outer);
        let one = T::from_f64(1.0);
        s.ratio = ratio.iter().any(|r| *r != one).then_some(ratio);
        s
    }

    pub(crate) fn size(&self) -> usize {
        self.n
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

    /// x ← (D̃+L)⁻¹ b.
    pub(crate) fn forward_from_zero(&self, b: &[T], x: &mut [T]) {
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

    /// r ← b − A x for the x of [`Smoother::forward_from_zero`].
    pub(crate) fn residual_after_forward(&self, x: &[T], r: &mut [T]) {
        let x = &x[..self.n];
        self.map_rows(r, |i| {
            let slack = self.ratio.as_ref().map_or(T::default(), |d| x[i] - d[i] * x[i]);
            // SAFETY: i < n, and the columns of `upper` are below n.
            self.pivot[i] * (slack - unsafe { self.upper.dot(i, x, 0) })
        });
        self.subtract_outer(x, r);
    }

    /// x ← x + (D̃+U)⁻¹(b − A x), with `t` as scratch.
    pub(crate) fn backward(&self, b: &[T], x: &mut [T], t: &mut [T]) {
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

    /// y ← A x.
    pub(crate) fn multiply(&self, x: &[T], y: &mut [T]) {
        let x = &x[..self.n];
        self.map_rows(y, |i| {
            let own = self.ratio.as_ref().map_or(x[i], |d| d[i] * x[i]);
            // SAFETY: i < n, and columns are below n.
            self.pivot[i] * (own + unsafe { self.lower.dot(i, x, 0) + self.upper.dot(i, x, 0) })
        });
        self.add_outer(x, y, T::from_f64(1.0));
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

/// Run tasks over pieces of `x`, in parallel if there are several.
fn for_tasks<T: Real>(x: &mut [T], length: usize, task: impl Fn((usize, &mut [T])) + Sync + Send) {
    if x.len() <= length {
        task((0, x));
    } else {
        x.par_chunks_mut(length).enumerate().for_each(task);
    }
}

/// Split the rows of block `b`.
fn part<T: Real>(a: &Csr, b: usize, block: usize, scale: f64) -> Part<T> {
    let range = b * block..((b + 1) * block).min(a.rows());
    let entries = (a.offsets()[range.end] - a.offsets()[range.start]) as usize;
    let rows = || Rows::<T> {
        offsets: Vec::with_capacity(range.len()),
        columns: Vec::with_capacity(entries / 2),
        values: Vec::with_capacity(entries / 2),
    };
    let vector = || Vec::with_capacity(range.len());
    let mut p = Part {
        pivot: vector(),
        inverse: vector(),
        ratio: vector(),
        lower: rows(),
        upper: rows(),
        outer_rows: vec![],
        outer: Rows::default(),
    };
    for i in range.clone() {
        let (columns, values) = a.row(i);
        let (mut diagonal, mut outside) = (0.0, 0.0);
        for (&c, v) in columns.iter().zip(values) {
            if c as usize == i {
                diagonal = *v;
            } else if !range.contains(&(c as usize)) {
                outside += v.abs();
            }
        }
        // A row without a diagonal belongs to a null vector and is left alone.
        let pivot = if diagonal > 0.0 { diagonal.max(0.55 * (diagonal + outside)) } else { 0.0 };
        let inverse = if pivot > 0.0 { 1.0 / pivot } else { 0.0 };
        p.pivot.push(T::from_f64(pivot * scale));
        p.inverse.push(T::from_f64(inverse / scale));
        p.ratio.push(T::from_f64(if pivot > 0.0 { diagonal * inverse } else { 1.0 }));
        let mut has_outer = false;
        for (&c, v) in columns.iter().zip(values).filter(|e| *e.0 as usize != i) {
            let value = T::from_f64(v * inverse);
            if !range.contains(&(c as usize)) {
                p.outer.push(c, value);
                has_outer = true;
            } else if (c as usize) < i {
                p.lower.push(c, value);
            } else {
                p.upper.push(c, value);
            }
        }
        p.lower.end_row();
        p.upper.end_row();
        if has_outer {
            p.outer.end_row();
            p.outer_rows.push(i as u32);
        }
    }
    p
}
