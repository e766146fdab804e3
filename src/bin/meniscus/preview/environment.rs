//! The studio: a backdrop that brightens towards the horizon, and soft boxes that turn with the camera.
//!
//! Radiance is a function of direction alone. A soft box is a rectangle seen from the middle of the
//! scene: a direction d meets it at (u, v) = (d·U, d·V)/(d·N), where N is the way to its centre, and
//! its brightness falls off smoothly within `edge` of the border. Diffuse surfaces see a box through
//! its vector irradiance ∫ L ω dω, so that E(n) = n·∫ L ω dω wherever the whole box is above the
//! surface; shadows are the share of the box that is hidden.

use super::camera::Camera;
use super::image::Rgb;
use super::sampling::tangents;
use meniscus::math::Vec3;
use meniscus::math::elementary::{sin_cos, tan};

/// A rectangular light far away.
pub struct SoftBox {
    centre: Vec3,
    across: Vec3,
    up: Vec3,
    half: [f64; 2],
    edge: f64,
    radiance: Rgb,
    /// ∫ L ω dω.
    pub vector_irradiance: Rgb,
    pub towards: Vec3,
    /// A light without shadow is dimmed where the sky is.
    pub casts_shadow: bool,
}

impl SoftBox {
    /// Seen from the scene at an azimuth from the camera's forward direction (positive to the right)
    /// and an elevation; `size` is the full width and height; all in degrees.
    fn new(camera: &Camera, azimuth: f64, elevation: f64, size: [f64; 2], radiance: Rgb) -> Self {
        let (right, _, forward) = camera.axes();
        let ahead = Vec3::new(forward.x, 0.0, forward.z);
        let ahead = if ahead.norm() > 1e-6 { ahead.normalize() } else { right.cross(&-Vec3::y()) };
        let (sin_a, cos_a) = sin_cos(azimuth.to_radians());
        let (sin_e, cos_e) = sin_cos(elevation.to_radians());
        let centre = (ahead * cos_a + right * sin_a) * cos_e + Vec3::y() * sin_e;
        let level = centre.cross(&Vec3::y());
        let across = if level.norm() > 1e-6 { level.normalize() } else { tangents(&centre).0 };
        let half = size.map(|s| tan(s.to_radians() * 0.5));
        let mut light = Self {
            up: across.cross(&centre),
            centre,
            across,
            half,
            edge: 0.35 * half[0].min(half[1]),
            radiance,
            vector_irradiance: Rgb::zeros(),
            towards: centre,
            casts_shadow: true,
        };
        light.integrate();
        light
    }

    /// Midpoint sums over the rectangle for the irradiance and the mean direction.
    fn integrate(&mut self) {
        const N: usize = 24;
        let (mut sum, mut cell) = (Vec3::zeros(), 4.0 * self.half[0] * self.half[1]);
        cell /= (N * N) as f64;
        for i in 0..N * N {
            let place = [(i % N) as f64 + 0.5, (i / N) as f64 + 0.5].map(|p| p / N as f64);
            let toward = self.direction(place);
            // dω = du dv / (1 + u² + v²)^{3/2}, and the cosine at the box is 1/sqrt(1 + u² + v²).
            let cosine = toward.dot(&self.centre);
            sum += toward * (self.falloff(&toward) * cosine * cosine * cosine * cell);
        }
        self.vector_irradiance = self.radiance * sum.norm();
        self.towards = sum.normalize();
    }

    /// The direction to a point of the rectangle, given in [0, 1]².
    pub fn direction(&self, place: [f64; 2]) -> Vec3 {
        let [u, v] = [0, 1].map(|a| (2.0 * place[a] - 1.0) * self.half[a]);
        (self.centre + self.across * u + self.up * v).normalize()
    }

    fn falloff(&self, d: &Vec3) -> f64 {
        let depth = d.dot(&self.centre);
        if depth <= 1e-3 {
            return 0.0;
        }
        let (u, v) = (d.dot(&self.across) / depth, d.dot(&self.up) / depth);
        let inside = |x: f64, half: f64| smooth_step((half - x.abs()) / self.edge);
        inside(u, self.half[0]) * inside(v, self.half[1])
    }
}

/// 0 below 0, 1 above 1, and smooth between.
pub fn smooth_step(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Backdrop and lights.
pub struct Environment {
    pub lights: Vec<SoftBox>,
    horizon: Rgb,
    zenith: Rgb,
    /// What a level surface sends back on average; the colour below the horizon.
    floor: Rgb,
}

impl Environment {
    pub fn studio(camera: &Camera) -> Self {
        let mut lights = vec![
            // Key from the upper left, a little in front; rim strip from behind right; fill overhead.
            SoftBox::new(camera, -112.0, 42.0, [46.0, 46.0], Rgb::new(7.0, 6.7, 6.3)),
            SoftBox::new(camera, 38.0, 26.0, [18.0, 44.0], Rgb::new(6.6, 7.2, 8.2)),
            SoftBox::new(camera, 150.0, 62.0, [52.0, 30.0], Rgb::new(2.4, 2.5, 2.7)),
        ];
        lights[2].casts_shadow = false;
        Self {
            lights,
            horizon: Rgb::new(0.30, 0.32, 0.345),
            zenith: Rgb::new(0.10, 0.115, 0.14),
            floor: Rgb::new(0.22, 0.23, 0.24),
        }
    }

    /// The gradient without lights.
    pub fn backdrop(&self, d: &Vec3) -> Rgb {
        if d.y < 0.0 {
            return self.horizon + (self.floor - self.horizon) * smooth_step(-d.y * 5.0);
        }
        let up = d.y.clamp(0.0, 1.0).sqrt();
        self.horizon + (self.zenith - self.horizon) * up
    }

    /// Light that arrives from a direction.
    pub fn radiance(&self, d: &Vec3) -> Rgb {
        self.lights.iter().fold(self.backdrop(d), |sum, light| sum + light.radiance * light.falloff(d))
    }

    /// Irradiance over π from the backdrop and the floor, for a surface with normal n.
    pub fn ambient(&self, n: &Vec3) -> Rgb {
        let sky = self.horizon * 0.55 + self.zenith * 0.45;
        let up = 0.5 + 0.5 * n.y;
        self.floor * (1.0 - up) + sky * up
    }

    /// Light a level matte floor with nothing on it would receive, over π.
    pub fn open_floor(&self) -> Rgb {
        let direct = |l: &SoftBox| l.vector_irradiance * (l.towards.y.max(0.0) / std::f64::consts::PI);
        self.lights.iter().fold(self.ambient(&Vec3::y()), |sum, l| sum + direct(l))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_box_lights_like_its_solid_angle() {
        let camera = Camera::parse("0,0,5,0,0,0").unwrap();
        let light = SoftBox::new(&camera, 20.0, 30.0, [2.0, 2.0], Rgb::new(1.0, 1.0, 1.0));
        // Without the soft border the box of 2° × 2° has 4 tan²(1°) steradians; the falloff of width
        // w on each side of a half extent h keeps the share (1 − w/2h)² of it, with w = 0.35 h.
        let expected = 4.0 * tan(1f64.to_radians()).powi(2) * (1.0 - 0.175f64).powi(2);
        let share = light.vector_irradiance.x / expected;
        // The midpoint rule has 24 points across.
        assert!((share - 1.0).abs() < 5e-3, "{share}");
    }

    #[test]
    fn light_from_every_direction_is_finite_and_positive() {
        for text in ["0,0,5,0,0,0", "0,5,0,0,0,0", "0,-5,0,0,0,0", "3,2,1,0,0,0"] {
            let environment = Environment::studio(&Camera::parse(text).unwrap());
            let samples = super::super::sampling::Samples::of_pixel(0, 0, 0);
            for k in 0..500 {
                let axis = if k % 2 == 0 { Vec3::y() } else { -Vec3::y() };
                let light = environment.radiance(&samples.cosine(k, &axis));
                assert!(light.iter().all(|c| *c > 0.0 && *c < 12.0), "{light}");
            }
        }
    }
}
