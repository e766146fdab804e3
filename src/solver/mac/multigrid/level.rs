//! One level: its matrix by colours, the way to the next level, and the passes of a cycle.
//!
//! Smoothing from zero in the order red, black, with d the diagonal:
//!
//! ```text
//!     x_r = b_r/d            x_b = (b_b + C x_r)/d            residual: r_b = 0, r_r = C x_b
//! ```
//!
//! and after the coarse correction in the order black, red, which makes the cycle symmetric. The red
//! values b/d are written together with b. The correction is needed on red cells only, since the
//! black ones are computed from them at once. Prolongation takes four numbers a red
//! cell: the share of its own aggregate and those of the three aggregates it touches,
//!
//! ```text
//!     x_i += w₀ X_parent + w₁ X_beside along x + w₂ X_beside along y + w₃ X_beside along z
//! ```
//!
//! and restriction is its transpose. Far from boundaries all four are ¼: linear interpolation.
//!
//! Coefficients are stored by slots. All tiles whose couplings are whole and that touch nothing but such
//! cells share slot 0, which stays in the cache: in the inside of a liquid no coefficient is read. Fields are zero in
//! cells that are no unknowns, so that air needs no couplings of its own either: tiles at the surface have their own
//! diagonals and weights, and only where walls close faces in part are couplings stored ([`Faces`]).

use super::boxes::{CoarseBox, SHARE, Share};
use super::rows::{Faces, Near, Row, Shape, is_odd};
use crate::grid::{NONE, SIDE};
use crate::math::Four;
use rayon::prelude::*;

/// Tiles that one task takes at least.
pub(super) const TASK: usize = 16;
pub(super) const RED: usize = 0;
pub(super) const BLACK: usize = 1;

/// The matrix and the vectors of one level.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) shape: Shape,
    /// The tiles at the six faces of each tile.
    pub(super) beside: Vec<[u32; 6]>,
    /// Where the diagonals and weights of each tile are.
    pub(super) slot: Vec<u32>,
    pub(super) faces: Faces,
    /// The tile of the next level that holds each tile, and which eighth of it.
    pub(super) parent: Vec<(u32, u8)>,
    /// The tiles of the level above that each tile holds.
    pub(super) children: Vec<[u32; 8]>,
    /// For each colour and slot, 1/diagonal; zero where there is no unknown.
    pub(super) inverse: [Vec<f32>; 2],
    /// Prolongation to the four red cells of each row of a slot: w₀, w₁, w₂, w₃.
    pub(super) weight: Vec<f32>,
    pub(super) b: [Vec<f32>; 2],
    pub(super) x: [Vec<f32>; 2],
    /// What each tile restricts.
    share: Vec<f32>,
}

impl Level {
    pub(super) fn tiles(&self) -> usize {
        self.beside.len()
    }

    /// Give the fields the length of the tiles and slots; what they hold stays until it is overwritten.
    pub(super) fn resize(&mut self, slots: usize, walls: usize) {
        let (tiles, half) = (self.tiles(), self.shape.half());
        for colour in [RED, BLACK] {
            self.faces.coupling[colour].resize(6 * half * walls, 0.0);
            self.inverse[colour].resize(half * slots, 0.0);
            self.b[colour].resize(half * tiles, 0.0);
            self.x[colour].resize(half * tiles, 0.0);
        }
        self.weight.resize(4 * half * slots, 0.0);
        self.share.resize(SHARE * tiles, 0.0);
    }

    /// Bytes of all fields.
    pub(super) fn bytes(&self) -> usize {
        let floats = |f: &[Vec<f32>; 2]| f[0].capacity() + f[1].capacity();
        let fields = floats(&self.faces.coupling) + floats(&self.inverse) + floats(&self.b) + floats(&self.x);
        4 * (fields + self.weight.capacity() + self.share.capacity()) + 72 * self.tiles()
    }

    /// Smooth from zero: the black values from the red ones.
    pub(super) fn smooth_first(&mut self) {
        self.relax(BLACK, |_, _, _| ());
    }

    /// Smooth in the order black, red, starting from the red values.
    pub(super) fn smooth_last(&mut self) {
        self.relax(BLACK, |_, _, _| ());
        self.relax(RED, |_, _, _| ());
    }

    /// One colour from the other: x = (b + C·other)/d. Returns what `seen(tile, x, b)` makes of each tile.
    pub(super) fn relax<S: Send>(
        &mut self,
        colour: usize,
        seen: impl Fn(usize, &[f32], &[f32]) -> S + Sync,
    ) -> Vec<S> {
        let Self { shape, beside, slot, faces, inverse, b, x, .. } = self;
        let (shape, half, b, inverse) = (*shape, shape.half(), &b[colour], &inverse[colour]);
        let [red, black] = x;
        let (out, other) = if colour == RED { (red, &*black) } else { (black, &*red) };
        let tile = |(t, out): (usize, &mut [f32])| {
            let (rows, b_rows) = (out.as_chunks_mut().0, shape.of(b, t));
            let inverse = shape.of(inverse, slot[t] as usize);
            let near = Near::new(shape, t, &beside[t], other);
            near.each_pull(colour, faces.of(shape, colour, t), |row, pull: Four| {
                rows[row] = Four::new(b_rows[row]).plus(pull).by(Four::new(inverse[row])).get();
            });
            seen(t, out, b_rows.as_flattened())
        };
        out.par_chunks_mut(half).enumerate().with_min_len(TASK).map(tile).collect()
    }

    /// Restrict the residual after [`Level::smooth_first`] to the right-hand side of the next level.
    pub(super) fn restrict(&mut self, coarse: &mut Level) {
        let Self { shape, beside, slot, faces, weight, x, share, .. } = self;
        let (shape, black) = (*shape, &x[BLACK]);
        let one = |(t, out): (usize, &mut [f32])| {
            let near = Near::new(shape, t, &beside[t], black);
            let weight = weights_of(shape, weight, slot[t]);
            let mut share = Share::default();
            near.each_pull(RED, faces.of(shape, RED, t), |row, r: Four| {
                let (y, z) = (row % SIDE, row / SIDE);
                share.add(y, z, is_odd(RED, y, z), r, &weight[row]);
            });
            share.store(out);
        };
        share.par_chunks_mut(SHARE).enumerate().with_min_len(TASK).for_each(one);
        coarse.collect(share, beside);
    }

    /// Put together what the tiles of the level above restrict: b, and the red values b/d.
    fn collect(&mut self, share: &[f32], beside_above: &[[u32; 6]]) {
        let Self { shape, slot, children, inverse, b: [red, black], x, .. } = self;
        let (shape, half, inverse) = (*shape, shape.half(), &inverse[RED]);
        let chunks = (red.par_chunks_mut(half), black.par_chunks_mut(half), x[RED].par_chunks_mut(half));
        chunks.into_par_iter().enumerate().with_min_len(TASK).for_each(|(t, (red, black, x))| {
            red.fill(0.0);
            black.fill(0.0);
            for (eighth, &child) in children[t].iter().enumerate().filter(|c| *c.1 != NONE) {
                let child = child as usize;
                Share::gather(shape, share, child, &beside_above[child], eighth, [red, black]);
            }
            let inverse = &inverse[half * slot[t] as usize..];
            x.iter_mut().zip(&*red).zip(inverse).for_each(|((x, b), inverse)| *x = b * inverse);
        });
    }

    /// Add the correction of the next level to the red values.
    pub(super) fn prolong(&mut self, coarse: &Level) {
        let Self { shape, slot, parent, weight, x, .. } = self;
        let (shape, half) = (*shape, shape.half());
        let one = |near: &mut CoarseBox, (t, red): (usize, &mut [f32])| {
            let (tile, eighth) = parent[t];
            near.load(shape, tile as usize, &coarse.beside[tile as usize], eighth as usize, &coarse.x);
            let weight = weights_of(shape, weight, slot[t]);
            for (row, (red, weight)) in red.as_chunks_mut().0.iter_mut().zip(weight).enumerate() {
                let (y, z) = (row % SIDE, row / SIDE);
                *red = Four::new(*red).plus(near.interpolate(y, z, is_odd(RED, y, z), weight)).get();
            }
        };
        x[RED].par_chunks_mut(half).enumerate().with_min_len(TASK).for_each_init(CoarseBox::default, one);
    }
}

/// The four weights of each row of a slot.
#[inline(always)]
fn weights_of(shape: Shape, weight: &[f32], slot: u32) -> &[[Row<f32>; 4]] {
    let size = 4 * shape.half();
    weight[size * slot as usize..size * (slot as usize + 1)].as_chunks().0.as_chunks().0
}
