//! One substep of any simulator: the six stages in order.

use super::liquid::{Liquid, Step};
use super::report::{STAGES, StepReport};
use crate::error::Result;
use std::time::Instant;

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
            liquid.abandon();
            Err(error)
        }
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
            }
            _ => liquid.finish(world)?,
        }
        report.stage_seconds[stage] = start.elapsed().as_secs_f64();
    }
    Ok(())
}
