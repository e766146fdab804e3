//! Drops that nothing holds: one that falls, one that is drawn out, and one that swings.
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
//!
//! **Swinging drop.** A disk of radius R whose rim is r = R (1 + ε cos 2θ) is pulled back by its surface tension
//! and swings with ω² = n (n² − 1) σ/ρR³, n = 2 [Ray79]. To first order in ε, ∫ (x² − y²) dV = π R⁴ ε a slab of
//! unit width, so every second zero tells the period. ε = 0.05: the frequency of
//! a finite swing differs by a few ε².

use super::measure::{Series, integral, zeros};
use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Particles;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use crate::math::elementary::{cos, sin_cos};
use serde_json::json;
use std::f64::consts::PI;

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

/// The frequency of a disk of water 20 mm wide that surface tension makes swing, 16 cells to its radius.
pub fn swinging_drop(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let (radius, sigma, density, cells) = (0.01, 0.0728, 1000.0, 16.0);
    let cell = radius / cells;
    let omega = (6.0 * sigma / (density * f64::powi(radius, 3))).sqrt();
    let fps = 400;
    let scene = json!({"meniscus": 1, "frames": [0, 10000], "fps": fps, "gravity": [0, 0, 0],
        "domain": {"min": [-0.02, -0.02, 0], "max": [0.02, 0.02, cell]}, "resolution": {"cell": cell},
        "liquids": [{"density": density, "viscosity": 0, "surface_tension": sigma}],
        "initial": [{"shape": {"mesh": {"file": "drop"}}}]});
    let mesh = prism(|angle| radius * (1.0 + 0.05 * cos(2.0 * angle)), [-cell, 2.0 * cell]);
    let mut sim = simulation(scene, &mesh)?;
    let mut swing = Series::new();
    let periods = effort.pick(2.4, 1.4);
    let frames = (fps as f64 * periods * 2.0 * PI / omega) as usize;
    advance(&mut sim, frames, cancel, |sim, time| {
        swing.push((time, integral(sim.particles(), |x| x.x * x.x - x.y * x.y)));
    })?;
    let mut zeros = zeros(&swing);
    // Whole periods only: particles that are placed a little lopsided lengthen one half and shorten the other.
    zeros.truncate((zeros.len().max(1) - 1) / 2 * 2 + 1);
    let value = match zeros.as_slice() {
        [first, .., last] => PI * (zeros.len() - 1) as f64 / (last - first),
        _ => f64::NAN,
    };
    let figure = Figure::new("swinging-drop-frequency", value, omega, 0.02 * omega);
    Ok(vec![figure.with_swing("sum of x² − y², m⁵", swing, omega)])
}

/// The closed mesh of what is inside a rim r(θ), between two heights along z.
fn prism(rim: impl Fn(f64) -> f64, [low, high]: [f64; 2]) -> TriMesh {
    const PIECES: u32 = 256;
    let mut mesh = TriMesh::default();
    mesh.positions.extend([Vec3::new(0.0, 0.0, low), Vec3::new(0.0, 0.0, high)]);
    for i in 0..PIECES {
        let angle = 2.0 * PI * f64::from(i) / f64::from(PIECES);
        let (s, c) = sin_cos(angle);
        let r = rim(angle);
        mesh.positions.extend([Vec3::new(r * c, r * s, low), Vec3::new(r * c, r * s, high)]);
        let (a, b) = (2 + 2 * i, 2 + 2 * ((i + 1) % PIECES));
        mesh.triangles.extend([[0, b, a], [1, a + 1, b + 1], [a, b, b + 1], [a, b + 1, a + 1]]);
    }
    mesh
}

fn semi_axis(particles: &Particles, axis: usize) -> f64 {
    let volume = integral(particles, |_| 1.0);
    let middle = integral(particles, |x| x[axis]) / volume;
    2.0 * (integral(particles, |x| (x[axis] - middle).powi(2)) / volume).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prism_is_closed_and_has_the_area_of_its_rim() {
        let mesh = prism(|_| 2.0, [-1.0, 0.5]);
        mesh.check("prism").unwrap();
        // A polygon of 256 corners in a circle of radius 2, 1.5 high.
        let area = 0.5 * 256.0 * 4.0 * (2.0 * PI / 256.0).sin();
        assert!((mesh.volume() - 1.5 * area).abs() < 1e-9, "{}", mesh.volume());
    }
}
