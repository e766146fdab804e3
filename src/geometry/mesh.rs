//! Triangle meshes as flat arrays.
//!
//! Counter-clockwise triangles seen from outside, so normals leave the object. Nothing here demands
//! that a mesh is closed, oriented or free of self-intersections.

use crate::error::{Error, Result};
use crate::math::{Aabb, Vec3};

/// A named value at every vertex: `width` numbers a vertex, one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub name: String,
    pub width: usize,
    pub data: Vec<f32>,
}

/// Vertices, triangles and any number of vertex attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriMesh {
    pub positions: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    pub attributes: Vec<Attribute>,
}

impl TriMesh {
    pub fn new(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self { positions, triangles, attributes: Vec::new() }
    }

    /// A box with outward triangles.
    pub fn cuboid(lo: Vec3, hi: Vec3) -> Self {
        let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let halves = |q: [u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]];
        Self::new(Aabb::new(lo, hi).corners().to_vec(), quads.into_iter().flat_map(halves).collect())
    }

    /// A sphere of 20·4ⁿ nearly equal triangles, its vertices on the sphere.
    pub fn icosphere(radius: f64, subdivisions: u32) -> Self {
        let golden = 0.5 * (1.0 + 5f64.sqrt());
        let mut positions = Vec::new();
        for a in 0..3 {
            for (s, g) in [(1.0, golden), (-1.0, golden), (1.0, -golden), (-1.0, -golden)] {
                let mut p = Vec3::zeros();
                (p[(a + 1) % 3], p[(a + 2) % 3]) = (s, g);
                positions.push(p.normalize());
            }
        }
        // The faces of an icosahedron are the triples of vertices at the shortest distance.
        let close = |i: usize, j: usize| (positions[i] - positions[j]).norm() < 1.1;
        let mut triangles = Vec::new();
        for i in 0..12 {
            for j in i + 1..12 {
                for k in j + 1..12 {
                    if close(i, j) && close(j, k) && close(i, k) {
                        let [p, q, r] = [i, j, k].map(|v| positions[v]);
                        let outward = p.dot(&q.cross(&r)) > 0.0;
                        let [j, k] = if outward { [j, k] } else { [k, j] };
                        triangles.push([i as u32, j as u32, k as u32]);
                    }
                }
            }
        }
        let mut mesh = Self::new(positions, triangles);
        for _ in 0..subdivisions {
            mesh.split_on_the_sphere();
        }
        mesh.positions.iter_mut().for_each(|p| *p = p.normalize() * radius);
        mesh
    }

    /// Cut every triangle of a unit sphere at the middles of its edges. Attributes are dropped.
    fn split_on_the_sphere(&mut self) {
        let mut middles = std::collections::HashMap::new();
        let mut triangles = Vec::with_capacity(4 * self.triangles.len());
        for t in &self.triangles {
            let m = [0, 1, 2].map(|i| {
                let (a, b) = (t[i], t[(i + 1) % 3]);
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    let middle = (self.positions[a as usize] + self.positions[b as usize]) * 0.5;
                    self.positions.push(middle.normalize());
                    self.positions.len() as u32 - 1
                })
            });
            triangles.extend([[t[0], m[0], m[2]], [m[0], t[1], m[1]], [m[2], m[1], t[2]], m]);
        }
        self.triangles = triangles;
        self.attributes.clear();
    }

    /// Refuse indices out of range, positions that are not finite and attributes of the wrong length.
    /// `object` names the mesh in the error.
    pub fn check(&self, object: &str) -> Result<()> {
        let n = self.positions.len();
        if let Some(v) = self.positions.iter().position(|p| !p.iter().all(|c| c.is_finite())) {
            let p = self.positions[v];
            let message = format!("vertex {v} is at ({}, {}, {}); remove or repair it", p.x, p.y, p.z);
            return Err(Error::geometry(object, message));
        }
        if let Some(t) = self.triangles.iter().position(|t| t.iter().any(|v| *v as usize >= n)) {
            let message = format!("triangle {t} uses vertices {:?} but there are {n}", self.triangles[t]);
            return Err(Error::geometry(object, message));
        }
        match self.attributes.iter().find(|a| a.width == 0 || a.data.len() != a.width * n) {
            Some(a) => Err(Error::geometry(
                object,
                format!(
                    "attribute {} has {} values for {n} vertices of width {}",
                    a.name,
                    a.data.len(),
                    a.width
                ),
            )),
            None => Ok(()),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    pub fn bounds(&self) -> Aabb {
        Aabb::of_points(&self.positions)
    }

    /// The three corners of triangle t.
    pub fn corners(&self, t: usize) -> [Vec3; 3] {
        self.triangles[t].map(|v| self.positions[v as usize])
    }

    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// Signed volume by the divergence theorem; exact for a closed mesh, positive if normals point out.
    pub fn volume(&self) -> f64 {
        let six = |t: usize| {
            let [a, b, c] = self.corners(t);
            a.dot(&b.cross(&c))
        };
        (0..self.triangles.len()).map(six).sum::<f64>() / 6.0
    }

    /// Add another mesh's triangles. Attributes are dropped unless both have the same list.
    pub fn append(&mut self, other: &TriMesh) {
        let base = self.positions.len() as u32;
        let same = self.attributes.len() == other.attributes.len()
            && self
                .attributes
                .iter()
                .zip(&other.attributes)
                .all(|(a, b)| a.name == b.name && a.width == b.width);
        if same {
            for (a, b) in self.attributes.iter_mut().zip(&other.attributes) {
                a.data.extend_from_slice(&b.data);
            }
        } else {
            self.attributes.clear();
        }
        self.positions.extend_from_slice(&other.positions);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + base)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_and_a_sphere_have_their_volumes() {
        assert_eq!(TriMesh::cuboid(Vec3::zeros(), Vec3::new(1.0, 2.0, 3.0)).volume(), 6.0);
        let sphere = TriMesh::icosphere(2.0, 4);
        assert_eq!(sphere.triangles.len(), 5120);
        // The inscribed polyhedron of 5120 faces misses about 0.2 % of the ball.
        let ball = 4.0 / 3.0 * std::f64::consts::PI * 8.0;
        assert!(sphere.volume() < ball && sphere.volume() > 0.995 * ball);
    }

    #[test]
    fn a_bad_vertex_is_named() {
        let mut mesh = TriMesh::icosphere(1.0, 0);
        assert!(mesh.check("ball").is_ok());
        mesh.positions[7].y = f64::NAN;
        assert!(mesh.check("ball").unwrap_err().to_string().contains("vertex 7"));
        mesh.positions.truncate(7);
        assert!(mesh.check("ball").unwrap_err().to_string().contains("triangle"));
    }
}
