//! Meshes for the tests of the pictures: ball, box, ring, bowl and a pool with waves.

use meniscus::geometry::{Attribute, TriMesh};
use meniscus::math::Vec3;
use std::f64::consts::TAU;

/// A grid of quads over (i, j) in 0..=columns × 0..=rows, normals by the right hand from i to j.
fn sheet(columns: usize, rows: usize, place: impl Fn(f64, f64) -> Vec3) -> TriMesh {
    let mut mesh = TriMesh::default();
    for j in 0..=rows {
        for i in 0..=columns {
            mesh.positions.push(place(i as f64 / columns as f64, j as f64 / rows as f64));
        }
    }
    let at = |i: usize, j: usize| (j * (columns + 1) + i) as u32;
    for j in 0..rows {
        for i in 0..columns {
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    mesh
}

/// A curve of (radius, height) points turned round the y axis; the axis is on its left when it climbs.
pub fn turned(profile: &[[f64; 2]], segments: usize) -> TriMesh {
    let rows = profile.len() - 1;
    sheet(segments, rows, |u, v| {
        let [r, y] = profile[(v * rows as f64).round() as usize];
        // The seam and the poles are the same points to the last bit.
        let (r, angle) = (if r < 1e-12 { 0.0 } else { r }, if u == 1.0 { 0.0 } else { TAU * u });
        Vec3::new(r * angle.cos(), y, -r * angle.sin())
    })
}

pub fn sphere(centre: &Vec3, radius: f64, segments: usize) -> TriMesh {
    let rows = segments / 2;
    let profile: Vec<[f64; 2]> = (0..=rows)
        .map(|j| {
            let a = std::f64::consts::PI * j as f64 / rows as f64;
            [radius * a.sin(), -radius * a.cos()]
        })
        .collect();
    let mut mesh = turned(&profile, segments);
    mesh.positions.iter_mut().for_each(|p| *p += centre);
    mesh
}

pub fn torus(centre: &Vec3, ring: f64, tube: f64, segments: usize) -> TriMesh {
    let profile: Vec<[f64; 2]> = (0..=segments)
        .map(|j| {
            let a = TAU * j as f64 / segments as f64;
            [ring + tube * a.cos(), tube * a.sin()]
        })
        .collect();
    let mut mesh = turned(&profile, 2 * segments);
    mesh.positions.iter_mut().for_each(|p| *p += centre);
    mesh
}

pub fn cuboid(lo: &Vec3, hi: &Vec3) -> TriMesh {
    let corner = |c: usize| Vec3::from_fn(|a, _| if c >> a & 1 == 0 { lo[a] } else { hi[a] });
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    TriMesh::new((0..8).map(corner).collect(), triangles)
}

/// A round column of liquid that stands on y = 0, with a fine mesh.
pub fn column(radius: f64, height: f64, segments: usize) -> TriMesh {
    let corners = [[0.0, 0.0], [radius, 0.0], [radius, height], [0.0, height]];
    let side = |k: usize| {
        let (a, b) = (corners[k / segments], corners[k / segments + 1]);
        let t = (k % segments) as f64 / segments as f64;
        [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t]
    };
    let profile: Vec<[f64; 2]> = (0..3 * segments).map(side).chain([corners[3]]).collect();
    turned(&profile, 4 * segments)
}

/// A round bowl standing on y = 0 with walls of the given thickness.
pub fn bowl(radius: f64, wall: f64, segments: usize) -> TriMesh {
    let arc = |r: f64, from: f64, to: f64| {
        (0..=24).map(move |j| {
            let a = from + (to - from) * j as f64 / 24.0;
            [r * a.sin(), radius - r * a.cos()]
        })
    };
    let top = 1.45;
    let profile: Vec<[f64; 2]> = arc(radius, 0.0, top).chain(arc(radius - wall, top, 0.0)).collect();
    turned(&profile, segments)
}

/// A pool with a wavy top that fills a bowl of the given inner radius (its middle at height `radius`)
/// up to `level`. Velocities grow from the middle outwards.
pub fn pool_in_bowl(radius: f64, inner: f64, level: f64, segments: usize) -> TriMesh {
    let rim_angle = ((radius - level) / inner).acos();
    let rim = inner * rim_angle.sin();
    let rows = segments / 2;
    let under = sheet(segments, rows, |u, v| {
        let (a, turn) = (rim_angle * v, TAU * (u % 1.0));
        let wave = 0.006 * inner * (3.0 * turn).sin() * v.powi(8);
        Vec3::new(
            inner * a.sin() * turn.cos(),
            radius - inner * a.cos() + wave,
            -inner * a.sin() * turn.sin(),
        )
    });
    let mut mesh = sheet(segments, rows, |u, v| {
        let (r, turn) = (rim * (1.0 - v), TAU * (u % 1.0));
        let edge = 0.006 * inner * (3.0 * turn).sin() * (1.0 - v).powi(8);
        let ring = 0.05 * inner * (28.0 * r / inner).cos() * (-5.0 * r / inner).exp() * (v * 4.0).min(1.0);
        Vec3::new(r * turn.cos(), level + edge + ring, -r * turn.sin())
    });
    mesh.append(&under);
    let data = mesh.positions.iter().flat_map(|p| [p.x as f32 * 8.0, 0.0, p.z as f32 * 8.0]).collect();
    mesh.attributes = vec![Attribute { name: "velocity".to_string(), width: 3, data }];
    mesh
}
