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
//!
//! Distances at nodes know nothing of a gap between two solids that is narrower than a cell: no node lies in it. Bodies
//! never overlap other solids, so that what they close is measured apart and added to what the others close.
//! A gap of half a cell between a body and a wall is then open by half a face.
//!
//! Cells with their centre in a solid keep what is open of them: the open areas of all cells along a plane wall
//! then balance for any flow along it, at any angle, and for any flow that the wall carries with it. Without these cells the wall
//! would be a staircase, which brakes. Checked by tests/water.rs (`a_vortex_turns_on_in_a_box_at_any_angle`,
//! `a_box_at_any_angle_carries_its_water_along`). Only in the plate that stands for a sheet without thickness they are closed:
//! the plate is little thicker than a cell, and the cells that it cuts from one side would meet those from the other.
//! Sheets without a plate take no room at all; see [`super::sheets`].

use super::sheets;
use crate::field::{Sight, Solids};
use crate::geometry::fraction;
use crate::grid::{Halo, SIDE, TileSheets, Tiles};
use crate::math::{Aabb, Vec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Distances to solids are exact up to this many cells and cut off beyond.
pub const REACH_CELLS: f64 = 4.0;

/// A face that is open by less than this is closed. A cell that could only be entered through slivers
/// would need enormous speeds in them to keep its balance.
pub(super) const LEAST_OPEN: f32 = 0.02;

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
    /// Distance to solids at cell centres: the mean of the nodes.
    pub centre: Vec<f64>,
    /// The sheets without plates as they stood when the grid was measured.
    pub sheets: Solids,
    /// For each tile, whether no moving solid is near.
    settled: Vec<bool>,
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
    /// A grid over the given tiles, all air at rest. What solids leave open, and pressures, are taken
    /// over from an older grid where the tile existed and no moving solid is near.
    pub fn new(tiles: Tiles, solids: &Solids, older: Option<&MacGrid>) -> Self {
        // Zeros cost nothing until they are written, which is done tile by tile.
        let mut grid = Self {
            liquid: tiles.field(0.0),
            solid: tiles.field(0.0),
            centre: tiles.field(0.0),
            sheets: solids.sheets(),
            settled: vec![true; tiles.len()],
            open: std::array::from_fn(|_| tiles.field(0.0)),
            room: tiles.field(0.0),
            velocity: std::array::from_fn(|_| tiles.field(0.0)),
            pressure: tiles.field(0.0),
            tiles,
        };
        grid.measure(solids, older);
        grid
    }

    /// What points see past the sheets.
    pub fn sight(&self) -> Sight<'_> {
        Sight { tiles: &self.tiles, sheets: &self.sheets }
    }

    /// Measure the solids on every tile that the older grid does not know.
    fn measure(&mut self, solids: &Solids, older: Option<&MacGrid>) {
        let (tiles, v) = (&self.tiles, self.tiles.volume());
        // An empty simulation steps in microseconds; room for measurements alone would take one of them.
        if tiles.is_empty() {
            return;
        }
        let (reach, side) = (REACH_CELLS * tiles.h(), SIDE as f64 * tiles.h());
        let moving: Vec<Aabb> = solids.animated_bounds().map(|b| b.grow(reach)).collect();
        let [ox, oy, oz] = &mut self.open;
        let faces = ox.par_chunks_mut(v).zip(oy.par_chunks_mut(v)).zip(oz.par_chunks_mut(v));
        let cells = self.room.par_chunks_mut(v).zip(self.centre.par_chunks_mut(v));
        let cells = cells.zip(self.liquid.par_chunks_mut(v));
        let nodes = self.solid.par_chunks_mut(v).zip(self.pressure.par_chunks_mut(v));
        let settled = self.settled.par_iter_mut();
        let mut seen: Vec<Option<Arc<TileSheets>>> = vec![None; tiles.len()];
        let parts = faces.zip(cells).zip(nodes).zip(settled).zip(seen.par_iter_mut());
        parts.enumerate().for_each_init(Nodes::default, |measured, (t, (parts, seen))| {
            let (((((x, y), z), ((room, centre), liquid)), (solid, pressure)), settled) = parts;
            liquid.fill(reach);
            let low = tiles.corner(tiles.base(t));
            let here = Aabb::new(low, low.add_scalar(side));
            *settled = !moving.iter().any(|b| b.overlaps(&here));
            let mut own = TileParts { open: [x, y, z], room, centre, solid };
            let old = older.and_then(|o| o.tiles.find_tile(tiles.coords()[t]).map(|n| (o, n)));
            if let Some((o, n)) = old {
                pressure.copy_from_slice(&o.pressure[n * v..(n + 1) * v]);
                if *settled && o.settled[n] {
                    *seen = o.tiles.sheets(n).cloned();
                    return own.copy(o, n);
                }
            }
            own.clear(tiles.axes(), reach);
            if measured.measure(tiles, t, solids) {
                own.fill(tiles, measured);
            }
            *seen = sheets::measure(tiles, t, &self.sheets, solids, &mut own.open).map(Arc::new);
        });
        self.tiles.set_sheets(seen);
    }

    /// Volume of the liquid, m³, and the area of its free surface, m².
    pub fn liquid_volume(&self) -> [f64; 2] {
        let (tiles, h) = (&self.tiles, self.tiles.h());
        let one = |halo: &mut Halo, t: usize| {
            let (base, v) = (t * tiles.volume(), tiles.volume());
            let own = &self.liquid[base..base + v];
            let reach = CUT * h;
            let (mut full, mut grown) = (0.0, 0.0);
            let sheets = tiles.sheets(t);
            if sheets.is_none() && own.iter().all(|d| d.abs() > reach) {
                full = own.iter().zip(&self.room[base..]).filter(|(d, _)| **d < 0.0).map(|(_, r)| r).sum();
                return [full, 0.0];
            }
            tiles.load_halo(&self.liquid, t, REACH_CELLS * h, halo);
            each_cell(tiles.depth(), |l, [i, j, k]| {
                let (phi, room) = (own[l], self.room[base + l]);
                let mut add = |room: f64, corners: [f64; 8]| {
                    full += room * fraction::cube(corners);
                    grown += room * fraction::cube(corners.map(|d| d - SWELL * h));
                    grown -= room * fraction::cube(corners.map(|d| d + SWELL * h));
                };
                if let Some(sheets) = sheets.filter(|s| !s.is_clear(l)) {
                    let sides = sheets::at_corners_by_side(halo, [i, j, k], tiles, sheets, l);
                    sides.into_iter().for_each(|(share, corners)| add(room * share, corners));
                } else if phi < -reach {
                    full += room;
                } else if phi < reach && room > 0.0 {
                    add(room, at_corners(halo, i, j, k, tiles));
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
                    _ if tiles.sheets(t).is_some_and(|s| !s.is_clear(l)) => {
                        let sides =
                            tiles.sheets(t).map(|s| sheets::at_corners_by_side(halo, [i, j, k], tiles, s, l));
                        sides
                            .into_iter()
                            .flatten()
                            .map(|(share, corners)| share * fraction::cube(corners))
                            .sum()
                    }
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
        self.tiles.bytes() + self.tiles.cells() * (6 * 8 + 3 * 12)
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

/// Distances to solids at the nodes of a tile, one more all round: from −1 to 8 along each axis.
#[derive(Default)]
struct Nodes {
    all: Halo,
    /// To everything but bodies, and to bodies; only if there are bodies near.
    others: Halo,
    bodies: Halo,
    any_bodies: bool,
    /// To the plates of sheets; only if there are any near.
    plates: Halo,
    any_plates: bool,
}

impl Nodes {
    /// Measure the solids round tile t; false if all are too far away to matter.
    fn measure(&mut self, tiles: &Tiles, t: usize, solids: &Solids) -> bool {
        let (h, base) = (tiles.h(), tiles.base(t));
        let far = REACH_CELLS * h;
        let depth = tiles.depth() as isize;
        let middle = tiles.corner(base) + Vec3::new(4.0, 4.0, 0.5 * depth as f64) * h;
        // Half the diagonal of the nodes of a tile is 7.8 cells.
        if solids.distance(&middle, far + 8.0 * h) >= far + 8.0 * h {
            return false;
        }
        let here = Aabb::new(middle, middle).grow(8.0 * h);
        self.any_bodies = solids.body_bounds().any(|b| b.overlaps(&here));
        self.any_plates = solids.plate_distance(&middle, far + 8.0 * h) < far + 8.0 * h;
        // A grid one cell thick sees the solids in its middle plane.
        let lift = if tiles.is_flat() { Vec3::z() * (0.5 * h) } else { Vec3::zeros() };
        let layers = if tiles.is_flat() { 0..1 } else { -1..depth + 1 };
        for z in layers {
            for y in -1..=SIDE as isize {
                for x in -1..=SIDE as isize {
                    let node = [base[0] + x as i32, base[1] + y as i32, base[2] + z as i32];
                    let (at, place) = (tiles.corner(node) + lift, Halo::at(x, y, z));
                    // A node on the surface of a solid belongs to it, whatever the rounding.
                    let within = 1e-9 * h;
                    if self.any_plates {
                        self.plates.0[place] = solids.plate_distance(&at, far) - within;
                    }
                    if self.any_bodies {
                        let [others, bodies] = solids.distances_apart(&at, far).map(|d| d - within);
                        (self.others.0[place], self.bodies.0[place]) = (others, bodies);
                        self.all.0[place] = others.min(bodies);
                    } else {
                        self.all.0[place] = solids.distance(&at, far) - within;
                    }
                }
            }
        }
        if tiles.is_flat() {
            for halo in [&mut self.all, &mut self.others, &mut self.bodies, &mut self.plates] {
                halo.0.copy_within(100..200, 0);
                halo.0.copy_within(100..200, 200);
            }
        }
        true
    }

    /// What solids close, of whatever is measured from the distances of a halo.
    fn closed(&self, share: impl Fn(&Halo) -> f64) -> f64 {
        if self.any_bodies { (share(&self.others) + share(&self.bodies)).min(1.0) } else { share(&self.all) }
    }

    /// Whether the centre of a cell lies in the plate of a sheet.
    fn in_plate(&self, i: isize, j: isize, k: isize) -> bool {
        self.any_plates && corners(&self.plates, i, j, k).iter().sum::<f64>() < 0.0
    }

    fn centre(&self, i: isize, j: isize, k: isize) -> f64 {
        corners(&self.all, i, j, k).iter().sum::<f64>() / 8.0
    }
}

/// What a tile knows of the solids.
struct TileParts<'a> {
    open: [&'a mut [f32]; 3],
    room: &'a mut [f64],
    centre: &'a mut [f64],
    solid: &'a mut [f64],
}

impl TileParts<'_> {
    fn copy(&mut self, older: &MacGrid, n: usize) {
        let range = n * self.room.len()..(n + 1) * self.room.len();
        for (own, old) in self.open.iter_mut().zip(&older.open) {
            own.copy_from_slice(&old[range.clone()]);
        }
        self.room.copy_from_slice(&older.room[range.clone()]);
        self.centre.copy_from_slice(&older.centre[range.clone()]);
        self.solid.copy_from_slice(&older.solid[range]);
    }

    /// No solids anywhere near.
    fn clear(&mut self, axes: usize, far: f64) {
        self.open.iter_mut().take(axes).for_each(|open| open.fill(1.0));
        self.room.fill(1.0);
        self.centre.fill(far);
        self.solid.fill(far);
    }

    fn fill(&mut self, tiles: &Tiles, nodes: &Nodes) {
        let halo = &nodes.all;
        let dry = halo.0[..100 * (tiles.depth() + 2)].iter().all(|&d| d > 0.0);
        each_cell(tiles.depth(), |l, [i, j, k]| {
            self.solid[l] = halo.get(i, j, k);
            self.centre[l] = nodes.centre(i, j, k);
            if dry {
                return;
            }
            self.room[l] = 1.0 - nodes.closed(|halo| fraction::cube(corners(halo, i, j, k)));
            for axis in 0..tiles.axes() {
                let d = |a: usize| (a == axis) as isize;
                let closed = nodes.closed(|halo| {
                    let n = |dx, dy, dz| halo.get(i + dx, j + dy, k + dz);
                    fraction::rectangle(match axis {
                        0 => [n(0, 0, 0), n(0, 1, 0), n(0, 0, 1), n(0, 1, 1)],
                        1 => [n(0, 0, 0), n(1, 0, 0), n(0, 0, 1), n(1, 0, 1)],
                        _ => [n(0, 0, 0), n(1, 0, 0), n(0, 1, 0), n(1, 1, 0)],
                    })
                });
                let share = (1.0 - closed) as f32;
                let buried =
                    share < 1.0 && (nodes.in_plate(i, j, k) || nodes.in_plate(i - d(0), j - d(1), k - d(2)));
                self.open[axis][l] = if share < LEAST_OPEN || buried { 0.0 } else { share };
            }
        });
    }
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
