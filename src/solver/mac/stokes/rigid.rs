//! The part of the Schur complement that belongs to rigid motion.
//!
//! Thick liquid that only walls along which it slides hold up moves as a whole more easily than it shears: A⁻¹ is
//! 1/mass on its rigid motions R and a thousandth of that elsewhere. Pressure at the walls must know, or a solve
//! takes one iteration after the other to find out. With Z = D R, K = RᵀA R and P the inverse of the rest,
//!
//! ```text
//!     S ≈ P⁻¹ + Z K⁻¹ Zᵀ,        S⁻¹ ≈ P − P Z (K + ZᵀP Z)⁻¹ (P Z)ᵀ
//! ```
//!
//! for each piece of liquid on its own: pieces share no rows, so six vectors (three in the plane) hold all of them.
//! Where walls hold a piece, K is large and nothing changes.

use super::super::viscosity::ViscousSystem;
use super::divergence::Divergence;
use crate::error::Result;
use crate::grid::NONE;
use crate::linalg::{DenseLdlt, LinearOperator};

/// Pieces of fewer faces than this are left to the iteration.
const FEW: usize = 60;

/// The correction.
pub(super) struct Rigid {
    width: usize,
    /// The piece of each row of D; [`NONE`] if it has none.
    piece: Vec<u32>,
    /// P Z, row by row.
    pz: Vec<f64>,
    factors: Vec<DenseLdlt>,
}

impl Rigid {
    /// The correction of `p`, which must be linear.
    pub(super) fn new(
        system: &ViscousSystem,
        d: &Divergence,
        mut p: impl FnMut(&[f64], &mut [f64]),
    ) -> Result<Option<Self>> {
        let (of_face, pieces) = system.pieces(FEW);
        let (n, m, (width, motions)) = (of_face.len(), d.cells.len(), system.rigid_motions());
        if pieces == 0 || m == 0 {
            return Ok(None);
        }
        let piece: Vec<u32> = (0..m)
            .map(|row| {
                d.rows.row(row).0.iter().map(|c| of_face[*c as usize]).find(|k| *k != NONE).unwrap_or(NONE)
            })
            .collect();
        let column = |k: usize| -> Vec<f64> {
            (0..n).map(|row| if of_face[row] == NONE { 0.0 } else { motions[row * width + k] }).collect()
        };
        let mut small = vec![vec![0.0; width * width]; pieces];
        let (mut z, mut pz) = (vec![0.0; m * width], vec![0.0; m * width]);
        let (mut ar, mut dr, mut pdr) = (vec![0.0; n], vec![0.0; m], vec![0.0; m]);
        for k in 0..width {
            let r = column(k);
            system.operator().apply(&r, &mut ar);
            for row in (0..n).filter(|row| of_face[*row] != NONE) {
                for j in 0..width {
                    small[of_face[row] as usize][j * width + k] += motions[row * width + j] * ar[row];
                }
            }
            d.rows.multiply(&r, &mut dr);
            p(&dr, &mut pdr);
            for row in 0..m {
                (z[row * width + k], pz[row * width + k]) = (dr[row], pdr[row]);
            }
        }
        for row in (0..m).filter(|row| piece[*row] != NONE) {
            for j in 0..width {
                for k in 0..width {
                    small[piece[row] as usize][j * width + k] += z[row * width + j] * pz[row * width + k];
                }
            }
        }
        // A cycle in f32 is symmetric to its rounding.
        let factor = |s: &Vec<f64>| {
            let even: Vec<f64> =
                (0..width * width).map(|i| 0.5 * (s[i] + s[i % width * width + i / width])).collect();
            DenseLdlt::new(width, &even)
        };
        let factors = small.iter().map(factor).collect::<Result<Vec<_>>>();
        // A piece without a proper mass is left alone with all others.
        Ok(factors.ok().map(|factors| Self { width, piece, pz, factors }))
    }

    /// z ← z − P Z (K + ZᵀP Z)⁻¹ (P Z)ᵀ r.
    pub(super) fn correct(&self, r: &[f64], z: &mut [f64]) {
        let width = self.width;
        let mut sums = vec![vec![0.0; width]; self.factors.len()];
        let rows = || self.piece.iter().enumerate().filter(|(_, p)| **p != NONE);
        for (row, piece) in rows() {
            let sum = &mut sums[*piece as usize];
            (0..width).for_each(|k| sum[k] += self.pz[row * width + k] * r[row]);
        }
        self.factors.iter().zip(&mut sums).for_each(|(f, s)| f.solve(s));
        for (row, piece) in rows() {
            let sum = &sums[*piece as usize];
            z[row] -= (0..width).map(|k| self.pz[row * width + k] * sum[k]).sum::<f64>();
        }
    }
}
