//! Functions of x and y with all derivatives up to the third, carried through arithmetic.
//!
//! A jet is the Taylor polynomial at a point, cut after the third order; products drop what is higher, and
//! f(g) is Σ f⁽ᵏ⁾(g₀)/k! (g − g₀)ᵏ. The exact fields of the convergence problems follow from a stream function this way,
//! without derivatives worked out by hand.

use crate::math::elementary;
use std::ops::{Add, Mul, Sub};

/// Orders 0 to 3.
const N: usize = 4;

/// `0[i][j]` is the coefficient of dxⁱ dyʲ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jet([[f64; N]; N]);

impl Jet {
    pub fn constant(c: f64) -> Self {
        let mut out = [[0.0; N]; N];
        out[0][0] = c;
        Self(out)
    }

    /// The coordinates x and y.
    pub fn variables(x: f64, y: f64) -> (Self, Self) {
        let (mut a, mut b) = (Self::constant(x), Self::constant(y));
        (a.0[1][0], b.0[0][1]) = (1.0, 1.0);
        (a, b)
    }

    pub fn value(self) -> f64 {
        self.0[0][0]
    }

    /// ∂ⁱ⁺ʲ/∂xⁱ∂yʲ.
    pub fn derivative(self, i: usize, j: usize) -> f64 {
        const FACTORIAL: [f64; N] = [1.0, 1.0, 2.0, 6.0];
        self.0[i][j] * FACTORIAL[i] * FACTORIAL[j]
    }

    /// f of this, given f and its first three derivatives here.
    fn apply(self, f: [f64; N]) -> Self {
        let mut step = self;
        step.0[0][0] = 0.0;
        let square = step * step;
        Self::constant(f[0]) + step.times(f[1]) + square.times(f[2] / 2.0) + (square * step).times(f[3] / 6.0)
    }

    pub fn times(self, c: f64) -> Self {
        Self(self.0.map(|row| row.map(|v| v * c)))
    }

    pub fn sqrt(self) -> Self {
        let x = self.value();
        let r = x.sqrt();
        self.apply([r, 0.5 / r, -0.25 / (r * x), 0.375 / (r * x * x)])
    }

    pub fn ln(self) -> Self {
        let x = self.value();
        self.apply([elementary::log(x), 1.0 / x, -1.0 / (x * x), 2.0 / (x * x * x)])
    }

    pub fn recip(self) -> Self {
        let y = 1.0 / self.value();
        self.apply([y, -y * y, 2.0 * y * y * y, -6.0 * y * y * y * y])
    }

    pub fn sin(self) -> Self {
        let (s, c) = elementary::sin_cos(self.value());
        self.apply([s, c, -s, -c])
    }

    pub fn cos(self) -> Self {
        let (s, c) = elementary::sin_cos(self.value());
        self.apply([c, -s, -c, s])
    }

    /// Σ coefficients[k] xᵏ.
    pub fn polynomial(self, coefficients: &[f64]) -> Self {
        coefficients.iter().rev().fold(Self::constant(0.0), |sum, c| sum * self + Self::constant(*c))
    }
}

impl Add for Jet {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| std::array::from_fn(|j| self.0[i][j] + other.0[i][j])))
    }
}

impl Sub for Jet {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + other.times(-1.0)
    }
}

impl Mul for Jet {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let mut out = [[0.0; N]; N];
        for i in 0..N {
            for j in 0..N - i {
                for k in 0..N - i - j {
                    for l in 0..N - i - j - k {
                        out[i + k][j + l] += self.0[i][j] * other.0[k][l];
                    }
                }
            }
        }
        Self(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_of_a_product_of_functions_are_exact() {
        // sin(x y) ln(x) at (2, 0.3), against derivatives by hand.
        let (x, y) = Jet::variables(2.0, 0.3);
        let f = (x * y).sin() * x.ln();
        let (s, c) = (f64::sin(0.6), f64::cos(0.6));
        assert!((f.derivative(0, 1) - 2.0 * c * f64::ln(2.0)).abs() < 1e-14);
        assert!((f.derivative(0, 3) + 8.0 * c * f64::ln(2.0)).abs() < 1e-13);
        assert!((f.derivative(1, 0) - (0.3 * c * f64::ln(2.0) + s / 2.0)).abs() < 1e-14);
        let r = (x * x + y * y).sqrt();
        assert!(((r * r.recip()).derivative(1, 1)).abs() < 1e-14);
        assert!((x.polynomial(&[1.0, 0.0, 3.0]).derivative(2, 0) - 6.0).abs() < 1e-14);
    }
}
