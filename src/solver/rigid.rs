//! Rigid bodies in a pressure solve: the rows that turn pressure into forces, and motion into flow.
//!
//! A body moves with V = (v, ω): the velocity of its centre of mass X and its angular velocity. Through the
//! closed part of a face f, of area (1 − α_f) a and outward normal ±e as cell i sees it, it pushes the volume
//! ±(1 − α_f) a e·(v + ω × (x_f − X)) out of the cell. These numbers are the rows of K, six a body,
//!
//! ```text
//!     (Kᵀ V)_i = Σ_f ± (1 − α_f) a e·(v + ω × (x_f − X))          volume pushed out of cell i
//!     K p      = force and torque of the pressures p on the body   the same numbers, [BBB07]
//! ```
//!
//! The weights are the complements of those that the liquid uses, so that liquid and body exchange exactly
//! what the other receives. With the inverse mass C of the body the pressures of all cells solve
//!
//! ```text
//!     (A + Kᵀ C K) p = b − Kᵀ V*,        V = V* + C K p
//! ```
//!
//! KᵀCK has rank six a body and is never assembled. Directions in which a body cannot move (a hinge, a
//! slider) have no part in C. A closed region has the null vector 1 only if no body feels it: the null vectors
//! are the combinations c of regions with C^½ K c = 0 ([`Floating`]). Signs: forces act on the body, torques
//! about its centre of mass. Checked by tests/bodies.

use crate::linalg::LinearOperator;
use crate::linalg::vector;
use crate::math::{Mat3, Vec3};
use nalgebra::{DMatrix, Matrix6, Vector6};

/// Linear and angular parts, one after the other: velocities, forces or impulses.
pub type Six = Vector6<f64>;
/// A matrix between them.
pub type SixBySix = Matrix6<f64>;

/// Shares of the greatest eigenvalue below which a combination of regions is felt by no body.
const UNFELT: f64 = 1e-10;

/// A body as a pressure solve sees it.
#[derive(Clone, Debug)]
pub struct RigidBody {
    /// Centre of mass, m.
    pub centre: Vec3,
    /// Velocity before the solve, with everything but the pressure.
    pub velocity: Six,
    /// Inverse of mass and inertia about the centre of mass; zero in directions in which it cannot move.
    pub inverse_mass: SixBySix,
}

pub fn linear(six: &Six) -> Vec3 {
    Vec3::new(six[0], six[1], six[2])
}

pub fn angular(six: &Six) -> Vec3 {
    Vec3::new(six[3], six[4], six[5])
}

/// Both parts in one.
pub fn six(linear: &Vec3, angular: &Vec3) -> Six {
    Six::new(linear.x, linear.y, linear.z, angular.x, angular.y, angular.z)
}

/// Mass and inertia as one matrix.
pub fn mass_matrix(mass: f64, inertia: &Mat3) -> SixBySix {
    let mut all = SixBySix::zeros();
    for a in 0..3 {
        all[(a, a)] = mass;
        for b in 0..3 {
            all[(a + 3, b + 3)] = inertia[(a, b)];
        }
    }
    all
}

/// The rows of all bodies over the cells they touch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigidRows {
    /// Entries of body b: `start[b]..start[b + 1]`.
    start: Vec<usize>,
    cell: Vec<u32>,
    value: Vec<[f64; 6]>,
}

impl RigidRows {
    /// From (body, cell, row) in any order; what is given twice is added.
    pub fn new(bodies: usize, mut entries: Vec<(u32, u32, [f64; 6])>) -> Self {
        // A stable sort keeps the order in which entries of a cell were given, and so the bits of sums.
        entries.sort_by_key(|e| (e.0, e.1));
        let mut rows = Self { start: vec![0; bodies + 1], ..Self::default() };
        let mut last = None;
        for (body, cell, value) in entries {
            if last == Some((body, cell)) {
                if let Some(sum) = rows.value.last_mut() {
                    sum.iter_mut().zip(value).for_each(|(s, v)| *s += v);
                }
                continue;
            }
            last = Some((body, cell));
            rows.start[body as usize + 1] += 1;
            rows.cell.push(cell);
            rows.value.push(value);
        }
        for b in 0..bodies {
            rows.start[b + 1] += rows.start[b];
        }
        rows
    }

    pub fn bodies(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Cells and rows of a body.
    pub fn of_body(&self, b: usize) -> impl Iterator<Item = (usize, &[f64; 6])> {
        let span = self.start[b]..self.start[b + 1];
        self.cell[span.clone()].iter().map(|c| *c as usize).zip(&self.value[span])
    }

    /// The same rows over cells that are numbered otherwise; those without a number are left out.
    pub fn renumbered(&self, number: impl Fn(usize) -> Option<usize>) -> Self {
        let mut entries = Vec::with_capacity(self.cell.len());
        for b in 0..self.bodies() {
            let kept = self.of_body(b).filter_map(|(c, v)| Some((b as u32, number(c)? as u32, *v)));
            entries.extend(kept);
        }
        Self::new(self.bodies(), entries)
    }

    /// K p of one body.
    pub fn force(&self, b: usize, p: impl Fn(usize) -> f64) -> Six {
        let mut sum = [0.0; 6];
        for (cell, value) in self.of_body(b) {
            let p = p(cell);
            sum.iter_mut().zip(value).for_each(|(s, v)| *s += v * p);
        }
        Six::from(sum)
    }

    /// out ← out + s Kᵀ V.
    pub fn add_flow(&self, s: f64, velocities: &[Six], out: &mut [f64]) {
        self.hand_out_flow(s, velocities, |cell, more| out[cell] += more);
    }

    /// Hand out what s Kᵀ V adds to each cell.
    fn hand_out_flow(&self, s: f64, velocities: &[Six], mut to: impl FnMut(usize, f64)) {
        for (b, v) in velocities.iter().enumerate() {
            let v: [f64; 6] = (v * s).into();
            for (cell, value) in self.of_body(b) {
                to(cell, value.iter().zip(&v).map(|(k, v)| k * v).sum::<f64>());
            }
        }
    }
}

/// KᵀCK: what bodies add to a pressure matrix.
#[derive(Clone, Debug, Default)]
pub struct Coupling {
    pub rows: RigidRows,
    /// C of each body.
    pub middle: Vec<SixBySix>,
}

impl Coupling {
    /// out ← out + s KᵀCK p. Returns pᵀKᵀCK p.
    pub fn add(&self, s: f64, p: &[f64], out: &mut [f64]) -> f64 {
        self.add_to(s, |cell| p[cell], |cell, more| out[cell] += more)
    }

    /// Hand out what s KᵀCK p adds to each cell. Returns pᵀKᵀCK p.
    pub fn add_to(&self, s: f64, p: impl Fn(usize) -> f64, to: impl FnMut(usize, f64)) -> f64 {
        let forces: Vec<Six> = (0..self.rows.bodies()).map(|b| self.rows.force(b, &p)).collect();
        let moves: Vec<Six> = forces.iter().zip(&self.middle).map(|(f, c)| c * f).collect();
        self.rows.hand_out_flow(s, &moves, to);
        forces.iter().zip(&moves).map(|(f, m)| f.dot(m)).sum()
    }
}

/// A matrix and the bodies in it.
pub struct WithBodies<'a, A: LinearOperator + ?Sized> {
    pub base: &'a A,
    pub coupling: &'a Coupling,
}

impl<A: LinearOperator + ?Sized> LinearOperator for WithBodies<'_, A> {
    fn size(&self) -> usize {
        self.base.size()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.base.apply(x, y);
        self.coupling.add(1.0, x, y);
    }

    fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        self.apply(x, y);
        vector::dot(x, y)
    }
}

/// Closed regions that bodies feel: which combinations of constants are null vectors, and the inverse of
/// KᵀCK on the others.
///
/// In the unit vectors 1_r/√n_r of the regions, of n_r cells, the matrix of constants is
/// G = Σ_b F_bᵀ C_b F_b with the columns F_b = K_b 1_r/√n_r. Its null vectors stay; the rest is inverted.
#[derive(Clone, Debug, Default)]
pub struct Floating {
    /// The regions that are felt, and √n of each.
    pub regions: Vec<usize>,
    root: Vec<f64>,
    /// Orthonormal null vectors of G.
    null: Vec<Vec<f64>>,
    /// The inverse of G on what is not null.
    inverse: Vec<f64>,
}

impl Floating {
    /// `region` tells the closed region of a cell, `sizes` how many cells each has.
    pub fn new(coupling: &Coupling, sizes: &[f64], region: impl Fn(usize) -> Option<usize>) -> Self {
        let bodies = coupling.rows.bodies();
        let mut pushes = vec![vec![[0.0; 6]; sizes.len()]; bodies];
        let mut largest = vec![[0.0f64; 6]; bodies];
        for (b, pushes) in pushes.iter_mut().enumerate() {
            for (cell, value) in coupling.rows.of_body(b) {
                let Some(r) = region(cell) else { continue };
                for a in 0..6 {
                    pushes[r][a] += value[a];
                    largest[b][a] = largest[b][a].max(value[a].abs());
                }
            }
        }
        // Sums over a body inside a region vanish up to rounding.
        let felt =
            |r: usize| (0..bodies).any(|b| (0..6).any(|a| pushes[b][r][a].abs() > 1e-9 * largest[b][a]));
        let regions: Vec<usize> = (0..sizes.len()).filter(|&r| felt(r)).collect();
        let root: Vec<f64> = regions.iter().map(|&r| sizes[r].sqrt()).collect();
        let m = regions.len();
        if m == 0 {
            return Self::default();
        }
        let mut g = DMatrix::<f64>::zeros(m, m);
        for (b, middle) in coupling.middle.iter().enumerate() {
            let column = |k: usize| Six::from(pushes[b][regions[k]]) / root[k];
            for k in 0..m {
                let moved = middle * column(k);
                for l in 0..m {
                    g[(l, k)] += column(l).dot(&moved);
                }
            }
        }
        let eigen = g.symmetric_eigen();
        let top = eigen.eigenvalues.iter().fold(0.0f64, |t, v| t.max(*v));
        let (mut null, mut inverse) = (Vec::new(), vec![0.0; m * m]);
        for (k, value) in eigen.eigenvalues.iter().enumerate() {
            let vector: Vec<f64> = eigen.eigenvectors.column(k).iter().copied().collect();
            if *value <= UNFELT * top {
                null.push(vector);
                continue;
            }
            for a in 0..m {
                for b in 0..m {
                    inverse[a * m + b] += vector[a] * vector[b] / value;
                }
            }
        }
        Self { regions, root, null, inverse }
    }

    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// The null vectors as pairs of a region and its constant; regions without a part in it are left out.
    pub fn null_constants(&self) -> Vec<Vec<(usize, f64)>> {
        let one = |null: &Vec<f64>| {
            let all = (0..null.len()).map(|k| (self.regions[k], null[k] / self.root[k]));
            all.filter(|(_, c)| c.abs() > 1e-9 * (1.0 / self.root[0])).collect()
        };
        self.null.iter().map(one).filter(|c: &Vec<(usize, f64)>| !c.is_empty()).collect()
    }

    /// From the sums of a field over the felt regions, the constants to subtract there to remove null vectors.
    pub fn null_part(&self, sums: &[f64]) -> Vec<f64> {
        let mut part = vec![0.0; sums.len()];
        for null in &self.null {
            let share: f64 = null.iter().zip(sums).zip(&self.root).map(|((n, s), r)| n * s / r).sum();
            for k in 0..part.len() {
                part[k] += share * null[k] / self.root[k];
            }
        }
        part
    }

    /// From the sums of a residual over the felt regions, the constants that would balance it.
    pub fn correction(&self, sums: &[f64]) -> Vec<f64> {
        let m = sums.len();
        let row = |a: usize| -> f64 {
            (0..m).map(|b| self.inverse[a * m + b] * sums[b] / self.root[b]).sum::<f64>() / self.root[a]
        };
        (0..m).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piston between two closed regions of two and three cells, and a third region that it does not touch.
    fn piston(c: f64) -> (Coupling, Floating) {
        let push = |v: f64| [v, 0.0, 0.0, 0.0, 0.0, 0.0];
        let rows = RigidRows::new(1, vec![(0, 1, push(1.0)), (0, 2, push(-1.0))]);
        let mut middle = SixBySix::zeros();
        middle[(0, 0)] = c;
        let coupling = Coupling { rows, middle: vec![middle] };
        let region = |cell: usize| Some([0, 0, 1, 1, 1, 2][cell]);
        let floating = Floating::new(&coupling, &[2.0, 3.0, 1.0], region);
        (coupling, floating)
    }

    #[test]
    fn equal_pressure_on_both_sides_moves_no_piston() {
        let (coupling, floating) = piston(4.0);
        assert_eq!(floating.regions, [0, 1]);
        let mut out = [0.0; 6];
        assert!(coupling.add(1.0, &[7.0, 7.0, 7.0, 7.0, 7.0, 0.0], &mut out).abs() < 1e-12);
        // A constant over both is all null; what differs between them is not.
        let part = floating.null_part(&[2.0, 3.0]);
        assert!(part.iter().all(|c| (c - 1.0).abs() < 1e-12), "{part:?}");
        // p = (x, x, y, y, y) gives (KᵀCK p) = 4(x − y) at cell 1 and −4(x − y) at cell 2: sums ±4(x − y).
        let p = floating.correction(&[4.0, -4.0]);
        assert!((p[0] - p[1] - 1.0).abs() < 1e-12, "{p:?}");
    }

    #[test]
    fn a_held_piston_leaves_both_constants() {
        let (_, floating) = piston(0.0);
        assert_eq!(floating.null_part(&[2.0, 0.0]).len(), 2);
        let part = floating.null_part(&[2.0, 0.0]);
        assert!((part[0] - 1.0).abs() < 1e-12 && part[1].abs() < 1e-12);
    }
}
