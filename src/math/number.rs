//! Numbers in which positions on a lattice are counted: f32 where a millionth of a cell is enough, else f64.
//!
//! The conversion to an integer that is defined for all numbers takes six instructions, and it is done eighteen times for every
//! particle and step. Between bounds that this file sees to, the one instruction of the machine does the same: that is what
//! is unsafe here.

use std::ops::{Add, Mul, Sub};

/// A number in which positions are counted.
pub trait Number:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    const HALF: Self;
    fn of(v: f64) -> Self;
    fn to(self) -> f64;
    /// The integer part of the nearest number within bounds, and the rest. Bounds are not negative and at most 2²⁰.
    fn split(self, bounds: [Self; 2]) -> (u32, Self);
}

macro_rules! number {
    ($float:ty) => {
        impl Number for $float {
            const HALF: $float = 0.5;
            #[inline(always)]
            fn of(v: f64) -> $float {
                v as $float
            }
            #[inline(always)]
            fn to(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn split(self, [low, high]: [$float; 2]) -> (u32, $float) {
                // Comparisons, not `max` and `min`: one instruction each, and what is no number becomes the bound.
                let v = if self > low { self } else { low };
                let v = if v < high { v } else { high };
                let v = if v > 0.0 { v } else { 0.0 };
                let v = if v < 1048576.0 { v } else { 1048576.0 };
                // SAFETY: the number lies between 0 and 2²⁰.
                let i: i32 = unsafe { v.to_int_unchecked() };
                (i as u32, v - i as $float)
            }
        }
    };
}

number!(f32);
number!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_split_within_their_bounds() {
        assert_eq!(3.25f64.split([1.0, 6.5]), (3, 0.25));
        assert_eq!((-7.0f64).split([1.0, 6.5]), (1, 0.0));
        assert_eq!(1e300f64.split([1.0, 6.5]), (6, 0.5));
        assert_eq!(f64::NAN.split([1.0, 6.5]), (1, 0.0));
        assert_eq!(f32::INFINITY.split([0.0, 9.5]), (9, 0.5));
    }
}
