//! What liquid of a source carries from the start.
//!
//! A value is given in the scene for a whole source, or at the vertices of its mesh: then a point of the liquid takes what
//! the nearest point of the mesh has, linear over triangles. The scene goes before the mesh. Checked by tests/attributes.rs.

use super::form::{Object, Placed};
use crate::error::Result;
use crate::field::{Column, Columns};
use crate::geometry::{Bvh, TriMesh, barycentric};
use crate::math::{Pose, Vec3};
use crate::scene::{AttributeValue, Attributes, Scene, Shown, is_taken};

/// Most numbers of one attribute of a mesh that are carried.
const WIDEST: usize = 4;

/// What the liquid of one source carries.
#[derive(Default)]
pub(super) struct Paint {
    blank: Vec<f32>,
    given: Vec<(Column, AttributeValue)>,
    brush: Option<Brush>,
}

/// A mesh with values at its vertices.
struct Brush {
    mesh: TriMesh,
    tree: Bvh,
    /// Which attribute of the mesh goes to which column.
    columns: Vec<(usize, Column)>,
}

/// Paint at one moment, where the source stands then.
pub(super) struct Coat<'a> {
    row: Vec<f32>,
    brush: Option<&'a Brush>,
    pose: Pose,
    scale: f64,
}

/// The columns that the sources of a scene ask for.
pub(super) fn columns<'a>(
    scene: &Scene,
    sources: impl Iterator<Item = (&'a Object, &'a Attributes)>,
) -> Result<Columns> {
    let mut columns = Columns::default();
    let ages = scene.liquids.iter().any(|l| !l.viscosity_by_age.is_empty());
    if ages || scene.outputs.attributes.contains(&Shown::Age) {
        columns.add("age", 1, "outputs")?;
    }
    if scene.smoke.is_some() {
        columns.add("density", 1, "smoke")?;
        columns.add("temperature", 1, "smoke")?;
    }
    for (object, given) in sources {
        for (name, value) in given {
            columns.add(name, value.width(), &object.name)?;
        }
        for a in
            object.mesh(scene.frames[0] as f64).attributes.iter().filter(|a| is_carried(a.width, &a.name))
        {
            columns.add(&a.name, a.width, &object.name)?;
        }
    }
    Ok(columns)
}

fn is_carried(width: usize, name: &str) -> bool {
    (1..=WIDEST).contains(&width) && !is_taken(name)
}

impl Paint {
    pub fn new(columns: &Columns, object: &Object, given: &Attributes, frame: f64) -> Self {
        let of =
            |(name, value): (&String, &AttributeValue)| Some((columns.find(name)?.clone(), value.clone()));
        let given: Vec<(Column, AttributeValue)> = given.iter().filter_map(of).collect();
        let brush = Brush::new(columns, &object.mesh(frame), &given);
        Self { blank: columns.blank(), given, brush }
    }

    /// What the liquid that comes in at a frame carries.
    pub fn at(&self, placed: &Placed, frame: f64) -> Coat<'_> {
        let mut row = self.blank.clone();
        for (column, value) in &self.given {
            value.write(frame, &mut row[column.start..column.start + column.width]);
        }
        Coat { row, brush: self.brush.as_ref(), pose: placed.pose, scale: placed.scale }
    }

    /// The greatest viscosity among what was given, Pa·s.
    pub fn thickest(&self) -> f64 {
        let given = self.given.iter().filter(|(c, _)| c.name == "viscosity").flat_map(|(_, v)| v.numbers());
        let painted = self.brush.iter().flat_map(|b| {
            let own = b.columns.iter().filter(|(_, c)| c.name == "viscosity");
            own.flat_map(|(a, _)| b.mesh.attributes[*a].data.iter().map(|v| f64::from(*v)))
        });
        given.chain(painted).fold(0.0, f64::max)
    }
}

impl Brush {
    fn new(columns: &Columns, mesh: &TriMesh, given: &[(Column, AttributeValue)]) -> Option<Self> {
        let of = |(i, a): (usize, &crate::geometry::Attribute)| {
            let column =
                columns.find(&a.name).filter(|c| c.width == a.width && is_carried(a.width, &a.name))?;
            given.iter().all(|(g, _)| g.name != a.name).then(|| (i, column.clone()))
        };
        let columns: Vec<_> = mesh.attributes.iter().enumerate().filter_map(of).collect();
        if columns.is_empty() || mesh.is_empty() {
            return None;
        }
        Some(Self { tree: Bvh::new(mesh), mesh: mesh.clone(), columns })
    }

    fn paint(&self, x: &Vec3, row: &mut [f32]) {
        let Some(near) = self.tree.closest(x, f64::INFINITY) else { return };
        let weights = barycentric(&self.mesh.corners(near.triangle as usize), &near.point);
        let corners = self.mesh.triangles[near.triangle as usize];
        for (a, column) in &self.columns {
            let (data, width) = (&self.mesh.attributes[*a].data, column.width);
            for n in 0..width {
                let at = |v: u32| f64::from(data[v as usize * width + n]);
                let value: f64 = weights.iter().zip(corners).map(|(w, v)| w * at(v)).sum();
                // A vertex without a value leaves what the liquid would have had.
                if value.is_finite() {
                    row[column.start + n] = value as f32;
                }
            }
        }
    }
}

impl Coat<'_> {
    /// Write behind `out` what liquid at a point carries.
    pub fn apply(&self, x: &Vec3, out: &mut Vec<f32>) {
        let start = out.len();
        out.extend_from_slice(&self.row);
        if let Some(brush) = self.brush {
            brush.paint(&(self.pose.to_local(x) / self.scale), &mut out[start..]);
        }
    }
}
