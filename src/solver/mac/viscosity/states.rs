//! Which faces of a grid are unknown in a viscous step and which are given, and how far they are from walls.
//!
//! A face whose centre is in a solid is given: stuck where the liquid sticks, held along the normal where it slides. Others are
//! unknown if there is liquid round them. Checked with the [weights](super::weights) that follow from it by tests/honey.rs.

use super::near::Near;
use super::shares::{Shares, Sliding, of_face, step};
use super::weights::{ABSENT, HELD, LEAST_SHARE, STUCK, UNKNOWN, others};
use crate::field::{Solids, face_offset};
use crate::grid::{Halo, Tiles};
use crate::math::Vec3;
use crate::solver::mac::grid::{MacGrid, REACH_CELLS, each_cell};
use rayon::prelude::*;

/// A wall whose normal has this component along an axis lies along the grid. Round walls must not count where they
/// happen to: liquid that slides would hang on a few faces.
const STRAIGHT: f64 = 0.9999;

/// Which tiles have liquid in them or in the tiles beside them. Nothing is asked of the others.
pub(super) fn near_liquid(tiles: &Tiles, shares: &Shares) -> Vec<bool> {
    let wet: Vec<bool> =
        shares.whole.par_chunks(tiles.volume()).map(|part| part.iter().any(|s| *s > 0.0)).collect();
    let beside = |t: usize, n: i32| tiles.neighbour(t, n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1);
    let wet = |t: u32| wet.get(t as usize).is_some_and(|w| *w);
    (0..tiles.len()).map(|t| (0..27).any(|n| wet(beside(t, n)))).collect()
}

/// Distances of the lower faces to solids, in cells: means of the nodes round them.
pub(super) fn face_distances(grid: &MacGrid, near: &[bool]) -> Vec<[f32; 3]> {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let far = REACH_CELLS as f32;
    let mut wall = tiles.field([far; 3]);
    let v = tiles.volume();
    wall.par_chunks_mut(v).enumerate().filter(|(t, _)| near[*t]).for_each_init(
        Halo::default,
        |halo, (t, out)| {
            tiles.load_halo_repeated(&grid.solid, t, halo);
            if grid.solid[t * v..(t + 1) * v].iter().all(|d| *d > 3.0 * h) && halo.0.iter().all(|d| *d > h) {
                return;
            }
            each_cell(tiles.depth(), |l, cell| {
                for (axis, out) in out[l].iter_mut().enumerate().take(tiles.axes()) {
                    let [b, c] = others(axis);
                    let node = |n: isize| {
                        let [x, y, z] = step(step(cell, b, n & 1), c, n >> 1);
                        halo.get(x, y, z)
                    };
                    *out = ((node(0) + node(1) + node(2) + node(3)) / (4.0 * h)) as f32;
                }
            });
        },
    );
    wall
}

/// Which faces of a grid are unknown and which are given.
pub(super) fn grid_states(
    grid: &MacGrid,
    solids: &Solids,
    shares: &Shares,
    wall: &[[f32; 3]],
    beside_liquid: &[bool],
    coupled: bool,
) -> Vec<[u8; 3]> {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let (v, sliding, thin) = (tiles.volume(), Sliding::of(solids), solids.any_thin());
    let mut state = tiles.field([ABSENT; 3]);
    let parts = state.par_chunks_mut(v).enumerate().filter(|(t, _)| beside_liquid[*t]);
    parts.for_each_init(Near::default, |near, (t, out)| {
        near.load(tiles, &shares.eighths, t);
        let wet = near.any(|e| e.iter().any(|s| *s > 0.0));
        each_cell(tiles.depth(), |l, cell| {
            let place = t * v + l;
            for axis in 0..tiles.axes() {
                let face = || {
                    let at = tiles.cell(place).map(|c| c as f64);
                    tiles.origin() + (Vec3::from(at) + face_offset(axis, tiles.is_flat())) * h
                };
                let separated = || {
                    let (x, mut there) = (tiles.centre(tiles.cell(place)), tiles.centre(tiles.cell(place)));
                    there[axis] -= h;
                    grid.open[axis][place] == 0.0 && solids.crosses(&there, &x)
                };
                out[l][axis] = if wall[place][axis] < 0.0 {
                    // A given face is looked at only beside liquid; elsewhere either kind will do.
                    if wet && sliding != Sliding::Nowhere {
                        let free = coupled && grid.open[axis][place] > 0.0;
                        let least = if coupled { STRAIGHT } else { 0.0 };
                        match held(solids, sliding, &face(), axis, h, least) {
                            HELD if free => ABSENT,
                            state => state,
                        }
                    } else {
                        STUCK
                    }
                } else if wet && thin && separated() {
                    STUCK
                } else {
                    ABSENT
                };
                if out[l][axis] == ABSENT && wet && of_face(near, cell, axis) > LEAST_SHARE {
                    out[l][axis] = UNKNOWN;
                }
            }
        });
    });
    state
}

/// What a face in a solid is: stuck, held along the normal of a wall that slides, or free. The component of
/// the normal along the axis must be the largest, and at least `least`.
fn held(solids: &Solids, sliding: Sliding, x: &Vec3, axis: usize, h: f64, least: f64) -> u8 {
    if !sliding.at(solids, x, h) {
        return STUCK;
    }
    let n = solids.outward(x, 0.25 * h);
    // The first of the largest components.
    let largest = (0..3).fold(0, |m, a| if n[a].abs() > n[m].abs() + 1e-9 { a } else { m });
    if largest == axis && n[axis].abs() >= least { HELD } else { ABSENT }
}
