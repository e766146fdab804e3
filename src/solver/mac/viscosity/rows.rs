//! The symmetric matrix between the unknown faces, with at most fourteen arms a row.
//!
//! For the face u of axis a at cell i, with e the weight of an edge and v the component along b,
//!
//! ```text
//!     A u = m u + 2c_i (u_i − u_{i+a}) + 2c_{i−a} (u_i − u_{i−a})
//!         + Σ_b  e_i     [uu (u_i − u_{i−b}) + uv (v_i − v_{i−a})]
//!              − e_{i+b} [uu (u_{i+b} − u_i) + uv (v_{i+b} − v_{i+b−a})]
//! ```
//!
//! and in cells that a wall cuts, with x the weight of the product of two normal strains,
//!
//! ```text
//!         + Σ_b  x_{i−a} (v_{i+b−a} − v_{i−a}) − x_i (v_{i+b} − v_i)
//! ```
//!
//! so an unknown meets six of its own kind and four of either other kind ([`STAR`]), all of other colours than its own.
//! Rows are kept as runs ([`super::runs`]).

use super::places::Places;
use super::runs::{ARMS, Row, Run};
use super::weights::{NOTHING, STUCK, Weights, others};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::grid::{NONE, SIDE, Tiles};
use crate::linalg::vector::{Real, chunk_dot};
use crate::linalg::{Csr, LinearOperator};
use crate::math::{CHUNK, Sets};
use rayon::prelude::*;
use std::sync::Arc;

/// The neighbours of a face of each axis: their component, and how far away their cell is.
const STAR: [[(usize, [i32; 3]); ARMS]; 3] = [star(0), star(1), star(2)];

const fn star(a: usize) -> [(usize, [i32; 3]); ARMS] {
    let mut made = [(a, [0; 3]); ARMS];
    (made[0].1[a], made[1].1[a]) = (1, -1);
    let mut n = 0;
    while n < 2 {
        let (b, k) = (others(a)[n], 2 + 6 * n);
        made[k].1[b] = -1;
        made[k + 1].0 = b;
        (made[k + 2].0, made[k + 2].1[a]) = (b, -1);
        made[k + 3].1[b] = 1;
        (made[k + 4].0, made[k + 4].1[b]) = (b, 1);
        (made[k + 5].0, made[k + 5].1[a], made[k + 5].1[b]) = (b, -1, 1);
        n += 1;
    }
    made
}

/// The arms on which the volume of a cell presses: their sign, and whether it is the cell above the face or the one below.
const PRESSED: [(usize, f32, bool); 10] = [
    (0, -1.0, true),
    (1, -1.0, false),
    (3, 1.0, true),
    (4, -1.0, false),
    (6, -1.0, true),
    (7, 1.0, false),
    (9, 1.0, true),
    (10, -1.0, false),
    (12, -1.0, true),
    (13, 1.0, false),
];

/// The matrix.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) places: Arc<Places>,
    runs: Vec<Run>,
    /// The run of each row.
    run: Vec<u32>,
    pub(super) diagonal: Vec<f64>,
}

/// The cells round one of a tile.
struct Around<'a> {
    tiles: &'a Tiles,
    place: usize,
    /// Its tile, and where it is in it.
    tile: usize,
    local: [i32; 3],
    /// Whether all cells that touch it are in its tile.
    inside: bool,
}

impl<'a> Around<'a> {
    #[inline(always)]
    fn new(tiles: &'a Tiles, place: usize) -> Self {
        // A tile has 8³ cells, or 8² on a grid one cell thick.
        let shift = tiles.volume().trailing_zeros();
        let l = place & ((1 << shift) - 1);
        let local = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as i32);
        let inside = local.iter().all(|c| (1..SIDE as i32 - 1).contains(c));
        Self { tiles, place, tile: place >> shift, local, inside }
    }

    /// The place of a cell beside it.
    #[inline(always)]
    fn at(&self, [x, y, z]: [i32; 3]) -> Option<usize> {
        if self.inside {
            let side = SIDE as i32;
            return Some((self.place as i32 + (z * side + y) * side + x) as usize);
        }
        self.tiles.near(self.tile, self.local[0] + x, self.local[1] + y, self.local[2] + z)
    }
}

/// What the arms of a face weigh, in the order of its star, and its diagonal.
#[inline]
fn weigh(w: &Weights, a: usize, around: &Around) -> ([f32; ARMS], f64) {
    let at = |axis: usize, by: i32| {
        let mut step = [0; 3];
        step[axis] = by;
        around.at(step).map_or(&NOTHING, |p| w.weight(p))
    };
    let (own, below) = (w.weight(around.place), at(a, -1));
    let mut arms = [0.0; ARMS];
    let (up, low) = (2.0 * own.centre[a], 2.0 * below.centre[a]);
    let mut diagonal = own.mass[a] as f64 + up as f64 + low as f64;
    (arms[0], arms[1]) = (-up, -low);
    for (n, b) in others(a).into_iter().enumerate().filter(|(_, b)| *b < w.tiles.axes()) {
        let c = 3 - a - b;
        let uu = if others(c)[0] == a { 0 } else { 2 };
        let (e, next) = (own.edge[c], at(b, 1).edge[c]);
        let (x_up, x_low) = (own.cross[c], below.cross[c]);
        diagonal += e[uu] as f64 + next[uu] as f64;
        let six = [-e[uu], e[1] + x_up, -e[1] - x_low, -next[uu], -next[1] - x_up, next[1] + x_low];
        arms[2 + 6 * n..8 + 6 * n].copy_from_slice(&six);
    }
    (arms, diagonal)
}

impl Rows {
    /// The matrix of a level.
    pub(super) fn new(w: &Weights, cancel: &Cancel) -> Result<Self> {
        let places = Arc::new(Places::new(w)?);
        let Places { faces, number, .. } = &*places;
        let row_of = |row: usize| {
            let (place, a) = (faces[row].place as usize, faces[row].axis as usize);
            let around = Around::new(&w.tiles, place);
            let (mut arms, diagonal) = weigh(w, a, &around);
            let mut columns = [row as u32; ARMS];
            for ((column, arm), (axis, step)) in columns.iter_mut().zip(&mut arms).zip(STAR[a]) {
                match around.at(step).map_or(NONE, |p| number[p][axis]) {
                    NONE => *arm = 0.0,
                    other => *column = other,
                }
            }
            Row { columns, arms, diagonal }
        };
        let made = Self::build(&places, row_of, cancel)?;
        if w.press.weight.is_empty() { Ok(made) } else { made.pressed(w, cancel) }
    }

    /// The same matrix, and the price on what cells gain or lose of their volume.
    pub(super) fn pressed(&self, w: &Weights, cancel: &Cancel) -> Result<Self> {
        let faces = &self.places.faces;
        let open = |row: usize| w.press.open[faces[row].place as usize][faces[row].axis as usize];
        let open: Vec<f32> = (0..self.len()).into_par_iter().with_min_len(CHUNK).map(open).collect();
        let row_of = |row: usize| {
            let mut made = self.row(row);
            let (place, mine) = (faces[row].place as usize, open[row]);
            let below = Around::new(&w.tiles, place).at(STAR[faces[row].axis as usize][1].1);
            let (up, low) = (w.press.weight[place], below.map_or(0.0, |p| w.press.weight[p]));
            made.diagonal += ((up + low) * mine * mine) as f64;
            for (k, sign, above) in PRESSED.into_iter().filter(|p| made.columns[p.0] != row as u32) {
                let gamma = if above { up } else { low };
                made.arms[k] += sign * (gamma * (mine * open[made.columns[k] as usize]));
            }
            made
        };
        Self::build(&self.places, row_of, cancel)
    }

    /// Put rows together, in parallel, and those that are alike into runs.
    fn build(
        places: &Arc<Places>,
        row_of: impl Fn(usize) -> Row + Sync + Send,
        cancel: &Cancel,
    ) -> Result<Self> {
        let n = places.faces.len();
        let (mut diagonal, mut run) = (vec![0.0; n], vec![0; n]);
        let parts = diagonal.par_chunks_mut(CHUNK).zip(run.par_chunks_mut(CHUNK)).enumerate();
        let of_chunk = |(chunk, (diagonal, number)): (usize, (&mut [f64], &mut [u32]))| {
            let mut runs: Vec<Run> = Vec::new();
            for (i, (diagonal, number)) in diagonal.iter_mut().zip(number).enumerate() {
                if cancel.is_cancelled() {
                    break;
                }
                let row = (chunk * CHUNK + i) as u32;
                let made = row_of(row as usize);
                *diagonal = made.diagonal;
                match runs.last_mut().filter(|run| run.goes_on(row, &made)) {
                    Some(run) => run.rows.end += 1,
                    None => runs.push(Run { rows: row..row + 1, columns: made.columns, arms: made.arms }),
                }
                *number = runs.len() as u32 - 1;
            }
            runs
        };
        let runs: Vec<Vec<Run>> = parts.map(of_chunk).collect();
        cancel.check()?;
        let before = |sum: &mut u32, runs: &Vec<Run>| Some(std::mem::replace(sum, *sum + runs.len() as u32));
        let first: Vec<u32> = runs.iter().scan(0, before).collect();
        let parts = run.par_chunks_mut(CHUNK).zip(first);
        parts.for_each(|(run, first)| run.iter_mut().for_each(|r| *r += first));
        Ok(Self { places: places.clone(), runs: runs.concat(), run, diagonal })
    }

    pub(super) fn len(&self) -> usize {
        self.run.len()
    }

    /// One row.
    #[inline(always)]
    fn row(&self, row: usize) -> Row {
        let run = &self.runs[self.run[row] as usize];
        let by = row as u32 - run.rows.start;
        Row { columns: run.columns.map(|c| c + by), arms: run.arms, diagonal: self.diagonal[row] }
    }

    /// Σ of the arms of rows that follow each other times their values, for as many as there are in `out`.
    pub(super) fn pull<T: Real>(&self, first: usize, x: &[T], out: &mut [T]) {
        assert!(x.len() == self.len() && first + out.len() <= x.len(), "vector and matrix sizes differ");
        let mut done = 0;
        while done < out.len() {
            let run = &self.runs[self.run[first + done] as usize];
            let count = (run.rows.end as usize - first - done).min(out.len() - done);
            run.pull(first + done, x, &mut out[done..done + count]);
            done += count;
        }
    }

    /// The rows that a row meets.
    pub(super) fn neighbours(&self, row: usize) -> impl Iterator<Item = u32> {
        let Row { columns, arms, .. } = self.row(row);
        columns.into_iter().zip(arms).filter(|(_, w)| *w != 0.0).map(|(c, _)| c)
    }

    /// Whether a face beside that of a row is given.
    pub(super) fn is_beside_given(&self, w: &Weights, row: usize) -> bool {
        let face = self.places.faces[row];
        let around = Around::new(&w.tiles, face.place as usize);
        let missing = self.row(row).columns.map(|c| c == row as u32);
        let given =
            |(axis, step): (usize, [i32; 3])| around.at(step).is_some_and(|p| w.state[p][axis] >= STUCK);
        STAR[face.axis as usize].into_iter().zip(missing).any(|(at, missing)| missing && given(at))
    }

    /// The connected piece of each row, numbered in the order of their first rows, and how many there are; pieces
    /// of fewer than `least` rows are not numbered.
    pub(super) fn pieces(&self, least: usize) -> (Vec<u32>, usize) {
        let mut sets = Sets::new(self.len());
        for row in 0..self.len() {
            self.neighbours(row).for_each(|c| sets.join(row as u32, c));
        }
        let mut size = vec![0usize; self.len()];
        let roots: Vec<u32> = (0..self.len() as u32).map(|row| sets.root(row)).collect();
        roots.iter().for_each(|r| size[*r as usize] += 1);
        let (mut number, mut count) = (vec![NONE; self.len()], 0);
        let of = roots.iter().map(|r| {
            if size[*r as usize] >= least && number[*r as usize] == NONE {
                number[*r as usize] = count;
                count += 1;
            }
            number[*r as usize]
        });
        let of: Vec<u32> = of.collect();
        (of, count as usize)
    }

    /// The same matrix with sorted rows.
    pub(super) fn assemble(&self) -> Result<Csr> {
        Csr::from_rows(self.len(), self.len(), |row, entries| {
            let Row { columns, arms, diagonal } = self.row(row);
            entries.push((row as u32, diagonal));
            entries.extend(columns.into_iter().zip(arms).filter(|e| e.1 != 0.0).map(|(c, w)| (c, w as f64)));
        })
    }

    /// Bytes of all arrays.
    pub(super) fn bytes(&self) -> usize {
        self.len() * (8 + 4 + 8) + 12 * self.places.number.len() + self.runs.len() * size_of::<Run>()
    }

    /// A part of A x.
    fn product(&self, first: usize, x: &[f64], y: &mut [f64]) {
        self.pull(first, x, y);
        let diagonal = self.diagonal[first..].iter().zip(&x[first..]);
        y.iter_mut().zip(diagonal).for_each(|(y, (d, x))| *y += d * x);
    }
}

impl LinearOperator for Rows {
    fn size(&self) -> usize {
        self.len()
    }

    fn assembled(&self) -> Option<Csr> {
        self.assemble().ok()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        y.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, y)| self.product(chunk * CHUNK, x, y));
    }

    fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        let one = |(chunk, y): (usize, &mut [f64])| {
            self.product(chunk * CHUNK, x, y);
            chunk_dot(y, &x[chunk * CHUNK..])
        };
        y.par_chunks_mut(CHUNK).enumerate().map(one).collect::<Vec<f64>>().iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Press, ViscosityOptions, ViscousSystem};
    use super::*;
    use crate::field::{Solids, Wall};
    use crate::linalg::cases::random_vector;
    use crate::math::Vec3;
    use crate::solver::mac::cases::block;
    use crate::solver::mac::grid::MacGrid;

    /// A drop that nothing touches, ten cells in radius.
    fn drop() -> ViscousSystem {
        let solids = Solids::new(vec![], None, [[false; 2]; 3], Wall::default());
        let mut grid = MacGrid::new(block(32, false), &solids, None);
        for place in 0..grid.tiles.cells() {
            let x = grid.tiles.centre(grid.tiles.cell(place));
            grid.liquid[place] = (x - Vec3::new(15.3, 16.1, 14.8)).norm() - 10.0;
        }
        let options = ViscosityOptions { dt: 1.0, density: 1.0, tolerance: 1e-6, draft: false };
        ViscousSystem::new(&grid, &solids, &grid.tiles.field(3.0), &options).unwrap()
    }

    #[test]
    fn rows_in_runs_pull_as_they_do_alone() {
        let rows = drop().rows;
        let (n, x) = (rows.len(), random_vector(rows.len(), 5));
        assert!(4 * rows.runs.len() < 3 * n, "{} runs of {n} rows", rows.runs.len());
        let mut all = vec![0.0; n];
        rows.pull(0, &x, &mut all);
        for (first, count) in (0..n).step_by(7).zip((1..20).cycle()) {
            let mut some = vec![0.0; count.min(n - first)];
            rows.pull(first, &x, &mut some);
            assert_eq!(some, all[first..first + some.len()]);
        }
        let (mut product, mut assembled) = (vec![0.0; n], vec![0.0; n]);
        let dot = rows.apply_dot(&x, &mut product);
        rows.assemble().unwrap().multiply(&x, &mut assembled);
        // Fifteen products of numbers below 50 and 1, each rounded, in another order.
        assert!(product.iter().zip(&assembled).all(|(a, b)| (a - b).abs() < 15.0 * 50.0 * f64::EPSILON));
        assert_eq!(dot, crate::linalg::vector::dot(&product, &x));
    }

    #[test]
    fn what_presses_costs_the_square_of_what_leaves_a_cell() {
        let system = drop();
        let (tiles, number) = (&system.weights.tiles, &system.rows.places.number);
        let share = |place: usize| 0.2 + 0.1 * (place % 7) as f32;
        let open = |place: usize| {
            std::array::from_fn(|a| if number[place][a] == NONE { 0.0 } else { share(place + a) })
        };
        let press = Press {
            weight: (0..tiles.cells()).map(|p| (p % 5) as f32).collect(),
            open: (0..tiles.cells()).map(open).collect(),
        };
        let pressed = system.pressed(press.clone(), &Cancel::new()).unwrap().rows;
        let x = random_vector(pressed.len(), 6);
        let mut y = x.clone();
        let energy = pressed.apply_dot(&x, &mut y) - system.rows.apply_dot(&x, &mut y);
        let flux = |place: Option<usize>, a: usize| match place.map_or(NONE, |p| number[p][a]) {
            NONE => 0.0,
            row => press.open[place.unwrap_or(0)][a] as f64 * x[row as usize],
        };
        let of_cell = |place: usize| {
            let beyond = |a: usize| {
                let mut cell = tiles.cell(place);
                cell[a] += 1;
                tiles.locate(cell)
            };
            let out: f64 = (0..3).map(|a| flux(beyond(a), a) - flux(Some(place), a)).sum();
            press.weight[place] as f64 * out * out
        };
        let expected: f64 = (0..tiles.cells()).map(of_cell).sum();
        // Weights are rounded to f32.
        assert!((energy - expected).abs() < 1e-5 * expected, "{energy} instead of {expected}");
    }
}
