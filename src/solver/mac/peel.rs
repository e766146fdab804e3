//! Walls of the grid that let go: which cells they are, and the grid's pressure equation as [`crate::solver::peel`] asks it.

use super::grid::{MacGrid, each_cell};
use super::multigrid::{Multigrid, PressureSolve};
use super::pressure::{Faces, Wet};
use super::stencil::{SixCouplings, Stencil, beside};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::grid::{Halo, NONE, Tiles};
use crate::linalg::{BoundInfo, KrylovParams, LinearOperator, SolveInfo, mprgp};
pub(super) use crate::solver::peel::Peel;
use crate::solver::peel::Peelable;
use crate::solver::rigid::{Coupling, WithBodies};
use rayon::prelude::*;
use std::borrow::Cow;

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

/// The bounds of a grid; None if no wall peels. `acting` is the π that acts already, over the wet tiles, if there is any.
pub(super) fn bounds(
    grid: &MacGrid,
    wet: &Wet,
    stencil: &Stencil,
    solids: &Solids,
    acting: Option<&[f64]>,
    multigrid: &Multigrid,
) -> Option<Peel> {
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
    Some(Peel::new(lower, closed))
}

/// The cells that are off, as places of the grid.
pub(super) fn off(peel: &Peel, wet: &Wet) -> Vec<usize> {
    let v = wet.tiles.volume();
    peel.off().map(|p| wet.of[p / v] * v + p % v).collect()
}

/// The pressure equation of a grid.
pub(super) struct OnGrid<'a> {
    multigrid: &'a mut Multigrid,
    tiles: &'a Tiles,
    stencil: &'a Stencil,
    coupling: Option<&'a Coupling>,
    /// What the last solve did.
    last: Option<PressureSolve>,
}

impl<'a> OnGrid<'a> {
    pub fn new(
        multigrid: &'a mut Multigrid,
        tiles: &'a Tiles,
        stencil: &'a Stencil,
        coupling: Option<&'a Coupling>,
    ) -> Self {
        Self { multigrid, tiles, stencil, coupling, last: None }
    }

    /// The stencil without the cells that are off.
    fn present(&self, off: &[u32]) -> Cow<'a, Stencil> {
        if off.is_empty() {
            return Cow::Borrowed(self.stencil);
        }
        let (mut rest, v) = (self.stencil.clone(), self.tiles.volume());
        for place in off.iter().map(|p| *p as usize) {
            rest.diagonal[place] = 0.0;
            for axis in 0..3 {
                rest.coupling[axis][place] = 0.0;
                if let Some(above) = beside(self.tiles, place / v, place % v, 2 * axis + 1) {
                    rest.coupling[axis][above] = 0.0;
                }
            }
        }
        Cow::Owned(rest)
    }
}

impl Peelable for OnGrid<'_> {
    fn diagonal(&self) -> &[f64] {
        &self.stencil.diagonal
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        OnTiles { tiles: self.tiles, stencil: self.stencil }.apply(x, y);
        self.coupling.iter().for_each(|c| {
            c.add(1.0, x, y);
        });
    }

    fn leave_out(&mut self, off: &[u32]) -> Result<()> {
        self.multigrid.rebuild(self.tiles, &self.present(off))
    }

    fn solve_rest(
        &mut self,
        off: &[u32],
        b: &[f64],
        x: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        let is_on = |c: usize| off.binary_search(&(c as u32)).is_err();
        let rest = self.coupling.map(|c| Coupling {
            rows: c.rows.renumbered(|c| is_on(c).then_some(c)),
            middle: c.middle.clone(),
        });
        let present = self.present(off);
        let solved =
            self.multigrid.solve_coupled(self.tiles, &present, rest.as_ref(), b, x, params, cancel)?;
        self.last = Some(solved);
        Ok(solved.info)
    }

    fn solve_bounded(
        &mut self,
        b: &[f64],
        lower: &[f64],
        x: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<BoundInfo> {
        let none = Coupling::default();
        let base = OnTiles { tiles: self.tiles, stencil: self.stencil };
        let with = WithBodies { base: &base, coupling: self.coupling.unwrap_or(&none) };
        let one_where_none = |d: &f64| if *d > 0.0 { *d } else { 1.0 };
        let diagonal: Vec<f64> = self.stencil.diagonal.par_iter().map(one_where_none).collect();
        self.last.iter_mut().for_each(|s| s.fell_back = true);
        mprgp(&with, &diagonal, self.multigrid, b, lower, x, params, cancel)
    }
}

/// Solve for the pressure of a grid, with least pressures if there are any. `pi` holds the first guess.
pub(super) fn solve(
    mut equation: OnGrid,
    peel: Option<&mut Peel>,
    b: &[f64],
    pi: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<PressureSolve> {
    let Some(peel) = peel else {
        let OnGrid { multigrid, tiles, stencil, coupling, .. } = equation;
        return multigrid.solve_coupled(tiles, stencil, coupling, b, pi, params, cancel);
    };
    let info = peel.solve(&mut equation, b, pi, params, cancel)?;
    let nothing = PressureSolve { info, fell_back: false, closed_regions: 0, refused: 0.0 };
    Ok(PressureSolve { info, ..equation.last.unwrap_or(nothing) })
}
