//! Fields of one liquid on the tiled grid, and the shares of faces and cells that solids leave open.
//!
//! ```text
//!      n---v---n        φ  liquid distance at cell centres, negative in liquid
//!      |       |        n  solid distance at nodes, negative in solid
//!      u   φ,p u        u  velocity on faces, and the share of the face that is open
//!      |       |        p  pressure at cell centres
//!      n---v---n
//! ```
//!
//! The open share of a face is exact for a planar solid; liquid and solid ignore each other: the
//! liquid's distance goes on through the wall, and the open share does not know of the surface.
//! The volume of liquid in a cell is the product of both shares times h³.

use crate::field::Solids;
use crate::geometry::fraction;
use crate::grid::{Halo, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// Distances to solids are exact up to this many cells and cut off beyond.
pub const REACH_CELLS: f64 = 4.0;

/// A face that is open by less than this is closed. A cell that could only be entered through slivers
/// would need enormous speeds in them to keep its balance.
const LEAST_OPEN: f32 = 0.02;

/// A cell whose centre is further inside a solid than this share of a cell carries no pressure.
const BURIED_CELLS: f64 = 0.0;

/// A surface further from a centre than half the diagonal cannot cut the cell.
const CUT: f64 = 0.87;

/// By how many cells the surface is moved to and fro to measure its area.
const SWELL: f64 = 0.05;

/// One liquid on the grid.
#[derive(Clone, Debug, Default)]
pub struct MacGrid {
    pub tiles: Tiles,
    /// Distance to the free surface at cell centres, negative in liquid.
    pub liquid: Vec<f64>,
    /// Distance to solids at nodes.
    pub solid: Vec<f64>,
    /// Distance to the solids that do not move; kept so that it is computed once a tile.
    resting: Vec<f64>,
    /// Share of each lower face that is open to liquid.
    pub open: [Vec<f32>; 3],
    /// Share of each cell that is outside solids.
    pub room: Vec<f64>,
    /// Velocity on lower faces, m/s.
    pub velocity: [Vec<f64>; 3],
    /// Pressure at cell centres, Pa; also the first guess of the next solve.
    pub pressure: Vec<f64>,
}

impl MacGrid {
    /// A grid over the given tiles, all air at rest. Distances to resting solids and pressures are
    /// taken over from an older grid where the tile existed.
    pub fn new(tiles: Tiles, solids: &Solids, older: Option<&MacGrid>) -> Self {
        let far = REACH_CELLS * tiles.h();
        let mut grid = Self {
            liquid: tiles.field(far),
            solid: Vec::new(),
            resting: tiles.field(far),
            open: std::array::from_fn(|_| tiles.field(1.0)),
            room: tiles.field(1.0),
            velocity: std::array::from_fn(|_| tiles.field(0.0)),
            pressure: tiles.field(0.0),
            tiles,
        };
        if let Some(older) = older {
            grid.inherit(&older.tiles, &older.pressure, |g| &mut g.pressure);
        }
        grid.measure_resting(solids, older);
        grid.measure_moving(solids);
        grid.measure_openings();
        grid.close_buried_cells();
        grid
    }

    /// Copy a field of an older grid where its tiles still exist.
    fn inherit(&mut self, from: &Tiles, old: &[f64], field: impl Fn(&mut Self) -> &mut Vec<f64>) {
        let mut values = std::mem::take(field(self));
        let v = self.tiles.volume();
        self.tiles.for_each(&mut values, |t, part| {
            if let Some(n) = from.locate(self.tiles.base(t)) {
                part.copy_from_slice(&old[n..n + v]);
            }
        });
        *field(self) = values;
    }

    fn measure_resting(&mut self, solids: &Solids, older: Option<&MacGrid>) {
        let (tiles, far) = (&self.tiles, REACH_CELLS * self.tiles.h());
        let v = tiles.volume();
        tiles.for_each(&mut self.resting, |t, part| {
            let old = older.and_then(|o| o.tiles.locate(tiles.base(t)).map(|n| &o.resting[n..n + v]));
            match old {
                Some(old) => part.copy_from_slice(old),
                None => measure_tile(tiles, t, part, |x| solids.resting_distance(x, far)),
            }
        });
    }

    fn measure_moving(&mut self, solids: &Solids) {
        self.solid = self.resting.clone();
        if !solids.any_animated() {
            return;
        }
        let (tiles, far) = (&self.tiles, REACH_CELLS * self.tiles.h());
        let boxes: Vec<_> = solids.animated_bounds().map(|b| b.grow(far)).collect();
        let size = Vec3::new(SIDE as f64, SIDE as f64, tiles.depth() as f64) * tiles.h();
        tiles.for_each(&mut self.solid, |t, part| {
            let low = tiles.corner(tiles.base(t));
            let here = crate::math::Aabb::new(low, low + size);
            if boxes.iter().any(|b| b.overlaps(&here)) {
                let resting = part.to_vec();
                measure_tile(tiles, t, part, |x| solids.moving_distance(x, far));
                part.iter_mut().zip(resting).for_each(|(d, r)| *d = d.min(r));
            }
        });
    }

    fn measure_openings(&mut self) {
        let (tiles, solid) = (&self.tiles, &self.solid);
        let ([ox, oy, oz], room) = (&mut self.open, &mut self.room);
        let v = tiles.volume();
        let faces = ox.par_chunks_mut(v).zip(oy.par_chunks_mut(v)).zip(oz.par_chunks_mut(v));
        let parts = faces.zip(room.par_chunks_mut(v));
        parts.enumerate().for_each_init(Halo::default, |halo, (t, (((x, y), z), room))| {
            tiles.load_halo_repeated(solid, t, halo);
            if halo.0[..100 * (tiles.depth() + 2)].iter().all(|&d| d > 0.0) {
                return;
            }
            each_cell(tiles.depth(), |l, [i, j, k]| {
                let n = |dx, dy, dz| halo.get(i + dx, j + dy, k + dz);
                let open = |phi| match (1.0 - fraction::rectangle(phi)) as f32 {
                    share if share < LEAST_OPEN => 0.0,
                    share => share,
                };
                room[l] = 1.0 - fraction::cube(corners(halo, i, j, k));
                x[l] = open([n(0, 0, 0), n(0, 1, 0), n(0, 0, 1), n(0, 1, 1)]);
                y[l] = open([n(0, 0, 0), n(1, 0, 0), n(0, 0, 1), n(1, 0, 1)]);
                z[l] = if tiles.is_flat() {
                    0.0
                } else {
                    open([n(0, 0, 0), n(1, 0, 0), n(0, 1, 0), n(1, 1, 0)])
                };
            });
        });
    }

    /// Close the faces of cells whose centre is well inside a solid.
    ///
    /// What little of such a cell is open has no room for a pressure of its own: when the wall moves,
    /// the cell would have to be filled or emptied at great speed through the slivers left open.
    fn close_buried_cells(&mut self) {
        let centres = self.solid_at_centres();
        let tiles = &self.tiles;
        let limit = -BURIED_CELLS * tiles.h();
        let buried = |p: Option<usize>| p.is_some_and(|p| centres[p] < limit);
        for (axis, open) in self.open.iter_mut().enumerate().take(tiles.axes()) {
            tiles.for_each(open, |t, part| {
                let d = |a: usize| (a == axis) as i32;
                each_cell(tiles.depth(), |l, [i, j, k]| {
                    let low = tiles.near(t, i as i32 - d(0), j as i32 - d(1), k as i32 - d(2));
                    if part[l] < 1.0 && (buried(Some(t * tiles.volume() + l)) || buried(low)) {
                        part[l] = 0.0;
                    }
                });
            });
        }
    }

    /// Close the faces whose neighbouring cell centres are separated by a solid without thickness.
    pub fn close_thin(&mut self, solids: &Solids) {
        if !solids.any_thin() {
            return;
        }
        let tiles = &self.tiles;
        for (axis, open) in self.open.iter_mut().enumerate().take(tiles.axes()) {
            tiles.for_each(open, |t, part| {
                let base = tiles.base(t);
                each_cell(tiles.depth(), |l, local| {
                    let cell = std::array::from_fn(|a| base[a] + local[a] as i32);
                    let here = tiles.centre(cell);
                    let mut there = here;
                    there[axis] -= tiles.h();
                    if part[l] > 0.0 && solids.crosses(&there, &here) {
                        part[l] = 0.0;
                    }
                });
            });
        }
    }

    /// Signed distance to solids at the centre of every cell: the mean of its nodes.
    pub fn solid_at_centres(&self) -> Vec<f64> {
        let tiles = &self.tiles;
        let far = REACH_CELLS * tiles.h();
        let mut centres = tiles.field(far);
        centres.par_chunks_mut(tiles.volume()).enumerate().for_each_init(Halo::default, |halo, (t, part)| {
            tiles.load_halo_repeated(&self.solid, t, halo);
            each_cell(tiles.depth(), |l, [i, j, k]| {
                part[l] = corners(halo, i, j, k).iter().sum::<f64>() / 8.0;
            });
        });
        centres
    }

    /// Volume of the liquid, m³, and the area of its free surface, m².
    pub fn liquid_volume(&self) -> [f64; 2] {
        let (tiles, h) = (&self.tiles, self.tiles.h());
        let one = |halo: &mut Halo, t: usize| {
            let (base, v) = (t * tiles.volume(), tiles.volume());
            let own = &self.liquid[base..base + v];
            let reach = CUT * h;
            let (mut full, mut grown) = (0.0, 0.0);
            if own.iter().all(|d| d.abs() > reach) {
                full = own.iter().zip(&self.room[base..]).filter(|(d, _)| **d < 0.0).map(|(_, r)| r).sum();
                return [full, 0.0];
            }
            tiles.load_halo(&self.liquid, t, REACH_CELLS * h, halo);
            each_cell(tiles.depth(), |l, [i, j, k]| {
                let (phi, room) = (own[l], self.room[base + l]);
                if phi < -reach {
                    full += room;
                } else if phi < reach && room > 0.0 {
                    let corners = at_corners(halo, i, j, k, tiles);
                    full += room * fraction::cube(corners);
                    grown += room * fraction::cube(corners.map(|d| d - SWELL * h));
                    grown -= room * fraction::cube(corners.map(|d| d + SWELL * h));
                }
            });
            [full, grown]
        };
        let shares: Vec<[f64; 2]> = (0..tiles.len()).into_par_iter().map_init(Halo::default, one).collect();
        let sum = |n: usize| shares.iter().map(|s| s[n]).sum::<f64>();
        [sum(0) * h.powi(3), sum(1) * h * h / (2.0 * SWELL)]
    }

    /// Share of each cell that is liquid and not solid.
    pub fn liquid_shares(&self) -> Vec<f64> {
        let (tiles, far) = (&self.tiles, REACH_CELLS * self.tiles.h());
        let mut shares = tiles.field(0.0);
        shares.par_chunks_mut(tiles.volume()).enumerate().for_each_init(Halo::default, |halo, (t, part)| {
            tiles.load_halo(&self.liquid, t, far, halo);
            each_cell(tiles.depth(), |l, [i, j, k]| {
                let place = t * tiles.volume() + l;
                let share = match self.liquid[place] {
                    phi if phi < -CUT * tiles.h() => 1.0,
                    phi if phi > CUT * tiles.h() => 0.0,
                    _ => fraction::cube(at_corners(halo, i, j, k, tiles)),
                };
                part[l] = self.room[place] * share;
            });
        });
        shares
    }

    /// The greatest speed on the faces that are marked as known, m/s.
    pub fn max_speed(&self, known: &[Vec<u8>; 3]) -> f64 {
        let fastest = |a: usize| {
            let (u, known) = (&self.velocity[a], &known[a]);
            let of = |r: std::ops::Range<usize>| {
                r.filter(|f| known[*f] != 0).fold(0.0f64, |m, f| m.max(u[f].abs()))
            };
            // Without liquid there are no tiles, and the greatest of nothing is minus infinity.
            crate::math::ordered_max(u.len(), of).max(0.0)
        };
        (0..self.tiles.axes()).map(fastest).fold(0.0f64, |s, m| s.hypot(m))
    }

    /// Bytes held by the fields.
    pub fn bytes(&self) -> usize {
        self.tiles.bytes() + self.tiles.cells() * (5 * 8 + 3 * 12)
    }
}

/// Run `f(place in the tile, local cell)` over the cells of a tile.
#[inline]
pub(super) fn each_cell(depth: usize, mut f: impl FnMut(usize, [isize; 3])) {
    let mut l = 0;
    for k in 0..depth as isize {
        for j in 0..SIDE as isize {
            for i in 0..SIDE as isize {
                f(l, [i, j, k]);
                l += 1;
            }
        }
    }
}

fn measure_tile(tiles: &Tiles, t: usize, part: &mut [f64], distance: impl Fn(&Vec3) -> f64) {
    let base = tiles.base(t);
    // A grid one cell thick sees the solids in its middle plane.
    let lift = if tiles.is_flat() { Vec3::z() * (0.5 * tiles.h()) } else { Vec3::zeros() };
    each_cell(tiles.depth(), |l, local| {
        let node = std::array::from_fn(|a| base[a] + local[a] as i32);
        // A node on the surface of a solid belongs to it, whatever the rounding.
        part[l] = distance(&(tiles.corner(node) + lift)) - 1e-9 * tiles.h();
    });
}

#[inline]
fn corners(halo: &Halo, i: isize, j: isize, k: isize) -> [f64; 8] {
    std::array::from_fn(|c| {
        let c = c as isize;
        halo.get(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2))
    })
}

/// Liquid distance at the corners of a cell: means of the eight centres round each.
fn at_corners(liquid: &Halo, i: isize, j: isize, k: isize, tiles: &Tiles) -> [f64; 8] {
    std::array::from_fn(|c| {
        let c = c as isize;
        let (x, y) = (i + (c & 1), j + (c >> 1 & 1));
        let z = if tiles.is_flat() { k } else { k + (c >> 2) };
        let below = if tiles.is_flat() { 0 } else { -1 };
        let mut sum = 0.0;
        for dz in [below, 0] {
            for dy in [-1, 0] {
                for dx in [-1, 0] {
                    sum += liquid.get(x + dx, y + dy, z + dz);
                }
            }
        }
        sum / 8.0
    })
}
