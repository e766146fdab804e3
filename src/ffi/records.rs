//! The structs that cross the border. All but [`mns_array`] begin with their size.

use super::array::mns_array;
use super::fault::mns_result;
use super::guard::guard;
use super::versioned::{fresh, init, versioned};
use crate::simulation::report::{Estimate, FrameReport, Progress, STAGES};
use std::ffi::{CStr, c_char, c_void};

/// What the host decides. Fill with mns_settings_init, then change what you like; zero is the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_settings {
    /// sizeof(mns_settings).
    pub struct_size: u32,
    /// Threads to use; 0 for what the scene says, or else all. The result does not depend on it.
    pub threads: u32,
    /// Bytes that the simulation may hold; 0 for what the scene says, or else three quarters of what the machine or the
    /// control group of the process has. What will not fit is refused before it starts.
    pub memory_limit: u64,
    /// Folder that mesh files of the scene are relative to and lie in, in UTF-8; NULL if the scene may read no files.
    pub mesh_folder: *const c_char,
    /// Meshes in memory that take the place of files of the same name; may be NULL if mesh_count is 0.
    pub meshes: *const mns_named_mesh,
    /// Number of meshes.
    pub mesh_count: usize,
    /// Fields in memory that take the place of files of the same name; may be NULL if field_count is 0.
    pub fields: *const mns_field,
    /// Number of fields.
    pub field_count: usize,
}

/// Numbers on a regular lattice, for a scene that names them under "fields" or, as distances, as the file of a mesh: then
/// the mesh is the surface on which they are zero, negative inside. Between samples values are linear; half a step beyond
/// the outermost samples the field ends.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_field {
    /// sizeof(mns_field).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// In settings, the name that the scene gives as a file; else not read.
    pub name: *const c_char,
    /// In mns_simulation_set_field, when, in frames; else not read.
    pub frame: f64,
    /// Samples along each axis of the lattice.
    pub counts: [u64; 3],
    /// Where the first sample is, in scene units.
    pub origin: [f64; 3],
    /// The steps x y z from a sample to the next along the first axis, then along the second and the third, scene units.
    pub steps: [f64; 9],
    /// One number a sample, or three for a vector; f32 or f64. Samples along the first axis stand side by side, then
    /// come those of the next along the second.
    pub values: mns_array,
}

/// Named numbers at the points of a mesh. Of a source, liquid takes the value of the nearest point of the mesh when it comes
/// in and carries it: `viscosity` in Pa·s is how thick it is, every other name comes out again as surface.NAME and
/// particle.NAME. Of a collider, `friction` from 0 to 1 goes before the scene's. Which names are carried is settled when the
/// simulation is created, by the meshes that its sources have then.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_attribute {
    /// sizeof(mns_attribute).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// At most 64 letters, digits and _.
    pub name: *const c_char,
    /// One element for each point, of 1 to 4 numbers of any type; NaN where a point has no value of its own.
    pub values: mns_array,
}

/// A mesh in memory for a scene that asks for a file of this name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_named_mesh {
    /// sizeof(mns_named_mesh).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// The name that the scene gives as "file".
    pub name: *const c_char,
    /// Points, 3 numbers each, f32 or f64.
    pub positions: mns_array,
    /// Triangles, 3 indices each, counter-clockwise seen from outside.
    pub triangles: mns_array,
    /// What its points carry; may be NULL if attribute_count is 0.
    pub attributes: *const mns_attribute,
    /// Number of attributes.
    pub attribute_count: usize,
}

/// A mesh at one time, for geometry that deforms.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_mesh_sample {
    /// sizeof(mns_mesh_sample).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// When, in frames; need not be whole.
    pub frame: f64,
    /// Points in the object's own coordinates and scene units, 3 numbers each, f32 or f64.
    pub positions: mns_array,
    /// Velocity at each point in scene units a second, used where the next sample has other triangles; count 0 for none.
    pub velocities: mns_array,
    /// Triangles, 3 indices each. They may differ from sample to sample.
    pub triangles: mns_array,
    /// What its points carry; between two samples with the same triangles values go from one to the other. May be NULL
    /// if attribute_count is 0.
    pub attributes: *const mns_attribute,
    /// Number of attributes.
    pub attribute_count: usize,
}

/// What a progress callback sees.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_progress {
    /// Size of this struct in the library, at least what this header says for its version.
    pub struct_size: u32,
    /// Substeps finished in this frame.
    pub substeps: u32,
    /// The frame being computed.
    pub frame: i64,
    /// Share of the frame that is done, 0 to 1.
    pub fraction: f64,
    /// What is being done, as "solve"; static text.
    pub stage: *const c_char,
    /// Liquid, cubic metres.
    pub volume: f64,
}

/// Called several times a second on the thread that called the library. Returns 0 to go on, anything else to cancel;
/// the call then ends within a second with MNS_ERROR_CANCELLED. It must not throw, and calls on the same
/// handle from inside it give MNS_ERROR_BUSY.
pub type mns_progress_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, progress: *const mns_progress) -> i32>;

/// How a frame went. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_report {
    /// sizeof(mns_report).
    pub struct_size: u32,
    /// Substeps of the frame.
    pub substeps: u32,
    /// The frame.
    pub frame: i64,
    /// Simulated seconds since the first frame.
    pub time: f64,
    /// Seconds that the frame took.
    pub seconds: f64,
    /// Seconds in each stage: advect surface, remesh, advect velocity, apply forces, solve, finish.
    pub stage_seconds: [f64; 6],
    /// Liquid in the scene, cubic metres.
    pub volume: f64,
    /// What was poured in less what left, cubic metres.
    pub volume_expected: f64,
    /// Fastest liquid, metres a second.
    pub max_speed: f64,
    /// The worst relative residual of the linear solves.
    pub residual: f64,
    /// Iterations of all linear solves.
    pub iterations: u64,
    /// Number of particles.
    pub particles: u64,
    /// Cells with liquid.
    pub liquid_cells: u64,
    /// Bytes held by the simulation's arrays.
    pub memory_bytes: u64,
    /// Number of warnings; their text is in the report as JSON.
    pub warnings: u64,
}

/// How big a scene will be, from its description alone. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_estimate {
    /// sizeof(mns_estimate).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Cells in the domain, were all of it stored; 0 if it has no bounds.
    pub domain_cells: u64,
    /// Cells of liquid once everything is poured.
    pub liquid_cells: u64,
    /// Particles.
    pub particles: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes on disk for each frame.
    pub disk_bytes_per_frame: u64,
}

/// A grid of cubic cells for the pieces door. Fill with mns_grid_options_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_grid_options {
    /// sizeof(mns_grid_options).
    pub struct_size: u32,
    /// Threads to use; 0 for all.
    pub threads: u32,
    /// Cells along x, y, z; z = 1 makes the grid flat: two dimensions.
    pub cells: [u32; 3],
    /// 0.
    pub reserved: u32,
    /// Lower corner of the first cell, metres.
    pub origin: [f64; 3],
    /// Width of a cell, metres.
    pub cell: f64,
}

/// What one pressure solve is told. Fill with mns_pressure_options_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_pressure_options {
    /// sizeof(mns_pressure_options).
    pub struct_size: u32,
    /// MNS_SCHEME_AREA or MNS_SCHEME_VOLUME.
    pub scheme: i32,
    /// Length of the step, seconds.
    pub dt: f64,
    /// Relative residual at which the solve stops, between 0 and 1.
    pub tolerance: f64,
    /// Relative growth of the liquid's volume, 1/s; 0 for a liquid that keeps it.
    pub expansion: f64,
}

/// What one viscosity or Stokes solve is told. Fill with mns_stokes_options_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_stokes_options {
    /// sizeof(mns_stokes_options).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Length of the step, seconds.
    pub dt: f64,
    /// Relative residual at which the solve stops, between 0 and 1.
    pub tolerance: f64,
}

/// How a solve went. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_solve_info {
    /// sizeof(mns_solve_info).
    pub struct_size: u32,
    /// Iterations taken.
    pub iterations: u32,
    /// True relative residual at the end.
    pub residual: f64,
    /// Bodies of liquid without a free surface.
    pub closed_regions: u64,
    /// Volume rate that solids tried to force into closed regions and that was refused, m^3/s.
    pub refused_inflow: f64,
    /// Number of unknowns.
    pub unknowns: u64,
}

versioned!(
    mns_settings,
    mns_attribute,
    mns_named_mesh,
    mns_field,
    mns_mesh_sample,
    mns_progress,
    mns_report,
    mns_estimate,
    mns_grid_options,
    mns_pressure_options,
    mns_stokes_options,
    mns_solve_info,
);

/// Open faces are weighed by their area, and pressure ends where the surface is: the sharp scheme of `meniscus validate stokes`.
/// Second order, exact for still water. The default.
pub const MNS_SCHEME_AREA: i32 = 0;
/// The variational form: faces are weighed by the volume of liquid round them.
pub const MNS_SCHEME_VOLUME: i32 = 1;

const STAGE_NAMES: [&CStr; 6] =
    [c"advect_surface", c"remesh", c"advect_velocity", c"apply_forces", c"solve", c"finish"];

impl From<&Progress> for mns_progress {
    fn from(p: &Progress) -> Self {
        let stage = STAGES.iter().position(|s| *s == p.stage).unwrap_or(0);
        Self {
            substeps: p.substeps,
            frame: p.frame,
            fraction: p.fraction,
            stage: STAGE_NAMES[stage].as_ptr(),
            volume: 1e-3 * p.litres,
            ..fresh()
        }
    }
}

impl From<&FrameReport> for mns_report {
    fn from(r: &FrameReport) -> Self {
        let seconds = |stage: &str| r.stage_seconds.iter().find(|s| s.0 == stage).map_or(0.0, |s| s.1);
        Self {
            substeps: r.substeps,
            frame: r.frame,
            time: r.time,
            seconds: r.seconds,
            stage_seconds: STAGES.map(seconds),
            volume: 1e-3 * r.litres,
            volume_expected: 1e-3 * r.litres_expected,
            max_speed: r.max_speed,
            residual: r.residual,
            iterations: r.iterations as u64,
            particles: r.particles as u64,
            liquid_cells: r.liquid_cells as u64,
            memory_bytes: r.memory_bytes,
            warnings: r.warnings.len() as u64,
            ..fresh()
        }
    }
}

impl From<Estimate> for mns_estimate {
    fn from(e: Estimate) -> Self {
        Self {
            domain_cells: e.domain_cells,
            liquid_cells: e.liquid_cells,
            particles: e.particles,
            memory_bytes: e.memory_bytes,
            disk_bytes_per_frame: e.disk_bytes_per_frame,
            ..fresh()
        }
    }
}

/// Fill settings with defaults. `size` is sizeof(mns_settings) of the caller's header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_settings_init(settings: *mut mns_settings, size: usize) -> mns_result {
    guard("mns_settings_init", || {
        // SAFETY: the header asks for `size` writable bytes.
        unsafe { init(settings, size, fresh(), "settings") }
    })
}

/// Fill the options of a grid with defaults: 32 x 32 x 32 cells of 1/32 m from the origin. `size` is
/// sizeof(mns_grid_options) of the caller's header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_options_init(options: *mut mns_grid_options, size: usize) -> mns_result {
    guard("mns_grid_options_init", || {
        let value = mns_grid_options { cells: [32; 3], cell: 1.0 / 32.0, ..fresh() };
        // SAFETY: the header asks for `size` writable bytes.
        unsafe { init(options, size, value, "options") }
    })
}

/// Fill the options of a pressure solve with defaults: scheme area, a step of 1/24 s, tolerance 1e-6.
/// `size` is sizeof(mns_pressure_options) of the caller's header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_pressure_options_init(
    options: *mut mns_pressure_options,
    size: usize,
) -> mns_result {
    guard("mns_pressure_options_init", || {
        let value = mns_pressure_options { dt: 1.0 / 24.0, tolerance: 1e-6, ..fresh() };
        // SAFETY: the header asks for `size` writable bytes.
        unsafe { init(options, size, value, "options") }
    })
}

/// Fill the options of a viscosity or Stokes solve with defaults: a step of 1/24 s, tolerance 1e-8.
/// `size` is sizeof(mns_stokes_options) of the caller's header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_stokes_options_init(
    options: *mut mns_stokes_options,
    size: usize,
) -> mns_result {
    guard("mns_stokes_options_init", || {
        let value = mns_stokes_options { dt: 1.0 / 24.0, tolerance: 1e-8, ..fresh() };
        // SAFETY: the header asks for `size` writable bytes.
        unsafe { init(options, size, value, "options") }
    })
}
