//! What all frames of a cache have in common: the camera, the ground, the scale of the light.
//!
//! A dozen frames, evenly spread, stand for all of them. Liquid beyond the outermost half per cent of
//! its points on any side, such as a single drop that flies off, does not move the camera. Colliders
//! count as far as they are inside the domain.

use super::body::{colours, speeds};
use super::cache::Cache;
use super::camera::Camera;
use super::selection::spread;
use meniscus::math::{Aabb, Vec3};
use meniscus::{Error, Result};

pub struct Overview {
    /// Points that the automatic camera has in the picture.
    points: Vec<Vec3>,
    pub bounds: Aabb,
    /// The lowest point of what stands still or lies.
    pub ground: f64,
    /// The fastest of the liquid, m/s, leaving out the fastest thousandth.
    pub top_speed: f64,
    /// Whether the liquid carries colours.
    pub coloured: bool,
}

/// The usual size of a picture.
pub const WIDE: [usize; 2] = [960, 540];
const FRAMES: usize = 12;
/// Points taken from one mesh, at most about this many.
const POINTS: usize = 4000;
const OUTLIERS: f64 = 0.005;

impl Overview {
    pub fn of(cache: &Cache) -> Result<Self> {
        let (mut liquid, mut solid, mut fast) = (Vec::new(), Vec::new(), Vec::new());
        let domain = cache.domain();
        let mut coloured = false;
        for frame in spread(&cache.manifest.frames, FRAMES) {
            let surface = cache.surface(frame)?;
            let step = surface.positions.len().div_ceil(POINTS).max(1);
            liquid.extend(surface.positions.iter().step_by(step).filter(|p| finite(p)));
            fast.extend(speeds(&surface).unwrap_or_default().into_iter().step_by(step));
            coloured |= colours(&surface).is_some();
            for collider in cache.colliders(frame)? {
                solid.extend(collider.outline().map(|p| within(&p, &domain)));
            }
        }
        if let (true, Some(domain)) = (cache.smoke, domain) {
            liquid.extend(domain.corners());
        }
        let near = trimmed(&liquid);
        liquid.retain(|p| near.contains(p));
        liquid.extend(solid);
        let bounds = Aabb::of_points(&liquid);
        if bounds.is_empty() {
            let what = cache.folder.display().to_string();
            return Err(Error::geometry(what, "neither liquid nor collider is there to look at"));
        }
        Ok(Self {
            points: liquid,
            bounds,
            ground: bounds.lo.y,
            top_speed: quantile(&mut fast, 0.999).max(1e-3),
            coloured,
        })
    }

    pub fn camera(&self, aspect: f64) -> Result<Camera> {
        Camera::framing(&self.points, aspect)
    }

    /// The size of picture that suits what the automatic camera sees.
    pub fn shape(&self) -> [usize; 2] {
        let Ok(camera) = self.camera(1.0) else { return WIDE };
        let (right, up, _) = camera.axes();
        let extent = |axis: &Vec3| {
            let along = self.points.iter().map(|p| p.dot(axis));
            along.clone().fold(f64::NEG_INFINITY, f64::max) - along.fold(f64::INFINITY, f64::min)
        };
        match extent(&right) / extent(&up).max(f64::MIN_POSITIVE) {
            ratio if ratio > 1.45 => WIDE,
            ratio if ratio > 1.1 => [800, 600],
            _ => [720, 720],
        }
    }
}

fn finite(p: &Vec3) -> bool {
    p.iter().all(|c| c.is_finite())
}

/// A point moved into the domain.
fn within(p: &Vec3, domain: &Option<Aabb>) -> Vec3 {
    domain.map_or(*p, |d| p.sup(&d.lo).inf(&d.hi))
}

/// The box of the points without the outermost on each side.
fn trimmed(points: &[Vec3]) -> Aabb {
    let side = |a: usize, share: f64| {
        let mut values: Vec<f64> = points.iter().map(|p| p[a]).collect();
        quantile(&mut values, share)
    };
    if points.is_empty() {
        return Aabb::empty();
    }
    Aabb::new(Vec3::from_fn(|a, _| side(a, OUTLIERS)), Vec3::from_fn(|a, _| side(a, 1.0 - OUTLIERS)))
}

/// The value that the given share of all values does not exceed; 0 if there are none.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let rank = ((values.len() - 1) as f64 * share).round() as usize;
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_drop_does_not_move_the_camera() {
        let mut points: Vec<Vec3> = (0..1000).map(|i| Vec3::repeat(f64::from(i) / 999.0)).collect();
        points.push(Vec3::new(0.0, -80.0, 0.0));
        let bounds = trimmed(&points);
        assert!(bounds.lo.y >= 0.0 && bounds.hi.y <= 1.0 && bounds.size().min() > 0.95);
        assert!(trimmed(&[]).is_empty());
    }
}
