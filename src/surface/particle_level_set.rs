//! A level set that remembers by markers what the grid forgets [EFFM02].
//!
//! Markers stand on both sides of the surface, within [`REACH`] cells of it. Each is a small ball that touches the
//! surface from its own side s = ±1 (−1 in the liquid), of radius r_p = s φ(x_p) between .1 and .5 cells. They are
//! carried along by the same velocity as φ. A marker that is found on the wrong side by more than its radius has
//! *escaped*: it knows better than the grid, and the corners of its cell take the distance of its ball,
//!
//! ```text
//!     φ_p(x) = s (r_p − |x − x_p|)        φ⁺ = max over escaped s > 0,  φ⁻ = min over escaped s < 0
//!     φ = whichever of φ⁺, φ⁻ has the smaller size
//! ```
//!
//! once after φ is carried and once after it is made a distance again. Sharp corners and thin sheets survive, and
//! with them the volume. Markers of air get one chance to do so: where two surfaces have met, those that were between them
//! stay in the liquid, and step by step they would eat it up. So one that is still below the surface by [`DROWNED`] cells
//! after the surface was corrected is gone. Every few steps each cell near the surface is filled up to its number of markers again, at
//! places that depend on the cell and the moment alone. Checked by `meniscus validate bcc --case notched-disk --case vortex-ball`
//! and its short forms in tests/bcc.

use super::seeding::hash_unit;
use super::tiled_level_set::{Around, BAND, Centred, TiledLevelSet};
use super::tracker::{Carry, SurfaceTracker};
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::grid::{Tiles, whole_below};
use crate::math::{Aabb, Vec3};
use rayon::prelude::*;

/// Markers stay within this many cells of the surface.
const REACH: f64 = 3.0;
/// Least and greatest radius of a marker, in cells.
const RADIUS: [f64; 2] = [0.1, 0.5];
/// A marker of air that the liquid closed over is gone when it is this many cells below the surface.
const DROWNED: f64 = 0.3;
/// Steps between two rounds of seeding.
const SEEDED_EVERY: u64 = 10;

/// A point that knows on which side of the surface it belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marker {
    pub x: Vec3,
    /// Radius in metres, with the sign of its side: negative in the liquid.
    pub radius: f64,
}

/// A level set with markers.
#[derive(Clone, Debug, Default)]
pub struct ParticleLevelSet {
    pub set: TiledLevelSet,
    /// Sorted by tile, then by cell; those of a cell in the order in which they were made.
    pub markers: Vec<Marker>,
    /// Markers for each cell near the surface.
    pub per_cell: usize,
    /// Steps done.
    pub moment: u64,
}

impl ParticleLevelSet {
    /// Markers for a level set.
    pub fn new(set: TiledLevelSet, per_cell: usize) -> Self {
        let mut tracker = Self { set, markers: Vec::new(), per_cell, moment: 0 };
        tracker.seed();
        tracker
    }

    /// Place of the cell of each marker in a field, and the markers that have one, in that order.
    fn sorted(tiles: &Tiles, markers: Vec<Marker>) -> Vec<Marker> {
        let place = |(n, m): (usize, &Marker)| tiles.locate(tiles.cell_at(&m.x)).map(|p| (p, n));
        // With their numbers the markers of a cell keep their order.
        let mut placed: Vec<(usize, usize)> = markers.par_iter().enumerate().filter_map(place).collect();
        placed.par_sort_unstable();
        placed.par_iter().map(|&(_, n)| markers[n]).collect()
    }

    /// The markers of each tile, as ranges.
    fn of_tiles(&self) -> Vec<usize> {
        let tiles = &self.set.tiles;
        let mut start = vec![0; tiles.len() + 1];
        for m in &self.markers {
            if let Some(p) = tiles.locate(tiles.cell_at(&m.x)) {
                start[p / tiles.volume() + 1] += 1;
            }
        }
        for t in 0..tiles.len() {
            start[t + 1] += start[t];
        }
        start
    }

    /// Carry the markers along the velocity of their tiles; those that a sheet without thickness stops are gone.
    fn carry_markers(&mut self, velocity: &Centred, carry: &Carry, margin: usize) {
        let (tiles, start) = (&self.set.tiles, self.of_tiles());
        let (h, origin, thin) = (tiles.h(), tiles.origin(), carry.solids.any_thin());
        let moved: Vec<Vec<Marker>> = (0..tiles.len())
            .into_par_iter()
            .map_init(Around::default, |around, t| {
                let own = &self.markers[start[t]..start[t + 1]];
                if own.is_empty() {
                    return Vec::new();
                }
                around.load(tiles, &self.set.phi, velocity, tiles.coords()[t], margin);
                let carried = |m: &Marker| {
                    let g = Vec3::from(tiles.centred(&m.x));
                    let x = origin + around.trace(&g, carry.dt / h).add_scalar(0.5) * h;
                    (!thin || !carry.solids.path_crosses(&m.x, &x)).then_some(Marker { x, ..*m })
                };
                own.iter().filter_map(carried).collect()
            })
            .collect();
        self.markers = moved.concat();
    }

    /// Let markers that have escaped rebuild the surface round them.
    fn correct(&mut self) {
        let TiledLevelSet { tiles, phi, .. } = &self.set;
        let h = tiles.h();
        let escaped: Vec<&Marker> = self
            .markers
            .par_iter()
            .filter(|m| -self.set.distance(&m.x) * m.radius.signum() > m.radius.abs())
            .collect();
        // What is outside takes the largest, what is inside the least: no order matters.
        let mut changed: Vec<(usize, f64, bool)> = Vec::new();
        for m in escaped {
            let low = whole_below(tiles.centred(&m.x)).0;
            for c in 0..8 {
                let cell = [low[0] + (c & 1), low[1] + (c >> 1 & 1), low[2] + (c >> 2)];
                let Some(place) = tiles.locate(cell) else { continue };
                let ball = m.radius.abs() - (tiles.centre(cell) - m.x).norm();
                changed.push((place, if m.radius > 0.0 { ball } else { -ball }, m.radius > 0.0));
            }
        }
        changed.par_sort_by_key(|c| c.0);
        let mut at = 0;
        let mut new = Vec::new();
        while at < changed.len() {
            let place = changed[at].0;
            let (mut plus, mut minus) = (phi[place], phi[place]);
            while at < changed.len() && changed[at].0 == place {
                let (_, value, outside) = changed[at];
                if outside {
                    plus = plus.max(value)
                } else {
                    minus = minus.min(value)
                }
                at += 1;
            }
            new.push((place, if plus.abs() <= minus.abs() { plus } else { minus }));
        }
        let band = BAND * h;
        new.iter().for_each(|(p, v)| self.set.phi[*p] = v.clamp(-band, band));
    }

    /// Give each marker the radius of the ball that touches the surface; drop those that are far away.
    fn measure_radii(&mut self) {
        let (h, set) = (self.set.tiles.h(), &self.set);
        self.markers = self
            .markers
            .par_iter()
            .filter_map(|m| {
                let phi = set.distance(&m.x);
                let side = m.radius.signum();
                if phi.abs() > REACH * h || (side > 0.0 && phi < -DROWNED * h) {
                    return None;
                }
                Some(Marker { radius: side * (side * phi).clamp(RADIUS[0] * h, RADIUS[1] * h), ..*m })
            })
            .collect();
    }

    /// Fill the cells near the surface up to their number of markers, and thin out those that have too many.
    fn seed(&mut self) {
        let tiles = &self.set.tiles;
        let (h, v) = (tiles.h(), tiles.volume());
        let markers = Self::sorted(tiles, std::mem::take(&mut self.markers));
        self.markers = markers;
        let start = self.of_tiles();
        let near = (REACH + 0.9) * h;
        let of_tile = |t: usize| {
            let own = &self.markers[start[t]..start[t + 1]];
            let mut made = Vec::new();
            let mut next = own.iter().peekable();
            for l in 0..v {
                let cell = tiles.cell(t * v + l);
                let mut count = 0;
                while let Some(m) = next.next_if(|m| tiles.cell_at(&m.x) == cell) {
                    // An escaped marker is never too many.
                    let escaped = -self.set.distance(&m.x) * m.radius.signum() > m.radius.abs();
                    if escaped || count < self.per_cell {
                        made.push(*m);
                        count += 1;
                    }
                }
                if self.set.phi[t * v + l].abs() < near && self.set.solid[t * v + l] > -h {
                    self.fill_cell(cell, count, &mut made);
                }
            }
            made
        };
        let all: Vec<Vec<Marker>> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
        self.markers = all.concat();
    }

    /// New markers for a cell that has `count`: random places that are near enough to the surface.
    fn fill_cell(&self, cell: [i32; 3], count: usize, made: &mut Vec<Marker>) {
        let tiles = &self.set.tiles;
        let h = tiles.h();
        let key = (cell[0] as u32 as u64) << 32 | cell[1] as u32 as u64;
        for n in count..self.per_cell {
            let other = (cell[2] as u32 as u64) << 32 | n as u64;
            let unit = |a: u64| hash_unit([key, other, self.moment, a]);
            let x = tiles.corner(cell) + Vec3::new(unit(0), unit(1), unit(2)) * h;
            let phi = self.set.distance(&x);
            if (RADIUS[0] * h..REACH * h).contains(&phi.abs()) && self.set.knows_its_side(&x) {
                made.push(Marker { x, radius: phi.signum() * phi.abs().min(RADIUS[1] * h) });
            }
        }
    }

    /// Take liquid away where a distance is positive, such as beyond an open side.
    pub fn cut_away(&mut self, distance: impl Fn(&Vec3) -> f64 + Sync) {
        self.markers.retain(|m| !(m.radius < 0.0 && distance(&m.x) > 0.0));
        self.set.cut_away(distance);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.set.bytes() + 32 * self.markers.len()
    }
}

impl SurfaceTracker for ParticleLevelSet {
    fn advect(&mut self, carry: &Carry) -> Result<()> {
        let travel = self.set.travel(carry)?;
        let velocity = self.set.velocity_in_band(carry)?;
        let closed = self.set.close_gaps(&velocity, carry);
        if self.per_cell > 0 {
            // What was air in there is none any more.
            let tiles = &self.set.tiles;
            let place = |m: &Marker| tiles.locate(tiles.cell_at(&m.x));
            let is_closed = |m: &Marker| place(m).is_some_and(|p| closed.binary_search(&p).is_ok());
            if !closed.is_empty() {
                self.markers =
                    self.markers.par_iter().filter(|m| !(m.radius > 0.0 && is_closed(m))).copied().collect();
            }
            self.carry_markers(&velocity, carry, travel + 3);
        }
        self.set.advect_along(&velocity, carry, travel);
        self.moment += 1;
        if self.per_cell > 0 {
            let tiles = &self.set.tiles;
            self.markers = Self::sorted(tiles, std::mem::take(&mut self.markers));
            // A marker deep inside a solid knows nothing of a surface.
            let set = &self.set;
            self.markers = self.markers.par_iter().filter(|m| set.knows_its_side(&m.x)).copied().collect();
            self.correct();
        }
        Ok(())
    }

    fn unite(&mut self, bounds: &Aabb, distance: &(dyn Fn(&Vec3) -> f64 + Sync)) {
        // What was air in there is none any more.
        self.markers.retain(|m| !(bounds.contains(&m.x) && m.radius > 0.0 && distance(&m.x) < 0.0));
        self.set.unite(bounds, distance);
    }

    fn restore(&mut self) -> Result<()> {
        self.set.restore()?;
        if self.per_cell > 0 {
            self.correct();
            self.measure_radii();
            if self.moment.is_multiple_of(SEEDED_EVERY) {
                self.seed();
            }
        }
        Ok(())
    }

    fn distances(&self, x: &[Vec3]) -> Vec<f64> {
        self.set.distances(x)
    }

    fn measure(&self) -> [f64; 2] {
        self.set.measure()
    }

    fn swell(&mut self, by: f64) {
        if by == 0.0 {
            return;
        }
        // Markers that stayed behind would soon be found on the wrong side and pull the surface back.
        let set = &self.set;
        self.markers.par_iter_mut().for_each(|m| m.x += set.outward(&m.x) * by);
        self.markers = Self::sorted(&set.tiles, std::mem::take(&mut self.markers));
        self.set.swell(by);
    }

    fn triangulate(&self, overlap: f64) -> Result<TriMesh> {
        self.set.triangulate(overlap)
    }
}
