//! The pieces door: one grid, one solve, no scene.

use super::array::mns_array;
use super::fault::{Fault, mns_result};
use super::guard::guard;
use super::handle::Table;
use super::pointer::{Out, check, text};
use super::records::{
    MNS_SCHEME_AREA, MNS_SCHEME_VOLUME, mns_grid_options, mns_pressure_options, mns_solve_info,
    mns_stokes_options,
};
use super::versioned::{VersionedOut, fresh, read};
use crate::cancel::Cancel;
use crate::math::Vec3;
use crate::simulation::Pool;
use crate::solver::mac::{Block, BlockField, BlockOptions, Place, Scheme};
use crate::solver::stokes::{self, BlockStokes, Physics, Site, solve_block};
use std::ffi::c_char;
use std::sync::OnceLock;

/// A box of cubic cells with fields for one solve. Functions that take it as const may run at the same
/// time on several threads; the others need it alone and give MNS_ERROR_BUSY at once if it is in use.
pub struct mns_grid {
    _private: [u8; 0],
}

static GRIDS: Table<Grid> = Table::new("grid", 2);

struct Grid {
    block: Block,
    stokes: BlockStokes,
    pool: Pool,
    cancel: Cancel,
    /// Positions of the values at centres, nodes, faces across x, y, z and edges along x, y, z.
    positions: [OnceLock<crate::Result<Vec<Vec3>>>; 8],
}

/// Build a grid of air without solids. `out` receives the handle, to be ended with mns_grid_destroy; it is
/// NULL after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_create(
    options: *const mns_grid_options,
    out: *mut *mut mns_grid,
) -> mns_result {
    guard("mns_grid_create", || {
        // SAFETY: the header asks for options and for a place for the handle.
        let (out, o) = unsafe {
            let out = Out::new(out, "out")?;
            out.write(std::ptr::null_mut());
            (out, read(options, "options")?)
        };
        let block = Block::new(o.cells.map(|n| n as usize), o.origin.into(), o.cell)?;
        let pool = Pool::new((o.threads > 0).then_some(o.threads as usize))?;
        let cancel = Cancel::new();
        let (stokes, positions) = Default::default();
        let grid = Grid { block, stokes, pool, cancel: cancel.clone(), positions };
        out.write(GRIDS.insert(grid, cancel)?);
        Ok(())
    })
}

/// End a grid and wait for its threads. NULL is allowed and does nothing; MNS_ERROR_BUSY while another
/// thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_destroy(grid: *mut mns_grid) -> mns_result {
    guard("mns_grid_destroy", || GRIDS.remove(grid))
}

/// What a name stands for.
enum Named {
    Field(BlockField),
    LiquidAtNodes,
    Known(usize),
    Viscosity,
    Slide,
    /// τ_aa at centres.
    Normal(usize),
    /// τ of the two axes across the edges along this one.
    Shear(usize),
}

fn named(name: &str) -> Result<Named, Fault> {
    Ok(Named::Field(match name {
        "liquid_distance" => BlockField::LiquidDistance,
        "liquid_distance_nodes" => return Ok(Named::LiquidAtNodes),
        "solid_distance" => BlockField::SolidDistance,
        "velocity_x" => BlockField::Velocity(0),
        "velocity_y" => BlockField::Velocity(1),
        "velocity_z" => BlockField::Velocity(2),
        "solid_velocity_x" => BlockField::SolidVelocity(0),
        "solid_velocity_y" => BlockField::SolidVelocity(1),
        "solid_velocity_z" => BlockField::SolidVelocity(2),
        "density" => BlockField::Density,
        "surface_pressure" => BlockField::SurfacePressure,
        "pressure" => BlockField::Pressure,
        "viscosity" => return Ok(Named::Viscosity),
        "slide" => return Ok(Named::Slide),
        "stress_xx" => return Ok(Named::Normal(0)),
        "stress_yy" => return Ok(Named::Normal(1)),
        "stress_zz" => return Ok(Named::Normal(2)),
        "stress_yz" => return Ok(Named::Shear(0)),
        "stress_xz" => return Ok(Named::Shear(1)),
        "stress_xy" => return Ok(Named::Shear(2)),
        "known_x" => return Ok(Named::Known(0)),
        "known_y" => return Ok(Named::Known(1)),
        "known_z" => return Ok(Named::Known(2)),
        _ => return Err(Fault::invalid("name", format!("there is no field {name:?} on a grid"))),
    }))
}

/// Set a field (copied). Arrays are f32 or f64 of width 1 and run along x first, then y, then z. With n cells along
/// an axis there are n centres, n + 1 nodes and n + 1 faces across it; a flat grid has one layer of nodes.
///
///     liquid_distance         centres   m, negative in liquid; continue it linearly into solids
///     liquid_distance_nodes   nodes     the same given at nodes
///     solid_distance          nodes     m, negative in solid; no solids if never set
///     velocity_x, _y, _z      faces     m/s; at rest if never set
///     solid_velocity_x, ...   faces     m/s; at rest if never set
///     density                 centres   kg/m^3, or one value for all; 1000 if never set
///     surface_pressure        centres   Pa, or one value for all; 0 if never set
///     pressure                centres   Pa, the first guess of a solve; 0 if never set
///     viscosity               centres   Pa s, or one value for all; 1 if never set
///     slide                   centres   1 where the wall nearby lets liquid slide, 0 where it sticks, or one value for all;
///                                       0 if never set; for viscosity and Stokes flow
///
/// Faces on the border of the grid are closed and move with the solid velocity given there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_set(
    grid: *mut mns_grid,
    name: *const c_char,
    values: *const mns_array,
) -> mns_result {
    guard("mns_grid_set", || {
        check(values, "values")?;
        // SAFETY: the header asks for text and for a valid array.
        let (name, values) = unsafe {
            let name = text(name, "name")?;
            (name, values.read().reals(name, 1)?)
        };
        let shared = GRIDS.get(grid)?;
        let mut changing = shared.change()?;
        let Grid { block, stokes, .. } = changing.get()?;
        match named(name)? {
            Named::Field(field) => block.set(field, values, name)?,
            Named::LiquidAtNodes => block.set_liquid_at_nodes(&values, name)?,
            Named::Viscosity => stokes.set(block, false, values, name)?,
            Named::Slide => stokes.set(block, true, values, name)?,
            Named::Known(_) | Named::Normal(_) | Named::Shear(_) => {
                return Err(Fault::invalid(name, "is a result and cannot be set"));
            }
        }
        Ok(())
    })
}

/// Solve for the pressure that makes the velocities keep the liquid's volume and stay out of solids, and
/// apply it: u changes by -dt/density times the gradient of p. `info` may be NULL. Afterwards read
/// pressure, velocity_x, _y, _z and known_x, _y, _z.
/// Errors: INVALID (a field is missing or a number is absurd), DIVERGED, CANCELLED: the fields are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_solve_pressure(
    grid: *mut mns_grid,
    options: *const mns_pressure_options,
    info: *mut mns_solve_info,
) -> mns_result {
    guard("mns_grid_solve_pressure", || {
        // SAFETY: the header asks for options and for NULL or a struct that begins with its size.
        let (o, info) = unsafe {
            let info = if info.is_null() { None } else { Some(VersionedOut::new(info, "info")?) };
            (read(options, "options")?, info)
        };
        let scheme = match o.scheme {
            MNS_SCHEME_AREA => Scheme::Area,
            MNS_SCHEME_VOLUME => Scheme::Volume,
            other => {
                return Err(Fault::invalid(
                    "scheme",
                    format!("{other} is not one of the MNS_SCHEME constants"),
                ));
            }
        };
        let shared = GRIDS.get(grid)?;
        let mut changing = shared.change()?;
        let Grid { block, pool, cancel, .. } = changing.get()?;
        cancel.reset();
        let options = BlockOptions { scheme, dt: o.dt, tolerance: o.tolerance, expansion: o.expansion };
        let (done, unknowns) = pool.install(|| block.project(&options, cancel))?;
        if let Some(info) = info {
            info.write(mns_solve_info {
                iterations: done.solve.map_or(0, |s| s.iterations as u32),
                residual: done.solve.map_or(0.0, |s| s.residual),
                closed_regions: done.closed_regions as u64,
                refused_inflow: done.refused_inflow,
                unknowns: unknowns as u64,
                ..fresh()
            });
        }
        Ok(())
    })
}

/// Apply viscosity to the velocities: u changes by dt/density times the divergence of the stress 2 mu e, implicitly, with
/// no traction at the free surface, so that any step is stable. Pressure and volume are not looked at. `info` may be NULL.
/// Afterwards read velocity_x, _y, _z, known_x, ... and stress_xx, _yy, _zz (centres), _xy, _yz, _xz (edges).
/// Errors: INVALID, DIVERGED, CANCELLED: the fields are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_solve_viscosity(
    grid: *mut mns_grid,
    options: *const mns_stokes_options,
    info: *mut mns_solve_info,
) -> mns_result {
    guard("mns_grid_solve_viscosity", || {
        // SAFETY: the pointers are those of the caller.
        unsafe { solve_stokes(grid, options, info, Physics::Viscosity { trace_free: false }) }
    })
}

/// Solve for pressure and viscosity at once (unsteady Stokes flow): the volume is kept, walls stick or slide, and the surface
/// bears the traction of surface_pressure alone. `info` may be NULL. Afterwards read pressure, velocity_x, _y, _z,
/// known_x, ... and the trace-free stress_xx, _yy, _zz (centres), _xy, _yz, _xz (edges).
/// Errors: INVALID, DIVERGED, CANCELLED: the fields are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_solve_stokes(
    grid: *mut mns_grid,
    options: *const mns_stokes_options,
    info: *mut mns_solve_info,
) -> mns_result {
    guard("mns_grid_solve_stokes", || {
        // SAFETY: the pointers are those of the caller.
        unsafe { solve_stokes(grid, options, info, Physics::Stokes) }
    })
}

unsafe fn solve_stokes(
    grid: *mut mns_grid,
    options: *const mns_stokes_options,
    info: *mut mns_solve_info,
    physics: Physics,
) -> Result<(), Fault> {
    // SAFETY: the header asks for options and for NULL or a struct that begins with its size.
    let (o, info) = unsafe {
        let info = if info.is_null() { None } else { Some(VersionedOut::new(info, "info")?) };
        (read(options, "options")?, info)
    };
    let shared = GRIDS.get(grid)?;
    let mut changing = shared.change()?;
    let Grid { block, stokes, pool, cancel, .. } = changing.get()?;
    cancel.reset();
    let options = stokes::Options { tolerance: o.tolerance, ..Default::default() };
    let (done, closed, unknowns) =
        pool.install(|| solve_block(block, stokes, physics, o.dt, &options, cancel))?;
    if let Some(info) = info {
        info.write(mns_solve_info {
            iterations: done.iterations as u32,
            residual: done.residual,
            closed_regions: closed as u64,
            unknowns: unknowns as u64,
            ..fresh()
        });
    }
    Ok(())
}

/// Ask the solve that is running on a grid to stop; it returns MNS_ERROR_CANCELLED. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_interrupt(grid: *const mns_grid) -> mns_result {
    guard("mns_grid_interrupt", || {
        GRIDS.get(grid)?.cancel.cancel();
        Ok(())
    })
}

/// A field of mns_grid_set, known_x, _y, _z (bytes: 1 on faces whose velocity the solve has set), or a stress_xx, ... of a
/// viscosity or Stokes solve, as a flat view that is borrowed until the grid changes or ends. A field that was never set is empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_field(
    grid: *const mns_grid,
    name: *const c_char,
    out: *mut mns_array,
) -> mns_result {
    guard("mns_grid_field", || {
        // SAFETY: the header asks for text and for a place for an array.
        let (name, out) = unsafe { (text(name, "name")?, Out::new(out, "out")?) };
        let shared = GRIDS.get(grid)?;
        let reading = shared.read()?;
        let Grid { block, stokes, .. } = reading.get()?;
        out.write(match named(name)? {
            Named::Field(field) => mns_array::of(block.get(field)),
            Named::Known(axis) => mns_array::of(block.known(axis)),
            Named::Viscosity => mns_array::of(&stokes.viscosity[..]),
            Named::Slide => mns_array::of(&stokes.slide[..]),
            Named::Normal(axis) => mns_array::of(&stokes.stress.normal[axis][..]),
            Named::Shear(axis) => mns_array::of(&stokes.stress.shear[axis][..]),
            Named::LiquidAtNodes => {
                return Err(Fault::invalid(name, "is kept at centres: ask for liquid_distance"));
            }
        });
        Ok(())
    })
}

/// Where the values of a field sit, f64 x 3, in the order of the field; borrowed until the grid ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_grid_positions(
    grid: *const mns_grid,
    name: *const c_char,
    out: *mut mns_array,
) -> mns_result {
    guard("mns_grid_positions", || {
        // SAFETY: the header asks for text and for a place for an array.
        let (name, out) = unsafe { (text(name, "name")?, Out::new(out, "out")?) };
        let shared = GRIDS.get(grid)?;
        let reading = shared.read()?;
        let grid = reading.get()?;
        let place = match named(name)? {
            Named::Field(field) => field.place(),
            Named::LiquidAtNodes => Place::Node,
            Named::Known(axis) => Place::Face(axis),
            Named::Viscosity | Named::Slide | Named::Normal(_) => Place::Centre,
            Named::Shear(axis) => {
                out.write(mns_array::of(edge_positions(grid, axis, name)?));
                return Ok(());
            }
        };
        let slot = match place {
            Place::Centre => 0,
            Place::Node => 1,
            Place::Face(axis) if axis < grid.block.axes() => 2 + axis,
            Place::Face(_) => return Err(Fault::invalid(name, "a flat grid has no faces across z")),
        };
        let positions = grid.positions[slot].get_or_init(|| grid.block.positions(place));
        out.write(mns_array::of(positions.as_ref().map_err(|e| e.clone())?));
        Ok(())
    })
}

/// Where the shear stresses on the edges along an axis sit.
fn edge_positions<'a>(grid: &'a Grid, axis: usize, name: &str) -> Result<&'a [Vec3], Fault> {
    if grid.block.axes() == 2 && axis != 2 {
        return Err(Fault::invalid(name, "a flat grid has no shear across z"));
    }
    let positions = grid.positions[5 + axis].get_or_init(|| {
        let samples = BlockStokes::samples(&grid.block)?;
        let site = Site::Edge(axis);
        Ok((0..samples.count(site)).map(|i| samples.position(site, i)).collect())
    });
    Ok(positions.as_ref().map_err(|e| e.clone())?)
}
