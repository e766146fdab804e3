//! Tests of the C ABI from inside: every export is on one list, and every item of the list is abused.

mod exports;
mod numbers;

use super::array::mns_array;
use super::fault::*;
use super::guard::PANIC_NEXT;
use super::simulation::{mns_simulation, mns_simulation_create, mns_simulation_destroy};
use exports::{EXPORTS, Stage};
use std::ffi::CStr;

pub(super) const SCENE: &CStr = cr#"{"meniscus": 1, "frames": [1, 9], "threads": 1,
    "domain": {"min": [0, 0, 0], "max": [0.4, 0.3, 0.2]}, "resolution": {"divisions": 6}, "fields": [{"name": "wind", "kind": "force"}],
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.2, 0.2, 0.2]}}}],
    "colliders": [{"name": "post", "shape": {"sphere": {"center": [0.3, 0, 0.1], "radius": 0.05}}}]}"#;

pub(super) fn message() -> String {
    // SAFETY: the library's text is always ended by a zero byte.
    unsafe { CStr::from_ptr(mns_last_error()) }.to_string_lossy().into_owned()
}

pub(super) fn reals(values: &[f64]) -> mns_array {
    mns_array::of(values)
}

#[test]
fn every_function_of_the_header_is_on_the_list() {
    let header = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/include/meniscus.h")).unwrap();
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|l| !l.starts_with([' ', '/', '#', '*']) && l.contains("mns_") && l.contains('('))
        .filter(|l| !l.starts_with("typedef"))
        .map(|l| l.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap())
        .collect();
    let mut listed: Vec<&str> = EXPORTS.iter().map(|e| e.name).collect();
    declared.sort_unstable();
    listed.sort_unstable();
    assert_eq!(declared, listed);
}

#[test]
fn a_panic_in_any_export_is_a_code() {
    let mut stage = Stage::new();
    for export in EXPORTS {
        PANIC_NEXT.with(|p| p.set(true));
        let code = (export.call)(&mut stage, usize::MAX);
        assert!(!PANIC_NEXT.with(|p| p.replace(false)), "{} has no guard", export.name);
        match export.gives_code {
            true => assert_eq!(code, MNS_ERROR_PANIC, "{}", export.name),
            false => assert_eq!(code, 0, "{}", export.name),
        }
        if export.gives_code {
            assert!(message().contains("a test asked for this") && message().contains(export.name));
        }
        // The next call of the same kind works: the panic came before the object was touched.
        let mut stage = Stage::new();
        assert_eq!((export.call)(&mut stage, usize::MAX), 0, "{}: {}", export.name, message());
    }
}

#[test]
fn null_is_refused_wherever_it_is_not_allowed() {
    for export in EXPORTS {
        for pointer in 0..export.pointers {
            let mut stage = Stage::new();
            let code = (export.call)(&mut stage, pointer);
            assert_eq!(code, MNS_ERROR_INVALID, "{} pointer {pointer}: {}", export.name, message());
            assert!(message().contains("NULL"), "{}: {}", export.name, message());
        }
    }
}

#[test]
fn after_a_panic_a_simulation_can_be_saved_and_ended() {
    let mut simulation: *mut mns_simulation = std::ptr::null_mut();
    // SAFETY: all pointers are valid.
    unsafe {
        assert_eq!(mns_simulation_create(SCENE.as_ptr(), std::ptr::null(), &mut simulation), 0);
        // A panic while the simulation is being changed.
        let shared = super::simulation::SIMULATIONS.get(simulation).unwrap();
        let code = super::guard::guard("test", || {
            let _changing = shared.change()?;
            panic!("in the middle of a step");
        });
        assert_eq!(code, MNS_ERROR_PANIC);
        let step = super::simulation::mns_simulation_step(simulation, None, std::ptr::null_mut());
        assert_eq!(step, MNS_ERROR_PANIC);
        assert!(message().contains("save"), "{}", message());
        let mut bytes = reals(&[]);
        assert_eq!(super::simulation::mns_simulation_save(simulation, &mut bytes), 0);
        assert!(bytes.count > 100);
        assert_eq!(mns_simulation_destroy(simulation), 0);
        assert_eq!(mns_simulation_destroy(simulation), MNS_ERROR_HANDLE);
    }
}

#[test]
fn codes_are_those_of_the_library() {
    use crate::Error;
    let codes = [
        (Error::invalid("", ""), MNS_ERROR_INVALID),
        (Error::scene("", ""), MNS_ERROR_SCENE),
        (Error::geometry("", ""), MNS_ERROR_GEOMETRY),
        (Error::Cancelled, MNS_ERROR_CANCELLED),
        (Error::diverged("", ""), MNS_ERROR_DIVERGED),
        (Error::Busy { what: String::new(), message: String::new() }, MNS_ERROR_BUSY),
        (Error::Version { what: String::new(), found: 2, supported: 1 }, MNS_ERROR_VERSION),
        (Error::Unsupported { what: String::new(), message: String::new() }, MNS_ERROR_UNSUPPORTED),
        (Error::Io { path: String::new(), message: String::new() }, MNS_ERROR_IO),
        (
            Error::Format { file: String::new(), place: String::new(), message: String::new() },
            MNS_ERROR_FORMAT,
        ),
        (
            Error::Memory { what: String::new(), needed_mb: 1, limit_mb: 0, fix: String::new() },
            MNS_ERROR_MEMORY,
        ),
    ];
    assert!(codes.iter().all(|(error, code)| error.code() == *code));
    for code in MNS_ERROR_PANIC..=MNS_OK {
        // SAFETY: static text.
        let name = unsafe { CStr::from_ptr(mns_result_name(code)) };
        assert!(name.to_str().unwrap().starts_with("MNS_"));
    }
}
