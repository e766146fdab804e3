//! The forces of a scene at one frame, as one acceleration of liquid.
//!
//! Gravity and uniform forces are the same everywhere and are kept apart, because adding a constant
//! is cheaper than asking for it at every face.

use crate::math::Vec3;
use crate::scene::{Force, Scene};

/// Forces with their animated values resolved.
pub(super) struct Forces {
    pub uniform: Vec3,
    local: Vec<Local>,
}

enum Local {
    Vortex { centre: Vec3, axis: Vec3, strength: f64, radius: f64 },
    Point { centre: Vec3, strength: f64, radius: f64 },
    Wind { velocity: Vec3, drag: f64 },
}

impl Forces {
    pub fn at(scene: &Scene, frame: f64) -> Self {
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
                Force::Wind { velocity, drag } => {
                    forces
                        .local
                        .push(Local::Wind { velocity: velocity.at(frame).into(), drag: drag.at(frame) });
                }
            }
        }
        forces
    }

    pub fn has_local(&self) -> bool {
        !self.local.is_empty()
    }

    /// Acceleration by the forces that vary in space, for liquid of velocity v at x.
    pub fn local(&self, x: &Vec3, v: &Vec3) -> Vec3 {
        self.local.iter().map(|f| f.acceleration(x, v)).sum()
    }
}

impl Local {
    fn acceleration(&self, x: &Vec3, v: &Vec3) -> Vec3 {
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
            Local::Wind { velocity, drag } => (velocity - v) * *drag,
        }
    }
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
        let forces = Forces::at(&scene, 1.0);
        let at = |x: f64| forces.local(&Vec3::new(x, 7.0, 0.0), &Vec3::zeros());
        assert!((at(0.5) - Vec3::new(0.0, 0.0, -3.0)).norm() < 1e-15);
        assert!((at(0.25).norm() - 1.5).abs() < 1e-15 && at(1.2).norm() == 0.0 && at(0.0).norm() == 0.0);
        assert_eq!(forces.uniform, Vec3::new(0.0, -9.81, 0.0));
    }
}
