//! The pieces door of the graded lattice: tetrahedra over a box, one solve, no scene.

use super::array::mns_array;
use super::fault::{Fault, mns_result};
use super::guard::guard;
use super::handle::Table;
use super::pointer::{Out, check, text};
use super::records::mns_solve_info;
use super::versioned::{VersionedOut, fresh, init, read, versioned};
use crate::cancel::Cancel;
use crate::math::Vec3;
use crate::mesh::bcc::OctreeDomain;
use crate::simulation::Pool;
use crate::solver::bcc::{Coupling, LatticeBlock, LatticeField, LatticeSolve, Seat};
use std::ffi::c_char;
use std::sync::OnceLock;

/// Tetrahedra over a box, small where asked and larger elsewhere, with fields for one solve. Functions that take it as
/// const may run at the same time on several threads; the others need it alone and give MNS_ERROR_BUSY if it is in use.
pub struct mns_lattice {
    _private: [u8; 0],
}

/// The box of a lattice. Fill with mns_lattice_options_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_lattice_options {
    /// sizeof(mns_lattice_options).
    pub struct_size: u32,
    /// Threads to use; 0 for all.
    pub threads: u32,
    /// The widest cells along x, y, z.
    pub cells: [u32; 3],
    /// How often a cell may be halved, at most 16.
    pub depth: u32,
    /// Lower corner of the box, metres.
    pub origin: [f64; 3],
    /// Width of the widest cells, metres.
    pub cell: f64,
}

/// What a solve on a lattice is told. Fill with mns_lattice_solve_options_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mns_lattice_solve_options {
    /// sizeof(mns_lattice_solve_options).
    pub struct_size: u32,
    /// One of MNS_COUPLING_...; for viscosity.
    pub coupling: i32,
    /// 0: liquid sticks to solids; 1: it slides along them; for viscosity.
    pub slide: i32,
    /// 0.
    pub reserved: i32,
    /// Length of the step, seconds.
    pub dt: f64,
    /// Relative residual at which the solve stops, between 0 and 1.
    pub tolerance: f64,
    /// kg/m^3.
    pub density: f64,
}

versioned!(mns_lattice_options, mns_lattice_solve_options);

/// As MNS_COUPLING_FLIP where liquid is thin and MNS_COUPLING_PIC where it is thick. The default.
pub const MNS_COUPLING_BLEND: i32 = 0;
/// Faces receive the change at the vertices.
pub const MNS_COUPLING_FLIP: i32 = 1;
/// Faces receive the velocity at the vertices.
pub const MNS_COUPLING_PIC: i32 = 2;
/// The equations are solved for the faces themselves.
pub const MNS_COUPLING_FACES: i32 = 3;

static LATTICES: Table<Pieces> = Table::new("lattice", 3);

/// More leaves than this are refused: the tetrahedra would fill some ten gigabytes.
const MOST_LEAVES: usize = 1 << 22;

struct Pieces {
    block: LatticeBlock,
    pool: Pool,
    cancel: Cancel,
    /// Positions at vertices, faces, cells and tets, and the normals of faces.
    places: [OnceLock<Vec<Vec3>>; 5],
    face_vertices: OnceLock<Vec<[u32; 4]>>,
}

/// Fill the options of a lattice with defaults: 4 x 4 x 4 cells of 1/4 m from the origin, halved three times at most.
/// `size` is sizeof(mns_lattice_options) of the caller's header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_options_init(
    options: *mut mns_lattice_options,
    size: usize,
) -> mns_result {
    guard("mns_lattice_options_init", || {
        let value = mns_lattice_options { cells: [4; 3], depth: 3, cell: 0.25, ..fresh() };
        // SAFETY: the header asks for `size` writable bytes.
        unsafe { init(options, size, value, "options") }
    })
}

/// Fill the options of a solve with defaults: a step of 1/24 s, tolerance 1e-8, 1000 kg/m^3, the coupling blend, walls that
/// stick. `size` is sizeof(mns_lattice_solve_options) of the caller's header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_solve_options_init(
    options: *mut mns_lattice_solve_options,
    size: usize,
) -> mns_result {
    guard("mns_lattice_solve_options_init", || {
        let value = mns_lattice_solve_options { dt: 1.0 / 24.0, tolerance: 1e-8, density: 1000.0, ..fresh() };
        // SAFETY: the header asks for `size` writable bytes.
        unsafe { init(options, size, value, "options") }
    })
}

/// Build a lattice over a box. `sizing` may be NULL: then all cells are as fine as depth allows. Else it holds f32 or f64 x 4
/// (x, y, z, width): the cell at each of these points is at most so wide, metres; cells grow by a factor of two at a
/// time away from them. `out` receives the handle, to be ended with mns_lattice_destroy; it is NULL after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_create(
    options: *const mns_lattice_options,
    sizing: *const mns_array,
    out: *mut *mut mns_lattice,
) -> mns_result {
    guard("mns_lattice_create", || {
        // SAFETY: the header asks for options, NULL or an array, and a place for the handle.
        let (out, o, points) = unsafe {
            let out = Out::new(out, "out")?;
            out.write(std::ptr::null_mut());
            let points = if sizing.is_null() { None } else { Some(sizing.read().reals("sizing", 4)?) };
            (out, read(options, "options")?, points)
        };
        let sane = (1e-12..1e12).contains(&o.cell) && o.origin.iter().all(|x| x.abs() < 1e12);
        if !sane || o.depth > 16 || o.cells.iter().any(|n| !(1..=1 << 16).contains(n)) {
            return Err(Fault::invalid("options", "the box is empty, too large or too fine"));
        }
        let finest = if points.is_none() { 3 * o.depth } else { 0 };
        let leaves = o.cells.iter().fold(1u64, |n, c| n.saturating_mul(u64::from(*c)));
        if leaves.checked_mul(1 << finest).is_none_or(|n| n > MOST_LEAVES as u64) {
            return Err(Fault::invalid("options", format!("there would be more than {MOST_LEAVES} cells")));
        }
        let domain = OctreeDomain {
            origin: o.origin.into(),
            roots: o.cells,
            root_width: o.cell,
            depth: o.depth,
            periodic: false,
            max_leaves: MOST_LEAVES,
        };
        let points: Option<Vec<(Vec3, f64)>> =
            points.map(|p| p.chunks_exact(4).map(|c| (Vec3::new(c[0], c[1], c[2]), c[3])).collect());
        let pool = Pool::new((o.threads > 0).then_some(o.threads as usize))?;
        let block = pool.install(|| LatticeBlock::new(domain, points.as_deref()))?;
        let cancel = Cancel::new();
        let (places, face_vertices) = Default::default();
        let pieces = Pieces { block, pool, cancel: cancel.clone(), places, face_vertices };
        out.write(LATTICES.insert(pieces, cancel)?);
        Ok(())
    })
}

/// End a lattice and wait for its threads. NULL is allowed and does nothing; MNS_ERROR_BUSY while another thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_destroy(lattice: *mut mns_lattice) -> mns_result {
    guard("mns_lattice_destroy", || LATTICES.remove(lattice))
}

fn field(name: &str) -> Option<LatticeField> {
    Some(match name {
        "liquid_distance" => LatticeField::LiquidDistance,
        "solid_distance" => LatticeField::SolidDistance,
        "solid_velocity" => LatticeField::SolidVelocity,
        "velocity" => LatticeField::Velocity,
        "viscosity" => LatticeField::Viscosity,
        "pressure" => LatticeField::Pressure,
        _ => return None,
    })
}

fn unknown(name: &str) -> Fault {
    Fault::invalid("name", format!("there is no field {name:?} on a lattice"))
}

/// Set a field (copied). Arrays are f32 or f64, in the order of mns_lattice_positions of the same name.
///
///     liquid_distance   vertices   m, negative in liquid; continue it linearly into solids
///     solid_distance    vertices   m, negative in solid; no solids if never set
///     solid_velocity    vertices   x 3, m/s; at rest if never set
///     velocity          faces      m/s along "normal" of mns_lattice_field; at rest if never set
///     viscosity         tets       Pa s, or one value for all; 1 if never set
///     pressure          cells      Pa, the first guess of a solve; 0 if never set
///
/// The sides of the box let nothing through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_set(
    lattice: *mut mns_lattice,
    name: *const c_char,
    values: *const mns_array,
) -> mns_result {
    guard("mns_lattice_set", || {
        check(values, "values")?;
        // SAFETY: the header asks for text.
        let name = unsafe { text(name, "name")? };
        let field = field(name).ok_or_else(|| unknown(name))?;
        // SAFETY: the header asks for a valid array.
        let values = unsafe { values.read().reals(name, field.width() as i32)? };
        let shared = LATTICES.get(lattice)?;
        let mut changing = shared.change()?;
        changing.get()?.block.set(field, values, name)?;
        Ok(())
    })
}

/// Solve for the pressure that makes the velocities keep the liquid's volume and stay out of solids, and apply it.
/// `info` may be NULL. Afterwards read pressure, velocity and known.
/// Errors: INVALID (a field is missing or a number is absurd), DIVERGED, CANCELLED: the fields are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_solve_pressure(
    lattice: *mut mns_lattice,
    options: *const mns_lattice_solve_options,
    info: *mut mns_solve_info,
) -> mns_result {
    guard("mns_lattice_solve_pressure", || {
        // SAFETY: the pointers are those of the caller.
        unsafe { solve(lattice, options, info, false) }
    })
}

/// Apply viscosity to the velocities, implicitly, with no traction at the free surface, so that any step is stable. It is
/// solved at vertices, with the stress 2 mu e of each tetrahedron. Pressure and volume are not looked at. `info` may be NULL.
/// Afterwards read velocity, known and stress.
/// Errors: INVALID, DIVERGED, CANCELLED: the fields are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_solve_viscosity(
    lattice: *mut mns_lattice,
    options: *const mns_lattice_solve_options,
    info: *mut mns_solve_info,
) -> mns_result {
    guard("mns_lattice_solve_viscosity", || {
        // SAFETY: the pointers are those of the caller.
        unsafe { solve(lattice, options, info, true) }
    })
}

unsafe fn solve(
    lattice: *mut mns_lattice,
    options: *const mns_lattice_solve_options,
    info: *mut mns_solve_info,
    viscous: bool,
) -> Result<(), Fault> {
    // SAFETY: the header asks for options and for NULL or a struct that begins with its size.
    let (o, info) = unsafe {
        let info = if info.is_null() { None } else { Some(VersionedOut::new(info, "info")?) };
        (read(options, "options")?, info)
    };
    let coupling = match o.coupling {
        MNS_COUPLING_BLEND => Coupling::Blend,
        MNS_COUPLING_FLIP => Coupling::Flip,
        MNS_COUPLING_PIC => Coupling::Pic,
        MNS_COUPLING_FACES => Coupling::Faces,
        other => {
            let message = format!("{other} is not one of the MNS_COUPLING constants");
            return Err(Fault::invalid("coupling", message));
        }
    };
    let shared = LATTICES.get(lattice)?;
    let mut changing = shared.change()?;
    let Pieces { block, pool, cancel, .. } = changing.get()?;
    cancel.reset();
    let options = LatticeSolve { dt: o.dt, density: o.density, tolerance: o.tolerance };
    let (done, closed, unknowns) = pool.install(|| match viscous {
        true => block.thicken(&options, coupling, o.slide != 0, cancel).map(|(done, n)| (done, 0, n)),
        false => block.project(&options, cancel),
    })?;
    if let Some(info) = info {
        info.write(mns_solve_info {
            iterations: done.map_or(0, |s| s.iterations as u32),
            residual: done.map_or(0.0, |s| s.residual),
            closed_regions: closed as u64,
            unknowns: unknowns as u64,
            ..fresh()
        });
    }
    Ok(())
}

/// Ask the solve that is running on a lattice to stop; it returns MNS_ERROR_CANCELLED. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_interrupt(lattice: *const mns_lattice) -> mns_result {
    guard("mns_lattice_interrupt", || {
        LATTICES.get(lattice)?.cancel.cancel();
        Ok(())
    })
}

/// A field of mns_lattice_set or one of the following, as a flat view that is borrowed until the lattice changes or ends. A
/// field that was never set is empty.
///
///     known         faces   bytes: 1 on faces whose velocity the last solve has set
///     stress        tets    f64 x 6, Pa: xx, yy, zz, xy, yz, xz of 2 mu e after the last solve of viscosity; 0 outside liquid
///     normal        faces   f64 x 3: the direction along which the velocity counts
///     tets                  u32 x 4: the vertices of each tetrahedron
///     face_vertices         u32 x 4: round each face; the first again at the end of a triangle
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_field(
    lattice: *const mns_lattice,
    name: *const c_char,
    out: *mut mns_array,
) -> mns_result {
    guard("mns_lattice_field", || {
        // SAFETY: the header asks for text and for a place for an array.
        let (name, out) = unsafe { (text(name, "name")?, Out::new(out, "out")?) };
        let shared = LATTICES.get(lattice)?;
        let reading = shared.read()?;
        let Pieces { block, pool, places, face_vertices, .. } = reading.get()?;
        out.write(match (field(name), name) {
            (Some(field), _) => mns_array::of(block.get(field)).grouped(field.width()),
            (_, "known") => mns_array::of(block.known()),
            (_, "stress") => mns_array::of(block.stress().as_flattened()).grouped(6),
            (_, "normal") => mns_array::of(&places[4].get_or_init(|| pool.install(|| block.normals()))[..]),
            (_, "tets") => mns_array::of(&block.lattice().tets.vertices[..]),
            (_, "face_vertices") => mns_array::of(&face_vertices.get_or_init(|| block.face_vertices())[..]),
            _ => return Err(unknown(name)),
        });
        Ok(())
    })
}

/// Where the values of a field sit, f64 x 3, in the order of the field; borrowed until the lattice ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_lattice_positions(
    lattice: *const mns_lattice,
    name: *const c_char,
    out: *mut mns_array,
) -> mns_result {
    guard("mns_lattice_positions", || {
        // SAFETY: the header asks for text and for a place for an array.
        let (name, out) = unsafe { (text(name, "name")?, Out::new(out, "out")?) };
        let shared = LATTICES.get(lattice)?;
        let reading = shared.read()?;
        let Pieces { block, pool, places, .. } = reading.get()?;
        let seat = match (field(name), name) {
            (Some(field), _) => field.seat(),
            (_, "known" | "normal" | "face_vertices") => Seat::Face,
            (_, "tets" | "stress") => Seat::Tet,
            _ => return Err(unknown(name)),
        };
        let at = places[seat as usize].get_or_init(|| pool.install(|| block.positions(seat)));
        out.write(mns_array::of(&at[..]));
        Ok(())
    })
}
