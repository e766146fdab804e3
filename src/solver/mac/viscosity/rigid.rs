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
    motion: Vec<Six>,
    push: Vec<Six>,
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
        let six = |row: usize| std::array::from_fn(|k| if k < width { motion[row * width + k] } else { 0.0 });
        let motion: Vec<Six> = (0..n).map(six).collect();
        let mut push = vec![[0.0; 6]; n];
        let (mut r, mut ar) = (vec![0.0; n], vec![0.0; n]);
        for k in 0..width {
            r.iter_mut().zip(&motion).for_each(|(r, m)| *r = m[k]);
            rows.apply(&r, &mut ar);
            push.iter_mut().zip(&ar).for_each(|(p, ar)| p[k] = *ar);
        }
        let mut energy = vec![vec![0.0; width * width]; count];
        let mut inertia = vec![[0.0; 6]; count];
        let (mut shear, mut faces) = (vec![0.0; count], vec![0.0; count]);
        for row in (0..n).filter(|row| piece[*row] != NONE) {
            let (p, motion, push) = (piece[row] as usize, &motion[row], &push[row]);
            for j in 0..width {
                inertia[p][j] += mass[row] * motion[j] * motion[j];
                for k in 0..width {
                    energy[p][j * width + k] += motion[j] * push[k];
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
        self.piece.len() * (4 + 2 * size_of::<Six>())
    }

    /// E⁻¹ of the products of the columns of R or A R with a vector, for each piece.
    fn measure(&self, columns: &[Six], r: &[f64]) -> Vec<Six> {
        let of_chunk = |c: usize| {
            let rows = c * CHUNK..((c + 1) * CHUNK).min(r.len());
            let mut sums: Vec<(u32, Six)> = Vec::new();
            let mut at = 0;
            for ((piece, column), r) in
                self.piece[rows.clone()].iter().zip(&columns[rows.clone()]).zip(&r[rows])
            {
                if *piece == NONE {
                    continue;
                }
                // Rows of a piece follow each other.
                if sums.get(at).is_none_or(|s| s.0 != *piece) {
                    at = sums.iter().position(|(p, _)| p == piece).unwrap_or(sums.len());
                    if at == sums.len() {
                        sums.push((*piece, [0.0; 6]));
                    }
                }
                let sum = &mut sums[at].1;
                (0..6).for_each(|k| sum[k] += column[k] * r);
            }
            sums
        };
        let parts: Vec<Vec<(u32, Six)>> =
            (0..r.len().div_ceil(CHUNK)).into_par_iter().map(of_chunk).collect();
        let mut all = vec![[0.0; 6]; self.factors.len()];
        for (piece, sum) in parts.iter().flatten() {
            all[*piece as usize].iter_mut().zip(sum).for_each(|(a, s)| *a += s);
        }
        self.factors.iter().zip(&mut all).for_each(|(f, s)| f.solve(&mut s[..self.width]));
        all
    }

    /// x ← x + sign times the columns of R or A R times what belongs to each piece.
    fn add(&self, columns: &[Six], sign: f64, amounts: &[Six], x: &mut [f64]) {
        let rows = x.par_iter_mut().zip(&self.piece).zip(columns).with_min_len(CHUNK);
        rows.for_each(|((x, piece), column)| {
            if let Some(amount) = amounts.get(*piece as usize) {
                *x += sign * (0..6).map(|k| column[k] * amount[k]).sum::<f64>();
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
        let gain: Vec<Six> =
            moved.iter().zip(&back).map(|(m, b)| std::array::from_fn(|k| m[k] - b[k])).collect();
        self.add(&self.motion, 1.0, &gain, z);
    }
}
