//! Thick liquid against known answers.
//!
//! **Couette.** Between a cylinder r = .25 that turns at 1 and one of r = .5 at rest the flow is
//! u = r ((.5/r)² − 1)/3; a published solver errs by 1.09e-3, 2.6e-4 and 6.3e-5 in the mean with 32, 64 and 128
//! cells. **Poiseuille.** In a channel of width w turned against the grid, u = G y(w − y)/2μ. Both by the viscous
//! step alone, one step so long that mass does not count.
//!
//! **Slide block.** A block of 10 by 5 cm on a floor along which it slides sinks under its weight. Inertia is
//! gone after ρL²/μ, a few milliseconds; from then on it spreads at the speed of Stokes flow, U = c ρgL²/μ with c
//! from the dense solver for the block upon its mirror image.
//!
//! **Pour.** 30 ml of honey through a nozzle onto a plate that it sticks to. **Spinning drop.** A ball without
//! gravity that turns and is sheared at once: viscosity takes the shear and leaves the angular momentum.

use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::{Solid, SolidShape, Solids, Wall};
use crate::geometry::TriMesh;
use crate::grid::Tiles;
use crate::math::{Aabb, Motion, Pose, Vec3};
use crate::simulation::Simulation;
use crate::solver::mac::{MacGrid, ViscosityOptions, ViscousSystem};
use crate::solver::stokes;
use serde_json::json;
use std::sync::Arc;

/// A room whose walls move as given.
struct Room {
    distance: fn(&Vec3) -> f64,
    velocity: fn(&Vec3) -> Vec3,
}

impl SolidShape for Room {
    fn distance(&self, x: &Vec3) -> f64 {
        (self.distance)(x)
    }
    fn bounds(&self) -> Aabb {
        Aabb::new(Vec3::repeat(-9.0), Vec3::repeat(9.0))
    }
    fn deformation(&self, x: &Vec3) -> Vec3 {
        (self.velocity)(x)
    }
}

/// One flow between walls.
struct Steady {
    room: Room,
    exact: fn(&Vec3) -> Vec3,
    pull: Vec3,
    /// Where the error is looked at.
    counts: fn(&Vec3) -> bool,
}

impl Steady {
    /// Mean error with n cells over a length of 1.2.
    fn error(self, n: f64, cancel: &Cancel) -> Result<f64> {
        let wall = Wall { stick: true, ..Wall::default() };
        let solid = Solid {
            name: "room".into(),
            shape: Arc::new(self.room),
            scale: 1.0,
            motion: Motion::at_rest(Pose::identity()),
            before: Pose::identity(),
            animated: true,
            wall,
        };
        let solids = Solids::new(vec![solid], None, [[false; 2]; 3], wall);
        let (h, stiffness) = (1.2 / n, 1e10);
        let m = (n / 8.0).ceil() as i32;
        let coords = (0..m * m).map(|i| [i % m, i / m, 0]).collect();
        let low = -0.6 + 0.0137 * h;
        let mut grid = MacGrid::new(Tiles::new(h, Vec3::new(low, low, 0.0), true, coords), &solids, None);
        grid.liquid.fill(-4.0 * h);
        for (a, u) in grid.velocity.iter_mut().enumerate() {
            u.fill(self.pull[a] * stiffness * h * h);
        }
        let options =
            ViscosityOptions { dt: stiffness * h * h, density: 1.0, tolerance: 1e-10, draft: false };
        let system = ViscousSystem::new(&grid, &solids, &grid.tiles.field(1.0), &options)?;
        let (u, _) = system.solve(options.tolerance, cancel)?;
        let (mut sum, mut count) = (0.0, 0.0);
        for (row, u) in u.iter().enumerate() {
            let x = system.position(row);
            if (self.counts)(&x) {
                sum += (u - (self.exact)(&x)[system.faces()[row].axis as usize]).abs();
                count += 1.0;
            }
        }
        Ok(sum / f64::max(count, 1.0))
    }
}

/// Errors and their order on three grids.
fn steady(name: &str, case: fn() -> Steady, gates: [f64; 3], cancel: &Cancel) -> Result<Vec<Figure>> {
    let mut errors = Vec::new();
    for n in [32.0, 64.0, 128.0] {
        errors.push(case().error(n, cancel)?);
    }
    let mut figures: Vec<Figure> = [32, 64, 128]
        .iter()
        .zip(&errors)
        .zip(gates)
        .map(|((n, e), gate)| Figure::new(format!("{name}-error-{n}"), *e, 0.0, gate))
        .collect();
    let order = crate::math::elementary::log(errors[0] / errors[2]) / (2.0 * std::f64::consts::LN_2);
    // Second order or better; walls that are cut at random make the error of one grid uneven.
    figures.push(Figure::new(format!("{name}-order"), order.min(2.0), 2.0, 0.2));
    Ok(figures)
}

/// Circular Couette flow.
pub fn couette(_: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let case = || Steady {
        room: Room {
            distance: |x| (x.xy().norm() - 0.25).min(0.5 - x.xy().norm()),
            velocity: |x| if x.xy().norm() < 0.375 { Vec3::new(-x.y, x.x, 0.0) } else { Vec3::zeros() },
        },
        exact: |x| {
            let turn = ((0.5 / x.xy().norm()).powi(2) - 1.0) / 3.0;
            Vec3::new(-x.y * turn, x.x * turn, 0.0)
        },
        pull: Vec3::zeros(),
        counts: |_| true,
    };
    steady("couette", case, [1.09e-3, 2.6e-4, 6.3e-5], cancel)
}

/// The channel is turned by 21.2°.
const TILT: [f64; 2] = [0.932_327_345_606_034_5, 0.361_615_431_964_962];

/// Place along and across the channel.
fn in_channel(x: &Vec3) -> [f64; 2] {
    [x.x * TILT[0] + x.y * TILT[1], -x.x * TILT[1] + x.y * TILT[0]]
}

fn parabola(x: &Vec3) -> Vec3 {
    let across = in_channel(x)[1];
    Vec3::new(TILT[0], TILT[1], 0.0) * (1.0 - across * across / 0.04).max(0.0)
}

/// Poiseuille flow in a turned channel.
pub fn poiseuille(_: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let case = || Steady {
        room: Room {
            distance: |x| {
                let [along, across] = in_channel(x);
                (0.2 - across.abs()).min(0.45 - along.abs())
            },
            velocity: parabola,
        },
        exact: parabola,
        pull: Vec3::new(TILT[0], TILT[1], 0.0) * 50.0,
        counts: |x| in_channel(x)[0].abs() < 0.25,
    };
    steady("poiseuille", case, [3.2e-3, 8.5e-4, 2.5e-4], cancel)
}

/// c of the header: the mean of |u| within .9 of the block, of width 2 and height 1, under weight 1.
fn spreading(cancel: &Cancel) -> Result<f64> {
    let (cells, dt) = (16.0, 1e3);
    let samples = stokes::Samples::new([64, 64, 1], Vec3::new(-2.0, -2.0, 0.0), 1.0 / cells)?;
    let mut mirror = stokes::Problem::new(samples);
    mirror.liquid = stokes::Shares::of_distance(&samples, 8, |x| (x.x.abs() - 1.0).max(x.y.abs() - 1.0));
    (mirror.viscosity, mirror.dt) = (vec![1.0], dt);
    let site = stokes::Site::Face(1);
    for (i, v) in mirror.velocity[1].iter_mut().enumerate() {
        let y = samples.position(site, i).y;
        *v = if y.abs() < 0.01 { 0.0 } else { -dt * y.signum() };
    }
    let options = stokes::Options::default();
    let solved = stokes::solve_velocity_pressure(&mirror, stokes::Physics::Stokes, &options, cancel)?;
    let site = stokes::Site::Face(0);
    let inside = |i: &usize| {
        let x = samples.position(site, *i);
        x.x.abs() < 0.9 && x.y > 0.1 && x.y < 0.9
    };
    let all: Vec<f64> =
        (0..samples.count(site)).filter(inside).map(|i| solved.velocity[0][i].abs()).collect();
    Ok(all.iter().sum::<f64>() / all.len() as f64)
}

/// A block on a floor along which it slides, for three viscosities and two lengths of step.
pub fn slide_block(_: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let (right, size, cell) = (spreading(cancel)?, 0.05, 0.05 / 16.0);
    let mut figures = Vec::new();
    for (viscosity, substeps) in [(1e3, 1), (1e4, 8), (1e5, 1)] {
        let scene = json!({"meniscus": 1, "frames": [1, 3], "fps": 24,
            "domain": {"min": [-0.15, 0, 0], "max": [0.15, 0.1, cell], "wall": "slide"}, "resolution": {"cell": cell},
            "liquids": [{"viscosity": viscosity}],
            "initial": [{"shape": {"box": {"min": [-size, 0, -1], "max": [size, size, 1]}}}],
            "simulator": {"substeps_min": substeps}});
        let mut sim = simulation(scene, &TriMesh::default())?;
        advance(&mut sim, 2, cancel, |_, _| {})?;
        let p = sim.particles();
        let within = |x: &Vec3| x.x.abs() < 0.9 * size && x.y > 0.1 * size && x.y < 0.9 * size;
        let chosen: Vec<f64> =
            (0..p.len()).filter(|i| within(&p.position[*i])).map(|i| p.velocity[i].x.abs()).collect();
        let mean = chosen.iter().sum::<f64>() / chosen.len().max(1) as f64;
        let speed = right * 1000.0 * GRAVITY * size * size / viscosity;
        figures.push(Figure::new(format!("slide-block-{viscosity}"), mean / speed, 1.0, 0.1));
    }
    Ok(figures)
}

/// 30 ml of honey onto a plate.
pub fn pour(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cell = effort.pick(0.002, 0.0035);
    let scene = json!({"meniscus": 1, "frames": [1, 72], "fps": 24,
        "domain": {"min": [-0.06, 0, -0.06], "max": [0.06, 0.09, 0.06], "wall": "stick"},
        "resolution": {"cell": cell}, "liquids": [{"density": 1420, "viscosity": 10}],
        "emitters": [{"shape": {"cylinder": {"from": [0, 0.07, 0], "to": [0, 0.078, 0], "radius": 0.006}},
            "rate_ml_s": 15, "velocity": [0, -1, 0], "total_ml": 30}],
        "simulator": {"transfer": "apic"}});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let (frames, mut halfway) = (effort.pick(71, 60), 0.0);
    advance(&mut sim, frames, cancel, |sim, time| {
        if time <= 1.0 {
            halfway = sim.report().litres_expected;
        }
    })?;
    let report = sim.report();
    Ok(vec![
        Figure::new("pour-after-1s-ml", 1e3 * halfway, 15.0, 0.75),
        Figure::new("pour-ml", 1e3 * report.litres_expected, 30.0, 0.15),
        Figure::new("pour-measured-ml", 1e3 * report.litres, 30.0, 0.15),
    ])
}

/// A drop that turns and is sheared.
pub fn spinning_drop(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cell = effort.pick(0.05 / 12.0, 0.05 / 8.0);
    let scene = json!({"meniscus": 1, "frames": [1, 25], "fps": 24, "gravity": [0, 0, 0],
        "domain": {"min": [-0.15, -0.15, -0.15], "max": [0.15, 0.15, 0.15]}, "resolution": {"cell": cell},
        "liquids": [{"viscosity": 10}],
        "initial": [{"shape": {"sphere": {"center": [0, 0, 0], "radius": 0.05}},
            "velocity_gradient": [[0, -1.5, 0], [0.5, 0, 0], [0, 0, 0]]}],
        "simulator": {"transfer": "apic"}});
    let mut sim = simulation(scene, &TriMesh::default())?;
    // Before the first step nothing is yet in the affine motion of the particles.
    advance(&mut sim, 1, cancel, |_, _| {})?;
    let start = spin(&sim);
    advance(&mut sim, effort.pick(23, 12), cancel, |_, _| {})?;
    Ok(vec![Figure::new("spinning-drop-momentum", spin(&sim) / start, 1.0, 0.01)])
}

/// Angular momentum of the particles about z over density.
fn spin(sim: &Simulation) -> f64 {
    let p = sim.particles();
    let one = |i: usize| {
        let (x, v) = (&p.position[i], &p.velocity[i]);
        p.volume[i] as f64 * (x.x * v.y - x.y * v.x)
    };
    (0..p.len()).map(one).sum()
}
