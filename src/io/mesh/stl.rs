//! STL, ascii and binary: triangles without shared corners.
//!
//! Corners at exactly the same place become one vertex, numbered in the order of the file. Stored
//! normals are passed over: the order of the corners says the same, and is more often right.

use super::tokens::{Tokens, number, show};
use super::{check_finite, fault, vec3};
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use std::collections::HashMap;
use std::io::{self, Write};

const HEADER: usize = 84;
const RECORD: usize = 50;

/// Write binary STL, with normals.
pub fn write_stl(mesh: &TriMesh, out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    out.write_all(&[b' '; 80])?;
    out.write_all(&(mesh.triangles.len() as u32).to_le_bytes())?;
    for t in 0..mesh.triangles.len() {
        let [a, b, c] = mesh.corners(t);
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0).unwrap_or_default();
        for v in [normal, a, b, c].iter().flat_map(|p| p.iter()) {
            out.write_all(&(*v as f32).to_le_bytes())?;
        }
        out.write_all(&[0, 0])?;
    }
    out.flush()
}

fn count(bytes: &[u8]) -> Option<usize> {
    let field = bytes.get(80..HEADER)?;
    Some(u32::from_le_bytes([field[0], field[1], field[2], field[3]]) as usize)
}

/// Whether the length is that of a binary file with as many triangles as it says.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    count(bytes).is_some_and(|n| n > 0 && bytes.len() as u64 == (HEADER + RECORD * n) as u64)
}

/// Vertices by place.
#[derive(Default)]
struct Welder {
    mesh: TriMesh,
    known: HashMap<[u64; 3], u32>,
}

impl Welder {
    fn vertex(&mut self, p: Vec3) -> u32 {
        // Adding zero turns −0 into 0, which has other bits but is the same place.
        let key = [p.x, p.y, p.z].map(|c| (c + 0.0).to_bits());
        *self.known.entry(key).or_insert_with(|| {
            self.mesh.positions.push(p);
            self.mesh.positions.len() as u32 - 1
        })
    }
}

pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    let text = bytes.starts_with(b"solid") && !is_binary(bytes);
    if text { parse_text(file, bytes) } else { parse_binary(file, bytes) }
}

fn parse_binary(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    let Some(n) = count(bytes) else {
        return Err(fault(file, "byte 0", "shorter than the 84 bytes of an STL header"));
    };
    let records = bytes[HEADER..].chunks_exact(RECORD);
    if records.len() < n {
        let message = format!("{n} triangles are announced, but the file holds {}", records.len());
        return Err(fault(file, "byte 80", message));
    }
    let mut welder = Welder::default();
    for (t, record) in records.take(n).enumerate() {
        let value =
            |i: usize| f32::from_le_bytes([record[i], record[i + 1], record[i + 2], record[i + 3]]) as f64;
        let mut corners = [0; 3];
        for (c, corner) in corners.iter_mut().enumerate() {
            let p = [0, 1, 2].map(|a| value(12 + 12 * c + 4 * a));
            let place = || format!("byte {}", HEADER + RECORD * t);
            check_finite(&p, "triangle", t).map_err(|message| fault(file, place(), message))?;
            *corner = welder.vertex(vec3(&p));
        }
        welder.mesh.triangles.push(corners);
    }
    Ok(welder.mesh)
}

fn parse_text(file: &str, bytes: &[u8]) -> Result<TriMesh> {
    let mut words = Tokens::new(bytes, 1);
    // The name of the solid may hold any word.
    words.skip_line();
    let mut welder = Welder::default();
    let mut polygon: Vec<u32> = Vec::new();
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_slice() {
            b"vertex" => {
                let p = text_vertex(&mut words, welder.mesh.positions.len())
                    .map_err(|message| fault(file, words.place(), message))?;
                polygon.push(welder.vertex(vec3(&p)));
            }
            b"endloop" => {
                let fan = (2..polygon.len()).map(|i| [polygon[0], polygon[i - 1], polygon[i]]);
                welder.mesh.triangles.extend(fan);
                polygon.clear();
            }
            b"solid" | b"endsolid" => words.skip_line(),
            b"facet" | b"normal" | b"outer" | b"loop" | b"endfacet" => {}
            other if number::<f64>(other).is_ok() => {}
            other => {
                let message = format!("`{}` does not belong into an STL file", show(other));
                return Err(fault(file, words.place(), message));
            }
        }
    }
    if !polygon.is_empty() {
        return Err(fault(file, words.place(), "the file ends inside a facet"));
    }
    Ok(welder.mesh)
}

fn text_vertex(words: &mut Tokens, index: usize) -> std::result::Result<[f64; 3], String> {
    let mut p = [0.0; 3];
    for c in &mut p {
        // Stored as f32 in the binary form; the same here, so that both weld alike.
        *c = number::<f32>(words.next().ok_or("the file ends inside a vertex")?)? as f64;
    }
    check_finite(&p, "vertex", index)?;
    Ok(p)
}
