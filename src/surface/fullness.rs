//! What the particles say about where the liquid is.
//!
//! Particles carry the volume of the liquid and never lose any, so they decide where liquid is; a
//! level set carried along the flow is smooth and knows better *exactly* where its surface runs. The
//! fullness of a cell centre x is the volume round it, weighted by the trilinear hat w, relative to
//! the room that solids leave there:
//!
//! ```text
//!     f(x) = Σ_p V_p w(x − x_p) / ∫_{outside solids} w
//! ```
//!
//! Under a plane surface at depth d (in cells, from −1 to 1) it is f = ½ + d − d|d|/2, up to the small
//! anisotropy of w, whose second moment is the same in all directions. Turned round, fullness gives a
//! distance that is good to a quarter of a cell. [`guide`] keeps the level set within that tolerance
//! of it: where flow is smooth nothing happens, so that a calm surface shows no trace of particles;
//! where sheets tear, walls sweep or drops gather, the particles have the last word. So the level set
//! can neither gain nor lose more than the tolerance times the surface.

use crate::field::{Particles, Sight, volume_at_centres};
use crate::grid::{Halo, TileSheets, Tiles};
use rayon::prelude::*;

/// How far level set and particles may disagree, as fullness; at the surface also in cells. The scatter
/// of fullness of particles that are placed at random within eighths of cells is a tenth.
const TOLERANCE: f64 = 0.25;
/// The same for the mean over the cells round, in thick liquid.
const CALM: f64 = 0.1;
/// A cell this many cells from the level set's liquid that is nevertheless full belongs to a sheet that
/// the level set has lost. Sheets are held together down to this much less than half full.
const LOST: f64 = 0.6;
const SHEET: f64 = 0.25;
/// Such a sheet counts as this full, which is barely liquid; what is fuller counts as it is.
const BARELY: f64 = 0.6;
/// With less room than this round a cell centre the particles say nothing.
const LEAST_ROOM: f64 = 0.2;
const UNKNOWN: f64 = -1.0;

/// How full the surroundings of each cell centre are; negative where solids leave too little room.
/// `room` is the share of each cell outside solids. Beside a sheet without thickness both the volume and the room
/// are those of its own side, and where the other takes most of the room the few particles that are left say little: what they
/// differ by from the carried distance `phi` counts by the share of the room that is seen.
pub fn fullness(sight: &Sight, particles: &Particles, room: &[f64], phi: &[f64]) -> Vec<f64> {
    let tiles = sight.tiles;
    let mut full = volume_at_centres(sight, particles);
    let cell = tiles.h().powi(3);
    full.par_chunks_mut(tiles.volume()).enumerate().for_each_init(Halo::default, |halo, (t, part)| {
        let own = &room[t * tiles.volume()..(t + 1) * tiles.volume()];
        // Walls one cell outside the tile take at most a few per cent; they are seen through the halo.
        tiles.load_halo(room, t, 1.0, halo);
        let walls =
            own.iter().any(|r| *r < 1.0) || halo.0[..100 * (tiles.depth() + 2)].iter().any(|r| *r < 1.0);
        for (l, f) in part.iter_mut().enumerate() {
            let open = if walls { room_round(halo, l, tiles) } else { 1.0 };
            let Some(sheets) = tiles.sheets(t).filter(|s| !s.is_clear(l)) else {
                *f = if open < LEAST_ROOM { UNKNOWN } else { *f / (open * cell) };
                continue;
            };
            let seen = room_seen(tiles, room, t, l, sheets);
            let full = *f / (seen * cell);
            let expected = fullness_at(-phi[t * tiles.volume() + l] / tiles.h());
            *f = match seen < LEAST_ROOM {
                true => UNKNOWN,
                // No particle at all is no matter of chance.
                false if *f == 0.0 => 0.0,
                false => expected + (full - expected) * (seen / open).min(1.0),
            };
        }
    });
    full
}

/// ∫ of the hat over what is outside solids, each cell's room spread evenly over the cell: the hat of a
/// cell has ¾ of its integral over the cell itself and ⅛ over either neighbour, along each axis.
fn room_round(halo: &Halo, l: usize, tiles: &Tiles) -> f64 {
    let side = crate::grid::SIDE;
    let (x, y, z) = ((l % side) as isize, (l / side % side) as isize, (l / (side * side)) as isize);
    let share = [0.125, 0.75, 0.125];
    let line = |y, z| (0..3).map(|i| share[i as usize] * halo.get(x + i - 1, y, z)).sum::<f64>();
    let face = |z| (0..3).map(|j| share[j as usize] * line(y + j - 1, z)).sum::<f64>();
    if tiles.is_flat() { face(z) } else { (0..3).map(|k| share[k as usize] * face(z + k - 1)).sum() }
}

/// The same beside a sheet: of the cells that are seen the part on the side of their centre, of the others the rest.
fn room_seen(tiles: &Tiles, room: &[f64], t: usize, l: usize, sheets: &TileSheets) -> f64 {
    let (at, share, v) = (TileSheets::local(l), [0.125, 0.75, 0.125], tiles.volume());
    let layers = if tiles.is_flat() { 9..18 } else { 0..27i32 };
    let part = |n: i32| {
        let by = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
        let place = tiles.near(t, at[0] + by[0], at[1] + by[1], at[2] + by[2]);
        let own = place.and_then(|p| tiles.sheets(p / v).map(|s| s.own[p % v] as f64)).unwrap_or(1.0);
        let side = if sheets.sees(l, by) { own } else { 1.0 - own };
        let weight = (0..tiles.axes()).map(|a| share[(by[a] + 1) as usize]).product::<f64>();
        weight * side * place.map_or(1.0, |p| room[p])
    };
    layers.map(part).sum()
}

/// Depth below a plane surface, in cells from −1 to 1, of a point with this fullness.
#[inline]
fn depth(full: f64) -> f64 {
    if full >= 0.5 { 1.0 - (2.0 - 2.0 * full).max(0.0).sqrt() } else { (2.0 * full).sqrt() - 1.0 }
}

/// Fullness at this depth below a plane surface, in cells.
#[inline]
fn fullness_at(depth: f64) -> f64 {
    let d = depth.clamp(-1.0, 1.0);
    0.5 + d - 0.5 * d * d.abs()
}

/// Hold a distance that was carried along the flow to what the particles say. Where liquid is `thick`, which may be empty,
/// nothing on the scale of a cell is left of its flow, so that what differs between neighbouring cells is the scatter of
/// particles that are drawn out with it; there their mean disagreement over the cells round counts, and is bounded more tightly.
/// Else a film that is stretched would be thinner by chance here and there, and tear at these places.
pub fn guide(tiles: &Tiles, phi: &mut [f64], full: &[f64], thick: &[bool]) {
    let h = tiles.h();
    if !thick.is_empty() {
        let means = disagreement(tiles, phi, full, thick);
        phi.par_iter_mut().zip(means).filter(|(_, e)| e.abs() > CALM).for_each(|(phi, mean)| {
            let held = -h * depth((fullness_at(-*phi / h) + mean - CALM.copysign(mean)).clamp(0.0, 1.0));
            // Far from the surface only a different side counts.
            if phi.abs() < h || held * *phi < 0.0 {
                *phi = held;
            }
        });
    }
    let is_thick = |p: usize| thick.get(p).is_some_and(|t| *t);
    phi.par_iter_mut().zip(full).enumerate().filter(|(p, _)| !is_thick(*p)).for_each(|(_, (phi, full))| {
        if *full < 0.0 || (*full == 0.0 && *phi > h) {
            return;
        }
        let expected = fullness_at(-*phi / h);
        // Far from the surface only a different side counts: depth ends at one cell.
        let near = phi.abs() < h;
        if *full > expected + TOLERANCE {
            // Where the level set has lost a sheet altogether, the particles alone say that there is one.
            let lost = *phi > LOST * h;
            let sheet = full.max((*full + SHEET).min(BARELY));
            let most = -h * depth(if lost { sheet } else { *full - TOLERANCE });
            *phi = if near || most < 0.0 { most } else { *phi };
        } else if *full < expected - TOLERANCE {
            let least = -h * depth(*full + TOLERANCE);
            *phi = if near || least > 0.0 { least } else { *phi };
        }
    });
}

/// How much fuller cells of thick liquid are than their distance says, the mean over those round with weights ¼, ½, ¼ along each
/// axis; zero elsewhere.
fn disagreement(tiles: &Tiles, phi: &[f64], full: &[f64], thick: &[bool]) -> Vec<f64> {
    let h = tiles.h();
    let counts = |p: usize| thick[p] && full[p] >= 0.0 && (full[p] > 0.0 || phi[p].abs() < h);
    let own = |p: usize| if counts(p) { full[p] - fullness_at(-phi[p] / h) } else { f64::NAN };
    let own: Vec<f64> = (0..tiles.cells()).into_par_iter().map(own).collect();
    let mut means = tiles.field(0.0);
    means.par_chunks_mut(tiles.volume()).enumerate().for_each_init(Halo::default, |halo, (t, part)| {
        if part.is_empty() || own[t * tiles.volume()..(t + 1) * tiles.volume()].iter().all(|e| e.is_nan()) {
            return;
        }
        tiles.load_halo(&own, t, f64::NAN, halo);
        let side = crate::grid::SIDE;
        let layers = if tiles.is_flat() { 9..18 } else { 0..27 };
        for (l, mean) in part.iter_mut().enumerate() {
            let at = [l % side, l / side % side, l / (side * side)].map(|c| c as isize);
            if halo.get(at[0], at[1], at[2]).is_nan() {
                continue;
            }
            let (mut sum, mut weights) = (0.0, 0.0);
            for n in layers.clone() {
                let by = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
                let e = halo.get(at[0] + by[0], at[1] + by[1], at[2] + by[2]);
                if !e.is_nan() {
                    let w = by.iter().map(|b| if *b == 0 { 2.0 } else { 1.0 }).product::<f64>();
                    (sum, weights) = (sum + w * e, weights + w);
                }
            }
            *mean = sum / weights;
        }
    });
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Solids;
    use crate::math::Vec3;

    /// Particles on an even lattice of eight a cell below the plane n·x = d, and the tiles round them.
    fn pool(n: Vec3, d: f64) -> (Tiles, Particles) {
        let coords = (0..27).map(|c| [c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1]).collect();
        let tiles = Tiles::new(0.5, Vec3::zeros(), false, coords);
        let mut particles = Particles::default();
        let at = |i: i32| 0.25 * (i as f64 + 0.5);
        for id in 0..48i32.pow(3) {
            let x = Vec3::new(at(id % 48 - 16), at(id / 48 % 48 - 16), at(id / 2304 - 16));
            if n.dot(&x) < d {
                particles.push(x, Vec3::zeros(), id as u64, 0.25f32.powi(3), None);
            }
        }
        particles.sort(&tiles).unwrap();
        (tiles, particles)
    }

    #[test]
    fn fullness_tells_how_deep_a_cell_lies() {
        for n in [Vec3::y(), Vec3::new(1.0, 1.0, 0.0), Vec3::new(0.3, 1.0, -0.6), Vec3::new(1.0, 1.0, 1.0)] {
            let n = n.normalize();
            let (tiles, particles) = pool(n, 2.0);
            let full = fullness(
                &Sight { tiles: &tiles, sheets: &Solids::default() },
                &particles,
                &tiles.field(1.0),
                &[],
            );
            let base = tiles.find(&[0, 0, 0]) as usize * tiles.volume();
            for (p, full) in full.iter().enumerate().skip(base).take(tiles.volume()) {
                let exact = (2.0 - n.dot(&tiles.centre(tiles.cell(p)))) / tiles.h();
                // A lattice of half a cell places a plane to within a quarter of a cell.
                if exact.abs() < 0.7 {
                    assert!((depth(*full) - exact).abs() < 0.26, "{} {exact}", depth(*full));
                }
            }
        }
    }

    #[test]
    fn the_particles_overrule_a_surface_only_where_it_is_far_off() {
        let (tiles, particles) = pool(Vec3::y(), 2.0);
        let full = fullness(
            &Sight { tiles: &tiles, sheets: &Solids::default() },
            &particles,
            &tiles.field(1.0),
            &[],
        );
        let exact: Vec<f64> = (0..tiles.cells()).map(|p| tiles.centre(tiles.cell(p)).y - 2.0).collect();
        let middle = tiles.find(&[0, 0, 0]) as usize * tiles.volume();
        let check = |offset: f64, side: f64, wanted: &dyn Fn(f64, f64) -> bool| {
            let mut phi: Vec<f64> = exact.iter().map(|d| d + offset).collect();
            guide(&tiles, &mut phi, &full, &[]);
            let at_surface = |p: &usize| exact[*p].abs() < 0.3 && exact[*p] * side > 0.0;
            (middle..middle + tiles.volume()).filter(at_surface).all(|p| wanted(phi[p], exact[p]))
        };
        assert!([-1.0, 1.0].iter().all(|side| check(0.1, *side, &|phi, exact| phi == exact + 0.1)));
        // The surface is put back to within the tolerance of a quarter of the fullness, which half a cell
        // beside the surface is 0.37 cells, and on the right side.
        // In thick liquid a tighter bound holds, for the mean over neighbours: a tenth of a cell, and the quarter to which
        // the lattice places a plane. Without it .2 m would have stayed.
        let thick = vec![true; tiles.cells()];
        let mut phi: Vec<f64> = exact.iter().map(|d| d + 0.2).collect();
        guide(&tiles, &mut phi, &full, &thick);
        let at_surface = |p: &usize| exact[*p].abs() < 0.3;
        let left = |p: usize| (phi[p] - exact[p]).abs();
        let most = (middle..middle + tiles.volume()).filter(at_surface).map(left).fold(0.0, f64::max);
        assert!(most < 0.175, "{most}");
        assert!(check(1.5, -1.0, &|phi, exact| phi < 0.0 && (phi - exact).abs() < 0.19));
        assert!(check(-1.5, 1.0, &|phi, exact| phi > 0.0 && (phi - exact).abs() < 0.19));
    }
}
