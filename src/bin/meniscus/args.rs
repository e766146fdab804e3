//! The words of the command line.

use super::exit;
use super::preview::PreviewArgs;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Liquids for pictures: simulate a scene, look at it, hand it on.
#[derive(Debug, Parser)]
#[command(name = "meniscus", version, after_help = exit::HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look at a scene before it is run: mistakes, doubts, memory and disk
    #[command(after_help = "Example: meniscus check examples/scenes/demo.json")]
    Check(CheckArgs),
    /// Draw the frames of a cache: contact sheet, pictures, animation
    #[command(after_help = "Example: meniscus preview cache --stills --frames 1-48")]
    Preview(PreviewArgs),
    /// Print the JSON Schema of scenes, with the meaning and unit of every value
    #[command(after_help = "Example: meniscus schema > scene.schema.json")]
    Schema,
    /// List the liquids that a scene can name, with their numbers and sources
    #[command(after_help = "Example: meniscus presets")]
    Presets {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which scene, and what to change in it.
#[derive(Args, Clone, Debug)]
pub struct SceneArgs {
    /// The scene file, or - for standard input
    pub scene: PathBuf,
    /// Change a value of the scene, as liquids[0].viscosity=12; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
}

#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
