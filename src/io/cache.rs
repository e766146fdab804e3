//! The folder of a run.
//!
//! ```text
//! CACHE/manifest.json          what is here; replaced last, so a listed frame is whole
//! CACHE/scene.json             the scene as it was run
//! CACHE/surface/0001.ply       the liquid's surface with velocity (or .obj, .vtp, .usdc, .usda)
//! CACHE/liquid.usda            the surfaces as one animated stage, if they are USD, and the volumes
//! CACHE/particles/0001.ply     the particles, if asked for
//! CACHE/vdb/0001.vdb           the surface as a level set and the fields, if asked for
//! CACHE/cells/0001.vtu         the cells of the simulator `bcc`, if asked for
//! CACHE/colliders/NAME.ply     solids in their rest pose; poses are in the reports
//! CACHE/colliders/NAME/0001.ply   solids that deform
//! CACHE/report/0001.json       the report of a frame
//! CACHE/checkpoint/0010.state  all that is needed to go on from a frame
//! CACHE/summary.json           the whole run
//! CACHE/preview/*.png          pictures
//! CACHE/lock                   held while somebody writes
//! ```
//!
//! Every file is written by [`super::atomic`], so readers may follow a run while it goes on.

use super::atomic;
use super::checkpoint;
use super::frame::{frame_name, frame_number};
use super::mesh::{write_obj, write_particles_ply, write_ply};
use super::usd::{self, StageOf, UsdFrame};
use super::vtp;
use super::vtu::{VtuField, write_lattice};
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::math::Vec3;
use crate::scene::{Fps, Look, Scene, SimulatorType, SurfaceFormat};
use crate::simulation::CellsView;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The version of the cache layout.
pub const CACHE_VERSION: u32 = 1;
/// Folders whose files are named by frames.
const FRAME_FOLDERS: [&str; 5] = ["surface", "particles", "cells", "vdb", "report"];

/// Endings of the files in them.
const ENDINGS: [&str; 8] = ["ply", "obj", "vtp", "usdc", "usda", "vtu", "vdb", "json"];

/// What is in a cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the layout.
    pub version: u32,
    /// Name of the scene.
    pub name: String,
    pub fps: Fps,
    /// First and last frame of the scene.
    pub range: [i64; 2],
    /// Frames that are whole, rising.
    pub frames: Vec<i64>,
    /// Edge of a cell in metres.
    pub cell: f64,
    /// Lowest and highest corner of the domain in metres; nothing if it is unbounded.
    pub bounds: Option<[[f64; 3]; 2]>,
    /// Format of the surfaces.
    pub surface: SurfaceFormat,
    /// Whether particles are written.
    pub particles: bool,
    /// Whether cells are written.
    #[serde(default)]
    pub cells: bool,
    /// Whether volumes are written.
    #[serde(default)]
    pub volumes: bool,
    pub colliders: Vec<ManifestCollider>,
    /// The CRC-32 of each file of a frame, by its path in the cache.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, u32>,
}

/// A solid in a cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestCollider {
    pub name: String,
    pub look: Look,
    /// Whether its mesh is written for each frame.
    pub deforming: bool,
}

impl Manifest {
    /// An empty manifest for a scene in SI units.
    pub fn new(scene: &Scene) -> Self {
        Manifest {
            version: CACHE_VERSION,
            name: scene.name.clone(),
            fps: scene.fps,
            range: scene.frames,
            frames: Vec::new(),
            cell: scene.cell(),
            bounds: scene.domain.as_ref().map(|d| [d.min, d.max]),
            surface: scene.outputs.surface,
            particles: scene.outputs.particles,
            cells: scene.outputs.cells && scene.simulator.kind == SimulatorType::Bcc,
            volumes: scene.outputs.volumes,
            colliders: Vec::new(),
            sums: BTreeMap::new(),
        }
    }

    /// Read the manifest of a cache.
    pub fn read(cache: &Path) -> Result<Manifest> {
        let path = cache.join("manifest.json");
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, &e))?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|e| Error::Format {
            file: path.display().to_string(),
            place: format!("line {}", e.line()),
            message: e.to_string(),
        })?;
        match manifest.version {
            CACHE_VERSION => Ok(manifest),
            found => {
                Err(Error::Version { what: path.display().to_string(), found, supported: CACHE_VERSION })
            }
        }
    }

    /// The file of a frame's surface, if surfaces are written.
    pub fn surface_file(&self, cache: &Path, frame: i64) -> Option<PathBuf> {
        let extension = extension(self.surface)?;
        Some(cache.join("surface").join(frame_name(frame)).with_extension(extension))
    }

    /// The file of a frame's cells.
    pub fn cells_file(cache: &Path, frame: i64) -> PathBuf {
        cache.join("cells").join(frame_name(frame) + ".vtu")
    }

    /// The file of a frame's volumes.
    pub fn volumes_file(cache: &Path, frame: i64) -> PathBuf {
        cache.join("vdb").join(frame_name(frame) + ".vdb")
    }

    /// The file of a frame's report.
    pub fn report_file(cache: &Path, frame: i64) -> PathBuf {
        cache.join("report").join(frame_name(frame) + ".json")
    }

    /// The mesh of a solid at a frame; in its rest pose unless it deforms.
    pub fn collider_file(cache: &Path, collider: &ManifestCollider, frame: i64) -> PathBuf {
        let folder = cache.join("colliders");
        match collider.deforming {
            true => folder.join(&collider.name).join(frame_name(frame) + ".ply"),
            false => folder.join(format!("{}.ply", collider.name)),
        }
    }
}

/// The ending of files of a format.
pub fn extension(format: SurfaceFormat) -> Option<&'static str> {
    match format {
        SurfaceFormat::Ply => Some("ply"),
        SurfaceFormat::Obj => Some("obj"),
        SurfaceFormat::Vtp => Some("vtp"),
        SurfaceFormat::Usdc => Some("usdc"),
        SurfaceFormat::Usda => Some("usda"),
        SurfaceFormat::None => None,
    }
}

/// A cache that is being written; holds its lock until it is dropped.
#[derive(Debug)]
pub struct CacheWriter {
    folder: PathBuf,
    manifest: Manifest,
    _lock: File,
}

impl CacheWriter {
    /// Make a folder ready for a run of this scene (in SI units). A folder that already holds frames is
    /// refused unless `overwrite`, which removes the frames of the run before and nothing else.
    pub fn create(folder: &Path, scene: &Scene, scene_text: &str, overwrite: bool) -> Result<Self> {
        atomic::create_folder(folder)?;
        let lock = lock(folder)?;
        let mut present = frames_present(folder)?;
        if !present.is_empty() && !overwrite {
            let message = format!(
                "it already holds {} files of an earlier run: add --overwrite or choose another folder with -o",
                present.len()
            );
            return Err(Error::invalid(folder.display().to_string(), message));
        }
        let writer = CacheWriter { folder: folder.into(), manifest: Manifest::new(scene), _lock: lock };
        present.extend(checkpoint::all(folder).into_iter().map(|c| c.1));
        // An empty manifest goes first, so that no reader takes a removed frame for a whole one.
        writer.write_manifest()?;
        for file in present {
            std::fs::remove_file(&file).map_err(|e| atomic::explain(&file, &e))?;
        }
        atomic::write(&folder.join("scene.json"), scene_text.as_bytes())?;
        for name in FRAME_FOLDERS {
            let wanted = match name {
                "surface" => scene.outputs.surface != SurfaceFormat::None,
                "particles" => scene.outputs.particles,
                "cells" => writer.manifest.cells,
                "vdb" => writer.manifest.volumes,
                _ => true,
            };
            if wanted {
                atomic::create_folder(&folder.join(name))?;
            }
        }
        Ok(writer)
    }

    /// Open a folder again to go on with the run in it; nothing if there is no run yet. A run of another
    /// scene is refused.
    pub fn resume(folder: &Path, scene: &Scene) -> Result<Option<Self>> {
        if !folder.join("manifest.json").exists() {
            return Ok(None);
        }
        let lock = lock(folder)?;
        let mut manifest = Manifest::read(folder)?;
        checkpoint::check_same(folder, scene)?;
        manifest.range = scene.frames;
        // They are listed again as the run begins.
        manifest.colliders.clear();
        Ok(Some(CacheWriter { folder: folder.into(), manifest, _lock: lock }))
    }

    /// Take over the frames of another cache up to a frame, as links where the disk allows it.
    pub fn adopt(&mut self, other: &Path, last: i64) -> Result<()> {
        let manifest = Manifest::read(other)?;
        for frame in manifest.frames.iter().copied().filter(|f| *f <= last) {
            for name in FRAME_FOLDERS {
                for ending in ENDINGS {
                    let file = Path::new(name).join(frame_name(frame)).with_extension(ending);
                    checkpoint::link(&other.join(&file), &self.folder.join(&file))?;
                }
            }
            self.sum_up(frame)?;
            if let Err(at) = self.manifest.frames.binary_search(&frame) {
                self.manifest.frames.insert(at, frame);
            }
        }
        self.write_manifest()
    }

    /// Note the sums of the files of a frame.
    fn sum_up(&mut self, frame: i64) -> Result<()> {
        for file in frame_files(&self.folder, frame) {
            let path = self.folder.join(&file);
            let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, &e))?;
            self.manifest.sums.insert(file, crc32fast::hash(&bytes));
        }
        Ok(())
    }

    /// Write what is needed to go on from a frame; of older ones the newest `keep` stay, all if it is 0.
    pub fn write_checkpoint(&self, frame: i64, state: &[u8], keep: usize) -> Result<()> {
        let path = checkpoint::file(&self.folder, frame);
        atomic::create_folder(&self.folder.join(checkpoint::FOLDER))?;
        atomic::write(&path, state)?;
        if keep > 0 {
            checkpoint::prune(&self.folder, frame, keep)?;
        }
        Ok(())
    }

    /// Write a frame as USD, and the stage that shows all of them.
    pub fn write_usd(&self, shown: &UsdFrame) -> Result<()> {
        let Some(path) = self.manifest.surface_file(&self.folder, shown.frame) else { return Ok(()) };
        match self.manifest.surface {
            SurfaceFormat::Usda => atomic::write(&path, usd::to_usda(shown).as_bytes())?,
            _ => atomic::write(&path, &usd::to_usdc(shown))?,
        }
        self.write_stage(shown.frame, &[])
    }

    /// Write the stage that shows all frames up to this one: surfaces that are USD, and volumes with these grids.
    pub fn write_stage(&self, frame: i64, fields: &[&str]) -> Result<()> {
        let usd = matches!(self.manifest.surface, SurfaceFormat::Usdc | SurfaceFormat::Usda);
        let mut volumes: Vec<i64> = self.manifest.frames.iter().copied().filter(|f| *f < frame).collect();
        volumes.push(frame);
        let of = StageOf {
            range: [self.manifest.frames.first().copied().unwrap_or(frame), frame],
            fps: self.manifest.fps,
            surfaces: extension(self.manifest.surface).filter(|_| usd),
            volumes: if self.manifest.volumes { &volumes } else { &[] },
            fields,
        };
        match usd::stage(&of) {
            Some(text) => atomic::write(&self.folder.join("liquid.usda"), text.as_bytes()),
            None => Ok(()),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What has been written.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Write a solid in its rest pose and list it.
    pub fn write_collider(&mut self, name: &str, look: Look, deforming: bool, mesh: &TriMesh) -> Result<()> {
        let collider = ManifestCollider { name: name.into(), look, deforming };
        if !deforming {
            self.write_mesh(&Manifest::collider_file(&self.folder, &collider, 0), SurfaceFormat::Ply, mesh)?;
        }
        self.manifest.colliders.retain(|c| c.name != name);
        self.manifest.colliders.push(collider);
        Ok(())
    }

    /// Write a solid that deforms, at a frame.
    pub fn write_deformed(&self, frame: i64, name: &str, mesh: &TriMesh) -> Result<()> {
        let path = self.folder.join("colliders").join(name).join(frame_name(frame) + ".ply");
        self.write_mesh(&path, SurfaceFormat::Ply, mesh)
    }

    /// Write the surface of a frame.
    pub fn write_surface(&self, frame: i64, mesh: &TriMesh) -> Result<()> {
        match self.manifest.surface_file(&self.folder, frame) {
            Some(path) => self.write_mesh(&path, self.manifest.surface, mesh),
            None => Ok(()),
        }
    }

    /// Write the particles of a frame.
    pub fn write_particles(&self, frame: i64, x: &[Vec3], id: &[u64], velocity: &[Vec3]) -> Result<()> {
        let path = self.folder.join("particles").join(frame_name(frame) + ".ply");
        let radius = (0.25 * self.manifest.cell) as f32;
        atomic::write_with(&path, |out| write_particles_ply(x, id, radius, velocity, &[], out))
    }

    /// Write the cells of a frame with pressure, the liquid's distance and velocity.
    pub fn write_cells(&self, frame: i64, cells: &CellsView) -> Result<()> {
        let velocity: Vec<f64> = cells.velocity.iter().flat_map(|v| [v.x, v.y, v.z]).collect();
        let fields = [
            VtuField { name: "pressure", width: 1, data: cells.pressure },
            VtuField { name: "liquid", width: 1, data: cells.liquid },
            VtuField { name: "velocity", width: 3, data: &velocity },
        ];
        write_lattice(&Manifest::cells_file(&self.folder, frame), cells.lattice, &[], &fields)
    }

    /// Write the report of a frame and list the frame: from here on it is whole.
    pub fn finish_frame(&mut self, frame: i64, report: &impl Serialize) -> Result<()> {
        self.write_json(&Manifest::report_file(&self.folder, frame), report)?;
        self.sum_up(frame)?;
        if let Err(at) = self.manifest.frames.binary_search(&frame) {
            self.manifest.frames.insert(at, frame);
        }
        self.write_manifest()
    }

    /// Write the summary of the run.
    pub fn write_summary(&self, summary: &impl Serialize) -> Result<()> {
        self.write_json(&self.folder.join("summary.json"), summary)
    }

    fn write_manifest(&self) -> Result<()> {
        self.write_json(&self.folder.join("manifest.json"), &self.manifest)
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> Result<()> {
        let text =
            serde_json::to_string_pretty(value).map_err(|e| Error::invalid("report", e.to_string()))?;
        atomic::write(path, (text + "\n").as_bytes())
    }

    fn write_mesh(&self, path: &Path, format: SurfaceFormat, mesh: &TriMesh) -> Result<()> {
        if let Some(folder) = path.parent() {
            atomic::create_folder(folder)?;
        }
        atomic::write_with(path, |out| match format {
            SurfaceFormat::Obj => write_obj(mesh, out),
            SurfaceFormat::Vtp => vtp::write_surface(mesh, out),
            _ => write_ply(mesh, out),
        })
    }
}

/// The lock of a cache, held until it is dropped, for those who change a cache without writing frames.
#[derive(Debug)]
pub struct CacheLock {
    _file: File,
}

impl CacheLock {
    /// Take it, or say who has it.
    pub fn take(folder: &Path) -> Result<Self> {
        lock(folder).map(|file| CacheLock { _file: file })
    }
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let file =
        File::options().create(true).append(true).open(&path).map_err(|e| atomic::explain(&path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy {
            what: folder.display().to_string(),
            message: "another run is writing to it; wait for it or choose another folder with -o".into(),
        }),
        Err(TryLockError::Error(e)) => Err(atomic::explain(&path, &e)),
    }
}

/// The files of a frame that are there, by their paths in the cache.
pub fn frame_files(cache: &Path, frame: i64) -> Vec<String> {
    let named = |folder: &&str, ending: &&str| format!("{folder}/{}.{ending}", frame_name(frame));
    let all = FRAME_FOLDERS.iter().flat_map(|f| ENDINGS.iter().map(move |e| named(f, e)));
    all.filter(|file| cache.join(file).is_file()).collect()
}

/// Files of frames that an earlier run left, of whatever extension that runs write.
fn frames_present(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for name in FRAME_FOLDERS {
        let entries = match std::fs::read_dir(folder.join(name)) {
            Ok(entries) => entries,
            Err(_) => continue,
        };
        for entry in entries {
            let path = entry.map_err(|e| atomic::explain(folder, &e))?.path();
            let stem = path.file_stem().and_then(|s| s.to_str()).and_then(frame_number);
            let known = path.extension().is_some_and(|e| ENDINGS.iter().any(|known| e == *known));
            if stem.is_some() && known {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        let text = r#"{"meniscus": 1, "name": "drop", "resolution": {"cell": 0.01},
            "initial": [{"shape": {"sphere": {"radius": 0.1}}}]}"#;
        Scene::from_json(text).unwrap()
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("meniscus_cache_{name}_{}", std::process::id()))
    }

    fn triangle() -> TriMesh {
        TriMesh::new(vec![Vec3::zeros(), Vec3::x(), Vec3::y()], vec![[0, 1, 2]])
    }

    #[test]
    fn a_frame_is_listed_only_when_it_is_whole() {
        let dir = folder("whole");
        let mut cache = CacheWriter::create(&dir, &scene(), "{}", false).unwrap();
        cache.write_collider("jug", Look::Glass, false, &triangle()).unwrap();
        cache.write_surface(-3, &triangle()).unwrap();
        assert!(Manifest::read(&dir).unwrap().frames.is_empty());
        cache.finish_frame(-3, &serde_json::json!({"frame": -3})).unwrap();
        let manifest = Manifest::read(&dir).unwrap();
        assert_eq!(manifest.frames, [-3]);
        assert!(
            manifest.surface_file(&dir, -3).is_some_and(|f| f.ends_with("surface/-0003.ply") && f.exists())
        );
        assert!(Manifest::collider_file(&dir, &manifest.colliders[0], 1).exists());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_second_writer_and_an_old_run_are_not_trampled() {
        let dir = folder("second");
        let mut cache = CacheWriter::create(&dir, &scene(), "{}", false).unwrap();
        let busy = CacheWriter::create(&dir, &scene(), "{}", true).unwrap_err();
        assert!(matches!(busy, Error::Busy { .. }), "{busy}");
        cache.write_surface(1, &triangle()).unwrap();
        cache.finish_frame(1, &0).unwrap();
        std::fs::write(dir.join("surface/notes.txt"), "mine").unwrap();
        drop(cache);
        let old = CacheWriter::create(&dir, &scene(), "{}", false).unwrap_err().to_string();
        assert!(old.contains("2 files") && old.contains("--overwrite"), "{old}");
        drop(CacheWriter::create(&dir, &scene(), "{}", true).unwrap());
        assert!(!dir.join("surface/0001.ply").exists());
        assert!(dir.join("surface/notes.txt").exists(), "only frames are removed");
        assert!(Manifest::read(&dir).unwrap().frames.is_empty());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
