//! Rigid bodies on the grid: their rows and their weight.
//!
//! **Rows.** The closed share 1 − α of a face belongs to the solid nearest to its middle, as everywhere on
//! the grid. In the units of [`super::pressure`], π = p Δt/(ρh) and faces of area one, the rows K of
//! [`crate::solver::rigid`] give the flow KᵀV in m/s and the impulse ρh³ K π in Ns, so that C = ρh³ M⁻¹.
//!
//! **Weight.** Pressures sit at centres of cells and act on faces: of linear pressure the body feels
//! K p_lin instead of Archimedes' force, first order in h for a box. The difference
//!
//! ```text
//!     F = ρ|g| V_s n (at the middle of V_s) − h² K p_lin,     p_lin = ρ|g| (s − x·n),     n = −g/|g|
//! ```
//!
//! is added to the weight, with V_s the volume of the body's own mesh below the level s of the liquid round it.
//! A body in still water then feels its exact buoyancy and moment: a neutral one stays at rest to
//! round-off, a floating one has its exact draught. The level is the mean of the points where the surface is
//! cut near the body. Where these are not level (a splash) the correction fades out, and it is never more
//! than the pressure of one cell's height on the body.
//!
//! Contact and pressure agree in [`crate::solver::rounds`].

use super::grid::{MacGrid, each_cell};
use super::pressure::{Faces, TileFaces, Wet, theta};
use super::stencil::Stencil;
use crate::field::Solids;
use crate::geometry::{Moments, TriMesh};
use crate::grid::Halo;
use crate::math::{Aabb, Pose, Vec3};
use crate::solver::rigid::{RigidBody, RigidRows, Six, linear, six};
use rayon::prelude::*;
use std::sync::Arc;

/// The surface within this many cells of a body tells the level of the liquid round it.
const NEAR: f64 = 3.0;
/// The level counts fully up to this spread of its points in cells...
const LEVEL: f64 = 0.5;
/// ...and not at all from this one on.
const ROUGH: f64 = 2.0;

/// A body in liquid.
#[derive(Clone, Debug)]
pub struct Afloat {
    pub body: RigidBody,
    /// Its surface in its own coordinates, m, and where that stands.
    pub hull: Arc<TriMesh>,
    pub pose: Pose,
    /// m³.
    pub volume: f64,
    /// kg.
    pub mass: f64,
    /// What contact changed its velocity by in the step before, as a first guess.
    pub contact: Six,
}

/// Velocities after contact from velocities before, for masses multiplied by the given factors.
pub type Contact<'a> = dyn Fn(&[Six], &[f64]) -> Vec<Six> + Sync + 'a;

/// The bodies of one pressure solve. They are the last solids of the list, in this order.
pub struct Bodies<'a> {
    pub all: &'a [Afloat],
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    pub contact: Option<&'a Contact<'a>>,
}

/// What a solve did to a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Velocity after the step.
    pub velocity: Six,
    /// Mean force and torque of the liquid during the step, N and Nm.
    pub force: Six,
    /// What contact changed its velocity by.
    pub contact: Six,
}

/// The rows of the bodies over the places of the wet tiles.
pub(super) fn rows(
    grid: &MacGrid,
    wet: &Wet,
    stencil: &Stencil,
    solids: &Solids,
    bodies: &[Afloat],
) -> RigidRows {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
    let of_tile = |halo: &mut Halo, (s, t): (usize, &usize)| {
        let mut found = Vec::new();
        if !near_bodies(grid, *t, solids, 2.0 * h) {
            return found;
        }
        let (faces, v) = (faces.of_tile(*t, halo), tiles.volume());
        each_cell(tiles.depth(), |l, cell| {
            if stencil.diagonal[s * v + l] == 0.0 {
                return;
            }
            let centre = tiles.centre(tiles.cell(t * v + l));
            for axis in 0..tiles.axes() {
                let open = [faces.lower_open(l, cell, axis), faces.upper_open(l, cell, axis)];
                for (open, side) in open.into_iter().zip([-1.0, 1.0]) {
                    let mut x = centre;
                    x[axis] += 0.5 * h * side;
                    let closed = 1.0 - open as f64;
                    if let Some(b) = (closed > 0.0).then(|| solids.nearest_body(&x, 2.0 * h)).flatten() {
                        let row = push(axis, side * closed, &(x - bodies[b].body.centre));
                        found.push((b as u32, (s * v + l) as u32, row));
                    }
                }
            }
        });
        found
    };
    let found: Vec<Vec<(u32, u32, [f64; 6])>> =
        wet.of.par_iter().enumerate().map_init(Halo::default, of_tile).collect();
    RigidRows::new(bodies.len(), found.concat())
}

/// Flow through a face of the given closed share and side for unit velocities of a body.
fn push(axis: usize, closed: f64, arm: &Vec3) -> [f64; 6] {
    let mut e = Vec3::zeros();
    e[axis] = closed;
    // e·(ω × r) = ω·(r × e).
    let turn = arm.cross(&e);
    [e.x, e.y, e.z, turn.x, turn.y, turn.z]
}

fn near_bodies(grid: &MacGrid, t: usize, solids: &Solids, reach: f64) -> bool {
    let low = grid.tiles.corner(grid.tiles.base(t));
    let here = Aabb::new(low, low.add_scalar(crate::grid::SIDE as f64 * grid.tiles.h())).grow(reach);
    solids.body_bounds().any(|b| b.overlaps(&here))
}

/// Points where the surface is cut near a body, along the upward normal: count, sum, sum of squares.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Level {
    fn add(&mut self, s: f64) {
        self.count += 1.0;
        self.sum += s;
        self.squares += s * s;
    }

    /// The level, and how far it counts from 0 to 1; None without surface.
    fn found(&self, h: f64) -> Option<(f64, f64)> {
        let mean = (self.count > 0.0).then(|| self.sum / self.count)?;
        let spread = (self.squares / self.count - mean * mean).max(0.0).sqrt() / h;
        Some((mean, ((ROUGH - spread) / (ROUGH - LEVEL)).clamp(0.0, 1.0)))
    }
}

/// The levels of the liquid round the bodies, measured from each centre of mass.
fn levels(
    grid: &MacGrid,
    wet: &Wet,
    stencil: &Stencil,
    solids: &Solids,
    bodies: &Bodies,
    up: &Vec3,
) -> Vec<Level> {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
    let reach = NEAR * h;
    let of_tile = |halo: &mut Halo, (s, t): (usize, &usize)| {
        let mut found = Vec::new();
        if !near_bodies(grid, *t, solids, reach) {
            return found;
        }
        let (faces, v) = (faces.of_tile(*t, halo), tiles.volume());
        each_cell(tiles.depth(), |l, cell| {
            let here = faces.phi(cell, 0, 0);
            if stencil.diagonal[s * v + l] == 0.0 || here < -2.0 * h || grid.centre[t * v + l] > reach {
                return;
            }
            let x = tiles.centre(tiles.cell(t * v + l));
            for (axis, side, there) in to_air(&faces, l, cell, tiles.axes()) {
                if let Some(b) = solids.nearest_body(&x, reach) {
                    let cut =
                        (x - bodies.all[b].body.centre).dot(up) + side * up[axis] * h * theta(here, there);
                    found.push((b, cut));
                }
            }
        });
        found
    };
    let found: Vec<Vec<(usize, f64)>> =
        wet.of.par_iter().enumerate().map_init(Halo::default, of_tile).collect();
    let mut levels = vec![Level::default(); bodies.all.len()];
    found.into_iter().flatten().for_each(|(b, s)| levels[b].add(s));
    levels
}

/// Open faces of a liquid cell that lead to air: axis, side and the distance beyond.
fn to_air(
    faces: &TileFaces,
    l: usize,
    cell: [isize; 3],
    axes: usize,
) -> impl Iterator<Item = (usize, f64, f64)> {
    (0..axes).flat_map(move |axis| {
        let low = (faces.lower_open(l, cell, axis) > 0.0).then(|| (axis, -1.0, faces.phi(cell, axis, -1)));
        let high = (faces.upper_open(l, cell, axis) > 0.0).then(|| (axis, 1.0, faces.phi(cell, axis, 1)));
        low.into_iter().chain(high).filter(|(_, _, there)| *there >= 0.0)
    })
}

/// What to add to the weight of each body, N and Nm, and the volume of liquid that each displaces, m³.
pub(super) fn weight_corrections(
    grid: &MacGrid,
    wet: &Wet,
    stencil: &Stencil,
    solids: &Solids,
    bodies: &Bodies,
    rows: &RigidRows,
    density: f64,
) -> Vec<(Six, f64)> {
    let g = bodies.gravity.norm();
    if g == 0.0 || grid.tiles.is_flat() {
        // Nothing has weight; a slab of a body has no volume of its own to be right about.
        let displaced = |b: &Afloat| if grid.tiles.is_flat() { 0.0 } else { b.volume };
        return bodies.all.iter().map(|b| (Six::zeros(), displaced(b))).collect();
    }
    let up = -bodies.gravity / g;
    let levels = levels(grid, wet, stencil, solids, bodies, &up);
    let position = |place: usize| {
        let v = wet.tiles.volume();
        grid.tiles.centre(grid.tiles.cell(wet.of[place / v] * v + place % v))
    };
    bodies
        .all
        .iter()
        .zip(&levels)
        .enumerate()
        .map(|(b, (body, level))| {
            correction(body, level, rows, b, &up, density * g, grid.tiles.h(), &position)
        })
        .collect()
}

#[allow(clippy::too_many_arguments)]
fn correction(
    afloat: &Afloat,
    level: &Level,
    rows: &RigidRows,
    b: usize,
    up: &Vec3,
    weight: f64,
    h: f64,
    position: &dyn Fn(usize) -> Vec3,
) -> (Six, f64) {
    let centre = afloat.body.centre;
    // The area that faces up or down and touches liquid, and by how much the two differ.
    let (mut area, mut net, mut touched) = (0.0, 0.0, false);
    for (_, row) in rows.of_body(b) {
        let along = row[0] * up.x + row[1] * up.y + row[2] * up.z;
        (area, net, touched) = (area + along.abs() * h * h, net + along * h * h, true);
    }
    if !touched {
        return (Six::zeros(), 0.0);
    }
    let deep = net.abs() <= 1e-9 * area;
    let (s, share) = match level.found(h) {
        Some(found) => found,
        // Liquid on all sides: any level above the body will do.
        None if deep => (2.0 * (afloat.hull.bounds().size().norm() + h), 1.0),
        // Held to a wall without liquid between, or in a closed vessel: nothing tells the level.
        None => return (Six::zeros(), 0.0),
    };
    let local = |x: &Vec3| afloat.pose.to_local(x);
    let below =
        Moments::below(&afloat.hull, &local(&(centre + up * s)), &(afloat.pose.rotation.inverse() * up));
    let lift = up * (weight * below.volume);
    let arm = afloat.pose.to_world(&below.centre) - centre;
    let exact = six(&lift, &arm.cross(&lift));
    let linear_pressure = |place: usize| weight * (s - (position(place) - centre).dot(up));
    let discrete = rows.force(b, linear_pressure) * (h * h);
    let missing = exact - discrete;
    // No discretisation is wrong by more than the pressure of a cell's height.
    let (most, size) = (weight * h * area, linear(&missing).norm());
    let share = if size > most { share * most / size } else { share };
    (missing * share, below.volume)
}
