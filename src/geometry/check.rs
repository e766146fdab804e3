//! What is right and what is wrong with a triangle mesh.
//!
//! Every edge of a closed surface is run through as often forwards as backwards. It is manifold if
//! each edge has two triangles and the triangles round each vertex form one fan. Open, two-sided and
//! damaged meshes are allowed elsewhere; this says which of these a mesh is.

use crate::geometry::TriMesh;
use crate::math::Sets;
use rayon::prelude::*;

/// Counts of everything that can be wrong; see the questions below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshReport {
    /// Vertices that some triangle uses.
    pub vertices: usize,
    pub edges: usize,
    pub triangles: usize,
    /// Pieces that share no vertex.
    pub components: usize,
    /// Vertices − edges + triangles: 2 for each sphere, 0 for each torus.
    pub euler: i64,
    /// Edges with one triangle.
    pub open_edges: usize,
    /// Edges run through more often one way than the other, open edges not counted.
    pub misoriented_edges: usize,
    /// Edges with more than two triangles.
    pub nonmanifold_edges: usize,
    /// Vertices whose triangles form more than one fan.
    pub nonmanifold_vertices: usize,
    /// Triangles without area, or with a vertex twice.
    pub degenerate: usize,
    /// Triangles with the same three vertices as an earlier one.
    pub duplicates: usize,
    /// Triangles that name a vertex that does not exist; nothing else is said about them.
    pub bad_indices: usize,
    /// Vertices with a coordinate that is not finite.
    pub not_finite: usize,
}

impl MeshReport {
    pub fn is_closed(&self) -> bool {
        self.bad_indices == 0 && self.open_edges == 0
    }

    pub fn is_oriented(&self) -> bool {
        self.bad_indices == 0 && self.misoriented_edges == 0
    }

    pub fn is_manifold(&self) -> bool {
        self.bad_indices == 0 && self.nonmanifold_edges == 0 && self.nonmanifold_vertices == 0
    }

    /// Closed, oriented, manifold, and every triangle a proper one.
    pub fn is_clean(&self) -> bool {
        let proper = self.degenerate == 0 && self.duplicates == 0 && self.not_finite == 0;
        self.is_closed() && self.is_oriented() && self.is_manifold() && proper
    }
}

/// The piece that each vertex belongs to, numbered in the order of their first vertices; and how many.
///
/// A vertex that no triangle uses is a piece of its own, numbered like the others.
pub fn components(mesh: &TriMesh) -> (Vec<u32>, usize) {
    let mut sets = Sets::new(mesh.positions.len());
    let known = |t: &&[u32; 3]| t.iter().all(|v| (*v as usize) < mesh.positions.len());
    for &[a, b, c] in mesh.triangles.iter().filter(known) {
        sets.join(a, b);
        sets.join(b, c);
    }
    sets.numbered()
}

/// A side of a triangle: its two vertices in ascending order and which corner it starts from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    low: u32,
    high: u32,
    /// 3 times the triangle plus the corner.
    corner: u32,
    forward: bool,
}

fn sides(triangles: &[[u32; 3]]) -> Vec<Side> {
    let side = |t: usize, k: usize| {
        let (a, b) = (triangles[t][k], triangles[t][(k + 1) % 3]);
        Side { low: a.min(b), high: a.max(b), corner: (3 * t + k) as u32, forward: a < b }
    };
    let mut sides: Vec<Side> =
        (0..triangles.len()).into_par_iter().flat_map_iter(|t| (0..3).map(move |k| side(t, k))).collect();
    sides.par_sort_unstable();
    sides
}

fn has_no_area(mesh: &TriMesh, triangle: &[u32; 3]) -> bool {
    let [a, b, c] = triangle.map(|v| mesh.positions[v as usize]);
    let twice = (b - a).cross(&(c - a)).norm();
    let longest = (b - a).norm_squared().max((c - b).norm_squared()).max((a - c).norm_squared());
    // Below this the cross product is round-off. NaN counts as no area.
    twice.is_nan() || twice <= 1e-14 * longest
}

/// Look at everything.
pub fn check(mesh: &TriMesh) -> MeshReport {
    let n = mesh.positions.len() as u32;
    let known: Vec<[u32; 3]> = mesh.triangles.iter().copied().filter(|t| t.iter().all(|v| *v < n)).collect();
    let mut report = MeshReport {
        triangles: mesh.triangles.len(),
        bad_indices: mesh.triangles.len() - known.len(),
        not_finite: mesh.positions.iter().filter(|x| !x.iter().all(|c| c.is_finite())).count(),
        degenerate: known.par_iter().filter(|t| has_no_area(mesh, t)).count(),
        duplicates: duplicates(&known),
        ..Default::default()
    };
    let sides = sides(&known);
    let mut fans = Sets::new(3 * known.len());
    for edge in sides.chunk_by(|a, b| (a.low, a.high) == (b.low, b.high)) {
        count_edge(edge, &mut fans, &mut report);
    }
    count_vertices(&known, n as usize, &mut fans, &mut report);
    report.euler = report.vertices as i64 - report.edges as i64 + known.len() as i64;
    report
}

fn duplicates(triangles: &[[u32; 3]]) -> usize {
    let sorted = |t: &[u32; 3]| {
        let mut t = *t;
        t.sort_unstable();
        t
    };
    let mut all: Vec<[u32; 3]> = triangles.par_iter().map(sorted).collect();
    all.par_sort_unstable();
    all.windows(2).filter(|w| w[0] == w[1]).count()
}

fn count_edge(edge: &[Side], fans: &mut Sets, report: &mut MeshReport) {
    report.edges += 1;
    let forward = edge.iter().filter(|s| s.forward).count();
    match edge {
        [_] => report.open_edges += 1,
        [a, b] => {
            // Join the corners of the two triangles at both ends of the edge.
            let ends = |s: &Side| {
                let next = s.corner - s.corner % 3 + (s.corner % 3 + 1) % 3;
                if s.forward { (s.corner, next) } else { (next, s.corner) }
            };
            fans.join(ends(a).0, ends(b).0);
            fans.join(ends(a).1, ends(b).1);
        }
        _ => report.nonmanifold_edges += 1,
    }
    report.misoriented_edges += (edge.len() > 1 && 2 * forward != edge.len()) as usize;
}

fn count_vertices(triangles: &[[u32; 3]], n: usize, fans: &mut Sets, report: &mut MeshReport) {
    let mut fans_at = vec![0u32; n];
    let mut pieces = Sets::new(n);
    for (t, &[a, b, c]) in triangles.iter().enumerate() {
        for (k, v) in [a, b, c].into_iter().enumerate() {
            let corner = (3 * t + k) as u32;
            fans_at[v as usize] += (fans.root(corner) == corner) as u32;
        }
        pieces.join(a, b);
        pieces.join(b, c);
    }
    report.vertices = fans_at.iter().filter(|f| **f > 0).count();
    report.nonmanifold_vertices = fans_at.iter().filter(|f| **f > 1).count();
    report.components = (0..n as u32).filter(|v| fans_at[*v as usize] > 0 && pieces.root(*v) == *v).count();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use crate::math::Vec3;

    fn box_mesh() -> TriMesh {
        Shape::cuboid(Vec3::repeat(1.0), 0.0).unwrap().triangulate(2.0).unwrap()
    }

    #[test]
    fn a_box_and_a_ring_are_clean() {
        let report = check(&box_mesh());
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((report.euler, report.components, report.vertices, report.edges), (2, 1, 8, 18));
        let ring = Shape::torus(1.0, 0.3).unwrap().triangulate(0.2).unwrap();
        assert!(check(&ring).is_clean());
        assert_eq!(check(&ring).euler, 0);
    }

    #[test]
    fn each_defect_is_counted() {
        let mut open = box_mesh();
        open.triangles.pop();
        assert_eq!(check(&open).open_edges, 3);
        let mut flipped = box_mesh();
        flipped.triangles[3].swap(0, 1);
        assert_eq!((check(&flipped).misoriented_edges, check(&flipped).open_edges), (3, 0));
        let mut twice = box_mesh();
        twice.triangles.push(twice.triangles[0]);
        assert_eq!((check(&twice).duplicates, check(&twice).nonmanifold_edges), (1, 3));
        let mut thin = box_mesh();
        thin.positions[0] = thin.positions[1];
        assert!(check(&thin).degenerate >= 1);
        let mut nan = box_mesh();
        nan.positions[0].x = f64::NAN;
        assert_eq!(check(&nan).not_finite, 1);
        let mut bad = box_mesh();
        bad.triangles[0] = [0, 1, 99];
        assert_eq!(check(&bad).bad_indices, 1);
        assert!([open, flipped, twice, thin, nan, bad].iter().all(|m| !check(m).is_clean()));
    }

    #[test]
    fn two_boxes_that_share_a_corner_are_not_manifold_there() {
        let mut pair = box_mesh();
        let mut other = box_mesh();
        other.positions.iter_mut().for_each(|x| *x += Vec3::repeat(2.0));
        pair.append(&other);
        let at = |x: Vec3, from: usize| {
            (from..16).find(|v| (pair.positions[*v] - x).norm() < 1e-12).unwrap() as u32
        };
        let (low, high) = (at(Vec3::repeat(1.0), 0), at(Vec3::repeat(1.0), 8));
        let triangles = pair.triangles.iter().map(|t| t.map(|v| if v == high { low } else { v }));
        pair.triangles = triangles.collect();
        let report = check(&pair);
        assert!(report.is_closed() && report.is_oriented() && !report.is_manifold());
        assert_eq!((report.nonmanifold_vertices, report.components), (1, 1));
        assert_eq!(components(&box_mesh()).1, 1);
    }
}
