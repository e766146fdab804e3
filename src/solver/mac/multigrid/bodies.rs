//! Bodies in the conjugate gradients over split fields.
//!
//! The rows K of [`crate::solver::rigid`] are numbered as split fields are. Products with A + KᵀCK add one
//! pass over the cells that bodies touch each way. The cycle knows nothing of bodies: it preconditions A
//! alone. What light bodies add is taken out by the coarse space of [`crate::solver::light`]. Closed regions that
//! a body feels need help of their own, as A has nothing to say of their constants: those are corrected
//! additively by the inverse of KᵀCK on constants.

use super::Multigrid;
use super::gradients::Vectors;
use super::level::{BLACK, RED};
use super::rows::split_place;
use crate::error::Result;
use crate::grid::{NONE, SIDE, Tiles};
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

    /// x ← x + Q r: whether there are light bodies, so that the residual is another one now.
    pub(super) fn lift(&self, v: &mut Vectors) -> bool {
        let Some(light) = self.bodies.as_ref().and_then(|b| b.light.as_ref()) else { return false };
        let amounts = light.amounts(|i| v.r[i], |_| 0.0);
        light.add(&amounts, |i, more| v.x[i] += more);
        true
    }

    /// Correct what the cycle made of s·r for the bodies, of which it knows nothing.
    pub(super) fn correct(&mut self, s: f64, r: &[f64]) {
        self.correct_constants(s, r);
        let Some(light) = self.bodies.as_ref().and_then(|b| b.light.as_ref()) else { return };
        let [red, black] = &mut self.levels[0].x;
        let n = red.len();
        let z = |i: usize| f64::from(if i < n { red[i] } else { black[i - n] });
        let amounts = light.amounts(|i| s * r[i], z);
        light.add(&amounts, |i, more| *(if i < n { &mut red[i] } else { &mut black[i - n] }) += more as f32);
    }

    /// q ← q + KᵀCK p. Returns pᵀKᵀCK p.
    pub(super) fn add_bodies(&self, s: f64, p: &[f64], q: &mut [f64]) -> f64 {
        self.bodies.as_ref().map_or(0.0, |bodies| bodies.coupling.add(s, p, q))
    }

    /// Add to what the cycle made of s·r the constants of closed regions that bodies feel.
    fn correct_constants(&mut self, s: f64, r: &[f64]) {
        let Some(bodies) = self.bodies.as_ref().filter(|b| !b.label.is_empty()) else { return };
        let mut sums = vec![0.0; bodies.floating.regions.len()];
        for (r, label) in r.iter().zip(&bodies.label).filter(|(_, l)| **l != NONE) {
            sums[*label as usize] += r;
        }
        let constants = bodies.floating.correction(&sums);
        let [red, black] = bodies.label.split_at(bodies.label.len() / 2).into();
        for (colour, label) in [(RED, red), (BLACK, black)] {
            let x = &mut self.levels[0].x[colour];
            for (x, label) in x.iter_mut().zip(label).filter(|(_, l)| **l != NONE) {
                *x += (s * constants[*label as usize]) as f32;
            }
        }
    }
}
