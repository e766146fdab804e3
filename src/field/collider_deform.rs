//! A mesh that deforms, during one step.

use super::solids::SolidShape;
use crate::geometry::{TriMesh, barycentric, moving_triangle_meets};
use crate::grid::MeshDistance;
use crate::math::{Aabb, Vec3};

/// A mesh at the end of a step, where its vertices were at the beginning, and their velocities.
pub struct DeformedMesh {
    mesh: TriMesh,
    before: Vec<Vec3>,
    velocities: Vec<Vec3>,
    distance: MeshDistance,
    /// The furthest that a vertex goes during the step.
    furthest: f64,
}

impl DeformedMesh {
    pub(super) fn new(
        mesh: TriMesh,
        before: Vec<Vec3>,
        velocities: Vec<Vec3>,
        distance: MeshDistance,
    ) -> Self {
        let gone = |(a, b): (&Vec3, &Vec3)| (b - a).norm();
        let furthest = before.iter().zip(&mesh.positions).map(gone).fold(0.0, f64::max);
        Self { mesh, before, velocities, distance, furthest }
    }
}

impl SolidShape for DeformedMesh {
    fn distance(&self, x: &Vec3) -> f64 {
        self.distance.distance(x)
    }

    /// A box round the mesh during the whole step.
    fn bounds(&self) -> Aabb {
        self.distance.bounds().union(&Aabb::of_points(&self.before))
    }

    fn is_thin(&self) -> bool {
        self.distance.is_thin()
    }

    fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.distance.crosses(a, b)
    }

    /// Velocity of the nearest point of the mesh.
    fn deformation(&self, x: &Vec3) -> Vec3 {
        let Some(near) = self.distance.bvh().closest(x, f64::INFINITY) else { return Vec3::zeros() };
        let t = near.triangle as usize;
        let weights = barycentric(&self.mesh.corners(t), &near.point);
        let part = |i: usize| self.velocities[self.mesh.triangles[t][i] as usize] * weights[i];
        part(0) + part(1) + part(2)
    }

    /// Every triangle moves in a straight line from where it was.
    fn path_crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        let swept = Aabb::of_points([a, b]).grow(self.furthest * (1.0 + 1e-9));
        let mut near = Vec::new();
        self.distance.bvh().overlapping(&swept, &mut near);
        near.into_iter().any(|t| {
            let before = self.mesh.triangles[t as usize].map(|v| self.before[v as usize]);
            moving_triangle_meets([&before, &self.mesh.corners(t as usize)], [a, b])
        })
    }
}
