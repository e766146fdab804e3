//! Surfaces and particles as VTK polygons (`.vtp`), for ParaView.
//!
//! Points are f32, attributes of vertices are arrays of f32 under their own names; `velocity` is the vector that
//! ParaView's glyphs look for. Particles are one vertex cell each with `id` (Int64) and `radius`. The reader takes
//! what the writer makes; [`vtk`](super::vtk) says how arrays lie. Checked by tests/formats with VTK itself.

use super::points::Points;
use super::vtk::{Arrays, Parsed, attribute, bytes_of, floats, plain};
use crate::error::{Error, Result};
use crate::geometry::{Attribute, TriMesh};
use crate::io::points::vectors;
use std::io::{self, Write};

/// Whether bytes begin as such a file does.
pub fn is_vtp(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(256)];
    start.starts_with(b"<?xml") && start.windows(15).any(|w| w == b"type=\"PolyData\"")
}

/// Write a surface with its attributes.
pub fn write_surface(mesh: &TriMesh, out: &mut impl Write) -> io::Result<()> {
    let mut arrays = Arrays::default();
    let corners = bytes_of(mesh.triangles.as_flattened().iter().map(|v| (*v as i32).to_le_bytes()));
    let polygons = cells(&mut arrays, "Polys", &corners, mesh.triangles.len(), 3)?;
    let data = vertex_data(&mut arrays, &mesh.attributes, mesh.positions.len())?;
    let points = positions(&mut arrays, mesh)?;
    let piece = format!("NumberOfPolys=\"{}\"", mesh.triangles.len());
    finish(&arrays, mesh.positions.len(), &piece, &[data, points, polygons], out)
}

/// Write particles.
pub fn write_points(points: &Points, out: &mut impl Write) -> io::Result<()> {
    let n = points.position.len();
    let mesh = points.to_mesh();
    let mut arrays = Arrays::default();
    let own = bytes_of((0..n as i32).map(i32::to_le_bytes));
    let vertices = cells(&mut arrays, "Verts", &own, n, 1)?;
    let mut data = vertex_data(&mut arrays, &mesh.attributes, n)?;
    let mut more =
        arrays.add("Int64", "id", 1, &bytes_of(points.id.iter().map(|i| (*i as i64).to_le_bytes())))?;
    more += &arrays.add("Float32", "radius", 1, &bytes_of((0..n).map(|_| points.radius.to_le_bytes())))?;
    data = data.replace("</PointData>\n", &(more + "</PointData>\n"));
    let places = positions(&mut arrays, &mesh)?;
    finish(&arrays, n, &format!("NumberOfVerts=\"{n}\""), &[data, places, vertices], out)
}

/// Particles as bytes of a file.
pub fn points_to_bytes(points: &Points) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing into memory cannot fail.
    let _ = write_points(points, &mut out);
    out
}

fn positions(arrays: &mut Arrays, mesh: &TriMesh) -> io::Result<String> {
    let places = mesh.positions.iter().flat_map(|p| [p.x, p.y, p.z].map(|c| (c as f32).to_le_bytes()));
    Ok(format!("<Points>\n{}</Points>\n", arrays.add("Float32", "Points", 3, &bytes_of(places))?))
}

fn cells(arrays: &mut Arrays, kind: &str, corners: &[u8], count: usize, width: i32) -> io::Result<String> {
    let ends = bytes_of((1..=count as i32).map(|c| (width * c).to_le_bytes()));
    let corners = arrays.add("Int32", "connectivity", 1, corners)?;
    Ok(format!("<{kind}>\n{corners}{}</{kind}>\n", arrays.add("Int32", "offsets", 1, &ends)?))
}

fn vertex_data(arrays: &mut Arrays, attributes: &[Attribute], vertices: usize) -> io::Result<String> {
    let mut text = String::from("<PointData>\n");
    for a in attributes.iter().filter(|a| plain(&a.name) && a.width > 0 && a.data.len() == a.width * vertices)
    {
        text +=
            &arrays.add("Float32", &a.name, a.width, &bytes_of(a.data.iter().map(|v| v.to_le_bytes())))?;
    }
    Ok(text + "</PointData>\n")
}

fn finish(
    arrays: &Arrays,
    points: usize,
    piece: &str,
    parts: &[String],
    out: &mut impl Write,
) -> io::Result<()> {
    let inside = format!("<Piece NumberOfPoints=\"{points}\" {piece}>\n{}</Piece>\n", parts.concat());
    arrays.write("PolyData", &inside, out)
}

/// A surface or points, and the whole numbers of the array `id` if there is one.
pub fn parse(file: &str, bytes: &[u8]) -> Result<(TriMesh, Option<Vec<u64>>)> {
    let fault =
        |message: &str| Error::Format { file: file.into(), place: "VTK".into(), message: message.into() };
    let parsed = Parsed::open(bytes, "PolyData").map_err(fault)?;
    let mut mesh = TriMesh::default();
    let mut id = None;
    let polygons = parsed.text.contains("<Polys>");
    for element in parsed.elements() {
        let data = parsed.array(element).ok_or_else(|| fault("an array is damaged"))?;
        let width = attribute(element, "NumberOfComponents").and_then(|w| w.parse().ok()).unwrap_or(1);
        match (attribute(element, "Name"), attribute(element, "type")) {
            (Some("Points"), Some("Float32")) => mesh.positions = vectors(&floats(&data)),
            (Some("connectivity"), Some("Int32")) if polygons => {
                let corner = |c: &[u8]| u32::from_le_bytes([c[0], c[1], c[2], c[3]]);
                mesh.triangles =
                    data.chunks_exact(12).map(|t| [corner(t), corner(&t[4..]), corner(&t[8..])]).collect();
            }
            (Some("id"), Some("Int64")) => {
                let numbers =
                    data.chunks_exact(8).filter_map(|c| c.first_chunk()).map(|c| u64::from_le_bytes(*c));
                id = Some(numbers.collect());
            }
            (Some(name), Some("Float32")) => {
                mesh.attributes.push(Attribute { name: name.into(), width, data: floats(&data) });
            }
            _ => {}
        }
    }
    mesh.attributes.retain(|a| a.width > 0 && a.data.len() == a.width * mesh.positions.len());
    mesh.check(file)?;
    Ok((mesh, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_comes_back_with_all_it_carries() {
        let mut mesh = TriMesh::icosphere(0.1, 2);
        mesh.positions.iter_mut().for_each(|p| *p = p.map(|c| f64::from(c as f32)));
        let n = mesh.positions.len();
        let some = |name: &str, width, data| Attribute { name: name.into(), width, data };
        mesh.attributes = vec![
            some("velocity", 3, (0..3 * n).map(|i| i as f32 * 0.1).collect()),
            some("viscosity", 1, (0..n).map(|i| i as f32).collect()),
        ];
        let mut bytes = Vec::new();
        write_surface(&mesh, &mut bytes).unwrap();
        assert!(is_vtp(&bytes));
        assert_eq!(parse("ball.vtp", &bytes).unwrap(), (mesh, None));
        let mut dry = Vec::new();
        write_surface(&TriMesh::default(), &mut dry).unwrap();
        assert_eq!(parse("dry.vtp", &dry).unwrap().0, TriMesh::default());
    }

    #[test]
    fn damaged_files_are_refused_or_read_as_some_other_mesh() {
        let mut bytes = Vec::new();
        write_surface(&TriMesh::icosphere(0.1, 1), &mut bytes).unwrap();
        for place in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[place] ^= 0x15;
            let _ = parse("bad.vtp", &bad);
        }
    }
}
