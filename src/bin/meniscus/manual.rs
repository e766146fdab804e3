//! What shells and `man` want to know of the command, from the one description of its words.

use super::args::Cli;
use super::terminal::say;
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use meniscus::io::atomic;
use meniscus::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Args, Clone, Debug)]
pub struct ManualArgs {
    /// The folder for meniscus.1, meniscus-run.1 and so on
    pub folder: PathBuf,
}

/// Print the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "meniscus", &mut script);
    // A closed pipe means that nobody listens any more, which is no fault.
    let _ = std::io::stdout().write_all(&script);
    Ok(())
}

/// Write a page of the manual for the command and for each of its words.
pub fn manual(args: &ManualArgs) -> Result<()> {
    atomic::create_folder(&args.folder)?;
    let mut root = Cli::command();
    root.build();
    let count = pages(&root, "meniscus", &args.folder)?;
    say(&format!("{count} pages in {}", args.folder.display()));
    Ok(())
}

fn pages(command: &Command, name: &str, folder: &Path) -> Result<usize> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render(&mut page).map_err(|e| Error::invalid("manual", e.to_string()))?;
    atomic::write(&folder.join(format!("{name}.1")), &page)?;
    let mut count = 1;
    for word in command.get_subcommands().filter(|w| w.get_name() != "help") {
        count += pages(word, &format!("{name}-{}", word.get_name()), folder)?;
    }
    Ok(count)
}
