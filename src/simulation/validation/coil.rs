//! A column of icing that coils on the lattice.
//!
//! A thread of 1 cm, 250 Pa·s, falls 11 cm at 10 cm/s (Reynolds number .006) and lays itself in loops. How fast it turns is known from
//! the theory of slender threads ([`super::thread`]), given how far it falls, which is from the nozzle to the top of the pile. It
//! stands between the regimes of the scaling laws: Q/(Ha²) is .9 turns a second and (gQ³/(νa⁸))^¼ is 4.
//! Gates: theory holds up to the square of the thread's radius over that of its loops, a tenth, and up to the height of its
//! axis above the pile, a twentieth of the fall: 20 % of the rate. Turning steadily means that each quarter of the time
//! has the rate of the whole within 25 %.
//!
//! The angle is that of the thread's axis, the middle of its section half a radius above the pile, about where it is in the mean.
//! The pile ends where the section is no more than [`PILED`] times the least above it.

use super::measure::{Section, Series, rate, section, turned};
use super::{Effort, Figure, GRAVITY, advance, simulation, thread};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// Radius and speed at the nozzle and its height, m and m/s; kg/m³ and Pa·s.
const RADIUS: f64 = 0.005;
const SPEED: f64 = 0.1;
const HEIGHT: f64 = 0.11;
const DENSITY: f64 = 1400.0;
const VISCOSITY: f64 = 250.0;
/// Sections to a radius.
const LAYERS: f64 = 4.0;
/// A section this many times the least above it is piled up.
const PILED: f64 = 1.5;
/// Frames a second, and the second from which on it is looked at: one to arrive, and more than one for the first loop.
const FPS: f64 = 24.0;
const BEGIN: f64 = 1.75;

fn scene(frames: usize) -> Value {
    let (r, top) = (RADIUS, HEIGHT + 2.0 * RADIUS);
    // Off the lattice's planes, as a nozzle of any scene is.
    let [x, z] = [0.06 * r, 0.04 * r];
    json!({"meniscus": 1, "frames": [1, frames + 1], "fps": FPS, "resolution": {"cell": r / 4.0},
        "domain": {"min": [-8.0 * r, 0, -8.0 * r], "max": [8.0 * r, top, 8.0 * r], "wall": "stick",
            "sides": {"y_max": "open"}},
        "simulator": {"type": "bcc", "detail": 8, "cube": 2}, "outputs": {"wall_overlap": 0},
        "liquids": [{"density": DENSITY, "viscosity": VISCOSITY}],
        "emitters": [{"shape": {"cylinder": {"from": [x, HEIGHT, z], "to": [x, top, z], "radius": r}},
            "velocity": [0, -SPEED, 0]}]})
}

/// The thread at a moment.
struct Coiling {
    time: f64,
    /// Top of the pile, m.
    pile: f64,
    /// The section just above it.
    above: Section,
}

impl Coiling {
    /// None as long as the thread has not arrived.
    fn of(surface: &TriMesh, time: f64) -> Option<Self> {
        let layer = RADIUS / LAYERS;
        let at = |k: usize| (k as f64 + 0.5) * layer;
        let highest = ((HEIGHT - 2.0 * RADIUS) / layer) as usize;
        let areas: Vec<f64> = (0..highest).map(|k| section(surface, at(k)).area).collect();
        let mut least = f64::INFINITY;
        let of_thread = |area: &&f64| {
            least = least.min(**area);
            **area < PILED * least
        };
        let low = highest - areas.iter().rev().take_while(of_thread).count();
        let piled = areas.first().is_some_and(|a| *a > 0.0) && low > 0;
        let pile = low as f64 * layer;
        piled.then(|| Self { time, pile, above: section(surface, pile + 0.5 * RADIUS) })
    }
}

/// How a column of icing coils.
pub fn coil(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let frames = effort.pick(126, 66);
    let mut sim = simulation(scene(frames), &TriMesh::default())?;
    let (mut seen, mut counted, mut drawn) = (Vec::new(), 0.0f64, 0.0f64);
    advance(&mut sim, frames, cancel, |sim, time| {
        let surface = sim.surface().unwrap_or_default();
        if time >= BEGIN {
            let expected = 1e-3 * sim.report().litres_expected;
            counted = worse(counted, sim.report().volume_error());
            drawn = worse(drawn, surface.volume() / expected - 1.0);
            seen.extend(Coiling::of(&surface, time));
        }
    })?;
    let mut figures = turning(&seen);
    figures.push(Figure::new("coil-volume", counted, 0.0, 0.01));
    figures.push(Figure::new("coil-volume-drawn", drawn, 0.0, 0.01));
    Ok(figures)
}

/// Whichever is larger in size.
fn worse(a: f64, b: f64) -> f64 {
    if b.abs() > a.abs() { b } else { a }
}

/// How steadily and how fast it turns.
fn turning(seen: &[Coiling]) -> Vec<Figure> {
    let points: Vec<(f64, [f64; 2])> = seen.iter().map(|c| (c.time, c.above.middle)).collect();
    let angle = turned(&points);
    let whole = rate(&angle);
    let quarter = angle.len().div_ceil(4).max(2);
    let share = |part: &[(f64, f64)]| rate(part) / whole - 1.0;
    let uneven = angle.chunks(quarter).filter(|c| c.len() > 1).map(share).fold(0.0, worse);
    let known = theory(seen);
    // Drawn as turns from the first moment on, whichever way it goes.
    let (start, first) = angle.first().copied().unwrap_or_default();
    let turns: Series = angle.iter().map(|(t, a)| (*t, (a - first) / TAU.copysign(whole))).collect();
    let line = angle.iter().map(|(t, _)| (*t, (t - start) * known)).collect();
    let axes = ["time, s", "turns"];
    vec![
        Figure::new("coil-uneven", if whole.is_finite() { uneven } else { f64::NAN }, 0.0, 0.25),
        Figure::new("coil-turns-a-second", whole.abs() / TAU, known, 0.2 * known)
            .with_curve(axes, turns, line),
    ]
}

/// Turns a second of a thread that falls as far as this one does in the mean.
fn theory(seen: &[Coiling]) -> f64 {
    let fall = HEIGHT - seen.iter().map(|c| c.pile).sum::<f64>() / seen.len() as f64;
    let weight = GRAVITY * DENSITY * fall.powi(4) / (VISCOSITY * SPEED * RADIUS.powi(2));
    let coil = thread::coil(weight, (RADIUS / fall).powi(2));
    coil.map_or(f64::NAN, |c| c.rate * SPEED / fall / TAU)
}
