//! Exact distances near a mesh by scan conversion of its features [Mau03].
//!
//! The nearest point of a mesh lies inside a face, inside an edge or on a vertex, and is nearest
//! among its neighbours too. So the grid points whose nearest point lies
//!   in a face    are in the prism over it,      0 ≤ m·(p−a)  for the inward directions m of its edges,
//!   in an edge   are in the wedge               0 ≤ ê·(p−a) ≤ L,  m·(p−a) ≤ 0  for its faces,
//!   on a vertex  are in the cone                ê·(p−v) ≤ 0  for its edges.
//! Each region is a few half-spaces; the points of a row inside it are an interval. Every point within
//! the band is visited by the feature that is nearest to it and by few others, and takes the least
//! distance. A wedge or cone is boxed by its extreme rays cut at the band; where it is too wide for
//! that, as at the rim of an open mesh, by the box of the feature grown by the band.
//!
//! All lengths here are in cells; grid points are the integers. Regions overlap by [`SLACK`], so that
//! rounding leaves no gap, and a distance may be too small by as much. Squared distances are kept as
//! the bits of non-negative floats, whose order is that of integers: the least of them does not depend
//! on which thread comes first. One thread alone needs no atomic exchange for that.

use super::Tiles;
use super::tiles::{NONE, SIDE};
use crate::geometry::{MeshEdges, TriMesh};
use crate::math::{Aabb, Vec3};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How far regions reach over their exact bounds, in cells.
const SLACK: f64 = 1e-9;
/// Features of a parallel task.
const TASK: usize = 512;
/// A cone whose rays are wider than acos(0.3) from its axis is boxed by the band instead.
const NARROW: f64 = 0.3;

/// Least distance at every node of the tiles, in cells, where it is below the band.
pub(super) fn scan(mesh: &TriMesh, edges: &MeshEdges, tiles: &Tiles, band: f64) -> Vec<f64> {
    let positions: Vec<Vec3> = mesh.positions.iter().map(|p| tiles.to_grid(p)).collect();
    let far = (band * band).to_bits();
    let field: Vec<AtomicU64> = (0..tiles.cells()).map(|_| AtomicU64::new(far)).collect();
    let frames: Vec<Frame> =
        mesh.triangles.par_iter().map(|t| Frame::new(&t.map(|v| positions[v as usize]))).collect();
    let normals = vertex_normals(mesh, edges, &frames);
    let input = Input { mesh, edges, positions: &positions, frames: &frames, normals: &normals, band };
    let alone = rayon::current_num_threads() == 1;
    let target = || Target { tiles, field: &field, cache: [([i32::MIN; 3], NONE); 8], alone };
    let run = |n: usize, visit: &(dyn Fn(usize, &mut Region, &mut Target) + Sync)| {
        (0..n)
            .into_par_iter()
            .with_min_len(TASK)
            .for_each_init(|| (Region::default(), target()), |(region, target), i| visit(i, region, target));
    };
    run(mesh.triangles.len(), &|t, region, target| input.face(t, region, target));
    run(edges.len(), &|e, region, target| input.edge(e, region, target));
    let spokes = Spokes::new(edges, positions.len());
    run(positions.len(), &|v, region, target| input.vertex(v, spokes.of(v), region, target));
    field.into_iter().map(|d| f64::from_bits(d.into_inner()).sqrt()).collect()
}

/// Unit normal of a triangle and the inward unit directions of its edges; zero without area.
#[derive(Clone, Copy)]
struct Frame {
    normal: Vec3,
    inward: [Vec3; 3],
}

impl Frame {
    fn new(p: &[Vec3; 3]) -> Self {
        let normal = (p[1] - p[0]).cross(&(p[2] - p[0])).try_normalize(0.0).unwrap_or_default();
        let inward = std::array::from_fn(|i| {
            normal.cross(&(p[(i + 1) % 3] - p[i])).try_normalize(0.0).unwrap_or_default()
        });
        // A sliver whose edges have no direction left is no face; its edges stand for it.
        let usable = inward.iter().all(|m| *m != Vec3::zeros());
        if usable {
            Self { normal, inward }
        } else {
            Self { normal: Vec3::zeros(), inward: [Vec3::zeros(); 3] }
        }
    }

    fn is_face(&self) -> bool {
        self.normal != Vec3::zeros()
    }
}

fn vertex_normals(mesh: &TriMesh, edges: &MeshEdges, frames: &[Frame]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::zeros(); mesh.positions.len()];
    for (t, frame) in mesh.triangles.iter().zip(frames) {
        for v in t {
            let sum = &mut normals[edges.vertex[*v as usize] as usize];
            *sum += frame.normal * if sum.dot(&frame.normal) < 0.0 { -1.0 } else { 1.0 };
        }
    }
    normals
}

/// The other ends of the edges at each vertex.
struct Spokes {
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl Spokes {
    fn new(edges: &MeshEdges, vertices: usize) -> Self {
        let mut starts = vec![0u32; vertices + 1];
        edges.ends.iter().flatten().for_each(|v| starts[*v as usize + 1] += 1);
        for v in 0..vertices {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut ends = vec![0; 2 * edges.len()];
        for [a, b] in &edges.ends {
            for (from, to) in [(a, b), (b, a)] {
                ends[next[*from as usize] as usize] = *to;
                next[*from as usize] += 1;
            }
        }
        Self { starts, ends }
    }

    fn of(&self, v: usize) -> &[u32] {
        &self.ends[self.starts[v] as usize..self.starts[v + 1] as usize]
    }
}

struct Input<'a> {
    mesh: &'a TriMesh,
    edges: &'a MeshEdges,
    positions: &'a [Vec3],
    frames: &'a [Frame],
    /// Mean normals at vertices, turned faces turned back.
    normals: &'a [Vec3],
    band: f64,
}

impl Input<'_> {
    fn face(&self, t: usize, region: &mut Region, target: &mut Target) {
        let frame = &self.frames[t];
        if !frame.is_face() {
            return;
        }
        let p = self.mesh.triangles[t].map(|v| self.positions[v as usize]);
        let (n, reach) = (frame.normal, frame.normal * self.band);
        region.clear(&n);
        for (inward, corner) in frame.inward.iter().zip(&p) {
            region.above(inward, corner);
        }
        region.above(&n, &(p[0] - reach));
        region.above(&-n, &(p[0] + reach));
        region.bounds = Aabb::of_points(p.map(|q| [q - reach, q + reach]).iter().flatten());
        region.visit(target, |x| {
            let d = n.dot(&(x - p[0]));
            d * d
        });
    }

    fn edge(&self, e: usize, region: &mut Region, target: &mut Target) {
        let [a, b] = self.edges.ends[e].map(|v| self.positions[v as usize]);
        let Some(along) = (b - a).try_normalize(0.0) else { return };
        let corners = self.edges.corners_of(e);
        let inward = |c: &u32| self.frames[*c as usize / 3].inward[*c as usize % 3];
        let long = corners.first().map_or(along, |c| self.frames[*c as usize / 3].normal);
        region.clear(&long);
        region.spread.extend(corners.iter().map(inward).filter(|m| *m != Vec3::zeros()));
        // Faces that continue each other leave a wedge thinner than the slack of their prisms.
        if let [m, n] = region.spread[..]
            && (m + n).norm() * self.band < SLACK
        {
            return;
        }
        for i in 0..region.spread.len() {
            region.above(&-region.spread[i], &a);
        }
        region.above(&along, &a);
        region.above(&-along, &b);
        if !region.bound_wedge(&a, &b, &along, self.band) {
            return;
        }
        region.visit(target, |x| along.cross(&(x - a)).norm_squared());
    }

    fn vertex(&self, v: usize, spokes: &[u32], region: &mut Region, target: &mut Target) {
        if spokes.is_empty() {
            return;
        }
        let p = self.positions[v];
        region.clear(&self.normals[v]);
        for s in spokes {
            if let Some(e) = (self.positions[*s as usize] - p).try_normalize(0.0) {
                region.above(&-e, &p);
                region.spread.push(e);
            }
        }
        let wide = |region: &mut Region, target: &mut Target| {
            region.bounds = Aabb::new(p, p).grow(self.band);
            region.visit(target, |x| (x - p).norm_squared());
        };
        let Some(axis) = cone_axis(&region.spread, &self.normals[v]) else {
            return wide(region, target);
        };
        // Faces that continue each other leave a cone thinner than the slack of their prisms.
        if region.spread.iter().all(|e| e.dot(&axis).abs() * self.band < SLACK) {
            return;
        }
        for axis in [axis, -axis] {
            match region.bound_cone(&p, &axis, self.band) {
                Cone::Empty => {}
                Cone::Narrow => region.visit(target, |x| (x - p).norm_squared()),
                Cone::Wide => return wide(region, target),
            }
        }
    }
}

enum Cone {
    Empty,
    Narrow,
    Wide,
}

/// Points of a box that lie above some planes. Solved for x, a plane (c, b, a) bounds a row from below
/// or above by c − b y − a z; planes along x keep or drop whole rows.
struct Region {
    /// The axis that rows follow, here called x; the next two are y and z.
    axis: usize,
    lower: Vec<[f64; 3]>,
    upper: Vec<[f64; 3]>,
    across: Vec<[f64; 3]>,
    /// Directions at the feature: inward ones at an edge, edges at a vertex.
    spread: Vec<Vec3>,
    bounds: Aabb,
}

impl Default for Region {
    fn default() -> Self {
        let none = Vec::new;
        Self {
            axis: 0,
            lower: none(),
            upper: none(),
            across: none(),
            spread: Vec::new(),
            bounds: Aabb::empty(),
        }
    }
}

/// Largest integer that is at most v; faster than `floor` where that is a call.
#[inline]
fn floor(v: f64) -> i32 {
    let t = v as i32;
    t - (v < t as f64) as i32
}

impl Region {
    /// Start a region that is long in the given direction.
    fn clear(&mut self, long: &Vec3) {
        self.axis = long.iamax();
        self.lower.clear();
        self.upper.clear();
        self.across.clear();
        self.spread.clear();
    }

    /// Components with the row's axis first.
    #[inline]
    fn turn(&self, v: &Vec3) -> Vec3 {
        let a = self.axis;
        Vec3::new(v[a], v[(a + 1) % 3], v[(a + 2) % 3])
    }

    /// Keep the points on the side of `normal` from `point`.
    #[inline]
    fn above(&mut self, normal: &Vec3, point: &Vec3) {
        let n = self.turn(normal);
        let plane = [normal.dot(point) - SLACK, n.y, n.z];
        let inverse = 1.0 / n.x;
        let solved = plane.map(|c| c * inverse);
        if n.x > 1e-12 {
            self.lower.push(solved);
        } else if n.x < -1e-12 {
            self.upper.push(solved);
        } else {
            self.across.push(plane);
        }
    }

    /// Box the wedge at the edge from a to b; false if it is empty.
    fn bound_wedge(&mut self, a: &Vec3, b: &Vec3, along: &Vec3, band: f64) -> bool {
        let inward = &self.spread;
        // A single face, or faces folded onto each other, leave half of space.
        let folded = |m: &Vec3| m.dot(&inward[0]) > 0.0 && m.cross(&inward[0]).norm() < 1e-9;
        let half = inward.len() < 2 || inward.iter().all(folded);
        // The extreme rays of the wedge are normals of its faces, one way or the other.
        let inside = |r: &Vec3| inward.iter().all(|m| m.dot(r) <= 1e-12);
        let normals = || inward.iter().map(|m| along.cross(m)).flat_map(|n| [n, -n]).filter(inside);
        let axis = normals().sum::<Vec3>().try_normalize(1e-9).unwrap_or_default();
        self.bounds = Aabb::of_points([a, b]);
        if !half && normals().next().is_none() {
            return false;
        }
        if !half && normals().all(|r| r.dot(&axis) > NARROW) {
            for r in normals() {
                let reach = r * (band / r.dot(&axis));
                self.bounds = self.bounds.include(&(a + reach)).include(&(b + reach));
            }
            self.above(&-axis, &(a + axis * band));
        } else {
            self.bounds = self.bounds.grow(band);
            let side = along.cross(&Vec3::ith(along.iamin(), 1.0)).normalize();
            for u in [side, along.cross(&side)] {
                self.above(&u, &(a - u * band));
                self.above(&-u, &(a + u * band));
            }
        }
        true
    }

    /// Box the half of the cone at p on the side of `axis`, given that it meets the plane across the
    /// axis only in p.
    fn bound_cone(&mut self, p: &Vec3, axis: &Vec3, band: f64) -> Cone {
        let edges = &self.spread;
        self.bounds = Aabb::new(*p, *p);
        let mut cone = Cone::Empty;
        for (i, e) in edges.iter().enumerate() {
            for f in &edges[i + 1..] {
                let n = e.cross(f);
                let n = if n.dot(axis) < 0.0 { -n } else { n };
                let size = n.norm();
                if size < 1e-9 || edges.iter().any(|g| g.dot(&n) > 1e-9 * size) {
                    continue;
                }
                let rise = n.dot(axis);
                if rise < NARROW * size {
                    return Cone::Wide;
                }
                cone = Cone::Narrow;
                self.bounds = self.bounds.include(&(p + n * (band / rise)));
            }
        }
        cone
    }

    /// Offer the squared distance to every grid point of the region.
    #[inline]
    fn visit(&self, target: &mut Target, distance: impl Fn(&Vec3) -> f64) {
        let lo = self.turn(&self.bounds.lo).map(|c| -floor(SLACK - c));
        let hi = self.turn(&self.bounds.hi).map(|c| floor(c + SLACK));
        let [a, b, c] = [self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3];
        let mut at = [0; 3];
        for z in lo.z..=hi.z {
            for y in lo.y..=hi.y {
                let (mut first, mut last) = (lo.x as f64, hi.x as f64);
                let bound = |p: &[f64; 3]| p[0] - p[1] * y as f64 - p[2] * z as f64;
                for plane in &self.lower {
                    let x = bound(plane);
                    first = if x > first { x } else { first };
                }
                for plane in &self.upper {
                    let x = bound(plane);
                    last = if x < last { x } else { last };
                }
                if first > last + SLACK || self.across.iter().any(|p| bound(p) > SLACK) {
                    continue;
                }
                (at[b], at[c]) = (y, z);
                for x in -floor(SLACK - first)..=floor(last + SLACK) {
                    at[a] = x;
                    let p = Vec3::new(at[0] as f64, at[1] as f64, at[2] as f64);
                    target.offer(at, distance(&p));
                }
            }
        }
    }
}

/// The normal at a vertex if its edges surround it, so that no direction across the normal belongs to
/// the cone; None if they leave a side free.
fn cone_axis(edges: &[Vec3], normal: &Vec3) -> Option<Vec3> {
    let axis = normal.try_normalize(1e-3)?;
    let surround = edges.iter().all(|e| {
        let t = axis.cross(e);
        edges.iter().any(|f| f.dot(&t) > 1e-6) && edges.iter().any(|f| f.dot(&t) < -1e-6)
    });
    surround.then_some(axis)
}

/// Where distances go, with the tiles used last.
struct Target<'a> {
    tiles: &'a Tiles,
    field: &'a [AtomicU64],
    cache: [([i32; 3], u32); 8],
    /// Whether no other thread writes.
    alone: bool,
}

impl Target<'_> {
    #[inline]
    fn offer(&mut self, at: [i32; 3], squared: f64) {
        let tile = at.map(|c| c >> 3);
        let slot = &mut self.cache[((tile[0] & 1) | (tile[1] & 1) << 1 | (tile[2] & 1) << 2) as usize];
        if slot.0 != tile {
            *slot = (tile, self.tiles.find(&tile));
        }
        if slot.1 == NONE {
            return;
        }
        let [x, y, z] = at.map(|c| (c & 7) as usize);
        let place = &self.field[slot.1 as usize * self.tiles.volume() + (z * SIDE + y) * SIDE + x];
        let bits = squared.to_bits();
        if bits < place.load(Relaxed) {
            if self.alone {
                place.store(bits, Relaxed);
            } else {
                place.fetch_min(bits, Relaxed);
            }
        }
    }
}
