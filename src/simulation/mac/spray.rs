//! What holds the drops of spray together: tension below the grid.
//!
//! A particle that flies on its own feels no pressure and no tension of the grid; left to itself, a sheet that has thinned
//! below a cell scatters into a cloud of single particles with whatever noise their velocities have. Water does not: what
//! touches becomes one drop, within the capillary time of a drop of that size. Let r be the radius of the ball of a
//! particle's volume. Two flying particles a distance d apart are in contact if d < c = r₁ + r₂ and feel each other up to
//! d = h:
//!
//! ```text
//!     pull     f = π σ r s (1 − s) 4,   s = (d − c)/(h − c),   r = (r₁ + r₂)/2, along the line that joins them
//!     share    Δv₁ = β w V₂ (v₂ − v₁) / max(S₁, S₂),   S = V + Σ w V,   β = 1 − e^(−Δt/τ)
//! ```
//!
//! with w = 1 in contact, falling to 0 at h. A row of particles half a cell apart at the rim of a sheet is pulled with
//! about σh each, which is the 2σ a length that draws the rims of sheets in. Both terms are equal and opposite for a
//! pair, so momentum stays; S bounds the exchange, so no velocity leaves the range of those round it. In long steps the
//! pull of a pair is bounded to a tenth of a cell a step, so that drops do not fly past each other.
//! Checked by the tests below.

use super::{Mac, State};
use crate::field::Particles;
use crate::grid::Tiles;
use crate::math::Vec3;
use crate::math::elementary::{cbrt, exp};
use crate::simulation::liquid::Step;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Flying particles that touch have one velocity after this time, s.
const SHARING: f64 = 0.005;

/// Cells that the pull of one other may move a particle in a step.
const MOST: f64 = 0.1;

/// A pair of particles that feel each other, seen from the first.
struct Pair {
    other: usize,
    /// From the first to the second, of length one.
    towards: Vec3,
    share: f64,
    /// Pull over π σ, m.
    pull: f64,
}

impl Mac {
    /// Let flying particles of the next state pull at each other and share their momentum.
    pub(super) fn gather_spray(&mut self, step: &Step) {
        let State { grid, particles, .. } = &self.next;
        let rate = 1.0 - exp(-step.dt / SHARING);
        let pull = PI * step.tension * step.dt / self.options.density;
        let flies = |p: &usize| !self.takes_part[*p] && particles.volume[*p] > 0.0;
        let most = MOST * grid.tiles.h() / step.dt;
        let changes = changes(&grid.tiles, particles, &flies, [rate, pull, most]);
        let velocity = &mut self.next.particles.velocity;
        changes.into_iter().for_each(|(p, change)| velocity[p] += change);
    }
}

/// How the velocities of the particles for which `flies` holds change, given β, π σ Δt/ρ and what a pull may add at most.
fn changes(
    tiles: &Tiles,
    particles: &Particles,
    flies: &(dyn Fn(&usize) -> bool + Sync),
    [rate, pull, most]: [f64; 3],
) -> Vec<(usize, Vec3)> {
    let flying: Vec<usize> = (0..particles.len()).into_par_iter().filter(flies).collect();
    let volume = |p: usize| particles.volume[p] as f64;
    let crowd = |p: &usize| {
        let sum = pairs(tiles, particles, *p, flies).map(|pair| pair.share * volume(pair.other));
        volume(*p) + sum.sum::<f64>()
    };
    let crowds: Vec<f64> = flying.par_iter().map(crowd).collect();
    let change = |(n, &p): (usize, &usize)| {
        let one = |pair: Pair| {
            // Flying particles are in order, so that a search finds the other's crowd.
            let other = crowds[flying.partition_point(|q| *q < pair.other)];
            let share = rate * pair.share * volume(pair.other) / crowds[n].max(other);
            let apart = particles.velocity[pair.other] - particles.velocity[p];
            let drawn = (pull * pair.pull).min(most * volume(p).min(volume(pair.other)));
            apart * share + pair.towards * (drawn / volume(p))
        };
        (p, pairs(tiles, particles, p, flies).map(one).sum::<Vec3>())
    };
    flying.par_iter().enumerate().map(change).collect()
}

/// The flying particles that one of them feels, in their order.
fn pairs<'a>(
    tiles: &'a Tiles,
    particles: &'a Particles,
    p: usize,
    flies: &'a (dyn Fn(&usize) -> bool + Sync),
) -> impl Iterator<Item = Pair> + 'a {
    let (x, h) = (particles.position[p], tiles.h());
    let (cell, radius) = (tiles.cell_at(&x), |p: usize| radius_of(particles.volume[p] as f64));
    let own = radius(p);
    let layers = if tiles.is_flat() { 9..18 } else { 0..27 };
    let around = layers.map(move |n| std::array::from_fn(|a| cell[a] + n / [1, 3, 9][a] % 3 - 1));
    let near = around.filter_map(|c| tiles.locate(c)).flat_map(|place| particles.of_cell(place));
    near.filter(move |q| *q != p && flies(q)).filter_map(move |q| {
        let way = particles.position[q] - x;
        let d = way.norm();
        let middle = 0.5 * (own + radius(q));
        let contact = (2.0 * middle).min(0.9 * h);
        let s = (d - contact) / (h - contact);
        let towards = way.try_normalize(0.0)?;
        let (share, pull) = if s <= 0.0 { (1.0, 0.0) } else { (1.0 - s, 4.0 * s * (1.0 - s) * middle) };
        (s < 1.0).then_some(Pair { other: q, towards, share, pull })
    })
}

/// The radius of a ball of this volume.
pub(super) fn radius_of(volume: f64) -> f64 {
    cbrt(0.75 / PI * volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud(
        places: &[Vec3],
        velocity: impl Fn(usize) -> Vec3,
        volume: impl Fn(usize) -> f32,
    ) -> (Tiles, Particles) {
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, vec![[0, 0, 0]]);
        let mut particles = Particles::default();
        for (n, x) in places.iter().enumerate() {
            particles.push(*x, velocity(n), n as u64, volume(n), None);
        }
        particles.sort(&tiles).unwrap();
        (tiles, particles)
    }

    #[test]
    fn spray_shares_its_momentum_and_keeps_it() {
        let r = |n: usize, m: usize| ((n * 2654435761 + m * 40503) % 1000) as f64 / 1000.0;
        let places: Vec<Vec3> =
            (0..60).map(|n| Vec3::new(r(n, 1), r(n, 2), r(n, 3)).add_scalar(2.5)).collect();
        let velocity = |n: usize| Vec3::new(r(n, 4), r(n, 5), r(n, 6));
        let (tiles, mut particles) = cloud(&places, velocity, |n| 0.1 + 0.05 * (n % 3) as f32);
        let sum = |p: &Particles| p.velocity.iter().zip(&p.volume).map(|(v, w)| v * *w as f64).sum::<Vec3>();
        let all: f64 = particles.volume.iter().map(|w| f64::from(*w)).sum();
        let spread = |p: &Particles| {
            let mean = sum(p) / all;
            p.velocity
                .iter()
                .zip(&p.volume)
                .map(|(v, w)| (v - mean).norm_squared() * f64::from(*w))
                .sum::<f64>()
        };
        let (before, noise) = (sum(&particles), spread(&particles));
        for _ in 0..20 {
            for (p, change) in changes(&tiles, &particles, &|_| true, [0.5, 0.0, 1.0]) {
                particles.velocity[p] += change;
            }
        }
        assert!((sum(&particles) - before).norm() < 1e-12);
        assert!(spread(&particles) < 0.1 * noise, "{} of {noise}", spread(&particles));
        let pulls = changes(&tiles, &particles, &|_| true, [0.0, 1.0, 1e9]);
        let push: Vec3 = pulls.iter().map(|(p, v)| v * particles.volume[*p] as f64).sum();
        assert!(push.norm() < 1e-12);
    }

    #[test]
    fn two_drops_draw_near_and_become_one() {
        // Balls of radius 0.3, so that they touch at 0.6 and are drawn most at 0.8.
        let ball = (4.0 / 3.0 * PI * 0.027) as f32;
        let apart = |d: f64| {
            let places = [Vec3::repeat(3.3), Vec3::new(3.3 + d, 3.3, 3.3)];
            cloud(&places, |n| Vec3::y() * n as f64, |_| ball)
        };
        let (tiles, particles) = apart(0.8);
        let drawn = changes(&tiles, &particles, &|_| true, [0.0, 1.0, 1e9]);
        // f = 0.3 at the middle of the reach, over the volume.
        assert!((drawn[0].1.x * f64::from(ball) - 0.3).abs() < 1e-6, "{:?}", drawn[0]);
        assert!((drawn[0].1 + drawn[1].1).norm() < 1e-12);
        let (tiles, particles) = apart(0.5);
        let shared = changes(&tiles, &particles, &|_| true, [1.0, 1.0, 1e9]);
        assert!((particles.velocity[0] + shared[0].1 - Vec3::y() * 0.5).norm() < 1e-6);
        // One that moves with the liquid is left to the grid.
        assert_eq!(changes(&tiles, &particles, &|p| *p == 0, [1.0, 1.0, 1e9]), vec![(0, Vec3::zeros())]);
        let (tiles, particles) = apart(1.01);
        assert!(changes(&tiles, &particles, &|_| true, [1.0, 1.0, 1e9]).iter().all(|(_, v)| v.norm() == 0.0));
    }
}
