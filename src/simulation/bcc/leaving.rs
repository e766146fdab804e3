//! Where liquid leaves its wall.
//!
//! The pressure says in which cells a wall that peels holds nothing ([`crate::solver::peel`]): there, and where
//! a gap has opened already, liquid leaves if it moves away from the wall. What falls along a wall touches it without
//! pressing; it stays there until it moves away by a thousandth of the greatest speed, or of what gravity adds in a step.
//! That opens no gap that the tracker could tell.

use super::{Bcc, Mesh, State};
use crate::math::Vec3;
use crate::simulation::liquid::Step;
use crate::solver::bcc::{LatticeVelocity, touches_wall};

/// Liquid leaves a wall from this share of the greatest speed on.
const PARTS: f64 = 1e-3;

impl Bcc {
    /// Whether liquid leaves the wall at a point in front of it; n leads out of the wall.
    pub(super) fn leaves(
        &self,
        mesh: &Mesh,
        velocity: &LatticeVelocity,
        step: &Step,
        x: &Vec3,
        n: &Vec3,
    ) -> bool {
        let (solids, reach) = (step.solids, 2.0 * self.octree.root_width);
        if !solids.wall(x, reach).peel {
            return false;
        }
        let lattice = &mesh.lattice;
        let cell = lattice.tets.cell[lattice.locate(&self.octree.clamp(x))];
        let slip = || velocity.sample(x) - solids.velocity(x, reach);
        let least = PARTS * self.now.fastest.max(step.gravity.norm() * step.dt);
        is_free(&self.now, mesh, cell) && slip().dot(n) > least
    }
}

/// Whether nothing holds the liquid in a cell in front of a wall to it: it is off the wall, or there is none.
fn is_free(state: &State, mesh: &Mesh, cell: u32) -> bool {
    let is_off = |c: &u32| state.liquid[*c as usize] >= 0.0 || state.off.binary_search(c).is_ok();
    // A cell that meets the wall in an edge alone has no pressure on it; those beside it do.
    let lattice = &mesh.lattice;
    let beside = || {
        let faces = lattice.faces_of(cell as usize).iter();
        faces.flat_map(|&f| lattice.faces.cells[f as usize]).any(|c| is_off(&c))
    };
    is_off(&cell) || (!touches_wall(lattice, &state.open, cell) && beside())
}
