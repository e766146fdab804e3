//! Smoothing a triangle mesh without shrinking it.
//!
//! Each pass moves every vertex towards the mean m of its neighbours and then away from it,
//! x ← x + λ(m − x), x ← x + μ(m − x) with λ = 0.5 and μ = −0.53 [Tau95]: features shorter than a few
//! edges fade, the shape stays. What volume is still lost is given back to each closed piece by
//! moving its vertices along their normals n by the one length s for which
//!
//! ```text
//!   V(x + s n) = V₀ ,   V(s) = ⅙ Σ det(a + s n_a, b + s n_b, c + s n_c) ,  a cubic in s
//! ```
//!
//! which Newton's method finds to round-off. Vertices on open edges do not move, and pieces that are
//! not closed keep what the filter gives.

use crate::error::{Error, Result};
use crate::geometry::curvature::vertex_normals;
use crate::geometry::{TriMesh, components};
use crate::math::Vec3;
use rayon::prelude::*;

const LAMBDA: f64 = 0.5;
const MU: f64 = -0.53;

/// The neighbours of each vertex, ascending; none for vertices that may not move.
struct Ring {
    starts: Vec<u32>,
    vertices: Vec<u32>,
    /// Whether the vertex lies on an edge that has not one triangle on each side.
    open: Vec<bool>,
}

/// Smooth in place; each closed piece keeps its volume.
pub fn smooth(mesh: &mut TriMesh, passes: usize) -> Result<()> {
    let n = mesh.positions.len();
    if mesh.triangles.iter().flatten().any(|v| *v as usize >= n) {
        return Err(Error::geometry("mesh", "a triangle names a vertex that does not exist"));
    }
    if passes == 0 || mesh.is_empty() {
        return Ok(());
    }
    let ring = Ring::new(mesh);
    let (label, count) = components(mesh);
    let mut closed = vec![true; count];
    ring.open.iter().zip(&label).filter(|(open, _)| **open).for_each(|(_, l)| closed[*l as usize] = false);
    let before = volumes(mesh, &label, count);
    for _ in 0..passes {
        move_by(mesh, &ring, LAMBDA);
        move_by(mesh, &ring, MU);
    }
    restore(mesh, &label, &closed, &before);
    Ok(())
}

impl Ring {
    fn new(mesh: &TriMesh) -> Self {
        let n = mesh.positions.len();
        let edges = || mesh.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        // Vertices have few neighbours: put each edge to its first vertex, then sort the few.
        let mut ends = vec![0u32; n + 1];
        edges().for_each(|[a, _]| ends[a as usize + 1] += 1);
        (0..n).for_each(|v| ends[v + 1] += ends[v]);
        let starts = ends.clone();
        let mut vertices = vec![0u32; 3 * mesh.triangles.len()];
        edges().for_each(|[a, b]| {
            vertices[ends[a as usize] as usize] = b;
            ends[a as usize] += 1;
        });
        let (mut rest, mut rings) = (&mut vertices[..], Vec::with_capacity(n));
        for v in 0..n {
            rings.push(rest.split_off_mut(..(starts[v + 1] - starts[v]) as usize).unwrap_or_default());
        }
        rings.par_iter_mut().with_min_len(1024).for_each(|ring| ring.sort_unstable());
        // Each edge must be there once in each direction.
        let wrong = |v: usize| {
            let ring = &rings[v];
            let lonely = |w: u32| rings[w as usize].binary_search(&(v as u32)).is_err();
            ring.windows(2).any(|w| w[0] == w[1]) || ring.iter().any(|w| lonely(*w))
        };
        let found: Vec<bool> = (0..n).into_par_iter().with_min_len(1024).map(wrong).collect();
        let mut open = vec![false; n];
        for v in (0..n).filter(|v| found[*v]) {
            open[v] = true;
            let ring = &rings[v];
            for (k, w) in ring.iter().enumerate() {
                let twice = ring.get(k + 1) == Some(w) || (k > 0 && ring[k - 1] == *w);
                if twice || rings[*w as usize].binary_search(&(v as u32)).is_err() {
                    open[*w as usize] = true;
                }
            }
        }
        Self { starts, vertices, open }
    }

    fn of(&self, v: usize) -> &[u32] {
        if self.open[v] {
            return &[];
        }
        &self.vertices[self.starts[v] as usize..self.starts[v + 1] as usize]
    }
}

fn move_by(mesh: &mut TriMesh, ring: &Ring, factor: f64) {
    let x = &mesh.positions;
    let moved = |v: usize| {
        let near = ring.of(v);
        if near.is_empty() {
            return x[v];
        }
        let mean = near.iter().map(|&w| x[w as usize]).sum::<Vec3>() / near.len() as f64;
        x[v] + (mean - x[v]) * factor
    };
    mesh.positions = (0..x.len()).into_par_iter().map(moved).collect();
}

/// Volume of each piece.
fn volumes(mesh: &TriMesh, label: &[u32], count: usize) -> Vec<f64> {
    let origins = origins(mesh, label, count);
    let mut volumes = vec![0.0; count];
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        let piece = label[triangle[0] as usize] as usize;
        let [a, b, c] = mesh.corners(t).map(|x| x - origins[piece]);
        volumes[piece] += a.dot(&b.cross(&c)) / 6.0;
    }
    volumes
}

/// A vertex of each piece: volumes are taken about it, so that a place far from zero costs no digits.
fn origins(mesh: &TriMesh, label: &[u32], count: usize) -> Vec<Vec3> {
    let mut origins = vec![Vec3::zeros(); count];
    for (x, l) in mesh.positions.iter().zip(label).rev() {
        origins[*l as usize] = *x;
    }
    origins
}

fn restore(mesh: &mut TriMesh, label: &[u32], closed: &[bool], target: &[f64]) {
    // The cubic is exact; the second round only takes away the round-off of the first.
    for _ in 0..2 {
        let normals = vertex_normals(mesh);
        let cubics = cubics(mesh, &normals, label, closed.len());
        let offset: Vec<f64> =
            (0..closed.len()).map(|p| if closed[p] { root(&cubics[p], target[p]) } else { 0.0 }).collect();
        mesh.positions
            .par_iter_mut()
            .enumerate()
            .for_each(|(v, x)| *x += normals[v] * offset[label[v] as usize]);
    }
}

/// Coefficients of V(s) of each piece, constant first.
fn cubics(mesh: &TriMesh, normals: &[Vec3], label: &[u32], count: usize) -> Vec<[f64; 4]> {
    let origins = origins(mesh, label, count);
    let mut cubics = vec![[0.0; 4]; count];
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        let piece = label[triangle[0] as usize] as usize;
        let [a, b, c] = mesh.corners(t).map(|x| x - origins[piece]);
        let [u, v, w] = triangle.map(|i| normals[i as usize]);
        let det = |a: &Vec3, b: &Vec3, c: &Vec3| a.dot(&b.cross(c)) / 6.0;
        let sum = &mut cubics[piece];
        sum[0] += det(&a, &b, &c);
        sum[1] += det(&u, &b, &c) + det(&a, &v, &c) + det(&a, &b, &w);
        sum[2] += det(&u, &v, &c) + det(&u, &b, &w) + det(&a, &v, &w);
        sum[3] += det(&u, &v, &w);
    }
    cubics
}

/// The s near 0 with V(s) = target; 0 if there is none to be found.
fn root(&[c0, c1, c2, c3]: &[f64; 4], target: f64) -> f64 {
    let mut s = 0.0;
    for _ in 0..20 {
        let residual = c0 - target + s * (c1 + s * (c2 + s * c3));
        let slope = c1 + s * (2.0 * c2 + 3.0 * s * c3);
        s -= residual / slope;
    }
    let residual = c0 - target + s * (c1 + s * (c2 + s * c3));
    if residual.abs() <= 1e-9 * target.abs() { s } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Shape, check};

    fn rough_pair() -> TriMesh {
        let mut mesh = Shape::sphere(0.5).unwrap().triangulate(0.04).unwrap();
        let mut ring = Shape::torus(0.5, 0.2).unwrap().triangulate(0.04).unwrap();
        ring.positions.iter_mut().for_each(|x| *x += Vec3::new(100.0, 0.0, 0.0));
        mesh.append(&ring);
        // Bumps of the size of an edge.
        for (v, x) in mesh.positions.iter_mut().enumerate() {
            *x += Vec3::new((v as f64 * 0.77).sin(), (v as f64 * 1.3).sin(), (v as f64 * 2.1).sin()) * 0.005;
        }
        mesh
    }

    #[test]
    fn smoothing_keeps_the_volume_of_each_piece() {
        let mut mesh = rough_pair();
        let (label, count) = components(&mesh);
        let before = volumes(&mesh, &label, count);
        smooth(&mut mesh, 10).unwrap();
        let after = volumes(&mesh, &label, count);
        for (a, b) in before.iter().zip(&after) {
            assert!((a - b).abs() <= 1e-12 * a, "{a} {b}");
        }
        assert!(check(&mesh).is_clean());
    }

    #[test]
    fn smoothing_takes_the_bumps_away() {
        let mut mesh = rough_pair();
        let bumps = |mesh: &TriMesh| {
            let n = vertex_normals(mesh);
            // Away from the poles, where the fans are as they come.
            let ball = (0..mesh.positions.len())
                .filter(|v| mesh.positions[*v].x < 5.0 && mesh.positions[*v].y.abs() < 0.4);
            ball.map(|v| (n[v] - mesh.positions[v].normalize()).norm()).fold(0.0, f64::max)
        };
        let before = bumps(&mesh);
        smooth(&mut mesh, 10).unwrap();
        assert!(bumps(&mesh) < 0.3 * before, "{before} {}", bumps(&mesh));
    }

    #[test]
    fn the_rim_of_an_open_mesh_stays() {
        let mut mesh = Shape::cuboid(Vec3::repeat(1.0), 0.0).unwrap().triangulate(0.5).unwrap();
        mesh.triangles.retain(|t| t.iter().any(|v| mesh.positions[*v as usize].y < 1.0));
        let rim: Vec<Vec3> = mesh.positions.iter().filter(|x| x.y == 1.0).copied().collect();
        smooth(&mut mesh, 5).unwrap();
        let kept: Vec<Vec3> = mesh.positions.iter().filter(|x| x.y == 1.0).copied().collect();
        assert_eq!(rim, kept);
        mesh.triangles.push([0, 1, 9999]);
        assert!(smooth(&mut mesh, 1).is_err());
    }
}
