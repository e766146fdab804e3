//! What stands on the page of a run, from the picture at its head to the scene at its foot.

use super::super::terminal::{bytes, clock, count, length, short};
use super::page::{escape, script_json};
use super::{Run, STAGE_COLOURS, charts, stage_in_words, stage_seconds};
use meniscus::scene::Scene;
use meniscus::simulation::report::FrameReport;
use serde_json::json;
use std::collections::BTreeMap;

pub fn body(run: &Run) -> String {
    let scene = Scene::from_json(&run.scene_text).ok().map(|s| s.to_si());
    let parts = [
        head(run, scene.as_ref()),
        cards(run),
        sheet(run),
        plots(run),
        time(&run.reports),
        warnings(run),
        scene_part(run, scene.as_ref()),
    ];
    let version = escape(&run.summary.version);
    format!(
        "<main>{}<footer>Made by Meniscus {version}. This page is whole: it loads nothing.</footer></main>",
        parts.concat()
    )
}

fn head(run: &Run, scene: Option<&Scene>) -> String {
    let name = if run.manifest.name.is_empty() { "A run without a name" } else { &run.manifest.name };
    let (class, word) = match run.summary.exit_code {
        0 => ("", "done"),
        4 => ("warn", "stopped"),
        _ => ("bad", "failed"),
    };
    let end =
        if run.summary.exit_code == 0 { String::new() } else { format!(" · {}", escape(&run.summary.end)) };
    let [first, last] = run.manifest.range;
    let seconds = last.saturating_sub(first) as f64 * run.manifest.fps.frame_seconds();
    let domain = scene.and_then(|s| s.domain.as_ref()).map_or(String::new(), |d| {
        let side = |a: usize| length(d.max[a] - d.min[a]);
        format!(" · {} × {} × {}", side(0), side(1), side(2))
    });
    let sub = format!(
        "frames {first} to {last}, {} s at {} a second · cells of {}{domain}{end}",
        short(seconds),
        run.manifest.fps,
        length(run.manifest.cell)
    );
    let words = format!(
        "<h1>{}<span class=\"pill {class}\">{word}</span></h1><div class=\"sub\">{sub}</div>",
        escape(name)
    );
    match &run.hero {
        Some(picture) => format!(
            "<div class=\"hero\"><img src=\"{picture}\" alt=\"\"><div class=\"over\">{words}</div></div>"
        ),
        None => format!("<div class=\"plain\">{words}</div>"),
    }
}

fn cards(run: &Run) -> String {
    let (summary, reports) = (&run.summary, &run.reports);
    let seconds: f64 = reports.iter().map(|r| r.seconds).sum();
    let steps = reports.iter().filter(|r| r.substeps > 0).count().max(1);
    let last = reports.last().cloned().unwrap_or_default();
    let worst = reports.iter().map(|r| r.volume_error().abs()).fold(0.0, f64::max);
    let most = reports.iter().max_by_key(|r| r.substeps);
    let rule = most.filter(|r| r.substeps > 0).map_or(String::new(), |r| format!("because of {}", r.rule));
    let mean = reports.iter().map(|r| f64::from(r.substeps)).sum::<f64>() / steps as f64;
    let peak = reports.iter().map(|r| r.memory_bytes).max().unwrap_or(0);
    let speed = reports.iter().map(|r| r.max_speed).fold(0.0, f64::max);
    let frames = run.manifest.range[1].saturating_sub(run.manifest.range[0]).saturating_add(1);
    let card = |value: String, name: &str, small: String| {
        format!(
            "<div class=\"card\"><b>{}</b><span>{name}</span><small>{}</small></div>",
            escape(&value),
            escape(&small)
        )
    };
    let all = [
        card(format!("{} of {frames}", reports.len()), "frames", String::new()),
        card(clock(seconds), "of simulation", format!("{} s a frame", short(seconds / steps as f64))),
        card(
            format!("{} l", short(last.litres)),
            "of liquid at the end",
            format!("of {} l poured less left", short(last.litres_expected)),
        ),
        card(format!("{:.3} %", 100.0 * worst), "worst volume error", String::new()),
        card(short(mean), "substeps a frame", format!("at most {} {rule}", most.map_or(0, |r| r.substeps))),
        card(format!("{speed:.2} m/s"), "fastest liquid", String::new()),
        card(
            bytes(peak),
            "of arrays at the peak",
            format!("estimate for the whole run {}", bytes(summary.estimate.memory_bytes)),
        ),
        card(
            count(last.particles as u64),
            "particles at the end",
            format!("{} cells of liquid", count(last.liquid_cells as u64)),
        ),
    ];
    format!("<div class=\"cards\">{}</div>", all.concat())
}

fn sheet(run: &Run) -> String {
    if run.pictures.is_empty() {
        return String::new();
    }
    let tile = |(frame, picture): &(i64, String)| {
        format!(
            "<figure data-frame=\"{frame}\"><img src=\"{picture}\" alt=\"frame {frame}\" loading=\"lazy\"></figure>"
        )
    };
    format!(
        "<h2>The shot</h2><div class=\"sheet\">{}</div>",
        run.pictures.iter().map(tile).collect::<String>()
    )
}

fn plots(run: &Run) -> String {
    let charts = charts(&run.reports);
    let frames: Vec<i64> = run.reports.iter().map(|r| r.frame).collect();
    let drawn: String = charts.iter().enumerate().map(|(i, c)| c.svg(&frames, i)).collect();
    let mut data: Vec<_> = charts.iter().map(|c| c.data()).collect();
    // Which rule forced the substeps stands beside their number.
    if let Some(substeps) = data.get_mut(4) {
        substeps["notes"] = run.reports.iter().map(|r| r.rule.clone()).collect();
    }
    let data = script_json(&json!({"frames": frames, "charts": data}));
    format!(
        "<h2>Frame by frame</h2><div class=\"plots\">{drawn}</div><script type=\"application/json\" id=\"data\">{data}</script>"
    )
}

/// Where the time of the whole run went.
fn time(reports: &[FrameReport]) -> String {
    let mut sums = [0.0; 7];
    for report in reports {
        stage_seconds(report).iter().zip(&mut sums).for_each(|(s, sum)| *sum += s);
    }
    let total: f64 = sums.iter().sum();
    if total <= 0.0 {
        return String::new();
    }
    let part = |(i, s): (usize, &f64)| {
        let share = 100.0 * s / total;
        let words = if share >= 9.0 { format!("{} {share:.0} %", stage_in_words(i)) } else { String::new() };
        let title = format!("{}: {:.1} s, {share:.1} %", stage_in_words(i), s);
        format!(
            "<div style=\"width:{share:.2}%;background:{}\" title=\"{title}\">{words}</div>",
            STAGE_COLOURS[i]
        )
    };
    let parts: String = sums.iter().enumerate().map(part).collect();
    format!("<h2>Where the time went</h2><div class=\"share\">{parts}</div>")
}

/// Warnings, each once, with the frames it came in.
fn warnings(run: &Run) -> String {
    let mut frames: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for report in &run.reports {
        for text in &report.warnings {
            frames.entry(text).or_default().push(report.frame);
        }
    }
    let line = |(text, frames): (&&str, &Vec<i64>)| {
        format!("<li>{} <span>· {}</span></li>", escape(text), ranges(frames))
    };
    let all: String = frames.iter().map(line).collect();
    match all.is_empty() {
        true => "<h2>Warnings</h2><p class=\"note\">None.</p>".into(),
        false => format!("<h2>Warnings</h2><ul class=\"warnings\">{all}</ul>"),
    }
}

/// `frames 3–9, 14` from a rising list.
fn ranges(frames: &[i64]) -> String {
    let mut runs: Vec<[i64; 2]> = Vec::new();
    for f in frames {
        match runs.last_mut() {
            Some(run) if run[1] + 1 == *f => run[1] = *f,
            _ => runs.push([*f, *f]),
        }
    }
    let words: Vec<String> =
        runs.iter().map(|[a, b]| if a == b { a.to_string() } else { format!("{a}–{b}") }).collect();
    format!("frame{} {}", if frames.len() > 1 { "s" } else { "" }, words.join(", "))
}

fn scene_part(run: &Run, scene: Option<&Scene>) -> String {
    let mut rows = String::new();
    for liquid in scene.iter().flat_map(|s| &s.liquids) {
        let first = run.manifest.range[0] as f64;
        rows += &format!(
            "<tr><td>{}</td><td class=\"n\">{} kg/m³</td><td class=\"n\">{} Pa·s</td><td class=\"n\">{} N/m</td></tr>",
            escape(liquid.preset.as_deref().unwrap_or(&liquid.name)),
            short(liquid.density()),
            short_or_power(liquid.viscosity().at(first)),
            short_or_power(liquid.surface_tension().at(first)),
        );
    }
    let table = match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<table><tr><th>liquid</th><th class=\"n\">density</th><th class=\"n\">viscosity</th><th class=\"n\">surface tension</th></tr>{rows}</table>"
        ),
    };
    let pretty = serde_json::from_str::<serde_json::Value>(&run.scene_text).ok();
    let text =
        pretty.and_then(|v| serde_json::to_string_pretty(&v).ok()).unwrap_or_else(|| run.scene_text.clone());
    format!(
        "<h2>The scene</h2>{table}<details><summary>scene.json</summary><pre>{}</pre></details>",
        escape(&text)
    )
}

/// At most three digits after the point unless nothing would be left.
fn short_or_power(x: f64) -> String {
    if x != 0.0 && x.abs() < 0.01 { format!("{x:.2e}") } else { short(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_a_row_are_one_range() {
        assert_eq!(ranges(&[3, 4, 5, 9]), "frames 3–5, 9");
        assert_eq!(ranges(&[7]), "frame 7");
    }
}
