//! Viscosity on the graded lattice: finite volumes about the vertices of tets, fully implicit [BH11].
//!
//! Velocity v is a vector at every vertex and linear on tets, so each tet has one rate of strain and one stress
//! [TBFH03]. A step of viscosity minimises what it changes and the energy that shearing costs,
//!
//! ```text
//!     min_v  Σ_i m_i |v_i − v_i*|² + Δt Σ_t 2 μ_t V_t |ε_t|² ,     ε = (∇v + ∇vᵀ)/2 ,   τ = 2με
//!
//!     (M + Δt K) v = M v* ,     K_ij = Σ_t μ_t V_t ((∇λ_i·∇λ_j) 1 + ∇λ_j ∇λ_iᵀ)
//! ```
//!
//! with λ_i the linear shares of the vertices in a tet. V_t is the liquid in the tet, cut exactly by the linear distance, and
//! a quarter of ρV_t goes to each vertex as its mass m_i. Only liquid counts, so the surface feels no traction, τn = 0,
//! without anything being done for it. The matrix is symmetric and positive definite; K vanishes for rigid motions and,
//! on liquid that hangs together, for nothing else: momentum and angular momentum of a free drop stay.
//!
//! Vertices on or in a wall are held ([`Hold`]): one that sticks has the wall's velocity; one that slides keeps the
//! wall's velocity along the normal and is free along the wall, where it feels no traction. With P the projection on
//! the free directions, P(M + ΔtK)P is solved, with what is held on the right-hand side.
//!
//! As a draft each component is smoothed on its own, K_ij = Σ μV (∇λ_i·∇λ_j) 1. Then rotation is damped and thick liquid
//! neither turns nor bends freely.
//!
//! Solved by conjugate gradients with algebraic multigrid that knows the six rigid motions. Signs: distances are negative in the liquid and in solids. Between vertices and faces: [`transfer`]; the
//! step on faces: [`step`]; together with pressure: [`creep`].
//! Checked in tests/bcc.

mod creep;
mod faces;
mod nodal;
mod step;
mod transfer;
mod weights;

pub use creep::{Crept, creep};
pub use faces::FaceViscosity;
pub use nodal::{NodalSolver, NodalViscosity};
pub use step::{Coupling, Moving, Thickened, stresses, thicken};
pub use transfer::FacesToNodes;

use crate::error::{Error, Result};
use crate::math::{Mat3, Vec3};
use crate::mesh::bcc::Lattice;
use faces::LEAST_MASS;

/// Where thick liquid is on a lattice.
#[derive(Clone, Copy)]
pub struct Thick<'a> {
    pub lattice: &'a Lattice,
    /// Signed distance to the free surface at each vertex, negative in the liquid.
    pub liquid: &'a [f64],
    /// Signed distance to solids at each vertex, negative inside.
    pub solid: &'a [f64],
    /// Dynamic viscosity of each tet, Pa·s.
    pub viscosity: &'a [f64],
    /// The velocity of vertices that move as they are told, such as those in a source.
    pub given: Option<&'a (dyn Fn(u32) -> Option<Vec3> + Sync)>,
}

impl Thick<'_> {
    /// The distance to solids at a vertex; one on the wall up to rounding is on it.
    fn solid_at(&self, vertex: u32) -> f64 {
        let s = self.solid[vertex as usize];
        if s.abs() < 1e-3 * self.lattice.octree().domain().unit() { 0.0 } else { s }
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str, message: String| Err(Error::invalid(what, message));
        for (what, values) in [("liquid distance", self.liquid), ("solid distance", self.solid)] {
            if values.len() != self.lattice.vertices.len() {
                return wrong(
                    what,
                    format!("{} numbers for {} vertices", values.len(), self.lattice.vertices.len()),
                );
            }
            // A solid may be infinitely far away; nothing is nowhere.
            if let Some(at) = values.iter().position(|v| v.is_nan()) {
                return wrong(what, format!("number {at} is not a number"));
            }
        }
        let tets = self.lattice.tets.vertices.len();
        if self.viscosity.len() != tets {
            return wrong("viscosity", format!("{} numbers for {tets} tets", self.viscosity.len()));
        }
        match self.viscosity.iter().find(|m| !(**m >= 0.0 && m.is_finite())) {
            Some(bad) => wrong("viscosity", format!("{bad} Pa·s; it must be finite and not negative")),
            None => Ok(()),
        }
    }
}

/// How a wall holds a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// Projection on the directions in which the vertex is free.
    pub free: Mat3,
    /// Velocity of the wall, m/s.
    pub velocity: Vec3,
}

impl Hold {
    /// Not held.
    pub fn free() -> Self {
        Self { free: Mat3::identity(), velocity: Vec3::zeros() }
    }

    /// Held altogether.
    pub fn stick(velocity: Vec3) -> Self {
        Self { free: Mat3::zeros(), velocity }
    }

    /// Held along the normals of walls, which may be one, two or three and need not be perpendicular.
    pub fn slide(normals: &[Vec3], velocity: Vec3) -> Self {
        let mut free = Mat3::identity();
        for normal in normals {
            // What the earlier normals leave of this one; nearly parallel walls are one wall.
            if let Some(n) = (free * normal).try_normalize(1e-3 * normal.norm()) {
                free -= n * n.transpose();
            }
        }
        Self { free, velocity }
    }

    fn is_stuck(&self) -> bool {
        self.free.trace() < 0.5
    }

    /// The part of the velocity that is given.
    fn given(&self) -> Vec3 {
        self.velocity - self.free * self.velocity
    }
}

/// What a viscous step is told.
#[derive(Clone, Copy, Debug)]
pub struct ThickOptions {
    /// Step, s.
    pub dt: f64,
    /// Density, kg/m³.
    pub density: f64,
    /// Relative residual at which the solve stops.
    pub tolerance: f64,
    /// Smooth each component of velocity on its own.
    pub draft: bool,
}
