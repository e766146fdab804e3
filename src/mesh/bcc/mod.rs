//! The octree-graded body-centred cubic lattice: tets that are Delaunay, and cells that own a circumcentre.
//!
//! Vertices are the corners and the centres of the leaves of an edge-balanced [`Octree`], and the middles of
//! leaf faces on walls. Each pair of leaves that share a face fills the double pyramid between their centres
//! and that face with tets [LS07]; a corner of a face between two split edges is cut off, without which dual
//! edges turn negative. Then, exactly:
//!
//! - the tets conform, fill the domain and are Delaunay; dihedral angles lie between 35.26° and 125.26°;
//! - neighbouring tets with the same circumcentre form one *cell*: 13 convex shapes;
//! - two cells share one planar face at most; the line between their circumcentres is perpendicular to it,
//!   meets it, and is at least a quarter of the finer leaf's width long.
//!
//! So a pressure at circumcentres has an exact gradient across every face if it is linear, and its Laplacian is a
//! symmetric M-matrix. On a wall the missing leaf is a mirror image: cells cut by the wall have their
//! circumcentre on it, and a wall without flux needs nothing.
//!
//! All adjacency follows from the leaf and its 18 neighbours by tables ([`stencil`]), so tets are written in
//! parallel, in the order of the leaves, with the same result on any number of threads. Checked in tests/bcc.rs.

mod cells;
mod edges;
mod faces;
mod leaves;
mod linear;
mod links;
mod locate;
mod octree;
mod sizing;
mod stencil;
mod tets;

pub use edges::Edges;
pub use faces::Faces;
pub use locate::barycentric;
pub use octree::{FINEST, NONE, Octree, OctreeCell, OctreeDomain};
pub use sizing::Sizing;
pub use tets::{TetShape, Tets};

use crate::error::Result;
use crate::math::Vec3;
use leaves::{Kind, Leaves};

/// The lattice over an octree, in flat arrays. Positions are whole units of [`OctreeDomain::unit`].
#[derive(Clone, Debug)]
pub struct Lattice {
    octree: Octree,
    pub vertices: Vec<[i32; 3]>,
    /// The vertices from here on are the middles of leaf faces on walls.
    pub first_wall_vertex: u32,
    pub tets: Tets,
    /// The circumcentre of each cell.
    pub circumcentres: Vec<[i32; 3]>,
    pub faces: Faces,
    /// The first tet of each leaf.
    first_tets: Vec<u32>,
    /// Where the faces of each cell begin in `cell_faces`.
    cell_start: Vec<u32>,
    cell_faces: Vec<u32>,
}

impl Lattice {
    /// Build tets, cells, faces and all that connects them.
    pub fn new(octree: Octree) -> Result<Self> {
        let leaves = Leaves::new(&octree)?;
        let tets = tets::write(&leaves);
        let faces = faces::write(&leaves, &tets);
        let circumcentres = cells::write(&leaves);
        let vertices = place_vertices(&leaves);
        let (cell_start, cell_faces) = gather_faces(circumcentres.len(), &faces.cells);
        let first_wall_vertex = leaves.first_centre + leaves.leaves.len() as u32;
        let first_tets = leaves.leaves.iter().map(|leaf| leaf.tets).collect();
        Ok(Self {
            octree,
            vertices,
            first_wall_vertex,
            tets,
            circumcentres,
            faces,
            first_tets,
            cell_start,
            cell_faces,
        })
    }

    pub fn octree(&self) -> &Octree {
        &self.octree
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.circumcentres.len()
    }

    /// The faces of a cell, ascending.
    #[inline]
    pub fn faces_of(&self, cell: usize) -> &[u32] {
        &self.cell_faces[self.cell_start[cell] as usize..self.cell_start[cell + 1] as usize]
    }

    /// Where a vertex is, m.
    pub fn vertex(&self, vertex: u32) -> Vec3 {
        self.octree.domain().place(self.vertices[vertex as usize])
    }

    /// Where the pressure of a cell is, m.
    pub fn circumcentre(&self, cell: u32) -> Vec3 {
        self.octree.domain().place(self.circumcentres[cell as usize])
    }

    /// From the circumcentre of the first cell of a face to that of the second, m.
    pub fn dual_edge(&self, face: usize) -> Vec3 {
        let [a, b] = self.faces.cells[face].map(|c| self.circumcentres[c as usize]);
        self.difference(a, b)
    }

    /// The area of a face times its normal, which leads from its first cell to its second, m².
    pub fn area_vector(&self, face: usize) -> Vec3 {
        let v = self.faces.vertices[face];
        let at = |k: usize| self.difference(self.vertices[v[0] as usize], self.vertices[v[k] as usize]);
        if v[3] == NONE { 0.5 * at(1).cross(&at(2)) } else { 0.5 * at(2).cross(&(at(3) - at(1))) }
    }

    /// The centroid of a face, m.
    pub fn face_middle(&self, face: usize) -> Vec3 {
        let v = self.faces.vertices[face];
        let at = |k: usize| self.difference(self.vertices[v[0] as usize], self.vertices[v[k] as usize]);
        // The two triangles of a square have equal areas.
        let middle = if v[3] == NONE { (at(1) + at(2)) / 3.0 } else { (at(1) + 2.0 * at(2) + at(3)) / 6.0 };
        self.vertex(v[0]) + middle
    }

    /// Where the line between the circumcentres meets a face, m: the centre of the circle round it.
    pub fn face_crossing(&self, face: usize) -> Vec3 {
        let dual = self.dual_edge(face);
        let from = self.circumcentres[self.faces.cells[face][0] as usize];
        let to_plane = self.difference(from, self.vertices[self.faces.vertices[face][0] as usize]);
        self.octree.domain().place(from) + dual * (dual.dot(&to_plane) / dual.norm_squared())
    }

    /// Whether a face lies between two tets of equal cubes. The faces of no other pair have A = 2√2 d².
    pub fn is_regular(&self, face: usize) -> bool {
        let squared = self.dual_edge(face).norm_squared();
        let plain = |c: u32| self.faces_of(c as usize).len() <= 4;
        self.faces.cells[face].iter().all(|&c| plain(c))
            && (self.area_vector(face).norm_squared() - 8.0 * squared * squared).abs()
                < 1e-6 * squared * squared
    }

    /// Volume of each cell, m³.
    pub fn cell_volumes(&self) -> Vec<f64> {
        let mut volumes = vec![0.0; self.cells()];
        for (tet, &cell) in self.tets.cell.iter().enumerate() {
            volumes[cell as usize] += self.tet_volume(tet);
        }
        volumes
    }

    /// Volume of a tet, m³.
    pub fn tet_volume(&self, tet: usize) -> f64 {
        let v = self.tets.vertices[tet].map(|v| self.vertices[v as usize]);
        let at = |k: usize| self.difference(v[0], v[k]);
        at(1).dot(&at(2).cross(&at(3))) / 6.0
    }

    /// From one position to another in metres; in a periodic domain the shortest way.
    fn difference(&self, from: [i32; 3], to: [i32; 3]) -> Vec3 {
        let domain = self.octree.domain();
        let along = |a: usize| {
            let d = to[a] - from[a];
            let period = self.octree.width(0) * domain.roots[a] as i32;
            if !domain.periodic || 2 * d.abs() <= period { d } else { d - d.signum() * period }
        };
        Vec3::new(along(0) as f64, along(1) as f64, along(2) as f64) * domain.unit()
    }

    /// Bytes that the arrays of the lattice hold, without the octree.
    pub fn bytes(&self) -> usize {
        12 * (self.vertices.len() + self.circumcentres.len())
            + 37 * self.tets.vertices.len()
            + 24 * self.faces.cells.len()
            + 4 * (self.first_tets.len() + self.cell_start.len() + self.cell_faces.len())
    }
}

/// The positions of corners, centres and middles of wall faces.
fn place_vertices(leaves: &Leaves) -> Vec<[i32; 3]> {
    let mut at = vec![[0; 3]; leaves.vertices];
    let domain = leaves.octree.domain();
    let period = domain.roots.map(|n| n as i32 * leaves.octree.width(0));
    let wrap = |x: [i32; 3]| if domain.periodic { [0, 1, 2].map(|a| x[a] % period[a]) } else { x };
    for (index, leaf) in leaves.leaves.iter().enumerate() {
        for corner in 0..8 {
            at[leaf.vertices[corner] as usize] = wrap(leaf.corner_at(corner));
        }
        at[leaves.centre(index) as usize] = leaf.centre();
        for face in (0..6).filter(|&f| leaf.kind[f] == Kind::Wall) {
            let mut x = leaf.centre();
            x[face / 2] += (2 * (face as i32 & 1) - 1) * leaf.width / 2;
            at[leaf.across[face] as usize] = x;
        }
    }
    at
}

/// The faces of each cell, in the order of the faces.
fn gather_faces(cells: usize, sides: &[[u32; 2]]) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32; cells + 1];
    for cell in sides.as_flattened() {
        start[*cell as usize + 1] += 1;
    }
    for c in 0..cells {
        start[c + 1] += start[c];
    }
    let (mut next, mut faces) = (start.clone(), vec![0; 2 * sides.len()]);
    for (face, pair) in sides.iter().enumerate() {
        for &cell in pair {
            let at = &mut next[cell as usize];
            faces[*at as usize] = face as u32;
            *at += 1;
        }
    }
    (start, faces)
}
