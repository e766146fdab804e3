//! Walls that let go: liquid may leave them but not enter, and they do not suck.
//!
//! With n out of the wall and v its velocity, [BBB07] asks of liquid at a peeling wall
//!
//! ```text
//!     0 ≤ p  ⊥  (u − v)·n ≥ 0
//! ```
//!
//! which is the quadratic program of the pressure, ½ πᵀAπ − bᵀπ, with π ≥ 0 in every cell that a peeling wall
//! closes in part. Where the bound holds, (Aπ − b)_i ≥ 0 is what the cell expands by: liquid leaves, air
//! follows. Regions without a free surface have no air that could follow; they keep the equality, and a full
//! bottle does not let go.
//!
//! The equation is solved first, and if no bounded pressure is negative that is the answer. Otherwise
//! [`mprgp`] goes on from there over the tiles, with one cycle of the multigrid on the free cells as preconditioner.
//! Checked on every cell by `liquid_leaves_a_ceiling_but_does_not_enter_it` in tests/bodies.rs.

use super::grid::{MacGrid, each_cell};
use super::multigrid::{Multigrid, PressureSolve};
use super::pressure::{Faces, Wet};
use super::stencil::{SixCouplings, Stencil, beside};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::grid::{Halo, NONE, Tiles};
use crate::linalg::{KrylovParams, LinearOperator, mprgp, vector};
use crate::solver::rigid::{Coupling, WithBodies};
use rayon::prelude::*;

/// Pressures below zero by less than this share of the greatest count as zero.
const NEGLIGIBLE: f64 = 1e-9;

/// A stencil as a matrix over all cells of its tiles; the identity on those that are no unknowns.
struct OnTiles<'a> {
    tiles: &'a Tiles,
    stencil: &'a Stencil,
}

impl LinearOperator for OnTiles<'_> {
    fn size(&self) -> usize {
        self.stencil.diagonal.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let (tiles, v) = (self.tiles, self.tiles.volume());
        tiles.for_each(y, |t, y| {
            let six = SixCouplings::new(tiles, &self.stencil.coupling, t);
            for (l, y) in y.iter_mut().enumerate() {
                let place = t * v + l;
                let d = self.stencil.diagonal[place];
                *y = if d > 0.0 { d * x[place] } else { x[place] };
                for (side, c) in six.of(l).into_iter().enumerate().filter(|(_, c)| *c > 0.0) {
                    if let Some(other) = beside(tiles, t, l, side) {
                        *y -= c as f64 * x[other];
                    }
                }
            }
        });
    }
}

/// The least pressure of each cell: 0 at peeling walls, −∞ elsewhere. None if no wall peels.
pub(super) fn bounds(
    grid: &MacGrid,
    wet: &Wet,
    stencil: &Stencil,
    solids: &Solids,
    multigrid: &Multigrid,
) -> Option<Vec<f64>> {
    if !solids.walls().any(|w| w.peel) {
        return None;
    }
    let (tiles, v, h) = (&grid.tiles, grid.tiles.volume(), grid.tiles.h());
    let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
    let mut lower = wet.tiles.field(f64::NEG_INFINITY);
    let parts = lower.par_chunks_mut(v).zip(stencil.diagonal.par_chunks(v)).zip(&wet.of);
    parts.for_each_init(Halo::default, |halo, ((lower, diagonal), t)| {
        let faces = faces.of_tile(*t, halo);
        each_cell(tiles.depth(), |l, cell| {
            // Only cells within a cell of a wall can have a closed face.
            if diagonal[l] == 0.0 || grid.centre[t * v + l] > 1.5 * h {
                return;
            }
            let closed = (0..tiles.axes())
                .any(|a| faces.lower_open(l, cell, a) < 1.0 || faces.upper_open(l, cell, a) < 1.0);
            if closed && solids.wall(&tiles.centre(tiles.cell(t * v + l)), 2.0 * h).peel {
                lower[l] = 0.0;
            }
        });
    });
    for (lower, label) in lower.iter_mut().zip(multigrid.closed_labels(&wet.tiles)) {
        if label != NONE {
            *lower = f64::NEG_INFINITY;
        }
    }
    Some(lower)
}

/// Solve for the pressure, with least pressures and bodies if there are any. `pi` holds the first guess.
#[allow(clippy::too_many_arguments)]
pub(super) fn solve(
    multigrid: &mut Multigrid,
    tiles: &Tiles,
    stencil: &Stencil,
    coupling: Option<&Coupling>,
    lower: Option<&[f64]>,
    b: &[f64],
    pi: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<PressureSolve> {
    let mut solved = multigrid.solve_coupled(tiles, stencil, coupling, b, pi, params, cancel)?;
    let Some(lower) = lower else { return Ok(solved) };
    let least = -NEGLIGIBLE * vector::max_norm(pi);
    if pi.par_iter().zip(lower).all(|(p, l)| *l == f64::NEG_INFINITY || *p >= least) {
        return Ok(solved);
    }
    let base = OnTiles { tiles, stencil };
    let none = Coupling::default();
    let with = WithBodies { base: &base, coupling: coupling.unwrap_or(&none) };
    let diagonal: Vec<f64> = stencil.diagonal.par_iter().map(|d| if *d > 0.0 { *d } else { 1.0 }).collect();
    let mut inside = b.to_vec();
    inside.iter_mut().zip(&stencil.diagonal).filter(|(_, d)| **d == 0.0).for_each(|(b, _)| *b = 0.0);
    let found = mprgp(&with, &diagonal, multigrid, &inside, lower, pi, params, cancel)?;
    let before = solved.info.iterations;
    solved.info = found.solve;
    solved.info.iterations += before;
    Ok(solved)
}
