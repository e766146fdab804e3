//! Films and threads of thick liquid that are thinner than the level set can hold.
//!
//! A level set loses what is thinner than a cell, and the [fullness](crate::surface::fullness) of cells round a film of a third of a
//! cell is too small to say that there is one. Its particles would fly on as drops: a film of honey would tear into lace.
//! Where momentum diffuses through the film in a substep, nothing moves within it, and what its particles make is
//! whole. So the grid holds it as a film of a little more than a cell: with the sums over the particles
//! of [thin](super::skin) thick liquid within R, w = (1 − |x − x_p|²/R²)³ [ZB05],
//!
//! ```text
//!     φ ← min(φ, σ),     σ(x) = |x − Σ w x_p / W| − r min(1, W/W₀),     W = Σ w
//! ```
//!
//! W₀ keeps two films that are near each other apart: half-way between them the mean is in the middle, but W is small.
//! Inside a wall beside a film φ is σ as well. To continue the distance of something that is one cell thick as a plane would glue
//! a film to a wall that is a cell away: by two cells of about the same φ the slope is none. With σ a film
//! touches the walls that are within r of its middle.
//!
//! Weight
//! and stress of a film that is held too thick grow alike, so it moves as a thin one would. Its particles, not its
//! cells, say what volume it has: [`Mac::film_excess`] is what the volume lock and reports leave out.
//! Checked by the test below.

use super::skin::{SHALLOW, around};
use super::{Mac, State};
use crate::error::Result;
use crate::grid::{SIDE, Tiles};
use crate::math::Vec3;
use crate::simulation::liquid::Step;
use rayon::prelude::*;

/// R and r, in cells.
const REACH: f64 = 1.5;
const HALF: f64 = 0.6;
/// W₀: that of one particle .6 cells away.
const ENOUGH: f64 = 0.6;
/// √(νΔt)/h from which liquid begins to be held as a film, and from which it is: then momentum crosses what is thinner than that
/// in a step.
const THICK: [f64; 2] = [0.15, 0.3];

/// A particle of a film and the half thickness that it asks for, m.
pub(super) struct Member {
    pub(super) particle: usize,
    position: Vec3,
    half: f64,
}

#[cfg(test)]
impl Member {
    pub(super) fn of(particles: &crate::field::Particles, particle: usize) -> Self {
        Self { particle, position: particles.position[particle], half: 0.0 }
    }
}

impl Mac {
    /// Make the films of the next state liquid.
    pub(super) fn hold_films(&mut self, step: &Step) -> Result<()> {
        self.in_film.clear();
        let h = self.options.cell;
        let thickest = step.viscosity.iter().fold(step.thickest, |m, v| m.max(*v));
        if thickest * step.dt < (THICK[0] * h).powi(2) * self.options.density {
            return Ok(());
        }
        self.join()?;
        let mut members = self.film_members(step);
        if self.divide(&members)? {
            members = self.film_members(step);
        }
        if members.is_empty() {
            return Ok(());
        }
        let grid = &mut self.next.grid;
        let (tiles, v) = (&grid.tiles, grid.tiles.volume());
        let of_tile = members_by_tile(tiles, &members);
        self.in_film = tiles.field(false);
        let parts =
            grid.liquid.par_chunks_mut(v).zip(self.in_film.par_chunks_mut(v)).zip(&of_tile).enumerate();
        let centre = &grid.centre;
        let in_walls = parts.map(|(t, ((phi, in_film), near))| {
            let mut in_walls = Vec::new();
            if near.is_empty() {
                return in_walls;
            }
            let sums = sums_of(tiles, t, near.iter().map(|n| &members[*n as usize]));
            for (l, [w, x, y, z, half]) in sums.into_iter().enumerate().filter(|(_, s)| s[0] > 0.0) {
                let place = t * v + l;
                let at = tiles.centre(tiles.cell(place));
                let middle = Vec3::new(x, y, z) / w;
                let sigma = (at - middle).norm() - half / w * (w / ENOUGH).min(1.0);
                let behind = || step.solids.any_thin() && step.solids.path_crosses(&middle, &at);
                if sigma < phi[l] && !behind() {
                    (phi[l], in_film[l]) = (sigma, true);
                }
                if centre[place] < 0.0 {
                    in_walls.push((place, sigma));
                }
            }
            in_walls
        });
        let in_walls: Vec<Vec<(usize, f64)>> = in_walls.collect();
        // Beside what is deep the distance goes on as that of a plane.
        let (phi, deep) = (&grid.liquid, -SHALLOW * h);
        let beside = |place: usize| around(tiles, place / v, place % v, 1).filter(|p| centre[*p] >= 0.0);
        let thin = |(place, _): &(usize, f64)| beside(*place).all(|p| phi[p] > deep);
        self.film_in_walls = in_walls.into_iter().flatten().filter(thin).collect();
        Ok(())
    }

    /// The particles of thin liquid that is thick.
    fn film_members(&self, step: &Step) -> Vec<Member> {
        let State { grid, particles, .. } = &self.next;
        let (tiles, h) = (&grid.tiles, grid.tiles.h());
        let (deep, v, spread) = (-SHALLOW * h, grid.tiles.volume(), self.diffusion(particles, step));
        let of_tile = |t: usize| {
            if particles.of_tile(tiles, t).is_empty() {
                return Vec::new();
            }
            let wet = |place: &usize| !particles.of_cell(*place).is_empty() && grid.liquid[*place] > deep;
            // At the edges of what is deep there is little liquid as well.
            let alone = |place: &usize| {
                let l = place - t * v;
                around(tiles, t, l, 1).all(|p| grid.liquid[p] > deep) && self.is_thin(&self.next, t, l)
            };
            let thin = (t * v..(t + 1) * v).filter(wet).filter(alone);
            let member = |p: usize| {
                let share = ((spread(p) - THICK[0]) / (THICK[1] - THICK[0])).min(1.0);
                let half = HALF * h * share;
                (half > 0.0).then(|| Member { particle: p, position: particles.position[p], half })
            };
            thin.flat_map(|place| particles.of_cell(place)).filter_map(member).collect::<Vec<_>>()
        };
        let parts: Vec<Vec<Member>> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
        parts.into_iter().flatten().collect()
    }

    /// What the surface of films encloses beyond the volume of their particles that are no drops, m³.
    pub(super) fn film_excess(&self, drops: &[bool]) -> f64 {
        if self.in_film.is_empty() {
            return 0.0;
        }
        let State { grid, particles, .. } = &self.next;
        let (shares, cell) = (grid.liquid_shares(), grid.tiles.h().powi(3));
        let one = |place: usize| {
            let held =
                particles.of_cell(place).filter(|p| !drops[*p]).map(|p| f64::from(particles.volume[p]));
            shares[place] * cell - held.sum::<f64>()
        };
        let all = |range: std::ops::Range<usize>| range.filter(|p| self.in_film[*p]).map(one).sum::<f64>();
        crate::math::ordered_sum(self.in_film.len(), all)
    }
}

/// The first and the last cell that a member reaches along an axis.
fn span(tiles: &Tiles, m: &Member, a: usize) -> [i32; 2] {
    let reach = REACH * tiles.h();
    [-reach, reach].map(|by| tiles.cell_at(&m.position.add_scalar(by))[a])
}

/// The members that reach into each tile, in their order.
fn members_by_tile(tiles: &Tiles, members: &[Member]) -> Vec<Vec<u32>> {
    let mut of_tile = vec![Vec::new(); tiles.len()];
    for (n, m) in members.iter().enumerate() {
        let of = |side: usize| tiles.split(std::array::from_fn(|a| span(tiles, m, a)[side])).0;
        let (low, high) = (of(0), of(1));
        for k in if tiles.is_flat() { 0..=0 } else { low[2]..=high[2] } {
            for j in low[1]..=high[1] {
                let found = (low[0]..=high[0]).filter_map(|i| tiles.find_tile([i, j, k]));
                found.for_each(|t| of_tile[t].push(n as u32));
            }
        }
    }
    of_tile
}

/// Σw, Σw x and Σw r in the cells of a tile.
fn sums_of<'a>(tiles: &Tiles, t: usize, members: impl Iterator<Item = &'a Member>) -> Vec<[f64; 5]> {
    let (base, reach) = (tiles.base(t), REACH * tiles.h());
    let mut sums = vec![[0.0; 5]; tiles.volume()];
    for m in members {
        let within = |a: usize, side: usize| {
            let [low, high] = span(tiles, m, a);
            (low - base[a]).max(0)..(high - base[a] + 1).min(side as i32)
        };
        let layers = if tiles.is_flat() { 0..1 } else { within(2, SIDE) };
        for k in layers {
            for j in within(1, SIDE) {
                for i in within(0, SIDE) {
                    let mut way = tiles.centre([base[0] + i, base[1] + j, base[2] + k]) - m.position;
                    if tiles.is_flat() {
                        way.z = 0.0;
                    }
                    let w = 1.0 - way.norm_squared() / (reach * reach);
                    if w > 0.0 {
                        let w = w * w * w;
                        let x = m.position;
                        let sum = &mut sums[(k as usize * SIDE + j as usize) * SIDE + i as usize];
                        sum.iter_mut().zip([1.0, x.x, x.y, x.z, m.half]).for_each(|(s, p)| *s += w * p);
                    }
                }
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::MacOptions;
    use super::*;
    use crate::cancel::Cancel;
    use crate::field::{Particles, Solids};
    use crate::solver::mac::{Bodies, MacGrid, Transfer};

    /// Films of a quarter of a cell at some heights, on three by three by three tiles with cells of one metre, held.
    fn hold(heights: &[f64]) -> Mac {
        let coords = (0..27).map(|c| [c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1]).collect();
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, coords);
        let mut particles = Particles::default();
        for id in 0..heights.len() * 48 * 48 {
            let at = |i: usize| 0.5 * (i as f64 + 0.5) - 8.0;
            let x = Vec3::new(at(id % 48), heights[id / 2304], at(id / 48 % 48));
            particles.push(x, Vec3::zeros(), id as u64, 0.0625, None);
        }
        particles.sort(&tiles).unwrap();
        let options = MacOptions { flat: false, ..MacOptions::plain(1.0, Transfer::Apic) };
        let solids = Solids::default();
        let mut mac = Mac::new(options, &solids, &[], 0).unwrap();
        mac.next = State { grid: MacGrid::new(tiles, &solids, None), particles, ..State::default() };
        let (bodies, cancel) = (Bodies { all: &[], gravity: Vec3::zeros(), contact: None }, Cancel::new());
        mac.hold_films(&Step {
            dt: 1.0,
            solids: &solids,
            gravity: Vec3::zeros(),
            force: None,
            tension: 0.0,
            inflows: &[],
            outflows: &[],
            viscosity: &[1e3],
            thickest: 1e3,
            bodies: &bodies,
            cancel: &cancel,
        })
        .unwrap();
        mac
    }

    #[test]
    fn a_film_is_held_whole_and_does_not_grow_into_the_next_one() {
        for heights in [&[4.1][..], &[3.5], &[2.85, 5.6]] {
            let mut mac = hold(heights);
            let grid = mac.next.grid.clone();
            let phi = |c: [i32; 3]| grid.liquid[grid.tiles.locate(c).unwrap()];
            for (x, z) in (0..64).map(|n| (n % 8, n / 8)) {
                for y in 0..8 {
                    let off = heights.iter().fold(9.0, |m: f64, h| m.min((y as f64 + 0.5 - h).abs()));
                    assert_eq!(phi([x, y, z]) < 0.0, off < HALF, "{heights:?}: {} at {y}", phi([x, y, z]));
                }
            }
            mac.restore_distance(&Solids::default()).unwrap();
            // Without what is too thick of it the surface encloses what the particles stand for.
            let excess = mac.film_excess(&vec![false; mac.next.particles.len()]);
            let (measured, held) =
                (mac.next.grid.liquid_volume()[0], mac.next.particles.total_volume(|_| true));
            assert!((measured - excess - held).abs() < 1e-9 * held, "{measured} less {excess} for {held}");
        }
    }
}
