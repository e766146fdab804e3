//! The light that comes back along a ray.
//!
//! A ray that meets the liquid is split into its mirror and its refracted part, weighted by Fresnel's
//! share; parts that carry too little light to be seen end in the studio's light of their direction,
//! so nothing ends in black. Inside the liquid the light is tinted by the length of the path. Glass
//! is a thin wall: light passes straight on, less a reflection, and walls seen edge-on are darker.

use super::body::{CLAY, Contact};
use super::camera::Ray;
use super::environment::{Environment, smooth_step};
use super::fog::LitFog;
use super::ground::{GroundLight, received};
use super::image::Rgb;
use super::optics::{GLASS, WATER, fresnel, reflect, refract, transmitted};
use super::palette::speed_colour;
use super::sampling::Samples;
use super::stage::{Hit, Shade, Stage};
use meniscus::math::Vec3;

/// Walls of glass that one ray looks through at most.
const MOST_WALLS: usize = 12;
/// A part of the light below this share is not followed.
const FAINT: f64 = 0.03;

/// Everything needed to follow rays; shared by all threads.
pub struct Tracer<'a> {
    pub stage: Stage<'a>,
    pub environment: Environment,
    pub ground_light: Option<GroundLight>,
    pub fog: Option<LitFog<'a>>,
    pub light_rays: usize,
    pub sky_rays: usize,
    /// Times a ray may be bent or mirrored.
    pub bounces: usize,
}

/// A part of a camera ray on its way.
#[derive(Clone, Copy)]
struct Part {
    ray: Ray,
    inside: bool,
    bounces: usize,
    weight: f64,
}

impl Tracer<'_> {
    /// Light that arrives at the camera along a ray.
    pub fn light(&self, ray: Ray, samples: &Samples) -> Rgb {
        self.follow(Part { ray, inside: false, bounces: 0, weight: 1.0 }, samples)
    }

    fn follow(&self, part: Part, samples: &Samples) -> Rgb {
        let ray = &part.ray;
        let hit = self.stage.first(ray, part.inside);
        let hit_at = hit.as_ref().map(Hit::t);
        let (mut mirrored, mut through) = self.walls(ray, hit.as_ref().map_or(f64::INFINITY, Hit::t));
        if let (true, Some(hit)) = (part.inside, &hit) {
            let left = transmitted(&self.stage.absorption, hit.t());
            through = through.component_mul(&left);
            mirrored = mirrored.component_mul(&left);
        }
        let end = match hit {
            None => self.environment.radiance(&ray.direction),
            Some(Hit::Ground(t)) => self.ground(ray, t),
            Some(Hit::Solid(contact)) => self.matte(&part, &contact, CLAY, samples),
            Some(Hit::Liquid(contact)) => self.liquid(&part, &contact, samples),
        };
        let light = mirrored + through.component_mul(&end);
        let reach = hit_at.unwrap_or(f64::INFINITY);
        let (smoke, clear) = self.fog.as_ref().map_or((Rgb::zeros(), 1.0), |f| f.along(ray, reach));
        smoke + light * clear
    }

    /// What all walls of glass before t_max mirror, and the share of each colour that passes them.
    fn walls(&self, ray: &Ray, t_max: f64) -> (Rgb, Rgb) {
        let (mut sum, mut through) = (Rgb::zeros(), Rgb::repeat(1.0));
        let mut passed = self.stage.epsilon;
        for _ in 0..MOST_WALLS {
            let Some(contact) = self.stage.wall(ray, passed, t_max) else { break };
            let (mirrored, left) = self.wall(ray, &contact);
            sum += through.component_mul(&mirrored);
            through = through.component_mul(&left);
            passed = contact.t + self.stage.epsilon;
        }
        (sum, through)
    }

    /// What a wall of glass mirrors, and the share of each colour that passes.
    fn wall(&self, ray: &Ray, contact: &Contact) -> (Rgb, Rgb) {
        let normal = towards_viewer(contact, &ray.direction);
        let cosine = (-normal.dot(&ray.direction)).clamp(0.0, 1.0);
        let share = fresnel(cosine, GLASS);
        // The far face of a wall mirrors what the near face has already let pass.
        let strength = if contact.face.dot(&ray.direction) < 0.0 { share } else { 0.5 * share };
        let mirrored = self.environment.radiance(&reflect(&ray.direction, &normal)) * strength;
        // The path through the wall grows as 1/cosine; green glass is seen at its edges.
        let edge = (1.0 - cosine) * (1.0 - cosine) * (1.0 - cosine);
        let tint = Rgb::new(0.975, 0.985, 0.982) - Rgb::new(0.60, 0.50, 0.50) * edge;
        (mirrored, tint * (1.0 - share))
    }

    fn liquid(&self, part: &Part, contact: &Contact, samples: &Samples) -> Rgb {
        match self.stage.shade {
            Shade::Water => self.interface(part, contact, samples),
            Shade::Paint(colour) => self.glossy(part, contact, colour, samples),
            Shade::Carried => self.glossy(part, contact, self.stage.colour(contact), samples),
            Shade::Speed { max } => {
                let colour = speed_colour(self.stage.speed(contact) / max);
                self.glossy(part, contact, colour, samples)
            }
        }
    }

    /// Split a ray at the surface of the liquid.
    fn interface(&self, part: &Part, contact: &Contact, samples: &Samples) -> Rgb {
        let d = part.ray.direction;
        let enters = contact.face.dot(&d) < 0.0;
        let ratio = if enters { WATER } else { 1.0 / WATER };
        let normal = towards_viewer(contact, &d);
        let share = fresnel(-normal.dot(&d), ratio);
        let point = part.ray.origin + d * contact.t;
        let mirrored = reflect(&d, &normal);
        let follow = |direction: Vec3, inside: bool, share: f64| {
            let weight = part.weight * share;
            let next =
                Part { ray: Ray { origin: point, direction }, inside, bounces: part.bounces + 1, weight };
            if weight < FAINT || next.bounces > self.bounces {
                return self.far_light(&direction, inside);
            }
            self.follow(next, samples)
        };
        let Some(bent) = refract(&d, &normal, ratio) else { return follow(mirrored, true, 1.0) };
        follow(mirrored, !enters, share) * share + follow(bent, enters, 1.0 - share) * (1.0 - share)
    }

    /// Light for a ray that is not followed further; one inside the liquid has a long way to go.
    fn far_light(&self, direction: &Vec3, inside: bool) -> Rgb {
        let light = self.environment.radiance(direction).map(|c| c.min(2.0));
        if !inside {
            return light;
        }
        light.component_mul(&transmitted(&self.stage.absorption, 0.1 * self.stage.size))
    }

    /// The ground, which turns into the backdrop far away.
    fn ground(&self, ray: &Ray, t: f64) -> Rgb {
        let point = ray.origin + ray.direction * t;
        let share = self.ground_light.as_ref().map_or(Rgb::repeat(1.0), |g| g.share(point.x, point.z));
        let centre = self.stage.bounds.centre();
        let away = Vec3::new(point.x - centre.x, 0.0, point.z - centre.z).norm() / self.stage.size;
        let light = self.environment.open_floor().component_mul(&share).component_mul(&FLOOR);
        let far = smooth_step((away - 0.7) / 5.0);
        light + (self.environment.backdrop(&ray.direction) - light) * far
    }

    /// A matte surface under the lights.
    fn matte(&self, part: &Part, contact: &Contact, colour: Rgb, samples: &Samples) -> Rgb {
        let normal = towards_viewer(contact, &part.ray.direction);
        let face = if contact.face.dot(&part.ray.direction) > 0.0 { -contact.face } else { contact.face };
        let point = part.ray.origin + part.ray.direction * contact.t + face * (3.0 * self.stage.epsilon);
        // What is seen in a mirror or through the liquid bears a little more grain.
        let rays = |n: usize| if part.weight > 0.9 { n } else { n.div_ceil(2) };
        let (light_rays, sky_rays) = (rays(self.light_rays), rays(self.sky_rays));
        let light = received(&self.stage, &self.environment, &point, &normal, samples, light_rays, sky_rays);
        light.component_mul(&colour)
    }

    /// A matte surface under a clear coat.
    fn glossy(&self, part: &Part, contact: &Contact, colour: Rgb, samples: &Samples) -> Rgb {
        let normal = towards_viewer(contact, &part.ray.direction);
        let share = fresnel((-normal.dot(&part.ray.direction)).max(0.0), GLASS) * 0.6;
        let mirrored = self.environment.radiance(&reflect(&part.ray.direction, &normal));
        self.matte(part, contact, colour, samples) * (1.0 - share) + mirrored * share
    }
}

/// How much of its light the ground sends back.
const FLOOR: Rgb = Rgb::new(0.225, 0.237, 0.250);

/// The smooth normal on the viewer's side of the surface, bent as little as needed to look at him.
fn towards_viewer(contact: &Contact, d: &Vec3) -> Vec3 {
    let normal = if contact.face.dot(d) > 0.0 { -contact.normal } else { contact.normal };
    let along = normal.dot(d);
    if along < -1e-3 {
        return normal;
    }
    // A smooth normal may lean past the silhouette: take out what looks away.
    (normal - d * (along + 1e-3)).normalize()
}
