//! Contact of rigid bodies with walls and with each other: impulses that push, with friction and bounce.
//!
//! Points spread over the surface of each body are looked up in the signed distances of everything else, the
//! same distances that the liquid sees [GBF03]: nothing is triangulated or made convex for contact. A point
//! at the gap d ahead of a surface with the normal n, seen from the body, leads to
//!
//! ```text
//!     0 ≤ λ  ⊥  n·(v_point − v_other) + d/Δt ≥ 0          may touch at the end of the step, not pass
//! ```
//!
//! with the velocity −e v_n wanted instead where the point arrives fast and bounces by e, and with friction
//! |λ_t| ≤ μλ against sliding. Of all points of a pair the deepest and those furthest from each other are kept;
//! their impulses are found by projected Gauss-Seidel sweeps in a fixed order, so the bits are
//! the same everywhere. Sweeps alone settle slowly where much weighs on little; so each is followed by a step on along the
//! direction in which the impulses have been going, as in conjugate gradients [SNE10]: with g the change of a sweep,
//!
//! ```text
//!     β = |g|²/|g_before|² ,    λ ← λ + β p ,    p ← β p + g ,        p ← 0 where β > 1
//! ```
//!
//! and the next sweep projects what has gone too far. What still overlaps after a move is pushed apart by the same sweeps on positions, without
//! touching velocities. Nothing is kept from step to step.
//!
//! A rigid-body engine would bring broad phases, sleeping and joints between bodies, and shapes of its own to be kept
//! in step with those that the liquid sees; the shapes of a scene are few and any mesh goes. What pictures need of
//! contact is checked against exact answers in tests/bodies: sliding and resting on an incline, bounce,
//! a stack with the heaviest on top, a stone that lies on the floor without pushing water, and a crowd that stays in its tank.

use crate::field::{SolidShape, Solids};
use crate::math::{Aabb, Pose, Vec3};
use crate::solver::rigid::{Six, SixBySix, point_velocity, six};
use rayon::prelude::*;

/// Points of a pair that are kept.
const MOST_POINTS: usize = 10;
/// Sweeps over all contacts at most.
const SWEEPS: usize = 1000;
/// Sweeps stop when no velocity changes by more than this share of the fastest approach before them.
const SETTLED: f64 = 1e-7;
/// Rounds that push apart what overlaps.
const PUSHES: usize = 6;

/// A body as contact sees it.
pub(super) struct Touching<'a> {
    pub shape: &'a dyn SolidShape,
    /// World lengths are this many lengths of the shape.
    pub scale: f64,
    pub pose: Pose,
    pub centre: Vec3,
    /// Points of its surface in the coordinates of the pose, m.
    pub points: &'a [Vec3],
    /// From the centre of mass to the furthest point.
    pub radius: f64,
    pub inverse_mass: SixBySix,
    pub friction: f64,
    pub restitution: f64,
}

impl Touching<'_> {
    fn distance(&self, x: &Vec3) -> f64 {
        self.shape.distance(&(self.pose.to_local(x) / self.scale)) * self.scale
    }

    /// Direction in which the distance grows.
    fn outward(&self, x: &Vec3, step: f64) -> Vec3 {
        outward(x, step, |x| self.distance(x))
    }
}

fn outward(x: &Vec3, step: f64, distance: impl Fn(&Vec3) -> f64) -> Vec3 {
    let along = |a: usize| {
        let (mut low, mut high) = (*x, *x);
        low[a] -= step;
        high[a] += step;
        distance(&high) - distance(&low)
    };
    Vec3::new(along(0), along(1), along(2)).try_normalize(0.0).unwrap_or_else(Vec3::y)
}

/// A point where a body may touch something.
#[derive(Clone, Copy, Debug)]
struct Point {
    body: usize,
    /// The other body; None for a wall.
    other: Option<usize>,
    at: Vec3,
    /// From the other to the body.
    normal: Vec3,
    gap: f64,
    /// Velocity of the wall.
    wall: Vec3,
    friction: f64,
    restitution: f64,
}

/// All points where bodies may touch within a step.
pub(super) struct Contacts {
    points: Vec<Point>,
    cell: f64,
}

impl Contacts {
    /// Find points that are nearer than `reach`. Walls are the solids that are not bodies.
    pub fn find(bodies: &[Touching], walls: &Solids, reach: f64, cell: f64) -> Self {
        let of_body = |b: usize| {
            let mut found = wall_points(b, &bodies[b], walls, reach, cell);
            for o in (0..bodies.len()).filter(|&o| o != b) {
                found.extend(body_points(b, o, bodies, reach, cell));
            }
            found
        };
        let points: Vec<Vec<Point>> = (0..bodies.len()).into_par_iter().map(of_body).collect();
        Self { points: points.concat(), cell }
    }

    /// The same points for a move that ends when the walls are where they stand now: what a wall still has to do to a
    /// body on its way is what it overlaps already, at most at its own speed.
    pub fn arrived(mut self, dt: f64) -> Self {
        for p in self.points.iter_mut().filter(|p| p.other.is_none()) {
            let own = p.wall.dot(&p.normal);
            p.wall += p.normal * ((-p.gap).max(0.0) / dt).min(own.max(0.0)) - p.normal * own;
        }
        self
    }

    /// Velocities after contact. `factor` multiplies the masses; `dt` is the time until bodies have moved on.
    /// What arrives slower than `slow` does not bounce.
    pub fn solve(&self, bodies: &[Touching], before: &[Six], factor: &[f64], dt: f64, slow: f64) -> Vec<Six> {
        let inverse: Vec<SixBySix> = bodies.iter().zip(factor).map(|(b, f)| b.inverse_mass / *f).collect();
        let aim = |p: &Point| {
            let arriving = self.speed(bodies, p, before).dot(&p.normal);
            // Nothing has to be done before the gap is closed; what overlaps is not thrown out.
            let free = -p.gap.max(0.0) / dt;
            if arriving < free && arriving < -slow { free.max(-p.restitution * arriving) } else { free }
        };
        let aims: Vec<f64> = self.points.iter().map(aim).collect();
        self.sweep(bodies, &inverse, before, &aims, true)
    }

    /// The motion that parts what overlaps.
    fn part(&self, bodies: &[Touching]) -> Vec<Six> {
        let inverse: Vec<SixBySix> = bodies.iter().map(|b| b.inverse_mass).collect();
        let aims: Vec<f64> = self.points.iter().map(|p| -p.gap).collect();
        self.sweep(bodies, &inverse, &vec![Six::zeros(); bodies.len()], &aims, false)
    }

    fn deepest(&self) -> f64 {
        self.points.iter().fold(0.0, |m, p| m.max(-p.gap))
    }

    /// Velocity of a point relative to what it meets.
    fn speed(&self, bodies: &[Touching], p: &Point, v: &[Six]) -> Vec3 {
        let own = point_velocity(&v[p.body], &(p.at - bodies[p.body].centre));
        let other = p.other.map_or(p.wall, |o| point_velocity(&v[o], &(p.at - bodies[o].centre)));
        own - other
    }

    fn sweep(
        &self,
        bodies: &[Touching],
        inverse: &[SixBySix],
        before: &[Six],
        aims: &[f64],
        rubs: bool,
    ) -> Vec<Six> {
        let mut v = before.to_vec();
        // Impulses along the normal and two tangents, and how velocities answer them.
        let frames: Vec<[Vec3; 3]> = self.points.iter().map(|p| frame(&p.normal)).collect();
        let answers: Vec<[f64; 3]> = self
            .points
            .iter()
            .zip(&frames)
            .map(|(p, f)| f.map(|d| self.answer(bodies, inverse, p, &d)))
            .collect();
        let mut impulse = vec![[0.0; 3]; self.points.len()];
        let (mut direction, mut before_size) = (impulse.clone(), 0.0);
        let wrong = |(p, aim): (&Point, &f64)| (aim - self.speed(bodies, p, before).dot(&p.normal)).max(0.0);
        let settled = SETTLED * self.points.iter().zip(aims).map(wrong).fold(1e-12, f64::max);
        for round in 1.. {
            // The greatest change of a velocity, and the sum of the squares of all, by the energy that they take.
            let (mut change, mut size) = (0.0f64, 0.0);
            let mut gone = Vec::with_capacity(impulse.len());
            for (k, p) in self.points.iter().enumerate() {
                let [push, along, across] = frames[k];
                let wanted = |a: usize, aim: f64, v: &[Six]| match answers[k][a] {
                    answer if answer > 0.0 => {
                        impulse[k][a] + (aim - self.speed(bodies, p, v).dot(&frames[k][a])) / answer
                    }
                    _ => 0.0,
                };
                let mut next = [wanted(0, aims[k], &v).max(0.0), 0.0, 0.0];
                let first = next[0] - impulse[k][0];
                if first != 0.0 {
                    self.push(bodies, inverse, p, &(push * first), &mut v);
                }
                if rubs {
                    let (a, b) = (wanted(1, 0.0, &v), wanted(2, 0.0, &v));
                    // Friction is a disk, whatever the two directions are.
                    let share = (p.friction * next[0] / a.hypot(b).max(f64::MIN_POSITIVE)).min(1.0);
                    (next[1], next[2]) = (a * share, b * share);
                    let step = along * (next[1] - impulse[k][1]) + across * (next[2] - impulse[k][2]);
                    if step != Vec3::zeros() {
                        self.push(bodies, inverse, p, &step, &mut v);
                    }
                }
                let by: [f64; 3] = std::array::from_fn(|a| next[a] - impulse[k][a]);
                for (by, answer) in by.iter().zip(answers[k]) {
                    change = change.max((by * answer).abs());
                    size += by * by * answer;
                }
                gone.push(by);
                impulse[k] = next;
            }
            if change <= settled || round == SWEEPS {
                break;
            }
            let share = if before_size > size { size / before_size } else { 0.0 };
            before_size = size;
            for (k, p) in self.points.iter().enumerate() {
                let on = direction[k].map(|d| d * share);
                direction[k] = std::array::from_fn(|a| on[a] + gone[k][a]);
                if on != [0.0; 3] {
                    impulse[k] = std::array::from_fn(|a| impulse[k][a] + on[a]);
                    let step = frames[k].iter().zip(on).map(|(d, on)| d * on).sum();
                    self.push(bodies, inverse, p, &step, &mut v);
                }
            }
        }
        v
    }

    /// Change of the speed along d for a unit impulse along d.
    fn answer(&self, bodies: &[Touching], inverse: &[SixBySix], p: &Point, d: &Vec3) -> f64 {
        let one = |b: usize| {
            let arm = p.at - bodies[b].centre;
            let load = six(d, &arm.cross(d));
            load.dot(&(inverse[b] * load))
        };
        one(p.body) + p.other.map_or(0.0, one)
    }

    fn push(&self, bodies: &[Touching], inverse: &[SixBySix], p: &Point, impulse: &Vec3, v: &mut [Six]) {
        let load = |b: usize| six(impulse, &(p.at - bodies[b].centre).cross(impulse));
        v[p.body] += inverse[p.body] * load(p.body);
        if let Some(o) = p.other {
            v[o] -= inverse[o] * load(o);
        }
    }

    /// Half the deepest overlap that is left alone: a thousandth of a cell.
    fn tolerance(&self) -> f64 {
        1e-3 * self.cell
    }
}

/// Push apart what overlaps: `place` gives the bodies after they have moved by what is found so far.
pub(super) fn part<'a>(
    count: usize,
    walls: &Solids,
    cell: f64,
    place: impl Fn(&[Six]) -> Vec<Touching<'a>>,
) -> Vec<Six> {
    let mut moved = vec![Six::zeros(); count];
    for _ in 0..PUSHES {
        let bodies = place(&moved);
        let contacts = Contacts::find(&bodies, walls, 0.5 * cell, cell);
        if contacts.deepest() <= contacts.tolerance() {
            break;
        }
        let more = contacts.part(&bodies);
        moved.iter_mut().zip(&more).for_each(|(m, d)| *m += d);
    }
    moved
}

/// The normal and two directions across it.
fn frame(n: &Vec3) -> [Vec3; 3] {
    let axis = if n.x.abs() < 0.6 { Vec3::x() } else { Vec3::y() };
    let t = n.cross(&axis).normalize();
    [*n, t, n.cross(&t)]
}

/// Points of a body near walls.
fn wall_points(b: usize, body: &Touching, walls: &Solids, reach: f64, cell: f64) -> Vec<Point> {
    let far = body.radius + reach;
    if walls.scripted_distance(&body.centre, far) >= far {
        return Vec::new();
    }
    let mut near = Vec::new();
    for local in body.points {
        let at = body.pose.to_world(local);
        let gap = walls.scripted_distance(&at, reach);
        if gap < reach {
            near.push((at, gap));
        }
    }
    let point = |(at, gap): (Vec3, f64)| Point {
        body: b,
        other: None,
        at,
        normal: outward(&at, 0.05 * cell, |x| walls.scripted_distance(x, 4.0 * (reach + cell))),
        gap,
        wall: walls.scripted_velocity_of_nearest(&at, reach),
        friction: body.friction,
        restitution: body.restitution,
    };
    spread(near).into_iter().map(point).collect()
}

/// Points of body b near body o.
fn body_points(b: usize, o: usize, bodies: &[Touching], reach: f64, cell: f64) -> Vec<Point> {
    let (body, other) = (&bodies[b], &bodies[o]);
    if (body.centre - other.centre).norm() > body.radius + other.radius + reach {
        return Vec::new();
    }
    let own = other.shape.bounds();
    let bounds = Aabb::new(own.lo * other.scale, own.hi * other.scale);
    let mut near = Vec::new();
    for local in body.points {
        let at = body.pose.to_world(local);
        if bounds.distance_squared(&other.pose.to_local(&at)) > reach * reach {
            continue;
        }
        let gap = other.distance(&at);
        if gap < reach {
            near.push((at, gap));
        }
    }
    let point = |(at, gap): (Vec3, f64)| Point {
        body: b,
        other: Some(o),
        at,
        normal: other.outward(&at, 0.05 * cell),
        gap,
        wall: Vec3::zeros(),
        friction: (body.friction * other.friction).sqrt(),
        restitution: body.restitution.max(other.restitution),
    };
    spread(near).into_iter().map(point).collect()
}

/// The deepest point, then again and again the one furthest from those chosen; near ones before deep ones never.
fn spread(points: Vec<(Vec3, f64)>) -> Vec<(Vec3, f64)> {
    let Some(first) = (0..points.len()).min_by(|&a, &b| points[a].1.total_cmp(&points[b].1)) else {
        return points;
    };
    let mut chosen = vec![points[first]];
    let mut distance: Vec<f64> = points.iter().map(|p| (p.0 - points[first].0).norm_squared()).collect();
    while chosen.len() < MOST_POINTS.min(points.len()) {
        // A point that is further ahead counts less: it will touch later, if at all.
        let merit = |k: usize| distance[k].sqrt() - 4.0 * (points[k].1 - points[first].1);
        let Some(next) = (0..points.len()).max_by(|&a, &b| merit(a).total_cmp(&merit(b))) else { break };
        if distance[next] == 0.0 {
            break;
        }
        chosen.push(points[next]);
        distance.iter_mut().zip(&points).for_each(|(d, p)| *d = d.min((p.0 - points[next].0).norm_squared()));
    }
    chosen
}
