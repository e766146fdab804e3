//! Velocity carried by the grid alone, backwards along the flow.
//!
//! With the transfers `semi_lagrangian` and `maccormack` particles carry the liquid's volume, and velocity stays on the
//! faces [Sta99]. Paths follow the old velocity by Ralston's third-order rule:
//!
//! ```text
//!     û(x) = u(x − u Δt)                                         semi-Lagrangian
//!     u′(x) = û(x) + ½ (u(x) − û(x + u Δt))                      MacCormack [SFKLR08]
//! ```
//!
//! Linear interpolation of û smooths it by up to h²/8 u″ a step: with steps that grow with h an error of first order.
//! The way there and back smooths twice, so that half of what it misses takes the error away to second order.
//! The corrected value is kept within the eight values that û was taken from, and none is corrected near the surface, where û is
//! only an extension. Particles take the velocity of the grid as it is. Where a path leads out of the
//! old liquid, and in sources, faces have the velocity of the particles: of drops that fall in, of what pours.
//! Checked by the test below against an exact flow, and by tests/water.rs in a closed box.

use super::Mac;
use crate::field::{VelocityPatch, face_offset};
use crate::grid::{Patch, Tiles};
use crate::math::Vec3;
use crate::simulation::liquid::Step;
use crate::solver::mac::{MacGrid, REACH_CELLS};
use rayon::prelude::*;

/// Faces this many cells outside the liquid are still carried, and paths may end as far outside the old one.
const OUTSIDE: f64 = 1.0;
/// The correction is made where the liquid is this many cells deep at both ends of the path.
const DEEP: f64 = 1.5;

/// The old grid round a tile.
#[derive(Default)]
struct Around {
    velocity: VelocityPatch,
    component: Patch,
    liquid: Patch,
}

impl Around {
    fn load(&mut self, old: &MacGrid, axis: usize, coord: [i32; 3], margin: usize) {
        let tiles = &old.tiles;
        self.velocity.load(tiles, &old.velocity, coord, margin);
        self.component.load(tiles, &old.velocity[axis], coord, margin, 0.0);
        self.liquid.load(tiles, &old.liquid, coord, margin, REACH_CELLS * tiles.h());
    }
}

impl Mac {
    /// Velocity of the next state's faces, carried from the old ones; `known` marks them.
    pub(super) fn carry_velocity(&mut self, step: &Step, corrected: bool, known: &mut [Vec<u8>; 3]) {
        let (old, reach, dt) = (&self.now.grid, &self.reach, step.dt);
        let MacGrid { tiles, liquid, velocity, .. } = &mut self.next.grid;
        let (tiles, v, h) = (&*tiles, tiles.volume(), tiles.h());
        let middle = face_offset(0, tiles.is_flat()) + Vec3::x() * 0.5;
        for (axis, velocity) in velocity.iter_mut().enumerate().take(tiles.axes()) {
            let offset = face_offset(axis, tiles.is_flat());
            // The faces of a tile whose liquid is no further away than this, but for those in sources.
            let faces = |t: usize, distance: f64| -> (Vec<usize>, Vec<Vec3>) {
                let near = (0..v).filter(|l| liquid[t * v + l] < distance);
                let all = near.map(|l| (l, Vec3::from(tiles.cell(t * v + l).map(f64::from)) + offset));
                all.filter(|(_, g)| !is_poured(tiles, step, g)).unzip()
            };
            let parts = velocity.par_chunks_mut(v).zip(known[axis].par_chunks_mut(v)).enumerate();
            parts.for_each_init(Around::default, |around, (t, (u, known))| {
                let (faces, mut ends) = faces(t, (OUTSIDE + 1.0) * h);
                if faces.is_empty() {
                    return;
                }
                let coord = tiles.coords()[t];
                around.load(old, axis, coord, reach.margin(&old.tiles, coord) + 1);
                around.velocity.trace_all(&mut ends, -dt);
                for (l, end) in faces.into_iter().zip(ends) {
                    if around.liquid.sample((end - middle).into()) < OUTSIDE * h {
                        (u[l], known[l]) = (around.component.sample((end - offset).into()), 1);
                    }
                }
            });
            if !corrected {
                continue;
            }
            let carried = velocity.clone();
            let parts = velocity.par_chunks_mut(v).enumerate();
            parts.for_each_init(<(Around, Patch)>::default, |(around, forward), (t, u)| {
                let (faces, mut back) = faces(t, -DEEP * h);
                if faces.is_empty() {
                    return;
                }
                let coord = tiles.coords()[t];
                let margin = reach.margin(&old.tiles, coord) + 1;
                around.load(old, axis, coord, margin);
                forward.load(tiles, &carried, coord, margin, 0.0);
                let mut on = back.clone();
                around.velocity.trace_all(&mut back, -dt);
                around.velocity.trace_all(&mut on, dt);
                for ((l, back), on) in faces.into_iter().zip(back).zip(on) {
                    if around.liquid.sample((back - middle).into()) < -DEEP * h {
                        let was = around.component.get(tiles.cell(t * v + l));
                        let missed = was - forward.sample((on - offset).into());
                        let [least, most] = around.component.range((back - offset).into());
                        u[l] = (u[l] + 0.5 * missed).clamp(least, most);
                    }
                }
            });
        }
    }
}

/// Whether a point, in cells, lies in a source.
fn is_poured(tiles: &Tiles, step: &Step, g: &Vec3) -> bool {
    let x = tiles.origin() + g * tiles.h();
    step.inflows.iter().any(|i| i.bounds.contains(&x) && (i.distance)(&x) < 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::{InitialVolume, MacOptions};
    use super::*;
    use crate::cancel::Cancel;
    use crate::field::Solids;
    use crate::math::{Aabb, elementary::sin};
    use crate::simulation::step;
    use crate::solver::mac::{Bodies, Transfer};

    const SPEED: f64 = 1.0;
    const UNTIL: f64 = 0.25;

    /// Waves across the flow, which it carries along.
    fn across(x: f64) -> f64 {
        0.2 * sin(4.0 * std::f64::consts::PI * x)
    }

    /// Mean error in the middle of a block of liquid after [`UNTIL`] seconds with cells of h.
    fn error(corrected: bool, h: f64) -> f64 {
        let options = MacOptions::plain(h, Transfer::Grid { corrected });
        let middle = Vec3::new(0.5, 0.25, 0.5 * h);
        let block = |x: &Vec3| ((x.x - middle.x).abs() - 0.5).max((x.y - middle.y).abs() - 0.25);
        let start = InitialVolume {
            distance: &block,
            bounds: Aabb::new(Vec3::zeros(), Vec3::new(1.0, 0.5, h)),
            velocity: &|x: &Vec3| Vec3::new(SPEED, across(x.x), 0.0),
            liquid: 0,
            paint: &|_, _| (),
        };
        let (solids, cancel) = (Solids::default(), Cancel::new());
        let mut mac = Mac::new(options, &solids, &[start], 0).unwrap();
        // Steps of 0.7 cells, which no face lands on.
        let steps = (UNTIL * SPEED / (0.7 * h)).round();
        let world = Step {
            dt: UNTIL / steps,
            solids: &solids,
            gravity: Vec3::zeros(),
            force: None,
            tension: 0.0,
            inflows: &[],
            outflows: &[],
            viscosity: &[0.0],
            thickest: 0.0,
            bodies: &Bodies { all: &[], gravity: Vec3::zeros(), contact: None },
            cancel: &cancel,
        };
        for _ in 0..steps as usize {
            step::step(&mut mac, &world, &mut |_| ()).unwrap();
        }
        let (grid, mut sum, mut count) = (&mac.now.grid, 0.0, 0.0);
        for place in 0..grid.tiles.cells() {
            let x = grid.tiles.centre(grid.tiles.cell(place));
            if (x.x - SPEED * UNTIL - middle.x).abs() < 0.25 && (x.y - middle.y).abs() < 0.06 {
                sum += (grid.velocity[1][place] - across(x.x - SPEED * UNTIL)).abs();
                count += 1.0;
            }
        }
        sum / count
    }

    #[test]
    fn what_the_flow_carries_arrives_to_the_order_of_the_method() {
        // (U, V(x − Ut)) is a flow without pressure, whatever V: it keeps volume and nothing pushes anything.
        for (corrected, order) in [(false, 1.0), (true, 2.0)] {
            let errors = [1.0 / 32.0, 1.0 / 64.0].map(|h| error(corrected, h));
            let measured = (errors[0] / errors[1]).log2();
            // Sixteen cells a wave: damping that is no longer small slows its own growth, crests that are clipped count.
            assert!((measured - order).abs() < 0.25, "order {measured}, errors {errors:?}");
        }
    }
}
