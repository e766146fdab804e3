//! Making a level set a signed distance again without moving its zero set.
//!
//! A cell whose sign differs from that of a face neighbour knows the surface: with gradient g and
//! second derivatives H of φ by central differences it lies at
//!
//! ```text
//!   d = 2φ / (|g| + √(g² − 2 φ n·Hn)) ,   n = g/|g| ,   foot p = x − d n
//! ```
//!
//! along the gradient, and never farther than the nearest crossing of a grid line. The foot, the
//! normal there (along g − d Hn) and the curvature are a *source*. Layer by layer each further cell
//! takes the nearest source of its neighbours, or that known in the cell where its foot comes to
//! lie. A source is a small patch of surface: with v = x − p, a = n·v, and τ the rest of v,
//!
//! ```text
//!   d(x) = a                                    first order: a plane
//!   d(x) = a + ½ τ·Kτ / (1 + a k) ,  k = τ·Kτ/τ²   second order: a parabola, K = PHP/|g|, P = I − nnᵀ
//! ```
//!
//! and farther than [`PATCH`] cells beside the foot it is the distance to the patch's edge. So planes
//! are reproduced to round-off, spheres to second order or better, and φ that is a distance already
//! stays as it is. Where the foot lies beyond all tiles the patch goes on, so planes are planes up to
//! the border of the domain. Where a film ends nothing lies below the foot either, and the patch of its rim would lead on through the
//! air beside it: a cell of which no neighbour is on the other side of a plane is at least h max|nₐ| away from it, and here,
//! where surfaces may bend, at least [`LEAST`] of that. Across kinks the derivative is taken from the side of the crossing and K
//! is dropped. A tile that does not exist bounds nothing here: only existing cells make a surface.
//! Signs are those of φ. Cells beyond the band get ± the band.

use super::layers::{Filling, Mask, Neighbour, Reach, Rows, for_each_bit, grow, masks};
use super::tiles::{NONE, SIDE, Tiles};
use crate::error::{Error, Result};
use crate::math::{Mat3, Vec3};
use rayon::prelude::*;

/// Half the width of a patch, in cells. On a plane every foot has a source within one cell.
const PATCH: f64 = 1.5;
/// Share of the distance to the neighbour beyond which the nearest plane must lie that a cell keeps at least.
const LEAST: f64 = 0.5;
/// Two one-sided slopes that differ by this share of the steepest one have a kink between them.
const KINK: f64 = 0.5;

/// What a source knows of the shape of the surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Planes: cheaper, for rough surfaces.
    First,
    /// With curvature.
    #[default]
    Second,
}

/// A piece of the surface as one cell sees it.
#[derive(Clone, Copy)]
struct Source {
    foot: Vec3,
    normal: Vec3,
    bend: Mat3,
}

/// Replace φ by the signed distance to its zero set, up to `band` cells away on both sides.
pub fn redistance(tiles: &Tiles, phi: &mut [f64], band: usize, order: Order) -> Result<()> {
    redistance_where(tiles, phi, &[], band, order)
}

/// Like [`redistance`], where only cells with a mark in `counts` make a surface; an empty list marks all.
pub fn redistance_where(
    tiles: &Tiles,
    phi: &mut [f64],
    counts: &[u8],
    band: usize,
    order: Order,
) -> Result<()> {
    if phi.len() != tiles.cells() || !(counts.is_empty() || counts.len() == phi.len()) {
        let message = format!("{} values for {} cells", phi.len(), tiles.cells());
        return Err(Error::invalid("redistance", message));
    }
    if phi.par_iter().any(|p| !p.is_finite()) {
        return Err(Error::diverged("redistance", "the level set is not finite everywhere"));
    }
    let (at_surface, sources, mut nearest) = sources(tiles, phi, counts, order);
    let mut known = at_surface.clone();
    let limit = (band as f64 + 1.5) * tiles.h();
    let feet: Vec<Vec3> = sources.par_iter().map(|s| s.foot).collect();
    let patches = Patches { tiles, sources: &sources, feet: &feet };
    // Where the nearest way is blocked by the border, the surface is seen along some axis.
    let layers = (band as f64 * (tiles.axes() as f64).sqrt()).ceil() as usize + 1;
    let mut levels = tiles.field(0);
    let nearest_of = |t: usize, cell: [usize; 3], neighbours: &[Neighbour], nearest: &[u32]| {
        let x = patches.centre(t, cell);
        let found = neighbours.iter().fold((f64::INFINITY, NONE), |best, &(p, _)| {
            let far = (x - feet[nearest[p] as usize]).norm_squared();
            if far < best.0 { (far, nearest[p]) } else { best }
        });
        let source = patches.refined(&x, t, found.1, nearest);
        (patches.distance(&x, t, source) <= limit).then_some(source)
    };
    let filling = Filling { reach: Reach::Faces, same: |_| None, each: nearest_of };
    grow(tiles, &mut known, &mut nearest, &mut levels, layers, filling);
    patches.write(phi, &nearest, band as f64 * tiles.h(), |p| {
        let (t, l) = (p / tiles.volume(), p % tiles.volume());
        at_surface[t][l / (SIDE * SIDE)] >> (l % (SIDE * SIDE)) & 1 == 0
            && sees_all_round(tiles, counts, t, l)
    });
    Ok(())
}

/// Whether cell l of tile t and all those beside it make a surface if they differ.
fn sees_all_round(tiles: &Tiles, counts: &[u8], t: usize, l: usize) -> bool {
    let at = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|c| c as i32);
    let marked = |p: usize| counts.is_empty() || counts[p] != 0;
    let beside = |axis: usize, step: i32| {
        let mut at = at;
        at[axis] += step;
        tiles.near(t, at[0], at[1], at[2]).is_some_and(marked)
    };
    let both = |axis: usize| beside(axis, -1) && beside(axis, 1);
    tiles.sheets(t).is_none() && marked(t * tiles.volume() + l) && (0..tiles.axes()).all(both)
}

/// Cells at the surface: their bits, what they know, and the number of its source for each cell.
fn sources(tiles: &Tiles, phi: &[f64], counts: &[u8], order: Order) -> (Vec<Mask>, Vec<Source>, Vec<u32>) {
    let inside = masks(tiles, |p| phi[p] < 0.0);
    let at_surface = |t: usize| {
        let (base, mut found) = (t * tiles.volume(), Vec::new());
        let edge = Rows::new(tiles, &inside, t).edge(tiles.depth());
        let marked = |p: usize| counts.is_empty() || counts[p] != 0;
        for_each_bit(&edge, |l, _| {
            if marked(base + l) {
                found.extend(Stencil::new(tiles, phi, counts, base + l).source(order));
            }
        });
        found
    };
    let found: Vec<Vec<(usize, Source)>> = (0..tiles.len()).into_par_iter().map(at_surface).collect();
    let mut nearest = tiles.field(NONE);
    let mut all = Vec::with_capacity(found.iter().map(Vec::len).sum());
    let mut known = vec![[0; SIDE]; tiles.len()];
    for (t, part) in found.into_iter().enumerate() {
        for (place, source) in part {
            let local = place % tiles.volume();
            known[t][local / (SIDE * SIDE)] |= 1 << (local % (SIDE * SIDE));
            nearest[place] = all.len() as u32;
            all.push(source);
        }
    }
    (known, all, nearest)
}

/// φ round one cell.
struct Stencil<'a> {
    tiles: &'a Tiles,
    phi: &'a [f64],
    counts: &'a [u8],
    place: usize,
    middle: f64,
    /// Values below and above along each axis.
    sides: [[Option<f64>; 2]; 3],
}

impl<'a> Stencil<'a> {
    fn new(tiles: &'a Tiles, phi: &'a [f64], counts: &'a [u8], place: usize) -> Self {
        let mut stencil = Self { tiles, phi, counts, place, middle: phi[place], sides: [[None; 2]; 3] };
        for axis in 0..tiles.axes() {
            for (k, step) in [-1, 1].into_iter().enumerate() {
                let mut offset = [0; 3];
                offset[axis] = step;
                stencil.sides[axis][k] = stencil.at(offset);
            }
        }
        stencil
    }

    fn at(&self, [dx, dy, dz]: [i32; 3]) -> Option<f64> {
        let (t, l) = (self.place / self.tiles.volume(), self.place % self.tiles.volume());
        let (x, y, z) = ((l % SIDE) as i32, (l / SIDE % SIDE) as i32, (l / (SIDE * SIDE)) as i32);
        let marked = |p: &usize| self.counts.is_empty() || self.counts[*p] != 0;
        if self.tiles.sheets(t).is_some_and(|s| !s.sees(l, [dx, dy, dz])) {
            return None;
        }
        self.tiles.near(t, x + dx, y + dy, z + dz).filter(marked).map(|p| self.phi[p])
    }

    fn crosses(&self, value: Option<f64>) -> bool {
        value.is_some_and(|v| (v < 0.0) != (self.middle < 0.0))
    }

    /// One-sided slopes below and above along an axis; a missing one repeats the other.
    fn slopes(&self, axis: usize) -> [f64; 2] {
        let h = self.tiles.h();
        let [below, above] = self.sides[axis];
        let (low, high) = (below.map(|b| (self.middle - b) / h), above.map(|a| (a - self.middle) / h));
        match (low, high) {
            (Some(l), Some(u)) => [l, u],
            (Some(s), None) | (None, Some(s)) => [s, s],
            (None, None) => [0.0, 0.0],
        }
    }

    /// Gradient, and whether φ is smooth enough for second derivatives.
    fn gradient(&self) -> (Vec3, bool) {
        let slopes: [[f64; 2]; 3] = std::array::from_fn(|a| self.slopes(a));
        let steepest = slopes.iter().flatten().fold(0.0f64, |m, s| m.max(s.abs()));
        let mut smooth = true;
        let gradient = Vec3::from_fn(|a, _| {
            let [low, high] = slopes[a];
            if (high - low).abs() <= KINK * steepest {
                return 0.5 * (low + high);
            }
            smooth = false;
            match self.sides[a].map(|s| self.crosses(s)) {
                [true, false] => low,
                [false, true] => high,
                _ if low.abs() > high.abs() => low,
                _ => high,
            }
        });
        (gradient, smooth)
    }

    /// Second derivatives; None if a cell round this one does not exist.
    fn second(&self) -> Option<Mat3> {
        let h2 = self.tiles.h() * self.tiles.h();
        let mut matrix = Mat3::zeros();
        for a in 0..self.tiles.axes() {
            let [low, high] = self.sides[a];
            matrix[(a, a)] = (low? - 2.0 * self.middle + high?) / h2;
            for b in 0..a {
                let corner = |s: i32, r: i32| {
                    let mut offset = [0; 3];
                    offset[a] = s;
                    offset[b] = r;
                    self.at(offset)
                };
                let mixed = (corner(1, 1)? - corner(1, -1)? - corner(-1, 1)? + corner(-1, -1)?) / (4.0 * h2);
                matrix[(a, b)] = mixed;
                matrix[(b, a)] = mixed;
            }
        }
        Some(matrix)
    }

    /// Distance along grid lines to the nearest crossing; infinite if there is none.
    fn nearest_crossing(&self) -> f64 {
        let crossing = |v: f64| self.tiles.h() * self.middle / (self.middle - v);
        let crossed = self.sides.iter().flatten().filter(|s| self.crosses(**s));
        crossed.flatten().fold(f64::INFINITY, |m, v| m.min(crossing(*v).abs()))
    }

    fn source(&self, order: Order) -> Option<(usize, Source)> {
        let bound = self.nearest_crossing();
        if bound == f64::INFINITY {
            return None;
        }
        let (g, smooth) = self.gradient();
        let length = g.norm();
        let curved = if smooth && order == Order::Second { self.second() } else { None };
        let hessian = curved.unwrap_or_else(Mat3::zeros);
        // A crossing has a slope, unless φ is so small that it underflows: then the cell is on the surface.
        let normal = if length > 0.0 { g / length } else { Vec3::y() };
        let inner = length * length - 2.0 * self.middle * normal.dot(&(hessian * normal));
        let steep = 0.5 * (length + inner.max(0.0).sqrt());
        let distance = if length > 0.0 { (self.middle / steep).clamp(-bound, bound) } else { 0.0 };
        let foot = self.tiles.centre(self.tiles.cell(self.place)) - normal * distance;
        // The normal of the patch is that at its foot.
        let there = g - hessian * normal * distance;
        let length = there.norm();
        let normal = if length > 0.0 { there / length } else { normal };
        let bend = if length > 0.0 { bend(&hessian, &normal, length, self.tiles.h()) } else { Mat3::zeros() };
        Some((self.place, Source { foot, normal, bend }))
    }
}

/// The curvature tensor PHP/|g|; zero where the grid cannot resolve it.
fn bend(hessian: &Mat3, normal: &Vec3, length: f64, h: f64) -> Mat3 {
    let project = Mat3::identity() - normal * normal.transpose();
    let bend = project * hessian * project / length;
    if bend.norm() * h <= 0.5 { bend } else { Mat3::zeros() }
}

struct Patches<'a> {
    tiles: &'a Tiles,
    sources: &'a [Source],
    /// Their feet once more, closer together in memory.
    feet: &'a [Vec3],
}

impl Patches<'_> {
    fn centre(&self, t: usize, cell: [usize; 3]) -> Vec3 {
        let b = self.tiles.base(t);
        self.tiles.centre(std::array::from_fn(|a| b[a] + cell[a] as i32))
    }

    /// Place of the cell that holds x, found from the tile t nearby.
    fn locate(&self, t: usize, x: &Vec3) -> Option<usize> {
        let (cell, base) = (self.tiles.cell_at(x), self.tiles.base(t));
        self.tiles.near(t, cell[0] - base[0], cell[1] - base[1], cell[2] - base[2])
    }

    /// Distance from x, in tile t, to a source, not signed.
    fn distance(&self, x: &Vec3, t: usize, source: u32) -> f64 {
        let Source { foot, normal, bend } = &self.sources[source as usize];
        let (v, reach) = (x - foot, PATCH * self.tiles.h());
        let along = normal.dot(&v);
        let beside = v - normal * along;
        let width = beside.norm();
        if width <= reach || self.locate(t, &(x - normal * along)).is_none() {
            let curved = beside.dot(&(bend * beside));
            // Beyond the centre of curvature, or beyond the tiles, the parabola says nothing.
            let flatter = width * width + along * curved;
            let bent = width <= reach && flatter > 0.25 * width * width;
            let lift = if bent { 0.5 * curved * width * width / flatter } else { 0.0 };
            return (along + lift).abs();
        }
        let beyond = width - reach;
        (along * along + beyond * beyond).sqrt()
    }

    /// A source nearer to x than the given one, if the cell under x's foot knows one.
    fn refined(&self, x: &Vec3, t: usize, source: u32, nearest: &[u32]) -> u32 {
        // The cell under the foot may be on the other side of a sheet.
        if self.tiles.sheets(t).is_some() {
            return source;
        }
        let s = &self.sources[source as usize];
        let under = x - s.normal * s.normal.dot(&(x - s.foot));
        let found = self.locate(t, &under).map_or(NONE, |p| nearest[p]);
        if found == NONE || found == source {
            return source;
        }
        let far = |s: u32| (x - self.feet[s as usize]).norm_squared();
        if far(found) < far(source) { found } else { source }
    }

    /// Distances with the signs of φ, ± the band where no source is known. No surface passes beside the cells that are `aside`.
    fn write(&self, phi: &mut [f64], nearest: &[u32], band: f64, aside: impl Fn(usize) -> bool + Sync) {
        let volume = self.tiles.volume();
        self.tiles.for_each(phi, |t, part| {
            for (l, value) in part.iter_mut().enumerate() {
                let first = nearest[t * volume + l];
                let far = if first == NONE {
                    band
                } else {
                    let x = self.tiles.centre(self.tiles.cell(t * volume + l));
                    let source = self.refined(&x, t, first, nearest);
                    let far = self.distance(&x, t, source).min(band);
                    let least = LEAST * self.tiles.h() * self.sources[source as usize].normal.amax();
                    if far < least && aside(t * volume + l) { least } else { far }
                };
                *value = if *value < 0.0 { -far } else { far };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;

    fn block(n: i32, h: f64, flat: bool) -> Tiles {
        let span = move || -n..n;
        let depth = if flat { 0..1 } else { -n..n };
        let coords = depth.flat_map(|z| span().flat_map(move |y| span().map(move |x| [x, y, z])));
        Tiles::new(h, Vec3::new(0.01, -0.02, 0.03), flat, coords.collect())
    }

    fn sample(tiles: &Tiles, f: impl Fn(Vec3) -> f64) -> Vec<f64> {
        (0..tiles.cells()).map(|p| f(tiles.centre(tiles.cell(p)))).collect()
    }

    #[test]
    fn planes_stay_planes_up_to_the_border() {
        let h = 0.1;
        for flat in [false, true] {
            let tiles = block(2, h, flat);
            for i in 0..40 {
                let mut normal =
                    Vec3::new((i as f64 * 1.7).sin(), (i as f64 * 2.3).cos(), (i as f64 * 0.9).sin());
                if flat {
                    normal.z = 0.0;
                }
                let normal = normal.normalize();
                let distance = |x: Vec3| normal.dot(&x) - 0.2 * (i as f64 * 0.37).sin();
                for order in [Order::First, Order::Second] {
                    // A steep or shallow level set with the same zero set.
                    let mut phi = sample(&tiles, |x| distance(x) * if i % 2 == 0 { 3.7 } else { 0.2 });
                    redistance(&tiles, &mut phi, 4, order).unwrap();
                    for (p, value) in phi.iter().enumerate() {
                        let exact = distance(tiles.centre(tiles.cell(p))).clamp(-0.4, 0.4);
                        assert!((value - exact).abs() < 1e-12, "{i} {:?} {value} {exact}", tiles.cell(p));
                    }
                }
            }
        }
    }

    /// Largest error within the band of a ball whose level set has the wrong slope.
    fn ball_error(n: i32, band: usize, flat: bool, order: Order) -> f64 {
        let h = 1.0 / (8 * n) as f64;
        let tiles = block(n, h, flat);
        let ball = |x: Vec3| if flat { (x.x * x.x + x.y * x.y).sqrt() - 0.6 } else { x.norm() - 0.6 };
        let mut phi = sample(&tiles, |x| ball(x) * (2.0 + x.x + 0.5 * x.y));
        redistance(&tiles, &mut phi, band, order).unwrap();
        let reach = band as f64 * h;
        let errors = phi.iter().enumerate().map(|(p, v)| {
            let exact = ball(tiles.centre(tiles.cell(p))).clamp(-reach, reach);
            (v - exact).abs()
        });
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn the_error_of_a_ball_falls_as_the_square_of_the_cell() {
        for flat in [false, true] {
            let (coarse, fine) =
                (ball_error(2, 3, flat, Order::Second), ball_error(4, 3, flat, Order::Second));
            assert!(fine < 0.3 * coarse, "{flat} {coarse} {fine}");
            // Ten cells away, half way to the centre, the patches say as much as near by.
            let far = ball_error(4, 10, flat, Order::Second);
            assert!(far < 3.0 * fine, "{flat} {fine} {far}");
            // A plane that touches one cell beside the foot is off by κh²/2, and its tilt as much again.
            let plane = ball_error(4, 3, flat, Order::First);
            assert!(plane < 1.0 / 0.6 / (32.0 * 32.0) && fine < 0.3 * plane, "{flat} {plane} {fine}");
        }
    }

    #[test]
    fn a_distance_is_left_as_it_is_and_keeps_its_volume() {
        let tiles = block(4, 1.0 / 32.0, false);
        let ring = Shape::torus(0.6, 0.25).unwrap();
        let exact = sample(&tiles, |x| ring.distance(&x).clamp(-0.1, 0.1));
        let mut phi = exact.clone();
        let volume = |phi: &[f64]| crate::grid::contour(&tiles, phi).unwrap().mesh.volume();
        for _ in 0..10 {
            redistance(&tiles, &mut phi, 3, Order::Second).unwrap();
        }
        let near = || (0..phi.len()).filter(|p| exact[*p].abs() < 0.03);
        let most = near().map(|p| (phi[p] - exact[p]).abs()).fold(0.0, f64::max);
        // Central differences see slopes 1 ± (h/r)²/6 on a tube r = 8 cells thick; ten times that, at
        // one cell from the surface, is 0.026 cells. It scales φ about its zero set, which stays.
        assert!(most < 0.026 / 32.0, "{}", most * 32.0);
        let change = volume(&phi) / volume(&exact) - 1.0;
        assert!(change.abs() < 1e-4, "{change}");
    }

    #[test]
    fn films_corners_and_noise_give_finite_distances_with_the_same_signs() {
        let tiles = block(2, 0.1, false);
        let film = |x: Vec3| x.y.abs() - 0.06;
        let cube = |x: Vec3| (x.x.abs() - 0.5).max(x.y.abs() - 0.5).max(x.z.abs() - 0.5);
        let noise = |x: Vec3| (x.x * 977.0).sin() * (x.y * 1013.0).cos() + (x.z * 733.0).sin();
        let zero = |x: Vec3| if x.x > 0.0 { 0.0 } else { -1e-310 };
        let fields: [&dyn Fn(Vec3) -> f64; 4] = [&film, &cube, &noise, &zero];
        for f in fields {
            let before = sample(&tiles, f);
            let mut phi = before.clone();
            redistance(&tiles, &mut phi, 4, Order::Second).unwrap();
            assert!(phi.iter().zip(&before).all(|(a, b)| a.abs() <= 0.4 + 1e-15 && (*a <= 0.0 || *b >= 0.0)));
            assert!(phi.iter().zip(&before).all(|(a, b)| *b < 0.0 || *a >= 0.0));
        }
        // The faces of a film three cells thick are planes, whatever is on its other side.
        let film = |x: Vec3| x.y.abs() - 0.16;
        let mut phi = sample(&tiles, film);
        redistance(&tiles, &mut phi, 4, Order::Second).unwrap();
        let exact = |p: usize| film(tiles.centre(tiles.cell(p))).min(0.4);
        assert!((0..phi.len()).all(|p| (phi[p] - exact(p)).abs() < 1e-12 || exact(p) < -0.1));
        phi[0] = f64::NAN;
        assert!(redistance(&tiles, &mut phi, 4, Order::Second).is_err());
    }

    #[test]
    fn one_thread_and_three_agree_bitwise() {
        let tiles = block(2, 0.1, false);
        let start = sample(&tiles, |x| (7.0 * x.x).sin() + (5.0 * x.y).sin() + (6.0 * x.z).cos());
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut phi = start.clone();
            pool.install(|| redistance(&tiles, &mut phi, 4, Order::Second).unwrap());
            phi.iter().map(|v| v.to_bits()).collect::<Vec<u64>>()
        };
        assert!(run(1) == run(3));
    }

    #[test]
    fn the_air_beside_the_rim_of_a_film_is_not_at_the_surface() {
        // A film of a cell and a fifth that ends at x = 0 in a round rim; its distance is exact.
        let coords = (0..27).map(|c| [c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1]).collect();
        for h in [1.0, 0.25] {
            let tiles = Tiles::new(h, Vec3::repeat(0.13 * h), false, Vec::clone(&coords));
            let exact = |p: usize| {
                let x = tiles.centre(tiles.cell(p)) - Vec3::new(4.0, 4.2, 0.0) * h;
                x.x.max(0.0).hypot(x.y) - 0.6 * h
            };
            let exact: Vec<f64> = (0..tiles.cells()).map(exact).collect();
            let mut phi = exact.clone();
            redistance(&tiles, &mut phi, 4, Order::Second).unwrap();
            // Beyond the rim a patch may be taken for a plane up to its edge, but nowhere for the surface itself.
            let beyond = (0..tiles.cells()).filter(|p| exact[*p] > 0.7 * h);
            let nearest = beyond.map(|p| phi[p] / h).fold(f64::INFINITY, f64::min);
            // Normals of the rim lie in the plane of x and y, so that max|nₐ| is at least √½.
            assert!(nearest > LEAST * 0.5f64.sqrt() - 1e-9, "{nearest} cells");
        }
    }
}
