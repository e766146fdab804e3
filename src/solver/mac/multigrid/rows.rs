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

/// A number that couplings are multiplied with.
pub(super) trait Lane: Real {
    fn widen(coupling: f32) -> Self;
}

impl Lane for f32 {
    #[inline(always)]
    fn widen(coupling: f32) -> Self {
        coupling
    }
}

impl Lane for f64 {
    #[inline(always)]
    fn widen(coupling: f32) -> Self {
        coupling as f64
    }
}

/// Values of one colour in a tile and in the cells that touch its faces.
pub(super) struct Ring<T>([T; 10 * PLANE]);

impl<T: Lane> Default for Ring<T> {
    fn default() -> Self {
        Self([T::default(); 10 * PLANE])
    }
}

impl<T: Lane> Ring<T> {
    /// Place of the first cell of a row; y and z count from the row before the tile.
    #[inline(always)]
    fn row(y: usize, z: usize) -> usize {
        z * PLANE + y * STRIDE + 2
    }

    /// Copy the values of tile t and of the tiles beside it; zero where there is none.
    #[inline(always)]
    pub(super) fn load(&mut self, shape: Shape, t: usize, beside: &[u32; 6], field: &[T]) {
        let (half, depth) = (shape.half(), shape.depth);
        let part = |tile: u32| match tile {
            NONE => None,
            tile => Some(&field[tile as usize * half..(tile as usize + 1) * half]),
        };
        let own = &field[t * half..(t + 1) * half];
        for (row, from) in own.chunks_exact(LANES).enumerate() {
            let to = Self::row(row % SIDE + 1, row / SIDE + 1);
            self.0[to..to + LANES].copy_from_slice(from);
        }
        let (below, above) = (part(beside[2]), part(beside[3]));
        for z in 0..depth {
            self.copy_row(0, z + 1, below, z * SIDE + SIDE - 1);
            self.copy_row(SIDE + 1, z + 1, above, z * SIDE);
        }
        let (below, above) = (part(beside[4]), part(beside[5]));
        for y in 0..SIDE {
            self.copy_row(y + 1, 0, below, (depth - 1) * SIDE + y);
            self.copy_row(y + 1, depth + 1, above, y);
        }
        self.copy_column(shape, 0, part(beside[0]), LANES - 1);
        self.copy_column(shape, LANES + 1, part(beside[1]), 0);
    }

    #[inline(always)]
    fn copy_row(&mut self, y: usize, z: usize, from: Option<&[T]>, row: usize) {
        let to = Self::row(y, z);
        let to = &mut self.0[to..to + LANES];
        match from {
            None => to.fill(T::default()),
            Some(from) => to.copy_from_slice(&from[LANES * row..LANES * (row + 1)]),
        }
    }

    /// The cells before (offset 0) or after the rows, from one lane of the tile there.
    #[inline(always)]
    fn copy_column(&mut self, shape: Shape, offset: usize, from: Option<&[T]>, lane: usize) {
        let place = |row: usize| Self::row(row % SIDE + 1, row / SIDE + 1) + offset - 1;
        match from {
            None => (0..shape.rows()).for_each(|row| self.0[place(row)] = T::default()),
            Some(from) => {
                for (row, from) in from.chunks_exact(LANES).enumerate() {
                    self.0[place(row)] = from[lane];
                }
            }
        }
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
        let mut sum = [T::default(); LANES];
        for i in 0..LANES {
            let c = |side: usize| T::widen(c[side * LANES + i]);
            let at = REACH + i;
            sum[i] = (c(0) * w[at + ODD - 1] + c(1) * w[at + ODD])
                + (c(2) * w[at - STRIDE] + c(3) * w[at + STRIDE])
                + (c(4) * w[at - PLANE] + c(5) * w[at + PLANE]);
        }
        sum
    }
}
