//! Reflection and refraction at a smooth surface, and absorption behind it.
//!
//! With the cosine c = −d·n of the incoming ray and ratio η = n₂/n₁ of the refractive indices,
//! sin²θ₂ = (1 − c²)/η² (Snell), and unpolarised light is reflected by
//! F = ½[((c − η c₂)/(c + η c₂))² + ((c₂ − η c)/(c₂ + η c))²] (Fresnel), 1 beyond the critical angle.
//! Light that travels a length s keeps exp(−σ s) of each colour (Beer and Lambert).

use super::image::Rgb;
use meniscus::math::Vec3;
use meniscus::math::elementary::{exp, log};

pub const WATER: f64 = 1.333;
pub const GLASS: f64 = 1.5;

/// Share of light that is reflected; `cosine` ≥ 0, `ratio` is the index behind over the one in front.
pub fn fresnel(cosine: f64, ratio: f64) -> f64 {
    let sine_squared = (1.0 - cosine * cosine) / (ratio * ratio);
    if sine_squared >= 1.0 {
        return 1.0;
    }
    let beyond = (1.0 - sine_squared).sqrt();
    let across = (cosine - ratio * beyond) / (cosine + ratio * beyond);
    let along = (beyond - ratio * cosine) / (beyond + ratio * cosine);
    0.5 * (across * across + along * along)
}

/// The direction mirrored at a surface with unit normal n.
pub fn reflect(d: &Vec3, n: &Vec3) -> Vec3 {
    d - n * (2.0 * d.dot(n))
}

/// The direction behind a surface whose unit normal looks against d; None at total reflection.
pub fn refract(d: &Vec3, n: &Vec3, ratio: f64) -> Option<Vec3> {
    let cosine = -d.dot(n);
    let sine_squared = (1.0 - cosine * cosine) / (ratio * ratio);
    (sine_squared < 1.0).then(|| ((d + n * cosine) / ratio - n * (1.0 - sine_squared).sqrt()).normalize())
}

/// Absorption per metre for a colour that is left after `depth` metres.
pub fn absorption(colour: &Rgb, depth: f64) -> Rgb {
    colour.map(|c| -log(c.clamp(1e-4, 1.0)) / depth)
}

/// The share of each colour that is left after a length.
pub fn transmitted(absorption: &Rgb, length: f64) -> Rgb {
    absorption.map(|a| exp(-a * length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_on_the_mirror_share_is_the_textbook_one() {
        for n in [WATER, GLASS, 1.0 / WATER, 2.4] {
            let expected = ((n - 1.0) / (n + 1.0)).powi(2);
            assert!((fresnel(1.0, n) - expected).abs() < 1e-15, "{n}");
        }
        assert!((fresnel(0.0, WATER) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn at_the_brewster_angle_half_the_light_has_no_reflection() {
        // tan θ = n: the part polarised in the plane vanishes, the other is ((n²−1)/(n²+1))².
        let n: f64 = WATER;
        let cosine = 1.0 / (1.0 + n * n).sqrt();
        let expected = 0.5 * ((n * n - 1.0) / (n * n + 1.0)).powi(2);
        assert!((fresnel(cosine, n) - expected).abs() < 1e-15);
    }

    #[test]
    fn light_that_enters_and_leaves_a_plate_goes_on_as_before() {
        let d = Vec3::new(0.6, -0.8, 0.0);
        let inside = refract(&d, &Vec3::y(), WATER).unwrap();
        assert!((inside.x - 0.6 / WATER).abs() < 1e-15 && (inside.norm() - 1.0).abs() < 1e-15);
        let outside = refract(&inside, &Vec3::y(), 1.0 / WATER).unwrap();
        assert!((outside - d).norm() < 1e-15);
        // The critical angle of water is 48.6°, so 50° from below is mirrored whole.
        let steep = Vec3::new(50f64.to_radians().sin(), -50f64.to_radians().cos(), 0.0);
        assert!(refract(&steep, &Vec3::y(), 1.0 / WATER).is_none());
        assert_eq!(fresnel(50f64.to_radians().cos(), 1.0 / WATER), 1.0);
    }

    #[test]
    fn two_lengths_absorb_twice() {
        let colour = Rgb::new(0.5, 0.25, 1.0);
        let left = transmitted(&absorption(&colour, 0.1), 0.2);
        assert!((left - Rgb::new(0.25, 0.0625, 1.0)).norm() < 1e-15);
    }
}
