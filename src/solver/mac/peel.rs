//! Walls that let go: liquid may leave them but not enter, and they do not suck.
//!
//! With n out of the wall and v its velocity, [BBB07] asks of liquid at a peeling wall
//!
//! ```text
//!     0 ≤ p  ⊥  (u − v)·n ≥ 0
//! ```
//!
//! which is the quadratic program of the pressure, ½ πᵀAπ − bᵀπ, with π ≥ 0 in every cell that a peeling wall
//! closes in part. Where the bound holds, g_i = (Aπ − b)_i ≥ 0 is what the cell expands by: liquid leaves, air
//! follows. Regions without a free surface have no air that could follow; they keep the equality, and a full
//! bottle does not let go. Where a pressure p₀ acts already, of an earlier projection in the same step, the
//! sum is bounded: π ≥ −π₀. Such bounds l are moved to zero by the shift π − l, b − Al.
//!
//! **Active set** [HIK02]. Guess which cells are at their bound, solve for the others, correct the guess by the
//! signs of π and g. A cell at its bound is a cell full of air to the others, so that each guess is a pressure
//! problem like any other: its couplings go, the diagonals of its neighbours stay, and the multigrid of that
//! stencil is as good as that of the whole. A is an M-matrix, for which the guesses end at the solution after a
//! few rounds from any start. Early rounds are solved only as far as they tell the signs. The first guess
//! is what the pressures of the last step ask for, g_i > a_ii π_i; they are part of a saved state, and so is this
//! warm start. Where nothing wants to leave its wall the whole costs one product more than the equation.
//!
//! With bodies the matrix is no M-matrix, and guesses might go round in circles: after [`MOST_ROUNDS`] of them
//! [`mprgp`] goes on, which always ends. The result is accepted when ‖φ + β‖, the violation that [`mprgp`]
//! is stopped by, is below the tolerance.
//!
//! Checked on every cell by `liquid_leaves_a_ceiling_but_does_not_enter_it` in tests/bodies.

use super::grid::{MacGrid, each_cell};
use super::multigrid::{Multigrid, PressureSolve};
use super::pressure::{Faces, Wet};
use super::stencil::{SixCouplings, Stencil, beside};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::grid::{Halo, NONE, Tiles};
use crate::linalg::{KrylovParams, LinearOperator, mprgp, vector};
use crate::math::ordered_sum;
use crate::solver::rigid::{Coupling, WithBodies};
use rayon::prelude::*;
use std::borrow::Cow;

/// Pressures below zero by less than this share of the greatest count as zero.
const NEGLIGIBLE: f64 = 1e-9;
/// Guesses of the active set at most.
const MOST_ROUNDS: usize = 12;
/// Residual, as a share of the right-hand side, at which a round tells the signs well enough.
const ROUGH: f64 = 1e-2;

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

/// Which cells may come off their walls, and which of them are off at the moment.
pub(super) struct Peel {
    /// The least π of each cell; −∞ where no wall peels.
    lower: Vec<f64>,
    /// Whether a cell lies in a region without a free surface.
    closed: Vec<bool>,
    /// The places at their bound, in order, in the stencil that the multigrid was built for last.
    off: Vec<u32>,
    /// Those that [`mprgp`] found where guesses did not end; the multigrid is that of the whole stencil then.
    fallen: Vec<u32>,
    /// Whether `off` was found by a solve before this one.
    warm: bool,
}

impl Peel {
    /// None if no wall peels. `acting` is the π that acts already, over the wet tiles, if there is any.
    pub(super) fn new(
        grid: &MacGrid,
        wet: &Wet,
        stencil: &Stencil,
        solids: &Solids,
        acting: Option<&[f64]>,
        multigrid: &Multigrid,
    ) -> Option<Self> {
        if !solids.walls().any(|w| w.peel) {
            return None;
        }
        let (tiles, v, h) = (&grid.tiles, grid.tiles.volume(), grid.tiles.h());
        let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
        let mut lower = wet.tiles.field(f64::NEG_INFINITY);
        let parts = lower.par_chunks_mut(v).zip(stencil.diagonal.par_chunks(v)).zip(&wet.of).enumerate();
        parts.for_each_init(Halo::default, |halo, (s, ((lower, diagonal), t))| {
            // Only cells within a cell of a wall can have a closed face.
            let near = |l: usize| diagonal[l] != 0.0 && grid.centre[t * v + l] <= 1.5 * h;
            if !(0..v).any(near) {
                return;
            }
            let faces = faces.of_tile(*t, halo);
            each_cell(tiles.depth(), |l, cell| {
                let is_closed = || {
                    (0..tiles.axes())
                        .any(|a| faces.lower_open(l, cell, a) < 1.0 || faces.upper_open(l, cell, a) < 1.0)
                };
                if near(l) && is_closed() && solids.wall(&tiles.centre(tiles.cell(t * v + l)), 2.0 * h).peel {
                    lower[l] = acting.map_or(0.0, |p| -p[s * v + l]);
                }
            });
        });
        let closed: Vec<bool> = multigrid.closed_labels(&wet.tiles).iter().map(|l| *l != NONE).collect();
        lower.iter_mut().zip(&closed).filter(|(_, c)| **c).for_each(|(l, _)| *l = f64::NEG_INFINITY);
        Some(Self { lower, closed, off: Vec::new(), fallen: Vec::new(), warm: false })
    }

    /// The cells that are off, as places of the grid.
    pub(super) fn off(&self, wet: &Wet) -> Vec<usize> {
        let v = wet.tiles.volume();
        self.off.iter().chain(&self.fallen).map(|p| *p as usize).map(|p| wet.of[p / v] * v + p % v).collect()
    }

    fn bounded(&self, i: usize) -> bool {
        self.lower[i] != f64::NEG_INFINITY
    }

    /// ‖φ + β‖ for bounds at zero. What closed regions refuse to balance is no fault of the pressure.
    fn violation(&self, x: &[f64], g: &[f64]) -> f64 {
        let part = |i: usize| match (self.closed[i], self.bounded(i) && x[i] <= 0.0) {
            (true, _) => 0.0,
            (_, true) => g[i].min(0.0),
            _ => g[i],
        };
        ordered_sum(x.len(), |r| r.map(|i| part(i) * part(i)).sum()).sqrt()
    }

    fn places(&self, chosen: impl Fn(usize) -> bool + Sync) -> Vec<u32> {
        let wanted = |i: &u32| self.bounded(*i as usize) && chosen(*i as usize);
        (0..self.lower.len() as u32).into_par_iter().with_min_len(4096).filter(wanted).collect()
    }

    /// Build the multigrid for the stencil without the cells that are off.
    fn take_off(
        &mut self,
        off: Vec<u32>,
        tiles: &Tiles,
        stencil: &Stencil,
        multigrid: &mut Multigrid,
    ) -> Result<()> {
        if off != self.off {
            self.off = off;
            multigrid.rebuild(tiles, &self.present(tiles, stencil))?;
        }
        Ok(())
    }

    /// The stencil without the cells that are off.
    fn present<'a>(&self, tiles: &Tiles, stencil: &'a Stencil) -> Cow<'a, Stencil> {
        if self.off.is_empty() {
            return Cow::Borrowed(stencil);
        }
        let (mut rest, v) = (stencil.clone(), tiles.volume());
        for place in self.off.iter().map(|p| *p as usize) {
            rest.diagonal[place] = 0.0;
            for axis in 0..3 {
                rest.coupling[axis][place] = 0.0;
                if let Some(above) = beside(tiles, place / v, place % v, 2 * axis + 1) {
                    rest.coupling[axis][above] = 0.0;
                }
            }
        }
        Cow::Owned(rest)
    }

    /// Leave the multigrid as it is for the whole stencil.
    pub(super) fn restore(
        &mut self,
        tiles: &Tiles,
        stencil: &Stencil,
        multigrid: &mut Multigrid,
    ) -> Result<()> {
        self.take_off(Vec::new(), tiles, stencil, multigrid)
    }
}

/// Solve for the pressure, with least pressures and bodies if there are any. `pi` holds the first guess.
#[allow(clippy::too_many_arguments)]
pub(super) fn solve(
    multigrid: &mut Multigrid,
    tiles: &Tiles,
    stencil: &Stencil,
    coupling: Option<&Coupling>,
    peel: Option<&mut Peel>,
    b: &[f64],
    pi: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<PressureSolve> {
    let Some(peel) = peel else {
        return multigrid.solve_coupled(tiles, stencil, coupling, b, pi, params, cancel);
    };
    let base = OnTiles { tiles, stencil };
    let none = Coupling::default();
    let with = WithBodies { base: &base, coupling: coupling.unwrap_or(&none) };
    let (mut b, mut g) = (b.to_vec(), vec![0.0; b.len()]);
    b.par_iter_mut().zip(&stencil.diagonal).filter(|(_, d)| **d == 0.0).for_each(|(b, _)| *b = 0.0);
    // Move the bounds to zero.
    let shift: Vec<f64> = peel.lower.par_iter().map(|l| if l.is_finite() { *l } else { 0.0 }).collect();
    if vector::max_norm(&shift) > 0.0 {
        with.apply(&shift, &mut g);
        vector::axpy(-1.0, &g, &mut b);
        vector::axpy(-1.0, &shift, pi);
    }
    let scale = vector::norm(&b);
    let gradient = |x: &[f64], g: &mut [f64]| {
        with.apply(x, g);
        vector::axpy(-1.0, &b, g);
    };
    let clip = |peel: &Peel, x: &mut [f64]| {
        x.par_iter_mut().zip(&peel.lower).filter(|(_, l)| l.is_finite()).for_each(|(x, _)| *x = x.max(0.0));
    };
    if !peel.warm {
        clip(peel, pi);
        gradient(pi, &mut g);
        let off = peel.places(|i| g[i] > stencil.diagonal[i] * pi[i]);
        peel.take_off(off, tiles, stencil, multigrid)?;
    }
    peel.warm = true;
    peel.fallen.clear();
    let mut last = None;
    let (mut iterations, mut share) = (0, if peel.off.is_empty() { params.tolerance } else { ROUGH });
    for _ in 0..MOST_ROUNDS {
        let present = peel.present(tiles, stencil);
        let is_on = |c: usize| peel.off.binary_search(&(c as u32)).is_err();
        let rest = coupling.map(|c| Coupling {
            rows: c.rows.renumbered(|c| is_on(c).then_some(c)),
            middle: c.middle.clone(),
        });
        peel.off.iter().for_each(|c| pi[*c as usize] = 0.0);
        // The residual that is wanted, as a share of what is left of the right-hand side.
        let left = ordered_sum(b.len(), |r| {
            r.map(|i| if present.diagonal[i] > 0.0 { b[i] * b[i] } else { 0.0 }).sum()
        });
        let tolerance = match left > 0.0 {
            true => (share.max(params.tolerance) * scale / left.sqrt()).clamp(params.tolerance, 0.5),
            false => params.tolerance,
        };
        let inner = KrylovParams { tolerance, ..*params };
        let mut solved = multigrid.solve_coupled(tiles, &present, rest.as_ref(), &b, pi, &inner, cancel)?;
        iterations += solved.info.iterations;
        solved.info.iterations = iterations;
        last = Some(solved);
        if !solved.info.converged() {
            break;
        }
        let most = vector::max_norm(pi);
        let lowest = -NEGLIGIBLE * most;
        let sinks = peel.places(|i| pi[i] < lowest);
        if sinks.is_empty() {
            clip(peel, pi);
        }
        gradient(pi, &mut g);
        let violation = peel.violation(pi, &g);
        if sinks.is_empty() && violation <= params.tolerance * scale {
            vector::axpy(1.0, &shift, pi);
            solved.info.residual = if scale > 0.0 { violation / scale } else { 0.0 };
            return Ok(solved);
        }
        let off = peel.places(|i| pi[i] < 0.0 || (pi[i] == 0.0 && !is_on(i) && g[i] >= 0.0));
        share = match off == peel.off || scale == 0.0 {
            true => params.tolerance,
            false => (0.1 * violation / scale).min(ROUGH),
        };
        drop(present);
        peel.take_off(off, tiles, stencil, multigrid)?;
    }
    peel.restore(tiles, stencil, multigrid)?;
    let diagonal: Vec<f64> = stencil.diagonal.par_iter().map(|d| if *d > 0.0 { *d } else { 1.0 }).collect();
    let zero: Vec<f64> = peel.lower.par_iter().map(|l| if l.is_finite() { 0.0 } else { *l }).collect();
    // Closed regions are solved for; they stay as they are.
    with.apply(pi, &mut g);
    b.iter_mut().zip(&g).zip(&peel.closed).filter(|(_, c)| **c).for_each(|((b, g), _)| *b = *g);
    let found = mprgp(&with, &diagonal, multigrid, &b, &zero, pi, params, cancel)?;
    peel.fallen = peel.places(|i| pi[i] <= 0.0);
    vector::axpy(1.0, &shift, pi);
    let mut info = found.solve;
    info.iterations += iterations;
    let (closed_regions, refused) = last.map_or((0, 0.0), |s| (s.closed_regions, s.refused));
    Ok(PressureSolve { info, fell_back: true, closed_regions, refused })
}
