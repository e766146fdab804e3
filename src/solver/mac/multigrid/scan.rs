//! One pass over a stencil: whether its numbers are sound, what its tiles are, and the pull of the air.
//!
//! Every number is read once. Tiles without unknowns and tiles without boundaries, most of many grids, are
//! found out by comparing alone.

use super::build::is_whole;
use super::level::TASK;
use crate::error::Result;
use crate::grid::{NONE, Tiles};
use crate::solver::mac::regions::Links;
use crate::solver::mac::stencil::{Kind, ROUNDING, SixCouplings, Stencil, face_neighbours, first_layer};
use rayon::prelude::*;

/// What a stencil is made of.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) kinds: Vec<Kind>,
    pub(super) links: Vec<Links>,
    /// The coupling of two cells without walls: the largest there is.
    pub(super) unit: f32,
}

/// What a tile shows by itself.
struct Seen {
    kind: Kind,
    links: Links,
    largest: f32,
    /// Whether its couplings are zero or the largest.
    even: bool,
    sound: bool,
}

impl Scan {
    /// Look at all tiles; the pull of the air on each cell goes to `pull`.
    pub(super) fn new(tiles: &Tiles, stencil: &Stencil, pull: &mut Vec<f32>) -> Result<Self> {
        stencil.check_size(tiles)?;
        pull.resize(tiles.cells(), 0.0);
        let chunks = pull.par_chunks_mut(tiles.volume().max(1)).enumerate().with_min_len(TASK);
        let seen: Vec<Seen> = chunks.map(|(t, pull)| look(tiles, stencil, t, pull)).collect();
        stencil.check_tiles(tiles, |t| !seen[t].sound)?;
        let unit = seen.iter().fold(0.0, |m: f32, s| m.max(s.largest));
        let is_even = |t: u32| {
            t == NONE || {
                let s = &seen[t as usize];
                s.even && (s.largest == unit || s.largest == 0.0) && joins_all(tiles, &seen, t as usize)
            }
        };
        let kind = |t: usize| match seen[t].kind {
            Kind::Empty => Kind::Empty,
            Kind::Plain if seen[t].largest == unit => Kind::Plain,
            // The faces at the upper ends of a tile belong to the tiles there.
            _ => {
                match is_even(t as u32) && [1, 3, 5].iter().all(|s| is_even(face_neighbours(tiles, t)[*s])) {
                    true => Kind::Surface,
                    false => Kind::Mixed,
                }
            }
        };
        let kinds = (0..tiles.len()).into_par_iter().with_min_len(TASK).map(kind).collect();
        Ok(Self { kinds, links: seen.into_iter().map(|s| s.links).collect(), unit })
    }
}

/// Whether each unknown of a tile is coupled with every unknown below it.
fn joins_all(tiles: &Tiles, seen: &[Seen], t: usize) -> bool {
    let (links, beside) = (&seen[t].links, face_neighbours(tiles, t));
    (0..tiles.axes()).all(|axis| {
        let below = match beside[2 * axis] {
            NONE => None,
            tile => Some(&seen[tile as usize].links),
        };
        links.joins_all_below(axis, tiles.depth(), below)
    })
}

fn look(tiles: &Tiles, stencil: &Stencil, t: usize, pull: &mut [f32]) -> Seen {
    let v = tiles.volume();
    let span = t * v..(t + 1) * v;
    let d = &stencil.diagonal[span.clone()];
    let c: [&[f32]; 3] = std::array::from_fn(|axis| &stencil.coupling[axis][span.clone()]);
    if d.iter().all(|d| *d == 0.0) {
        pull.fill(0.0);
        let sound = c.iter().all(|c| c.iter().all(|c| *c == 0.0)) && nothing_above(tiles, stencil, t);
        return Seen { kind: Kind::Empty, links: Links::default(), largest: 0.0, even: true, sound };
    }
    let largest = c.iter().flat_map(|c| c.iter()).fold(0.0, |m: f32, c| if *c > m { *c } else { m });
    let whole = 2.0 * tiles.axes() as f64 * largest as f64;
    // A sum of six numbers may be off by an ulp or two.
    let plain = d.iter().all(|d| (d - whole).abs() <= 1e-15 * whole);
    if plain && is_whole(tiles, &stencil.coupling, largest, t) {
        pull.fill(0.0);
        return Seen { kind: Kind::Plain, links: Links::whole(tiles), largest, even: true, sound: true };
    }
    let sound = subtract_couplings(&SixCouplings::new(tiles, &stencil.coupling, t), d, pull)
        && starts_at_tiles(tiles, t, c);
    let even = c.iter().all(|c| c.iter().all(|c| *c == 0.0 || *c == largest));
    Seen { kind: Kind::Mixed, links: Links::new(tiles, stencil, t), largest, even, sound }
}

/// The pull of the air on each cell: what the diagonal is more than the couplings. Returns whether all numbers are sound.
fn subtract_couplings(six: &SixCouplings, diagonal: &[f64], pull: &mut [f32]) -> bool {
    let mut sound = true;
    for (l, (pull, &d)) in pull.iter_mut().zip(diagonal).enumerate() {
        let six = six.of(l);
        let sum = six.iter().map(|c| *c as f64).sum::<f64>();
        let rest = d - sum;
        *pull = if rest > ROUNDING * d { rest as f32 } else { 0.0 };
        // A sum of numbers that are not negative is finite only if all of them are.
        sound &=
            six.iter().fold(true, |all, c| all & (*c >= 0.0)) & d.is_finite() & (sum <= d * (1.0 + 1e-6));
    }
    sound
}

/// Whether no tile above is coupled with this one, which has no unknowns.
fn nothing_above(tiles: &Tiles, stencil: &Stencil, t: usize) -> bool {
    let (v, beside) = (tiles.volume(), face_neighbours(tiles, t));
    (0..tiles.axes()).all(|axis| match beside[2 * axis + 1] {
        NONE => true,
        above => {
            let c = &stencil.coupling[axis][above as usize * v..(above as usize + 1) * v];
            first_layer(tiles, axis).all(|l| c[l] == 0.0)
        }
    })
}

/// Whether no face at the lower end of a tile leads where there is no tile.
fn starts_at_tiles(tiles: &Tiles, t: usize, c: [&[f32]; 3]) -> bool {
    let beside = face_neighbours(tiles, t);
    (0..3).all(|axis| beside[2 * axis] != NONE || first_layer(tiles, axis).all(|l| c[axis][l] == 0.0))
}
