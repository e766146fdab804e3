//! Sheets without thickness on the grid: what they close, what cells see past them, and velocity at them.
//!
//! ```text
//!      a   |   b          a, b   centres on two sides: the face between them is closed and moves with the sheet
//!      +--/+---+          c      centre on the side of a: the face between a and c is open by the share
//!      | / c   |                 of it that lies on their side
//!      +/--+---+
//! ```
//!
//! Each cell belongs to the side of its centre ([`TileSheets`]). A face between two cells that do not see each other is closed;
//! since every way of faces from one side to the other has one such, nothing passes, at any angle and for any triangles. A face
//! between cells of one side that the sheet cuts is open by the share on their side: at its corners the distance
//! to the sheet counts as positive where one of the two centres sees the corner and as negative where none does, and
//! the rest is the same as at a wall. Pressure at rest is exact for any open shares, so that still water at two levels
//! stays still at an oblique sheet.
//!
//! Closed faces have two velocities, one for each side. That of the upper cell stands on the face, that of the lower one in
//! a second field `below`. Both follow from the open faces beside them on their own side, less what would enter the sheet:
//! liquid slides along it.
//!
//! What is lost is the flow along an oblique sheet in the slivers of cells whose centre is on the other side: each cell has one pressure, so
//! a sheet is a finer staircase than its cells, but not as smooth as a wall ([`super::grid`]). Behind hollow sheets plates stay: a cup
//! is smooth inside that way, and what its hollow holds is exact; liquid outside it is rarely looked at from so near.
//!
//! A sheet through the very centre of cells would belong to neither side; centres are looked at from a millionth of a cell
//! beside. Checked by tests/sheets.rs.

use super::grid::{LEAST_OPEN, MacGrid};
use super::walls::slide;
use crate::field::Solids;
use crate::geometry::fraction;
use crate::grid::{Halo, SEES_ALL, TileSheets, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// A sheet further from a centre than this many cells is not between it and one of the cells round it.
const BETWEEN: f64 = 1.74;
/// One further than this does not cut the faces of its cell.
const CUTS: f64 = 1.3;

/// What the cells of tile t see past sheets, if any is near; its lower faces are closed by what the sheets close.
pub(super) fn measure(
    tiles: &Tiles,
    t: usize,
    sheets: &Solids,
    solids: &Solids,
    open: &mut [&mut [f32]; 3],
) -> Option<TileSheets> {
    if !sheets.any_sheets() {
        return None;
    }
    let (h, base) = (tiles.h(), tiles.base(t));
    let middle = tiles.corner(base) + Vec3::new(4.0, 4.0, 0.5 * tiles.depth() as f64) * h;
    // Half the diagonal of a tile is 6.93 cells.
    sheets.closest_sheet(&middle, (7.0 + BETWEEN) * h)?;
    let view = View { tiles, sheets, solids };
    let mut found = TileSheets { sees: vec![SEES_ALL; tiles.volume()], own: vec![1.0; tiles.volume()] };
    for l in 0..tiles.volume() {
        let local = TileSheets::local(l);
        let cell = std::array::from_fn(|a| base[a] + local[a]);
        let x = view.eye(cell);
        let Some(nearest) = sheets.closest_sheet(&x, BETWEEN * h) else { continue };
        found.sees[l] = view.seen(cell);
        if (nearest - x).norm() < CUTS * h {
            found.own[l] = view.own_share(cell) as f32;
            for (axis, open) in open.iter_mut().enumerate().take(tiles.axes()) {
                let share =
                    open[l] * if found.is_crossed(l, axis) { 0.0 } else { view.open_share(cell, axis) };
                open[l] = if share < LEAST_OPEN { 0.0 } else { share };
            }
        } else {
            let crossed = |axis: &usize| found.is_crossed(l, *axis);
            (0..tiles.axes()).filter(crossed).for_each(|axis| open[axis][l] = 0.0);
        }
    }
    (found.sees.iter().any(|s| *s != SEES_ALL)).then_some(found)
}

/// The sheets as cells see them.
struct View<'a> {
    tiles: &'a Tiles,
    sheets: &'a Solids,
    solids: &'a Solids,
}

impl View<'_> {
    /// Where a cell looks from: one inside a wall from the face of the wall. A gate that ends in the wall of its lock divides
    /// what is in front of the wall, and so what is continued into it: round the rim inside the wall nothing is seen.
    fn eye(&self, cell: [i32; 3]) -> Vec3 {
        let (x, h) = (self.tiles.eye(cell), self.tiles.h());
        let d = self.solids.distance(&x, h);
        if d >= 0.0 { x } else { x - self.solids.outward(&x, 0.25 * h) * d }
    }

    /// The cells round a cell that it sees; the same for a pair from both ends.
    fn seen(&self, cell: [i32; 3]) -> u32 {
        let here = self.eye(cell);
        let is_seen = |n: &i32| {
            let offset = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
            if *n == 13 || (self.tiles.is_flat() && offset[2] != 0) {
                return true;
            }
            let there = self.eye(std::array::from_fn(|a| cell[a] + offset[a]));
            let [a, b] = if *n < 13 { [there, here] } else { [here, there] };
            !self.sheets.crosses(&a, &b)
        };
        (0..27).filter(is_seen).fold(0, |mask, n| mask | 1 << n)
    }

    /// Distance to the sheets at a corner of a cell, negative if none of the centres sees it.
    fn corner(&self, node: [i32; 3], centres: &[Vec3]) -> f64 {
        let h = self.tiles.h();
        let lift = if self.tiles.is_flat() { Vec3::z() * (0.5 * h) } else { Vec3::zeros() };
        let x = self.tiles.corner(node) + lift;
        let d = self.sheets.closest_sheet(&x, 2.0 * h).map_or(2.0 * h, |p| (p - x).norm());
        if centres.iter().any(|c| !self.sheets.crosses(c, &x)) { d } else { -d }
    }

    /// The share of a cell that is on the side of its centre.
    fn own_share(&self, cell: [i32; 3]) -> f64 {
        let centres = [self.tiles.eye(cell)];
        let flat = self.tiles.is_flat();
        let corner = |c: usize| {
            let up = [c & 1, c >> 1 & 1, if flat { 0 } else { c >> 2 }];
            self.corner(std::array::from_fn(|a| cell[a] + up[a] as i32), &centres)
        };
        1.0 - fraction::cube(std::array::from_fn(corner))
    }

    /// The share of the lower face of a cell, which sees the one below, that is on their side.
    fn open_share(&self, cell: [i32; 3], axis: usize) -> f32 {
        let mut low = cell;
        low[axis] -= 1;
        let centres = [self.tiles.eye(cell), self.tiles.eye(low)];
        let others: [usize; 2] = [[1, 2], [0, 2], [0, 1]][axis];
        let corner = |c: usize| {
            let mut node = cell;
            for (bit, other) in others.into_iter().enumerate() {
                node[other] += if other == 2 && self.tiles.is_flat() { 0 } else { (c >> bit & 1) as i32 };
            }
            self.corner(node, &centres)
        };
        (1.0 - fraction::rectangle(std::array::from_fn(corner))) as f32
    }
}

/// Liquid distances at the corners of a cell that a sheet is near, for its own side and for the other, with their shares of the
/// cell: at each corner the mean of the centres round it on that side, or of all of that side if none is there.
pub(super) fn at_corners_by_side(
    liquid: &Halo,
    [i, j, k]: [isize; 3],
    tiles: &Tiles,
    sheets: &TileSheets,
    l: usize,
) -> [(f64, [f64; 8]); 2] {
    let layers = if tiles.is_flat() { 9..18 } else { 0..27i32 };
    let round = layers.map(|n| ([n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1], sheets.sees[l] >> n & 1 == 1));
    let round: Vec<([i32; 3], bool, f64)> = round
        .map(|(o, seen)| (o, seen, liquid.get(i + o[0] as isize, j + o[1] as isize, k + o[2] as isize)))
        .collect();
    // Round a rim a cell may be cut and yet see all that is round it: then all of it is one side.
    let own = if round.iter().all(|(_, seen, _)| *seen) { 1.0 } else { sheets.own[l] as f64 };
    [true, false].map(|side| {
        let mean = |near: &dyn Fn(&[i32; 3]) -> bool| {
            let these = round.iter().filter(|(o, seen, _)| *seen == side && near(o));
            let (sum, count) = these.fold((0.0, 0.0), |(s, n), (_, _, d)| (s + d, n + 1.0));
            (count > 0.0).then(|| sum / count)
        };
        let all = mean(&|_| true);
        let corner = |c: i32| {
            let up = [c & 1, c >> 1 & 1, c >> 2];
            let beside = |o: &[i32; 3]| (0..tiles.axes()).all(|a| o[a] == 0 || o[a] == 2 * up[a] - 1);
            mean(&beside).or(all).unwrap_or(0.0)
        };
        let corners: [f64; 8] = std::array::from_fn(|c| corner(c as i32));
        (if side { own } else { 1.0 - own }, corners)
    })
}

/// Set the velocity of the faces that sheets close, as their upper cells see it, and give back that of their lower
/// cells: from the open faces beside them. With `solids` what would enter the sheets is taken away.
pub fn close_faces(grid: &MacGrid, velocity: &mut [Vec<f64>; 3], solids: Option<&Solids>) -> [Vec<f64>; 3] {
    let tiles = &grid.tiles;
    if !tiles.any_sheets() {
        return Default::default();
    }
    let v = tiles.volume();
    let mut below: [Vec<f64>; 3] = velocity.each_ref().map(|u| u.to_vec());
    let of_tile = |t: usize| -> Vec<(usize, usize, [f64; 2])> {
        let Some(sheets) = tiles.sheets(t) else { return Vec::new() };
        let side = Sided { grid, velocity, solids, t };
        let mut found = Vec::new();
        for l in (0..v).filter(|l| !sheets.is_clear(*l)) {
            for axis in (0..tiles.axes()).filter(|axis| sheets.is_crossed(l, *axis)) {
                let mut low = TileSheets::local(l);
                let high = low;
                low[axis] -= 1;
                found.push((t * v + l, axis, [side.at(high, axis, low), side.at(high, axis, high)]));
            }
        }
        found
    };
    let found: Vec<Vec<_>> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
    for (place, axis, [low, high]) in found.into_iter().flatten() {
        (below[axis][place], velocity[axis][place]) = (low, high);
    }
    below
}

/// The open faces round a tile.
struct Sided<'a> {
    grid: &'a MacGrid,
    velocity: &'a [Vec<f64>; 3],
    solids: Option<&'a Solids>,
    t: usize,
}

impl Sided<'_> {
    /// The velocity of the lower face of a local cell, if no sheet closes it.
    fn open(&self, [x, y, z]: [i32; 3], axis: usize) -> Option<f64> {
        let tiles = &self.grid.tiles;
        let place = tiles.near(self.t, x, y, z)?;
        let (t, l) = (place / tiles.volume(), place % tiles.volume());
        let closed = tiles.sheets(t).is_some_and(|s| s.is_crossed(l, axis));
        (!closed).then(|| self.velocity[axis][place])
    }

    /// Whether a local cell sees the one beside it.
    fn sees(&self, [x, y, z]: [i32; 3], offset: [i32; 3]) -> bool {
        let tiles = &self.grid.tiles;
        let Some(place) = tiles.near(self.t, x, y, z) else { return false };
        tiles.sheets(place / tiles.volume()).is_none_or(|s| s.sees(place % tiles.volume(), offset))
    }

    /// The velocity at the closed lower face of a local cell as one of the two cells beside it sees it.
    fn at(&self, face: [i32; 3], axis: usize, cell: [i32; 3]) -> f64 {
        let (tiles, axes) = (&self.grid.tiles, self.grid.tiles.axes());
        let along = |a: usize, by: i32| -> [i32; 3] { std::array::from_fn(|b| if a == b { by } else { 0 }) };
        let plus = |c: [i32; 3], o: [i32; 3]| -> [i32; 3] { std::array::from_fn(|a| c[a] + o[a]) };
        // Of this component: the other face of the cell, and the faces beside this one that lie on its side.
        let mut near: Vec<f64> = Vec::with_capacity(5);
        let other = if cell == face { plus(cell, along(axis, 1)) } else { cell };
        near.extend(self.open(other, axis));
        for a in (0..axes).filter(|a| *a != axis) {
            for by in [-1, 1] {
                let beside = along(a, by);
                if self.sees(cell, beside) {
                    near.extend(self.open(plus(face, beside), axis));
                }
            }
        }
        let mean =
            |all: &[f64]| if all.is_empty() { 0.0 } else { all.iter().sum::<f64>() / all.len() as f64 };
        let own = mean(&near);
        let Some(solids) = self.solids else { return own };
        let mut u = Vec3::zeros();
        u[axis] = own;
        for a in (0..axes).filter(|a| *a != axis) {
            let faces = [cell, plus(cell, along(a, 1))].into_iter().filter_map(|c| self.open(c, a));
            u[a] = mean(&faces.collect::<Vec<f64>>());
        }
        let base = tiles.base(self.t);
        let x = tiles.centre(plus(base, cell));
        let reach = 2.0 * tiles.h();
        let Some(p) = self.grid.sheets.closest_sheet(&x, reach) else { return own };
        let mut n = x - p;
        if tiles.is_flat() {
            n.z = 0.0;
        }
        let toward = if cell == face { 1.0 } else { -1.0 };
        let n = n.try_normalize(1e-6 * tiles.h()).unwrap_or_else(|| Vec3::ith(axis, toward));
        slide(&u, &n, &solids.velocity(&p, reach), &solids.wall(&p, reach))[axis]
    }
}
