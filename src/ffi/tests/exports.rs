//! The list of exports, each with a call that works, in which any pointer can be made NULL.

use super::super::array::*;
use super::super::fault::*;
use super::super::grid::*;
use super::super::info::*;
use super::super::lattice::*;
use super::super::log::*;
use super::super::records::*;
use super::super::scene::*;
use super::super::simulation::*;
use super::super::simulation_data::*;
use super::super::versioned::fresh;
use super::{SCENE, reals};
use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

/// A simulation, a grid and a lattice to work on, and places for results.
pub struct Stage {
    pub simulation: *mut mns_simulation,
    pub grid: *mut mns_grid,
    pub lattice: *mut mns_lattice,
    pub file: CString,
    /// The state of the simulation, which is also in the file.
    state: Vec<u8>,
    array: mns_array,
    second: mns_array,
}

impl Stage {
    pub fn new() -> Self {
        let (mut simulation, mut grid, mut lattice) = (null_mut(), null_mut(), null_mut());
        let options = mns_grid_options { cells: [4, 4, 1], cell: 0.25, threads: 1, ..fresh() };
        let phi: Vec<f64> = (0..16).map(|i| (i / 4) as f64 * 0.25 - 0.6).collect();
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("meniscus_ffi_{}_{number}.state", std::process::id());
        let file = std::env::temp_dir().join(name).into_os_string().into_string().unwrap();
        let file = CString::new(file).unwrap();
        let mut saved = reals(&[]);
        // SAFETY: all pointers are valid.
        let state = unsafe {
            assert_eq!(mns_simulation_create(SCENE.as_ptr(), null(), &mut simulation), MNS_OK);
            assert_eq!(mns_simulation_save_file(simulation, file.as_ptr()), MNS_OK);
            assert_eq!(mns_simulation_save(simulation, &mut saved), MNS_OK);
            assert_eq!(mns_grid_create(&options, &mut grid), MNS_OK);
            assert_eq!(mns_grid_set(grid, c"liquid_distance".as_ptr(), &reals(&phi)), MNS_OK);
            let options = mns_lattice_options { cells: [2; 3], cell: 0.5, depth: 1, threads: 1, ..fresh() };
            assert_eq!(mns_lattice_create(&options, null(), &mut lattice), MNS_OK);
            let mut at = reals(&[]);
            let name = c"liquid_distance".as_ptr();
            assert_eq!(mns_lattice_positions(lattice, name, &mut at), MNS_OK);
            let at = std::slice::from_raw_parts(at.data.cast::<[f64; 3]>(), at.count);
            let level: Vec<f64> = at.iter().map(|x| x[1] - 0.6).collect();
            assert_eq!(mns_lattice_set(lattice, name, &reals(&level)), MNS_OK);
            std::slice::from_raw_parts(saved.data.cast::<u8>(), saved.count).to_vec()
        };
        Self { simulation, grid, lattice, file, state, array: reals(&[]), second: reals(&[]) }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // SAFETY: handles of ours, alive or not.
        unsafe {
            mns_simulation_destroy(self.simulation);
            mns_grid_destroy(self.grid);
            mns_lattice_destroy(self.lattice);
        }
        let _ = std::fs::remove_file(self.file.to_str().unwrap());
    }
}

/// One export.
pub struct Export {
    pub name: &'static str,
    /// Pointers that must not be NULL; the call makes number n of them NULL.
    pub pointers: usize,
    /// False for those that return a value: the call then returns 0 if it can be used.
    pub gives_code: bool,
    pub call: fn(&mut Stage, usize) -> i32,
}

/// The pointer, or NULL if it is the one chosen.
fn p<T>(number: usize, null: usize, pointer: *const T) -> *const T {
    if number == null { std::ptr::null() } else { pointer }
}

fn m<T>(number: usize, null: usize, pointer: *mut T) -> *mut T {
    if number == null { null_mut() } else { pointer }
}

fn usable(text: *const c_char) -> i32 {
    text.is_null() as i32
}

macro_rules! export {
    ($name:ident, $pointers:expr, |$s:ident, $n:ident| $call:expr) => {
        Export {
            name: stringify!($name),
            pointers: $pointers,
            gives_code: true,
            // SAFETY: every pointer is valid or NULL.
            call: |$s, $n| unsafe { $call },
        }
    };
}

macro_rules! value {
    ($name:ident, $call:expr) => {
        Export { name: stringify!($name), pointers: 0, gives_code: false, call: |_, _| $call }
    };
}

pub const EXPORTS: &[Export] = &[
    value!(mns_version, (mns_version() < 0) as i32),
    value!(mns_build_info, usable(mns_build_info())),
    value!(mns_last_error, usable(mns_last_error())),
    value!(mns_result_name, usable(mns_result_name(MNS_OK))),
    export!(mns_log_set, 0, |_s, _n| mns_log_set(MNS_LOG_NONE, None, null_mut())),
    export!(mns_array_copy_f32, 2, |_s, n| {
        mns_array_copy_f32(p(0, n, &reals(&[1.0, 2.0])), m(1, n, [0f32; 2].as_mut_ptr()), 2)
    }),
    export!(mns_array_copy_f64, 2, |_s, n| {
        mns_array_copy_f64(p(0, n, &reals(&[1.0, 2.0])), m(1, n, [0f64; 2].as_mut_ptr()), 2)
    }),
    export!(mns_settings_init, 1, |_s, n| mns_settings_init(
        m(0, n, &mut fresh()),
        size_of::<mns_settings>()
    )),
    export!(mns_grid_options_init, 1, |_s, n| {
        mns_grid_options_init(m(0, n, &mut fresh()), size_of::<mns_grid_options>())
    }),
    export!(mns_pressure_options_init, 1, |_s, n| {
        mns_pressure_options_init(m(0, n, &mut fresh()), size_of::<mns_pressure_options>())
    }),
    export!(mns_stokes_options_init, 1, |_s, n| {
        mns_stokes_options_init(m(0, n, &mut fresh()), size_of::<mns_stokes_options>())
    }),
    export!(mns_scene_estimate, 1, |_s, n| mns_scene_estimate(p(0, n, SCENE.as_ptr()), &mut fresh())),
    export!(mns_simulation_create, 2, |_s, n| {
        let mut out = null_mut();
        let code = mns_simulation_create(p(0, n, SCENE.as_ptr()), null(), m(1, n, &mut out));
        mns_simulation_destroy(out);
        code
    }),
    export!(mns_simulation_destroy, 0, |s, _n| mns_simulation_destroy(s.simulation)),
    export!(mns_simulation_step, 1, |s, n| mns_simulation_step(m(0, n, s.simulation), None, null_mut())),
    export!(mns_simulation_advance, 1, |s, n| {
        mns_simulation_advance(m(0, n, s.simulation), 2, None, null_mut())
    }),
    export!(mns_simulation_interrupt, 1, |s, n| mns_simulation_interrupt(p(0, n, s.simulation))),
    export!(mns_simulation_set_geometry, 3, |s, n| {
        let positions = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1];
        let triangles = [[0u32, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let sample = mns_mesh_sample {
            frame: 1.0,
            positions: reals(&positions).grouped(3),
            triangles: mns_array::of(&triangles),
            ..fresh()
        };
        let name = p(1, n, c"post".as_ptr());
        let kind = MNS_GEOMETRY_COLLIDER;
        mns_simulation_set_geometry(m(0, n, s.simulation), kind, name, p(2, n, &sample), 1)
    }),
    export!(mns_simulation_set_field, 3, |s, n| {
        let field = mns_field {
            counts: [2, 1, 1],
            steps: [0.1, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1],
            values: reals(&[1.0, 0.0, 0.0, 2.0, 0.0, 0.0]).grouped(3),
            ..fresh()
        };
        mns_simulation_set_field(m(0, n, s.simulation), p(1, n, c"wind".as_ptr()), p(2, n, &field), 1)
    }),
    export!(mns_simulation_set_keys, 3, |s, n| {
        let keys = reals(&[1.0, 0.5, 2.0, 1.0]).grouped(2);
        mns_simulation_set_keys(m(0, n, s.simulation), p(1, n, c"time_scale".as_ptr()), p(2, n, &keys))
    }),
    export!(mns_simulation_save, 2, |s, n| {
        mns_simulation_save(m(0, n, s.simulation), m(1, n, &mut s.array))
    }),
    export!(mns_simulation_save_file, 2, |s, n| {
        mns_simulation_save_file(m(0, n, s.simulation), p(1, n, s.file.as_ptr()))
    }),
    export!(mns_simulation_load, 2, |s, n| {
        mns_simulation_load(m(0, n, s.simulation), p(1, n, s.state.as_ptr()), s.state.len())
    }),
    export!(mns_simulation_load_file, 2, |s, n| {
        mns_simulation_load_file(m(0, n, s.simulation), p(1, n, s.file.as_ptr()))
    }),
    export!(mns_simulation_frame, 2, |s, n| mns_simulation_frame(p(0, n, s.simulation), m(1, n, &mut 0))),
    export!(mns_simulation_volume, 1, |s, n| {
        mns_simulation_volume(p(0, n, s.simulation), &mut 0.0, &mut 0.0)
    }),
    export!(mns_simulation_report, 2, |s, n| {
        mns_simulation_report(p(0, n, s.simulation), m(1, n, &mut fresh()))
    }),
    export!(mns_simulation_report_json, 2, |s, n| {
        mns_simulation_report_json(p(0, n, s.simulation), m(1, n, &mut null()))
    }),
    export!(mns_simulation_field, 3, |s, n| {
        let name = p(1, n, c"surface.position".as_ptr());
        mns_simulation_field(p(0, n, s.simulation), name, m(2, n, &mut s.array))
    }),
    export!(mns_simulation_field_name, 2, |s, n| {
        mns_simulation_field_name(p(0, n, s.simulation), 3, m(1, n, &mut null()))
    }),
    export!(mns_simulation_collider_mesh, 4, |s, n| {
        let name = p(1, n, c"post".as_ptr());
        let (positions, triangles) = (m(2, n, &mut s.array), m(3, n, &mut s.second));
        mns_simulation_collider_mesh(p(0, n, s.simulation), name, positions, triangles)
    }),
    export!(mns_grid_create, 2, |_s, n| {
        let mut out = null_mut();
        let options = mns_grid_options { cells: [4; 3], cell: 0.1, threads: 1, ..fresh() };
        let code = mns_grid_create(p(0, n, &options), m(1, n, &mut out));
        mns_grid_destroy(out);
        code
    }),
    export!(mns_grid_destroy, 0, |s, _n| mns_grid_destroy(s.grid)),
    export!(mns_grid_set, 3, |s, n| {
        let name = p(1, n, c"density".as_ptr());
        mns_grid_set(m(0, n, s.grid), name, p(2, n, &reals(&[900.0])))
    }),
    export!(mns_grid_solve_pressure, 2, |s, n| {
        let options = mns_pressure_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
        mns_grid_solve_pressure(m(0, n, s.grid), p(1, n, &options), &mut fresh())
    }),
    export!(mns_grid_solve_viscosity, 2, |s, n| {
        let options = mns_stokes_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
        mns_grid_solve_viscosity(m(0, n, s.grid), p(1, n, &options), &mut fresh())
    }),
    export!(mns_grid_solve_stokes, 2, |s, n| {
        let options = mns_stokes_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
        mns_grid_solve_stokes(m(0, n, s.grid), p(1, n, &options), &mut fresh())
    }),
    export!(mns_grid_interrupt, 1, |s, n| mns_grid_interrupt(p(0, n, s.grid))),
    export!(mns_grid_field, 3, |s, n| {
        mns_grid_field(p(0, n, s.grid), p(1, n, c"density".as_ptr()), m(2, n, &mut s.array))
    }),
    export!(mns_grid_positions, 3, |s, n| {
        mns_grid_positions(p(0, n, s.grid), p(1, n, c"velocity_x".as_ptr()), m(2, n, &mut s.array))
    }),
    export!(mns_lattice_options_init, 1, |_s, n| {
        mns_lattice_options_init(m(0, n, &mut fresh()), size_of::<mns_lattice_options>())
    }),
    export!(mns_lattice_solve_options_init, 1, |_s, n| {
        mns_lattice_solve_options_init(m(0, n, &mut fresh()), size_of::<mns_lattice_solve_options>())
    }),
    export!(mns_lattice_create, 2, |_s, n| {
        let mut out = null_mut();
        let options = mns_lattice_options { cells: [1; 3], cell: 0.5, depth: 1, threads: 1, ..fresh() };
        let sizing = reals(&[0.1, 0.1, 0.1, 0.25]).grouped(4);
        let code = mns_lattice_create(p(0, n, &options), &sizing, m(1, n, &mut out));
        mns_lattice_destroy(out);
        code
    }),
    export!(mns_lattice_destroy, 0, |s, _n| mns_lattice_destroy(s.lattice)),
    export!(mns_lattice_set, 3, |s, n| {
        let name = p(1, n, c"viscosity".as_ptr());
        mns_lattice_set(m(0, n, s.lattice), name, p(2, n, &reals(&[9.0])))
    }),
    export!(mns_lattice_solve_pressure, 2, |s, n| {
        let options = mns_lattice_solve_options { dt: 0.01, tolerance: 1e-6, density: 1e3, ..fresh() };
        mns_lattice_solve_pressure(m(0, n, s.lattice), p(1, n, &options), &mut fresh())
    }),
    export!(mns_lattice_solve_viscosity, 2, |s, n| {
        let options = mns_lattice_solve_options { dt: 0.01, tolerance: 1e-6, density: 1e3, ..fresh() };
        mns_lattice_solve_viscosity(m(0, n, s.lattice), p(1, n, &options), &mut fresh())
    }),
    export!(mns_lattice_interrupt, 1, |s, n| mns_lattice_interrupt(p(0, n, s.lattice))),
    export!(mns_lattice_field, 3, |s, n| {
        mns_lattice_field(p(0, n, s.lattice), p(1, n, c"tets".as_ptr()), m(2, n, &mut s.array))
    }),
    export!(mns_lattice_positions, 3, |s, n| {
        mns_lattice_positions(p(0, n, s.lattice), p(1, n, c"velocity".as_ptr()), m(2, n, &mut s.array))
    }),
];
