//! Conjugate gradients over split fields, with the cycle as preconditioner.
//!
//! The recurrences of [`crate::linalg::cg`], β in the flexible form [Not00], with few passes over memory. x is kept
//! in f64; directions p, their images q and the residual r are kept in f32, in units of the residual that a
//! round begins with:
//!
//! ```text
//!     q = A p in f64, rounded        r ← r − αq        x ← x + αp exactly as p and α are
//! ```
//!
//! Each rounding is a share of 6·10⁻⁸ of q or r themselves, not of the much greater d·p that q is a difference of.
//! So r parts from b − Ax by some 10⁻⁷ of the residual at the start of the round and no more, whatever the
//! condition of A. A round ends when r is small enough or has fallen by [`FALL`]; the next one begins with the
//! true residual and goes on with the same direction p. What rounding left is not orthogonal to it, as residuals of the
//! recurrence are, and steps along directions conjugate to p would never take that part away. So a round first goes
//! along p once more, by α = r·p/p·q.
//!
//! Where numbers leave the range of f32 it ends without a result, and algebraic multigrid takes over. Sums are taken
//! over tiles in order.

use super::level::{BLACK, Level, RED, TASK};
use super::rows::{LANES, Near, Row, Wide};
use super::{Multigrid, merge, split_tile};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::grid::{SIDE, Tiles};
use crate::linalg::{KrylovParams, Outcome, SolveInfo, vector};
use crate::math::{Four, Two};
use rayon::prelude::*;

/// How far a residual of the recurrence may fall before it is computed anew. It is good to some 10⁻⁷; errors of more
/// than a thousandth of it begin to cost iterations where many are needed.
const FALL: f64 = 1e-3;
/// What rounding leaves unknown of a residual, as a share of the one that a round began with.
const UNKNOWN: f64 = 1e-7;
/// A residual greater than this in its unit gets another unit, far from the end of the range of f32.
const MOST: f64 = 1e3;

/// The vectors of the iteration, red cells and black ones. The residual is the b of the first level.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    b: [Vec<f64>; 2],
    pub(super) x: [Vec<f64>; 2],
    p: [Vec<f32>; 2],
    q: [Vec<f32>; 2],
}

impl Vectors {
    fn resize(&mut self, cells: usize) {
        self.b.iter_mut().chain(&mut self.x).for_each(|v| v.resize(cells, 0.0));
        self.p.iter_mut().chain(&mut self.q).for_each(|v| v.resize(cells, 0.0));
    }

    pub(super) fn bytes(&self) -> usize {
        let wide: usize = self.b.iter().chain(&self.x).map(|v| v.capacity()).sum();
        8 * wide + 4 * self.p.iter().chain(&self.q).map(|v| v.capacity()).sum::<usize>()
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
        if !(params.tolerance > 0.0 && params.tolerance < 1.0) {
            let message = format!("the tolerance is {}, it must lie between 0 and 1", params.tolerance);
            return Err(Error::invalid("multigrid", message));
        }
        let mut v = std::mem::take(&mut self.vectors);
        v.resize(self.levels[0].shape.half() * self.active.len());
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
        let (before, scale) = self.load(tiles, rhs, &mut v.b)?;
        if scale <= (1e-14 * before).max(f64::MIN_POSITIVE) {
            vector::fill(0.0, p);
            return Ok(info(0, 0.0, Outcome::Converged));
        }
        given("first guess", self.split_unknowns(p, &mut v.x))?;
        let (mut iterations, mut previous, mut norm) = (0, f64::INFINITY, scale);
        let mut last = None;
        let (residual, outcome) = loop {
            let mut unit = norm;
            norm = self.residual(&mut unit, v);
            if self.lift(unit, v) {
                norm = self.residual(&mut unit, v);
            }
            let residual = finite(iterations, norm)? / scale;
            if residual <= params.tolerance {
                break (residual, Outcome::Converged);
            }
            if residual > 0.5 * previous {
                break (residual, Outcome::Stalled);
            }
            previous = residual;
            let target = (params.tolerance * scale).max(FALL * norm) / unit;
            let (outcome, reached) =
                self.round(v, unit, [norm / unit, target], params, cancel, &mut iterations, &mut last)?;
            // Nothing is known of a residual below what rounding leaves of the first one.
            norm = unit * reached.max(UNKNOWN * norm / unit);
            if outcome != Outcome::Converged {
                let residual = self.residual(&mut unit, v) / scale;
                break (residual, if residual <= params.tolerance { Outcome::Converged } else { outcome });
            }
        };
        // What is further off than nothing is no guess for whoever goes on.
        if outcome != Outcome::Converged && (residual > 1.0 || residual.is_nan()) {
            vector::fill(0.0, p);
            return Ok(info(iterations, residual, outcome));
        }
        merge(self.levels[0].shape, &self.active, [&v.x[RED], &v.x[BLACK]], p, |x| x);
        self.project_null(tiles, p);
        Ok(info(iterations, residual, outcome))
    }

    /// The residual b − A x, with the bodies, in the given unit. Returns its norm.
    fn residual(&mut self, unit: &mut f64, v: &Vectors) -> f64 {
        let mut write = |unit: f64| {
            let first = &mut self.levels[0];
            match &self.bodies {
                None => first.residual(&self.diagonal, unit, &v.b, &v.x),
                Some(bodies) => {
                    let mut b = v.b.clone();
                    bodies.add(-1.0, &v.x, &mut b);
                    first.residual(&self.diagonal, unit, &b, &v.x);
                }
            }
            unit * first.hand_over()
        };
        let norm = write(*unit);
        if norm > MOST * *unit && norm.is_finite() {
            *unit = norm;
            return write(norm);
        }
        norm
    }

    /// The right-hand side of the unknowns, balanced in closed regions. Returns its norm before and after.
    fn load(&self, tiles: &Tiles, rhs: &[f64], b: &mut [Vec<f64>; 2]) -> Result<(f64, f64)> {
        let before = given("right-hand side", self.split_unknowns(rhs, b))?;
        if self.regions.count() == 0 {
            return Ok((before, before));
        }
        let mut balanced = rhs.to_vec();
        self.project_null(tiles, &mut balanced);
        Ok((before, self.split_unknowns(&balanced, b)))
    }

    /// Split a field by colour, with zero in the cells that are no unknowns. Returns its norm.
    fn split_unknowns(&self, field: &[f64], out: &mut [Vec<f64>; 2]) -> f64 {
        let (shape, half, slot) = (self.levels[0].shape, self.levels[0].shape.half(), &self.levels[0].slot);
        let [red, black] = out;
        let chunks = (&self.active, slot, red.par_chunks_mut(half), black.par_chunks_mut(half));
        let tile = |(&t, &slot, red, black): (&u32, &u32, &mut [f64], &mut [f64])| {
            let field = &field[2 * half * t as usize..2 * half * (t as usize + 1)];
            split_tile(shape, field, red, black, |v| v);
            let mut sum = 0.0;
            for (colour, out) in [(RED, red), (BLACK, black)] {
                let d = shape.of(&self.diagonal, 2 * slot as usize + colour).as_flattened();
                out.iter_mut().zip(d).for_each(|(v, d)| *v = if *d > 0.0 { *v } else { 0.0 });
                sum += squares(out.as_chunks().0);
            }
            sum
        };
        total(chunks.into_par_iter().with_min_len(TASK).map(tile).collect()).sqrt()
    }

    /// Iterate from a residual to a smaller one, both in the unit given, or until something is wrong; `last` is the
    /// p·q of the direction before. Returns what was reached.
    #[allow(clippy::too_many_arguments)]
    fn round(
        &mut self,
        v: &mut Vectors,
        unit: f64,
        [mut norm, target]: [f64; 2],
        params: &KrylovParams,
        cancel: &Cancel,
        iterations: &mut usize,
        last: &mut Option<f64>,
    ) -> Result<(Outcome, f64)> {
        let (mut best, mut since) = (norm, *iterations);
        // x gets its step together with the next direction: both read the last one.
        let mut owed = 0.0;
        if let Some(pq) = *last {
            let alpha = (self.levels[0].along(&v.p) / pq) as f32;
            self.levels[0].step(alpha, &v.q);
            owed = unit * f64::from(alpha);
        }
        let outcome = loop {
            let (rz, zq) = self.precondition(&v.q);
            if !(rz > 0.0 && rz.is_finite()) {
                break Outcome::Indefinite;
            }
            let beta = last.map(|pq| (-zq / pq) as f32);
            self.levels[0].turn(owed, beta, v);
            owed = 0.0;
            if *iterations >= params.max_iterations {
                break Outcome::MaxIterations;
            }
            cancel.check()?;
            let own = self.levels[0].apply_dot(&self.diagonal, &v.p, &mut v.q);
            let bodies = self.bodies.as_ref().map_or(0.0, |b| b.add(1.0, &v.p, &mut v.q));
            let pq = own + bodies;
            if !(pq > 0.0 && pq.is_finite()) {
                break Outcome::Indefinite;
            }
            // The same α for x and for r, which is kept in f32.
            let alpha = (rz / pq) as f32;
            norm = self.levels[0].step(alpha, &v.q);
            if !norm.is_finite() {
                break Outcome::Indefinite;
            }
            *last = Some(pq);
            owed = unit * f64::from(alpha);
            *iterations += 1;
            if norm <= target {
                break Outcome::Converged;
            }
            if norm < 0.99 * best {
                (best, since) = (norm, *iterations);
            }
            if *iterations >= since + params.stall_iterations.max(1) {
                break Outcome::Stalled;
            }
        };
        self.levels[0].advance(owed, v);
        Ok((outcome, norm))
    }

    /// One cycle: the x of the first level from its b. Returns (x·b, x·q).
    fn precondition(&mut self, q: &[Vec<f32>; 2]) -> (f64, f64) {
        let shape = self.levels[0].shape;
        let of_tile =
            |colour: usize| move |t: usize, x: &[f32], b: &[f32]| products(x, b, shape.of(&q[colour], t));
        if self.bodies.is_none() && self.levels.len() > 1 {
            self.cycle_below();
            return pairs([BLACK, RED].map(|colour| self.levels[0].relax(colour, of_tile(colour))));
        }
        self.cycle();
        self.correct();
        let Level { x, b, .. } = &self.levels[0];
        let tile = |colour: usize, t: usize| {
            of_tile(colour)(t, shape.of(&x[colour], t).as_flattened(), shape.of(&b[colour], t).as_flattened())
        };
        let tiles = (0..self.active.len()).into_par_iter().with_min_len(TASK);
        pairs([BLACK, RED].map(|colour| tiles.clone().map(|t| tile(colour, t)).collect()))
    }
}

impl Level {
    /// q ← A p, and p·q.
    fn apply_dot(&self, diagonal: &[f64], p: &[Vec<f32>; 2], q: &mut [Vec<f32>; 2]) -> f64 {
        let (shape, half) = (self.shape, self.shape.half());
        let tile = |(t, (red, black)): (usize, (&mut [f32], &mut [f32]))| {
            let mut dot = Wide::new([0.0; LANES]);
            for (colour, out) in [(RED, red), (BLACK, black)] {
                let near = Near::new(shape, t, &self.beside[t], &p[1 - colour]);
                let (own, out) = (shape.of(&p[colour], t), out.as_chunks_mut().0);
                let d = shape.of(diagonal, 2 * self.slot[t] as usize + colour);
                near.each_pull(colour, self.faces.of(shape, colour, t), |row, pull| {
                    let p = Wide::from(own[row]);
                    let q = image(d[row], p, pull);
                    out[row] = Four::narrow(q.0).get();
                    dot = dot.add(q.with(p, Two::by));
                });
            }
            dot.sum()
        };
        let [red, black] = q;
        let chunks = red.par_chunks_mut(half).zip(black.par_chunks_mut(half)).enumerate();
        total(chunks.with_min_len(TASK).map(tile).collect())
    }

    /// b·p.
    fn along(&self, p: &[Vec<f32>; 2]) -> f64 {
        let tile = |t: usize| {
            let mut dot = Wide::new([0.0; LANES]);
            for (b, p) in self.b.iter().zip(p) {
                for (b, p) in self.shape.of(b, t).iter().zip(self.shape.of(p, t)) {
                    dot = dot.add(Wide::from(*b).with(Wide::from(*p), Two::by));
                }
            }
            dot.sum()
        };
        total((0..self.tiles()).into_par_iter().with_min_len(TASK).map(tile).collect())
    }

    /// b of the level ← (b − A x)/unit.
    fn residual(&mut self, diagonal: &[f64], unit: f64, b: &[Vec<f64>; 2], x: &[Vec<f64>; 2]) {
        let Self { shape, beside, slot, faces, b: [red, black], .. } = self;
        let (shape, half, scale) = (*shape, shape.half(), 1.0 / unit);
        let chunks = red.par_chunks_mut(half).zip(black.par_chunks_mut(half)).enumerate();
        chunks.with_min_len(TASK).for_each(|(t, (red, black))| {
            for (colour, out) in [(RED, red), (BLACK, black)] {
                let near = Near::new(shape, t, &beside[t], &x[1 - colour]);
                let (b, x, out) = (shape.of(&b[colour], t), shape.of(&x[colour], t), out.as_chunks_mut().0);
                let d = shape.of(diagonal, 2 * slot[t] as usize + colour);
                near.each_pull(colour, faces.of(shape, colour, t), |row, pull| {
                    let image = image(d[row], Wide::new(x[row]), pull);
                    let r = Wide::new(b[row]).with(image, Two::minus);
                    out[row] = Four::narrow(r.scaled(scale).0).get();
                });
            }
        });
    }

    /// r ← r − αq. Hands r to the cycle, and returns its norm.
    fn step(&mut self, alpha: f32, q: &[Vec<f32>; 2]) -> f64 {
        let shape = self.shape;
        self.take_over(|colour, t, r| {
            for (r, q) in r.iter_mut().zip(shape.of(&q[colour], t)) {
                *r = Four::new(*r).minus(Four::new(*q).times(alpha)).get();
            }
        })
    }

    /// Hands r to the cycle as it is, and returns its norm.
    fn hand_over(&mut self) -> f64 {
        self.take_over(|_, _, _| ())
    }

    /// Change r, tile by tile, and hand it to the cycle: red values r/d. Returns the norm of r.
    #[inline(always)]
    fn take_over(&mut self, change: impl Fn(usize, usize, &mut [Row<f32>]) + Sync) -> f64 {
        let Self { shape, slot, inverse, b: [red, black], x, .. } = self;
        let (shape, half, inverse) = (*shape, shape.half(), &inverse[RED]);
        let chunks = (red.par_chunks_mut(half), black.par_chunks_mut(half), x[RED].par_chunks_mut(half));
        let norms = chunks.into_par_iter().enumerate().with_min_len(TASK).map(|(t, (red, black, x))| {
            let (red, black) = (red.as_chunks_mut().0, black.as_chunks_mut().0);
            change(RED, t, red);
            change(BLACK, t, black);
            let rows = red.iter().zip(shape.of(inverse, slot[t] as usize));
            for (x, (r, inverse)) in x.as_chunks_mut().0.iter_mut().zip(rows) {
                *x = Four::new(*r).by(Four::new(*inverse)).get();
            }
            squares(red) + squares(black)
        });
        total(norms.collect()).sqrt()
    }

    /// x ← x + s p, then p ← z + βp with z the x of the level. Without β there is no p before.
    fn turn(&self, s: f64, beta: Option<f32>, v: &mut Vectors) {
        let colours = v.x.iter_mut().zip(&mut v.p).zip(&self.x);
        for ((x, p), z) in colours {
            let chunks = (x.par_chunks_mut(CHUNK), p.par_chunks_mut(CHUNK), z.par_chunks(CHUNK));
            chunks.into_par_iter().for_each(|(x, p, z)| {
                let Some(beta) = beta else { return p.copy_from_slice(z) };
                for ((x, p), z) in x.iter_mut().zip(p).zip(z) {
                    *x += s * f64::from(*p);
                    *p = z + beta * *p;
                }
            });
        }
    }

    /// x ← x + s p.
    fn advance(&self, s: f64, v: &mut Vectors) {
        for (x, p) in v.x.iter_mut().zip(&v.p).filter(|_| s != 0.0) {
            let chunks = x.par_chunks_mut(CHUNK).zip(p.par_chunks(CHUNK));
            chunks.for_each(|(x, p)| x.iter_mut().zip(p).for_each(|(x, p)| *x += s * f64::from(*p)));
        }
    }
}

/// Cells of one colour that a task takes in passes that need no tiles.
const CHUNK: usize = 4096;

/// d p − C p in the cells that are unknowns, zero elsewhere.
#[inline(always)]
fn image(d: Row<f64>, p: Wide, pull: Wide) -> Wide {
    let d = Wide::new(d);
    d.with(p, Two::by).with(pull, Two::minus).with(d, Two::where_positive)
}

/// Σ of squares of the rows of a tile.
#[inline(always)]
fn squares<T: Copy>(rows: &[Row<T>]) -> f64
where
    Wide: From<Row<T>>,
{
    let mut sum = Wide::new([0.0; LANES]);
    for row in rows {
        let row = Wide::from(*row);
        sum = sum.add(row.with(row, Two::by));
    }
    sum.sum()
}

/// x·b and x·q of a tile: each layer in f32, the layers in f64.
#[inline(always)]
fn products(x: &[f32], b: &[f32], q: &[Row<f32>]) -> [f64; 2] {
    let mut sums = [Wide::new([0.0; LANES]); 2];
    let layers = x.as_chunks().0.chunks(SIDE).zip(b.as_chunks().0.chunks(SIDE)).zip(q.chunks(SIDE));
    for ((x, b), q) in layers {
        let mut layer = [Four::new([0.0; LANES]); 2];
        for ((x, b), q) in x.iter().zip(b).zip(q) {
            let x = Four::new(*x);
            layer = [layer[0].plus(x.by(Four::new(*b))), layer[1].plus(x.by(Four::new(*q)))];
        }
        sums = [sums[0].add(Wide(layer[0].wide())), sums[1].add(Wide(layer[1].wide()))];
    }
    sums.map(Wide::sum)
}

fn total(parts: Vec<f64>) -> f64 {
    parts.iter().sum()
}

fn pairs(parts: [Vec<[f64; 2]>; 2]) -> (f64, f64) {
    parts.iter().flatten().fold((0.0, 0.0), |(a, b), [c, d]| (a + c, b + d))
}

/// The norm of a field that was given, if it is finite.
fn given(name: &str, norm: f64) -> Result<f64> {
    match norm.is_finite() {
        true => Ok(norm),
        false => Err(Error::invalid("multigrid", format!("the {name} has numbers that are not finite"))),
    }
}

fn finite(iteration: usize, value: f64) -> Result<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    let message =
        format!("a number that is not finite appeared in iteration {iteration}; look for one in the stencil");
    Err(Error::diverged("multigrid", message))
}
