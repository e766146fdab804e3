//! Triangle meshes as solids: at rest, in rigid motion, deforming.
//!
//! A host gives meshes at times, any number a frame. What moves is found out, never declared:
//! - Same triangles, and every sample is a rigid motion of one mesh, the body (to [`RIGID`] of its size,
//!   the rounding of f32 input): the distances are computed once, in the space of the body, and the
//!   solid is placed by a pose. Samples that come later continue with the body of the first ones, if they are
//!   moved copies of it, so that what came between makes no difference.
//! - Same triangles otherwise: between samples k and k+1 the best rigid motion P is taken out, points
//!   are interpolated in the body's space and put back: x(s) = P(s)·(b₀ + s (b₁ − b₀)), b = P⁻¹x. A
//!   deforming thing that turns does not shrink either.
//! - Triangles that change: the mesh of the last sample, moved along its vertex attribute `velocity`
//!   (or `v`) if it has one; else the distances of the two samples are blended, see
//!   [`super::collider_morph`]. A thin mesh without velocities has no distances to blend and is held.
//!
//! Rotations follow the shortest arc; one point c of the body moves in a straight line meanwhile. It is
//! the one whose path through the neighbouring samples is straightest,
//! min Σ |p_{k−1} − 2p_k + p_{k+1}|², p_k = P_k c: on the axis of a hinge, in the centre of a thrown ball.
//! With two samples it is the one that moves least, which is the axis of a screw.
//! Checked by tests/colliders.rs.

use super::collider_deform::{DeformedMesh, Faces};
use super::collider_morph::MorphedMesh;
use super::solid::SolidShape;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::geometry::{Attribute, Bvh, TriMesh, closest_motion};
use crate::grid::{DistanceParams, MeshDistance};
use crate::math::{Aabb, Mat3, Motion, Pose, Vec3};
use std::sync::{Arc, Mutex};

/// Residual of a rigid fit as a part of the size: the rounding of coordinates in f32.
const RIGID: f64 = 1e-5;

impl SolidShape for MeshDistance {
    fn distance(&self, x: &Vec3) -> f64 {
        MeshDistance::distance_within(self, x, f64::INFINITY)
    }
    fn distance_within(&self, x: &Vec3, reach: f64) -> f64 {
        MeshDistance::distance_within(self, x, reach)
    }
    fn plate(&self, x: &Vec3, half: f64, reach: f64) -> f64 {
        MeshDistance::plate(self, x, half, reach)
    }
    fn bounds(&self) -> Aabb {
        MeshDistance::bounds(self)
    }
    fn is_thin(&self) -> bool {
        MeshDistance::is_thin(self)
    }
    fn is_hollow(&self) -> bool {
        self.is_backed()
    }
    fn closest(&self, x: &Vec3, reach: f64) -> Option<Vec3> {
        self.bvh().closest(x, reach).map(|c| c.point)
    }
    fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        MeshDistance::crosses(self, a, b)
    }
    fn part(&self, within: &Aabb) -> Option<Arc<dyn SolidShape>> {
        Faces::of_mesh(self, within)
    }
}

/// A mesh given at some times.
#[derive(Clone)]
pub struct MovingMesh {
    name: String,
    params: DistanceParams,
    times: Vec<f64>,
    meshes: Vec<TriMesh>,
    /// The best rigid motion to each sample from the body, or from the first one with its triangles.
    poses: Vec<Pose>,
    /// What leads from sample k to k+1.
    between: Vec<Between>,
    /// What all samples are moved copies of, if they are.
    rigid: Option<Body>,
    /// The body of the first samples, with which later ones continue.
    first: Option<Body>,
    /// Distances of the samples that are being blended, by their index.
    blended: Arc<Mutex<Blended>>,
}

/// Distances by the index of their sample.
type Blended = Vec<(usize, Arc<MeshDistance>)>;

/// A mesh in its own space.
#[derive(Clone)]
struct Body {
    mesh: Arc<TriMesh>,
    distance: Arc<MeshDistance>,
}

/// How one sample becomes the next.
#[derive(Clone)]
enum Between {
    /// The triangles stay.
    Moved(Segment),
    /// The triangles change; the first sample moves along its velocities.
    Carried,
    /// The triangles change and the distances are blended; no point is further than this from the other
    /// surface.
    Blended(f64),
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
    /// Samples at strictly growing times, in any unit, frames for example. One sample is a mesh at rest.
    /// Velocities that samples carry are lengths a unit of time.
    pub fn from_samples(
        name: &str,
        samples: Vec<(f64, TriMesh)>,
        params: &DistanceParams,
        cancel: &Cancel,
    ) -> Result<Self> {
        Self::continued(None, name, samples, params, cancel)
    }

    /// The same after other samples: a body that has only moved since keeps its distances.
    pub fn continued(
        earlier: Option<&MovingMesh>,
        name: &str,
        samples: Vec<(f64, TriMesh)>,
        params: &DistanceParams,
        cancel: &Cancel,
    ) -> Result<Self> {
        let (times, meshes): (Vec<f64>, Vec<TriMesh>) = samples.into_iter().unzip();
        check_samples(name, &times, &meshes)?;
        let kept = earlier.filter(|e| e.params.cell == params.cell).map(|e| e.first.clone());
        let body = kept.clone().flatten();
        let body = body.filter(|b| fits(&b.mesh, &meshes, &rigid_poses(&b.mesh, &meshes)));
        let poses = rigid_poses(body.as_ref().map_or(&meshes[0], |b| &b.mesh), &meshes);
        let rigid = match body {
            None if fits(&meshes[0], &meshes, &poses) => {
                let distance = Arc::new(MeshDistance::new(&meshes[0], name, params, cancel)?);
                Some(Body { mesh: Arc::new(meshes[0].clone()), distance })
            }
            found => found,
        };
        let between = (0..meshes.len() - 1).map(|k| between(&meshes, &poses, k)).collect();
        let blended = Arc::new(Mutex::new(Vec::new()));
        let first = kept.unwrap_or_else(|| rigid.clone());
        let (name, params) = (name.to_string(), *params);
        Ok(Self { name, params, times, meshes, poses, between, rigid, first, blended })
    }

    /// Later samples begin with a body of their own.
    pub fn forget_first(&mut self) {
        self.first = None;
    }

    /// Whether all samples are moved copies of one mesh.
    pub fn is_rigid(&self) -> bool {
        self.rigid.is_some()
    }

    /// Whether it is the same at all times.
    pub fn is_at_rest(&self) -> bool {
        let rests = |b: &Between| matches!(b, Between::Moved(s) if s.from == s.to);
        self.is_rigid() && self.between.iter().all(rests)
    }

    /// The mesh that is placed by [`MovingMesh::motion_at`] if the samples are copies of one, else the
    /// first sample.
    pub fn body(&self) -> &TriMesh {
        self.rigid.as_ref().map_or(&self.meshes[0], |b| &b.mesh)
    }

    /// The sample at exactly this time, or else the mesh as it is then.
    pub fn sample_at(&self, time: f64) -> TriMesh {
        let given = self.times.iter().position(|t| *t == time);
        given.map_or_else(|| self.mesh_at(time).0, |k| self.meshes[k].clone())
    }

    /// The mesh that [`MovingMesh::motion_at`] places at a time, with what its vertices carry then: between two samples with
    /// the same triangles values go evenly from one to the other, else those of the sample hold.
    pub fn painted_at(&self, time: f64) -> TriMesh {
        let shape = if self.is_rigid() { self.body().clone() } else { self.mesh_at(time).0 };
        let (k, s) = self.locate(time);
        let next = self.meshes.get(k + 1);
        let attributes = match (self.between.get(k), next) {
            (Some(Between::Moved(_)), Some(next)) => {
                self.meshes[k].attributes.iter().map(|a| blended(a, next.attribute(&a.name), s)).collect()
            }
            (_, Some(next)) if s >= 1.0 => next.attributes.clone(),
            _ => self.meshes[k].attributes.clone(),
        };
        TriMesh { attributes, ..shape }
    }

    /// The samples, one after another.
    pub fn samples(&self) -> &[TriMesh] {
        &self.meshes
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
        match self.between.get(k) {
            Some(Between::Moved(segment)) if self.is_rigid() => {
                let motion = segment.motion(s, self.times[k + 1] - self.times[k]);
                if self.is_outside(time) { Motion::at_rest(motion.pose) } else { motion }
            }
            None if self.is_rigid() => Motion::at_rest(self.poses[0]),
            _ => Motion::at_rest(Pose::identity()),
        }
    }

    fn is_outside(&self, time: f64) -> bool {
        time < self.times[0] || time > self.times[self.times.len() - 1]
    }

    /// Positions and velocities of the vertices at a time, with the triangles they belong to.
    pub fn mesh_at(&self, time: f64) -> (TriMesh, Vec<Vec3>) {
        let (k, s) = self.locate(time);
        match self.between.get(k) {
            Some(Between::Moved(segment)) => {
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
        let velocities = match velocities(mesh) {
            Some(given) if !self.is_outside(time) => given,
            _ => vec![Vec3::zeros(); mesh.positions.len()],
        };
        let ahead = if self.is_outside(time) { 0.0 } else { time - self.times[k] };
        let positions = mesh.positions.iter().zip(&velocities).map(|(p, v)| p + v * ahead).collect();
        (TriMesh::new(positions, mesh.triangles.clone()), velocities)
    }

    /// Whether the first of its samples is a sheet without thickness.
    pub fn is_thin(&self) -> bool {
        self.rigid.as_ref().or(self.first.as_ref()).is_some_and(|body| body.distance.is_thin())
    }

    /// Whether the plate that stands for it lies behind it, and not on both of its sides.
    pub fn is_backed(&self) -> bool {
        self.rigid.as_ref().is_some_and(|body| body.distance.is_backed())
    }

    /// The furthest that any point goes between two times.
    pub fn travel(&self, from: f64, to: f64) -> f64 {
        let gone = |(a, b): (&Vec3, &Vec3)| (b - a).norm();
        if self.is_rigid() {
            let (a, b) = (self.motion_at(from).pose, self.motion_at(to).pose);
            let corners = self.body().bounds().corners();
            return corners.iter().map(|c| (b.to_world(c) - a.to_world(c)).norm()).fold(0.0, f64::max);
        }
        let (k, s) = self.locate(to);
        match self.between.get(k) {
            Some(Between::Blended(furthest)) => {
                let begin = if self.locate(from).0 == k { self.locate(from).1 } else { 0.0 };
                furthest * (s - begin)
            }
            _ => {
                let ((a, v), (b, _)) = (self.mesh_at(from), self.mesh_at(to));
                if a.triangles != b.triangles {
                    // Vertices of different meshes are not the same points.
                    return v.iter().map(|v| v.norm()).fold(0.0, f64::max) * (to - from);
                }
                a.positions.iter().zip(&b.positions).map(gone).fold(0.0, f64::max)
            }
        }
    }

    /// The shape at time `to` for a step that began at `from` and takes `seconds`. A rigid one is in the
    /// space of its body and placed by [`MovingMesh::motion_at`]; the others do not need a place.
    pub fn shape_at(&self, from: f64, to: f64, seconds: f64, cancel: &Cancel) -> Result<Arc<dyn SolidShape>> {
        if let Some(body) = &self.rigid {
            return Ok(body.distance.clone());
        }
        let (k, s) = self.locate(to);
        // Lengths a unit of time become lengths a second.
        let rate = if seconds > 0.0 { (to - from) / seconds } else { 0.0 };
        if let Some(Between::Blended(furthest)) = self.between.get(k)
            && !self.is_outside(to)
        {
            let ends = [self.distances_of(k, cancel)?, self.distances_of(k + 1, cancel)?];
            if ends.iter().all(|d| !d.is_thin()) {
                let duration = self.times[k + 1] - self.times[k];
                return Ok(Arc::new(MorphedMesh::new(ends, s, rate / duration, *furthest)));
            }
        }
        self.deformed(from, to, seconds, rate, cancel)
    }

    fn deformed(
        &self,
        from: f64,
        to: f64,
        seconds: f64,
        rate: f64,
        cancel: &Cancel,
    ) -> Result<Arc<dyn SolidShape>> {
        let (mesh, given) = self.mesh_at(to);
        let (before, _) = self.mesh_at(from);
        // What bends to and fro must not change the side of its plate.
        let params = DistanceParams { backing: 0.0, ..self.params };
        let distance = MeshDistance::new(&mesh, &self.name, &params, cancel)?;
        let shape = if before.triangles == mesh.triangles && seconds > 0.0 {
            let steps = before.positions.iter().zip(&mesh.positions);
            let velocities = steps.map(|(a, b)| (b - a) / seconds).collect();
            DeformedMesh::new(mesh, before.positions, velocities, distance)
        } else {
            let before = mesh.positions.clone();
            DeformedMesh::new(mesh, before, given.iter().map(|v| v * rate).collect(), distance)
        };
        Ok(Arc::new(shape))
    }

    /// The distances of a sample; the last few are kept.
    fn distances_of(&self, k: usize, cancel: &Cancel) -> Result<Arc<MeshDistance>> {
        let mut kept = self.blended.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((_, distance)) = kept.iter().find(|(n, _)| *n == k) {
            return Ok(distance.clone());
        }
        let distance = Arc::new(MeshDistance::new(&self.meshes[k], &self.name, &self.params, cancel)?);
        kept.retain(|(n, _)| n.abs_diff(k) <= 1);
        kept.push((k, distance.clone()));
        Ok(distance)
    }
}

/// An attribute on its way to what it is in the next sample; one that is not there any more is held.
fn blended(from: &Attribute, to: Option<&Attribute>, s: f64) -> Attribute {
    let Some(to) = to.filter(|to| to.data.len() == from.data.len() && s > 0.0) else { return from.clone() };
    let one = |(a, b): (&f32, &f32)| (f64::from(*a) + s * (f64::from(*b) - f64::from(*a))) as f32;
    // The end is the next sample itself, not a sum.
    let data = if s < 1.0 { from.data.iter().zip(&to.data).map(one).collect() } else { to.data.clone() };
    Attribute { data, ..from.clone() }
}

/// The velocities that a mesh carries.
fn velocities(mesh: &TriMesh) -> Option<Vec<Vec3>> {
    let given = mesh.attribute("velocity").or(mesh.attribute("v")).filter(|a| a.width == 3)?;
    let vector = |v: &[f32]| Vec3::new(v[0] as f64, v[1] as f64, v[2] as f64);
    Some(given.data.chunks_exact(3).map(vector).collect())
}

fn check_samples(name: &str, times: &[f64], meshes: &[TriMesh]) -> Result<()> {
    if meshes.is_empty() {
        return Err(Error::geometry(name, "has no samples"));
    }
    if !times.iter().all(|t| t.is_finite()) || !times.is_sorted_by(|a, b| a < b) {
        return Err(Error::geometry(name, format!("sample times {times:?} do not grow")));
    }
    for (time, mesh) in times.iter().zip(meshes) {
        mesh.check(&format!("{name} at {time}"))?;
        if mesh.is_empty() {
            return Err(Error::geometry(name, format!("has no triangles at {time}")));
        }
    }
    Ok(())
}

fn same_triangles(a: &TriMesh, b: &TriMesh) -> bool {
    a.positions.len() == b.positions.len() && a.triangles == b.triangles
}

/// For each sample the best rigid motion from the body, or from the first sample with its triangles.
fn rigid_poses(body: &TriMesh, meshes: &[TriMesh]) -> Vec<Pose> {
    let mut base = body;
    let pose = |mesh| {
        if !same_triangles(mesh, base) {
            base = mesh;
        }
        // A copy has the identity exactly, not to round-off.
        if mesh.positions == base.positions {
            Pose::identity()
        } else {
            closest_motion(&base.positions, &mesh.positions).0
        }
    };
    meshes.iter().map(pose).collect()
}

/// Whether all meshes are copies of the body, moved by the poses.
fn fits(body: &TriMesh, meshes: &[TriMesh], poses: &[Pose]) -> bool {
    let size = body.bounds().size().norm() + 0.01 * body.bounds().hi.amax();
    let left = |mesh: &TriMesh, pose: &Pose| {
        let one = |(x, y): (&Vec3, &Vec3)| (pose.to_world(x) - y).norm();
        body.positions.iter().zip(&mesh.positions).map(one).fold(0.0, f64::max)
    };
    meshes.iter().zip(poses).all(|(m, p)| same_triangles(m, body) && left(m, p) <= RIGID * size)
}

fn between(meshes: &[TriMesh], poses: &[Pose], k: usize) -> Between {
    if same_triangles(&meshes[k], &meshes[k + 1]) {
        return Between::Moved(segment(meshes, poses, k));
    }
    if velocities(&meshes[k]).is_some() {
        return Between::Carried;
    }
    let far = |mesh: &TriMesh, tree: &Bvh| {
        let one = |p: &Vec3| tree.closest(p, f64::INFINITY).map_or(0.0, |c| c.distance);
        mesh.positions.iter().map(one).fold(0.0, f64::max)
    };
    let trees = [Bvh::new(&meshes[k]), Bvh::new(&meshes[k + 1])];
    Between::Blended(far(&meshes[k], &trees[1]).max(far(&meshes[k + 1], &trees[0])))
}

/// The motion between two samples with the same triangles.
fn segment(meshes: &[TriMesh], poses: &[Pose], k: usize) -> Segment {
    // The neighbours that share the triangles, and so the body's space.
    let first = if k > 0 && same_triangles(&meshes[k - 1], &meshes[k]) { k - 1 } else { k };
    let more = k + 2 < meshes.len() && same_triangles(&meshes[k + 1], &meshes[k + 2]);
    let poses = &poses[first..if more { k + 3 } else { k + 2 }];
    let middle = meshes[k].positions.iter().sum::<Vec3>() / meshes[k].positions.len().max(1) as f64;
    let middle = poses[k - first].to_local(&middle);
    let [from, to] = [poses[k - first], poses[k - first + 1]];
    Segment { from, to, centre: straightest(poses, &middle) }
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
