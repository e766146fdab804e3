//! Numbers that the host animates while the simulation runs.
//!
//! A scene is constant, but a host knows the value of a slider only frame by frame. It sends keys for
//! a number of the scene before each step; what has been simulated stays, and the next substep reads
//! the new keys. The scene with the last keys of every number is the one that gives the same bits
//! when it is run from a file. Only what accepts {"keys": …} in the scene can be set, which is found
//! out by reading the changed scene as if it were a file. Checked by tests/moving_geometry.rs.

use super::{Simulation, form::Object};
use crate::error::{Error, Result};
use crate::scene::{Scene, Transform, set};
use std::fmt::Write;

/// Most keys of a number that are believed: ten for each frame of an hour.
const MOST_KEYS: usize = 1 << 20;

impl Simulation {
    /// Replace a number of the scene, named by its path as `liquids[0].viscosity`, by values at rising
    /// frames, in the unit that the scene has there: rows of a frame and one value, or three for a
    /// vector; a switch is on where its value is not 0. Saved states do not hold keys. After an error
    /// everything is as it was.
    pub fn set_keys(&mut self, path: &str, rows: &[Vec<f64>]) -> Result<()> {
        if rows.is_empty() || rows.len() > MOST_KEYS {
            return Err(Error::invalid("keys", format!("{}: from 1 to {MOST_KEYS} can be set", rows.len())));
        }
        let text = self.given.to_json()?;
        let changed = |switch: bool| Scene::from_json(&set(&text, path, &keys_text(rows, switch))?);
        // A switch is refused as a number and then tried as what it is.
        let given = changed(false).or_else(|number| changed(true).map_err(|_| number))?;
        let scene = given.to_si();
        let rested = self.world.colliders.iter().map(|c| c.is_animated()).collect::<Vec<_>>();
        for (collider, now) in self.world.colliders.iter_mut().zip(&scene.colliders) {
            collider.friction = now.friction.clone();
            move_by(&mut collider.object, &now.transform);
        }
        for (source, now) in self.sources.iter_mut().zip(&scene.emitters) {
            source.set_spec(now);
        }
        for (sink, now) in self.sinks.iter_mut().zip(&scene.sinks) {
            sink.set_spec(now);
        }
        (self.given, self.scene) = (given, scene);
        // What was at rest was measured once and for all.
        let moves = self.world.colliders.iter().map(|c| c.is_animated());
        if moves.zip(rested).any(|(now, before)| now != before) { self.measure_again() } else { Ok(()) }
    }
}

fn move_by(object: &mut Object, transform: &Transform) {
    object.transform = transform.clone();
}

/// The rows as the scene writes them.
fn keys_text(rows: &[Vec<f64>], switch: bool) -> String {
    let mut text = String::from("{\"keys\": [");
    for (i, row) in rows.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        // Writing to a string does not fail; a number that is not finite is refused by the reader.
        let _ = match row[..] {
            [frame, value] if switch => write!(text, "{comma}[{frame:?}, {}]", value != 0.0),
            [frame, value] => write!(text, "{comma}[{frame:?}, {value:?}]"),
            [frame, x, y, z] => write!(text, "{comma}[{frame:?}, [{x:?}, {y:?}, {z:?}]]"),
            _ => write!(text, "{comma}null"),
        };
    }
    text + "]}"
}
