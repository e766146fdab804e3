//! The solids that liquid meets: one signed distance, one velocity, and whether a segment crosses a thin one.
//!
//! Distances are negative inside a solid. The closed sides of the domain are half-spaces of solid.
//! A thin solid (a cup without thickness, a leaf) has no inside; it is felt only through
//! [`Solids::crosses`] and [`Solids::path_crosses`].

use crate::math::{Aabb, Motion, Pose, Vec3};
use std::sync::Arc;

/// A shape in its own coordinates.
pub trait SolidShape: Send + Sync {
    /// Signed distance, negative inside; exact near the surface.
    fn distance(&self, x: &Vec3) -> f64;
    /// A box round the surface.
    fn bounds(&self) -> Aabb;
    /// Whether the shape has no inside and separates liquid by [`SolidShape::crosses`] alone.
    fn is_thin(&self) -> bool {
        false
    }
    /// Whether the segment from a to b meets the surface.
    fn crosses(&self, _a: &Vec3, _b: &Vec3) -> bool {
        false
    }
    /// Whether a point that goes from a to b during the step meets the surface on its way, each end in
    /// the shape's coordinates at that time; more than [`SolidShape::crosses`] only if it deforms.
    fn path_crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.crosses(a, b)
    }
    /// Velocity of the surface near x in the shape's own coordinates; zero unless it deforms.
    fn deformation(&self, _x: &Vec3) -> Vec3 {
        Vec3::zeros()
    }
}

/// How liquid behaves at a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wall {
    /// Liquid takes the wall's velocity instead of sliding along it.
    pub stick: bool,
    /// Share of the sliding velocity that the wall takes away in a step, 0 to 1.
    pub friction: f64,
}

/// A shape placed in the world.
#[derive(Clone)]
pub struct Solid {
    pub name: String,
    pub shape: Arc<dyn SolidShape>,
    /// World lengths are this many local lengths.
    pub scale: f64,
    pub motion: Motion,
    /// Where it was when the present step began.
    pub before: Pose,
    /// Whether it moves at any time; the others are measured once and for all.
    pub animated: bool,
    pub wall: Wall,
}

impl Solid {
    fn to_local(&self, pose: &Pose, x: &Vec3) -> Vec3 {
        pose.to_local(x) / self.scale
    }

    /// Signed distance at a world position, metres.
    pub fn distance(&self, x: &Vec3) -> f64 {
        self.shape.distance(&self.to_local(&self.motion.pose, x)) * self.scale
    }

    /// Velocity of the solid's material at a world position.
    pub fn velocity(&self, x: &Vec3) -> Vec3 {
        let own = self.shape.deformation(&self.to_local(&self.motion.pose, x)) * self.scale;
        self.motion.velocity_at(x) + self.motion.pose.rotation * own
    }

    /// A world box round the solid, now and at the beginning of the step.
    pub fn bounds(&self) -> Aabb {
        let local = self.shape.bounds();
        let corners = local.corners().map(|c| c * self.scale);
        let placed = |pose: &Pose| Aabb::of_points(&corners.map(|c| pose.to_world(&c)));
        placed(&self.motion.pose).union(&placed(&self.before))
    }
}

/// Everything solid at one time.
#[derive(Clone, Default)]
pub struct Solids {
    solids: Vec<Solid>,
    bounds: Vec<Aabb>,
    /// The domain, with the sides that are walls: `closed[axis][0]` the lower, `[1]` the upper.
    domain: Option<Aabb>,
    closed: [[bool; 2]; 3],
    domain_wall: Wall,
}

impl Solids {
    pub fn new(solids: Vec<Solid>, domain: Option<Aabb>, closed: [[bool; 2]; 3], domain_wall: Wall) -> Self {
        let bounds = solids.iter().map(Solid::bounds).collect();
        Self { solids, bounds, domain, closed, domain_wall }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Solid> {
        self.solids.iter()
    }

    pub fn domain(&self) -> Option<Aabb> {
        self.domain
    }

    /// Signed distance to the closed sides of the domain; positive within.
    pub fn domain_distance(&self, x: &Vec3) -> f64 {
        let Some(b) = self.domain else { return f64::INFINITY };
        let side = |a: usize| {
            let low = if self.closed[a][0] { x[a] - b.lo[a] } else { f64::INFINITY };
            let high = if self.closed[a][1] { b.hi[a] - x[a] } else { f64::INFINITY };
            low.min(high)
        };
        side(0).min(side(1)).min(side(2))
    }

    /// Whether x lies beyond an open side of the domain, where liquid is lost.
    pub fn is_drained(&self, x: &Vec3) -> bool {
        let Some(b) = self.domain else { return false };
        (0..3).any(|a| (!self.closed[a][0] && x[a] < b.lo[a]) || (!self.closed[a][1] && x[a] > b.hi[a]))
    }

    /// Distance to the nearest solid that is animated or not, at most `reach`.
    fn distance_to(&self, x: &Vec3, reach: f64, animated: bool) -> f64 {
        let mut nearest = reach;
        for (solid, bounds) in self.solids.iter().zip(&self.bounds) {
            let wanted = solid.animated == animated && !solid.shape.is_thin();
            // Outside its box the distance is at least that to the box.
            if wanted && bounds.distance_squared(x) < nearest.max(0.0).powi(2).max(f64::MIN_POSITIVE) {
                nearest = nearest.min(solid.distance(x));
            }
        }
        nearest
    }

    /// Distance to the solids that never move and to the domain's walls, cut off at `reach`.
    pub fn resting_distance(&self, x: &Vec3, reach: f64) -> f64 {
        self.distance_to(x, reach.min(self.domain_distance(x)), false)
    }

    /// Distance to the animated solids, cut off at `reach`.
    pub fn moving_distance(&self, x: &Vec3, reach: f64) -> f64 {
        self.distance_to(x, reach, true)
    }

    /// Distance to the nearest solid or domain wall, cut off at `reach`.
    pub fn distance(&self, x: &Vec3, reach: f64) -> f64 {
        self.resting_distance(x, reach).min(self.moving_distance(x, reach))
    }

    /// The nearest solid within `reach`; None if a domain wall is nearer.
    pub fn nearest(&self, x: &Vec3, reach: f64) -> Option<&Solid> {
        let mut nearest = reach.min(self.domain_distance(x));
        let mut found = None;
        for (solid, bounds) in self.solids.iter().zip(&self.bounds) {
            if !solid.shape.is_thin() && bounds.distance_squared(x) <= nearest.max(0.0).powi(2) {
                let d = solid.distance(x);
                if d < nearest {
                    (nearest, found) = (d, Some(solid));
                }
            }
        }
        found
    }

    /// Velocity of the nearest solid at x; zero at the domain's walls and where nothing is near.
    pub fn velocity(&self, x: &Vec3, reach: f64) -> Vec3 {
        if !self.any_animated() {
            return Vec3::zeros();
        }
        self.nearest(x, reach).map_or(Vec3::zeros(), |s| s.velocity(x))
    }

    /// How liquid behaves at the nearest wall.
    pub fn wall(&self, x: &Vec3, reach: f64) -> Wall {
        self.nearest(x, reach).map_or(self.domain_wall, |s| s.wall)
    }

    /// Whether some solid moves at some time.
    pub fn any_animated(&self) -> bool {
        self.solids.iter().any(|s| s.animated)
    }

    /// The greatest speed of a corner of a solid's box, m/s.
    pub fn max_speed(&self) -> f64 {
        let speed = |(s, b): (&Solid, &Aabb)| {
            let fastest = |m: f64, c: &Vec3| m.max(s.motion.velocity_at(c).norm());
            if s.animated { b.corners().iter().fold(0.0, fastest) } else { 0.0 }
        };
        self.solids.iter().zip(&self.bounds).map(speed).fold(0.0, f64::max)
    }

    pub fn any_thin(&self) -> bool {
        self.solids.iter().any(|s| s.shape.is_thin())
    }

    /// World boxes of the animated solids.
    pub fn animated_bounds(&self) -> impl Iterator<Item = &Aabb> {
        self.solids.iter().zip(&self.bounds).filter(|(s, _)| s.animated).map(|(_, b)| b)
    }

    /// Direction in which the distance grows fastest at x, from differences over `step`.
    pub fn outward(&self, x: &Vec3, step: f64) -> Vec3 {
        let reach = 1e3 * step;
        let along = |a: usize| {
            let (mut low, mut high) = (*x, *x);
            low[a] -= step;
            high[a] += step;
            self.distance(&high, reach) - self.distance(&low, reach)
        };
        Vec3::new(along(0), along(1), along(2)).try_normalize(0.0).unwrap_or_else(Vec3::y)
    }

    /// Whether the segment from a to b meets a thin solid, at the end of the step.
    pub fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.thin(a, b).any(|s| {
            let pose = &s.motion.pose;
            s.shape.crosses(&s.to_local(pose, a), &s.to_local(pose, b))
        })
    }

    /// Whether a point that goes from a to b during the step meets a thin solid on its way.
    pub fn path_crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.thin(a, b)
            .any(|s| s.shape.path_crosses(&s.to_local(&s.before, a), &s.to_local(&s.motion.pose, b)))
    }

    /// Where the nearest thin solid carries a point during the step.
    pub fn carried(&self, x: &Vec3) -> Vec3 {
        let near = |(s, b): &(&Solid, &Aabb)| s.shape.is_thin() && b.contains(x);
        let solid = self.solids.iter().zip(&self.bounds).find(near);
        solid.map_or(*x, |(s, _)| s.motion.pose.to_world(&s.before.to_local(x)))
    }

    fn thin(&self, a: &Vec3, b: &Vec3) -> impl Iterator<Item = &Solid> {
        let segment = Aabb::of_points([a, b]);
        self.solids
            .iter()
            .zip(&self.bounds)
            .filter(move |(s, bounds)| s.shape.is_thin() && bounds.overlaps(&segment))
            .map(|(s, _)| s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ball;
    impl SolidShape for Ball {
        fn distance(&self, x: &Vec3) -> f64 {
            x.norm() - 1.0
        }
        fn bounds(&self) -> Aabb {
            Aabb::new(Vec3::repeat(-1.0), Vec3::repeat(1.0))
        }
    }

    fn ball_in_a_box() -> Solids {
        let pose = Pose { translation: Vec3::new(3.0, 0.0, 0.0), ..Pose::identity() };
        let motion = Motion { pose, linear: Vec3::y(), angular: Vec3::zeros() };
        let ball = Solid {
            name: "ball".into(),
            shape: Arc::new(Ball),
            scale: 0.5,
            motion,
            before: pose,
            animated: true,
            wall: Wall::default(),
        };
        let domain = Aabb::new(Vec3::repeat(-10.0), Vec3::repeat(10.0));
        Solids::new(vec![ball], Some(domain), [[true; 2], [true, false], [true; 2]], Wall::default())
    }

    #[test]
    fn the_nearest_wall_counts() {
        let s = ball_in_a_box();
        assert!((s.distance(&Vec3::new(5.0, 0.0, 0.0), 9.0) - 1.5).abs() < 1e-15);
        assert!((s.distance(&Vec3::new(3.0, 0.0, 0.0), 9.0) + 0.5).abs() < 1e-15);
        assert!((s.distance(&Vec3::new(9.0, 0.0, 0.0), 9.0) - 1.0).abs() < 1e-15);
        assert_eq!(s.velocity(&Vec3::new(3.6, 0.0, 0.0), 1.0), Vec3::y());
        assert_eq!(s.velocity(&Vec3::new(9.9, 0.0, 0.0), 1.0), Vec3::zeros());
    }

    #[test]
    fn liquid_is_lost_only_through_open_sides() {
        let s = ball_in_a_box();
        assert!(s.is_drained(&Vec3::new(0.0, 11.0, 0.0)));
        assert!(!s.is_drained(&Vec3::new(0.0, -11.0, 0.0)));
        assert!(s.domain_distance(&Vec3::new(0.0, -11.0, 0.0)) < 0.0);
    }
}
