//! The surface for pictures: the zero set of the [skin](super::skin) on half cells, smoothed as the scene asks,
//! plus a ball of its own volume for each particle that is a drop by itself. Each vertex carries its velocity and what the
//! [liquid carries](super::attributes) there.

use super::Mac;
use super::skin::Skin;
use crate::error::Result;
use crate::field::VelocityPatch;
use crate::geometry::{Attribute, TriMesh};
use crate::grid::{contour, smooth};
use crate::math::Vec3;
use rayon::prelude::*;

/// Passes of the filter that smooth over about one cell.
const PASSES_A_CELL: f64 = 3.0;

/// Vertices of the ball that stands for a drop.
const BALL: usize = 12;

impl Mac {
    pub(super) fn build_surface(&self, overlap: f64, viscosity: &[f64]) -> Result<TriMesh> {
        let Skin { tiles, psi, lone } = self.skin(overlap)?;
        let mut mesh = contour(&tiles, &psi)?.mesh;
        smooth(&mut mesh, (PASSES_A_CELL * self.options.smoothing).round() as usize)?;
        let mut velocity = self.velocity_at(&mesh.positions);
        let carried = self.attributes_at(&mesh.positions, &lone, BALL, viscosity)?;
        self.add_drops(&lone, &mut mesh, &mut velocity);
        let data = velocity.iter().flat_map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect();
        mesh.attributes = vec![Attribute { name: "velocity".into(), width: 3, data }];
        mesh.attributes.extend(carried);
        Ok(mesh)
    }

    /// Velocity of the liquid at many points; neighbours in the list should be neighbours in space.
    pub(super) fn velocity_at(&self, points: &[Vec3]) -> Vec<Vec3> {
        let grid = &self.now.grid;
        let tiles = &grid.tiles;
        let chunk = |points: &[Vec3]| {
            let (mut patch, mut loaded) = (VelocityPatch::default(), None);
            let at = |x: &Vec3| {
                let coord = tiles.split(tiles.cell_at(x)).0;
                if loaded != Some(coord) {
                    patch.load(tiles, &grid.velocity, coord, 1);
                    loaded = Some(coord);
                }
                patch.sample(&tiles.to_grid(x))
            };
            points.iter().map(at).collect::<Vec<_>>()
        };
        points.par_chunks(1024).flat_map_iter(chunk).collect()
    }

    /// Add a ball for every drop.
    fn add_drops(&self, drops: &[usize], mesh: &mut TriMesh, velocity: &mut Vec<Vec3>) {
        let particles = &self.now.particles;
        let (points, triangles) = unit_ball();
        let unit: f64 = TriMesh::new(points.to_vec(), triangles.to_vec()).volume();
        for &p in drops {
            let radius = crate::math::elementary::cbrt(particles.volume[p] as f64 / unit);
            let base = mesh.positions.len() as u32;
            mesh.positions.extend(points.iter().map(|d| particles.position[p] + d * radius));
            mesh.triangles.extend(triangles.iter().map(|t| t.map(|v| v + base)));
            velocity.extend(std::iter::repeat_n(particles.velocity[p], points.len()));
        }
    }
}

/// An icosahedron of radius one: 12 vertices, 20 triangles, normals outwards.
fn unit_ball() -> ([Vec3; BALL], [[u32; 3]; 20]) {
    let g = 0.5 * (1.0 + 5f64.sqrt());
    let s = 1.0 / (1.0 + g * g).sqrt();
    let mut points = [Vec3::zeros(); BALL];
    for (i, point) in points.iter_mut().enumerate() {
        let (axis, sign) = (i / 4, |bit: usize| if i >> bit & 1 == 0 { s } else { -s });
        point[axis] = sign(0);
        point[(axis + 1) % 3] = sign(1) * g;
    }
    let mut triangles = [[0; 3]; 20];
    let mut count = 0;
    // Faces join the vertices that are one edge length apart.
    let edge = 2.0 * s;
    let adjacent = |a: usize, b: usize| ((points[a] - points[b]).norm() - edge).abs() < 1e-9;
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if adjacent(a, b) && adjacent(b, c) && adjacent(a, c) {
                    let out = points[a].dot(&points[b].cross(&points[c])) > 0.0;
                    let [b, c] = if out { [b, c] } else { [c, b] };
                    triangles[count] = [a as u32, b as u32, c as u32];
                    count += 1;
                }
            }
        }
    }
    (points, triangles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_is_a_closed_ball() {
        let (points, triangles) = unit_ball();
        let mesh = TriMesh::new(points.to_vec(), triangles.to_vec());
        // The volume of the icosahedron inscribed in the unit sphere.
        assert!((mesh.volume() - 2.536_150_710_120_4).abs() < 1e-9);
    }
}
