//! Threads that coil: icing on the lattice, honey on the grid.
//!
//! A thread falls on a plate and lays itself in loops. How fast it turns is known from the theory of slender threads
//! ([`super::thread`]), given how far it falls, which is from the nozzle to the top of the pile. Turning steadily means that each
//! quarter of the time has the rate of the whole within 25 %.
//!
//! **Icing.** 1 cm, 250 Pa·s, 11 cm at 10 cm/s (Reynolds number .006). It stands between the regimes of the scaling laws: Q/(Ha²) is
//! .9 turns a second and (gQ³/(νa⁸))^¼ is 4. Theory holds up to the square of the thread's radius over that of
//! its loops, a tenth, and up to the height of its axis above the pile, a twentieth of the fall: the gate is 20 % of the rate.
//!
//! **Honey.** 8 mm, 10 Pa·s, 9 cm at 10 cm/s: it is drawn out to less than half its width, where it has .5 m/s. Weight and inertia
//! act alike there, Ω²R being about g, and theory leaves inertia out: the gate is half of the rate.
//!
//! The angle is that of the thread's axis, the middle of its section a little above the pile, about where it is in the mean.
//! The pile ends where the section is no more than [`PILED`] times the least above it.

use super::measure::{Section, Series, rate, section, turned};
use super::{Effort, Figure, GRAVITY, advance, simulation, thread};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// A section this many times the least above it is piled up.
const PILED: f64 = 1.5;

/// A thread and how it is looked at.
struct Pour {
    /// Radius and speed at the nozzle and its height, m and m/s; kg/m³ and Pa·s.
    radius: f64,
    speed: f64,
    height: f64,
    density: f64,
    viscosity: f64,
    /// Frames a second, and the second from which on it is looked at: it has arrived and laid its first loop.
    fps: f64,
    begin: f64,
    /// Sections to a radius, and how many in a row have a mean that tells the thread from the pile.
    layers: f64,
    window: usize,
    /// How high above the pile its axis is looked at, m.
    above: f64,
    /// Share of the rate that theory may miss.
    gate: f64,
}

const ICING: Pour = Pour {
    radius: 0.005,
    speed: 0.1,
    height: 0.11,
    density: 1400.0,
    viscosity: 250.0,
    fps: 24.0,
    begin: 1.75,
    layers: 4.0,
    window: 1,
    above: 0.0025,
    gate: 0.2,
};

/// A thread of two cells in radius is uneven by a fifth, so its section is a mean over a diameter.
const HONEY: Pour = Pour {
    radius: 0.004,
    speed: 0.1,
    height: 0.09,
    density: 1420.0,
    viscosity: 10.0,
    fps: 96.0,
    begin: 0.5,
    layers: 8.0,
    window: 8,
    above: 0.0009,
    gate: 0.5,
};

impl Pour {
    /// A scene with `frames` of it, less cells and simulator.
    fn scene(&self, frames: usize, x: [f64; 2]) -> Value {
        let (r, top) = (self.radius, self.height + 2.0 * self.radius);
        let [x, z] = x;
        json!({"meniscus": 1, "frames": [1, frames + 1], "fps": self.fps, "outputs": {"wall_overlap": 0},
            "domain": {"min": [-8.0 * r, 0, -8.0 * r], "max": [8.0 * r, top, 8.0 * r], "wall": "stick",
                "sides": {"y_max": "open"}},
            "liquids": [{"density": self.density, "viscosity": self.viscosity}],
            "emitters": [{"shape": {"cylinder": {"from": [x, self.height, z], "to": [x, top, z], "radius": r}},
                "velocity": [0, -self.speed, 0]}]})
    }

    /// The thread of a surface; None as long as it has not arrived.
    fn seen(&self, surface: &TriMesh, time: f64) -> Option<Coiling> {
        let layer = self.radius / self.layers;
        let at = |k: usize| (k as f64 + 0.5) * layer;
        let highest = ((self.height - 2.0 * self.radius) / layer) as usize;
        let areas: Vec<f64> = (0..highest).map(|k| section(surface, at(k)).area).collect();
        let means = areas.windows(self.window).map(|w| w.iter().sum::<f64>() / w.len() as f64);
        let means: Vec<f64> = means.collect();
        let mut least = f64::INFINITY;
        let of_thread = |area: &&f64| {
            least = least.min(**area);
            **area < PILED * least
        };
        let low = means.len() - means.iter().rev().take_while(of_thread).count();
        let piled = areas.first().is_some_and(|a| *a > 0.0) && low > 0;
        let pile = (low + (self.window - 1) / 2) as f64 * layer;
        piled.then(|| Coiling { time, pile, above: section(surface, pile + self.above) })
    }

    /// Turns a second of a thread that falls as far as this one does in the mean.
    fn theory(&self, seen: &[Coiling]) -> f64 {
        let fall = self.height - seen.iter().map(|c| c.pile).sum::<f64>() / seen.len() as f64;
        let weight =
            GRAVITY * self.density * fall.powi(4) / (self.viscosity * self.speed * self.radius.powi(2));
        let coil = thread::coil(weight, (self.radius / fall).powi(2));
        coil.map_or(f64::NAN, |c| c.rate * self.speed / fall / TAU)
    }

    /// How steadily and how fast it turns.
    fn turning(&self, seen: &[Coiling]) -> Vec<Figure> {
        let points: Vec<(f64, [f64; 2])> = seen.iter().map(|c| (c.time, c.above.middle)).collect();
        let angle = turned(&points);
        let whole = rate(&angle);
        let quarter = angle.len().div_ceil(4).max(2);
        let share = |part: &[(f64, f64)]| rate(part) / whole - 1.0;
        let uneven = angle.chunks(quarter).filter(|c| c.len() > 1).map(share).fold(0.0, worse);
        let known = self.theory(seen);
        // Drawn as turns from the first moment on, whichever way it goes.
        let (start, first) = angle.first().copied().unwrap_or_default();
        let turns: Series = angle.iter().map(|(t, a)| (*t, (a - first) / TAU.copysign(whole))).collect();
        let line = angle.iter().map(|(t, _)| (*t, (t - start) * known)).collect();
        let axes = ["time, s", "turns"];
        vec![
            Figure::new("coil-uneven", if whole.is_finite() { uneven } else { f64::NAN }, 0.0, 0.25),
            Figure::new("coil-turns-a-second", whole.abs() / TAU, known, self.gate * known)
                .with_curve(axes, turns, line),
        ]
    }
}

/// The thread at a moment.
struct Coiling {
    time: f64,
    /// Top of the pile, m.
    pile: f64,
    /// The section just above it.
    above: Section,
}

/// How a column of icing coils on the lattice.
pub fn icing(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let frames = effort.pick(126, 66);
    // Off the lattice's planes, as a nozzle of any scene is.
    let mut scene = ICING.scene(frames, [0.06, 0.04].map(|s| s * ICING.radius));
    scene["resolution"] = json!({"cell": ICING.radius / 4.0});
    scene["simulator"] = json!({"type": "bcc", "detail": 8, "cube": 2});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let (mut seen, mut counted, mut drawn) = (Vec::new(), 0.0f64, 0.0f64);
    advance(&mut sim, frames, cancel, |sim, time| {
        let surface = sim.surface().unwrap_or_default();
        if time >= ICING.begin {
            let expected = 1e-3 * sim.report().litres_expected;
            counted = worse(counted, sim.report().volume_error());
            drawn = worse(drawn, surface.volume() / expected - 1.0);
            seen.extend(ICING.seen(&surface, time));
        }
    })?;
    let mut figures = ICING.turning(&seen);
    figures.push(Figure::new("coil-volume", counted, 0.0, 0.01));
    figures.push(Figure::new("coil-volume-drawn", drawn, 0.0, 0.01));
    Ok(figures)
}

/// How a thread of honey coils on the grid.
pub fn honey(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let frames = 96;
    let mut scene = HONEY.scene(frames, [0.0; 2]);
    scene["resolution"] = json!({"cell": effort.pick(0.0008, 0.001)});
    scene["simulator"] = json!({"transfer": "apic"});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut seen = Vec::new();
    advance(&mut sim, frames, cancel, |sim, time| {
        if time >= HONEY.begin {
            seen.extend(HONEY.seen(&sim.surface().unwrap_or_default(), time));
        }
    })?;
    Ok(HONEY.turning(&seen))
}

/// Whichever is larger in size.
fn worse(a: f64, b: f64) -> f64 {
    if b.abs() > a.abs() { b } else { a }
}
