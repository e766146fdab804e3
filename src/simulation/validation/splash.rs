//! The volume of a violent splash: a dam breaks over a block and runs up the far wall.
//!
//! The worst relative difference, over all frames, between the volume that the surface encloses with
//! the drops that fly free, and the volume that was poured in: with the correction of volume, and
//! without it.

use super::{Effort, Figure, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use serde_json::json;

/// The error of the volume with and without correction.
pub fn splash_volume(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let corrected = worst_error(true, effort, cancel)?;
    let free = worst_error(false, effort, cancel)?;
    Ok(vec![
        Figure::new("splash-volume-corrected", corrected, 0.0, 0.001),
        Figure::new("splash-volume-free", free, 0.0, 0.02),
    ])
}

fn worst_error(lock: bool, effort: Effort, cancel: &Cancel) -> Result<f64> {
    let scene = json!({"meniscus": 1, "frames": [0, 500],
        "domain": {"min": [0, 0, 0], "max": [1, 0.75, 0.25]}, "resolution": {"divisions": effort.pick(48, 32)},
        "simulator": {"volume_lock": lock},
        "initial": [{"shape": {"box": {"min": [-0.1, -0.1, -0.1], "max": [0.4, 0.4, 0.5]}}}],
        "colliders": [{"shape": {"box": {"min": [0.6, -0.1, 0.07], "max": [0.72, 0.12, 0.18]}}}]});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut worst = 0.0f64;
    for _ in 0..effort.pick(500, 40) {
        let report = sim.advance_frame(&mut |_| cancel.is_cancelled())?;
        worst = worst.max(report.volume_error().abs());
    }
    Ok(worst)
}
