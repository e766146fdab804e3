//! A frame of liquid as a USD layer.
//!
//! ```text
//!     /liquid                  Xform, the default prim
//!     /liquid/surface          Mesh: points, velocities in metres a second, primvars for other attributes
//!     /liquid/particles        Points: points, velocities, widths, ids
//!     /liquid/solids/NAME      Xform: where a collider or a body stands
//! ```
//!
//! Everything that may change from frame to frame is a sample at the frame's time code, so that the
//! files of a run can be joined as value clips. Lengths are metres, Y is up.

use super::layer::{Attribute, Layer, Prim, Value, identifier};
use crate::geometry::{self, TriMesh};
use crate::math::Vec3;
use crate::scene::Fps;
use std::collections::BTreeSet;

/// Points with velocity and a number that stays theirs.
#[derive(Clone, Copy, Debug)]
pub struct UsdPoints<'a> {
    pub position: &'a [Vec3],
    pub velocity: &'a [Vec3],
    pub id: &'a [u64],
    /// Diameter in metres.
    pub width: f32,
    /// What they carry besides.
    pub carried: &'a [geometry::Attribute],
}

/// Where a solid stands.
#[derive(Clone, Debug, PartialEq)]
pub struct UsdSolid {
    pub name: String,
    pub translate: [f64; 3],
    pub rotate_quaternion_wxyz: [f64; 4],
    pub scale: f64,
}

/// What a frame shows.
#[derive(Clone, Copy, Debug)]
pub struct UsdFrame<'a> {
    pub frame: i64,
    pub fps: Fps,
    pub surface: Option<&'a TriMesh>,
    pub particles: Option<UsdPoints<'a>>,
    pub solids: &'a [UsdSolid],
}

impl UsdFrame<'_> {
    /// The layer, ready to be written.
    pub(super) fn layer(&self) -> Layer {
        let mut root = Prim::new("liquid", "Xform");
        root.children.extend(self.surface.map(|mesh| surface("surface", mesh)));
        root.children.extend(self.particles.map(|p| particles(&p)));
        if !self.solids.is_empty() {
            let mut solids = Prim::new("solids", "Xform");
            let mut used = BTreeSet::new();
            for solid in self.solids {
                let mut name = identifier(&solid.name);
                while !used.insert(name.clone()) {
                    name.push('_');
                }
                solids.children.push(placed(name, solid));
            }
            root.children.push(solids);
        }
        let time = self.frame as f64;
        let rate = self.fps.value();
        let metadata = vec![
            ("defaultPrim", Value::Token("liquid".into())),
            ("endTimeCode", Value::Double(time)),
            ("framesPerSecond", Value::Double(rate)),
            ("metersPerUnit", Value::Double(1.0)),
            ("startTimeCode", Value::Double(time)),
            ("timeCodesPerSecond", Value::Double(rate)),
            ("upAxis", Value::Token("Y".into())),
        ];
        Layer { root, metadata, time }
    }
}

fn triples(values: &[Vec3]) -> Value {
    Value::Triples(values.iter().map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect())
}

/// The box round some points, rounded outwards by being rounded as they are.
fn extent(points: &[Vec3]) -> Value {
    if points.is_empty() {
        return Value::Triples(vec![[0.0; 3]; 2]);
    }
    let corner = |pick: fn(f32, f32) -> f32, start: f32| {
        std::array::from_fn(|a| points.iter().map(|p| p[a] as f32).fold(start, pick))
    };
    Value::Triples(vec![corner(f32::min, f32::INFINITY), corner(f32::max, f32::NEG_INFINITY)])
}

fn surface(name: &str, mesh: &TriMesh) -> Prim {
    let mut prim = Prim::new(name, "Mesh");
    let corners = mesh.triangles.iter().flatten().map(|v| *v as i32).collect();
    prim.attributes = vec![
        Attribute::sampled("extent", "float3[]", extent(&mesh.positions)),
        Attribute::sampled("faceVertexCounts", "int[]", Value::Ints(vec![3; mesh.triangles.len()])),
        Attribute::sampled("faceVertexIndices", "int[]", Value::Ints(corners)),
        Attribute::sampled("points", "point3f[]", triples(&mesh.positions)),
        Attribute::uniform("subdivisionScheme", "token", Value::Token("none".into())),
    ];
    prim.attributes.extend(mesh.attributes.iter().map(carried));
    prim
}

/// An attribute under the name by which USD knows it.
fn carried(a: &geometry::Attribute) -> Attribute {
    let three = || Value::Triples(a.data.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect());
    let primvar = |name: &str, type_name, value| {
        Attribute::sampled(format!("primvars:{name}"), type_name, value).on_vertices()
    };
    match (a.name.as_str(), a.width) {
        ("velocity" | "v", 3) => Attribute::sampled("velocities", "vector3f[]", three()),
        ("normal", 3) => Attribute::sampled("normals", "normal3f[]", three()).on_vertices(),
        ("color" | "Cd", 3) => primvar("displayColor", "color3f[]", three()),
        ("uv", 2) => {
            let pairs = Value::Pairs(a.data.chunks_exact(2).map(|c| [c[0], c[1]]).collect());
            primvar("st", "texCoord2f[]", pairs)
        }
        (name, 3) => primvar(&identifier(name), "float3[]", three()),
        (name, width) => {
            let flat = primvar(&identifier(name), "float[]", Value::Floats(a.data.clone()));
            Attribute { element_size: width as i32, ..flat }
        }
    }
}

fn particles(p: &UsdPoints) -> Prim {
    let mut prim = Prim::new("particles", "Points");
    let ids = p.id.iter().map(|id| *id as i64).collect();
    prim.attributes = vec![
        Attribute::sampled("extent", "float3[]", extent(p.position)),
        Attribute::sampled("ids", "int64[]", Value::Longs(ids)),
        Attribute::sampled("points", "point3f[]", triples(p.position)),
        Attribute::sampled("velocities", "vector3f[]", triples(p.velocity)),
        Attribute {
            interpolation: Some("constant"),
            ..Attribute::sampled("widths", "float[]", Value::Floats(vec![p.width]))
        },
    ];
    prim.attributes.extend(p.carried.iter().map(carried));
    prim
}

/// A point x of the solid goes to t + s R x; USD puts the point before the matrix, so R is transposed.
fn placed(name: String, solid: &UsdSolid) -> Prim {
    let [w, x, y, z] = solid.rotate_quaternion_wxyz;
    let turn = nalgebra::UnitQuaternion::new_normalize(nalgebra::Quaternion::new(w, x, y, z));
    let m = turn.to_rotation_matrix();
    let s = solid.scale;
    let t = solid.translate;
    let row = |a: usize| [s * m[(0, a)], s * m[(1, a)], s * m[(2, a)], 0.0];
    let rows = [row(0), row(1), row(2), [t[0], t[1], t[2], 1.0]];
    let mut prim = Prim::new(name, "Xform");
    let matrix: [f64; 16] = std::array::from_fn(|i| rows[i / 4][i % 4]);
    prim.attributes = vec![
        Attribute::sampled("xformOp:transform", "matrix4d", Value::Matrix(matrix)),
        Attribute::uniform("xformOpOrder", "token[]", Value::Tokens(vec!["xformOp:transform".into()])),
    ];
    prim
}
