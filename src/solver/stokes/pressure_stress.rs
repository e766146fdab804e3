//! Pressure and stress as the unknowns: the symmetric positive definite form of [Bat10, (4.41)].
//!
//! The velocity is eliminated from the system of [`super::system`], v = M⁻¹(f − K̂ᵀy) with y = (σ, q):
//!
//! ```text
//!     (Ĉ + K̂ M⁻¹ K̂ᵀ) y = K̂ M⁻¹ f + k          K̂ = (D̂; Gᵀ),   Ĉ = diag(Ĉ_τ, 0),   k = (d̂; g)
//! ```
//!
//! A trace-free stress has one component less than axes: at centres the unknowns are τ_aa for all axes but the
//! last, they act on ∂_a u_a − ∂_l u_l (l the last axis), and ‖τ‖² = Σ τ_aa² + (Σ τ_aa)² gives the compliance
//! W_F/(2μ W_L) times 2 on the diagonal and 1 beside it. As μΔt/ρh² grows the near-null space of this matrix is every
//! stress in equilibrium with itself, so it is solved directly and serves as the oracle for small cases;
//! [`super::velocity_pressure`] is the solver. Walls that slide are left to that one. Checked in tests/stokes.rs: both agree.

use super::problem::{Physics, Problem, Solution};
use super::system::{Rows, System};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::linalg::{Csr, KrylovParams, NullSpace, SolveInfo, SparseLdlt, cg};

/// Rounds of conjugate gradients that take the rounding of the direct solve off.
const POLISH: usize = 20;

/// Solve for pressure and stress. `Physics::Viscosity` must be trace-free.
pub fn solve(problem: &Problem, physics: Physics, cancel: &Cancel) -> Result<Solution> {
    if physics == (Physics::Viscosity { trace_free: false }) {
        return Err(Error::invalid("pressure-stress form", "its stress is trace-free"));
    }
    let system = System::new(problem, physics)?;
    let rows = unknown_rows(&system)?;
    let n = rows.matrix.rows();
    if problem.viscosity.contains(&0.0) && physics.has_stress() {
        return Err(Error::invalid(
            "viscosity",
            "the pressure-stress form divides by it: it must not be zero",
        ));
    }
    let inverse_mass: Vec<f64> = system.mass.iter().map(|m| 1.0 / m).collect();
    let matrix = add(&weighted(&rows.matrix, &inverse_mass)?, &compliance(&system, n))?;
    // Scale the diagonal to one: the weights of cut cells span many powers of ten.
    let scale: Vec<f64> =
        matrix.diagonal().iter().map(|d| if *d > 0.0 { 1.0 / d.sqrt() } else { 1.0 }).collect();
    let scaled = Csr::from_rows(n, n, |i, out| {
        let (columns, values) = matrix.row(i);
        out.extend(columns.iter().zip(values).map(|(&j, v)| (j, v * scale[i] * scale[j as usize])));
    })?;
    let start: Vec<f64> = system.force.iter().zip(&inverse_mass).map(|(f, m)| f * m).collect();
    let mut b = rows.known.clone();
    rows.matrix.add_to(&start, &mut b);
    b.iter_mut().zip(&scale).for_each(|(b, s)| *b *= s);
    let (y, solve, closed) = solve_scaled(&system, &scaled, &b, &scale, cancel)?;
    // v = M⁻¹(f − K̂ᵀ y).
    let mut v = vec![0.0; system.faces.len()];
    rows.matrix.transpose().multiply(&y, &mut v);
    v.iter_mut().zip(&start).zip(&inverse_mass).for_each(|((v, s), m)| *v = s - *v * m);
    let q = &y[n - system.pressures.len()..];
    let mut solution = system.finish(&v, q, solve, closed)?;
    solution.unknowns = n;
    Ok(solution)
}

fn solve_scaled(
    system: &System,
    a: &Csr,
    b: &[f64],
    scale: &[f64],
    cancel: &Cancel,
) -> Result<(Vec<f64>, SolveInfo, usize)> {
    let n = a.rows();
    let (labels, closed) = system.closed_regions();
    let mut all = vec![u32::MAX; n - labels.len()];
    all.extend(labels);
    let null_space = NullSpace::weighted(&all, |i| 1.0 / scale[i])?;
    let mut factor = SparseLdlt::new(a)?;
    cancel.check()?;
    let params = KrylovParams {
        tolerance: 1e-13,
        max_iterations: POLISH,
        null_space: (closed > 0).then_some(&null_space),
        ..Default::default()
    };
    let mut y = vec![0.0; n];
    let solve = cg(a, &mut factor, b, &mut y, &params, cancel)?;
    if solve.residual > 1e-9 {
        solve.require("pressure-stress form")?;
    }
    y.iter_mut().zip(scale).for_each(|(y, s)| *y *= s);
    Ok((y, SolveInfo { method: "ldlt", ..solve }, closed))
}

/// K̂ and k: normal stresses cell by cell, shear stresses, pressures.
fn unknown_rows(system: &System) -> Result<Rows> {
    let axes = system.problem.samples.axes();
    let strains = system.strains(false)?;
    let divergence = system.divergence()?;
    let (m, edges, p) = (axes - 1, system.edges.len(), system.pressures.len());
    let normal = system.cells.len() * m;
    // A row is a difference of two strains, one shear rate, or the divergence with its sign turned.
    let parts = |i: usize| -> ([(usize, f64); 2], bool) {
        if i < normal {
            let first = i / m * axes;
            ([(first + i % m, 1.0), (first + axes - 1, -1.0)], false)
        } else if i < normal + edges {
            ([(system.cells.len() * axes + i - normal, 1.0), (0, 0.0)], false)
        } else {
            ([(i - normal - edges, -1.0), (0, 0.0)], true)
        }
    };
    let n = normal + edges + p;
    let matrix = Csr::from_rows(n, system.faces.len(), |i, out| {
        let (pair, pressure) = parts(i);
        let source = if pressure { &divergence.matrix } else { &strains.matrix };
        for (row, sign) in pair.into_iter().filter(|(_, s)| *s != 0.0) {
            let (columns, values) = source.row(row);
            out.extend(columns.iter().zip(values).map(|(c, v)| (*c, sign * v)));
        }
    })?;
    let known = (0..n).map(|i| {
        let (pair, pressure) = parts(i);
        let source = if pressure { &divergence.known } else { &strains.known };
        pair.iter().filter(|(_, s)| *s != 0.0).map(|(r, s)| s * source[*r]).sum()
    });
    Ok(Rows { known: known.collect(), matrix })
}

/// Ĉ as triplets.
fn compliance(system: &System, rows: usize) -> Vec<(u32, u32, f64)> {
    let axes = system.problem.samples.axes();
    let m = axes - 1;
    let stiffness = system.stiffness();
    let mut out = Vec::with_capacity(rows * m);
    for c in 0..system.cells.len() {
        let unit = 1.0 / stiffness[c * axes];
        for i in 0..m {
            for j in 0..m {
                let value = if i == j { 2.0 } else { 1.0 };
                out.push(((c * m + i) as u32, (c * m + j) as u32, value * unit));
            }
        }
    }
    for e in 0..system.edges.len() {
        let row = (system.cells.len() * m + e) as u32;
        out.push((row, row, 1.0 / stiffness[system.cells.len() * axes + e]));
    }
    out
}

/// K W Kᵀ.
pub(super) fn weighted(k: &Csr, weights: &[f64]) -> Result<Csr> {
    let mut right = k.clone();
    let columns = right.columns().to_vec();
    right.values_mut().iter_mut().zip(&columns).for_each(|(v, &c)| *v *= weights[c as usize]);
    right.product(&k.transpose())
}

/// A plus triplets that come row by row.
fn add(a: &Csr, triplets: &[(u32, u32, f64)]) -> Result<Csr> {
    let n = a.rows();
    let mut starts = vec![0usize; n + 1];
    triplets.iter().for_each(|t| starts[t.0 as usize + 1] += 1);
    (0..n).for_each(|i| starts[i + 1] += starts[i]);
    Csr::from_rows(n, n, |i, out| {
        let (columns, values) = a.row(i);
        out.extend(columns.iter().zip(values).map(|(c, v)| (*c, *v)));
        out.extend(triplets[starts[i]..starts[i + 1]].iter().map(|t| (t.1, t.2)));
    })
}
