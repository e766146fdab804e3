//! The steady coil of a slender viscous thread, after [Rib04] but without inertia.
//!
//! A thread of viscosity μ leaves a nozzle of radius a₀ downwards at U₀, falls by H and is laid on a plate in a circle of radius R,
//! at the angular velocity Ω. In the frame that turns with the coil its axis x(s) stands still and liquid runs along it at U, with
//! A = Q/U and I = A²/4π. With e upwards, t the way along the axis and ω the angular velocity of its sections,
//!
//! ```text
//!     x' = t                t' = (ω − Ωe)×t/U                        sections stay across the axis
//!     N' = ρgA e            M' = −t×N                                forces and moments balance
//!     U' = N·t/3μA          ω' = M_⊥/3μI + (M·t) t/2μI               what drawing out, bending and twisting resist with
//! ```
//!
//! At the nozzle x = He, t = −e, U = U₀, ω = 0. On the plate liquid is at rest: x·e = 0, t points against e×x, U = ΩR and
//! ω = 0. That is 16 unknowns, Ω and the length, and 18 conditions, once the coil's foot is on one axis. Lengths in H, speeds in U₀, moments and forces
//! in ε² of what drawing out takes leave two numbers: Γ = gH⁴/(νU₀a₀²), how heavy the thread is for its stiffness, and
//! ε = a₀/H. Midpoint rule; Newton from a bend drawn by hand at Γ = 0, then step by step to the Γ and ε that are asked for.
//!
//! Without weight ΩH/U₀ → 3.99, 1.27 times Q/(Ha²); with much of it Ω → .54 (gQ³/(νa⁸))^¼ with the radius a at the plate: the
//! factors of order one of the scaling laws.

use crate::math::Vec3;
use nalgebra::{DMatrix, DVector};

/// Unknowns at a node: x, t, ω, M, N and U.
const SIZE: usize = 16;
/// Nodes of the thread; 24 are .9 % off at Γ = 1600, and errors fall with the square.
const NODES: usize = 40;
/// Conditions at the nozzle.
const AT_NOZZLE: usize = 10;
/// What is left of residuals, steps of Newton, and how often one is halved at most.
const TOLERANCE: f64 = 1e-9;
const MOST_STEPS: usize = 40;
const MOST_HALVES: u32 = 12;
/// Unknowns are moved by this share of one for derivatives.
const NUDGE: f64 = 1e-6;

/// A coil, in the thread's own height and speed at the nozzle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coil {
    /// ΩH/U₀.
    pub rate: f64,
    /// R/H.
    pub radius: f64,
    /// U/U₀ where it is laid.
    pub drawn: f64,
}

/// The coil of a thread with Γ = `weight` and ε² = `slender`; None if it is not found.
pub fn coil(weight: f64, slender: f64) -> Option<Coil> {
    let mut thread = Thread { weight: 0.0, slender: 0.0, z: by_hand() };
    thread.settle().then_some(())?;
    let (mut done, mut step) = (0.0f64, 0.1f64);
    while done < 1.0 {
        let next = (done + step).min(1.0);
        // Rates change with the fourth root of the weight, so most of the way lies at its small end.
        let (weight, slender) = (weight * next.powi(4), slender * next.powi(4));
        let mut tried = Thread { weight, slender, z: thread.z.clone() };
        if tried.settle() {
            (thread, done, step) = (tried, next, 2.0 * step);
        } else {
            step *= 0.5;
            (step > 1e-4).then_some(())?;
        }
    }
    let foot = thread.node(NODES - 1);
    Some(Coil { rate: thread.rate(), radius: foot[0], drawn: foot[15] })
}

/// A thread with its weight and slenderness and what is thought of it: nodes one after the other, then Ω and the length.
struct Thread {
    weight: f64,
    slender: f64,
    z: DVector<f64>,
}

/// A thread that comes down, bends aside and ends along the plate, as a cubic; nothing in it pulls.
fn by_hand() -> DVector<f64> {
    let mut z = Vec::with_capacity(SIZE * NODES + 2);
    let r = 0.3;
    for i in 0..NODES {
        let s = i as f64 / (NODES - 1) as f64;
        let (rise, left) = (s * s * (3.0 - 2.0 * s), 1.0 - s);
        let way =
            Vec3::new(6.0 * r * s * left, s * (2.0 - 3.0 * s), -6.0 * s * left - left * (1.0 - 3.0 * s));
        z.extend([r * rise, s * s * left, 1.0 - rise - s * left * left]);
        z.extend(way.normalize().iter());
        z.extend([0.0; 9]);
        z.push(1.0);
    }
    z.extend([1.0 / r, 1.3]);
    DVector::from_vec(z)
}

impl Thread {
    fn node(&self, i: usize) -> &[f64] {
        &self.z.as_slice()[SIZE * i..SIZE * (i + 1)]
    }

    fn rate(&self) -> f64 {
        self.z[SIZE * NODES]
    }

    fn length(&self) -> f64 {
        self.z[SIZE * NODES + 1]
    }

    /// How the unknowns change along the thread.
    fn change(&self, y: &[f64]) -> [f64; SIZE] {
        let part = |k: usize| Vec3::new(y[3 * k], y[3 * k + 1], y[3 * k + 2]);
        let [t, spin, moment, force] = [1, 2, 3, 4].map(part);
        let (u, twist) = (y[15], t * moment.dot(&t));
        let turning = (spin - Vec3::z() * self.rate()).cross(&t) / u;
        let bending = ((moment - twist) * (4.0 / 3.0) + twist * 2.0) * (u * u);
        let pull = Vec3::z() * (self.weight / u);
        let all = [t, turning, bending, -t.cross(&force), pull];
        let drawing = self.slender * u * force.dot(&t) / 3.0;
        std::array::from_fn(|k| if k < 15 { all[k / 3][k % 3] } else { drawing })
    }

    /// What the piece from one node to the next misses.
    fn piece(&self, i: usize) -> [f64; SIZE] {
        let (a, b) = (self.node(i), self.node(i + 1));
        let middle: [f64; SIZE] = std::array::from_fn(|k| 0.5 * (a[k] + b[k]));
        let change = self.change(&middle);
        let h = self.length() / (NODES - 1) as f64;
        std::array::from_fn(|k| b[k] - a[k] - h * change[k])
    }

    fn residual(&self) -> DVector<f64> {
        let (nozzle, foot) = (self.node(0), self.node(NODES - 1));
        let [x, y, z, tx, ty, tz, ..] = nozzle else { return DVector::zeros(0) };
        let mut r =
            vec![*x, *y, z - 1.0, *tx, *ty, tz + 1.0, nozzle[6], nozzle[7], nozzle[8], nozzle[15] - 1.0];
        r.extend((0..NODES - 1).flat_map(|i| self.piece(i)));
        r.extend([foot[1], foot[2], foot[3], foot[5], foot[15] - self.rate() * foot[0]]);
        r.extend(&foot[6..9]);
        DVector::from_vec(r)
    }

    /// The derivative of the residual by all unknowns; those of every third node share no row.
    fn slope(&mut self, residual: &DVector<f64>) -> DMatrix<f64> {
        let n = self.z.len();
        let mut slope = DMatrix::zeros(n, n);
        let groups = (0..3 * SIZE).map(|g| (g..SIZE * NODES).step_by(3 * SIZE).collect());
        let groups: Vec<Vec<usize>> = groups.chain([vec![n - 2], vec![n - 1]]).collect();
        for group in groups {
            let kept = self.z.clone();
            group.iter().for_each(|&c| self.z[c] += NUDGE);
            let changed = (self.residual() - residual) / NUDGE;
            self.z = kept;
            for &c in &group {
                let rows = if c < SIZE * NODES { rows_of(c / SIZE) } else { 0..n };
                rows.for_each(|row| slope[(row, c)] = changed[row]);
            }
        }
        slope
    }

    /// Newton's steps, each as long as it helps; true if it settles.
    fn settle(&mut self) -> bool {
        for _ in 0..MOST_STEPS {
            let residual = self.residual();
            let left = residual.norm();
            if left < TOLERANCE {
                return true;
            }
            let slope = self.slope(&residual);
            let Some(step) = slope.lu().solve(&residual) else { return false };
            let start = self.z.clone();
            let helps = (0..MOST_HALVES).any(|halves| {
                self.z = &start - &step * 0.5f64.powi(halves as i32);
                self.residual().norm() < left
            });
            if !helps {
                return false;
            }
        }
        false
    }
}

/// The rows that read a node.
fn rows_of(node: usize) -> std::ops::Range<usize> {
    let first = if node == 0 { 0 } else { AT_NOZZLE + SIZE * (node - 1) };
    let last = if node == NODES - 1 { SIZE * NODES + 2 } else { AT_NOZZLE + SIZE * (node + 1) };
    first..last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_laid_as_fast_as_it_comes_and_faster_the_heavier_it_is() {
        let light = coil(0.0, 0.0).unwrap();
        let heavy = coil(1600.0, 0.003).unwrap();
        for c in [light, heavy] {
            assert!((c.rate * c.radius / c.drawn - 1.0).abs() < 1e-6, "{c:?}");
        }
        // Nothing draws it out; a quarter of its height is the radius.
        assert!((light.drawn - 1.0).abs() < 1e-12 && (light.radius - 0.25).abs() < 0.002, "{light:?}");
        // Where weight counts, (gQ³/(νa⁸))^¼ H/U₀ is (π³Γ)^¼ U/U₀: the rate is a fixed share of it.
        let share =
            |c: Coil, weight: f64| c.rate / ((std::f64::consts::PI.powi(3) * weight).sqrt().sqrt() * c.drawn);
        let heavier = coil(3200.0, 0.003).unwrap();
        let shares = [share(heavy, 1600.0), share(heavier, 3200.0)];
        assert!(shares.iter().all(|s| (s - 0.535).abs() < 0.02), "{shares:?}");
    }
}
