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
//! CACHE/lock                   held while somebody writes; CACHE/writer.json says who
//! ```
//!
//! Every file is written by [`super::atomic`], so readers may follow a run while it goes on.

use super::atomic;
use super::checkpoint::{self, Background, Keeping};
use super::frame::{frame_name, frame_number};
use super::lock::CacheLock;
use super::mesh::{write_obj, write_particles_ply, write_ply};
use super::usd::{self, StageOf, UsdFrame};
use super::vtp;
use super::vtu::{VtuField, write_lattice};
use crate::error::{Error, Result};
use crate::field::Particles;
use crate::geometry::{Attribute, TriMesh};
use crate::scene::{Fps, Look, Scene, SimulatorType, SurfaceFormat};
use crate::simulation::{CellsView, state};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the cache layout.
pub const CACHE_VERSION: u32 = 1;
/// Folders whose files are named by frames; those of solids that deform lie below `colliders`.
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
    /// The CRC-32 of each file of a frame, of the scene and of each solid, by its path in the cache.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, u32>,
    /// The CRC-32 of each mesh that the scene names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, u32>,
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
            inputs: BTreeMap::new(),
        }
    }

    /// Replace the manifest of a cache.
    pub fn write(&self, cache: &Path) -> Result<()> {
        write_json(&cache.join("manifest.json"), self)
    }

    /// Forget frames, which are then simulated again by a run that goes on.
    pub fn forget(&mut self, frames: &[i64]) {
        self.frames.retain(|f| !frames.contains(f));
        let gone: Vec<String> = frames.iter().map(|f| format!("/{}.", frame_name(*f))).collect();
        self.sums.retain(|file, _| !gone.iter().any(|g| file.contains(g)));
    }

    /// The files that a frame must have, by their paths in the cache.
    pub fn files_of(&self, frame: i64) -> Vec<String> {
        let stem = format!("/{}.", frame_name(frame));
        let mut files: Vec<String> = self.sums.keys().filter(|k| k.contains(&stem)).cloned().collect();
        files.push(format!("report/{}.json", frame_name(frame)));
        files.extend(extension(self.surface).map(|e| format!("surface/{}.{e}", frame_name(frame))));
        files.sort();
        files.dedup();
        files
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
    checkpoints: Background,
    // Last, so that nobody else writes before everything is done.
    _lock: CacheLock,
}

impl CacheWriter {
    /// Make a folder ready for a run of this scene (in SI units). A folder that already holds frames is
    /// refused unless `overwrite`, which removes the frames of the run before and nothing else.
    pub fn create(folder: &Path, scene: &Scene, scene_text: &str, overwrite: bool) -> Result<Self> {
        atomic::create_folder(folder)?;
        let lock = CacheLock::take(folder)?;
        let mut present = frames_present(folder)?;
        if !present.is_empty() && !overwrite {
            let message = format!(
                "it already holds {} files of an earlier run: add --overwrite or choose another folder with -o",
                present.len()
            );
            return Err(Error::invalid(folder.display().to_string(), message));
        }
        let checkpoints = Background::new(folder);
        let manifest = Manifest::new(scene);
        let mut writer = CacheWriter { folder: folder.into(), manifest, checkpoints, _lock: lock };
        present.extend(checkpoint::all(folder).into_iter().map(|c| c.1));
        present.extend(solids_present(folder));
        // The manifest goes first and comes last: no reader takes a removed frame for a whole one, and a run that is
        // killed before everything is in place has not begun.
        let old = folder.join("manifest.json");
        for file in Some(old).filter(|f| f.exists()).into_iter().chain(present) {
            std::fs::remove_file(&file).map_err(|e| atomic::explain(&file, &e))?;
        }
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
        atomic::write(&folder.join("scene.json"), scene_text.as_bytes())?;
        writer.note_sum("scene.json")?;
        writer.write_manifest()?;
        Ok(writer)
    }

    /// Open a folder again to go on with the run in it; nothing if there is no run yet. A run of another
    /// scene is refused.
    pub fn resume(folder: &Path, scene: &Scene) -> Result<Option<Self>> {
        if !folder.join("manifest.json").exists() {
            return Ok(None);
        }
        let lock = CacheLock::take(folder)?;
        let mut manifest = Manifest::read(folder)?;
        checkpoint::check_same(folder, scene)?;
        manifest.range = scene.frames;
        let torn = |f: &i64| manifest.files_of(*f).iter().any(|file| !folder.join(file).is_file());
        let torn: Vec<i64> = manifest.frames.iter().copied().filter(torn).collect();
        manifest.forget(&torn);
        let checkpoints = Background::new(folder);
        Ok(Some(CacheWriter { folder: folder.into(), manifest, checkpoints, _lock: lock }))
    }

    /// Note the sums of the meshes that the run reads; a run that goes on must read the same.
    pub fn note_inputs(&mut self, inputs: &BTreeMap<String, u32>) -> Result<()> {
        let before = &self.manifest.inputs;
        let changed = inputs.iter().find(|(file, sum)| before.get(*file).is_some_and(|b| b != *sum));
        if let Some((file, _)) = changed {
            let message = format!(
                "{file} has changed since the run in it began: choose another folder with -o, or add --overwrite"
            );
            return Err(Error::invalid(self.folder.display().to_string(), message));
        }
        self.manifest.inputs.clone_from(inputs);
        self.write_manifest()
    }

    /// The first frame of a range that is not whole.
    pub fn first_missing(&self, [first, last]: [i64; 2]) -> Option<i64> {
        (first..=last).find(|f| self.manifest.frames.binary_search(f).is_err())
    }

    /// Take over the frames of another cache up to a frame, as links where the disk allows it.
    pub fn adopt(&mut self, other: &Path, last: i64) -> Result<()> {
        let manifest = Manifest::read(other)?;
        for frame in manifest.frames.iter().copied().filter(|f| *f <= last) {
            for file in frame_files(other, frame) {
                let to = self.folder.join(&file);
                atomic::create_folder(to.parent().unwrap_or(&self.folder))?;
                checkpoint::link(&other.join(&file), &to)?;
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
        frame_files(&self.folder, frame).iter().try_for_each(|file| self.note_sum(file))
    }

    fn note_sum(&mut self, file: &str) -> Result<()> {
        let path = self.folder.join(file);
        let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, &e))?;
        self.manifest.sums.insert(file.into(), crc32fast::hash(&bytes));
        Ok(())
    }

    /// Begin to write what is needed to go on from a frame, beside the simulation.
    pub fn write_checkpoint(&mut self, frame: i64, state: state::Writer, keep: Keeping) -> Result<()> {
        self.checkpoints.write(frame, state, keep)
    }

    /// Wait until all checkpoints are written.
    pub fn finish_checkpoints(&mut self) -> Result<()> {
        self.checkpoints.wait()
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
            self.note_sum(&format!("colliders/{name}.ply"))?;
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

    /// Write the particles of a frame with what they carry.
    pub fn write_particles(&self, frame: i64, particles: &Particles, carried: &[Attribute]) -> Result<()> {
        let (Particles { position, velocity, .. }, ids) = (particles, particles.ids());
        let path = self.folder.join("particles").join(frame_name(frame) + ".ply");
        let radius = (0.25 * self.manifest.cell) as f32;
        atomic::write_with(&path, |out| write_particles_ply(position, &ids, radius, velocity, carried, out))
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

    /// Before the files of a frame are written: one that is listed, and is made again because the run went on from
    /// before it, is not whole until all of it is there again.
    pub fn begin_frame(&mut self, frame: i64) -> Result<()> {
        if self.manifest.frames.binary_search(&frame).is_err() {
            return Ok(());
        }
        self.manifest.forget(&[frame]);
        self.write_manifest()
    }

    /// Write the report of a frame and list the frame: from here on it is whole.
    pub fn finish_frame(&mut self, frame: i64, report: &impl Serialize) -> Result<()> {
        write_json(&Manifest::report_file(&self.folder, frame), report)?;
        self.sum_up(frame)?;
        if let Err(at) = self.manifest.frames.binary_search(&frame) {
            self.manifest.frames.insert(at, frame);
        }
        self.write_manifest()
    }

    /// Write the summary of the run.
    pub fn write_summary(&self, summary: &impl Serialize) -> Result<()> {
        write_json(&self.folder.join("summary.json"), summary)
    }

    fn write_manifest(&self) -> Result<()> {
        self.manifest.write(&self.folder)
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

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::invalid("report", e.to_string()))?;
    atomic::write(path, (text + "\n").as_bytes())
}

/// Folders of a cache with a file for each frame.
fn frame_folders(cache: &Path) -> Vec<String> {
    let mut folders: Vec<String> = FRAME_FOLDERS.map(String::from).to_vec();
    let entries = std::fs::read_dir(cache.join("colliders")).into_iter().flatten().flatten();
    let deforming = entries.filter(|e| e.path().is_dir()).filter_map(|e| e.file_name().into_string().ok());
    folders.extend(deforming.map(|name| format!("colliders/{name}")));
    folders.sort();
    folders
}

/// Solids in their rest pose that an earlier run left.
fn solids_present(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache.join("colliders")).into_iter().flatten().flatten();
    entries.map(|e| e.path()).filter(|p| p.is_file() && p.extension().is_some_and(|e| e == "ply")).collect()
}

/// The files of a frame that are there, by their paths in the cache.
pub fn frame_files(cache: &Path, frame: i64) -> Vec<String> {
    let named = |folder: &String, ending: &&str| format!("{folder}/{}.{ending}", frame_name(frame));
    let folders = frame_folders(cache);
    let all = folders.iter().flat_map(|f| ENDINGS.iter().map(move |e| named(f, e)));
    all.filter(|file| cache.join(file).is_file()).collect()
}

/// Files of frames that an earlier run left, of whatever extension that runs write.
fn frames_present(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for name in frame_folders(folder) {
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
    use crate::math::Vec3;

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
    fn a_run_that_goes_on_lists_its_solids_from_the_first_moment() {
        let dir = folder("solids");
        let text = serde_json::to_string(&scene()).unwrap();
        let mut cache = CacheWriter::create(&dir, &scene(), &text, false).unwrap();
        cache.write_collider("jug", Look::Glass, false, &triangle()).unwrap();
        cache.finish_frame(1, &serde_json::json!({"frame": 1})).unwrap();
        drop(cache);
        // What is killed after it has looked at its meshes and before its first frame.
        let mut again = CacheWriter::resume(&dir, &scene()).unwrap().unwrap();
        again.note_inputs(&BTreeMap::new()).unwrap();
        assert_eq!(Manifest::read(&dir).unwrap().colliders.len(), 1);
        again.write_collider("jug", Look::Glass, false, &triangle()).unwrap();
        again.finish_frame(2, &serde_json::json!({"frame": 2})).unwrap();
        assert_eq!(Manifest::read(&dir).unwrap().colliders.len(), 1);
        drop(again);
        std::fs::remove_dir_all(&dir).unwrap();
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
        // Made again, it is not whole in between: its new files do not have the old sums.
        cache.begin_frame(-3).unwrap();
        let manifest = Manifest::read(&dir).unwrap();
        assert!(manifest.frames.is_empty() && !manifest.sums.contains_key("report/-0003.json"));
        cache.finish_frame(-3, &serde_json::json!({"frame": -3, "seconds": 2})).unwrap();
        assert_eq!(Manifest::read(&dir).unwrap().frames, [-3]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn solids_that_deform_go_with_their_frames() {
        let (dir, other) = (folder("deform"), folder("deform_branch"));
        let mut cache = CacheWriter::create(&dir, &scene(), "{}", false).unwrap();
        cache.write_collider("cloth", Look::Solid, true, &triangle()).unwrap();
        for frame in [1, 2] {
            cache.write_surface(frame, &triangle()).unwrap();
            cache.write_deformed(frame, "cloth", &triangle()).unwrap();
            cache.finish_frame(frame, &0).unwrap();
        }
        assert!(Manifest::read(&dir).unwrap().sums.contains_key("colliders/cloth/0002.ply"));
        let mut branch = CacheWriter::create(&other, &scene(), "{}", false).unwrap();
        branch.adopt(&dir, 1).unwrap();
        assert!(other.join("colliders/cloth/0001.ply").exists());
        assert!(!other.join("colliders/cloth/0002.ply").exists());
        drop((cache, branch));
        // What is not there any more is simulated again; an overwritten run leaves nothing of the old solids.
        std::fs::remove_file(dir.join("colliders/cloth/0002.ply")).unwrap();
        let again = Manifest::read(&dir).unwrap();
        assert!(again.files_of(2).contains(&"colliders/cloth/0002.ply".to_string()));
        drop(CacheWriter::create(&dir, &scene(), "{}", true).unwrap());
        assert!(!dir.join("colliders/cloth/0001.ply").exists());
        std::fs::remove_dir_all(dir).unwrap();
        std::fs::remove_dir_all(other).unwrap();
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
