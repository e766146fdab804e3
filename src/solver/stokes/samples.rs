//! Where the samples of velocity, pressure and stress sit on a dense block of cubic cells.
//!
//! ```text
//!      e---v---e        centre  p and the normal stresses τ_aa
//!      |       |        face    the velocity across it
//!      u   c   u        edge    the shear stress τ_bc of the two axes across the edge;
//!      |       |                in a flat block the edges along z are the nodes
//!      e---v---e        arrays run along x first, then y, then z
//! ```
//!
//! One cell along z makes the block flat: no faces across z, edges along z only.

use crate::error::{Error, Result};
use crate::math::Vec3;

/// Where a value sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    Centre,
    /// Faces across an axis.
    Face(usize),
    /// Edges along an axis.
    Edge(usize),
}

/// A box of cubic cells and the numbering of its samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    cells: [usize; 3],
    origin: Vec3,
    h: f64,
}

/// A dense block takes some kilobytes a cell; more than this does not fit a machine of today.
const MAX_CELLS: usize = 1 << 25;

impl Samples {
    /// A box of `cells` of width `h` whose lowest corner is `origin`.
    pub fn new(cells: [usize; 3], origin: Vec3, h: f64) -> Result<Self> {
        let count = cells.iter().try_fold(1usize, |n, c| n.checked_mul(*c));
        if !count.is_some_and(|n| (1..=MAX_CELLS).contains(&n)) {
            let message = format!("{cells:?} cells; 1 to {MAX_CELLS} in all are possible");
            return Err(Error::invalid("cells", message));
        }
        if !(1e-30..1e30).contains(&h) || origin.iter().any(|v| !v.is_finite()) {
            return Err(Error::invalid("cell", format!("cells of {h} m from {:?}", origin.as_slice())));
        }
        Ok(Self { cells, origin, h })
    }

    /// The axes that carry velocities: 2 or 3.
    pub fn axes(&self) -> usize {
        if self.cells[2] == 1 { 2 } else { 3 }
    }

    /// Width of a cell, m.
    pub fn h(&self) -> f64 {
        self.h
    }

    /// Cells along each axis.
    pub fn cells(&self) -> [usize; 3] {
        self.cells
    }

    /// The axes along which edges carry shear stress.
    pub fn edge_axes(&self) -> std::ops::Range<usize> {
        if self.axes() == 2 { 2..3 } else { 0..3 }
    }

    /// Every kind of sample of this block.
    pub fn sites(&self) -> Vec<Site> {
        let faces = (0..self.axes()).map(Site::Face);
        std::iter::once(Site::Centre).chain(faces).chain(self.edge_axes().map(Site::Edge)).collect()
    }

    /// Samples along x, y and z.
    pub fn extent(&self, site: Site) -> [usize; 3] {
        let mut n = self.cells;
        match site {
            Site::Centre => {}
            Site::Face(axis) => n[axis] += 1,
            Site::Edge(axis) => (0..self.axes()).filter(|a| *a != axis).for_each(|a| n[a] += 1),
        }
        n
    }

    /// Number of samples of a kind.
    pub fn count(&self, site: Site) -> usize {
        self.extent(site).iter().product()
    }

    /// Number of a sample in its array.
    #[inline]
    pub fn index(&self, site: Site, at: [usize; 3]) -> usize {
        let n = self.extent(site);
        (at[2] * n[1] + at[1]) * n[0] + at[0]
    }

    /// Place of a sample in its array.
    #[inline]
    pub fn place(&self, site: Site, index: usize) -> [usize; 3] {
        let n = self.extent(site);
        [index % n[0], index / n[0] % n[1], index / (n[0] * n[1])]
    }

    /// How far a sample is from the lowest corner of its cell, in cells.
    pub fn offset(&self, site: Site) -> Vec3 {
        Vec3::from_fn(|a, _| match site {
            Site::Face(axis) if a == axis => 0.0,
            Site::Edge(axis) if a != axis && a < self.axes() => 0.0,
            _ => 0.5,
        })
    }

    /// World position of a sample, m.
    pub fn position(&self, site: Site, index: usize) -> Vec3 {
        let at = self.place(site, index);
        self.origin + (Vec3::new(at[0] as f64, at[1] as f64, at[2] as f64) + self.offset(site)) * self.h
    }

    /// Whether a sample lies on the rim of the block, where samples beside it may be missing.
    pub fn on_rim(&self, site: Site, at: [usize; 3]) -> bool {
        let n = self.extent(site);
        (0..self.axes()).any(|a| at[a] == 0 || at[a] + 1 == n[a])
    }

    /// The faces below and above a cell along an axis.
    #[inline]
    pub fn faces_of_cell(&self, axis: usize, at: [usize; 3]) -> [usize; 2] {
        [self.index(Site::Face(axis), at), self.index(Site::Face(axis), up(at, axis))]
    }

    /// The shear rate of an edge along `axis`, h times: pairs (axis of the velocity, [face below, face above]).
    /// The edge must not lie on the rim.
    #[inline]
    pub fn faces_of_edge(&self, axis: usize, at: [usize; 3]) -> [(usize, [usize; 2]); 2] {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        let pair = |u: usize, across: usize| {
            [self.index(Site::Face(u), down(at, across)), self.index(Site::Face(u), at)]
        };
        [(b, pair(b, c)), (c, pair(c, b))]
    }

    /// The cells below and above a face that is not on the rim.
    #[inline]
    pub fn cells_of_face(&self, axis: usize, at: [usize; 3]) -> [usize; 2] {
        [self.index(Site::Centre, down(at, axis)), self.index(Site::Centre, at)]
    }

    /// The edges round a face: (axis of the edge, [edge below, edge above]).
    pub fn edges_of_face(&self, axis: usize, at: [usize; 3]) -> Vec<(usize, [usize; 2])> {
        let around = self.edge_axes().filter(|e| *e != axis);
        around
            .map(|e| {
                let across = 3 - e - axis;
                (e, [self.index(Site::Edge(e), at), self.index(Site::Edge(e), up(at, across))])
            })
            .collect()
    }
}

fn up(mut at: [usize; 3], axis: usize) -> [usize; 3] {
    at[axis] += 1;
    at
}

fn down(mut at: [usize; 3], axis: usize) -> [usize; 3] {
    at[axis] -= 1;
    at
}
