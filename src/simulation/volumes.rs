//! What a simulator knows on cells, as flat fields in the layout of [`Tiles`], to be written or shown.
//!
//! Every simulator has them: those of `mac` are its own, those of `bcc` are read off its lattice at the centres and
//! faces of the tiles that carry its surface.

use crate::grid::Tiles;
use std::borrow::Cow;

/// The fields of a liquid at the end of a frame.
pub struct VolumesView<'a> {
    pub tiles: &'a Tiles,
    /// Distance to the free surface at cell centres, negative in the liquid, m.
    pub liquid: Cow<'a, [f64]>,
    /// Distance to solids at cell centres, negative inside, m; cut off a few cells away.
    pub solid: Cow<'a, [f64]>,
    /// Pressure at cell centres, Pa.
    pub pressure: Cow<'a, [f64]>,
    /// Velocity on the lower faces of cells, by component, m/s.
    pub velocity: [Cow<'a, [f64]>; 3],
    /// Dynamic viscosity at cell centres, Pa·s; empty if no liquid has any.
    pub viscosity: Vec<f64>,
}
