//! Surfaces that come out of walls.
//!
//! Liquid that touches a wall has no surface there: φ goes on into the solid as it is outside ([`super::into_solids`]), and
//! however far the flow carries it away from the wall, what is brought up from behind is liquid again. Where
//! liquid leaves, its boundary is the wall itself until it has left. So before the surface is carried it is laid on such
//! parts of walls, with s the distance of solids,
//!
//! ```text
//!     φ ← max(φ, −s)            s > 0 outside: liquid ends at the wall; s < 0 inside: there is none
//! ```
//!
//! and the velocity that leads away from the wall, continued into the solid, carries it out: after Δt the gap is
//! Δt (u − v)·n wide. A gap of less than half a cell lies between the last centre outside and the first in the solid. A
//! crossing of these two counts for no surface elsewhere, since φ in solids follows from what is outside; so the
//! centres in solids from which liquid has parted are remembered: they keep what was carried to them and count like those
//! outside when φ is made a distance again. When liquid comes back to the wall they no longer do, and the last half cell
//! closes at once. Checked by `liquid_falls_from_a_ceiling_that_peels` in tests/bcc.

use super::tiled_level_set::{BAND, TiledLevelSet};
use crate::math::Vec3;
use rayon::prelude::*;

/// Centres deeper in solids than this many cells do not make a surface.
const SHALLOW: f64 = 2.0;
/// A wall is asked this many cells in front of it.
const IN_FRONT: f64 = 0.01;
/// Where the distance of solids changes by less than this many cells over two is the middle of a wall.
const LEAST_CHANGE: f64 = 0.5;

impl TiledLevelSet {
    /// Lay the surface on the walls that liquid leaves: `leaves` is given points in front of walls, and the way out.
    pub fn leave_walls(&mut self, leaves: impl Fn(&Vec3, &Vec3) -> bool + Sync) {
        let (tiles, h, band) = (&self.tiles, self.tiles.h(), BAND * self.tiles.h());
        let one = |p: usize| {
            let (phi, solid) = (self.phi[p], self.solid[p]);
            // Air outside stays air, and a gap that a centre outside knows needs no other.
            let open = if solid >= 0.0 { phi >= -solid } else { phi > h - solid };
            if solid.abs() > band || open {
                return (phi, 0);
            }
            let Some(n) = self.way_out(p).try_normalize(LEAST_CHANGE * h) else { return (phi, 0) };
            let wall = tiles.centre(tiles.cell(p)) + n * (IN_FRONT * h - solid);
            if !leaves(&wall, &n) {
                return (phi, 0);
            }
            // Beyond a gap, and above the line where a level meets an oblique wall, the surface is where it should be.
            let touches = self.distance(&wall) < 0.0;
            let parted = u8::from(solid < 0.0 && solid > -SHALLOW * h);
            (if touches { phi.max(-solid) } else { phi }, parted)
        };
        (self.phi, self.parted) = (0..self.phi.len()).into_par_iter().map(one).unzip();
    }

    /// The centres that know the surface: those outside solids, and those from which liquid has parted.
    pub(super) fn known(&self) -> Vec<u8> {
        let parted = |p: usize| self.parted.get(p).is_some_and(|m| *m != 0);
        (0..self.solid.len()).into_par_iter().map(|p| u8::from(self.solid[p] >= 0.0 || parted(p))).collect()
    }
}
