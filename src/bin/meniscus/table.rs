//! The live table of a run: a row a frame, with what it cost and what forced its substeps.
//!
//! Rows fit into 80 columns, the least that a terminal has.

use super::terminal::short;
use meniscus::simulation::report::{FrameReport, STAGES};
use std::collections::VecDeque;

/// Rows that stay on the screen.
const ROWS: usize = 8;
/// Names of the stages, as short as their columns.
const SHORT: [&str; STAGES.len()] = ["surf", "mesh", "flow", "push", "solv", "end"];

/// The newest rows.
#[derive(Debug, Default)]
pub struct Table {
    rows: VecDeque<String>,
}

impl Table {
    pub fn add(&mut self, report: &FrameReport) {
        if self.rows.len() == ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back(row(report));
    }

    /// All lines, the names of the columns first.
    pub fn text(&self) -> String {
        let mut lines = vec![header()];
        lines.extend(self.rows.iter().cloned());
        lines.join("\n")
    }
}

fn header() -> String {
    let stages: String = SHORT.iter().map(|s| format!("{s:>5}")).collect();
    format!("frame sub because of    litres error %  iter{stages} all s")
}

fn row(report: &FrameReport) -> String {
    let seconds = |name: &str| report.stage_seconds.iter().find(|s| s.0 == name).map_or(0.0, |s| s.1);
    let stages: String = STAGES.iter().map(|s| format!("{:>5}", few(seconds(s)))).collect();
    let rule: String = report.rule.chars().take(12).collect();
    format!(
        "{:>5} {:>3} {rule:<12} {:>7} {:>+7.3} {:>5}{stages} {:>5}",
        report.frame,
        report.substeps,
        short(report.litres).chars().take(7).collect::<String>(),
        100.0 * report.volume_error(),
        report.iterations,
        few(report.seconds)
    )
}

/// Seconds in at most four characters, up to a few hours.
fn few(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.2}"),
        s if s < 100.0 => format!("{s:.1}"),
        s => format!("{s:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(frame: i64) -> FrameReport {
        FrameReport {
            frame,
            substeps: 4,
            rule: "liquid speed".into(),
            litres: 12.5,
            litres_expected: 12.5,
            iterations: 31,
            seconds: 123.4,
            stage_seconds: STAGES.iter().map(|s| (s.to_string(), 1.25)).collect(),
            ..FrameReport::default()
        }
    }

    #[test]
    fn a_row_tells_substeps_their_rule_volume_and_stages_in_eighty_columns() {
        let mut table = Table::default();
        (1..=20).for_each(|f| table.add(&report(f)));
        let text = table.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + ROWS);
        assert!(lines.iter().all(|l| l.chars().count() <= 80), "{text}");
        assert_eq!(
            lines[ROWS],
            "   20   4 liquid speed    12.5  +0.000    31 1.25 1.25 1.25 1.25 1.25 1.25   123"
        );
    }
}
