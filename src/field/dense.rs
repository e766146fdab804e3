//! A field that somebody else has computed: numbers at the points of a regular lattice of any position and orientation.
//!
//! Sample (i,j,k) is at origin + A (i,j,k), with the columns of A leading from a sample to the next. Between samples values
//! are trilinear; half a step beyond the outermost ones the field ends. A field of distances (negative inside) is also a
//! surface: its zero set, closed where the field ends.

use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::grid::{SIDE, Tiles, contour};
use crate::math::{Mat3, Vec3};

/// Samples along an axis at most.
const MOST_SAMPLES: usize = 1 << 20;

/// Numbers on a lattice, one or three at each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseField {
    size: [usize; 3],
    width: usize,
    origin: Vec3,
    axes: Mat3,
    to_lattice: Mat3,
    /// `width` numbers a sample, the samples along the first axis side by side.
    values: Vec<f32>,
}

impl DenseField {
    /// `axes` has the step along each index as a column. `what` names the field in errors.
    pub fn new(
        what: &str,
        size: [usize; 3],
        width: usize,
        origin: Vec3,
        axes: Mat3,
        values: Vec<f32>,
    ) -> Result<Self> {
        let wrong = |message: String| Err(Error::invalid(what, message));
        if width != 1 && width != 3 {
            return wrong(format!("{width} numbers a sample: a field has 1 or 3"));
        }
        if size.iter().any(|n| !(1..=MOST_SAMPLES).contains(n)) {
            return wrong(format!("{size:?} samples: from 1 to {MOST_SAMPLES} along each axis are allowed"));
        }
        let count = size.iter().try_fold(width, |n, s| n.checked_mul(*s));
        if count != Some(values.len()) {
            return wrong(format!("{} numbers for {size:?} samples of {width}", values.len()));
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return wrong(format!("number {at} is {}, which is not finite", values[at]));
        }
        let steps: f64 = (0..3).map(|a| axes.column(a).norm()).product();
        let to_lattice = axes.try_inverse().filter(|m| {
            // Three steps that nearly lie in a plane span no lattice.
            axes.determinant().abs() > 1e-6 * steps && m.iter().chain(origin.iter()).all(|v| v.is_finite())
        });
        let Some(to_lattice) = to_lattice else {
            return wrong("the steps from sample to sample do not span space".to_string());
        };
        Ok(Self { size, width, origin, axes, to_lattice, values })
    }

    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Numbers at a sample: 1 or 3.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where the first sample is, and the steps to the next along each axis, as columns.
    pub fn place(&self) -> (Vec3, Mat3) {
        (self.origin, self.axes)
    }

    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub fn bytes(&self) -> usize {
        4 * self.values.len()
    }

    /// The greatest number in it.
    pub fn greatest(&self) -> f64 {
        self.values.iter().fold(f64::NEG_INFINITY, |m, v| m.max(f64::from(*v)))
    }

    /// The same with lengths of the lattice, and values, this many times as large.
    pub fn scaled(mut self, length: f64, value: f64) -> Self {
        self.origin *= length;
        self.axes *= length;
        self.to_lattice /= length;
        if value != 1.0 {
            self.values.iter_mut().for_each(|v| *v = (f64::from(*v) * value) as f32);
        }
        self
    }

    /// The value at a point, the second and third number 0 if there is one; None where the field does not reach.
    pub fn at(&self, x: &Vec3) -> Option<Vec3> {
        let g = self.to_lattice * (x - self.origin);
        let mut low = [0; 3];
        let mut share = [0.0; 3];
        for a in 0..3 {
            let last = (self.size[a] - 1) as f64;
            // A number that is none is in no field.
            if !(g[a] >= -0.5 && g[a] <= last + 0.5) {
                return None;
            }
            let inside = g[a].clamp(0.0, last);
            low[a] = (inside as usize).min(self.size[a].saturating_sub(2));
            share[a] = inside - low[a] as f64;
        }
        let mut sum = Vec3::zeros();
        for corner in 0..8 {
            let step = [corner & 1, corner >> 1 & 1, corner >> 2];
            let weight: f64 = (0..3).map(|a| if step[a] == 1 { share[a] } else { 1.0 - share[a] }).product();
            if weight > 0.0 {
                let [i, j, k] = [0, 1, 2].map(|a| low[a] + step[a]);
                let first = ((k * self.size[1] + j) * self.size[0] + i) * self.width;
                for n in 0..self.width {
                    sum[n] += weight * f64::from(self.values[first + n]);
                }
            }
        }
        Some(sum)
    }

    /// The surface on which a field of distances is zero; normals point to positive values.
    pub fn surface(&self, what: &str) -> Result<TriMesh> {
        if self.width != 1 {
            return Err(Error::geometry(what, "a surface is a field of distances, one number a sample"));
        }
        // A layer round the samples is outside, so that the surface closes half a step beyond them.
        let tiles_along = self.size.map(|n| (n + 2).div_ceil(SIDE) as i32);
        // Tiles of a sheet or a line of samples are mostly beyond them; few samples must not ask for much memory.
        let cells = tiles_along.iter().map(|n| *n as usize * SIDE).product::<usize>();
        if cells > 8 * self.values.len() + (1 << 22) {
            return Err(Error::geometry(what, "a surface needs samples in all three directions"));
        }
        let mut coords = Vec::new();
        for k in 0..tiles_along[2] {
            for j in 0..tiles_along[1] {
                coords.extend((0..tiles_along[0]).map(|i| [i, j, k]));
            }
        }
        // In coordinates of the lattice, where samples sit in the middle of cells.
        let tiles = Tiles::new(1.0, Vec3::repeat(-1.5), false, coords);
        let step = self.axes.determinant().abs().cbrt();
        let phi: Vec<f64> = (0..tiles.cells())
            .map(|place| {
                // Wraps to a number beyond all sizes for the layer before the first sample.
                let at = tiles.cell(place).map(|c| (c as usize).wrapping_sub(1));
                match (0..3).all(|a| at[a] < self.size[a]) {
                    true => f64::from(self.values[(at[2] * self.size[1] + at[1]) * self.size[0] + at[0]]),
                    false => step,
                }
            })
            .collect();
        let mut mesh = contour(&tiles, &phi)?.mesh;
        mesh.positions.iter_mut().for_each(|x| *x = self.origin + self.axes * *x);
        if self.axes.determinant() < 0.0 {
            mesh.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        Ok(mesh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turned lattice that carries f.
    fn lattice(width: usize, mirrored: bool, f: impl Fn(&Vec3) -> Vec3) -> DenseField {
        let size = [9, 12, 10];
        let turn = nalgebra::Rotation3::from_euler_angles(0.3, -0.5, 1.1).into_inner();
        let mut axes = turn * Mat3::from_diagonal(&Vec3::new(0.25, 0.2, 0.22));
        if mirrored {
            axes.swap_columns(0, 1);
        }
        let origin = -axes * Vec3::new(4.0, 5.5, 4.5);
        let mut values = Vec::new();
        for k in 0..size[2] {
            for j in 0..size[1] {
                for i in 0..size[0] {
                    let x = origin + axes * Vec3::new(i as f64, j as f64, k as f64);
                    values.extend(f(&x).iter().take(width).map(|v| *v as f32));
                }
            }
        }
        DenseField::new("test", size, width, origin, axes, values).unwrap()
    }

    #[test]
    fn a_linear_field_is_exact_and_ends_half_a_step_outside() {
        let f = |x: &Vec3| Vec3::new(1.0 + x.x - 2.0 * x.y, x.z, 3.0 * x.x);
        let field = lattice(3, false, f);
        for x in [Vec3::new(0.1, 0.2, -0.3), Vec3::new(-0.4, 0.33, 0.21)] {
            assert!((field.at(&x).unwrap() - f(&x)).norm() < 1e-6);
        }
        let (origin, axes) = field.place();
        let at = |g: f64| origin + axes * Vec3::new(g, 3.0, 3.0);
        assert!(field.at(&at(-0.49)).is_some() && field.at(&at(-0.51)).is_none());
        assert!(field.at(&at(8.49)).is_some() && field.at(&at(8.51)).is_none());
        assert!(field.at(&Vec3::repeat(f64::NAN)).is_none());
        let doubled = field.clone().scaled(2.0, 3.0);
        let x = Vec3::new(0.1, 0.2, -0.3);
        assert!((doubled.at(&(x * 2.0)).unwrap() - f(&x) * 3.0).norm() < 1e-5);
    }

    #[test]
    fn a_field_of_distances_is_a_closed_surface_that_faces_outwards() {
        for mirrored in [false, true] {
            let ball = lattice(1, mirrored, |x| Vec3::new(x.norm() - 0.7, 0.0, 0.0));
            let volume = ball.surface("ball").unwrap().volume();
            let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.7f64.powi(3);
            assert!((volume / exact - 1.0).abs() < 0.08, "{volume} of {exact}");
            // A field that is inside everywhere is the box of its samples, half a step larger.
            let full = lattice(1, mirrored, |_| Vec3::new(-0.22, 0.0, 0.0));
            let volume = full.surface("full").unwrap().volume();
            let exact = 9.0 * 12.0 * 10.0 * full.place().1.determinant().abs();
            assert!((volume / exact - 1.0).abs() < 0.03, "{volume} of {exact}");
        }
    }

    #[test]
    fn what_is_no_field_is_refused() {
        let new = |size, width, axes: Mat3, n| {
            DenseField::new("bad", size, width, Vec3::zeros(), axes, vec![0.0; n]).is_err()
        };
        let one = Mat3::identity();
        assert!(new([2, 2, 2], 2, one, 16) && new([0, 2, 2], 1, one, 0) && new([2, 2, 2], 1, one, 7));
        assert!(new([2, 2, 2], 1, Mat3::zeros(), 8) && new([usize::MAX, 2, 2], 1, one, 8));
        let values = vec![f32::NAN; 8];
        assert!(DenseField::new("bad", [2, 2, 2], 1, Vec3::zeros(), one, values).is_err());
    }
}
