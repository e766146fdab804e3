//! Times of mesh queries and of mesh distances, one thread.
//!
//! Run with `cargo bench --bench geometry_mesh`. Each figure is the least of several runs.

#[path = "common/mod.rs"]
mod common;

use common::{best, bumpy_ball, points_of};
use meniscus::Cancel;
use meniscus::geometry::{Bvh, TriMesh, Winding};
use meniscus::grid::{DistanceParams, MeshDistance};
use meniscus::math::{Aabb, Vec3};

/// Squared distance to a triangle by its Voronoi regions, as it is usually written.
fn squared_distance([a, b, c]: &[Vec3; 3], p: &Vec3) -> f64 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(&ap), ac.dot(&ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return ap.norm_squared();
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(&bp), ac.dot(&bp));
    if d3 >= 0.0 && d4 <= d3 {
        return bp.norm_squared();
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (ap - ab * (d1 / (d1 - d3))).norm_squared();
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(&cp), ac.dot(&cp));
    if d6 >= 0.0 && d5 <= d6 {
        return cp.norm_squared();
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (ap - ac * (d2 / (d2 - d6))).norm_squared();
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return (bp - (c - b) * w).norm_squared();
    }
    let scale = 1.0 / (va + vb + vc);
    (ap - ab * (vb * scale) - ac * (vc * scale)).norm_squared()
}

/// Every triangle offers its distance to all nodes of its box grown by the band; dense, unsigned.
fn naive_scan(mesh: &TriMesh, cell: f64, band: f64) -> Vec<f32> {
    let bounds = mesh.bounds().grow((band + 1.0) * cell);
    let size = (bounds.size() / cell).map(|c| c as usize + 2);
    let mut field = vec![f32::INFINITY; size.x * size.y * size.z];
    for t in 0..mesh.triangles.len() {
        let corners = mesh.corners(t);
        let near = Aabb::of_points(&corners).grow(band * cell);
        let lo = ((near.lo - bounds.lo) / cell).map(|c| c.ceil() as usize);
        let hi = ((near.hi - bounds.lo) / cell).map(|c| c.floor() as usize);
        for z in lo.z..=hi.z {
            for y in lo.y..=hi.y {
                for x in lo.x..=hi.x {
                    let p = bounds.lo + Vec3::new(x as f64, y as f64, z as f64) * cell;
                    let d = squared_distance(&corners, &p) as f32;
                    let at = &mut field[(z * size.y + y) * size.x + x];
                    *at = at.min(d);
                }
            }
        }
    }
    field
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    pool.install(run);
}

fn run() {
    let mesh = bumpy_ball();
    println!("{} triangles", mesh.triangles.len());
    if std::env::args().all(|a| a != "distance") {
        queries(&mesh);
    }
    distance(&mesh);
}

/// The tree and what is asked of it.
fn queries(mesh: &TriMesh) {
    println!("build          {:8.1} ms", 1e3 * best(3, || Bvh::new(mesh)));
    let bvh = Bvh::new(mesh);
    println!("dipoles        {:8.1} ms", 1e3 * best(3, || Winding::new(&bvh)));
    let winding = Winding::new(&bvh);
    for (name, points) in points_of(mesh) {
        let each = |f: &dyn Fn(&Vec3) -> f64| {
            1e6 * best(5, || points.iter().map(f).sum::<f64>()) / points.len() as f64
        };
        let closest = each(&|p| bvh.closest(p, f64::INFINITY).map_or(0.0, |c| c.distance));
        let number = each(&|p| winding.number(&bvh, p));
        println!("{name:4} closest {closest:6.2} µs, winding {number:6.2} µs");
    }
}

/// Distances onto a grid, beside the naive scan of each triangle's band.
fn distance(mesh: &TriMesh) {
    let cell = mesh.bounds().size().max() / (256.0 - 12.0);
    let params = DistanceParams { cell, band: 5.0, ..Default::default() };
    let ours = best(3, || MeshDistance::new(mesh, "ball", &params, &Cancel::new()));
    let naive = best(1, || naive_scan(mesh, cell, 5.0));
    println!(
        "distance 256³ band 5: {ours:.3} s signed, naive {naive:.3} s unsigned, {:.1} times",
        naive / ours
    );
}
