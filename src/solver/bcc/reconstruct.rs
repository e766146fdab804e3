//! Whole velocities at circumcentres, from the normal velocities of faces.
//!
//! Each liquid cell takes the vector v that fits its faces best, Σ_f A_f (n_f·v − u_f)² least. A face that is
//! closed to liquid has no velocity and its row is left out: the wall's velocity there would stop liquid that
//! slides along, since the face is not parallel to the wall [BXH10]. Uniform and rigid motions are exact: the
//! velocity of a face sits where the dual edge meets it, and along that edge a rotation does not change it.
//!
//! Cells that know too little (in the air, or in a corner of the wall) take the mean v̄ of neighbours, layer by layer.
//! One beside the surface has some faces of its own, which know how the surface moves: it takes the least change of
//! the mean that agrees with them,
//!
//! ```text
//!     v = v̄ + M⁺ Σ_f A_f n_f (u_f − n_f·v̄) ,        M = Σ_f A_f n_f n_fᵀ over its known faces
//! ```
//!
//! Neighbours lie below the surface, and water that moves like e^{ky} is slower there: a mean of what they have is low by
//! k times a part of a cell, and a wave that is carried by it too slow by half of that. So v̄ is the mean of what
//! neighbours n have when read off at the cell's own place,
//!
//! ```text
//!     v̄ = mean of v_n + G (x − x_n)
//! ```
//!
//! with G the gradient of velocity in the liquid, continued from the nearest place where it is known by means of
//! neighbours, constant along the way [Asl04]. It is that of a tet whose vertices have nothing but fitted cells about them,
//! linear between the means of velocity and place about the vertices: a vertex sees cells of all orientations, and what
//! single cells err in a sheared flow cancels. Drops and sheets too thin for such a tet have no gradient, and what is about them is
//! extended constant as before. What the surface reads lies within [`LINEAR`] layers of the first cell that is extended; beyond,
//! G is left out, and nothing becomes [`MOST_FASTER`] times as fast as the fastest that is known.
//!
//! Where liquid leaves its wall ([`crate::solver::peel`]) a cell expands, and what enters is air between liquid and wall. There the
//! wall is a face like any other, with the velocity that closes the balance: of the open faces, of areas w_f, the area
//! S = Σ ± w_f n_f and the outflow F = Σ ± w_f u_f are missing, so that liquid moves off the wall at F/|S| along S/|S|.
//! Without this row a film that is stretched while it leaves would not become thinner.
//!
//! What is left is of first order but small, kw/20 in a wave: a cell beyond the surface takes the velocities of its known
//! faces for those at its circumcentre, a part of a cell above them.

use crate::error::{Error, Result};
use crate::math::{Mat3, Vec3};
use crate::mesh::bcc::Lattice;
use rayon::prelude::*;
use std::iter::Sum;
use std::ops::{Div, Range};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Layers of cells over which velocity is extended linearly: two widths of a cell or more.
const LINEAR: usize = 12;
/// How much faster than the fastest known cell an extended one may be.
const MOST_FASTER: f64 = 1.25;

/// Less than this of a regular cell's determinant, and the faces do not span space.
const LEAST_DETERMINANT: f64 = 1e-3;
/// What stands in the way of dividing by zero where normals do not span space, as a share of the area.
const PARALLEL: f64 = 1e-7;

/// Velocity at the circumcentre of each cell, from the faces that are `known`, continued over `layers` cells.
pub fn reconstruct(lattice: &Lattice, velocity: &[f64], known: &[bool], layers: usize) -> Result<Vec<Vec3>> {
    let mut fitted = fit_cells(lattice, velocity, known)?;
    extend_velocity(lattice, velocity, known, &mut fitted, layers);
    Ok(fitted.into_iter().map(Option::unwrap_or_default).collect())
}

/// Fill cells without a velocity with the mean of their neighbours, layer by layer.
pub fn extend(lattice: &Lattice, fitted: &mut [Option<Vec3>], layers: usize) {
    let fronts = fronts(lattice, fitted, layers, |_| true);
    fill(fitted, &fronts, |fitted, cell, _| mean_of_neighbours(lattice, fitted, cell));
}

/// Fill cells without a velocity, layer by layer: what their known faces leave open is what their neighbours say.
pub fn extend_velocity(
    lattice: &Lattice,
    velocity: &[f64],
    known: &[bool],
    fitted: &mut [Option<Vec3>],
    layers: usize,
) {
    let fastest = fitted.par_iter().map(|v| v.map_or(0.0, |v| v.norm_squared()));
    let most = MOST_FASTER * fastest.reduce(|| 0.0, f64::max).sqrt();
    let layers = fronts(lattice, fitted, layers, |_| true);
    let mut gradients = rim_gradients(lattice, fitted);
    let mut read: Vec<bool> = fitted.par_iter().map(Option::is_some).collect();
    layers.iter().take(LINEAR).flatten().for_each(|&c| read[c as usize] = true);
    // It begins a ring of vertices and a tet below the first cell that is extended.
    let ways = fronts(lattice, &gradients, 2 * LINEAR, |c| read[c]);
    fill(&mut gradients, &ways, |known, cell, _| mean_of_neighbours(lattice, known, cell));
    fill(fitted, &layers, |fitted, cell, layer| {
        let gradient = gradients[cell].filter(|_| layer < LINEAR);
        let mean = match gradient {
            Some(gradient) => read_off_neighbours(lattice, fitted, cell, &gradient)?,
            None => mean_of_neighbours(lattice, fitted, cell)?,
        };
        let v = agree(lattice, velocity, known, cell, mean);
        Some(if v.norm() > most { v * (most / v.norm()) } else { v })
    });
}

/// The cells without a value in layers: those beside a cell that has one, those beside these, and so on, as far as cells
/// are wanted.
fn fronts<T: Sync>(
    lattice: &Lattice,
    fitted: &[Option<T>],
    layers: usize,
    wanted: impl Fn(usize) -> bool + Sync,
) -> Vec<Vec<u32>> {
    let cells = 0..fitted.len();
    let mut open: Vec<bool> =
        cells.clone().into_par_iter().map(|c| fitted[c].is_none() && wanted(c)).collect();
    let first = |c: &usize| open[*c] && across(lattice, *c).any(|n| fitted[n].is_some());
    let mut front: Vec<u32> = cells.into_par_iter().filter(first).map(|c| c as u32).collect();
    front.iter().for_each(|&c| open[c as usize] = false);
    let mut found = Vec::with_capacity(layers);
    while found.len() < layers && !front.is_empty() {
        let beside = |c: &u32| across(lattice, *c as usize).filter(|n| open[*n]).map(|n| n as u32);
        let mut next: Vec<u32> = front.par_iter().flat_map_iter(beside).collect();
        next.retain(|&c| std::mem::take(&mut open[c as usize]));
        found.push(std::mem::replace(&mut front, next));
    }
    found
}

/// Fill cells, layer by layer, with what `value` makes of those that have something.
fn fill<T: Copy + Send + Sync>(
    fitted: &mut [Option<T>],
    layers: &[Vec<u32>],
    value: impl Fn(&[Option<T>], usize, usize) -> Option<T> + Sync,
) {
    for (layer, front) in layers.iter().enumerate() {
        let values: Vec<Option<T>> = front.par_iter().map(|&c| value(fitted, c as usize, layer)).collect();
        front.iter().zip(values).for_each(|(&c, value)| fitted[c as usize] = value);
    }
}

/// Velocity about a vertex and where it belongs: means over the circumcentres of the tets there.
#[derive(Clone, Copy)]
struct About {
    velocity: Vec3,
    place: Vec3,
    count: f64,
}

/// The gradient of velocity, row by component, in the outermost cells that know it; zero below them, where nothing
/// reads it, and none outside.
fn rim_gradients(lattice: &Lattice, fitted: &[Option<Vec3>]) -> Vec<Option<Mat3>> {
    let (vertices, cell) = (&lattice.tets.vertices, &lattice.tets.cell);
    let (tets, corners) = (0..vertices.len(), lattice.vertices.len());
    // Vertices with nothing but fitted cells about them, and which of those lie beside one that is not so.
    let partial = marks(corners, tets.clone(), |t| fitted[cell[t] as usize].is_none(), |t| &vertices[t]);
    let is_whole = |v: u32| !is_marked(&partial, v);
    let all_whole = |t: usize| vertices[t].iter().all(|&v| is_whole(v));
    let beside = marks(corners, tets.clone(), |t| !all_whole(t), |t| &vertices[t]);
    let at_rim = |t: &usize| all_whole(*t) && vertices[*t].iter().any(|&v| is_marked(&beside, v));
    let rim: Vec<usize> = tets.clone().into_par_iter().filter(at_rim).collect();
    let wanted = marks(corners, 0..rim.len(), |_| true, |t| &vertices[rim[t]]);
    let near = |t: &usize| vertices[*t].iter().any(|&v| is_marked(&wanted, v));
    let near: Vec<usize> = tets.clone().into_par_iter().filter(near).collect();
    let none = About { velocity: Vec3::zeros(), place: Vec3::zeros(), count: 0.0 };
    let mut about = vec![none; corners];
    for t in near {
        for &v in vertices[t].iter().filter(|v| is_marked(&wanted, **v)) {
            let at = &mut about[v as usize];
            at.velocity += fitted[cell[t] as usize].unwrap_or_default();
            at.place += lattice.circumcentre(cell[t]);
            at.count += 1.0;
        }
    }
    let outside = marks(fitted.len(), tets, |t| !all_whole(t), |t| std::slice::from_ref(&cell[t]));
    let below = |c: usize| (!is_marked(&outside, c as u32)).then(Mat3::zeros);
    let mut found: Vec<Option<Mat3>> = (0..fitted.len()).into_par_iter().map(below).collect();
    // Means over the tets of a cell.
    let gradient = |t: &usize| (cell[*t], gradient(vertices[*t].map(|v| about[v as usize])));
    let gradients: Vec<(u32, Option<Mat3>)> = rim.par_iter().map(gradient).collect();
    let mut counts = vec![0u8; fitted.len()];
    for (cell, gradient) in gradients {
        let Some(gradient) = gradient else { continue };
        let (found, count) = (&mut found[cell as usize], &mut counts[cell as usize]);
        *found = Some(if *count == 0 { gradient } else { found.unwrap_or_default() + gradient });
        *count += 1;
    }
    let several = found.par_iter_mut().zip(counts).filter(|(_, count)| *count > 1);
    several.for_each(|(found, count)| *found = found.map(|sum| sum / f64::from(count)));
    found
}

/// Marks on what belongs to some of the items; the order in which they are set does not matter.
fn marks<'a>(
    size: usize,
    items: Range<usize>,
    which: impl Fn(usize) -> bool + Sync,
    of: impl Fn(usize) -> &'a [u32] + Sync,
) -> Vec<AtomicBool> {
    let marks: Vec<AtomicBool> = (0..size).map(|_| AtomicBool::new(false)).collect();
    let mark = |t: usize| of(t).iter().for_each(|&k| marks[k as usize].store(true, Relaxed));
    items.into_par_iter().filter(|t| which(*t)).for_each(mark);
    marks
}

fn is_marked(marks: &[AtomicBool], k: u32) -> bool {
    marks[k as usize].load(Relaxed)
}

/// The gradient of the linear field through what is about four vertices.
fn gradient(about: [About; 4]) -> Option<Mat3> {
    let [first, rest @ ..] = about.map(|a| (a.velocity / a.count, a.place / a.count));
    let velocities = Mat3::from_columns(&rest.map(|r| r.0 - first.0));
    let places = Mat3::from_columns(&rest.map(|r| r.1 - first.1));
    Some(velocities * places.try_inverse()?)
}

/// The mean of what the neighbours of a cell have, each read off at the cell's own place.
fn read_off_neighbours(
    lattice: &Lattice,
    fitted: &[Option<Vec3>],
    cell: usize,
    gradient: &Mat3,
) -> Option<Vec3> {
    let here = lattice.circumcentre(cell as u32);
    mean(across(lattice, cell).filter_map(|n| {
        let away = here - lattice.circumcentre(n as u32);
        fitted[n].map(|v| v + gradient * away)
    }))
}

/// Velocity at the circumcentre of each cell whose known faces span space.
pub fn fit_cells(lattice: &Lattice, velocity: &[f64], known: &[bool]) -> Result<Vec<Option<Vec3>>> {
    let faces = lattice.faces.cells.len();
    if velocity.len() != faces || known.len() != faces {
        let message = format!("{} velocities and {} marks for {faces} faces", velocity.len(), known.len());
        return Err(Error::invalid("face velocity", message));
    }
    let cells = (0..lattice.cells()).into_par_iter();
    Ok(cells.map(|cell| fit(lattice, velocity, known, cell)).collect())
}

/// The vector that fits the known faces of a cell best, if they span space.
fn fit(lattice: &Lattice, velocity: &[f64], known: &[bool], cell: usize) -> Option<Vec3> {
    let inverse = fitting(lattice, known, cell)?;
    let faces = lattice.faces_of(cell).iter().map(|&f| f as usize).filter(|&f| known[f]);
    Some(inverse * faces.fold(Vec3::zeros(), |sum, f| sum + lattice.area_vector(f) * velocity[f]))
}

/// The vector that fits a cell in which liquid leaves its wall: its known faces, of which shares are open, and the wall.
pub fn fit_leaving(
    lattice: &Lattice,
    open: &[f64],
    velocity: &[f64],
    known: &[bool],
    cell: u32,
) -> Option<Vec3> {
    let (moment, total) = lattice.face_moment(cell as usize, |f| known[f]);
    let (mut sum, mut missing, mut outflow) = (Vec3::zeros(), Vec3::zeros(), 0.0);
    for f in lattice.faces_of(cell as usize).iter().map(|&f| f as usize).filter(|&f| known[f]) {
        let area = lattice.area_vector(f);
        let out = if lattice.faces.cells[f][0] == cell { open[f] } else { -open[f] };
        sum += area * velocity[f];
        missing += area * out;
        outflow += area.norm() * velocity[f] * out;
    }
    let wall = missing.norm();
    if wall <= PARALLEL * total {
        return None;
    }
    let moment = moment + missing * missing.transpose() / wall;
    if moment.determinant() <= LEAST_DETERMINANT * ((total + wall) / 3.0).powi(3) {
        return None;
    }
    Some(moment.try_inverse()? * (sum + missing * (outflow / wall)))
}

/// The matrix that makes the vector of a cell from Σ A n u over its known faces, if they span space.
pub(super) fn fitting(lattice: &Lattice, known: &[bool], cell: usize) -> Option<Mat3> {
    let (moment, total) = lattice.face_moment(cell, |f| known[f]);
    // With normals spread evenly over all directions the determinant is (Σ A/3)³.
    if moment.determinant() <= LEAST_DETERMINANT * (total / 3.0).powi(3) {
        return None;
    }
    moment.try_inverse()
}

/// The vector nearest to `mean` among those that fit the known faces of a cell best.
fn agree(lattice: &Lattice, velocity: &[f64], known: &[bool], cell: usize, mean: Vec3) -> Vec3 {
    let (mut moment, total) = lattice.face_moment(cell, |f| known[f]);
    if total == 0.0 {
        return mean;
    }
    // Normals are those of the lattice, parallel or far from it, so this little is a pseudo-inverse.
    moment += Mat3::identity() * (PARALLEL * total);
    let missing = lattice.faces_of(cell).iter().map(|&f| f as usize).filter(|&f| known[f]);
    let missing = missing.fold(Vec3::zeros(), |sum, f| {
        let area = lattice.area_vector(f);
        sum + area * (velocity[f] - area.normalize().dot(&mean))
    });
    moment.try_inverse().map_or(mean, |inverse| mean + inverse * missing)
}

/// The cells beside a cell.
pub(super) fn across(lattice: &Lattice, cell: usize) -> impl Iterator<Item = usize> {
    lattice.faces_of(cell).iter().map(move |&f| {
        let [a, b] = lattice.faces.cells[f as usize].map(|c| c as usize);
        if a == cell { b } else { a }
    })
}

fn mean_of_neighbours<T>(lattice: &Lattice, fitted: &[Option<T>], cell: usize) -> Option<T>
where
    T: Copy + Sum<T> + Div<f64, Output = T>,
{
    mean(across(lattice, cell).filter_map(|c| fitted[c]))
}

fn mean<T: Sum<T> + Div<f64, Output = T>>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut count = 0;
    let sum: T = values.inspect(|_| count += 1).sum();
    (count > 0).then(|| sum / f64::from(count))
}
