//! A level set that is carried along the flow.
//!
//! The signed distance φ at cell centres (negative in liquid) is carried backwards along the
//! velocity, φ′(x) = φ(x − u Δt): smooth, and still water is left alone. What is thinner than a cell
//! is lost; [`guide`](super::guide) holds the result to what the particles say.

use crate::field::VelocityPatch;
use crate::grid::{Patch, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// How far the distance is kept, in metres: beyond, it is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Band(pub f64);

/// The distance on the new tiles, carried along the velocity of the old ones for `dt` seconds.
/// `margin` is how many cells a point may travel.
pub fn advect(
    old: &Tiles,
    phi: &[f64],
    velocity: &[Vec<f64>; 3],
    new: &Tiles,
    dt: f64,
    margin: usize,
    band: Band,
) -> Vec<f64> {
    let mut out = new.field(band.0);
    let patches = <(VelocityPatch, Patch)>::default;
    out.par_chunks_mut(new.volume()).enumerate().for_each_init(patches, |(u, distance), (t, part)| {
        let coord = new.coords()[t];
        distance.load(old, phi, coord, margin + 1, band.0);
        u.load(old, velocity, coord, margin + 1);
        let base = new.base(t);
        let middle = Vec3::new(0.5, 0.5, if new.is_flat() { 0.0 } else { 0.5 });
        for (l, out) in part.iter_mut().enumerate() {
            let cell = local_cell(base, l);
            let here = distance.get(cell);
            // What is far from the surface stays far: a step is shorter than the band.
            if here <= -band.0 || here >= band.0 && !near_surface(distance, cell, margin as i32, band) {
                *out = here.clamp(-band.0, band.0);
                continue;
            }
            let g = Vec3::new(cell[0] as f64, cell[1] as f64, cell[2] as f64) + middle;
            let from = u.trace(&g, -dt) - middle;
            *out = distance.sample(from.into());
        }
    });
    out
}

#[inline]
fn local_cell(base: [i32; 3], l: usize) -> [i32; 3] {
    [base[0] + (l % SIDE) as i32, base[1] + (l / SIDE % SIDE) as i32, base[2] + (l / (SIDE * SIDE)) as i32]
}

/// Whether a cell within `reach` along an axis is inside the band.
fn near_surface(distance: &Patch, c: [i32; 3], reach: i32, band: Band) -> bool {
    (0..3).any(|a| {
        [-reach, reach].iter().any(|d| {
            let mut other = c;
            other[a] += d;
            distance.get(other) < band.0
        })
    })
}
