//! Absurd numbers in every place that takes one: a code, never a crash, never much memory.

use super::super::array::*;
use super::super::fault::*;
use super::super::grid::*;
use super::super::lattice::*;
use super::super::log::mns_log_set;
use super::super::records::*;
use super::super::simulation::*;
use super::super::simulation_data::*;
use super::super::versioned::fresh;
use super::exports::Stage;
use super::{SCENE, message, reals};
use std::ptr::{null, null_mut};

const REALS: [f64; 11] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -1.0,
    f64::MAX,
    f64::MIN,
    9.3e18,
    1e-300,
    1e300,
    f64::MIN_POSITIVE,
];
const SIZES: [usize; 6] = [0, 1, 1 << 31, 1 << 32, 1 << 63, usize::MAX];

/// A code of the list, whatever it is.
fn answered(code: mns_result, what: &str) {
    assert!((MNS_ERROR_HANDLE..=MNS_OK).contains(&code), "{what}: {code} {}", message());
}

#[test]
fn absurd_reals_are_answered() {
    for value in REALS {
        for place in 0..4 {
            let mut out = null_mut();
            let mut o = mns_grid_options { cells: [4, 4, 1], cell: 0.1, threads: 1, ..fresh() };
            if place < 3 {
                o.origin[place] = value
            } else {
                o.cell = value
            }
            // SAFETY: all pointers are valid.
            unsafe {
                answered(mns_grid_create(&o, &mut out), "mns_grid_create");
                mns_grid_destroy(out);
            }
        }
        let stage = Stage::new();
        for place in 0..3 {
            let mut o = mns_pressure_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
            *[&mut o.dt, &mut o.tolerance, &mut o.expansion][place] = value;
            // SAFETY: all pointers are valid.
            answered(
                unsafe { mns_grid_solve_pressure(stage.grid, &o, null_mut()) },
                "mns_grid_solve_pressure",
            );
        }
        for place in 0..2 {
            let mut o = mns_stokes_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
            *[&mut o.dt, &mut o.tolerance][place] = value;
            // SAFETY: all pointers are valid.
            unsafe {
                answered(mns_grid_solve_viscosity(stage.grid, &o, null_mut()), "mns_grid_solve_viscosity");
                answered(mns_grid_solve_stokes(stage.grid, &o, null_mut()), "mns_grid_solve_stokes");
            }
        }
        for place in 0..4 {
            let mut out = null_mut();
            let mut o = mns_lattice_options { cells: [1; 3], cell: 0.5, depth: 1, threads: 1, ..fresh() };
            let mut point = [0.1, 0.1, 0.1, 0.2];
            point[place] = value;
            if place < 3 {
                o.origin[place] = value
            } else {
                o.cell = value
            }
            // SAFETY: all pointers are valid.
            unsafe {
                answered(mns_lattice_create(&o, null(), &mut out), "mns_lattice_create");
                mns_lattice_destroy(out);
                o = mns_lattice_options { cells: [1; 3], cell: 0.5, depth: 1, threads: 1, ..fresh() };
                let sizing = reals(&point).grouped(4);
                answered(mns_lattice_create(&o, &sizing, &mut out), "sizing");
                mns_lattice_destroy(out);
            }
        }
        for place in 0..3 {
            let mut o = mns_lattice_solve_options { dt: 0.01, tolerance: 1e-6, density: 1e3, ..fresh() };
            *[&mut o.dt, &mut o.tolerance, &mut o.density][place] = value;
            // SAFETY: all pointers are valid.
            unsafe {
                answered(
                    mns_lattice_solve_pressure(stage.lattice, &o, null_mut()),
                    "mns_lattice_solve_pressure",
                );
                answered(
                    mns_lattice_solve_viscosity(stage.lattice, &o, null_mut()),
                    "mns_lattice_solve_viscosity",
                );
            }
        }
        let thick = Stage::new();
        let o = mns_stokes_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
        // SAFETY: all pointers are valid.
        unsafe {
            let code = mns_grid_set(thick.grid, c"viscosity".as_ptr(), &reals(&[value]));
            assert!(code == MNS_OK && value >= 0.0 || code == MNS_ERROR_INVALID, "viscosity {value}");
            answered(mns_grid_solve_stokes(thick.grid, &o, null_mut()), "a thick solve");
        }
        for name in
            [c"density", c"surface_pressure", c"velocity_x", c"velocity_y", c"solid_distance", c"pressure"]
        {
            let count = match name.to_str().unwrap() {
                "velocity_x" | "velocity_y" => 20,
                "solid_distance" => 25,
                "pressure" => 16,
                _ => 1,
            };
            let o = mns_pressure_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
            let stage = Stage::new();
            // SAFETY: all pointers are valid.
            unsafe {
                let code = mns_grid_set(stage.grid, name.as_ptr(), &reals(&vec![value; count]));
                assert!(code == MNS_OK && value.is_finite() || code == MNS_ERROR_INVALID, "{name:?} {value}");
                answered(mns_grid_solve_pressure(stage.grid, &o, null_mut()), "a solve");
            }
        }
        let positions = [value; 9];
        let sample = mns_mesh_sample {
            frame: value,
            positions: reals(&positions).grouped(3),
            triangles: mns_array::of(&[[0u32, 1, 2]]),
            ..fresh()
        };
        // SAFETY: all pointers are valid.
        let code = unsafe { mns_simulation_set_geometry(stage.simulation, 0, c"post".as_ptr(), &sample, 1) };
        answered(code, "mns_simulation_set_geometry");
    }
}

/// Fields of a lattice, velocities of a solid and of a mesh, keys: a code, and a solve that ends.
#[test]
fn absurd_fields_are_answered() {
    let places = |stage: &Stage, name: &std::ffi::CStr| {
        let mut at = reals(&[]);
        // SAFETY: all pointers are valid.
        unsafe { assert_eq!(mns_lattice_positions(stage.lattice, name.as_ptr(), &mut at), MNS_OK) };
        at.count
    };
    let o = mns_lattice_solve_options { dt: 0.01, tolerance: 1e-6, density: 1e3, ..fresh() };
    for value in REALS {
        for name in
            [c"liquid_distance", c"solid_distance", c"solid_velocity", c"velocity", c"viscosity", c"pressure"]
        {
            let stage = Stage::new();
            let width = if name == c"solid_velocity" { 3 } else { 1 };
            let values = vec![value; places(&stage, name) * width];
            // SAFETY: all pointers are valid.
            unsafe {
                let array = reals(&values).grouped(width);
                let code = mns_lattice_set(stage.lattice, name.as_ptr(), &array);
                assert!(code == MNS_OK && value.is_finite() || code == MNS_ERROR_INVALID, "{name:?} {value}");
                answered(mns_lattice_solve_pressure(stage.lattice, &o, null_mut()), "a solve");
                answered(mns_lattice_solve_viscosity(stage.lattice, &o, null_mut()), "a thick solve");
            }
        }
        for name in [c"solid_velocity_x", c"solid_velocity_y"] {
            let stage = Stage::new();
            let o = mns_pressure_options { dt: 0.01, tolerance: 1e-6, ..fresh() };
            // SAFETY: all pointers are valid.
            unsafe {
                let code = mns_grid_set(stage.grid, name.as_ptr(), &reals(&[value; 20]));
                assert!(code == MNS_OK && value.is_finite() || code == MNS_ERROR_INVALID, "{name:?} {value}");
                answered(mns_grid_solve_pressure(stage.grid, &o, null_mut()), "a solve");
            }
        }
        let stage = Stage::new();
        for rows in [[1.0, value, 2.0, 1.0], [value, 1.0, 2.0, 1.0]] {
            // SAFETY: all pointers are valid.
            unsafe {
                let keys = reals(&rows).grouped(2);
                let code = mns_simulation_set_keys(stage.simulation, c"time_scale".as_ptr(), &keys);
                answered(code, "mns_simulation_set_keys");
                assert!(code != MNS_OK || value.is_finite(), "{value}");
            }
        }
    }
}

/// Velocities that come with a mesh are as careful as its points.
#[test]
fn absurd_velocities_of_a_mesh_are_answered() {
    let positions = [0.3, 0.0, 0.1, 0.35, 0.0, 0.1, 0.3, 0.05, 0.1, 0.3, 0.0, 0.15];
    let triangles = [[0u32, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let cut = [[0u32, 2, 1], [0, 1, 3], [0, 3, 2]];
    for value in REALS {
        let stage = Stage::new();
        let velocities = [value; 12];
        let sample = mns_mesh_sample {
            frame: 1.0,
            positions: reals(&positions).grouped(3),
            velocities: reals(&velocities).grouped(3),
            triangles: mns_array::of(&triangles),
            ..fresh()
        };
        let next = mns_mesh_sample { frame: 2.0, triangles: mns_array::of(&cut), ..sample };
        // SAFETY: all pointers are valid.
        unsafe {
            let code = mns_simulation_set_geometry(
                stage.simulation,
                MNS_GEOMETRY_COLLIDER,
                c"post".as_ptr(),
                [sample, next].as_ptr(),
                2,
            );
            answered(code, "velocities");
            assert!(code != MNS_OK || value.is_finite(), "{value}");
            let short = mns_mesh_sample { velocities: reals(&velocities[..9]).grouped(3), ..sample };
            let code = mns_simulation_set_geometry(
                stage.simulation,
                MNS_GEOMETRY_COLLIDER,
                c"post".as_ptr(),
                &short,
                1,
            );
            assert_eq!(code, MNS_ERROR_INVALID, "fewer velocities than points");
        }
    }
}

/// A struct may be there and what it points to may not.
#[test]
fn null_inside_a_struct_is_refused() {
    let stage = Stage::new();
    let nothing = mns_array { data: null(), ..reals(&[1.0, 2.0, 3.0]).grouped(3) };
    let triangles = [[0u32, 1, 2]];
    let points = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1, 0.0];
    let whole = mns_mesh_sample {
        frame: 1.0,
        positions: reals(&points).grouped(3),
        triangles: mns_array::of(&triangles),
        ..fresh()
    };
    let no_triangles = mns_array { data: null(), ..mns_array::of(&triangles) };
    let samples = [
        mns_mesh_sample { positions: nothing, ..whole },
        mns_mesh_sample { velocities: nothing, ..whole },
        mns_mesh_sample { triangles: no_triangles, ..whole },
    ];
    // SAFETY: pointers are valid or NULL.
    unsafe {
        for sample in samples {
            let code = mns_simulation_set_geometry(stage.simulation, 0, c"post".as_ptr(), &sample, 1);
            assert_eq!(code, MNS_ERROR_INVALID);
            assert!(message().contains("NULL"), "{}", message());
        }
        let mesh = mns_named_mesh {
            name: c"a.obj".as_ptr(),
            positions: whole.positions,
            triangles: whole.triangles,
            ..fresh()
        };
        let named = [
            mns_named_mesh { name: null(), ..mesh },
            mns_named_mesh { positions: nothing, ..mesh },
            mns_named_mesh { triangles: no_triangles, ..mesh },
        ];
        for mesh in named {
            let mut out = null_mut();
            let settings = mns_settings { meshes: &mesh, mesh_count: 1, ..fresh() };
            assert_eq!(mns_simulation_create(SCENE.as_ptr(), &settings, &mut out), MNS_ERROR_INVALID);
            assert!(out.is_null() && message().contains("NULL"), "{}", message());
        }
        // Fields: without numbers or name, of other sizes than they say, flat, of another width, and the scene's own.
        let steps = [0.1, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1];
        let field = mns_field { counts: [1; 3], steps, values: reals(&[1.0; 3]).grouped(3), ..fresh() };
        let wind = |sample: &mns_field, count| {
            mns_simulation_set_field(stage.simulation, c"wind".as_ptr(), sample, count)
        };
        let wrong = [
            mns_field { values: nothing, ..field },
            mns_field { counts: [1, 2, 1], ..field },
            mns_field { counts: [u64::MAX; 3], ..field },
            mns_field { steps: [0.0; 9], ..field },
            mns_field { steps: [f64::NAN; 9], ..field },
            mns_field { origin: [f64::INFINITY; 3], ..field },
            mns_field { frame: f64::NAN, ..field },
            mns_field { values: reals(&[f64::NAN; 3]).grouped(3), ..field },
            mns_field { values: reals(&[1.0]), ..field },
        ];
        wrong.iter().for_each(|sample| assert_eq!(wind(sample, 1), MNS_ERROR_INVALID, "{}", message()));
        assert_eq!((wind(&field, 0), wind(&field, 1)), (MNS_ERROR_INVALID, MNS_OK), "{}", message());
        let settings = mns_settings { fields: &field, field_count: 1, ..fresh() };
        let mut out = null_mut();
        assert_eq!(mns_simulation_create(SCENE.as_ptr(), &settings, &mut out), MNS_ERROR_INVALID);
        // What is painted: without numbers, name or a number for each point; with a name twice or that no file can hold.
        let values = mns_array { data: null(), ..reals(&[0.0; 3]) };
        let heat = mns_attribute { name: c"heat".as_ptr(), values: reals(&[f64::NAN; 3]), ..fresh() };
        let wrong = [
            vec![mns_attribute { values, ..heat }],
            vec![mns_attribute { name: null(), ..heat }],
            vec![mns_attribute { values: reals(&[0.0; 2]), ..heat }],
            vec![mns_attribute { values: reals(&[0.0; 15]).grouped(5), ..heat }],
            vec![mns_attribute { name: c"a b".as_ptr(), ..heat }],
            vec![heat, heat],
        ];
        let sent = |attributes: *const mns_attribute, attribute_count: usize| {
            let sample = mns_mesh_sample { attributes, attribute_count, ..whole };
            mns_simulation_set_geometry(stage.simulation, 0, c"post".as_ptr(), &sample, 1)
        };
        for list in &wrong {
            assert_eq!(sent(list.as_ptr(), list.len()), MNS_ERROR_INVALID);
        }
        assert_eq!(sent(null(), 1), MNS_ERROR_INVALID);
        assert_eq!(sent(&heat, 1), MNS_OK, "{}", message());
        let mut out = null_mut();
        let settings = mns_settings { mesh_count: 1, ..fresh() };
        assert_eq!(mns_simulation_create(SCENE.as_ptr(), &settings, &mut out), MNS_ERROR_INVALID);
        let keys = mns_array { data: null(), ..reals(&[1.0, 1.0]).grouped(2) };
        let code = mns_simulation_set_keys(stage.simulation, c"time_scale".as_ptr(), &keys);
        assert_eq!(code, MNS_ERROR_INVALID);
        for (grid, name) in [(true, c"density"), (false, c"viscosity")] {
            let values = mns_array { data: null(), ..reals(&[1.0]) };
            let code = match grid {
                true => mns_grid_set(stage.grid, name.as_ptr(), &values),
                false => mns_lattice_set(stage.lattice, name.as_ptr(), &values),
            };
            assert_eq!(code, MNS_ERROR_INVALID);
        }
        let (mut lattice, sizing) = (null_mut(), mns_array { data: null(), ..reals(&[0.0; 4]).grouped(4) });
        let o = mns_lattice_options { cells: [1; 3], cell: 0.5, threads: 1, ..fresh() };
        assert_eq!(mns_lattice_create(&o, &sizing, &mut lattice), MNS_ERROR_INVALID);
        assert_eq!(mns_array_copy_f64(&keys, [0.0; 4].as_mut_ptr(), 4), MNS_ERROR_INVALID);
    }
}

/// The limit of memory that a scene gives holds for every host.
#[test]
fn a_scene_may_limit_its_memory() {
    let scene = SCENE.to_str().unwrap().replace("\"threads\": 1", "\"threads\": 1, \"memory_limit\": 0.01");
    let scene = std::ffi::CString::new(scene.replace("\"divisions\": 6", "\"divisions\": 200")).unwrap();
    let mut out = null_mut();
    // SAFETY: all pointers are valid.
    unsafe {
        assert_eq!(
            mns_simulation_create(scene.as_ptr(), null(), &mut out),
            MNS_ERROR_MEMORY,
            "{}",
            message()
        );
    }
    // Where nobody gives one, the machine does: petabytes are refused at once.
    let scene = SCENE.to_str().unwrap().replace("\"divisions\": 6", "\"divisions\": 60000");
    let scene = std::ffi::CString::new(scene).unwrap();
    // SAFETY: all pointers are valid.
    unsafe {
        assert_eq!(
            mns_simulation_create(scene.as_ptr(), null(), &mut out),
            MNS_ERROR_MEMORY,
            "{}",
            message()
        );
    }
}

#[test]
fn absurd_sizes_are_answered() {
    let stage = Stage::new();
    let mut out = [0f32; 2];
    for size in SIZES {
        // SAFETY: pointers are valid, and what is larger than they are is refused before it is read.
        unsafe {
            let mut settings: mns_settings = fresh();
            if size > 4096 || size == 0 {
                assert_eq!(mns_settings_init(&mut settings, size), MNS_ERROR_INVALID);
                let code = mns_simulation_set_geometry(stage.simulation, 0, c"post".as_ptr(), &fresh(), size);
                assert_eq!(code, MNS_ERROR_INVALID, "{size}");
            }
            if size > 1 << 40 {
                let array = mns_array { count: size, ..reals(&[1.0]) };
                assert_eq!(mns_array_copy_f32(&array, out.as_mut_ptr(), usize::MAX), MNS_ERROR_INVALID);
                assert_eq!(mns_grid_set(stage.grid, c"density".as_ptr(), &array), MNS_ERROR_INVALID);
                assert_eq!(mns_simulation_load(stage.simulation, &0, size), MNS_ERROR_INVALID);
            }
            if size > 7 {
                let code = mns_simulation_field_name(stage.simulation, size, &mut null());
                assert_eq!(code, MNS_ERROR_INVALID);
            }
            let array = mns_array { stride: size, ..reals(&[1.0]) };
            answered(mns_grid_set(stage.grid, c"density".as_ptr(), &array), "stride");
            let mut grid = null_mut();
            let o = mns_grid_options { cells: [size as u32, 3, u32::MAX], cell: 0.1, threads: 1, ..fresh() };
            answered(mns_grid_create(&o, &mut grid), "cells");
            mns_grid_destroy(grid);
        }
    }
}

#[test]
fn absurd_whole_numbers_are_answered() {
    let stage = Stage::new();
    for value in [0, -1, 1, 8, i32::MIN, i32::MAX] {
        // SAFETY: all pointers are valid.
        unsafe {
            let known = (0..=3).contains(&value);
            assert_eq!(mns_log_set(value, None, null_mut()) == MNS_OK, known);
            let array = mns_array { r#type: value, ..reals(&[1.0]) };
            answered(mns_grid_set(stage.grid, c"density".as_ptr(), &array), "type");
            let array = mns_array { width: value, ..reals(&[1.0]) };
            let code = mns_grid_set(stage.grid, c"density".as_ptr(), &array);
            assert_eq!(code == MNS_OK, value == 1, "{value}");
            let o = mns_pressure_options { scheme: value, dt: 0.01, tolerance: 1e-6, ..fresh() };
            answered(mns_grid_solve_pressure(stage.grid, &o, null_mut()), "scheme");
            answered(
                mns_simulation_set_geometry(stage.simulation, value, c"post".as_ptr(), &fresh(), 1),
                "kind",
            );
            let o = mns_lattice_solve_options {
                coupling: value,
                slide: value,
                dt: 0.01,
                tolerance: 1e-6,
                density: 1e3,
                ..fresh()
            };
            answered(mns_lattice_solve_viscosity(stage.lattice, &o, null_mut()), "coupling");
            let o = mns_lattice_options {
                cells: [value as u32, 2, 2],
                depth: value as u32,
                cell: 0.1,
                threads: 1,
                ..fresh()
            };
            let mut lattice = null_mut();
            answered(mns_lattice_create(&o, null(), &mut lattice), "lattice cells");
            mns_lattice_destroy(lattice);
            mns_result_name(value);
            let settings = mns_settings { threads: value as u32 % 9, memory_limit: value as u64, ..fresh() };
            let mut out = null_mut();
            answered(mns_simulation_create(SCENE.as_ptr(), &settings, &mut out), "settings");
            mns_simulation_destroy(out);
        }
    }
    for frame in [i64::MIN, -1, 0, i64::MAX] {
        // SAFETY: all pointers are valid.
        let code = unsafe { mns_simulation_advance(stage.simulation, frame, None, null_mut()) };
        assert_eq!(code == MNS_OK, frame < i64::MAX, "{frame}");
    }
    for frame in [i64::MIN, -5, i64::MAX] {
        let scene = format!(r#"{{"meniscus": 1, "frames": [{frame}, {frame}]}}"#);
        let scene = std::ffi::CString::new(scene).unwrap();
        let mut out = null_mut();
        // SAFETY: all pointers are valid.
        unsafe {
            answered(mns_simulation_create(scene.as_ptr(), null(), &mut out), "frames");
            if !out.is_null() {
                answered(mns_simulation_step(out, None, null_mut()), "a step");
            }
            mns_simulation_destroy(out);
        }
    }
}
