//! How a tree of boxes is cut: binned surface-area heuristic, then four children a node.
//!
//! A set of triangles is cut where area(left)·n(left) + area(right)·n(right) is least over 16 bins of
//! centroids along the longest axis, or along each axis for small sets; where no bin boundary
//! separates, or the tree grows deep, the set is halved at the median. The halves are built in parallel
//! on disjoint slices, so the tree depends only on the mesh.

use super::TriMesh;
use super::bvh::LEAF;
use crate::math::{Aabb, Vec3};

const BINS: usize = 16;
/// Sets up to this size are cut along the best of three axes; it is the last cuts that matter.
const SMALL: usize = 128;
/// Below this depth cuts are at the median, which bounds the depth of the whole.
const DEEP: usize = 32;
/// The deepest a tree gets: [`DEEP`] levels, then halving 2³² triangles down to leaves.
pub(super) const MAX_LEVELS: usize = DEEP + 30;
/// Sets smaller than this are built on one thread.
const SERIAL: usize = 4096;

/// A binary cut of the triangles, whose order it has changed.
pub(super) enum Split {
    Leaf { first: u32, count: u32 },
    Inner { area: f64, halves: Box<[Split; 2]> },
}

#[derive(Clone, Copy)]
struct Item {
    bounds: Aabb,
    centre: Vec3,
    triangle: u32,
}

impl Split {
    /// Sort `triangles` into the order of the leaves and return the tree over them.
    pub fn build(mesh: &TriMesh, triangles: &mut [u32]) -> Option<Split> {
        let item = |t: &u32| {
            let bounds = Aabb::of_points(&mesh.corners(*t as usize));
            Item { bounds, centre: bounds.lo * 0.5 + bounds.hi * 0.5, triangle: *t }
        };
        let mut items: Vec<Item> = triangles.iter().map(item).collect();
        let tree = (!items.is_empty()).then(|| cut(&mut items, 0, 0));
        triangles.iter_mut().zip(&items).for_each(|(t, item)| *t = item.triangle);
        tree
    }

    fn area(&self) -> f64 {
        match self {
            Split::Leaf { .. } => -1.0,
            Split::Inner { area, .. } => *area,
        }
    }
}

/// Up to four children of a node: the widest of them is opened until there are four.
pub(super) fn split_four(split: &Split) -> Vec<&Split> {
    let mut children = match split {
        Split::Leaf { .. } => return vec![split],
        Split::Inner { halves, .. } => halves.iter().collect::<Vec<_>>(),
    };
    while children.len() < 4 {
        let Some(widest) =
            (0..children.len()).max_by(|a, b| children[*a].area().total_cmp(&children[*b].area()))
        else {
            break;
        };
        let Split::Inner { halves, .. } = children[widest] else { break };
        children[widest] = &halves[0];
        children.insert(widest + 1, &halves[1]);
    }
    children
}

fn cut(items: &mut [Item], first: u32, depth: usize) -> Split {
    if items.len() <= LEAF {
        return Split::Leaf { first, count: items.len() as u32 };
    }
    let middle = if depth < DEEP { cut_by_area(items) } else { None };
    let middle = middle.unwrap_or_else(|| cut_at_median(items));
    let area = half_area(&items.iter().fold(Aabb::empty(), |b, i| union(&b, &i.bounds)));
    let serial = items.len() < SERIAL;
    let (left, right) = items.split_at_mut(middle);
    let second = first + middle as u32;
    let halves = if serial {
        (cut(left, first, depth + 1), cut(right, second, depth + 1))
    } else {
        rayon::join(|| cut(left, first, depth + 1), || cut(right, second, depth + 1))
    };
    Split::Inner { area, halves: Box::new([halves.0, halves.1]) }
}

/// The box round two, by plain comparisons: corners are finite here, and `min` would look for NaN.
fn union(a: &Aabb, b: &Aabb) -> Aabb {
    Aabb {
        lo: a.lo.zip_map(&b.lo, |p, q| if p < q { p } else { q }),
        hi: a.hi.zip_map(&b.hi, |p, q| if p > q { p } else { q }),
    }
}

fn half_area(b: &Aabb) -> f64 {
    let s = b.size();
    s.x * s.y + s.y * s.z + s.z * s.x
}

fn centres(items: &[Item]) -> Aabb {
    Aabb::of_points(items.iter().map(|i| &i.centre))
}

fn cut_at_median(items: &mut [Item]) -> usize {
    let axis = centres(items).size().imax();
    let middle = items.len() / 2;
    let key =
        |i: &Item, j: &Item| i.centre[axis].total_cmp(&j.centre[axis]).then(i.triangle.cmp(&j.triangle));
    items.select_nth_unstable_by(middle, key);
    middle
}

/// Partition at the cheapest bin boundary; None if all centres fall into one bin.
fn cut_by_area(items: &mut [Item]) -> Option<usize> {
    let range = centres(items);
    let scale = range.size().map(|s| BINS as f64 / s);
    let bin = |axis: usize, c: &Vec3| (((c[axis] - range.lo[axis]) * scale[axis]) as usize).min(BINS - 1);
    let longest = range.size().imax();
    let mut best = (f64::INFINITY, 0, 0);
    for axis in 0..3 {
        let wanted = axis == longest || items.len() <= SMALL;
        if wanted && range.size()[axis].is_normal() {
            let (cost, at) = cheapest_boundary(items, |c| bin(axis, c));
            if cost < best.0 {
                best = (cost, axis, at);
            }
        }
    }
    let (cost, axis, at) = best;
    cost.is_finite().then(|| partition(items, |i| bin(axis, &i.centre) < at))
}

/// The bin boundary with the least area times count, and that cost.
fn cheapest_boundary(items: &[Item], bin: impl Fn(&Vec3) -> usize) -> (f64, usize) {
    let mut bins = [(0usize, Aabb::empty()); BINS];
    for item in items {
        let b = &mut bins[bin(&item.centre)];
        *b = (b.0 + 1, union(&b.1, &item.bounds));
    }
    let join = |a: (usize, Aabb), b: &(usize, Aabb)| (a.0 + b.0, union(&a.1, &b.1));
    let mut right = [(0, Aabb::empty()); BINS + 1];
    for b in (0..BINS).rev() {
        right[b] = join(right[b + 1], &bins[b]);
    }
    let mut left = (0, Aabb::empty());
    let mut best = (f64::INFINITY, 0);
    for at in 1..BINS {
        left = join(left, &bins[at - 1]);
        if left.0 == 0 || right[at].0 == 0 {
            continue;
        }
        let cost = half_area(&left.1) * left.0 as f64 + half_area(&right[at].1) * right[at].0 as f64;
        if cost < best.0 {
            best = (cost, at);
        }
    }
    best
}

/// Move the items that belong left to the front; returns how many.
fn partition(items: &mut [Item], left: impl Fn(&Item) -> bool) -> usize {
    let mut end = 0;
    for i in 0..items.len() {
        if left(&items[i]) {
            items.swap(i, end);
            end += 1;
        }
    }
    end
}
