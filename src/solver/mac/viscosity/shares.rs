//! How much of each eighth of a cell is liquid.
//!
//! The control volumes of viscosity are boxes of one cell round centres, faces and edges. Cut every cell
//! into eight: the box of a centre is its own eight eighths, that of a face four of either cell, that of
//! an edge two of each of four cells. All are sums of the same numbers, so the volumes of the different
//! places agree, and each drop of liquid is counted once for every kind of place.
//!
//! ```text
//!     +---+---+---+---+         one share for each quarter (eighth in 3D) of a cell
//!     |   |   |   |   |
//!     +---c---f---c---+         c: own four        f: two of the cell on either side
//!     |   |   |   |   |
//!     +---+---e---+---+         e: one of each of the four cells that meet
//! ```
//!
//! The share of an eighth is exact for a planar surface ([`fraction::cube`] on corner values that are
//! means of the centres round them). Walls that stick are not taken away: there the liquid is thought to
//! go on into the wall, whose velocity it meets at the right distance. Along walls on which liquid slides
//! the volume of the solid is taken away, so that no tangential force acts there.

use super::near::Near;
use crate::field::Solids;
use crate::geometry::fraction;
use crate::grid::{Halo, NONE, SIDE, Tiles};
use crate::math::Vec3;
use crate::solver::mac::grid::{MacGrid, REACH_CELLS, each_cell};
use rayon::prelude::*;

/// A surface further from a centre than half the diagonal cannot cut the cell.
const CUT: f64 = 0.87;

/// Shares of the cells of one level.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// Liquid in the eighths of each cell; bits 0, 1, 2 of the index are the upper halves along x, y, z.
    pub(super) eighths: Vec<[f32; 8]>,
    /// Liquid in each cell if no wall took any away.
    pub(super) whole: Vec<f32>,
}

/// Which walls liquid slides along.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sliding {
    Nowhere,
    Everywhere,
    /// It depends on the nearest wall.
    Here,
}

impl Sliding {
    pub(super) fn of(solids: &Solids) -> Self {
        let (mut slides, mut sticks) = (false, false);
        solids.walls().for_each(|w| if w.stick { sticks = true } else { slides = true });
        match (slides, sticks) {
            (false, _) => Sliding::Nowhere,
            (true, false) => Sliding::Everywhere,
            (true, true) => Sliding::Here,
        }
    }

    /// Whether liquid slides along the wall nearest to x.
    pub(super) fn at(self, solids: &Solids, x: &Vec3, h: f64) -> bool {
        match self {
            Sliding::Nowhere => false,
            Sliding::Everywhere => true,
            Sliding::Here => !solids.wall(x, REACH_CELLS * h).stick,
        }
    }
}

/// Shares of the cells of a grid.
pub(super) fn of_grid(grid: &MacGrid, solids: &Solids) -> Shares {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let (v, far, sliding) = (tiles.volume(), REACH_CELLS * grid.tiles.h(), Sliding::of(solids));
    let mut made = Shares { eighths: tiles.field([0.0; 8]), whole: tiles.field(0.0) };
    let parts = made.eighths.par_chunks_mut(v).zip(made.whole.par_chunks_mut(v)).enumerate();
    parts.for_each_init(<(Halo, Halo)>::default, |(liquid, solid), (t, (eighths, whole))| {
        let own = &grid.liquid[t * v..(t + 1) * v];
        if own.iter().all(|d| *d > CUT * h) {
            return;
        }
        tiles.load_halo(&grid.liquid, t, far, liquid);
        let walls =
            sliding != Sliding::Nowhere && grid.solid[t * v..(t + 1) * v].iter().any(|d| *d < 2.0 * h);
        if walls {
            tiles.load_halo_repeated(&grid.solid, t, solid);
        }
        each_cell(tiles.depth(), |l, cell| {
            let mut eight = match own[l] {
                phi if phi < -CUT * h => [1.0; 8],
                phi if phi > CUT * h => return,
                _ => cut(&half_points(liquid, cell, CENTRES), tiles.is_flat()),
            };
            whole[l] = eight.iter().sum::<f32>() / 8.0;
            if walls && grid.centre[t * v + l] < h {
                let x = tiles.centre(tiles.cell(t * v + l));
                if sliding.at(solids, &x, h) {
                    let buried = cut(&half_points(solid, cell, NODES), tiles.is_flat());
                    eight.iter_mut().zip(buried).for_each(|(e, b)| *e *= 1.0 - b);
                }
            }
            eighths[l] = eight;
        });
    });
    made
}

/// For the points before, at and after the middle of a cell, the two values whose mean is there.
type Means = [[isize; 2]; 3];
/// Values at centres.
const CENTRES: Means = [[-1, 0], [0, 0], [0, 1]];
/// Values at nodes.
const NODES: Means = [[0, 0], [0, 1], [1, 1]];

/// Values at the corners of the eighths of a cell, 3×3×3 points.
fn half_points(halo: &Halo, [i, j, k]: [isize; 3], means: Means) -> [f64; 27] {
    std::array::from_fn(|n| {
        let (x, y, z) = (means[n % 3], means[n / 3 % 3], means[n / 9]);
        let row = |y: isize, z: isize| halo.get(i + x[0], j + y, k + z) + halo.get(i + x[1], j + y, k + z);
        let plane = |z: isize| row(y[0], z) + row(y[1], z);
        (plane(z[0]) + plane(z[1])) / 8.0
    })
}

/// Shares of the eighths where the values at their corners are negative.
fn cut(points: &[f64; 27], flat: bool) -> [f32; 8] {
    std::array::from_fn(|e| {
        let at = |c: usize| {
            let along = |a: usize| (e >> a & 1) + (c >> a & 1);
            points[(along(2) * 3 + along(1)) * 3 + along(0)]
        };
        // A grid one cell thick is the same all through; its two layers of points are equal.
        let share = if flat {
            let low = e & 3;
            let at = |c: usize| points[9 + ((low >> 1) + (c >> 1)) * 3 + (low & 1) + (c & 1)];
            fraction::rectangle([at(0), at(1), at(2), at(3)])
        } else {
            fraction::cube(std::array::from_fn(at))
        };
        share as f32
    })
}

/// Liquid in the box round the lower face of a cell along an axis.
#[inline]
pub(super) fn of_face(near: &Near<[f32; 8]>, [i, j, k]: [isize; 3], axis: usize) -> f32 {
    let below = near.get(step([i, j, k], axis, -1));
    let own = near.get([i, j, k]);
    let mut sum = 0.0;
    for e in 0..8 {
        sum += if e >> axis & 1 == 0 { own[e] } else { below[e] };
    }
    sum / 8.0
}

/// The cell `by` steps along an axis.
#[inline(always)]
pub(super) fn step(mut cell: [isize; 3], axis: usize, by: isize) -> [isize; 3] {
    cell[axis] += by;
    cell
}

/// The tiles of a finer level that a tile covers.
pub(super) struct Finer {
    tiles: [u32; 8],
    volume: usize,
    flat: bool,
}

impl Finer {
    /// What the coarse tile with these coordinates covers.
    pub(super) fn new(fine: &Tiles, [x, y, z]: [i32; 3]) -> Self {
        let flat = fine.is_flat();
        let of = |n: usize| {
            let up = |a: usize| (n >> a & 1) as i32;
            let z = if flat { z } else { 2 * z + up(2) };
            fine.find(&[2 * x + up(0), 2 * y + up(1), z])
        };
        Self { tiles: std::array::from_fn(of), volume: fine.volume(), flat }
    }

    /// The place of eighth `e` of a coarse cell, if its tile exists; bits 0, 1, 2 are the upper halves along x, y, z.
    #[inline]
    pub(super) fn place(&self, cell: [isize; 3], e: usize) -> Option<usize> {
        let at = |a: usize| if self.flat && a == 2 { 0 } else { 2 * cell[a] as usize + (e >> a & 1) };
        let tile = self.tiles[at(0) / SIDE + 2 * (at(1) / SIDE) + 4 * (at(2) / SIDE)];
        let local = (at(2) % SIDE * SIDE + at(1) % SIDE) * SIDE + at(0) % SIDE;
        (tile != NONE).then(|| tile as usize * self.volume + local)
    }
}

/// The tiles and shares of the next coarser level, whose eighths are the cells of this one, and the mean
/// of a quantity over the liquid in each coarse cell.
pub(super) fn coarsen(tiles: &Tiles, shares: &Shares, of: &[f32]) -> (Tiles, Shares, Vec<f32>) {
    let (v, flat) = (tiles.volume(), tiles.is_flat());
    let wet = |t: &usize| shares.eighths[t * v..(t + 1) * v].iter().any(|e| e.iter().any(|s| *s > 0.0));
    let wet: Vec<usize> = (0..tiles.len()).into_par_iter().filter(wet).collect();
    let mut coords = Vec::with_capacity(2 * wet.len());
    for t in wet {
        let [x, y, z] = tiles.coords()[t];
        // Faces and edges on the upper side belong to the next tile.
        let layers = if flat { [z, z] } else { [z >> 1, (z + 1) >> 1] };
        for z in layers {
            for y in [y >> 1, (y + 1) >> 1] {
                coords.extend([x >> 1, (x + 1) >> 1].map(|x| [x, y, z]));
            }
        }
    }
    let coarse = Tiles::new(2.0 * tiles.h(), tiles.origin(), flat, coords);
    let mut made = Shares { eighths: coarse.field([0.0; 8]), whole: coarse.field(0.0) };
    let mut mean = coarse.field(0.0f32);
    let parts = made.eighths.par_chunks_mut(v).zip(made.whole.par_chunks_mut(v)).zip(mean.par_chunks_mut(v));
    parts.enumerate().for_each(|(t, ((eighths, whole), mean))| {
        let below = Finer::new(tiles, coarse.coords()[t]);
        each_cell(tiles.depth(), |l, at| {
            for e in 0..if flat { 4 } else { 8 } {
                let Some(p) = below.place(at, e) else { continue };
                let share = shares.eighths[p].iter().sum::<f32>() / 8.0;
                eighths[l][e] = share;
                if flat {
                    eighths[l][e + 4] = share;
                }
                whole[l] += share / if flat { 4.0 } else { 8.0 };
                mean[l] += share * of[p] / if flat { 4.0 } else { 8.0 };
            }
            mean[l] = if whole[l] > 0.0 { mean[l] / whole[l] } else { 0.0 };
        });
    });
    (coarse, made, mean)
}
