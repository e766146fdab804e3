//! What the numbers of a saved state stand on: without it they would be read as those of another scene.
//!
//! A branch may change almost everything of a scene, but arrays by cell mean something only on the lattice they
//! were saved from: the same simulator, width of cells and origin; for `bcc` also the same domain and detail, since
//! its octree is cut from them. Emitters are counted, because each has a ledger.

use super::state::{Reader, Writer};
use crate::error::{Error, Result};
use crate::scene::{Scene, SimulatorType};

/// Lengths that differ by less than this share are the same, written another way.
const SAME: f64 = 1e-9;

/// The lattice of a scene in SI units.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ground {
    /// The program that saved the state.
    made_by: String,
    simulator: String,
    cell: f64,
    /// Lowest corner, and for `bcc` the highest as well.
    corners: Vec<f64>,
    /// 1 for a slab of one cell; for `bcc` sixteen times the detail, and the cube.
    shape: f64,
    emitters: u64,
}

impl Ground {
    pub fn of(scene: &Scene) -> Self {
        let bcc = scene.simulator.kind == SimulatorType::Bcc;
        let domain = scene.domain.as_ref();
        let mut corners = domain.map_or(vec![0.0; 3], |d| d.min.to_vec());
        if bcc {
            corners.extend(domain.map_or([0.0; 3], |d| d.max));
        }
        let flat = domain.is_some_and(|d| d.max[2] - d.min[2] < 1.5 * scene.cell());
        Self {
            made_by: format!("meniscus {}", env!("CARGO_PKG_VERSION")),
            simulator: if bcc { "bcc" } else { "mac" }.into(),
            cell: scene.cell(),
            corners,
            shape: if bcc {
                f64::from(16 * scene.simulator.detail + scene.simulator.cube)
            } else {
                f64::from(u8::from(flat))
            },
            emitters: scene.emitters.len() as u64,
        }
    }

    pub fn save(&self, out: &mut Writer) {
        out.text("made by", &self.made_by);
        out.text("simulator", &self.simulator);
        out.f64s("cell", &[self.cell]);
        out.f64s("corners", &self.corners);
        out.f64s("shape", &[self.shape]);
        out.u64s("emitters", &[self.emitters]);
    }

    pub fn load(from: &mut Reader) -> Result<Self> {
        let made_by = from.text("made by")?;
        let simulator = from.text("simulator")?;
        let cell = from.f64s("cell")?;
        let cell = from.expect("cell", cell, 1)?[0];
        let corners = from.f64s("corners")?;
        let shape = from.f64s("shape")?;
        let shape = from.expect("shape", shape, 1)?[0];
        let emitters = from.u64s("emitters")?;
        let emitters = from.expect("emitters", emitters, 1)?[0];
        Ok(Self { made_by, simulator, cell, corners, shape, emitters })
    }

    /// Whether a state that was saved on another ground can be read on this one.
    pub fn check(&self, saved: &Ground) -> Result<()> {
        let near = |a: f64, b: f64| (a - b).abs() <= SAME * self.cell.max(a.abs());
        let wrong = |what: &str, was: String, is: String| {
            let by = &saved.made_by;
            Err(Error::invalid(
                "saved state",
                format!(
                    "{what} was {was} when {by} saved it and is {is} in this scene; a run goes on only with the same"
                ),
            ))
        };
        if self.simulator != saved.simulator {
            return wrong("simulator.type", saved.simulator.clone(), self.simulator.clone());
        }
        if !near(self.cell, saved.cell) {
            return wrong(
                "the width of cells (resolution)",
                format!("{} m", saved.cell),
                format!("{} m", self.cell),
            );
        }
        let same = self.corners.len() == saved.corners.len()
            && self.corners.iter().zip(&saved.corners).all(|(a, b)| near(*a, *b));
        if !same {
            let what = if self.corners.len() == 3 { "domain.min, the origin of cells," } else { "domain" };
            return wrong(what, format!("{:?} m", saved.corners), format!("{:?} m", self.corners));
        }
        if self.shape != saved.shape {
            let what = if self.simulator == "bcc" {
                "16 simulator.detail + simulator.cube"
            } else {
                "a domain of one cell in depth (1)"
            };
            return wrong(what, saved.shape.to_string(), self.shape.to_string());
        }
        if self.emitters != saved.emitters {
            return wrong("the number of emitters", saved.emitters.to_string(), self.emitters.to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground(json: &str) -> Ground {
        Ground::of(&Scene::from_json(json).unwrap().to_si())
    }

    #[test]
    fn a_state_of_another_lattice_is_refused_with_the_difference() {
        let json = r#"{"meniscus": 1, "domain": {"min": [0, 0, 0], "max": [1, 1, 1]}, "resolution": {"cell": 0.1},
            "initial": [{"shape": {"sphere": {"center": [0.5, 0.5, 0.5], "radius": 0.2}}}]}"#;
        let here = ground(json);
        let mut out = Writer::new();
        here.save(&mut out);
        let bytes = out.finish();
        assert_eq!(Ground::load(&mut Reader::new(&bytes).unwrap()), Ok(here.clone()));
        // The same cells written another way, and a domain that goes on further, are the same ground.
        assert!(here.check(&ground(&json.replace("\"cell\": 0.1", "\"divisions\": 10"))).is_ok());
        assert!(here.check(&ground(&json.replace("[1, 1, 1]", "[1, 2, 1]"))).is_ok());
        for (from, to, word) in [
            ("\"cell\": 0.1", "\"cell\": 0.05", "width of cells"),
            ("\"min\": [0, 0, 0]", "\"min\": [0, -0.05, 0]", "origin"),
            ("\"resolution\"", "\"simulator\": {\"type\": \"bcc\"}, \"resolution\"", "simulator.type"),
        ] {
            let message = here.check(&ground(&json.replace(from, to))).unwrap_err().to_string();
            assert!(message.contains(word) && message.contains("meniscus 0."), "{message}");
        }
    }
}
