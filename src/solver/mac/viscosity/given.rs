//! What faces with a given velocity add to the right-hand side.
//!
//! A difference Δ over a place is that of its unknowns plus a constant g made of given velocities. The wall
//! is met between two faces, at the share θ of the way from the unknown one, and there its velocity counts:
//! g = ±w(x); in products of two differences, which are not cut, that at the face. A wall that turns would otherwise drag the liquid with the velocity of some point inside it.
//! Along a wall on which liquid slides the given velocity is that of the grid, from which
//! [`crate::solver::mac::constrain`] has taken what leads into the wall. Each row loses its weights times g.

use super::places::Face;
use super::weights::{HELD, STUCK, UNKNOWN, Weights, others, theta};
use crate::field::{Solids, face_offset};
use crate::math::Vec3;
use crate::solver::mac::grid::MacGrid;

/// Velocities of given faces.
pub(super) struct Given<'a> {
    pub(super) grid: &'a MacGrid,
    pub(super) solids: &'a Solids,
    pub(super) weights: &'a Weights,
}

impl Given<'_> {
    /// Whether all given faces rest.
    pub(super) fn rest(&self) -> bool {
        !self.solids.any_animated() && self.solids.walls().all(|w| w.stick)
    }

    /// What a row loses to its given neighbours.
    pub(super) fn pull(&self, face: Face) -> f64 {
        let (w, a) = (self.weights, face.axis as usize);
        let tiles = &w.tiles;
        let own = tiles.cell(face.place as usize);
        let at = |axis: usize, by: i32, axis2: usize, by2: i32| {
            let mut c = own;
            c[axis] += by;
            c[axis2] += by2;
            c
        };
        let weight = |c: [i32; 3]| tiles.locate(c).map_or_else(Default::default, |p| *w.weight(p));
        let mine = weight(own);
        let below = at(a, -1, a, 0);
        let before = weight(below);
        let mut sum = 2.0 * before.centre[a] as f64 * self.constant(a, own, below, true);
        sum -= 2.0 * mine.centre[a] as f64 * self.constant(a, at(a, 1, a, 0), own, true);
        for b in (0..tiles.axes()).filter(|b| *b != a) {
            let c = 3 - a - b;
            let uu = if others(c)[0] == a { 0 } else { 2 };
            for (cell, sign) in [(own, 1.0), (at(b, 1, b, 0), -1.0)] {
                let e = weight(cell).edge[c];
                if e[uu] == 0.0 {
                    continue;
                }
                let mut before_b = cell;
                before_b[b] -= 1;
                let mut before_a = cell;
                before_a[a] -= 1;
                sum += sign * e[uu] as f64 * self.constant(a, cell, before_b, true);
                sum += sign * e[1] as f64 * self.constant(b, cell, before_a, false);
            }
            for (cell, weight, sign) in [(below, before, 1.0), (own, mine, -1.0)] {
                if weight.cut == 0.0 {
                    continue;
                }
                let mut upper = cell;
                upper[b] += 1;
                let (cut, both) = (weight.cut as f64, (weight.cross[c] + weight.cut) as f64);
                let [met, face] = [true, false].map(|met| self.constant(b, upper, cell, met));
                sum += sign * (both * met - cut * face);
            }
        }
        sum
    }

    /// The given part of the difference of a component between an upper and a lower cell; `met` if the wall counts
    /// where it is met, and else at the face itself.
    fn constant(&self, component: usize, upper: [i32; 3], lower: [i32; 3], met: bool) -> f64 {
        let tiles = &self.weights.tiles;
        let (Some(up), Some(low)) = (tiles.locate(upper), tiles.locate(lower)) else { return 0.0 };
        let states = [up, low].map(|p| self.weights.state[p][component]);
        if states.iter().all(|s| *s < STUCK) {
            return 0.0;
        }
        let theta = theta(states, [up, low].map(|p| self.weights.wall[p][component])).unwrap_or(1.0) as f64;
        let value = |n: usize, place: usize, cell: [i32; 3], toward: [i32; 3]| match states[n] {
            HELD => self.grid.velocity[component][place],
            STUCK => {
                let offset = face_offset(component, tiles.is_flat());
                let point = |c: [i32; 3]| Vec3::from(c.map(|v| v as f64)) + offset;
                // Beside an unknown face the wall is met on the way there.
                let share = if met && states[1 - n] == UNKNOWN { 1.0 - theta } else { 0.0 };
                let x = point(cell) + (point(toward) - point(cell)) * share;
                let reach = 4.0 * tiles.h();
                self.solids.velocity(&(tiles.origin() + x * tiles.h()), reach)[component]
            }
            _ => 0.0,
        };
        value(0, up, upper, lower) - value(1, low, lower, upper)
    }
}
