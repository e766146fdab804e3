//! Validation as one page: every figure beside its known answer, every case with its source.
//!
//! A gauge shows the band that passes about the reference and the value as a dot; one that misses by far
//! stands at the end of its scale.

use super::page::{escape, page};
use meniscus::Result;
use meniscus::io::atomic;
use meniscus::simulation::validation::Figure;
use std::path::Path;

/// The figures of one case.
pub struct Case {
    pub name: String,
    pub figures: Vec<Figure>,
}

pub fn write(out: &Path, simulator: &str, quick: bool, cases: &[Case]) -> Result<()> {
    let all = || cases.iter().flat_map(|c| &c.figures);
    let (total, missed) = (all().count(), all().filter(|f| !f.pass).count());
    let (class, word) = if missed == 0 { ("", "all met") } else { ("bad", "missed") };
    let effort = if quick { "the short forms" } else { "the full forms" };
    let seconds: f64 = cases.iter().filter_map(|c| c.figures.first()).map(|f| f.seconds).sum();
    let mut body = format!(
        "<main><div class=\"plain\"><h1>Validation of {}<span class=\"pill {class}\">{} of {total} {word}</span></h1>\
         <div class=\"sub\">{effort} of {} cases, {seconds:.0} s. A figure passes if it is within the tolerance of its \
         reference; the gates stand whether they are met or not.</div></div>",
        escape(simulator),
        if missed == 0 { total } else { missed },
        cases.len(),
    );
    for case in cases {
        body += &section(case);
    }
    let version = env!("CARGO_PKG_VERSION");
    body +=
        &format!("<footer>Made by Meniscus {version}. This page is whole: it loads nothing.</footer></main>");
    atomic::write(out, page(&format!("Validation of {simulator}"), &body).as_bytes())
}

fn section(case: &Case) -> String {
    let seconds = case.figures.first().map_or(0.0, |f| f.seconds);
    let rows: String = case.figures.iter().map(row).collect();
    let note =
        about(&case.name).map_or(String::new(), |text| format!("<p class=\"note\">{}</p>", escape(text)));
    format!(
        "<h2>{}</h2><table><tr><th>figure</th><th class=\"n\">value</th><th class=\"n\">known answer</th>\
         <th class=\"n\">tolerance</th><th>within it</th><th></th></tr>{rows}</table>{note}\
         <p class=\"note\">{seconds:.1} s</p>",
        escape(&case.name)
    )
}

fn row(figure: &Figure) -> String {
    let (class, word) = if figure.pass { ("yes", "met") } else { ("no", "missed") };
    format!(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">± {}</td><td>{}</td><td class=\"{class}\">{word}</td></tr>",
        escape(&figure.name),
        number(figure.value),
        number(figure.reference),
        number(figure.tolerance),
        gauge(figure),
    )
}

/// The passing band over the middle half of a line, and a dot where the value is.
fn gauge(figure: &Figure) -> String {
    let off = (figure.value - figure.reference) / figure.tolerance.max(f64::MIN_POSITIVE);
    let at = if off.is_finite() { off.clamp(-1.95, 1.95) } else { 1.95 };
    let x = 130.0 + 65.0 * at;
    let colour = if figure.pass { "#57c08d" } else { "#e8695f" };
    format!(
        "<svg class=\"gauge\" viewBox=\"0 0 260 22\"><line x1=\"2\" x2=\"258\" y1=\"11\" y2=\"11\" stroke=\"#3a414a\"/>\
         <rect x=\"65\" y=\"6\" width=\"130\" height=\"10\" rx=\"5\" fill=\"#57c08d\" fill-opacity=\".22\"/>\
         <line x1=\"130\" x2=\"130\" y1=\"3\" y2=\"19\" stroke=\"#98a2ad\"/><circle cx=\"{x:.1}\" cy=\"11\" r=\"5\" fill=\"{colour}\"/></svg>"
    )
}

/// A number in few digits: small ones as powers of ten.
fn number(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-3 { format!("{x:.2e}") } else { format!("{x:.5}") }
}

/// What a case is and where its answer comes from; the derivations stand in the files of the cases.
fn about(case: &str) -> Option<&'static str> {
    Some(match case {
        "still-tank" | "still-cup" | "still-tilted" | "still-ball" => {
            "Exact: water at rest stays at rest. The greatest speed over √(g L) at any frame."
        }
        "convergence" => {
            "Exact: a known pressure in a ball with a curved surface; the power of the cell width with which its error falls."
        }
        "free-fall" => "Exact: pressure has nothing to do, so u = u₀ + g t everywhere, to round-off.",
        "sloshing" => "Exact for small waves: ω² = g k tanh k H with k = π/L.",
        "elliptical-drop" => {
            "Exact: a disk drawn out by u = A(−x, y) stays an ellipse whose axes obey two ordinary equations."
        }
        "swinging-drop" => "Exact for small swings: ω² = n(n² − 1) σ/ρR³ with n = 2 [Ray79].",
        "dam-break" => {
            "Experiment: arrival at the gauges and the level behind the dam, Lobovský and others 2014 [LBMS14]."
        }
        "splash-volume" => "Exact: what is poured in stays, through 500 frames of splashing.",
        "pour" => "Exact: the front of a jet falls by (√(u² + 2 g d) − u)/g whatever the cells are.",
        "notched-disk" => {
            "Published: the area of a notched disk after one turn, Enright and others 2002 [EFFM02]."
        }
        "vortex-ball" => {
            "Published: the volume that is left of a ball after a vortex and its reverse [EFFM02]."
        }
        _ => return None,
    })
}
