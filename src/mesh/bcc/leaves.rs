//! What the lattice needs to know of each leaf: neighbours, split edges, and where its tets and cells begin.
//!
//! A leaf writes the tets over the faces that it owns: those to an equal leaf above it, those to a coarser
//! leaf, and those on a wall. From the counts of all leaves before it the number of every tet and every cell
//! follows without looking at any other tet, and so does what lies across each of its facets.

use super::links::{Across, Links};
use super::octree::{NONE, Octree};
use super::stencil::{
    CORNERS, EDGES, OTHER, RINGS, Ring, SIDES, edge_step, face_step, half_at_start, seen_from, sub_octants,
};
use crate::error::{Error, Result};
use rayon::prelude::*;

/// What lies across a face of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A leaf of the same size.
    Equal,
    /// Four leaves of half the width.
    Fine,
    /// A leaf of twice the width.
    Coarse,
    /// The end of the domain.
    Wall,
}

/// A leaf.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Lower corner and width, in units.
    pub corner: [i32; 3],
    pub width: i32,
    /// Vertices at the corners.
    pub vertices: [u32; 8],
    /// Across each face: the leaf (equal or coarse), the first of eight sibling nodes (fine), or the vertex
    /// in the middle of the face (wall).
    pub across: [u32; 6],
    pub kind: [Kind; 6],
    /// Split edges, as bits.
    pub splits: u16,
    /// Corners with a sub-octant cell, as bits.
    pub sub_octants: u8,
    /// Where the tets and cells of the owned faces begin, from the first of the leaf.
    tet_offset: [u8; 6],
    cell_offset: [u8; 6],
    /// Where the sub-octant cells begin.
    sub_offset: u8,
    tet_count: u8,
    face_count: u8,
    /// First tet, cell, and middle of an edge.
    pub tets: u32,
    pub cells: u32,
    middles: u32,
}

impl Leaf {
    /// Whether this leaf writes the tets over a face.
    pub fn owns(&self, face: usize) -> bool {
        match self.kind[face] {
            Kind::Equal => face & 1 == 1,
            Kind::Coarse | Kind::Wall => true,
            Kind::Fine => false,
        }
    }

    /// The ring over a face to an equal leaf or a wall.
    pub fn ring(&self, face: usize) -> &'static Ring {
        let split = |i: usize| (self.splits >> EDGES[face][i] & 1) as usize;
        &RINGS[split(0) | split(1) << 1 | split(2) << 2 | split(3) << 3]
    }

    /// Which ring point of a face to a coarser leaf is the middle of that leaf's face.
    pub fn coarse_middle(&self, face: usize) -> usize {
        // The parent's face has its middle at the corner opposite to the octant's own.
        let octant = [0, 1, 2].map(|a| ((self.corner[a] / self.width) & 1) as usize);
        let inner = (1 - octant[0]) | (1 - octant[1]) << 1 | (1 - octant[2]) << 2;
        let axis = face / 2;
        let wanted = (inner & !(1 << axis)) | (face & 1) << axis;
        CORNERS[face].iter().position(|&c| c as usize == wanted).unwrap_or(0)
    }

    pub fn is_split(&self, edge: usize) -> bool {
        self.splits >> edge & 1 == 1
    }

    pub fn ring_edge_is_split(&self, face: usize, ring: usize) -> bool {
        self.is_split(EDGES[face][ring] as usize)
    }

    pub fn tet_count(&self) -> usize {
        self.tet_count as usize
    }

    pub fn cell_count(&self) -> usize {
        self.sub_offset as usize + self.sub_octants.count_ones() as usize
    }

    /// Faces between cells that this leaf writes.
    pub fn face_count(&self) -> usize {
        self.face_count as usize
    }

    /// First cell of an owned face.
    pub fn face_cells(&self, face: usize) -> u32 {
        self.cells + self.cell_offset[face] as u32
    }

    /// First tet of an owned face.
    pub fn face_tets(&self, face: usize) -> u32 {
        self.tets + self.tet_offset[face] as u32
    }

    /// The cell of the sub-octant at a corner.
    pub fn sub_octant_cell(&self, corner: usize) -> u32 {
        self.cells + self.sub_offset as u32 + (self.sub_octants as u32 & ((1 << corner) - 1)).count_ones()
    }

    /// The middle, in units.
    pub fn centre(&self) -> [i32; 3] {
        self.corner.map(|x| x + self.width / 2)
    }

    /// The place of a corner, in units.
    pub fn corner_at(&self, corner: usize) -> [i32; 3] {
        [0, 1, 2].map(|a| self.corner[a] + (corner >> a & 1) as i32 * self.width)
    }

    /// Count the tets and cells of the owned faces.
    fn count(&mut self) {
        let (mut tets, mut cells) = (0, 0);
        let mut faces = (0..12).map(|edge| self.count_at_edge(edge)).sum::<u32>() as u8;
        for face in 0..6 {
            (self.tet_offset[face], self.cell_offset[face]) = (tets, cells);
            if !self.owns(face) {
                continue;
            }
            if self.kind[face] == Kind::Coarse {
                tets += 4;
                cells += 1;
                faces += 1;
            } else {
                let ring = self.ring(face);
                let cuts = ring.cuts.count_ones() as u8;
                let (sides, round) = if self.kind[face] == Kind::Wall { (1, 1) } else { (2, 3) };
                tets += ring.count as u8 + sides * cuts;
                cells += ring.cells as u8;
                faces += ring.faces as u8 + round * cuts;
            }
        }
        (self.tet_count, self.face_count, self.sub_offset) = (tets, faces, cells);
    }

    /// Faces between the pyramids at an edge, and between the sub-octants at its ends.
    fn count_at_edge(&self, edge: usize) -> u32 {
        if !self.is_split(edge) {
            return 1;
        }
        let sides = SIDES[edge].map(|s| s.map(usize::from));
        let is_fine = |face: usize| self.kind[face] == Kind::Fine;
        // A half edge lies within a sub-octant if both pyramids at its end belong to it.
        let merged = |half: usize| {
            sides.iter().all(|&[face, ring]| {
                let corner = (ring + (half != half_at_start(ring)) as usize) % 4;
                is_fine(face) || self.ring(face).cuts >> corner & 1 == 1
            })
        };
        let between = sides.iter().any(|s| is_fine(s[0])) as u32;
        between + !merged(0) as u32 + !merged(1) as u32
    }
}

/// All leaves with the middles of their split edges.
pub(super) struct Leaves<'a> {
    pub octree: &'a Octree,
    pub leaves: Vec<Leaf>,
    middles: Vec<u32>,
    /// First vertex at the centre of a leaf; the corners stand before, the middles of wall faces after.
    pub first_centre: u32,
    pub vertices: usize,
    pub tets: usize,
    pub cells: usize,
}

/// Leaves that one task treats.
pub(super) const TASK: usize = 1024;

impl<'a> Leaves<'a> {
    pub fn new(octree: &'a Octree) -> Result<Self> {
        let links = Links::new(octree);
        let count = octree.leaves();
        let mut leaves = Vec::with_capacity(count);
        (0..count)
            .into_par_iter()
            .with_min_len(TASK)
            .map(|l| look_round(octree, &links, l))
            .collect_into_vec(&mut leaves);
        let split = (0..count).into_par_iter().with_min_len(TASK).filter(|&l| leaves[l].splits != 0);
        let middles = split.flat_map_iter(|l| middles_of(&links, octree.node(l), &leaves[l])).collect();
        let first_centre = links.corners as u32;
        let mut all = Self { octree, leaves, middles, first_centre, vertices: 0, tets: 0, cells: 0 };
        all.number()?;
        Ok(all)
    }

    /// Turn counts into first numbers, and number the middles of wall faces.
    fn number(&mut self) -> Result<()> {
        let (mut tets, mut cells, mut middles) = (0u64, 0u64, 0);
        let mut vertices = self.first_centre as u64 + self.leaves.len() as u64;
        for leaf in &mut self.leaves {
            (leaf.tets, leaf.cells, leaf.middles) = (tets as u32, cells as u32, middles);
            tets += leaf.tet_count() as u64;
            cells += leaf.cell_count() as u64;
            middles += leaf.splits.count_ones();
            for face in (0..6).filter(|&f| leaf.kind[f] == Kind::Wall) {
                leaf.across[face] = vertices as u32;
                vertices += 1;
            }
        }
        // Tets have four facets and cells at most eight faces; a facet must fit 32 bits.
        if tets >= (u32::MAX / 4) as u64 {
            return Err(Error::invalid("lattice", format!("{tets} tets are more than 32 bits can number")));
        }
        (self.vertices, self.tets, self.cells) = (vertices as usize, tets as usize, cells as usize);
        Ok(())
    }

    /// The vertex at the centre of a leaf.
    pub fn centre(&self, leaf: usize) -> u32 {
        self.first_centre + leaf as u32
    }

    /// The vertex in the middle of a split edge.
    pub fn middle(&self, leaf: &Leaf, edge: usize) -> u32 {
        self.middles[(leaf.middles + (leaf.splits as u32 & ((1 << edge) - 1)).count_ones()) as usize]
    }

    /// The fine leaf across a face at its ring corner.
    pub fn fine_leaf(&self, leaf: &Leaf, face: usize, ring: usize) -> &Leaf {
        let axis_bit = 1 << (face / 2);
        let octant = CORNERS[face][ring] as usize ^ axis_bit;
        &self.leaves[self.octree.leaf_of(leaf.across[face] + octant as u32) as usize]
    }

    /// The vertex in the middle of a face to finer leaves.
    pub fn fine_middle(&self, leaf: &Leaf, face: usize) -> u32 {
        let child = self.fine_leaf(leaf, face, 0);
        child.vertices[CORNERS[face ^ 1][2] as usize]
    }

    /// First tet of the record over a face between equal leaves or on a wall.
    pub fn record(&self, leaf: &Leaf, face: usize) -> u32 {
        if leaf.owns(face) {
            return leaf.face_tets(face);
        }
        self.leaves[leaf.across[face] as usize].face_tets(face ^ 1)
    }

    /// The tet within the pyramid over a face of the leaf that has the triangle (centre, edge) as a facet;
    /// if the edge is split, with its lower (0) or upper (1) half.
    pub fn tet_at(&self, leaf: &Leaf, face: usize, ring_edge: usize, half: usize) -> u32 {
        let at_end = (half != half_at_start(ring_edge)) as usize;
        match leaf.kind[face] {
            Kind::Equal | Kind::Wall => {
                let (ring, start) = (leaf.ring(face), self.record(leaf, face));
                let corner = (ring_edge + at_end) % 4;
                let split = leaf.ring_edge_is_split(face, ring_edge);
                if split && ring.cuts >> corner & 1 == 1 {
                    return start + corner_tet(ring, corner, leaf.kind[face], face & 1 == 0);
                }
                start + ring.at[ring_edge][at_end] as u32
            }
            Kind::Coarse => {
                let from_middle = (ring_edge + 4 - leaf.coarse_middle(face)) % 4;
                leaf.face_tets(face) + (from_middle >= 2) as u32
            }
            Kind::Fine => {
                let corner = (ring_edge + at_end) % 4;
                // Of the two coarse-side tets at a corner, the second has the edge that begins there.
                self.fine_leaf(leaf, face, corner).face_tets(face ^ 1) + 3 - at_end as u32
            }
        }
    }

    /// The tet across the triangle (centre, edge or half edge) from the pyramid over a face.
    pub fn beyond(&self, leaf: &Leaf, face: usize, ring_edge: usize, half: usize) -> u32 {
        let [other, other_edge] = OTHER[face][ring_edge].map(usize::from);
        self.tet_at(leaf, other, other_edge, half)
    }
}

/// Where the tet of a cut corner stands in the record of its face: after the ring, below before above.
pub(super) fn corner_tet(ring: &Ring, corner: usize, kind: Kind, above: bool) -> u32 {
    let before = (ring.cuts as u32 & ((1 << corner) - 1)).count_ones();
    ring.count as u32 + if kind == Kind::Wall { before } else { 2 * before + above as u32 }
}

/// What a leaf is and what lies about it.
fn look_round(octree: &Octree, links: &Links, index: usize) -> Leaf {
    let node = octree.node(index);
    let level = octree.level(node);
    let mut leaf = Leaf {
        corner: octree.corner(node, level),
        width: octree.width(level),
        vertices: links.corners_of(node),
        across: [NONE; 6],
        kind: [Kind::Wall; 6],
        splits: 0,
        sub_octants: 0,
        tet_offset: [0; 6],
        cell_offset: [0; 6],
        sub_offset: 0,
        tet_count: 0,
        face_count: 0,
        tets: 0,
        cells: 0,
        middles: 0,
    };
    look_across_faces(octree, links, node, &mut leaf);
    leaf.splits = (0..12).filter_map(|e| finer_at_edge(links, node, &leaf, e).map(|_| 1 << e)).sum();
    leaf.sub_octants = if leaf.splits == 0 { 0 } else { sub_octants(leaf.splits) };
    leaf.count();
    leaf
}

fn look_across_faces(octree: &Octree, links: &Links, node: u32, leaf: &mut Leaf) {
    for face in 0..6 {
        let (kind, across) = match links.across(node, face_step(face)) {
            Across::Outside => continue,
            Across::Coarser(other) => (Kind::Coarse, octree.leaf_of(other)),
            Across::Same(other) => match octree.first_child(other) {
                NONE => (Kind::Equal, octree.leaf_of(other)),
                first => (Kind::Fine, first),
            },
        };
        (leaf.kind[face], leaf.across[face]) = (kind, across);
    }
}

/// An edge is split if a node of the same size that touches it is refined: that node, and the step to it.
fn finer_at_edge(links: &Links, node: u32, leaf: &Leaf, edge: usize) -> Option<(u32, usize)> {
    let faces = SIDES[edge].map(|s| s[0] as usize);
    let fine = faces.into_iter().find(|&f| leaf.kind[f] == Kind::Fine);
    let toward = fine.map_or(edge_step(edge), face_step);
    match links.across(node, toward) {
        Across::Same(other) if links.is_refined(other) => Some((other, toward)),
        _ => None,
    }
}

/// The vertices in the middle of the split edges of a leaf.
fn middles_of(links: &Links, node: u32, leaf: &Leaf) -> impl Iterator<Item = u32> {
    let finer = (0..12).filter_map(move |e| finer_at_edge(links, node, leaf, e).map(|f| (e, f)));
    finer.map(|(edge, (other, toward))| links.point(other, seen_from(edge_step(edge), toward)))
}

/// Cut an array into the parts that the tasks write, by what each leaf contributes.
pub(super) fn parts<'a, T>(
    all: &'a mut [T],
    leaves: &[Leaf],
    count: impl Fn(&Leaf) -> usize,
) -> Vec<&'a mut [T]> {
    let mut rest = all;
    let mut take = |task: &[Leaf]| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(task.iter().map(&count).sum());
        rest = after;
        part
    };
    leaves.chunks(TASK).map(&mut take).collect()
}
