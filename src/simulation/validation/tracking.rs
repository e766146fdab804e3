//! Trackers in given flows: what comes back after a turn, and how much of it.
//!
//! **Notched disk.** A disk of radius 15 at (50, 75) in a box of 100, with a slot 5 wide and 25 deep, turns once about
//! the middle in 628 s; its area is 582.2. Published after a turn at spacing 1: level set 613.0, particle level set
//! 580.4 [EFFM02]. It is a slab here, and measured in its middle.
//!
//! **Ball in a vortex.** A ball of radius 0.15 at (0.35, 0.35, 0.35) in the flow
//!
//! ```text
//!     u = 2 sin²(πx) sin(2πy) sin(2πz) cos(πt/3)    v = −sin(2πx) sin²(πy) sin(2πz) cos(πt/3)    w = −sin(2πx) sin(2πy) sin²(πz) cos(πt/3)
//! ```
//!
//! is drawn out into a sheet thinner than a cell and comes back at t = 3. Published loss at 100³: about 80 % for a level
//! set, 2.6 % for a particle level set.

use super::{Effort, Figure};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::math::elementary::{cos, sin};
use crate::math::{Aabb, Vec3};
use crate::surface::{Carry, ParticleLevelSet, SurfaceTracker, TiledLevelSet};
use std::f64::consts::PI;

/// Markers in a cell, as published.
const MARKERS: usize = 64;

/// Carry a tracker through a flow in steps of `dt`.
fn carry(
    tracker: &mut ParticleLevelSet,
    [steps, dt, fastest]: [f64; 3],
    flow: impl Fn(f64, &Vec3) -> Vec3 + Sync,
    cancel: &Cancel,
) -> Result<()> {
    let solids = Solids::default();
    for n in 0..steps as usize {
        cancel.check()?;
        // The flow in the middle of the step, which makes the path second order in time.
        let at = |x: &Vec3| flow((n as f64 + 0.5) * dt, x);
        tracker.advect(&Carry { dt, velocity: &at, fastest, solids: &solids, wanted: &[] })?;
        tracker.restore()?;
    }
    Ok(())
}

/// The area of a notched disk after a turn.
pub fn notched_disk(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let disk = |x: &Vec3| {
        let (dx, dy) = (x.x - 50.0, x.y - 75.0);
        let round = (dx * dx + dy * dy).sqrt() - 15.0;
        // The slot reaches from below up to y = 85.
        let slot = (dx.abs() - 2.5).max(x.y - 85.0);
        round.max(-slot).max((x.z - 8.0).abs() - 8.0)
    };
    let bounds = Aabb::new(Vec3::new(34.0, 59.0, -1.0), Vec3::new(66.0, 91.0, 17.0));
    let set = TiledLevelSet::filled(1.0, Vec3::zeros(), &Solids::default(), &[bounds], &disk)?;
    let mut tracker = ParticleLevelSet::new(set, effort.pick(MARKERS, 16));
    let before = area(&tracker);
    let steps = effort.pick(628.0, 314.0);
    let turn = |_: f64, x: &Vec3| Vec3::new(50.0 - x.y, x.x - 50.0, 0.0) * (2.0 * PI / 628.0);
    carry(&mut tracker, [steps, 628.0 / steps, 0.45], turn, cancel)?;
    let after = area(&tracker);
    Ok(vec![
        Figure::new("notched-disk-start", before, 582.207, 1.5),
        // The published tracker has lost 1.8.
        Figure::new("notched-disk-turn", after, before, 1.8),
    ])
}

/// The area in the middle plane of the slab, from a lattice of quarter cells.
fn area(tracker: &ParticleLevelSet) -> f64 {
    let at = |n: i32| 20.0 + 0.25 * (f64::from(n) + 0.5);
    let count = (0..240 * 320).filter(|n| {
        let x = Vec3::new(at(n % 240), at(n / 240), 8.0);
        tracker.set.distance(&x) < 0.0
    });
    count.count() as f64 / 16.0
}

/// The share of a ball that is lost in a vortex.
pub fn ball_in_a_vortex(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cells = effort.pick(100.0, 50.0);
    let h = 1.0 / cells;
    let centre = Vec3::repeat(0.35);
    let ball = |x: &Vec3| (x - centre).norm() - 0.15;
    let bounds = Aabb::new(centre.add_scalar(-0.15), centre.add_scalar(0.15));
    let set = TiledLevelSet::filled(h, Vec3::zeros(), &Solids::default(), &[bounds], &ball)?;
    let mut tracker = ParticleLevelSet::new(set, effort.pick(MARKERS, 16));
    let [before, _] = tracker.measure();
    // A cell in each step at the greatest speed.
    let steps = (3.0 * 2.0 * cells).ceil();
    let flow = |t: f64, x: &Vec3| {
        let [one, two] = [1.0, 2.0].map(|n| x.map(|v| sin(n * PI * v)));
        let turned = cos(PI * t / 3.0);
        Vec3::new(
            2.0 * one.x * one.x * two.y * two.z,
            -two.x * one.y * one.y * two.z,
            -two.x * two.y * one.z * one.z,
        ) * turned
    };
    carry(&mut tracker, [steps, 3.0 / steps, 2.0], flow, cancel)?;
    let [after, _] = tracker.measure();
    let exact = 4.0 / 3.0 * PI * 0.15f64.powi(3);
    Ok(vec![
        Figure::new("vortex-ball-start", before / exact, 1.0, 0.01),
        Figure::new("vortex-ball-loss", 1.0 - after / before, 0.0, 0.026),
    ])
}
