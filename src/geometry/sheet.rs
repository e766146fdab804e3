//! Which side of an open surface holds liquid: the hollow of a cup, a spoon, a folded leaf.
//!
//! A piece of surface whose triangles are turned to face one way, with vector areas aₜnₜ and centroids cₜ about
//! the common centroid C, has the moment
//!
//! ```text
//!     K = Σ aₜ nₜ·(cₜ − C) / (A r)          A = Σ aₜ,  r² = Σ aₜ |cₜ − C|² / A
//! ```
//!
//! For a closed surface A r K is three times its volume; for a cup it is positive if the normals point away from
//! the hollow, for a sphere 1, for a plane 0. Where |K| is small the surface is flat or bends both ways, and
//! neither side is the hollow one. Reversing triangles in the file changes nothing.

use super::pieces::pieces;
use super::{MeshEdges, TriMesh};
use crate::math::Vec3;

/// A surface with a smaller moment has no hollow side.
const FLAT: f64 = 0.05;

/// For each triangle the unit normal that points away from the hollow of its piece of the surface; zero where there
/// is none. Pieces end at edges that are not shared by exactly two triangles.
pub fn away_from_hollow(mesh: &TriMesh, edges: &MeshEdges) -> Vec<Vec3> {
    let areas: Vec<Vec3> = (0..mesh.triangles.len()).map(|t| mesh.vector_area(t)).collect();
    let mut away = vec![Vec3::zeros(); areas.len()];
    let (pieces, turned) = pieces(mesh, edges);
    // A band with a twist has one side only.
    for piece in pieces.iter().filter(|p| !p.one_sided) {
        let moment = moment(mesh, &areas, &turned, &piece.triangles);
        if moment.abs() > FLAT {
            for t in piece.triangles.iter().map(|t| *t as usize) {
                let normal = areas[t].try_normalize(0.0).unwrap_or_else(Vec3::zeros);
                away[t] = normal * (turned[t] as f64 * moment.signum());
            }
        }
    }
    away
}

fn moment(mesh: &TriMesh, areas: &[Vec3], turned: &[i8], piece: &[u32]) -> f64 {
    let centroid = |t: usize| mesh.corners(t).iter().sum::<Vec3>() / 3.0;
    let members = || piece.iter().map(|t| *t as usize);
    let area: f64 = members().map(|t| areas[t].norm()).sum();
    let middle = members().map(|t| centroid(t) * areas[t].norm()).sum::<Vec3>() / area;
    let (mut sum, mut spread) = (0.0, 0.0);
    for t in members() {
        let arm = centroid(t) - middle;
        sum += turned[t] as f64 * areas[t].dot(&arm);
        spread += areas[t].norm() * arm.norm_squared();
    }
    let moment = sum / (area * spread).sqrt();
    if moment.is_finite() { moment } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away(mesh: &TriMesh) -> Vec<Vec3> {
        away_from_hollow(mesh, &MeshEdges::new(mesh))
    }

    #[test]
    fn a_box_without_a_lid_is_hollow_whichever_way_its_faces_point() {
        let mut mesh = TriMesh::cuboid(Vec3::zeros(), Vec3::repeat(1.0));
        mesh.triangles.retain(|t| !t.iter().all(|v| mesh.positions[*v as usize].y == 1.0));
        for every in [usize::MAX, 2, 3] {
            let mut damaged = mesh.clone();
            damaged.triangles.iter_mut().step_by(every.min(100)).for_each(|t| t.swap(0, 1));
            for (t, n) in away(&damaged).iter().enumerate() {
                let centre = damaged.corners(t).iter().sum::<Vec3>() / 3.0;
                assert!((n.norm() - 1.0).abs() < 1e-15 && n.dot(&(centre - Vec3::repeat(0.5))) > 0.3);
            }
        }
    }

    #[test]
    fn neither_a_plane_nor_a_wave_nor_a_twisted_band_has_a_hollow_side() {
        // A strip of 40 pieces; `end` says where the last one goes on.
        let strip = |at: &dyn Fn(f64) -> [Vec3; 2], joined: bool| {
            let positions: Vec<Vec3> = (0..=40).flat_map(|k| at(k as f64 / 40.0)).collect();
            let pairs = (0..40u32).map(|k| [2 * k, 2 * k + 1, 2 * k + 2, 2 * k + 3]);
            let pairs = pairs.map(|[a, b, c, d]| if joined && c == 80 { [a, b, 1, 0] } else { [a, b, c, d] });
            TriMesh::new(positions, pairs.flat_map(|[a, b, c, d]| [[a, b, c], [c, b, d]]).collect())
        };
        let turn = std::f64::consts::TAU;
        let wave = |s: f64| [0.0, 1.0].map(|z| Vec3::new(s, 0.1 * (turn * s).sin(), z));
        let band = |s: f64| {
            let (out, half) = (Vec3::new((turn * s).cos(), 0.0, (turn * s).sin()), 0.5 * turn * s);
            [-0.2, 0.2].map(|w| out + (out * half.cos() + Vec3::y() * half.sin()) * w)
        };
        for mesh in [
            strip(&|s| [0.0, 1.0].map(|z| Vec3::new(s, 0.0, z)), false),
            strip(&wave, false),
            strip(&band, true),
        ] {
            assert!(away(&mesh).iter().all(|n| *n == Vec3::zeros()));
        }
        // Half a pipe of the same strip has one.
        let pipe = |s: f64| [0.0, 1.0].map(|z| Vec3::new((0.5 * turn * s).cos(), -(0.5 * turn * s).sin(), z));
        let mesh = strip(&pipe, false);
        let outward = |(t, n): (usize, &Vec3)| n.dot(&mesh.corners(t)[0]) > 0.9;
        assert!(away(&mesh).iter().enumerate().all(outward));
    }
}
