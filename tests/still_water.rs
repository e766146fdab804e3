//! The pressure operator holds still water still, to round-off, in any container and at any fill level.

use meniscus::Cancel;
use meniscus::field::{Solid, SolidShape, Solids, Wall};
use meniscus::geometry::Shape;
use meniscus::geometry::shape::Cup;
use meniscus::grid::Tiles;
use meniscus::math::{Aabb, Motion, Pose, Vec3};
use meniscus::solver::mac::{MacGrid, Multigrid, PressureOptions, project};
use std::sync::Arc;

/// The space outside a shape is solid: the shape is the container.
struct Hollow(Shape);
impl SolidShape for Hollow {
    fn distance(&self, x: &Vec3) -> f64 {
        -self.0.distance(x)
    }
    fn bounds(&self) -> Aabb {
        Aabb::new(Vec3::repeat(-1e3), Vec3::repeat(1e3))
    }
}

struct Body(Shape);
impl SolidShape for Body {
    fn distance(&self, x: &Vec3) -> f64 {
        self.0.distance(x)
    }
    fn bounds(&self) -> Aabb {
        self.0.bounds()
    }
}

fn solid(shape: Arc<dyn SolidShape>, pose: Pose) -> Solid {
    let motion = Motion::at_rest(pose);
    Solid {
        name: "container".into(),
        shape,
        scale: 1.0,
        motion,
        before: pose,
        animated: false,
        wall: Wall::default(),
    }
}

/// Speed left after one projection of water that gravity has accelerated for one step, over √(gL).
fn disturbance(container: Solid, level: f64, flat: bool, outside: impl Fn(&Vec3) -> f64) -> f64 {
    let (h, dt, density) = (1.0 / 16.0, 0.02, 1000.0);
    let mut coords = Vec::new();
    for k in if flat { 0..1 } else { -2..2 } {
        for j in -2..2 {
            coords.extend((-2..2).map(|i| [i, j, k]));
        }
    }
    let solids = Solids::new(vec![container], None, [[false; 2]; 3], Wall::default());
    let tiles = Tiles::new(h, Vec3::zeros(), flat, coords);
    let mut grid = MacGrid::new(tiles, &solids, None);
    for p in 0..grid.tiles.cells() {
        let x = grid.tiles.centre(grid.tiles.cell(p));
        grid.liquid[p] = (x.y - level).max(outside(&x));
        grid.velocity[1][p] = -9.81 * dt;
    }
    let options = PressureOptions { dt, density, tolerance: 1e-13 };
    let spreading = grid.tiles.field(0.0);
    let known = project(&mut grid, &solids, &options, &spreading, &mut Multigrid::default(), &Cancel::new())
        .expect("a projection")
        .known;
    assert!(known[1].iter().filter(|k| **k == 1).count() > 50);
    let mut worst = 0.0f64;
    for (velocity, known) in grid.velocity.iter().zip(&known).take(grid.tiles.axes()) {
        for (u, _) in velocity.iter().zip(known).filter(|(_, known)| **known == 1) {
            worst = worst.max(u.abs());
        }
    }
    worst / 9.81f64.sqrt()
}

fn tilted() -> Pose {
    Pose {
        rotation: Pose::from_euler_xyz(&Vec3::new(0.3, 0.5, 0.7)),
        translation: Vec3::new(0.01, -0.02, 0.03),
    }
}

#[test]
fn still_water_stays_still_in_any_container() {
    let ball = Shape::sphere(0.8).unwrap();
    let block = Shape::cuboid(Vec3::new(0.6, 0.5, 0.55), 0.0).unwrap();
    let drum = Shape::cylinder(0.6, 0.9, 0.0).unwrap();
    for level in [-0.21, 0.0, 0.117, 0.3] {
        for (name, shape) in [("ball", &ball), ("block", &block), ("drum", &drum)] {
            for pose in [Pose::identity(), tilted()] {
                let u = disturbance(solid(Arc::new(Hollow(shape.clone())), pose), level, false, |_| -9.0);
                assert!(u < 1e-12, "{name} filled to {level}: {u:e}");
            }
        }
        let u = disturbance(solid(Arc::new(Hollow(block.clone())), tilted()), level, true, |_| -9.0);
        assert!(u < 1e-12, "flat block filled to {level}: {u:e}");
    }
}

#[test]
fn still_water_stays_still_in_a_cup() {
    let cup = Cup { radius: 0.5, radius_top: 0.5, height: 1.0, wall: 0.15, floor: 0.15, rim: 0.0 };
    let pose = Pose { translation: Vec3::new(0.0, -0.7, 0.0), ..Pose::identity() };
    let u = disturbance(solid(Arc::new(Body(Shape::cup(&cup).unwrap())), pose), 0.05, false, |x| {
        (x.xz().norm() - 0.57).max(-0.63 - x.y)
    });
    assert!(u < 1e-12, "{u:e}");
}
