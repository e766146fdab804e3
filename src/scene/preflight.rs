//! What deserves a look before a scene is simulated, in an artist's words.
//!
//! [`Scene::validate`] refuses what cannot work; this finds what will work but probably is not meant.

use super::{Collider, Scene, Simulator, SimulatorType};
use crate::math::Aabb;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// One remark about a scene.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// The part of the scene, as `colliders[1]`.
    pub path: String,
    pub message: String,
}

impl Finding {
    pub fn new(severity: Severity, path: impl Into<String>, message: impl Into<String>) -> Self {
        Finding { severity, path: path.into(), message: message.into() }
    }
}

impl Scene {
    /// Remarks about a scene that [`Scene::validate`] accepts, gravest first.
    pub fn preflight(&self) -> Vec<Finding> {
        let si = self.to_si();
        let mut found = Vec::new();
        si.nothing_to_simulate(&mut found);
        si.suspicious_scale(&mut found);
        si.thin_walls(&mut found);
        si.sources_in_solids(&mut found);
        si.fast_solids(&mut found);
        si.band_of_several_liquids(&mut found);
        si.reaching_out(&mut found);
        si.left_aside_by_bcc(&mut found);
        found.sort_by_key(|f| std::cmp::Reverse(f.severity));
        found
    }

    fn nothing_to_simulate(&self, found: &mut Vec<Finding>) {
        let pours = |e: &super::Emitter| {
            let on = e.active.values().any(|on| on);
            on && e.rate_ml_s.as_ref().is_none_or(|r| r.values().any(|x| x > 0.0)) && e.total_ml != Some(0.0)
        };
        if self.initial.is_empty() && !self.emitters.iter().any(pours) {
            let message = "nothing pours: add a volume under \"initial\" or an active emitter";
            found.push(Finding::new(Severity::Error, "initial", message));
        }
        if self.frames[0] == self.frames[1] {
            found.push(Finding::new(Severity::Warning, "frames", "one frame only: the liquid will not move"));
        }
    }

    fn suspicious_scale(&self, found: &mut Vec<Finding>) {
        let Some(domain) = &self.domain else { return };
        let side = domain.longest_side();
        let advice = match side {
            s if s > 500.0 => "is the scene in centimetres? then write \"unit_length\": 0.01",
            s if s < 0.002 => "is the scene in metres? look at unit_length",
            _ => return,
        };
        let message = format!("the domain is {} long: {advice}", length(side));
        found.push(Finding::new(Severity::Warning, "unit_length", message));
    }

    fn thin_walls(&self, found: &mut Vec<Finding>) {
        for (i, c) in self.colliders.iter().enumerate() {
            // What a container is made of has no end.
            let thickness = if c.container { None } else { c.shape.thickness() };
            let Some(thickness) = thickness.map(|t| t * c.transform.scale) else { continue };
            if thickness < self.cell() {
                let message = format!(
                    "\"{}\" is {} thick, a cell is {}: it still holds liquid, but both sides share cells; thicker walls or smaller cells are safer",
                    c.name,
                    length(thickness),
                    length(self.cell())
                );
                found.push(Finding::new(Severity::Warning, format!("colliders[{i}]"), message));
            }
        }
    }

    /// A source is lost in a solid that holds all corners of its box.
    fn sources_in_solids(&self, found: &mut Vec<Finding>) {
        let start = self.frames[0] as f64;
        let volumes = self.initial.iter().enumerate();
        let volumes = volumes.map(|(i, v)| (format!("initial[{i}]"), v.transform.bounds(&v.shape, start)));
        let emitters = self.emitters.iter().enumerate().filter(|e| e.1.parent.is_none());
        let emitters = emitters.map(|(i, e)| (format!("emitters[{i}]"), e.transform.bounds(&e.shape, start)));
        for (path, liquid) in volumes.chain(emitters) {
            let Some(liquid) = liquid else { continue };
            for c in self.colliders.iter().filter(|c| holds(c, &liquid, start)) {
                let message =
                    format!("the liquid starts inside \"{}\", where there is no room for it", c.name);
                found.push(Finding::new(Severity::Warning, path.clone(), message));
            }
        }
    }

    fn fast_solids(&self, found: &mut Vec<Finding>) {
        for (i, c) in self.colliders.iter().enumerate().filter(|(_, c)| c.transform.is_animated()) {
            let Some((frame, cells)) = self.fastest(c) else { continue };
            if cells > 20.0 * self.simulator.cfl {
                let message = format!(
                    "\"{}\" moves {cells:.0} cells in frame {frame}: at least {:.0} substeps will be needed there",
                    c.name,
                    cells / self.simulator.cfl
                );
                found.push(Finding::new(Severity::Warning, format!("colliders[{i}].transform"), message));
            }
        }
    }

    fn band_of_several_liquids(&self, found: &mut Vec<Finding>) {
        if self.simulator.narrow_band > 0 && self.liquids.len() > 1 {
            let message = "has no effect with several liquids: deep inside nobody would know which one it is; \
                           particles are kept everywhere";
            found.push(Finding::new(Severity::Warning, "simulator.narrow_band", message));
        }
    }

    /// What was set, and the simulator `bcc` does not look at.
    fn left_aside_by_bcc(&self, found: &mut Vec<Finding>) {
        if self.simulator.kind != SimulatorType::Bcc {
            return;
        }
        let mut warn = |path: &str, message: &str| {
            found.push(Finding::new(Severity::Warning, path, message));
        };
        let (set, usual) = (&self.simulator, Simulator::default());
        let particles = "has no effect with the simulator \"bcc\", which has no particles";
        if set.transfer != usual.transfer {
            warn("simulator.transfer", particles);
        }
        if set.narrow_band != usual.narrow_band {
            warn("simulator.narrow_band", particles);
        }
        if set.surface_smoothing != usual.surface_smoothing {
            let message = "has no effect with the simulator \"bcc\": its surface is smooth already";
            warn("simulator.surface_smoothing", message);
        }
    }

    /// The frame in which a corner of the collider's box moves most, and by how many cells.
    fn fastest(&self, collider: &Collider) -> Option<(i64, f64)> {
        const LONGEST_LOOK: i64 = 10_000;
        let last = self.frames[1].min(self.frames[0] + LONGEST_LOOK);
        let step = |f: i64| {
            let a = collider.transform.bounds(&collider.shape, f as f64)?;
            let b = collider.transform.bounds(&collider.shape, f as f64 + 1.0)?;
            Some((f, (b.lo - a.lo).norm().max((b.hi - a.hi).norm()) / self.cell()))
        };
        (self.frames[0]..last).filter_map(step).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn reaching_out(&self, found: &mut Vec<Finding>) {
        let Some(domain) = &self.domain else { return };
        let start = self.frames[0] as f64;
        for (i, v) in self.initial.iter().enumerate() {
            let Some(b) = v.transform.bounds(&v.shape, start) else { continue };
            // A thousandth of a cell is rounding, not intent.
            let slack = 1e-3 * self.cell();
            if (0..3).any(|a| b.lo[a] < domain.min[a] - slack || b.hi[a] > domain.max[a] + slack) {
                let message = format!("\"{}\" reaches out of the domain: what is outside is cut off", v.name);
                found.push(Finding::new(Severity::Warning, format!("initial[{i}]"), message));
            }
        }
    }
}

/// Whether all corners of a box lie in the material of a collider.
fn holds(collider: &Collider, inner: &Aabb, frame: f64) -> bool {
    let Ok(Some((shape, at))) = collider.shape.scaled(collider.transform.scale).solid() else { return false };
    let pose = collider.transform.pose(frame);
    let outward = if collider.container { -1.0 } else { 1.0 };
    inner.corners().iter().all(|x| outward * shape.distance(&at.to_local(&pose.to_local(x))) <= 0.0)
}

/// A length in the unit that a person would use.
fn length(metres: f64) -> String {
    match metres {
        m if m >= 1.0 => format!("{m:.2} m"),
        m if m >= 0.01 => format!("{:.1} cm", m * 100.0),
        m => format!("{:.2} mm", m * 1000.0),
    }
}
