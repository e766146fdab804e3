//! Pressure stencils on tiles for benchmarks and tests: those of [`crate::linalg::cases`], and rooms with walls.

use super::stencil::Stencil;
use crate::error::Result;
use crate::grid::{SIDE, Tiles};
use crate::linalg::{Csr, cases};
use crate::math::Vec3;

/// A block of n×n×n cells (n×n×1 when flat) from the cell (0,0,0).
pub fn block(n: usize, flat: bool) -> Tiles {
    let m = n.div_ceil(SIDE) as i32;
    let layers = if flat { 1 } else { m };
    let coords = (0..m * m * layers).map(|i| [i % m, i / m % m, i / (m * m)]).collect();
    Tiles::new(1.0, Vec3::zeros(), flat, coords)
}

/// −Δ on n×n×n cells with walls of value zero, as [`cases::poisson`].
pub fn poisson(n: usize) -> Result<(Tiles, Stencil)> {
    let cells: Vec<usize> = (0..n * n * n).collect();
    Ok(on_tiles(n, &cases::poisson(n)?, &cells))
}

/// The pressure of a splash, as [`cases::splash`].
pub fn splash(n: usize) -> Result<(Tiles, Stencil)> {
    let (matrix, cells) = cases::splash_on_grid(n)?;
    Ok(on_tiles(n, &matrix, &cells))
}

/// A 7-point matrix whose rows are the given cells x + n(y + nz). Couplings are rounded to f32, and the
/// diagonals change with them.
fn on_tiles(n: usize, matrix: &Csr, cells: &[usize]) -> (Tiles, Stencil) {
    let tiles = block(n, false);
    let mut stencil = Stencil::new(&tiles);
    let grid = |row: usize| [cells[row] % n, cells[row] / n % n, cells[row] / (n * n)].map(|c| c as i32);
    for row in 0..matrix.rows() {
        let at = grid(row);
        let Some(place) = tiles.locate(at) else { continue };
        let (columns, values) = matrix.row(row);
        for (&column, value) in columns.iter().zip(values) {
            let other = grid(column as usize);
            let coupling = -*value as f32;
            match (0..3).find(|&axis| other[axis] != at[axis]) {
                None => stencil.diagonal[place] += value,
                Some(axis) => {
                    stencil.diagonal[place] += coupling as f64 + value;
                    if other[axis] < at[axis] {
                        stencil.coupling[axis][place] = coupling;
                    }
                }
            }
        }
    }
    (tiles, stencil)
}
