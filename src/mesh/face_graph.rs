//! Cells and the faces between them: all that a pressure solve needs to know of a mesh.
//!
//! A face leads from cell a to cell b, or from a liquid cell a through the free surface ([`AIR`]).
//! It has the area that is open to liquid, the distance over which pressure changes from a to b
//! (for a face to the air: from a to the surface) and the normal velocity u from a to b. A cell
//! also feels the solid's motion through the closed part of its walls.
//!
//! Mass balance of cell i, fluxes counted outwards, s_i a source:
//!
//! ```text
//!     Σ_f ± A_f u_f + Q_i = s_i          Q_i = Σ_f (closed area) · (solid velocity · n)
//! ```

use crate::error::{Error, Result};
use crate::math::Sets;

/// The far side of a face that leads through the free surface.
pub const AIR: u32 = u32::MAX;

/// Faces and cells as flat arrays.
#[derive(Clone, Debug, Default)]
pub struct FaceGraph {
    /// The liquid cell on the near side of each face.
    pub near: Vec<u32>,
    /// The liquid cell on the far side, or [`AIR`].
    pub far: Vec<u32>,
    /// Open area, m².
    pub area: Vec<f64>,
    /// Distance over which pressure drops, m.
    pub length: Vec<f64>,
    /// Velocity from near to far, m/s.
    pub velocity: Vec<f64>,
    /// Pressure at the free surface for a face to the air, Pa; unused otherwise.
    pub surface_pressure: Vec<f64>,
    /// Volume that solids push out of each cell, m³/s (outflow positive).
    pub solid_outflow: Vec<f64>,
    /// Volume that appears in each cell, m³/s.
    pub source: Vec<f64>,
}

impl FaceGraph {
    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.solid_outflow.len()
    }

    /// Number of faces.
    pub fn faces(&self) -> usize {
        self.near.len()
    }

    /// Start with cells that have no faces.
    pub fn with_cells(cells: usize) -> Self {
        Self { solid_outflow: vec![0.0; cells], source: vec![0.0; cells], ..Self::default() }
    }

    /// Add a face.
    pub fn push(
        &mut self,
        near: u32,
        far: u32,
        area: f64,
        length: f64,
        velocity: f64,
        surface_pressure: f64,
    ) {
        self.near.push(near);
        self.far.push(far);
        self.area.push(area);
        self.length.push(length);
        self.velocity.push(velocity);
        self.surface_pressure.push(surface_pressure);
    }

    /// Append the faces of another list over the same cells.
    pub fn append_faces(&mut self, other: &mut FaceGraph) {
        self.near.append(&mut other.near);
        self.far.append(&mut other.far);
        self.area.append(&mut other.area);
        self.length.append(&mut other.length);
        self.velocity.append(&mut other.velocity);
        self.surface_pressure.append(&mut other.surface_pressure);
    }

    /// What is missing to balance each cell, m³/s: source − outflow through faces and solids.
    pub fn imbalance(&self) -> Vec<f64> {
        let mut b: Vec<f64> = self.source.iter().zip(&self.solid_outflow).map(|(s, q)| s - q).collect();
        for f in 0..self.faces() {
            let flux = self.area[f] * self.velocity[f];
            b[self.near[f] as usize] -= flux;
            if self.far[f] != AIR {
                b[self.far[f] as usize] += flux;
            }
        }
        b
    }

    /// The faces of each cell, in the order of the faces.
    pub fn incidence(&self) -> Incidence {
        let mut start = vec![0u32; self.cells() + 1];
        let sides = |f: usize| [self.near[f], self.far[f]].into_iter().filter(|&c| c != AIR);
        for f in 0..self.faces() {
            sides(f).for_each(|c| start[c as usize + 1] += 1);
        }
        for c in 0..self.cells() {
            start[c + 1] += start[c];
        }
        let (mut next, mut faces) = (start.clone(), vec![0u32; start[self.cells()] as usize]);
        for f in 0..self.faces() {
            for c in sides(f) {
                faces[next[c as usize] as usize] = f as u32;
                next[c as usize] += 1;
            }
        }
        Incidence { start, faces }
    }

    /// Refuse numbers that are not finite, areas and lengths that are not positive, and wrong indices.
    pub fn check(&self) -> Result<()> {
        let n = self.cells() as u32;
        for f in 0..self.faces() {
            let far_ok = self.far[f] == AIR || self.far[f] < n;
            let positive = self.area[f] > 0.0 && self.length[f] > 0.0;
            let numbers = [self.area[f], self.length[f], self.velocity[f], self.surface_pressure[f]];
            if self.near[f] >= n || !far_ok || !positive || numbers.iter().any(|v| !v.is_finite()) {
                return Err(Error::diverged(
                    "face graph",
                    format!("face {f} of {}: {numbers:?}", self.faces()),
                ));
            }
        }
        Ok(())
    }

    /// A label for each cell, equal in connected cells, counted from 0 in order of first appearance,
    /// and for each label whether a free surface is reached.
    pub fn components(&self) -> (Vec<u32>, Vec<bool>) {
        let mut sets = Sets::new(self.cells());
        for f in (0..self.faces()).filter(|f| self.far[*f] != AIR) {
            sets.join(self.near[f], self.far[f]);
        }
        let (label, count) = sets.numbered();
        let mut open = vec![false; count];
        for f in 0..self.faces() {
            if self.far[f] == AIR {
                open[label[self.near[f] as usize] as usize] = true;
            }
        }
        (label, open)
    }
}

/// Which faces a cell has.
#[derive(Clone, Debug, Default)]
pub struct Incidence {
    start: Vec<u32>,
    faces: Vec<u32>,
}

impl Incidence {
    #[inline]
    pub fn of_cell(&self, cell: usize) -> &[u32] {
        &self.faces[self.start[cell] as usize..self.start[cell + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_told_apart_and_know_their_surface() {
        let mut g = FaceGraph::with_cells(5);
        g.push(3, 1, 1.0, 1.0, 2.0, 0.0);
        g.push(4, 2, 1.0, 1.0, 0.0, 0.0);
        g.push(2, AIR, 1.0, 0.5, 1.0, 0.0);
        let (label, open) = g.components();
        assert_eq!(label, [0, 1, 2, 1, 2]);
        assert_eq!(open, [false, false, true]);
        assert_eq!(g.imbalance(), [0.0, 2.0, -1.0, -2.0, 0.0]);
        assert!(g.check().is_ok());
        g.push(0, 9, 1.0, 1.0, 0.0, 0.0);
        assert!(g.check().is_err());
    }
}
