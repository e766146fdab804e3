//! Particles in a band below the surface only, for deep water.
//!
//! Pictures show the surface; deep below it particles cost most and matter least. With a band of W
//! cells the grid alone carries what is deeper [FAW16]:
//!
//! ```text
//!     φ > −(W−2) h           band: particles as everywhere else
//!     −W h < φ ≤ −(W−2) h    rim: kept complete; its particles share the cell's volume evenly
//!     φ ≤ −W h               deep: no particles; always full; velocity u′(x) = u(x − u Δt)
//! ```
//!
//! The rim is two cells wide: liquid that comes up by more in a substep would arrive in the band without particles and be lost.
//! What enters the band comes through the rim, where every cell is exactly full, and what leaves it is
//! forgotten; the ledger of volume does not change. Round sources and open sides there is no deep
//! liquid: particles are what comes in and goes out there. Nor is there any round sheets without thickness, where paths of
//! the grid would lead from one side to the other: tiles that a sheet runs through and those about them, into which it may
//! move, are kept complete, and their velocity is that of their particles; in cells that do not see all
//! that is round them particles do everything, as without a band. Checked by tests/water.rs
//! (`deep_water_needs_particles_only_near_its_surface`) and tests/sheets.rs.

use super::filling::Newcomers;
use super::{Mac, State};
use crate::error::Result;
use crate::field::{Solids, VelocityPatch, face_offset};
use crate::grid::{Patch, SIDE, Tiles};
use crate::math::{Aabb, Vec3};
use crate::simulation::liquid::Step;
use crate::solver::mac::MacGrid;
use rayon::prelude::*;

/// Particles stay everywhere within this many cells of a source, a sink or an open side.
const KEPT: f64 = 8.0;

impl Mac {
    /// Depths below the surface, m, at which the rim and the deep liquid begin.
    fn depths(&self) -> Option<[f64; 2]> {
        let width = self.options.narrow_band;
        (width > 0.0).then_some([(width - 2.0) * self.options.cell, width * self.options.cell])
    }

    /// The tiles of deep liquid: no particle asks for them.
    pub(super) fn add_deep_tiles(&self, coords: &mut Vec<[i32; 3]>) {
        let (Some([rim, _]), tiles) = (self.depths(), &self.now.grid.tiles) else { return };
        let parts = self.now.grid.liquid.chunks(tiles.volume()).zip(tiles.coords());
        coords.extend(parts.filter(|(phi, _)| phi.iter().any(|d| *d < -rim)).map(|(_, c)| *c));
    }

    /// Whether a cell of the next grid is deep liquid of the old one and holds no particles.
    pub(super) fn is_bare(&self, cell: [i32; 3], place: usize) -> bool {
        let Some([rim, _]) = self.depths() else { return false };
        let particles = &self.next.particles;
        let old = &self.now.grid;
        (particles.start.is_empty() || particles.of_cell(place).is_empty())
            && old.tiles.locate(cell).is_some_and(|p| old.liquid[p] <= -rim)
    }

    /// Whether a cell that is about to be seeded at the start belongs to the deep.
    pub(super) fn starts_deep(&self, solids: &Solids, place: usize) -> bool {
        let Some([_, deep]) = self.depths() else { return false };
        let (grid, h) = (&self.next.grid, self.options.cell);
        let near = || {
            let x = self.centre(&grid.tiles, place);
            near_open_side(solids, &Aabb::new(x.add_scalar(-0.5 * h), x.add_scalar(0.5 * h)), h)
        };
        grid.liquid[place] <= -deep && !is_beside_sheets(&grid.tiles, place / grid.tiles.volume()) && !near()
    }

    /// Forget the particles of deep liquid, complete those of the rim, and call both full.
    /// The distance of the next state has been carried; the fullness is not yet known.
    pub(super) fn keep_band(&mut self, step: &Step) -> Result<()> {
        let Some([rim, deep]) = self.depths() else { return Ok(()) };
        let tiles = &self.next.grid.tiles;
        let whole = whole_tiles(tiles, step);
        let (v, phi) = (tiles.volume(), &self.next.grid.liquid);
        let is_rim = |p: usize| {
            let ruled = || is_clear(tiles, p) || self.is_bare(tiles.cell(p), p);
            phi[p] <= -rim && (phi[p] > -deep || whole[p / v]) && ruled()
        };
        let is_deep = |p: usize| phi[p] <= -deep && !whole[p / v];
        let most = self.seeding.full();
        let kept_of_tile = |t: usize| {
            let mut keep = Vec::with_capacity(self.next.particles.of_tile(tiles, t).len());
            for p in t * v..(t + 1) * v {
                let here = self.next.particles.of_cell(p).len();
                // Gaps are filled, so what is more than full must go, or mixing would add more and more.
                let kept = if is_deep(p) {
                    0
                } else if is_rim(p) {
                    here.min(most)
                } else {
                    here
                };
                keep.extend((0..here).map(|i| i < kept));
            }
            keep
        };
        let keep: Vec<Vec<bool>> = (0..tiles.len()).into_par_iter().map(kept_of_tile).collect();
        let keep = keep.concat();
        let places = self.gaps(|_, p| is_rim(p), |_, _| true);
        let velocity = self.carried_velocity(&places, step.dt);
        let rims: Vec<usize> = (0..phi.len()).into_par_iter().filter(|p| is_rim(*p)).collect();
        let volume = vec![0.0; places.len()];
        self.push_particles(Newcomers { places, velocity, volume, ..Newcomers::default() })?;
        let State { grid, particles, .. } = &mut self.next;
        particles.merge(&grid.tiles, &keep)?;
        let State { grid, particles, .. } = &mut self.next;
        let cell = grid.tiles.h().powi(3);
        for p in rims {
            let range = particles.of_cell(p);
            let share = (grid.room[p] * cell / range.len().max(1) as f64) as f32;
            particles.volume[range].fill(share);
        }
        Ok(())
    }

    /// Rim and deep cells are full, whatever the particles say.
    pub(super) fn fill_below_band(&mut self) {
        let Some([rim, _]) = self.depths() else { return };
        let MacGrid { tiles, liquid, .. } = &self.next.grid;
        self.full.par_iter_mut().zip(liquid).enumerate().for_each(|(p, (full, phi))| {
            if *phi <= -rim && *full >= 0.0 && is_clear(tiles, p) {
                *full = 1.0;
            }
        });
    }

    /// The velocity that the old grid carries to points of the new one.
    fn carried_velocity(&self, points: &[Vec3], dt: f64) -> Vec<Vec3> {
        let old = &self.now.grid;
        let chunk = |points: &[Vec3]| {
            let (mut patch, mut loaded) = (VelocityPatch::default(), None);
            let at = |x: &Vec3| {
                let coord = old.tiles.split(old.tiles.cell_at(x)).0;
                if loaded != Some(coord) {
                    patch.load(&old.tiles, &old.velocity, coord, self.reach.margin(&old.tiles, coord) + 1);
                    loaded = Some(coord);
                }
                let g = old.tiles.to_grid(x);
                // A path may lead through a sheet.
                let still = old.tiles.find_tile(coord).is_some_and(|t| is_beside_sheets(&old.tiles, t));
                patch.sample(&if still { g } else { patch.trace(&g, -dt) })
            };
            points.iter().map(at).collect::<Vec<_>>()
        };
        points.par_chunks(1024).flat_map_iter(chunk).collect()
    }

    /// Velocity of faces in deep liquid and its rim, carried from the old grid. `known` marks them.
    pub(super) fn carry_deep_velocity(&mut self, dt: f64, known: &mut [Vec<u8>; 3]) {
        let Some([rim, _]) = self.depths() else { return };
        let (old, reach) = (&self.now.grid, &self.reach);
        let grid = &mut self.next.grid;
        let (tiles, phi) = (&grid.tiles, &grid.liquid);
        let (v, flat) = (tiles.volume(), tiles.is_flat());
        // A face belongs to the deep if both its cells do.
        let inside = -rim - 0.5 * tiles.h();
        let [ux, uy, uz] = &mut grid.velocity;
        let [kx, ky, kz] = known;
        let u = ux.par_chunks_mut(v).zip(uy.par_chunks_mut(v)).zip(uz.par_chunks_mut(v));
        let k = kx.par_chunks_mut(v).zip(ky.par_chunks_mut(v)).zip(kz.par_chunks_mut(v));
        let patches = <(VelocityPatch, Patch)>::default;
        u.zip(k).enumerate().for_each_init(patches, |(patch, near), (t, (((x, y), z), ((kx, ky), kz)))| {
            if !phi[t * v..(t + 1) * v].iter().any(|d| *d < inside) || is_beside_sheets(tiles, t) {
                return;
            }
            let coord = tiles.coords()[t];
            near.load(tiles, phi, coord, 1, 0.0);
            patch.load(&old.tiles, &old.velocity, coord, reach.margin(&old.tiles, coord) + 1);
            let (u, k) = ([x, y, z], [kx, ky, kz]);
            let deep: Vec<usize> = (0..v).filter(|l| phi[t * v + l] < inside).collect();
            let corner = |l: usize| Vec3::from(tiles.cell(t * v + l).map(f64::from));
            // Neighbouring paths differ by little: one path, that of the cell's middle, serves its faces.
            let half = Vec3::new(0.5, 0.5, if flat { 0.0 } else { 0.5 });
            let mut ends: Vec<Vec3> = deep.iter().map(|l| corner(*l) + half).collect();
            patch.trace_all(&mut ends, -dt);
            for (l, end) in deep.into_iter().zip(ends) {
                let (cell, corner) = (tiles.cell(t * v + l), corner(l));
                let way = end - corner - half;
                for axis in 0..tiles.axes() {
                    let mut below = cell;
                    below[axis] -= 1;
                    if near.get(below) < inside {
                        u[axis][l] = patch.sample_axis(axis, &(corner + face_offset(axis, flat) + way));
                        k[axis][l] = 1;
                    }
                }
            }
        });
    }
}

/// The tiles in which particles are kept however deep they are.
fn whole_tiles(tiles: &Tiles, step: &Step) -> Vec<bool> {
    let h = tiles.h();
    let bounds = step.inflows.iter().map(|i| i.bounds).chain(step.outflows.iter().map(|o| o.bounds));
    let sources: Vec<Aabb> = bounds.map(|b| b.grow(KEPT * h)).collect();
    let one = |t: usize| {
        let low = tiles.corner(tiles.base(t));
        let size = Vec3::new(SIDE as f64, SIDE as f64, tiles.depth() as f64) * h;
        let here = Aabb::new(low, low + size);
        let open = sources.iter().any(|s| s.overlaps(&here)) || near_open_side(step.solids, &here, h);
        open || is_beside_sheets(tiles, t)
    };
    (0..tiles.len()).into_par_iter().map(one).collect()
}

/// Whether no sheet stands between a cell and one of those round it.
fn is_clear(tiles: &Tiles, place: usize) -> bool {
    tiles.sheets(place / tiles.volume()).is_none_or(|s| s.is_clear(place % tiles.volume()))
}

/// Whether a sheet runs through a tile or through one of those round it.
fn is_beside_sheets(tiles: &Tiles, t: usize) -> bool {
    let layers = if tiles.is_flat() { 9..18 } else { 0..27 };
    let round = || layers.map(|n| tiles.neighbour(t, n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1) as usize);
    tiles.any_sheets() && round().any(|n| n < tiles.len() && tiles.sheets(n).is_some())
}

/// Whether a box comes near to an open side of the domain.
fn near_open_side(solids: &Solids, bounds: &Aabb, h: f64) -> bool {
    let bounds = bounds.grow(KEPT * h);
    [bounds.lo, bounds.hi].iter().any(|x| solids.is_drained(x))
}
