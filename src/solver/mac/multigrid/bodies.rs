//! Bodies in the conjugate gradients over split fields.
//!
//! The rows K of [`crate::solver::rigid`] are numbered as split fields are. Products with A + KᵀCK add one
//! pass over the cells that bodies touch each way. The cycle knows nothing of bodies: it preconditions A
//! alone. What light bodies add is taken out by the coarse space of [`crate::solver::light`]. Closed regions that
//! a body feels need help of their own, as A has nothing to say of their constants: those are corrected
//! additively by the inverse of KᵀCK on constants.

use super::Multigrid;
use super::gradients::Vectors;
use super::level::{BLACK, Level, RED};
use super::rows::split_place;
use crate::error::Result;
use crate::grid::{NONE, SIDE, Tiles};
use crate::linalg::vector::Real;
use crate::solver::light::Light;
use crate::solver::mac::stencil::{Stencil, beside};
use crate::solver::rigid::{Coupling, Floating};

/// Bodies, numbered as the split fields.
#[derive(Debug, Default)]
pub(super) struct SplitBodies {
    coupling: Coupling,
    pub(super) floating: Floating,
    light: Option<Light>,
    /// For each place of a split field the felt region that it belongs to; empty if there is none.
    label: Vec<u32>,
}

impl Multigrid {
    /// Number the rows of bodies, given over the places of the tiles, as split fields are.
    pub(super) fn split_bodies(
        &self,
        tiles: &Tiles,
        stencil: &Stencil,
        coupling: &Coupling,
    ) -> Result<SplitBodies> {
        let (v, half) = (tiles.volume(), self.levels[0].shape.half());
        let n = half * self.active.len();
        let number = |place: usize| {
            let at = self.active.binary_search(&((place / v) as u32)).ok()?;
            let l = place % v;
            let (colour, within) = split_place(l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE));
            Some(colour * n + at * half + within)
        };
        let row = |place: usize, others: &mut Vec<(u32, f64)>| {
            for side in 0..6 {
                let Some(other) = beside(tiles, place / v, place % v, side) else { continue };
                // A face belongs to its upper cell.
                let c = stencil.coupling[side / 2][if side % 2 == 0 { place } else { other }];
                if c > 0.0 {
                    others.push((other as u32, c as f64));
                }
            }
            stencil.diagonal[place]
        };
        let mut split = SplitBodies {
            coupling: Coupling { rows: coupling.rows.renumbered(number), middle: coupling.middle.clone() },
            light: Light::new(coupling, &row)?.map(|l| l.renumbered(number)),
            ..SplitBodies::default()
        };
        if self.regions.count() == 0 {
            return Ok(split);
        }
        let places: Vec<u32> = (0..tiles.cells() as u32).collect();
        let labels = self.regions.labels(tiles, &places);
        let region = |place: usize| Some(labels[place] as usize).filter(|r| *r != NONE as usize);
        split.floating = Floating::new(coupling, self.regions.sizes(), region);
        if split.floating.is_empty() {
            return Ok(split);
        }
        split.label = vec![NONE; 2 * n];
        for (place, label) in labels.iter().enumerate().filter(|(_, l)| **l != NONE) {
            let felt = split.floating.regions.binary_search(&(*label as usize));
            if let (Ok(k), Some(at)) = (felt, number(place)) {
                split.label[at] = k as u32;
            }
        }
        Ok(split)
    }

    /// x ← x + Q r: whether there are light bodies, so that the residual is another one now. r is the b of the
    /// first level, in the unit given.
    pub(super) fn lift(&self, unit: f64, v: &mut Vectors) -> bool {
        let Some(light) = self.bodies.as_ref().and_then(|b| b.light.as_ref()) else { return false };
        let amounts = light.amounts(|i| unit * at(&self.levels[0].b, i), |_| 0.0);
        light.add(&amounts, |i, more| *place(&mut v.x, i) += more);
        true
    }

    /// Correct what the cycle made of the b of the first level for the bodies, of which it knows nothing.
    pub(super) fn correct(&mut self) {
        self.correct_constants();
        let Some(light) = self.bodies.as_ref().and_then(|b| b.light.as_ref()) else { return };
        let Level { b, x, .. } = &mut self.levels[0];
        let amounts = light.amounts(|i| at(b, i), |i| at(x, i));
        light.add(&amounts, |i, more| *place(x, i) += more as f32);
    }

    /// Add to what the cycle made the constants of closed regions that bodies feel.
    fn correct_constants(&mut self) {
        let Some(bodies) = self.bodies.as_ref().filter(|b| !b.label.is_empty()) else { return };
        let Level { b: [red, black], x, .. } = &mut self.levels[0];
        let mut sums = vec![0.0; bodies.floating.regions.len()];
        for (r, label) in red.iter().chain(&*black).zip(&bodies.label).filter(|(_, l)| **l != NONE) {
            sums[*label as usize] += f64::from(*r);
        }
        let constants = bodies.floating.correction(&sums);
        let x = x.iter_mut().flatten().zip(&bodies.label).filter(|(_, l)| **l != NONE);
        x.for_each(|(x, label)| *x += constants[*label as usize] as f32);
    }
}

impl SplitBodies {
    /// out ← out + s KᵀCK p. Returns pᵀKᵀCK p.
    pub(super) fn add<T: Real>(&self, s: f64, p: &[Vec<T>; 2], out: &mut [Vec<T>; 2]) -> f64 {
        self.coupling.add_to(
            s,
            |i| at(p, i),
            |i, more| {
                let out = place(out, i);
                *out = T::from_f64(out.to_f64() + more);
            },
        )
    }
}

/// Number i of a split field.
fn at<T: Real>(field: &[Vec<T>; 2], i: usize) -> f64 {
    let n = field[RED].len();
    (if i < n { field[RED][i] } else { field[BLACK][i - n] }).to_f64()
}

fn place<T>([red, black]: &mut [Vec<T>; 2], i: usize) -> &mut T {
    let n = red.len();
    if i < n { &mut red[i] } else { &mut black[i - n] }
}
