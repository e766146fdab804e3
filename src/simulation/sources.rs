//! Emitters: regions that are kept full of liquid moving at a given velocity.
//!
//! With a rate instead of a velocity the speed follows from the cross-section of the region, and is
//! then steered by what was really given: after each substep the emitter compares the volume in the
//! ledger with the volume that was due, so that the stated rate and total are met. No more than what is due is ever
//! given, however fast gravity empties the region. The first filling of the region is not waited for; it counts towards
//! the total. Without a rate it has been there since the substep began, and what left it since comes with it: a jet is not late by a
//! substep (`meniscus validate mac`, pour-arrival).
//!
//! Sinks are regions that are kept empty: a hole in the liquid at the pressure of the air.

use super::bodies::BodyState;
use super::fields::Fields;
use super::form::{self, Object};
use super::paint::{Coat, Paint};
use super::world::{Collider, Loader, named};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::field::Columns;
use crate::math::{Aabb, Pose, Vec3};
use crate::scene;

/// 1 ml in m³.
const MILLILITRE: f64 = 1e-6;

/// The solid that an emitter or a sink moves with.
#[derive(Clone, Copy)]
enum Parent {
    Collider(usize),
    Body(usize),
}

/// Where the solids stand at the two ends of a substep.
pub(super) struct Carriers<'a> {
    pub colliders: &'a [Collider],
    pub fields: &'a Fields,
    /// The bodies before and after it.
    pub bodies: [&'a [BodyState]; 2],
    /// The frames at which it begins and ends, and its seconds.
    pub frames: [f64; 2],
    pub dt: f64,
}

impl Carriers<'_> {
    /// Where a parent stands at one of the ends.
    fn pose(&self, parent: Option<Parent>, end: usize) -> Pose {
        match parent {
            None => Pose::identity(),
            Some(Parent::Collider(i)) => self.colliders[i].object.pose(self.frames[end]),
            Some(Parent::Body(i)) => self.bodies[end][i].pose,
        }
    }

    /// An object where its parent has carried it, the velocity of its middle, and the parent's pose.
    fn place(
        &self,
        object: &Object,
        parent: Option<Parent>,
        cancel: &Cancel,
    ) -> Result<(form::Placed, Vec3, Pose)> {
        let [from, to] = self.frames;
        let mut placed = object.at(from, to, self.dt, cancel)?;
        let ends = [self.pose(parent, 0), self.pose(parent, 1)];
        let on = |parent: &Pose, own: &Pose| Pose {
            rotation: parent.rotation * own.rotation,
            translation: parent.to_world(&own.translation),
        };
        (placed.before, placed.pose) = (on(&ends[0], &placed.before), on(&ends[1], &placed.pose));
        let middle = placed.pose.to_local(&placed.bounds().centre());
        let gone = placed.pose.to_world(&middle) - placed.before.to_world(&middle);
        let velocity = if self.dt > 0.0 { gone / self.dt } else { Vec3::zeros() };
        Ok((placed, velocity, ends[1]))
    }
}

/// Places at which a region that liquid leaves is looked at along its way, which is a few cells long.
const WAY_PARTS: usize = 8;

/// An emitter of the scene.
pub(super) struct Source {
    pub object: Object,
    spec: scene::Emitter,
    parent: Option<Parent>,
    /// Volume of the region, m³, measured on a coarse lattice.
    volume: f64,
    /// Index of its liquid in the scene.
    pub liquid: u8,
    /// What its liquid carries.
    paint: Paint,
    /// How far liquid may go in a substep, m; one that comes out faster is not known when its first substep is chosen.
    reach: f64,
}

/// An emitter during one substep.
pub(super) struct Placed {
    region: form::Placed,
    pub coat: Coat,
    /// Volume that it may still give in this substep, m³.
    pub budget: f64,
    /// Whether as much comes as the region lacks.
    pub fills: bool,
    pub bounds: Aabb,
    pub velocity: Vec3,
    /// Velocity of the region itself.
    pub carried: Vec3,
    /// How far liquid has left the region that was full when the substep began, m; nothing once the emitter runs: what it gave
    /// then moves by itself.
    left: Vec3,
}

impl Placed {
    pub fn distance(&self, x: &Vec3) -> f64 {
        let here = self.region.distance(x);
        if self.left == Vec3::zeros() || here <= 0.0 {
            return here;
        }
        let along = |k: usize| self.region.distance(&(x - self.left * (k as f64 / WAY_PARTS as f64)));
        (1..=WAY_PARTS).map(along).fold(here, f64::min)
    }
}

impl Source {
    pub fn all(loader: &Loader) -> Result<Vec<Source>> {
        (0..loader.scene.emitters.len()).map(|i| Self::new(loader, i)).collect()
    }

    fn new(loader: &Loader, index: usize) -> Result<Self> {
        let (scene, spec) = (loader.scene, &loader.scene.emitters[index]);
        let name = named(&spec.name, "emitter", index);
        let form = loader.form(&spec.shape, &name, spec.transform.scale)?;
        let object = Object { name, form, transform: spec.transform.clone(), container: false };
        let parent = parent_of(scene, spec.parent.as_deref(), &format!("emitters[{index}]"))?;
        let volume = measure(&object, scene.frames[0] as f64)?;
        let liquid = scene.liquid(spec.liquid.as_deref()).unwrap_or(0) as u8;
        let reach = scene.simulator.cfl * scene.cell();
        Ok(Self { object, spec: spec.clone(), parent, volume, liquid, paint: Paint::default(), reach })
    }

    /// Give the emitter another form from a frame on.
    pub fn replace(&mut self, form: form::Form, frame: f64) -> Result<()> {
        let old = std::mem::replace(&mut self.object.form, form);
        match measure(&self.object, frame) {
            Ok(volume) => self.volume = volume,
            Err(error) => {
                self.object.form = old;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Learn which columns of what liquid carries there are, or what is painted on another form.
    pub fn prepare_paint(&mut self, columns: &Columns, frame: f64) {
        self.paint = Paint::new(columns, &self.object, &self.spec.attributes, frame);
    }

    /// The greatest viscosity that it gives its liquid, Pa·s.
    pub fn thickest(&self) -> f64 {
        self.paint.thickest()
    }

    /// The emitter at a frame, if it is on and has something left to give. `given` and `due` are the
    /// volumes given so far and due at the end of the substep.
    pub fn at(
        &self,
        carriers: &Carriers,
        gravity: &Vec3,
        [given, due]: [f64; 2],
        cancel: &Cancel,
    ) -> Result<Option<Placed>> {
        let (frame, dt) = (carriers.frames[1], carriers.dt);
        let total = self.spec.total_ml.map_or(f64::INFINITY, |t| t * MILLILITRE);
        if self.object.is_absent() || !self.spec.active.at(frame) || given >= total * (1.0 - 1e-9) {
            return Ok(None);
        }
        let (region, carried, parent) = carriers.place(&self.object, self.parent, cancel)?;
        let bounds = region.bounds();
        let given_velocity = parent.rotation * Vec3::from(self.spec.velocity.at(frame));
        let velocity = match &self.spec.rate_ml_s {
            None => given_velocity,
            Some(_) => {
                let down = gravity.try_normalize(0.0).unwrap_or_else(|| -Vec3::y());
                let along = given_velocity.try_normalize(0.0).unwrap_or(down);
                along * (((due.min(total) - given) / dt).max(0.0) / self.cross_section(&bounds, &along))
            }
        };
        let coat = self.paint.at(&self.object, &region, carriers.fields, frame);
        // What gravity draws out of the region faster than the rate is not made up for.
        let by_rate = self.spec.rate_ml_s.is_some() && given > 0.0;
        let budget = if by_rate { due.min(total) - given } else { total - given }.max(0.0);
        // An emitter that starts has been full since the substep began, or its liquid would come late by a substep. With a
        // rate no more than that comes, early or late.
        let starts = given == 0.0 && self.spec.rate_ml_s.is_none();
        let left = if starts { velocity * dt } else { Vec3::zeros() };
        let left = left * (self.reach / left.norm().max(self.reach));
        let bounds = bounds.union(&Aabb::new(bounds.lo + left, bounds.hi + left));
        let fills = !by_rate;
        Ok(Some(Placed { region, coat, budget, fills, bounds, velocity: carried + velocity, carried, left }))
    }

    /// Follow other keys.
    pub fn set_spec(&mut self, spec: &scene::Emitter) {
        self.spec = spec.clone();
        self.object.transform = spec.transform.clone();
    }

    /// Volume that the rate adds to what is due in `dt` seconds, m³; 0 without a rate.
    pub fn due(&self, frame: f64, dt: f64) -> f64 {
        let on = self.spec.active.at(frame) && !self.object.is_absent();
        self.spec.rate_ml_s.as_ref().map_or(0.0, |r| if on { r.at(frame) * MILLILITRE * dt } else { 0.0 })
    }

    /// Mean area across a direction: the volume over the length.
    fn cross_section(&self, bounds: &Aabb, along: &Vec3) -> f64 {
        let size = bounds.size();
        let length = (0..3).map(|a| along[a].abs() * size[a]).sum::<f64>();
        (self.volume / length.max(f64::MIN_POSITIVE)).max(f64::MIN_POSITIVE)
    }
}

/// A sink of the scene.
pub(super) struct Sink {
    object: Object,
    active: scene::Keyed<bool>,
    parent: Option<Parent>,
}

impl Sink {
    pub fn all(loader: &Loader) -> Result<Vec<Sink>> {
        let build = |(i, spec): (usize, &scene::Sink)| {
            let name = named(&spec.name, "sink", i);
            let form = loader.form(&spec.shape, &name, spec.transform.scale)?;
            let object = Object { name, form, transform: spec.transform.clone(), container: false };
            measure(&object, loader.scene.frames[0] as f64)?;
            let parent = parent_of(loader.scene, spec.parent.as_deref(), &format!("sinks[{i}]"))?;
            Ok(Self { object, active: spec.active.clone(), parent })
        };
        loader.scene.sinks.iter().enumerate().map(build).collect()
    }

    /// The region at a frame, if the sink is on.
    pub fn at(&self, carriers: &Carriers, cancel: &Cancel) -> Result<Option<form::Placed>> {
        if !self.active.at(carriers.frames[1]) {
            return Ok(None);
        }
        carriers.place(&self.object, self.parent, cancel).map(|(region, _, _)| Some(region))
    }

    /// Follow other keys.
    pub fn set_spec(&mut self, spec: &scene::Sink) {
        self.active = spec.active.clone();
        self.object.transform = spec.transform.clone();
    }
}

/// The solid that an object moves with.
fn parent_of(scene: &scene::Scene, wanted: Option<&str>, path: &str) -> Result<Option<Parent>> {
    let Some(wanted) = wanted else { return Ok(None) };
    let collider = scene.colliders.iter().position(|c| c.name == wanted).map(Parent::Collider);
    let body = || scene.bodies.iter().position(|b| b.name == wanted).map(Parent::Body);
    let message = || format!("there is no collider or body named '{wanted}'");
    collider.or_else(body).map(Some).ok_or_else(|| Error::scene(format!("{path}.parent"), message()))
}

/// Volume by counting a lattice of 40³ points; the steering by the ledger makes up for its error.
fn measure(object: &Object, frame: f64) -> Result<f64> {
    const POINTS: usize = 40;
    if object.is_absent() {
        return Ok(0.0);
    }
    let shape = object.at(frame, frame, 0.0, &Cancel::new())?.shape;
    let b = shape.bounds();
    let size = b.size();
    if b.is_empty() || !size.iter().all(|s| s.is_finite()) {
        return Err(Error::geometry(&object.name, "a source or sink needs a closed shape of finite size"));
    }
    let at = |i: usize, a: usize| b.lo[a] + size[a] * (i as f64 + 0.5) / POINTS as f64;
    let inside = |n: usize| {
        let x = Vec3::new(at(n % POINTS, 0), at(n / POINTS % POINTS, 1), at(n / POINTS / POINTS, 2));
        shape.distance_within(&x, 0.0) < 0.0
    };
    let count = (0..POINTS.pow(3)).filter(|n| inside(*n)).count();
    if count == 0 {
        return Err(Error::geometry(
            &object.name,
            "a source or sink needs a closed shape; this one has no inside",
        ));
    }
    Ok(count as f64 / POINTS.pow(3) as f64 * size.product() * object.transform.scale.powi(3))
}
