//! One level: its matrix by colours, the way to the next level, and the passes of a cycle.
//!
//! Smoothing from zero in the order red, black, with d the diagonal:
//!
//! ```text
//!     x_r = b_r/d            x_b = (b_b + C x_r)/d            residual: r_b = 0, r_r = C x_b
//! ```
//!
//! and after the coarse correction in the order black, red, which makes the cycle symmetric. The red
//! values before the correction are b/d and are never stored; the correction is needed on red cells
//! only, since the black ones are computed from them at once. Prolongation takes four numbers a red
//! cell: the share of its own aggregate and those of the three aggregates it touches,
//!
//! ```text
//!     x_i += w₀ X_parent + w₁ X_beside along x + w₂ X_beside along y + w₃ X_beside along z
//! ```
//!
//! and restriction is its transpose. Far from boundaries all four are ¼: linear interpolation.

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
    /// The tile of the next level that holds each tile, and which eighth of it.
    pub(super) parent: Vec<(u32, u8)>,
    /// The tiles of the level above that each tile holds.
    pub(super) children: Vec<[u32; 8]>,
    /// For each colour, the six couplings of each row.
    pub(super) coupling: [Vec<f32>; 2],
    /// For each colour, 1/diagonal; zero where there is no unknown.
    pub(super) inverse: [Vec<f32>; 2],
    /// Prolongation to the four red cells of each row: w₀, w₁, w₂, w₃.
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

    /// Give the fields the length of the tiles; what they hold stays until it is overwritten.
    pub(super) fn resize(&mut self) {
        let (tiles, half) = (self.tiles(), self.shape.half());
        for colour in [RED, BLACK] {
            self.coupling[colour].resize(6 * half * tiles, 0.0);
            self.inverse[colour].resize(half * tiles, 0.0);
            self.b[colour].resize(half * tiles, 0.0);
            self.x[colour].resize(half * tiles, 0.0);
        }
        self.weight.resize(4 * half * tiles, 0.0);
        self.share.resize(SHARE * tiles, 0.0);
    }

    /// Bytes of all fields.
    pub(super) fn bytes(&self) -> usize {
        let floats = |f: &[Vec<f32>; 2]| f[0].capacity() + f[1].capacity();
        let fields = floats(&self.coupling) + floats(&self.inverse) + floats(&self.b) + floats(&self.x);
        4 * (fields + self.weight.capacity() + self.share.capacity()) + 64 * self.tiles()
    }

    /// Smooth from zero: the black values; the red ones are b/d.
    pub(super) fn smooth_first(&mut self) {
        let Self { shape, beside, coupling, inverse, b, x, .. } = self;
        let [_, black] = x;
        let red = |i: usize| b[RED][i] * inverse[RED][i];
        relax(*shape, beside, BLACK, &coupling[BLACK], &inverse[BLACK], &b[BLACK], red, black);
    }

    /// Smooth in the order black, red, starting from the red values.
    pub(super) fn smooth_last(&mut self) {
        let Self { shape, beside, coupling, inverse, b, x, .. } = self;
        let [red, black] = x;
        relax(*shape, beside, BLACK, &coupling[BLACK], &inverse[BLACK], &b[BLACK], |i| red[i], black);
        relax(*shape, beside, RED, &coupling[RED], &inverse[RED], &b[RED], |i| black[i], red);
    }

    /// Restrict the residual after [`Level::smooth_first`] to the right-hand side of the next level.
    pub(super) fn restrict(&mut self, coarse: &mut Level) {
        let Self { shape, beside, coupling, weight, x, share, .. } = self;
        let (shape, half, black) = (*shape, shape.half(), &x[BLACK]);
        share.par_chunks_mut(SHARE).enumerate().with_min_len(TASK).for_each_init(
            Ring::default,
            |ring, (t, out)| {
                ring.load(shape, t, &beside[t], |i| black[i]);
                let (coupling, weight) = (&coupling[RED][6 * half * t..], &weight[4 * half * t..]);
                let mut share = Share::default();
                for z in 0..shape.depth {
                    for y in 0..SIDE {
                        let (row, odd) = (z * SIDE + y, is_odd(RED, y, z));
                        let r: [f32; LANES] = ring.pull(odd, y, z, &coupling[ROW_COUPLINGS * row..]);
                        share.add(y, z, odd, &r, &weight[4 * LANES * row..]);
                    }
                }
                share.store(out);
            },
        );
        let [red, black] = &mut coarse.b;
        let children = &coarse.children;
        let chunks = red.par_chunks_mut(half).zip(black.par_chunks_mut(half)).enumerate();
        chunks.with_min_len(TASK).for_each(|(t, (red, black))| {
            red.fill(0.0);
            black.fill(0.0);
            for (eighth, &child) in children[t].iter().enumerate().filter(|c| *c.1 != NONE) {
                Share::gather(shape, share, child as usize, &beside[child as usize], eighth, [red, black]);
            }
        });
    }

    /// The red values: b/d and the correction of the next level.
    pub(super) fn prolong(&mut self, coarse: &Level) {
        let Self { shape, parent, weight, inverse, b, x, .. } = self;
        let (shape, half) = (*shape, shape.half());
        let (b, inverse) = (&b[RED], &inverse[RED]);
        x[RED].par_chunks_mut(half).enumerate().with_min_len(TASK).for_each_init(
            CoarseBox::default,
            |near, (t, red)| {
                let (tile, eighth) = parent[t];
                near.load(shape, tile as usize, &coarse.beside[tile as usize], eighth as usize, &coarse.x);
                let (b, inverse) = (&b[half * t..], &inverse[half * t..]);
                for z in 0..shape.depth {
                    for y in 0..SIDE {
                        let row = z * SIDE + y;
                        let w = &weight[4 * (half * t + LANES * row)..];
                        let e = near.interpolate(y, z, is_odd(RED, y, z), w);
                        for (i, e) in e.into_iter().enumerate() {
                            let at = LANES * row + i;
                            red[at] = b[at] * inverse[at] + e;
                        }
                    }
                }
            },
        );
    }
}

/// One colour from the other: out = (b + C·other)/d.
#[allow(clippy::too_many_arguments)]
fn relax(
    shape: Shape,
    beside: &[[u32; 6]],
    colour: usize,
    coupling: &[f32],
    inverse: &[f32],
    b: &[f32],
    other: impl Fn(usize) -> f32 + Sync,
    out: &mut [f32],
) {
    let half = shape.half();
    out.par_chunks_mut(half).enumerate().with_min_len(TASK).for_each_init(Ring::default, |ring, (t, out)| {
        ring.load(shape, t, &beside[t], &other);
        let span = half * t..half * (t + 1);
        let (coupling, inverse, b) = (&coupling[6 * half * t..], &inverse[span.clone()], &b[span]);
        for z in 0..shape.depth {
            for y in 0..SIDE {
                let row = z * SIDE + y;
                let pull: [f32; LANES] =
                    ring.pull(is_odd(colour, y, z), y, z, &coupling[ROW_COUPLINGS * row..]);
                for (i, pull) in pull.into_iter().enumerate() {
                    let at = LANES * row + i;
                    out[at] = (b[at] + pull) * inverse[at];
                }
            }
        }
    });
}
