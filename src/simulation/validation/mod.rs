//! Cases with known answers, run on a simulator as a whole: scene in, particles and surface out.
//!
//! A case is a scene, the measurement of what happened in it, and figures to compare with: exact
//! solutions where there are any, else a published experiment. A figure passes if
//! |value − reference| ≤ tolerance. The tolerances are gates that stand whether they are met or not,
//! and every case runs with the options that an artist gets by default unless it says otherwise.
//! `meniscus validate` prints the figures; tests/validate.rs holds the short forms.

mod basin;
mod coil;
mod convergence;
mod dam;
mod drop;
mod honey;
mod jets;
mod lattice;
mod measure;
mod poisson;
mod pour;
mod splash;
pub mod stokes;
mod thread;
mod tracking;

use super::{Settings, Simulation};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::math::elementary::cos;
use crate::scene::Scene;
use serde::Serialize;
use std::time::Instant;

/// Acceleration of gravity in every case that has any, m/s².
const GRAVITY: f64 = 9.81;

/// One number compared with its known answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub name: String,
    /// What was measured; not a number if it never happened.
    pub value: f64,
    pub reference: f64,
    /// The greatest difference that passes.
    pub tolerance: f64,
    pub pass: bool,
    /// Wall-clock seconds of the case that the figure belongs to.
    pub seconds: f64,
    /// What the figure was read off, for plots.
    #[serde(skip)]
    pub curve: Option<Curve>,
}

/// A quantity as it was measured, beside what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// What is drawn to the right and upwards, with units.
    pub axes: [&'static str; 2],
    pub measured: Vec<(f64, f64)>,
    pub known: Vec<(f64, f64)>,
}

impl Figure {
    fn new(name: impl Into<String>, value: f64, reference: f64, tolerance: f64) -> Self {
        let pass = (value - reference).abs() <= tolerance;
        Self { name: name.into(), value, reference, tolerance, pass, seconds: 0.0, curve: None }
    }

    /// The same with the curve that it was read off.
    fn with_curve(self, axes: [&'static str; 2], measured: Vec<(f64, f64)>, known: Vec<(f64, f64)>) -> Self {
        Self { curve: Some(Curve { axes, measured, known }), ..self }
    }

    /// The same with a swing of known frequency beside what was measured.
    fn with_swing(self, name: &'static str, measured: Vec<(f64, f64)>, omega: f64) -> Self {
        let start = measured.first().map_or((0.0, 0.0), |s| *s);
        let height = start.1 / cos(omega * start.0);
        let known = measured.iter().map(|(t, _)| (*t, height * cos(omega * t))).collect();
        self.with_curve(["time, s", name], measured, known)
    }
}

/// How long a case may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The resolution and length that the gates are stated for.
    Full,
    /// Coarser or shorter, against the same gates.
    Quick,
}

impl Effort {
    fn pick<T>(self, full: T, quick: T) -> T {
        if self == Effort::Full { full } else { quick }
    }
}

type Case = fn(Effort, &Cancel) -> Result<Vec<Figure>>;

/// The cases of the simulator `mac`, in the order in which they are run.
const MAC: [(&str, Case); 10] = [
    ("curved-boundaries", poisson::curved_boundaries),
    ("still-tank", basin::still_tank),
    ("still-cup", basin::still_cup),
    ("free-fall", drop::free_fall),
    ("sloshing", basin::sloshing),
    ("elliptical-drop", drop::elliptical_drop),
    ("swinging-drop", drop::swinging_drop),
    ("dam-break", dam::dam_break),
    ("splash-volume", splash::splash_volume),
    ("pour", pour::pour),
];

/// The cases of the simulator `bcc`.
const BCC: [(&str, Case); 9] = [
    ("convergence", convergence::convergence),
    ("still-tilted", lattice::still_tilted),
    ("still-ball", lattice::still_ball),
    ("free-fall", lattice::free_fall),
    ("sloshing", lattice::sloshing),
    ("dam-break", lattice::dam_break),
    ("notched-disk", tracking::notched_disk),
    ("vortex-ball", tracking::ball_in_a_vortex),
    ("coil", coil::icing),
];

/// The cases of thick liquid on the grid.
const HONEY: [(&str, Case); 7] = [
    ("couette", honey::couette),
    ("poiseuille", honey::poiseuille),
    ("slide-block", honey::slide_block),
    ("pour", honey::pour),
    ("spinning-drop", honey::spinning_drop),
    ("jets", jets::jets),
    ("coil", coil::honey),
];

/// The cases of a simulator.
fn cases_of(simulator: &str) -> Result<&'static [(&'static str, Case)]> {
    match simulator {
        "mac" => Ok(&MAC),
        "bcc" => Ok(&BCC),
        "honey" => Ok(&HONEY),
        _ => Err(Error::invalid(
            "simulator",
            format!("there is none called \"{simulator}\"; use mac, bcc or honey"),
        )),
    }
}

/// The names of the cases of a simulator.
pub fn cases(simulator: &str) -> Result<Vec<&'static str>> {
    Ok(cases_of(simulator)?.iter().map(|(name, _)| *name).collect())
}

/// Run one case of a simulator.
pub fn run(simulator: &str, case: &str, effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let known = cases(simulator)?;
    let Some((_, run)) = cases_of(simulator)?.iter().find(|(name, _)| *name == case) else {
        return Err(Error::invalid("case", format!("no case \"{case}\"; known are {}", known.join(", "))));
    };
    let start = Instant::now();
    let mut figures = run(effort, cancel)?;
    let seconds = start.elapsed().as_secs_f64();
    figures.iter_mut().for_each(|f| f.seconds = seconds);
    Ok(figures)
}

/// The simulation of a scene in which every mesh file is `mesh`.
fn simulation(scene: serde_json::Value, mesh: &TriMesh) -> Result<Simulation> {
    let scene = Scene::from_json(&scene.to_string())?;
    Simulation::new(&scene, &|_| Ok(mesh.clone()), &Settings::default())
}

/// Advance some frames; after each, `see` is told the seconds since the start.
fn advance(
    sim: &mut Simulation,
    frames: usize,
    cancel: &Cancel,
    mut see: impl FnMut(&Simulation, f64),
) -> Result<()> {
    for _ in 0..frames {
        sim.advance_frame(&mut |_| cancel.is_cancelled())?;
        see(sim, sim.scene().seconds(sim.frame() as f64));
    }
    Ok(())
}
