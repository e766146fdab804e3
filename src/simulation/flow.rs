//! Whether pressure and viscosity are found in one solve or one after the other.

use crate::scene::Flow;

/// Whether there is one solve, and why. `plain` treatments of viscosity know only the other way; `auto` takes one where
/// μΔt/ρh², the stiffness, is above `creeps`.
pub(super) fn choose(flow: Flow, plain: bool, stiffness: f64, creeps: f64) -> (bool, String) {
    let together = match flow {
        _ if plain => false,
        Flow::Thick => true,
        Flow::Splashy => false,
        Flow::Auto => stiffness > creeps,
    };
    let solve =
        if together { "pressure and viscosity in one solve" } else { "viscosity between two projections" };
    let why = match flow {
        _ if plain => format!("{solve}, as its treatment has no other way; μΔt/ρh² is {stiffness:.2}"),
        Flow::Auto => format!("auto: {solve}, as μΔt/ρh² is {stiffness:.2}"),
        Flow::Thick => format!("thick: {solve}; μΔt/ρh² is {stiffness:.2}"),
        Flow::Splashy => format!("splashy: {solve}; μΔt/ρh² is {stiffness:.2}"),
    };
    (together, why)
}
