//! Viscosity on the staggered grid, fully implicit, after [BB08] (chapter 3 of [Bat10]).
//!
//! A step of viscosity minimises the change of velocity and the energy that it costs to shear the liquid,
//!
//! ```text
//!     min_u  ∫ ρ |u − u*|² + 2Δt ∫ μ |ε|²,        ε = (∇u + ∇uᵀ)/2,        τ = 2με
//! ```
//!
//! over the liquid alone. That the surface feels no traction, τn = 0, follows from the minimum; nothing has
//! to be done for it. Unknowns are the velocities of faces; normal stresses sit at centres, shear stresses
//! at edges, where differences of neighbouring faces lie:
//!
//! ```text
//!        +---v---e---v---+         (M + Bᵀ W B) u = M u* − what walls give
//!        |       |       |         M: shares of liquid round faces
//!        u   c   u   c   u         W: βμ times the shares round centres (twice) and edges, β = Δt/(ρh²)
//!        |       |       |         B: differences u_x, v_y, w_z at c; u_y + v_x, … at e
//!        +---v---e---v---+
//! ```
//!
//! The matrix is symmetric and positive definite. B of a rigid motion is zero, so translation and rotation
//! pass through unchanged, and the sum of forces and of their moments on a free body is zero whatever the
//! input: momentum and angular momentum stay. Faces without liquid are left out, and so are stresses that
//! lean on such a face. Velocities in walls are given ([`weights`], [`given`]).
//!
//! Solved by conjugate gradients in f64 with a cycle of multigrid in f32 ([`cycle`]), beside which rigid motions are
//! solved for on their own ([`rigid`]); if that stalls, by
//! algebraic multigrid with the six rigid motions as near-null vectors. Checked by tests/honey.rs; times in
//! `benches/viscosity.rs`.

mod cycle;
mod given;
mod near;
mod places;
mod rigid;
mod rows;
mod runs;
mod shares;
mod states;
mod stress;
mod weights;

use super::grid::MacGrid;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::field::{Solids, face_offset};
use crate::grid::{NONE, Tiles};
use crate::linalg::{Amg, AmgParams, Csr, KrylovParams, LinearOperator, Preconditioner, SolveInfo, cg};
use crate::math::Vec3;
use cycle::Cycle;
use given::Given;
pub use places::Face;
use rayon::prelude::*;
use rigid::Rigid;
use rows::Rows;
use shares::Shares;
use std::sync::Arc;
pub(super) use weights::Press;
use weights::{Units, Weights};

/// Iterations after which algebraic multigrid is expected to be faster than going on.
const PATIENCE: usize = 150;

/// μΔt/(ρh²) below which a step of viscosity is left out: it would take at most a hundredth from the
/// shortest waves of the grid, less than the exchange with the particles does.
pub const NEGLIGIBLE: f64 = 1e-3;

/// μΔt/(ρh²) from which rigid motions are solved for beside the cycle. Below, that saves less than it costs.
const STIFF: f64 = 100.0;

/// What one viscous step is given besides the grid.
#[derive(Clone, Copy, Debug)]
pub struct ViscosityOptions {
    /// Step, s.
    pub dt: f64,
    /// Density, kg/m³.
    pub density: f64,
    /// Relative residual at which the solve stops.
    pub tolerance: f64,
    /// Diffuse each component of velocity on its own. Rotation is damped, thick liquid does not bend.
    pub draft: bool,
}

/// For each axis which faces keep their velocity.
pub type Held = [Vec<bool>; 3];

/// The equations of one viscous step.
#[derive(Clone)]
pub struct ViscousSystem {
    weights: Weights,
    shares: Arc<Shares>,
    mu: Arc<Vec<f32>>,
    units: Units,
    rows: Arc<Rows>,
    rhs: Vec<f64>,
    start: Vec<f64>,
}

/// What a viscous step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViscousSolve {
    pub info: SolveInfo,
    pub unknowns: usize,
    /// Levels of the cycle.
    pub levels: usize,
    /// Whether the cycle did not converge and algebraic multigrid took over.
    pub fell_back: bool,
    /// Bytes of matrix and levels.
    pub bytes: usize,
}

impl ViscousSystem {
    /// The equations for the velocities of a grid and the viscosity of its cells, Pa·s, which counts
    /// wherever a cell holds liquid.
    pub fn new(
        grid: &MacGrid,
        solids: &Solids,
        viscosity: &[f64],
        options: &ViscosityOptions,
    ) -> Result<Self> {
        Self::build(grid, solids, viscosity, options, None, false, &Cancel::new())
    }

    /// The equations if the velocities of some faces are held as they are; `coupled` as one block of a solve that
    /// finds pressure as well ([`super::stokes`]), which then keeps liquid out of walls along which it slides.
    pub(in crate::solver::mac) fn build(
        grid: &MacGrid,
        solids: &Solids,
        viscosity: &[f64],
        options: &ViscosityOptions,
        held: Option<&Held>,
        coupled: bool,
        cancel: &Cancel,
    ) -> Result<Self> {
        let (tiles, h) = (&grid.tiles, grid.tiles.h());
        if viscosity.len() != tiles.cells() {
            let message = format!("{} numbers for {} cells", viscosity.len(), tiles.cells());
            return Err(Error::invalid("viscosity", message));
        }
        let sound = |m: &&f64| !(**m >= 0.0 && m.is_finite());
        if let Some(bad) = viscosity.par_iter().find_first(sound) {
            return Err(Error::invalid(
                "viscosity",
                format!("{bad} Pa·s; it must be finite and not negative"),
            ));
        }
        let units = Units { mass: 1.0, beta: options.dt / (options.density * h * h), draft: options.draft };
        let mu: Vec<f32> = viscosity.par_iter().map(|m| *m as f32).collect();
        let shares = shares::of_grid(grid, solids);
        cancel.check()?;
        let weights = Weights::of_grid(grid, solids, &shares, &mu, units, (held, coupled), cancel)?;
        let rows = Rows::new(&weights, cancel)?;
        let given = Given { grid, solids, weights: &weights };
        let rest = held.is_none() && given.rest();
        let velocity = |f: &Face| grid.velocity[f.axis as usize][f.place as usize];
        let start: Vec<f64> = rows.places.faces.par_iter().map(velocity).collect();
        let of = |row: usize| {
            let f = rows.places.faces[row];
            let mass = weights.weight(f.place as usize).mass[f.axis as usize] as f64;
            let lost = if rest || !rows.is_beside_given(&weights, row) { 0.0 } else { given.pull(f) };
            mass * start[row] - lost
        };
        let rhs = (0..rows.len()).into_par_iter().map(of).collect();
        let (shares, mu) = (Arc::new(shares), Arc::new(mu));
        Ok(Self { weights, shares, mu, units, rows: Arc::new(rows), rhs, start })
    }

    /// The unknowns, in the order of all vectors.
    pub fn faces(&self) -> &[Face] {
        &self.rows.places.faces
    }

    /// The velocities that the step starts from.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    pub fn rhs(&self) -> &[f64] {
        &self.rhs
    }

    /// Mass of each unknown, in cells of liquid.
    pub fn masses(&self) -> Vec<f64> {
        let mass = |f: &Face| self.weights.weight(f.place as usize).mass[f.axis as usize] as f64;
        self.rows.places.faces.par_iter().map(mass).collect()
    }

    /// Mass of one unknown, in cells of liquid.
    pub(in crate::solver::mac) fn mass(&self, row: usize) -> f64 {
        let f = self.rows.places.faces[row];
        self.weights.weight(f.place as usize).mass[f.axis as usize] as f64
    }

    pub(in crate::solver::mac) fn diagonal(&self) -> &[f64] {
        &self.rows.diagonal
    }

    /// What the diagonal of an unknown would be if nothing were cut: 1 + 8μΔt/(ρh²), in the plane 6.
    pub(in crate::solver::mac) fn whole_diagonal(&self, row: usize) -> f64 {
        let (f, tiles) = (self.rows.places.faces[row], &self.weights.tiles);
        let mut below = tiles.cell(f.place as usize);
        below[f.axis as usize] -= 1;
        let mu = self.mu[f.place as usize].max(tiles.locate(below).map_or(0.0, |p| self.mu[p]));
        1.0 + (2 * tiles.axes() + 2) as f64 * self.units.beta * mu as f64
    }

    /// The matrix as it is applied.
    pub(in crate::solver::mac) fn operator(&self) -> &impl LinearOperator {
        &*self.rows
    }

    /// The row of the lower face of a cell; [`crate::grid::NONE`] if it is no unknown.
    pub(in crate::solver::mac) fn number(&self, place: usize, axis: usize) -> u32 {
        self.rows.places.number[place][axis]
    }

    /// Whether the velocity of the lower face of a cell is that of a wall.
    pub(in crate::solver::mac) fn is_given(&self, place: usize, axis: usize) -> bool {
        self.weights.state[place][axis] >= weights::STUCK
    }

    /// World position of an unknown.
    pub fn position(&self, row: usize) -> Vec3 {
        let f = self.rows.places.faces[row];
        face_position(&self.weights.tiles, f.place as usize, f.axis as usize)
    }

    /// The matrix.
    pub fn assemble(&self) -> Result<Csr> {
        self.rows.assemble()
    }

    /// y ← A x, from stresses and without the matrix.
    pub fn apply_by_stress(&self, x: &[f64]) -> Vec<f64> {
        let mut u: [Vec<f64>; 3] = std::array::from_fn(|_| self.weights.tiles.field(0.0));
        let faces = &self.rows.places.faces;
        faces.iter().zip(x).for_each(|(f, x)| u[f.axis as usize][f.place as usize] = *x);
        let y = stress::apply(&self.weights, &u);
        faces.iter().map(|f| y[f.axis as usize][f.place as usize]).collect()
    }

    /// The rigid motions at the unknowns, row by row: translations along and turns about the axes through
    /// the middle of the liquid; three numbers a row on a grid one cell thick, else six.
    pub fn rigid_motions(&self) -> (usize, Vec<f64>) {
        let (n, flat) = (self.rows.len(), self.weights.tiles.is_flat());
        let middle = (0..n).fold(Vec3::zeros(), |s, r| s + self.position(r)) / n.max(1) as f64;
        let (unit, width) = (self.weights.tiles.h(), if flat { 3 } else { 6 });
        let mut all = Vec::with_capacity(width * n);
        for row in 0..n {
            let (a, x) = (self.rows.places.faces[row].axis as usize, (self.position(row) - middle) / unit);
            (0..if flat { 2 } else { 3 }).for_each(|t| all.push((t == a) as u32 as f64));
            for about in if flat { 2..3 } else { 0..3 } {
                all.push(Vec3::ith(about, 1.0).cross(&x)[a]);
            }
        }
        (width, all)
    }

    /// The same equations, with a price on what cells gain or lose of their volume.
    pub(in crate::solver::mac) fn pressed(&self, press: Press, cancel: &Cancel) -> Result<Self> {
        let mut made = self.clone();
        made.weights.press = press;
        made.rows = Arc::new(self.rows.pressed(&made.weights, cancel)?);
        Ok(made)
    }

    /// The cycle that preconditions this matrix.
    pub fn preconditioner(&self, cancel: &Cancel) -> Result<impl Preconditioner + use<>> {
        self.balanced(cancel)
    }

    /// Algebraic multigrid for this matrix, whatever the shape of the liquid.
    pub(in crate::solver::mac) fn algebraic(&self) -> Result<Amg> {
        let (width, motions) = self.rigid_motions();
        Amg::with_near_null(&self.assemble()?, width, &motions, &AmgParams::default())
    }

    fn balanced(&self, cancel: &Cancel) -> Result<Balanced> {
        let cycle = Cycle::new(&self.rows, &self.weights, &self.shares, &self.mu, self.units, cancel)?;
        let stiff = self.mu.iter().fold(0.0, |m: f32, v| m.max(*v)) as f64 * self.units.beta > STIFF;
        let rigid = if stiff { Rigid::new(&self.rows, &self.masses(), self.rigid_motions()) } else { None };
        Ok(Balanced { cycle, rigid })
    }

    /// The velocities after the step.
    pub fn solve(&self, tolerance: f64, cancel: &Cancel) -> Result<(Vec<f64>, ViscousSolve)> {
        let mut cycle = self.balanced(cancel)?;
        cancel.check()?;
        let mut x = self.start.clone();
        let params = KrylovParams { tolerance, max_iterations: PATIENCE, ..KrylovParams::default() };
        let mut info = cg(&*self.rows, &mut cycle, &self.rhs, &mut x, &params, cancel)?;
        let fell_back = !info.converged();
        if fell_back {
            let mut amg = self.algebraic()?;
            let params = KrylovParams { tolerance, ..KrylovParams::default() };
            info = cg(&*self.rows, &mut amg, &self.rhs, &mut x, &params, cancel)?;
        }
        let rigid = cycle.rigid.as_ref().map_or(0, Rigid::bytes);
        let bytes = self.rows.bytes() + cycle.cycle.bytes() + rigid;
        let levels = cycle.cycle.levels();
        Ok((x, ViscousSolve { info, unknowns: self.rows.len(), levels, fell_back, bytes }))
    }

    /// Put the velocities of the unknowns on the grid, and those of the walls on faces that stick to them.
    /// Returns which faces of liquid have got one.
    pub fn write(&self, x: &[f64], grid: &mut MacGrid, solids: &Solids) -> [Vec<u8>; 3] {
        let mut known: [Vec<u8>; 3] = std::array::from_fn(|_| grid.tiles.field(0));
        let (state, moving) = (&self.weights.state, solids.any_animated());
        let number = &self.rows.places.number;
        for ((axis, velocity), known) in grid.velocity.iter_mut().enumerate().zip(&mut known) {
            velocity.par_iter_mut().zip(known).enumerate().for_each(|(p, (u, known))| {
                match (number[p][axis], state[p][axis]) {
                    (NONE, weights::STUCK) => {
                        let x = || face_position(&self.weights.tiles, p, axis);
                        *u = if moving {
                            solids.velocity(&x(), 4.0 * self.weights.tiles.h())[axis]
                        } else {
                            0.0
                        };
                    }
                    (NONE, _) => (),
                    (row, _) => (*u, *known) = (x[row as usize], 1),
                }
            });
        }
        known
    }
}

/// The cycle, and the motions that it cannot see.
struct Balanced {
    cycle: Cycle,
    rigid: Option<Rigid>,
}

impl Preconditioner for Balanced {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        match &self.rigid {
            Some(rigid) => rigid.balance(r, z, &mut self.cycle),
            None => self.cycle.apply(r, z),
        }
    }
}

/// World position of the lower face of a cell.
fn face_position(tiles: &Tiles, place: usize, axis: usize) -> Vec3 {
    let cell = tiles.cell(place).map(|c| c as f64);
    tiles.origin() + (Vec3::from(cell) + face_offset(axis, tiles.is_flat())) * tiles.h()
}

/// What [`diffuse`] found.
pub struct Diffused {
    /// None if there was nothing to do.
    pub solve: Option<ViscousSolve>,
    /// For each axis which faces hold liquid and have been given a new velocity.
    pub known: [Vec<u8>; 3],
}

/// Let viscosity act on the velocities of a grid, which must be defined on all faces within a cell of liquid.
/// Those of `held` faces stay.
pub fn diffuse(
    grid: &mut MacGrid,
    solids: &Solids,
    viscosity: &[f64],
    options: &ViscosityOptions,
    held: Option<&Held>,
    cancel: &Cancel,
) -> Result<Diffused> {
    let system = ViscousSystem::build(grid, solids, viscosity, options, held, false, cancel)?;
    if system.rows.len() == 0 {
        return Ok(Diffused { solve: None, known: std::array::from_fn(|_| grid.tiles.field(0)) });
    }
    let (x, solve) = system.solve(options.tolerance, cancel)?;
    solve.info.require("viscosity")?;
    let known = system.write(&x, grid, solids);
    Ok(Diffused { solve: Some(solve), known })
}
