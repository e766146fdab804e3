//! Fields that were computed elsewhere, at any frame: what a scene names under `fields`.
//!
//! A host that steps through a shot replaces the samples of a field as it comes to them; a field is no part of a saved state.
//! Checked by tests/fields.rs.

use super::{Simulation, poured_thickest};
use crate::error::{Error, Result};
use crate::field::DenseField;
use crate::math::Vec3;
use crate::scene::{FieldKind, Scene};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fields by the names of their files.
pub type FieldFiles = BTreeMap<String, Arc<DenseField>>;

/// Frames and what the field is then, in metres and seconds.
type Samples = Vec<(f64, Arc<DenseField>)>;

/// The fields of a scene.
#[derive(Default)]
pub(super) struct Fields {
    all: Vec<(FieldKind, String, Samples)>,
}

/// A field at one moment.
#[derive(Clone)]
pub(super) struct Moment {
    from: Arc<DenseField>,
    to: Arc<DenseField>,
    /// How far it has come from one to the other, 0 to 1.
    share: f64,
}

impl Moment {
    /// The value at a point; None where the field does not reach.
    pub fn at(&self, x: &Vec3) -> Option<Vec3> {
        match (self.share, self.from.at(x)) {
            (0.0, value) => value,
            (share, value) => match (value, self.to.at(x)) {
                (Some(a), Some(b)) => Some(a * (1.0 - share) + b * share),
                (one, other) => one.or(other),
            },
        }
    }
}

impl Fields {
    pub fn new(scene: &Scene, files: &FieldFiles) -> Result<Self> {
        let mut fields = Self::default();
        for spec in &scene.fields {
            let mut samples = Vec::new();
            for (frame, file) in &spec.files {
                let read = files.get(file);
                let read = read.ok_or_else(|| Error::invalid(file, "no such field was read"))?;
                samples.push((*frame, prepared(spec.kind, &spec.name, DenseField::clone(read), spec.scale)?));
            }
            fields.all.push((spec.kind, spec.name.clone(), samples));
        }
        Ok(fields)
    }

    /// The fields of a kind at a frame.
    pub fn at(&self, kind: FieldKind, frame: f64) -> impl Iterator<Item = Moment> {
        let of_kind = self.all.iter().filter(move |f| f.0 == kind && !f.2.is_empty());
        of_kind.map(move |(_, _, samples)| {
            let after = samples.partition_point(|s| s.0 <= frame);
            let (from, to) = (after.saturating_sub(1), after.min(samples.len() - 1));
            let length = samples[to].0 - samples[from].0;
            let share = if length > 0.0 { ((frame - samples[from].0) / length).clamp(0.0, 1.0) } else { 0.0 };
            Moment { from: samples[from].1.clone(), to: samples[to].1.clone(), share }
        })
    }

    /// The greatest viscosity that a field gives, Pa·s.
    pub fn thickest(&self) -> f64 {
        let thick = self.all.iter().filter(|f| f.0 == FieldKind::Viscosity);
        thick.flat_map(|f| &f.2).map(|s| s.1.greatest()).fold(0.0, f64::max)
    }
}

/// A field in metres, checked for what it is to do.
fn prepared(kind: FieldKind, name: &str, field: DenseField, scale: f64) -> Result<Arc<DenseField>> {
    if field.width() != kind.width() {
        let message = format!("{} numbers a sample; this kind has {}", field.width(), kind.width());
        return Err(Error::invalid(format!("field \"{name}\""), message));
    }
    if kind == FieldKind::Viscosity && field.values().iter().any(|v| *v < 0.0) {
        return Err(Error::invalid(format!("field \"{name}\""), "viscosity is nowhere below 0"));
    }
    Ok(Arc::new(field.scaled(scale, if kind == FieldKind::Velocity { scale } else { 1.0 })))
}

impl Simulation {
    /// Replace a field of the scene by samples at rising frames, in the units of its files. What was simulated stays.
    /// After an error everything is as it was. Saved states do not hold fields.
    pub fn set_field(&mut self, name: &str, samples: Vec<(f64, DenseField)>) -> Result<()> {
        let rises = samples.windows(2).all(|w| w[0].0 < w[1].0);
        if samples.is_empty() || !rises || samples.iter().any(|s| !s.0.is_finite()) {
            return Err(Error::invalid("samples", "there must be some, at finite and rising frames"));
        }
        let Some(index) = self.scene.fields.iter().position(|f| f.name == name) else {
            let known: Vec<&str> = self.scene.fields.iter().map(|f| f.name.as_str()).collect();
            let there = if known.is_empty() { "there are none".into() } else { known.join(", ") };
            return Err(Error::invalid("name", format!("no field is called \"{name}\": {there}")));
        };
        let (kind, scale) = (self.scene.fields[index].kind, self.scene.fields[index].scale);
        let make = |(frame, field): (f64, DenseField)| Ok((frame, prepared(kind, name, field, scale)?));
        self.fields.all[index].2 = samples.into_iter().map(make).collect::<Result<_>>()?;
        self.world.painted[1] = poured_thickest(&self.sources).max(self.fields.thickest());
        Ok(())
    }
}
