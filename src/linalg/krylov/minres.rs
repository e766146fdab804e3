//! Preconditioned minimal residuals for symmetric, possibly indefinite systems.
//!
//! The Lanczos process of M⁻¹A in the M-inner product builds a tridiagonal matrix, and plane rotations
//! keep its QR factors [PS75], [ESW14, algorithm 4.1]. M must be symmetric and positive definite although
//! A is not. The recurrence knows the residual in the M⁻¹-norm only; when that has fallen far enough the
//! true residual is computed, and the iteration goes on towards a lower mark if it is still too large.

use super::{Outcome, SolveInfo, StallWatch, System};
use crate::error::Result;
use crate::linalg::operator::LinearOperator;
use crate::linalg::vector;

/// A mark is lowered by at least this much when the true residual is still too large.
const LOWER: f64 = 0.5;
/// Marks below this share of the first residual are noise.
const NOISE: f64 = 1e-17;

pub(super) fn solve<A: LinearOperator + ?Sized>(system: &mut System<A>, x: &mut [f64]) -> Result<SolveInfo> {
    let (params, scale) = (system.params, system.scale);
    let zeros = || system.zeros();
    let (mut v, mut v_old, mut z, mut q) = (zeros(), zeros(), zeros(), zeros());
    let (mut w, mut w_old) = (zeros(), zeros());
    system.residual(x, &mut v);
    let first = system.finite(0, vector::norm(&v))?;
    if first <= system.goal() {
        return Ok(system.ended(0, first / scale, Outcome::Converged));
    }
    system.precondition(&v, &mut z)?;
    let square = system.finite(0, vector::dot(&z, &v))?;
    if square <= 0.0 {
        return Ok(system.ended(0, first / scale, Outcome::Indefinite));
    }
    let (mut gamma, mut gamma_old) = (square.sqrt(), 1.0);
    let mut eta = gamma;
    let start = gamma;
    let (mut c, mut c_old, mut s, mut s_old) = (1.0, 1.0, 0.0, 0.0);
    // The mark in the M⁻¹-norm that answers to the tolerance, if the norms keep their ratio.
    let mut mark = system.goal() / first * gamma;
    let mut watch = StallWatch::new(gamma, params.stall_iterations);
    let mut iterations = 0;
    let outcome = loop {
        if iterations >= params.max_iterations {
            break Outcome::MaxIterations;
        }
        system.cancel.check()?;
        iterations += 1;
        // Lanczos step; v_old becomes the next v.
        vector::scale(1.0 / gamma, &mut z);
        let delta = system.finite(iterations, system.a.apply_dot(&z, &mut q))?;
        vector::scale(-gamma / gamma_old, &mut v_old);
        vector::axpy(1.0, &q, &mut v_old);
        vector::axpy(-delta / gamma, &v, &mut v_old);
        std::mem::swap(&mut v, &mut v_old);
        // w_old becomes the next direction: (z − α₃ w_old − α₂ w)/α₁.
        std::mem::swap(&mut q, &mut z);
        system.precondition(&v, &mut z)?;
        let square = system.finite(iterations, vector::dot(&z, &v))?;
        // Rounding may leave a tiny negative square where the Krylov space is exhausted.
        if square < -1e-14 * vector::norm(&z) * vector::norm(&v) {
            break Outcome::Indefinite;
        }
        let gamma_new = square.max(0.0).sqrt();
        let alpha0 = c * delta - c_old * s * gamma;
        let alpha1 = (alpha0 * alpha0 + gamma_new * gamma_new).sqrt();
        let alpha2 = s * delta + c_old * c * gamma;
        let alpha3 = s_old * gamma;
        if alpha1 <= 0.0 {
            break Outcome::Stalled;
        }
        (c_old, s_old) = (c, s);
        (c, s) = (alpha0 / alpha1, gamma_new / alpha1);
        vector::scale(-alpha3 / alpha1, &mut w_old);
        vector::axpy(-alpha2 / alpha1, &w, &mut w_old);
        vector::axpy(1.0 / alpha1, &q, &mut w_old);
        std::mem::swap(&mut w, &mut w_old);
        vector::axpy(c * eta, &w, x);
        eta *= -s;
        (gamma_old, gamma) = (gamma, gamma_new);
        let exhausted = gamma <= 1e-15 * start;
        if eta.abs() <= mark || exhausted {
            system.residual(x, &mut q);
            let residual = system.finite(iterations, vector::norm(&q))?;
            if residual <= system.goal() {
                break Outcome::Converged;
            }
            mark = eta.abs() * (system.goal() / residual).min(LOWER);
            if exhausted || mark < NOISE * start {
                break Outcome::Stalled;
            }
        }
        if watch.stalled(iterations, eta.abs()) {
            break Outcome::Stalled;
        }
    };
    Ok(system.settle(iterations, x, &mut q, outcome))
}
