//! A moving triangle against a moving point.
//!
//! Corners and point move in straight lines during 0 ≤ s ≤ 1. They are in one plane where the cubic
//! f(s) = det(q−p, r−p, x−p) is zero; the point passes through if it is then inside the triangle. Roots
//! are found by bisection between the extrema of f, so none is lost, and the inside test allows
//! [`SLACK`] of the triangle's size: in doubt the answer is yes, since a wall that stops a little too
//! much leaks nothing. At the two ends f has the exact sign [She97], so that a point which ends one step
//! on a side begins the next on the same.

use super::triangle::{closest_on_triangle, height_sign};
use crate::math::Vec3;

/// How far outside a triangle still counts as on it, as a part of its size.
const SLACK: f64 = 1e-7;

/// Whether a point that goes from x[0] to x[1] passes through a triangle that goes from p[0] to p[1].
pub fn moving_triangle_meets(p: [&[Vec3; 3]; 2], x: [&Vec3; 2]) -> bool {
    let at = |s: f64| -> ([Vec3; 3], Vec3) {
        let mix = |a: &Vec3, b: &Vec3| a + (b - a) * s;
        (std::array::from_fn(|i| mix(&p[0][i], &p[1][i])), mix(x[0], x[1]))
    };
    let volume = |s: f64| {
        if s == 0.0 || s == 1.0 {
            return height_sign(p[s as usize], x[s as usize]);
        }
        let ([a, b, c], y) = at(s);
        (b - a).cross(&(c - a)).dot(&(y - a))
    };
    let inside = |s: f64| {
        let (corners, y) = at(s);
        let [a, b, c] = corners;
        let size = (b - a).norm_squared().max((c - a).norm_squared());
        (closest_on_triangle(&corners, &y).0 - y).norm_squared() <= SLACK * SLACK * size
    };
    roots(volume).into_iter().flatten().any(inside)
}

/// Roots of a cubic between 0 and 1.
fn roots(f: impl Fn(f64) -> f64) -> [Option<f64>; 3] {
    let [a, b, c, d] = [f(0.0), f(1.0 / 3.0), f(2.0 / 3.0), f(1.0)];
    // Derivative k₀ + k₁ s + k₂ s² of the cubic through four values.
    let k0 = 0.5 * (-11.0 * a + 18.0 * b - 9.0 * c + 2.0 * d);
    let k1 = 9.0 * (2.0 * a - 5.0 * b + 4.0 * c - d);
    let k2 = 13.5 * (-a + 3.0 * b - 3.0 * c + d);
    let mut stops = [0.0, 1.0, 1.0, 1.0];
    let mut n = 1;
    for s in quadratic(k0, k1, k2).into_iter().flatten() {
        if s > 0.0 && s < 1.0 {
            stops[n] = s;
            n += 1;
        }
    }
    stops[1..n].sort_by(f64::total_cmp);
    std::array::from_fn(|i| bisect(&f, stops[i], stops[i + 1]))
}

fn quadratic(k0: f64, k1: f64, k2: f64) -> [Option<f64>; 2] {
    let root = (k1 * k1 - 4.0 * k2 * k0).sqrt();
    if root.is_nan() {
        return [None, None];
    }
    // The sum without cancellation, then the other root by the product.
    let q = -0.5 * (k1 + root.copysign(k1));
    [q / k2, k0 / q].map(|s| s.is_finite().then_some(s))
}

/// The root between two ends where f is monotone, if there is one.
fn bisect(f: &impl Fn(f64) -> f64, mut lo: f64, mut hi: f64) -> Option<f64> {
    let (low, high) = (f(lo), f(hi));
    if low == 0.0 {
        return Some(lo);
    }
    if high == 0.0 {
        return Some(hi);
    }
    if (low < 0.0) == (high < 0.0) || hi <= lo {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (lo + hi);
        if (f(middle) < 0.0) == (low < 0.0) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    Some(hi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_a_cubic_are_all_found() {
        let found = roots(|s| (s - 0.1) * (s - 0.5) * (s - 0.85));
        for (found, expected) in found.into_iter().zip([0.1, 0.5, 0.85]) {
            assert!((found.unwrap() - expected).abs() < 1e-12);
        }
        assert_eq!(roots(|s| s + 1.0), [None; 3]);
        assert!(roots(|s| s - 0.25).iter().flatten().any(|s| (s - 0.25).abs() < 1e-12));
    }

    #[test]
    fn a_fast_wall_does_not_jump_over_a_point() {
        let wall = |x: f64| [Vec3::new(x, -1.0, -1.0), Vec3::new(x, 3.0, -1.0), Vec3::new(x, -1.0, 3.0)];
        let rest = Vec3::zeros();
        assert!(moving_triangle_meets([&wall(-5.0), &wall(5.0)], [&rest, &rest]));
        assert!(!moving_triangle_meets([&wall(-5.0), &wall(-1.0)], [&rest, &rest]));
        // A point that flees faster than the wall is not met.
        assert!(!moving_triangle_meets([&wall(-1.0), &wall(4.0)], [&rest, &Vec3::new(6.0, 0.0, 0.0)]));
        // The wall passes beside the point.
        let aside = Vec3::new(0.0, 4.0, 0.0);
        assert!(!moving_triangle_meets([&wall(-5.0), &wall(5.0)], [&aside, &aside]));
    }

    #[test]
    fn a_turning_blade_meets_what_it_sweeps() {
        let blade = |angle: f64| {
            let (s, c) = crate::math::elementary::sin_cos(angle);
            [Vec3::new(0.0, 0.0, -1.0), Vec3::new(2.0 * c, 2.0 * s, -1.0), Vec3::new(c, s, 3.0)]
        };
        let x = Vec3::new(0.6, 0.3, 0.0);
        assert!(moving_triangle_meets([&blade(0.0), &blade(1.0)], [&x, &x]));
        assert!(!moving_triangle_meets([&blade(0.6), &blade(1.0)], [&x, &x]));
    }
}
