//! Rigid motions beside the cycle.
//!
//! Nothing resists a rigid motion R of a piece of liquid that no wall holds but its mass, while shear is resisted
//! by μΔt/(ρh²) times as much. A cycle in f32 cannot tell a small number from the difference of two large ones: its
//! answer along R is noise from 10⁵ on. So R is taken out of what the cycle gets and solved for on its own, with
//! E = RᵀA R of each piece (six unknowns, three in the plane), as balancing methods do [Man93]:
//!
//! ```text
//!     z = Q r + (1 − Q A) C (1 − A Q) r,        Q = R E⁻¹ Rᵀ,        C the cycle
//! ```
//!
//! which is symmetric and positive definite if C is. Pieces that walls hold have nothing to gain and are left out.
//! Sums are taken over chunks of rows and added in their order, so the bits do not depend on the threads.

use super::rows::Rows;
use crate::grid::NONE;
use crate::linalg::{DenseLdlt, LinearOperator, Preconditioner};
use crate::math::CHUNK;
use rayon::prelude::*;

/// Pieces of fewer faces than this are left to the cycle.
const FEW: usize = 24;
/// A motion is free if it costs less than this share of what shear costs.
const EASE: f64 = 0.05;

/// Six numbers of a piece; three in the plane.
type Six = [f64; 6];

/// The motions of all pieces that are free to move.
#[derive(Debug)]
pub(super) struct Rigid {
    width: usize,
    /// The piece of each row; [`NONE`] if it has none.
    piece: Vec<u32>,
    /// R and A R, row by row.
    motion: Vec<f64>,
    push: Vec<f64>,
    factors: Vec<DenseLdlt>,
}

impl Rigid {
    /// The free motions of a matrix; `motion` has `width` of them for each row, `mass` its masses.
    pub(super) fn new(rows: &Rows, mass: &[f64], (width, motion): (usize, Vec<f64>)) -> Option<Self> {
        let (mut piece, count) = rows.pieces(FEW);
        if count == 0 {
            return None;
        }
        let n = rows.len();
        let mut push = vec![0.0; n * width];
        let (mut r, mut ar) = (vec![0.0; n], vec![0.0; n]);
        for k in 0..width {
            r.iter_mut().enumerate().for_each(|(row, r)| *r = motion[row * width + k]);
            rows.apply(&r, &mut ar);
            ar.iter().enumerate().for_each(|(row, ar)| push[row * width + k] = *ar);
        }
        let mut energy = vec![vec![0.0; width * width]; count];
        let mut inertia = vec![[0.0; 6]; count];
        let (mut shear, mut faces) = (vec![0.0; count], vec![0.0; count]);
        for row in (0..n).filter(|row| piece[*row] != NONE) {
            let (p, at) = (piece[row] as usize, row * width);
            for j in 0..width {
                inertia[p][j] += mass[row] * motion[at + j] * motion[at + j];
                for k in 0..width {
                    energy[p][j * width + k] += motion[at + j] * push[at + k];
                }
            }
            shear[p] += rows.diagonal[row];
            faces[p] += mass[row];
        }
        let free = |p: usize| {
            let stiffness = shear[p] / f64::max(faces[p], 1e-30);
            (0..width).any(|k| energy[p][k * width + k] < EASE * stiffness * inertia[p][k])
        };
        let mut number = vec![NONE; count];
        let mut factors = Vec::new();
        for p in (0..count).filter(|p| free(*p)) {
            // A row that walls touch is symmetric to its rounding.
            let e = &energy[p];
            let even: Vec<f64> =
                (0..width * width).map(|i| 0.5 * (e[i] + e[i % width * width + i / width])).collect();
            if let Ok(factor) = DenseLdlt::new(width, &even) {
                number[p] = factors.len() as u32;
                factors.push(factor);
            }
        }
        piece.iter_mut().filter(|p| **p != NONE).for_each(|p| *p = number[*p as usize]);
        (!factors.is_empty()).then_some(Self { width, piece, motion, push, factors })
    }

    pub(super) fn bytes(&self) -> usize {
        self.piece.len() * (4 + 16 * self.width)
    }

    /// E⁻¹ of the products of the columns of R or A R with a vector, for each piece.
    fn measure(&self, columns: &[f64], r: &[f64]) -> Vec<Six> {
        let width = self.width;
        let of_chunk = |c: usize| {
            let mut sums: Vec<(u32, Six)> = Vec::new();
            for row in c * CHUNK..((c + 1) * CHUNK).min(r.len()) {
                let piece = self.piece[row];
                if piece == NONE {
                    continue;
                }
                let at = match sums.iter().position(|(p, _)| *p == piece) {
                    Some(at) => at,
                    None => {
                        sums.push((piece, [0.0; 6]));
                        sums.len() - 1
                    }
                };
                let column = &columns[row * width..(row + 1) * width];
                sums[at].1.iter_mut().zip(column).for_each(|(s, m)| *s += m * r[row]);
            }
            sums
        };
        let parts: Vec<Vec<(u32, Six)>> =
            (0..r.len().div_ceil(CHUNK)).into_par_iter().map(of_chunk).collect();
        let mut all = vec![[0.0; 6]; self.factors.len()];
        for (piece, sum) in parts.iter().flatten() {
            all[*piece as usize].iter_mut().zip(sum).for_each(|(a, s)| *a += s);
        }
        self.factors.iter().zip(&mut all).for_each(|(f, s)| f.solve(&mut s[..width]));
        all
    }

    /// x ← x + sign times the columns of R or A R times what belongs to each piece.
    fn add(&self, columns: &[f64], sign: f64, amounts: &[Six], x: &mut [f64]) {
        let width = self.width;
        x.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(row, x)| {
            if let Some(amount) = amounts.get(self.piece[row] as usize) {
                let column = &columns[row * width..(row + 1) * width];
                *x += sign * column.iter().zip(amount).map(|(m, a)| m * a).sum::<f64>();
            }
        });
    }

    /// z of the header from r, with the cycle as C.
    pub(super) fn balance(&self, r: &[f64], z: &mut [f64], cycle: &mut impl Preconditioner) {
        let moved = self.measure(&self.motion, r);
        let mut rest = r.to_vec();
        self.add(&self.push, -1.0, &moved, &mut rest);
        cycle.apply(&rest, z);
        let back = self.measure(&self.push, z);
        self.add(&self.motion, -1.0, &back, z);
        self.add(&self.motion, 1.0, &moved, z);
    }
}
