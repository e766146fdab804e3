//! Particles of a frame, from and into the formats that hold them: PLY, BGEO, USD and VTP.
//!
//! A number that stays with its particle is a whole number in all of them and never passes through a float.

use super::{bgeo, mesh, usd, vtp};
use crate::error::{Error, Result};
use crate::geometry::{Attribute, TriMesh};
use crate::math::Vec3;
use std::path::Path;

/// Particles of one frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    pub position: Vec<Vec3>,
    /// As long as the positions; zero where a file has none.
    pub velocity: Vec<Vec3>,
    /// As long as the positions; counted where a file has none.
    pub id: Vec<u64>,
    /// Metres; 0 if a file does not tell.
    pub radius: f32,
    /// Whatever else a file holds.
    pub attributes: Vec<Attribute>,
}

impl Points {
    /// From vertices and their numbers; `velocity`, `id` and `radius` are taken out of the attributes.
    pub fn from_mesh(mesh: TriMesh, id: Option<Vec<u64>>) -> Self {
        let n = mesh.positions.len();
        let mut points = Points { position: mesh.positions, ..Points::default() };
        for a in mesh.attributes {
            match (a.name.as_str(), a.width) {
                ("velocity" | "v", 3) => points.velocity = vectors(&a.data),
                ("radius" | "pscale", 1) => points.radius = a.data.first().copied().unwrap_or(0.0),
                ("id", 1) => {}
                _ => points.attributes.push(a),
            }
        }
        points.velocity.resize(n, Vec3::zeros());
        points.id = id.filter(|id| id.len() == n).unwrap_or_else(|| (0..n as u64).collect());
        points
    }

    /// The same as vertices without triangles, for formats that know no others.
    pub fn to_mesh(&self) -> TriMesh {
        let mut mesh = TriMesh::new(self.position.clone(), Vec::new());
        let data = self.velocity.iter().flat_map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect();
        mesh.attributes = vec![Attribute { name: "velocity".into(), width: 3, data }];
        mesh.attributes.extend(self.attributes.iter().cloned());
        mesh
    }
}

/// Three numbers a vector.
pub(super) fn vectors(data: &[f32]) -> Vec<Vec3> {
    data.chunks_exact(3).map(|v| Vec3::new(v[0].into(), v[1].into(), v[2].into())).collect()
}

/// Read the particles of a file.
pub fn read(path: &Path) -> Result<Points> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
    parse(&path.display().to_string(), &bytes)
}

/// Particles from the bytes of a file; `file` is its name, for errors.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Points> {
    if usd::is_usd(bytes) {
        usd::parse_points(file, bytes)
    } else if bytes.starts_with(b"ply") {
        let (mesh, id) = mesh::parse_numbered(file, bytes)?;
        Ok(Points::from_mesh(mesh, id))
    } else if bgeo::is_bgeo(bytes) {
        bgeo::parse(file, bytes)
    } else if vtp::is_vtp(bytes) {
        let (mesh, id) = vtp::parse(file, bytes)?;
        Ok(Points::from_mesh(mesh, id))
    } else {
        Err(Error::Format {
            file: file.into(),
            place: "byte 0".into(),
            message: "neither PLY, BGEO, USD nor VTP: particles are read from these".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::usd::{UsdFrame, UsdPoints, to_usda, to_usdc};
    use crate::scene::Fps;

    fn some() -> Points {
        let at = |i: usize| {
            Vec3::new(i as f64 * 0.5, -1.25, 1e-3f32 as f64 * i as f64).map(|c| f64::from(c as f32))
        };
        let n = 40;
        Points {
            position: (0..n).map(at).collect(),
            velocity: (0..n).map(|i| at(i) * 2.0).collect(),
            // Above what a float can count.
            id: (0..n as u64).map(|i| (1 << 24) + 1 + 3 * i * i).collect(),
            radius: 0.125,
            attributes: vec![
                Attribute { name: "age".into(), width: 1, data: (0..n).map(|i| i as f32 / 3.0).collect() },
                Attribute {
                    name: "paint".into(),
                    width: 3,
                    data: (0..3 * n).map(|i| i as f32 / 7.0).collect(),
                },
            ],
        }
    }

    #[test]
    fn particles_keep_their_numbers_and_what_they_carry_through_every_format() {
        let points = some();
        let mut ply = Vec::new();
        mesh::write_particles_ply(
            &points.position,
            &points.id,
            points.radius,
            &points.velocity,
            &points.attributes,
            &mut ply,
        )
        .unwrap();
        let mut geo = Vec::new();
        bgeo::write_points(&points, &mut geo).unwrap();
        let usd = UsdPoints {
            position: &points.position,
            velocity: &points.velocity,
            id: &points.id,
            width: 0.25,
            carried: &points.attributes,
        };
        let frame =
            UsdFrame { frame: 1, fps: Fps::default(), surface: None, particles: Some(usd), solids: &[] };
        let files = [ply, geo, to_usdc(&frame), to_usda(&frame).into_bytes(), vtp::points_to_bytes(&points)];
        for (i, bytes) in files.iter().enumerate() {
            assert_eq!(parse("points", bytes).unwrap(), points, "format {i}");
            for end in [0, 3, bytes.len() / 3, bytes.len() / 2, bytes.len() - 2] {
                assert!(parse("short", &bytes[..end]).is_err(), "format {i} cut at {end}");
            }
        }
    }
}
