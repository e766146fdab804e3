//! The edges of the faces between cells. Each is dual to a face of the Voronoi diagram of the vertices.

use super::Lattice;
use super::octree::NONE;
use crate::math::CHUNK;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

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
        let all = || faces.par_iter().flat_map_iter(|v| sides(v).into_iter().flatten());
        // Edges by their first vertex: which place each gets among those of its vertex does not matter, they are sorted there.
        let counts: Vec<AtomicU32> = lattice.vertices.par_iter().map(|_| AtomicU32::new(0)).collect();
        all().for_each(|e| {
            counts[e[0] as usize].fetch_add(1, Relaxed);
        });
        let mut end = 0;
        let ends_at: Vec<u32> = counts
            .iter()
            .map(|c| {
                end += c.load(Relaxed);
                end
            })
            .collect();
        let others: Vec<AtomicU32> = (0..end).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        all().for_each(|e| {
            let left = counts[e[0] as usize].fetch_sub(1, Relaxed);
            others[(ends_at[e[0] as usize] - left) as usize].store(e[1], Relaxed);
        });
        let of_vertex = |v: usize, of: &mut Vec<u32>| {
            let first = if v == 0 { 0 } else { ends_at[v - 1] };
            of.clear();
            of.extend(others[first as usize..ends_at[v] as usize].iter().map(|o| o.load(Relaxed)));
            of.sort_unstable();
            of.dedup();
        };
        let part = |c: usize| {
            let (mut ends, mut counts, mut of) = (Vec::new(), Vec::new(), Vec::new());
            for v in c * CHUNK..((c + 1) * CHUNK).min(ends_at.len()) {
                of_vertex(v, &mut of);
                counts.push(of.len() as u32);
                ends.extend(of.iter().map(|o| [v as u32, *o]));
            }
            (ends, counts)
        };
        let parts: Vec<_> = (0..ends_at.len().div_ceil(CHUNK)).into_par_iter().map(part).collect();
        let mut start = vec![0u32];
        for n in parts.iter().flat_map(|p| &p.1) {
            start.push(start[start.len() - 1] + n);
        }
        let ends: Vec<[u32; 2]> = parts.into_par_iter().flat_map_iter(|p| p.0).collect();
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
