//! Speed and size of the graded lattice from octree to adjacency, and its pressure solve at several sizes.
//!
//! `cargo bench --bench bcc`. Gates: 4 million tets a second on one thread, 6 on two, 150 bytes a tet; iterations
//! of the pressure solve within 20 % from 10⁵ to 3 × 10⁶ tets.

use meniscus::math::Vec3;
use meniscus::mesh::bcc::{Edges, Lattice, Octree, OctreeDomain, Sizing};
use meniscus::solver::bcc::{Cut, Embedded, LatticeVelocity, open_shares, reconstruct};
use meniscus::{Cancel, Error};
use std::time::Instant;

/// Seconds that this thread has run, so that a busy machine does not count; else those of the clock.
fn seconds_run(start: Instant) -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = ran.as_deref().and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(start.elapsed().as_secs_f64(), |n| 1e-9 * n)
}

/// The lattice over an octree, and the least time of several runs in seconds: of the thread if there is one only,
/// of the clock if there are more.
fn build(octree: &Octree, threads: usize) -> Result<(Lattice, f64), Error> {
    let (mut built, mut least) = (None, f64::INFINITY);
    let begin = Instant::now();
    let now = || if threads == 1 { seconds_run(begin) } else { begin.elapsed().as_secs_f64() };
    for _ in 0..9 {
        let octree = octree.clone();
        drop(built.take());
        let start = now();
        built = Some(Lattice::new(octree)?);
        least = least.min(now() - start);
    }
    built.map(|l| (l, least)).ok_or_else(|| Error::invalid("bench", "no runs"))
}

/// Height above a wavy surface, m.
fn above(x: &Vec3) -> f64 {
    x.y - 2.0 - 0.3 * (2.0 * x.x).sin() * (1.5 * x.z).cos()
}

/// The surface across a box of 4 m, with cells of 4/2ⁿ m in its band.
fn waves(levels: u32) -> Result<Octree, Error> {
    let domain = OctreeDomain {
        origin: Vec3::zeros(),
        roots: [4; 3],
        root_width: 1.0,
        depth: levels - 2,
        periodic: false,
        max_leaves: 1 << 24,
    };
    let width = 4.0 / (1u32 << levels) as f64;
    let sizing = Sizing::new().near(above, width, 3.0 * width, 0.5);
    Octree::new(domain, |c| sizing.refines(c))
}

fn mesh(levels: u32, threads: usize) -> Result<(), Error> {
    let start = Instant::now();
    let octree = waves(levels)?;
    let sized = start.elapsed().as_secs_f64();
    let (lattice, seconds) = build(&octree, threads)?;
    let tets = lattice.tets.vertices.len();
    println!(
        "mesh: {threads} threads, {} leaves (octree {:.0} ms), {tets} tets in {:.0} ms: {:.1} million tets/s (gate {}), {:.0} bytes a tet (gate 150)",
        octree.leaves(),
        1e3 * sized,
        1e3 * seconds,
        tets as f64 / seconds / 1e6,
        [4, 6][threads - 1],
        lattice.bytes() as f64 / tets as f64,
    );
    Ok(())
}

/// One step of the waves under gravity on a lattice at rest: where the time goes, and the iterations.
fn pressure(levels: u32) -> Result<(), Error> {
    let lattice = Lattice::new(waves(levels)?)?;
    let faces = lattice.faces.cells.len();
    let (dt, density) = (0.01, 1000.0);
    let mut lap = Instant::now();
    let mut seconds = || std::mem::replace(&mut lap, Instant::now()).elapsed().as_secs_f64();
    // A ball of solid in the deep, half of it out of the water.
    let solid = |v: usize| (lattice.vertex(v as u32) - Vec3::new(2.0, 2.0, 2.0)).norm() - 0.6;
    let solid: Vec<f64> = (0..lattice.vertices.len()).map(solid).collect();
    let liquid: Vec<f64> = (0..lattice.cells()).map(|c| above(&lattice.circumcentre(c as u32))).collect();
    let fall = |f: usize| -9.81 * dt * lattice.dual_edge(f).normalize().y;
    let mut velocity: Vec<f64> = (0..faces).map(fall).collect();
    seconds();
    let open = open_shares(&lattice, &solid)?;
    let cut = Cut { lattice: &lattice, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros())?;
    let graph = seconds();
    let mut p = vec![0.0; lattice.cells()];
    let done = embedded.project(dt / density, &mut p, 1e-8, &Cancel::new())?;
    let solve = seconds();
    embedded.store(&mut velocity);
    let mut known = vec![false; faces];
    embedded.faces.iter().for_each(|&f| known[f as usize] = true);
    let edges = Edges::new(&lattice);
    let found = seconds();
    let field = LatticeVelocity::new(&lattice, &edges, reconstruct(&lattice, &velocity, &known, 4)?)?;
    let means = seconds();
    let carried = field.carry(&lattice, dt);
    let carry = seconds();
    println!(
        "pressure: {} tets, {} unknowns, {} iterations to 1e-8; graph {graph:.2} s, solve {solve:.2} s, edges {found:.2} s, velocity {means:.2} s, {} faces carried in {carry:.2} s",
        lattice.tets.vertices.len(),
        embedded.cells.len(),
        done.solve.map_or(0, |s| s.iterations),
        carried.len(),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for levels in [6, 7] {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            pool.install(|| mesh(levels, threads))?;
        }
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    for levels in [5, 6, 7] {
        pool.install(|| pressure(levels))?;
    }
    Ok(())
}
