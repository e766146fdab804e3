//! Any bytes to the reader `nrrd` of tests/readers.
#![no_main]

#[path = "../../tests/readers/mod.rs"]
#[allow(dead_code)]
mod readers;
#[path = "../../tests/state_support/mod.rs"]
mod state_support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::nrrd(bytes));
