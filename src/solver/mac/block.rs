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
//! Scheme `area`: the face graph of [`super::project`] with the open area of each face as its weight
//! and the surface at the share θ = φ_a/(φ_a − φ_b) of the way from a liquid cell a to an air cell b
//! [GFCK02], [NMG09]. With a density that varies, a face between cells of ρ_a and ρ_b accelerates as
//! if of (ρ_a + ρ_b)/2, which enters as a longer way for the pressure to drop over. Checked below: a
//! linear pressure is exact under any gravity, in any container, with any plane surface; and both
//! ways to build the graph agree.

use super::pressure::LEAST_THETA;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::geometry::fraction;
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

/// What a solve is told.
#[derive(Clone, Copy, Debug)]
pub struct BlockOptions {
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
    cells: [usize; 3],
    origin: Vec3,
    h: f64,
    liquid: Vec<f64>,
    solid: Vec<f64>,
    velocity: [Vec<f64>; 3],
    solid_velocity: [Vec<f64>; 3],
    density: Vec<f64>,
    surface_pressure: Vec<f64>,
    pressure: Vec<f64>,
    known: [Vec<u8>; 3],
}

/// More cells than this have no number of 32 bits for each of their faces.
const MAX_CELLS: usize = 1 << 30;

impl Block {
    /// A block of air at rest without solids. One cell along z makes it flat.
    pub fn new(cells: [usize; 3], origin: Vec3, h: f64) -> Result<Self> {
        let count = cells.iter().try_fold(1usize, |n, c| n.checked_mul(*c));
        if !count.is_some_and(|n| (1..=MAX_CELLS).contains(&n)) {
            return Err(Error::invalid("cells", format!("{cells:?} cells; 1 to {MAX_CELLS} in all are possible")));
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
        let at = |[i, j, k]: [usize; 3]| self.origin + (Vec3::new(i as f64, j as f64, k as f64) + half) * self.h;
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

    fn at(&self, place: Place, [i, j, k]: [usize; 3]) -> usize {
        let n = self.extent(place);
        (k * n[1] + j) * n[0] + i
    }

    fn each(&self, place: Place, mut f: impl FnMut([usize; 3])) {
        let n = self.extent(place);
        for k in 0..n[2] {
            for j in 0..n[1] {
                (0..n[0]).for_each(|i| f([i, j, k]));
            }
        }
    }

    /// Project the velocities so that liquid keeps its volume and does not enter solids: scheme `area`.
    pub fn project(&mut self, options: &BlockOptions, cancel: &Cancel) -> Result<(Projection, usize)> {
        self.check(options)?;
        for axis in 0..self.axes() {
            self.known[axis] = filled(self.count(Place::Face(axis)), 0)?;
            if self.velocity[axis].is_empty() {
                self.velocity[axis] = filled(self.count(Place::Face(axis)), 0.0)?;
            }
        }
        if self.pressure.is_empty() {
            self.pressure = filled(self.count(Place::Centre), 0.0)?;
        }
        let numbers = self.number_cells()?;
        let unknowns = numbers.iter().filter(|n| **n != AIR).count();
        let (mut graph, places) = self.build(&numbers, unknowns, options);
        let mut p = filled(unknowns, 0.0)?;
        numbers.iter().zip(&self.pressure).filter(|(n, _)| **n != AIR).for_each(|(n, v)| p[*n as usize] = *v);
        cancel.check()?;
        let scale = options.dt / self.reference_density();
        let report = pressure::project(&mut graph, scale, &mut p, options.tolerance, cancel)?;
        self.write_back(&graph, &places, &numbers, &p);
        Ok((report, unknowns))
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

    fn is_border(&self, axis: usize, at: [usize; 3]) -> bool {
        at[axis] == 0 || at[axis] == self.cells[axis]
    }

    /// Share of a face that is open to liquid.
    fn open(&self, axis: usize, at: [usize; 3]) -> f64 {
        if self.is_border(axis, at) {
            return 0.0;
        }
        if self.solid.is_empty() {
            return 1.0;
        }
        let node = |d: [usize; 3]| self.solid[self.at(Place::Node, [at[0] + d[0], at[1] + d[1], at[2] + d[2]])];
        let unit = |a: usize| std::array::from_fn(|b| (a == b) as usize);
        let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
        if self.axes() == 2 {
            let along = unit(1 - axis);
            return 1.0 - fraction::segment([node([0; 3]), node(along)]);
        }
        let (ua, ub) = (unit(a), unit(b));
        let both = std::array::from_fn(|c| ua[c] + ub[c]);
        1.0 - fraction::rectangle([node([0; 3]), node(ua), node(ub), node(both)])
    }

    /// A number for each cell whose centre is in liquid and that has an open face.
    fn number_cells(&self) -> Result<Vec<u32>> {
        let mut numbers = filled(self.count(Place::Centre), AIR)?;
        let mut next = 0;
        self.each(Place::Centre, |at| {
            let cell = self.at(Place::Centre, at);
            let has_open = (0..self.axes()).any(|axis| {
                let mut up = at;
                up[axis] += 1;
                self.open(axis, at) > 0.0 || self.open(axis, up) > 0.0
            });
            if self.liquid[cell] < 0.0 && has_open {
                numbers[cell] = next;
                next += 1;
            }
        });
        Ok(numbers)
    }

    /// The graph, and for each of its faces (axis, place, whether it is counted against the axis).
    fn build(&self, numbers: &[u32], unknowns: usize, options: &BlockOptions) -> (FaceGraph, Vec<(usize, usize, bool)>) {
        let mut graph = FaceGraph::with_cells(unknowns);
        graph.source.fill(options.expansion * self.h.powi(3));
        let mut places = Vec::new();
        for axis in 0..self.axes() {
            self.each(Place::Face(axis), |at| {
                let face = self.at(Place::Face(axis), at);
                let (low, high) = self.sides(axis, at);
                let open = self.open(axis, at);
                self.push_wall(&mut graph, numbers, axis, face, [low, high], 1.0 - open);
                if let (Some(low), Some(high), true) = (low, high, open > 0.0) {
                    let area = open * self.h * self.h;
                    if let Some(reversed) = self.push_face(&mut graph, numbers, axis, face, [low, high], area) {
                        places.push((axis, face, reversed));
                    }
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

    /// The closed part of a face pushes with the solid's velocity.
    fn push_wall(
        &self,
        graph: &mut FaceGraph,
        numbers: &[u32],
        axis: usize,
        face: usize,
        [low, high]: [Option<usize>; 2],
        closed: f64,
    ) {
        let velocity = &self.solid_velocity[axis];
        if velocity.is_empty() || closed == 0.0 {
            return;
        }
        let q = closed * self.h * self.h * velocity[face];
        for (cell, out) in [(low, q), (high, -q)] {
            if let Some(n) = cell.map(|c| numbers[c]).filter(|n| *n != AIR) {
                graph.solid_outflow[n as usize] += out;
            }
        }
    }

    /// Add an open face; None if no liquid is near, else whether it is counted against the axis.
    fn push_face(
        &self,
        graph: &mut FaceGraph,
        numbers: &[u32],
        axis: usize,
        face: usize,
        [low, high]: [usize; 2],
        area: f64,
    ) -> Option<bool> {
        let (a, b) = (numbers[low], numbers[high]);
        let u = self.velocity[axis][face];
        let rho = |c: usize| Self::cell_value(&self.density, c) / self.reference_density();
        let cut = |near: usize, far: usize| {
            let theta = self.liquid[near] / (self.liquid[near] - self.liquid[far]);
            // A neighbour that is liquid but closed on all sides counts as air at half the way.
            if theta.is_finite() && (0.0..=1.0).contains(&theta) { theta.max(LEAST_THETA) } else { 0.5 }
        };
        let surface = |near: usize, far: usize, theta: f64| {
            let p = |c: usize| Self::cell_value(&self.surface_pressure, c);
            p(near) + theta * (p(far) - p(near))
        };
        let mut to_air = |near: usize, far: usize, u: f64| {
            let theta = cut(near, far);
            let length = self.h * theta * rho(near);
            graph.push(numbers[near], AIR, area, length, u, surface(near, far, theta));
        };
        match (a != AIR, b != AIR) {
            (false, false) => return None,
            (true, false) => to_air(low, high, u),
            (false, true) => to_air(high, low, -u),
            (true, true) => graph.push(a, b, area, self.h * 0.5 * (rho(low) + rho(high)), u, 0.0),
        }
        Some(a == AIR)
    }

    fn write_back(&mut self, graph: &FaceGraph, places: &[(usize, usize, bool)], numbers: &[u32], p: &[f64]) {
        for (f, &(axis, face, reversed)) in places.iter().enumerate() {
            let u = graph.velocity[f];
            self.velocity[axis][face] = if reversed { -u } else { u };
            self.known[axis][face] = 1;
        }
        let value = |n: u32| if n == AIR { 0.0 } else { p[n as usize] };
        self.pressure.iter_mut().zip(numbers).for_each(|(f, &n)| *f = value(n));
        // A closed face beside liquid goes with the solid.
        for axis in 0..self.axes() {
            let mut closed = Vec::new();
            self.each(Place::Face(axis), |at| {
                let (low, high) = self.sides(axis, at);
                let wet = [low, high].into_iter().flatten().any(|c| numbers[c] != AIR);
                if wet && self.open(axis, at) == 0.0 {
                    closed.push(self.at(Place::Face(axis), at));
                }
            });
            for face in closed {
                self.velocity[axis][face] = self.solid_velocity[axis].get(face).copied().unwrap_or(0.0);
                self.known[axis][face] = 1;
            }
        }
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

fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>> {
    let mut out = room(count)?;
    out.resize(count, value);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: BlockOptions = BlockOptions { dt: 0.02, tolerance: 1e-13, expansion: 0.0 };

    /// A block with a ball in it, a tilted floor, and still water under a tilted gravity.
    fn still(cells: [usize; 3]) -> (Block, Vec3) {
        let h = 1.0 / cells[0] as f64;
        let mut block = Block::new(cells, Vec3::new(-0.3, 0.2, 0.1), h).unwrap();
        let flat = block.axes() == 2;
        let g = Vec3::new(1.5, -9.0, if flat { 0.0 } else { 2.5 });
        let up = -g.normalize();
        let through = Vec3::new(0.2, 0.62, if flat { 0.1 + 0.5 * h } else { 0.45 });
        let surface: Vec<f64> =
            block.positions(Place::Centre).unwrap().iter().map(|x| (x - through).dot(&up)).collect();
        let floor = Vec3::new(0.3, 1.0, 0.0).normalize();
        let solid = |x: &Vec3| {
            let ball = (x - Vec3::new(0.3, 0.5, through.z)).norm() - 0.13;
            ball.min((x - Vec3::new(0.2, 0.3, 0.1)).dot(&floor))
        };
        let solid = block.positions(Place::Node).unwrap().iter().map(solid).collect();
        block.set(BlockField::LiquidDistance, surface, "liquid").unwrap();
        block.set(BlockField::SolidDistance, solid, "solid").unwrap();
        block.set(BlockField::Density, vec![800.0], "density").unwrap();
        for axis in 0..block.axes() {
            let u = vec![g[axis] * OPTIONS.dt; block.count(Place::Face(axis))];
            block.set(BlockField::Velocity(axis), u, "velocity").unwrap();
        }
        (block, g)
    }

    #[test]
    fn still_water_stays_still_in_any_container_under_any_gravity() {
        for cells in [[16, 16, 1], [10, 12, 9]] {
            let (mut block, g) = still(cells);
            let (done, unknowns) = block.project(&OPTIONS, &Cancel::new()).unwrap();
            assert!(done.solve.unwrap().converged() && unknowns > 50 && done.closed_regions == 0);
            let weight = 800.0 * g.norm();
            for (cell, p) in block.get(BlockField::Pressure).iter().enumerate() {
                let depth = -block.get(BlockField::LiquidDistance)[cell];
                // Cells without a number have pressure 0. The rest is the tolerance times the condition
                // of the system, some hundreds.
                assert!(*p == 0.0 || (p - weight * depth).abs() < 1e-9 * weight, "{p} {}", weight * depth);
            }
            for axis in 0..block.axes() {
                let known = block.known(axis).iter().zip(block.get(BlockField::Velocity(axis)));
                let fastest = known.filter(|(k, _)| **k == 1).map(|(_, u)| u.abs()).fold(0.0, f64::max);
                assert!(fastest < 1e-9 * g.norm() * OPTIONS.dt, "{fastest}");
            }
        }
    }

    #[test]
    fn an_interface_of_two_densities_stands_still() {
        // Light above heavy in a closed column; the face between accelerates as their mean.
        let mut block = Block::new([1, 8, 1], Vec3::zeros(), 0.1).unwrap();
        block.set(BlockField::LiquidDistance, vec![-1.0; 8], "liquid").unwrap();
        let rho: Vec<f64> = (0..8).map(|j| if j < 4 { 1000.0 } else { 1.0 }).collect();
        block.set(BlockField::Density, rho, "density").unwrap();
        block.set(BlockField::Velocity(1), vec![-9.81 * OPTIONS.dt; 9], "velocity").unwrap();
        let (done, _) = block.project(&OPTIONS, &Cancel::new()).unwrap();
        assert_eq!(done.closed_regions, 1);
        let p = block.get(BlockField::Pressure);
        for j in 0..7 {
            let rho = [1000.0, 1000.0, 1000.0, 500.5, 1.0, 1.0, 1.0][j];
            // Relative to the whole column, which is what the residual is measured by.
            assert!((p[j] - p[j + 1] - rho * 0.981).abs() < 1e-8 * 4000.0, "{j}");
        }
    }

    #[test]
    fn a_moving_border_pushes_liquid_through_the_surface() {
        let mut block = Block::new([4, 4, 1], Vec3::zeros(), 1.0).unwrap();
        let y: Vec<f64> = block.positions(Place::Node).unwrap().iter().map(|x| x.y - 3.0).collect();
        block.set_liquid_at_nodes(&y, "liquid").unwrap();
        // The floor rises at 2 m/s, so everything does.
        let floor = (0..20).map(|f| if f < 4 { 2.0 } else { 0.0 }).collect();
        block.set(BlockField::SolidVelocity(1), floor, "solid velocity").unwrap();
        block.project(&OPTIONS, &Cancel::new()).unwrap();
        let v = block.get(BlockField::Velocity(1));
        assert!(v[..16].iter().all(|v| (v - 2.0).abs() < 1e-10), "{v:?}");
        assert_eq!(block.known(1)[..16], [1; 16]);
        assert_eq!(block.known(1)[16..], [0; 4]);
    }

    #[test]
    fn wrong_fields_are_refused_by_name() {
        let mut block = Block::new([4, 4, 1], Vec3::zeros(), 1.0).unwrap();
        assert!(block.project(&OPTIONS, &Cancel::new()).unwrap_err().to_string().contains("liquid_distance"));
        let short = block.set(BlockField::SolidDistance, vec![0.0; 16], "solid_distance").unwrap_err();
        assert!(short.to_string().contains("25"), "{short}");
        assert!(block.set(BlockField::Velocity(2), vec![0.0; 32], "velocity_z").is_err());
        assert!(block.set(BlockField::Density, vec![0.0], "density").is_err());
        assert!(block.set(BlockField::Density, vec![f64::NAN], "density").is_err());
        assert!(Block::new([usize::MAX, 2, 1], Vec3::zeros(), 1.0).is_err());
        assert!(Block::new([1, 0, 1], Vec3::zeros(), 1.0).is_err());
        assert!(Block::new([4, 4, 1], Vec3::zeros(), 1e300).is_err());
    }
}
