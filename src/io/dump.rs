//! Frames that failed, as folders to look into.
//!
//! ```text
//!   DUMP_DIR/frame_0012/   message.txt         what the error said
//!                          scene.json          the scene, with the keys that were set since
//!                          state.bin           the saved state before the step that failed
//!                          matrix.mtx, ...     the solve, as in [`crate::linalg::dump`], if it was one that failed
//!                          weight_NAME.mtx     the shares that made its equations
//! ```
//!
//! `meniscus replay FOLDER` repeats the solve alone. A dump of the same frame is replaced file by file; `solve.json`,
//! which says what belongs to the solve, comes last.

use super::atomic;
use crate::error::{Error, Result};
use crate::linalg::matrix_market::format_vector;
use crate::simulation::Simulation;
use std::path::{Path, PathBuf};

/// Write what is known of the frame that failed last into a folder below `parent`, if there is anything. Returns
/// the folder.
pub fn write(parent: &Path, simulation: &Simulation) -> Result<Option<PathBuf>> {
    let Some(failure) = simulation.failure() else { return Ok(None) };
    let folder = parent.join(format!("frame_{:04}", simulation.frame() + 1));
    atomic::create_folder(&folder)?;
    let list = folder.join("solve.json");
    if list.exists() {
        // The list of an older dump would speak of files that are being replaced.
        std::fs::remove_file(&list).map_err(|e| Error::io(&list, &e))?;
    }
    atomic::write(&folder.join("message.txt"), format!("{}\n", failure.message).as_bytes())?;
    atomic::write(&folder.join("scene.json"), simulation.given().to_json()?.as_bytes())?;
    let mut state = simulation.copy()?;
    atomic::write_pieces(&folder.join("state.bin"), |give| state.finish_into(give))?;
    for (name, values) in &failure.record.notes {
        let path = folder.join(format!("weight_{name}.mtx"));
        atomic::write_with(&path, |out| format_vector(out, values))?;
    }
    if let Some(solve) = &failure.record.solve {
        solve.files(&mut |name, fill| atomic::write_with(&folder.join(name), |out| fill(out)))?;
    }
    Ok(Some(folder))
}
