//! The edges of the faces between cells. Each is dual to a face of the Voronoi diagram of the vertices.

use super::Lattice;
use super::octree::NONE;
use rayon::prelude::*;

/// Edges in flat arrays.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    /// The two vertices of each edge, the smaller first; ascending.
    pub ends: Vec<[u32; 2]>,
    /// The edges of each face, in the order of its vertices; the last is [`NONE`] for a triangle.
    pub of_face: Vec<[u32; 4]>,
}

impl Edges {
    pub fn new(lattice: &Lattice) -> Self {
        let faces = &lattice.faces.vertices;
        let mut ends: Vec<[u32; 2]> =
            faces.par_iter().flat_map_iter(|v| sides(v).into_iter().flatten()).collect();
        ends.par_sort_unstable();
        ends.dedup();
        // Edges with the same first vertex stand together.
        let mut start = vec![0u32; lattice.vertices.len() + 1];
        ends.iter().for_each(|e| start[e[0] as usize + 1] += 1);
        for v in 0..lattice.vertices.len() {
            start[v + 1] += start[v];
        }
        let find = |side: Option<[u32; 2]>| {
            let Some([a, b]) = side else { return NONE };
            let (from, to) = (start[a as usize] as usize, start[a as usize + 1] as usize);
            (from + ends[from..to].partition_point(|e| e[1] < b)) as u32
        };
        let of_face = faces.par_iter().map(|v| sides(v).map(find)).collect();
        Self { ends, of_face }
    }
}

/// The sides of a triangle or a square, each with its smaller vertex first.
fn sides(v: &[u32; 4]) -> [Option<[u32; 2]>; 4] {
    let side = |a: u32, b: u32| Some([a.min(b), a.max(b)]);
    match v[3] {
        NONE => [side(v[0], v[1]), side(v[1], v[2]), side(v[2], v[0]), None],
        _ => [side(v[0], v[1]), side(v[1], v[2]), side(v[2], v[3]), side(v[3], v[0])],
    }
}
