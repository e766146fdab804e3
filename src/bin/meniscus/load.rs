//! A scene from a file, with the changes that the command line asks for.

use super::args::SceneArgs;
use meniscus::scene::{self, MAX_SCENE_BYTES, Scene};
use meniscus::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A scene as it will be run.
pub struct Loaded {
    pub scene: Scene,
    /// The text after `--set`, for the cache.
    pub text: String,
    /// The folder that files of the scene are relative to.
    pub base: PathBuf,
    /// For messages and for the name of the cache.
    pub file: PathBuf,
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
    find_files(&scene, &base)?;
    Ok(Loaded { scene, text, base, file })
}

/// A mesh that is not there is a fault of the scene, not of the disk.
fn find_files(scene: &Scene, base: &Path) -> Result<()> {
    let colliders = scene.colliders.iter().enumerate().map(|(i, c)| (format!("colliders[{i}]"), &c.shape));
    let bodies = scene.bodies.iter().enumerate().map(|(i, b)| (format!("bodies[{i}]"), &b.shape));
    let initial = scene.initial.iter().enumerate().map(|(i, v)| (format!("initial[{i}]"), &v.shape));
    let emitters = scene.emitters.iter().enumerate().map(|(i, e)| (format!("emitters[{i}]"), &e.shape));
    for (path, shape) in colliders.chain(bodies).chain(initial).chain(emitters) {
        if let Some(file) = shape.files().find(|f| !base.join(f).is_file()) {
            let message = format!("there is no file {file} in {}", base.display());
            return Err(Error::scene(format!("{path}.shape"), message));
        }
    }
    Ok(())
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
