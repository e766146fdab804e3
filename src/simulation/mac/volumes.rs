//! The fields of the grid, for files, and sums over the liquid, for reports.

use super::Mac;
use super::attributes::Thickness;
use super::thick::mixed_viscosity;
use crate::error::Result;
use crate::math::Vec3;
use crate::simulation::liquid::Moments;
use crate::simulation::volumes::VolumesView;

impl Mac {
    /// Of the particles, which carry all liquid; with a narrow band of them, of the cells.
    pub(super) fn sums(&self) -> Moments {
        let (grid, particles) = (&self.now.grid, &self.now.particles);
        if !self.has_bare_liquid() {
            return Moments::of(particles.len(), |p| {
                (f64::from(particles.volume[p]), particles.position[p], particles.velocity[p])
            });
        }
        let (tiles, shares) = (&grid.tiles, grid.liquid_shares());
        let cell = tiles.h().powi(3);
        Moments::of(tiles.cells(), |place| {
            if shares[place] <= 0.0 {
                return (0.0, Vec3::zeros(), Vec3::zeros());
            }
            let at = tiles.cell(place);
            // The mean of both faces; beyond the tiles there is no liquid to speak of.
            let mean = |a: usize| {
                let mut next = at;
                next[a] += 1;
                let u = &grid.velocity[a];
                0.5 * (u[place] + tiles.locate(next).map_or(u[place], |n| u[n]))
            };
            (
                cell * shares[place],
                tiles.centre(at),
                Vec3::new(mean(0), mean(1), if tiles.is_flat() { 0.0 } else { mean(2) }),
            )
        })
    }

    pub(super) fn view(&self, viscosity: &[f64]) -> Result<VolumesView<'_>> {
        let grid = &self.now.grid;
        let varies = !Thickness::new(&self.options, &self.now.particles, viscosity).is_even();
        let thick = varies || viscosity.iter().any(|v| *v > 0.0);
        Ok(VolumesView {
            tiles: &grid.tiles,
            liquid: (&grid.liquid).into(),
            solid: (&grid.centre).into(),
            pressure: (&grid.pressure).into(),
            velocity: std::array::from_fn(|a| (&grid.velocity[a]).into()),
            viscosity: match thick {
                true => mixed_viscosity(&self.options, &grid.tiles, &self.now.particles, viscosity)?,
                false => Vec::new(),
            },
        })
    }
}
