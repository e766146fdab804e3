//! Values at the vertices of a mesh, read off anywhere near it.
//!
//! A point takes what the nearest point of the mesh has, which is linear over each triangle. Checked by
//! tests/attributes.rs.

use crate::geometry::{Bvh, TriMesh, barycentric};
use crate::math::Vec3;

/// A mesh whose attributes are asked for by place.
pub struct PaintedMesh {
    mesh: TriMesh,
    tree: Bvh,
}

impl PaintedMesh {
    pub fn new(mesh: TriMesh) -> Self {
        Self { tree: Bvh::new(&mesh), mesh }
    }

    /// The vertices of the triangle nearest to a point, with their weights there; None without any triangle.
    pub fn weights(&self, x: &Vec3) -> Option<[(usize, f64); 3]> {
        let near = self.tree.closest(x, f64::INFINITY)?;
        let weights = barycentric(&self.mesh.corners(near.triangle as usize), &near.point);
        let corners = self.mesh.triangles[near.triangle as usize];
        Some(std::array::from_fn(|i| (corners[i] as usize, weights[i])))
    }

    /// Number `n` of an attribute with these weights; NaN if a vertex has none.
    pub fn value(&self, attribute: usize, n: usize, weights: &[(usize, f64); 3]) -> f64 {
        let a = &self.mesh.attributes[attribute];
        weights.iter().map(|(v, w)| w * f64::from(a.data[v * a.width + n])).sum()
    }
}

/// Friction that differs from place to place on a solid.
pub struct Rough {
    painted: PaintedMesh,
    greatest: f64,
}

impl Rough {
    /// The attribute `friction` of a mesh, cut off at 0 and 1; None if it has none.
    pub fn new(mesh: &TriMesh) -> Option<Self> {
        let mut own = mesh.attribute("friction").filter(|a| a.width == 1 && !mesh.is_empty())?.clone();
        own.data.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0));
        let greatest = own.data.iter().map(|v| f64::from(*v)).fold(0.0, f64::max);
        let mut mesh = TriMesh::new(mesh.positions.clone(), mesh.triangles.clone());
        mesh.attributes.push(own);
        Some(Self { painted: PaintedMesh::new(mesh), greatest })
    }

    /// Friction at a point near the surface, in the coordinates of the mesh; None where none is painted.
    pub fn at(&self, x: &Vec3) -> Option<f64> {
        let weights = self.painted.weights(x)?;
        Some(self.painted.value(0, 0, &weights)).filter(|v| v.is_finite())
    }

    /// The greatest friction anywhere.
    pub fn greatest(&self) -> f64 {
        self.greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Attribute;

    #[test]
    fn friction_is_linear_between_vertices_and_absent_where_none_is_painted() {
        let mut mesh = TriMesh::new(
            vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::new(5.0, 0.0, 0.0)],
            vec![[0, 1, 2], [1, 3, 2]],
        );
        let painted = |data: Vec<f32>| vec![Attribute { name: "friction".into(), width: 1, data }];
        mesh.attributes = painted(vec![0.0, 1.0, 0.0, f32::NAN]);
        let rough = Rough::new(&mesh).unwrap();
        for x in [0.0, 0.25, 0.75] {
            assert!((rough.at(&Vec3::new(x, 0.0, 0.3)).unwrap() - x).abs() < 1e-12);
        }
        assert_eq!(rough.at(&Vec3::new(4.0, 0.0, 0.0)), None);
        assert_eq!(rough.greatest(), 1.0);
        mesh.attributes = painted(vec![-3.0, 7.0, 0.0, 0.0]);
        assert_eq!(Rough::new(&mesh).unwrap().at(&Vec3::x()), Some(1.0));
        assert!(Rough::new(&TriMesh::new(mesh.positions, mesh.triangles)).is_none());
    }
}
