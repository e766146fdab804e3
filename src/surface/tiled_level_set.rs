//! A tracker: the liquid's signed distance on tiles of the finest spacing.
//!
//! φ sits at cell centres, negative in liquid, cut off at ± [`BAND`] cells. Tiles exist where there is liquid or its
//! band; without a tile there is air. The zero set is carried backwards along the flow [Str99],
//!
//! ```text
//!     φ′(x) = φ(x − Δt u)        paths by Ralston's third-order rule, φ by cubics in each direction
//! ```
//!
//! The velocity is asked for in the cells of the band and interpolated between cells along paths, so that a
//! mesh is located as rarely as possible. The surface lies between two cells and moves by the mean of their velocities;
//! the liquid's grows towards the surface and beyond it there is none, so that this mean would be too low by a share of
//! k h/6 in waves of wave number k. So cells near the surface take the normal part of the velocity from its nearest
//! point c:
//!
//! ```text
//!     u = u(x) + w n n·(u(c) − u(x)) ,        c = x − φ n
//! ```
//!
//! w falls from one to zero between [`NORMAL`] cells of distance. A rigid motion is not changed by this. Cubics through four points give quadratic fields exactly; the result is
//! kept within the range of the eight values round the point, so that no extremum appears. Only cells near the
//! surface are carried; all others follow when φ is made a distance again ([`crate::grid::redistance`]), which
//! leaves planes alone to round-off. In solids φ is continued linearly, so that still water is level up to its walls.
//!
//! Volume is the sum over cells of the exact share of max(φ, −solid) < 0, see [`super::bending`].
//! Checked by the notched disk and the ball in a vortex of [`super::ParticleLevelSet`], and by still water in tests/bcc.

use super::bending::{plane, straightened, tangent};
use super::into_solids::{continue_from_own_side, continue_into_solids, is_free};
use super::side::ROUND;
use super::tracker::{Carry, SurfaceTracker};
use crate::error::{Error, Result};
use crate::field::Solids;
use crate::geometry::{TriMesh, fraction};
use crate::grid::{
    Halo, MAX_MARGIN, Order, Patch, SIDE, Tiles, close_in_walls, contour, extend_average, redistance_where,
    whole_below,
};
use crate::math::{Aabb, Vec3};
use rayon::prelude::*;

/// The distance to the surface is kept within this many cells.
pub const BAND: f64 = 5.0;
/// Cells this near to the surface are carried, besides those that the flow may bring near.
const CARRIED: f64 = 2.5;
/// Up to which distance in cells the normal velocity is that of the surface, and from which on it is that of the place.
const NORMAL: [f64; 2] = [1.5, 3.0];
/// Layers of solid into which the surface is continued linearly.
const LINEAR_LAYERS: usize = 3;
/// A surface further away than this many cells is not continued into a solid as a plane: a cell further on, distances are cut off.
const NEAR: f64 = BAND - 1.0;
/// Distances to solids are cut off at this many cells.
const SOLID_REACH: f64 = 6.0;
/// A cell further from a surface than this many cells is not cut by it.
const CUT: f64 = 1.0;
/// Deeper than this many cells, a cell that solids cut is liquid as far as it is open: distances change by √3/2 at most from the
/// centre of a cell to its corners, and its surface is not moved further than the rest.
const DEEP: f64 = 3.0;
/// The area of the surface is the change of volume when it moves by this many cells.
const SWELL: f64 = 0.05;

/// A level set on tiles.
#[derive(Clone, Debug, Default)]
pub struct TiledLevelSet {
    pub tiles: Tiles,
    /// Distance to the surface at cell centres, m.
    pub phi: Vec<f64>,
    /// Distance to solids at cell centres, m, negative inside, and that to those which never move.
    pub solid: Vec<f64>,
    resting: Vec<f64>,
    /// Marks on centres in solids from which liquid has parted (see [`super::leaving`]); empty if there are none.
    pub(super) parted: Vec<u8>,
}

/// A velocity at the centres of cells, by component.
pub(super) type Centred = [Vec<f64>; 3];

/// What paths and interpolation read round a tile.
#[derive(Default)]
pub(super) struct Around {
    pub phi: Patch,
    velocity: [Patch; 3],
}

impl Around {
    pub fn load(&mut self, tiles: &Tiles, phi: &[f64], velocity: &Centred, coord: [i32; 3], margin: usize) {
        let band = BAND * tiles.h();
        self.phi.load(tiles, phi, coord, margin, band);
        for (patch, u) in self.velocity.iter_mut().zip(velocity) {
            patch.load(tiles, u, coord, margin, 0.0);
        }
    }

    #[inline]
    fn at(&self, g: &Vec3) -> Vec3 {
        let at = [g.x, g.y, g.z];
        Vec3::new(self.velocity[0].sample(at), self.velocity[1].sample(at), self.velocity[2].sample(at))
    }

    /// Where a point, in cells from centre to centre, goes in `step` seconds a cell width [Ral62].
    #[inline]
    pub fn trace(&self, g: &Vec3, step: f64) -> Vec3 {
        let k1 = self.at(g);
        let k2 = self.at(&(g + k1 * (0.5 * step)));
        let k3 = self.at(&(g + k2 * (0.75 * step)));
        g + (k1 * 2.0 + k2 * 3.0 + k3 * 4.0) * (step / 9.0)
    }
}

impl TiledLevelSet {
    /// The liquid inside given regions: the least of the distances, negative inside.
    pub fn filled(
        h: f64,
        origin: Vec3,
        solids: &Solids,
        regions: &[Aabb],
        distance: &(dyn Fn(&Vec3) -> f64 + Sync),
    ) -> Result<Self> {
        let band = BAND * h;
        let coords = regions.iter().flat_map(|b| tiles_of_box(h, &origin, &b.grow(band)));
        // A tile further away than half its diagonal and the band holds none of the liquid.
        let side = h * SIDE as f64;
        let reach = 0.5 * 3f64.sqrt() * side + band;
        let middle = |c: &[i32; 3]| origin + Vec3::from(c.map(f64::from)).add_scalar(0.5) * side;
        let mut coords: Vec<[i32; 3]> = coords.collect();
        coords.sort_unstable();
        coords.dedup();
        let coords = coords.into_par_iter().filter(|c| distance(&middle(c)) < reach).collect();
        let mut set = Self::default();
        set.lay(Tiles::new(h, origin, false, coords), solids);
        let (tiles, solid) = (&set.tiles, &set.solid);
        let places: Vec<(f64, u8)> = (0..tiles.cells())
            .into_par_iter()
            .map(|place| {
                let x = tiles.centre(tiles.cell(place));
                // Not cut off yet: what is continued into solids takes its slope from here.
                let d = distance(&x);
                let known = solid[place] >= 0.0 && (d.abs() >= band || is_free(solids, distance, &x, d, h));
                (d, known as u8)
            })
            .collect();
        let (own, known): (Vec<f64>, Vec<u8>) = places.into_iter().unzip();
        let mut phi = own.clone();
        // Beside a wall the distance is that to the wall, down to the depth of the band.
        continue_into_solids(tiles, &mut phi, &known, BAND as usize, 0.99 * band, band)?;
        for p in (0..phi.len()).filter(|&p| known[p] == 0 && solid[p] >= 0.0) {
            // The side is known from the volume itself; what came through a wall says nothing.
            if phi[p] * own[p] <= 0.0 {
                phi[p] = band.copysign(own[p]);
            }
        }
        set.phi = phi;
        set.restore()?;
        Ok(set)
    }

    /// A level set from saved numbers.
    pub fn from_parts(h: f64, origin: Vec3, coords: Vec<[i32; 3]>, phi: Vec<f64>, solids: &Solids) -> Self {
        let mut set = Self::default();
        set.lay(Tiles::new(h, origin, false, coords), solids);
        set.phi = phi;
        set
    }

    pub(super) fn h(&self) -> f64 {
        self.tiles.h()
    }

    /// How far distances are kept, m.
    pub fn band(&self) -> f64 {
        BAND * self.h()
    }

    /// Exchange the tiles, and measure solids at their cells; what rests is not measured twice.
    fn lay(&mut self, tiles: Tiles, solids: &Solids) {
        let reach = SOLID_REACH * tiles.h();
        let mut resting = tiles.field(reach);
        let size = tiles.h() * SIDE as f64;
        let box_of = |t: usize| {
            let low = tiles.corner(tiles.base(t));
            Aabb::new(low, low.add_scalar(size))
        };
        tiles.for_each(&mut resting, |t, part| {
            if let Some(old) = self.tiles.find_tile(tiles.coords()[t]) {
                part.copy_from_slice(&self.resting[old * tiles.volume()..][..tiles.volume()]);
                return;
            }
            let near = solids.near(&box_of(t), reach);
            for (l, d) in part.iter_mut().enumerate() {
                *d = near.resting_distance(&tiles.centre(tiles.cell(t * tiles.volume() + l)), reach);
            }
        });
        let mut solid = resting.clone();
        if solids.any_animated() {
            tiles.for_each(&mut solid, |t, part| {
                let around = box_of(t).grow(reach);
                if !solids.animated_bounds().any(|b| b.overlaps(&around)) {
                    return;
                }
                let near = solids.near(&box_of(t), reach);
                for (l, d) in part.iter_mut().enumerate() {
                    let x = tiles.centre(tiles.cell(t * tiles.volume() + l));
                    *d = d.min(near.moving_distance(&x, reach));
                }
            });
        }
        let mut parted = Vec::new();
        if self.parted.contains(&1) {
            parted = tiles.field(0);
            tiles.for_each(&mut parted, |t, part| {
                if let Some(old) = self.tiles.find_tile(tiles.coords()[t]) {
                    part.copy_from_slice(&self.parted[old * tiles.volume()..][..tiles.volume()]);
                }
            });
        }
        (self.tiles, self.resting, self.solid, self.parted) = (tiles, resting, solid, parted);
    }

    /// The velocity at the centres of cells in the band; beyond it is continued.
    pub(super) fn velocity_in_band(&self, carry: &Carry) -> Result<Centred> {
        let (tiles, v) = (&self.tiles, self.tiles.volume());
        let within = self.band() - 0.1 * self.h();
        let of_tile = |t: usize| {
            let own = &self.phi[t * v..(t + 1) * v];
            let places: Vec<usize> = (0..v).filter(|l| own[*l].abs() < within).collect();
            let x: Vec<Vec3> = places.iter().map(|l| tiles.centre(tiles.cell(t * v + l))).collect();
            let mut u = vec![Vec3::zeros(); x.len()];
            carry.velocity.velocities(&x, &mut u);
            self.take_normal_part(t, &places, &x, carry, &mut u);
            places.into_iter().zip(u).collect::<Vec<_>>()
        };
        let found: Vec<Vec<(usize, Vec3)>> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
        let mut known = tiles.field(0u8);
        let mut velocity: Centred = std::array::from_fn(|_| tiles.field(0.0));
        for (t, list) in found.iter().enumerate() {
            for (l, u) in list {
                known[t * v + l] = 1;
                (0..3).for_each(|a| velocity[a][t * v + l] = u[a]);
            }
        }
        for u in &mut velocity {
            extend_average(tiles, u, &mut known.clone(), 4)?;
        }
        Ok(velocity)
    }

    /// Exchange the normal part of velocities near the surface for that of the nearest point of the surface.
    fn take_normal_part(&self, t: usize, places: &[usize], x: &[Vec3], carry: &Carry, u: &mut [Vec3]) {
        let (tiles, h) = (&self.tiles, self.h());
        let [near, far] = NORMAL.map(|d| d * h);
        let (mut at, mut feet, mut normals) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &l) in places.iter().enumerate() {
            let d = self.phi[t * tiles.volume() + l];
            if d.abs() >= far {
                continue;
            }
            let cell = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v as i32);
            let beside = |a: usize, by: i32| {
                let mut c = cell;
                c[a] += by;
                tiles.near(t, c[0], c[1], c[2]).map_or(self.band(), |p| self.phi[p])
            };
            let slope = Vec3::from_fn(|a, _| beside(a, 1) - beside(a, -1));
            // A slope far from one is no distance: two surfaces meet here.
            if let Some(n) = slope.try_normalize(h) {
                at.push((i, ((far - d.abs()) / (far - near)).min(1.0)));
                feet.push(x[i] - n * d);
                normals.push(n);
            }
        }
        let mut there = vec![Vec3::zeros(); feet.len()];
        carry.velocity.velocities(&feet, &mut there);
        for (((i, share), n), v) in at.into_iter().zip(normals).zip(there) {
            let missing = (v - u[i]).dot(&n);
            u[i] += n * (share * missing);
        }
    }

    /// Whole cells that liquid may cross in a step.
    pub(super) fn travel(&self, carry: &Carry) -> Result<usize> {
        let travel = (carry.fastest * carry.dt / self.h()).ceil();
        if !travel.is_finite() {
            return Err(Error::diverged("advect_surface", "the velocity is not finite"));
        }
        // Beyond the margin of a patch a path is read at its border.
        Ok(travel.min(MAX_MARGIN as f64 - 3.0) as usize)
    }

    /// Carry the distance along a velocity of at most `travel` cells a step.
    pub(super) fn advect_along(&mut self, velocity: &Centred, carry: &Carry, travel: usize) {
        let tiles = self.next_tiles(travel, carry.wanted);
        let phi = self.carried(&tiles, velocity, carry, travel + 3);
        self.lay(tiles, carry.solids);
        self.phi = phi;
    }

    /// Tiles for the liquid and its band after a step of `travel` cells.
    fn next_tiles(&self, travel: usize, wanted: &[Aabb]) -> Tiles {
        let (tiles, v) = (&self.tiles, self.tiles.volume());
        let near = 1.5 * self.h();
        let margin = (BAND as usize + travel) as i32;
        let of_tile = |t: usize| {
            let own = &self.phi[t * v..(t + 1) * v];
            let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
            for (l, _) in own.iter().enumerate().filter(|(_, d)| **d < near) {
                let at = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|x| x as i32);
                low = std::array::from_fn(|a| low[a].min(at[a]));
                high = std::array::from_fn(|a| high[a].max(at[a]));
            }
            let mut around = Vec::new();
            if low[0] <= high[0] {
                let (c, s) = (tiles.coords()[t], SIDE as i32);
                let first: [i32; 3] = std::array::from_fn(|a| c[a] + (low[a] - margin).div_euclid(s));
                let last: [i32; 3] = std::array::from_fn(|a| c[a] + (high[a] + margin).div_euclid(s));
                for z in first[2]..=last[2] {
                    for y in first[1]..=last[1] {
                        around.extend((first[0]..=last[0]).map(|x| [x, y, z]));
                    }
                }
            }
            around
        };
        let mut coords: Vec<[i32; 3]> = (0..tiles.len()).into_par_iter().flat_map_iter(of_tile).collect();
        let reach = self.band();
        coords.extend(wanted.iter().flat_map(|b| tiles_of_box(tiles.h(), &tiles.origin(), &b.grow(reach))));
        coords.par_sort_unstable();
        coords.dedup();
        Tiles::new(tiles.h(), tiles.origin(), false, coords)
    }

    /// The distance on new tiles, carried along the velocity of the old ones.
    fn carried(&self, new: &Tiles, velocity: &Centred, carry: &Carry, margin: usize) -> Vec<f64> {
        let (old, v) = (&self.tiles, self.tiles.volume());
        let mut out = new.field(self.band());
        out.par_chunks_mut(v).enumerate().for_each_init(Around::default, |around, (t, part)| {
            let coord = new.coords()[t];
            let Some(from) = old.find_tile(coord) else {
                // Liquid reaches a tile that did not exist only from its neighbours.
                if old.around(coord).iter().all(|n| *n == crate::grid::NONE) {
                    return;
                }
                around.load(old, &self.phi, velocity, coord, margin);
                return self.carry_tile(new, t, part, &[], around, carry);
            };
            let own = &self.phi[from * v..(from + 1) * v];
            part.copy_from_slice(own);
            if own.iter().any(|d| d.abs() < self.band()) {
                around.load(old, &self.phi, velocity, coord, margin);
                self.carry_tile(new, t, part, own, around, carry);
            }
        });
        out
    }

    fn carry_tile(
        &self,
        new: &Tiles,
        t: usize,
        part: &mut [f64],
        own: &[f64],
        around: &Around,
        carry: &Carry,
    ) {
        let (h, band) = (self.h(), self.band());
        let (base, step) = (new.base_point(t), -carry.dt / h);
        let place = |g: &Vec3| new.origin() + g.add_scalar(0.5) * h;
        let solid = self
            .tiles
            .find_tile(new.coords()[t])
            .map_or(&[][..], |from| &self.solid[from * self.tiles.volume()..][..self.tiles.volume()]);
        for (l, out) in part.iter_mut().enumerate() {
            let g = base + Vec3::new((l % SIDE) as f64, (l / SIDE % SIDE) as f64, (l / (SIDE * SIDE)) as f64);
            let near = CARRIED * h + 1.5 * carry.dt * around.at(&g).norm();
            // A flow that crosses the band brings the surface anywhere.
            if near < band && own.get(l).is_none_or(|d| d.abs() >= near) {
                continue;
            }
            let from = around.trace(&g, step);
            if carry.solids.any_thin() && carry.solids.path_crosses(&place(&from), &place(&g)) {
                continue;
            }
            // What is far from solids before and after the step reads one side of walls only.
            let clear = ROUND * h + (from - g).norm() * h;
            let torn = match solid.get(l).is_some_and(|d| *d > clear) {
                true => None,
                false => self.torn_by_wall(&place(&from)),
            };
            *out = torn
                .map_or_else(|| cubic(&around.phi, &from), |n| self.distance_from_side(&place(&from), &n));
        }
    }

    /// Sum over cells: one for each that is full, what is open of those that solids alone cut, and what `f` says of those
    /// that the surface may cut, from φ and the solid's distance at their corners.
    fn sum_cells(&self, f: impl Fn(&[f64; 8], &[f64; 8]) -> [f64; 2] + Sync) -> [f64; 2] {
        let (tiles, v) = (&self.tiles, self.tiles.volume());
        let [cut, deep] = [CUT, DEEP].map(|d| d * self.h());
        let of_tile = |halos: &mut (Halo, Halo), t: usize| {
            let (phi, solid) = (&self.phi[t * v..(t + 1) * v], &self.solid[t * v..(t + 1) * v]);
            let mut sum = [0.0; 2];
            if phi.iter().all(|d| *d > cut) {
                return sum;
            }
            if phi.iter().all(|d| *d < -cut) && solid.iter().all(|d| *d > cut) {
                return [v as f64, 0.0];
            }
            tiles.load_halo(&self.phi, t, self.band(), &mut halos.0);
            tiles.load_halo_repeated(&self.solid, t, &mut halos.1);
            for l in 0..v {
                if phi[l] > cut || solid[l] < -cut {
                    continue;
                }
                if phi[l] < -cut && solid[l] > cut {
                    sum[0] += 1.0;
                    continue;
                }
                let solid = tangent(&halos.1, l);
                if phi[l] < -deep {
                    sum[0] += fraction::cube(solid.map(|d| -d));
                    continue;
                }
                let [a, b] = f(&plane(&halos.0, l, self.h()), &solid);
                sum = [sum[0] + a, sum[1] + b];
            }
            sum
        };
        let sums: Vec<[f64; 2]> =
            (0..tiles.len()).into_par_iter().map_init(<(Halo, Halo)>::default, of_tile).collect();
        [0, 1].map(|n| sums.iter().map(|s| s[n]).sum())
    }

    /// Signed distance at a point, m: linear between cell centres, air where no tile is.
    pub fn distance(&self, x: &Vec3) -> f64 {
        self.sample(&self.phi, self.band(), x)
    }

    /// A field over the tiles at a point, linear between cell centres; `outside` where no tile is.
    pub fn sample(&self, field: &[f64], outside: f64, x: &Vec3) -> f64 {
        let (value, part) = self.round(field, outside, x);
        let lerp = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let line = |c: usize| lerp(value[c], value[c + 1], part[0]);
        lerp(lerp(line(0), line(2), part[1]), lerp(line(4), line(6), part[1]), part[2])
    }

    /// The way out of the liquid at a point, of length one; zero where the distance does not change.
    pub fn outward(&self, x: &Vec3) -> Vec3 {
        self.slope(&self.phi, self.band(), x).try_normalize(0.0).unwrap_or_default()
    }

    /// How a field over the tiles changes at a point, per metre.
    pub(super) fn slope(&self, field: &[f64], outside: f64, x: &Vec3) -> Vec3 {
        let (value, t) = self.round(field, outside, x);
        let along = |a: usize| {
            let (b, c) = ((a + 1) % 3, (a + 2) % 3);
            let change = |k: usize| value[k | 1 << a] - value[k];
            let mix = |x: f64, y: f64, t: f64| x + (y - x) * t;
            let line = |k: usize| mix(change(k), change(k | 1 << b), t[b]);
            mix(line(0), line(1 << c), t[c])
        };
        Vec3::new(along(0), along(1), along(2)) / self.h()
    }

    /// The values of a field at the eight centres round a point, and how far the point is between them.
    fn round(&self, field: &[f64], outside: f64, x: &Vec3) -> ([f64; 8], [f64; 3]) {
        let (places, part) = self.centres_round(x);
        (places.map(|place| place.map_or(outside, |p| field[p])), part)
    }

    /// The places of the eight centres round a point, and how far the point is between them.
    pub(super) fn centres_round(&self, x: &Vec3) -> ([Option<usize>; 8], [f64; 3]) {
        let (cell, part) = whole_below(self.tiles.centred(x));
        let (coord, local) = self.tiles.split(cell);
        let tile = self.tiles.find_tile(coord);
        let at = [local % SIDE, local / SIDE % SIDE, local / (SIDE * SIDE)].map(|x| x as i32);
        let place = |c: usize| {
            let step = [c & 1, c >> 1 & 1, c >> 2].map(|s| s as i32);
            match tile {
                Some(t) => self.tiles.near(t, at[0] + step[0], at[1] + step[1], at[2] + step[2]),
                None => self.tiles.locate(std::array::from_fn(|a| cell[a] + step[a])),
            }
        };
        (std::array::from_fn(place), part)
    }

    /// Take liquid away where a distance is positive, such as beyond an open side.
    pub fn cut_away(&mut self, distance: impl Fn(&Vec3) -> f64 + Sync) {
        let tiles = &self.tiles;
        tiles.for_each(&mut self.phi, |t, part| {
            for (l, phi) in part.iter_mut().enumerate() {
                let x = tiles.centre(tiles.cell(t * tiles.volume() + l));
                *phi = phi.max(distance(&x));
            }
        });
    }

    /// Bytes held by the fields.
    pub fn bytes(&self) -> usize {
        self.tiles.bytes() + 24 * self.tiles.cells()
    }
}

impl SurfaceTracker for TiledLevelSet {
    fn advect(&mut self, carry: &Carry) -> Result<()> {
        let travel = self.travel(carry)?;
        let velocity = self.velocity_in_band(carry)?;
        self.close_gaps(&velocity, carry);
        self.advect_along(&velocity, carry, travel);
        Ok(())
    }

    fn unite(&mut self, bounds: &Aabb, distance: &(dyn Fn(&Vec3) -> f64 + Sync)) {
        let (tiles, h) = (&self.tiles, self.tiles.h());
        let reach = bounds.grow(2.0 * h);
        let size = h * SIDE as f64;
        tiles.for_each(&mut self.phi, |t, part| {
            let low = tiles.corner(tiles.base(t));
            if !reach.overlaps(&Aabb::new(low, low.add_scalar(size))) {
                return;
            }
            for (l, phi) in part.iter_mut().enumerate() {
                let x = tiles.centre(tiles.cell(t * tiles.volume() + l));
                if reach.contains(&x) {
                    *phi = phi.min(distance(&x));
                }
            }
        });
    }

    fn restore(&mut self) -> Result<()> {
        let (band, near) = (self.band(), NEAR * self.h());
        let known = self.known();
        let layers = LINEAR_LAYERS;
        continue_from_own_side(&self.tiles, &mut self.phi, &known, &self.solid, layers, near, band)?;
        redistance_where(&self.tiles, &mut self.phi, &known, BAND as usize, Order::Second)?;
        // A distance bends away behind the last piece of surface before a wall; still water needs the plane to go on.
        continue_from_own_side(&self.tiles, &mut self.phi, &known, &self.solid, layers, near, band)
    }

    fn distances(&self, x: &[Vec3]) -> Vec<f64> {
        x.par_iter().map(|x| self.distance(x)).collect()
    }

    fn measure(&self) -> [f64; 2] {
        let h = self.h();
        let swell = SWELL * h;
        let sums = self.sum_cells(|phi, solid| {
            let outside = solid.map(|d| -d);
            let share = |by: f64| fraction::cube_inside_both(phi.map(|d| d - by), outside);
            [share(0.0), share(swell) - share(-swell)]
        });
        [sums[0] * h.powi(3), sums[1] * h * h / (2.0 * SWELL)]
    }

    fn swell(&mut self, by: f64) {
        // What lies beyond the band stays there.
        let band = self.band();
        self.phi.par_iter_mut().filter(|d| d.abs() < band).for_each(|d| *d -= by);
    }

    fn triangulate(&self, overlap: f64) -> Result<TriMesh> {
        let mut phi = straightened(&self.tiles, &self.phi, &self.solid, self.band());
        close_in_walls(&self.tiles, &mut phi, &self.solid, overlap);
        Ok(contour(&self.tiles, &phi)?.mesh)
    }
}

/// Cubic interpolation in each direction, kept within the eight values round the point.
pub(super) fn cubic(patch: &Patch, g: &Vec3) -> f64 {
    let (cell, part) = whole_below((*g).into());
    let weights: [[f64; 4]; 3] = part.map(catmull_rom);
    let (mut sum, mut least, mut most) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
    for (k, wz) in weights[2].iter().enumerate() {
        for (j, wy) in weights[1].iter().enumerate() {
            for (i, wx) in weights[0].iter().enumerate() {
                let d = [i, j, k].map(|n| n as i32 - 1);
                let value = patch.get([cell[0] + d[0], cell[1] + d[1], cell[2] + d[2]]);
                sum += wx * wy * wz * value;
                if d.iter().all(|d| (0..2).contains(d)) {
                    (least, most) = (least.min(value), most.max(value));
                }
            }
        }
    }
    sum.clamp(least, most)
}

/// Weights of four values in a row for a point t of the way from the second to the third.
fn catmull_rom(t: f64) -> [f64; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        0.5 * (-t + 2.0 * t2 - t3),
        0.5 * (2.0 - 5.0 * t2 + 3.0 * t3),
        0.5 * (t + 4.0 * t2 - 3.0 * t3),
        0.5 * (t3 - t2),
    ]
}

/// The tiles that a box touches.
fn tiles_of_box(h: f64, origin: &Vec3, bounds: &Aabb) -> impl Iterator<Item = [i32; 3]> + use<> {
    let side = h * SIDE as f64;
    let (low, high) = ((bounds.lo - origin) / side, (bounds.hi - origin) / side);
    let range = move |a: usize| low[a].floor() as i32..=high[a].floor() as i32;
    range(2).flat_map(move |k| range(1).flat_map(move |j| range(0).map(move |i| [i, j, k])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubics_are_exact_for_quadratic_fields() {
        let values = |f: &dyn Fn(f64) -> f64| [-1.0, 0.0, 1.0, 2.0].map(f);
        for t in [0.0, 0.3, 0.9] {
            let w = catmull_rom(t);
            let f = |x: f64| 2.0 - 3.0 * x + 0.7 * x * x;
            let found: f64 = w.iter().zip(values(&f)).map(|(w, v)| w * v).sum();
            assert!((found - f(t)).abs() < 1e-14);
        }
    }

    #[test]
    fn a_ball_has_its_volume_and_area() {
        let (h, r, x0) = (0.05, 0.42, Vec3::new(0.01, 0.02, -0.03));
        let ball = |x: &Vec3| (x - x0).norm() - r;
        let bounds = Aabb::new(x0.add_scalar(-r), x0.add_scalar(r));
        let set = TiledLevelSet::filled(h, Vec3::zeros(), &Solids::default(), &[bounds], &ball).unwrap();
        let [volume, area] = set.measure();
        let pi = std::f64::consts::PI;
        // The mean of the bend is taken into account: what is left is well below (h/r)², which is 1.4 %.
        assert!((volume / (4.0 / 3.0 * pi * r.powi(3)) - 1.0).abs() < 0.02, "{volume}");
        assert!((area / (4.0 * pi * r * r) - 1.0).abs() < 0.01, "{area}");
        let x = Vec3::new(0.3, 0.3, 0.05);
        // What is further away than cells can be counted is outside.
        for far in [1e9, -1e10, 1e300] {
            assert!(set.distance(&Vec3::new(0.0, far, 0.0)) > 0.0);
        }
        // Linear between centres: up to h²/8 times the curvature 2/r, 0.03 h, and the distance's own error.
        assert!((set.distance(&x) - ball(&x)).abs() < 0.1 * h, "{}", set.distance(&x) - ball(&x));
    }
}
