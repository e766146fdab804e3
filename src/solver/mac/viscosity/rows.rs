//! The unknown faces in a row, and the symmetric matrix between them with at most fourteen arms a row.
//!
//! For the face u of axis a at cell i, with e the weight of an edge and v the component along b,
//!
//! ```text
//!     A u = m u + 2c_i (u_i − u_{i+a}) + 2c_{i−a} (u_i − u_{i−a})
//!         + Σ_b  e_i     [uu (u_i − u_{i−b}) + uv (v_i − v_{i−a})]
//!              − e_{i+b} [uu (u_{i+b} − u_i) + uv (v_{i+b} − v_{i+b−a})]
//! ```
//!
//! and in cells that a wall cuts, with x the weight of the product of two normal strains,
//!
//! ```text
//!         + Σ_b  x_{i−a} (v_{i+b−a} − v_{i−a}) − x_i (v_{i+b} − v_i)
//! ```
//!
//! so an unknown meets six of its own kind and four of either other kind. Rows are sorted by colour: the
//! three components, each red or black like a chessboard. Rows of one colour do not meet, and can be
//! relaxed at once.
//!
//! A row is read without bounds checks, which take as long as the sums themselves: the numbers of its neighbours are
//! those of rows.

use super::weights::{STUCK, UNKNOWN, Weights, others};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::grid::NONE;
use crate::linalg::vector::Real;
use crate::linalg::{Csr, LinearOperator};
use crate::math::{CHUNK, Sets};
use rayon::prelude::*;
use std::sync::Arc;

/// Neighbours of a face.
pub(super) const ARMS: usize = 14;
/// Components times two.
pub(super) const COLOURS: usize = 6;

/// One neighbour: its weight in the row, its component and the place of its cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arm {
    pub(super) weight: f32,
    pub(super) axis: u8,
    pub(super) place: u32,
}

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

/// The matrix.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) places: Arc<Places>,
    columns: Vec<[u32; ARMS]>,
    arms: Vec<[f32; ARMS]>,
    pub(super) diagonal: Vec<f64>,
    /// Whether a row has a given neighbour.
    pub(super) walled: Vec<bool>,
}

/// The neighbours of a face, and its diagonal.
pub(super) fn star(w: &Weights, face: Face) -> ([Arm; ARMS], f64) {
    let (tiles, v) = (&w.tiles, w.tiles.volume());
    let (place, a) = (face.place as usize, face.axis as usize);
    let (t, l) = (place / v, place % v);
    let local = [l % 8, l / 8 % 8, l / 64].map(|c| c as i32);
    let at = |moves: &[(usize, i32)]| {
        let mut c = local;
        moves.iter().for_each(|(axis, by)| c[*axis] += by);
        tiles.near(t, c[0], c[1], c[2])
    };
    let mut arms = [Arm::default(); ARMS];
    let own = w.weight(place);
    let mut diagonal = own.mass[a] as f64;
    let mut next = 0;
    let mut add = |weight: f32, axis: usize, place: Option<usize>| {
        if let Some(p) = place.filter(|_| weight != 0.0) {
            arms[next] = Arm { weight, axis: axis as u8, place: p as u32 };
            next += 1;
        }
    };
    let (below, ahead) = (at(&[(a, -1)]), at(&[(a, 1)]));
    let pressed = !w.press.weight.is_empty();
    let gamma = |p: Option<usize>| if pressed { p.map_or(0.0, |p| w.press.weight[p]) } else { 0.0 };
    let open = |p: Option<usize>, axis: usize| {
        if pressed { p.map_or(0.0, |p| w.press.open[p][axis]) } else { 0.0 }
    };
    let (g_up, g_low, mine) = (gamma(Some(place)), gamma(below), open(Some(place), a));
    let press = |gamma: f32, p: Option<usize>, axis: usize| gamma * (mine * open(p, axis));
    diagonal += ((g_up + g_low) * mine * mine) as f64;
    let (up, low) = (2.0 * own.centre[a], below.map_or(0.0, |p| 2.0 * w.weight(p).centre[a]));
    diagonal += up as f64 + low as f64;
    add(-up - press(g_up, ahead, a), a, ahead);
    add(-low - press(g_low, below, a), a, below);
    for b in (0..tiles.axes()).filter(|b| *b != a) {
        let c = 3 - a - b;
        let uu = if others(c)[0] == a { 0 } else { 2 };
        let e = own.edge[c];
        diagonal += e[uu] as f64;
        let (x_up, x_low) = (own.cross[c], below.map_or(0.0, |p| w.weight(p).cross[c]));
        let (above, beyond) = (at(&[(b, 1)]), at(&[(b, 1), (a, -1)]));
        add(-e[uu], a, at(&[(b, -1)]));
        add(e[1] + x_up + press(g_up, Some(place), b), b, Some(place));
        add(-e[1] - x_low - press(g_low, below, b), b, below);
        let e = above.map_or([0.0; 3], |p| w.weight(p).edge[c]);
        diagonal += e[uu] as f64;
        add(-e[uu], a, above);
        add(-e[1] - x_up - press(g_up, above, b), b, above);
        add(e[1] + x_low + press(g_low, beyond, b), b, beyond);
    }
    (arms, diagonal)
}

impl Rows {
    /// The matrix of a level.
    pub(super) fn new(w: &Weights, cancel: &Cancel) -> Result<Self> {
        let (faces, start) = by_colour(w);
        if faces.len() >= NONE as usize {
            return Err(Error::invalid("viscosity", "more than four thousand million faces"));
        }
        let mut number = w.tiles.field([NONE; 3]);
        faces.iter().enumerate().for_each(|(row, f)| number[f.place as usize][f.axis as usize] = row as u32);
        Self::between(w, &Arc::new(Places { faces, number, start }), cancel)
    }

    /// The matrix between unknowns whose order is known.
    pub(super) fn between(w: &Weights, places: &Arc<Places>, cancel: &Cancel) -> Result<Self> {
        let n = places.faces.len();
        let mut made = Self {
            places: places.clone(),
            columns: vec![[0; ARMS]; n],
            arms: vec![[0.0; ARMS]; n],
            diagonal: vec![0.0; n],
            walled: vec![false; n],
        };
        let Places { number, faces, .. } = &**places;
        let parts = made.columns.par_iter_mut().zip(&mut made.arms).zip(&mut made.diagonal);
        parts.zip(&mut made.walled).enumerate().with_min_len(256).for_each(
            |(row, (((columns, arms), d), walled))| {
                if cancel.is_cancelled() {
                    return;
                }
                let (found, diagonal) = star(w, faces[row]);
                *d = diagonal;
                for (k, arm) in found.iter().enumerate() {
                    let other = number[arm.place as usize][arm.axis as usize];
                    let given = arm.weight != 0.0 && w.state[arm.place as usize][arm.axis as usize] >= STUCK;
                    *walled |= given;
                    // What is not there is the row itself times zero.
                    let met = arm.weight != 0.0 && other != NONE;
                    (columns[k], arms[k]) = if met { (other, arm.weight) } else { (row as u32, 0.0) };
                }
            },
        );
        cancel.check()?;
        Ok(made)
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Σ of the arms of a row times their values.
    #[inline(always)]
    pub(super) fn pull<T: Real>(&self, row: usize, x: &[T]) -> T {
        let (c, w) = (&self.columns[row], &self.arms[row]);
        assert!(x.len() == self.columns.len(), "vector and matrix sizes differ");
        // SAFETY: every column is the number of a row, as `new` gave it and nothing changes it, and x has a value for each.
        let term = |k: usize| T::from_f64(w[k] as f64) * *unsafe { x.get_unchecked(c[k] as usize) };
        let mut sum = [T::default(); 2];
        for k in 0..ARMS / 2 {
            sum[0] += term(2 * k);
            sum[1] += term(2 * k + 1);
        }
        sum[0] + sum[1]
    }

    /// The rows that a row meets.
    pub(super) fn neighbours(&self, row: usize) -> impl Iterator<Item = u32> {
        let arms = self.columns[row].iter().zip(&self.arms[row]);
        arms.filter(|(_, w)| **w != 0.0).map(|(c, _)| *c)
    }

    /// The connected piece of each row, numbered in the order of their first rows, and how many there are; pieces
    /// of fewer than `least` rows are not numbered.
    pub(super) fn pieces(&self, least: usize) -> (Vec<u32>, usize) {
        let mut sets = Sets::new(self.len());
        for row in 0..self.len() {
            self.neighbours(row).for_each(|c| sets.join(row as u32, c));
        }
        let mut size = vec![0usize; self.len()];
        let roots: Vec<u32> = (0..self.len() as u32).map(|row| sets.root(row)).collect();
        roots.iter().for_each(|r| size[*r as usize] += 1);
        let (mut number, mut count) = (vec![NONE; self.len()], 0);
        let of = roots.iter().map(|r| {
            if size[*r as usize] >= least && number[*r as usize] == NONE {
                number[*r as usize] = count;
                count += 1;
            }
            number[*r as usize]
        });
        let of: Vec<u32> = of.collect();
        (of, count as usize)
    }

    /// The same matrix with sorted rows.
    pub(super) fn assemble(&self) -> Result<Csr> {
        Csr::from_rows(self.len(), self.len(), |row, entries| {
            entries.push((row as u32, self.diagonal[row]));
            for (c, w) in self.columns[row].iter().zip(&self.arms[row]).filter(|(_, w)| **w != 0.0) {
                entries.push((*c, *w as f64));
            }
        })
    }

    /// Bytes of all arrays.
    pub(super) fn bytes(&self) -> usize {
        self.len() * (8 + 8 * ARMS + 9) + 12 * self.places.number.len()
    }
}

/// The unknown faces sorted by colour, and where the colours begin.
fn by_colour(w: &Weights) -> (Vec<Face>, [usize; COLOURS + 1]) {
    let v = w.tiles.volume();
    let of_tile = |t: usize| {
        let mut found: [Vec<Face>; COLOURS] = Default::default();
        let parity = w.tiles.base(t).iter().sum::<i32>();
        for (l, state) in w.state[t * v..(t + 1) * v].iter().enumerate() {
            let odd = (parity + (l % 8 + l / 8 % 8 + l / 64) as i32).rem_euclid(2) as usize;
            for axis in (0..3).filter(|a| state[*a] == UNKNOWN) {
                found[2 * axis + odd].push(Face { place: (t * v + l) as u32, axis: axis as u8 });
            }
        }
        found
    };
    let tiles: Vec<[Vec<Face>; COLOURS]> = (0..w.tiles.len()).into_par_iter().map(of_tile).collect();
    let (mut faces, mut start) = (Vec::new(), [0; COLOURS + 1]);
    for colour in 0..COLOURS {
        tiles.iter().for_each(|t| faces.extend_from_slice(&t[colour]));
        start[colour + 1] = faces.len();
    }
    (faces, start)
}

impl LinearOperator for Rows {
    fn size(&self) -> usize {
        self.len()
    }

    fn assembled(&self) -> Option<Csr> {
        self.assemble().ok()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        y.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, y)| {
            for (i, y) in y.iter_mut().enumerate() {
                let row = chunk * CHUNK + i;
                *y = self.diagonal[row] * x[row] + self.pull(row, x);
            }
        });
    }
}
