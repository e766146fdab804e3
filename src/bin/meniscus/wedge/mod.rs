//! `meniscus wedge`: one scene with several values, as jobs for a farm.
//!
//! ```text
//! FOLDER/scene/scene.json   the scene, with the meshes that it names
//! FOLDER/wedge.json         the tasks: name and values of each
//! FOLDER/job.json           an Open Job Description template: simulate, preview, gather
//! FOLDER/slurm.sh           the same for Slurm: run it to submit three jobs that wait for each other
//! FOLDER/out/NAME           the cache of a task
//! FOLDER/out/contact.png    all tasks on one sheet
//! ```
//!
//! A task always runs with `--resume`, so one that was killed goes on from its newest checkpoint when the
//! scheduler starts it again. We schedule nothing ourselves.

pub mod gather;
mod openjd;
mod slurm;
mod sweep;

use super::args::SceneArgs;
use super::load::{Loaded, load, shapes};
use super::terminal::{bytes, say};
use clap::Args;
use meniscus::io::{atomic, mesh};
use meniscus::scene::{self, Scene, ShapeSpec};
use meniscus::simulation::Simulation;
use meniscus::{Error, Result};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use sweep::Sweep;

/// Write jobs for a farm that run a scene with several values.
#[derive(Args, Clone, Debug)]
pub struct WedgeArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// Values to try, as liquids[0].viscosity=1,10,100; repeated, every combination is run
    #[arg(long, value_name = "PATH=A,B,C", required = true)]
    pub sweep: Vec<String>,
    /// A new folder for the jobs
    #[arg(short, long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Write a checkpoint every so many frames, from which a killed task goes on
    #[arg(long, value_name = "FRAMES", default_value_t = 5)]
    pub checkpoint_every: u32,
    /// Pictures of each task on the sheet
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub tiles: usize,
}

/// The most tasks in a job: the limit of an Open Job Description's list.
const MOST: usize = 1024;

/// One simulation of a wedge.
pub struct Task {
    /// Of its cache, in the order of the wedge.
    pub name: String,
    /// A value for each sweep, as `--set` reads it.
    pub values: Vec<String>,
}

/// Everything that the writers of jobs need.
pub struct Wedge {
    pub title: String,
    pub sweeps: Vec<Sweep>,
    pub tasks: Vec<Task>,
    pub tiles: usize,
}

pub fn wedge(args: &WedgeArgs) -> Result<()> {
    let loaded = load(&args.scene)?;
    let sweeps = args.sweep.iter().map(|s| Sweep::parse(s)).collect::<Result<Vec<_>>>()?;
    let count = sweeps.iter().map(|s| s.values.len()).try_fold(1usize, usize::checked_mul);
    if count.is_none_or(|n| n > MOST) {
        return Err(Error::invalid(
            "--sweep",
            format!("more than {MOST} combinations: try fewer values at once"),
        ));
    }
    let text = with_checkpoints(&loaded, args.checkpoint_every)?;
    let tasks = sweep::tasks(&sweeps);
    let disk = check_all(&text, &sweeps, &tasks)?;
    if args.out.join("job.json").exists() {
        let message = "it already holds a wedge: choose another folder with -o";
        return Err(Error::invalid(args.out.display().to_string(), message));
    }
    let name = &loaded.scene.name;
    let title = if name.is_empty() { "wedge".to_string() } else { format!("{name} wedge") };
    let wedge = Wedge { title, sweeps, tasks, tiles: args.tiles.clamp(1, 64) };
    write(&args.out, &loaded, &text, &wedge)?;
    say(&format!(
        "{} tasks, at most about {} on disk: {}",
        wedge.tasks.len(),
        bytes(disk),
        args.out.display()
    ));
    say(&format!("  openjd run {} --step gather --run-dependencies", args.out.join("job.json").display()));
    say(&format!("  {}", args.out.join("slurm.sh").display()));
    Ok(())
}

/// The scene with checkpoints, unless it has its own mind about them.
fn with_checkpoints(loaded: &Loaded, every: u32) -> Result<String> {
    if loaded.scene.outputs.checkpoint_every > 0 {
        return Ok(loaded.text.clone());
    }
    scene::set(&loaded.text, "outputs.checkpoint_every", &every.to_string())
}

/// Refuse values that no scene can have before a farm finds out; returns the bytes of all frames.
fn check_all(text: &str, sweeps: &[Sweep], tasks: &[Task]) -> Result<u64> {
    let mut disk = 0u64;
    for task in tasks {
        let mut changed = text.to_string();
        for (sweep, value) in sweeps.iter().zip(&task.values) {
            changed = scene::set(&changed, &sweep.path, value)?;
        }
        let scene = Scene::from_json(&changed)?;
        let frames = scene.frames[1].saturating_sub(scene.frames[0]).unsigned_abs().saturating_add(1);
        disk = disk.saturating_add(Simulation::estimate(&scene).disk_bytes_per_frame.saturating_mul(frames));
    }
    Ok(disk)
}

fn write(folder: &Path, loaded: &Loaded, text: &str, wedge: &Wedge) -> Result<()> {
    atomic::create_folder(&folder.join("scene"))?;
    atomic::create_folder(&folder.join("out"))?;
    let text = copy_files(folder, loaded, text)?;
    atomic::write(&folder.join("scene/scene.json"), text.as_bytes())?;
    let paths: Vec<&str> = wedge.sweeps.iter().map(|s| s.path.as_str()).collect();
    let tasks: Vec<_> = wedge.tasks.iter().map(|t| json!({"name": t.name, "values": t.values})).collect();
    write_json(&folder.join("wedge.json"), &json!({"title": wedge.title, "paths": paths, "tasks": tasks}))?;
    let script = folder.join("slurm.sh");
    atomic::write(&script, slurm::script(wedge).as_bytes())?;
    executable(&script)?;
    // Last, because its presence says that the wedge is whole.
    write_json(&folder.join("job.json"), &openjd::template(wedge))
}

/// Copy meshes and fields to the scene of the wedge, which then needs nothing else; returns the scene that names the copies.
/// What lies in the scene's folder keeps its place there; what was allowed elsewhere gets a place below `meshes`.
fn copy_files(folder: &Path, loaded: &Loaded, text: &str) -> Result<String> {
    let mut text = text.to_string();
    let mut moved: BTreeMap<&str, String> = BTreeMap::new();
    for (place, file) in named_files(&loaded.scene) {
        let (count, from) = (moved.len(), loaded.paths.find(file)?);
        let plain =
            Path::new(file).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        let below = plain && from == loaded.paths.base().join(file);
        let to = moved.entry(file).or_insert_with(|| match below {
            true => file.to_string(),
            false => {
                let name = from.file_name().unwrap_or_default().to_string_lossy();
                format!("meshes/{count}_{name}")
            }
        });
        let copy = folder.join("scene").join(&*to);
        atomic::create_folder(copy.parent().unwrap_or(folder))?;
        atomic::write(&copy, &atomic::read(&from, mesh::MAX_MESH_BYTES)?)?;
        if !below {
            text = scene::set(&text, &place, &json!(to).to_string())?;
        }
    }
    Ok(text)
}

/// The files that a scene names, each with its place in the text.
fn named_files(scene: &Scene) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    for (path, _, shape, _) in shapes(scene) {
        match shape {
            ShapeSpec::Mesh { file, .. } => all.push((format!("{path}.mesh.file"), file.as_str())),
            ShapeSpec::Samples { files, .. } => {
                let places = files.iter().enumerate();
                all.extend(places.map(|(i, f)| (format!("{path}.samples.files[{i}][1]"), f.1.as_str())));
            }
            _ => {}
        }
    }
    for (i, field) in scene.fields.iter().enumerate() {
        let places = field.files.iter().enumerate();
        all.extend(places.map(|(n, f)| (format!("fields[{i}].files[{n}][1]"), f.1.as_str())));
    }
    all.retain(|(_, file)| !file.is_empty());
    all
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::invalid("JSON", e.to_string()))?;
    atomic::write(path, (text + "\n").as_bytes())
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(|e| Error::io(path, &e))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<()> {
    Ok(())
}
