//! Generalised winding number of a triangle soup, by a tree.
//!
//! w(q) = (1/4π) Σ solid angles of the triangles seen from q [JKS13]: 1 inside a closed outward mesh
//! and 0 outside, and something sensible in between where faces are missing, doubled or turned.
//! Seen from afar a set of triangles is a dipole [BDS18]: with r = p − q, p the centre of the set,
//!
//! ```text
//!   4π w ≈ N·r/|r|³ + tr(M)/|r|³ − 3 r·M r/|r|⁵,   N = Σ A n,   M = Σ A (c − p) nᵀ
//! ```
//!
//! A n the area vector and c the centroid of a triangle; exact to second order in size/|r|. A set is
//! far if |r| is more than [`FAR`] times its radius; leaves that are near are summed exactly. Errors
//! reach 0.02 for a ball, which is enough for a side unless w is near a half: then [`CAREFUL`] is used.
//! Checked here against the sum over all triangles.

use super::bvh::{Bvh, EMPTY};
use super::triangle::half_angle;
use crate::math::elementary::atan2;
use crate::math::{Mat3, Vec3};
use std::f64::consts::PI;

/// Distance in radii from which a set counts as a dipole.
const FAR: f64 = 3.0;
/// The same where a side is in doubt, and how far from a half it is in doubt.
const CAREFUL: f64 = 5.0;
const DOUBT: f64 = 0.05;

/// A set of triangles as seen from afar.
#[derive(Clone, Copy, Debug, Default)]
struct Dipole {
    centre: Vec3,
    radius: f64,
    area: f64,
    normal: Vec3,
    moment: Mat3,
}

impl Dipole {
    fn of_triangles(triangles: &[[Vec3; 3]]) -> Self {
        let parts = triangles.iter().map(|[a, b, c]| {
            let normal = (b - a).cross(&(c - a)) * 0.5;
            Dipole { centre: (a + b + c) / 3.0, area: normal.norm(), normal, ..Self::default() }
        });
        let mut whole = Self::join(parts);
        let far = |p: &Vec3| (p - whole.centre).norm();
        whole.radius = triangles.iter().flatten().map(far).fold(0.0, f64::max);
        whole
    }

    /// The dipole of several sets about their common centre.
    fn join(parts: impl Iterator<Item = Dipole> + Clone) -> Self {
        let area: f64 = parts.clone().map(|p| p.area).sum();
        let count = parts.clone().count().max(1) as f64;
        let weight = |p: &Dipole| if area > 0.0 { p.area / area } else { 1.0 / count };
        let centre: Vec3 = parts.clone().map(|p| p.centre * weight(&p)).sum();
        let mut whole = Dipole { centre, area, ..Self::default() };
        for p in parts {
            let shift = p.centre - centre;
            whole.normal += p.normal;
            whole.moment += p.moment + shift * p.normal.transpose();
            whole.radius = whole.radius.max(shift.norm() + p.radius);
        }
        whole
    }

    /// 4π times its part of the winding number, r from the query to the centre.
    fn angle(&self, r: &Vec3, distance_squared: f64) -> f64 {
        let inverse = 1.0 / distance_squared;
        let cube = inverse * inverse.sqrt();
        let second = self.moment.trace() - 3.0 * inverse * r.dot(&(self.moment * r));
        (self.normal.dot(r) + second) * cube
    }
}

/// A sum of angles kept as a product of complex numbers, so that one arc tangent serves for all.
struct Turn {
    z: [f64; 2],
    /// Passages over the negative real axis, counter-clockwise ones positive.
    wraps: i64,
}

impl Default for Turn {
    fn default() -> Self {
        Self { z: [1.0, 0.0], wraps: 0 }
    }
}

impl Turn {
    /// Add the argument of w, between −π and π.
    #[inline]
    fn add(&mut self, w: [f64; 2]) {
        let [x, y] = self.z;
        let (u, v) = (x * w[0] - y * w[1], x * w[1] + y * w[0]);
        let size = u.abs() + v.abs();
        // A corner of the triangle has no angle.
        if size == 0.0 || !size.is_finite() {
            return;
        }
        // Turning one way by less than half a turn, from one half plane into the other, passes either
        // the positive or the negative axis, and which of them the sense tells.
        self.wraps += (w[1] > 0.0 && y >= 0.0 && v < 0.0) as i64;
        self.wraps -= (w[1] < 0.0 && y < 0.0 && v >= 0.0) as i64;
        self.z = [u / size, v / size];
    }

    fn angle(&self) -> f64 {
        atan2(self.z[1], self.z[0]) + 2.0 * PI * self.wraps as f64
    }
}

/// The dipoles of all children of a [`Bvh`].
#[derive(Clone, Debug)]
pub struct Winding {
    dipoles: Vec<[Dipole; 4]>,
}

impl Winding {
    /// Dipoles for a tree; build again when the tree is refitted.
    pub fn new(bvh: &Bvh) -> Self {
        let mut dipoles = vec![[Dipole::default(); 4]; bvh.nodes.len()];
        for n in (0..bvh.nodes.len()).rev() {
            let node = &bvh.nodes[n];
            for i in 0..4 {
                let (child, count) = (node.child[i] as usize, node.count[i] as usize);
                dipoles[n][i] = match (node.child[i], count) {
                    (EMPTY, _) => Dipole::default(),
                    (_, 0) => {
                        let used = (0..4).filter(|j| bvh.nodes[child].child[*j] != EMPTY);
                        Dipole::join(used.map(|j| dipoles[child][j]))
                    }
                    _ => Dipole::of_triangles(&bvh.corners[child..child + count]),
                };
            }
        }
        Self { dipoles }
    }

    /// The winding number at q. On a face it is the mean of both sides.
    pub fn number(&self, bvh: &Bvh, q: &Vec3) -> f64 {
        self.sum(bvh, q, FAR)
    }

    fn sum(&self, bvh: &Bvh, q: &Vec3, far: f64) -> f64 {
        let mut sum = 0.0;
        let mut near = Turn::default();
        let mut stack = [0u32; super::bvh_query::STACK];
        let mut top = usize::from(!bvh.is_empty());
        while top > 0 {
            top -= 1;
            let (node, dipoles) = (&bvh.nodes[stack[top] as usize], &self.dipoles[stack[top] as usize]);
            for (i, dipole) in dipoles.iter().enumerate() {
                let (child, count) = (node.child[i], node.count[i]);
                let r = dipole.centre - q;
                let distance = r.norm_squared();
                if child == EMPTY {
                    continue;
                }
                if distance > far * far * dipole.radius * dipole.radius {
                    sum += dipole.angle(&r, distance);
                } else if count > 0 {
                    let leaf = &bvh.corners[child as usize..(child + count) as usize];
                    leaf.iter().for_each(|t| near.add(half_angle(t, q)));
                } else {
                    stack[top] = child;
                    top += 1;
                }
            }
        }
        (sum + 2.0 * near.angle()) / (4.0 * PI)
    }

    /// Whether q is inside: more than half wound round, in either sense, so that a mesh that is turned
    /// inside out bounds the same body.
    pub fn is_inside(&self, bvh: &Bvh, q: &Vec3) -> bool {
        let quick = self.number(bvh, q).abs();
        let doubtful = (quick - 0.5).abs() < DOUBT;
        (if doubtful { self.sum(bvh, q, CAREFUL).abs() } else { quick }) > 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{TriMesh, solid_angle};

    fn exact(mesh: &TriMesh, q: &Vec3) -> f64 {
        (0..mesh.triangles.len()).map(|t| solid_angle(&mesh.corners(t), q)).sum::<f64>() / (4.0 * PI)
    }

    fn worst_error(mesh: &TriMesh) -> f64 {
        let bvh = Bvh::new(mesh);
        let winding = Winding::new(&bvh);
        let mut worst: f64 = 0.0;
        for i in 0..600 {
            // Points of a low-discrepancy sequence in a box twice the size of the ball.
            let at = |base: f64| (i as f64 * base).fract() * 4.0 - 2.0;
            let q = Vec3::new(at(0.8191725134), at(0.6710436067), at(0.5497004779));
            worst = worst.max((winding.number(&bvh, &q) - exact(mesh, &q)).abs());
        }
        worst
    }

    #[test]
    fn the_tree_counts_like_the_sum() {
        let mut ball = TriMesh::icosphere(1.0, 4);
        assert!(worst_error(&ball) < 0.03);
        // Turn a seventh of the faces and drop a fifth.
        ball.triangles.iter_mut().step_by(7).for_each(|t| t.swap(0, 1));
        ball.triangles = ball.triangles.chunks(5).flat_map(|c| c[..c.len().min(4)].to_vec()).collect();
        // The side needs a tenth.
        assert!(worst_error(&ball) < 0.05);
    }

    #[test]
    fn angles_add_up_over_several_turns() {
        let (mut turn, mut sum) = (Turn::default(), 0.0);
        for i in 0..400 {
            let angle = if i < 200 { 0.37 * (i % 9) as f64 } else { -0.51 * (i % 6) as f64 };
            turn.add([3.0 * crate::math::elementary::cos(angle), 3.0 * crate::math::elementary::sin(angle)]);
            sum += angle;
            assert!((turn.angle() - sum).abs() < 1e-11, "{i}");
        }
    }

    #[test]
    fn a_doubled_or_turned_ball_still_has_an_inside() {
        let ball = TriMesh::icosphere(1.0, 2);
        let mut doubled = ball.clone();
        doubled.append(&ball);
        let mut turned = ball.clone();
        turned.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        for (mesh, number) in [(ball, 1.0), (doubled, 2.0), (turned, -1.0)] {
            let bvh = Bvh::new(&mesh);
            let winding = Winding::new(&bvh);
            assert!((winding.number(&bvh, &Vec3::new(0.2, 0.1, 0.3)) - number).abs() < 0.05);
            assert!(winding.is_inside(&bvh, &Vec3::zeros()) && !winding.is_inside(&bvh, &Vec3::repeat(1.0)));
        }
    }
}
