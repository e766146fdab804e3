//! A symmetric 7-point operator on tiles, the matrix of the pressure without being assembled.
//!
//! ```text
//!     (A p)_i = diagonal_i p_i − Σ_faces coupling_f p_j
//!
//!            +-------+
//!            |   p   c₀   p   |        c₀ of a cell lies on its lower x face, c₁ on the lower y face,
//!            +---c₁--+                 c₂ on the lower z face; zero if either side is no unknown
//! ```
//!
//! The diagonal is the sum of the six couplings and, for faces towards air, of the open area over θ.
//! Cells with the diagonal 0 are no unknowns. Open areas are shares kept in f32, so couplings in f32
//! are exact once the common factor Δt/ρ·h is divided out of matrix and right-hand side; θ is as small
//! as 10⁻⁶ and needs the diagonal in f64. The difference of the diagonal and the couplings then is the
//! pull of the air to rounding, and a component where it is nothing but rounding is closed.

use crate::error::{Error, Result};
use crate::grid::{NONE, SIDE, Tiles};
use crate::linalg::Csr;
use rayon::prelude::*;

/// A pull of the air below this share of the diagonal is rounding.
pub(super) const ROUNDING: f64 = 1e-12;

/// What the cells of a tile are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No unknowns.
    Empty,
    /// Unknowns without walls or air next to them.
    Plain,
    /// Unknowns and air, and no walls but whole ones: all couplings of unknowns with each other are the same.
    Surface,
    /// Anything else.
    Mixed,
}

/// A symmetric 7-point matrix with positive diagonal and couplings ≥ 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stencil {
    /// One number a cell; 0 where the cell is no unknown.
    pub diagonal: Vec<f64>,
    /// For each axis, the coupling of a cell and its lower neighbour.
    pub coupling: [Vec<f32>; 3],
}

impl Stencil {
    /// No unknowns yet.
    pub fn new(tiles: &Tiles) -> Self {
        Self { diagonal: tiles.field(0.0), coupling: std::array::from_fn(|_| tiles.field(0.0)) }
    }

    /// An error if a number is bad or in the wrong place.
    pub fn check(&self, tiles: &Tiles) -> Result<()> {
        self.check_size(tiles)?;
        self.check_tiles(tiles, |_| true)
    }

    /// An error if the fields do not fit the tiles.
    pub(super) fn check_size(&self, tiles: &Tiles) -> Result<()> {
        let n = tiles.cells();
        if self.diagonal.len() != n || self.coupling.iter().any(|c| c.len() != n) {
            let message = format!("the fields must have one number for each of the {n} cells");
            return Err(Error::invalid("pressure stencil", message));
        }
        Ok(())
    }

    /// An error if a number in the tiles `chosen` is bad or in the wrong place.
    pub(super) fn check_tiles(&self, tiles: &Tiles, chosen: impl Fn(usize) -> bool + Sync) -> Result<()> {
        // The first bad cell of the first bad tile, whichever thread finds it.
        let bad = (0..tiles.len())
            .into_par_iter()
            .with_min_len(16)
            .find_map_first(|t| if chosen(t) { self.first_bad(tiles, t) } else { None });
        let Some(place) = bad else { return Ok(()) };
        let (cell, d) = (tiles.cell(place), self.diagonal[place]);
        let c: [f32; 3] = std::array::from_fn(|a| self.coupling[a][place]);
        let message = format!(
            "cell {cell:?} has the diagonal {d} and the lower couplings {c:?}; they must be finite, not \
             negative, zero beside cells that are no unknowns, and sum to no more than the diagonal"
        );
        Err(Error::invalid("pressure stencil", message))
    }

    /// The first place of a tile with a bad number.
    fn first_bad(&self, tiles: &Tiles, t: usize) -> Option<usize> {
        let v = tiles.volume();
        let (six, beside) = (SixCouplings::new(tiles, &self.coupling, t), face_neighbours(tiles, t));
        let sound = |l: usize| {
            let (six, d) = (six.of(l), self.diagonal[t * v + l]);
            let sum: f64 = six.iter().map(|c| *c as f64).sum();
            let at = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)];
            let leads_nowhere =
                |axis: usize| at[axis] == 0 && beside[2 * axis] == NONE && six[2 * axis] != 0.0;
            // A sum of numbers that are not negative is finite only if all of them are.
            six.iter().all(|c| *c >= 0.0)
                && d.is_finite()
                && sum <= d * (1.0 + 1e-6)
                && !(0..3).any(leads_nowhere)
        };
        (0..v).find(|&l| !sound(l)).map(|l| t * v + l)
    }

    /// The matrix of the unknowns, and the place of each row in the fields.
    pub fn assemble(&self, tiles: &Tiles) -> Result<(Csr, Vec<u32>)> {
        let (v, mut number) = (tiles.volume(), vec![NONE; tiles.cells()]);
        let places: Vec<u32> =
            (0..tiles.cells() as u32).filter(|&p| self.diagonal[p as usize] > 0.0).collect();
        places.iter().enumerate().for_each(|(row, &p)| number[p as usize] = row as u32);
        let matrix = Csr::from_rows(places.len(), places.len(), |row, entries| {
            let place = places[row] as usize;
            for side in 0..6 {
                let Some(other) = beside(tiles, place / v, place % v, side) else { continue };
                // A face belongs to its upper cell.
                let c = self.coupling[side / 2][if side % 2 == 0 { place } else { other }];
                if c > 0.0 {
                    entries.push((number[other], -(c as f64)));
                }
            }
            entries.push((row as u32, self.diagonal[place]));
        })?;
        Ok((matrix, places))
    }
}

/// Place of the cell beside local cell l of tile t; sides are −x, +x, −y, +y, −z, +z.
pub(super) fn beside(tiles: &Tiles, t: usize, l: usize, side: usize) -> Option<usize> {
    let mut at = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as i32);
    at[side / 2] += if side.is_multiple_of(2) { -1 } else { 1 };
    tiles.near(t, at[0], at[1], at[2])
}

/// The tiles that share a face with tile t, in the order of the sides; a flat grid has none along z.
pub(super) fn face_neighbours(tiles: &Tiles, t: usize) -> [u32; 6] {
    let mut found = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]]
        .map(|[x, y, z]| tiles.neighbour(t, x, y, z));
    if tiles.is_flat() {
        found[4..].fill(NONE);
    }
    found
}

/// The local cells at the lower end of a tile along an axis.
pub(super) fn first_layer(tiles: &Tiles, axis: usize) -> impl Iterator<Item = usize> {
    // So many runs of so many cells, and from one run to the next.
    let (runs, cells, step) = match axis {
        0 => (SIDE * tiles.depth(), 1, SIDE),
        1 => (tiles.depth(), SIDE, SIDE * SIDE),
        _ => (1, SIDE * SIDE, 0),
    };
    (0..runs).flat_map(move |run| run * step..run * step + cells)
}

/// Cells of a tile that is not flat.
const MOST: usize = SIDE * SIDE * SIDE;

/// The six couplings of the cells of one tile.
pub(super) struct SixCouplings<'a> {
    lower: [&'a [f32]; 3],
    upper: [[f32; MOST]; 3],
}

impl<'a> SixCouplings<'a> {
    pub(super) fn new(tiles: &Tiles, coupling: &'a [Vec<f32>; 3], t: usize) -> Self {
        let (v, beside) = (tiles.volume(), face_neighbours(tiles, t));
        let part = |axis: usize, t: usize| &coupling[axis][t * v..(t + 1) * v];
        let lower: [&[f32]; 3] = std::array::from_fn(|axis| part(axis, t));
        let mut upper = [[0.0; MOST]; 3];
        for (axis, stride) in [1, SIDE, SIDE * SIDE].into_iter().enumerate() {
            let (size, upper) = (if axis == 2 { tiles.depth() } else { SIDE }, &mut upper[axis][..v]);
            upper[..v - stride.min(v)].copy_from_slice(&lower[axis][stride.min(v)..]);
            // The last layer along the axis ends at the tile above.
            let above = beside[2 * axis + 1];
            let above = (above != NONE).then(|| part(axis, above as usize));
            for first in first_layer(tiles, axis) {
                upper[first + (size - 1) * stride] = above.map_or(0.0, |c| c[first]);
            }
        }
        Self { lower, upper }
    }

    /// Couplings of local cell l with its neighbours −x, +x, −y, +y, −z, +z.
    #[inline(always)]
    pub(super) fn of(&self, l: usize) -> [f32; 6] {
        let ([x, y, z], [u, v, w]) = (&self.lower, &self.upper);
        [x[l], u[l], y[l], v[l], z[l], w[l]]
    }
}
