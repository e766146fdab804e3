//! The reader: finds the first mesh or set of points, then reads the sample of a frame when asked for it.
//!
//! Nothing is believed: every place and size is checked against the bytes before it is used, and a group is
//! entered to a bounded depth, so no file makes the reader run on or allocate more than it holds.

use super::{AlembicFrame, Content, DATA};
use crate::error::{Error, Result};
use crate::geometry::{Attribute, TriMesh};
use crate::io::mesh::Polygons;
use crate::io::points::vectors;

/// Objects within objects; deeper ones are not looked for.
const DEEPEST: usize = 32;
/// Objects looked at in all, so that groups that name each other end.
const MOST_OBJECTS: usize = 10_000;
/// More frames than any shot has; a file that never changes may claim as many as it likes.
const MOST_FRAMES: usize = 1 << 20;

/// Whether bytes begin as an Alembic file of this kind does.
pub fn is_alembic(bytes: &[u8]) -> bool {
    bytes.starts_with(b"Ogawa")
}

/// An open file.
pub struct Alembic<'a> {
    content: Content,
    file: Ogawa<'a>,
    name: String,
    properties: Vec<Property>,
    carried: Vec<Property>,
    frames: Vec<i64>,
    fps: f64,
}

impl<'a> Alembic<'a> {
    /// Open a file from its bytes; `name` is its name, for errors.
    pub fn open(name: &str, bytes: &'a [u8]) -> Result<Self> {
        let damaged = || fault(name, "the file is damaged or not closed");
        let file = Ogawa(bytes);
        let root = file.root().ok_or_else(damaged)?;
        let words = Words::read(file.data_at(root, 5).ok_or_else(damaged)?).ok_or_else(damaged)?;
        let top = file.child(root, 2).ok_or_else(damaged)?;
        let mut search = Search { file, words: &words, left: MOST_OBJECTS, moved: false };
        let Some((content, object)) = search.below(top, DEEPEST) else {
            return Err(match search.moved {
                true => fault(name, "what it holds stands below a transform: bake that into the points"),
                false => fault(name, "holds neither a mesh nor points"),
            });
        };
        let all = file.child(object, 0).and_then(|p| file.properties(p, &words)).ok_or_else(damaged)?;
        let geometry = all.iter().find(|p| p.name == ".geom").ok_or_else(damaged)?;
        let properties = file.properties(geometry.place, &words).ok_or_else(damaged)?;
        let carried = match properties.iter().find(|p| p.name == ".arbGeomParams") {
            Some(p) => file.properties(p.place, &words).ok_or_else(damaged)?,
            None => Vec::new(),
        };
        let position = properties.iter().find(|p| p.name == "P").ok_or_else(damaged)?;
        let (frames, fps) = file
            .data_at(root, 4)
            .and_then(|times| frames(times, position.times, position.samples))
            .ok_or_else(damaged)?;
        Ok(Self { content, file, name: name.into(), properties, carried, frames, fps })
    }

    pub fn content(&self) -> Content {
        self.content
    }

    /// The frames that it has, by their times.
    pub fn frames(&self) -> &[i64] {
        &self.frames
    }

    /// Frames a second; 24 if there is one frame only.
    pub fn fps(&self) -> f64 {
        self.fps
    }

    /// The frame at a place in [`Self::frames`].
    pub fn read(&self, at: usize) -> Result<AlembicFrame> {
        let frame = self.sample(at).ok_or_else(|| {
            let frame = self.frames.get(at).copied().unwrap_or_default();
            fault(&self.name, &format!("frame {frame} is damaged, or of a kind that is not read here"))
        })?;
        frame.mesh.check(&self.name)?;
        Ok(frame)
    }

    fn sample(&self, at: usize) -> Option<AlembicFrame> {
        let get = |name: &str| self.properties.iter().find(|p| p.name == name);
        let positions = vectors(&floats(self.file.values(get("P")?, FLOAT, at)?));
        let n = positions.len();
        let mut mesh = TriMesh::new(positions, Vec::new());
        let mut id = Vec::new();
        match self.content {
            Content::Mesh => {
                let whole = |name| {
                    let bytes = self.file.values(get(name)?, INT, at)?;
                    Some(
                        bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
                    )
                };
                let (counts, corners): (Vec<i32>, Vec<i32>) = (whole(".faceCounts")?, whole(".faceIndices")?);
                mesh.triangles = Polygons::of(&counts, &corners, n)?.triangulate(&mesh.positions);
                mesh.triangles.iter_mut().for_each(|t| t.swap(1, 2));
            }
            Content::Points => {
                let bytes = self.file.values(get(".pointIds")?, LONG, at)?;
                id.extend(bytes.chunks_exact(8).map(eight));
                if id.len() != n {
                    return None;
                }
            }
        }
        let own = get(".velocities").map(|p| ("velocity", p));
        for (name, property) in own.into_iter().chain(self.carried.iter().map(|p| (p.name.as_str(), p))) {
            // A group of values and indices, or values that sit elsewhere.
            let Some(bytes) = self.file.values(property, FLOAT, at) else { continue };
            let data = floats(bytes);
            if n > 0 && !data.is_empty() && data.len().is_multiple_of(n) {
                mesh.attributes.push(Attribute { name: name.into(), width: data.len() / n, data });
            }
        }
        Some(AlembicFrame { mesh, id })
    }
}

const INT: u32 = 6;
const LONG: u32 = 7;
const FLOAT: u32 = 10;

fn fault(file: &str, message: &str) -> Error {
    Error::Format { file: file.into(), place: "Alembic".into(), message: message.into() }
}

fn eight(b: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| b.get(i).copied().unwrap_or(0)))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// What a property holds and where.
#[derive(Clone, Debug)]
struct Property {
    name: String,
    place: u64,
    /// 0 for a group, 1 for a value, else a list.
    shape: u32,
    pod: u32,
    samples: usize,
    /// Samples before the first that differs from sample 0, and after the last, are not stored.
    changes: (usize, usize),
    times: usize,
}

impl Property {
    /// Which of the stored samples is shown at a place in time.
    fn stored(&self, at: usize) -> usize {
        let (first, last) = self.changes;
        match at {
            _ if first == 0 || at < first => 0,
            _ => at.min(last) - first + 1,
        }
    }
}

/// Reads forward and never past the end.
struct Forward<'a>(&'a [u8]);

impl<'a> Forward<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    /// A number of one, two or four bytes.
    fn number(&mut self, bytes: usize) -> Option<u32> {
        let b = self.bytes(bytes)?;
        Some(u32::from_le_bytes(std::array::from_fn(|i| b.get(i).copied().unwrap_or(0))))
    }

    fn double(&mut self) -> Option<f64> {
        self.bytes(8).map(|b| f64::from_bits(eight(b)))
    }

    fn text(&mut self, n: usize) -> Option<String> {
        self.bytes(n).map(|b| String::from_utf8_lossy(b).into_owned())
    }
}

/// What headers say of themselves by number, or in full.
struct Words(Vec<String>);

impl Words {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut at = Forward(bytes);
        let mut all = vec![String::new()];
        while !at.0.is_empty() {
            let n = at.number(1)? as usize;
            all.push(at.text(n)?);
        }
        Some(Self(all))
    }

    /// Those of a number; 255 says that they follow, after their length.
    fn next(&self, number: u32, at: &mut Forward, length: usize) -> Option<String> {
        if number == 0xff {
            let n = at.number(length)? as usize;
            return at.text(n);
        }
        self.0.get(number as usize).cloned()
    }
}

#[derive(Clone, Copy)]
struct Ogawa<'a>(&'a [u8]);

impl<'a> Ogawa<'a> {
    fn root(self) -> Option<u64> {
        // The sixth byte says that the file was closed.
        (self.0.get(5) == Some(&0xff)).then(|| self.0.get(8..16).map(eight)).flatten()
    }

    /// How many children a group has; none at place 0.
    fn count(self, group: u64) -> Option<u64> {
        if group == 0 {
            return Some(0);
        }
        let at = usize::try_from(group).ok().filter(|_| group & DATA == 0)?;
        let count = self.0.get(at..at.checked_add(8)?).map(eight)?;
        let bytes = usize::try_from(count).ok()?.checked_mul(8)?;
        self.0.get(at + 8..(at + 8).checked_add(bytes)?).map(|_| count)
    }

    fn child(self, group: u64, index: u64) -> Option<u64> {
        let at = (index < self.count(group)?).then_some(group as usize + 8 + 8 * index as usize)?;
        self.0.get(at..at + 8).map(eight)
    }

    fn data(self, place: u64) -> Option<&'a [u8]> {
        let at = usize::try_from(place & !DATA).ok().filter(|_| place & DATA != 0)?;
        if at == 0 {
            return Some(&[]);
        }
        let size = usize::try_from(self.0.get(at..at.checked_add(8)?).map(eight)?).ok()?;
        self.0.get(at + 8..(at + 8).checked_add(size)?)
    }

    fn data_at(self, group: u64, index: u64) -> Option<&'a [u8]> {
        self.data(self.child(group, index)?)
    }

    /// The properties of a group; its last child describes the others.
    fn properties(self, group: u64, words: &Words) -> Option<Vec<Property>> {
        let count = self.count(group)?;
        let mut all = Vec::new();
        if count == 0 {
            return Some(all);
        }
        let mut at = Forward(self.data_at(group, count - 1)?);
        while !at.0.is_empty() {
            let info = at.number(4)?;
            let length = 1 << (info >> 2 & 3);
            let mut property = Property {
                name: String::new(),
                place: self.child(group, all.len() as u64)?,
                shape: info & 3,
                pod: info >> 4 & 15,
                samples: 0,
                changes: (0, 0),
                times: 0,
            };
            if property.shape != 0 {
                property.samples = at.number(length)? as usize;
                property.changes = match (info & 0x200 != 0, info & 0x800 != 0) {
                    (true, _) => (at.number(length)? as usize, at.number(length)? as usize),
                    (_, true) => (0, 0),
                    _ => (1, property.samples.saturating_sub(1)),
                };
                if info & 0x100 != 0 {
                    property.times = at.number(length)? as usize;
                }
            }
            let n = at.number(length)? as usize;
            property.name = at.text(n)?;
            words.next(info >> 20 & 0xff, &mut at, length)?;
            all.push(property);
        }
        Some(all)
    }

    /// The values of a list at a place in time, without their hash; nothing if they are of another kind.
    fn values(self, property: &Property, pod: u32, at: usize) -> Option<&'a [u8]> {
        if property.shape < 2 || property.pod != pod || at >= property.samples {
            return None;
        }
        let bytes = self.data_at(property.place, 2 * property.stored(at) as u64)?;
        if bytes.is_empty() { Some(bytes) } else { bytes.get(16..) }
    }
}

struct Search<'a> {
    file: Ogawa<'a>,
    words: &'a Words,
    /// Objects that may still be looked at.
    left: usize,
    /// Whether something stands below a transform.
    moved: bool,
}

impl Search<'_> {
    /// The first mesh or set of points among the children of an object, or below them.
    fn below(&mut self, object: u64, depth: usize) -> Option<(Content, u64)> {
        let count = self.file.count(object)?;
        let headers = self.file.data_at(object, count.checked_sub(1)?)?;
        let mut at = Forward(headers.get(..headers.len().checked_sub(32)?)?);
        let mut index = 1;
        while !at.0.is_empty() && self.left > 0 {
            self.left -= 1;
            let n = at.number(4)? as usize;
            at.bytes(n)?;
            let number = at.number(1)?;
            let words = self.words.next(number, &mut at, 4)?;
            let child = self.file.child(object, index)?;
            index += 1;
            if words.contains("AbcGeom_PolyMesh_v") {
                return Some((Content::Mesh, child));
            }
            if words.contains("AbcGeom_Points_v") {
                return Some((Content::Points, child));
            }
            if words.contains("AbcGeom_Xform_v") {
                self.moved = true;
            } else if let (Some(found), true) = (self.below(child, depth.saturating_sub(1)), depth > 0) {
                return Some(found);
            }
        }
        None
    }
}

/// The frames of a sampling in time and how many there are a second. Times without a cycle are numbered by the
/// shortest step between them.
fn frames(bytes: &[u8], which: usize, samples: usize) -> Option<(Vec<i64>, f64)> {
    let mut at = Forward(bytes);
    if samples > MOST_FRAMES {
        return None;
    }
    for index in 0.. {
        at.number(4)?;
        let cycle = at.double()?;
        let stored = at.number(4)? as usize;
        if at.0.len() < stored.checked_mul(8)? {
            return None;
        }
        let times: Vec<f64> = (0..stored).filter_map(|_| at.double()).collect();
        if index < which {
            continue;
        }
        let first = *times.first()?;
        let steps = times.windows(2).map(|w| w[1] - w[0]);
        let uniform = stored == 1 && samples > 1;
        let step = if uniform { cycle } else { steps.fold(f64::INFINITY, f64::min) };
        let step = if step > 1e-6 && step < 1e6 { step } else { 1.0 / 24.0 };
        let time = |i: usize| match uniform {
            true => first + i as f64 * step,
            false => times.get(i).copied().unwrap_or(first + i as f64 * step),
        };
        return Some(((0..samples).map(|i| (time(i) / step).round() as i64).collect(), 1.0 / step));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use std::io::Cursor;

    fn moved(frame: i64) -> AlembicFrame {
        let mut mesh = TriMesh::cuboid(Vec3::zeros(), Vec3::new(1.0, 2.0, 3.0 + frame as f64));
        let n = mesh.positions.len();
        let data = |width: usize| (0..n * width).map(|i| i as f32 * 0.25 + frame as f32).collect();
        mesh.attributes = [("velocity", 3), ("age", 1), ("Cd", 3), ("four", 4)]
            .map(|(name, width)| Attribute { name: name.into(), width, data: data(width) })
            .to_vec();
        mesh.into()
    }

    fn file(frames: &[i64], read: impl Fn(i64) -> AlembicFrame) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        super::super::write(&mut out, Content::Mesh, "liquid", 24.0, frames, |f| Ok(read(f))).unwrap();
        out.into_inner()
    }

    #[test]
    fn a_shot_comes_back_as_it_was() {
        let list: [i64; 3] = [-2, -1, 0];
        let bytes = file(&list, moved);
        let shot = Alembic::open("shot.abc", &bytes).unwrap();
        assert_eq!((shot.content(), shot.frames()), (Content::Mesh, &list[..]));
        assert!((shot.fps() - 24.0).abs() < 1e-9);
        for (i, frame) in list.iter().enumerate() {
            assert_eq!(shot.read(i).unwrap(), moved(*frame));
        }
    }

    #[test]
    fn frames_without_liquid_come_before_those_with_it() {
        let read = |frame: i64| if frame < 3 { AlembicFrame::default() } else { moved(frame) };
        let bytes = file(&[1, 2, 3, 7], read);
        let shot = Alembic::open("shot.abc", &bytes).unwrap();
        assert_eq!(shot.frames(), [1, 2, 3, 7]);
        assert!(shot.read(0).unwrap().mesh.positions.is_empty());
        assert_eq!(shot.read(3).unwrap(), moved(7));
    }

    #[test]
    fn no_bytes_break_the_reader() {
        let bytes = file(&[1, 2], moved);
        for end in 0..bytes.len() {
            assert!(Alembic::open("short", &bytes[..end]).is_err(), "cut at {end}");
        }
        let mut random = 12345u64;
        for _ in 0..20_000 {
            let mut other = bytes.clone();
            for _ in 0..3 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (random >> 33) as usize % other.len();
                other[at] = (random >> 20) as u8;
            }
            if let Ok(shot) = Alembic::open("flipped", &other) {
                (0..shot.frames().len().min(4)).for_each(|i| drop(shot.read(i)));
            }
        }
    }
}
