//! Meshes and points from the attributes of a prim, whether they stood in binary or in text.

use crate::geometry::{Attribute, TriMesh};
use crate::io::mesh::Polygons;
use crate::io::points::{Points, vectors};
use std::collections::BTreeMap;

/// The values of an attribute at its first time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    Whole(Vec<i64>),
    /// One after another, and how many belong together.
    Real(Vec<f32>, usize),
}

/// Attributes of a prim by name.
pub(super) type Values = BTreeMap<String, Numbers>;

fn whole<'a>(own: &'a Values, name: &str) -> Option<&'a [i64]> {
    match own.get(name)? {
        Numbers::Whole(values) => Some(values),
        // An empty list of a file in text has no type that shows.
        Numbers::Real(values, _) if values.is_empty() => Some(&[]),
        Numbers::Real(..) => None,
    }
}

fn triples<'a>(own: &'a Values, name: &str) -> Option<&'a [f32]> {
    match own.get(name)? {
        Numbers::Real(values, 3) => Some(values),
        _ => None,
    }
}

/// A mesh with polygons of any size; values that sit elsewhere than on vertices are left out.
pub(super) fn mesh(own: &Values) -> Option<TriMesh> {
    let positions = vectors(triples(own, "points")?);
    let (counts, corners) = (whole(own, "faceVertexCounts")?, whole(own, "faceVertexIndices")?);
    let polygons = Polygons::of(counts, corners, positions.len())?;
    let triangles = polygons.triangulate(&positions);
    let mut mesh = TriMesh::new(positions, triangles);
    mesh.attributes = carried(own, mesh.positions.len());
    Some(mesh)
}

/// Values on vertices by the names that they have here.
fn carried(own: &Values, vertices: usize) -> Vec<Attribute> {
    let mut all = Vec::new();
    for (name, value) in own {
        let known = match name.as_str() {
            "velocities" => "velocity",
            "normals" => "normal",
            "primvars:displayColor" => "color",
            "primvars:st" => "uv",
            other => other.strip_prefix("primvars:").unwrap_or(""),
        };
        if let (Numbers::Real(data, _), false) = (value, known.is_empty())
            && !data.is_empty()
            && data.len().is_multiple_of(vertices)
        {
            all.push(Attribute { name: known.into(), width: data.len() / vertices, data: data.clone() });
        }
    }
    all
}

/// Points with velocity, numbers and what else they carry.
pub(super) fn points(own: &Values) -> Option<Points> {
    let mut mesh = TriMesh::new(vectors(triples(own, "points")?), Vec::new());
    if mesh.positions.iter().any(|p| !p.iter().all(|c| c.is_finite())) {
        return None;
    }
    mesh.attributes = carried(own, mesh.positions.len());
    let id = whole(own, "ids").map(|ids| ids.iter().map(|i| *i as u64).collect());
    let mut points = Points::from_mesh(mesh, id);
    if let Some(Numbers::Real(widths, _)) = own.get("widths") {
        points.radius = 0.5 * widths.first().copied().unwrap_or(0.0);
    }
    Some(points)
}
