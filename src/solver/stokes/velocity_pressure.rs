//! Velocity and pressure as the unknowns: the solver for any viscosity and size.
//!
//! The stress is eliminated from the system of [`super::system`]:
//!
//! ```text
//!     A v + G q = f − Dᵀ C⁻¹ d          A = M + Dᵀ C⁻¹ D
//!     Gᵀ v      = −g
//! ```
//!
//! with the full τ = 2με in A. Under the second row its trace vanishes, wall terms included, so v, q and the
//! trace-free stress are those of the published form. Rigid motions v are the near-null vectors of A.
//!
//! - Stokes: FGMRES [Saa93] with the block triangle (A 0; Gᵀ −S): multigrid with rigid motions for A and
//!   S⁻¹ ≈ 2μ W_L/W_F + (Gᵀ M⁻¹ G)⁻¹ [CC88] for the Schur complement.
//! - Viscosity alone: CG on A. Without the trace A has many more near-null vectors (in a plane every harmonic field) and no
//!   coarse grid knows them: that form, which serves the published tables, takes incomplete Cholesky factors.
//! - Pressure alone: CG with multigrid on Gᵀ M⁻¹ G.
//!
//! All unknowns are scaled so that the diagonals are one. Checked in tests/stokes.rs.

use super::pressure_stress::weighted;
use super::problem::{Physics, Problem, Solution};
use super::samples::Site;
use super::system::{Rows, System};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::linalg::{
    Amg, AmgParams, BlockTriangular, CahouetChabard, Csr, Ic0, Ic0Params, InnerSolve, KrylovParams,
    NullSpace, Outcome, Saddle, SolveInfo, cg, fgmres,
};
use crate::math::Vec3;

/// How a solve goes about.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Relative residual at which the solve stops.
    pub tolerance: f64,
    pub max_iterations: usize,
    /// Relative residual of the inner solves of the coupled system.
    pub inner_tolerance: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 1e-9, max_iterations: 400, inner_tolerance: 1e-2 }
    }
}

/// What is told where nothing had to be solved.
const NOTHING: SolveInfo =
    SolveInfo { method: "none", iterations: 0, residual: 0.0, outcome: Outcome::Converged };

/// Solve for velocity and pressure.
pub fn solve(problem: &Problem, physics: Physics, options: &Options, cancel: &Cancel) -> Result<Solution> {
    let system = System::new(problem, physics)?;
    cancel.check()?;
    match physics {
        _ if system.faces.is_empty() => system.finish(&[], &[], NOTHING, 0),
        Physics::Pressure if system.pressures.is_empty() => {
            let v: Vec<f64> = system.force.iter().zip(&system.mass).map(|(f, m)| f / m).collect();
            system.finish(&v, &[], NOTHING, 0)
        }
        Physics::Pressure => pressure(&system, options, cancel),
        Physics::Viscosity { trace_free } => viscosity(&system, trace_free, options, cancel),
        Physics::Stokes if system.pressures.is_empty() => viscosity(&system, false, options, cancel),
        Physics::Stokes => stokes(&system, options, cancel),
    }
}

fn pressure(system: &System, options: &Options, cancel: &Cancel) -> Result<Solution> {
    let rows = system.divergence()?;
    let inverse_mass: Vec<f64> = system.mass.iter().map(|m| 1.0 / m).collect();
    let (matrix, scale) = scaled(weighted(&rows.matrix, &inverse_mass)?);
    let start: Vec<f64> = system.force.iter().zip(&inverse_mass).map(|(f, m)| f * m).collect();
    // −(div M⁻¹ f + known) = (div M⁻¹ divᵀ)(−q) with G = −divᵀ.
    let mut b = rows.known.clone();
    rows.matrix.add_to(&start, &mut b);
    b.iter_mut().zip(&scale).for_each(|(b, s)| *b *= -s);
    let (labels, closed) = system.closed_regions();
    let null_space = NullSpace::weighted(&labels, |i| 1.0 / scale[i])?;
    let constant: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
    let mut amg = Amg::with_near_null(&matrix, 1, &constant, &AmgParams::default())?;
    let params = krylov(options, (closed > 0).then_some(&null_space));
    let mut q = vec![0.0; b.len()];
    let solve = cg(&matrix, &mut amg, &b, &mut q, &params, cancel)?.require("pressure")?;
    q.iter_mut().zip(&scale).for_each(|(q, s)| *q *= s);
    let mut v = vec![0.0; start.len()];
    rows.matrix.transpose().multiply(&q, &mut v);
    // v = M⁻¹(f − G q) = M⁻¹ f + M⁻¹ divᵀ q.
    v.iter_mut().zip(&start).zip(&inverse_mass).for_each(|((v, s), m)| *v = s + *v * m);
    let mut solution = system.finish(&v, &q, solve, closed)?;
    solution.unknowns = q.len();
    Ok(solution)
}

/// A, and the right-hand side f − Dᵀ C⁻¹ d.
fn viscous(system: &System, trace_free: bool) -> Result<(Csr, Vec<f64>)> {
    let Rows { matrix, mut known } = system.strains(trace_free)?;
    let stiffness = system.stiffness();
    let transposed = matrix.transpose();
    let product = weighted(&transposed, &stiffness)?;
    let n = system.faces.len();
    let a = Csr::from_rows(n, n, |i, out| {
        let (columns, values) = product.row(i);
        out.extend(columns.iter().zip(values).map(|(c, v)| (*c, *v)));
        out.push((i as u32, system.mass[i]));
    })?;
    let mut f = system.force.clone();
    known.iter_mut().zip(&stiffness).for_each(|(d, s)| *d *= -s);
    transposed.add_to(&known, &mut f);
    Ok((a, f))
}

fn viscosity(system: &System, trace_free: bool, options: &Options, cancel: &Cancel) -> Result<Solution> {
    let (a, mut f) = viscous(system, trace_free)?;
    let (a, scale) = scaled(a);
    f.iter_mut().zip(&scale).for_each(|(f, s)| *f *= s);
    let mut v = vec![0.0; f.len()];
    let mut params = krylov(options, None);
    let solve = if trace_free {
        params.max_iterations = 20_000;
        let mut factors = Ic0::new(&a, &Ic0Params::ic0())?;
        cg(&a, &mut factors, &f, &mut v, &params, cancel)?
    } else {
        let mut amg = velocity_multigrid(system, &a, &scale)?;
        cg(&a, &mut amg, &f, &mut v, &params, cancel)?
    };
    let solve = solve.require("viscosity")?;
    v.iter_mut().zip(&scale).for_each(|(v, s)| *v *= s);
    system.finish(&v, &[], solve, 0)
}

fn stokes(system: &System, options: &Options, cancel: &Cancel) -> Result<Solution> {
    let (n, m) = (system.faces.len(), system.pressures.len());
    let (a, f) = viscous(system, false)?;
    let Rows { matrix: divergence, known } = system.divergence()?;
    let inverse_mass: Vec<f64> = system.mass.iter().map(|m| 1.0 / m).collect();
    let poisson = weighted(&divergence, &inverse_mass)?;
    // Scale velocities by the diagonal of A and pressures by that of the approximate Schur complement.
    let viscous_part = schur_viscosity(system);
    let p_scale: Vec<f64> =
        viscous_part.iter().zip(poisson.diagonal()).map(|(mu, d)| (mu + 1.0 / d).sqrt()).collect();
    let (a, v_scale) = scaled(a);
    let poisson = scale_both(&poisson, &p_scale, &p_scale)?;
    let b_matrix = scale_both(&divergence, &p_scale, &v_scale)?;
    let viscous_part: Vec<f64> = viscous_part.iter().zip(&p_scale).map(|(mu, s)| mu / (s * s)).collect();
    // The unknown pressure is −q, as B is the divergence and not Gᵀ.
    let mut rhs: Vec<f64> = f.iter().zip(&v_scale).map(|(f, s)| f * s).collect();
    rhs.extend(known.iter().zip(&p_scale).map(|(g, s)| -g * s));
    let (labels, closed) = system.closed_regions();
    let mut all = vec![u32::MAX; n];
    all.extend(labels);
    let null_space = NullSpace::weighted(&all, |i| if i < n { 0.0 } else { 1.0 / p_scale[i - n] })?;

    let mut velocity_cycle = velocity_multigrid(system, &a, &v_scale)?;
    let constant: Vec<f64> = p_scale.iter().map(|s| 1.0 / s).collect();
    let mut poisson_cycle = Amg::with_near_null(&poisson, 1, &constant, &AmgParams::default())?;
    let mut velocity_solve = InnerSolve {
        matrix: &a,
        preconditioner: &mut velocity_cycle,
        tolerance: options.inner_tolerance,
        max_iterations: 60,
    };
    let mut poisson_solve = InnerSolve {
        matrix: &poisson,
        preconditioner: &mut poisson_cycle,
        tolerance: options.inner_tolerance,
        max_iterations: 60,
    };
    let mut schur = CahouetChabard::new(viscous_part, &mut poisson_solve)?;
    let saddle = Saddle::new(a.clone(), b_matrix, None)?;
    let mut triangle = BlockTriangular::new(&saddle, &mut velocity_solve, &mut schur);
    let mut x = vec![0.0; n + m];
    let params = krylov(options, (closed > 0).then_some(&null_space));
    let solve = fgmres(&saddle, &mut triangle, &rhs, &mut x, &params, cancel)?.require("stokes")?;
    x[..n].iter_mut().zip(&v_scale).for_each(|(x, s)| *x *= s);
    x[n..].iter_mut().zip(&p_scale).for_each(|(x, s)| *x *= -s);
    system.finish(&x[..n], &x[n..], solve, closed)
}

/// 2μ W_L/W_F of the pressure cells.
fn schur_viscosity(system: &System) -> Vec<f64> {
    let problem = system.problem;
    let of = |&c: &u32| {
        let c = c as usize;
        2.0 * super::problem::cell_value(&problem.viscosity, c) * problem.liquid.centre[c]
            / problem.open.centre[c]
    };
    system.pressures.iter().map(of).collect()
}

/// Multigrid for A whose coarse grids know the rigid motions about the middle of the liquid.
fn velocity_multigrid(system: &System, a: &Csr, scale: &[f64]) -> Result<Amg> {
    let samples = &system.problem.samples;
    let axes = samples.axes();
    let place = |&(axis, f): &(u8, u32)| samples.position(Site::Face(axis as usize), f as usize);
    let mut middle = Vec3::zeros();
    system.faces.iter().for_each(|f| middle += place(f));
    middle /= system.faces.len().max(1) as f64;
    let width = if axes == 2 { 3 } else { 6 };
    let unit = 1.0 / (samples.h() * samples.cells().iter().max().copied().unwrap_or(1) as f64);
    let mut near = Vec::with_capacity(width * system.faces.len());
    for (face, s) in system.faces.iter().zip(scale) {
        let (axis, x) = (face.0 as usize, (place(face) - middle) * unit);
        for w in 0..width {
            let value = if w < axes {
                (w == axis) as u8 as f64
            } else {
                let turn = Vec3::ith(if axes == 2 { 2 } else { w - axes }, 1.0);
                turn.cross(&x)[axis]
            };
            near.push(value / s);
        }
    }
    Amg::with_near_null(a, width, &near, &AmgParams::default())
}

fn krylov<'a>(options: &Options, null_space: Option<&'a NullSpace>) -> KrylovParams<'a> {
    KrylovParams {
        tolerance: options.tolerance,
        max_iterations: options.max_iterations,
        restart: 60,
        null_space,
        ..Default::default()
    }
}

/// S A S with S = diag(A)^-½, and S.
fn scaled(a: Csr) -> (Csr, Vec<f64>) {
    let scale: Vec<f64> = a.diagonal().iter().map(|d| if *d > 0.0 { 1.0 / d.sqrt() } else { 1.0 }).collect();
    let mut a = a;
    scale_in_place(&mut a, &scale, &scale);
    (a, scale)
}

fn scale_both(a: &Csr, rows: &[f64], columns: &[f64]) -> Result<Csr> {
    let mut out = a.clone();
    scale_in_place(&mut out, rows, columns);
    Ok(out)
}

fn scale_in_place(a: &mut Csr, rows: &[f64], columns: &[f64]) {
    for (i, row) in rows.iter().enumerate().take(a.rows()) {
        let span = a.span(i);
        let factors: Vec<f64> =
            a.columns()[span.clone()].iter().map(|&c| row * columns[c as usize]).collect();
        a.values_mut()[span].iter_mut().zip(factors).for_each(|(v, f)| *v *= f);
    }
}
