//! What points see of the grid round them past sheets without thickness.
//!
//! Each cell knows which of the cells round it it sees ([`TileSheets`]). A point adopts the nearest of the eight centres round it
//! that it sees itself, and with it what that one sees: a single look along one short way settles most points. Interpolation
//! then takes the places that are seen, with weights that sum to one:
//!
//! ```text
//!     f(x) = Σ_seen w f / Σ_seen w ,     w = hat + ε
//! ```
//!
//! ε is there for points that see only corners at which their hat ends. Faces that a sheet closes have a value for either
//! side: on the face that of the upper cell, in a second field that of the lower one. A point takes that of the cell
//! it sees. Points far from sheets see everything; for them nothing is looked at.

use super::{Solids, face_offset};
use crate::grid::{SEES_ALL, TileSheets, Tiles, whole_below};
use crate::math::{Vec3, trilinear_gradient};

/// What is added to every hat.
const LEAST: f64 = 1e-3;

/// A grid and the sheets in it.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    pub tiles: &'a Tiles,
    pub sheets: &'a Solids,
}

/// The cells that a point sees: those round the one whose view it has adopted.
#[derive(Clone, Copy, Debug)]
pub struct Eyes {
    home: [i32; 3],
    seen: u32,
}

/// Face velocities: as upper cells see them, and as lower cells do where sheets close the face.
pub type SidedFaces<'a> = [&'a [Vec<f64>; 3]; 2];

impl Eyes {
    /// Whether a cell is seen.
    #[inline]
    pub fn sees(&self, cell: [i32; 3]) -> bool {
        let offset: [i32; 3] = std::array::from_fn(|a| cell[a] - self.home[a]);
        self.seen == SEES_ALL
            || (offset.iter().all(|d| d.abs() <= 1) && self.seen >> TileSheets::bit(offset) & 1 == 1)
    }

    /// The eyes of a point on the other side: they see what these do not.
    pub fn others(&self) -> Self {
        Self { seen: !self.seen & SEES_ALL, ..*self }
    }

    /// Whether one of the two cells of a lower face is seen.
    #[inline]
    pub fn sees_face(&self, cell: [i32; 3], axis: usize) -> bool {
        self.sees(cell) || self.sees(below(cell, axis))
    }
}

#[inline]
fn below(mut cell: [i32; 3], axis: usize) -> [i32; 3] {
    cell[axis] -= 1;
    cell
}

impl Sight<'_> {
    /// The place of a cell in fields, and what it sees if a sheet is near; t is a tile near by.
    #[inline]
    fn place(&self, t: usize, cell: [i32; 3]) -> Option<(usize, Option<(&TileSheets, usize)>)> {
        let base = self.tiles.base(t);
        let place = self.tiles.near(t, cell[0] - base[0], cell[1] - base[1], cell[2] - base[2])?;
        let v = self.tiles.volume();
        Some((place, self.tiles.sheets(place / v).map(|s| (&**s, place % v))))
    }

    /// Whether a sheet closes the lower face of a cell.
    pub fn is_closed(&self, t: usize, cell: [i32; 3], axis: usize) -> bool {
        let sheets = self.place(t, cell).and_then(|(_, sheets)| sheets);
        sheets.is_some_and(|(s, l)| s.is_crossed(l, axis))
    }

    /// What a cell sees.
    fn of_cell(&self, t: usize, cell: [i32; 3]) -> Option<Eyes> {
        let seen = self.place(t, cell)?.1.map_or(SEES_ALL, |(s, l)| s.sees[l]);
        Some(Eyes { home: cell, seen })
    }

    /// The eyes of a point that sees all that is round it.
    pub fn everything(&self, x: &Vec3) -> Eyes {
        Eyes { home: self.tiles.cell_at(x), seen: SEES_ALL }
    }

    /// What a point near tile t sees; None if that is everything round it.
    pub fn eyes(&self, t: usize, x: &Vec3) -> Option<Eyes> {
        if !self.tiles.any_sheets() {
            return None;
        }
        let cell = self.tiles.cell_at(x);
        let (_, sheets) = self.place(t, cell)?;
        sheets.filter(|(s, l)| !s.is_clear(*l))?;
        let (low, _) = whole_below(self.tiles.centred(x));
        let layers = if self.tiles.is_flat() { 4 } else { 8 };
        let distance = |c: &[i32; 3]| (self.tiles.centre(*c) - x).norm_squared();
        let mut round: Vec<[i32; 3]> = (0..layers).map(|c| corner(low, c)).collect();
        round.iter_mut().filter(|_| self.tiles.is_flat()).for_each(|c| c[2] = cell[2]);
        round.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        let seen = round.into_iter().find(|c| !self.sheets.crosses(x, &self.tiles.eye(*c)));
        // What sees no centre at all, in a fold or a corner, takes what there is.
        let eyes = seen.and_then(|c| self.of_cell(t, c)).unwrap_or_else(|| self.everything(x));
        (eyes.seen != SEES_ALL).then_some(eyes)
    }

    /// What a particle of tile t sees; None if that is everything round it.
    #[inline]
    pub fn of_particle(&self, t: usize, x: &Vec3) -> Option<Eyes> {
        self.tiles.sheets(t).and_then(|_| self.eyes(t, x))
    }

    /// The values of a field at the eight centres round a point, those that are not seen as the mean of the others.
    fn centres(&self, t: usize, eyes: &Eyes, field: &[f64], x: &Vec3) -> ([f64; 8], [f64; 3]) {
        let (corners, f) = self.seen_centres(t, eyes, field, x);
        (filled(corners, f), f)
    }

    fn seen_centres(&self, t: usize, eyes: &Eyes, field: &[f64], x: &Vec3) -> ([Option<f64>; 8], [f64; 3]) {
        let (low, f) = whole_below(self.tiles.centred(x));
        let flat = self.tiles.is_flat();
        let value = |c: usize| {
            let mut cell = corner(low, c);
            cell[2] = if flat { self.tiles.cell_at(x)[2] } else { cell[2] };
            let (place, _) = self.place(t, cell)?;
            eyes.sees(cell).then(|| field[place])
        };
        (std::array::from_fn(value), f)
    }

    /// A field at a point, of the centres that are seen; None if there are none.
    pub fn sample_seen(&self, t: usize, eyes: &Eyes, field: &[f64], x: &Vec3) -> Option<f64> {
        let (corners, f) = self.seen_centres(t, eyes, field, x);
        corners.iter().any(Option::is_some).then(|| crate::math::trilinear(filled(corners, f), f))
    }

    /// A field at a point, of the centres that are seen.
    pub fn sample(&self, t: usize, eyes: &Eyes, field: &[f64], x: &Vec3) -> f64 {
        let (corners, f) = self.centres(t, eyes, field, x);
        crate::math::trilinear(corners, f)
    }

    /// The least value of a field at the centres round a point that are seen.
    pub fn least(&self, t: usize, eyes: &Eyes, field: &[f64], x: &Vec3) -> f64 {
        self.centres(t, eyes, field, x).0.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Velocity at a position in cells, and its gradient rows by cell, of the faces that are seen.
    pub fn velocity(&self, t: usize, eyes: &Eyes, faces: SidedFaces, g: &Vec3) -> (Vec3, [[f64; 3]; 3]) {
        let flat = self.tiles.is_flat();
        let (mut v, mut rows) = (Vec3::zeros(), [[0.0; 3]; 3]);
        for axis in 0..self.tiles.axes() {
            let at = g - face_offset(axis, flat);
            let (low, f) = whole_below([at.x, at.y, if flat { 0.0 } else { at.z }]);
            let value = |c: usize| {
                let mut cell = corner(low, c);
                cell[2] = if flat { eyes.home[2] } else { cell[2] };
                let (place, sheets) = self.place(t, cell)?;
                let closed = sheets.is_some_and(|(s, l)| s.is_crossed(l, axis));
                match (eyes.sees(cell), eyes.sees(below(cell, axis))) {
                    (true, _) => Some(faces[0][axis][place]),
                    (false, true) => Some(faces[closed as usize][axis][place]),
                    _ => None,
                }
            };
            let c = filled(std::array::from_fn(value), f);
            (v[axis], rows[axis]) = trilinear_gradient(c, f, !flat);
        }
        (v, rows)
    }

    /// Where a point near a sheet at g, in cells, is carried in `dt` seconds: two steps of the midpoint rule's kind, each
    /// end on the side of the beginning.
    pub fn trace(&self, t: usize, eyes: &Eyes, faces: SidedFaces, g: &Vec3, dt: f64) -> Vec3 {
        let step = dt / self.tiles.h();
        let world = |g: &Vec3| self.tiles.origin() + g * self.tiles.h();
        let first = self.velocity(t, eyes, faces, g).0;
        let half = g + first * (0.5 * step);
        let x = world(&half);
        if self.sheets.crosses(&world(g), &x) {
            return g + first * step;
        }
        let eyes = self.eyes(t, &x).unwrap_or_else(|| self.everything(&x));
        g + self.velocity(t, &eyes, faces, &half).0 * step
    }
}

fn corner(low: [i32; 3], c: usize) -> [i32; 3] {
    std::array::from_fn(|a| low[a] + (c >> a & 1) as i32)
}

/// The corners of a cell, those without a value as the weighted mean of the others; zero without any.
fn filled(corners: [Option<f64>; 8], f: [f64; 3]) -> [f64; 8] {
    let weight = |c: usize| {
        let along = |a: usize| if c >> a & 1 == 1 { f[a] } else { 1.0 - f[a] };
        along(0) * along(1) * along(2) + LEAST
    };
    let known = corners.iter().enumerate().filter_map(|(c, v)| v.map(|v| (weight(c), v)));
    let (sum, total) = known.fold((0.0, 0.0), |(s, n), (w, v)| (s + w * v, n + w));
    let mean = if total > 0.0 { sum / total } else { 0.0 };
    corners.map(|v| v.unwrap_or(mean))
}
