//! How much of each tet counts in the viscous step.
//!
//! The mass of a tet is the liquid in it that is outside solids, and so is its share of the shear energy away from
//! walls that stick. There the vertices inside the wall have the wall's velocity although they lie behind its
//! surface, and the gradient comes out too small. With s the distance to the solid and s⁺ = max(s, 0) at the
//! vertices, the flow along the wall that grows like s has the gradient ∇s, and the tet sees ∇s⁺. So its volume V counts
//!
//! ```text
//!     κ V ,        κ = (share of V outside the solid) |∇s|²/|∇s⁺|²
//! ```
//!
//! times, which gives this flow its energy. Tets wholly in solids count nothing.

use super::Thick;
use crate::geometry::fraction;
use crate::math::Vec3;
use rayon::prelude::*;

/// A tet with a smaller share of liquid is left out: its vertices would have no inertia to speak of.
const LEAST_SHARE: f64 = 1e-4;
/// A tet of which hardly anything is outside counts at most so many times: its free vertices are at the wall.
const MOST: f64 = 100.0;

/// A tet that takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub tet: u32,
    /// Its four vertices, as nodes.
    pub nodes: [u32; 4],
    /// Liquid in it, m³.
    pub volume: f64,
    /// Δt μ/ρ times the volume that is sheared, m⁵.
    pub stiffness: f64,
}

/// The tets that take part, ascending, with the numbers of vertices where nodes will be; stiffness is the volume.
pub(super) fn elements(thick: &Thick, sticks: impl Fn(u32) -> bool + Sync) -> Vec<Element> {
    let lattice = thick.lattice;
    let one = |tet: usize| {
        let nodes = lattice.tets.vertices[tet];
        let share = fraction::tet(nodes.map(|v| thick.liquid[v as usize]));
        if share < LEAST_SHARE {
            return None;
        }
        let solid = nodes.map(|v| thick.solid_at(v));
        if solid.iter().all(|s| *s <= 0.0) {
            return None;
        }
        let volume = share * lattice.tet_volume(tet);
        if solid.iter().all(|s| *s >= 0.0) {
            return Some(Element { tet: tet as u32, nodes, volume, stiffness: volume });
        }
        let open = fraction::tet(solid.map(|s| -s));
        let stuck = (0..4).any(|k| solid[k] < 0.0 && sticks(nodes[k]));
        let counts = if stuck { open * steepening(&lattice.gradients(tet).0, solid) } else { open };
        let stiffness = volume * counts.min(MOST);
        (open >= LEAST_SHARE).then_some(Element { tet: tet as u32, nodes, volume: volume * open, stiffness })
    };
    (0..lattice.tets.vertices.len()).into_par_iter().filter_map(one).collect()
}

/// |∇s|²/|∇s⁺|².
fn steepening(gradients: &[Vec3; 4], s: [f64; 4]) -> f64 {
    let of = |s: [f64; 4]| (0..4).fold(Vec3::zeros(), |sum, k| sum + gradients[k] * s[k]).norm_squared();
    // Some s is positive and some is not, so the divisor is not zero; it may be tiny.
    of(s) / of(s.map(|s| s.max(0.0))).max(f64::MIN_POSITIVE)
}
