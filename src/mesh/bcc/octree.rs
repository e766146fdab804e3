//! The octree under the lattice: which cells are refined, with edge balance.
//!
//! The domain is a box of equal root cells; a cell is a leaf or has eight children of half its width.
//! Nodes are numbered level by level, the children of the r-th refined node are eight consecutive nodes,
//! and within a level nodes follow the Morton order. Leaves have their own numbers, along the Morton
//! curve through all levels, so that what is near in space is mostly near in memory.
//!
//! Edge balance: leaves that share a face or a part of an edge differ by at most one level; across
//! corners anything goes. One pass from the finest level upwards reaches it: if a node is refined, the 18
//! neighbours of its size across faces and edges must exist, so their parents are refined too.
//!
//! Positions are whole numbers: the narrowest possible leaf is 4 units wide, so leaf corners are
//! multiples of 4, leaf centres of 2 and the circumcentres of the lattice of 1.

use super::stencil::offset;
use crate::error::{Error, Result};
use crate::math::Vec3;
use rayon::prelude::*;

/// No node, or no children.
pub const NONE: u32 = u32::MAX;
/// Units across the narrowest possible leaf.
pub const FINEST: i32 = 4;
/// Cells an axis may have at the finest level: positions then fit 32 bits and keys 64.
const LONGEST: u64 = 1 << 20;

/// The domain of an octree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OctreeDomain {
    /// The lower corner, m.
    pub origin: Vec3,
    /// Root cells along each axis.
    pub roots: [u32; 3],
    /// Width of a root cell, m.
    pub root_width: f64,
    /// How often a root cell may be halved.
    pub depth: u32,
    /// Whether opposite sides are the same place; walls otherwise.
    pub periodic: bool,
    /// More leaves than this are an error.
    pub max_leaves: usize,
}

impl OctreeDomain {
    /// Refuse boxes that are empty, not finite or too fine to be counted.
    fn check(&self) -> Result<()> {
        let fault = |message: String| Err(Error::invalid("octree", message));
        let finite = self.origin.iter().all(|x| x.is_finite()) && self.root_width.is_finite();
        if !finite || self.root_width <= 0.0 {
            return fault(format!(
                "origin {:?} and cell width {} must be finite, the width positive",
                self.origin.as_slice(),
                self.root_width
            ));
        }
        let longest = self.roots.iter().map(|&n| n as u64).max().unwrap_or(0);
        if self.depth > 20 || self.roots.contains(&0) || longest << self.depth > LONGEST {
            return fault(format!(
                "{:?} root cells halved {} times: at least one and at most {LONGEST} cells an axis",
                self.roots, self.depth
            ));
        }
        if self.periodic && self.roots.iter().any(|&n| n < 3) {
            return fault("a periodic domain needs three root cells along each axis".into());
        }
        self.check_count(self.roots.iter().map(|&n| n as usize).product())
    }

    fn check_count(&self, leaves: usize) -> Result<()> {
        // About 1.5 kB a leaf for the lattice and its fields.
        let megabytes = |n: usize| (n as u64 * 1500) >> 20;
        if leaves <= self.max_leaves {
            return Ok(());
        }
        Err(Error::Memory {
            what: format!("an octree of {leaves} leaves"),
            needed_mb: megabytes(leaves),
            limit_mb: megabytes(self.max_leaves),
            fix: "choose a coarser finest cell, a thinner band, or allow more leaves".into(),
        })
    }

    /// Width of a cell of a level, in units.
    fn width(&self, level: usize) -> i32 {
        FINEST << (self.depth as usize - level)
    }

    /// Metres in a unit.
    pub fn unit(&self) -> f64 {
        self.root_width / self.width(0) as f64
    }

    /// Where a position in units is.
    pub fn place(&self, x: [i32; 3]) -> Vec3 {
        self.origin + Vec3::new(x[0] as f64, x[1] as f64, x[2] as f64) * self.unit()
    }

    /// The cell at a place of a level.
    fn cell(&self, level: usize, index: [u32; 3]) -> OctreeCell {
        let width = self.width(level);
        let centre = self.place(index.map(|x| x as i32 * width + width / 2));
        OctreeCell { level, index, centre, width: width as f64 * self.unit() }
    }

    /// The nearest point of the domain.
    pub fn clamp(&self, x: &Vec3) -> Vec3 {
        let size = Vec3::from(self.roots.map(f64::from)) * self.root_width;
        x.sup(&self.origin).inf(&(self.origin + size))
    }

    /// The cell a step away at a level, or None outside.
    fn step(&self, level: usize, at: [u32; 3], by: [i32; 3]) -> Option<[u32; 3]> {
        let mut to = at;
        for a in 0..3 {
            let count = (self.roots[a] << level) as i32;
            let x = at[a] as i32 + by[a];
            if !self.periodic && !(0..count).contains(&x) {
                return None;
            }
            to[a] = x.rem_euclid(count) as u32;
        }
        Some(to)
    }
}

/// A cell of an octree, as a sizing function sees it.
#[derive(Clone, Copy, Debug)]
pub struct OctreeCell {
    /// 0 for a root cell.
    pub level: usize,
    /// Cells of this level before it along each axis.
    pub index: [u32; 3],
    /// The middle, m.
    pub centre: Vec3,
    /// m.
    pub width: f64,
}

/// A balanced octree.
#[derive(Clone, Debug)]
pub struct Octree {
    domain: OctreeDomain,
    /// First node of each level, and the number of nodes.
    level_start: Vec<u32>,
    /// Morton key of each node within its level.
    keys: Vec<u64>,
    first_child: Vec<u32>,
    /// The nodes with children, ascending.
    refined: Vec<u32>,
    /// The root at each place of the grid of roots, x fastest.
    root_at: Vec<u32>,
    /// The node of each leaf.
    leaves: Vec<u32>,
    /// The leaf of each node, or [`NONE`].
    leaf_of: Vec<u32>,
}

impl Octree {
    /// Refine where `wants` says so, and where balance needs it.
    pub fn new(domain: OctreeDomain, wants: impl Fn(&OctreeCell) -> bool + Sync) -> Result<Self> {
        domain.check()?;
        let mut refined = wanted(&domain, wants)?;
        balance(&domain, &mut refined);
        let leaves = domain.roots.iter().map(|&n| n as usize).product::<usize>()
            + 7 * refined.iter().map(Vec::len).sum::<usize>();
        domain.check_count(leaves)?;
        Ok(assemble(domain, &refined))
    }

    /// Whether no leaf needs to be refined. A tree that was built with a wide band and still suffices for a narrow
    /// one can be kept.
    pub fn suffices(&self, wants: impl Fn(&OctreeCell) -> bool + Sync) -> bool {
        (0..self.leaves()).into_par_iter().all(|leaf| {
            let node = self.node(leaf);
            let level = self.level(node);
            level == self.domain.depth as usize
                || !wants(&self.domain.cell(level, morton_decode(self.keys[node as usize])))
        })
    }

    pub fn domain(&self) -> &OctreeDomain {
        &self.domain
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The node of a leaf.
    pub fn node(&self, leaf: usize) -> u32 {
        self.leaves[leaf]
    }

    /// The leaf at a node, or [`NONE`] if it has children.
    pub fn leaf_of(&self, node: u32) -> u32 {
        self.leaf_of[node as usize]
    }

    /// The first of the eight children of a node, or [`NONE`].
    #[inline]
    pub fn first_child(&self, node: u32) -> u32 {
        self.first_child[node as usize]
    }

    /// The nodes with children, ascending.
    pub fn refined(&self) -> &[u32] {
        &self.refined
    }

    /// The level and the place of every refined cell, in the order of the nodes.
    pub fn refined_cells(&self) -> Vec<[u32; 4]> {
        let cell = |&node: &u32| {
            let [x, y, z] = morton_decode(self.keys[node as usize]);
            [self.level(node) as u32, x, y, z]
        };
        self.refined.iter().map(cell).collect()
    }

    /// Which of the refined nodes a node with children is.
    #[inline]
    pub(super) fn rank(&self, first_child: u32) -> usize {
        ((first_child - self.level_start[1]) / 8) as usize
    }

    /// The rank of the parent and the octant of a node, None for a root.
    #[inline]
    pub(super) fn parent(&self, node: u32) -> Option<(usize, usize)> {
        let at = node.checked_sub(self.level_start[1])?;
        Some((at as usize / 8, at as usize % 8))
    }

    /// The level of a node.
    pub fn level(&self, node: u32) -> usize {
        self.level_start.partition_point(|&s| s <= node) - 1
    }

    /// First node of each level, and the number of nodes.
    pub(super) fn level_starts(&self) -> &[u32] {
        &self.level_start
    }

    /// The lower corner of a node of a level, in units.
    pub(super) fn corner(&self, node: u32, level: usize) -> [i32; 3] {
        morton_decode(self.keys[node as usize]).map(|x| x as i32 * self.domain.width(level))
    }

    /// Width of a cell of a level, in units.
    pub(super) fn width(&self, level: usize) -> i32 {
        self.domain.width(level)
    }

    /// The root a step away from a root, or [`NONE`] outside.
    pub(super) fn root_step(&self, root: u32, step: usize) -> u32 {
        let at = morton_decode(self.keys[root as usize]);
        self.domain.step(0, at, offset(step)).map_or(NONE, |to| self.root_at[self.root_index(to)])
    }

    pub(super) fn root_index(&self, at: [u32; 3]) -> usize {
        let n = self.domain.roots.map(|n| n as usize);
        at[0] as usize + n[0] * (at[1] as usize + n[1] * at[2] as usize)
    }

    /// The place of a root in the grid of roots.
    pub(super) fn root_place(&self, root: u32) -> [u32; 3] {
        morton_decode(self.keys[root as usize])
    }

    /// The leaf that holds a point; one outside the domain gives the nearest leaf, a NaN any.
    pub fn locate(&self, x: &Vec3) -> usize {
        let d = &self.domain;
        let scale = (1u64 << d.depth) as f64 / d.root_width;
        let mut at = [0u32; 3];
        for a in 0..3 {
            let last = ((d.roots[a] as u64) << d.depth) - 1;
            // Casts saturate, so what is far outside stays at the side.
            at[a] = (((x[a] - d.origin[a]) * scale) as u64).min(last) as u32;
        }
        self.locate_cell(at)
    }

    /// The leaf over a cell of the finest level.
    fn locate_cell(&self, at: [u32; 3]) -> usize {
        let mut shift = self.domain.depth;
        let mut node = self.root_at[self.root_index(at.map(|x| x >> shift))];
        while self.first_child(node) != NONE {
            shift -= 1;
            let octant = (at[0] >> shift & 1) | (at[1] >> shift & 1) << 1 | (at[2] >> shift & 1) << 2;
            node = self.first_child(node) + octant;
        }
        self.leaf_of(node) as usize
    }
}

/// The keys of the roots, ascending.
fn root_keys(domain: &OctreeDomain) -> Vec<u64> {
    let [nx, ny, nz] = domain.roots;
    let rows = (0..ny * nz).flat_map(|yz| (0..nx).map(move |x| [x, yz % ny, yz / ny]));
    let mut keys: Vec<u64> = rows.map(morton_encode).collect();
    keys.sort_unstable();
    keys
}

/// The keys of the nodes that the sizing refines, level by level.
fn wanted(domain: &OctreeDomain, wants: impl Fn(&OctreeCell) -> bool + Sync) -> Result<Vec<Vec<u64>>> {
    let (mut levels, mut nodes) = (Vec::new(), root_keys(domain));
    let mut leaves = nodes.len();
    for level in 0..domain.depth as usize {
        let refines = |&&key: &&u64| wants(&domain.cell(level, morton_decode(key)));
        let refined: Vec<u64> = nodes.par_iter().filter(refines).copied().collect();
        if refined.is_empty() {
            break;
        }
        leaves += 7 * refined.len();
        domain.check_count(leaves)?;
        nodes = children(&refined);
        levels.push(refined);
    }
    Ok(levels)
}

fn children(refined: &[u64]) -> Vec<u64> {
    refined.iter().flat_map(|key| (0..8).map(move |octant| key << 3 | octant)).collect()
}

/// Refine the parents of all neighbours across faces and edges, finest level first.
fn balance(domain: &OctreeDomain, refined: &mut [Vec<u64>]) {
    for level in (1..refined.len()).rev() {
        let (coarse, fine) = refined.split_at_mut(level);
        let needed = fine[0].par_iter().flat_map_iter(|&key| parents_around(domain, level, key));
        let above = &mut coarse[level - 1];
        above.par_extend(needed);
        above.par_sort_unstable();
        above.dedup();
    }
}

/// The parents of the 18 neighbours: those that the parent reaches from this octant's side.
fn parents_around(domain: &OctreeDomain, level: usize, key: u64) -> impl Iterator<Item = u64> {
    let (octant, parent) = ((key & 7) as usize, morton_decode(key >> 3));
    let outward = [0, 1, 2].map(|a| (octant >> a & 1) as i32 * 2 - 1);
    let to = move |mask: usize| [0, 1, 2].map(|a| if mask >> a & 1 == 1 { outward[a] } else { 0 });
    let (domain, level) = (*domain, level - 1);
    (1..7).filter_map(move |mask| domain.step(level, parent, to(mask))).map(morton_encode)
}

/// Number nodes and leaves.
fn assemble(domain: OctreeDomain, refined_keys: &[Vec<u64>]) -> Octree {
    let roots = root_keys(&domain);
    let mut level_start = vec![0, roots.len() as u32];
    let mut keys = roots;
    let (mut first_child, mut refined) = (Vec::new(), Vec::new());
    for level in 0.. {
        let (start, end) = (level_start[level] as usize, level_start[level + 1] as usize);
        let mut pending = refined_keys.get(level).map_or(&[][..], |k| k).iter().peekable();
        let mut next = Vec::new();
        for (node, own) in (start..end).zip(&keys[start..end]) {
            let here = pending.next_if(|k| *k == own);
            first_child.push(here.map_or(NONE, |_| level_start[1] + 8 * refined.len() as u32));
            if let Some(key) = here {
                refined.push(node as u32);
                next.push(*key);
            }
        }
        if next.is_empty() {
            break;
        }
        keys.append(&mut children(&next));
        level_start.push(keys.len() as u32);
    }
    let root_at = place_roots(&domain, &keys[..level_start[1] as usize]);
    let (leaves, leaf_of) = number_leaves(&first_child, level_start[1] as usize);
    Octree { domain, level_start, keys, first_child, refined, root_at, leaves, leaf_of }
}

fn place_roots(domain: &OctreeDomain, keys: &[u64]) -> Vec<u32> {
    let [nx, ny, _] = domain.roots.map(|n| n as usize);
    let mut root_at = vec![0; keys.len()];
    for (root, &key) in keys.iter().enumerate() {
        let [x, y, z] = morton_decode(key).map(|x| x as usize);
        root_at[x + nx * (y + ny * z)] = root as u32;
    }
    root_at
}

/// Number leaves along the Morton curve: sizes of subtrees upwards, then first numbers downwards.
fn number_leaves(first_child: &[u32], roots: usize) -> (Vec<u32>, Vec<u32>) {
    let mut size = vec![1u32; first_child.len()];
    let below = |n: usize| first_child[n] as usize..first_child[n] as usize + 8;
    for n in (0..first_child.len()).rev().filter(|&n| first_child[n] != NONE) {
        size[n] = size[below(n)].iter().sum();
    }
    // From here on `size` becomes the first leaf of each subtree.
    let mut start = 0;
    for s in &mut size[..roots] {
        start += std::mem::replace(s, start);
    }
    let mut leaves = vec![0; start as usize];
    for n in 0..first_child.len() {
        if first_child[n] == NONE {
            leaves[size[n] as usize] = n as u32;
            continue;
        }
        let mut start = size[n];
        for s in &mut size[below(n)] {
            start += std::mem::replace(s, start);
        }
    }
    let leaf = |n: usize| if first_child[n] == NONE { size[n] } else { NONE };
    let leaf_of = (0..first_child.len()).map(leaf).collect();
    (leaves, leaf_of)
}

/// Interleave the bits of three numbers below 2²¹.
fn morton_encode(x: [u32; 3]) -> u64 {
    let spread = |x: u32| {
        let mut v = x as u64 & 0x1F_FFFF;
        v = (v | v << 32) & 0x001F_0000_0000_FFFF;
        v = (v | v << 16) & 0x001F_0000_FF00_00FF;
        v = (v | v << 8) & 0x100F_00F0_0F00_F00F;
        v = (v | v << 4) & 0x10C3_0C30_C30C_30C3;
        (v | v << 2) & 0x1249_2492_4924_9249
    };
    spread(x[0]) | spread(x[1]) << 1 | spread(x[2]) << 2
}

fn morton_decode(key: u64) -> [u32; 3] {
    let gather = |key: u64| {
        let mut v = key & 0x1249_2492_4924_9249;
        v = (v | v >> 2) & 0x10C3_0C30_C30C_30C3;
        v = (v | v >> 4) & 0x100F_00F0_0F00_F00F;
        v = (v | v >> 8) & 0x001F_0000_FF00_00FF;
        v = (v | v >> 16) & 0x001F_0000_0000_FFFF;
        ((v | v >> 32) & 0x1F_FFFF) as u32
    };
    [gather(key), gather(key >> 1), gather(key >> 2)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::bcc::stencil::{STAY, reach};

    fn domain(roots: [u32; 3], depth: u32, periodic: bool) -> OctreeDomain {
        OctreeDomain {
            origin: Vec3::new(-1.0, 0.5, 2.0),
            roots,
            root_width: 0.25,
            depth,
            periodic,
            max_leaves: 1 << 20,
        }
    }

    #[test]
    fn keys_hold_their_coordinates() {
        for x in [[0, 1, 2], [5, 1 << 20, 77], [(1 << 21) - 1, 0, 1234567]] {
            assert_eq!(morton_decode(morton_encode(x)), x);
        }
    }

    #[test]
    fn refining_one_corner_deeply_refines_its_neighbours() {
        for periodic in [false, true] {
            let d = domain([3, 4, 3], 5, periodic);
            let tree = Octree::new(d, |c| c.index == [1 << c.level; 3]).unwrap();
            // Leaves across faces and edges differ by one level at most, seen by stepping from each leaf.
            for leaf in 0..tree.leaves() {
                let node = tree.node(leaf);
                let level = tree.level(node);
                let index = morton_decode(tree.keys[node as usize]);
                for step in (0..27).filter(|&s| s != STAY && reach(s) <= 2) {
                    let Some(to) = d.step(level, index, offset(step)) else { continue };
                    let shift = d.depth as usize - level;
                    let other = tree.locate_cell(to.map(|x| x << shift));
                    assert!(tree.level(tree.node(other)) + 1 >= level);
                }
            }
        }
    }

    #[test]
    fn a_point_is_found_in_the_leaf_that_holds_it() {
        let d = domain([4, 3, 3], 4, false);
        let tree = Octree::new(d, |c| (c.centre - Vec3::new(-0.6, 0.8, 2.3)).norm() < c.width).unwrap();
        let volume: f64 = (0..tree.leaves())
            .map(|l| (tree.width(tree.level(tree.node(l))) as f64 * d.unit()).powi(3))
            .sum();
        assert!((volume - 36.0 * 0.25f64.powi(3)).abs() < 1e-14);
        for leaf in 0..tree.leaves() {
            let level = tree.level(tree.node(leaf));
            let (corner, width) = (tree.corner(tree.node(leaf), level), tree.width(level));
            assert_eq!(tree.locate(&d.place(corner.map(|x| x + width / 2))), leaf);
        }
        assert!(tree.locate(&Vec3::repeat(f64::NAN)) < tree.leaves());
        assert!(tree.locate(&Vec3::repeat(1e300)) < tree.leaves());
    }

    #[test]
    fn absurd_domains_are_refused() {
        let all = |d: OctreeDomain| Octree::new(d, |_| true);
        assert!(all(domain([0, 1, 1], 1, false)).is_err());
        assert!(all(domain([1, 1, 1], 21, false)).is_err());
        assert!(all(domain([2, 2, 2], 1, true)).is_err());
        assert!(all(OctreeDomain { root_width: f64::NAN, ..domain([1, 1, 1], 1, false) }).is_err());
        let error = all(domain([4, 4, 4], 9, false)).unwrap_err().to_string();
        assert!(error.contains("leaves"), "{error}");
    }
}
