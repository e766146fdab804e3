//! The scene as a whole: time, space, the simulator and its outputs.
//!
//! Positions, sizes of shapes and velocities are in scene units (`unit_length` metres each, seconds);
//! everything whose unit is named in its documentation is in that unit whatever `unit_length` says.

use super::{
    Body, Collider, Emitter, Field, Force, Fps, Keyed, Liquid, Shown, Sink, Sizing, Volume, Wall, WaterLine,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scene for Meniscus. Y is up. Positions, sizes and velocities are in scene units of `unit_length`
/// metres; everything else is in SI units. Most numbers may be animated: {"keys": [[frame, value], …]}.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// Version of the scene format; always 1.
    pub meniscus: u32,
    /// Name of the shot, for reports and pictures.
    #[serde(default)]
    pub name: String,
    /// First and last frame, both written; frames may be negative. The first holds the initial state.
    #[serde(default = "default_frames")]
    pub frames: [i64; 2],
    /// Frames a second as an exact fraction.
    #[serde(default)]
    pub fps: Fps,
    /// Seconds of liquid time that pass in a second of film; 0.5 is slow motion.
    #[serde(default = "one")]
    pub time_scale: Keyed<f64>,
    /// Metres in a scene unit: 1 for metres, 0.01 for centimetres.
    #[serde(default = "one_number")]
    pub unit_length: f64,
    /// The box that liquid may fill. Without it space is unbounded and `resolution` must be a `cell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Domain>,
    /// Size of a cell, the one measure of detail.
    #[serde(default)]
    pub resolution: Resolution,
    /// Acceleration of gravity in m/s².
    #[serde(default = "default_gravity")]
    pub gravity: Keyed<[f64; 3]>,
    /// The liquids; volumes and emitters that name none are of the first. Without any there is water-like
    /// liquid of 1000 kg/m³ without viscosity.
    #[serde(default)]
    pub liquids: Vec<Liquid>,
    /// Liquid that is there in the first frame.
    #[serde(default)]
    pub initial: Vec<Volume>,
    /// Shapes that pour liquid.
    #[serde(default)]
    pub emitters: Vec<Emitter>,
    /// Shapes that swallow liquid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sinks: Vec<Sink>,
    /// A sea that goes on beyond sides of the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub water_line: Option<WaterLine>,
    /// Solids that liquid flows round: at rest, moved by keys, or deforming.
    #[serde(default)]
    pub colliders: Vec<Collider>,
    /// Solids that liquid moves.
    #[serde(default)]
    pub bodies: Vec<Body>,
    /// What accelerates the liquid besides gravity.
    #[serde(default)]
    pub forces: Vec<Force>,
    /// Numbers that were computed elsewhere and act on the liquid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// Smoke instead of liquid: the domain, which must be closed, is full of air that carries `density` and
    /// `temperature`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoke: Option<Smoke>,
    /// The method and its options.
    #[serde(default)]
    pub simulator: Simulator,
    /// What is written for each frame.
    #[serde(default)]
    pub outputs: Outputs,
    /// Folder for the frames, relative to the scene file; the option -o goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Most memory that the simulation may use, in GB (10⁹ bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<f64>,
    /// Number of threads; all cores when absent. The result does not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Seed of everything random. The same seed gives the same bytes.
    #[serde(default)]
    pub seed: u64,
    /// Help for finding faults.
    #[serde(default)]
    pub debug: Debug,
}

impl Default for Scene {
    fn default() -> Self {
        Scene {
            meniscus: super::SCENE_VERSION,
            name: String::new(),
            frames: default_frames(),
            fps: Fps::default(),
            time_scale: one(),
            unit_length: 1.0,
            domain: None,
            resolution: Resolution::default(),
            gravity: default_gravity(),
            liquids: Vec::new(),
            initial: Vec::new(),
            emitters: Vec::new(),
            sinks: Vec::new(),
            water_line: None,
            colliders: Vec::new(),
            bodies: Vec::new(),
            forces: Vec::new(),
            fields: Vec::new(),
            smoke: None,
            simulator: Simulator::default(),
            outputs: Outputs::default(),
            cache: None,
            memory_limit: None,
            threads: None,
            seed: 0,
            debug: Debug::default(),
        }
    }
}

impl Scene {
    /// The cell size in metres, for a scene in SI units.
    pub fn cell(&self) -> f64 {
        match (self.resolution, &self.domain) {
            (Resolution::Cell(cell), _) => cell,
            (Resolution::Divisions(n), Some(domain)) => domain.longest_side() / f64::from(n),
            (Resolution::Divisions(n), None) => 1.0 / f64::from(n),
        }
    }

    /// Seconds of liquid time from the first frame to `frame`, which need not be whole: the integral
    /// of `time_scale` over film time, exact for its linear pieces.
    pub fn seconds(&self, frame: f64) -> f64 {
        let start = self.frames[0] as f64;
        let (low, high, sign) = if frame < start { (frame, start, -1.0) } else { (start, frame, 1.0) };
        let mut knots = vec![low];
        if let Keyed::Keys(keys) = &self.time_scale {
            knots.extend(keys.iter().map(|k| k.0).filter(|f| (low..high).contains(f) && *f > low));
        }
        knots.push(high);
        let piece = |w: &[f64]| 0.5 * (self.time_scale.at(w[0]) + self.time_scale.at(w[1])) * (w[1] - w[0]);
        sign * self.fps.frame_seconds() * knots.windows(2).map(piece).sum::<f64>()
    }

    /// The liquid that an object names, or the first, or the default one.
    pub fn liquid(&self, name: Option<&str>) -> Option<usize> {
        match name {
            None => Some(0),
            Some(name) => self.liquids.iter().position(|l| l.name == name),
        }
    }
}

fn default_frames() -> [i64; 2] {
    [1, 48]
}
fn one() -> Keyed<f64> {
    Keyed::Constant(1.0)
}
fn one_number() -> f64 {
    1.0
}
fn yes() -> bool {
    true
}
fn default_gravity() -> Keyed<[f64; 3]> {
    Keyed::Constant([0.0, -9.81, 0.0])
}

/// A box with open or closed sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// Lowest corner.
    pub min: [f64; 3],
    /// Highest corner.
    pub max: [f64; 3],
    /// Which sides are walls; all, unless said otherwise.
    #[serde(default)]
    pub sides: Sides,
    /// How liquid meets the closed sides.
    #[serde(default)]
    pub wall: Wall,
    /// Friction of the closed sides from 0 to 1.
    #[serde(default)]
    pub friction: f64,
}

impl Domain {
    /// Length of the longest side.
    pub fn longest_side(&self) -> f64 {
        (0..3).map(|a| self.max[a] - self.min[a]).fold(0.0, f64::max)
    }
}

/// The six sides of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sides {
    /// The side of lowest x.
    pub x_min: Side,
    /// The side of highest x.
    pub x_max: Side,
    /// The floor.
    pub y_min: Side,
    /// The ceiling.
    pub y_max: Side,
    /// The side of lowest z.
    pub z_min: Side,
    /// The side of highest z.
    pub z_max: Side,
}

/// Closed sides are walls; liquid that crosses an open one is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    #[default]
    Closed,
    Open,
}

impl Sides {
    /// Whether the low and the high side of an axis are open.
    pub fn open(&self, axis: usize) -> [bool; 2] {
        let sides = [[self.x_min, self.x_max], [self.y_min, self.y_max], [self.z_min, self.z_max]];
        sides[axis].map(|s| s == Side::Open)
    }
}

/// Either the size of a cell in metres or the number of cells along the longest side of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resolution {
    /// Edge of a cell in metres; twice Houdini's particle separation.
    Cell(f64),
    /// Cells along the longest side of the domain, as Blender counts.
    Divisions(u32),
}

impl Default for Resolution {
    fn default() -> Self {
        Resolution::Divisions(64)
    }
}

/// Air without a free surface. Volumes and emitters colour it: their attributes `density`, how much smoke there is, and
/// `temperature`, kelvin above that of the air, are carried along. The liquid is the air; 1.2 kg/m³ matter
/// only to bodies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Smoke {
    /// Acceleration against gravity for a kelvin, as a share of gravity; 1/293 for air.
    pub lift: f64,
    /// Acceleration with gravity for a `density` of 1, as a share of gravity.
    pub weight: f64,
    /// Seconds in which a temperature falls to 1/e of itself; 0 if it stays.
    pub cooling: f64,
    /// Seconds in which a density thins to 1/e of itself; 0 if it stays.
    pub fading: f64,
}

impl Default for Smoke {
    fn default() -> Self {
        Smoke { lift: 1.0 / 293.0, weight: 0.0, cooling: 0.0, fading: 0.0 }
    }
}

/// The method and its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Simulator {
    /// Which simulator.
    #[serde(rename = "type")]
    pub kind: SimulatorType,
    /// What carries the surface of the simulator `mac`.
    pub surface: Surface,
    /// How velocity goes between particles and grid.
    pub transfer: Transfer,
    /// Share of FLIP from 0 (calm, damped) to 1 (lively, noisy), over each hundredth of a second; used by
    /// the transfer `flip`.
    pub flip_blend: f64,
    /// Cells that liquid may cross in a substep.
    pub cfl: f64,
    /// Fewest substeps a frame.
    pub substeps_min: u32,
    /// Most substeps a frame; 0 takes as many as `cfl` asks for.
    pub substeps_max: u32,
    /// Hold the volume of the liquid.
    pub volume_lock: bool,
    /// Particles in a cell that is full; with `bcc` and with the surface `particle_level_set` markers in a cell at the
    /// surface.
    pub particles_per_cell: u32,
    /// Keep particles only this many cells below the surface, and let the grid alone carry deeper water; 0
    /// keeps them everywhere. Faster and smaller for deep water; particles come and go below the band.
    pub narrow_band: u32,
    /// Smoothing of the surface for pictures, in cells; it keeps the volume of every piece.
    pub surface_smoothing: f64,
    /// Relative residual at which the pressure solve stops.
    pub pressure_tolerance: f64,
    /// How many times wider than at the surface cells may be in the deep and in the air: 1, 2, 4, … 64; used by
    /// the simulator `bcc`.
    pub detail: u32,
    /// Width of the finest cubes of the simulator `bcc` in cells, 1 or 2. A cube holds twelve tetrahedra, so cubes of
    /// two cells carry as many velocities as a grid of such cells, and cost an eighth of cubes of one.
    pub cube: u32,
    /// Where cells are finer or wider than the surface alone asks for; used by the simulator `bcc`.
    pub sizing: Sizing,
    /// Relative residual at which the viscosity solve stops.
    pub viscosity_tolerance: f64,
    /// How pressure and viscosity are found.
    pub flow: Flow,
    /// Quick viscosity for drafts: each component of velocity is smoothed on its own. Thick liquid then
    /// neither turns nor bends freely.
    pub draft_viscosity: bool,
    /// For comparison: hold the velocities at the surface as they are while viscosity acts, as solvers do that give the
    /// surface a velocity instead of letting it move without traction. What hangs then falls as if nothing held it; used by
    /// the simulator `mac`.
    pub hold_surface: bool,
    /// How viscosity, which the simulator `bcc` solves for at the corners of tetrahedra, acts on velocities, which sit on faces.
    pub viscosity_coupling: ViscosityCoupling,
}

impl Default for Simulator {
    fn default() -> Self {
        Simulator {
            kind: SimulatorType::Mac,
            surface: Surface::Particles,
            transfer: Transfer::Flip,
            flip_blend: 0.97,
            cfl: 2.0,
            substeps_min: 1,
            substeps_max: 0,
            volume_lock: true,
            particles_per_cell: 8,
            narrow_band: 0,
            surface_smoothing: 1.0,
            pressure_tolerance: 1e-6,
            detail: 8,
            cube: 1,
            sizing: Sizing::default(),
            viscosity_tolerance: 1e-6,
            flow: Flow::Auto,
            draft_viscosity: false,
            hold_surface: false,
            viscosity_coupling: ViscosityCoupling::Blend,
        }
    }
}

/// How pressure and viscosity are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Flow {
    /// In each substep whichever is right for the thickness of the liquid; the report tells. With the simulator `bcc` one
    /// after the other.
    #[default]
    Auto,
    /// One after the other. Fast, and right for all that splashes.
    Splashy,
    /// In one solve. Slower, and right for liquid that creeps, hangs or glides.
    Thick,
}

/// The simulators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimulatorType {
    /// Particles on a staggered grid.
    #[default]
    Mac,
    /// A level set over tetrahedra that are fine at the surface and wide elsewhere.
    Bcc,
}

/// What carries the surface of the simulator `mac`. Without particles the grid carries velocity: the level sets need the
/// transfer `semi_lagrangian` or `maccormack`, and can carry neither attributes nor several liquids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Particles carry volume; a level set held to them is the surface. Splashes, spray, thin sheets.
    #[default]
    Particles,
    /// A level set corrected by markers on both sides: smooth, and sharp edges stay sharp. Drops below two cells are lost,
    /// and their volume goes back to the surface.
    ParticleLevelSet,
    /// A level set alone: the smoothest and cheapest; thin parts vanish.
    LevelSet,
}

/// How velocity goes between particles and grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transfer {
    /// Particles keep their velocity and receive the grid's change.
    #[default]
    Flip,
    /// Particles carry an affine velocity; conserves angular momentum, less noise.
    Apic,
    /// Velocity stays on the grid and is carried backwards along the flow; particles only say where liquid is. Calm
    /// and damped.
    #[serde(rename = "semi_lagrangian")]
    SemiLagrangian,
    /// As `semi_lagrangian`, to second order.
    MacCormack,
}

/// How viscosity at the corners of tetrahedra acts on velocities on faces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ViscosityCoupling {
    /// `flip` where liquid is thin, `pic` where it is thick, by how fast the shortest waves decay.
    #[default]
    Blend,
    /// Faces receive the change at the corners.
    Flip,
    /// Faces receive the velocity at the corners.
    Pic,
    /// The equations are solved for the faces themselves; slower.
    Faces,
}

/// What is written for each frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Outputs {
    /// Format of the surface mesh, which carries velocity at every vertex; in OBJ as comments.
    pub surface: SurfaceFormat,
    /// Write the particles as PLY.
    pub particles: bool,
    /// What particles and surface carry besides velocity and what their sources gave them.
    pub attributes: Vec<Shown>,
    /// How far the surface reaches into solids, in metres, so that no gap shows against glass; a
    /// quarter of a cell when absent, three quarters if there are sheets without thickness that have no hollow side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_overlap: Option<f64>,
    /// Write the cells on which pressure is solved as VTU, for `meniscus preview --cells` and ParaView; only the
    /// simulator `bcc` has them.
    pub cells: bool,
    /// Write the surface as a level set, and velocity, pressure, viscosity and solids, as OpenVDB. Builds with the
    /// feature `openvdb` can.
    pub volumes: bool,
    /// Write the meshes of the colliders, for previews.
    #[serde(default = "yes")]
    pub colliders: bool,
    /// Frames between two checkpoints, from which a run can go on; 0 for none but when it is stopped.
    pub checkpoint_every: u32,
}

impl Default for Outputs {
    fn default() -> Self {
        Outputs {
            surface: SurfaceFormat::Ply,
            particles: false,
            attributes: Vec::new(),
            wall_overlap: None,
            cells: false,
            volumes: false,
            colliders: true,
            checkpoint_every: 10,
        }
    }
}

/// Formats of the surface mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SurfaceFormat {
    /// Binary PLY with velocity.
    #[default]
    Ply,
    /// Wavefront OBJ; other programs find no velocity in it.
    Obj,
    /// Polygons for ParaView with velocity.
    Vtp,
    /// Binary USD: surface with velocity, particles if they are asked for, and where solids stand.
    Usdc,
    /// The same as text, for people.
    Usda,
    /// No surface.
    None,
}

/// Help for finding faults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Debug {
    /// Folder for what a failed solve leaves behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dump_dir: Option<String>,
}
