//! Files: meshes, frames, caches.
