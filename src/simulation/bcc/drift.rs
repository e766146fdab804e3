//! Giving back what a step lost: liquid drifts apart where some has gone missing.
//!
//! Where the tracker has lost volume since liquid ran into a wall or into other liquid ([`Missing`](crate::surface::Missing)), that liquid expands
//! in the next step: a second solve with the matrix of the pressure finds the least drift d with
//!
//! ```text
//!     Σ_f w_f d_f = rate V/Δt        0 through walls, no pressure at the surface
//! ```
//!
//! The surface is carried by u + d, the velocity by u alone, so that giving volume back does not stir the liquid [KLTB19].

use super::{Bcc, EXTENDED, State, fastest, moving};
use crate::error::Result;
use crate::field::Solids;
use crate::math::Vec3;
use crate::math::elementary::cbrt;
use crate::simulation::liquid::Step;
use crate::solver::bcc::{Cut, Embedded, LatticeValues, extend_velocity, fit_cells};

/// The drift is a correction: this is enough.
const TOLERANCE: f64 = 1e-3;

impl Bcc {
    /// The velocity that carries the next surface, where it is not that of the liquid.
    pub(super) fn drift_apart(&mut self, step: &Step, solids: &Solids) -> Result<()> {
        self.next.swiftest = self.next.fastest;
        let mesh = self.next.mesh()?.clone();
        let lattice = &mesh.lattice;
        let State { open, solid, liquid, surface, values, held, .. } = &self.next;
        if surface.missing.is_none() {
            return Ok(());
        }
        let still = vec![0.0; open.len()];
        let cut = Cut { lattice, open, liquid, velocity: &still };
        let mut embedded = Embedded::with_held(&cut, held, |_| 0.0, |_| Vec3::zeros())?;
        let volumes = lattice.cell_volumes();
        for (source, &c) in embedded.graph.source.iter_mut().zip(&embedded.cells) {
            let (c, x) = (c as usize, lattice.circumcentre(c));
            let share = (0.5 - liquid[c] / cbrt(volumes[c])).clamp(0.0, 1.0);
            *source = surface.missing.rate(&x) * share * volumes[c] / step.dt;
        }
        let mut pressure = vec![0.0; lattice.cells()];
        embedded.project(step.dt / self.options.density, &mut pressure, TOLERANCE, step.cancel)?;
        let (mut drift, mut known) = (still, vec![false; open.len()]);
        embedded.store(&mut drift);
        embedded.faces.iter().for_each(|&f| known[f as usize] = true);
        let mut fitted = fit_cells(lattice, &drift, &known)?;
        let own: Vec<bool> = fitted.iter().map(Option::is_some).collect();
        extend_velocity(lattice, &drift, &known, &mut fitted, EXTENDED);
        let mut at_cells: Vec<Vec3> = fitted.into_iter().map(Option::unwrap_or_default).collect();
        moving::lead_along_walls(lattice, (open, solid), &own, solids, &mut at_cells);
        at_cells.iter_mut().zip(&values.at_cells).for_each(|(d, u)| *d += u);
        let moving: Vec<Option<Vec3>> = at_cells.iter().map(|v| Some(*v)).collect();
        self.next.swiftest = fastest(&moving, |c| liquid[c] < 0.0);
        self.next.carry = Some(LatticeValues::new(lattice, &mesh.edges, at_cells)?);
        Ok(())
    }
}
