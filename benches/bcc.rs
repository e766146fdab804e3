//! Speed and size of the graded lattice from octree to adjacency, and its pressure solve at several sizes.
//!
//! ```sh
//! cargo bench --bench bcc                       # meshing, and one pressure solve at three sizes
//! cargo bench --bench bcc -- frame 40 2 4       # whole frames: cells along the depth of a dam, threads, frames
//! cargo bench --bench bcc -- tank 256 2 3       # a drop into a deep tank, beside `mac`: cells deep, threads, frames
//! cargo bench --bench bcc -- drop 56 2 8       # the bunny, of honey, on its head: cells along it, threads, frames
//! MENISCUS_MODELS=FOLDER cargo bench --bench bcc -- drop 56 2 8    # each model of a folder as well
//! ```
//!
//! Gates: 4 million tets a second on one thread, 6 on two, 150 bytes a tet; iterations of the pressure solve within
//! 20 % from 10⁵ to 3 × 10⁶ tets, and the cost of a frame a tet as well; the tank with a quarter of the unknowns and
//! half of the time of `mac`; a model of honey (40 Pa·s) at .9 to 1.9 million tets 20 s a frame on two cores and 1,000 bytes
//! a tet. Wall-clock times: use an idle machine.

use meniscus::geometry::TriMesh;
use meniscus::math::Vec3;
use meniscus::mesh::bcc::{Edges, Lattice, Octree, OctreeDomain, Sizing};
use meniscus::scene::Scene;
use meniscus::simulation::report::FrameReport;
use meniscus::simulation::{Settings, Simulation};
use meniscus::solver::bcc::{Cut, Embedded, LatticeVelocity, open_shares, reconstruct};
use meniscus::{Cancel, Error};
use serde_json::{Value, json};
use std::time::Instant;

/// Seconds that this thread has run, so that a busy machine does not count; else those of the clock.
fn seconds_run(start: Instant) -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = ran.as_deref().and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(start.elapsed().as_secs_f64(), |n| 1e-9 * n)
}

/// The lattice over an octree, and the least time of several runs in seconds: of the thread if there is one only,
/// of the clock if there are more.
fn build(octree: &Octree, threads: usize) -> Result<(Lattice, f64), Error> {
    let (mut built, mut least) = (None, f64::INFINITY);
    let begin = Instant::now();
    let now = || if threads == 1 { seconds_run(begin) } else { begin.elapsed().as_secs_f64() };
    for _ in 0..9 {
        let octree = octree.clone();
        drop(built.take());
        let start = now();
        built = Some(Lattice::new(octree)?);
        least = least.min(now() - start);
    }
    built.map(|l| (l, least)).ok_or_else(|| Error::invalid("bench", "no runs"))
}

/// Height above a wavy surface, m.
fn above(x: &Vec3) -> f64 {
    x.y - 2.0 - 0.3 * (2.0 * x.x).sin() * (1.5 * x.z).cos()
}

/// The surface across a box of 4 m, with cells of 4/2ⁿ m in its band.
fn waves(levels: u32) -> Result<Octree, Error> {
    let domain = OctreeDomain {
        origin: Vec3::zeros(),
        roots: [4; 3],
        root_width: 1.0,
        depth: levels - 2,
        periodic: false,
        max_leaves: 1 << 24,
    };
    let width = 4.0 / (1u32 << levels) as f64;
    let sizing = Sizing::new().near(above, width, 3.0 * width, 0.5);
    Octree::new(domain, |c| sizing.refines(c))
}

fn mesh(levels: u32, threads: usize) -> Result<(), Error> {
    let start = Instant::now();
    let octree = waves(levels)?;
    let sized = start.elapsed().as_secs_f64();
    let (lattice, seconds) = build(&octree, threads)?;
    let tets = lattice.tets.vertices.len();
    println!(
        "mesh: {threads} threads, {} leaves (octree {:.0} ms), {tets} tets in {:.0} ms: {:.1} million tets/s (gate {}), {:.0} bytes a tet (gate 150)",
        octree.leaves(),
        1e3 * sized,
        1e3 * seconds,
        tets as f64 / seconds / 1e6,
        [4, 6][threads - 1],
        lattice.bytes() as f64 / tets as f64,
    );
    Ok(())
}

/// One step of the waves under gravity on a lattice at rest: where the time goes, and the iterations.
fn pressure(levels: u32) -> Result<(), Error> {
    let lattice = Lattice::new(waves(levels)?)?;
    let faces = lattice.faces.cells.len();
    let (dt, density) = (0.01, 1000.0);
    let mut lap = Instant::now();
    let mut seconds = || std::mem::replace(&mut lap, Instant::now()).elapsed().as_secs_f64();
    // A ball of solid in the deep, half of it out of the water.
    let solid = |v: usize| (lattice.vertex(v as u32) - Vec3::new(2.0, 2.0, 2.0)).norm() - 0.6;
    let solid: Vec<f64> = (0..lattice.vertices.len()).map(solid).collect();
    let liquid: Vec<f64> = (0..lattice.cells()).map(|c| above(&lattice.circumcentre(c as u32))).collect();
    let fall = |f: usize| -9.81 * dt * lattice.dual_edge(f).normalize().y;
    let mut velocity: Vec<f64> = (0..faces).map(fall).collect();
    seconds();
    let open = open_shares(&lattice, &solid)?;
    let cut = Cut { lattice: &lattice, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros())?;
    let graph = seconds();
    let mut p = vec![0.0; lattice.cells()];
    let done = embedded.project(dt / density, &mut p, 1e-8, &Cancel::new())?;
    let solve = seconds();
    embedded.store(&mut velocity);
    let mut known = vec![false; faces];
    embedded.faces.iter().for_each(|&f| known[f as usize] = true);
    let edges = Edges::new(&lattice);
    let found = seconds();
    let field = LatticeVelocity::new(&lattice, &edges, reconstruct(&lattice, &velocity, &known, 4)?)?;
    let means = seconds();
    let carried = field.carry(&lattice, dt);
    let carry = seconds();
    println!(
        "pressure: {} tets, {} unknowns, {} iterations to 1e-8; graph {graph:.2} s, solve {solve:.2} s, edges {found:.2} s, velocity {means:.2} s, {} faces carried in {carry:.2} s",
        lattice.tets.vertices.len(),
        embedded.cells.len(),
        done.solve.map_or(0, |s| s.iterations),
        carried.len(),
    );
    Ok(())
}

fn simulation(scene: &Value, mesh: &TriMesh, threads: usize) -> Result<Simulation, Error> {
    let settings = Settings { threads: Some(threads), ..Settings::default() };
    Simulation::new(&Scene::from_json(&scene.to_string())?, &|_| Ok(mesh.clone()), &settings)
}

/// Whole frames of a dam that breaks, a tank of 2 × 1 × 1 m with its water 0.7 m deep.
fn frame(cells: usize, threads: usize, frames: usize) -> Result<(), Error> {
    let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 24, "simulator": {"type": "bcc", "detail": 8},
        "domain": {"min": [-1, 0, -0.5], "max": [1, 1, 0.5]}, "resolution": {"cell": 0.7 / cells as f64},
        "initial": [{"shape": {"box": {"min": [-2, -1, -1], "max": [-0.2, 0.7, 1]}}}]});
    let sim = simulation(&scene, &TriMesh::default(), threads)?;
    run(sim, frames, json!({"case": "frame", "cells": cells, "threads": threads}))
}

/// Add the seconds of the stages of a frame to those so far.
fn add_stages(stages: &mut Vec<(String, f64)>, report: &FrameReport) {
    stages.resize(report.stage_seconds.len(), Default::default());
    stages.iter_mut().zip(&report.stage_seconds).for_each(|(s, r)| *s = (r.0.clone(), s.1 + r.1));
}

/// The seconds of each stage in a substep.
fn a_substep(stages: Vec<(String, f64)>, substeps: f64) -> Value {
    stages.into_iter().map(|(name, s)| (name, json!(s / substeps))).collect::<serde_json::Map<_, _>>().into()
}

/// Go on for some frames and write what they cost in the mean, after what is known of the case.
fn run(mut sim: Simulation, frames: usize, mut line: Value) -> Result<(), Error> {
    let (mut seconds, mut substeps, mut iterations, mut tets, mut unknowns) = (0.0, 0.0, 0, 0.0, 0.0);
    let mut slowest = 0.0f64;
    let mut stages: Vec<(String, f64)> = Vec::new();
    for _ in 0..frames {
        let report = sim.advance_frame(&mut |_| false)?.clone();
        let steps = f64::from(report.substeps);
        seconds += report.seconds;
        slowest = slowest.max(report.seconds);
        iterations += report.iterations;
        tets += steps * sim.cells().map_or(0.0, |c| c.lattice.tets.vertices.len() as f64);
        unknowns += steps * report.liquid_cells as f64;
        substeps += steps;
        add_stages(&mut stages, &report);
    }
    let stages = a_substep(stages, substeps);
    let last = sim.report();
    let found = json!({"frames": frames, "seconds_a_frame": seconds / frames as f64, "slowest_frame": slowest,
        "substeps": substeps, "stages_a_substep": stages, "tets": tets / substeps,
        "liquid_cells": unknowns / substeps, "microseconds_a_tet": 1e6 * seconds / tets,
        "iterations_a_substep": iterations as f64 / substeps, "volume_error": last.volume_error(),
        "bytes_a_tet": last.memory_bytes as f64 * substeps / tets});
    found.as_object().into_iter().flatten().for_each(|(name, value)| line[name] = value.clone());
    println!("{line}");
    Ok(())
}

/// Models to drop: the bunny, and whatever the folder MENISCUS_MODELS holds.
fn models() -> Result<Vec<(String, TriMesh)>, Box<dyn std::error::Error>> {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenes/models/bunny.obj");
    let mut paths = vec![here];
    if let Ok(folder) = std::env::var("MENISCUS_MODELS") {
        let files = std::fs::read_dir(folder)?.filter_map(|f| Some(f.ok()?.path()));
        paths.extend(files.filter(|f| !f.ends_with("bunny.obj")));
        paths.sort();
    }
    let read = |path: &std::path::PathBuf| {
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Ok((name.clone(), meniscus::io::mesh::parse(&name, &std::fs::read(path)?)?))
    };
    paths.iter().map(read).collect()
}

/// A model 100 mm long, of honey, falls 20 mm on its head.
fn drop_model(
    (name, mesh): &(String, TriMesh),
    cells: usize,
    threads: usize,
    frames: usize,
) -> Result<(), Error> {
    let bounds = mesh.bounds();
    let scale = 0.1 / bounds.size().max();
    let middle = (bounds.lo + bounds.hi) * (0.5 * scale);
    let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 48, "simulator": {"type": "bcc", "detail": 4},
        "domain": {"min": [-0.1, 0, -0.1], "max": [0.1, 0.16, 0.1], "sides": {"y_max": "open"}},
        "resolution": {"cell": 0.1 / cells as f64}, "liquids": [{"density": 1400, "viscosity": 40}],
        "initial": [{"shape": {"mesh": {"file": name}}, "transform": {"rotate": [180, 0, 0], "scale": scale,
            "translate": [-middle.x, 0.02 + bounds.hi.y * scale, middle.z]}}]});
    let sim = simulation(&scene, mesh, threads)?;
    run(sim, frames, json!({"case": "drop", "model": name, "cells": cells, "threads": threads}))
}

/// The least and the greatest height of a surface over each of the columns of 16² that touch no wall, m.
fn heights(sim: &Simulation) -> Result<[Vec<f64>; 2], Error> {
    let (mut low, mut high) = (vec![2.25f64; 256], vec![0.0f64; 256]);
    for x in sim.surface()?.positions.iter().filter(|x| x.y > 1.0) {
        let column = |v: f64| ((v * 32.0) as usize).min(15);
        let at = column(x.x) + 16 * column(x.z);
        (low[at], high[at]) = (low[at].min(x.y), high[at].max(x.y));
    }
    let inner = |all: Vec<f64>| {
        let touches = |at: usize| [at % 16, at / 16].iter().any(|c| [0, 15].contains(c));
        all.into_iter().enumerate().filter(|(at, _)| !touches(*at)).map(|(_, y)| y).collect()
    };
    Ok([low, high].map(inner))
}

/// A drop falls into a tank 2 m deep and 0.5 m wide, by both simulators.
fn tank(cells: usize, threads: usize, frames: usize) -> Result<(), Error> {
    let mut found = Vec::new();
    for simulator in [json!({"type": "bcc", "detail": 32}), json!({"type": "mac"})] {
        let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 24, "simulator": simulator,
            "domain": {"min": [0, 0, 0], "max": [0.5, 2.25, 0.5]}, "resolution": {"cell": 2.0 / cells as f64},
            "initial": [{"shape": {"box": {"min": [-1, -1, -1], "max": [2, 2, 2]}}},
                {"shape": {"sphere": {"center": [0.25, 2.1, 0.25], "radius": 0.06}}, "velocity": [0, -2, 0]}]});
        let mut sim = simulation(&scene, &TriMesh::default(), threads)?;
        let (mut seconds, mut substeps, mut stages) = (0.0, 0, Vec::new());
        for _ in 0..frames {
            let report = sim.advance_frame(&mut |_| false)?;
            (seconds, substeps) = (seconds + report.seconds, substeps + report.substeps);
            add_stages(&mut stages, &report);
        }
        let last = sim.report();
        let line = json!({"case": "tank", "simulator": simulator["type"], "cells": cells, "threads": threads,
            "seconds_a_frame": seconds / frames as f64, "substeps": substeps, "unknowns": last.liquid_cells,
            "stages_a_substep": a_substep(stages, f64::from(substeps)),
            "volume_error": last.volume_error(), "megabytes": last.memory_bytes as f64 / 1e6});
        println!("{line}");
        found.push((seconds, last.liquid_cells as f64, heights(&sim)?));
    }
    let (ours, grid) = (&found[0], &found[1]);
    println!(
        "tank: {:.1} times fewer unknowns (gate 4), {:.2} times less time (gate 2)",
        grid.1 / ours.1,
        grid.0 / ours.0,
    );
    // The crown is thinner than a cell at its rim and hangs over other columns: what is highest tells how far it is thrown,
    // what is lowest where the water is.
    for (what, k) in [("the lowest surface of a column differs", 0), ("the highest", 1)] {
        let both = ours.2[k].iter().zip(&grid.2[k]);
        let mut apart: Vec<f64> = both.map(|(a, b)| (a - b).abs() * cells as f64 / 2.0).collect();
        apart.sort_by(f64::total_cmp);
        let count = apart.len() as f64;
        println!(
            "{what} by {:.2} cells in the median, {:.0} % by less than one, root mean square {:.2}",
            apart[apart.len() / 2],
            100.0 * apart.iter().filter(|a| **a < 1.0).count() as f64 / count,
            (apart.iter().map(|a| a * a).sum::<f64>() / count).sqrt(),
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |n: usize, other: usize| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(other);
    match args.first().map(String::as_str) {
        Some("frame") => return Ok(frame(number(1, 40), number(2, 2), number(3, 4))?),
        Some("tank") => return Ok(tank(number(1, 256), number(2, 2), number(3, 3))?),
        Some("drop") => {
            for model in models()? {
                drop_model(&model, number(1, 56), number(2, 2), number(3, 8))?;
            }
            return Ok(());
        }
        _ => {}
    }
    for levels in [6, 7] {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            pool.install(|| mesh(levels, threads))?;
        }
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    for levels in [5, 6, 7] {
        pool.install(|| pressure(levels))?;
    }
    Ok(())
}
