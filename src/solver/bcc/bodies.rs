//! Rigid bodies on the graded lattice: their rows and their weight.
//!
//! The closed part of a face belongs to the solid nearest to its middle, where the embedded boundary takes the solid's
//! velocity as well; the rows of [`crate::solver::rigid`] are
//!
//! ```text
//!     (1 − w) A n·(v + ω × (x_f − X))        volume that the body pushes through a face out of a cell, m³/s
//! ```
//!
//! Of linear pressure a body feels K p_lin instead of Archimedes' force. The difference, with the volume of its own hull
//! below the level of the liquid round it, is added to its weight, so that a neutral body stays at rest to round-off and
//! a floating one has its exact draught. The level is the mean of the points where the surface cuts dual edges near
//! the body; where these are not level the correction fades out, and it is never more than the pressure of one cell's
//! height on the body. Checked in tests/bcc.

use super::embedded::{Cut, Embedded};
use crate::field::Solids;
use crate::geometry::Moments;
use crate::math::Vec3;
use crate::mesh::AIR;
use crate::mesh::bcc::FINEST;
use crate::solver::mac::{Afloat, Bodies};
use crate::solver::rigid::{RigidRows, Six, linear, six};
use crate::solver::rounds::Missing;
use rayon::prelude::*;

/// The surface within this many finest cells of a body tells the level of the liquid round it.
const NEAR: f64 = 3.0;
/// The level counts fully up to this spread of its points in cells...
const LEVEL: f64 = 0.5;
/// ...and not at all from this one on.
const ROUGH: f64 = 2.0;

/// The rows of bodies over the cells of the graph; `reach` as for the velocity of solids.
pub fn body_rows(
    cut: &Cut,
    embedded: &Embedded,
    solids: &Solids,
    bodies: &[Afloat],
    reach: f64,
) -> RigidRows {
    let lattice = cut.lattice;
    let of_cell = |(i, &cell): (usize, &u32)| {
        let centre = lattice.circumcentre(cell);
        let near = solids.body_bounds().any(|b| b.grow(reach).contains(&centre));
        let faces = if near { lattice.faces_of(cell as usize) } else { &[] };
        faces.iter().filter_map(move |&f| {
            let (f, closed) = (f as usize, 1.0 - cut.open[f as usize]);
            let x = lattice.face_middle(f);
            let b = (closed > 0.0).then(|| solids.nearest_body(&x, reach)).flatten()?;
            let out = if lattice.faces.cells[f][0] == cell { closed } else { -closed };
            let e = lattice.area_vector(f) * out;
            // e·(ω × r) = ω·(r × e).
            let turn = (x - bodies[b].body.centre).cross(&e);
            Some((b as u32, i as u32, [e.x, e.y, e.z, turn.x, turn.y, turn.z]))
        })
    };
    RigidRows::new(bodies.len(), embedded.cells.par_iter().enumerate().flat_map_iter(of_cell).collect())
}

/// Heights above the centre of each body at which the surface is cut near it.
fn levels(
    cut: &Cut,
    embedded: &Embedded,
    solids: &Solids,
    bodies: &Bodies,
    up: &Vec3,
    h: f64,
) -> Vec<Vec<f64>> {
    let (lattice, graph, reach) = (cut.lattice, &embedded.graph, NEAR * h);
    let of_face = |g: usize| {
        if graph.far[g] != AIR {
            return None;
        }
        let cell = embedded.cells[graph.near[g] as usize];
        let centre = lattice.circumcentre(cell);
        if !solids.body_bounds().any(|b| b.grow(2.0 * reach).contains(&centre)) {
            return None;
        }
        let f = embedded.faces[g] as usize;
        let along = lattice.dual_edge(f).normalize() * graph.length[g];
        let x = if lattice.faces.cells[f][0] == cell { centre + along } else { centre - along };
        let b = solids.nearest_body(&x, reach)?;
        Some((b, (x - bodies.all[b].body.centre).dot(up)))
    };
    let found: Vec<(usize, f64)> = (0..graph.faces()).into_par_iter().filter_map(of_face).collect();
    let mut levels = vec![Vec::new(); bodies.all.len()];
    found.into_iter().for_each(|(b, s)| levels[b].push(s));
    levels
}

/// The level, and how far it counts from 0 to 1; None without surface.
fn level(cuts: &[f64], h: f64) -> Option<(f64, f64)> {
    let count = cuts.len() as f64;
    let mean = (count > 0.0).then(|| cuts.iter().sum::<f64>() / count)?;
    let spread = (cuts.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count).sqrt() / h;
    Some((mean, ((ROUGH - spread) / (ROUGH - LEVEL)).clamp(0.0, 1.0)))
}

/// What the discrete pressure of still liquid misses of the force on each body.
pub fn missing_lift(
    cut: &Cut,
    embedded: &Embedded,
    solids: &Solids,
    bodies: &Bodies,
    rows: &RigidRows,
    density: f64,
) -> Vec<Missing> {
    let g = bodies.gravity.norm();
    if g == 0.0 {
        return bodies.all.iter().map(|b| (Six::zeros(), b.volume)).collect();
    }
    let up = -bodies.gravity / g;
    let h = cut.lattice.octree().domain().unit() * f64::from(FINEST);
    let levels = levels(cut, embedded, solids, bodies, &up, h);
    let place = |cell: usize| cut.lattice.circumcentre(embedded.cells[cell]);
    let one = |(b, cuts): (usize, &Vec<f64>)| {
        missing_of(&bodies.all[b], cuts, rows, b, &up, density * g, h, &place)
    };
    levels.iter().enumerate().map(one).collect()
}

#[allow(clippy::too_many_arguments)]
fn missing_of(
    afloat: &Afloat,
    cuts: &[f64],
    rows: &RigidRows,
    b: usize,
    up: &Vec3,
    weight: f64,
    h: f64,
    place: &dyn Fn(usize) -> Vec3,
) -> Missing {
    let centre = afloat.body.centre;
    // The area that faces up or down and touches liquid, and by how much the two differ.
    let (mut area, mut net, mut touched) = (0.0, 0.0, false);
    for (_, row) in rows.of_body(b) {
        let along = row[0] * up.x + row[1] * up.y + row[2] * up.z;
        (area, net, touched) = (area + along.abs(), net + along, true);
    }
    if !touched {
        return (Six::zeros(), 0.0);
    }
    let (s, share) = match level(cuts, h) {
        Some(found) => found,
        // Liquid on all sides: any level above the body will do.
        None if net.abs() <= 1e-9 * area => (2.0 * (afloat.hull.bounds().size().norm() + h), 1.0),
        // Held to a wall without liquid between, or in a closed vessel: nothing tells the level.
        None => return (Six::zeros(), 0.0),
    };
    let pose = &afloat.pose;
    let below =
        Moments::below(&afloat.hull, &pose.to_local(&(centre + up * s)), &(pose.rotation.inverse() * up));
    let lift = up * (weight * below.volume);
    let arm = pose.to_world(&below.centre) - centre;
    let exact = six(&lift, &arm.cross(&lift));
    let missing = exact - rows.force(b, |cell| weight * (s - (place(cell) - centre).dot(up)));
    // No discretisation is wrong by more than the pressure of a cell's height.
    let (most, size) = (weight * h * area, linear(&missing).norm());
    (missing * if size > most { share * most / size } else { share }, below.volume)
}
