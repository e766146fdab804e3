//! What is kept of a frame that failed.
//!
//! A scene with `debug.dump_dir` asks for it. The simulation then notes the last solve that did not converge, as the
//! solver saw it, and the shares that made its equations. A step that fails changes nothing, so the saved state is
//! the one before it. [`crate::io`] writes the files; the simulation itself opens none.

use super::Simulation;
use crate::error::{Error, Result};
use crate::linalg::dump::{self, Record};
use crate::scene::Scene;

/// A frame that failed.
pub struct Failure {
    /// What the error said.
    pub message: String,
    /// The solve, if it was one that failed, and the shares beside it.
    pub record: Record,
}

/// Do some work and, if `keep`, note in `slot` what is known if it diverges.
pub(super) fn watched<T>(
    keep: bool,
    slot: &mut Option<Failure>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if !keep {
        return work();
    }
    let (result, mut record) = dump::record(work);
    if let Err(error @ Error::Diverged { stage, .. }) = &result {
        record.name(stage);
        *slot = Some(Failure { message: error.to_string(), record });
    }
    result
}

impl Simulation {
    /// What is known of the solve that ended the last frame, if the scene names a folder for it.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// The scene as it was given, with the keys that were set since.
    pub fn given(&self) -> &Scene {
        &self.given
    }
}
