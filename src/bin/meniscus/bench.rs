//! `meniscus bench solvers`: times of the linear solvers on a named set of systems.

use super::terminal::say;
use clap::{Args, Subcommand};
use meniscus::linalg::bench::{CASES, Line, run};
use meniscus::{Cancel, Error, Result};

#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Clone, Debug, Subcommand)]
pub enum What {
    /// Solve a named set of systems and tell set-up, solve, iterations and residual
    Solvers {
        /// Only these cases, as poisson-64-amg; all when absent
        cases: Vec<String>,
        /// One line of JSON a case
        #[arg(long)]
        json: bool,
        /// Number of threads; all cores when absent
        #[arg(long, value_name = "N")]
        threads: Option<usize>,
    },
}

/// Run the cases one after the other.
pub fn bench(args: &BenchArgs, stop: &Cancel) -> Result<()> {
    let What::Solvers { cases, json, threads } = &args.what;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool.map_err(|e| Error::invalid("threads", e.to_string()))?;
    let chosen: Vec<&str> =
        if cases.is_empty() { CASES.to_vec() } else { cases.iter().map(String::as_str).collect() };
    if !json {
        say("case                     rows   set-up s    solve s  iterations  residual");
    }
    for case in chosen {
        let line = pool.install(|| run(case, stop))?;
        if *json { say_json(&line)? } else { say(&table_row(&line)) }
    }
    Ok(())
}

fn table_row(line: &Line) -> String {
    let Line { case, rows, setup, solve, iterations, residual, outcome, .. } = line;
    format!("{case:<20} {rows:>8} {setup:>10.3} {solve:>10.3} {iterations:>11}  {residual:.1e} {outcome}")
}

fn say_json(line: &Line) -> Result<()> {
    say(&serde_json::to_string(line).map_err(|e| Error::invalid("JSON", e.to_string()))?);
    Ok(())
}
