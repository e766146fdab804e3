//! The words of the command line.

use super::bench::BenchArgs;
use super::cache::CacheArgs;
use super::exit;
use super::manual::{CompletionsArgs, ManualArgs};
use super::preview::PreviewArgs;
use super::progress::Mode;
use super::replay::ReplayArgs;
use super::report::ReportArgs;
use super::validate::ValidateArgs;
use super::view::ViewArgs;
use super::wedge::WedgeArgs;
use super::wedge::gather::GatherArgs;
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
    /// Simulate a scene into a folder of frames
    #[command(after_help = "Example: meniscus run examples/scenes/dam_break.json -o dam --frames 1-24")]
    Run(RunArgs),
    /// Pour water from a jug over a sphere into a bowl, and draw it
    #[command(after_help = "Example: meniscus demo")]
    Demo(DemoArgs),
    /// Look at a scene before it is run: mistakes, doubts, memory and disk
    #[command(after_help = "Example: meniscus check examples/scenes/demo.json")]
    Check(CheckArgs),
    /// Draw the frames of a cache: contact sheet, pictures, animation
    #[command(after_help = "Example: meniscus preview cache --stills --frames 1-48")]
    Preview(PreviewArgs),
    /// Write one page about a run: pictures, plots, warnings, the scene
    #[command(after_help = "Example: meniscus report dam -o dam.html")]
    Report(ReportArgs),
    /// Write a shot as one page that plays in a browser: orbit, play, colour by speed or viscosity
    #[command(after_help = "Example: meniscus view dam -o dam_view.html")]
    View(ViewArgs),
    /// Look at a cache, or turn it and single files into other formats
    #[command(after_help = "Example: meniscus cache convert dam dam_usd --to usdc")]
    Cache(CacheArgs),
    /// Write jobs for a farm that run a scene with several values
    #[command(
        after_help = "Example: meniscus wedge examples/scenes/dam_break.json --sweep resolution.cell=0.02,0.03 -o dam_wedge"
    )]
    Wedge(WedgeArgs),
    /// Put the contact sheets of a wedge on one
    #[command(after_help = "Example: meniscus gather dam_wedge/out")]
    Gather(GatherArgs),
    /// Time the solvers of this build on this machine
    #[command(after_help = "Example: meniscus bench solvers --json")]
    Bench(BenchArgs),
    /// Repeat a solve that failed, from the folder it left
    #[command(after_help = "Example: meniscus replay dumps/frame_0042")]
    Replay(ReplayArgs),
    /// Run a simulator on cases whose answers are known, and compare; exit code 5 if one is missed
    #[command(after_help = "Example: meniscus validate mac --case sloshing --json")]
    Validate(ValidateArgs),
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
    /// Print the completions of a shell
    #[command(after_help = "Example: meniscus completions bash > meniscus.bash")]
    Completions(CompletionsArgs),
    /// Write the pages of the manual
    #[command(after_help = "Example: meniscus manual man1")]
    Manual(ManualArgs),
}

/// Which scene, and what to change in it.
#[derive(Args, Clone, Debug)]
pub struct SceneArgs {
    /// The scene file, or - for standard input
    pub scene: PathBuf,
    /// Change a value of the scene, as liquids[0].viscosity=12; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// A folder beside the scene's own that its meshes and its cache may be in; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub allow_path: Vec<PathBuf>,
    /// Where a folder that the scene names stands on this machine, as P:/show=/mnt/show; may be repeated
    #[arg(long, value_name = "FROM=TO")]
    pub path_map: Vec<String>,
}

/// What the machine may give.
#[derive(Args, Clone, Debug)]
pub struct LimitArgs {
    /// Number of threads; all cores when absent. The result does not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Most memory in GB; three quarters of the machine or container when absent
    #[arg(long, value_name = "GB")]
    pub memory: Option<f64>,
}

#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Folder for the frames; the scene's own choice, or SCENE_cache, when absent
    #[arg(short, long, value_name = "CACHE")]
    pub out: Option<PathBuf>,
    /// Replace the frames of an earlier run in the folder
    #[arg(long)]
    pub overwrite: bool,
    /// Go on with the run in the folder from its newest checkpoint, or begin it
    #[arg(long, conflicts_with_all = ["overwrite", "branch"])]
    pub resume: bool,
    /// Begin where another cache was, with this scene, in a folder of its own
    #[arg(long, value_name = "CACHE")]
    pub branch: Option<PathBuf>,
    /// With --branch: go on from the newest checkpoint at or before this frame
    #[arg(long, value_name = "FRAME", requires = "branch", allow_hyphen_values = true)]
    pub from: Option<i64>,
    /// Keep this many of the newest checkpoints; 0 keeps all, for branches from any of them
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub keep_checkpoints: usize,
    /// Pack checkpoints by zstd: about half the room on the disk, for more work beside the simulation
    #[arg(long)]
    pub pack_checkpoints: bool,
    /// Write only these frames, as 1-24, and stop after the last
    #[arg(long, value_name = "FIRST-LAST", allow_hyphen_values = true)]
    pub frames: Option<String>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// How to report progress
    #[arg(long, value_enum, default_value_t = Mode::Bar)]
    pub progress: Mode,
    /// Write no page about the run, report.html
    #[arg(long)]
    pub no_report: bool,
}

#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Folder for the frames and pictures
    #[arg(short, long, value_name = "FOLDER", default_value = "demo")]
    pub out: PathBuf,
    /// Change a value of the scene, as resolution.cell=0.006; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// How to report progress
    #[arg(long, value_enum, default_value_t = Mode::Bar)]
    pub progress: Mode,
}

#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
