//! Restarted flexible GMRES for general systems.
//!
//! Right-preconditioned [Saa93]: the k-th direction is zₖ = Mₖ⁻¹vₖ, where Mₖ may change from step to step (an
//! inner solve, a K-cycle), and the residual of the recurrence is the true one. After `restart` directions
//! the basis is thrown away and the true residual is computed anew.

use super::{Outcome, SolveInfo, StallWatch, System};
use crate::error::Result;
use crate::linalg::operator::LinearOperator;
use crate::linalg::vector;

/// The projected problem: R of the Hessenberg matrix, its rotations, and the right-hand side.
#[derive(Default)]
struct Projected {
    columns: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    g: Vec<f64>,
}

impl Projected {
    fn new(residual: f64) -> Self {
        Self { g: vec![residual], ..Default::default() }
    }

    /// Take column `h` (one longer than the columns so far) and return the new residual.
    fn push(&mut self, mut h: Vec<f64>) -> f64 {
        for (k, &(c, s)) in self.rotations.iter().enumerate() {
            (h[k], h[k + 1]) = (c * h[k] + s * h[k + 1], c * h[k + 1] - s * h[k]);
        }
        let k = self.columns.len();
        let length = (h[k] * h[k] + h[k + 1] * h[k + 1]).sqrt();
        let (c, s) = if length > 0.0 { (h[k] / length, h[k + 1] / length) } else { (1.0, 0.0) };
        h[k] = length;
        h.truncate(k + 1);
        self.g.push(-s * self.g[k]);
        self.g[k] *= c;
        self.rotations.push((c, s));
        self.columns.push(h);
        self.g[k + 1].abs()
    }

    /// The coefficients of the directions; a zero pivot (a singular operator) leaves its direction out.
    fn solve(&self) -> Vec<f64> {
        let n = self.columns.len();
        let mut y = self.g[..n].to_vec();
        for k in (0..n).rev() {
            let pivot = self.columns[k][k];
            y[k] = if pivot > 0.0 { y[k] / pivot } else { 0.0 };
            for i in 0..k {
                y[i] -= self.columns[k][i] * y[k];
            }
        }
        y
    }
}

pub(super) fn solve<A: LinearOperator + ?Sized>(system: &mut System<A>, x: &mut [f64]) -> Result<SolveInfo> {
    let params = system.params;
    let restart = params.restart.max(1);
    let mut basis: Vec<Vec<f64>> = vec![system.zeros()];
    let mut directions: Vec<Vec<f64>> = Vec::new();
    let (mut iterations, mut watch) = (0, None::<StallWatch>);
    let mut previous = f64::INFINITY;
    loop {
        system.residual(x, &mut basis[0]);
        let norm = system.finite(iterations, vector::norm(&basis[0]))?;
        let residual = norm / system.scale;
        let watch = watch.get_or_insert_with(|| StallWatch::new(residual, params.stall_iterations));
        let done = if residual <= params.tolerance {
            Some(Outcome::Converged)
        } else if iterations >= params.max_iterations {
            Some(Outcome::MaxIterations)
        } else if residual > 0.999 * previous || watch.stalled(iterations, residual) {
            Some(Outcome::Stalled)
        } else {
            None
        };
        if let Some(outcome) = done {
            system.project(x);
            return Ok(system.ended(iterations, residual, outcome));
        }
        previous = residual;
        vector::scale(1.0 / norm, &mut basis[0]);
        let mut projected = Projected::new(norm);
        for k in 0..restart.min(params.max_iterations - iterations) {
            system.cancel.check()?;
            iterations += 1;
            if directions.len() == k {
                directions.push(system.zeros());
                basis.push(system.zeros());
            }
            system.precondition(&basis[k], &mut directions[k])?;
            let (known, rest) = basis.split_at_mut(k + 1);
            system.a.apply(&directions[k], &mut rest[0]);
            let mut h = orthogonalise(known, &mut rest[0]);
            let length = system.finite(iterations, vector::norm(&rest[0]))?;
            // What is left of a product that lies in the space is its rounding, whatever the unit of the matrix.
            let product = h.iter().fold(length * length, |sum, h| sum + h * h).sqrt();
            h.push(length);
            let estimate = projected.push(h);
            // A direction of length zero means that the space holds the solution.
            if estimate <= system.goal() || length <= 1e-15 * product {
                break;
            }
            vector::scale(1.0 / length, &mut rest[0]);
        }
        for (y, z) in projected.solve().iter().zip(&directions) {
            vector::axpy(*y, z, x);
        }
    }
}

/// Make `v` orthogonal to the basis (modified Gram–Schmidt) and return the shares.
fn orthogonalise(basis: &[Vec<f64>], v: &mut [f64]) -> Vec<f64> {
    let mut h = Vec::with_capacity(basis.len() + 1);
    for q in basis {
        let share = vector::dot(q, v);
        vector::axpy(-share, q, v);
        h.push(share);
    }
    h
}
