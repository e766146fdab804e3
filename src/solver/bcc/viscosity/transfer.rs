//! Between the normal velocities of faces and whole velocities at vertices.
//!
//! **To vertices**, v = H u, in two steps [KFCO06]. Each cell whose known faces span space takes the vector that fits
//! them best (see [`fit_cells`](crate::solver::bcc::fit_cells)), and each vertex reads the velocities of the cells about
//! it off at its own place:
//!
//! ```text
//!     v_i = Σ_c w_ic v_c ,     Σ_c w_ic = 1 ,     Σ_c w_ic (x_c − x_i) = 0 ,     Σ_c w_ic² least
//! ```
//!
//! so a field that is linear at the circumcentres is linear at the vertices. Cells fit a rigid motion exactly, hence
//! H does too; a constant fit, Σ w = 1 alone, would not. A vertex at the surface that has too few cells about it, or all on one side,
//! looks at the cells beside these as well.
//!
//! H is kept as its two factors, and Hᵀ is made of theirs. There are more than twice as many faces as components at vertices,
//! so H has a large kernel: patterns of faces that cancel in every cell and its ring. Viscosity does not see them.
//!
//! **To faces**, u_f = n·v at the point where the dual edge meets the face, with v linear on the face. Exact for linear v.

use super::nodal::NodalViscosity;
use crate::math::{CHUNK, Mat3, Vec3};
use crate::mesh::bcc::{Lattice, NONE};
use crate::solver::bcc::reconstruct::{across, fitting};
use rayon::prelude::*;

/// Σ w² above which a vertex looks for more cells: it would magnify what is not smooth.
const GREATEST_WEIGHTS: f64 = 1.5;
/// How far weights may be from reading a linear field off exactly.
const EXACT: f64 = 1e-12;
/// How often a vertex looks for more cells.
const ROUNDS: usize = 8;

/// Where each row of some ends among their entries, and the entries.
type Part = (Vec<u32>, Vec<(u32, f64)>);

/// Lists of (index, weight), one a row.
#[derive(Default)]
pub(super) struct Lists {
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Lists {
    pub fn of(parts: Vec<Part>) -> Self {
        let (mut starts, mut before) = (vec![0u32], 0);
        for (ends, entries) in &parts {
            starts.extend(ends.iter().map(|e| before + e));
            before += entries.len() as u32;
        }
        Self { starts, entries: parts.into_par_iter().flat_map_iter(|p| p.1).collect() }
    }

    pub fn of_rows(rows: impl ParallelIterator<Item = Vec<(u32, f64)>>) -> Self {
        Self::of(rows.map(|row| (vec![row.len() as u32], row)).collect())
    }

    pub fn row(&self, i: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// The same entries by column, each column in the order of the rows.
    pub fn transpose(&self, columns: usize) -> Self {
        let mut starts = vec![0u32; columns + 1];
        self.entries.iter().for_each(|e| starts[e.0 as usize + 1] += 1);
        for c in 0..columns {
            starts[c + 1] += starts[c];
        }
        let (mut next, mut entries) = (starts.clone(), vec![(0, 0.0); self.entries.len()]);
        for i in 0..self.starts.len() - 1 {
            for &(c, w) in self.row(i) {
                entries[next[c as usize] as usize] = (i as u32, w);
                next[c as usize] += 1;
            }
        }
        Self { starts, entries }
    }
}

/// H, from the known faces of a lattice to the nodes of a viscous step.
pub struct FacesToNodes<'a> {
    lattice: &'a Lattice,
    known: &'a [bool],
    /// What makes the vector of a cell from Σ A n u; None where faces do not span space.
    fits: Vec<Option<Mat3>>,
    /// The cells of each node, and the nodes of each cell.
    cells: Lists,
    nodes: Lists,
}

impl<'a> FacesToNodes<'a> {
    pub fn new(lattice: &'a Lattice, known: &'a [bool], system: &NodalViscosity) -> Self {
        let wanted = |cell: usize| lattice.faces_of(cell).iter().any(|&f| known[f as usize]);
        let fit = |cell: usize| if wanted(cell) { fitting(lattice, known, cell) } else { None };
        let fits: Vec<Option<Mat3>> = (0..lattice.cells()).into_par_iter().map(fit).collect();
        let (starts, rings) = rings(lattice, system);
        let count = system.nodes.len();
        let part = |c: usize| {
            let (mut ends, mut entries, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
            for i in c * CHUNK..((c + 1) * CHUNK).min(count) {
                let ring = &rings[starts[i] as usize..starts[i + 1] as usize];
                stencil(lattice, &fits, system.nodes[i], ring, &mut scratch, &mut entries);
                ends.push(entries.len() as u32);
            }
            (ends, entries)
        };
        let cells = Lists::of((0..count.div_ceil(CHUNK)).into_par_iter().map(part).collect());
        let nodes = cells.transpose(lattice.cells());
        Self { lattice, known, fits, cells, nodes }
    }

    /// Velocities at the nodes from those of all faces.
    pub fn apply(&self, faces: &[f64]) -> Vec<Vec3> {
        let at_cell = |(cell, fit): (usize, &Option<Mat3>)| {
            let Some(fit) = fit.filter(|_| !self.nodes.row(cell).is_empty()) else { return Vec3::zeros() };
            let of = |&f: &u32| self.lattice.area_vector(f as usize) * faces[f as usize];
            fit * self.known_faces(cell).map(of).sum::<Vec3>()
        };
        let at_cells: Vec<Vec3> = self.fits.par_iter().enumerate().map(at_cell).collect();
        let at_node = |i: usize| self.cells.row(i).iter().map(|&(c, w)| at_cells[c as usize] * w).sum();
        (0..self.cells.starts.len() - 1).into_par_iter().map(at_node).collect()
    }

    /// Hᵀ: what forces on the nodes do to all faces.
    pub fn transpose(&self, nodes: &[Vec3]) -> Vec<f64> {
        let at_cell = |(cell, fit): (usize, &Option<Mat3>)| {
            let Some(fit) = fit else { return Vec3::zeros() };
            fit * self.nodes.row(cell).iter().map(|&(i, w)| nodes[i as usize] * w).sum::<Vec3>()
        };
        let at_cells: Vec<Vec3> = self.fits.par_iter().enumerate().map(at_cell).collect();
        let at_face = |f: usize| {
            let [a, b] = self.lattice.faces.cells[f].map(|c| at_cells[c as usize]);
            if self.known[f] { self.lattice.area_vector(f).dot(&(a + b)) } else { 0.0 }
        };
        (0..self.known.len()).into_par_iter().map(at_face).collect()
    }

    /// How many faces the lattice has.
    pub(super) fn faces(&self) -> usize {
        self.known.len()
    }

    fn known_faces(&self, cell: usize) -> impl Iterator<Item = &u32> {
        self.lattice.faces_of(cell).iter().filter(|&&f| self.known[f as usize])
    }
}

/// The velocity of a face from those of nodes; None if it has none of its vertices among them.
pub(super) fn to_face(lattice: &Lattice, system: &NodalViscosity, v: &[Vec3], face: usize) -> Option<f64> {
    let (shares, vertices) = (lattice.crossing_shares(face), lattice.faces.vertices[face]);
    let (mut sum, mut total) = (Vec3::zeros(), 0.0);
    for (share, vertex) in shares.into_iter().zip(vertices).filter(|(_, v)| *v != NONE) {
        if let Some(node) = system.node(vertex) {
            sum += v[node] * share;
            total += share;
        }
    }
    // A vertex outside the liquid moves as the others do.
    (total > 1e-9).then(|| sum.dot(&lattice.dual_edge(face).normalize()) / total)
}

/// The nodes of a face with their shares where the dual edge meets it; none unless all of its vertices are nodes.
pub(super) fn face_nodes(lattice: &Lattice, system: &NodalViscosity, face: usize) -> Vec<(u32, f64)> {
    let (shares, vertices) = (lattice.crossing_shares(face), lattice.faces.vertices[face]);
    let corners = || vertices.into_iter().zip(shares).filter(|(v, _)| *v != NONE);
    let nodes: Vec<_> = corners().filter_map(|(v, w)| Some((system.node(v)? as u32, w))).collect();
    if nodes.len() == corners().count() { nodes } else { Vec::new() }
}

/// The cells of the tets at each node, with repetitions: those of node i are `cells[starts[i]..starts[i + 1]]`.
fn rings(lattice: &Lattice, system: &NodalViscosity) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; system.nodes.len() + 1];
    let nodes = |vertices: &[u32; 4]| vertices.map(|v| system.node(v)).into_iter().flatten();
    for vertices in &lattice.tets.vertices {
        nodes(vertices).for_each(|i| starts[i + 1] += 1);
    }
    for i in 0..system.nodes.len() {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut cells = vec![0; *next.last().unwrap_or(&0) as usize];
    for (vertices, &cell) in lattice.tets.vertices.iter().zip(&lattice.tets.cell) {
        for i in nodes(vertices) {
            cells[next[i] as usize] = cell;
            next[i] += 1;
        }
    }
    (starts, cells)
}

/// What finding the cells of a vertex needs again and again.
#[derive(Default)]
struct Scratch {
    cells: Vec<u32>,
    fitted: Vec<u32>,
    away: Vec<Vec3>,
    weights: Vec<f64>,
}

fn sort(cells: &mut Vec<u32>) {
    cells.sort_unstable();
    cells.dedup();
}

/// The cells from which a vertex takes its velocity, with their weights; none if there is no velocity near.
fn stencil(
    lattice: &Lattice,
    fits: &[Option<Mat3>],
    vertex: u32,
    ring: &[u32],
    scratch: &mut Scratch,
    out: &mut Vec<(u32, f64)>,
) {
    let Scratch { cells, fitted, away, weights } = scratch;
    cells.clear();
    cells.extend_from_slice(ring);
    sort(cells);
    let mut mean = Vec::new();
    for round in 0..=ROUNDS {
        fitted.clear();
        fitted.extend(cells.iter().copied().filter(|&c| fits[c as usize].is_some()));
        away.clear();
        away.extend(fitted.iter().map(|&c| lattice.to_cell(vertex, c)));
        if linear_weights(away, weights) {
            out.extend(fitted.iter().copied().zip(weights.iter().copied()));
            return;
        }
        if mean.is_empty() {
            let share = 1.0 / fitted.len() as f64;
            mean = fitted.iter().map(|&c| (c, share)).collect();
        }
        if round < ROUNDS {
            let beside = cells.iter().flat_map(|&c| across(lattice, c as usize)).map(|c| c as u32);
            let beside: Vec<u32> = beside.collect();
            cells.extend(beside);
            sort(cells);
        }
    }
    out.extend(mean);
}

/// The least weights that read a linear field at the given places off at the origin; false if the places do not span
/// space or all lie so far to one side that the weights are great.
///
/// With Σ over the places d, the weights are y + z·d where n y + z·Σd = 1 and y Σd + (Σddᵀ) z = 0.
fn linear_weights(places: &[Vec3], weights: &mut Vec<f64>) -> bool {
    let unit = places.iter().map(|d| d.norm_squared()).fold(0.0, f64::max).sqrt();
    let (mut sum, mut moment) = (Vec3::zeros(), Mat3::zeros());
    for d in places {
        let d = d / unit;
        sum += d;
        moment += d * d.transpose();
    }
    let Some(inverse) = moment.cholesky() else { return false };
    let toward = inverse.solve(&sum);
    let y = 1.0 / (places.len() as f64 - sum.dot(&toward));
    weights.clear();
    weights.extend(places.iter().map(|d| y * (1.0 - toward.dot(d) / unit)));
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    // Places in a plane make a matrix that is singular up to rounding, whose weights do not do what they should.
    let (total, at) = places
        .iter()
        .zip(weights.iter())
        .fold((0.0, Vec3::zeros()), |(total, at), (d, w)| (total + w, at + d * (w / unit)));
    let error = (total - 1.0).hypot(at.norm());
    error < EXACT && squares <= GREATEST_WEIGHTS
}
