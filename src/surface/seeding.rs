//! Where new particles go.
//!
//! A cell is cut into 2×2×2 parts (2×2 on a grid one cell thick), or finer for more particles, and
//! each part gets one particle at a place that depends only on the cell, the part, the seed and the
//! moment, so that no two runs differ.

use crate::grid::Tiles;
use crate::math::Vec3;

/// A number in [0,1) that depends on nothing but its arguments.
pub fn hash_unit(words: [u64; 4]) -> f64 {
    let mut state = 0x243F_6A88_85A3_08D3u64;
    for w in words {
        state = (state ^ w).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state ^= state >> 32;
        state = state.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        state ^= state >> 29;
    }
    (state >> 11) as f64 / (1u64 << 53) as f64
}

/// How much of its part a particle may stray over: enough that no lattice shows, and little enough
/// that every cell is evenly full.
const JITTER: f64 = 0.5;

/// Places for the particles of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Seeding {
    /// Parts along each axis.
    parts: usize,
    flat: bool,
    seed: u64,
}

impl Seeding {
    /// For about `per_cell` particles in a cell of a full grid.
    pub fn new(per_cell: u32, flat: bool, seed: u64) -> Self {
        let parts = (2..4).find(|p: &u32| p.pow(3) >= per_cell).unwrap_or(4) as usize;
        Self { parts, flat, seed }
    }

    /// Particles in a full cell.
    pub fn full(&self) -> usize {
        self.parts.pow(if self.flat { 2 } else { 3 })
    }

    /// The part of its cell in which a point lies.
    pub fn part_of(&self, tiles: &Tiles, x: &Vec3) -> usize {
        let g = tiles.to_grid(x);
        let along = |a: usize| (((g[a] - g[a].floor()) * self.parts as f64) as usize).min(self.parts - 1);
        let z = if self.flat { 0 } else { along(2) };
        along(0) + self.parts * (along(1) + self.parts * z)
    }

    /// Place of particle n of a cell; `moment` tells one seeding of the same cell from another.
    pub fn place(&self, tiles: &Tiles, cell: [i32; 3], n: usize, moment: u64) -> Vec3 {
        let key = (cell[0] as u32 as u64) << 32 | cell[1] as u32 as u64;
        let other = (cell[2] as u32 as u64) << 32 | n as u64;
        let unit = |a: usize| hash_unit([key, other, self.seed ^ moment << 8, a as u64]);
        let part = |a: usize| (n / self.parts.pow(a as u32) % self.parts) as f64;
        let along = |a: usize| (part(a) + 0.5 + JITTER * (unit(a) - 0.5)) / self.parts as f64;
        let z = if self.flat { 0.5 } else { along(2) };
        tiles.corner(cell) + Vec3::new(along(0), along(1), z) * tiles.h()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_cell_gets_one_particle() {
        let tiles = Tiles::new(0.5, Vec3::zeros(), false, vec![]);
        let seeding = Seeding::new(8, false, 7);
        assert_eq!(seeding.full(), 8);
        let mut seen = [0; 8];
        for n in 0..8 {
            let g = tiles.to_grid(&seeding.place(&tiles, [3, -2, 5], n, 0)) - Vec3::new(3.0, -2.0, 5.0);
            assert!(g.iter().all(|v| (0.0..1.0).contains(v)));
            seen[(g.x * 2.0) as usize + 2 * (g.y * 2.0) as usize + 4 * (g.z * 2.0) as usize] += 1;
        }
        assert_eq!(seen, [1; 8]);
        assert_eq!(Seeding::new(8, true, 7).full(), 4);
    }

    #[test]
    fn hashed_numbers_are_spread_evenly() {
        let mean = (0..10_000).map(|i| hash_unit([i, 1, 2, 3])).sum::<f64>() / 10_000.0;
        // The standard deviation of this mean is 1/√(12·10⁴) = 0.0029.
        assert!((mean - 0.5).abs() < 0.01);
    }
}
