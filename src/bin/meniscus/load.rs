//! A scene from a file, with the changes that the command line asks for.

use super::args::SceneArgs;
use meniscus::geometry::TriMesh;
use meniscus::io::mesh;
use meniscus::scene::{self, MAX_SCENE_BYTES, Scene, ShapeSpec};
use meniscus::{Error, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A scene as it will be run.
pub struct Loaded {
    pub scene: Scene,
    /// The text after `--set`, for the cache.
    pub text: String,
    /// The folder that files and folders of the scene are relative to.
    pub base: PathBuf,
    /// For messages and for the name of the cache.
    pub file: PathBuf,
    /// The meshes that the scene names.
    pub meshes: BTreeMap<String, TriMesh>,
}

/// Read the scene, apply `--set`, check it.
pub fn load(args: &SceneArgs) -> Result<Loaded> {
    let text = read(&args.scene)?;
    let base = match args.scene.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    from_text(text, &args.set, base, args.scene.clone())
}

/// The same for a text that is at hand.
pub fn from_text(text: String, set: &[String], base: PathBuf, file: PathBuf) -> Result<Loaded> {
    let mut scene = Scene::from_json(&text)?;
    let mut text = text;
    for change in set {
        let (path, value) = change.split_once('=').ok_or_else(|| {
            Error::invalid("--set", format!("{change}: write PATH=VALUE, as frames=[1,24]"))
        })?;
        text = scene::set(&text, path.trim(), value.trim())?;
    }
    if !set.is_empty() {
        scene = Scene::from_json(&text)?;
    }
    let meshes = read_meshes(&scene, &base)?;
    Ok(Loaded { scene, text, base, file, meshes })
}

/// Every shape of a scene with its path, the name of its object, and whether it must be closed.
pub fn shapes(scene: &Scene) -> Vec<(String, &str, &ShapeSpec, bool)> {
    let mut all: Vec<(String, &str, &ShapeSpec, bool)> = Vec::new();
    for (i, c) in scene.colliders.iter().enumerate() {
        all.push((format!("colliders[{i}].shape"), &c.name, &c.shape, false));
    }
    for (i, b) in scene.bodies.iter().enumerate() {
        all.push((format!("bodies[{i}].shape"), &b.name, &b.shape, true));
    }
    for (i, v) in scene.initial.iter().enumerate() {
        all.push((format!("initial[{i}].shape"), &v.name, &v.shape, true));
    }
    for (i, e) in scene.emitters.iter().enumerate() {
        all.push((format!("emitters[{i}].shape"), &e.name, &e.shape, true));
    }
    for (i, s) in scene.sinks.iter().enumerate() {
        all.push((format!("sinks[{i}].shape"), &s.name, &s.shape, true));
    }
    all
}

/// Read the meshes once. One that is not there is a fault of the scene, not of the disk.
fn read_meshes(scene: &Scene, base: &Path) -> Result<BTreeMap<String, TriMesh>> {
    let mut meshes = BTreeMap::new();
    for (path, name, shape, _) in shapes(scene) {
        for file in shape.files() {
            if meshes.contains_key(file) {
                continue;
            }
            if !base.join(file).is_file() {
                let message = format!("\"{name}\" needs the file {file}, which is not in {}", base.display());
                return Err(Error::scene(path, message));
            }
            // The reader names the file and refuses one without triangles; the scene names the object.
            let mesh = mesh::read(base.join(file)).map_err(|e| match e {
                Error::Io { .. } => e,
                wrong => Error::scene(path.clone(), format!("\"{name}\": {wrong}")),
            })?;
            meshes.insert(file.to_string(), mesh);
        }
    }
    Ok(meshes)
}

fn read(path: &Path) -> Result<String> {
    let what = || path.display().to_string();
    let wrong = |e: std::io::Error| Error::invalid(what(), format!("cannot be read: {e}"));
    let mut bytes = Vec::new();
    let limit = MAX_SCENE_BYTES as u64 + 1;
    if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(wrong)?;
    } else {
        // A device or a pipe might never end, or never begin.
        if !std::fs::metadata(path).map_err(wrong)?.is_file() {
            return Err(Error::invalid(what(), "is not a file"));
        }
        File::open(path).map_err(wrong)?.take(limit).read_to_end(&mut bytes).map_err(wrong)?;
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(what(), "is not text in UTF-8"))
}
