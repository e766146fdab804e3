//! A velocity that can be asked for at any points: the bridge between a mesh and whatever is carried along.

use crate::math::Vec3;

/// A velocity field.
pub trait VelocityField: Sync {
    /// Velocities at points, m/s; neighbours in the list should be neighbours in space.
    fn velocities(&self, x: &[Vec3], out: &mut [Vec3]);
}

impl<F: Fn(&Vec3) -> Vec3 + Sync> VelocityField for F {
    fn velocities(&self, x: &[Vec3], out: &mut [Vec3]) {
        out.iter_mut().zip(x).for_each(|(u, x)| *u = self(x));
    }
}
