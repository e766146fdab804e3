//! Liquid whose surface a level set carries, with or without markers, instead of particles.
//!
//! The tracker is that of the simulator `bcc` ([`SurfaceTracker`]) at the spacing of the grid: φ is carried backwards along
//! the velocity, made a distance again and continued into walls. The grid stands on the tracker's tiles and takes its
//! distance over, cell by cell. Velocity is carried by the grid alone (see [`super::carry`]).
//!
//! The ledger of volume counts what there is at the start, what sources give and what sinks and open sides take; the
//! surface is moved to enclose it by at most [`MOST_SHIFT`] cells a step and over about [`VOLUME_TIME`]. Faces inside a
//! source move with what it pours.
//! Checked by tests/water.rs (`still_water_does_not_move_a_level_set`, `a_dam_breaks_with_any_surface`).

use super::{InitialVolume, Mac, State};
use crate::error::{Error, Result};
use crate::field::{Particles, Solids, VelocityField, VelocityPatch, face_offset};
use crate::grid::Tiles;
use crate::math::{Aabb, Vec3};
use crate::simulation::bcc::moved_out;
use crate::simulation::liquid::Step;
use crate::simulation::state::{Reader, Writer};
use crate::solver::mac::MacGrid;
use crate::surface::{Carry, Marker, ParticleLevelSet, SurfaceTracker, TiledLevelSet};
use rayon::prelude::*;

/// The surface is moved to enclose the volume that there should be over about this many seconds...
const VOLUME_TIME: f64 = 0.04;
/// ...by at most this many cells a substep.
const MOST_SHIFT: f64 = 0.02;

/// The velocity of a grid at points.
struct GridFlow<'a> {
    tiles: &'a Tiles,
    velocity: &'a [Vec<f64>; 3],
}

impl VelocityField for GridFlow<'_> {
    fn velocities(&self, x: &[Vec3], out: &mut [Vec3]) {
        let (mut patch, mut loaded) = (VelocityPatch::default(), None);
        for (x, out) in x.iter().zip(out) {
            let coord = self.tiles.split(self.tiles.cell_at(x)).0;
            if loaded != Some(coord) {
                patch.load(self.tiles, self.velocity, coord, 1);
                loaded = Some(coord);
            }
            *out = patch.sample(&self.tiles.to_grid(x));
        }
    }
}

impl Mac {
    /// A tracker for the volumes at the start, and the grid on its tiles.
    pub(super) fn fill_tracked(
        &mut self,
        solids: &Solids,
        volumes: &[InitialVolume],
        markers: usize,
    ) -> Result<()> {
        let o = &self.options;
        let nearest = |x: &Vec3| volumes.iter().map(|v| (v.distance)(x)).fold(1e3 * o.cell, f64::min);
        let regions: Vec<Aabb> = volumes.iter().map(|v| v.bounds).collect();
        let set = TiledLevelSet::filled(o.cell, o.origin, solids, &regions, &nearest)?;
        self.next.expected = set.measure()[0];
        self.next.tracker = Some(ParticleLevelSet::new(set, markers));
        self.stand_on_tracker(solids, None)
    }

    /// Carry the surface along the flow, let sources fill and sinks drain, and settle the volume.
    pub(super) fn track_surface(&mut self, step: &Step) -> Result<()> {
        let Some(tracker) = &self.now.tracker else { return Ok(()) };
        let grid = &self.now.grid;
        let wanted: Vec<Aabb> = step.inflows.iter().map(|i| i.bounds).collect();
        let carry = Carry {
            dt: step.dt,
            velocity: &GridFlow { tiles: &grid.tiles, velocity: &grid.velocity },
            fastest: self.now.fastest,
            solids: step.solids,
            wanted: &wanted,
        };
        let mut surface = tracker.clone();
        surface.advect(&carry)?;
        step.cancel.check()?;
        surface.restore()?;
        self.drain_tracked(step, &mut surface)?;
        self.fill_from_sources(step, &mut surface)?;
        let [measured, area] = surface.measure();
        if self.options.volume_lock && area > 0.0 {
            let most = MOST_SHIFT * self.options.cell;
            let missing = (self.next.expected - measured) / area;
            surface.swell((missing * (step.dt / VOLUME_TIME).min(1.0)).clamp(-most, most));
        }
        self.next.tracker = Some(surface);
        Ok(())
    }

    /// Liquid beyond an open side or in a sink is gone.
    fn drain_tracked(&mut self, step: &Step, surface: &mut ParticleLevelSet) -> Result<()> {
        let inside = step.solids.domain().map_or(Vec3::zeros(), |d| 0.5 * (d.lo + d.hi));
        let closed = step.solids.beyond_open_sides(&inside) == f64::NEG_INFINITY;
        if closed && step.outflows.is_empty() {
            return Ok(());
        }
        let ([before, _], cell) = (surface.measure(), self.options.cell);
        surface.cut_away(|x| {
            let sinks = step.outflows.iter().filter(|s| s.bounds.grow(2.0 * cell).contains(x));
            sinks.fold(step.solids.beyond_open_sides(x), |d, s| d.max(-(s.distance)(x)))
        });
        // What restoring the markers changes is the tracker's error, not liquid that left.
        self.next.expected -= before - surface.measure()[0];
        surface.restore()
    }

    /// The regions of the sources are liquid; what they gave enters the ledger.
    fn fill_from_sources(&mut self, step: &Step, surface: &mut ParticleLevelSet) -> Result<()> {
        let State { emitted, expected, .. } = &mut self.next;
        for inflow in step.inflows {
            let given = &mut emitted[inflow.index];
            let [before, _] = surface.measure();
            surface.unite(&inflow.bounds, inflow.distance);
            let gave = match *given > 0.0 {
                true => moved_out(&surface.set, inflow, step).min(inflow.budget),
                false => surface.measure()[0] - before,
            };
            surface.restore()?;
            *given += gave;
            *expected += gave;
        }
        Ok(())
    }

    /// Lay the next grid where the tracker is.
    pub(super) fn follow_tracker(&mut self, step: &Step) -> Result<()> {
        let older = std::mem::take(&mut self.now.grid);
        let laid = self.stand_on_tracker(step.solids, Some(&older));
        self.now.grid = older;
        self.takes_part = Vec::new();
        // No particles, no crowds.
        self.full = self.next.grid.tiles.field(-1.0);
        laid
    }

    fn stand_on_tracker(&mut self, solids: &Solids, older: Option<&MacGrid>) -> Result<()> {
        let State { grid, particles, tracker, .. } = &mut self.next;
        let Some(tracker) = tracker else { return Ok(()) };
        *grid = MacGrid::new(tracker.set.tiles.clone(), solids, older);
        grid.liquid.clone_from(&tracker.set.phi);
        *particles = Particles::default();
        particles.sort(&grid.tiles)
    }

    /// Faces of the next grid inside sources have their velocity where no particles bring it.
    pub(super) fn pour_velocity(&mut self, step: &Step, known: &mut [Vec<u8>; 3]) {
        if self.next.tracker.is_none() {
            return;
        }
        let MacGrid { tiles, velocity, .. } = &mut self.next.grid;
        let (tiles, v) = (&*tiles, tiles.volume());
        for (axis, (velocity, known)) in velocity.iter_mut().zip(known).enumerate().take(tiles.axes()) {
            let offset = face_offset(axis, tiles.is_flat()) * tiles.h();
            let parts = velocity.par_chunks_mut(v).zip(known.par_chunks_mut(v)).enumerate();
            parts.for_each(|(t, (u, known))| {
                for inflow in step.inflows {
                    for l in 0..v {
                        let x = tiles.corner(tiles.cell(t * v + l)) + offset;
                        if inflow.bounds.contains(&x) && (inflow.distance)(&x) < 0.0 {
                            (u[l], known[l]) = (inflow.velocity[axis], 1);
                        }
                    }
                }
            });
        }
    }

    pub(super) fn write_markers(&self, tracker: &ParticleLevelSet, out: &mut Writer) {
        out.vectors("markers", &tracker.markers.iter().map(|m| m.x).collect::<Vec<_>>());
        out.f64s("marker radius", &tracker.markers.iter().map(|m| m.radius).collect::<Vec<_>>());
        out.u64s("marker moment", &[tracker.moment]);
    }

    /// The tracker of a saved state: its tiles and distance are those of the grid.
    pub(super) fn read_markers(
        &self,
        from: &mut Reader,
        grid: &MacGrid,
        per_cell: usize,
        solids: &Solids,
    ) -> Result<ParticleLevelSet> {
        let at = from.vectors("markers")?;
        let at = from.finite_points("markers", at)?;
        let near = solids.domain().map(|d| d.grow(d.size().max()));
        if near.is_some_and(|near| !at.iter().all(|x| near.contains(x))) {
            return Err(Error::invalid("saved state", "a marker lies far outside the domain"));
        }
        let radius = from.f64s("marker radius")?;
        let radius = from.expect("marker radius", radius, at.len())?;
        let radius = from.finite("marker radius", radius)?;
        let [moment] = from.counters("marker moment")?;
        let markers = at.into_iter().zip(radius).map(|(x, radius)| Marker { x, radius }).collect();
        let (o, coords) = (&self.options, grid.tiles.coords().to_vec());
        let set = TiledLevelSet::from_parts(o.cell, o.origin, coords, grid.liquid.clone(), solids);
        Ok(ParticleLevelSet { set, markers, per_cell, moment })
    }
}
