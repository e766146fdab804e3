//! Where walls let go of liquid.

use crate::field::Solids;
use crate::mesh::bcc::FINEST;
use crate::solver::bcc::{Cut, Embedded};
use rayon::prelude::*;

/// The liquid cells that a peeling wall closes in part, or in which a peeling side of the domain lies: their pressure
/// does not fall below that of the air. None if no wall peels.
pub(super) fn peeling(cut: &Cut, embedded: &Embedded, solids: &Solids, reach: f64) -> Option<Vec<bool>> {
    if !solids.walls().any(|w| w.peel) {
        return None;
    }
    let lattice = cut.lattice;
    let domain = lattice.octree().domain();
    let last = domain.roots.map(|n| n as i32 * (FINEST << domain.depth));
    let peels = |&cell: &u32| {
        let at = lattice.circumcentres[cell as usize];
        let on_side = (0..3).any(|a| at[a] == 0 || at[a] == last[a]);
        let closed = || lattice.faces_of(cell as usize).iter().any(|&f| cut.open[f as usize] < 1.0);
        (on_side || closed()) && solids.wall(&lattice.circumcentre(cell), reach).peel
    };
    Some(embedded.cells.par_iter().map(peels).collect())
}
