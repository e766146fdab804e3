//! Where numbers went wrong in a state that is being made, for the message of the error.

use super::State;

/// The first particle or face without a finite number, with its cell; None if all are finite.
pub fn first(state: &State) -> Option<String> {
    let (tiles, particles) = (&state.grid.tiles, &state.particles);
    let finite = |v: &crate::math::Vec3| v.iter().all(|c| c.is_finite());
    let all = particles.position.iter().zip(&particles.velocity).enumerate();
    if let Some((p, (x, v))) = all.into_iter().find(|(_, (x, v))| !finite(x) || !finite(v)) {
        let id = particles.id.get(p).copied().unwrap_or_default();
        return Some(match finite(x) {
            true => format!("particle {id} in cell {:?} has velocity {:?}", tiles.cell_at(x), v.as_slice()),
            false => format!("particle {id} is at {:?}", x.as_slice()),
        });
    }
    for (axis, u) in state.grid.velocity.iter().enumerate().take(tiles.axes()) {
        if let Some(place) = u.iter().position(|u| !u.is_finite()) {
            let name = ["x", "y", "z"][axis];
            return Some(format!(
                "the velocity along {name} of cell {:?} is {}",
                tiles.cell(place),
                u[place]
            ));
        }
    }
    None
}
