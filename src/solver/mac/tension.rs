//! Surface tension on the grid: a prescribed pressure at the surface, given as a force.
//!
//! At the free surface p = σκ, with κ the curvature, positive where liquid is convex. Let s be any field at
//! cell centres that is σκ near the surface, and p = q + s. Then q vanishes at the surface, and
//!
//! ```text
//!     u′ = u − Δt/ρ ∇(q + s) :     u ← u − Δt/(ρh) (s_b − s_a) on every face, then project as ever for q
//! ```
//!
//! On a face that the surface cuts at the share θ the whole difference s_b − s_a is that of s over θh between
//! the liquid's centre and the value interpolated at the cut, divided by θh: it is the ghost fluid with the
//! curvature taken where the surface is. Away from the surface s may be anything, zero here, because q
//! takes back what it did: both are differences of the same kind. Nothing of the projection changes.
//!
//! It is explicit: waves of the shortest length must not overtake the grid, Δt ≤ √(ρh³/4πσ) [BKZ92].
//! Checked by `a_drop_is_held_together_by_the_pressure_of_laplace` and, moving, by the drop of
//! `meniscus validate` that swings with the frequency of Rayleigh.

use super::grid::{MacGrid, each_cell};
use crate::grid::{Halo, curvature};
use rayon::prelude::*;

/// The curvature is known within this many cells of the surface.
const BAND: f64 = 2.5;

/// The longest step that surface tension allows, s: tension in N/m, density in kg/m³, cell width in m.
pub fn tension_step(tension: f64, density: f64, h: f64) -> f64 {
    (density * h.powi(3) / (4.0 * std::f64::consts::PI * tension.max(f64::MIN_POSITIVE))).sqrt()
}

/// Let surface tension act for `dt` seconds. Returns s over Δt/ρh, the pressure at the surface, Pa.
pub fn surface_tension(grid: &mut MacGrid, tension: f64, density: f64, dt: f64) -> Vec<f64> {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let mut pressure = curvature(tiles, &grid.liquid, BAND * h, 4.0 * h);
    // What curves more than a ball of one cell is noise of the grid.
    let most = (tiles.axes() - 1) as f64 / h;
    pressure.par_iter_mut().for_each(|k| *k = tension * k.clamp(-most, most));
    let scale = dt / (density * h);
    for (axis, u) in grid.velocity.iter_mut().enumerate().take(tiles.axes()) {
        let step: [isize; 3] = std::array::from_fn(|a| (a == axis) as isize);
        u.par_chunks_mut(tiles.volume()).enumerate().for_each_init(Halo::default, |halo, (t, u)| {
            tiles.load_halo(&pressure, t, 0.0, halo);
            each_cell(tiles.depth(), |l, [i, j, k]| {
                let below = halo.get(i - step[0], j - step[1], k - step[2]);
                u[l] -= scale * (halo.get(i, j, k) - below);
            });
        });
    }
    pressure
}

#[cfg(test)]
mod tests {
    use super::super::{Multigrid, PressureOptions, project};
    use super::*;
    use crate::cancel::Cancel;
    use crate::field::Solids;
    use crate::grid::Tiles;
    use crate::math::Vec3;

    #[test]
    fn a_drop_is_held_together_by_the_pressure_of_laplace() {
        // 72 dyn/cm, a radius of 8 cells of 1 mm; the centre is on no grid line.
        let (sigma, rho, h, radius, dt) = (0.072, 1000.0, 1e-3, 8e-3, 1e-3);
        for flat in [false, true] {
            let layers = if flat { 0..1 } else { -2..2 };
            let coords = layers.flat_map(|z| (-2..2).flat_map(move |y| (-2..2).map(move |x| [x, y, z])));
            let tiles = Tiles::new(h, Vec3::zeros(), flat, coords.collect());
            let mut grid = MacGrid::new(tiles, &Solids::default(), None);
            for p in 0..grid.tiles.cells() {
                let mut x = grid.tiles.centre(grid.tiles.cell(p)) - Vec3::new(2.3e-4, -1.1e-4, 3.7e-4);
                x.z = if flat { 0.0 } else { x.z };
                grid.liquid[p] = x.norm() - radius;
            }
            let s = surface_tension(&mut grid, sigma, rho, dt);
            let options = PressureOptions { dt, density: rho, tolerance: 1e-10 };
            let calm = grid.tiles.field(0.0);
            let mut multigrid = Multigrid::default();
            let done =
                project(&mut grid, &Solids::default(), &options, &calm, &mut multigrid, &Cancel::new())
                    .unwrap();
            let exact = sigma * if flat { 1.0 } else { 2.0 } / radius;
            for p in (0..grid.tiles.cells()).filter(|p| grid.liquid[*p] < -3.0 * h) {
                let found = grid.pressure[p] + s[p];
                // The curvature of a ball of eight cells is of second order: (h/R)² is 1.6 %.
                assert!((found / exact - 1.0).abs() < 0.016, "{found} of {exact} Pa");
            }
            // What moves is the difference of curvature along the surface, not the tension itself.
            let push = dt * exact / (rho * h);
            assert!(grid.max_speed(&done.known) < 0.02 * push, "{} of {push}", grid.max_speed(&done.known));
        }
    }
}
