//! Jets of thick liquid that buckle, and those that do not.
//!
//! **Jets.** A jet that meets a plate from a height of H folds if it is plane and its Reynolds number ρDU/μ is below .56 and H/D above
//! 10; it coils if it is round and these are below 1.2 and above 7.2 [CM81] [Cru88]. Otherwise it spreads evenly. Told by
//! how far the middle of the jet goes aside at any height above what has piled up.
//!
//! **Coil.** Honey through a nozzle of 8 mm falls 9 cm and turns steadily. Where its weight and its stiffness balance, it
//! does so at Ω = (g Q³/(ν a⁸))^¼ up to a factor of order one, with Q the rate and a the radius of the thread above the coil
//! [Rib04].

use super::measure::Series;
use super::{Effort, Figure, GRAVITY, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::{Vec3, elementary};
use crate::simulation::Simulation;
use serde_json::{Value, json};

/// Speed of the jets, m/s; they weigh 1 kg/m³.
const SPEED: f64 = 0.5;
/// Widths of a jet that its middle must go aside to count as buckled, and that it may without.
const BUCKLED: f64 = 0.25;
const STRAIGHT: f64 = 0.1;
/// A layer of the thread is spread out, as a standard deviation, by less than this share of its width; the inlet by .29 or .35.
const SLENDER: f64 = 0.3;
/// Seconds that each is looked at.
const SECONDS: f64 = 2.0;

/// One jet.
struct Jet {
    name: &'static str,
    /// Height and width, m.
    height: f64,
    width: f64,
    viscosity: f64,
    round: bool,
    buckles: bool,
}

impl Jet {
    fn scene(&self, cells: f64) -> Value {
        let (cell, h, r) = (self.width / cells, self.height, 0.5 * self.width);
        let (inlet, depth) = if self.round {
            let shape = json!({"cylinder": {"from": [0, h, 0], "to": [0, h + r, 0], "radius": r}});
            (shape, [-0.24, 0.24])
        } else {
            (json!({"box": {"min": [-r, h, -1], "max": [r, h + r, 1]}}), [0.0, cell])
        };
        let wide = if self.round { 0.24 } else { 0.4 };
        json!({"meniscus": 1, "frames": [1, 1 + (24.0 * SECONDS) as i64], "fps": 24, "resolution": {"cell": cell},
            "domain": {"min": [-wide, 0, depth[0]], "max": [wide, h + r, depth[1]], "wall": "stick",
                "sides": {"y_max": "open"}},
            "liquids": [{"density": 1, "viscosity": self.viscosity}],
            "emitters": [{"shape": inlet, "velocity": [0, -SPEED, 0]}],
            "simulator": {"transfer": "apic"}})
    }

    /// Widths that the jet goes aside at most.
    fn run(&self, cells: f64, cancel: &Cancel) -> Result<Figure> {
        let mut sim = simulation(self.scene(cells), &TriMesh::default())?;
        let mut aside: Series = Vec::new();
        advance(&mut sim, (24.0 * SECONDS) as usize, cancel, |sim, time| {
            if let Some((x, _)) = foot(sim, self.width, self.height) {
                let across = if self.round { x.z } else { 0.0 };
                aside.push((time, x.x.hypot(across) / self.width));
            }
        })?;
        let most = aside.iter().fold(0.0, |m: f64, (_, x)| m.max(*x));
        let figure = match self.buckles {
            true => Figure::new(self.name, most.min(1.0), 1.0, 1.0 - BUCKLED),
            false => Figure::new(self.name, most, 0.0, STRAIGHT),
        };
        let gate = if self.buckles { BUCKLED } else { STRAIGHT };
        let gate = vec![(0.0, gate), (SECONDS, gate)];
        Ok(figure.with_curve(["time, s", "widths aside"], aside, gate))
    }
}

/// Where the thread of a jet is furthest aside, and how fast the liquid moves there: the mean of a layer of a quarter of the
/// jet's width in which liquid is less spread out than in the inlet, as it is not where it piles up.
fn foot(sim: &Simulation, width: f64, height: f64) -> Option<(Vec3, Vec3)> {
    let (p, layer) = (sim.particles(), 0.25 * width);
    let count = (0.9 * height / layer) as usize;
    // Volume, its moments along x and z, its momentum, and the mean square of the way from the axis.
    let mut sums = vec![(0.0, Vec3::zeros(), Vec3::zeros(), 0.0); count];
    for i in 0..p.len() {
        let (x, volume) = (p.position[i], f64::from(p.volume[i]));
        if let Some(sum) = sums.get_mut((x.y.max(0.0) / layer) as usize) {
            sum.0 += volume;
            sum.1 += x * volume;
            sum.2 += p.velocity[i] * volume;
            sum.3 += (x.x * x.x + x.z * x.z) * volume;
        }
    }
    let thread = |(volume, x, v, square): (f64, Vec3, Vec3, f64)| {
        let middle = x / volume;
        let spread = square / volume - middle.x * middle.x - middle.z * middle.z;
        (volume > 0.0 && spread < (SLENDER * width).powi(2)).then(|| (middle, v / volume))
    };
    let aside = |x: &Vec3| x.x.hypot(x.z);
    sums.into_iter().filter_map(thread).max_by(|a, b| aside(&a.0).total_cmp(&aside(&b.0)))
}

/// Round and plane jets on both sides of the onset of buckling.
pub fn jets(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let jet = |name, [height, width, viscosity]: [f64; 3], round, buckles| Jet {
        name,
        height,
        width,
        viscosity,
        round,
        buckles,
    };
    // Reynolds numbers .4 and 2 at H/D = 11.7; .13 at H/D = 8.75 and 4.
    let all = [
        jet("plane-jet-folds", [0.7, 0.06, 0.075], false, true),
        jet("plane-jet-too-fast", [0.7, 0.06, 0.015], false, false),
        jet("round-jet-coils", [0.7, 0.08, 0.3], true, true),
        jet("round-jet-too-low", [0.32, 0.08, 0.3], true, false),
    ];
    let cells = |jet: &Jet| if jet.round { effort.pick(6.0, 4.0) } else { effort.pick(12.0, 8.0) };
    all.iter().map(|jet| jet.run(cells(jet), cancel)).collect()
}

/// A thread of honey that coils.
pub fn coil(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let (cell, fps, seconds) = (effort.pick(0.00133, 0.002), 96.0, effort.pick(2.0, 1.5));
    let (radius, speed, height, viscosity, density) = (0.004, 0.1, 0.09, 10.0, 1420.0);
    let scene = json!({"meniscus": 1, "frames": [1, 1 + (fps * seconds) as i64], "fps": fps, "resolution": {"cell": cell},
        "domain": {"min": [-0.032, 0, -0.032], "max": [0.032, height + 0.006, 0.032], "wall": "stick",
            "sides": {"y_max": "open", "x_min": "open", "x_max": "open", "z_min": "open", "z_max": "open"}},
        "liquids": [{"density": density, "viscosity": viscosity}],
        "emitters": [{"shape": {"cylinder": {"from": [0, height, 0], "to": [0, height + 0.006, 0], "radius": radius}},
            "velocity": [0, -speed, 0]}],
        "simulator": {"transfer": "apic"}});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut given: Series = Vec::new();
    let (mut turned, mut fall, mut last): (Series, Series, Option<f64>) = (Vec::new(), Vec::new(), None);
    advance(&mut sim, (fps * seconds) as usize, cancel, |sim, time| {
        let Some((x, v)) = foot(sim, 2.0 * radius, height) else { return };
        let angle = elementary::atan2(x.z, x.x);
        let before = turned.last().map_or(0.0, |t| t.1);
        let tau = 2.0 * std::f64::consts::PI;
        let by = last.map_or(0.0, |a| angle - a - ((angle - a) / tau).round() * tau);
        turned.push((time, before + by));
        fall.push((time, -v.y));
        given.push((time, 1e-3 * sim.report().litres_expected));
        last = Some(angle);
    })?;
    // The first half is the start; the rest is looked at in two parts.
    let rate = |from: f64, to: f64| {
        let at = |share: f64| turned[((turned.len() - 1) as f64 * share) as usize];
        let ((t0, a0), (t1, a1)) = (at(from), at(to));
        (a1 - a0) / (t1 - t0)
    };
    if turned.len() < 8 {
        return Ok(vec![Figure::new("coil-steady", f64::NAN, 1.0, 0.25)]);
    }
    let [early, late] = [rate(0.5, 0.75), rate(0.75, 1.0)];
    let pi = std::f64::consts::PI;
    let rest = &fall[fall.len() / 2..];
    let falls = rest.iter().map(|f| f.1).sum::<f64>() / rest.len() as f64;
    // What the nozzle gives: the weight of the thread draws more out of it than its speed says.
    let (some, all) = (given[given.len() / 2], given[given.len() - 1]);
    let flow = (all.1 - some.1) / (all.0 - some.0);
    let (thread, nu) = ((flow / (pi * falls)).sqrt(), viscosity / density);
    let known = (GRAVITY * flow.powi(3) / (nu * thread.powi(8))).sqrt().sqrt();
    let turning = (0.5 * (early + late)).abs();
    let axes = ["time, s", "angle turned, rad"];
    let end = turned.last().map_or(0.0, |t| t.0);
    let start = turned[turned.len() / 2];
    let line = vec![start, (end, start.1 + known.copysign(early + late) * (end - start.0))];
    Ok(vec![
        Figure::new("coil-steady", late / early, 1.0, 0.25).with_curve(axes, turned.clone(), line),
        Figure::new("coil-octaves-off", elementary::log(turning / known) / std::f64::consts::LN_2, 0.0, 1.0),
    ])
}
