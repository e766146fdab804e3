//! What a tree of boxes answers: closest point, first hit of a ray, crossings of a segment, overlap.
//!
//! Closest point: children are opened in the order of their distance while a box is nearer than the
//! best triangle so far; the box distances are lower bounds in f32, the triangles are exact in f64.
//! Lines: boxes by slabs in f64. Checked here against a scan of all triangles.

use super::bvh::{Bvh, EMPTY, Node, above};
use super::bvh_build::MAX_LEVELS;
use super::triangle::{Feature, Ray, closest_on_triangle, segment_crosses, triangle_overlaps_box};
use crate::math::{Aabb, Vec3};

/// Entries of a traversal stack: each level leaves at most three behind.
pub(super) const STACK: usize = 3 * MAX_LEVELS + 4;

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

/// Children still to visit, the nearest on top.
struct Stack<K> {
    entries: [(K, u32, u32); STACK],
    len: usize,
}

impl<K: Copy + PartialOrd> Stack<K> {
    /// A stack that holds the root.
    fn new(root: K) -> Self {
        Self { entries: [(root, 0, 0); STACK], len: 1 }
    }

    /// The next (key, child, count).
    #[inline]
    fn pop(&mut self) -> Option<(K, u32, u32)> {
        self.len = self.len.checked_sub(1)?;
        Some(self.entries[self.len])
    }

    /// Add the children of a node whose key is at most the limit, so that the least is popped first.
    #[inline(always)]
    fn push(&mut self, node: &Node, keys: [K; 4], limit: K) {
        let start = self.len;
        for (i, key) in keys.into_iter().enumerate() {
            if node.child[i] == EMPTY || key > limit {
                continue;
            }
            let mut at = self.len;
            while at > start && self.entries[at - 1].0 < key {
                self.entries[at] = self.entries[at - 1];
                at -= 1;
            }
            self.entries[at] = (key, node.child[i], node.count[i]);
            self.len += 1;
        }
    }
}

impl Bvh {
    /// The nearest point of the mesh within `max_distance` of x (which may be infinite).
    pub fn closest(&self, x: &Vec3, max_distance: f64) -> Option<Closest> {
        if self.is_empty() || !x.iter().all(|v| v.is_finite()) || max_distance.is_nan() {
            return None;
        }
        let q = self.frame.round(x);
        let to_limit = self.frame.scale * self.frame.scale;
        let mut best = (max_distance * max_distance, None);
        let mut limit = above(best.0 * to_limit);
        let mut stack = Stack::new(0f32);
        while let Some((lower, child, count)) = stack.pop() {
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
            stack.push(node, node.distances(&q), limit);
        }
        best.1.map(|(t, point, feature)| Closest {
            point,
            triangle: self.source[t],
            feature,
            distance: best.0.sqrt(),
        })
    }

    /// Whether any point of the mesh is within `distance` of x.
    pub fn is_within(&self, x: &Vec3, distance: f64) -> bool {
        if self.is_empty() || !x.iter().all(|v| v.is_finite()) {
            return false;
        }
        let q = self.frame.round(x);
        let limit = above(distance * distance * self.frame.scale * self.frame.scale);
        let mut stack = Stack::new(0f32);
        while let Some((_, child, count)) = stack.pop() {
            let leaf = &self.corners[child as usize..][..count as usize];
            let near =
                |t: &[Vec3; 3]| (closest_on_triangle(t, x).0 - x).norm_squared() <= distance * distance;
            if leaf.iter().any(near) {
                return true;
            }
            if count == 0 {
                let node = &self.nodes[child as usize];
                stack.push(node, node.distances(&q), limit);
            }
        }
        false
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
        let mut stack = Stack::new(f64::NEG_INFINITY);
        while let Some((near, child, count)) = stack.pop() {
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
            stack.push(node, slab.entries(node, t_min, limit), f64::MAX);
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

    /// Append the corners of the triangles that share a point with the box.
    pub fn corners_in(&self, bounds: &Aabb, out: &mut Vec<[Vec3; 3]>) {
        self.walk_box(bounds, |t| {
            if triangle_overlaps_box(&self.corners[t], bounds) {
                out.push(self.corners[t]);
            }
            true
        });
    }

    fn walk_box(&self, bounds: &Aabb, mut visit: impl FnMut(usize) -> bool) {
        if self.is_empty() || !bounds.overlaps(&self.bounds()) {
            return;
        }
        let (lo, hi) = (self.frame.round(&bounds.lo).lo, self.frame.round(&bounds.hi).hi);
        let mut stack = Stack::new(0f32);
        while let Some((_, child, count)) = stack.pop() {
            if !(child as usize..(child + count) as usize).all(&mut visit) {
                return;
            }
            if count > 0 {
                continue;
            }
            let node = &self.nodes[child as usize];
            let meets = |i: usize| (0..3).all(|a| node.lo[a][i] <= hi[a] && lo[a] <= node.hi[a][i]);
            stack.push(node, std::array::from_fn(|i| if meets(i) { 0.0 } else { 1.0 }), 0.0);
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
    use crate::geometry::TriMesh;

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
                assert!(bvh.is_within(&x, 1.01 * near.distance) && !bvh.is_within(&x, 0.99 * near.distance));
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
