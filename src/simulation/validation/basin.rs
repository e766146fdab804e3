//! Water in basins: at rest, and swinging in its first mode.
//!
//! **Rest.** Nothing may move: the greatest speed of any particle over √(g L), at any frame.
//!
//! **Sloshing.** Linear waves in a basin of length L and depth H have ω² = g k tanh k H, k = π/L. The
//! surface starts at rest as H + A cos k x with A = 0.05 L. Liquid between floor and surface gives
//!
//!   ∫ cos(k x) dV = w ∫ (H + η) cos(k x) dx = w a L/2,    w the width of the slab,
//!
//! so the amplitude a of the mode is a sum over particles and needs no idea of a surface. ω is π over
//! the mean time between its zeros. At this steepness the frequency of a wave of finite height differs
//! from the linear one by (k A)²/8 = 0.3 % in deep water, and by less here.

use super::measure::{Series, integral, zeros};
use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use crate::math::elementary::{cos, tanh};
use serde_json::json;
use std::f64::consts::PI;

/// Water at rest in a closed tank, filled to a level that is no multiple of a cell.
pub fn still_tank(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let scene = json!({"meniscus": 1, "frames": [0, 100],
        "domain": {"min": [0, 0, 0], "max": [1, 0.7, 0.625]}, "resolution": {"divisions": 24},
        "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [1, 0.333, 0.625]}}}]});
    still("still-tank", scene, 0.333, effort, cancel)
}

/// Water at rest in a round cup that the grid cuts anyhow.
pub fn still_cup(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let scene = json!({"meniscus": 1, "frames": [0, 100],
        "domain": {"min": [-0.12, 0, -0.12], "max": [0.12, 0.24, 0.12]}, "resolution": {"cell": 0.008},
        "initial": [{"shape": {"cylinder": {"from": [0, 0.012, 0], "to": [0, 0.1, 0], "radius": 0.075}}}],
        "colliders": [{"shape": {"cup": {"radius": 0.06, "height": 0.15, "thickness": 0.027, "rim": 0.006}}}]});
    still("still-cup", scene, 0.073, effort, cancel)
}

fn still(
    name: &str,
    scene: serde_json::Value,
    depth: f64,
    effort: Effort,
    cancel: &Cancel,
) -> Result<Vec<Figure>> {
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut fastest = 0.0f64;
    advance(&mut sim, effort.pick(48, 8), cancel, |sim, _| {
        fastest = sim.particles().velocity.iter().fold(fastest, |m, v| m.max(v.norm()));
    })?;
    Ok(vec![Figure::new(name, fastest / (GRAVITY * depth).sqrt(), 0.0, 1e-3)])
}

/// The frequency of the first mode in a basin 1 m long and 0.5 m deep, 32 cells to the length.
pub fn sloshing(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let (length, depth, cells) = (1.0, 0.5, 32);
    let (cell, k) = (length / cells as f64, PI / length);
    let omega = (GRAVITY * k * tanh(k * depth)).sqrt();
    let mesh = slab_below(|x| depth + 0.05 * length * cos(k * x), [-0.25, 1.25], [-0.25, 0.25]);
    let scene = json!({"meniscus": 1, "frames": [0, 400], "fps": 60,
        "domain": {"min": [0, 0, 0], "max": [length, 0.75, cell]}, "resolution": {"cell": cell},
        "initial": [{"shape": {"mesh": {"file": "wave"}}}]});
    let mut sim = simulation(scene, &mesh)?;
    let mut amplitude = Series::new();
    let periods = effort.pick(3.0, 1.5);
    let frames = (60.0 * periods * 2.0 * PI / omega) as usize;
    advance(&mut sim, frames, cancel, |sim, time| {
        let mode = integral(sim.particles(), |x| cos(k * x.x));
        amplitude.push((time, 2.0 * mode / (length * cell)));
    })?;
    let zeros = zeros(&amplitude);
    let value = match zeros.as_slice() {
        [first, .., last] => PI * (zeros.len() - 1) as f64 / (last - first),
        _ => f64::NAN,
    };
    let figure = Figure::new("sloshing-frequency", value, omega, 0.02 * omega);
    Ok(vec![figure.with_swing("height of the wave, m", amplitude, omega)])
}

/// The closed mesh of what is below a curve y(x), from well under the floor.
pub fn slab_below(height: impl Fn(f64) -> f64, [x0, x1]: [f64; 2], [z0, z1]: [f64; 2]) -> TriMesh {
    const PIECES: u32 = 192;
    let bottom = -0.25;
    let mut mesh = TriMesh::default();
    for i in 0..=PIECES {
        let x = x0 + (x1 - x0) * f64::from(i) / f64::from(PIECES);
        let y = height(x);
        mesh.positions.extend([
            Vec3::new(x, bottom, z0),
            Vec3::new(x, y, z0),
            Vec3::new(x, y, z1),
            Vec3::new(x, bottom, z1),
        ]);
    }
    let mut quad = |a: u32, b: u32, c: u32, d: u32| mesh.triangles.extend([[a, b, c], [a, c, d]]);
    for i in 0..PIECES {
        for side in 0..4 {
            let (a, b) = (4 * i + side, 4 * i + (side + 1) % 4);
            quad(a, b, b + 4, a + 4);
        }
    }
    let last = 4 * PIECES;
    quad(3, 2, 1, 0);
    quad(last, last + 1, last + 2, last + 3);
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slab_is_closed_and_has_the_volume_below_its_curve() {
        let slab = slab_below(|x| 0.5 + x, [-0.25, 1.25], [-0.25, 0.25]);
        slab.check("slab").unwrap();
        // Mean height 1 over a bottom at −0.25, 1.5 long and 0.5 wide.
        assert!((slab.volume() - 1.25 * 1.5 * 0.5).abs() < 1e-12, "{}", slab.volume());
    }
}
