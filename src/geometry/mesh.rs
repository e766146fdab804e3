//! Triangle meshes as flat arrays.
//!
//! Counter-clockwise triangles seen from outside, so normals leave the object. Nothing here demands
//! that a mesh is closed, oriented or free of self-intersections.

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
