//! Four triangles at once: distances from a point that are nearly right, to see which deserve a closer look.
//!
//! In f32 and in the unit frame of the tree. With p from the first corner a to the point, and edges
//! u = b − a, v = c − a, the foot on the plane is a + βu + γv,
//!   β = (vv·pu − uv·pv)/δ,  γ = (uu·pv − uv·pu)/δ,  δ = uu·vv − uv²,
//! and the distance is |p − βu − γv| if β, γ, 1−β−γ ≥ 0, else the least of the three edges'. All four are
//! computed whichever of them is needed, which takes as long as one triangle with branches.
//!
//! Coordinates of size one are rounded by 6e-8, which moves the result by less than [`SLACK`]; products
//! are rounded by a share of at most [`SHARE`] if δ is above [`SLIVER`] of uu·vv. Flatter triangles are
//! always looked at, as are those that the limit does not exclude beyond both.
//! Checked in bvh_query.rs against a scan of all triangles.

use super::bvh::Frame;
use crate::math::Vec3;

/// Error of a distance by the rounding of positions, in the unit frame at size one.
const SLACK: f64 = 1e-6;
/// Error of a squared distance by the rounding of products, as a share of it.
const SHARE: f32 = 5e-3;
/// Squared sine of the angle below which a triangle is not judged here.
const SLIVER: f32 = 1e-4;

/// One number for each of four triangles.
#[derive(Clone, Copy, Debug)]
struct Four([f32; 4]);

impl Four {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let ([a, b, c, d], [e, g, h, i]) = (self.0, other.0);
        Self([f(a, e), f(b, g), f(c, h), f(d, i)])
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    /// a/b held between 0 and 1; something there if b is 0.
    #[inline(always)]
    fn share_of(self, whole: Self) -> Self {
        let share = self.zip(whole, |a, b| a / b);
        let low = share.zip(share, |a, _| if a > 0.0 { a } else { 0.0 });
        low.zip(low, |a, _| if a < 1.0 { a } else { 1.0 })
    }
}

/// Three of them: a vector for each triangle.
type Vector = [Four; 3];

#[inline(always)]
fn minus(a: &Vector, b: &Vector) -> Vector {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])]
}

#[inline(always)]
fn dot(a: &Vector, b: &Vector) -> Four {
    a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]))
}

/// p − t·e.
#[inline(always)]
fn less(p: &Vector, e: &Vector, t: Four) -> Vector {
    [p[0].sub(e[0].mul(t)), p[1].sub(e[1].mul(t)), p[2].sub(e[2].mul(t))]
}

/// Four triangles of a leaf: a corner and two edges.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Leaf {
    a: Vector,
    u: Vector,
    v: Vector,
}

impl Leaf {
    /// Of the corners of up to four triangles; the last stands for those that are missing.
    pub fn new(frame: &Frame, triangles: &[[Vec3; 3]]) -> Self {
        let corner = |t: usize, c: usize| frame.point(&triangles[t.min(triangles.len() - 1)][c]);
        let four = |f: &dyn Fn(usize) -> Vec3| -> Vector {
            std::array::from_fn(|a| Four(std::array::from_fn(|t| f(t)[a] as f32)))
        };
        Self {
            a: four(&|t| corner(t, 0)),
            u: four(&|t| corner(t, 1) - corner(t, 0)),
            v: four(&|t| corner(t, 2) - corner(t, 0)),
        }
    }

    /// Squared distances from q, nearly; 0 for slivers.
    #[inline(always)]
    fn distances(&self, q: &[f32; 3]) -> [f32; 4] {
        let p = minus(&q.map(|c| Four([c; 4])), &self.a);
        let (u, v) = (&self.u, &self.v);
        let (uu, vv, uv) = (dot(u, u), dot(v, v), dot(u, v));
        let (pu, pv) = (dot(&p, u), dot(&p, v));
        let area = uu.mul(vv);
        let delta = area.sub(uv.mul(uv));
        let beta = vv.mul(pu).sub(uv.mul(pv));
        let gamma = uu.mul(pv).sub(uv.mul(pu));
        // The foot on the plane, and whether it is in the triangle.
        let foot = less(&less(&p, u, beta.zip(delta, |b, d| b / d)), v, gamma.zip(delta, |g, d| g / d));
        let face = dot(&foot, &foot);
        let inside = beta.min(gamma).min(delta.sub(beta).sub(gamma));
        let face = inside.zip(face, |i, f| if i >= 0.0 { f } else { f32::MAX });
        // The three edges.
        let along_u = less(&p, u, pu.share_of(uu));
        let along_v = less(&p, v, pv.share_of(vv));
        let (e, from_b) = (minus(v, u), minus(&p, u));
        let along_e = less(&from_b, &e, dot(&from_b, &e).share_of(dot(&e, &e)));
        let edges = dot(&along_u, &along_u).min(dot(&along_v, &along_v)).min(dot(&along_e, &along_e));
        let nearest = face.min(edges);
        let sliver = delta.sub(area.zip(area, |a, _| a * SLIVER));
        // Also where something is not a number.
        sliver.zip(nearest, |s, d| if s > 0.0 { d } else { 0.0 }).0
    }

    /// Bit t says that triangle t may be nearer than the limit.
    #[inline(always)]
    pub fn candidates(&self, q: &[f32; 3], limit: f32) -> u32 {
        let d = self.distances(q);
        // What is not a number is not far.
        let far = |t: usize| u32::from(d[t] * (1.0 - SHARE) > limit) << t;
        15 ^ (far(0) | far(1) | far(2) | far(3))
    }
}

/// The limit for [`Leaf::candidates`]: the square of a distance in the unit frame, widened by the rounding of a
/// query of this size.
#[inline]
pub(super) fn widened(squared: f64, size: f64) -> f32 {
    let wide = squared.sqrt() + SLACK * (1.0 + size);
    (wide * wide) as f32
}
