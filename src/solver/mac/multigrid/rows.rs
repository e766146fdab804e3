//! Rows of one colour, and the values of the other colour round a tile.
//!
//! Cells are coloured like a chessboard: red where x + y + z is even. A field of a level is two arrays,
//! all red cells and all black ones, each tile by tile. A row of 8 cells then is 4 cells of either colour:
//!
//! ```text
//!     x          0 1 2 3 4 5 6 7
//!     even row   r b r b r b r b        red i is cell 2i       black i is cell 2i+1
//!     odd row    b r b r b r b r        red i is cell 2i+1     black i is cell 2i
//! ```
//!
//! The neighbours of cell i of a row along y and z are the cells i of the other colour in the rows beside
//! it; along x they are the cells i−1 and i of its own row where its x is even, i and i+1 where it is odd.
//! So one colour is updated four cells at a time without masks, from an array that nobody writes.

use crate::grid::{NONE, SIDE};
use crate::linalg::vector::Real;

/// Cells of one colour in a row.
pub(super) const LANES: usize = 4;
/// Couplings of a row: six sides (−x, +x, −y, +y, −z, +z) of four cells.
pub(super) const ROW_COUPLINGS: usize = 6 * LANES;
/// A row of the ring: one cell before, four cells, one cell after, and room that keeps rows aligned.
const STRIDE: usize = 8;
const PLANE: usize = 10 * STRIDE;

/// How many rows and cells a tile has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Cells along z, 8 or 1.
    pub(super) depth: usize,
}

impl Shape {
    /// Rows of a tile.
    #[inline(always)]
    pub(super) fn rows(self) -> usize {
        SIDE * self.depth
    }

    /// Cells of one colour in a tile.
    #[inline(always)]
    pub(super) fn half(self) -> usize {
        LANES * self.rows()
    }
}

/// Whether the cells of a colour (0 red, 1 black) have odd x in row (y, z).
#[inline(always)]
pub(super) fn is_odd(colour: usize, y: usize, z: usize) -> bool {
    (colour + y + z) % 2 == 1
}

/// The colour of a local cell, and its place among the cells of that colour in the tile.
#[inline(always)]
pub(super) fn split_place(x: usize, y: usize, z: usize) -> (usize, usize) {
    ((x + y + z) % 2, (z * SIDE + y) * LANES + x / 2)
}

/// Values of one colour in a tile and in the cells that touch its faces.
pub(super) struct Ring<T>([T; 10 * PLANE]);

impl<T: Real> Default for Ring<T> {
    fn default() -> Self {
        Self([T::default(); 10 * PLANE])
    }
}

impl<T: Real> Ring<T> {
    /// Place of the first cell of a row; y and z count from the row before the tile.
    #[inline(always)]
    fn row(y: usize, z: usize) -> usize {
        z * PLANE + y * STRIDE + 2
    }

    /// Copy the values of tile t and of the tiles beside it; zero where there is none.
    #[inline(always)]
    pub(super) fn load(&mut self, shape: Shape, t: usize, beside: &[u32; 6], value: impl Fn(usize) -> T) {
        let (half, depth) = (shape.half(), shape.depth);
        let place = |tile: u32, y: usize, z: usize| tile as usize * half + (z * SIDE + y) * LANES;
        let mut copy = |to: usize, tile: u32, y: usize, z: usize| {
            let to = &mut self.0[to..to + LANES];
            match tile {
                NONE => to.fill(T::default()),
                tile => {
                    let from = place(tile, y, z);
                    to.iter_mut().enumerate().for_each(|(i, to)| *to = value(from + i));
                }
            }
        };
        for z in 0..depth {
            (0..SIDE).for_each(|y| copy(Self::row(y + 1, z + 1), t as u32, y, z));
            copy(Self::row(0, z + 1), beside[2], SIDE - 1, z);
            copy(Self::row(SIDE + 1, z + 1), beside[3], 0, z);
        }
        for y in 0..SIDE {
            copy(Self::row(y + 1, 0), beside[4], y, depth - 1);
            copy(Self::row(y + 1, depth + 1), beside[5], y, 0);
        }
        let mut column = |tile: u32, offset: usize, lane: usize| {
            for z in 0..depth {
                for y in 0..SIDE {
                    let v = if tile == NONE { T::default() } else { value(place(tile, y, z) + lane) };
                    self.0[Self::row(y + 1, z + 1) + offset - 1] = v;
                }
            }
        };
        column(beside[0], 0, LANES - 1);
        column(beside[1], LANES + 1, 0);
    }

    /// Σ over the six sides of coupling times neighbour, for the four cells of row (y, z).
    #[inline(always)]
    pub(super) fn pull(&self, odd: bool, y: usize, z: usize, couplings: &[f32]) -> [T; LANES] {
        if odd { self.pull_shifted::<1>(y, z, couplings) } else { self.pull_shifted::<0>(y, z, couplings) }
    }

    #[inline(always)]
    fn pull_shifted<const ODD: usize>(&self, y: usize, z: usize, couplings: &[f32]) -> [T; LANES] {
        const REACH: usize = PLANE + 1;
        const SPAN: usize = 2 * REACH + LANES;
        let from = Self::row(y + 1, z + 1) - REACH;
        let (Some(w), Some(c)) = (
            self.0.get(from..from + SPAN).and_then(|w| <&[T; SPAN]>::try_from(w).ok()),
            couplings.get(..ROW_COUPLINGS).and_then(|c| <&[f32; ROW_COUPLINGS]>::try_from(c).ok()),
        ) else {
            return [T::default(); LANES];
        };
        let c = |side: usize, i: usize| T::from_f64(c[side * LANES + i].to_f64());
        std::array::from_fn(|i| {
            let at = REACH + i;
            c(0, i) * w[at + ODD - 1]
                + c(1, i) * w[at + ODD]
                + (c(2, i) * w[at - STRIDE] + c(3, i) * w[at + STRIDE])
                + (c(4, i) * w[at - PLANE] + c(5, i) * w[at + PLANE])
        })
    }
}
