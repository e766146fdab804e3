//! Which tet holds a point: the octree gives a leaf, and a walk through facets does the rest.
//!
//! The lattice is Delaunay, so a walk that always leaves through a facet behind which the point lies cannot go in
//! circles; from the first tet of the right leaf it takes a few steps. Positions are exact in f64.

use super::Lattice;
use super::octree::NONE;
use crate::math::Vec3;

/// Steps after which a walk gives up: the point is not a number, or lies on so many facets that rounding decides.
const LONGEST_WALK: usize = 256;

impl Lattice {
    /// The tet that holds a point, or the nearest on the way to one outside.
    pub fn locate(&self, x: &Vec3) -> usize {
        let domain = self.octree.domain();
        let at = (x - domain.origin) / domain.unit();
        self.walk(self.first_tets[self.octree.locate(x)] as usize, &at)
    }

    /// Walk from a tet to the one that holds a position in units.
    fn walk(&self, start: usize, at: &Vec3) -> usize {
        let mut tet = start.min(self.tets.vertices.len() - 1);
        for _ in 0..LONGEST_WALK {
            match self.way_out(tet, at) {
                Some(next) => tet = next,
                None => break,
            }
        }
        tet
    }

    /// The neighbour across the facet that the position lies farthest behind.
    fn way_out(&self, tet: usize, at: &Vec3) -> Option<usize> {
        let opposite = volumes(&self.tets.vertices[tet].map(|v| self.position(v) - at));
        let behind = (0..4).filter(|&k| opposite[k] < 0.0 && self.tets.neighbours[tet][k] != NONE);
        let facet = behind.min_by(|&a, &b| opposite[a].total_cmp(&opposite[b]))?;
        Some(self.tets.neighbours[tet][facet] as usize)
    }

    /// The shares of the four vertices of a tet in a point.
    pub fn barycentric(&self, tet: usize, x: &Vec3) -> [f64; 4] {
        barycentric(&self.tets.vertices[tet].map(|v| self.vertex(v)), x)
    }

    /// A vertex in units.
    #[inline]
    pub(super) fn position(&self, vertex: u32) -> Vec3 {
        let [x, y, z] = self.vertices[vertex as usize];
        Vec3::new(x as f64, y as f64, z as f64)
    }
}

/// The shares of the four corners of a tet in a point; all zero for a tet without volume.
pub fn barycentric(corners: &[Vec3; 4], x: &Vec3) -> [f64; 4] {
    let parts = volumes(&corners.map(|c| c - x));
    let total: f64 = parts.iter().sum();
    if total == 0.0 { [0.0; 4] } else { parts.map(|p| p / total) }
}

/// Six times the volumes of the tets that the origin makes with the facets opposite to each corner.
fn volumes(v: &[Vec3; 4]) -> [f64; 4] {
    let (last, first) = (v[2].cross(&v[3]), v[0].cross(&v[1]));
    [v[1].dot(&last), -v[0].dot(&last), first.dot(&v[3]), -first.dot(&v[2])]
}
