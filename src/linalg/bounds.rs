//! Quadratic programs with lower bounds: minimise ½xᵀA x − bᵀx subject to x ≥ l.
//!
//! The solution satisfies x ≥ l, g = A x − b ≥ 0 and gᵢ(xᵢ − lᵢ) = 0: liquid may leave a wall but not pull at it.
//! With the free part φ (gᵢ where xᵢ > lᵢ) and the chopped part β (min(gᵢ, 0) where xᵢ = lᵢ) of the
//! gradient, the violation of these conditions is ‖φ + β‖, and both methods stop when it is at most
//! `tolerance` times ‖b‖ (times the gradient at the bound where b is zero).
//!
//! - [`mprgp`] [DS05], [Dos09]: conjugate gradients on the free unknowns, preconditioned there by Φ M⁻¹ Φ; a projected
//!   gradient step where they run into a bound; a step along β where that part dominates. Norms and steps
//!   are those of the system scaled by its diagonal, so ᾱ = 1.9/λ_max(D⁻¹A).
//! - [`active_set`] [HIK02]: guess which unknowns are at their bound, solve for the others by CG, correct the guess by
//!   the signs of x − l and g; for M-matrices it ends after a few solves.
//!
//! A bound of −∞ leaves its unknown free.

use super::chebyshev::largest_eigenvalue;
use super::krylov::{KrylovParams, Outcome, SolveInfo, cg};
use super::operator::{LinearOperator, Preconditioner, inverse_diagonal};
use super::vector;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::math::{CHUNK, ordered_max, ordered_sum};
use rayon::prelude::*;

/// What a bound-constrained solve reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundInfo {
    /// `residual` is the violation ‖φ + β‖ over its scale.
    pub solve: SolveInfo,
    /// Unknowns at their bound.
    pub active: usize,
    /// Products with the matrix.
    pub products: usize,
}

/// The parts of a problem that both methods need.
struct Problem<'a, A: LinearOperator + ?Sized> {
    a: &'a A,
    b: &'a [f64],
    lower: &'a [f64],
    inverse: Vec<f64>,
    scale: f64,
}

impl<'a, A: LinearOperator + ?Sized> Problem<'a, A> {
    fn new(a: &'a A, diagonal: &[f64], b: &'a [f64], lower: &'a [f64], x: &mut [f64]) -> Result<Self> {
        let n = a.size();
        if [diagonal.len(), b.len(), lower.len(), x.len()].iter().any(|&l| l != n) {
            return Err(Error::invalid(
                "bounds",
                format!("all vectors must have the {n} rows of the matrix"),
            ));
        }
        if !vector::all_finite(b) || !vector::all_finite(x) {
            return Err(Error::invalid("bounds", "right-hand side or start has numbers that are not finite"));
        }
        if let Some(i) = lower.iter().position(|l| l.is_nan() || *l == f64::INFINITY) {
            return Err(Error::invalid("bounds", format!("the bound of row {i} is {}", lower[i])));
        }
        let inverse = inverse_diagonal("bounds", diagonal)?;
        let mut scale = vector::norm(b);
        if scale == 0.0 {
            let start: Vec<f64> = lower.iter().map(|l| l.max(0.0)).collect();
            let mut g = vec![0.0; n];
            a.apply(&start, &mut g);
            scale = vector::norm(&g);
        }
        for_each(x, |i, x| *x = x.max(lower[i]));
        Ok(Self { a, b, lower, inverse, scale })
    }

    /// g ← A x − b.
    fn gradient(&self, x: &[f64], g: &mut [f64]) {
        self.a.apply(x, g);
        vector::axpy(-1.0, self.b, g);
    }

    fn free(&self, i: usize, x: &[f64]) -> bool {
        x[i] > self.lower[i]
    }

    fn chopped(&self, i: usize, x: &[f64], g: &[f64]) -> f64 {
        if self.free(i, x) { 0.0 } else { g[i].min(0.0) }
    }

    /// ‖φ + β‖ over the scale.
    fn violation(&self, x: &[f64], g: &[f64]) -> f64 {
        let part = |i: usize| if self.free(i, x) { g[i] } else { g[i].min(0.0) };
        let square = sum(x.len(), |i| part(i) * part(i));
        if self.scale > 0.0 { square.sqrt() / self.scale } else { square.sqrt() }
    }

    fn info(
        &self,
        method: &'static str,
        x: &[f64],
        violation: f64,
        counts: [usize; 2],
        outcome: Outcome,
    ) -> BoundInfo {
        let [iterations, products] = counts;
        let active = (0..x.len()).filter(|&i| !self.free(i, x)).count();
        BoundInfo { solve: SolveInfo { method, iterations, residual: violation, outcome }, active, products }
    }
}

/// v[i] ← f(i, v[i]) for all i.
fn for_each(v: &mut [f64], f: impl Fn(usize, &mut f64) + Sync + Send) {
    v.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(i, v)| f(i, v));
}

/// Σ f(i), in order.
fn sum(n: usize, f: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    ordered_sum(n, |r| r.map(&f).sum())
}

/// z ← Φ M⁻¹ Φ g: the preconditioner on the free unknowns.
fn precondition<A: LinearOperator + ?Sized>(
    problem: &Problem<A>,
    m: &mut dyn Preconditioner,
    x: &[f64],
    g: &[f64],
    work: &mut [f64],
    z: &mut [f64],
) {
    for_each(work, |i, w| *w = if problem.free(i, x) { g[i] } else { 0.0 });
    m.apply(work, z);
    for_each(z, |i, z| *z = if problem.free(i, x) { *z } else { 0.0 });
}

/// Modified proportioning with reduced gradient projections. Iterations count steps of any kind.
#[allow(clippy::too_many_arguments)]
pub fn mprgp<A: LinearOperator + ?Sized>(
    a: &A,
    diagonal: &[f64],
    m: &mut dyn Preconditioner,
    b: &[f64],
    lower: &[f64],
    x: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<BoundInfo> {
    let problem = Problem::new(a, diagonal, b, lower, x)?;
    let (n, inverse) = (b.len(), &problem.inverse);
    let zeros = || vec![0.0; n];
    let (mut g, mut z, mut p, mut q, mut work) = (zeros(), zeros(), zeros(), zeros(), zeros());
    // The longest safe step of a projected gradient in the scaled system.
    let length = 1.9 / (1.1 * largest_eigenvalue(a, inverse)?);
    problem.gradient(x, &mut g);
    precondition(&problem, m, x, &g, &mut work, &mut z);
    p.copy_from_slice(&z);
    let (mut iterations, mut products) = (0, 1);
    let (mut best, mut since) = (f64::INFINITY, 0);
    let (outcome, violation) = loop {
        let violation = problem.violation(x, &g);
        if !violation.is_finite() {
            return Err(Error::diverged(
                "mprgp",
                format!("a number that is not finite appeared in iteration {iterations}"),
            ));
        }
        if violation <= params.tolerance {
            break (Outcome::Converged, violation);
        }
        if violation < 0.99 * best {
            (best, since) = (violation, iterations);
        }
        if iterations >= params.max_iterations {
            break (Outcome::MaxIterations, violation);
        }
        if iterations >= since + params.stall_iterations {
            break (Outcome::Stalled, violation);
        }
        cancel.check()?;
        iterations += 1;
        products += 1;
        let chopped = sum(n, |i| problem.chopped(i, x, &g).powi(2) * inverse[i]);
        let free = sum(n, |i| {
            let room = (x[i] - lower[i]) / (length * inverse[i]);
            if problem.free(i, x) { g[i].min(room) * g[i] * inverse[i] } else { 0.0 }
        });
        if chopped > free {
            // Proportioning: let unknowns leave their bounds along −β.
            for_each(&mut p, |i, p| *p = problem.chopped(i, x, &g) * inverse[i]);
            let pq = a.apply_dot(&p, &mut q);
            if pq <= 0.0 {
                break (Outcome::Indefinite, violation);
            }
            let alpha = vector::dot(&p, &g) / pq;
            vector::axpy(-alpha, &p, x);
            vector::axpy(-alpha, &q, &mut g);
            precondition(&problem, m, x, &g, &mut work, &mut z);
            p.copy_from_slice(&z);
            continue;
        }
        let pq = a.apply_dot(&p, &mut q);
        if pq <= 0.0 {
            break (Outcome::Indefinite, violation);
        }
        let alpha = vector::dot(&p, &g) / pq;
        let feasible = -ordered_max(n, |r| {
            r.filter(|&i| p[i] > 0.0).map(|i| -(x[i] - lower[i]) / p[i]).fold(f64::NEG_INFINITY, f64::max)
        });
        if alpha <= feasible {
            // A step of conjugate gradients on the free unknowns.
            vector::axpy(-alpha, &p, x);
            vector::axpy(-alpha, &q, &mut g);
            precondition(&problem, m, x, &g, &mut work, &mut z);
            let beta = vector::dot(&z, &q) / pq;
            vector::xpay(&z, -beta, &mut p);
            continue;
        }
        // Expansion: go to the bound that is met first, then project a gradient step.
        vector::axpy(-feasible, &p, x);
        vector::axpy(-feasible, &q, &mut g);
        for_each(x, |i, x| {
            let free = *x > lower[i];
            *x = if free { (*x - length * inverse[i] * g[i]).max(lower[i]) } else { lower[i] };
        });
        problem.gradient(x, &mut g);
        products += 1;
        precondition(&problem, m, x, &g, &mut work, &mut z);
        p.copy_from_slice(&z);
    };
    Ok(problem.info("mprgp", x, violation, [iterations, products], outcome))
}

/// A restricted to the free unknowns; the identity on the others.
struct Masked<'a, A: LinearOperator + ?Sized> {
    a: &'a A,
    active: &'a [bool],
}

impl<A: LinearOperator + ?Sized> LinearOperator for Masked<'_, A> {
    fn size(&self) -> usize {
        self.a.size()
    }

    /// Active entries of `x` are zero throughout the solve, so only the result needs a mask.
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.a.apply(x, y);
        for_each(y, |i, y| *y = if self.active[i] { 0.0 } else { *y });
    }
}

/// Φ M⁻¹ Φ with the mask of the free unknowns.
struct MaskedInverse<'a> {
    m: &'a mut dyn Preconditioner,
    active: &'a [bool],
    work: Vec<f64>,
}

impl Preconditioner for MaskedInverse<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        for_each(&mut self.work, |i, w| *w = if self.active[i] { 0.0 } else { r[i] });
        self.m.apply(&self.work, z);
        for_each(z, |i, z| *z = if self.active[i] { 0.0 } else { *z });
    }
}

/// The primal-dual active set method. Iterations count those of all inner solves.
#[allow(clippy::too_many_arguments)]
pub fn active_set<A: LinearOperator + ?Sized>(
    a: &A,
    diagonal: &[f64],
    m: &mut dyn Preconditioner,
    b: &[f64],
    lower: &[f64],
    x: &mut [f64],
    params: &KrylovParams,
    cancel: &Cancel,
) -> Result<BoundInfo> {
    let problem = Problem::new(a, diagonal, b, lower, x)?;
    let n = b.len();
    let (mut g, mut rhs, mut step) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    problem.gradient(x, &mut g);
    let (mut iterations, mut products, mut rounds) = (0, 1, 0);
    let mut active: Vec<bool> = Vec::new();
    loop {
        // The next guess: the sign of g − d(x − l) decides.
        let guess: Vec<bool> = (0..n)
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|i| g[i] * problem.inverse[i] > x[i] - lower[i] || (x[i] <= lower[i] && g[i] >= 0.0))
            .collect();
        let violation = {
            let mut feasible = x.to_vec();
            for_each(&mut feasible, |i, x| *x = x.max(lower[i]));
            problem.gradient(&feasible, &mut rhs);
            products += 1;
            problem.violation(&feasible, &rhs)
        };
        let settled = guess == active;
        let done = violation <= params.tolerance;
        if done || settled || rounds >= 100 || iterations >= params.max_iterations {
            for_each(x, |i, x| *x = x.max(lower[i]));
            let outcome = match (done, settled) {
                (true, _) => Outcome::Converged,
                (_, true) => Outcome::Stalled,
                _ => Outcome::MaxIterations,
            };
            return Ok(problem.info("active set", x, violation, [iterations, products], outcome));
        }
        active = guess;
        rounds += 1;
        // Fix the active unknowns and solve for the step of the others.
        for_each(x, |i, x| *x = if active[i] { lower[i] } else { *x });
        problem.gradient(x, &mut g);
        for_each(&mut rhs, |i, r| *r = if active[i] { 0.0 } else { -g[i] });
        let size = vector::norm(&rhs);
        if size > 0.0 {
            step.fill(0.0);
            let tolerance = (0.3 * params.tolerance * problem.scale / size).clamp(1e-15, 0.5);
            let inner = KrylovParams { tolerance, null_space: None, ..*params };
            let mut masked = MaskedInverse { m: &mut *m, active: &active, work: vec![0.0; n] };
            let info = cg(&Masked { a, active: &active }, &mut masked, &rhs, &mut step, &inner, cancel)?;
            iterations += info.iterations;
            products += info.iterations + 2;
            if matches!(info.outcome, Outcome::Indefinite | Outcome::NotSymmetric) {
                return Ok(problem.info("active set", x, violation, [iterations, products], info.outcome));
            }
            vector::axpy(1.0, &step, x);
        }
        problem.gradient(x, &mut g);
        products += 2;
    }
}
