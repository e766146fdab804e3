//! Where the pressure of each cell sits: the common circumcentre of its tets, in closed form.
//!
//! ```text
//!     over a face, beside its unsplit edge e      middle of the face + w/4 towards the middle of e
//!     over a face with cut corners                middle of the face
//!     from a fine leaf to a coarse one            middle of the fine face + w/4 out of the fine leaf
//!     sub-octant at a corner C of a leaf          (centre + C)/2
//! ```
//!
//! w is the width of the leaf that owns the face. The third lies outside its cell, beyond the base of
//! the pyramid, but still before the circumcentre of the cell across.

use super::leaves::{Kind, Leaf, Leaves, TASK, parts};
use rayon::prelude::*;

/// The circumcentres of all cells, in units.
pub(super) fn write(leaves: &Leaves) -> Vec<[i32; 3]> {
    let mut all = vec![[0; 3]; leaves.cells];
    let tasks = leaves.leaves.par_chunks(TASK).zip(parts(&mut all, &leaves.leaves, Leaf::cell_count));
    tasks.for_each(|(task, part)| {
        let mut out = part.iter_mut();
        let mut push = |x: [i32; 3]| out.by_ref().take(1).for_each(|place| *place = x);
        task.iter().for_each(|leaf| write_leaf(leaf, &mut push));
    });
    all
}

fn write_leaf(leaf: &Leaf, push: &mut impl FnMut([i32; 3])) {
    let (centre, w) = (leaf.centre(), leaf.width);
    for face in (0..6).filter(|&f| leaf.owns(f)) {
        let axis = face / 2;
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let outward = 2 * (face as i32 & 1) - 1;
        let mut middle = centre;
        middle[axis] += outward * w / 2;
        let shifted = |axis: usize, by: i32| {
            let mut x = middle;
            x[axis] += by * w / 4;
            x
        };
        if leaf.kind[face] == Kind::Coarse {
            push(shifted(axis, outward));
            continue;
        }
        let ring = leaf.ring(face);
        let beside = [shifted(v, -1), shifted(u, 1), shifted(v, 1), shifted(u, -1)];
        (0..4).filter(|&i| !leaf.ring_edge_is_split(face, i)).for_each(|i| push(beside[i]));
        (ring.cuts != 0).then(|| push(middle));
    }
    for corner in (0..8).filter(|c| leaf.sub_octants >> c & 1 == 1) {
        let at = leaf.corner_at(corner);
        push([0, 1, 2].map(|a| (centre[a] + at[a]) / 2));
    }
}
