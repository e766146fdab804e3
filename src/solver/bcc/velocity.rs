//! Velocity anywhere in the graded lattice, and paths along it.
//!
//! Circumcentres are the corners of the Voronoi diagram of the vertices. A face F of the lattice and the dual edge
//! ab through it span a diamond, cut into tets
//!
//! ```text
//!     (vertex s of F, middle m of an edge of F at s, a, b)
//! ```
//!
//! in which velocity is linear. At a vertex it is the mean over the tets round it, in the middle of an edge the mean
//! of the circumcentres round it [BBB10]; where a circumcentre coincides with either, that one's alone. What stands at circumcentres is not smoothed again, which is why this
//! damps far less than linear interpolation from the vertices (see tests/bcc). The field is continuous.
//! Paths use the third-order rule of Ralston [Ral62]: x′ = x + Δt (2k₁ + 3k₂ + 4k₃)/9.

use crate::error::{Error, Result};
use crate::field::VelocityField;
use crate::math::Vec3;
use crate::mesh::bcc::{Edges, Lattice, NONE, barycentric};
use rayon::prelude::*;
use std::borrow::Cow;

/// A point this far outside a tet, in shares, still counts as inside.
const ROUNDING: f64 = 1e-9;

/// The numbers of a velocity field: at circumcentres, and the means that follow from them.
#[derive(Clone, Debug, Default)]
pub struct LatticeValues {
    pub at_cells: Vec<Vec3>,
    at_vertices: Vec<Vec3>,
    at_edges: Vec<Vec3>,
}

impl LatticeValues {
    /// From velocities at circumcentres.
    pub fn new(lattice: &Lattice, edges: &Edges, at_cells: Vec<Vec3>) -> Result<Self> {
        if lattice.octree().domain().periodic {
            return Err(Error::Unsupported {
                what: "a velocity field".into(),
                message: "the domain is periodic; use walls".into(),
            });
        }
        if at_cells.len() != lattice.cells() || edges.of_face.len() != lattice.faces.cells.len() {
            let message = format!("{} velocities for {} cells", at_cells.len(), lattice.cells());
            return Err(Error::invalid("velocity field", message));
        }
        let (at_vertices, at_edges) =
            rayon::join(|| vertex_means(lattice, &at_cells), || edge_means(lattice, edges, &at_cells));
        Ok(Self { at_cells, at_vertices, at_edges })
    }
}

/// A continuous velocity field over a lattice.
pub struct LatticeVelocity<'a> {
    lattice: &'a Lattice,
    edges: &'a Edges,
    values: Cow<'a, LatticeValues>,
}

/// A tet of a diamond that holds a point: its values and their shares.
struct Piece {
    value: Vec3,
    /// The least share; negative outside.
    inside: f64,
}

impl<'a> LatticeVelocity<'a> {
    /// From velocities at circumcentres.
    pub fn new(lattice: &'a Lattice, edges: &'a Edges, at_cells: Vec<Vec3>) -> Result<Self> {
        let values = Cow::Owned(LatticeValues::new(lattice, edges, at_cells)?);
        Ok(Self { lattice, edges, values })
    }

    /// A view of numbers that were made for this lattice.
    pub fn of(lattice: &'a Lattice, edges: &'a Edges, values: &'a LatticeValues) -> Self {
        Self { lattice, edges, values: Cow::Borrowed(values) }
    }

    /// Velocity at a point; outside the domain that of the nearest point inside.
    pub fn sample(&self, x: &Vec3) -> Vec3 {
        let x = self.lattice.octree().domain().clamp(x);
        let cell = self.lattice.tets.cell[self.lattice.locate(&x)];
        let faces = self.lattice.faces_of(cell as usize);
        let Some(face) = self.facing(cell, faces, &x) else { return self.values.at_cells[cell as usize] };
        let mut best = self.in_diamond(face, &x);
        if best.inside < -ROUNDING {
            // A circumcentre outside its own cell reaches into this one: look at the diamonds next door.
            let [a, b] = self.lattice.faces.cells[face as usize];
            let beyond = self.lattice.faces_of(if a == cell { b } else { a } as usize);
            for &other in beyond.iter().chain(faces).filter(|&&f| f != face) {
                let piece = self.in_diamond(other, &x);
                if piece.inside > best.inside {
                    best = piece;
                }
            }
        }
        best.value
    }

    /// The same at a point that is likely to lie in the diamond about a face between equal cells: most paths are shorter
    /// than that, and then nothing has to be searched.
    pub fn sample_beside(&self, face: usize, x: &Vec3) -> Vec3 {
        let inside = self.lattice.octree().domain().clamp(x);
        match self.in_diamond(face as u32, &inside) {
            piece if piece.inside >= 0.0 => piece.value,
            _ => self.sample(x),
        }
    }

    /// Velocities at many points, in parallel.
    pub fn sample_all(&self, x: &[Vec3]) -> Vec<Vec3> {
        x.par_iter().map(|x| self.sample(x)).collect()
    }

    /// Velocity where the dual edge of a face crosses it: linear between the two circumcentres, which needs no search.
    pub fn at_crossing(&self, face: usize) -> Vec3 {
        let [a, b] = self.lattice.faces.cells[face].map(|c| c as usize);
        let (dual, crossing) = (self.lattice.dual_edge(face), self.lattice.face_crossing(face));
        let along = dual.dot(&(crossing - self.lattice.circumcentre(a as u32))) / dual.norm_squared();
        // A circumcentre on the far side of the face: another diamond holds the crossing.
        if !(0.0..=1.0).contains(&along) {
            return self.sample(&crossing);
        }
        self.values.at_cells[a] * (1.0 - along) + self.values.at_cells[b] * along
    }

    /// Where a point is carried in `dt` seconds; a negative step goes back.
    pub fn trace(&self, x: &Vec3, dt: f64) -> Vec3 {
        path(x, self.sample(x), dt, |x| self.sample(x))
    }

    /// The normal velocities that the faces of a lattice, this one or a new one, receive after `dt` seconds: what
    /// stood where each came from.
    pub fn carry(&self, target: &Lattice, dt: f64) -> Vec<f64> {
        let faces = (0..target.faces.cells.len()).into_par_iter();
        let carried = faces.map(|face| {
            let from = self.trace(&target.face_crossing(face), -dt);
            self.sample(&from).dot(&target.dual_edge(face).normalize())
        });
        carried.collect()
    }

    /// Linear interpolation from the vertices of the tet: smooths twice. For comparison.
    pub fn sample_from_vertices(&self, x: &Vec3) -> Vec3 {
        let x = self.lattice.octree().domain().clamp(x);
        let tet = self.lattice.locate(&x);
        let shares = self.lattice.barycentric(tet, &x);
        let corners = self.lattice.tets.vertices[tet].map(|v| self.values.at_vertices[v as usize]);
        corners.iter().zip(shares).map(|(v, s)| v * s).sum()
    }

    /// The face of a cell that a ray from its circumcentre through the point leaves by.
    fn facing(&self, cell: u32, faces: &[u32], x: &Vec3) -> Option<u32> {
        let centre = self.lattice.circumcentre(cell);
        let (mut best, mut found) = (f64::NEG_INFINITY, None);
        for &face in faces {
            let [a, _] = self.lattice.faces.cells[face as usize];
            let dual = self.lattice.dual_edge(face as usize);
            let outward = if a == cell { dual } else { -dual };
            let corner = self.lattice.vertex(self.lattice.faces.vertices[face as usize][0]);
            let height = outward.dot(&(corner - centre));
            // A face through the circumcentre, or one that it lies beyond, spans no part of the cell.
            if height > ROUNDING * outward.norm_squared() {
                let along = outward.dot(&(x - centre)) / height;
                if along > best {
                    (best, found) = (along, Some(face));
                }
            }
        }
        found
    }

    /// The piece of the diamond about a face that the point lies in, or nearest to.
    fn in_diamond(&self, face: u32, x: &Vec3) -> Piece {
        let face = face as usize;
        let cells = self.lattice.faces.cells[face];
        let [a, b] = cells.map(|c| self.lattice.circumcentre(c));
        let Some(edge) = self.edge_facing(face, x) else {
            return Piece { value: self.values.at_cells[cells[0] as usize], inside: f64::NEG_INFINITY };
        };
        let ends = self.edges.ends[edge as usize];
        let [s, t] = ends.map(|v| self.lattice.vertex(v));
        // The nearer end: the plane through a, b and the middle divides the two.
        let nearer = ((x - s).norm_squared() > (x - t).norm_squared()) as usize;
        let shares = barycentric(&[[s, t][nearer], (s + t) * 0.5, a, b], x);
        let value = self.values.at_vertices[ends[nearer] as usize] * shares[0]
            + self.values.at_edges[edge as usize] * shares[1]
            + self.values.at_cells[cells[0] as usize] * shares[2]
            + self.values.at_cells[cells[1] as usize] * shares[3];
        Piece { value, inside: shares.iter().copied().fold(f64::INFINITY, f64::min) }
    }

    /// The edge of a face that a ray from the dual edge through the point leaves by, seen along the dual edge.
    fn edge_facing(&self, face: usize, x: &Vec3) -> Option<u32> {
        let crossing = self.lattice.face_crossing(face);
        let from = x - crossing;
        let (mut best, mut found) = (f64::NEG_INFINITY, None);
        for &edge in self.edges.of_face[face].iter().filter(|&&e| e != NONE) {
            let [s, t] = self.edges.ends[edge as usize].map(|v| self.lattice.vertex(v));
            let (to_middle, along) = ((s + t) * 0.5 - crossing, t - s);
            let height = to_middle.norm_squared();
            // The crossing is the centre of the circle round the face; an edge through it spans no part.
            let spans = height > ROUNDING * along.norm_squared()
                && to_middle.dot(&along).abs() < ROUNDING * along.norm_squared();
            let reached = from.dot(&to_middle) / height;
            if spans && reached > best {
                (best, found) = (reached, Some(edge));
            }
        }
        found
    }
}

impl VelocityField for LatticeVelocity<'_> {
    fn velocities(&self, x: &[Vec3], out: &mut [Vec3]) {
        out.iter_mut().zip(x).for_each(|(u, x)| *u = self.sample(x));
    }
}

/// Where a point with the velocity k1 is carried in `dt` seconds, by a velocity that is asked for on the way.
pub(super) fn path(x: &Vec3, k1: Vec3, dt: f64, velocity: impl Fn(&Vec3) -> Vec3) -> Vec3 {
    let k2 = velocity(&(x + k1 * (0.5 * dt)));
    let k3 = velocity(&(x + k2 * (0.75 * dt)));
    x + (k1 * 2.0 + k2 * 3.0 + k3 * 4.0) * (dt / 9.0)
}

/// Means are made in at most this many parts at once, one a thread. Each part reads all of the lattice in the same order, so
/// that nothing depends on how many there are.
const PARTS: usize = 8;

/// A mean in the making: sum and count, or a value that overrules it.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: Vec3,
    count: u32,
    exact: Option<Vec3>,
}

impl Mean {
    fn add(&mut self, value: Vec3, coincides: bool) {
        self.sum += value;
        self.count += 1;
        if coincides {
            self.exact = Some(value);
        }
    }

    fn value(&self) -> Vec3 {
        self.exact.unwrap_or(self.sum / self.count.max(1) as f64)
    }
}

/// The mean over the tets at each vertex.
fn vertex_means(lattice: &Lattice, at_cells: &[Vec3]) -> Vec<Vec3> {
    means(lattice.vertices.len(), |first, part| {
        for (vertices, &cell) in lattice.tets.vertices.iter().zip(&lattice.tets.cell) {
            for &v in vertices {
                if let Some(mean) = part.get_mut((v as usize).wrapping_sub(first)) {
                    let centre = lattice.circumcentres[cell as usize];
                    mean.add(at_cells[cell as usize], lattice.vertices[v as usize] == centre);
                }
            }
        }
    })
}

/// The mean over the cells round each edge: every one of them has two faces there.
fn edge_means(lattice: &Lattice, edges: &Edges, at_cells: &[Vec3]) -> Vec<Vec3> {
    means(edges.ends.len(), |first, part| {
        for (of_face, cells) in edges.of_face.iter().zip(&lattice.faces.cells) {
            for &edge in of_face.iter().filter(|&&e| e != NONE) {
                let Some(mean) = part.get_mut((edge as usize).wrapping_sub(first)) else { continue };
                let [s, t] = edges.ends[edge as usize].map(|v| lattice.vertices[v as usize]);
                for &cell in cells {
                    let centre = lattice.circumcentres[cell as usize];
                    let coincides = (0..3).all(|a| 2 * centre[a] == s[a] + t[a]);
                    mean.add(at_cells[cell as usize], coincides);
                }
            }
        }
    })
}

/// Means of `count` places; `gather` adds to those of a part, given the number of its first.
fn means(count: usize, gather: impl Fn(usize, &mut [Mean]) + Sync) -> Vec<Vec3> {
    let mut means = vec![Mean::default(); count];
    let size = count.div_ceil(rayon::current_num_threads().clamp(1, PARTS)).max(1);
    means.par_chunks_mut(size).enumerate().for_each(|(k, part)| gather(k * size, part));
    means.par_iter().map(Mean::value).collect()
}
