//! A tile of a field with a margin of several cells round it, copied into one dense block.
//!
//! Tracing and interpolation read a neighbourhood many times. Copying it once into a block that
//! fits the cache makes every later read a plain index, with no question which tile it is in.
//! Places outside the block are read at its nearest border.

use super::tiles::{NONE, SIDE, Tiles};
use crate::math::{Number, trilinear, trilinear_gradient};

/// The widest margin a patch may have: one tile.
pub const MAX_MARGIN: usize = SIDE;

/// A dense copy of a tile and its surroundings.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    data: Vec<f64>,
    /// Grid indices of the first cell of the block.
    low: [i32; 3],
    size: [usize; 3],
}

impl Patch {
    /// Copy the tile with coordinates `coord`, which need not exist, and `margin` cells round it.
    /// Cells of absent tiles get `outside`.
    pub fn load(&mut self, tiles: &Tiles, field: &[f64], coord: [i32; 3], margin: usize, outside: f64) {
        let margin = margin.min(MAX_MARGIN);
        let deep = if tiles.is_flat() { 0 } else { margin };
        self.size = [SIDE + 2 * margin, SIDE + 2 * margin, tiles.depth() + 2 * deep];
        self.low = [
            coord[0] * SIDE as i32 - margin as i32,
            coord[1] * SIDE as i32 - margin as i32,
            coord[2] * tiles.depth() as i32 - deep as i32,
        ];
        self.data.resize(self.size.iter().product(), outside);
        let around = tiles.around(coord);
        for z in 0..self.size[2] {
            for y in 0..self.size[1] {
                self.load_row(tiles, field, &around, [margin, margin, deep], y, z, outside);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn load_row(
        &mut self,
        tiles: &Tiles,
        field: &[f64],
        around: &[u32; 27],
        margin: [usize; 3],
        y: usize,
        z: usize,
        outside: f64,
    ) {
        let depth = tiles.depth();
        // Shift by one tile so that quotient and remainder are those of unsigned numbers.
        let (sy, sz) = (y + SIDE - margin[1], z + depth - margin[2]);
        let row = (sz % depth * SIDE + sy % SIDE) * SIDE;
        let (ty, tz) = (sy / SIDE, sz / depth);
        let mut to = (z * self.size[1] + y) * self.size[0];
        for tx in 0..3 {
            let (from, until) = match tx {
                0 => (SIDE - margin[0], SIDE),
                1 => (0, SIDE),
                _ => (0, margin[0]),
            };
            let out = &mut self.data[to..to + until - from];
            match around[tx + 3 * ty + 9 * tz] {
                NONE => out.fill(outside),
                t => {
                    let start = t as usize * tiles.volume() + row;
                    out.copy_from_slice(&field[start + from..start + until]);
                }
            }
            to += until - from;
        }
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f64] {
        &self.data
    }

    /// Value at a grid cell.
    #[inline]
    pub fn get(&self, cell: [i32; 3]) -> f64 {
        let at = |a: usize| ((cell[a] - self.low[a]).max(0) as usize).min(self.size[a] - 1);
        self.data[(at(2) * self.size[1] + at(1)) * self.size[0] + at(0)]
    }

    /// Lower place, steps upwards along y and z, and fractions of the trilinear stencil at g, in cells.
    #[inline(always)]
    fn stencil(&self, g: [f64; 3]) -> (usize, [usize; 2], [f64; 3]) {
        let along = |a: usize| {
            let last = self.size[a] as u32 - 1;
            let (i, part) = (g[a] - self.low[a] as f64).split([0.0, last as f64]);
            // The last place is the upper end of the stencil below it; along z there may be one place alone.
            if i < last { (i as usize, part) } else { (last.saturating_sub(1) as usize, last.min(1) as f64) }
        };
        let [(x, fx), (y, fy), (z, fz)] = [along(0), along(1), along(2)];
        let (row, plane) = (self.size[0], self.size[0] * self.size[1]);
        let deep = if self.size[2] > 1 { plane } else { 0 };
        (z * plane + y * row + x, [row, deep], [fx, fy, fz])
    }

    /// The eight values of the stencil at g, the first index along x, and the fractions.
    #[inline(always)]
    fn corners(&self, g: [f64; 3]) -> ([f64; 8], [f64; 3]) {
        let (p, [row, deep], shares) = self.stencil(g);
        let pair = |p: usize| {
            let c = &self.data[p..p + 2];
            [c[0], c[1]]
        };
        let [a, b, c, d] = [pair(p), pair(p + row), pair(p + deep), pair(p + deep + row)];
        ([a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]], shares)
    }

    /// Trilinear interpolation at g, where the sample of cell (i,j,k) sits at (i,j,k).
    #[inline]
    pub fn sample(&self, g: [f64; 3]) -> f64 {
        let (corners, shares) = self.corners(g);
        trilinear(corners, shares)
    }

    /// Trilinear interpolation and its gradient by cell.
    #[inline]
    pub fn sample_gradient(&self, g: [f64; 3]) -> (f64, [f64; 3]) {
        let (c, f) = self.corners(g);
        trilinear_gradient(c, f, true)
    }

    /// The smallest of the eight values of the stencil at g.
    #[inline]
    pub fn least(&self, g: [f64; 3]) -> f64 {
        // Comparisons, not `min`, which would look for what is no number.
        self.corners(g).0.into_iter().fold(f64::INFINITY, |m, v| if v < m { v } else { m })
    }

    /// The smallest and the greatest of the eight values of the stencil at g.
    #[inline]
    pub fn range(&self, g: [f64; 3]) -> [f64; 2] {
        let corners = self.corners(g).0.into_iter();
        corners.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| [a.min(v), b.max(v)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    fn linear(tiles: &Tiles) -> Vec<f64> {
        let value = |p| {
            let [i, j, k] = tiles.cell(p);
            i as f64 + 20.0 * j as f64 - 3.0 * k as f64
        };
        (0..tiles.cells()).map(value).collect()
    }

    #[test]
    fn linear_fields_are_interpolated_exactly_across_tiles() {
        let coords = (0..27).map(|d| [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1]).collect();
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, coords);
        let field = linear(&tiles);
        let mut patch = Patch::default();
        for margin in [1, 4, 8] {
            patch.load(&tiles, &field, [0, 0, 0], margin, 0.0);
            let g = [-0.5, 7.75, 3.5];
            let (value, gradient) = patch.sample_gradient(g);
            assert!((value - (g[0] + 20.0 * g[1] - 3.0 * g[2])).abs() < 1e-12);
            assert!((patch.sample(g) - value).abs() < 1e-12);
            assert!((0..3).all(|a| (gradient[a] - [1.0, 20.0, -3.0][a]).abs() < 1e-12));
        }
        assert_eq!(patch.get([-8, 15, 0]), -8.0 + 300.0);
    }

    #[test]
    fn a_missing_tile_reads_as_outside() {
        let tiles = Tiles::new(1.0, Vec3::zeros(), true, vec![[0, 0, 0]]);
        let field = linear(&tiles);
        let mut patch = Patch::default();
        patch.load(&tiles, &field, [1, 0, 0], 2, -5.0);
        assert_eq!(patch.get([7, 3, 0]), 67.0);
        assert_eq!(patch.get([8, 3, 0]), -5.0);
        assert_eq!(patch.sample([6.5, 3.0, 0.7]), 66.5);
    }
}
