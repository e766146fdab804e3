//! The Stanford polygon format, read from text or binary of either byte order.
//!
//! Before an element is read its count is held against the bytes that are left: a row takes at least
//! one byte a property, and a row without properties would take none, which is refused. The same is
//! done for each list. So a short file cannot ask for much memory or time.

use super::ply_header::{self, Element, Encoding, Property, Type};
use super::ply_write::KNOWN;
use super::polygon::Polygons;
use super::tokens::{Tokens, number};
use super::{check_finite, fault, vec3};
use crate::error::Result;
use crate::geometry::{Attribute, TriMesh};

/// Numbers of the body, one after another.
enum Numbers<'a> {
    Text(Tokens<'a>),
    Binary { bytes: &'a [u8], at: usize, start: usize, big: bool },
}

impl Numbers<'_> {
    fn remaining(&self) -> usize {
        match self {
            Numbers::Text(words) => words.remaining(),
            Numbers::Binary { bytes, at, .. } => bytes.len() - at,
        }
    }

    fn place(&self) -> String {
        match self {
            Numbers::Text(words) => words.place(),
            Numbers::Binary { at, start, .. } => format!("byte {}", start + at),
        }
    }

    fn next(&mut self, kind: Type) -> std::result::Result<f64, String> {
        match self {
            Numbers::Text(words) => number(words.next().ok_or("the file ends too early")?),
            Numbers::Binary { bytes, at, big, .. } => {
                let n = kind.bytes();
                let field = bytes.get(*at..*at + n).ok_or("the file ends too early")?;
                *at += n;
                let mut raw = [0; 8];
                raw[..n].copy_from_slice(field);
                if *big {
                    raw[..n].reverse();
                }
                Ok(decode(kind, raw))
            }
        }
    }

    /// The length of a list, held against what is left of the file.
    fn length(&mut self, property: &Property, kind: Type) -> std::result::Result<usize, String> {
        let n = self.next(kind)?;
        let item = if matches!(self, Numbers::Text(_)) { 2 } else { property.item.bytes() };
        // The last word of a text needs no space after it.
        let most = (self.remaining() + 1) / item;
        if n >= 0.0 && n.fract() == 0.0 && n <= most as f64 {
            Ok(n as usize)
        } else {
            Err(format!("list {} of length {n}, but at most {most} items are left", property.name))
        }
    }
}

/// A little-endian number; bytes beyond its size are zero.
fn decode(kind: Type, raw: [u8; 8]) -> f64 {
    let [a, b, c, d, ..] = raw;
    match kind {
        Type::I8 => a as i8 as f64,
        Type::U8 => a as f64,
        Type::I16 => i16::from_le_bytes([a, b]) as f64,
        Type::U16 => u16::from_le_bytes([a, b]) as f64,
        Type::I32 => i32::from_le_bytes([a, b, c, d]) as f64,
        Type::U32 => u32::from_le_bytes([a, b, c, d]) as f64,
        Type::F32 => f32::from_le_bytes([a, b, c, d]) as f64,
        Type::F64 => f64::from_le_bytes(raw),
    }
}

pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    parse_numbered(file, bytes).map(|(mesh, _)| mesh)
}

/// The same, and the whole numbers of the property `id`, which a float cannot hold, if there is one.
pub(super) fn parse_numbered(file: &str, bytes: &[u8]) -> Result<(TriMesh, Option<Vec<u64>>)> {
    let header = ply_header::parse(file, bytes)?;
    let body = &bytes[header.bytes..];
    let mut numbers = match header.encoding {
        Encoding::Text => Numbers::Text(Tokens::new(body, header.lines + 1)),
        e => Numbers::Binary { bytes: body, at: 0, start: header.bytes, big: e == Encoding::BigEndian },
    };
    let mut mesh = TriMesh::default();
    let mut polygons = Polygons::default();
    let mut strips = Vec::new();
    let mut id = None;
    for element in &header.elements {
        check_count(element, header.encoding, &numbers).map_err(|m| fault(file, numbers.place(), m))?;
        let read = match element.name.as_str() {
            "vertex" => read_vertices(&mut numbers, element, &mut mesh, &mut id),
            "face" => read_lists(&mut numbers, element, |v| match v {
                Some(v) => polygons.push_corner(to_index(v)),
                None => polygons.end_polygon(),
            }),
            "tristrips" => read_lists(&mut numbers, element, |v| {
                strips.push(v.filter(|v| *v >= 0.0).map_or(u32::MAX, to_index));
            }),
            _ => read_lists(&mut numbers, element, |_| {}),
        };
        read.map_err(|m| fault(file, numbers.place(), format!("element {}: {m}", element.name)))?;
    }
    check_indices(file, polygons.corners().chain(strips.iter().copied().filter(|v| *v != u32::MAX)), &mesh)?;
    mesh.triangles = polygons.triangulate(&mesh.positions);
    push_strips(&strips, &mut mesh.triangles);
    Ok((mesh, id))
}

fn check_count(element: &Element, encoding: Encoding, numbers: &Numbers) -> std::result::Result<(), String> {
    let (n, row) = (element.count, element.least_bytes(encoding));
    if n > 0 && row == 0 {
        return Err(format!("element {} has {n} rows but no properties", element.name));
    }
    let most = numbers.remaining().saturating_add(1) / row.max(1);
    if n > most || n >= u32::MAX as usize {
        return Err(format!("element {} announces {n} rows, but at most {most} are left", element.name));
    }
    Ok(())
}

/// An index as stored; one that cannot be right becomes one that is out of range.
fn to_index(v: f64) -> u32 {
    if v >= 0.0 && v.fract() == 0.0 && v < u32::MAX as f64 { v as u32 } else { u32::MAX - 1 }
}

fn check_indices(file: &str, mut used: impl Iterator<Item = u32>, mesh: &TriMesh) -> Result<()> {
    let n = mesh.positions.len();
    match used.position(|v| v as usize >= n) {
        Some(corner) => {
            let message = format!("corner {corner} of the faces uses a vertex that is not among the {n}");
            Err(fault(file, "element face", message))
        }
        None => Ok(()),
    }
}

/// Rows whose list of vertex indices goes to `corner`, then None at its end; the rest is passed over.
fn read_lists(
    numbers: &mut Numbers,
    element: &Element,
    mut corner: impl FnMut(Option<f64>),
) -> std::result::Result<(), String> {
    for _ in 0..element.count {
        for property in &element.properties {
            let Some(kind) = property.list else {
                numbers.next(property.item)?;
                continue;
            };
            let indices = matches!(property.name.as_str(), "vertex_indices" | "vertex_index");
            for _ in 0..numbers.length(property, kind)? {
                let v = numbers.next(property.item)?;
                if indices {
                    corner(Some(v));
                }
            }
            if indices {
                corner(None);
            }
        }
    }
    Ok(())
}

/// Strips of triangles, each ended by `u32::MAX`, for an index of −1 or the end of a list.
fn push_strips(strips: &[u32], out: &mut Vec<[u32; 3]>) {
    for strip in strips.split(|v| *v == u32::MAX) {
        for (i, w) in strip.windows(3).enumerate() {
            let [a, b, c] = [w[0], w[1], w[2]];
            if a != b && b != c && c != a {
                out.push(if i % 2 == 0 { [a, b, c] } else { [b, a, c] });
            }
        }
    }
}

fn read_vertices(
    numbers: &mut Numbers,
    element: &Element,
    mesh: &mut TriMesh,
    id: &mut Option<Vec<u64>>,
) -> std::result::Result<(), String> {
    let scalars: Vec<&Property> = element.properties.iter().filter(|p| p.list.is_none()).collect();
    let axes = ["x", "y", "z"].map(|axis| scalars.iter().position(|p| p.name == axis));
    let [Some(x), Some(y), Some(z)] = axes else {
        return Err("properties x, y and z are needed".into());
    };
    let numbered = scalars.iter().position(|p| p.name == "id" && !p.item.is_float());
    let mut ids = Vec::new();
    let mut row = vec![0.0; scalars.len()];
    let mut columns: Vec<Vec<f32>> = vec![Vec::with_capacity(element.count); scalars.len()];
    mesh.positions = Vec::with_capacity(element.count);
    for v in 0..element.count {
        let mut at = 0;
        for property in &element.properties {
            if let Some(kind) = property.list {
                for _ in 0..numbers.length(property, kind)? {
                    numbers.next(property.item)?;
                }
            } else {
                row[at] = numbers.next(property.item)?;
                at += 1;
            }
        }
        check_finite(&row, "vertex", v)?;
        mesh.positions.push(vec3(&[row[x], row[y], row[z]]));
        ids.extend(numbered.map(|i| row[i].max(0.0) as u64));
        for (i, column) in columns.iter_mut().enumerate() {
            if ![x, y, z].contains(&i) {
                column.push((row[i] / unit(scalars[i])) as f32);
            }
        }
    }
    *id = numbered.map(|_| ids);
    let names = scalars.iter().map(|p| p.name.clone());
    mesh.attributes =
        group(names.zip(columns).filter(|(n, _)| !["x", "y", "z"].contains(&n.as_str())).collect());
    Ok(())
}

/// What stands for one: colours stored as bytes become numbers from 0 to 1.
fn unit(property: &Property) -> f64 {
    let color = matches!(property.name.as_str(), "red" | "green" | "blue" | "alpha");
    if color && property.item == Type::U8 { 255.0 } else { 1.0 }
}

/// Columns to attributes: known names and runs `name_0, name_1, …` are joined.
fn group(columns: Vec<(String, Vec<f32>)>) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    let mut rest = &columns[..];
    while let Some((name, _)) = rest.first() {
        let (joined, width) = run_of(name, rest);
        let parts: Vec<&Vec<f32>> = rest[..width].iter().map(|c| &c.1).collect();
        let rows = parts[0].len();
        let data = (0..rows).flat_map(|r| parts.iter().map(move |p| p[r])).collect();
        attributes.push(Attribute { name: joined, width, data });
        rest = &rest[width..];
    }
    attributes
}

/// The attribute that starts with this column, and how many columns it takes.
fn run_of(name: &str, columns: &[(String, Vec<f32>)]) -> (String, usize) {
    let starts =
        |parts: &[&str]| parts.len() <= columns.len() && parts.iter().zip(columns).all(|(p, c)| *p == c.0);
    if let Some((known, parts)) = KNOWN.iter().find(|(_, parts)| starts(parts)) {
        return (known.to_string(), parts.len());
    }
    if let Some(base) = name.strip_suffix("_0") {
        let follows = |(c, column): (usize, &(String, Vec<f32>))| column.0 == format!("{base}_{c}");
        let width = columns.iter().enumerate().take_while(|c| follows(*c)).count();
        if width > 1 {
            return (base.to_string(), width);
        }
    }
    (name.to_string(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    #[test]
    fn strips_alternate_their_orientation() {
        let mut out = Vec::new();
        push_strips(&[0, 1, 2, 3, u32::MAX, 4, 5, 6], &mut out);
        assert_eq!(out, [[0, 1, 2], [2, 1, 3], [4, 5, 6]]);
    }

    #[test]
    fn columns_are_joined_by_name() {
        let columns = ["nx", "ny", "nz", "age", "w_0", "w_1", "lone_0"].map(|n| (n.to_string(), vec![1.0]));
        let names: Vec<(String, usize)> =
            group(columns.to_vec()).into_iter().map(|a| (a.name, a.width)).collect();
        let expected = [("normal", 3), ("age", 1), ("w", 2), ("lone_0", 1)];
        assert_eq!(names, expected.map(|(n, w)| (n.to_string(), w)));
    }

    #[test]
    fn positions_are_exact_doubles() {
        let text = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty double x\nproperty double y\n\
            property double z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
            0.1 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
        let mesh = parse("a.ply", text).unwrap();
        assert_eq!(mesh.positions[0], Vec3::new(0.1, 0.0, 0.0));
    }
}
