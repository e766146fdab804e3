//! From JSON text to a checked scene.
//!
//! The text is read straight into typed structs that deny unknown and repeated keys, so no tree of
//! arbitrary size is built. The reader stops at 128 levels, and numbers that overflow are refused by it.

use super::edit::{excerpt, nearest};
use super::{SCENE_VERSION, Scene};
use crate::error::{Error, Result};
use serde::Deserialize;

/// Longest scene text that is read: geometry belongs in mesh files.
pub const MAX_SCENE_BYTES: usize = 16 << 20;

impl Scene {
    /// Read and check a scene. An error carries the path of the value and what is allowed there.
    pub fn from_json(text: &str) -> Result<Scene> {
        if text.len() > MAX_SCENE_BYTES {
            let message = format!(
                "the text has {} MB and at most {} MB are read: put geometry into mesh files",
                text.len() >> 20,
                MAX_SCENE_BYTES >> 20
            );
            return Err(Error::scene("file", message));
        }
        let mut scene = read(text)?;
        scene.name_the_nameless();
        scene.validate()?;
        Ok(scene)
    }

    /// The scene as JSON that [`Scene::from_json`] reads back.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|e| Error::invalid("scene", e.to_string()))
    }

    /// Colliders and bodies without a name get one, for messages and files.
    fn name_the_nameless(&mut self) {
        for (i, name) in self.colliders.iter_mut().map(|c| &mut c.name).enumerate() {
            name_it(name, "collider", i);
        }
        for (i, name) in self.bodies.iter_mut().map(|b| &mut b.name).enumerate() {
            name_it(name, "body", i);
        }
        for (i, name) in self.initial.iter_mut().map(|v| &mut v.name).enumerate() {
            name_it(name, "initial", i);
        }
        for (i, name) in self.emitters.iter_mut().map(|e| &mut e.name).enumerate() {
            name_it(name, "emitter", i);
        }
        for (i, name) in self.sinks.iter_mut().map(|s| &mut s.name).enumerate() {
            name_it(name, "sink", i);
        }
    }
}

fn name_it(name: &mut String, kind: &str, index: usize) {
    if name.is_empty() {
        *name = format!("{kind}_{}", index + 1);
    }
}

fn read(text: &str) -> Result<Scene> {
    // A newer format must not be reported as a heap of unknown keys.
    #[derive(Deserialize)]
    struct Version {
        meniscus: u32,
    }
    if let Ok(Version { meniscus }) = serde_json::from_str(text)
        && meniscus > SCENE_VERSION
    {
        return Err(Error::Version { what: "scene".into(), found: meniscus, supported: SCENE_VERSION });
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let scene = serde_path_to_error::deserialize(&mut json)
        .map_err(|e| explain(&e.path().to_string(), &e.inner().to_string()))?;
    json.end().map_err(|e| explain(".", &e.to_string()))?;
    Ok(scene)
}

/// The reader's message in an artist's words, with the nearest known key.
fn explain(path: &str, message: &str) -> Error {
    let (what, position) = match message.rfind(" at line ") {
        Some(at) => message.split_at(at),
        None => (message, ""),
    };
    let path = if path == "." { "file" } else { path.trim_end_matches(".?") };
    let words = || what.split('`').skip(1).step_by(2);
    let told = if what.starts_with("unknown field") || what.starts_with("unknown variant") {
        let kind = if what.starts_with("unknown field") { "unknown key" } else { "unknown word" };
        unknown(kind, words().next().unwrap_or(""), &words().skip(1).collect::<Vec<_>>())
    } else if let Some(key) = what.strip_prefix("missing field ") {
        format!("the key {} is missing", key.replace('`', "\""))
    } else if let Some(key) = what.strip_prefix("duplicate field ") {
        format!("the key {} is there twice", key.replace('`', "\""))
    } else if what.starts_with("recursion limit") {
        "nested more than 128 levels deep".into()
    } else if what.starts_with("number out of range") {
        "the number is too large: numbers must be finite".into()
    } else if what.starts_with("expected value") {
        "not JSON; numbers must be finite, as 1.5 or -2e-3, never NaN or inf".into()
    } else {
        what.replace("expected f64", "expected a number")
            .replace("expected u32", "expected a whole number from 0")
    };
    Error::scene(
        excerpt(path),
        excerpt(&format!(
            "{told}{}",
            position.replace(" at line", " (line") + if position.is_empty() { "" } else { ")" }
        )),
    )
}

fn unknown(kind: &str, found: &str, known: &[&str]) -> String {
    let hint = match nearest(found, known.iter().copied()) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None => ";".into(),
    };
    format!("{kind} \"{found}\"{hint} allowed: {}", known.join(", "))
}
