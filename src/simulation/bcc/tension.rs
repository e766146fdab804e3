//! Surface tension: the pressure σκ where the surface cuts a dual edge.
//!
//! κ is the curvature of the tracker's distance, positive where liquid is convex, known at the centres of finest cells
//! near the surface and linear between them. The ghost-fluid pressure takes the value where the surface is, as in
//! [`crate::solver::mac::surface_tension`]. Explicit, with the same bound on the step.
//! Checked by `a_drop_is_held_together_by_the_pressure_of_laplace` in
//! tests/bcc.

use super::Bcc;
use crate::grid::curvature;
use crate::math::Vec3;
use rayon::prelude::*;

/// Curvature is known within this many cells of the surface.
const BAND: f64 = 2.5;

impl Bcc {
    /// The pressure at points of the new surface, Pa.
    pub(super) fn surface_pressure(&self, tension: f64) -> Box<dyn Fn(&Vec3) -> f64 + Sync> {
        let set = &self.next.surface.set;
        let h = self.options.cell;
        if tension <= 0.0 || set.tiles.is_empty() {
            return Box::new(|_| 0.0);
        }
        let mut pressure = curvature(&set.tiles, &set.phi, BAND * h, set.band());
        // What curves more than a ball of one cell is noise of the grid.
        pressure.par_iter_mut().for_each(|k| *k = tension * k.clamp(-2.0 / h, 2.0 / h));
        let set = set.clone();
        Box::new(move |x| set.sample(&pressure, 0.0, x))
    }
}
