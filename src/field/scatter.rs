//! Sums over particles at places of the grid, the same bits for any number of threads.
//!
//! Each tile scatters its own particles, in their order, into a block that reaches one cell beyond
//! the tile; then each tile sums the blocks that reach into it in a fixed order.

use super::Particles;
use crate::grid::{Halo, NONE, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// Sums of a tile and one cell round it.
pub type Block = [f64; 1000];

/// The eight places round a point (four on a grid one cell thick) and their trilinear weights.
/// `x` is in cells from the tile's lower corner and from the place of index 0.
#[inline]
pub fn hats(x: &Vec3, flat: bool) -> ([usize; 8], [f64; 8], usize) {
    // Shifted by one cell the coordinates are positive, and truncation is the floor.
    let shifted = x.add_scalar(1.0);
    let low = shifted.map(|v| v as i32 as f64);
    let f = shifted - low;
    let base = ((low.y as usize) * 10 + low.x as usize) + if flat { 100 } else { low.z as usize * 100 };
    let (wx, wy) = ([1.0 - f.x, f.x], [1.0 - f.y, f.y]);
    let wz = if flat { [1.0, 0.0] } else { [1.0 - f.z, f.z] };
    let count = if flat { 4 } else { 8 };
    let places = [0, 1, 10, 11, 100, 101, 110, 111].map(|d| base + d);
    let w = |c: usize| wx[c & 1] * wy[c >> 1 & 1] * wz[c >> 2];
    (places, std::array::from_fn(w), count)
}

/// Add up, in a fixed order, what the tile and its neighbours scattered into tile t.
#[inline]
pub fn gather_blocks<'a>(
    tiles: &Tiles,
    t: usize,
    block: impl Fn(usize) -> Option<&'a Block>,
    out: &mut [f64],
) {
    out.fill(0.0);
    let (side, depth) = (SIDE as i32, tiles.depth() as i32);
    for d in 0..27 {
        let [dx, dy, dz] = [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1];
        let n = tiles.neighbour(t, dx, dy, dz);
        let Some(block) = (n != NONE).then(|| block(n as usize)).flatten() else { continue };
        let reach = |step: i32, side: i32| match step {
            -1 => 0..1,
            1 => side - 1..side,
            _ => 0..side,
        };
        for k in reach(dz, depth) {
            for j in reach(dy, side) {
                let x = reach(dx, side);
                let from = Halo::at(
                    (x.start - dx * side) as isize,
                    (j - dy * side) as isize,
                    (k - dz * depth) as isize,
                );
                let to = ((k * side + j) * side + x.start) as usize;
                let row = &block[from..from + x.len()];
                out[to..to + x.len()].iter_mut().zip(row).for_each(|(o, b)| *o += b);
            }
        }
    }
}

/// Volume of the particles round each cell centre, weighted by hats of one cell, m³.
pub fn volume_at_centres(tiles: &Tiles, particles: &Particles) -> Vec<f64> {
    let middle = Vec3::new(0.5, 0.5, if tiles.is_flat() { 0.0 } else { 0.5 });
    let scatter = |t: usize| {
        let range = particles.of_tile(tiles, t);
        if range.is_empty() {
            return None;
        }
        let mut block = Box::new([0.0; 1000]);
        let base = tiles.base_point(t) + middle;
        for p in range {
            let x = tiles.to_grid(&particles.position[p]) - base;
            let (places, weights, count) = hats(&x, tiles.is_flat());
            let volume = particles.volume[p] as f64;
            for c in 0..count {
                block[places[c]] += weights[c] * volume;
            }
        }
        Some(block)
    };
    let blocks: Vec<Option<Box<Block>>> = (0..tiles.len()).into_par_iter().map(scatter).collect();
    let mut sums = tiles.field(0.0);
    tiles.for_each(&mut sums, |t, out| gather_blocks(tiles, t, |n| blocks[n].as_deref(), out));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_volume_is_lost_on_the_way_to_the_cells() {
        for flat in [false, true] {
            let depth = if flat { 1 } else { 3 };
            let coords = (0..9 * depth).map(|d| [d % 3 - 1, d / 3 % 3 - 1, if flat { 0 } else { d / 9 - 1 }]);
            let tiles = Tiles::new(0.25, Vec3::new(0.1, 0.2, 0.3), flat, coords.collect());
            let mut particles = Particles::default();
            for n in 0..2000u64 {
                let r = |m: u64| ((n * 2654435761 + m * 40503) % 997) as f64 / 997.0;
                let g = Vec3::new(8.0 * r(1), 8.0 * r(2), if flat { 0.5 } else { 8.0 * r(3) });
                particles.push(tiles.origin() + g * tiles.h(), Vec3::zeros(), n, 0.5, None);
            }
            particles.sort(&tiles).unwrap();
            let sums = volume_at_centres(&tiles, &particles);
            // Hats sum to one at every point.
            assert!((sums.iter().sum::<f64>() - 1000.0).abs() < 1e-9);
            // The mean position is kept as well.
            let moment: f64 = (0..tiles.cells()).map(|p| sums[p] * tiles.centre(tiles.cell(p)).x).sum();
            let exact: f64 = particles.position.iter().map(|x| 0.5 * x.x).sum();
            assert!((moment - exact).abs() < 1e-9 * exact.abs());
        }
    }
}
