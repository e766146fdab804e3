//! Pressure and viscosity in one solve on the lattice, for liquid that creeps.
//!
//! Projecting, letting viscosity act and projecting again knows nothing of the pressure that stress makes: a thread that is
//! drawn out resists with 2μ times its rate of strain, and its surface drags no pressure along. With both in one solve it
//! resists with Trouton's 3μ, since p = 2μ ∂u_n/∂n at the surface. With u on the faces, D the flow out of cells of
//! [`FaceGraph`], M and H as in [`faces`](super::faces), and π = pΔt/ρ,
//!
//! ```text
//!     | A  Dᵀ | | u |   | M u' − what is given pulls |       A = M + Δt HᵀKH + Rᵀ F R ,     R = 1 − B H
//!     | D  0  | |−π | = | what cells must balance    |       F_f = M_f π²μΔt/(ρA_f)
//! ```
//!
//! u' has been projected, so π is what the pressure still lacks and liquid at rest stays at rest. H has a large kernel.
//! Without F, patterns of faces in it would have mass and no viscosity, and pressure would keep the volume by them instead of by
//! the flow. So what vertices cannot see, R u with B the way back of [`transfer`](super::transfer), is damped
//! like a wave as short as its face: what the coupling `blend` does, as an energy. B H passes rigid motions, so
//! A resists none. Faces not all of whose vertices are nodes have F = 0. Vertices that walls or sources hold have v = P H u + g,
//! and held faces keep their velocity.
//!
//! Solved by flexible GMRES with the block triangle (A 0; D −S), as on the grid ([`crate::solver::mac::creep`]). A is inverted by a
//! few steps of conjugate gradients, preconditioned by the diagonal M + 2F and, on the vertices as an auxiliary space, by the
//! multigrid of their own equations, B (N + ΔtK)⁻¹ Bᵀ; S after [CC88] by
//!
//! ```text
//!     S⁻¹ ≈ 2μΔt/(ρV) + (D M⁻¹Dᵀ)⁻¹ ,       the second by a cycle of algebraic multigrid
//! ```
//!
//! Rows of momentum are divided by M + 2F, those of volume by the open area of the widest cell: residuals are velocities.
//! Checked in tests/bcc against Trouton's thread and the grid.

use super::nodal::{NodalSolver, NodalViscosity};
use super::step::fades;
use super::transfer::{FacesToNodes, Lists, face_nodes};
use super::{Coupling, Hold, LEAST_MASS, Thick, ThickOptions};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::linalg::{
    CahouetChabard, Csr, KrylovParams, LinearOperator, NullSpace, Preconditioner, PreconditionerKind,
    SolveInfo, cg, fgmres,
};
use crate::math::Vec3;
use crate::mesh::{AIR, FaceGraph, Incidence};
use crate::solver::bcc::Embedded;
use rayon::prelude::*;

/// Relative residual of the inner solves, and the most steps of one.
const INNER: (f64, usize) = (0.1, 30);
/// Directions that are kept.
const RESTART: usize = 25;
/// Iterations after which the solve is given up.
const MOST: usize = 100;

/// What [`creep`] found.
pub struct Crept {
    pub info: SolveInfo,
    /// Steps of the inner solves, all together.
    pub inner: usize,
    /// Pressure of each cell of the lattice beyond that of the projection before, Pa.
    pub pressure: Vec<f64>,
}

/// Let viscosity and pressure act together on the velocities of faces, which must have been projected; None if there is
/// no liquid. The graph has the faces to be changed, with their velocities; other known faces are held.
pub fn creep(
    thick: &Thick,
    embedded: &Embedded,
    velocity: &mut [f64],
    known: &[bool],
    hold: impl Fn(u32) -> Hold + Sync,
    options: &ThickOptions,
    cancel: &Cancel,
) -> Result<Option<Crept>> {
    let system = NodalViscosity::new(thick, options, hold)?;
    let graph = &embedded.graph;
    if system.unknowns() == 0 || graph.faces() == 0 {
        return Ok(None);
    }
    cancel.check()?;
    let to_nodes = FacesToNodes::new(thick.lattice, known, &system);
    let fade = fades(thick, options, Coupling::Blend);
    let stiff = Stiff::new(thick, embedded, &system, &to_nodes, &fade);
    let incidence = graph.incidence();
    let saddle = Saddle::new(&stiff, graph, &incidence);
    let (n, m) = (graph.faces(), graph.cells());
    let b = right_hand_side(&saddle, velocity);
    cancel.check()?;
    let volumes = thick.lattice.cell_volumes();
    let pi = std::f64::consts::PI;
    let viscous = |&c: &u32| 2.0 * fade[c as usize] / (pi * pi * volumes[c as usize]);
    let mut poisson = PreconditionerKind::Amg.build(&saddle.poisson()?)?;
    let schur = CahouetChabard::new(embedded.cells.iter().map(viscous).collect(), poisson.as_mut())?;
    let cycle = Nodal { stiff: &stiff, solver: system.solver()? };
    cancel.check()?;
    let mut labels = vec![u32::MAX; n];
    let (component, open) = graph.components();
    labels.extend(component.iter().map(|&l| if open[l as usize] { u32::MAX } else { l }));
    let null_space = NullSpace::constants(&crate::solver::pressure::compact(&labels))?;
    let params = KrylovParams {
        tolerance: options.tolerance,
        max_iterations: MOST,
        restart: RESTART,
        null_space: (null_space.count() > 0).then_some(&null_space),
        ..KrylovParams::default()
    };
    // Liquid moves on as it did, or rests.
    let mut x = saddle.start_from(&b, &graph.velocity);
    let mut triangle =
        Triangle { saddle: &saddle, cycle, schur, r: vec![0.0; n], flow: vec![0.0; m], inner: 0, cancel };
    let info = fgmres(&saddle, &mut triangle, &b, &mut x, &params, cancel)?;
    info.require("Stokes")?;
    let inner = triangle.inner;
    for ((&face, sign), u) in embedded.faces.iter().zip(&stiff.sign).zip(&x) {
        velocity[face as usize] = sign * u;
    }
    let mut pressure = vec![0.0; thick.lattice.cells()];
    let pascal = options.density / options.dt;
    embedded.cells.iter().zip(&x[n..]).for_each(|(&c, q)| pressure[c as usize] = -q * pascal);
    Ok(Some(Crept { info, inner, pressure }))
}

/// What momentum there is, less what is given pulls, and what cells must balance.
fn right_hand_side(saddle: &Saddle, velocity: &[f64]) -> Vec<f64> {
    let Saddle { stiff, graph, .. } = saddle;
    let mut given = velocity.to_vec();
    stiff.faces.iter().for_each(|&f| given[f as usize] = 0.0);
    let mut nodes = stiff.to_nodes.apply(&given);
    for (v, hold) in nodes.iter_mut().zip(&stiff.system.holds) {
        *v = hold.free * *v + hold.given();
    }
    let pull = stiff.pull(&vec![0.0; graph.faces()], &nodes);
    let momentum = |f: usize| saddle.inverse[f] * (stiff.mass[f] * graph.velocity[f] - pull[f]);
    let mut b: Vec<f64> = (0..graph.faces()).into_par_iter().map(momentum).collect();
    let mut carried = vec![0.0; graph.cells()];
    saddle.flow(&graph.velocity, &mut carried);
    b.extend(graph.imbalance().iter().zip(&carried).map(|(missing, c)| saddle.balance * (missing + c)));
    b
}

/// A on the faces of a graph.
struct Stiff<'a> {
    system: &'a NodalViscosity<'a>,
    to_nodes: &'a FacesToNodes<'a>,
    /// The face of the lattice of each face, 1 if it leads along its normal and −1 against it, and which way it leads.
    faces: &'a [u32],
    sign: Vec<f64>,
    normals: Vec<Vec3>,
    /// M and F, m³; and F of all faces.
    mass: Vec<f64>,
    fade: Vec<f64>,
    whole_fade: Vec<f64>,
    /// The nodes of each face with their shares, B, and the faces of each node, Bᵀ.
    nodes: Lists,
    faces_of: Lists,
}

impl<'a> Stiff<'a> {
    fn new(
        thick: &Thick<'a>,
        embedded: &'a Embedded,
        system: &'a NodalViscosity<'a>,
        to_nodes: &'a FacesToNodes<'a>,
        fade: &[f64],
    ) -> Self {
        let (lattice, graph, faces) = (thick.lattice, &embedded.graph, &embedded.faces);
        let all = || (0..faces.len()).into_par_iter();
        let whole = |f: usize| lattice.area_vector(f).norm() * lattice.dual_edge(f).norm();
        let mass = |g: usize| (graph.area[g] * graph.length[g]).max(LEAST_MASS * whole(faces[g] as usize));
        let mass: Vec<f64> = all().map(mass).collect();
        let fades = |g: usize| {
            let f = faces[g] as usize;
            let [a, b] = lattice.faces.cells[f].map(|c| fade[c as usize]);
            0.5 * (a + b) * mass[g] / lattice.area_vector(f).norm()
        };
        let whole_fade: Vec<f64> = all().map(fades).collect();
        let nodes = Lists::of_rows(all().map(|g| face_nodes(lattice, system, faces[g] as usize)));
        let faces_of = nodes.transpose(system.nodes.len());
        let sign: Vec<f64> = embedded.turned.iter().map(|t| if *t { -1.0 } else { 1.0 }).collect();
        let normals = all().map(|g| lattice.dual_edge(faces[g] as usize).normalize() * sign[g]).collect();
        let fade = all().map(|g| if nodes.row(g).is_empty() { 0.0 } else { whole_fade[g] }).collect();
        Self { system, to_nodes, faces, sign, normals, mass, fade, whole_fade, nodes, faces_of }
    }

    /// B v.
    fn seen(&self, v: &[Vec3]) -> Vec<f64> {
        let at = |g: usize| {
            let mean: Vec3 = self.nodes.row(g).iter().map(|&(i, w)| v[i as usize] * w).sum();
            self.normals[g].dot(&mean)
        };
        (0..self.faces.len()).into_par_iter().map(at).collect()
    }

    /// Bᵀ q.
    fn handed(&self, q: &[f64]) -> Vec<Vec3> {
        let at = |i: usize| {
            let of = |&(g, w): &(u32, f64)| self.normals[g as usize] * (w * q[g as usize]);
            self.faces_of.row(i).iter().map(of).sum()
        };
        (0..self.system.nodes.len()).into_par_iter().map(at).collect()
    }

    /// What viscosity does to faces with velocities x whose nodes have v: ΔtHᵀPK v + (1 − HᵀPBᵀ) F (x − B v).
    fn pull(&self, x: &[f64], v: &[Vec3]) -> Vec<f64> {
        let mut rough = self.seen(v);
        rough.par_iter_mut().zip(x).zip(&self.fade).for_each(|((q, x), f)| *q = f * (x - *q));
        let mut forces = self.system.forces(v);
        let handed = self.handed(&rough);
        let holds = self.system.holds.par_iter();
        forces.par_iter_mut().zip(&handed).zip(holds).for_each(|((k, q), hold)| *k = hold.free * (*k - q));
        let back = self.to_nodes.transpose(&forces);
        let of = |(g, q): (usize, &f64)| q + self.sign[g] * back[self.faces[g] as usize];
        rough.par_iter().enumerate().map(of).collect()
    }
}

impl LinearOperator for Stiff<'_> {
    fn size(&self) -> usize {
        self.faces.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let mut all = vec![0.0; self.to_nodes.faces()];
        self.faces.iter().zip(&self.sign).zip(x).for_each(|((&f, s), x)| all[f as usize] = s * x);
        let mut v = self.to_nodes.apply(&all);
        v.par_iter_mut().zip(&self.system.holds).for_each(|(v, hold)| *v = hold.free * *v);
        let pull = self.pull(x, &v);
        y.par_iter_mut().enumerate().for_each(|(g, y)| *y = self.mass[g] * x[g] + pull[g]);
    }
}

/// The preconditioner of A.
struct Nodal<'a> {
    stiff: &'a Stiff<'a>,
    solver: NodalSolver,
}

impl Preconditioner for Nodal<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let Stiff { system, mass, whole_fade, .. } = self.stiff;
        let smooth = self.stiff.seen(&self.solver.precondition(system, &self.stiff.handed(r)));
        z.par_iter_mut()
            .enumerate()
            .for_each(|(g, z)| *z = r[g] / (mass[g] + 2.0 * whole_fade[g]) + smooth[g]);
    }
}

/// The matrix of the header with its rows divided.
struct Saddle<'a> {
    stiff: &'a Stiff<'a>,
    graph: &'a FaceGraph,
    incidence: &'a Incidence,
    /// What rows of momentum and of volume are multiplied with, m⁻³ and m⁻².
    inverse: Vec<f64>,
    balance: f64,
}

impl<'a> Saddle<'a> {
    fn new(stiff: &'a Stiff<'a>, graph: &'a FaceGraph, incidence: &'a Incidence) -> Self {
        let inverse = stiff.mass.iter().zip(&stiff.whole_fade).map(|(m, f)| 1.0 / (m + 2.0 * f)).collect();
        let area = |i: usize| incidence.of_cell(i).iter().map(|&f| graph.area[f as usize]).sum::<f64>();
        let widest = (0..graph.cells()).map(area).fold(f64::MIN_POSITIVE, f64::max);
        Self { stiff, graph, incidence, inverse, balance: 1.0 / widest }
    }

    /// D u.
    fn flow(&self, u: &[f64], out: &mut [f64]) {
        let FaceGraph { near, area, .. } = self.graph;
        out.par_iter_mut().enumerate().for_each(|(i, out)| {
            let of = |&f: &u32| {
                let (f, sign) = (f as usize, if near[f as usize] as usize == i { 1.0 } else { -1.0 });
                sign * area[f] * u[f]
            };
            *out = self.incidence.of_cell(i).iter().map(of).sum();
        });
    }

    /// D M⁻¹Dᵀ.
    fn poisson(&self) -> Result<Csr> {
        let FaceGraph { near, far, area, .. } = self.graph;
        let n = self.graph.cells();
        Csr::from_rows(n, n, |i, row| {
            let mut diagonal = 0.0;
            for &f in self.incidence.of_cell(i) {
                let f = f as usize;
                let k = area[f] * area[f] / self.stiff.mass[f];
                diagonal += k;
                if far[f] != AIR {
                    row.push((near[f] + far[f] - i as u32, -k));
                }
            }
            // A cell without open faces keeps any pressure; one makes the row harmless.
            row.push((i as u32, if diagonal > 0.0 { diagonal } else { 1.0 }));
        })
    }
}

impl LinearOperator for Saddle<'_> {
    fn size(&self) -> usize {
        self.graph.faces() + self.graph.cells()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let FaceGraph { near, far, area, .. } = self.graph;
        let ((u, q), (v, flow)) = (x.split_at(area.len()), y.split_at_mut(area.len()));
        self.stiff.apply(u, v);
        v.par_iter_mut().enumerate().for_each(|(f, v)| {
            let beyond = if far[f] == AIR { 0.0 } else { q[far[f] as usize] };
            *v = self.inverse[f] * (*v + area[f] * (q[near[f] as usize] - beyond));
        });
        self.flow(u, flow);
        flow.par_iter_mut().for_each(|flow| *flow *= self.balance);
    }
}

/// The inverse of the block triangle.
struct Triangle<'a> {
    saddle: &'a Saddle<'a>,
    cycle: Nodal<'a>,
    schur: CahouetChabard<'a>,
    r: Vec<f64>,
    flow: Vec<f64>,
    inner: usize,
    cancel: &'a Cancel,
}

impl Preconditioner for Triangle<'_> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let saddle = self.saddle;
        let (r_u, r_q) = r.split_at(saddle.inverse.len());
        let (z_u, z_q) = z.split_at_mut(saddle.inverse.len());
        self.r.iter_mut().zip(r_u).zip(&saddle.inverse).for_each(|((s, r), i)| *s = r / i);
        let params = KrylovParams { tolerance: INNER.0, max_iterations: INNER.1, ..KrylovParams::default() };
        z_u.fill(0.0);
        match cg(saddle.stiff, &mut self.cycle, &self.r, z_u, &params, self.cancel) {
            Ok(info) => self.inner += info.iterations,
            Err(Error::Cancelled) => return,
            // A poor direction does no harm; the outer method sees the true residual.
            Err(_) => self.cycle.apply(&self.r, z_u),
        }
        // z_q = S⁻¹(D z_u − r_q).
        saddle.flow(z_u, &mut self.flow);
        self.flow.iter_mut().zip(r_q).for_each(|(f, r)| *f -= r / saddle.balance);
        self.schur.apply(&self.flow, z_q);
    }
}
