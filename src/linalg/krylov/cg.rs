//! Preconditioned conjugate gradients for symmetric positive (semi-)definite systems.
//!
//! The classical recurrences [Saa03], with β in the flexible form [Not00]
//! βₖ = −αₖ (zₖ₊₁·Apₖ)/(rₖ·zₖ) = zₖ₊₁·(rₖ₊₁ − rₖ)/(rₖ·zₖ),
//! which equals the usual one for a fixed symmetric M and keeps converging for a cycle that varies a
//! little from one application to the next (K-cycles, f32 hierarchies).
//!
//! For symmetric A and M, successive residuals are M-orthogonal: zₖ₊₁·rₖ = 0. The numerator of β
//! gives this product for nothing. When it is large, a symmetric and a skew probe decide whether A or
//! M is at fault. A direction with pᵀAp ≤ 0 shows a matrix that is not definite.
//!
//! With null vectors, b and every z are projected, so the iteration stays in the range of A.

use super::{Outcome, SolveInfo, StallWatch, System};
use crate::error::Result;
use crate::linalg::operator::LinearOperator;
use crate::linalg::vector;

/// A loss of orthogonality |zₖ₊₁·rₖ| above this share of its Cauchy–Schwarz bound asks for the probe.
const SUSPICIOUS: f64 = 0.05;
/// A relative asymmetry |u·Av − v·Au| that rounding (also of an f32 preconditioner) does not explain.
const ASYMMETRIC: f64 = 1e-4;

/// The vectors of the iteration.
struct Vectors {
    r: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

pub(super) fn solve<A: LinearOperator + ?Sized>(system: &mut System<A>, x: &mut [f64]) -> Result<SolveInfo> {
    let mut v = Vectors { r: system.zeros(), z: system.zeros(), p: system.zeros(), q: system.zeros() };
    let (mut iterations, mut previous) = (0, f64::INFINITY);
    // Each round starts from the true residual; a second one runs only if recurrence and truth part.
    loop {
        system.residual(x, &mut v.r);
        let residual = system.finite(iterations, vector::norm(&v.r))? / system.scale;
        if residual <= system.params.tolerance {
            system.project(x);
            return Ok(system.ended(iterations, residual, Outcome::Converged));
        }
        if residual > 0.5 * previous {
            system.project(x);
            return Ok(system.ended(iterations, residual, Outcome::Stalled));
        }
        previous = residual;
        let outcome = round(system, x, &mut v, &mut iterations)?;
        if outcome != Outcome::Converged {
            return Ok(system.settle(iterations, x, &mut v.r, outcome));
        }
    }
}

/// Iterate until the residual of the recurrence is small enough or something is wrong.
fn round<A: LinearOperator + ?Sized>(
    system: &mut System<A>,
    x: &mut [f64],
    v: &mut Vectors,
    iterations: &mut usize,
) -> Result<Outcome> {
    system.precondition(&v.r, &mut v.z)?;
    vector::copy(&v.z, &mut v.p);
    let mut rz = system.finite(*iterations, vector::dot(&v.r, &v.z))?;
    let mut watch = StallWatch::new(vector::norm(&v.r), system.params.stall_iterations);
    watch.since = *iterations;
    loop {
        if rz <= 0.0 {
            return Ok(Outcome::Indefinite);
        }
        if *iterations >= system.params.max_iterations {
            return Ok(Outcome::MaxIterations);
        }
        system.cancel.check()?;
        let pq = system.finite(*iterations, system.a.apply_dot(&v.p, &mut v.q))?;
        if pq <= 0.0 {
            return Ok(Outcome::Indefinite);
        }
        let alpha = rz / pq;
        let rr = system.finite(*iterations, vector::step(alpha, &v.p, &v.q, x, &mut v.r))?;
        *iterations += 1;
        let residual = rr.sqrt();
        if residual <= system.goal() {
            return Ok(Outcome::Converged);
        }
        if watch.stalled(*iterations, residual) {
            return Ok(Outcome::Stalled);
        }
        system.precondition(&v.r, &mut v.z)?;
        let (new_rz, zq) = vector::dot2(&v.z, &v.r, &v.q);
        let new_rz = system.finite(*iterations, new_rz)?;
        let overlap = (new_rz + alpha * zq).abs();
        if overlap > SUSPICIOUS * (rz * new_rz.max(0.0)).sqrt() && !is_symmetric(system, v) {
            return Ok(Outcome::NotSymmetric);
        }
        vector::xpay(&v.z, -alpha * zq / rz, &mut v.p);
        rz = new_rz;
    }
}

/// Whether z·A p = p·A z and, for the preconditioner, r·M⁻¹q = q·M⁻¹r up to rounding.
fn is_symmetric<A: LinearOperator + ?Sized>(system: &mut System<A>, v: &Vectors) -> bool {
    let alike = |left: f64, right: f64, bound: f64| (left - right).abs() <= ASYMMETRIC * bound;
    let mut w = vec![0.0; v.r.len()];
    system.a.apply(&v.z, &mut w);
    let bound = vector::norm(&v.z) * vector::norm(&v.q);
    if !alike(vector::dot(&v.z, &v.q), vector::dot(&v.p, &w), bound) {
        return false;
    }
    system.m.apply(&v.q, &mut w);
    let bound = vector::norm(&v.q) * vector::norm(&v.z);
    // A cycle that varies is not quite linear; only a gross difference counts for it.
    (vector::dot(&v.q, &v.z) - vector::dot(&v.r, &w)).abs() <= 0.3 * bound
}
