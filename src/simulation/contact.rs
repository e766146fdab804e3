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
//! their impulses are found by projected Gauss-Seidel sweeps in a fixed order, crowd by crowd of bodies that touch, so the bits are
//! the same everywhere. Sweeps alone settle slowly where much weighs on little; so each is followed by a step on along the
//! direction in which the impulses have been going, as in conjugate gradients [SNE10]: with g the change of a sweep,
//!
//! ```text
//!     β = |g|²/|g_before|² ,    λ ← λ + β p ,    p ← β p + g ,        p ← 0 where β > 1
//! ```
//!
//! and the next sweep projects what has gone too far. What still overlaps after a move is pushed apart by the same sweeps on positions, without
//! touching velocities. The rounds of contact with the pressure of one step go on from each other's impulses; nothing is kept from step to step.
//!
//! **Why no rigid-body engine.** `rapier3d` was weighed. It would bring broad phases, sleeping and joints between bodies, for 139 CPU seconds
//! of build beside the six minutes of everything else, and shapes of its own to be kept in step with those that the liquid
//! sees: a torus, a cup or a mesh that is not convex would have to be cut into pieces, and where its surface and the liquid's
//! differ a body at rest would push water. Its step also moves bodies itself, while here the velocities of contact and
//! pressure must agree before anything moves ([`crate::solver::rounds`]). What pictures need of
//! contact is checked against exact answers instead of another engine's, in tests/bodies: sliding and resting on an incline, bounce,
//! a stack with the heaviest on top, a stone that lies on the floor without pushing water, and a crowd that stays in its tank.

use super::contact_points::ContactPoints;
use crate::field::{SolidShape, Solids};
use crate::math::{Aabb, Pose, Sets, Vec3};
use crate::solver::rigid::{Six, SixBySix, six};
use rayon::prelude::*;
use std::sync::Mutex;

/// Points of a pair that are kept.
const MOST_POINTS: usize = 8;
/// Sweeps over all contacts at most; the next round with the pressure goes on where they end.
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
    pub points: &'a ContactPoints,
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
    /// The impulses found last, from which the next round with the pressure goes on.
    last: Mutex<Vec<[f64; 3]>>,
}

/// A point as sweeps see it: how speeds along its normal and two tangents follow from the velocities of the bodies, and how
/// these answer impulses along them.
struct Row {
    body: usize,
    other: Option<usize>,
    /// Speed along each direction for unit velocities of the body, and velocities of the body for unit impulses.
    own: [(Six, Six); 3],
    /// The same of the other body; not read for a wall.
    others: [(Six, Six); 3],
    /// Speed of the wall.
    wall: [f64; 3],
    /// Change of the speed for a unit impulse.
    answer: [f64; 3],
}

impl Row {
    fn new(p: &Point, bodies: &[Touching], inverse: &[SixBySix]) -> Self {
        let frame = frame(&p.normal);
        let of = |b: usize| {
            frame.map(|d| {
                let load = six(&d, &(p.at - bodies[b].centre).cross(&d));
                (load, inverse[b] * load)
            })
        };
        let own = of(p.body);
        let others = p.other.map_or([(Six::zeros(), Six::zeros()); 3], of);
        Self {
            body: p.body,
            other: p.other,
            wall: frame.map(|d| if p.other.is_none() { p.wall.dot(&d) } else { 0.0 }),
            answer: std::array::from_fn(|a| own[a].0.dot(&own[a].1) + others[a].0.dot(&others[a].1)),
            own,
            others,
        }
    }

    /// Speed along a direction relative to what the point meets.
    fn speed(&self, a: usize, v: &[Six]) -> f64 {
        let other = self.other.map_or(0.0, |o| self.others[a].0.dot(&v[o]));
        self.own[a].0.dot(&v[self.body]) - other - self.wall[a]
    }

    fn push(&self, a: usize, impulse: f64, v: &mut [Six]) {
        v[self.body] += self.own[a].1 * impulse;
        if let Some(o) = self.other {
            v[o] -= self.others[a].1 * impulse;
        }
    }
}

impl Contacts {
    /// Find points that are nearer than `reach` and what the two may come nearer by: `travel` is how far each body may go.
    /// Walls are the solids that are not bodies.
    pub fn find(bodies: &[Touching], walls: &Solids, reach: f64, travel: &[f64], cell: f64) -> Self {
        let of_body = |b: usize| {
            // Twice its own way: what it is pushed by may be as fast as it is.
            let mut found = wall_points(b, &bodies[b], walls, reach + 2.0 * travel[b], cell);
            for o in (0..bodies.len()).filter(|&o| o != b) {
                found.extend(body_points(b, o, bodies, reach + travel[b] + travel[o], cell));
            }
            found
        };
        let points: Vec<Vec<Point>> = (0..bodies.len()).into_par_iter().map(of_body).collect();
        Self { points: points.concat(), cell, last: Mutex::default() }
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
    /// What arrives slower than `slow` does not bounce. Asked again for other velocities and factors, it goes on from the
    /// impulses that it found before.
    pub fn solve(&self, bodies: &[Touching], before: &[Six], factor: &[f64], dt: f64, slow: f64) -> Vec<Six> {
        let inverse: Vec<SixBySix> = bodies.iter().zip(factor).map(|(b, f)| b.inverse_mass / *f).collect();
        let rows = self.rows(bodies, &inverse);
        let aim = |(p, row): (&Point, &Row)| {
            let arriving = row.speed(0, before);
            // Nothing has to be done before the gap is closed; what overlaps is not thrown out.
            let free = -p.gap.max(0.0) / dt;
            if arriving < free && arriving < -slow { free.max(-p.restitution * arriving) } else { free }
        };
        let aims: Vec<f64> = self.points.iter().zip(&rows).map(aim).collect();
        // A poisoned lock still holds a guess.
        let mut last = self.last.lock().unwrap_or_else(|e| e.into_inner());
        last.resize(self.points.len(), [0.0; 3]);
        self.sweep(&rows, before, &aims, true, &mut last)
    }

    /// The motion that parts what overlaps.
    fn part(&self, bodies: &[Touching]) -> Vec<Six> {
        let inverse: Vec<SixBySix> = bodies.iter().map(|b| b.inverse_mass).collect();
        let aims: Vec<f64> = self.points.iter().map(|p| -p.gap).collect();
        let (rows, mut impulse) = (self.rows(bodies, &inverse), vec![[0.0; 3]; aims.len()]);
        self.sweep(&rows, &vec![Six::zeros(); bodies.len()], &aims, false, &mut impulse)
    }

    fn rows(&self, bodies: &[Touching], inverse: &[SixBySix]) -> Vec<Row> {
        self.points.iter().map(|p| Row::new(p, bodies, inverse)).collect()
    }

    fn deepest(&self) -> f64 {
        self.points.iter().fold(0.0, |m, p| m.max(-p.gap))
    }

    /// Velocities after impulses that leave no point slower than its aim. `impulse` has those to begin with, along the
    /// normal and two tangents, and those that were found.
    fn sweep(
        &self,
        rows: &[Row],
        before: &[Six],
        aims: &[f64],
        rubs: bool,
        impulse: &mut [[f64; 3]],
    ) -> Vec<Six> {
        let wrong = |(row, aim): (&Row, &f64)| (aim - row.speed(0, before)).max(0.0);
        let settled = SETTLED * rows.iter().zip(aims).map(wrong).fold(1e-12, f64::max);
        // Bodies that touch, one by way of another, are found together; each crowd ends when it has settled.
        let crowds = crowds(rows, before.len());
        let solve = |crowd: &Vec<usize>| {
            let rows: Vec<&Row> = crowd.iter().map(|k| &rows[*k]).collect();
            let friction: Vec<f64> =
                crowd.iter().map(|k| if rubs { self.points[*k].friction } else { 0.0 }).collect();
            let aims: Vec<f64> = crowd.iter().map(|k| aims[*k]).collect();
            let impulse: Vec<[f64; 3]> = crowd.iter().map(|k| impulse[*k]).collect();
            sweep_crowd(&rows, before, &aims, &friction, settled, impulse)
        };
        let solved: Vec<(Vec<Six>, Vec<[f64; 3]>)> = crowds.par_iter().map(solve).collect();
        let mut v = before.to_vec();
        for (crowd, (after, found)) in crowds.iter().zip(solved) {
            for (k, found) in crowd.iter().zip(found) {
                impulse[*k] = found;
                for b in [Some(rows[*k].body), rows[*k].other].into_iter().flatten() {
                    v[b] = after[b];
                }
            }
        }
        v
    }

    /// Half the deepest overlap that is left alone: a thousandth of a cell.
    fn tolerance(&self) -> f64 {
        1e-3 * self.cell
    }
}

/// Velocities and impulses of bodies that touch each other.
fn sweep_crowd(
    rows: &[&Row],
    before: &[Six],
    aims: &[f64],
    friction: &[f64],
    settled: f64,
    mut impulse: Vec<[f64; 3]>,
) -> (Vec<Six>, Vec<[f64; 3]>) {
    let mut v = before.to_vec();
    for (row, impulse) in rows.iter().zip(&*impulse).filter(|(_, i)| **i != [0.0; 3]) {
        (0..3).for_each(|a| row.push(a, impulse[a], &mut v));
    }
    let (mut direction, mut before_size) = (vec![[0.0; 3]; rows.len()], 0.0);
    let mut gone = vec![[0.0; 3]; rows.len()];
    for round in 1.. {
        // The greatest change of a velocity, and the sum of the squares of all, by the energy that they take.
        let (mut change, mut size) = (0.0f64, 0.0);
        for (k, row) in rows.iter().enumerate() {
            let was = impulse[k];
            let wanted = |a: usize, aim: f64, v: &[Six]| match row.answer[a] {
                answer if answer > 0.0 => was[a] + (aim - row.speed(a, v)) / answer,
                _ => 0.0,
            };
            let mut next = [wanted(0, aims[k], &v).max(0.0), 0.0, 0.0];
            if next[0] != was[0] {
                row.push(0, next[0] - was[0], &mut v);
            }
            // What does not press does not rub.
            if friction[k] > 0.0 && (next[0] > 0.0 || was[1] != 0.0 || was[2] != 0.0) {
                let (a, b) = (wanted(1, 0.0, &v), wanted(2, 0.0, &v));
                // Friction is a disk, whatever the two directions are.
                let rub = (a * a + b * b).sqrt().max(f64::MIN_POSITIVE);
                let share = (friction[k] * next[0] / rub).min(1.0);
                (next[1], next[2]) = (a * share, b * share);
                (1..3).for_each(|a| row.push(a, next[a] - was[a], &mut v));
            }
            gone[k] = std::array::from_fn(|a| next[a] - was[a]);
            for (by, answer) in gone[k].iter().zip(row.answer) {
                change = change.max((by * answer).abs());
                size += by * by * answer;
            }
            impulse[k] = next;
        }
        if change <= settled || round == SWEEPS {
            break;
        }
        let share = if before_size > size { size / before_size } else { 0.0 };
        before_size = size;
        for (k, row) in rows.iter().enumerate() {
            let on = direction[k].map(|d| d * share);
            direction[k] = std::array::from_fn(|a| on[a] + gone[k][a]);
            if on != [0.0; 3] {
                impulse[k] = std::array::from_fn(|a| impulse[k][a] + on[a]);
                (0..3).for_each(|a| row.push(a, on[a], &mut v));
            }
        }
    }
    (v, impulse)
}

/// The rows of each set of bodies that touch, one by way of another, in the order of the rows.
fn crowds(rows: &[Row], bodies: usize) -> Vec<Vec<usize>> {
    let mut sets = Sets::new(bodies);
    for row in rows {
        if let Some(other) = row.other {
            sets.join(row.body as u32, other as u32);
        }
    }
    let mut crowds = vec![Vec::new(); bodies];
    for (k, row) in rows.iter().enumerate() {
        crowds[sets.root(row.body as u32) as usize].push(k);
    }
    crowds.retain(|c| !c.is_empty());
    crowds
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
        let contacts = Contacts::find(&bodies, walls, 0.5 * cell, &vec![0.0; count], cell);
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
    let near =
        body.points.within(reach, |local, reach| walls.scripted_distance(&body.pose.to_world(local), reach));
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
    spread(body, near).into_iter().map(point).collect()
}

/// Points of body b near body o.
fn body_points(b: usize, o: usize, bodies: &[Touching], reach: f64, cell: f64) -> Vec<Point> {
    let (body, other) = (&bodies[b], &bodies[o]);
    if (body.centre - other.centre).norm() > body.radius + other.radius + reach {
        return Vec::new();
    }
    let own = other.shape.bounds();
    let bounds = Aabb::new(own.lo * other.scale, own.hi * other.scale);
    let near = body.points.within(reach, |local, reach| {
        let there = other.pose.to_local(&body.pose.to_world(local));
        if bounds.distance_squared(&there) > reach * reach {
            return f64::INFINITY;
        }
        other.shape.distance(&(there / other.scale)) * other.scale
    });
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
    spread(body, near).into_iter().map(point).collect()
}

/// The deepest point, then again and again the one furthest from those chosen; near ones before deep ones never.
fn spread(body: &Touching, mut points: Vec<(Vec3, f64)>) -> Vec<(Vec3, f64)> {
    points.iter_mut().for_each(|(x, _)| *x = body.pose.to_world(x));
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
