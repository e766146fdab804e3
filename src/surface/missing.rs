//! Where liquid has gone missing in a step.
//!
//! A step carries the surface by the velocity that was found before it. What meets a wall or other liquid on the way runs
//! into it by up to a step's path: two volumes come to lie in one place, and a distance knows only one. The loss is seen by
//! counting: with V the liquid in a cell, x its place, x′ where it is carried (put outside solids), and hats w of
//! [`WIDTH`] cells,
//!
//! ```text
//!     C_X = Σ_old V w_X(x′)        L_X = Σ_new V w_X(x)        rate = (C_X − L_X)/L_X
//! ```
//!
//! where V of before includes what was missing then. The rate is how much the liquid at X has to expand to have its volume again. Hats keep the volume and its first
//! moment, and liquid that moves as a whole or rests has rate 0 up to rounding. The liquid of a cell that is cut lies
//! (1 − V/h³) h/2 from its middle. Far below the surface of before nothing meets: there, where the velocity is not asked
//! for, the rate is 0.

use super::tiled_level_set::{Around, Centred, TiledLevelSet, sample_linear};
use super::tracker::Carry;
use crate::error::Result;
use crate::field::{Particles, volume_at_centres};
use crate::grid::Tiles;
use crate::math::Vec3;
use rayon::prelude::*;

/// Half the width of the hats, in cells.
const WIDTH: i32 = 2;
/// Only places less deep below the old surface than this many cells are looked at.
const DEPTH: f64 = 3.0;
/// With less liquid about, as a share of all that has room, the rate is as if there were so much.
const LEAST: f64 = 0.25;
/// Rates below this are errors of counting; none is greater than the second.
const RATES: [f64; 2] = [0.01, 0.5];

/// How much liquid is missing, by place.
#[derive(Clone, Debug, Default)]
pub struct Missing {
    tiles: Tiles,
    rate: Vec<f64>,
}

/// Liquid of cells: where it is, and how much, m³.
pub(super) type Contents = Vec<(Vec3, f64)>;

impl Missing {
    /// From saved numbers: the tiles of the hats, for cells of width `h`, and the rates.
    pub fn from_parts(h: f64, origin: Vec3, coords: Vec<[i32; 3]>, rate: Vec<f64>) -> Self {
        Self { tiles: Tiles::new(f64::from(WIDTH) * h, origin, false, coords), rate }
    }

    /// The tiles of the hats, and the rates: what [`Missing::from_parts`] takes.
    pub fn parts(&self) -> (&[[i32; 3]], &[f64]) {
        (self.tiles.coords(), &self.rate)
    }

    /// Whether nothing is missing anywhere.
    pub fn is_none(&self) -> bool {
        self.rate.iter().all(|r| *r == 0.0)
    }

    /// By which share of its volume the liquid at a point should expand.
    pub fn rate(&self, x: &Vec3) -> f64 {
        if self.tiles.is_empty() { 0.0 } else { sample_linear(&self.tiles, &self.rate, 0.0, x) }
    }

    /// Compare what was carried with what is there now.
    pub(super) fn count(
        old: &TiledLevelSet,
        carried: &Contents,
        new: &TiledLevelSet,
        present: &Contents,
    ) -> Result<Self> {
        let h = new.tiles.h();
        let around = |c: &[i32; 3]| {
            let c = *c;
            (0..27).map(move |n| [0, 1, 2].map(|a| (c[a] + n / [1, 3, 9][a] % 3 - 1).div_euclid(WIDTH)))
        };
        let coords = new.tiles.coords().iter().flat_map(around).collect();
        let tiles = Tiles::new(f64::from(WIDTH) * h, new.tiles.origin(), false, coords);
        let [carried, present] = [scatter(&tiles, carried)?, scatter(&tiles, present)?];
        let least = LEAST * f64::from(WIDTH.pow(3)) * h.powi(3);
        let rate = |place: usize| {
            let missing = carried[place] - present[place];
            let x = tiles.centre(tiles.cell(place));
            if missing.abs() < RATES[0] * least || old.distance(&x) < -DEPTH * h {
                return 0.0;
            }
            let rate = missing / present[place].max(least);
            let beyond = (rate.abs() - RATES[0]).clamp(0.0, RATES[1]);
            beyond.copysign(rate)
        };
        let rate = (0..tiles.cells()).into_par_iter().map(rate).collect();
        Ok(Self { tiles, rate })
    }
}

fn scatter(tiles: &Tiles, contents: &Contents) -> Result<Vec<f64>> {
    let mut particles = Particles::default();
    for (id, (x, volume)) in contents.iter().enumerate() {
        if tiles.locate(tiles.cell_at(x)).is_some() {
            particles.push(*x, Vec3::zeros(), id as u64, *volume as f32, None);
        }
    }
    particles.sort(tiles)?;
    Ok(volume_at_centres(tiles, &particles))
}

/// Where the liquid of cells is after a step.
pub(super) fn carry_contents(
    old: &TiledLevelSet,
    contents: &Contents,
    velocity: &Centred,
    carry: &Carry,
    margin: usize,
) -> Contents {
    let tiles = &old.tiles;
    let (h, origin) = (tiles.h(), tiles.origin());
    // Cells of a tile stand together.
    let coord = |x: &Vec3| tiles.split(tiles.cell_at(x)).0;
    let mut runs: Vec<&[(Vec3, f64)]> = Vec::new();
    let mut rest = &contents[..];
    while let Some((x, _)) = rest.first() {
        let own = coord(x);
        let (run, others) =
            rest.split_at(rest.iter().position(|(x, _)| coord(x) != own).unwrap_or(rest.len()));
        runs.push(run);
        rest = others;
    }
    let moved = |around: &mut Around, run: &[(Vec3, f64)]| {
        around.load(tiles, &old.phi, velocity, coord(&run[0].0), margin);
        let one = |(x, volume): &(Vec3, f64)| {
            let g = around.trace(&Vec3::from(tiles.centred(x)), carry.dt / h);
            (outside(carry, origin + g.add_scalar(0.5) * h, h), *volume)
        };
        run.iter().map(one).collect::<Vec<_>>()
    };
    let parts: Vec<Vec<(Vec3, f64)>> = runs.into_par_iter().map_init(Around::default, moved).collect();
    parts.concat()
}

/// The nearest place outside solids.
fn outside(carry: &Carry, mut x: Vec3, h: f64) -> Vec3 {
    // Two walls that meet need a second look.
    for _ in 0..2 {
        let d = carry.solids.distance(&x, 4.0 * h);
        if d >= 0.0 {
            break;
        }
        x -= carry.solids.outward(&x, 0.25 * h) * d;
    }
    x
}
