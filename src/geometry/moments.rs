//! Volume, centre and inertia of what a closed mesh encloses, also of the part below a plane.
//!
//! By the divergence theorem a solid is the signed sum of the tetrahedra between one point o and the
//! triangles of its surface. A tetrahedron with the corners o, a, b, c seen from o has the volume
//! v = a·(b × c)/6, the first moment v (a + b + c)/4, and the second moment
//!
//! ```text
//!     ∫ x xᵀ = v/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ),     s = a + b + c
//! ```
//!
//! Below a plane every triangle is cut, and o lies in the plane: the lid that closes the cut then has no
//! volume and is never built. Uniform density; lengths in metres.

use super::TriMesh;
use crate::math::{Mat3, Vec3};

/// Integrals over a solid of density one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// m³.
    pub volume: f64,
    /// Middle of the volume.
    pub centre: Vec3,
    /// ∫ (x − centre)(x − centre)ᵀ.
    pub second: Mat3,
}

impl Moments {
    /// Of a closed mesh.
    pub fn of(mesh: &TriMesh) -> Self {
        let o = mesh.bounds().centre();
        let mut sum = Sum::default();
        for t in 0..mesh.triangles.len() {
            let [a, b, c] = mesh.corners(t).map(|x| x - o);
            sum.add(&a, &b, &c);
        }
        sum.moments(&o)
    }

    /// Of the part of a closed mesh where (x − point)·normal < 0.
    pub fn below(mesh: &TriMesh, point: &Vec3, normal: &Vec3) -> Self {
        let height: Vec<f64> = mesh.positions.iter().map(|x| (x - point).dot(normal)).collect();
        // Any point of the plane will do; one near the mesh keeps rounding small.
        let middle = mesh.bounds().centre();
        let o = middle - normal * ((middle - point).dot(normal) / normal.norm_squared());
        let mut sum = Sum::default();
        for t in &mesh.triangles {
            let h = t.map(|v| height[v as usize]);
            let x = t.map(|v| mesh.positions[v as usize] - o);
            match h.map(|h| h < 0.0) {
                [true, true, true] => sum.add(&x[0], &x[1], &x[2]),
                [false, false, false] => {}
                _ => sum.add_cut(&x, &h),
            }
        }
        sum.moments(&o)
    }

    /// Inertia about the centre for a density of one.
    pub fn inertia(&self) -> Mat3 {
        Mat3::identity() * self.second.trace() - self.second
    }
}

/// Sums of six volumes, of moments from one point.
#[derive(Default)]
struct Sum {
    volume: f64,
    first: Vec3,
    second: Mat3,
}

impl Sum {
    fn add(&mut self, a: &Vec3, b: &Vec3, c: &Vec3) {
        let v = a.dot(&b.cross(c));
        let s = a + b + c;
        self.volume += v;
        self.first += s * v;
        self.second += (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose()) * v;
    }

    /// The part of a triangle below zero height.
    fn add_cut(&mut self, x: &[Vec3; 3], h: &[f64; 3]) {
        let mut part = [Vec3::zeros(); 4];
        let mut n = 0;
        for i in 0..3 {
            let j = (i + 1) % 3;
            if h[i] < 0.0 {
                part[n] = x[i];
                n += 1;
            }
            if (h[i] < 0.0) != (h[j] < 0.0) {
                part[n] = x[i] + (x[j] - x[i]) * (h[i] / (h[i] - h[j]));
                n += 1;
            }
        }
        for k in 2..n {
            self.add(&part[0], &part[k - 1], &part[k]);
        }
    }

    fn moments(&self, o: &Vec3) -> Moments {
        let volume = self.volume / 6.0;
        if volume == 0.0 {
            return Moments { centre: *o, ..Moments::default() };
        }
        let centre = self.first / (24.0 * volume);
        let second = self.second / 120.0 - centre * centre.transpose() * volume;
        Moments { volume, centre: o + centre, second }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_the_inertia_of_the_books() {
        let mesh = TriMesh::cuboid(Vec3::new(1.0, 2.0, 3.0), Vec3::new(2.0, 4.0, 6.0));
        let m = Moments::of(&mesh);
        assert!((m.volume - 6.0).abs() < 1e-12);
        assert!((m.centre - Vec3::new(1.5, 3.0, 4.5)).norm() < 1e-12);
        let exact = Mat3::from_diagonal(&Vec3::new(4.0 + 9.0, 1.0 + 9.0, 1.0 + 4.0)) * (6.0 / 12.0);
        assert!((m.inertia() - exact).norm() < 1e-11, "{}", m.inertia());
    }

    #[test]
    fn half_a_ball_lies_below_its_middle() {
        let ball = TriMesh::icosphere(1.0, 4);
        let whole = Moments::of(&ball);
        let half = Moments::below(&ball, &Vec3::zeros(), &Vec3::y());
        // The mesh is symmetric, and the centre of half a ball is 3/8 of the radius below its middle.
        assert!((half.volume / whole.volume - 0.5).abs() < 1e-12);
        assert!((half.centre.y + 0.375).abs() < 1e-3 && half.centre.xz().norm() < 1e-12);
        let all = Moments::below(&ball, &(Vec3::y() * 2.0), &Vec3::y());
        assert!((all.volume - whole.volume).abs() < 1e-12 && (all.second - whole.second).norm() < 1e-12);
        assert_eq!(Moments::below(&ball, &(-Vec3::y() * 2.0), &Vec3::y()).volume, 0.0);
    }

    #[test]
    fn a_tilted_cut_through_a_box_is_exact() {
        let mesh = TriMesh::cuboid(Vec3::zeros(), Vec3::repeat(1.0));
        // Below x + y + z = 1 lies a corner tetrahedron.
        let corner = Moments::below(&mesh, &Vec3::x(), &Vec3::repeat(1.0));
        assert!((corner.volume - 1.0 / 6.0).abs() < 1e-14);
        assert!((corner.centre - Vec3::repeat(0.25)).norm() < 1e-14);
    }
}
