//! Lattices and scenes that several tests share.

use meniscus::geometry::TriMesh;
use meniscus::math::Vec3;
use meniscus::mesh::bcc::{Lattice, Octree, OctreeCell, OctreeDomain};
use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation};

/// A box of 1 m with four root cells along each side, halved up to `depth` times.
pub fn box_of_one_metre(origin: Vec3, depth: u32, wants: impl Fn(&OctreeCell) -> bool + Sync) -> Lattice {
    let domain =
        OctreeDomain { origin, roots: [4; 3], root_width: 0.25, depth, periodic: false, max_leaves: 1 << 22 };
    Lattice::new(Octree::new(domain, wants).unwrap()).unwrap()
}

/// The simulation of a scene on so many threads.
pub fn simulation(scene: &serde_json::Value, threads: usize) -> Simulation {
    let scene = Scene::from_json(&scene.to_string()).unwrap();
    let settings = Settings { threads: Some(threads), ..Settings::default() };
    Simulation::new(&scene, &|_| Ok(TriMesh::default()), &settings).unwrap()
}

pub fn advance(sim: &mut Simulation, frames: usize) {
    for _ in 0..frames {
        sim.advance_frame(&mut |_| false).unwrap();
    }
}
