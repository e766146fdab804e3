//! One dense block of cells with its pressure solve, for engines that bring their own fields.
//!
//! ```text
//!      n---v---n        φ  liquid distance, density, surface pressure and pressure at cell centres
//!      |       |        n  solid distance at nodes, negative in solid
//!      u  φ,p  u        u  velocity on faces, and the solid's velocity there
//!      |       |        arrays run along x first, then y, then z
//!      n---v---n        one cell along z makes the block flat: no z faces, one layer of nodes
//! ```
//!
//! The outside of the block is solid: its border faces are closed and move with the solid velocity
//! given there, which is also how liquid is let in or out at a known rate.
//!
//! Both schemes hand a face graph to [`crate::solver::pressure`]; they differ in its weights, see
//! [`super::block_weights`]. With a density that varies, a face between cells of ρ_a and ρ_b
//! accelerates as if of (ρ_a + ρ_b)/2, which enters as a longer way for the pressure to drop over.
//! Checked in block_tests.rs: a linear pressure is exact under any gravity, in any container, with any
//! plane surface (scheme `area`); still water stays still under gravity along an axis (`volume`).

use super::block_weights::Weights;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::math::Vec3;
use crate::mesh::{AIR, FaceGraph};
use crate::solver::pressure::{self, Projection};

/// Where the values of a field sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Centre,
    Node,
    /// Faces across an axis.
    Face(usize),
}

/// The fields of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockField {
    /// Distance to the free surface, m, negative in liquid.
    LiquidDistance,
    /// Distance to solids, m, negative inside.
    SolidDistance,
    /// Velocity along an axis, m/s.
    Velocity(usize),
    /// Velocity of solids along an axis, m/s; at rest if never set.
    SolidVelocity(usize),
    /// kg/m³, one value or one a cell; 1000 if never set.
    Density,
    /// Pressure at the free surface, Pa, one value or one a cell; 0 if never set.
    SurfacePressure,
    /// Pa; the first guess of a solve and its result.
    Pressure,
}

impl BlockField {
    pub fn place(self) -> Place {
        match self {
            BlockField::SolidDistance => Place::Node,
            BlockField::Velocity(axis) | BlockField::SolidVelocity(axis) => Place::Face(axis),
            _ => Place::Centre,
        }
    }

    /// Whether one value may stand for all cells.
    fn may_be_constant(self) -> bool {
        matches!(self, BlockField::Density | BlockField::SurfacePressure)
    }
}

/// How cut cells and faces are weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Open areas and the distance to the surface: second order.
    #[default]
    Area,
    /// Volumes of liquid round cells and faces: the variational form, which sees small drops.
    Volume,
}

/// What a solve is told.
#[derive(Clone, Copy, Debug)]
pub struct BlockOptions {
    pub scheme: Scheme,
    /// Step, s.
    pub dt: f64,
    /// Relative residual at which the solve stops.
    pub tolerance: f64,
    /// Relative expansion of the liquid, 1/s.
    pub expansion: f64,
}

/// A box of cubic cells.
#[derive(Clone, Debug)]
pub struct Block {
    pub(super) cells: [usize; 3],
    origin: Vec3,
    h: f64,
    pub(super) liquid: Vec<f64>,
    pub(super) solid: Vec<f64>,
    velocity: [Vec<f64>; 3],
    solid_velocity: [Vec<f64>; 3],
    density: Vec<f64>,
    surface_pressure: Vec<f64>,
    pressure: Vec<f64>,
    known: [Vec<u8>; 3],
}

/// The pressure solve of a block before it is done.
pub(crate) struct Equations {
    weights: Weights,
    velocity: [Vec<f64>; 3],
    /// The number of each cell in the graph; [`AIR`] if it has none.
    pub numbers: Vec<u32>,
    pub graph: FaceGraph,
    /// For each face of the graph its axis, its place, and whether it is counted against the axis.
    pub places: Vec<(usize, usize, bool)>,
}

/// More cells than this have no number of 32 bits for each of their faces.
const MAX_CELLS: usize = 1 << 30;

impl Block {
    /// A block of air at rest without solids. One cell along z makes it flat.
    pub fn new(cells: [usize; 3], origin: Vec3, h: f64) -> Result<Self> {
        let count = cells.iter().try_fold(1usize, |n, c| n.checked_mul(*c));
        if !count.is_some_and(|n| (1..=MAX_CELLS).contains(&n)) {
            return Err(Error::invalid(
                "cells",
                format!("{cells:?} cells; 1 to {MAX_CELLS} in all are possible"),
            ));
        }
        // Areas, volumes and their reciprocals must be numbers too.
        let sound = (1e-30..1e30).contains(&h) && origin.iter().all(|v| v.is_finite() && v.abs() < 1e30);
        if !sound {
            return Err(Error::invalid("cell", format!("cells of {h} m from {:?}", origin.as_slice())));
        }
        Ok(Self {
            cells,
            origin,
            h,
            liquid: Vec::new(),
            solid: Vec::new(),
            velocity: Default::default(),
            solid_velocity: Default::default(),
            density: vec![1000.0],
            surface_pressure: vec![0.0],
            pressure: Vec::new(),
            known: Default::default(),
        })
    }

    /// The axes that carry velocities: 2 or 3.
    pub fn axes(&self) -> usize {
        if self.cells[2] == 1 { 2 } else { 3 }
    }

    /// Values along x, y and z of a field.
    pub fn extent(&self, place: Place) -> [usize; 3] {
        let mut n = self.cells;
        match place {
            Place::Centre => {}
            Place::Node => (0..self.axes()).for_each(|a| n[a] += 1),
            Place::Face(axis) => n[axis] += 1,
        }
        n
    }

    /// Number of values of a field.
    pub fn count(&self, place: Place) -> usize {
        self.extent(place).iter().product()
    }

    /// World positions of the values of a field.
    pub fn positions(&self, place: Place) -> Result<Vec<Vec3>> {
        let half = match place {
            Place::Centre => Vec3::repeat(0.5),
            // A flat block lies in the middle plane of its cells.
            Place::Node => Vec3::new(0.0, 0.0, if self.axes() == 2 { 0.5 } else { 0.0 }),
            Place::Face(axis) => Vec3::from_fn(|a, _| if a == axis { 0.0 } else { 0.5 }),
        };
        let n = self.extent(place);
        let at =
            |[i, j, k]: [usize; 3]| self.origin + (Vec3::new(i as f64, j as f64, k as f64) + half) * self.h;
        let mut out = room(self.count(place))?;
        out.extend((0..n[2] * n[1] * n[0]).map(|l| at([l % n[0], l / n[0] % n[1], l / (n[0] * n[1])])));
        Ok(out)
    }

    /// Set a field; `name` is for errors. The values must be finite and as many as [`Block::count`].
    pub fn set(&mut self, field: BlockField, values: Vec<f64>, name: &str) -> Result<()> {
        if let Place::Face(axis) = field.place()
            && axis >= self.axes()
        {
            return Err(Error::invalid(name, "a flat block has no faces across z"));
        }
        let count = self.count(field.place());
        if values.len() != count && !(field.may_be_constant() && values.len() == 1) {
            let n = self.extent(field.place());
            return Err(Error::invalid(name, format!("{} values; there are {n:?} = {count}", values.len())));
        }
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::invalid(name, "has numbers that are not finite"));
        }
        if field == BlockField::Density && values.iter().any(|d| *d <= 0.0) {
            return Err(Error::invalid(name, "must be greater than zero"));
        }
        *self.slot(field) = values;
        Ok(())
    }

    /// Set the liquid's distance from values at nodes: means at centres, exact for a plane.
    pub fn set_liquid_at_nodes(&mut self, values: &[f64], name: &str) -> Result<()> {
        if values.len() != self.count(Place::Node) {
            let message = format!("{} values; there are {}", values.len(), self.count(Place::Node));
            return Err(Error::invalid(name, message));
        }
        let flat = self.axes() == 2;
        let mut centres = room(self.count(Place::Centre))?;
        self.each(Place::Centre, |[i, j, k]| {
            let corner = |c: usize| {
                let up = if flat { 0 } else { c >> 2 };
                values[self.at(Place::Node, [i + (c & 1), j + (c >> 1 & 1), k + up])]
            };
            centres.push((0..8).map(corner).sum::<f64>() / 8.0);
        });
        self.set(BlockField::LiquidDistance, centres, name)
    }

    /// The values of a field; empty if it was never set or computed.
    pub fn get(&self, field: BlockField) -> &[f64] {
        match field {
            BlockField::LiquidDistance => &self.liquid,
            BlockField::SolidDistance => &self.solid,
            BlockField::Velocity(axis) => &self.velocity[axis],
            BlockField::SolidVelocity(axis) => &self.solid_velocity[axis],
            BlockField::Density => &self.density,
            BlockField::SurfacePressure => &self.surface_pressure,
            BlockField::Pressure => &self.pressure,
        }
    }

    /// Take the result of another solve of this block; a pressure that is empty leaves the one there is.
    pub(crate) fn accept(&mut self, velocity: [Vec<f64>; 3], known: [Vec<u8>; 3], pressure: Vec<f64>) {
        (self.velocity, self.known) = (velocity, known);
        if !pressure.is_empty() {
            self.pressure = pressure;
        }
    }

    /// Lowest corner, m.
    pub(crate) fn origin(&self) -> Vec3 {
        self.origin
    }

    /// Cells along each axis.
    pub(crate) fn cells(&self) -> [usize; 3] {
        self.cells
    }

    /// Width of a cell, m.
    pub(crate) fn h(&self) -> f64 {
        self.h
    }

    /// Which faces across an axis have a velocity after a solve: those that touch liquid.
    pub fn known(&self, axis: usize) -> &[u8] {
        &self.known[axis]
    }

    fn slot(&mut self, field: BlockField) -> &mut Vec<f64> {
        match field {
            BlockField::LiquidDistance => &mut self.liquid,
            BlockField::SolidDistance => &mut self.solid,
            BlockField::Velocity(axis) => &mut self.velocity[axis],
            BlockField::SolidVelocity(axis) => &mut self.solid_velocity[axis],
            BlockField::Density => &mut self.density,
            BlockField::SurfacePressure => &mut self.surface_pressure,
            BlockField::Pressure => &mut self.pressure,
        }
    }

    pub(super) fn at(&self, place: Place, [i, j, k]: [usize; 3]) -> usize {
        let n = self.extent(place);
        (k * n[1] + j) * n[0] + i
    }

    pub(super) fn each(&self, place: Place, mut f: impl FnMut([usize; 3])) {
        let n = self.extent(place);
        for k in 0..n[2] {
            for j in 0..n[1] {
                (0..n[0]).for_each(|i| f([i, j, k]));
            }
        }
    }

    /// Project the velocities so that liquid keeps its volume and does not enter solids. Returns also
    /// the number of unknowns. After an error the fields are as they were.
    pub fn project(&mut self, options: &BlockOptions, cancel: &Cancel) -> Result<(Projection, usize)> {
        let Equations { weights, velocity, numbers, mut graph, places } = self.equations(options)?;
        let unknowns = graph.cells();
        let mut p = self.first_guess(&weights, &numbers, unknowns, options.scheme)?;
        cancel.check()?;
        let scale = options.dt / self.reference_density();
        let report = pressure::project(&mut graph, scale, &mut p, options.tolerance, cancel)?;
        self.velocity = velocity;
        self.write_velocity(&weights, &graph, &places, &numbers)?;
        self.write_pressure(&weights, &numbers, &p, options.scheme)?;
        Ok((report, unknowns))
    }

    /// What a solve is about to solve; its right-hand side may be changed to one that no velocity gives.
    pub(crate) fn equations(&self, options: &BlockOptions) -> Result<Equations> {
        self.check(options)?;
        let weights = match options.scheme {
            Scheme::Area => Weights::area(self)?,
            Scheme::Volume => Weights::volume(self)?,
        };
        let mut velocity = self.start_velocity()?;
        if options.scheme == Scheme::Volume {
            self.apply_surface_pressure(&mut velocity, options.dt);
        }
        let numbers = self.number_cells(&weights)?;
        let unknowns = numbers.iter().filter(|n| **n != AIR).count();
        let (graph, places) = self.build(&weights, &velocity, &numbers, unknowns, options);
        Ok(Equations { weights, velocity, numbers, graph, places })
    }

    fn check(&self, options: &BlockOptions) -> Result<()> {
        if self.liquid.is_empty() {
            return Err(Error::invalid("liquid_distance", "must be set before a solve"));
        }
        if !(1e-12..1e12).contains(&options.dt) {
            return Err(Error::invalid("dt", format!("is {} s", options.dt)));
        }
        if !(options.expansion.is_finite() && options.expansion.abs() <= 1e6) {
            return Err(Error::invalid("expansion", format!("is {} 1/s", options.expansion)));
        }
        Ok(())
    }

    fn reference_density(&self) -> f64 {
        self.density[0]
    }

    fn cell_value(values: &[f64], cell: usize) -> f64 {
        if values.len() == 1 { values[0] } else { values[cell] }
    }

    pub(super) fn is_border(&self, axis: usize, at: [usize; 3]) -> bool {
        at[axis] == 0 || at[axis] == self.cells[axis]
    }

    /// The velocities as set, or at rest.
    fn start_velocity(&self) -> Result<[Vec<f64>; 3]> {
        let mut out: [Vec<f64>; 3] = Default::default();
        for (axis, u) in out.iter_mut().enumerate().take(self.axes()) {
            *u = match self.velocity[axis].is_empty() {
                true => filled(self.count(Place::Face(axis)), 0.0)?,
                false => self.velocity[axis].clone(),
            };
        }
        Ok(out)
    }

    /// Scheme `volume` solves for the pressure above that at the surface; what is left of it is the
    /// gradient of the surface's own pressure, u ← u − Δt/ρ ∇p_surface.
    fn apply_surface_pressure(&self, velocity: &mut [Vec<f64>; 3], dt: f64) {
        if self.surface_pressure.len() == 1 {
            return;
        }
        for (axis, u) in velocity.iter_mut().enumerate().take(self.axes()) {
            self.each(Place::Face(axis), |at| {
                if let (Some(low), Some(high)) = self.sides(axis, at) {
                    let rho =
                        0.5 * (Self::cell_value(&self.density, low) + Self::cell_value(&self.density, high));
                    let rise = self.surface_pressure[high] - self.surface_pressure[low];
                    u[self.at(Place::Face(axis), at)] -= dt / rho * rise / self.h;
                }
            });
        }
    }

    /// A number for each cell that is liquid and has an open face.
    fn number_cells(&self, weights: &Weights) -> Result<Vec<u32>> {
        let mut numbers = filled(self.count(Place::Centre), AIR)?;
        let mut next = 0;
        self.each(Place::Centre, |at| {
            let cell = self.at(Place::Centre, at);
            let open = |axis: usize, at| weights.open[axis][self.at(Place::Face(axis), at)] > 0.0;
            let has_open = (0..self.axes()).any(|axis| {
                let mut up = at;
                up[axis] += 1;
                open(axis, at) || open(axis, up)
            });
            if weights.liquid[cell] > 0.0 && has_open {
                numbers[cell] = next;
                next += 1;
            }
        });
        Ok(numbers)
    }

    /// The graph, and for each of its faces (axis, place, whether it is counted against the axis).
    fn build(
        &self,
        weights: &Weights,
        velocity: &[Vec<f64>; 3],
        numbers: &[u32],
        unknowns: usize,
        options: &BlockOptions,
    ) -> (FaceGraph, Vec<(usize, usize, bool)>) {
        let mut graph = FaceGraph::with_cells(unknowns);
        graph.source.fill(options.expansion * self.h.powi(3));
        let mut places = Vec::new();
        for (axis, component) in velocity.iter().enumerate().take(self.axes()) {
            self.each(Place::Face(axis), |at| {
                let face = self.at(Place::Face(axis), at);
                let (low, high) = self.sides(axis, at);
                self.push_wall(&mut graph, weights, numbers, axis, face, [low, high]);
                if let (Some(low), Some(high), true) = (low, high, weights.open[axis][face] > 0.0) {
                    let u = component[face];
                    let pushed = self.push_face(
                        &mut graph,
                        weights,
                        numbers,
                        axis,
                        face,
                        [low, high],
                        u,
                        options.scheme,
                    );
                    places.extend(pushed.map(|reversed| (axis, face, reversed)));
                }
            });
        }
        (graph, places)
    }

    /// The cells on both sides of a face.
    fn sides(&self, axis: usize, at: [usize; 3]) -> (Option<usize>, Option<usize>) {
        let mut low = at;
        low[axis] = at[axis].wrapping_sub(1);
        let below = (at[axis] > 0).then(|| self.at(Place::Centre, low));
        let above = (at[axis] < self.cells[axis]).then(|| self.at(Place::Centre, at));
        (below, above)
    }

    /// The closed part of a face pushes with the solid's velocity, less what stays inside the solid.
    fn push_wall(
        &self,
        graph: &mut FaceGraph,
        weights: &Weights,
        numbers: &[u32],
        axis: usize,
        face: usize,
        [low, high]: [Option<usize>; 2],
    ) {
        let velocity = &self.solid_velocity[axis];
        if velocity.is_empty() {
            return;
        }
        let closed = 1.0 - weights.open[axis][face];
        let q = self.h * self.h * velocity[face];
        for (cell, sign) in [(low, 1.0), (high, -1.0)] {
            if let Some((cell, n)) = cell.map(|c| (c, numbers[c])).filter(|(_, n)| *n != AIR) {
                graph.solid_outflow[n as usize] += sign * q * (closed - weights.solid[cell]);
            }
        }
    }

    /// Add an open face; None if no liquid is near, else whether it is counted against the axis.
    #[allow(clippy::too_many_arguments)]
    fn push_face(
        &self,
        graph: &mut FaceGraph,
        weights: &Weights,
        numbers: &[u32],
        axis: usize,
        face: usize,
        [low, high]: [usize; 2],
        u: f64,
        scheme: Scheme,
    ) -> Option<bool> {
        let (a, b) = (numbers[low], numbers[high]);
        let (area, part) = (weights.open[axis][face] * self.h * self.h, weights.length[axis][face]);
        let rho = |c: usize| Self::cell_value(&self.density, c) / self.reference_density();
        let surface = |near: usize, far: usize| {
            let p = |c: usize| Self::cell_value(&self.surface_pressure, c);
            if scheme == Scheme::Area { p(near) + part * (p(far) - p(near)) } else { 0.0 }
        };
        let to_air = |near: usize| self.h * part * rho(near);
        match (a != AIR, b != AIR) {
            (false, false) => return None,
            (true, false) => graph.push(a, AIR, area, to_air(low), u, surface(low, high)),
            (false, true) => graph.push(b, AIR, area, to_air(high), -u, surface(high, low)),
            (true, true) => {
                // The surface may pass between the sides of a face that scheme `area` calls liquid.
                let part = if scheme == Scheme::Area { 1.0 } else { part };
                graph.push(a, b, area, self.h * part * 0.5 * (rho(low) + rho(high)), u, 0.0);
            }
        }
        Some(a == AIR)
    }

    fn first_guess(
        &self,
        weights: &Weights,
        numbers: &[u32],
        unknowns: usize,
        scheme: Scheme,
    ) -> Result<Vec<f64>> {
        let mut p = filled(unknowns, 0.0)?;
        for (cell, &n) in numbers.iter().enumerate().filter(|(_, n)| **n != AIR) {
            let known = self.pressure.get(cell).copied().unwrap_or(0.0);
            p[n as usize] = match scheme {
                Scheme::Area => known,
                Scheme::Volume => {
                    weights.liquid[cell] * (known - Self::cell_value(&self.surface_pressure, cell))
                }
            };
        }
        Ok(p)
    }

    fn write_pressure(
        &mut self,
        weights: &Weights,
        numbers: &[u32],
        p: &[f64],
        scheme: Scheme,
    ) -> Result<()> {
        let value = |(cell, &n): (usize, &u32)| match (n, scheme) {
            (AIR, _) => 0.0,
            (n, Scheme::Area) => p[n as usize],
            (n, Scheme::Volume) => {
                Self::cell_value(&self.surface_pressure, cell) + p[n as usize] / weights.liquid[cell]
            }
        };
        let mut pressure = room(numbers.len())?;
        pressure.extend(numbers.iter().enumerate().map(value));
        self.pressure = pressure;
        Ok(())
    }

    fn write_velocity(
        &mut self,
        weights: &Weights,
        graph: &FaceGraph,
        places: &[(usize, usize, bool)],
        numbers: &[u32],
    ) -> Result<()> {
        for axis in 0..self.axes() {
            self.known[axis] = filled(self.count(Place::Face(axis)), 0)?;
        }
        for (f, &(axis, face, reversed)) in places.iter().enumerate() {
            let u = graph.velocity[f];
            self.velocity[axis][face] = if reversed { -u } else { u };
            self.known[axis][face] = 1;
        }
        // A closed face beside liquid goes with the solid.
        for axis in 0..self.axes() {
            let mut closed = Vec::new();
            self.each(Place::Face(axis), |at| {
                let (low, high) = self.sides(axis, at);
                let wet = [low, high].into_iter().flatten().any(|c| numbers[c] != AIR);
                let face = self.at(Place::Face(axis), at);
                if wet && weights.open[axis][face] == 0.0 {
                    closed.push(face);
                }
            });
            for face in closed {
                self.velocity[axis][face] = self.solid_velocity[axis].get(face).copied().unwrap_or(0.0);
                self.known[axis][face] = 1;
            }
        }
        Ok(())
    }
}

/// Room for values, or an error where a plain vector would end the process.
fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    out.try_reserve_exact(count).map_err(|_| Error::Memory {
        what: "the block".into(),
        needed_mb: ((count * size_of::<T>()) >> 20) as u64,
        limit_mb: 0,
        fix: "use fewer cells".into(),
    })?;
    Ok(out)
}

pub(super) fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>> {
    let mut out = room(count)?;
    out.resize(count, value);
    Ok(out)
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
