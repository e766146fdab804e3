//! One step of surface and velocity, from the old state to the next.

use super::mesh::{Mesh, liquid_at_cells, octree, open_faces, solid_at, suffices, touches};
use super::thick::source_velocity;
use super::{Bcc, State};
use crate::error::Result;
use crate::field::{Solids, Wall};
use crate::grid::SIDE;
use crate::math::{Aabb, Vec3, elementary};
use crate::mesh::bcc::Lattice;
use crate::simulation::liquid::{Inflow, Step};
use crate::solver::bcc::{Carrier, held_by};
use crate::solver::mac::slide;
use crate::surface::{Carry, SurfaceTracker, TiledLevelSet};
use rayon::prelude::*;
use std::sync::Arc;

/// `flip_blend` is what outlives this many seconds.
const BLEND_TIME: f64 = 0.01;
/// The surface is moved to enclose the volume that there should be over about this many seconds...
const VOLUME_TIME: f64 = 0.04;
/// ...by at most this many finest cells a substep.
const MOST_SHIFT: f64 = 0.02;

impl Bcc {
    /// Carry the surface along the flow, let sources fill and open sides drain, and settle the volume.
    pub(super) fn carry_surface(&mut self, step: &Step) -> Result<()> {
        let wanted: Vec<Aabb> = step.inflows.iter().map(|i| i.bounds).collect();
        let mesh = self.now.mesh()?;
        let velocity = Self::carried_by(&self.now, mesh);
        let carry = Carry {
            dt: step.dt,
            velocity: &velocity,
            fastest: self.now.fastest,
            solids: step.solids,
            wanted: &wanted,
        };
        let mut surface = self.now.surface.clone();
        if self.peels {
            surface.set.leave_walls(|x, n| self.leaves(mesh, &velocity, step, x, n));
        }
        surface.advect(&carry)?;
        step.cancel.check()?;
        self.next.surface = surface;
        self.drain(step);
        self.let_in(step);
        self.next.surface.restore()?;
        self.settle_volume(step.dt);
        Ok(())
    }

    /// Liquid beyond an open side or in a sink is gone.
    fn drain(&mut self, step: &Step) {
        let (domain, open, cell) = (self.options.domain, self.options.open, self.options.cell);
        if open == [[false; 2]; 3] && step.outflows.is_empty() {
            return;
        }
        let surface = &mut self.next.surface;
        let [before, _] = surface.measure();
        surface.cut_away(|x| {
            let along = |a: usize| {
                let low = if open[a][0] { domain.lo[a] - x[a] } else { f64::NEG_INFINITY };
                let high = if open[a][1] { x[a] - domain.hi[a] } else { f64::NEG_INFINITY };
                low.max(high)
            };
            let sinks = step.outflows.iter().filter(|s| s.bounds.grow(2.0 * cell).contains(x));
            sinks.fold(along(0).max(along(1)).max(along(2)), |d, s| d.max(-(s.distance)(x)))
        });
        // What is restored later is the tracker's error, not liquid that left.
        self.next.expected -= before - surface.measure()[0];
    }

    /// The regions of the sources are liquid; what they gave enters the ledger. That is what the region holds when it is
    /// filled for the first time, and then what has moved out of it, however much of its rim the tracker wore off and
    /// is filled up again.
    fn let_in(&mut self, step: &Step) {
        for inflow in step.inflows {
            let State { surface, emitted, expected, .. } = &mut self.next;
            let given = &mut emitted[inflow.index];
            let [before, _] = surface.measure();
            surface.unite(&inflow.bounds, inflow.distance);
            let gave = match *given > 0.0 {
                true => moved_out(&surface.set, inflow, step).min(inflow.budget),
                false => surface.measure()[0] - before,
            };
            *given += gave;
            *expected += gave;
        }
    }

    /// Measure the liquid and move its surface towards the volume that there should be.
    fn settle_volume(&mut self, dt: f64) {
        let State { surface, volume, expected, .. } = &mut self.next;
        let [measured, area] = surface.measure();
        let most = MOST_SHIFT * self.options.cell;
        let mut shift = 0.0;
        if self.options.volume_lock && area > 0.0 {
            shift = ((*expected - measured) / area * (dt / VOLUME_TIME).min(1.0)).clamp(-most, most);
            surface.swell(shift);
        }
        // The area is the change of volume over more than the shift, so this is as good as measuring again.
        *volume = measured + area * shift;
    }

    /// Keep the lattice while it is fine all about the surface, else build a new one.
    pub(super) fn lay_lattice(&mut self, step: &Step) -> Result<()> {
        let (old, surface) = (self.now.mesh()?, &self.next.surface.set);
        let wishes = &self.wishes;
        let kept = suffices(old.lattice.octree(), surface, step.solids, wishes);
        let mesh = match kept {
            true => old.clone(),
            false => {
                let flow = Self::carried_by(&self.now, old);
                Arc::new(Mesh::new(octree(&self.octree, surface, step.solids, wishes, Some(&flow))?)?)
            }
        };
        step.cancel.check()?;
        (self.next.open, self.next.solid) = match kept && !step.solids.any_animated() {
            true => (self.now.open.clone(), self.now.solid.clone()),
            false => {
                let (open, solid) = open_faces(&mesh.lattice, step.solids)?;
                (Arc::new(open), Arc::new(solid))
            }
        };
        let cut = (&self.next.open[..], &self.next.solid[..]);
        self.next.liquid = liquid_at_cells(&mesh.lattice, cut, surface, step.solids);
        // The last pressure is the first guess of the next: that of the same cell, or of the one that was there.
        self.next.pressure = self.now.pressure.clone();
        if !kept {
            let from = held_by(&old.lattice, &mesh.lattice, |c| self.next.liquid[c] < 0.0);
            let last = |c: &u32| self.now.pressure.get(*c as usize).copied().unwrap_or(0.0);
            self.next.pressure = from.iter().map(last).collect();
            self.next.from = from;
        }
        self.next.mesh = Some(mesh);
        Ok(())
    }

    /// Velocities of the faces of liquid cells, from the old lattice.
    pub(super) fn carry_velocity(&mut self, step: &Step) -> Result<()> {
        let (old, new) = (self.now.mesh()?, self.next.mesh()?);
        let field = Self::carried_by(&self.now, old);
        let carrier = Carrier {
            lattice: &old.lattice,
            field: &field,
            faces: &self.now.velocity,
            known: &self.now.known,
            blend: elementary::pow(self.options.blend, step.dt / BLEND_TIME),
            from: &self.next.from,
        };
        let lattice = &new.lattice;
        let wet = |f: usize| touches(lattice, f, |c| self.next.liquid[c as usize] < 0.0);
        let mut velocity = carrier.carry(lattice, step.dt, wet);
        let mut held = Vec::new();
        if !step.inflows.is_empty() {
            held = vec![false; velocity.len()];
            velocity.par_iter_mut().zip(&mut held).enumerate().for_each(|(f, (u, held))| {
                if let Some(given) = source_velocity(step, &lattice.face_crossing(f)) {
                    (*u, *held) = (given.dot(&lattice.dual_edge(f).normalize()), true);
                }
            });
        }
        (self.next.velocity, self.next.held) = (velocity, held);
        self.next.from = Vec::new();
        Ok(())
    }

    /// Accelerate the faces of liquid cells.
    pub(super) fn push_faces(&mut self, step: &Step) -> Result<()> {
        let (old, new) = (self.now.mesh()?, self.next.mesh()?.clone());
        let (lattice, liquid, held) = (&new.lattice, &self.next.liquid, &self.next.held);
        let field = Self::carried_by(&self.now, old);
        self.next.velocity.par_iter_mut().enumerate().for_each(|(f, u)| {
            if held.get(f).copied().unwrap_or(false) || !touches(lattice, f, |c| liquid[c as usize] < 0.0) {
                return;
            }
            let n = lattice.dual_edge(f).normalize();
            let local = step.force.map_or(Vec3::zeros(), |force| {
                let x = lattice.face_crossing(f);
                let depth = lattice.faces.cells[f].map(|c| liquid.get(c as usize).map_or(0.0, |d| -d));
                force(&x, &field.sample(&x), (0.5 * (depth[0] + depth[1])).max(0.0))
            });
            *u += step.dt * (step.gravity + local).dot(&n);
        });
        Ok(())
    }
}

/// Volume between the region of a source and the same region where its liquid has gone in the step, outside solids, m³.
pub(in crate::simulation) fn moved_out(set: &TiledLevelSet, inflow: &Inflow, step: &Step) -> f64 {
    let (tiles, h) = (&set.tiles, set.tiles.h());
    let gone = (inflow.velocity - inflow.carried) * step.dt;
    let reach = gone.norm() + h;
    let around = inflow.bounds.grow(reach);
    let of_tile = |t: usize| {
        let low = tiles.corner(tiles.base(t));
        if !around.overlaps(&Aabb::new(low, low.add_scalar(h * SIDE as f64))) {
            return 0.0;
        }
        let cells = (0..tiles.volume()).map(|l| tiles.cell(t * tiles.volume() + l));
        let near = cells.filter(|&c| (inflow.distance)(&tiles.centre(c)).abs() < reach);
        // Points inside the cell: a linear cut through its corners would lose half of the cells at a sharp rim.
        let share = |cell: [i32; 3]| {
            let of_point = |k: usize| {
                let at = Vec3::new((k & 3) as f64, (k >> 2 & 3) as f64, (k >> 4) as f64).add_scalar(0.5);
                let x = tiles.corner(cell) + at * (0.25 * h);
                let (own, solid) = ((inflow.distance)(&x), -step.solids.distance(&x, 2.0 * h));
                let covered = |d: f64| (0.5 - d.max(solid) / (0.25 * h)).clamp(0.0, 1.0);
                covered(own.min((inflow.distance)(&(x - gone)))) - covered(own)
            };
            (0..64).map(of_point).sum::<f64>() / 64.0
        };
        near.map(share).sum::<f64>()
    };
    let sums: Vec<f64> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
    sums.iter().sum::<f64>() * h.powi(3)
}

/// Liquid in cells on walls slides along them: on the sides of the lattice, and where the velocity of cells inside
/// solids is only an extension of that outside. From walls that peel it may also move away, except in cells that a wall
/// `holds` by its pressure.
pub(super) fn lead_along_walls(
    lattice: &Lattice,
    (open, solid): (&[f64], &[f64]),
    own: &[bool],
    holds: impl Fn(usize) -> bool + Sync,
    solids: &Solids,
    velocity: &mut [Vec3],
) {
    let domain = lattice.octree().domain();
    let last = domain.roots.map(|n| n as i32 * (crate::mesh::bcc::FINEST << domain.depth));
    let reach = 2.0 * domain.root_width;
    let plain = !solids.any_animated() && solids.walls().all(|w| *w == Wall::default());
    velocity.par_iter_mut().enumerate().for_each(|(c, v)| {
        let at = lattice.circumcentres[c];
        let side = |a: usize| f64::from(i8::from(at[a] == 0) - i8::from(at[a] == last[a]));
        let inwards = Vec3::new(side(0), side(1), side(2));
        if inwards != Vec3::zeros() {
            let wall =
                if plain { Wall::default() } else { solids.wall(&lattice.circumcentre(c as u32), reach) };
            let comes_off = wall.peel && !holds(c);
            let kept = |a: usize| inwards[a] == 0.0 || (comes_off && v[a] * inwards[a] > 0.0);
            *v = Vec3::from_fn(|a, _| if kept(a) && !wall.stick { v[a] } else { 0.0 });
        }
        let closed = || lattice.faces_of(c).iter().any(|&f| open[f as usize] < 1.0);
        if own[c] || *v == Vec3::zeros() || !closed() {
            return;
        }
        let (x, (d, slope)) = (lattice.circumcentre(c as u32), solid_at(lattice, solid, c));
        // Distances are cut off deep inside, where no liquid reads the velocity.
        let Some(n) = slope.try_normalize(0.1).filter(|_| d < 0.0) else { return };
        let (moves, wall) =
            if plain { Default::default() } else { (solids.velocity(&x, reach), solids.wall(&x, reach)) };
        *v = slide(v, &n, &moves, &wall);
    });
}
