//! The field whose zero set is the surface for pictures, on cells half as wide as those of the grid.
//!
//! ```text
//!     ψ(x) = max( min(φ(x), σ(x)), γ(x) )
//! ```
//!
//! φ is the liquid's distance between cell centres, in walls that of their wet side; γ closes the surface inside walls
//! ([`wall_closing`](crate::grid::wall_closing)): each is interpolated by itself, so that the line where liquid meets a
//! wall stays sharp. σ is the skin of particles that have left the level set but not each other, as those of a
//! sheet thinner than a cell: with r_p the radius of a ball of the particle's volume and
//! w_p = (1 − |x − x_p|²/R²)³ within R [ZB05],
//!
//! ```text
//!     σ(x) = |x − Σ w_p x_p / Σ w_p| − Σ w_p r_p / Σ w_p
//! ```
//!
//! One particle alone would be a ball of radius r_p, which even half cells do not resolve: it is drawn as
//! such beside the field. Many in a plane, half a cell apart, make a smooth sheet 2 r_p = 0.62 cells thick.

use super::Mac;
use super::filling::NEAR;
use crate::error::Result;
use crate::grid::{Patch, SIDE, Tiles, wall_closing};
use crate::math::Vec3;
use crate::math::elementary::cbrt;
use crate::surface::continue_from_own_side;
use rayon::prelude::*;

/// How far a particle's skin reaches, in cells of the grid.
const REACH: f64 = 1.0;
/// With this many others within reach a drop belongs to a sheet or a thread.
const COMPANY: usize = 3;
/// Fine cells this many cells of the grid inside need no interpolation.
const DEEP: f64 = 1.75;

/// The field, and the drops that are not part of it.
pub(super) struct Skin {
    pub tiles: Tiles,
    pub psi: Vec<f64>,
    pub lone: Vec<usize>,
}

/// A particle that is part of a sheet.
struct Member {
    position: Vec3,
    radius: f64,
}

/// The fields of the grid round one of its tiles.
#[derive(Default)]
struct Around {
    tile: Option<[i32; 3]>,
    liquid: Patch,
    closing: Patch,
}

impl Mac {
    pub(super) fn skin(&self, overlap: f64) -> Result<Skin> {
        let grid = &self.now.grid;
        let (tiles, band) = (&grid.tiles, self.band());
        let mut liquid = grid.liquid.clone();
        continue_from_own_side(tiles, &mut liquid, &grid.centre, NEAR * tiles.h(), band)?;
        let closing = wall_closing(tiles, &liquid, &grid.centre, overlap);
        if tiles.is_flat() {
            let psi = liquid.par_iter().zip(&closing).map(|(p, c)| p.max(*c)).collect();
            return Ok(Skin { tiles: tiles.clone(), psi, lone: self.drops() });
        }
        let (together, lone): (Vec<usize>, Vec<usize>) = self.drops_in_company();
        let members: Vec<Member> = together.iter().map(|p| self.member(*p)).collect();
        let fine = self.fine_tiles(&liquid, &members);
        let mut psi = fine.field(band);
        let of_tile = members_by_tile(&fine, &members, REACH * tiles.h());
        psi.par_chunks_mut(fine.volume()).enumerate().for_each_init(Around::default, |around, (t, part)| {
            let coord = fine.coords()[t].map(|c| c.div_euclid(2));
            if around.tile != Some(coord) {
                around.liquid.load(tiles, &liquid, coord, 1, band);
                around.closing.load(tiles, &closing, coord, 1, -band);
                around.tile = Some(coord);
            }
            around.interpolate(&fine, t, part, tiles.h(), &members, &of_tile[t]);
        });
        Ok(Skin { tiles: fine, psi, lone })
    }

    fn member(&self, p: usize) -> Member {
        let particles = &self.now.particles;
        let radius = cbrt(0.75 / std::f64::consts::PI * particles.volume[p] as f64);
        Member { position: particles.position[p], radius }
    }

    fn drops(&self) -> Vec<usize> {
        let (_, drops) = self.wet(&self.now);
        (0..drops.len()).filter(|p| drops[*p]).collect()
    }

    /// The drops that have others round them, and those that have not.
    fn drops_in_company(&self) -> (Vec<usize>, Vec<usize>) {
        let (particles, tiles) = (&self.now.particles, &self.now.grid.tiles);
        let (_, drops) = self.wet(&self.now);
        let reach = (REACH * tiles.h()).powi(2);
        let has_company = |p: usize| {
            let (x, cell) = (&particles.position[p], tiles.cell_at(&particles.position[p]));
            let around = (0..27).map(|n| std::array::from_fn(|a| cell[a] + n / [1, 3, 9][a] % 3 - 1));
            let near = around.filter_map(|c| tiles.locate(c)).flat_map(|place| particles.of_cell(place));
            let others =
                near.filter(|q| *q != p && drops[*q] && (particles.position[*q] - x).norm_squared() < reach);
            others.take(COMPANY).count() == COMPANY
        };
        (0..drops.len()).into_par_iter().filter(|p| drops[*p]).partition(|p| has_company(*p))
    }

    /// Tiles of half cells that hold liquid or members.
    fn fine_tiles(&self, liquid: &[f64], members: &[Member]) -> Tiles {
        let tiles = &self.now.grid.tiles;
        let eighths = |patch: &mut Patch, t: usize| -> Vec<[i32; 3]> {
            let (coord, base) = (tiles.coords()[t], tiles.base(t));
            patch.load(tiles, liquid, coord, 1, tiles.h());
            if patch.values().iter().all(|d| *d >= 0.0) {
                return Vec::new();
            }
            let half = SIDE as i32 / 2;
            // Interpolation reaches one cell beyond the eighth itself.
            let wet = |e: &[i32; 3]| {
                let span = |a: usize| base[a] + e[a] * half - 1..=base[a] + (e[a] + 1) * half;
                span(2).any(|k| span(1).any(|j| span(0).any(|i| patch.get([i, j, k]) < 0.0)))
            };
            let all = (0..8).map(|n| [n & 1, n >> 1 & 1, n >> 2]).filter(wet);
            all.map(|e| std::array::from_fn(|a| 2 * coord[a] + e[a])).collect()
        };
        let found: Vec<Vec<[i32; 3]>> =
            (0..tiles.len()).into_par_iter().map_init(Patch::default, eighths).collect();
        let mut coords = found.concat();
        let (h, origin) = (0.5 * tiles.h(), tiles.origin());
        let side = h * SIDE as f64;
        for m in members {
            let at = |s: f64| (m.position.add_scalar(s * REACH * tiles.h()) - origin) / side;
            let (low, high) = (at(-1.0), at(1.0));
            let span = |a: usize| low[a].floor() as i32..=high[a].floor() as i32;
            coords.extend(span(2).flat_map(|k| span(1).flat_map(move |j| span(0).map(move |i| [i, j, k]))));
        }
        Tiles::new(h, origin, false, coords)
    }
}

/// The members that reach into each tile, in their order.
fn members_by_tile(fine: &Tiles, members: &[Member], reach: f64) -> Vec<Vec<u32>> {
    let mut of_tile = vec![Vec::new(); fine.len()];
    for (n, m) in members.iter().enumerate() {
        let low = fine.split(fine.cell_at(&m.position.add_scalar(-reach))).0;
        let high = fine.split(fine.cell_at(&m.position.add_scalar(reach))).0;
        for k in low[2]..=high[2] {
            for j in low[1]..=high[1] {
                let tiles = (low[0]..=high[0]).filter_map(|i| fine.find_tile([i, j, k]));
                tiles.for_each(|t| of_tile[t].push(n as u32));
            }
        }
    }
    of_tile
}

impl Around {
    /// ψ in the fine cells of a tile; h is the width of the grid's cells.
    fn interpolate(&self, fine: &Tiles, t: usize, psi: &mut [f64], h: f64, members: &[Member], near: &[u32]) {
        let base = fine.base(t);
        // Centre of a fine cell as the grid's centres see it.
        let at = |l: usize, a: usize| {
            let local = (l / [1, SIDE, SIDE * SIDE][a] % SIDE) as i32;
            0.5 * ((base[a] + local) as f64 + 0.5) - 0.5
        };
        let deep = -DEEP * h;
        if near.is_empty() && self.liquid.values().iter().chain(self.closing.values()).all(|d| *d < deep) {
            return psi.fill(deep);
        }
        let skin = skin_of(fine, base, h, members, near);
        for (l, psi) in psi.iter_mut().enumerate() {
            let g = [at(l, 0), at(l, 1), at(l, 2)];
            let own = self.liquid.sample(g);
            let own = skin.as_ref().map_or(own, |s| own.min(s[l]));
            *psi = own.max(self.closing.sample(g));
        }
    }
}

/// σ in the cells of a tile; None without members.
fn skin_of(fine: &Tiles, base: [i32; 3], h: f64, members: &[Member], near: &[u32]) -> Option<Vec<f64>> {
    if near.is_empty() {
        return None;
    }
    let (reach, volume) = (REACH * h, fine.volume());
    let mut sums = vec![[0.0; 5]; volume];
    for m in near.iter().map(|n| &members[*n as usize]) {
        let span = |a: usize| {
            let low = fine.cell_at(&m.position.add_scalar(-reach))[a] - base[a];
            let high = fine.cell_at(&m.position.add_scalar(reach))[a] - base[a];
            low.max(0)..(high + 1).min(SIDE as i32)
        };
        for (k, j, i) in span(2).flat_map(|k| span(1).flat_map(move |j| span(0).map(move |i| (k, j, i)))) {
            let x = fine.centre([base[0] + i, base[1] + j, base[2] + k]);
            let w = 1.0 - (x - m.position).norm_squared() / (reach * reach);
            if w > 0.0 {
                let w = w * w * w;
                let sum = &mut sums[(k as usize * SIDE + j as usize) * SIDE + i as usize];
                let parts = [1.0, m.position.x, m.position.y, m.position.z, m.radius];
                sum.iter_mut().zip(parts).for_each(|(s, p)| *s += w * p);
            }
        }
    }
    let sigma = |(l, [w, x, y, z, r]): (usize, &[f64; 5])| {
        let cell = std::array::from_fn(|a| base[a] + (l / [1, SIDE, SIDE * SIDE][a] % SIDE) as i32);
        let middle = Vec3::new(*x, *y, *z) / *w;
        if *w > 0.0 { (fine.centre(cell) - middle).norm() - r / w } else { f64::INFINITY }
    };
    Some(sums.iter().enumerate().map(sigma).collect())
}
