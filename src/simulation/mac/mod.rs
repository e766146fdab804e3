//! The simulator `mac`: particles carry volume and velocity, a level set held to them carries the
//! surface, a staggered grid solves for pressure.
//!
//! Between substeps the state is: particles sorted on the grid; the liquid's distance, linear into
//! solids; face velocities that keep volume, extended beyond the surface; the ledger of volume. One
//! substep reads that state and writes a second one; only `commit` exchanges them, so a step that
//! fails or is cancelled leaves the first untouched.
//!
//! No particle is ever made or removed except by sources and drains, or by others that share their volume with it, so the
//! volume in the ledger is exact. Where particles crowd, a second solve with the matrix of the pressure moves them apart (and
//! together where liquid is thin below its surface) without touching their velocity, after [KLTB19].

mod attributes;
mod band;
mod calm;
mod carry;
mod divide;
mod filling;
mod film;
mod free;
mod moving;
mod output;
mod saving;
mod sheets;
mod skin;
mod smoke;
mod spray;
mod thick;
mod tracked;
mod trouble;
mod volumes;

use super::liquid::{Amount, CellFields, Liquid, Moments, Solved, Step};
use super::report::Limit;
use super::state::{Reader, Writer};
use super::volumes::VolumesView;
use crate::error::{Error, Result};
use crate::field::{Columns, Particles, Reach, Solids};
use crate::geometry::{Attribute, TriMesh};
use crate::grid::{MAX_MARGIN, Patch, Side, Sides, extend_average};
use crate::math::{Aabb, Motion, Vec3, elementary};
use crate::scene::{Flow, Shown, Smoke};
use crate::solver::mac::{
    Afloat, Asked, Carried, MacGrid, Multigrid, PressureOptions, Projected, Transfer, close_faces, constrain,
    grid_to_particles, particles_to_grid, project_with_bodies, surface_tension, wall_drag,
};
use crate::solver::pressure::Projection;
use crate::solver::rigid::{angular, linear};
use crate::surface::{BAND, ParticleLevelSet, Seeding, SurfaceTracker};
use rayon::prelude::*;

use attributes::Thickness;
pub(super) use filling::InitialVolume;
use sheets::{close_own_faces, liquid_at};
use thick::Thickened;

/// The distance to the surface is kept within at least this many cells.
const BAND_CELLS: f64 = 4.0;
/// The surface is moved to enclose the particles' volume by at most this many cells a substep. The
/// noise of a violent splash asks for half of that; nobody sees a twentieth of a cell.
const MOST_SHIFT: f64 = 0.05;
/// A particle this many cells outside the surface is a drop of its own; so is one with no surface near.
const DETACHED: f64 = 0.5;
/// One this near, in cells, still moves with the liquid if a cell beside its own holds any: where a
/// level surface runs through the middles of cells, half of the particles above them are not drops.
const CLINGS: f64 = 0.25;
/// Thick liquid holds particles as far off as momentum diffuses in a substep, √(νΔt), up to this many cells. Without that, the
/// rim of a turning disk of honey would crumble: the level set rounds it off, and what it lets go would fly straight on.
const CLINGS_MOST: f64 = 1.5;
/// Share of a crowd that is taken apart in a substep.
const SPREAD: f64 = 0.5;
/// Faces this many layers inside walls have the velocity of liquid that slides along them.
const WALL_LAYERS: u8 = 4;
/// Deeper than this many cells thin liquid is drawn together.
const DEEP: f64 = 1.5;
/// Fullness of a cell scatters by this much without being a crowd. Nearer to the surface, where nothing
/// draws particles together, taking scatter apart step by step would blow up every stream.
const SCATTER: f64 = 0.2;
/// The mean of fewer deep cells than this is not trusted.
const FEW: f64 = 64.0;

/// What does not change during a simulation.
#[derive(Clone, Debug)]
pub struct MacOptions {
    /// Cell width, m.
    pub cell: f64,
    /// Lower corner of cell (0,0,0).
    pub origin: Vec3,
    /// One cell thick.
    pub flat: bool,
    pub transfer: Transfer,
    /// Cells that liquid may cross in a substep.
    pub cfl: f64,
    pub density: f64,
    pub tolerance: f64,
    /// How many liquids the scene has; they differ in viscosity only.
    pub liquids: usize,
    pub viscosity_tolerance: f64,
    /// How pressure and viscosity are found.
    pub flow: Flow,
    /// Diffuse the components of velocity one by one.
    pub draft_viscosity: bool,
    /// Let viscosity find the velocities at the surface as they are.
    pub hold_surface: bool,
    pub volume_lock: bool,
    /// Markers in a cell at the surface where a level set carries it, 0 for a level set alone; None with particles.
    pub markers: Option<usize>,
    pub per_cell: u32,
    /// Particles only this many cells below the surface; everywhere if 0.
    pub narrow_band: f64,
    /// Smoothing of the surface for pictures, in cells.
    pub smoothing: f64,
    pub seed: u64,
    /// Air without a surface instead of liquid.
    pub smoke: Option<Smoke>,
    /// What particles carry.
    pub columns: Columns,
    /// What is shown besides.
    pub shown: Vec<Shown>,
    /// Viscosity by age of each liquid: [seconds, Pa·s]; empty if it does not age.
    pub aging: Vec<Vec<[f64; 2]>>,
}

impl MacOptions {
    /// Water on one layer of cells of width h, for tests.
    #[cfg(test)]
    fn plain(h: f64, transfer: Transfer) -> Self {
        Self {
            cell: h,
            origin: Vec3::zeros(),
            flat: true,
            transfer,
            cfl: 2.0,
            density: 1000.0,
            tolerance: 1e-9,
            liquids: 1,
            viscosity_tolerance: 1e-6,
            flow: Flow::Auto,
            draft_viscosity: false,
            hold_surface: false,
            volume_lock: true,
            markers: None,
            per_cell: 8,
            narrow_band: 0.0,
            smoothing: 1.0,
            seed: 0,
            smoke: None,
            columns: Columns::default(),
            shown: Vec::new(),
            aging: vec![Vec::new()],
        }
    }

    /// The same with particles that carry something: then they are needed everywhere.
    pub fn carrying(self, columns: Columns) -> Self {
        let narrow_band = if columns.stride() > 0 { 0.0 } else { self.narrow_band };
        Self { columns, narrow_band, ..self }
    }
}

/// Everything that is known between substeps.
#[derive(Clone, Debug, Default)]
struct State {
    grid: MacGrid,
    particles: Particles,
    next_id: u64,
    /// Substeps done; tells one seeding of a cell from the next.
    moment: u64,
    /// Volume that there should be, and that of drops outside the surface, m³.
    expected: f64,
    flying: f64,
    /// What the surface of films encloses beyond the volume of their particles, m³.
    films: f64,
    /// Volume given by each emitter, m³.
    emitted: Vec<f64>,
    /// Velocity that carries the particles: that of the grid, and the drift that takes crowds apart.
    carry: [Vec<f64>; 3],
    /// The velocity of the grid and that of the particles on the lower sides of faces that sheets close; empty without sheets.
    below: [Vec<f64>; 3],
    carry_below: [Vec<f64>; 3],
    /// The greatest speed on a face of liquid, m/s.
    fastest: f64,
    /// What carries the surface where no particles do; the grid stands on its tiles and has its distance.
    tracker: Option<ParticleLevelSet>,
}

/// The simulator.
pub struct Mac {
    options: MacOptions,
    seeding: Seeding,
    now: State,
    /// The state being made.
    next: State,
    /// How far the step leads from each tile of the old state.
    reach: Reach,
    /// Its particles before they are sorted.
    moved: moving::Moved,
    /// Face velocities when the particles were spread on the grid, and which faces got theirs from particles.
    before: [Vec<f64>; 3],
    before_below: [Vec<f64>; 3],
    spread: [Vec<u8>; 3],
    /// Which particles exchange velocity with the grid; the others fly freely.
    takes_part: Vec<bool>,
    /// How full the surroundings of each cell are.
    full: Vec<f64>,
    /// Cells that are liquid because of a film of thick liquid; empty without any.
    in_film: Vec<bool>,
    /// Cells inside walls beside such films, and their distance.
    film_in_walls: Vec<(usize, f64)>,
    /// Memory of the pressure solve, kept from step to step.
    multigrid: Multigrid,
    /// Viscosity of the cells of the next state, Pa·s; None if it is too small to matter.
    mu: Option<Vec<f64>>,
    /// What viscosity leaves of the motion within each cell in this step; empty if it does not act.
    fade: Vec<f32>,
    /// What the last solve made of the bodies.
    carried: Vec<Carried>,
}

impl Mac {
    /// A simulator at rest with the given volumes of liquid.
    pub fn new(
        options: MacOptions,
        solids: &Solids,
        volumes: &[InitialVolume],
        emitters: usize,
    ) -> Result<Self> {
        let seeding = Seeding::new(options.per_cell, options.flat, options.seed);
        let now = State { emitted: vec![0.0; emitters], ..State::default() };
        let mut mac = Self {
            options,
            seeding,
            now,
            next: State::default(),
            reach: Reach::default(),
            moved: moving::Moved::default(),
            before: Default::default(),
            before_below: Default::default(),
            spread: Default::default(),
            takes_part: Vec::new(),
            full: Vec::new(),
            in_film: Vec::new(),
            film_in_walls: Vec::new(),
            multigrid: Multigrid::default(),
            mu: None,
            fade: Vec::new(),
            carried: Vec::new(),
        };
        mac.fill(solids, volumes)?;
        Ok(mac)
    }

    /// Drop what only the step being made needs.
    fn forget(&mut self) {
        (self.before, self.before_below, self.spread, self.mu) = Default::default();
        self.fade.clear();
    }

    /// Cells within which the distance to the surface is kept.
    fn band_cells(&self) -> f64 {
        BAND_CELLS.max(self.options.narrow_band + 1.0)
    }

    fn band(&self) -> f64 {
        self.band_cells() * self.options.cell
    }

    /// Cells that a point may travel in a step, and two more for interpolation.
    fn margin(&self, dt: f64) -> usize {
        let travel = self.now.fastest * dt / self.options.cell;
        (travel.min(MAX_MARGIN as f64).ceil() as usize + 2).min(MAX_MARGIN)
    }

    /// Cells beyond the liquid over which velocity is extended.
    fn layers_beyond(&self, dt: f64) -> usize {
        // A tracker asks for velocity wherever it keeps a distance.
        let tracked = if self.options.markers.is_some() { BAND as usize + 2 } else { 0 };
        (self.margin(dt) + 2).max(tracked)
    }

    /// Whether there is liquid without particles.
    fn has_bare_liquid(&self) -> bool {
        self.options.narrow_band > 0.0 || self.options.markers.is_some()
    }

    /// How far momentum diffuses from each of some particles in the step, √(νΔt)/h cells.
    fn diffusion<'a>(&self, particles: &'a Particles, step: &Step) -> impl Fn(usize) -> f64 + Sync + use<'a> {
        let thickness = Thickness::new(&self.options, particles, step.viscosity);
        let unit = elementary::log(step.dt / (self.options.density * self.options.cell.powi(2)));
        move |p| elementary::exp(0.5 * (thickness.log(p) + unit))
    }

    /// How far outside the surface each of some particles still moves with the liquid, cells.
    fn clinging<'a>(&self, particles: &'a Particles, step: &Step) -> impl Fn(usize) -> f64 + Sync + use<'a> {
        let diffusion = self.diffusion(particles, step);
        move |p| diffusion(p).clamp(CLINGS, CLINGS_MOST)
    }

    /// Which particles move with the liquid, and which are drops of their own outside its surface.
    fn wet(&self, state: &State, clings: impl Fn(usize) -> f64 + Sync) -> (Vec<bool>, Vec<bool>) {
        let (tiles, particles) = (&state.grid.tiles, &state.particles);
        let off = DETACHED * tiles.h();
        let of_tile = |patch: &mut Patch, t: usize| {
            let range = particles.of_tile(tiles, t);
            let (mut wet, mut drops) = (vec![true; range.len()], vec![false; range.len()]);
            if range.is_empty() {
                return (wet, drops);
            }
            patch.load(tiles, &state.grid.liquid, tiles.coords()[t], 1, tiles.h());
            let (sides, v, sight) = (Sides::of(patch), tiles.volume(), state.grid.sight());
            for l in (0..v).filter(|l| sides.at(*l) != Side::Below) {
                for p in particles.of_cell(t * v + l) {
                    let (x, n) = (&particles.position[p], p - range.start);
                    let (d, least) = liquid_at(&sight, t, patch, &state.grid.liquid, x);
                    (wet[n], drops[n]) = match sides.at(l) {
                        // Where the level set has lost a sheet, its particles are all that is left of it.
                        Side::Above => (false, d > 0.0),
                        _ => (least < 0.0 || d < clings(p) * tiles.h(), d > off),
                    };
                }
            }
            (wet, drops)
        };
        let parts: Vec<(Vec<bool>, Vec<bool>)> =
            (0..tiles.len()).into_par_iter().map_init(Patch::default, of_tile).collect();
        let (wet, drops): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        (wet.concat(), drops.concat())
    }

    /// Move the surface of the next state so that it encloses the volume of its particles.
    fn settle_volume(&mut self, step: &Step) {
        let (takes_part, drops) = self.wet(&self.next, self.clinging(&self.next.particles, step));
        self.takes_part = takes_part;
        self.next.films = self.film_excess(&drops);
        let State { grid, particles, expected, flying, films, .. } = &mut self.next;
        *flying = particles.total_volume(|p| drops[p]);
        let [measured, area] = grid.liquid_volume();
        if self.options.volume_lock && area > 0.0 {
            let most = MOST_SHIFT * self.options.cell;
            let shift = ((*expected - *flying + *films - measured) / area).clamp(-most, most);
            grid.liquid.par_iter_mut().for_each(|d| *d -= shift);
        }
    }

    /// Relative expansion of each cell that takes crowds apart, in a substep.
    ///
    /// Deep liquid is drawn together as well as taken apart. There the mean of a tile counts in full, and
    /// what a cell differs from it by more than the scatter; noise of single cells would add up along a
    /// column and lift the surface of water at rest.
    fn spreading(&self) -> Vec<f64> {
        let (v, deep) = (self.next.grid.tiles.volume(), -DEEP * self.options.cell);
        let mut expansion = vec![0.0; self.full.len()];
        let parts = expansion.par_chunks_mut(v).zip(self.full.par_chunks(v));
        parts.zip(self.next.grid.liquid.par_chunks(v)).for_each(|((out, full), phi)| {
            let crowds = |f: &f64| (f - 1.0).clamp(-0.5, 1.0);
            let within = full.iter().zip(phi).filter(|(f, d)| **f >= 0.0 && **d < deep);
            let (sum, count) = within.fold((0.0, 0.0), |(s, n), (f, _)| (s + crowds(f), n + 1.0));
            let mean = sum / f64::max(count, FEW);
            for ((out, full), phi) in out.iter_mut().zip(full).zip(phi).filter(|((_, f), _)| **f >= 0.0) {
                let own = if *phi < deep { crowds(full) - mean } else { crowds(full).max(0.0) };
                let beyond = (own.abs() - SCATTER).max(0.0).copysign(own);
                *out = SPREAD * if *phi < deep { mean + beyond } else { beyond };
            }
        });
        expansion
    }
}

impl Liquid for Mac {
    fn max_dt(&self, acceleration: f64) -> Limit {
        Limit::of_speed(self.options.cfl * self.options.cell, self.now.fastest, acceleration)
    }

    fn advect_surface(&mut self, step: &Step) -> Result<()> {
        self.next = State {
            next_id: self.now.next_id,
            moment: self.now.moment + 1,
            expected: self.now.expected,
            emitted: self.now.emitted.clone(),
            ..State::default()
        };
        let State { grid, carry, .. } = &self.now;
        self.reach = Reach::new(&grid.tiles, &[&grid.velocity, carry], step.dt);
        match self.now.tracker {
            Some(_) => self.track_surface(step),
            None => self.move_particles(step),
        }
    }

    fn remesh(&mut self, step: &Step) -> Result<()> {
        if self.next.tracker.is_some() {
            return self.follow_tracker(step);
        }
        self.lay_tiles(step)?;
        step.cancel.check()?;
        self.carry_surface(step)?;
        if self.options.smoke.is_some() {
            // Where particles are sparse there is air all the same.
            let deep = -self.band();
            self.next.grid.liquid.fill(deep);
        }
        self.settle_volume(step);
        Ok(())
    }

    fn advect_velocity(&mut self, step: &Step) -> Result<()> {
        let mut known = particles_to_grid(&mut self.next.grid, &self.next.particles, &self.takes_part);
        step.cancel.check()?;
        match self.options.transfer {
            Transfer::Grid { corrected } => {
                self.carry_velocity(step, corrected, &mut known);
                self.pour_velocity(step, &mut known);
            }
            _ => self.carry_deep_velocity(step.dt, &mut known),
        }
        let grid = &mut self.next.grid;
        self.spread = known.clone();
        for (u, known) in grid.velocity.iter_mut().zip(&mut known).take(grid.tiles.axes()) {
            extend_average(&grid.tiles, u, known, 2)?;
        }
        self.before_below = close_own_faces(grid, None);
        let copy = |u: &Vec<f64>| u.par_iter().copied().collect();
        self.before = self.next.grid.velocity.each_ref().map(copy);
        Ok(())
    }

    fn apply_forces(&mut self, step: &Step) -> Result<()> {
        let (grid, dt) = (&mut self.next.grid, step.dt);
        // Before gravity: what the pressure will hold up does not slide, and nothing has to be done to lead it.
        wall_drag(grid, step.solids, dt);
        if let Some(force) = step.force {
            moving::apply_force(grid, force, dt);
        }
        if step.tension > 0.0 {
            surface_tension(grid, step.tension, self.options.density, dt);
        }
        let tiles = &grid.tiles;
        for axis in 0..tiles.axes() {
            let push = dt * step.gravity[axis];
            grid.velocity[axis].par_iter_mut().for_each(|u| *u += push);
        }
        self.lift(step)
    }

    fn solve(&mut self, step: &Step) -> Result<Solved> {
        let options =
            PressureOptions { dt: step.dt, density: self.options.density, tolerance: self.options.tolerance };
        let Thickened { mut solves, pressure: first, flow, outer } = self.thicken(step, &options)?;
        let layers = self.layers_beyond(step.dt);
        let spreading = self.spreading();
        let grid = &mut self.next.grid;
        let Projected { report, mut known, mut drift, bodies, .. } = project_with_bodies(
            grid,
            step.solids,
            &options,
            &Asked { spreading: &spreading, acting: (!first.is_empty()).then_some(&first) },
            step.bodies,
            &mut self.multigrid,
            step.cancel,
        )?;
        let moved = bodies_moved(step, &bodies);
        let solids = moved.as_ref().unwrap_or(step.solids);
        self.carried = bodies;
        // Both projections push; a third would find their sum.
        grid.pressure.iter_mut().zip(&first).for_each(|(p, first)| *p += first);
        solves.extend(report.solve);
        if let Some(outer) = outer {
            outer.follow(grid, &mut known)?;
        }
        self.next.fastest = grid.max_speed(&known);
        for (drift, known) in drift.iter_mut().zip(&known).take(grid.tiles.axes()) {
            extend_average(&grid.tiles, drift, &mut known.clone(), 2)?;
        }
        for (u, known) in grid.velocity.iter_mut().zip(&mut known).take(grid.tiles.axes()) {
            extend_average(&grid.tiles, u, known, layers)?;
            // Nothing that was not reached may keep what the forces added.
            u.par_iter_mut().zip(&*known).filter(|(_, k)| **k == 0).for_each(|(u, _)| *u = 0.0);
        }
        constrain(grid, solids, &known, WALL_LAYERS);
        self.next.below = close_own_faces(grid, Some(solids));
        for (drift, u) in drift.iter_mut().zip(&grid.velocity) {
            drift.par_iter_mut().zip(u).for_each(|(d, u)| *d += u);
        }
        self.next.carry_below = close_faces(grid, &mut drift, Some(solids));
        self.next.carry = drift;
        let Projection { closed_regions, refused_inflow, .. } = report;
        Ok(Solved { solves, closed_regions, refused_inflow, flow })
    }

    fn finish(&mut self, step: &Step) -> Result<()> {
        let (transfer, keeps) = (self.options.transfer.over(step.dt), self.keeps(step.dt));
        let free = self.free_pieces(step);
        let State { grid, particles, below, .. } = &mut self.next;
        let before = [&self.before, &self.before_below];
        grid_to_particles(grid, below, before, particles, &self.takes_part, transfer, &keeps);
        self.keep_momentum(&free, step);
        let particles = &mut self.next.particles;
        let position = &particles.position;
        particles.velocity.par_iter_mut().enumerate().filter(|(p, _)| !self.takes_part[*p]).for_each(
            |(p, v)| {
                let force = step.force.map_or(Vec3::zeros(), |f| f(&position[p], v, f64::NEG_INFINITY));
                *v += (step.gravity + force) * step.dt;
            },
        );
        self.gather_spray(step);
        let particles = &mut self.next.particles;
        if let Some(age) = self.options.columns.find("age") {
            let rows = particles.carried.par_chunks_mut(particles.stride);
            rows.for_each(|row| row[age.start] += step.dt as f32);
        }
        self.fade_smoke(step.dt);
        if !self.next.fastest.is_finite() || !self.next.flying.is_finite() {
            return Err(Error::diverged("finish", "velocities are not finite"));
        }
        Ok(())
    }

    fn carried(&self) -> &[Carried] {
        &self.carried
    }

    fn trouble(&self) -> Option<String> {
        trouble::first(&self.next)
    }

    fn commit(&mut self) {
        self.now = std::mem::take(&mut self.next);
        self.forget();
    }

    fn abandon(&mut self) {
        self.next = State::default();
        self.moved = moving::Moved::default();
        self.forget();
    }

    fn amount(&self) -> Amount {
        let tracked = self.now.tracker.as_ref().map(|t| t.measure()[0]);
        Amount {
            volume: tracked
                .unwrap_or_else(|| self.now.grid.liquid_volume()[0] + self.now.flying - self.now.films),
            expected: self.now.expected,
            liquid_cells: self.now.grid.liquid.par_iter().filter(|d| **d < 0.0).count(),
            tiles: self.now.grid.tiles.len(),
        }
    }

    fn max_speed(&self) -> f64 {
        let v = &self.now.particles.velocity;
        let fastest = |r: std::ops::Range<usize>| v[r].iter().fold(0.0f64, |m, v| m.max(v.norm_squared()));
        let particles = crate::math::ordered_max(v.len(), fastest).max(0.0).sqrt();
        // Without particles in deep liquid the grid alone knows how fast that is.
        if self.has_bare_liquid() { particles.max(self.now.fastest) } else { particles }
    }

    fn particles(&self) -> &Particles {
        &self.now.particles
    }

    fn surface(&self, overlap: f64, viscosity: &[f64]) -> Result<TriMesh> {
        self.build_surface(overlap, viscosity)
    }

    fn attribute_names(&self) -> Vec<String> {
        self.shown().into_iter().map(|v| v.name).collect()
    }

    fn thickest(&self) -> f64 {
        self.thickest_painted()
    }

    fn particle_attributes(&self, viscosity: &[f64]) -> Vec<Attribute> {
        self.attributes_of_particles(viscosity)
    }

    fn cell_fields(&self) -> CellFields<'_> {
        let grid = &self.now.grid;
        let faces = std::array::from_fn(|a| if a < grid.tiles.axes() { &grid.velocity[a][..] } else { &[] });
        CellFields { pressure: &grid.pressure, distance: &grid.liquid, faces }
    }

    fn cell_motion(&self) -> (Vec<Vec3>, Vec<Vec3>) {
        let tiles = &self.now.grid.tiles;
        let places = (0..tiles.cells()).into_par_iter().map(|p| tiles.centre(tiles.cell(p)));
        let places = places.collect::<Vec<Vec3>>();
        let velocities = self.velocity_at(&places);
        (places, velocities)
    }

    fn face_positions(&self, axis: usize) -> Vec<Vec3> {
        let tiles = &self.now.grid.tiles;
        if axis >= tiles.axes() {
            return Vec::new();
        }
        let down = Vec3::ith(axis, 0.5 * tiles.h());
        (0..tiles.cells()).into_par_iter().map(|p| tiles.centre(tiles.cell(p)) - down).collect()
    }

    fn weights(&self) -> Vec<(&'static str, Vec<f64>)> {
        let grid = &self.next.grid;
        let [x, y, z] = grid.open.each_ref().map(|o| o.iter().map(|v| f64::from(*v)).collect());
        vec![
            ("open_x", x),
            ("open_y", y),
            ("open_z", z),
            ("room", grid.room.clone()),
            ("liquid_distance", grid.liquid.clone()),
        ]
    }

    fn moments(&self) -> Moments {
        self.sums()
    }

    fn volumes(&self, viscosity: &[f64]) -> Result<VolumesView<'_>> {
        self.view(viscosity)
    }

    fn emitted(&self) -> &[f64] {
        &self.now.emitted
    }

    fn bytes(&self) -> usize {
        let tracker = self.now.tracker.as_ref().map_or(0, ParticleLevelSet::bytes);
        self.now.grid.bytes() + 24 * self.now.grid.tiles.cells() + self.now.particles.bytes() + tracker
    }

    fn save(&self, out: &mut Writer) {
        self.write(out);
    }

    fn load(&mut self, from: &mut Reader, solids: &Solids) -> Result<()> {
        self.read(from, solids)
    }
}

/// The solids with the velocities that the solve gave the bodies; None without bodies.
pub(super) fn bodies_moved(step: &Step, carried: &[Carried]) -> Option<Solids> {
    let motion = |(c, afloat): (&Carried, &Afloat)| {
        let (v, w) = (linear(&c.velocity), angular(&c.velocity));
        // A motion tells the velocity of the origin of the pose.
        let arm = afloat.pose.translation - afloat.body.centre;
        Motion { pose: afloat.pose, linear: v + w.cross(&arm), angular: w }
    };
    let motions: Vec<Motion> = carried.iter().zip(step.bodies.all).map(motion).collect();
    (!motions.is_empty()).then(|| step.solids.with_body_motions(&motions))
}

/// The tiles that a box of space touches, `margin` metres round it.
fn tiles_of_box(options: &MacOptions, bounds: &Aabb, margin: f64) -> impl Iterator<Item = [i32; 3]> + use<> {
    let bounds = bounds.grow(margin);
    let side = options.cell * crate::grid::SIDE as f64;
    let (low, high) = ((bounds.lo - options.origin) / side, (bounds.hi - options.origin) / side);
    let range = move |a: usize| low[a].floor() as i32..=high[a].floor() as i32;
    let layers = if options.flat { 0..=0 } else { range(2) };
    layers.flat_map(move |k| range(1).flat_map(move |j| range(0).map(move |i| [i, j, k])))
}
