//! Between a level and the next coarser one: restriction, prolongation, Galerkin matrix.
//!
//! P spans the near-null vectors exactly on every group of rows; the coarse matrix is Pᵀ A P.
//!
//! - [`Transfer::Constant`]: the near-null vector is the constant. P has a single one in each row, and
//!   the coarse entry (g, h) is the sum of the aᵢⱼ with i in group g and j in h.
//! - [`Transfer::Columns`]: several near-null vectors B (n×k), such as the rigid motions. On each group
//!   B = Q R with orthonormal Q: the rows of Q are the rows of P, and R is B on the next level. A column that
//!   depends on the ones before it on a group (a group of three rows cannot turn) is dropped there.
//! - [`Transfer::Smoothed`]: (I − ω D⁻¹A) P of either kind [VMB96], with ω = 4/3 over a bound of the
//!   spectral radius of D⁻¹A.

use super::aggregate::{Groups, NONE};
use super::blocks::Between;
use crate::error::Result;
use crate::linalg::chebyshev::largest_eigenvalue;
use crate::linalg::csr::{Block, Csr};
use crate::linalg::vector::{Real, convert};
use crate::math::CHUNK;
use rayon::prelude::*;

/// A coarse diagonal below this share of the diagonals it was summed from is zero: a closed component.
const CANCELLED: f64 = 1e-12;
/// A column whose part orthogonal to the earlier ones is below this share of it depends on them.
pub(super) const DEPENDENT: f64 = 1e-8;

/// The near-null vectors of a level: row i has `values[i*width..][..width]`.
#[derive(Clone, Debug)]
pub(crate) struct NearNull {
    pub(crate) width: usize,
    pub(crate) values: Vec<f64>,
}

impl NearNull {
    fn row(&self, i: u32) -> &[f64] {
        &self.values[i as usize * self.width..][..self.width]
    }
}

/// The rows of P where it has several columns a group.
#[derive(Clone, Debug)]
pub(crate) struct Columns<T> {
    pub(crate) groups: Groups,
    /// Coarse unknowns of group g: `starts[g]..starts[g+1]`, at most `width`.
    pub(crate) starts: Vec<u32>,
    width: usize,
    /// Row i of P: `values[i*width..]`, against the coarse unknowns of its group.
    values: Vec<T>,
}

/// P in one of its forms.
#[derive(Debug)]
pub(crate) enum Transfer<T: Real> {
    Constant(Groups),
    Columns(Columns<T>),
    /// Rigid motions of groups of nodes, see [`super::blocks`].
    Nodes(Box<dyn Between<T>>),
    Smoothed {
        groups: Groups,
        prolongation: Csr<T>,
        restriction: Csr<T>,
    },
}

impl<T: Real> Transfer<T> {
    /// Coarse unknowns.
    pub(crate) fn coarse_size(&self) -> usize {
        match self {
            Self::Constant(groups) => groups.count(),
            Self::Columns(c) => c.coarse_size(),
            Self::Nodes(n) => n.coarse_size(),
            Self::Smoothed { prolongation, .. } => prolongation.column_count(),
        }
    }

    /// coarse ← Pᵀ fine.
    pub(crate) fn restrict(&self, fine: &[T], coarse: &mut [T]) {
        match self {
            Self::Constant(groups) => restrict_constant(groups, fine, coarse),
            Self::Columns(c) => c.restrict(fine, coarse),
            Self::Nodes(n) => n.restrict(fine, coarse),
            Self::Smoothed { restriction, .. } => restriction.multiply(fine, coarse),
        }
    }

    /// fine ← fine + P coarse.
    pub(crate) fn prolong(&self, coarse: &[T], fine: &mut [T]) {
        match self {
            Self::Constant(groups) => prolong_constant(groups, coarse, fine),
            Self::Columns(c) => c.prolong(coarse, fine),
            Self::Nodes(n) => n.prolong(coarse, fine),
            Self::Smoothed { prolongation, .. } => prolongation.add_to(coarse, fine),
        }
    }
}

fn restrict_constant<T: Real>(groups: &Groups, fine: &[T], coarse: &mut [T]) {
    let sum = |g: usize| groups.members(g).iter().fold(T::default(), |s, &i| s + fine[i as usize]);
    let chunk = |(c, part): (usize, &mut [T])| {
        part.iter_mut().enumerate().for_each(|(k, v)| *v = sum(c * CHUNK + k));
    };
    if coarse.len() <= CHUNK {
        chunk((0, coarse))
    } else {
        coarse.par_chunks_mut(CHUNK).enumerate().for_each(chunk)
    }
}

fn prolong_constant<T: Real>(groups: &Groups, coarse: &[T], fine: &mut [T]) {
    let chunk = |(fine, map): (&mut [T], &[u32])| {
        for (v, &g) in fine.iter_mut().zip(map) {
            if g != NONE {
                *v += coarse[g as usize];
            }
        }
    };
    if fine.len() <= CHUNK {
        chunk((fine, &groups.map));
    } else {
        fine.par_chunks_mut(CHUNK).zip(groups.map.par_chunks(CHUNK)).for_each(chunk);
    }
}

/// Pᵀ A P for the constant.
pub(crate) fn galerkin_constant(a: &Csr, groups: &Groups) -> Result<Csr> {
    Csr::from_sums(groups.count(), groups.count(), |g, sums| {
        let mut diagonals = 0.0;
        sums.add(g as u32, 0.0);
        for &i in groups.members(g) {
            let (columns, values) = a.row(i as usize);
            for (&c, &v) in columns.iter().zip(values) {
                let h = groups.map[c as usize];
                if h != NONE {
                    sums.add(h, v);
                }
                diagonals += if c == i { v } else { 0.0 };
            }
        }
        sums.clear_small(g as u32, CANCELLED * diagonals);
    })
}

impl Columns<f64> {
    /// Q and R of the near-null vectors on every group.
    pub(crate) fn new(groups: Groups, near: &NearNull) -> (Self, NearNull) {
        let k = near.width;
        let parts: Vec<_> =
            (0..groups.count()).into_par_iter().map(|g| orthonormalise(groups.members(g), near)).collect();
        let mut starts = vec![0u32];
        let mut values = vec![0.0; groups.map.len() * k];
        let mut coarse = Vec::new();
        for (g, (q, r)) in parts.iter().enumerate() {
            let kept = r.len() / k;
            starts.push(starts[g] + kept as u32);
            for (&i, q) in groups.members(g).iter().zip(q.chunks(k)) {
                values[i as usize * k..][..k].copy_from_slice(q);
            }
            coarse.extend_from_slice(r);
        }
        (Self { groups, starts, width: k, values }, NearNull { width: k, values: coarse })
    }

    /// Pᵀ A P: for each pair of groups the block Σ qᵢ aᵢⱼ qⱼᵀ.
    pub(crate) fn galerkin(&self, a: &Csr) -> Result<Csr> {
        const GROUPS: usize = 64;
        let count = self.groups.count();
        Csr::from_blocks(count.div_ceil(GROUPS), self.coarse_size(), |b| {
            let mut block = Block::default();
            let mut work = BlockRow::default();
            for g in b * GROUPS..((b + 1) * GROUPS).min(count) {
                self.block_row(a, g, &mut work);
                self.write_rows(g, &mut work, &mut block);
            }
            block
        })
    }

    /// The blocks of group g with every group it touches.
    fn block_row(&self, a: &Csr, g: usize, work: &mut BlockRow) {
        let k = self.width;
        work.clear();
        for &i in self.groups.members(g) {
            let q = &self.values[i as usize * k..][..k];
            let (columns, values) = a.row(i as usize);
            for (&c, &v) in columns.iter().zip(values) {
                let h = self.groups.map[c as usize];
                if h == NONE {
                    continue;
                }
                let block = work.block(h, k * k);
                let p = &self.values[c as usize * k..][..k];
                for (row, q) in block.chunks_exact_mut(k).zip(q) {
                    row.iter_mut().zip(p).for_each(|(b, p)| *b += q * v * p);
                }
            }
        }
    }

    fn write_rows(&self, g: usize, work: &mut BlockRow, out: &mut Block<f64>) {
        let k = self.width;
        let unknowns = |h: u32| self.starts[h as usize]..self.starts[h as usize + 1];
        work.order.sort_unstable();
        for row in 0..unknowns(g as u32).len() {
            for &(h, place) in &work.order {
                for (column, c) in unknowns(h).enumerate() {
                    out.columns.push(c);
                    out.values.push(work.blocks[place as usize * k * k + row * k + column]);
                }
            }
            out.end_row();
        }
    }

    /// P as a matrix.
    pub(crate) fn matrix(&self) -> Result<Csr> {
        Csr::from_rows(self.groups.map.len(), self.coarse_size(), |i, row| {
            let g = self.groups.map[i];
            if g != NONE {
                let unknowns = self.starts[g as usize]..self.starts[g as usize + 1];
                row.extend(unknowns.zip(self.values[i * self.width..].iter().copied()));
            }
        })
    }

    pub(crate) fn convert<T: Real>(self) -> Columns<T> {
        let mut values = vec![T::default(); self.values.len()];
        convert(&self.values, &mut values);
        Columns { groups: self.groups, starts: self.starts, width: self.width, values }
    }
}

impl<T: Real> Columns<T> {
    pub(crate) fn coarse_size(&self) -> usize {
        self.starts.last().map_or(0, |&s| s as usize)
    }

    fn restrict(&self, fine: &[T], coarse: &mut [T]) {
        let k = self.width;
        let parts = split_by(coarse, &self.starts);
        parts.into_par_iter().enumerate().with_min_len(256).for_each(|(g, part)| {
            part.fill(T::default());
            for &i in self.groups.members(g) {
                let q = &self.values[i as usize * k..][..k];
                part.iter_mut().zip(q).for_each(|(c, q)| *c += *q * fine[i as usize]);
            }
        });
    }

    fn prolong(&self, coarse: &[T], fine: &mut [T]) {
        let k = self.width;
        fine.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, v)| {
            let g = self.groups.map[i];
            if g != NONE {
                let unknowns =
                    &coarse[self.starts[g as usize] as usize..self.starts[g as usize + 1] as usize];
                let sum =
                    unknowns.iter().zip(&self.values[i * k..]).fold(T::default(), |s, (c, q)| s + *c * *q);
                *v += sum;
            }
        });
    }
}

/// Cut a vector at the given starts.
fn split_by<'a, T>(mut rest: &'a mut [T], starts: &[u32]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(starts.len() - 1);
    for w in starts.windows(2) {
        let (part, tail) = rest.split_at_mut((w[1] - w[0]) as usize);
        parts.push(part);
        rest = tail;
    }
    parts
}

/// The blocks of one row of groups while they are summed.
#[derive(Default)]
struct BlockRow {
    /// (group, place of its block), found by a linear search: a group touches few others.
    order: Vec<(u32, u32)>,
    blocks: Vec<f64>,
    last: (u32, u32),
}

impl BlockRow {
    fn clear(&mut self) {
        self.order.clear();
        self.blocks.clear();
        self.last = (NONE, 0);
    }

    fn block(&mut self, h: u32, size: usize) -> &mut [f64] {
        if self.last.0 != h {
            self.last = match self.order.iter().find(|e| e.0 == h) {
                Some(&found) => found,
                None => {
                    let new = (h, self.order.len() as u32);
                    self.order.push(new);
                    self.blocks.resize(self.blocks.len() + size, 0.0);
                    new
                }
            };
        }
        &mut self.blocks[self.last.1 as usize * size..][..size]
    }
}

/// Q (members × width, unused columns zero) and R (kept × width) by Gram–Schmidt, done twice.
fn orthonormalise(members: &[u32], near: &NearNull) -> (Vec<f64>, Vec<f64>) {
    let (m, k) = (members.len(), near.width);
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(k);
    for column in 0..k {
        let mut v: Vec<f64> = members.iter().map(|&i| near.row(i)[column]).collect();
        let before = norm(&v);
        for _ in 0..2 {
            for q in &basis {
                let share: f64 = q.iter().zip(&v).map(|(q, v)| q * v).sum();
                v.iter_mut().zip(q).for_each(|(v, q)| *v -= share * q);
            }
        }
        let length = norm(&v);
        if basis.len() < m && length > DEPENDENT * before && length > 0.0 {
            v.iter_mut().for_each(|v| *v /= length);
            basis.push(v);
        }
    }
    let mut q = vec![0.0; m * k];
    let mut r = vec![0.0; basis.len() * k];
    for (c, v) in basis.iter().enumerate() {
        for (row, value) in v.iter().enumerate() {
            q[row * k + c] = *value;
        }
        for column in 0..k {
            r[c * k + column] = members.iter().zip(v).map(|(&i, v)| near.row(i)[column] * v).sum();
        }
    }
    (q, r)
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// (I − ω D⁻¹A) P.
pub(crate) fn smooth(a: &Csr, p: &Csr) -> Result<Csr> {
    let diagonal = a.diagonal();
    let inverse: Vec<f64> = diagonal.iter().map(|d| if *d > 0.0 { 1.0 / d } else { 0.0 }).collect();
    let omega = 4.0 / 3.0 / (1.1 * largest_eigenvalue(a, &inverse)?);
    Csr::from_sums(p.rows(), p.column_count(), |i, sums| {
        let mut add = |row: usize, factor: f64| {
            let (columns, values) = p.row(row);
            columns.iter().zip(values).for_each(|(&c, v)| sums.add(c, factor * v));
        };
        add(i, 1.0);
        if inverse[i] > 0.0 {
            let (columns, values) = a.row(i);
            columns.iter().zip(values).for_each(|(&j, v)| add(j as usize, -omega * v * inverse[i]));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::aggregate::aggregate;
    use super::*;
    use crate::linalg::cases::viscosity;

    #[test]
    fn rigid_motions_are_kept_by_every_level() {
        let case = viscosity(9, 1e3).unwrap();
        let mut a = case.matrix;
        let mut near = NearNull { width: 6, values: case.rigid_motions };
        let mut nodes: Option<Vec<u32>> = None;
        for level in 0..2 {
            let groups = aggregate(&a, if level == 0 { 6 } else { 3 }, nodes.as_deref(), false);
            let (columns, coarse) = Columns::new(groups, &near);
            let p = columns.matrix().unwrap();
            let coarse_matrix = columns.galerkin(&a).unwrap();
            let general = p.transpose().product(&a.product(&p).unwrap()).unwrap();
            for motion in 0..6 {
                let column =
                    |n: &NearNull| -> Vec<f64> { n.values.iter().skip(motion).step_by(6).copied().collect() };
                let (fine, small) = (column(&near), column(&coarse));
                let (mut lifted, mut image) = (vec![0.0; fine.len()], vec![0.0; small.len()]);
                p.multiply(&small, &mut lifted);
                // (1 + sK) leaves rigid motions alone, and so does its Galerkin matrix as PᵀP = 1.
                coarse_matrix.multiply(&small, &mut image);
                let off =
                    |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off(&lifted, &fine) < 1e-12 * 9.0, "level {level}");
                // Terms of size s·|u| cancel.
                assert!(off(&image, &small) < 1e-13 * 1e3 * 50.0, "level {level}");
            }
            for i in 0..coarse_matrix.rows() {
                let (columns, values) = coarse_matrix.row(i);
                let same = |(&c, v): (&u32, &f64)| (v - general.get(i, c as usize)).abs() < 1e-9;
                assert!(columns.iter().zip(values).all(same));
            }
            (a, near, nodes) = (coarse_matrix, coarse, Some(columns.starts));
        }
    }
}
