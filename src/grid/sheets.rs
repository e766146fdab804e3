//! Which cells see each other past sheets without thickness.
//!
//! A sheet (a leaf, a flag, a dividing plate) takes no room, but what is on its two sides has nothing to do with each
//! other. Each cell belongs to the side of its centre, and sees one of the 26 cells round it if the way from centre to centre
//! does not cross a sheet. Everything on the grid that looks at neighbours asks this: flow, distances, means and
//! continuations do not pass where nothing is seen, and since every way from one side to the other crosses
//! the sheet between two centres somewhere, nothing leaks. Round the rim of a sheet cells see each other again.
//!
//! A cell that is cut holds some of the other side too; its own share is the part on the side of its centre.
//! Tiles far from sheets know none of this and cost nothing.

use super::tiles::SIDE;

/// A cell that sees all the cells round it.
pub const SEES_ALL: u32 = (1 << 27) - 1;

/// What the cells of a tile see, and their own shares.
#[derive(Clone, Debug)]
pub struct TileSheets {
    /// A bit for each of the 27 cells round, itself included.
    pub sees: Vec<u32>,
    pub own: Vec<f32>,
}

impl TileSheets {
    /// The bit of a neighbour.
    #[inline]
    pub fn bit([dx, dy, dz]: [i32; 3]) -> u32 {
        ((dx + 1) + 3 * (dy + 1) + 9 * (dz + 1)) as u32
    }

    /// Whether local cell l sees the one that lies at an offset of at most one cell along each axis.
    #[inline]
    pub fn sees(&self, l: usize, offset: [i32; 3]) -> bool {
        self.sees[l] >> Self::bit(offset) & 1 == 1
    }

    /// Whether a sheet runs between local cell l and the one below it along an axis.
    #[inline]
    pub fn is_crossed(&self, l: usize, axis: usize) -> bool {
        !self.sees(l, std::array::from_fn(|a| -((a == axis) as i32)))
    }

    /// Whether local cell l sees all that is round it.
    #[inline]
    pub fn is_clear(&self, l: usize) -> bool {
        self.sees[l] == SEES_ALL
    }

    /// Local indices of a place in a tile.
    #[inline]
    pub fn local(l: usize) -> [i32; 3] {
        [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v as i32)
    }
}
