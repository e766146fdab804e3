//! A sea beyond sides of the domain: its waves come in, and what reaches the sides is swallowed.
//!
//! The sea is a sum of trains of small waves over a level floor at depth d [Lam32]. With amplitude a, wave vector k of
//! length κ, ω² = gκ tanh κd and the phase α = k·x − ωt, they move water at the height z above the floor by
//!
//! ```text
//!     u = Σ aω k/κ cosh κz / sinh κd cos α        v = Σ aω sinh κz / sinh κd sin α
//! ```
//!
//! Within the width w of a side the liquid is led to that motion: at the distance s from the side its velocity tends to
//! the sea's at the rate
//!
//! ```text
//!     r(s) = R c/w (1 − s/w),        c = √(gd), the speed of the longest waves
//! ```
//!
//! Only half of a wave's energy is motion, so that its height falls at half that rate: a wave that crosses the zone and
//! comes back from the wall is left with e^(−R/2) of its height. R = 6: 5 %, or 0.25 % of its energy; shorter waves are
//! slower and are left with less. Velocity is led before gravity acts on it, or water at rest would be held up within the zone
//! and pumped along. The waves of the sea grow from nothing in their first period. The side is a wall all the same: no current
//! flows through it, and no water is given or taken. What the wall throws back of a wave that is led up to it makes the height
//! differ by some tenths from place to place. Checked by tests/water_line.rs: rest stays rest, a wave that meets a side
//! is gone, one that enters has its height.

use crate::math::Vec3;
use crate::math::elementary::{cos, exp, sin, tanh};
use crate::scene::{LineSide, Scene};
use std::f64::consts::PI;

/// Cells from a side within which velocity is led, if the scene does not say.
const WIDTH: f64 = 12.0;
/// How strongly velocity is led.
const LEAD: f64 = 6.0;

/// One train of waves at a moment.
struct Train {
    amplitude: f64,
    /// Wave vector, 1/m.
    k: Vec3,
    omega: f64,
    /// Phase at the origin.
    phase: f64,
}

/// The sea at a moment.
pub(super) struct WaterLine {
    sides: Vec<LineSide>,
    low: Vec3,
    high: Vec3,
    height: f64,
    width: f64,
    /// Rate at the side, 1/s.
    rate: f64,
    trains: Vec<Train>,
}

impl WaterLine {
    /// The sea of a scene at a frame, under gravity of g m/s² downwards.
    pub fn at(scene: &Scene, frame: f64, g: f64) -> Option<Self> {
        let (line, domain) = (scene.water_line.as_ref()?, scene.domain.as_ref()?);
        let (low, high) = (Vec3::from(domain.min), Vec3::from(domain.max));
        let (depth, time) = (line.height - low.y, scene.seconds(frame));
        let g = g.max(1e-9);
        let train = |wave: &crate::scene::Wave| {
            let along = Vec3::new(wave.direction[0], 0.0, wave.direction[2]).normalize();
            let kappa = 2.0 * PI / wave.length;
            let omega = (g * kappa * tanh(kappa * depth)).sqrt();
            let begun = (time * omega / (2.0 * PI)).clamp(0.0, 1.0);
            let phase = wave.phase.to_radians() - omega * time;
            Train { amplitude: 0.5 * wave.height * begun, k: along * kappa, omega, phase }
        };
        let width = line.width.unwrap_or(WIDTH * scene.cell());
        Some(Self {
            sides: line.sides.clone(),
            low,
            high,
            height: line.height,
            width,
            rate: LEAD * (g * depth).sqrt() / width,
            trains: line.waves.iter().map(train).collect(),
        })
    }

    /// Velocity of the sea at a point.
    pub fn velocity(&self, x: &Vec3) -> Vec3 {
        let depth = self.height - self.low.y;
        let of_train = |w: &Train| {
            let kappa = w.k.norm();
            // Above the level at rest the motion is that at the level, or the exponentials would run away.
            let z = (x.y - self.low.y).clamp(0.0, depth);
            let (up, down) = (exp(kappa * (z - depth)), exp(-kappa * (z + depth)));
            let full = 1.0 - exp(-2.0 * kappa * depth);
            let angle = w.k.dot(x) + w.phase;
            let along = w.k * ((up + down) / full * cos(angle) / kappa);
            (along + Vec3::y() * ((up - down) / full * sin(angle))) * (w.amplitude * w.omega)
        };
        self.trains.iter().map(of_train).sum()
    }

    /// Distance from a side, positive inside the domain.
    fn off_side(&self, side: LineSide, x: &Vec3) -> f64 {
        let (axis, upper) = side.axis();
        if upper { self.high[axis] - x[axis] } else { x[axis] - self.low[axis] }
    }

    /// Acceleration that leads liquid of velocity v at x to the motion of the sea in a step of dt seconds. Spray, whose
    /// depth is negative, flies freely.
    pub fn lead(&self, x: &Vec3, v: &Vec3, depth: f64, dt: f64) -> Vec3 {
        let near = self.sides.iter().map(|side| self.off_side(*side, x)).fold(f64::INFINITY, f64::min);
        let share = 1.0 - (near / self.width).max(0.0);
        if share <= 0.0 || depth < 0.0 {
            return Vec3::zeros();
        }
        (self.velocity(x) - v) * ((1.0 - exp(-self.rate * share * dt)) / dt)
    }
}
