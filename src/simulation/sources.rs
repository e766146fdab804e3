//! Emitters: regions that are kept full of liquid moving at a given velocity.
//!
//! With a rate instead of a velocity the speed follows from the cross-section of the region, and is
//! then steered by what was really given: after each substep the emitter compares the volume in the
//! ledger with the volume that was due, so that the stated rate and total are met. The first filling
//! of the region is not waited for; it counts towards the total.

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
        let parent = match &spec.parent {
            None => None,
            Some(wanted) => {
                Some(scene.colliders.iter().position(|c| c.name == *wanted).ok_or_else(|| {
                    Error::scene(
                        format!("emitters[{index}].parent"),
                        format!("there is no collider named '{wanted}'"),
                    )
                })?)
            }
        };
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
        let parent = self.parent.map_or(Pose::identity(), |p| colliders[p].object.transform.pose(frame));
        let mut region = self.object.at(frame, frame, 0.0, cancel)?;
        let own = region.pose;
        region.pose =
            Pose { rotation: parent.rotation * own.rotation, translation: parent.to_world(&own.translation) };
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
        return Err(Error::geometry(&object.name, "an emitter needs a closed shape of finite size"));
    }
    let at = |i: usize, a: usize| b.lo[a] + size[a] * (i as f64 + 0.5) / POINTS as f64;
    let inside = |n: usize| {
        let x = Vec3::new(at(n % POINTS, 0), at(n / POINTS % POINTS, 1), at(n / POINTS / POINTS, 2));
        shape.distance_within(&x, 0.0) < 0.0
    };
    let count = (0..POINTS.pow(3)).filter(|n| inside(*n)).count();
    if count == 0 {
        return Err(Error::geometry(&object.name, "an emitter needs a closed shape; this one has no inside"));
    }
    Ok(count as f64 / POINTS.pow(3) as f64 * size.product() * object.transform.scale.powi(3))
}
