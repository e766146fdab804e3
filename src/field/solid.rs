//! One solid: a shape in its own coordinates, its place, and how it got there during the step.

use crate::math::{Aabb, Motion, Pose, Vec3};
use std::sync::Arc;

/// A shape in its own coordinates.
pub trait SolidShape: Send + Sync {
    /// Signed distance, negative inside; exact near the surface.
    fn distance(&self, x: &Vec3) -> f64;
    /// The distance where its size is less than `reach`; elsewhere any number of the same sign that is
    /// at least as large as `reach`.
    fn distance_within(&self, x: &Vec3, _reach: f64) -> f64 {
        self.distance(x)
    }
    /// The distance to the plate of twice `half` that stands for a thin shape on grids, under the same rule;
    /// negative inside the plate.
    fn plate(&self, x: &Vec3, half: f64, reach: f64) -> f64 {
        self.distance_within(x, reach + half).abs() - half
    }
    /// A box round the surface.
    fn bounds(&self) -> Aabb;
    /// Whether the solid is what lies outside the surface.
    fn is_container(&self) -> bool {
        false
    }
    /// Whether the shape has no inside and separates liquid by [`SolidShape::crosses`] alone.
    fn is_thin(&self) -> bool {
        false
    }
    /// Whether a thin shape has a hollow side, so that its plate lies behind it.
    fn is_hollow(&self) -> bool {
        false
    }
    /// The point of a thin shape that is nearest to x, if it is nearer than `reach`.
    fn closest(&self, _x: &Vec3, _reach: f64) -> Option<Vec3> {
        None
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
    /// Where the surface carries a point near it during the step; its own place unless it deforms.
    fn carried(&self, x: &Vec3) -> Vec3 {
        *x
    }
    /// Velocity of the surface near x in the shape's own coordinates; zero unless it deforms.
    fn deformation(&self, _x: &Vec3) -> Vec3 {
        Vec3::zeros()
    }
    /// The greatest speed of deformation.
    fn max_deformation(&self) -> f64 {
        0.0
    }
    /// A thin shape that answers paths within a box as this one does, from fewer faces; None if no face
    /// reaches the box during the step. Only thin shapes are asked.
    fn part(&self, _within: &Aabb) -> Option<Arc<dyn SolidShape>> {
        None
    }
}

/// How liquid behaves at a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wall {
    /// Liquid takes the wall's velocity instead of sliding along it.
    pub stick: bool,
    /// Share of the sliding velocity that the wall takes away in a step, 0 to 1.
    pub friction: f64,
    /// Liquid may come off the wall: it does not suck.
    pub peel: bool,
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
    pub(super) fn to_local(&self, pose: &Pose, x: &Vec3) -> Vec3 {
        pose.to_local(x) / self.scale
    }

    /// Signed distance at a world position, metres.
    pub fn distance(&self, x: &Vec3) -> f64 {
        self.shape.distance(&self.to_local(&self.motion.pose, x)) * self.scale
    }

    /// The distance where its size is less than `reach`; see [`SolidShape::distance_within`].
    pub fn distance_within(&self, x: &Vec3, reach: f64) -> f64 {
        let local = self.to_local(&self.motion.pose, x);
        self.shape.distance_within(&local, reach / self.scale) * self.scale
    }

    /// The distance to the plate that stands for a thin solid; see [`SolidShape::plate`].
    pub(super) fn plate(&self, x: &Vec3, half: f64, reach: f64) -> f64 {
        let local = self.to_local(&self.motion.pose, x);
        self.shape.plate(&local, half / self.scale, reach / self.scale) * self.scale
    }

    /// Velocity of the solid's material at a world position.
    pub fn velocity(&self, x: &Vec3) -> Vec3 {
        let own = self.shape.deformation(&self.to_local(&self.motion.pose, x)) * self.scale;
        self.motion.velocity_at(x) + self.motion.pose.rotation * own
    }

    /// Whether the segment from a to b meets the surface at the end of the step.
    pub fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        let pose = &self.motion.pose;
        self.shape.crosses(&self.to_local(pose, a), &self.to_local(pose, b))
    }

    /// Whether a point that goes from a to b during the step meets the surface on its way.
    pub fn path_crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.shape.path_crosses(&self.to_local(&self.before, a), &self.to_local(&self.motion.pose, b))
    }

    /// The point of a thin solid that is nearest to x, if it is nearer than `reach`.
    pub(super) fn closest(&self, x: &Vec3, reach: f64) -> Option<Vec3> {
        let pose = &self.motion.pose;
        let found = self.shape.closest(&self.to_local(pose, x), reach / self.scale)?;
        Some(pose.to_world(&(found * self.scale)))
    }

    /// Where the solid carries a point that was at x when the step began.
    pub fn carried(&self, x: &Vec3) -> Vec3 {
        self.motion.pose.to_world(&(self.shape.carried(&self.to_local(&self.before, x)) * self.scale))
    }

    /// The solid with the faces that can be met within a box; None if there are none.
    pub(super) fn part(&self, within: &Aabb) -> Option<Solid> {
        let local = |pose: &Pose| Aabb::of_points(&within.corners().map(|c| self.to_local(pose, &c)));
        let within = local(&self.before).union(&local(&self.motion.pose));
        // The rounding of the placement must not lose a face on the border.
        let within = within.grow(1e-9 * (within.lo.amax().max(within.hi.amax())));
        Some(Solid { shape: self.shape.part(&within)?, ..self.clone() })
    }

    /// A world box round the surface, now and at the beginning of the step.
    fn surface_bounds(&self) -> Aabb {
        let corners = self.shape.bounds().corners().map(|c| c * self.scale);
        let placed = |pose: &Pose| Aabb::of_points(&corners.map(|c| pose.to_world(&c)));
        placed(&self.motion.pose).union(&placed(&self.before))
    }

    /// A world box outside which the solid is not met, now or at the beginning of the step.
    pub fn bounds(&self) -> Aabb {
        let b = self.shape.bounds();
        let endless = self.shape.is_container() || !b.lo.iter().chain(b.hi.iter()).all(|c| c.is_finite());
        if endless {
            return Aabb::new(Vec3::repeat(f64::NEG_INFINITY), Vec3::repeat(f64::INFINITY));
        }
        let bounds = self.surface_bounds();
        if !self.shape.is_thin() {
            return bounds;
        }
        // What turns bulges out between the two ends of the step; a sheet that lies in a side of its box
        // must not be lost by rounding.
        let travel = |c: &Vec3| (self.motion.pose.to_world(c) - self.before.to_world(c)).norm();
        let furthest = b.corners().iter().map(|c| travel(&(c * self.scale))).fold(0.0, f64::max);
        bounds.grow(2.0 * furthest + 1e-9 * bounds.size().max())
    }

    /// No point of the surface is faster than this; where it has no end, none in the domain.
    pub(super) fn max_speed(&self, domain: Option<&Aabb>) -> f64 {
        if !self.animated {
            return 0.0;
        }
        let own = self.surface_bounds();
        let finite = own.lo.iter().chain(own.hi.iter()).all(|c| c.is_finite());
        let Some(bounds) = (if finite { Some(&own) } else { domain }) else {
            return self.motion.linear.norm();
        };
        let fastest = |m: f64, c: &Vec3| m.max(self.motion.velocity_at(c).norm());
        bounds.corners().iter().fold(0.0, fastest) + self.shape.max_deformation() * self.scale
    }
}

/// Everything outside a shape: a container.
pub struct Container(pub Arc<dyn SolidShape>);

impl SolidShape for Container {
    fn distance(&self, x: &Vec3) -> f64 {
        -self.0.distance(x)
    }
    fn distance_within(&self, x: &Vec3, reach: f64) -> f64 {
        -self.0.distance_within(x, reach)
    }
    fn bounds(&self) -> Aabb {
        self.0.bounds()
    }
    fn is_container(&self) -> bool {
        !self.0.is_container()
    }
    fn deformation(&self, x: &Vec3) -> Vec3 {
        self.0.deformation(x)
    }
    fn max_deformation(&self) -> f64 {
        self.0.max_deformation()
    }
}
