//! Axis-aligned boxes.

use super::Vec3;

/// The points x with lo ≤ x ≤ hi; empty if some lo exceeds hi.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    pub lo: Vec3,
    pub hi: Vec3,
}

impl Aabb {
    /// The box that holds nothing and grows with [`Aabb::include`].
    pub fn empty() -> Self {
        Self { lo: Vec3::repeat(f64::INFINITY), hi: Vec3::repeat(f64::NEG_INFINITY) }
    }

    pub fn new(lo: Vec3, hi: Vec3) -> Self {
        Self { lo, hi }
    }

    /// The smallest box round the points.
    pub fn of_points<'a>(points: impl IntoIterator<Item = &'a Vec3>) -> Self {
        points.into_iter().fold(Self::empty(), |b, p| b.include(p))
    }

    pub fn include(&self, p: &Vec3) -> Self {
        Self { lo: self.lo.inf(p), hi: self.hi.sup(p) }
    }

    pub fn union(&self, other: &Aabb) -> Self {
        Self { lo: self.lo.inf(&other.lo), hi: self.hi.sup(&other.hi) }
    }

    /// The box moved outwards by `margin` on every side.
    pub fn grow(&self, margin: f64) -> Self {
        Self { lo: self.lo.add_scalar(-margin), hi: self.hi.add_scalar(margin) }
    }

    pub fn is_empty(&self) -> bool {
        (0..3).any(|a| self.lo[a] > self.hi[a])
    }

    pub fn centre(&self) -> Vec3 {
        (self.lo + self.hi) * 0.5
    }

    pub fn size(&self) -> Vec3 {
        self.hi - self.lo
    }

    pub fn contains(&self, p: &Vec3) -> bool {
        (0..3).all(|a| self.lo[a] <= p[a] && p[a] <= self.hi[a])
    }

    pub fn overlaps(&self, other: &Aabb) -> bool {
        (0..3).all(|a| self.lo[a] <= other.hi[a] && other.lo[a] <= self.hi[a])
    }

    /// Distance from p to the box, squared; 0 inside.
    pub fn distance_squared(&self, p: &Vec3) -> f64 {
        (0..3).map(|a| (self.lo[a] - p[a]).max(p[a] - self.hi[a]).max(0.0)).map(|d| d * d).sum()
    }

    /// The eight corners, x fastest.
    pub fn corners(&self) -> [Vec3; 8] {
        std::array::from_fn(|c| Vec3::from_fn(|a, _| if c >> a & 1 == 0 { self.lo[a] } else { self.hi[a] }))
    }
}
