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
    pub(super) x: Vec<f64>,
    pub(super) r: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

/// One colour of a tile in a step: x, r, p, q and the b of the level.
type StepTile<'a> = (&'a mut [f64], &'a mut [f64], &'a [f64], &'a [f64], &'a mut [f32]);

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
        v.resize(2 * self.levels[0].shape.half() * self.active.len());
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
        self.split_unknowns(p, &mut v.x);
        let (mut iterations, mut previous) = (0, f64::INFINITY);
        let (residual, outcome) = loop {
            self.residual(v);
            if self.lift(v) {
                self.residual(v);
            }
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
                self.residual(v);
                let residual = vector::norm(&v.r) / scale;
                break (residual, if residual <= params.tolerance { Outcome::Converged } else { outcome });
            }
        };
        vector::fill(0.0, p);
        merge(shape, &self.active, v.x.split_at(v.x.len() / 2).into(), p, |x| x);
        self.project_null(tiles, p);
        Ok(info(iterations, residual, outcome))
    }

    /// r ← b − A x, with the bodies.
    fn residual(&self, v: &mut Vectors) {
        self.levels[0].residual(&self.diagonal, &v.b, &v.x, &mut v.r);
        self.add_bodies(-1.0, &v.x, &mut v.r);
    }

    /// The right-hand side of the unknowns, balanced in closed regions. Returns its norm before that.
    fn load(&self, tiles: &Tiles, rhs: &[f64], v: &mut Vectors) -> f64 {
        self.split_unknowns(rhs, &mut v.b);
        let before = vector::norm(&v.b);
        if self.regions.count() > 0 {
            let mut balanced = rhs.to_vec();
            self.project_null(tiles, &mut balanced);
            self.split_unknowns(&balanced, &mut v.b);
        }
        before
    }

    /// Split a field by colour, with zero in the cells that are no unknowns.
    fn split_unknowns(&self, field: &[f64], out: &mut [f64]) {
        let (first, half) = (&self.levels[0], self.levels[0].shape.half());
        let (red, black) = out.split_at_mut(out.len() / 2);
        split(first.shape, &self.active, field, red, black, |v| v);
        for (colour, out) in [(RED, red), (BLACK, black)] {
            let tiles = (out.par_chunks_mut(half), &first.slot).into_par_iter().with_min_len(TASK);
            tiles.filter(|t| *t.1 > 0).for_each(|(out, &slot)| {
                let d = &self.diagonal[half * (2 * slot as usize + colour)..];
                out.iter_mut().zip(d).for_each(|(v, d)| *v = if *d > 0.0 { *v } else { 0.0 });
            });
        }
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
        // A step of length zero hands the residual to the cycle.
        self.levels[0].step(0.0, 1.0 / norm, v);
        self.cycle();
        self.correct(1.0 / norm, &v.r);
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
            let own = self.levels[0].apply_dot(&self.diagonal, &v.p, &mut v.q);
            let pq = finite(*iterations, own + self.add_bodies(1.0, &v.p, &mut v.q))?;
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
            self.correct(1.0 / unit, &v.r);
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
        self.rows_of(diagonal, p, q, |_, d, p, pull, out| {
            let mut dot = 0.0;
            for i in 0..LANES {
                out[i] = d[i] * p[i] - pull[i];
                dot += out[i] * p[i];
            }
            dot
        })
    }

    /// r ← b − A x.
    fn residual(&self, diagonal: &[f64], b: &[f64], x: &[f64], r: &mut [f64]) {
        self.rows_of(diagonal, x, r, |at, d, x, pull, out| {
            for i in 0..LANES {
                out[i] = b[at + i] - (d[i] * x[i] - pull[i]);
            }
            0.0
        });
    }

    /// Run `f(place, diagonal, x, C x, out)` over all rows and add up what it returns.
    #[inline(always)]
    fn rows_of(
        &self,
        diagonal: &[f64],
        x: &[f64],
        out: &mut [f64],
        f: impl Fn(usize, &[f64], &[f64], &[f64; LANES], &mut [f64]) -> f64 + Sync,
    ) -> f64 {
        let (shape, half, n) = (self.shape, self.shape.half(), x.len() / 2);
        let (red, black) = out.split_at_mut(n);
        let chunks = red.par_chunks_mut(half).zip(black.par_chunks_mut(half)).enumerate().with_min_len(TASK);
        let tile = |ring: &mut Ring<f64>, (t, (red, black)): (usize, (&mut [f64], &mut [f64]))| {
            let (s, mut sum) = (self.slot[t] as usize, 0.0);
            for (colour, out) in [(RED, red), (BLACK, black)] {
                ring.load(shape, t, &self.beside[t], &x[(1 - colour) * n..(2 - colour) * n]);
                let first = colour * n + half * t;
                let x = x[first..first + half].chunks_exact(LANES);
                let d = diagonal[half * (2 * s + colour)..half * (2 * s + colour + 1)].chunks_exact(LANES);
                let coupling =
                    self.coupling[colour][6 * half * s..6 * half * (s + 1)].chunks_exact(ROW_COUPLINGS);
                let rows = out.chunks_exact_mut(LANES).zip(x).zip(d.zip(coupling)).enumerate();
                for (row, ((out, x), (d, coupling))) in rows {
                    let (y, z) = (row % SIDE, row / SIDE);
                    let pull = ring.pull(is_odd(colour, y, z), y, z, coupling);
                    sum += f(first + LANES * row, d, x, &pull, out);
                }
            }
            sum
        };
        chunks.map_init(Ring::default, tile).collect::<Vec<f64>>().iter().sum()
    }

    /// x ← x + αp, r ← r − αq; returns r·r. Hands s·r to the cycle: b of the level and its red values b/d.
    fn step(&mut self, alpha: f64, s: f64, v: &mut Vectors) -> f64 {
        let (half, n) = (self.shape.half(), v.r.len() / 2);
        let Vectors { x, r, p, q, .. } = v;
        let (slot, inverse, [red, _]) = (&self.slot, &self.inverse[RED], &mut self.x);
        let mut total = 0.0;
        let colours = x
            .chunks_mut(n.max(1))
            .zip(r.chunks_mut(n.max(1)))
            .zip(p.chunks(n.max(1)).zip(q.chunks(n.max(1))));
        for ((b, colour), ((x, r), (p, q))) in self.b.iter_mut().zip([RED, BLACK]).zip(colours) {
            let chunks = (
                x.par_chunks_mut(half),
                r.par_chunks_mut(half),
                p.par_chunks(half),
                q.par_chunks(half),
                b.par_chunks_mut(half),
            );
            let step = |(x, r, p, q, b): StepTile| {
                let mut sums = [0.0; LANES];
                let (x, p) = (x.chunks_exact_mut(LANES), p.chunks_exact(LANES));
                let (r, q) = (r.chunks_exact_mut(LANES), q.chunks_exact(LANES));
                for ((x, p), ((r, q), b)) in x.zip(p).zip(r.zip(q).zip(b.chunks_exact_mut(LANES))) {
                    for i in 0..LANES {
                        x[i] += alpha * p[i];
                        r[i] -= alpha * q[i];
                        b[i] = (s * r[i]) as f32;
                        sums[i] += r[i] * r[i];
                    }
                }
                (sums[0] + sums[1]) + (sums[2] + sums[3])
            };
            let chunks = chunks.into_par_iter().with_min_len(TASK);
            let sums: Vec<f64> = match colour {
                RED => (chunks, red.par_chunks_mut(half), slot)
                    .into_par_iter()
                    .with_min_len(TASK)
                    .map(|((x, r, p, q, b), red, &slot)| {
                        let sum = step((x, r, p, q, &mut *b));
                        let inverse = &inverse[half * slot as usize..];
                        red.iter_mut().zip(b).zip(inverse).for_each(|((x, b), inverse)| *x = *b * inverse);
                        sum
                    })
                    .collect(),
                _ => chunks.map(step).collect(),
            };
            total += sums.iter().sum::<f64>();
        }
        total
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
