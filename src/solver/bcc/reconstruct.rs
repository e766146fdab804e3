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
//! The mean alone is the velocity of a place below the surface; waves that are carried by it are too slow.

use crate::error::{Error, Result};
use crate::math::{Mat3, Vec3};
use crate::mesh::bcc::Lattice;
use rayon::prelude::*;

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
    extend_by(lattice, fitted, layers, |_, mean| mean);
}

/// Fill cells without a velocity, layer by layer: what their known faces leave open is the mean of their neighbours.
pub fn extend_velocity(
    lattice: &Lattice,
    velocity: &[f64],
    known: &[bool],
    fitted: &mut [Option<Vec3>],
    layers: usize,
) {
    extend_by(lattice, fitted, layers, |cell, mean| agree(lattice, velocity, known, cell, mean));
}

fn extend_by(
    lattice: &Lattice,
    fitted: &mut [Option<Vec3>],
    layers: usize,
    adjust: impl Fn(usize, Vec3) -> Vec3 + Sync,
) {
    let beside = |fitted: &[Option<Vec3>], cells: &[u32]| -> Vec<u32> {
        let unknown = |c: &u32| across(lattice, *c as usize).filter(|n| fitted[*n].is_none());
        let mut found: Vec<u32> = cells.par_iter().flat_map_iter(|c| unknown(c).map(|n| n as u32)).collect();
        found.par_sort_unstable();
        found.dedup();
        found
    };
    let known: Vec<u32> =
        (0..fitted.len() as u32).into_par_iter().filter(|&c| fitted[c as usize].is_some()).collect();
    let mut front = beside(fitted, &known);
    for _ in 0..layers {
        let means: Vec<Option<Vec3>> = front
            .par_iter()
            .map(|&c| Some(adjust(c as usize, mean_of_neighbours(lattice, fitted, c as usize)?)))
            .collect();
        front.iter().zip(means).for_each(|(&c, mean)| fitted[c as usize] = mean);
        front = beside(fitted, &front);
    }
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

fn mean_of_neighbours(lattice: &Lattice, fitted: &[Option<Vec3>], cell: usize) -> Option<Vec3> {
    let (mut sum, mut count) = (Vec3::zeros(), 0);
    for v in across(lattice, cell).filter_map(|c| fitted[c]) {
        sum += v;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}
