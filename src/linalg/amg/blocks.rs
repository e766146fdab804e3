//! Multigrid for matrices of blocks: vertices with a velocity, whose near-null vectors are the six rigid motions.
//!
//! The same method as [`super::Amg`] with near-null vectors, without taking blocks apart. Whole nodes are gathered, by the
//! mean of |a| over a row of the block that couples two of them, so that matching looks at one number instead of nine. A group
//! moves rigidly: its six motions, made orthonormal over the group (Q), are the rows of P, and the coarse matrix
//! Pᵀ A P has blocks of 6×6 on every level below. A group of one or two vertices cannot turn in all ways; a motion that depends on
//! the others is zero in P, and one stands on its diagonal.

use super::aggregate::{Groups, NONE, aggregate};
use super::block_smoother::BlockSmoother;
use super::cycle::{Hierarchy, Level, SLOW_COARSENING};
use super::transfer::{DEPENDENT, Transfer};
use super::{AmgParams, Levels, Precision, apply, power_of_two};
use crate::error::{Error, Result};
use crate::linalg::block_csr::BlockCsr;
use crate::linalg::csr::Csr;
use crate::linalg::operator::Preconditioner;
use crate::linalg::vector::Real;
use crate::math::CHUNK;
use rayon::prelude::*;
use std::fmt::Debug;

/// Motions of a rigid body.
const MOTIONS: usize = 6;
/// Numbers in a register that holds the unknowns of a vertex, and of a group.
const VERTEX: usize = 4;
const GROUP: usize = 8;

/// The rows of a node against the motions of its group.
type Rigid<const N: usize> = [[f64; MOTIONS]; N];

/// Between a level of nodes and the next.
pub(crate) trait Between<T>: Debug + Send + Sync {
    fn coarse_size(&self) -> usize;
    /// coarse ← Pᵀ fine.
    fn restrict(&self, fine: &[T], coarse: &mut [T]);
    /// fine ← fine + P coarse.
    fn prolong(&self, coarse: &[T], fine: &mut [T]);
}

/// Algebraic multigrid over vertices with three unknowns each, as a preconditioner.
#[derive(Debug)]
pub struct BlockAmg {
    levels: Levels,
}

impl BlockAmg {
    /// Build the hierarchy of a symmetric positive definite matrix. Row a of node i is `rigid[i][a]` times the rigid motions;
    /// centre these on the liquid.
    pub fn new(a: &BlockCsr<3>, rigid: Vec<[[f64; 6]; 3]>, params: &AmgParams) -> Result<Self> {
        if rigid.len() != a.block_rows() || rigid.iter().flatten().flatten().any(|v| !v.is_finite()) {
            let message =
                format!("{} nodes need as many finite rigid motions, not {}", a.block_rows(), rigid.len());
            return Err(Error::invalid("amg", message));
        }
        if !a.is_finite() {
            return Err(Error::invalid("amg", "the matrix has numbers that are not finite"));
        }
        let levels = match params.precision {
            Precision::Single => Levels::Single(hierarchy(a, rigid, params)?),
            Precision::Double => Levels::Double(hierarchy(a, rigid, params)?),
        };
        Ok(Self { levels })
    }
}

impl Preconditioner for BlockAmg {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        match &mut self.levels {
            Levels::Single(h) => apply(h, r, z),
            Levels::Double(h) => apply(h, r, z),
        }
    }
}

fn hierarchy<T: Real>(a: &BlockCsr<3>, rigid: Vec<Rigid<3>>, params: &AmgParams) -> Result<Hierarchy<T>> {
    let largest = (0..a.block_rows()).flat_map(|i| a.diagonal_of(i)).fold(0.0, f64::max);
    let scale = if largest > 0.0 { 1.0 / power_of_two(largest) } else { 1.0 };
    let (mut levels, rows) = (Vec::new(), 3 * a.block_rows());
    let Some(first) = coarsen::<T, 3, VERTEX>(a, rigid, params.passes + 1, params.bottom_rows)? else {
        return Hierarchy::above(levels, &a.to_csr()?, rows, scale, params);
    };
    levels.push(Level::new(Box::new(BlockSmoother::<T, 3, VERTEX>::new(a, scale)), first.transfer));
    let (mut matrix, mut rigid) = (first.matrix, first.rigid);
    while let Some(step) = coarsen::<T, MOTIONS, GROUP>(&matrix, rigid, params.passes, params.bottom_rows)? {
        levels.push(Level::new(
            Box::new(BlockSmoother::<T, MOTIONS, GROUP>::new(&matrix, scale)),
            step.transfer,
        ));
        (matrix, rigid) = (step.matrix, step.rigid);
    }
    Hierarchy::above(levels, &matrix.to_csr()?, rows, scale, params)
}

/// What leads from one level to the next.
struct Step<T: Real> {
    transfer: Transfer<T>,
    matrix: BlockCsr<MOTIONS>,
    rigid: Vec<Rigid<MOTIONS>>,
}

/// The next coarser level; none if this one is small, or coarsening has come to its end.
fn coarsen<T: Real, const N: usize, const L: usize>(
    a: &BlockCsr<N>,
    rigid: Vec<Rigid<N>>,
    passes: usize,
    bottom_rows: usize,
) -> Result<Option<Step<T>>> {
    if N * a.block_rows() <= bottom_rows {
        return Ok(None);
    }
    let groups = aggregate(&strength(a)?, passes, None, false);
    if (groups.count() * MOTIONS) as f64 >= SLOW_COARSENING * (a.block_rows() * N) as f64 {
        return Ok(None);
    }
    let parts: Vec<_> =
        (0..groups.count()).into_par_iter().map(|g| orthonormalise(groups.members(g), &rigid)).collect();
    let mut rows = vec![[[0.0; MOTIONS]; N]; a.block_rows()];
    for (g, (q, _)) in parts.iter().enumerate() {
        groups.members(g).iter().zip(q).for_each(|(&i, q)| rows[i as usize] = *q);
    }
    let matrix = galerkin(a, &groups, &rows)?;
    let rigid = parts.into_iter().map(|p| p.1).collect();
    let values = rows.par_iter().with_min_len(CHUNK).map(|row| row.map(|r| r.map(T::from_f64))).collect();
    let transfer = Transfer::Nodes(Box::new(Nodes::<T, N> { groups, values }));
    Ok(Some(Step { transfer, matrix, rigid }))
}

/// One number for each block: the mean over its rows of Σ|a|, and on the diagonal what is left of the least of it.
fn strength<const N: usize>(a: &BlockCsr<N>) -> Result<Csr> {
    let sum = |row: &[f64; N]| row.iter().map(|v| v.abs()).sum::<f64>();
    Csr::from_rows(a.block_rows(), a.block_rows(), |i, row| {
        let (columns, blocks) = a.row(i);
        for (&c, block) in columns.iter().zip(blocks) {
            let own = |k: usize| 2.0 * block[k][k] - sum(&block[k]);
            row.push(match c as usize == i {
                true => (c, (0..N).map(own).fold(f64::INFINITY, f64::min)),
                false => (c, block.iter().map(sum).sum::<f64>() / N as f64),
            });
        }
    })
}

/// Q and R of the motions over the nodes of a group, by Gram–Schmidt done twice: the rows of Q node by node, and R.
fn orthonormalise<const N: usize>(members: &[u32], rigid: &[Rigid<N>]) -> (Vec<Rigid<N>>, Rigid<MOTIONS>) {
    let before: Vec<Rigid<N>> = members.iter().map(|&i| rigid[i as usize]).collect();
    let mut q = before.clone();
    let mut r = [[0.0; MOTIONS]; MOTIONS];
    let product = |u: &[Rigid<N>], c: usize, v: &[Rigid<N>], d: usize| -> f64 {
        u.iter().flatten().zip(v.iter().flatten()).map(|(u, v)| u[c] * v[d]).sum()
    };
    for c in 0..MOTIONS {
        let length = product(&q, c, &q, c).sqrt();
        for _ in 0..2 {
            for d in 0..c {
                let share = product(&q, d, &q, c);
                q.iter_mut().flatten().for_each(|row| row[c] -= share * row[d]);
            }
        }
        let left = product(&q, c, &q, c).sqrt();
        let factor = if left > DEPENDENT * length { 1.0 / left } else { 0.0 };
        q.iter_mut().flatten().for_each(|row| row[c] *= factor);
    }
    for (c, row) in r.iter_mut().enumerate() {
        for (d, entry) in row.iter_mut().enumerate() {
            *entry = product(&q, c, &before, d);
        }
    }
    (q, r)
}

/// Pᵀ A P: for each pair of groups the block Σ Qᵢᵀ Aᵢⱼ Qⱼ.
fn galerkin<const N: usize>(a: &BlockCsr<N>, groups: &Groups, q: &[Rigid<N>]) -> Result<BlockCsr<MOTIONS>> {
    BlockCsr::from_rows(groups.count(), |g, row| {
        for &i in groups.members(g) {
            let (columns, blocks) = a.row(i as usize);
            let own = &q[i as usize];
            for (&c, block) in columns.iter().zip(blocks) {
                let h = groups.map[c as usize];
                if h == NONE {
                    continue;
                }
                let to = match row.iter().position(|e: &(u32, _)| e.0 == h) {
                    Some(at) => &mut row[at].1,
                    None => {
                        row.push((h, [[0.0; MOTIONS]; MOTIONS]));
                        let last = row.len() - 1;
                        &mut row[last].1
                    }
                };
                for (own, block) in own.iter().zip(block) {
                    let mut across = [0.0; MOTIONS];
                    for (v, other) in block.iter().zip(&q[c as usize]) {
                        across.iter_mut().zip(other).for_each(|(s, p)| *s += v * p);
                    }
                    for (to, own) in to.iter_mut().zip(own) {
                        to.iter_mut().zip(across).for_each(|(to, s)| *to += own * s);
                    }
                }
            }
        }
        // A motion that the group cannot make has no row; any number makes it harmless.
        let Some((_, own)) = row.iter_mut().find(|e| e.0 == g as u32) else { return };
        let largest = (0..MOTIONS).map(|m| own[m][m]).fold(0.0, f64::max);
        let moves =
            |m: usize| groups.members(g).iter().any(|&i| q[i as usize].iter().any(|row| row[m] != 0.0));
        for m in (0..MOTIONS).filter(|m| !moves(*m)) {
            own[m][m] = if largest > 0.0 { largest } else { 1.0 };
        }
    })
}

/// P of a level.
#[derive(Debug)]
struct Nodes<T, const N: usize> {
    groups: Groups,
    values: Vec<[[T; MOTIONS]; N]>,
}

impl<T: Real, const N: usize> Between<T> for Nodes<T, N> {
    fn coarse_size(&self) -> usize {
        self.groups.count() * MOTIONS
    }

    fn restrict(&self, fine: &[T], coarse: &mut [T]) {
        let all = coarse.par_chunks_exact_mut(MOTIONS).enumerate().with_min_len(256);
        all.for_each(|(g, to)| {
            let mut sum = [T::default(); MOTIONS];
            for &i in self.groups.members(g) {
                let own = &fine[i as usize * N..][..N];
                for (row, r) in self.values[i as usize].iter().zip(own) {
                    sum.iter_mut().zip(row).for_each(|(s, q)| *s += *q * *r);
                }
            }
            to.copy_from_slice(&sum);
        });
    }

    fn prolong(&self, coarse: &[T], fine: &mut [T]) {
        let all = fine.par_chunks_exact_mut(N).zip(&self.values).zip(&self.groups.map);
        all.with_min_len(CHUNK).for_each(|((to, rows), &g)| {
            if g == NONE {
                return;
            }
            let motion = &coarse[g as usize * MOTIONS..][..MOTIONS];
            for (to, row) in to.iter_mut().zip(rows) {
                *to += row.iter().zip(motion).fold(T::default(), |s, (q, m)| s + *q * *m);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::linalg::cases::random_vector;
    use crate::linalg::{Cycle, KrylovParams, LinearOperator, cg, vector};

    const SIDE: usize = 16;

    fn place(i: usize) -> [f64; 3] {
        [i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE)].map(|v| v as f64)
    }

    /// Springs of a stiffness between the points of a cube and their 26 neighbours, on masses of one.
    fn springs(stiffness: f64) -> (BlockCsr<3>, Vec<Rigid<3>>) {
        let n = SIDE.pow(3);
        let near = |i: usize, j: usize| (0..3).all(|a| (place(i)[a] - place(j)[a]).abs() < 1.5);
        let matrix = BlockCsr::from_rows(n, |i, row| {
            row.push((i as u32, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]));
            let beside = SIDE * SIDE + SIDE + 1;
            let others = i.saturating_sub(beside)..(i + beside + 1).min(n);
            for j in others.filter(|&j| j != i && near(i, j)) {
                let d: [f64; 3] = std::array::from_fn(|a| place(j)[a] - place(i)[a]);
                let length: f64 = d.iter().map(|d| d * d).sum();
                let pull = d.map(|a| d.map(|b| stiffness * a * b / length));
                row.push((i as u32, pull));
                row.push((j as u32, pull.map(|r| r.map(|v| -v))));
            }
        });
        let motions = |i: usize| {
            let [x, y, z] = place(i).map(|v| v - 0.5 * SIDE as f64);
            [[1.0, 0.0, 0.0, 0.0, z, -y], [0.0, 1.0, 0.0, -z, 0.0, x], [0.0, 0.0, 1.0, y, -x, 0.0]]
        };
        (matrix.unwrap(), (0..n).map(motions).collect())
    }

    #[test]
    fn springs_of_any_stiffness_take_a_few_iterations() {
        for stiffness in [1.0, 1e2, 1e4] {
            let (a, rigid) = springs(stiffness);
            let b = random_vector(a.size(), 1);
            let mut x = vec![0.0; b.len()];
            let mut cycle =
                BlockAmg::new(&a, rigid, &AmgParams { passes: 2, ..AmgParams::default() }).unwrap();
            let params = KrylovParams { tolerance: 1e-8, ..KrylovParams::default() };
            let info = cg(&a, &mut cycle, &b, &mut x, &params, &Cancel::new()).unwrap();
            assert!(info.converged() && info.iterations <= 30, "{stiffness}: {info:?}");
        }
    }

    #[test]
    fn a_cycle_is_symmetric_and_positive() {
        // Several parts, so that couplings between them count.
        let (a, rigid) = springs(50.0);
        let params =
            AmgParams { passes: 2, cycle: Cycle::V, precision: Precision::Double, ..AmgParams::default() };
        let mut cycle = BlockAmg::new(&a, rigid, &params).unwrap();
        let [u, v] = [1, 2].map(|seed| random_vector(a.size(), seed));
        let [mut mu, mut mv] = [vec![0.0; u.len()], vec![0.0; u.len()]];
        cycle.apply(&u, &mut mu);
        cycle.apply(&v, &mut mv);
        let (left, right) = (vector::dot(&u, &mv), vector::dot(&v, &mu));
        // Sums of this many terms round by far less.
        assert!((left - right).abs() < 1e-11 * vector::norm(&u) * vector::norm(&mv), "{left} {right}");
        assert!(vector::dot(&u, &mu) > 0.0 && vector::dot(&v, &mv) > 0.0);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let (a, rigid) = springs(1e3);
        let b = random_vector(a.size(), 3);
        let once = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut z = vec![0.0; b.len()];
                BlockAmg::new(&a, rigid.clone(), &AmgParams::default()).unwrap().apply(&b, &mut z);
                z
            })
        };
        assert_eq!(once(1), once(3));
    }
}
