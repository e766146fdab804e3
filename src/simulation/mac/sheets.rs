//! Sheets without thickness in a step: the distance to the surface is carried on each side for itself, and particles ask for what they see.
//!
//! A cell belongs to the side of its centre. When a sheet sweeps over the centre the cell changes sides, and its distance is that of
//! the cells it sees from then on; how full it is, by the particles it sees, has the last word as everywhere.

use super::State;
use crate::field::{Sight, Solids};
use crate::grid::{Patch, TileSheets, Tiles};
use crate::math::Vec3;
use crate::simulation::liquid::Step;
use crate::solver::mac::{MacGrid, close_faces};
use rayon::prelude::*;

/// The liquid's distance at a particle of tile t, and the least of those at the centres round it that it sees. A particle
/// in a cell that has liquid in it or beside it moves with that if the least is negative, or if it clings to the
/// surface; else it is a drop that flies freely.
pub(super) fn liquid_at(sight: &Sight, t: usize, patch: &Patch, liquid: &[f64], x: &Vec3) -> (f64, f64) {
    match sight.of_particle(t, x) {
        Some(eyes) => (sight.sample(t, &eyes, liquid, x), sight.least(t, &eyes, liquid, x)),
        None => {
            let at = sight.tiles.centred(x);
            (patch.sample(at), patch.least(at))
        }
    }
}

/// [`close_faces`] for the velocity of the grid itself.
pub(super) fn close_own_faces(grid: &mut MacGrid, solids: Option<&Solids>) -> [Vec<f64>; 3] {
    if !grid.tiles.any_sheets() {
        return Default::default();
    }
    let mut velocity = std::mem::take(&mut grid.velocity);
    let below = close_faces(grid, &mut velocity, solids);
    grid.velocity = velocity;
    below
}

/// The distance in cells beside sheets, each from its own side: carried from what it sees on the old grid, or, where the sheet
/// has swept over the centre, from the cells that it sees on the new one.
pub(super) fn carry_beside_sheets(now: &State, next: &MacGrid, step: &Step, phi: &mut [f64], band: f64) {
    let (old, tiles) = (&now.grid, &next.tiles);
    if !old.tiles.any_sheets() && !tiles.any_sheets() {
        return;
    }
    let (v, h, sight) = (tiles.volume(), tiles.h(), old.sight());
    let faces = [&old.velocity, &now.below];
    let of_tile = |t: usize| -> Vec<(usize, Option<f64>)> {
        let before = old.tiles.find_tile(tiles.coords()[t]);
        let clear = |t: Option<usize>, tiles: &Tiles, l: usize| {
            t.and_then(|t| tiles.sheets(t)).is_none_or(|s| s.is_clear(l))
        };
        let mut found = Vec::new();
        for l in (0..v).filter(|l| !clear(Some(t), tiles, *l) || !clear(before, &old.tiles, *l)) {
            let x = tiles.eye(tiles.cell(t * v + l));
            let swept = step.solids.path_crosses(&x, &x);
            let carried = before.filter(|_| !swept).and_then(|b| {
                let eyes = sight.of_particle(b, &x)?;
                let g = tiles.to_grid(&x);
                let from = tiles.origin() + (g - sight.velocity(b, &eyes, faces, &g).0 * (step.dt / h)) * h;
                if old.sheets.crosses(&x, &from) {
                    return Some(old.liquid[b * v + l]);
                }
                let eyes = sight.eyes(b, &from).unwrap_or_else(|| sight.everything(&from));
                Some(sight.sample(b, &eyes, &old.liquid, &from))
            });
            if swept || carried.is_some() {
                found.push((t * v + l, carried));
            }
        }
        found
    };
    let found: Vec<Vec<_>> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
    let mut swept = Vec::new();
    for (place, value) in found.into_iter().flatten() {
        match value {
            Some(d) => phi[place] = d,
            None => {
                phi[place] = f64::NAN;
                swept.push(place);
            }
        }
    }
    let values: Vec<f64> = swept.iter().map(|place| mean_seen(next, phi, *place).unwrap_or(band)).collect();
    swept.into_iter().zip(values).for_each(|(place, d)| phi[place] = d);
}

/// The mean of a field over the cells outside solids that one sees; those that have no value do not count.
pub(super) fn mean_seen(grid: &MacGrid, field: &[f64], place: usize) -> Option<f64> {
    let tiles = &grid.tiles;
    let (t, l) = (place / tiles.volume(), place % tiles.volume());
    let at = TileSheets::local(l);
    let layers = if tiles.is_flat() { 9..18 } else { 0..27i32 };
    let near = layers.map(|n| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]);
    let near = near.filter(|o| tiles.sheets(t).is_none_or(|s| s.sees(l, *o)));
    let near = near.filter_map(|o| tiles.near(t, at[0] + o[0], at[1] + o[1], at[2] + o[2]));
    let values = near.filter(|p| grid.centre[*p] >= 0.0).map(|p| field[p]).filter(|d| !d.is_nan());
    let (sum, count) = values.fold((0.0, 0.0), |(s, n), d| (s + d, n + 1.0));
    (count > 0.0).then(|| sum / count)
}
