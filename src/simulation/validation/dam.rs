//! A dam that breaks in the tank of [LBMS14].
//!
//! The tank is 1.61 m long; behind the dam 0.6 m of water stand H = 0.3 m high. Times are in units of
//! √(H/g), depths in units of H. The flow does not vary across the tank, so it is one cell wide.
//! The front is the foremost particle and half the distance between particles; it has reached the far
//! wall when that is within half a cell of it. The depth at x is the volume of a column over its section,
//! which needs no idea of a surface either; the surface is straight over the 40 mm that it is wide, and it
//! holds enough particles that their scatter is well below the gate.
//!
//! Water slides along the walls by default. In the tank it sticks to them, which holds back the thin tip:
//! without friction the front is ahead of the experiment by some hundredths.

use super::measure::{Series, first_reach, front, integral, value_at};
use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use serde_json::json;

const HEIGHT: f64 = 0.3;
const LENGTH: f64 = 1.61;
/// Where the front is timed, m, and the published moment.
const ARRIVALS: [(f64, f64); 4] = [(0.865, 1.03), (1.114, 1.66), (1.3625, 2.17), (LENGTH, 2.44)];
/// Moments, and the published depth 0.3 m from the end wall.
const DEPTHS: [(f64, f64); 5] = [(1.0, 0.931), (2.0, 0.783), (3.0, 0.633), (4.0, 0.501), (5.0, 0.402)];
/// Where the depth is measured, m, and half the width of the column.
const GAUGE: [f64; 2] = [0.3, 0.02];

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
    let frames = (5.1 * unit * 100.0).ceil() as usize;
    advance(&mut sim, frames, cancel, |sim, time| {
        let column = integral(sim.particles(), |x| f64::from((x.x - GAUGE[0]).abs() < GAUGE[1]));
        reach.push((time / unit, front(sim.particles(), &Vec3::x(), 0.25 * cell)));
        depth.push((time / unit, column / (2.0 * GAUGE[1] * cell * HEIGHT)));
    })?;
    let arrivals = ARRIVALS.iter().map(|&(x, exact)| {
        let value = first_reach(&reach, x.min(LENGTH - 0.5 * cell));
        Figure::new(format!("dam-arrival-{x}"), value, exact, 0.05 * exact)
    });
    let depths = DEPTHS.iter().map(|&(moment, exact)| {
        Figure::new(format!("dam-depth-{moment}"), value_at(&depth, moment), exact, 0.03)
    });
    Ok(arrivals.chain(depths).collect())
}
