//! Files: meshes, frames, caches.

pub mod atomic;
pub mod cache;
pub mod frame;
pub mod mesh;
pub mod vtu;
