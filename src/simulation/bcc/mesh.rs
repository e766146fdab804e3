//! The lattice of a step, how it is cut by solids, and where the liquid's distance sits on it.

use super::sizing::{Wanted, meets_collider};
use crate::error::Result;
use crate::field::Solids;
use crate::math::{Aabb, Vec3};
use crate::mesh::bcc::{Edges, Lattice, NONE, Octree, OctreeDomain};
use crate::solver::bcc::open_shares;
use crate::surface::TiledLevelSet;
use rayon::prelude::*;

/// A new lattice is fine within this many finest cells of the surface; an old one is kept while the finest cells
/// reach this far.
const FINE: f64 = 4.0;
const STILL_FINE: f64 = 2.0;
/// A circumcentre deeper in a solid than this many finest cells looks for liquid outside.
const DEEP: f64 = 1.5;
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
pub(super) fn octree_domain(cell: f64, depth: u32, domain: &Aabb, open: [[bool; 2]; 3]) -> OctreeDomain {
    let root_width = cell * f64::from(1u32 << depth);
    let origin = Vec3::from_fn(|a, _| domain.lo[a] - if open[a][0] { root_width } else { 0.0 });
    let roots = std::array::from_fn(|a| {
        let across = ((domain.hi[a] - origin[a]) / root_width - 1e-6).ceil().max(1.0);
        across as u32 + u32::from(open[a][1])
    });
    OctreeDomain { origin, roots, root_width, depth, periodic: false, max_leaves: MOST_LEAVES }
}

/// Whether a lattice is still fine enough for the surface.
pub(super) fn suffices(octree: &Octree, set: &TiledLevelSet, solids: &Solids) -> bool {
    let wanted = Wanted::new(set, octree.domain().depth as usize, STILL_FINE);
    let moving = solids.any_animated();
    octree.suffices(|c| wanted.contains(c) || moving && meets_collider(c, set, solids))
}

/// The octree for a surface among solids.
pub(super) fn octree(domain: &OctreeDomain, set: &TiledLevelSet, solids: &Solids) -> Result<Octree> {
    let wanted = Wanted::new(set, domain.depth as usize, FINE);
    Octree::new(*domain, |c| wanted.contains(c) || meets_collider(c, set, solids))
}

/// The share of each face that is open to liquid, and the distance of solids at each vertex.
pub(super) fn open_faces(lattice: &Lattice, solids: &Solids) -> Result<(Vec<f64>, Vec<f64>)> {
    let reach = 2.0 * lattice.octree().domain().root_width;
    let vertices = (0..lattice.vertices.len() as u32).into_par_iter();
    let solid: Vec<f64> = vertices.map(|v| solids.distance(&lattice.vertex(v), reach)).collect();
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

/// The liquid's distance at circumcentres. One deep inside a solid, in a cell that reaches out of it, takes what is
/// outside: liquid that touches a wall has no surface there.
pub(super) fn liquid_at_cells(
    lattice: &Lattice,
    open: &[f64],
    set: &TiledLevelSet,
    solids: &Solids,
) -> Vec<f64> {
    let h = set.tiles.h();
    let reach = 2.0 * lattice.octree().domain().root_width;
    let one = |cell: usize| {
        let x = lattice.circumcentre(cell as u32);
        let is_cut = || lattice.faces_of(cell).iter().any(|&f| open[f as usize] < 1.0);
        if !is_cut() || solids.distance(&x, reach) > -DEEP * h {
            return set.distance(&x);
        }
        set.distance(&outside(solids, x, h, reach))
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
    let one = |vertex: usize| {
        let (x, s) = (lattice.vertex(vertex as u32), solid[vertex]);
        // No tet reaches out of a solid from deeper than the widest cell.
        match s {
            s if s >= -DEEP * h => set.distance(&x),
            s if s < -2.0 * width => band,
            _ => set.distance(&outside(solids, x, h, 2.0 * width)),
        }
    };
    (0..lattice.vertices.len()).into_par_iter().map(one).collect()
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
