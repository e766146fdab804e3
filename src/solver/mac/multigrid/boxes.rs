//! The part of the next level under one tile: half as wide, with the coarse cells that touch its faces.
//!
//! A tile covers 4×4×4 coarse cells (4×4×1 when flat), one eighth of a coarse tile. Row (y, z) of either
//! colour lies over the coarse row (y/2, z/2), its cell i over the coarse cell i: no lane changes place.

use super::rows::{LANES, Row, Shape, split_place};
use crate::grid::{NONE, SIDE};
use crate::math::Four;

/// Coarse cells along a side of the box.
const SIX: usize = 6;
/// Numbers of a stored [`Share`]: rows of four with one row more on each side, and two columns.
pub(super) const SHARE: usize = SIX * SIX * LANES + 2 * COLUMN;
/// A column of the coarse cells before or after the rows.
const COLUMN: usize = 4 * 4;

/// The coarse row that a fine row lies over, and the one it touches; rows count from the one before the box.
#[inline(always)]
fn over(fine: usize) -> (usize, usize) {
    (fine / 2 + 1, if fine.is_multiple_of(2) { fine / 2 } else { fine / 2 + 2 })
}

/// What one tile restricts: sums over its red cells for the coarse cells below and round it.
pub(super) struct Share {
    rows: [[f32; LANES]; SIX * SIX],
    /// What goes to the coarse cell before and to the one after, for each lane of the inner rows.
    before: [[f32; LANES]; COLUMN],
    after: [[f32; LANES]; COLUMN],
}

impl Default for Share {
    fn default() -> Self {
        Self { rows: [[0.0; LANES]; 36], before: [[0.0; LANES]; COLUMN], after: [[0.0; LANES]; COLUMN] }
    }
}

impl Share {
    /// Add the residuals of a fine row, weighed by the transpose of the prolongation.
    #[inline(always)]
    pub(super) fn add(&mut self, y: usize, z: usize, odd: bool, r: Four, weight: &[Row<f32>; 4]) {
        let ((row, row_beside), (plane, plane_beside)) = (over(y), over(z));
        let inner = (plane - 1) * 4 + row - 1;
        let along_x = if odd { &mut self.after[inner] } else { &mut self.before[inner] };
        let add = |to: &mut Row<f32>, k: usize| *to = Four::new(*to).plus(Four::new(weight[k]).by(r)).get();
        add(&mut self.rows[plane * SIX + row], 0);
        add(along_x, 1);
        add(&mut self.rows[plane * SIX + row_beside], 2);
        add(&mut self.rows[plane_beside * SIX + row], 3);
    }

    /// Write the sums for [`Share::gather`].
    pub(super) fn store(&mut self, out: &mut [f32]) {
        let (rows, columns) = out.split_at_mut(SIX * SIX * LANES);
        for inner in 0..COLUMN {
            let to = &mut self.rows[(inner / 4 + 1) * SIX + inner % 4 + 1];
            for i in 1..LANES {
                to[i - 1] += self.before[inner][i];
                to[i] += self.after[inner][i - 1];
            }
            columns[inner] = self.before[inner][0];
            columns[COLUMN + inner] = self.after[inner][LANES - 1];
        }
        rows.copy_from_slice(self.rows.as_flattened());
    }

    /// Collect the sums of a tile and of those beside it in an eighth of a coarse tile.
    pub(super) fn gather(
        shape: Shape,
        shares: &[f32],
        t: usize,
        beside: &[u32; 6],
        eighth: usize,
        out: [&mut [f32]; 2],
    ) {
        let part =
            |tile: u32| (tile != NONE).then(|| &shares[tile as usize * SHARE..(tile as usize + 1) * SHARE]);
        let row = |part: &[f32], y: usize, z: usize| -> [f32; LANES] {
            std::array::from_fn(|i| part[(z * SIX + y) * LANES + i])
        };
        let own = &shares[t * SHARE..(t + 1) * SHARE];
        let sides = beside.map(part);
        let deep = shape.depth.div_ceil(2);
        let corner = [eighth % 2 * 4, eighth / 2 % 2 * 4, eighth / 4 * 4];
        for z in 0..deep {
            for y in 0..4 {
                let mut sum = row(own, y + 1, z + 1);
                let mut add = |from: Option<&[f32]>, y: usize, z: usize| {
                    if let Some(from) = from {
                        row(from, y, z).into_iter().zip(&mut sum).for_each(|(v, s)| *s += v);
                    }
                };
                if y == 0 {
                    add(sides[2], 5, z + 1);
                }
                if y == 3 {
                    add(sides[3], 0, z + 1);
                }
                if z == 0 {
                    add(sides[4], y + 1, deep + 1);
                }
                if z + 1 == deep {
                    add(sides[5], y + 1, 0);
                }
                let column = SIX * SIX * LANES + z * 4 + y;
                sum[0] += sides[0].map_or(0.0, |from| from[column + COLUMN]);
                sum[3] += sides[1].map_or(0.0, |from| from[column]);
                for (x, sum) in sum.into_iter().enumerate() {
                    let (colour, place) = split_place(corner[0] + x, corner[1] + y, corner[2] + z);
                    out[colour][place] = sum;
                }
            }
        }
    }
}

/// A row of the box: one cell before, four cells, one cell after.
const STRIDE: usize = 8;

/// Coarse values below and round one tile.
pub(super) struct CoarseBox([f32; SIX * SIX * STRIDE]);

impl Default for CoarseBox {
    fn default() -> Self {
        Self([0.0; SIX * SIX * STRIDE])
    }
}

impl CoarseBox {
    /// Place of the first cell of a row; y and z count from the row before the box.
    #[inline(always)]
    fn row(y: usize, z: usize) -> usize {
        (z * SIX + y) * STRIDE + 2
    }

    /// Copy an eighth of coarse tile t and what touches it.
    pub(super) fn load(
        &mut self,
        shape: Shape,
        t: usize,
        beside: &[u32; 6],
        eighth: usize,
        x: &[Vec<f32>; 2],
    ) {
        let (half, deep) = (shape.half(), shape.depth.div_ceil(2));
        let corner = [eighth % 2 * 4, eighth / 2 % 2 * 4, eighth / 4 * 4];
        let value = |tile: u32, at: [usize; 3]| {
            let (colour, place) = split_place(at[0], at[1], at[2]);
            x[colour][tile as usize * half + place]
        };
        // The tile that holds a cell one step outside along an axis, and where the cell lies in it.
        let step = |axis: usize, up: bool, size: usize| match (up, eighth >> axis & 1) {
            (false, 0) => (beside[2 * axis], size - 1),
            (false, _) => (t as u32, corner[axis] - 1),
            (true, 0) if size > 4 => (t as u32, corner[axis] + 4),
            (true, _) => (beside[2 * axis + 1], 0),
        };
        let mut copy = |to: usize, tile: u32, y: usize, z: usize| {
            let to = &mut self.0[to..to + LANES];
            match tile {
                NONE => to.fill(0.0),
                tile => {
                    to.iter_mut().enumerate().for_each(|(i, to)| *to = value(tile, [corner[0] + i, y, z]))
                }
            }
        };
        for z in 0..deep {
            (0..4).for_each(|y| copy(Self::row(y + 1, z + 1), t as u32, corner[1] + y, corner[2] + z));
            for (up, to) in [(false, 0), (true, 5)] {
                let (tile, y) = step(1, up, SIDE);
                copy(Self::row(to, z + 1), tile, y, corner[2] + z);
            }
        }
        for (up, to) in [(false, 0), (true, deep + 1)] {
            let (tile, z) = step(2, up, shape.depth);
            (0..4).for_each(|y| copy(Self::row(y + 1, to), tile, corner[1] + y, z));
        }
        for (up, offset) in [(false, 0), (true, LANES + 1)] {
            let (tile, x) = step(0, up, SIDE);
            for row in 0..4 * deep {
                let (y, z) = (row % 4, row / 4);
                let v = if tile == NONE { 0.0 } else { value(tile, [x, corner[1] + y, corner[2] + z]) };
                self.0[Self::row(y + 1, z + 1) + offset - 1] = v;
            }
        }
    }

    /// The correction of the four red cells of a fine row.
    #[inline(always)]
    pub(super) fn interpolate(&self, y: usize, z: usize, odd: bool, weight: &[Row<f32>; 4]) -> Four {
        let ((row, row_beside), (plane, plane_beside)) = (over(y), over(z));
        let at = Self::row(row, plane);
        let part = |k: usize, at: usize| {
            let near = self.0[at..].first_chunk().unwrap_or(&[0.0; LANES]);
            Four::new(weight[k]).by(Four::new(*near))
        };
        let along_x = part(1, at + 2 * odd as usize - 1);
        let along_y = part(2, Self::row(row_beside, plane));
        part(0, at).plus(along_x).plus(along_y.plus(part(3, Self::row(row, plane_beside))))
    }
}
