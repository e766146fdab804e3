//! What every face, centre and edge weighs in the energy of a viscous step, and which faces are unknown.
//!
//! With V the share of the box round a place that is liquid, β = Δt/(ρh²), and Δ the difference of the two
//! velocities beside a place,
//!
//! ```text
//!     mass    m = V                  of a face
//!     centre  c = βμ V/θ             of each of the three normal strains (Δu)²
//!     edge    e = βμ V               of a shear strain: e_uu (Δu)² + 2 e_uv Δu Δv + e_vv (Δv)²
//! ```
//!
//! The viscosity of an edge is the harmonic mean of the four cells that meet there, weighed by their
//! liquid: shear stress is continuous from one layer of liquid to the next, so the layers resist one after
//! the other. An arithmetic mean would let thick liquid hold on to half a cell of thin liquid beside it.
//!
//! **Walls.** The velocity of a face whose centre is in a solid is given. The wall lies between such a face
//! and the unknown beside it at the share θ of the way, and it is there that the liquid has the wall's
//! velocity w: Δu = w − u over θh, as the ghost fluid of [GFCK02] does for pressure. To divide every Δ by its θ would spoil
//! the symmetry, as a shear has two of them and a row that is not cut must see it whole. But
//!
//! ```text
//!     2|ε|² = |∇u|² + (div u)² + 2 Σ_{a<b} (∂_b u_a ∂_a u_b − ∂_a u_a ∂_b u_b)
//! ```
//!
//! and on this grid the last sum, of edges and of centres, cancels in every row as long as μ is the same: it needs no
//! θ. The first is a sum over single differences, each over its own θ, and of the second only that it vanishes in
//! the flow counts, so any weight will do. With uncut products, θ the least of a cell, and all times βμV,
//!
//! ```text
//!     edge    (Δu)²/θ_u + (Δv)²/θ_v + 2 Δu Δv
//!     centre  Σ_a Δ_a²/θ_a − 2 Σ_{a<b} Δ_a Δ_b + θ (Σ_a Δ_a/θ_a)²
//! ```
//!
//! Both are never negative, whatever μ and V are, and with θ = 1 they are the strains above. In a cell with both faces
//! along an axis in the wall, which knows no strain there, the last square is left out. Tested: circular Couette
//! flow and flow in a turned channel converge with second order in the mean.
//!
//! On a wall along which liquid slides only faces that look along its normal are given; the others are
//! left free, and since the volume of the solid is not counted nothing holds them.

use super::Held;
use super::near::Near;
use super::shares::{Finer, Shares, of_face, step};
use super::states::{face_distances, grid_states, near_liquid};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::Solids;
use crate::grid::Tiles;
use crate::solver::mac::grid::{MacGrid, REACH_CELLS, each_cell};
use rayon::prelude::*;
use std::sync::Arc;

/// A face without liquid, or none at all.
pub(super) const ABSENT: u8 = 0;
/// A face whose velocity is wanted.
pub(super) const UNKNOWN: u8 = 1;
/// A face that moves with a wall.
pub(super) const STUCK: u8 = 2;
/// A face whose velocity into the wall is given.
pub(super) const HELD: u8 = 3;

/// Less liquid than this share of a cell weighs nothing.
pub(super) const LEAST_SHARE: f32 = 1e-5;
/// θ is at least this: a wall may seem a twentieth of a cell further away than it is.
const LEAST_THETA: f32 = 0.05;
/// The weights that a cell owns: of its lower faces, its centre, and the edges at its lower corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Weight {
    pub(super) mass: [f32; 3],
    pub(super) centre: [f32; 3],
    /// For the pair of axes other than each, twice the weight of the product of their normal strains.
    pub(super) cross: [f32; 3],
    /// βμ times the share if a wall cuts a strain of the cell, else zero.
    pub(super) cut: f32,
    /// For the edge along each axis, uu, uv and vv; u is the lower one of the two other axes.
    pub(super) edge: [[f32; 3]; 3],
}

pub(super) const NOTHING: Weight =
    Weight { mass: [0.0; 3], centre: [0.0; 3], cross: [0.0; 3], cut: 0.0, edge: [[0.0; 3]; 3] };

/// The weights of one level. Copies share all but what presses.
#[derive(Clone, Debug, Default)]
pub(super) struct Weights {
    pub(super) tiles: Tiles,
    /// Those of the cells of each tile; empty where no liquid is near.
    of_tiles: Arc<Vec<Vec<Weight>>>,
    pub(super) state: Arc<Vec<[u8; 3]>>,
    /// Distance of the lower faces to solids, in cells; empty where there are none.
    pub(super) wall: Arc<Vec<[f32; 3]>>,
    pub(super) press: Press,
}

/// What keeps cells from gaining or losing volume: γ (Σ ± α u)² over the faces of a cell. Empty if nothing does.
#[derive(Clone, Debug, Default)]
pub(in crate::solver::mac) struct Press {
    /// γ of each cell.
    pub(in crate::solver::mac) weight: Vec<f32>,
    /// α of the lower faces; zero where the velocity is given.
    pub(in crate::solver::mac) open: Vec<[f32; 3]>,
}

/// The two axes other than c, in order.
#[inline(always)]
pub(super) const fn others(c: usize) -> [usize; 2] {
    [[1, 2], [0, 2], [0, 1]][c]
}

/// Numbers of a level that multiply its weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// Of masses.
    pub(super) mass: f32,
    /// Δt/(ρh²), of βμ.
    pub(super) beta: f64,
    /// Whether each component of velocity is diffused on its own.
    pub(super) draft: bool,
}

/// A pair of faces beside a place: the share of the way to a wall between them, if they make a pair.
#[inline]
pub(super) fn theta(states: [u8; 2], wall: [f32; 2]) -> Option<f32> {
    match states {
        [ABSENT, _] | [_, ABSENT] => None,
        [UNKNOWN, UNKNOWN] => Some(1.0),
        [UNKNOWN, _] => Some(between(wall[0], wall[1])),
        [_, UNKNOWN] => Some(between(wall[1], wall[0])),
        _ => Some(1.0),
    }
}

/// Where on the way from a face outside a solid to one inside the wall lies.
#[inline]
fn between(outside: f32, inside: f32) -> f32 {
    let way = outside - inside;
    // A face that is held has no wall in front of it.
    if way > 0.0 && inside < 0.0 { (outside / way).clamp(LEAST_THETA, 1.0) } else { 1.0 }
}

impl Weights {
    /// The weights of a grid; `coupled` if pressure is found with the velocities.
    pub(super) fn of_grid(
        grid: &MacGrid,
        solids: &Solids,
        shares: &Shares,
        mu: &[f32],
        units: Units,
        (held, coupled): (Option<&Held>, bool),
        cancel: &Cancel,
    ) -> Result<Self> {
        let near = near_liquid(&grid.tiles, shares);
        let wall = face_distances(grid, &near);
        cancel.check()?;
        let mut state = grid_states(grid, solids, shares, &wall, &near, coupled);
        cancel.check()?;
        if let Some(held) = held {
            state.par_iter_mut().enumerate().for_each(|(p, state)| {
                for (axis, state) in state.iter_mut().enumerate() {
                    *state = if held[axis][p] && *state == UNKNOWN { HELD } else { *state };
                }
            });
        }
        Self::fill(grid.tiles.clone(), shares, mu, state, wall, units, cancel)
    }

    /// The weights of a coarser level. The four finer faces in the middle of a coarse one tell how far it is
    /// from the wall, so that the wall stays where it is and the coarse liquid hangs on no more of it than
    /// the fine one does. A face in a solid is given if one of the four is; one that a thin wall crosses as well.
    pub(super) fn coarser(
        &self,
        tiles: Tiles,
        shares: &Shares,
        mu: &[f32],
        units: Units,
        cancel: &Cancel,
    ) -> Result<Self> {
        let middle = |below: &Finer, cell: [isize; 3], axis: usize| {
            let (mut distance, mut count, mut given, mut thin) = (0.0f32, 0.0f32, false, false);
            for n in 0..4 {
                let [b, c] = others(axis);
                let Some(p) = below.place(cell, (n & 1) << b | (n >> 1) << c) else { continue };
                let (stuck, wall) = (self.state[p][axis] >= STUCK, self.wall[p][axis]);
                distance += wall;
                count += 1.0;
                given |= stuck;
                thin |= stuck && wall >= 0.0;
            }
            // Half as many of the wider cells.
            let wall = if count > 0.0 { 0.5 * distance / count } else { REACH_CELLS as f32 };
            (wall, thin || (given && wall < 0.0))
        };
        let (mut state, mut wall) = (tiles.field([ABSENT; 3]), tiles.field([REACH_CELLS as f32; 3]));
        let v = tiles.volume();
        let parts = state.par_chunks_mut(v).zip(wall.par_chunks_mut(v)).enumerate();
        parts.for_each_init(Near::default, |near, (t, (state, wall))| {
            near.load(&tiles, &shares.eighths, t);
            let below = Finer::new(&self.tiles, tiles.coords()[t]);
            each_cell(tiles.depth(), |l, cell| {
                for axis in 0..tiles.axes() {
                    let (distance, given) = middle(&below, cell, axis);
                    wall[l][axis] = distance;
                    state[l][axis] =
                        if given { STUCK } else { (of_face(near, cell, axis) > LEAST_SHARE) as u8 };
                }
            });
        });
        let press = self.coarser_press(&tiles, shares, mu, units);
        Ok(Self { press, ..Self::fill(tiles, shares, mu, state, wall, units, cancel)? })
    }

    /// Weigh all places.
    fn fill(
        tiles: Tiles,
        shares: &Shares,
        mu: &[f32],
        state: Vec<[u8; 3]>,
        wall: Vec<[f32; 3]>,
        units: Units,
        cancel: &Cancel,
    ) -> Result<Self> {
        let v = tiles.volume();
        let of_tile = |places: &mut Places, t: usize| {
            if cancel.is_cancelled() {
                return Vec::new();
            }
            // Without unknowns there is nothing to weigh, except edges and centres of faces in the next tiles.
            places.load(&tiles, shares, mu, &state, &wall, t);
            if !places.any {
                return Vec::new();
            }
            let mut out = vec![Weight::default(); v];
            each_cell(tiles.depth(), |l, cell| {
                for axis in 0..tiles.axes() {
                    if places.state.get(cell)[axis] == UNKNOWN {
                        out[l].mass[axis] = units.mass * of_face(&places.eighths, cell, axis);
                    }
                    out[l].centre[axis] = places.centre(cell, axis, shares.whole[t * v + l], units);
                }
                if !units.draft && !wall.is_empty() {
                    places.cut_centre(cell, shares.whole[t * v + l], tiles.axes(), units, &mut out[l]);
                }
                for axis in if tiles.is_flat() { 2..3 } else { 0..3 } {
                    out[l].edge[axis] = places.edge(cell, axis, units);
                }
            });
            out
        };
        let of_tiles: Vec<_> = (0..tiles.len()).into_par_iter().map_init(Places::default, of_tile).collect();
        cancel.check()?;
        let (of_tiles, state, wall) = (Arc::new(of_tiles), Arc::new(state), Arc::new(wall));
        Ok(Self { tiles, of_tiles, state, wall, press: Press::default() })
    }

    /// What a cell weighs.
    #[inline]
    pub(super) fn weight(&self, place: usize) -> &Weight {
        // A tile has 8³ cells, or 8² on a grid one cell thick.
        let shift = self.tiles.volume().trailing_zeros();
        let tile = &self.of_tiles[place >> shift];
        tile.get(place & ((1 << shift) - 1)).unwrap_or(&NOTHING)
    }

    /// What presses on the cells of a coarser level, whose faces are open as far as the finer ones in them. It does so
    /// where at least half of the cells with liquid are pressed on, by 2βμ.
    fn coarser_press(&self, tiles: &Tiles, shares: &Shares, mu: &[f32], units: Units) -> Press {
        if self.press.weight.is_empty() {
            return Press::default();
        }
        let (v, children) = (tiles.volume(), if tiles.is_flat() { 4 } else { 8 });
        let (mut weight, mut open) = (tiles.field(0.0f32), tiles.field([0.0f32; 3]));
        weight.par_chunks_mut(v).zip(open.par_chunks_mut(v)).enumerate().for_each(|(t, (weight, open))| {
            let below = Finer::new(&self.tiles, tiles.coords()[t]);
            each_cell(tiles.depth(), |l, cell| {
                let place = t * v + l;
                let (mut pressed, mut wet) = (0, 0);
                for n in 0..children {
                    let Some(p) = below.place(cell, n) else { continue };
                    wet += (shares.eighths[place][n] > 0.0) as usize;
                    pressed += (self.press.weight[p] > 0.0) as usize;
                    for (axis, open) in open[l].iter_mut().enumerate().take(tiles.axes()) {
                        if n >> axis & 1 == 0 {
                            *open += self.press.open[p][axis] * 2.0 / children as f32;
                        }
                    }
                }
                if pressed > 0 && 2 * pressed >= wet {
                    weight[l] = (2.0 * units.beta * mu[place] as f64) as f32;
                }
            });
        });
        Press { weight, open }
    }
}

/// How much of a cell is liquid.
#[derive(Clone, Copy, Default, PartialEq)]
enum Filled {
    #[default]
    Nothing,
    Some,
    All,
}

impl Filled {
    fn of(eighths: &[f32; 8]) -> Self {
        match eighths {
            e if e.iter().all(|s| *s <= 0.0) => Filled::Nothing,
            e if e.iter().all(|s| *s == 1.0) => Filled::All,
            _ => Filled::Some,
        }
    }
}

/// What is known round a tile.
#[derive(Default)]
struct Places {
    eighths: Near<[f32; 8]>,
    filled: Near<Filled>,
    mu: Near<f32>,
    state: Near<[u8; 3]>,
    wall: Near<[f32; 3]>,
    any: bool,
}

impl Places {
    fn load(
        &mut self,
        tiles: &Tiles,
        shares: &Shares,
        mu: &[f32],
        state: &[[u8; 3]],
        wall: &[[f32; 3]],
        t: usize,
    ) {
        self.eighths.load(tiles, &shares.eighths, t);
        self.filled.set(&self.eighths, Filled::of);
        self.any = self.filled.any(|f| *f != Filled::Nothing);
        if self.any {
            self.mu.load(tiles, mu, t);
            self.state.load(tiles, state, t);
            if !wall.is_empty() {
                self.wall.load(tiles, wall, t);
            }
        }
    }

    /// θ of the pair of faces along `component` at two cells.
    #[inline]
    fn pair(&self, component: usize, cells: [[isize; 3]; 2]) -> Option<(f32, bool, bool)> {
        let states = cells.map(|c| self.state.get(c)[component]);
        let theta = theta(states, cells.map(|c| self.wall.get(c)[component]))?;
        Some((theta, states[0] >= STUCK, states[1] >= STUCK))
    }

    fn centre(&self, cell: [isize; 3], axis: usize, whole: f32, units: Units) -> f32 {
        // Walls only take liquid away.
        if whole <= LEAST_SHARE {
            return 0.0;
        }
        let Some((theta, low, high)) = self.pair(axis, [cell, step(cell, axis, 1)]) else { return 0.0 };
        if low && high {
            return 0.0;
        }
        // Beside a given face the liquid is thought to go on into the wall.
        let own = self.eighths.get(cell);
        let share = if low || high { whole } else { own.iter().sum::<f32>() / 8.0 };
        if share <= LEAST_SHARE {
            return 0.0;
        }
        let half = if units.draft { 0.5 } else { 1.0 };
        half * (units.beta * self.mu.get(cell) as f64) as f32 * share / theta
    }

    /// The weights of a cell of which a wall that holds the liquid cuts a strain, after the header.
    fn cut_centre(&self, cell: [isize; 3], whole: f32, axes: usize, units: Units, out: &mut Weight) {
        if whole <= LEAST_SHARE {
            return;
        }
        let (mut theta, mut unknown, mut buried) = ([1.0f32; 3], false, false);
        for (axis, theta) in theta.iter_mut().enumerate().take(axes) {
            let cells = [cell, step(cell, axis, 1)];
            let states = cells.map(|c| self.state.get(c)[axis]);
            if states.iter().any(|s| *s == ABSENT || *s == HELD) {
                return;
            }
            unknown |= states.contains(&UNKNOWN);
            buried |= states == [STUCK; 2];
            *theta = self::theta(states, cells.map(|c| self.wall.get(c)[axis])).unwrap_or(1.0);
        }
        let least = theta.iter().fold(1.0f32, |m, t| m.min(*t));
        if !unknown || (least == 1.0 && !buried) {
            return;
        }
        // In a wall there is no strain to be had.
        let least = if buried { 0.0 } else { least };
        let unit = (units.beta * self.mu.get(cell) as f64) as f32 * whole;
        out.cut = unit;
        for (centre, theta) in out.centre.iter_mut().zip(theta).take(axes) {
            *centre = 0.5 * unit * (1.0 + least / theta) / theta;
        }
        for axis in if axes == 2 { 2..3 } else { 0..3 } {
            let [a, b] = others(axis);
            out.cross[axis] = unit * (least / (theta[a] * theta[b]) - 1.0);
        }
    }

    fn edge(&self, cell: [isize; 3], axis: usize, units: Units) -> [f32; 3] {
        let [a, b] = others(axis);
        let (before_a, before_b) = (step(cell, a, -1), step(cell, b, -1));
        let before_both = step(before_a, b, -1);
        let filled = [cell, before_a, before_b, before_both].map(|c| self.filled.get(c));
        if filled == [Filled::Nothing; 4] {
            return [0.0; 3];
        }
        if filled == [Filled::All; 4] && !units.draft {
            let mu = self.mu.get(cell);
            let same = [before_a, before_b, before_both].iter().all(|c| self.mu.get(*c) == mu);
            let state = |c: [isize; 3], axis: usize| self.state.get(c)[axis];
            let states = [state(cell, a), state(before_b, a), state(cell, b), state(before_a, b)];
            if same && states == [UNKNOWN; 4] {
                return [(units.beta * mu as f64) as f32; 3];
            }
        }
        let cells = [(cell, 0, 0), (before_a, 1, 0), (before_b, 0, 1), (before_both, 1, 1)];
        let (mut liquid, mut thinness) = (0.0f32, 0.0f32);
        for (cell, upper_a, upper_b) in cells {
            let eighths = self.eighths.get(cell);
            let ours = |e: &usize| (e >> a & 1) == upper_a && (e >> b & 1) == upper_b;
            let share: f32 = (0..8).filter(ours).map(|e| eighths[e]).sum();
            if share > 0.0 {
                liquid += share;
                // Liquid without viscosity makes the sum infinite and the mean zero.
                thinness += share / self.mu.get(cell);
            }
        }
        if liquid <= 8.0 * LEAST_SHARE || !thinness.is_finite() {
            return [0.0; 3];
        }
        let (Some((theta_a, a0, a1)), Some((theta_b, b0, b1))) =
            (self.pair(a, [cell, before_b]), self.pair(b, [cell, before_a]))
        else {
            return [0.0; 3];
        };
        if a0 && a1 && b0 && b1 {
            return [0.0; 3];
        }
        let e = (units.beta * (liquid / thinness) as f64) as f32 * liquid / 8.0;
        [e / theta_a, if units.draft { 0.0 } else { e }, e / theta_b]
    }
}
