//! The form of an object: a shape that keeps it, or a mesh given at several frames.
//!
//! A point x of a sample goes to P(x) by the motion that the samples share, and from there to
//! t + R (σ P(x)) by the object's own transform with scale σ. Together that is one pose of the scaled
//! shape: rotation R·R_P, translation t + R (σ t_P).

use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::field::{Container, MovingMesh, SolidShape};
use crate::geometry::TriMesh;
use crate::math::{Aabb, Pose, Vec3};
use crate::scene::Transform;
use std::borrow::Cow;
use std::sync::Arc;

/// Parts of a frame in which the speed ahead is looked at.
const LOOKS: usize = 4;

/// What an object is made of, in its own coordinates.
pub(super) enum Form {
    /// An object without geometry at this frame, and the mesh that it had before.
    Absent(Option<Box<MovingMesh>>),
    /// A formula, with triangles for pictures.
    Still(Arc<dyn SolidShape>, TriMesh),
    /// A mesh at one or more frames.
    Moving(MovingMesh),
}

/// A form with its place.
pub(super) struct Object {
    pub name: String,
    pub form: Form,
    pub transform: Transform,
    /// Whether everything outside the form is solid.
    pub container: bool,
}

/// An object at the end of a step.
pub(super) struct Placed {
    pub shape: Arc<dyn SolidShape>,
    pub scale: f64,
    /// Where it was at the beginning of the step, and is now.
    pub before: Pose,
    pub pose: Pose,
}

impl Placed {
    /// Signed distance at a world position.
    pub fn distance(&self, x: &Vec3) -> f64 {
        self.shape.distance(&(self.pose.to_local(x) / self.scale)) * self.scale
    }

    /// A world box round its surface.
    pub fn bounds(&self) -> Aabb {
        Aabb::of_points(&self.shape.bounds().corners().map(|c| self.pose.to_world(&(c * self.scale))))
    }
}

impl Object {
    pub fn is_absent(&self) -> bool {
        matches!(self.form, Form::Absent(_))
    }

    /// Whether it is a sheet without thickness in the middle of the plate that stands for it.
    pub fn is_amid_plate(&self) -> bool {
        matches!(&self.form, Form::Moving(m) if m.is_thin() && !m.is_backed())
    }

    /// Whether it stands elsewhere, or has another shape, at another frame.
    pub fn is_animated(&self) -> bool {
        self.transform.is_animated() || matches!(&self.form, Form::Moving(m) if !m.is_at_rest())
    }

    /// Whether its triangles are others, or elsewhere relative to each other, at another frame.
    pub fn deforms(&self) -> bool {
        matches!(&self.form, Form::Moving(m) if !m.is_rigid())
    }

    /// The object at frame `to` on its way from frame `from`, which takes `seconds`.
    pub fn at(&self, from: f64, to: f64, seconds: f64, cancel: &Cancel) -> Result<Placed> {
        let shape = match &self.form {
            Form::Absent(_) => return Err(Error::geometry(&self.name, "it is not there")),
            Form::Still(shape, _) => shape.clone(),
            Form::Moving(mesh) => mesh.shape_at(from, to, seconds, cancel)?,
        };
        self.check_closed(&*shape)?;
        let shape = if self.container { Arc::new(Container(shape)) } else { shape };
        Ok(Placed { shape, scale: self.transform.scale, before: self.pose(from), pose: self.pose(to) })
    }

    /// Whether the object can be used at a frame; only a container may be refused.
    pub fn check(&self, frame: f64) -> Result<()> {
        if self.container && !self.is_absent() {
            self.at(frame, frame, 0.0, &Cancel::new()).map(|_| ())
        } else {
            Ok(())
        }
    }

    fn check_closed(&self, shape: &dyn SolidShape) -> Result<()> {
        if !self.container || !shape.is_thin() {
            return Ok(());
        }
        Err(Error::geometry(&self.name, "a container needs a closed mesh; this one has large openings"))
    }

    /// Where the scaled shape stands at a frame.
    pub fn pose(&self, frame: f64) -> Pose {
        let outer = self.transform.pose(frame);
        let Form::Moving(mesh) = &self.form else { return outer };
        let inner = mesh.motion_at(frame).pose;
        Pose {
            rotation: outer.rotation * inner.rotation,
            translation: outer.to_world(&(inner.translation * self.transform.scale)),
        }
    }

    /// The triangles at a frame, before they are placed by [`Object::pose`].
    pub fn mesh(&self, frame: f64) -> Cow<'_, TriMesh> {
        match &self.form {
            Form::Absent(_) => Cow::Owned(TriMesh::default()),
            Form::Still(_, mesh) => Cow::Borrowed(mesh),
            Form::Moving(mesh) if mesh.is_rigid() => Cow::Borrowed(mesh.body()),
            Form::Moving(mesh) => Cow::Owned(mesh.mesh_at(frame).0),
        }
    }

    /// The same with what the vertices carry at that frame.
    pub fn painted(&self, frame: f64) -> Cow<'_, TriMesh> {
        match &self.form {
            Form::Moving(mesh) => Cow::Owned(mesh.painted_at(frame)),
            _ => self.mesh(frame),
        }
    }

    /// Every mesh that it is made of.
    pub fn samples(&self) -> &[TriMesh] {
        match &self.form {
            Form::Absent(_) => &[],
            Form::Still(_, mesh) => std::slice::from_ref(mesh),
            Form::Moving(mesh) => mesh.samples(),
        }
    }

    /// The greatest speed of a point in the frame that follows `from` and takes `seconds`; parts of the
    /// frame are looked at one by one, since what turns and returns has gone nowhere in the whole.
    pub fn speed_ahead(&self, from: f64, seconds: f64) -> f64 {
        if !self.is_animated() || self.is_absent() || seconds <= 0.0 {
            return 0.0;
        }
        let at = |n: usize| from + n as f64 / LOOKS as f64;
        let corners = self.bounds().corners();
        let finite = corners.iter().all(|c| c.iter().all(|v| v.is_finite()));
        let travel = |n: usize| {
            let (a, b) = (self.pose(at(n)), self.pose(at(n + 1)));
            let moved = |c: &Vec3| (b.to_world(c) - a.to_world(c)).norm();
            let placed = match finite {
                true => corners.iter().map(moved).fold(0.0, f64::max),
                false => moved(&Vec3::zeros()),
            };
            let own = match &self.form {
                Form::Moving(mesh) if !mesh.is_rigid() => mesh.travel(at(n), at(n + 1)),
                _ => 0.0,
            };
            placed + own * self.transform.scale
        };
        (0..LOOKS).map(travel).fold(0.0, f64::max) * LOOKS as f64 / seconds
    }

    /// A box round the scaled shape before it is placed.
    fn bounds(&self) -> Aabb {
        let own = match &self.form {
            Form::Absent(_) => Aabb::new(Vec3::zeros(), Vec3::zeros()),
            Form::Still(shape, _) => shape.bounds(),
            Form::Moving(mesh) => mesh.body().bounds(),
        };
        Aabb::new(own.lo * self.transform.scale, own.hi * self.transform.scale)
    }
}
