//! Velocity at any point near a tile, interpolated from the faces of the grid, and paths along it.
//!
//! Each component is trilinear between its own faces, so a linear velocity field is exact. Paths
//! use the third-order Runge–Kutta rule of Ralston [Ral62]:
//!
//! ```text
//!     k₁ = u(x)   k₂ = u(x + Δt/2 k₁)   k₃ = u(x + 3Δt/4 k₂)   x′ = x + Δt (2k₁ + 3k₂ + 4k₃)/9
//! ```

use crate::grid::{Patch, Tiles};
use crate::math::Vec3;

/// Where the faces of an axis sit in a cell, in cells; z does not count on a grid one cell thick.
#[inline]
pub fn face_offset(axis: usize, flat: bool) -> Vec3 {
    let mut offset = Vec3::repeat(0.5);
    offset[axis] = 0.0;
    if flat {
        offset.z = 0.0;
    }
    offset
}

/// The velocity components of a tile and its surroundings.
#[derive(Default)]
pub struct VelocityPatch {
    parts: [Patch; 3],
    axes: usize,
    offset: [Vec3; 3],
    /// Cells a metre.
    per_metre: f64,
}

impl VelocityPatch {
    /// Copy the tile with coordinates `coord`, which need not exist, and `margin` cells round it.
    pub fn load(&mut self, tiles: &Tiles, velocity: &[Vec<f64>; 3], coord: [i32; 3], margin: usize) {
        self.axes = tiles.axes();
        self.per_metre = 1.0 / tiles.h();
        for (a, component) in velocity.iter().enumerate().take(self.axes) {
            self.offset[a] = face_offset(a, tiles.is_flat());
            self.parts[a].load(tiles, component, coord, margin, 0.0);
        }
    }

    /// Velocity in the middle of a cell, m/s: the mean of its faces.
    #[inline]
    pub fn at_cell(&self, cell: [i32; 3]) -> Vec3 {
        let mut v = Vec3::zeros();
        for a in 0..self.axes {
            let mut above = cell;
            above[a] += 1;
            v[a] = 0.5 * (self.parts[a].get(cell) + self.parts[a].get(above));
        }
        v
    }

    /// Velocity at a position in cells, m/s.
    #[inline]
    pub fn sample(&self, g: &Vec3) -> Vec3 {
        let mut v = Vec3::zeros();
        for a in 0..self.axes {
            v[a] = self.parts[a].sample((g - self.offset[a]).into());
        }
        v
    }

    /// Velocity at a position in cells, and its gradient rows by cell.
    #[inline]
    pub fn sample_gradient(&self, g: &Vec3) -> (Vec3, [[f64; 3]; 3]) {
        let (mut v, mut rows) = (Vec3::zeros(), [[0.0; 3]; 3]);
        for a in 0..self.axes {
            (v[a], rows[a]) = self.parts[a].sample_gradient((g - self.offset[a]).into());
        }
        (v, rows)
    }

    /// Where a point at g, in cells, is carried in `dt` seconds; a negative step goes back.
    #[inline]
    pub fn trace(&self, g: &Vec3, dt: f64) -> Vec3 {
        let step = dt * self.per_metre;
        let k1 = self.sample(g);
        let k2 = self.sample(&(g + k1 * (0.5 * step)));
        let k3 = self.sample(&(g + k2 * (0.75 * step)));
        g + (k1 * 2.0 + k2 * 3.0 + k3 * 4.0) * (step / 9.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::elementary::sin_cos;

    #[test]
    fn a_point_in_a_spinning_liquid_goes_round() {
        let coords = (0..27).map(|d| [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1]).collect();
        let tiles = Tiles::new(0.1, Vec3::zeros(), false, coords);
        let at = |p: usize| tiles.centre(tiles.cell(p));
        let along = |u: &dyn Fn(Vec3) -> f64| (0..tiles.cells()).map(|p| u(at(p))).collect::<Vec<f64>>();
        let velocity = [along(&|x| -x.y), along(&|x| x.x), along(&|_| 0.0)];
        let mut patch = VelocityPatch::default();
        patch.load(&tiles, &velocity, [0, 0, 0], 6);
        let (dt, g) = (0.1, Vec3::new(3.0, 4.0, 2.0));
        let (s, c) = sin_cos(dt);
        let exact = Vec3::new(3.0 * c - 4.0 * s, 3.0 * s + 4.0 * c, 2.0);
        // The local error of a third-order rule on a rotation is |x| dt⁴/24.
        let error = (patch.trace(&g, dt) - exact).norm();
        assert!(error < 5.0 * dt.powi(4) / 23.0 && error > 5.0 * dt.powi(4) / 25.0);
    }
}
