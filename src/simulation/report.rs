//! What a simulation says of itself: how a step went, and how a frame went.

use crate::linalg::SolveInfo;
use serde::{Deserialize, Serialize};

/// The stages of a step, in order.
pub const STAGES: [&str; 6] =
    ["advect_surface", "remesh", "advect_velocity", "apply_forces", "solve", "finish"];

/// A longest step, and the rule that asks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Seconds.
    pub dt: f64,
    pub rule: &'static str,
}

impl Limit {
    /// The time in which liquid of a speed, under an acceleration, crosses the length `reach`. The speed at
    /// the end of the step counts; falling a few cells from rest takes √(2 cfl h/g).
    pub fn of_speed(reach: f64, speed: f64, acceleration: f64) -> Self {
        let dt = if acceleration > 0.0 {
            2.0 * reach / (speed + (speed * speed + 4.0 * acceleration * reach).sqrt())
        } else {
            reach / speed.max(f64::MIN_POSITIVE)
        };
        Self { dt, rule: "liquid speed" }
    }
}

/// One substep.
#[derive(Clone, Debug, Default)]
pub struct StepReport {
    /// Seconds simulated.
    pub dt: f64,
    /// Seconds spent in each of [`STAGES`].
    pub stage_seconds: [f64; 6],
    pub solves: Vec<SolveInfo>,
    /// Components of liquid without a free surface.
    pub closed_regions: usize,
    /// Volume rate that solids tried to force into closed regions, m³/s.
    pub refused_inflow: f64,
    /// How pressure and viscosity were found, and why; empty without viscosity.
    pub flow: String,
}

/// One frame, as written to the cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameReport {
    pub frame: i64,
    /// Simulated seconds since the first frame.
    pub time: f64,
    pub substeps: u32,
    /// The rule that forced the substeps.
    pub rule: String,
    /// Wall-clock seconds of the whole frame.
    pub seconds: f64,
    /// Wall-clock seconds of each stage, by name.
    pub stage_seconds: Vec<(String, f64)>,
    /// Iterations of all linear solves.
    pub iterations: usize,
    /// The worst relative residual of the linear solves.
    pub residual: f64,
    /// Liquid in the scene, litres.
    pub litres: f64,
    /// What was poured in less what left, litres.
    pub litres_expected: f64,
    /// Fastest liquid, m/s.
    pub max_speed: f64,
    /// Energy of motion of the liquid, J.
    #[serde(default)]
    pub kinetic_energy: f64,
    /// Energy of the liquid's height against gravity, above the lowest corner of the domain, J.
    #[serde(default)]
    pub potential_energy: f64,
    pub particles: usize,
    pub liquid_cells: usize,
    pub tiles: usize,
    /// Bytes held by the simulation's arrays.
    pub memory_bytes: u64,
    pub warnings: Vec<String>,
    /// How pressure and viscosity were found in the last substep, and why; empty without viscosity.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flow: String,
    /// Where the colliders are, and after them the bodies.
    pub colliders: Vec<ColliderPose>,
    /// How the bodies move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<BodyMotion>,
}

impl FrameReport {
    /// Relative error of the volume; 0 without liquid.
    pub fn volume_error(&self) -> f64 {
        if self.litres_expected > 0.0 { self.litres / self.litres_expected - 1.0 } else { 0.0 }
    }

    /// Take a substep into account.
    pub(super) fn add(&mut self, step: &StepReport) {
        self.substeps += 1;
        self.flow.clone_from(&step.flow);
        if self.stage_seconds.is_empty() {
            self.stage_seconds = STAGES.iter().map(|s| (s.to_string(), 0.0)).collect();
        }
        for (sum, s) in self.stage_seconds.iter_mut().zip(step.stage_seconds) {
            sum.1 += s;
        }
        for solve in &step.solves {
            self.iterations += solve.iterations;
            self.residual = self.residual.max(solve.residual);
        }
    }
}

/// Where a collider is at the end of a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColliderPose {
    pub name: String,
    pub translate: [f64; 3],
    pub rotate_quaternion_wxyz: [f64; 4],
    pub scale: f64,
    /// Whether its triangles changed since the frame before.
    pub mesh_changed: bool,
}

/// How a body moves at the end of a frame. Its pose is among the colliders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BodyMotion {
    pub name: String,
    /// kg.
    pub mass: f64,
    /// Centre of mass, m.
    pub centre: [f64; 3],
    /// Of the centre of mass, m/s.
    pub velocity: [f64; 3],
    /// Radians a second.
    pub angular_velocity: [f64; 3],
    /// Force of the liquid in the last substep, N.
    pub force: [f64; 3],
    /// Its torque about the centre of mass, Nm.
    pub torque: [f64; 3],
}

/// What a host sees while a frame is computed.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub frame: i64,
    /// Share of the frame that is done, 0 to 1.
    pub fraction: f64,
    /// Substeps finished in this frame.
    pub substeps: u32,
    /// What is being done.
    pub stage: &'static str,
    pub litres: f64,
}

/// Size of a simulation before it is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Cells in the domain, were all of it stored; 0 if unbounded.
    pub domain_cells: u64,
    /// Cells of liquid once everything is poured.
    pub liquid_cells: u64,
    pub particles: u64,
    pub memory_bytes: u64,
    pub disk_bytes_per_frame: u64,
}
