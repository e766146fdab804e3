//! Gaps that close within a step.
//!
//! Two pieces of liquid that come together, or one that comes to a wall, know nothing of each other until no air is between
//! them: pressure acts from the next step on. A step that closes a gap of width g by c > g carries each
//! piece into the other, and c − g of liquid for each area of contact is in one place twice and lost. Liquid that falls goes two cells
//! a step: of three rings of six cells across that fell on each other a sixth was missing.
//!
//! Gaps of all widths are met alike. If one is filled before the step as soon as
//!
//! ```text
//!     g < 3/2 c          then g is between c/2 and 3c/2 when it is filled,
//! ```
//!
//! what is gained by filling, g, and what is lost by the step, c, are the same in the mean over the contact, and the next solve finds
//! the pieces in contact. Air that would stay between them as a sliver, thinner than pressure sees and fed by both sides, is gone
//! at once.
//!
//! A gap is a row of centres in air along an axis, between liquid below and liquid or a solid above:
//!
//! ```text
//!     ●───●──┼··○···○···○··┼──●───●        ● φ < 0    ○ φ ≥ 0    ┼ φ = 0, linear between centres
//!            a             b               g = b − a ,   c = Δt (u_a − u_b)·n / n·e ,   n ∥ n_a − n_b
//! ```
//!
//! with e the way along the row and n_a, n_b the normals out of the liquid, or out of the solid, which move with u_a and u_b. What
//! moves as one piece closes nothing, though a notch of it may leave the row. Surfaces that run nearly along the row are left to the
//! rows of another axis. Checked by the tests below and in tests/bcc/meeting.rs.

use super::tiled_level_set::{Centred, TiledLevelSet};
use super::tracker::Carry;
use crate::grid::SIDE;
use crate::math::Vec3;
use rayon::prelude::*;

/// A gap is filled if the step closes it this many times.
const SOON: f64 = 1.5;
/// Gaps that close by less than this many cells a step are left alone: what they lose is nothing, and liquid at rest stays as it is.
const LEAST: f64 = 0.01;
/// Most cells of air in a row.
const WIDEST: i32 = 7;
/// The cosine between a surface and the row that meets it is at least this.
const FACING: f64 = 0.5;
/// What is filled lies at least this many cells below the surface.
const FILLED: f64 = 0.25;

/// Where a row meets what lies at one of its ends.
struct End {
    /// How far, in cells, from the centre before it as rows are counted.
    share: f64,
    /// The normal into the air, of length one.
    normal: Vec3,
    velocity: Vec3,
}

impl TiledLevelSet {
    /// Fill the gaps that close soon; the places of cells that were filled, ascending.
    pub(super) fn close_gaps(&mut self, velocity: &Centred, carry: &Carry) -> Vec<usize> {
        let (tiles, v, h) = (&self.tiles, self.tiles.volume(), self.h());
        let of_tile = |t: usize| {
            let own = &self.phi[t * v..(t + 1) * v];
            let mut closed = Vec::new();
            // Only a centre that the surface passes begins a row.
            for l in (0..v).filter(|l| own[*l] < 0.0 && own[*l] > -h) {
                if self.solid[t * v + l] >= 0.0 {
                    (0..2 * tiles.axes())
                        .for_each(|way| self.close_row(t, l, way, velocity, carry, &mut closed));
                }
            }
            closed
        };
        let found: Vec<Vec<usize>> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
        let mut closed = found.concat();
        closed.sort_unstable();
        closed.dedup();
        for &p in &closed {
            self.phi[p] = -self.phi[p].max(FILLED * h);
        }
        closed
    }

    /// The cells of air of the row that begins with a liquid cell, if it closes soon. Rows to solids are looked at both ways, rows
    /// between liquid upwards only.
    fn close_row(
        &self,
        t: usize,
        l: usize,
        way: usize,
        velocity: &Centred,
        carry: &Carry,
        closed: &mut Vec<usize>,
    ) {
        let (tiles, h, up) = (&self.tiles, self.h(), way.is_multiple_of(2));
        let (axis, along) = (way / 2, if up { 1 } else { -1 });
        let cell = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v as i32);
        let at = |k: i32| {
            let mut c = cell;
            c[axis] += along * k;
            tiles.near(t, c[0], c[1], c[2])
        };
        let begin = t * tiles.volume() + l;
        let (phi, solid) = (&self.phi, &self.solid);
        let Some(first) = at(1).filter(|&p| phi[p] >= 0.0 && solid[p] >= 0.0) else { return };
        let surface = |inner: usize, outer: usize, along: i32| {
            let normal = self.way_out_of_liquid(inner, axis, along)?;
            let velocity = Vec3::from_fn(|a, _| velocity[a][inner]);
            Some(End { share: phi[inner] / (phi[inner] - phi[outer]), normal, velocity })
        };
        let (mut last, mut end) = (first, None);
        for k in 2..=WIDEST + 1 {
            let Some(p) = at(k) else { return };
            if solid[p] < 0.0 || phi[p] < 0.0 {
                end = Some((k, p));
                break;
            }
            last = p;
        }
        let Some((k, p)) = end else { return };
        let of_solid = solid[p] < 0.0;
        if !of_solid && !up {
            return;
        }
        let Some(a) = surface(begin, first, along) else { return };
        let other = match of_solid {
            true => self.wall(last, p, axis, along, carry),
            false => surface(p, last, -along).map(|b| End { share: 1.0 - b.share, ..b }),
        };
        let Some(b) = other else { return };
        let gap = (f64::from(k - 1) + b.share - a.share) * h;
        // Both normals lead along the row by half at least, so that neither their difference nor its part along the row is small.
        let n = (a.normal - b.normal).normalize();
        let closes = carry.dt * f64::from(along) * (a.velocity - b.velocity).dot(&n) / n[axis];
        if closes > LEAST * h && gap < SOON * closes {
            let row: Vec<usize> = (1..k).filter_map(at).collect();
            let barred = carry.solids.any_thin()
                && carry.solids.path_crosses(&tiles.centre(tiles.cell(begin)), &tiles.centre(tiles.cell(p)));
            if !barred {
                closed.extend(row);
            }
        }
    }

    /// The normal out of the liquid at a centre in it, if it leads enough along an axis: along the axis it is read inside the
    /// liquid, where no other surface is near.
    fn way_out_of_liquid(&self, place: usize, axis: usize, along: i32) -> Option<Vec3> {
        let (tiles, v) = (&self.tiles, self.tiles.volume());
        let (t, l) = (place / v, place % v);
        let cell = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v as i32);
        let beside = |a: usize, by: i32| {
            let mut c = cell;
            c[a] += by;
            tiles.near(t, c[0], c[1], c[2]).map_or(self.phi[place], |p| self.phi[p])
        };
        let slope = Vec3::from_fn(|a, _| match a == axis {
            true => f64::from(along) * (self.phi[place] - beside(a, -along)),
            false => 0.5 * (beside(a, 1) - beside(a, -1)),
        });
        let n = slope.try_normalize(0.1 * self.h())?;
        (f64::from(along) * n[axis] >= FACING).then_some(n)
    }

    /// Where the row from the last centre outside meets a solid.
    fn wall(&self, last: usize, inside: usize, axis: usize, along: i32, carry: &Carry) -> Option<End> {
        let normal = self.way_out(last).try_normalize(0.1 * self.h())?;
        if -f64::from(along) * normal[axis] < FACING {
            return None;
        }
        let mut velocity = Vec3::zeros();
        if carry.solids.any_animated() {
            velocity = carry.solids.velocity(&self.tiles.centre(self.tiles.cell(inside)), self.band());
        }
        let (s, d) = (self.solid[last], self.solid[inside]);
        Some(End { share: s / (s - d), normal, velocity })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Solids, Wall};
    use crate::math::Aabb;
    use crate::surface::SurfaceTracker;
    use std::f64::consts::PI;

    /// Radius of the balls in cells.
    const R: f64 = 16.0;

    /// A ball whose lowest point is at x = `gap`, in cells; with its mirror image if there is no wall at x = 0.
    fn balls(gap: f64, solids: &Solids) -> TiledLevelSet {
        let alone = solids.domain().is_some();
        let ball = |x: &Vec3| (Vec3::new(if alone { x.x } else { x.x.abs() } - gap - R, x.y, x.z)).norm() - R;
        let (low, side) = (if alone { 0.0 } else { -(gap + 2.0 * R) }, Vec3::new(0.0, R, R));
        let bounds = Aabb::new(Vec3::new(low, 0.0, 0.0) - side, Vec3::new(gap + 2.0 * R, 0.0, 0.0) + side);
        TiledLevelSet::filled(1.0, Vec3::new(0.0, 0.13, 0.21), solids, &[bounds], &ball).unwrap()
    }

    /// What filling adds and what the step takes, in cells, for balls that go `way` cells towards x = 0 in a step from half of it.
    fn gained_and_lost(way: f64, solids: &Solids) -> [f64; 2] {
        let mut set = balls(0.5 * way, solids);
        let flow = |x: &Vec3| Vec3::new(if x.x > 0.0 { -way } else { way }, 0.0, 0.0);
        let carry = Carry { dt: 1.0, velocity: &flow, fastest: way, solids, wanted: &[] };
        let (travel, velocity) = (set.travel(&carry).unwrap(), set.velocity_in_band(&carry).unwrap());
        let [before, _] = set.measure();
        assert!(!set.close_gaps(&velocity, &carry).is_empty());
        let [filled, _] = set.measure();
        set.advect_along(&velocity, &carry, travel);
        set.restore().unwrap();
        [filled - before, filled - set.measure()[0]]
    }

    #[test]
    fn liquid_that_meets_gains_what_it_loses() {
        // Two balls close the gap g = c/2 + r²/R between them by c. The ring where g < 3c/2 has the gap
        // ∫ g 2πr dr = πR/2 ((3c/2)² − (c/2)²) = πRc², and its area πRc loses c. A border of a cell of the ring is uncertain.
        let c = 2.0;
        let [gained, lost] = gained_and_lost(0.5 * c, &Solids::default());
        let exact = PI * R * c * c;
        assert!((gained / exact - 1.0).abs() < 0.1, "{gained} of {exact}");
        assert!(((gained - lost) / exact).abs() < 0.15, "{gained} and {lost} of {exact}");
    }

    #[test]
    fn liquid_that_lands_gains_what_it_loses() {
        let room = Aabb::new(Vec3::new(0.0, -40.0, -40.0), Vec3::new(80.0, 40.0, 40.0));
        let floor = Solids::new(Vec::new(), Some(room), [[true; 2]; 3], Wall::default());
        let c = 2.0;
        let [gained, lost] = gained_and_lost(c, &floor);
        // From one side only the gap grows by r²/2R.
        let exact = 2.0 * PI * R * c * c;
        assert!((gained / exact - 1.0).abs() < 0.1, "{gained} of {exact}");
        assert!(((gained - lost) / exact).abs() < 0.15, "{gained} and {lost} of {exact}");
    }

    #[test]
    fn gaps_that_open_or_stay_are_left_alone() {
        let still = Solids::default();
        let mut set = balls(1.0, &still);
        let leaves = |x: &Vec3| Vec3::new(x.x.signum(), 0.0, 0.0);
        let goes = |_: &Vec3| Vec3::new(2.0, 0.3, -1.0);
        for flow in [&leaves as &dyn crate::field::VelocityField, &goes] {
            let carry = Carry { dt: 1.0, velocity: flow, fastest: 3.0, solids: &still, wanted: &[] };
            let velocity = set.velocity_in_band(&carry).unwrap();
            assert!(set.close_gaps(&velocity, &carry).is_empty());
        }
    }
}
