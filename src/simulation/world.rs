//! The scene's solids and sources, placed in space at any frame.
//!
//! Shapes are built once, in their own coordinates. For a step from frame a to frame b that takes
//! Δt seconds every collider stands where it is at b and moves with the velocity that leads there
//! from a, so that a fast collider sweeps the liquid instead of jumping over it.

use super::form::{Form, Object};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::field::{MovingMesh, Rough, Solid, SolidShape, Solids, Wall};
use crate::geometry::{Shape, TriMesh};
use crate::grid::DistanceParams;
use crate::math::{Aabb, Motion, Pose, Vec3};
use crate::scene::{self, Scene, ShapeSpec};
use std::sync::Arc;

/// From this dynamic viscosity on, `auto` walls stick, Pa·s.
const STICKS_FROM: f64 = 0.1;
/// Half width of the band in which the distance of a mesh is kept, cells.
const BAND_CELLS: f64 = 6.0;

/// A shape that is a formula, with its place in the object's coordinates.
#[derive(Clone, Debug)]
struct Simple {
    shape: Shape,
    at: Pose,
}

impl SolidShape for Simple {
    fn distance(&self, x: &Vec3) -> f64 {
        self.shape.distance(&self.at.to_local(x))
    }

    fn bounds(&self) -> Aabb {
        let corners = self.shape.bounds().corners();
        // A half space has no bounds; a corner at infinity turned about becomes NaN.
        if corners.iter().any(|c| !c.iter().all(|v| v.is_finite())) {
            return Aabb::new(Vec3::repeat(f64::NEG_INFINITY), Vec3::repeat(f64::INFINITY));
        }
        Aabb::of_points(&corners.map(|c| self.at.to_world(&c)))
    }
}

/// A collider, ready to be placed.
pub(super) struct Collider {
    pub object: Object,
    pub wall: scene::Wall,
    pub friction: scene::Keyed<f64>,
    pub look: scene::Look,
    /// Friction that is painted on its mesh; see [`Collider::paint`].
    rough: Option<Arc<Rough>>,
    /// Whether the host has replaced its geometry, so that it may change again at any time.
    pub replaced: bool,
}

impl Collider {
    pub fn is_animated(&self) -> bool {
        self.replaced || self.object.is_animated()
    }

    /// Take over the friction that is painted on the form; one that changes is read in every step instead.
    pub fn paint(&mut self, frame: f64) {
        self.rough = if self.object.samples().len() == 1 { self.read_rough(frame) } else { None };
    }

    fn read_rough(&self, frame: f64) -> Option<Arc<Rough>> {
        // Where nothing is painted the number of the scene holds, which may change.
        let painted = self.object.samples().iter().any(|m| m.attribute("friction").is_some());
        painted.then(|| Rough::new(&self.object.painted(frame)).map(Arc::new)).flatten()
    }

    /// The friction that is painted on it at a frame.
    fn rough_at(&self, frame: f64) -> Option<Arc<Rough>> {
        if self.object.samples().len() == 1 { self.rough.clone() } else { self.read_rough(frame) }
    }
}

/// All solids of a scene.
pub(super) struct World {
    pub colliders: Vec<Collider>,
    domain: Option<Aabb>,
    closed: [[bool; 2]; 3],
    domain_wall: scene::Wall,
    domain_friction: f64,
    /// The greatest viscosity that initial volumes, and emitters, give their liquid, Pa·s.
    pub painted: [f64; 2],
    /// Half the thickness of the plates that stand for sheets without thickness, m.
    sheet: f64,
    /// Whether the simulator tells the two sides of a sheet apart without a plate.
    separates: bool,
}

/// Sheets without thickness are plates of twice this many cells where a simulator needs that, behind the sheet if it has a hollow
/// side. The nodes of a grid then always find some of the plate, and no two neighbouring cell centres are free on different sides of it.
const SHEET_CELLS: f64 = 0.75;

impl World {
    /// Build the shapes of a scene in SI units.
    pub fn new(scene: &Scene, loader: &Loader) -> Result<Self> {
        let build = |(i, c): (usize, &scene::Collider)| {
            let name = named(&c.name, "collider", i);
            let form = loader.form(&c.shape, &name, c.transform.scale)?;
            let object = Object { name, form, transform: c.transform.clone(), container: c.container };
            let (friction, replaced) = (c.friction.clone(), c.shape.by_frame());
            let mut collider =
                Collider { object, wall: c.wall, friction, look: c.look, rough: None, replaced };
            collider.paint(scene.frames[0] as f64);
            Ok(collider)
        };
        let colliders = scene.colliders.iter().enumerate().map(build).collect::<Result<Vec<_>>>()?;
        let domain = scene.domain.as_ref();
        Ok(Self {
            colliders,
            domain: domain.map(|d| Aabb::new(d.min.into(), d.max.into())),
            closed: std::array::from_fn(|a| domain.map_or([false; 2], |d| d.sides.open(a).map(|open| !open))),
            domain_wall: domain.map_or(scene::Wall::Auto, |d| d.wall),
            domain_friction: domain.map_or(0.0, |d| d.friction),
            painted: [0.0; 2],
            sheet: SHEET_CELLS * scene.cell(),
            separates: separates(&scene.simulator),
        })
    }

    pub fn any_animated(&self) -> bool {
        self.colliders.iter().any(Collider::is_animated)
    }

    /// Whether sheets without thickness have no plates in liquid of this viscosity. Liquid that sticks to a sheet needs one: the
    /// stress of thick liquid would act from one side to the other.
    pub fn separates(&self, viscosity: f64) -> bool {
        self.separates && viscosity < STICKS_FROM
    }

    /// The greatest speed of a collider in the frame that follows `from` and takes `seconds`.
    pub fn speed_ahead(&self, from: f64, seconds: f64) -> f64 {
        self.colliders.iter().map(|c| c.object.speed_ahead(from, seconds)).fold(0.0, f64::max)
    }

    /// The solids at frame `to`, on their way from frame `from`, which takes `dt` seconds.
    pub fn solids(&self, from: f64, to: f64, dt: f64, viscosity: f64, cancel: &Cancel) -> Result<Solids> {
        let wall = |wall: scene::Wall, friction: f64| self::wall(wall, friction, viscosity);
        let there = || self.colliders.iter().filter(|c| !c.object.is_absent());
        let rough: Vec<_> = there().map(|c| c.rough_at(to)).collect();
        let place = |(c, rough): (&Collider, &Option<Arc<Rough>>)| {
            let greatest = rough.as_ref().map_or(0.0, |r| r.greatest());
            let placed = c.object.at(from, to, dt, cancel)?;
            let (before, pose) = (placed.before, placed.pose);
            let moves = dt > 0.0 && before != pose;
            Ok(Solid {
                name: c.object.name.clone(),
                shape: placed.shape,
                scale: placed.scale,
                motion: if moves { Motion::between(&before, &pose, dt) } else { Motion::at_rest(pose) },
                before,
                animated: c.is_animated(),
                wall: wall(c.wall, c.friction.at(to).max(greatest)),
            })
        };
        let solids = there().zip(&rough).map(place).collect::<Result<Vec<_>>>()?;
        let painted = there().zip(rough).map(|(c, r)| r.map(|r| (r, c.friction.at(to))));
        let domain = wall(self.domain_wall, self.domain_friction);
        let solids = Solids::new(solids, self.domain, self.closed, domain).roughened(painted);
        Ok(match self.separates(viscosity) {
            true => solids.with_plates_behind(self.sheet),
            false => solids.thickened(self.sheet),
        })
    }
}

/// Whether a simulator tells the two sides of a sheet apart without a plate: particles do, where they carry liquid and its velocity.
fn separates(simulator: &scene::Simulator) -> bool {
    use scene::{SimulatorType, Surface, Transfer};
    let carried = matches!(simulator.transfer, Transfer::Flip | Transfer::Apic);
    simulator.kind == SimulatorType::Mac && simulator.surface == Surface::Particles && carried
}

/// A wall of the scene as liquid of this viscosity meets it.
pub(super) fn wall(wall: scene::Wall, friction: f64, viscosity: f64) -> Wall {
    Wall {
        stick: match wall {
            scene::Wall::Stick => true,
            scene::Wall::Auto => viscosity >= STICKS_FROM,
            scene::Wall::Slide | scene::Wall::Peel => false,
        },
        friction,
        peel: wall == scene::Wall::Peel,
    }
}

pub(super) fn named(name: &str, kind: &str, index: usize) -> String {
    if name.is_empty() { format!("{kind} {}", index + 1) } else { name.to_string() }
}

/// Builds forms from descriptions.
pub(super) struct Loader<'a> {
    /// In SI units.
    pub scene: &'a Scene,
    /// Reads a mesh file.
    pub meshes: &'a super::MeshSource<'a>,
}

impl Loader<'_> {
    /// The form of a description, for an object of this scale.
    pub fn form(&self, spec: &ShapeSpec, name: &str, scale: f64) -> Result<Form> {
        if let Some((shape, at)) = spec.solid().map_err(|e| Error::geometry(name, e.to_string()))? {
            return simple_form(shape, at);
        }
        let read = |file: &str, by: f64| Ok(scaled((self.meshes)(file)?, by));
        let samples = match spec {
            ShapeSpec::Mesh { file, scale, .. } => vec![(self.scene.frames[0] as f64, read(file, *scale)?)],
            ShapeSpec::Samples { files, scale, by_frame: true, .. } => {
                // The sample that holds when the scene begins; the others are handed over frame by frame.
                let start = self.scene.frames[0] as f64;
                let (frame, file) = &files[files.partition_point(|f| f.0 <= start).saturating_sub(1)];
                if file.is_empty() {
                    return Ok(Form::Absent(None));
                }
                vec![(*frame, read(file, *scale)?)]
            }
            ShapeSpec::Samples { files, scale, .. } => {
                files.iter().map(|(f, file)| Ok((*f, read(file, *scale)?))).collect::<Result<Vec<_>>>()?
            }
            _ => Vec::new(),
        };
        let detail = spec.detail().unwrap_or(self.scene.cell());
        mesh_form(self.scene, None, samples, name, detail, scale)
    }
}

fn simple_form(shape: Shape, at: Pose) -> Result<Form> {
    let simple = Simple { shape, at };
    let size = simple.bounds().size().max();
    // A half space is drawn as the ground by whoever shows the scene.
    let mesh = if size.is_finite() { simple.shape.triangulate(size / 48.0)? } else { TriMesh::default() };
    let mesh = TriMesh { positions: mesh.positions.iter().map(|x| at.to_world(x)).collect(), ..mesh };
    Ok(Form::Still(Arc::new(simple), mesh))
}

/// Meshes at frames, in metres and metres a second, of an object of this scale, with distances in cells of
/// `detail` metres of the world. `earlier` is what the object was before.
pub(super) fn mesh_form(
    scene: &Scene,
    earlier: Option<&MovingMesh>,
    mut samples: Vec<(f64, TriMesh)>,
    name: &str,
    detail: f64,
    scale: f64,
) -> Result<Form> {
    let (cell, backing) = (detail / scale, SHEET_CELLS * scene.cell() / scale);
    let mut params = DistanceParams { cell, band: BAND_CELLS, backing, ..DistanceParams::default() };
    // Gigabytes become mebibytes.
    params.memory_mb = scene.memory_limit.map_or(params.memory_mb, |gb| (gb * 953.0) as u64);
    for (frame, mesh) in &mut samples {
        // Metres a second become metres a frame.
        scale_velocities(mesh, scene.seconds(*frame + 0.5) - scene.seconds(*frame - 0.5));
    }
    Ok(Form::Moving(MovingMesh::continued(earlier, name, samples, &params, &Cancel::new())?))
}

/// A mesh with lengths and velocities this many times as large.
pub(super) fn scaled(mut mesh: TriMesh, by: f64) -> TriMesh {
    mesh.positions.iter_mut().for_each(|x| *x *= by);
    scale_velocities(&mut mesh, by);
    mesh
}

fn scale_velocities(mesh: &mut TriMesh, by: f64) {
    for a in mesh.attributes.iter_mut().filter(|a| a.name == "velocity" || a.name == "v") {
        a.data.iter_mut().for_each(|v| *v = (*v as f64 * by) as f32);
    }
}
