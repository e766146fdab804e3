//! Closest points against parry, in one run and one thread: `cargo run --release` in this folder.

#[path = "../../common/mod.rs"]
mod common;

use common::{best, bumpy_ball, points_of};
use meniscus::geometry::Bvh;
use parry3d_f64::math::Vector;
use parry3d_f64::query::PointQuery;
use parry3d_f64::shape::TriMesh;

fn main() {
    let mesh = bumpy_ball();
    let bvh = Bvh::new(&mesh);
    let vertices = mesh.positions.iter().map(|p| Vector::new(p.x, p.y, p.z)).collect();
    let theirs = TriMesh::new(vertices, mesh.triangles.clone()).expect("a mesh that parry takes");
    for (name, points) in points_of(&mesh) {
        let n = points.len() as f64;
        let ours = best(5, || {
            points.iter().map(|p| bvh.closest(p, f64::INFINITY).map_or(0.0, |c| c.distance)).sum::<f64>()
        });
        let parry = best(5, || {
            points
                .iter()
                .map(|p| theirs.distance_to_local_point(Vector::new(p.x, p.y, p.z), false))
                .sum::<f64>()
        });
        println!(
            "{name:4} ours {:.2} µs, parry {:.2} µs, {:.2} times",
            1e6 * ours / n,
            1e6 * parry / n,
            parry / ours
        );
    }
}
