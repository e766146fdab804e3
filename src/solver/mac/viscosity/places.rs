//! The order of the unknown faces.
//!
//! Unknowns are sorted by colour: the three components, each red or black like a chessboard. Faces of one colour do not
//! meet ([`super::rows`]), and can be relaxed at once. Those of a colour follow each other along x through all tiles of a
//! bar, so that in the inside of a liquid the neighbours of faces that follow each other follow each other too.

use super::weights::{UNKNOWN, Weights};
use crate::error::{Error, Result};
use crate::grid::{NONE, SIDE, Tiles};
use rayon::prelude::*;

/// Components times two.
pub(super) const COLOURS: usize = 6;

/// Where an unknown is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// Place of its cell in the fields of the grid.
    pub place: u32,
    pub axis: u8,
}

/// The unknowns in the order of their rows.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) faces: Vec<Face>,
    /// The row of each face of each cell; [`NONE`] if it is no unknown.
    pub(super) number: Vec<[u32; 3]>,
    /// Where the colours begin, and the number of rows.
    pub(super) start: [usize; COLOURS + 1],
}

impl Places {
    /// The unknown faces of a level.
    pub(super) fn new(w: &Weights) -> Result<Self> {
        let bars = bars(&w.tiles);
        let found: Vec<[Vec<Face>; COLOURS]> = bars.par_iter().map(|bar| of_bar(w, bar.clone())).collect();
        let (mut faces, mut start) = (Vec::new(), [0; COLOURS + 1]);
        let mut first = vec![[0; COLOURS]; bars.len()];
        for colour in 0..COLOURS {
            for (bar, first) in found.iter().zip(&mut first) {
                first[colour] = faces.len() as u32;
                faces.extend_from_slice(&bar[colour]);
            }
            start[colour + 1] = faces.len();
        }
        if faces.len() >= NONE as usize {
            return Err(Error::invalid("viscosity", "more than four thousand million faces"));
        }
        let mut number = w.tiles.field([NONE; 3]);
        let (mut rest, mut parts, v) = (&mut number[..], Vec::with_capacity(bars.len()), w.tiles.volume());
        for ((bar, found), first) in bars.iter().zip(&found).zip(first) {
            let (own, after) = rest.split_at_mut(bar.len() * v);
            parts.push((own, bar.start * v, found, first));
            rest = after;
        }
        parts.into_par_iter().for_each(|(number, base, found, first)| {
            for (found, first) in found.iter().zip(first) {
                let rows = found.iter().zip(first..);
                rows.for_each(|(f, row)| number[f.place as usize - base][f.axis as usize] = row);
            }
        });
        Ok(Self { faces, number, start })
    }
}

/// Tiles that follow each other along x. Their numbers do as well.
fn bars(tiles: &Tiles) -> Vec<std::ops::Range<usize>> {
    let same = |a: &[i32; 3], b: &[i32; 3]| a[1..] == b[1..];
    let ends = tiles.coords().chunk_by(same).scan(0, |end, bar| {
        *end += bar.len();
        Some(*end - bar.len()..*end)
    });
    ends.collect()
}

/// The unknown faces of a bar by colour.
fn of_bar(w: &Weights, bar: std::ops::Range<usize>) -> [Vec<Face>; COLOURS] {
    let (v, mut found) = (w.tiles.volume(), <[Vec<Face>; COLOURS]>::default());
    for line in 0..v / SIDE {
        for t in bar.clone() {
            let from = t * v + line * SIDE;
            let parity = w.tiles.base(t).iter().sum::<i32>() + (line % SIDE + line / SIDE) as i32;
            for (x, state) in w.state[from..from + SIDE].iter().enumerate() {
                let odd = (parity + x as i32).rem_euclid(2) as usize;
                for axis in (0..3).filter(|a| state[*a] == UNKNOWN) {
                    found[2 * axis + odd].push(Face { place: (from + x) as u32, axis: axis as u8 });
                }
            }
        }
    }
    found
}
