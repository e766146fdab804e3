//! The equations of pressure, viscosity and Stokes flow on a block, with every weight on a diagonal.
//!
//! Backward Euler for ρ u_t = −∇p + ∇·τ, ∇·u = 0, τ = 2μ dev ε(u) in the saddle form of [Bat10, (4.40)]. With
//! W_L, W_F the shares of liquid and of not solid, W_A and W_S their complements, the unknowns are
//!
//! ```text
//!     v = W_F u on faces,    q = W_L p at centres,    σ = W_L τ at centres and edges
//!
//!     M v + Dᵀσ + G q = f                M = ρ W_L/(W_F Δt)
//!     D v − C σ       = −d               C = W_F/(2μ W_L)  (shear: W_F/(μ W_L) against the rate ∂_b u_c + ∂_c u_b)
//!     Gᵀ v            = −g               −Gᵀ the divergence, −Dᵀ that of a stress
//! ```
//!
//! Walls: with the wall's velocity b the total flux is w = v + W_S b, or b where v is no unknown, and D v + d
//! stands for D w − W_S D b [Bat10, (4.49)]. Free surface, in the same way: with the pressure p_b and stress τ_b of the air the
//! total is q + W_A p_b, or p_b where q is no unknown, and f = M W_F u* − (G q_b − W_A G p_b) − (Dᵀσ_b − W_A Dᵀτ_b), where
//! q_b and σ_b are the parts that are known. The sign differs from the print of (4.45): a constant p_b must move nothing.
//!
//! Null vectors [Bat10, section 4.7]: a pressure or stress that acts on a face without liquid is removed and
//! takes the value of the surface; a velocity that acts on a pressure or stress without room takes that of the wall.
//!
//! A slide wall is a wall for the pressure and a free surface for the stress: its stress samples have room 1, liquid
//! W_L W_F, and act on u = v/W_F, so that the wall pushes along its normal only, by the pressure.

use super::problem::{Physics, Problem, Solution, Stress, Wall, cell_value, or_zero};
use super::samples::{Samples, Site};
use crate::error::Result;
use crate::linalg::{Csr, SolveInfo};
use crate::math::Sets;

pub(super) const NONE: u32 = u32::MAX;

/// Coefficients of velocities: (axis, face, coefficient).
type Row = Vec<(usize, usize, f64)>;

/// What a face is to the solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    Unknown,
    /// Moves with the wall.
    Wall,
    /// No liquid near.
    Air,
}

/// Rows that act on velocities, and what the walls add to them.
pub(super) struct Rows {
    pub matrix: Csr,
    pub known: Vec<f64>,
}

pub(super) struct System<'a> {
    pub problem: &'a Problem,
    pub physics: Physics,
    kind: [Vec<Face>; 3],
    number: [Vec<u32>; 3],
    /// Unknown faces: (axis, face).
    pub faces: Vec<(u8, u32)>,
    /// Cells with an unknown pressure, and their numbers.
    pub pressures: Vec<u32>,
    pub pressure_number: Vec<u32>,
    /// Cells with unknown normal stresses.
    pub cells: Vec<u32>,
    /// Edges with an unknown shear stress: (axis, edge).
    pub edges: Vec<(u8, u32)>,
    /// Whether a cell or an edge has an unknown stress.
    stressed_cell: Vec<bool>,
    stressed_edge: [Vec<bool>; 3],
    /// M and f.
    pub mass: Vec<f64>,
    pub force: Vec<f64>,
}

impl<'a> System<'a> {
    pub fn new(problem: &'a Problem, physics: Physics) -> Result<Self> {
        problem.check()?;
        let mut system = Self {
            problem,
            physics,
            kind: Default::default(),
            number: Default::default(),
            faces: Vec::new(),
            pressures: Vec::new(),
            pressure_number: Vec::new(),
            cells: Vec::new(),
            edges: Vec::new(),
            stressed_cell: Vec::new(),
            stressed_edge: Default::default(),
            mass: Vec::new(),
            force: Vec::new(),
        };
        system.classify_faces();
        system.choose_cells();
        system.choose_edges();
        system.assemble_faces();
        Ok(system)
    }

    fn samples(&self) -> &'a Samples {
        &self.problem.samples
    }

    fn classify_faces(&mut self) {
        let samples = self.samples();
        for axis in 0..samples.axes() {
            let site = Site::Face(axis);
            let count = samples.count(site);
            self.kind[axis] = (0..count).map(|i| self.kind_of(axis, samples.place(site, i), i)).collect();
            let mut number = vec![NONE; count];
            for (i, _) in self.kind[axis].iter().enumerate().filter(|(_, k)| **k == Face::Unknown) {
                number[i] = self.faces.len() as u32;
                self.faces.push((axis as u8, i as u32));
            }
            self.number[axis] = number;
        }
    }

    fn kind_of(&self, axis: usize, at: [usize; 3], face: usize) -> Face {
        let (liquid, open) = (&self.problem.liquid, &self.problem.open);
        if open.face[axis][face] == 0.0 {
            return Face::Wall;
        }
        // Liquid must not reach the rim; where it does the rim holds it, and air there is air.
        if self.samples().on_rim(Site::Face(axis), at) {
            return if liquid.face[axis][face] == 0.0 { Face::Air } else { Face::Wall };
        }
        // Samples without room that the face would act on.
        let shut = |l: &[f64], o: &[f64], i: usize| l[i] > 0.0 && o[i] == 0.0;
        let mut cells = self.samples().cells_of_face(axis, at).into_iter();
        let acts = |cell: usize| {
            self.physics.has_pressure() || self.physics.has_stress() && self.wall_of_cell(cell) == Wall::Stick
        };
        if cells.any(|c| acts(c) && shut(&liquid.centre, &open.centre, c)) {
            return Face::Wall;
        }
        if self.physics.has_stress() {
            for (e, pair) in self.samples().edges_of_face(axis, at) {
                let stick = |i: usize| self.wall_of_edge(e, i) == Wall::Stick;
                if pair.into_iter().any(|i| shut(&liquid.edge[e], &open.edge[e], i) && stick(i)) {
                    return Face::Wall;
                }
            }
        }
        if liquid.face[axis][face] == 0.0 { Face::Air } else { Face::Unknown }
    }

    fn wall_of_cell(&self, cell: usize) -> Wall {
        self.problem.walls.get(cell).copied().unwrap_or_default()
    }

    /// An edge slides if a cell round it does.
    fn wall_of_edge(&self, axis: usize, edge: usize) -> Wall {
        if self.problem.walls.is_empty() {
            return Wall::Stick;
        }
        let slides = self.cells_of_edge(axis, edge).into_iter().any(|c| self.wall_of_cell(c) == Wall::Slide);
        if slides { Wall::Slide } else { Wall::Stick }
    }

    fn cells_of_edge(&self, axis: usize, edge: usize) -> Vec<usize> {
        let samples = self.samples();
        let at = samples.place(Site::Edge(axis), edge);
        let n = samples.cells();
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut cells = Vec::with_capacity(4);
        for (db, dc) in [(1, 1), (0, 1), (1, 0), (0, 0)] {
            let mut cell = at;
            (cell[b], cell[c]) = (cell[b].wrapping_sub(db), cell[c].wrapping_sub(dc));
            if cell[b] < n[b] && cell[c] < n[c] {
                cells.push(samples.index(Site::Centre, cell));
            }
        }
        cells
    }

    /// Whether a pressure or stress that acts on these faces can be an unknown.
    fn acts_on_liquid(&self, slide: bool, mut faces: impl Iterator<Item = (usize, usize)>) -> bool {
        faces.all(|(a, f)| self.kind[a][f] != Face::Air && !(slide && self.problem.open.face[a][f] == 0.0))
    }

    fn choose_cells(&mut self) {
        let samples = self.samples();
        let (liquid, open) = (&self.problem.liquid.centre, &self.problem.open.centre);
        self.pressure_number = vec![NONE; liquid.len()];
        self.stressed_cell = vec![false; liquid.len()];
        for cell in (0..liquid.len()).filter(|c| liquid[*c] > 0.0 && open[*c] > 0.0) {
            let at = samples.place(Site::Centre, cell);
            let pairs = || (0..samples.axes()).flat_map(|a| samples.faces_of_cell(a, at).map(|f| (a, f)));
            let moves = pairs().any(|(a, f)| self.kind[a][f] == Face::Unknown);
            if !moves {
                continue;
            }
            if self.physics.has_pressure() && self.acts_on_liquid(false, pairs()) {
                self.pressure_number[cell] = self.pressures.len() as u32;
                self.pressures.push(cell as u32);
            }
            let slide = self.wall_of_cell(cell) == Wall::Slide;
            if self.physics.has_stress() && self.acts_on_liquid(slide, pairs()) {
                self.stressed_cell[cell] = true;
                self.cells.push(cell as u32);
            }
        }
    }

    fn choose_edges(&mut self) {
        if !self.physics.has_stress() {
            return;
        }
        let samples = self.samples();
        for axis in samples.edge_axes() {
            let site = Site::Edge(axis);
            let (liquid, open) = (self.problem.liquid.get(site), self.problem.open.get(site));
            self.stressed_edge[axis] = vec![false; liquid.len()];
            for edge in (0..liquid.len()).filter(|e| liquid[*e] > 0.0 && open[*e] > 0.0) {
                let at = samples.place(site, edge);
                if on_edge_rim(samples, axis, at) {
                    continue;
                }
                let pairs =
                    || samples.faces_of_edge(axis, at).into_iter().flat_map(|(a, p)| p.map(|f| (a, f)));
                let slide = self.wall_of_edge(axis, edge) == Wall::Slide;
                let moves = pairs().any(|(a, f)| self.kind[a][f] == Face::Unknown);
                if moves && self.acts_on_liquid(slide, pairs()) {
                    self.stressed_edge[axis][edge] = true;
                    self.edges.push((axis as u8, edge as u32));
                }
            }
        }
    }

    /// M and f.
    fn assemble_faces(&mut self) {
        let problem = self.problem;
        let (liquid, open) = (&problem.liquid.face, &problem.open.face);
        for &(axis, face) in &self.faces {
            let (a, f) = (axis as usize, face as usize);
            let pair = self.samples().cells_of_face(a, self.samples().place(Site::Face(a), f));
            let rho = 0.5 * (cell_value(&problem.density, pair[0]) + cell_value(&problem.density, pair[1]));
            let mass = rho * liquid[a][f] / (open[a][f] * problem.dt);
            self.mass.push(mass);
            let mut force = mass * open[a][f] * problem.velocity[a][f];
            force -= self.surface_force(a, f, pair);
            self.force.push(force);
        }
    }

    /// What the pressure and stress of the surface add to Gq + Dᵀσ at a face.
    fn surface_force(&self, axis: usize, face: usize, pair: [usize; 2]) -> f64 {
        let problem = self.problem;
        let (air, h) = (1.0 - problem.liquid.face[axis][face], self.samples().h());
        // The known part of a value less the share of air of its whole, from the lower sample to the upper.
        let rise = |values: &[f64], pair: [usize; 2], shares: &[f64], unknown: &dyn Fn(usize) -> bool| {
            let part = |i: usize| values[i] * ((if unknown(i) { 1.0 - shares[i] } else { 1.0 }) - air);
            if values.is_empty() { 0.0 } else { (part(pair[1]) - part(pair[0])) / h }
        };
        let centres = &problem.liquid.centre;
        let mut sum = 0.0;
        if self.physics.has_pressure() {
            let unknown = |c: usize| self.pressure_number[c] != NONE;
            sum += rise(&problem.surface_pressure, pair, centres, &unknown);
        }
        if self.physics.has_stress() {
            let stress = &problem.surface_stress;
            sum -= rise(&stress.normal[axis], pair, centres, &|c| self.stressed_cell[c]);
            let at = self.samples().place(Site::Face(axis), face);
            for (e, edges) in self.samples().edges_of_face(axis, at) {
                let shares = &problem.liquid.edge[e];
                sum -= rise(&stress.shear[e], edges, shares, &|i| self.stressed_edge[e][i]);
            }
        }
        sum
    }

    /// ∂u_a/∂a of a cell.
    fn stretch(&self, axis: usize, cell: usize) -> [(usize, usize, f64); 2] {
        let samples = self.samples();
        let [low, high] = samples.faces_of_cell(axis, samples.place(Site::Centre, cell));
        let s = 1.0 / samples.h();
        [(axis, low, -s), (axis, high, s)]
    }

    /// ∂_b u_c + ∂_c u_b of an edge.
    fn shear(&self, axis: usize, edge: usize) -> Row {
        let samples = self.samples();
        let s = 1.0 / samples.h();
        let pairs = samples.faces_of_edge(axis, samples.place(Site::Edge(axis), edge));
        pairs.into_iter().flat_map(|(a, [low, high])| [(a, low, -s), (a, high, s)]).collect()
    }

    /// The divergence of each pressure cell.
    pub fn divergence(&self) -> Result<Rows> {
        self.rows(self.pressures.len(), |i| {
            let cell = self.pressures[i] as usize;
            let row = (0..self.samples().axes()).flat_map(|a| self.stretch(a, cell)).collect();
            (row, Site::Centre, cell, Wall::Stick)
        })
    }

    /// The rates of strain: as many rows a stress cell as there are axes, then one an edge. `trace_free`
    /// takes the mean off the first.
    pub fn strains(&self, trace_free: bool) -> Result<Rows> {
        let axes = self.samples().axes();
        self.rows(axes * self.cells.len() + self.edges.len(), |i| {
            if i < axes * self.cells.len() {
                let (cell, axis) = (self.cells[i / axes] as usize, i % axes);
                let mut row: Row = self.stretch(axis, cell).into();
                if trace_free {
                    let share = |(a, f, c): (usize, usize, f64)| (a, f, -c / axes as f64);
                    row.extend((0..axes).flat_map(|a| self.stretch(a, cell)).map(share));
                }
                (row, Site::Centre, cell, self.wall_of_cell(cell))
            } else {
                let (axis, edge) = self.edges[i - axes * self.cells.len()];
                let (axis, edge) = (axis as usize, edge as usize);
                (self.shear(axis, edge), Site::Edge(axis), edge, self.wall_of_edge(axis, edge))
            }
        })
    }

    /// 1/C of the rows of [`Self::strains`].
    pub fn stiffness(&self) -> Vec<f64> {
        let axes = self.samples().axes();
        let ratio = |l: f64, o: f64, wall: Wall| match wall {
            Wall::Stick => l / o,
            Wall::Slide => l * o,
        };
        let (liquid, open) = (&self.problem.liquid, &self.problem.open);
        let of_cell = |&c: &u32| {
            let c = c as usize;
            let weight = ratio(liquid.centre[c], open.centre[c], self.wall_of_cell(c));
            2.0 * cell_value(&self.problem.viscosity, c) * weight
        };
        let of_edge = |&(a, e): &(u8, u32)| {
            let (a, e) = (a as usize, e as usize);
            self.edge_viscosity(a, e) * ratio(liquid.edge[a][e], open.edge[a][e], self.wall_of_edge(a, e))
        };
        let cells = self.cells.iter().flat_map(|c| std::iter::repeat_n(of_cell(c), axes));
        cells.chain(self.edges.iter().map(of_edge)).collect()
    }

    /// The mean viscosity of the liquid round an edge.
    pub fn edge_viscosity(&self, axis: usize, edge: usize) -> f64 {
        let mu = &self.problem.viscosity;
        if mu.len() == 1 {
            return mu[0];
        }
        let (mut sum, mut weight, mut plain, mut count) = (0.0, 0.0, 0.0, 0.0);
        for c in self.cells_of_edge(axis, edge) {
            let w = self.problem.liquid.centre[c] * self.problem.open.centre[c];
            sum += w * mu[c];
            weight += w;
            plain += mu[c];
            count += 1.0;
        }
        if weight > 0.0 { sum / weight } else { plain / count }
    }

    /// Rows over the unknown faces, and the part of known velocities.
    fn rows(
        &self,
        count: usize,
        row: impl Fn(usize) -> (Row, Site, usize, Wall) + Sync + Send,
    ) -> Result<Rows> {
        let open = &self.problem.open;
        let matrix = Csr::from_rows(count, self.faces.len(), |i, out| {
            let (row, _, _, wall) = row(i);
            for (a, f, c) in row.into_iter().filter(|(a, f, _)| self.number[*a][*f] != NONE) {
                let share = if wall == Wall::Slide { open.face[a][f] } else { 1.0 };
                out.push((self.number[a][f], c / share));
            }
        })?;
        let known = (0..count)
            .map(|i| {
                let (row, site, sample, wall) = row(i);
                let solid = 1.0 - open.get(site)[sample];
                let part = |(a, f, c): (usize, usize, f64)| {
                    let b = or_zero(&self.problem.wall_velocity[a], f);
                    let unknown = self.number[a][f] != NONE;
                    let total = match (wall, unknown) {
                        (_, false) => 1.0,
                        (Wall::Stick, true) => 1.0 - open.face[a][f],
                        (Wall::Slide, true) => 0.0,
                    };
                    let own = if wall == Wall::Stick { solid } else { 0.0 };
                    c * b * (total - own)
                };
                row.into_iter().map(part).sum()
            })
            .collect();
        Ok(Rows { matrix, known })
    }

    /// For each pressure the number of its region if no surface fixes the pressure there, else [`NONE`]; and
    /// the number of such regions.
    pub fn closed_regions(&self) -> (Vec<u32>, usize) {
        let mut sets = Sets::new(self.pressures.len());
        let mut vented = Vec::new();
        for &(a, f) in &self.faces {
            let at = self.samples().place(Site::Face(a as usize), f as usize);
            let pair = self.samples().cells_of_face(a as usize, at).map(|c| self.pressure_number[c]);
            match pair.map(|n| n != NONE) {
                [true, true] => sets.join(pair[0], pair[1]),
                [true, false] => vented.push(pair[0]),
                [false, true] => vented.push(pair[1]),
                [false, false] => {}
            }
        }
        let mut open = vec![false; self.pressures.len()];
        vented.into_iter().for_each(|n| open[sets.root(n) as usize] = true);
        let (mut names, mut count) = (vec![NONE; self.pressures.len()], 0);
        let labels = (0..self.pressures.len() as u32).map(|i| {
            let r = sets.root(i) as usize;
            if open[r] {
                return NONE;
            }
            if names[r] == NONE {
                names[r] = count;
                count += 1;
            }
            names[r]
        });
        let labels: Vec<u32> = labels.collect();
        (labels, count as usize)
    }

    /// The state from v and q.
    pub fn finish(&self, v: &[f64], q: &[f64], solve: SolveInfo, closed_regions: usize) -> Result<Solution> {
        let problem = self.problem;
        let mut velocity = problem.velocity.clone();
        let mut known: [Vec<u8>; 3] = Default::default();
        for a in 0..self.samples().axes() {
            known[a] = self.kind[a].iter().map(|k| (*k != Face::Air) as u8).collect();
            for (f, _) in self.kind[a].iter().enumerate().filter(|(_, k)| **k == Face::Wall) {
                velocity[a][f] = or_zero(&problem.wall_velocity[a], f);
            }
        }
        for (&(a, f), v) in self.faces.iter().zip(v) {
            velocity[a as usize][f as usize] = v / problem.open.face[a as usize][f as usize];
        }
        let cells = self.samples().count(Site::Centre);
        let mut pressure: Vec<f64> = (0..cells).map(|c| or_zero(&problem.surface_pressure, c)).collect();
        for (&c, q) in self.pressures.iter().zip(q) {
            pressure[c as usize] = q / problem.liquid.centre[c as usize];
        }
        let stress = if self.physics.has_stress() { self.stress(v)? } else { Stress::default() };
        let unknowns = self.faces.len() + self.pressures.len();
        Ok(Solution { velocity, known, pressure, stress, closed_regions, unknowns, solve })
    }

    /// τ from v: C⁻¹(D v + d) over W_L.
    fn stress(&self, v: &[f64]) -> Result<Stress> {
        let samples = self.samples();
        let trace_free = self.physics != (Physics::Viscosity { trace_free: false });
        let Rows { matrix, known } = self.strains(trace_free)?;
        let mut rate = known;
        matrix.add_to(v, &mut rate);
        let mut stress = Stress::default();
        let given = &self.problem.surface_stress;
        let start =
            |values: &Vec<f64>, count| if values.is_empty() { vec![0.0; count] } else { values.clone() };
        let axes = samples.axes();
        (0..axes).for_each(|a| stress.normal[a] = start(&given.normal[a], samples.count(Site::Centre)));
        samples
            .edge_axes()
            .for_each(|a| stress.shear[a] = start(&given.shear[a], samples.count(Site::Edge(a))));
        let open = &self.problem.open;
        for (i, &cell) in self.cells.iter().enumerate() {
            let c = cell as usize;
            let room = if self.wall_of_cell(c) == Wall::Stick { open.centre[c] } else { 1.0 };
            let mu = cell_value(&self.problem.viscosity, c);
            (0..axes).for_each(|a| stress.normal[a][c] = 2.0 * mu / room * rate[i * axes + a]);
        }
        for (i, &(a, e)) in self.edges.iter().enumerate() {
            let (a, e) = (a as usize, e as usize);
            let room = if self.wall_of_edge(a, e) == Wall::Stick { open.edge[a][e] } else { 1.0 };
            stress.shear[a][e] = self.edge_viscosity(a, e) / room * rate[axes * self.cells.len() + i];
        }
        Ok(stress)
    }
}

/// Whether a face beside an edge is missing.
fn on_edge_rim(samples: &Samples, axis: usize, at: [usize; 3]) -> bool {
    let n = samples.extent(Site::Edge(axis));
    (0..samples.axes()).filter(|a| *a != axis).any(|a| at[a] == 0 || at[a] + 1 == n[a])
}
