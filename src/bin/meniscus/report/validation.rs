//! Validation as one page: every figure beside its known answer, every case with its plots and its source.

use super::super::preview::image::Image;
use super::compare;
use super::page::{escape, page, picture};
use meniscus::Result;
use meniscus::io::atomic;
use meniscus::simulation::validation::Figure;
use meniscus::simulation::validation::stokes::Row;
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
        body += &section(simulator, case);
    }
    let version = env!("CARGO_PKG_VERSION");
    body +=
        &format!("<footer>Made by Meniscus {version}. This page is whole: it loads nothing.</footer></main>");
    atomic::write(out, page(&format!("Validation of {simulator}"), &body).as_bytes())
}

fn section(simulator: &str, case: &Case) -> String {
    let seconds = case.figures.first().map_or(0.0, |f| f.seconds);
    let rows: String = case.figures.iter().map(row).collect();
    let source = about(simulator, &case.name).unwrap_or("Stated in the file of the case.");
    let plots = compare::plots(&case.figures);
    format!(
        "<h2>{}</h2><p class=\"note\">{}</p><div class=\"plots\">{plots}</div><table><tr><th>figure</th><th class=\"n\">value</th><th class=\"n\">known answer</th>\
         <th class=\"n\">tolerance</th><th></th></tr>{rows}</table>\
         <p class=\"note\">{seconds:.1} s</p>",
        escape(&case.name),
        escape(source)
    )
}

fn row(figure: &Figure) -> String {
    let (class, word) = if figure.pass { ("yes", "met") } else { ("no", "missed") };
    format!(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">± {}</td><td class=\"{class}\">{word}</td></tr>",
        escape(&figure.name),
        number(figure.value),
        number(figure.reference),
        number(figure.tolerance),
    )
}

/// A table of the Stokes solver, and its errors over the grids as a picture.
pub struct StokesTable<'a> {
    pub name: &'a str,
    pub rows: &'a [Row],
    pub plot: Image,
}

/// The published tables of the Stokes solver as one page.
pub fn write_stokes(out: &Path, tables: &[StokesTable]) -> Result<()> {
    let judged = || tables.iter().flat_map(|t| t.rows).filter_map(|r| r.pass);
    let (total, missed) = (judged().count(), judged().filter(|p| !p).count());
    let (class, word) = if missed == 0 { ("", "all met") } else { ("bad", "missed") };
    let mut body = format!(
        "<main><div class=\"plain\"><h1>Validation of stokes<span class=\"pill {class}\">{} of {total} {word}</span></h1>\
         <div class=\"sub\">Errors beside those printed by Batty 2010, tables 4.1 to 4.9 [Bat10].</div></div>",
        if missed == 0 { total } else { missed },
    );
    for table in tables {
        let rows: String = table.rows.iter().map(stokes_row).collect();
        body += &format!(
            "<h2>Table {name}</h2><p class=\"note\">Published: [Bat10, table {name}].</p>\
             <img class=\"plot\" alt=\"errors of table {name} over the grids\" src=\"{}\">\
             <table><tr><th>cells a side</th><th>field</th><th class=\"n\">largest error</th><th class=\"n\">published</th>\
             <th class=\"n\">sum of errors</th><th class=\"n\">published</th><th></th></tr>{rows}</table>",
            picture(&table.plot)?,
            name = escape(table.name),
        );
    }
    body += "<footer>This page is whole: it loads nothing.</footer></main>";
    atomic::write(out, page("Validation of stokes", &body).as_bytes())
}

fn stokes_row(row: &Row) -> String {
    let (class, word) = match row.pass {
        Some(true) => ("yes", "met"),
        Some(false) => ("no", "missed"),
        None => ("", "not published"),
    };
    let published = |x: Option<f64>| x.map_or("–".into(), |x| format!("{x:.4e}"));
    format!(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{:.4e}</td><td class=\"n\">{}</td><td class=\"n\">{:.4e}</td>\
         <td class=\"n\">{}</td><td class=\"{class}\">{word}</td></tr>",
        row.n,
        escape(&row.field),
        row.Linf,
        published(row.published_Linf),
        row.L1,
        published(row.published_L1),
    )
}

/// A number in few digits: small ones as powers of ten.
fn number(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-3 { format!("{x:.2e}") } else { format!("{x:.5}") }
}

/// What a case is and where its answer comes from; the derivations stand in the files of the cases.
fn about(simulator: &str, case: &str) -> Option<&'static str> {
    if (simulator, case) == ("honey", "pour") {
        return Some(
            "Exact: 30 ml are poured in two seconds at an even rate onto a plate that honey sticks to.",
        );
    }
    Some(match case {
        "couette" => {
            "Exact: u = r((½/r)² − 1)/3 between a cylinder that turns and one at rest. Gates: the mean errors of a \
             published solver with 32, 64 and 128 cells, and second order."
        }
        "poiseuille" => "Exact: u = G y(w − y)/2μ in a channel turned against the grid; second order.",
        "slide-block" => {
            "Dense solver: a block that sinks under its weight spreads at U = c ρgL²/μ, with c from Stokes flow of the \
             block upon its mirror image."
        }
        "spinning-drop" => {
            "Exact: without gravity viscosity takes the shear and leaves the angular momentum."
        }
        "jets" => {
            "Published: plane jets fold below a Reynolds number of .56 and above ten widths of height, round ones coil below \
             1.2 and above 7.2 widths [CM81] [Cru88]; how fast the foot of a jet sways, in shares of its speed."
        }
        "coil" => {
            "Theory: how fast a slender thread coils that resists drawing, bending and twisting, solved for the fall from nozzle to \
             pile [Rib04]."
        }
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
