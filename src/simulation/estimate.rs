//! How big a scene will be, from its description alone: before anything is allocated.
//!
//! What a process holds at its peak was measured on the example scenes and is, to a fifth,
//!
//! ```text
//!     mac   32 MB + 420 bytes a cell of a tile + 420 bytes a particle + 2,600 bytes a cell of thick liquid
//!     bcc   32 MB + 6,000 bytes a finest cell of liquid + 100 bytes a finest cell of the domain
//! ```
//!
//! Tiles lie where liquid is and a margin about it: L cells of liquid that splash are spread over at most about
//! 6 L + 160 L^⅔ cells of tiles, and never over more than the domain has. The estimate is a tenth above this, so
//! that it is not below the peak. docs/reliability.md has the table.

use super::report::Estimate;
use crate::grid::SIDE;
use crate::math::Aabb;
use crate::scene::{Scene, SimulatorType};

/// Bytes of a process that simulates next to nothing.
const BASE: f64 = 32e6;
const BYTES_A_TILE_CELL: f64 = 420.0;
const BYTES_A_PARTICLE: f64 = 420.0;
const BYTES_A_THICK_CELL: f64 = 2600.0;
const BYTES_A_LATTICE_CELL: f64 = 6000.0;
const BYTES_A_DOMAIN_CELL: f64 = 100.0;
const ABOVE: f64 = 1.1;
/// Cells beyond the domain that tiles may reach on both sides together.
const MARGIN: f64 = 6.0;
/// Bytes of the surface file a liquid cell.
const DISK_BYTES_A_CELL: f64 = 60.0;
/// Pa·s from which on viscosity is solved for.
const THICK: f64 = 1e-2;

pub(super) fn estimate(scene: &Scene) -> Estimate {
    let cell = scene.cell();
    let sides =
        scene.domain.as_ref().map(|d| [0, 1, 2].map(|a| ((d.max[a] - d.min[a]) / cell).ceil().max(1.0)));
    let domain = sides.map_or(f64::INFINITY, |n| n.iter().product());
    let liquid = liquid_cells(scene, cell).min(domain);
    let particles = liquid * scene.simulator.particles_per_cell as f64;
    let bytes = match scene.simulator.kind {
        SimulatorType::Bcc if domain.is_finite() => {
            BYTES_A_LATTICE_CELL * liquid + BYTES_A_DOMAIN_CELL * domain
        }
        SimulatorType::Bcc => BYTES_A_LATTICE_CELL * liquid,
        SimulatorType::Mac => {
            let thick = scene.liquids.iter().any(|l| l.viscosity().values().any(|v| v >= THICK));
            let matrix = if thick { BYTES_A_THICK_CELL * liquid } else { 0.0 };
            BYTES_A_TILE_CELL * tile_cells(liquid, sides) + BYTES_A_PARTICLE * particles + matrix
        }
    };
    Estimate {
        domain_cells: if domain.is_finite() { domain as u64 } else { 0 },
        liquid_cells: liquid as u64,
        particles: particles as u64,
        memory_bytes: (ABOVE * (BASE + bytes)) as u64,
        disk_bytes_per_frame: (liquid * DISK_BYTES_A_CELL) as u64,
    }
}

/// Cells of liquid once everything is poured.
fn liquid_cells(scene: &Scene, cell: f64) -> f64 {
    let box_cells = |b: Option<Aabb>| b.map_or(0.0, |b| (b.size() / cell).iter().product::<f64>().abs());
    let frame = scene.frames[0] as f64;
    let initial: f64 = scene.initial.iter().map(|v| box_cells(v.transform.bounds(&v.shape, frame))).sum();
    let seconds = scene.seconds(scene.frames[1] as f64);
    let poured: f64 = scene
        .emitters
        .iter()
        .map(|e| {
            let by_rate = e.rate_ml_s.as_ref().map(|r| r.values().fold(0.0, f64::max) * seconds);
            let ml = e.total_ml.or(by_rate).unwrap_or(0.0);
            ml * 1e-6 / cell.powi(3) + box_cells(e.transform.bounds(&e.shape, frame))
        })
        .sum();
    initial + poured
}

/// Cells of the tiles that this much liquid may come to lie in.
fn tile_cells(liquid: f64, sides: Option<[f64; 3]>) -> f64 {
    let side = SIDE as f64;
    let spread = 6.0 * liquid + 160.0 * liquid.cbrt().powi(2);
    let all = sides.map_or(f64::INFINITY, |n| {
        // A slab of one cell has tiles of one cell.
        let cells = |n: f64| if n <= 1.0 { 1.0 } else { ((n + MARGIN) / side).ceil() * side };
        n.iter().map(|n| cells(*n)).product()
    });
    spread.min(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_never_exceed_the_domain_nor_what_liquid_can_reach() {
        assert_eq!(tile_cells(24000.0, Some([60.0, 40.0, 20.0])), 72.0 * 48.0 * 32.0);
        let drop = tile_cells(1000.0, None);
        assert!((drop - 22000.0).abs() < 1.0, "{drop}");
    }

    #[test]
    fn absurd_sizes_are_counted_and_not_held() {
        let text = r#"{"meniscus": 1, "resolution": {"cell": 1e-6}, "domain": {"min": [0, 0, 0], "max": [9, 9, 9]},
            "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [9, 9, 9]}}}]}"#;
        if let Ok(scene) = Scene::from_json(text) {
            assert!(estimate(&scene.to_si()).memory_bytes > 1 << 50);
        }
    }
}
