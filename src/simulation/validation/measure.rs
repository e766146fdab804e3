//! What is read off a simulation: moments and fronts of its particles, and when things happened.

use crate::field::Particles;
use crate::math::Vec3;

/// A quantity at moments in rising order, (seconds, value).
pub type Series = Vec<(f64, f64)>;

/// The integral of f over the liquid: particles stand for volume.
pub fn integral(particles: &Particles, f: impl Fn(&Vec3) -> f64) -> f64 {
    particles.position.iter().zip(&particles.volume).map(|(x, v)| f(x) * *v as f64).sum()
}

/// The farthest that liquid reaches along a direction, given how far it reaches beyond its particles.
pub fn front(particles: &Particles, along: &Vec3, beyond: f64) -> f64 {
    particles.position.iter().map(|x| x.dot(along)).fold(f64::NEG_INFINITY, f64::max) + beyond
}

/// When a series first reaches a level from below, straight between its moments; not a number if never.
pub fn first_reach(series: &Series, level: f64) -> f64 {
    let reached = series.windows(2).find(|w| w[0].1 < level && w[1].1 >= level);
    reached.map_or(f64::NAN, |w| between(w, level))
}

/// All moments at which a series changes sign.
pub fn zeros(series: &Series) -> Vec<f64> {
    series.windows(2).filter(|w| (w[0].1 < 0.0) != (w[1].1 < 0.0)).map(|w| between(w, 0.0)).collect()
}

/// The value of a series at a moment, straight between its moments; not a number outside them.
pub fn value_at(series: &Series, moment: f64) -> f64 {
    let piece = series.windows(2).find(|w| w[0].0 <= moment && moment <= w[1].0);
    piece.map_or(f64::NAN, |w| w[0].1 + (w[1].1 - w[0].1) * (moment - w[0].0) / (w[1].0 - w[0].0))
}

fn between(w: &[(f64, f64)], level: f64) -> f64 {
    w[0].0 + (w[1].0 - w[0].0) * (level - w[0].1) / (w[1].1 - w[0].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_straight_line_are_exact() {
        let line: Series = (0..5).map(|i| (i as f64, 2.0 * i as f64 - 3.0)).collect();
        assert_eq!(zeros(&line), [1.5]);
        assert_eq!(first_reach(&line, 2.0), 2.5);
        assert_eq!(value_at(&line, 0.25), -2.5);
        assert!(first_reach(&line, 9.0).is_nan() && value_at(&line, 9.0).is_nan());
    }
}
