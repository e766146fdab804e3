//! From one frame to the next, and what is told of it.
//!
//! The work of a frame is handed to the pool once; the caller's thread watches.

use super::report::{BodyMotion, FrameReport, Progress, STAGES};
use super::{Amount, CellFields, FrameWork, Simulation, failure, watch};
use crate::error::Result;
use crate::math::Vec3;
use std::sync::Mutex;
use std::time::Instant;

impl Simulation {
    /// Go to the next frame. `watch` is called on this thread several times a second and returns true
    /// to cancel. After an error the simulation is as it was after the last finished substep, and the
    /// next call goes on from there to the same frame.
    pub fn advance_frame(&mut self, watch: &mut dyn FnMut(&Progress) -> bool) -> Result<FrameReport> {
        self.cancel.reset();
        self.next_frame(watch)
    }

    /// Go on until a frame is finished and hand over the report of each. The flag is lowered once, before
    /// the first frame: whoever raises it between two frames is heard as well.
    pub fn advance_to(
        &mut self,
        frame: i64,
        watch: &mut dyn FnMut(&Progress) -> bool,
        done: &mut dyn FnMut(FrameReport),
    ) -> Result<()> {
        self.cancel.reset();
        while self.frame < frame {
            self.cancel.check()?;
            done(self.next_frame(watch)?);
        }
        Ok(())
    }

    fn next_frame(&mut self, watch: &mut dyn FnMut(&Progress) -> bool) -> Result<FrameReport> {
        let start = Instant::now();
        self.failure = None;
        self.feed(self.frame)?;
        let progress = Mutex::new(Progress {
            frame: self.frame + 1,
            fraction: 0.0,
            substeps: 0,
            stage: STAGES[0],
            litres: 1e3 * self.volume,
        });
        let cancel = self.cancel.clone();
        let Self {
            scene,
            world,
            bodies,
            sources,
            sinks,
            liquid,
            due,
            frame,
            unfinished,
            settings,
            pool,
            failure,
            ..
        } = self;
        let liquid = liquid.as_mut();
        let mut frame_work =
            FrameWork { scene, world, bodies, sources, sinks, liquid, due, unfinished, settings };
        let keep = scene.debug.dump_dir.is_some();
        let work = || {
            let report = failure::watched(keep, failure, || frame_work.run(*frame, &cancel, &progress))?;
            // Measured here, so that the work is handed to the pool once.
            Ok((report, frame_work.liquid.amount(), frame_work.liquid.max_speed()))
        };
        let (mut report, amount, speed) = watch::run(pool, &cancel, &progress, watch, work)?;
        self.frame += 1;
        self.volume = amount.volume;
        report.seconds = start.elapsed().as_secs_f64();
        self.describe(&mut report, &amount, speed);
        Ok(report)
    }

    /// The report of the present frame as it stands, without times.
    pub fn report(&self) -> FrameReport {
        let mut report = FrameReport { rule: "start".into(), ..FrameReport::default() };
        let (amount, speed) = self.pool.install(|| (self.liquid.amount(), self.liquid.max_speed()));
        self.describe(&mut report, &amount, speed);
        report
    }

    fn describe(&self, report: &mut FrameReport, amount: &Amount, speed: f64) {
        report.frame = self.frame;
        report.time = self.scene.seconds(self.frame as f64);
        report.litres = 1e3 * amount.volume;
        report.litres_expected = 1e3 * amount.expected;
        report.liquid_cells = amount.liquid_cells;
        report.tiles = amount.tiles;
        report.max_speed = speed;
        report.particles = self.liquid.particles().len();
        report.memory_bytes = self.liquid.bytes() as u64;
        report.colliders = self.collider_poses();
        report.bodies = self.bodies.report();
    }

    /// How the bodies move now.
    pub fn body_motions(&self) -> Vec<BodyMotion> {
        self.bodies.report()
    }

    /// Pressure, distance and velocity on the cells of the simulator.
    pub fn cell_fields(&self) -> CellFields<'_> {
        self.liquid.cell_fields()
    }

    /// Where the cells are, and the velocity of the liquid there.
    pub fn cell_motion(&self) -> (Vec<Vec3>, Vec<Vec3>) {
        self.pool.install(|| self.liquid.cell_motion())
    }

    /// Where the velocities on the faces across an axis are; nowhere if cells are no cubes.
    pub fn face_positions(&self, axis: usize) -> Vec<Vec3> {
        self.pool.install(|| self.liquid.face_positions(axis))
    }
}
