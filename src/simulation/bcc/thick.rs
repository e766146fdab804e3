//! Thick liquid: project, let viscosity act, project again [BH11].
//!
//! If the scene's flow is `thick`, pressure and viscosity are found in one solve between the two projections ([`creep`]).
//! Else viscosity takes for granted that liquid keeps its volume, so velocities are projected before and after it. Vertices
//! of the lattice in a source move as the source says: without that, a thread of honey would draw as much out of its
//! nozzle as it likes. Those on or in a wall that sticks have the wall's velocity; at other walls they keep its normal part alone.

use super::mesh::liquid_at_vertices;
use super::{Bcc, Pressed, State};
use crate::error::{Error, Result};
use crate::field::Solids;
use crate::linalg::SolveInfo;
use crate::math::Vec3;
use crate::mesh::bcc::{FINEST, Lattice};
use crate::simulation::flow::choose;
use crate::simulation::liquid::{Inflow, Step};
use crate::solver::bcc::{Cut, Embedded, Hold, Moving, Thick, ThickOptions, creep, thicken};
use crate::solver::mac::NEGLIGIBLE;

/// μΔt/ρw² from which `auto` takes one solve: none, since it costs many times what the three take on large lattices. A scene
/// whose threads must stretch and fold as they should asks for it by `thick`.
const CREEPS: f64 = f64::INFINITY;

/// What was done for thick liquid before the last projection.
#[derive(Default)]
pub(super) struct Thickness {
    pub solves: Vec<SolveInfo>,
    /// The pressure so far, Pa; empty if nothing was done.
    pub first: Vec<f64>,
    /// How pressure and viscosity were found, and why.
    pub flow: String,
    /// The projection that was made; none if nothing was done.
    pub pressed: Option<Pressed>,
}

impl Bcc {
    /// Project and let viscosity act, if there is any worth it: on its own, or together with pressure.
    pub(super) fn thicken(
        &mut self,
        step: &Step,
        surface_pressure: &(dyn Fn(&Vec3) -> f64 + Sync),
    ) -> Result<Thickness> {
        let thickest = step.viscosity.iter().fold(0.0f64, |m, v| m.max(*v));
        let o = &self.options;
        if thickest < NEGLIGIBLE * o.density * o.cell.powi(2) / step.dt {
            return Ok(Thickness::default());
        }
        let options = ThickOptions {
            dt: step.dt,
            density: o.density,
            tolerance: o.viscosity_tolerance,
            draft: o.draft_viscosity,
        };
        let (coupling, width) = (o.coupling, f64::from(o.cube) * o.cell);
        let (together, mut flow) =
            choose(o.flow, options.draft, thickest * step.dt / (o.density * width.powi(2)), CREEPS);
        let (done, pressed) = self.project(step, surface_pressure, false, &[])?;
        let mesh = self.next.mesh()?.clone();
        let lattice = &mesh.lattice;
        let viscosity = self.tet_viscosity(step.viscosity, &mesh);
        let reach = 2.0 * self.octree.root_width;
        let State { surface, open, solid, velocity, known, pressure, held, liquid: at_cells, .. } =
            &mut self.next;
        let liquid = liquid_at_vertices(lattice, solid, &surface.set, step.solids);
        let given = |v: u32| source_velocity(step, &lattice.vertex(v));
        let given: Option<&(dyn Fn(u32) -> Option<Vec3> + Sync)> =
            if step.inflows.is_empty() { None } else { Some(&given) };
        let thick = Thick { lattice, liquid: &liquid, solid, viscosity: &viscosity, given };
        let hold = |v: u32| hold(lattice, step.solids, v);
        let mut solves: Vec<SolveInfo> = done.solve.into_iter().collect();
        // The last projection corrects what is there; its pressure starts from nothing.
        let mut first = std::mem::replace(pressure, vec![0.0; lattice.cells()]);
        if together {
            let cut = Cut { lattice, open, liquid: at_cells, velocity };
            let walls = |x: &Vec3| step.solids.velocity(x, reach);
            let embedded = Embedded::with_held(&cut, held, |_| 0.0, walls)?;
            match creep(&thick, &embedded, velocity, known, hold, &options, step.cancel) {
                Ok(done) => {
                    if let Some(done) = done {
                        solves.push(done.info);
                        first.iter_mut().zip(done.pressure).for_each(|(p, more)| *p += more);
                    }
                    return Ok(Thickness { solves, first, flow, pressed: Some(pressed) });
                }
                // Two solves one after the other are less right, but always possible.
                Err(Error::Diverged { message, .. }) => flow += &format!("; it failed ({message})"),
                Err(other) => return Err(other),
            }
        }
        let before = velocity.clone();
        let mass = pressed.masses(velocity.len());
        let moving = Moving { velocity, known, mass: &mass };
        let thickened = thicken(&thick, moving, hold, coupling, &options, step.cancel)?;
        solves.extend(thickened.map(|t| t.info));
        // Held faces are told by the source; vertices beyond its rim would mix something else in.
        held.iter().enumerate().filter(|(_, held)| **held).for_each(|(f, _)| velocity[f] = before[f]);
        Ok(Thickness { solves, first, flow, pressed: Some(pressed) })
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
