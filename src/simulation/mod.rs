//! The simulation: a scene, stepped frame by frame.
//!
//! [`Simulation::new`] builds the solids, sources and liquid of a scene; [`Simulation::advance_frame`]
//! goes to the next frame in as many substeps as the clock asks for; everything else reads. Work runs
//! in a pool of threads that the simulation owns, while the caller's thread reports progress.

mod bcc;
mod bodies;
mod clock;
mod contact;
mod estimate;
mod feed;
mod forces;
mod form;
mod geometry;
mod keys;
pub mod liquid;
mod mac;
mod pool;
pub mod report;
mod sources;
pub mod state;
mod step;
mod support;
pub mod validation;
mod watch;
mod world;

use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::field::{Particles, Solids};
use crate::geometry::TriMesh;
use crate::math::{Aabb, Mat3, Pose, Vec3};
use crate::scene::{Look, Scene, SimulatorType, Transfer, ViscosityCoupling};
use crate::solver::bcc::Coupling;
use crate::solver::rigid::Six;
use bcc::{Bcc, BccOptions};
use bodies::Bodies;
use clock::{Clock, MANY_SUBSTEPS};
use feed::Feed;
use forces::Forces;
use form::Object;
use liquid::{Inflow, Liquid, Outflow, Step};
use mac::{InitialVolume, Mac, MacOptions};
use report::{ColliderPose, Estimate, FrameReport, Limit, Progress, STAGES};
use sources::{Sink, Source};
use state::{Reader, Writer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;
use world::{Loader, World, named};

pub use bcc::CellsView;
pub use geometry::GeometryOf;
pub use pool::Pool;

/// Cells that a collider may cross in a substep.
const COLLIDER_CELLS: f64 = 1.0;

/// Where mesh files of a scene come from; the library itself opens no files.
pub type MeshSource<'a> = dyn Fn(&str) -> Result<TriMesh> + 'a;

/// What the host decides.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Threads to use; all that there are if None.
    pub threads: Option<usize>,
    /// Bytes that the simulation may hold.
    pub memory_limit: Option<u64>,
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
    bodies: Bodies,
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    /// Meshes that are handed over frame by frame.
    feeds: Vec<Feed>,
    liquid: Box<dyn Liquid>,
    /// Volume that each source with a rate should have given so far, m³.
    due: Vec<f64>,
    frame: i64,
    /// How far the next frame has come, if it was stopped before its end.
    unfinished: Option<Clock>,
    settings: Settings,
    pool: Pool,
    cancel: Cancel,
}

impl Simulation {
    /// Build a scene at its first frame.
    pub fn new(scene: &Scene, meshes: &MeshSource, settings: &Settings) -> Result<Self> {
        scene.validate()?;
        let (given, unit_length) = (scene.clone(), scene.unit_length);
        let scene = scene.to_si();
        support::refuse_unsupported(&scene)?;
        check_memory(&scene, settings)?;
        let pool = Pool::new(settings.threads.or(scene.threads.map(|t| t as usize)))?;
        let files = read_files(&scene, meshes)?;
        let frame = scene.frames[0];
        // Distances are measured in the pool too: nothing may wake threads that the host has not granted.
        let (world, bodies, sources, sinks, feeds, liquid) = pool.install(|| {
            let read =
                |file: &str| files.get(file).cloned().ok_or_else(|| Error::geometry(file, "no such mesh"));
            let loader = Loader { scene: &scene, meshes: &read };
            let world = World::new(&scene, &loader)?;
            let bodies = Bodies::new(&loader)?;
            let (sources, sinks, feeds) = (Source::all(&loader)?, Sink::all(&loader)?, Feed::all(&loader)?);
            let regions = initial_regions(&loader)?;
            let solids = solids_at(&scene, &world, &bodies, frame as f64)?;
            let liquid = start(&scene, &solids, &regions, sources.len())?;
            Ok::<_, Error>((world, bodies, sources, sinks, feeds, liquid))
        })?;
        Ok(Self {
            due: vec![0.0; sources.len()],
            given,
            scene,
            unit_length,
            world,
            bodies,
            sources,
            sinks,
            feeds,
            liquid,
            frame,
            unfinished: None,
            settings: settings.clone(),
            pool,
            cancel: Cancel::new(),
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

    /// Go to the next frame. `watch` is called on this thread several times a second and returns true
    /// to cancel. After an error the simulation is as it was after the last finished substep, and the
    /// next call goes on from there to the same frame.
    pub fn advance_frame(&mut self, watch: &mut dyn FnMut(&Progress) -> bool) -> Result<FrameReport> {
        let start = Instant::now();
        self.cancel.reset();
        self.feed(self.frame)?;
        let progress = Mutex::new(Progress {
            frame: self.frame + 1,
            fraction: 0.0,
            substeps: 0,
            stage: STAGES[0],
            litres: 1e3 * self.liquid.amount().volume,
        });
        let cancel = self.cancel.clone();
        let Self {
            scene, world, bodies, sources, sinks, liquid, due, frame, unfinished, settings, pool, ..
        } = self;
        let liquid = liquid.as_mut();
        let mut frame_work =
            FrameWork { scene, world, bodies, sources, sinks, liquid, due, unfinished, settings };
        let report =
            watch::run(pool, &cancel, &progress, watch, || frame_work.run(*frame, &cancel, &progress))?;
        self.frame += 1;
        let mut report = FrameReport { seconds: start.elapsed().as_secs_f64(), ..report };
        self.describe(&mut report);
        Ok(report)
    }

    /// The report of the present frame as it stands, without times.
    pub fn report(&self) -> FrameReport {
        let mut report = FrameReport { rule: "start".into(), ..FrameReport::default() };
        self.describe(&mut report);
        report
    }

    fn describe(&self, report: &mut FrameReport) {
        let amount = self.pool.install(|| self.liquid.amount());
        report.frame = self.frame;
        report.time = self.scene.seconds(self.frame as f64);
        report.litres = 1e3 * amount.volume;
        report.litres_expected = 1e3 * amount.expected;
        report.liquid_cells = amount.liquid_cells;
        report.tiles = amount.tiles;
        report.max_speed = self.pool.install(|| self.liquid.max_speed());
        report.particles = self.liquid.particles().len();
        report.memory_bytes = self.liquid.bytes() as u64;
        report.colliders = self.collider_poses();
        report.bodies = self.bodies.report();
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
        let bodies = self.bodies.poses().map(|(name, pose, scale)| place(name, &pose, scale, false));
        self.world.colliders.iter().map(collider).chain(bodies).collect()
    }

    /// The surface of the liquid with the attribute `velocity`.
    pub fn surface(&self) -> Result<TriMesh> {
        // Up to the middle of the plates that stand for sheets without thickness.
        let overlap = self.scene.outputs.wall_overlap.unwrap_or(0.75 * self.scene.cell());
        self.pool.install(|| self.liquid.surface(overlap))
    }

    pub fn particles(&self) -> &Particles {
        self.liquid.particles()
    }

    /// The cells on which pressure is solved, for simulators whose cells vary.
    pub fn cells(&self) -> Option<CellsView<'_>> {
        self.liquid.cells()
    }

    /// The triangles of the colliders and, after them, of the bodies at the present frame, for pictures.
    pub fn collider_meshes(&self) -> Vec<ColliderMesh<'_>> {
        let all = self.world.colliders.iter();
        let bodies = self.bodies.meshes();
        let bodies = bodies.map(|(name, mesh, look)| ColliderMesh { name, mesh, look, deforms: false });
        all.map(|c| ColliderMesh {
            name: &c.object.name,
            mesh: c.object.mesh(self.frame as f64),
            look: c.look,
            deforms: c.replaced || c.object.deforms(),
        })
        .chain(bodies)
        .collect()
    }

    /// The complete state as bytes; a simulation of the same scene continues from it bit for bit.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u64s("frame", &[self.frame as u64]);
        out.f64s("due", &self.due);
        out.f64s("unfinished", self.unfinished.as_ref().map(Clock::state).as_ref().map_or(&[], |s| s));
        self.bodies.save(&mut out);
        self.liquid.save(&mut out);
        out.finish()
    }

    /// Continue from saved bytes. On an error the simulation is as it was.
    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new(bytes)?;
        let frame = from.u64s("frame")?;
        let frame = from.expect("frame", frame, 1)?[0] as i64;
        let due = from.f64s("due")?;
        let due = from.expect("due", due, self.due.len())?;
        let unfinished = self.read_clock(&mut from)?;
        let states = self.bodies.load(&mut from)?;
        self.feed_end(frame)?;
        let before = std::mem::replace(&mut self.bodies.now, states);
        let Self { scene, world, bodies, liquid, pool, .. } = self;
        let loaded = pool.install(|| liquid.load(&mut from, &solids_at(scene, world, bodies, frame as f64)?));
        if let Err(error) = loaded {
            self.bodies.now = before;
            return Err(error);
        }
        (self.frame, self.due, self.unfinished) = (frame, due, unfinished);
        Ok(())
    }

    fn read_clock(&self, from: &mut Reader) -> Result<Option<Clock>> {
        let state = from.f64s("unfinished")?;
        if state.is_empty() {
            return Ok(None);
        }
        let state = from.expect("unfinished", state, 4)?;
        let o = &self.scene.simulator;
        let clock = Clock::resume([state[0], state[1], state[2], state[3]], o.substeps_min, o.substeps_max);
        clock.map(Some).ok_or_else(|| Error::Format {
            file: "saved state".into(),
            place: "unfinished".into(),
            message: "a frame cannot be left like this".into(),
        })
    }

    /// An error if the scene asks for what its simulator does not do.
    pub fn supports(scene: &Scene) -> Result<()> {
        support::refuse_unsupported(&scene.to_si())
    }

    /// How big a scene will be, from its description alone.
    pub fn estimate(scene: &Scene) -> Estimate {
        estimate::estimate(&scene.to_si())
    }
}

/// The parts of a simulation that a frame works on.
struct FrameWork<'a> {
    scene: &'a Scene,
    world: &'a World,
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
            if step.refused_inflow > 0.0 && self.world.any_animated() {
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
        let forces = Forces::at(self.scene, at);
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
        let (cell, thickness) = (self.scene.cell(), viscosity(self.scene, to));
        let walls = self.world.solids(from, to, dt, thickness, cancel)?;
        let (states, moved) = self.bodies.advance(&walls, dt, cell, thickness);
        let solids = walls.clone().and_bodies(moved);
        let forces = Forces::at(self.scene, to);
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
        let mut placed = Vec::new();
        for (i, source) in self.sources.iter().enumerate() {
            let volumes = [given[i], due[i]];
            let at = source.at(&self.world.colliders, to, dt, &forces.uniform, volumes, cancel)?;
            placed.extend(at.map(|at| (i, at)));
        }
        let distances: Vec<_> = placed.iter().map(|(_, p)| move |x: &Vec3| p.distance(x)).collect();
        let inflows: Vec<Inflow> = placed
            .iter()
            .zip(&distances)
            .map(|((index, p), distance)| Inflow {
                index: *index,
                distance,
                bounds: p.bounds,
                velocity: p.velocity,
                liquid: self.sources[*index].liquid,
            })
            .collect();
        let mut swallow = Vec::new();
        for sink in self.sinks {
            swallow.extend(sink.at(&self.world.colliders, to, cancel)?);
        }
        let depths: Vec<_> = swallow.iter().map(|p| move |x: &Vec3| p.distance(x)).collect();
        let outflows = swallow.iter().zip(&depths);
        let outflows: Vec<Outflow> =
            outflows.map(|(p, distance)| Outflow { distance, bounds: p.bounds() }).collect();
        let local = |x: &Vec3, v: &Vec3| forces.local(x, v);
        let world = Step {
            dt,
            solids: &solids,
            gravity: forces.uniform,
            force: if forces.has_local() { Some(&local) } else { None },
            tension: tension(self.scene, to),
            inflows: &inflows,
            outflows: &outflows,
            viscosity: &viscosities(self.scene, to),
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
        // A substep holds the old and the new state, and the matrix of the solve between them.
        let needed = 3 * self.liquid.bytes() as u64;
        match self.settings.memory_limit {
            Some(limit) if needed > limit => Err(out_of_memory("the next step", needed, limit)),
            _ => Ok(()),
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
fn viscosity(scene: &Scene, frame: f64) -> f64 {
    viscosities(scene, frame).into_iter().fold(0.0, f64::max)
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
    let viscosity = viscosity(scene, frame);
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
    emitters: usize,
) -> Result<Box<dyn Liquid>> {
    let frame = scene.frames[0] as f64;
    let mut placed = Vec::new();
    for (object, v, gradient) in regions {
        placed.push((&object.name, object.at(frame, frame, 0.0, &Cancel::new())?, *v, *gradient));
    }
    let distances: Vec<_> = placed.iter().map(|(_, p, _, _)| move |x: &Vec3| p.distance(x)).collect();
    let velocities: Vec<_> = placed
        .iter()
        .map(|(_, p, v, gradient)| {
            let centre = p.bounds().centre();
            move |x: &Vec3| v + gradient * (x - centre)
        })
        .collect();
    let mut volumes = Vec::new();
    for ((name, place, _, _), (distance, velocity)) in placed.iter().zip(distances.iter().zip(&velocities)) {
        let bounds = clip(&place.bounds(), solids, scene.cell());
        if bounds.is_empty() || !bounds.size().iter().all(|s| s.is_finite()) {
            return Err(Error::geometry(*name, "it lies outside the domain, or has no finite size"));
        }
        let liquid = scene.liquid(scene.initial[volumes.len()].liquid.as_deref()).unwrap_or(0) as u8;
        volumes.push(InitialVolume { distance, bounds, velocity, liquid });
    }
    Ok(match scene.simulator.kind {
        SimulatorType::Mac => Box::new(Mac::new(mac_options(scene), solids, &volumes, emitters)?),
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
        },
        cfl: o.cfl,
        density: scene.liquids.first().map_or(1000.0, |l| l.density()),
        tolerance: o.pressure_tolerance,
        liquids: scene.liquids.len(),
        viscosity_tolerance: o.viscosity_tolerance,
        flow: o.flow,
        draft_viscosity: o.draft_viscosity,
        volume_lock: o.volume_lock,
        per_cell: o.particles_per_cell,
        // Deep inside nobody would know which liquid it is.
        narrow_band: if scene.liquids.len() > 1 { 0.0 } else { f64::from(o.narrow_band) },
        smoothing: o.surface_smoothing,
        seed: scene.seed,
    }
}

fn bcc_options(scene: &Scene) -> BccOptions {
    let o = &scene.simulator;
    let domain = scene.domain.clone().map(|d| (Aabb::new(d.min.into(), d.max.into()), d.sides));
    let (domain, sides) = domain.unwrap_or((Aabb::empty(), Default::default()));
    BccOptions {
        cell: scene.cell(),
        depth: o.detail.max(1).ilog2(),
        domain,
        open: [0, 1, 2].map(|a| sides.open(a)),
        cfl: o.cfl,
        density: scene.liquids.first().map_or(1000.0, |l| l.density()),
        tolerance: o.pressure_tolerance,
        viscosity_tolerance: o.viscosity_tolerance,
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

fn out_of_memory(what: &str, needed: u64, limit: u64) -> Error {
    Error::Memory {
        what: what.to_string(),
        needed_mb: needed >> 20,
        limit_mb: limit >> 20,
        fix: "use larger cells or raise the limit".to_string(),
    }
}

fn check_memory(scene: &Scene, settings: &Settings) -> Result<()> {
    let needed = estimate::estimate(scene).memory_bytes;
    // Without a limit, refuse only what no machine has: it would not fail but never end.
    let limit = settings.memory_limit.unwrap_or(1 << 42);
    if needed > limit { Err(out_of_memory("the scene", needed, limit)) } else { Ok(()) }
}
