//! Viscosity on the faces themselves: the equations of the vertices seen through H [BH11].
//!
//! ```text
//!     (M + Δt Hᵀ K H) u = M u* ,      M_f = ρ w_f A_f θ_f d_f
//! ```
//!
//! Unknowns are the normal velocities of the known faces; H makes velocities at vertices of them
//! ([`transfer`](super::transfer)) and Hᵀ hands the forces of the vertices back, so D̂ = HᵀKH is symmetric and keeps momentum.
//! H reproduces rigid motions, so D̂ leaves them alone. M is the mass that the pressure gives a face. Nothing is multiplied out.
//! Where walls hold vertices, v = P H u + g, and PKP stands for K. What lies in the kernel of H is not damped.
//!
//! The inverse is approximated by the formula of Woodbury with (H M⁻¹Hᵀ)⁻¹ ≈ N, the masses of the vertices, and one
//! cycle of their multigrid for (N + ΔtK)⁻¹:
//!
//! ```text
//!     z = M⁻¹r − M⁻¹Hᵀ (N − N (N + ΔtK)⁻¹ N) H M⁻¹r
//! ```
//!
//! which is M⁻¹ on the kernel of H and what a step of the vertices does elsewhere.

use super::nodal::{NodalSolver, NodalViscosity};
use super::transfer::FacesToNodes;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::linalg::{KrylovParams, LinearOperator, Preconditioner, SolveInfo, cg};
use crate::math::Vec3;
use rayon::prelude::*;

/// The equations of the faces.
pub struct FaceViscosity<'a> {
    pub system: &'a NodalViscosity<'a>,
    pub to_nodes: &'a FacesToNodes<'a>,
    /// Mass of each face over the density, m³; faces that are not known have any positive number.
    pub mass: &'a [f64],
}

impl FaceViscosity<'_> {
    /// Change the velocities of the known faces.
    pub fn solve(&self, velocity: &mut Vec<f64>, tolerance: f64, cancel: &Cancel) -> Result<SolveInfo> {
        let mut cycle = Lifted { faces: self, solver: self.system.solver()? };
        cancel.check()?;
        let given: Vec<Vec3> = self.system.holds.iter().map(|h| h.given()).collect();
        let mut pull = self.system.forces(&given);
        self.free(&mut pull);
        let lost = self.to_nodes.transpose(&pull);
        let b: Vec<f64> = (0..self.mass.len()).map(|f| self.mass[f] * velocity[f] - lost[f]).collect();
        let params = KrylovParams { tolerance, ..KrylovParams::default() };
        cg(self, &mut cycle, &b, velocity, &params, cancel)
    }

    /// Keep of vectors at nodes what is free there.
    fn free(&self, nodes: &mut [Vec3]) {
        nodes.par_iter_mut().zip(&self.system.holds).for_each(|(v, hold)| *v = hold.free * *v);
    }

    fn free_nodes(&self, faces: &[f64]) -> Vec<Vec3> {
        let mut v = self.to_nodes.apply(faces);
        self.free(&mut v);
        v
    }
}

impl LinearOperator for FaceViscosity<'_> {
    fn size(&self) -> usize {
        self.mass.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let mut forces = self.system.forces(&self.free_nodes(x));
        self.free(&mut forces);
        let back = self.to_nodes.transpose(&forces);
        y.par_iter_mut().enumerate().for_each(|(f, y)| *y = self.mass[f] * x[f] + back[f]);
    }
}

/// The preconditioner.
struct Lifted<'a> {
    faces: &'a FaceViscosity<'a>,
    solver: NodalSolver,
}

impl Preconditioner for Lifted<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let FaceViscosity { system, mass, to_nodes } = self.faces;
        z.par_iter_mut().enumerate().for_each(|(f, z)| *z = r[f] / mass[f]);
        let mut moved = self.faces.free_nodes(z);
        moved.par_iter_mut().zip(&system.mass).for_each(|(v, m)| *v *= *m);
        let mut after = self.solver.precondition(system, &moved);
        after.par_iter_mut().zip(&moved).zip(&system.mass).for_each(|((a, b), m)| *a = b - *a * *m);
        self.faces.free(&mut after);
        let back = to_nodes.transpose(&after);
        z.par_iter_mut().enumerate().for_each(|(f, z)| *z -= back[f] / mass[f]);
    }
}
