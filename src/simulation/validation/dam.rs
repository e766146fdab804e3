//! A dam that breaks in the tank of [LBMS14].
//!
//! The tank is 1.61 m long; behind the dam 0.6 m of water stand H = 0.3 m high. Times are in units of
//! √(H/g), depths in units of H. The flow does not vary across the tank, so it is one cell wide.
//! The depth at x is the volume of a column over its section, which needs no idea of a surface; the
//! surface is straight over the 40 mm that it is wide, and it holds enough particles that their scatter is
//! well below the gate.
//!
//! The far wall is struck by the tip: the foremost particle and half the distance between particles,
//! within half a cell of it. The three moments before it are those of level gauges, and cannot be the tip's:
//! from the last gauge to the wall it would have to run at 3 √(gH), which no front can. A gauge answers a
//! layer, not the first splash. The depth from which on it answers, 0.065 H, is found from the first gauge;
//! the other two and the wall are predictions.

use super::measure::{Series, first_reach, front, integral, value_at};
use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use serde_json::json;

pub const HEIGHT: f64 = 0.3;
pub const LENGTH: f64 = 1.61;
/// Where gauges stand, m, and the published moment at which they answer.
pub const ARRIVALS: [(f64, f64); 3] = [(0.865, 1.03), (1.114, 1.66), (1.3625, 2.17)];
/// The depth from which on they answer, over H, and half the width of the column that they see, m.
pub const ANSWERS: [f64; 2] = [0.065, 0.01];
/// The published moment at which the tip strikes the far wall.
pub const STRUCK: f64 = 2.44;
/// Moments, and the published depth 0.3 m from the end wall.
pub const DEPTHS: [(f64, f64); 5] = [(1.0, 0.931), (2.0, 0.783), (3.0, 0.633), (4.0, 0.501), (5.0, 0.402)];
/// Where the depth is measured, m, and half the width of the column.
pub const GAUGE: [f64; 2] = [0.3, 0.02];

/// When the front arrives, and how the reservoir empties.
pub fn dam_break(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cell = effort.pick(0.005, 0.01);
    let scene = json!({"meniscus": 1, "frames": [0, 200], "fps": 100,
        "domain": {"min": [0, 0, 0], "max": [LENGTH, 0.6, cell], "sides": {"y_max": "open"}},
        "resolution": {"cell": cell},
        "initial": [{"shape": {"box": {"min": [-0.1, -0.1, -1], "max": [0.6, HEIGHT, 1]}}}]});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let unit = (HEIGHT / GRAVITY).sqrt();
    let (mut reach, mut depth) = (Series::new(), Series::new());
    let mut gauges = ARRIVALS.map(|_| Series::new());
    let frames = (5.1 * unit * 100.0).ceil() as usize;
    advance(&mut sim, frames, cancel, |sim, time| {
        let mean_depth = |at: f64, half: f64| {
            let column = integral(sim.particles(), |x| f64::from((x.x - at).abs() < half));
            column / (2.0 * half * cell * HEIGHT)
        };
        reach.push((time / unit, front(sim.particles(), &Vec3::x(), 0.25 * cell)));
        depth.push((time / unit, mean_depth(GAUGE[0], GAUGE[1])));
        for (gauge, (x, _)) in gauges.iter_mut().zip(ARRIVALS) {
            gauge.push((time / unit, mean_depth(x, ANSWERS[1])));
        }
    })?;
    let arrivals = ARRIVALS.iter().zip(&gauges).map(|(&(x, exact), gauge)| {
        Figure::new(format!("dam-arrival-{x}"), first_reach(gauge, ANSWERS[0]), exact, 0.05 * exact)
    });
    let struck = first_reach(&reach, LENGTH - 0.5 * cell);
    let wall = Figure::new("dam-arrival-wall", struck, STRUCK, 0.05 * STRUCK);
    let depths = DEPTHS.iter().map(|&(moment, exact)| {
        Figure::new(format!("dam-depth-{moment}"), value_at(&depth, moment), exact, 0.03)
    });
    let mut figures: Vec<Figure> = arrivals.chain([wall]).chain(depths).collect();
    if let Some(last) = figures.pop() {
        let axes = ["time, √(H/g)", "depth 0.3 m from the end wall, H"];
        figures.push(last.with_curve(axes, depth.clone(), DEPTHS.to_vec()));
    }
    Ok(figures)
}
