//! The Stanford polygon format, written in binary little endian.

use crate::geometry::{Attribute, TriMesh};
use crate::math::Vec3;
use std::io::{self, Write};

/// Attributes whose components have names that other programs know.
pub(super) const KNOWN: [(&str, &[&str]); 4] = [
    ("normal", &["nx", "ny", "nz"]),
    ("velocity", &["vx", "vy", "vz"]),
    ("uv", &["s", "t"]),
    ("color", &["red", "green", "blue"]),
];

/// Property names of an attribute's components; see the module's header.
pub(super) fn property_names(name: &str, width: usize) -> Vec<String> {
    let known = KNOWN.iter().find(|(n, parts)| *n == name && parts.len() == width);
    match known {
        Some((_, parts)) => parts.iter().map(|p| p.to_string()).collect(),
        None if width == 1 => vec![name.to_string()],
        None => (0..width).map(|c| format!("{name}_{c}")).collect(),
    }
}

fn header(attributes: &[Attribute], vertices: usize, more: &str) -> String {
    let mut text = format!("ply\nformat binary_little_endian 1.0\nelement vertex {vertices}\n");
    for axis in ["x", "y", "z"] {
        text += &format!("property float {axis}\n");
    }
    for a in attributes {
        for name in property_names(&a.name, a.width) {
            // White space would end the name; a file has no way to quote it.
            text += &format!("property float {}\n", name.replace(char::is_whitespace, "_"));
        }
    }
    text + more + "end_header\n"
}

fn push_floats(row: &mut Vec<u8>, values: impl IntoIterator<Item = f32>) {
    values.into_iter().for_each(|v| row.extend_from_slice(&v.to_le_bytes()));
}

fn push_vertex(row: &mut Vec<u8>, position: &Vec3, attributes: &[Attribute], v: usize) {
    push_floats(row, position.iter().map(|c| *c as f32));
    for a in attributes {
        push_floats(row, a.data[v * a.width..(v + 1) * a.width].iter().copied());
    }
}

fn check_lengths(attributes: &[Attribute], vertices: usize) -> io::Result<()> {
    match attributes.iter().find(|a| a.width == 0 || a.data.len() != a.width * vertices) {
        None => Ok(()),
        Some(a) => {
            let what = format!("attribute {} has {} values for {vertices} vertices", a.name, a.data.len());
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
    }
}

/// Write a mesh with all its attributes.
pub fn write_ply(mesh: &TriMesh, mut out: impl Write) -> io::Result<()> {
    check_lengths(&mesh.attributes, mesh.positions.len())?;
    let faces = format!("element face {}\nproperty list uchar int vertex_indices\n", mesh.triangles.len());
    out.write_all(header(&mesh.attributes, mesh.positions.len(), &faces).as_bytes())?;
    write_rows(&mut out, mesh.positions.len(), |row, v| {
        push_vertex(row, &mesh.positions[v], &mesh.attributes, v);
    })?;
    write_rows(&mut out, mesh.triangles.len(), |row, t| {
        row.push(3);
        mesh.triangles[t].iter().for_each(|v| row.extend_from_slice(&v.to_le_bytes()));
    })?;
    out.flush()
}

/// Write points with `id` (int, so at most 2³¹ of them), `radius` and `velocity`, and further attributes.
pub fn write_particles_ply(
    positions: &[Vec3],
    ids: &[u64],
    radius: f32,
    velocities: &[Vec3],
    attributes: &[Attribute],
    mut out: impl Write,
) -> io::Result<()> {
    let n = positions.len();
    check_lengths(attributes, n)?;
    if ids.len() != n || velocities.len() != n || ids.iter().any(|id| *id > i32::MAX as u64) {
        let what = format!("{n} particles, {} ids below 2^31, {} velocities", ids.len(), velocities.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let more = "property int id\nproperty float radius\n\
                property float vx\nproperty float vy\nproperty float vz\n";
    out.write_all(header(attributes, n, more).as_bytes())?;
    write_rows(&mut out, n, |row, p| {
        push_vertex(row, &positions[p], attributes, p);
        row.extend_from_slice(&(ids[p] as i32).to_le_bytes());
        push_floats(row, [radius]);
        push_floats(row, velocities[p].iter().map(|c| *c as f32));
    })?;
    out.flush()
}

/// Rows in blocks, so that a million small writes become a few large ones.
fn write_rows(out: &mut impl Write, n: usize, mut push: impl FnMut(&mut Vec<u8>, usize)) -> io::Result<()> {
    const BLOCK: usize = 1 << 18;
    let mut row = Vec::with_capacity(BLOCK + 1024);
    for i in 0..n {
        push(&mut row, i);
        if row.len() >= BLOCK {
            out.write_all(&row)?;
            row.clear();
        }
    }
    out.write_all(&row)
}
