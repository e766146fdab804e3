//! Rigid bodies of a scene: what they are, where they are, and how a step moves them.
//!
//! A step first moves every body with the velocity that the last pressure solve left, so that liquid and bodies
//! move with velocities that fit each other: the centre of mass by Δt v, the body by the rotation exp(Δt ω) with ω
//! half way. Without torque the angular momentum L = I ω is kept to round-off: ω follows from L and the new
//! orientation. What would pass through a wall is stopped at it. The pressure solve
//! ([`crate::solver::mac::Bodies`]) then finds the velocities at the new place, with weight and contact.
//!
//! A hinge allows ω along its axis and the velocity of the centre of mass that goes with it, a slider
//! velocities along its axis. With the columns of P spanning what is allowed, the inverse mass is
//! C = P (PᵀMP)⁻¹ Pᵀ, which is M⁻¹ for a free body and 0 for a fixed one.

use super::contact::{Contacts, Touching, part};
use super::contact_points::ContactPoints;
use super::form::{Form, Object};
use super::report::BodyMotion;
use super::state::{Reader, Writer};
use super::world::{Loader, named, wall};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::field::{Solid, SolidShape, Solids};
use crate::geometry::{Moments, TriMesh};
use crate::math::elementary::{cbrt, sin_cos};
use crate::math::{Mat3, Motion, Pose, Vec3};
use crate::scene::{self, Joint};
use crate::solver::mac::{Afloat, Carried};
use crate::solver::rigid::{RigidBody, Six, SixBySix, angular, linear, mass_matrix, six};
use nalgebra::{DMatrix, Quaternion, Unit, UnitQuaternion};
use std::borrow::Cow;
use std::sync::Arc;

/// Numbers of a body in a saved state.
const SAVED: usize = 26;
/// A body is touched by what is nearer than this many cells, and what it may reach in a step.
const REACH_CELLS: f64 = 0.5;

/// What a body is.
pub(super) struct Body {
    pub name: String,
    object: Object,
    frame: f64,
    shape: Arc<dyn SolidShape>,
    scale: f64,
    /// Its surface in metres in the coordinates of its pose, of exactly its volume.
    hull: Arc<TriMesh>,
    /// Points of the surface for contact.
    points: ContactPoints,
    radius: f64,
    /// Centre of mass in the coordinates of the pose.
    centre: Vec3,
    volume: f64,
    mass: f64,
    /// Inertia about the centre of mass along the axes of the pose.
    inertia: Mat3,
    joint: Joint,
    wall: scene::Wall,
    friction: f64,
    restitution: f64,
    pub look: scene::Look,
    /// Whether the host has given it other triangles.
    pub replaced: bool,
}

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BodyState {
    pub pose: Pose,
    /// Of the centre of mass, and angular.
    pub velocity: Six,
    /// Force and torque of the liquid in the last step.
    pub force: Six,
    /// What contact changed the velocity by in the last step, and how long that was.
    contact: Six,
    dt: f64,
}

impl Body {
    fn new(loader: &Loader, index: usize) -> Result<(Self, BodyState)> {
        let spec = &loader.scene.bodies[index];
        let name = named(&spec.name, "body", index);
        let form = loader.form(&spec.shape, &name, spec.transform.scale)?;
        let object = Object { name: name.clone(), form, transform: spec.transform.clone(), container: false };
        let frame = loader.scene.frames[0] as f64;
        let solid = spec.shape.solid().map_err(|e| Error::geometry(&name, e.to_string()))?;
        let exact = solid.map(|(shape, _)| shape.volume());
        let (body, pose) = Self::shaped(spec, object, exact, frame, loader.scene.cell())?;
        let turning = Vec3::from(spec.angular_velocity.map(f64::to_radians));
        let velocity = six(&Vec3::from(spec.velocity), &turning);
        let mut state = BodyState { pose, velocity, force: Six::zeros(), contact: Six::zeros(), dt: 0.0 };
        if body.joint != Joint::Free {
            // What the joint allows of the velocity that was asked for.
            state.velocity =
                body.inverse_mass(&state.pose) * (body.mass_matrix(&state.pose) * state.velocity);
        }
        Ok((body, state))
    }

    /// Shape, mass and inertia of an object, and its pose at a frame. `exact` is its volume where a formula has it.
    fn shaped(
        spec: &scene::Body,
        object: Object,
        exact: Option<f64>,
        frame: f64,
        cell: f64,
    ) -> Result<(Self, Pose)> {
        let name = object.name.clone();
        let placed = object.at(frame, frame, 0.0, &Cancel::new())?;
        let mesh = object.mesh(frame);
        let whole = Moments::of(&mesh);
        if placed.shape.is_thin() || !(whole.volume > 0.0 && whole.volume.is_finite()) {
            let message = "a body needs a closed mesh whose triangles face outwards; close and orient it";
            return Err(Error::geometry(&name, message));
        }
        // Triangles inside a round shape miss some of its volume; the hull is made as large as the shape.
        let (grow, scale) = (cbrt(exact.unwrap_or(whole.volume) / whole.volume), placed.scale);
        let place = |x: &Vec3| (whole.centre + (x - whole.centre) * grow) * scale;
        let positions: Vec<Vec3> = mesh.positions.iter().map(place).collect();
        let hull = TriMesh::new(positions, mesh.triangles.clone());
        let moments = Moments::of(&hull);
        let mass = spec.mass.unwrap_or(spec.density.unwrap_or(1000.0) * moments.volume);
        let points = ContactPoints::new(&mesh, scale, cell);
        let centre = moments.centre;
        let body = Self {
            name,
            frame,
            shape: placed.shape,
            scale,
            radius: points.furthest(&centre),
            points,
            centre,
            volume: moments.volume,
            mass,
            inertia: moments.inertia() * (mass / moments.volume),
            hull: Arc::new(hull),
            joint: spec.joint.clone(),
            wall: spec.wall,
            friction: spec.friction,
            restitution: spec.restitution,
            look: spec.look,
            replaced: false,
            object,
        };
        Ok((body, placed.pose))
    }

    fn world_inertia(&self, pose: &Pose) -> Mat3 {
        let r = pose.rotation.to_rotation_matrix().into_inner();
        r * self.inertia * r.transpose()
    }

    fn mass_matrix(&self, pose: &Pose) -> SixBySix {
        mass_matrix(self.mass, &self.world_inertia(pose))
    }

    fn world_centre(&self, pose: &Pose) -> Vec3 {
        pose.to_world(&self.centre)
    }

    /// C at a pose.
    fn inverse_mass(&self, pose: &Pose) -> SixBySix {
        let m = self.mass_matrix(pose);
        let centre = self.world_centre(pose);
        let allowed = match &self.joint {
            Joint::Free => return m.try_inverse().unwrap_or_else(SixBySix::zeros),
            Joint::Fixed => return SixBySix::zeros(),
            Joint::Hinge { point, axis } => {
                let axis = Vec3::from(*axis).normalize();
                six(&axis.cross(&(centre - Vec3::from(*point))), &axis)
            }
            Joint::Slider { axis } => six(&Vec3::from(*axis).normalize(), &Vec3::zeros()),
        };
        let p = DMatrix::from_column_slice(6, 1, allowed.as_slice());
        let weight = allowed.dot(&(m * allowed));
        SixBySix::from_fn(|a, b| p[(a, 0)] * p[(b, 0)] / weight)
    }

    /// The pose after moving by a velocity for some time.
    fn moved(&self, pose: &Pose, velocity: &Six, dt: f64) -> Pose {
        let centre = self.world_centre(pose);
        let turn = angular(velocity) * dt;
        let turned = rotation(&turn) * pose.rotation;
        let to = match &self.joint {
            Joint::Fixed => return *pose,
            Joint::Hinge { point, .. } => {
                let point = Vec3::from(*point);
                point + rotation(&turn) * (centre - point)
            }
            _ => centre + linear(velocity) * dt,
        };
        // A rotation that is multiplied thousands of times must stay one.
        let turned = Unit::new_normalize(turned.into_inner());
        Pose { rotation: turned, translation: to - turned * self.centre }
    }

    /// Angular velocity at another pose with the same angular momentum.
    fn turning(&self, from: &Pose, to: &Pose, velocity: &Six) -> Vec3 {
        let momentum = self.world_inertia(from) * angular(velocity);
        self.world_inertia(to).try_inverse().map_or(angular(velocity), |i| i * momentum)
    }

    /// Pose and velocity after flying freely.
    fn flown(&self, state: &BodyState, dt: f64) -> (Pose, Six) {
        if !matches!(self.joint, Joint::Free) {
            let pose = self.moved(&state.pose, &state.velocity, dt);
            // What a hinge turns keeps its speed; the direction of its centre's velocity follows.
            let allowed = self.inverse_mass(&pose) * (self.mass_matrix(&pose) * state.velocity);
            let hinge = matches!(self.joint, Joint::Hinge { .. });
            return (pose, if hinge { self.on_hinge(&pose, &state.velocity) } else { allowed });
        }
        let half = self.moved(&state.pose, &state.velocity, 0.5 * dt);
        let middle = six(&linear(&state.velocity), &self.turning(&state.pose, &half, &state.velocity));
        let pose = self.moved(&state.pose, &middle, dt);
        (pose, six(&linear(&state.velocity), &self.turning(&state.pose, &pose, &state.velocity)))
    }

    fn on_hinge(&self, pose: &Pose, velocity: &Six) -> Six {
        let Joint::Hinge { point, axis } = &self.joint else { return *velocity };
        let axis = Vec3::from(*axis).normalize();
        let turn = axis * angular(velocity).dot(&axis);
        six(&turn.cross(&(self.world_centre(pose) - Vec3::from(*point))), &turn)
    }

    fn touching(&self, pose: &Pose) -> Touching<'_> {
        Touching {
            shape: &*self.shape,
            scale: self.scale,
            pose: *pose,
            centre: self.world_centre(pose),
            points: &self.points,
            radius: self.radius,
            inverse_mass: self.inverse_mass(pose),
            friction: self.friction,
            restitution: self.restitution,
        }
    }

    fn fastest(&self, velocity: &Six) -> f64 {
        linear(velocity).norm() + angular(velocity).norm() * self.radius
    }
}

/// Rotation by a vector: axis times angle.
fn rotation(turn: &Vec3) -> UnitQuaternion<f64> {
    let angle = turn.norm();
    if angle == 0.0 {
        return UnitQuaternion::identity();
    }
    let (s, c) = sin_cos(0.5 * angle);
    Unit::new_normalize(Quaternion::from_parts(c, turn * (s / angle)))
}

/// All bodies of a scene.
#[derive(Default)]
pub(super) struct Bodies {
    all: Vec<Body>,
    pub now: Vec<BodyState>,
}

impl Bodies {
    pub fn new(loader: &Loader) -> Result<Self> {
        let made: Result<Vec<(Body, BodyState)>> =
            (0..loader.scene.bodies.len()).map(|i| Body::new(loader, i)).collect();
        let (all, now) = made?.into_iter().unzip();
        Ok(Self { all, now })
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.all.iter().map(|b| &b.object)
    }

    /// Give a body another form from a frame on. It stays where it is and every point of it goes on as it moved;
    /// mass and inertia are those of the new form.
    pub fn replace(
        &mut self,
        index: usize,
        spec: &scene::Body,
        form: Form,
        frame: f64,
        cell: f64,
    ) -> Result<()> {
        let old = &self.all[index];
        let transform = old.object.transform.clone();
        let object = Object { name: old.name.clone(), form, transform, container: false };
        let (mut body, _) = Body::shaped(spec, object, None, frame, cell)?;
        body.replaced = true;
        let state = &mut self.now[index];
        let shift = body.world_centre(&state.pose) - old.world_centre(&state.pose);
        let turning = angular(&state.velocity);
        state.velocity = six(&(linear(&state.velocity) + turning.cross(&shift)), &turning);
        // What pushed the old form says nothing about the new one.
        (state.force, state.contact) = (Six::zeros(), Six::zeros());
        self.all[index] = body;
        Ok(())
    }

    /// The solids of the bodies in these states, on their way from where they are now.
    fn solids(&self, states: &[BodyState], dt: f64, viscosity: f64) -> Vec<Solid> {
        let solid = |((body, state), now): ((&Body, &BodyState), &BodyState)| {
            let moves = dt > 0.0 && state.pose != now.pose;
            Solid {
                name: body.name.clone(),
                shape: body.shape.clone(),
                scale: body.scale,
                motion: match moves {
                    true => Motion::between(&now.pose, &state.pose, dt),
                    false => Motion::at_rest(state.pose),
                },
                before: now.pose,
                animated: true,
                wall: wall(body.wall, 0.0, viscosity),
            }
        };
        self.all.iter().zip(states).zip(&self.now).map(solid).collect()
    }

    /// The solids of the bodies where they are.
    pub fn solids_now(&self, viscosity: f64) -> Vec<Solid> {
        self.solids(&self.now, 0.0, viscosity)
    }

    /// The greatest speed of a point of a body.
    pub fn speed(&self) -> f64 {
        self.all.iter().zip(&self.now).map(|(b, s)| b.fastest(&s.velocity)).fold(0.0, f64::max)
    }

    /// Move all bodies for a step among walls, which stand where they are at its end. Returns their states
    /// and solids.
    pub fn advance(
        &self,
        walls: &Solids,
        dt: f64,
        cell: f64,
        viscosity: f64,
    ) -> (Vec<BodyState>, Vec<Solid>) {
        let start: Vec<Touching> = self.all.iter().zip(&self.now).map(|(b, s)| b.touching(&s.pose)).collect();
        let before: Vec<Six> = self.now.iter().map(|s| s.velocity).collect();
        let contacts =
            Contacts::find(&start, walls, REACH_CELLS * cell, &self.travel(&before, dt), cell).arrived(dt);
        let stopped = contacts.solve(&start, &before, &vec![1.0; before.len()], dt, f64::INFINITY);
        let mut states = self.now.clone();
        for (b, state) in states.iter_mut().enumerate() {
            let body = &self.all[b];
            if stopped[b] == before[b] {
                (state.pose, state.velocity) = body.flown(state, dt);
            } else {
                // The place respects the wall; the velocity learns of it from the solve, which may bounce it.
                state.pose = body.moved(&state.pose, &stopped[b], dt);
                state.velocity = body.on_hinge(&state.pose, &state.velocity);
            }
        }
        let poses: Vec<Pose> = states.iter().map(|s| s.pose).collect();
        let shifted = |b: usize, m: &[Six]| self.all[b].moved(&poses[b], &m[b], 1.0);
        let place = |m: &[Six]| (0..poses.len()).map(|b| self.all[b].touching(&shifted(b, m))).collect();
        let moved = part(poses.len(), walls, cell, place);
        for (b, state) in states.iter_mut().enumerate().filter(|(b, _)| moved[*b] != Six::zeros()) {
            state.pose = self.all[b].moved(&poses[b], &moved[b], 1.0);
        }
        let solids = self.solids(&states, dt, viscosity);
        (states, solids)
    }

    /// How far a point of each body goes at most.
    fn travel(&self, velocities: &[Six], dt: f64) -> Vec<f64> {
        self.all.iter().zip(velocities).map(|(b, v)| b.fastest(v) * dt).collect()
    }

    /// The bodies as the pressure solve sees them.
    pub fn afloat(&self, states: &[BodyState], dt: f64) -> Vec<Afloat> {
        let one = |(body, state): (&Body, &BodyState)| Afloat {
            body: RigidBody {
                centre: body.world_centre(&state.pose),
                velocity: state.velocity,
                inverse_mass: body.inverse_mass(&state.pose),
            },
            hull: body.hull.clone(),
            pose: state.pose,
            volume: body.volume,
            mass: body.mass,
            contact: if state.dt > 0.0 { state.contact * (dt / state.dt) } else { Six::zeros() },
        };
        self.all.iter().zip(states).map(one).collect()
    }

    /// Bodies in these states, ready to touch.
    pub fn touching(&self, states: &[BodyState]) -> Vec<Touching<'_>> {
        self.all.iter().zip(states).map(|(b, s)| b.touching(&s.pose)).collect()
    }

    /// Where bodies may touch within the next step.
    pub fn contacts(
        &self,
        touching: &[Touching],
        states: &[BodyState],
        walls: &Solids,
        dt: f64,
        cell: f64,
    ) -> Contacts {
        let velocities: Vec<Six> = states.iter().map(|s| s.velocity).collect();
        Contacts::find(touching, walls, REACH_CELLS * cell, &self.travel(&velocities, dt), cell)
    }

    /// What the solve made of the bodies.
    pub fn accept(&mut self, mut states: Vec<BodyState>, carried: &[Carried], dt: f64) {
        for (state, carried) in states.iter_mut().zip(carried) {
            state.velocity = carried.velocity;
            state.force = carried.force;
            // A bounce is over; only what holds a body up goes on.
            state.contact = if linear(&carried.velocity).dot(&linear(&carried.contact)) > 0.0 {
                Six::zeros()
            } else {
                carried.contact
            };
            state.dt = dt;
        }
        self.now = states;
    }

    /// Each body with its pose and scale.
    pub fn poses(&self) -> impl Iterator<Item = (&Body, Pose, f64)> {
        self.all.iter().zip(&self.now).map(|(b, s)| (b, s.pose, b.scale))
    }

    /// Each body with its triangles.
    pub fn meshes(&self) -> impl Iterator<Item = (&Body, Cow<'_, TriMesh>)> {
        self.all.iter().map(|b| (b, b.object.mesh(b.frame)))
    }

    pub fn report(&self) -> Vec<BodyMotion> {
        let one = |(body, state): (&Body, &BodyState)| BodyMotion {
            name: body.name.clone(),
            mass: body.mass,
            centre: body.world_centre(&state.pose).into(),
            velocity: linear(&state.velocity).into(),
            angular_velocity: angular(&state.velocity).into(),
            force: linear(&state.force).into(),
            torque: angular(&state.force).into(),
        };
        self.all.iter().zip(&self.now).map(one).collect()
    }

    pub fn save(&self, out: &mut Writer) {
        if self.is_empty() {
            return;
        }
        let mut numbers = Vec::with_capacity(SAVED * self.now.len());
        for s in &self.now {
            let (q, t) = (s.pose.rotation, s.pose.translation);
            numbers.extend([q.w, q.i, q.j, q.k, t.x, t.y, t.z]);
            [s.velocity, s.force, s.contact].iter().for_each(|v| numbers.extend(v.iter()));
            numbers.push(s.dt);
        }
        out.f64s("bodies", &numbers);
    }

    pub fn load(&self, from: &mut Reader) -> Result<Vec<BodyState>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = from.f64s("bodies")?;
        let numbers = from.expect("bodies", numbers, SAVED * self.all.len())?;
        let numbers = from.finite("bodies", numbers)?;
        let read = |n: &[f64]| BodyState {
            pose: Pose {
                // The saved quaternion is a unit one; to normalise it again would change bits.
                rotation: UnitQuaternion::new_unchecked(Quaternion::new(n[0], n[1], n[2], n[3])),
                translation: Vec3::new(n[4], n[5], n[6]),
            },
            velocity: Six::from_column_slice(&n[7..13]),
            force: Six::from_column_slice(&n[13..19]),
            contact: Six::from_column_slice(&n[19..25]),
            dt: n[25],
        };
        Ok(numbers.chunks_exact(SAVED).map(read).collect())
    }
}
