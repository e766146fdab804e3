//! The convergence problems of [Bat10, section 4.8] in the plane, each as a stream function and a pressure.
//!
//! u = (ψ_y, −ψ_x) and p hold after the step; the velocity before it is u* = u + Δt/ρ (∇p − μ∇²u), without the parts
//! that the solve leaves out. ρ = 1, Δt = 1, μ = 0.1, the block covers [−1.5, 1.5]². The statements follow the published
//! ones except where those do not fulfil their own boundary conditions: the sign of u* in 4.1 and the inner radius in
//! the blend of 4.7.

use super::jet::Jet;
use crate::solver::stokes::Physics;

/// Viscosity of every problem, Pa·s.
pub const VISCOSITY: f64 = 0.1;
/// Half the width of the block, m.
pub const HALF_WIDTH: f64 = 1.5;

/// A problem in the plane.
pub struct Case {
    pub table: &'static str,
    pub physics: Physics,
    /// Free surfaces: the radii between which there is liquid.
    pub liquid: Option<(f64, f64)>,
    /// Walls: the radii between which there is room.
    pub room: Option<(f64, f64)>,
    /// Turn of the inner wall, 1/s, clockwise.
    pub turn: f64,
    stream: fn(Jet, Jet) -> Jet,
    pressure: fn(Jet, Jet) -> Jet,
}

/// The exact state at a point.
pub struct Exact {
    pub velocity: [f64; 2],
    pub before: [f64; 2],
    pub pressure: f64,
    /// τ_xx and τ_xy.
    pub stress: [f64; 2],
}

const VISCOUS: Physics = Physics::Viscosity { trace_free: true };

/// Tables 4.1 to 4.8.
pub const CASES: [Case; 8] = [
    Case {
        table: "4.1",
        physics: Physics::Pressure,
        liquid: Some((0.0, 1.0)),
        room: None,
        turn: 0.0,
        stream: |x, y| x * y * y,
        pressure: |x, y| x * x + y * y - Jet::constant(1.0),
    },
    Case {
        table: "4.2",
        physics: Physics::Pressure,
        liquid: None,
        room: Some((0.0, 1.0)),
        turn: 0.0,
        stream: |x, y| (x * x + y * y).times(0.5),
        pressure: |x, y| x * y * y * y,
    },
    Case {
        // u = (r³/3 − 3r²/4 + r/2)(−y, x), so ψ = −∫ r(…)dr.
        table: "4.3",
        physics: VISCOUS,
        liquid: Some((0.5, 1.0)),
        room: None,
        turn: 0.0,
        stream: |x, y| radius(x, y).polynomial(&[0.0, 0.0, 0.0, -1.0 / 6.0, 3.0 / 16.0, -1.0 / 15.0]),
        pressure: |_, _| Jet::constant(0.0),
    },
    Case {
        // u = ((r − 1)(r − ½)/r)(−y, x).
        table: "4.4",
        physics: VISCOUS,
        liquid: None,
        room: Some((0.5, 1.0)),
        turn: 0.0,
        stream: |x, y| radius(x, y).polynomial(&[0.0, -0.5, 0.75, -1.0 / 3.0]),
        pressure: |_, _| Jet::constant(0.0),
    },
    Case {
        table: "4.5",
        physics: Physics::Stokes,
        liquid: Some((0.0, 0.75)),
        room: None,
        turn: 0.0,
        stream: |x, y| free_stream(x, y, 0.0),
        pressure: |x, y| free_pressure(x, y, 0.0),
    },
    Case {
        table: "4.6",
        physics: Physics::Stokes,
        liquid: None,
        room: Some((0.5, 1.0)),
        turn: 0.0,
        stream: |x, y| radius(x, y).polynomial(&[64.0, -384.0, 832.0, -768.0, 256.0]),
        pressure: |x, y| x * y,
    },
    Case {
        table: "4.7",
        physics: Physics::Stokes,
        liquid: Some((0.0, 0.75)),
        room: Some((0.1, f64::INFINITY)),
        turn: 0.0,
        stream: |x, y| free_stream(x, y, 0.1),
        pressure: |x, y| free_pressure(x, y, 0.1),
    },
    Case {
        table: "4.8",
        physics: Physics::Stokes,
        liquid: None,
        room: Some((0.5, 1.0)),
        turn: 2.0,
        stream: |x, y| radius(x, y).polynomial(&[0.25, 0.5, 2.25, -3.0, 1.0]),
        pressure: |x, y| x * y,
    },
];

fn radius(x: Jet, y: Jet) -> Jet {
    (x * x + y * y).sqrt()
}

/// 0 with all its derivatives that matter at r = `inner`, 1 with none at r = 0.75.
fn blend(r: Jet, inner: f64) -> Jet {
    let s = (r - Jet::constant(inner)).times(1.0 / (0.75 - inner));
    s * s * s * s.polynomial(&[10.0, -15.0, 6.0])
}

fn swing(r: Jet) -> Jet {
    r.ln().times(3f64.sqrt())
}

/// r cos 2θ cos(√3 ln r), which bears no traction on any circle together with [`free_pressure`], blended to rest inside.
fn free_stream(x: Jet, y: Jet, inner: f64) -> Jet {
    let r = radius(x, y);
    (x * x - y * y) * r.recip() * swing(r).cos() * blend(r, inner)
}

/// 4√3 μ sin 2θ sin(√3 ln r)/r.
fn free_pressure(x: Jet, y: Jet, inner: f64) -> Jet {
    let r = radius(x, y);
    let turned = (x * y).times(2.0) * (r * r * r).recip();
    turned * swing(r).sin() * blend(r, inner).times(4.0 * 3f64.sqrt() * VISCOSITY)
}

impl Case {
    /// The exact state at a point.
    pub fn exact(&self, x: f64, y: f64) -> Exact {
        // The fields vanish towards the centre or do not reach it; there only the formulas fail.
        let x = if x.abs() + y.abs() < 1e-9 { 1e-9 } else { x };
        let (jx, jy) = Jet::variables(x, y);
        let (psi, p) = ((self.stream)(jx, jy), (self.pressure)(jx, jy));
        let d = |i, j| psi.derivative(i, j);
        let velocity = [d(0, 1), -d(1, 0)];
        let mu = if self.physics == Physics::Pressure { 0.0 } else { VISCOSITY };
        let before = [
            velocity[0] + p.derivative(1, 0) - mu * (d(2, 1) + d(0, 3)),
            velocity[1] + p.derivative(0, 1) + mu * (d(3, 0) + d(1, 2)),
        ];
        let stress = [2.0 * mu * d(1, 1), mu * (d(0, 2) - d(2, 0))];
        Exact { velocity, before, pressure: p.value(), stress }
    }

    /// Distance to the free surface, negative in liquid.
    pub fn liquid_distance(&self, r: f64) -> f64 {
        self.liquid.map_or(-1e30, |span| between(span, r))
    }

    /// Distance to walls, negative in solid.
    pub fn wall_distance(&self, r: f64) -> f64 {
        self.room.map_or(1e30, |span| -between(span, r))
    }
}

/// Distance to a ring, negative in it.
fn between((inner, outer): (f64, f64), r: f64) -> f64 {
    if inner > 0.0 { (inner - r).max(r - outer) } else { r - outer }
}
