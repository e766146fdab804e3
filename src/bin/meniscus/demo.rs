//! `meniscus demo`: one real scene from start to picture.

use super::args::{Cli, Command, DemoArgs};
use super::load::from_text;
use super::preview;
use super::resume::Start;
use super::run::{Job, in_words, simulate};
use super::terminal::say;
use clap::Parser;
use meniscus::{Cancel, Error, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const SCENE: &str = include_str!("../../../examples/scenes/demo.json");

/// Simulate the demonstration and say where everything is.
pub fn demo(args: &DemoArgs, stop: &Cancel) -> Result<()> {
    let file = PathBuf::from("examples/scenes/demo.json");
    let loaded = from_text(SCENE.to_string(), &args.set, PathBuf::from("."), file)?;
    let frames = loaded.scene.frames;
    let job = Job {
        loaded,
        cache: args.out.clone(),
        overwrite: true,
        start: Start::Anew,
        limits: args.limits.clone(),
        frames,
        progress: args.progress,
    };
    say("water from a jug over a sphere into a bowl");
    let summary = simulate(&job, stop)?;
    say(&in_words(&summary, &args.out));
    draw(&args.out, stop)
}

/// The contact sheet of a cache, with the options of `meniscus preview`.
fn draw(cache: &Path, stop: &Cancel) -> Result<()> {
    let words = [OsStr::new("meniscus"), OsStr::new("preview"), cache.as_os_str()];
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Preview(args)) => preview::main(&args, stop),
        _ => {
            Err(Error::invalid(cache.display().to_string(), "this folder cannot be named on a command line"))
        }
    }
}
