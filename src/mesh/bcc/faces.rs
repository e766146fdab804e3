//! The faces between cells: triangles, and squares where two coplanar triangles join the same cells.
//!
//! They lie, by the leaf that writes them:
//!
//! ```text
//!     centre of a leaf and one of its edges or half edges    between the pyramids over two of its faces
//!     two centres and a point of the ring                     between tets of the ring; a square if the same
//!                                                              cells meet at two opposite middles
//!     centre and two middles; corner and two middles          round the tets of a cut corner
//!     a face between a fine leaf and a coarse one              square
//!     centre, middles of fine faces, middle of an edge         between sub-octants; a square if both faces
//!                                                              at the edge are fine
//! ```
//!
//! The vertices go round so that (v₁−v₀)×(v₂−v₀) points from the first cell to the second, which is also the
//! direction from circumcentre to circumcentre.

use super::leaves::{Kind, Leaf, Leaves, TASK, parts};
use super::octree::NONE;
use super::stencil::{CORNERS, EDGES, ENDS, SIDES};
use super::tets::Tets;
use rayon::prelude::*;

/// Faces in flat arrays.
#[derive(Clone, Debug, Default)]
pub struct Faces {
    /// The cells on both sides; the normal leads from the first to the second.
    pub cells: Vec<[u32; 2]>,
    /// Vertices round the face; the last is [`NONE`] for a triangle.
    pub vertices: Vec<[u32; 4]>,
}

/// The part of the arrays that a task writes.
struct Writer<'a> {
    cells: &'a mut [[u32; 2]],
    vertices: &'a mut [[u32; 4]],
    next: usize,
}

impl Writer<'_> {
    fn push(&mut self, cells: [u32; 2], vertices: [u32; 4]) {
        self.cells[self.next] = cells;
        self.vertices[self.next] = vertices;
        self.next += 1;
    }
}

/// Write all faces.
pub(super) fn write(leaves: &Leaves, tets: &Tets) -> Faces {
    let total = leaves.leaves.iter().map(Leaf::face_count).sum();
    let mut faces = Faces { cells: vec![[0; 2]; total], vertices: vec![[0; 4]; total] };
    leaves
        .leaves
        .par_chunks(TASK)
        .enumerate()
        .zip(parts(&mut faces.cells, &leaves.leaves, Leaf::face_count))
        .zip(parts(&mut faces.vertices, &leaves.leaves, Leaf::face_count))
        .for_each(|(((task, part), cells), vertices)| {
            let mut out = Writer { cells, vertices, next: 0 };
            for index in task * TASK..task * TASK + part.len() {
                write_leaf(leaves, tets, index, &mut out);
            }
        });
    faces
}

fn write_leaf(leaves: &Leaves, tets: &Tets, index: usize, out: &mut Writer) {
    let leaf = &leaves.leaves[index];
    for edge in 0..12 {
        write_edge(leaves, tets, index, edge, out);
    }
    for face in (0..6).filter(|&f| leaf.owns(f)) {
        match leaf.kind[face] {
            Kind::Coarse => write_coarse(leaves, leaf, face, out),
            _ => write_ring(leaves, index, face, out),
        }
    }
}

/// Write the triangles (centre, edge), or their halves, and the face between the sub-octants of the edge.
fn write_edge(leaves: &Leaves, tets: &Tets, index: usize, edge: usize, out: &mut Writer) {
    let leaf = &leaves.leaves[index];
    let centre = leaves.centre(index);
    let [first, second] = SIDES[edge].map(|s| s.map(usize::from));
    let ends = ENDS[edge].map(|c| leaf.vertices[c as usize]);
    // The normal of (centre, low, high) leads from the second side to the first if both lie on equal sides.
    let alike = edge & 1 == edge >> 1 & 1;
    let mut triangle = |half: usize, low: u32, high: u32| {
        let cell = |side: [usize; 2]| tets.cell[leaves.tet_at(leaf, side[0], side[1], half) as usize];
        let (a, b) = if alike { (cell(second), cell(first)) } else { (cell(first), cell(second)) };
        if a != b {
            out.push([a, b], [centre, low, high, NONE]);
        }
    };
    if !leaf.is_split(edge) {
        triangle(0, ends[0], ends[1]);
        return;
    }
    let middle = leaves.middle(leaf, edge);
    triangle(0, ends[0], middle);
    triangle(1, middle, ends[1]);
    let fine =
        [first[0], second[0]].map(|f| (leaf.kind[f] == Kind::Fine).then(|| leaves.fine_middle(leaf, f)));
    let fine = if alike { fine } else { [fine[1], fine[0]] };
    let vertices = match fine {
        [Some(a), Some(b)] => [centre, a, middle, b],
        [Some(a), None] => [centre, a, middle, NONE],
        [None, Some(b)] => [centre, middle, b, NONE],
        [None, None] => return,
    };
    out.push(ENDS[edge].map(|c| leaf.sub_octant_cell(c as usize)), vertices);
}

/// Write the square between a fine leaf and a coarse one.
fn write_coarse(leaves: &Leaves, leaf: &Leaf, face: usize, out: &mut Writer) {
    let middle = leaf.coarse_middle(face);
    let coarse = &leaves.leaves[leaf.across[face] as usize];
    let sub_octant = coarse.sub_octant_cell(CORNERS[face ^ 1][(middle + 2) % 4] as usize);
    let cells = [leaf.face_cells(face), sub_octant];
    let cells = if face & 1 == 1 { cells } else { [cells[1], cells[0]] };
    out.push(cells, [0, 1, 2, 3].map(|i| leaf.vertices[CORNERS[face][(middle + i) % 4] as usize]));
}

/// Write the faces between the tets over a face to an equal leaf or a wall.
fn write_ring(leaves: &Leaves, index: usize, face: usize, out: &mut Writer) {
    let leaf = &leaves.leaves[index];
    let (ring, first_cell) = (leaf.ring(face), leaf.face_cells(face));
    let is_wall = leaf.kind[face] == Kind::Wall;
    let own = leaves.centre(index);
    let beyond = if is_wall { leaf.across[face] } else { leaves.centre(leaf.across[face] as usize) };
    let [below, above] = if face & 1 == 1 { [own, beyond] } else { [beyond, own] };
    let corner = |i: usize| leaf.vertices[CORNERS[face][i] as usize];
    let middle = |i: usize| leaves.middle(leaf, EDGES[face][i] as usize);
    let cell = |t: usize| first_cell + ring.cell[t % ring.count] as u32;

    for t in 0..ring.count {
        let cells = [cell(t), cell(t + 1)];
        let p = ring.points[t + 1] as usize;
        if cells[0] == cells[1] {
            continue;
        }
        if p < 4 {
            out.push(cells, [below, above, corner(p), NONE]);
        } else if !leaf.ring_edge_is_split(face, (p + 2) % 4) {
            out.push(cells, [below, above, middle(p - 4), NONE]);
        } else if p < 6 {
            // The same cells meet at the opposite middle: one square, written once.
            out.push(cells, [below, middle((p + 2) % 4), above, middle(p - 4)]);
        }
    }

    for i in (0..4).filter(|i| ring.cuts >> i & 1 == 1) {
        let (before, inner) = (middle((i + 3) % 4), cell(ring.at[i][0] as usize));
        let here = middle(i);
        let outer = |leaf: &Leaf, face: usize| leaf.sub_octant_cell(CORNERS[face][i] as usize);
        let own_cell = outer(leaf, face);
        let up = [own_cell, inner];
        if face & 1 == 1 {
            out.push(up, [own, before, here, NONE]);
        } else {
            out.push(up, [own, here, before, NONE]);
        }
        if !is_wall {
            let other_cell = outer(&leaves.leaves[leaf.across[face] as usize], face ^ 1);
            out.push([other_cell, inner], [beyond, here, before, NONE]);
            out.push([own_cell, other_cell], [corner(i), here, before, NONE]);
        }
    }
}
