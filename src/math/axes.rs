//! Principal axes of a symmetric 3×3 matrix by rotations of Jacobi, from sums, products and roots alone, so that all machines agree.

use super::{Mat3, Vec3};

/// Sweeps after which any 3×3 matrix is diagonal to round-off.
const SWEEPS: usize = 12;

/// The eigenvalues of a symmetric matrix, rising, and unit vectors along their axes.
pub fn principal_axes(matrix: &Mat3) -> ([f64; 3], [Vec3; 3]) {
    let (mut a, mut axes) = (*matrix, Mat3::identity());
    for _ in 0..SWEEPS {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[(p, q)] == 0.0 {
                continue;
            }
            // The smaller root of t² + 2θt − 1 = 0 turns by less than an eighth.
            let theta = (a[(q, q)] - a[(p, p)]) / (2.0 * a[(p, q)]);
            let t = 1.0f64.copysign(theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let mut turn = Mat3::identity();
            (turn[(p, p)], turn[(q, q)]) = (c, c);
            (turn[(p, q)], turn[(q, p)]) = (t * c, -t * c);
            a = turn.transpose() * a * turn;
            (a[(p, q)], a[(q, p)]) = (0.0, 0.0);
            axes *= turn;
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|i, j| a[(*i, *i)].total_cmp(&a[(*j, *j)]));
    (order.map(|i| a[(i, i)]), order.map(|i| axes.column(i).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipsoid_knows_its_axes() {
        let turn = nalgebra::Rotation3::from_euler_angles(0.3, -1.1, 2.0).into_inner();
        let matrix = turn * Mat3::from_diagonal(&Vec3::new(4.0, 0.25, 1.0)) * turn.transpose();
        let (values, axes) = principal_axes(&matrix);
        for (found, exact) in values.iter().zip([0.25, 1.0, 4.0]) {
            assert!((found - exact).abs() < 1e-14 * 4.0);
        }
        for (value, axis) in values.iter().zip(&axes) {
            assert!((matrix * axis - axis * *value).norm() < 1e-14 && (axis.norm() - 1.0).abs() < 1e-14);
        }
        assert_eq!(principal_axes(&Mat3::zeros()).0, [0.0; 3]);
        let (same, _) = principal_axes(&Mat3::identity());
        assert_eq!(same, [1.0; 3]);
    }
}
