//! Exact signs of orientation and of circles and spheres, after [She97] by the crate `robust`.
//!
//! Only the sign of a result is exact, its size is approximate. Zero means exactly degenerate.
//! The coordinates must be finite and not so extreme that products overflow or underflow.

use crate::math::Vec3;
use robust::{Coord, Coord3D};

type Point2 = [f64; 2];

fn flat(p: &Point2) -> Coord<f64> {
    Coord { x: p[0], y: p[1] }
}

fn solid(p: &Vec3) -> Coord3D<f64> {
    Coord3D { x: p.x, y: p.y, z: p.z }
}

/// Positive if a, b, c turn counter-clockwise.
pub fn orient2d(a: &Point2, b: &Point2, c: &Point2) -> f64 {
    robust::orient2d(flat(a), flat(b), flat(c))
}

/// Positive if (b−a)×(c−a) points to d: the sign of the volume of tet abcd.
pub fn orient3d(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3) -> f64 {
    // The crate is positive if d lies below the plane, where a, b, c look clockwise.
    -robust::orient3d(solid(a), solid(b), solid(c), solid(d))
}

/// Positive if d lies inside the circle through a, b, c, given counter-clockwise.
pub fn incircle(a: &Point2, b: &Point2, c: &Point2, d: &Point2) -> f64 {
    robust::incircle(flat(a), flat(b), flat(c), flat(d))
}

/// Positive if e lies inside the sphere through a, b, c, d, given with positive [`orient3d`].
pub fn insphere(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3, e: &Vec3) -> f64 {
    // The crate wants its own orientation, the opposite of ours.
    robust::insphere(solid(b), solid(a), solid(c), solid(d), solid(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_follow_the_right_hand() {
        let (o, x, y, z) = (Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z());
        assert!(orient3d(&o, &x, &y, &z) > 0.0);
        assert!(orient2d(&[0.0, 0.0], &[1.0, 0.0], &[0.0, 1.0]) > 0.0);
        assert!(incircle(&[0.0, 0.0], &[1.0, 0.0], &[0.0, 1.0], &[0.5, 0.5]) > 0.0);
        assert!(insphere(&o, &x, &y, &z, &Vec3::repeat(0.5)) > 0.0);
        assert!(insphere(&o, &x, &y, &z, &Vec3::repeat(2.0)) < 0.0);
    }

    #[test]
    fn the_last_bit_decides() {
        // A plane through points that are no dyadic fractions of each other; plain arithmetic says 0.
        let (a, b, c) = (Vec3::new(12.0, 12.0, 12.0), Vec3::new(24.0, 24.0, 24.0), Vec3::new(1.0, 2.0, 3.0));
        let on = Vec3::new(0.5, 0.5, 0.5);
        let up = Vec3::new(0.5, 0.5 + f64::EPSILON / 2.0, 0.5);
        assert_eq!(orient3d(&a, &b, &c, &on), 0.0);
        assert!(orient3d(&a, &b, &c, &up) != 0.0);
        assert_eq!(insphere(&Vec3::x(), &Vec3::y(), &-Vec3::x(), &Vec3::z(), &-Vec3::z()), 0.0);
    }
}
