//! Viscosity and Stokes flow on the block of an engine that brings its own fields.
//!
//! The block is given two more cells on every side, which are solid: then its border is a wall like any other, at
//! the plane where it is, and border faces take the solid velocity given there. What is known on the block only is
//! continued: distances in straight lines, velocities of walls, density, viscosity and surface pressure as they are at the border.

use super::problem::{Physics, Problem, Stress, Wall};
use super::samples::{Samples, Site};
use super::velocity_pressure::{Options, solve};
use super::weights::{Lattice, Shares};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::linalg::SolveInfo;
use crate::math::Vec3;
use crate::solver::mac::{Block, BlockField, Place};

/// Cells that are added on every side.
const PAD: usize = 2;
/// Sub-boxes a side of the boxes that are weighed.
const PARTS: usize = 4;

/// What a block knows beyond its pressure solve.
#[derive(Clone, Debug)]
pub struct BlockStokes {
    /// Pa·s, one value or one a cell.
    pub viscosity: Vec<f64>,
    /// Whether the wall near a cell slides; one value or one a cell, true if not zero.
    pub slide: Vec<f64>,
    /// The stress after the last solve.
    pub stress: Stress,
}

impl Default for BlockStokes {
    fn default() -> Self {
        Self { viscosity: vec![1.0], slide: vec![0.0], stress: Stress::default() }
    }
}

impl BlockStokes {
    /// The samples of a block, without the cells that are added.
    pub fn samples(block: &Block) -> Result<Samples> {
        Samples::new(block.cells(), block.origin(), block.h())
    }

    /// Set the viscosity or where walls slide; `name` is for errors.
    pub fn set(&mut self, block: &Block, slide: bool, values: Vec<f64>, name: &str) -> Result<()> {
        let count = block.count(Place::Centre);
        if values.len() != 1 && values.len() != count {
            return Err(Error::invalid(
                name,
                format!("{} values; there are {count}, or give one", values.len()),
            ));
        }
        if values.iter().any(|v| !(*v >= 0.0 && v.is_finite())) {
            return Err(Error::invalid(name, "must be zero or greater"));
        }
        *(if slide { &mut self.slide } else { &mut self.viscosity }) = values;
        Ok(())
    }
}

/// Where a sample of the block sits in the padded one, and how values at the border are continued.
struct Frame {
    inner: Samples,
    outer: Samples,
}

impl Frame {
    fn new(block: &Block) -> Result<Self> {
        let inner = BlockStokes::samples(block)?;
        let pad = |a: usize| if a < inner.axes() { PAD } else { 0 };
        let cells = std::array::from_fn(|a| inner.cells()[a] + 2 * pad(a));
        let shift = Vec3::from_fn(|a, _| pad(a) as f64 * block.h());
        Ok(Self { inner, outer: Samples::new(cells, block.origin() - shift, block.h())? })
    }

    /// The sample of the block at or nearest to one of the padded block.
    fn nearest(&self, site: Site, index: usize) -> usize {
        let (at, n) = (self.outer.place(site, index), self.inner.extent(site));
        let clamp = |a: usize| {
            if a < self.inner.axes() { at[a].saturating_sub(PAD).min(n[a] - 1) } else { at[a] }
        };
        self.inner.index(site, std::array::from_fn(clamp))
    }

    fn outside(&self, site: Site, index: usize) -> usize {
        let at = self.inner.place(site, index);
        self.outer.index(site, std::array::from_fn(|a| at[a] + if a < self.inner.axes() { PAD } else { 0 }))
    }

    /// Continue values of the block; one value or none stays as it is.
    fn spread<T: Copy>(&self, site: Site, values: &[T]) -> Vec<T> {
        if values.len() <= 1 {
            return values.to_vec();
        }
        (0..self.outer.count(site)).map(|i| values[self.nearest(site, i)]).collect()
    }

    /// Take the values of the block out again.
    fn crop<T: Copy>(&self, site: Site, values: &[T]) -> Vec<T> {
        if values.is_empty() {
            return Vec::new();
        }
        (0..self.inner.count(site)).map(|i| values[self.outside(site, i)]).collect()
    }
}

/// Solve on a block: velocity, pressure (for Stokes) and stress are replaced. Returns how it went, the number of closed
/// regions and of unknowns. After an error the fields are as they were.
pub fn solve_block(
    block: &mut Block,
    extra: &mut BlockStokes,
    physics: Physics,
    dt: f64,
    options: &Options,
    cancel: &Cancel,
) -> Result<(SolveInfo, usize, usize)> {
    if block.get(BlockField::LiquidDistance).is_empty() {
        return Err(Error::invalid("liquid_distance", "must be set before a solve"));
    }
    let frame = Frame::new(block)?;
    let problem = padded(block, extra, &frame, dt);
    cancel.check()?;
    let solution = solve(&problem, physics, options, cancel)?;
    let axes = frame.inner.axes();
    let (mut velocity, mut known): ([Vec<f64>; 3], [Vec<u8>; 3]) = Default::default();
    let mut stress = Stress::default();
    for a in 0..axes {
        velocity[a] = frame.crop(Site::Face(a), &solution.velocity[a]);
        known[a] = frame.crop(Site::Face(a), &solution.known[a]);
        stress.normal[a] = frame.crop(Site::Centre, &solution.stress.normal[a]);
    }
    for e in frame.inner.edge_axes() {
        stress.shear[e] = frame.crop(Site::Edge(e), &solution.stress.shear[e]);
    }
    let pressure =
        if physics.has_pressure() { frame.crop(Site::Centre, &solution.pressure) } else { Vec::new() };
    block.accept(velocity, known, pressure);
    extra.stress = stress;
    Ok((solution.solve, solution.closed_regions, solution.unknowns))
}

/// The problem of a block on the padded samples.
fn padded(block: &Block, extra: &BlockStokes, frame: &Frame, dt: f64) -> Problem {
    let (samples, axes) = (frame.outer, frame.outer.axes());
    let mut problem = Problem::new(samples);
    let liquid = Lattice {
        extent: block.extent(Place::Centre),
        first: PAD as f64 + 0.5,
        values: block.get(BlockField::LiquidDistance),
    };
    problem.liquid = Shares::of_lattice(&samples, PARTS, &liquid);
    problem.open = room(block, frame);
    problem.dt = dt;
    problem.density = frame.spread(Site::Centre, block.get(BlockField::Density));
    problem.viscosity = frame.spread(Site::Centre, &extra.viscosity);
    let surface = frame.spread(Site::Centre, block.get(BlockField::SurfacePressure));
    let one = surface.first().copied().unwrap_or(0.0);
    problem.surface_pressure = if surface.len() > 1 {
        surface
    } else if one == 0.0 {
        Vec::new()
    } else {
        vec![one; samples.count(Site::Centre)]
    };
    if extra.slide.iter().any(|s| *s != 0.0) {
        let slide = frame.spread(Site::Centre, &extra.slide);
        let slides = |i: usize| slide[if slide.len() == 1 { 0 } else { i }] != 0.0;
        let wall = |i: usize| if slides(i) { Wall::Slide } else { Wall::Stick };
        problem.walls = (0..samples.count(Site::Centre)).map(wall).collect();
    }
    for a in 0..axes {
        let given = block.get(BlockField::Velocity(a));
        if !given.is_empty() {
            problem.velocity[a] = frame.spread(Site::Face(a), given);
        }
        problem.wall_velocity[a] = frame.spread(Site::Face(a), block.get(BlockField::SolidVelocity(a)));
    }
    problem
}

/// W_F: neither in a solid nor beyond the border.
fn room(block: &Block, frame: &Frame) -> Shares {
    let (samples, axes) = (frame.outer, frame.outer.axes());
    let solid = block.get(BlockField::SolidDistance);
    // Nodes of the padded block: the solid's distance turned round, at most the way in from the border.
    let extent: [usize; 3] = std::array::from_fn(|a| samples.cells()[a] + usize::from(a < axes));
    let own = Lattice { extent: block.extent(Place::Node), first: PAD as f64, values: solid };
    let of_solid = (!solid.is_empty()).then(|| {
        let at = |i: usize| {
            let place = [i % extent[0], i / extent[0] % extent[1], i / (extent[0] * extent[1])];
            -own.at(axes, Vec3::new(place[0] as f64, place[1] as f64, place[2] as f64))
        };
        let count: usize = extent.iter().product();
        let nodes: Vec<f64> = (0..count).map(at).collect();
        Shares::of_lattice(&samples, PARTS, &Lattice { extent, first: 0.0, values: &nodes })
    });
    // The border cuts boxes along axes only, so its share is a product; a solid beside it is taken as independent of it
    // inside the box, which is exact where one of them does not cut.
    Shares::build(&samples, |site, i| {
        let x = samples.place(site, i);
        let offset = samples.offset(site);
        let part = |a: usize| {
            let (centre, n) = (x[a] as f64 + offset[a], samples.cells()[a] as f64);
            let (low, high) = ((centre - 0.5).max(PAD as f64), (centre + 0.5).min(n - PAD as f64));
            (high - low).max(0.0)
        };
        let border: f64 = (0..axes).map(part).product();
        border * of_solid.as_ref().map_or(1.0, |s| s.get(site)[i])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(n: usize) -> Block {
        Block::new([n, n, 1], Vec3::zeros(), 1.0 / n as f64).unwrap()
    }

    #[test]
    fn a_lid_that_moves_drags_the_liquid_below_it() {
        // Liquid fills a flat box; its upper border slides along x. After a long step of thick liquid the vortex is steady.
        let n = 16;
        let mut b = block(n);
        b.set(BlockField::LiquidDistance, vec![-1.0; n * n], "phi").unwrap();
        let mut lid = vec![0.0; (n + 1) * n];
        // Not at the ends of the row: there the border would let liquid through.
        lid[(n + 1) * (n - 1) + 1..(n + 1) * n - 1].fill(1.0);
        b.set(BlockField::SolidVelocity(0), lid, "lid").unwrap();
        let mut extra = BlockStokes { viscosity: vec![1e4], ..Default::default() };
        let options = Options::default();
        let (info, closed, _) =
            solve_block(&mut b, &mut extra, Physics::Stokes, 1.0, &options, &Cancel::new()).unwrap();
        assert!(info.converged() && closed == 1);
        let u = b.get(BlockField::Velocity(0));
        let column: Vec<f64> = (0..n).map(|j| u[j * (n + 1) + n / 2]).collect();
        // With the lid, backward below, and as much one way as the other.
        assert!(column[n - 1] > 0.5 && column[n / 2] < -0.1, "{column:?}");
        assert!(column.iter().sum::<f64>().abs() < 1e-6, "{column:?}");
        assert!(extra.stress.shear[2].len() == (n + 1) * (n + 1));
    }

    #[test]
    fn a_fall_between_walls_is_poiseuilles() {
        // Thick liquid between walls at x = 0 and 1, drawn down by gravity: a surface at the bottom, inflow at the top.
        let n = 32;
        let mut b = block(n);
        let phi = (0..n * n).map(|i| 0.05 - ((i / n) as f64 + 0.5) / n as f64).collect();
        b.set(BlockField::LiquidDistance, phi, "phi").unwrap();
        b.set(BlockField::Density, vec![1.0], "density").unwrap();
        let (g, mu, dt) = (8.0, 1.0, 1e4);
        b.set(BlockField::Velocity(1), vec![-g * dt; n * (n + 1)], "v").unwrap();
        let mut border = vec![0.0; n * (n + 1)];
        // The profile leaves through the upper border as it would inside.
        let exact = |i: usize| -> f64 {
            let x = (i as f64 + 0.5) / n as f64;
            -g / (2.0 * mu) * x * (1.0 - x)
        };
        (0..n).for_each(|i| border[n * n + i] = exact(i));
        b.set(BlockField::SolidVelocity(1), border, "border").unwrap();
        let mut extra = BlockStokes { viscosity: vec![mu], ..Default::default() };
        solve_block(&mut b, &mut extra, Physics::Stokes, dt, &Options::default(), &Cancel::new()).unwrap();
        let v = b.get(BlockField::Velocity(1));
        for i in 0..n {
            let found = v[(3 * n / 4) * n + i];
            assert!((found - exact(i)).abs() < 0.02, "{i}: {found} is not {}", exact(i));
        }
    }
}
