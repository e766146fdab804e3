//! Light bodies: what keeps iterations few when a body weighs next to nothing.
//!
//! A preconditioner M of the pressure matrix A knows nothing of the bodies in A + KᵀCK ([`super::rigid`]), and
//! M⁻¹(A + KᵀCK) has up to six eigenvalues a body at 1 + (added mass)/mass. Conjugate gradients find these one
//! by one, which for ten bodies of a hundredth of the liquid's density costs more than all the rest. They are
//! taken out by a coarse space W of a few columns a body [TNVE09]:
//!
//! ```text
//!     z = (1 − Q(A + KᵀCK)) M⁻¹ r + Q r,       Q = W E⁻¹ Wᵀ,       E = Wᵀ(A + KᵀCK)W
//! ```
//!
//! W does not have to be good. For x orthogonal to W in A + KᵀCK and G = KW square,
//! Wᵀ A x = −GᵀCKx, and Cauchy's inequality leaves
//!
//! ```text
//!     xᵀKᵀCKx / xᵀAx  ≤  λ_max( (WᵀAW) (GᵀCG)⁻¹ )
//! ```
//!
//! of what bodies add. With one column w = A⁻¹k this is 1/(c kᵀA⁻¹k), mass over added mass: the lighter the body,
//! the less is left. A column with η times the energy of the best one for its force leaves η times as much, so
//! an η of 2 or 3 does no harm. Columns are therefore found near the body alone: A w = Kᵀ with w = 0 beyond
//! [`LAYERS`] layers of cells, by a few sweeps of Gauss-Seidel. For a ball of radius R and a layer of R/2 the
//! energy is 1.6 times that of the liquid without end, for R/4 it is 2.6 times. Work and memory are those of the
//! cells near the light bodies.
//!
//! Of the six directions of a body those stay whose eigenvalue of C^½ K W C^½ says that they matter. A row of the
//! matrix is all that is asked for, so that grids and face graphs are served alike. Checked by
//! `ten_bodies_cost_little_more_than_ten_stones` in tests/bodies.

use super::rigid::{Coupling, Six, SixBySix};
use crate::error::Result;
use crate::linalg::{DenseLdlt, Preconditioner};
use rayon::prelude::*;
use std::collections::HashMap;

/// Layers of cells round a body in which its columns live.
const LAYERS: usize = 4;
/// Sweeps there and back.
const SWEEPS: usize = 5;
/// Directions count whose added mass near the body is at least this share of their mass.
const MATTERS: f64 = 1.0;
/// Columns at most: their matrix is dense.
const MOST_COLUMNS: usize = 768;

/// A row of a matrix: pushes the other cells with their couplings (the negative entries) and returns the diagonal.
pub type Row<'a> = dyn Fn(usize, &mut Vec<(u32, f64)>) -> f64 + Sync + 'a;

/// The columns of one body, over the cells where they are not zero.
#[derive(Clone, Debug, Default)]
struct Columns {
    /// How many, and the number of the first.
    count: usize,
    first: usize,
    cell: Vec<u32>,
    /// `count` numbers a cell.
    value: Vec<f64>,
    /// (A + KᵀCK) applied to them.
    image_cell: Vec<u32>,
    image: Vec<f64>,
}

/// The coarse space of the light bodies of a solve.
#[derive(Clone, Debug)]
pub struct Light {
    bodies: Vec<Columns>,
    factor: DenseLdlt,
}

impl Light {
    /// None if no body is light.
    pub fn new(coupling: &Coupling, row: &Row) -> Result<Option<Self>> {
        let count = coupling.rows.bodies();
        let made: Vec<Columns> =
            (0..count).into_par_iter().map(|b| columns(coupling, b, row).unwrap_or_default()).collect();
        let mut bodies: Vec<Columns> = Vec::new();
        let mut first = 0;
        for mut columns in made.into_iter().filter(|c| c.count > 0) {
            if first + columns.count > MOST_COLUMNS {
                break;
            }
            columns.first = first;
            first += columns.count;
            bodies.push(columns);
        }
        if bodies.is_empty() {
            return Ok(None);
        }
        let touched = Touched::of_rows(coupling);
        bodies.par_iter_mut().for_each(|columns| add_image(columns, coupling, &touched, row));
        let inside = Touched::of_columns(&bodies);
        let mut e = vec![0.0; first * first];
        let strips: Vec<Vec<f64>> = bodies.par_iter().map(|b| strip(b, &bodies, &inside, first)).collect();
        for (columns, strip) in bodies.iter().zip(strips) {
            for k in 0..columns.count {
                for j in 0..first {
                    // Rounding must not make it less than symmetric; only the lower triangle is read.
                    e[(columns.first + k) * first + j] = strip[k * first + j];
                }
            }
        }
        Ok(Some(Self { bodies, factor: DenseLdlt::new(first, &e)? }))
    }

    /// The same columns over cells that are numbered otherwise. Every cell of an unknown has a number.
    pub fn renumbered(mut self, number: impl Fn(usize) -> Option<usize>) -> Self {
        for columns in &mut self.bodies {
            let cells = columns.cell.iter_mut().chain(&mut columns.image_cell);
            cells.for_each(|c| *c = number(*c as usize).map_or(*c, |n| n as u32));
        }
        self
    }

    /// E⁻¹(Wᵀ r − ((A + KᵀCK) W)ᵀ z): how much of each column to add to z.
    pub fn amounts(&self, r: impl Fn(usize) -> f64 + Sync, z: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        let of_body = |columns: &Columns| {
            let mut sum = vec![0.0; columns.count];
            for (cell, w) in columns.cell.iter().zip(columns.value.chunks_exact(columns.count)) {
                let r = r(*cell as usize);
                sum.iter_mut().zip(w).for_each(|(s, w)| *s += w * r);
            }
            for (cell, a) in columns.image_cell.iter().zip(columns.image.chunks_exact(columns.count)) {
                let z = z(*cell as usize);
                sum.iter_mut().zip(a).for_each(|(s, a)| *s -= a * z);
            }
            sum
        };
        let sums: Vec<Vec<f64>> = self.bodies.par_iter().map(of_body).collect();
        let mut all = sums.concat();
        self.factor.solve(&mut all);
        all
    }

    /// Hand out what these amounts of the columns add to each cell.
    pub fn add(&self, amounts: &[f64], mut to: impl FnMut(usize, f64)) {
        for columns in &self.bodies {
            let y = &amounts[columns.first..columns.first + columns.count];
            for (cell, w) in columns.cell.iter().zip(columns.value.chunks_exact(columns.count)) {
                to(*cell as usize, w.iter().zip(y).map(|(w, y)| w * y).sum());
            }
        }
    }
}

/// A preconditioner that knows the light bodies.
pub struct WithLight<'a> {
    pub base: &'a mut dyn Preconditioner,
    pub light: &'a Light,
}

impl Preconditioner for WithLight<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        self.base.apply(r, z);
        let amounts = self.light.amounts(|i| r[i], |i| z[i]);
        self.light.add(&amounts, |i, more| z[i] += more);
    }
}

/// Who has something to do with a cell: pairs of an owner and a place there, by cell.
struct Touched {
    start: HashMap<u32, (usize, usize)>,
    all: Vec<(u32, u32, u32)>,
}

impl Touched {
    fn new(mut all: Vec<(u32, u32, u32)>) -> Self {
        all.sort_unstable();
        let mut start = HashMap::new();
        let mut from = 0;
        while from < all.len() {
            let cell = all[from].0;
            let to = from + all[from..].partition_point(|e| e.0 == cell);
            start.insert(cell, (from, to));
            from = to;
        }
        Self { start, all }
    }

    fn of_rows(coupling: &Coupling) -> Self {
        let of_body = |b: usize| {
            coupling.rows.of_body(b).enumerate().map(move |(k, (cell, _))| (cell as u32, b as u32, k as u32))
        };
        Self::new((0..coupling.rows.bodies()).flat_map(of_body).collect())
    }

    fn of_columns(bodies: &[Columns]) -> Self {
        let of_body = |(b, c): (usize, &Columns)| {
            c.cell.iter().enumerate().map(|(k, cell)| (*cell, b as u32, k as u32)).collect::<Vec<_>>()
        };
        Self::new(bodies.iter().enumerate().flat_map(of_body).collect())
    }

    fn at(&self, cell: u32) -> &[(u32, u32, u32)] {
        self.start.get(&cell).map_or(&[], |(from, to)| &self.all[*from..*to])
    }
}

/// The cells near a body with their couplings among each other.
struct Near {
    cell: Vec<u32>,
    /// Couplings of cell i: `start[i]..start[i + 1]`.
    start: Vec<usize>,
    other: Vec<u32>,
    coupling: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Near {
    fn new(first: impl Iterator<Item = usize>, row: &Row) -> Self {
        let mut cell: Vec<u32> = first.map(|c| c as u32).collect();
        let mut number: HashMap<u32, u32> = cell.iter().enumerate().map(|(k, c)| (*c, k as u32)).collect();
        let (mut rows, mut diagonal) = (Vec::new(), Vec::new());
        let (mut from, mut layer) = (0, 0);
        while from < cell.len() {
            let to = cell.len();
            for k in from..to {
                let mut couplings = Vec::new();
                diagonal.push(row(cell[k] as usize, &mut couplings));
                if layer < LAYERS {
                    for (other, _) in &couplings {
                        number.entry(*other).or_insert_with(|| {
                            cell.push(*other);
                            cell.len() as u32 - 1
                        });
                    }
                }
                rows.push(couplings);
            }
            (from, layer) = (to, layer + 1);
        }
        let mut near = Self { cell, start: vec![0], other: Vec::new(), coupling: Vec::new(), diagonal };
        for couplings in rows {
            for (other, c) in couplings {
                if let Some(k) = number.get(&other) {
                    near.other.push(*k);
                    near.coupling.push(c);
                }
            }
            near.start.push(near.other.len());
        }
        near
    }

    /// x_i ← (b_i + Σ c x_j) / d_i.
    fn relax(&self, i: usize, b: &[[f64; 6]], x: &mut [[f64; 6]]) {
        let mut sum = b.get(i).copied().unwrap_or_default();
        for e in self.start[i]..self.start[i + 1] {
            let (c, there) = (self.coupling[e], x[self.other[e] as usize]);
            sum.iter_mut().zip(there).for_each(|(s, x)| *s += c * x);
        }
        x[i] = sum.map(|s| s / self.diagonal[i]);
    }
}

/// The columns of a body without their images; None if it is heavy or dry.
fn columns(coupling: &Coupling, b: usize, row: &Row) -> Option<Columns> {
    let middle = &coupling.middle[b];
    let pushes: Vec<[f64; 6]> = coupling.rows.of_body(b).map(|(_, k)| *k).collect();
    if pushes.is_empty() || middle.amax() == 0.0 {
        return None;
    }
    let root = square_root(middle);
    // One Jacobi step knows a layer of a cell; the liquid that takes part grows with the size of the body,
    // which for a ball is that of its rows.
    let mut couplings = Vec::new();
    let mut felt = SixBySix::zeros();
    for (cell, k) in coupling.rows.of_body(b) {
        couplings.clear();
        let (k, d) = (Six::from(*k), row(cell, &mut couplings));
        if d > 0.0 {
            felt += k * k.transpose() / d;
        }
    }
    let wide = 3.0 * (pushes.len() as f64 / 19.0).sqrt().max(1.0);
    if (root * felt * root).symmetric_eigenvalues().max() * wide < MATTERS {
        return None;
    }
    let near = Near::new(coupling.rows.of_body(b).map(|(cell, _)| cell), row);
    if near.diagonal.iter().any(|d| *d <= 0.0) {
        return None;
    }
    let mut x = vec![[0.0; 6]; near.cell.len()];
    for _ in 0..SWEEPS {
        (0..x.len()).for_each(|i| near.relax(i, &pushes, &mut x));
        (0..x.len()).rev().for_each(|i| near.relax(i, &pushes, &mut x));
    }
    let mut added = SixBySix::zeros();
    for (k, x) in pushes.iter().zip(&x) {
        added += Six::from(*k) * Six::from(*x).transpose();
    }
    let share = root * (added + added.transpose()) * root * 0.5;
    let eigen = share.symmetric_eigen();
    let kept: Vec<Six> = (0..6)
        .filter(|k| eigen.eigenvalues[*k] >= MATTERS)
        .map(|k| root * eigen.eigenvectors.column(k) / eigen.eigenvalues[k].sqrt())
        .collect();
    let value = x.iter().flat_map(|x| kept.iter().map(|k| Six::from(*x).dot(k))).collect();
    Some(Columns { count: kept.len(), cell: near.cell, value, ..Columns::default() })
}

/// C^½ of a symmetric matrix that is at least semi-definite.
fn square_root(c: &SixBySix) -> SixBySix {
    let eigen = c.symmetric_eigen();
    let roots = SixBySix::from_diagonal(&eigen.eigenvalues.map(|v| v.max(0.0).sqrt()));
    eigen.eigenvectors * roots * eigen.eigenvectors.transpose()
}

/// (A + KᵀCK) applied to the columns of a body.
fn add_image(columns: &mut Columns, coupling: &Coupling, touched: &Touched, row: &Row) {
    let n = columns.count;
    let mut number: HashMap<u32, usize> = columns.cell.iter().enumerate().map(|(k, c)| (*c, k)).collect();
    let (mut cells, mut image) = (columns.cell.clone(), vec![0.0; columns.value.len()]);
    let mut at = |cell: u32, cells: &mut Vec<u32>, image: &mut Vec<f64>| {
        *number.entry(cell).or_insert_with(|| {
            cells.push(cell);
            image.resize(image.len() + n, 0.0);
            cells.len() - 1
        })
    };
    // K W of every body whose rows meet the columns, in the order in which they are met.
    let mut forces: Vec<(u32, Vec<Six>)> = Vec::new();
    let mut couplings = Vec::new();
    let mut rows_read: Vec<Vec<[f64; 6]>> = Vec::new();
    let mut rows_of: HashMap<u32, usize> = HashMap::new();
    for (k, cell) in columns.cell.iter().enumerate() {
        let w = &columns.value[k * n..(k + 1) * n];
        couplings.clear();
        let d = row(*cell as usize, &mut couplings);
        image[k * n..(k + 1) * n].iter_mut().zip(w).for_each(|(i, w)| *i += d * w);
        for (other, c) in &couplings {
            let place = at(*other, &mut cells, &mut image);
            image[place * n..(place + 1) * n].iter_mut().zip(w).for_each(|(i, w)| *i -= c * w);
        }
        for (_, body, entry) in touched.at(*cell) {
            let read = *rows_of.entry(*body).or_insert_with(|| {
                rows_read.push(coupling.rows.of_body(*body as usize).map(|(_, k)| *k).collect());
                forces.push((*body, vec![Six::zeros(); n]));
                rows_read.len() - 1
            });
            let push = Six::from(rows_read[read][*entry as usize]);
            forces[read].1.iter_mut().zip(w).for_each(|(f, w)| *f += push * *w);
        }
    }
    for (body, forces) in &forces {
        let moves: Vec<Six> = forces.iter().map(|f| coupling.middle[*body as usize] * f).collect();
        for (cell, push) in coupling.rows.of_body(*body as usize) {
            let place = at(cell as u32, &mut cells, &mut image);
            let push = Six::from(*push);
            let to = image[place * n..(place + 1) * n].iter_mut();
            to.zip(&moves).for_each(|(i, m)| *i += push.dot(m));
        }
    }
    (columns.image_cell, columns.image) = (cells, image);
}

/// The rows of E that belong to a body.
fn strip(columns: &Columns, bodies: &[Columns], inside: &Touched, size: usize) -> Vec<f64> {
    let n = columns.count;
    let mut rows = vec![0.0; n * size];
    for (cell, image) in columns.image_cell.iter().zip(columns.image.chunks_exact(n)) {
        for (_, body, entry) in inside.at(*cell) {
            let other = &bodies[*body as usize];
            let w = &other.value[*entry as usize * other.count..(*entry as usize + 1) * other.count];
            for (k, image) in image.iter().enumerate() {
                let row = &mut rows[k * size + other.first..k * size + other.first + other.count];
                row.iter_mut().zip(w).for_each(|(r, w)| *r += image * w);
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Csr, Identity, KrylovParams, cg};
    use crate::solver::rigid::{RigidRows, WithBodies};

    /// A line of cells between two airs with light bodies that feel single cells of it.
    fn line(n: usize, cells: &[usize], c: f64) -> (Csr, Coupling) {
        let entries = |i: usize| {
            let i = i as u32;
            let beside = [i.checked_sub(1), Some(i + 1).filter(|j| (*j as usize) < n)];
            beside.into_iter().flatten().map(move |j| (i, j, -1.0)).chain([(i, i, 2.0)])
        };
        let triplets: Vec<(u32, u32, f64)> = (0..n).flat_map(entries).collect();
        let push = |(b, cell): (usize, &usize)| (b as u32, *cell as u32, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let rows = RigidRows::new(cells.len(), cells.iter().enumerate().map(push).collect());
        let mut middle = SixBySix::zeros();
        middle[(0, 0)] = c;
        (Csr::from_triplets(n, n, &triplets).unwrap(), Coupling { rows, middle: vec![middle; cells.len()] })
    }

    #[test]
    fn light_bodies_are_found_and_heavy_ones_left_alone() {
        let (matrix, coupling) = line(60, &[10, 30, 33], 1e4);
        let row = |i: usize, out: &mut Vec<(u32, f64)>| {
            let (columns, values) = matrix.row(i);
            let others = columns.iter().zip(values).filter(|(j, _)| **j as usize != i);
            out.extend(others.map(|(j, v)| (*j, -v)));
            matrix.get(i, i)
        };
        let light = Light::new(&coupling, &row).unwrap().expect("light bodies");
        let with = WithBodies { base: &matrix, coupling: &coupling };
        let b: Vec<f64> = (0..60).map(|i| ((7 * i + 3) % 11) as f64 - 5.0).collect();
        let params = KrylovParams { tolerance: 1e-12, ..KrylovParams::default() };
        let solve = |m: &mut dyn Preconditioner| {
            let mut x = vec![0.0; 60];
            let info = cg(&with, m, &b, &mut x, &params, &crate::Cancel::new()).unwrap();
            assert!(info.converged());
            x
        };
        // The coarse space changes the way, not the answer.
        let plain = solve(&mut Identity);
        let found = solve(&mut WithLight { base: &mut Identity, light: &light });
        assert!(plain.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-8), "{plain:?} {found:?}");
        // What the coarse space can do it does at once: Q A Q = Q.
        let mut image = vec![0.0; 60];
        let amounts = light.amounts(|i| b[i], |_| 0.0);
        let mut x = vec![0.0; 60];
        light.add(&amounts, |i, v| x[i] += v);
        crate::linalg::LinearOperator::apply(&with, &x, &mut image);
        let again = light.amounts(|i| b[i] - image[i], |_| 0.0);
        assert!(again.iter().all(|a| a.abs() < 1e-9 * amounts.iter().fold(0.0f64, |m, a| m.max(a.abs()))));
        let heavy = line(60, &[10, 30, 33], 1e-3).1;
        assert!(Light::new(&heavy, &row).unwrap().is_none());
    }
}
