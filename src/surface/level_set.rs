//! A level set that is carried along the flow.
//!
//! The signed distance φ at cell centres (negative in liquid) is carried backwards along the
//! velocity, φ′(x) = φ(x − u Δt): smooth, and still water is left alone. φ is interpolated by cubics. Between
//! centres a linear interpolation lies above the distance of a convex surface, by up to h²/8 (κ₁ + κ₂) and by two thirds
//! of that in the mean, so that it would draw a jet of radius 2h in by a thirtieth of a cell in every step: after a fall of
//! a few frames a third of its volume would be missing, and be given to whatever pool there is.
//! What is thinner than a cell is lost; [`guide`](super::guide) holds the result to what the particles say.
//! Checked by the test below.

use super::tiled_level_set::cubic;
use crate::field::{Reach, VelocityPatch};
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
/// `reach` is how far that leads. Cells with `solid` below zero are left to the caller.
#[allow(clippy::too_many_arguments)]
pub fn advect(
    old: &Tiles,
    phi: &[f64],
    velocity: &[Vec<f64>; 3],
    new: &Tiles,
    solid: &[f64],
    dt: f64,
    reach: &Reach,
    band: Band,
) -> Vec<f64> {
    let mut out = new.field(band.0);
    let patches = <(VelocityPatch, Patch)>::default;
    let h = new.h();
    out.par_chunks_mut(new.volume()).enumerate().for_each_init(patches, |(u, distance), (t, part)| {
        let coord = new.coords()[t];
        let Some(from) = old.find_tile(coord) else { return };
        let v = new.volume();
        let margin = reach.margin(old, coord);
        // What is further from the surface than a path is long stays where it is.
        let near = |d: &f64| d.abs() < (margin as f64 + 1.0) * h;
        let own = &phi[from * v..(from + 1) * v];
        if !own.iter().any(near) {
            return part.copy_from_slice(own);
        }
        // Cubics reach one cell further than the path.
        distance.load(old, phi, coord, margin + 2, band.0);
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
            part[l] = cubic(distance, &(from - middle));
        }
    });
    out
}

#[inline]
fn local_cell(base: [i32; 3], l: usize) -> [i32; 3] {
    [base[0] + (l % SIDE) as i32, base[1] + (l / SIDE % SIDE) as i32, base[2] + (l / (SIDE * SIDE)) as i32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Order, contour, redistance};

    #[test]
    fn a_jet_two_cells_wide_keeps_its_volume_on_its_way() {
        let span = |n: i32| (0..n * n * 2).map(move |c| [c % n - 1, c / n % n - 1, c / (n * n)]);
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, span(5).collect());
        let jet = |x: Vec3| ((x.x - 4.3).powi(2) + (x.y - 4.1).powi(2)).sqrt() - 2.0;
        let cells = (0..tiles.cells()).map(|p| jet(tiles.centre(tiles.cell(p))).clamp(-4.0, 4.0));
        let mut phi: Vec<f64> = cells.collect();
        let volume = |phi: &[f64]| contour(&tiles, phi).unwrap().mesh.volume();
        let before = volume(&phi);
        let velocity = [tiles.field(0.37), tiles.field(0.23), tiles.field(0.0)];
        let solid = tiles.field(4.0);
        for _ in 0..25 {
            let reach = Reach::new(&tiles, &[&velocity], 1.0);
            phi = advect(&tiles, &phi, &velocity, &tiles, &solid, 1.0, &reach, Band(4.0));
            redistance(&tiles, &mut phi, 4, Order::Second).unwrap();
        }
        // Linear interpolation would draw it in by a thirtieth of a cell a step, which is most of its radius.
        assert!((volume(&phi) / before - 1.0).abs() < 0.05, "{} of {before}", volume(&phi));
    }
}
