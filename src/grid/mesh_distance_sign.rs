//! Which nodes are inside a mesh.
//!
//! Two nodes a distance s apart lie on the same side if d + d' > s: a face between them would be
//! nearer to one of them. Within a tile such links join almost all nodes into one or two sets. Nodes
//! beside a face with no link are joined to a neighbour if no triangle is between, by an exact test.
//! One winding number then decides for a whole set, and in a mesh whose edges are all balanced for all sets that
//! such links join from tile to tile: a few numbers for a whole mesh.
//!
//! That is exact where the winding number is constant off the surface. Where edges are unbalanced
//! (holes, turned or doubled faces) it varies like the potential of a current along them,
//! |∇w| ≤ Σ n L / (4π r²) over edges of length L at distance r, the law of Biot and Savart. Sets where
//! the bound lets w pass a half are decided node by node.

use super::tiles::{SIDE, Tiles};
use crate::cancel::Cancel;
use crate::geometry::{Bvh, TriMesh, Winding};
use crate::math::{Sets, Vec3};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::f64::consts::PI;

const NODES: usize = SIDE * SIDE * SIDE;
/// Distances are exact to less than this, in cells. A node on a face is linked to none, or it would join both sides.
const ROUNDING: f64 = 1e-6;

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
    let node = |t: usize, l: usize| {
        let (base, [x, y, z]) = (tiles.base(t), place(l));
        tiles.corner([base[0] + x as i32, base[1] + y as i32, base[2] + z as i32])
    };
    let sets = |t: usize| {
        if cancel.is_cancelled() {
            return Parts::default();
        }
        Parts::new(of_tile(field, t), |a, b| bvh.any_crossing(&node(t, a), &node(t, b)))
    };
    let sets: Vec<Parts> = (0..tiles.len()).into_par_iter().map(sets).collect();
    let mut inside = vec![false; tiles.cells()];
    if cancel.is_cancelled() {
        return inside;
    }
    if unbalanced.is_empty() {
        let sides = Sides::new(tiles, field, &sets, |t, l| winding.is_inside(bvh, &node(t, l)));
        inside.par_chunks_mut(NODES).enumerate().for_each(|(t, inside)| {
            inside.iter_mut().zip(&sets[t].of).for_each(|(i, set)| *i = sides.of(t, *set));
        });
        return inside;
    }
    let currents = Currents::new(mesh, unbalanced, tiles);
    inside.par_chunks_mut(NODES).zip(&sets).enumerate().for_each(|(t, (inside, sets))| {
        if cancel.is_cancelled() {
            return;
        }
        // A path within a set may bend; twice the tile's diagonal is ample.
        let reach = 2.0 * 3f64.sqrt() * SIDE as f64 * tiles.h();
        let change = currents.gradient(&node(t, 0), &node(t, NODES - 1)) * reach;
        for (set, deepest) in sets.deepest.iter().enumerate() {
            let number = winding.number(bvh, &node(t, *deepest as usize)).abs();
            let sure = (number - 0.5).abs() > change + 0.1;
            for l in (0..NODES).filter(|l| sets.of[*l] as usize == set) {
                inside[l] = if sure { number > 0.5 } else { winding.is_inside(bvh, &node(t, l)) };
            }
        }
    });
    inside
}

fn of_tile(field: &[f64], t: usize) -> &[f64] {
    &field[t * NODES..(t + 1) * NODES]
}

/// The side of every set, for a mesh whose winding number is constant off its surface.
struct Sides {
    /// Where the sets of each tile begin.
    first: Vec<u32>,
    inside: Vec<bool>,
}

impl Sides {
    /// Sets are joined from tile to tile where nodes on the two sides of a border have no face between them;
    /// `is_inside(tile, node)` decides once for all that are joined.
    fn new(tiles: &Tiles, field: &[f64], sets: &[Parts], is_inside: impl Fn(usize, usize) -> bool) -> Self {
        let mut first = vec![0u32];
        first.extend(sets.iter().scan(0, |n, s| {
            *n += s.deepest.len() as u32;
            Some(*n)
        }));
        let mut joined = Sets::new(first[sets.len()] as usize);
        for t in 0..tiles.len() {
            for a in 0..3 {
                let [dx, dy, dz] = std::array::from_fn(|b| i32::from(a == b));
                let n = tiles.neighbour(t, dx, dy, dz) as usize;
                if n >= tiles.len() {
                    continue;
                }
                let (here, there) = (of_tile(field, t), of_tile(field, n));
                let stride = [1, SIDE, SIDE * SIDE];
                let (across, [b, c]) =
                    ((SIDE - 1) * stride[a], [(a + 1) % 3, (a + 2) % 3].map(|o| stride[o]));
                // Nodes side by side mostly join the same two sets again.
                let mut last = (u16::MAX, u16::MAX);
                for m in (0..SIDE * SIDE).map(|k| k % SIDE * b + k / SIDE * c) {
                    let pair = (sets[t].of[m + across], sets[n].of[m]);
                    if pair != last && here[m + across] + there[m] > 1.0 + ROUNDING {
                        joined.join(first[t] + pair.0 as u32, first[n] + pair.1 as u32);
                        last = pair;
                    }
                }
            }
        }
        let mut inside = vec![false; first[sets.len()] as usize];
        for (t, sets) in sets.iter().enumerate() {
            for (k, deepest) in sets.deepest.iter().enumerate() {
                let set = first[t] + k as u32;
                let root = joined.root(set);
                // The root is the first of its sets.
                inside[set as usize] =
                    if root == set { is_inside(t, *deepest as usize) } else { inside[root as usize] };
            }
        }
        Self { first, inside }
    }

    fn of(&self, tile: usize, set: u16) -> bool {
        self.inside[self.first[tile] as usize + set as usize]
    }
}

fn place(l: usize) -> [usize; 3] {
    [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)]
}

/// Sets of nodes of a tile that lie on one side.
#[derive(Default)]
struct Parts {
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

impl Parts {
    fn new(d: &[f64], crossing: impl Fn(usize, usize) -> bool) -> Self {
        // Beyond a cell's diagonal from the surface everything is linked.
        if d.iter().all(|d| *d > 1.0) {
            return Self { of: vec![0; NODES], deepest: vec![furthest(d)] };
        }
        let mut joined = Sets::new(NODES);
        let mut linked = [false; NODES];
        let lengths = BEFORE.map(|o| ((o[0] * o[0] + o[1] * o[1] + o[2] * o[2]) as f64).sqrt());
        for l in 0..NODES {
            for (i, (o, length)) in BEFORE.iter().zip(lengths).enumerate() {
                // Diagonals are looked at only where no axis leads on.
                if i == 3 && linked[l] {
                    break;
                }
                if let Some(n) = neighbour(l, o)
                    && d[l] + d[n] > length + ROUNDING
                {
                    linked[l] = true;
                    linked[n] = true;
                    joined.join(l as u32, n as u32);
                }
            }
        }
        for l in (0..NODES).filter(|l| !linked[*l]) {
            let around = BEFORE.iter().flat_map(|o| [*o, o.map(|c| -c)]);
            let friend = around.filter_map(|o| neighbour(l, &o)).find(|n| linked[*n] && !crossing(l, *n));
            if let Some(n) = friend {
                joined.join(l as u32, n as u32);
            }
        }
        Self::number(joined, d)
    }

    fn number(mut joined: Sets, d: &[f64]) -> Self {
        let (of, count) = joined.numbered();
        let mut deepest = vec![None; count];
        for (l, set) in of.iter().enumerate() {
            let best = &mut deepest[*set as usize];
            *best = Some(best.filter(|b| d[*b as usize] >= d[l]).unwrap_or(l as u16));
        }
        Self {
            of: of.iter().map(|set| *set as u16).collect(),
            deepest: deepest.into_iter().flatten().collect(),
        }
    }
}

/// The node that is furthest from the surface.
fn furthest(d: &[f64]) -> u16 {
    (1..NODES).fold(0, |best, l| if d[l] > d[best] { l } else { best }) as u16
}

fn neighbour(l: usize, o: &[i32; 3]) -> Option<usize> {
    let p = place(l);
    let at: [i32; 3] = std::array::from_fn(|a| p[a] as i32 + o[a]);
    let inside = at.iter().all(|c| (0..SIDE as i32).contains(c));
    inside.then(|| ((at[2] * 8 + at[1]) * 8 + at[0]) as usize)
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
