//! `meniscus demo`: one real scene from start to picture.

use super::args::DemoArgs;
use super::load::from_text;
use super::preview::{self, PreviewArgs};
use super::resume::Start;
use super::run::{Job, in_words, simulate};
use super::terminal::say;
use meniscus::io::confine::Paths;
use meniscus::{Cancel, Result};
use std::path::PathBuf;

const SCENE: &str = include_str!("../../../examples/scenes/demo.json");

/// Simulate the demonstration and say where everything is.
pub fn demo(args: &DemoArgs, stop: &Cancel) -> Result<()> {
    let file = PathBuf::from("examples/scenes/demo.json");
    let loaded = from_text(SCENE.to_string(), &args.set, Paths::new("."), file)?;
    let frames = loaded.scene.frames;
    let job = Job {
        loaded,
        cache: args.out.clone(),
        overwrite: true,
        start: Start::Anew,
        limits: args.limits.clone(),
        frames,
        progress: args.progress,
        keep: 2,
        pack: false,
        report: true,
    };
    say("water from a jug over a sphere into a bowl");
    let summary = simulate(&job, stop)?;
    say(&in_words(&summary, &args.out));
    say(&format!("a page about it: {}", args.out.join("report.html").display()));
    preview::main(&PreviewArgs::of(&args.out), stop)
}
