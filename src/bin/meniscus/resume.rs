//! Where a run begins: anew, where it was stopped, or where another run was.

use super::args::RunArgs;
use super::run::Job;
use meniscus::io::cache::CacheWriter;
use meniscus::io::checkpoint;
use meniscus::scene::Scene;
use meniscus::simulation::Simulation;
use meniscus::{Error, Result};
use std::path::{Path, PathBuf};

/// How a run begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    Anew,
    /// From the newest checkpoint of its own cache, or anew if there is none.
    Resume,
    /// From a checkpoint of another cache, at or before a frame if one is given.
    Branch {
        from: PathBuf,
        frame: Option<i64>,
    },
}

impl Start {
    pub fn of(args: &RunArgs) -> Self {
        match (&args.branch, args.resume) {
            (Some(from), _) => Start::Branch { from: from.clone(), frame: args.from },
            (None, true) => Start::Resume,
            (None, false) => Start::Anew,
        }
    }
}

/// The cache to write to, with the simulation where the run begins; and the frame it goes on from.
pub fn open(job: &Job, scene: &Scene, simulation: &mut Simulation) -> Result<(CacheWriter, Option<i64>)> {
    let anew = |overwrite| {
        let mut cache = CacheWriter::create(&job.cache, scene, &job.loaded.text, overwrite)?;
        cache.note_inputs(&job.loaded.sums)?;
        Ok::<_, Error>(cache)
    };
    match &job.start {
        Start::Anew => Ok((anew(job.overwrite)?, None)),
        Start::Resume => match CacheWriter::resume(&job.cache, scene)? {
            Some(mut cache) => {
                cache.note_inputs(&job.loaded.sums)?;
                // Frames that are missing, or were found damaged and forgotten, are made again.
                let whole = cache.first_missing(job.frames).map(|f| f - 1);
                let found = newest(&job.cache, whole, simulation)?;
                Ok((cache, found))
            }
            None => Ok((anew(false)?, None)),
        },
        Start::Branch { from, frame } => {
            if same_folder(from, &job.cache) {
                let message = "a branch needs a folder of its own: choose one with -o";
                return Err(Error::invalid(from.display().to_string(), message));
            }
            let found = newest(from, *frame, simulation)?.ok_or_else(|| {
                let message = "there is no whole checkpoint at or before that frame to go on from";
                Error::invalid(from.display().to_string(), message)
            })?;
            let mut cache = anew(job.overwrite)?;
            cache.adopt(from, found)?;
            Ok((cache, Some(found)))
        }
    }
}

fn same_folder(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Load the newest checkpoint that is whole; a damaged one is passed over for an older.
fn newest(cache: &Path, at_most: Option<i64>, simulation: &mut Simulation) -> Result<Option<i64>> {
    let mut fault = None;
    for (frame, file) in checkpoint::all(cache) {
        if at_most.is_some_and(|most| frame > most) {
            continue;
        }
        match checkpoint::read(&file).and_then(|bytes| simulation.load(&bytes)) {
            Ok(()) => return Ok(Some(simulation.frame())),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    // Nothing to go on from is no fault; checkpoints of which none can be read are one.
    fault.map_or(Ok(None), Err)
}
