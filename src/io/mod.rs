//! Files: meshes, frames, caches.

pub mod mesh;
