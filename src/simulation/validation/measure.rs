//! What is read off a simulation: moments and fronts of its particles, sections of its surface, and when things happened.

use crate::field::Particles;
use crate::geometry::TriMesh;
use crate::math::{Vec3, elementary};
use std::f64::consts::TAU;

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

/// What a plane cuts out of liquid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Section {
    /// m².
    pub area: f64,
    /// x and z of its middle, m.
    pub middle: [f64; 2],
}

/// The section at y = `height` of what a closed mesh encloses: integrals along the line in which the plane cuts its triangles.
pub fn section(mesh: &TriMesh, height: f64) -> Section {
    let (mut area, mut moment) = (0.0, [0.0; 2]);
    for [from, to] in (0..mesh.triangles.len()).filter_map(|t| cut(&mesh.corners(t), height)) {
        // Twice the triangle of this piece of the line and the origin.
        let twice = from.z * to.x - from.x * to.z;
        area += 0.5 * twice;
        moment = [moment[0] + twice * (from.x + to.x) / 6.0, moment[1] + twice * (from.z + to.z) / 6.0];
    }
    if area == 0.0 {
        return Section::default();
    }
    Section { area: area.abs(), middle: moment.map(|m| m / area) }
}

/// Where a plane cuts a triangle: from the side that rises through it to the one that sinks.
fn cut(corners: &[Vec3; 3], height: f64) -> Option<[Vec3; 2]> {
    let above = corners.map(|x| x.y - height);
    let (mut from, mut to) = (None, None);
    for (i, j) in [(0, 1), (1, 2), (2, 0)] {
        let at = || corners[i] + (corners[j] - corners[i]) * (above[i] / (above[i] - above[j]));
        match (above[i] < 0.0, above[j] < 0.0) {
            (true, false) => from = Some(at()),
            (false, true) => to = Some(at()),
            _ => {}
        }
    }
    Some([from?, to?])
}

/// The angle of points about their mean, rad, counted on over whole turns.
pub fn turned(points: &[(f64, [f64; 2])]) -> Series {
    let mean = [0, 1].map(|a| points.iter().map(|p| p.1[a]).sum::<f64>() / points.len() as f64);
    let mut angle = 0.0;
    let one = |(time, at): &(f64, [f64; 2])| {
        let now = elementary::atan2(at[1] - mean[1], at[0] - mean[0]);
        angle = now - ((now - angle) / TAU).round() * TAU;
        (*time, angle)
    };
    points.iter().map(one).collect()
}

/// The rate of the straight line that fits a series best; not a number if it has less than two moments.
pub fn rate(series: &[(f64, f64)]) -> f64 {
    let n = series.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| series.iter().map(f).sum::<f64>() / n;
    let (t, v) = (mean(&|s| s.0), mean(&|s| s.1));
    mean(&|s| (s.0 - t) * (s.1 - v)) / mean(&|s| (s.0 - t).powi(2))
}

fn between(w: &[(f64, f64)], level: f64) -> f64 {
    w[0].0 + (w[1].0 - w[0].0) * (level - w[0].1) / (w[1].1 - w[0].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_area_and_its_middle() {
        // A prism that leans: its section moves aside with height.
        let base = [[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]];
        let at = |y: f64| base.map(|[x, z]| Vec3::new(x + 0.5 * y, y, z - y));
        let positions = [at(0.0), at(2.0)].concat();
        let triangles =
            vec![[0, 1, 2], [3, 5, 4], [0, 3, 1], [1, 3, 4], [1, 4, 2], [2, 4, 5], [2, 5, 0], [0, 5, 3]];
        let prism = TriMesh { positions, triangles, ..TriMesh::default() };
        let Section { area, middle } = section(&prism, 1.2);
        assert!((area - 3.0).abs() < 1e-12, "{area}");
        assert!(
            (middle[0] - (2.0 / 3.0 + 0.6)).abs() < 1e-12 && (middle[1] + 0.2).abs() < 1e-12,
            "{middle:?}"
        );
        assert_eq!(section(&prism, 2.5), Section::default());
    }

    #[test]
    fn what_goes_round_turns_at_its_rate() {
        let round = |i: i32| {
            let t = 0.05 * i as f64;
            (t, [3.0 - elementary::cos(7.0 * t), 1.0 - elementary::sin(-7.0 * t)])
        };
        // 252 moments are fourteen whole turns, nearly: the mean lies in the middle.
        let points: Vec<_> = (0..252).map(round).collect();
        assert!((rate(&turned(&points)) + 7.0).abs() < 0.02, "{}", rate(&turned(&points)));
    }

    #[test]
    fn moments_of_a_straight_line_are_exact() {
        let line: Series = (0..5).map(|i| (i as f64, 2.0 * i as f64 - 3.0)).collect();
        assert_eq!(zeros(&line), [1.5]);
        assert_eq!(first_reach(&line, 2.0), 2.5);
        assert_eq!(value_at(&line, 0.25), -2.5);
        assert!(first_reach(&line, 9.0).is_nan() && value_at(&line, 9.0).is_nan());
    }
}
