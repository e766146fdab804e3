//! Linear functions on the tets and faces of the lattice.
//!
//! The share λ_k of vertex k of a tet is linear and falls from one at the vertex to zero on the facet opposite, so
//! ∇λ_k is the inward normal of that facet over the height. Lengths are differences of whole units, hence exact, and
//! right across the border of a periodic domain.

use super::Lattice;
use super::octree::NONE;
use crate::math::{Mat3, Vec3};

impl Lattice {
    /// The gradients of the shares of the four vertices of a tet, 1/m, and its volume, m³.
    pub fn gradients(&self, tet: usize) -> ([Vec3; 4], f64) {
        let v = self.tets.vertices[tet].map(|v| self.vertices[v as usize]);
        let [a, b, c] = [1, 2, 3].map(|k| self.difference(v[0], v[k]));
        let six = a.dot(&b.cross(&c));
        let [ga, gb, gc] = [b.cross(&c) / six, c.cross(&a) / six, a.cross(&b) / six];
        ([-(ga + gb + gc), ga, gb, gc], six / 6.0)
    }

    /// The shares of the vertices of a face in the point where the dual edge meets it, see
    /// [`face_crossing`](Self::face_crossing); the last is zero for a triangle.
    pub fn crossing_shares(&self, face: usize) -> [f64; 4] {
        let v = self.faces.vertices[face];
        if v[3] != NONE {
            return [0.25; 4];
        }
        // The centre of the circle round a triangle; l is the square of the side opposite to each vertex.
        let side = |a: usize, b: usize| {
            self.difference(self.vertices[v[a] as usize], self.vertices[v[b] as usize]).norm_squared()
        };
        let l = [side(1, 2), side(2, 0), side(0, 1)];
        let total = l[0] + l[1] + l[2];
        let share = l.map(|l| l * (total - 2.0 * l));
        let sum: f64 = share.iter().sum();
        [share[0] / sum, share[1] / sum, share[2] / sum, 0.0]
    }

    /// From a vertex to the circumcentre of a cell near it, m.
    pub fn to_cell(&self, vertex: u32, cell: u32) -> Vec3 {
        self.difference(self.vertices[vertex as usize], self.circumcentres[cell as usize])
    }

    /// Σ A n nᵀ over the faces of a cell that count, and the sum of their areas.
    pub fn face_moment(&self, cell: usize, counts: impl Fn(usize) -> bool) -> (Mat3, f64) {
        let (mut moment, mut total) = (Mat3::zeros(), 0.0);
        for &face in self.faces_of(cell).iter().filter(|&&f| counts(f as usize)) {
            let vector = self.area_vector(face as usize);
            let area = vector.norm();
            moment += vector * vector.transpose() / area;
            total += area;
        }
        (moment, total)
    }
}
