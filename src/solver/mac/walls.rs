//! Velocity inside solids, so that interpolation near a wall sees liquid that slides along it.
//!
//! Faces that are closed have no velocity of their own. They receive the extrapolated velocity of
//! the liquid, from which the part that would enter or leave the wall is taken away: with n the
//! normal and v the velocity of the solid, u ← u − ((u − v)·n) n for a wall that slides, a share of
//! the rest for friction, and u ← v for a wall that sticks. At a wall that peels only what would enter is
//! taken away.

use super::grid::{MacGrid, REACH_CELLS, each_cell};
use crate::field::{Solids, VelocityPatch, Wall, face_offset};
use crate::grid::Patch;
use crate::math::Vec3;
use rayon::prelude::*;

/// Constrain the closed faces of a grid whose velocities have been extrapolated into the solids, up to
/// the given layer of the extrapolation: further in nothing is interpolated.
pub fn constrain(grid: &mut MacGrid, solids: &Solids, layers: &[Vec<u8>; 3], last: u8) {
    let tiles = &grid.tiles;
    let source = grid.velocity.clone();
    let far = REACH_CELLS * tiles.h();
    // Most walls rest and let liquid slide; then nobody has to be asked whose wall it is.
    let plain = !solids.any_animated() && solids.walls().all(|w| *w == Wall::default());
    for (axis, velocity) in grid.velocity.iter_mut().enumerate().take(tiles.axes()) {
        let (open, layers) = (&grid.open[axis], &layers[axis]);
        let asked = (!plain).then_some(solids);
        let wanted = |f: usize| open[f] == 0.0 && layers[f] != 0 && layers[f] <= last;
        let patches = <(VelocityPatch, Patch)>::default;
        velocity.par_chunks_mut(tiles.volume()).enumerate().for_each_init(
            patches,
            |(u, solid), (t, part)| {
                let v = tiles.volume();
                if !(t * v..(t + 1) * v).any(wanted) {
                    return;
                }
                u.load(tiles, &source, tiles.coords()[t], 1);
                solid.load(tiles, &grid.solid, tiles.coords()[t], 2, far);
                let base = tiles.base(t);
                each_cell(tiles.depth(), |l, local| {
                    if !wanted(t * v + l) {
                        return;
                    }
                    let at = Vec3::from_fn(|a, _| (base[a] + local[a] as i32) as f64);
                    let g = at + face_offset(axis, tiles.is_flat());
                    part[l] =
                        at_wall(&u.sample(&g), &g, solid, asked, tiles.origin() + g * tiles.h(), tiles.h())
                            [axis];
                });
            },
        );
    }
}

/// The velocity that liquid may have at a point in a solid.
fn at_wall(u: &Vec3, g: &Vec3, solid: &Patch, solids: Option<&Solids>, x: Vec3, h: f64) -> Vec3 {
    let (_, gradient) = solid.sample_gradient([g.x, g.y, g.z]);
    let n = Vec3::from(gradient);
    let length = n.norm();
    // Deep inside the distance is cut off and has no direction; nothing is interpolated from there.
    if length < 1e-6 * h {
        return *u;
    }
    let n = n / length;
    let reach = 2.0 * REACH_CELLS * h;
    let (v, wall) = solids.map_or_else(Default::default, |s| (s.velocity(&x, reach), s.wall(&x, reach)));
    slide(u, &n, &v, &wall)
}

/// The velocity that liquid may have beside a wall with normal n that moves at v.
pub fn slide(u: &Vec3, n: &Vec3, v: &Vec3, wall: &Wall) -> Vec3 {
    if wall.stick {
        return *v;
    }
    let slip = u - v;
    let away = slip.dot(n);
    let slip = slip - n * away;
    // A wall that peels holds nothing back.
    let off = if wall.peel { away.max(0.0) } else { 0.0 };
    v + slip * (1.0 - wall.friction) + n * off
}
