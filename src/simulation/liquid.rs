//! What every simulator is: six stages that run in order, once a substep.
//!
//! A simulator keeps its last whole state until [`Liquid::commit`]; a stage that fails or is
//! cancelled leads to [`Liquid::abandon`], and nothing has happened.

use super::bcc::CellsView;
use super::report::Limit;
use super::state::{Reader, Writer};
use super::volumes::VolumesView;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::field::{Particles, Solids};
use crate::geometry::{Attribute, TriMesh};
use crate::linalg::SolveInfo;
use crate::math::{Aabb, CHUNK, Vec3};
use crate::solver::mac::{Bodies, Carried};
use rayon::prelude::*;

/// A source of liquid during one substep.
pub struct Inflow<'a> {
    /// Index in the scene's list of emitters.
    pub index: usize,
    /// Signed distance to the region that is kept full.
    pub distance: &'a (dyn Fn(&Vec3) -> f64 + Sync),
    pub bounds: Aabb,
    pub velocity: Vec3,
    /// Velocity of the region itself.
    pub carried: Vec3,
    /// Index of its liquid in the scene.
    pub liquid: u8,
    /// Volume that it may still give in this substep, m³.
    pub budget: f64,
    /// Whether no rate is given: then as much comes as the region lacks.
    pub fills: bool,
    /// Writes what liquid that comes in at a point carries behind a list.
    pub paint: &'a (dyn Fn(&Vec3, &mut Vec<f32>) + Sync),
}

/// A sink during one substep.
pub struct Outflow<'a> {
    /// Signed distance to the region that is kept empty.
    pub distance: &'a (dyn Fn(&Vec3) -> f64 + Sync),
    pub bounds: Aabb,
}

impl Outflow<'_> {
    /// Whether what is at x is swallowed.
    pub fn takes(&self, x: &Vec3) -> bool {
        self.bounds.contains(x) && (self.distance)(x) < 0.0
    }
}

/// Acceleration from position, velocity and depth below the free surface, m; −∞ for spray.
pub type ForceField<'a> = dyn Fn(&Vec3, &Vec3, f64) -> Vec3 + Sync + 'a;

/// What the world does during one substep.
pub struct Step<'a> {
    /// Seconds.
    pub dt: f64,
    /// Where solids are at the end of the substep, and how they got there.
    pub solids: &'a Solids,
    /// Acceleration that is the same everywhere, m/s².
    pub gravity: Vec3,
    /// Further acceleration at a point, for the velocity and depth of the liquid there, m/s².
    pub force: Option<&'a ForceField<'a>>,
    /// Surface tension, N/m.
    pub tension: f64,
    pub inflows: &'a [Inflow<'a>],
    pub outflows: &'a [Outflow<'a>],
    /// Dynamic viscosity of each liquid of the scene, Pa·s; empty without any.
    pub viscosity: &'a [f64],
    /// The greatest that liquid may have by its source or its age, Pa·s.
    pub thickest: f64,
    /// Bodies that liquid moves; the last of the solids.
    pub bodies: &'a Bodies<'a>,
    pub cancel: &'a Cancel,
}

/// What the equations of one substep reported.
#[derive(Clone, Debug, Default)]
pub struct Solved {
    pub solves: Vec<SolveInfo>,
    pub closed_regions: usize,
    pub refused_inflow: f64,
    /// How pressure and viscosity were found, and why; empty without viscosity.
    pub flow: String,
}

/// Fields on the cells of a simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct CellFields<'a> {
    /// Pa, zero outside the liquid.
    pub pressure: &'a [f64],
    /// Distance to the surface, negative in liquid, m.
    pub distance: &'a [f64],
    /// Velocity on the lower faces of the cells across x, y and z, m/s; nothing if cells are no cubes.
    pub faces: [&'a [f64]; 3],
}

/// How much liquid there is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Measured, m³.
    pub volume: f64,
    /// Poured in less what left, m³.
    pub expected: f64,
    pub liquid_cells: usize,
    pub tiles: usize,
}

/// Sums over the liquid, from which its energy follows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// m³.
    pub volume: f64,
    /// ½ Σ V u², m⁵/s².
    pub motion: f64,
    /// Σ V x, m⁴.
    pub place: Vec3,
}

impl Moments {
    /// Sum parts of liquid, each with volume, place and velocity, in one order for any number of threads.
    pub fn of(count: usize, part: impl Fn(usize) -> (f64, Vec3, Vec3) + Sync + Send) -> Self {
        let add = |a: Self, b: Self| Self {
            volume: a.volume + b.volume,
            motion: a.motion + b.motion,
            place: a.place + b.place,
        };
        let of = |(v, x, u): (f64, Vec3, Vec3)| Self {
            volume: v,
            motion: 0.5 * v * u.norm_squared(),
            place: x * v,
        };
        let some = |n: usize| (n * CHUNK..((n + 1) * CHUNK).min(count)).map(&part).filter(|p| p.0 > 0.0);
        let sums = (0..count.div_ceil(CHUNK)).into_par_iter();
        let sums: Vec<Self> = sums.map(|n| some(n).map(of).fold(Self::default(), add)).collect();
        sums.into_iter().fold(Self::default(), add)
    }
}

/// One discretisation of a liquid.
pub trait Liquid: Send + Sync {
    /// The longest step that the present motion allows under this acceleration.
    fn max_dt(&self, acceleration: f64) -> Limit;

    fn advect_surface(&mut self, step: &Step) -> Result<()>;
    fn remesh(&mut self, step: &Step) -> Result<()>;
    fn advect_velocity(&mut self, step: &Step) -> Result<()>;
    fn apply_forces(&mut self, step: &Step) -> Result<()>;
    fn solve(&mut self, step: &Step) -> Result<Solved>;
    fn finish(&mut self, step: &Step) -> Result<()>;

    /// What the last solve made of the bodies.
    fn carried(&self) -> &[Carried] {
        &[]
    }

    /// Where the first number of the new state that is not finite stands, in words.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Make the new state the present one.
    fn commit(&mut self);
    /// Forget the new state.
    fn abandon(&mut self);

    fn amount(&self) -> Amount;
    fn max_speed(&self) -> f64;
    fn particles(&self) -> &Particles;
    /// The surface for pictures, entering solids by `overlap` metres, with what its liquid carries; `viscosity` is that
    /// of each liquid of the scene, Pa·s.
    fn surface(&self, overlap: f64, viscosity: &[f64]) -> Result<TriMesh>;
    /// The names of what surface and particles carry besides velocity and id.
    fn attribute_names(&self) -> Vec<String> {
        Vec::new()
    }
    /// The greatest viscosity that liquid carries from its source, Pa·s; 0 if none does.
    fn thickest(&self) -> f64 {
        0.0
    }
    /// What the particles carry besides velocity and id.
    fn particle_attributes(&self, _viscosity: &[f64]) -> Vec<Attribute> {
        Vec::new()
    }
    /// Pressure, distance and velocity on the cells.
    fn cell_fields(&self) -> CellFields<'_>;
    /// Where the cells are, and the velocity of the liquid there.
    fn cell_motion(&self) -> (Vec<Vec3>, Vec<Vec3>);
    /// Where the velocities on the faces across an axis are; nowhere if cells are no cubes.
    fn face_positions(&self, _axis: usize) -> Vec<Vec3> {
        Vec::new()
    }
    /// Named shares of the equations of the step being made, for whoever looks into a failure.
    fn weights(&self) -> Vec<(&'static str, Vec<f64>)> {
        Vec::new()
    }
    /// The cells on which pressure is solved, if they are worth looking at.
    fn cells(&self) -> Option<CellsView<'_>> {
        None
    }
    /// Volume, half its sum with the square of speed, and its sum with position: m³, m⁵/s², m⁴.
    fn moments(&self) -> Moments;
    /// The fields on tiles, for files; the viscosity of each liquid is given, Pa·s.
    fn volumes(&self, viscosity: &[f64]) -> Result<VolumesView<'_>>;
    /// Volume that each emitter has given so far, m³.
    fn emitted(&self) -> &[f64];
    fn bytes(&self) -> usize;

    /// Forget what was measured of solids, because some that never moved are others now.
    fn measure_again(&mut self, solids: &Solids) -> Result<()> {
        let mut state = Writer::new();
        self.save(&mut state);
        self.load(&mut Reader::new(&state.finish())?, solids)
    }

    fn save(&self, out: &mut Writer);
    fn load(&mut self, from: &mut Reader, solids: &Solids) -> Result<()>;
}
