//! Smoke: light on its way through air that carries density.
//!
//! The particles of a frame are gathered on a grid of nodes, each the mean of what is near it. A ray through it
//! is attenuated by exp(−∫ σ s dt), and each part of the way sends back what the lights bring there: the key light
//! as far as the smoke between lets it pass, which is found once for every node, and the backdrop from all sides.

use super::camera::Ray;
use super::environment::Environment;
use super::image::Rgb;
use meniscus::io::points::Points;
use meniscus::math::elementary::exp;
use meniscus::math::{Aabb, Vec3};
use rayon::prelude::*;

/// Nodes along the longest side at most.
const MOST_NODES: f64 = 128.0;
/// Optical depth of smoke of density 1 across the diagonal of the domain.
const DEPTH: f64 = 30.0;
/// Share of the light that a particle of smoke sends on.
const WHITE: f64 = 0.92;

/// The smoke of a frame.
pub struct Fog {
    bounds: Aabb,
    h: f64,
    size: [usize; 3],
    density: Vec<f32>,
    /// Extinction of density 1, 1/m.
    sigma: f64,
}

/// Smoke and the light in it.
pub struct LitFog<'a> {
    fog: &'a Fog,
    /// The share of the key light that arrives at each node.
    lit: Vec<f32>,
    key: Rgb,
    around: Rgb,
}

impl Fog {
    /// From particles that carry `density`; None if they do not.
    pub fn new(points: &Points, domain: &Aabb, cell: f64) -> Option<Self> {
        let carried = points.attributes.iter().find(|a| a.name == "density" && a.width == 1)?;
        let h = cell.max(domain.size().max() / MOST_NODES);
        let size = [0, 1, 2].map(|a| (domain.size()[a] / h).ceil() as usize + 1);
        let count = size.iter().product();
        let (mut sum, mut weight) = (vec![0f32; count], vec![0f32; count]);
        let mut fog =
            Self { bounds: *domain, h, size, density: Vec::new(), sigma: DEPTH / domain.size().norm() };
        for (x, s) in points.position.iter().zip(&carried.data) {
            fog.corners(x, |node, w| {
                sum[node] += w as f32 * s;
                weight[node] += w as f32;
            });
        }
        fog.density = sum.iter().zip(&weight).map(|(s, w)| if *w > 0.0 { s / w } else { 0.0 }).collect();
        Some(fog)
    }

    /// The eight nodes round a point with their weights.
    fn corners(&self, x: &Vec3, mut f: impl FnMut(usize, f64)) {
        let at = (x - self.bounds.lo) / self.h;
        let low: [usize; 3] =
            [0, 1, 2].map(|a| (at[a].floor().max(0.0) as usize).min(self.size[a].saturating_sub(2)));
        let share = [0, 1, 2].map(|a| (at[a] - low[a] as f64).clamp(0.0, 1.0));
        for c in 0..8usize {
            let bit = |a: usize| c >> a & 1;
            let w: f64 = (0..3).map(|a| if bit(a) == 1 { share[a] } else { 1.0 - share[a] }).product();
            let node = [0, 1, 2].map(|a| low[a] + bit(a));
            f((node[2] * self.size[1] + node[1]) * self.size[0] + node[0], w);
        }
    }

    fn sample(&self, field: &[f32], x: &Vec3) -> f64 {
        let mut sum = 0.0;
        self.corners(x, |node, w| sum += w * f64::from(field[node]));
        sum
    }

    /// The part of a ray within the domain, up to t.
    fn span(&self, ray: &Ray, t: f64) -> Option<(f64, f64)> {
        let (mut from, mut to) = (0.0f64, t);
        for a in 0..3 {
            let inverse = 1.0 / ray.direction[a];
            let ends = [self.bounds.lo[a], self.bounds.hi[a]].map(|b| (b - ray.origin[a]) * inverse);
            // A ray along a face has no end there.
            if ends[0].is_finite() && ends[1].is_finite() {
                from = from.max(ends[0].min(ends[1]));
                to = to.min(ends[0].max(ends[1]));
            } else if ray.origin[a] < self.bounds.lo[a] || ray.origin[a] > self.bounds.hi[a] {
                return None;
            }
        }
        (to > from).then_some((from, to))
    }

    /// ∫ σ s dt along a ray.
    fn thickness(&self, ray: &Ray) -> f64 {
        let Some((from, to)) = self.span(ray, f64::INFINITY) else { return 0.0 };
        let steps = ((to - from) / self.h).ceil().max(1.0);
        let step = (to - from) / steps;
        let at =
            |k: f64| self.sample(&self.density, &(ray.origin + ray.direction * (from + (k + 0.5) * step)));
        (0..steps as usize).map(|k| at(k as f64)).sum::<f64>() * step * self.sigma
    }

    /// Find the light at every node.
    pub fn light(&self, environment: &Environment) -> LitFog<'_> {
        let towards = environment.lights.first().map_or(Vec3::y(), |l| l.towards);
        let key = environment.lights.first().map_or(Rgb::zeros(), |l| l.vector_irradiance);
        let [nx, ny, _] = self.size;
        let share = |node: usize| {
            let place = Vec3::new((node % nx) as f64, (node / nx % ny) as f64, (node / nx / ny) as f64);
            let ray = Ray { origin: self.bounds.lo + place * self.h, direction: towards };
            exp(-self.thickness(&ray)) as f32
        };
        let lit = (0..self.density.len()).into_par_iter().map(share).collect();
        // What an isotropic particle sends into each direction is a 4π-th of what it receives.
        let sphere = 4.0 * std::f64::consts::PI;
        let around = environment.backdrop(&Vec3::y()) * 0.5 + environment.backdrop(&Vec3::x()) * 0.5;
        LitFog { fog: self, lit, key: key / sphere * 3.0, around }
    }
}

impl LitFog<'_> {
    /// The light that smoke sends along a ray before t, and the share that passes it.
    pub fn along(&self, ray: &Ray, t: f64) -> (Rgb, f64) {
        let Some((from, to)) = self.fog.span(ray, t) else { return (Rgb::zeros(), 1.0) };
        let steps = ((to - from) / (0.7 * self.fog.h)).ceil().max(1.0);
        let step = (to - from) / steps;
        let (mut sum, mut clear) = (Rgb::zeros(), 1.0);
        for k in 0..steps as usize {
            let x = ray.origin + ray.direction * (from + (k as f64 + 0.5) * step);
            let s = self.fog.sample(&self.fog.density, &x);
            if s <= 1e-4 {
                continue;
            }
            let passes = exp(-self.fog.sigma * s * step);
            let light = self.key * self.fog.sample(&self.lit, &x) + self.around;
            sum += light * (WHITE * clear * (1.0 - passes));
            clear *= passes;
            if clear < 1e-3 {
                break;
            }
        }
        (sum, clear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meniscus::geometry::Attribute;

    /// Smoke of density 1 everywhere in a box.
    fn even() -> Fog {
        let mut points = Points::default();
        for n in 0..4096 {
            points.position.push(Vec3::new((n % 16) as f64, (n / 16 % 16) as f64, (n / 256) as f64) / 15.0);
        }
        points.attributes = vec![Attribute { name: "density".into(), width: 1, data: vec![1.0; 4096] }];
        Fog::new(&points, &Aabb::new(Vec3::zeros(), Vec3::repeat(1.0)), 0.1).expect("fog")
    }

    #[test]
    fn light_fades_with_the_way_through_smoke() {
        let fog = even();
        let ray = Ray { origin: Vec3::new(-1.0, 0.5, 0.5), direction: Vec3::x() };
        let exact = DEPTH / 3f64.sqrt();
        assert!((fog.thickness(&ray) / exact - 1.0).abs() < 1e-6, "{}", fog.thickness(&ray));
        let lit = LitFog {
            fog: &fog,
            lit: vec![1.0; fog.density.len()],
            key: Rgb::zeros(),
            around: Rgb::repeat(1.0),
        };
        // A tenth of the way to a wall inside: exp(−σ/10), and the rest is smoke in the light of the studio.
        let (smoke, clear) = lit.along(&ray, 1.1);
        let passes = (-exact * 0.1).exp();
        assert!((clear / passes - 1.0).abs() < 1e-6 && (smoke.x - WHITE * (1.0 - passes)).abs() < 1e-6);
        let beside = Ray { origin: Vec3::new(-1.0, 2.0, 0.5), direction: Vec3::x() };
        assert_eq!(lit.along(&beside, 9.0), (Rgb::zeros(), 1.0));
        assert!(Fog::new(&Points::default(), &Aabb::new(Vec3::zeros(), Vec3::repeat(1.0)), 0.1).is_none());
    }
}
