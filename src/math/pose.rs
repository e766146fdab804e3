//! Rigid placement of an object, and its velocity.
//!
//! x_world = R x_local + t. A moving object has linear velocity v (of its origin) and angular
//! velocity ω, so a material point at x moves with v + ω × (x − t).

use super::Vec3;
use super::elementary::{acos, cos, sin, sin_cos};
use nalgebra::{Quaternion, Unit, UnitQuaternion};

/// Rotation followed by translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    pub rotation: UnitQuaternion<f64>,
    pub translation: Vec3,
}

impl Default for Pose {
    fn default() -> Self {
        Self::identity()
    }
}

impl Pose {
    pub fn identity() -> Self {
        Self { rotation: UnitQuaternion::identity(), translation: Vec3::zeros() }
    }

    pub fn to_world(&self, x: &Vec3) -> Vec3 {
        self.rotation * x + self.translation
    }

    pub fn to_local(&self, x: &Vec3) -> Vec3 {
        self.rotation.inverse() * (x - self.translation)
    }

    /// Rotation about x, then y, then z, by angles in radians.
    pub fn from_euler_xyz(angles: &Vec3) -> UnitQuaternion<f64> {
        let about = |a: usize| {
            let (s, c) = sin_cos(0.5 * angles[a]);
            let mut v = Vec3::zeros();
            v[a] = s;
            UnitQuaternion::new_unchecked(Quaternion::from_parts(c, v))
        };
        about(2) * about(1) * about(0)
    }

    /// Between two poses along the shortest rotation, never by points: a spinning whisk keeps its size.
    pub fn interpolate(&self, other: &Pose, t: f64) -> Pose {
        Pose {
            rotation: slerp(&self.rotation, &other.rotation, t),
            translation: self.translation + (other.translation - self.translation) * t,
        }
    }

    /// The rotation vector (axis times angle) that leads from this orientation to another.
    pub fn rotation_to(&self, other: &Pose) -> Vec3 {
        let q = other.rotation * self.rotation.inverse();
        let q = if q.w < 0.0 { -q.into_inner() } else { q.into_inner() };
        let s = q.imag().norm();
        // sin(a/2) ≈ a/2 below 1e-8, where the quotient would lose its digits.
        if s < 1e-8 { q.imag() * 2.0 } else { q.imag() * (2.0 * libm::atan2(s, q.w) / s) }
    }
}

fn slerp(a: &UnitQuaternion<f64>, b: &UnitQuaternion<f64>, t: f64) -> UnitQuaternion<f64> {
    let (qa, mut qb) = (a.into_inner(), b.into_inner());
    let mut d = qa.dot(&qb);
    if d < 0.0 {
        (qb, d) = (-qb, -d);
    }
    if d > 1.0 - 1e-12 {
        return Unit::new_normalize(qa * (1.0 - t) + qb * t);
    }
    let angle = acos(d.min(1.0));
    let s = sin(angle);
    let (wa, wb) = (sin((1.0 - t) * angle) / s, sin(t * angle) / s);
    debug_assert!(cos(angle).is_finite());
    Unit::new_normalize(qa * wa + qb * wb)
}

/// A pose with the velocity of its points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    pub pose: Pose,
    pub linear: Vec3,
    pub angular: Vec3,
}

impl Motion {
    pub fn at_rest(pose: Pose) -> Self {
        Self { pose, linear: Vec3::zeros(), angular: Vec3::zeros() }
    }

    /// The motion that leads from one pose to another in `dt` seconds, placed at the second.
    pub fn between(from: &Pose, to: &Pose, dt: f64) -> Self {
        Self {
            pose: *to,
            linear: (to.translation - from.translation) / dt,
            angular: from.rotation_to(to) / dt,
        }
    }

    /// Velocity of the material point that is at the world position x.
    pub fn velocity_at(&self, x: &Vec3) -> Vec3 {
        self.linear + self.angular.cross(&(x - self.pose.translation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_quarter_turn_is_an_eighth() {
        let a = Pose::identity();
        let quarter = std::f64::consts::FRAC_PI_2;
        let b = Pose { rotation: Pose::from_euler_xyz(&Vec3::new(0.0, 0.0, quarter)), ..a };
        let x = a.interpolate(&b, 0.5).to_world(&Vec3::x());
        assert!((x - Vec3::new(1.0, 1.0, 0.0) / 2f64.sqrt()).norm() < 1e-15);
        assert!((a.rotation_to(&b) - Vec3::new(0.0, 0.0, quarter)).norm() < 1e-15);
        assert!((b.to_local(&b.to_world(&Vec3::y())) - Vec3::y()).norm() < 1e-15);
    }

    #[test]
    fn a_turning_wheel_moves_at_its_rim() {
        let m = Motion { angular: Vec3::z() * 2.0, ..Default::default() };
        assert_eq!(m.velocity_at(&Vec3::x()), Vec3::new(0.0, 2.0, 0.0));
    }
}
