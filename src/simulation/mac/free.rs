//! Pieces of thick liquid that touch nothing keep their momentum and their angular momentum.
//!
//! Each stage of a step keeps both, but with masses of its own: the exchange with particles with theirs, pressure with the
//! shares θ of cut faces, viscosity with shares of volume. And a particle that is led round a circle by the angle a still has the
//! velocity of the tangent that it left, while the pressure that turns it acts along the radius where it arrives: cos a of its
//! moment is left. A drop that turns at ω loses ω²Δt/2 of its turning a second, however fine the grid. So what a piece has
//! lost over a step is given back as a rigid motion, which viscosity does not see. With V the volumes, r the ways from the
//! middle of the piece and S the moment of the affine motion within particles,
//!
//! ```text
//!     Σ V (v + a) = Σ V (v° + Δt g)
//!     Σ V r × (v + b × r) + S(C + b×) = Σ V r° × v° + S(C°)             ° before the step
//! ```
//!
//! gives a and b. Hats of one cell have along an axis the second moment h² f(1 − f), f the share of the way from one face to
//! the next; so S along z is Σ V h² (f_yx(1 − f_yx) C_yx − f_xy(1 − f_xy) C_xy), f_ab along b between faces across a.
//! Checked by tests/honey.rs.

use super::{Mac, State};
use crate::field::{Affine, Id, Particles, face_offset};
use crate::grid::{SIDE, Tiles};
use crate::math::{Mat3, Sets, Vec3};
use crate::simulation::liquid::Step;
use rayon::prelude::*;

/// A piece with a cell this many cells from a solid, a source or a sink is not free.
const CLEAR: f64 = 1.5;
/// Fewer particles than this may lie on a line, about which nothing resists a turn.
const FEW: usize = 8;
const NO_PIECE: u32 = u32::MAX;

/// The particles of one piece, and what they had before the step.
pub(super) struct Piece {
    particles: Vec<u32>,
    momentum: Vec3,
    moment: Vec3,
}

/// Sums over the particles of a piece.
#[derive(Default)]
struct Sums {
    volume: f64,
    middle: Vec3,
    momentum: Vec3,
    moment: Vec3,
    inertia: Mat3,
}

impl Mac {
    /// The free pieces of the next state, whose particles have moved but not yet got new velocities.
    pub(super) fn free_pieces(&self, step: &Step) -> Vec<Piece> {
        // What other forces do to a piece is not known; nor is what moves where there are no particles.
        if self.fade.is_empty() || step.force.is_some() || self.has_bare_liquid() {
            return Vec::new();
        }
        let State { grid, particles, .. } = &self.next;
        let (label, free) = self.label(step);
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); free];
        for (place, label) in label.iter().enumerate().filter(|(_, l)| **l != NO_PIECE) {
            let here = particles.of_cell(place).filter(|p| self.takes_part[*p]);
            found[*label as usize].extend(here.map(|p| p as u32));
        }
        found.retain(|piece| piece.len() >= FEW);
        let mut started = self.started(&found);
        let piece = |members: Vec<u32>| {
            let before = started.split_off(started.len() - members.len());
            let all = members.iter().map(|p| *p as usize).zip(before);
            let sums = Sums::of(&grid.tiles, particles, all);
            Piece { particles: members, momentum: sums.momentum, moment: sums.moment }
        };
        // From behind, as the list of places is used up.
        found.into_iter().rev().map(piece).collect()
    }

    /// Where the particles of some pieces, one piece after the other, were before the step.
    fn started(&self, pieces: &[Vec<u32>]) -> Vec<Vec3> {
        let (old, new) = (&self.now.particles, &self.next.particles);
        let members: Vec<u32> = pieces.concat();
        let mut places: Vec<Vec3> = members.iter().map(|p| new.position[*p as usize]).collect();
        let mut wanted: Vec<(Id, u32)> =
            members.iter().enumerate().map(|(n, p)| (new.id[*p as usize], n as u32)).collect();
        wanted.par_sort_unstable();
        let find = |p: usize| {
            let at = wanted.binary_search_by_key(&old.id[p], |w| w.0).ok()?;
            Some((wanted[at].1, old.position[p]))
        };
        if wanted.is_empty() {
            return places;
        }
        let known: Vec<(u32, Vec3)> = (0..old.len()).into_par_iter().filter_map(find).collect();
        known.into_iter().for_each(|(n, x)| places[n as usize] = x);
        places
    }

    /// The number of the free piece of each cell, and how many there are. Cells that share a corner are of one piece.
    fn label(&self, step: &Step) -> (Vec<u32>, usize) {
        let State { grid, particles, .. } = &self.next;
        let (tiles, v, clear) = (&grid.tiles, grid.tiles.volume(), CLEAR * grid.tiles.h());
        let wet = |place: &usize| grid.liquid[*place] < 0.0 || !particles.of_cell(*place).is_empty();
        let is_wet: Vec<bool> = (0..tiles.cells()).into_par_iter().map(|p| wet(&p)).collect();
        let mut sets = Sets::new(tiles.cells());
        for t in 0..tiles.len() {
            for l in (0..v).filter(|l| is_wet[t * v + l]) {
                let [x, y, z] = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as i32);
                // Half of the neighbours; the others come to this cell themselves.
                for n in 0..13 {
                    let near = tiles.near(t, x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1);
                    if let Some(other) = near.filter(|p| is_wet[*p]) {
                        sets.join((t * v + l) as u32, other as u32);
                    }
                }
            }
        }
        let edges: Vec<_> =
            step.inflows.iter().map(|i| i.bounds).chain(step.outflows.iter().map(|o| o.bounds)).collect();
        let is_held = |place: usize| {
            grid.centre[place] < clear || {
                let x = tiles.centre(tiles.cell(place));
                edges.iter().any(|b| b.grow(clear).contains(&x))
            }
        };
        let roots: Vec<u32> = (0..is_wet.len() as u32).map(|p| sets.root(p)).collect();
        let mut number = vec![0; is_wet.len()];
        for place in (0..is_wet.len()).filter(|p| !is_wet[*p] || is_held(*p)) {
            number[roots[place] as usize] = NO_PIECE;
        }
        let mut count = 0;
        for place in (0..is_wet.len()).filter(|p| roots[*p] == *p as u32) {
            if number[place] != NO_PIECE {
                number[place] = count;
                count += 1;
            }
        }
        (roots.par_iter().map(|r| number[*r as usize]).collect(), count as usize)
    }

    /// Give pieces back what they have lost since they were found.
    pub(super) fn keep_momentum(&mut self, pieces: &[Piece], step: &Step) {
        let State { grid, particles, .. } = &mut self.next;
        for piece in pieces {
            let now = |p: &u32| (*p as usize, particles.position[*p as usize]);
            let sums = Sums::of(&grid.tiles, particles, piece.particles.iter().map(now));
            let Some(resists) = sums.inertia.try_inverse() else { continue };
            let wanted = piece.momentum + step.gravity * (step.dt * sums.volume);
            let push = (wanted - sums.momentum) / sums.volume;
            let turn = resists * (piece.moment - sums.moment);
            for p in piece.particles.iter().map(|p| *p as usize) {
                particles.velocity[p] += push + turn.cross(&(particles.position[p] - sums.middle));
                if let Some(rows) = particles.affine.get_mut(p) {
                    let spin = turn.cross_matrix();
                    (0..9).for_each(|e| rows[e / 3][e % 3] += spin[(e / 3, e % 3)] as f32);
                }
            }
        }
    }
}

impl Sums {
    /// Of particles at the given places.
    fn of(tiles: &Tiles, particles: &Particles, all: impl Iterator<Item = (usize, Vec3)> + Clone) -> Self {
        let volume = |p: usize| f64::from(particles.volume[p]);
        let mut sums = Self::default();
        for (p, x) in all.clone() {
            sums.volume += volume(p);
            sums.middle += x * volume(p);
            sums.momentum += particles.velocity[p] * volume(p);
        }
        sums.middle /= sums.volume;
        for (p, x) in all {
            let r = x - sums.middle;
            sums.moment += r.cross(&particles.velocity[p]) * volume(p);
            sums.inertia += (Mat3::identity() * r.norm_squared() - r * r.transpose()) * volume(p);
            if let Some(rows) = particles.affine.get(p) {
                let (moment, inertia) = within(tiles, &x, rows);
                sums.moment += moment * volume(p);
                sums.inertia += Mat3::from_diagonal(&inertia) * volume(p);
            }
        }
        sums
    }
}

/// Moment of the affine motion of a particle at x, and its inertia, both by volume.
fn within(tiles: &Tiles, x: &Vec3, rows: &Affine) -> (Vec3, Vec3) {
    let (g, h) = (tiles.to_grid(x), tiles.h());
    // The second moment along b of the hats between faces across a.
    let spread = |a: usize, b: usize| {
        if tiles.is_flat() && (a == 2 || b == 2) {
            return 0.0;
        }
        let f = (g - face_offset(a, tiles.is_flat()))[b];
        let f = f - f.floor();
        h * h * f * (1.0 - f)
    };
    let about = |c: usize| {
        let (a, b) = ((c + 1) % 3, (c + 2) % 3);
        let [ba, ab] = [spread(b, a), spread(a, b)];
        (ba * f64::from(rows[b][a]) - ab * f64::from(rows[a][b]), ba + ab)
    };
    let all = [0, 1, 2].map(about);
    (Vec3::from(all.map(|(m, _)| m)), Vec3::from(all.map(|(_, i)| i)))
}
