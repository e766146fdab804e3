//! A sparse uniform grid made of tiles that exist only where they are needed.
//!
//! Space is cut into cubic cells of width h; cell (i,j,k) fills origin + h·[i,i+1]×[j,j+1]×[k,k+1],
//! with integer indices of any sign. Cells are grouped in tiles of 8×8×8 (8×8×1 on a grid one cell
//! thick, which is how 2D runs). A field is one flat array, `tiles.cells()` long; the value of local
//! cell (x,y,z) of tile t is at `t·V + (z·8 + y)·8 + x`, V cells a tile. A cell owns three further
//! places, so that every staggered quantity uses the same layout:
//!
//! ```text
//!        +-------+          cell (i,j,k)      centre      (i+½, j+½, k+½)
//!       /       /|          its x face        lower x     (i,   j+½, k+½)
//!      +---v---+ |          its y face        lower y     (i+½, j,   k+½)
//!      |       | +          its z face        lower z     (i+½, j+½, k)
//!      u   p   |/           its node          lower       (i,   j,   k)
//!      n-------+
//! ```
//!
//! Tiles are sorted by (z,y,x), so the order of a field depends only on which tiles exist. The
//! positions are those of the whole grid; nothing depends on the size of the domain.

use super::sheets::TileSheets;
use crate::math::Vec3;
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Cells along x and y of a tile.
pub const SIDE: usize = 8;
/// The index of a tile that does not exist.
pub const NONE: u32 = u32::MAX;

/// A fixed hash of tile coordinates: the same on every run, and cheap.
#[derive(Default)]
pub struct TileHasher(u64);

impl Hasher for TileHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_i32(*b as i32);
        }
    }
    fn write_i32(&mut self, v: i32) {
        let mixed = (self.0 ^ v as u32 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }
    fn write_usize(&mut self, _length: usize) {}
}

type Index = HashMap<[i32; 3], u32, BuildHasherDefault<TileHasher>>;

/// Which tiles exist, and where they are.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    /// Cell width, metres, and cells a metre.
    h: f64,
    per_metre: f64,
    /// World position of the lower corner of cell (0,0,0).
    origin: Vec3,
    /// Cells of a tile along z: 8, or 1 on a grid one cell thick.
    depth: usize,
    coords: Vec<[i32; 3]>,
    index: Index,
    neighbours: Vec<[u32; 27]>,
    /// What the cells of each tile see past sheets; empty if there are none.
    sheets: Vec<Option<Arc<TileSheets>>>,
}

/// Values of a tile and one layer of cells round it, 10×10×10 (10×10×3 when one cell thick).
pub struct Halo(pub [f64; 1000]);

impl Halo {
    /// Place of local cell (x,y,z), each from −1 to 8.
    #[inline]
    pub fn at(x: isize, y: isize, z: isize) -> usize {
        (((z + 1) * 10 + y + 1) * 10 + x + 1) as usize
    }

    #[inline]
    pub fn get(&self, x: isize, y: isize, z: isize) -> f64 {
        self.0[Self::at(x, y, z)]
    }
}

impl Default for Halo {
    fn default() -> Self {
        Self([0.0; 1000])
    }
}

impl Tiles {
    /// A grid with the given tiles, in any order, repeated or not.
    pub fn new(h: f64, origin: Vec3, flat: bool, mut coords: Vec<[i32; 3]>) -> Self {
        coords.sort_unstable_by_key(|c| (c[2], c[1], c[0]));
        coords.dedup();
        let mut index = Index::with_capacity_and_hasher(coords.len(), Default::default());
        index.extend(coords.iter().enumerate().map(|(t, c)| (*c, t as u32)));
        let neighbours = coords.par_iter().map(|c| neighbours_of(&index, c)).collect();
        let depth = if flat { 1 } else { SIDE };
        Self { h, per_metre: 1.0 / h, origin, depth, coords, index, neighbours, sheets: Vec::new() }
    }

    pub fn h(&self) -> f64 {
        self.h
    }

    /// The same tiles with what the cells of each see past sheets; None where they see everything.
    pub fn set_sheets(&mut self, sheets: Vec<Option<Arc<TileSheets>>>) {
        self.sheets = if sheets.iter().any(Option::is_some) { sheets } else { Vec::new() };
    }

    /// What the cells of a tile see past sheets; None if they see everything.
    #[inline]
    pub fn sheets(&self, t: usize) -> Option<&Arc<TileSheets>> {
        self.sheets.get(t).and_then(Option::as_ref)
    }

    /// Whether there are sheets anywhere near.
    pub fn any_sheets(&self) -> bool {
        !self.sheets.is_empty()
    }

    pub fn origin(&self) -> Vec3 {
        self.origin
    }

    /// Whether the grid is one cell thick: z carries no unknowns.
    pub fn is_flat(&self) -> bool {
        self.depth == 1
    }

    /// The axes that carry unknowns: 2 or 3.
    pub fn axes(&self) -> usize {
        if self.is_flat() { 2 } else { 3 }
    }

    /// Cells of a tile along z.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Cells in one tile.
    pub fn volume(&self) -> usize {
        SIDE * SIDE * self.depth
    }

    /// Number of tiles.
    pub fn len(&self) -> usize {
        self.coords.len()
    }

    pub fn is_empty(&self) -> bool {
        self.coords.is_empty()
    }

    /// Cells in all tiles: the length of a field.
    pub fn cells(&self) -> usize {
        self.len() * self.volume()
    }

    /// A new field with the same value everywhere.
    pub fn field<T: Clone>(&self, value: T) -> Vec<T> {
        vec![value; self.cells()]
    }

    /// Tile coordinates, in the order of the fields.
    pub fn coords(&self) -> &[[i32; 3]] {
        &self.coords
    }

    /// The tile with these coordinates, or [`NONE`].
    pub fn find(&self, coord: &[i32; 3]) -> u32 {
        self.index.get(coord).copied().unwrap_or(NONE)
    }

    /// The tile with these coordinates, if it exists.
    pub fn find_tile(&self, coord: [i32; 3]) -> Option<usize> {
        self.index.get(&coord).map(|t| *t as usize)
    }

    /// The tile beside t: d = (dx+1) + 3(dy+1) + 9(dz+1), each d from −1 to 1; [`NONE`] if absent.
    #[inline]
    pub fn neighbour(&self, t: usize, dx: i32, dy: i32, dz: i32) -> u32 {
        self.neighbours[t][((dx + 1) + 3 * (dy + 1) + 9 * (dz + 1)) as usize]
    }

    /// The tiles round coordinates `c`, which need not be those of a tile, in the order of
    /// [`Tiles::neighbour`]; [`NONE`] where there is none.
    pub fn around(&self, c: [i32; 3]) -> [u32; 27] {
        match self.find(&c) {
            NONE => neighbours_of(&self.index, &c),
            t => self.neighbours[t as usize],
        }
    }

    /// Grid indices of local cell (0,0,0) of tile t.
    #[inline]
    pub fn base(&self, t: usize) -> [i32; 3] {
        let c = self.coords[t];
        [c[0] * SIDE as i32, c[1] * SIDE as i32, c[2] * self.depth as i32]
    }

    /// The lower corner of tile t, in cells.
    #[inline]
    pub fn base_point(&self, t: usize) -> Vec3 {
        let b = self.base(t);
        Vec3::new(b[0] as f64, b[1] as f64, b[2] as f64)
    }

    /// The tile coordinates of a grid cell and its local place.
    #[inline]
    pub fn split(&self, cell: [i32; 3]) -> ([i32; 3], usize) {
        let s = SIDE as i32;
        // A division by a number that only the program's run tells would cost more than all the rest.
        let (layer, z) =
            if self.is_flat() { (cell[2], 0) } else { (cell[2].div_euclid(s), cell[2].rem_euclid(s)) };
        let tile = [cell[0].div_euclid(s), cell[1].div_euclid(s), layer];
        (tile, ((z * s + cell[1].rem_euclid(s)) * s + cell[0].rem_euclid(s)) as usize)
    }

    /// Place of a grid cell in a field, if its tile exists.
    #[inline]
    pub fn locate(&self, cell: [i32; 3]) -> Option<usize> {
        let (tile, local) = self.split(cell);
        let t = self.find(&tile);
        (t != NONE).then(|| t as usize * self.volume() + local)
    }

    /// Place of a cell given relative to tile t, local indices from −8 to 15; None if absent.
    #[inline]
    pub fn near(&self, t: usize, x: i32, y: i32, z: i32) -> Option<usize> {
        let (s, d) = (SIDE as i32, self.depth as i32);
        // Most are in the tile itself.
        if (x | y | z) & !(s - 1) == 0 && z < d {
            return Some(t * self.volume() + ((z * s + y) * s + x) as usize);
        }
        let (tx, ty) = (x.div_euclid(s), y.div_euclid(s));
        let tz = if self.is_flat() { z } else { z.div_euclid(s) };
        if tx.abs() > 1 || ty.abs() > 1 || tz.abs() > 1 {
            let b = self.base(t);
            return self.locate([b[0] + x, b[1] + y, b[2] + z]);
        }
        let n = self.neighbour(t, tx, ty, tz);
        let (x, y, z) = (x - tx * s, y - ty * s, z - tz * d);
        (n != NONE).then(|| n as usize * self.volume() + ((z * s + y) * s + x) as usize)
    }

    /// Grid indices of the cell at a place of a field.
    #[inline]
    pub fn cell(&self, place: usize) -> [i32; 3] {
        let (t, l) = match self.is_flat() {
            true => (place / (SIDE * SIDE), place % (SIDE * SIDE)),
            false => (place / (SIDE * SIDE * SIDE), place % (SIDE * SIDE * SIDE)),
        };
        let b = self.base(t);
        [b[0] + (l % SIDE) as i32, b[1] + (l / SIDE % SIDE) as i32, b[2] + (l / (SIDE * SIDE)) as i32]
    }

    /// World position of the lower corner of a grid cell.
    #[inline]
    pub fn corner(&self, cell: [i32; 3]) -> Vec3 {
        self.origin + Vec3::new(cell[0] as f64, cell[1] as f64, cell[2] as f64) * self.h
    }

    /// World position of the centre of a grid cell.
    #[inline]
    pub fn centre(&self, cell: [i32; 3]) -> Vec3 {
        self.corner(cell).add_scalar(0.5 * self.h)
    }

    /// Where a cell looks from past sheets: a millionth of a cell beside its centre, so that a sheet through the very centres of
    /// cells has them all on one side.
    #[inline]
    pub fn eye(&self, cell: [i32; 3]) -> Vec3 {
        self.centre(cell) + Vec3::new(0.62e-6, 0.41e-6, 0.27e-6) * self.h
    }

    /// Position in cells: integer parts are grid indices.
    #[inline]
    pub fn to_grid(&self, x: &Vec3) -> Vec3 {
        (x - self.origin) * self.per_metre
    }

    /// Position in cells, shifted so that cell centres are at integers; the one layer of a flat grid is 0.
    #[inline]
    pub fn centred(&self, x: &Vec3) -> [f64; 3] {
        let g = self.to_grid(x);
        [g.x - 0.5, g.y - 0.5, if self.is_flat() { 0.0 } else { g.z - 0.5 }]
    }

    /// The grid cell that holds a world position.
    #[inline]
    pub fn cell_at(&self, x: &Vec3) -> [i32; 3] {
        let g = self.to_grid(x);
        // Without the instruction for it a floor is a call; truncation and a comparison are not.
        // Beyond all numbers of cells it wraps round, to a cell that is as far away.
        let floor = |v: f64| (v as i32).wrapping_sub((v < v as i32 as f64) as i32);
        [floor(g.x), floor(g.y), if self.is_flat() { 0 } else { floor(g.z) }]
    }

    /// Copy tile t of a field and one layer of cells round it; `outside` where no tile exists.
    /// On a grid one cell thick the layers above and below repeat the one layer there is.
    pub fn load_halo(&self, field: &[f64], t: usize, outside: f64, halo: &mut Halo) {
        self.fill_halo(field, t, halo, |_| outside);
    }

    /// Like [`Tiles::load_halo`], with the nearest value of the tile itself where no tile exists.
    pub fn load_halo_repeated(&self, field: &[f64], t: usize, halo: &mut Halo) {
        let own = &field[t * self.volume()..(t + 1) * self.volume()];
        self.fill_halo(field, t, halo, |[x, y, z]| {
            let near = |v: isize, n: usize| v.clamp(0, n as isize - 1) as usize;
            own[(near(z, self.depth) * SIDE + near(y, SIDE)) * SIDE + near(x, SIDE)]
        });
    }

    fn fill_halo(&self, field: &[f64], t: usize, halo: &mut Halo, absent: impl Fn([isize; 3]) -> f64) {
        const LAST: isize = SIDE as isize;
        let (v, deep) = (self.volume(), self.depth as isize);
        // Rows of one tile after the other, so that it is asked for once and not for every row.
        let spans = |last: isize| [(-1, -1..0), (0, 0..last), (1, last..last + 1)];
        for (tz, layers) in spans(deep) {
            // The one layer there is stands for those above and below it.
            let tz = if self.is_flat() { 0 } else { tz };
            for (ty, rows) in spans(LAST) {
                let tile = |dx: i32| match self.neighbour(t, dx, ty, tz) {
                    NONE => None,
                    n => Some(&field[n as usize * v..][..v]),
                };
                let [before, own, behind] = [tile(-1), tile(0), tile(1)];
                for z in layers.clone() {
                    for y in rows.clone() {
                        let row = ((z.rem_euclid(deep) * LAST + y.rem_euclid(LAST)) * LAST) as usize;
                        let to = Halo::at(-1, y, z);
                        let to: &mut [f64] = &mut halo.0[to..to + SIDE + 2];
                        to[0] = before.map_or_else(|| absent([-1, y, z]), |from| from[row + SIDE - 1]);
                        match own {
                            None => (0..SIDE).for_each(|x| to[1 + x] = absent([x as isize, y, z])),
                            Some(from) => to[1..1 + SIDE].copy_from_slice(&from[row..row + SIDE]),
                        }
                        to[1 + SIDE] = behind.map_or_else(|| absent([LAST, y, z]), |from| from[row]);
                    }
                }
            }
        }
    }

    /// Run `f(tile, its part of the field)` over all tiles in parallel.
    pub fn for_each<T: Send>(&self, field: &mut [T], f: impl Fn(usize, &mut [T]) + Sync + Send) {
        field.par_chunks_mut(self.volume().max(1)).enumerate().for_each(|(t, part)| f(t, part));
    }

    /// Bytes of the map itself.
    pub fn bytes(&self) -> usize {
        self.len() * (12 + 27 * 4 + 24)
    }
}

/// The whole numbers below a position in cells, and how far it is beyond them. They end at a thousand million, so that those
/// beside them are numbers too.
#[inline]
pub(crate) fn whole_below(at: [f64; 3]) -> ([i32; 3], [f64; 3]) {
    let low = at.map(f64::floor);
    (low.map(|v| v.clamp(-1e9, 1e9) as i32), std::array::from_fn(|a| at[a] - low[a]))
}

fn neighbours_of(index: &Index, c: &[i32; 3]) -> [u32; 27] {
    std::array::from_fn(|d| {
        let d = d as i32;
        let at = [c[0] + d % 3 - 1, c[1] + d / 3 % 3 - 1, c[2] + d / 9 - 1];
        index.get(&at).copied().unwrap_or(NONE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tiles() -> Tiles {
        Tiles::new(0.5, Vec3::zeros(), false, vec![[0, 0, 0], [-1, 0, 0], [0, 0, 0]])
    }

    #[test]
    fn every_place_knows_its_cell() {
        let tiles = two_tiles();
        assert_eq!(tiles.cells(), 1024);
        for p in 0..tiles.cells() {
            assert_eq!(tiles.locate(tiles.cell(p)), Some(p));
        }
        assert_eq!(tiles.locate([8, 0, 0]), None);
        assert_eq!(tiles.cell_at(&Vec3::new(-0.1, 0.6, 0.0)), [-1, 1, 0]);
    }

    #[test]
    fn a_halo_holds_the_neighbours_or_the_outside() {
        let tiles = two_tiles();
        let field: Vec<f64> = (0..tiles.cells())
            .map(|p| {
                let [i, j, k] = tiles.cell(p);
                (i * 10000 + j * 100 + k) as f64
            })
            .collect();
        let mut halo = Halo::default();
        let t = tiles.find(&[0, 0, 0]) as usize;
        tiles.load_halo(&field, t, 0.25, &mut halo);
        assert_eq!(halo.get(-1, 3, 4), -10000.0 + 304.0);
        assert_eq!(halo.get(7, 7, 7), 70707.0);
        assert_eq!(halo.get(8, 0, 0), 0.25);
        tiles.load_halo_repeated(&field, t, &mut halo);
        assert_eq!(halo.get(8, 3, 9 - 1), 70307.0);
        assert_eq!(tiles.near(t, -1, 3, 4), tiles.locate([-1, 3, 4]));
    }

    #[test]
    fn what_is_too_far_away_to_count_is_in_no_tile() {
        let tiles = two_tiles();
        for far in [-1e300, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let cell = tiles.cell_at(&Vec3::new(far, 9e9, far));
            assert_eq!(tiles.locate(cell), None, "{far} m is in {cell:?}");
        }
    }

    #[test]
    fn a_flat_grid_is_one_cell_thick() {
        let tiles = Tiles::new(1.0, Vec3::zeros(), true, vec![[0, 0, 0]]);
        assert_eq!((tiles.cells(), tiles.axes()), (64, 2));
        let field: Vec<f64> = (0..64).map(f64::from).collect();
        let mut halo = Halo::default();
        tiles.load_halo(&field, 0, -1.0, &mut halo);
        assert_eq!((halo.get(3, 2, -1), halo.get(3, 2, 0), halo.get(3, 2, 1)), (19.0, 19.0, 19.0));
    }
}
