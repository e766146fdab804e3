//! The scene's solids and sources, placed in space at any frame.
//!
//! Shapes are built once, in their own coordinates. For a step from frame a to frame b that takes
//! Δt seconds every collider stands where it is at b and moves with the velocity that leads there
//! from a, so that a fast collider sweeps the liquid instead of jumping over it.

use crate::error::{Error, Result};
use crate::field::{Solid, SolidShape, Solids, Wall};
use crate::geometry::{Shape, TriMesh};
use crate::math::{Aabb, Motion, Pose, Vec3};
use crate::scene::{self, Scene, ShapeSpec, Transform};
use std::sync::Arc;

/// From this dynamic viscosity on, `auto` walls stick, Pa·s.
const STICKS_FROM: f64 = 0.1;

/// A simple shape with its place in the object's coordinates.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    shape: Shape,
    at: Pose,
}

impl SolidShape for Placed {
    fn distance(&self, x: &Vec3) -> f64 {
        self.shape.distance(&self.at.to_local(x))
    }

    fn bounds(&self) -> Aabb {
        let corners = self.shape.bounds().corners();
        // A half space has no bounds; a corner at infinity turned about becomes NaN.
        if corners.iter().any(|c| !c.iter().all(|v| v.is_finite())) {
            return Aabb::new(Vec3::repeat(f64::NEG_INFINITY), Vec3::repeat(f64::INFINITY));
        }
        Aabb::of_points(&corners.map(|c| self.at.to_world(&c)))
    }
}

/// A collider, ready to be placed.
pub(super) struct Collider {
    pub name: String,
    pub shape: Arc<dyn SolidShape>,
    pub transform: Transform,
    pub wall: scene::Wall,
    pub friction: scene::Keyed<f64>,
    pub look: scene::Look,
    /// For pictures, in the object's coordinates.
    pub mesh: TriMesh,
}

/// A volume of liquid in the scene, from the start or emitted.
pub(super) struct Region {
    pub name: String,
    pub shape: Arc<dyn SolidShape>,
    pub transform: Transform,
}

impl Region {
    /// Signed distance at a frame, and the box it fills.
    pub fn at(&self, frame: f64) -> (Pose, Aabb) {
        let pose = self.transform.pose(frame);
        let corners = self.shape.bounds().corners().map(|c| pose.to_world(&(c * self.transform.scale)));
        (pose, Aabb::of_points(&corners))
    }

    pub fn distance(&self, pose: &Pose, x: &Vec3) -> f64 {
        self.shape.distance(&(pose.to_local(x) / self.transform.scale)) * self.transform.scale
    }
}

/// All solids of a scene.
pub(super) struct World {
    pub colliders: Vec<Collider>,
    domain: Option<Aabb>,
    closed: [[bool; 2]; 3],
    domain_wall: scene::Wall,
    domain_friction: f64,
}

impl World {
    /// Build the shapes of a scene in SI units. `load` reads a mesh file and makes its shape.
    pub fn new(scene: &Scene, load: &dyn Fn(&ShapeSpec, &str) -> Result<LoadedMesh>) -> Result<Self> {
        let build = |(i, c): (usize, &scene::Collider)| {
            let name = named(&c.name, "collider", i);
            let (shape, mesh) = build_shape(&c.shape, &name, load)?;
            Ok(Collider {
                name,
                shape,
                transform: c.transform.clone(),
                wall: c.wall,
                friction: c.friction.clone(),
                look: c.look,
                mesh,
            })
        };
        let colliders = scene.colliders.iter().enumerate().map(build).collect::<Result<Vec<_>>>()?;
        let domain = scene.domain.as_ref();
        Ok(Self {
            colliders,
            domain: domain.map(|d| Aabb::new(d.min.into(), d.max.into())),
            closed: std::array::from_fn(|a| domain.map_or([false; 2], |d| d.sides.open(a).map(|open| !open))),
            domain_wall: domain.map_or(scene::Wall::Auto, |d| d.wall),
            domain_friction: domain.map_or(0.0, |d| d.friction),
        })
    }

    pub fn any_animated(&self) -> bool {
        self.colliders.iter().any(|c| c.transform.is_animated())
    }

    /// The solids at frame `to`, on their way from frame `from`, which takes `dt` seconds.
    pub fn solids(&self, from: f64, to: f64, dt: f64, viscosity: f64) -> Solids {
        let wall = |wall: scene::Wall, friction: f64| Wall {
            stick: match wall {
                scene::Wall::Stick => true,
                scene::Wall::Auto => viscosity >= STICKS_FROM,
                scene::Wall::Slide | scene::Wall::Peel => false,
            },
            friction,
        };
        let place = |c: &Collider| {
            let (before, pose) = (c.transform.pose(from), c.transform.pose(to));
            let moves = dt > 0.0 && before != pose;
            Solid {
                name: c.name.clone(),
                shape: c.shape.clone(),
                scale: c.transform.scale,
                motion: if moves { Motion::between(&before, &pose, dt) } else { Motion::at_rest(pose) },
                before,
                animated: c.transform.is_animated(),
                wall: wall(c.wall, c.friction.at(to)),
            }
        };
        let solids = self.colliders.iter().map(place).collect();
        Solids::new(solids, self.domain, self.closed, wall(self.domain_wall, self.domain_friction))
    }
}

/// A mesh file as a solid, with the triangles for pictures.
pub(super) type LoadedMesh = (Arc<dyn SolidShape>, TriMesh);

pub(super) fn named(name: &str, kind: &str, index: usize) -> String {
    if name.is_empty() { format!("{kind} {}", index + 1) } else { name.to_string() }
}

/// The shape of a scene's description, and triangles for pictures.
pub(super) fn build_shape(
    spec: &ShapeSpec,
    name: &str,
    load: &dyn Fn(&ShapeSpec, &str) -> Result<LoadedMesh>,
) -> Result<LoadedMesh> {
    let solid = spec.solid().map_err(|e| Error::geometry(name, e.to_string()))?;
    let Some((shape, at)) = solid else { return load(spec, name) };
    let placed = Placed { shape, at };
    let size = placed.bounds().size().max();
    // A half space is drawn as the ground by whoever shows the scene.
    let mesh = if size.is_finite() { placed.shape.triangulate(size / 48.0)? } else { TriMesh::default() };
    let mesh = TriMesh { positions: mesh.positions.iter().map(|x| at.to_world(x)).collect(), ..mesh };
    Ok((Arc::new(placed), mesh))
}
