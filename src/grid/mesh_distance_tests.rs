//! Distances to meshes against formulas, direct scans and damaged input.

use super::*;
use crate::geometry::closest_on_triangle;

fn distances(mesh: &TriMesh, cell: f64, band: f64, kind: Kind) -> MeshDistance {
    let params = DistanceParams { cell, band, kind, ..Default::default() };
    MeshDistance::new(mesh, "mesh", &params, &Cancel::new()).unwrap()
}

/// The largest error of the size of the distance at all nodes, in cells.
fn worst(mesh: &TriMesh, field: &MeshDistance) -> f64 {
    let tiles = field.tiles();
    let mut worst: f64 = 0.0;
    for place in 0..tiles.cells() {
        let x = tiles.corner(tiles.cell(place));
        let near = |t| (closest_on_triangle(&mesh.corners(t), &x).0 - x).norm();
        let true_distance = (0..mesh.triangles.len()).map(near).fold(field.band(), f64::min);
        worst = worst.max((field.field()[place].abs() - true_distance).abs() / tiles.h());
    }
    worst
}

/// Triangles with all kinds of angles: a spiked ball.
fn spiky() -> TriMesh {
    let mut mesh = TriMesh::icosphere(1.0, 1);
    mesh.positions.iter_mut().enumerate().for_each(|(i, p)| *p *= 1.0 + 0.2 * (i % 4) as f64);
    mesh
}

#[test]
fn distances_are_those_of_the_nearest_feature() {
    let mut open = spiky();
    open.triangles.truncate(50);
    let mut fan = TriMesh::cuboid(Vec3::zeros(), Vec3::new(1.0, 0.3, 0.7));
    // Non-manifold: a further face at an edge of the box, one without area, and one on its own.
    fan.positions.extend([Vec3::new(-0.4, -0.5, 0.2), Vec3::repeat(2.0), Vec3::new(2.0, 2.5, 2.0)]);
    fan.triangles.extend([[0, 1, 8], [0, 0, 7], [8, 9, 10], [4, 4, 4]]);
    for mesh in [spiky(), open, fan, TriMesh::icosphere(1.0, 2)] {
        let field = distances(&mesh, 0.09, 3.0, Kind::Auto);
        assert!(worst(&mesh, &field) < 1e-8, "{}", worst(&mesh, &field));
    }
}

#[test]
fn the_sign_is_that_of_the_winding_number() {
    let mut pierced = TriMesh::icosphere(1.0, 2);
    // A ball that cuts another, some faces gone, some turned, some twice.
    let mut other = TriMesh::icosphere(0.8, 2);
    other.positions.iter_mut().for_each(|p| *p += Vec3::new(0.7, 0.3, 0.0));
    pierced.append(&other);
    pierced.triangles.retain(|t| t[0] % 41 != 5);
    pierced.triangles.iter_mut().step_by(37).for_each(|t| t.swap(0, 1));
    let twice: Vec<[u32; 3]> = pierced.triangles.iter().step_by(29).copied().collect();
    pierced.triangles.extend(twice);
    let field = distances(&pierced, 0.06, 3.0, Kind::Solid);
    let (tiles, bvh) = (field.tiles(), field.bvh());
    let winding = Winding::new(bvh);
    for place in 0..tiles.cells() {
        let x = tiles.corner(tiles.cell(place));
        let number = winding.number(bvh, &x).abs();
        // The tree's number is good to 0.05; where it decides, the field agrees.
        if (number - 0.5).abs() > 0.05 {
            assert_eq!(field.field()[place] < 0.0, number > 0.5, "w = {number} at {x}");
        }
    }
}

#[test]
fn a_ball_is_negative_inside_and_knows_its_depth() {
    let ball = TriMesh::icosphere(1.0, 5);
    let field = distances(&ball, 0.05, 4.0, Kind::Auto);
    assert!(!field.is_thin());
    for r in [0.0, 0.3, 0.85, 0.97, 1.04, 1.15, 1.5, 40.0] {
        let x = Vec3::new(0.48, 0.6, 0.64) * r;
        // The faces sag by 4e-4; interpolation of a curved distance loses h²/8r.
        let expected = (r - 1.0).clamp(-0.2, 0.2);
        assert!((field.distance(&x) - expected).abs() < 1.5e-3, "{r}: {}", field.distance(&x));
        if (r - 1.0).abs() < 0.15 {
            assert!((field.gradient(&x) - x / r).norm() < 0.02);
        }
        assert!((field.exact_distance(&x) - (r - 1.0)).abs() < 1e-3);
    }
}

#[test]
fn an_open_box_is_thin_and_a_box_with_a_slit_is_not() {
    let cup = |lid: bool| {
        let mut mesh = TriMesh::cuboid(Vec3::zeros(), Vec3::repeat(1.0));
        mesh.triangles.retain(|t| lid || !t.iter().all(|v| mesh.positions[*v as usize].y == 1.0));
        mesh
    };
    let open = distances(&cup(false), 0.1, 3.0, Kind::Auto);
    assert!(open.is_thin() && open.field().iter().all(|d| *d >= 0.0));
    let (inside, outside) = (Vec3::new(0.5, 0.5, 0.5), Vec3::new(1.5, 0.5, 0.5));
    assert!(open.crosses(&inside, &outside));
    assert!(!open.crosses(&inside, &Vec3::new(0.5, 3.0, 0.5)));
    let closed = distances(&cup(true), 0.1, 3.0, Kind::Auto);
    assert!(!closed.is_thin() && closed.distance(&inside) < 0.0);
    let mut torn = TriMesh::icosphere(1.0, 4);
    torn.triangles.truncate(5117);
    assert!(!distances(&torn, 0.1, 3.0, Kind::Auto).is_thin());
    assert!(distances(&torn, 0.1, 3.0, Kind::Thin).is_thin());
}

#[test]
fn turned_faces_change_nothing() {
    // A flat sheet and a ball, as they are and with every second and third face turned round.
    let sheet = {
        let n = 12u32;
        let at = |i: u32, j: u32| Vec3::new(i as f64 / n as f64, 0.05, j as f64 / n as f64);
        let positions = (0..=n).flat_map(|j| (0..=n).map(move |i| at(i, j))).collect();
        let quads = (0..n).flat_map(|j| (0..n).map(move |i| j * (n + 1) + i));
        TriMesh::new(
            positions,
            quads.flat_map(|v| [[v, v + n + 1, v + 1], [v + 1, v + n + 1, v + n + 2]]).collect(),
        )
    };
    for (mesh, thin) in [(sheet, true), (TriMesh::icosphere(1.0, 4), false)] {
        let whole = distances(&mesh, 0.1, 3.0, Kind::Auto);
        assert_eq!(whole.is_thin(), thin);
        for every in [2, 3] {
            let mut turned = mesh.clone();
            turned.triangles.iter_mut().step_by(every).for_each(|t| t.swap(1, 2));
            let field = distances(&turned, 0.1, 3.0, Kind::Auto);
            assert_eq!(field.is_thin(), thin, "every {every}");
            let apart = |(a, b): (&f64, &f64)| (a - b).abs();
            let worst = field.field().iter().zip(whole.field()).map(apart).fold(0.0, f64::max);
            // Both are exact; a turned triangle rounds differently.
            assert!(worst < 1e-12, "every {every}: {worst}");
        }
    }
}

#[test]
fn absurd_sizes_are_errors() {
    let ball = TriMesh::icosphere(1.0, 2);
    let make = |cell: f64, band: f64, memory_mb: u64| {
        let params = DistanceParams { cell, band, memory_mb, ..Default::default() };
        MeshDistance::new(&ball, "ball", &params, &Cancel::new()).map(|_| ()).unwrap_err().code()
    };
    assert_eq!(make(0.0, 3.0, 10), -1);
    assert_eq!(make(f64::NAN, 3.0, 10), -1);
    assert_eq!(make(0.1, f64::NAN, 10), -1);
    assert_eq!(make(1e-12, 3.0, 10), -3);
    assert_eq!(make(1e-4, 3.0, 10), -6);
    let mut bad = ball.clone();
    bad.positions[3].x = f64::NAN;
    let error = MeshDistance::new(&bad, "ball", &DistanceParams::default(), &Cancel::new()).map(|_| ());
    assert!(error.unwrap_err().to_string().contains("ball: vertex 3"));
}

#[test]
fn one_thread_and_four_agree_bitwise() {
    let mesh = spiky();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| distances(&mesh, 0.07, 3.0, Kind::Auto).field)
    };
    let bits = |f: Vec<f64>| f.into_iter().map(f64::to_bits).collect::<Vec<u64>>();
    assert_eq!(bits(run(1)), bits(run(4)));
}
