//! Neighbours and shared corners of the refined nodes, level by level from the roots.
//!
//! A refined node has 27 points: its corners, the middles of its edges and faces, and its centre. All
//! corners of leaves are such points or corners of roots. The point in the middle of a face or an edge belongs
//! to all refined nodes of the same size around it, and the first of them numbers it; since the level at
//! which a point appears follows from its coordinates, no point is numbered twice.

use super::octree::{NONE, Octree};
use super::stencil::{ACROSS, CHILD_CORNER, STAY, STEPS, corner_point, reach, seen_from};
use rayon::prelude::*;

/// What lies across a face or an edge of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Across {
    Outside,
    /// A node of the same size, a leaf or not.
    Same(u32),
    /// A leaf of twice the width.
    Coarser(u32),
}

/// Tables of the refined nodes, by rank.
pub(super) struct Links<'a> {
    octree: &'a Octree,
    /// The node a step away, [`NONE`] outside; steps across corners are not kept.
    around: Vec<[u32; STEPS]>,
    /// Vertex at each of the 27 points.
    points: Vec<[u32; STEPS]>,
    /// Number of vertices that are corners of leaves.
    pub corners: usize,
}

impl<'a> Links<'a> {
    pub fn new(octree: &'a Octree) -> Self {
        let around = neighbours(octree);
        let mut links = Self { octree, around, points: Vec::new(), corners: 0 };
        links.number_points();
        links
    }

    /// What lies a step across a face or an edge away from a node.
    #[inline]
    pub fn across(&self, node: u32, step: usize) -> Across {
        let Some((parent, octant)) = self.octree.parent(node) else {
            let root = self.octree.root_step(node, step);
            return if root == NONE { Across::Outside } else { Across::Same(root) };
        };
        let [toward, arrival] = ACROSS[octant][step];
        let holder = self.around[parent][toward as usize];
        if holder == NONE {
            return Across::Outside;
        }
        match self.octree.first_child(holder) {
            NONE => Across::Coarser(holder),
            first => Across::Same(first + arrival as u32),
        }
    }

    pub fn is_refined(&self, node: u32) -> bool {
        self.octree.first_child(node) != NONE
    }

    /// The vertices at the corners of a node.
    pub fn corners_of(&self, node: u32) -> [u32; 8] {
        match self.octree.parent(node) {
            Some((parent, octant)) => CHILD_CORNER[octant].map(|p| self.points[parent][p as usize]),
            None => self.root_corners(node),
        }
    }

    /// The vertex at a point of a refined node.
    pub fn point(&self, refined: u32, point: usize) -> u32 {
        self.points[self.octree.rank(self.octree.first_child(refined))][point]
    }

    fn root_corners(&self, root: u32) -> [u32; 8] {
        let (at, domain) = (self.octree.root_place(root), self.octree.domain());
        let along = |a: usize| if domain.periodic { domain.roots[a] } else { domain.roots[a] + 1 };
        std::array::from_fn(|c| {
            let x = |a: usize| (at[a] + (c as u32 >> a & 1)) % along(a);
            x(0) + along(0) * (x(1) + along(1) * x(2))
        })
    }

    /// Number the points of all refined nodes, those of a level after the levels above.
    fn number_points(&mut self) {
        let owned: Vec<u32> = (0..self.around.len()).into_par_iter().map(|r| self.owned(r)).collect();
        let extra = if self.octree.domain().periodic { 0 } else { 1 };
        let mut next: u32 = self.octree.domain().roots.iter().map(|n| n + extra).product();
        let mut start = Vec::with_capacity(owned.len());
        for mask in &owned {
            start.push(next);
            next += mask.count_ones();
        }
        self.corners = next as usize;
        let refined = self.octree.refined();
        for level in self.octree.level_starts().windows(2) {
            // Ranks of the refined nodes of this level; all above are numbered.
            let ranks =
                refined.partition_point(|&n| n < level[0])..refined.partition_point(|&n| n < level[1]);
            let mut points: Vec<_> = ranks.into_par_iter().map(|r| self.number(r, &owned, &start)).collect();
            self.points.append(&mut points);
        }
    }

    /// Which points a refined node numbers itself, as bits.
    fn owned(&self, rank: usize) -> u32 {
        let first = |&p: &usize| self.owner(rank, p).0 == rank;
        (0..STEPS).filter(|&p| reach(p) <= 2).filter(first).fold(0, |mask, p| mask | 1 << p)
    }

    /// The refined node of lowest rank that has a point, and the point seen from it.
    fn owner(&self, rank: usize, point: usize) -> (usize, usize) {
        let mut owner = (rank, point);
        for toward in (0..STEPS).filter(|&s| s != STAY && on_the_way(s, point)) {
            let node = self.around[rank][toward];
            if node != NONE && self.is_refined(node) {
                let other = self.octree.rank(self.octree.first_child(node));
                if other < owner.0 {
                    owner = (other, seen_from(point, toward));
                }
            }
        }
        owner
    }

    fn number(&self, rank: usize, owned: &[u32], start: &[u32]) -> [u32; STEPS] {
        let mut points = [NONE; STEPS];
        for (corner, vertex) in self.corners_of(self.octree.refined()[rank]).into_iter().enumerate() {
            points[corner_point(corner)] = vertex;
        }
        for p in (0..STEPS).filter(|&p| reach(p) <= 2) {
            let (owner, seen) = self.owner(rank, p);
            points[p] = start[owner] + (owned[owner] & ((1 << seen) - 1)).count_ones();
        }
        points
    }
}

/// Whether each component of a step is zero or that of the point.
fn on_the_way(step: usize, point: usize) -> bool {
    [1, 3, 9].iter().all(|power| {
        let (s, p) = (step / power % 3, point / power % 3);
        s == 1 || s == p
    })
}

/// The nodes of the same size around each refined node.
fn neighbours(octree: &Octree) -> Vec<[u32; STEPS]> {
    let refined = octree.refined();
    let mut around: Vec<[u32; STEPS]> = Vec::with_capacity(refined.len());
    for level in octree.level_starts().windows(2) {
        let ranks = refined.partition_point(|&n| n < level[0])..refined.partition_point(|&n| n < level[1]);
        let of_node = |rank: usize| {
            let node = refined[rank];
            let mut to = [NONE; STEPS];
            to[STAY] = node;
            for step in (0..STEPS).filter(|&s| s != STAY && reach(s) <= 2) {
                to[step] = match octree.parent(node) {
                    None => octree.root_step(node, step),
                    Some((parent, octant)) => {
                        let [toward, arrival] = ACROSS[octant][step];
                        match around[parent][toward as usize] {
                            NONE => NONE,
                            // Balance has refined whatever lies beside a refined node's parent.
                            holder => octree.first_child(holder) + arrival as u32,
                        }
                    }
                };
            }
            to
        };
        let mut rows: Vec<_> = ranks.into_par_iter().map(of_node).collect();
        around.append(&mut rows);
    }
    around
}
