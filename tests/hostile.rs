//! Files that somebody has damaged or made up: every reader answers with a value or an error, soon and in
//! little memory.
//!
//! A fuzzer without instruments (fuzz/ has one with them): seeds of every format are changed by dice that fall the same way every time
//! (bits, bytes, numbers, cuts, repeats, and pieces of other seeds). No change may end in a panic, take longer
//! than a second or hold more than 512 MB. `MENISCUS_FUZZ_SECONDS=60` runs each reader that long instead of a
//! fixed number of changes, beginning where `MENISCUS_FUZZ_SEED` says.

mod counting;
mod readers;
mod state_support;

use counting::{HELD, MOST};
use meniscus::field::DenseField;
use meniscus::geometry::TriMesh;
use meniscus::io::{mesh, nrrd, packed as zstd, usd};
use meniscus::math::{Mat3, Vec3};
use meniscus::scene::{Fps, Scene};
use meniscus::simulation::{Settings, Simulation};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

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
    files.retain(|f| f.is_file());
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

/// Seeds for every reader.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let ascii =
        b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    let stl = b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";
    let polygons =
        b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nvt 0 0\nf 1/1/1 2//1 3/1 -1\ng side\nusemtl x\n";
    match name {
        "scene" => scenes(),
        "obj" => vec![written(|m, out| mesh::write_obj(m, out)), polygons.to_vec()],
        "ply" => vec![written(|m, out| mesh::write_ply(m, out)), ascii.to_vec()],
        "stl" => vec![stl.to_vec(), written(|m, out| mesh::write_stl(m, out))],
        "nrrd" => {
            let field = |width: usize| {
                let values = (0..24 * width).map(|n| n as f32 - 11.5).collect();
                let field =
                    DenseField::new("seed", [2, 3, 4], width, Vec3::zeros(), Mat3::identity(), values);
                let mut bytes = Vec::new();
                nrrd::write(&field.unwrap(), &mut bytes).unwrap();
                bytes
            };
            vec![field(1), field(3)]
        }
        "usdc" => {
            let body = body();
            let (fps, surface) = (Fps::default(), Some(&body));
            vec![usd::to_usdc(&usd::UsdFrame { frame: 1, fps, surface, particles: None, solids: &[] })]
        }
        "packed" => {
            let mut out = Vec::new();
            let give = &mut |piece: &[u8]| {
                out.extend_from_slice(piece);
                Ok(())
            };
            zstd::pack(&scenes().concat(), give).unwrap();
            vec![out]
        }
        state => vec![readers::Water::new(state.trim_start_matches("state_")).saved],
    }
}

fn reader(name: &str, changes: usize) {
    let read = readers::ALL.iter().find(|r| r.0 == name).expect("there is such a reader").1;
    fuzz(name, &seeds(name), changes, read);
}

#[test]
fn scenes_of_any_bytes_are_read_or_refused() {
    reader("scene", 3000);
}

#[test]
fn meshes_of_any_bytes_are_read_or_refused() {
    ["ply", "obj", "stl", "nrrd"].iter().for_each(|name| reader(name, 10_000));
}

#[test]
fn usd_of_any_bytes_is_read_or_refused() {
    reader("usdc", 10_000);
}

#[test]
fn packed_files_of_any_bytes_are_read_or_refused() {
    reader("packed", 5000);
}

/// Each is tried as it is, and with its sums made right.
#[test]
fn checkpoints_of_any_bytes_are_read_or_refused_and_break_nothing() {
    for kind in ["mac", "bcc"] {
        let mut water = readers::Water::new(kind);
        let saved = water.saved.clone();
        fuzz(&format!("state_{kind}"), std::slice::from_ref(&saved), 500, |bytes| water.take(bytes));
        println!("state_{kind}: {} were taken", water.taken);
        assert!(water.taken > 10, "the sums were not forged well enough");
    }
}

/// A drop that flies through the world in no time is followed no longer than one that may be.
#[test]
fn a_drop_of_absurd_speed_does_not_take_for_ever() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut water = readers::Water::new("mac");
    for speed in [1e6, 1e12, 1e100, 1e200, -1e300] {
        let begin = Instant::now();
        let mut state = water.saved.clone();
        let count = state_support::numbers(&state, "particle velocity").len();
        for index in (0..count).step_by(count / 30 + 1) {
            state = state_support::with_number(&state, "particle velocity", index, speed);
        }
        water.take(&state);
        assert!(begin.elapsed() < Duration::from_secs(20), "{speed} m/s");
    }
    assert!(water.taken > 0);
}

/// What a fuzzer once found stays found, and its seeds are read. With MENISCUS_SEEDS the seeds are also written, a
/// folder for each reader, for fuzz/run.
#[test]
fn past_finds_and_seeds_are_replayed() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let out = std::env::var_os("MENISCUS_SEEDS").map(std::path::PathBuf::from);
    for (name, read) in readers::ALL {
        let finds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/finds").join(name);
        let finds = std::fs::read_dir(finds).into_iter().flatten().map(|e| e.unwrap().path());
        let finds = finds.map(|f| std::fs::read(f).unwrap());
        let own = seeds(name);
        if let Some(out) = &out {
            std::fs::create_dir_all(out.join(name)).unwrap();
            for (i, seed) in own.iter().enumerate() {
                std::fs::write(out.join(name).join(i.to_string()), seed).unwrap();
            }
        }
        let all: Vec<Vec<u8>> = own.into_iter().chain(finds).collect();
        println!("{name}: {} replayed", all.len());
        for bytes in all {
            let begin = Instant::now();
            read(&bytes);
            assert!(begin.elapsed() < Duration::from_secs(5), "{name} hangs");
        }
    }
}

/// Cells by the billion are counted, not held.
#[test]
fn absurd_sizes_are_refused_at_once_and_without_memory() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let scene = |resolution: &str, more: &str| {
        format!(
            r#"{{"meniscus": 1, "domain": {{"min": [0, 0, 0], "max": [10, 10, 10]}}, "resolution": {resolution}{more},
            "initial": [{{"shape": {{"box": {{"min": [0, 0, 0], "max": [10, 5, 10]}}}}}}]}}"#
        )
    };
    for (name, json) in [
        ("a billion divisions", scene(r#"{"divisions": 1000000000}"#, "")),
        ("a million divisions", scene(r#"{"divisions": 1000000}"#, "")),
        ("2^64 divisions", scene(r#"{"divisions": 18446744073709551616}"#, "")),
        ("cells of a micrometre", scene(r#"{"cell": 1e-6}"#, "")),
        ("adaptive", scene(r#"{"cell": 1e-5}"#, r#", "simulator": {"type": "bcc"}"#)),
        ("particles", scene(r#"{"cell": 0.002}"#, r#", "simulator": {"particles_per_cell": 4294967295}"#)),
    ] {
        let (begin, before) = (Instant::now(), HELD.load(Relaxed));
        MOST.store(before, Relaxed);
        let settings = Settings { threads: Some(1), memory_limit: Some(8 << 30), ..Settings::default() };
        let refused = Scene::from_json(&json)
            .and_then(|s| Simulation::new(&s, &|_| unreachable!("no meshes"), &settings).map(|_| ()));
        let (took, most) = (begin.elapsed(), MOST.load(Relaxed) - before);
        println!("{name}: {took:?}, {most} bytes: {:?}", refused.as_ref().err().map(|e| e.to_string()));
        assert!(refused.is_err(), "{name} was taken");
        assert!(most < 16 << 20, "{name} held {most} bytes");
        // A tenth of a second is promised; the rest is for a loaded machine.
        assert!(took < Duration::from_secs(1), "{name} took {took:?}");
    }
}
