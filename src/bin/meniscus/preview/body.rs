//! A triangle mesh made ready for rays: tree, smooth normals, and the speed of its vertices.
//!
//! A normal at a corner is the sum of the normals of the triangles round its vertex, weighted by
//! area, that turn less than the crease angle from its own triangle. Slivers count little.

use super::image::Rgb;
use meniscus::geometry::{Bvh, TriMesh};
use meniscus::math::elementary::cos;
use meniscus::math::{Aabb, Mat3, Pose, Vec3};
use meniscus::{Error, Result};
use std::collections::HashMap;

/// Where a ray meets a body.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    pub t: f64,
    /// Unit normal of the triangle, and the smooth one; both leave the body.
    pub face: Vec3,
    pub normal: Vec3,
    triangle: usize,
    weights: [f64; 3],
}

pub struct Body {
    bvh: Bvh,
    bounds: Aabb,
    triangles: Vec<[u32; 3]>,
    faces: Vec<Vec3>,
    normals: Vec<[Vec3; 3]>,
    speeds: Option<Vec<f64>>,
    colours: Option<Vec<f32>>,
    outline: Vec<Vec3>,
}

/// Vertices of an outline, at most.
const OUTLINE: usize = 4000;

impl Body {
    /// Check the mesh and prepare it; `crease_degrees` of 180 smooths everything.
    pub fn new(name: &str, mesh: &TriMesh, crease_degrees: f64) -> Result<Self> {
        check(name, mesh)?;
        let areas: Vec<Vec3> = (0..mesh.triangles.len()).map(|t| area(mesh, t)).collect();
        let normals = corner_normals(mesh, &areas, cos(crease_degrees.to_radians()));
        let faces = areas.iter().map(|a| unit_or_up(*a)).collect();
        Ok(Self {
            bvh: Bvh::new(mesh),
            bounds: mesh.bounds(),
            triangles: mesh.triangles.clone(),
            faces,
            normals,
            speeds: speeds(mesh),
            colours: colours(mesh).map(<[f32]>::to_vec),
            outline: mesh.positions.iter().step_by(mesh.positions.len().div_ceil(OUTLINE)).copied().collect(),
        })
    }

    /// Some hundred to some thousand of its vertices, to frame it by.
    pub fn outline(&self) -> &[Vec3] {
        &self.outline
    }

    /// Speed at a point of the surface, m/s; 0 if the mesh has no velocities.
    pub fn speed(&self, contact: &Contact) -> f64 {
        let Some(speeds) = &self.speeds else { return 0.0 };
        let corners = self.triangles[contact.triangle];
        (0..3).map(|i| speeds[corners[i] as usize] * contact.weights[i]).sum()
    }

    /// Colour at a point of the surface; that of clay if the mesh has none.
    pub fn colour(&self, contact: &Contact) -> Rgb {
        let Some(colours) = &self.colours else { return CLAY };
        let corners = self.triangles[contact.triangle].map(|v| 3 * v as usize);
        let channel =
            |c: usize| (0..3).map(|i| f64::from(colours[corners[i] + c]) * contact.weights[i]).sum::<f64>();
        Rgb::new(channel(0), channel(1), channel(2))
            .map(|c| if c.is_finite() { c.clamp(0.0, 1.0) } else { 0.0 })
    }

    fn hit(&self, origin: &Vec3, direction: &Vec3, t_min: f64, t_max: f64) -> Option<Contact> {
        let hit = self.bvh.ray(origin, direction, t_min, t_max)?;
        let (triangle, weights) = (hit.triangle as usize, hit.barycentric);
        let n = self.normals[triangle];
        let normal = unit_or_up(n[0] * weights[0] + n[1] * weights[1] + n[2] * weights[2]);
        Some(Contact { t: hit.t, face: self.faces[triangle], normal, triangle, weights })
    }
}

/// A body placed in the world.
pub struct Placed<'a> {
    pub body: &'a Body,
    pub bounds: Aabb,
    rotation: Option<Mat3>,
    translation: Vec3,
    scale: f64,
}

impl<'a> Placed<'a> {
    pub fn new(body: &'a Body, pose: &Pose, scale: f64) -> Self {
        let corners = body.bounds.corners().map(|c| pose.to_world(&(c * scale)));
        let moved = *pose != Pose::identity() || scale != 1.0;
        Self {
            body,
            bounds: Aabb::of_points(&corners),
            rotation: moved.then(|| pose.rotation.to_rotation_matrix().into_inner()),
            translation: pose.translation,
            scale,
        }
    }

    /// The first contact with t_min ≤ t ≤ t_max.
    pub fn hit(&self, origin: &Vec3, direction: &Vec3, t_min: f64, t_max: f64) -> Option<Contact> {
        if !meets(&self.bounds, origin, direction, t_max) {
            return None;
        }
        let Some(r) = &self.rotation else { return self.body.hit(origin, direction, t_min, t_max) };
        // Origin and direction shrink alike, so t keeps its meaning.
        let local = |v: &Vec3| r.tr_mul(v) / self.scale;
        let contact = self.body.hit(&local(&(origin - self.translation)), &local(direction), t_min, t_max)?;
        Some(Contact { face: r * contact.face, normal: r * contact.normal, ..contact })
    }
}

/// Whether the ray passes the box before t_max, with a little slack.
fn meets(bounds: &Aabb, origin: &Vec3, direction: &Vec3, t_max: f64) -> bool {
    let (mut enter, mut leave) = (0f64, t_max);
    for a in 0..3 {
        let slack = 1e-9 * (bounds.hi[a] - bounds.lo[a]) + 1e-12;
        if direction[a].abs() < 1e-300 {
            if origin[a] < bounds.lo[a] - slack || origin[a] > bounds.hi[a] + slack {
                return false;
            }
            continue;
        }
        let inverse = 1.0 / direction[a];
        let (p, q) =
            ((bounds.lo[a] - slack - origin[a]) * inverse, (bounds.hi[a] + slack - origin[a]) * inverse);
        enter = enter.max(p.min(q));
        leave = leave.min(p.max(q));
    }
    enter <= leave
}

fn check(name: &str, mesh: &TriMesh) -> Result<()> {
    if mesh.is_empty() {
        return Err(Error::geometry(name, "has no triangles to draw"));
    }
    if let Some(v) = mesh.positions.iter().position(|p| p.iter().any(|c| !c.is_finite())) {
        return Err(Error::geometry(name, format!("vertex {v} is not finite: {:?}", mesh.positions[v])));
    }
    let count = mesh.positions.len();
    if let Some(t) = mesh.triangles.iter().position(|t| t.iter().any(|v| *v as usize >= count)) {
        return Err(Error::geometry(
            name,
            format!("triangle {t} uses a vertex beyond the {count} there are"),
        ));
    }
    Ok(())
}

fn area(mesh: &TriMesh, t: usize) -> Vec3 {
    let [a, b, c] = mesh.corners(t);
    (b - a).cross(&(c - a))
}

fn unit_or_up(v: Vec3) -> Vec3 {
    let length = v.norm();
    if length > 0.0 { v / length } else { Vec3::y() }
}

fn corner_normals(mesh: &TriMesh, areas: &[Vec3], least_cosine: f64) -> Vec<[Vec3; 3]> {
    let joined = join_places(mesh);
    if least_cosine <= -1.0 {
        let mut sums = vec![Vec3::zeros(); mesh.positions.len()];
        for (corners, area) in joined.iter().zip(areas) {
            corners.iter().for_each(|v| sums[*v as usize] += area);
        }
        return joined.iter().map(|t| t.map(|v| unit_or_up(sums[v as usize]))).collect();
    }
    let (start, around) = triangles_of_vertices(&joined, mesh.positions.len());
    let normal = |t: usize, v: u32| {
        let own = unit_or_up(areas[t]);
        let near = &around[start[v as usize]..start[v as usize + 1]];
        let alike =
            near.iter().map(|o| areas[*o as usize]).filter(|a| a.dot(&own) >= least_cosine * a.norm());
        unit_or_up(alike.sum())
    };
    joined.iter().enumerate().map(|(t, corners)| corners.map(|v| normal(t, v))).collect()
}

/// The triangles with one vertex for each place: files may repeat a vertex in every triangle.
fn join_places(mesh: &TriMesh) -> Vec<[u32; 3]> {
    let mut first = HashMap::with_capacity(mesh.positions.len());
    // Adding zero turns −0 into 0.
    let place = |p: &Vec3| [p.x, p.y, p.z].map(|c| (c + 0.0).to_bits());
    let each = mesh.positions.iter().enumerate();
    let joined: Vec<u32> = each.map(|(v, p)| *first.entry(place(p)).or_insert(v as u32)).collect();
    mesh.triangles.iter().map(|t| t.map(|v| joined[v as usize])).collect()
}

/// The triangles round every vertex: those of v are around[start[v]..start[v + 1]].
fn triangles_of_vertices(triangles: &[[u32; 3]], vertices: usize) -> (Vec<usize>, Vec<u32>) {
    let mut start = vec![0; vertices + 1];
    triangles.iter().flatten().for_each(|v| start[*v as usize + 1] += 1);
    for v in 1..start.len() {
        start[v] += start[v - 1];
    }
    let mut next = start.clone();
    let mut around = vec![0; 3 * triangles.len()];
    for (t, corners) in triangles.iter().enumerate() {
        for v in corners {
            around[next[*v as usize]] = t as u32;
            next[*v as usize] += 1;
        }
    }
    (start, around)
}

/// Vertex speeds from the attribute `velocity`; what is not finite counts as rest.
pub fn speeds(mesh: &TriMesh) -> Option<Vec<f64>> {
    let velocity = mesh.attribute("velocity").filter(|a| a.width == 3)?;
    if velocity.data.len() != 3 * mesh.positions.len() {
        return None;
    }
    let speed = |v: &[f32]| Vec3::new(v[0].into(), v[1].into(), v[2].into()).norm();
    let finite = |s: f64| if s.is_finite() { s } else { 0.0 };
    Some(velocity.data.chunks_exact(3).map(|v| finite(speed(v))).collect())
}

/// Linear colours at the vertices, three numbers each, from the attribute `Cd` or `color`.
pub fn colours(mesh: &TriMesh) -> Option<&[f32]> {
    let carried = mesh.attribute("Cd").or(mesh.attribute("color"))?;
    (carried.width == 3 && carried.data.len() == 3 * mesh.positions.len()).then_some(&carried.data)
}

/// The matte colour of a collider.
pub const CLAY: Rgb = Rgb::new(0.44, 0.415, 0.39);

#[cfg(test)]
mod tests {
    use super::super::tests::shapes;
    use super::*;

    #[test]
    fn a_cube_keeps_its_edges_and_a_ball_loses_them() {
        let cube = Body::new("cube", &shapes::cuboid(&Vec3::repeat(-1.0), &Vec3::repeat(1.0)), 40.0).unwrap();
        for (face, corners) in cube.faces.iter().zip(&cube.normals) {
            assert!(corners.iter().all(|n| (n - face).norm() < 1e-12));
        }
        let mesh = shapes::sphere(&Vec3::zeros(), 1.0, 64);
        let ball = Body::new("ball", &mesh, 180.0).unwrap();
        for (t, normals) in ball.normals.iter().enumerate() {
            for (p, n) in mesh.corners(t).iter().zip(normals) {
                // The mesh has 64 segments round the equator.
                assert!((p - n).norm() < 0.05, "{p} {n}");
            }
        }
    }

    #[test]
    fn a_mesh_that_cannot_be_drawn_is_named() {
        let mut mesh = shapes::sphere(&Vec3::zeros(), 1.0, 8);
        mesh.positions[3].y = f64::NAN;
        let message = |m: &TriMesh| Body::new("jug", m, 40.0).err().unwrap().to_string();
        assert!(message(&mesh).contains("jug: vertex 3 is not finite"));
        assert!(message(&TriMesh::default()).contains("jug: has no triangles"));
        let lost = TriMesh::new(vec![Vec3::zeros(); 3], vec![[0, 1, 9]]);
        assert!(message(&lost).contains("triangle 0"));
    }

    #[test]
    fn a_moved_body_is_hit_where_it_stands() {
        let body = Body::new("ball", &shapes::sphere(&Vec3::zeros(), 1.0, 128), 180.0).unwrap();
        let turn = Pose::from_euler_xyz(&Vec3::new(0.3, 0.4, 0.5));
        let pose = Pose { rotation: turn, translation: Vec3::new(5.0, 0.0, 0.0) };
        let placed = Placed::new(&body, &pose, 1.0);
        let hit = placed.hit(&Vec3::new(5.0, 0.0, 9.0), &-Vec3::z(), 0.0, f64::INFINITY).unwrap();
        // A chord of 1/128 of the circle lies 1 − cos(π/128) = 3e-4 below it.
        assert!((hit.t - 8.0).abs() < 6e-4, "{}", hit.t);
        assert!((hit.normal - Vec3::z()).norm() < 0.02);
        let grown = Placed::new(&body, &pose, 3.0);
        let hit = grown.hit(&Vec3::new(5.0, 0.0, 9.0), &-Vec3::z(), 0.0, f64::INFINITY).unwrap();
        assert!((hit.t - 6.0).abs() < 3.0 * 6e-4, "{}", hit.t);
    }
}
