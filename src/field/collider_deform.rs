//! Meshes during one step: one that deforms, and the faces of a thin one in some place.

use super::solid::SolidShape;
use crate::geometry::{TriMesh, barycentric, closest_on_triangle, moving_triangle_meets, segment_crosses};
use crate::grid::MeshDistance;
use crate::math::{Aabb, Mat3, Vec3};
use std::sync::Arc;

/// A mesh at the end of a step, where its vertices were at the beginning, and their velocities.
pub struct DeformedMesh {
    mesh: TriMesh,
    before: Vec<Vec3>,
    velocities: Vec<Vec3>,
    distance: MeshDistance,
    /// The furthest that a vertex goes during the step.
    furthest: f64,
    fastest: f64,
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
        let fastest = velocities.iter().map(|v| v.norm()).fold(0.0, f64::max);
        Self { mesh, before, velocities, distance, furthest, fastest }
    }

    /// Faces that come near a box during the step.
    fn faces_near(&self, within: &Aabb) -> Vec<Face> {
        let mut near = Vec::new();
        self.distance.bvh().overlapping(&within.grow(self.furthest * (1.0 + 1e-9)), &mut near);
        let face = |t: u32| Face {
            before: self.mesh.triangles[t as usize].map(|v| self.before[v as usize]),
            after: self.mesh.corners(t as usize),
        };
        near.into_iter().map(face).collect()
    }
}

impl SolidShape for DeformedMesh {
    fn distance(&self, x: &Vec3) -> f64 {
        SolidShape::distance(&self.distance, x)
    }

    fn distance_within(&self, x: &Vec3, reach: f64) -> f64 {
        self.distance.distance_within(x, reach)
    }

    /// A box round the mesh during the whole step.
    fn bounds(&self) -> Aabb {
        self.distance.bounds().union(&Aabb::of_points(&self.before))
    }

    fn is_thin(&self) -> bool {
        self.distance.is_thin()
    }

    fn closest(&self, x: &Vec3, reach: f64) -> Option<Vec3> {
        self.distance.closest(x, reach)
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

    fn max_deformation(&self) -> f64 {
        self.fastest
    }

    /// Every triangle moves in a straight line from where it was.
    fn path_crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.faces_near(&Aabb::of_points([a, b])).iter().any(|f| f.meets(a, b))
    }

    fn carried(&self, x: &Vec3) -> Vec3 {
        let Some(near) = self.distance.bvh().closest(x, f64::INFINITY) else { return *x };
        // What was nearest at the beginning of the step is within this distance.
        let reach = near.distance + self.furthest;
        carried_by(&self.faces_near(&Aabb::of_points([x]).grow(reach)), x)
    }

    fn part(&self, within: &Aabb) -> Option<Arc<dyn SolidShape>> {
        Faces::solid(self.faces_near(within), true)
    }
}

/// A triangle at the two ends of a step.
#[derive(Clone, Copy)]
struct Face {
    before: [Vec3; 3],
    after: [Vec3; 3],
}

impl Face {
    fn meets(&self, a: &Vec3, b: &Vec3) -> bool {
        moving_triangle_meets([&self.before, &self.after], [a, b])
    }

    /// Where a point goes that keeps its place relative to the face: weights in its plane, height above it.
    fn carry(&self, x: &Vec3) -> Vec3 {
        let frame = |[a, b, c]: &[Vec3; 3]| {
            let (u, v) = (b - a, c - a);
            let n = u.cross(&v);
            // The height keeps its length, however the face is stretched.
            Mat3::from_columns(&[u, v, n / n.norm().max(f64::MIN_POSITIVE)])
        };
        let (from, to) = (frame(&self.before), frame(&self.after));
        let local = from.try_inverse().map(|inverse| inverse * (x - self.before[0]));
        local.filter(|l| l.iter().all(|v| v.is_finite())).map_or(*x, |l| self.after[0] + to * l)
    }
}

/// Where the face that was nearest when the step began carries a point.
fn carried_by(faces: &[Face], x: &Vec3) -> Vec3 {
    let distance = |f: &Face| (closest_on_triangle(&f.before, x).0 - x).norm_squared();
    let nearest = faces.iter().min_by(|f, g| distance(f).total_cmp(&distance(g)));
    nearest.map_or(*x, |f| f.carry(x))
}

/// The faces of a thin mesh in some place.
pub(super) struct Faces {
    faces: Vec<Face>,
    deforms: bool,
}

impl Faces {
    fn solid(faces: Vec<Face>, deforms: bool) -> Option<Arc<dyn SolidShape>> {
        (!faces.is_empty()).then(|| Arc::new(Self { faces, deforms }) as Arc<dyn SolidShape>)
    }

    /// Those of a mesh that does not deform.
    pub fn of_mesh(mesh: &MeshDistance, within: &Aabb) -> Option<Arc<dyn SolidShape>> {
        let mut corners = Vec::new();
        mesh.bvh().corners_in(within, &mut corners);
        Self::solid(corners.into_iter().map(|c| Face { before: c, after: c }).collect(), false)
    }
}

impl SolidShape for Faces {
    fn distance(&self, x: &Vec3) -> f64 {
        let one = |f: &Face| (closest_on_triangle(&f.after, x).0 - x).norm();
        self.faces.iter().map(one).fold(f64::INFINITY, f64::min)
    }

    fn bounds(&self) -> Aabb {
        Aabb::of_points(self.faces.iter().flat_map(|f| f.before.iter().chain(&f.after)))
    }

    fn is_thin(&self) -> bool {
        true
    }

    fn closest(&self, x: &Vec3, reach: f64) -> Option<Vec3> {
        let points = self.faces.iter().map(|f| closest_on_triangle(&f.after, x).0);
        let points = points.filter(|p| (p - x).norm() < reach);
        points.min_by(|a, b| (a - x).norm_squared().total_cmp(&(b - x).norm_squared()))
    }

    fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.faces.iter().any(|f| segment_crosses(&f.after, a, b).is_some())
    }

    fn path_crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        if self.deforms { self.faces.iter().any(|f| f.meets(a, b)) } else { self.crosses(a, b) }
    }

    fn carried(&self, x: &Vec3) -> Vec3 {
        if self.deforms { carried_by(&self.faces, x) } else { *x }
    }

    fn part(&self, _within: &Aabb) -> Option<Arc<dyn SolidShape>> {
        Self::solid(self.faces.clone(), self.deforms)
    }
}
