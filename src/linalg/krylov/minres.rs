//! Preconditioned minimal residuals for symmetric, possibly indefinite systems.
//!
//! The Lanczos process of M⁻¹A in the M-inner product builds a tridiagonal matrix, and plane rotations
//! keep its QR factors [PS75], [ESW14, algorithm 4.1]. M must be symmetric and positive definite although
//! A is not. The recurrence knows the residual in the M⁻¹-norm only; when that has fallen far enough the
//! true residual is computed, and the iteration goes on towards a lower mark if it is still too large.

use super::{KrylovParams, Outcome, SolveInfo, StallWatch, check_finite, prepare, project};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::linalg::operator::{LinearOperator, Preconditioner};
use crate::linalg::vector;
use crate::linalg::{Method, dump};

/// A mark is lowered by at least this much when the true residual is still too large.
const LOWER: f64 = 0.5;
/// Marks below this share of the first residual are noise.
const NOISE: f64 = 1e-17;

/// Solve A x = b for symmetric A, starting from the `x` given.
pub fn minres<A: LinearOperator + ?Sized>(
    a: &A,
    m: &mut dyn Preconditioner,
    b: &[f64],
    x: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<SolveInfo> {
    dump::watched(Method::Minres, a, b, x, params, |x| solve(a, m, b, x, params, cancel))
}

fn solve<A: LinearOperator + ?Sized>(
    a: &A,
    m: &mut dyn Preconditioner,
    b: &[f64],
    x: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<SolveInfo> {
    let info = |iterations, residual, outcome| SolveInfo { method: "minres", iterations, residual, outcome };
    let Some((b, scale)) = prepare("minres", a.size(), b, x, params)? else {
        return Ok(info(0, 0.0, Outcome::Converged));
    };
    let n = b.len();
    let zeros = || vec![0.0; n];
    let (mut v, mut v_old, mut z, mut q) = (zeros(), zeros(), zeros(), zeros());
    let (mut w, mut w_old) = (zeros(), zeros());
    a.residual(&b, x, &mut v);
    let first = check_finite("minres", 0, vector::norm(&v))?;
    if first <= params.tolerance * scale {
        return Ok(info(0, first / scale, Outcome::Converged));
    }
    m.apply(&v, &mut z);
    project(params, &mut z);
    let square = check_finite("minres", 0, vector::dot(&z, &v))?;
    if square <= 0.0 {
        return Ok(info(0, first / scale, Outcome::Indefinite));
    }
    let (mut gamma, mut gamma_old) = (square.sqrt(), 1.0);
    let mut eta = gamma;
    let start = gamma;
    let (mut c, mut c_old, mut s, mut s_old) = (1.0, 1.0, 0.0, 0.0);
    // The mark in the M⁻¹-norm that answers to the tolerance, if the norms keep their ratio.
    let mut mark = params.tolerance * scale / first * gamma;
    let mut watch = StallWatch::new(gamma, params.stall_iterations);
    let mut iterations = 0;
    let outcome = loop {
        if iterations >= params.max_iterations {
            break Outcome::MaxIterations;
        }
        cancel.check()?;
        iterations += 1;
        // Lanczos step; v_old becomes the next v.
        vector::scale(1.0 / gamma, &mut z);
        let delta = check_finite("minres", iterations, a.apply_dot(&z, &mut q))?;
        vector::scale(-gamma / gamma_old, &mut v_old);
        vector::axpy(1.0, &q, &mut v_old);
        vector::axpy(-delta / gamma, &v, &mut v_old);
        std::mem::swap(&mut v, &mut v_old);
        // w_old becomes the next direction: (z − α₃ w_old − α₂ w)/α₁.
        std::mem::swap(&mut q, &mut z);
        m.apply(&v, &mut z);
        project(params, &mut z);
        let square = check_finite("minres", iterations, vector::dot(&z, &v))?;
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
            a.residual(&b, x, &mut q);
            let residual = check_finite("minres", iterations, vector::norm(&q))?;
            if residual <= params.tolerance * scale {
                break Outcome::Converged;
            }
            mark = eta.abs() * (params.tolerance * scale / residual).min(LOWER);
            if exhausted || mark < NOISE * start {
                break Outcome::Stalled;
            }
        }
        if watch.stalled(iterations, eta.abs()) {
            break Outcome::Stalled;
        }
    };
    project(params, x);
    a.residual(&b, x, &mut q);
    let residual = vector::norm(&q) / scale;
    let outcome = if residual <= params.tolerance { Outcome::Converged } else { outcome };
    Ok(info(iterations, residual, outcome))
}
