//! The solids that liquid meets: one signed distance, one velocity, and whether a segment crosses a thin one.
//!
//! Distances are negative inside a solid. The closed sides of the domain are half-spaces of solid.
//! A thin solid (a cup without thickness, a leaf) has no inside. Paths feel it through
//! [`Solids::crosses`], [`Solids::path_crosses`] and [`Solids::barred`]; a grid, which sees distances at
//! its nodes only, asks for it [`Solids::thickened`] to a plate: behind a sheet with a hollow side, such as
//! a cup, so that the hollow is what it is, and on both sides of any other. A grid that knows what its cells see
//! ([`crate::grid::TileSheets`]) needs plates [behind hollow sheets](Solids::with_plates_behind) alone; those that have none
//! are its sheets.
//!
//! A path is looked at in the coordinates of the moving solid, each end where the solid is at that
//! time. The end of one step is the beginning of the next to the last bit, so a path that is held back
//! wherever it crosses never changes sides.
//!
//! Who asks many questions in one place, such as a tile of a grid, asks [`Solids::near`] first: it
//! answers the same for everything within a box, and looks only at solids and faces that reach it.

use super::painted::Rough;
use super::solid::{Solid, Wall};
use crate::math::{Aabb, Motion, Vec3};
use std::sync::Arc;

/// Everything solid at one time.
#[derive(Clone, Default)]
pub struct Solids {
    solids: Vec<Placed>,
    /// The domain, with the sides that are walls: `closed[axis][0]` the lower, `[1]` the upper.
    domain: Option<Aabb>,
    closed: [[bool; 2]; 3],
    domain_wall: Wall,
    max_speed: f64,
    /// Half the thickness of the plates that stand for thin solids; without any they have no distance.
    half: f64,
    /// Whether sheets that are not hollow have plates too.
    all_plates: bool,
}

/// A solid with what is asked of it most often.
#[derive(Clone)]
struct Placed {
    solid: Arc<Solid>,
    /// The whole of a thin solid of which `solid` is a part: its plate is not made of the faces near by alone.
    whole: Option<Arc<Solid>>,
    /// Where it can be met at all during the step.
    bounds: Aabb,
    thin: bool,
    hollow: bool,
    /// The number of the body, if liquid moves it.
    body: Option<u32>,
    /// Friction that is painted on it, and what it has where nothing is.
    rough: Option<(Arc<Rough>, f64)>,
}

impl Placed {
    fn new(solid: Solid) -> Self {
        Self {
            bounds: solid.bounds(),
            thin: solid.shape.is_thin(),
            hollow: solid.shape.is_hollow(),
            solid: Arc::new(solid),
            whole: None,
            body: None,
            rough: None,
        }
    }
}

impl std::fmt::Debug for Solids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.solids.iter().map(|p| &p.solid.name)).finish()
    }
}

impl Solids {
    pub fn new(solids: Vec<Solid>, domain: Option<Aabb>, closed: [[bool; 2]; 3], domain_wall: Wall) -> Self {
        let max_speed = solids.iter().map(|s| s.max_speed(domain.as_ref())).fold(0.0, f64::max);
        let solids = solids.into_iter().map(Placed::new).collect();
        Self { solids, domain, closed, domain_wall, max_speed, half: 0.0, all_plates: false }
    }

    /// The same solids and, after them, bodies that liquid moves.
    pub fn and_bodies(mut self, bodies: Vec<Solid>) -> Self {
        let count = bodies.len();
        let fastest = bodies.iter().map(|s| s.max_speed(self.domain.as_ref()));
        self.max_speed = fastest.fold(self.max_speed, f64::max);
        self.solids.extend(bodies.into_iter().map(Placed::new));
        self.with_bodies(count)
    }

    /// The same solids, of which the last `count` are bodies that liquid moves.
    pub fn with_bodies(mut self, count: usize) -> Self {
        let first = self.solids.len().saturating_sub(count);
        for (n, placed) in self.solids[first..].iter_mut().enumerate() {
            placed.body = Some(n as u32);
        }
        self
    }

    /// The same solids with other motions of the bodies, standing where they stand.
    pub fn with_body_motions(&self, motions: &[Motion]) -> Self {
        let mut moved = self.clone();
        for placed in &mut moved.solids {
            let Some(motion) = placed.body.and_then(|b| motions.get(b as usize)) else { continue };
            let motion = Motion { pose: placed.solid.motion.pose, ..*motion };
            placed.solid = Arc::new(Solid { motion, ..(*placed.solid).clone() });
        }
        let fastest = moved.solids.iter().map(|p| p.solid.max_speed(moved.domain.as_ref()));
        moved.max_speed = fastest.fold(0.0, f64::max);
        moved
    }

    /// The same with friction painted on the first of them, in the coordinates of their shapes, and what they have elsewhere.
    pub fn roughened(mut self, rough: impl Iterator<Item = Option<(Arc<Rough>, f64)>>) -> Self {
        for (placed, rough) in self.solids.iter_mut().zip(rough) {
            placed.rough = rough;
        }
        self
    }

    /// The same with every thin solid as a plate of twice this thickness (see [`super::SolidShape::plate`]).
    pub fn thickened(self, half: f64) -> Self {
        Self { half, all_plates: true, ..self }
    }

    /// The same with plates of twice this thickness behind sheets that have a hollow side, and for bodies.
    pub fn with_plates_behind(self, half: f64) -> Self {
        Self { half, all_plates: false, ..self }
    }

    /// Half the thickness of the plate of a solid; zero without one.
    fn half_of(&self, p: &Placed) -> f64 {
        if p.thin && (self.all_plates || p.hollow || p.body.is_some()) { self.half } else { 0.0 }
    }

    /// Whether a solid has no thickness on grids either.
    fn is_sheet(&self, p: &Placed) -> bool {
        p.thin && self.half_of(p) == 0.0
    }

    /// The sheets without plates alone.
    pub fn sheets(&self) -> Self {
        let solids = self.solids.iter().filter(|p| self.is_sheet(p)).cloned().collect();
        Self { solids, max_speed: self.max_speed, ..Self::default() }
    }

    /// Whether there is a sheet without a plate.
    pub fn any_sheets(&self) -> bool {
        self.solids.iter().any(|p| self.is_sheet(p))
    }

    /// The nearest point of the sheets without plates, if one is nearer than `reach`.
    pub fn closest_sheet(&self, x: &Vec3, reach: f64) -> Option<Vec3> {
        let near = self.solids.iter().filter(|p| self.is_sheet(p));
        let near = near.filter(|p| p.bounds.distance_squared(x) < reach * reach);
        let points = near.filter_map(|p| p.solid.closest(x, reach));
        points.min_by(|p, q| (p - x).norm_squared().total_cmp(&(q - x).norm_squared()))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Solid> {
        self.solids.iter().map(|p| &*p.solid)
    }

    /// The part of the solids that matters within a box: distances up to `reach` and paths inside the
    /// box are answered as by all of them.
    pub fn near(&self, within: &Aabb, reach: f64) -> Self {
        let wide = within.grow(reach + 2.0 * self.half);
        let part = |p: &Placed| {
            if !p.bounds.overlaps(&wide) {
                return None;
            }
            if !p.thin {
                return Some(p.clone());
            }
            match p.solid.part(within) {
                Some(part) => {
                    let whole = p.whole.clone().or_else(|| Some(p.solid.clone()));
                    Some(Placed { solid: Arc::new(part), whole, ..p.clone() })
                }
                // The faces are elsewhere, but not the plate.
                None => (self.half_of(p) > 0.0).then(|| p.clone()),
            }
        };
        Self { solids: self.solids.iter().filter_map(part).collect(), ..*self }
    }

    pub fn domain(&self) -> Option<Aabb> {
        self.domain
    }

    /// Signed distance to the closed sides of the domain; positive within.
    pub fn domain_distance(&self, x: &Vec3) -> f64 {
        let Some(b) = self.domain else { return f64::INFINITY };
        let side = |a: usize| {
            let low = if self.closed[a][0] { x[a] - b.lo[a] } else { f64::INFINITY };
            let high = if self.closed[a][1] { b.hi[a] - x[a] } else { f64::INFINITY };
            low.min(high)
        };
        side(0).min(side(1)).min(side(2))
    }

    /// Whether x lies beyond an open side of the domain, where liquid is lost.
    pub fn is_drained(&self, x: &Vec3) -> bool {
        let Some(b) = self.domain else { return false };
        (0..3).any(|a| (!self.closed[a][0] && x[a] < b.lo[a]) || (!self.closed[a][1] && x[a] > b.hi[a]))
    }

    /// How far a point lies beyond the open sides of the domain, m; negative within, −∞ if none is open.
    pub fn beyond_open_sides(&self, x: &Vec3) -> f64 {
        let Some(b) = self.domain else { return f64::NEG_INFINITY };
        let beyond = |a: usize| {
            let low = if self.closed[a][0] { f64::NEG_INFINITY } else { b.lo[a] - x[a] };
            let high = if self.closed[a][1] { f64::NEG_INFINITY } else { x[a] - b.hi[a] };
            low.max(high)
        };
        beyond(0).max(beyond(1)).max(beyond(2))
    }

    /// The nearest solid of those wanted and its distance, if that is less than `limit`.
    fn nearest_of(&self, x: &Vec3, limit: f64, wanted: impl Fn(&Solid) -> bool) -> (f64, Option<&Solid>) {
        let (d, placed) = self.nearest_placed(x, limit, |p| wanted(&p.solid));
        (d, placed.map(|p| &*p.solid))
    }

    fn nearest_placed(
        &self,
        x: &Vec3,
        limit: f64,
        wanted: impl Fn(&Placed) -> bool,
    ) -> (f64, Option<&Placed>) {
        let mut nearest = (limit, None);
        for placed in &self.solids {
            let Placed { solid, whole, bounds, thin, .. } = placed;
            let half = self.half_of(placed);
            // Outside its box the distance is at least that to the box, less a plate that lies behind it.
            let in_reach = bounds.distance_squared(x) <= (nearest.0 + 2.0 * half).max(0.0).powi(2);
            if (!thin || half > 0.0) && in_reach && wanted(placed) {
                let reach = nearest.0.abs();
                let d = match thin {
                    true => whole.as_ref().unwrap_or(solid).plate(x, half, reach),
                    false => solid.distance_within(x, reach),
                };
                if d < nearest.0 {
                    nearest = (d, Some(placed));
                }
            }
        }
        nearest
    }

    /// Distance to the solids that never move and to the domain's walls, cut off at `reach` on either side.
    pub fn resting_distance(&self, x: &Vec3, reach: f64) -> f64 {
        self.nearest_of(x, reach.min(self.domain_distance(x)), |s| !s.animated).0
    }

    /// Distance to the animated solids, cut off at `reach` on either side.
    pub fn moving_distance(&self, x: &Vec3, reach: f64) -> f64 {
        self.nearest_of(x, reach, |s| s.animated).0
    }

    /// Distance to the plates of thin solids that are no bodies, cut off at `reach`.
    pub fn plate_distance(&self, x: &Vec3, reach: f64) -> f64 {
        self.nearest_placed(x, reach, |p| p.thin && p.body.is_none()).0
    }

    /// Distance to the nearest solid or domain wall, cut off at `reach`; within a solid, however deep, it is exact.
    pub fn distance(&self, x: &Vec3, reach: f64) -> f64 {
        match self.nearest_of(x, reach.min(self.domain_distance(x)), |_| true) {
            (d, Some(solid)) if d < 0.0 && !solid.shape.is_thin() => d.min(solid.distance(x)),
            (d, _) => d,
        }
    }

    /// Distances to everything but the bodies and to the bodies, cut off at `reach`; within solids they are exact.
    pub fn distances_apart(&self, x: &Vec3, reach: f64) -> [f64; 2] {
        let whole = |(d, solid): (f64, Option<&Solid>)| match solid {
            Some(solid) if d < 0.0 && !solid.shape.is_thin() => d.min(solid.distance(x)),
            _ => d,
        };
        let nearest = |limit: f64, bodies: bool| {
            let mut nearest = (limit, None);
            for p in self.solids.iter().filter(|p| p.body.is_some() == bodies) {
                let half = self.half_of(p);
                let in_reach = p.bounds.distance_squared(x) <= (nearest.0 + half).max(0.0).powi(2);
                if (!p.thin || half > 0.0) && in_reach {
                    let d = p.solid.distance_within(x, nearest.0.abs() + half);
                    let d = if p.thin { d.abs() - half } else { d };
                    if d < nearest.0 {
                        nearest = (d, Some(&*p.solid));
                    }
                }
            }
            nearest
        };
        [whole(nearest(reach.min(self.domain_distance(x)), false)), whole(nearest(reach, true))]
    }

    /// The nearest wall within `reach`: a solid or a sheet; None if the domain's is.
    fn nearest_wall(&self, x: &Vec3, reach: f64) -> Option<&Placed> {
        let (mut d, mut wall) = self.nearest_placed(x, reach.min(self.domain_distance(x)), |_| true);
        for p in self.solids.iter().filter(|p| self.is_sheet(p)) {
            if p.bounds.distance_squared(x) <= d.max(0.0).powi(2) {
                let sheet = p.whole.as_ref().unwrap_or(&p.solid).distance_within(x, d.abs()).abs();
                (d, wall) = if sheet < d { (sheet, Some(p)) } else { (d, wall) };
            }
        }
        wall
    }

    /// Velocity of the nearest solid at x; zero at the domain's walls and where nothing is near.
    pub fn velocity(&self, x: &Vec3, reach: f64) -> Vec3 {
        if !self.any_animated() {
            return Vec3::zeros();
        }
        self.nearest_wall(x, reach)
            .map_or(Vec3::zeros(), |p| p.whole.as_ref().unwrap_or(&p.solid).velocity(x))
    }

    /// Velocity of the nearest solid at x if it is not a body, whose velocity is to be found.
    pub fn scripted_velocity(&self, x: &Vec3, reach: f64) -> Vec3 {
        if !self.any_animated() {
            return Vec3::zeros();
        }
        let nearest = self.nearest_wall(x, reach);
        nearest.filter(|p| p.body.is_none()).map_or(Vec3::zeros(), |p| p.solid.velocity(x))
    }

    /// Distance to solids that are no bodies and to the domain's walls, cut off at `reach` outside.
    pub fn scripted_distance(&self, x: &Vec3, reach: f64) -> f64 {
        self.nearest_scripted(x, reach).0
    }

    /// Velocity of the nearest solid that is no body; zero at the domain's walls.
    pub fn scripted_velocity_of_nearest(&self, x: &Vec3, reach: f64) -> Vec3 {
        self.nearest_scripted(x, reach).1.map_or(Vec3::zeros(), |s| s.velocity(x))
    }

    fn nearest_scripted(&self, x: &Vec3, reach: f64) -> (f64, Option<&Solid>) {
        let mut nearest = (reach.min(self.domain_distance(x)), None);
        for p in self.solids.iter().filter(|p| !p.thin && p.body.is_none()) {
            if p.bounds.distance_squared(x) <= nearest.0.max(0.0).powi(2) {
                let d = p.solid.distance(x);
                if d < nearest.0 {
                    nearest = (d, Some(&*p.solid));
                }
            }
        }
        nearest
    }

    /// The number of the body that is the nearest solid at x, if one is.
    pub fn nearest_body(&self, x: &Vec3, reach: f64) -> Option<usize> {
        let nearest = self.nearest_wall(x, reach);
        nearest.and_then(|p| p.body).map(|b| b as usize)
    }

    /// World boxes of the bodies.
    pub fn body_bounds(&self) -> impl Iterator<Item = &Aabb> {
        self.solids.iter().filter(|p| p.body.is_some()).map(|p| &p.bounds)
    }

    /// How liquid behaves at the nearest wall.
    pub fn wall(&self, x: &Vec3, reach: f64) -> Wall {
        let nearest = self.nearest_wall(x, reach);
        nearest.map_or(self.domain_wall, |p| match &p.rough {
            None => p.solid.wall,
            Some((rough, elsewhere)) => {
                let local = p.solid.to_local(&p.solid.motion.pose, x);
                Wall { friction: rough.at(&local).unwrap_or(*elsewhere), ..p.solid.wall }
            }
        })
    }

    /// How liquid behaves at each solid, where it is roughest, and at the domain.
    pub fn walls(&self) -> impl Iterator<Item = &Wall> {
        self.solids.iter().map(|s| &s.solid.wall).chain(std::iter::once(&self.domain_wall))
    }

    /// Whether some solid moves at some time.
    pub fn any_animated(&self) -> bool {
        self.solids.iter().any(|p| p.solid.animated)
    }

    /// No point of a solid is faster than this, m/s.
    pub fn max_speed(&self) -> f64 {
        self.max_speed
    }

    pub fn any_thin(&self) -> bool {
        self.solids.iter().any(|p| p.thin)
    }

    /// World boxes of the animated solids, with their plates.
    pub fn animated_bounds(&self) -> impl Iterator<Item = Aabb> {
        self.solids.iter().filter(|p| p.solid.animated).map(|p| p.bounds.grow(2.0 * self.half_of(p)))
    }

    /// Direction in which the distance grows fastest at x, from differences over `step`.
    pub fn outward(&self, x: &Vec3, step: f64) -> Vec3 {
        let reach = 1e3 * step;
        let along = |a: usize| {
            let (mut low, mut high) = (*x, *x);
            low[a] -= step;
            high[a] += step;
            self.distance(&high, reach) - self.distance(&low, reach)
        };
        Vec3::new(along(0), along(1), along(2)).try_normalize(0.0).unwrap_or_else(Vec3::y)
    }

    /// Whether the segment from a to b meets a thin solid, at the end of the step.
    pub fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.thin(a, b).any(|s| s.crosses(a, b))
    }

    /// Whether a point that goes from a to b during the step meets a thin solid on its way.
    pub fn path_crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.thin(a, b).any(|s| s.path_crosses(a, b))
    }

    /// Where a point that was at x when the step began is carried by the nearest thin solid.
    pub fn carried(&self, x: &Vec3) -> Vec3 {
        let near = |p: &&Placed| p.thin && p.bounds.contains(x);
        let distance = |s: &Solid| s.distance(x).abs();
        let solids = self.solids.iter().filter(near).map(|p| &*p.solid);
        let nearest = solids.min_by(|p, q| distance(p).total_cmp(&distance(q)));
        nearest.map_or(*x, |s| s.carried(x))
    }

    /// Where a point ends that would go from a to b but for thin solids: None if nothing is in its way.
    /// The solid that it meets carries it along from a; between two that close on each other it ends on
    /// the side of the last that it meets.
    pub fn barred(&self, a: &Vec3, b: &Vec3) -> Option<Vec3> {
        let mut barred = None;
        for _ in 0..4 {
            let end = barred.unwrap_or(*b);
            let Some(solid) = self.thin(a, &end).find(|s| s.path_crosses(a, &end)) else { break };
            barred = Some(solid.carried(a));
        }
        barred
    }

    /// Thin solids whose box the path from a to b enters.
    fn thin(&self, a: &Vec3, b: &Vec3) -> impl Iterator<Item = &Solid> {
        let segment = Aabb::of_points([a, b]);
        self.solids.iter().filter(move |p| p.thin && p.bounds.overlaps(&segment)).map(|p| &*p.solid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::SolidShape;
    use crate::math::Pose;

    struct Ball;
    impl SolidShape for Ball {
        fn distance(&self, x: &Vec3) -> f64 {
            x.norm() - 1.0
        }
        fn bounds(&self) -> Aabb {
            Aabb::new(Vec3::repeat(-1.0), Vec3::repeat(1.0))
        }
    }

    fn ball_in_a_box() -> Solids {
        let pose = Pose { translation: Vec3::new(3.0, 0.0, 0.0), ..Pose::identity() };
        let motion = Motion { pose, linear: Vec3::y(), angular: Vec3::zeros() };
        let ball = Solid {
            name: "ball".into(),
            shape: Arc::new(Ball),
            scale: 0.5,
            motion,
            before: pose,
            animated: true,
            wall: Wall::default(),
        };
        let domain = Aabb::new(Vec3::repeat(-10.0), Vec3::repeat(10.0));
        Solids::new(vec![ball], Some(domain), [[true; 2], [true, false], [true; 2]], Wall::default())
    }

    #[test]
    fn the_nearest_wall_counts() {
        let s = ball_in_a_box();
        assert!((s.distance(&Vec3::new(5.0, 0.0, 0.0), 9.0) - 1.5).abs() < 1e-15);
        assert!((s.distance(&Vec3::new(3.0, 0.0, 0.0), 9.0) + 0.5).abs() < 1e-15);
        assert!((s.distance(&Vec3::new(9.0, 0.0, 0.0), 9.0) - 1.0).abs() < 1e-15);
        assert_eq!(s.velocity(&Vec3::new(3.6, 0.0, 0.0), 1.0), Vec3::y());
        assert_eq!(s.velocity(&Vec3::new(9.9, 0.0, 0.0), 1.0), Vec3::zeros());
    }

    #[test]
    fn liquid_is_lost_only_through_open_sides() {
        let s = ball_in_a_box();
        assert!(s.is_drained(&Vec3::new(0.0, 11.0, 0.0)));
        assert!(!s.is_drained(&Vec3::new(0.0, -11.0, 0.0)));
        assert!(s.domain_distance(&Vec3::new(0.0, -11.0, 0.0)) < 0.0);
    }
}
