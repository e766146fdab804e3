//! Pressure on the graded lattice, with boundaries that cut through it anywhere.
//!
//! Pressure sits at circumcentres, velocity on faces along their normals (from the first cell of a face to
//! the second), solid distances at vertices and the liquid's distance φ at circumcentres:
//!
//! ```text
//!     u′ = u − Δt/ρ (p_b − p_a)/d                 between liquid cells, d from circumcentre to circumcentre
//!     u′ = u − Δt/ρ (p_s − p_a)/(θ d)             into the air, θ = φ_a/(φ_a − φ_b), p_s at the surface
//!     Σ_f w_f u′_f + Σ_f (A_f − w_f) u_solid·n = 0    w_f the area of the face outside solids
//! ```
//!
//! The free surface changes the gradient [ENGF03], solids change the divergence [BBB07], [NMG09]; both together
//! stay symmetric and an M-matrix [BXH10]. Dual edges are perpendicular to faces, so a linear pressure has its
//! exact gradient and still water is still to round-off, whatever the weights and wherever the lattice grades.
//! The solid's velocity is taken at the middle of the face, for its open and closed parts alike, so that a solid
//! that moves with the liquid does not disturb it. Distances are negative in solids and in the liquid.
//!
//! Where two solids meet that move apart or together, or one passes through a side of the domain, the closed faces of a
//! cell do not move as one, and their sum counts also what the solids push into each other, where no liquid is. In a
//! cell that is hardly open that is all there is, and slivers of faces would have to let it through: u ~ u_solid A/w has
//! no bound. One rigid motion carries as much into a cell as out of it, Σ_f A_f u_solid·n = 0, so any share g of that sum
//! may be left out without a change to a wall that stands alone:
//!
//! ```text
//!     Σ_f w_f u′_f + Σ_f (g A_f − w_f) u_solid·n = 0 ,        g = min(1, o/o₀) ,   o = Σ w_f / Σ A_f
//! ```
//!
//! Cells of which more than o₀ is open keep all of what is squeezed out of them. In the others solids count in proportion
//! to the open area, so what they ask of it is at most (1/o₀ + 1) times their own speed, however small it is.
//!
//! At walls that peel the pressure of cells that touch them has a least value ([`crate::solver::peel`]). A cell touches a wall
//! if a face of it is closed in part, or if its open faces do not surround it: on the sides of the lattice walls have no
//! faces of their own, and what is missing to Σ_f w_f n_f = 0 is the wall.
//!
//! Faces in a source move as the source says: they are held, and count as solids that move like that. Liquid moves
//! rigid bodies through [`crate::solver::pressure::Equation`].
//! Checked in tests/bcc.

use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::geometry::fraction;
use crate::linalg::PreconditionerKind;
use crate::math::{CHUNK, Vec3};
use crate::mesh::bcc::{Lattice, NONE};
use crate::mesh::{AIR, FaceGraph};
use crate::solver::mac::{Bodies, Carried};
use crate::solver::pressure::{Equation, Projection, accelerate};
use crate::solver::rigid::{RigidRows, Six, SixBySix};
use crate::solver::rounds::{Missing, agree};
use rayon::prelude::*;

/// θ is kept above this only against division by zero: more would move still water.
const LEAST_THETA: f64 = 1e-12;
/// A face with less of it open is closed: its area is rounding.
const LEAST_OPEN: f64 = 1e-12;
/// Walls of a cell of which less than this is open, o₀, squeeze it only in proportion to what is open.
const SQUEEZED: f64 = 0.1;
/// Open faces whose area vectors add up to more than this share of their areas do not surround their cell.
const GAPING: f64 = 1e-9;

/// The share of each face that lies outside solids, from their distance at the vertices.
pub fn open_shares(lattice: &Lattice, solid: &[f64]) -> Result<Vec<f64>> {
    check("solid distance", solid, lattice.vertices.len())?;
    let share = |v: &[u32; 4]| {
        let at = |k: usize| solid[v[k] as usize];
        if v[3] == NONE {
            return open_triangle([at(0), at(1), at(2)]);
        }
        // The two triangles of a square have equal areas.
        0.5 * (open_triangle([at(0), at(1), at(2)]) + open_triangle([at(0), at(2), at(3)]))
    };
    Ok(lattice.faces.vertices.par_iter().map(share).collect())
}

/// The open share itself, not the rest of the closed one: a sliver would be lost in rounding.
fn open_triangle(phi: [f64; 3]) -> f64 {
    let closed = fraction::triangle(phi);
    if closed == 0.0 || closed == 1.0 { 1.0 - closed } else { fraction::triangle(phi.map(|p| -p)) }
}

fn check(what: &str, values: &[f64], count: usize) -> Result<()> {
    if values.len() != count {
        return Err(Error::invalid(what, format!("{} numbers, the lattice needs {count}", values.len())));
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(Error::invalid(what, format!("number {at} is {}", values[at]))),
        None => Ok(()),
    }
}

/// The liquid part of a lattice as a face graph.
#[derive(Clone, Debug)]
pub struct Embedded {
    pub graph: FaceGraph,
    /// The cell of the lattice for each cell of the graph, ascending.
    pub cells: Vec<u32>,
    /// The face of the lattice for each face of the graph, ascending; the faces whose velocity is known.
    pub faces: Vec<u32>,
    /// Whether a face of the graph leads against the normal of its face in the lattice.
    pub(super) turned: Vec<bool>,
    /// The least pressure of each cell of the graph, −∞ for none, Pa; empty if no wall peels.
    lower: Vec<f64>,
    /// Cells of the lattice where the last projection let liquid leave its wall, ascending.
    pub off: Vec<u32>,
}

/// Bodies in the liquid of a lattice: see [`super::body_rows`] and [`super::missing_lift`].
pub struct Afloat<'a> {
    pub bodies: &'a Bodies<'a>,
    pub rows: &'a RigidRows,
    pub missing: &'a [Missing],
}

/// Where boundaries cut a lattice, and how its faces move.
#[derive(Clone, Copy)]
pub struct Cut<'a> {
    pub lattice: &'a Lattice,
    /// Share of each face outside solids, see [`open_shares`].
    pub open: &'a [f64],
    /// Signed distance to the free surface at each circumcentre, negative in the liquid.
    pub liquid: &'a [f64],
    /// Normal velocity of each face, m/s.
    pub velocity: &'a [f64],
}

impl Cut<'_> {
    fn check(&self) -> Result<()> {
        check("open share", self.open, self.lattice.faces.cells.len())?;
        check("liquid distance", self.liquid, self.lattice.cells())?;
        check("face velocity", self.velocity, self.lattice.faces.cells.len())
    }
}

impl Embedded {
    /// The cells with φ < 0 and an open face, and their open faces. Pressure at the surface and the solid's
    /// velocity are asked where they are needed.
    pub fn new(
        cut: &Cut,
        surface_pressure: impl Fn(&Vec3) -> f64 + Sync,
        solid_velocity: impl Fn(&Vec3) -> Vec3 + Sync,
    ) -> Result<Self> {
        Self::with_held(cut, &[], surface_pressure, solid_velocity)
    }

    /// As [`Embedded::new`]; the faces that are `held` keep their velocity. An empty list holds none.
    pub fn with_held(
        cut: &Cut,
        held: &[bool],
        surface_pressure: impl Fn(&Vec3) -> f64 + Sync,
        solid_velocity: impl Fn(&Vec3) -> Vec3 + Sync,
    ) -> Result<Self> {
        cut.check()?;
        if !held.is_empty() && held.len() != cut.open.len() {
            let message = format!("{} marks for {} faces", held.len(), cut.open.len());
            return Err(Error::invalid("held faces", message));
        }
        let held = |face: usize| held.get(face).copied().unwrap_or(false);
        let (cells, unknown) = liquid_cells(cut, held);
        let squeezed: Vec<f64> = cells.par_iter().map(|&c| squeezed(cut, c as usize)).collect();
        let graph = FaceGraph::with_cells(cells.len());
        let mut embedded =
            Self { graph, cells, faces: Vec::new(), turned: Vec::new(), lower: Vec::new(), off: Vec::new() };
        let count = cut.open.len();
        let gather = |chunk: usize| {
            let mut part = Part::default();
            for face in chunk * CHUNK..((chunk + 1) * CHUNK).min(count) {
                part.add(cut, face, held(face), (&unknown, &squeezed), &surface_pressure, &solid_velocity);
            }
            part
        };
        let parts: Vec<Part> = (0..count.div_ceil(CHUNK)).into_par_iter().map(gather).collect();
        parts.into_iter().for_each(|part| embedded.append(part));
        Ok(embedded)
    }

    fn append(&mut self, mut part: Part) {
        self.graph.append_faces(&mut part.graph);
        self.faces.append(&mut part.faces);
        self.turned.append(&mut part.turned);
        part.outflow.iter().for_each(|&(cell, flux)| self.graph.solid_outflow[cell as usize] += flux);
    }

    /// Let liquid come off the walls that peel, told at circumcentres. `acting` is the pressure of an earlier projection in
    /// the same step, Pa, over the cells of the lattice: walls bound the sum. Nothing acts if it is empty.
    pub fn peel(mut self, cut: &Cut, acting: &[f64], peels: impl Fn(&Vec3) -> bool + Sync) -> Self {
        let lower = |&cell: &u32| match touches_wall(cut.lattice, cut.open, cell)
            && peels(&cut.lattice.circumcentre(cell))
        {
            true => -acting.get(cell as usize).copied().unwrap_or(0.0),
            false => f64::NEG_INFINITY,
        };
        self.lower = self.cells.par_iter().map(lower).collect();
        self
    }

    /// Make the velocities balance; `pressure` holds a first guess for each cell of the lattice and receives
    /// the result in the liquid, zero elsewhere.
    pub fn project(
        &mut self,
        dt_over_density: f64,
        pressure: &mut [f64],
        tolerance: f64,
        cancel: &Cancel,
    ) -> Result<Projection> {
        Ok(self.project_first(dt_over_density, pressure, tolerance, cancel)?.0)
    }

    /// As [`Embedded::project`]; gives also the equation, for [`Embedded::project_again`].
    pub fn project_first(
        &mut self,
        dt_over_density: f64,
        pressure: &mut [f64],
        tolerance: f64,
        cancel: &Cancel,
    ) -> Result<(Projection, Option<Equation>)> {
        self.graph.check()?;
        let mut equation = self.equation(dt_over_density, 0.0, &RigidRows::new(0, Vec::new()), &[])?;
        let done = self.solve(&mut equation, dt_over_density, pressure, tolerance, cancel)?;
        Ok((done, equation))
    }

    /// Make other velocities of the same faces balance, without a pressure at the surface: the matrix with all that solves it
    /// fast is the same.
    pub fn project_again(
        &mut self,
        equation: &mut Option<Equation>,
        velocity: &[f64],
        dt_over_density: f64,
        pressure: &mut [f64],
        tolerance: f64,
        cancel: &Cancel,
    ) -> Result<Projection> {
        check("face velocity", velocity, velocity.len())?;
        for ((u, &face), &turned) in self.graph.velocity.iter_mut().zip(&self.faces).zip(&self.turned) {
            let now = velocity.get(face as usize).copied().unwrap_or(0.0);
            *u = if turned { -now } else { now };
        }
        self.graph.surface_pressure.fill(0.0);
        if let Some(before) = equation.take() {
            let mut renewed = before;
            renewed.renew(&self.graph, dt_over_density);
            *equation = Some(self.bounded(renewed));
        }
        self.solve(equation, dt_over_density, pressure, tolerance, cancel)
    }

    /// Solve an equation of this graph, if there is one, and let its pressure act.
    fn solve(
        &mut self,
        equation: &mut Option<Equation>,
        dt_over_density: f64,
        pressure: &mut [f64],
        tolerance: f64,
        cancel: &Cancel,
    ) -> Result<Projection> {
        if self.cells.last().is_some_and(|&c| c as usize >= pressure.len()) {
            let message = format!("{} numbers are fewer than the lattice has cells", pressure.len());
            return Err(Error::invalid("pressure", message));
        }
        let mut p: Vec<f64> = self.cells.iter().map(|&c| pressure[c as usize]).collect();
        let mut done = Projection::default();
        if let Some(equation) = equation {
            done = equation.solve(&[], &mut p, tolerance, cancel)?;
            self.note_off(equation);
        }
        self.accept(dt_over_density, p, pressure);
        Ok(done)
    }

    /// As [`Embedded::project`], with bodies that the pressure moves.
    pub fn project_coupled(
        &mut self,
        dt: f64,
        density: f64,
        afloat: &Afloat,
        pressure: &mut [f64],
        tolerance: f64,
        cancel: &Cancel,
    ) -> Result<(Projection, Vec<Carried>)> {
        self.graph.check()?;
        let Afloat { bodies, rows, missing } = afloat;
        let scale = dt / density;
        let mut p: Vec<f64> = self.cells.iter().map(|&c| pressure[c as usize]).collect();
        let inverse_mass: Vec<SixBySix> = bodies.all.iter().map(|b| b.body.inverse_mass).collect();
        let mut equation = self.equation(scale, dt, rows, &inverse_mass)?;
        let (mut rounds, mut iterations) = (Vec::new(), 0);
        let (carried, best) = agree(bodies, missing, (dt, density), |velocities| {
            let Some(equation) = &mut equation else { return Ok(vec![Six::zeros(); velocities.len()]) };
            let done = equation.solve(velocities, &mut p, tolerance, cancel)?;
            iterations += done.solve.map_or(0, |s| s.iterations);
            rounds.push((done, p.clone()));
            Ok(equation.impulses(&p))
        })?;
        let mut done = Projection::default();
        if best < rounds.len() {
            (done, p) = rounds.swap_remove(best);
        }
        done.solve.iter_mut().for_each(|s| s.iterations = iterations);
        equation.iter().for_each(|e| self.note_off(e));
        self.accept(scale, p, pressure);
        Ok((done, carried))
    }

    /// The equation of the pressure with its bounds; none without liquid.
    fn equation(
        &self,
        dt_over_density: f64,
        dt: f64,
        rows: &RigidRows,
        inverse_mass: &[SixBySix],
    ) -> Result<Option<Equation>> {
        if self.cells.is_empty() {
            return Ok(None);
        }
        let kind = PreconditionerKind::Amg;
        let equation = Equation::new(&self.graph, dt_over_density, dt, rows, inverse_mass, kind)?;
        Ok(Some(self.bounded(equation)))
    }

    fn bounded(&self, equation: Equation) -> Equation {
        if self.lower.is_empty() { equation } else { equation.bounded_by(self.lower.clone()) }
    }

    fn note_off(&mut self, equation: &Equation) {
        self.off = equation.off().into_iter().map(|i| self.cells[i]).collect();
    }

    /// Let a pressure of the graph act, and write it to the cells of the lattice.
    fn accept(&mut self, dt_over_density: f64, p: Vec<f64>, pressure: &mut [f64]) {
        accelerate(&mut self.graph, dt_over_density, &p);
        pressure.fill(0.0);
        self.cells.iter().zip(p).for_each(|(&c, p)| pressure[c as usize] = p);
    }

    /// Write the velocities of the known faces back, along the normals of the lattice.
    pub fn store(&self, velocity: &mut [f64]) {
        for ((&face, &turned), &u) in self.faces.iter().zip(&self.turned).zip(&self.graph.velocity) {
            if let Some(place) = velocity.get_mut(face as usize) {
                *place = if turned { -u } else { u };
            }
        }
    }
}

/// What a chunk of faces contributes to the graph.
#[derive(Default)]
struct Part {
    graph: FaceGraph,
    faces: Vec<u32>,
    turned: Vec<bool>,
    /// What solids push out of cells, m³/s.
    outflow: Vec<(u32, f64)>,
}

impl Part {
    fn add(
        &mut self,
        cut: &Cut,
        face: usize,
        held: bool,
        (unknown, squeezed): (&[u32], &[f64]),
        surface_pressure: impl Fn(&Vec3) -> f64,
        solid_velocity: impl Fn(&Vec3) -> Vec3,
    ) {
        let sides = cut.lattice.faces.cells[face].map(|c| unknown[c as usize]);
        if sides == [NONE; 2] {
            return;
        }
        let open = cut.open[face];
        let counted = sides.map(|cell| squeezed.get(cell as usize).copied().unwrap_or(open));
        if counted != [open; 2] {
            let velocity = solid_velocity(&cut.lattice.face_middle(face));
            let flux = velocity.dot(&cut.lattice.area_vector(face));
            let both = sides.into_iter().zip([counted[0] - open, open - counted[1]]);
            let both = both.map(|(cell, share)| (cell, share * flux));
            self.outflow.extend(both.filter(|(cell, _)| *cell != NONE));
        }
        if held {
            let flux = open * cut.velocity[face] * cut.lattice.area_vector(face).norm();
            let both = sides.into_iter().zip([flux, -flux]);
            self.outflow.extend(both.filter(|(cell, _)| *cell != NONE));
        } else if open > LEAST_OPEN {
            self.add_open(cut, face, sides, surface_pressure);
        }
    }

    /// The open part of a face, to another liquid cell or through the surface.
    fn add_open(&mut self, cut: &Cut, face: usize, sides: [u32; 2], surface_pressure: impl Fn(&Vec3) -> f64) {
        let dual = cut.lattice.dual_edge(face);
        let area = cut.open[face] * cut.lattice.area_vector(face).norm();
        let turned = sides[0] == NONE;
        let velocity = if turned { -cut.velocity[face] } else { cut.velocity[face] };
        self.faces.push(face as u32);
        self.turned.push(turned);
        if !sides.contains(&NONE) {
            self.graph.push(sides[0], sides[1], area, dual.norm(), velocity, 0.0);
            return;
        }
        let mut cells = cut.lattice.faces.cells[face];
        let mut along = dual;
        if turned {
            cells.swap(0, 1);
            along = -dual;
        }
        let [near, far] = cells.map(|c| cut.liquid[c as usize]);
        let theta = (near / (near - far)).max(LEAST_THETA);
        let pressure = surface_pressure(&(cut.lattice.circumcentre(cells[0]) + along * theta));
        self.graph.push(sides[turned as usize], AIR, area, theta * dual.norm(), velocity, pressure);
    }
}

/// How much of what solids push through the faces of a cell counts, g.
fn squeezed(cut: &Cut, cell: usize) -> f64 {
    let (mut open, mut all) = (0.0, 0.0);
    for &f in cut.lattice.faces_of(cell) {
        let area = cut.lattice.area_vector(f as usize).norm();
        (open, all) = (open + cut.open[f as usize] * area, all + area);
    }
    if open < SQUEEZED * all { open / (SQUEEZED * all) } else { 1.0 }
}

/// Whether a wall closes a part of a cell, given the open share of each face.
pub fn touches_wall(lattice: &Lattice, open: &[f64], cell: u32) -> bool {
    let (mut sum, mut all) = (Vec3::zeros(), 0.0);
    for &f in lattice.faces_of(cell as usize) {
        let (f, area) = (f as usize, lattice.area_vector(f as usize));
        if open[f] < 1.0 {
            return true;
        }
        sum += if lattice.faces.cells[f][0] == cell { area } else { -area };
        all += area.norm();
    }
    sum.norm() > GAPING * all
}

/// The cells that carry an unknown, and the unknown of each cell or [`NONE`].
fn liquid_cells(cut: &Cut, held: impl Fn(usize) -> bool + Sync) -> (Vec<u32>, Vec<u32>) {
    let open = |f: usize| cut.open[f] > LEAST_OPEN && !held(f);
    let opens = |c: usize| cut.lattice.faces_of(c).iter().any(|&f| open(f as usize));
    let cells: Vec<u32> = (0..cut.lattice.cells())
        .into_par_iter()
        .filter(|&c| cut.liquid[c] < 0.0 && opens(c))
        .map(|c| c as u32)
        .collect();
    let mut unknown = vec![NONE; cut.lattice.cells()];
    cells.iter().enumerate().for_each(|(i, &c)| unknown[c as usize] = i as u32);
    (cells, unknown)
}
