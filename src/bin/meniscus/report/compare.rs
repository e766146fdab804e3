//! Figures beside their known answers, as plots in SVG.
//!
//! Figures whose names differ in a number at the end, as `dam-arrival-2.1`, share a plot over that number: dots are
//! what was measured, ticks what is known, bars what passes. Errors, whose known answer is zero, are drawn on a
//! logarithmic axis below their gate. A figure that was read off a curve shows the curve as well.

use super::page::escape;
use meniscus::simulation::validation::{Curve, Figure};
use std::fmt::Write;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 588.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 186.0;
/// Errors below this are round-off.
const LEAST: f64 = 1e-18;

/// All plots of a case.
pub fn plots(figures: &[Figure]) -> String {
    let mut groups: Vec<(String, Vec<(&Figure, String)>)> = Vec::new();
    for figure in figures {
        let (stem, place) = split(&figure.name);
        match groups.iter_mut().find(|g| g.0 == stem) {
            Some(group) => group.1.push((figure, place)),
            None => groups.push((stem, vec![(figure, place)])),
        }
    }
    let drawn = groups.iter().map(|(name, members)| frame(name, "", &against_answers(members)));
    let curves = figures.iter().filter_map(|f| f.curve.as_ref());
    let curves = curves.map(|c| frame(c.axes[1], &format!("over {}", c.axes[0]), &curve(c)));
    drawn.chain(curves).collect()
}

/// `dam-arrival-2.1` is 2.1 of `dam-arrival`.
fn split(name: &str) -> (String, String) {
    match name.rsplit_once('-') {
        Some((stem, end)) if end.parse::<f64>().is_ok() => (stem.into(), end.into()),
        _ => (name.into(), String::new()),
    }
}

fn frame(title: &str, unit: &str, drawn: &str) -> String {
    let title = escape(title);
    format!(
        "<figure class=\"chart\"><figcaption><b>{title}</b> <span class=\"unit\">{}</span></figcaption>\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">{drawn}</svg></figure>",
        escape(unit)
    )
}

/// From values to the paper, evenly or by powers of ten.
struct Scale {
    ends: [f64; 2],
    logarithmic: bool,
    paper: [f64; 2],
}

impl Scale {
    /// Over all of some values, with a little room.
    fn of(values: impl Iterator<Item = f64>, logarithmic: bool, paper: [f64; 2]) -> Self {
        let turned =
            values.filter(|v| v.is_finite()).map(|v| if logarithmic { v.max(LEAST).log10() } else { v });
        let [low, high] = turned.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(v), h.max(v)]);
        let [low, high] = if low <= high { [low, high] } else { [0.0, 1.0] };
        let ends = match logarithmic {
            true => [(low - 0.2).floor(), (high + 0.2).ceil()],
            false => {
                let room = (0.12 * (high - low)).max(1e-9 * high.abs().max(1e-9));
                [low - room, high + room]
            }
        };
        Self { ends, logarithmic, paper }
    }

    fn at(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.max(LEAST).log10() } else { value };
        let share = (value - self.ends[0]) / (self.ends[1] - self.ends[0]);
        self.paper[0] + share.clamp(-0.05, 1.05) * (self.paper[1] - self.paper[0])
    }

    /// Values that deserve a line, with their names.
    fn ticks(&self) -> Vec<(f64, String)> {
        let [low, high] = self.ends;
        if self.logarithmic {
            let step = ((high - low) / 5.0).ceil().max(1.0) as i32;
            let powers = (low as i32..=high as i32).step_by(step as usize);
            return powers.map(|p| (10f64.powi(p), format!("10^{p}"))).collect();
        }
        let rough = (high - low) / 4.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
        let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        (first..=last).map(|i| (i as f64 * step, format!("{:.digits$}", i as f64 * step))).collect()
    }

    fn lines(&self, out: &mut String) {
        for (value, name) in self.ticks() {
            let y = self.at(value);
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
    }
}

/// Dots beside what is known and what passes.
fn against_answers(members: &[(&Figure, String)]) -> String {
    let errors = members.iter().all(|(f, _)| f.reference == 0.0);
    let ends = |f: &Figure| match errors {
        true => vec![f.value.abs(), f.tolerance],
        false => vec![f.value, f.reference - f.tolerance, f.reference + f.tolerance],
    };
    let scale = Scale::of(members.iter().flat_map(|(f, _)| ends(f)), errors, [BOTTOM, TOP]);
    let mut out = String::new();
    scale.lines(&mut out);
    let step = (RIGHT - LEFT) / members.len() as f64;
    let x = |i: usize| LEFT + (i as f64 + 0.5) * step;
    let shown = |f: &Figure| if errors { f.value.abs() } else { f.value };
    let path: String = members
        .iter()
        .enumerate()
        .filter(|(_, (f, _))| f.value.is_finite())
        .map(|(i, (f, _))| format!("{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, x(i), scale.at(shown(f))))
        .collect();
    if path.starts_with('M') {
        let _ = write!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#6d7681\" stroke-width=\"1.2\"/>");
    }
    let half = (0.3 * step).min(34.0);
    for (i, (f, place)) in members.iter().enumerate() {
        let (low, high) = match errors {
            true => (BOTTOM, scale.at(f.tolerance)),
            false => (scale.at(f.reference - f.tolerance), scale.at(f.reference + f.tolerance)),
        };
        let colour = if f.pass { "#57c08d" } else { "#e8695f" };
        let _ = write!(
            out,
            "<rect x=\"{:.1}\" y=\"{high:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#57c08d\" fill-opacity=\".2\"/>",
            x(i) - half,
            2.0 * half,
            (low - high).max(1.0)
        );
        let known = if errors { high } else { scale.at(f.reference) };
        let _ = write!(
            out,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{known:.1}\" y2=\"{known:.1}\" stroke=\"#98a2ad\" stroke-width=\"1.6\"/>",
            x(i) - half,
            x(i) + half
        );
        if f.value.is_finite() {
            let y = scale.at(shown(f));
            let _ = write!(out, "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{colour}\"/>", x(i));
        }
        let name = if place.is_empty() { &f.name } else { place };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(i),
            BOTTOM + 18.0,
            escape(name)
        );
    }
    out
}

/// A line through what was measured, and what is known as rings or, where it is as dense, as a dashed line.
fn curve(curve: &Curve) -> String {
    let both = || curve.measured.iter().chain(&curve.known);
    let x = Scale::of(both().map(|p| p.0), false, [LEFT, RIGHT]);
    let y = Scale::of(both().map(|p| p.1), false, [BOTTOM, TOP]);
    let mut out = String::new();
    y.lines(&mut out);
    for (value, name) in x.ticks() {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
            x.at(value),
            BOTTOM + 18.0
        );
    }
    let path = |points: &[(f64, f64)]| -> String {
        let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).enumerate();
        finite
            .map(|(i, p)| format!("{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, x.at(p.0), y.at(p.1)))
            .collect()
    };
    let _ = write!(
        out,
        "<path d=\"{}\" fill=\"none\" stroke=\"#56a8e0\" stroke-width=\"1.8\"/>",
        path(&curve.measured)
    );
    if curve.known.len() > 20 {
        let _ = write!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"#e6cf62\" stroke-width=\"1.6\" stroke-dasharray=\"5 4\"/>",
            path(&curve.known)
        );
        return out;
    }
    for (a, b) in curve.known.iter().filter(|p| p.0.is_finite() && p.1.is_finite()) {
        let _ = write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"none\" stroke=\"#e6cf62\" stroke-width=\"1.6\"/>",
            x.at(*a),
            y.at(*b)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: f64, reference: f64) -> Figure {
        let pass = (value - reference).abs() <= 0.1;
        Figure { name: name.into(), value, reference, tolerance: 0.1, pass, seconds: 1.0, curve: None }
    }

    #[test]
    fn figures_of_a_family_share_a_plot_and_odd_values_leave_no_mark() {
        let mut all = vec![
            figure("arrival-1", 1.02, 1.0),
            figure("arrival-2.5", f64::NAN, 2.0),
            figure("error-32", 1e-5, 0.0),
            figure("error-64", 0.0, 0.0),
            figure("momentum", 1.0, 1.0),
        ];
        let known = vec![(0.0, 1.0), (1.0, f64::INFINITY)];
        all[4].curve =
            Some(Curve { axes: ["time, s", "depth"], measured: vec![(0.0, 1.0), (1.0, 0.5)], known });
        let page = plots(&all);
        assert_eq!(page.matches("<svg").count(), 4);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        assert!(page.contains("10^-3") && page.contains("over time, s"), "{page}");
        assert!(plots(&[]).is_empty());
    }
}
