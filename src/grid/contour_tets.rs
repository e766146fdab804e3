//! Marching tets: the zero set of a field given at the nodes of any tet mesh.
//!
//! A tet with one corner on one side of zero is cut by a triangle, one with two by a quad, and the
//! cut of a face depends only on its three values, so there are no cracks. Negative is inside and
//! normals point to positive values, whichever way a tet is oriented. Where the surface leaves the
//! tet mesh it is open. Vertices are the crossed edges (a, b), a < b, in ascending order.
//! Checked by tests/contour.rs.

use super::contour::{Contour, crossing};
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::math::Vec3;
use rayon::prelude::*;

type Edge = [u32; 2];

/// The zero set of `phi`, one value a node.
pub fn contour_tets(nodes: &[Vec3], tets: &[[u32; 4]], phi: &[f64]) -> Result<Contour> {
    let wrong = tets.par_iter().any(|t| t.iter().any(|n| *n as usize >= nodes.len()));
    if wrong || phi.len() != nodes.len() {
        let message = "each tet must name four nodes and each node must have one value";
        return Err(Error::invalid("contour of tets", message));
    }
    let crossed = |tet: &&[u32; 4]| {
        let inside = tet.map(|n| phi[n as usize] < 0.0);
        inside.contains(&true) && inside.contains(&false)
    };
    let corners: Vec<[Edge; 3]> =
        tets.par_iter().filter(crossed).flat_map_iter(|tet| cut(nodes, tet, phi)).collect();
    let mut edges: Vec<Edge> = corners.par_iter().flatten_iter().copied().collect();
    edges.par_sort_unstable();
    edges.dedup();
    let number = |e: &Edge| edges.binary_search(e).unwrap_or_default() as u32;
    let triangles = corners.par_iter().map(|t| t.each_ref().map(number)).collect();
    let weights: Vec<f64> =
        edges.par_iter().map(|&[a, b]| crossing(phi[a as usize], phi[b as usize])).collect();
    if weights.par_iter().any(|t| !t.is_finite()) {
        return Err(Error::diverged("contour of tets", "the field is not a number beside the surface"));
    }
    let position = |(&[a, b], t): (&Edge, &f64)| nodes[a as usize] * (1.0 - t) + nodes[b as usize] * *t;
    let positions = edges.par_iter().zip(&weights).map(position).collect();
    Ok(Contour { mesh: TriMesh::new(positions, triangles), places: edges, weights })
}

/// The triangles in one tet, each corner given by the edge that it lies on.
fn cut(nodes: &[Vec3], tet: &[u32; 4], phi: &[f64]) -> impl Iterator<Item = [Edge; 3]> + use<> {
    let edge = |a: u32, b: u32| [a.min(b), a.max(b)];
    let (inside, outside): (Vec<u32>, Vec<u32>) = tet.iter().partition(|n| phi[**n as usize] < 0.0);
    let mut found = match (inside.as_slice(), outside.as_slice()) {
        (&[a], &[b, c, d]) => vec![[edge(a, b), edge(a, c), edge(a, d)]],
        (&[b, c, d], &[a]) => vec![[edge(a, b), edge(a, c), edge(a, d)]],
        (&[a, b], &[c, d]) => {
            let quad = [edge(a, c), edge(a, d), edge(b, d), edge(b, c)];
            vec![[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]]
        }
        _ => Vec::new(),
    };
    if let (false, Some(&a), Some(&b)) = (found.is_empty(), inside.first(), outside.first()) {
        // All corners are at the middles of their edges here: the side does not depend on where.
        let middle = |[a, b]: Edge| (nodes[a as usize] + nodes[b as usize]) * 0.5;
        let [p, q, r] = found[0].map(middle);
        let normal = (q - p).cross(&(r - p));
        if normal.dot(&(nodes[b as usize] - nodes[a as usize])) < 0.0 {
            found.iter_mut().for_each(|t| t.swap(1, 2));
        }
    }
    found.into_iter()
}
