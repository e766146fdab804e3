//! What liquid of a source carries from the start.
//!
//! A value is given in the scene for a whole source, or at the vertices of its mesh: then a point of the liquid takes what
//! the nearest point of the mesh has, linear over triangles. A mesh that is given at several frames may have other values at
//! each: liquid takes those of the moment at which it comes in. The scene goes before the mesh, and both before a field. Which names are carried is
//! settled when the scene is built. Checked by tests/attributes.rs.

use super::fields::{Fields, Moment};
use super::form::{Object, Placed};
use crate::error::Result;
use crate::field::{Column, Columns, PaintedMesh};
use crate::geometry::TriMesh;
use crate::math::{Pose, Vec3};
use crate::scene::{AttributeValue, Attributes, FieldKind, Scene, Shown, is_taken};
use std::sync::Arc;

/// Most numbers of one attribute of a mesh that are carried.
const WIDEST: usize = 4;

/// What the liquid of one source carries.
#[derive(Default)]
pub(super) struct Paint {
    columns: Columns,
    given: Vec<(Column, AttributeValue)>,
    /// The brush of a mesh that is the same at all times.
    still: Option<Arc<Brush>>,
    /// The greatest viscosity that it gives, Pa·s.
    thickest: f64,
}

/// A mesh with values at its vertices.
struct Brush {
    painted: PaintedMesh,
    /// Which attribute of the mesh goes to which column.
    columns: Vec<(usize, Column)>,
}

/// Paint at one moment, where the source stands then.
pub(super) struct Coat {
    row: Vec<f32>,
    /// Viscosity where neither the scene nor the mesh says it, and its place in the row.
    thickness: Vec<(usize, Moment)>,
    brush: Option<Arc<Brush>>,
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
    if scene.fields.iter().any(|f| f.kind == FieldKind::Viscosity) {
        columns.add("viscosity", 1, "fields")?;
    }
    for (object, given) in sources {
        for (name, value) in given {
            columns.add(name, value.width(), &object.name)?;
        }
        let painted = object.painted(scene.frames[0] as f64);
        for a in painted.attributes.iter().filter(|a| is_carried(a.width, &a.name)) {
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
        let still = match object.samples() {
            [_] => Brush::new(columns, &object.painted(frame), &given).map(Arc::new),
            _ => None,
        };
        let thickest = thickest(object, &given);
        Self { columns: columns.clone(), given, still, thickest }
    }

    /// What the liquid that comes in at a frame carries.
    pub fn at(&self, object: &Object, placed: &Placed, fields: &Fields, frame: f64) -> Coat {
        let mut row = self.columns.blank();
        for (column, value) in &self.given {
            value.write(frame, &mut row[column.start..column.start + column.width]);
        }
        let several = !row.is_empty() && object.samples().len() > 1;
        let brush = match several {
            true => Brush::new(&self.columns, &object.painted(frame), &self.given).map(Arc::new),
            false => self.still.clone(),
        };
        let column =
            self.columns.find("viscosity").filter(|_| self.given.iter().all(|g| g.0.name != "viscosity"));
        let thickness = column.map_or(Vec::new(), |c| {
            fields.at(FieldKind::Viscosity, frame).map(|moment| (c.start, moment)).collect()
        });
        Coat { row, thickness, brush, pose: placed.pose, scale: placed.scale }
    }

    /// The greatest viscosity that it gives now, Pa·s.
    pub fn thickest(&self) -> f64 {
        self.thickest
    }
}

/// The greatest viscosity among what was given or painted, Pa·s.
fn thickest(object: &Object, given: &[(Column, AttributeValue)]) -> f64 {
    let own = given.iter().filter(|(c, _)| c.name == "viscosity").flat_map(|(_, v)| v.numbers());
    let named = object.samples().iter().filter_map(|mesh| mesh.attribute("viscosity"));
    let painted = named.filter(|a| a.width == 1).flat_map(|a| a.data.iter().map(|v| f64::from(*v)));
    // The scene goes before the mesh.
    let painted = painted.filter(|_| given.iter().all(|(c, _)| c.name != "viscosity"));
    own.chain(painted).filter(|v| v.is_finite()).fold(0.0, f64::max)
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
        Some(Self { painted: PaintedMesh::new(mesh.clone()), columns })
    }

    fn paint(&self, x: &Vec3, row: &mut [f32]) {
        let Some(weights) = self.painted.weights(x) else { return };
        for (a, column) in &self.columns {
            for n in 0..column.width {
                let value = self.painted.value(*a, n, &weights);
                // A vertex without a value leaves what the liquid would have had.
                if value.is_finite() {
                    row[column.start + n] = value as f32;
                }
            }
        }
    }
}

impl Coat {
    /// Write behind `out` what liquid at a point carries.
    pub fn apply(&self, x: &Vec3, out: &mut Vec<f32>) {
        let start = out.len();
        out.extend_from_slice(&self.row);
        for (column, moment) in &self.thickness {
            if let Some(value) = moment.at(x) {
                out[start + column] = value.x as f32;
            }
        }
        if let Some(brush) = &self.brush {
            brush.paint(&(self.pose.to_local(x) / self.scale), &mut out[start..]);
        }
    }
}
