//! Pressure on the staggered grid, scheme `area`, without assembling a matrix.
//!
//! Unknowns are the pressures of cells whose centre is in liquid and that have an open face. A face
//! between such a cell a and one whose centre b is in air is cut by the surface at the share
//!
//! ```text
//!     θ = φ_a / (φ_a − φ_b)          a ---θ---|------- b        p = 0 at the cut
//! ```
//!
//! of the way, and pressure drops over θh (ghost fluid). θ is bounded from below only against
//! division by zero: with φ linear through walls a plane surface is then exact for any solid. The
//! open share α of a face weighs its flux; its closed part moves with the solid at v. After [BBB07]
//! with area weights [NMG09] and the ghost fluid of [GFCK02]. With π = p Δt/(ρh), in m/s, a face
//! accelerates by u ← u − (π_b − π_a)/θ, θ = 1 inside, and each cell balances when
//!
//! ```text
//!     Σ_f α_f/θ_f (π_i − π_j) = −Σ_f ± (α_f u_f + (1 − α_f) v_f)
//! ```
//!
//! so that the matrix is made of open shares alone ([`Stencil`]). Checked by tests/still_water.rs, and
//! against the face graph by `the_grid_and_its_graph_agree`.

use super::bodies::{self, Bodies, Carried};
use super::grid::{MacGrid, each_cell};
use super::multigrid::{Multigrid, PressureSolve};
use super::peel::{self, OnGrid, Peel};
use super::stencil::Stencil;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::grid::{Halo, NONE, SIDE, Tiles};
use crate::linalg::KrylovParams;
use crate::math::Vec3;
use crate::solver::pressure::Projection;
use crate::solver::rigid::{Coupling, Six, SixBySix};
use crate::solver::rounds::{agree, falling};
use rayon::prelude::*;

/// θ is at least this, so that no length is zero.
pub(super) const LEAST_THETA: f64 = 1e-6;

/// Distances of neighbouring cells differ by at most one cell. A greater jump from liquid to air means that a thin wall
/// lies between them: such a face is closed. Within the liquid a jump means nothing: deep below its surface distances
/// are rough, and one closed face would pin thick liquid to the spot.
const JUMP_CELLS: f64 = 1.6;

/// Relative expansion below which particles are left where they are.
const LEAST_SPREAD: f64 = 0.01;
/// Relative residual of the drift, which only has to go in the right direction.
const SPREAD_TOLERANCE: f64 = 1e-2;
/// Cells that the drift may carry a particle in a step.
const MOST_DRIFT: f64 = 0.25;

/// What one pressure solve is given besides the grid.
#[derive(Clone, Copy, Debug)]
pub struct PressureOptions {
    /// Step, s.
    pub dt: f64,
    /// Density, kg/m³.
    pub density: f64,
    /// Relative residual at which the solve stops.
    pub tolerance: f64,
}

/// What a projection is asked for besides balance, field by field over the cells of the grid.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The share of its volume by which each cell is to expand in the step.
    pub spreading: &'a [f64],
    /// The pressure of an earlier projection that acts in the same step, Pa: walls that peel bound the sum.
    pub acting: Option<&'a [f64]>,
}

/// What [`project`] found.
pub struct Projected {
    pub report: Projection,
    /// For each axis which faces touch liquid and are now known.
    pub known: [Vec<u8>; 3],
    /// Velocity on those faces that makes each cell expand as asked, m/s.
    pub drift: [Vec<f64>; 3],
    /// What became of the bodies.
    pub bodies: Vec<Carried>,
    /// Places of cells where liquid leaves its wall.
    pub off: Vec<usize>,
}

/// Project the velocities so that liquid keeps its volume and does not enter solids, and find the
/// drift that makes each cell expand by the share `spreading` of its volume in the step.
pub fn project(
    grid: &mut MacGrid,
    solids: &Solids,
    options: &PressureOptions,
    spreading: &[f64],
    multigrid: &mut Multigrid,
    cancel: &Cancel,
) -> Result<Projected> {
    let none = Bodies { all: &[], gravity: Vec3::zeros(), contact: None };
    let asked = Asked { spreading, acting: None };
    project_with_bodies(grid, solids, options, &asked, &none, multigrid, cancel)
}

/// As [`project`], with bodies whose velocities are unknowns as well (see [`super::bodies`]).
pub fn project_with_bodies(
    grid: &mut MacGrid,
    solids: &Solids,
    options: &PressureOptions,
    asked: &Asked,
    bodies: &Bodies,
    multigrid: &mut Multigrid,
    cancel: &Cancel,
) -> Result<Projected> {
    let mut drift: [Vec<f64>; 3] = std::array::from_fn(|_| grid.tiles.field(0.0));
    let mut known: [Vec<u8>; 3] = std::array::from_fn(|_| grid.tiles.field(0));
    let wet = Wet::new(grid);
    let stencil = stencil(grid, &wet);
    if stencil.diagonal.par_iter().all(|d| *d == 0.0) {
        grid.pressure.fill(0.0);
        let bodies = dry(bodies, options.dt);
        return Ok(Projected { report: Projection::default(), known, drift, bodies, off: Vec::new() });
    }
    multigrid.rebuild(&wet.tiles, &stencil)?;
    cancel.check()?;
    let h = grid.tiles.h();
    let per_pascal = options.dt / (options.density * h);
    let mut pi = wet.gather(&grid.pressure);
    pi.par_iter_mut().for_each(|p| *p *= per_pascal);
    let rhs = imbalance(grid, &wet, &stencil, solids);
    let params = KrylovParams { tolerance: options.tolerance, ..KrylovParams::default() };
    let acting = asked.acting.map(|p| {
        let mut part = wet.gather(p);
        part.par_iter_mut().for_each(|p| *p *= per_pascal);
        part
    });
    let mut peel = peel::bounds(grid, &wet, &stencil, solids, acting.as_deref(), multigrid);
    let (solve, carried) = if bodies.all.is_empty() {
        let peel = peel.as_mut();
        let equation = OnGrid::new(multigrid, &wet.tiles, &stencil, None);
        let solve = peel::solve(equation, peel, &rhs, &mut pi, &params, cancel)?;
        (solve, Vec::new())
    } else {
        let system = System { grid, wet: &wet, stencil: &stencil, solids, bodies, options };
        system.solve(&rhs, &mut pi, multigrid, peel.as_mut(), &params, cancel)?
    };
    solve.info.require("pressure")?;
    let off = peel.as_ref().map_or(Vec::new(), |p| peel::off(p, &wet));
    let MacGrid { tiles, liquid, open, velocity, pressure, .. } = &mut *grid;
    let faces = Faces { tiles, liquid, open };
    wet.scatter(&pi, pressure);
    accelerate(&faces, &wet, pressure, velocity, Some(&mut known));
    pressure.par_iter_mut().for_each(|p| *p /= per_pascal);
    let mut rhs = wet.gather(asked.spreading);
    rhs.par_iter_mut().zip(&stencil.diagonal).filter(|(_, d)| **d == 0.0).for_each(|(s, _)| *s = 0.0);
    if rhs.par_iter().any(|s| s.abs() > LEAST_SPREAD) {
        rhs.par_iter_mut().for_each(|s| *s *= h / options.dt);
        let params = KrylovParams { tolerance: SPREAD_TOLERANCE, ..params };
        pi.fill(0.0);
        if let Some(peel) = &mut peel {
            peel.restore(&mut OnGrid::new(multigrid, &wet.tiles, &stencil, None))?;
        }
        multigrid.solve(&wet.tiles, &stencil, &rhs, &mut pi, &params, cancel)?;
        let mut psi = tiles.field(0.0);
        wet.scatter(&pi, &mut psi);
        accelerate(&faces, &wet, &psi, &mut drift, None);
        let most = MOST_DRIFT * h / options.dt;
        drift.iter_mut().for_each(|u| u.par_iter_mut().for_each(|u| *u = u.clamp(-most, most)));
    }
    let report = Projection {
        solve: Some(solve.info),
        closed_regions: solve.closed_regions,
        refused_inflow: solve.refused * h * h,
    };
    Ok(Projected { report, known, drift, bodies: carried, off })
}

/// Bodies without liquid: weight and contact.
fn dry(bodies: &Bodies, dt: f64) -> Vec<Carried> {
    let fall = bodies.gravity * dt;
    let before: Vec<Six> = bodies.all.iter().map(|b| b.body.velocity + falling(b, &fall)).collect();
    let after = match bodies.contact {
        Some(contact) => contact(&before, &vec![1.0; before.len()]),
        None => before.clone(),
    };
    let carried = |(a, b): (&Six, &Six)| Carried { velocity: *a, force: Six::zeros(), contact: a - b };
    after.iter().zip(&before).map(carried).collect()
}

/// One pressure solve with bodies.
struct System<'a> {
    grid: &'a MacGrid,
    wet: &'a Wet,
    stencil: &'a Stencil,
    solids: &'a Solids,
    bodies: &'a Bodies<'a>,
    options: &'a PressureOptions,
}

impl System<'_> {
    /// Pressure and contact in turn until they agree.
    fn solve(
        &self,
        rhs: &[f64],
        pi: &mut [f64],
        multigrid: &mut Multigrid,
        mut peel: Option<&mut Peel>,
        params: &KrylovParams,
        cancel: &Cancel,
    ) -> Result<(PressureSolve, Vec<Carried>)> {
        let Self { grid, wet, stencil, solids, bodies, options } = *self;
        let (all, dt, rho) = (bodies.all, options.dt, options.density);
        let mass = rho * grid.tiles.h().powi(3);
        let rows = bodies::rows(grid, wet, stencil, solids, all);
        let middle: Vec<SixBySix> = all.iter().map(|b| b.body.inverse_mass * mass).collect();
        let coupling = Coupling { rows, middle };
        let missing = bodies::weight_corrections(grid, wet, stencil, solids, bodies, &coupling.rows, rho);
        let mut iterations = 0;
        let mut rounds: Vec<(PressureSolve, Vec<f64>)> = Vec::new();
        let (carried, best) = agree(bodies, &missing, (dt, rho), |velocities| {
            let mut b = rhs.to_vec();
            coupling.rows.add_flow(-1.0, velocities, &mut b);
            let equation = OnGrid::new(multigrid, &wet.tiles, stencil, Some(&coupling));
            let solve = peel::solve(equation, peel.as_deref_mut(), &b, pi, params, cancel)?;
            solve.info.require("pressure")?;
            iterations += solve.info.iterations;
            rounds.push((solve, pi.to_vec()));
            Ok((0..all.len()).map(|b| coupling.rows.force(b, |c| pi[c]) * mass).collect())
        })?;
        let (mut solve, kept) = rounds.swap_remove(best);
        pi.copy_from_slice(&kept);
        solve.info.iterations = iterations;
        Ok((solve, carried))
    }
}

/// Open share of a face between cells whose liquid distances are `low` and `high`.
#[inline]
pub(super) fn opening(open: f32, low: f64, high: f64, h: f64) -> f32 {
    if (low < 0.0) != (high < 0.0) && (low - high).abs() > JUMP_CELLS * h { 0.0 } else { open }
}

/// Share of the way from the liquid at `wet` to the air at `dry` where the surface lies.
#[inline]
pub(super) fn theta(wet: f64, dry: f64) -> f64 {
    (wet / (wet - dry)).max(LEAST_THETA)
}

/// What is needed to know the faces of a grid.
pub(super) struct Faces<'a> {
    pub(super) tiles: &'a Tiles,
    pub(super) liquid: &'a [f64],
    pub(super) open: &'a [Vec<f32>; 3],
}

/// The faces of one tile.
pub(super) struct TileFaces<'a> {
    faces: &'a Faces<'a>,
    halo: &'a Halo,
    t: usize,
    /// The tiles above along each axis.
    above: [u32; 3],
}

const STRIDE: [usize; 3] = [1, SIDE, SIDE * SIDE];

impl<'a> Faces<'a> {
    pub(super) fn of_tile(&'a self, t: usize, halo: &'a mut Halo) -> TileFaces<'a> {
        let tiles = self.tiles;
        tiles.load_halo(self.liquid, t, tiles.h(), halo);
        let above = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(|[x, y, z]| tiles.neighbour(t, x, y, z));
        TileFaces { faces: self, halo, t, above }
    }
}

impl TileFaces<'_> {
    /// The value of a field on the upper face of local cell l; None where no tile exists.
    #[inline]
    fn upper<T: Copy>(&self, field: &[T], l: usize, cell: [isize; 3], axis: usize) -> Option<T> {
        let v = self.faces.tiles.volume();
        let last = if axis == 2 { self.faces.tiles.depth() - 1 } else { SIDE - 1 };
        match (cell[axis] as usize == last, self.above[axis]) {
            (false, _) => Some(field[self.t * v + l + STRIDE[axis]]),
            (true, NONE) => None,
            (true, n) => Some(field[n as usize * v + l - last * STRIDE[axis]]),
        }
    }

    #[inline]
    pub(super) fn phi(&self, cell: [isize; 3], axis: usize, step: isize) -> f64 {
        let at = |a: usize| cell[a] + if a == axis { step } else { 0 };
        self.halo.get(at(0), at(1), at(2))
    }

    /// Open share of the lower face of a local cell.
    #[inline]
    pub(super) fn lower_open(&self, l: usize, cell: [isize; 3], axis: usize) -> f32 {
        let open = self.faces.open[axis][self.t * self.faces.tiles.volume() + l];
        opening(open, self.phi(cell, axis, -1), self.phi(cell, axis, 0), self.faces.tiles.h())
    }

    /// Open share of the upper face of a local cell.
    #[inline]
    pub(super) fn upper_open(&self, l: usize, cell: [isize; 3], axis: usize) -> f32 {
        let open = self.upper(&self.faces.open[axis], l, cell, axis).unwrap_or(0.0);
        opening(open, self.phi(cell, axis, 0), self.phi(cell, axis, 1), self.faces.tiles.h())
    }
}

/// The tiles that hold liquid: a solve is about those alone.
pub(super) struct Wet {
    /// Their indices on the grid, in order.
    pub(super) of: Vec<usize>,
    /// For each tile of the grid whether it is one.
    is: Vec<bool>,
    pub(super) tiles: Tiles,
}

impl Wet {
    pub(super) fn new(grid: &MacGrid) -> Self {
        let (tiles, v) = (&grid.tiles, grid.tiles.volume());
        let is: Vec<bool> = grid.liquid.par_chunks(v).map(|part| part.iter().any(|d| *d < 0.0)).collect();
        let of: Vec<usize> = (0..tiles.len()).filter(|t| is[*t]).collect();
        let coords = of.iter().map(|t| tiles.coords()[*t]).collect();
        // Tiles are kept in the order of their coordinates, so those of a part are in the same order.
        let tiles = Tiles::new(tiles.h(), tiles.origin(), tiles.is_flat(), coords);
        Self { of, is, tiles }
    }

    fn gather(&self, field: &[f64]) -> Vec<f64> {
        let v = self.tiles.volume();
        let mut part = self.tiles.field(0.0);
        let pieces = part.par_chunks_mut(v).zip(&self.of);
        pieces.for_each(|(part, t)| part.copy_from_slice(&field[t * v..(t + 1) * v]));
        part
    }

    /// Put values back; the rest of the field becomes zero.
    pub(super) fn scatter(&self, part: &[f64], field: &mut [f64]) {
        let v = self.tiles.volume();
        field.par_chunks_mut(v).enumerate().with_min_len(16).for_each(|(t, out)| {
            match self.of.binary_search(&t) {
                Ok(s) => out.copy_from_slice(&part[s * v..(s + 1) * v]),
                Err(_) => out.fill(0.0),
            }
        });
    }
}

/// The matrix: open shares, over θ where a face leads to the air.
pub(super) fn stencil(grid: &MacGrid, wet: &Wet) -> Stencil {
    let (tiles, mut stencil) = (&grid.tiles, Stencil::new(&wet.tiles));
    let v = tiles.volume();
    let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
    let [cx, cy, cz] = &mut stencil.coupling;
    let coupling = cx.par_chunks_mut(v).zip(cy.par_chunks_mut(v)).zip(cz.par_chunks_mut(v));
    let parts = stencil.diagonal.par_chunks_mut(v).zip(coupling).zip(&wet.of);
    parts.for_each_init(Halo::default, |halo, ((diagonal, ((x, y), z)), t)| {
        let (faces, mut coupling) = (faces.of_tile(*t, halo), [x, y, z]);
        each_cell(tiles.depth(), |l, cell| {
            let here = faces.phi(cell, 0, 0);
            if here >= 0.0 {
                return;
            }
            for (axis, coupling) in coupling.iter_mut().enumerate().take(tiles.axes()) {
                let sides = [(-1, faces.lower_open(l, cell, axis)), (1, faces.upper_open(l, cell, axis))];
                for (step, open) in sides {
                    let there = faces.phi(cell, axis, step);
                    let inside = there < 0.0;
                    diagonal[l] += if inside { open as f64 } else { open as f64 / theta(here, there) };
                    if inside && step < 0 {
                        coupling[l] = open;
                    }
                }
            }
        });
    });
    stencil
}

/// What is missing to balance each cell, m/s.
pub(super) fn imbalance(grid: &MacGrid, wet: &Wet, stencil: &Stencil, solids: &Solids) -> Vec<f64> {
    let tiles = &grid.tiles;
    let (v, h) = (tiles.volume(), tiles.h());
    let faces = Faces { tiles, liquid: &grid.liquid, open: &grid.open };
    let moving = solids.any_animated();
    let mut rhs = wet.tiles.field(0.0);
    let parts = rhs.par_chunks_mut(v).zip(stencil.diagonal.par_chunks(v)).zip(&wet.of);
    parts.for_each_init(Halo::default, |halo, ((rhs, diagonal), t)| {
        let faces = faces.of_tile(*t, halo);
        each_cell(tiles.depth(), |l, cell| {
            if diagonal[l] == 0.0 {
                return;
            }
            for axis in 0..tiles.axes() {
                let (low, high) = (faces.lower_open(l, cell, axis), faces.upper_open(l, cell, axis));
                let u = &grid.velocity[axis];
                rhs[l] += low as f64 * u[t * v + l];
                rhs[l] -= high as f64 * faces.upper(u, l, cell, axis).unwrap_or(0.0);
                if moving && (low < 1.0 || high < 1.0) {
                    let mut x = tiles.centre(tiles.cell(t * v + l));
                    x[axis] -= 0.5 * h;
                    let speed = |x: &Vec3| solids.scripted_velocity(x, 2.0 * h)[axis];
                    rhs[l] += if low < 1.0 { (1.0 - low as f64) * speed(&x) } else { 0.0 };
                    x[axis] += h;
                    rhs[l] -= if high < 1.0 { (1.0 - high as f64) * speed(&x) } else { 0.0 };
                }
            }
        });
    });
    rhs
}

/// u ← u − (π_b − π_a)/θ on every open face with liquid on a side; such faces become known.
fn accelerate(
    faces: &Faces,
    wet: &Wet,
    pi: &[f64],
    velocity: &mut [Vec<f64>; 3],
    mut known: Option<&mut [Vec<u8>; 3]>,
) {
    let (tiles, v) = (faces.tiles, faces.tiles.volume());
    for (axis, u) in velocity.iter_mut().enumerate().take(tiles.axes()) {
        let mut none = Vec::new();
        let marks = known.as_mut().map_or(&mut none, |k| &mut k[axis]);
        // Marks are as long as the field or empty; a chunk of nothing is nothing.
        let mut marks: Vec<&mut [u8]> = if marks.is_empty() {
            (0..tiles.len()).map(|_| &mut [][..]).collect()
        } else {
            marks.chunks_mut(v).collect()
        };
        let parts = u.par_chunks_mut(v).zip(marks.par_iter_mut()).enumerate();
        parts.for_each_init(<(Halo, Halo)>::default, |(liquid, pressure), (t, (u, marks))| {
            let low = tiles.neighbour(t, -((axis == 0) as i32), -((axis == 1) as i32), -((axis == 2) as i32));
            if !wet.is[t] && (low == NONE || !wet.is[low as usize]) {
                return;
            }
            tiles.load_halo(pi, t, 0.0, pressure);
            let faces = faces.of_tile(t, liquid);
            let step = [(axis == 0) as isize, (axis == 1) as isize, (axis == 2) as isize];
            each_cell(tiles.depth(), |l, cell @ [i, j, k]| {
                let (low, high) = (faces.phi(cell, axis, -1), faces.phi(cell, axis, 0));
                if (low >= 0.0 && high >= 0.0) || faces.lower_open(l, cell, axis) == 0.0 {
                    return;
                }
                let below = pressure.get(i - step[0], j - step[1], k - step[2]);
                let here = pressure.get(i, j, k);
                u[l] -= match (low < 0.0, high < 0.0) {
                    (true, true) => here - below,
                    (true, false) => -below / theta(low, high),
                    _ => here / theta(high, low),
                };
                if let Some(mark) = marks.get_mut(l) {
                    *mark = 1;
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::project_by_graph;
    use super::*;
    use crate::field::{Solid, SolidShape, Wall};
    use crate::math::{Aabb, Motion, Pose};
    use std::sync::Arc;

    struct Ball;
    impl SolidShape for Ball {
        fn distance(&self, x: &Vec3) -> f64 {
            x.norm() - 0.31
        }
        fn bounds(&self) -> Aabb {
            Aabb::new(Vec3::repeat(-0.31), Vec3::repeat(0.31))
        }
    }

    /// A ball that moves through liquid with a wavy surface in a box, and a drop above.
    fn churned(flat: bool) -> (MacGrid, Solids) {
        let pose = Pose { translation: Vec3::new(0.9, 0.6, 0.7), ..Pose::identity() };
        let motion = Motion { pose, linear: Vec3::new(1.0, -0.5, 0.3), angular: Vec3::zeros() };
        let ball = Solid {
            name: "ball".into(),
            shape: Arc::new(Ball),
            scale: 1.0,
            motion,
            before: pose,
            animated: true,
            wall: Wall::default(),
        };
        let domain = Aabb::new(Vec3::zeros(), Vec3::new(2.0, 3.0, 1.5));
        let solids = Solids::new(vec![ball], Some(domain), [[true; 2]; 3], Wall::default());
        let depth = if flat { 1 } else { 4 };
        let coords =
            (0..5 * 5 * depth).map(|n| [n % 5 - 1, n / 5 % 5 - 1, if flat { 7 } else { n / 25 - 1 }]);
        let tiles = Tiles::new(0.1, Vec3::zeros(), flat, coords.collect());
        let mut grid = MacGrid::new(tiles, &solids, None);
        for p in 0..grid.tiles.cells() {
            let x = grid.tiles.centre(grid.tiles.cell(p));
            let wave = x.y - 1.2 - 0.2 * (3.0 * x.x).sin() * (2.0 * x.z).cos();
            let drop = (x - Vec3::new(1.0, 2.2, 0.75)).norm() - 0.2;
            grid.liquid[p] = wave.min(drop).clamp(-0.4, 0.4);
            for a in 0..3 {
                grid.velocity[a][p] = (7.0 * x[a] + 3.0 * x[(a + 1) % 3]).sin();
            }
        }
        (grid, solids)
    }

    #[test]
    fn the_grid_and_its_graph_agree() {
        for flat in [false, true] {
            let (mut grid, solids) = churned(flat);
            let mut other = grid.clone();
            let options = PressureOptions { dt: 0.01, density: 1000.0, tolerance: 1e-12 };
            let calm = grid.tiles.field(0.0);
            let mut multigrid = Multigrid::default();
            let done = project(&mut grid, &solids, &options, &calm, &mut multigrid, &Cancel::new()).unwrap();
            let report = project_by_graph(&mut other, &solids, 1e-5, 1e-12, &Cancel::new()).unwrap();
            assert_eq!(done.report.closed_regions, report.closed_regions);
            let largest = other.pressure.iter().fold(0.0f64, |m, p| m.max(p.abs()));
            // Two solves to 1e-12 of matrices whose condition is some thousands.
            for (a, b) in grid.pressure.iter().zip(&other.pressure) {
                assert!((a - b).abs() < 1e-8 * largest, "{a} {b}");
            }
            for axis in 0..grid.tiles.axes() {
                let marked = |f: &usize| done.known[axis][*f] != 0;
                let all: Vec<usize> = (0..grid.tiles.cells()).filter(marked).collect();
                assert!(all.len() > 50);
                for f in all {
                    assert!((grid.velocity[axis][f] - other.velocity[axis][f]).abs() < 1e-7);
                }
            }
        }
    }

    #[test]
    fn the_drift_makes_crowded_cells_expand() {
        let (mut grid, solids) = churned(false);
        let options = PressureOptions { dt: 0.01, density: 1000.0, tolerance: 1e-6 };
        let spreading: Vec<f64> = grid.liquid.iter().map(|d| if *d < -0.25 { 0.011 } else { 0.0 }).collect();
        let done =
            project(&mut grid, &solids, &options, &spreading, &mut Multigrid::default(), &Cancel::new())
                .unwrap();
        // What leaves through the surface is what was asked for: a ninetieth of the deep cells.
        let faces = Faces { tiles: &grid.tiles, liquid: &grid.liquid, open: &grid.open };
        let wet = Wet::new(&grid);
        let diagonal = stencil(&grid, &wet).diagonal;
        let mut unknown = grid.tiles.field(0.0);
        wet.scatter(&diagonal, &mut unknown);
        let (mut asked, mut given) = (0.0, 0.0);
        let mut halo = Halo::default();
        for t in 0..grid.tiles.len() {
            let tile = faces.of_tile(t, &mut halo);
            each_cell(SIDE, |l, cell| {
                let place = t * grid.tiles.volume() + l;
                if unknown[place] == 0.0 {
                    return;
                }
                asked += spreading[place];
                for axis in 0..3 {
                    let up = tile.upper(&done.drift[axis], l, cell, axis).unwrap_or(0.0);
                    given += tile.upper_open(l, cell, axis) as f64 * up * 0.01 / 0.1;
                    given -= tile.lower_open(l, cell, axis) as f64 * done.drift[axis][place] * 0.01 / 0.1;
                }
            });
        }
        // The drift is solved for to one per cent.
        assert!(asked > 1.0 && (given / asked - 1.0).abs() < 0.05, "{given} of {asked}");
    }
}
