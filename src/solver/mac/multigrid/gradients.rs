//! Conjugate gradients over split fields, with the cycle as preconditioner.
//!
//! The recurrences of [`crate::linalg::cg`], β in the flexible form [Not00], with fewer passes over memory:
//! the step writes the scaled residual for the cycle as it goes, and the result of the cycle is used in f32.
//! A round starts from the true residual and ends when that of the recurrence is small enough; a second
//! one runs only if the two have parted. Sums are taken over tiles in order.

use super::level::{BLACK, Level, RED, TASK};
use super::rows::{LANES, ROW_COUPLINGS, Ring, is_odd};
use super::{Multigrid, merge, split};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::grid::{SIDE, Tiles};
use crate::linalg::{KrylovParams, Outcome, SolveInfo, vector};
use rayon::prelude::*;

/// The vectors of the iteration, red cells before black ones.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    b: Vec<f64>,
    x: Vec<f64>,
    r: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

impl Vectors {
    fn resize(&mut self, cells: usize) {
        [&mut self.b, &mut self.x, &mut self.r, &mut self.p, &mut self.q]
            .into_iter()
            .for_each(|v| v.resize(cells, 0.0));
    }

    pub(super) fn bytes(&self) -> usize {
        8 * [&self.b, &self.x, &self.r, &self.p, &self.q].into_iter().map(|v| v.capacity()).sum::<usize>()
    }
}

impl Multigrid {
    /// Solve for the levels there are; `p` holds the first guess and receives the result.
    pub(super) fn conjugate_gradients(
        &mut self,
        tiles: &Tiles,
        rhs: &[f64],
        p: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        check(rhs, p, params)?;
        let mut v = std::mem::take(&mut self.vectors);
        v.resize(rhs.len());
        let info = self.solve_split(tiles, rhs, p, &mut v, params, cancel);
        self.vectors = v;
        info
    }

    fn solve_split(
        &mut self,
        tiles: &Tiles,
        rhs: &[f64],
        p: &mut [f64],
        v: &mut Vectors,
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        let info = |iterations, residual, outcome| SolveInfo {
            method: "multigrid cg",
            iterations,
            residual,
            outcome,
        };
        let shape = self.levels[0].shape;
        let rounding = 1e-14 * self.load(tiles, rhs, v);
        let scale = vector::norm(&v.b);
        if scale <= rounding.max(f64::MIN_POSITIVE) {
            vector::fill(0.0, p);
            return Ok(info(0, 0.0, Outcome::Converged));
        }
        split(shape, p, &mut v.x, |x| x);
        mask(&self.diagonal, &mut v.x);
        let (mut iterations, mut previous) = (0, f64::INFINITY);
        let (residual, outcome) = loop {
            self.levels[0].residual(&self.diagonal, &v.b, &v.x, &mut v.r);
            let residual = finite(iterations, vector::norm(&v.r))? / scale;
            if residual <= params.tolerance {
                break (residual, Outcome::Converged);
            }
            if residual > 0.5 * previous {
                break (residual, Outcome::Stalled);
            }
            previous = residual;
            let outcome = self.round(v, scale, params, cancel, &mut iterations)?;
            if outcome != Outcome::Converged {
                self.levels[0].residual(&self.diagonal, &v.b, &v.x, &mut v.r);
                let residual = vector::norm(&v.r) / scale;
                break (residual, if residual <= params.tolerance { Outcome::Converged } else { outcome });
            }
        };
        let (red, black) = v.x.split_at(v.x.len() / 2);
        merge(shape, [red, black], p, |x| x);
        self.regions.project(tiles, p);
        Ok(info(iterations, residual, outcome))
    }

    /// The right-hand side of the unknowns, balanced in closed regions. Returns its norm before that.
    fn load(&self, tiles: &Tiles, rhs: &[f64], v: &mut Vectors) -> f64 {
        let shape = self.levels[0].shape;
        split(shape, rhs, &mut v.b, |b| b);
        mask(&self.diagonal, &mut v.b);
        let before = vector::norm(&v.b);
        if self.regions.count() > 0 {
            vector::copy(rhs, &mut v.q);
            self.regions.project(tiles, &mut v.q);
            split(shape, &v.q, &mut v.b, |b| b);
            mask(&self.diagonal, &mut v.b);
        }
        before
    }

    /// Iterate until the residual of the recurrence is small enough or something is wrong.
    fn round(
        &mut self,
        v: &mut Vectors,
        scale: f64,
        params: &KrylovParams,
        cancel: &Cancel,
        iterations: &mut usize,
    ) -> Result<Outcome> {
        let mut norm = vector::norm(&v.r);
        let (mut best, mut since) = (norm, *iterations);
        self.levels[0].take(&v.r, 1.0 / norm);
        self.cycle();
        let (mut rz, _) = self.levels[0].products(&v.r, &v.q);
        self.levels[0].turn(norm, 0.0, &mut v.p);
        rz = finite(*iterations, rz * norm)?;
        loop {
            if rz <= 0.0 {
                return Ok(Outcome::Indefinite);
            }
            if *iterations >= params.max_iterations {
                return Ok(Outcome::MaxIterations);
            }
            cancel.check()?;
            let pq = finite(*iterations, self.levels[0].apply_dot(&self.diagonal, &v.p, &mut v.q))?;
            if pq <= 0.0 {
                return Ok(Outcome::Indefinite);
            }
            let alpha = rz / pq;
            // The norm of the last residual keeps the cycle in the range of f32 as well as the new one.
            let rr = self.levels[0].step(alpha, 1.0 / norm, v);
            let unit = norm;
            norm = finite(*iterations, rr)?.sqrt();
            *iterations += 1;
            if norm <= params.tolerance * scale {
                return Ok(Outcome::Converged);
            }
            if norm < 0.99 * best {
                (best, since) = (norm, *iterations);
            }
            if *iterations >= since + params.stall_iterations.max(1) {
                return Ok(Outcome::Stalled);
            }
            self.cycle();
            let (zr, zq) = self.levels[0].products(&v.r, &v.q);
            let (new_rz, zq) = (finite(*iterations, zr * unit)?, zq * unit);
            self.levels[0].turn(unit, -alpha * zq / rz, &mut v.p);
            rz = new_rz;
        }
    }
}

impl Level {
    /// q ← A p, and p·q.
    fn apply_dot(&self, diagonal: &[f64], p: &[f64], q: &mut [f64]) -> f64 {
        let half = self.shape.half();
        self.rows_of(p, q, |colour, t, row, pull, out| {
            let at = colour * p.len() / 2 + half * t + LANES * row;
            let mut dot = 0.0;
            for i in 0..LANES {
                out[i] = diagonal[at + i] * p[at + i] - pull[i];
                dot += out[i] * p[at + i];
            }
            dot
        })
    }

    /// r ← b − A x.
    fn residual(&self, diagonal: &[f64], b: &[f64], x: &[f64], r: &mut [f64]) {
        let half = self.shape.half();
        self.rows_of(x, r, |colour, t, row, pull, out| {
            let at = colour * x.len() / 2 + half * t + LANES * row;
            (0..LANES).for_each(|i| out[i] = b[at + i] - (diagonal[at + i] * x[at + i] - pull[i]));
            0.0
        });
    }

    /// Run `f(colour, tile, row, C x, row of out)` over all rows and add up what it returns.
    fn rows_of(
        &self,
        x: &[f64],
        out: &mut [f64],
        f: impl Fn(usize, usize, usize, &[f64; LANES], &mut [f64]) -> f64 + Sync,
    ) -> f64 {
        let (shape, half, n) = (self.shape, self.shape.half(), x.len() / 2);
        let (red, black) = out.split_at_mut(n);
        let chunks = red.par_chunks_mut(half).zip(black.par_chunks_mut(half)).enumerate().with_min_len(TASK);
        let sums: Vec<f64> = chunks
            .map_init(Ring::default, |ring, (t, (red, black))| {
                let mut sum = 0.0;
                for (colour, out) in [(RED, red), (BLACK, black)] {
                    let other = &x[(1 - colour) * n..(2 - colour) * n];
                    ring.load(shape, t, &self.beside[t], |i| other[i]);
                    let coupling = &self.coupling[colour][6 * half * t..];
                    for z in 0..shape.depth {
                        for y in 0..SIDE {
                            let row = z * SIDE + y;
                            let pull =
                                ring.pull(is_odd(colour, y, z), y, z, &coupling[ROW_COUPLINGS * row..]);
                            sum += f(colour, t, row, &pull, &mut out[LANES * row..LANES * (row + 1)]);
                        }
                    }
                }
                sum
            })
            .collect();
        sums.iter().sum()
    }

    /// b ← s·r.
    fn take(&mut self, r: &[f64], s: f64) {
        let (red, black) = r.split_at(r.len() / 2);
        vector::convert_scaled(s, red, &mut self.b[RED]);
        vector::convert_scaled(s, black, &mut self.b[BLACK]);
    }

    /// x ← x + αp, r ← r − αq, b ← s·r of the level; returns r·r.
    fn step(&mut self, alpha: f64, s: f64, v: &mut Vectors) -> f64 {
        let rr = vector::step(alpha, &v.p, &v.q, &mut v.x, &mut v.r);
        self.take(&v.r, s);
        rr
    }

    /// (x·r, x·q) with the x of the level.
    fn products(&self, r: &[f64], q: &[f64]) -> (f64, f64) {
        let (chunk, n) = (2 * TASK * LANES * SIDE, r.len() / 2);
        let mut sums = (0.0, 0.0);
        for colour in [RED, BLACK] {
            let span = colour * n..(colour + 1) * n;
            let chunks = (
                self.x[colour].par_chunks(chunk),
                r[span.clone()].par_chunks(chunk),
                q[span].par_chunks(chunk),
            );
            let parts: Vec<(f64, f64)> = chunks
                .into_par_iter()
                .with_min_len(4)
                .map(|(x, r, q)| {
                    let (mut a, mut b) = ([0.0; LANES], [0.0; LANES]);
                    for ((x, r), q) in
                        x.chunks_exact(LANES).zip(r.chunks_exact(LANES)).zip(q.chunks_exact(LANES))
                    {
                        for i in 0..LANES {
                            a[i] += x[i] as f64 * r[i];
                            b[i] += x[i] as f64 * q[i];
                        }
                    }
                    (a.iter().sum(), b.iter().sum())
                })
                .collect();
            sums = parts.iter().fold(sums, |s, p| (s.0 + p.0, s.1 + p.1));
        }
        sums
    }

    /// p ← s·x + βp with the x of the level.
    fn turn(&self, s: f64, beta: f64, p: &mut [f64]) {
        let chunk = 4096;
        let (red, black) = p.split_at_mut(p.len() / 2);
        for (p, x) in [(red, &self.x[RED]), (black, &self.x[BLACK])] {
            p.par_chunks_mut(chunk).zip(x.par_chunks(chunk)).for_each(|(p, x)| {
                // A new round starts with β = 0 and must not read what an older solve left in p.
                match beta == 0.0 {
                    true => p.iter_mut().zip(x).for_each(|(p, x)| *p = s * *x as f64),
                    false => p.iter_mut().zip(x).for_each(|(p, x)| *p = s * *x as f64 + beta * *p),
                }
            });
        }
    }
}

/// Set what is no unknown to zero.
fn mask(diagonal: &[f64], field: &mut [f64]) {
    let chunk = 4096;
    field.par_chunks_mut(chunk).zip(diagonal.par_chunks(chunk)).for_each(|(f, d)| {
        f.iter_mut().zip(d).for_each(|(f, d)| *f = if *d > 0.0 { *f } else { 0.0 });
    });
}

fn check(rhs: &[f64], p: &[f64], params: &KrylovParams) -> Result<()> {
    let invalid = |message: String| Err(Error::invalid("multigrid", message));
    if !(params.tolerance > 0.0 && params.tolerance < 1.0) {
        return invalid(format!("the tolerance is {}, it must lie between 0 and 1", params.tolerance));
    }
    if !vector::all_finite(rhs) {
        return invalid("the right-hand side has numbers that are not finite".into());
    }
    if !vector::all_finite(p) {
        return invalid("the first guess has numbers that are not finite".into());
    }
    Ok(())
}

fn finite(iteration: usize, value: f64) -> Result<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    let message =
        format!("a number that is not finite appeared in iteration {iteration}; look for one in the stencil");
    Err(Error::diverged("multigrid", message))
}
