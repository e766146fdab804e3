//! The simulation door: from a scene to frames.

use super::array::mns_array;
use super::fault::{Fault, mns_result};
use super::guard::{as_host, guard};
use super::handle::Table;
use super::inputs::{HostSettings, attributes, dense, records};
use super::log;
use super::pointer::{Out, bytes, check, text};
use super::records::{mns_field, mns_mesh_sample, mns_progress, mns_progress_callback, mns_settings};
use super::simulation_data::Running;
use crate::geometry::{Attribute, TriMesh};
use crate::io;
use crate::scene::Scene;
use crate::simulation::report::{FrameReport, Progress};
use crate::simulation::{GeometryOf, Simulation};
use std::ffi::{c_char, c_void};
use std::path::Path;

/// A running simulation. Functions that take it as const may run at the same time on several threads;
/// the others need it alone and give MNS_ERROR_BUSY at once if it is in use. Different simulations are
/// independent. Do not use it in the child of a fork.
pub struct mns_simulation {
    _private: [u8; 0],
}

pub(super) static SIMULATIONS: Table<Running> = Table::new("simulation", 1);

/// Build the scene of a JSON text (UTF-8, copied) at its first frame. `settings` may be NULL for the
/// defaults. `out` receives the handle, to be ended with mns_simulation_destroy; it is NULL after an
/// error. Each simulation has its own threads.
/// Errors: SCENE (the message names the value), GEOMETRY, MEMORY, UNSUPPORTED, IO or FORMAT of mesh files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_create(
    json: *const c_char,
    settings: *const mns_settings,
    out: *mut *mut mns_simulation,
) -> mns_result {
    guard("mns_simulation_create", || {
        // SAFETY: the header asks for text, for NULL or settings, and for a place for the handle.
        let (out, json, host) = unsafe {
            let out = Out::new(out, "out")?;
            out.write(std::ptr::null_mut());
            (out, text(json, "json")?, HostSettings::read(settings)?)
        };
        let scene = Scene::from_json(json)?;
        let mut settings = host.with_fields(&scene)?;
        if scene.memory_limit.is_none() {
            settings.memory_limit = settings.memory_limit.or_else(io::memory::default_limit);
        }
        let simulation = Simulation::new(&scene, &|file| host.mesh(file), &settings)?;
        let cancel = simulation.cancel_flag();
        out.write(SIMULATIONS.insert(Running::new(simulation, host.folder), cancel)?);
        Ok(())
    })
}

/// End a simulation and wait for its threads. NULL is allowed and does nothing. From inside a callback of the
/// same simulation, or while another thread uses it, MNS_ERROR_BUSY: nothing has happened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_destroy(simulation: *mut mns_simulation) -> mns_result {
    guard("mns_simulation_destroy", || SIMULATIONS.remove(simulation))
}

/// Compute the next frame. `progress` (may be NULL) is called on this thread several times a second with `user`
/// (may be NULL) and returns non-zero to cancel. Borrowed arrays and texts of this simulation end here.
/// Errors: CANCELLED, DIVERGED and MEMORY leave the last whole substep.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_step(
    simulation: *mut mns_simulation,
    progress: mns_progress_callback,
    user: *mut c_void,
) -> mns_result {
    guard("mns_simulation_step", || {
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change()?;
        let running = changing.get()?;
        let next = running.simulation.frame().saturating_add(1);
        advance(running, next, progress, user)
    })
}

/// Compute frames until `frame` is finished; nothing to do if it already is. Otherwise as
/// mns_simulation_step. To go back, load a saved state or create the simulation anew.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_advance(
    simulation: *mut mns_simulation,
    frame: i64,
    progress: mns_progress_callback,
    user: *mut c_void,
) -> mns_result {
    guard("mns_simulation_advance", || {
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change()?;
        let running = changing.get()?;
        let ahead = frame.saturating_sub(running.simulation.frame());
        if ahead > 10_000_000 {
            return Err(Fault::invalid("frame", format!("{frame} is {ahead} frames ahead")));
        }
        advance(running, frame, progress, user)
    })
}

fn advance(
    running: &mut Running,
    frame: i64,
    callback: mns_progress_callback,
    user: *mut c_void,
) -> Result<(), Fault> {
    running.forget_views();
    let mut watch = |p: &Progress| {
        let Some(callback) = callback else { return false };
        let progress = mns_progress::from(p);
        // SAFETY: the host promised a callback that may be called with its own pointer.
        as_host(|| unsafe { callback(user, &progress) }) != 0
    };
    let latest = &mut running.report;
    let mut done = |report: FrameReport| {
        for warning in &report.warnings {
            log::warning(&format!("frame {}: {warning}", report.frame));
        }
        log::info(|| {
            let r = &report;
            format!("frame {}: {} substeps, {:.3} l, {:.2} s", r.frame, r.substeps, r.litres, r.seconds)
        });
        *latest = report;
    };
    let ended = running.simulation.advance_to(frame, &mut watch, &mut done);
    if ended.is_err() {
        running.dump_failure();
    }
    Ok(ended?)
}

/// Ask the call that is computing a frame to stop; it returns MNS_ERROR_CANCELLED within a second. May be called
/// from any thread, also from a callback. Without such a call it does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_interrupt(simulation: *const mns_simulation) -> mns_result {
    guard("mns_simulation_interrupt", || {
        SIMULATIONS.get(simulation)?.cancel.cancel();
        Ok(())
    })
}

/// Geometry of a collider.
pub const MNS_GEOMETRY_COLLIDER: i32 = 0;
/// Geometry of an emitter.
pub const MNS_GEOMETRY_EMITTER: i32 = 1;
/// Geometry of a body.
pub const MNS_GEOMETRY_BODY: i32 = 2;

/// Replace the geometry of a named object of the scene from the present frame on. `kind` is one of the MNS_GEOMETRY
/// constants. `samples` are `count` meshes at rising frames (copied). Between two samples with the same triangles
/// the object moves from one to the other: a rigid motion is found out and followed as one, so that what turns keeps
/// its size; what deforms moves its points besides. Where triangles change, the velocities given carry the earlier
/// sample, or else one surface is blended into the other. Before the first sample the object moves there from
/// the mesh that it has now, so that one sample a frame will do; after the last it stands still, as it does with
/// one sample at or before the present frame. The object's own transform stays. Send samples for the frame to come
/// before each step to feed an animated character, and what is painted on it. A sample without triangles is an object
/// that is not there: as the first one it takes the object away until it is sent again, as a later one it ends the list.
/// Saved states do not hold geometry: send it again after a load.
/// A body moves by itself: it takes one sample, a closed mesh, which holds at once whatever its frame. It stays where it
/// is and every point goes on as it moved; inertia follows from the mesh, and mass too where the scene gives a density.
/// Errors: INVALID (no object has this name, frames do not rise), GEOMETRY (the message names the defect). After an error
/// the geometry is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_set_geometry(
    simulation: *mut mns_simulation,
    kind: i32,
    name: *const c_char,
    samples: *const mns_mesh_sample,
    count: usize,
) -> mns_result {
    guard("mns_simulation_set_geometry", || {
        // SAFETY: the header asks for text and for `count` samples with valid arrays.
        let (name, samples) = unsafe {
            let name = text(name, "name")?;
            let samples = records(samples, count, "samples")?;
            (name, samples.iter().map(|s| sample(s, name)).collect::<Result<Vec<_>, _>>()?)
        };
        check_samples(kind, &samples)?;
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change()?;
        let running = changing.get()?;
        let of = match kind {
            MNS_GEOMETRY_COLLIDER => GeometryOf::Collider,
            MNS_GEOMETRY_EMITTER => GeometryOf::Emitter,
            _ => GeometryOf::Body,
        };
        running.simulation.set_geometry(of, name, samples)?;
        running.forget_views();
        running.report.colliders = running.simulation.collider_poses();
        running.report.bodies = running.simulation.body_motions();
        Ok(())
    })
}

/// Replace a field that the scene names under "fields" by `samples`, `count` of them at rising frames (copied). Between two
/// frames values go from one to the other; before the first and after the last they stay. For a host whose volumes are
/// animated: send those of the frame to come, and of its beginning, before each step. What was simulated stays. Saved states
/// do not hold fields: send them again after a load.
/// Errors: INVALID (no field has this name, frames do not rise, numbers are not finite, another width than the kind of field
/// has). After an error the field is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_set_field(
    simulation: *mut mns_simulation,
    name: *const c_char,
    samples: *const mns_field,
    count: usize,
) -> mns_result {
    guard("mns_simulation_set_field", || {
        // SAFETY: the header asks for text and for `count` samples with valid arrays.
        let (name, samples) = unsafe {
            let name = text(name, "name")?;
            check(samples, "samples")?;
            let samples = records(samples, count, "samples")?;
            (name, samples.iter().map(|s| Ok((s.frame, dense(s)?))).collect::<Result<Vec<_>, Fault>>()?)
        };
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change()?;
        Ok(changing.get()?.simulation.set_field(name, samples)?)
    })
}

/// Replace a number of the scene by values at rising frames, for a host whose slider is animated: send them up to the
/// frame to come before each step. `path` names the number as liquids[0].viscosity; it must be one that the scene may
/// animate. `keys` are f32 or f64 rows of a frame and one value (width 2), or three for a vector (width 4), in the unit
/// that the scene has there; a switch is on where its value is not 0. What was simulated stays. Saved states do not hold
/// keys: send them again after a load.
/// Errors: INVALID, SCENE (no number can be animated there, or a value is not allowed). Then the scene is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_set_keys(
    simulation: *mut mns_simulation,
    path: *const c_char,
    keys: *const mns_array,
) -> mns_result {
    guard("mns_simulation_set_keys", || {
        check(keys, "keys")?;
        // SAFETY: the header asks for text and for a valid array.
        let (path, width, flat) = unsafe {
            let keys = keys.read();
            let width = if keys.width == 4 { 4 } else { 2 };
            (text(path, "path")?, width as usize, keys.reals("keys", width)?)
        };
        let rows: Vec<Vec<f64>> = flat.chunks_exact(width).map(<[f64]>::to_vec).collect();
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change()?;
        let running = changing.get()?;
        running.simulation.set_keys(path, &rows)?;
        running.forget_views();
        Ok(())
    })
}

/// A mesh and its frame, velocities as an attribute.
///
/// # Safety
/// The arrays of the sample are valid.
unsafe fn sample(s: &mns_mesh_sample, name: &str) -> Result<(f64, TriMesh), Fault> {
    // SAFETY: the caller's promise.
    let (mut mesh, velocities) = unsafe {
        let mut mesh = TriMesh::new(s.positions.vectors(name)?, s.triangles.triangles(name)?);
        mesh.attributes = attributes(s.attributes, s.attribute_count, name, mesh.positions.len())?;
        (mesh, if s.velocities.count == 0 { None } else { Some(s.velocities.vectors(name)?) })
    };
    mesh.check(name)?;
    if let Some(velocities) = velocities {
        if velocities.len() != mesh.positions.len() {
            return Err(Fault::invalid(name, "there must be as many velocities as points"));
        }
        let data: Vec<f32> = velocities.iter().flat_map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect();
        if !data.iter().all(|v| v.is_finite()) {
            return Err(Fault::invalid(name, "velocities must be finite"));
        }
        mesh.attributes.retain(|a| a.name != "velocity" && a.name != "v");
        mesh.attributes.push(Attribute { name: "velocity".into(), width: 3, data });
    }
    Ok((s.frame, mesh))
}

fn check_samples(kind: i32, samples: &[(f64, TriMesh)]) -> Result<(), Fault> {
    if !(MNS_GEOMETRY_COLLIDER..=MNS_GEOMETRY_BODY).contains(&kind) {
        return Err(Fault::invalid("kind", format!("{kind} is not one of the MNS_GEOMETRY constants")));
    }
    if samples.is_empty() {
        return Err(Fault::invalid("samples", "there must be at least one"));
    }
    if samples.iter().any(|s| !s.0.is_finite()) || samples.windows(2).any(|w| w[0].0 >= w[1].0) {
        return Err(Fault::invalid("samples", "frames must be finite and rising"));
    }
    Ok(())
}

/// The complete state as bytes: a simulation of the same scene continues from it bit for bit. The bytes
/// are borrowed until the next save, step, load or destroy. Also works after MNS_ERROR_PANIC, and then
/// gives the last whole substep.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_save(
    simulation: *mut mns_simulation,
    out: *mut mns_array,
) -> mns_result {
    guard("mns_simulation_save", || {
        // SAFETY: the header asks for a place for an array.
        let out = unsafe { Out::new(out, "out") }?;
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change_anyway()?;
        let running = changing.get()?;
        running.saved = running.simulation.copy()?.finish();
        out.write(mns_array::of(&running.saved));
        Ok(())
    })
}

/// Save the state to a file. The file appears whole or not at all; an old one of the same name is replaced.
/// `path` is UTF-8. Also works after MNS_ERROR_PANIC.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_save_file(
    simulation: *mut mns_simulation,
    path: *const c_char,
) -> mns_result {
    guard("mns_simulation_save_file", || {
        // SAFETY: the header asks for text.
        let path = unsafe { text(path, "path") }?;
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change_anyway()?;
        let mut state = changing.get()?.simulation.copy()?;
        Ok(io::atomic::write_pieces(Path::new(path), |give| state.finish_into(give))?)
    })
}

/// Continue from saved bytes of the same scene. After an error the simulation is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_load(
    simulation: *mut mns_simulation,
    data: *const u8,
    size: usize,
) -> mns_result {
    guard("mns_simulation_load", || {
        // SAFETY: the header asks for `size` bytes.
        let bytes = unsafe { bytes(data, size, "data") }?;
        let shared = SIMULATIONS.get(simulation)?;
        shared.change()?.get()?.load(bytes)
    })
}

/// Continue from a file written by mns_simulation_save_file. After an error the simulation is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_load_file(
    simulation: *mut mns_simulation,
    path: *const c_char,
) -> mns_result {
    guard("mns_simulation_load_file", || {
        // SAFETY: the header asks for text.
        let path = unsafe { text(path, "path") }?;
        let shared = SIMULATIONS.get(simulation)?;
        let mut changing = shared.change()?;
        let running = changing.get()?;
        running.load(&io::checkpoint::read(Path::new(path))?)
    })
}
