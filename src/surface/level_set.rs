//! A level set that is carried along the flow.
//!
//! The signed distance φ at cell centres (negative in liquid) is carried backwards along the
//! velocity, φ′(x) = φ(x − u Δt): smooth, and still water is left alone. What is thinner than a cell
//! is lost; [`guide`](super::guide) holds the result to what the particles say.

use crate::field::VelocityPatch;
use crate::grid::{Patch, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// A cell is followed back if the surface is within this many cells and this many paths.
const REACH: f64 = 1.2;
const PATH: f64 = 1.5;

/// How far the distance is kept, in metres: beyond, it is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Band(pub f64);

/// The distance on the new tiles, carried along the velocity of the old ones for `dt` seconds.
/// `margin` is how many cells a point may travel. Cells with `solid` below zero are left to the caller.
#[allow(clippy::too_many_arguments)]
pub fn advect(
    old: &Tiles,
    phi: &[f64],
    velocity: &[Vec<f64>; 3],
    new: &Tiles,
    solid: &[f64],
    dt: f64,
    margin: usize,
    band: Band,
) -> Vec<f64> {
    let mut out = new.field(band.0);
    let patches = <(VelocityPatch, Patch)>::default;
    let h = new.h();
    out.par_chunks_mut(new.volume()).enumerate().for_each_init(patches, |(u, distance), (t, part)| {
        let coord = new.coords()[t];
        let Some(from) = old.find_tile(coord) else { return };
        let v = new.volume();
        // What is further from the surface than a path is long stays where it is.
        let near = |d: &f64| d.abs() < (margin as f64 + 1.0) * h;
        let own = &phi[from * v..(from + 1) * v];
        if !own.iter().any(near) {
            return part.copy_from_slice(own);
        }
        distance.load(old, phi, coord, margin + 1, band.0);
        u.load(old, velocity, coord, margin + 1);
        let base = new.base(t);
        let middle = Vec3::new(0.5, 0.5, if new.is_flat() { 0.0 } else { 0.5 });
        let moves = |l: usize| own[l].abs() < REACH * h + PATH * dt * u.at_cell(local_cell(base, l)).norm();
        let (mut cells, mut points) = (Vec::new(), Vec::new());
        for (l, out) in part.iter_mut().enumerate().filter(|(l, _)| solid[t * v + l] >= 0.0) {
            *out = own[l];
            if moves(l) {
                cells.push(l);
                points.push(Vec3::from(local_cell(base, l).map(f64::from)) + middle);
            }
        }
        u.trace_all(&mut points, -dt);
        for (l, from) in cells.into_iter().zip(points) {
            part[l] = distance.sample((from - middle).into());
        }
    });
    out
}

#[inline]
fn local_cell(base: [i32; 3], l: usize) -> [i32; 3] {
    [base[0] + (l % SIDE) as i32, base[1] + (l / SIDE % SIDE) as i32, base[2] + (l / (SIDE * SIDE)) as i32]
}
