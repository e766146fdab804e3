//! A tree of boxes over triangles: closest points, rays, crossings and overlaps.
//!
//! Every inner node has four children whose boxes lie side by side in f32, so that one pass over a
//! node tests all four. The boxes are those of the mesh moved to its centre and scaled by a power of
//! two to about unit size, rounded outwards by at least one unit in the last place: far from the
//! origin, or at any scale, they still hold their triangles, and a rounding in a query cannot lose
//! one. Corners are copied in the order of the leaves; a query needs no mesh.
//!
//! Children come after their parent in the array, so a refit is one pass from the end.
//! Triangles with a corner that is not finite are left out. Results depend only on the input.
//! Checked here against a scan of all triangles.

use super::TriMesh;
use super::bvh_build::{Split, split_four};
use super::triangle::{Feature, Ray, closest_on_triangle, segment_crosses, triangle_overlaps_box};
use crate::math::{Aabb, Vec3};

/// Triangles of a leaf, at most.
pub(super) const LEAF: usize = 4;
/// A child that does not exist.
pub(super) const EMPTY: u32 = u32::MAX;
/// Entries of a traversal stack: three more for each level, see [`super::bvh_build::MAX_LEVELS`].
const STACK: usize = 3 * super::bvh_build::MAX_LEVELS + 8;

/// Boxes of four children, and where they are.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Node {
    pub lo: [[f32; 4]; 3],
    pub hi: [[f32; 4]; 3],
    /// An inner node if `count` is 0, else the first triangle of a leaf; [`EMPTY`] for no child.
    pub child: [u32; 4],
    pub count: [u32; 4],
}

impl Node {
    pub const NONE: Node = Node {
        lo: [[f32::INFINITY; 4]; 3],
        hi: [[f32::NEG_INFINITY; 4]; 3],
        child: [EMPTY; 4],
        count: [0; 4],
    };

    fn set_box(&mut self, i: usize, lo: [f32; 3], hi: [f32; 3]) {
        for a in 0..3 {
            (self.lo[a][i], self.hi[a][i]) = (lo[a], hi[a]);
        }
    }

    /// The box round all four children.
    fn bounds(&self) -> ([f32; 3], [f32; 3]) {
        let fold = |v: &[f32; 4], f: fn(f32, f32) -> f32| v.iter().copied().reduce(f).unwrap_or(0.0);
        (self.lo.map(|v| fold(&v, f32::min)), self.hi.map(|v| fold(&v, f32::max)))
    }

    /// Squared distances from the point to the four boxes, never more than the true ones.
    #[inline]
    fn distances(&self, q: &Rounded) -> [f32; 4] {
        let max = |a: f32, b: f32| if a > b { a } else { b };
        let mut sum = [0f32; 4];
        for a in 0..3 {
            for i in 0..4 {
                let d = max(max(self.lo[a][i] - q.hi[a], q.lo[a] - self.hi[a][i]), 0.0);
                sum[i] += d * d;
            }
        }
        // Six roundings of relative size 2⁻²⁴ each are less than 1e-6.
        sum.map(|s| s * (1.0 - 1e-6))
    }
}

/// A position in the tree's frame between two f32 values.
struct Rounded {
    lo: [f32; 3],
    hi: [f32; 3],
}

/// Mesh coordinates to the unit frame of the boxes.
#[derive(Clone, Copy, Debug)]
struct Frame {
    centre: Vec3,
    scale: f64,
}

impl Frame {
    fn of(bounds: &Aabb) -> Self {
        if bounds.is_empty() {
            return Self { centre: Vec3::zeros(), scale: 1.0 };
        }
        let (centre, size) = (bounds.lo + bounds.size() * 0.5, bounds.size().max());
        // A power of two, so that scaling is exact; 1 for a single point.
        let scale = if size > 0.0 { libm::scalbn(1.0, -libm::ilogb(size).clamp(-1000, 1000)) } else { 1.0 };
        Self { centre, scale }
    }

    fn point(&self, x: &Vec3) -> Vec3 {
        (x - self.centre) * self.scale
    }

    fn round(&self, x: &Vec3) -> Rounded {
        let p = self.point(x);
        Rounded { lo: std::array::from_fn(|a| below(p[a])), hi: std::array::from_fn(|a| above(p[a])) }
    }

    /// The box of some triangles, rounded outwards.
    fn bounds(&self, triangles: &[[Vec3; 3]]) -> ([f32; 3], [f32; 3]) {
        let all = Aabb::of_points(triangles.iter().flatten());
        (self.round(&all.lo).lo, self.round(&all.hi).hi)
    }
}

#[inline]
fn below(v: f64) -> f32 {
    (v as f32).next_down()
}

#[inline]
fn above(v: f64) -> f32 {
    (v as f32).next_up()
}

/// The nearest point of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    pub point: Vec3,
    /// Index of the triangle in the mesh.
    pub triangle: u32,
    pub feature: Feature,
    pub distance: f64,
}

/// Where a ray meets a mesh: origin + t·direction = Σ barycentric·corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub t: f64,
    pub triangle: u32,
    pub barycentric: [f64; 3],
}

/// Where a segment passes through a triangle, as a fraction of its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    pub t: f64,
    pub triangle: u32,
    /// Whether the segment comes from the side that the normal points to.
    pub from_front: bool,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Bvh {
    frame: Frame,
    bounds: Aabb,
    pub(super) nodes: Vec<Node>,
    /// Corners, vertex indices and mesh index of each triangle, in the order of the leaves.
    pub(super) corners: Vec<[Vec3; 3]>,
    vertices: Vec<[u32; 3]>,
    source: Vec<u32>,
}

impl Bvh {
    /// Build over the finite triangles of a mesh; indices out of range count as not finite.
    pub fn new(mesh: &TriMesh) -> Self {
        let corner = |v: u32| mesh.positions.get(v as usize).copied().unwrap_or(Vec3::repeat(f64::NAN));
        let finite =
            |t: &u32| mesh.triangles[*t as usize].iter().all(|v| corner(*v).iter().all(|c| c.is_finite()));
        let mut source: Vec<u32> = (0..mesh.triangles.len() as u32).filter(finite).collect();
        let tree = Split::build(mesh, &mut source);
        let vertices: Vec<[u32; 3]> = source.iter().map(|t| mesh.triangles[*t as usize]).collect();
        let corners = vertices.iter().map(|t| t.map(corner)).collect();
        let mut bvh = Self {
            frame: Frame::of(&Aabb::empty()),
            bounds: Aabb::empty(),
            nodes: Vec::new(),
            corners,
            vertices,
            source,
        };
        if let Some(tree) = tree {
            bvh.flatten(&tree);
        }
        bvh.fit();
        bvh
    }

    fn flatten(&mut self, split: &Split) -> u32 {
        let index = self.nodes.len();
        self.nodes.push(Node::NONE);
        for (i, child) in split_four(split).into_iter().enumerate() {
            let (child, count) = match child {
                Split::Leaf { first, count } => (*first, *count),
                inner => (self.flatten(inner), 0),
            };
            self.nodes[index].child[i] = child;
            self.nodes[index].count[i] = count;
        }
        index as u32
    }

    /// Move the vertices; the tree keeps its shape. Positions are those of the mesh it was built of.
    pub fn refit(&mut self, positions: &[Vec3]) {
        for (corners, vertices) in self.corners.iter_mut().zip(&self.vertices) {
            *corners = vertices.map(|v| positions.get(v as usize).copied().unwrap_or_default());
        }
        self.fit();
    }

    /// Boxes from the corners, children first.
    fn fit(&mut self) {
        self.bounds = Aabb::of_points(self.corners.iter().flatten());
        self.frame = Frame::of(&self.bounds);
        for n in (0..self.nodes.len()).rev() {
            for i in 0..4 {
                let (child, count) = (self.nodes[n].child[i] as usize, self.nodes[n].count[i] as usize);
                let (lo, hi) = match (child as u32, count) {
                    (EMPTY, _) => continue,
                    (_, 0) => self.nodes[child].bounds(),
                    _ => self.frame.bounds(&self.corners[child..child + count]),
                };
                self.nodes[n].set_box(i, lo, hi);
            }
        }
    }

    /// The box round all triangles; empty if there are none.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Triangles in the tree.
    pub fn len(&self) -> usize {
        self.corners.len()
    }

    pub fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// The nearest point of the mesh within `max_distance` of x (which may be infinite).
    pub fn closest(&self, x: &Vec3, max_distance: f64) -> Option<Closest> {
        if self.is_empty() || !x.iter().all(|v| v.is_finite()) || max_distance.is_nan() {
            return None;
        }
        let q = self.frame.round(x);
        let to_limit = self.frame.scale * self.frame.scale;
        let mut best = (max_distance * max_distance, None);
        let mut limit = above(best.0 * to_limit);
        let mut stack = [(0f32, 0u32, 0u32); STACK];
        let mut top = 1;
        while top > 0 {
            top -= 1;
            let (lower, child, count) = stack[top];
            if lower > limit {
                continue;
            }
            if count > 0 {
                for t in child as usize..(child + count) as usize {
                    let (point, feature) = closest_on_triangle(&self.corners[t], x);
                    let d = (x - point).norm_squared();
                    if d < best.0 || (d == best.0 && best.1.is_none()) {
                        best = (d, Some((t, point, feature)));
                    }
                }
                limit = above(best.0 * to_limit);
                continue;
            }
            let node = &self.nodes[child as usize];
            let d = node.distances(&q);
            let start = top;
            for i in 0..4 {
                if node.child[i] == EMPTY || d[i] > limit {
                    continue;
                }
                // Keep the nearest on top.
                let mut at = top;
                while at > start && stack[at - 1].0 < d[i] {
                    stack[at] = stack[at - 1];
                    at -= 1;
                }
                stack[at] = (d[i], node.child[i], node.count[i]);
                top += 1;
            }
        }
        best.1.map(|(t, point, feature)| Closest {
            point,
            triangle: self.source[t],
            feature,
            distance: best.0.sqrt(),
        })
    }

    /// The first triangle that the ray meets with t_min ≤ t ≤ t_max, t in lengths of `direction`.
    pub fn ray(&self, origin: &Vec3, direction: &Vec3, t_min: f64, t_max: f64) -> Option<Hit> {
        let usable = |v: &Vec3| v.iter().all(|c| c.is_finite());
        if !usable(origin) || !usable(direction) || *direction == Vec3::zeros() {
            return None;
        }
        let ray = Ray::new(origin, direction);
        let mut best: Option<Hit> = None;
        self.walk_line(origin, direction, t_min, t_max, |t, limit| {
            if let Some((at, weights)) = ray.triangle(&self.corners[t])
                && at >= t_min
                && at <= *limit
                && best.is_none_or(|b| at < b.t)
            {
                best = Some(Hit { t: at, triangle: self.source[t], barycentric: weights });
                *limit = at;
            }
            true
        });
        best
    }

    /// Whether the segment from a to b passes through any triangle.
    pub fn any_crossing(&self, a: &Vec3, b: &Vec3) -> bool {
        let mut found = false;
        self.walk_line(a, &(b - a), 0.0, 1.0, |t, _| {
            found = segment_crosses(&self.corners[t], a, b).is_some();
            !found
        });
        found
    }

    /// All passages of the segment through triangles, in order. Through a shared edge both triangles
    /// are listed.
    pub fn crossings(&self, a: &Vec3, b: &Vec3, out: &mut Vec<Crossing>) {
        out.clear();
        self.walk_line(a, &(b - a), 0.0, 1.0, |t, _| {
            if let Some((at, from_front)) = segment_crosses(&self.corners[t], a, b) {
                out.push(Crossing { t: at, triangle: self.source[t], from_front });
            }
            true
        });
        out.sort_unstable_by(|p, q| p.t.total_cmp(&q.t).then(p.triangle.cmp(&q.triangle)));
    }

    /// Visit the triangles whose leaf meets origin + t·direction, t_min ≤ t ≤ limit, nearer children
    /// first. `visit` may lower the limit and returns false to stop.
    fn walk_line(
        &self,
        origin: &Vec3,
        direction: &Vec3,
        t_min: f64,
        t_max: f64,
        mut visit: impl FnMut(usize, &mut f64) -> bool,
    ) {
        let (o, d) = (self.frame.point(origin), direction * self.frame.scale);
        let finite = |v: &Vec3| v.iter().all(|c| c.is_finite());
        if self.is_empty() || !finite(&o) || !finite(&d) || t_min.is_nan() || t_max.is_nan() {
            return;
        }
        let slab = Slab::new(&o, &d);
        let mut limit = t_max;
        let mut stack = [(f64::NEG_INFINITY, 0u32, 0u32); STACK];
        let mut top = 1;
        while top > 0 {
            top -= 1;
            let (near, child, count) = stack[top];
            if near > limit {
                continue;
            }
            for t in child as usize..(child + count) as usize {
                if !visit(t, &mut limit) {
                    return;
                }
            }
            if count > 0 {
                continue;
            }
            let node = &self.nodes[child as usize];
            let entries = slab.entries(node, t_min, limit);
            let start = top;
            for i in 0..4 {
                if node.child[i] == EMPTY || entries[i] == f64::INFINITY {
                    continue;
                }
                let mut at = top;
                while at > start && stack[at - 1].0 < entries[i] {
                    stack[at] = stack[at - 1];
                    at -= 1;
                }
                stack[at] = (entries[i], node.child[i], node.count[i]);
                top += 1;
            }
        }
    }

    /// Whether any triangle shares a point with the box.
    pub fn overlaps(&self, bounds: &Aabb) -> bool {
        let mut found = false;
        self.walk_box(bounds, |t| {
            found = triangle_overlaps_box(&self.corners[t], bounds);
            !found
        });
        found
    }

    /// Append the mesh indices of the triangles that share a point with the box.
    pub fn overlapping(&self, bounds: &Aabb, out: &mut Vec<u32>) {
        self.walk_box(bounds, |t| {
            if triangle_overlaps_box(&self.corners[t], bounds) {
                out.push(self.source[t]);
            }
            true
        });
    }

    fn walk_box(&self, bounds: &Aabb, mut visit: impl FnMut(usize) -> bool) {
        if self.is_empty() || !bounds.overlaps(&self.bounds) {
            return;
        }
        let (lo, hi) = (self.frame.round(&bounds.lo).lo, self.frame.round(&bounds.hi).hi);
        let mut stack = [(0u32, 0u32); STACK];
        let mut top = 1;
        while top > 0 {
            top -= 1;
            let (child, count) = stack[top];
            if !(child as usize..(child + count) as usize).all(&mut visit) {
                return;
            }
            if count > 0 {
                continue;
            }
            let node = &self.nodes[child as usize];
            for i in 0..4 {
                let meets = (0..3).all(|a| node.lo[a][i] <= hi[a] && lo[a] <= node.hi[a][i]);
                if node.child[i] != EMPTY && meets {
                    stack[top] = (node.child[i], node.count[i]);
                    top += 1;
                }
            }
        }
    }
}

/// A line prepared for box tests, in f64; boxes grow by the rounding of the line's coordinates.
struct Slab {
    origin: Vec3,
    inverse: Vec3,
    slack: f64,
}

impl Slab {
    fn new(origin: &Vec3, direction: &Vec3) -> Self {
        // A zero component becomes a huge finite one, so that 0·∞ never arises.
        let inverse = direction.map(|d| if d.abs() < 1e-300 { 1e300f64.copysign(d) } else { 1.0 / d });
        Self { origin: *origin, inverse, slack: 1e-15 * (origin.amax() + direction.amax()) }
    }

    /// Where the line enters each box; +∞ if it misses it between t_min and t_max.
    #[inline]
    fn entries(&self, node: &Node, t_min: f64, t_max: f64) -> [f64; 4] {
        let max = |a: f64, b: f64| if a > b { a } else { b };
        let min = |a: f64, b: f64| if a < b { a } else { b };
        let (mut enter, mut leave) = ([t_min; 4], [t_max; 4]);
        for a in 0..3 {
            for i in 0..4 {
                let lo = (node.lo[a][i] as f64 - self.slack - self.origin[a]) * self.inverse[a];
                let hi = (node.hi[a][i] as f64 + self.slack - self.origin[a]) * self.inverse[a];
                enter[i] = max(enter[i], min(lo, hi));
                leave[i] = min(leave[i], max(lo, hi));
            }
        }
        std::array::from_fn(|i| if enter[i] <= leave[i] { enter[i] } else { f64::INFINITY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic numbers in [0, 1).
    fn numbers(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Triangles of mixed size thrown into a unit cube at an offset.
    fn soup(n: usize, offset: f64) -> TriMesh {
        let mut next = numbers(7);
        let mut mesh = TriMesh::default();
        for t in 0..n as u32 {
            let centre = Vec3::new(next(), next(), next()).add_scalar(offset);
            let size = if t % 10 == 0 { 0.5 } else { 0.05 };
            for _ in 0..3 {
                mesh.positions.push(centre + Vec3::new(next(), next(), next()) * size);
            }
            mesh.triangles.push([3 * t, 3 * t + 1, 3 * t + 2]);
        }
        mesh
    }

    fn nearest_by_scan(mesh: &TriMesh, x: &Vec3) -> f64 {
        let one = |t| (closest_on_triangle(&mesh.corners(t), x).0 - x).norm();
        (0..mesh.triangles.len()).map(one).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_tree_finds_what_a_scan_finds() {
        for offset in [0.0, 1e7] {
            let mesh = soup(500, offset);
            let bvh = Bvh::new(&mesh);
            let mut next = numbers(3);
            for _ in 0..300 {
                let mut point = || Vec3::new(next(), next(), next()) * 2.0 - Vec3::repeat(0.5 - offset);
                let (x, y) = (point(), point());
                let near = bvh.closest(&x, f64::INFINITY).unwrap();
                assert_eq!(near.distance, nearest_by_scan(&mesh, &x));
                assert!(bvh.closest(&x, 0.99 * near.distance).is_none());
                let scan: Vec<f64> =
                    (0..500).filter_map(|t| segment_crosses(&mesh.corners(t), &x, &y).map(|c| c.0)).collect();
                let mut found = Vec::new();
                bvh.crossings(&x, &y, &mut found);
                assert_eq!(found.len(), scan.len());
                assert_eq!(bvh.any_crossing(&x, &y), !scan.is_empty());
                assert!(found.is_sorted_by_key(|c| c.t));
                let hit = bvh.ray(&x, &(y - x), 0.0, 1.0);
                assert_eq!(hit.map(|h| h.triangle), found.first().map(|c| c.triangle));
                let part = Aabb::of_points([&x, &y]);
                let mut inside = Vec::new();
                bvh.overlapping(&part, &mut inside);
                inside.sort_unstable();
                let by_scan: Vec<u32> =
                    (0..500).filter(|t| triangle_overlaps_box(&mesh.corners(*t as usize), &part)).collect();
                assert_eq!(inside, by_scan);
                assert_eq!(bvh.overlaps(&part), !by_scan.is_empty());
            }
        }
    }

    #[test]
    fn a_refitted_tree_is_as_good_as_a_new_one() {
        let mut mesh = soup(300, 0.0);
        let mut bvh = Bvh::new(&mesh);
        mesh.positions.iter_mut().for_each(|p| *p = Vec3::new(p.y * 3.0, -p.x, p.z + p.x * p.y));
        bvh.refit(&mesh.positions);
        let mut next = numbers(5);
        for _ in 0..200 {
            let x = Vec3::new(next() * 3.0, -next(), next());
            assert_eq!(bvh.closest(&x, 10.0).unwrap().distance, nearest_by_scan(&mesh, &x));
        }
    }

    #[test]
    fn no_path_slips_through_an_edge_or_a_corner() {
        let mesh = TriMesh::icosphere(1.0, 2);
        let bvh = Bvh::new(&mesh);
        for t in &mesh.triangles {
            for i in 0..3 {
                let (p, q) = (mesh.positions[t[i] as usize], mesh.positions[t[(i + 1) % 3] as usize]);
                for target in [p, (p + q) * 0.5] {
                    assert!(bvh.any_crossing(&Vec3::zeros(), &(target * 2.0)));
                    assert!(bvh.ray(&Vec3::zeros(), &target, 0.0, 2.0).is_some());
                }
            }
        }
    }

    #[test]
    fn coinciding_triangles_and_bad_corners_are_harmless() {
        let one = TriMesh::new(vec![Vec3::zeros(), Vec3::x(), Vec3::y()], vec![[0, 1, 2]; 1000]);
        let bvh = Bvh::new(&one);
        assert_eq!(bvh.closest(&Vec3::z(), 9.0).unwrap().distance, 1.0);
        let mut bad = one.clone();
        bad.positions.push(Vec3::new(f64::NAN, 0.0, 0.0));
        bad.triangles = vec![[0, 1, 3], [0, 1, 99], [0, 1, 2]];
        assert_eq!(Bvh::new(&bad).len(), 1);
        let empty = Bvh::new(&TriMesh::default());
        assert!(empty.closest(&Vec3::zeros(), f64::INFINITY).is_none());
        assert!(!empty.any_crossing(&Vec3::x(), &Vec3::y()));
        assert!(bvh.closest(&Vec3::repeat(f64::NAN), f64::INFINITY).is_none());
        assert!(bvh.ray(&Vec3::z(), &Vec3::zeros(), 0.0, 1.0).is_none());
    }
}
