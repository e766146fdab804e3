//! Tanks with bodies for the solver alone.

use meniscus::Cancel;
use meniscus::field::{Solid, SolidShape, Solids, Wall};
use meniscus::geometry::{Moments, Shape, TriMesh};
use meniscus::grid::Tiles;
use meniscus::math::{Aabb, Mat3, Motion, Pose, Vec3};
use meniscus::solver::mac::{
    Afloat, Asked, Bodies, MacGrid, Multigrid, PressureOptions, Projected, project_with_bodies,
};
use meniscus::solver::rigid::{RigidBody, Six, mass_matrix};
use std::sync::Arc;

pub const WATER: f64 = 1000.0;
pub const G: f64 = 9.81;
pub const H: f64 = 1.0 / 16.0;

pub struct Formula(pub Shape);
impl SolidShape for Formula {
    fn distance(&self, x: &Vec3) -> f64 {
        self.0.distance(x)
    }
    fn bounds(&self) -> Aabb {
        self.0.bounds()
    }
}

/// Everything outside a shape.
pub struct Hollow(pub Shape);
impl SolidShape for Hollow {
    fn distance(&self, x: &Vec3) -> f64 {
        -self.0.distance(x)
    }
    fn bounds(&self) -> Aabb {
        Aabb::new(Vec3::repeat(-1e3), Vec3::repeat(1e3))
    }
}

pub fn solid(shape: Arc<dyn SolidShape>, pose: Pose, animated: bool) -> Solid {
    let motion = Motion::at_rest(pose);
    Solid { name: "solid".into(), shape, scale: 1.0, motion, before: pose, animated, wall: Wall::default() }
}

pub fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose { translation: Vec3::new(x, y, z), ..Pose::identity() }
}

/// A mesh of a shape that has exactly its volume.
pub fn hull(shape: &Shape, edge: f64) -> TriMesh {
    let mut mesh = shape.triangulate(edge).unwrap();
    let grow = (shape.volume() / Moments::of(&mesh).volume).cbrt();
    mesh.positions.iter_mut().for_each(|x| *x *= grow);
    mesh
}

/// A body of a shape at rest.
pub fn afloat(shape: &Shape, pose: Pose, density: f64) -> Afloat {
    let hull = hull(shape, shape.bounds().size().max() / 64.0);
    let moments = Moments::of(&hull);
    let mass = density * moments.volume;
    let r = pose.rotation.to_rotation_matrix().into_inner();
    let inertia: Mat3 = r * (moments.inertia() * density) * r.transpose();
    let body = RigidBody {
        centre: pose.to_world(&moments.centre),
        velocity: Six::zeros(),
        inverse_mass: mass_matrix(mass, &inertia).try_inverse().unwrap(),
    };
    Afloat { body, hull: Arc::new(hull), pose, volume: moments.volume, mass, contact: Six::zeros() }
}

/// A closed tank from −2 to 2 with bodies in it, liquid where `phi` is negative, about to be accelerated by gravity.
pub struct Tank {
    pub grid: MacGrid,
    pub solids: Solids,
}

pub fn tank(others: Vec<Solid>, bodies: &[(Shape, Pose)], half: f64, phi: impl Fn(&Vec3) -> f64) -> Tank {
    let mut all = others;
    all.extend(bodies.iter().map(|(s, p)| solid(Arc::new(Formula(s.clone())), *p, true)));
    let domain = Aabb::new(Vec3::repeat(-half), Vec3::repeat(half));
    let solids = Solids::new(all, Some(domain), [[true; 2]; 3], Wall::default()).with_bodies(bodies.len());
    let n = (half / H / 8.0).ceil() as i32;
    let mut coords = Vec::new();
    for k in -n..n {
        for j in -n..n {
            coords.extend((-n..n).map(|i| [i, j, k]));
        }
    }
    let mut grid = MacGrid::new(Tiles::new(H, Vec3::zeros(), false, coords), &solids, None);
    for p in 0..grid.tiles.cells() {
        grid.liquid[p] = phi(&grid.tiles.centre(grid.tiles.cell(p)));
    }
    Tank { grid, solids }
}

impl Tank {
    /// One step of gravity and pressure.
    pub fn fall(&mut self, bodies: &[Afloat], dt: f64, tolerance: f64) -> Projected {
        self.grid.velocity[1].iter_mut().for_each(|u| *u -= G * dt);
        self.project(bodies, dt, tolerance, G)
    }

    pub fn project(&mut self, bodies: &[Afloat], dt: f64, tolerance: f64, gravity: f64) -> Projected {
        self.project_after(bodies, dt, tolerance, gravity, None)
    }

    /// As `project`, where a pressure acts already.
    pub fn project_after(
        &mut self,
        bodies: &[Afloat],
        dt: f64,
        tolerance: f64,
        gravity: f64,
        acting: Option<&[f64]>,
    ) -> Projected {
        let options = PressureOptions { dt, density: WATER, tolerance };
        let spreading = self.grid.tiles.field(0.0);
        let bodies = Bodies { all: bodies, gravity: -Vec3::y() * gravity, contact: None };
        let mut multigrid = Multigrid::default();
        project_with_bodies(
            &mut self.grid,
            &self.solids,
            &options,
            &Asked { spreading: &spreading, acting },
            &bodies,
            &mut multigrid,
            &Cancel::new(),
        )
        .expect("a projection")
    }

    pub fn fastest(&self, done: &Projected) -> f64 {
        self.grid.max_speed(&done.known)
    }
}

pub fn turned() -> Pose {
    Pose {
        rotation: Pose::from_euler_xyz(&Vec3::new(0.3, 0.5, 0.7)),
        translation: Vec3::new(0.11, -0.62, 0.07),
    }
}
