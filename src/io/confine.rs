//! Which files a scene may name.
//!
//! A scene may come from anybody, and what it names is read by whoever runs it. So its files lie in its own folder or
//! below, wherever `..`, absolute paths and links lead in the end, unless their folder is allowed by name. On a farm
//! folders stand elsewhere: a map replaces the beginning of a path, and where it leads is allowed.

use crate::error::{Error, Result};
use std::path::{Component, Path, PathBuf};

/// The folders that a scene may use.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    base: PathBuf,
    allowed: Vec<PathBuf>,
    /// Beginnings of paths and what replaces them.
    map: Vec<(String, String)>,
}

impl Paths {
    /// The folder of a scene.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Paths { base: base.into(), ..Self::default() }
    }

    /// Allow further folders.
    pub fn allow(mut self, folders: &[PathBuf]) -> Self {
        self.allowed.extend_from_slice(folders);
        self
    }

    /// Replace beginnings of paths, written `FROM=TO`. The longest that fits counts.
    pub fn map(mut self, entries: &[String]) -> Result<Self> {
        for entry in entries {
            let Some((from, to)) = entry.split_once('=').filter(|(a, b)| !a.is_empty() && !b.is_empty())
            else {
                return Err(Error::invalid(
                    "--path-map",
                    format!("{entry}: write FROM=TO, as /shots=/mnt/shots"),
                ));
            };
            self.map.push((slashes(from), to.to_string()));
            self.allowed.push(to.into());
        }
        self.map.sort_by_key(|m| std::cmp::Reverse(m.0.len()));
        Ok(self)
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Where a file of the scene is; it must be there, be a file, and lie in a folder that is allowed.
    pub fn find(&self, file: &str) -> Result<PathBuf> {
        let path = self.place(file)?;
        // Says nothing of what is outside, so that a scene cannot be used to look around.
        let real = path.canonicalize().map_err(|_| self.missing(file))?;
        self.check(file, &real)?;
        if real.is_file() { Ok(path) } else { Err(Error::invalid(file, "is not a file")) }
    }

    /// Where a file or folder of the scene is to be; it need not be there yet.
    pub fn place(&self, file: &str) -> Result<PathBuf> {
        let path = self.base.join(self.mapped(file));
        // The part that exists shows where links lead; the rest may only go down.
        let mut there = path.as_path();
        let mut rest = Vec::new();
        let real = loop {
            match there.canonicalize() {
                Ok(real) => break real,
                Err(_) => match (there.components().next_back(), there.parent()) {
                    (Some(last), Some(up)) => {
                        rest.push(last);
                        there = if up.as_os_str().is_empty() { Path::new(".") } else { up };
                    }
                    _ => return Err(self.missing(file)),
                },
            }
        };
        if !rest.iter().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
            return Err(self.refused(file));
        }
        self.check(file, &real)?;
        Ok(path)
    }

    fn check(&self, file: &str, real: &Path) -> Result<()> {
        let inside = |folder: &Path| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            folder.canonicalize().is_ok_and(|f| real.starts_with(f))
        };
        let all = std::iter::once(&self.base).chain(&self.allowed);
        if all.map(PathBuf::as_path).any(inside) { Ok(()) } else { Err(self.refused(file)) }
    }

    /// A path with its beginning replaced.
    fn mapped(&self, file: &str) -> PathBuf {
        let path = slashes(file);
        for (from, to) in &self.map {
            let rest = path.strip_prefix(from.trim_end_matches('/'));
            if let Some(rest) = rest.filter(|r| r.is_empty() || r.starts_with('/')) {
                return Path::new(to).join(rest.trim_start_matches('/'));
            }
        }
        file.into()
    }

    fn missing(&self, file: &str) -> Error {
        Error::invalid(file, format!("there is no such file in {}", self.base.display()))
    }

    fn refused(&self, file: &str) -> Error {
        let message = format!(
            "leads out of the scene's folder {}: put it there, or allow its folder with --allow-path FOLDER",
            self.base.display()
        );
        Error::invalid(file, message)
    }
}

/// Paths from Windows may be mapped on other machines.
fn slashes(path: &str) -> String {
    path.replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_scene_are_found() {
        let root = std::env::temp_dir().join(format!("meniscus_confine_{}", std::process::id()));
        let (scene, other) = (root.join("scene"), root.join("other"));
        std::fs::create_dir_all(scene.join("models")).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(scene.join("models/a.obj"), "a").unwrap();
        std::fs::write(other.join("b.obj"), "b").unwrap();
        let paths = Paths::new(&scene);
        assert_eq!(paths.find("models/a.obj"), Ok(scene.join("models/a.obj")));
        assert!(paths.find("models/../models/a.obj").is_ok());
        let absolute = other.join("b.obj").display().to_string();
        for file in
            ["../other/b.obj", "models/../../other/b.obj", absolute.as_str(), "/dev/zero", "../other/none"]
        {
            let message = paths.find(file).unwrap_err().to_string();
            assert!(message.contains("leads out") && message.contains("--allow-path"), "{message}");
        }
        for file in ["none.obj", "models", "none/../../other/b.obj"] {
            assert!(paths.find(file).is_err(), "{file}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(other.join("b.obj"), scene.join("link.obj")).unwrap();
            std::os::unix::fs::symlink(&other, scene.join("folder")).unwrap();
            assert!(paths.find("link.obj").is_err() && paths.find("folder/b.obj").is_err());
            assert!(paths.place("folder/new").is_err());
        }
        assert!(paths.place("new/folder").is_ok() && paths.place("../new").is_err());
        assert!(paths.place("new/../../other/x").is_err());
        let allowed = paths.clone().allow(std::slice::from_ref(&other));
        assert!(allowed.find("../other/b.obj").is_ok() && allowed.find(&absolute).is_ok());
        let to = other.display().to_string();
        let mapped = paths.map(&[format!("P:\\show={to}"), "P:/=/nowhere".into()]).unwrap();
        assert_eq!(mapped.find("P:\\show\\b.obj"), Ok(other.join("b.obj")));
        assert!(mapped.find("P:\\shows\\b.obj").is_err());
        std::fs::remove_dir_all(root).unwrap();
    }
}
