//! The simulation: a scene, stepped frame by frame.
//!
//! [`Simulation::new`] builds the solids, sources and liquid of a scene; [`Simulation::advance_frame`]
//! goes to the next frame in as many substeps as the clock asks for; everything else reads. Work runs
//! in a pool of threads that the simulation owns, while the caller's thread reports progress.

mod advance;
mod bcc;
mod bodies;
mod clock;
mod contact;
mod contact_points;
mod estimate;
mod failure;
mod feed;
mod fields;
mod flow;
mod forces;
mod form;
mod geometry;
mod ground;
mod keys;
pub mod liquid;
mod mac;
mod paint;
mod pool;
pub mod report;
mod saving;
mod sources;
pub mod state;
mod step;
mod support;
pub mod validation;
mod volumes;
mod watch;
mod water_line;
mod world;

use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::field::{Columns, Particles, Solids};
use crate::geometry::{Attribute, TriMesh};
use crate::math::{Aabb, Mat3, Pose, Vec3};
use crate::scene::{FieldKind, Look, Scene, SimulatorType, Surface, Transfer, ViscosityCoupling};
use crate::solver::bcc::Coupling;
use crate::solver::rigid::Six;
use bcc::{Bcc, BccOptions};
use bodies::Bodies;
use clock::{Clock, MANY_SUBSTEPS};
use estimate::Meshes;
use feed::Feed;
use fields::Fields;
use forces::Forces;
use form::Object;
use liquid::{Inflow, Liquid, Outflow, Step};
use mac::{InitialVolume, Mac, MacOptions};
use paint::{Coat, Paint};
use report::{ColliderPose, Estimate, FrameReport, Limit, Progress, STAGES};
use sources::{Carriers, Sink, Source};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;
use water_line::WaterLine;
use world::{Loader, World, named};

pub use bcc::CellsView;
pub use failure::Failure;
pub use fields::FieldFiles;
pub use geometry::GeometryOf;
pub use liquid::CellFields;
pub use pool::Pool;
pub use volumes::VolumesView;

/// Cells that a collider may cross in a substep.
const COLLIDER_CELLS: f64 = 1.0;

/// A collider that would compress closed liquid by more than this share of a cell in a substep is reported.
const REFUSED: f64 = 1e-3;

/// Where mesh files of a scene come from; the library itself opens no files.
pub type MeshSource<'a> = dyn Fn(&str) -> Result<TriMesh> + 'a;

/// What the host decides.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Threads to use; all that there are if None.
    pub threads: Option<usize>,
    /// Bytes that the simulation may hold.
    pub memory_limit: Option<u64>,
    /// The files that the scene names under `fields`.
    pub fields: FieldFiles,
}

/// A collider's triangles, to be placed by its pose in the report.
pub struct ColliderMesh<'a> {
    pub name: &'a str,
    pub mesh: Cow<'a, TriMesh>,
    pub look: Look,
    /// Whether the triangles are others at another frame.
    pub deforms: bool,
}

/// A running simulation.
pub struct Simulation {
    /// The scene as it was given, with the keys that the host has set since.
    given: Scene,
    /// The same in SI units.
    scene: Scene,
    /// Metres in a unit of the scene as it was given.
    unit_length: f64,
    world: World,
    fields: Fields,
    bodies: Bodies,
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    /// Meshes that are handed over frame by frame.
    feeds: Vec<Feed>,
    /// What liquid carries.
    columns: Columns,
    liquid: Box<dyn Liquid>,
    /// Volume that each source with a rate should have given so far, m³.
    due: Vec<f64>,
    frame: i64,
    /// Measured when that frame was finished, m³.
    volume: f64,
    /// How far the next frame has come, if it was stopped before its end.
    unfinished: Option<Clock>,
    settings: Settings,
    pool: Pool,
    cancel: Cancel,
    /// What is known of the solve that ended the last frame, if the scene asks for that.
    failure: Option<Failure>,
}

impl Simulation {
    /// Build a scene at its first frame.
    pub fn new(scene: &Scene, meshes: &MeshSource, settings: &Settings) -> Result<Self> {
        scene.validate()?;
        let (given, unit_length) = (scene.clone(), scene.unit_length);
        let scene = scene.to_si();
        support::refuse_unsupported(&scene)?;
        // The host goes before the scene.
        let memory_limit = settings.memory_limit.or(scene.memory_limit.map(|gb| (gb * 1e9) as u64));
        let settings = Settings { memory_limit, ..settings.clone() };
        estimate::check(&scene, &settings, Meshes::Least)?;
        let pool = Pool::new(settings.threads.or(scene.threads.map(|t| t as usize)))?;
        let files = read_files(&scene, meshes)?;
        let read = |file: &str| files.get(file).cloned().ok_or_else(|| Error::geometry(file, "no such mesh"));
        estimate::check(&scene, &settings, Meshes::Read(&read))?;
        let fields = Fields::new(&scene, &settings.fields)?;
        let frame = scene.frames[0];
        // Distances are measured in the pool too: nothing may wake threads that the host has not granted.
        let (world, bodies, sources, sinks, feeds, columns, liquid, volume) = pool.install(|| {
            let loader = Loader { scene: &scene, meshes: &read };
            let mut world = World::new(&scene, &loader)?;
            let bodies = Bodies::new(&loader)?;
            let (mut sources, sinks, feeds) =
                (Source::all(&loader)?, Sink::all(&loader)?, Feed::all(&loader)?);
            let regions = initial_regions(&loader)?;
            let volumes = regions.iter().zip(&scene.initial).map(|(r, v)| (&r.0, &v.attributes));
            let emitters = sources.iter().zip(&scene.emitters).map(|(s, e)| (&s.object, &e.attributes));
            let columns = paint::columns(&scene, volumes.chain(emitters))?;
            sources.iter_mut().for_each(|s| s.prepare_paint(&columns, frame as f64));
            let paints: Vec<Paint> = (regions.iter().zip(&scene.initial))
                .map(|(r, v)| Paint::new(&columns, &r.0, &v.attributes, frame as f64))
                .collect();
            world.painted = [
                paints.iter().map(Paint::thickest).fold(0.0, f64::max),
                poured_thickest(&sources).max(fields.thickest()),
            ];
            let solids = solids_at(&scene, &world, &bodies, frame as f64)?;
            let liquid = start(&scene, &solids, &regions, &paints, &fields, columns.clone(), sources.len())?;
            let volume = liquid.amount().volume;
            Ok::<_, Error>((world, bodies, sources, sinks, feeds, columns, liquid, volume))
        })?;
        Ok(Self {
            due: vec![0.0; sources.len()],
            given,
            scene,
            unit_length,
            world,
            fields,
            bodies,
            sources,
            sinks,
            feeds,
            columns,
            liquid,
            frame,
            volume,
            unfinished: None,
            settings,
            pool,
            cancel: Cancel::new(),
            failure: None,
        })
    }

    /// The last finished frame.
    pub fn frame(&self) -> i64 {
        self.frame
    }

    /// The scene in SI units.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// A flag with which any thread may stop the frame being computed.
    pub fn cancel_flag(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Where the colliders stand at the present frame, and after them the bodies.
    pub fn collider_poses(&self) -> Vec<ColliderPose> {
        let place = |name: &str, pose: &Pose, scale: f64, mesh_changed: bool| {
            let q = pose.rotation;
            ColliderPose {
                name: name.to_string(),
                translate: pose.translation.into(),
                rotate_quaternion_wxyz: [q.w, q.i, q.j, q.k],
                scale,
                mesh_changed,
            }
        };
        let collider = |c: &world::Collider| {
            let changed = c.replaced || c.object.deforms();
            place(&c.object.name, &c.object.pose(self.frame as f64), c.object.transform.scale, changed)
        };
        let bodies = self.bodies.poses().map(|(b, pose, scale)| place(&b.name, &pose, scale, b.replaced));
        self.world.colliders.iter().map(collider).chain(bodies).collect()
    }

    /// The surface of the liquid with the attribute `velocity`, and with what the liquid carries.
    pub fn surface(&self) -> Result<TriMesh> {
        // Up to sheets without thickness that lie in the middle of the plates that stand for them. In walls of a few cells a
        // surface that goes in deeper than a quarter of a cell shows the cells at which it changes sides.
        let thickness = thickest(&self.scene, &self.world, self.frame as f64).max(self.liquid.thickest());
        let amid =
            !self.world.separates(thickness) && self.world.colliders.iter().any(|c| c.object.is_amid_plate());
        let cells = if amid { 0.75 } else { 0.25 };
        let overlap = self.scene.outputs.wall_overlap.unwrap_or(cells * self.scene.cell());
        let viscosity = viscosities(&self.scene, self.frame as f64);
        self.pool.install(|| self.liquid.surface(overlap, &viscosity))
    }

    pub fn particles(&self) -> &Particles {
        self.liquid.particles()
    }

    /// The names of what the liquid carries besides velocity, on its surface and by particle.
    pub fn attribute_names(&self) -> Vec<String> {
        self.liquid.attribute_names()
    }

    /// What the particles carry besides velocity and id.
    pub fn particle_attributes(&self) -> Vec<Attribute> {
        let viscosity = viscosities(&self.scene, self.frame as f64);
        self.pool.install(|| self.liquid.particle_attributes(&viscosity))
    }

    /// The cells on which pressure is solved, for simulators whose cells vary.
    pub fn cells(&self) -> Option<CellsView<'_>> {
        self.liquid.cells()
    }

    /// The fields of the liquid on tiles of cells, for files.
    pub fn volumes(&self) -> Result<VolumesView<'_>> {
        let viscosity = viscosities(&self.scene, self.frame as f64);
        self.pool.install(|| self.liquid.volumes(&viscosity))
    }

    /// The triangles of the colliders and, after them, of the bodies at the present frame, for pictures.
    pub fn collider_meshes(&self) -> Vec<ColliderMesh<'_>> {
        let all = self.world.colliders.iter();
        let bodies = self.bodies.meshes();
        let bodies =
            bodies.map(|(b, mesh)| ColliderMesh { name: &b.name, mesh, look: b.look, deforms: b.replaced });
        all.map(|c| ColliderMesh {
            name: &c.object.name,
            mesh: c.object.mesh(self.frame as f64),
            look: c.look,
            deforms: c.replaced || c.object.deforms(),
        })
        .chain(bodies)
        .collect()
    }

    /// An error if the scene asks for what its simulator does not do.
    pub fn supports(scene: &Scene) -> Result<()> {
        support::refuse_unsupported(&scene.to_si())
    }

    /// How big a scene will be at most, from its description alone; liquid in meshes may fill the domain.
    pub fn estimate(scene: &Scene) -> Estimate {
        estimate::estimate(&scene.to_si(), Meshes::Most).unwrap_or_default()
    }

    /// How big a scene will be, with its meshes and fields at hand.
    pub fn estimate_with(scene: &Scene, meshes: &MeshSource, fields: &FieldFiles) -> Result<Estimate> {
        let mut estimate = estimate::estimate(&scene.to_si(), Meshes::Read(meshes))?;
        estimate.memory_bytes += estimate::field_bytes(fields);
        Ok(estimate)
    }
}

/// The parts of a simulation that a frame works on.
struct FrameWork<'a> {
    scene: &'a Scene,
    world: &'a World,
    fields: &'a Fields,
    bodies: &'a mut Bodies,
    sources: &'a [Source],
    sinks: &'a [Sink],
    liquid: &'a mut dyn Liquid,
    due: &'a mut [f64],
    unfinished: &'a mut Option<Clock>,
    settings: &'a Settings,
}

impl FrameWork<'_> {
    /// All substeps from a frame to the next that are still to be done.
    fn run(&mut self, frame: i64, cancel: &Cancel, progress: &Mutex<Progress>) -> Result<FrameReport> {
        let (first, last) = (frame as f64, (frame + 1) as f64);
        let length = self.scene.seconds(last) - self.scene.seconds(first);
        let o = &self.scene.simulator;
        let mut clock = match self.unfinished.take() {
            Some(clock) => clock,
            None => Clock::new(length, o.substeps_min, o.substeps_max),
        };
        let mut report = FrameReport::default();
        while let Some(dt) = clock.next(&self.limits(first + clock.fraction(), length)) {
            let from = first + clock.fraction();
            // Kept until the substep is done, for whoever goes on after an error.
            *self.unfinished = Some(clock.clone());
            let tried = step::insist(dt, |dt| {
                let mut after = clock.clone();
                after.advance(dt);
                // The last substep ends on the frame exactly, so that a resumed run stands there too.
                let to = if after.fraction() >= 1.0 { last } else { first + after.fraction() };
                Ok((self.substep(from, to, dt, cancel, progress)?, after))
            });
            let ((step, after), halved) =
                tried.map_err(|e| step::placed(e, frame + 1, clock.substeps() + 1, dt))?;
            clock = after;
            if halved > 0 {
                note(&mut report.warnings, "a substep diverged and was repeated in shorter ones");
            }
            *self.unfinished = Some(clock.clone());
            report.add(&step);
            // Round-off is no piston.
            let noticed = REFUSED * self.scene.cell().powi(3);
            if step.refused_inflow * dt > noticed && self.world.any_animated() {
                note(&mut report.warnings, "a collider compresses liquid that cannot escape");
            }
            set(progress, |p| {
                p.fraction = clock.fraction();
                p.substeps = clock.substeps();
            });
            self.check_memory()?;
        }
        *self.unfinished = None;
        report.rule = clock.rule().to_string();
        if clock.substeps() > MANY_SUBSTEPS {
            let text = format!("{} substeps because of {}", clock.substeps(), clock.rule());
            report.warnings.push(text);
        }
        Ok(report)
    }

    /// The rules that bound the next substep.
    fn limits(&self, at: f64, length: f64) -> [Limit; 4] {
        let forces = Forces::at(self.scene, self.fields, at);
        // A wall may not step over the liquid beside it, however thin the wall.
        let reach = COLLIDER_CELLS * self.scene.cell();
        let speed = self.world.speed_ahead(at, length);
        let collider = Limit { dt: reach / speed.max(1e-12), rule: "collider speed" };
        let density = self.scene.liquids.first().map_or(0.0, |l| l.density());
        let dt = match tension(self.scene, at) {
            sigma if sigma > 0.0 => crate::solver::mac::tension_step(sigma, density, self.scene.cell()),
            _ => f64::INFINITY,
        };
        let tension = Limit { dt, rule: "surface tension" };
        [
            self.liquid.max_dt(forces.uniform.norm()),
            collider,
            tension,
            self.body_limit(reach, forces.uniform.norm()),
        ]
    }

    /// No body may fall or fly further than `reach` in a substep.
    fn body_limit(&self, reach: f64, gravity: f64) -> Limit {
        let rule = "body speed";
        if self.bodies.is_empty() {
            return Limit { dt: f64::INFINITY, rule };
        }
        let speed = self.bodies.speed();
        let end = speed + (speed * speed + 4.0 * gravity * reach).sqrt();
        Limit { dt: 2.0 * reach / end.max(1e-12), rule }
    }

    fn substep(
        &mut self,
        from: f64,
        to: f64,
        dt: f64,
        cancel: &Cancel,
        progress: &Mutex<Progress>,
    ) -> Result<report::StepReport> {
        // Liquid that is there may be thicker than any that comes in now.
        let thickness = thickest(self.scene, self.world, to).max(self.liquid.thickest());
        let cell = self.scene.cell();
        let walls = self.world.solids(from, to, dt, thickness, cancel)?;
        let (states, moved) = self.bodies.advance(&walls, dt, cell, thickness);
        let solids = walls.clone().and_bodies(moved);
        let forces = Forces::at(self.scene, self.fields, to);
        let touching = self.bodies.touching(&states);
        let contacts = self.bodies.contacts(&touching, &states, &walls, dt, cell);
        // What gravity adds in two steps is no impact.
        let slow = 2.0 * forces.uniform.norm() * dt;
        let contact = |v: &[Six], factor: &[f64]| contacts.solve(&touching, v, factor, dt, slow);
        let afloat = self.bodies.afloat(&states, dt);
        let bodies =
            crate::solver::mac::Bodies { all: &afloat, gravity: forces.uniform, contact: Some(&contact) };
        let due: Vec<f64> = self.sources.iter().zip(&*self.due).map(|(s, d)| d + s.due(to, dt)).collect();
        let given = self.liquid.emitted().to_vec();
        let carriers = Carriers {
            colliders: &self.world.colliders,
            fields: self.fields,
            bodies: [&self.bodies.now, &states],
            frames: [from, to],
            dt,
        };
        let mut placed = Vec::new();
        for (i, source) in self.sources.iter().enumerate() {
            let volumes = [given[i], due[i]];
            let at = source.at(&carriers, &forces.uniform, volumes, cancel)?;
            placed.extend(at.map(|at| (i, at)));
        }
        let distances: Vec<_> = placed.iter().map(|(_, p)| move |x: &Vec3| p.distance(x)).collect();
        let paints: Vec<_> =
            placed.iter().map(|(_, p)| move |x: &Vec3, out: &mut Vec<f32>| p.coat.apply(x, out)).collect();
        let inflows: Vec<Inflow> = placed
            .iter()
            .zip(distances.iter().zip(&paints))
            .map(|((index, p), (distance, paint))| Inflow {
                index: *index,
                distance,
                bounds: p.bounds,
                velocity: p.velocity,
                carried: p.carried,
                liquid: self.sources[*index].liquid,
                budget: p.budget,
                fills: p.fills,
                paint,
            })
            .collect();
        let mut swallow = Vec::new();
        for sink in self.sinks {
            swallow.extend(sink.at(&carriers, cancel)?);
        }
        let depths: Vec<_> = swallow.iter().map(|p| move |x: &Vec3| p.distance(x)).collect();
        let outflows = swallow.iter().zip(&depths);
        let outflows: Vec<Outflow> =
            outflows.map(|(p, distance)| Outflow { distance, bounds: p.bounds() }).collect();
        let sea = WaterLine::at(self.scene, to, -forces.uniform.y);
        let local = |x: &Vec3, v: &Vec3, depth: f64| {
            let led = sea.as_ref().map_or(Vec3::zeros(), |sea| sea.lead(x, v, depth, dt));
            forces.local(x, v, depth) + led
        };
        let world = Step {
            dt,
            solids: &solids,
            gravity: forces.uniform,
            force: if forces.has_local() || sea.is_some() { Some(&local) } else { None },
            tension: tension(self.scene, to),
            inflows: &inflows,
            outflows: &outflows,
            viscosity: &viscosities(self.scene, to),
            thickest: thickness,
            bodies: &bodies,
            cancel,
        };
        let report =
            step::step(self.liquid, &world, &mut |stage| set(progress, |p| p.stage = STAGES[stage]))?;
        drop(touching);
        self.bodies.accept(states, self.liquid.carried(), dt);
        let after = self.liquid.emitted();
        for i in 0..self.due.len() {
            // The first filling of the region is not held against the rate.
            self.due[i] = if given[i] == 0.0 { due[i].max(after[i]) } else { due[i] };
        }
        Ok(report)
    }

    fn check_memory(&self) -> Result<()> {
        // A substep holds the old and the new state, and the matrix of the solve between them. What the system will not give
        // in one piece is an error here; inside the step it would be the end of the process.
        let needed = 3 * self.liquid.bytes() as u64;
        match self.settings.memory_limit {
            Some(limit) if needed > limit => Err(estimate::out_of_memory("the next step", needed, limit)),
            _ => estimate::ask("the next step", needed),
        }
    }
}

fn set(progress: &Mutex<Progress>, change: impl FnOnce(&mut Progress)) {
    // A poisoned lock still holds a number to show.
    change(&mut progress.lock().unwrap_or_else(|e| e.into_inner()));
}

fn note(warnings: &mut Vec<String>, text: &str) {
    if warnings.iter().all(|w| w != text) {
        warnings.push(text.to_string());
    }
}

/// Surface tension of the first liquid, N/m.
fn tension(scene: &Scene, frame: f64) -> f64 {
    scene.liquids.first().map_or(0.0, |l| l.surface_tension().at(frame))
}

/// Dynamic viscosity of each liquid, Pa·s.
fn viscosities(scene: &Scene, frame: f64) -> Vec<f64> {
    scene.liquids.iter().map(|l| l.viscosity().at(frame)).collect()
}

/// Dynamic viscosity of the thickest liquid, Pa·s: walls that stick to it need not ask which liquid comes.
fn thickest(scene: &Scene, world: &World, frame: f64) -> f64 {
    let aging = scene.liquids.iter().flat_map(|l| l.viscosity_by_age.iter().map(|k| k[1]));
    viscosities(scene, frame).into_iter().chain(aging).chain(world.painted).fold(0.0, f64::max)
}

/// The greatest viscosity that emitters give their liquid, Pa·s.
fn poured_thickest(sources: &[Source]) -> f64 {
    sources.iter().map(Source::thickest).fold(0.0, f64::max)
}

/// The mesh files of a scene, each read once.
fn read_files(scene: &Scene, meshes: &MeshSource) -> Result<BTreeMap<String, TriMesh>> {
    let colliders = scene.colliders.iter().map(|c| &c.shape).chain(scene.bodies.iter().map(|b| &b.shape));
    let sources = scene.initial.iter().map(|v| &v.shape).chain(scene.emitters.iter().map(|e| &e.shape));
    let sources = sources.chain(scene.sinks.iter().map(|s| &s.shape));
    let mut files = BTreeMap::new();
    for file in colliders.chain(sources).flat_map(|s| s.files()) {
        if !files.contains_key(file) {
            files.insert(file.to_string(), meshes(file)?);
        }
    }
    Ok(files)
}

/// The solids of a frame, at rest, and the bodies where they are.
fn solids_at(scene: &Scene, world: &World, bodies: &Bodies, frame: f64) -> Result<Solids> {
    let viscosity = thickest(scene, world, frame);
    let walls = world.solids(frame, frame, 0.0, viscosity, &Cancel::new())?;
    Ok(walls.and_bodies(bodies.solids_now(viscosity)))
}

/// The initial volumes with their velocities and the gradients of these.
fn initial_regions(loader: &Loader) -> Result<Vec<(Object, Vec3, Mat3)>> {
    let build = |(i, v): (usize, &crate::scene::Volume)| {
        let name = named(&v.name, "initial volume", i);
        let form = loader.form(&v.shape, &name, v.transform.scale)?;
        let object = Object { name, form, transform: v.transform.clone(), container: false };
        let turn = Vec3::from(v.angular_velocity.map(f64::to_radians)).cross_matrix();
        let rows = v.velocity_gradient.unwrap_or_default();
        Ok((object, Vec3::from(v.velocity), turn + Mat3::from_fn(|a, b| rows[a][b])))
    };
    loader.scene.initial.iter().enumerate().map(build).collect()
}

/// The liquid at the first frame.
fn start(
    scene: &Scene,
    solids: &Solids,
    regions: &[(Object, Vec3, Mat3)],
    paints: &[Paint],
    fields: &Fields,
    columns: Columns,
    emitters: usize,
) -> Result<Box<dyn Liquid>> {
    let frame = scene.frames[0] as f64;
    let mut placed = Vec::new();
    for (object, v, gradient) in regions {
        placed.push((&object.name, object.at(frame, frame, 0.0, &Cancel::new())?, *v, *gradient));
    }
    let distances: Vec<_> = placed.iter().map(|(_, p, _, _)| move |x: &Vec3| p.distance(x)).collect();
    let thrown: Vec<_> = fields.at(FieldKind::Velocity, frame).collect();
    let velocities: Vec<_> = placed
        .iter()
        .map(|(_, p, v, gradient)| {
            let centre = p.bounds().centre();
            let thrown = &thrown;
            move |x: &Vec3| {
                let thrown: Vec3 = thrown.iter().filter_map(|f| f.at(x)).sum();
                v + gradient * (x - centre) + thrown
            }
        })
        .collect();
    let coats: Vec<Coat> = (placed.iter().zip(regions).zip(paints))
        .map(|((p, r), paint)| paint.at(&r.0, &p.1, fields, frame))
        .collect();
    let brushes: Vec<_> =
        coats.iter().map(|coat| move |x: &Vec3, out: &mut Vec<f32>| coat.apply(x, out)).collect();
    let mut volumes = Vec::new();
    for (i, (name, place, _, _)) in placed.iter().enumerate() {
        let (distance, velocity, paint) = (&distances[i], &velocities[i], &brushes[i]);
        let bounds = clip(&place.bounds(), solids, scene.cell());
        if bounds.is_empty() || !bounds.size().iter().all(|s| s.is_finite()) {
            return Err(Error::geometry(*name, "it lies outside the domain, or has no finite size"));
        }
        let liquid = scene.liquid(scene.initial[i].liquid.as_deref()).unwrap_or(0) as u8;
        volumes.push(InitialVolume { distance, bounds, velocity, liquid, paint });
    }
    Ok(match scene.simulator.kind {
        SimulatorType::Mac => {
            Box::new(Mac::new(mac_options(scene).carrying(columns), solids, &volumes, emitters)?)
        }
        SimulatorType::Bcc => Box::new(Bcc::new(bcc_options(scene), solids, &volumes, emitters)?),
    })
}

/// The part of a box that is in the domain.
fn clip(bounds: &Aabb, solids: &Solids, cell: f64) -> Aabb {
    let Some(domain) = solids.domain() else { return *bounds };
    let domain = domain.grow(cell);
    Aabb::new(bounds.lo.sup(&domain.lo), bounds.hi.inf(&domain.hi))
}

fn mac_options(scene: &Scene) -> MacOptions {
    let o = &scene.simulator;
    let cell = scene.cell();
    let depth = scene.domain.as_ref().map(|d| (d.max[2] - d.min[2]) / cell);
    MacOptions {
        cell,
        origin: scene.domain.as_ref().map_or(Vec3::zeros(), |d| d.min.into()),
        flat: depth.is_some_and(|d| d < 1.5),
        transfer: match o.transfer {
            Transfer::Flip => crate::solver::mac::Transfer::Flip { blend: o.flip_blend },
            Transfer::Apic => crate::solver::mac::Transfer::Apic,
            Transfer::SemiLagrangian => crate::solver::mac::Transfer::Grid { corrected: false },
            Transfer::MacCormack => crate::solver::mac::Transfer::Grid { corrected: true },
        },
        cfl: o.cfl,
        density: scene.liquids.first().map_or(1000.0, |l| l.density()),
        tolerance: o.pressure_tolerance,
        liquids: scene.liquids.len(),
        viscosity_tolerance: o.viscosity_tolerance,
        flow: o.flow,
        draft_viscosity: o.draft_viscosity,
        hold_surface: o.hold_surface,
        volume_lock: o.volume_lock,
        markers: match o.surface {
            Surface::Particles => None,
            Surface::ParticleLevelSet => Some(o.particles_per_cell as usize),
            Surface::LevelSet => Some(0),
        },
        per_cell: o.particles_per_cell,
        // Deep inside nobody would know which liquid it is. What particles carry is looked at by `start`.
        narrow_band: if scene.liquids.len() > 1 { 0.0 } else { f64::from(o.narrow_band) },
        smoothing: o.surface_smoothing,
        seed: scene.seed,
        smoke: scene.smoke,
        columns: Columns::default(),
        shown: scene.outputs.attributes.clone(),
        aging: scene.liquids.iter().map(|l| l.viscosity_by_age.clone()).collect(),
    }
}

fn bcc_options(scene: &Scene) -> BccOptions {
    let o = &scene.simulator;
    let domain = scene.domain.clone().map(|d| (Aabb::new(d.min.into(), d.max.into()), d.sides));
    let (domain, sides) = domain.unwrap_or((Aabb::empty(), Default::default()));
    BccOptions {
        cell: scene.cell(),
        cube: o.cube,
        sizing: o.sizing.clone(),
        depth: o.detail.max(1).ilog2(),
        domain,
        open: [0, 1, 2].map(|a| sides.open(a)),
        cfl: o.cfl,
        density: scene.liquids.first().map_or(1000.0, |l| l.density()),
        tolerance: o.pressure_tolerance,
        viscosity_tolerance: o.viscosity_tolerance,
        flow: o.flow,
        draft_viscosity: o.draft_viscosity,
        coupling: match o.viscosity_coupling {
            ViscosityCoupling::Blend => Coupling::Blend,
            ViscosityCoupling::Flip => Coupling::Flip,
            ViscosityCoupling::Pic => Coupling::Pic,
            ViscosityCoupling::Faces => Coupling::Faces,
        },
        volume_lock: o.volume_lock,
        blend: o.flip_blend,
        markers: o.particles_per_cell as usize,
        liquids: scene.liquids.len(),
    }
}
