//! Fields that were computed elsewhere, and what they do to liquid.

use super::Scene;
use super::validate::{files_at_frames, range, text};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Numbers on a regular lattice, from files in the format NRRD. A field of distances needs no entry here: it is a shape,
/// named as the `file` of a `mesh`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Name, for messages and for hosts that replace it.
    pub name: String,
    /// What its numbers are.
    pub kind: FieldKind,
    /// Pairs of frame and file, frames rising. Between two frames values go from one to the other; before the first and
    /// after the last they stay. Without any the field does nothing until a host sends it.
    #[serde(default)]
    pub files: Vec<(f64, String)>,
    /// Scene units in a unit of the files, for positions and for velocities.
    #[serde(default = "one")]
    pub scale: f64,
}

/// What the numbers of a field are. Where a field does not reach it does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// Velocity of the liquid that is there in the first frame, three numbers in units of the files a second, added to what
    /// its volume has.
    Velocity,
    /// Dynamic viscosity in Pa·s of liquid that comes in, in the first frame or later: what is there where it does. Values of
    /// its source go before.
    Viscosity,
    /// Acceleration of the liquid, three numbers in m/s², at all times.
    Force,
}

impl FieldKind {
    /// Numbers that it has at a sample.
    pub fn width(self) -> usize {
        match self {
            Self::Viscosity => 1,
            Self::Velocity | Self::Force => 3,
        }
    }
}

fn one() -> f64 {
    1.0
}

impl Scene {
    pub(super) fn check_fields(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for (i, field) in self.fields.iter().enumerate() {
            let path = format!("fields[{i}]");
            text(&format!("{path}.name"), &field.name)?;
            if field.name.is_empty() || !names.insert(&field.name) {
                let message = "every field needs a name that no other has";
                return Err(Error::scene(format!("{path}.name"), message));
            }
            range(&format!("{path}.scale"), field.scale, 1e-9, 1e9)?;
            if !field.files.is_empty() {
                files_at_frames(&format!("{path}.files"), &field.files)?;
            }
        }
        Ok(())
    }
}
