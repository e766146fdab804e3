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
    let mut polygons = Polygons::default();
    let mut rest = corners;
    for n in counts {
        let (face, after) = rest.split_at_checked(usize::try_from(*n).ok()?)?;
        for corner in face {
            let vertex = u32::try_from(*corner).ok().filter(|v| (*v as usize) < positions.len())?;
            polygons.push_corner(vertex);
        }
        polygons.end_polygon();
        rest = after;
    }
    let triangles = polygons.triangulate(&positions);
    let mut mesh = TriMesh::new(positions, triangles);
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
            && data.len().is_multiple_of(mesh.positions.len())
        {
            let width = data.len() / mesh.positions.len();
            mesh.attributes.push(Attribute { name: known.into(), width, data: data.clone() });
        }
    }
    Some(mesh)
}

/// Points with velocity and numbers.
pub(super) fn points(own: &Values) -> Option<Points> {
    let mut mesh = TriMesh::new(vectors(triples(own, "points")?), Vec::new());
    if mesh.positions.iter().any(|p| !p.iter().all(|c| c.is_finite())) {
        return None;
    }
    let n = mesh.positions.len();
    if let Some(velocity) = triples(own, "velocities").filter(|v| v.len() == 3 * n) {
        mesh.attributes.push(Attribute { name: "velocity".into(), width: 3, data: velocity.to_vec() });
    }
    let id = whole(own, "ids").map(|ids| ids.iter().map(|i| *i as u64).collect());
    let mut points = Points::from_mesh(mesh, id);
    if let Some(Numbers::Real(widths, _)) = own.get("widths") {
        points.radius = 0.5 * widths.first().copied().unwrap_or(0.0);
    }
    Some(points)
}
