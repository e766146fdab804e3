//! Smoke: the same solver in a domain that is full, whose particles carry smoke and heat.
//!
//! Air that is warmer by ΔT than the rest is lighter by ΔT/T, and smoke makes it heavier; as both are small the
//! difference matters only where gravity multiplies it (Boussinesq). With the attributes `density` s and
//! `temperature` ΔT of the particles, faces accelerate by
//!
//! ```text
//!     (weight s − lift ΔT) g
//! ```
//!
//! the mean of the two cells, each the mean of its particles by volume. The rest of gravity is balanced by the pressure
//! of still air. There is no free surface: all cells of the domain are unknowns, however few particles
//! they hold. Sources do not add air; they colour what is in them and give it their velocity. Checked by
//! tests/smoke.rs.

use super::Mac;
use crate::error::Result;
use crate::grid::extend_average;
use crate::math::Vec3;
use crate::math::elementary::exp;
use crate::simulation::liquid::{Inflow, Step};
use rayon::prelude::*;

/// Layers of cells without particles that take the mean of their neighbours.
const LAYERS: usize = 3;

impl Mac {
    /// The columns of smoke and heat.
    fn smoke_columns(&self) -> Option<[usize; 2]> {
        let start = |name: &str| self.options.columns.find(name).map(|c| c.start);
        Some([start("density")?, start("temperature")?])
    }

    /// Accelerate the faces by the weight of smoke and the lift of heat.
    pub(super) fn lift(&mut self, step: &Step) -> Result<()> {
        let (Some(smoke), Some([density, heat])) = (self.options.smoke, self.smoke_columns()) else {
            return Ok(());
        };
        let particles = &self.next.particles;
        let of_cell = |place: usize| {
            let (mut sum, mut volume) = (0.0, 0.0);
            for p in particles.of_cell(place) {
                let (row, v) = (particles.row(p), f64::from(particles.volume[p]));
                sum += v * (smoke.weight * f64::from(row[density]) - smoke.lift * f64::from(row[heat]));
                volume += v;
            }
            if volume > 0.0 { (sum / volume, 1u8) } else { (0.0, 0) }
        };
        let tiles = &self.next.grid.tiles;
        let cells: Vec<(f64, u8)> = (0..tiles.cells()).into_par_iter().map(of_cell).collect();
        let (mut heavier, mut known): (Vec<f64>, Vec<u8>) = cells.into_iter().unzip();
        extend_average(tiles, &mut heavier, &mut known, LAYERS)?;
        for axis in 0..tiles.axes() {
            let push = step.dt * step.gravity[axis];
            if push == 0.0 {
                continue;
            }
            let velocity = &mut self.next.grid.velocity[axis];
            velocity.par_iter_mut().enumerate().for_each(|(place, u)| {
                let mut below = tiles.cell(place);
                below[axis] -= 1;
                let other = tiles.locate(below).map_or(heavier[place], |b| heavier[b]);
                *u += push * 0.5 * (heavier[place] + other);
            });
        }
        Ok(())
    }

    /// Give the air in a source what the source says.
    pub(super) fn colour(&mut self, inflow: &Inflow, inside: &[usize]) {
        let stride = self.options.columns.stride();
        let particles = &mut self.next.particles;
        let mut row = Vec::with_capacity(stride);
        for &p in inside {
            row.clear();
            (inflow.paint)(&particles.position[p], &mut row);
            particles.carried[p * stride..(p + 1) * stride].copy_from_slice(&row);
            if inflow.velocity != Vec3::zeros() {
                particles.velocity[p] = inflow.velocity;
            }
        }
    }

    /// Let heat and smoke fade for a step.
    pub(super) fn fade_smoke(&mut self, dt: f64) {
        let (Some(smoke), Some([density, heat])) = (self.options.smoke, self.smoke_columns()) else { return };
        let left = |seconds: f64| if seconds > 0.0 { exp(-dt / seconds) as f32 } else { 1.0 };
        let (thin, cool) = (left(smoke.fading), left(smoke.cooling));
        let particles = &mut self.next.particles;
        particles.carried.par_chunks_mut(particles.stride).for_each(|row| {
            row[density] *= thin;
            row[heat] *= cool;
        });
    }
}
