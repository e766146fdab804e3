//! One triangle against a point, a segment, a box and a view point.
//!
//! Closest point: by the Voronoi regions of corners, edges and face [Eri05], from dot products. Their
//! determinants lose half their digits on slivers, which take a slower way by cross products.
//! A triangle without area is its edges.
//!
//! Segment crossing: exact signs of orient3d [She97]. A point on the triangle's plane counts as on its
//! front side, so that a path cut in two at such a point crosses in exactly one of the pieces, and a
//! path through a shared edge or vertex always meets one of the triangles: nothing slips between.
//! A triangle without area stops nothing.
//!
//! Solid angle: [VOS83], tan(Ω/2) = det(a,b,c) / (abc + (a·b)c + (b·c)a + (c·a)b), positive for a
//! view point behind the face, so that a closed outward mesh gives 4π inside.

use crate::math::elementary::atan2;
use crate::math::{Aabb, Vec3};
use robust::{Coord3D, orient3d};

/// Triangles with less squared area than this part of their longest edge to the fourth are slivers.
const SLIVER: f64 = 1e-10;

/// The part of a triangle that holds a point: corner i, edge from corner i to i+1, or the inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    Vertex(u8),
    Edge(u8),
    Face,
}

/// The point of the triangle that is nearest to x, and what it lies on.
#[inline]
pub fn closest_on_triangle(corners: &[Vec3; 3], x: &Vec3) -> (Vec3, Feature) {
    let [a, b, c] = corners;
    let (ab, ac, ax) = (b - a, c - a, x - a);
    let (bb, cc, bc) = (ab.norm_squared(), ac.norm_squared(), ab.dot(&ac));
    // The squared area from the Gram matrix; on slivers its digits cancel.
    let size = bb * cc - bc * bc;
    if size <= SLIVER * bb.max(cc) * bb.max(cc) {
        return closest_on_sliver(corners, x);
    }
    let (d1, d2) = (ab.dot(&ax), ac.dot(&ax));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (*a, Feature::Vertex(0));
    }
    let (d3, d4) = (d1 - bb, d2 - bc);
    if d3 >= 0.0 && d4 <= d3 {
        return (*b, Feature::Vertex(1));
    }
    let (d5, d6) = (d1 - bc, d2 - cc);
    if d6 >= 0.0 && d5 <= d6 {
        return (*c, Feature::Vertex(2));
    }
    // Weights of the corners at the foot of x, times the squared area.
    let (v, w) = (d1 * cc - d2 * bc, d2 * bb - d1 * bc);
    let u = size - v - w;
    if w <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * (d1 / bb), Feature::Edge(0));
    }
    if v <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * (d2 / cc), Feature::Edge(2));
    }
    if u <= 0.0 && d4 >= d3 && d5 >= d6 {
        let along = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return (b + (c - b) * along, Feature::Edge(1));
    }
    (a + ab * (v / size) + ac * (w / size), Feature::Face)
}

/// The same with cross products, for triangles with little or no area.
#[cold]
fn closest_on_sliver(corners: &[Vec3; 3], x: &Vec3) -> (Vec3, Feature) {
    let [a, b, c] = corners;
    let n = (b - a).cross(&(c - a));
    let edge = |i: usize| (corners[i], corners[(i + 1) % 3] - corners[i]);
    let side = |i: usize| n.dot(&edge(i).1.cross(&(x - edge(i).0)));
    let size = n.norm_squared();
    if size > 0.0 && (0..3).all(|i| side(i) >= 0.0) {
        return (x - n * (n.dot(&(x - a)) / size), Feature::Face);
    }
    let on_edge = |i: usize| {
        let (start, edge) = edge(i);
        let (along, length) = (edge.dot(&(x - start)), edge.norm_squared());
        if along <= 0.0 {
            (start, Feature::Vertex(i as u8))
        } else if along >= length {
            (corners[(i + 1) % 3], Feature::Vertex((i as u8 + 1) % 3))
        } else {
            (start + edge * (along / length), Feature::Edge(i as u8))
        }
    };
    let far = |p: &(Vec3, Feature)| (p.0 - x).norm_squared();
    let nearer = |p, q| if far(&q) < far(&p) { q } else { p };
    nearer(nearer(on_edge(0), on_edge(1)), on_edge(2))
}

/// Weights of the three corners at a point of the triangle; the first corner if it has no area.
pub fn barycentric(corners: &[Vec3; 3], x: &Vec3) -> [f64; 3] {
    let [a, b, c] = corners;
    let n = (b - a).cross(&(c - a));
    let size = n.norm_squared();
    if size == 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let v = n.dot(&(a - c).cross(&(x - c))) / size;
    let w = n.dot(&(b - a).cross(&(x - a))) / size;
    [1.0 - v - w, v, w]
}

fn exact(p: &Vec3) -> Coord3D<f64> {
    Coord3D { x: p.x, y: p.y, z: p.z }
}

/// det(q−p, r−p, x−p) with its exact sign: positive in front of the triangle pqr.
pub(super) fn height_sign(corners: &[Vec3; 3], x: &Vec3) -> f64 {
    let [p, q, r] = corners.each_ref().map(exact);
    -orient3d(p, q, r, exact(x))
}

/// Where the segment from a to b passes through the triangle: the fraction of the way, and whether it
/// enters from the front.
pub fn segment_crosses(corners: &[Vec3; 3], a: &Vec3, b: &Vec3) -> Option<(f64, bool)> {
    let [p, q, r] = corners.each_ref().map(exact);
    let (a, b) = (exact(a), exact(b));
    // orient3d is positive below a counter-clockwise triangle, which is its back.
    let (side_a, side_b) = (orient3d(p, q, r, a), orient3d(p, q, r, b));
    if (side_a <= 0.0) == (side_b <= 0.0) {
        return None;
    }
    let edges = [orient3d(a, b, p, q), orient3d(a, b, q, r), orient3d(a, b, r, p)];
    let through = edges.iter().all(|e| *e >= 0.0) || edges.iter().all(|e| *e <= 0.0);
    through.then(|| ((side_a / (side_a - side_b)).clamp(0.0, 1.0), side_a <= 0.0))
}

/// A complex number whose argument is half the solid angle of the triangle seen from x; real (and one)
/// in the plane of the triangle, which is the mean of both sides.
#[inline]
pub(super) fn half_angle(corners: &[Vec3; 3], x: &Vec3) -> [f64; 2] {
    let [a, b, c] = corners;
    let (a, b, c) = (a - x, b - x, c - x);
    let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
    let volume = a.dot(&b.cross(&c));
    let base = la * lb * lc + a.dot(&b) * lc + b.dot(&c) * la + c.dot(&a) * lb;
    if volume == 0.0 { [1.0, 0.0] } else { [base, volume] }
}

/// Solid angle of the triangle seen from x, between −2π and 2π.
pub fn solid_angle(corners: &[Vec3; 3], x: &Vec3) -> f64 {
    let [base, volume] = half_angle(corners, x);
    2.0 * atan2(volume, base)
}

/// Whether the triangle and the box share a point: separating axes [Ake01], touching counts.
pub fn triangle_overlaps_box(corners: &[Vec3; 3], bounds: &Aabb) -> bool {
    if !Aabb::of_points(corners).overlaps(bounds) {
        return false;
    }
    let (centre, half) = (bounds.centre(), bounds.size() * 0.5);
    let p = corners.map(|c| c - centre);
    let edges = [p[1] - p[0], p[2] - p[1], p[0] - p[2]];
    let separated = |axis: Vec3| {
        let reach = half.dot(&axis.abs());
        let s = p.map(|q| q.dot(&axis));
        s.iter().all(|v| *v > reach) || s.iter().all(|v| *v < -reach)
    };
    let units = [Vec3::x(), Vec3::y(), Vec3::z()];
    !separated(edges[0].cross(&edges[1]))
        && !edges.iter().any(|e| units.iter().any(|u| separated(u.cross(e))))
}

/// A ray prepared for watertight tests against many triangles [WBW13].
///
/// The ray is sheared onto its longest axis; the signs of the three edge functions of two triangles
/// that share an edge are exact opposites, so no ray passes between them.
pub struct Ray {
    origin: Vec3,
    axes: [usize; 3],
    shear: [f64; 3],
}

impl Ray {
    pub fn new(origin: &Vec3, direction: &Vec3) -> Self {
        let z = direction.iamax();
        let (x, y) = ((z + 1) % 3, (z + 2) % 3);
        let (x, y) = if direction[z] < 0.0 { (y, x) } else { (x, y) };
        let shear = [direction[x] / direction[z], direction[y] / direction[z], 1.0 / direction[z]];
        Self { origin: *origin, axes: [x, y, z], shear }
    }

    /// Distance along the ray in lengths of its direction, and the corner weights.
    pub fn triangle(&self, corners: &[Vec3; 3]) -> Option<(f64, [f64; 3])> {
        let [x, y, z] = self.axes;
        let local = corners.map(|p| p - self.origin);
        let flat = local.map(|p| (p[x] - self.shear[0] * p[z], p[y] - self.shear[1] * p[z]));
        let edge = |i: usize, j: usize| flat[i].0 * flat[j].1 - flat[i].1 * flat[j].0;
        let weights = [edge(1, 2), edge(2, 0), edge(0, 1)];
        if weights.iter().any(|w| *w < 0.0) && weights.iter().any(|w| *w > 0.0) {
            return None;
        }
        let sum = weights[0] + weights[1] + weights[2];
        if sum == 0.0 {
            return None;
        }
        let bary = weights.map(|w| w / sum);
        let t = (0..3).map(|i| bary[i] * local[i][z]).sum::<f64>() * self.shear[2];
        Some((t, bary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORNERS: [Vec3; 3] = [Vec3::new(0.0, 0.0, 0.0), Vec3::new(4.0, 0.0, 0.0), Vec3::new(0.0, 3.0, 0.0)];

    #[test]
    fn each_feature_of_a_triangle_is_found() {
        let at = |x, y, z| closest_on_triangle(&CORNERS, &Vec3::new(x, y, z));
        assert_eq!(at(1.0, 1.0, 2.0), (Vec3::new(1.0, 1.0, 0.0), Feature::Face));
        assert_eq!(at(2.0, -5.0, 1.0), (Vec3::new(2.0, 0.0, 0.0), Feature::Edge(0)));
        assert_eq!(at(-1.0, 1.0, 0.0), (Vec3::new(0.0, 1.0, 0.0), Feature::Edge(2)));
        assert_eq!(at(-1.0, -1.0, 0.0), (Vec3::zeros(), Feature::Vertex(0)));
        assert_eq!(at(9.0, -1.0, 0.0), (Vec3::new(4.0, 0.0, 0.0), Feature::Vertex(1)));
        let (p, f) = at(4.0, 3.0, 7.0);
        // The foot of (4,3) on the hypotenuse 3x + 4y = 12.
        assert!((p - Vec3::new(2.56, 1.08, 0.0)).norm() < 1e-15 && f == Feature::Edge(1));
    }

    #[test]
    fn slivers_and_others_agree() {
        let mut state = 9u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        for i in 0..20000 {
            let mut point = || Vec3::new(next(), next(), next());
            let (mut corners, x) = ([point(), point(), point()], point() * 2.0);
            let thin = [1.0, 1e-2, 1e-4][i % 3];
            corners[2] = corners[0] * 0.3 + corners[1] * 0.7 + corners[2] * thin;
            let (p, q) = (closest_on_triangle(&corners, &x).0, closest_on_sliver(&corners, &x).0);
            // At an aspect of 1e-4 the Gram matrix keeps eight digits of a height that small.
            assert!(((p - x).norm() - (q - x).norm()).abs() < 1e-11, "{}", (p - q).norm());
        }
    }

    #[test]
    fn a_triangle_without_area_is_its_longest_edge() {
        let line = [Vec3::zeros(), Vec3::x(), Vec3::x() * 3.0];
        assert_eq!(closest_on_triangle(&line, &Vec3::new(2.0, 1.0, 0.0)).0, Vec3::x() * 2.0);
        let point = [Vec3::x(); 3];
        assert_eq!(closest_on_triangle(&point, &Vec3::zeros()).0, Vec3::x());
        assert_eq!(segment_crosses(&line, &Vec3::new(1.0, -1.0, 0.0), &Vec3::new(1.0, 1.0, 0.0)), None);
    }

    #[test]
    fn a_path_cut_at_the_plane_crosses_once() {
        let (up, down) = (Vec3::new(1.0, 1.0, 1.0), Vec3::new(1.0, 1.0, -3.0));
        let on = Vec3::new(1.0, 1.0, 0.0);
        assert_eq!(segment_crosses(&CORNERS, &up, &down), Some((0.25, true)));
        assert_eq!(segment_crosses(&CORNERS, &down, &up), Some((0.75, false)));
        assert!(segment_crosses(&CORNERS, &up, &on).is_none());
        assert!(segment_crosses(&CORNERS, &on, &down).is_some());
    }

    #[test]
    fn a_box_meets_a_triangle_only_where_they_touch() {
        let cube = |x, y, z| Aabb::new(Vec3::new(x, y, z), Vec3::new(x + 1.0, y + 1.0, z + 1.0));
        assert!(triangle_overlaps_box(&CORNERS, &cube(0.5, 0.5, -0.5)));
        assert!(triangle_overlaps_box(&CORNERS, &cube(-1.0, -1.0, 0.0)));
        assert!(!triangle_overlaps_box(&CORNERS, &cube(3.0, 2.0, -0.5)));
        assert!(!triangle_overlaps_box(&CORNERS, &cube(0.5, 0.5, 0.25)));
    }

    #[test]
    fn an_octant_fills_an_eighth_of_the_sphere_of_views() {
        let octant = [Vec3::x(), Vec3::y(), Vec3::z()];
        let inside = solid_angle(&octant, &Vec3::zeros());
        assert!((inside - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
    }

    #[test]
    fn a_ray_meets_its_triangle() {
        let ray = Ray::new(&Vec3::new(1.0, 1.0, 5.0), &Vec3::new(0.0, 0.0, -2.0));
        let (t, w) = ray.triangle(&CORNERS).unwrap();
        assert_eq!(t, 2.5);
        let x = CORNERS[0] * w[0] + CORNERS[1] * w[1] + CORNERS[2] * w[2];
        assert!((x - Vec3::new(1.0, 1.0, 0.0)).norm() < 1e-15);
    }
}
