//! Emitters: regions that are kept full of liquid moving at a given velocity.
//!
//! With a rate instead of a velocity the speed follows from the cross-section of the region, and is
//! then steered by what was really given: after each substep the emitter compares the volume in the
//! ledger with the volume that was due, so that the stated rate and total are met. The first filling
//! of the region is not waited for; it counts towards the total.
//!
//! Sinks are regions that are kept empty: a hole in the liquid at the pressure of the air.

use super::form::{self, Object};
use super::world::{Collider, Loader, named};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::math::{Aabb, Pose, Vec3};
use crate::scene;

/// 1 ml in m³.
const MILLILITRE: f64 = 1e-6;

/// An emitter of the scene.
pub(super) struct Source {
    pub object: Object,
    spec: scene::Emitter,
    /// Index of the collider it moves with.
    parent: Option<usize>,
    /// Volume of the region, m³, measured on a coarse lattice.
    volume: f64,
    /// Index of its liquid in the scene.
    pub liquid: u8,
}

/// An emitter during one substep.
pub(super) struct Placed {
    region: form::Placed,
    pub bounds: Aabb,
    pub velocity: Vec3,
}

impl Placed {
    pub fn distance(&self, x: &Vec3) -> f64 {
        self.region.distance(x)
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
        Ok(Self { object, spec: spec.clone(), parent, volume, liquid })
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

    /// The emitter at a frame, if it is on and has something left to give. `given` and `due` are the
    /// volumes given so far and due at the end of a substep of `dt` seconds.
    pub fn at(
        &self,
        colliders: &[Collider],
        frame: f64,
        dt: f64,
        gravity: &Vec3,
        [given, due]: [f64; 2],
        cancel: &Cancel,
    ) -> Result<Option<Placed>> {
        let total = self.spec.total_ml.map_or(f64::INFINITY, |t| t * MILLILITRE);
        if self.object.is_absent() || !self.spec.active.at(frame) || given >= total * (1.0 - 1e-9) {
            return Ok(None);
        }
        let (region, parent) = with_parent(&self.object, self.parent, colliders, frame, cancel)?;
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
        Ok(Some(Placed { region, bounds, velocity }))
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
    /// Index of the collider it moves with.
    parent: Option<usize>,
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
    pub fn at(&self, colliders: &[Collider], frame: f64, cancel: &Cancel) -> Result<Option<form::Placed>> {
        if !self.active.at(frame) {
            return Ok(None);
        }
        with_parent(&self.object, self.parent, colliders, frame, cancel).map(|(region, _)| Some(region))
    }

    /// Follow other keys.
    pub fn set_spec(&mut self, spec: &scene::Sink) {
        self.active = spec.active.clone();
        self.object.transform = spec.transform.clone();
    }
}

/// The collider that an object moves with.
fn parent_of(scene: &scene::Scene, wanted: Option<&str>, path: &str) -> Result<Option<usize>> {
    let Some(wanted) = wanted else { return Ok(None) };
    let found = scene.colliders.iter().position(|c| c.name == wanted);
    let message = || format!("there is no collider named '{wanted}'");
    found.map(Some).ok_or_else(|| Error::scene(format!("{path}.parent"), message()))
}

/// An object at a frame where its parent, whose pose is also given, has carried it.
fn with_parent(
    object: &Object,
    parent: Option<usize>,
    colliders: &[Collider],
    frame: f64,
    cancel: &Cancel,
) -> Result<(form::Placed, Pose)> {
    let parent = parent.map_or(Pose::identity(), |p| colliders[p].object.transform.pose(frame));
    let mut placed = object.at(frame, frame, 0.0, cancel)?;
    let own = placed.pose;
    placed.pose =
        Pose { rotation: parent.rotation * own.rotation, translation: parent.to_world(&own.translation) };
    Ok((placed, parent))
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
