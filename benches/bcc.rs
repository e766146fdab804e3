//! Speed and size of the graded lattice, from octree to adjacency.
//!
//! `cargo bench --bench bcc`. Gates: 4 million tets a second on one thread, 6 on two, 150 bytes a tet.

use meniscus::math::Vec3;
use meniscus::mesh::bcc::{Lattice, Octree, OctreeDomain, Sizing};
use std::time::Instant;

/// The lattice over an octree, and the least time of several runs in seconds.
fn build(octree: &Octree) -> Result<(Lattice, f64), meniscus::Error> {
    let (mut built, mut least) = (None, f64::INFINITY);
    for _ in 0..7 {
        let octree = octree.clone();
        drop(built.take());
        let start = Instant::now();
        built = Some(Lattice::new(octree)?);
        least = least.min(start.elapsed().as_secs_f64());
    }
    built.map(|l| (l, least)).ok_or_else(|| meniscus::Error::invalid("bench", "no runs"))
}

/// A wavy surface across a box of 4 m, with cells of 4/2ⁿ m in its band.
fn waves(levels: u32) -> Result<Octree, meniscus::Error> {
    let domain = OctreeDomain {
        origin: Vec3::zeros(),
        roots: [4; 3],
        root_width: 1.0,
        depth: levels - 2,
        periodic: false,
        max_leaves: 1 << 24,
    };
    let width = 4.0 / (1u32 << levels) as f64;
    let height = |x: &Vec3| 2.0 + 0.3 * (2.0 * x.x).sin() * (1.5 * x.z).cos();
    let sizing = Sizing::new().near(move |x| x.y - height(x), width, 3.0 * width, 0.5);
    Octree::new(domain, |c| sizing.refines(c))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for levels in [6, 7, 8] {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            pool.install(|| -> Result<(), meniscus::Error> {
                let start = Instant::now();
                let octree = waves(levels)?;
                let sized = start.elapsed().as_secs_f64();
                let (lattice, seconds) = build(&octree)?;
                let tets = lattice.tets.vertices.len();
                println!(
                    "bcc: {threads} threads, {} leaves (octree {:.0} ms), {tets} tets in {:.0} ms: {:.1} million tets/s (gate {}), {:.0} bytes a tet (gate 150)",
                    octree.leaves(),
                    1e3 * sized,
                    1e3 * seconds,
                    tets as f64 / seconds / 1e6,
                    [4, 6][threads - 1],
                    lattice.bytes() as f64 / tets as f64,
                );
                Ok(())
            })?;
        }
    }
    Ok(())
}
