//! The face graph of a [`MacGrid`]: the pressure of the grid in the form that all meshes share.
//!
//! Unknowns and faces are those of [`super::pressure`], which solves the same equations without
//! assembling them; the two are tested to agree.

use super::grid::{MacGrid, each_cell};
use super::pressure::{LEAST_THETA, opening};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::grid::{Halo, NONE};
use crate::math::Vec3;
use crate::mesh::{AIR, FaceGraph};
use crate::solver::pressure::{self, Projection};
use rayon::prelude::*;

/// Where each face of the graph sits on the grid.
struct Places {
    /// Place of the face in the velocity field of its axis.
    place: Vec<u32>,
    axis: Vec<u8>,
    /// Whether the graph counts velocity against the axis.
    reversed: Vec<bool>,
}

/// Project the velocities of a grid over its face graph, for a step over a density of `scale`.
pub fn project_by_graph(
    grid: &mut MacGrid,
    solids: &Solids,
    scale: f64,
    tolerance: f64,
    cancel: &Cancel,
) -> Result<Projection> {
    let numbers = number_cells(grid);
    let (mut graph, places) = build(grid, solids, &numbers);
    let mut p = gather(&numbers, &grid.pressure, graph.cells());
    let report = pressure::project(&mut graph, scale, &mut p, tolerance, cancel)?;
    for f in 0..graph.faces() {
        let u = graph.velocity[f];
        grid.velocity[places.axis[f] as usize][places.place[f] as usize] =
            if places.reversed[f] { -u } else { u };
    }
    scatter(&numbers, &p, &mut grid.pressure);
    Ok(report)
}

/// A number for every cell that carries a pressure, in the order of the fields; [`NONE`] elsewhere.
fn number_cells(grid: &MacGrid) -> Vec<u32> {
    let tiles = &grid.tiles;
    let mut numbers = tiles.field(NONE);
    let counts: Vec<u32> = numbers
        .par_chunks_mut(tiles.volume())
        .enumerate()
        .map(|(t, part)| {
            let mut count = 0;
            each_cell(tiles.depth(), |l, local| {
                let place = t * tiles.volume() + l;
                if grid.liquid[place] < 0.0 && has_open_face(grid, t, place, local) {
                    part[l] = count;
                    count += 1;
                }
            });
            count
        })
        .collect();
    let running = |sum: &mut u32, count: &u32| {
        *sum += count;
        Some(*sum - count)
    };
    let starts: Vec<u32> = counts.iter().scan(0, running).collect();
    tiles.for_each(&mut numbers, |t, part| {
        part.iter_mut().filter(|n| **n != NONE).for_each(|n| *n += starts[t]);
    });
    numbers
}

/// Place of the cell one step up an axis from a local cell of tile t.
#[inline]
fn above(grid: &MacGrid, t: usize, [i, j, k]: [isize; 3], axis: usize) -> Option<usize> {
    let d = |a: usize| (a == axis) as i32;
    grid.tiles.near(t, i as i32 + d(0), j as i32 + d(1), k as i32 + d(2))
}

/// Place of the cell one step down an axis from a local cell of tile t.
#[inline]
fn below(grid: &MacGrid, t: usize, [i, j, k]: [isize; 3], axis: usize) -> Option<usize> {
    let d = |a: usize| (a == axis) as i32;
    grid.tiles.near(t, i as i32 - d(0), j as i32 - d(1), k as i32 - d(2))
}

/// Open share of the face between two cells, of which the upper owns it.
#[inline]
fn open_share(grid: &MacGrid, axis: usize, low: Option<usize>, high: usize) -> f64 {
    let below = low.map_or(grid.liquid[high], |low| grid.liquid[low]);
    opening(grid.open[axis][high], below, grid.liquid[high], grid.tiles.h()) as f64
}

fn has_open_face(grid: &MacGrid, t: usize, place: usize, local: [isize; 3]) -> bool {
    (0..grid.tiles.axes()).any(|a| {
        open_share(grid, a, below(grid, t, local, a), place) > 0.0
            || above(grid, t, local, a).is_some_and(|up| open_share(grid, a, Some(place), up) > 0.0)
    })
}

/// The faces and cells of the liquid, tile by tile.
fn build(grid: &MacGrid, solids: &Solids, numbers: &[u32]) -> (FaceGraph, Places) {
    let tiles = &grid.tiles;
    let cells = numbers.iter().filter(|n| **n != NONE).count();
    let of_tile: Vec<(FaceGraph, Places)> = (0..tiles.len())
        .into_par_iter()
        .map_init(Halo::default, |halo, t| {
            tiles.load_halo(&grid.liquid, t, tiles.h(), halo);
            faces_of_tile(grid, numbers, halo, t)
        })
        .collect();
    let mut graph = FaceGraph::with_cells(cells);
    let mut places = Places { place: Vec::new(), axis: Vec::new(), reversed: Vec::new() };
    for (mut faces, mut more) in of_tile {
        graph.append_faces(&mut faces);
        places.place.append(&mut more.place);
        places.axis.append(&mut more.axis);
        places.reversed.append(&mut more.reversed);
    }
    if solids.any_animated() {
        graph.solid_outflow = solid_outflow(grid, solids, numbers, cells);
    }
    (graph, places)
}

fn faces_of_tile(grid: &MacGrid, numbers: &[u32], liquid: &Halo, t: usize) -> (FaceGraph, Places) {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let mut graph = FaceGraph::default();
    let mut places = Places { place: Vec::new(), axis: Vec::new(), reversed: Vec::new() };
    each_cell(tiles.depth(), |l, [i, j, k]| {
        let place = t * tiles.volume() + l;
        for axis in 0..tiles.axes() {
            let d = |a: usize| (a == axis) as isize;
            let low = below(grid, t, [i, j, k], axis);
            let open = open_share(grid, axis, low, place);
            let (a, b) = (low.map_or(NONE, |p| numbers[p]), numbers[place]);
            if open == 0.0 || (a == NONE && b == NONE) {
                continue;
            }
            let phi = [liquid.get(i - d(0), j - d(1), k - d(2)), liquid.get(i, j, k)];
            let (area, u) = (open * h * h, grid.velocity[axis][place]);
            let cut = |near: f64, far: f64| h * (near / (near - far)).max(LEAST_THETA);
            match (a, b) {
                (a, NONE) => graph.push(a, AIR, area, cut(phi[0], phi[1]), u, 0.0),
                (NONE, b) => graph.push(b, AIR, area, cut(phi[1], phi[0]), -u, 0.0),
                (a, b) => graph.push(a, b, area, h, u, 0.0),
            }
            places.place.push(place as u32);
            places.axis.push(axis as u8);
            places.reversed.push(a == NONE);
        }
    });
    (graph, places)
}

/// Volume that moving solids push out of each cell through the closed part of its faces.
fn solid_outflow(grid: &MacGrid, solids: &Solids, numbers: &[u32], cells: usize) -> Vec<f64> {
    let (tiles, h) = (&grid.tiles, grid.tiles.h());
    let outflow_of = |t: usize| {
        let mut found: Vec<(u32, f64)> = Vec::new();
        each_cell(tiles.depth(), |l, local| {
            let place = t * tiles.volume() + l;
            if numbers[place] == NONE {
                return;
            }
            let cell = tiles.cell(place);
            let mut sum = 0.0;
            for axis in 0..tiles.axes() {
                let low = 1.0 - open_share(grid, axis, below(grid, t, local, axis), place);
                let high = above(grid, t, local, axis)
                    .map_or(0.0, |up| 1.0 - open_share(grid, axis, Some(place), up));
                let mut x = tiles.centre(cell);
                x[axis] -= 0.5 * h;
                let speed = |x: &Vec3| solids.velocity(x, 2.0 * h)[axis];
                sum -= if low > 0.0 { low * speed(&x) } else { 0.0 };
                x[axis] += h;
                sum += if high > 0.0 { high * speed(&x) } else { 0.0 };
            }
            if sum != 0.0 {
                found.push((numbers[place], sum * h * h));
            }
        });
        found
    };
    let found: Vec<Vec<(u32, f64)>> = (0..tiles.len()).into_par_iter().map(outflow_of).collect();
    let mut outflow = vec![0.0; cells];
    found.into_iter().flatten().for_each(|(cell, q)| outflow[cell as usize] = q);
    outflow
}

fn gather(numbers: &[u32], field: &[f64], cells: usize) -> Vec<f64> {
    let mut values = vec![0.0; cells];
    numbers.iter().zip(field).filter(|(n, _)| **n != NONE).for_each(|(n, v)| values[*n as usize] = *v);
    values
}

fn scatter(numbers: &[u32], values: &[f64], field: &mut [f64]) {
    let value = |n: u32| if n == NONE { 0.0 } else { values[n as usize] };
    field.par_iter_mut().zip(numbers).for_each(|(f, &n)| *f = value(n));
}
