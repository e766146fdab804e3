//! Liquid that is there from the start, that is let in, that drains, and the particles for it.
//!
//! A volume of liquid that touches a wall has no free surface there. Its distance is believed only
//! where the nearest point of its surface is away from solids; elsewhere it is continued linearly, so
//! that a pool filled to its walls is level up to the glass.

use super::{Mac, State};
use crate::error::{Error, Result};
use crate::field::{Solids, VelocityPatch};
use crate::grid::{Order, Patch, SIDE, Tiles, extend_average, extend_linear, redistance_where};
use crate::math::{Aabb, Vec3};
use crate::simulation::liquid::Step;
use crate::solver::mac::MacGrid;
use crate::surface::vouch;
use rayon::prelude::*;

/// Layers of solid into which a surface is continued linearly; deeper in it goes on unchanged.
const LINEAR_LAYERS: usize = 2;
/// Layers of solid that are filled at all: as many as two tiles have.
const LAYERS: usize = 2 * SIDE;
/// A surface further away than this many cells is not continued into a solid: depth is no slope.
const NEAR: f64 = 2.0;
/// A surface nearer to a solid than this many cells is not free.
const TOUCHES: f64 = 0.25;
/// Distance in cells that keeps every interpolation with it inside a solid.
const BLOCKED: f64 = 100.0;
/// Deeper than this many cells a cell must not run out of particles.
const DEEP: f64 = 1.5;

/// A volume of liquid at the start.
pub struct InitialVolume<'a> {
    /// Signed distance, negative in liquid.
    pub distance: &'a (dyn Fn(&Vec3) -> f64 + Sync),
    pub bounds: Aabb,
    pub velocity: &'a (dyn Fn(&Vec3) -> Vec3 + Sync),
}

impl Mac {
    /// Fill the volumes and seed them with particles.
    pub(super) fn fill(&mut self, solids: &Solids, volumes: &[InitialVolume]) -> Result<()> {
        let tiles = self.initial_tiles(volumes);
        let grid = MacGrid::new(tiles, solids, None);
        self.next = State { grid, next_id: 1, emitted: self.now.emitted.clone(), ..State::default() };
        self.next.grid.close_thin(solids);
        let (h, band) = (self.options.cell, self.band());
        let solid = self.next.grid.solid_at_centres();
        let tiles = &self.next.grid.tiles;
        let nearest = |x: &Vec3| volumes.iter().map(|v| (v.distance)(x)).fold(band, f64::min);
        let places: Vec<(f64, u8)> = (0..tiles.cells())
            .into_par_iter()
            .map(|place| {
                let x = self.centre(tiles, place);
                let d = nearest(&x).max(-band);
                let known = solid[place] >= 0.0 && (d.abs() >= band || is_free(solids, &nearest, &x, d, h));
                (d, known as u8)
            })
            .collect();
        let (own, known): (Vec<f64>, Vec<u8>) = places.into_iter().unzip();
        let mut phi = own.clone();
        // Beside a wall the distance is that to the wall, down to the depth of the band.
        continue_into_solids(tiles, &mut phi, &known, super::BAND_CELLS as usize, 0.99 * band, band)?;
        for p in (0..phi.len()).filter(|&p| known[p] == 0 && solid[p] >= 0.0) {
            // The side is known from the volume itself; what came through a wall says nothing.
            if phi[p] * own[p] <= 0.0 {
                phi[p] = band.copysign(own[p]);
            }
        }
        self.next.grid.liquid = phi;
        self.restore_distance(&solid)?;
        let velocity = |x: &Vec3| {
            let inside = volumes.iter().min_by(|a, b| (a.distance)(x).total_cmp(&(b.distance)(x)));
            inside.map_or(Vec3::zeros(), |v| (v.velocity)(x))
        };
        self.seed_cells(&velocity, |_, phi, count| (phi < h && count == 0, 0.0))?;
        self.start_velocity(&velocity);
        vouch(&self.next.grid.tiles, &self.next.grid.liquid, &mut self.next.particles);
        let wet = self.wet(&self.next);
        self.next.volume = self.measure(&self.next, &wet);
        self.next.expected = self.next.volume;
        self.now = std::mem::take(&mut self.next);
        Ok(())
    }

    /// Face velocities of the first step, which moves particles before any solve.
    fn start_velocity(&mut self, velocity: &dyn Fn(&Vec3) -> Vec3) {
        let grid = &mut self.next.grid;
        let flat = grid.tiles.is_flat();
        for axis in 0..grid.tiles.axes() {
            for place in 0..grid.tiles.cells() {
                if grid.liquid[place] < 2.0 * self.options.cell {
                    let offset = crate::field::face_offset(axis, flat) * self.options.cell;
                    let x = grid.tiles.corner(grid.tiles.cell(place)) + offset;
                    grid.velocity[axis][place] = velocity(&x)[axis];
                }
            }
        }
    }

    fn centre(&self, tiles: &Tiles, place: usize) -> Vec3 {
        tiles.centre(tiles.cell(place))
    }

    /// Tiles that hold liquid or its band.
    fn initial_tiles(&self, volumes: &[InitialVolume]) -> Tiles {
        let o = &self.options;
        let side = o.cell * SIDE as f64;
        let depth = if o.flat { o.cell } else { side };
        // A tile further away than half its diagonal and the band holds none of the liquid.
        let reach = 0.5 * 3f64.sqrt() * side + self.band();
        let near = |v: &InitialVolume, c: &[i32; 3]| {
            let middle = Vec3::new(c[0] as f64 + 0.5, c[1] as f64 + 0.5, 0.0) * side;
            let middle = middle + Vec3::z() * ((c[2] as f64 + 0.5) * depth);
            (v.distance)(&(o.origin + middle)) < reach
        };
        let of_volume = |v: &InitialVolume| -> Vec<[i32; 3]> {
            super::tiles_of_box(o, &v.bounds, self.band()).filter(|c| near(v, c)).collect()
        };
        Tiles::new(o.cell, o.origin, o.flat, volumes.iter().flat_map(of_volume).collect())
    }

    /// Make the liquid of the next state a distance again, continued into solids.
    ///
    /// Only liquid and air make a surface; what is inside a wall follows from it. First the sides of
    /// the surface are continued, then the distance, which goes on in solids as planes do.
    pub(super) fn restore_distance(&mut self, solid: &[f64]) -> Result<()> {
        let (band, near, grid) = (self.band(), NEAR * self.options.cell, &mut self.next.grid);
        let known: Vec<u8> = solid.par_iter().map(|d| (*d >= 0.0) as u8).collect();
        continue_into_solids(&grid.tiles, &mut grid.liquid, &known, LINEAR_LAYERS, near, band)?;
        redistance_where(&grid.tiles, &mut grid.liquid, &known, super::BAND_CELLS as usize, Order::Second)
    }

    /// Take away what is beyond the open sides of the domain, and write it off.
    pub(super) fn drain(&mut self, step: &Step, _solid: &[f64]) -> Result<()> {
        let outside = |x: &Vec3| step.solids.is_drained(x);
        let tiles = &self.next.grid.tiles;
        let liquid = &self.next.grid.liquid;
        let gone: Vec<usize> = (0..tiles.cells())
            .into_par_iter()
            .filter(|&p| liquid[p] < 0.0 && outside(&self.centre(tiles, p)))
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        let before = self.next.grid.liquid_volume();
        let h = self.options.cell;
        gone.iter().for_each(|&p| self.next.grid.liquid[p] = 0.5 * h);
        self.next.expected -= before - self.next.grid.liquid_volume();
        Ok(())
    }

    /// Keep the regions of the sources full, and enter what they gave into the ledger.
    pub(super) fn let_in(&mut self, step: &Step, solid: &[f64]) -> Result<()> {
        for inflow in step.inflows {
            let before = self.next.grid.liquid_volume();
            let State { grid, particles, .. } = &mut self.next;
            let tiles = &grid.tiles;
            let reach = inflow.bounds.grow(2.0 * tiles.h());
            tiles.for_each(&mut grid.liquid, |t, part| {
                for (l, phi) in part.iter_mut().enumerate() {
                    let x = tiles.centre(tiles.cell(t * tiles.volume() + l));
                    if reach.contains(&x) {
                        *phi = phi.min((inflow.distance)(&x));
                    }
                }
            });
            let inside: Vec<bool> =
                particles.position.par_iter().map(|x| (inflow.distance)(x) < 0.0).collect();
            for (p, v) in particles.velocity.iter_mut().enumerate().filter(|(p, _)| inside[*p]) {
                *v = inflow.velocity;
                if let Some(c) = particles.affine.get_mut(p) {
                    *c = [[0.0; 3]; 3];
                }
            }
            self.restore_distance(solid)?;
            let gave = self.next.grid.liquid_volume() - before;
            self.next.emitted[inflow.index] += gave;
            self.next.expected += gave;
            let (half, h) = (self.seeding.full() / 2, self.options.cell);
            self.seed_cells(&|_| inflow.velocity, |x, _, count| {
                ((inflow.distance)(x) < h && count < half, 0.0)
            })?;
        }
        Ok(())
    }

    /// Keep cells from running out of particles, and from being crowded.
    pub(super) fn reseed(&mut self) -> Result<()> {
        self.thin_out();
        let half = self.seeding.full() / 2;
        let deep = -DEEP * self.options.cell;
        let old = &self.now.grid;
        let (tiles, mut patch) = (&old.tiles, VelocityPatch::default());
        let mut loaded = None;
        let mut velocity = |x: &Vec3| {
            let coord = tiles.split(tiles.cell_at(x)).0;
            if loaded != Some(coord) {
                patch.load(tiles, &old.velocity, coord, 1);
                loaded = Some(coord);
            }
            patch.sample(&tiles.to_grid(x))
        };
        let seeds = self.seeds(|_, phi, count| (phi < deep && count < half, 0.1 * self.options.cell));
        let start: Vec<Vec3> = seeds.iter().map(&mut velocity).collect();
        self.add_particles(&seeds, &start)
    }

    /// Remove particles, youngest first, from cells that hold twice as many as they should.
    fn thin_out(&mut self) {
        let State { grid, particles, .. } = &mut self.next;
        let most = 2 * self.seeding.full();
        let mut keep = vec![true; particles.len()];
        for place in 0..grid.tiles.cells() {
            let range = particles.of_cell(place);
            if range.len() > most {
                keep[range.start + most..range.end].fill(false);
            }
        }
        if keep.iter().any(|k| !k) {
            particles.retain(&keep);
            // Every particle that is left lies on a tile, so sorting cannot fail.
            let _ = particles.sort(&grid.tiles);
        }
    }

    fn seed_cells(
        &mut self,
        velocity: &dyn Fn(&Vec3) -> Vec3,
        wants: impl Fn(&Vec3, f64, usize) -> (bool, f64) + Sync,
    ) -> Result<()> {
        let seeds = self.seeds(wants);
        let start: Vec<Vec3> = seeds.iter().map(velocity).collect();
        self.add_particles(&seeds, &start)
    }

    /// Places for new particles in the liquid of the next state. `wants(centre, distance, count)` says
    /// whether a cell gets some, and how deep in the liquid they must be.
    fn seeds(&self, wants: impl Fn(&Vec3, f64, usize) -> (bool, f64) + Sync) -> Vec<Vec3> {
        let State { grid, particles, moment, .. } = &self.next;
        let tiles = &grid.tiles;
        let seeded = !particles.start.is_empty();
        let of_tile = |patches: &mut (Patch, Patch), t: usize| {
            let mut found = Vec::new();
            let mut loaded = false;
            for l in 0..tiles.volume() {
                let place = t * tiles.volume() + l;
                let count = if seeded { particles.of_cell(place).len() } else { 0 };
                let cell = tiles.cell(place);
                if grid.liquid[place] > tiles.h() {
                    continue;
                }
                let (wanted, depth) = wants(&tiles.centre(cell), grid.liquid[place], count);
                if !wanted {
                    continue;
                }
                if !loaded {
                    patches.0.load(tiles, &grid.liquid, tiles.coords()[t], 1, tiles.h());
                    // Beyond the tiles nothing is seeded.
                    patches.1.load(tiles, &grid.solid, tiles.coords()[t], 2, -BLOCKED * tiles.h());
                    loaded = true;
                }
                for n in count..self.seeding.full() {
                    let x = self.seeding.place(tiles, cell, n, *moment);
                    let g = tiles.to_grid(&x);
                    let node = [g.x, g.y, if tiles.is_flat() { 0.0 } else { g.z }];
                    let inside = patches.0.sample(tiles.centred(&x)) < -depth;
                    if inside && patches.1.sample(node) > 0.0 {
                        found.push(x);
                    }
                }
            }
            found
        };
        let found: Vec<Vec<Vec3>> =
            (0..tiles.len()).into_par_iter().map_init(<(Patch, Patch)>::default, of_tile).collect();
        found.concat()
    }

    fn add_particles(&mut self, places: &[Vec3], velocity: &[Vec3]) -> Result<()> {
        let affine = matches!(self.options.transfer, crate::solver::mac::Transfer::Apic);
        let State { grid, particles, next_id, .. } = &mut self.next;
        for (x, v) in places.iter().zip(velocity) {
            particles.push(*x, *v, *next_id, 0.0, affine.then_some([[0.0; 3]; 3]));
            *next_id += 1;
        }
        if places.is_empty() && !particles.start.is_empty() {
            return Ok(());
        }
        if particles.len() >= u32::MAX as usize {
            return Err(Error::invalid("particles", "more than four thousand million particles"));
        }
        particles.sort(&grid.tiles)
    }
}

/// Fill the cells that are not known: linearly within `layers` of known ones if the surface is nearer
/// than `near`, which keeps still water level up to the wall, else with the mean of what is beside.
fn continue_into_solids(
    tiles: &Tiles,
    phi: &mut [f64],
    known: &[u8],
    layers: usize,
    near: f64,
    band: f64,
) -> Result<()> {
    let (mut mean, mut depth) = (phi.to_vec(), phi.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let mut layer = known.to_vec();
    extend_average(tiles, &mut mean, &mut known.to_vec(), LAYERS)?;
    // How far the surface is, not on which side: in the middle of a wall both sides meet.
    extend_average(tiles, &mut depth, &mut layer, layers)?;
    extend_linear(tiles, phi, known, layers)?;
    phi.par_iter_mut().enumerate().filter(|(p, _)| known[*p] == 0).for_each(|(p, phi)| {
        let beside = layer[p] != 0 && depth[p] < near;
        *phi = if beside { *phi } else { mean[p] }.clamp(-band, band);
    });
    Ok(())
}

/// Whether the surface nearest to x is away from solids, so that the distance d can be believed.
fn is_free(solids: &Solids, distance: &dyn Fn(&Vec3) -> f64, x: &Vec3, d: f64, h: f64) -> bool {
    let e = 1e-3 * h;
    let along = |a: usize| {
        let (mut low, mut high) = (*x, *x);
        low[a] -= e;
        high[a] += e;
        distance(&high) - distance(&low)
    };
    let n = Vec3::new(along(0), along(1), along(2)).try_normalize(1e-9 * h).unwrap_or_else(Vec3::zeros);
    let foot = x - n * d;
    // Where two sides are equally near the gradient leads to neither.
    distance(&foot).abs() < 0.1 * h && solids.distance(&foot, h) > TOUCHES * h
}
