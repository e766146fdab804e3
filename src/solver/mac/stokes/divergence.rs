//! What flows out of the wet cells through the unknown faces of viscosity, and what follows from it.
//!
//! A row of D belongs to a cell that the pressure of the grid has as well, all of whose open faces are either
//! unknowns or given. Its entries are ±α. D M⁻¹ Dᵀ then couples cells by α²/M like the stencil of the
//! pressure does by α/θ, M ≈ αθ being the liquid round a face.

use super::super::grid::{MacGrid, each_cell};
use super::super::pressure::{Faces, Wet};
use super::super::stencil::Stencil;
use super::super::viscosity::{Face, Press, ViscousSystem};
use crate::grid::{Halo, NONE, SIDE};
use crate::math::CHUNK;
use rayon::prelude::*;

/// The faces of a cell, lower and upper along each axis: the numbers of their unknowns, and the shares of them that are open.
#[derive(Clone, Copy)]
struct Sides {
    unknown: [u32; 6],
    open: [f32; 6],
}

impl Sides {
    /// The faces that are unknowns: which, its number, and its open share.
    fn unknowns(&self) -> impl Iterator<Item = (usize, usize, f32)> {
        (0..6).filter(|n| self.unknown[*n] != NONE).map(|n| (n, self.unknown[n] as usize, self.open[n]))
    }
}

/// The cells below and above an unknown face, [`NONE`] where there is none, and its open share.
#[derive(Clone, Copy)]
struct Ends {
    below: u32,
    above: u32,
    open: f32,
}

/// D, and the cells of its rows as places of the wet tiles.
pub(super) struct Divergence {
    pub(super) cells: Vec<u32>,
    /// Where the cells of each wet tile begin, and how many there are.
    start: Vec<usize>,
    sides: Vec<Sides>,
    ends: Vec<Ends>,
}

impl Divergence {
    /// D of the cells that `stencil`, the matrix of the pressure, has as unknowns.
    pub(super) fn new(grid: &MacGrid, wet: &Wet, stencil: &Stencil, system: &ViscousSystem) -> Self {
        let (tiles, v) = (&grid.tiles, grid.tiles.volume());
        let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
        let of_tile = |halo: &mut Halo, s: usize| {
            let t = wet.of[s];
            let faces = faces.of_tile(t, halo);
            let (mut cells, mut found) = (Vec::new(), Vec::new());
            each_cell(tiles.depth(), |l, cell| {
                if stencil.diagonal[s * v + l] == 0.0 {
                    return;
                }
                let mut sides = Sides { unknown: [NONE; 6], open: [0.0; 6] };
                let (mut any, mut surface) = (false, false);
                for axis in 0..tiles.axes() {
                    let mut above = cell.map(|c| c as i32);
                    above[axis] += 1;
                    let above = tiles.near(t, above[0], above[1], above[2]);
                    let both = [
                        (Some(t * v + l), faces.lower_open(l, cell, axis)),
                        (above, faces.upper_open(l, cell, axis)),
                    ];
                    for (n, (place, open)) in both.into_iter().enumerate().filter(|(_, f)| f.1 > 0.0) {
                        let Some(place) = place else { continue };
                        let unknown = system.number(place, axis);
                        any |= unknown != NONE;
                        surface |= unknown == NONE && !system.is_given(place, axis);
                        (sides.unknown[2 * axis + n], sides.open[2 * axis + n]) = (unknown, open);
                    }
                }
                if any && !surface {
                    cells.push((s * v + l) as u32);
                    found.push(sides);
                }
            });
            (cells, found)
        };
        let found: Vec<(Vec<u32>, Vec<Sides>)> =
            (0..wet.of.len()).into_par_iter().map_init(Halo::default, of_tile).collect();
        let (cells, sides): (Vec<Vec<u32>>, Vec<Vec<Sides>>) = found.into_iter().unzip();
        let start = std::iter::once(0).chain(cells.iter().scan(0, |sum, c| {
            *sum += c.len();
            Some(*sum)
        }));
        let (start, cells, sides) = (start.collect(), cells.concat(), sides.concat());
        let ends = ends(grid, wet, &cells, &sides, system);
        Self { cells, start, sides, ends }
    }

    /// y ← D u, and what a function makes of each.
    pub(super) fn flow(&self, u: &[f64], y: &mut [f64], of: impl Fn(usize, f64) -> f64 + Sync) {
        y.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(k, y)| {
            let mut sum = [0.0; 2];
            self.sides[k].unknowns().for_each(|(n, row, open)| sum[n % 2] += open as f64 * u[row]);
            *y = of(k, sum[1] - sum[0]);
        });
    }

    /// v ← of(row, v + Dᵀ p).
    pub(super) fn push(&self, p: &[f64], v: &mut [f64], of: impl Fn(usize, f64) -> f64 + Sync) {
        let at = |cell: u32| if cell == NONE { 0.0 } else { p[cell as usize] };
        v.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(row, v)| {
            let Ends { below, above, open } = self.ends[row];
            *v = of(row, *v + open as f64 * (at(below) - at(above)));
        });
    }

    /// Put values of the cells on a field of the wet tiles.
    pub(super) fn scatter(&self, values: &[f64], field: &mut [f64]) {
        let v = field.len() / (self.start.len() - 1).max(1);
        field.par_chunks_mut(v.max(1)).enumerate().with_min_len(8).for_each(|(s, field)| {
            let own = self.start[s]..self.start[s + 1];
            let pairs = self.cells[own.clone()].iter().zip(&values[own]);
            pairs.for_each(|(c, value)| field[*c as usize % v] = *value);
        });
    }

    /// D M⁻¹ Dᵀ as a stencil on the wet tiles.
    pub(super) fn poisson(&self, wet: &Wet, system: &ViscousSystem) -> Stencil {
        let (tiles, v) = (&wet.tiles, wet.tiles.volume());
        let mut stencil = Stencil::new(tiles);
        let mut here = tiles.field(false);
        self.cells.iter().for_each(|c| here[*c as usize] = true);
        let [cx, cy, cz] = &mut stencil.coupling;
        let coupling = (cx.par_chunks_mut(v), cy.par_chunks_mut(v), cz.par_chunks_mut(v));
        let parts = stencil.diagonal.par_chunks_mut(v).zip(coupling.into_par_iter()).enumerate();
        parts.with_min_len(8).for_each(|(t, (diagonal, (cx, cy, cz)))| {
            let coupling = [cx, cy, cz];
            for k in self.start[t]..self.start[t + 1] {
                let l = self.cells[k] as usize % v;
                for (n, row, open) in self.sides[k].unknowns() {
                    let (axis, up) = (n / 2, n % 2 == 1);
                    let mut beside = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as i32);
                    beside[axis] += if up { 1 } else { -1 };
                    let beside = tiles.near(t, beside[0], beside[1], beside[2]);
                    let pull = open.powi(2) as f64 / system.mass(row);
                    // Between two cells more than an open face would spoil the levels, and only speed is at stake.
                    let inside = beside.is_some_and(|b| here[b]);
                    let pull = if inside { pull.min(1.0) as f32 as f64 } else { pull };
                    diagonal[l] += pull;
                    if inside && !up {
                        coupling[axis][l] = pull as f32;
                    }
                }
            }
        });
        stencil
    }

    /// What presses on the cells by γ, on the tiles of the grid.
    pub(super) fn press(&self, grid: &MacGrid, wet: &Wet, system: &ViscousSystem, gamma: &[f64]) -> Press {
        let (tiles, v) = (&grid.tiles, grid.tiles.volume());
        let mut weight = tiles.field(0.0);
        for (c, gamma) in self.cells.iter().zip(gamma) {
            weight[wet.of[*c as usize / v] * v + *c as usize % v] = *gamma as f32;
        }
        let open = |axis: usize, place: usize| match system.number(place, axis) {
            NONE => 0.0,
            row => self.ends[row as usize].open,
        };
        let of = |place: usize| std::array::from_fn(|axis| open(axis, place));
        let open = (0..tiles.cells()).into_par_iter().with_min_len(CHUNK).map(of).collect();
        Press { weight, open }
    }

    /// The viscous part of S⁻¹: 2μΔt/(ρh²) where nothing is cut. Elsewhere it follows the diagonals of A, whose
    /// viscous part is eight (in 2D six) times μΔt/(ρh²) where nothing is cut.
    pub(super) fn viscous(&self, system: &ViscousSystem) -> Vec<f64> {
        let axes = if self.sides.iter().any(|s| s.open[4] > 0.0 || s.open[5] > 0.0) { 3.0 } else { 2.0 };
        let whole = 2.0 * (2.0 * axes) / (2.0 * axes + 2.0);
        let of = |sides: &Sides| {
            let resists = |row: usize| (system.diagonal()[row] - system.mass(row)).max(1e-30);
            let sum: f64 = sides.unknowns().map(|(_, row, open)| open.powi(2) as f64 / resists(row)).sum();
            whole / sum
        };
        self.sides.par_iter().with_min_len(1024).map(of).collect()
    }
}

/// The cells on either side of the unknowns.
fn ends(grid: &MacGrid, wet: &Wet, cells: &[u32], sides: &[Sides], system: &ViscousSystem) -> Vec<Ends> {
    let (tiles, v) = (&grid.tiles, grid.tiles.volume());
    let mut number = tiles.field(NONE);
    for (k, c) in cells.iter().enumerate() {
        number[wet.of[*c as usize / v] * v + *c as usize % v] = k as u32;
    }
    let of = |face: &Face| {
        let (place, axis) = (face.place as usize, face.axis as usize);
        let l = place % v;
        let mut below = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as i32);
        below[axis] -= 1;
        let below = tiles.near(place / v, below[0], below[1], below[2]).map_or(NONE, |p| number[p]);
        let above = number[place];
        let open = match (below, above) {
            (NONE, NONE) => 0.0,
            (_, NONE) => sides[below as usize].open[2 * axis + 1],
            _ => sides[above as usize].open[2 * axis],
        };
        Ends { below, above, open }
    };
    system.faces().par_iter().with_min_len(CHUNK).map(of).collect()
}
