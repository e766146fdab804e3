//! The state of the simulator as named arrays.
//!
//! Openings and distances to solids are not saved: they follow from the scene and the tiles.

use super::sheets::close_own_faces;
use super::{Mac, State};
use crate::error::Result;
use crate::field::{Id, Particles, Solids};
use crate::grid::{SIDE, Tiles};
use crate::simulation::state::{Reader, Writer};
use crate::solver::mac::{MacGrid, close_faces};

const AXES: [&str; 3] = ["velocity x", "velocity y", "velocity z"];
const CARRY: [&str; 3] = ["carry x", "carry y", "carry z"];
/// Lower sides of faces that sheets close; empty without sheets.
const BELOW: [&str; 3] = ["below x", "below y", "below z"];
const CARRY_BELOW: [&str; 3] = ["carry below x", "carry below y", "carry below z"];

impl Mac {
    pub(super) fn write(&self, out: &mut Writer) {
        let State {
            grid,
            particles,
            next_id,
            moment,
            expected,
            flying,
            films,
            emitted,
            carry,
            below,
            carry_below,
            fastest,
            tracker,
        } = &self.now;
        out.u64s("counters", &[*next_id, *moment]);
        out.f64s("volumes", &[*flying, *expected, *fastest, *films]);
        out.f64s("emitted", emitted);
        out.i32s("tiles", &grid.tiles.coords().concat());
        out.f64s("liquid", &grid.liquid);
        out.f64s("pressure", &grid.pressure);
        for (name, u) in AXES.iter().zip(&grid.velocity) {
            out.f64s(name, u);
        }
        for (name, u) in CARRY.iter().zip(carry) {
            out.f64s(name, u);
        }
        for (name, u) in BELOW.iter().zip(below).chain(CARRY_BELOW.iter().zip(carry_below)) {
            out.f64s(name, u);
        }
        out.vectors("particle position", &particles.position);
        out.vectors("particle velocity", &particles.velocity);
        out.u64s("particle id", &particles.ids());
        out.f32s("particle volume", &particles.volume);
        out.f32s("particle affine", particles.affine.as_flattened().as_flattened());
        let liquid: Vec<i32> = particles.liquid.iter().map(|l| i32::from(*l)).collect();
        out.i32s("particle liquid", &liquid);
        out.f32s("particle carried", &particles.carried);
        if let Some(tracker) = tracker {
            self.write_markers(tracker, out);
        }
    }

    pub(super) fn read(&mut self, from: &mut Reader, solids: &Solids) -> Result<()> {
        let [next_id, moment] = from.counters("counters")?;
        if next_id >= Id::END {
            return Err(from.damaged("there are no numbers left for particles"));
        }
        let volumes = from.f64s("volumes")?;
        let volumes = from.expect("volumes", volumes, 4)?;
        let volumes = from.finite("volumes", volumes)?;
        let emitted = from.f64s("emitted")?;
        let emitted = from.expect("emitted", emitted, self.now.emitted.len())?;
        let emitted = from.finite("emitted", emitted)?;
        let coords = from.tiles("tiles")?;
        let o = &self.options;
        let cells = coords.len() * SIDE * SIDE * if o.flat { 1 } else { SIDE };
        let field = |from: &mut Reader, name: &str| {
            let values = from.f64s(name)?;
            from.expect(name, values, cells)
        };
        // Before the grid is made, which is much larger: a file that only claims to have so many cells ends here.
        let (liquid, pressure) = (field(from, "liquid")?, field(from, "pressure")?);
        let mut grid = MacGrid::new(Tiles::new(o.cell, o.origin, o.flat, coords), solids, None);
        (grid.liquid, grid.pressure) = (liquid, pressure);
        for (name, u) in AXES.iter().zip(&mut grid.velocity) {
            *u = field(from, name)?;
        }
        let mut carry: [Vec<f64>; 3] = Default::default();
        for (name, u) in CARRY.iter().zip(&mut carry) {
            *u = field(from, name)?;
        }
        let (mut below, mut carry_below): ([Vec<f64>; 3], [Vec<f64>; 3]) = Default::default();
        let sides = BELOW.iter().zip(&mut below).chain(CARRY_BELOW.iter().zip(&mut carry_below));
        for (name, u) in sides {
            let values = from.f64s(name)?;
            let count = if values.is_empty() { 0 } else { cells };
            *u = from.expect(name, values, count)?;
        }
        match (grid.tiles.any_sheets(), below.iter().chain(&carry_below).all(|u| u.len() == cells)) {
            (true, true) => {}
            // The host has put in a sheet since: its two sides begin alike.
            (true, false) => {
                below = close_own_faces(&mut grid, None);
                carry_below = close_faces(&grid, &mut carry, None);
            }
            (false, _) => (below, carry_below) = Default::default(),
        }
        let mut particles = read_particles(from, self.options.columns.stride())?;
        particles.sort(&grid.tiles)?;
        let [flying, expected, fastest, films] = [volumes[0], volumes[1], volumes[2], volumes[3]];
        let tracker = match self.options.markers {
            Some(per_cell) => Some(self.read_markers(from, &grid, per_cell, solids)?),
            None => None,
        };
        self.now = State {
            grid,
            particles,
            next_id,
            moment,
            expected,
            flying,
            films,
            emitted,
            carry,
            below,
            carry_below,
            fastest,
            tracker,
        };
        Ok(())
    }
}

fn read_particles(from: &mut Reader, stride: usize) -> Result<Particles> {
    let position = from.vectors("particle position")?;
    let position = from.finite_points("particle position", position)?;
    let n = position.len();
    let velocity = from.vectors("particle velocity")?;
    let velocity = from.expect("particle velocity", velocity, n)?;
    let id = from.u64s("particle id")?;
    let id = from.expect("particle id", id, n)?;
    if id.iter().any(|id| *id >= Id::END) {
        return Err(from.damaged("a particle has a number that is never given"));
    }
    let id = id.into_iter().map(Id::new).collect();
    let volume = from.f32s("particle volume")?;
    let volume = from.expect("particle volume", volume, n)?;
    let affine = from.f32s("particle affine")?;
    let count = if affine.is_empty() { 0 } else { 9 * n };
    let affine = from.expect("particle affine", affine, count)?;
    let row = |c: &[f32]| std::array::from_fn(|a| [c[3 * a], c[3 * a + 1], c[3 * a + 2]]);
    let affine = affine.chunks_exact(9).map(row).collect();
    let liquid = from.i32s("particle liquid")?;
    let count = if liquid.is_empty() { 0 } else { n };
    let liquid = from.expect("particle liquid", liquid, count)?.into_iter().map(|l| l as u8).collect();
    let carried = from.f32s("particle carried")?;
    let carried = from.expect("particle carried", carried, stride * n)?;
    let start = Vec::new();
    Ok(Particles { position, velocity, id, volume, affine, liquid, carried, stride, start })
}
