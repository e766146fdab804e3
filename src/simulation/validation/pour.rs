//! The same pour at three resolutions: a jet leaves a nozzle downwards and falls.
//!
//! Its front starts at the mouth with velocity u and is a distance d below it after
//! (√(u² + 2 g d) − u)/g, whatever the cells are. Each resolution takes the substeps that it chooses for
//! itself; the front is the lowest particle and half the distance between particles.

use super::measure::{Series, first_reach, front};
use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use serde_json::json;

const SPEED: f64 = 0.5;
const MOUTH: f64 = 0.45;
const TARGET: f64 = 0.05;

/// Arrival at each resolution against the exact fall, and their spread over their mean.
pub fn pour(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let exact = ((SPEED * SPEED + 2.0 * GRAVITY * (MOUTH - TARGET)).sqrt() - SPEED) / GRAVITY;
    let cells = effort.pick([0.01, 0.0066, 0.005], [0.016, 0.012, 0.01]);
    let mut arrivals = Vec::new();
    for cell in cells {
        arrivals.push(arrival(cell, cancel)?);
    }
    let mut figures: Vec<Figure> = cells
        .iter()
        .zip(&arrivals)
        .map(|(cell, value)| Figure::new(format!("pour-arrival-{cell}"), *value, exact, 0.05 * exact))
        .collect();
    let (low, high) =
        arrivals.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), t| (l.min(*t), h.max(*t)));
    let mean = arrivals.iter().sum::<f64>() / arrivals.len() as f64;
    figures.push(Figure::new("pour-arrival-spread", (high - low) / mean, 0.0, 0.05));
    Ok(figures)
}

/// When the front of the jet passes the target height, s.
fn arrival(cell: f64, cancel: &Cancel) -> Result<f64> {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 48,
        "domain": {"min": [-0.1, 0, -0.1], "max": [0.1, 0.6, 0.1]}, "resolution": {"cell": cell},
        "emitters": [{"shape": {"cylinder": {"from": [0, MOUTH, 0], "to": [0, 0.52, 0], "radius": 0.025}},
            "velocity": [0, -SPEED, 0]}]});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut reach: Series = vec![(0.0, -MOUTH)];
    advance(&mut sim, 16, cancel, |sim, time| {
        reach.push((time, front(sim.particles(), &-Vec3::y(), 0.25 * cell)));
    })?;
    Ok(first_reach(&reach, -TARGET))
}
