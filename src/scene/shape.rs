//! Shapes and where they stand.
//!
//! A point x of a shape is placed at t + c + R (s x − c): scaled by s, turned by R about the pivot c,
//! moved by t. R turns about x, then y, then z.

use super::Keyed;
use crate::math::{Aabb, Pose, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shape, as {"sphere": {"radius": 0.06}}. Y is up; lengths are in scene units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ShapeSpec {
    /// A box between two corners.
    Box {
        /// Lowest corner.
        min: [f64; 3],
        /// Highest corner.
        max: [f64; 3],
    },
    /// A ball.
    Sphere {
        /// Centre.
        #[serde(default)]
        center: [f64; 3],
        /// Radius.
        radius: f64,
    },
    /// All points within a radius of a segment.
    Capsule {
        /// One end of the segment.
        from: [f64; 3],
        /// The other end.
        to: [f64; 3],
        /// Radius.
        radius: f64,
    },
    /// Everything on the far side of a plane from its normal.
    Plane {
        /// A point of the plane.
        #[serde(default)]
        point: [f64; 3],
        /// Direction out of the solid; up when absent.
        #[serde(default = "up")]
        normal: [f64; 3],
    },
    /// A cylinder with flat ends.
    Cylinder {
        /// Centre of one end.
        from: [f64; 3],
        /// Centre of the other end.
        to: [f64; 3],
        /// Radius.
        radius: f64,
    },
    /// A round vessel, open above. The inside of its floor is centred on the origin; the wall lies outside
    /// `radius` and below y = 0.
    Cup {
        /// Radius inside.
        radius: f64,
        /// Depth inside.
        height: f64,
        /// Thickness of the wall and the floor.
        thickness: f64,
    },
    /// A hollow half of a ball, open above, centred on the origin with its rim at y = 0; the wall lies outside
    /// `radius`.
    Bowl {
        /// Radius inside.
        radius: f64,
        /// Thickness of the wall.
        thickness: f64,
    },
    /// A ring round the y axis, centred on the origin.
    Torus {
        /// Radius of the middle of the tube.
        radius: f64,
        /// Radius of the tube.
        tube: f64,
    },
    /// A triangle mesh from a file: OBJ, PLY or STL, relative to the scene.
    Mesh {
        /// The file.
        file: String,
        /// Scene units in a unit of the file.
        #[serde(default = "one")]
        scale: f64,
    },
    /// A deforming mesh: files at frames, which need not be whole. Between two frames the vertices move in
    /// straight lines.
    Samples {
        /// Pairs of frame and file, frames rising.
        files: Vec<(f64, String)>,
        /// Scene units in a unit of the files.
        #[serde(default = "one")]
        scale: f64,
    },
}

fn one() -> f64 {
    1.0
}

fn up() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

impl ShapeSpec {
    /// A box round the shape in its own space; nothing for planes and for files, which are not read here.
    pub fn bounds(&self) -> Option<Aabb> {
        let around = |a: Vec3, b: Vec3, r: Vec3| Some(Aabb::new(a.inf(&b) - r, a.sup(&b) + r));
        let cube = |r: f64| Vec3::new(r, r, r);
        match *self {
            ShapeSpec::Box { min, max } => around(min.into(), max.into(), Vec3::zeros()),
            ShapeSpec::Sphere { center, radius } => around(center.into(), center.into(), cube(radius)),
            ShapeSpec::Capsule { from, to, radius } | ShapeSpec::Cylinder { from, to, radius } => {
                around(from.into(), to.into(), cube(radius))
            }
            ShapeSpec::Cup { radius, height, thickness } => {
                let r = radius + thickness;
                around(Vec3::new(-r, -thickness, -r), Vec3::new(r, height, r), Vec3::zeros())
            }
            ShapeSpec::Bowl { radius, thickness } => {
                let r = radius + thickness;
                around(Vec3::new(-r, -r, -r), Vec3::new(r, 0.0, r), Vec3::zeros())
            }
            ShapeSpec::Torus { radius, tube } => {
                around(Vec3::zeros(), Vec3::zeros(), Vec3::new(radius + tube, tube, radius + tube))
            }
            ShapeSpec::Plane { .. } | ShapeSpec::Mesh { .. } | ShapeSpec::Samples { .. } => None,
        }
    }

    /// The files that the shape is made of.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match self {
            ShapeSpec::Mesh { file, .. } => (Some(file.as_str()), &[][..]),
            ShapeSpec::Samples { files, .. } => (None, &files[..]),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(many.iter().map(|f| f.1.as_str()))
    }

    /// Thickness of the thinnest wall, for shapes that have one.
    pub fn wall_thickness(&self) -> Option<f64> {
        match *self {
            ShapeSpec::Box { min, max } => {
                Some((0..3).map(|a| max[a] - min[a]).fold(f64::INFINITY, f64::min))
            }
            ShapeSpec::Sphere { radius, .. }
            | ShapeSpec::Capsule { radius, .. }
            | ShapeSpec::Cylinder { radius, .. } => Some(2.0 * radius),
            ShapeSpec::Cup { thickness, .. } | ShapeSpec::Bowl { thickness, .. } => Some(thickness),
            ShapeSpec::Torus { tube, .. } => Some(2.0 * tube),
            ShapeSpec::Plane { .. } | ShapeSpec::Mesh { .. } | ShapeSpec::Samples { .. } => None,
        }
    }
}

/// Where an object stands. A point x of its shape goes to translate + pivot + R (scale·x − pivot).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transform {
    /// Translation.
    pub translate: Keyed<[f64; 3]>,
    /// Angles in degrees about x, then y, then z. Angles move linearly between keys, so whole turns count.
    pub rotate: Keyed<[f64; 3]>,
    /// Point about which the object turns, in its own space after scaling.
    pub pivot: [f64; 3],
    /// Uniform scale.
    pub scale: f64,
}

impl Default for Transform {
    fn default() -> Self {
        Transform { translate: Keyed::default(), rotate: Keyed::default(), pivot: [0.0; 3], scale: 1.0 }
    }
}

impl Transform {
    /// The rigid part at a frame; scale the shape first.
    pub fn pose(&self, frame: f64) -> Pose {
        let angles = Vec3::from(self.rotate.at(frame)) * (std::f64::consts::PI / 180.0);
        let rotation = Pose::from_euler_xyz(&angles);
        let pivot = Vec3::from(self.pivot);
        Pose { rotation, translation: Vec3::from(self.translate.at(frame)) + pivot - rotation * pivot }
    }

    /// Whether the object moves.
    pub fn is_animated(&self) -> bool {
        self.translate.is_animated() || self.rotate.is_animated()
    }

    /// The frames at which a key is set, in order of the lists.
    pub fn key_frames(&self) -> impl Iterator<Item = f64> + '_ {
        let frames = |k: &Keyed<[f64; 3]>| match k {
            Keyed::Constant(_) => Vec::new(),
            Keyed::Keys(keys) => keys.iter().map(|k| k.0).collect(),
        };
        frames(&self.translate).into_iter().chain(frames(&self.rotate))
    }

    /// A box round a placed shape at a frame, from the corners of the shape's own box.
    pub fn bounds(&self, shape: &ShapeSpec, frame: f64) -> Option<Aabb> {
        let own = shape.bounds()?;
        let pose = self.pose(frame);
        let corner = |i: usize| {
            let pick = |a: usize| if i >> a & 1 == 0 { own.lo[a] } else { own.hi[a] };
            pose.to_world(&(Vec3::new(pick(0), pick(1), pick(2)) * self.scale))
        };
        Some(Aabb::of_points(&std::array::from_fn::<Vec3, 8, _>(corner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jug_tilts_about_its_pivot() {
        let transform = Transform {
            translate: [1.0, 0.0, 0.0].into(),
            rotate: Keyed::Keys(vec![(1.0, [0.0; 3]), (11.0, [0.0, 0.0, 180.0])]),
            pivot: [0.0, 2.0, 0.0],
            scale: 1.0,
        };
        let quarter = transform.pose(6.0);
        assert!((quarter.to_world(&Vec3::new(0.0, 2.0, 0.0)) - Vec3::new(1.0, 2.0, 0.0)).norm() < 1e-15);
        assert!((quarter.to_world(&Vec3::new(0.0, 3.0, 0.0)) - Vec3::new(0.0, 2.0, 0.0)).norm() < 1e-15);
    }

    #[test]
    fn a_turned_box_is_bounded_by_its_corners() {
        let shape = ShapeSpec::Box { min: [0.0; 3], max: [2.0, 1.0, 1.0] };
        let transform = Transform { rotate: [0.0, 0.0, 90.0].into(), scale: 0.5, ..Default::default() };
        let b = transform.bounds(&shape, 0.0).expect("a box");
        assert!((b.lo - Vec3::new(-0.5, 0.0, 0.0)).norm() < 1e-15);
        assert!((b.hi - Vec3::new(0.0, 1.0, 0.5)).norm() < 1e-15);
    }
}
