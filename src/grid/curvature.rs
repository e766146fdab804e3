//! Mean curvature of a level set on the tiles.
//!
//! κ = ∇·(∇φ/|∇φ|) at cell centres, positive where the inside is convex: 2/R on a sphere, 1/R on a
//! circle of a grid one cell thick. See [`crate::geometry::curvature`] for the differences. Behind a sheet without thickness
//! φ is what it is on the other hand of the cell: the surface meets the sheet at a right angle.

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
            let sheets = tiles.sheets(t).filter(|s| !s.is_clear(l));
            let around = std::array::from_fn(|i| {
                let hidden = |i: usize| sheets.is_some_and(|s| s.sees[l] >> i & 1 == 0);
                let i = match (hidden(i), hidden(26 - i)) {
                    (false, _) => i as isize,
                    (true, false) => 26 - i as isize,
                    (true, true) => 13,
                };
                halo.get(at[0] + i % 3 - 1, at[1] + i / 3 % 3 - 1, at[2] + i / 9 - 1)
            });
            *value = level_set_curvature(&around, tiles.h(), tiles.axes());
        }
    });
    kappa
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    #[test]
    fn a_ball_curves_by_two_over_its_radius_and_a_disc_by_one() {
        for (flat, curvature_of_unit) in [(false, 2.0), (true, 1.0)] {
            let depth = if flat { 0..1 } else { -1..1 };
            let coords = depth.flat_map(|z| (-1..1).flat_map(move |y| (-1..1).map(move |x| [x, y, z])));
            let tiles = Tiles::new(0.1, Vec3::zeros(), flat, coords.collect());
            let radius = |p: usize| {
                let x = tiles.centre(tiles.cell(p));
                if flat { (x.x * x.x + x.y * x.y).sqrt() } else { x.norm() }
            };
            let phi: Vec<f64> = (0..tiles.cells()).map(|p| radius(p) - 0.5).collect();
            let kappa = curvature(&tiles, &phi, 0.1, 0.3);
            for p in 0..tiles.cells() {
                let exact = curvature_of_unit / radius(p);
                // Second order: (h/r)² is 6 % at the inner edge of this band, with a constant below one.
                let near = (kappa[p] - exact).abs() < 0.06 * exact;
                assert!(if phi[p].abs() < 0.1 { near } else { kappa[p] == 0.0 }, "{} {exact}", kappa[p]);
            }
        }
    }
}
