//! How fine the lattice should be where: wishes about the width of cells.
//!
//! A wish says the width that it wants within a ball. The finest wish wins, but nothing gets finer than the
//! camera can see. An octree cell is refined while it is wider than what is wanted inside it.

use super::octree::OctreeCell;
use crate::math::Vec3;

type Wish<'a> = Box<dyn Fn(&Vec3, f64) -> f64 + Sync + Send + 'a>;

/// Wishes about the width of cells.
#[derive(Default)]
pub struct Sizing<'a> {
    wishes: Vec<Wish<'a>>,
    limits: Vec<Wish<'a>>,
}

impl<'a> Sizing<'a> {
    /// No wishes: root cells everywhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cells of `width` within `band` of a surface, and wider by `growth` for every metre beyond. The
    /// distance may have any sign; it is asked at centres of cells. For free surfaces and colliders.
    pub fn near(
        mut self,
        distance: impl Fn(&Vec3) -> f64 + Sync + Send + 'a,
        width: f64,
        band: f64,
        growth: f64,
    ) -> Self {
        let wish = move |x: &Vec3, r: f64| width + growth * (distance(x).abs() - r - band).max(0.0);
        self.wishes.push(Box::new(wish));
        self
    }

    /// Cells of `width` inside a region given by its signed distance, and wider by `growth` for every metre outside.
    pub fn inside(
        mut self,
        distance: impl Fn(&Vec3) -> f64 + Sync + Send + 'a,
        width: f64,
        growth: f64,
    ) -> Self {
        self.wishes.push(Box::new(move |x, r| width + growth * (distance(x) - r).max(0.0)));
        self
    }

    /// Cells over which the velocity changes by no more than `change`, m/s.
    pub fn velocity(mut self, velocity: impl Fn(&Vec3) -> Vec3 + Sync + Send + 'a, change: f64) -> Self {
        let wish = move |x: &Vec3, r: f64| {
            let along = |a: usize| {
                let mut step = Vec3::zeros();
                step[a] = r;
                (velocity(&(x + step)) - velocity(&(x - step))).norm_squared()
            };
            // Twice the radius in each direction; a field at rest wants nothing.
            2.0 * r * change / (along(0) + along(1) + along(2)).sqrt()
        };
        self.wishes.push(Box::new(wish));
        self
    }

    /// Nothing finer than `angle` radians seen from `eye`, and `blur` times that outside the cone of
    /// `half_cone` radians about `view`.
    pub fn camera(mut self, eye: Vec3, view: Vec3, angle: f64, half_cone: f64, blur: f64) -> Self {
        let edge = crate::math::elementary::cos(half_cone);
        let limit = move |x: &Vec3, r: f64| {
            let (to, distance) = (x - eye, (x - eye).norm());
            // The ball reaches into the cone if the point r nearer to the axis does.
            let seen = to.dot(&view) + r * view.norm() >= edge * distance * view.norm();
            angle * (distance - r).max(0.0) * if seen { 1.0 } else { blur }
        };
        self.limits.push(Box::new(limit));
        self
    }

    /// The width wanted within a ball, m.
    pub fn width(&self, centre: &Vec3, radius: f64) -> f64 {
        let wanted = self.wishes.iter().map(|w| w(centre, radius)).fold(f64::INFINITY, f64::min);
        wanted.max(self.limit(centre, radius))
    }

    /// The width below which nothing within a ball is seen, m.
    pub fn limit(&self, centre: &Vec3, radius: f64) -> f64 {
        self.limits.iter().map(|w| w(centre, radius)).fold(0.0, f64::max)
    }

    /// Whether a cell is wider than what is wanted inside it.
    pub fn refines(&self, cell: &OctreeCell) -> bool {
        // The ball round a cell; a width equal up to rounding is as wanted.
        cell.width > 1.000001 * self.width(&cell.centre, 0.8660254037844386 * cell.width)
    }
}
