//! A scene from a file, with the changes that the command line asks for.

use super::args::SceneArgs;
use meniscus::geometry::TriMesh;
use meniscus::io::confine::Paths;
use meniscus::io::{atomic, mesh, nrrd};
use meniscus::scene::{self, MAX_SCENE_BYTES, Scene, ShapeSpec};
use meniscus::simulation::FieldFiles;
use meniscus::{Error, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scene as it will be run.
pub struct Loaded {
    pub scene: Scene,
    /// The text after `--set`, for the cache.
    pub text: String,
    /// The folder that files and folders of the scene are relative to, and what else it may use.
    pub paths: Paths,
    /// For messages and for the name of the cache.
    pub file: PathBuf,
    /// The meshes that the scene names.
    pub meshes: BTreeMap<String, TriMesh>,
    /// The fields that the scene names.
    pub fields: FieldFiles,
    /// The CRC-32 of each of these files.
    pub sums: BTreeMap<String, u32>,
}

impl Loaded {
    /// A mesh that the scene names.
    pub fn mesh(&self, file: &str) -> Result<TriMesh> {
        self.meshes.get(file).cloned().ok_or_else(|| Error::invalid(file, "no such mesh was read"))
    }
}

/// Read the scene, apply `--set`, check it.
pub fn load(args: &SceneArgs) -> Result<Loaded> {
    let text = read(&args.scene)?;
    let base = match args.scene.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let paths = Paths::new(base).allow(&args.allow_path).map(&args.path_map)?;
    from_text(text, &args.set, paths, args.scene.clone())
}

/// The same for a text that is at hand.
pub fn from_text(text: String, set: &[String], paths: Paths, file: PathBuf) -> Result<Loaded> {
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
    let (meshes, mut sums) = read_meshes(&scene, &paths)?;
    let fields = read_fields(&scene, &paths, &mut sums)?;
    Ok(Loaded { scene, text, paths, file, meshes, fields, sums })
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

/// The meshes of a scene and the sums of their files, by the names that the scene gives.
type Meshes = (BTreeMap<String, TriMesh>, BTreeMap<String, u32>);

/// Read the meshes once. One that is not there, or may not be read, is a fault of the scene, not of the disk.
fn read_meshes(scene: &Scene, paths: &Paths) -> Result<Meshes> {
    let (mut meshes, mut sums) = (BTreeMap::new(), BTreeMap::new());
    for (path, name, shape, _) in shapes(scene) {
        // The reader names the file and refuses one without triangles; the scene names the object.
        let fault = |e: Error| match e {
            Error::Io { .. } => e,
            wrong => Error::scene(path.clone(), format!("\"{name}\": {wrong}")),
        };
        for file in shape.files() {
            if meshes.contains_key(file) {
                continue;
            }
            let found = paths.find(file).map_err(fault)?;
            let bytes = atomic::read(&found, mesh::MAX_MESH_BYTES).map_err(fault)?;
            let mesh = mesh::parse(&found.display().to_string(), &bytes).map_err(fault)?;
            meshes.insert(file.to_string(), mesh);
            sums.insert(file.to_string(), crc32fast::hash(&bytes));
        }
    }
    Ok((meshes, sums))
}

/// Read the fields once, and note the sums of their files.
fn read_fields(scene: &Scene, paths: &Paths, sums: &mut BTreeMap<String, u32>) -> Result<FieldFiles> {
    let mut fields = FieldFiles::new();
    for (i, field) in scene.fields.iter().enumerate() {
        let fault = |e: Error| match e {
            Error::Io { .. } => e,
            wrong => Error::scene(format!("fields[{i}].files"), format!("\"{}\": {wrong}", field.name)),
        };
        for (_, file) in &field.files {
            if fields.contains_key(file) {
                continue;
            }
            let found = paths.find(file).map_err(fault)?;
            let bytes = atomic::read(&found, mesh::MAX_MESH_BYTES).map_err(fault)?;
            let read = nrrd::parse(&found.display().to_string(), &bytes).map_err(fault)?;
            fields.insert(file.clone(), Arc::new(read));
            sums.insert(file.clone(), crc32fast::hash(&bytes));
        }
    }
    Ok(fields)
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
