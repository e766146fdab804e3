//! Thick liquid: project, let viscosity act, project again.
//!
//! Viscosity is solved for on its own, and takes for granted that liquid keeps its volume; so velocities are
//! projected before and after it [BB08]. A cell's viscosity is that of its particles, mixed by the rule of
//! Arrhenius, ln μ = mean of ln μ_p: one stray drop of water does not make a cell of honey flow.
//!
//! Particles of the transfer `flip` keep differences of velocity that the grid does not see. Viscosity acts
//! on these as well: waves of two cells' length decay in a step by 1/(1 + π²μΔt/(ρh²)), and so does what a
//! particle differs from the grid. In water nothing changes, in honey particles follow the grid.

use super::{Mac, WALL_LAYERS};
use crate::error::Result;
use crate::field::{NearPatch, Particles};
use crate::grid::extend_average;
use crate::linalg::SolveInfo;
use crate::math::{Vec3, elementary};
use crate::simulation::liquid::Step;
use crate::solver::mac::{
    MacGrid, NEGLIGIBLE, PressureOptions, Projected, Transfer, ViscosityOptions, constrain, diffuse, project,
};
use rayon::prelude::*;

/// Layers of cells round the particles to which their viscosity is continued.
const LAYERS: usize = 4;
/// Layers of faces beyond the liquid that the viscous step may look at.
const BEYOND: usize = 3;
/// Liquid without any viscosity is mixed as if it had this, Pa·s.
const THINNEST: f64 = 1e-6;

impl Mac {
    /// Project and let viscosity act, if there is any worth it. Returns what the solves reported, and the
    /// pressure of the projection.
    pub(super) fn thicken(
        &mut self,
        step: &Step,
        options: &PressureOptions,
    ) -> Result<(Vec<SolveInfo>, Vec<f64>)> {
        let Some(mu) = self.cell_viscosity(step)? else { return Ok(Default::default()) };
        let grid = &mut self.next.grid;
        let calm = grid.tiles.field(0.0);
        let Projected { report, mut known, .. } =
            project(grid, step.solids, options, &calm, &mut self.multigrid, step.cancel)?;
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
        let done = diffuse(grid, step.solids, &mu, &viscous, step.cancel)?;
        let stiffness = step.dt / (options.density * grid.tiles.h().powi(2));
        let pi = std::f64::consts::PI;
        self.fade = mu.par_iter().map(|m| (1.0 / (1.0 + pi * pi * m * stiffness)) as f32).collect();
        // The second projection corrects the first; its pressure starts from nothing.
        let first = std::mem::replace(&mut grid.pressure, calm);
        Ok((report.solve.into_iter().chain(done.solve.map(|s| s.info)).collect(), first))
    }

    /// Viscosity of each cell, Pa·s; None if it is too small to matter everywhere.
    fn cell_viscosity(&self, step: &Step) -> Result<Option<Vec<f64>>> {
        let (tiles, particles) = (&self.next.grid.tiles, &self.next.particles);
        let thickest = step.viscosity.iter().fold(0.0f64, |m, v| m.max(*v));
        let least = NEGLIGIBLE * self.options.density * tiles.h().powi(2) / step.dt;
        if thickest < least || tiles.is_empty() {
            return Ok(None);
        }
        if particles.liquid.is_empty() {
            return Ok(Some(tiles.field(thickest)));
        }
        let logarithm: Vec<f64> = step.viscosity.iter().map(|v| elementary::log(v.max(THINNEST))).collect();
        let of_cell = |place: usize| {
            let range = particles.of_cell(place);
            let (mut sum, mut volume) = (0.0, 0.0);
            for p in range {
                let v = particles.volume[p] as f64;
                sum += v * logarithm.get(particles.liquid[p] as usize).copied().unwrap_or(0.0);
                volume += v;
            }
            if volume > 0.0 { (sum / volume, 1) } else { (0.0, 0u8) }
        };
        let cells: Vec<(f64, u8)> = (0..tiles.cells()).into_par_iter().map(of_cell).collect();
        let (mut mixed, mut known): (Vec<f64>, Vec<u8>) = cells.into_iter().unzip();
        extend_average(tiles, &mut mixed, &mut known, LAYERS)?;
        let mu = mixed.par_iter().zip(&known).map(|(l, k)| if *k > 0 { elementary::exp(*l) } else { 0.0 });
        Ok(Some(mu.collect()))
    }
}

/// Take from the particles what they differ from the grid, as far as viscosity would.
pub(super) fn calm(
    grid: &MacGrid,
    particles: &mut Particles,
    takes_part: &[bool],
    transfer: Transfer,
    fade: &[f32],
) {
    if fade.is_empty() || transfer == Transfer::Apic {
        return;
    }
    let tiles = &grid.tiles;
    let of_tile = |patch: &mut NearPatch, t: usize| -> Vec<Vec3> {
        let range = particles.of_tile(tiles, t);
        if range.is_empty() {
            return Vec::new();
        }
        patch.load(tiles, &grid.velocity, tiles.coords()[t], 1);
        let one = |p: usize| {
            let (x, v) = (&particles.position[p], particles.velocity[p]);
            match tiles.locate(tiles.cell_at(x)) {
                Some(place) if takes_part[p] => {
                    let u = patch.sample(&tiles.to_grid(x));
                    u + (v - u) * fade[place] as f64
                }
                _ => v,
            }
        };
        range.map(one).collect()
    };
    let calmed: Vec<Vec<Vec3>> =
        (0..tiles.len()).into_par_iter().map_init(NearPatch::default, of_tile).collect();
    particles.velocity = calmed.concat();
}
