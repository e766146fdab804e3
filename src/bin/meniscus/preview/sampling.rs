//! Sample points that depend on the pixel alone, so a picture has the same bits on any machine load.
//!
//! Points follow the sequence k·(1/g, 1/g²) mod 1 with g³ = g + 1, which fills the square evenly for
//! any number of points [Rob18]; each pixel shifts it by its own offset. The offsets come from a mask
//! in which neighbours are unlike, so that what is left of the noise is the finest grain, which the
//! eye averages away. The mask ranks its places: each next one is farthest from those before it, as
//! in the void-filling part of [Uli93].

use meniscus::math::Vec3;
use meniscus::math::elementary::{exp, sin_cos};
use std::sync::OnceLock;

const STEP: [f64; 2] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_2];

/// An even sequence of points in the unit square, shifted by a pixel's own offset.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    shift: [f64; 2],
}

impl Samples {
    /// The sequence of a pixel and of one of its samples.
    pub fn of_pixel(x: usize, y: usize, sample: usize) -> Self {
        let at = |x: usize, y: usize| f64::from(mask()[(y % SIDE) * SIDE + x % SIDE]);
        let golden = sample as f64 * 0.618_033_988_749_894_9;
        // The same mask moved far away serves as a second one.
        Self { shift: [(at(x, y) + golden).fract(), (at(x + 23, y + 41) + golden).fract()] }
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

/// Pixels a side of the mask.
const SIDE: usize = 64;

fn mask() -> &'static [f32] {
    static MASK: OnceLock<Vec<f32>> = OnceLock::new();
    MASK.get_or_init(fill_voids)
}

/// Rank all places of a periodic square, each in the largest void that is left; ranks over their count.
fn fill_voids() -> Vec<f32> {
    const REACH: i64 = 8;
    let bump: Vec<(i64, i64, f64)> = (-REACH..=REACH)
        .flat_map(|y| (-REACH..=REACH).map(move |x| (x, y)))
        .map(|(x, y)| (x, y, exp(-((x * x + y * y) as f64) / (2.0 * 1.9 * 1.9))))
        .collect();
    let wrap = |p: i64| p.rem_euclid(SIDE as i64) as usize;
    let count = SIDE * SIDE;
    // Unequal starting values break ties without a pattern.
    let mut crowd: Vec<f64> = (0..count).map(|i| (mix(7, i as u64) >> 40) as f64 * 1e-9).collect();
    let mut ranks = vec![0f32; count];
    for rank in 0..count {
        let void = (0..count).min_by(|a, b| crowd[*a].total_cmp(&crowd[*b])).unwrap_or(0);
        ranks[void] = rank as f32 / count as f32;
        let (x, y) = ((void % SIDE) as i64, (void / SIDE) as i64);
        for (dx, dy, height) in &bump {
            crowd[wrap(y + dy) * SIDE + wrap(x + dx)] += height;
        }
        crowd[void] = f64::INFINITY;
    }
    ranks
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
    fn the_mask_holds_every_rank_once_and_neighbours_differ() {
        let ranks = fill_voids();
        let mut sorted = ranks.clone();
        sorted.sort_by(f32::total_cmp);
        assert!(sorted.iter().enumerate().all(|(i, r)| *r == i as f32 / sorted.len() as f32));
        // Means over 4 × 4 places scatter far less than the 0.29/4 of independent numbers.
        let block = |b: usize| {
            let corner = (b / 16) * 4 * SIDE + (b % 16) * 4;
            (0..16).map(|k| f64::from(ranks[corner + (k / 4) * SIDE + k % 4])).sum::<f64>() / 16.0
        };
        let scatter = ((0..256).map(|b| (block(b) - 0.5).powi(2)).sum::<f64>() / 256.0).sqrt();
        assert!(scatter < 0.5 * 0.29 / 4.0, "{scatter}");
    }

    #[test]
    fn pixels_have_offsets_of_their_own() {
        let a = Samples::of_pixel(1, 2, 0).point(0);
        assert_ne!(a, Samples::of_pixel(2, 1, 0).point(0));
        assert_eq!(a, Samples::of_pixel(1, 2, 0).point(0));
    }
}
