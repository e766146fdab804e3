//! Velocity from an old lattice to the faces of a new one.
//!
//! A face takes the component along its normal of what stood where it came from. Reading faces off the field U that
//! is reconstructed from them is not the identity: it smooths. So a face that both lattices have keeps what the
//! field misses of it, unless the flow has carried the liquid away from it:
//!
//! ```text
//!     u′ = n·U(x − Δt u) + w (u − n·U(x)) ,        w = blend · max(0, 1 − c |Δt u|/d)
//! ```
//!
//! d is the length of the dual edge. A mode that U shows with factor s and whose phase the path turns by θ is multiplied by
//! 1 − s + s e^{iθ}, which is at most one for s from 0 to 1. Among equal cells s is such, and c = 2. Where cells of two
//! sizes meet U shows some modes with s > 1 ([`Lattice::is_regular`]): kept in motion, what the field misses there would
//! grow by a share of |Δt u|/d in every step; forgotten at rest, such a mode would be multiplied by s itself and still
//! water would stir. So there c = 50: at rest nothing is left out and nothing is damped, and as soon as liquid moves by a
//! fiftieth of d in a step the field alone counts.
//! Faces are the same if they join the same two circumcentres.
//!
//! Paths shorter than d/[`SHORT`] go by the midpoint alone: with |Δt u| = εd it errs by ε³d/6 at most, which is 6 × 10⁻⁶ d
//! a step and 2 × 10⁻⁴ d on a way as long as d. Checked in tests/bcc.

use super::velocity::{LatticeVelocity, path};
use crate::math::Vec3;
use crate::mesh::bcc::{Lattice, NONE};
use rayon::prelude::*;

/// How soon what the field misses is forgotten on the way, c: between equal cells, and where cells of two sizes meet.
const FADES: f64 = 2.0;
const FADES_AT_GRADING: f64 = 50.0;
/// Paths longer than d over this go by the third-order rule.
const SHORT: f64 = 30.0;

/// What is known of an old lattice.
pub struct Carrier<'a> {
    pub lattice: &'a Lattice,
    pub field: &'a LatticeVelocity<'a>,
    /// Normal velocity of each face, m/s, and whether it is one.
    pub faces: &'a [f64],
    pub known: &'a [bool],
    /// How much of what the field misses is kept, 0 to 1.
    pub blend: f64,
    /// For cells of the new lattice the old one that holds their circumcentre, see [`held_by`]; nothing if the lattice is the same.
    pub from: &'a [u32],
}

/// The cell of an old lattice that holds the circumcentre of each `wanted` cell of a new one, else [`NONE`].
pub fn held_by(old: &Lattice, new: &Lattice, wanted: impl Fn(usize) -> bool + Sync) -> Vec<u32> {
    let one = |c: usize| match wanted(c) {
        true => old.tets.cell[old.locate(&new.circumcentre(c as u32))],
        false => NONE,
    };
    (0..new.cells()).into_par_iter().map(one).collect()
}

impl Carrier<'_> {
    /// Normal velocities of the faces of a new lattice after `dt` seconds; zero where `wanted` says no.
    pub fn carry(&self, target: &Lattice, dt: f64, wanted: impl Fn(usize) -> bool + Sync) -> Vec<f64> {
        let same = std::ptr::eq(self.lattice, target);
        let one = |face: usize| {
            if !wanted(face) {
                return 0.0;
            }
            let (x, dual) = (target.face_crossing(face), target.dual_edge(face));
            let regular = target.is_regular(face);
            let twin = match same {
                true => Some((face, true)),
                false => regular.then(|| self.twin(target, face)).flatten(),
            };
            let here = twin.map_or_else(|| self.field.sample(&x), |(f, _)| self.field.at_crossing(f));
            let read = |x: &Vec3| match twin {
                Some((f, _)) if regular => self.field.sample_beside(f, x),
                _ => self.field.sample(x),
            };
            let length = dual.norm();
            let from = match SHORT * dt * here.norm() < length {
                true => x - read(&(x - here * (0.5 * dt))) * dt,
                false => path(&x, here, -dt, read),
            };
            let n = dual / length;
            let carried = read(&from).dot(&n);
            let fades = if regular { FADES } else { FADES_AT_GRADING };
            let kept = self.blend * (1.0 - fades * (from - x).norm() / length);
            match twin {
                Some((f, along)) if kept > 0.0 && self.known[f] => {
                    let u = if along { self.faces[f] } else { -self.faces[f] };
                    carried + kept * (u - here.dot(&n))
                }
                _ => carried,
            }
        };
        (0..target.faces.cells.len()).into_par_iter().map(one).collect()
    }

    /// The same face of the old lattice, and whether it leads the same way.
    fn twin(&self, target: &Lattice, face: usize) -> Option<(usize, bool)> {
        let sides = target.faces.cells[face];
        let pair = sides.map(|c| target.circumcentres[c as usize]);
        // A cell between equal cubes holds its own circumcentre, so the old lattice has it there or not at all.
        let old = sides.iter().filter_map(|&c| self.from.get(c as usize)).find(|c| **c != NONE)?;
        let cell = *old as usize;
        let places = |f: usize| self.lattice.faces.cells[f].map(|c| self.lattice.circumcentres[c as usize]);
        self.lattice.faces_of(cell).iter().find_map(|&f| match places(f as usize) {
            at if at == pair => Some((f as usize, true)),
            [a, b] if [b, a] == pair => Some((f as usize, false)),
            _ => None,
        })
    }
}
