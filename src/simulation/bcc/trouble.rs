//! Where numbers went wrong in a state that is being made, for the message of the error.

use super::State;
use crate::math::Vec3;

/// The first number that is not finite, with its cell; None if all are finite.
pub(super) fn first(state: &State) -> Option<String> {
    let place = |x: &Vec3| format!("at ({:.4}, {:.4}, {:.4}) m", x.x, x.y, x.z);
    let bad = |values: &[f64]| values.iter().position(|v| !v.is_finite());
    let set = &state.surface.set;
    if let Some(at) = bad(&set.phi).filter(|at| *at < set.tiles.cells()) {
        let cell = set.tiles.cell(at);
        let x = place(&set.tiles.centre(cell));
        return Some(format!("the distance of the surface is {} in cell {cell:?} {x}", set.phi[at]));
    }
    let lattice = &state.mesh.as_ref()?.lattice;
    let told = |what: &str, value: f64, cell: u32| {
        format!("{what} is {value} in cell {cell} {}", place(&lattice.circumcentre(cell)))
    };
    if let Some(face) = bad(&state.velocity) {
        return Some(told("the velocity of a face", state.velocity[face], lattice.faces.cells.get(face)?[0]));
    }
    if let Some(cell) = state.values.at_cells.iter().position(|v| v.iter().any(|c| !c.is_finite())) {
        return Some(told("the velocity", state.values.at_cells[cell].sum(), cell as u32));
    }
    bad(&state.pressure).map(|cell| told("the pressure", state.pressure[cell], cell as u32))
}
