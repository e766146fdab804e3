//! Viscosity and pressure in one solve on the tiled grid: creeping liquid, after chapter 4 of [Bat10].
//!
//! Projecting, letting viscosity act and projecting again is right when a step is short. When momentum crosses
//! many cells in a step, μΔt/ρh² ≫ 1, the first pressure is that of liquid without viscosity and the second
//! knows nothing of stress: thick liquid then spreads at a wrong speed, along walls that slide by orders of
//! magnitude. Here both are found together. With A the matrix of [`super::viscosity`], D the sum of
//! α u over the faces of a cell as in [`super::pressure`], and π = pΔt/(ρh) in m/s,
//!
//! ```text
//!     | A  Dᵀ | | u |   | M u' − what walls give      |         −Dᵀπ: the gradient of pressure, α(π_b − π_a)
//!     | D  0  | |−π | = | − what walls push into cells |        u': velocity before the step
//! ```
//!
//! u' has been projected before, so that liquid at rest stays at rest exactly, however surface and walls cut
//! the cells; π is what pressure still lacks. At the surface neither traction nor pressure acts: both vanish
//! with the weights. Walls that stick give the faces in them. Along walls that slide the shares of open area
//! keep the liquid out, oblique or not, and nothing acts along them; only a closed face that looks straight
//! into a wall along a grid axis is given, so that liquid in the cut cell feels its own stretching.
//!
//! A wet cell with an open face that is no unknown of viscosity lies within a rounding of the surface; it has
//! no pressure here, and gets its balance from the projection that follows.
//!
//! Solved by flexible GMRES with the block triangle (A 0; D −S). A is inverted by a few steps of conjugate
//! gradients with the multigrid of viscosity, S after [CC88] by the sum
//!
//! ```text
//!     S⁻¹ ≈ 2μΔt/(ρh²) + (D M⁻¹ Dᵀ)⁻¹,       the second by a cycle of the multigrid of pressure
//! ```
//!
//! **Walls that slide.** Viscosity alone takes a wall along which liquid slides for a surface, so what keeps liquid out of it is the
//! pressure of the cells along it, and S of these is no longer like 1/2μ but like the answer of a free body to a push:
//! the longer the wave along the wall, the softer, up to rigid motion. So what flows out of cells gets a price that the
//! solution never pays (the augmented Lagrangian of [FG83]): with G = γ a cell, and b what a cell must balance,
//!
//! ```text
//!     A + DᵀG D instead of A,    f + DᵀG b instead of f,    S⁻¹ + G instead of S⁻¹
//! ```
//!
//! With γ as large as S⁻¹ is inside, all of S lies within a factor of three of it, and A becomes that of a liquid
//! that is a little hard to compress, which the cycle knows on all its levels. Walls that stick gain as well. The price is computed from D in f64;
//! the rows of the cycle, in which it is rounded, only precondition. Where films of a few cells slide along round walls the coarse cells
//! of the cycle know little of the fine ones, and algebraic multigrid takes its place.
//!
//! Rows of momentum are divided by what
//! the diagonal of A is where nothing is cut, so that all residuals are velocities and thin liquid beside thick
//! counts as much. Checked by tests/honey.rs (`…_one_solve…`), against the dense solver of
//! [`crate::solver::stokes`] and against exact layers.

mod divergence;

use super::grid::MacGrid;
use super::multigrid::Multigrid;
use super::pressure::{Wet, imbalance, stencil};
use super::viscosity::{Held, ViscosityOptions, ViscousSystem};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::linalg::{InnerCg, KrylovParams, LinearOperator, NullSpace, Preconditioner, SolveInfo, fgmres};
use crate::math::CHUNK;
use divergence::Divergence;
use rayon::prelude::*;

/// Relative residual of the inner solves, and the most steps of one.
const INNER: (f64, usize) = (0.1, 30);
/// An inner solve of more steps than this is the last one with the cycle of the grid. Usual are two; with films that slide along round
/// walls it would be twenty and more, with algebraic multigrid ten.
const PATIENT: usize = 8;
/// Directions that are kept.
const RESTART: usize = 25;
/// Iterations after which the solve is given up.
const MOST: usize = 60;

/// What [`creep`] found.
pub struct Crept {
    /// None if there was nothing to do.
    pub solve: Option<StokesSolve>,
    /// For each axis which faces hold liquid and have been given a new velocity.
    pub known: [Vec<u8>; 3],
    /// Pressure beyond that of the projection before, Pa.
    pub pressure: Vec<f64>,
}

/// What the coupled solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StokesSolve {
    pub info: SolveInfo,
    /// Unknown velocities and pressures.
    pub velocities: usize,
    pub pressures: usize,
    /// Steps of the inner solves, all together.
    pub inner: usize,
}

/// Let viscosity and pressure act together on the velocities of a grid, which must have been projected and be
/// defined on all faces within a cell of liquid. Those of `held` faces stay.
pub fn creep(
    grid: &mut MacGrid,
    solids: &Solids,
    viscosity: &[f64],
    options: &ViscosityOptions,
    held: Option<&Held>,
    multigrid: &mut Multigrid,
    cancel: &Cancel,
) -> Result<Crept> {
    let system = ViscousSystem::build(grid, solids, viscosity, options, held, true, cancel)?;
    let known = system.write(system.start(), grid, solids);
    let mut pressure = grid.tiles.field(0.0);
    if system.faces().is_empty() {
        return Ok(Crept { solve: None, known, pressure });
    }
    let wet = Wet::new(grid);
    let all = stencil(grid, &wet);
    let d = Divergence::new(grid, &wet, &all, &system);
    cancel.check()?;
    let missing = imbalance(grid, &wet, &all, solids);
    multigrid.rebuild(&wet.tiles, &d.poisson(&wet, &system))?;
    cancel.check()?;
    let (n, m) = (system.faces().len(), d.cells.len());
    let inverse: Vec<f64> = (0..n).into_par_iter().map(|row| 1.0 / system.whole_diagonal(row)).collect();
    let mut viscous = d.viscous(&system);
    // What the unknowns carry now and what is missing to balance.
    let mut balance = vec![0.0; m];
    d.flow(system.start(), &mut balance, |k, carried| carried + missing[d.cells[k] as usize]);
    let mut b = system.rhs().to_vec();
    // What flows out of cells has its price.
    let gamma = viscous.clone();
    let pressed = system.pressed(d.press(grid, &wet, &system, &gamma), cancel)?;
    let priced: Vec<f64> = balance.iter().zip(&gamma).map(|(b, g)| b * g).collect();
    d.push(&priced, &mut b, |row, b| b * inverse[row]);
    viscous.iter_mut().zip(&gamma).for_each(|(v, g)| *v += g);
    b.extend(&balance);
    let mut labels = vec![u32::MAX; n];
    let closed = multigrid.closed_labels(&wet.tiles);
    labels.extend(d.cells.iter().map(|c| closed[*c as usize]));
    let null_space = NullSpace::constants(&labels)?;
    let params = KrylovParams {
        tolerance: options.tolerance,
        max_iterations: MOST,
        restart: RESTART,
        null_space: (null_space.count() > 0).then_some(&null_space),
        ..KrylovParams::default()
    };
    let schur = Schur {
        viscous,
        poisson: multigrid,
        divergence: &d,
        field: [wet.tiles.field(0.0), wet.tiles.field(0.0)],
    };
    cancel.check()?;
    let saddle = Saddle { system: &system, divergence: &d, inverse: &inverse, gamma: &gamma };
    // Liquid moves on as it did, or rests.
    let mut x = saddle.start_from(&b, system.start());
    let mut triangle = Triangle {
        saddle: &saddle,
        system: &pressed,
        cycle: Box::new(pressed.preconditioner(cancel)?),
        is_algebraic: false,
        schur,
        r: vec![0.0; n],
        flow: vec![0.0; m],
        steps: InnerCg::new(n),
        inner: 0,
        cancel,
    };
    cancel.check()?;
    let info = fgmres(&saddle, &mut triangle, &b, &mut x, &params, cancel)?;
    info.require("Stokes")?;
    let inner = triangle.inner;
    system.write(&x[..n], grid, solids);
    let pascal = options.density * grid.tiles.h() / options.dt;
    let mut pi = wet.tiles.field(0.0);
    d.scatter(&x[n..], &mut pi);
    pi.par_iter_mut().for_each(|p| *p *= -pascal);
    wet.scatter(&pi, &mut pressure);
    Ok(Crept { solve: Some(StokesSolve { info, velocities: n, pressures: m, inner }), known, pressure })
}

/// The matrix of the header, its rows of momentum divided by 1 + 8μΔt/(ρh²).
struct Saddle<'a> {
    system: &'a ViscousSystem,
    divergence: &'a Divergence,
    inverse: &'a [f64],
    /// γ of each cell.
    gamma: &'a [f64],
}

impl LinearOperator for Saddle<'_> {
    fn size(&self) -> usize {
        self.system.faces().len() + self.divergence.cells.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let n = self.system.faces().len();
        let ((u, p), (v, q)) = (x.split_at(n), y.split_at_mut(n));
        self.system.operator().apply(u, v);
        self.divergence.flow(u, q, |_, flow| flow);
        let priced = |k: usize| p[k] + self.gamma[k] * q[k];
        let priced: Vec<f64> = (0..q.len()).into_par_iter().with_min_len(CHUNK).map(priced).collect();
        self.divergence.push(&priced, v, |row, v| v * self.inverse[row]);
    }
}

/// S⁻¹.
struct Schur<'a> {
    /// 2μΔt/(ρh²) of each cell, and γ.
    viscous: Vec<f64>,
    poisson: &'a mut Multigrid,
    divergence: &'a Divergence,
    /// Fields of the wet tiles.
    field: [Vec<f64>; 2],
}

impl Schur<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let [wet, wet_z] = &mut self.field;
        self.divergence.scatter(r, wet);
        self.poisson.apply(wet, wet_z);
        let cells = self.divergence.cells.par_iter().with_min_len(CHUNK).zip(&self.viscous).zip(r);
        z.par_iter_mut().zip(cells).for_each(|(z, ((c, viscous), r))| *z = wet_z[*c as usize] + viscous * r);
    }
}

/// The inverse of the block triangle.
struct Triangle<'a> {
    saddle: &'a Saddle<'a>,
    /// A + DᵀG D, rounded.
    system: &'a ViscousSystem,
    /// What preconditions it: the cycle of the grid, or algebraic multigrid where that takes over.
    cycle: Box<dyn Preconditioner + 'a>,
    is_algebraic: bool,
    schur: Schur<'a>,
    r: Vec<f64>,
    flow: Vec<f64>,
    steps: InnerCg,
    inner: usize,
    cancel: &'a Cancel,
}

impl Triangle<'_> {
    /// Solve with A + DᵀG D. Where the cycle of the grid takes long, algebraic multigrid takes over from the next time on.
    fn invert(&mut self, z: &mut [f64]) {
        let a = self.system.operator();
        let steps = self.steps.solve(a, &mut *self.cycle, &self.r, z, INNER, self.cancel);
        self.inner += steps;
        if steps > PATIENT && !self.is_algebraic {
            self.is_algebraic = true;
            if let Ok(amg) = self.system.algebraic() {
                self.cycle = Box::new(amg);
            }
        }
    }
}

impl Preconditioner for Triangle<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let Saddle { divergence, inverse, .. } = self.saddle;
        let (r_u, r_p) = r.split_at(inverse.len());
        let (z_u, z_p) = z.split_at_mut(inverse.len());
        self.r.par_iter_mut().with_min_len(CHUNK).zip(r_u).zip(*inverse).for_each(|((s, r), i)| *s = r / i);
        self.invert(z_u);
        // z_p = S⁻¹(D z_u − r_p).
        divergence.flow(z_u, &mut self.flow, |k, flow| flow - r_p[k]);
        self.schur.apply(&self.flow, z_p);
    }
}
