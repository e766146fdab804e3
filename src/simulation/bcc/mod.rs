//! The simulator `bcc`: pressure on the graded tetrahedral lattice, with the surface at its finest spacing.
//!
//! Between substeps the state is: the surface, carried by a tracker of the finest spacing; the lattice, fine in a
//! band about the surface and growing coarser away from it by `detail` at most; normal velocities of its faces that
//! keep volume, and whole velocities at its circumcentres, extended beyond the surface; the ledger of volume.
//!
//! ```text
//!     advect_surface    φ along the old velocity, off the walls that peel; sources, open sides, volume
//!     remesh            a new lattice, unless the old one is still fine all about the surface
//!     advect_velocity   from the old lattice to the faces of the new one
//!     apply_forces      u += Δt g·n
//!     solve             pressure with embedded boundaries [BXH10]; for thick liquid pressure, viscosity, pressure,
//!                       and in between both together if it creeps
//!     finish            velocity at circumcentres, extended into air and solids
//! ```
//!
//! One substep reads the state and writes a second one; only `commit` exchanges them.
//! Checked by tests/bcc and `meniscus validate bcc`.

mod filling;
mod leaving;
mod mesh;
mod mixing;
mod moving;
mod output;
mod saving;
mod sizing;
mod tension;
mod thick;
mod trouble;
mod volumes;

use super::liquid::{Amount, CellFields, Liquid, Moments, Solved, Step};
use super::mac::bodies_moved;
use super::report::Limit;
use super::state::{Reader, Writer};
use super::volumes::VolumesView;
use crate::error::{Error, Result};
use crate::field::{Particles, Solids};
use crate::geometry::TriMesh;
use crate::math::{Aabb, Vec3};
use crate::mesh::bcc::OctreeDomain;
use crate::solver::bcc::{
    Afloat, Coupling, Cut, Embedded, LatticeValues, LatticeVelocity, body_rows, extend_velocity, fit_cells,
    fit_leaving, missing_lift,
};
use crate::solver::mac::Carried;
use crate::solver::pressure::{Equation, Projection};
use crate::surface::ParticleLevelSet;
use mesh::Mesh;
pub(super) use moving::moved_out;
use sizing::Wishes;
use std::sync::Arc;
use thick::Thickness;

/// Layers of cells over which velocity is extended beyond the liquid: a layer is at least a third of a cell wide.
const EXTENDED: usize = 20;

/// What does not change during a simulation.
#[derive(Clone, Debug)]
pub struct BccOptions {
    /// Width of the tracker's cells, m.
    pub cell: f64,
    /// Width of the finest octree cells in cells, 1 or 2.
    pub cube: u32,
    /// What the scene asks for besides the surface.
    pub sizing: crate::scene::Sizing,
    /// How often root cells may be halved: the widest cells are 2^depth times as wide as the finest.
    pub depth: u32,
    pub domain: Aabb,
    /// Sides of the domain through which liquid leaves.
    pub open: [[bool; 2]; 3],
    /// Finest cells that liquid may cross in a substep.
    pub cfl: f64,
    pub density: f64,
    pub tolerance: f64,
    pub viscosity_tolerance: f64,
    /// How pressure and viscosity are found.
    pub flow: crate::scene::Flow,
    /// Smooth each component of velocity on its own.
    pub draft_viscosity: bool,
    pub coupling: Coupling,
    pub volume_lock: bool,
    /// How much of what interpolation loses is given back, 0 to 1.
    pub blend: f64,
    /// Markers in a cell at the surface.
    pub markers: usize,
    /// Liquids of the scene.
    pub liquids: usize,
}

/// Everything that is known between substeps.
#[derive(Clone, Debug, Default)]
struct State {
    surface: ParticleLevelSet,
    mesh: Option<Arc<Mesh>>,
    /// Where cells of a new lattice were in the old one, until velocity has been carried.
    from: Vec<u32>,
    /// Share of each face that is open.
    open: Arc<Vec<f64>>,
    /// The distance of solids at vertices.
    solid: Arc<Vec<f64>>,
    /// Normal velocity of each face, and whether liquid has it.
    velocity: Vec<f64>,
    known: Vec<bool>,
    /// Faces that move as a source says; empty without sources.
    held: Vec<bool>,
    /// Velocity at circumcentres and its means.
    values: LatticeValues,
    pressure: Vec<f64>,
    /// Cells in which the last solve let liquid leave its wall, ascending.
    off: Vec<u32>,
    /// Shares of the liquids at circumcentres; empty with one liquid.
    mix: Vec<LatticeValues>,
    /// The liquid's distance at circumcentres.
    liquid: Vec<f64>,
    /// Measured volume, and what it should be, m³.
    volume: f64,
    expected: f64,
    emitted: Vec<f64>,
    /// The greatest speed in the liquid, m/s.
    fastest: f64,
}

impl State {
    fn mesh(&self) -> Result<&Arc<Mesh>> {
        self.mesh.as_ref().ok_or_else(|| Error::invalid("lattice", "there is none yet"))
    }
}

/// The simulator.
pub struct Bcc {
    options: BccOptions,
    octree: OctreeDomain,
    wishes: Wishes,
    /// Whether liquid comes off some wall.
    peels: bool,
    now: State,
    /// The state being made.
    next: State,
    /// What the last solve made of the bodies.
    carried: Vec<Carried>,
    /// The liquid is known by its surface; there are none.
    particles: Particles,
}

/// A projection that can be made again with other velocities: nothing else changes within a step.
struct Pressed {
    embedded: Embedded,
    equation: Option<Equation>,
}

impl Pressed {
    /// The volume of liquid that each of the lattice's faces stands for, m³.
    fn masses(&self, faces: usize) -> Vec<f64> {
        // What is not liquid never moves; one is as good as any number.
        let mut mass = vec![1.0; faces];
        let graph = &self.embedded.graph;
        for (g, &f) in self.embedded.faces.iter().enumerate() {
            mass[f as usize] = graph.area[g] * graph.length[g];
        }
        mass
    }
}

/// The lattice of a simulation with its fields, for pictures and files.
pub struct CellsView<'a> {
    pub lattice: &'a crate::mesh::bcc::Lattice,
    /// Pa, zero outside the liquid.
    pub pressure: &'a [f64],
    /// Distance to the surface, negative in the liquid, m.
    pub liquid: &'a [f64],
    /// m/s.
    pub velocity: &'a [Vec3],
}

impl Bcc {
    fn carried_by<'a>(state: &'a State, mesh: &'a Mesh) -> LatticeVelocity<'a> {
        LatticeVelocity::of(&mesh.lattice, &mesh.edges, &state.values)
    }

    /// Make the velocities of faces keep volume, under a pressure at the surface. `last` says that no other solve
    /// follows: bodies move with its pressure. `acting` is the pressure of an earlier one in the step, if any.
    fn project(
        &mut self,
        step: &Step,
        surface_pressure: &(dyn Fn(&Vec3) -> f64 + Sync),
        last: bool,
        acting: &[f64],
    ) -> Result<(Projection, Pressed)> {
        let mesh = self.next.mesh()?.clone();
        let lattice = &mesh.lattice;
        let State { open, velocity, known, pressure, liquid, held, off, .. } = &mut self.next;
        let cut = Cut { lattice, open, liquid, velocity };
        let reach = 2.0 * self.octree.root_width;
        let floats = last && !step.bodies.all.is_empty();
        // The velocity of bodies is to be found, not given.
        let solid_velocity = |x: &Vec3| match floats {
            true => step.solids.scripted_velocity(x, reach),
            false => step.solids.velocity(x, reach),
        };
        let mut embedded = Embedded::with_held(&cut, held, surface_pressure, solid_velocity)?;
        if self.peels {
            embedded = embedded.peel(&cut, acting, |x| step.solids.wall(x, reach).peel);
        }
        let BccOptions { density, tolerance, .. } = self.options;
        let (done, equation) = if floats {
            let bodies = step.bodies;
            let rows = body_rows(&cut, &embedded, step.solids, bodies.all, reach);
            let missing = missing_lift(&cut, &embedded, step.solids, bodies, &rows, density);
            let afloat = Afloat { bodies, rows: &rows, missing: &missing };
            let (done, carried) =
                embedded.project_coupled(step.dt, density, &afloat, pressure, tolerance, step.cancel)?;
            self.carried = carried;
            (done, None)
        } else {
            embedded.project_first(step.dt / density, pressure, tolerance, step.cancel)?
        };
        off.clone_from(&embedded.off);
        let is_held = |f: usize| held.get(f).copied().unwrap_or(false);
        velocity.iter_mut().enumerate().filter(|(f, _)| !is_held(*f)).for_each(|(_, u)| *u = 0.0);
        embedded.store(velocity);
        *known = (0..velocity.len()).map(is_held).collect();
        embedded.faces.iter().for_each(|&f| known[f as usize] = true);
        Ok((done, Pressed { embedded, equation }))
    }

    /// Make the velocities keep volume again after something other than pressure has changed them.
    fn project_again(&mut self, step: &Step, pressed: Pressed, acting: &[f64]) -> Result<Projection> {
        // Bodies that move with the pressure are part of the matrix.
        if !step.bodies.all.is_empty() {
            return Ok(self.project(step, &|_| 0.0, true, acting)?.0);
        }
        let mesh = self.next.mesh()?.clone();
        let State { open, velocity, pressure, liquid, off, .. } = &mut self.next;
        let Pressed { mut embedded, mut equation } = pressed;
        if self.peels {
            let cut = Cut { lattice: &mesh.lattice, open, liquid, velocity };
            let reach = 2.0 * self.octree.root_width;
            embedded = embedded.peel(&cut, acting, |x| step.solids.wall(x, reach).peel);
        }
        let BccOptions { density, tolerance, .. } = self.options;
        let scale = step.dt / density;
        let done =
            embedded.project_again(&mut equation, velocity, scale, pressure, tolerance, step.cancel)?;
        off.clone_from(&embedded.off);
        embedded.store(velocity);
        Ok(done)
    }

    /// The velocity at circumcentres from that of the faces, extended and led along walls.
    fn reconstruct(&mut self, solids: &Solids) -> Result<()> {
        let mesh = self.next.mesh()?.clone();
        let lattice = &mesh.lattice;
        let State { open, velocity, known, off, .. } = &self.next;
        let mut fitted = fit_cells(lattice, velocity, known)?;
        for &c in off {
            fitted[c as usize] = fit_leaving(lattice, open, velocity, known, c).or(fitted[c as usize]);
        }
        let wet = |c: usize| self.next.liquid[c] < 0.0;
        self.next.fastest = fastest(&fitted, wet);
        if !self.next.fastest.is_finite() {
            return Err(Error::diverged("finish", "velocities are not finite"));
        }
        let own: Vec<bool> = fitted.iter().map(Option::is_some).collect();
        extend_velocity(lattice, &self.next.velocity, &self.next.known, &mut fitted, EXTENDED);
        let mut at_cells: Vec<Vec3> = fitted.into_iter().map(Option::unwrap_or_default).collect();
        let holds = |c: usize| wet(c) && self.next.off.binary_search(&(c as u32)).is_err();
        let cut = (&self.next.open[..], &self.next.solid[..]);
        moving::lead_along_walls(lattice, cut, &own, holds, solids, &mut at_cells);
        self.next.values = LatticeValues::new(lattice, &mesh.edges, at_cells)?;
        Ok(())
    }
}

/// The greatest speed over the cells that count, m/s.
fn fastest(velocity: &[Option<Vec3>], counts: impl Fn(usize) -> bool + Sync) -> f64 {
    let of = |r: std::ops::Range<usize>| {
        r.filter(|c| counts(*c)).filter_map(|c| velocity[c]).fold(0.0f64, |m, v| match v.norm_squared() {
            v if v.is_nan() => f64::INFINITY,
            v => m.max(v),
        })
    };
    crate::math::ordered_max(velocity.len(), of).max(0.0).sqrt()
}

impl Liquid for Bcc {
    fn max_dt(&self, acceleration: f64) -> Limit {
        Limit::of_speed(self.options.cfl * self.options.cell, self.now.fastest, acceleration)
    }

    fn advect_surface(&mut self, step: &Step) -> Result<()> {
        self.next = State {
            volume: self.now.volume,
            expected: self.now.expected,
            emitted: self.now.emitted.clone(),
            ..State::default()
        };
        self.carry_surface(step)
    }

    fn remesh(&mut self, step: &Step) -> Result<()> {
        self.lay_lattice(step)
    }

    fn advect_velocity(&mut self, step: &Step) -> Result<()> {
        self.carry_velocity(step)?;
        self.carry_mix(step)
    }

    fn apply_forces(&mut self, step: &Step) -> Result<()> {
        self.push_faces(step)
    }

    fn solve(&mut self, step: &Step) -> Result<Solved> {
        let tense = self.surface_pressure(step.tension);
        let Thickness { mut solves, first, flow, pressed } = self.thicken(step, &*tense)?;
        // A projection before has the pressure at the surface already.
        let done = match pressed {
            None => self.project(step, &*tense, true, &[])?.0,
            Some(pressed) => self.project_again(step, pressed, &first)?,
        };
        self.next.pressure.iter_mut().zip(first).for_each(|(p, first)| *p += first);
        solves.extend(done.solve);
        let Projection { closed_regions, refused_inflow, .. } = done;
        Ok(Solved { solves, closed_regions, refused_inflow, flow })
    }

    fn finish(&mut self, step: &Step) -> Result<()> {
        // Liquid at a body moves with the velocity that it has got.
        let moved = bodies_moved(step, &self.carried);
        self.reconstruct(moved.as_ref().unwrap_or(step.solids))
    }

    fn carried(&self) -> &[Carried] {
        &self.carried
    }

    fn trouble(&self) -> Option<String> {
        // A stage may end before it has made anything; then what it began with is to blame.
        trouble::first(&self.next).or_else(|| trouble::first(&self.now))
    }

    fn commit(&mut self) {
        self.now = std::mem::take(&mut self.next);
    }

    fn abandon(&mut self) {
        self.next = State::default();
    }

    fn amount(&self) -> Amount {
        Amount {
            volume: self.now.volume,
            expected: self.now.expected,
            liquid_cells: self.now.liquid.iter().filter(|d| **d < 0.0).count(),
            tiles: self.now.surface.set.tiles.len(),
        }
    }

    fn max_speed(&self) -> f64 {
        self.now.fastest
    }

    fn particles(&self) -> &Particles {
        &self.particles
    }

    fn surface(&self, overlap: f64, _viscosity: &[f64]) -> Result<TriMesh> {
        self.build_surface(overlap)
    }

    fn cell_fields(&self) -> CellFields<'_> {
        CellFields { pressure: &self.now.pressure, distance: &self.now.liquid, faces: [&[]; 3] }
    }

    fn cell_motion(&self) -> (Vec<Vec3>, Vec<Vec3>) {
        let Some(mesh) = &self.now.mesh else { return Default::default() };
        let places = (0..mesh.lattice.cells() as u32).map(|c| mesh.lattice.circumcentre(c));
        (places.collect(), self.now.values.at_cells.clone())
    }

    fn weights(&self) -> Vec<(&'static str, Vec<f64>)> {
        let State { open, solid, liquid, .. } = &self.next;
        vec![("open", open.to_vec()), ("solid_distance", solid.to_vec()), ("liquid_distance", liquid.clone())]
    }

    fn cells(&self) -> Option<CellsView<'_>> {
        let mesh = self.now.mesh.as_ref()?;
        Some(CellsView {
            lattice: &mesh.lattice,
            pressure: &self.now.pressure,
            liquid: &self.now.liquid,
            velocity: &self.now.values.at_cells,
        })
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
        let s = &self.now;
        let own = 17 * s.velocity.len() + 80 * s.pressure.len();
        s.surface.bytes() + s.mesh.as_ref().map_or(0, |m| m.bytes()) + own
    }

    fn save(&self, out: &mut Writer) {
        self.write(out);
    }

    fn load(&mut self, from: &mut Reader, solids: &Solids) -> Result<()> {
        self.read(from, solids)
    }
}
