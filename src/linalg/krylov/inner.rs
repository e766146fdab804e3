//! A few steps of conjugate gradients inside another method.
//!
//! The recurrences of [`super::cg`] from zero, for a flexible method outside that sees the true residual of what comes out. So nothing
//! is checked twice: a solve of k steps takes k products with A and k with M⁻¹, where [`super::cg`] takes two products
//! more to begin with the true residual and to end with it, which is as much as the steps themselves when these are two. The
//! vectors are kept from solve to solve.

use crate::cancel::Cancel;
use crate::linalg::operator::{LinearOperator, Preconditioner};
use crate::linalg::vector;

/// The vectors of the steps, kept for the next solve.
#[derive(Debug, Default)]
pub struct InnerCg {
    r: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

impl InnerCg {
    /// For systems of n rows.
    pub fn new(n: usize) -> Self {
        let zeros = || vec![0.0; n];
        Self { r: zeros(), z: zeros(), p: zeros(), q: zeros() }
    }

    /// x ≈ A⁻¹b for symmetric positive definite A and M, until the residual is `tolerance` of b or `most` steps are made. Returns the
    /// steps. A direction along which A or M is not definite ends them; before the first step x is then M⁻¹b, a poor direction
    /// that does no harm. A request to stop ends them too.
    pub fn solve<A: LinearOperator + ?Sized>(
        &mut self,
        a: &A,
        m: &mut dyn Preconditioner,
        b: &[f64],
        x: &mut [f64],
        (tolerance, most): (f64, usize),
        cancel: &Cancel,
    ) -> usize {
        let Self { r, z, p, q } = self;
        vector::fill(0.0, x);
        vector::copy(b, r);
        let goal = tolerance * vector::norm(b);
        m.apply(r, z);
        vector::copy(z, p);
        let mut rz = vector::dot(r, z);
        let mut steps = 0;
        while steps < most && !cancel.is_cancelled() {
            let pq = a.apply_dot(p, q);
            let alpha = rz / pq;
            if !(rz > 0.0 && pq > 0.0 && alpha.is_finite()) {
                break;
            }
            let rr = vector::step(alpha, p, q, x, r);
            steps += 1;
            // Also if it is no number; the method outside sees that.
            if rr.sqrt() <= goal || rr.is_nan() {
                return steps;
            }
            m.apply(r, z);
            let (new_rz, zq) = vector::dot2(z, r, q);
            vector::xpay(z, -alpha * zq / rz, p);
            rz = new_rz;
        }
        if steps == 0 {
            vector::copy(z, x);
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::cases::random_vector;
    use crate::linalg::{Csr, Identity};

    /// −u″ on a line, with −c on the diagonal.
    fn line(n: usize, c: f64) -> Csr {
        Csr::from_rows(n, n, |i, row| {
            row.push((i as u32, 2.0 - c));
            row.extend((i > 0).then(|| (i as u32 - 1, -1.0)));
            row.extend((i + 1 < n).then(|| (i as u32 + 1, -1.0)));
        })
        .unwrap()
    }

    #[test]
    fn steps_from_zero_reach_what_was_asked_and_as_many_as_unknowns_the_solution() {
        let (n, a) = (40, line(40, 0.0));
        let (b, mut x, mut r) = (random_vector(n, 3), vec![7.0; n], vec![0.0; n]);
        let mut cg = InnerCg::new(n);
        for tolerance in [0.5, 1e-12] {
            let steps = cg.solve(&a, &mut Identity, &b, &mut x, (tolerance, n), &Cancel::new());
            a.residual(&b, &x, &mut r);
            assert!(steps <= n && vector::norm(&r) <= 1.01 * tolerance * vector::norm(&b), "{steps}");
        }
    }

    #[test]
    fn what_is_not_definite_gives_the_preconditioned_vector() {
        let (n, a) = (10, line(10, 9.0));
        let (b, mut x) = (random_vector(n, 3), vec![0.0; n]);
        assert_eq!(InnerCg::new(n).solve(&a, &mut Identity, &b, &mut x, (0.1, 30), &Cancel::new()), 0);
        assert_eq!(x, b);
        // Nothing asks for nothing.
        let none = vec![0.0; n];
        InnerCg::new(n).solve(&line(n, 0.0), &mut Identity, &none, &mut x, (0.1, 30), &Cancel::new());
        assert_eq!(x, none);
    }
}
