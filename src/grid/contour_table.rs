//! The table of marching cubes, built from one rule instead of typed in.
//!
//! Corner c of a cube is at (c&1, c>>1&1, c>>2&1); bit c of a case says that it is inside (negative).
//! Edge 4a+k runs along axis a from the corner with bits k on the two axes after a.
//!
//! On each face, seen from outside the cube, walk round counter-clockwise. Every run of inside
//! corners is cut off by one segment, from the edge where the walk enters it to the edge where it
//! leaves. Two opposite inside corners are therefore always separated: the rule looks at the four
//! signs of the face only, so the two cubes that share it draw the same segments and there are no
//! cracks ([LC87] drew some faces differently from the two sides). The segments join into loops, and
//! a loop is cut into triangles by diagonals that never lie in a face of the cube, where they could
//! meet a diagonal of the neighbour. So each edge of the mesh has two triangles, and each vertex one
//! fan of them.

use std::sync::LazyLock;

/// The triangles of the 256 cases.
pub(super) struct Table {
    /// The triangles of case c are `triangles[starts[c]..starts[c + 1]]`.
    starts: [u16; 257],
    /// Three cube edges each, counter-clockwise seen from the positive side.
    triangles: Vec<[u8; 3]>,
    /// Bit e says that edge e is crossed.
    pub edges: [u16; 256],
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

/// Corners of each face, counter-clockwise seen from outside.
const FACES: [[u8; 4]; 6] =
    [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];

/// The axis of an edge and the corner where it starts.
pub(super) const fn edge_base(edge: u8) -> (u8, u8) {
    let (axis, k) = (edge / 4, edge % 4);
    (axis, (k & 1) << ((axis + 1) % 3) | (k >> 1) << ((axis + 2) % 3))
}

fn edge_between(a: u8, b: u8) -> u8 {
    let axis = (a ^ b).trailing_zeros() as u8;
    let base = a & b;
    4 * axis + (base >> ((axis + 1) % 3) & 1) + 2 * (base >> ((axis + 2) % 3) & 1)
}

/// Whether two edges lie in one face.
fn share_a_face(a: u8, b: u8) -> bool {
    FACES.iter().any(|face| {
        let holds = |e: u8| (0..4).any(|i| edge_between(face[i], face[(i + 1) % 4]) == e);
        holds(a) && holds(b)
    })
}

/// The closed loops of crossed edges of a case.
fn loops(case: u8) -> Vec<Vec<u8>> {
    let inside = |c: u8| case >> c & 1 == 1;
    let mut next = [u8::MAX; 12];
    for face in FACES {
        for i in 0..4 {
            let enters = !inside(face[i]) && inside(face[(i + 1) % 4]);
            let leave = (1..4).map(|d| (i + d) % 4).find(|&j| inside(face[j]) && !inside(face[(j + 1) % 4]));
            if let (true, Some(j)) = (enters, leave) {
                next[edge_between(face[i], face[(i + 1) % 4]) as usize] =
                    edge_between(face[j], face[(j + 1) % 4]);
            }
        }
    }
    let mut found = Vec::new();
    for start in 0..12 {
        let mut ring = Vec::new();
        let mut edge = start;
        while next[edge as usize] != u8::MAX {
            ring.push(edge);
            edge = std::mem::replace(&mut next[edge as usize], u8::MAX);
        }
        if !ring.is_empty() {
            found.push(ring);
        }
    }
    found
}

/// Cut a loop into triangles without a diagonal in a face; None if that cannot be done.
fn cut(ring: &[u8]) -> Option<Vec<[u8; 3]>> {
    let n = ring.len();
    if n < 3 {
        return Some(Vec::new());
    }
    let last = n - 1;
    // The triangle on the side from the first to the last point has its tip at some k between.
    (1..last).find_map(|k| {
        let free = |a: usize, b: usize| b - a == 1 || !share_a_face(ring[a], ring[b]);
        if !(free(0, k) && free(k, last)) {
            return None;
        }
        let mut triangles = vec![[ring[0], ring[k], ring[last]]];
        triangles.extend(cut(&ring[..=k])?);
        triangles.extend(cut(&ring[k..])?);
        Some(triangles)
    })
}

impl Table {
    pub fn triangles(&self, case: u8) -> &[[u8; 3]] {
        let c = case as usize;
        &self.triangles[self.starts[c] as usize..self.starts[c + 1] as usize]
    }

    fn build() -> Self {
        let mut table = Self { starts: [0; 257], triangles: Vec::new(), edges: [0; 256] };
        for case in 0..256 {
            for ring in loops(case as u8) {
                table.edges[case] |= ring.iter().fold(0, |m, e| m | 1u16 << e);
                table.triangles.extend(cut(&ring).unwrap_or_default());
            }
            table.starts[case + 1] = table.triangles.len() as u16;
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_can_be_cut_without_touching_a_face() {
        for case in 0..=255u8 {
            for ring in loops(case) {
                assert!(ring.len() >= 3);
                assert_eq!(cut(&ring).map(|t| t.len()), Some(ring.len() - 2), "case {case}: {ring:?}");
            }
        }
        assert!((0..=255).all(|c| TABLE.triangles(c).len() <= 5));
    }

    #[test]
    fn a_single_liquid_corner_is_cut_off_by_one_triangle_facing_away() {
        let mut triangle = TABLE.triangles(1)[0];
        let turn = triangle.iter().position(|e| *e == 0).unwrap();
        triangle.rotate_left(turn);
        assert_eq!(triangle, [0, 4, 8]);
    }

    #[test]
    fn edges_know_their_corners() {
        for edge in 0..12 {
            let (axis, base) = edge_base(edge);
            assert_eq!(edge_between(base, base | 1 << axis), edge);
        }
    }
}
