//! The operator without a matrix: from velocity to stress, from stress to force.
//!
//! A first pass over the tiles turns differences of velocity into weighted stresses at centres and edges, a
//! second one takes their differences at the faces: A u = m u + Bᵀ W B u. It reads sixty bytes a cell where
//! the rows read three times as much, needs no numbers of unknowns, and is the second way by which the
//! matrix is checked (`the_matrix_is_mass_and_stress`).

use super::near::Near;
use super::shares::step;
use super::weights::{UNKNOWN, Weights, others};
use crate::solver::mac::grid::each_cell;
use rayon::prelude::*;

/// Stresses of a cell: three normal ones, and for the edge along each axis what pulls at either component.
#[derive(Clone, Copy, Debug, Default)]
struct Stress {
    centre: [f64; 3],
    edge: [[f64; 2]; 3],
}

/// A u on fields of the tiles. What is not unknown is taken as zero, and given zero.
pub(super) fn apply(w: &Weights, u: &[Vec<f64>; 3]) -> [Vec<f64>; 3] {
    let (tiles, v) = (&w.tiles, w.tiles.volume());
    let edges = if tiles.is_flat() { 2..3 } else { 0..3 };
    let moving: Vec<[f64; 3]> = (0..tiles.cells())
        .into_par_iter()
        .map(|p| std::array::from_fn(|a| if w.state[p][a] == UNKNOWN { u[a][p] } else { 0.0 }))
        .collect();
    let mut stress = tiles.field(Stress::default());
    stress.par_chunks_mut(v).enumerate().for_each_init(Near::<[f64; 3]>::default, |u, (t, out)| {
        u.load(tiles, &moving, t);
        each_cell(tiles.depth(), |l, cell| {
            let weight = w.weight(t * v + l);
            let strain: [f64; 3] = std::array::from_fn(|a| match a < tiles.axes() {
                true => u.get(step(cell, a, 1))[a] - u.get(cell)[a],
                false => 0.0,
            });
            for a in 0..tiles.axes() {
                let beside = |c: usize| weight.cross[c] as f64 * strain[3 - a - c];
                out[l].centre[a] = 2.0 * weight.centre[a] as f64 * strain[a]
                    + others(a).into_iter().map(beside).sum::<f64>();
            }
            for c in edges.clone() {
                let [a, b] = others(c);
                let [uu, uv, vv] = weight.edge[c].map(f64::from);
                let along_b = u.get(cell)[a] - u.get(step(cell, b, -1))[a];
                let along_a = u.get(cell)[b] - u.get(step(cell, a, -1))[b];
                out[l].edge[c] = [uu * along_b + uv * along_a, uv * along_b + vv * along_a];
            }
        });
    });
    let mut force = tiles.field([0.0; 3]);
    force.par_chunks_mut(v).enumerate().for_each_init(Near::<Stress>::default, |s, (t, out)| {
        s.load(tiles, &stress, t);
        each_cell(tiles.depth(), |l, cell| {
            for a in (0..tiles.axes()).filter(|a| w.state[t * v + l][*a] == UNKNOWN) {
                let mut sum = w.weight(t * v + l).mass[a] as f64 * moving[t * v + l][a];
                sum += s.get(step(cell, a, -1)).centre[a] - s.get(cell).centre[a];
                for b in (0..tiles.axes()).filter(|b| *b != a) {
                    let c = 3 - a - b;
                    let side = (others(c)[0] != a) as usize;
                    sum += s.get(cell).edge[c][side] - s.get(step(cell, b, 1)).edge[c][side];
                }
                out[l][a] = sum;
            }
        });
    });
    std::array::from_fn(|a| force.par_iter().map(|f| f[a]).collect())
}
