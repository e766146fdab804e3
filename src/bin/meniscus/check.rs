//! `meniscus check`: the scene in an artist's words, before anything is simulated.

use super::args::CheckArgs;
use super::load::{Loaded, load, shapes};
use super::presets::print_json;
use super::terminal::{bytes, count, length, say, short};
use meniscus::geometry::TriMesh;
use meniscus::io::memory;
use meniscus::scene::{Finding, Scene, Severity};
use meniscus::simulation::Simulation;
use meniscus::simulation::report::Estimate;
use meniscus::{Error, Result};
use std::collections::BTreeMap;

/// Print what the scene is and what is doubtful about it; an error if it cannot work.
pub fn check(args: &CheckArgs) -> Result<()> {
    let loaded = load(&args.scene)?;
    let mut findings = loaded.scene.preflight();
    look_at_meshes(&loaded, &mut findings);
    if let Err(Error::Unsupported { what, message }) = Simulation::supports(&loaded.scene) {
        findings.push(Finding::new(Severity::Error, what, message));
    }
    let estimate = Simulation::estimate_with(&loaded.scene, &|file| loaded.mesh(file), &loaded.fields)?;
    look_at_memory(&loaded.scene, &estimate, &mut findings);
    if loaded.scene.outputs.volumes && !meniscus::io::vdb::AVAILABLE {
        let message = "this build has no OpenVDB and would refuse the run; build with --features openvdb";
        findings.push(Finding {
            severity: Severity::Error,
            path: "outputs.volumes".into(),
            message: message.into(),
        });
    }
    findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
    match args.json {
        true => print_json(&serde_json::json!({"estimate": estimate, "findings": findings}))?,
        false => print(&loaded, &estimate, &findings),
    }
    match findings.iter().find(|f| f.severity == Severity::Error) {
        Some(worst) => Err(Error::scene(worst.path.clone(), worst.message.clone())),
        None => Ok(()),
    }
}

fn print(loaded: &Loaded, estimate: &Estimate, findings: &[Finding]) {
    let scene = loaded.scene.to_si();
    say(&format!("{} {}", loaded.file.display(), scene.name));
    describe(&scene, estimate).iter().for_each(|line| say(&format!("  {line}")));
    for f in findings {
        let word = match f.severity {
            Severity::Info => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        say(&format!("  {word}: {}: {}", f.path, f.message));
    }
    if findings.is_empty() {
        say("  no doubts");
    }
}

/// Time, space and what is in it.
fn describe(scene: &Scene, estimate: &Estimate) -> Vec<String> {
    let [first, last] = scene.frames;
    let cell = scene.cell();
    let mut lines = vec![
        format!(
            "{} frames ({first} to {last}) at {} a second, {} s of liquid",
            last - first + 1,
            scene.fps,
            short(scene.seconds(last as f64))
        ),
        match &scene.domain {
            Some(d) => {
                let n: [f64; 3] = std::array::from_fn(|a| ((d.max[a] - d.min[a]) / cell).round().max(1.0));
                let total = count(n.iter().product::<f64>() as u64);
                format!(
                    "cells of {} (particle separation {}), {} × {} × {} in the domain: {total}",
                    length(cell),
                    length(0.5 * cell),
                    n[0],
                    n[1],
                    n[2]
                )
            }
            None => {
                format!("cells of {} (particle separation {}), unbounded", length(cell), length(0.5 * cell))
            }
        },
    ];
    lines.push(format!(
        "{} volumes, {} emitters, {} colliders, {} floating bodies",
        scene.initial.len(),
        scene.emitters.len(),
        scene.colliders.len(),
        scene.bodies.len()
    ));
    let frames = (last - first + 1) as u64;
    lines.push(format!(
        "at most about {} particles, {} of memory, {} of disk a frame, {} in all",
        count(estimate.particles),
        bytes(estimate.memory_bytes),
        bytes(estimate.disk_bytes_per_frame),
        bytes(estimate.disk_bytes_per_frame.saturating_mul(frames))
    ));
    lines
}

fn look_at_memory(scene: &Scene, estimate: &Estimate, findings: &mut Vec<Finding>) {
    let own = scene.memory_limit.map(|gb| (gb * 1e9) as u64);
    let Some(limit) = own.or_else(memory::default_limit) else { return };
    if estimate.memory_bytes > limit {
        let message = format!(
            "it needs about {} and {} are allowed: use larger cells, a smaller domain or raise memory_limit",
            bytes(estimate.memory_bytes),
            bytes(limit)
        );
        findings.push(Finding::new(Severity::Error, "memory_limit", message));
    }
}

/// Open meshes are allowed as walls but not as liquid.
fn look_at_meshes(loaded: &Loaded, findings: &mut Vec<Finding>) {
    for (path, _, shape, must_close) in shapes(&loaded.scene) {
        for (file, mesh) in shape.files().filter_map(|f| Some((f, loaded.meshes.get(f)?))) {
            if let Some((severity, message)) = openness(mesh, must_close) {
                findings.push(Finding::new(severity, path.clone(), format!("{file}: {message}")));
            }
        }
    }
}

/// What the edges of a mesh say: each edge of a closed surface has two triangles, one in each direction.
fn openness(mesh: &TriMesh, must_close: bool) -> Option<(Severity, String)> {
    let mut edges: BTreeMap<[u32; 2], u32> = BTreeMap::new();
    for t in &mesh.triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            *edges.entry([a.min(b), a.max(b)]).or_default() += 1;
        }
    }
    let open = edges.values().filter(|n| **n == 1).count();
    let many = edges.values().filter(|n| **n > 2).count();
    match (open, many, must_close) {
        (0, 0, _) => None,
        (0, _, _) => Some((Severity::Info, format!("{many} edges have more than two triangles"))),
        (_, _, true) => Some((
            Severity::Warning,
            format!("it is open along {open} edges; liquid and bodies need closed meshes"),
        )),
        _ => Some((
            Severity::Info,
            format!("it is open along {open} edges and is treated as a thin wall with two sides"),
        )),
    }
}
