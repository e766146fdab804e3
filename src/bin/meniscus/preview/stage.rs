//! What is in the picture, made ready for rays.
//!
//! Bodies are kept apart by how light treats them: solids stop it, glass lets it pass straight with a
//! reflection and a darker rim, the liquid bends it. The ground is the plane y = height, seen from
//! above only.

use super::body::{Body, Contact, Placed};
use super::camera::{Camera, Ray};
use super::fog::Fog;
use super::image::Rgb;
use super::optics::{absorption, transmitted};
use meniscus::geometry::TriMesh;
use meniscus::math::{Aabb, Pose, Vec3};
use meniscus::scene::Look;
use meniscus::{Error, Result};
use std::sync::Arc;

/// How the liquid is painted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shade {
    /// Clear with reflections and a tint that deepens with the path through it.
    Water,
    /// Opaque, of one colour under a clear coat.
    Paint(Rgb),
    /// Opaque, of the colour that each part of it carries.
    Carried,
    /// Coloured by speed, from rest to `max` metres a second.
    Speed { max: f64 },
}

impl Shade {
    /// For judging the shape alone.
    pub const CLAY: Shade = Shade::Paint(Rgb::new(0.30, 0.42, 0.52));
}

/// A collider, prepared once and placed anew each frame.
#[derive(Clone)]
pub struct Collider {
    pub body: Arc<Body>,
    pub pose: Pose,
    /// Size in the world over size in the file.
    pub scale: f64,
    pub look: Look,
}

impl Collider {
    pub fn new(name: &str, mesh: &TriMesh, pose: Pose, look: Look) -> Result<Self> {
        Ok(Self { body: Arc::new(Body::new(name, mesh, 42.0)?), pose, scale: 1.0, look })
    }

    /// Some of its vertices, in the world.
    pub fn outline(&self) -> impl Iterator<Item = Vec3> {
        self.body.outline().iter().map(|p| self.pose.to_world(&(p * self.scale)))
    }
}

/// Everything a picture shows.
pub struct RenderScene<'a> {
    /// The liquid; None or an empty mesh where there is none yet.
    pub surface: Option<&'a TriMesh>,
    pub colliders: &'a [Collider],
    /// Height of the ground, if there is one.
    pub ground: Option<f64>,
    pub camera: Camera,
    pub shade: Shade,
    /// Colour of the liquid seen through `tint_depth` metres of it.
    pub tint: Rgb,
    pub tint_depth: f64,
    /// Liquid and solid nearer than this, in metres, are drawn as touching: about a cell.
    pub touch: f64,
    /// The box of the action, which sets the scale of the light; the same for all frames.
    pub bounds: Aabb,
    /// Smoke in the air.
    pub fog: Option<&'a Fog>,
}

impl RenderScene<'_> {
    fn check(&self) -> Result<()> {
        let finite = |v: &Vec3| v.iter().all(|c| c.is_finite());
        if !finite(&self.camera.eye) || !finite(&self.camera.target) || self.camera.eye == self.camera.target
        {
            return Err(Error::invalid("camera", "its position and target must be finite and apart"));
        }
        if self.bounds.is_empty() || !finite(&self.bounds.lo) || !finite(&self.bounds.hi) {
            return Err(Error::invalid("bounds", "the box of the picture must be finite and not empty"));
        }
        let numbers = [self.tint_depth, self.touch, self.ground.unwrap_or(0.0)];
        if numbers.iter().any(|v| !v.is_finite())
            || self.tint_depth <= 0.0
            || self.touch < 0.0
            || !finite(&self.tint)
        {
            return Err(Error::invalid("picture", "tint, tint depth, touch and ground must be finite"));
        }
        Ok(())
    }

    /// The liquid made ready for rays; None if there is none.
    pub fn liquid(&self) -> Result<Option<Body>> {
        self.check()?;
        let drawn = self.surface.filter(|s| !s.is_empty());
        drawn.map(|s| Body::new("liquid surface", s, 180.0)).transpose()
    }
}

/// What a ray meets first, glass aside.
pub enum Hit {
    Liquid(Contact),
    Solid(Contact),
    Ground(f64),
}

impl Hit {
    pub fn t(&self) -> f64 {
        match self {
            Hit::Liquid(c) | Hit::Solid(c) => c.t,
            Hit::Ground(t) => *t,
        }
    }
}

/// The bodies of one frame.
pub struct Stage<'a> {
    liquid: Option<Placed<'a>>,
    glass: Vec<Placed<'a>>,
    solids: Vec<Placed<'a>>,
    pub ground: Option<f64>,
    pub bounds: Aabb,
    /// Length of the diagonal of the box.
    pub size: f64,
    pub shade: Shade,
    pub absorption: Rgb,
    touch: f64,
    /// Rays start this far from the surface that they leave.
    pub epsilon: f64,
}

/// Light left behind a wall of glass, and below a liquid, when only shadows matter.
const GLASS_SHADOW: f64 = 0.86;
const LIQUID_SHADOW: f64 = 0.66;

impl<'a> Stage<'a> {
    pub fn new(scene: &'a RenderScene, liquid: Option<&'a Body>) -> Self {
        let placed = |look: Look| {
            let of_look = scene.colliders.iter().filter(move |c| c.look == look);
            of_look.map(|c| Placed::new(&c.body, &c.pose, c.scale)).collect()
        };
        let size = scene.bounds.size().norm().max(1e-9);
        Self {
            liquid: liquid.map(|l| Placed::new(l, &Pose::identity(), 1.0)),
            glass: placed(Look::Glass),
            solids: placed(Look::Solid),
            ground: scene.ground,
            bounds: scene.bounds,
            size,
            shade: scene.shade,
            absorption: absorption(&scene.tint, scene.tint_depth),
            touch: scene.touch,
            epsilon: 1e-6 * size,
        }
    }

    /// Speed of the liquid at a contact, m/s.
    pub fn speed(&self, contact: &Contact) -> f64 {
        self.liquid.as_ref().map_or(0.0, |l| l.body.speed(contact))
    }

    /// Colour that the liquid carries at a contact.
    pub fn colour(&self, contact: &Contact) -> Rgb {
        self.liquid.as_ref().map_or(Rgb::zeros(), |l| l.body.colour(contact))
    }

    /// What the ray meets first, glass aside. A ray inside the liquid that would leave it just before
    /// a solid meets the solid: there is no air between them.
    pub fn first(&self, ray: &Ray, inside: bool) -> Option<Hit> {
        let t_min = self.epsilon;
        let mut best = self.ground_hit(ray, t_min);
        let limit = |best: &Option<Hit>| best.as_ref().map_or(f64::INFINITY, Hit::t);
        for solid in &self.solids {
            best = solid.hit(&ray.origin, &ray.direction, t_min, limit(&best)).map(Hit::Solid).or(best);
        }
        if let Some(contact) = self.liquid_hit(ray, t_min, limit(&best)) {
            let leaves = inside && contact.face.dot(&ray.direction) > 0.0;
            if !(leaves && limit(&best) < contact.t + self.touch) {
                best = Some(Hit::Liquid(contact));
            }
        }
        best
    }

    /// The first wall of glass with t_min ≤ t ≤ t_max.
    pub fn wall(&self, ray: &Ray, t_min: f64, t_max: f64) -> Option<Contact> {
        let limit = |best: &Option<Contact>| best.as_ref().map_or(t_max, |c| c.t);
        let nearer = |best: Option<Contact>, glass: &Placed| {
            glass.hit(&ray.origin, &ray.direction, t_min, limit(&best)).or(best)
        };
        self.glass.iter().fold(None, nearer)
    }

    fn liquid_hit(&self, ray: &Ray, t_min: f64, t_max: f64) -> Option<Contact> {
        self.liquid.as_ref()?.hit(&ray.origin, &ray.direction, t_min, t_max)
    }

    fn ground_hit(&self, ray: &Ray, t_min: f64) -> Option<Hit> {
        let t = (self.ground? - ray.origin.y) / ray.direction.y;
        (ray.direction.y < 0.0 && t.is_finite() && t > t_min).then_some(Hit::Ground(t))
    }

    /// Distance to the nearest solid within t_max, the ground not counted.
    pub fn solid_within(&self, ray: &Ray, t_max: f64) -> Option<f64> {
        let hit = |best: f64, s: &Placed| {
            s.hit(&ray.origin, &ray.direction, self.epsilon, best).map_or(best, |c| c.t)
        };
        let nearest = self.solids.iter().fold(t_max, hit);
        let opaque = self.liquid.as_ref().filter(|_| self.shade != Shade::Water);
        let nearest = opaque.iter().fold(nearest, |best, l| hit(best, l));
        (nearest < t_max).then_some(nearest)
    }

    /// Distance to the liquid within t_max where it lets light through.
    pub fn clear_liquid_within(&self, ray: &Ray, t_max: f64) -> Option<f64> {
        let liquid = self.liquid.as_ref().filter(|_| self.shade == Shade::Water)?;
        liquid.hit(&ray.origin, &ray.direction, self.epsilon, t_max).map(|c| c.t)
    }

    /// The share of light that comes along a ray from far away.
    pub fn visibility(&self, ray: &Ray) -> Rgb {
        if self.solid_within(ray, f64::INFINITY).is_some() {
            return Rgb::zeros();
        }
        let passes = |p: &&Placed| p.hit(&ray.origin, &ray.direction, self.epsilon, f64::INFINITY).is_some();
        let walls = self.glass.iter().filter(passes).count();
        let mut light = Rgb::repeat(1.0);
        (0..walls).for_each(|_| light *= GLASS_SHADOW);
        if self.shade == Shade::Water && self.liquid.as_ref().is_some_and(|l| passes(&l)) {
            // The tint of a quarter of the depth over which it is defined, and what is bent away.
            light = light.component_mul(&transmitted(&self.absorption, self.size * 0.06)) * LIQUID_SHADOW;
        }
        light
    }
}
