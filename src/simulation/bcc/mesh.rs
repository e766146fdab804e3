//! The lattice of a step, how it is cut by solids, and where the liquid's distance sits on it.

use super::sizing::{Wanted, Wishes, meets_collider};
use crate::error::Result;
use crate::field::Solids;
use crate::math::{Aabb, Mat3, Vec3};
use crate::mesh::bcc::{Edges, FINEST, Lattice, NONE, Octree, OctreeDomain, Sizing};
use crate::solver::bcc::{LatticeVelocity, open_shares};
use crate::surface::TiledLevelSet;
use rayon::prelude::*;

/// A new lattice is fine within this many finest cells of the surface; an old one is kept while the finest cells
/// reach this far. The surface is looked at after it has moved, so a lattice need not wait for it: what it needs is the cell
/// that the surface runs through and the one beside it, and the rest is how far it may go before the next lattice.
const FINE: f64 = 3.0;
const STILL_FINE: f64 = 1.5;
/// A circumcentre deeper in a solid than this many finest cells looks for liquid outside.
const DEEP: f64 = 1.5;
/// Solids whose distance changes by less than this across a cell have no side there.
const LEAST_SLOPE: f64 = 1e-3;
/// More leaves are an error: two hundred million tets.
const MOST_LEAVES: usize = 1 << 24;

/// A lattice with what follows from it alone.
#[derive(Debug)]
pub(super) struct Mesh {
    pub lattice: Lattice,
    pub edges: Edges,
}

impl Mesh {
    pub fn new(octree: Octree) -> Result<Self> {
        let lattice = Lattice::new(octree)?;
        let edges = Edges::new(&lattice);
        Ok(Self { lattice, edges })
    }

    pub fn bytes(&self) -> usize {
        self.lattice.bytes() + 8 * self.edges.ends.len() + 16 * self.edges.of_face.len()
    }
}

/// The box of root cells over a domain: its walls lie on lattice walls where they can, and beyond open sides there is
/// a layer of root cells more, so that liquid leaves into air.
pub(super) fn octree_domain(finest: f64, depth: u32, domain: &Aabb, open: [[bool; 2]; 3]) -> OctreeDomain {
    let root_width = finest * f64::from(1u32 << depth);
    let origin = Vec3::from_fn(|a, _| domain.lo[a] - if open[a][0] { root_width } else { 0.0 });
    let roots = std::array::from_fn(|a| {
        let across = ((domain.hi[a] - origin[a]) / root_width - 1e-6).ceil().max(1.0);
        across as u32 + u32::from(open[a][1])
    });
    OctreeDomain { origin, roots, root_width, depth, periodic: false, max_leaves: MOST_LEAVES }
}

fn wanted(domain: &OctreeDomain, set: &TiledLevelSet, band: f64) -> Wanted {
    let cube = domain.unit() * f64::from(FINEST) / set.tiles.h();
    Wanted::new(set, domain.depth as usize, cube.round() as usize, band)
}

/// Whether a lattice is still fine enough for the surface.
pub(super) fn suffices(octree: &Octree, set: &TiledLevelSet, solids: &Solids, wishes: &Wishes) -> bool {
    let wanted = wanted(octree.domain(), set, STILL_FINE);
    let moving = solids.any_animated();
    let sizing = wishes.sizing();
    octree.suffices(|c| {
        let wants = wanted.contains(c) || moving && meets_collider(c, set, solids, wishes);
        wants && !wishes.is_unseen(&sizing, c)
    })
}

/// The octree for a surface among solids, in a flow if there is one yet.
pub(super) fn octree(
    domain: &OctreeDomain,
    set: &TiledLevelSet,
    solids: &Solids,
    wishes: &Wishes,
    flow: Option<&LatticeVelocity>,
) -> Result<Octree> {
    let wanted = wanted(domain, set, FINE);
    let sizing = wishes.sizing();
    let varies = flow.zip(wishes.change).map(|(f, change)| Sizing::new().velocity(|x| f.sample(x), change));
    Octree::new(*domain, |c| {
        if (wanted.contains(c) || meets_collider(c, set, solids, wishes)) && !wishes.is_unseen(&sizing, c) {
            return true;
        }
        let turns = || varies.as_ref().is_some_and(|v| set.distance(&c.centre) < 0.0 && v.refines(c));
        sizing.refines(c) || turns()
    })
}

/// The share of each face that is open to liquid, and the distance of solids at each vertex.
pub(super) fn open_faces(lattice: &Lattice, solids: &Solids) -> Result<(Vec<f64>, Vec<f64>)> {
    // What moves is measured apart, so that distances are cut off deep inside as well.
    let moving = solids.any_animated();
    let measure = |(v, &reach): (usize, &f64)| {
        let x = lattice.vertex(v as u32);
        let rests = solids.resting_distance(&x, reach);
        let d = if moving { rests.min(solids.moving_distance(&x, reach)) } else { rests };
        d.max(-reach)
    };
    let solid: Vec<f64> = vertex_reach(lattice).par_iter().enumerate().map(measure).collect();
    let mut open = open_shares(lattice, &solid)?;
    if solids.any_thin() {
        // What has no thickness closes the faces whose dual edge it crosses.
        open.par_iter_mut().enumerate().for_each(|(f, open)| {
            let [a, b] = lattice.faces.cells[f].map(|c| lattice.circumcentre(c));
            if solids.crosses(&a, &b) {
                *open = 0.0;
            }
        });
    }
    Ok((open, solid))
}

/// Solids further from a vertex than this, m, cut none of the cells round it.
fn vertex_reach(lattice: &Lattice) -> Vec<f64> {
    let mut widest = vec![0; lattice.vertices.len()];
    for tet in &lattice.tets.vertices {
        let at = tet.map(|v| lattice.vertices[v as usize]);
        let along = |a: usize| {
            let all = at.map(|x| x[a]);
            all.iter().max().unwrap_or(&0) - all.iter().min().unwrap_or(&0)
        };
        let width = along(0).max(along(1)).max(along(2));
        tet.iter().for_each(|&v| widest[v as usize] = width.max(widest[v as usize]));
    }
    // A cell is at most twice as wide as each of its tets along an axis, and its diagonal is √3 times that.
    let unit = 3.5 * lattice.octree().domain().unit();
    widest.into_iter().map(|w| unit * f64::from(w)).collect()
}

/// The solid's distance at the circumcentre of a cell and its slope, linear through the vertices of its faces.
pub(super) fn solid_at(lattice: &Lattice, solid: &[f64], cell: usize) -> (f64, Vec3) {
    let centre = lattice.circumcentre(cell as u32);
    let corners = || {
        let faces = lattice.faces_of(cell).iter().flat_map(|&f| lattice.faces.vertices[f as usize]);
        faces.filter(|v| *v != NONE).map(|v| (lattice.vertex(v) - centre, solid[v as usize]))
    };
    let (mut at, mut mean, mut count) = (Vec3::zeros(), 0.0, 0.0f64);
    corners().for_each(|(x, d)| (at, mean, count) = (at + x, mean + d, count + 1.0));
    (at, mean) = (at / count.max(1.0), mean / count.max(1.0));
    let (mut moment, mut slope) = (Mat3::zeros(), Vec3::zeros());
    for (x, d) in corners() {
        moment += (x - at) * (x - at).transpose();
        slope += (x - at) * (d - mean);
    }
    let slope = moment.try_inverse().map_or(Vec3::zeros(), |inverse| inverse * slope);
    (mean - slope.dot(&at), slope)
}

/// The liquid's distance at circumcentres. In a cell that a wall cuts it is that on the open side of the wall; one deep
/// inside takes what is outside: liquid that touches a wall has no surface there.
pub(super) fn liquid_at_cells(
    lattice: &Lattice,
    (open, solid): (&[f64], &[f64]),
    set: &TiledLevelSet,
    solids: &Solids,
) -> Vec<f64> {
    let h = set.tiles.h();
    let reach = 2.0 * lattice.octree().domain().root_width;
    let one = |cell: usize| {
        let x = lattice.circumcentre(cell as u32);
        let faces = || lattice.faces_of(cell).iter().map(|&f| open[f as usize]);
        // Without a face to the outside a cell has no unknown, and what stands there is never read.
        let is_cut = faces().any(|o| o < 1.0) && faces().any(|o| o > 0.0);
        if !is_cut {
            return set.distance(&x);
        }
        let (depth, slope) = solid_at(lattice, solid, cell);
        match slope.try_normalize(LEAST_SLOPE) {
            _ if depth <= -DEEP * h => set.distance(&outside(solids, x, h, reach)),
            Some(n) => set.distance_from_side(&x, &n),
            None => set.distance(&x),
        }
    };
    (0..lattice.cells()).into_par_iter().map(one).collect()
}

/// The liquid's distance at vertices; one deep inside a solid takes what is outside.
pub(super) fn liquid_at_vertices(
    lattice: &Lattice,
    solid: &[f64],
    set: &TiledLevelSet,
    solids: &Solids,
) -> Vec<f64> {
    let h = set.tiles.h();
    let (width, band) = (lattice.octree().domain().root_width, set.band());
    let one = |(vertex, &reach): (usize, &f64)| {
        let (x, s) = (lattice.vertex(vertex as u32), solid[vertex]);
        match s {
            s if s >= 0.0 => set.distance(&x),
            s if s >= -DEEP * h => set.distance_from_side(&x, &solids.outward(&x, 0.25 * h)),
            // No tet reaches out of the solid from here.
            s if s <= -reach => band,
            _ => set.distance(&outside(solids, x, h, 2.0 * width)),
        }
    };
    vertex_reach(lattice).par_iter().enumerate().map(one).collect()
}

/// A point outside solids near x.
fn outside(solids: &Solids, mut x: Vec3, h: f64, reach: f64) -> Vec3 {
    // Two walls that meet need a second look; a third settles acute corners.
    for _ in 0..3 {
        let d = solids.distance(&x, reach);
        if d >= 0.0 {
            break;
        }
        x += solids.outward(&x, 0.25 * h) * (0.5 * h - d);
    }
    x
}

/// The cells that touch a face, on whichever side wanted.
pub(super) fn touches(lattice: &Lattice, face: usize, wanted: impl Fn(u32) -> bool) -> bool {
    lattice.faces.cells[face].iter().any(|&c| c != NONE && wanted(c))
}
