//! Named values that liquid carries from its source to the pictures.

use super::Keyed;
use super::validate::{keys, range};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What liquid of a source carries, by name.
pub type Attributes = BTreeMap<String, AttributeValue>;

/// A number or three that liquid carries; either may have keys, which are read when the liquid comes in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, [x, y, z] or keys of either")]
pub enum AttributeValue {
    Number(Keyed<f64>),
    Vector(Keyed<[f64; 3]>),
}

impl AttributeValue {
    /// How many numbers it is.
    pub fn width(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::Vector(_) => 3,
        }
    }

    /// Write the value at a frame.
    pub fn write(&self, frame: f64, out: &mut [f32]) {
        match self {
            Self::Number(n) => out.fill(n.at(frame) as f32),
            Self::Vector(v) => out.iter_mut().zip(v.at(frame)).for_each(|(out, v)| *out = v as f32),
        }
    }

    /// All numbers in it.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Number(n) => n.values().collect(),
            Self::Vector(v) => v.values().flatten().collect(),
        }
    }
}

/// What may be shown of liquid besides what its sources gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shown {
    /// Seconds since it came in.
    Age,
    /// Dynamic viscosity in Pa·s.
    Viscosity,
    /// Which liquid of the scene it is, counted from 0.
    Phase,
}

/// Names that mean something else in every file.
const TAKEN: [&str; 10] = ["P", "position", "v", "velocity", "N", "normal", "id", "radius", "age", "phase"];
/// Most attributes of a source.
const MOST: usize = 32;

/// Whether a name stands for something that liquid has by itself.
pub fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
}

/// Whether files can hold a name.
pub fn is_attribute_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(word)
}

/// Refuse names that files cannot hold and values that are no numbers.
pub(super) fn check(path: &str, attributes: &Attributes) -> Result<()> {
    if attributes.len() > MOST {
        return Err(Error::scene(path, format!("{} attributes; there may be {MOST}", attributes.len())));
    }
    for (name, value) in attributes {
        let path = format!("{path}.{}", super::printable(name));
        if !is_attribute_name(name) {
            return Err(Error::scene(path, "a name is made of at most 64 letters, digits and _"));
        }
        if is_taken(name) {
            return Err(Error::scene(path, "liquid has this of its own; choose another name"));
        }
        match value {
            AttributeValue::Number(n) => keys(&path, n)?,
            AttributeValue::Vector(v) => keys(&path, v)?,
        }
        let [low, high] = if name == "viscosity" { [0.0, 1e12] } else { [-1e30, 1e30] };
        if name == "viscosity" && value.width() != 1 {
            return Err(Error::scene(path, "viscosity is one number, in Pa·s"));
        }
        value.numbers().into_iter().try_for_each(|x| range(&path, x, low, high))?;
    }
    Ok(())
}
