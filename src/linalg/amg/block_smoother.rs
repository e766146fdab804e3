//! Gauss–Seidel over small dense blocks, as [`super::smoother`] does it over single rows.
//!
//! The unknowns of a node (the velocity of a vertex, the rigid motion of a group) are relaxed together: D holds whole blocks of
//! N×N, and a column index stands for N² numbers. Nodes are swept one after the other in parts of a fixed number of them,
//! Jacobi lies between the parts. With O the couplings between parts, M = D̃ + L gives
//! M + Mᵀ − A = 2D̃ − D − O, which must be positive. So D̃ = D + e with a diagonal e ≥ 0 on nodes at the rim of a part:
//!
//! ```text
//!     e_a = max(0, .55 (d_aa + S_a + E_a) − d_aa) ,      S_a, E_a: Σ|.| of row a inside D and in O
//! ```
//!
//! makes 2D̃ − D − O dominated by its diagonal there [BFKY11]; elsewhere e = 0 and D is positive of itself.
//!
//! Blocks are stored by columns, so that one number of x multiplies numbers that follow each other. A column is read as L ≥ N
//! of them, a full register; what is too much belongs to the next column and is never used. The kernels are unsafe and read
//! without bounds checks: `Rows` are built here from a checked [`BlockCsr`], columns never leave the level, those of L and U
//! never leave their part, behind the last block there is room for L numbers, and nothing changes them later.

use super::smoother::{cut, for_tasks};
use crate::linalg::block_csr::BlockCsr;
use crate::linalg::vector::Real;
use crate::math::CHUNK;
use rayon::prelude::*;
use std::fmt::Debug;
use std::ops::Range;

/// Parts that are swept side by side.
const SIDE_BY_SIDE: usize = 4;
/// Parts of a large level: few, so that few couplings leave them, but enough for every thread.
const PARTS: usize = 32;
/// A level with at most this many nodes is one part.
const SERIAL: usize = 2048;
/// A pivot below this share of the diagonal it was belongs to a null vector.
const SINGULAR: f64 = 1e-11;

/// What a level of the cycle asks of its smoother.
pub(super) trait Relax<T>: Debug + Send + Sync {
    /// Unknowns.
    fn size(&self) -> usize;
    /// x ← (D̃+L)⁻¹ b.
    fn forward_from_zero(&self, b: &[T], x: &mut [T]);
    /// r ← b − A x for the x of the sweep forward.
    fn residual_after_forward(&self, x: &[T], r: &mut [T]);
    /// x ← x + (D̃+U)⁻¹(b − A x), with `t` as scratch.
    fn backward(&self, b: &[T], x: &mut [T], t: &mut [T]);
    /// y ← A x.
    fn multiply(&self, x: &[T], y: &mut [T]);
}

/// Some of the blocks of each row.
#[derive(Debug, Default)]
struct Rows<T> {
    offsets: Vec<u32>,
    columns: Vec<u32>,
    /// Columns of each block one after the other, and room behind the last.
    values: Vec<T>,
}

impl<T: Real> Rows<T> {
    /// The blocks of a matrix, times `scale`, that lie in some ranges of its rows.
    fn pick<const N: usize, const L: usize>(
        a: &BlockCsr<N>,
        scale: f64,
        part: impl Fn(usize) -> [Range<usize>; 2] + Sync,
    ) -> Self {
        let n = a.block_rows();
        let counts: Vec<u32> = (0..n)
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|i| part(i).iter().map(|r| r.len() as u32).sum())
            .collect();
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0u32);
        let mut end = 0;
        offsets.extend(counts.iter().map(|c| {
            end += c;
            end
        }));
        let mut columns = vec![0u32; end as usize];
        let mut values = vec![T::default(); end as usize * N * N + L];
        let (mut rest_columns, mut rest_values) = (&mut columns[..], &mut values[..]);
        let mut chunks = Vec::new();
        for first in (0..n).step_by(CHUNK) {
            let rows = first..(first + CHUNK).min(n);
            let blocks = (offsets[rows.end] - offsets[rows.start]) as usize;
            chunks.push((rows, cut(&mut rest_columns, blocks), cut(&mut rest_values, blocks * N * N)));
        }
        chunks.into_par_iter().for_each(|(rows, to_columns, to_values)| {
            let (mut to_columns, mut to_values) = (to_columns.iter_mut(), to_values.iter_mut());
            for i in rows {
                let (columns, blocks) = a.row(i);
                for k in part(i).into_iter().flatten() {
                    to_columns.by_ref().take(1).for_each(|c| *c = columns[k]);
                    let by_column = (0..N * N).map(|e| T::from_f64(blocks[k][e % N][e / N] * scale));
                    to_values.by_ref().take(N * N).zip(by_column).for_each(|(to, v)| *to = v);
                }
            }
        });
        Self { offsets, columns, values }
    }

    /// Take Σ block·x over row i from `sum`; x begins with the node `shift`.
    ///
    /// # Safety
    /// Row i exists and every node of it, less `shift`, is one of `x`.
    #[inline(always)]
    unsafe fn subtract<const N: usize, const L: usize>(
        &self,
        i: usize,
        x: &[T],
        shift: usize,
        sum: &mut [T; L],
    ) {
        // SAFETY: promised by the caller; offsets are built ascending to the number of blocks.
        unsafe {
            let end = *self.offsets.get_unchecked(i + 1) as usize;
            for k in *self.offsets.get_unchecked(i) as usize..end {
                let c = (*self.columns.get_unchecked(k) as usize - shift) * N;
                take::<T, N, L>(&self.values, k, |b| *x.get_unchecked(c + b), sum);
            }
        }
    }
}

/// Take block k times x from `sum`.
///
/// # Safety
/// `values` holds block k and L numbers behind it.
#[inline(always)]
unsafe fn take<T: Real, const N: usize, const L: usize>(
    values: &[T],
    k: usize,
    x: impl Fn(usize) -> T,
    sum: &mut [T; L],
) {
    for b in 0..N {
        let x = x(b);
        // SAFETY: column b of block k begins here, and L numbers follow in any case.
        let column = unsafe { *values.as_ptr().add((k * N + b) * N).cast::<[T; L]>() };
        for (s, v) in sum.iter_mut().zip(column) {
            *s -= v * x;
        }
    }
}

/// A matrix of blocks with its smoother; L is the length of a register, N rounded up.
#[derive(Debug)]
pub(super) struct BlockSmoother<T, const N: usize, const L: usize> {
    nodes: usize,
    /// Nodes of a part.
    part: usize,
    /// −D and −D̃⁻¹, so that products are taken from nothing.
    diagonal: Vec<T>,
    inverse: Vec<T>,
    /// e, if it is not zero everywhere.
    excess: Option<Vec<T>>,
    lower: Rows<T>,
    upper: Rows<T>,
    outer: Rows<T>,
    couples: bool,
}

/// Where the parts of a row begin and end among its blocks.
struct Split {
    lower: Range<usize>,
    upper: Range<usize>,
    end: usize,
}

impl Split {
    fn new(columns: &[u32], i: usize, part: &Range<usize>) -> Self {
        let below = |c: usize| columns.partition_point(|&k| (k as usize) < c);
        let [first, own, end] = [part.start, i, part.end].map(below);
        let beyond = own + usize::from(columns.get(own) == Some(&(i as u32)));
        Self { lower: first..own, upper: beyond..end, end: columns.len() }
    }

    fn outer(&self) -> [Range<usize>; 2] {
        [0..self.lower.start, self.upper.end..self.end]
    }
}

impl<T: Real, const N: usize, const L: usize> BlockSmoother<T, N, L> {
    /// From a matrix, multiplied by `scale`.
    pub(super) fn new(a: &BlockCsr<N>, scale: f64) -> Self {
        let nodes = a.block_rows();
        let part = if nodes <= SERIAL { nodes.max(1) } else { nodes.div_ceil(PARTS).max(SERIAL / 4) };
        let split = |i: usize| {
            let first = i / part * part;
            Split::new(a.row(i).0, i, &(first..(first + part).min(nodes)))
        };
        let lower = Rows::pick::<N, L>(a, scale, |i| [split(i).lower, 0..0]);
        let upper = Rows::pick::<N, L>(a, scale, |i| [split(i).upper, 0..0]);
        let outer = Rows::pick::<N, L>(a, scale, |i| split(i).outer());
        let mut diagonal = vec![T::default(); nodes * N * N + L];
        let (mut inverse, mut excess) = (diagonal.clone(), vec![T::default(); nodes * N]);
        let size = N * N;
        let each = (
            diagonal.par_chunks_exact_mut(size),
            inverse.par_chunks_exact_mut(size),
            excess.par_chunks_exact_mut(N),
        );
        let each = each.into_par_iter().take(nodes).enumerate().with_min_len(CHUNK);
        let plain = each.map(|(i, (diagonal, inverse, excess))| {
            let (own, more) = pivot(a, i, split(i).outer());
            let inverted = invert(add_diagonal(own, &more));
            for e in 0..size {
                diagonal[e] = T::from_f64(-own[e % N][e / N] * scale);
                inverse[e] = T::from_f64(-inverted[e % N][e / N] / scale);
            }
            excess.iter_mut().zip(more).for_each(|(to, e)| *to = T::from_f64(e * scale));
            more == [0.0; N]
        });
        let plain = plain.reduce(|| true, |a, b| a && b);
        let couples = !outer.columns.is_empty();
        Self {
            nodes,
            part,
            diagonal,
            inverse,
            excess: (!plain).then_some(excess),
            lower,
            upper,
            outer,
            couples,
        }
    }

    fn task_nodes(&self) -> usize {
        self.part * SIDE_BY_SIDE
    }

    /// The order in which a task visits its `len` nodes: the k-th of each of its parts, then the next.
    #[inline(always)]
    fn visit(&self, len: usize, backward: bool, mut node: impl FnMut(usize)) {
        let whole = if len == self.task_nodes() { self.part } else { 0 };
        for k in 0..whole {
            let k = if backward { whole - 1 - k } else { k };
            for q in 0..SIDE_BY_SIDE {
                node(q * self.part + k);
            }
        }
        // A task with missing nodes at its end takes its parts one by one.
        if whole == 0 {
            if backward { (0..len).rev().for_each(node) } else { (0..len).for_each(node) }
        }
    }

    /// D̃⁻¹ of node i times a vector.
    #[inline(always)]
    fn solve_node(&self, i: usize, b: &[T; L]) -> [T; L] {
        let mut x = [T::default(); L];
        // SAFETY: there is a block for each node, and room behind the last.
        unsafe { take::<T, N, L>(&self.inverse, i, |k| b[k], &mut x) };
        x
    }

    /// Node by node, y ← f.
    fn map_nodes(&self, y: &mut [T], f: impl Fn(usize) -> [T; L] + Sync + Send) {
        let chunk = |(c, y): (usize, &mut [T])| {
            y.chunks_exact_mut(N).enumerate().for_each(|(k, y)| y.copy_from_slice(&f(c * CHUNK + k)[..N]));
        };
        for_tasks(&mut y[..self.nodes * N], CHUNK * N, chunk);
    }

    fn excess_at(&self, i: usize, a: usize) -> Option<T> {
        self.excess.as_ref().map(|e| e[i * N + a])
    }
}

/// The vector of a node in a register.
#[inline(always)]
fn load<T: Real, const N: usize, const L: usize>(x: &[T], i: usize) -> [T; L] {
    let part = &x[i * N..][..N];
    std::array::from_fn(|a| if a < N { part[a] } else { T::default() })
}

impl<T: Real, const N: usize, const L: usize> Relax<T> for BlockSmoother<T, N, L> {
    fn size(&self) -> usize {
        self.nodes * N
    }

    fn forward_from_zero(&self, b: &[T], x: &mut [T]) {
        let (b, n) = (&b[..self.nodes * N], self.task_nodes());
        let task = |(t, x): (usize, &mut [T])| {
            let start = t * n;
            self.visit(x.len() / N, false, |k| {
                let mut sum = load::<T, N, L>(b, start + k);
                // SAFETY: nodes of `lower` stay in the part of this one, which lies in x.
                unsafe { self.lower.subtract::<N, L>(start + k, x, start, &mut sum) };
                x[k * N..][..N].copy_from_slice(&self.solve_node(start + k, &sum)[..N]);
            });
        };
        for_tasks(&mut x[..self.nodes * N], n * N, task);
    }

    fn residual_after_forward(&self, x: &[T], r: &mut [T]) {
        let x = &x[..self.nodes * N];
        self.map_nodes(r, |i| {
            let mut sum = [T::default(); L];
            for a in 0..N {
                sum[a] = self.excess_at(i, a).map_or(T::default(), |e| e * x[i * N + a]);
            }
            // SAFETY: nodes of all rows are below the number of nodes.
            unsafe {
                self.upper.subtract::<N, L>(i, x, 0, &mut sum);
                self.outer.subtract::<N, L>(i, x, 0, &mut sum);
            }
            sum
        });
    }

    fn backward(&self, b: &[T], x: &mut [T], t: &mut [T]) {
        let n = self.task_nodes();
        let mut b = &b[..self.nodes * N];
        if self.couples {
            let from = b;
            self.map_nodes(t, |i| {
                let mut sum = load::<T, N, L>(from, i);
                // SAFETY: as above; x has all nodes here.
                unsafe { self.outer.subtract::<N, L>(i, x, 0, &mut sum) };
                sum
            });
            b = &t[..self.nodes * N];
        }
        let task = |(t, x): (usize, &mut [T])| {
            let start = t * n;
            self.visit(x.len() / N, true, |k| {
                let i = start + k;
                let mut sum = load::<T, N, L>(b, i);
                for a in 0..N {
                    sum[a] += self.excess_at(i, a).map_or(T::default(), |e| e * x[k * N + a]);
                }
                // SAFETY: nodes of both triangles stay in the part of this one, which lies in x.
                unsafe {
                    self.lower.subtract::<N, L>(i, x, start, &mut sum);
                    self.upper.subtract::<N, L>(i, x, start, &mut sum);
                }
                x[k * N..][..N].copy_from_slice(&self.solve_node(i, &sum)[..N]);
            });
        };
        for_tasks(&mut x[..self.nodes * N], n * N, task);
    }

    fn multiply(&self, x: &[T], y: &mut [T]) {
        let x = &x[..self.nodes * N];
        self.map_nodes(y, |i| {
            let mut sum = [T::default(); L];
            // SAFETY: nodes of all rows are below the number of nodes, and each has its diagonal.
            unsafe {
                self.lower.subtract::<N, L>(i, x, 0, &mut sum);
                self.upper.subtract::<N, L>(i, x, 0, &mut sum);
                self.outer.subtract::<N, L>(i, x, 0, &mut sum);
            }
            let mut own = [T::default(); L];
            // SAFETY: as above.
            unsafe { take::<T, N, L>(&self.diagonal, i, |k| x[i * N + k], &mut own) };
            std::array::from_fn(|a| own[a] - sum[a])
        });
    }
}

/// D of row i, and the e of its unknowns.
fn pivot<const N: usize>(a: &BlockCsr<N>, i: usize, outer: [Range<usize>; 2]) -> ([[f64; N]; N], [f64; N]) {
    let (columns, blocks) = a.row(i);
    let own = columns.binary_search(&(i as u32)).map_or([[0.0; N]; N], |k| blocks[k]);
    let mut outside = [0.0; N];
    for k in outer.iter().cloned().flatten() {
        for (sum, row) in outside.iter_mut().zip(&blocks[k]) {
            *sum += row.iter().map(|v| v.abs()).sum::<f64>();
        }
    }
    if outside == [0.0; N] {
        return (own, outside);
    }
    let excess = |r: usize| {
        let beside: f64 = (0..N).filter(|c| *c != r).map(|c| own[r][c].abs()).sum();
        (0.55 * (own[r][r] + beside + outside[r]) - own[r][r]).max(0.0)
    };
    (own, std::array::from_fn(excess))
}

fn add_diagonal<const N: usize>(mut m: [[f64; N]; N], more: &[f64; N]) -> [[f64; N]; N] {
    (0..N).for_each(|a| m[a][a] += more[a]);
    m
}

/// The inverse of a symmetric positive definite block by elimination; the unknowns of a pivot that is not positive are left alone.
fn invert<const N: usize>(mut m: [[f64; N]; N]) -> [[f64; N]; N] {
    let before: [f64; N] = std::array::from_fn(|a| m[a][a]);
    for p in 0..N {
        // Sweeps on a symmetric matrix keep it so, and N of them give minus its inverse.
        let pivot = m[p][p];
        if pivot.is_nan() || pivot <= SINGULAR * before[p] {
            (0..N).for_each(|a| (m[a][p], m[p][a]) = (0.0, 0.0));
            continue;
        }
        for a in (0..N).filter(|a| *a != p) {
            let share = m[a][p] / pivot;
            for b in (0..N).filter(|b| *b != p) {
                m[a][b] -= share * m[p][b];
            }
        }
        for a in (0..N).filter(|a| *a != p) {
            (m[a][p], m[p][a]) = (m[a][p] / pivot, m[p][a] / pivot);
        }
        m[p][p] = -1.0 / pivot;
    }
    m.map(|row| row.map(|v| -v))
}
