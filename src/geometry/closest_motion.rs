//! The rigid motion that brings one set of points closest to another.
//!
//! Least squares over rotations R and translations t of Σ |R x + t − y|². The translation matches the
//! centroids; the rotation is the unit quaternion that belongs to the largest eigenvalue of the
//! symmetric 4×4 matrix of [Hor87], found by Jacobi rotations, which need only square roots and so
//! give the same bits everywhere.

use crate::math::{Pose, Vec3};
use nalgebra::{Matrix4, Quaternion, Unit};

/// The pose that takes `from` to `to` best, and the largest distance that is left. The sets have the
/// same length; a single point or none leaves the rotation at rest.
pub fn closest_motion(from: &[Vec3], to: &[Vec3]) -> (Pose, f64) {
    if from.is_empty() {
        return (Pose::identity(), 0.0);
    }
    let mean = |p: &[Vec3]| p.iter().sum::<Vec3>() / p.len() as f64;
    let (a, b) = (mean(from), mean(to));
    let mut s = crate::math::Mat3::zeros();
    for (x, y) in from.iter().zip(to) {
        s += (x - a) * (y - b).transpose();
    }
    let rotation = rotation_of(&s);
    let pose = Pose { rotation, translation: b - rotation * a };
    let left = from.iter().zip(to).map(|(x, y)| (pose.to_world(x) - y).norm()).fold(0.0, f64::max);
    (pose, left)
}

fn rotation_of(s: &crate::math::Mat3) -> nalgebra::UnitQuaternion<f64> {
    let size = s.amax();
    if size == 0.0 || !size.is_finite() {
        return nalgebra::UnitQuaternion::identity();
    }
    let s = s / size;
    let skew = Vec3::new(s.m23 - s.m32, s.m31 - s.m13, s.m12 - s.m21);
    let trace = s.trace();
    let mut n = Matrix4::zeros();
    n[(0, 0)] = trace;
    for i in 0..3 {
        n[(0, i + 1)] = skew[i];
        n[(i + 1, 0)] = skew[i];
        for j in 0..3 {
            n[(i + 1, j + 1)] = s[(i, j)] + s[(j, i)] - if i == j { trace } else { 0.0 };
        }
    }
    let q = largest_eigenvector(n);
    Unit::new_normalize(Quaternion::new(q[0], q[1], q[2], q[3]))
}

/// The eigenvector of the largest eigenvalue of a symmetric matrix; the first axis where all are equal.
fn largest_eigenvector(mut m: Matrix4<f64>) -> [f64; 4] {
    let mut v = Matrix4::identity();
    // Jacobi converges quadratically; sizes are about one, and ten sweeps are more than enough.
    for _ in 0..10 {
        for p in 0..4 {
            for q in p + 1..4 {
                if m[(p, q)].abs() < 1e-300 {
                    continue;
                }
                let theta = (m[(q, q)] - m[(p, p)]) / (2.0 * m[(p, q)]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let mut turn = Matrix4::identity();
                (turn[(p, p)], turn[(q, q)]) = (c, c);
                (turn[(p, q)], turn[(q, p)]) = (t * c, -t * c);
                m = turn.transpose() * m * turn;
                v *= turn;
            }
        }
    }
    let mut best = 0;
    for i in 1..4 {
        if m[(i, i)] > m[(best, best)] {
            best = i;
        }
    }
    std::array::from_fn(|i| v[(i, best)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rigid_motion_is_found_again() {
        let points: Vec<Vec3> = crate::geometry::TriMesh::icosphere(1.0, 1)
            .positions
            .iter()
            .map(|p| Vec3::new(3.0 * p.x + 5.0, p.y, 0.2 * p.z))
            .collect();
        for angle in [0.0, 1e-9, 0.3, 1.6, 3.0, std::f64::consts::PI] {
            let rotation = Pose::from_euler_xyz(&Vec3::new(0.4 * angle, angle, -0.7 * angle));
            let pose = Pose { rotation, translation: Vec3::new(7.0, -2.0, 1.0) };
            let moved: Vec<Vec3> = points.iter().map(|p| pose.to_world(p)).collect();
            let (found, left) = closest_motion(&points, &moved);
            assert!(left < 1e-13, "{angle}: {left}");
            assert!(found.rotation_to(&pose).norm() < 1e-13);
        }
        // A flat set turned over, which a reflection would fit too.
        let flat: Vec<Vec3> = points.iter().map(|p| Vec3::new(p.x, p.y, 0.0)).collect();
        let over: Vec<Vec3> = flat.iter().map(|p| Vec3::new(p.x, -p.y, 0.0)).collect();
        assert!(closest_motion(&flat, &over).1 < 1e-13);
    }

    #[test]
    fn stretching_is_not_rigid() {
        let points = crate::geometry::TriMesh::icosphere(1.0, 1).positions;
        let longer: Vec<Vec3> = points.iter().map(|p| Vec3::new(1.1 * p.x, p.y, p.z)).collect();
        let (pose, left) = closest_motion(&points, &longer);
        assert!(pose.rotation_to(&Pose::identity()).norm() < 1e-12 && left > 0.05 && left < 0.15);
        assert_eq!(closest_motion(&[], &[]).1, 0.0);
        assert_eq!(closest_motion(&[Vec3::x()], &[Vec3::y()]).1, 0.0);
    }
}
