//! What scenes may ask for and the simulators cannot do; each is refused by name before anything starts.

use super::mac_options;
use crate::error::{Error, Result};
use crate::scene::{FieldKind, Scene, SimulatorType, Surface, Transfer};

/// Densities that differ by less than this share are taken as the same, that of the first liquid.
const SAME_DENSITY: f64 = 0.02;

/// Refuse a scene that asks for more than its simulator does.
pub(super) fn refuse_unsupported(scene: &Scene) -> Result<()> {
    let unsupported = |what: &str, message: &str| {
        Err(Error::Unsupported { what: what.to_string(), message: message.to_string() })
    };
    if !scene.bodies.is_empty() && mac_options(scene).flat {
        return unsupported("bodies", "a domain one cell thick has no room for bodies; make it thicker");
    }
    let density = scene.liquids.first().map_or(1000.0, |l| l.density());
    if scene.liquids.iter().any(|l| (l.density() / density - 1.0).abs() > SAME_DENSITY) {
        let message = "all liquids have one density; give all the same, they may differ in viscosity";
        return unsupported("liquids", message);
    }
    if let Some(smoke) = &scene.smoke {
        let Some(domain) = &scene.domain else {
            return unsupported("smoke", "it needs a domain to fill; give one");
        };
        if (0..3).any(|a| domain.sides.open(a) != [false; 2]) {
            return unsupported("smoke", "its domain must be closed on all sides; make it larger instead");
        }
        if scene.simulator.kind != SimulatorType::Mac || !scene.sinks.is_empty() {
            return unsupported("smoke", "only the simulator 'mac' has it, without sinks");
        }
        let numbers = [smoke.lift, smoke.weight, smoke.cooling, smoke.fading];
        if !numbers.iter().all(|v| (0.0..1e6).contains(v)) {
            return unsupported("smoke", "lift, weight, cooling and fading lie between 0 and 10⁶");
        }
    }
    if scene.simulator.surface != Surface::Particles {
        refuse_for_level_set(scene)?;
    }
    if scene.liquids.len() > 255 {
        return unsupported("liquids", "there may be at most 255");
    }
    if scene.simulator.kind == SimulatorType::Bcc {
        if carries_anything(scene) {
            return unsupported("attributes", "the simulator 'bcc' carries none; use 'mac' or remove them");
        }
        if scene.fields.iter().any(|f| f.kind == FieldKind::Viscosity) {
            return unsupported(
                "fields",
                "liquid of the simulator 'bcc' carries no viscosity of its own; use 'mac'",
            );
        }
        let Some(domain) = &scene.domain else {
            return unsupported("domain", "the simulator 'bcc' needs a domain; give one");
        };
        if (0..3).any(|a| domain.max[a] - domain.min[a] < 1.5 * scene.cell()) {
            return unsupported(
                "domain",
                "the simulator 'bcc' is three-dimensional; use 'mac' for one layer of cells",
            );
        }
    }
    Ok(())
}

/// Whether liquid carries anything from its sources.
fn carries_anything(scene: &Scene) -> bool {
    let mut given = scene.initial.iter().map(|v| &v.attributes);
    let mut poured = scene.emitters.iter().map(|e| &e.attributes);
    let ages = scene.liquids.iter().any(|l| !l.viscosity_by_age.is_empty());
    ages || given.any(|a| !a.is_empty()) || poured.any(|a| !a.is_empty())
}

/// What does not go together with a surface that is a level set alone.
fn refuse_for_level_set(scene: &Scene) -> Result<()> {
    let s = &scene.simulator;
    let reasons = [
        (
            s.kind != SimulatorType::Mac,
            "the simulator 'bcc' has a particle level set of its own; leave it out",
        ),
        (
            !matches!(s.transfer, Transfer::SemiLagrangian | Transfer::MacCormack),
            "a level set has no particles that could carry velocity; set simulator.transfer to 'maccormack' or \
             'semi_lagrangian'",
        ),
        (s.narrow_band > 0, "a level set has no particles to keep in a band; remove simulator.narrow_band"),
        (mac_options(scene).flat, "a level set needs more than one layer of cells; make the domain thicker"),
        (scene.smoke.is_some(), "smoke has no surface; use 'particles'"),
        (scene.domain.is_none(), "a level set needs a domain; give one"),
        (scene.water_line.is_some(), "a water line leads particles; use 'particles'"),
        (
            scene.liquids.len() > 1 || carries_anything(scene),
            "a level set cannot tell liquids apart and carries no attributes; use 'particles'",
        ),
    ];
    match reasons.into_iter().find(|(holds, _)| *holds) {
        Some((_, message)) => {
            Err(Error::Unsupported { what: "simulator.surface".to_string(), message: message.to_string() })
        }
        None => Ok(()),
    }
}
