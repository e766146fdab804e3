//! The writer: samples go out frame by frame, what describes them at the end.

use super::{AlembicFrame, Content, DATA};
use crate::error::{Error, Result};
use crate::geometry::Attribute;
use crate::math::{Aabb, Vec3};
use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};

/// The version of the reference library whose files these are like.
const LIBRARY: u32 = 10_800;
/// What a property holds.
#[derive(Clone, Debug)]
struct Kind {
    name: String,
    /// 1 for one value a frame, 2 for a list.
    shape: u32,
    /// 6 for i32, 7 for u64, 10 for f32, 11 for f64.
    pod: u32,
    /// Numbers in a value.
    width: u32,
    /// Numbers at a vertex, which may have several values.
    at_vertex: usize,
    /// What readers are told of it; nothing if empty.
    words: String,
}

fn kind(name: &str, shape: u32, pod: u32, width: u32, words: &str) -> Kind {
    Kind { name: name.into(), shape, pod, width, at_vertex: width as usize, words: words.into() }
}

/// A value at vertices besides place and velocity. Colours and vectors have types of their own, which turn and
/// shade as they should; other widths are lists of floats.
fn carried(a: &Attribute) -> Kind {
    let (width, interpretation) = match (a.width, a.name.as_str()) {
        (3, "Cd" | "color") => (3, "interpretation=rgb;"),
        (3, _) => (3, "interpretation=vector;"),
        _ => (1, ""),
    };
    let extent = a.width as u32 / width;
    let words = format!(
        "arrayExtent={extent};geoScope=vtx;{interpretation}isGeomParam=true;podExtent={width};podName=float32_t"
    );
    Kind { at_vertex: a.width, ..kind(&a.name, 2, 10, width, &words) }
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

    fn properties(self) -> Vec<Kind> {
        let bounds = kind(".selfBnds", 1, 11, 6, "interpretation=box");
        let position = kind("P", 2, 10, 3, "geoScope=vtx;interpretation=point");
        let velocity = kind(".velocities", 2, 10, 3, "interpretation=vector");
        match self {
            Content::Mesh => {
                let [indices, counts] = [".faceIndices", ".faceCounts"].map(|name| kind(name, 2, 6, 1, ""));
                vec![bounds, position, indices, counts, velocity]
            }
            Content::Points => vec![bounds, position, kind(".pointIds", 2, 7, 1, ""), velocity],
        }
    }
}

/// Write frames as one animated object called `name`. `read` is asked for each in turn. What the first frame with
/// vertices carries, all of them do; where a later one lacks it, it is zero.
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
    let mut own: Vec<Property> = content.properties().into_iter().map(Property::new).collect();
    let mut carried: Vec<Property> = Vec::new();
    for (count, frame) in frames.iter().enumerate() {
        let shown = read(*frame)?;
        if carried.is_empty() && !shown.mesh.positions.is_empty() {
            let others = shown.mesh.attributes.iter().filter(|a| a.name != "velocity" && a.width > 0);
            carried = others.map(|a| Property::new(self::carried(a))).collect();
            let empty = AlembicFrame::default();
            for property in &mut carried {
                (0..count).try_for_each(|_| file.sample(property, &empty)).map_err(failed)?;
            }
        }
        for property in own.iter_mut().chain(&mut carried) {
            file.sample(property, &shown).map_err(failed)?;
        }
    }
    let times = times(fps, frames);
    file.end(content, name, &own, &carried, &times, frames.len() as u32).map_err(failed)
}

/// A property and the places of its samples.
struct Property {
    kind: Kind,
    places: Vec<u64>,
}

impl Property {
    fn new(kind: Kind) -> Self {
        Self { kind, places: Vec::new() }
    }
}

/// Words that headers share, by number from 1; 0 is for none.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn number(&mut self, words: &str) -> u32 {
        if words.is_empty() {
            return 0;
        }
        let known = self.0.iter().position(|w| w == words);
        let at = known.unwrap_or_else(|| {
            self.0.push(words.into());
            self.0.len() - 1
        });
        at as u32 + 1
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|w| [&[w.len() as u8], w.as_bytes()].concat()).collect()
    }
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
    fn sample(&mut self, property: &mut Property, shown: &AlembicFrame) -> io::Result<()> {
        let values = values(&property.kind, shown);
        let key = (hash(&values), values.len());
        let place = match self.seen.get(&key) {
            Some(place) => *place,
            None => {
                let place = self.data(&[&key.0[..], &values].concat())?;
                self.seen.insert(key, place);
                place
            }
        };
        property.places.push(place);
        if property.kind.shape == 2 {
            property.places.push(DATA);
        }
        Ok(())
    }

    /// Properties under one name.
    fn compound(&mut self, inside: &[Property], samples: u32, words: &mut Words) -> io::Result<u64> {
        let mut children = Vec::new();
        let mut headers = Vec::new();
        for property in inside {
            children.push(self.group(&property.places)?);
            header(&property.kind, samples, words, &mut headers);
        }
        children.push(self.data(&headers)?);
        self.group(&children)
    }

    fn end(
        &mut self,
        content: Content,
        name: &str,
        own: &[Property],
        carried: &[Property],
        times: &[u8],
        samples: u32,
    ) -> io::Result<()> {
        let mut words = Words::default();
        let [schema, object] = content.words().map(|w| words.number(w));
        let mut children = Vec::new();
        let mut headers = Vec::new();
        for property in own {
            children.push(self.group(&property.places)?);
            header(&property.kind, samples, &mut words, &mut headers);
        }
        if !carried.is_empty() {
            children.push(self.compound(carried, samples, &mut words)?);
            headers.extend(compound_header(".arbGeomParams", 0));
        }
        children.push(self.data(&headers)?);
        let geometry = self.group(&children)?;
        let headers = self.data(&compound_header(".geom", schema))?;
        let properties = self.group(&[geometry, headers])?;
        let sum = [hash(name.as_bytes()), hash(times)].concat();
        let none = self.data(&sum)?;
        let own = self.group(&[properties, none])?;
        let mut names = (name.len() as u32).to_le_bytes().to_vec();
        names.extend(name.as_bytes());
        names.push(object as u8);
        names.extend(&sum);
        let names = self.data(&names)?;
        let top = self.group(&[0, own, names])?;
        let version = self.data(&0u32.to_le_bytes())?;
        let library = self.data(&LIBRARY.to_le_bytes())?;
        let about = self.data(concat!("_ai_Application=Meniscus ", env!("CARGO_PKG_VERSION")).as_bytes())?;
        let times = self.data(times)?;
        let words = self.data(&words.bytes())?;
        let root = self.group(&[version, library, top, about, times, words])?;
        self.out.seek(SeekFrom::Start(8))?;
        self.out.write_all(&root.to_le_bytes())?;
        self.out.seek(SeekFrom::Start(5))?;
        self.out.write_all(&[0xff])?;
        self.out.seek(SeekFrom::End(0)).map(|_| ())
    }
}

/// How a group of properties describes itself.
fn compound_header(name: &str, words: u32) -> Vec<u8> {
    [&(words << 20).to_le_bytes()[..], &[name.len() as u8], name.as_bytes()].concat()
}

/// How a property describes itself: kind, samples, which of the times, name.
fn header(kind: &Kind, samples: u32, words: &mut Words, out: &mut Vec<u8>) {
    let hint = match samples.max(kind.name.len() as u32) {
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
        | words.number(&kind.words) << 20;
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
    match kind.name.as_str() {
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
        ".pointIds" => shown.id.iter().copied().flat_map(u64::to_le_bytes).collect(),
        name => {
            let name = if name == ".velocities" { "velocity" } else { name };
            let numbers = kind.at_vertex * mesh.positions.len();
            match mesh.attribute(name).filter(|a| a.data.len() == numbers) {
                Some(a) => floats(&mut a.data.iter().copied()),
                None => vec![0; 4 * numbers],
            }
        }
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
    use crate::geometry::TriMesh;
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
