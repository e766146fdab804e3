//! The command `meniscus`: scenes in, frames and pictures out.

mod args;
mod bench;
mod cache;
mod check;
mod convert;
mod demo;
mod exit;
mod load;
mod manual;
mod plot;
mod presets;
mod preview;
mod progress;
mod replay;
mod report;
mod resume;
mod run;
mod table;
mod terminal;
mod validate;
mod validate_stokes;
mod view;
mod wedge;

use args::{Cli, Command};
use clap::Parser;
use meniscus::{Cancel, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let stop = Cancel::new();
    exit::cancel_on_signals(&stop);
    match std::panic::catch_unwind(|| dispatch(&cli.command, &stop)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            terminal::complain(&format!("meniscus: {error}"));
            ExitCode::from(exit::code(&error))
        }
        Err(_) => {
            terminal::complain(
                "meniscus: this is a fault of meniscus itself; please report it with the scene",
            );
            ExitCode::from(exit::INTERNAL)
        }
    }
}

fn dispatch(command: &Command, stop: &Cancel) -> Result<()> {
    match command {
        Command::Run(args) => run::run(args, stop),
        Command::Demo(args) => demo::demo(args, stop),
        Command::Check(args) => check::check(args),
        Command::Preview(args) => preview::main(args, stop),
        Command::Report(args) => report::main(args, stop),
        Command::View(args) => view::view(args, stop),
        Command::Cache(args) => cache::cache(args, stop),
        Command::Wedge(args) => wedge::wedge(args),
        Command::Gather(args) => wedge::gather::gather(args),
        Command::Bench(args) => bench::bench(args, stop),
        Command::Replay(args) => replay::replay(args, stop),
        Command::Validate(args) => validate::validate(args, stop),
        Command::Schema => presets::schema(),
        Command::Presets { json } => presets::presets(*json),
        Command::Completions(args) => manual::completions(args),
        Command::Manual(args) => manual::manual(args),
    }
}
