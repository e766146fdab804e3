//! Points as classic BGEO, version 5, which Houdini and Partio read: big endian, one record a point.
//!
//! ```text
//! "Bgeo" 'V' version 5, points, primitives, groups of points and primitives,
//! attributes of points, vertices, primitives and the whole              all of them 4 bytes
//! for each attribute: 2 bytes of length, name, 2 bytes of width, 4 bytes of type, a default a component
//! for each point: x y z w, then the attributes                          4 bytes each
//! 00 ff, the end of what holds for the whole
//! ```
//!
//! The reader takes any such file of points without groups, with attributes of points of these three types.
//! Type 0 is a float, 1 a whole number, 5 a vector, which turns with the geometry. Names are Houdini's: `v` is
//! velocity, `pscale` the radius, `id` stays with its point (its lower 31 bits). Checked by
//! tests/formats/read_back.py with pysplashsurf, which nobody here wrote.

use std::io::{self, Write};

use super::points::Points;
use crate::error::{Error, Result};
use crate::geometry::{Attribute, TriMesh};
use crate::math::Vec3;

/// Whether bytes begin as such a file does.
pub fn is_bgeo(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BgeoV")
}

/// Write points with `v`, `pscale`, `id` and whatever they carry.
pub fn write_points(points: &Points, out: &mut impl Write) -> io::Result<()> {
    let Points { position, velocity, id, radius, attributes } = points;
    let whole = |a: &&Attribute| a.data.len() == a.width * position.len() && (1..=16).contains(&a.width);
    let carried: Vec<&Attribute> = attributes.iter().filter(whole).collect();
    let count = i32::try_from(position.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "more points than BGEO can count"))?;
    out.write_all(b"BgeoV")?;
    for number in [5, count, 0, 0, 0, 3 + carried.len() as i32, 0, 0, 0] {
        out.write_all(&number.to_be_bytes())?;
    }
    let own = [("v", 3u16, 5i32), ("pscale", 1, 0), ("id", 1, 1)];
    let others = carried.iter().map(|a| (a.name.as_str(), a.width as u16, 0));
    for (name, width, kind) in own.into_iter().chain(others) {
        out.write_all(&(name.len() as u16).to_be_bytes())?;
        out.write_all(name.as_bytes())?;
        out.write_all(&width.to_be_bytes())?;
        out.write_all(&kind.to_be_bytes())?;
        for _ in 0..width {
            out.write_all(&0i32.to_be_bytes())?;
        }
    }
    for (i, x) in position.iter().enumerate() {
        let v = velocity.get(i).copied().unwrap_or_default();
        let numbers = [x.x, x.y, x.z, 1.0, v.x, v.y, v.z].map(|c| c as f32);
        for number in numbers.into_iter().chain([*radius]) {
            out.write_all(&number.to_be_bytes())?;
        }
        let id = id.get(i).copied().unwrap_or(i as u64) & 0x7fff_ffff;
        out.write_all(&(id as i32).to_be_bytes())?;
        for number in carried.iter().flat_map(|a| &a.data[i * a.width..][..a.width]) {
            out.write_all(&number.to_be_bytes())?;
        }
    }
    out.write_all(&[0, 0xff])
}

/// Points from the bytes of a file; `file` is its name, for errors.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Points> {
    let fault =
        |message: &str| Error::Format { file: file.into(), place: "BGEO".into(), message: message.into() };
    read_points(bytes).ok_or_else(|| fault("the file is damaged, or uses what is not read here"))
}

/// Reads forward and never past the end.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn number(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.take()?))
    }

    fn name(&mut self) -> Option<&'a str> {
        let n = usize::from(u16::from_be_bytes(self.take()?));
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        std::str::from_utf8(head).ok()
    }
}

fn read_points(bytes: &[u8]) -> Option<Points> {
    let mut at = Cursor(bytes.strip_prefix(b"BgeoV")?);
    let mut counts = [0; 9];
    for count in &mut counts {
        *count = at.number()?;
    }
    let [5, count, 0, 0, 0, attributes, 0, 0, 0] = counts else { return None };
    let mut columns: Vec<(String, usize, bool)> = Vec::new();
    for _ in 0..attributes {
        let name = at.name()?.to_string();
        let width = usize::from(u16::from_be_bytes(at.take()?));
        let kind = at.number()?;
        if !matches!(kind, 0 | 1 | 5) || width > 16 {
            return None;
        }
        for _ in 0..width {
            at.number()?;
        }
        columns.push((name, width, kind == 1));
    }
    let row = 16 + 4 * columns.iter().map(|c| c.1).sum::<usize>();
    let n = usize::try_from(count).ok()?;
    if at.0.len() != n.checked_mul(row)?.checked_add(2)? {
        return None;
    }
    let mut mesh = TriMesh::default();
    let mut id = None;
    mesh.attributes =
        columns.iter().map(|c| Attribute { name: c.0.clone(), width: c.1, data: Vec::new() }).collect();
    for _ in 0..n {
        let mut place = [0.0; 4];
        for c in &mut place {
            *c = f64::from(f32::from_be_bytes(at.take()?));
        }
        mesh.positions.push(Vec3::new(place[0], place[1], place[2]));
        for (column, (name, width, whole)) in mesh.attributes.iter_mut().zip(&columns) {
            for _ in 0..*width {
                let raw = at.take()?;
                let number = i32::from_be_bytes(raw);
                if *whole && name == "id" {
                    id.get_or_insert_with(Vec::new).push(u64::try_from(number).ok()?);
                }
                column.data.push(if *whole { number as f32 } else { f32::from_be_bytes(raw) });
            }
        }
    }
    mesh.attributes.iter_mut().filter(|a| a.name == "v").for_each(|a| a.name = "velocity".into());
    mesh.check("points").ok()?;
    Some(Points::from_mesh(mesh, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_takes_thirty_six_bytes() {
        let size = |n: usize| {
            let mut bytes = Vec::new();
            let position = vec![Vec3::x(); n];
            write_points(&Points { position, radius: 0.1, ..Points::default() }, &mut bytes).unwrap();
            bytes.len()
        };
        assert_eq!(size(10) - size(0), 10 * 36);
    }
}
