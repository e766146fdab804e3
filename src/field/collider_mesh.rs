//! Triangle meshes as solids: at rest, in rigid motion, deforming.
//!
//! A host gives meshes at times, any number a frame. What moves is found out, never declared:
//! - Same triangles, and every sample is a rigid motion of the first (to [`RIGID`] of its size, the
//!   rounding of f32 input): the distances are computed once, in the space of the first sample, and the
//!   solid is placed by a pose.
//! - Same triangles otherwise: between samples k and k+1 the best rigid motion P is taken out, points
//!   are interpolated in the body's space and put back: x(s) = P(s)·(b₀ + s (b₁ − b₀)), b = P⁻¹x. A
//!   deforming thing that turns does not shrink either.
//! - Triangles that change: the mesh of the last sample, moved along its vertex attribute `velocity`
//!   (or `v`) if it has one.
//!
//! Rotations follow the shortest arc; one point c of the body moves in a straight line meanwhile. It is
//! the one whose path through the neighbouring samples is straightest,
//! min Σ |p_{k−1} − 2p_k + p_{k+1}|², p_k = P_k c: on the axis of a hinge, in the centre of a thrown ball.
//! With two samples it is the one that moves least, which is the axis of a screw.
//! Checked by tests/colliders.rs.

use super::collider_deform::DeformedMesh;
use super::solids::SolidShape;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::geometry::{TriMesh, closest_motion};
use crate::grid::{DistanceParams, MeshDistance};
use crate::math::{Aabb, Mat3, Motion, Pose, Vec3};
use std::sync::Arc;

/// Residual of a rigid fit as a part of the size: the rounding of coordinates in f32.
const RIGID: f64 = 1e-5;

impl SolidShape for MeshDistance {
    fn distance(&self, x: &Vec3) -> f64 {
        MeshDistance::distance(self, x)
    }
    fn bounds(&self) -> Aabb {
        MeshDistance::bounds(self)
    }
    fn is_thin(&self) -> bool {
        MeshDistance::is_thin(self)
    }
    fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        MeshDistance::crosses(self, a, b)
    }
}

/// A mesh given at some times.
pub struct MovingMesh {
    name: String,
    params: DistanceParams,
    times: Vec<f64>,
    meshes: Vec<TriMesh>,
    /// Motion between sample k and k+1; None where the triangles change.
    segments: Vec<Option<Segment>>,
    /// The distances of the first sample, if all others are moved copies of it.
    rigid: Option<Arc<MeshDistance>>,
}

/// The rigid part of the motion from one sample to the next.
#[derive(Clone, Copy)]
struct Segment {
    /// Body space, which is that of the first sample with these triangles, to the two ends.
    from: Pose,
    to: Pose,
    /// The point of the body that moves in a straight line.
    centre: Vec3,
}

impl Segment {
    /// Pose at the fraction s of the way, and velocities for a segment of `duration` seconds.
    fn motion(&self, s: f64, duration: f64) -> Motion {
        let rotation = self.from.interpolate(&self.to, s).rotation;
        let (a, b) = (self.from.to_world(&self.centre), self.to.to_world(&self.centre));
        let arm = rotation * self.centre;
        let translation = a + (b - a) * s - arm;
        let angular = self.from.rotation_to(&self.to) / duration;
        let linear = (b - a) / duration - angular.cross(&arm);
        Motion { pose: Pose { rotation, translation }, linear, angular }
    }
}

impl MovingMesh {
    /// Samples at strictly growing times, seconds. One sample is a mesh at rest.
    pub fn from_samples(
        name: &str,
        samples: Vec<(f64, TriMesh)>,
        params: &DistanceParams,
        cancel: &Cancel,
    ) -> Result<Self> {
        let (times, meshes): (Vec<f64>, Vec<TriMesh>) = samples.into_iter().unzip();
        check_samples(name, &times, &meshes)?;
        let poses = rigid_poses(&meshes);
        let segments = (0..meshes.len() - 1).map(|k| segment(&meshes, &poses, k)).collect();
        let still = |k: usize| residual(&meshes[0], &meshes[k], &poses[k]);
        let size = meshes[0].bounds().size().norm() + 0.01 * meshes[0].bounds().hi.amax();
        let same = meshes.iter().all(|m| same_triangles(m, &meshes[0]));
        let rigid = same && (1..meshes.len()).all(|k| still(k) <= RIGID * size);
        let rigid =
            if rigid { Some(Arc::new(MeshDistance::new(&meshes[0], name, params, cancel)?)) } else { None };
        Ok(Self { name: name.to_string(), params: *params, times, meshes, segments, rigid })
    }

    /// Whether all samples are moved copies of the first.
    pub fn is_rigid(&self) -> bool {
        self.rigid.is_some()
    }

    /// Whether it is the same at all times.
    pub fn is_at_rest(&self) -> bool {
        let moves = |s: &Option<Segment>| s.is_none_or(|s| s.from != s.to);
        self.is_rigid() && !self.segments.iter().any(moves)
    }

    /// The segment that holds a time, and the fraction of the way through it, held at the ends.
    fn locate(&self, time: f64) -> (usize, f64) {
        let after = self.times.partition_point(|t| *t <= time);
        let k = after.saturating_sub(1).min(self.times.len().saturating_sub(2));
        match self.times.get(k + 1) {
            Some(end) => (k, ((time - self.times[k]) / (end - self.times[k])).clamp(0.0, 1.0)),
            None => (0, 0.0),
        }
    }

    /// Pose and velocity of a rigid mesh at a time; at rest before the first and after the last sample.
    /// The identity for a mesh that deforms: its shape is in world space already.
    pub fn motion_at(&self, time: f64) -> Motion {
        let (k, s) = self.locate(time);
        match self.segments.get(k) {
            Some(Some(segment)) if self.is_rigid() => {
                let motion = segment.motion(s, self.times[k + 1] - self.times[k]);
                if self.is_outside(time) { Motion::at_rest(motion.pose) } else { motion }
            }
            _ => Motion::at_rest(Pose::identity()),
        }
    }

    fn is_outside(&self, time: f64) -> bool {
        time < self.times[0] || time > self.times[self.times.len() - 1]
    }

    /// Positions and velocities of the vertices at a time, with the triangles they belong to.
    pub fn mesh_at(&self, time: f64) -> (TriMesh, Vec<Vec3>) {
        let (k, s) = self.locate(time);
        match self.segments.get(k) {
            Some(Some(segment)) => {
                let (positions, velocities) = self.interpolate(k, s, segment, self.is_outside(time));
                (TriMesh::new(positions, self.meshes[k].triangles.clone()), velocities)
            }
            _ => self.extrapolate(k, s, time),
        }
    }

    fn interpolate(&self, k: usize, s: f64, segment: &Segment, held: bool) -> (Vec<Vec3>, Vec<Vec3>) {
        let duration = self.times[k + 1] - self.times[k];
        let motion = segment.motion(s, duration);
        let ends = self.meshes[k].positions.iter().zip(&self.meshes[k + 1].positions);
        ends.map(|(x, y)| {
            let (a, b) = (segment.from.to_local(x), segment.to.to_local(y));
            let at = motion.pose.to_world(&(a + (b - a) * s));
            let v = motion.velocity_at(&at) + motion.pose.rotation * ((b - a) / duration);
            (at, if held { Vec3::zeros() } else { v })
        })
        .unzip()
    }

    /// A mesh whose triangles change: the last sample, moved by its own velocity.
    fn extrapolate(&self, k: usize, s: f64, time: f64) -> (TriMesh, Vec<Vec3>) {
        let k = if s >= 1.0 { k + 1 } else { k };
        let mesh = &self.meshes[k];
        let given = mesh.attribute("velocity").or(mesh.attribute("v")).filter(|a| a.width == 3);
        let velocity = |v: &[f32]| Vec3::new(v[0] as f64, v[1] as f64, v[2] as f64);
        let velocities: Vec<Vec3> = match given {
            Some(a) if !self.is_outside(time) => a.data.chunks_exact(3).map(velocity).collect(),
            _ => vec![Vec3::zeros(); mesh.positions.len()],
        };
        let ahead = if self.is_outside(time) { 0.0 } else { time - self.times[k] };
        let positions = mesh.positions.iter().zip(&velocities).map(|(p, v)| p + v * ahead).collect();
        (TriMesh::new(positions, mesh.triangles.clone()), velocities)
    }

    /// The shape at time `to`, for a step that began at `from`. A rigid one is in the space of the first
    /// sample and placed by [`MovingMesh::motion_at`]; a deforming one is in world space.
    pub fn shape_at(&self, from: f64, to: f64, cancel: &Cancel) -> Result<Arc<dyn SolidShape>> {
        if let Some(distance) = &self.rigid {
            return Ok(distance.clone());
        }
        let (mesh, velocities) = self.mesh_at(to);
        let (before, _) = self.mesh_at(from);
        let before =
            if before.triangles == mesh.triangles { before.positions } else { mesh.positions.clone() };
        let distance = MeshDistance::new(&mesh, &self.name, &self.params, cancel)?;
        Ok(Arc::new(DeformedMesh::new(mesh, before, velocities, distance)))
    }
}

fn check_samples(name: &str, times: &[f64], meshes: &[TriMesh]) -> Result<()> {
    if meshes.is_empty() {
        return Err(Error::geometry(name, "has no samples"));
    }
    if !times.iter().all(|t| t.is_finite()) || !times.is_sorted_by(|a, b| a < b) {
        return Err(Error::geometry(name, format!("sample times {times:?} do not grow")));
    }
    for (time, mesh) in times.iter().zip(meshes) {
        mesh.check(&format!("{name} at {time} s"))?;
        if mesh.is_empty() {
            return Err(Error::geometry(name, format!("has no triangles at {time} s")));
        }
    }
    Ok(())
}

fn same_triangles(a: &TriMesh, b: &TriMesh) -> bool {
    a.positions.len() == b.positions.len() && a.triangles == b.triangles
}

/// For each sample the best rigid motion from the first one with the same triangles.
fn rigid_poses(meshes: &[TriMesh]) -> Vec<Pose> {
    let mut base = 0;
    let pose = |k: usize| {
        if !same_triangles(&meshes[k], &meshes[base]) {
            base = k;
        }
        let identical = meshes[k].positions == meshes[base].positions;
        // A copy has the identity exactly, not to round-off.
        if identical {
            Pose::identity()
        } else {
            closest_motion(&meshes[base].positions, &meshes[k].positions).0
        }
    };
    (0..meshes.len()).map(pose).collect()
}

fn residual(first: &TriMesh, mesh: &TriMesh, pose: &Pose) -> f64 {
    let left = |(x, y): (&Vec3, &Vec3)| (pose.to_world(x) - y).norm();
    first.positions.iter().zip(&mesh.positions).map(left).fold(0.0, f64::max)
}

fn segment(meshes: &[TriMesh], poses: &[Pose], k: usize) -> Option<Segment> {
    if !same_triangles(&meshes[k], &meshes[k + 1]) {
        return None;
    }
    // The neighbours that share the triangles, and so the body's space.
    let first = if k > 0 && same_triangles(&meshes[k - 1], &meshes[k]) { k - 1 } else { k };
    let more = k + 2 < meshes.len() && same_triangles(&meshes[k + 1], &meshes[k + 2]);
    let poses = &poses[first..if more { k + 3 } else { k + 2 }];
    let middle = meshes[k].positions.iter().sum::<Vec3>() / meshes[k].positions.len().max(1) as f64;
    let middle = poses[k - first].to_local(&middle);
    let [from, to] = [poses[k - first], poses[k - first + 1]];
    Some(Segment { from, to, centre: straightest(poses, &middle) })
}

/// The point of a body whose path through the poses is straightest; for two poses, that moves least.
/// Where several are, the one nearest to `middle`.
fn straightest(poses: &[Pose], middle: &Vec3) -> Vec3 {
    let weights: &[f64] = if poses.len() > 2 { &[1.0, -2.0, 1.0] } else { &[-1.0, 1.0] };
    let (mut normal, mut right) = (Mat3::zeros(), Vec3::zeros());
    for window in poses.windows(weights.len()) {
        let turn: Mat3 =
            window.iter().zip(weights).map(|(p, w)| p.rotation.to_rotation_matrix().into_inner() * *w).sum();
        let shift: Vec3 = window.iter().zip(weights).map(|(p, w)| p.to_world(middle) * *w).sum();
        normal += turn.transpose() * turn;
        right -= turn.transpose() * shift;
    }
    // Directions that make no difference, such as along an axis, are left at the middle.
    let size = normal.trace();
    if size < 1e-12 {
        return *middle;
    }
    let solved = (normal + Mat3::identity() * (1e-9 * size)).try_inverse().map(|inverse| inverse * right);
    solved.filter(|c| c.iter().all(|v| v.is_finite())).map_or(*middle, |c| middle + c)
}
