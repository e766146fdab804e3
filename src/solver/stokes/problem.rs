//! What a solve is given and what it gives.

use super::samples::{Samples, Site};
use super::weights::Shares;
use crate::error::{Error, Result};
use crate::linalg::SolveInfo;

/// Which forces act in the solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Physics {
    /// Pressure alone: the velocity is projected so that the liquid keeps its volume.
    Pressure,
    /// Viscosity alone. `trace_free` leaves out the part of the stress that resists change of volume, as the
    /// published scheme does; otherwise τ = 2με, whose null vectors are the rigid motions alone.
    Viscosity { trace_free: bool },
    /// Pressure and viscosity at once.
    Stokes,
}

impl Physics {
    pub fn has_pressure(self) -> bool {
        !matches!(self, Physics::Viscosity { .. })
    }

    pub fn has_stress(self) -> bool {
        self != Physics::Pressure
    }
}

/// What a wall does to the liquid beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wall {
    /// The liquid moves with the wall.
    #[default]
    Stick,
    /// The liquid does not pass through the wall and feels no traction along it.
    Slide,
}

/// The components of a stress: `normal[a]` is τ_aa at centres, `shear[a]` is τ_bc on the edges along a, Pa.
/// Absent components are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stress {
    pub normal: [Vec<f64>; 3],
    pub shear: [Vec<f64>; 3],
}

/// One step of one liquid. Vectors that may be empty stand for zero where they are.
#[derive(Clone, Debug)]
pub struct Problem {
    pub samples: Samples,
    /// Share of liquid round each sample, ignoring solids: W_L.
    pub liquid: Shares,
    /// Share that is not solid, ignoring the surface: W_F.
    pub open: Shares,
    /// kg/m³, one value or one a cell.
    pub density: Vec<f64>,
    /// Pa·s, one value or one a cell.
    pub viscosity: Vec<f64>,
    /// Step, s.
    pub dt: f64,
    /// Velocity before the step, m/s, on faces.
    pub velocity: [Vec<f64>; 3],
    /// Velocity of walls, m/s, on faces; may be empty.
    pub wall_velocity: [Vec<f64>; 3],
    /// Pressure at the surface, Pa, at centres; may be empty.
    pub surface_pressure: Vec<f64>,
    /// Deviatoric stress at the surface, Pa; components may be empty.
    pub surface_stress: Stress,
    /// What the wall near a cell does; sticking if empty.
    pub walls: Vec<Wall>,
}

impl Problem {
    /// Liquid that fills a block without walls, of density 1, without viscosity, at rest; the step is 1 s.
    pub fn new(samples: Samples) -> Self {
        let mut velocity: [Vec<f64>; 3] = Default::default();
        (0..samples.axes()).for_each(|a| velocity[a] = vec![0.0; samples.count(Site::Face(a))]);
        Self {
            samples,
            liquid: Shares::uniform(&samples, 1.0),
            open: Shares::uniform(&samples, 1.0),
            density: vec![1.0],
            viscosity: vec![0.0],
            dt: 1.0,
            velocity,
            wall_velocity: Default::default(),
            surface_pressure: Vec::new(),
            surface_stress: Stress::default(),
            walls: Vec::new(),
        }
    }

    /// An error that names the first field which does not fit.
    pub fn check(&self) -> Result<()> {
        let cells = self.samples.count(Site::Centre);
        let length =
            |name: &str, found: usize, wanted: usize, may_differ: bool| match found == wanted || may_differ {
                true => Ok(()),
                false => Err(Error::invalid(name, format!("{found} values; there are {wanted}"))),
            };
        for (name, values) in [("density", &self.density), ("viscosity", &self.viscosity)] {
            length(name, values.len(), cells, values.len() == 1)?;
        }
        if self.density.iter().any(|d| !(*d > 0.0 && d.is_finite())) {
            return Err(Error::invalid("density", "must be greater than zero"));
        }
        if self.viscosity.iter().any(|m| !(*m >= 0.0 && m.is_finite())) {
            return Err(Error::invalid("viscosity", "must be zero or greater"));
        }
        for a in 0..self.samples.axes() {
            let faces = self.samples.count(Site::Face(a));
            length("velocity", self.velocity[a].len(), faces, false)?;
            length("wall velocity", self.wall_velocity[a].len(), faces, self.wall_velocity[a].is_empty())?;
        }
        length("surface pressure", self.surface_pressure.len(), cells, self.surface_pressure.is_empty())?;
        length("walls", self.walls.len(), cells, self.walls.is_empty())?;
        for site in self.samples.sites() {
            length("shares", self.liquid.get(site).len(), self.samples.count(site), false)?;
            length("shares", self.open.get(site).len(), self.samples.count(site), false)?;
        }
        if !(1e-12..1e12).contains(&self.dt) {
            return Err(Error::invalid("dt", format!("is {} s", self.dt)));
        }
        Ok(())
    }
}

/// The state after the step. In air and solid pressure and stress are those of the boundary; faces in
/// air keep the velocity that they had.
#[derive(Clone, Debug)]
pub struct Solution {
    /// m/s, on faces.
    pub velocity: [Vec<f64>; 3],
    /// 1 on faces whose velocity the solve or a wall has set.
    pub known: [Vec<u8>; 3],
    /// Pa, at centres.
    pub pressure: Vec<f64>,
    /// Trace-free stress, Pa; for viscosity alone with a trace the full 2με.
    pub stress: Stress,
    /// Regions without a free surface, whose pressure is known up to a constant.
    pub closed_regions: usize,
    /// Unknowns of the system that was solved.
    pub unknowns: usize,
    pub solve: SolveInfo,
}

/// The value of a cell in a list of one or all.
pub(super) fn cell_value(values: &[f64], cell: usize) -> f64 {
    if values.len() == 1 { values[0] } else { values[cell] }
}

/// A value of a list that may be empty.
pub(super) fn or_zero(values: &[f64], i: usize) -> f64 {
    values.get(i).copied().unwrap_or(0.0)
}
