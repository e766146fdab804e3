//! One step of viscosity on the velocities of faces, by one of the couplings.
//!
//! With H from faces to vertices and B back ([`transfer`](super::transfer)), and v′ what the vertices make of v = H u:
//!
//! ```text
//!     pic      u′ = B v′
//!     flip     u′ = u + B (v′ − v)
//!     blend    u′ = B v′ + (u − B v)/(1 + π²μΔt/(ρA))
//!     faces    (M + Δt HᵀKH) u′ = M u
//! ```
//!
//! `pic` smooths also where there is no viscosity. `flip` does not, and keeps whatever vertices cannot see. A wave as
//! short as a face, of area A, decays in a step by 1/(1 + π²μΔt/(ρA)), so `blend` lets what vertices cannot see decay
//! like that: it is `flip` in water and `pic` in honey. All leave rigid motions as they are, since B H does.

use super::faces::{FaceViscosity, LEAST_MASS};
use super::nodal::NodalViscosity;
use super::transfer::{FacesToNodes, to_face};
use super::{Hold, Thick, ThickOptions};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::linalg::SolveInfo;
use crate::math::Vec3;
use rayon::prelude::*;

/// How faces and vertices are coupled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coupling {
    #[default]
    Blend,
    Flip,
    Pic,
    Faces,
}

/// The faces of a lattice.
pub struct Moving<'a> {
    /// Normal velocity of each face, m/s.
    pub velocity: &'a mut Vec<f64>,
    /// Which of them are those of liquid.
    pub known: &'a [bool],
    /// The volume of liquid that each face stands for, m³: open area × distance over which pressure drops.
    pub mass: &'a [f64],
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thickened {
    pub info: SolveInfo,
    /// Unknown numbers at vertices.
    pub unknowns: usize,
}

/// Let viscosity act on the velocities of the known faces; None if there is no liquid.
pub fn thicken(
    thick: &Thick,
    moving: Moving,
    hold: impl Fn(u32) -> Hold + Sync,
    coupling: Coupling,
    options: &ThickOptions,
    cancel: &Cancel,
) -> Result<Option<Thickened>> {
    let Moving { velocity, known, mass } = moving;
    let faces = thick.lattice.faces.cells.len();
    if [velocity.len(), known.len(), mass.len()] != [faces; 3] {
        let message = format!("{} velocities, {} marks, {} masses", velocity.len(), known.len(), mass.len());
        return Err(Error::invalid("face velocity", format!("{message} for {faces} faces")));
    }
    let system = NodalViscosity::new(thick, options, hold)?;
    if system.unknowns() == 0 {
        return Ok(None);
    }
    cancel.check()?;
    let to_nodes = FacesToNodes::new(thick.lattice, known, &system);
    let info = if coupling == Coupling::Faces {
        let whole = |f: usize| thick.lattice.area_vector(f).norm() * thick.lattice.dual_edge(f).norm();
        let mass: Vec<f64> = (0..faces).into_par_iter().map(|f| mass[f].max(LEAST_MASS * whole(f))).collect();
        FaceViscosity { system: &system, to_nodes: &to_nodes, mass: &mass }.solve(
            velocity,
            options.tolerance,
            cancel,
        )?
    } else {
        let before = to_nodes.apply(velocity);
        let (after, info) = system.solve(&before, options.tolerance, cancel)?;
        let fade = fades(thick, options, coupling);
        give_back(thick, &system, [&before, &after], &fade, velocity, known);
        info
    };
    info.require("viscosity")?;
    Ok(Some(Thickened { info, unknowns: system.unknowns() }))
}

/// The stress 2μe in each tet, Pa, of the velocities of faces as vertices see them: xx, yy, zz, xy, yz, xz; 0 outside the
/// liquid.
pub fn stresses(
    thick: &Thick,
    velocity: &[f64],
    known: &[bool],
    hold: impl Fn(u32) -> Hold + Sync,
    options: &ThickOptions,
) -> Result<Vec<[f64; 6]>> {
    let system = NodalViscosity::new(thick, options, hold)?;
    let to_nodes = FacesToNodes::new(thick.lattice, known, &system);
    Ok(system.stresses(&to_nodes.apply(velocity), thick.viscosity))
}

/// π²μΔt/ρ of each cell, m², from which what vertices cannot see decays; zero keeps it, infinity takes it.
pub(super) fn fades(thick: &Thick, options: &ThickOptions, coupling: Coupling) -> Vec<f64> {
    let cells = thick.lattice.cells();
    match coupling {
        Coupling::Flip => vec![0.0; cells],
        Coupling::Pic => vec![f64::INFINITY; cells],
        _ => {
            let pi = std::f64::consts::PI;
            let factor = pi * pi * options.dt / options.density;
            let mut fade = vec![0.0f64; cells];
            for (&cell, mu) in thick.lattice.tets.cell.iter().zip(thick.viscosity) {
                fade[cell as usize] = fade[cell as usize].max(factor * mu);
            }
            fade
        }
    }
}

/// Velocities of the known faces from those of the nodes before and after.
fn give_back(
    thick: &Thick,
    system: &NodalViscosity,
    [before, after]: [&[Vec3]; 2],
    fade: &[f64],
    velocity: &mut [f64],
    known: &[bool],
) {
    let lattice = thick.lattice;
    velocity.par_iter_mut().enumerate().filter(|(f, _)| known[*f]).for_each(|(f, u)| {
        let at = |v: &[Vec3]| to_face(lattice, system, v, f);
        if let (Some(old), Some(new)) = (at(before), at(after)) {
            let decay = lattice.faces.cells[f].map(|c| fade[c as usize]);
            let kept = 1.0 / (1.0 + 0.5 * (decay[0] + decay[1]) / lattice.area_vector(f).norm());
            *u = new + kept * (*u - old);
        }
    });
}
