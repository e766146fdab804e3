//! What is in a scene: liquids, where they come from, solids, bodies and forces.

use super::{Attributes, Keyed, ShapeSpec, Transform, preset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A liquid: a preset, numbers, or a preset with some numbers replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Liquid {
    /// Name for volumes and emitters to use.
    pub name: String,
    /// One of the liquids that `meniscus presets` lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Density in kg/m³; 1000 without a preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Dynamic viscosity in Pa·s; 0 without a preset. Water has 0.001, honey about 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viscosity: Option<Keyed<f64>>,
    /// Dynamic viscosity by the age of the liquid: [[seconds, Pa·s], …] with rising ages, for what melts or sets.
    /// It goes before `viscosity`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub viscosity_by_age: Vec<[f64; 2]>,
    /// Surface tension in N/m; 0 without a preset. Water has 0.073.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface_tension: Option<Keyed<f64>>,
}

impl Liquid {
    /// Density in kg/m³.
    pub fn density(&self) -> f64 {
        self.density.or(self.found().map(|p| p.density)).unwrap_or(1000.0)
    }

    /// Dynamic viscosity in Pa·s.
    pub fn viscosity(&self) -> Keyed<f64> {
        self.viscosity.clone().or(self.found().map(|p| p.viscosity.into())).unwrap_or_default()
    }

    /// Surface tension in N/m.
    pub fn surface_tension(&self) -> Keyed<f64> {
        self.surface_tension.clone().or(self.found().map(|p| p.surface_tension.into())).unwrap_or_default()
    }

    fn found(&self) -> Option<&'static super::Preset> {
        self.preset.as_deref().and_then(preset)
    }
}

/// Liquid that is there in the first frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Name for messages.
    #[serde(default)]
    pub name: String,
    /// Name of its liquid; the first when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liquid: Option<String>,
    /// The region it fills, less the solids in it.
    pub shape: ShapeSpec,
    /// Where the shape stands in the first frame.
    #[serde(default)]
    pub transform: Transform,
    /// Velocity in scene units a second.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// Velocity of rotation about the middle of its box in degrees a second about x, y and z.
    #[serde(default)]
    pub angular_velocity: [f64; 3],
    /// Change of velocity away from the middle of its box, per second: row a, column b is how fast the
    /// component a of the velocity grows along b. Liquid keeps its volume if the diagonal sums to 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub velocity_gradient: Option<[[f64; 3]; 3]>,
    /// Named values that the liquid carries to the surface and the particles, as `{"Cd": [1, 0, 0]}`; `viscosity`
    /// (Pa·s) also acts. A mesh gives the values at its vertices to the liquid nearest to them.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// A shape that pours liquid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Emitter {
    /// Name for messages.
    #[serde(default)]
    pub name: String,
    /// Name of its liquid; the first when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liquid: Option<String>,
    /// The region that is kept full while the emitter is active.
    pub shape: ShapeSpec,
    /// Where the shape stands, relative to `parent` if there is one.
    #[serde(default)]
    pub transform: Transform,
    /// Name of a collider or body that the emitter moves with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Velocity of the liquid relative to the emitter in scene units a second, turning with the parent.
    #[serde(default)]
    pub velocity: Keyed<[f64; 3]>,
    /// Millilitres a second. When absent, `velocity` and the shape decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_ml_s: Option<Keyed<f64>>,
    /// Millilitres after which the emitter stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ml: Option<f64>,
    /// Whether it pours.
    #[serde(default = "yes")]
    pub active: Keyed<bool>,
    /// Named values that the liquid carries to the surface and the particles, as `{"Cd": [1, 0, 0]}`; `viscosity`
    /// (Pa·s) also acts. A mesh gives the values at its vertices to the liquid nearest to them.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// A shape that swallows liquid: what comes into it is gone, and its pressure is that of the air.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sink {
    /// Name for messages.
    #[serde(default)]
    pub name: String,
    /// The region that is kept empty while the sink is active; it must be closed and some cells thick.
    pub shape: ShapeSpec,
    /// Where the shape stands, relative to `parent` if there is one.
    #[serde(default)]
    pub transform: Transform,
    /// Name of a collider or body that the sink moves with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether it swallows.
    #[serde(default = "yes")]
    pub active: Keyed<bool>,
}

/// A solid that the liquid does not move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collider {
    /// Name, for messages, parents and files.
    #[serde(default)]
    pub name: String,
    /// Its shape.
    pub shape: ShapeSpec,
    /// Where it stands and how it moves.
    #[serde(default)]
    pub transform: Transform,
    /// Whether it holds liquid inside: everything outside its shape, which must be closed, is solid.
    #[serde(default)]
    pub container: bool,
    /// How liquid meets it.
    #[serde(default)]
    pub wall: Wall,
    /// Friction from 0 to 1 on walls along which liquid slides; a value `friction` at the vertices of its mesh goes before.
    #[serde(default)]
    pub friction: Keyed<f64>,
    /// How previews draw it.
    #[serde(default)]
    pub look: Look,
}

/// A solid that the liquid moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Name, for messages, parents and files.
    #[serde(default)]
    pub name: String,
    /// Its shape, which must be closed.
    pub shape: ShapeSpec,
    /// Where it stands in the first frame.
    #[serde(default)]
    pub transform: Transform,
    /// Density in kg/m³; give this or `mass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Mass in kg; give this or `density`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Velocity in the first frame, scene units a second.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// Angular velocity in the first frame, degrees a second about x, y and z.
    #[serde(default)]
    pub angular_velocity: [f64; 3],
    /// How liquid meets it.
    #[serde(default)]
    pub wall: Wall,
    /// Friction from 0 to 1 between solids.
    #[serde(default)]
    pub friction: f64,
    /// Bounce between solids from 0 to 1.
    #[serde(default)]
    pub restitution: f64,
    /// What holds it; nothing when absent.
    #[serde(default, skip_serializing_if = "Joint::is_free")]
    pub joint: Joint,
    /// How previews draw it.
    #[serde(default)]
    pub look: Look,
}

/// What holds a body to the world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Joint {
    /// Nothing: it goes where it is carried.
    #[default]
    Free,
    /// It stays where it is, and tells which forces act on it.
    Fixed,
    /// It turns about an axis.
    Hinge {
        /// A point of the axis.
        point: [f64; 3],
        /// Direction of the axis.
        axis: [f64; 3],
    },
    /// It slides along a direction without turning.
    Slider {
        /// The direction.
        axis: [f64; 3],
    },
}

impl Joint {
    fn is_free(&self) -> bool {
        *self == Joint::Free
    }
}

/// How liquid meets a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Wall {
    /// Stick from 0.1 Pa·s, slide below. It does not let go: a violent splash on walls that do encloses up to 6 % too much
    /// while it lasts, if nothing corrects its volume, since liquid that leaves a wall draws more of itself out of it; on walls along which it slides 1 %.
    #[default]
    Auto,
    /// Liquid moves with the wall.
    Stick,
    /// Liquid slides along the wall and never leaves it by suction.
    Slide,
    /// Liquid slides along the wall and may come off it.
    Peel,
}

/// How previews draw a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    #[default]
    Solid,
    /// See-through.
    Glass,
    /// Not drawn.
    Hidden,
}

/// A force on the liquid, as {"uniform": {"acceleration": [1, 0, 0]}}.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Force {
    /// The same acceleration everywhere.
    Uniform {
        /// Acceleration in m/s².
        acceleration: Keyed<[f64; 3]>,
    },
    /// Liquid is driven round an axis.
    Vortex {
        /// A point of the axis.
        #[serde(default)]
        center: Keyed<[f64; 3]>,
        /// Direction of the axis; up when absent.
        #[serde(default = "up")]
        axis: [f64; 3],
        /// Acceleration round the axis in m/s² at `radius`, falling to nothing at twice the radius.
        strength: Keyed<f64>,
        /// Where it is strongest.
        radius: f64,
    },
    /// Liquid is drawn to a point (or pushed away if `strength` is negative).
    Point {
        /// The point.
        #[serde(default)]
        center: Keyed<[f64; 3]>,
        /// Acceleration in m/s² at the point's radius.
        strength: Keyed<f64>,
        /// Distance beyond which it does nothing.
        radius: f64,
    },
    /// Liquid is driven along a curve.
    Curve {
        /// The points of the curve, joined by straight lines; liquid is driven from the first to the last.
        points: Vec<[f64; 3]>,
        /// Acceleration along the curve in m/s² on the curve, falling to nothing at `radius`.
        #[serde(default)]
        strength: Keyed<f64>,
        /// Acceleration towards the curve in m/s², greatest half-way to `radius`.
        #[serde(default)]
        pull: Keyed<f64>,
        /// Distance beyond which it does nothing.
        radius: f64,
    },
    /// The surface is dragged along; liquid more than `depth` below it only follows the liquid above.
    Wind {
        /// Velocity of the air in scene units a second.
        velocity: Keyed<[f64; 3]>,
        /// How fast the surface and spray follow, in 1/s.
        drag: Keyed<f64>,
        /// How far below the surface the wind reaches; one cell when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<f64>,
    },
}

fn yes() -> Keyed<bool> {
    Keyed::Constant(true)
}

fn up() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_before_the_preset() {
        let honey = Liquid { preset: Some("honey_20c".into()), ..Default::default() };
        let thin = Liquid { viscosity: Some(2.0.into()), ..honey.clone() };
        assert!(honey.viscosity().at(1.0) > 5.0);
        assert_eq!(thin.viscosity().at(1.0), 2.0);
        assert_eq!(thin.density(), honey.density());
        assert_eq!(Liquid::default().density(), 1000.0);
        assert_eq!(Liquid::default().viscosity().at(1.0), 0.0);
    }
}
