//! What a picture needs from a cache folder: the liquid, colliders where they stood, litres.
//!
//! The manifest lists what there is; a report places the colliders of its frame. A file that is
//! missing or broken is named.

use super::caption::Caption;
use super::fog::Fog;
use super::stage::Collider;
use meniscus::geometry::TriMesh;
use meniscus::io::cache::{Manifest, ManifestCollider};
use meniscus::math::{Aabb, Pose, Vec3};
use meniscus::scene::{Look, Scene};
use meniscus::{Error, Result, io};
use nalgebra::{Quaternion, UnitQuaternion};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Report {
    time: Option<f64>,
    litres: Option<f64>,
    litres_expected: Option<f64>,
    #[serde(default)]
    colliders: Vec<PlacedCollider>,
}

#[derive(Deserialize)]
struct PlacedCollider {
    name: String,
    translate: [f64; 3],
    rotate_quaternion_wxyz: [f64; 4],
    #[serde(default = "whole")]
    scale: f64,
}

fn whole() -> f64 {
    1.0
}

/// One frame, ready to draw.
pub struct Frame {
    pub surface: TriMesh,
    pub colliders: Vec<Collider>,
    pub caption: Caption,
    pub fog: Option<Fog>,
}

/// A cache that is open for reading.
pub struct Cache {
    pub folder: PathBuf,
    pub manifest: Manifest,
    rigid: BTreeMap<String, Collider>,
    /// Whether its scene is one of smoke, not of liquid.
    pub smoke: bool,
}

impl Cache {
    pub fn open(folder: &Path) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        let mut rigid = BTreeMap::new();
        for listed in manifest.colliders.iter().filter(|c| c.look != Look::Hidden && !c.deforming) {
            let mesh = io::mesh::read(Manifest::collider_file(folder, listed, 0))?;
            let collider = Collider::new(&listed.name, &mesh, Pose::identity(), listed.look)?;
            rigid.insert(listed.name.clone(), collider);
        }
        let scene =
            std::fs::read_to_string(folder.join("scene.json")).ok().and_then(|t| Scene::from_json(&t).ok());
        let smoke = scene.is_some_and(|s| s.smoke.is_some());
        Ok(Self { folder: folder.to_path_buf(), manifest, rigid, smoke })
    }

    /// The domain, if it has an end.
    pub fn domain(&self) -> Option<Aabb> {
        self.manifest.bounds.map(|[lo, hi]| Aabb::new(Vec3::from(lo), Vec3::from(hi)))
    }

    /// The liquid of a frame; an empty mesh where there is none yet.
    pub fn surface(&self, frame: i64) -> Result<TriMesh> {
        // The surface of air would be that of the domain.
        let Some(path) = self.manifest.surface_file(&self.folder, frame).filter(|_| !self.smoke) else {
            return Ok(TriMesh::default());
        };
        io::any::read(&path)
    }

    /// The file of a frame's cells.
    pub fn cells_file(&self, frame: i64) -> Result<PathBuf> {
        if !self.manifest.cells {
            let message =
                "the run wrote no cells; run it with the simulator bcc and --set outputs.cells=true";
            return Err(Error::invalid("--cells", message));
        }
        Ok(Manifest::cells_file(&self.folder, frame))
    }

    fn report(&self, frame: i64) -> Result<Report> {
        let path = Manifest::report_file(&self.folder, frame);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, &e))?;
        serde_json::from_str(&text).map_err(|e| Error::Format {
            file: path.display().to_string(),
            place: format!("line {}", e.line()),
            message: e.to_string(),
        })
    }

    /// The colliders of a frame, where they stand in it.
    pub fn colliders(&self, frame: i64) -> Result<Vec<Collider>> {
        self.place(frame, &self.report(frame)?)
    }

    fn place(&self, frame: i64, report: &Report) -> Result<Vec<Collider>> {
        let visible = self.manifest.colliders.iter().filter(|c| c.look != Look::Hidden);
        visible.map(|listed| self.collider(frame, listed, report)).collect()
    }

    fn collider(&self, frame: i64, listed: &ManifestCollider, report: &Report) -> Result<Collider> {
        let placed = report.colliders.iter().find(|c| c.name == listed.name);
        let (pose, scale) = placed.map_or(Ok((Pose::identity(), 1.0)), place_of)?;
        if let Some(rigid) = self.rigid.get(&listed.name) {
            return Ok(Collider { pose, scale, ..rigid.clone() });
        }
        let mesh = io::mesh::read(Manifest::collider_file(&self.folder, listed, frame))?;
        Ok(Collider { scale, ..Collider::new(&listed.name, &mesh, pose, listed.look)? })
    }

    pub fn frame(&self, frame: i64) -> Result<Frame> {
        let report = self.report(frame)?;
        let since = frame.saturating_sub(self.manifest.range[0]) as f64;
        let caption = Caption {
            frame,
            seconds: report.time.unwrap_or(since * self.manifest.fps.frame_seconds()),
            litres: report.litres,
            litres_expected: report.litres_expected,
        };
        let (surface, colliders) = (self.surface(frame)?, self.place(frame, &report)?);
        Ok(Frame { surface, colliders, caption, fog: self.fog(frame)? })
    }

    /// The smoke of a frame, from its particles.
    fn fog(&self, frame: i64) -> Result<Option<Fog>> {
        let (true, Some(domain)) = (self.smoke, self.domain()) else { return Ok(None) };
        if !self.manifest.particles {
            let message = "smoke is drawn from particles; run the scene with --set outputs.particles=true";
            return Err(Error::invalid("preview", message));
        }
        let path = self.folder.join("particles").join(io::frame::frame_name(frame) + ".ply");
        Ok(Fog::new(&io::points::read(&path)?, &domain, self.manifest.cell))
    }
}

fn place_of(placed: &PlacedCollider) -> Result<(Pose, f64)> {
    let [w, x, y, z] = placed.rotate_quaternion_wxyz;
    let turn = Quaternion::new(w, x, y, z);
    let finite = placed.translate.iter().all(|v| v.is_finite()) && turn.norm().is_finite();
    if !finite || turn.norm() < 1e-9 || !(placed.scale > 0.0 && placed.scale.is_finite()) {
        return Err(Error::geometry(
            &placed.name,
            "its pose in the report is not a turn, a place and a positive scale",
        ));
    }
    let pose =
        Pose { rotation: UnitQuaternion::new_normalize(turn), translation: Vec3::from(placed.translate) };
    Ok((pose, placed.scale))
}
