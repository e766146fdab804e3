//! The water line: a sea that goes on beyond sides of the domain.

use super::description::{Scene, SimulatorType};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Water at a given height beyond sides of the domain: waves that reach these sides are swallowed, and waves of the open
/// sea come in through them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaterLine {
    /// Height of the water at rest, up to which the domain is to be filled: the line neither gives nor takes water.
    pub height: f64,
    /// The sides beyond which the sea goes on; all four when absent. They must be closed.
    #[serde(default = "all_sides")]
    pub sides: Vec<LineSide>,
    /// How far from these sides water is led to what the sea does there; 12 cells when absent. A wave is swallowed well
    /// if this is half its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// The waves of the open sea; none when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<Wave>,
}

/// A train of waves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// From trough to crest.
    pub height: f64,
    /// From crest to crest.
    pub length: f64,
    /// Where it goes; only the horizontal part counts.
    #[serde(default = "along_x")]
    pub direction: [f64; 3],
    /// Degrees by which it is ahead.
    #[serde(default)]
    pub phase: f64,
}

/// A side that may have a sea beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineSide {
    /// The side of lowest x.
    XMin,
    /// The side of highest x.
    XMax,
    /// The side of lowest z.
    ZMin,
    /// The side of highest z.
    ZMax,
}

impl LineSide {
    /// The axis across the side, and whether it is the higher one.
    pub fn axis(self) -> (usize, bool) {
        match self {
            Self::XMin => (0, false),
            Self::XMax => (0, true),
            Self::ZMin => (2, false),
            Self::ZMax => (2, true),
        }
    }
}

fn all_sides() -> Vec<LineSide> {
    vec![LineSide::XMin, LineSide::XMax, LineSide::ZMin, LineSide::ZMax]
}

fn along_x() -> [f64; 3] {
    [1.0, 0.0, 0.0]
}

impl WaterLine {
    pub(super) fn check(&self, scene: &Scene) -> Result<()> {
        let wrong = |name: &str, text: String| Err(Error::scene(format!("water_line.{name}"), text));
        if scene.simulator.kind != SimulatorType::Mac {
            return wrong("height", "only the simulator mac knows water lines".into());
        }
        let Some(domain) = &scene.domain else {
            return wrong("height", "a water line needs a domain".into());
        };
        if !(domain.min[1]..domain.max[1]).contains(&self.height) || self.height == domain.min[1] {
            return wrong("height", format!("{} is outside the domain", self.height));
        }
        let positive = |v: f64| v.is_finite() && v > 0.0;
        if let Some(w) = self.width.filter(|w| !positive(*w)) {
            return wrong("width", format!("{w} must be greater than zero"));
        }
        let s = &domain.sides;
        let side_of = |side: &LineSide| match side {
            LineSide::XMin => s.x_min,
            LineSide::XMax => s.x_max,
            LineSide::ZMin => s.z_min,
            LineSide::ZMax => s.z_max,
        };
        if let Some(side) = self.sides.iter().find(|side| side_of(side) != Default::default()) {
            return wrong("sides", format!("{side:?} is open; the side of a water line must be closed"));
        }
        for (i, wave) in self.waves.iter().enumerate() {
            let level = wave.direction[0].hypot(wave.direction[2]);
            if !(positive(wave.length) && positive(level) && wave.phase.is_finite()) {
                return wrong(&format!("waves[{i}]"), "needs a length and a horizontal direction".into());
            }
            // Waves break at a seventh of their length.
            if !(0.0..=wave.length / 7.0).contains(&wave.height) {
                let text = format!("{} is more than a seventh of the length: such waves break", wave.height);
                return wrong(&format!("waves[{i}].height"), text);
            }
        }
        Ok(())
    }
}
