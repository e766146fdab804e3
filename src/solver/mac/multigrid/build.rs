//! Set-up: from a stencil to levels.
//!
//! A coarse cell is the aggregate of 2×2×2 cells (2×2×1 when flat). Its coupling with the next one is half
//! the sum of the couplings between them: in a network of pipes the way is twice as long [SHM22]. The pull
//! of the air e = c/θ on a cell is that of a pipe of length θ; seen from the middle of the aggregate the
//! pipe is longer by half a cell,
//!
//! ```text
//!     ½ Σ e′,   e′ = 2c/(θ + ½) = 4e/(2 + e/c)         c: the coupling of two cells without walls
//! ```
//!
//! which is e for θ = ½, keeps an aggregate that touches the surface from being pinned to it by one cell
//! with θ near 0, and keeps e′ = 0 in closed components.
//!
//! Prolongation to a cell with the outer couplings c₁, c₂, c₃ and the pull e follows one damped Jacobi step
//! on piecewise constant values, w_k = ω c_k, w₀ = 1 − ω(e + Σ c_k). ω = 1/(4 max c) makes it linear
//! interpolation where nothing is cut; ω ≤ 1/(e + Σ c_k) keeps all weights positive.

use super::level::{BLACK, Level, RED, TASK};
use super::rows::{LANES, ROW_COUPLINGS, Shape, is_odd, split_place};
use crate::error::Result;
use crate::grid::{NONE, SIDE, Tiles};
use crate::linalg::DenseLdlt;
use crate::solver::mac::stencil::{ROUNDING, SixCouplings, Stencil, beside, face_neighbours};
use rayon::prelude::*;

/// A matrix in the order of the tiles, from which the next one is made.
#[derive(Debug, Default)]
pub(super) struct Natural {
    pub(super) tiles: Tiles,
    pub(super) coupling: [Vec<f32>; 3],
    /// The pull of the air.
    pub(super) excess: Vec<f32>,
}

/// The pull of the air on each cell, and the largest coupling.
pub(super) fn excess(tiles: &Tiles, stencil: &Stencil, out: &mut Vec<f32>) -> Result<f32> {
    out.resize(tiles.cells(), 0.0);
    let v = tiles.volume().max(1);
    let of_tile = |(t, out): (usize, &mut [f32])| {
        let six = SixCouplings::new(tiles, &stencil.coupling, t);
        let diagonal = &stencil.diagonal[t * v..(t + 1) * v];
        let mut largest = 0f32;
        for (l, out) in out.iter_mut().enumerate() {
            let six = six.of(l);
            largest = six.iter().fold(largest, |m, c| m.max(*c));
            let rest = diagonal[l] - six.iter().map(|c| *c as f64).sum::<f64>();
            *out = if rest > ROUNDING * diagonal[l] { rest as f32 } else { 0.0 };
        }
        largest
    };
    let largest: Vec<f32> = out.par_chunks_mut(v).enumerate().with_min_len(TASK).map(of_tile).collect();
    Ok(largest.into_iter().fold(0.0, f32::max))
}

/// The tiles of the next level, and for each the tiles it holds.
pub(super) fn coarse_tiles(tiles: &Tiles, level: &mut Level, coarse: &mut Level) -> Tiles {
    let flat = tiles.is_flat();
    let halve = |c: &[i32; 3]| [c[0] >> 1, c[1] >> 1, if flat { c[2] } else { c[2] >> 1 }];
    let eighth = |c: &[i32; 3]| (c[0] & 1 | (c[1] & 1) << 1 | if flat { 0 } else { (c[2] & 1) << 2 }) as u8;
    let coords = tiles.coords().iter().map(halve).collect();
    let made = Tiles::new(2.0 * tiles.h(), tiles.origin(), flat, coords);
    level.parent = tiles.coords().iter().map(|c| (made.find(&halve(c)), eighth(c))).collect();
    coarse.children = vec![[NONE; 8]; made.len()];
    for (t, &(parent, eighth)) in level.parent.iter().enumerate() {
        coarse.children[parent as usize][eighth as usize] = t as u32;
    }
    made
}

/// Fill the level from its matrix. Returns the number of unknowns.
pub(super) fn fill(
    level: &mut Level,
    tiles: &Tiles,
    coupling: &[Vec<f32>; 3],
    diagonal: impl Fn(usize, &[f32; 6]) -> f32 + Sync,
) -> usize {
    level.shape = Shape { depth: tiles.depth().max(1) };
    level.beside = (0..tiles.len()).map(|t| face_neighbours(tiles, t)).collect();
    level.resize();
    let (shape, v, half) = (level.shape, tiles.volume(), level.shape.half());
    let [red, black] = &mut level.coupling;
    let [red_inverse, black_inverse] = &mut level.inverse;
    let chunks = (
        red.par_chunks_mut(6 * half),
        black.par_chunks_mut(6 * half),
        red_inverse.par_chunks_mut(half),
        black_inverse.par_chunks_mut(half),
        level.weight.par_chunks_mut(4 * half),
    );
    let counts = chunks.into_par_iter().enumerate().with_min_len(TASK).map(
        |(t, (red, black, red_inverse, black_inverse, weight))| {
            let six = SixCouplings::new(tiles, coupling, t);
            let mut count = 0;
            for row in 0..shape.rows() {
                let (y, z) = (row % SIDE, row / SIDE);
                for (colour, c, inverse) in
                    [(RED, &mut *red, &mut *red_inverse), (BLACK, &mut *black, &mut *black_inverse)]
                {
                    let odd = is_odd(colour, y, z) as usize;
                    for i in 0..LANES {
                        let l = SIDE * row + 2 * i + odd;
                        let six = six.of(l);
                        let d = diagonal(t * v + l, &six);
                        (0..6).for_each(|side| c[ROW_COUPLINGS * row + LANES * side + i] = six[side]);
                        inverse[LANES * row + i] = if d > 0.0 { 1.0 / d } else { 0.0 };
                        count += (d > 0.0) as usize;
                        if colour == RED {
                            let w = weights(&six, d, [odd, y % 2, z % 2]);
                            (0..4).for_each(|k| weight[4 * LANES * row + LANES * k + i] = w[k]);
                        }
                    }
                }
            }
            count
        },
    );
    counts.sum()
}

/// The prolongation of one cell; `odd` tells for each axis whether it is the upper one of its aggregate.
fn weights(six: &[f32; 6], d: f32, odd: [usize; 3]) -> [f32; 4] {
    if d <= 0.0 {
        return [0.0; 4];
    }
    let outer: [f32; 3] = std::array::from_fn(|axis| six[2 * axis + odd[axis]]);
    let inner: f32 = (0..3).map(|axis| six[2 * axis + 1 - odd[axis]]).sum();
    // The couplings that leave the aggregate and the pull of the air; rounding must not make it negative.
    let reach = (d - inner).max(outer.iter().sum());
    let largest = six.iter().fold(0.0, |m: f32, c| m.max(*c));
    if reach <= 0.0 {
        return [1.0, 0.0, 0.0, 0.0];
    }
    let omega = if largest * 4.0 > reach { 0.25 / largest } else { 1.0 / reach };
    [1.0 - omega * reach, omega * outer[0], omega * outer[1], omega * outer[2]]
}

/// The matrix of the aggregates. `unit` is the coupling of two cells without walls.
pub(super) fn coarsen(
    fine: &Tiles,
    coupling: &[Vec<f32>; 3],
    excess: &[f32],
    unit: f32,
    children: &[[u32; 8]],
    coarse: &mut Natural,
) {
    let (v, cells, depth) = (fine.volume().max(1), coarse.tiles.cells(), fine.depth());
    coarse.excess.resize(cells, 0.0);
    coarse.coupling.iter_mut().for_each(|c| c.resize(cells, 0.0));
    let [cx, cy, cz] = &mut coarse.coupling;
    let chunks =
        (cx.par_chunks_mut(v), cy.par_chunks_mut(v), cz.par_chunks_mut(v), coarse.excess.par_chunks_mut(v));
    let tile = |(t, (cx, cy, cz, sum)): (usize, (&mut [f32], &mut [f32], &mut [f32], &mut [f32]))| {
        [&mut *cx, cy, cz, sum].into_iter().for_each(|c| c.fill(0.0));
        for (eighth, &child) in children[t].iter().enumerate().filter(|c| *c.1 != NONE) {
            let corner = [eighth % 2 * 4, eighth / 2 % 2 * 4, eighth / 4 * 4];
            let span = child as usize * v..(child as usize + 1) * v;
            let c: [&[f32]; 3] = std::array::from_fn(|a| &coupling[a][span.clone()]);
            let e = &excess[span];
            for row in 0..SIDE * depth {
                let (y, z) = (row % SIDE, row / SIDE);
                let to = ((corner[2] + z / 2) * SIDE + corner[1] + y / 2) * SIDE + corner[0];
                for x in 0..SIDE {
                    let (from, to) = (row * SIDE + x, to + x / 2);
                    sum[to] += 2.0 * e[from] / (2.0 + e[from] / unit);
                    // Only the lower faces of an aggregate leave it.
                    cx[to] += if x % 2 == 0 { 0.5 * c[0][from] } else { 0.0 };
                    cy[to] += if y % 2 == 0 { 0.5 * c[1][from] } else { 0.0 };
                    cz[to] += if z % 2 == 0 { 0.5 * c[2][from] } else { 0.0 };
                }
            }
        }
    };
    chunks.into_par_iter().enumerate().with_min_len(TASK).for_each(tile);
}

/// The last level, solved directly.
#[derive(Debug, Default)]
pub(super) struct Bottom {
    /// Colour and place of each unknown.
    places: Vec<(usize, usize)>,
    factor: Option<DenseLdlt>,
    work: Vec<f64>,
}

impl Bottom {
    /// Factor the matrix of the last level.
    pub(super) fn new(tiles: &Tiles, coupling: &[Vec<f32>; 3], excess: &[f32]) -> Result<Self> {
        let (v, half) = (tiles.volume(), tiles.volume() / 2);
        let (mut number, mut cells) = (vec![NONE; tiles.cells()], Vec::new());
        let couplings = |place: usize| SixCouplings::new(tiles, coupling, place / v).of(place % v);
        for place in 0..tiles.cells() {
            if excess[place] > 0.0 || couplings(place).iter().any(|c| *c > 0.0) {
                number[place] = cells.len() as u32;
                cells.push(place);
            }
        }
        let n = cells.len();
        let mut dense = vec![0.0; n * n];
        for (row, &place) in cells.iter().enumerate() {
            let six = couplings(place);
            dense[row * n + row] = excess[place] as f64 + six.iter().map(|c| *c as f64).sum::<f64>();
            for (side, c) in six.into_iter().enumerate().filter(|s| s.1 > 0.0) {
                if let Some(other) = beside(tiles, place / v, place % v, side) {
                    dense[row * n + number[other] as usize] = -(c as f64);
                }
            }
        }
        let split = |&place: &usize| {
            let l = place % v;
            let (colour, at) = split_place(l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE));
            (colour, place / v * half + at)
        };
        let places = cells.iter().map(split).collect();
        Ok(Self { places, factor: Some(DenseLdlt::new(n, &dense)?), work: vec![0.0; n] })
    }

    /// x ← A⁻¹ b.
    pub(super) fn solve(&mut self, level: &mut Level) {
        let Some(factor) = &self.factor else { return };
        self.places.iter().zip(&mut self.work).for_each(|(&(k, i), w)| *w = level.b[k][i] as f64);
        factor.solve(&mut self.work);
        level.x.iter_mut().for_each(|x| x.fill(0.0));
        self.places.iter().zip(&self.work).for_each(|(&(k, i), w)| level.x[k][i] = *w as f32);
    }
}
