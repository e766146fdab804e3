//! How much of what particles differ from the grid is left to them.
//!
//! Particles of the transfer `flip` keep differences of velocity that the grid does not see. In deep liquid these are its
//! fine eddies. In a sheet or a thread thinner than two cells no eddy has room; there they are noise, which tears the
//! sheet apart as soon as pressure no longer holds it. So in thin liquid they fade in the time [`FADING`], as those
//! of thick liquid do by viscosity. Let m be the greatest [fullness](crate::surface::fullness) of a cell and those round
//! it. Below a plane surface m is at least 7/8 for every cell that the surface reaches; in a sheet of thickness t < h it is at
//! most t/h − t²/4h², 3/4 of a cell. So
//!
//! ```text
//!     kept in Δt = e^(−s Δt/T)        s from 0 at m = 0.85 to 1 at m = 0.55
//! ```
//!
//! The mean motion, which is that of the grid, is untouched. Checked by the test below.

use super::{Mac, State};
use crate::field::Particles;
use crate::grid::{Halo, SIDE, Tiles};
use crate::math::elementary::exp;
use crate::solver::mac::Transfer;
use rayon::prelude::*;

/// Own motion of particles lasts this long in thin liquid, s.
const FADING: f64 = 0.01;
/// Fullness of the fullest cell near by where liquid begins to be thin, and where it is.
const THIN: [f64; 2] = [0.85, 0.55];

impl Mac {
    /// Share of what particles of each cell of the next state differ from the grid that they keep in a step. With other
    /// transfers they have nothing of the kind.
    pub(super) fn keeps(&self, dt: f64) -> Vec<f32> {
        if !matches!(self.options.transfer, Transfer::Flip { .. }) {
            return Vec::new();
        }
        let State { grid, particles, .. } = &self.next;
        kept(&grid.tiles, particles, &self.full, &self.fade, dt)
    }
}

/// Share that particles of each cell keep in dt seconds, given the fullness of cells and what viscosity leaves, if it acts.
fn kept(tiles: &Tiles, particles: &Particles, full: &[f64], fade: &[f32], dt: f64) -> Vec<f32> {
    let v = tiles.volume();
    let mut keeps = if fade.is_empty() { tiles.field(1f32) } else { fade.to_vec() };
    keeps.par_chunks_mut(v).enumerate().for_each_init(Halo::default, |halo, (t, keeps)| {
        if particles.of_tile(tiles, t).is_empty() {
            return;
        }
        tiles.load_halo(full, t, -1.0, halo);
        let (side, layers) = (SIDE as isize, tiles.depth() as isize);
        let row = |j, k| (0..side).map(move |i| [i, j, k]);
        let places = (0..layers).flat_map(|k| (0..side).flat_map(move |j| row(j, k)));
        for (l, [i, j, k]) in places.enumerate() {
            if particles.of_cell(t * v + l).is_empty() || halo.get(i, j, k) > THIN[0] {
                continue;
            }
            let near = (0..27).map(|n| halo.get(i + n % 3 - 1, j + n / 3 % 3 - 1, k + n / 9 - 1));
            let fullest = near.fold(-1.0, f64::max);
            let thin = ((THIN[0] - fullest) / (THIN[0] - THIN[1])).clamp(0.0, 1.0);
            // Where walls leave no room the particles say nothing.
            if fullest >= 0.0 && thin > 0.0 {
                keeps[l] *= exp(-thin * dt / FADING) as f32;
            }
        }
    });
    keeps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Sight, Solids};
    use crate::math::Vec3;
    use crate::surface::fullness;

    /// What is kept by particles on an even lattice of eight a cell with y between two heights.
    fn of_layer(low: f64, high: f64) -> Vec<f32> {
        let coords = (0..27).map(|c| [c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1]).collect();
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, coords);
        let mut particles = Particles::default();
        let at = |i: i32| 0.5 * (i as f64 + 0.5);
        for id in 0..48i32.pow(3) {
            let x = Vec3::new(at(id % 48 - 16), at(id / 48 % 48 - 16), at(id / 2304 - 16));
            if x.y > low && x.y < high {
                particles.push(x, Vec3::zeros(), id as u64, 0.125, None);
            }
        }
        particles.sort(&tiles).unwrap();
        let open = Sight { tiles: &tiles, sheets: &Solids::default() };
        let full = fullness(&open, &particles, &tiles.field(1.0), &[]);
        let keeps = kept(&tiles, &particles, &full, &[], FADING);
        let inner = tiles.find(&[0, 0, 0]) as usize * tiles.volume();
        let wet = (inner..inner + tiles.volume()).filter(|c| !particles.of_cell(*c).is_empty());
        wet.map(|c| keeps[c]).collect()
    }

    #[test]
    fn only_thin_liquid_is_calmed() {
        for top in [4.0, 4.5] {
            assert!(of_layer(-8.0, top).iter().all(|k| *k == 1.0), "a pool up to {top}");
        }
        // Half a cell thick: at most half full anywhere.
        let sheet = of_layer(4.0, 4.5);
        assert!(!sheet.is_empty() && sheet.iter().all(|k| (*k - (-1f32).exp()).abs() < 1e-6), "{sheet:?}");
    }
}
