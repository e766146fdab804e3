//! Mean curvature of a level set on the tiles.
//!
//! κ = ∇·(∇φ/|∇φ|) at cell centres, positive where the inside is convex: 2/R on a sphere, 1/R on a
//! circle of a grid one cell thick. See [`crate::geometry::curvature`] for the differences.

use super::tiles::{Halo, SIDE, Tiles};
use crate::geometry::curvature::level_set_curvature;

/// κ in cells with |φ| < `band` metres, 0 in all others. Tiles that do not exist hold `outside`.
pub fn curvature(tiles: &Tiles, phi: &[f64], band: f64, outside: f64) -> Vec<f64> {
    let mut kappa = tiles.field(0.0);
    tiles.for_each(&mut kappa, |t, part| {
        let own = &phi[t * tiles.volume()..(t + 1) * tiles.volume()];
        if own.iter().all(|p| p.abs() >= band) {
            return;
        }
        let mut halo = Halo::default();
        tiles.load_halo(phi, t, outside, &mut halo);
        for (l, value) in part.iter_mut().enumerate().filter(|(l, _)| own[*l].abs() < band) {
            let at = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as isize);
            let around = std::array::from_fn(|i| {
                let i = i as isize;
                halo.get(at[0] + i % 3 - 1, at[1] + i / 3 % 3 - 1, at[2] + i / 9 - 1)
            });
            *value = level_set_curvature(&around, tiles.h(), tiles.axes());
        }
    });
    kappa
}
