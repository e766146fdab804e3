//! Edges of a triangle mesh, and where its surface ends.
//!
//! Vertices at the same place, to the rounding of f32, count as one, so a mesh that was cut open at
//! texture seams is whole again. An edge is balanced if as many triangles run along it in one direction as in the
//! other. The winding number is constant away from the surface exactly if all edges are balanced;
//! otherwise it changes like the potential of currents along the unbalanced ones.

use super::TriMesh;
use crate::math::{Sets, Vec3};
use rayon::prelude::*;

/// Vertices nearer than this part of the largest coordinate are the same.
const SAME: f64 = 2e-7;

/// The edges of a mesh in the order of their vertices.
pub struct MeshEdges {
    /// For each vertex the one that stands for all at its place.
    pub vertex: Vec<u32>,
    /// Ends of each edge, lower index first.
    pub ends: Vec<[u32; 2]>,
    /// Corners (3·triangle + i, edge i leads from corner i to i+1) of edge e: `starts[e]..starts[e+1]`.
    pub starts: Vec<u32>,
    pub corners: Vec<u32>,
}

impl MeshEdges {
    /// Edges of a mesh whose indices are in range. Edges without length are left out.
    pub fn new(mesh: &TriMesh) -> Self {
        let vertex = weld(&mesh.positions);
        let ends_of = |corner: u32| {
            let t = mesh.triangles[corner as usize / 3];
            let i = corner as usize % 3;
            [vertex[t[i] as usize], vertex[t[(i + 1) % 3] as usize]]
        };
        let mut halves: Vec<(u64, u32)> = (0..3 * mesh.triangles.len() as u32)
            .into_par_iter()
            .map(|corner| {
                let [a, b] = ends_of(corner);
                ((a.min(b) as u64) << 32 | a.max(b) as u64, corner)
            })
            .collect();
        halves.par_sort_unstable();
        let mut edges = Self { vertex, ends: Vec::new(), starts: vec![0], corners: Vec::new() };
        for group in halves.chunk_by(|p, q| p.0 == q.0) {
            let ends = [(group[0].0 >> 32) as u32, group[0].0 as u32];
            if ends[0] != ends[1] {
                edges.ends.push(ends);
                edges.corners.extend(group.iter().map(|h| h.1));
                edges.starts.push(edges.corners.len() as u32);
            }
        }
        edges
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Corners of the triangles at edge e.
    pub fn corners_of(&self, e: usize) -> &[u32] {
        &self.corners[self.starts[e] as usize..self.starts[e + 1] as usize]
    }

    /// Edges with more triangles along one direction than the other: from, to, and how many more.
    pub fn unbalanced(&self, mesh: &TriMesh) -> Vec<([u32; 2], u32)> {
        let excess = |e: usize| {
            let forward = |corner: &u32| {
                let from = mesh.triangles[*corner as usize / 3][*corner as usize % 3];
                if self.vertex[from as usize] == self.ends[e][0] { 1 } else { -1 }
            };
            self.corners_of(e).iter().map(forward).sum::<i64>()
        };
        let directed = |e: usize| {
            let ([a, b], n) = (self.ends[e], excess(e));
            (n != 0).then(|| (if n > 0 { [a, b] } else { [b, a] }, n.unsigned_abs() as u32))
        };
        (0..self.len()).into_par_iter().filter_map(directed).collect()
    }
}

/// The area of the largest opening of a mesh: of all connected sets of unbalanced edges the largest
/// vector area |½ Σ x × dx|. Many small holes that face all ways add up to little.
pub fn largest_opening(positions: &[Vec3], unbalanced: &[([u32; 2], u32)]) -> f64 {
    let mut sets = Sets::new(positions.len());
    unbalanced.iter().for_each(|([a, b], _)| sets.join(*a, *b));
    let mut loops: Vec<(u32, Vec3)> = unbalanced
        .iter()
        .map(|([a, b], n)| {
            let set = sets.root(*a);
            // Relative to one point of the set, so that large coordinates do not cancel.
            let base = positions[set as usize];
            let (p, q) = (positions[*a as usize] - base, positions[*b as usize] - base);
            (set, p.cross(&q) * (0.5 * *n as f64))
        })
        .collect();
    loops.sort_by_key(|l| l.0);
    let area = |set: &[(u32, Vec3)]| set.iter().map(|l| l.1).sum::<Vec3>().norm();
    loops.chunk_by(|p, q| p.0 == q.0).map(area).fold(0.0, f64::max)
}

/// For each position one index that stands for all within [`SAME`] of it.
fn weld(positions: &[Vec3]) -> Vec<u32> {
    let largest = positions.iter().map(Vec3::amax).fold(0.0, f64::max);
    let same = SAME * largest;
    // Neighbours in space are neighbours along any line; an oblique one tells most others apart.
    let oblique = Vec3::new(0.611, 0.353, 0.709);
    let mut order: Vec<(f64, u32)> =
        positions.iter().enumerate().map(|(v, p)| (p.dot(&oblique), v as u32)).collect();
    order.par_sort_unstable_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
    let mut stands: Vec<u32> = (0..positions.len() as u32).collect();
    for (i, (along, v)) in order.iter().enumerate() {
        if stands[*v as usize] != *v {
            continue;
        }
        for (_, w) in order[i + 1..].iter().take_while(|(other, _)| other - along <= 2.0 * same) {
            if (positions[*v as usize] - positions[*w as usize]).amax() <= same {
                stands[*w as usize] = *v;
            }
        }
    }
    stands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_cut_at_its_seams_is_closed() {
        let cube = TriMesh::cuboid(Vec3::zeros(), Vec3::repeat(1.0));
        let corners: Vec<Vec3> = (0..12).flat_map(|t| cube.corners(t)).collect();
        let cut = TriMesh::new(corners, (0..12).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect());
        for mesh in [&cube, &cut] {
            let edges = MeshEdges::new(mesh);
            assert_eq!(edges.len(), 18);
            assert!((0..18).all(|e| edges.corners_of(e).len() == 2));
            assert!(edges.unbalanced(mesh).is_empty());
        }
    }

    #[test]
    fn the_opening_of_a_box_without_a_lid_is_its_lid() {
        let mut mesh = TriMesh::cuboid(Vec3::zeros(), Vec3::new(2.0, 1.0, 3.0));
        mesh.triangles.retain(|t| !t.iter().all(|v| mesh.positions[*v as usize].y == 1.0));
        let unbalanced = MeshEdges::new(&mesh).unbalanced(&mesh);
        assert_eq!(unbalanced.len(), 4);
        assert_eq!(largest_opening(&mesh.positions, &unbalanced), 6.0);
    }
}
