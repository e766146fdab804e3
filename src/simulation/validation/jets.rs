//! Jets of thick liquid that buckle, and those that do not.
//!
//! A jet that meets a plate from a height of H folds if it is plane and its Reynolds number ρDU/μ is below .56 and H/D above
//! 10; it coils if it is round and these are below 1.2 and above 7.2 [CM81] [Cru88]. Otherwise it spreads evenly. Told by
//! how fast the foot of the jet sways: the mean velocity across the jet, in shares of that at the inlet, of what is on its way from
//! the jet into the pile, root mean square over the second half of the time. A straight jet keeps its middle; one that folds throws
//! its foot to and fro at a good part of its speed. How far it goes aside tells less: folds are as wide as the jet, which is drawn out.

use super::measure::Series;
use super::{Effort, Figure, advance, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use crate::simulation::Simulation;
use serde_json::{Value, json};

/// Speed of the jets, m/s; they weigh 1 kg/m³.
const SPEED: f64 = 0.5;
/// Share of its speed with which the foot of a jet must sway to count as buckled, and may without.
const BUCKLED: f64 = 0.05;
const STRAIGHT: f64 = 0.02;
/// Layers a width of the jet.
const LAYERS: f64 = 4.0;
/// A layer that holds more than this many times what layers at the inlet hold is piled up.
const PILED: f64 = 1.3;
/// The foot is this many layers of the pile and of the jet above it.
const FOOT: [usize; 2] = [4, 2];
/// Seconds that each is looked at.
const SECONDS: f64 = 2.5;

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
            (shape, [-3.0 * self.width, 3.0 * self.width])
        } else {
            (json!({"box": {"min": [-r, h, -1], "max": [r, h + r, 1]}}), [0.0, cell])
        };
        // Walls are whole widths away, so that the edges of the inlet lie on faces of cells. The fast plane jet is drawn out to a cell
        // and a third at eight cells a width; a third of a cell aside, its pile leans to one side at .02, whatever the seed.
        let wide = if self.round { 3.0 * self.width } else { 7.0 * self.width };
        json!({"meniscus": 1, "frames": [1, 1 + (24.0 * SECONDS) as i64], "fps": 24, "resolution": {"cell": cell},
            "domain": {"min": [-wide, 0, depth[0]], "max": [wide, h + r, depth[1]], "wall": "stick",
                "sides": {"y_max": "open"}},
            "liquids": [{"density": 1, "viscosity": self.viscosity}],
            "emitters": [{"shape": inlet, "velocity": [0, -SPEED, 0]}],
            "simulator": {"transfer": "apic"}})
    }

    /// How fast the foot of the jet sways.
    fn run(&self, cells: f64, cancel: &Cancel) -> Result<Figure> {
        let mut sim = simulation(self.scene(cells), &TriMesh::default())?;
        let mut sways: Series = Vec::new();
        advance(&mut sim, (24.0 * SECONDS) as usize, cancel, |sim, time| {
            if let Some(v) = foot(sim, self.width, self.height) {
                sways.push((time, v.x.hypot(v.z) / SPEED));
            }
        })?;
        let late: Vec<f64> = sways.iter().filter(|s| s.0 > 0.5 * SECONDS).map(|s| s.1 * s.1).collect();
        let value = (late.iter().sum::<f64>() / late.len() as f64).sqrt();
        let (gate, figure) = match self.buckles {
            true => (BUCKLED, Figure::new(self.name, value.min(1.0), 1.0, 1.0 - BUCKLED)),
            false => (STRAIGHT, Figure::new(self.name, value, 0.0, STRAIGHT)),
        };
        let gate = vec![(0.5 * SECONDS, gate), (SECONDS, gate)];
        Ok(figure.with_curve(["time, s", "speed of the foot aside, shares of the jet's"], sways, gate))
    }
}

/// Mean velocity of what is where a jet of some width, from some height, becomes a pile, m/s; None as long as there is none.
fn foot(sim: &Simulation, width: f64, height: f64) -> Option<Vec3> {
    let (p, layer) = (sim.particles(), width / LAYERS);
    // Volume and momentum of layers from the plate up to near the inlet.
    let mut sums = vec![(0.0, Vec3::zeros()); (0.9 * height / layer) as usize];
    for ((x, v), volume) in p.position.iter().zip(&p.velocity).zip(&p.volume) {
        if let Some(sum) = sums.get_mut((x.y.max(0.0) / layer) as usize) {
            *sum = (sum.0 + f64::from(*volume), sum.1 + v * f64::from(*volume));
        }
    }
    let whole = 0.5 * sums.iter().rev().take(2).map(|s| s.0).sum::<f64>();
    let of_jet = |s: &(f64, Vec3)| s.0 > 0.0 && s.0 < PILED * whole;
    let low = sums.len() - sums.iter().rev().take_while(|s| of_jet(s)).count();
    let [pile, jet] = [low.saturating_sub(FOOT[0])..low, low..(low + FOOT[1]).min(sums.len())];
    if sums[..low].iter().all(|s| s.0 == 0.0) || jet.is_empty() {
        return None;
    }
    let foot = &sums[pile.start..jet.end];
    let (volume, momentum) = foot.iter().fold((0.0, Vec3::zeros()), |m, s| (m.0 + s.0, m.1 + s.1));
    Some(momentum / volume)
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
    // Reynolds numbers .4 and 2 at H/D = 11.7, and .4 at 5; .13 at H/D = 8.75 and 4, and 2 at 8.75. Those that buckle are
    // the jets of [Bat10].
    let all = [
        jet("plane-jet-folds", [0.7, 0.06, 0.075], false, true),
        jet("plane-jet-too-fast", [0.7, 0.06, 0.015], false, false),
        jet("plane-jet-too-low", [0.3, 0.06, 0.075], false, false),
        jet("round-jet-coils", [0.7, 0.08, 0.3], true, true),
        jet("round-jet-too-fast", [0.7, 0.08, 0.02], true, false),
        jet("round-jet-too-low", [0.32, 0.08, 0.3], true, false),
    ];
    // The low round jet sways by .14, .06 and .01 at four, six and eight cells a width: it is straight where it is resolved.
    let cells = |jet: &Jet| match (jet.round, jet.buckles) {
        (true, true) => effort.pick(6.0, 4.0),
        (true, false) => effort.pick(10.0, 8.0),
        (false, _) => effort.pick(12.0, 8.0),
    };
    all.iter().map(|jet| jet.run(cells(jet), cancel)).collect()
}
