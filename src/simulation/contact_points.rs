//! Points of a body that may touch something, in a tree of balls.
//!
//! A fine mesh has thousands of points and few of them touch. A distance falls by at most a metre a metre, so a ball whose
//! middle is further from something than its radius and the reach has no point within reach: it is passed over as a whole.
//! Of the points of the smallest balls, which lie side by side, the deepest is enough, and the outermost of those that are
//! about as deep: on a flat side that is the corner.

use crate::geometry::TriMesh;
use crate::math::{Aabb, Vec3};

/// Points of a ball that is not divided.
const FEW: usize = 16;
/// Distances kept on a grid may grow a little faster than a metre a metre.
const STEEPEST: f64 = 1.05;

/// Points are about as deep if they differ by less than this share of how much further out one is.
const ABOUT: f64 = 1e-3;

/// A ball round some of the points.
struct Ball {
    middle: Vec3,
    radius: f64,
    first: usize,
    count: usize,
    /// The ball to go on with if this one is passed over.
    after: usize,
}

/// Points in the order of a tree.
pub(super) struct ContactPoints {
    points: Vec<Vec3>,
    /// The middle of all.
    middle: Vec3,
    balls: Vec<Ball>,
}

impl ContactPoints {
    /// Vertices, and points on edges longer than two cells, in metres.
    pub fn new(mesh: &TriMesh, scale: f64, cell: f64) -> Self {
        let mut points: Vec<Vec3> = mesh.positions.iter().map(|x| x * scale).collect();
        for t in &mesh.triangles {
            for i in 0..3 {
                let (a, b) = (t[i], t[(i + 1) % 3]);
                // Both triangles of an edge see it; one of them takes it.
                if a > b {
                    continue;
                }
                let [from, to] = [a, b].map(|v| mesh.positions[v as usize] * scale);
                let parts = ((to - from).norm() / (2.0 * cell)).ceil().clamp(1.0, 64.0) as usize;
                points.extend((1..parts).map(|k| from + (to - from) * (k as f64 / parts as f64)));
            }
        }
        let mut tree = Self { balls: Vec::new(), middle: Aabb::of_points(&points).centre(), points };
        tree.divide(0, tree.points.len());
        tree
    }

    /// Build the ball of a range of points and those within it.
    fn divide(&mut self, first: usize, count: usize) {
        let part = &mut self.points[first..first + count];
        let bounds = Aabb::of_points(&*part);
        let middle = bounds.centre();
        let radius = part.iter().map(|x| (x - middle).norm()).fold(0.0, f64::max);
        let ball = self.balls.len();
        self.balls.push(Ball { middle, radius, first, count, after: 0 });
        if count > FEW {
            let axis = bounds.size().imax();
            // Every comparison decides, so that the order does not depend on how it is found.
            let order = |a: &Vec3, b: &Vec3| {
                let key = |x: &Vec3| [x[axis], x[(axis + 1) % 3], x[(axis + 2) % 3]];
                let pairs = key(a).into_iter().zip(key(b));
                pairs.map(|(a, b)| a.total_cmp(&b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
            };
            part.sort_unstable_by(order);
            let half = count / 2;
            self.divide(first, half);
            self.divide(first + half, count - half);
        }
        self.balls[ball].after = self.balls.len();
    }

    /// From a place to the furthest point.
    pub fn furthest(&self, from: &Vec3) -> f64 {
        self.points.iter().map(|x| (x - from).norm()).fold(0.0, f64::max)
    }

    /// Points whose distance is less than `reach`, with it: of each smallest ball the deepest and the outermost. `distance` takes a place of the points and how far it
    /// matters; beyond that any larger number will do.
    pub fn within(&self, reach: f64, distance: impl Fn(&Vec3, f64) -> f64) -> Vec<(Vec3, f64)> {
        let mut found = Vec::new();
        let mut b = 0;
        while let Some(ball) = self.balls.get(b) {
            let far = STEEPEST * ball.radius + reach;
            if distance(&ball.middle, far) >= far {
                b = ball.after;
                continue;
            }
            b += 1;
            // Only a ball that is not divided looks at its points.
            if ball.after == b {
                let points = &self.points[ball.first..ball.first + ball.count];
                let near = points.iter().map(|x| (*x, distance(x, reach))).filter(|p| p.1 < reach);
                let mut best: [Option<(Vec3, f64)>; 2] = [None; 2];
                for point in near {
                    let depth = |p: &(Vec3, f64)| p.1;
                    let out = |p: &(Vec3, f64)| p.1 - ABOUT * (p.0 - self.middle).norm();
                    if best[0].as_ref().is_none_or(|b| depth(&point) < depth(b)) {
                        best[0] = Some(point);
                    }
                    if best[1].as_ref().is_none_or(|b| out(&point) < out(b)) {
                        best[1] = Some(point);
                    }
                }
                let same = best[0] == best[1];
                found.extend(best.into_iter().flatten().take(if same { 1 } else { 2 }));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_finds_the_deepest_point_and_the_corners() {
        let mesh = TriMesh::icosphere(0.5, 4);
        let tree = ContactPoints::new(&mesh, 2.0, 0.1);
        assert!((tree.furthest(&Vec3::zeros()) - 1.0).abs() < 1e-12);
        for height in [-0.9, -0.3, 0.2, 0.98, 1.1] {
            let gap = |x: &Vec3| x.y - height;
            let deepest = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::INFINITY, f64::min);
            let wanted = deepest(&mut mesh.positions.iter().map(|x| gap(&(x * 2.0))));
            let found = tree.within(0.05, |x, _| gap(x));
            assert_eq!(
                deepest(&mut found.iter().map(|p| p.1)),
                if wanted < 0.05 { wanted } else { f64::INFINITY }
            );
            assert!(found.iter().all(|(x, d)| *d == gap(x) && *d < 0.05));
        }
        let block = TriMesh::cuboid(Vec3::repeat(-1.0), Vec3::repeat(1.0));
        let on_floor = ContactPoints::new(&block, 1.0, 0.05).within(0.1, |x, _| x.y + 1.0);
        let corners = on_floor.iter().filter(|(x, _)| x.x.abs() == 1.0 && x.z.abs() == 1.0);
        assert_eq!(corners.count(), 4);
        assert!(on_floor.len() < 200);
        assert!(ContactPoints::new(&TriMesh::default(), 1.0, 0.1).within(1.0, |_, _| 0.0).is_empty());
    }
}
