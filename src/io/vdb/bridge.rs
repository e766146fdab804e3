//! The calls into OpenVDB, by `cxx`, which checks both sides against each other.
//!
//! Everything here is unsafe only in that C++ is trusted to keep to these signatures: slices are read during the
//! call alone, and exceptions come back as errors.

pub use ffi::{Grids, Layout, new_grids, read_liquid};

#[cxx::bridge(namespace = "meniscus")]
mod ffi {
    /// Where the cells of a field are, and what surrounds them.
    struct Layout {
        /// Indices of the lowest cell of each tile, three a tile.
        tiles: Vec<i32>,
        /// Cells of a tile along z; along x and y there are eight.
        depth: u32,
        /// Edge of a cell, and the lower corner of cell (0,0,0), m.
        voxel: f64,
        origin: [f64; 3],
        /// The value where no tile is.
        background: f32,
        /// Whether values are signed distances within a band.
        level_set: bool,
    }

    /// A surface as triangles, with velocity if the file has one.
    struct Liquid {
        points: Vec<f32>,
        triangles: Vec<u32>,
        velocity: Vec<f32>,
    }

    unsafe extern "C++" {
        include!("meniscus/src/io/vdb/grids.h");

        type Grids;
        fn new_grids(threads: u32) -> Result<UniquePtr<Grids>>;
        fn add_surface(
            self: Pin<&mut Grids>,
            name: &str,
            points: &[f32],
            triangles: &[u32],
            layout: &Layout,
        ) -> Result<()>;
        fn add_scalar(
            self: Pin<&mut Grids>,
            name: &str,
            layout: &Layout,
            values: &[f32],
            active: &[u8],
        ) -> Result<()>;
        fn add_staggered(
            self: Pin<&mut Grids>,
            name: &str,
            layout: &Layout,
            values: &[f32],
            active: &[u8],
        ) -> Result<()>;
        fn write(self: &Grids, path: &str) -> Result<()>;
        fn read_liquid(path: &str, threads: u32) -> Result<Liquid>;
    }
}
