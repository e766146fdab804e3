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
//! cells share slot 0, which stays in the cache: in the inside of a liquid no coefficient is read.

use super::boxes::{CoarseBox, SHARE, Share};
use super::rows::{LANES, ROW_COUPLINGS, Ring, Shape, is_odd};
use crate::grid::{NONE, SIDE};
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
    /// Where the coefficients of each tile are.
    pub(super) slot: Vec<u32>,
    /// The tile of the next level that holds each tile, and which eighth of it.
    pub(super) parent: Vec<(u32, u8)>,
    /// The tiles of the level above that each tile holds.
    pub(super) children: Vec<[u32; 8]>,
    /// For each colour and slot, the six couplings of each row.
    pub(super) coupling: [Vec<f32>; 2],
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
    pub(super) fn resize(&mut self, slots: usize) {
        let (tiles, half) = (self.tiles(), self.shape.half());
        for colour in [RED, BLACK] {
            self.coupling[colour].resize(6 * half * slots, 0.0);
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
        let fields = floats(&self.coupling) + floats(&self.inverse) + floats(&self.b) + floats(&self.x);
        4 * (fields + self.weight.capacity() + self.share.capacity()) + 68 * self.tiles()
    }

    /// Smooth from zero: the black values from the red ones.
    pub(super) fn smooth_first(&mut self) {
        self.relax(BLACK);
    }

    /// Smooth in the order black, red, starting from the red values.
    pub(super) fn smooth_last(&mut self) {
        self.relax(BLACK);
        self.relax(RED);
    }

    /// One colour from the other: x = (b + C·other)/d.
    fn relax(&mut self, colour: usize) {
        let Self { shape, beside, slot, coupling, inverse, b, x, .. } = self;
        let (shape, half, b) = (*shape, shape.half(), &b[colour]);
        let (coupling, inverse) = (&coupling[colour], &inverse[colour]);
        let [red, black] = x;
        let (out, other) = if colour == RED { (red, &*black) } else { (black, &*red) };
        out.par_chunks_mut(half).enumerate().with_min_len(TASK).for_each_init(
            Ring::default,
            |ring, (t, out)| {
                ring.load(shape, t, &beside[t], other);
                let s = slot[t] as usize;
                let b = b[half * t..half * (t + 1)].chunks_exact(LANES);
                let inverse = inverse[half * s..half * (s + 1)].chunks_exact(LANES);
                let coupling = coupling[6 * half * s..6 * half * (s + 1)].chunks_exact(ROW_COUPLINGS);
                let rows = out.chunks_exact_mut(LANES).zip(b).zip(inverse.zip(coupling)).enumerate();
                for (row, ((out, b), (inverse, coupling))) in rows {
                    let (y, z) = (row % SIDE, row / SIDE);
                    let pull = ring.pull(is_odd(colour, y, z), y, z, coupling);
                    for i in 0..LANES {
                        out[i] = (b[i] + pull[i]) * inverse[i];
                    }
                }
            },
        );
    }

    /// Restrict the residual after [`Level::smooth_first`] to the right-hand side of the next level.
    pub(super) fn restrict(&mut self, coarse: &mut Level) {
        let Self { shape, beside, slot, coupling, weight, x, share, .. } = self;
        let (shape, half, black) = (*shape, shape.half(), &x[BLACK]);
        let one = |ring: &mut Ring<f32>, (t, out): (usize, &mut [f32])| {
            ring.load(shape, t, &beside[t], black);
            let s = slot[t] as usize;
            let coupling = coupling[RED][6 * half * s..6 * half * (s + 1)].chunks_exact(ROW_COUPLINGS);
            let weight = weight[4 * half * s..4 * half * (s + 1)].chunks_exact(4 * LANES);
            let mut share = Share::default();
            for (row, (coupling, weight)) in coupling.zip(weight).enumerate() {
                let (y, z) = (row % SIDE, row / SIDE);
                let odd = is_odd(RED, y, z);
                let r = ring.pull(odd, y, z, coupling);
                share.add(y, z, odd, &r, weight);
            }
            share.store(out);
        };
        share.par_chunks_mut(SHARE).enumerate().with_min_len(TASK).for_each_init(Ring::default, one);
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
            let s = slot[t] as usize;
            let weight = weight[4 * half * s..4 * half * (s + 1)].chunks_exact(4 * LANES);
            for (row, (red, weight)) in red.chunks_exact_mut(LANES).zip(weight).enumerate() {
                let (y, z) = (row % SIDE, row / SIDE);
                let e = near.interpolate(y, z, is_odd(RED, y, z), weight);
                for i in 0..LANES {
                    red[i] += e[i];
                }
            }
        };
        x[RED].par_chunks_mut(half).enumerate().with_min_len(TASK).for_each_init(CoarseBox::default, one);
    }
}
