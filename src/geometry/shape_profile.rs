//! Solids of revolution: a profile of lines and arcs in the half plane (r, y), turned about the y axis.
//!
//! The profile runs counter-clockwise, the solid on its left, either from the axis to the axis or
//! round once. The nearest point of the solid to any point lies in the same half plane, so the
//! distance in (r, y) is the exact distance in space. The sign comes from the normal at the nearest
//! point, and at a corner from the sum of the normals of the two pieces that meet there.
//!
//! ```text
//!   y |   _          outward normal of a piece with unit tangent (t_r, t_y): (t_y, −t_r)
//!     |  | |         volume = π ∮ r² dy, in closed form on lines and arcs
//!     |  | |
//!     +--+ |         a cup: from the axis along the underside, up the wall, round the rim,
//!     +----+ → r     down the inside and back to the axis
//! ```

use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::math::elementary::{acos, atan2, sin_cos, tan};
use crate::math::{Aabb, Vec3};
use nalgebra::Vector2;
use std::f64::consts::{PI, TAU};

type Vec2 = Vector2<f64>;

/// Triangles that a picture mesh may have before it is called a mistake.
const MOST_TRIANGLES: usize = 20_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Curve {
    Line,
    /// Angles in radians; counter-clockwise if `to` exceeds `from`. `middle` is the direction of the
    /// middle of the arc and `reach` the cosine of half its span.
    Arc {
        centre: Vec2,
        radius: f64,
        from: f64,
        to: f64,
        middle: Vec2,
        reach: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    start: Vec2,
    end: Vec2,
    curve: Curve,
    /// Normals of the corners at which the piece starts and ends.
    corners: [Vec2; 2],
}

/// The nearest point of a profile.
struct Nearest {
    point: Vec2,
    normal: Vec2,
    squared: f64,
}

/// A closed profile ready to be asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    pieces: Vec<Piece>,
}

/// A profile under construction.
#[derive(Default)]
pub(super) struct Path {
    pieces: Vec<Piece>,
}

fn direction(angle: f64) -> Vec2 {
    let (s, c) = sin_cos(angle);
    Vec2::new(c, s)
}

impl Path {
    pub fn line(&mut self, start: Vec2, end: Vec2) -> &mut Self {
        // Where two roundings touch, round-off leaves a line of no length and no direction.
        if (end - start).norm_squared() > 1e-24 * (start.norm_squared() + end.norm_squared()) {
            self.pieces.push(Piece { start, end, curve: Curve::Line, corners: [Vec2::zeros(); 2] });
        }
        self
    }

    pub fn arc(&mut self, centre: Vec2, radius: f64, from: f64, to: f64) -> &mut Self {
        if radius > 0.0 && from != to {
            let middle = direction(0.5 * (from + to));
            let reach = sin_cos(0.5 * (to - from).abs()).1;
            self.pieces.push(Piece {
                start: centre + direction(from) * radius,
                end: centre + direction(to) * radius,
                curve: Curve::Arc { centre, radius, from, to, middle, reach },
                corners: [Vec2::zeros(); 2],
            });
        }
        self
    }

    /// Lines through the points, each inner corner replaced by an arc of the radius given with it.
    pub fn rounded(&mut self, points: &[(f64, f64, f64)], object: &str) -> Result<&mut Self> {
        let at = |i: usize| Vec2::new(points[i].0, points[i].1);
        let mut start = at(0);
        for i in 1..points.len() - 1 {
            let (corner, radius) = (at(i), points[i].2);
            let (u, v) = ((corner - at(i - 1)).normalize(), (at(i + 1) - corner).normalize());
            let turn = atan2(u.perp(&v), u.dot(&v));
            let cut = radius * tan(0.5 * turn.abs());
            let next_cut = if i + 2 < points.len() { 0.0 } else { cut };
            if cut > (corner - start).norm() * (1.0 + 1e-12) || next_cut > (at(i + 1) - corner).norm() {
                let message = format!("a rounding of {radius} m does not fit; make it smaller");
                return Err(Error::geometry(object, message));
            }
            let left = Vec2::new(-u.y, u.x) * turn.signum();
            let centre = corner - u * cut + left * radius;
            self.line(start, corner - u * cut);
            let from = atan2(-left.y, -left.x);
            self.arc(centre, radius, from, from + turn);
            start = corner + v * cut;
        }
        self.line(start, at(points.len() - 1));
        Ok(self)
    }

    /// Find the normals at the corners, now that all pieces are there.
    pub fn close(&mut self) -> Profile {
        let mut pieces = std::mem::take(&mut self.pieces);
        let n = pieces.len();
        let round = n > 0 && (pieces[0].start - pieces[n - 1].end).norm() < 1e-9 * pieces[0].start.norm();
        // On the axis the other half of the section mirrors the profile.
        let mirror = |normal: Vec2| Vec2::new(0.0, if normal.y < 0.0 { -1.0 } else { 1.0 });
        let normals: Vec<[Vec2; 2]> = pieces.iter().map(|p| [p.normal_at(0.0), p.normal_at(1.0)]).collect();
        for i in 0..n {
            let before = (i > 0 || round).then(|| normals[(i + n - 1) % n][1]);
            let after = (i + 1 < n || round).then(|| normals[(i + 1) % n][0]);
            let [first, last] = normals[i];
            pieces[i].corners =
                [before.map_or(mirror(first), |b| b + first), after.map_or(mirror(last), |a| a + last)];
        }
        Profile { pieces }
    }
}

impl Piece {
    /// Outward normal at parameter t from 0 to 1.
    fn normal_at(&self, t: f64) -> Vec2 {
        match self.curve {
            Curve::Line => {
                let u = (self.end - self.start).normalize();
                Vec2::new(u.y, -u.x)
            }
            Curve::Arc { from, to, .. } => direction(from + (to - from) * t) * (to - from).signum(),
        }
    }

    fn point_at(&self, t: f64) -> Vec2 {
        match self.curve {
            Curve::Line => self.start + (self.end - self.start) * t,
            _ if t == 0.0 => self.start,
            _ if t == 1.0 => self.end,
            Curve::Arc { centre, radius, from, to, .. } => {
                centre + direction(from + (to - from) * t) * radius
            }
        }
    }

    fn length(&self) -> f64 {
        match self.curve {
            Curve::Line => (self.end - self.start).norm(),
            Curve::Arc { radius, from, to, .. } => radius * (to - from).abs(),
        }
    }

    fn end_point(&self, at_end: bool, x: &Vec2) -> Nearest {
        let point = if at_end { self.end } else { self.start };
        Nearest { point, normal: self.corners[at_end as usize], squared: (x - point).norm_squared() }
    }

    fn nearest(&self, x: &Vec2) -> Nearest {
        match self.curve {
            Curve::Line => {
                let edge = self.end - self.start;
                let t = (x - self.start).dot(&edge) / edge.norm_squared();
                if t <= 0.0 || t >= 1.0 {
                    return self.end_point(t >= 1.0, x);
                }
                let point = self.start + edge * t;
                Nearest { point, normal: Vec2::new(edge.y, -edge.x), squared: (x - point).norm_squared() }
            }
            Curve::Arc { centre, radius, from, to, middle, reach } => {
                let d = x - centre;
                let length = d.norm();
                let along = if length > 0.0 { d / length } else { middle };
                if along.dot(&middle) < reach {
                    let at_end = (x - self.end).norm_squared() < (x - self.start).norm_squared();
                    return self.end_point(at_end, x);
                }
                let normal = along * (to - from).signum();
                Nearest {
                    point: centre + along * radius,
                    normal,
                    squared: (length - radius) * (length - radius),
                }
            }
        }
    }

    /// Its share of ∮ r² dy.
    fn moment(&self) -> f64 {
        match self.curve {
            Curve::Line => {
                let (a, b) = (self.start.x, self.end.x);
                (self.end.y - self.start.y) * (a * a + a * b + b * b) / 3.0
            }
            Curve::Arc { centre, radius, from, to, .. } => {
                // r = c + R cos θ, dy = R cos θ dθ.
                let primitive = |angle: f64| {
                    let (s, c) = sin_cos(angle);
                    centre.x * centre.x * s
                        + centre.x * radius * (angle + s * c)
                        + radius * radius * (s - s * s * s / 3.0)
                };
                radius * (primitive(to) - primitive(from))
            }
        }
    }

    /// Largest r, and least and largest y.
    fn extent(&self) -> (f64, f64, f64) {
        let ends = [self.start, self.end];
        let mut reach = (ends[0].x.max(ends[1].x), ends[0].y.min(ends[1].y), ends[0].y.max(ends[1].y));
        if let Curve::Arc { centre, radius, middle, reach: cosine, .. } = self.curve {
            let holds = |d: Vec2| d.dot(&middle) >= cosine;
            if holds(Vec2::x()) {
                reach.0 = centre.x + radius;
            }
            if holds(-Vec2::y()) {
                reach.1 = centre.y - radius;
            }
            if holds(Vec2::y()) {
                reach.2 = centre.y + radius;
            }
        }
        reach
    }
}

impl Profile {
    fn nearest(&self, x: &Vec2) -> Nearest {
        let far = Nearest { point: Vec2::zeros(), normal: Vec2::y(), squared: f64::INFINITY };
        self.pieces.iter().fold(far, |best, piece| {
            let found = piece.nearest(x);
            if found.squared < best.squared { found } else { best }
        })
    }

    pub fn distance(&self, x: &Vec3) -> f64 {
        let flat = Vec2::new((x.x * x.x + x.z * x.z).sqrt(), x.y);
        let near = self.nearest(&flat);
        let distance = near.squared.sqrt();
        if (flat - near.point).dot(&near.normal) < 0.0 { -distance } else { distance }
    }

    /// Unit gradient of the distance; where it is not defined, one of its limits.
    pub fn gradient(&self, x: &Vec3) -> Vec3 {
        let radius = (x.x * x.x + x.z * x.z).sqrt();
        let flat = Vec2::new(radius, x.y);
        let near = self.nearest(&flat);
        let offset = flat - near.point;
        // On the surface itself the offset has no direction left, the normal has.
        let on_surface = near.squared <= 1e-24 * (near.point.norm_squared() + flat.norm_squared());
        let along =
            if on_surface { near.normal } else { offset * near.normal.dot(&offset).signum() }.normalize();
        let outward = if radius > 0.0 { Vec2::new(x.x, x.z) / radius } else { Vec2::x() };
        Vec3::new(outward.x * along.x, along.y, outward.y * along.x)
    }

    pub fn volume(&self) -> f64 {
        PI * self.pieces.iter().map(Piece::moment).sum::<f64>()
    }

    pub fn bounds(&self) -> Aabb {
        let empty = (0.0f64, f64::INFINITY, f64::NEG_INFINITY);
        let (r, lo, hi) = self.pieces.iter().fold(empty, |b, p| {
            let e = p.extent();
            (b.0.max(e.0), b.1.min(e.1), b.2.max(e.2))
        });
        Aabb::new(Vec3::new(-r, lo, -r), Vec3::new(r, hi, r))
    }

    /// Points along the profile no farther apart than `max_edge`; the last one closes a ring.
    fn samples(&self, max_edge: f64) -> Vec<Vec2> {
        let mut points = Vec::new();
        for piece in &self.pieces {
            // An arc is never coarser than an eighth of a half turn, or roundings would vanish.
            let least = match piece.curve {
                Curve::Line => 1.0,
                Curve::Arc { from, to, .. } => ((to - from).abs() / (PI / 8.0)).ceil(),
            };
            let n = (piece.length() / max_edge).ceil().clamp(least, MOST_TRIANGLES as f64) as usize;
            points.extend((0..n).map(|i| piece.point_at(i as f64 / n as f64)));
        }
        points.extend(self.pieces.last().map(|p| p.end));
        points
    }

    /// A closed mesh with its vertices on the surface.
    pub fn triangulate(&self, max_edge: f64) -> Result<TriMesh> {
        let turns = (TAU * self.bounds().hi.x / max_edge).ceil().max(12.0);
        let rows = self.pieces.iter().map(Piece::length).sum::<f64>() / max_edge;
        if !(max_edge > 0.0 && 2.0 * turns * rows < MOST_TRIANGLES as f64) {
            let message = format!("{max_edge} m gives more than {MOST_TRIANGLES} triangles; make it larger");
            return Err(Error::invalid("max_edge", message));
        }
        Ok(revolve(&self.samples(max_edge), turns as usize))
    }
}

/// Turn a row of points about the axis; points on the axis become one vertex.
fn revolve(profile: &[Vec2], turns: usize) -> TriMesh {
    let scale = profile.iter().fold(0.0f64, |m, p| m.max(p.norm()));
    let on_axis = |p: &Vec2| p.x <= 1e-12 * scale;
    let ring = profile.len() > 1 && !on_axis(&profile[0]);
    let rows = if ring { &profile[..profile.len() - 1] } else { profile };
    let mut mesh = TriMesh::default();
    let mut first = Vec::with_capacity(profile.len());
    for p in rows {
        first.push(mesh.positions.len() as u32);
        if on_axis(p) {
            mesh.positions.push(Vec3::new(0.0, p.y, 0.0));
            continue;
        }
        for j in 0..turns {
            let d = direction(j as f64 * TAU / turns as f64);
            mesh.positions.push(Vec3::new(d.x * p.x, p.y, d.y * p.x));
        }
    }
    if ring {
        first.push(0);
    }
    let vertex = |i: usize, j: usize| first[i] + if on_axis(&profile[i]) { 0 } else { (j % turns) as u32 };
    for i in 0..profile.len() - 1 {
        for j in 0..turns {
            let [a, b, c, d] = [vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)];
            if b != c {
                mesh.triangles.push([a, b, c]);
            }
            if a != d {
                mesh.triangles.push([a, c, d]);
            }
        }
    }
    mesh
}

/// Angle whose cosine is the quotient, with round-off beyond ±1 forgiven.
pub(super) fn angle_of_cosine(adjacent: f64, hypotenuse: f64) -> f64 {
    acos((adjacent / hypotenuse).clamp(-1.0, 1.0))
}
