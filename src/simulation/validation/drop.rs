//! Drops that nothing holds: one that falls, and one that is drawn out.
//!
//! **Free fall.** Pressure has nothing to do: every particle has u = g t to round-off.
//!
//! **Elliptical drop.** A disk of radius 1 without gravity starts with u = A (−x, y). It stays an ellipse
//! of constant area with velocity (−A x, A y). With semi-axes a and b = 1/a its pressure is
//! p₀ (1 − x²/a² − y²/b²), and the two components of momentum, ρ (A² − Ȧ) = 2 p₀/a² and
//! ρ (A² + Ȧ) = 2 p₀/b², leave
//!
//!   ȧ = −A a,    Ȧ = A² (a² − b²)/(a² + b²),
//!
//! whose integral gives the semi-axes below at t A₀ = 0.5 and 1. An ellipse of uniform liquid has
//! ∫ x² dV / V = a²/4, so the axes are sums over particles.

use super::measure::integral;
use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Particles;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use serde_json::json;

/// A ball of water that falls with a sideways velocity.
pub fn free_fall(_: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 100,
        "domain": {"min": [0, 0, 0], "max": [0.6, 1, 0.6]}, "resolution": {"cell": 0.02},
        "initial": [{"shape": {"sphere": {"center": [0.25, 0.8, 0.3], "radius": 0.1}}, "velocity": [0.5, 0, 0]}]});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut worst = 0.0f64;
    advance(&mut sim, 20, cancel, |sim, time| {
        let exact = Vec3::new(0.5, -GRAVITY * time, 0.0);
        let error = sim.particles().velocity.iter().fold(0.0f64, |m, v| m.max((v - exact).norm()));
        worst = worst.max(error / (GRAVITY * time));
    })?;
    Ok(vec![Figure::new("free-fall", worst, 0.0, 1e-9)])
}

/// The semi-axes of a disk that is drawn out, 32 cells to its radius.
pub fn elliptical_drop(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cell = effort.pick(1.0 / 32.0, 1.0 / 16.0);
    let fps = 100;
    let scene = json!({"meniscus": 1, "frames": [0, 100], "fps": fps, "gravity": [0, 0, 0],
        "domain": {"min": [-1.5, -2.5, 0], "max": [1.5, 2.5, cell]}, "resolution": {"cell": cell},
        "initial": [{"shape": {"cylinder": {"from": [0, 0, -1], "to": [0, 0, 1], "radius": 1}},
            "velocity_gradient": [[-1, 0, 0], [0, 1, 0], [0, 0, 0]]}]});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut figures = Vec::new();
    for (moment, [a, b]) in [("0.5", [0.627053, 1.594763]), ("1", [0.439461, 2.275516])] {
        advance(&mut sim, fps / 2, cancel, |_, _| {})?;
        for (axis, name, exact) in [(0, "short", a), (1, "long", b)] {
            let value = semi_axis(sim.particles(), axis);
            figures.push(Figure::new(format!("ellipse-{name}-axis-{moment}"), value, exact, 0.01 * exact));
        }
    }
    Ok(figures)
}

fn semi_axis(particles: &Particles, axis: usize) -> f64 {
    let volume = integral(particles, |_| 1.0);
    let middle = integral(particles, |x| x[axis]) / volume;
    2.0 * (integral(particles, |x| (x[axis] - middle).powi(2)) / volume).sqrt()
}
