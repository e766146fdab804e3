//! Thick liquid: project, let viscosity act, project again [BH11].
//!
//! Viscosity takes for granted that liquid keeps its volume, so velocities are projected before and after it. Vertices
//! of the lattice in a source move as the source says: without that, a thread of honey would draw as much out of its
//! nozzle as it likes. Those on or in a wall that sticks have the wall's velocity; at other walls they keep its normal part alone.

use super::mesh::liquid_at_vertices;
use super::{Bcc, State};
use crate::error::Result;
use crate::field::Solids;
use crate::linalg::SolveInfo;
use crate::math::Vec3;
use crate::mesh::bcc::{FINEST, Lattice};
use crate::simulation::liquid::{Inflow, Step};
use crate::solver::bcc::{Hold, Moving, Thick, ThickOptions, thicken};
use crate::solver::mac::NEGLIGIBLE;

impl Bcc {
    /// Project and let viscosity act, if there is any worth it. Returns what the solves reported, and the pressure of
    /// the projection.
    pub(super) fn thicken(
        &mut self,
        step: &Step,
        surface_pressure: &(dyn Fn(&Vec3) -> f64 + Sync),
    ) -> Result<(Vec<SolveInfo>, Vec<f64>)> {
        let thickest = step.viscosity.iter().fold(0.0f64, |m, v| m.max(*v));
        let o = &self.options;
        if thickest < NEGLIGIBLE * o.density * o.cell.powi(2) / step.dt {
            return Ok(Default::default());
        }
        let options = ThickOptions {
            dt: step.dt,
            density: o.density,
            tolerance: o.viscosity_tolerance,
            draft: o.draft_viscosity,
        };
        let coupling = o.coupling;
        let (done, mass) = self.project(step, surface_pressure, false)?;
        let mesh = self.next.mesh()?.clone();
        let lattice = &mesh.lattice;
        let viscosity = self.tet_viscosity(step.viscosity, &mesh);
        let State { surface, solid, velocity, known, pressure, held, .. } = &mut self.next;
        let liquid = liquid_at_vertices(lattice, solid, &surface.set, step.solids);
        let given = |v: u32| source_velocity(step, &lattice.vertex(v));
        let given: Option<&(dyn Fn(u32) -> Option<Vec3> + Sync)> =
            if step.inflows.is_empty() { None } else { Some(&given) };
        let thick = Thick { lattice, liquid: &liquid, solid, viscosity: &viscosity, given };
        let before = velocity.clone();
        let moving = Moving { velocity, known, mass: &mass };
        let hold = |v: u32| hold(lattice, step.solids, v);
        let thickened = thicken(&thick, moving, hold, coupling, &options, step.cancel)?;
        // Held faces are told by the source; vertices beyond its rim would mix something else in.
        held.iter().enumerate().filter(|(_, held)| **held).for_each(|(f, _)| velocity[f] = before[f]);
        // The second projection corrects the first; its pressure starts from nothing.
        let first = std::mem::replace(pressure, vec![0.0; lattice.cells()]);
        Ok((done.solve.into_iter().chain(thickened.map(|t| t.info)).collect(), first))
    }
}

/// The last source that a point lies in.
fn source<'a>(step: &'a Step, x: &Vec3) -> Option<&'a Inflow<'a>> {
    step.inflows.iter().rfind(|i| i.bounds.contains(x) && (i.distance)(x) < 0.0)
}

/// The velocity that a source gives to a point, if one does.
pub(super) fn source_velocity(step: &Step, x: &Vec3) -> Option<Vec3> {
    source(step, x).map(|i| i.velocity)
}

/// The liquid of the source that a point lies in, if it lies in one.
pub(super) fn source_liquid(step: &Step, x: &Vec3) -> Option<usize> {
    source(step, x).map(|i| i.liquid as usize)
}

/// How solids hold a vertex that lies on or in one.
fn hold(lattice: &Lattice, solids: &Solids, vertex: u32) -> Hold {
    let domain = lattice.octree().domain();
    let (x, reach) = (lattice.vertex(vertex), 2.0 * domain.root_width);
    let velocity = solids.velocity(&x, reach);
    if solids.wall(&x, reach).stick {
        return Hold::stick(velocity);
    }
    let (at, step) = (lattice.vertices[vertex as usize], 0.25 * domain.unit() * f64::from(FINEST));
    let side = |a: &usize| at[*a] == 0 || at[*a] == domain.roots[*a] as i32 * (FINEST << domain.depth);
    let mut normals: Vec<Vec3> = (0..3).filter(side).map(|a| Vec3::ith(a, 1.0)).collect();
    if normals.is_empty() || solids.distance(&x, reach) < -1e-3 * domain.unit() {
        normals.push(solids.outward(&x, step));
    }
    Hold::slide(&normals, velocity)
}
