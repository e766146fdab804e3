//! What writing costs: a surface of a million vertices in each format, beside the frame that would make it.
//!
//! ```sh
//! cargo bench --bench write            # a dam of 96 divisions for the frame
//! cargo bench --bench write -- 128     # of 128
//! ```
//!
//! The frame of a million vertices is judged from a smaller one: with n times the vertices a frame has at least n
//! times the cells, so its seconds, scaled by vertices, are a lower bound. Every file is flushed to the disk, as in a
//! run. The gate is 5 % of the frame. Wall-clock times: use an idle machine. One JSON line a format.

use meniscus::geometry::{Attribute, TriMesh};
use meniscus::io::usd::{UsdFrame, to_usdc};
use meniscus::io::{atomic, mesh, vtp};
use meniscus::math::Vec3;
use meniscus::scene::{Fps, Scene};
use meniscus::simulation::{Settings, Simulation};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Most of the frame that writing may take.
const GATE: f64 = 0.05;

/// Writes a surface to a file.
type Writer<'a> = dyn Fn(&Path) -> meniscus::Result<()> + 'a;

fn main() {
    let divisions = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(96);
    let (seconds, vertices) = frame(divisions);
    let surface = waves(1000);
    let scaled = seconds * surface.positions.len() as f64 / vertices as f64;
    println!(
        "{}",
        json!({"divisions": divisions, "seconds_a_frame": seconds, "vertices": vertices, "scaled_to": surface.positions.len(), "scaled_seconds": scaled})
    );
    let folder = std::env::temp_dir().join(format!("meniscus_bench_write_{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let usd = |path: &Path| {
        let frame =
            UsdFrame { frame: 1, fps: Fps::default(), surface: Some(&surface), particles: None, solids: &[] };
        atomic::write(path, &to_usdc(&frame))
    };
    let formats: [(&str, &Writer); 3] = [
        ("ply", &|path| atomic::write_with(path, |out| mesh::write_ply(&surface, out))),
        ("usdc", &usd),
        ("vtp", &|path| atomic::write_with(path, |out| vtp::write_surface(&surface, out))),
    ];
    for (name, write) in formats {
        let path = folder.join(name);
        // The best of three: what else the machine does is not the format's fault.
        let once = |_| {
            let clock = Instant::now();
            write(&path).expect("a file");
            clock.elapsed().as_secs_f64()
        };
        let took = (0..3).map(once).fold(f64::INFINITY, f64::min);
        let bytes = std::fs::metadata(&path).expect("a file").len();
        let share = took / scaled;
        println!(
            "{}",
            json!({"format": name, "seconds": took, "megabytes": bytes as f64 / 1e6, "share_of_frame": share, "gate": GATE,
                "verdict": if share <= GATE { "met" } else { "MISSED" }})
        );
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// Seconds and vertices of the costliest of a few frames of a breaking dam.
fn frame(divisions: usize) -> (f64, usize) {
    let scene = json!({"meniscus": 1, "frames": [1, 1000], "fps": 24,
        "domain": {"min": [-1, 0, -0.5], "max": [1, 1, 0.5]}, "resolution": {"divisions": divisions},
        "initial": [{"shape": {"box": {"min": [-0.98, 0.02, -0.48], "max": [-0.2, 0.7, 0.48]}}}]});
    let scene = Scene::from_json(&scene.to_string()).expect("a scene");
    let mut sim =
        Simulation::new(&scene, &|_| unreachable!("no meshes"), &Settings::default()).expect("a simulation");
    let (mut seconds, mut vertices) = (0.0, 0);
    for _ in 0..4 {
        let clock = Instant::now();
        sim.advance_frame(&mut |_| false).expect("a frame");
        vertices = sim.surface().expect("a surface").positions.len();
        seconds = clock.elapsed().as_secs_f64();
    }
    (seconds, vertices)
}

/// A sheet of n² vertices with velocity.
fn waves(n: u32) -> TriMesh {
    let at = |i: u32, j: u32| {
        let (x, z) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
        Vec3::new(x, 0.03 * (31.0 * x).sin() * (23.0 * z).cos(), z)
    };
    let positions: Vec<Vec3> = (0..n).flat_map(|j| (0..n).map(move |i| at(i, j))).collect();
    let mut triangles = Vec::new();
    for j in 0..n - 1 {
        for i in 0..n - 1 {
            let a = j * n + i;
            triangles.extend([[a, a + n, a + 1], [a + 1, a + n, a + n + 1]]);
        }
    }
    let data = positions.iter().flat_map(|p| [p.y as f32, p.x as f32, 0.5 * p.z as f32]).collect();
    let mut mesh = TriMesh::new(positions, triangles);
    mesh.attributes = vec![Attribute { name: "velocity".into(), width: 3, data }];
    mesh
}
