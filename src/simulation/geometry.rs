//! Geometry that the host replaces while the simulation runs.
//!
//! Samples that begin after the present frame are led up to from the mesh that the object has now, so
//! that a host may send one sample a frame. A formula has no vertices to lead from: it gives way at
//! once to the first sample. A sample without triangles is an object that is not there: as the first one it
//! takes the object away until it is sent again, as a later one it ends the list, and the object stands still.
//! A body takes on one mesh at once: where it goes is for the liquid to say.

use super::form::{Form, Object};
use super::world::{mesh_form, scaled};
use super::{Simulation, poured_thickest, solids_at};
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::scene::ShapeSpec;

/// What kind of object a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryOf {
    Collider,
    Emitter,
    Body,
}

impl Simulation {
    /// Replace the geometry of a collider, an emitter or a body from the present frame on. Samples are meshes at
    /// rising frames in the object's coordinates and scene units; a vertex attribute `velocity`, in
    /// scene units a second, tells the motion where triangles change. After an error everything is as it was.
    /// Saved states do not hold geometry: whoever loads one sends the geometry again.
    pub fn set_geometry(&mut self, of: GeometryOf, name: &str, samples: Vec<(f64, TriMesh)>) -> Result<()> {
        let samples = samples.into_iter().map(|(f, mesh)| (f, scaled(mesh, self.unit_length))).collect();
        self.put_geometry(of, name, samples, self.frame as f64)?;
        // The host has taken over.
        self.feeds.retain(|f| f.of != of || f.name != name);
        Ok(())
    }

    /// The same for samples in metres, at the frame `now`.
    pub(super) fn put_geometry(
        &mut self,
        of: GeometryOf,
        name: &str,
        samples: Vec<(f64, TriMesh)>,
        now: f64,
    ) -> Result<()> {
        match of {
            GeometryOf::Collider => self.set_collider(name, samples, now),
            GeometryOf::Emitter => self.set_emitter(name, samples, now),
            GeometryOf::Body => self.set_body(name, samples, now),
        }
    }

    fn set_collider(&mut self, name: &str, samples: Vec<(f64, TriMesh)>, now: f64) -> Result<()> {
        let all = &self.world.colliders;
        let index = all.iter().position(|c| c.object.name == name);
        let index = index.ok_or_else(|| unknown("collider", name, all.iter().map(|c| &c.object)))?;
        let form = self.new_form(&all[index].object, &self.scene.colliders[index].shape, samples, now)?;
        let collider = &mut self.world.colliders[index];
        let old = (std::mem::replace(&mut collider.object.form, form), collider.replaced);
        collider.replaced = true;
        // From now on it is measured in every step; what was measured once and for all forgets it.
        collider.paint(now);
        let ended = match old.1 {
            true => self.pool.install(|| self.world.colliders[index].object.check(now)),
            false => self.measure_again(),
        };
        if ended.is_err() {
            let collider = &mut self.world.colliders[index];
            (collider.object.form, collider.replaced) = old;
            collider.paint(now);
        }
        ended
    }

    fn set_emitter(&mut self, name: &str, samples: Vec<(f64, TriMesh)>, now: f64) -> Result<()> {
        let index = self.sources.iter().position(|s| s.object.name == name);
        let index = index.ok_or_else(|| unknown("emitter", name, self.sources.iter().map(|s| &s.object)))?;
        let spec = &self.scene.emitters[index].shape;
        let form = self.new_form(&self.sources[index].object, spec, samples, now)?;
        let Self { sources, pool, columns, world, fields, .. } = self;
        pool.install(|| {
            sources[index].replace(form, now)?;
            sources[index].prepare_paint(columns, now);
            world.painted[1] = poured_thickest(sources).max(fields.thickest());
            Ok(())
        })
    }

    /// A body moves by itself, so that one mesh is all there is to know.
    fn set_body(&mut self, name: &str, mut samples: Vec<(f64, TriMesh)>, now: f64) -> Result<()> {
        let index = self.bodies.objects().position(|o| o.name == name);
        let index = index.ok_or_else(|| unknown("body", name, self.bodies.objects()))?;
        let (Some((_, mesh)), true) = (samples.pop(), samples.is_empty()) else {
            return Err(Error::invalid("samples", format!("\"{name}\" moves by itself: send one mesh")));
        };
        if mesh.is_empty() {
            return Err(Error::geometry(name, "a body cannot be taken away: send a closed mesh"));
        }
        let Self { scene, bodies, pool, .. } = self;
        let spec = &scene.bodies[index];
        let detail = spec.shape.detail().unwrap_or(scene.cell());
        pool.install(|| {
            let form = mesh_form(scene, None, vec![(now, mesh)], name, detail, spec.transform.scale)?;
            bodies.replace(index, spec, form, now, scene.cell())
        })
    }

    fn new_form(
        &self,
        object: &Object,
        spec: &ShapeSpec,
        mut samples: Vec<(f64, TriMesh)>,
        now: f64,
    ) -> Result<Form> {
        let earlier = match &object.form {
            Form::Moving(mesh) => Some(mesh),
            Form::Absent(mesh) => mesh.as_deref(),
            Form::Still(..) => None,
        };
        if let Some(gone) = samples.iter().position(|s| s.1.is_empty()) {
            samples.truncate(gone);
            if gone == 0 {
                return Ok(Form::Absent(earlier.cloned().map(Box::new)));
            }
        }
        if let (Some(mesh), Some(first)) = (earlier, samples.first())
            && first.0 > now
            && !object.is_absent()
        {
            samples.insert(0, (now, mesh.sample_at(now)));
        }
        let (detail, scale) = (spec.detail().unwrap_or(self.scene.cell()), object.transform.scale);
        let make = || mesh_form(&self.scene, earlier, samples, &object.name, detail, scale);
        let mut form = self.pool.install(make)?;
        if let (Form::Moving(mesh), Form::Absent(None)) = (&mut form, &object.form) {
            // When it came must make no difference to what comes later.
            mesh.forget_first();
        }
        Ok(form)
    }

    pub(super) fn measure_again(&mut self) -> Result<()> {
        let Self { scene, world, bodies, liquid, pool, frame, .. } = self;
        pool.install(|| liquid.measure_again(&solids_at(scene, world, bodies, *frame as f64)?))
    }
}

fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a Object>) -> Error {
    let known: Vec<&str> = known.map(|o| o.name.as_str()).collect();
    let there = if known.is_empty() { "there are none".into() } else { known.join(", ") };
    Error::invalid("name", format!("no {kind} is called \"{name}\": {there}"))
}
