//! `meniscus run`: a scene becomes a folder of frames.
//!
//! The first frame holds the initial state, so a range of n frames takes n − 1 steps. Whatever stops the
//! run, frames that the manifest lists are whole and the summary says why it ended.

use super::args::{LimitArgs, RunArgs};
use super::load::{Loaded, load};
use super::progress::{Mode, Reporter};
use super::resume::{self, Start};
use super::{exit, preview, report, terminal};
use meniscus::geometry::TriMesh;
use meniscus::io::cache::{CacheWriter, Manifest};
use meniscus::io::checkpoint::Keeping;
use meniscus::io::usd::{UsdFrame, UsdPoints, UsdSolid};
use meniscus::io::vdb::{self, VdbFrame};
use meniscus::io::{dump, memory};
use meniscus::scene::{Scene, SurfaceFormat};
use meniscus::simulation::report::{ColliderPose, Estimate, FrameReport};
use meniscus::simulation::{Pool, Settings, Simulation};
use meniscus::{Cancel, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Everything that a run needs to know.
pub struct Job {
    pub loaded: Loaded,
    pub cache: PathBuf,
    pub overwrite: bool,
    pub start: Start,
    pub limits: LimitArgs,
    /// First and last frame to write.
    pub frames: [i64; 2],
    pub progress: Mode,
    /// Checkpoints to keep; 0 for all.
    pub keep: usize,
    /// Whether checkpoints are packed.
    pub pack: bool,
    /// Whether a page about the run is written at its end.
    pub report: bool,
}

impl Job {
    fn keeping(&self) -> Keeping {
        Keeping { newest: self.keep, packed: self.pack }
    }
}

/// The whole run, as in `summary.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub version: String,
    pub name: String,
    /// Why the run ended: done, cancelled, or the message of an error.
    pub end: String,
    pub exit_code: u8,
    pub frames_written: usize,
    pub seconds: f64,
    pub seconds_a_frame: f64,
    pub cell: f64,
    pub estimate: Estimate,
    pub litres: f64,
    pub litres_expected: f64,
    /// Largest relative error of the volume in any frame.
    pub worst_volume_error: f64,
    pub most_substeps: u32,
    pub max_speed: f64,
    /// The most that the process held, as the system counts it.
    pub peak_memory_bytes: u64,
    pub warnings: Vec<String>,
}

/// Run a scene file.
pub fn run(args: &RunArgs, stop: &Cancel) -> Result<()> {
    let loaded = load(&args.scene)?;
    let cache = match (&args.out, &loaded.scene.cache) {
        (Some(out), _) => out.clone(),
        (None, Some(folder)) => loaded.paths.place(folder)?,
        (None, None) => PathBuf::from(format!("{}_cache", stem(&loaded.file))),
    };
    let frames = match &args.frames {
        Some(range) => frame_range(range, loaded.scene.frames)?,
        None => loaded.scene.frames,
    };
    let job = Job {
        loaded,
        cache,
        overwrite: args.overwrite,
        start: Start::of(args),
        limits: args.limits.clone(),
        frames,
        progress: args.progress,
        keep: args.keep_checkpoints,
        pack: args.pack_checkpoints,
        report: !args.no_report,
    };
    let summary = simulate(&job, stop)?;
    if job.progress == Mode::Bar {
        terminal::say(&in_words(&summary, &job.cache));
    }
    Ok(())
}

fn stem(file: &Path) -> String {
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    if stem.is_empty() || stem == "-" { "scene".into() } else { stem }
}

/// A sentence about a finished run.
pub fn in_words(summary: &Summary, cache: &Path) -> String {
    format!(
        "{} frames in {} ({:.1} s each), {} of {} litres ({:+.3} %), at most {} substeps: {}",
        summary.frames_written,
        terminal::clock(summary.seconds),
        summary.seconds_a_frame,
        terminal::short(summary.litres),
        terminal::short(summary.litres_expected),
        100.0 * (summary.litres / summary.litres_expected.max(f64::MIN_POSITIVE) - 1.0),
        summary.most_substeps,
        cache.display()
    )
}

/// `A-B`, where both may be negative, inside the scene's own range.
fn frame_range(text: &str, [start, end]: [i64; 2]) -> Result<[i64; 2]> {
    let wrong = || Error::invalid("--frames", format!("{text}: write FIRST-LAST inside {start} to {end}"));
    // The dash between the numbers follows a digit; a minus sign does not.
    let dash =
        text.char_indices().skip(1).find(|(i, c)| *c == '-' && text.as_bytes()[i - 1].is_ascii_digit());
    let (first, last) = match dash {
        Some((at, _)) => (&text[..at], &text[at + 1..]),
        None => (text, text),
    };
    match (first.trim().parse::<i64>(), last.trim().parse::<i64>()) {
        (Ok(a), Ok(b)) if start <= a && a <= b && b <= end => Ok([a, b]),
        _ => Err(wrong()),
    }
}

/// Simulate and write; the summary is written however it ends.
pub fn simulate(job: &Job, stop: &Cancel) -> Result<Summary> {
    let begin = Instant::now();
    let scene = with_limits(&job.loaded.scene.to_si(), &job.limits)?;
    let mut reporter = Reporter::new(job.progress, [scene.frames[0], job.frames[1]]);
    let mut summary = Summary {
        version: env!("CARGO_PKG_VERSION").into(),
        name: scene.name.clone(),
        cell: scene.cell(),
        ..Default::default()
    };
    let mut cache = None;
    let ended = steps(job, &scene, stop, &mut cache, &mut reporter, &mut summary);
    summary.seconds = begin.elapsed().as_secs_f64();
    summary.seconds_a_frame = summary.seconds / summary.frames_written.max(1) as f64;
    summary.end = match &ended {
        Ok(()) => "done".into(),
        Err(e) => e.to_string(),
    };
    summary.exit_code = ended.as_ref().map_or_else(exit::code, |()| 0);
    let event = if ended.is_ok() { "done" } else { "error" };
    reporter.finish(event, &summary.end, &summary);
    let Some(cache) = &cache else {
        ended?;
        return Ok(summary);
    };
    let written = CacheWriter::write_summary(cache, &summary);
    let page = if job.report { write_page(job, ended.is_ok(), stop) } else { Ok(()) };
    // What ended the run matters more than the page about it.
    ended.and(written).and(page)?;
    Ok(summary)
}

/// The page about the run; whoever stopped it does not wait for pictures.
fn write_page(job: &Job, done: bool, stop: &Cancel) -> Result<()> {
    let tiles = if done { report::TILES } else { 0 };
    let out = job.cache.join("report.html");
    let pool = Pool::new(job.limits.threads.map(|n| n as usize))?;
    let drawn = pool.install(|| report::write(&job.cache, &out, tiles, preview::Quality::Draft, stop));
    match drawn {
        // Stopped while the pictures were drawn: all frames are there, and the page without pictures.
        Err(Error::Cancelled) => report::write(&job.cache, &out, 0, preview::Quality::Draft, &Cancel::new()),
        other => other,
    }
}

/// The command line goes before the scene, and the scene before what the machine has.
fn with_limits(scene: &Scene, limits: &LimitArgs) -> Result<Scene> {
    let mut scene = scene.clone();
    scene.threads = limits.threads.or(scene.threads);
    let machine = || memory::default_limit().map(|bytes| bytes as f64 * 1e-9);
    scene.memory_limit = limits.memory.or(scene.memory_limit).or_else(machine);
    scene.validate()?;
    Ok(scene)
}

fn steps(
    job: &Job,
    scene: &Scene,
    stop: &Cancel,
    cache: &mut Option<CacheWriter>,
    reporter: &mut Reporter,
    summary: &mut Summary,
) -> Result<()> {
    if scene.outputs.volumes {
        vdb::check_available("outputs.volumes")?;
    }
    for finding in scene.preflight() {
        reporter.warn(&format!("{}: {}", finding.path, finding.message));
    }
    summary.estimate = Simulation::estimate_with(scene, &|file| job.loaded.mesh(file), &job.loaded.fields)?;
    let settings = Settings {
        threads: scene.threads.map(|n| n as usize),
        memory_limit: scene.memory_limit.map(|gb| (gb * 1e9) as u64),
        fields: job.loaded.fields.clone(),
    };
    let mut simulation = Simulation::new(scene, &|file| job.loaded.mesh(file), &settings)?;
    let (writer, resumed) = resume::open(job, scene, &mut simulation)?;
    let cache = cache.insert(writer);
    write_colliders(cache, scene, &simulation)?;
    reporter.start(json!({
        "name": scene.name, "cache": job.cache, "frames": job.frames, "cell": scene.cell(),
        "estimate": summary.estimate, "resumed_from": resumed,
    }));
    let ended = frames(job, scene, stop, cache, &mut simulation, reporter, summary);
    if let (Err(_), Some(parent)) = (&ended, &scene.debug.dump_dir) {
        // What ended the run matters more than what is written about it.
        match job.loaded.paths.place(parent).and_then(|folder| dump::write(&folder, &simulation)) {
            Ok(Some(folder)) => reporter.warn(&format!("what failed is in {}", folder.display())),
            Ok(None) => {}
            Err(error) => reporter.warn(&format!("debug.dump_dir: {error}")),
        }
    }
    // What was asked to stop, or had too little memory, may go on from here.
    let mut last = matches!(ended, Err(Error::Cancelled | Error::Memory { .. }));
    last |= ended.is_ok() && scene.outputs.checkpoint_every > 0;
    let saved = match last {
        true => simulation.copy().and_then(|s| cache.write_checkpoint(simulation.frame(), s, job.keeping())),
        false => Ok(()),
    };
    let written = saved.and(cache.finish_checkpoints());
    summary.peak_memory_bytes = memory::resident().map_or(0, |r| r.peak);
    ended.and(written)
}

fn frames(
    job: &Job,
    scene: &Scene,
    stop: &Cancel,
    cache: &mut CacheWriter,
    simulation: &mut Simulation,
    reporter: &mut Reporter,
    summary: &mut Summary,
) -> Result<()> {
    let mut report = simulation.report();
    loop {
        let listed = cache.manifest().frames.binary_search(&report.frame).is_ok();
        // A run that goes on stands at a frame that was written with its full report.
        if report.frame >= job.frames[0] && !(listed && report.seconds == 0.0) {
            write_frame(cache, scene, simulation, &report)?;
            summary.frames_written += 1;
        }
        summary.add(&report);
        reporter.frame(&report);
        if report.frame >= job.frames[1] {
            return Ok(());
        }
        let every = i64::from(scene.outputs.checkpoint_every);
        if every > 0 && report.frame > scene.frames[0] && (report.frame - scene.frames[0]) % every == 0 {
            cache.write_checkpoint(report.frame, simulation.copy()?, job.keeping())?;
        }
        stop.check()?;
        let mut beyond = None;
        let advanced = simulation.advance_frame(&mut |p| {
            reporter.progress(p);
            beyond = beyond.take().or_else(|| beyond_memory(scene));
            stop.is_cancelled() || beyond.is_some()
        });
        report = match (advanced, beyond) {
            (Err(Error::Cancelled), Some(error)) => return Err(error),
            (advanced, _) => advanced?,
        };
    }
}

/// What the whole process holds against what it may; the simulation itself knows only its own arrays.
fn beyond_memory(scene: &Scene) -> Option<Error> {
    let limit = (scene.memory_limit? * 1e9) as u64;
    let now = memory::resident()?.now;
    (now > limit).then(|| Error::Memory {
        what: "the run".into(),
        needed_mb: now >> 20,
        limit_mb: limit >> 20,
        fix: "use larger cells or raise the limit, then go on with --resume".into(),
    })
}

impl Summary {
    fn add(&mut self, report: &FrameReport) {
        self.litres = report.litres;
        self.litres_expected = report.litres_expected;
        self.worst_volume_error = self.worst_volume_error.max(report.volume_error().abs());
        self.most_substeps = self.most_substeps.max(report.substeps);
        self.max_speed = self.max_speed.max(report.max_speed);
        self.warnings.extend(report.warnings.iter().map(|w| format!("frame {}: {w}", report.frame)));
    }
}

fn write_colliders(cache: &mut CacheWriter, scene: &Scene, simulation: &Simulation) -> Result<()> {
    if !scene.outputs.colliders {
        return Ok(());
    }
    for collider in simulation.collider_meshes() {
        cache.write_collider(collider.name, collider.look, collider.deforms, &collider.mesh)?;
    }
    Ok(())
}

fn write_frame(
    cache: &mut CacheWriter,
    scene: &Scene,
    simulation: &Simulation,
    report: &FrameReport,
) -> Result<()> {
    cache.begin_frame(report.frame)?;
    let usd = matches!(scene.outputs.surface, SurfaceFormat::Usdc | SurfaceFormat::Usda);
    let wanted = scene.outputs.surface != SurfaceFormat::None || scene.outputs.volumes;
    let surface = wanted.then(|| simulation.surface()).transpose()?;
    if let Some(surface) = &surface {
        match usd {
            true => write_usd(cache, scene, simulation, report, surface)?,
            false => cache.write_surface(report.frame, surface)?,
        }
    }
    if let (Some(surface), true) = (&surface, scene.outputs.volumes) {
        write_volumes(cache, simulation, report.frame, surface)?;
    }
    if scene.outputs.particles && !usd {
        let carried = simulation.particle_attributes();
        cache.write_particles(report.frame, simulation.particles(), &carried)?;
    }
    if let (true, Some(cells)) = (scene.outputs.cells, simulation.cells()) {
        cache.write_cells(report.frame, &cells)?;
    }
    if scene.outputs.colliders {
        for collider in simulation.collider_meshes().iter().filter(|c| c.deforms) {
            cache.write_deformed(report.frame, collider.name, &collider.mesh)?;
        }
    }
    cache.finish_frame(report.frame, report)
}

/// The fields as OpenVDB, and the stage that refers to them.
fn write_volumes(cache: &CacheWriter, simulation: &Simulation, frame: i64, surface: &TriMesh) -> Result<()> {
    let fields = simulation.volumes()?;
    let voxel = 0.5 * fields.tiles.h();
    let threads = simulation.threads();
    let shown = VdbFrame { surface, voxel, fields: Some(&fields), threads };
    vdb::write(&Manifest::volumes_file(cache.folder(), frame), &shown)?;
    let thick = !fields.viscosity.is_empty();
    let names = ["surface", "vel", "pressure", "collision", "viscosity"];
    cache.write_stage(frame, &names[..if thick { 5 } else { 4 }])
}

fn write_usd(
    cache: &CacheWriter,
    scene: &Scene,
    simulation: &Simulation,
    report: &FrameReport,
    surface: &TriMesh,
) -> Result<()> {
    let (particles, carried) = (simulation.particles(), simulation.particle_attributes());
    let points = UsdPoints {
        position: &particles.position,
        velocity: &particles.velocity,
        id: &particles.ids(),
        width: (0.5 * scene.cell()) as f32,
        carried: &carried,
    };
    let solid = |c: &ColliderPose| UsdSolid {
        name: c.name.clone(),
        translate: c.translate,
        rotate_quaternion_wxyz: c.rotate_quaternion_wxyz,
        scale: c.scale,
    };
    cache.write_usd(&UsdFrame {
        frame: report.frame,
        fps: scene.fps,
        surface: Some(surface),
        particles: scene.outputs.particles.then_some(points),
        solids: &report.colliders.iter().map(solid).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_frames_may_be_negative() {
        assert_eq!(frame_range("1-24", [1, 48]), Ok([1, 24]));
        assert_eq!(frame_range("-5--2", [-10, 48]), Ok([-5, -2]));
        assert_eq!(frame_range("-5-7", [-10, 48]), Ok([-5, 7]));
        assert_eq!(frame_range("7", [1, 48]), Ok([7, 7]));
        for wrong in ["", "a-b", "0-9", "9-8", "1-49", "1-", "-"] {
            assert!(frame_range(wrong, [1, 48]).is_err(), "{wrong}");
        }
    }
}
