//! `meniscus validate`: a simulator against cases whose answers are known.

use super::plot::{Panel, Plot, Series};
use super::report::validation::{self, Case};
use super::terminal::say;
use super::validate_stokes::{self, StokesArgs};
use clap::Args;
use meniscus::simulation::validation::{Effort, Figure, cases, run};
use meniscus::{Cancel, Error, Result};
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug)]
pub struct ValidateArgs {
    /// The simulator, mac or bcc; honey for thick liquid on mac; stokes for the published tables of the Stokes solver
    pub simulator: String,
    /// Only this case; may be repeated
    #[arg(long = "case", value_name = "NAME")]
    pub cases: Vec<String>,
    /// Coarser and shorter, against the same gates
    #[arg(long)]
    pub quick: bool,
    /// One line of JSON a figure
    #[arg(long)]
    pub json: bool,
    /// Write a page that shows every figure beside its known answer, with plots and sources
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub stokes: StokesArgs,
}

/// Run the cases one after the other; an error if a figure misses its gate.
pub fn validate(args: &ValidateArgs, stop: &Cancel) -> Result<()> {
    if args.simulator == "stokes" {
        return validate_stokes::validate(&args.stokes, args.json, args.report.as_deref(), stop);
    }
    let known = cases(&args.simulator)?;
    let chosen: Vec<&str> =
        if args.cases.is_empty() { known } else { args.cases.iter().map(String::as_str).collect() };
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    if !args.json {
        say("figure                          value   reference   tolerance   pass   seconds");
    }
    let (mut missed, mut total) = (0, 0);
    let mut done = Vec::new();
    for case in chosen {
        let figures = run(&args.simulator, case, effort, stop)?;
        for figure in &figures {
            missed += usize::from(!figure.pass);
            total += 1;
            if args.json { say_json(figure)? } else { say(&table_row(figure)) }
        }
        if let Some(folder) = &args.stokes.plot {
            draw(folder, case, &figures)?;
        }
        done.push(Case { name: case.into(), figures });
    }
    if let Some(out) = &args.report {
        validation::write(out, &args.simulator, args.quick, &done)?;
    }
    match missed {
        0 => Ok(()),
        _ => Err(Error::diverged("validate", format!("{missed} of {total} figures miss their gate"))),
    }
}

/// What the figures of a case were read off, a panel for each pair of axes; rings are what is known of it.
fn draw(folder: &Path, case: &str, figures: &[Figure]) -> Result<()> {
    let mut panels: Vec<Panel> = Vec::new();
    let mut x_name = "";
    for (figure, curve) in figures.iter().filter_map(|f| Some((f, f.curve.as_ref()?))) {
        let [x, title] = curve.axes;
        let series =
            Series { name: figure.name.clone(), line: curve.measured.clone(), rings: curve.known.clone() };
        x_name = x;
        match panels.iter_mut().find(|p| p.title == title) {
            Some(panel) => panel.series.push(series),
            None => panels.push(Panel { title: title.into(), series: vec![series] }),
        }
    }
    if panels.is_empty() {
        return Ok(());
    }
    meniscus::io::atomic::create_folder(folder)?;
    Plot { x_name: x_name.into(), panels }.draw().write_png(&folder.join(format!("{case}.png")))
}

fn table_row(figure: &Figure) -> String {
    let Figure { name, value, reference, tolerance, pass, seconds, .. } = figure;
    let (value, reference, tolerance) = (number(*value), number(*reference), number(*tolerance));
    let pass = if *pass { "yes" } else { "NO" };
    format!("{name:<26} {value:>10}  {reference:>10}  {tolerance:>10}   {pass:<4} {seconds:>9.1}")
}

/// A number in few digits: small ones as powers of ten.
fn number(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-3 { format!("{x:.1e}") } else { format!("{x:.5}") }
}

fn say_json(figure: &Figure) -> Result<()> {
    say(&serde_json::to_string(figure).map_err(|e| Error::invalid("JSON", e.to_string()))?);
    Ok(())
}
