//! One substep of any simulator: the six stages in order; and what is done if it diverges.
//!
//! A substep that ends in numbers that are not finite, or in a solve that does not converge, has changed
//! nothing. It is tried again at half its length, [`RETRIES`] times at most; then the last error is
//! reported with the frame, the substep and its length. Errors of other kinds are no matter of length.

use super::liquid::{Liquid, Step};
use super::report::{STAGES, StepReport};
use crate::error::{Error, Result};
use crate::linalg::dump;
use std::time::Instant;

/// How often a substep that diverges is halved.
pub const RETRIES: u32 = 6;

/// Try a substep of `dt` seconds, and shorter ones while it diverges. Returns what came of it and how often
/// it was halved.
pub fn insist<T>(dt: f64, mut attempt: impl FnMut(f64) -> Result<T>) -> Result<(T, u32)> {
    let mut halved = 0;
    loop {
        match attempt(dt * 0.5f64.powi(halved as i32)) {
            Ok(done) => return Ok((done, halved)),
            Err(Error::Diverged { .. }) if halved < RETRIES => halved += 1,
            Err(error) => return Err(error),
        }
    }
}

/// An error with the place in time at which it stands after all tries.
pub fn placed(error: Error, frame: i64, substep: u32, dt: f64) -> Error {
    let Error::Diverged { stage, message } = error else { return error };
    let shortest = dt * 0.5f64.powi(RETRIES as i32);
    Error::diverged(
        stage,
        format!(
            "{message} (on the way to frame {frame}, in substep {substep}, from {dt:.3e} s down to {shortest:.3e} s)"
        ),
    )
}

/// Advance a liquid by one substep. On an error the liquid is as it was before.
/// `enter` is told the index in [`STAGES`] of the stage that begins.
pub fn step(liquid: &mut dyn Liquid, world: &Step, enter: &mut dyn FnMut(usize)) -> Result<StepReport> {
    let mut report = StepReport { dt: world.dt, ..StepReport::default() };
    match stages(liquid, world, &mut report, enter) {
        Ok(()) => {
            liquid.commit();
            Ok(report)
        }
        Err(error) => {
            let error = numbers(error, liquid);
            dump::note(|| liquid.weights());
            liquid.abandon();
            Err(error)
        }
    }
}

/// An error of a stage with the place of the first bad number. The scene was checked when it was read, so
/// what a solver refuses as invalid now are numbers that the step has made.
fn numbers(error: Error, liquid: &dyn Liquid) -> Error {
    let (stage, message) = match error {
        Error::Invalid { what, message } => (what, message),
        Error::Diverged { stage, message } => (stage, message),
        other => return other,
    };
    match liquid.trouble() {
        Some(place) => Error::diverged(stage, format!("{message}; {place}")),
        None => Error::diverged(stage, message),
    }
}

fn stages(
    liquid: &mut dyn Liquid,
    world: &Step,
    report: &mut StepReport,
    enter: &mut dyn FnMut(usize),
) -> Result<()> {
    for stage in 0..STAGES.len() {
        enter(stage);
        world.cancel.check()?;
        let start = Instant::now();
        match stage {
            0 => liquid.advect_surface(world)?,
            1 => liquid.remesh(world)?,
            2 => liquid.advect_velocity(world)?,
            3 => liquid.apply_forces(world)?,
            4 => {
                let solved = liquid.solve(world)?;
                report.solves = solved.solves;
                report.closed_regions = solved.closed_regions;
                report.refused_inflow = solved.refused_inflow;
                report.flow = solved.flow;
            }
            _ => liquid.finish(world)?,
        }
        report.stage_seconds[stage] = start.elapsed().as_secs_f64();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diverging_substep_is_halved_until_it_holds_or_six_times() {
        let mut tried = Vec::new();
        let mut holds_below = |limit: f64| {
            tried.clear();
            insist(1.0, |dt| {
                tried.push(dt);
                if dt < limit { Ok(dt) } else { Err(Error::diverged("solve", "no")) }
            })
        };
        assert_eq!(holds_below(2.0), Ok((1.0, 0)));
        assert_eq!(holds_below(0.3), Ok((0.25, 2)));
        let end = holds_below(0.0).map_err(|e| placed(e, 7, 3, 1.0)).unwrap_err().to_string();
        assert!(end.contains("frame 7") && end.contains("substep 3"), "{end}");
        assert_eq!(tried.len(), 1 + RETRIES as usize);
    }

    #[test]
    fn other_errors_are_not_tried_again() {
        let mut tried = 0;
        let result: Result<((), u32)> = insist(1.0, |_| {
            tried += 1;
            Err(Error::Cancelled)
        });
        assert_eq!((result, tried), (Err(Error::Cancelled), 1));
    }
}
