//! The share of the box of one cell's size round every sample that lies inside a distance.
//!
//! The box is cut into `parts` sub-boxes a side, the distance is taken at their corners and each sub-box
//! is cut by [`fraction`], which is exact for planes. One part a side leaves an error of κh/8 in the share of a
//! box cut by a surface of curvature κ, which the published figures notice; four parts leave 1/16 of it.
//! The distance is a function, or the multilinear interpolation of values on a lattice, which has the same
//! error of κh/8 whatever the parts. What is not solid is weighed with the sign of the solid's distance turned. Checked in tests/stokes.rs: the shares of a disk and of a ball add up to
//! their areas and volumes, and a plane is exact.
//!
//! # Other weights
//!
//! Pressure alone may have weights of one order more and keep its symmetric matrix: [`Shares::ghost`] for the surface and
//! [`Shares::areas`] for walls. On 32² to 256² cells the orders in L1 (L∞) become
//!
//! ```text
//!                        p volume     p sharp      u volume      u sharp      u L∞ at 256²
//! surface, table 4.1   1.48 (1.01)  1.89 (1.82)   .90 (−.24)   1.87  (.81)   .146 → .0019
//! wall, table 4.2      1.42  (.74)  1.99 (1.61)   .88 (−.32)   1.77 (−.09)   .108 → .0047
//! ```
//!
//! (the largest error of u at walls is of a face with an area of 10⁻³; it is small, but falls with no order).
//!
//! Stress admits no such weights. A stress acts on two velocities through two faces, so areas would weigh τ_xy by the room
//! across x in one row and across y in the other; then a turning of the liquid is strained, ω(A_x − A_y), and rigid
//! motions are lost. One weight a stress is left, and which one hardly matters. Tried, L1 orders of (τ_xx, u) from 128² to 256², with
//! the published weights first: surface, table 4.3: volume (2.0, 1.1), mean area for τ (2.1, 1.1), for u (1.3, 1.1), for both (1.3, 1.1),
//! all or nothing for τ (1.2, 1.1). Walls, table 4.4, where rigid motions do not forbid it: volume (1.1, 2.2), areas of their
//! own for each flux (1.1, 1.9; u 20 % smaller), mean area for u (1.1, 2.1), for both (.9, 1.9), all or nothing for u (.9, 2.0). Surface and walls of Stokes
//! flow, tables 4.5 to 4.8: none is better than volume by more than a tenth, areas for each flux raise the errors of 4.6 and 4.8 by
//! a tenth to a quarter. At a surface p and τ must have the same weights, since only the traction of both together vanishes.

use super::samples::{Samples, Site};
use crate::geometry::fraction;
use crate::math::Vec3;
use rayon::prelude::*;

/// Shares below this count as none. The published figures show this bound: without it the walls of a disk on
/// 512² cells have errors a third smaller. It also keeps the diagonals within four powers of ten.
const LEAST: f64 = 1e-4;

/// One share for every sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    pub centre: Vec<f64>,
    pub face: [Vec<f64>; 3],
    pub edge: [Vec<f64>; 3],
}

impl Shares {
    /// The same share everywhere.
    pub fn uniform(samples: &Samples, value: f64) -> Self {
        Self::build(samples, |_, _| value)
    }

    /// Shares where `distance` is negative. It must not grow faster than the way between two points.
    pub fn of_distance(samples: &Samples, parts: usize, distance: impl Fn(Vec3) -> f64 + Sync) -> Self {
        let h = samples.h();
        let reach = 0.5 * h * (samples.axes() as f64).sqrt();
        Self::build(samples, |site, i| {
            let x = samples.position(site, i);
            let middle = distance(x);
            if middle.abs() > reach {
                return (middle < 0.0) as u8 as f64;
            }
            inside(samples.axes(), parts, &|offset| distance(x + offset * h))
        })
    }

    /// Shares of liquid for pressure alone: all or nothing at centres, and on faces the share of the way between the two
    /// centres that is wet [GFCK02].
    pub fn ghost(samples: &Samples, distance: impl Fn(Vec3) -> f64 + Sync) -> Self {
        Self::build(samples, |site, i| {
            let x = samples.position(site, i);
            let half = match site {
                Site::Face(axis) => Vec3::ith(axis, 0.5 * samples.h()),
                _ => return (distance(x) < 0.0) as u8 as f64,
            };
            fraction::segment([distance(x - half), distance(x + half)])
        })
    }

    /// Shares of room for pressure alone: those of [`Self::of_distance`], but on faces those of their areas [NMG09].
    pub fn areas(samples: &Samples, parts: usize, distance: impl Fn(Vec3) -> f64 + Sync) -> Self {
        let (h, axes) = (samples.h(), samples.axes());
        let boxes = Self::of_distance(samples, parts, &distance);
        let mut out = Self::build(samples, |site, i| {
            let Site::Face(axis) = site else { return 0.0 };
            let x = samples.position(site, i);
            let (b, c) = if axes == 2 { (1 - axis, 2) } else { ((axis + 1) % 3, (axis + 2) % 3) };
            face_inside(axes, parts, &|s, t| {
                let mut y = x;
                (y[b], y[c]) = (x[b] + s * h, x[c] + t * h);
                distance(y)
            })
        });
        (out.centre, out.edge) = (boxes.centre, boxes.edge);
        out
    }

    /// Shares where values on a lattice, interpolated between them, are negative.
    pub fn of_lattice(samples: &Samples, parts: usize, lattice: &Lattice) -> Self {
        Self::build(samples, |site, i| {
            let at = samples.place(site, i);
            let x = Vec3::new(at[0] as f64, at[1] as f64, at[2] as f64) + samples.offset(site);
            if let Some(whole) = lattice.one_sided(samples.axes(), x) {
                return whole;
            }
            inside(samples.axes(), parts, &|offset| lattice.at(samples.axes(), x + offset))
        })
    }

    /// Shares by a function of kind and number.
    pub fn build(samples: &Samples, share: impl Fn(Site, usize) -> f64 + Sync) -> Self {
        let fill = |site: Site| -> Vec<f64> {
            (0..samples.count(site))
                .into_par_iter()
                .with_min_len(256)
                .map(|i| clean(share(site, i)))
                .collect()
        };
        let (mut face, mut edge): ([Vec<f64>; 3], [Vec<f64>; 3]) = Default::default();
        (0..samples.axes()).for_each(|a| face[a] = fill(Site::Face(a)));
        samples.edge_axes().for_each(|a| edge[a] = fill(Site::Edge(a)));
        Self { centre: fill(Site::Centre), face, edge }
    }

    /// The shares of one kind of sample.
    pub fn get(&self, site: Site) -> &[f64] {
        match site {
            Site::Centre => &self.centre,
            Site::Face(axis) => &self.face[axis],
            Site::Edge(axis) => &self.edge[axis],
        }
    }
}

fn clean(share: f64) -> f64 {
    if share < LEAST { 0.0 } else { share.min(1.0) }
}

/// Share of the unit box where a value, given at offsets from the middle, is negative.
fn inside(axes: usize, parts: usize, value: &dyn Fn(Vec3) -> f64) -> f64 {
    let (m, deep) = (parts + 1, if axes == 3 { parts } else { 1 });
    let layers = if axes == 3 { m } else { 1 };
    let at = |i: usize| i as f64 / parts as f64 - 0.5;
    let mut corners = Vec::with_capacity(m * m * layers);
    for k in 0..layers {
        for j in 0..m {
            corners
                .extend((0..m).map(|i| value(Vec3::new(at(i), at(j), if axes == 3 { at(k) } else { 0.0 }))));
        }
    }
    let corner = |i: usize, j: usize, k: usize| corners[(k * m + j) * m + i];
    let mut sum = 0.0;
    for k in 0..deep {
        for j in 0..parts {
            for i in 0..parts {
                sum += match axes {
                    2 => fraction::rectangle([0, 1, 2, 3].map(|c| corner(i + (c & 1), j + (c >> 1), 0))),
                    _ => fraction::cube(std::array::from_fn(|c| {
                        corner(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2))
                    })),
                };
            }
        }
    }
    sum / (parts * parts * deep) as f64
}

/// Share of a unit segment or square where a value, given at offsets from the middle, is negative.
fn face_inside(axes: usize, parts: usize, value: &dyn Fn(f64, f64) -> f64) -> f64 {
    let at = |i: usize| i as f64 / parts as f64 - 0.5;
    if axes == 2 {
        let line: Vec<f64> = (0..=parts).map(|i| value(at(i), 0.0)).collect();
        return line.windows(2).map(|w| fraction::segment([w[0], w[1]])).sum::<f64>() / parts as f64;
    }
    let mut sum = 0.0;
    for j in 0..parts {
        for i in 0..parts {
            sum += fraction::rectangle([0, 1, 2, 3].map(|c| value(at(i + (c & 1)), at(j + (c >> 1)))));
        }
    }
    sum / (parts * parts) as f64
}

/// Values at points one cell apart, at nodes or at centres.
#[derive(Clone, Copy, Debug)]
pub struct Lattice<'a> {
    /// Values along x, y and z; a flat block has one layer.
    pub extent: [usize; 3],
    /// Place of the first value, in cells from the lowest corner of the samples.
    pub first: f64,
    pub values: &'a [f64],
}

impl Lattice<'_> {
    fn get(&self, [i, j, k]: [usize; 3]) -> f64 {
        self.values[(k * self.extent[1] + j) * self.extent[0] + i]
    }

    /// 0 or 1 if all values that the box round a point looks at are on one side.
    fn one_sided(&self, axes: usize, x: Vec3) -> Option<f64> {
        let range = |a: usize| {
            if a >= axes {
                return 0..1;
            }
            let last = self.extent[a] - 1;
            let low = ((x[a] - self.first - 0.5).floor().max(0.0) as usize).min(last.saturating_sub(1));
            let high = ((x[a] - self.first + 0.5).ceil().max(0.0) as usize).clamp(last.min(1), last);
            low..high + 1
        };
        let (mut negative, mut positive) = (false, false);
        for k in range(2) {
            for j in range(1) {
                for i in range(0) {
                    let v = self.get([i, j, k]);
                    negative |= v < 0.0;
                    positive |= v >= 0.0;
                }
            }
        }
        // Beyond the last values the straight lines may still cross zero.
        let within = (0..axes).all(|a| {
            let t = x[a] - self.first;
            t >= 0.5 && t + 0.5 <= (self.extent[a] - 1) as f64
        });
        (within && negative != positive).then_some(negative as u8 as f64)
    }

    /// The value at a place in cells: interpolated, and beyond the lattice continued in straight lines.
    pub fn at(&self, axes: usize, x: Vec3) -> f64 {
        let part: [(usize, f64); 3] = std::array::from_fn(|a| {
            if a >= axes || self.extent[a] == 1 {
                return (0, 0.0);
            }
            let t = x[a] - self.first;
            let low = (t.floor().max(0.0) as usize).min(self.extent[a] - 2);
            (low, t - low as f64)
        });
        let mut sum = 0.0;
        for c in 0..1usize << axes {
            let weight = |a: usize| if c >> a & 1 == 1 { part[a].1 } else { 1.0 - part[a].1 };
            let weight: f64 = (0..axes).map(weight).product();
            if weight != 0.0 {
                sum += weight * self.get(std::array::from_fn(|a| part[a].0 + (c >> a & 1)));
            }
        }
        sum
    }
}
