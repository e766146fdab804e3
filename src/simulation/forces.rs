//! The forces of a scene at one frame, as one acceleration of liquid.
//!
//! Gravity and uniform forces are the same everywhere and are kept apart, because adding a constant
//! is cheaper than asking for it at every face.

use super::fields::{Fields, Moment};
use crate::math::Vec3;
use crate::scene::{FieldKind, Force, Scene};

/// Forces with their animated values resolved.
pub(super) struct Forces {
    pub uniform: Vec3,
    local: Vec<Local>,
}

enum Local {
    Vortex { centre: Vec3, axis: Vec3, strength: f64, radius: f64 },
    Point { centre: Vec3, strength: f64, radius: f64 },
    Curve { points: Vec<Vec3>, strength: f64, pull: f64, radius: f64 },
    Wind { velocity: Vec3, drag: f64, depth: f64, cell: f64 },
    Field(Moment),
}

impl Forces {
    pub fn at(scene: &Scene, fields: &Fields, frame: f64) -> Self {
        let mut forces = Self { uniform: scene.gravity.at(frame).into(), local: Vec::new() };
        for force in &scene.forces {
            match force {
                Force::Uniform { acceleration } => forces.uniform += Vec3::from(acceleration.at(frame)),
                Force::Vortex { center, axis, strength, radius } => forces.local.push(Local::Vortex {
                    centre: center.at(frame).into(),
                    axis: Vec3::from(*axis).try_normalize(0.0).unwrap_or_else(Vec3::y),
                    strength: strength.at(frame),
                    radius: *radius,
                }),
                Force::Point { center, strength, radius } => forces.local.push(Local::Point {
                    centre: center.at(frame).into(),
                    strength: strength.at(frame),
                    radius: *radius,
                }),
                Force::Curve { points, strength, pull, radius } => forces.local.push(Local::Curve {
                    points: points.iter().map(|p| Vec3::from(*p)).collect(),
                    strength: strength.at(frame),
                    pull: pull.at(frame),
                    radius: *radius,
                }),
                Force::Wind { velocity, drag, depth } => forces.local.push(Local::Wind {
                    velocity: velocity.at(frame).into(),
                    drag: drag.at(frame),
                    depth: depth.unwrap_or_else(|| scene.cell()),
                    cell: scene.cell(),
                }),
            }
        }
        forces.local.extend(fields.at(FieldKind::Force, frame).map(Local::Field));
        forces
    }

    pub fn has_local(&self) -> bool {
        !self.local.is_empty()
    }

    /// Acceleration by the forces that vary in space, for liquid of velocity v at x, `depth` metres below the surface.
    pub fn local(&self, x: &Vec3, v: &Vec3, depth: f64) -> Vec3 {
        self.local.iter().map(|f| f.acceleration(x, v, depth)).sum()
    }
}

impl Local {
    fn acceleration(&self, x: &Vec3, v: &Vec3, below: f64) -> Vec3 {
        match self {
            Local::Vortex { centre, axis, strength, radius } => {
                let arm = x - centre;
                let arm = arm - axis * axis.dot(&arm);
                let r = arm.norm();
                // Rises to its strength at the radius and falls to nothing at twice the radius.
                let share = (r / radius).min(2.0 - r / radius).max(0.0);
                if r > 0.0 { axis.cross(&arm) * (strength * share / r) } else { Vec3::zeros() }
            }
            Local::Point { centre, strength, radius } => {
                let to = centre - x;
                let r = to.norm();
                if r > 0.0 && r < *radius { to * (strength / r) } else { Vec3::zeros() }
            }
            Local::Curve { points, strength, pull, radius } => {
                let (to, along) = to_curve(points, x);
                let share = to.norm() / radius;
                if share >= 1.0 {
                    return Vec3::zeros();
                }
                along * (strength * (1.0 - share * share)) + to * (4.0 * pull * (1.0 - share) / radius)
            }
            Local::Wind { velocity, drag, depth, cell } => {
                // A face is the middle of a layer of one cell; the share of it that the wind reaches.
                let share = ((depth - below) / cell + 0.5).clamp(0.0, 1.0);
                (velocity - v) * (drag * share)
            }
            Local::Field(moment) => moment.at(x).unwrap_or_default(),
        }
    }
}

/// The way from x to the nearest point of a curve, and the curve's direction there.
fn to_curve(points: &[Vec3], x: &Vec3) -> (Vec3, Vec3) {
    let of_line = |line: &[Vec3]| {
        let along = line[1] - line[0];
        let t = ((x - line[0]).dot(&along) / along.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        (line[0] + along * t - x, along.try_normalize(0.0).unwrap_or_else(Vec3::zeros))
    };
    let nearer = |a: &(Vec3, Vec3), b: &(Vec3, Vec3)| a.0.norm_squared().total_cmp(&b.0.norm_squared());
    points.windows(2).map(of_line).min_by(nearer).unwrap_or_else(|| (Vec3::repeat(f64::MAX), Vec3::zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Keyed;

    #[test]
    fn a_vortex_is_strongest_at_its_radius() {
        let vortex = Force::Vortex {
            center: Keyed::default(),
            axis: [0.0, 2.0, 0.0],
            strength: 3.0.into(),
            radius: 0.5,
        };
        let scene = Scene { forces: vec![vortex], ..Scene::default() };
        let forces = Forces::at(&scene, &Fields::default(), 1.0);
        let at = |x: f64| forces.local(&Vec3::new(x, 7.0, 0.0), &Vec3::zeros(), 0.0);
        assert!((at(0.5) - Vec3::new(0.0, 0.0, -3.0)).norm() < 1e-15);
        assert!((at(0.25).norm() - 1.5).abs() < 1e-15 && at(1.2).norm() == 0.0 && at(0.0).norm() == 0.0);
        assert_eq!(forces.uniform, Vec3::new(0.0, -9.81, 0.0));
    }

    #[test]
    fn a_curve_drives_along_itself_and_draws_to_itself() {
        let curve = Force::Curve {
            points: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]],
            strength: 2.0.into(),
            pull: 3.0.into(),
            radius: 0.2,
        };
        let forces = Forces::at(&Scene { forces: vec![curve], ..Scene::default() }, &Fields::default(), 1.0);
        let at = |x: f64, y: f64| forces.local(&Vec3::new(x, y, 0.0), &Vec3::zeros(), 1.0);
        assert!((at(0.5, 0.0) - Vec3::new(2.0, 0.0, 0.0)).norm() < 1e-12);
        assert!((at(1.0, 0.6) - Vec3::new(0.0, 2.0, 0.0)).norm() < 1e-12);
        // Half-way out the drive is three quarters and the pull is greatest.
        assert!((at(0.5, -0.1) - Vec3::new(1.5, 3.0, 0.0)).norm() < 1e-12);
        assert_eq!(at(0.5, 0.21), Vec3::zeros());
    }

    #[test]
    fn wind_drags_the_surface_and_not_the_deep() {
        let wind =
            Force::Wind { velocity: Keyed::Constant([4.0, 0.0, 0.0]), drag: 0.5.into(), depth: Some(0.2) };
        let scene = Scene { forces: vec![wind], ..Scene::default() };
        let forces = Forces::at(&scene, &Fields::default(), 1.0);
        let at = |depth: f64| forces.local(&Vec3::zeros(), &Vec3::new(1.0, 0.0, 0.0), depth).x;
        let h = scene.cell();
        assert_eq!((at(0.0), at(0.2 + 0.51 * h)), (1.5, 0.0));
        assert!((at(0.2) - 0.75).abs() < 1e-12);
    }
}
