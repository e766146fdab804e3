//! Rows of one colour, and their neighbours of the other colour where these lie in memory.
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
//! So one colour is updated four cells at a time without masks, from an array that nobody writes, and each row of that
//! array is loaded once for its own row and the two beside it.

use crate::grid::{NONE, SIDE};
use crate::linalg::vector::Real;
use crate::math::{Four, Two};

/// Cells of one colour in a row.
pub(super) const LANES: usize = 4;
/// Four numbers of a row.
pub(super) type Row<T> = [T; LANES];

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

    /// The rows of a tile or slot of a field of one colour.
    #[inline(always)]
    pub(super) fn of<T>(self, field: &[T], tile: usize) -> &[Row<T>] {
        field[self.half() * tile..self.half() * (tile + 1)].as_chunks().0
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

/// A number of a field.
pub(super) trait Number: Copy + 'static {
    /// A tile of zeros, and a layer of it.
    const NOTHING: &'static [Row<Self>; SIDE * SIDE];
    const LAYER: &'static [Row<Self>; SIDE];
}

impl Number for f32 {
    const NOTHING: &'static [Row<f32>; SIDE * SIDE] = &[[0.0; LANES]; SIDE * SIDE];
    const LAYER: &'static [Row<f32>; SIDE] = &[[0.0; LANES]; SIDE];
}

impl Number for f64 {
    const NOTHING: &'static [Row<f64>; SIDE * SIDE] = &[[0.0; LANES]; SIDE * SIDE];
    const LAYER: &'static [Row<f64>; SIDE] = &[[0.0; LANES]; SIDE];
}

/// Four numbers of a row in registers, loaded from numbers N.
pub(super) trait Lanes<N>: Copy {
    fn load(row: &Row<N>) -> Self;
    /// A number before the first three lanes.
    fn after(self, first: N) -> Self;
    /// The last three lanes before a number.
    fn before(self, last: N) -> Self;
    fn plus(self, other: Self) -> Self;
    /// Lane by lane times f32 numbers.
    fn by(self, factors: &Row<f32>) -> Self;
    fn times(self, factor: f32) -> Self;
}

impl Lanes<f32> for Four {
    #[inline(always)]
    fn load(row: &Row<f32>) -> Self {
        Four::new(*row)
    }
    #[inline(always)]
    fn after(self, first: f32) -> Self {
        Four::after(self, first)
    }
    #[inline(always)]
    fn before(self, last: f32) -> Self {
        Four::before(self, last)
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Four::plus(self, other)
    }
    #[inline(always)]
    fn by(self, factors: &Row<f32>) -> Self {
        Four::by(self, Four::new(*factors))
    }
    #[inline(always)]
    fn times(self, factor: f32) -> Self {
        Four::times(self, factor)
    }
}

/// Four f64: the first two and the last two.
#[derive(Clone, Copy)]
pub(super) struct Wide(pub(super) [Two; 2]);

impl Wide {
    #[inline(always)]
    pub(super) fn new([a, b, c, d]: Row<f64>) -> Self {
        Self([Two::new([a, b]), Two::new([c, d])])
    }

    #[inline(always)]
    pub(super) fn with(self, other: Self, f: impl Fn(Two, Two) -> Two) -> Self {
        Self([f(self.0[0], other.0[0]), f(self.0[1], other.0[1])])
    }

    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        self.with(other, Two::plus)
    }

    #[inline(always)]
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self([self.0[0].times(factor), self.0[1].times(factor)])
    }

    #[inline(always)]
    pub(super) fn sum(self) -> f64 {
        let [a, b] = self.0[0].plus(self.0[1]).get();
        a + b
    }
}

impl<N: Real> Lanes<N> for Wide
where
    Self: From<Row<N>>,
{
    #[inline(always)]
    fn load(row: &Row<N>) -> Self {
        Self::from(*row)
    }
    #[inline(always)]
    fn after(self, first: N) -> Self {
        let first = Two::new([0.0, first.to_f64()]);
        Self([first.between(self.0[0]), self.0[0].between(self.0[1])])
    }
    #[inline(always)]
    fn before(self, last: N) -> Self {
        let last = Two::new([last.to_f64(), 0.0]);
        Self([self.0[0].between(self.0[1]), self.0[1].between(last)])
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.add(other)
    }
    #[inline(always)]
    fn by(self, factors: &Row<f32>) -> Self {
        self.with(Self(Four::new(*factors).wide()), Two::by)
    }
    #[inline(always)]
    fn times(self, factor: f32) -> Self {
        self.scaled(factor.into())
    }
}

impl From<Row<f64>> for Wide {
    #[inline(always)]
    fn from(row: Row<f64>) -> Self {
        Self::new(row)
    }
}

impl From<Row<f32>> for Wide {
    #[inline(always)]
    fn from(row: Row<f32>) -> Self {
        Self(Four::new(row).wide())
    }
}

/// The six neighbours (−x, +x, −y, +y, −z, +z) of the four cells of a row.
pub(super) struct Sides<L>(pub(super) [L; 6]);

impl<L> Sides<L> {
    /// Σ over the sides of coupling times neighbour: all couplings are `unit`, or those given for each side.
    #[inline(always)]
    fn pull<N>(self, unit: f32, couplings: Option<&[Row<f32>; 6]>) -> L
    where
        L: Lanes<N>,
    {
        let [a, b, c, d, e, f] = self.0;
        match couplings {
            None => a.plus(b).plus(c.plus(d)).plus(e.plus(f)).times(unit),
            Some([ca, cb, cc, cd, ce, cf]) => {
                let (x, y, z) = (a.by(ca).plus(b.by(cb)), c.by(cc).plus(d.by(cd)), e.by(ce).plus(f.by(cf)));
                x.plus(y).plus(z)
            }
        }
    }
}

/// The couplings of a tile: one number for all of them, or six of each row.
#[derive(Clone, Copy)]
pub(super) struct Couplings<'a> {
    pub(super) unit: f32,
    pub(super) rows: Option<&'a [[Row<f32>; 6]]>,
}

/// The couplings of a level.
#[derive(Debug, Default)]
pub(super) struct Faces {
    /// The coupling of two cells without walls.
    pub(super) unit: f32,
    /// Where the couplings of each tile are; [`NONE`] if those of its unknowns with each other all are `unit`.
    pub(super) at: Vec<u32>,
    /// For each colour and such place, the six couplings of each row.
    pub(super) coupling: [Vec<f32>; 2],
}

impl Faces {
    /// Those of one colour of a tile.
    #[inline(always)]
    pub(super) fn of(&self, shape: Shape, colour: usize, t: usize) -> Couplings<'_> {
        let rows = (self.at[t] != NONE).then(|| {
            let (size, at) = (6 * shape.half(), self.at[t] as usize);
            self.coupling[colour][size * at..size * (at + 1)].as_chunks().0.as_chunks().0
        });
        Couplings { unit: self.unit, rows }
    }
}

/// The values of one colour in a tile and in the tiles beside it.
pub(super) struct Near<'a, N> {
    own: &'a [Row<N>],
    sides: [&'a [Row<N>]; 6],
    depth: usize,
}

impl<'a, N: Number> Near<'a, N> {
    /// Those of tile t of a field; zero where there is no tile.
    #[inline(always)]
    pub(super) fn new(shape: Shape, t: usize, beside: &[u32; 6], field: &'a [N]) -> Self {
        let sides = beside.map(|tile| match tile {
            NONE => &N::NOTHING[..shape.rows()],
            tile => shape.of(field, tile as usize),
        });
        Self { own: shape.of(field, t), sides, depth: shape.depth }
    }

    /// Run `f(row, C x)` over the rows of a colour, with x the values of the other one, summed up in lanes L.
    #[inline(always)]
    pub(super) fn each_pull<L: Lanes<N>>(
        &self,
        colour: usize,
        couplings: Couplings,
        mut f: impl FnMut(usize, L),
    ) {
        let unit = couplings.unit;
        match couplings.rows {
            None => self.each_row(colour, |row, sides: Sides<L>| f(row, sides.pull(unit, None))),
            Some(rows) => {
                self.each_row(colour, |row, sides: Sides<L>| f(row, sides.pull(unit, Some(&rows[row]))))
            }
        }
    }

    /// Run `f(row, neighbours)` over the rows of a colour.
    #[inline(always)]
    fn each_row<L: Lanes<N>>(&self, colour: usize, mut f: impl FnMut(usize, Sides<L>)) {
        for z in 0..self.depth {
            match is_odd(colour, 0, z) {
                false => self.each_row_of_layer(z, false, &mut f),
                true => self.each_row_of_layer(z, true, &mut f),
            }
        }
    }

    /// `odd` tells whether the cells of the first row have odd x.
    #[inline(always)]
    fn each_row_of_layer<L: Lanes<N>>(&self, z: usize, odd: bool, f: &mut impl FnMut(usize, Sides<L>)) {
        let [before, after, first, last, low, high] = self.sides;
        let (own, before, after) = (layer(self.own, z), layer(before, z), layer(after, z));
        let low = if z == 0 { layer(low, self.depth - 1) } else { layer(self.own, z - 1) };
        let high = if z + 1 == self.depth { layer(high, 0) } else { layer(self.own, z + 1) };
        let sides = |y: usize, odd: bool, down: L, here: L, up: L| {
            let (left, right) = match odd {
                false => (here.after(before[y][LANES - 1]), here),
                true => (here, here.before(after[y][0])),
            };
            Sides([left, right, down, up, L::load(&low[y]), L::load(&high[y])])
        };
        let mut down = L::load(&layer(first, z)[SIDE - 1]);
        let mut here = L::load(&own[0]);
        for y in (0..SIDE).step_by(2) {
            let next = L::load(&own[y + 1]);
            f(SIDE * z + y, sides(y, odd, down, here, next));
            let beyond = L::load(if y + 2 < SIDE { &own[y + 2] } else { &layer(last, z)[0] });
            f(SIDE * z + y + 1, sides(y + 1, !odd, here, next, beyond));
            (down, here) = (next, beyond);
        }
    }
}

/// The rows of one layer of a tile.
#[inline(always)]
fn layer<N: Number>(tile: &[Row<N>], z: usize) -> &[Row<N>; SIDE] {
    let at = SIDE * z;
    tile.get(at..at + SIDE).and_then(|rows| rows.first_chunk()).unwrap_or(N::LAYER)
}
