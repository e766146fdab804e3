//! Friction of walls on liquid that slides along them.
//!
//! A cell is far thicker than the boundary layer of water, so liquid slides; but the layer holds it back
//! with the stress of a smooth wall, τ = ½ c ρ |s| s with s the slip (velocity along the wall, relative to
//! it) and c the coefficient of skin friction, which is near 0.005 for turbulent flow of depths from
//! millimetres to metres [Sch79]. A rougher wall adds its `friction` to c. In a cell with the area
//! A of wall and the volume V of liquid
//!
//! ```text
//!     ds/dt = −k s,   k = ½ c |s| A/V          s ← s/(1 + k Δt),   which never turns the flow round
//! ```
//!
//! Deep water hardly feels it; the tip of a breaking dam and thin sheets do. The area of wall in a cell is
//! the difference of the open shares of opposite faces, a vector along the normal n of the wall; a face
//! along axis a takes the share 1 − n_a² of the mean of its two cells. Walls that stick are left to
//! viscosity. Checked by `a_layer_on_a_rough_floor_slows_as_its_equation_says`, and by the arrivals of
//! the breaking dam in `meniscus validate`.

use super::grid::{MacGrid, REACH_CELLS, each_cell};
use crate::field::{Solids, Wall};
use crate::grid::{Halo, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// Coefficient of skin friction of a smooth wall.
const SMOOTH: f64 = 0.005;
/// A cell counts as holding at least this share of liquid.
const LEAST_SHARE: f64 = 0.1;
const STRIDE: [usize; 3] = [1, SIDE, SIDE * SIDE];

/// Slow the liquid beside walls for `dt` seconds.
pub fn wall_drag(grid: &mut MacGrid, solids: &Solids, dt: f64) {
    let tiles = &grid.tiles;
    let mut drags: [Vec<f64>; 3] = std::array::from_fn(|_| Vec::new());
    // Most walls rest and are smooth; then nobody has to be asked whose wall it is.
    let plain = !solids.any_animated() && solids.walls().all(|w| *w == Wall::default());
    let walls = coefficients(grid, (!plain).then_some(solids), dt, &mut drags);
    let MacGrid { velocity, .. } = grid;
    let moving = solids.any_animated();
    for (axis, u) in velocity.iter_mut().enumerate().take(tiles.axes()) {
        let drag = &drags[axis];
        let step: [isize; 3] = std::array::from_fn(|a| (a == axis) as isize);
        u.par_chunks_mut(tiles.volume()).enumerate().for_each_init(Halo::default, |halo, (t, u)| {
            let low = tiles.neighbour(t, -step[0] as i32, -step[1] as i32, -step[2] as i32);
            if !walls[t] && !walls.get(low as usize).is_some_and(|w| *w) {
                return;
            }
            tiles.load_halo(drag, t, 0.0, halo);
            each_cell(tiles.depth(), |l, [i, j, k]| {
                let rate = 0.5 * (halo.get(i, j, k) + halo.get(i - step[0], j - step[1], k - step[2]));
                if rate > 0.0 {
                    let wall = if moving { wall_velocity(tiles, solids, t, l, axis) } else { 0.0 };
                    u[l] = wall + (u[l] - wall) / (1.0 + rate);
                }
            });
        });
    }
}

/// Velocity of the nearest solid along an axis at the lower face of a cell.
fn wall_velocity(tiles: &Tiles, solids: &Solids, t: usize, l: usize, axis: usize) -> f64 {
    let mut x = tiles.centre(tiles.cell(t * tiles.volume() + l));
    x[axis] -= 0.5 * tiles.h();
    solids.velocity(&x, REACH_CELLS * tiles.h())[axis]
}

/// k Δt of each cell along each axis. Returns which tiles have any.
fn coefficients(grid: &MacGrid, solids: Option<&Solids>, dt: f64, drags: &mut [Vec<f64>; 3]) -> Vec<bool> {
    let (tiles, v) = (&grid.tiles, grid.tiles.volume());
    *drags = std::array::from_fn(|_| tiles.field(0.0));
    let [x, y, z] = drags;
    let parts = x.par_chunks_mut(v).zip(y.par_chunks_mut(v)).zip(z.par_chunks_mut(v)).enumerate();
    parts
        .map(|(t, ((x, y), z))| {
            let closed = |axis: usize| grid.open[axis][t * v..(t + 1) * v].iter().any(|o| *o < 1.0);
            let above = |axis: usize| {
                let n = tiles.neighbour(t, (axis == 0) as i32, (axis == 1) as i32, (axis == 2) as i32);
                n != crate::grid::NONE
                    && grid.open[axis][n as usize * v..(n as usize + 1) * v].iter().any(|o| *o < 1.0)
            };
            if !(0..tiles.axes()).any(|a| closed(a) || above(a)) {
                return false;
            }
            let mut drags = [x, y, z];
            each_cell(tiles.depth(), |l, _| {
                let k = of_cell(grid, solids, t, l, dt);
                drags.iter_mut().enumerate().for_each(|(a, d)| d[l] = k[a]);
            });
            true
        })
        .collect()
}

/// k Δt of one cell.
fn of_cell(grid: &MacGrid, solids: Option<&Solids>, t: usize, l: usize, dt: f64) -> Vec3 {
    let (tiles, place) = (&grid.tiles, t * grid.tiles.volume() + l);
    let h = tiles.h();
    let liquid = (0.5 - grid.liquid[place] / h).min(1.0) * grid.room[place];
    if liquid <= 0.0 {
        return Vec3::zeros();
    }
    let (mut area, mut u) = (Vec3::zeros(), Vec3::zeros());
    for axis in 0..tiles.axes() {
        let size = if axis == 2 { tiles.depth() } else { SIDE };
        let above = if l / STRIDE[axis] % size + 1 < size {
            Some(place + STRIDE[axis])
        } else {
            let n = tiles.neighbour(t, (axis == 0) as i32, (axis == 1) as i32, (axis == 2) as i32);
            (n != crate::grid::NONE).then(|| n as usize * tiles.volume() + l - (size - 1) * STRIDE[axis])
        };
        let of = |field: &[f32]| above.map_or(0.0, |p| field[p] as f64);
        area[axis] = of(&grid.open[axis]) - grid.open[axis][place] as f64;
        u[axis] = 0.5 * (grid.velocity[axis][place] + above.map_or(0.0, |p| grid.velocity[axis][p]));
    }
    let wall = area.norm();
    if wall < 1e-6 {
        return Vec3::zeros();
    }
    let (n, x) = (area / wall, tiles.centre(tiles.cell(place)));
    let reach = REACH_CELLS * h;
    let (own, kind) = solids.map_or_else(Default::default, |s| (s.velocity(&x, reach), s.wall(&x, reach)));
    if kind.stick {
        return Vec3::zeros();
    }
    let slip = u - own;
    let slip = (slip - n * slip.dot(&n)).norm();
    let k = 0.5 * (SMOOTH + kind.friction) * slip * wall / (liquid.max(LEAST_SHARE) * h);
    Vec3::from_fn(|a, _| k * dt * (1.0 - n[a] * n[a]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Aabb;

    #[test]
    fn a_layer_on_a_rough_floor_slows_as_its_equation_says() {
        let (h, dt, speed) = (0.01, 0.002, 3.0);
        for friction in [0.0, 0.3] {
            let domain = Aabb::new(Vec3::zeros(), Vec3::repeat(0.16));
            let rough = Wall { friction, ..Wall::default() };
            let solids = Solids::new(Vec::new(), Some(domain), [[true; 2]; 3], rough);
            let tiles =
                Tiles::new(h, Vec3::zeros(), false, (0..8).map(|n| [n & 1, n >> 1 & 1, n >> 2]).collect());
            let mut grid = MacGrid::new(tiles, &solids, None);
            // Three cells deep: only the lowest touches the floor.
            grid.liquid =
                (0..grid.tiles.cells()).map(|p| grid.tiles.centre(grid.tiles.cell(p)).y - 3.0 * h).collect();
            grid.velocity[0].fill(speed);
            wall_drag(&mut grid, &solids, dt);
            let at = |cell: [i32; 3]| grid.velocity[0][grid.tiles.locate(cell).unwrap()];
            let exact = speed / (1.0 + 0.5 * (SMOOTH + friction) * speed * dt / h);
            // Nodes on a wall belong to it by a thousand-millionth of a cell.
            assert!((at([8, 0, 8]) - exact).abs() < 1e-9 * speed, "{} {exact}", at([8, 0, 8]));
            assert_eq!(at([8, 1, 8]), speed);
            assert_eq!(at([8, 0, 3]), at([8, 0, 8]));
        }
    }
}
