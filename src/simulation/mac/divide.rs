//! Particles of films that are drawn out divide, and join again where they come to rest.
//!
//! A film or a thread of thick liquid that is stretched stays whole and becomes thinner; its particles only move apart. With
//! a particle less than every .6 cells [films](super::film) have holes that liquid of this thickness does not have. So between
//! two particles p and q of a film whose distance is between [`APART`] a new one is put if there is none within [`ROOM`],
//! after [ATT12]:
//!
//! ```text
//!     V = (V_p + V_q)/3,    x = (V_p x_p + V_q x_q)/(V_p + V_q),    v alike,    p and q keep ⅔ of theirs
//! ```
//!
//! Volume, its middle and momentum stay what they were. A film divides until its particles have [`LEAST`] of the usual
//! volume: then it is some hundredths of a cell thick, and may tear. A particle divides once a substep.
//!
//! Where such liquid has come to rest under other liquid its many small particles only cost time. In cells that hold more than
//! usual the smallest joins the nearest one, as long as it has less than [`SMALL`] of the usual volume.
//! Checked by the tests below and by tests/honey.rs (`a_falling_curtain_is_drawn_out_and_stays_whole`).

use super::filling::Newcomers;
use super::film::Member;
use super::skin::around;
use super::{DEEP, Mac, State};
use crate::error::Result;
use crate::field::Particles;
use crate::math::Vec3;
use rayon::prelude::*;
use std::collections::HashMap;

/// Particles between which another one may be put are this far apart, in cells: nearer ones cover what is between them, and
/// what is further apart has torn.
const APART: [f64; 2] = [0.75, 1.5];
/// It must have this much room, in cells.
const ROOM: f64 = 0.4;
/// Shares of the volume of a usual particle: those with less do not divide, and those with less join.
const LEAST: f64 = 1.0 / 32.0;
const SMALL: f64 = 0.5;

/// Two particles that give a third one.
struct Pair {
    parents: [usize; 2],
    place: Vec3,
}

impl Mac {
    /// Divide particles of the films of the next state where they are too far apart. Whether any did.
    pub(super) fn divide(&mut self, members: &[Member]) -> Result<bool> {
        let pairs = self.apart(members);
        if pairs.is_empty() {
            return Ok(false);
        }
        let particles = &mut self.next.particles;
        let old = particles.len();
        let (mut new, mut affine) = (Newcomers::default(), Vec::new());
        for Pair { parents, place } in &pairs {
            let [p, q] = *parents;
            let share = share_of(particles, p, q);
            new.places.push(*place);
            new.velocity.push(mean(&particles.velocity[p], &particles.velocity[q], share));
            new.volume.push((particles.volume[p] + particles.volume[q]) / 3.0);
            new.liquid.extend(particles.liquid.get(p));
            new.carried.extend(mean_row(particles, p, q, share));
            affine.extend(particles.affine.get(p).map(|_| mean_affine(particles, p, q, share)));
            parents.iter().for_each(|p| particles.volume[*p] -= particles.volume[*p] / 3.0);
        }
        self.push_particles(new)?;
        let State { grid, particles, .. } = &mut self.next;
        if !affine.is_empty() {
            particles.affine[old..].copy_from_slice(&affine);
        }
        particles.sort(&grid.tiles)?;
        Ok(true)
    }

    /// The pairs of members that have room for another particle between them, each particle in one of them at most.
    fn apart(&self, members: &[Member]) -> Vec<Pair> {
        let State { grid, particles, .. } = &self.next;
        let (tiles, h) = (&grid.tiles, grid.tiles.h());
        let least = (LEAST * self.usual_volume()) as f32;
        let mut divides = vec![false; particles.len()];
        members.iter().map(|m| m.particle).for_each(|p| divides[p] = particles.volume[p] >= least);
        let of_member = |m: &Member| {
            let (p, x) = (m.particle, particles.position[m.particle]);
            let mut found = Vec::new();
            if !divides[p] {
                return found;
            }
            let Some(cell) = tiles.locate(tiles.cell_at(&x)) else { return found };
            let near = around(tiles, cell / tiles.volume(), cell % tiles.volume(), 2);
            for q in near.flat_map(|place| particles.of_cell(place)).filter(|q| *q > p && divides[*q]) {
                let away = (particles.position[q] - x).norm() / h;
                if away > APART[0] && away < APART[1] && particles.liquid.get(p) == particles.liquid.get(q) {
                    let place = mean(&x, &particles.position[q], share_of(particles, p, q));
                    if self.has_room(&place) {
                        found.push(Pair { parents: [p, q], place });
                    }
                }
            }
            found
        };
        let found: Vec<Pair> = members.par_iter().flat_map_iter(of_member).collect();
        self.first_of_each(found)
    }

    /// Whether a particle at x would be far from all others, on the same side of sheets as those it comes from, and in no solid.
    fn has_room(&self, x: &Vec3) -> bool {
        let State { grid, particles, .. } = &self.next;
        let tiles = &grid.tiles;
        let Some(place) = tiles.locate(tiles.cell_at(x)) else { return false };
        let room = (ROOM * tiles.h()).powi(2);
        grid.centre[place] > 0.0
            && tiles.sheets(place / tiles.volume()).is_none()
            && around(tiles, place / tiles.volume(), place % tiles.volume(), 1)
                .flat_map(|place| particles.of_cell(place))
                .all(|q| (particles.position[q] - x).norm_squared() > room)
    }

    /// Of pairs in their order those whose particles are in no earlier one, and that put theirs near no other new one.
    fn first_of_each(&self, pairs: Vec<Pair>) -> Vec<Pair> {
        let tiles = &self.next.grid.tiles;
        let room = (ROOM * tiles.h()).powi(2);
        let mut taken = vec![false; self.next.particles.len()];
        let mut new: HashMap<[i32; 3], Vec<Vec3>> = HashMap::new();
        let mut is_first = |pair: &Pair| {
            let cell = tiles.cell_at(&pair.place);
            let crowded = |n: i32| {
                let beside = std::array::from_fn(|a| cell[a] + n / [1, 3, 9][a] % 3 - 1);
                let here = new.get(&beside);
                here.is_some_and(|here| here.iter().any(|x| (x - pair.place).norm_squared() < room))
            };
            if pair.parents.iter().any(|p| taken[*p]) || (0..27).any(crowded) {
                return false;
            }
            pair.parents.iter().for_each(|p| taken[*p] = true);
            new.entry(cell).or_default().push(pair.place);
            true
        };
        pairs.into_iter().filter(|pair| is_first(pair)).collect()
    }

    /// Let small particles in deep cells that hold more than usual join others.
    pub(super) fn join(&mut self) -> Result<()> {
        let (usual, deep) = (self.usual_volume(), -DEEP * self.options.cell);
        let State { grid, particles, .. } = &self.next;
        let (most, small) = (self.seeding.full(), (SMALL * usual) as f32);
        let crowded = |place: &usize| {
            let here = particles.of_cell(*place);
            here.len() > most
                && grid.liquid[*place] < deep
                && particles.volume[here].iter().any(|v| *v < small)
        };
        let cells: Vec<usize> = (0..grid.tiles.cells()).into_par_iter().filter(crowded).collect();
        if cells.is_empty() {
            return Ok(());
        }
        let State { grid, particles, .. } = &mut self.next;
        let mut keep = vec![true; particles.len()];
        for place in cells {
            let mut here: Vec<usize> = particles.of_cell(place).collect();
            while here.len() > most {
                let Some((n, nearest)) = smallest(particles, &here, small) else { break };
                join_into(particles, here[n], nearest);
                keep[here.remove(n)] = false;
            }
        }
        particles.merge(&grid.tiles, &keep)
    }

    /// What a particle of a full cell stands for, m³.
    fn usual_volume(&self) -> f64 {
        self.options.cell.powi(3) / self.seeding.full() as f64
    }
}

/// The place in a list of the smallest particle that is small and has another one of its liquid beside it, and the nearest of those.
fn smallest(particles: &Particles, here: &[usize], small: f32) -> Option<(usize, usize)> {
    let of = |n: usize| {
        let p = here[n];
        let away = |q: usize| (particles.position[q] - particles.position[p]).norm_squared();
        let others = here.iter().filter(|q| **q != p && particles.liquid.get(**q) == particles.liquid.get(p));
        Some((n, *others.min_by(|a, b| away(**a).total_cmp(&away(**b)))?))
    };
    let all = (0..here.len()).filter(|n| particles.volume[here[*n]] < small).filter_map(of);
    all.min_by(|a, b| particles.volume[here[a.0]].total_cmp(&particles.volume[here[b.0]]))
}

/// Give what particle p is and has to particle q.
fn join_into(particles: &mut Particles, p: usize, q: usize) {
    let share = share_of(particles, q, p);
    particles.position[q] = mean(&particles.position[q], &particles.position[p], share);
    particles.velocity[q] = mean(&particles.velocity[q], &particles.velocity[p], share);
    if !particles.affine.is_empty() {
        particles.affine[q] = mean_affine(particles, q, p, share);
    }
    let row: Vec<f32> = mean_row(particles, q, p, share).collect();
    let stride = particles.stride;
    particles.carried[q * stride..(q + 1) * stride].copy_from_slice(&row);
    particles.volume[q] += particles.volume[p];
}

/// The share of particle q in the volume of p and q.
fn share_of(particles: &Particles, p: usize, q: usize) -> f64 {
    let [p, q] = [p, q].map(|p| f64::from(particles.volume[p]));
    q / (p + q)
}

fn mean(a: &Vec3, b: &Vec3, share: f64) -> Vec3 {
    a + (b - a) * share
}

/// What lies between what p and q carry. What one of them has not is that of the other.
fn mean_row(particles: &Particles, p: usize, q: usize, share: f64) -> impl Iterator<Item = f32> {
    let of = move |(a, b): (&f32, &f32)| match (a.is_finite(), b.is_finite()) {
        (true, true) => a + (b - a) * share as f32,
        (false, true) => *b,
        _ => *a,
    };
    particles.row(p).iter().zip(particles.row(q)).map(of)
}

fn mean_affine(particles: &Particles, p: usize, q: usize, share: f64) -> [[f32; 3]; 3] {
    let (a, b) = (&particles.affine[p], &particles.affine[q]);
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + (b[i][j] - a[i][j]) * share as f32))
}

#[cfg(test)]
mod tests {
    use super::super::MacOptions;
    use super::*;
    use crate::field::{Columns, Solids};
    use crate::grid::Tiles;
    use crate::solver::mac::{MacGrid, Transfer};

    /// A simulator whose next state holds the particles that `fill` makes, on five tiles by three by three with cells of one metre.
    fn holding(fill: impl Fn(&mut Particles)) -> Mac {
        let coords = (0..45).map(|c| [c % 5 - 2, c / 5 % 3 - 1, c / 15 - 1]).collect();
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, coords);
        let solids = Solids::default();
        let options = MacOptions { flat: false, ..MacOptions::plain(1.0, Transfer::Apic) };
        let mut mac = Mac::new(options, &solids, &[], 0).unwrap();
        let mut particles = Particles::default();
        fill(&mut particles);
        let next_id = particles.len() as u64 + 1;
        mac.next = State { grid: MacGrid::new(tiles, &solids, None), particles, next_id, ..State::default() };
        mac.next.particles.sort(&mac.next.grid.tiles).unwrap();
        mac
    }

    fn sums(particles: &Particles) -> [Vec3; 3] {
        let all = |of: &dyn Fn(usize) -> Vec3| {
            (0..particles.len()).map(|p| of(p) * f64::from(particles.volume[p])).sum::<Vec3>()
        };
        [all(&|_| Vec3::repeat(1.0)), all(&|p| particles.position[p]), all(&|p| particles.velocity[p])]
    }

    #[test]
    fn a_film_that_is_drawn_out_keeps_its_particles_near_each_other() {
        // Three cells by eight of particles half a cell apart, scattered as they are in motion, to be drawn out eightfold.
        let at = |n: u64, a: u64| 0.3 * (((n * 7919 + a * 104729) % 1013) as f64 / 1013.0 - 0.5);
        let mut mac = holding(|particles| {
            for n in 0..96 {
                let x = [0.5 * (n % 6) as f64 - 1.25, 4.0, 0.5 * (n / 6) as f64 + 0.25];
                let x = Vec3::new(x[0] + at(n, 1), x[1] + 0.2 * at(n, 2), x[2] + at(n, 3));
                particles.push(x, x * 0.1, n, 0.125, Some([[0.0; 3]; 3]));
            }
        });
        let before = sums(&mac.next.particles);
        let mut wide = 1.0;
        for _ in 0..20 {
            wide *= 8f64.powf(0.05);
            let State { grid, particles, .. } = &mut mac.next;
            particles.position.iter_mut().for_each(|x| x.x *= 8f64.powf(0.05));
            particles.sort(&grid.tiles).unwrap();
            let member = |p: usize| Member::of(&mac.next.particles, p);
            let members: Vec<Member> = (0..mac.next.particles.len()).map(member).collect();
            mac.divide(&members).unwrap();
        }
        let particles = &mac.next.particles;
        // Nothing within the film is further from a particle than films can bridge.
        for n in 0..4000 {
            let x = Vec3::new((n % 80) as f64 * 0.25 - 10.0, 4.0, 0.5 + (n / 80) as f64 * 0.14);
            let nearest = particles.position.iter().map(|p| (p - x).norm()).fold(9.0, f64::min);
            assert!(nearest < 0.9, "{x:?}: {nearest}");
        }
        // Momentum and middle follow from volumes and positions; the film was drawn out about its middle plane.
        let after = sums(particles);
        assert!((after[0] - before[0]).norm() < 1e-6 * before[0].norm());
        assert!((after[2] - before[2]).norm() < 1e-5, "{:?} {:?}", after[2], before[2]);
        assert!((after[1] - Vec3::new(before[1].x * wide, before[1].y, before[1].z)).norm() < 1e-4);
        let mut ids = particles.ids();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), particles.len());
    }

    #[test]
    fn small_particles_of_deep_liquid_join_and_carry_their_mean() {
        let mut mac = holding(|particles| {
            particles.stride = 1;
            for n in 0..20u64 {
                let x = Vec3::new(0.05 + 0.045 * n as f64, 0.3 + 0.02 * (n * 7 % 20) as f64, 0.5);
                particles.push(x, x, n, if n % 2 == 0 { 0.125 } else { 0.02 }, Some([[n as f32; 3]; 3]));
                particles.carried.push(n as f32);
            }
        });
        mac.options.columns = Columns::default();
        let before = sums(&mac.next.particles);
        let carried = |p: &Particles| p.carried.iter().zip(&p.volume).map(|(c, v)| c * v).sum::<f32>();
        let painted = carried(&mac.next.particles);
        mac.next.grid.liquid.fill(1.0);
        mac.join().unwrap();
        assert_eq!(mac.next.particles.len(), 20, "near the surface nothing joins");
        mac.next.grid.liquid.fill(-4.0);
        mac.join().unwrap();
        let particles = &mac.next.particles;
        // What is not small stays, though there are more than eight.
        assert!(
            particles.len() < 14 && particles.volume.iter().all(|v| *v >= 0.0625),
            "{:?}",
            particles.volume
        );
        for (a, b) in sums(particles).iter().zip(&before) {
            assert!((a - b).norm() < 1e-6);
        }
        assert!((carried(particles) - painted).abs() < 1e-4);
    }
}
