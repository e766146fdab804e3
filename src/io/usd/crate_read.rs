//! Reads the attributes of a prim out of binary USD, as far as [`super::crate_write`] goes and a little further: the
//! first prim of a type, at its first time.
//!
//! Every offset and size is checked before it is used; a damaged file is refused and never misread.

use super::assemble::{Numbers, Values};
use super::crate_write::{ARRAY, COMPRESSED, IDENT, INLINED, MIN_COMPRESSED, kind, spec};
use super::integers::{unpack, unpack_bytes, unpack_long};
use std::collections::BTreeMap;

/// The attributes of the first prim of a type; the inner nothing if there is none, the outer if the file is damaged.
pub(super) fn find(bytes: &[u8], kind: &str) -> Option<Option<Values>> {
    let layer = Crate::open(bytes, kind)?;
    let Some(prim) = layer.prims.first() else { return Some(None) };
    let Some(own) = layer.attributes.get(prim) else { return Some(None) };
    let mut values = Values::new();
    for (name, rep) in own {
        // What is neither is left out: it is not geometry. What is and cannot be read makes the file damaged.
        let numbers = match Crate::kind(*rep).0 {
            kind::INT => Numbers::Whole(layer.ints(*rep)?.into_iter().map(i64::from).collect()),
            kind::INT64 => Numbers::Whole(layer.longs(*rep)?),
            kind::FLOAT | kind::VEC2F | kind::VEC3F if Crate::kind(*rep).1 => {
                let (values, width) = layer.floats(*rep)?;
                Numbers::Real(values, width)
            }
            _ => continue,
        };
        values.insert(name.clone(), numbers);
    }
    Some(Some(values))
}

/// Properties of prims: where their values stand.
struct Crate<'a> {
    bytes: &'a [u8],
    tokens: Vec<String>,
    /// Names of attributes by the prim they belong to, with the representation of the value.
    attributes: BTreeMap<usize, BTreeMap<String, u64>>,
    /// Prims of the type that is looked for, in the order of the file.
    prims: Vec<usize>,
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
    fn open(bytes: &'a [u8], wanted: &str) -> Option<Self> {
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
        let mut layer = Crate { bytes, tokens, attributes: BTreeMap::new(), prims: Vec::new() };
        layer.specs(section("SPECS")?, &fields, &sets, &tree, wanted)?;
        Some(layer)
    }

    fn word(&self, index: usize) -> Option<&str> {
        self.tokens.get(index).map(String::as_str)
    }

    fn specs(
        &mut self,
        mut at: Cursor,
        fields: &[(u32, u64)],
        sets: &[i32],
        tree: &[Place],
        wanted: &str,
    ) -> Option<()> {
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
                if word == Some(wanted) {
                    self.prims.push(place.path as usize);
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
        self.prims.sort_unstable();
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

    fn longs(&self, rep: u64) -> Option<Vec<i64>> {
        let (_, array, compressed) = Self::kind(rep);
        let mut at = self.at(rep);
        if !array {
            return None;
        }
        if at.at == 0 {
            return Some(Vec::new());
        }
        let n = at.size()?;
        if compressed && n >= MIN_COMPRESSED {
            let size = at.size()?;
            return unpack_long(at.take(size)?, n);
        }
        let data = at.take(n.checked_mul(8)?)?;
        data.chunks_exact(8).map(|c| c.first_chunk().map(|c| i64::from_le_bytes(*c))).collect()
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
