//! Plots over frames as SVG: drawn without scripts; a script may show values under the pointer.
//!
//! Values that are not finite leave a gap. The script finds a plot by `data-chart` and its numbers in the
//! page's data, and needs the two edges of the axis, which stand in `data-axis`.

use super::page::escape;
use serde_json::{Value, json};
use std::fmt::Write;

/// One line of a plot.
pub struct Line {
    pub name: String,
    pub colour: &'static str,
    /// A value a frame.
    pub values: Vec<f64>,
    pub dashed: bool,
}

impl Line {
    pub fn new(name: &str, colour: &'static str, values: Vec<f64>) -> Self {
        Self { name: name.into(), colour, values, dashed: false }
    }
}

/// How the lines are drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    /// The first filled down to zero.
    Filled,
    /// About a middle of zero.
    Signed,
    /// One on top of the other.
    Stacked,
}

/// A plot over frames.
pub struct Chart {
    pub title: String,
    pub unit: &'static str,
    pub style: Style,
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 592.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 184.0;

/// From frames and values to the paper.
struct Axes {
    frames: [f64; 2],
    values: [f64; 2],
    step: f64,
}

impl Axes {
    fn of(chart: &Chart, frames: &[i64]) -> Self {
        let ends = [frames.first().copied().unwrap_or(0), frames.last().copied().unwrap_or(1)];
        let all = chart.lines.iter().flat_map(|l| l.values.iter().copied()).filter(|v| v.is_finite());
        let [mut low, mut high] = match chart.style {
            Style::Stacked => [0.0, tops(chart).into_iter().fold(0.0, f64::max)],
            _ => all.fold([0.0, 0.0], |[a, b], v| [v.min(a), v.max(b)]),
        };
        if chart.style == Style::Signed {
            // Round-off alone is not worth a plot that looks alarming.
            let most = high.max(-low).max(1e-3);
            (low, high) = (-most, most);
        }
        let step = nice_step((high - low).max(f64::MIN_POSITIVE) / 4.0);
        let (low, high) = ((low / step).floor() * step, ((high / step).ceil() * step).max(step));
        let end = if ends[1] > ends[0] { ends[1] } else { ends[0] + 1 };
        Axes { frames: [ends[0] as f64, end as f64], values: [low, high], step }
    }

    fn x(&self, frame: f64) -> f64 {
        LEFT + (frame - self.frames[0]) / (self.frames[1] - self.frames[0]) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - (value - self.values[0]) / (self.values[1] - self.values[0]) * (BOTTOM - TOP)
    }
}

/// 1, 2 or 5 times a power of ten, at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powi(rough.log10().floor().clamp(-300.0, 300.0) as i32);
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| *s >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// The sum of all lines, a value a frame.
fn tops(chart: &Chart) -> Vec<f64> {
    let count = chart.lines.iter().map(|l| l.values.len()).max().unwrap_or(0);
    (0..count)
        .map(|i| chart.lines.iter().filter_map(|l| l.values.get(i)).filter(|v| v.is_finite()).sum())
        .collect()
}

/// A number with as many digits as the step of its axis needs.
fn tick(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    let value = if value.abs() < 1e-9 * step { 0.0 } else { value };
    if value.abs() >= 1e5 { format!("{value:.0e}") } else { format!("{value:.digits$}") }
}

impl Chart {
    /// The plot with its title and legend. `id` names it in the page's data.
    pub fn svg(&self, frames: &[i64], id: usize) -> String {
        let axes = Axes::of(self, frames);
        let mut drawn = String::new();
        self.grid(&axes, &mut drawn);
        match self.style {
            Style::Stacked => self.stack(&axes, frames, &mut drawn),
            _ => self.curves(&axes, frames, &mut drawn),
        }
        let legend: String = self
            .lines
            .iter()
            .map(|l| {
                let name = escape(&l.name);
                format!("<span class=\"key\"><i style=\"background:{}\"></i>{name}</span>", l.colour)
            })
            .collect();
        let legend = if self.lines.len() > 1 { legend } else { String::new() };
        format!(
            "<figure class=\"chart\"><figcaption><b>{}</b> <span class=\"unit\">{}</span><output></output>\
             </figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" data-chart=\"{id}\" data-axis=\"{LEFT},{RIGHT}\" \
             role=\"img\" aria-label=\"{}\">{drawn}<line class=\"cross\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/></svg>\
             <div class=\"legend\">{legend}</div></figure>",
            escape(&self.title),
            escape(self.unit),
            escape(&self.title),
        )
    }

    /// Names and values for the script.
    pub fn data(&self) -> Value {
        let lines = self.lines.iter().map(|l| {
            let round = |v: &f64| if v.is_finite() { json!((v * 1e6).round() / 1e6) } else { Value::Null };
            json!({"name": l.name, "values": l.values.iter().map(round).collect::<Vec<_>>()})
        });
        json!({"unit": self.unit, "lines": lines.collect::<Vec<_>>()})
    }

    fn grid(&self, axes: &Axes, out: &mut String) {
        let count = ((axes.values[1] - axes.values[0]) / axes.step).round() as i64;
        for i in 0..=count {
            let value = axes.values[0] + i as f64 * axes.step;
            let y = axes.y(value);
            let class = if value.abs() < 1e-9 * axes.step { "axis" } else { "grid" };
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
            );
            let name = tick(value, axes.step);
            let _ = write!(
                out,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        let step = nice_step((axes.frames[1] - axes.frames[0]) / 8.0).max(1.0);
        let mut frame = (axes.frames[0] / step).ceil() * step;
        while frame <= axes.frames[1] {
            let x = axes.x(frame);
            let _ = write!(
                out,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{frame}</text>",
                BOTTOM + 18.0
            );
            frame += step;
        }
    }

    fn curves(&self, axes: &Axes, frames: &[i64], out: &mut String) {
        for (i, line) in self.lines.iter().enumerate() {
            for run in runs(&line.values) {
                let points: Vec<[f64; 2]> =
                    run.clone().map(|k| [axes.x(frames[k] as f64), axes.y(line.values[k])]).collect();
                if i == 0 {
                    let zero = axes.y(0.0);
                    let (first, last) = (points[0][0], points[points.len() - 1][0]);
                    let _ = write!(
                        out,
                        "<path d=\"{}L{last:.1} {zero:.1}L{first:.1} {zero:.1}Z\" fill=\"{}\" fill-opacity=\".16\"/>",
                        path(&points),
                        line.colour
                    );
                }
                let dash = if line.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
                let _ = write!(
                    out,
                    "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{dash}/>",
                    path(&points),
                    line.colour
                );
            }
        }
    }

    fn stack(&self, axes: &Axes, frames: &[i64], out: &mut String) {
        let mut below = vec![0.0; frames.len()];
        for line in &self.lines {
            let value = |i: usize| line.values.get(i).copied().filter(|v| v.is_finite()).unwrap_or(0.0);
            let above: Vec<f64> = below.iter().enumerate().map(|(i, b)| b + value(i)).collect();
            let place = |v: &[f64], i: usize| [axes.x(frames[i] as f64), axes.y(v[i])];
            let upper: Vec<[f64; 2]> = (0..frames.len()).map(|i| place(&above, i)).collect();
            let back: Vec<[f64; 2]> = (0..frames.len()).rev().map(|i| place(&below, i)).collect();
            if !upper.is_empty() {
                let back = path(&back).replacen('M', "L", 1);
                let _ = write!(
                    out,
                    "<path d=\"{}{back}Z\" fill=\"{}\" fill-opacity=\".88\"/>",
                    path(&upper),
                    line.colour
                );
            }
            below = above;
        }
    }
}

/// Stretches of finite values.
fn runs(values: &[f64]) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, _) in values.iter().enumerate().filter(|(_, v)| v.is_finite()) {
        match found.last_mut() {
            Some(run) if run.end == i => run.end = i + 1,
            _ => found.push(i..i + 1),
        }
    }
    found
}

fn path(points: &[[f64; 2]]) -> String {
    let mut text = String::with_capacity(points.len() * 12);
    for (i, [x, y]) in points.iter().enumerate() {
        let _ = write!(text, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(style: Style, values: Vec<f64>) -> Chart {
        Chart { title: "volume".into(), unit: "l", style, lines: vec![Line::new("a", "#fff", values)] }
    }

    #[test]
    fn steps_are_round_and_never_smaller_than_asked() {
        assert_eq!([0.11, 0.2, 0.3, 7.0, 42.0].map(nice_step), [0.2, 0.2, 0.5, 10.0, 50.0]);
        assert_eq!(tick(0.25, 0.05), "0.25");
        assert_eq!(tick(-1e-17, 0.5), "0.0");
    }

    #[test]
    fn plots_survive_nothing_one_frame_and_numbers_that_are_none() {
        for style in [Style::Filled, Style::Signed, Style::Stacked] {
            for values in [vec![], vec![1.0], vec![f64::NAN, 2.0, f64::INFINITY, -3.0], vec![0.0; 5]] {
                let frames: Vec<i64> = (0..values.len() as i64).collect();
                let svg = chart(style, values).svg(&frames, 0);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
        assert_eq!(runs(&[1.0, f64::NAN, 2.0, 3.0]), [0..1, 2..4]);
    }
}
