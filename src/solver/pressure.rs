//! Pressure on a face graph: the projection that every mesh shares.
//!
//! Each face accelerates by the pressure difference across it, u′ = u − Δt/ρ (p_b − p_a)/d, and the
//! pressures make every cell balance (see [`FaceGraph`]):
//!
//! ```text
//!     Σ_f Δt/ρ A_f/d_f (p_i − p_j) = s_i − Q_i − Σ_f ± A_f u_f        p_j given on a face to the air
//! ```
//!
//! The matrix is symmetric, an M-matrix, and positive definite in every component that reaches the
//! air. A closed component has the constant as its null vector: its right-hand side is made to sum
//! to zero, and what had to be taken away (a piston that compresses it) is reported. p in pascal.
//! Checked by `still_water_stays_still` in tests/water.rs for any container and fill level.

use crate::cancel::Cancel;
use crate::error::Result;
use crate::linalg::{
    BoundInfo, Csr, KrylovParams, LinearOperator, NullSpace, Preconditioner, PreconditionerKind, SolveInfo,
    cg, mprgp, vector,
};
use crate::mesh::{AIR, FaceGraph, Incidence};
use crate::solver::light::{Light, WithLight};
use crate::solver::peel::{Peel, Peelable};
use crate::solver::rigid::{Coupling, Floating, RigidBody, RigidRows, Six, SixBySix, WithBodies};

/// Later solves of a step reduce what is missing at least to this.
const LOOSEST: f64 = 1e-2;

/// What a projection did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Projection {
    /// The linear solve; None if there was no liquid.
    pub solve: Option<SolveInfo>,
    /// Components without a free surface.
    pub closed_regions: usize,
    /// Volume rate that solids tried to force into closed regions and that was refused, m³/s.
    pub refused_inflow: f64,
}

/// Make the velocities of the graph balance. `p` holds the first guess and receives the pressure.
pub fn project(
    graph: &mut FaceGraph,
    dt_over_density: f64,
    p: &mut [f64],
    tolerance: f64,
    cancel: &Cancel,
) -> Result<Projection> {
    project_with(graph, dt_over_density, p, tolerance, PreconditionerKind::Mic0, cancel)
}

/// As [`project`], with a preconditioner of one's choice: multigrid pays on large graphs.
pub fn project_with(
    graph: &mut FaceGraph,
    dt_over_density: f64,
    p: &mut [f64],
    tolerance: f64,
    preconditioner: PreconditionerKind,
    cancel: &Cancel,
) -> Result<Projection> {
    let none = RigidRows::new(0, Vec::new());
    project_with_bodies(graph, dt_over_density, 0.0, &none, &mut [], p, tolerance, preconditioner, cancel)
}

/// As [`project_with`], with bodies whose velocities are unknowns as well: (A + Δt KᵀM⁻¹K) p = b − KᵀV*. The rows K
/// count the flow out of cells in m³/s for unit velocities of the bodies (see [`crate::solver::rigid`]);
/// faces that belong to bodies are left out of `solid_outflow`. The bodies receive their velocities.
#[allow(clippy::too_many_arguments)]
pub fn project_with_bodies(
    graph: &mut FaceGraph,
    dt_over_density: f64,
    dt: f64,
    rows: &RigidRows,
    bodies: &mut [RigidBody],
    p: &mut [f64],
    tolerance: f64,
    preconditioner: PreconditionerKind,
    cancel: &Cancel,
) -> Result<Projection> {
    graph.check()?;
    if graph.cells() == 0 {
        return Ok(Projection::default());
    }
    let inverse_mass: Vec<SixBySix> = bodies.iter().map(|b| b.inverse_mass).collect();
    let mut equation = Equation::new(graph, dt_over_density, dt, rows, &inverse_mass, preconditioner)?;
    let velocities: Vec<Six> = bodies.iter().map(|b| b.velocity).collect();
    let done = equation.solve(&velocities, p, tolerance, cancel)?;
    accelerate(graph, dt_over_density, p);
    for (body, impulse) in bodies.iter_mut().zip(equation.impulses(p)) {
        body.velocity += body.inverse_mass * impulse;
    }
    Ok(done)
}

/// A matrix with the bodies in it, and what solves it fast.
struct System {
    matrix: Csr,
    inverse: Box<dyn Preconditioner>,
    coupling: Coupling,
    /// What keeps the solve fast if a body is light.
    light: Option<Light>,
}

impl System {
    fn new(matrix: Csr, coupling: Coupling, preconditioner: PreconditionerKind) -> Result<Self> {
        let light = match coupling.middle.is_empty() {
            true => None,
            false => Light::new(&coupling, &|cell, others| row(&matrix, cell, others))?,
        };
        Ok(Self { inverse: preconditioner.build(&matrix)?, matrix, coupling, light })
    }

    /// The same with the identity in place of some cells, in order, that others do not see.
    fn without(&self, off: &[u32], preconditioner: PreconditionerKind) -> Result<Self> {
        let mut is_off = vec![false; self.matrix.rows()];
        off.iter().for_each(|&c| is_off[c as usize] = true);
        let whole = &self.matrix;
        let matrix = Csr::from_rows(is_off.len(), is_off.len(), |i, row| match is_off[i] {
            true => row.push((i as u32, 1.0)),
            false => {
                let (columns, values) = whole.row(i);
                let entries = columns.iter().copied().zip(values.iter().copied());
                row.extend(entries.filter(|(c, _)| !is_off[*c as usize]));
            }
        })?;
        let rows = self.coupling.rows.renumbered(|c| (!is_off[c]).then_some(c));
        Self::new(matrix, Coupling { rows, middle: self.coupling.middle.clone() }, preconditioner)
    }

    fn solve(
        &mut self,
        b: &[f64],
        p: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        let with = WithBodies { base: &self.matrix, coupling: &self.coupling };
        let inverse = self.inverse.as_mut();
        match (self.coupling.middle.is_empty(), &self.light) {
            (true, _) => cg(&self.matrix, inverse, b, p, params, cancel),
            (false, None) => cg(&with, inverse, b, p, params, cancel),
            (false, Some(light)) => cg(&with, &mut WithLight { base: inverse, light }, b, p, params, cancel),
        }
    }
}

/// The equation of the pressure, set up once for any number of velocities of the bodies.
pub struct Equation {
    whole: System,
    kind: PreconditionerKind,
    dt: f64,
    /// What is missing to balance each cell while bodies rest.
    b: Vec<f64>,
    null_space: Option<NullSpace>,
    closed_regions: usize,
    /// Whether a cell lies in a region without a free surface.
    closed: Vec<bool>,
    /// Cells that may come off their walls.
    peel: Option<Peel>,
    diagonal: Vec<f64>,
    /// The system without the cells that are off.
    rest: Option<System>,
    /// The length of the greatest right-hand side so far.
    size: f64,
}

impl Equation {
    /// For a graph that was checked and has cells; rows and inverse masses of bodies as in [`project_with_bodies`].
    pub fn new(
        graph: &FaceGraph,
        dt_over_density: f64,
        dt: f64,
        rows: &RigidRows,
        inverse_mass: &[SixBySix],
        kind: PreconditionerKind,
    ) -> Result<Self> {
        let (labels, open) = graph.components();
        let matrix = assemble(graph, &graph.incidence(), dt_over_density)?;
        let coupling = Coupling { rows: rows.clone(), middle: inverse_mass.iter().map(|c| c * dt).collect() };
        let mut null_labels: Vec<u32> =
            labels.iter().map(|&l| if open[l as usize] { u32::MAX } else { l }).collect();
        let closed = null_labels.iter().map(|&l| l != u32::MAX).collect();
        let mut weight = vec![1.0; null_labels.len()];
        free_regions(&coupling, &mut null_labels, &mut weight);
        let null_labels = compact(&null_labels);
        let closed_regions =
            null_labels.iter().filter(|&&l| l != u32::MAX).max().map_or(0, |&l| l as usize + 1);
        let null_space = match closed_regions {
            0 => None,
            _ => Some(NullSpace::weighted(&null_labels, |row| weight[row])?),
        };
        Ok(Self {
            whole: System::new(matrix, coupling, kind)?,
            kind,
            dt,
            b: right_hand_side(graph, dt_over_density),
            null_space,
            closed_regions,
            closed,
            peel: None,
            diagonal: Vec::new(),
            rest: None,
            size: 0.0,
        })
    }

    /// The same matrix for what is missing to balance the cells of a graph whose velocities alone have changed; nothing is bounded.
    pub fn renew(&mut self, graph: &FaceGraph, dt_over_density: f64) {
        self.b = right_hand_side(graph, dt_over_density);
        (self.peel, self.rest) = (None, None);
    }

    /// Give cells a least pressure, −∞ for none: there walls let go (see [`crate::solver::peel`]). Closed regions have none.
    pub fn bounded_by(mut self, lower: Vec<f64>) -> Self {
        self.diagonal = self.whole.matrix.diagonal();
        self.peel = Some(Peel::new(lower, self.closed.clone()));
        self
    }

    /// The cells that the last solve left at their least pressure: liquid leaves its wall there.
    pub fn off(&self) -> Vec<usize> {
        self.peel.as_ref().map_or_else(Vec::new, |p| p.off().collect())
    }

    /// Find the pressure for velocities of the bodies before it acts. `p` holds the first guess.
    pub fn solve(
        &mut self,
        velocities: &[Six],
        p: &mut [f64],
        tolerance: f64,
        cancel: &Cancel,
    ) -> Result<Projection> {
        let mut b = self.b.clone();
        self.whole.coupling.rows.add_flow(-1.0, velocities, &mut b);
        // What counts is how much of the imbalance that a step brings is left at its end, also by its later solves.
        let size = vector::norm(&b);
        self.size = self.size.max(size);
        let tolerance =
            if size > 0.0 { (tolerance * self.size / size).min(tolerance.max(LOOSEST)) } else { tolerance };
        let params = KrylovParams { tolerance, ..KrylovParams::default() };
        let solve = match self.peel.take() {
            None => self.solve_rest(&[], &b, p, &params, cancel)?,
            Some(mut peel) => {
                let solved = peel.solve(self, &b, p, &params, cancel);
                self.peel = Some(peel);
                solved?
            }
        };
        solve.require("pressure")?;
        let refused_inflow = self.null_space.as_ref().map_or(0.0, |n| refused(n, &b));
        Ok(Projection { solve: Some(solve), closed_regions: self.closed_regions, refused_inflow })
    }

    /// The impulses of a pressure on the bodies during the step, Ns and Nms.
    pub fn impulses(&self, p: &[f64]) -> Vec<Six> {
        let rows = &self.whole.coupling.rows;
        (0..rows.bodies()).map(|b| rows.force(b, |cell| p[cell]) * self.dt).collect()
    }
}

impl Peelable for Equation {
    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        WithBodies { base: &self.whole.matrix, coupling: &self.whole.coupling }.apply(x, y);
    }

    fn leave_out(&mut self, off: &[u32]) -> Result<()> {
        self.rest = match off.is_empty() {
            true => None,
            false => Some(self.whole.without(off, self.kind)?),
        };
        Ok(())
    }

    fn solve_rest(
        &mut self,
        off: &[u32],
        b: &[f64],
        x: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<SolveInfo> {
        // Closed regions keep all of their cells, so the null vectors are the same.
        let params = KrylovParams { null_space: self.null_space.as_ref(), ..*params };
        let Some(rest) = &mut self.rest else { return self.whole.solve(b, x, &params, cancel) };
        let mut b = b.to_vec();
        off.iter().for_each(|&c| b[c as usize] = 0.0);
        rest.solve(&b, x, &params, cancel)
    }

    fn solve_bounded(
        &mut self,
        b: &[f64],
        lower: &[f64],
        x: &mut [f64],
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<BoundInfo> {
        let System { matrix, inverse, coupling, .. } = &mut self.whole;
        let with = WithBodies { base: &*matrix, coupling };
        mprgp(&with, &self.diagonal, inverse.as_mut(), b, lower, x, params, cancel)
    }
}

/// A row of the matrix as [`Light`] reads it.
fn row(matrix: &Csr, cell: usize, others: &mut Vec<(u32, f64)>) -> f64 {
    let (columns, values) = matrix.row(cell);
    let beside = columns.iter().zip(values).filter(|(c, _)| **c as usize != cell);
    others.extend(beside.map(|(c, v)| (*c, -v)));
    matrix.get(cell, cell)
}

/// Of the closed regions leave those that no body feels; combinations that no body feels get one label and
/// the shares of its regions as weights.
fn free_regions(coupling: &Coupling, closed: &mut [u32], weight: &mut [f64]) {
    if coupling.rows.bodies() == 0 {
        return;
    }
    let count = closed.iter().filter(|&&l| l != u32::MAX).max().map_or(0, |&l| l as usize + 1);
    let mut sizes = vec![0.0; count];
    closed.iter().filter(|&&l| l != u32::MAX).for_each(|&l| sizes[l as usize] += 1.0);
    let region = |cell: usize| Some(closed[cell] as usize).filter(|&r| r < count);
    let floating = Floating::new(coupling, &sizes, region);
    let mut of_region: Vec<(u32, f64)> = (0..count).map(|r| (r as u32, 1.0)).collect();
    floating.regions.iter().for_each(|&r| of_region[r] = (u32::MAX, 1.0));
    for constants in floating.null_constants() {
        let first = constants[0].0 as u32;
        // Null vectors that share regions cannot both be projected one by one; the first is.
        if constants.iter().all(|(r, _)| of_region[*r].0 == u32::MAX) {
            constants.iter().for_each(|&(r, c)| of_region[r] = (first, c));
        }
    }
    for (label, weight) in closed.iter_mut().zip(weight).filter(|(l, _)| **l != u32::MAX) {
        (*label, *weight) = of_region[*label as usize];
    }
}

/// Σ over faces of a cell of Δt/ρ A/d (p_i − p_j).
fn assemble(graph: &FaceGraph, faces: &Incidence, scale: f64) -> Result<Csr> {
    let n = graph.cells();
    Csr::from_rows(n, n, |i, row| {
        let mut diagonal = 0.0;
        for &f in faces.of_cell(i) {
            let f = f as usize;
            let k = scale * graph.area[f] / graph.length[f];
            diagonal += k;
            if graph.far[f] != AIR {
                row.push((graph.near[f] + graph.far[f] - i as u32, -k));
            }
        }
        // A cell without open faces keeps any pressure; one makes the row harmless.
        row.push((i as u32, if diagonal > 0.0 { diagonal } else { 1.0 }));
    })
}

/// What is missing to balance each cell, with the pressures given at the free surface.
fn right_hand_side(graph: &FaceGraph, scale: f64) -> Vec<f64> {
    let mut b = graph.imbalance();
    for f in 0..graph.faces() {
        if graph.far[f] == AIR {
            b[graph.near[f] as usize] += scale * graph.area[f] / graph.length[f] * graph.surface_pressure[f];
        }
    }
    b
}

/// u ← u − Δt/ρ (p_b − p_a)/d on every face.
pub fn accelerate(graph: &mut FaceGraph, scale: f64, p: &[f64]) {
    for f in 0..graph.faces() {
        let beyond = if graph.far[f] == AIR { graph.surface_pressure[f] } else { p[graph.far[f] as usize] };
        graph.velocity[f] -= scale * (beyond - p[graph.near[f] as usize]) / graph.length[f];
    }
}

/// Renumber the labels that occur from 0, keeping [`u32::MAX`].
pub(super) fn compact(labels: &[u32]) -> Vec<u32> {
    let mut used: Vec<u32> = labels.iter().copied().filter(|&l| l != u32::MAX).collect();
    used.sort_unstable();
    used.dedup();
    labels.iter().map(|l| used.binary_search(l).map_or(u32::MAX, |n| n as u32)).collect()
}

/// Sum over null vectors of the volume rate that cannot be placed.
fn refused(null: &NullSpace, b: &[f64]) -> f64 {
    // A component along a unit vector, times its sum, is the volume rate; for constants Σb over √n times √n.
    (0..null.count()).map(|c| (null.component(c, b) * null.length(c)).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Mat3, Vec3};
    use crate::solver::rigid::mass_matrix;

    /// A column of n cells under a free surface at the height n − 1 + 0.7 cells.
    fn column(n: u32, g: f64) -> FaceGraph {
        let mut graph = FaceGraph::with_cells(n as usize);
        for i in 1..n {
            graph.push(i - 1, i, 1.0, 1.0, -g, 0.0);
        }
        graph.push(n - 1, AIR, 1.0, 0.2, -g, 0.0);
        graph
    }

    #[test]
    fn still_water_carries_its_own_weight() {
        let (g, dt, rho) = (9.81, 0.1, 1000.0);
        let mut graph = column(10, g * dt);
        let mut p = vec![0.0; 10];
        let done = project(&mut graph, dt / rho, &mut p, 1e-13, &Cancel::new()).unwrap();
        assert!(done.solve.unwrap().converged() && done.closed_regions == 0);
        for (i, p) in p.iter().enumerate() {
            // The centre of cell i lies 9.7 − i − 0.5 below the surface.
            assert!((p - rho * g * (9.2 - i as f64)).abs() < 1e-8 * rho * g);
        }
        assert!(graph.velocity.iter().all(|u| u.abs() < 1e-12 * g));
    }

    #[test]
    fn a_piston_cannot_compress_a_closed_region() {
        let mut graph = FaceGraph::with_cells(3);
        graph.push(0, 1, 1.0, 1.0, 0.0, 0.0);
        graph.solid_outflow[0] = -0.25;
        let done = project(&mut graph, 1.0, &mut [0.0; 3], 1e-12, &Cancel::new()).unwrap();
        assert_eq!(done.closed_regions, 2);
        assert!((done.refused_inflow - 0.25).abs() < 1e-15);
        // Half of what the piston pushes in passes to the second cell, so both swell alike.
        assert!((graph.velocity[0] - 0.125).abs() < 1e-12);
    }

    #[test]
    fn a_lid_rests_on_water_that_cannot_escape() {
        // The column without its surface; a lid of 5 kg lies on the last cell.
        let (g, dt, rho, n) = (9.81, 0.1, 1000.0, 6);
        let mut graph = FaceGraph::with_cells(n);
        (1..n as u32).for_each(|i| graph.push(i - 1, i, 1.0, 1.0, -g * dt, 0.0));
        let rows = RigidRows::new(1, vec![(0, n as u32 - 1, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])]);
        let mut lid = [RigidBody {
            centre: Vec3::zeros(),
            velocity: Six::new(0.0, -g * dt, 0.0, 0.0, 0.0, 0.0),
            inverse_mass: mass_matrix(5.0, &Mat3::identity()).try_inverse().unwrap(),
        }];
        let mut p = vec![0.0; n];
        let kind = PreconditionerKind::Mic0;
        let done = project_with_bodies(
            &mut graph,
            dt / rho,
            dt,
            &rows,
            &mut lid,
            &mut p,
            1e-13,
            kind,
            &Cancel::new(),
        );
        assert_eq!(done.unwrap().closed_regions, 0);
        assert!(lid[0].velocity.amax() < 1e-10 && graph.velocity.iter().all(|u| u.abs() < 1e-10));
        for (i, p) in p.iter().enumerate() {
            // The lid's weight, and the water between the centres of this cell and the last.
            let exact = 5.0 * g + rho * g * (n - 1 - i) as f64;
            assert!((p - exact).abs() < 1e-8 * rho * g, "{p} {exact}");
        }
    }

    #[test]
    fn no_liquid_is_no_work() {
        let done = project(&mut FaceGraph::default(), 1.0, &mut [], 1e-6, &Cancel::new()).unwrap();
        assert!(done.solve.is_none());
    }
}
