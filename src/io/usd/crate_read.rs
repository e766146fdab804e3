//! Reads meshes out of binary USD, as far as [`super::crate_write`] goes and a little further: the first
//! mesh of a file, at its first time, with polygons of any size.
//!
//! Every offset and size is checked before it is used; a damaged file is refused and never misread.

use super::crate_write::{ARRAY, COMPRESSED, IDENT, INLINED, MIN_COMPRESSED, kind, spec};
use super::integers::{unpack, unpack_bytes};
use crate::error::{Error, Result};
use crate::geometry::{Attribute, TriMesh};
use crate::io::mesh::Polygons;
use crate::math::Vec3;
use std::collections::BTreeMap;

/// The first mesh of a file.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    let fault = |message: &str| Error::Format {
        file: file.into(),
        place: "binary USD".into(),
        message: message.into(),
    };
    let layer =
        Crate::open(bytes).ok_or_else(|| fault("the file is damaged, or uses what is not read here"))?;
    let mesh = layer.mesh().ok_or_else(|| fault("it holds no mesh, or a damaged one"))?;
    mesh.check(file)?;
    Ok(mesh)
}

/// Properties of prims: where their values stand.
struct Crate<'a> {
    bytes: &'a [u8],
    tokens: Vec<String>,
    /// Names of attributes by the prim they belong to, with the representation of the value.
    attributes: BTreeMap<usize, BTreeMap<String, u64>>,
    /// Prims that are meshes, in the order of the file.
    meshes: Vec<usize>,
}

/// Reads forward and never past the end.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let part = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(part)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    /// Packed numbers with their size before them.
    fn packed(&mut self, n: usize) -> Option<Vec<i32>> {
        let size = self.size()?;
        unpack(self.take(size)?, n)
    }
}

impl<'a> Crate<'a> {
    fn open(bytes: &'a [u8]) -> Option<Self> {
        // Versions before 0.7 have other arrays; later ones add types, which are skipped.
        if bytes.get(..8)? != IDENT || bytes.get(8)? != &0 || !(7..=13).contains(bytes.get(9)?) {
            return None;
        }
        let contents = Cursor { bytes, at: 16 }.size()?;
        let mut cursor = Cursor { bytes, at: contents };
        let mut sections = BTreeMap::new();
        for _ in 0..cursor.u64()?.min(64) {
            let name = cursor.take(16)?;
            let (start, size) = (cursor.size()?, cursor.size()?);
            let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
            sections.insert(name, Cursor { bytes: bytes.get(..start.checked_add(size)?)?, at: start });
        }
        let section = |name: &str| sections.get(name).copied();
        let tokens = tokens(section("TOKENS")?)?;
        let fields = fields(section("FIELDS")?)?;
        let sets = counted(section("FIELDSETS")?)?;
        let tree = tree(section("PATHS")?)?;
        let mut layer = Crate { bytes, tokens, attributes: BTreeMap::new(), meshes: Vec::new() };
        layer.specs(section("SPECS")?, &fields, &sets, &tree)?;
        Some(layer)
    }

    fn word(&self, index: usize) -> Option<&str> {
        self.tokens.get(index).map(String::as_str)
    }

    fn specs(&mut self, mut at: Cursor, fields: &[(u32, u64)], sets: &[i32], tree: &[Place]) -> Option<()> {
        let n = at.size()?;
        let (paths, starts, kinds) = (at.packed(n)?, at.packed(n)?, at.packed(n)?);
        let places: BTreeMap<i32, &Place> = tree.iter().map(|p| (p.path, p)).collect();
        for i in 0..n {
            let set = sets.get(usize::try_from(starts[i]).ok()?..)?;
            let own = set.iter().take_while(|f| **f >= 0);
            let own: Option<Vec<(u32, u64)>> = own.map(|f| fields.get(*f as usize).copied()).collect();
            let own = own?;
            let field = |name: &str| own.iter().find(|f| self.word(f.0 as usize) == Some(name)).map(|f| f.1);
            let place = places.get(&paths[i])?;
            if kinds[i] == spec::PRIM {
                let word = field("typeName").and_then(|rep| self.word((rep & 0xffff_ffff) as usize));
                if word == Some("Mesh") {
                    self.meshes.push(place.path as usize);
                }
            } else if kinds[i] == spec::ATTRIBUTE {
                let value = match (field("timeSamples"), field("default")) {
                    (Some(samples), _) => self.first_sample(samples),
                    (None, value) => value,
                };
                let name = self.word(place.element.unsigned_abs() as usize)?.to_string();
                if let (Some(value), Some(parent)) = (value, place.parent) {
                    self.attributes.entry(parent).or_default().insert(name, value);
                }
            }
        }
        self.meshes.sort_unstable();
        Some(())
    }

    fn at(&self, rep: u64) -> Cursor<'a> {
        Cursor { bytes: self.bytes, at: (rep & 0xffff_ffff_ffff) as usize }
    }

    fn first_sample(&self, rep: u64) -> Option<u64> {
        let mut at = self.at(rep);
        for _ in 0..2 {
            let start = at.at;
            let jump = at.size()?;
            at.at = start.checked_add(jump)?;
            if at.at == start {
                return None;
            }
            // The times, then the number of values.
            at.u64()?;
        }
        at.u64()
    }

    fn kind(rep: u64) -> (u64, bool, bool) {
        (rep >> 48 & 0xff, rep & ARRAY != 0 && rep & INLINED == 0, rep & COMPRESSED != 0)
    }

    fn ints(&self, rep: u64) -> Option<Vec<i32>> {
        let (kind_, array, compressed) = Self::kind(rep);
        if kind_ != kind::INT || !array {
            return None;
        }
        let mut at = self.at(rep);
        if at.at == 0 {
            return Some(Vec::new());
        }
        let n = at.size()?;
        if compressed && n >= MIN_COMPRESSED {
            return at.packed(n);
        }
        let data = at.take(n.checked_mul(4)?)?;
        Some(data.chunks_exact(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
    }

    /// Floats of any width, one after another, and the width.
    fn floats(&self, rep: u64) -> Option<(Vec<f32>, usize)> {
        let (kind_, array, compressed) = Self::kind(rep);
        let width = match kind_ {
            kind::FLOAT => 1,
            kind::VEC2F => 2,
            kind::VEC3F => 3,
            _ => return None,
        };
        let mut at = self.at(rep);
        if !array {
            return None;
        }
        if at.at == 0 {
            return Some((Vec::new(), width));
        }
        let n = at.size()?;
        if compressed && n >= MIN_COMPRESSED {
            return Some((self.packed_floats(at, n)?, width));
        }
        let data = at.take(n.checked_mul(4 * width)?)?;
        Some((data.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect(), width))
    }

    fn packed_floats(&self, mut at: Cursor, n: usize) -> Option<Vec<f32>> {
        match at.take(1)? {
            b"i" => Some(at.packed(n)?.iter().map(|i| *i as f32).collect()),
            b"t" => {
                let size = at.u32()? as usize;
                let table = at.take(size.checked_mul(4)?)?;
                let value = |i: &i32| {
                    let from = 4 * usize::try_from(*i).ok()?;
                    Some(f32::from_le_bytes(*table.get(from..)?.first_chunk()?))
                };
                at.packed(n)?.iter().map(value).collect()
            }
            _ => None,
        }
    }

    fn mesh(&self) -> Option<TriMesh> {
        let own = self.attributes.get(self.meshes.first()?)?;
        let (points, 3) = self.floats(*own.get("points")?)? else { return None };
        let positions: Vec<Vec3> =
            points.chunks_exact(3).map(|c| Vec3::new(c[0].into(), c[1].into(), c[2].into())).collect();
        let counts = self.ints(*own.get("faceVertexCounts")?)?;
        let corners = self.ints(*own.get("faceVertexIndices")?)?;
        let mut polygons = Polygons::default();
        let mut rest = &corners[..];
        for n in counts {
            let (face, after) = rest.split_at_checked(usize::try_from(n).ok()?)?;
            for corner in face {
                let vertex = u32::try_from(*corner).ok().filter(|v| (*v as usize) < positions.len())?;
                polygons.push_corner(vertex);
            }
            polygons.end_polygon();
            rest = after;
        }
        let triangles = polygons.triangulate(&positions);
        let mut mesh = TriMesh::new(positions, triangles);
        for (name, rep) in own {
            let known = match name.as_str() {
                "velocities" => "velocity",
                "normals" => "normal",
                "primvars:displayColor" => "color",
                "primvars:st" => "uv",
                other => other.strip_prefix("primvars:").unwrap_or(""),
            };
            let value = self.floats(*rep).filter(|_| !known.is_empty());
            // Values that sit elsewhere than on vertices are left out.
            if let Some((data, _)) =
                value.filter(|(d, _)| !d.is_empty() && d.len().is_multiple_of(mesh.positions.len()))
            {
                let width = data.len() / mesh.positions.len();
                mesh.attributes.push(Attribute { name: known.into(), width, data });
            }
        }
        Some(mesh)
    }
}

fn tokens(mut at: Cursor) -> Option<Vec<String>> {
    let (n, size, packed) = (at.size()?, at.size()?, at.size()?);
    let text = unpack_bytes(at.take(packed)?, size)?;
    let words: Vec<String> =
        text.split(|b| *b == 0).take(n).map(|w| String::from_utf8_lossy(w).into_owned()).collect();
    (words.len() == n).then_some(words)
}

fn fields(mut at: Cursor) -> Option<Vec<(u32, u64)>> {
    let n = at.size()?;
    let words = at.packed(n)?;
    let size = at.size()?;
    let reps = unpack_bytes(at.take(size)?, n.checked_mul(8)?)?;
    let rep = |c: &[u8]| c.first_chunk().map(|c| u64::from_le_bytes(*c));
    words.iter().zip(reps.chunks_exact(8)).map(|(w, c)| Some((*w as u32, rep(c)?))).collect()
}

fn counted(mut at: Cursor) -> Option<Vec<i32>> {
    let n = at.size()?;
    at.packed(n)
}

/// A path: its number, the number of its parent, the word of its last element.
struct Place {
    path: i32,
    parent: Option<usize>,
    element: i32,
}

fn tree(mut at: Cursor) -> Option<Vec<Place>> {
    at.size()?;
    let n = at.size()?;
    let (paths, elements, jumps) = (at.packed(n)?, at.packed(n)?, at.packed(n)?);
    let mut places = Vec::with_capacity(n);
    // Runs that are still to be followed: where, and below which path. Each place is met once.
    let mut ahead = vec![(0usize, None)];
    while let Some((mut i, mut parent)) = ahead.pop() {
        loop {
            let (path, jump) = (*paths.get(i)?, *jumps.get(i)?);
            places.push(Place { path, parent, element: *elements.get(i)? });
            if places.len() > n || path < 0 {
                return None;
            }
            if jump > 0 {
                ahead.push((i.checked_add(jump as usize)?, parent));
            }
            match jump {
                -2 => break,
                0 => {}
                _ => parent = Some(path as usize),
            }
            i += 1;
        }
    }
    Some(places)
}
