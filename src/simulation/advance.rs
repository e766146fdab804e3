//! From one frame to the next, and what is told of it.
//!
//! The work of a frame is handed to the pool once; the caller's thread watches.

use super::liquid::{Amount, CellFields, Liquid, Moments};
use super::report::{BodyMotion, FrameReport, Progress, STAGES};
use super::{FrameWork, Simulation, failure, watch};
use crate::error::Result;
use crate::math::Vec3;
use std::sync::Mutex;
use std::time::Instant;

/// What is measured of the liquid for a report, in the pool.
struct Measured {
    amount: Amount,
    speed: f64,
    sums: Moments,
}

impl Measured {
    fn of(liquid: &dyn Liquid) -> Self {
        Self { amount: liquid.amount(), speed: liquid.max_speed(), sums: liquid.moments() }
    }
}

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
            fields,
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
            FrameWork { scene, world, fields, bodies, sources, sinks, liquid, due, unfinished, settings };
        let keep = scene.debug.dump_dir.is_some();
        let work = || {
            let report = failure::watched(keep, failure, || frame_work.run(*frame, &cancel, &progress))?;
            // Measured here, so that the work is handed to the pool once.
            let liquid = &frame_work.liquid;
            Ok((report, Measured::of(&**liquid)))
        };
        let (mut report, measured) = watch::run(pool, &cancel, &progress, watch, work)?;
        self.frame += 1;
        self.volume = measured.amount.volume;
        report.seconds = start.elapsed().as_secs_f64();
        self.describe(&mut report, &measured);
        Ok(report)
    }

    /// The report of the present frame as it stands, without times.
    pub fn report(&self) -> FrameReport {
        let mut report = FrameReport { rule: "start".into(), ..FrameReport::default() };
        let measured = self.pool.install(|| Measured::of(&*self.liquid));
        self.describe(&mut report, &measured);
        report
    }

    fn describe(&self, report: &mut FrameReport, measured: &Measured) {
        let Measured { amount, speed, sums } = measured;
        report.frame = self.frame;
        report.time = self.scene.seconds(self.frame as f64);
        report.litres = 1e3 * amount.volume;
        report.litres_expected = 1e3 * amount.expected;
        report.liquid_cells = amount.liquid_cells;
        report.tiles = amount.tiles;
        report.max_speed = *speed;
        [report.kinetic_energy, report.potential_energy] = self.energy(sums);
        report.particles = self.liquid.particles().len();
        report.memory_bytes = self.liquid.bytes() as u64;
        report.colliders = self.collider_poses();
        report.bodies = self.bodies.report();
    }

    /// Energy of motion and of height, J. Heights count from the corner of the domain that gravity points to, or from
    /// the origin without a domain; all liquids have one density.
    fn energy(&self, sums: &Moments) -> [f64; 2] {
        let density = self.scene.liquids.first().map_or(1000.0, |l| l.density());
        let gravity = Vec3::from(self.scene.gravity.at(self.frame as f64));
        let lowest = self.scene.domain.as_ref().map_or(Vec3::zeros(), |d| {
            Vec3::from_fn(|a, _| if gravity[a] > 0.0 { d.max[a] } else { d.min[a] })
        });
        [density * sums.motion, -density * gravity.dot(&(sums.place - lowest * sums.volume))]
    }

    /// How many threads the simulation may use.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
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
