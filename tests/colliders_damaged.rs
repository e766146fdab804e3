//! Two hundred meshes damaged on purpose: each gives finite distances or an error that names the defect.

use meniscus::Cancel;
use meniscus::geometry::TriMesh;
use meniscus::grid::{DistanceParams, MeshDistance};
use meniscus::io::mesh;
use meniscus::math::Vec3;

/// Deterministic numbers below n.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n.max(1)
    }

    fn unit(&mut self) -> f64 {
        self.roll(1 << 20) as f64 / (1 << 20) as f64
    }
}

/// Damage some faces or vertices in one of twelve ways; returns whether an error must follow.
fn damage(mesh: &mut TriMesh, kind: usize, dice: &mut Dice) -> bool {
    let many = 1 + dice.roll(mesh.triangles.len() / 4);
    for _ in 0..many {
        let (t, u) = (dice.roll(mesh.triangles.len()), dice.roll(mesh.triangles.len()));
        let v = dice.roll(mesh.positions.len());
        match kind {
            0 => drop(mesh.triangles.swap_remove(t)),
            1 => mesh.triangles[t].swap(0, 1),
            2 => mesh.triangles.push(mesh.triangles[t]),
            3 => mesh.triangles[t][1] = mesh.triangles[t][0],
            4 => mesh.triangles[t] = [mesh.triangles[t][0]; 3],
            5 => mesh.positions[v] = mesh.positions[mesh.triangles[t][0] as usize],
            6 => mesh.triangles[t][2] = mesh.triangles[u][0],
            7 => mesh.positions[v] *= 1.0 + dice.unit(),
            8 => {
                let [a, b, _] = mesh.corners(t);
                mesh.positions.push(a + (b - a) * dice.unit());
                mesh.triangles[t][2] = mesh.positions.len() as u32 - 1;
            }
            9 => mesh.positions[v].y = f64::NAN,
            10 => mesh.positions[v].x = if dice.roll(2) == 0 { f64::INFINITY } else { 1e300 },
            _ => mesh.triangles[t][dice.roll(3)] = (mesh.positions.len() + dice.roll(9)) as u32,
        }
    }
    kind >= 9
}

#[test]
fn damaged_meshes_give_distances_or_name_the_defect() {
    let bunny = mesh::parse("bunny.obj", include_bytes!("../examples/scenes/models/bunny.obj")).unwrap();
    let ball = TriMesh::icosphere(1.0, 3);
    let small = TriMesh::cuboid(Vec3::repeat(-1.0), Vec3::repeat(1.0));
    let mut dice = Dice(2026);
    for i in 0..200 {
        let mut mesh = [&ball, &small, &bunny, &ball][i % 4].clone();
        let (mut fatal, mut kinds) = (false, Vec::new());
        for _ in 0..1 + dice.roll(2) {
            // The fatal kinds come last, so that a later damage meets no bad index.
            let kind = dice.roll(12);
            kinds.push(kind);
            fatal |= damage(&mut mesh, kind, &mut dice);
            if fatal {
                break;
            }
        }
        let size = if i % 4 == 2 { bunny.bounds().size().max() } else { 2.0 };
        let params = DistanceParams { cell: size / 16.0, memory_mb: 16, ..Default::default() };
        match MeshDistance::new(&mesh, "broken", &params, &Cancel::new()) {
            Ok(field) => {
                assert!(!fatal, "mesh {i}, damage {kinds:?}");
                let within = |d: &f64| d.is_finite() && d.abs() <= field.band() * (1.0 + 1e-12);
                assert!(field.field().iter().all(within), "mesh {i}, damage {kinds:?}");
                for _ in 0..50 {
                    let mut at = || (dice.unit() - 0.5) * 1.5 * size;
                    let x = mesh.bounds().centre() + Vec3::new(at(), at(), at());
                    assert!(field.distance(&x).is_finite() && field.exact_distance(&x).is_finite());
                    assert!(field.gradient(&x).iter().all(|g| g.is_finite()));
                    field.crosses(&x, &Vec3::zeros());
                }
            }
            Err(error) => {
                let text = error.to_string();
                let named = ["vertex", "triangle", "cells", "memory"].iter().any(|w| text.contains(w));
                assert!(text.contains("broken") && named, "mesh {i}, damage {kinds:?}: {text}");
            }
        }
    }
}

#[test]
fn a_ball_with_a_few_wounds_is_still_a_ball() {
    let ball = TriMesh::icosphere(1.0, 3);
    let mut dice = Dice(7);
    for kind in [0, 1, 2, 3, 4] {
        let mut mesh = ball.clone();
        for _ in 0..3 {
            let t = dice.roll(mesh.triangles.len());
            match kind {
                0 => drop(mesh.triangles.swap_remove(t)),
                1 => mesh.triangles[t].swap(0, 1),
                2 => mesh.triangles.push(mesh.triangles[t]),
                3 => mesh.triangles[t][1] = mesh.triangles[t][0],
                _ => mesh.triangles[t] = [mesh.triangles[t][0]; 3],
            }
        }
        let params = DistanceParams { cell: 0.08, ..Default::default() };
        let field = MeshDistance::new(&mesh, "ball", &params, &Cancel::new()).unwrap();
        assert!(!field.is_thin());
        for _ in 0..2000 {
            let mut at = || 3.0 * dice.unit() - 1.5;
            let x = Vec3::new(at(), at(), at());
            // A wound is one face wide, 0.15; further than that from the surface nothing is in doubt.
            if (x.norm() - 1.0).abs() > 0.15 {
                assert_eq!(field.distance(&x) < 0.0, x.norm() < 1.0, "damage {kind} at {x}");
            }
        }
    }
}
