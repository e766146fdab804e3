//! Wishes of a scene about the width of the cells of the simulator `bcc`.

use super::ShapeSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the simulator `bcc` makes its cells finer or wider than the surface alone asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sizing {
    /// Regions in which cells are fine, wherever the surface is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<FineRegion>,
    /// Cells are no finer than a camera can tell, at the surface too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub camera: Option<CameraSizing>,
    /// Make cells of liquid finer where velocity changes by more than this over a cell, scene units a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity_change: Option<f64>,
    /// Widest cubes of liquid that a collider may cross, in cells of `resolution`; 2 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_colliders: Option<f64>,
}

/// A region with fine cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FineRegion {
    /// The region: a shape given by a formula, no mesh.
    pub shape: ShapeSpec,
    /// Widest cubes in the region, in cells of `resolution`. Outside they may widen by half of the way.
    #[serde(default = "one")]
    pub width: f64,
}

/// A camera for which cells far away may be wider, up to four cells of `resolution` at the surface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CameraSizing {
    /// Where the camera stands.
    pub eye: [f64; 3],
    /// A point in the middle of its picture.
    pub look_at: [f64; 3],
    /// Degrees from the middle of the picture to its corner.
    pub half_angle: f64,
    /// Degrees that the widest cube may cover in the picture.
    pub resolves: f64,
    /// How many times wider cubes may be outside the picture.
    #[serde(default = "one")]
    pub outside: f64,
}

fn one() -> f64 {
    1.0
}
