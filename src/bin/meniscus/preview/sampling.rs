//! Sample points that depend on the pixel alone, so a picture has the same bits on any machine load.
//!
//! Points follow the sequence k·(1/g, 1/g²) mod 1 with g³ = g + 1, which fills the square evenly for
//! any number of points [Rob18]; each pixel shifts it by its own offset. The offsets follow the same
//! rule over the picture, so that neighbours have unlike ones: what is left of the noise is fine
//! grain that the eye averages away.

use meniscus::math::Vec3;
use meniscus::math::elementary::sin_cos;

const STEP: [f64; 2] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_2];

/// An even sequence of points in the unit square, shifted by a pixel's own offset.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    shift: [f64; 2],
}

impl Samples {
    /// The sequence of a pixel and of one of its samples.
    pub fn of_pixel(x: usize, y: usize, sample: usize) -> Self {
        let (x, y, s) = (x as f64, y as f64, sample as f64);
        let first = (x * STEP[0] + y * STEP[1] + s * 0.618_033_988_749_894_9).fract();
        let second = (x * 0.438_579_021_1 + y * 0.821_641_928_3 + s * 0.381_966_011_250_105_1).fract();
        Self { shift: [first, second] }
    }

    /// Point number k, in [0, 1)².
    pub fn point(&self, k: usize) -> [f64; 2] {
        std::array::from_fn(|a| (self.shift[a] + (k as f64 + 1.0) * STEP[a]).fract())
    }

    /// A direction about the unit normal, denser towards it by the cosine.
    pub fn cosine(&self, k: usize, normal: &Vec3) -> Vec3 {
        let [u, v] = self.point(k);
        let (s, c) = sin_cos(std::f64::consts::TAU * v);
        let (t, b) = tangents(normal);
        let r = u.sqrt();
        (t * (r * c) + b * (r * s) + normal * (1.0 - u).sqrt()).normalize()
    }
}

/// Two unit vectors across a unit normal.
pub fn tangents(n: &Vec3) -> (Vec3, Vec3) {
    let aside = if n.x.abs() < 0.7 { Vec3::x() } else { Vec3::y() };
    let t = n.cross(&aside).normalize();
    (t, n.cross(&t))
}

/// One round of a 64-bit mixing function.
fn mix(state: u64, value: u64) -> u64 {
    let mut z = (state ^ value.wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number in [0, 1) for each pixel and channel, for dither.
pub fn dither(x: usize, y: usize, channel: usize) -> f64 {
    let bits = mix(mix(mix(0x9E37_79B9, x as u64), y as u64), channel as u64);
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_directions_have_mean_two_thirds_along_the_normal() {
        let n = Vec3::new(1.0, 2.0, -2.0) / 3.0;
        let samples = Samples::of_pixel(3, 4, 0);
        let count = 4096;
        let mean: Vec3 = (0..count).map(|k| samples.cosine(k, &n)).sum::<Vec3>() / count as f64;
        // ∫ cos²/π over the hemisphere = 2/3; the even sequence errs by about 1/count.
        assert!((mean - n * (2.0 / 3.0)).norm() < 2e-3, "{mean}");
    }

    #[test]
    fn pixels_have_offsets_of_their_own() {
        let a = Samples::of_pixel(1, 2, 0).point(0);
        assert_ne!(a, Samples::of_pixel(2, 1, 0).point(0));
        assert_eq!(a, Samples::of_pixel(1, 2, 0).point(0));
    }
}
