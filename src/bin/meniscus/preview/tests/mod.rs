//! Pictures with known answers, and pictures of a cache on disk.

mod cache;
mod pictures;
pub mod shapes;
