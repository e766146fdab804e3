//! Sums over particles at places of the grid, the same bits for any number of threads.
//!
//! Each tile scatters its own particles, in their order, into a block that reaches one cell beyond
//! the tile; then each tile sums the blocks that reach into it in a fixed order.

use super::{Particles, Sight};
use crate::grid::{Halo, NONE, SIDE, Tiles};
use crate::math::{Number, Two, Vec3};
use rayon::prelude::*;

/// Sums of a tile and one cell round it, N numbers a place.
pub type Block<const N: usize> = [[f64; N]; 1000];

/// The hats of eight places at a point: where the lowest lies in a block, and the weight of each, the first index along x.
pub struct Hats {
    place: usize,
    weight: [f64; 8],
}

/// Where a point in a tile lies between places at integers and at halves along each axis: the place below in a block, and
/// the share of the way to the next. `x` is in cells from the tile's lower corner; a grid one cell thick has one layer.
#[inline(always)]
pub fn between(x: &Vec3, flat: bool) -> [[(u32, f64); 2]; 3] {
    // Shifted by one cell, which a block reaches beyond its tile.
    let at = |v: f64| (v + 1.0).split([0.0, 8.999999]);
    let along = |a: usize| [at(x[a]), at(x[a] - 0.5)];
    [along(0), along(1), if flat { [(1, 0.0); 2] } else { along(2) }]
}

impl Hats {
    #[inline(always)]
    pub fn new([(i, fx), (j, fy), (k, fz)]: [(u32, f64); 3]) -> Self {
        let xy = [(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy];
        let (low, high) = (1.0 - fz, fz);
        let [a, b, c, d] = xy;
        let weight = [a * low, b * low, c * low, d * low, a * high, b * high, c * high, d * high];
        Self { place: ((k * 10 + j) * 10 + i) as usize, weight }
    }

    /// Add `value(corner)` by the weights; corner c lies c&1, c>>1&1, c>>2 cells above the lowest.
    #[inline(always)]
    pub fn add(&self, block: &mut Block<2>, value: impl Fn(usize) -> [f64; 2]) {
        let part = &mut block[self.place..self.place + 112];
        for (c, w) in self.weight.iter().enumerate() {
            let sum = &mut part[(c >> 2) * 100 + (c >> 1 & 1) * 10 + (c & 1)];
            *sum = Two::new(*sum).plus(Two::new(value(c)).times(*w)).get();
        }
    }

    /// [`Hats::add`] at the corners that are wanted, named by their places from the lower corner of the tile on.
    pub fn add_where(
        &self,
        block: &mut Block<2>,
        wanted: impl Fn([i32; 3]) -> bool,
        value: impl Fn(usize) -> [f64; 2],
    ) {
        for c in self.corners(wanted) {
            let (v, w) = (value(c), self.weight[c]);
            let sum = &mut block[self.place + (c >> 2) * 100 + (c >> 1 & 1) * 10 + (c & 1)];
            *sum = [sum[0] + w * v[0], sum[1] + w * v[1]];
        }
    }

    /// The corners that are wanted, named by their places from the lower corner of the tile on.
    fn corners(&self, wanted: impl Fn([i32; 3]) -> bool) -> impl Iterator<Item = usize> {
        let low = [self.place % 10, self.place / 10 % 10, self.place / 100].map(|v| v as i32 - 1);
        (0..8).filter(move |c| wanted(std::array::from_fn(|a| low[a] + (c >> a & 1) as i32)))
    }

    /// Add one number by the weights.
    #[inline(always)]
    fn add_one(&self, block: &mut Block<1>, value: f64) {
        let part = &mut block[self.place..self.place + 112];
        for (c, w) in self.weight.chunks_exact(2).enumerate() {
            let at = (c >> 1) * 100 + (c & 1) * 10;
            let sum = Two::new([part[at][0], part[at + 1][0]]).plus(Two::new([w[0], w[1]]).times(value));
            [part[at][0], part[at + 1][0]] = sum.get();
        }
    }
}

/// Add up, in a fixed order, what the tile and its neighbours scattered into tile t.
#[inline]
pub fn gather_blocks<'a, const N: usize>(
    tiles: &Tiles,
    t: usize,
    block: impl Fn(usize) -> Option<&'a Block<N>>,
    out: &mut [[f64; N]],
) {
    out.fill([0.0; N]);
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
                for (out, row) in out[to..to + x.len()].iter_mut().zip(row) {
                    (0..N).for_each(|n| out[n] += row[n]);
                }
            }
        }
    }
}

/// Volume of the particles round each cell centre that see it, weighted by hats of one cell, m³.
pub fn volume_at_centres(sight: &Sight, particles: &Particles) -> Vec<f64> {
    let tiles = sight.tiles;
    let scatter = |t: usize| {
        let range = particles.of_tile(tiles, t);
        if range.is_empty() {
            return None;
        }
        let mut block: Box<Block<1>> = Box::new([[0.0]; 1000]);
        let base = tiles.base_point(t);
        for p in range {
            let x = tiles.to_grid(&particles.position[p]) - base;
            let [[_, x], [_, y], [_, z]] = between(&x, tiles.is_flat());
            let (hats, volume) = (Hats::new([x, y, z]), particles.volume[p] as f64);
            match sight.of_particle(t, &particles.position[p]) {
                None => hats.add_one(&mut block, volume),
                Some(eyes) => {
                    let low = tiles.base(t);
                    for c in hats.corners(|at| eyes.sees(std::array::from_fn(|a| low[a] + at[a]))) {
                        block[hats.place + (c >> 2) * 100 + (c >> 1 & 1) * 10 + (c & 1)][0] +=
                            hats.weight[c] * volume;
                    }
                }
            }
        }
        Some(block)
    };
    let blocks: Vec<Option<Box<Block<1>>>> = (0..tiles.len()).into_par_iter().map(scatter).collect();
    let mut sums = tiles.field([0.0]);
    tiles.for_each(&mut sums, |t, out| gather_blocks(tiles, t, |n| blocks[n].as_deref(), out));
    sums.into_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Solids;

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
            let sums = volume_at_centres(&Sight { tiles: &tiles, sheets: &Solids::default() }, &particles);
            // Hats sum to one at every point.
            assert!((sums.iter().sum::<f64>() - 1000.0).abs() < 1e-9);
            // The mean position is kept as well.
            let moment: f64 = (0..tiles.cells()).map(|p| sums[p] * tiles.centre(tiles.cell(p)).x).sum();
            let exact: f64 = particles.position.iter().map(|x| 0.5 * x.x).sum();
            assert!((moment - exact).abs() < 1e-9 * exact.abs());
        }
    }
}
