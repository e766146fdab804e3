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

use super::TriMesh;
use super::bvh_build::{Split, split_four};
use crate::math::{Aabb, Vec3};

/// Triangles of a leaf, at most.
pub(super) const LEAF: usize = 4;
/// A child that does not exist.
pub(super) const EMPTY: u32 = u32::MAX;
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
    pub fn distances(&self, q: &Rounded) -> [f32; 4] {
        let max = |a: f32, b: f32| if a > b { a } else { b };
        let mut sum = [0f32; 4];
        for a in 0..3 {
            for (i, s) in sum.iter_mut().enumerate() {
                let d = max(max(self.lo[a][i] - q.hi[a], q.lo[a] - self.hi[a][i]), 0.0);
                *s += d * d;
            }
        }
        // Six roundings of relative size 2⁻²⁴ each are less than 1e-6.
        sum.map(|s| s * (1.0 - 1e-6))
    }
}

/// A position in the tree's frame between two f32 values.
pub(super) struct Rounded {
    pub lo: [f32; 3],
    pub hi: [f32; 3],
}

/// Mesh coordinates to the unit frame of the boxes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub centre: Vec3,
    pub scale: f64,
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

    pub fn point(&self, x: &Vec3) -> Vec3 {
        (x - self.centre) * self.scale
    }

    pub fn round(&self, x: &Vec3) -> Rounded {
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
pub(super) fn above(v: f64) -> f32 {
    (v as f32).next_up()
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Bvh {
    pub(super) frame: Frame,
    bounds: Aabb,
    pub(super) nodes: Vec<Node>,
    /// Corners, vertex indices and mesh index of each triangle, in the order of the leaves.
    pub(super) corners: Vec<[Vec3; 3]>,
    vertices: Vec<[u32; 3]>,
    pub(super) source: Vec<u32>,
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
}
