//! Particles along the flow, round solids, and the tiles that follow them.
//!
//! A particle with liquid round it is carried by the velocity of the grid; one that flies alone keeps
//! its own. A path that would enter a solid slides along it instead: the path is looked at in steps
//! of half a cell, so that no wall of a cell's thickness is jumped over, and at its end the particle
//! is put outside every solid as it stands at the end of the step.

use super::sheets::{carry_beside_sheets, liquid_at};
use super::{Mac, State};
use crate::error::{Error, Result};
use crate::field::{Id, Run, Runs, Solids, TileBox, VelocityPatch};
use crate::grid::{Patch, SIDE, Side, Sides, Tiles};
use crate::math::Vec3;
use crate::simulation::liquid::{ForceField, Step};
use crate::solver::mac::{MacGrid, REACH_CELLS};
use crate::surface::{Band, advect, fullness, guide};
use rayon::prelude::*;

/// Particles stay this many cells away from solids.
const CLEARANCE: f64 = 0.05;
/// Further than this many cells from solids a path meets none, whatever interpolation makes of the distance.
const CLOSE: f64 = 0.3;

/// The particles of a state at the end of the step that is being made, before they are sorted.
#[derive(Default)]
pub(super) struct Moved {
    /// By their old numbers.
    position: Vec<Vec3>,
    of_tiles: Vec<MovedTile>,
}

/// What became of the particles of a tile.
#[derive(Default)]
struct MovedTile {
    /// Where those are that stay; kind 1 flies on its own.
    runs: Vec<Run>,
    /// Those whose velocity a wall changed: id, position and what their velocity is now.
    bounced: Vec<(Id, Vec3, Vec3)>,
    /// Those that are drained or astronomically far away.
    gone: Vec<usize>,
    /// The first without a finite position.
    astray: Option<usize>,
}

/// What moving the particles of a tile needs.
#[derive(Default)]
struct Surroundings {
    velocity: VelocityPatch,
    liquid: Patch,
    solid: Patch,
    /// Which cells have liquid round them: where there is nothing else, nothing flies on its own.
    sides: Sides,
    /// Whether a wall may be met.
    walls: bool,
}

impl Mac {
    /// Find where the particles are at the end of the step.
    pub(super) fn move_particles(&mut self, step: &Step) -> Result<()> {
        let State { grid, particles, .. } = &self.now;
        let (tiles, sight) = (&grid.tiles, grid.sight());
        let margin = self.margin(step.dt);
        let mut position = vec![Vec3::zeros(); particles.len()];
        let clings = self.clinging(particles, step);
        let of_tile = |t: usize| particles.of_tile(tiles, t).len();
        let lengths: Vec<usize> = (0..tiles.len()).map(of_tile).collect();
        let one = |around: &mut Surroundings, (t, position): (usize, &mut [Vec3])| {
            let (range, mut moved) = (particles.of_tile(tiles, t), MovedTile::default());
            if range.is_empty() || step.cancel.is_cancelled() {
                return moved;
            }
            around.load(&self.now, t, [self.reach.margin(tiles, tiles.coords()[t]), margin], step);
            let (start, mut runs) = (range.start, Runs::new(tiles));
            let mut ends: Vec<Vec3> = range.clone().map(|p| tiles.to_grid(&particles.position[p])).collect();
            around.velocity.trace_all(&mut ends, step.dt);
            if tiles.sheets(t).is_some() {
                let faces = [&self.now.carry, &self.now.carry_below];
                for (p, end) in range.zip(&mut ends) {
                    let x = &particles.position[p];
                    if let Some(eyes) = sight.of_particle(t, x) {
                        *end = sight.trace(t, &eyes, faces, &tiles.to_grid(x), step.dt);
                    }
                }
            }
            let cells = (0..tiles.volume()).map(|l| (l, particles.of_cell(t * tiles.volume() + l)));
            for (p, l) in cells.flat_map(|(l, here)| here.map(move |p| (p, l))) {
                let (x, v) = (&particles.position[p], &particles.velocity[p]);
                let free = around.is_free(grid, t, x, l, || clings(p) * tiles.h());
                let (to, velocity) = around.carry(tiles, step, [x, v, &ends[p - start]], free);
                if velocity != *v {
                    moved.bounced.push((particles.id[p], to, velocity));
                }
                if self.stays(step, &to) {
                    runs.add(p, &to, free as usize);
                } else if to.iter().all(|v| v.is_finite()) {
                    moved.gone.push(p);
                } else {
                    moved.astray = moved.astray.or(Some(p));
                }
                position[p - start] = to;
            }
            MovedTile { runs: runs.done(), ..moved }
        };
        let out = split(&mut position, &lengths).into_par_iter().enumerate();
        let of_tiles: Vec<MovedTile> = out.map_init(Surroundings::default, one).collect();
        step.cancel.check()?;
        if let Some(p) = of_tiles.iter().find_map(|t| t.astray) {
            let id = particles.id[p];
            return Err(Error::diverged("advect_surface", format!("particle {id} has no finite position")));
        }
        let gone = of_tiles.iter().flat_map(|t| &t.gone);
        self.next.expected -= gone.map(|p| particles.volume[*p] as f64).sum::<f64>();
        self.moved = Moved { position, of_tiles };
        Ok(())
    }

    /// Whether a particle is still of interest: not drained, and not astronomically far away.
    fn stays(&self, step: &Step, x: &Vec3) -> bool {
        let far = 1e8 * self.options.cell;
        let drained = step.solids.is_drained(x) || step.outflows.iter().any(|sink| sink.takes(x));
        !drained && (x - self.options.origin).amax() < far
    }

    /// Lay tiles round the moved particles and the sources, and sort the particles on them.
    pub(super) fn lay_tiles(&mut self, step: &Step) -> Result<()> {
        let old = &self.now.grid.tiles;
        let margin = self.margin(step.dt).max(3) as i32;
        let mut coords = Vec::new();
        let Moved { position, of_tiles } = std::mem::take(&mut self.moved);
        // A drop that flies on its own needs the cells that it touches and no more.
        for (kind, margin) in [margin, 1].into_iter().enumerate() {
            let boxes = of_tiles.iter().flat_map(|t| &t.runs).filter_map(|run| run.occupied(old, kind));
            TileBox::merged(boxes.collect()).iter().for_each(|b| add_tiles(old, b, margin, &mut coords));
        }
        self.add_deep_tiles(&mut coords);
        let reach = self.band();
        for inflow in step.inflows {
            coords.extend(super::tiles_of_box(&self.options, &inflow.bounds, reach));
        }
        let tiles = Tiles::new(old.h(), old.origin(), old.is_flat(), coords);
        self.next.grid = MacGrid::new(tiles, step.solids, Some(&self.now.grid));
        let particles = &self.now.particles;
        let (runs, bounced): (Vec<_>, Vec<_>) = of_tiles.into_iter().map(|t| (t.runs, t.bounced)).unzip();
        self.next.particles = particles.moved(&self.next.grid.tiles, runs, position)?;
        let State { grid, particles, .. } = &mut self.next;
        for (id, x, velocity) in bounced.into_iter().flatten() {
            let here = grid.tiles.locate(grid.tiles.cell_at(&x)).map(|place| particles.of_cell(place));
            if let Some(p) = here.and_then(|mut here| here.find(|p| particles.id[*p] == id)) {
                particles.velocity[p] = velocity;
            }
        }
        self.let_in(step)
    }

    /// Carry the surface along, hold it to the particles, and make it a distance again.
    pub(super) fn carry_surface(&mut self, step: &Step) -> Result<()> {
        let band = Band(self.band());
        let old = &self.now.grid;
        let next = &mut self.next;
        let tiles = &next.grid.tiles;
        let solid = &next.grid.centre;
        let mut phi =
            advect(&old.tiles, &old.liquid, &old.velocity, tiles, solid, step.dt, &self.reach, band);
        carry_beside_sheets(&self.now, &next.grid, step, &mut phi, band.0);
        add_sources(tiles, &mut phi, step);
        cut_sinks(tiles, &mut phi, step);
        next.grid.liquid = phi;
        self.keep_band(step)?;
        let State { grid, particles, .. } = &self.next;
        self.full = fullness(&grid.sight(), particles, &grid.room, &grid.liquid);
        self.fill_below_band();
        self.mu = self.cell_viscosity(step)?;
        let thick = self.thick_cells(step);
        let MacGrid { tiles, liquid, .. } = &mut self.next.grid;
        guide(tiles, liquid, &self.full, &thick);
        self.hold_films(step)?;
        self.restore_distance(step.solids)
    }
}

/// Parts of a list of the given lengths, one after the other.
fn split<'a, T>(list: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
    let mut rest = list;
    let next = |n: &usize| rest.split_off_mut(..*n).unwrap_or_default();
    lengths.iter().map(next).collect()
}

/// The most parts of a path: a drop that would fly thousands of cells in a step has a speed that cannot be, and following
/// it would take for ever. It still does not cross a solid, which is looked at for the way as a whole.
const MOST_PARTS: f64 = 4096.0;

/// The tiles within `margin` cells of a box of cells.
fn add_tiles(tiles: &Tiles, around: &TileBox, margin: i32, coords: &mut Vec<[i32; 3]>) {
    let size = [SIDE as i32, SIDE as i32, tiles.depth() as i32];
    let first = |a: usize| (around.low[a] - margin).div_euclid(size[a]);
    let last = |a: usize| (around.high[a] + margin).div_euclid(size[a]);
    let layers = if tiles.is_flat() { around.tile[2]..=around.tile[2] } else { first(2)..=last(2) };
    for k in layers {
        for j in first(1)..=last(1) {
            coords.extend((first(0)..=last(0)).map(|i| [i, j, k]));
        }
    }
}

impl Surroundings {
    /// Copy what is round tile t: so many cells of velocity and, for drops that are faster, of solids.
    fn load(
        &mut self,
        State { grid, carry, fastest, .. }: &State,
        t: usize,
        [liquid, drops]: [usize; 2],
        step: &Step,
    ) {
        let (tiles, coord) = (&grid.tiles, grid.tiles.coords()[t]);
        let far = REACH_CELLS * tiles.h();
        self.velocity.load(tiles, carry, coord, liquid);
        self.liquid.load(tiles, &grid.liquid, coord, 1, far);
        self.sides = Sides::of(&self.liquid);
        let v = tiles.volume();
        let nearest = grid.solid[t * v..(t + 1) * v].iter().fold(far, |m, d| m.min(*d));
        // A drop may be faster than the liquid, and distances to solids end at a few cells.
        let travel = (fastest + step.solids.max_speed()) * step.dt + 3.0 * tiles.h();
        self.walls = !self.sides.all_below() || nearest < travel || travel > far;
        if self.walls {
            self.solid.load(tiles, &grid.solid, coord, drops, far);
        }
    }

    /// Whether a particle in local cell l of tile t flies on its own.
    fn is_free(&self, grid: &MacGrid, t: usize, x: &Vec3, l: usize, clings: impl Fn() -> f64) -> bool {
        match self.sides.at(l) {
            Side::Below => false,
            Side::Above => true,
            Side::Both => {
                let (d, least) = liquid_at(&grid.sight(), t, &self.liquid, &grid.liquid, x);
                least >= 0.0 && d >= clings()
            }
        }
    }

    /// Where a particle goes in one step, and with which velocity it arrives. Liquid would carry it to `end`.
    fn carry(&self, tiles: &Tiles, step: &Step, [x, v, end]: [&Vec3; 3], free: bool) -> (Vec3, Vec3) {
        let h = tiles.h();
        let g = tiles.to_grid(x);
        let mut to = if free { g + v * (step.dt / h) } else { *end };
        if tiles.is_flat() {
            to.z = g.z;
        }
        let travel = (to - g).norm() * h;
        // Distances grow by no more than the way, so a path keeps at least half of what both ends have left.
        let ends = || self.solid.sample(nodal(tiles, &g)) + self.solid.sample(nodal(tiles, &to));
        let sweep = step.solids.max_speed() * step.dt + CLOSE * h;
        if !self.walls || 0.5 * (ends() - travel) > sweep {
            let (position, stopped) = hold_back(step.solids, x, tiles.origin() + to * h, h);
            let velocity =
                stopped.filter(|_| free).map_or(*v, |n| off_the_sheet(step.solids, &position, v, &n, h));
            return (position, velocity);
        }
        to = self.slide(tiles, &g, &to, travel / h);
        let end = put_outside(step.solids, tiles.origin() + to * h, h, tiles.is_flat());
        let (position, stopped) = hold_back(step.solids, x, end, h);
        // Liquid learns of walls from the pressure; a drop on its own must be told.
        let velocity = match stopped {
            _ if !free => *v,
            Some(n) => off_the_sheet(step.solids, &position, v, &n, h),
            None => off_the_wall(step.solids, &position, v, h),
        };
        (position, velocity)
    }

    /// Follow a path in half cells; where it enters a solid, go on along the wall.
    fn slide(&self, tiles: &Tiles, from: &Vec3, to: &Vec3, travel: f64) -> Vec3 {
        let parts = (2.0 * travel).ceil().clamp(1.0, MOST_PARTS);
        let mut stride = (to - from) / parts;
        let mut at = *from;
        for _ in 0..parts as usize {
            at += stride;
            let (d, gradient) = self.solid.sample_gradient(nodal(tiles, &at));
            if d < 0.0 {
                let n = Vec3::from(gradient).try_normalize(1e-12).unwrap_or_else(Vec3::zeros);
                at -= n * (d / tiles.h());
                stride -= n * stride.dot(&n).min(0.0);
            }
        }
        at
    }
}

/// A position in cells as nodes see it; the middle plane on a grid one cell thick.
fn nodal(tiles: &Tiles, g: &Vec3) -> [f64; 3] {
    [g.x, g.y, if tiles.is_flat() { 0.0 } else { g.z }]
}

/// Move a point that is inside a solid, or almost, to where it is just outside.
fn put_outside(solids: &Solids, x: Vec3, h: f64, flat: bool) -> Vec3 {
    let (clear, mut x) = (CLEARANCE * h, x);
    // Two walls that meet need a second look; a third settles acute corners.
    for _ in 0..3 {
        let d = solids.distance(&x, 2.0 * h);
        if d >= clear {
            break;
        }
        let mut n = solids.outward(&x, 0.25 * h);
        if flat {
            n.z = 0.0;
        }
        x += n * (clear - d);
    }
    x
}

/// The velocity of a drop at x: one that touches a wall does not move into it.
fn off_the_wall(solids: &Solids, x: &Vec3, v: &Vec3, h: f64) -> Vec3 {
    if solids.distance(x, h) > 2.0 * CLEARANCE * h {
        return *v;
    }
    off_the_sheet(solids, x, v, &solids.outward(x, 0.25 * h), h)
}

/// The same at a wall with normal n.
fn off_the_sheet(solids: &Solids, x: &Vec3, v: &Vec3, n: &Vec3, h: f64) -> Vec3 {
    let (wall, own) = (solids.wall(x, h), solids.velocity(x, h));
    if wall.stick {
        return own;
    }
    let slip = v - own;
    let slip = slip - n * slip.dot(n).min(0.0);
    own + slip * (1.0 - wall.friction)
}

/// A path that would pass through a thin solid is carried along by the solid and goes on beside it, without what leads into
/// it; if that crosses as well, it ends where the solid carries its beginning. Also the normal of what stopped it.
fn hold_back(solids: &Solids, from: &Vec3, to: Vec3, h: f64) -> (Vec3, Option<Vec3>) {
    if !solids.any_thin() || !solids.path_crosses(from, &to) {
        return (to, None);
    }
    let carried = solids.carried(from);
    let Some(nearest) = solids.closest_sheet(&carried, 4.0 * h) else { return (carried, None) };
    let (away, way) = (carried - nearest, to - carried);
    let Some(n) = away.try_normalize(1e-6 * h) else { return (carried, None) };
    // Up to the clearance it may come nearer.
    let into = (way.dot(&n) + (away.norm() - CLEARANCE * h).max(0.0)).min(0.0);
    let beside = carried + way - n * into;
    (if solids.path_crosses(from, &beside) { carried } else { beside }, Some(n))
}

/// The regions of the sources are liquid.
fn add_sources(tiles: &Tiles, phi: &mut [f64], step: &Step) {
    for inflow in step.inflows {
        let reach = inflow.bounds.grow(2.0 * tiles.h());
        tiles.for_each(phi, |t, part| {
            for (l, phi) in part.iter_mut().enumerate() {
                let x = tiles.centre(tiles.cell(t * tiles.volume() + l));
                if reach.contains(&x) {
                    *phi = phi.min((inflow.distance)(&x));
                }
            }
        });
    }
}

/// The regions of the sinks are empty.
fn cut_sinks(tiles: &Tiles, phi: &mut [f64], step: &Step) {
    for sink in step.outflows {
        let reach = sink.bounds.grow(2.0 * tiles.h());
        tiles.for_each(phi, |t, part| {
            for (l, phi) in part.iter_mut().enumerate() {
                let x = tiles.centre(tiles.cell(t * tiles.volume() + l));
                if reach.contains(&x) {
                    *phi = phi.max(-(sink.distance)(&x));
                }
            }
        });
    }
}

/// Add a force that varies in space to the faces of the grid.
pub(super) fn apply_force(grid: &mut MacGrid, force: &ForceField, dt: f64) {
    let (tiles, liquid) = (&grid.tiles, &grid.liquid);
    let source = grid.velocity.clone();
    for (axis, velocity) in grid.velocity.iter_mut().enumerate().take(tiles.axes()) {
        velocity.par_chunks_mut(tiles.volume()).enumerate().for_each_init(
            <(VelocityPatch, Patch)>::default,
            |(u, near), (t, part)| {
                u.load(tiles, &source, tiles.coords()[t], 1);
                near.load(tiles, liquid, tiles.coords()[t], 1, tiles.h());
                for (l, value) in part.iter_mut().enumerate() {
                    let cell = tiles.cell(t * tiles.volume() + l);
                    let mut below = cell;
                    below[axis] -= 1;
                    let depth = (-0.5 * (near.get(cell) + near.get(below))).max(0.0);
                    let g = Vec3::new(cell[0] as f64, cell[1] as f64, cell[2] as f64)
                        + crate::field::face_offset(axis, tiles.is_flat());
                    let x = tiles.origin() + g * tiles.h();
                    *value += dt * force(&x, &u.sample(&g), depth)[axis];
                }
            },
        );
    }
}
