//! Numbers of the corners, edges and faces of an octree leaf, and how a face is cut into tets.
//!
//! Corner c of a leaf has the bit a of c set if it lies on the upper side of axis a. Edge e = 4a + b lies
//! along axis a, bit 0 of b says the side of axis a+1 and bit 1 that of axis a+2 (axes count modulo 3).
//! Face f = 2a + s lies on side s of axis a. Its corners C₀…C₃ go round it counter-clockwise about +a,
//! ring edge i leads from Cᵢ to Cᵢ₊₁ and has the midpoint Mᵢ:
//!
//! ```text
//!     C₃ --M₂-- C₂
//!     |          |        axis a+2 ↑, axis a+1 →
//!     M₃         M₁
//!     |          |
//!     C₀ --M₀-- C₁
//! ```
//!
//! Two equal leaves with centres below and above a face share a ring of tets (below, above, p, q) over
//! consecutive ring points p, q. A corner between two split edges is left out of the ring and gets a
//! tet of its own on each side: without this cut the lattice is not Delaunay.

/// The far end of a step of at most one cell along each axis: −1, 0 or 1 in every digit of base 3.
pub(super) const STEPS: usize = 27;
/// The step that stays where it is.
pub(super) const STAY: usize = 13;

const fn digit(step: usize, axis: usize) -> usize {
    match axis {
        0 => step % 3,
        1 => step / 3 % 3,
        _ => step / 9,
    }
}

const POWER: [usize; 3] = [1, 3, 9];

/// Axes along which a step moves.
pub(super) const fn reach(step: usize) -> usize {
    (digit(step, 0) != 1) as usize + (digit(step, 1) != 1) as usize + (digit(step, 2) != 1) as usize
}

/// The components −1, 0, 1 of a step.
pub(super) const fn offset(step: usize) -> [i32; 3] {
    [digit(step, 0) as i32 - 1, digit(step, 1) as i32 - 1, digit(step, 2) as i32 - 1]
}

/// The step across a face.
pub(super) const fn face_step(face: usize) -> usize {
    STAY + 2 * (face & 1) * POWER[face / 2] - POWER[face / 2]
}

/// The step across an edge, to the leaf that touches it diagonally.
pub(super) const fn edge_step(edge: usize) -> usize {
    let axis = edge / 4;
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    STAY + 2 * (edge & 1) * POWER[u] - POWER[u] + 2 * (edge >> 1 & 1) * POWER[v] - POWER[v]
}

/// The same point seen from the neighbour that `toward` leads to: those components change sign.
pub(super) const fn seen_from(point: usize, toward: usize) -> usize {
    let (mut step, mut axis) = (0, 0);
    while axis < 3 {
        let d = digit(point, axis);
        step += POWER[axis] * if digit(toward, axis) != 1 { 2 - d } else { d };
        axis += 1;
    }
    step
}

/// For octant o of a node and a step from it: the step of the parent, and the octant arrived in.
pub(super) static ACROSS: [[[u8; 2]; STEPS]; 8] = {
    let mut table = [[[0; 2]; STEPS]; 8];
    let mut octant = 0;
    while octant < 8 {
        let mut step = 0;
        while step < STEPS {
            let (mut parent, mut arrival, mut axis) = (0, 0, 0);
            while axis < 3 {
                // Position 1 or 2 is inside the parent, 0 below and 3 above.
                let at = (octant >> axis & 1) + digit(step, axis);
                parent += POWER[axis] * [0, 1, 1, 2][at];
                arrival |= [1, 0, 1, 0][at] << axis;
                axis += 1;
            }
            table[octant][step] = [parent as u8, arrival as u8];
            step += 1;
        }
        octant += 1;
    }
    table
};

/// For octant o and corner c of a child: which of the 27 points of the parent it is.
pub(super) static CHILD_CORNER: [[u8; 8]; 8] = {
    let mut table = [[0; 8]; 8];
    let mut i = 0;
    while i < 64 {
        table[i / 8][i % 8] = point(i / 8, i % 8);
        i += 1;
    }
    table
};

const fn point(octant: usize, corner: usize) -> u8 {
    let (mut step, mut axis) = (0, 0);
    while axis < 3 {
        step += POWER[axis] * ((octant >> axis & 1) + (corner >> axis & 1));
        axis += 1;
    }
    step as u8
}

/// The point of a node that is its corner c.
pub(super) const fn corner_point(corner: usize) -> usize {
    2 * (corner & 1) + 6 * (corner >> 1 & 1) + 18 * (corner >> 2)
}

/// Corners of each face in ring order.
pub(super) static CORNERS: [[u8; 4]; 6] = {
    let mut table = [[0; 4]; 6];
    let mut i = 0;
    while i < 24 {
        let (face, ring) = (i / 4, i % 4);
        let (axis, side) = (face / 2, face % 2);
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let (bu, bv) = ((ring == 1 || ring == 2) as usize, (ring >= 2) as usize);
        table[face][ring] = (side << axis | bu << u | bv << v) as u8;
        i += 1;
    }
    table
};

/// Edges of each face in ring order.
pub(super) static EDGES: [[u8; 4]; 6] = {
    let mut table = [[0; 4]; 6];
    let mut face = 0;
    while face < 6 {
        let (axis, side) = (face / 2, face % 2);
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        // Along u the other axes are v, then this one; along v they are this one, then u.
        table[face] = [
            (4 * u + (side << 1)) as u8,
            (4 * v + side + 2) as u8,
            (4 * u + 1 + (side << 1)) as u8,
            (4 * v + side) as u8,
        ];
        face += 1;
    }
    table
};

/// The two ends of each edge, lower first.
pub(super) static ENDS: [[u8; 2]; 12] = {
    let mut table = [[0; 2]; 12];
    let mut edge = 0;
    while edge < 12 {
        let axis = edge / 4;
        let low = (edge & 1) << ((axis + 1) % 3) | (edge >> 1 & 1) << ((axis + 2) % 3);
        table[edge] = [low as u8, (low | 1 << axis) as u8];
        edge += 1;
    }
    table
};

/// The two faces at each edge with the ring index of the edge: first the one across axis a+1, then a+2.
pub(super) static SIDES: [[[u8; 2]; 2]; 12] = {
    let mut table = [[[0; 2]; 2]; 12];
    let mut i = 0;
    while i < 24 {
        let (face, ring) = (i / 4, i % 4);
        let edge = EDGES[face][ring] as usize;
        let second = face / 2 != (edge / 4 + 1) % 3;
        table[edge][second as usize] = [face as u8, ring as u8];
        i += 1;
    }
    table
};

/// For a ring edge of a face: the other face of the leaf at that edge, and the ring index there.
pub(super) static OTHER: [[[u8; 2]; 4]; 6] = {
    let mut table = [[[0; 2]; 4]; 6];
    let mut i = 0;
    while i < 24 {
        let (face, ring) = (i / 4, i % 4);
        let pair = SIDES[EDGES[face][ring] as usize];
        table[face][ring] = if pair[0][0] == face as u8 { pair[1] } else { pair[0] };
        i += 1;
    }
    table
};

/// Edges at each corner, as bits.
static CORNER_EDGES: [u16; 8] = {
    let mut table = [0; 8];
    let mut edge = 0;
    while edge < 12 {
        table[ENDS[edge][0] as usize] |= 1 << edge;
        table[ENDS[edge][1] as usize] |= 1 << edge;
        edge += 1;
    }
    table
};

/// The corners where at least two of the three edges are split: each has a sub-octant cell.
pub(super) fn sub_octants(splits: u16) -> u8 {
    let split = |c: usize| (splits & CORNER_EDGES[c]).count_ones() >= 2;
    (0..8).filter(|&c| split(c)).fold(0, |mask, c| mask | 1 << c)
}

/// Which half of an edge lies at the start of ring edge i: 0 the lower, 1 the upper.
pub(super) const fn half_at_start(ring: usize) -> usize {
    (ring >= 2) as usize
}

/// The ring of tets over a face between equal leaves whose split ring edges are the bits of an index.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    /// Tets of the ring.
    pub count: usize,
    /// Ring points: i for Cᵢ, 4 + i for Mᵢ. Tet t has the points t and t + 1.
    pub points: [u8; 7],
    /// Which cell of the face each ring tet belongs to.
    pub cell: [u8; 6],
    /// Cells of the face, and faces between them.
    pub cells: usize,
    pub faces: usize,
    /// Cut corners, as bits.
    pub cuts: u8,
    /// The ring tet at the start (0) and at the end (1) of each ring edge; at a cut corner, the one inside it.
    pub at: [[u8; 2]; 4],
}

pub(super) static RINGS: [Ring; 16] = {
    let mut table = [ring(0); 16];
    let mut splits = 1;
    while splits < 16 {
        table[splits] = ring(splits);
        splits += 1;
    }
    table
};

const fn ring(splits: usize) -> Ring {
    let mut r = Ring { count: 0, points: [0; 7], cell: [0; 6], cells: 0, faces: 0, cuts: 0, at: [[0; 2]; 4] };
    let mut own = [0; 4];
    let mut i = 0;
    while i < 4 {
        let split = splits >> i & 1 == 1;
        if split && splits >> ((i + 3) % 4) & 1 == 1 {
            r.cuts |= 1 << i;
        } else {
            r.points[r.count] = i as u8;
            r.count += 1;
        }
        if split {
            r.points[r.count] = 4 + i as u8;
            r.count += 1;
        } else {
            own[i] = r.cells as u8;
            r.cells += 1;
        }
        i += 1;
    }
    r.points[r.count] = r.points[0];
    // All tets over cut corners lie on one sphere about the centre of the face.
    let middle = r.cells as u8;
    r.cells += (r.cuts != 0) as usize;
    let mut t = 0;
    while t < r.count {
        let (p, q) = (r.points[t] as usize, r.points[t + 1] as usize);
        if p < 4 && q < 4 {
            r.cell[t] = own[p];
            r.at[p] = [t as u8; 2];
        } else if p < 4 {
            // Half of edge p at its start: on the sphere of the edge before it.
            r.cell[t] = own[(p + 3) % 4];
            r.at[p][0] = t as u8;
        } else if q < 4 {
            r.cell[t] = own[q];
            r.at[p - 4][1] = t as u8;
        } else {
            r.cell[t] = middle;
            r.at[q - 4][0] = t as u8;
            r.at[p - 4][1] = t as u8;
        }
        t += 1;
    }
    r.faces = count_faces(&r, splits);
    r
}

/// Ring points between different cells; two opposite middles between the same cells are one square.
const fn count_faces(r: &Ring, splits: usize) -> usize {
    let (mut faces, mut t) = (0, 0);
    while t < r.count {
        let p = r.points[t + 1] as usize;
        let again = p >= 6 && splits >> (p - 6) & 1 == 1;
        faces += (r.cell[t] != r.cell[(t + 1) % r.count] && !again) as usize;
        t += 1;
    }
    faces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_have_the_counts_of_the_table() {
        // Splits, ring tets, cut corners, cells: none, one, two opposite, two adjacent, three, four.
        let expected = [(0, 4, 0, 4), (1, 5, 0, 3), (5, 6, 0, 2), (3, 5, 1, 3), (7, 5, 2, 2), (15, 4, 4, 1)];
        for (splits, count, cuts, cells) in expected {
            let r = &RINGS[splits];
            assert_eq!((r.count, r.cuts.count_ones(), r.cells), (count, cuts, cells), "{splits}");
        }
    }

    #[test]
    fn every_edge_has_two_faces_that_know_each_other() {
        for face in 0..6 {
            for i in 0..4 {
                let [other, j] = OTHER[face][i].map(usize::from);
                assert_eq!(EDGES[face][i], EDGES[other][j]);
                assert_eq!(OTHER[other][j].map(usize::from), [face, i]);
                let ends = ENDS[EDGES[face][i] as usize];
                assert_eq!(CORNERS[face][i], ends[half_at_start(i)]);
                assert_eq!(CORNERS[face][(i + 1) % 4], ends[1 - half_at_start(i)]);
            }
        }
    }

    #[test]
    fn steps_lead_to_the_right_octant() {
        // From octant 0 across the lower x side: the parent steps there too, and octant 1 is reached.
        assert_eq!(ACROSS[0][face_step(0)], [face_step(0) as u8, 1]);
        assert_eq!(ACROSS[0][face_step(1)], [STAY as u8, 1]);
        assert_eq!(offset(edge_step(3)), [0, 1, 1]);
        assert_eq!(seen_from(edge_step(3), face_step(3)), edge_step(2));
        assert_eq!(corner_point(7), CHILD_CORNER[7][7] as usize);
    }
}
