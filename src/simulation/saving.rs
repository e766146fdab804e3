//! The complete state of a simulation as bytes, and a simulation that continues from them.
//!
//! Saved are the ground that the numbers stand on, the frame with what is done of the next one, what sources still owe,
//! the bodies, and the liquid's own arrays. Solids are not: they follow from the scene and the frame.

use super::clock::Clock;
use super::ground::Ground;
use super::state::{Reader, Writer};
use super::{Simulation, solids_at};
use crate::error::{Error, Result};

impl Simulation {
    /// The complete state as bytes; a simulation of the same scene continues from it bit for bit. Nothing if there is
    /// no room for them: where that matters, ask for a copy.
    pub fn save(&self) -> Vec<u8> {
        self.copy().map(Writer::finish).unwrap_or_default()
    }

    /// A copy of the complete state, to be finished on any thread while the simulation goes on.
    pub fn copy(&self) -> Result<Writer> {
        let mut out = Writer::with_room(self.liquid.bytes());
        Ground::of(&self.scene).save(&mut out);
        out.u64s("frame", &[self.frame as u64]);
        out.f64s("due", &self.due);
        out.f64s("unfinished", self.unfinished.as_ref().map(Clock::state).as_ref().map_or(&[], |s| s));
        self.bodies.save(&mut out);
        self.liquid.save(&mut out);
        out.whole()
    }

    /// Continue from saved bytes. On an error the simulation is as it was.
    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new(bytes)?;
        Ground::of(&self.scene).check(&Ground::load(&mut from)?)?;
        let frame = from.u64s("frame")?;
        let frame = from.expect("frame", frame, 1)?[0] as i64;
        if frame.unsigned_abs() > 1 << 40 {
            return Err(Error::invalid("saved state", format!("there is no frame {frame}")));
        }
        let due = from.f64s("due")?;
        let due = from.expect("due", due, self.due.len())?;
        let due = from.finite("due", due)?;
        let unfinished = self.read_clock(&mut from)?;
        let states = self.bodies.load(&mut from)?;
        self.feed_end(frame)?;
        let before = std::mem::replace(&mut self.bodies.now, states);
        let Self { scene, world, bodies, liquid, pool, .. } = self;
        let loaded = pool.install(|| {
            liquid.load(&mut from, &solids_at(scene, world, bodies, frame as f64)?)?;
            Ok(liquid.amount().volume)
        });
        match loaded {
            Ok(volume) => self.volume = volume,
            Err(error) => {
                self.bodies.now = before;
                return Err(error);
            }
        }
        (self.frame, self.due, self.unfinished) = (frame, due, unfinished);
        Ok(())
    }

    fn read_clock(&self, from: &mut Reader) -> Result<Option<Clock>> {
        let state = from.f64s("unfinished")?;
        if state.is_empty() {
            return Ok(None);
        }
        let state = from.expect("unfinished", state, 4)?;
        let o = &self.scene.simulator;
        let clock = Clock::resume([state[0], state[1], state[2], state[3]], o.substeps_min, o.substeps_max);
        clock.map(Some).ok_or_else(|| Error::Format {
            file: "saved state".into(),
            place: "unfinished".into(),
            message: "a frame cannot be left like this".into(),
        })
    }
}
