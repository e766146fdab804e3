//! Meshes of cells, and the graph of faces that every pressure solve works on.

pub mod bcc;
mod face_graph;

pub use face_graph::{AIR, FaceGraph, Incidence};
