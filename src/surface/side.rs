//! The liquid's distance on one side of a wall.
//!
//! A wall of two cells has water on one side and air on the other, and each goes on into the wall as far as its middle
//! ([`super::continue_from_own_side`]). Between the two a distance that is linear from centre to centre would pass through zero: a
//! surface in the middle of a wall. Whoever asks inside a wall says from which side, by the way n out of the wall. The
//! answer is read where all eight centres round a point y belong to that side, and goes on from there as planes do,
//!
//! ```text
//!     φ(x) = φ(y) + ∇φ(y)·(x − y) ,        y = x + s n, s the least that will do
//! ```
//!
//! with ∇φ no longer than one: where a surface was carried a long way, or markers have rebuilt it, it may be, and then the
//! line would reach a surface where there is none.
//!
//! A centre in a solid belongs to the side to which the solid's distance grows. Checked by the cups in tests/bcc/vessels.rs.

use super::tiled_level_set::TiledLevelSet;
use crate::grid::SIDE;
use crate::math::Vec3;

/// Steps out of a wall, in cells, and how many.
const STEP: f64 = 0.25;
const STEPS: usize = 9;
/// A centre outside solids belongs to the other side if it lies this many cells behind.
const BEHIND: f64 = 0.5;
/// Two ways out of a wall lead to one side if the cosine between them is greater than this where the distance of solids is
/// steep, also in corners, and than that near the middle of a wall, where neighbours on both sides would count.
const CORNER: f64 = 0.2;
const MIDDLE: f64 = 0.7;
/// Steep is a distance that changes by more than this many cells over two.
const STEEP: f64 = 1.5;
/// The eight centres round a point are nearer than this many cells.
pub(super) const ROUND: f64 = 1.74;
/// A point deeper in a solid than this many cells may come out anywhere.
const SHALLOW: f64 = 0.5;
/// Where the distance of solids changes by less than this per metre is the middle of a wall.
const LEAST_SLOPE: f64 = 0.1;

impl TiledLevelSet {
    /// Signed distance at a point in or at a wall, m, as it is on the side to which n of length one leads.
    pub fn distance_from_side(&self, x: &Vec3, n: &Vec3) -> f64 {
        let h = self.tiles.h();
        let step = |s: usize| x + n * (STEP * s as f64 * h);
        match (0..=STEPS).find(|s| self.is_one_sided(&step(*s), x, n)) {
            Some(0) => self.distance(x),
            Some(s) => {
                let slope = self.slope(&self.phi, self.band(), &step(s)).cap_magnitude(1.0);
                self.distance(&step(s)) + slope.dot(&(x - step(s)))
            }
            // Corners on all sides.
            None => self.distance(x),
        }
    }

    /// The way out of a wall so near that the distance at a point outside mixes both of its sides; none if it does not.
    pub(super) fn torn_by_wall(&self, x: &Vec3) -> Option<Vec3> {
        if self.sample(&self.solid, self.band(), x) > ROUND * self.tiles.h() {
            return None;
        }
        let n = self.slope(&self.solid, self.band(), x).try_normalize(LEAST_SLOPE)?;
        (!self.is_one_sided(x, x, &n)).then_some(n)
    }

    /// Whether a point is outside solids, or so little inside that it cannot come out on the other side of a wall, and the
    /// distance there is that of one side.
    pub(super) fn knows_its_side(&self, x: &Vec3) -> bool {
        let (reach, h) = (self.band(), self.tiles.h());
        let solid = self.sample(&self.solid, reach, x);
        if solid > ROUND * h {
            return true;
        }
        let n = self.slope(&self.solid, reach, x).try_normalize(LEAST_SLOPE);
        solid > -SHALLOW * h && n.is_some_and(|n| self.is_one_sided(x, x, &n))
    }

    /// Whether all eight centres round y belong to the side of x to which n leads.
    fn is_one_sided(&self, y: &Vec3, x: &Vec3, n: &Vec3) -> bool {
        let tiles = &self.tiles;
        let (places, _) = self.centres_round(y);
        // From the wall itself, if x is outside.
        let wall = x - n * self.sample(&self.solid, self.band(), x).max(0.0);
        places.into_iter().flatten().all(|p| match self.solid[p] >= 0.0 {
            true => (tiles.centre(tiles.cell(p)) - wall).dot(n) > -BEHIND * tiles.h(),
            false => {
                let way = self.way_out(p);
                let apart = if way.norm() > STEEP * tiles.h() { CORNER } else { MIDDLE };
                way.dot(n) > apart * way.norm()
            }
        })
    }

    /// The direction in which the distance of solids grows at a centre.
    pub(super) fn way_out(&self, place: usize) -> Vec3 {
        let (t, l) = (place / self.tiles.volume(), place % self.tiles.volume());
        let cell = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v as i32);
        Vec3::from_fn(|a, _| {
            let at = |by: i32| {
                let mut c = cell;
                c[a] += by;
                self.tiles.near(t, c[0], c[1], c[2]).map_or(self.solid[place], |p| self.solid[p])
            };
            at(1) - at(-1)
        })
    }
}
