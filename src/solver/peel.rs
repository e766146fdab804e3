//! Walls that let go: liquid may leave them but not enter, and they do not suck.
//!
//! With n out of the wall and v its velocity, [BBB07] asks of liquid at a peeling wall
//!
//! ```text
//!     0 ≤ p  ⊥  (u − v)·n ≥ 0
//! ```
//!
//! which is the quadratic program of the pressure, ½ πᵀAπ − bᵀπ, with π ≥ 0 in every cell that a peeling wall
//! closes in part. Where the bound holds, g_i = (Aπ − b)_i ≥ 0 is what the cell expands by: liquid leaves, air
//! follows. Regions without a free surface have no air that could follow; they keep the equality, and a full
//! bottle does not let go. Where a pressure p₀ acts already, of an earlier projection in the same step, the
//! sum is bounded: π ≥ −π₀. Such bounds l are moved to zero by the shift π − l, b − Al.
//!
//! **Active set** [HIK02]. Guess which cells are at their bound, solve for the others, correct the guess by the
//! signs of π and g. A cell at its bound is a cell full of air to the others, so that each guess is a pressure
//! problem like any other: its couplings go, the diagonals of its neighbours stay, and the multigrid of that
//! matrix is as good as that of the whole. A is an M-matrix, for which the guesses end at the solution after a
//! few rounds from any start. Early rounds are solved only as far as they tell the signs. The first guess
//! is what the pressures of the last step ask for, g_i > a_ii π_i; they are part of a saved state, and so is this
//! warm start. Where nothing wants to leave its wall the whole costs one product more than the equation.
//!
//! With bodies the matrix is no M-matrix, and guesses might go round in circles: after [`MOST_ROUNDS`] of them
//! [`mprgp`](crate::linalg::mprgp) goes on, which always ends. The result is accepted when ‖φ + β‖, the violation that it
//! is stopped by, is below the tolerance.
//!
//! Grid and lattice are both [`Peelable`]. Checked on every cell by `liquid_leaves_a_ceiling_but_does_not_enter_it` in
//! tests/bodies and `thrown_liquid_leaves_its_walls_or_presses_on_them` in tests/bcc.

use crate::cancel::Cancel;
use crate::error::Result;
use crate::linalg::{BoundInfo, KrylovParams, SolveInfo, vector};
use crate::math::ordered_sum;
use rayon::prelude::*;

/// Pressures below zero by less than this share of the greatest count as zero.
const NEGLIGIBLE: f64 = 1e-9;
/// Guesses of the active set at most.
const MOST_ROUNDS: usize = 12;
/// Residual, as a share of the right-hand side, at which a round tells the signs well enough.
const ROUGH: f64 = 1e-2;

/// A pressure equation of which some cells can be left out.
pub(super) trait Peelable {
    /// The diagonal of the matrix; zero where there is no unknown.
    fn diagonal(&self) -> &[f64];

    /// y ← (A + KᵀCK) x with the bodies, over all cells.
    fn apply(&self, x: &[f64], y: &mut [f64]);

    /// Make the multigrid that of the cells which are not off.
    fn leave_out(&mut self, off: &[u32]) -> Result<()>;

    /// Solve for the cells that are not off; those that are have no pressure.
    fn solve_rest(
        &mut self,
        off: &[u32],
        b: &[f64],
        x: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo>;

    /// Solve for all cells under bounds by [`mprgp`](crate::linalg::mprgp).
    fn solve_bounded(
        &mut self,
        b: &[f64],
        lower: &[f64],
        x: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<BoundInfo>;
}

/// Which cells may come off their walls, and which of them are off at the moment.
#[derive(Clone, Debug)]
pub(super) struct Peel {
    /// The least π of each cell; −∞ where no wall peels.
    lower: Vec<f64>,
    /// Whether a cell lies in a region without a free surface.
    closed: Vec<bool>,
    /// The places at their bound, in order, in the matrix that the multigrid was built for last.
    off: Vec<u32>,
    /// Those that were found under bounds where guesses did not end; the multigrid is that of the whole matrix then.
    fallen: Vec<u32>,
    /// Whether `off` was found by a solve before this one.
    warm: bool,
}

impl Peel {
    /// From the least π of each cell; closed regions have no bound.
    pub fn new(mut lower: Vec<f64>, closed: Vec<bool>) -> Self {
        lower.iter_mut().zip(&closed).filter(|(_, c)| **c).for_each(|(l, _)| *l = f64::NEG_INFINITY);
        Self { lower, closed, off: Vec::new(), fallen: Vec::new(), warm: false }
    }

    /// The cells that are off.
    pub fn off(&self) -> impl Iterator<Item = usize> {
        self.off.iter().chain(&self.fallen).map(|p| *p as usize)
    }

    fn bounded(&self, i: usize) -> bool {
        self.lower[i] != f64::NEG_INFINITY
    }

    /// ‖φ + β‖ for bounds at zero. What closed regions refuse to balance is no fault of the pressure.
    fn violation(&self, x: &[f64], g: &[f64]) -> f64 {
        let part = |i: usize| match (self.closed[i], self.bounded(i) && x[i] <= 0.0) {
            (true, _) => 0.0,
            (_, true) => g[i].min(0.0),
            _ => g[i],
        };
        ordered_sum(x.len(), |r| r.map(|i| part(i) * part(i)).sum()).sqrt()
    }

    fn places(&self, chosen: impl Fn(usize) -> bool + Sync) -> Vec<u32> {
        let wanted = |i: &u32| self.bounded(*i as usize) && chosen(*i as usize);
        (0..self.lower.len() as u32).into_par_iter().with_min_len(4096).filter(wanted).collect()
    }

    fn is_on(&self, i: usize) -> bool {
        self.off.binary_search(&(i as u32)).is_err()
    }

    fn take_off(&mut self, off: Vec<u32>, equation: &mut impl Peelable) -> Result<()> {
        if off != self.off {
            self.off = off;
            equation.leave_out(&self.off)?;
        }
        Ok(())
    }

    /// Leave the multigrid as it is for the whole matrix.
    pub fn restore(&mut self, equation: &mut impl Peelable) -> Result<()> {
        self.take_off(Vec::new(), equation)
    }

    /// No bounded cell below zero.
    fn clip(&self, x: &mut [f64]) {
        x.par_iter_mut().zip(&self.lower).filter(|(_, l)| l.is_finite()).for_each(|(x, _)| *x = x.max(0.0));
    }

    /// Solve for the pressure. `pi` holds the first guess; the iterations of all rounds are counted.
    pub fn solve(
        &mut self,
        equation: &mut impl Peelable,
        b: &[f64],
        pi: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        let (mut b, mut g) = (b.to_vec(), vec![0.0; b.len()]);
        b.par_iter_mut().zip(equation.diagonal()).filter(|(_, d)| **d == 0.0).for_each(|(b, _)| *b = 0.0);
        // Move the bounds to zero.
        let shift: Vec<f64> = self.lower.par_iter().map(|l| if l.is_finite() { *l } else { 0.0 }).collect();
        if vector::max_norm(&shift) > 0.0 {
            equation.apply(&shift, &mut g);
            vector::axpy(-1.0, &g, &mut b);
            vector::axpy(-1.0, &shift, pi);
        }
        if !self.warm {
            self.clip(pi);
            gradient(equation, &b, pi, &mut g);
            let diagonal = equation.diagonal();
            let off = self.places(|i| g[i] > diagonal[i] * pi[i]);
            self.take_off(off, equation)?;
        }
        self.warm = true;
        self.fallen.clear();
        let (found, iterations) = self.guess(equation, &b, pi, params, cancel)?;
        let mut info = match found {
            Some(info) => info,
            None => self.fall_back(equation, b, pi, params, cancel)?,
        };
        if found.is_none() {
            info.iterations += iterations;
        }
        vector::axpy(1.0, &shift, pi);
        Ok(info)
    }

    /// Rounds of guesses; nothing if they do not end. Also how many iterations they took.
    fn guess(
        &mut self,
        equation: &mut impl Peelable,
        b: &[f64],
        pi: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<(Option<SolveInfo>, usize)> {
        let (scale, mut g) = (vector::norm(b), vec![0.0; b.len()]);
        let (mut iterations, mut share) = (0, if self.off.is_empty() { params.tolerance } else { ROUGH });
        for _ in 0..MOST_ROUNDS {
            self.off.iter().for_each(|c| pi[*c as usize] = 0.0);
            let inner = KrylovParams { tolerance: self.wanted(equation, b, scale, share, params), ..*params };
            let mut solved = equation.solve_rest(&self.off, b, pi, &inner, cancel)?;
            iterations += solved.iterations;
            solved.iterations = iterations;
            if !solved.converged() {
                break;
            }
            let lowest = -NEGLIGIBLE * vector::max_norm(pi);
            let below = self.places(|i| pi[i] < lowest);
            // What the solve cannot tell from nothing is no sink.
            let (diagonal, least) = (equation.diagonal(), -params.tolerance * scale);
            let is_sink = |i: &u32| diagonal[*i as usize] * pi[*i as usize] < least;
            let settled = !below.iter().any(is_sink);
            if settled {
                self.clip(pi);
            }
            gradient(equation, b, pi, &mut g);
            let violation = self.violation(pi, &g);
            if settled && violation <= params.tolerance * scale {
                solved.residual = if scale > 0.0 { violation / scale } else { 0.0 };
                return Ok((Some(solved), iterations));
            }
            let sinks = |i: usize| pi[i] < 0.0 || below.binary_search(&(i as u32)).is_ok();
            let off = self.places(|i| sinks(i) || (pi[i] == 0.0 && !self.is_on(i) && g[i] >= 0.0));
            share = match off == self.off || scale == 0.0 {
                true => params.tolerance,
                false => (0.1 * violation / scale).min(ROUGH),
            };
            self.take_off(off, equation)?;
        }
        Ok((None, iterations))
    }

    /// The residual that is wanted, as a share of what is left of the right-hand side.
    fn wanted(
        &self,
        equation: &impl Peelable,
        b: &[f64],
        scale: f64,
        share: f64,
        params: &KrylovParams,
    ) -> f64 {
        let diagonal = equation.diagonal();
        let is_there = |i: usize| diagonal[i] > 0.0 && self.is_on(i);
        let left = ordered_sum(b.len(), |r| r.map(|i| if is_there(i) { b[i] * b[i] } else { 0.0 }).sum());
        match left > 0.0 {
            true => (share.max(params.tolerance) * scale / left.sqrt()).clamp(params.tolerance, 0.5),
            false => params.tolerance,
        }
    }

    /// Go on under bounds, which always ends.
    fn fall_back(
        &mut self,
        equation: &mut impl Peelable,
        mut b: Vec<f64>,
        pi: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        self.restore(equation)?;
        let zero: Vec<f64> = self.lower.par_iter().map(|l| if l.is_finite() { 0.0 } else { *l }).collect();
        // Closed regions are solved for; they stay as they are.
        let mut g = vec![0.0; b.len()];
        equation.apply(pi, &mut g);
        b.iter_mut().zip(&g).zip(&self.closed).filter(|(_, c)| **c).for_each(|((b, g), _)| *b = *g);
        let found = equation.solve_bounded(&b, &zero, pi, params, cancel)?;
        self.fallen = self.places(|i| pi[i] <= 0.0);
        Ok(found.solve)
    }
}

/// g ← A x − b.
fn gradient(equation: &impl Peelable, b: &[f64], x: &[f64], g: &mut [f64]) {
    equation.apply(x, g);
    vector::axpy(-1.0, b, g);
}
