//! The scene: what an artist or a host describes, as JSON, checked before anything is simulated.
//!
//! [`Scene::from_json`] reads and checks a text; [`Scene::to_si`] converts scene units to metres, once;
//! the simulation then reads plain values, most of them through [`Keyed::at`]. The types carry their own
//! documentation: `meniscus schema` prints it as a JSON Schema.

mod attribute;
mod description;
mod edit;
mod field;
mod fps;
mod keyed;
mod objects;
mod parse;
mod preflight;
mod presets;
mod shape;
mod sizing;
mod units;
mod validate;
mod water_line;

pub use attribute::{AttributeValue, Attributes, Shown, is_attribute_name, is_taken};
pub use description::{
    Debug, Domain, Flow, Outputs, Resolution, Scene, Side, Sides, Simulator, SimulatorType, Smoke, Surface,
    SurfaceFormat, Transfer, ViscosityCoupling,
};
pub use edit::{nearest, printable, set};
pub use field::{Field, FieldKind};
pub use fps::Fps;
pub use keyed::{Blend, Keyed};
pub use objects::{Body, Collider, Emitter, Force, Joint, Liquid, Look, Sink, Volume, Wall};
pub use parse::MAX_SCENE_BYTES;
pub use preflight::{Finding, Severity};
pub use presets::{PRESETS, Preset, preset};
pub use shape::{ShapeSpec, Transform};
pub use sizing::{CameraSizing, FineRegion, Sizing};
pub use water_line::{LineSide, WaterLine, Wave};

/// The version of the scene format that this library reads and writes: `"meniscus": 1`.
pub const SCENE_VERSION: u32 = 1;
