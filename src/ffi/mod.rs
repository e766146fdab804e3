//! The C ABI: the only module that speaks to other languages, and where `unsafe` code is at home.
//!
//! Every export is one short function of three kinds of lines: pointers become checked Rust values
//! ([`pointer`], [`array`], [`versioned`]), the library is called, results are written back. All of it
//! runs inside [`guard`], which turns panics and errors into codes and gives the host its
//! floating-point state back. Handles are numbers in a table ([`handle`]), never addresses.
//!
//! `include/meniscus.h` is generated from the documentation in this folder by `cbindgen.toml`; the test
//! tests/ffi_header.rs keeps it current. Documentation here is therefore written for readers of C.

// C names are lower case with a prefix, and the header says what callers owe.
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

pub mod array;
pub mod fault;
pub mod grid;
mod guard;
mod handle;
pub mod info;
mod inputs;
pub mod lattice;
pub mod log;
mod pointer;
pub mod records;
pub mod scene;
pub mod simulation;
pub mod simulation_data;
mod versioned;

#[cfg(test)]
mod tests;
