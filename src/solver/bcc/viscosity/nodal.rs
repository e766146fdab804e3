//! The equations of the vertices: numbering, masses, forces, matrix, solve. See the [parent](super) for what they are.

use super::weights::{Element, elements};
use super::{Hold, Thick, ThickOptions};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::linalg::{
    AmgParams, BlockAmg, BlockCsr, KrylovParams, LinearOperator, Precision, Preconditioner, SolveInfo, cg,
    vector,
};
use crate::math::{Mat3, Vec3};
use crate::mesh::bcc::{Lattice, NONE};
use rayon::prelude::*;

/// Rounds of matching: groups of about ten vertices, each with six coarse unknowns.
const PASSES: usize = 2;
/// From this ratio of diagonal to mass on, f32 would lose the mass of rigid motions in the coarse levels.
const THICK: f64 = 1e4;
/// The residual cannot fall below what rounding leaves of forces that cancel: this times the ratio.
const ROUNDING: f64 = 1e-15;
/// Even then the residual must fall to this.
const LOOSEST: f64 = 1e-2;

/// A step of viscosity on the vertices about the liquid. All vectors have one entry a node.
pub struct NodalViscosity<'a> {
    lattice: &'a Lattice,
    /// The vertex of each node, ascending.
    pub nodes: Vec<u32>,
    /// Liquid about each node, m³.
    pub mass: Vec<f64>,
    /// How walls hold each node.
    pub holds: Vec<Hold>,
    /// The node of each vertex, or [`NONE`].
    node_of: Vec<u32>,
    /// The row of each node, [`NONE`] if it is stuck; and the node of each row.
    row_of: Vec<u32>,
    rows: Vec<u32>,
    elements: Vec<Element>,
    /// The elements at each node: `around[starts[i]..starts[i+1]]`, as element·4 + corner.
    starts: Vec<u32>,
    around: Vec<u32>,
    draft: bool,
}

impl<'a> NodalViscosity<'a> {
    /// The equations of a step. Vertices on or inside solids ask how they are held.
    pub fn new(thick: &Thick<'a>, options: &ThickOptions, hold: impl Fn(u32) -> Hold + Sync) -> Result<Self> {
        thick.check()?;
        let sticks = |v: u32| hold(v).is_stuck();
        let mut elements = elements(thick, sticks);
        if elements.len() > (u32::MAX / 4) as usize {
            return Err(Error::invalid("viscosity", "there are more than a thousand million tets of liquid"));
        }
        let beta = options.dt / options.density;
        elements.par_iter_mut().for_each(|e| e.stiffness *= beta * thick.viscosity[e.tet as usize]);
        let (nodes, node_of) = number(&mut elements, thick.lattice.vertices.len());
        let wall = |v: &u32| match thick.given.and_then(|given| given(*v)) {
            Some(velocity) => Hold::stick(velocity),
            None if thick.solid_at(*v) <= 0.0 => hold(*v),
            None => Hold::free(),
        };
        let holds: Vec<Hold> = nodes.par_iter().map(wall).collect();
        let (starts, around) = gather(&elements, nodes.len());
        let mut system = Self {
            lattice: thick.lattice,
            mass: vec![],
            holds,
            node_of,
            row_of: vec![NONE; nodes.len()],
            rows: vec![],
            elements,
            starts,
            around,
            draft: options.draft,
            nodes,
        };
        system.rows =
            (0..system.nodes.len() as u32).filter(|i| !system.holds[*i as usize].is_stuck()).collect();
        system.rows.iter().enumerate().for_each(|(r, &i)| system.row_of[i as usize] = r as u32);
        let mass = |i: usize| system.at(i).map(|(e, _)| 0.25 * system.elements[e].volume).sum();
        system.mass = (0..system.nodes.len()).into_par_iter().map(mass).collect();
        Ok(system)
    }

    /// Unknown numbers.
    pub fn unknowns(&self) -> usize {
        3 * self.rows.len()
    }

    /// The node of a vertex, if it has one.
    pub fn node(&self, vertex: u32) -> Option<usize> {
        let node = self.node_of[vertex as usize];
        (node != NONE).then_some(node as usize)
    }

    /// Where a node is, m.
    pub fn position(&self, node: usize) -> Vec3 {
        self.lattice.vertex(self.nodes[node])
    }

    /// The elements at a node, each with the corner that the node is.
    fn at(&self, node: usize) -> impl Iterator<Item = (usize, usize)> {
        let span = self.starts[node] as usize..self.starts[node + 1] as usize;
        self.around[span].iter().map(|a| ((a / 4) as usize, (a % 4) as usize))
    }

    /// The gradient of velocity in an element.
    fn slope(&self, e: &Element, v: &[Vec3]) -> Mat3 {
        let (gradients, _) = self.lattice.gradients(e.tet as usize);
        (0..4).fold(Mat3::zeros(), |s, k| s + v[e.nodes[k] as usize] * gradients[k].transpose())
    }

    /// The stress 2μe in each tet, Pa, as xx, yy, zz, xy, yz, xz, where walls hold their nodes; 0 outside the liquid.
    pub fn stresses(&self, v: &[Vec3], viscosity: &[f64]) -> Vec<[f64; 6]> {
        let held: Vec<Vec3> = v.iter().zip(&self.holds).map(|(v, h)| h.free * *v + h.given()).collect();
        let mut all = vec![[0.0; 6]; viscosity.len()];
        for e in &self.elements {
            let slope = self.slope(e, &held);
            let s = (slope + slope.transpose()) * viscosity[e.tet as usize];
            all[e.tet as usize] = [s[(0, 0)], s[(1, 1)], s[(2, 2)], s[(0, 1)], s[(1, 2)], s[(0, 2)]];
        }
        all
    }

    /// Δt/ρ times minus the viscous forces on the nodes, ΔtK v/ρ, m⁴/s. Walls are not looked at.
    pub fn forces(&self, v: &[Vec3]) -> Vec<Vec3> {
        let stress = |e: &Element| {
            let slope = self.slope(e, v);
            e.stiffness * if self.draft { slope } else { slope + slope.transpose() }
        };
        let stresses: Vec<Mat3> = self.elements.par_iter().map(stress).collect();
        let force = |i: usize| {
            let part = |(e, k): (usize, usize)| {
                stresses[e] * self.lattice.gradients(self.elements[e].tet as usize).0[k]
            };
            self.at(i).map(part).sum()
        };
        (0..self.nodes.len()).into_par_iter().map(force).collect()
    }

    /// The velocities after the step, from those before it.
    pub fn solve(&self, start: &[Vec3], tolerance: f64, cancel: &Cancel) -> Result<(Vec<Vec3>, SolveInfo)> {
        let mut solver = self.solver()?;
        cancel.check()?;
        solver.solve(self, start, tolerance, cancel)
    }

    /// The matrix with its hierarchy.
    pub fn solver(&self) -> Result<NodalSolver> {
        self.solver_of(1.0)
    }

    /// The same with this share of the masses.
    pub(super) fn solver_of(&self, light: f64) -> Result<NodalSolver> {
        let matrix = BlockCsr::from_rows(self.rows.len(), |r, row| self.write_row(r, light, row))?;
        // Held directions have the mean of the others on their diagonal.
        let mean = |r: usize| matrix.diagonal_of(r).iter().sum::<f64>() / 3.0;
        let ratio = |(r, &i): (usize, &u32)| mean(r) / self.mass[i as usize];
        let ratio = self.rows.iter().enumerate().map(ratio).fold(1.0, f64::max);
        let precision = if ratio > THICK { Precision::Double } else { Precision::Single };
        let params = AmgParams { precision, passes: PASSES, ..AmgParams::default() };
        let cycle = BlockAmg::new(&matrix, self.rigid_motions(), &params)?;
        Ok(NodalSolver { matrix, cycle, ratio })
    }

    /// The mean of the diagonal at a node.
    fn diagonal(&self, node: usize) -> f64 {
        let of = |(e, k): (usize, usize)| {
            let g = self.lattice.gradients(self.elements[e].tet as usize).0[k];
            self.elements[e].stiffness * g.norm_squared() * if self.draft { 1.0 } else { 4.0 / 3.0 }
        };
        self.mass[node] + self.at(node).map(of).sum::<f64>()
    }

    /// Row r of blocks, P(M + ΔtK)P, and on the diagonal as much again where directions are held.
    fn write_row(&self, r: usize, light: f64, row: &mut Vec<(u32, [[f64; 3]; 3])>) {
        let i = self.rows[r] as usize;
        let free = &self.holds[i].free;
        let is_free = |hold: &Hold| hold.free == Mat3::identity();
        let all_free = is_free(&self.holds[i]);
        let mut own = free * (light * self.mass[i]);
        if !all_free {
            own += (Mat3::identity() - free) * self.diagonal(i);
        }
        row.push((r as u32, array(&own)));
        for (e, k) in self.at(i) {
            let element = &self.elements[e];
            let (g, _) = self.lattice.gradients(element.tet as usize);
            for (j, to) in g.iter().enumerate() {
                let other = element.nodes[j] as usize;
                let column = self.row_of[other];
                if column == NONE {
                    continue;
                }
                let mut block = self.coupling(&g[k], to) * element.stiffness;
                if !(all_free && is_free(&self.holds[other])) {
                    block = free * block * self.holds[other].free;
                }
                // A vertex has some fifteen neighbours, each in several tets.
                match row.iter_mut().find(|e| e.0 == column) {
                    Some((_, sum)) => add(sum, &block),
                    None => row.push((column, array(&block))),
                }
            }
        }
    }

    /// How the velocity at j pulls at i, for a volume and a viscosity of one.
    fn coupling(&self, gi: &Vec3, gj: &Vec3) -> Mat3 {
        let plain = Mat3::identity() * gi.dot(gj);
        if self.draft { plain } else { plain + gj * gi.transpose() }
    }

    /// The rigid motions about the middle of the liquid at each row.
    fn rigid_motions(&self) -> Vec<[[f64; 6]; 3]> {
        let n = self.rows.len().max(1) as f64;
        let middle = self.rows.iter().fold(Vec3::zeros(), |s, &i| s + self.position(i as usize)) / n;
        let unit = self.lattice.octree().domain().unit();
        let of = |&i: &u32| {
            let (x, free) = ((self.position(i as usize) - middle) / unit, &self.holds[i as usize].free);
            let motions: [Vec3; 6] = std::array::from_fn(|m| {
                let axis = Vec3::ith(m % 3, 1.0);
                free * if m < 3 { axis } else { axis.cross(&x) }
            });
            std::array::from_fn(|a| motions.map(|m| m[a]))
        };
        self.rows.par_iter().map(of).collect()
    }
}

/// The matrix of a step with its preconditioner.
pub struct NodalSolver {
    matrix: BlockCsr<3>,
    cycle: BlockAmg,
    /// The greatest ratio of a diagonal to the mass in it.
    ratio: f64,
}

impl NodalSolver {
    /// Solve for the velocities after a step.
    pub fn solve(
        &mut self,
        system: &NodalViscosity,
        start: &[Vec3],
        tolerance: f64,
        cancel: &Cancel,
    ) -> Result<(Vec<Vec3>, SolveInfo)> {
        if start.len() != system.nodes.len() {
            let message = format!("{} vectors for {} nodes", start.len(), system.nodes.len());
            return Err(Error::invalid("velocity", message));
        }
        let given: Vec<Vec3> = system.holds.iter().map(Hold::given).collect();
        let moving = given.iter().any(|g| *g != Vec3::zeros());
        let pull = if moving { system.forces(&given) } else { Vec::new() };
        let rows = system.rows.par_iter();
        let right = |&i: &u32| {
            let i = i as usize;
            let lost = pull.get(i).copied().unwrap_or_default();
            let b: Vec3 = system.holds[i].free * (start[i] * system.mass[i] - lost);
            [b.x, b.y, b.z]
        };
        let b: Vec<f64> = rows.clone().flat_map_iter(right).collect();
        let first = |&i: &u32| {
            let x: Vec3 = system.holds[i as usize].free * start[i as usize];
            [x.x, x.y, x.z]
        };
        let mut x: Vec<f64> = rows.flat_map_iter(first).collect();
        // Rough velocities are no guess of what is left of them: the residual would begin μΔt/ρh² times as large.
        let mut residual = vec![0.0; x.len()];
        self.matrix.residual(&b, &x, &mut residual);
        if vector::norm(&residual) > vector::norm(&b) {
            x.fill(0.0);
        }
        let tolerance = tolerance.max((ROUNDING * self.ratio).min(LOOSEST));
        let params = KrylovParams { tolerance, ..KrylovParams::default() };
        let info = cg(&self.matrix, &mut self.cycle, &b, &mut x, &params, cancel)?;
        let mut after = given;
        for (part, &i) in x.chunks_exact(3).zip(&system.rows) {
            // Rounding in the cycle leaves a trace in held directions.
            after[i as usize] += system.holds[i as usize].free * Vec3::new(part[0], part[1], part[2]);
        }
        Ok((after, info))
    }
}

impl NodalSolver {
    /// About the inverse of the matrix times what is free of a vector at the nodes.
    pub(super) fn precondition(&mut self, system: &NodalViscosity, b: &[Vec3]) -> Vec<Vec3> {
        let right = |&i: &u32| {
            let b: Vec3 = system.holds[i as usize].free * b[i as usize];
            [b.x, b.y, b.z]
        };
        let r: Vec<f64> = system.rows.par_iter().flat_map_iter(right).collect();
        let (mut z, mut after) = (vec![0.0; r.len()], vec![Vec3::zeros(); system.nodes.len()]);
        self.cycle.apply(&r, &mut z);
        for (part, &i) in z.chunks_exact(3).zip(&system.rows) {
            after[i as usize] = Vec3::new(part[0], part[1], part[2]);
        }
        after
    }
}

fn add(sum: &mut [[f64; 3]; 3], m: &Mat3) {
    sum.iter_mut().enumerate().for_each(|(a, row)| (0..3).for_each(|b| row[b] += m[(a, b)]));
}

fn array(m: &Mat3) -> [[f64; 3]; 3] {
    std::array::from_fn(|a| std::array::from_fn(|b| m[(a, b)]))
}

/// Number the vertices of elements in ascending order, and put the numbers in place of the vertices.
fn number(elements: &mut [Element], vertices: usize) -> (Vec<u32>, Vec<u32>) {
    let mut node_of = vec![NONE; vertices];
    elements.iter().flat_map(|e| e.nodes).for_each(|v| node_of[v as usize] = 0);
    let nodes: Vec<u32> = (0..vertices as u32).filter(|v| node_of[*v as usize] != NONE).collect();
    nodes.iter().enumerate().for_each(|(i, &v)| node_of[v as usize] = i as u32);
    elements.par_iter_mut().for_each(|e| e.nodes = e.nodes.map(|v| node_of[v as usize]));
    (nodes, node_of)
}

/// The elements at each node, in the order of the elements, as element·4 + corner.
fn gather(elements: &[Element], nodes: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; nodes + 1];
    elements.iter().flat_map(|e| e.nodes).for_each(|i| starts[i as usize + 1] += 1);
    for i in 0..nodes {
        starts[i + 1] += starts[i];
    }
    let (mut next, mut around) = (starts.clone(), vec![0u32; 4 * elements.len()]);
    for (e, element) in elements.iter().enumerate() {
        for (corner, &i) in element.nodes.iter().enumerate() {
            around[next[i as usize] as usize] = (4 * e + corner) as u32;
            next[i as usize] += 1;
        }
    }
    (starts, around)
}
