//! Multigrid on tiles as the preconditioner of conjugate gradients, for the pressure of a [`Stencil`].
//!
//! Coarse cells are aggregates of 2×2×2 cells, and every level is a 7-point matrix on tiles again
//! ([`build`]), so that work and memory are proportional to the tiles. Differences from [SHM22]: the
//! correction is interpolated linearly instead of copied, and an aggregate at the surface is pulled by
//! the air as a cell twice as wide would be. One red-black sweep before and one after the coarse
//! correction then give iterations that do not grow with the grid.
//!
//! The cycle is M⁻¹ = S̄ + (1 − SᵀA) P B Pᵀ (1 − A S) with S the sweep, S̄ the sweep and its transpose and
//! B the cycle of the next level. It is symmetric, and positive definite for any prolongation P, since the
//! sweeps converge and B is at least semi-definite.
//!
//! The hierarchy is kept in f32, vectors and matrix of conjugate gradients in f64. Fields of this module
//! are split by colour ([`rows`]); a tile is read with the cells that touch it, and all tiles of a pass
//! are independent: the bits do not depend on the threads.
//!
//! The right-hand side of a closed region is made to sum to zero, and so is its pressure. Residuals then
//! stay in the range of the matrix, and constants in the preconditioned ones do no harm, as A removes
//! them from the next residual.
//!
//! Checked by `multigrid/tests.rs`; times in `benches/multigrid.rs`.

mod boxes;
mod build;
mod gradients;
mod level;
mod rows;
#[cfg(test)]
mod tests;

use super::regions::ClosedRegions;
use super::stencil::Stencil;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::grid::{SIDE, Tiles};
use crate::linalg::vector::{self, Real};
use crate::linalg::{Amg, AmgParams, KrylovParams, NullSpace, Preconditioner, SolveInfo, cg};
use build::{Bottom, Natural};
use gradients::Vectors;
use level::{BLACK, Level, RED, TASK};
use rayon::prelude::*;
use rows::{LANES, Shape, is_odd};

/// A level with at most this many unknowns is solved directly.
const BOTTOM_UNKNOWNS: usize = 100;
/// Iterations after which algebraic multigrid is expected to be faster than going on.
const PATIENCE: usize = 100;

/// The levels of a stencil and the vectors of a solve. Memory is kept from one stencil to the next.
#[derive(Debug, Default)]
pub struct Multigrid {
    /// Matrices of the coarse levels in the order of their tiles.
    natural: Vec<Natural>,
    levels: Vec<Level>,
    bottom: Bottom,
    /// The pull of the air on the cells of the first level.
    pull: Vec<f32>,
    /// The diagonal of the first level, red cells before black ones.
    diagonal: Vec<f64>,
    regions: ClosedRegions,
    vectors: Vectors,
    unknowns: usize,
}

/// What a solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PressureSolve {
    pub info: SolveInfo,
    /// Whether the cycle did not converge and algebraic multigrid took over.
    pub fell_back: bool,
    /// Regions without a free surface.
    pub closed_regions: usize,
    /// Σ over closed regions of |Σ right-hand side|: what could not be balanced.
    pub refused: f64,
}

impl Multigrid {
    /// The levels of a stencil.
    pub fn new(tiles: &Tiles, stencil: &Stencil) -> Result<Self> {
        let mut made = Self::default();
        made.rebuild(tiles, stencil)?;
        Ok(made)
    }

    /// The levels of another stencil, in the memory of this one.
    pub fn rebuild(&mut self, tiles: &Tiles, stencil: &Stencil) -> Result<()> {
        stencil.check(tiles)?;
        let mut unit = build::excess(tiles, stencil, &mut self.pull)?;
        self.regions = ClosedRegions::new(tiles, stencil, &self.pull);
        let mut spare = std::mem::take(&mut self.levels).into_iter();
        let mut spare_natural = std::mem::take(&mut self.natural).into_iter();
        let mut level = spare.next().unwrap_or_default();
        let mut count = build::fill(&mut level, tiles, &stencil.coupling, |p, _| stencil.diagonal[p] as f32);
        self.unknowns = count;
        self.diagonal.resize(tiles.cells(), 0.0);
        split(level.shape, &stencil.diagonal, &mut self.diagonal, |v| v);
        while count > BOTTOM_UNKNOWNS {
            let mut coarse = spare.next().unwrap_or_default();
            let mut matrix = spare_natural.next().unwrap_or_default();
            let (fine, coupling, pull) = match self.natural.last() {
                None => (tiles, &stencil.coupling, &self.pull),
                Some(fine) => (&fine.tiles, &fine.coupling, &fine.excess),
            };
            matrix.tiles = build::coarse_tiles(fine, &mut level, &mut coarse);
            build::coarsen(fine, coupling, pull, unit, &coarse.children, &mut matrix);
            let diagonal = |p: usize, six: &[f32; 6]| matrix.excess[p] + six.iter().sum::<f32>();
            count = build::fill(&mut coarse, &matrix.tiles, &matrix.coupling, diagonal);
            unit *= if tiles.is_flat() { 1.0 } else { 2.0 };
            self.levels.push(std::mem::replace(&mut level, coarse));
            self.natural.push(matrix);
        }
        self.levels.push(level);
        self.bottom = match self.natural.last() {
            None => Bottom::new(tiles, &stencil.coupling, &self.pull)?,
            Some(last) => Bottom::new(&last.tiles, &last.coupling, &last.excess)?,
        };
        Ok(())
    }

    /// Unknowns of the stencil.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Bytes of the levels and vectors.
    pub fn bytes(&self) -> usize {
        let natural = |n: &Natural| 16 * n.excess.capacity() + n.tiles.bytes();
        let levels = self.levels.iter().map(Level::bytes).sum::<usize>();
        let own = 4 * self.pull.capacity() + 8 * self.diagonal.capacity() + self.vectors.bytes();
        levels + self.natural.iter().map(natural).sum::<usize>() + own
    }

    /// One cycle: the x of the first level from its b.
    fn cycle(&mut self) {
        let count = self.levels.len();
        for l in 0..count - 1 {
            let (fine, coarse) = self.levels.split_at_mut(l + 1);
            fine[l].smooth_first();
            fine[l].restrict(&mut coarse[0]);
        }
        self.bottom.solve(&mut self.levels[count - 1]);
        for l in (0..count - 1).rev() {
            let (fine, coarse) = self.levels.split_at_mut(l + 1);
            fine[l].prolong(&coarse[0]);
            fine[l].smooth_last();
        }
    }

    /// Solve A p = rhs for the stencil of the last [`Multigrid::rebuild`], starting from the `p` given.
    ///
    /// Null spaces are found here; `params.null_space` is not used. Cells that are no unknowns get 0. When the
    /// cycle does not converge the matrix is assembled and solved by algebraic multigrid.
    pub fn solve(
        &mut self,
        tiles: &Tiles,
        stencil: &Stencil,
        rhs: &[f64],
        p: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<PressureSolve> {
        let cells = self.diagonal.len();
        if [tiles.cells(), stencil.diagonal.len(), rhs.len(), p.len()] != [cells; 4] {
            let message = format!("the levels were built for {cells} cells, the fields must have as many");
            return Err(Error::invalid("multigrid", message));
        }
        let refused = self.regions.sums(tiles, rhs).iter().map(|s| s.abs()).sum();
        let limit = params.max_iterations.min(PATIENCE);
        let mut info = self.conjugate_gradients(
            tiles,
            rhs,
            p,
            &KrylovParams { max_iterations: limit, ..*params },
            cancel,
        )?;
        let fell_back = !info.converged() && params.max_iterations > limit;
        if fell_back {
            let params = KrylovParams { max_iterations: params.max_iterations - limit, ..*params };
            info = self.solve_assembled(tiles, stencil, rhs, p, &params, cancel)?;
        }
        Ok(PressureSolve { info, fell_back, closed_regions: self.regions.count(), refused })
    }

    /// Algebraic multigrid on the assembled matrix.
    fn solve_assembled(
        &self,
        tiles: &Tiles,
        stencil: &Stencil,
        rhs: &[f64],
        p: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        let (matrix, places) = stencil.assemble(tiles)?;
        let labels = self.regions.labels(tiles, &places);
        let null_space = NullSpace::constants(&labels)?;
        let params = KrylovParams { null_space: Some(&null_space), ..*params };
        let gather = |field: &[f64]| -> Vec<f64> { places.iter().map(|&p| field[p as usize]).collect() };
        let mut x = gather(p);
        let mut amg = Amg::new(&matrix, &AmgParams::default())?;
        let info = cg(&matrix, &mut amg, &gather(rhs), &mut x, &params, cancel)?;
        places.iter().zip(x).for_each(|(&place, x)| p[place as usize] = x);
        Ok(info)
    }
}

impl Preconditioner for Multigrid {
    /// One cycle on fields in the order of the tiles.
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let size = vector::max_norm(r);
        if !(size > 0.0 && size.is_finite()) {
            // A residual of zero maps to zero; one that is not finite is passed on for the caller to refuse.
            return vector::scaled_copy(size, r, z);
        }
        let first = &mut self.levels[0];
        let shape = first.shape;
        let [red, black] = &mut first.b;
        split_colours(shape, r, red, black, |v| (v / size) as f32);
        self.cycle();
        let x = &self.levels[0].x;
        merge(shape, [&x[RED], &x[BLACK]], z, |v| v as f64 * size);
    }
}

/// Red cells of a field before black ones.
fn split<T: Real>(shape: Shape, natural: &[f64], out: &mut [T], convert: impl Fn(f64) -> T + Sync) {
    let (red, black) = out.split_at_mut(natural.len() / 2);
    split_colours(shape, natural, red, black, convert);
}

fn split_colours<T: Real>(
    shape: Shape,
    natural: &[f64],
    red: &mut [T],
    black: &mut [T],
    convert: impl Fn(f64) -> T + Sync,
) {
    let half = shape.half();
    let chunks = (natural.par_chunks(2 * half), red.par_chunks_mut(half), black.par_chunks_mut(half));
    chunks.into_par_iter().with_min_len(TASK).for_each(|(from, red, black)| {
        for row in 0..shape.rows() {
            let from = &from[SIDE * row..SIDE * (row + 1)];
            let (even, odd) = match is_odd(RED, row % SIDE, row / SIDE) {
                false => (&mut *red, &mut *black),
                true => (&mut *black, &mut *red),
            };
            for i in 0..LANES {
                even[LANES * row + i] = convert(from[2 * i]);
                odd[LANES * row + i] = convert(from[2 * i + 1]);
            }
        }
    });
}

/// The order of the tiles from two colours.
fn merge<T: Real>(
    shape: Shape,
    [red, black]: [&[T]; 2],
    natural: &mut [f64],
    convert: impl Fn(T) -> f64 + Sync,
) {
    let half = shape.half();
    let chunks = (natural.par_chunks_mut(2 * half), red.par_chunks(half), black.par_chunks(half));
    chunks.into_par_iter().with_min_len(TASK).for_each(|(to, red, black)| {
        for row in 0..shape.rows() {
            let to = &mut to[SIDE * row..SIDE * (row + 1)];
            let (even, odd) = if is_odd(RED, row % SIDE, row / SIDE) { (black, red) } else { (red, black) };
            for i in 0..LANES {
                to[2 * i] = convert(even[LANES * row + i]);
                to[2 * i + 1] = convert(odd[LANES * row + i]);
            }
        }
    });
}
