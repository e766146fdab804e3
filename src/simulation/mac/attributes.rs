//! What particles carry, and how it comes to the surface.
//!
//! A particle's viscosity is what its source gave it; else that of its liquid at its age; else that of its liquid. On
//! the surface a value is the mean of the particles of a cell, by volume, linear between the centres of cells; cells
//! without particles take the mean of their neighbours. Which liquid it is cannot be a mean: a vertex belongs to the
//! liquid that has most in the nearest cell that has any. Checked by tests/attributes.rs.

use super::{Mac, MacOptions};
use crate::error::Result;
use crate::field::Particles;
use crate::geometry::Attribute;
use crate::grid::{Patch, extend_average};
use crate::math::{Vec3, elementary};
use crate::scene::Shown;
use rayon::prelude::*;

/// Liquid without any viscosity is mixed as if it had this, Pa·s.
pub(super) const THINNEST: f64 = 1e-6;
/// Layers of cells beyond the particles in which the surface may lie.
const LAYERS: usize = 3;

/// How thick the liquid of each particle is.
pub(super) struct Thickness<'a> {
    /// ln of the viscosity of each liquid.
    liquids: Vec<f64>,
    /// For liquids that age: (seconds, ln μ).
    aging: Vec<Vec<[f64; 2]>>,
    /// Where in a row viscosity and age stand.
    own: Option<usize>,
    age: Option<usize>,
    particles: &'a Particles,
}

impl<'a> Thickness<'a> {
    pub fn new(options: &MacOptions, particles: &'a Particles, viscosity: &[f64]) -> Self {
        let log = |v: f64| elementary::log(v.max(THINNEST));
        let curve = |keys: &Vec<[f64; 2]>| keys.iter().map(|k| [k[0], log(k[1])]).collect();
        let start = |name: &str| options.columns.find(name).map(|c| c.start);
        Self {
            liquids: viscosity.iter().map(|v| log(*v)).collect(),
            aging: options.aging.iter().map(curve).collect(),
            own: start("viscosity"),
            age: start("age"),
            particles,
        }
    }

    /// Whether all liquid is as thick as the first one of the scene.
    pub fn is_even(&self) -> bool {
        self.own.is_none() && self.particles.liquid.is_empty() && self.aging.iter().all(Vec::is_empty)
    }

    /// ln μ of a particle, μ in Pa·s.
    pub fn log(&self, p: usize) -> f64 {
        if let Some(at) = self.own {
            let own = self.particles.row(p)[at];
            if own.is_finite() {
                return elementary::log(f64::from(own).max(THINNEST));
            }
        }
        let liquid = self.particles.liquid.get(p).map_or(0, |l| *l as usize);
        match (self.aging.get(liquid), self.age) {
            (Some(keys), Some(at)) if !keys.is_empty() => along(keys, f64::from(self.particles.row(p)[at])),
            _ => self.liquids.get(liquid).copied().unwrap_or(elementary::log(THINNEST)),
        }
    }
}

/// The value of a curve of rising [x, y], linear between and level beyond.
fn along(keys: &[[f64; 2]], x: f64) -> f64 {
    let after = keys.partition_point(|k| k[0] <= x);
    if after == 0 || after == keys.len() {
        return keys[after.saturating_sub(1)][1];
    }
    let ([x0, a], [x1, b]) = (keys[after - 1], keys[after]);
    a + (b - a) * (x - x0) / (x1 - x0)
}

/// Where a shown value comes from.
enum Origin {
    /// Numbers of the row from here on.
    Row(usize),
    Viscosity,
    Phase,
}

/// A value that files show.
pub(super) struct Value {
    pub name: String,
    width: usize,
    origin: Origin,
}

impl Mac {
    /// The greatest viscosity that a particle has from its source, Pa·s.
    pub(super) fn thickest_painted(&self) -> f64 {
        let particles = &self.now.particles;
        let Some(column) = self.options.columns.find("viscosity") else { return 0.0 };
        let rows = particles.carried.par_chunks_exact(particles.stride.max(1));
        // Most have none of their own, which is no number and never the greater.
        f64::from(rows.map(|row| row[column.start]).reduce(|| 0.0, f32::max))
    }

    pub(super) fn shown(&self) -> Vec<Value> {
        let columns = self.options.columns.iter().map(|c| Value {
            name: c.name.clone(),
            width: c.width,
            origin: if c.name == "viscosity" { Origin::Viscosity } else { Origin::Row(c.start) },
        });
        let asked = |shown: Shown| self.options.shown.contains(&shown);
        // An age that nobody asked for only makes liquid melt.
        let mut all: Vec<Value> = columns.filter(|v| v.name != "age" || asked(Shown::Age)).collect();
        if asked(Shown::Viscosity) && all.iter().all(|v| v.name != "viscosity") {
            all.push(Value { name: "viscosity".into(), width: 1, origin: Origin::Viscosity });
        }
        if asked(Shown::Phase) {
            all.push(Value { name: "phase".into(), width: 1, origin: Origin::Phase });
        }
        all
    }

    fn value(&self, value: &Value, thickness: &Thickness, p: usize, n: usize) -> f64 {
        let particles = &self.now.particles;
        match value.origin {
            Origin::Row(start) => f64::from(particles.row(p)[start + n]),
            Origin::Viscosity => elementary::exp(thickness.log(p)),
            Origin::Phase => particles.liquid.get(p).map_or(0.0, |l| f64::from(*l)),
        }
    }

    /// What each particle carries, by name.
    pub(super) fn attributes_of_particles(&self, viscosity: &[f64]) -> Vec<Attribute> {
        let thickness = Thickness::new(&self.options, &self.now.particles, viscosity);
        let of = |value: &Value| {
            let all = (0..self.now.particles.len() * value.width).into_par_iter();
            let one = |i: usize| self.value(value, &thickness, i / value.width, i % value.width) as f32;
            Attribute { name: value.name.clone(), width: value.width, data: all.map(one).collect() }
        };
        self.shown().iter().map(of).collect()
    }

    /// The same at points of the surface, and then at each of some particles `repeat` times.
    pub(super) fn attributes_at(
        &self,
        points: &[Vec3],
        drops: &[usize],
        repeat: usize,
        viscosity: &[f64],
    ) -> Result<Vec<Attribute>> {
        let thickness = Thickness::new(&self.options, &self.now.particles, viscosity);
        let mut found = Vec::new();
        for value in self.shown() {
            let mut columns = Vec::new();
            for n in 0..value.width {
                let of = |p: usize| self.value(&value, &thickness, p, n);
                columns.push(match value.origin {
                    Origin::Phase => self.most_at(points),
                    _ => self.mean_at(points, of)?,
                });
            }
            let mut data: Vec<f32> =
                (0..points.len()).flat_map(|i| columns.iter().map(move |c| c[i] as f32)).collect();
            for &p in drops {
                let row = |_| (0..value.width).map(|n| self.value(&value, &thickness, p, n) as f32);
                data.extend((0..repeat).flat_map(row));
            }
            found.push(Attribute { name: value.name, width: value.width, data });
        }
        Ok(found)
    }

    /// The mean of a value of the particles round each of many points.
    fn mean_at(&self, points: &[Vec3], value: impl Fn(usize) -> f64 + Sync) -> Result<Vec<f64>> {
        let (tiles, particles) = (&self.now.grid.tiles, &self.now.particles);
        let of_cell = |place: usize| {
            let (mut sum, mut volume) = (0.0, 0.0);
            for p in particles.of_cell(place) {
                let v = particles.volume[p] as f64;
                (sum, volume) = (sum + v * value(p), volume + v);
            }
            if volume > 0.0 { (sum / volume, 1) } else { (0.0, 0u8) }
        };
        let cells: Vec<(f64, u8)> = (0..tiles.cells()).into_par_iter().map(of_cell).collect();
        let (mut mean, mut known): (Vec<f64>, Vec<u8>) = cells.into_iter().unzip();
        extend_average(tiles, &mut mean, &mut known, LAYERS)?;
        // Cells of which nothing is known do not count.
        let counts: Vec<f64> = known.par_iter().map(|k| f64::from(*k != 0)).collect();
        let chunk = |points: &[Vec3]| {
            let (mut patch, mut count, mut loaded) = (Patch::default(), Patch::default(), None);
            let at = |x: &Vec3| {
                let coord = tiles.split(tiles.cell_at(x)).0;
                if loaded != Some(coord) {
                    patch.load(tiles, &mean, coord, 1, 0.0);
                    count.load(tiles, &counts, coord, 1, 0.0);
                    loaded = Some(coord);
                }
                let at = tiles.centred(x);
                patch.sample(at) / count.sample(at).max(f64::MIN_POSITIVE)
            };
            points.iter().map(at).collect::<Vec<f64>>()
        };
        Ok(points.par_chunks(1024).flat_map_iter(chunk).collect())
    }

    /// The liquid that has most in the nearest cell that has any, for each of many points.
    fn most_at(&self, points: &[Vec3]) -> Vec<f64> {
        let (tiles, particles) = (&self.now.grid.tiles, &self.now.particles);
        let most = |place: usize| {
            let mut volume = vec![0.0; self.options.liquids.max(1)];
            for p in particles.of_cell(place) {
                volume[particles.liquid.get(p).map_or(0, |l| *l as usize)] += particles.volume[p] as f64;
            }
            let best = (0..volume.len()).fold(0, |b, l| if volume[l] > volume[b] { l } else { b });
            (volume[best] > 0.0).then_some(best as f64)
        };
        let at = |x: &Vec3| {
            let cell = tiles.cell_at(x);
            let distance = |c: &[i32; 3]| (tiles.centre(*c) - x).norm_squared();
            let mut near: Vec<[i32; 3]> =
                (0..125).map(|n| std::array::from_fn(|a| cell[a] + n / [1, 5, 25][a] % 5 - 2)).collect();
            near.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
            near.into_iter().filter_map(|c| tiles.locate(c)).find_map(most).unwrap_or(0.0)
        };
        if particles.liquid.is_empty() {
            vec![0.0; points.len()]
        } else {
            points.par_iter().map(at).collect()
        }
    }
}
