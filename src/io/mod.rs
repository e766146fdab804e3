//! Files: meshes, frames, caches.

pub mod atomic;
pub mod cache;
pub mod checkpoint;
pub mod frame;
pub mod mesh;
pub mod usd;
pub mod vtu;
