//! Cameras: where a picture is taken from, and the automatic one.
//!
//! The automatic camera looks from the front right, slightly above, and stands just far enough away
//! that all given points are in the picture. It depends on the points and the shape of the picture
//! only, so the same points give the same view.

use meniscus::math::elementary::{sin_cos, tan};
use meniscus::math::{Aabb, Vec3};
use meniscus::{Error, Result};

/// A half line; the direction has length one.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub origin: Vec3,
    pub direction: Vec3,
}

/// How depth becomes size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// Vertical angle of view in degrees.
    Perspective { fov_degrees: f64 },
    /// Height of the picture in metres, the same at every depth.
    Orthographic { height: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    pub eye: Vec3,
    pub target: Vec3,
    pub projection: Projection,
}

const FOV_DEGREES: f64 = 28.0;
/// The share of the picture that the automatic camera fills.
const FILLED: f64 = 0.86;

impl Camera {
    /// A camera that has all points in a picture of the given width over height, as large as it can.
    pub fn framing(points: &[Vec3], aspect: f64) -> Result<Self> {
        if points.is_empty() || points.iter().any(|p| p.iter().any(|c| !c.is_finite())) {
            return Err(Error::invalid("camera", "there is nothing to look at; give --camera"));
        }
        let centre = Aabb::of_points(points).centre();
        let (sin_a, cos_a) = sin_cos(32f64.to_radians());
        let (sin_e, cos_e) = sin_cos(17f64.to_radians());
        let away = Vec3::new(sin_a * cos_e, sin_e, cos_a * cos_e);
        let mut camera = Self {
            eye: centre + away,
            target: centre,
            projection: Projection::Perspective { fov_degrees: FOV_DEGREES },
        };
        let (right, up, _) = camera.axes();
        // A point is in the picture if |aside| ≤ half·(distance − nearness). For both ends of an axis:
        // the larger sum of the two bounds is the distance, half their difference the middle.
        let half = tan(FOV_DEGREES.to_radians() * 0.5) * FILLED;
        let most = |f: &dyn Fn(&Vec3) -> f64| {
            points.iter().map(|p| f(&(p - centre))).fold(f64::NEG_INFINITY, f64::max)
        };
        let across = [(right, half * aspect), (up, half)].map(|(axis, half)| {
            let [plus, minus] = [1.0, -1.0].map(|s| most(&|p| s * p.dot(&axis) / half + p.dot(&away)));
            (0.5 * (plus + minus), axis * (0.5 * (plus - minus) * half))
        });
        camera.target = centre + across[0].1 + across[1].1;
        // No nearer than the nearest point, with room to spare.
        let far = across[0].0.max(across[1].0).max(most(&|p| p.dot(&away)) * 1.05 + 1e-6);
        camera.eye = camera.target + away * far;
        Ok(camera)
    }

    /// Read `ex,ey,ez,tx,ty,tz[,fov_degrees]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let usage =
            "a camera is ex,ey,ez,tx,ty,tz[,fov_degrees]: where it stands, what it looks at, its angle";
        let numbers: Vec<f64> = text
            .split(',')
            .map(|n| n.trim().parse().map_err(|_| format!("'{n}' is not a number; {usage}")))
            .collect::<Result<_, _>>()?;
        if !(6..=7).contains(&numbers.len()) || numbers.iter().any(|n| !n.is_finite()) {
            return Err(usage.to_string());
        }
        let fov_degrees = numbers.get(6).copied().unwrap_or(FOV_DEGREES);
        let (eye, target) = (Vec3::from_column_slice(&numbers[..3]), Vec3::from_column_slice(&numbers[3..6]));
        if (eye - target).norm() == 0.0 {
            return Err("the camera stands where it looks at; move one of the two points".to_string());
        }
        if !(1.0..=150.0).contains(&fov_degrees) {
            return Err("the angle of view must be between 1 and 150 degrees".to_string());
        }
        Ok(Self { eye, target, projection: Projection::Perspective { fov_degrees } })
    }

    /// The text that [`Camera::parse`] reads back.
    pub fn describe(&self) -> String {
        let fov = match self.projection {
            Projection::Perspective { fov_degrees } => fov_degrees,
            Projection::Orthographic { .. } => FOV_DEGREES,
        };
        let (e, t) = (self.eye, self.target);
        format!("{:.6},{:.6},{:.6},{:.6},{:.6},{:.6},{fov}", e.x, e.y, e.z, t.x, t.y, t.z)
    }

    /// Unit vectors to the right, up, and forward of the camera.
    pub fn axes(&self) -> (Vec3, Vec3, Vec3) {
        let forward = (self.target - self.eye).normalize();
        // Looking straight up or down, the top of the picture is −z.
        let above = if forward.y.abs() > 0.9999 { -Vec3::z() } else { Vec3::y() };
        let right = forward.cross(&above).normalize();
        (right, right.cross(&forward), forward)
    }

    /// Rays through points of the picture.
    pub fn lens(&self, width: usize, height: usize) -> Lens {
        let (right, up, forward) = self.axes();
        let (half, spread) = match self.projection {
            Projection::Perspective { fov_degrees } => (tan(fov_degrees.to_radians() * 0.5), 1.0),
            Projection::Orthographic { height } => (0.5 * height, 0.0),
        };
        let pixel = 2.0 * half / height as f64;
        let corner = -right * (pixel * width as f64 * 0.5) + up * half;
        Lens { eye: self.eye, corner, across: right * pixel, down: -up * pixel, forward, spread }
    }
}

/// A camera made ready for a picture of some size.
pub struct Lens {
    eye: Vec3,
    corner: Vec3,
    across: Vec3,
    down: Vec3,
    forward: Vec3,
    spread: f64,
}

impl Lens {
    /// The ray through (x, y), in pixels from the upper left corner of the picture.
    pub fn ray(&self, x: f64, y: f64) -> Ray {
        let aside = self.corner + self.across * x + self.down * y;
        Ray {
            origin: self.eye + aside * (1.0 - self.spread),
            direction: (self.forward + aside * self.spread).normalize(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automatic_camera_sees_every_corner() {
        for hi in [Vec3::new(1.0, 1.0, 1.0), Vec3::new(10.0, 0.1, 0.1), Vec3::new(0.1, 3.0, 0.2)] {
            let bounds = Aabb::new(Vec3::zeros(), hi);
            let camera = Camera::framing(&bounds.corners(), 16.0 / 9.0).unwrap();
            let (right, up, forward) = camera.axes();
            let half = tan(FOV_DEGREES.to_radians() * 0.5);
            let places = bounds.corners().map(|c| {
                let p = c - camera.eye;
                [p.dot(&right) / p.dot(&forward) / (half * 16.0 / 9.0), p.dot(&up) / p.dot(&forward) / half]
            });
            let reach = |a: usize, s: f64| places.iter().map(|p| s * p[a]).fold(f64::NEG_INFINITY, f64::max);
            let sides = [reach(0, 1.0), reach(0, -1.0), reach(1, 1.0), reach(1, -1.0)];
            // Every corner is inside, and two opposite margins are met.
            assert!(sides.iter().all(|s| *s < FILLED + 1e-9), "{sides:?}");
            let met = |a: usize| (sides[a] - FILLED).abs() < 1e-9;
            assert!((met(0) && met(1)) || (met(2) && met(3)), "{sides:?}");
        }
        assert!(Camera::framing(&[], 1.0).is_err());
    }

    #[test]
    fn a_camera_described_is_the_camera_read_back() {
        let camera = Camera::parse("1,2,3,0,0.5,0,35").unwrap();
        assert_eq!(Camera::parse(&camera.describe()).unwrap(), camera);
        for bad in ["", "1,2,3", "1,2,3,4,5,x", "1,1,1,1,1,1", "0,0,1,0,0,0,NaN", "0,0,1,0,0,0,170"] {
            assert!(Camera::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_middle_of_the_picture_is_the_target() {
        let camera = Camera::parse("1,2,3,0,0.5,0,35").unwrap();
        let ray = camera.lens(40, 20).ray(20.0, 10.0);
        assert!((ray.direction - (camera.target - camera.eye).normalize()).norm() < 1e-15);
    }
}
