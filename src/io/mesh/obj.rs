//! Wavefront OBJ: `v`, `vt`, `vn` and `f` lines; everything else is passed over.

use super::polygon::Polygons;
use super::tokens::{Tokens, number};
use super::{check_finite, fault, vec3};
use crate::error::Result;
use crate::geometry::{Attribute, TriMesh};
use crate::math::Vec3;
use std::io::{self, Write};

/// Write positions and triangles as `v` and `f` lines, with enough digits for f32, and attributes as comments.
pub fn write_obj(mesh: &TriMesh, out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let whole = |a: &&Attribute| {
        a.width > 0 && a.data.len() == a.width * mesh.positions.len() && is_name(a.name.as_bytes())
    };
    let carried: Vec<&Attribute> = mesh.attributes.iter().filter(whole).collect();
    for (i, p) in mesh.positions.iter().enumerate() {
        writeln!(out, "v {} {} {}", p.x as f32, p.y as f32, p.z as f32)?;
        for a in &carried {
            write!(out, "#{}", a.name)?;
            for value in &a.data[i * a.width..][..a.width] {
                write!(out, " {value}")?;
            }
            writeln!(out)?;
        }
    }
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| v as u64 + 1);
        writeln!(out, "f {a} {b} {c}")?;
    }
    out.flush()
}

/// Whether a comment may carry an attribute of this name.
fn is_name(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// Values of one kind of line, and the index they are given to a vertex by.
struct Channel {
    name: &'static str,
    width: usize,
    values: Vec<f32>,
    /// For each vertex the entry that its first corner names; `u32::MAX` for none.
    used: Vec<u32>,
}

impl Channel {
    fn new(name: &'static str, width: usize) -> Self {
        Self { name, width, values: Vec::new(), used: Vec::new() }
    }

    fn len(&self) -> usize {
        self.values.len() / self.width
    }

    fn assign(&mut self, vertex: u32, entry: u32) {
        let vertex = vertex as usize;
        if self.used.len() <= vertex {
            self.used.resize(vertex + 1, u32::MAX);
        }
        if self.used[vertex] == u32::MAX {
            self.used[vertex] = entry;
        }
    }

    /// The channel as an attribute, zero where no corner names an entry.
    fn attribute(mut self, vertices: usize) -> Option<Attribute> {
        if self.used.is_empty() {
            return None;
        }
        self.used.resize(vertices, u32::MAX);
        let mut data = vec![0.0; vertices * self.width];
        for (out, entry) in data.chunks_exact_mut(self.width).zip(&self.used) {
            let start = (*entry as usize).saturating_mul(self.width);
            if let Some(values) = self.values.get(start..start + self.width) {
                out.copy_from_slice(values);
            }
        }
        Some(Attribute { name: self.name.to_string(), width: self.width, data })
    }
}

struct Reader {
    positions: Vec<Vec3>,
    colors: Vec<f32>,
    texture: Channel,
    normals: Channel,
    polygons: Polygons,
    /// Attributes in comments, as [`write_obj`] puts them.
    carried: Vec<Attribute>,
    /// The highest vertex index that a face uses, and the line of that face.
    highest: (u32, usize),
}

pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    let mut reader = Reader {
        positions: Vec::new(),
        colors: Vec::new(),
        texture: Channel::new("uv", 2),
        normals: Channel::new("normal", 3),
        polygons: Polygons::default(),
        carried: Vec::new(),
        highest: (0, 0),
    };
    let mut joined = Vec::new();
    let mut first_line = 0;
    for (index, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if joined.is_empty() {
            first_line = index + 1;
        }
        // A backslash at the end continues the line.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(part) = line.strip_suffix(b"\\") {
            joined.extend_from_slice(part);
            joined.push(b' ');
            continue;
        }
        let done = if joined.is_empty() {
            reader.line(line, first_line)
        } else {
            joined.extend_from_slice(line);
            reader.line(&std::mem::take(&mut joined), first_line)
        };
        done.map_err(|message| fault(file, format!("line {first_line}"), message))?;
    }
    reader.finish(file)
}

impl Reader {
    fn line(&mut self, line: &[u8], place: usize) -> std::result::Result<(), String> {
        let end = line.iter().position(|b| *b == b'#').unwrap_or(line.len());
        if end == 0 && line.len() > 1 {
            self.comment(&line[1..]);
            return Ok(());
        }
        let mut words = Tokens::new(&line[..end], 0);
        match words.next() {
            Some(b"v") => self.vertex(&mut words),
            Some(b"vt") => push_values(&mut self.texture, &mut words, 1),
            Some(b"vn") => push_values(&mut self.normals, &mut words, 3),
            Some(b"f") => self.face(&mut words, place),
            _ => Ok(()),
        }
    }

    /// `name numbers`, if this is such a comment and stands after the line of a vertex.
    fn comment(&mut self, text: &[u8]) {
        let mut words = Tokens::new(text, 0);
        let Some(name) = words.next().filter(|n| text.starts_with(n) && is_name(n)) else { return };
        let mut values = Vec::new();
        while let Some(word) = words.next() {
            match number::<f32>(word) {
                Ok(value) if value.is_finite() && values.len() < 16 => values.push(value),
                _ => return,
            }
        }
        let (name, before) = (String::from_utf8_lossy(name), self.positions.len().wrapping_sub(1));
        let known = self.carried.iter_mut().find(|a| a.name == name);
        match known {
            Some(a) if a.width == values.len() && a.data.len() == before.wrapping_mul(a.width) => {
                a.data.extend(values)
            }
            None if before == 0 && !values.is_empty() => {
                self.carried.push(Attribute { name: name.into_owned(), width: values.len(), data: values });
            }
            // Not one for every vertex: a comment like any other.
            _ => {}
        }
    }

    /// `v x y z`, `v x y z w` or `v x y z red green blue`.
    fn vertex(&mut self, words: &mut Tokens) -> std::result::Result<(), String> {
        let mut values = [0.0; 7];
        let mut n = 0;
        while let Some(word) = words.next().filter(|_| n < 7) {
            values[n] = number(word)?;
            n += 1;
        }
        if n < 3 {
            return Err(format!("vertex {} has {n} coordinates", self.positions.len() + 1));
        }
        check_finite(&values[..n], "vertex", self.positions.len() + 1)?;
        self.positions.push(vec3(&[values[0], values[1], values[2]]));
        if n >= 6 {
            self.colors.extend(values[3..6].iter().map(|c| *c as f32));
        }
        if self.positions.len() >= u32::MAX as usize { Err("more than 2^32 vertices".into()) } else { Ok(()) }
    }

    fn face(&mut self, words: &mut Tokens, line: usize) -> std::result::Result<(), String> {
        while let Some(word) = words.next() {
            let mut parts = word.split(|b| *b == b'/');
            let vertex = index(parts.next().unwrap_or_default(), self.positions.len())?;
            if vertex >= self.highest.0 {
                self.highest = (vertex, line);
            }
            self.polygons.push_corner(vertex);
            // Entries are only kept for vertices that exist by now, so that a bad index costs no memory.
            let known = (vertex as usize) < self.positions.len();
            for channel in [&mut self.texture, &mut self.normals] {
                if let Some(part) = parts.next().filter(|p| known && !p.is_empty()) {
                    let entry = index(part, channel.len())?;
                    channel.assign(vertex, entry);
                }
            }
        }
        self.polygons.end_polygon();
        Ok(())
    }

    fn finish(self, file: &str) -> Result<TriMesh> {
        let n = self.positions.len();
        let (vertex, line) = self.highest;
        if line > 0 && vertex as usize >= n {
            let message = format!("a face uses vertex {}, but there are {n}", vertex as u64 + 1);
            return Err(fault(file, format!("line {line}"), message));
        }
        let mut mesh = TriMesh::new(self.positions, Vec::new());
        mesh.triangles = self.polygons.triangulate(&mesh.positions);
        mesh.attributes.extend(self.texture.attribute(n));
        mesh.attributes.extend(self.normals.attribute(n));
        if n > 0 && self.colors.len() == 3 * n {
            mesh.attributes.push(Attribute { name: "color".into(), width: 3, data: self.colors });
        }
        mesh.attributes.extend(self.carried.into_iter().filter(|a| a.data.len() == a.width * n));
        Ok(mesh)
    }
}

fn push_values(channel: &mut Channel, words: &mut Tokens, least: usize) -> std::result::Result<(), String> {
    let mut values = [0.0; 3];
    let mut n = 0;
    while let Some(word) = words.next().filter(|_| n < channel.width) {
        values[n] = number(word)?;
        n += 1;
    }
    if n < least {
        return Err(format!("{} {} has {n} numbers", channel.name, channel.len() + 1));
    }
    check_finite(&values, channel.name, channel.len() + 1)?;
    channel.values.extend(values[..channel.width].iter().map(|v| *v as f32));
    Ok(())
}

/// A one-based index, or a negative one that counts back from the end, to a zero-based one.
fn index(word: &[u8], count: usize) -> std::result::Result<u32, String> {
    let given: i64 = number(word)?;
    let zero_based = if given < 0 { count as i64 + given } else { given - 1 };
    match u32::try_from(zero_based) {
        Ok(i) if given != 0 && i != u32::MAX => Ok(i),
        _ => Err(format!("index {given} does not exist; {count} are given before this line")),
    }
}
