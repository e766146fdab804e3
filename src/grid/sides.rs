//! On which side of a surface the surroundings of cells lie.
//!
//! Most cells have the 26 cells round them on one side of zero. One look at the signs of a tile settles them all, so
//! that questions about particles in them need no interpolation.

use super::layers::{Mask, Reach, Rows};
use super::patch::Patch;
use super::tiles::SIDE;

/// Where a cell and the 26 round it lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// All below zero.
    Below,
    /// None below zero.
    Above,
    Both,
}

/// The sides of all cells of a tile.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// Cells with something below zero round them, and with something that is not.
    below: Mask,
    above: Mask,
}

/// Values along a row of a tile and one cell round it.
const ROW: usize = SIDE + 2;

impl Sides {
    /// Those of the tile in the middle of a patch with a margin of one cell.
    pub fn of(patch: &Patch) -> Self {
        let flat = patch.values().len() < ROW * ROW * ROW;
        let (mut below, mut above) = ([[0; ROW]; ROW], [[0; ROW]; ROW]);
        for (n, row) in patch.values().chunks_exact(ROW).enumerate() {
            let (y, z) = (n % ROW, n / ROW + usize::from(flat));
            let bits = row.iter().enumerate().fold(0, |bits, (x, v)| bits | u16::from(*v < 0.0) << x);
            (below[z][y], above[z][y]) = (bits, !bits & 0x3ff);
        }
        let depth = if flat { 1 } else { SIDE };
        let grown = |rows| Rows::of(rows).grown(depth, Reach::Corners);
        Self { below: grown(below), above: grown(above) }
    }

    /// That of the cell at a local place.
    #[inline]
    pub fn at(&self, local: usize) -> Side {
        let bit = |mask: &Mask| mask[local / (SIDE * SIDE)] >> (local % (SIDE * SIDE)) & 1;
        match (bit(&self.below), bit(&self.above)) {
            (_, 0) => Side::Below,
            (0, _) => Side::Above,
            _ => Side::Both,
        }
    }

    /// Whether nothing in or round the tile is below.
    pub fn all_above(&self) -> bool {
        self.below == [0; SIDE]
    }

    /// Whether nothing round the tile is above.
    pub fn all_below(&self) -> bool {
        self.above == [0; SIDE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Tiles;
    use crate::math::Vec3;

    #[test]
    fn the_side_of_a_cell_is_that_of_the_27_round_it() {
        for flat in [false, true] {
            let coords =
                (0..27).map(|d| [d % 3 - 1, d / 3 % 3 - 1, if flat { 0 } else { d / 9 - 1 }]).collect();
            let tiles = Tiles::new(1.0, Vec3::zeros(), flat, coords);
            let wave = |[i, j, k]: [i32; 3]| (i as f64 * 0.7).sin() + (j as f64 * 0.6).cos() + 0.1 * k as f64;
            let field: Vec<f64> = (0..tiles.cells()).map(|p| wave(tiles.cell(p))).collect();
            let mut patch = Patch::default();
            patch.load(&tiles, &field, [0, 0, 0], 1, 1.0);
            let sides = Sides::of(&patch);
            let base = tiles.find(&[0, 0, 0]) as usize * tiles.volume();
            let mut seen = [0; 3];
            for l in 0..tiles.volume() {
                let c = tiles.cell(base + l);
                let deep = if flat { 0 } else { 1 };
                let around =
                    (-deep..=deep).flat_map(|z| (-1..=1).flat_map(move |y| (-1..=1).map(move |x| [x, y, z])));
                let values: Vec<f64> = around.map(|d| wave(std::array::from_fn(|a| c[a] + d[a]))).collect();
                let expected = match (values.iter().any(|v| *v < 0.0), values.iter().any(|v| *v >= 0.0)) {
                    (true, true) => Side::Both,
                    (true, false) => Side::Below,
                    _ => Side::Above,
                };
                assert_eq!(sides.at(l), expected);
                seen[expected as usize] += 1;
            }
            assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
        }
    }
}
