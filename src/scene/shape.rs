//! Shapes and where they stand.
//!
//! A point x of a shape is placed at t + c + R (s x − c): scaled by s, turned by R about the pivot c,
//! moved by t. R turns about x, then y, then z.

use super::Keyed;
use crate::error::Result;
use crate::geometry::Shape;
use crate::geometry::shape::{Bowl, Cup};
use crate::math::{Aabb, Pose, Vec3};
use nalgebra::{Quaternion, UnitQuaternion};
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
        /// Radius of the edges, which does not change the extent.
        #[serde(default)]
        rounding: f64,
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
        /// Radius of the edges, which does not change the extent.
        #[serde(default)]
        rounding: f64,
    },
    /// A round vessel with a flat floor, open above, that stands on y = 0 round the y axis. With a wider rim it
    /// is a tumbler or a jug.
    Cup {
        /// Radius inside at the floor.
        radius: f64,
        /// Radius inside at the rim; the same as `radius` when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        radius_top: Option<f64>,
        /// From the underside to the rim.
        height: f64,
        /// Thickness of the wall.
        thickness: f64,
        /// Thickness of the floor; that of the wall when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        floor: Option<f64>,
        /// Radius of the edges of the rim, less than half the thickness.
        #[serde(default)]
        rim: f64,
    },
    /// A part of a spherical shell with a round rim, open above, that stands on y = 0 round the y axis.
    Bowl {
        /// Radius inside.
        radius: f64,
        /// Depth inside, up to the middle of the rim; half a ball when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<f64>,
        /// Thickness of the wall.
        thickness: f64,
        /// Radius of the flat foot.
        #[serde(default)]
        foot: f64,
    },
    /// A ring round the y axis, centred on the origin.
    Torus {
        /// Radius of the middle of the tube.
        radius: f64,
        /// Radius of the tube.
        tube: f64,
    },
    /// A triangle mesh from a file: OBJ, PLY or STL, relative to the scene; or the surface on which a field of distances,
    /// negative inside, is zero: NRRD.
    Mesh {
        /// The file.
        file: String,
        /// Scene units in a unit of the file.
        #[serde(default = "one")]
        scale: f64,
        /// Width of the cells that its distance is kept in, scene units; those of the liquid when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<f64>,
    },
    /// A mesh at several frames, which need not be whole. What the samples share as a rigid motion is
    /// followed as one, so that a thing that turns keeps its size; what is left moves in straight lines. Where the
    /// triangles change from one file to the next, the vertex attribute `velocity` (or `v`) tells the
    /// motion, or else one surface is blended into the other.
    Samples {
        /// Pairs of frame and file, frames rising.
        files: Vec<(f64, String)>,
        /// Scene units in a unit of the files.
        #[serde(default = "one")]
        scale: f64,
        /// Width of the cells that its distance is kept in, scene units; those of the liquid when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<f64>,
        /// Whether the samples of each frame are taken by themselves, as when a host sends them before each
        /// step: the scene then gives the bits that the host saw. An empty name of a file means that the
        /// object is not there.
        #[serde(default, skip_serializing_if = "is_false")]
        by_frame: bool,
    },
}

fn is_false(value: &bool) -> bool {
    !value
}

fn one() -> f64 {
    1.0
}

fn up() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

impl ShapeSpec {
    /// The solid and its place in the shape's own space; nothing for files.
    pub fn solid(&self) -> Result<Option<(Shape, Pose)>> {
        let at = |center: Vec3| Pose { translation: center, ..Pose::identity() };
        let along = |from: &[f64; 3], to: &[f64; 3]| {
            let (from, to) = (Vec3::from(*from), Vec3::from(*to));
            let length = (to - from).norm();
            (length, Pose { rotation: from_up(&((to - from) / length)), translation: (from + to) * 0.5 })
        };
        Ok(Some(match self {
            ShapeSpec::Box { min, max, rounding } => {
                let (lo, hi) = (Vec3::from(*min), Vec3::from(*max));
                (Shape::cuboid((hi - lo) * 0.5, *rounding)?, at((lo + hi) * 0.5))
            }
            ShapeSpec::Sphere { center, radius } => (Shape::sphere(*radius)?, at((*center).into())),
            ShapeSpec::Capsule { from, to, radius } => {
                let (length, pose) = along(from, to);
                (Shape::capsule(*radius, length)?, pose)
            }
            ShapeSpec::Cylinder { from, to, radius, rounding } => {
                let (length, pose) = along(from, to);
                (Shape::cylinder(*radius, length, *rounding)?, pose)
            }
            ShapeSpec::Plane { point, normal } => {
                let rotation = from_up(&Vec3::from(*normal).normalize());
                (Shape::half_space(), Pose { rotation, translation: (*point).into() })
            }
            ShapeSpec::Cup { radius, radius_top, height, thickness, floor, rim } => {
                let cup = Cup {
                    radius: *radius,
                    radius_top: radius_top.unwrap_or(*radius),
                    height: *height,
                    wall: *thickness,
                    floor: floor.unwrap_or(*thickness),
                    rim: *rim,
                };
                (Shape::cup(&cup)?, Pose::identity())
            }
            ShapeSpec::Bowl { radius, depth, thickness, foot } => {
                let depth = depth.unwrap_or(*radius);
                let bowl = Bowl { radius: *radius, depth, thickness: *thickness, foot: *foot };
                (Shape::bowl(&bowl)?, Pose::identity())
            }
            ShapeSpec::Torus { radius, tube } => (Shape::torus(*radius, *tube)?, Pose::identity()),
            ShapeSpec::Mesh { .. } | ShapeSpec::Samples { .. } => return Ok(None),
        }))
    }

    /// The shape with every length multiplied; for files their scale, so that nothing is read here.
    pub fn scaled(&self, by: f64) -> ShapeSpec {
        let scale = |v: &mut [f64; 3]| *v = v.map(|x| x * by);
        let mut shape = self.clone();
        match &mut shape {
            ShapeSpec::Box { min, max, rounding } => {
                [min, max].into_iter().for_each(scale);
                *rounding *= by;
            }
            ShapeSpec::Sphere { center, radius } => {
                scale(center);
                *radius *= by;
            }
            ShapeSpec::Capsule { from, to, radius } => {
                [from, to].into_iter().for_each(scale);
                *radius *= by;
            }
            ShapeSpec::Cylinder { from, to, radius, rounding } => {
                [from, to].into_iter().for_each(scale);
                [radius, rounding].into_iter().for_each(|x| *x *= by);
            }
            ShapeSpec::Plane { point, .. } => scale(point),
            ShapeSpec::Cup { radius, radius_top, height, thickness, floor, rim } => {
                let maybe = radius_top.iter_mut().chain(floor);
                [radius, height, thickness, rim].into_iter().chain(maybe).for_each(|x| *x *= by);
            }
            ShapeSpec::Bowl { radius, depth, thickness, foot } => {
                [radius, thickness, foot].into_iter().chain(depth).for_each(|x| *x *= by);
            }
            ShapeSpec::Torus { radius, tube } => [radius, tube].into_iter().for_each(|x| *x *= by),
            ShapeSpec::Mesh { scale, detail, .. } | ShapeSpec::Samples { scale, detail, .. } => {
                [scale].into_iter().chain(detail).for_each(|x| *x *= by);
            }
        }
        shape
    }

    /// A box round the shape in its own space; nothing for planes, and for files, which are not read here.
    pub fn bounds(&self) -> Option<Aabb> {
        let (shape, pose) = self.solid().ok()??;
        let own = shape.bounds();
        own.lo.iter().chain(own.hi.iter()).all(|x| x.is_finite()).then(|| placed_box(&own, 1.0, &pose))
    }

    /// The files that the shape is made of.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match self {
            ShapeSpec::Mesh { file, .. } => (Some(file.as_str()), &[][..]),
            ShapeSpec::Samples { files, .. } => (None, &files[..]),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(many.iter().map(|f| f.1.as_str())).filter(|f| !f.is_empty())
    }

    /// Width of the cells that the distance of a mesh is kept in, if the scene says it.
    // Inlined, the field would be read before it is known to exist, which memory checkers rightly dislike.
    #[inline(never)]
    pub fn detail(&self) -> Option<f64> {
        match self {
            ShapeSpec::Mesh { detail, .. } | ShapeSpec::Samples { detail, .. } => *detail,
            _ => None,
        }
    }

    /// Whether the samples of each frame are taken by themselves.
    pub fn by_frame(&self) -> bool {
        matches!(self, ShapeSpec::Samples { by_frame: true, .. })
    }

    /// Thickness of the thinnest part, for shapes that have one.
    pub fn thickness(&self) -> Option<f64> {
        match *self {
            ShapeSpec::Box { min, max, .. } => {
                Some((0..3).map(|a| max[a] - min[a]).fold(f64::INFINITY, f64::min))
            }
            ShapeSpec::Sphere { radius, .. } | ShapeSpec::Capsule { radius, .. } => Some(2.0 * radius),
            ShapeSpec::Cylinder { from, to, radius, .. } => {
                Some((2.0 * radius).min((Vec3::from(to) - Vec3::from(from)).norm()))
            }
            ShapeSpec::Cup { thickness, floor, .. } => Some(floor.map_or(thickness, |f| f.min(thickness))),
            ShapeSpec::Bowl { thickness, .. } => Some(thickness),
            ShapeSpec::Torus { tube, .. } => Some(2.0 * tube),
            ShapeSpec::Plane { .. } | ShapeSpec::Mesh { .. } | ShapeSpec::Samples { .. } => None,
        }
    }
}

/// The shortest rotation that takes the y axis to a unit vector, by half-angle formulas (no trigonometry).
fn from_up(to: &Vec3) -> UnitQuaternion<f64> {
    let w = 1.0 + to.y;
    // Straight down the axis is not defined, and x serves.
    if w < 1e-12 {
        return UnitQuaternion::new_unchecked(Quaternion::new(0.0, 1.0, 0.0, 0.0));
    }
    UnitQuaternion::new_normalize(Quaternion::from_parts(w, Vec3::y().cross(to)))
}

/// A box round the eight corners of a box that is scaled and placed.
fn placed_box(own: &Aabb, scale: f64, pose: &Pose) -> Aabb {
    Aabb::of_points(&own.corners().map(|corner| pose.to_world(&(corner * scale))))
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
        Some(placed_box(&shape.bounds()?, self.scale, &self.pose(frame)))
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
        let shape = ShapeSpec::Box { min: [0.0; 3], max: [2.0, 1.0, 1.0], rounding: 0.0 };
        let transform = Transform { rotate: [0.0, 0.0, 90.0].into(), scale: 0.5, ..Default::default() };
        let b = transform.bounds(&shape, 0.0).expect("a box");
        assert!((b.lo - Vec3::new(-0.5, 0.0, 0.0)).norm() < 1e-15);
        assert!((b.hi - Vec3::new(0.0, 1.0, 0.5)).norm() < 1e-15);
    }

    #[test]
    fn a_leaning_capsule_reaches_from_end_to_end() {
        for to in [[3.0, 0.0, 4.0], [0.0, -2.0, 0.0], [1.0, -2.0, 0.5]] {
            let (shape, pose) =
                ShapeSpec::Capsule { from: [0.0; 3], to, radius: 0.5 }.solid().unwrap().unwrap();
            for t in [0.0, 0.3, 1.0] {
                let on_axis = Vec3::from(to) * t;
                assert!((shape.distance(&pose.to_local(&on_axis)) + 0.5).abs() < 1e-14, "{to:?} {t}");
            }
        }
    }

    #[test]
    fn a_plane_is_solid_behind_its_normal() {
        let (shape, pose) =
            ShapeSpec::Plane { point: [1.0, 0.0, 0.0], normal: [2.0, 0.0, 0.0] }.solid().unwrap().unwrap();
        assert!((shape.distance(&pose.to_local(&Vec3::new(3.0, 5.0, 7.0))) - 2.0).abs() < 1e-14);
        assert!(shape.distance(&pose.to_local(&Vec3::new(-3.0, 5.0, 7.0))) < 0.0);
    }

    #[test]
    fn a_scaled_shape_is_the_same_shape_larger() {
        let cup = ShapeSpec::Cup {
            radius: 0.05,
            radius_top: Some(0.06),
            height: 0.2,
            thickness: 0.006,
            floor: None,
            rim: 0.002,
        };
        let (small, _) = cup.solid().unwrap().unwrap();
        let (large, _) = cup.scaled(100.0).solid().unwrap().unwrap();
        let x = Vec3::new(0.03, 0.11, 0.04);
        assert!((large.distance(&(x * 100.0)) - 100.0 * small.distance(&x)).abs() < 1e-12);
    }
}
