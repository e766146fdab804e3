//! Alembic: the surfaces of a shot, or its points, as one animated file.
//!
//! No library in Rust that is kept up writes Alembic, and Debian packages none, so this writes the little of the
//! format that liquids need: an Ogawa file, as version 1.8 of the reference library makes it. Everything is a
//! group (a count and the places of its children) or data (a size and bytes); a place with its highest bit set is
//! data, place 0 is empty.
//!
//! ```text
//! "Ogawa" ff 0001 place of the root                                             all numbers little endian
//! root    0  library version  top object  words about the archive  times  words in common
//! object  properties, child objects …, names of the children with 32 bytes of hash
//! mesh    .geom: .selfBnds  P  .faceIndices  .faceCounts  .velocities, headers of the properties
//! points  .geom: .selfBnds  P  .pointIds  .velocities, headers of the properties
//! array   for each frame: 16 bytes of hash and the values; their dimensions, empty for a plain list
//! ```
//!
//! Faces run clockwise seen from outside, against our counter-clockwise. Velocities are in metres a second, time
//! is the frame over the frame rate. Equal samples stand once. Frames go out one by one, so a long shot needs the
//! memory of one frame.
//! Checked by tests/formats/read_back.py with alembic3d, the reference library, and with Blender.

use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::io::points::Points;
use crate::math::{Aabb, Vec3};
use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};

/// Marks a place as data.
const DATA: u64 = 1 << 63;
/// The version of the reference library whose files these are like.
const LIBRARY: u32 = 10_800;
/// Words that several headers share, by number from 1; the first three, and two of each content.
const COMMON: [&str; 3] =
    ["interpretation=box", "geoScope=vtx;interpretation=point", "interpretation=vector"];
/// The words of the schema and of the object, by number.
const SCHEMA: u32 = 4;
const OBJECT: u8 = 5;

/// What a property holds.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// 1 for one value a frame, 2 for a list.
    shape: u32,
    /// 6 for i32, 7 for u64, 10 for f32, 11 for f64.
    pod: u32,
    width: u32,
    /// Number in [`COMMON`], 0 for none.
    words: u32,
}

const BOUNDS: Kind = Kind { name: ".selfBnds", shape: 1, pod: 11, width: 6, words: 1 };
const POSITION: Kind = Kind { name: "P", shape: 2, pod: 10, width: 3, words: 2 };
const INDICES: Kind = Kind { name: ".faceIndices", shape: 2, pod: 6, width: 1, words: 0 };
const COUNTS: Kind = Kind { name: ".faceCounts", shape: 2, pod: 6, width: 1, words: 0 };
const VELOCITY: Kind = Kind { name: ".velocities", shape: 2, pod: 10, width: 3, words: 3 };
const IDS: Kind = Kind { name: ".pointIds", shape: 2, pod: 7, width: 1, words: 0 };

/// Whether frames are surfaces or points without triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Mesh,
    Points,
}

impl Content {
    fn words(self) -> [&'static str; 2] {
        match self {
            Content::Mesh => [
                "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1",
                "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom",
            ],
            Content::Points => [
                "schema=AbcGeom_Points_v1;schemaBaseType=AbcGeom_GeomBase_v1",
                "schema=AbcGeom_Points_v1;schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=AbcGeom_Points_v1:.geom",
            ],
        }
    }

    fn properties(self) -> &'static [Kind] {
        match self {
            Content::Mesh => &[BOUNDS, POSITION, INDICES, COUNTS, VELOCITY],
            Content::Points => &[BOUNDS, POSITION, IDS, VELOCITY],
        }
    }
}

/// A frame: vertices with velocity, and for points the numbers that stay theirs.
#[derive(Clone, Debug, Default)]
pub struct AlembicFrame {
    pub mesh: TriMesh,
    pub id: Vec<u64>,
}

impl From<TriMesh> for AlembicFrame {
    fn from(mesh: TriMesh) -> Self {
        Self { mesh, id: Vec::new() }
    }
}

impl From<Points> for AlembicFrame {
    fn from(points: Points) -> Self {
        Self { mesh: points.to_mesh(), id: points.id }
    }
}

/// Write frames as one animated object called `name`. `read` is asked for each in turn.
pub fn write(
    out: &mut (impl Write + Seek),
    content: Content,
    name: &str,
    fps: f64,
    frames: &[i64],
    mut read: impl FnMut(i64) -> Result<AlembicFrame>,
) -> Result<()> {
    let mut file = Ogawa { out, at: 0, seen: HashMap::new() };
    let failed = |e: io::Error| Error::Io { path: "Alembic".into(), message: e.to_string() };
    file.begin().map_err(failed)?;
    let kinds = content.properties();
    // The places of every sample, property by property.
    let mut places = vec![Vec::new(); kinds.len()];
    for frame in frames {
        let shown = read(*frame)?;
        for (kind, places) in kinds.iter().zip(&mut places) {
            file.sample(kind, &shown, places).map_err(failed)?;
        }
    }
    file.end(content, name, &places, &times(fps, frames), frames.len() as u32).map_err(failed)
}

/// The time samplings: one of everything that never changes, and ours.
fn times(fps: f64, frames: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sampling = |most: u32, cycle: f64, stored: &[f64]| {
        bytes.extend(most.to_le_bytes());
        bytes.extend(cycle.to_le_bytes());
        bytes.extend((stored.len() as u32).to_le_bytes());
        stored.iter().for_each(|t| bytes.extend(t.to_le_bytes()));
    };
    sampling(0, 1.0, &[0.0]);
    let count = frames.len() as u32;
    let at = |f: &i64| *f as f64 / fps;
    let step = frames.windows(2).map(|w| w[1] - w[0]).next().unwrap_or(1);
    match frames.windows(2).all(|w| w[1] - w[0] == step) {
        true => sampling(count, step as f64 / fps, &[frames.first().map_or(0.0, at)]),
        // The length of a cycle that says there is none.
        false => sampling(count, f64::MAX / 32.0, &frames.iter().map(at).collect::<Vec<_>>()),
    }
    bytes
}

struct Ogawa<'a, W: Write + Seek> {
    out: &'a mut W,
    at: u64,
    /// Where samples stand, by hash and length.
    seen: HashMap<([u8; 16], usize), u64>,
}

impl<W: Write + Seek> Ogawa<'_, W> {
    fn begin(&mut self) -> io::Result<()> {
        // Not yet whole; the last bytes written make it so.
        self.put(b"Ogawa\x00\x00\x01")?;
        self.put(&0u64.to_le_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn data(&mut self, bytes: &[u8]) -> io::Result<u64> {
        if bytes.is_empty() {
            return Ok(DATA);
        }
        let place = self.at | DATA;
        self.put(&(bytes.len() as u64).to_le_bytes())?;
        self.put(bytes)?;
        Ok(place)
    }

    fn group(&mut self, children: &[u64]) -> io::Result<u64> {
        if children.is_empty() {
            return Ok(0);
        }
        let place = self.at;
        self.put(&(children.len() as u64).to_le_bytes())?;
        for child in children {
            self.put(&child.to_le_bytes())?;
        }
        Ok(place)
    }

    /// One frame of a property.
    fn sample(&mut self, kind: &Kind, shown: &AlembicFrame, places: &mut Vec<u64>) -> io::Result<()> {
        let values = values(kind, shown);
        let key = (hash(&values), values.len());
        let place = match self.seen.get(&key) {
            Some(place) => *place,
            None => {
                let place = self.data(&[&key.0[..], &values].concat())?;
                self.seen.insert(key, place);
                place
            }
        };
        places.push(place);
        if kind.shape == 2 {
            places.push(DATA);
        }
        Ok(())
    }

    fn end(
        &mut self,
        content: Content,
        name: &str,
        places: &[Vec<u64>],
        times: &[u8],
        samples: u32,
    ) -> io::Result<()> {
        let mut children = Vec::new();
        let mut headers = Vec::new();
        for (kind, places) in content.properties().iter().zip(places) {
            children.push(self.group(places)?);
            header(kind, samples, &mut headers);
        }
        children.push(self.data(&headers)?);
        let geometry = self.group(&children)?;
        let mut headers = (SCHEMA << 20).to_le_bytes().to_vec();
        headers.push(5);
        headers.extend(b".geom");
        let headers = self.data(&headers)?;
        let properties = self.group(&[geometry, headers])?;
        let sum = [hash(name.as_bytes()), hash(times)].concat();
        let none = self.data(&sum)?;
        let own = self.group(&[properties, none])?;
        let mut names = (name.len() as u32).to_le_bytes().to_vec();
        names.extend(name.as_bytes());
        names.push(OBJECT);
        names.extend(&sum);
        let names = self.data(&names)?;
        let top = self.group(&[0, own, names])?;
        let version = self.data(&0u32.to_le_bytes())?;
        let library = self.data(&LIBRARY.to_le_bytes())?;
        let about = self.data(concat!("_ai_Application=Meniscus ", env!("CARGO_PKG_VERSION")).as_bytes())?;
        let times = self.data(times)?;
        let words = COMMON.into_iter().chain(content.words());
        let words: Vec<u8> = words.flat_map(|w| [&[w.len() as u8], w.as_bytes()].concat()).collect();
        let words = self.data(&words)?;
        let root = self.group(&[version, library, top, about, times, words])?;
        self.out.seek(SeekFrom::Start(8))?;
        self.out.write_all(&root.to_le_bytes())?;
        self.out.seek(SeekFrom::Start(5))?;
        self.out.write_all(&[0xff])?;
        self.out.seek(SeekFrom::End(0)).map(|_| ())
    }
}

/// How a property describes itself: kind, samples, which of the times, name.
fn header(kind: &Kind, samples: u32, out: &mut Vec<u8>) {
    let hint = match samples {
        0..=255 => 0,
        256..=65535 => 1,
        _ => 2u32,
    };
    // Values of one size, which a list need not have, and nothing that changes if there is one frame.
    let even = if kind.shape == 1 { 0x400 } else { 0 };
    let constant = if samples <= 1 { 0x800 } else { 0 };
    let info = kind.shape
        | hint << 2
        | kind.pod << 4
        | 0x100
        | even
        | constant
        | kind.width << 12
        | kind.words << 20;
    out.extend(info.to_le_bytes());
    let mut number = |n: u32| out.extend(&n.to_le_bytes()[..1 << hint]);
    number(samples);
    number(1);
    number(kind.name.len() as u32);
    out.extend(kind.name.as_bytes());
}

/// The values of a property in one frame.
fn values(kind: &Kind, shown: &AlembicFrame) -> Vec<u8> {
    let mesh = &shown.mesh;
    let floats = |v: &mut dyn Iterator<Item = f32>| v.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    match kind.name {
        ".selfBnds" => {
            let bounds = match mesh.positions.is_empty() {
                true => Aabb::new(Vec3::zeros(), Vec3::zeros()),
                false => Aabb::of_points(&mesh.positions),
            };
            bounds.lo.iter().chain(bounds.hi.iter()).flat_map(|c| c.to_le_bytes()).collect()
        }
        "P" => floats(&mut mesh.positions.iter().flat_map(|p| [p.x as f32, p.y as f32, p.z as f32])),
        ".faceIndices" => {
            let clockwise = mesh.triangles.iter().flat_map(|t| [t[0], t[2], t[1]]);
            clockwise.flat_map(|i| (i as i32).to_le_bytes()).collect()
        }
        ".faceCounts" => mesh.triangles.iter().flat_map(|_| 3i32.to_le_bytes()).collect(),
        ".velocities" => {
            match mesh.attribute("velocity").filter(|a| a.data.len() == 3 * mesh.positions.len()) {
                Some(velocity) => floats(&mut velocity.data.iter().copied()),
                None => vec![0; 12 * mesh.positions.len()],
            }
        }
        _ => shown.id.iter().copied().flat_map(u64::to_le_bytes).collect(),
    }
}

/// Sixteen bytes by which readers know equal samples; nobody computes them again.
fn hash(bytes: &[u8]) -> [u8; 16] {
    let mix = |seed: u64| {
        let word =
            |part: &[u8]| u64::from_le_bytes(std::array::from_fn(|i| part.get(i).copied().unwrap_or(0)));
        let start = seed ^ (bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let folded = bytes.chunks(8).fold(start, |h, part| {
            (h ^ word(part)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29).wrapping_add(seed)
        });
        (folded ^ folded >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
    };
    let mut both = [0; 16];
    both[..8].copy_from_slice(&mix(0x243f_6a88_85a3_08d3).to_le_bytes());
    both[8..].copy_from_slice(&mix(0x1319_8a2e_0370_7344).to_le_bytes());
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn the_file_is_frozen_and_its_root_has_six_children() {
        let mesh = TriMesh::cuboid(Vec3::zeros(), Vec3::repeat(1.0));
        let mut out = Cursor::new(Vec::new());
        write(&mut out, Content::Mesh, "liquid", 24.0, &[1, 2, 4], |_| Ok(mesh.clone().into())).unwrap();
        let bytes = out.into_inner();
        assert!(bytes.starts_with(b"Ogawa\xff\x00\x01"));
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let root = number(8) as usize;
        assert_eq!((number(root), bytes.len()), (6, root + 8 * 7));
        let library = (number(root + 16) & !DATA) as usize;
        assert_eq!((number(library), number(library + 8) as u32), (4, LIBRARY));
    }

    #[test]
    fn equal_samples_have_equal_hashes_and_others_not() {
        assert_eq!(hash(b"liquid"), hash(b"liquid"));
        let all: std::collections::BTreeSet<[u8; 16]> =
            (0..1000u32).map(|i| hash(&i.to_le_bytes())).collect();
        assert_eq!(all.len(), 1000);
        assert_ne!(hash(b"a"), hash(b"a\0"));
    }
}
