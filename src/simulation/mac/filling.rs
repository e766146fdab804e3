//! Liquid that is there from the start, that is let in, and the particles for it.
//!
//! A volume of liquid that touches a wall has no free surface there. Its distance is believed only
//! where the nearest point of its surface is away from solids; elsewhere it is continued linearly, so
//! that a pool filled to its walls is level up to the glass.

use super::sheets::mean_seen;
use super::{Mac, State};
use crate::error::{Error, Result};
use crate::field::{Id, Particles, Solids};
use crate::grid::{Order, Patch, SIDE, Tiles, redistance_where};
use crate::math::{Aabb, Vec3, ordered_sum};
use crate::simulation::liquid::{Inflow, Step};
use crate::solver::mac::MacGrid;
use crate::surface::{TOUCHES, continue_into_solids, is_free};
use rayon::prelude::*;

/// Layers of solid into which a surface is continued linearly; deeper in it goes on unchanged.
const LINEAR_LAYERS: usize = 2;
/// A surface further away than this many cells is not continued into a solid: depth is no slope.
pub(super) const NEAR: f64 = 2.0;
/// Distance in cells that keeps every interpolation with it inside a solid.
const BLOCKED: f64 = 100.0;
/// Parts of a cell along an axis by which the volume of a source is measured.
const FINE: usize = 4;
/// A volume of liquid at the start.
pub struct InitialVolume<'a> {
    /// Signed distance, negative in liquid.
    pub distance: &'a (dyn Fn(&Vec3) -> f64 + Sync),
    pub bounds: Aabb,
    pub velocity: &'a (dyn Fn(&Vec3) -> Vec3 + Sync),
    /// Index of its liquid in the scene.
    pub liquid: u8,
    /// Writes what liquid at a point carries behind a list.
    pub paint: &'a (dyn Fn(&Vec3, &mut Vec<f32>) + Sync),
}

/// Particles about to be added, in the order of the grid.
#[derive(Default)]
pub(super) struct Newcomers {
    pub places: Vec<Vec3>,
    pub velocity: Vec<Vec3>,
    pub volume: Vec<f32>,
    pub liquid: Vec<u8>,
    /// What they carry, a row each; empty if nothing is carried.
    pub carried: Vec<f32>,
}

impl Mac {
    /// Fill the volumes and seed them with particles.
    pub(super) fn fill(&mut self, solids: &Solids, volumes: &[InitialVolume]) -> Result<()> {
        let tiles = self.initial_tiles(volumes);
        let grid = MacGrid::new(tiles, solids, None);
        self.next = State { grid, next_id: 1, emitted: self.now.emitted.clone(), ..State::default() };
        let (h, band) = (self.options.cell, self.band());
        let (tiles, solid) = (&self.next.grid.tiles, &self.next.grid.centre);
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
        continue_into_solids(tiles, &mut phi, &known, self.band_cells() as usize, 0.99 * band, band)?;
        let mut touching = Vec::new();
        for p in (0..phi.len()).filter(|&p| known[p] == 0 && solid[p] >= 0.0) {
            let at_sheet = || solids.closest_sheet(&self.centre(tiles, p), TOUCHES * h).is_some();
            // The side is known from the volume itself; what came through a wall says nothing. Only where a volume ends
            // at a sheet it is a rounding, and the cells that are seen know better.
            if own[p].abs() < TOUCHES * h && at_sheet() {
                phi[p] = f64::NAN;
                touching.push(p);
            } else if phi[p] * own[p] <= 0.0 {
                phi[p] = band.copysign(own[p]);
            }
        }
        let seen = |p: &usize| mean_seen(&self.next.grid, &phi, *p).unwrap_or(band.copysign(own[*p]));
        let values: Vec<f64> = touching.iter().map(seen).collect();
        touching.into_iter().zip(values).for_each(|(p, d)| phi[p] = d);
        self.next.grid.liquid = phi;
        self.restore_distance(solids)?;
        let smoke = self.options.smoke.is_some();
        let inside = |x: &Vec3| match smoke {
            // Later volumes colour the air of earlier ones.
            true => volumes.iter().rev().find(|v| (v.distance)(x) < 0.0).or(volumes.first()),
            false => volumes.iter().min_by(|a, b| (a.distance)(x).total_cmp(&(b.distance)(x))),
        };
        let velocity = |x: &Vec3| inside(x).map_or(Vec3::zeros(), |v| (v.velocity)(x));
        // The distance has been continued through walls; what is beyond them is not part of the volume.
        // At a sheet it ends where the sheet is.
        let past = |x: &Vec3| if solids.closest_sheet(x, TOUCHES * h).is_some() { 0.0 } else { TOUCHES * h };
        let within = |x: &Vec3| nearest(x) < past(x);
        self.next.particles.stride = self.options.columns.stride();
        let newcomers = self.seeds(solids, &within);
        let newcomers = Newcomers {
            velocity: newcomers.places.iter().map(velocity).collect(),
            liquid: newcomers.places.iter().map(|x| inside(x).map_or(0, |v| v.liquid)).collect(),
            carried: self.painted(&newcomers.places, |x| inside(x).map(|v| v.paint)),
            ..newcomers
        };
        self.add_particles(newcomers)?;
        self.start_affine(inside);
        if let Some(markers) = self.options.markers {
            self.next.particles = Particles::default();
            self.fill_tracked(solids, volumes, markers)?;
        }
        self.start_velocity(&velocity);
        self.next.below = super::sheets::close_own_faces(&mut self.next.grid, None);
        self.next.carry = self.next.grid.velocity.clone();
        self.next.carry_below = self.next.below.clone();
        let everywhere = std::array::from_fn(|_| self.next.grid.tiles.field(1));
        self.next.fastest = self.next.grid.max_speed(&everywhere);
        self.now = std::mem::take(&mut self.next);
        Ok(())
    }

    /// Gradients of the velocity that particles start with, each of its own volume: without them the first exchange with
    /// the grid would take some of its turning from what turns.
    fn start_affine<'a>(&mut self, of: impl Fn(&Vec3) -> Option<&'a InitialVolume<'a>>) {
        let Particles { position, affine, .. } = &mut self.next.particles;
        let (by, axes) = (0.25 * self.options.cell, if self.options.flat { 2 } else { 3 });
        for (x, rows) in position.iter().zip(affine) {
            let Some(InitialVolume { velocity, .. }) = of(x) else { continue };
            let change = |b: usize| velocity(&(x + Vec3::ith(b, by))) - velocity(&(x - Vec3::ith(b, by)));
            let columns: Vec<Vec3> = (0..axes).map(change).collect();
            for (a, row) in rows.iter_mut().enumerate().take(axes) {
                row.iter_mut().zip(&columns).for_each(|(to, change)| *to = (change[a] / (2.0 * by)) as f32);
            }
        }
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

    pub(super) fn centre(&self, tiles: &Tiles, place: usize) -> Vec3 {
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
    pub(super) fn restore_distance(&mut self, solids: &Solids) -> Result<()> {
        let (band, near, layers) = (self.band(), NEAR * self.options.cell, self.band_cells() as usize);
        let MacGrid { tiles, liquid, centre, .. } = &mut self.next.grid;
        let mut known: Vec<u8> = centre.par_iter().map(|d| (*d >= 0.0) as u8).collect();
        if solids.any_thin() {
            let bridges = bridges(tiles, liquid, centre);
            for (p, phi) in bridges {
                (liquid[p], known[p]) = (phi, 1);
            }
        }
        for (p, phi) in std::mem::take(&mut self.film_in_walls) {
            (liquid[p], known[p]) = (phi, 1);
        }
        continue_into_solids(tiles, liquid, &known, LINEAR_LAYERS, near, band)?;
        redistance_where(tiles, liquid, &known, layers, Order::Second)
    }

    /// Keep the regions of the sources full of particles, and enter what they gave into the ledger.
    pub(super) fn let_in(&mut self, step: &Step) -> Result<()> {
        let volume = self.options.cell.powi(3) / self.seeding.full() as f64;
        for inflow in step.inflows {
            let particles = &mut self.next.particles;
            let reach = inflow.bounds.grow(self.options.cell);
            let inside: Vec<usize> = (0..particles.len())
                .into_par_iter()
                .filter(|&p| {
                    let x = &particles.position[p];
                    reach.contains(x) && (inflow.distance)(x) < 0.0
                })
                .collect();
            if self.options.smoke.is_some() {
                self.colour(inflow, &inside);
                continue;
            }
            let held: f64 = inside.iter().map(|p| particles.volume[*p] as f64).sum();
            for p in inside {
                particles.velocity[p] = inflow.velocity;
                if let Some(c) = particles.affine.get_mut(p) {
                    *c = [[0.0; 3]; 3];
                }
            }
            let tiles = &self.next.grid.tiles;
            let wants = |cell: [i32; 3], place: usize| {
                let x = tiles.centre(cell);
                let near = reach.contains(&x) && (inflow.distance)(&x) < tiles.h();
                near && !self.is_bare(cell, place)
            };
            let inside =
                |x: &Vec3, _: f64| (inflow.distance)(x) < 0.0 && is_before_sheets(step.solids, x, tiles.h());
            let mut places = self.gaps(wants, inside);
            // Particles in motion leave gaps beside crowds. Who fills all of them gives half as much again as there is room for.
            let lacks = if inflow.fills { self.region_volume(inflow) - held } else { f64::INFINITY };
            let most = (inflow.budget.min(lacks.max(0.0)) / volume).round();
            if (places.len() as f64) > most {
                // From behind, so that what comes out is whole; the order of the grid settles ties.
                let mut order: Vec<usize> = (0..places.len()).collect();
                order.sort_by(|a, b| {
                    places[*a]
                        .dot(&inflow.velocity)
                        .total_cmp(&places[*b].dot(&inflow.velocity))
                        .then(a.cmp(b))
                });
                order.truncate(most as usize);
                order.sort_unstable();
                places = order.into_iter().map(|i| places[i]).collect();
            }
            let gave = places.len() as f64 * volume;
            self.next.emitted[inflow.index] += gave;
            self.next.expected += gave;
            self.add_particles(Newcomers {
                velocity: vec![inflow.velocity; places.len()],
                volume: vec![volume as f32; places.len()],
                liquid: vec![inflow.liquid; places.len()],
                carried: self.painted(&places, |_| Some(inflow.paint)),
                places,
            })?;
        }
        Ok(())
    }

    /// Volume of the region of a source outside solids, m³. Cells that its border may cross are looked at in [`FINE`] parts along
    /// each axis: nozzles are few cells wide, and planes through whole cells would cut a twentieth off a round one.
    fn region_volume(&self, inflow: &Inflow) -> f64 {
        let MacGrid { tiles, room, .. } = &self.next.grid;
        let (h, reach) = (tiles.h(), inflow.bounds.grow(self.options.cell));
        let fine = h / FINE as f64;
        let layers = if tiles.is_flat() { 1 } else { FINE };
        let offset = |n: usize| (n as f64 + 0.5) * fine - 0.5 * h;
        let part = |x: &Vec3, n: usize| {
            let up = if tiles.is_flat() { 0.0 } else { offset(n / (FINE * FINE)) };
            let at = Vec3::new(offset(n % FINE), offset(n / FINE % FINE), up);
            (0.5 - (inflow.distance)(&(x + at)) / fine).clamp(0.0, 1.0)
        };
        let share = |place: usize| {
            let (cell, x) = (tiles.cell(place), tiles.centre(tiles.cell(place)));
            if !reach.contains(&x) || self.is_bare(cell, place) {
                return 0.0;
            }
            // Half the diagonal of a cell is less than its width.
            room[place]
                * match (inflow.distance)(&x) / h {
                    d if d > 1.0 => 0.0,
                    d if d < -1.0 => 1.0,
                    _ => {
                        let parts = FINE * FINE * layers;
                        (0..parts).map(|n| part(&x, n)).sum::<f64>() / parts as f64
                    }
                }
        };
        ordered_sum(tiles.cells(), |range| range.map(share).sum::<f64>()) * h.powi(3)
    }

    /// Places for new particles in the parts of cells that hold none: in cells that `wants` names by their
    /// indices and their place, at points outside solids that `inside` accepts, given with the liquid's distance.
    pub(super) fn gaps(
        &self,
        wants: impl Fn([i32; 3], usize) -> bool + Sync,
        inside: impl Fn(&Vec3, f64) -> bool + Sync,
    ) -> Vec<Vec3> {
        let State { grid, particles, moment, .. } = &self.next;
        let tiles = &grid.tiles;
        let of_tile = |(liquid, solid): &mut (Patch, Patch), t: usize| {
            let (mut found, mut loaded) = (Vec::new(), false);
            for place in t * tiles.volume()..(t + 1) * tiles.volume() {
                let cell = tiles.cell(place);
                if !wants(cell, place) {
                    continue;
                }
                if !loaded {
                    liquid.load(tiles, &grid.liquid, tiles.coords()[t], 1, tiles.h());
                    // Beyond the tiles nothing is seeded.
                    solid.load(tiles, &grid.solid, tiles.coords()[t], 2, -BLOCKED * tiles.h());
                    loaded = true;
                }
                let here = if particles.start.is_empty() { 0..0 } else { particles.of_cell(place) };
                let taken =
                    here.fold(0u64, |m, p| m | 1 << self.seeding.part_of(tiles, &particles.position[p]));
                for n in (0..self.seeding.full()).filter(|n| taken >> n & 1 == 0) {
                    let x = self.seeding.place(tiles, cell, n, *moment);
                    let phi = match grid.sight().of_particle(t, &x) {
                        Some(eyes) => grid.sight().sample(t, &eyes, &grid.liquid, &x),
                        None => liquid.sample(tiles.centred(&x)),
                    };
                    let g = tiles.to_grid(&x);
                    let node = [g.x, g.y, if tiles.is_flat() { 0.0 } else { g.z }];
                    if inside(&x, phi) && solid.sample(node) > 0.0 {
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

    /// What liquid at each of many points carries; nothing if no source gives it anything.
    fn painted<'a>(
        &self,
        places: &[Vec3],
        of: impl Fn(&Vec3) -> Option<&'a (dyn Fn(&Vec3, &mut Vec<f32>) + Sync)> + Sync,
    ) -> Vec<f32> {
        if self.options.columns.stride() == 0 {
            return Vec::new();
        }
        let chunk = |places: &[Vec3]| {
            let mut rows = Vec::new();
            places.iter().for_each(|x| match of(x) {
                Some(paint) => paint(x, &mut rows),
                None => rows.extend(self.options.columns.blank()),
            });
            rows
        };
        places.par_chunks(256).flat_map_iter(chunk).collect()
    }

    /// Particles for the liquid of the next state. Those of a cell share its volume evenly; what lies
    /// in cells that are too thin for a particle is spread over all.
    fn seeds(&mut self, solids: &Solids, within: &(dyn Fn(&Vec3) -> bool + Sync)) -> Newcomers {
        let grid = &self.next.grid;
        let tiles = &grid.tiles;
        let mut shares = grid.liquid_shares();
        self.next.expected = shares.iter().sum::<f64>() * tiles.h().powi(3);
        for (p, share) in shares.iter_mut().enumerate().filter(|(_, s)| **s > 0.0) {
            if self.starts_deep(solids, p) {
                *share = 0.0;
            }
        }
        let inside = |x: &Vec3, phi: f64| phi < 0.0 && within(x) && is_before_sheets(solids, x, tiles.h());
        let places = self.gaps(|_, p| shares[p] > 0.0, inside);
        let cells: Vec<usize> =
            places.iter().map(|x| tiles.locate(tiles.cell_at(x)).unwrap_or_default()).collect();
        let mut count = tiles.field(0u32);
        cells.iter().for_each(|c| count[*c] += 1);
        let cell = tiles.h().powi(3);
        let volume: Vec<f64> = cells.iter().map(|c| shares[*c] * cell / count[*c] as f64).collect();
        let (all, seeded) = (shares.iter().sum::<f64>() * cell, volume.iter().sum::<f64>());
        let scale = if seeded > 0.0 { all / seeded } else { 0.0 };
        let volume: Vec<f32> = volume.iter().map(|v| (v * scale) as f32).collect();
        Newcomers { places, volume, ..Newcomers::default() }
    }

    /// Give newcomers ids and put them behind all others; they must be sorted in.
    pub(super) fn push_particles(&mut self, new: Newcomers) -> Result<()> {
        let affine = matches!(self.options.transfer, crate::solver::mac::Transfer::Apic);
        let State { particles, next_id, .. } = &mut self.next;
        if particles.len() + new.places.len() >= u32::MAX as usize {
            return Err(Error::invalid("particles", "more than four thousand million particles"));
        }
        if *next_id + new.places.len() as u64 >= Id::END {
            return Err(Error::invalid("particles", "there are no numbers left for new ones"));
        }
        for ((x, v), volume) in new.places.iter().zip(&new.velocity).zip(&new.volume) {
            particles.push(*x, *v, *next_id, *volume, affine.then_some([[0.0; 3]; 3]));
            *next_id += 1;
        }
        if self.options.liquids > 1 {
            particles.liquid.extend(new.liquid);
        }
        particles.carried.extend(new.carried);
        Ok(())
    }

    fn add_particles(&mut self, new: Newcomers) -> Result<()> {
        let none = new.places.is_empty();
        self.push_particles(new)?;
        let State { grid, particles, .. } = &mut self.next;
        if none && !particles.start.is_empty() {
            return Ok(());
        }
        particles.sort(&grid.tiles)
    }
}

/// Whether no plate of a sheet without thickness is at x. What is seeded beyond a sheet stays beyond it, and the distance
/// between nodes is not good enough to tell.
fn is_before_sheets(solids: &Solids, x: &Vec3, h: f64) -> bool {
    !solids.any_thin() || solids.distance(x, h) > 0.0
}

/// Cells inside plates that have liquid on one side and air far from it on the other, with the distance
/// that continues the liquid: when the plate moves on, they are full. Two cells of one side, at most two
/// cells apart, differ by at most as much.
fn bridges(tiles: &Tiles, phi: &[f64], solid: &[f64]) -> Vec<(usize, f64)> {
    let (v, jump) = (tiles.volume(), 2.2 * tiles.h());
    let steps = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];
    let of_tile = |(near, wall): &mut (Patch, Patch), t: usize| {
        let inside = &solid[t * v..(t + 1) * v];
        if inside.iter().all(|d| *d >= 0.0) {
            return Vec::new();
        }
        near.load(tiles, phi, tiles.coords()[t], 1, 0.0);
        wall.load(tiles, solid, tiles.coords()[t], 1, -1.0);
        let bridge = |l: usize| {
            let cell = tiles.cell(t * v + l);
            let (mut least, mut most, mut sum, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
            // What is behind a sheet is no other side of this wall.
            let seen = |step: &&[i32; 3]| tiles.sheets(t).is_none_or(|s| s.sees(l, **step));
            for step in steps[..2 * tiles.axes()].iter().filter(seen) {
                let beside = std::array::from_fn(|a| cell[a] + step[a]);
                if wall.get(beside) >= 0.0 {
                    let d = near.get(beside);
                    (least, most) = (least.min(d), most.max(d));
                    (sum, count) = if d < 0.0 { (sum + d, count + 1.0) } else { (sum, count) };
                }
            }
            (least < 0.0 && most > least + jump).then(|| (t * v + l, sum / count))
        };
        (0..v).filter(|l| inside[*l] < 0.0).filter_map(bridge).collect()
    };
    let found: Vec<Vec<_>> =
        (0..tiles.len()).into_par_iter().map_init(<(Patch, Patch)>::default, of_tile).collect();
    found.concat()
}
