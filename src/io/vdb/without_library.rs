//! What a build without OpenVDB says.

use super::{VdbFrame, check_available};
use crate::error::Result;
use crate::geometry::TriMesh;
use std::path::Path;

/// Write a frame as `.vdb`.
pub fn write(path: &Path, _frame: &VdbFrame) -> Result<()> {
    check_available(&path.display().to_string())
}

/// The level set of a file as triangles, with velocity if the file has one.
pub fn read_surface(path: &Path) -> Result<TriMesh> {
    check_available(&path.display().to_string()).map(|()| TriMesh::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_library_says_how_to_get_it() {
        let frame = VdbFrame { surface: &TriMesh::default(), voxel: 1.0, fields: None, threads: 1 };
        let said = write(Path::new("liquid.vdb"), &frame).unwrap_err().to_string();
        assert!(said.contains("liquid.vdb") && said.contains("--features openvdb"), "{said}");
    }
}
