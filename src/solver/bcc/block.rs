//! A lattice with fields for one solve, without a scene: the pieces that another engine may use alone.
//!
//! Distances are given at vertices and velocities on faces, along the direction from the first cell of a face to the second.
//! The liquid's distance at a circumcentre, which pressure needs, is read off linearly in the tet that holds it. Where
//! liquid meets a solid its velocity is given at vertices; a face takes the mean of its own. Checked in tests/bcc.

use super::{Coupling, Cut, Embedded, Hold, Moving, Thick, ThickOptions, open_shares, stresses, thicken};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::linalg::SolveInfo;
use crate::math::Vec3;
use crate::mesh::bcc::{Lattice, NONE, Octree, OctreeCell, OctreeDomain};
use rayon::prelude::*;
use std::collections::HashSet;

/// Where the values of a field sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    Vertex,
    Face,
    Cell,
    Tet,
}

/// The fields that can be set; vectors have three numbers to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatticeField {
    LiquidDistance,
    SolidDistance,
    /// Three numbers at each vertex.
    SolidVelocity,
    Velocity,
    Viscosity,
    Pressure,
}

impl LatticeField {
    pub fn seat(self) -> Seat {
        match self {
            Self::LiquidDistance | Self::SolidDistance | Self::SolidVelocity => Seat::Vertex,
            Self::Velocity => Seat::Face,
            Self::Viscosity => Seat::Tet,
            Self::Pressure => Seat::Cell,
        }
    }

    /// Numbers at each place.
    pub fn width(self) -> usize {
        if self == Self::SolidVelocity { 3 } else { 1 }
    }
}

/// A lattice with fields. A field that was never set is empty.
pub struct LatticeBlock {
    lattice: Lattice,
    fields: [Vec<f64>; 6],
    /// Faces whose velocity the last solve has set.
    known: Vec<u8>,
    /// Viscous stress in each tet after the last solve of viscosity.
    stress: Vec<[f64; 6]>,
}

/// What a solve is told.
#[derive(Clone, Copy, Debug)]
pub struct LatticeSolve {
    /// Step, s.
    pub dt: f64,
    /// kg/m³.
    pub density: f64,
    pub tolerance: f64,
}

impl LatticeSolve {
    fn check(&self) -> Result<()> {
        let wrong = |what: &str, value: f64| Err(Error::invalid(what, format!("{value} cannot be")));
        let size = 1e-30..1e30;
        if !size.contains(&self.dt) {
            return wrong("dt", self.dt);
        }
        if !size.contains(&self.density) {
            return wrong("density", self.density);
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return wrong("tolerance", self.tolerance);
        }
        Ok(())
    }
}

impl LatticeBlock {
    /// A lattice over a box. Cells that hold a point are at most as wide as it asks; without points all are as fine as
    /// the domain's depth allows.
    pub fn new(domain: OctreeDomain, points: Option<&[(Vec3, f64)]>) -> Result<Self> {
        let octree = match points {
            None => Octree::new(domain, |_| true)?,
            Some(points) => {
                let wanted = wanted(&domain, points)?;
                Octree::new(domain, |c: &OctreeCell| {
                    wanted.get(c.level).is_some_and(|l| l.contains(&c.index))
                })?
            }
        };
        let (fields, known, stress) = Default::default();
        Ok(Self { lattice: Lattice::new(octree)?, fields, known, stress })
    }

    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// Number of places.
    pub fn count(&self, seat: Seat) -> usize {
        match seat {
            Seat::Vertex => self.lattice.vertices.len(),
            Seat::Face => self.lattice.faces.cells.len(),
            Seat::Cell => self.lattice.cells(),
            Seat::Tet => self.lattice.tets.vertices.len(),
        }
    }

    /// Where the values at a kind of place are, m: velocity of faces where the line between circumcentres meets them,
    /// pressure of cells at circumcentres, viscosity of tets at their middles.
    pub fn positions(&self, seat: Seat) -> Vec<Vec3> {
        let l = &self.lattice;
        let one = |i: usize| match seat {
            Seat::Vertex => l.vertex(i as u32),
            Seat::Face => l.face_crossing(i),
            Seat::Cell => l.circumcentre(i as u32),
            Seat::Tet => l.tets.vertices[i].iter().map(|&v| l.vertex(v)).sum::<Vec3>() / 4.0,
        };
        (0..self.count(seat)).into_par_iter().map(one).collect()
    }

    /// The directions along which the velocities of faces count.
    pub fn normals(&self) -> Vec<Vec3> {
        (0..self.count(Seat::Face)).into_par_iter().map(|f| self.lattice.dual_edge(f).normalize()).collect()
    }

    pub fn get(&self, field: LatticeField) -> &[f64] {
        &self.fields[field as usize]
    }

    /// Bytes: 1 on faces whose velocity the last solve has set.
    pub fn known(&self) -> &[u8] {
        &self.known
    }

    /// The stress 2μe in each tet after the last solve of viscosity, Pa: xx, yy, zz, xy, yz, xz; empty before.
    pub fn stress(&self) -> &[[f64; 6]] {
        &self.stress
    }

    /// Set a field; one value of viscosity is that of all tets.
    pub fn set(&mut self, field: LatticeField, mut values: Vec<f64>, name: &str) -> Result<()> {
        let count = self.count(field.seat()) * field.width();
        if field == LatticeField::Viscosity && values.len() == 1 {
            values = vec![values[0]; count];
        }
        if values.len() != count {
            return Err(Error::invalid(name, format!("{} numbers, the lattice needs {count}", values.len())));
        }
        if let Some(bad) = values.iter().find(|v| v.is_nan() || v.abs() >= 1e100) {
            return Err(Error::invalid(name, format!("{bad} cannot be")));
        }
        if field == LatticeField::Viscosity && values.iter().any(|v| *v < 0.0) {
            return Err(Error::invalid(name, "a viscosity is negative"));
        }
        self.fields[field as usize] = values;
        Ok(())
    }

    /// A field, or the same value everywhere if it was never set.
    fn or(&self, field: LatticeField, value: f64) -> Vec<f64> {
        match self.get(field) {
            [] => vec![value; self.count(field.seat()) * field.width()],
            values => values.to_vec(),
        }
    }

    fn liquid(&self) -> Result<&[f64]> {
        match self.get(LatticeField::LiquidDistance) {
            [] => Err(Error::invalid("liquid_distance", "is not set")),
            values => Ok(values),
        }
    }

    fn solid_velocity(&self, vertex: u32) -> Vec3 {
        let values = self.get(LatticeField::SolidVelocity);
        values.chunks_exact(3).nth(vertex as usize).map_or(Vec3::zeros(), Vec3::from_column_slice)
    }

    /// The face graph of the liquid.
    fn embedded(&self) -> Result<Embedded> {
        let l = &self.lattice;
        let at_vertices = self.liquid()?;
        let at_cell = |c: usize| {
            let x = l.circumcentre(c as u32);
            let tet = l.locate(&x);
            let (shares, vertices) = (l.barycentric(tet, &x), l.tets.vertices[tet]);
            (0..4).map(|k| shares[k] * at_vertices[vertices[k] as usize]).sum()
        };
        let liquid: Vec<f64> = (0..l.cells()).into_par_iter().map(at_cell).collect();
        let far = l.octree().domain().root_width;
        let open = open_shares(l, &self.or(LatticeField::SolidDistance, far))?;
        let velocity = self.or(LatticeField::Velocity, 0.0);
        // A solid's velocity is asked at the middles of faces; it is looked up in the tet there.
        let solid = |x: &Vec3| {
            if self.get(LatticeField::SolidVelocity).is_empty() {
                return Vec3::zeros();
            }
            let tet = l.locate(x);
            let (shares, vertices) = (l.barycentric(tet, x), l.tets.vertices[tet]);
            (0..4).map(|k| self.solid_velocity(vertices[k]) * shares[k]).sum()
        };
        Embedded::new(&Cut { lattice: l, open: &open, liquid: &liquid, velocity: &velocity }, |_| 0.0, solid)
    }

    /// Make the velocities keep volume. Returns what the solve reported, closed regions, and the unknowns.
    pub fn project(
        &mut self,
        options: &LatticeSolve,
        cancel: &Cancel,
    ) -> Result<(Option<SolveInfo>, usize, usize)> {
        options.check()?;
        let mut embedded = self.embedded()?;
        let mut pressure = self.or(LatticeField::Pressure, 0.0);
        let scale = options.dt / options.density;
        let done = embedded.project(scale, &mut pressure, options.tolerance, cancel)?;
        let mut velocity = self.or(LatticeField::Velocity, 0.0);
        embedded.store(&mut velocity);
        self.known = vec![0; velocity.len()];
        embedded.faces.iter().for_each(|&f| self.known[f as usize] = 1);
        self.fields[LatticeField::Velocity as usize] = velocity;
        self.fields[LatticeField::Pressure as usize] = pressure;
        Ok((done.solve, done.closed_regions, embedded.cells.len()))
    }

    /// Let viscosity act; vertices in solids stick to them, or `slide` along them.
    pub fn thicken(
        &mut self,
        options: &LatticeSolve,
        coupling: Coupling,
        slide: bool,
        cancel: &Cancel,
    ) -> Result<(Option<SolveInfo>, usize)> {
        options.check()?;
        let l = &self.lattice;
        let embedded = self.embedded()?;
        let faces = self.count(Seat::Face);
        let (mut known, mut mass) = (vec![false; faces], vec![1.0; faces]);
        for (g, &f) in embedded.faces.iter().enumerate() {
            known[f as usize] = true;
            mass[f as usize] = embedded.graph.area[g] * embedded.graph.length[g];
        }
        let solid = self.or(LatticeField::SolidDistance, l.octree().domain().root_width);
        let viscosity = self.or(LatticeField::Viscosity, 1.0);
        let thick =
            Thick { lattice: l, liquid: self.liquid()?, solid: &solid, viscosity: &viscosity, given: None };
        let normals = if slide { self.solid_normals(&solid) } else { Vec::new() };
        let hold = |v: u32| match normals.get(v as usize) {
            Some(n) => Hold::slide(&[*n], self.solid_velocity(v)),
            None => Hold::stick(self.solid_velocity(v)),
        };
        let mut velocity = self.or(LatticeField::Velocity, 0.0);
        let moving = Moving { velocity: &mut velocity, known: &known, mass: &mass };
        let LatticeSolve { dt, density, tolerance } = *options;
        let options = ThickOptions { dt, density, tolerance, draft: false };
        let done = thicken(&thick, moving, hold, coupling, &options, cancel)?;
        let stress = stresses(&thick, &velocity, &known, hold, &options)?;
        self.stress = stress;
        self.known = known.iter().map(|k| u8::from(*k)).collect();
        self.fields[LatticeField::Velocity as usize] = velocity;
        Ok((done.map(|d| d.info), done.map_or(0, |d| d.unknowns)))
    }

    /// The direction out of solids at each vertex: the mean gradient of the distance over the tets there.
    fn solid_normals(&self, solid: &[f64]) -> Vec<Vec3> {
        let mut sums = vec![Vec3::zeros(); solid.len()];
        for (tet, vertices) in self.lattice.tets.vertices.iter().enumerate() {
            let (g, volume) = self.lattice.gradients(tet);
            let slope: Vec3 = (0..4).map(|k| g[k] * (solid[vertices[k] as usize] * volume)).sum();
            vertices.iter().for_each(|&v| sums[v as usize] += slope);
        }
        sums
    }

    /// The vertices of each face; the last is that of the first again for a triangle.
    pub fn face_vertices(&self) -> Vec<[u32; 4]> {
        let close = |v: &[u32; 4]| if v[3] == NONE { [v[0], v[1], v[2], v[0]] } else { *v };
        self.lattice.faces.vertices.iter().map(close).collect()
    }
}

/// The octree cells of each level that points want refined.
fn wanted(domain: &OctreeDomain, points: &[(Vec3, f64)]) -> Result<Vec<HashSet<[u32; 3]>>> {
    let mut levels = vec![HashSet::new(); domain.depth.min(32) as usize];
    for (at, (x, width)) in points.iter().enumerate() {
        if !(*width > 0.0 && x.iter().all(|v| v.is_finite())) {
            return Err(Error::invalid("sizing", format!("point {at} is not finite or asks for no width")));
        }
        for (level, cells) in levels.iter_mut().enumerate() {
            let own = domain.root_width / f64::from(1u32 << level);
            // A width equal up to rounding is as wanted.
            if own <= 1.000001 * width {
                break;
            }
            let index = (x - domain.origin) / own;
            let last = domain.roots.map(|n| (u64::from(n) << level) as f64 - 1.0);
            if (0..3).all(|a| index[a] >= 0.0 && index[a] <= last[a] + 1.0) {
                cells.insert([0, 1, 2].map(|a| index[a].min(last[a]) as u32));
            }
        }
    }
    Ok(levels)
}
