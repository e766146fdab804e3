//! `meniscus validate stokes`: the published convergence tables of the Stokes solver.

use super::plot::{Panel, Plot, Series};
use super::report::validation::{StokesTable, write_stokes};
use super::terminal::say;
use clap::Args;
use meniscus::simulation::validation::stokes::{
    Form, REFERENCE, Row, SPACE, Scheme, Setting, grids, run, run_space, tables,
};
use meniscus::{Cancel, Error, Result};
use std::path::{Path, PathBuf};

/// Grids above this are run only when asked for by their number.
const LARGEST: usize = 512;

#[derive(Args, Clone, Debug)]
pub struct StokesArgs {
    /// stokes: only this table, as 4.3; may be repeated
    #[arg(long = "table", value_name = "TABLE")]
    pub tables: Vec<String>,
    /// stokes: cells a side; may be repeated; 32 and 64 when absent
    #[arg(long = "n", value_name = "N")]
    pub grids: Vec<usize>,
    /// stokes: every table of the plane on every published grid up to 512 cells a side
    #[arg(long)]
    pub all: bool,
    /// stokes: cells a side of the grid that table 4.9 is compared with; the published one takes gigabytes
    #[arg(long, value_name = "N", default_value_t = REFERENCE)]
    pub reference: usize,
    /// stokes: for table 4.9 solve the problem that its text states, with a wall inside and μ = 0.1; the printed
    /// errors are of another
    #[arg(long)]
    pub as_stated: bool,
    /// stokes: for tables 4.1 and 4.2, areas beside walls and ghost-fluid weights at the surface instead of the published weights
    #[arg(long)]
    pub sharp: bool,
    /// Draw what was measured into this folder, a PNG a case; for stokes the errors over the grids, a PNG a table
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".")]
    pub plot: Option<PathBuf>,
    /// stokes: solve the pressure-stress form, which is slow on large grids
    #[arg(long)]
    pub pressure_stress: bool,
}

/// Run the tables one after the other; an error if a figure misses its gate.
pub fn validate(args: &StokesArgs, json: bool, report: Option<&Path>, stop: &Cancel) -> Result<()> {
    let chosen: Vec<String> = match args.tables.is_empty() {
        // The one in space is asked for by its name: its reference takes long.
        true if args.sharp => vec!["4.1".into(), "4.2".into()],
        true => tables().into_iter().filter(|t| *t != SPACE).map(str::to_string).collect(),
        false => args.tables.clone(),
    };
    let setting = if args.as_stated { Setting::AsStated } else { Setting::AsComputed };
    let scheme = if args.sharp { Scheme::Sharp } else { Scheme::Volume };
    let form = if args.pressure_stress { Form::PressureStress } else { Form::VelocityPressure };
    if !json {
        say("table    n  field         Linf   published           L1   published   pass");
    }
    let (mut missed, mut total) = (0, 0);
    let mut done = Vec::new();
    for table in &chosen {
        let mut rows = Vec::new();
        let chosen = chosen_grids(args, table)?;
        let batches: Vec<Vec<usize>> =
            if table == SPACE { vec![chosen] } else { chosen.into_iter().map(|n| vec![n]).collect() };
        for batch in batches {
            let found = match table == SPACE {
                true => run_space(&batch, args.reference, setting, stop)?,
                false => run(table, batch[0], scheme, form, stop)?,
            };
            for row in found {
                missed += usize::from(row.pass == Some(false));
                total += 1;
                if json {
                    say_json(&row)?
                } else {
                    say(&table_row(&row))
                }
                rows.push(row);
            }
        }
        if let Some(folder) = &args.plot {
            meniscus::io::atomic::create_folder(folder)?;
            let path = folder.join(format!("stokes_table_{table}.png"));
            plot(table, &rows).draw().write_png(&path)?;
            if !json {
                say(&format!("drawn: {}", path.display()));
            }
        }
        done.push((table.clone(), rows));
    }
    if let Some(out) = report {
        let tables: Vec<StokesTable> = done
            .iter()
            .map(|(name, rows)| StokesTable { name, rows, plot: plot(name, rows).draw() })
            .collect();
        write_stokes(out, &tables)?;
    }
    match missed {
        0 => Ok(()),
        _ => Err(Error::diverged("validate", format!("{missed} of {total} figures miss their gate"))),
    }
}

fn chosen_grids(args: &StokesArgs, table: &str) -> Result<Vec<usize>> {
    let known = grids(table)?;
    Ok(if !args.grids.is_empty() {
        args.grids.clone()
    } else if args.all {
        known.into_iter().filter(|n| *n <= LARGEST).collect()
    } else if table == SPACE {
        known
    } else {
        known.into_iter().filter(|n| (24..=64).contains(n)).collect()
    })
}

fn table_row(row: &Row) -> String {
    let number = |v: Option<f64>| v.map_or("-".into(), |v| format!("{v:.4e}"));
    let pass = match row.pass {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "-",
    };
    format!(
        "{:<5} {:>4}  {:<7} {:>11} {:>11}  {:>11} {:>11}   {pass}",
        row.table,
        row.n,
        row.field,
        number(Some(row.Linf)),
        number(row.published_Linf),
        number(Some(row.L1)),
        number(row.published_L1),
    )
}

fn say_json(row: &Row) -> Result<()> {
    say(&serde_json::to_string(row).map_err(|e| Error::invalid("JSON", e.to_string()))?);
    Ok(())
}

/// Both norms of every field over the cells a side: ours as lines, the published ones as rings.
fn plot(table: &str, rows: &[Row]) -> Plot {
    let mut fields: Vec<&str> = Vec::new();
    for row in rows {
        if !fields.contains(&row.field.as_str()) {
            fields.push(&row.field);
        }
    }
    let series = |ours: fn(&Row) -> f64, published: fn(&Row) -> Option<f64>| -> Vec<Series> {
        let of = |field: &&str| {
            let rows = || rows.iter().filter(|r| r.field == *field);
            Series {
                name: field.replace('_', " "),
                line: rows().map(|r| (r.n as f64, ours(r))).collect(),
                rings: rows().filter_map(|r| Some((r.n as f64, published(r)?))).collect(),
            }
        };
        fields.iter().map(of).collect()
    };
    let panel = |title: &str, series| Panel { title: format!("table {table}, {title}"), series };
    Plot {
        x_name: "cells a side; lines: this build, rings: published".into(),
        panels: vec![
            panel("largest error", series(|r| r.Linf, |r| r.published_Linf)),
            panel("sum of errors", series(|r| r.L1, |r| r.published_L1)),
        ],
    }
}
