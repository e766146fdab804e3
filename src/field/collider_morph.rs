//! A mesh whose triangles change from one sample to the next, between the two.
//!
//! φ = (1−s) φ₀ + s φ₁ leads from the first distance to the second while s goes from 0 to 1. Its zero
//! moves along the normal with v = −φ_t ∇φ/|∇φ|², φ_t = (φ₁ − φ₀) ds/dt. A part that moves by more
//! than its own thickness vanishes on the way: give velocities, or more samples, for those.
//! Checked by tests/colliders.rs.

use super::solid::SolidShape;
use crate::grid::MeshDistance;
use crate::math::{Aabb, Vec3};
use std::sync::Arc;

/// Two distances being blended.
pub struct MorphedMesh {
    ends: [Arc<MeshDistance>; 2],
    /// The fraction s, and ds/dt a second.
    s: f64,
    rate: f64,
    /// No point is faster than this, m/s.
    fastest: f64,
}

impl MorphedMesh {
    /// `furthest` is the greatest distance between the two surfaces.
    pub(super) fn new(ends: [Arc<MeshDistance>; 2], s: f64, rate: f64, furthest: f64) -> Self {
        Self { ends, s, rate, fastest: furthest * rate.abs() }
    }

    fn blend<T>(&self, of: impl Fn(&MeshDistance) -> T) -> T
    where
        T: std::ops::Mul<f64, Output = T> + std::ops::Add<Output = T>,
    {
        of(&self.ends[0]) * (1.0 - self.s) + of(&self.ends[1]) * self.s
    }
}

impl SolidShape for MorphedMesh {
    fn distance(&self, x: &Vec3) -> f64 {
        self.distance_within(x, f64::INFINITY)
    }

    fn distance_within(&self, x: &Vec3, reach: f64) -> f64 {
        self.blend(|d| d.distance_within(x, reach))
    }

    fn bounds(&self) -> Aabb {
        self.ends[0].bounds().union(&self.ends[1].bounds())
    }

    fn deformation(&self, x: &Vec3) -> Vec3 {
        let gradient = self.blend(|d| d.gradient(x));
        let steep = gradient.norm_squared();
        // Far from both surfaces, or between two that face each other, nothing tells the direction.
        if steep < 0.01 {
            return Vec3::zeros();
        }
        let change = (self.ends[1].distance(x) - self.ends[0].distance(x)) * self.rate;
        (gradient * (-change / steep)).cap_magnitude(self.fastest)
    }

    fn max_deformation(&self) -> f64 {
        self.fastest
    }
}
