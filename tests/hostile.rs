//! Files that somebody has damaged or made up: every reader answers with a value or an error, soon and in
//! little memory.
//!
//! A fuzzer without instruments: seeds of every format are changed by dice that fall the same way every time
//! (bits, bytes, numbers, cuts, repeats, and pieces of other seeds). No change may end in a panic, take longer
//! than a second or hold more than 512 MB. `MENISCUS_FUZZ_SECONDS=60` runs each reader that long instead of a
//! fixed number of changes, beginning where `MENISCUS_FUZZ_SEED` says.

use meniscus::geometry::TriMesh;
use meniscus::io::{mesh, usd};
use meniscus::math::Vec3;
use meniscus::scene::{Fps, Scene};
use meniscus::simulation::{Settings, Simulation, state};
use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Counts what is held, and the most that was.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory is counted for one reader at a time.
static ALONE: Mutex<()> = Mutex::new(());

struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

/// Words and numbers that readers trip over.
const TRAPS: [&[u8]; 22] = [
    b"99999999999999999999",
    b"-1",
    b"1e999",
    b"nan",
    b"inf",
    b"0",
    b"4294967295",
    b"4294967296",
    b"-9223372036854775808",
    b"1e-320",
    b"\x00",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"[[[[[[[[",
    b"{\"a\":",
    b"\"",
    b"\n",
    b"/",
    b"element vertex 100000000\n",
    b"property list uchar int vertex_indices\n",
    b"f 1 2 3 -4\n",
    b"end_header\n",
];

/// A seed with one to eight changes.
fn changed(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seeds[dice.roll(seeds.len())].clone();
    for _ in 0..1 + dice.roll(8) {
        let at = dice.roll(bytes.len() + 1);
        let length = (1 << dice.roll(8)).min(bytes.len() - at);
        match dice.roll(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
            1 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let other = &seeds[dice.roll(seeds.len())];
                let from = dice.roll(other.len());
                let piece = other[from..(from + length).min(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            6 => drop(bytes.splice(at..at, TRAPS[dice.roll(TRAPS.len())].iter().copied())),
            _ => {
                // A number of a text replaced by one that cannot be.
                let digit = bytes[at..].iter().position(u8::is_ascii_digit).map(|k| at + k);
                if let Some(begin) = digit {
                    let end = bytes[begin..]
                        .iter()
                        .position(|b| !b.is_ascii_digit())
                        .map_or(bytes.len(), |k| begin + k);
                    bytes.splice(begin..end, TRAPS[dice.roll(9)].iter().copied());
                }
            }
        }
    }
    bytes
}

/// Feed a reader changed seeds.
fn fuzz(name: &str, seeds: &[Vec<u8>], changes: usize, mut read: impl FnMut(&[u8])) {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seconds = number("MENISCUS_FUZZ_SECONDS").map(Duration::from_secs);
    let mut dice =
        Dice(0x2545_f491_4f6c_dd1d ^ number("MENISCUS_FUZZ_SEED").unwrap_or(0).wrapping_mul(0x9e37_79b9));
    seeds.iter().for_each(|s| read(s));
    let (begin, before) = (Instant::now(), HELD.load(Relaxed));
    MOST.store(before, Relaxed);
    let mut done = 0;
    let mut slowest = Duration::ZERO;
    while seconds.map_or(done < changes, |s| begin.elapsed() < s) {
        let bytes = changed(seeds, &mut dice);
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        let took = start.elapsed();
        let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
        assert!(outcome.is_ok(), "{name}: change {done} made the reader panic:\n{}", shown());
        // A loaded machine may take a second away from anybody, but not twice.
        let hangs = took > Duration::from_secs(1) && {
            let again = Instant::now();
            read(&bytes);
            again.elapsed() > Duration::from_secs(1)
        };
        assert!(!hangs, "{name}: change {done} took {took:?}:\n{}", shown());
        slowest = slowest.max(took);
        done += 1;
    }
    let most = (MOST.load(Relaxed) - before) >> 20;
    println!("{name}: {done} changes, slowest {slowest:?}, at most {most} MB");
    assert!(most < 512, "{name} held {most} MB");
}

fn scenes() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenes");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.iter().map(|f| std::fs::read(f).unwrap()).collect()
}

/// A tetrahedron with attributes, small enough that a change hits something.
fn body() -> TriMesh {
    let corners = vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
    TriMesh::new(corners, vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
}

fn written(write: impl Fn(&TriMesh, &mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&body(), &mut bytes).unwrap();
    bytes
}

#[test]
fn scenes_of_any_bytes_are_read_or_refused() {
    fuzz("scene", &scenes(), 3000, |bytes| {
        if let Ok(scene) = Scene::from_json(&String::from_utf8_lossy(bytes)) {
            // What is accepted must also survive being looked at.
            let _ = (scene.preflight(), Simulation::estimate(&scene), scene.to_si());
        }
    });
}

#[test]
fn meshes_of_any_bytes_are_read_or_refused() {
    let ascii =
        b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    let stl = b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";
    let mut binary_stl = vec![0u8; 80];
    binary_stl.extend(1u32.to_le_bytes());
    binary_stl.extend([0u8; 50]);
    let obj = written(|m, out| mesh::write_obj(m, out));
    let polygons =
        b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nvt 0 0\nf 1/1/1 2//1 3/1 -1\ng side\nusemtl x\n"
            .to_vec();
    let ply = written(|m, out| mesh::write_ply(m, out));
    for (name, seeds) in [
        ("ply", vec![ply, ascii.to_vec()]),
        ("obj", vec![obj, polygons]),
        ("stl", vec![stl.to_vec(), binary_stl]),
    ] {
        fuzz(name, &seeds, 10_000, |bytes| {
            let _ = mesh::parse(&format!("a.{name}"), bytes);
            let _ = mesh::parse_points(&format!("a.{name}"), bytes);
        });
    }
}

#[test]
fn usd_of_any_bytes_is_read_or_refused() {
    let body = body();
    let frame =
        usd::UsdFrame { frame: 1, fps: Fps::default(), surface: Some(&body), particles: None, solids: &[] };
    fuzz("usdc", &[usd::to_usdc(&frame)], 10_000, |bytes| {
        let _ = usd::parse_mesh("a.usdc", bytes);
    });
}

#[test]
fn checkpoints_of_any_bytes_are_read_or_refused() {
    let json = r#"{"meniscus": 1, "frames": [1, 9], "domain": {"min": [0, 0, 0], "max": [0.2, 0.2, 0.2]},
        "resolution": {"divisions": 4}, "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.1, 0.1, 0.2]}}}]}"#;
    let scene = Scene::from_json(json).unwrap();
    let settings = Settings { threads: Some(1), memory_limit: None };
    let mut simulation = Simulation::new(&scene, &|_| unreachable!("no meshes"), &settings).unwrap();
    simulation.advance_frame(&mut |_| false).unwrap();
    let saved = simulation.save();
    fuzz("checkpoint", std::slice::from_ref(&saved), 1500, |bytes| {
        let sound = state::check(bytes).is_ok();
        // Sums catch what is damaged by chance; what is made up on purpose must still not break anything.
        if simulation.load(bytes).is_err() {
            assert!(!sound || bytes != saved);
            assert_eq!(simulation.save(), saved, "a refused state changed the simulation");
        } else {
            simulation.load(&saved).unwrap();
        }
    });
}
