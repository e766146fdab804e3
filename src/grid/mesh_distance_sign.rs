//! Which nodes are inside a mesh.
//!
//! Two nodes a distance s apart lie on the same side if d + d' > s: a face between them would be
//! nearer to one of them. Within a tile such links join almost all nodes into one or two sets. Nodes
//! beside a face with no link are joined to a neighbour if no triangle is between, by an exact test.
//! One winding number then decides for a whole set.
//!
//! That is exact where the winding number is constant off the surface. Where edges are unbalanced
//! (holes, turned or doubled faces) it varies like the potential of a current along them,
//! |∇w| ≤ Σ n L / (4π r²) over edges of length L at distance r, the law of Biot and Savart. Sets where
//! the bound lets w pass a half are decided node by node.

use super::tiles::{SIDE, Tiles};
use crate::cancel::Cancel;
use crate::geometry::{Bvh, TriMesh, Winding};
use crate::math::Vec3;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::f64::consts::PI;

const NODES: usize = SIDE * SIDE * SIDE;
/// A node without a set.
const LOOSE: u16 = u16::MAX;

/// For each node whether it is inside; `field` is the distance in cells. Cancelled, it means nothing.
pub(super) fn find_inside(
    mesh: &TriMesh,
    unbalanced: &[([u32; 2], u32)],
    tiles: &Tiles,
    field: &[f64],
    bvh: &Bvh,
    winding: &Winding,
    cancel: &Cancel,
) -> Vec<bool> {
    let currents = Currents::new(mesh, unbalanced, tiles);
    let mut inside = vec![false; tiles.cells()];
    inside.par_chunks_mut(NODES).enumerate().for_each(|(t, inside)| {
        if cancel.is_cancelled() {
            return;
        }
        let (base, d) = (tiles.base(t), &field[t * NODES..(t + 1) * NODES]);
        let node = |l: usize| {
            let [x, y, z] = place(l);
            tiles.corner([base[0] + x as i32, base[1] + y as i32, base[2] + z as i32])
        };
        let sets = Sets::new(d, |a, b| bvh.any_crossing(&node(a), &node(b)));
        // A path within a set may bend; twice the tile's diagonal is ample.
        let reach = 2.0 * 3f64.sqrt() * SIDE as f64 * tiles.h();
        let change = currents.gradient(&node(0), &node(NODES - 1)) * reach;
        for set in 0..sets.deepest.len() {
            let deepest = node(sets.deepest[set] as usize);
            let number = winding.number(bvh, &deepest).abs();
            let sure = (number - 0.5).abs() > change + 0.1;
            let members = (0..NODES).filter(|l| sets.of[*l] as usize == set);
            if sure || change == 0.0 {
                let all = if sure { number > 0.5 } else { winding.is_inside(bvh, &deepest) };
                members.for_each(|l| inside[l] = all);
            } else {
                members.for_each(|l| inside[l] = winding.is_inside(bvh, &node(l)));
            }
        }
    });
    inside
}

fn place(l: usize) -> [usize; 3] {
    [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)]
}

/// Sets of nodes of a tile that lie on one side.
struct Sets {
    of: Vec<u16>,
    /// The node of each set that is furthest from the surface.
    deepest: Vec<u16>,
}

/// The thirteen neighbours that come before a node, those along axes first.
const BEFORE: [[i32; 3]; 13] = [
    [-1, 0, 0],
    [0, -1, 0],
    [0, 0, -1],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 0, -1],
    [1, 0, -1],
    [0, -1, -1],
    [0, 1, -1],
    [-1, -1, -1],
    [1, -1, -1],
    [-1, 1, -1],
    [1, 1, -1],
];

impl Sets {
    fn new(d: &[f64], crossing: impl Fn(usize, usize) -> bool) -> Self {
        // Beyond a cell's diagonal from the surface everything is linked.
        if d.iter().all(|d| *d > 1.0) {
            return Self::number(vec![0; NODES], d);
        }
        let mut parent: Vec<u16> = (0..NODES as u16).collect();
        let mut linked = [false; NODES];
        let lengths = BEFORE.map(|o| ((o[0] * o[0] + o[1] * o[1] + o[2] * o[2]) as f64).sqrt());
        for l in 0..NODES {
            for (i, (o, length)) in BEFORE.iter().zip(lengths).enumerate() {
                // Diagonals are looked at only where no axis leads on.
                if i == 3 && linked[l] {
                    break;
                }
                if let Some(n) = neighbour(l, o)
                    && d[l] + d[n] > length
                {
                    linked[l] = true;
                    linked[n] = true;
                    join(&mut parent, l as u16, n as u16);
                }
            }
        }
        for l in (0..NODES).filter(|l| !linked[*l]) {
            let around = BEFORE.iter().flat_map(|o| [*o, o.map(|c| -c)]);
            let friend = around.filter_map(|o| neighbour(l, &o)).find(|n| linked[*n] && !crossing(l, *n));
            if let Some(n) = friend {
                join(&mut parent, l as u16, n as u16);
            }
        }
        Self::number(parent, d)
    }

    fn number(mut parent: Vec<u16>, d: &[f64]) -> Self {
        let mut sets = Self { of: vec![LOOSE; NODES], deepest: Vec::new() };
        for l in 0..NODES {
            let r = root(&mut parent, l as u16) as usize;
            // The root is the lowest node of its set, so it has been numbered.
            if r == l {
                sets.of[l] = sets.deepest.len() as u16;
                sets.deepest.push(l as u16);
            }
            let set = sets.of[r] as usize;
            sets.of[l] = set as u16;
            if d[l] > d[sets.deepest[set] as usize] {
                sets.deepest[set] = l as u16;
            }
        }
        sets
    }
}

fn neighbour(l: usize, o: &[i32; 3]) -> Option<usize> {
    let p = place(l);
    let at: [i32; 3] = std::array::from_fn(|a| p[a] as i32 + o[a]);
    let inside = at.iter().all(|c| (0..SIDE as i32).contains(c));
    inside.then(|| ((at[2] * 8 + at[1]) * 8 + at[0]) as usize)
}

fn root(parent: &mut [u16], mut v: u16) -> u16 {
    while parent[v as usize] != v {
        let above = parent[parent[v as usize] as usize];
        parent[v as usize] = above;
        v = above;
    }
    v
}

/// Join two sets under the lower root.
fn join(parent: &mut [u16], a: u16, b: u16) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b) as usize] = a.min(b);
}

/// Lengths of unbalanced edges, gathered by tile.
struct Currents {
    /// Lower and upper corner of the edges' middles in a tile, and their length times their excess.
    parts: Vec<(Vec3, Vec3, f64)>,
}

impl Currents {
    fn new(mesh: &TriMesh, unbalanced: &[([u32; 2], u32)], tiles: &Tiles) -> Self {
        let mut parts: BTreeMap<[i32; 3], (Vec3, Vec3, f64)> = BTreeMap::new();
        for (ends, excess) in unbalanced {
            let [a, b] = ends.map(|v| mesh.positions[v as usize]);
            let weight = (b - a).norm() * *excess as f64;
            let tile = tiles.split(tiles.cell_at(&((a + b) * 0.5))).0;
            let part = parts.entry(tile).or_insert((a, a, 0.0));
            *part = (part.0.inf(&a).inf(&b), part.1.sup(&a).sup(&b), part.2 + weight);
        }
        Self { parts: parts.into_values().collect() }
    }

    /// A bound of |∇w| in the box; infinite if a current passes through it.
    fn gradient(&self, lo: &Vec3, hi: &Vec3) -> f64 {
        let one = |(low, high, weight): &(Vec3, Vec3, f64)| {
            let gap = (low - hi).sup(&(lo - high)).sup(&Vec3::zeros());
            weight / (4.0 * PI * gap.norm_squared())
        };
        self.parts.iter().map(one).sum()
    }
}
