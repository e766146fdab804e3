//! A liquid's distance at walls: continued into solids, and where it can be believed.
//!
//! Inside a solid there is no liquid and no air, but still water is level up to the wall only if its distance goes
//! on there as planes do. A volume of liquid that touches a wall has no free surface there: its distance is
//! believed only where the nearest point of its surface is away from solids.

use crate::error::Result;
use crate::field::Solids;
use crate::grid::{SIDE, Tiles, extend_average, extend_into, extend_linear};
use crate::math::Vec3;
use rayon::prelude::*;

/// Layers of solid that are filled at all; a wall moves by less in a step.
pub const LAYERS: usize = 2;
/// A surface nearer to a solid than this many cells is not free...
pub const TOUCHES: f64 = 0.25;
/// ...if the cosine between its normal and the way into the solid is at least this.
const FACES: f64 = 0.5;

/// Fill the cells that are not known: linearly within `layers` of known ones if the surface is nearer
/// than `near`, which keeps still water level up to the wall, else with the mean of what is beside.
pub fn continue_into_solids(
    tiles: &Tiles,
    phi: &mut [f64],
    known: &[u8],
    layers: usize,
    near: f64,
    band: f64,
) -> Result<()> {
    let mut mean: Vec<f64> = phi.par_iter().copied().collect();
    let mut depth: Vec<f64> = phi.par_iter().map(|d| d.abs()).collect();
    let mut layer = known.to_vec();
    let mut reached = known.to_vec();
    extend_average(tiles, &mut mean, &mut reached, LAYERS.max(layers))?;
    // How far the surface is, not on which side: in the middle of a wall both sides meet.
    extend_average(tiles, &mut depth, &mut layer, layers)?;
    extend_linear(tiles, phi, known, layers)?;
    phi.par_iter_mut().enumerate().filter(|(p, _)| known[*p] == 0).for_each(|(p, phi)| {
        let beside = layer[p] != 0 && depth[p] < near;
        *phi = match reached[p] {
            0 => band,
            _ if beside => phi.clamp(-band, band),
            _ => mean[p].clamp(-band, band),
        };
    });
    Ok(())
}

/// Fill `layers` of the cells that are not known, inside solids whose distance is given, each from its own side of the wall:
/// the air behind a glass must not bend the water in front of it. Linearly where the surface is nearer than `near`.
pub fn continue_from_own_side(
    tiles: &Tiles,
    phi: &mut [f64],
    known: &[u8],
    solid: &[f64],
    layers: usize,
    near: f64,
    band: f64,
) -> Result<()> {
    let reached = extend_into(tiles, phi, known, layers, near, solid)?;
    let (volume, layer) = (tiles.volume(), SIDE * SIDE);
    phi.par_iter_mut().enumerate().filter(|(p, _)| known[*p] == 0).for_each(|(p, phi)| {
        let local = p % volume;
        let filled = reached[p / volume][local / layer] >> (local % layer) & 1 == 1;
        *phi = if filled { phi.clamp(-band, band) } else { band };
    });
    Ok(())
}

/// Whether the surface nearest to x is away from solids, so that the distance d can be believed.
pub fn is_free(solids: &Solids, distance: &dyn Fn(&Vec3) -> f64, x: &Vec3, d: f64, h: f64) -> bool {
    // Where a volume ends at a sheet its distance is a rounding.
    if d.abs() < TOUCHES * h && solids.closest_sheet(x, TOUCHES * h).is_some() {
        return false;
    }
    let e = 1e-3 * h;
    let along = |a: usize| {
        let (mut low, mut high) = (*x, *x);
        low[a] -= e;
        high[a] += e;
        distance(&high) - distance(&low)
    };
    let n = Vec3::new(along(0), along(1), along(2)).try_normalize(1e-9 * h).unwrap_or_else(Vec3::zeros);
    let foot = x - n * d;
    // Where two sides are equally near the gradient leads to neither.
    if distance(&foot).abs() > 0.1 * h {
        return false;
    }
    // A sheet is a wall to what comes from where x is.
    if let Some(sheet) = solids.closest_sheet(&foot, TOUCHES * h)
        && let Some(out) = (x - sheet).try_normalize(1e-9 * h)
        && n.dot(&out) <= -FACES
    {
        return false;
    }
    // A surface that ends at a wall is free up to the wall; one that faces the wall is not.
    let wall = solids.distance(&foot, h);
    wall > TOUCHES * h || (wall > -TOUCHES * h && n.dot(&solids.outward(&foot, 0.25 * h)) > -FACES)
}
