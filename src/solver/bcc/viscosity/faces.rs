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
//! The inverse is approximated by the formula of Woodbury with (H M⁻¹Hᵀ)⁻¹ ≈ N, and one cycle of the multigrid of the
//! vertices for (N + ΔtK)⁻¹:
//!
//! ```text
//!     z = M⁻¹r − M⁻¹Hᵀ (N − N (N + ΔtK)⁻¹ N) H M⁻¹r
//! ```
//!
//! which is M⁻¹ on the kernel of H and what a step of the vertices does elsewhere. It is positive definite if N ≤ (H M⁻¹Hᵀ)⁻¹.
//! N is the masses of the vertices over the largest eigenvalue of their product with H M⁻¹Hᵀ: one in the deep, more where a vertex at
//! the surface is read off few and light faces. Faces that the surface all but touches have at least [`LEAST_MASS`] of
//! their whole mass: else they would outweigh all others.

use super::nodal::{NodalSolver, NodalViscosity};
use super::transfer::FacesToNodes;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::linalg::{KrylovParams, LinearOperator, Preconditioner, SolveInfo, cg};
use crate::math::{Vec3, ordered_sum};
use rayon::prelude::*;

/// The least share of a face's mass that counts.
pub(super) const LEAST_MASS: f64 = 0.1;
/// Rounds of the power method, and how far above what it finds the eigenvalue may lie.
const ROUNDS: usize = 12;
const MARGIN: f64 = 1.3;

/// The equations of the faces.
pub struct FaceViscosity<'a> {
    pub system: &'a NodalViscosity<'a>,
    pub to_nodes: &'a FacesToNodes<'a>,
    /// Mass of each face over the density, m³; faces that are not known have any positive number.
    pub mass: &'a [f64],
}

impl FaceViscosity<'_> {
    /// Change the velocities of the known faces.
    pub fn solve(&self, velocity: &mut [f64], tolerance: f64, cancel: &Cancel) -> Result<SolveInfo> {
        let light = 1.0 / self.largest();
        let mut cycle = Lifted { faces: self, solver: self.system.solver_of(light)?, light };
        cancel.check()?;
        let given: Vec<Vec3> = self.system.holds.iter().map(|h| h.given()).collect();
        let mut pull = self.system.forces(&given);
        self.free(&mut pull);
        let lost = self.to_nodes.transpose(&pull);
        let b: Vec<f64> = (0..self.mass.len()).map(|f| self.mass[f] * velocity[f] - lost[f]).collect();
        let params = KrylovParams { tolerance, ..KrylovParams::default() };
        cg(self, &mut cycle, &b, velocity, &params, cancel)
    }

    /// The largest eigenvalue of the vertices' masses times H M⁻¹Hᵀ, and a little more.
    fn largest(&self) -> f64 {
        let mut v: Vec<Vec3> =
            (0..self.system.nodes.len()).map(|i| Vec3::repeat(1.0 + (i % 3) as f64)).collect();
        let mut found = 1.0f64;
        for _ in 0..ROUNDS {
            self.free(&mut v);
            let mut faces = self.to_nodes.transpose(&v);
            faces.par_iter_mut().zip(self.mass).for_each(|(u, m)| *u /= m);
            let mut next = self.free_nodes(&faces);
            next.par_iter_mut().zip(&self.system.mass).for_each(|(v, m)| *v *= *m);
            // The product is symmetric in the scalar product that masses divide.
            let size = |a: &[Vec3], b: &[Vec3]| {
                let of = |i: usize| a[i].dot(&b[i]) / self.system.mass[i];
                ordered_sum(a.len(), |r| r.map(of).sum())
            };
            let (own, turned) = (size(&v, &v), size(&v, &next));
            if !(own > 0.0 && turned > 0.0) {
                break;
            }
            found = found.max(turned / own);
            let scale = 1.0 / size(&next, &next).sqrt();
            next.par_iter_mut().for_each(|v| *v *= scale);
            v = next;
        }
        MARGIN * found
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
    /// What is left of the masses of vertices.
    light: f64,
}

impl Preconditioner for Lifted<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let FaceViscosity { system, mass, to_nodes } = self.faces;
        z.par_iter_mut().enumerate().for_each(|(f, z)| *z = r[f] / mass[f]);
        let mut moved = self.faces.free_nodes(z);
        let light = self.light;
        moved.par_iter_mut().zip(&system.mass).for_each(|(v, m)| *v *= *m * light);
        let mut after = self.solver.precondition(system, &moved);
        after.par_iter_mut().zip(&moved).zip(&system.mass).for_each(|((a, b), m)| *a = b - *a * (*m * light));
        self.faces.free(&mut after);
        let back = to_nodes.transpose(&after);
        z.par_iter_mut().enumerate().for_each(|(f, z)| *z -= back[f] / mass[f]);
    }
}
