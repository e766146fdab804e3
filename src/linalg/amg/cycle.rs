//! The levels and the cycle over them.

use super::aggregate::{Groups, aggregate};
use super::block_smoother::Relax;
use super::smoother::Smoother;
use super::transfer::{Columns, NearNull, Transfer, galerkin_constant, smooth};
use super::{AmgParams, Cycle, power_of_two};
use crate::error::Result;
use crate::linalg::csr::Csr;
use crate::linalg::dense::DenseLdlt;
use crate::linalg::vector::{self, Real};

/// A K-cycle takes its second step if the first leaves more than this share of the residual.
const SECOND_STEP: f64 = 0.25;
/// A level that keeps more than this share of its rows is not worth another one.
pub(super) const SLOW_COARSENING: f64 = 0.7;
/// Symmetric sweeps on a last level that is too large for a direct solve.
const BOTTOM_SWEEPS: usize = 4;

/// One level: its matrix with smoother, the way down, and scratch vectors.
#[derive(Debug)]
pub(super) struct Level<T: Real> {
    smoother: Box<dyn Relax<T>>,
    transfer: Transfer<T>,
    residual: Vec<T>,
    coarse: Coarse<T>,
}

/// The vectors of a coarse solve.
#[derive(Debug)]
struct Coarse<T> {
    b: Vec<T>,
    x: Vec<T>,
    v: Vec<T>,
    d: Vec<T>,
    w: Vec<T>,
}

/// The last level.
#[derive(Debug)]
enum Bottom<T> {
    Direct(DenseLdlt, Vec<f64>),
    Sweeps(Box<Smoother<T>>, [Vec<T>; 3]),
}

/// All levels.
#[derive(Debug)]
pub(super) struct Hierarchy<T: Real> {
    levels: Vec<Level<T>>,
    bottom: Bottom<T>,
    cycle: Cycle,
    /// The matrix was multiplied by this before conversion.
    scale: f64,
    b: Vec<T>,
    x: Vec<T>,
}

impl<T: Real> Hierarchy<T> {
    /// Build all levels. Groups of `old` are used again where they fit.
    pub(super) fn new(
        a: &Csr,
        near: Option<NearNull>,
        params: &AmgParams,
        old: Option<Self>,
        sizes: &mut Vec<(usize, usize)>,
    ) -> Result<Self> {
        let largest = a.diagonal().iter().fold(0.0, |m: f64, d| m.max(*d));
        let scale = if largest > 0.0 { 1.0 / power_of_two(largest) } else { 1.0 };
        let mut old = old.into_iter().flat_map(|h| h.levels);
        let (mut levels, mut owned) = (Vec::new(), None::<Csr>);
        let (mut near, mut nodes) = (near, None);
        loop {
            let current = owned.as_ref().unwrap_or(a);
            sizes.push((current.rows(), current.entries()));
            if current.rows() <= params.bottom_rows {
                break;
            }
            let reused = old.next().and_then(|level| level.into_groups(current.rows()));
            let Some(step) = coarsen(current, near.take(), nodes.take(), params, reused)? else {
                break;
            };
            levels.push(Level::new(Box::new(Smoother::new(current, scale)), step.transfer));
            (owned, near, nodes) = (Some(step.matrix), step.near, step.nodes);
        }
        Self::above(levels, owned.as_ref().unwrap_or(a), a.rows(), scale, params)
    }

    /// From levels for `rows` unknowns and the matrix of the last.
    pub(super) fn above(
        levels: Vec<Level<T>>,
        last: &Csr,
        rows: usize,
        scale: f64,
        params: &AmgParams,
    ) -> Result<Self> {
        let bottom = Bottom::new(last, scale, params)?;
        let zeros = || vec![T::default(); rows];
        Ok(Self { levels, bottom, cycle: params.cycle, scale, b: zeros(), x: zeros() })
    }

    /// z ← unit·M⁻¹(r·shrink).
    pub(super) fn solve(&mut self, r: &[f64], shrink: f64, z: &mut [f64], unit: f64) {
        vector::convert_scaled(shrink, r, &mut self.b);
        visit(&mut self.levels, &mut self.bottom, self.cycle, &self.b, &mut self.x);
        vector::convert_scaled(unit * self.scale, &self.x, z);
    }
}

impl<T: Real> Level<T> {
    pub(super) fn new(smoother: Box<dyn Relax<T>>, transfer: Transfer<T>) -> Self {
        let zeros = |n: usize| vec![T::default(); n];
        let (n, m) = (smoother.size(), transfer.coarse_size());
        let coarse = Coarse { b: zeros(m), x: zeros(m), v: zeros(m), d: zeros(m), w: zeros(m) };
        Self { smoother, transfer, residual: zeros(n), coarse }
    }

    /// The groups of this level, if it has as many rows as the new one.
    fn into_groups(self, rows: usize) -> Option<Groups> {
        match self.transfer {
            Transfer::Constant(groups) if groups.map.len() == rows => Some(groups),
            Transfer::Columns(c) if c.groups.map.len() == rows => Some(c.groups),
            Transfer::Smoothed { groups, .. } if groups.map.len() == rows => Some(groups),
            _ => None,
        }
    }
}

impl<T: Real> Bottom<T> {
    fn new(a: &Csr, scale: f64, params: &AmgParams) -> Result<Self> {
        let n = a.rows();
        if n > params.bottom_rows.max(1000) {
            return Ok(Self::Sweeps(
                Box::new(Smoother::new(a, scale)),
                [(); 3].map(|_| vec![T::default(); n]),
            ));
        }
        let mut dense = vec![0.0; n * n];
        for i in 0..n {
            let (columns, values) = a.row(i);
            columns.iter().zip(values).for_each(|(&c, v)| dense[i * n + c as usize] = v * scale);
        }
        Ok(Self::Direct(DenseLdlt::new(n, &dense)?, vec![0.0; n]))
    }

    fn solve(&mut self, b: &[T], x: &mut [T]) {
        match self {
            Self::Direct(factor, work) => {
                vector::convert(b, work);
                factor.solve(work);
                vector::convert(work, x);
            }
            Self::Sweeps(smoother, [r, d, t]) => {
                vector::fill(T::default(), x);
                for _ in 0..BOTTOM_SWEEPS {
                    smoother.multiply(x, r);
                    vector::xpay(b, -1.0, r);
                    smoother.forward_from_zero(r, d);
                    smoother.backward(r, d, t);
                    vector::axpy(1.0, d, x);
                }
            }
        }
    }
}

/// What leads from one level to the next.
struct Step<T: Real> {
    transfer: Transfer<T>,
    matrix: Csr,
    near: Option<NearNull>,
    /// Where the unknowns of each coarse node start.
    nodes: Option<Vec<u32>>,
}

/// The next coarser level, or none if coarsening has come to its end.
fn coarsen<T: Real>(
    a: &Csr,
    near: Option<NearNull>,
    nodes: Option<Vec<u32>>,
    params: &AmgParams,
    reused: Option<Groups>,
) -> Result<Option<Step<T>>> {
    let width = near.as_ref().map_or(1, |n| n.width);
    // Single rows are gathered until a group has about 2^passes rows for each of its coarse unknowns.
    let extra = if nodes.is_none() { width.next_power_of_two().trailing_zeros() as usize } else { 0 };
    let gather = || aggregate(a, params.passes + extra, nodes.as_deref(), near.is_none());
    let groups = reused.unwrap_or_else(gather);
    if groups.count() * width >= (SLOW_COARSENING * a.rows() as f64) as usize {
        return Ok(None);
    }
    let Some(near) = near else {
        let matrix = galerkin_constant(a, &groups)?;
        return Ok(Some(Step { transfer: Transfer::Constant(groups), matrix, near: None, nodes: None }));
    };
    let (columns, near) = Columns::new(groups, &near);
    let nodes = Some(columns.starts.clone());
    if params.smoothed {
        let p = smooth(a, &columns.matrix()?)?;
        let r = p.transpose();
        let matrix = r.product(&a.product(&p)?)?;
        let (prolongation, restriction) = (p.convert(), r.convert());
        let transfer = Transfer::Smoothed { groups: columns.groups, prolongation, restriction };
        return Ok(Some(Step { transfer, matrix, near: Some(near), nodes }));
    }
    let matrix = columns.galerkin(a)?;
    Ok(Some(Step { transfer: Transfer::Columns(columns.convert()), matrix, near: Some(near), nodes }))
}

/// x ← M⁻¹ b on the first of `levels`.
fn visit<T: Real>(levels: &mut [Level<T>], bottom: &mut Bottom<T>, cycle: Cycle, b: &[T], x: &mut [T]) {
    let Some((level, below)) = levels.split_first_mut() else {
        return bottom.solve(b, x);
    };
    level.smoother.forward_from_zero(b, x);
    level.smoother.residual_after_forward(x, &mut level.residual);
    level.transfer.restrict(&level.residual, &mut level.coarse.b);
    solve_coarse(below, bottom, cycle, &mut level.coarse);
    level.transfer.prolong(&level.coarse.x, x);
    level.smoother.backward(b, x, &mut level.residual);
}

/// Solve the coarse system approximately: `coarse.x` from `coarse.b`, which is used up.
fn solve_coarse<T: Real>(
    levels: &mut [Level<T>],
    bottom: &mut Bottom<T>,
    cycle: Cycle,
    coarse: &mut Coarse<T>,
) {
    let Coarse { b, x, v, d, w } = coarse;
    visit(levels, bottom, cycle, b, x);
    if levels.is_empty() || cycle == Cycle::V {
        return;
    }
    levels[0].smoother.multiply(x, v);
    if cycle == Cycle::W {
        vector::axpy(-1.0, v, b);
        visit(levels, bottom, cycle, b, d);
        vector::axpy(1.0, d, x);
        return;
    }
    // The first step: x is the direction, v its image.
    let (xv, xb) = vector::dot2(x, v, b);
    let before = vector::dot(b, b);
    if xv.is_nan() || xv <= 0.0 {
        return;
    }
    vector::axpy(-xb / xv, v, b);
    if vector::dot(b, b) <= SECOND_STEP * SECOND_STEP * before {
        return vector::scale(xb / xv, x);
    }
    // The second step, conjugate to the first.
    visit(levels, bottom, cycle, b, d);
    levels[0].smoother.multiply(d, w);
    let (dv, dw) = vector::dot2(d, v, w);
    let db = vector::dot(d, b);
    let rest = dw - dv * dv / xv;
    if rest.is_nan() || rest <= 0.0 {
        return vector::scale(xb / xv, x);
    }
    vector::scale(xb / xv - dv * db / (xv * rest), x);
    vector::axpy(db / rest, d, x);
}
