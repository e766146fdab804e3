//! Set-up: from a stencil to levels.
//!
//! A coarse cell is the aggregate of 2×2×2 cells (2×2×1 when flat). Its coupling with the next one is half
//! the sum of the couplings between them: in a network of pipes the way is twice as long [SHM22]. The pull
//! of the air e = c/θ on a cell is that of a pipe of length θ; seen from the middle of the aggregate the
//! pipe is longer by half a cell,
//!
//! ```text
//!     ½ Σ e′,   e′ = 2c/(θ + ½) = 4e/(2 + e/c)         c: the coupling of two cells without walls
//! ```
//!
//! which is e for θ = ½, keeps an aggregate that touches the surface from being pinned to it by one cell
//! with θ near 0, and keeps e′ = 0 in closed components.
//!
//! Prolongation to a cell with the outer couplings c₁, c₂, c₃ and the pull e follows one damped Jacobi step
//! on piecewise constant values, w_k = ω c_k, w₀ = 1 − ω(e + Σ c_k). ω = 1/(4 max c) makes it linear
//! interpolation where nothing is cut; ω ≤ 1/(e + Σ c_k) keeps all weights positive.

use super::level::{BLACK, Level, RED, TASK};
use super::rows::{LANES, Shape, is_odd, split_place};
use crate::error::Result;
use crate::grid::{NONE, SIDE, Tiles};
use crate::linalg::DenseLdlt;
use crate::solver::mac::stencil::{Kind, SixCouplings, beside, face_neighbours, first_layer};
use rayon::prelude::*;

/// A matrix in the order of the tiles, from which the next one is made.
#[derive(Debug, Default)]
pub(super) struct Natural {
    pub(super) tiles: Tiles,
    pub(super) coupling: [Vec<f32>; 3],
    /// The pull of the air.
    pub(super) excess: Vec<f32>,
}

/// The couplings along x, y and z and the pull of one coarse tile.
type CoarseTile<'a> = (&'a mut [f32], &'a mut [f32], &'a mut [f32], &'a mut [f32]);

/// A matrix as set-up reads it.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub(super) tiles: &'a Tiles,
    pub(super) coupling: &'a [Vec<f32>; 3],
    pub(super) excess: &'a [f32],
    /// The coupling of two cells without walls.
    pub(super) unit: f32,
}

/// Which tiles of a matrix a level holds, and which need coefficients of their own.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The tiles that have unknowns.
    pub(super) active: Vec<u32>,
    /// The place of each tile among them; [`NONE`] for the others.
    number: Vec<u32>,
    /// The tiles with diagonals and weights of their own: slots 1, 2, …
    mixed: Vec<u32>,
    /// Those with couplings of their own.
    walls: Vec<u32>,
    kinds: Vec<Kind>,
}

impl Layout {
    pub(super) fn new(kinds: Vec<Kind>) -> Self {
        let tiles = 0..kinds.len() as u32;
        let active: Vec<u32> = tiles.filter(|&t| kinds[t as usize] != Kind::Empty).collect();
        let mixed = active.iter().copied().filter(|&t| kinds[t as usize] != Kind::Plain).collect();
        let walls = active.iter().copied().filter(|&t| kinds[t as usize] == Kind::Mixed).collect();
        let mut number = vec![NONE; kinds.len()];
        active.iter().enumerate().for_each(|(k, &t)| number[t as usize] = k as u32);
        Self { active, number, mixed, walls, kinds }
    }
}

/// The kind of each tile; `pulled(t)` tells whether the air pulls at a cell of it, None if it has no unknowns.
pub(super) fn kinds(
    tiles: &Tiles,
    coupling: &[Vec<f32>; 3],
    unit: f32,
    pulled: impl Fn(usize) -> Option<bool> + Sync + Send,
) -> Vec<Kind> {
    let kind = |t: usize| match pulled(t) {
        None => Kind::Empty,
        Some(false) if is_whole(tiles, coupling, unit, t) => Kind::Plain,
        Some(_) => Kind::Mixed,
    };
    (0..tiles.len()).into_par_iter().with_min_len(TASK).map(kind).collect()
}

/// Whether all couplings of the cells of a tile, also with the tiles round it, are whole.
pub(super) fn is_whole(tiles: &Tiles, coupling: &[Vec<f32>; 3], unit: f32, t: usize) -> bool {
    let (v, beside) = (tiles.volume(), face_neighbours(tiles, t));
    (0..tiles.axes()).all(|axis| {
        let above = beside[2 * axis + 1] as usize;
        beside[2 * axis] != NONE
            && above != NONE as usize
            && coupling[axis][t * v..(t + 1) * v].iter().all(|c| *c == unit)
            && first_layer(tiles, axis).all(|l| coupling[axis][above * v + l] == unit)
    })
}

/// The tiles of the next level, and for each the tiles it holds.
pub(super) fn coarse_tiles(tiles: &Tiles, layout: &Layout, level: &mut Level, coarse: &mut Level) -> Tiles {
    let flat = tiles.is_flat();
    let halve = |c: &[i32; 3]| [c[0] >> 1, c[1] >> 1, if flat { c[2] } else { c[2] >> 1 }];
    let eighth = |c: &[i32; 3]| (c[0] & 1 | (c[1] & 1) << 1 | if flat { 0 } else { (c[2] & 1) << 2 }) as u8;
    let coords = || layout.active.iter().map(|&t| &tiles.coords()[t as usize]);
    let made = Tiles::new(2.0 * tiles.h(), tiles.origin(), flat, coords().map(halve).collect());
    level.parent = coords().map(|c| (made.find(&halve(c)), eighth(c))).collect();
    coarse.children = vec![[NONE; 8]; made.len()];
    for (t, &(parent, eighth)) in level.parent.iter().enumerate() {
        coarse.children[parent as usize][eighth as usize] = t as u32;
    }
    made
}

/// Fill the level from its matrix, with the diagonal of each cell. Returns the number of unknowns.
pub(super) fn fill(
    level: &mut Level,
    matrix: &Matrix,
    layout: &Layout,
    diagonal: impl Fn(usize, &[f32; 6]) -> f32 + Sync,
) -> usize {
    let Matrix { tiles, coupling, unit, .. } = *matrix;
    level.shape = Shape { depth: tiles.depth().max(1) };
    let number = |t: u32| if t == NONE { NONE } else { layout.number[t as usize] };
    level.beside = layout.active.iter().map(|&t| face_neighbours(tiles, t as usize).map(number)).collect();
    number_tiles(&mut level.slot, layout, 0, |kind| kind != Kind::Plain);
    number_tiles(&mut level.faces.at, layout, NONE, |kind| kind == Kind::Mixed);
    level.faces.unit = unit;
    level.resize(layout.mixed.len() + 1, layout.walls.len());
    fill_couplings(level, matrix, layout);
    let (shape, v, half) = (level.shape, tiles.volume(), level.shape.half());
    let whole: [f32; 6] = std::array::from_fn(|side| if side < 2 * tiles.axes() { unit } else { 0.0 });
    let [red, black] = &mut level.inverse;
    let chunks =
        (red.par_chunks_mut(half), black.par_chunks_mut(half), level.weight.par_chunks_mut(4 * half));
    let chunks = chunks.into_par_iter().enumerate().with_min_len(TASK / 4);
    let counts = chunks.map(|(slot, (red, black, weight))| {
        let tile = slot.checked_sub(1).map(|k| layout.mixed[k] as usize);
        let six = tile.map(|t| (t, SixCouplings::new(tiles, coupling, t)));
        let mut count = 0;
        each_split_cell(shape, |l, odd, colour, row, i| {
            let (six, d) = match &six {
                Some((t, six)) => (six.of(l), diagonal(t * v + l, &six.of(l))),
                None => (whole, whole.iter().sum()),
            };
            let inverse = if d > 0.0 { 1.0 / d } else { 0.0 };
            count += (d > 0.0 && slot > 0) as usize;
            if colour == BLACK {
                black[LANES * row + i] = inverse;
                return;
            }
            red[LANES * row + i] = inverse;
            let w = weights(&six, d, odd);
            (0..4).for_each(|k| weight[4 * LANES * row + LANES * k + i] = w[k]);
        });
        count
    });
    counts.sum::<usize>() + (layout.active.len() - layout.mixed.len()) * v
}

/// Number the active tiles of the kinds `chosen` after `none`, which the others get; from 0 after [`NONE`].
fn number_tiles(out: &mut Vec<u32>, layout: &Layout, none: u32, chosen: impl Fn(Kind) -> bool) {
    let mut last = none;
    out.clear();
    out.extend(layout.active.iter().map(|&t| match chosen(layout.kinds[t as usize]) {
        true => {
            last = last.wrapping_add(1);
            last
        }
        false => none,
    }));
}

/// The couplings of the tiles that have their own.
fn fill_couplings(level: &mut Level, matrix: &Matrix, layout: &Layout) {
    let (shape, size) = (level.shape, 6 * level.shape.half());
    let [red, black] = &mut level.faces.coupling;
    let chunks = (&layout.walls, red.par_chunks_mut(size), black.par_chunks_mut(size));
    chunks.into_par_iter().with_min_len(TASK / 4).for_each(|(&t, red, black)| {
        let six = SixCouplings::new(matrix.tiles, matrix.coupling, t as usize);
        each_split_cell(shape, |l, _, colour, row, i| {
            let out = if colour == RED { &mut *red } else { &mut *black };
            six.of(l).into_iter().enumerate().for_each(|(side, c)| out[LANES * (6 * row + side) + i] = c);
        });
    });
}

/// Run `f(cell, odd, colour, row, lane)` over the cells of a tile; `odd` tells for each axis whether the cell is the
/// upper one of its aggregate.
#[inline(always)]
fn each_split_cell(shape: Shape, mut f: impl FnMut(usize, [usize; 3], usize, usize, usize)) {
    for row in 0..shape.rows() {
        let (y, z) = (row % SIDE, row / SIDE);
        for colour in [RED, BLACK] {
            let odd = is_odd(colour, y, z) as usize;
            for i in 0..LANES {
                f(SIDE * row + 2 * i + odd, [odd, y % 2, z % 2], colour, row, i);
            }
        }
    }
}

/// The prolongation of one cell; `odd` tells for each axis whether it is the upper one of its aggregate.
fn weights(six: &[f32; 6], d: f32, odd: [usize; 3]) -> [f32; 4] {
    if d <= 0.0 {
        return [0.0; 4];
    }
    let outer: [f32; 3] = std::array::from_fn(|axis| six[2 * axis + odd[axis]]);
    let inner: f32 = (0..3).map(|axis| six[2 * axis + 1 - odd[axis]]).sum();
    // The couplings that leave the aggregate and the pull of the air; rounding must not make it negative.
    let reach = (d - inner).max(outer.iter().sum());
    let largest = six.iter().fold(0.0, |m: f32, c| m.max(*c));
    if reach <= 0.0 {
        return [1.0, 0.0, 0.0, 0.0];
    }
    let omega = if largest * 4.0 > reach { 0.25 / largest } else { 1.0 / reach };
    [1.0 - omega * reach, omega * outer[0], omega * outer[1], omega * outer[2]]
}

/// The matrix of the aggregates, and its coupling of two cells without walls.
pub(super) fn coarsen(fine: &Matrix, layout: &Layout, children: &[[u32; 8]], coarse: &mut Natural) -> f32 {
    let (v, cells, depth) = (fine.tiles.volume().max(1), coarse.tiles.cells(), fine.tiles.depth());
    let unit = if fine.tiles.is_flat() { fine.unit } else { 2.0 * fine.unit };
    coarse.excess.resize(cells, 0.0);
    coarse.coupling.iter_mut().for_each(|c| c.resize(cells, 0.0));
    let [cx, cy, cz] = &mut coarse.coupling;
    let chunks =
        (cx.par_chunks_mut(v), cy.par_chunks_mut(v), cz.par_chunks_mut(v), coarse.excess.par_chunks_mut(v));
    let tile = |(t, (cx, cy, cz, sum)): (usize, CoarseTile)| {
        [&mut *cx, cy, cz, sum].into_iter().for_each(|c| c.fill(0.0));
        for (eighth, &child) in children[t].iter().enumerate().filter(|c| *c.1 != NONE) {
            let child = layout.active[child as usize] as usize;
            let corner = [eighth % 2 * 4, eighth / 2 % 2 * 4, eighth / 4 * 4];
            let place = |y: usize, z: usize| ((corner[2] + z) * SIDE + corner[1] + y) * SIDE + corner[0];
            if layout.kinds[child] == Kind::Plain {
                for row in 0..4 * depth.div_ceil(2) {
                    let to = place(row % 4, row / 4);
                    cx[to..to + 4].fill(unit);
                    cy[to..to + 4].fill(unit);
                    cz[to..to + 4].fill(if depth > 1 { unit } else { 0.0 });
                }
                continue;
            }
            let span = child * v..(child + 1) * v;
            let c: [&[f32]; 3] = std::array::from_fn(|a| &fine.coupling[a][span.clone()]);
            let e = &fine.excess[span];
            for row in 0..SIDE * depth {
                let (y, z) = (row % SIDE, row / SIDE);
                let to = place(y / 2, z / 2);
                // Only the lower faces of an aggregate leave it.
                let (lower_y, lower_z) = (0.5 * (y % 2 == 0) as u32 as f32, 0.5 * (z % 2 == 0) as u32 as f32);
                for x in 0..SIDE {
                    let (from, to) = (row * SIDE + x, to + x / 2);
                    sum[to] += 2.0 * e[from] / (2.0 + e[from] / fine.unit);
                    cx[to] += if x % 2 == 0 { 0.5 * c[0][from] } else { 0.0 };
                    cy[to] += lower_y * c[1][from];
                    cz[to] += lower_z * c[2][from];
                }
            }
        }
    };
    chunks.into_par_iter().enumerate().with_min_len(TASK / 4).for_each(tile);
    unit
}

/// The last level, solved directly.
#[derive(Debug, Default)]
pub(super) struct Bottom {
    /// Colour and place of each unknown.
    places: Vec<(usize, usize)>,
    factor: Option<DenseLdlt>,
    work: Vec<f64>,
}

impl Bottom {
    /// Factor the matrix of the last level.
    pub(super) fn new(matrix: &Matrix, layout: &Layout) -> Result<Self> {
        let Matrix { tiles, coupling, excess, .. } = *matrix;
        let (v, half) = (tiles.volume(), tiles.volume() / 2);
        let (mut number, mut cells, mut dense) = (vec![NONE; tiles.cells()], Vec::new(), Vec::new());
        let mut six_of = Vec::new();
        for &t in &layout.active {
            let six = SixCouplings::new(tiles, coupling, t as usize);
            for l in 0..v {
                let (place, six) = (t as usize * v + l, six.of(l));
                if excess[place] > 0.0 || six.iter().any(|c| *c > 0.0) {
                    number[place] = cells.len() as u32;
                    cells.push(place);
                    six_of.push(six);
                }
            }
        }
        let n = cells.len();
        dense.resize(n * n, 0.0);
        for (row, (&place, six)) in cells.iter().zip(&six_of).enumerate() {
            dense[row * n + row] = excess[place] as f64 + six.iter().map(|c| *c as f64).sum::<f64>();
            for (side, c) in six.iter().enumerate().filter(|s| *s.1 > 0.0) {
                if let Some(other) = beside(tiles, place / v, place % v, side) {
                    dense[row * n + number[other] as usize] = -(*c as f64);
                }
            }
        }
        let split = |&place: &usize| {
            let l = place % v;
            let (colour, at) = split_place(l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE));
            (colour, layout.number[place / v] as usize * half + at)
        };
        let places = cells.iter().map(split).collect();
        Ok(Self { places, factor: Some(DenseLdlt::new(n, &dense)?), work: vec![0.0; n] })
    }

    /// x ← A⁻¹ b.
    pub(super) fn solve(&mut self, level: &mut Level) {
        let Some(factor) = &self.factor else { return };
        self.places.iter().zip(&mut self.work).for_each(|(&(k, i), w)| *w = level.b[k][i] as f64);
        factor.solve(&mut self.work);
        level.x.iter_mut().for_each(|x| x.fill(0.0));
        self.places.iter().zip(&self.work).for_each(|(&(k, i), w)| level.x[k][i] = *w as f32);
    }
}
