//! The readers of what somebody else may have made up, as functions of any bytes: for the dice of tests/hostile.rs and
//! for the fuzzer in fuzz/.
//!
//! None may panic, take long or hold much, whatever the bytes. What a reader takes is looked at as well.

use meniscus::io::{mesh, nrrd as lattice, packed as zstd, usd};
use meniscus::scene::Scene;
use meniscus::simulation::{Settings, Simulation, state};
use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::state_support;

pub type Reader = fn(&[u8]);

/// All of them, by the names of their seeds.
pub const ALL: [(&str, Reader); 9] = [
    ("scene", scene),
    ("obj", obj),
    ("ply", ply),
    ("stl", stl),
    ("nrrd", nrrd),
    ("usdc", usdc),
    ("packed", packed),
    ("state_mac", state_mac),
    ("state_bcc", state_bcc),
];

pub fn scene(bytes: &[u8]) {
    if let Ok(scene) = Scene::from_json(&String::from_utf8_lossy(bytes)) {
        // What is accepted must also survive being looked at.
        let _ = (scene.preflight(), Simulation::estimate(&scene), scene.to_si());
    }
}

pub fn obj(bytes: &[u8]) {
    any_mesh("a.obj", bytes);
}

pub fn ply(bytes: &[u8]) {
    any_mesh("a.ply", bytes);
}

pub fn stl(bytes: &[u8]) {
    any_mesh("a.stl", bytes);
}

pub fn nrrd(bytes: &[u8]) {
    let _ = lattice::parse("a.nrrd", bytes);
    any_mesh("a.nrrd", bytes);
}

fn any_mesh(name: &str, bytes: &[u8]) {
    let _ = mesh::parse(name, bytes);
    let _ = mesh::parse_points(name, bytes);
}

pub fn usdc(bytes: &[u8]) {
    let _ = usd::parse_mesh("a.usdc", bytes);
}

/// As it is, and with the sums of its chunks made right, so that the bytes in them are unpacked.
pub fn packed(bytes: &[u8]) {
    let mut forged = bytes.to_vec();
    let mut at = 8;
    while let Some(head) = forged.get(at..at + 12) {
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let Some(chunk) = forged.get(at + 12..(at + 12).saturating_add(length)) else { break };
        let sum = state_support::crc32(chunk);
        forged[at + 8..at + 12].copy_from_slice(&sum.to_le_bytes());
        at += 12 + length;
    }
    for bytes in [bytes, &forged] {
        if let Ok(whole) = zstd::unpack(bytes, 64 << 20) {
            assert!(whole.len() <= 64 << 20);
        }
    }
}

pub fn state_mac(bytes: &[u8]) {
    thread_local! { static WATER: RefCell<Water> = RefCell::new(Water::new("mac")) }
    WATER.with(|w| w.borrow_mut().take(bytes));
}

pub fn state_bcc(bytes: &[u8]) {
    thread_local! { static WATER: RefCell<Water> = RefCell::new(Water::new("bcc")) }
    WATER.with(|w| w.borrow_mut().take(bytes));
}

/// A simulation that is handed states.
pub struct Water {
    simulation: Simulation,
    pub saved: Vec<u8>,
    /// States that were taken.
    pub taken: usize,
}

impl Water {
    pub fn new(kind: &str) -> Self {
        let bodies = r#""bodies": [{"name": "cork", "density": 300, "shape": {"sphere": {"center": [0.15, 0.12, 0.1], "radius": 0.03}}}],"#;
        let bodies = if kind == "mac" { bodies } else { "" };
        let json = format!(
            r#"{{"meniscus": 1, "frames": [1, 9], "domain": {{"min": [0, 0, 0], "max": [0.2, 0.2, 0.2]}}, {bodies}
            "resolution": {{"divisions": 4}}, "simulator": {{"type": "{kind}", "detail": 2}},
            "initial": [{{"shape": {{"box": {{"min": [0, 0, 0], "max": [0.1, 0.1, 0.2]}}}}}}]}}"#
        );
        let scene = Scene::from_json(&json).expect("the scene is sound");
        let settings = Settings { threads: Some(1), memory_limit: Some(400 << 20), ..Settings::default() };
        let mut simulation =
            Simulation::new(&scene, &|_| unreachable!("no meshes"), &settings).expect("it begins");
        simulation.advance_frame(&mut |_| false).expect("it goes on");
        let saved = simulation.save();
        Water { simulation, saved, taken: 0 }
    }

    /// Sums catch what is damaged by chance; what is made up on purpose has the right ones, and must still break
    /// nothing, neither when it is read nor when the simulation goes on from it.
    pub fn take(&mut self, bytes: &[u8]) {
        self.load(bytes);
        let mut forged = bytes.to_vec();
        state_support::repair(&mut forged);
        self.load(&forged);
    }

    fn load(&mut self, bytes: &[u8]) {
        let sound = state::check(bytes).is_ok();
        if self.simulation.load(bytes).is_err() {
            assert!(!sound || bytes != self.saved);
            assert_eq!(self.simulation.save(), self.saved, "a refused state changed the simulation");
            return;
        }
        self.taken += 1;
        let begin = Instant::now();
        let _ = self.simulation.advance_frame(&mut |_| begin.elapsed() > Duration::from_millis(100));
        let _ = (self.simulation.report(), self.simulation.surface());
        self.simulation.load(&self.saved).expect("the old state is still taken");
    }
}
