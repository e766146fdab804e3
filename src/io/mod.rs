//! Files: meshes, frames, caches.

pub mod alembic;
pub mod any;
pub mod atomic;
pub mod bgeo;
mod blocks;
pub mod cache;
pub mod checkpoint;
pub mod confine;
pub mod dump;
pub mod frame;
pub mod lock;
pub mod memory;
pub mod mesh;
pub mod nrrd;
pub mod packed;
pub mod points;
pub mod usd;
pub mod vdb;
pub mod verify;
mod vtk;
pub mod vtp;
pub mod vtu;
