//! Simple solids with exact distances: boxes, balls, cylinders, cups, bowls.
//!
//! Local coordinates, Y up. Distances are negative inside the material (the wall of a cup, not its
//! hollow) and exact everywhere, inside and out. Boxes, balls, capsules, cylinders and tori have
//! their middle at the origin; cups and bowls stand on the plane y = 0.
//! All but the box and the half space are turned profiles (see `shape_profile`).
//! Checked below against the nearest vertex of fine meshes and against volumes in closed form.

use super::shape_profile::{Path, Profile, angle_of_cosine};
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::math::elementary::sin_cos;
use crate::math::{Aabb, Vec3};
use nalgebra::Vector2;
use std::collections::HashMap;
use std::f64::consts::{FRAC_PI_2, PI};

/// An open vessel with a flat floor. With `radius_top` > `radius` it is a tumbler or a jug.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cup {
    /// Inner radius at the floor.
    pub radius: f64,
    /// Inner radius at the rim.
    pub radius_top: f64,
    /// From the underside to the rim.
    pub height: f64,
    /// Horizontal thickness of the wall.
    pub wall: f64,
    /// Thickness of the floor.
    pub floor: f64,
    /// Radius of the two edges of the rim: at most half the wall, a little less if the wall tapers.
    pub rim: f64,
}

/// A part of a spherical shell with a round rim, open upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bowl {
    /// Inner radius of the sphere.
    pub radius: f64,
    /// From the lowest point of the inside up to the centre of the round rim; `radius` is a hemisphere.
    pub depth: f64,
    pub thickness: f64,
    /// Radius of the flat foot, 0 for none.
    pub foot: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    Box { half: Vec3, rounding: f64 },
    HalfSpace,
    Turned(Profile),
}

/// A solid in its own coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    body: Body,
}

fn point(r: f64, y: f64) -> Vector2<f64> {
    Vector2::new(r, y)
}

/// Refuse sizes that are not positive finite numbers.
fn positive(object: &str, sizes: &[(&str, f64)]) -> Result<()> {
    for (name, size) in sizes {
        if !(*size > 0.0 && size.is_finite()) {
            return Err(Error::geometry(object, format!("{name} is {size}; it must be positive and finite")));
        }
    }
    Ok(())
}

fn refuse(object: &str, wrong: bool, message: &str) -> Result<()> {
    if wrong { Err(Error::geometry(object, message)) } else { Ok(()) }
}

impl Shape {
    /// A box with edges rounded by `rounding`, which does not change its extent.
    pub fn cuboid(half: Vec3, rounding: f64) -> Result<Self> {
        positive("box", &[("half width", half.x), ("half height", half.y), ("half depth", half.z)])?;
        let fits = rounding >= 0.0 && rounding <= half.min();
        refuse("box", !fits, "rounding must be at least 0 and at most the smallest half extent")?;
        Ok(Self { body: Body::Box { half, rounding } })
    }

    /// All points with y < 0.
    pub fn half_space() -> Self {
        Self { body: Body::HalfSpace }
    }

    pub fn sphere(radius: f64) -> Result<Self> {
        positive("sphere", &[("radius", radius)])?;
        Ok(Self::turned(Path::default().arc(point(0.0, 0.0), radius, -FRAC_PI_2, FRAC_PI_2)))
    }

    /// The points within `radius` of a vertical segment of length `height`.
    pub fn capsule(radius: f64, height: f64) -> Result<Self> {
        positive("capsule", &[("radius", radius), ("height", height)])?;
        let y = 0.5 * height;
        let mut path = Path::default();
        path.arc(point(0.0, -y), radius, -FRAC_PI_2, 0.0).line(point(radius, -y), point(radius, y)).arc(
            point(0.0, y),
            radius,
            0.0,
            FRAC_PI_2,
        );
        Ok(Self::turned(&mut path))
    }

    pub fn cylinder(radius: f64, height: f64, rounding: f64) -> Result<Self> {
        positive("cylinder", &[("radius", radius), ("height", height)])?;
        let fits = rounding >= 0.0 && rounding <= radius.min(0.5 * height);
        refuse("cylinder", !fits, "rounding must be at least 0 and at most the radius and half the height")?;
        let y = 0.5 * height;
        let points = [(0.0, -y, 0.0), (radius, -y, rounding), (radius, y, rounding), (0.0, y, 0.0)];
        Ok(Self::turned(Path::default().rounded(&points, "cylinder")?))
    }

    /// A ring in the plane y = 0: circle of radius `ring`, thickened by `tube`.
    pub fn torus(ring: f64, tube: f64) -> Result<Self> {
        positive("torus", &[("ring", ring), ("tube", tube)])?;
        refuse("torus", tube >= ring, "the tube must be thinner than the ring")?;
        Ok(Self::turned(Path::default().arc(point(ring, 0.0), tube, -PI, PI)))
    }

    pub fn cup(cup: &Cup) -> Result<Self> {
        let sizes = [
            ("radius", cup.radius),
            ("radius_top", cup.radius_top),
            ("height", cup.height),
            ("wall", cup.wall),
            ("floor", cup.floor),
        ];
        positive("cup", &sizes)?;
        refuse("cup", cup.floor >= cup.height, "the floor must be thinner than the cup is high")?;
        refuse("cup", !(cup.rim >= 0.0 && cup.rim <= 0.5 * cup.wall), "rim must be from 0 to half the wall")?;
        // The inner wall is the line from the floor to the rim; the outer one is parallel to it.
        let slope = (cup.radius_top - cup.radius) / (cup.height - cup.floor);
        let foot = cup.radius + cup.wall - slope * cup.floor;
        refuse("cup", foot <= 0.0, "the wall tapers too fast for the floor's thickness")?;
        let points = [
            (0.0, 0.0, 0.0),
            (foot, 0.0, 0.0),
            (cup.radius_top + cup.wall, cup.height, cup.rim),
            (cup.radius_top, cup.height, cup.rim),
            (cup.radius, cup.floor, 0.0),
            (0.0, cup.floor, 0.0),
        ];
        Ok(Self::turned(Path::default().rounded(&points, "cup")?))
    }

    pub fn bowl(bowl: &Bowl) -> Result<Self> {
        positive("bowl", &[("radius", bowl.radius), ("depth", bowl.depth), ("thickness", bowl.thickness)])?;
        let (inner, outer) = (bowl.radius, bowl.radius + bowl.thickness);
        let middle = 0.5 * (inner + outer);
        refuse("bowl", bowl.depth >= 1.9 * inner, "depth must be less than 1.9 times the radius")?;
        let foot_fits = bowl.foot >= 0.0 && bowl.foot * bowl.foot < outer * outer - inner * inner;
        refuse("bowl", !foot_fits, "the foot must be small enough to leave a floor under the inside")?;
        // Angles from the downward axis; the sphere's centre is above the foot.
        let foot = angle_of_cosine((outer * outer - bowl.foot * bowl.foot).sqrt(), outer);
        let rim = angle_of_cosine(inner - bowl.depth, middle);
        refuse("bowl", rim <= foot, "depth is too small for this foot")?;
        let centre = point(0.0, outer * sin_cos(foot).1);
        let (s, c) = sin_cos(rim);
        let at_rim = centre + point(s, -c) * middle;
        let mut path = Path::default();
        path.line(point(0.0, 0.0), point(outer * sin_cos(foot).0, 0.0))
            .arc(centre, outer, foot - FRAC_PI_2, rim - FRAC_PI_2)
            .arc(at_rim, 0.5 * bowl.thickness, rim - FRAC_PI_2, rim + FRAC_PI_2)
            .arc(centre, inner, rim - FRAC_PI_2, -FRAC_PI_2);
        Ok(Self::turned(&mut path))
    }

    fn turned(path: &mut Path) -> Self {
        Self { body: Body::Turned(path.close()) }
    }

    /// Signed distance, negative in the material.
    pub fn distance(&self, x: &Vec3) -> f64 {
        match &self.body {
            Body::Box { half, rounding } => {
                let q = x.abs() - half.add_scalar(-rounding);
                q.sup(&Vec3::zeros()).norm() + q.max().min(0.0) - rounding
            }
            Body::HalfSpace => x.y,
            Body::Turned(profile) => profile.distance(x),
        }
    }

    /// Unit gradient of the distance; where it is not defined, one of its limits.
    pub fn gradient(&self, x: &Vec3) -> Vec3 {
        match &self.body {
            Body::Box { half, rounding } => box_gradient(x, &half.add_scalar(-rounding)),
            Body::HalfSpace => Vec3::y(),
            Body::Turned(profile) => profile.gradient(x),
        }
    }

    /// The smallest box round the solid; unbounded for a half space.
    pub fn bounds(&self) -> Aabb {
        match &self.body {
            Body::Box { half, .. } => Aabb::new(-half, *half),
            Body::HalfSpace => {
                let far = Vec3::repeat(f64::INFINITY);
                Aabb::new(-far, Vec3::new(f64::INFINITY, 0.0, f64::INFINITY))
            }
            Body::Turned(profile) => profile.bounds(),
        }
    }

    /// Volume of the material.
    pub fn volume(&self) -> f64 {
        match &self.body {
            Body::Box { half, rounding: r } => {
                // Core, six slabs, twelve quarter cylinders, eight eighths of a ball.
                let q = half.add_scalar(-r) * 2.0;
                let (faces, edges) = (q.x * q.y + q.y * q.z + q.z * q.x, q.sum());
                q.product() + 2.0 * r * faces + PI * r * r * edges + 4.0 / 3.0 * PI * r * r * r
            }
            Body::HalfSpace => f64::INFINITY,
            Body::Turned(profile) => profile.volume(),
        }
    }

    /// A closed mesh with its vertices on the surface and edges of about `max_edge` or less.
    pub fn triangulate(&self, max_edge: f64) -> Result<TriMesh> {
        match &self.body {
            Body::Box { half, rounding } => box_mesh(half, *rounding, max_edge),
            Body::HalfSpace => {
                Err(Error::geometry("half space", "it has no closed surface; use a large box"))
            }
            Body::Turned(profile) => profile.triangulate(max_edge),
        }
    }
}

/// Gradient of the distance to the box of the given half extents (the core of a rounded box).
fn box_gradient(x: &Vec3, core: &Vec3) -> Vec3 {
    let q = x.abs() - core;
    let sign = x.map(|v| if v < 0.0 { -1.0 } else { 1.0 });
    let out = q.sup(&Vec3::zeros());
    if out.max() > 0.0 {
        return out.normalize().component_mul(&sign);
    }
    let axis = q.imax();
    Vec3::from_fn(|a, _| if a == axis { sign[a] } else { 0.0 })
}

/// Coordinates along one axis of a box: steps of the rounding, of the flat part, of the rounding.
fn box_axis(half: f64, rounding: f64, max_edge: f64) -> Vec<f64> {
    let core = half - rounding;
    let flat = (2.0 * core / max_edge).ceil().max(1.0) as usize;
    let round = if rounding > 0.0 { (FRAC_PI_2 * rounding / max_edge).ceil().max(3.0) as usize } else { 0 };
    let mut steps: Vec<f64> = (0..round).map(|i| -half + rounding * i as f64 / round as f64).collect();
    if core > 0.0 {
        steps.extend((0..flat).map(|i| -core + 2.0 * core * i as f64 / flat as f64));
    }
    steps
        .extend((0..=round).map(|i| core + if round > 0 { rounding * i as f64 / round as f64 } else { 0.0 }));
    steps
}

/// The lattice of a sharp box's surface, pulled onto the rounded one.
fn box_mesh(half: &Vec3, rounding: f64, max_edge: f64) -> Result<TriMesh> {
    let area = 8.0 * (half.x * half.y + half.y * half.z + half.z * half.x);
    if !(max_edge > 0.0 && area / (max_edge * max_edge) < 1e7) {
        return Err(Error::invalid("max_edge", format!("{max_edge} m gives more than 20 000 000 triangles")));
    }
    let axes: [Vec<f64>; 3] = std::array::from_fn(|a| box_axis(half[a], rounding, max_edge));
    let core = half.add_scalar(-rounding);
    let mut mesh = TriMesh::default();
    let mut seen: HashMap<[usize; 3], u32> = HashMap::new();
    let mut vertex = |at: [usize; 3], positions: &mut Vec<Vec3>| {
        *seen.entry(at).or_insert_with(|| {
            let sharp = Vec3::new(axes[0][at[0]], axes[1][at[1]], axes[2][at[2]]);
            let inner = sharp.sup(&-core).inf(&core);
            let out = sharp - inner;
            let on = if rounding > 0.0 { inner + out.normalize() * rounding } else { sharp };
            positions.push(on);
            positions.len() as u32 - 1
        })
    };
    for face in 0..6 {
        let (axis, high) = (face / 2, face % 2 == 1);
        // u × v points along +axis.
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for i in 0..axes[u].len() - 1 {
            for j in 0..axes[v].len() - 1 {
                let mut corner = |di: usize, dj: usize| {
                    let mut at = [0; 3];
                    at[axis] = if high { axes[axis].len() - 1 } else { 0 };
                    at[u] = i + di;
                    at[v] = j + dj;
                    vertex(at, &mut mesh.positions)
                };
                let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                let (b, d) = if high { (b, d) } else { (d, b) };
                mesh.triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
    }
    Ok(mesh)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(&'static str, Shape)> {
        let cup = Cup { radius: 0.5, radius_top: 0.5, height: 1.2, wall: 0.1, floor: 0.15, rim: 0.04 };
        let bowl = Bowl { radius: 0.8, depth: 0.6, thickness: 0.1, foot: 0.2 };
        vec![
            ("box", Shape::cuboid(Vec3::new(0.3, 0.5, 0.4), 0.0).unwrap()),
            ("rounded box", Shape::cuboid(Vec3::new(0.3, 0.5, 0.4), 0.1).unwrap()),
            ("sphere", Shape::sphere(0.7).unwrap()),
            ("capsule", Shape::capsule(0.3, 0.8).unwrap()),
            ("cylinder", Shape::cylinder(0.4, 0.9, 0.0).unwrap()),
            ("rounded cylinder", Shape::cylinder(0.4, 0.9, 0.1).unwrap()),
            ("torus", Shape::torus(0.6, 0.2).unwrap()),
            ("cup", Shape::cup(&cup).unwrap()),
            ("jug", Shape::cup(&Cup { radius_top: 0.75, rim: 0.0, ..cup }).unwrap()),
            ("round jug", Shape::cup(&Cup { radius_top: 0.4, rim: 0.045, ..cup }).unwrap()),
            ("cup with a round rim", Shape::cup(&Cup { rim: 0.05, ..cup }).unwrap()),
            ("bowl", Shape::bowl(&bowl).unwrap()),
            ("round bowl", Shape::bowl(&Bowl { depth: 1.2, foot: 0.0, ..bowl }).unwrap()),
        ]
    }

    fn points(bounds: &Aabb, n: usize) -> Vec<Vec3> {
        let box_ = bounds.grow(0.3);
        let at = |i: usize, k: f64| (i as f64 * k).fract();
        // Additive recurrence: evenly spread and never on symmetry planes.
        (1..=n)
            .map(|i| {
                box_.lo
                    + box_.size().component_mul(&Vec3::new(
                        at(i, 0.8191725134),
                        at(i, 0.6710436067),
                        at(i, 0.5497004779),
                    ))
            })
            .collect()
    }

    #[test]
    fn distances_agree_with_the_nearest_vertex_of_a_fine_mesh() {
        let edge = 0.02;
        for (name, shape) in all() {
            let mesh = shape.triangulate(edge).unwrap();
            for x in &mesh.positions {
                assert!(shape.distance(x).abs() < 1e-14, "{name} {x}");
            }
            for x in points(&shape.bounds(), 300) {
                let d = shape.distance(&x);
                let near = mesh
                    .positions
                    .iter()
                    .map(|p| (p - x).norm_squared())
                    .fold(f64::INFINITY, f64::min)
                    .sqrt();
                // The nearest surface point has a vertex within one edge; d itself is never more.
                assert!(d.abs() <= near + 1e-14, "{name} {x} {d} {near}");
                assert!(
                    near * near <= (d.abs() + 1e-14).powi(2) + 2.0 * edge * (d.abs() + edge),
                    "{name} {x} {d} {near}"
                );
            }
        }
    }

    #[test]
    fn the_sign_agrees_with_the_solid_angle_of_the_mesh() {
        for (name, shape) in all() {
            let mesh = shape.triangulate(0.05).unwrap();
            for x in points(&shape.bounds(), 300) {
                let d = shape.distance(&x);
                if d.abs() < 0.01 {
                    continue;
                }
                let angle: f64 = (0..mesh.triangles.len())
                    .map(|t| {
                        let [a, b, c] = mesh.corners(t).map(|p| p - x);
                        let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
                        let below = la * lb * lc + a.dot(&b) * lc + b.dot(&c) * la + c.dot(&a) * lb;
                        2.0 * a.dot(&b.cross(&c)).atan2(below)
                    })
                    .sum();
                assert_eq!((angle / (4.0 * PI)).round() as i32, (d < 0.0) as i32, "{name} {x} {d}");
            }
        }
    }

    #[test]
    fn gradients_are_the_slope_of_the_distance() {
        let step = 1e-6;
        for (name, shape) in all() {
            let (mut smooth, mut total) = (0, 0);
            for x in points(&shape.bounds(), 300) {
                let g = shape.gradient(&x);
                assert!((g.norm() - 1.0).abs() < 1e-12, "{name}");
                let slope = Vec3::from_fn(|a, _| {
                    let e = Vec3::ith(a, step);
                    (shape.distance(&(x + e)) - shape.distance(&(x - e))) / (2.0 * step)
                });
                total += 1;
                smooth += ((slope - g).norm() < 1e-5) as u32;
            }
            // Only points within a step of the medial axis may differ.
            assert!(smooth >= total - 2, "{name} {smooth} of {total}");
        }
    }

    #[test]
    fn meshes_are_closed_and_their_volume_tends_to_the_exact_one() {
        for (name, shape) in all() {
            let error = |edge: f64| {
                let mesh = shape.triangulate(edge).unwrap();
                let mut edges: Vec<[u32; 2]> =
                    mesh.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).collect();
                let mut back: Vec<[u32; 2]> = edges.iter().map(|&[a, b]| [b, a]).collect();
                edges.sort_unstable();
                back.sort_unstable();
                assert_eq!(edges, back, "{name}");
                assert!(edges.windows(2).all(|w| w[0] != w[1]), "{name}");
                assert!(mesh.bounds().size().sup(&shape.bounds().size()) == shape.bounds().size());
                (mesh.volume() - shape.volume()).abs() / shape.volume()
            };
            let (coarse, fine) = (error(0.016), error(0.008));
            // Second order; a sharp box is exact, up to n ε for a plain sum over n = 2e5 triangles.
            assert!(fine < 2e-3 && fine <= 0.35 * coarse + 4e-11, "{name}: {coarse} {fine}");
        }
    }

    #[test]
    fn known_volumes_come_out_in_closed_form() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-14 * b, "{a} {b}");
        near(Shape::sphere(0.7).unwrap().volume(), 4.0 / 3.0 * PI * 0.343);
        near(Shape::torus(0.6, 0.2).unwrap().volume(), 2.0 * PI * PI * 0.6 * 0.04);
        let cup = Cup { radius: 0.5, radius_top: 0.5, height: 1.0, wall: 0.1, floor: 0.2, rim: 0.0 };
        near(Shape::cup(&cup).unwrap().volume(), PI * (0.36 - 0.25 * 0.8));
        let hemisphere = Bowl { radius: 1.0, depth: 1.0, thickness: 0.2, foot: 0.0 };
        let rim = PI * PI * 1.1 * 0.01;
        near(Shape::bowl(&hemisphere).unwrap().volume(), 2.0 / 3.0 * PI * (1.728 - 1.0) + rim);
    }

    #[test]
    fn impossible_sizes_are_refused_by_name() {
        let cup = Cup { radius: 0.5, radius_top: 0.5, height: 1.0, wall: 0.1, floor: 0.2, rim: 0.0 };
        for wrong in [
            Cup { wall: -0.1, ..cup },
            Cup { rim: 0.2, ..cup },
            Cup { floor: 2.0, ..cup },
            Cup { radius: f64::NAN, ..cup },
        ] {
            assert!(matches!(Shape::cup(&wrong), Err(Error::Geometry { object, .. }) if object == "cup"));
        }
        assert!(Shape::sphere(0.0).is_err());
        assert!(Shape::torus(0.2, 0.3).is_err());
        assert!(Shape::sphere(1.0).unwrap().triangulate(1e-9).is_err());
        assert!(Shape::half_space().triangulate(1.0).is_err());
    }
}
