//! Elementary functions with the same bits on every x86-64 machine.
//!
//! The system's libm chooses its code by the CPU, so `f64::sin` and friends may differ in the last
//! bit from one machine to the next. The library calls these instead. Square root, addition,
//! multiplication and division are exact to the last bit by IEEE 754 and need no wrapper.

pub use libm::{acos, asin, atan2, cbrt, cos, exp, log, pow, sin, tan, tanh};

/// Sine and cosine of an angle in radians.
pub fn sin_cos(a: f64) -> (f64, f64) {
    (sin(a), cos(a))
}
