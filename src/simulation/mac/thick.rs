//! Thick liquid: project, let viscosity act, project again; or all in one.
//!
//! With the flow `splashy` viscosity is solved for on its own, and takes for granted that liquid keeps its volume;
//! so velocities are projected before and after it [BB08]. With `thick` it is solved for together with what
//! pressure still lacks after the first projection ([`creep`]), and the second one finds next to nothing to do.
//! `auto` looks at the greatest μΔt/ρh²: beyond 1 a step carries momentum over more than a cell, and what one
//! solve does to the other shows: liquid that slides along walls has the wrong speed, and jets do not fold, as
//! a projection that knows nothing of stress takes back most of the bending.
//! A cell's viscosity is that of its particles, mixed by the rule of
//! Arrhenius, ln μ = mean of ln μ_p: one stray drop of water does not make a cell of honey flow.
//!
//! Particles of the transfer `flip` keep differences of velocity that the grid does not see. Viscosity acts
//! on these as well: waves of two cells' length decay in a step by 1/(1 + π²μΔt/(ρh²)), and so does what a
//! particle differs from the grid. In water nothing changes, in honey particles follow the grid.

use super::attributes::Thickness;
use super::{Mac, MacOptions, WALL_LAYERS};
use crate::error::{Error, Result};
use crate::field::Particles;
use crate::grid::{Tiles, extend_average, extend_motion};
use crate::linalg::SolveInfo;
use crate::math::elementary;
use crate::simulation::flow::choose;
use crate::simulation::liquid::Step;
use crate::solver::mac::{
    Held, MacGrid, NEGLIGIBLE, PressureOptions, Projected, ViscosityOptions, constrain, creep, diffuse,
    project,
};
use rayon::prelude::*;

/// Layers of cells round the particles to which their viscosity is continued.
const LAYERS: usize = 4;
/// Layers of faces beyond the liquid that the viscous step may look at.
const BEYOND: usize = 3;
/// μΔt/ρh² from which `auto` takes one solve. At 4.6 the plane jet of `meniscus validate honey --case jets` does not fold without.
const CREEPS: f64 = 1.0;
/// Layers of faces beyond the liquid that follow it.
const FOLLOW: usize = 2;

/// What came of viscosity.
#[derive(Default)]
pub(super) struct Thickened {
    pub(super) solves: Vec<SolveInfo>,
    /// Pressure so far, Pa; empty if nothing was done.
    pub(super) pressure: Vec<f64>,
    /// What was done, and why.
    pub(super) flow: String,
    /// What faces beyond the cells of liquid have from viscosity; None if nothing was done.
    pub(super) outer: Option<Outer>,
}

/// Velocities of faces that hold liquid, or feel particles, beside cells of liquid. A projection does not know these: it
/// leaves them as they are, and they take over what it did to their neighbours. To give them the mean of their
/// neighbours instead would take its turning from whatever turns: a rim would lag behind.
pub(super) struct Outer {
    /// Velocities before the projection.
    was: [Vec<f64>; 3],
    /// For each axis which faces have one.
    known: [Vec<u8>; 3],
    /// Cells where liquid is so thick that its motion goes on beyond its surface as it is inside.
    stiff: Vec<bool>,
}

impl Outer {
    /// Complete what a projection has found on the faces that `known` names, and name the others.
    pub(super) fn follow(&self, grid: &mut MacGrid, known: &mut [Vec<u8>; 3]) -> Result<()> {
        let MacGrid { tiles, velocity, .. } = grid;
        for axis in 0..tiles.axes() {
            let (u, known, was) = (&mut velocity[axis], &mut known[axis], &self.was[axis]);
            let one = |((u, was), known): ((&f64, &f64), &u8)| if *known > 0 { u - was } else { 0.0 };
            let mut change: Vec<f64> = u.par_iter().zip(was).zip(&*known).map(one).collect();
            let mut reached = known.clone();
            extend_average(tiles, &mut change, &mut reached, FOLLOW)?;
            let own = self.known[axis].par_iter().zip(&reached).zip(was).zip(&change);
            u.par_iter_mut().zip(known.par_iter_mut()).zip(own).for_each(
                |((u, known), (((own, reached), was), change))| {
                    if *known == 0 && *own == 1 && *reached > 0 {
                        (*u, *known) = (was + change, 1);
                    }
                },
            );
            extend_motion(tiles, u, known, FOLLOW, |place| self.stiff[place])?;
        }
        Ok(())
    }
}

impl Mac {
    /// Project and let viscosity act, if there is any worth it.
    pub(super) fn thicken(&mut self, step: &Step, options: &PressureOptions) -> Result<Thickened> {
        if self.mu.is_none() {
            self.mu = self.cell_viscosity(step)?;
        }
        let stiff = self.thick_cells(step);
        let Some(mu) = self.mu.take() else { return Ok(Default::default()) };
        let grid = &mut self.next.grid;
        let calm = grid.tiles.field(0.0);
        let stiffness = step.dt / (options.density * grid.tiles.h().powi(2));
        let mut outer = Outer { was: grid.velocity.clone(), known: std::mem::take(&mut self.spread), stiff };
        let Projected { report, mut known, .. } =
            project(grid, step.solids, options, &calm, &mut self.multigrid, step.cancel)?;
        outer.follow(grid, &mut known)?;
        for (u, known) in grid.velocity.iter_mut().zip(&mut known).take(grid.tiles.axes()) {
            extend_average(&grid.tiles, u, known, BEYOND)?;
        }
        constrain(grid, step.solids, &known, WALL_LAYERS);
        let viscous = ViscosityOptions {
            dt: step.dt,
            density: options.density,
            tolerance: self.options.viscosity_tolerance,
            draft: self.options.draft_viscosity,
        };
        let plain = viscous.draft || self.options.hold_surface;
        let (together, mut flow) = choose(self.options.flow, plain, stiffness * greatest(&mu), CREEPS);
        let mut held = hold_sources(grid, step);
        if self.options.hold_surface {
            hold_surface(grid, held.get_or_insert_with(|| std::array::from_fn(|_| grid.tiles.field(false))));
        }
        let mut solves: Vec<SolveInfo> = report.solve.into_iter().collect();
        let mut first = std::mem::replace(&mut grid.pressure, calm);
        let mut crept = None;
        if together {
            let multigrid = &mut self.multigrid;
            match creep(grid, step.solids, &mu, &viscous, held.as_ref(), multigrid, step.cancel) {
                Ok(done) => crept = Some(done),
                // Two solves one after the other are less right, but always possible.
                Err(Error::Diverged { message, .. }) => flow += &format!("; it failed ({message})"),
                Err(other) => return Err(other),
            }
        }
        match crept {
            Some(done) => {
                first.par_iter_mut().zip(&done.pressure).for_each(|(p, more)| *p += more);
                solves.extend(done.solve.map(|s| s.info));
                outer.known = done.known;
            }
            None => {
                let done = diffuse(grid, step.solids, &mu, &viscous, held.as_ref(), step.cancel)?;
                solves.extend(done.solve.map(|s| s.info));
                outer.known = done.known;
            }
        }
        outer.was.clone_from(&grid.velocity);
        let pi = std::f64::consts::PI;
        self.fade = mu.par_iter().map(|m| (1.0 / (1.0 + pi * pi * m * stiffness)) as f32).collect();
        Ok(Thickened { solves, pressure: first, flow, outer: Some(outer) })
    }

    /// Cells where momentum diffuses over a cell in the step; empty if viscosity does not matter.
    pub(super) fn thick_cells(&self, step: &Step) -> Vec<bool> {
        let thick = self.options.density * self.options.cell.powi(2) / step.dt;
        self.mu.as_ref().map_or(Vec::new(), |mu| mu.par_iter().map(|m| *m > thick).collect())
    }

    /// Viscosity of each cell, Pa·s; None if it is too small to matter everywhere.
    pub(super) fn cell_viscosity(&self, step: &Step) -> Result<Option<Vec<f64>>> {
        let (tiles, particles) = (&self.next.grid.tiles, &self.next.particles);
        let thickest = step.viscosity.iter().fold(step.thickest, |m, v| m.max(*v));
        let least = NEGLIGIBLE * self.options.density * tiles.h().powi(2) / step.dt;
        if thickest < least || tiles.is_empty() {
            return Ok(None);
        }
        mixed_viscosity(&self.options, tiles, particles, step.viscosity).map(Some)
    }
}

/// Viscosity of each cell, mixed from that of its particles and continued a little beyond them, Pa·s.
pub(super) fn mixed_viscosity(
    options: &MacOptions,
    tiles: &Tiles,
    particles: &Particles,
    viscosity: &[f64],
) -> Result<Vec<f64>> {
    let thickness = Thickness::new(options, particles, viscosity);
    if thickness.is_even() {
        return Ok(tiles.field(greatest(viscosity)));
    }
    let of_cell = |place: usize| {
        let (mut sum, mut volume) = (0.0, 0.0);
        for p in particles.of_cell(place) {
            let v = particles.volume[p] as f64;
            (sum, volume) = (sum + v * thickness.log(p), volume + v);
        }
        if volume > 0.0 { (sum / volume, 1) } else { (0.0, 0u8) }
    };
    let cells: Vec<(f64, u8)> = (0..tiles.cells()).into_par_iter().map(of_cell).collect();
    let (mut mixed, mut known): (Vec<f64>, Vec<u8>) = cells.into_iter().unzip();
    extend_average(tiles, &mut mixed, &mut known, LAYERS)?;
    let mu = mixed.par_iter().zip(&known).map(|(l, k)| if *k > 0 { elementary::exp(*l) } else { 0.0 });
    Ok(mu.collect())
}

/// Liquid in a source moves as the source says, whatever hangs from it: without that, a thread of honey would draw
/// as much out of its nozzle as it likes. None without sources.
fn hold_sources(grid: &mut MacGrid, step: &Step) -> Option<Held> {
    if step.inflows.is_empty() {
        return None;
    }
    let MacGrid { tiles, velocity, .. } = grid;
    let mut held: Held = std::array::from_fn(|_| tiles.field(false));
    for (axis, held) in held.iter_mut().enumerate().take(tiles.axes()) {
        let parts = velocity[axis].par_chunks_mut(tiles.volume()).zip(held.par_chunks_mut(tiles.volume()));
        parts.enumerate().for_each(|(t, (u, held))| {
            for inflow in step.inflows {
                for l in 0..held.len() {
                    let mut x = tiles.centre(tiles.cell(t * tiles.volume() + l));
                    x[axis] -= 0.5 * tiles.h();
                    if inflow.bounds.contains(&x) && (inflow.distance)(&x) < 0.0 {
                        (u[l], held[l]) = (inflow.velocity[axis], true);
                    }
                }
            }
        });
    }
    Some(held)
}

/// Faces outside the liquid keep the velocity that was continued to them.
fn hold_surface(grid: &MacGrid, held: &mut Held) {
    let tiles = &grid.tiles;
    for (axis, held) in held.iter_mut().enumerate().take(tiles.axes()) {
        held.par_iter_mut().enumerate().for_each(|(place, held)| {
            let mut below = tiles.cell(place);
            below[axis] -= 1;
            let other = tiles.locate(below).map_or(grid.liquid[place], |p| grid.liquid[p]);
            *held |= grid.liquid[place] + other >= 0.0;
        });
    }
}

fn greatest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(*v))
}
