//! The tets of the lattice, with their neighbours and cells, written leaf by leaf.
//!
//! Over a face between equal leaves: the ring of [`stencil`](super::stencil), then for each cut corner a
//! tet below and one above. On a wall the missing leaf is a mirror image of which only the inner half is kept,
//! so the middle of the wall face stands for the centre beyond. Over a face between a fine leaf s and a
//! coarse one o, with the square q₀q₁q₂q₃ that begins in the middle of the coarse face: (s,q₀,q₁,q₂),
//! (s,q₀,q₂,q₃), (o,q₀,q₁,q₂), (o,q₀,q₂,q₃).
//!
//! Vertices are ordered so that det(v₁−v₀, v₂−v₀, v₃−v₀) > 0; neighbour k lies across the facet
//! opposite to vertex k, [`NONE`] beyond a wall.

use super::leaves::{Kind, Leaf, Leaves, TASK, corner_tet, parts};
use super::octree::NONE;
use super::stencil::{CORNERS, EDGES, half_at_start};
use rayon::prelude::*;

/// The six shapes of tets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum TetShape {
    /// Two centres and a whole edge.
    Bcc,
    /// Two centres and half an edge.
    Bisected,
    /// A fine centre and half a fine face towards a coarse leaf.
    HalfPyramid,
    /// A coarse centre and half a fine face.
    Quadrisected,
    /// Two centres and two middles of edges: a quarter of an octahedron.
    Quarter,
    /// One centre and a cut corner.
    Corner,
}

/// Tets in flat arrays.
#[derive(Clone, Debug, Default)]
pub struct Tets {
    pub vertices: Vec<[u32; 4]>,
    /// The tet across the facet opposite to each vertex, [`NONE`] at a wall.
    pub neighbours: Vec<[u32; 4]>,
    pub cell: Vec<u32>,
    pub shape: Vec<TetShape>,
}

/// One side of a face: the leaf there, or the wall.
#[derive(Clone, Copy)]
struct Side<'a> {
    /// The centre of the leaf, or the middle of the wall face.
    vertex: u32,
    leaf: Option<&'a Leaf>,
    face: usize,
}

struct Writer<'a> {
    vertices: &'a mut [[u32; 4]],
    neighbours: &'a mut [[u32; 4]],
    cell: &'a mut [u32],
    shape: &'a mut [TetShape],
    next: usize,
}

impl Writer<'_> {
    /// Write a tet; one that is turned inside out swaps its last two vertices.
    fn push(&mut self, mut v: [u32; 4], mut n: [u32; 4], turned: bool, cell: u32, shape: TetShape) {
        if turned {
            v.swap(2, 3);
            n.swap(2, 3);
        }
        self.vertices[self.next] = v;
        self.neighbours[self.next] = n;
        self.cell[self.next] = cell;
        self.shape[self.next] = shape;
        self.next += 1;
    }
}

/// Write all tets.
pub(super) fn write(leaves: &Leaves) -> Tets {
    let mut tets = Tets {
        vertices: vec![[0; 4]; leaves.tets],
        neighbours: vec![[0; 4]; leaves.tets],
        cell: vec![0; leaves.tets],
        shape: vec![TetShape::Bcc; leaves.tets],
    };
    let count = |leaf: &Leaf| leaf.tet_count();
    let tasks = leaves.leaves.par_chunks(TASK).enumerate();
    tasks
        .zip(parts(&mut tets.vertices, &leaves.leaves, count))
        .zip(parts(&mut tets.neighbours, &leaves.leaves, count))
        .zip(parts(&mut tets.cell, &leaves.leaves, count))
        .zip(parts(&mut tets.shape, &leaves.leaves, count))
        .for_each(|(((((task, part), vertices), neighbours), cell), shape)| {
            let mut out = Writer { vertices, neighbours, cell, shape, next: 0 };
            for index in task * TASK..task * TASK + part.len() {
                write_leaf(leaves, index, &mut out);
            }
        });
    tets
}

fn write_leaf(leaves: &Leaves, index: usize, out: &mut Writer) {
    let leaf = &leaves.leaves[index];
    for face in (0..6).filter(|&f| leaf.owns(f)) {
        let own = Side { vertex: leaves.centre(index), leaf: Some(leaf), face };
        let beyond = leaf.across[face];
        match leaf.kind[face] {
            Kind::Coarse => write_coarse(leaves, &own, beyond as usize, out),
            Kind::Wall => {
                let wall = Side { vertex: beyond, leaf: None, face };
                let sides = if face & 1 == 1 { [own, wall] } else { [wall, own] };
                write_ring(leaves, leaf, face, &sides, out);
            }
            _ => {
                let other = &leaves.leaves[beyond as usize];
                let above =
                    Side { vertex: leaves.centre(beyond as usize), leaf: Some(other), face: face ^ 1 };
                write_ring(leaves, leaf, face, &[own, above], out);
            }
        }
    }
}

/// Write the tets between the two sides of a face, below first.
fn write_ring(leaves: &Leaves, leaf: &Leaf, face: usize, sides: &[Side; 2], out: &mut Writer) {
    let (ring, kind) = (leaf.ring(face), leaf.kind[face]);
    let (first, first_cell) = (leaf.face_tets(face), leaf.face_cells(face));
    let point = |p: u8| match p {
        0..4 => leaf.vertices[CORNERS[face][p as usize] as usize],
        _ => leaves.middle(leaf, EDGES[face][p as usize - 4] as usize),
    };
    let corner = |i: usize, above: usize| match sides[above].leaf {
        Some(_) => first + corner_tet(ring, i, kind, above == 1),
        None => NONE,
    };
    // What lies across (centre of a side, edge or half edge).
    let beyond = |side: &Side, edge: usize, half: usize| match side.leaf {
        Some(leaf) => leaves.beyond(leaf, side.face, edge, half),
        None => NONE,
    };
    for t in 0..ring.count {
        let (p, q) = (ring.points[t], ring.points[t + 1]);
        let (shape, across) = match (p < 4, q < 4) {
            (true, true) => (TetShape::Bcc, sides.map(|s| beyond(&s, p as usize, 0))),
            (true, false) => {
                let half = half_at_start(p as usize);
                (TetShape::Bisected, sides.map(|s| beyond(&s, p as usize, half)))
            }
            (false, true) => {
                let edge = p as usize - 4;
                (TetShape::Bisected, sides.map(|s| beyond(&s, edge, 1 - half_at_start(edge))))
            }
            (false, false) => (TetShape::Quarter, [0, 1].map(|above| corner(q as usize - 4, above))),
        };
        let count = ring.count as u32;
        let after = first + (t as u32 + 1) % count;
        let before = first + (t as u32 + count - 1) % count;
        // The facet opposite to the centre below belongs to the leaf above.
        let neighbours = [across[1], across[0], after, before];
        let vertices = [sides[0].vertex, sides[1].vertex, point(p), point(q)];
        out.push(vertices, neighbours, false, first_cell + ring.cell[t] as u32, shape);
    }
    for i in (0..4).filter(|i| ring.cuts >> i & 1 == 1) {
        let before = (i + 3) % 4;
        for (above, side) in sides.iter().enumerate() {
            let Some(own) = side.leaf else { continue };
            let corner_index = CORNERS[side.face][i] as usize;
            let vertices = [side.vertex, point(i as u8), point(4 + i as u8), point(4 + before as u8)];
            let neighbours = [
                corner(i, 1 - above),
                first + ring.at[i][0] as u32,
                beyond(side, before, 1 - half_at_start(before)),
                beyond(side, i, half_at_start(i)),
            ];
            out.push(vertices, neighbours, above == 1, own.sub_octant_cell(corner_index), TetShape::Corner);
        }
    }
}

/// Write the tets over a face from a fine leaf to a coarse one.
fn write_coarse(leaves: &Leaves, fine: &Side, coarse_index: usize, out: &mut Writer) {
    let Some(leaf) = fine.leaf else { return };
    let face = fine.face;
    let coarse = &leaves.leaves[coarse_index];
    let first = leaf.face_tets(face);
    let middle = leaf.coarse_middle(face);
    let q = [0, 1, 2, 3].map(|i| leaf.vertices[CORNERS[face][(middle + i) % 4] as usize]);
    let edge = |i: usize| leaves.beyond(leaf, face, (middle + i) % 4, 0);
    // The corner of the coarse face that the square touches, as a ring index; it is the same on both sides.
    let corner = (middle + 2) % 4;
    let before = (corner + 3) % 4;
    let half = |edge: usize, at_end: bool| {
        let half = if at_end { 1 - half_at_start(edge) } else { half_at_start(edge) };
        leaves.beyond(coarse, face ^ 1, edge, half)
    };
    let beside = |ring: usize| leaves.fine_leaf(coarse, face ^ 1, ring).face_tets(face);
    let below = face & 1 == 1;
    let cell = leaf.face_cells(face);
    let s = fine.vertex;
    let pyramid = TetShape::HalfPyramid;
    out.push([s, q[0], q[1], q[2]], [first + 2, edge(1), first + 1, edge(0)], !below, cell, pyramid);
    out.push([s, q[0], q[2], q[3]], [first + 3, edge(2), edge(3), first], !below, cell, pyramid);
    let o = leaves.centre(coarse_index);
    let cell = coarse.sub_octant_cell(CORNERS[face ^ 1][corner] as usize);
    let quarter = TetShape::Quadrisected;
    let across = [first, half(before, true), first + 3, beside(before) + 3];
    out.push([o, q[0], q[1], q[2]], across, below, cell, quarter);
    let across = [first + 1, half(corner, false), beside((corner + 1) % 4) + 2, first + 2];
    out.push([o, q[0], q[2], q[3]], across, below, cell, quarter);
}
