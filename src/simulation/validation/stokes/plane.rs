//! The problems in the plane on a grid: weights, fields, solve and errors.
//!
//! Errors are taken over the samples that lie in the liquid and outside solids themselves: L∞ is the largest, L1 is
//! Σ|e|h². Where walls leave the pressure free up to a constant the mean difference is taken off first.

use super::cases::{Case, HALF_WIDTH, VISCOSITY};
use super::{Errors, Form, Scheme};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::math::Vec3;
use crate::solver::stokes::{
    Options, Physics, Problem, Samples, Shares, Site, Solution, solve_pressure_stress,
    solve_velocity_pressure,
};

/// Sub-boxes across the block that weigh the boxes: of liquid and of what walls leave open. A chord of s = 3 m/1024 moves a circle in by
/// about s²/12r, the same on every grid. The published figures of free surfaces show that shift (without it p of 4.1 on 512² has 3.7 %
/// less), those of walls in rings do not: with it u of 4.4 on 512² has 2.06 % more and all stresses of 4.8 are off by .1 %.
const LIQUID_PARTS: usize = 1024;
const WALL_PARTS: usize = 4096;

/// The errors of a case on n × n cells.
pub(super) fn errors(
    case: &Case,
    n: usize,
    scheme: Scheme,
    form: Form,
    cancel: &Cancel,
) -> Result<Vec<Errors>> {
    let problem = problem(case, n, scheme)?;
    let solution = match form {
        Form::PressureStress => solve_pressure_stress(&problem, case.physics, cancel)?,
        Form::VelocityPressure => {
            let options = Options { tolerance: 1e-11, ..Default::default() };
            solve_velocity_pressure(&problem, case.physics, &options, cancel)?
        }
    };
    Ok(measure(case, &problem.samples, &solution))
}

/// The problem of a case on n × n cells.
pub fn problem(case: &Case, n: usize, scheme: Scheme) -> Result<Problem> {
    let h = 2.0 * HALF_WIDTH / n as f64;
    let samples = Samples::new([n, n, 1], Vec3::new(-HALF_WIDTH, -HALF_WIDTH, -0.5 * h), h)?;
    let parts = |across: usize| (across / n).max(1);
    let radius = |x: Vec3| (x.x * x.x + x.y * x.y).sqrt();
    let mut problem = Problem::new(samples);
    problem.viscosity = vec![VISCOSITY];
    problem.liquid = Shares::of_distance(&samples, parts(LIQUID_PARTS), |x| case.liquid_distance(radius(x)));
    problem.open = Shares::of_distance(&samples, parts(WALL_PARTS), |x| -case.wall_distance(radius(x)));
    if scheme == Scheme::Sharp {
        problem.liquid = Shares::ghost(&samples, |x| case.liquid_distance(radius(x)));
        problem.open = Shares::areas(&samples, parts(WALL_PARTS), |x| -case.wall_distance(radius(x)));
    }
    for axis in 0..2 {
        let site = Site::Face(axis);
        let at = |i: usize| samples.position(site, i);
        problem.velocity[axis] =
            (0..samples.count(site)).map(|i| case.exact(at(i).x, at(i).y).before[axis]).collect();
        if case.turn != 0.0 {
            let inner = |x: Vec3| if radius(x) < 0.75 { case.turn * [x.y, -x.x][axis] } else { 0.0 };
            problem.wall_velocity[axis] = (0..samples.count(site)).map(|i| inner(at(i))).collect();
        }
    }
    Ok(problem)
}

fn measure(case: &Case, samples: &Samples, solution: &Solution) -> Vec<Errors> {
    let mut out = Vec::new();
    let mut take =
        |field: &str, site: Site, values: &[f64], exact: &dyn Fn(f64, f64) -> f64, centred: bool| {
            let mut e = Vec::new();
            for (i, value) in values.iter().enumerate() {
                let x = samples.position(site, i);
                let r = (x.x * x.x + x.y * x.y).sqrt();
                let defined = r > 0.0 || case.physics != Physics::Stokes;
                if defined && case.liquid_distance(r) < 0.0 && case.wall_distance(r) > 0.0 {
                    e.push(value - exact(x.x, x.y));
                }
            }
            if centred {
                let mean = e.iter().sum::<f64>() / e.len().max(1) as f64;
                e.iter_mut().for_each(|e| *e -= mean);
            }
            out.push(Errors::of(field, &e, samples.h() * samples.h()));
        };
    if case.physics.has_pressure() {
        let closed = solution.closed_regions > 0;
        take("p", Site::Centre, &solution.pressure, &|x, y| case.exact(x, y).pressure, closed);
    }
    if case.physics != Physics::Pressure {
        let stress = &solution.stress;
        take("tau_xx", Site::Centre, &stress.normal[0], &|x, y| case.exact(x, y).stress[0], false);
        take("tau_xy", Site::Edge(2), &stress.shear[2], &|x, y| case.exact(x, y).stress[1], false);
    }
    take("u", Site::Face(0), &solution.velocity[0], &|x, y| case.exact(x, y).velocity[0], false);
    out
}
