//! Velocity from an old lattice to the faces of a new one.
//!
//! A face takes the component along its normal of what stood where it came from. Reading faces off the field U that
//! is reconstructed from them is not the identity: it smooths. So a face that both lattices have keeps what the
//! field misses of it, unless the flow has carried the liquid away from it:
//!
//! ```text
//!     u′ = n·U(x − Δt u) + w (u − n·U(x)) ,        w = blend · max(0, 1 − 2 |Δt u|/d)
//! ```
//!
//! d is the length of the dual edge. With w = blend everywhere a mode that U shows with factor s and the path turns by
//! an angle is multiplied by 1 − s + s e^{iθ}, never more than one. Liquid at rest is not damped at all.
//! Faces are the same if they join the same two circumcentres. Checked in tests/bcc.

use super::velocity::LatticeVelocity;
use crate::mesh::bcc::Lattice;
use rayon::prelude::*;

/// What is known of an old lattice.
pub struct Carrier<'a> {
    pub lattice: &'a Lattice,
    pub field: &'a LatticeVelocity<'a>,
    /// Normal velocity of each face, m/s, and whether it is one.
    pub faces: &'a [f64],
    pub known: &'a [bool],
    /// How much of what the field misses is kept, 0 to 1.
    pub blend: f64,
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
            let (length, from) = (dual.norm(), self.field.trace(&x, -dt));
            let n = dual / length;
            let carried = self.field.sample(&from).dot(&n);
            let kept = self.blend * (1.0 - 2.0 * (from - x).norm() / length);
            let old = if kept > 0.0 { self.twin(target, face, same) } else { None };
            old.map_or(carried, |u| carried + kept * (u - self.field.sample(&x).dot(&n)))
        };
        (0..target.faces.cells.len()).into_par_iter().map(one).collect()
    }

    /// The velocity of the same face of the old lattice, if it has it and knows it.
    fn twin(&self, target: &Lattice, face: usize, same: bool) -> Option<f64> {
        if same {
            return self.known[face].then(|| self.faces[face]);
        }
        let pair = target.faces.cells[face].map(|c| target.circumcentres[c as usize]);
        // The middle lies inside the face, so the tet found there has it; the crossing may lie on its rim, where many meet.
        let cell = self.lattice.tets.cell[self.lattice.locate(&target.face_middle(face))] as usize;
        let places = |f: usize| self.lattice.faces.cells[f].map(|c| self.lattice.circumcentres[c as usize]);
        for &f in self.lattice.faces_of(cell).iter().filter(|f| self.known[**f as usize]) {
            let f = f as usize;
            match places(f) {
                at if at == pair => return Some(self.faces[f]),
                at if [at[1], at[0]] == pair => return Some(-self.faces[f]),
                _ => {}
            }
        }
        None
    }
}
