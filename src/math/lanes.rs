//! Two f64 or four f32 side by side: one instruction does the arithmetic of all.
//!
//! The compiler finds such instructions by itself in plain loops, and loses them again where values come from scattered
//! places or a loop is unrolled. Here they are asked for by name where every x86-64 has them (SSE2); elsewhere arrays do
//! the same. Only operations that every machine rounds alike are used, so that the bits are the same everywhere. The calls are
//! unsafe because a machine might lack the instructions; on x86-64 none does, and none of them touches memory but its own result.

#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub struct Two(__m128d);

    impl Two {
        #[inline(always)]
        pub fn new([a, b]: [f64; 2]) -> Self {
            // SAFETY: every x86-64 has SSE2.
            unsafe { Self(_mm_set_pd(b, a)) }
        }
        #[inline(always)]
        pub fn plus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_add_pd(self.0, other.0)) }
        }
        #[inline(always)]
        pub fn minus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_sub_pd(self.0, other.0)) }
        }
        #[inline(always)]
        pub fn times(self, factor: f64) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_mul_pd(self.0, _mm_set1_pd(factor))) }
        }
        #[inline(always)]
        pub fn by(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_mul_pd(self.0, other.0)) }
        }
        /// The last lane of this and the first of the other.
        #[inline(always)]
        pub fn between(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_shuffle_pd::<1>(self.0, other.0)) }
        }
        /// These lanes where those of the other are above zero, and zero elsewhere.
        #[inline(always)]
        pub fn where_positive(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_and_pd(_mm_cmpgt_pd(other.0, _mm_setzero_pd()), self.0)) }
        }
        #[inline(always)]
        pub fn get(self) -> [f64; 2] {
            // SAFETY: as above.
            unsafe { [_mm_cvtsd_f64(self.0), _mm_cvtsd_f64(_mm_unpackhi_pd(self.0, self.0))] }
        }
    }

    #[derive(Clone, Copy)]
    pub struct Four(__m128);

    impl Four {
        #[inline(always)]
        pub fn new([a, b, c, d]: [f32; 4]) -> Self {
            // SAFETY: every x86-64 has SSE2.
            unsafe { Self(_mm_set_ps(d, c, b, a)) }
        }
        #[inline(always)]
        pub fn plus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_add_ps(self.0, other.0)) }
        }
        #[inline(always)]
        pub fn minus(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_sub_ps(self.0, other.0)) }
        }
        #[inline(always)]
        pub fn times(self, factor: f32) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_mul_ps(self.0, _mm_set1_ps(factor))) }
        }
        #[inline(always)]
        pub fn by(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_mul_ps(self.0, other.0)) }
        }
        /// A number before the first three lanes.
        #[inline(always)]
        pub fn after(self, first: f32) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_move_ss(_mm_shuffle_ps::<0b10_01_00_00>(self.0, self.0), _mm_set_ss(first))) }
        }
        /// The last three lanes before a number.
        #[inline(always)]
        pub fn before(self, last: f32) -> Self {
            // SAFETY: as above.
            unsafe {
                let turned = _mm_move_ss(self.0, _mm_set_ss(last));
                Self(_mm_shuffle_ps::<0b00_11_10_01>(turned, turned))
            }
        }
        /// The same in f64: the first two lanes and the last two.
        #[inline(always)]
        pub fn wide(self) -> [Two; 2] {
            // SAFETY: as above.
            unsafe { [Two(_mm_cvtps_pd(self.0)), Two(_mm_cvtps_pd(_mm_movehl_ps(self.0, self.0)))] }
        }
        /// The nearest numbers to four in f64.
        #[inline(always)]
        pub fn narrow([low, high]: [Two; 2]) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_movelh_ps(_mm_cvtpd_ps(low.0), _mm_cvtpd_ps(high.0))) }
        }
        #[inline(always)]
        pub fn get(self) -> [f32; 4] {
            let mut lanes = [0.0; 4];
            // SAFETY: as above, and the array holds the four numbers that are written.
            unsafe { _mm_storeu_ps(lanes.as_mut_ptr(), self.0) };
            lanes
        }
        /// The last two lanes in the place of the first two.
        #[inline(always)]
        pub fn later(self) -> Self {
            // SAFETY: as above.
            unsafe { Self(_mm_movehl_ps(self.0, self.0)) }
        }
        /// The first two lanes.
        #[inline(always)]
        pub fn first(self) -> [f32; 2] {
            // SAFETY: as above.
            unsafe { [_mm_cvtss_f32(self.0), _mm_cvtss_f32(_mm_shuffle_ps::<1>(self.0, self.0))] }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    #[derive(Clone, Copy)]
    pub struct Two([f64; 2]);

    impl Two {
        #[inline(always)]
        pub fn new(lanes: [f64; 2]) -> Self {
            Self(lanes)
        }
        #[inline(always)]
        pub fn plus(self, other: Self) -> Self {
            Self(std::array::from_fn(|n| self.0[n] + other.0[n]))
        }
        #[inline(always)]
        pub fn minus(self, other: Self) -> Self {
            Self(std::array::from_fn(|n| self.0[n] - other.0[n]))
        }
        #[inline(always)]
        pub fn times(self, factor: f64) -> Self {
            Self(self.0.map(|v| v * factor))
        }
        #[inline(always)]
        pub fn by(self, other: Self) -> Self {
            Self(std::array::from_fn(|n| self.0[n] * other.0[n]))
        }
        /// The last lane of this and the first of the other.
        #[inline(always)]
        pub fn between(self, other: Self) -> Self {
            Self([self.0[1], other.0[0]])
        }
        /// These lanes where those of the other are above zero, and zero elsewhere.
        #[inline(always)]
        pub fn where_positive(self, other: Self) -> Self {
            Self(std::array::from_fn(|n| if other.0[n] > 0.0 { self.0[n] } else { 0.0 }))
        }
        #[inline(always)]
        pub fn get(self) -> [f64; 2] {
            self.0
        }
    }

    #[derive(Clone, Copy)]
    pub struct Four([f32; 4]);

    impl Four {
        #[inline(always)]
        pub fn new(lanes: [f32; 4]) -> Self {
            Self(lanes)
        }
        #[inline(always)]
        pub fn plus(self, other: Self) -> Self {
            Self(std::array::from_fn(|n| self.0[n] + other.0[n]))
        }
        #[inline(always)]
        pub fn minus(self, other: Self) -> Self {
            Self(std::array::from_fn(|n| self.0[n] - other.0[n]))
        }
        #[inline(always)]
        pub fn times(self, factor: f32) -> Self {
            Self(self.0.map(|v| v * factor))
        }
        #[inline(always)]
        pub fn by(self, other: Self) -> Self {
            Self(std::array::from_fn(|n| self.0[n] * other.0[n]))
        }
        /// A number before the first three lanes.
        #[inline(always)]
        pub fn after(self, first: f32) -> Self {
            Self([first, self.0[0], self.0[1], self.0[2]])
        }
        /// The last three lanes before a number.
        #[inline(always)]
        pub fn before(self, last: f32) -> Self {
            Self([self.0[1], self.0[2], self.0[3], last])
        }
        /// The same in f64: the first two lanes and the last two.
        #[inline(always)]
        pub fn wide(self) -> [Two; 2] {
            let [a, b, c, d] = self.0.map(f64::from);
            [Two([a, b]), Two([c, d])]
        }
        /// The nearest numbers to four in f64.
        #[inline(always)]
        pub fn narrow([low, high]: [Two; 2]) -> Self {
            Self([low.0[0], low.0[1], high.0[0], high.0[1]].map(|v| v as f32))
        }
        #[inline(always)]
        pub fn get(self) -> [f32; 4] {
            self.0
        }
        /// The last two lanes in the place of the first two.
        #[inline(always)]
        pub fn later(self) -> Self {
            Self([self.0[2], self.0[3], self.0[2], self.0[3]])
        }
        /// The first two lanes.
        #[inline(always)]
        pub fn first(self) -> [f32; 2] {
            [self.0[0], self.0[1]]
        }
    }
}

pub use machine::{Four, Two};

impl Two {
    /// From this to another by a share of the way.
    #[inline(always)]
    pub fn mix(self, other: Self, share: f64) -> Self {
        self.plus(other.minus(self).times(share))
    }
}

impl Four {
    /// From this to another by a share of the way.
    #[inline(always)]
    pub fn mix(self, other: Self, share: f32) -> Self {
        self.plus(other.minus(self).times(share))
    }
}

/// Trilinear interpolation of the corners of a cell, the first index along x. Neighbours along x lie side by side in memory,
/// so it goes along z and y with both at once.
#[inline(always)]
pub fn trilinear(c: [f64; 8], [fx, fy, fz]: [f64; 3]) -> f64 {
    let low = Two::new([c[0], c[1]]).mix(Two::new([c[4], c[5]]), fz);
    let high = Two::new([c[2], c[3]]).mix(Two::new([c[6], c[7]]), fz);
    let [a, b] = low.mix(high, fy).get();
    a + (b - a) * fx
}

/// Trilinear interpolation of the corners of a cell, the first index along x, and its gradient by cell; along z only if
/// the grid is `deep`.
#[inline(always)]
pub fn trilinear_gradient(c: [f64; 8], f: [f64; 3], deep: bool) -> (f64, [f64; 3]) {
    let lerp = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let x: [f64; 4] = std::array::from_fn(|e| lerp(c[2 * e], c[2 * e + 1], f[0]));
    let dx: [f64; 4] = std::array::from_fn(|e| c[2 * e + 1] - c[2 * e]);
    let y = [lerp(x[0], x[1], f[1]), lerp(x[2], x[3], f[1])];
    let gradient = [
        lerp(lerp(dx[0], dx[1], f[1]), lerp(dx[2], dx[3], f[1]), f[2]),
        lerp(x[1] - x[0], x[3] - x[2], f[2]),
        if deep { y[1] - y[0] } else { 0.0 },
    ];
    (lerp(y[0], y[1], f[2]), gradient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_do_what_each_would_do_alone() {
        let (a, b) = ([1.1f64, -2.7], [0.3f64, 5.9]);
        let alone = |n: usize| a[n] + (b[n] - a[n]) * 0.37;
        assert_eq!(Two::new(a).mix(Two::new(b), 0.37).get(), [alone(0), alone(1)]);
        let (a, b) = ([1.1f32, -2.7, 0.4, 9.0], [0.3f32, 5.9, -1.0, 2.5]);
        let alone = |n: usize| a[n] + (b[n] - a[n]) * 0.37;
        let mixed = Four::new(a).mix(Four::new(b), 0.37);
        assert_eq!((mixed.first(), mixed.later().first()), ([alone(0), alone(1)], [alone(2), alone(3)]));
    }

    #[test]
    fn lanes_move_and_change_their_width() {
        let four = Four::new([1.0, -2.0, 3.0, 4.0]);
        assert_eq!(four.after(9.0).get(), [9.0, 1.0, -2.0, 3.0]);
        assert_eq!(four.before(9.0).get(), [-2.0, 3.0, 4.0, 9.0]);
        assert_eq!(four.by(four).get(), [1.0, 4.0, 9.0, 16.0]);
        assert_eq!(four.wide().map(Two::get), [[1.0, -2.0], [3.0, 4.0]]);
        assert_eq!(Four::narrow(four.wide()).get(), four.get());
        let [low, high] = four.wide();
        assert_eq!(low.between(high).get(), [-2.0, 3.0]);
        assert_eq!(high.by(high).where_positive(low).get(), [9.0, 0.0]);
    }

    #[test]
    fn a_linear_field_is_interpolated_exactly() {
        let at = |n: usize| (n & 1) as f64 + 4.0 * (n >> 1 & 1) as f64 - 2.0 * (n >> 2) as f64;
        assert_eq!(trilinear(std::array::from_fn(at), [0.25, 0.5, 0.125]), 0.25 + 2.0 - 0.25);
    }
}
