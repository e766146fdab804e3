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
//! The hierarchy is kept in f32, and so are residuals and directions of conjugate gradients; their products with
//! the matrix are taken in f64 ([`gradients`]). Fields of this module are split by colour ([`rows`]); a tile is
//! read with the cells that touch it, and all tiles of a pass are independent: the bits do not depend on the
//! threads.
//!
//! The right-hand side of a closed region is made to sum to zero, and so is its pressure. Residuals then
//! stay in the range of the matrix, and constants in the preconditioned ones do no harm, as A removes
//! them from the next residual.
//!
//! Checked by `multigrid/tests.rs`; times in `benches/multigrid.rs`.

// Rows of four lanes are written as counted loops over several arrays: that is what the compiler makes
// vector instructions of.
#![allow(clippy::needless_range_loop)]

mod bodies;
mod boxes;
mod build;
mod gradients;
mod level;
mod rows;
mod scan;
#[cfg(test)]
mod tests;

use super::regions::ClosedRegions;
use super::stencil::Stencil;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::grid::{SIDE, Tiles};
use crate::linalg::vector::{self, Real};
use crate::linalg::{Amg, AmgParams, KrylovParams, NullSpace, Preconditioner, SolveInfo, cg};
use crate::solver::rigid::{Coupling, WithBodies};
use bodies::SplitBodies;
use build::{Bottom, Layout, Matrix, Natural};
use gradients::Vectors;
use level::{BLACK, Level, RED, TASK};
use rayon::prelude::*;
use rows::{LANES, Shape, is_odd};
use scan::Scan;

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
    /// The diagonals of the slots of the first level: red cells, then black ones.
    diagonal: Vec<f64>,
    /// The tiles of the stencil that the first level holds.
    active: Vec<u32>,
    cells: usize,
    regions: ClosedRegions,
    vectors: Vectors,
    unknowns: usize,
    /// The bodies of the present solve.
    bodies: Option<SplitBodies>,
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
        let scan = Scan::new(tiles, stencil, &mut self.pull)?;
        self.regions = ClosedRegions::new(tiles, &scan.kinds, &scan.links, &self.pull);
        let (v, mut unit) = (tiles.volume(), scan.unit);
        let whole = 2.0 * tiles.axes() as f64 * unit as f64;
        let mut layout = Layout::new(scan.kinds);
        let mut spare = std::mem::take(&mut self.levels).into_iter();
        let mut spare_natural = std::mem::take(&mut self.natural).into_iter();
        let mut level = spare.next().unwrap_or_default();
        let matrix = self.last_matrix(tiles, stencil, unit);
        let mut count = build::fill(&mut level, &matrix, &layout, |p, _| stencil.diagonal[p] as f32);
        (self.unknowns, self.cells) = (count, tiles.cells());
        self.active.clone_from(&layout.active);
        fill_diagonal(&level, &layout, &stencil.diagonal, whole, &mut self.diagonal);
        while count > BOTTOM_UNKNOWNS {
            let mut coarse = spare.next().unwrap_or_default();
            let mut next = spare_natural.next().unwrap_or_default();
            let fine = self.last_matrix(tiles, stencil, unit);
            next.tiles = build::coarse_tiles(fine.tiles, &layout, &mut level, &mut coarse);
            unit = build::coarsen(&fine, &layout, &coarse.children, &mut next);
            let Natural { tiles, coupling, excess } = &next;
            let pulled = |t: usize| Some(excess[t * v..(t + 1) * v].iter().any(|e| *e > 0.0));
            layout = Layout::new(build::kinds(tiles, coupling, unit, pulled));
            let diagonal = |p: usize, six: &[f32; 6]| excess[p] + six.iter().sum::<f32>();
            count = build::fill(&mut coarse, &Matrix { tiles, coupling, excess, unit }, &layout, diagonal);
            self.natural.push(next);
            self.levels.push(std::mem::replace(&mut level, coarse));
        }
        self.levels.push(level);
        self.bottom = Bottom::new(&self.last_matrix(tiles, stencil, unit), &layout)?;
        Ok(())
    }

    /// The matrix of the last level that was made.
    fn last_matrix<'a>(&'a self, tiles: &'a Tiles, stencil: &'a Stencil, unit: f32) -> Matrix<'a> {
        match self.natural.last() {
            None => Matrix { tiles, coupling: &stencil.coupling, excess: &self.pull, unit },
            Some(Natural { tiles, coupling, excess }) => Matrix { tiles, coupling, excess, unit },
        }
    }

    /// The closed region of each cell; `u32::MAX` outside.
    pub fn closed_labels(&self, tiles: &Tiles) -> Vec<u32> {
        let places: Vec<u32> = (0..tiles.cells() as u32).collect();
        self.regions.labels(tiles, &places)
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
        self.cycle_below();
        if self.levels.len() > 1 {
            self.levels[0].smooth_last();
        }
    }

    /// One cycle but for the last smoothing of the first level.
    fn cycle_below(&mut self) {
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
            if l > 0 {
                fine[l].smooth_last();
            }
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
        self.solve_coupled(tiles, stencil, None, rhs, p, params, cancel)
    }

    /// As [`Multigrid::solve`], of A + KᵀCK with the rows of bodies over the places of the tiles.
    #[allow(clippy::too_many_arguments)]
    pub fn solve_coupled(
        &mut self,
        tiles: &Tiles,
        stencil: &Stencil,
        coupling: Option<&Coupling>,
        rhs: &[f64],
        p: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<PressureSolve> {
        self.bodies = coupling.map(|c| self.split_bodies(tiles, stencil, c)).transpose()?;
        let solved = self.solve_present(tiles, stencil, coupling, rhs, p, params, cancel);
        self.bodies = None;
        solved
    }

    #[allow(clippy::too_many_arguments)]
    fn solve_present(
        &mut self,
        tiles: &Tiles,
        stencil: &Stencil,
        coupling: Option<&Coupling>,
        rhs: &[f64],
        p: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<PressureSolve> {
        let cells = self.cells;
        if [tiles.cells(), stencil.diagonal.len(), rhs.len(), p.len()] != [cells; 4] {
            let message = format!("the levels were built for {cells} cells, the fields must have as many");
            return Err(Error::invalid("multigrid", message));
        }
        let refused = self.refused(tiles, rhs);
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
            info = self.solve_assembled(tiles, stencil, coupling, rhs, p, &params, cancel)?;
        }
        let felt = self.bodies.as_ref().map_or(0, |b| b.floating.regions.len());
        Ok(PressureSolve { info, fell_back, closed_regions: self.regions.count() - felt, refused })
    }

    /// Σ over closed regions of what cannot be balanced there; a body that feels a region may balance it.
    fn refused(&self, tiles: &Tiles, rhs: &[f64]) -> f64 {
        let mut sums = self.regions.sums(tiles, rhs);
        if let Some(bodies) = &self.bodies {
            let felt: Vec<f64> = bodies.floating.regions.iter().map(|&r| sums[r]).collect();
            for (r, c) in bodies.floating.regions.iter().zip(bodies.floating.null_part(&felt)) {
                sums[*r] = c * self.regions.sizes()[*r];
            }
        }
        sums.iter().map(|s| s.abs()).sum()
    }

    /// Remove the null vectors of the present solve from a field.
    fn project_null(&self, tiles: &Tiles, field: &mut [f64]) {
        match &self.bodies {
            Some(bodies) => self.regions.project_floating(tiles, field, &bodies.floating),
            None => self.regions.project(tiles, field),
        }
    }

    /// Algebraic multigrid on the assembled matrix.
    #[allow(clippy::too_many_arguments)]
    fn solve_assembled(
        &self,
        tiles: &Tiles,
        stencil: &Stencil,
        coupling: Option<&Coupling>,
        rhs: &[f64],
        p: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        let (matrix, places) = stencil.assemble(tiles)?;
        let mut labels = self.regions.labels(tiles, &places);
        if let Some(bodies) = &self.bodies {
            let felt = |l: u32| bodies.floating.regions.binary_search(&(l as usize)).is_ok();
            labels.iter_mut().filter(|l| **l != u32::MAX && felt(**l)).for_each(|l| *l = u32::MAX);
        }
        let null_space = NullSpace::constants(&labels)?;
        let params = KrylovParams { null_space: Some(&null_space), ..*params };
        let gather = |field: &[f64]| -> Vec<f64> { places.iter().map(|&p| field[p as usize]).collect() };
        let mut x = gather(p);
        let mut amg = Amg::new(&matrix, &AmgParams::default())?;
        let number = |place: usize| places.binary_search(&(place as u32)).ok();
        let info = match coupling {
            None => cg(&matrix, &mut amg, &gather(rhs), &mut x, &params, cancel)?,
            Some(c) => {
                let coupling = &Coupling { rows: c.rows.renumbered(number), middle: c.middle.clone() };
                let with = WithBodies { base: &matrix, coupling };
                cg(&with, &mut amg, &gather(rhs), &mut x, &params, cancel)?
            }
        };
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
        let (shape, active) = (self.levels[0].shape, &self.active);
        let Level { slot, inverse, b: [red, black], x, .. } = &mut self.levels[0];
        split(shape, active, r, red, black, |v| (v / size) as f32);
        let half = shape.half();
        for (t, &slot) in slot.iter().enumerate() {
            let span = half * t..half * (t + 1);
            let parts =
                x[RED][span.clone()].iter_mut().zip(&red[span]).zip(&inverse[RED][half * slot as usize..]);
            parts.for_each(|((x, b), inverse)| *x = b * inverse);
        }
        self.cycle();
        let x = &self.levels[0].x;
        merge(shape, &self.active, [&x[RED], &x[BLACK]], z, |v| v as f64 * size);
    }
}

/// The f64 diagonals of the slots.
fn fill_diagonal(level: &Level, layout: &Layout, diagonal: &[f64], whole: f64, out: &mut Vec<f64>) {
    let half = level.shape.half();
    let mixed: Vec<u32> = layout.active.iter().zip(&level.slot).filter(|s| *s.1 > 0).map(|s| *s.0).collect();
    out.resize(2 * half * (mixed.len() + 1), 0.0);
    let (first, rest) = out.split_at_mut(2 * half);
    first.fill(whole);
    rest.par_chunks_mut(2 * half).zip(&mixed).with_min_len(TASK).for_each(|(out, &t)| {
        let (red, black) = out.split_at_mut(half);
        let from = &diagonal[2 * half * t as usize..2 * half * (t as usize + 1)];
        split_tile(level.shape, from, red, black, |d| d);
    });
}

/// The two colours of the active tiles of a field.
fn split<T: Real>(
    shape: Shape,
    active: &[u32],
    natural: &[f64],
    red: &mut [T],
    black: &mut [T],
    convert: impl Fn(f64) -> T + Sync,
) {
    let half = shape.half();
    let chunks = (active, red.par_chunks_mut(half), black.par_chunks_mut(half));
    chunks.into_par_iter().with_min_len(TASK).for_each(|(&t, red, black)| {
        split_tile(shape, &natural[2 * half * t as usize..2 * half * (t as usize + 1)], red, black, &convert);
    });
}

fn split_tile<T: Real>(
    shape: Shape,
    from: &[f64],
    red: &mut [T],
    black: &mut [T],
    convert: impl Fn(f64) -> T,
) {
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
}

/// A field from its two colours in the active tiles; zero in the others.
fn merge<T: Real>(
    shape: Shape,
    active: &[u32],
    [red, black]: [&[T]; 2],
    natural: &mut [f64],
    convert: impl Fn(T) -> f64 + Sync,
) {
    let half = shape.half();
    natural.par_chunks_mut(2 * half).enumerate().with_min_len(TASK).for_each(|(t, to)| {
        let Ok(place) = active.binary_search(&(t as u32)) else { return to.fill(0.0) };
        let (red, black) = (&red[half * place..], &black[half * place..]);
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
