//! What a simulator asks of whatever carries the liquid's surface.
//!
//! A tracker knows the surface at its own resolution and nothing of the mesh on which pressure is solved; it is
//! carried along by any velocity that can be asked for at points, and answers distances at points.

use crate::error::Result;
use crate::field::{Solids, VelocityField};
use crate::geometry::TriMesh;
use crate::math::{Aabb, Vec3};

/// How a surface is carried in one step.
pub struct Carry<'a> {
    /// Seconds.
    pub dt: f64,
    /// The velocity of the liquid, extended beyond its surface.
    pub velocity: &'a dyn VelocityField,
    /// No liquid is faster, m/s.
    pub fastest: f64,
    /// Where solids are at the end of the step.
    pub solids: &'a Solids,
    /// Boxes in which liquid may appear from nowhere.
    pub wanted: &'a [Aabb],
}

/// A tracker of the free surface. Distances are negative in the liquid.
pub trait SurfaceTracker {
    /// Carry the surface along the flow. What follows may add liquid; [`SurfaceTracker::restore`] ends the step.
    fn advect(&mut self, carry: &Carry) -> Result<()>;

    /// Let a region be liquid.
    fn unite(&mut self, bounds: &Aabb, distance: &(dyn Fn(&Vec3) -> f64 + Sync));

    /// Make the distance a distance again, and continue it into solids.
    fn restore(&mut self) -> Result<()>;

    /// Signed distance at each point, m, cut off at the band.
    fn distances(&self, x: &[Vec3]) -> Vec<f64>;

    /// Volume of the liquid outside solids, m³, and the area of its free surface, m².
    fn measure(&self) -> [f64; 2];

    /// Move the surface outwards by a distance, m.
    fn swell(&mut self, by: f64);

    /// The surface as a closed mesh, entering solids by `overlap` metres.
    fn triangulate(&self, overlap: f64) -> Result<TriMesh>;
}
