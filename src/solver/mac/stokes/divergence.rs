//! What flows out of the wet cells through the unknown faces of viscosity, and what follows from it.
//!
//! A row of D belongs to a cell that the pressure of the grid has as well, all of whose open faces are either
//! unknowns or given. Its entries are ±α. D M⁻¹ Dᵀ then couples cells by α²/M like the stencil of the
//! pressure does by α/θ, M ≈ αθ being the liquid round a face.

use super::super::grid::{MacGrid, each_cell};
use super::super::pressure::{Faces, Wet};
use super::super::stencil::Stencil;
use super::super::viscosity::{Press, ViscousSystem};
use crate::error::Result;
use crate::grid::{Halo, NONE, SIDE};
use crate::linalg::Csr;
use rayon::prelude::*;

/// A face of a cell: the number of its unknown, and the share of it that is open.
#[derive(Clone, Copy)]
struct Side {
    unknown: u32,
    open: f32,
    /// Place of the cell whose lower face it is.
    place: u32,
}

/// D, and the cells of its rows as places of the wet tiles.
pub(super) struct Divergence {
    pub(super) cells: Vec<u32>,
    pub(super) rows: Csr,
    pub(super) transposed: Csr,
    /// The faces of each cell: lower and upper along each axis.
    sides: Vec<[Side; 6]>,
}

impl Divergence {
    /// D of the cells that `stencil`, the matrix of the pressure, has as unknowns.
    pub(super) fn new(grid: &MacGrid, wet: &Wet, stencil: &Stencil, system: &ViscousSystem) -> Result<Self> {
        let (tiles, v) = (&grid.tiles, grid.tiles.volume());
        let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
        let of_tile = |halo: &mut Halo, s: usize| {
            let t = wet.of[s];
            let faces = faces.of_tile(t, halo);
            let mut found = Vec::new();
            each_cell(tiles.depth(), |l, cell| {
                if stencil.diagonal[s * v + l] == 0.0 {
                    return;
                }
                let mut sides = [Side { unknown: NONE, open: 0.0, place: 0 }; 6];
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
                        sides[2 * axis + n] = Side { unknown, open, place: place as u32 };
                    }
                }
                if any && !surface {
                    found.push(((s * v + l) as u32, sides));
                }
            });
            found
        };
        let found: Vec<Vec<(u32, [Side; 6])>> =
            (0..wet.of.len()).into_par_iter().map_init(Halo::default, of_tile).collect();
        let (cells, sides): (Vec<u32>, Vec<[Side; 6]>) = found.into_iter().flatten().unzip();
        let rows = Csr::from_rows(cells.len(), system.faces().len(), |row, entries| {
            for (n, side) in sides[row].iter().enumerate().filter(|(_, s)| s.unknown != NONE) {
                let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
                entries.push((side.unknown, sign * side.open as f64));
            }
        })?;
        Ok(Self { transposed: rows.transpose(), cells, rows, sides })
    }

    /// D M⁻¹ Dᵀ as a stencil on the wet tiles.
    pub(super) fn poisson(&self, wet: &Wet, system: &ViscousSystem) -> Stencil {
        let tiles = &wet.tiles;
        let mut stencil = Stencil::new(tiles);
        let mut here = tiles.field(false);
        self.cells.iter().for_each(|c| here[*c as usize] = true);
        for (c, sides) in self.cells.iter().zip(&self.sides) {
            let (place, v) = (*c as usize, tiles.volume());
            let l = place % v;
            for (n, side) in sides.iter().enumerate().filter(|(_, s)| s.unknown != NONE) {
                let (axis, up) = (n / 2, n % 2 == 1);
                let mut beside = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as i32);
                beside[axis] += if up { 1 } else { -1 };
                let beside = tiles.near(place / v, beside[0], beside[1], beside[2]);
                let pull = side.open.powi(2) as f64 / system.mass(side.unknown as usize);
                // Between two cells more than an open face would spoil the levels, and only speed is at stake.
                let inside = beside.is_some_and(|b| here[b]);
                let pull = if inside { pull.min(1.0) as f32 as f64 } else { pull };
                stencil.diagonal[place] += pull;
                if inside && !up {
                    stencil.coupling[axis][place] = pull as f32;
                }
            }
        }
        stencil
    }

    /// What presses on the cells by γ, on the tiles of the grid.
    pub(super) fn press(&self, grid: &MacGrid, wet: &Wet, gamma: &[f64]) -> Press {
        let (tiles, v) = (&grid.tiles, grid.tiles.volume());
        let mut press = Press { weight: tiles.field(0.0), open: tiles.field([0.0; 3]) };
        for ((c, sides), gamma) in self.cells.iter().zip(&self.sides).zip(gamma) {
            press.weight[wet.of[*c as usize / v] * v + *c as usize % v] = *gamma as f32;
            for (n, side) in sides.iter().enumerate().filter(|(_, s)| s.unknown != NONE) {
                press.open[side.place as usize][n / 2] = side.open;
            }
        }
        press
    }

    /// The viscous part of S⁻¹: 2μΔt/(ρh²) where nothing is cut. Elsewhere it follows the diagonals of A, whose
    /// viscous part is eight (in 2D six) times μΔt/(ρh²) where nothing is cut.
    pub(super) fn viscous(&self, system: &ViscousSystem) -> Vec<f64> {
        let axes = if self.sides.iter().any(|s| s[4].open > 0.0 || s[5].open > 0.0) { 3.0 } else { 2.0 };
        let whole = 2.0 * (2.0 * axes) / (2.0 * axes + 2.0);
        let of = |sides: &[Side; 6]| {
            let faces = sides.iter().filter(|s| s.unknown != NONE);
            let sum: f64 = faces
                .map(|s| {
                    let row = s.unknown as usize;
                    s.open.powi(2) as f64 / (system.diagonal()[row] - system.mass(row)).max(1e-30)
                })
                .sum();
            whole / sum
        };
        self.sides.par_iter().with_min_len(1024).map(of).collect()
    }
}
