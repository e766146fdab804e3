//! How far paths lead from each tile, so that as little as possible is copied round it to follow them.
//!
//! A path of the rule in [`super::velocity`] moves a point along each axis by no more than Δt times the greatest
//! component of velocity that it meets, at each of its stages and at its end. It is not followed beyond the next tiles; so the
//! greatest component of a tile and its 26 neighbours bounds the paths that begin in it. One fast jet does not make the margins
//! of a whole pool wide.

use crate::grid::{MAX_MARGIN, NONE, Tiles};
use rayon::prelude::*;

/// Cells that interpolation asks for beyond the end of a path.
const BEYOND: usize = 2;

/// The greatest component of velocity in each tile, in cells a step.
#[derive(Clone, Debug, Default)]
pub struct Reach(Vec<f32>);

impl Reach {
    /// The reach of some velocities of the same faces in steps of `dt` seconds.
    pub fn new(tiles: &Tiles, velocities: &[&[Vec<f64>; 3]], dt: f64) -> Self {
        let (v, cells) = (tiles.volume(), dt / tiles.h());
        let components: Vec<&[f64]> =
            velocities.iter().flat_map(|u| u.iter().take(tiles.axes())).map(|u| &u[..]).collect();
        let of_tile = |t: usize| {
            let fastest = |u: &&[f64]| u[t * v..(t + 1) * v].iter().fold(0.0f64, |m, u| m.max(u.abs()));
            // Rounded to f32 it must not fall below what it bounds.
            (components.iter().map(fastest).fold(0.0, f64::max) * cells * (1.0 + 1e-6)) as f32
        };
        Self((0..tiles.len()).into_par_iter().with_min_len(16).map(of_tile).collect())
    }

    /// Cells round the tile with coordinates `coord`, which need not exist, that paths from it ask for.
    pub fn margin(&self, tiles: &Tiles, coord: [i32; 3]) -> usize {
        let there = tiles.around(coord).into_iter().filter(|t| *t != NONE);
        let travel = there.fold(0.0f32, |m, t| m.max(self.0[t as usize]));
        (travel.min(MAX_MARGIN as f32).ceil() as usize + BEYOND).min(MAX_MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::VelocityPatch;
    use crate::math::Vec3;

    /// A jet in one tile is fast, the rest is slow: paths from every tile are the same with its own margin as with the widest.
    #[test]
    fn a_narrow_margin_changes_no_path() {
        let coords = (0..125).map(|d| [d % 5 - 2, d / 5 % 5 - 2, d / 25 - 2]).collect();
        let tiles = Tiles::new(0.1, Vec3::zeros(), false, coords);
        let jet = |p: usize, a: usize| {
            let near = tiles.coords()[p / tiles.volume()] == [2, 0, 0];
            ((p * (a + 5) % 23) as f64 / 23.0 - 0.4) * if near { 5.0 } else { 1.0 }
        };
        let velocity = std::array::from_fn(|a| (0..tiles.cells()).map(|p| jet(p, a)).collect());
        let dt = 0.13;
        let reach = Reach::new(&tiles, &[&velocity], dt);
        assert_eq!(reach.margin(&tiles, [-1, 0, 0]), 3);
        assert_eq!(reach.margin(&tiles, [1, 1, 0]), 6);
        let (mut wide, mut narrow) = (VelocityPatch::default(), VelocityPatch::default());
        for coord in [[0, 0, 0], [1, 0, 0], [-1, 1, 0], [1, -1, -1]] {
            wide.load(&tiles, &velocity, coord, MAX_MARGIN);
            narrow.load(&tiles, &velocity, coord, reach.margin(&tiles, coord));
            for n in 0..200 {
                let at = |m: usize, c: i32| (n * m % 199) as f64 / 199.0 * 8.0 + 8.0 * c as f64;
                let g = Vec3::new(at(31, coord[0]), at(57, coord[1]), at(113, coord[2]));
                for dt in [dt, -dt] {
                    let end = wide.trace(&g, dt);
                    assert!(narrow.trace(&g, dt) == end && narrow.sample(&end) == wide.sample(&end));
                }
            }
        }
    }
}
