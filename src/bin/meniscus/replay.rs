//! `meniscus replay`: a failed solve again, alone.

use super::terminal::say;
use clap::Args;
use meniscus::linalg::dump;
use meniscus::{Cancel, Result};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// The folder that a failed solve left under debug.dump_dir
    pub dump: PathBuf,
}

/// Repeat the solve and compare it with what was recorded.
pub fn replay(args: &ReplayArgs, stop: &Cancel) -> Result<()> {
    let (then, now) = dump::replay(&args.dump, None, stop)?;
    let residual = then.residual.map_or("not finite".to_string(), |r| format!("{r:.3e}"));
    say(&format!(
        "{} by {:?}, tolerance {:e}; repeated with the preconditioner {:?}",
        then.stage, then.recipe.method, then.tolerance, then.recipe.preconditioner
    ));
    say(&format!("then: {}, {} iterations, residual {residual}", then.outcome, then.iterations));
    say(&format!("now:  {:?}, {} iterations, residual {:.3e}", now.outcome, now.iterations, now.residual));
    Ok(())
}
