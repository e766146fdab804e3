//! `meniscus report`: a run as one page to look at, and the same for validation.
//!
//! The page is one file without addresses to anywhere: pictures are inside it, plots are SVG, a short
//! script shows values under the pointer. `meniscus run` writes it at its end.

pub mod chart;
mod compare;
mod content;
pub mod page;
pub mod validation;

use super::preview::{Quality, pictures_of};
use super::run::Summary;
use super::terminal::say;
use chart::{Chart, Line, Style};
use clap::Args;
use meniscus::io::atomic;
use meniscus::io::cache::Manifest;
use meniscus::simulation::report::{FrameReport, STAGES};
use meniscus::{Cancel, Error, Result};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Draw a run as one page: pictures, plots, warnings, the scene.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// The folder that `meniscus run` wrote
    pub cache: PathBuf,
    /// The page to write [default: CACHE/report.html]
    #[arg(short, long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Frames on the contact sheet, evenly spread; 0 for a page without pictures
    #[arg(long, value_name = "N", default_value_t = TILES)]
    pub tiles: usize,
    /// Time spent on a picture
    #[arg(long, value_enum, default_value_t = Quality::Good)]
    pub quality: Quality,
}

/// Pictures on the sheet of a report.
pub const TILES: usize = 12;

/// What the page of a run shows.
struct Run {
    manifest: Manifest,
    summary: Summary,
    reports: Vec<FrameReport>,
    /// The scene as it was run.
    scene_text: String,
    /// A large picture, and small ones with their frames; as addresses.
    hero: Option<String>,
    pictures: Vec<(i64, String)>,
}

pub fn main(args: &ReportArgs, stop: &Cancel) -> Result<()> {
    let out = args.out.clone().unwrap_or_else(|| args.cache.join("report.html"));
    write(&args.cache, &out, args.tiles, args.quality, stop)?;
    say(&format!("wrote    {}", out.display()));
    Ok(())
}

/// Write the page of a cache.
pub fn write(cache: &Path, out: &Path, tiles: usize, quality: Quality, stop: &Cancel) -> Result<()> {
    let mut run = read(cache)?;
    draw(&mut run, cache, tiles, quality, stop)?;
    let body = content::body(&run);
    let title = if run.manifest.name.is_empty() { "Meniscus" } else { &run.manifest.name };
    atomic::write(out, page::page(title, &body).as_bytes())
}

fn read(cache: &Path) -> Result<Run> {
    let manifest = Manifest::read(cache)?;
    let mut reports = Vec::with_capacity(manifest.frames.len());
    for frame in &manifest.frames {
        reports.push(read_json::<FrameReport>(&Manifest::report_file(cache, *frame))?);
    }
    // A run that was killed has no summary; what its frames say is shown all the same.
    let killed = || Summary { end: "killed before its end".into(), exit_code: 1, ..Summary::default() };
    let summary = read_json(&cache.join("summary.json")).unwrap_or_else(|_| killed());
    let scene_text = std::fs::read_to_string(cache.join("scene.json")).unwrap_or_default();
    Ok(Run { manifest, summary, reports, scene_text, hero: None, pictures: Vec::new() })
}

/// A file of a cache as what it is.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, &e))?;
    serde_json::from_str(&text).map_err(|e| Error::Format {
        file: path.display().to_string(),
        place: format!("line {}", e.line()),
        message: e.to_string(),
    })
}

/// Pictures of the run; none if there is nothing to see.
fn draw(run: &mut Run, cache: &Path, tiles: usize, quality: Quality, stop: &Cancel) -> Result<()> {
    if tiles == 0 || run.manifest.frames.is_empty() {
        return Ok(());
    }
    // Two thirds into the shot most has happened and little is over.
    let frame = run.manifest.frames[run.manifest.frames.len() * 2 / 3];
    let pictures = match pictures_of(cache, tiles, Some(frame), quality, stop) {
        Ok(pictures) => pictures,
        // Neither liquid nor solid: a page without pictures.
        Err(Error::Geometry { .. }) => return Ok(()),
        Err(other) => return Err(other),
    };
    run.hero = pictures.wide.as_ref().map(page::picture).transpose()?;
    for (frame, image) in &pictures.small {
        run.pictures.push((*frame, page::picture(image)?));
    }
    Ok(())
}

/// Colours of the stages, and of what lies between them.
const STAGE_COLOURS: [&str; 7] =
    ["#4f9bd9", "#7cc6b8", "#a6d27a", "#e6cf62", "#e38f4f", "#c66a8e", "#6d7681"];

/// A stage in the words of the plots.
fn stage_in_words(stage: usize) -> &'static str {
    [
        "moving the surface",
        "fitting the grid",
        "carrying velocity",
        "forces",
        "solving",
        "finishing",
        "the rest",
    ][stage.min(6)]
}

/// Seconds of each stage in a frame, and last of what no stage counts.
fn stage_seconds(report: &FrameReport) -> [f64; 7] {
    let mut seconds = [0.0; 7];
    for (name, s) in &report.stage_seconds {
        if let Some(i) = STAGES.iter().position(|stage| stage == name) {
            seconds[i] += s;
        }
    }
    seconds[6] = (report.seconds - seconds[..6].iter().sum::<f64>()).max(0.0);
    seconds
}

/// The plots of a run.
fn charts(reports: &[FrameReport]) -> Vec<Chart> {
    let of = |value: &dyn Fn(&FrameReport) -> f64| reports.iter().map(value).collect::<Vec<f64>>();
    let single = |title: &str, unit, colour, style, values| {
        let lines = vec![Line::new(title, colour, values)];
        Chart { title: title.into(), unit, style, lines }
    };
    let mut expected = Line::new("poured less left", "#e6cf62", of(&|r| r.litres_expected));
    expected.dashed = true;
    let volume = Chart {
        title: "Volume".into(),
        unit: "l",
        style: Style::Filled,
        lines: vec![Line::new("measured", "#56a8e0", of(&|r| r.litres)), expected],
    };
    let stages = (0..7).map(|s| {
        let seconds = reports.iter().map(|r| stage_seconds(r)[s]).collect();
        Line::new(stage_in_words(s), STAGE_COLOURS[s], seconds)
    });
    let energy = Chart {
        title: "Energy".into(),
        unit: "J",
        style: Style::Stacked,
        lines: vec![
            Line::new("height", "#4f9bd9", of(&|r| r.potential_energy)),
            Line::new("motion", "#e38f4f", of(&|r| r.kinetic_energy)),
        ],
    };
    vec![
        volume,
        single("Volume error", "%", "#56a8e0", Style::Signed, of(&|r| 100.0 * r.volume_error())),
        Chart { title: "Time a frame".into(), unit: "s", style: Style::Stacked, lines: stages.collect() },
        energy,
        single("Substeps a frame", "", "#a6d27a", Style::Filled, of(&|r| f64::from(r.substeps))),
        single("Solver iterations a frame", "", "#e38f4f", Style::Filled, of(&|r| r.iterations as f64)),
        single("Fastest liquid", "m/s", "#7cc6b8", Style::Filled, of(&|r| r.max_speed)),
        single("Memory held", "MB", "#c66a8e", Style::Filled, of(&|r| r.memory_bytes as f64 * 1e-6)),
        single(
            "Cells of liquid",
            "thousand",
            "#4f9bd9",
            Style::Filled,
            of(&|r| r.liquid_cells as f64 * 1e-3),
        ),
    ]
}
