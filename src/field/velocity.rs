//! Velocity at any point near a tile, interpolated from the faces of the grid, and paths along it.
//!
//! Each component is trilinear between its own faces, so a linear velocity field is exact. The faces of
//! a tile and some cells round it are copied into one dense block of fixed shape, so that a point costs
//! one index for each component and no question where it lies. Paths are sampled in f32, which places
//! them to a millionth of a cell; what particles take over is sampled in f64 ([`FacePatch`]). Paths use
//! the third-order Runge–Kutta rule of Ralston [Ral62]:
//!
//! ```text
//!     k₁ = u(x)   k₂ = u(x + Δt/2 k₁)   k₃ = u(x + 3Δt/4 k₂)   x′ = x + Δt (2k₁ + 3k₂ + 4k₃)/9
//! ```

use crate::grid::{MAX_MARGIN, NONE, SIDE, Tiles};
use crate::math::{Four, Number, Two, Vec3, trilinear, trilinear_gradient};

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

/// What a patch holds at a place: a number, or two that are interpolated side by side.
pub trait Value: Copy + Default + Send + Sync {
    /// Positions and shares.
    type At: Number;
    /// Trilinear interpolation of the corners of a cell, the first index along x. Along x last: neighbours along x lie
    /// side by side in memory, so that the arithmetic of both is done at once.
    fn trilinear(corners: [Self; 8], shares: [Self::At; 3]) -> Self;
}

impl Value for f32 {
    type At = f32;
    #[inline(always)]
    fn trilinear(c: [f32; 8], [fx, fy, fz]: [f32; 3]) -> f32 {
        let z = Four::new([c[0], c[1], c[2], c[3]]).mix(Four::new([c[4], c[5], c[6], c[7]]), fz);
        let [a, b] = z.mix(z.later(), fy).first();
        a + (b - a) * fx
    }
}

impl Value for f64 {
    type At = f64;
    #[inline(always)]
    fn trilinear(corners: [f64; 8], shares: [f64; 3]) -> f64 {
        trilinear(corners, shares)
    }
}

impl Value for [f64; 2] {
    type At = f64;
    #[inline(always)]
    fn trilinear(c: [[f64; 2]; 8], [fx, fy, fz]: [f64; 3]) -> [f64; 2] {
        let z = |n: usize| Two::new(c[n]).mix(Two::new(c[n + 4]), fz);
        let y = |n: usize| z(n).mix(z(n + 2), fy);
        y(0).mix(y(1), fx).get()
    }
}

/// The velocity components of a tile and up to (N − 8)/2 cells round it, N along each axis.
pub struct FacePatch<T: Value, const N: usize> {
    /// One block of N³ an axis.
    data: [Vec<T>; 3],
    axes: usize,
    /// Position of the first cell of the blocks, in cells.
    low: Vec3,
    /// Nothing is read outside this range of local coordinates along each axis.
    bounds: [[T::At; 2]; 3],
}

/// What a tile and its nearest neighbours say: for the exchange with particles.
pub type NearPatch = FacePatch<f64, 10>;

/// Two velocities of the same faces, such as before and after a solve: a point is located once for both.
pub type TwinPatch = FacePatch<[f64; 2], 10>;

impl<T: Value, const N: usize> Default for FacePatch<T, N> {
    fn default() -> Self {
        let data = std::array::from_fn(|_| Vec::new());
        Self { data, axes: 0, low: Vec3::zeros(), bounds: [[T::At::default(); 2]; 3] }
    }
}

impl<const N: usize> FacePatch<[f64; 2], N> {
    /// Copy the tile with coordinates `coord`, which need not exist, and `margin` cells round it, of two velocities.
    pub fn load(&mut self, tiles: &Tiles, both: [&[Vec<f64>; 3]; 2], coord: [i32; 3], margin: usize) {
        let (around, margin) = self.place(tiles, coord, margin);
        for (axis, block) in self.data.iter_mut().enumerate().take(tiles.axes()) {
            load_block::<_, N>(block, tiles, &both[0][axis], &around, margin, |v, u| v[0] = u);
            load_block::<_, N>(block, tiles, &both[1][axis], &around, margin, |v, u| v[1] = u);
        }
    }

    /// Both velocities at a position in cells, m/s.
    #[inline]
    pub fn sample(&self, g: &Vec3) -> [Vec3; 2] {
        let u = self.at(self.local(g));
        [0, 1].map(|n| Vec3::new(u[0][n], u[1][n], u[2][n]))
    }
}

impl<T: Value, const N: usize> FacePatch<T, N> {
    const MARGIN: usize = (N - SIDE) / 2;

    /// Put the blocks round a tile. Returns the tiles there and the margin that can be had.
    fn place(&mut self, tiles: &Tiles, coord: [i32; 3], margin: usize) -> ([u32; 27], usize) {
        let margin = margin.min(Self::MARGIN);
        self.axes = tiles.axes();
        let corner = Vec3::new(coord[0] as f64, coord[1] as f64, coord[2] as f64) * SIDE as f64;
        self.low = corner.add_scalar(-(Self::MARGIN as f64));
        // A little less than the last place, so that its upper neighbour exists as well.
        let last = (Self::MARGIN + SIDE + margin) as f64 - 1.0 - 1e-5;
        self.bounds = [[T::At::of((Self::MARGIN - margin) as f64), T::At::of(last)]; 3];
        if tiles.is_flat() {
            // The one layer lies at the first index of the block along z.
            self.low.z = coord[2] as f64;
            self.bounds[2] = [T::At::default(); 2];
        }
        self.data.iter_mut().take(self.axes).for_each(|block| block.resize(N * N * N, T::default()));
        (tiles.around(coord), margin)
    }

    /// Indices and fractions of a point along each axis, for places at integers and at halves.
    #[inline(always)]
    fn locate(&self, x: [T::At; 3]) -> [[(u32, T::At); 2]; 3] {
        std::array::from_fn(|a| [x[a].split(self.bounds[a]), (x[a] - T::At::HALF).split(self.bounds[a])])
    }

    /// The eight values round a place.
    #[inline(always)]
    fn corners(&self, axis: usize, [x, y, z]: [u32; 3]) -> [T; 8] {
        let place = ((z * N as u32 + y) * N as u32 + x) as usize;
        // A length that is known beforehand leaves one check for all eight.
        let c = &self.data[axis][place..place + N * N + N + 2];
        [c[0], c[1], c[N], c[N + 1], c[N * N], c[N * N + 1], c[N * N + N], c[N * N + N + 1]]
    }

    #[inline(always)]
    fn component(&self, axis: usize, at: [u32; 3], shares: [T::At; 3]) -> T {
        T::trilinear(self.corners(axis, at), shares)
    }

    #[inline(always)]
    fn local(&self, g: &Vec3) -> [T::At; 3] {
        let x = g - self.low;
        [T::At::of(x.x), T::At::of(x.y), T::At::of(x.z)]
    }

    #[inline(always)]
    fn at(&self, x: [T::At; 3]) -> [T; 3] {
        let at = self.locate(x);
        // Axis by axis in writing, so that the compiler knows which is which.
        let last = if self.axes == 3 { self.along(2, &at) } else { T::default() };
        [self.along(0, &at), self.along(1, &at), last]
    }

    #[inline(always)]
    fn along(&self, axis: usize, at: &[[(u32, T::At); 2]; 3]) -> T {
        let [x, y, z] =
            [at[0][(axis != 0) as usize], at[1][(axis != 1) as usize], at[2][(axis != 2) as usize]];
        self.component(axis, [x.0, y.0, z.0], [x.1, y.1, z.1])
    }
}

impl<T: Number + Value<At = T>, const N: usize> FacePatch<T, N> {
    /// Copy the tile with coordinates `coord`, which need not exist, and `margin` cells round it.
    pub fn load(&mut self, tiles: &Tiles, velocity: &[Vec<f64>; 3], coord: [i32; 3], margin: usize) {
        let (around, margin) = self.place(tiles, coord, margin);
        for (block, component) in self.data.iter_mut().zip(velocity).take(self.axes) {
            load_block::<T, N>(block, tiles, component, &around, margin, |v, u| *v = T::of(u));
        }
    }

    /// Velocity at a position in cells, m/s.
    #[inline]
    pub fn sample(&self, g: &Vec3) -> Vec3 {
        let u = self.at(self.local(g));
        Vec3::new(u[0].to(), u[1].to(), u[2].to())
    }

    /// Velocity at a position in cells, and its gradient rows by cell.
    #[inline]
    pub fn sample_gradient(&self, g: &Vec3) -> (Vec3, [[f64; 3]; 3]) {
        let at = self.locate(self.local(g));
        let (mut v, mut rows) = (Vec3::zeros(), [[0.0; 3]; 3]);
        for axis in 0..self.axes {
            let pick = |a: usize| at[a][(a != axis) as usize];
            let [(i, fx), (j, fy), (k, fz)] = [pick(0), pick(1), pick(2)];
            let c = self.corners(axis, [i, j, k]).map(T::to);
            (v[axis], rows[axis]) = trilinear_gradient(c, [fx.to(), fy.to(), fz.to()], self.axes == 3);
        }
        (v, rows)
    }

    /// Velocity in the middle of a cell, m/s: the mean of its faces.
    #[inline]
    pub fn at_cell(&self, cell: [i32; 3]) -> Vec3 {
        let mut v = Vec3::zeros();
        for a in 0..self.axes {
            let at = |b: usize| (cell[b] - self.low[b] as i32) as usize;
            let place = (at(2) * N + at(1)) * N + at(0);
            let step = [1, N, N * N][a];
            v[a] = 0.5 * (self.data[a][place].to() + self.data[a][place + step].to());
        }
        v
    }

    /// How far a point at g is carried in `step` seconds a cell width: cells; a negative step goes back.
    #[inline]
    pub fn displacement(&self, g: &Vec3, step: f64) -> Vec3 {
        let (x, step) = (self.local(g), T::of(step));
        let ahead = |k: &[T; 3], s: T| -> [T; 3] { std::array::from_fn(|a| x[a] + k[a] * s) };
        let k1 = self.at(x);
        let k2 = self.at(ahead(&k1, step * T::HALF));
        let k3 = self.at(ahead(&k2, step * T::of(0.75)));
        let sum = |a: usize| k1[a] * T::of(2.0) + k2[a] * T::of(3.0) + k3[a] * T::of(4.0);
        let ninth = step.to() / 9.0;
        Vec3::new(sum(0).to() * ninth, sum(1).to() * ninth, sum(2).to() * ninth)
    }
}

/// Points that are followed side by side: a register of four f32 does the arithmetic of all.
const LANES: usize = 4;
type Lanes = [f32; LANES];

impl<const N: usize> FacePatch<f32, N> {
    /// Velocity at four points, the same bits as one by one: all are located at once.
    #[inline(always)]
    fn at_lanes(&self, x: &[Lanes; 3]) -> [Lanes; 3] {
        let (mut index, mut part) = ([[[0u32; LANES]; 2]; 3], [[[0.0f32; LANES]; 2]; 3]);
        for a in 0..3 {
            for (o, offset) in [0.0, 0.5].into_iter().enumerate() {
                for l in 0..LANES {
                    (index[a][o][l], part[a][o][l]) = (x[a][l] - offset).split(self.bounds[a]);
                }
            }
        }
        // Axis by axis in writing, so that the compiler knows which is which.
        let last = if self.axes == 3 { self.components(2, &index, &part) } else { [0.0; LANES] };
        [self.components(0, &index, &part), self.components(1, &index, &part), last]
    }

    #[inline(always)]
    fn components(&self, axis: usize, index: &[[[u32; LANES]; 2]; 3], part: &[[Lanes; 2]; 3]) -> Lanes {
        let mut u = [0.0; LANES];
        for (l, u) in u.iter_mut().enumerate() {
            // Written out: a closure over an array is a call in builds that do not look across units of code.
            let [i, j, k] = [(axis != 0) as usize, (axis != 1) as usize, (axis != 2) as usize];
            let at = [index[0][i][l], index[1][j][l], index[2][k][l]];
            *u = self.component(axis, at, [part[0][i][l], part[1][j][l], part[2][k][l]]);
        }
        u
    }

    /// Displacements of four points, the same bits as one by one.
    #[inline(always)]
    fn displace_lanes(&self, x: &[Lanes; 3], step: f64) -> [Lanes; 3] {
        let s = step as f32;
        let ahead = |k: &[Lanes; 3], s: f32| -> [Lanes; 3] {
            std::array::from_fn(|a| std::array::from_fn(|l| x[a][l] + k[a][l] * s))
        };
        let k1 = self.at_lanes(x);
        let k2 = self.at_lanes(&ahead(&k1, s * 0.5));
        let k3 = self.at_lanes(&ahead(&k2, s * 0.75));
        std::array::from_fn(|a| std::array::from_fn(|l| k1[a][l] * 2.0 + k2[a][l] * 3.0 + k3[a][l] * 4.0))
    }
}

/// Copy what a block needs of one component, each number by `put`.
fn load_block<T: Value, const N: usize>(
    block: &mut [T],
    tiles: &Tiles,
    field: &[f64],
    around: &[u32; 27],
    margin: usize,
    put: impl Fn(&mut T, f64) + Copy,
) {
    let (whole, v) = ((N - SIDE) / 2, tiles.volume());
    // Shifted by one tile, quotient and remainder are those of unsigned numbers.
    let (low, high) = (SIDE - margin, 2 * SIDE + margin);
    let layers = if tiles.is_flat() { SIDE..SIDE + 1 } else { low..high };
    for z in layers {
        let to_z = if tiles.is_flat() { 0 } else { z + whole - SIDE };
        for y in low..high {
            let row = if tiles.is_flat() { y % SIDE * SIDE } else { (z % SIDE * SIDE + y % SIDE) * SIDE };
            let start = (to_z * N + y + whole - SIDE) * N;
            let from = |tx: usize| match around[tx + 3 * (y / SIDE) + 9 * (z / SIDE)] {
                NONE => None,
                t => Some(&field[t as usize * v + row..][..SIDE]),
            };
            if N == 3 * SIDE {
                // Whole rows cost less than parts of them: their length is known to the compiler.
                (0..3).for_each(|tx| copy_row(&mut block[start + tx * SIDE..][..SIDE], from(tx), put));
            } else {
                let edge = start + whole;
                copy_row(&mut block[edge..][..SIDE], from(1), put);
                copy_row(&mut block[edge - margin..edge], from(0).map(|row| &row[SIDE - margin..]), put);
                copy_row(&mut block[edge + SIDE..][..margin], from(2).map(|row| &row[..margin]), put);
            }
        }
    }
}

#[inline(always)]
fn copy_row<T>(to: &mut [T], from: Option<&[f64]>, put: impl Fn(&mut T, f64)) {
    match from {
        None => to.iter_mut().for_each(|o| put(o, 0.0)),
        Some(from) => to.iter_mut().zip(from).for_each(|(o, u)| put(o, *u)),
    }
}

/// The velocity round a tile for paths of up to a tile's width.
#[derive(Default)]
pub struct VelocityPatch {
    faces: FacePatch<f32, { SIDE + 2 * MAX_MARGIN }>,
    /// Cells a metre.
    per_metre: f64,
}

impl VelocityPatch {
    /// Copy the tile with coordinates `coord`, which need not exist, and `margin` cells round it.
    pub fn load(&mut self, tiles: &Tiles, velocity: &[Vec<f64>; 3], coord: [i32; 3], margin: usize) {
        self.per_metre = 1.0 / tiles.h();
        self.faces.load(tiles, velocity, coord, margin);
    }

    /// Velocity at a position in cells, m/s.
    #[inline]
    pub fn sample(&self, g: &Vec3) -> Vec3 {
        self.faces.sample(g)
    }

    /// One component of the velocity at a position in cells, m/s.
    #[inline]
    pub fn sample_axis(&self, axis: usize, g: &Vec3) -> f64 {
        f64::from(self.faces.along(axis, &self.faces.locate(self.faces.local(g))))
    }

    /// Velocity in the middle of a cell, m/s.
    #[inline]
    pub fn at_cell(&self, cell: [i32; 3]) -> Vec3 {
        self.faces.at_cell(cell)
    }

    /// Where a point at g, in cells, is carried in `dt` seconds; a negative step goes back.
    #[inline]
    pub fn trace(&self, g: &Vec3, dt: f64) -> Vec3 {
        g + self.faces.displacement(g, dt * self.per_metre)
    }

    /// Where many points, in cells, are carried: [`VelocityPatch::trace`] of each, to the bit, in less time.
    pub fn trace_all(&self, points: &mut [Vec3], dt: f64) {
        let step = dt * self.per_metre;
        // Rounded as one point alone rounds it.
        let ninth = step as f32 as f64 / 9.0;
        for some in points.chunks_mut(LANES) {
            let mut x = [[0.0; LANES]; 3];
            for l in 0..LANES {
                // A chunk that is not full repeats its last point.
                let local = self.faces.local(&some[l.min(some.len() - 1)]);
                (0..3).for_each(|a| x[a][l] = local[a]);
            }
            let sum = self.faces.displace_lanes(&x, step);
            for (l, g) in some.iter_mut().enumerate() {
                *g += Vec3::new(sum[0][l] as f64 * ninth, sum[1][l] as f64 * ninth, sum[2][l] as f64 * ninth);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::elementary::sin_cos;

    fn spinning() -> (Tiles, [Vec<f64>; 3]) {
        let coords = (0..27).map(|d| [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1]).collect();
        let tiles = Tiles::new(0.1, Vec3::zeros(), false, coords);
        let at = |p: usize| tiles.centre(tiles.cell(p));
        let along = |u: &dyn Fn(Vec3) -> f64| (0..tiles.cells()).map(|p| u(at(p))).collect::<Vec<f64>>();
        let velocity = [along(&|x| -x.y), along(&|x| x.x), along(&|_| 0.0)];
        (tiles, velocity)
    }

    #[test]
    fn a_point_in_a_spinning_liquid_goes_round() {
        let (tiles, velocity) = spinning();
        let mut patch = VelocityPatch::default();
        patch.load(&tiles, &velocity, [0, 0, 0], 6);
        let (dt, g) = (0.1, Vec3::new(3.0, 4.0, 2.0));
        let (s, c) = sin_cos(dt);
        let exact = Vec3::new(3.0 * c - 4.0 * s, 3.0 * s + 4.0 * c, 2.0);
        // The local error of a third-order rule on a rotation is |x| dt⁴/24; f32 adds a few 1e-7.
        let error = (patch.trace(&g, dt) - exact).norm();
        assert!(error < 5.0 * dt.powi(4) / 22.0 && error > 5.0 * dt.powi(4) / 26.0, "{error}");
    }

    #[test]
    fn many_points_go_where_each_goes_alone() {
        let (tiles, velocity) = spinning();
        let flat = Tiles::new(0.1, Vec3::zeros(), true, vec![[0, 0, 0], [1, 0, 0]]);
        let other = std::array::from_fn(|a| (0..flat.cells()).map(|p| (p * (a + 3) % 17) as f64).collect());
        for (tiles, velocity, margin) in [(tiles, velocity, 6), (flat, other, 2)] {
            let mut patch = VelocityPatch::default();
            patch.load(&tiles, &velocity, [0, 0, 0], margin);
            let at = |n: usize, m: usize| (n * m % 97) as f64 / 97.0 * 12.0 - 2.0;
            let start: Vec<Vec3> = (0..43).map(|n| Vec3::new(at(n, 31), at(n, 57), at(n, 13))).collect();
            let mut end = start.clone();
            patch.trace_all(&mut end, 0.02);
            assert!(start.iter().zip(&end).all(|(g, end)| patch.trace(g, 0.02) == *end));
        }
    }

    #[test]
    fn linear_motion_and_its_gradient_are_exact_across_tiles() {
        let (tiles, velocity) = spinning();
        let mut patch = NearPatch::default();
        for coord in [[0, 0, 0], [-1, 0, 0]] {
            patch.load(&tiles, &velocity, coord, 1);
            let g = Vec3::new(8.0 * coord[0] as f64 + 7.9, 0.1, 3.3);
            let (u, rows) = patch.sample_gradient(&g);
            let exact = Vec3::new(-g.y * 0.1, g.x * 0.1, 0.0);
            assert!((u - exact).norm() < 1e-12 && (patch.sample(&g) - exact).norm() < 1e-12);
            assert!((rows[0][1] + 0.1).abs() < 1e-12 && (rows[1][0] - 0.1).abs() < 1e-12);
        }
    }

    #[test]
    fn twins_are_sampled_as_each_alone() {
        let (tiles, velocity) = spinning();
        let other = velocity.clone().map(|u| u.iter().map(|u| 3.0 * u * u - 0.1).collect::<Vec<f64>>());
        let (mut both, mut one, mut two) = (TwinPatch::default(), NearPatch::default(), NearPatch::default());
        for coord in [[0, 0, 0], [1, 0, 0]] {
            both.load(&tiles, [&velocity, &other], coord, 1);
            one.load(&tiles, &velocity, coord, 1);
            two.load(&tiles, &other, coord, 1);
            for n in 0..50 {
                let at = |m: usize| (n * m % 97) as f64 / 97.0 * 8.0;
                let g = Vec3::new(8.0 * coord[0] as f64 + at(31), at(57), at(13));
                assert_eq!(both.sample(&g), [one.sample(&g), two.sample(&g)]);
            }
        }
    }
}
