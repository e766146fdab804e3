//! What a run says while it goes on: a table and a bar for people, lines of JSON for programs.
//!
//! On a terminal the newest frames stand in a [`Table`] above the bar.
//! `--progress json` writes one object a line to standard output, each with an `event`: `start`,
//! `progress` (at most five a second), `frame` (the report of a frame), `done` (the summary), `error`.
//! `--progress openjd` writes the lines that a session of an Open Job Description understands:
//! `openjd_progress: 33.3`, `openjd_status: frame 12 of 36 …`, `openjd_fail: …`.

use super::table::Table;
use super::terminal::{clock, complain, say, short};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use meniscus::scene::printable;
use meniscus::simulation::report::{FrameReport, Progress};
use serde::Serialize;
use serde_json::json;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How to report progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// A table and a bar on a terminal, else a line a frame
    Bar,
    /// One JSON object a line on standard output
    Json,
    /// Lines for a session of an Open Job Description on standard output
    Openjd,
    /// Nothing
    None,
}

/// Frames that the time left is judged by.
const RECENT: usize = 8;
/// Parts that a frame moves the bar by.
const PARTS: u64 = 1000;

/// Reports one run.
pub struct Reporter {
    mode: Mode,
    bar: Option<ProgressBar>,
    first: i64,
    last: i64,
    recent: VecDeque<f64>,
    frame_begin: Instant,
    said: Instant,
    note: String,
    table: Table,
}

impl Reporter {
    pub fn new(mode: Mode, [first, last]: [i64; 2]) -> Self {
        let bar = (mode == Mode::Bar && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(
                Some((last - first) as u64 * PARTS),
                ProgressDrawTarget::stderr(),
            );
            let style = ProgressStyle::with_template("{msg}\n{bar:24} {prefix}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let now = Instant::now();
        let recent = VecDeque::with_capacity(RECENT);
        let table = Table::default();
        Reporter { mode, bar, first, last, recent, frame_begin: now, said: now, note: String::new(), table }
    }

    /// The run begins.
    pub fn start(&self, about: impl Serialize) {
        self.event("start", about);
    }

    /// A frame is under way.
    pub fn progress(&mut self, p: &Progress) {
        if let Some(bar) = &self.bar {
            let done = (p.frame - 1 - self.first).max(0) as f64 + p.fraction;
            bar.set_position((done * PARTS as f64) as u64);
            let left = self.left_in_words(p);
            let now = format!("frame {} of {}{left} · {}", p.frame, self.last, in_words(p.stage));
            bar.set_prefix(printable(&now));
        }
        if self.mode == Mode::Json && self.said.elapsed() > Duration::from_millis(200) {
            self.said = Instant::now();
            let left = self.seconds_left(p);
            self.event(
                "progress",
                json!({"frame": p.frame, "fraction": p.fraction, "substeps": p.substeps, "stage": p.stage,
                       "litres": p.litres, "seconds_left": left}),
            );
        }
    }

    /// A frame is done and written.
    pub fn frame(&mut self, report: &FrameReport) {
        if report.frame > self.first {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(self.frame_begin.elapsed().as_secs_f64());
        }
        self.frame_begin = Instant::now();
        self.note = format!("{} l · {} substeps ({})", short(report.litres), report.substeps, report.rule);
        self.table.add(report);
        if let Some(bar) = &self.bar {
            bar.set_message(self.table.text().lines().map(printable).collect::<Vec<_>>().join("\n"));
        }
        for warning in &report.warnings {
            self.warn(&format!("frame {}: {warning}", report.frame));
        }
        match (self.mode, &self.bar) {
            (Mode::Json, _) => self.event("frame", report),
            (Mode::Openjd, _) => {
                let done =
                    100.0 * (report.frame - self.first) as f64 / (self.last - self.first).max(1) as f64;
                say(&format!("openjd_progress: {:.1}", done.clamp(0.0, 100.0)));
                say(&format!("openjd_status: frame {} of {}: {}", report.frame, self.last, self.note));
            }
            (Mode::Bar, None) => {
                let took = self.recent.back().copied().unwrap_or(0.0);
                complain(&format!("frame {} of {}: {} · {took:.1} s", report.frame, self.last, self.note));
            }
            _ => {}
        }
    }

    /// Something deserves a look.
    pub fn warn(&self, text: &str) {
        match (self.mode, &self.bar) {
            (Mode::None, _) => {}
            (Mode::Json, _) => self.event("warning", json!({"message": text})),
            (_, Some(bar)) => bar.println(printable(&format!("warning: {text}"))),
            (_, None) => complain(&format!("warning: {text}")),
        }
    }

    /// The run is over, well or not.
    pub fn finish(&self, event: &str, end: &str, summary: &impl Serialize) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.mode == Mode::Openjd && event == "error" {
            say(&format!("openjd_fail: {}", end.replace('\n', " ")));
        }
        self.event(event, summary);
    }

    fn event(&self, event: &str, value: impl Serialize) {
        #[derive(Serialize)]
        struct Line<'a, T> {
            event: &'a str,
            #[serde(flatten)]
            value: T,
        }
        if self.mode == Mode::Json
            && let Ok(line) = serde_json::to_string(&Line { event, value })
        {
            say(&line);
        }
    }

    /// Seconds to the end of the run, by the mean of the last frames; nothing before the third.
    fn seconds_left(&self, p: &Progress) -> Option<f64> {
        if self.recent.len() < 3 {
            return None;
        }
        let mean = self.recent.iter().sum::<f64>() / self.recent.len() as f64;
        Some(mean * ((self.last - p.frame) as f64 + 1.0 - p.fraction))
    }

    fn left_in_words(&self, p: &Progress) -> String {
        self.seconds_left(p).map_or(String::new(), |s| format!(" · {} left", clock(s)))
    }
}

/// A stage for people; programs see its own name.
fn in_words(stage: &str) -> &str {
    match stage {
        "advect_surface" => "moving the surface",
        "remesh" => "fitting the grid",
        "advect_velocity" => "carrying velocity",
        "apply_forces" => "forces",
        "solve" => "pressure",
        "finish" => "moving particles",
        other => other,
    }
}
