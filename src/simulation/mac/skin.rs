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
//! At a sheet without thickness φ is that of the side of x, and where the other side is dry the surface ends on the sheet, at the
//! distance d from x: liquid has ψ ≥ −d there and air ψ ≤ d, so that what is drawn between them is the sheet itself.
//!
//! One particle alone would be a ball of radius r_p, which even half cells do not resolve: it is drawn as
//! such beside the field. Many in a plane, half a cell apart, make a smooth sheet 2 r_p = 0.62 cells thick.
//!
//! A sheet that is drawn out has its particles further apart than R = 1 cell. What is a sheet or a thread and what is spray
//! shows in the scatter of the particles within two cells, as in [YT13]: the covariance C = Σ w (x − x̄)(x − x̄)ᵀ / Σ w of
//! a sheet has one small eigenvalue, that of a thread two. Such particles are put where the plane or the line through their
//! neighbours is, and reach as far as these are apart: with n others within 2 cells, d = 2 √(π/(n + 1)) cells in
//! a plane and 4/(n + 1) on a line. Spray scatters in all directions and stays spray.

use super::filling::NEAR;
use super::spray::radius_of;
use super::{CLINGS, Mac, State};
use crate::error::Result;
use crate::grid::{Patch, SIDE, Tiles, wall_closing};
use crate::math::{Mat3, Vec3, principal_axes};
use crate::solver::mac::MacGrid;
use crate::surface::{LAYERS, continue_from_own_side};
use rayon::prelude::*;

/// How far a particle's skin reaches at least and at most, in cells of the grid, and in distances between particles.
const REACH: f64 = 1.0;
const FURTHEST: f64 = 2.0;
const SPACINGS: f64 = 2.0;
/// A sheet or a thread scatters by at most this many cells out of its plane or line...
const FLAT: f64 = 0.3;
/// ...and has at least this many others within [`FURTHEST`].
const FEW: usize = 5;
/// Share of the way to the plane or line that a particle is put.
const PUT: f64 = 0.9;
/// Liquid is thin where 27 cells hold less than this many cells' liquid, and nowhere deeper than this many cells.
const THIN: f64 = 9.0;
pub(super) const SHALLOW: f64 = 0.7;
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
    /// How far its skin reaches, m.
    reach: f64,
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
        let known: Vec<u8> = grid.centre.par_iter().map(|d| (*d >= 0.0) as u8).collect();
        continue_from_own_side(tiles, &mut liquid, &known, &grid.centre, LAYERS, NEAR * tiles.h(), band)?;
        let closing = wall_closing(tiles, &liquid, &grid.centre, overlap);
        if tiles.is_flat() {
            let psi = liquid.par_iter().zip(&closing).map(|(p, c)| p.max(*c)).collect();
            return Ok(Skin { tiles: tiles.clone(), psi, lone: self.drops() });
        }
        let (members, lone) = self.drops_in_company();
        let fine = self.fine_tiles(&liquid, &members);
        let mut psi = fine.field(band);
        let of_tile = members_by_tile(&fine, &members);
        psi.par_chunks_mut(fine.volume()).enumerate().for_each_init(Around::default, |around, (t, part)| {
            let coord = fine.coords()[t].map(|c| c.div_euclid(2));
            if around.tile != Some(coord) {
                around.liquid.load(tiles, &liquid, coord, 1, band);
                around.closing.load(tiles, &closing, coord, 1, -band);
                around.tile = Some(coord);
            }
            let sheets = BesideSheets::new(grid, &liquid, coord, &fine, t);
            around.interpolate(&fine, t, part, tiles.h(), &members, &of_tile[t], sheets.as_ref());
        });
        Ok(Skin { tiles: fine, psi, lone })
    }

    fn drops(&self) -> Vec<usize> {
        let (_, drops) = self.wet(&self.now, |_| CLINGS);
        (0..drops.len()).filter(|p| drops[*p]).collect()
    }

    /// The particles that make a skin, and the drops that are alone. Besides drops, particles of thin liquid take part,
    /// so that the skin goes on over the holes of a level set that has lost a sheet here and there.
    fn drops_in_company(&self) -> (Vec<Member>, Vec<usize>) {
        let (particles, tiles) = (&self.now.particles, &self.now.grid.tiles);
        let (_, drops) = self.wet(&self.now, |_| CLINGS);
        let is_thin = |t: usize, l: usize| self.is_thin(&self.now, t, l);
        let (deep, v) = (-SHALLOW * tiles.h(), tiles.volume());
        // Cells with some particles that take part: all of those that are thin, else the drops alone.
        let of_tile = |t: usize| {
            let mut found = Vec::new();
            for l in (0..v).filter(|l| self.now.grid.liquid[t * v + l] > deep) {
                let here = particles.of_cell(t * v + l);
                if !here.is_empty() {
                    let thin = is_thin(t, l);
                    found.extend(here.filter(|p| thin || drops[*p]).map(|p| (p, t * v + l)));
                }
            }
            found
        };
        let all: Vec<(usize, usize)> = (0..tiles.len()).into_par_iter().flat_map_iter(of_tile).collect();
        let mut takes_part = vec![false; particles.len()];
        all.iter().for_each(|(p, _)| takes_part[*p] = true);
        let found: Vec<Option<Member>> =
            all.par_iter().map(|(p, place)| self.member(*p, *place, drops[*p], &takes_part)).collect();
        let alone = all.iter().zip(&found).filter(|((p, _), m)| drops[*p] && m.is_none());
        let lone = alone.map(|((p, _), _)| *p).collect();
        (found.into_iter().flatten().collect(), lone)
    }

    /// Whether cell l of tile t, which holds particles, and those round it hold little.
    pub(super) fn is_thin(&self, State { grid, particles, .. }: &State, t: usize, l: usize) -> bool {
        let of_cell = |place: usize| particles.volume[particles.of_cell(place)].iter().sum::<f32>();
        let held = around(&grid.tiles, t, l, 1).map(of_cell).sum::<f32>();
        // On a grid one cell thick there are nine cells instead of 27.
        let share = if grid.tiles.is_flat() { THIN / 3.0 } else { THIN };
        f64::from(held) < share * grid.tiles.h().powi(3)
    }

    /// A particle as part of what others round it make; None if that is nothing.
    fn member(&self, p: usize, place: usize, is_drop: bool, takes_part: &[bool]) -> Option<Member> {
        let (particles, tiles) = (&self.now.particles, &self.now.grid.tiles);
        let (x, h, far) = (particles.position[p], tiles.h(), FURTHEST * tiles.h());
        let cells = around(tiles, place / tiles.volume(), place % tiles.volume(), 2);
        let near = cells.flat_map(|place| particles.of_cell(place));
        let near: Vec<Vec3> =
            near.filter(|q| *q != p && takes_part[*q]).map(|q| particles.position[q] - x).collect();
        let close = near.iter().filter(|d| d.norm() < REACH * h).count();
        let others: Vec<Vec3> = near.into_iter().filter(|d| d.norm() < far).collect();
        let radius = radius_of(particles.volume[p] as f64);
        let clump = (is_drop && close >= COMPANY).then_some(Member { position: x, radius, reach: REACH * h });
        if others.len() < FEW {
            return clump;
        }
        let weight = |d: &Vec3| 1.0 - (d.norm() / far).powi(3);
        let sum = 1.0 + others.iter().map(weight).sum::<f64>();
        let mean = others.iter().map(|d| d * weight(d)).sum::<Vec3>() / sum;
        let own = mean * mean.transpose();
        let scatter = |d: &Vec3| (d - mean) * (d - mean).transpose() * weight(d);
        let covariance = (own + others.iter().map(scatter).sum::<Mat3>()) / sum;
        let (values, axes) = principal_axes(&covariance);
        let flat = |a: usize| values[a] < (FLAT * h).powi(2);
        if !flat(0) {
            return clump;
        }
        let count = (others.len() + 1) as f64;
        let thread = flat(1);
        let apart = if thread { 4.0 / count } else { 2.0 * (std::f64::consts::PI / count).sqrt() };
        let across = if thread { 2 } else { 1 };
        let put = axes[..across].iter().map(|e| e * (PUT * e.dot(&mean))).sum::<Vec3>();
        let reach = (SPACINGS * apart).clamp(REACH, FURTHEST) * h;
        Some(Member { position: x + put, radius, reach })
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
            let at = |s: f64| (m.position.add_scalar(s * m.reach) - origin) / side;
            let (low, high) = (at(-1.0), at(1.0));
            let span = |a: usize| low[a].floor() as i32..=high[a].floor() as i32;
            coords.extend(span(2).flat_map(|k| span(1).flat_map(move |j| span(0).map(move |i| [i, j, k]))));
        }
        Tiles::new(h, origin, false, coords)
    }
}

/// The places of the cells that exist within `reach` of local cell l of tile t, itself included.
pub(super) fn around(tiles: &Tiles, t: usize, l: usize, reach: i32) -> impl Iterator<Item = usize> {
    let [x, y, z] = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v as i32);
    let row = move |y, z| (x - reach..=x + reach).map(move |x| [x, y, z]);
    let rows =
        (z - reach..=z + reach).flat_map(move |z| (y - reach..=y + reach).flat_map(move |y| row(y, z)));
    rows.filter_map(move |[x, y, z]| tiles.near(t, x, y, z))
}

/// The members that reach into each tile, in their order.
fn members_by_tile(fine: &Tiles, members: &[Member]) -> Vec<Vec<u32>> {
    let mut of_tile = vec![Vec::new(); fine.len()];
    for (n, m) in members.iter().enumerate() {
        let low = fine.split(fine.cell_at(&m.position.add_scalar(-m.reach))).0;
        let high = fine.split(fine.cell_at(&m.position.add_scalar(m.reach))).0;
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
    #[allow(clippy::too_many_arguments)]
    fn interpolate(
        &self,
        fine: &Tiles,
        t: usize,
        psi: &mut [f64],
        h: f64,
        members: &[Member],
        near: &[u32],
        sheets: Option<&BesideSheets>,
    ) {
        let deep = -DEEP * h;
        if near.is_empty() && self.liquid.values().iter().chain(self.closing.values()).all(|d| *d < deep) {
            return psi.fill(deep);
        }
        let hidden = |x: &Vec3, m: &Member| sheets.is_some_and(|s| s.grid.sheets.crosses(x, &m.position));
        let skin = skin_of(fine, fine.base(t), members, near, hidden);
        let eighth = fine.coords()[t].map(|c| c.rem_euclid(2) as usize);
        let (own, closing) = (halved(&self.liquid, eighth), halved(&self.closing, eighth));
        for (l, psi) in psi.iter_mut().enumerate() {
            let sides = sheets.and_then(|s| s.at(l));
            let own = sides.as_ref().map_or(own[l], |s| s.own);
            let own = skin.as_ref().map_or(own, |s| own.min(s[l]));
            *psi = sides.map_or(own, |s| s.bounded(own)).max(closing[l]);
        }
    }
}

/// A tile of fine cells in a tile of the grid that has sheets near.
struct BesideSheets<'a> {
    grid: &'a MacGrid,
    liquid: &'a [f64],
    /// The tile of the grid, and the fine one.
    coarse: usize,
    fine: &'a Tiles,
    t: usize,
}

/// What a fine cell knows beside a sheet: φ of its side, of the other one if that is near, and the distance to the sheet.
struct Beside {
    own: f64,
    other: Option<f64>,
    distance: f64,
}

impl Beside {
    fn bounded(&self, psi: f64) -> f64 {
        match self.other {
            Some(other) if other >= 0.0 => psi.max(-self.distance),
            Some(_) if psi >= 0.0 => psi.min(self.distance),
            _ => psi,
        }
    }
}

impl<'a> BesideSheets<'a> {
    fn new(grid: &'a MacGrid, liquid: &'a [f64], coord: [i32; 3], fine: &'a Tiles, t: usize) -> Option<Self> {
        let coarse = grid.tiles.find_tile(coord).filter(|c| grid.tiles.sheets(*c).is_some())?;
        Some(Self { grid, liquid, coarse, fine, t })
    }

    /// At a fine cell; None if nothing is hidden from it.
    fn at(&self, l: usize) -> Option<Beside> {
        let (grid, sight) = (self.grid, self.grid.sight());
        let x = self.fine.centre(self.fine.cell(self.t * self.fine.volume() + l));
        let eyes = sight.of_particle(self.coarse, &x)?;
        let own = sight.sample(self.coarse, &eyes, self.liquid, &x);
        let other = sight.sample_seen(self.coarse, &eyes.others(), self.liquid, &x);
        let reach = FURTHEST * grid.tiles.h();
        let distance = grid.sheets.closest_sheet(&x, reach).map_or(reach, |p| (p - x).norm());
        Some(Beside { own, other, distance })
    }
}

/// Fine cells along an eighth of a tile, and centres of the grid's cells that they lie between.
const BETWEEN: usize = SIDE / 2 + 2;

/// What a patch with a margin of one cell says at the centres of the fine cells of an eighth of its tile, which lie at
/// quarters between those of the grid: trilinear, axis by axis.
fn halved(patch: &Patch, eighth: [usize; 3]) -> [f64; SIDE * SIDE * SIDE] {
    const ROW: usize = SIDE + 2;
    let [x, y, z] = eighth.map(|e| e * (SIDE / 2));
    // Fine cell i lies between two centres, nearer to its own.
    let place = |i: usize| (i.div_ceil(2), if i.is_multiple_of(2) { 0.75 } else { 0.25 });
    let mut along_x = [[[0.0; SIDE]; BETWEEN]; BETWEEN];
    for (k, plane) in along_x.iter_mut().enumerate() {
        for (j, row) in plane.iter_mut().enumerate() {
            let from = &patch.values()[((z + k) * ROW + y + j) * ROW + x..][..BETWEEN];
            for (i, out) in row.iter_mut().enumerate() {
                let (low, f) = place(i);
                *out = from[low] + (from[low + 1] - from[low]) * f;
            }
        }
    }
    let mut along_y = [[[0.0; SIDE]; SIDE]; BETWEEN];
    for (plane, from) in along_y.iter_mut().zip(&along_x) {
        for (j, row) in plane.iter_mut().enumerate() {
            let (low, f) = place(j);
            let (a, b) = (&from[low], &from[low + 1]);
            row.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a + (b - a) * f);
        }
    }
    let mut all = [0.0; SIDE * SIDE * SIDE];
    for (k, plane) in all.chunks_exact_mut(SIDE * SIDE).enumerate() {
        let (low, f) = place(k);
        let (a, b) = (along_y[low].as_flattened(), along_y[low + 1].as_flattened());
        plane.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a + (b - a) * f);
    }
    all
}

/// σ in the cells of a tile, of the members that are not hidden; None without members.
fn skin_of(
    fine: &Tiles,
    base: [i32; 3],
    members: &[Member],
    near: &[u32],
    hidden: impl Fn(&Vec3, &Member) -> bool,
) -> Option<Vec<f64>> {
    if near.is_empty() {
        return None;
    }
    let mut sums = vec![[0.0; 5]; fine.volume()];
    for m in near.iter().map(|n| &members[*n as usize]) {
        let reach = m.reach;
        let span = |a: usize| {
            let low = fine.cell_at(&m.position.add_scalar(-reach))[a] - base[a];
            let high = fine.cell_at(&m.position.add_scalar(reach))[a] - base[a];
            low.max(0)..(high + 1).min(SIDE as i32)
        };
        for (k, j, i) in span(2).flat_map(|k| span(1).flat_map(move |j| span(0).map(move |i| (k, j, i)))) {
            let x = fine.centre([base[0] + i, base[1] + j, base[2] + k]);
            let w = 1.0 - (x - m.position).norm_squared() / (reach * reach);
            if w > 0.0 && !hidden(&x, m) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_cells_see_what_a_point_there_sees() {
        let coords = (0..27).map(|d| [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1]).collect();
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, coords);
        let field: Vec<f64> = (0..tiles.cells()).map(|p| ((p * 7919) % 1013) as f64 / 97.0 - 5.0).collect();
        let mut patch = Patch::default();
        patch.load(&tiles, &field, [0, 0, 0], 1, 0.0);
        for n in 0..8 {
            let eighth = [n & 1, n >> 1 & 1, n >> 2];
            let values = halved(&patch, eighth);
            for (l, value) in values.iter().enumerate() {
                let at = |a: usize| {
                    let fine = SIDE * eighth[a] + l / [1, SIDE, SIDE * SIDE][a] % SIDE;
                    0.5 * (fine as f64 + 0.5) - 0.5
                };
                assert!((value - patch.sample([at(0), at(1), at(2)])).abs() < 1e-14);
            }
        }
    }
}
