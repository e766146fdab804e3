//! Carrying values from where they are known to the cells around.
//!
//! [`extend_linear`] continues a distance into solids so that linear fields come out exact: each
//! known cell next to the gap gets a gradient from differences of known values, and layer by layer a
//! new cell takes the weighted mean over its known neighbours y
//!
//! ```text
//!   g(x) = Σ w g(y) / Σ w ,    φ(x) = Σ w (φ(y) + g(y)·(x − y)) / Σ w ,    w = 4, 2, 1 by face, edge, corner
//! ```
//!
//! Gradient first, then value: continuing φ by constants instead would tilt still water at walls.
//! [`extend_into`] does so from the nearer side of a wall alone: a neighbour counts if it lies up the
//! gradient of the solids' distance. The air behind the glass must not bend the water in front of it.
//! [`extend_average`] carries velocities out of the liquid: each new place takes the mean of its
//! known face neighbours. It works on one staggered component at a time, all in the same layout.
//! A mask holds one byte a place, 0 where the value is unknown.

use super::layers::{Filling, Mask, Neighbour, Reach, Rows, for_each_bit, grow, grow_mean, masks};
use super::tiles::{NONE, SIDE, Tiles};
use super::{Patch, Side, Sides};
use crate::error::{Error, Result};
use crate::math::Vec3;
use rayon::prelude::*;

fn check_sizes(what: &str, tiles: &Tiles, values: &[f64], known: &[u8]) -> Result<()> {
    if values.len() == tiles.cells() && known.len() == tiles.cells() {
        return Ok(());
    }
    let message = format!("{} values and {} flags for {} cells", values.len(), known.len(), tiles.cells());
    Err(Error::invalid(what, message))
}

/// Fill `layers` layers of unknown places with the mean of known face neighbours.
///
/// The mask of a place filled in layer l, from 1, becomes l + 1 (at most 255).
pub fn extend_average(tiles: &Tiles, values: &mut [f64], known: &mut [u8], layers: usize) -> Result<()> {
    check_sizes("extend_average", tiles, values, known)?;
    let mut bits = masks(tiles, |p| known[p] != 0);
    grow_mean(tiles, &mut bits, values, known, layers);
    Ok(())
}

/// A value and its gradient times the cell width.
type Linear = [f64; 4];

/// Fill `layers` layers of unknown cells so that linear fields are continued exactly.
pub fn extend_linear(tiles: &Tiles, values: &mut [f64], known: &[u8], layers: usize) -> Result<()> {
    extend_into(tiles, values, known, layers, f64::INFINITY, &[]).map(|_| ())
}

/// Fill `layers` layers of the unknown places for which `goes_on` holds as [`extend_linear`] does; their mask becomes 2.
pub fn extend_motion(
    tiles: &Tiles,
    values: &mut [f64],
    known: &mut [u8],
    layers: usize,
    goes_on: impl Fn(usize) -> bool + Sync,
) -> Result<()> {
    let mut linear = values.to_vec();
    let reached = extend_into(tiles, &mut linear, known, layers, f64::INFINITY, &[])?;
    let v = tiles.volume();
    let parts = values.par_chunks_mut(v).zip(known.par_chunks_mut(v)).zip(&reached).enumerate();
    parts.for_each(|(t, ((values, known), reached))| {
        for_each_bit(reached, |place, _| {
            if known[place] == 0 && goes_on(t * v + place) {
                (values[place], known[place]) = (linear[t * v + place], 2);
            }
        });
    });
    Ok(())
}

/// Like [`extend_linear`], each cell from its side of the solids whose distance is given (from all sides
/// if there is none). Where values are not within `near` of zero they are continued by their means. The
/// mask of the cells that have a value comes back.
pub(crate) fn extend_into(
    tiles: &Tiles,
    values: &mut [f64],
    known: &[u8],
    layers: usize,
    near: f64,
    solid: &[f64],
) -> Result<Vec<Mask>> {
    check_sizes("extend_linear", tiles, values, known)?;
    let given = masks(tiles, |p| known[p] != 0);
    let mut linear: Vec<Linear> = tiles.field([0.0; 4]);
    gradients(tiles, values, &given, near, &mut linear);
    let mut bits = given.clone();
    let mut levels = tiles.field(0);
    // Where nothing but one value is about, as along walls of deep water, nothing has to be asked.
    let alike = alike(tiles, values, &given, near);
    let same = |t: usize| alike[t].map(|value| [value, 0.0, 0.0, 0.0]);
    let each = |t: usize, cell: [usize; 3], near: &[Neighbour], linear: &[Linear]| {
        let uphill = if solid.is_empty() { [0.0; 3] } else { slope(tiles, solid, t, cell) };
        let least = -1e-9 * uphill.iter().map(|g| g.abs()).sum::<f64>();
        let this_side =
            |(_, offset): &&Neighbour| (0..3).map(|a| uphill[a] * offset[a] as f64).sum::<f64>() >= least;
        continued(near.iter().filter(this_side), linear).or_else(|| continued(near.iter(), linear))
    };
    let filling = Filling { reach: Reach::Corners, same, each };
    grow(tiles, &mut bits, &mut linear, &mut levels, layers, filling);
    let volume = tiles.volume();
    tiles.for_each(values, |t, part| {
        let gained: Mask = std::array::from_fn(|z| bits[t][z] & !given[t][z]);
        for_each_bit(&gained, |place, _| part[place] = linear[t * volume + place][0]);
    });
    Ok(bits)
}

/// The value that all known cells of a tile and of those round it have, if it is one and `near` or more away from zero.
fn alike(tiles: &Tiles, values: &[f64], known: &[Mask], near: f64) -> Vec<Option<f64>> {
    if !near.is_finite() {
        return vec![None; tiles.len()];
    }
    // NaN stands for several values, and infinity for none.
    let volume = tiles.volume();
    let join = |a: f64, b: f64| match (a, b) {
        (a, f64::INFINITY) => a,
        (f64::INFINITY, b) => b,
        (a, b) if a == b => a,
        _ => f64::NAN,
    };
    let own = |t: usize| {
        let mut value = f64::INFINITY;
        for_each_bit(&known[t], |place, _| value = join(value, values[t * volume + place]));
        value
    };
    let own: Vec<f64> = (0..tiles.len()).into_par_iter().map(own).collect();
    let around = |t: usize| {
        let beside = |d: i32| tiles.neighbour(t, d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1);
        let values = (0..27).map(beside).filter(|n| *n != NONE).map(|n| own[n as usize]);
        Some(values.fold(f64::INFINITY, join)).filter(|v| v.is_finite() && v.abs() >= near)
    };
    (0..tiles.len()).into_par_iter().map(around).collect()
}

/// Twice the difference of a field across a cell, along each axis; zero at the border of the tiles.
fn slope(tiles: &Tiles, field: &[f64], t: usize, cell: [usize; 3]) -> [f64; 3] {
    let at = |axis: usize, step: i32| {
        let mut c = cell.map(|c| c as i32);
        c[axis] += step;
        tiles.near(t, c[0], c[1], c[2]).map(|p| field[p])
    };
    std::array::from_fn(|axis| match (at(axis, -1), at(axis, 1)) {
        (Some(low), Some(high)) if axis < tiles.axes() => high - low,
        _ => 0.0,
    })
}

/// The weighted mean of what the neighbours expect; None without neighbours.
fn continued<'a>(near: impl Iterator<Item = &'a Neighbour>, linear: &[Linear]) -> Option<Linear> {
    let (mut sum, mut total) = ([0.0; 4], 0.0);
    for (p, offset) in near {
        let weight = [0.0, 4.0, 2.0, 1.0][offset.iter().map(|d| d.abs()).sum::<i32>() as usize];
        let [value, g @ ..] = linear[*p];
        // The new cell lies at minus the offset from its neighbour.
        let there = value - (0..3).map(|a| g[a] * offset[a] as f64).sum::<f64>();
        for (s, v) in sum.iter_mut().zip([there, g[0], g[1], g[2]]) {
            *s += weight * v;
        }
        total += weight;
    }
    (total > 0.0).then(|| sum.map(|s| s / total))
}

/// Values of the known cells within two cells of an unknown one, and gradients where the value is within
/// `near` of zero.
fn gradients(tiles: &Tiles, values: &[f64], known: &[Mask], near: f64, linear: &mut [Linear]) {
    let volume = tiles.volume();
    let unknown: Vec<Mask> = known
        .par_iter()
        .map(|m| std::array::from_fn(|z| if z < tiles.depth() { !m[z] } else { 0 }))
        .collect();
    // Two cells deep, so that those at the gap can borrow slopes from those behind them.
    let ring = beside(tiles, &beside(tiles, &unknown));
    let part_of = |t: usize| -> Vec<(usize, Linear, u8)> {
        let wanted: Mask = std::array::from_fn(|z| ring[t][z] & known[t][z]);
        if wanted == [0; SIDE] {
            return Vec::new();
        }
        let rows = Rows::new(tiles, known, t);
        let mut beside = Vec::with_capacity(26);
        let mut found = Vec::new();
        for_each_bit(&wanted, |place, cell| {
            let value = values[t * volume + place];
            if value.abs() >= near {
                found.push((place, [value, 0.0, 0.0, 0.0], u8::MAX));
                return;
            }
            rows.neighbours(tiles, t, cell, Reach::Faces, &mut beside);
            let (gradient, axes) = differences(values, value, &beside);
            found.push((place, [value, gradient.x, gradient.y, gradient.z], axes));
        });
        found
    };
    let found: Vec<Vec<(usize, Linear, u8)>> = (0..tiles.len()).into_par_iter().map(part_of).collect();
    let mut axes_known = tiles.field(0u8);
    linear.par_chunks_mut(volume.max(1)).zip(axes_known.par_chunks_mut(volume.max(1))).zip(&found).for_each(
        |((linear, axes), found)| {
            for (place, value, known) in found {
                linear[*place] = *value;
                axes[*place] = *known;
            }
        },
    );
    complete(tiles, known, &found, linear, &mut axes_known);
}

/// The cells in or beside a mask.
fn beside(tiles: &Tiles, mask: &[Mask]) -> Vec<Mask> {
    let one = |t: usize| Rows::new(tiles, mask, t).grown(tiles.depth(), Reach::Corners);
    (0..tiles.len()).into_par_iter().map(one).collect()
}

/// Differences to known face neighbours, times the cell width, and a bit for each axis that has one.
fn differences(values: &[f64], middle: f64, near: &[Neighbour]) -> (Vec3, u8) {
    let (mut sum, mut count) = (Vec3::zeros(), [0.0; 3]);
    for (p, offset) in near {
        for axis in 0..3 {
            if offset[axis] != 0 {
                sum[axis] += (values[*p] - middle) * offset[axis] as f64;
                count[axis] += 1.0;
            }
        }
    }
    let bits = (0..3).fold(0, |b, a| b | u8::from(count[a] > 0.0) << a);
    (Vec3::from_fn(|a, _| if count[a] > 0.0 { sum[a] / count[a] } else { 0.0 }), bits)
}

/// Cells without a neighbour along some axis take that slope from the cells around them.
fn complete(
    tiles: &Tiles,
    known: &[Mask],
    found: &[Vec<(usize, Linear, u8)>],
    linear: &mut [Linear],
    axes_known: &mut [u8],
) {
    let (volume, full) = (tiles.volume(), if tiles.is_flat() { 3 } else { 7 });
    // Twice, for cells all of whose neighbours lack a slope too.
    for _ in 0..2 {
        let fix = |t: usize| -> Vec<(usize, Linear, u8)> {
            if found[t].iter().all(|(place, ..)| axes_known[t * volume + place] & full == full) {
                return Vec::new();
            }
            let rows = Rows::new(tiles, known, t);
            let mut near = Vec::with_capacity(26);
            let lacking = found[t].iter().filter(|(place, ..)| axes_known[t * volume + place] & full != full);
            lacking
                .map(|(place, ..)| {
                    let at = t * volume + place;
                    let cell = [place % SIDE, place / SIDE % SIDE, place / (SIDE * SIDE)];
                    rows.neighbours(tiles, t, cell, Reach::Corners, &mut near);
                    borrow_slopes(linear[at], axes_known[at], &near, linear, axes_known, at)
                })
                .collect()
        };
        let fixed: Vec<Vec<(usize, Linear, u8)>> = (0..tiles.len()).into_par_iter().map(fix).collect();
        for (at, value, axes) in fixed.into_iter().flatten() {
            linear[at] = value;
            axes_known[at] = axes;
        }
    }
}

fn borrow_slopes(
    mut own: Linear,
    mut axes: u8,
    near: &[Neighbour],
    linear: &[Linear],
    axes_known: &[u8],
    at: usize,
) -> (usize, Linear, u8) {
    for axis in (0..3).filter(|a| axes_known[at] >> a & 1 == 0) {
        let lenders = near.iter().filter(|(p, _)| axes_known[*p] >> axis & 1 == 1);
        let (sum, count) = lenders.fold((0.0, 0.0), |(s, n), (p, _)| (s + linear[*p][axis + 1], n + 1.0));
        if count > 0.0 {
            own[axis + 1] = sum / count;
            axes |= 1 << axis;
        }
    }
    (at, own, axes)
}

/// Let a surface for pictures enter the solids by `overlap` metres and close there: max(φ, γ) with the
/// [closing](wall_closing) γ, and γ alone where that is the depth below the wet side of a wall.
pub fn close_in_walls(tiles: &Tiles, phi: &mut [f64], solid: &[f64], overlap: f64) {
    let closing = wall_closing(tiles, phi, solid, overlap);
    phi.par_iter_mut().zip(solid).zip(closing).for_each(|((p, s), c)| {
        *p = if c == -(s + overlap) { p.max(c) } else { c };
    });
}

/// What is negative outside the solids and down to `overlap` inside them, so that glass shows no gap.
///
/// `phi` is the liquid's distance, continued into the solids; `solid` the solids' distance, negative
/// inside them. The closing is −(solid + overlap). Behind the middle of a wall `solid` is the distance to
/// its far side; beside liquid the depth below the near side goes on there, or the liquid would end wherever
/// the next centre of a cell lies.
pub fn wall_closing(tiles: &Tiles, phi: &[f64], solid: &[f64], overlap: f64) -> Vec<f64> {
    let (mut closing, v) = (tiles.field(0.0), tiles.volume());
    let parts = closing.par_chunks_mut(v).zip(phi.par_chunks(v)).zip(solid.par_chunks(v)).enumerate();
    parts.for_each_init(
        <(Patch, Patch)>::default,
        |(liquid, wall), (t, ((closing, phi_here), solid_here))| {
            let is_behind = |(p, s): (&f64, &f64)| *s < 0.0 && *p >= 0.0;
            let mut sides = Sides::default();
            if phi_here.iter().zip(solid_here).any(is_behind) {
                liquid.load(tiles, phi, tiles.coords()[t], 1, f64::INFINITY);
                sides = Sides::of(liquid);
                if !sides.all_above() {
                    wall.load(tiles, solid, tiles.coords()[t], 2, 0.0);
                }
            }
            for (l, (p, s)) in phi_here.iter().zip(solid_here).enumerate() {
                let depth = match is_behind((p, s)) && sides.at(l) != Side::Above {
                    true => depth_from_liquid(tiles, liquid, wall, tiles.cell(t * v + l)),
                    false => None,
                };
                // Never liquid on the far side, however thin the wall.
                closing[l] = depth.map_or(-(s + overlap), |depth| (depth - overlap).max(1e-3 * tiles.h()));
            }
        },
    );
    closing
}

/// How deep a cell behind the middle of a wall lies below the side where the liquid is; None if there is
/// no liquid beside it, or on its own side only.
fn depth_from_liquid(tiles: &Tiles, liquid: &Patch, wall: &Patch, cell: [i32; 3]) -> Option<f64> {
    let out = uphill(tiles, wall, cell)?;
    let layers = if tiles.is_flat() { 0..=0 } else { -1..=1 };
    let (mut sum, mut count) = (0.0, 0.0);
    for step in layers.flat_map(|z| (-1..=1).flat_map(move |y| (-1..=1).map(move |x| [x, y, z]))) {
        let beside: [i32; 3] = std::array::from_fn(|a| cell[a] + step[a]);
        let way = Vec3::new(step[0] as f64, step[1] as f64, step[2] as f64);
        if liquid.get(beside) < 0.0 && way.dot(&out) < -0.25 * way.norm() {
            let Some(near) = uphill(tiles, wall, beside) else { continue };
            // Only across the middle do the ways out part; on one side of it the liquid beside is merely lower.
            if near.dot(&out) < 0.0 {
                // Distances grow by one cell a cell along their gradient.
                (sum, count) = (sum - wall.get(beside) + near.dot(&way) * tiles.h(), count + 1.0);
            }
        }
    }
    (count > 0.0).then(|| sum / count)
}

/// The direction in which a distance grows.
fn uphill(tiles: &Tiles, distance: &Patch, cell: [i32; 3]) -> Option<Vec3> {
    let along = |a: usize| {
        let (mut low, mut high) = (cell, cell);
        low[a] -= 1;
        high[a] += 1;
        distance.get(high) - distance.get(low)
    };
    let axes = tiles.axes();
    Vec3::from_fn(|a, _| if a < axes { along(a) } else { 0.0 }).try_normalize(1e-9 * tiles.h())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use crate::math::Pose;

    fn block(n: i32, flat: bool) -> Tiles {
        let span = move || -n..n;
        let depth = if flat { 0..1 } else { -n..n };
        let coords = depth.flat_map(|z| span().flat_map(move |y| span().map(move |x| [x, y, z])));
        Tiles::new(0.1, Vec3::new(0.01, 0.02, 0.03), flat, coords.collect())
    }

    fn centres(tiles: &Tiles) -> Vec<Vec3> {
        (0..tiles.cells()).map(|p| tiles.centre(tiles.cell(p))).collect()
    }

    #[test]
    fn still_water_in_a_tilted_box_stays_plane_inside_the_walls() {
        let pose =
            Pose { rotation: Pose::from_euler_xyz(&Vec3::new(0.4, 0.2, 0.7)), translation: Vec3::zeros() };
        let walls = Shape::cuboid(Vec3::new(0.9, 0.7, 0.8), 0.0).unwrap();
        for flat in [false, true] {
            let tiles = block(2, flat);
            let x = centres(&tiles);
            let plane = |x: &Vec3| 0.3 * x.x + 0.9 * x.y - 0.2 * x.z + 0.123;
            // Known inside the box only; NaN elsewhere shows that nothing else is read.
            let known: Vec<u8> = x.iter().map(|x| (walls.distance(&pose.to_local(x)) < 0.0) as u8).collect();
            let mut phi: Vec<f64> =
                x.iter().zip(&known).map(|(x, k)| if *k == 1 { plane(x) } else { f64::NAN }).collect();
            extend_linear(&tiles, &mut phi, &known, 4).unwrap();
            let mut filled = 0;
            for (p, x) in x.iter().enumerate().filter(|(p, _)| !phi[*p].is_nan()) {
                assert!((phi[p] - plane(x)).abs() < 1e-13, "{} {}", phi[p], plane(x));
                filled += (known[p] == 0) as u32;
            }
            assert!(filled > if flat { 300 } else { 5000 }, "{filled}");
        }
    }

    #[test]
    fn averages_spread_one_layer_at_a_time() {
        let tiles = block(1, false);
        let mut values = tiles.field(f64::NAN);
        let mut known = tiles.field(0u8);
        let start = tiles.locate([0, 0, 0]).unwrap();
        (values[start], known[start]) = (3.0, 1);
        extend_average(&tiles, &mut values, &mut known, 5).unwrap();
        for p in 0..tiles.cells() {
            let far = tiles.cell(p).iter().map(|c| c.abs()).sum::<i32>();
            if far <= 5 {
                assert_eq!((values[p], known[p] as i32), (3.0, far + 1));
            } else {
                assert!(values[p].is_nan() && known[p] == 0);
            }
        }
    }

    #[test]
    fn an_average_is_that_of_the_face_neighbours_that_are_known() {
        let tiles = block(1, true);
        let mut values = tiles.field(0.0);
        let mut known = tiles.field(0u8);
        for (cell, value) in [([-1, 0, 0], 1.0), ([0, -1, 0], 5.0), ([1, 1, 0], 100.0)] {
            let p = tiles.locate(cell).unwrap();
            (values[p], known[p]) = (value, 1);
        }
        extend_average(&tiles, &mut values, &mut known, 1).unwrap();
        assert_eq!(values[tiles.locate([0, 0, 0]).unwrap()], 3.0);
        assert_eq!(values[tiles.locate([2, 1, 0]).unwrap()], 100.0);
        assert!(extend_average(&tiles, &mut values[1..], &mut known, 1).is_err());
    }

    #[test]
    fn one_thread_and_three_extend_alike() {
        let tiles = block(2, false);
        let known: Vec<u8> = centres(&tiles).iter().map(|x| (x.norm() < 0.7) as u8).collect();
        let start: Vec<f64> = centres(&tiles).iter().map(|x| (9.0 * x.x).sin() + x.y * x.z).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut a, mut b, mut mask) = (start.clone(), start.clone(), known.clone());
            pool.install(|| {
                extend_linear(&tiles, &mut a, &known, 6).unwrap();
                extend_average(&tiles, &mut b, &mut mask, 6).unwrap();
            });
            (a.iter().chain(&b).map(|v| v.to_bits()).collect::<Vec<u64>>(), mask)
        };
        assert!(run(1) == run(3));
    }

    #[test]
    fn the_surface_enters_the_wall_by_the_overlap() {
        let (tiles, overlap) = (block(2, false), 0.07);
        // Water at x < 0 in a wall of two and a bit cells, air behind it, wherever the cells lie.
        for shift in [0.0, 0.013, 0.031, 0.05, 0.077] {
            let wall = |x: &Vec3| (x.x - 0.115 - shift).abs() - 0.115;
            let x = centres(&tiles);
            let solid: Vec<f64> = x.iter().map(wall).collect();
            let side = |x: &Vec3| if x.x < 0.115 + shift { -0.4 } else { 0.4 };
            let mut phi: Vec<f64> = x.iter().map(side).collect();
            close_in_walls(&tiles, &mut phi, &solid, overlap);
            let mesh = crate::grid::contour(&tiles, &phi).unwrap().mesh;
            // Away from the border of the tiles, where the surface closes too.
            let inside = |v: &&Vec3| v.x > -1.0 && v.y.abs() < 0.5 && v.z.abs() < 0.5;
            for v in mesh.positions.iter().filter(inside) {
                assert!((v.x - shift - overlap).abs() < 1e-12, "{} {shift}", v.x - shift);
            }
            assert!(mesh.positions.iter().filter(inside).count() > 50);
        }
    }
}
