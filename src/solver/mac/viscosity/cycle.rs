//! Multigrid for viscosity as a preconditioner.
//!
//! Coarse levels are the same equations on cells twice as wide ([`super::weights`]): their eighths are the
//! cells of the finer level, so liquid keeps its volume and thin liquid its lightness, and rigid motions
//! are free of stress on every level. A coarse correction is interpolated linearly, as velocity would be,
//!
//! ```text
//!     along its own axis      1  or  ½ ½               coarse faces        |       |       |
//!     along the two others    ¾ ¼                      fine faces          |   |   |   |   |
//! ```
//!
//! with the weights of faces that do not exist given to the others, and zero at given faces. One sweep of
//! Gauss–Seidel through the colours before the coarse correction and one in the opposite order after it
//! make the cycle symmetric and positive definite. Everything is kept in f32; a colour is computed from
//! the others in parallel, so the bits do not depend on the threads. The idea is that of [AHB19], with
//! coloured relaxation instead of boxes along the boundary.
//!
//! Coarse cells know cut cells only on the average, so what is left there is left to the fine level: the faces
//! that are cut, beside a wall or at the surface, and their neighbours, are relaxed once more before the first
//! sweep and after the last. A second time would save one iteration in fifteen and cost more than that.

use super::places::COLOURS;
use super::rows::Rows;
use super::shares::{self, Shares};
use super::weights::{ABSENT, Units, Weights, others};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::grid::{NONE, SIDE};
use crate::linalg::{Csr, DenseLdlt, Preconditioner, vector};
use crate::math::CHUNK;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// A level with at most this many unknowns is solved directly.
const BOTTOM_UNKNOWNS: usize = 300;
/// A coarse level must be smaller than this share of the one above it.
const LEAST_GAIN: f64 = 0.6;
/// Sweeps over the rim before and after those over all.
const RIM_SWEEPS: usize = 1;
/// A face with less than this share of its mass is cut.
const WHOLE: f32 = 0.999;
/// Sweeps over the bottom when it cannot be factored.
const BOTTOM_SWEEPS: usize = 30;

/// The rows along walls and surface: for each colour and each chunk of its rows, which of them.
type Rim = [Vec<Vec<Range<usize>>>; COLOURS];

/// One level with the way to the next.
#[derive(Debug, Default)]
struct Level {
    rows: Arc<Rows>,
    inverse: Vec<f32>,
    rim: Rim,
    /// From the next level to this one and back; without entries on the last level.
    prolong: Csr<f32>,
    restrict: Csr<f32>,
    x: Vec<f32>,
    b: Vec<f32>,
    r: Vec<f32>,
}

/// The levels below the matrix of a step.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    levels: Vec<Level>,
    bottom: Option<DenseLdlt>,
    work: Vec<f64>,
    /// On large grids a cycle takes longer than anybody likes to wait.
    cancel: Cancel,
}

impl Cycle {
    /// The levels of `rows`, made from its weights and shares.
    pub(super) fn new(
        rows: &Arc<Rows>,
        weights: &Weights,
        shares: &Shares,
        mu: &[f32],
        units: Units,
        cancel: &Cancel,
    ) -> Result<Self> {
        let mut levels = vec![Level::new(rows.clone(), weights, units)];
        cancel.check()?;
        let (mut tiles, mut coarse_shares, mut coarse_mu) = shares::coarsen(&weights.tiles, shares, mu);
        let (mut finer, mut units) = (None::<Weights>, units);
        while levels[levels.len() - 1].rows.len() > BOTTOM_UNKNOWNS {
            let flat = tiles.is_flat();
            // Eight times the volume, a quarter of the square of a derivative.
            units.mass *= if flat { 4.0 } else { 8.0 };
            units.beta *= if flat { 1.0 } else { 2.0 };
            let above = finer.as_ref().unwrap_or(weights);
            let made = above.coarser(tiles, &coarse_shares, &coarse_mu, units, cancel)?;
            let rows = Rows::new(&made, cancel)?;
            let fine = levels.len() - 1;
            if rows.len() == 0 || rows.len() as f64 > LEAST_GAIN * levels[fine].rows.len() as f64 {
                break;
            }
            let prolong = prolongation(&levels[fine].rows, above, &rows, &made)?;
            cancel.check()?;
            // One thread turns the matrix round while the others go on.
            let (restrict, (next, level)) = rayon::join(
                || prolong.transpose(),
                || {
                    let next = shares::coarsen(&made.tiles, &coarse_shares, &coarse_mu);
                    (next, Level::new(Arc::new(rows), &made, units))
                },
            );
            (levels[fine].restrict, levels[fine].prolong) = (restrict, prolong);
            (tiles, coarse_shares, coarse_mu) = next;
            levels.push(level);
            finer = Some(made);
        }
        let last = &levels[levels.len() - 1].rows;
        let bottom = if last.len() <= 2 * BOTTOM_UNKNOWNS { factor(last) } else { None };
        Ok(Self { work: vec![0.0; last.len()], levels, bottom, cancel: cancel.clone() })
    }

    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.levels.iter().map(|l| l.rows.bytes() + 16 * l.x.len() + 16 * l.prolong.entries()).sum()
    }

    /// x of the first level from its b.
    fn run(&mut self) {
        let count = self.levels.len();
        for l in 0..count - 1 {
            let (fine, coarse) = self.levels.split_at_mut(l + 1);
            let fine = &mut fine[l];
            if self.cancel.is_cancelled() {
                return;
            }
            fine.x.fill(0.0);
            (0..RIM_SWEEPS).for_each(|_| fine.sweep(true, false));
            fine.sweep(false, false);
            fine.residual();
            fine.restrict.multiply(&fine.r, &mut coarse[0].b);
        }
        self.solve_bottom();
        for l in (0..count - 1).rev() {
            let (fine, coarse) = self.levels.split_at_mut(l + 1);
            let fine = &mut fine[l];
            if self.cancel.is_cancelled() {
                return;
            }
            fine.prolong.add_to(&coarse[0].x, &mut fine.x);
            fine.sweep(false, true);
            (0..RIM_SWEEPS).for_each(|_| fine.sweep(true, true));
        }
    }

    fn solve_bottom(&mut self) {
        let Some(last) = self.levels.last_mut() else { return };
        match &self.bottom {
            Some(factor) => {
                self.work.iter_mut().zip(&last.b).for_each(|(w, b)| *w = *b as f64);
                factor.solve(&mut self.work);
                last.x.iter_mut().zip(&self.work).for_each(|(x, w)| *x = *w as f32);
            }
            None => {
                last.x.fill(0.0);
                // To and fro, which keeps the cycle symmetric.
                for n in 0..BOTTOM_SWEEPS {
                    last.sweep(false, n % 2 == 1);
                }
            }
        }
    }
}

impl Preconditioner for Cycle {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let size = vector::max_norm(r);
        if !(size > 0.0 && size.is_finite()) {
            // Zero maps to zero; what is not finite is passed on for the caller to refuse.
            return vector::scaled_copy(size, r, z);
        }
        let b = &mut self.levels[0].b;
        b.par_iter_mut().with_min_len(CHUNK).zip(r).for_each(|(b, r)| *b = (r / size) as f32);
        self.run();
        let x = &self.levels[0].x;
        z.par_iter_mut().with_min_len(CHUNK).zip(x).for_each(|(z, x)| *z = *x as f64 * size);
    }
}

impl Level {
    fn new(rows: Arc<Rows>, weights: &Weights, units: Units) -> Self {
        let n = rows.len();
        let rim = rim(&rows, weights, units);
        let inverse = rows.diagonal.par_iter().with_min_len(CHUNK).map(|d| (1.0 / d) as f32).collect();
        let zero = || vec![0.0; n];
        Self { rows, inverse, rim, x: zero(), b: zero(), r: zero(), ..Self::default() }
    }

    /// Relax the colours one after the other, or in the opposite order: all rows, or those of the rim.
    fn sweep(&mut self, rim: bool, back: bool) {
        for n in 0..COLOURS {
            self.relax(if back { COLOURS - 1 - n } else { n }, rim);
        }
    }

    /// Relax the rows of one colour, which do not meet.
    fn relax(&mut self, colour: usize, rim: bool) {
        let (from, to) = (self.rows.places.start[colour], self.rows.places.start[colour + 1]);
        let Self { rows, inverse, rim: along, x, b, r, .. } = self;
        let all = 0..CHUNK;
        let parts = |chunk: usize, length: usize| {
            let parts: &[Range<usize>] = if rim { &along[colour][chunk] } else { std::slice::from_ref(&all) };
            parts.iter().map(move |p| p.start..p.end.min(length))
        };
        r[from..to].par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, r)| {
            for part in parts(chunk, r.len()) {
                let (first, r) = (from + chunk * CHUNK + part.start, &mut r[part]);
                rows.pull(first, x, r);
                let given = b[first..].iter().zip(&inverse[first..]);
                r.iter_mut().zip(given).for_each(|(r, (b, inverse))| *r = (b - *r) * inverse);
            }
        });
        let old = x[from..to].par_chunks_mut(CHUNK).zip(r[from..to].par_chunks(CHUNK));
        old.enumerate().for_each(|(chunk, (x, r))| {
            parts(chunk, r.len()).for_each(|part| x[part.clone()].copy_from_slice(&r[part]));
        });
    }

    /// r ← b − A x after a sweep, which has left nothing in the last colour.
    fn residual(&mut self) {
        let Self { rows, x, b, r, .. } = self;
        let (others, last) = r.split_at_mut(rows.places.start[COLOURS - 1]);
        others.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, r)| {
            let first = chunk * CHUNK;
            rows.pull(first, x, r);
            let own = rows.diagonal[first..].iter().zip(&x[first..]).zip(&b[first..]);
            r.iter_mut().zip(own).for_each(|(r, ((d, x), b))| *r = b - *d as f32 * x - *r);
        });
        last.fill(0.0);
    }
}

/// The rows that are cut or lack a neighbour, and the neighbours of these.
fn rim(rows: &Rows, weights: &Weights, units: Units) -> Rim {
    let arms = match (units.draft, weights.tiles.is_flat()) {
        (true, flat) => 6 - 2 * flat as usize,
        (false, flat) => 14 - 6 * flat as usize,
    };
    let cut = |row: usize| {
        let f = rows.places.faces[row];
        let mass = weights.weight(f.place as usize).mass[f.axis as usize];
        mass < WHOLE * units.mass || rows.neighbours(row).count() < arms
    };
    let own: Vec<bool> = (0..rows.len()).into_par_iter().with_min_len(CHUNK).map(cut).collect();
    let near = |row: usize| own[row] || rows.neighbours(row).any(|c| own[c as usize]);
    std::array::from_fn(|colour| {
        let all: Vec<usize> = (rows.places.start[colour]..rows.places.start[colour + 1]).collect();
        all.par_chunks(CHUNK).map(|chunk| stretches(chunk.iter().map(|row| near(*row)))).collect()
    })
}

/// Where something is so.
fn stretches(so: impl Iterator<Item = bool>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (i, _) in so.enumerate().filter(|(_, so)| *so) {
        match found.last_mut().filter(|last| last.end == i) {
            Some(last) => last.end += 1,
            None => found.push(i..i + 1),
        }
    }
    found
}

/// The factors of the last level, if it has any.
fn factor(rows: &Rows) -> Option<DenseLdlt> {
    let (matrix, n) = (rows.assemble().ok()?, rows.len());
    let mut dense = vec![0.0; n * n];
    for row in 0..n {
        let (columns, values) = matrix.row(row);
        columns.iter().zip(values).for_each(|(c, v)| dense[row * n + *c as usize] = *v);
    }
    DenseLdlt::new(n, &dense).ok()
}

/// Linear interpolation from coarse faces to fine ones.
fn prolongation(fine: &Rows, fine_weights: &Weights, coarse: &Rows, weights: &Weights) -> Result<Csr<f32>> {
    let (tiles, v) = (&weights.tiles, fine_weights.tiles.volume());
    let flat = tiles.is_flat();
    // The coarse tile over each fine one.
    let over = |[x, y, z]: &[i32; 3]| tiles.find(&[x >> 1, y >> 1, if flat { *z } else { z >> 1 }]);
    let over: Vec<u32> = fine_weights.tiles.coords().iter().map(over).collect();
    Csr::from_rows(fine.len(), coarse.len(), |row, entries| {
        let face = fine.places.faces[row];
        let (place, a) = (face.place as usize, face.axis as usize);
        let (tile, l) = (over[place / v], place % v);
        if tile == NONE {
            return;
        }
        let local = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)];
        let coord = fine_weights.tiles.coords()[place / v];
        // In cells of the coarse tile, halved.
        let cell: [i32; 3] =
            std::array::from_fn(|b| local[b] as i32 + if coord[b] & 1 == 1 { SIDE as i32 } else { 0 });
        let pair = |axis: usize| -> [(i32, f32); 2] {
            let at = cell[axis] >> 1;
            let odd = cell[axis] & 1;
            match axis {
                2 if flat => [(0, 1.0), (0, 0.0)],
                _ if axis == a && odd == 0 => [(at, 1.0), (0, 0.0)],
                _ if axis == a => [(at, 0.5), (at + 1, 0.5)],
                _ => [(at, 0.75), (at + 2 * odd - 1, 0.25)],
            }
        };
        let [b, c] = others(a);
        let mut sum = 0.0;
        for (i, wi) in pair(a) {
            for (j, wj) in pair(b) {
                for (k, wk) in pair(c) {
                    let w = wi * wj * wk;
                    let mut at = [0; 3];
                    (at[a], at[b], at[c]) = (i, j, k);
                    if w == 0.0 {
                        continue;
                    }
                    let Some(place) = tiles.near(tile as usize, at[0], at[1], at[2]) else { continue };
                    match coarse.places.number[place][a] {
                        NONE if weights.state[place][a] == ABSENT => continue,
                        NONE => (),
                        number => entries.push((number, w)),
                    }
                    sum += w;
                }
            }
        }
        if sum > 0.0 && sum != 1.0 {
            entries.iter_mut().for_each(|e| e.1 /= sum);
        }
    })
}
