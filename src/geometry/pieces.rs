//! Pieces of a surface, and triangles turned to face one way.
//!
//! A piece is what can be reached over edges that exactly two triangles share. Two such neighbours face the same way if they
//! run along their edge in opposite directions. Going from neighbour to neighbour gives each triangle of a piece a sign, +1 or −1,
//! by which it must be turned to face the way of the first one; a band with a twist has no such signs.
//!
//! In files, faces are often turned at random. A winding number adds what triangles say: with every other face of a ball turned
//! it is zero inside, and the ball is no solid; with every other face of a sheet turned its rim looks closed.
//! [`facing_alike`] turns the lesser part by area, so that what a file says right stays, a cavity inside a body too.

use super::{MeshEdges, TriMesh};
use crate::math::Vec3;

/// Triangles that hang together.
pub(super) struct Piece {
    pub triangles: Vec<u32>,
    /// No choice of signs makes all its triangles face one way.
    pub one_sided: bool,
}

/// All pieces, and for each triangle the sign that turns it the way of the first of its piece.
pub(super) fn pieces(mesh: &TriMesh, edges: &MeshEdges) -> (Vec<Piece>, Vec<i8>) {
    let beside = neighbours(mesh, edges);
    // 0 where no piece has come yet.
    let mut turned = vec![0i8; mesh.triangles.len()];
    let mut pieces = Vec::new();
    for first in 0..mesh.triangles.len() {
        if turned[first] != 0 {
            continue;
        }
        turned[first] = 1;
        let mut piece = Piece { triangles: vec![first as u32], one_sided: false };
        let mut next = 0;
        while let Some(&t) = piece.triangles.get(next) {
            next += 1;
            for &(other, same) in beside[t as usize].iter().flatten() {
                let sign = if same { turned[t as usize] } else { -turned[t as usize] };
                if turned[other as usize] == 0 {
                    turned[other as usize] = sign;
                    piece.triangles.push(other);
                }
                piece.one_sided |= turned[other as usize] != sign;
            }
        }
        pieces.push(piece);
    }
    (pieces, turned)
}

/// The mesh with all triangles of each piece facing the way that most of its area faces; None if they do already.
/// Where both ways have the same area, it is the way out of what the piece encloses.
pub fn facing_alike(mesh: &TriMesh, edges: &MeshEdges) -> Option<TriMesh> {
    let differ = |e: usize| matches!(edges.corners_of(e), &[p, q] if !face_alike(mesh, edges, p, q));
    if !(0..edges.len()).any(differ) {
        return None;
    }
    let (pieces, turned) = pieces(mesh, edges);
    let mut alike = mesh.clone();
    for piece in pieces.iter().filter(|p| !p.one_sided) {
        let (mut kept, mut all, mut enclosed) = (0.0, 0.0, 0.0);
        let base = mesh.corners(piece.triangles[0] as usize)[0];
        for &t in &piece.triangles {
            let (area, sign) = (mesh.vector_area(t as usize), turned[t as usize] as f64);
            kept += sign * area.norm();
            all += area.norm();
            enclosed += sign * area.dot(&(mesh.corners(t as usize)[0] - base));
        }
        // Areas of a regular mesh differ by round-off.
        let way = if kept.abs() > 1e-9 * all { kept } else { enclosed };
        let wrong = if way < 0.0 { 1 } else { -1 };
        for &t in piece.triangles.iter().filter(|t| turned[**t as usize] == wrong) {
            alike.triangles[t as usize].swap(1, 2);
        }
    }
    Some(alike)
}

/// Whether the triangles of two corners on one edge face the same way.
fn face_alike(mesh: &TriMesh, edges: &MeshEdges, p: u32, q: u32) -> bool {
    let from = |corner: u32| edges.vertex[mesh.triangles[corner as usize / 3][corner as usize % 3] as usize];
    from(p) != from(q)
}

/// For each triangle those beside it, and whether they face the same way.
fn neighbours(mesh: &TriMesh, edges: &MeshEdges) -> Vec<[Option<(u32, bool)>; 3]> {
    let mut beside = vec![[None; 3]; mesh.triangles.len()];
    for e in 0..edges.len() {
        let &[p, q] = edges.corners_of(e) else { continue };
        let same = face_alike(mesh, edges, p, q);
        beside[p as usize / 3][p as usize % 3] = Some((q / 3, same));
        beside[q as usize / 3][q as usize % 3] = Some((p / 3, same));
    }
    beside
}

impl TriMesh {
    /// Half the cross product of two sides of a triangle: its normal times its area.
    pub(super) fn vector_area(&self, t: usize) -> Vec3 {
        let [a, b, c] = self.corners(t);
        (b - a).cross(&(c - a)) * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(mesh: &TriMesh) -> Option<TriMesh> {
        facing_alike(mesh, &MeshEdges::new(mesh))
    }

    /// What a closed mesh encloses, by the divergence of x/3.
    fn volume(mesh: &TriMesh) -> f64 {
        (0..mesh.triangles.len()).map(|t| mesh.vector_area(t).dot(&mesh.corners(t)[0]) / 3.0).sum()
    }

    #[test]
    fn a_ball_with_faces_turned_at_random_becomes_the_ball_again() {
        let ball = TriMesh::icosphere(1.0, 3);
        assert!(alike(&ball).is_none());
        for every in [2, 3, 7] {
            let mut damaged = ball.clone();
            damaged.triangles.iter_mut().step_by(every).for_each(|t| t.swap(1, 2));
            assert!((volume(&damaged) - volume(&ball)).abs() > 0.5);
            let mended = alike(&damaged).expect("faces differ");
            assert!((volume(&mended) - volume(&ball)).abs() < 1e-12);
            assert!(alike(&mended).is_none());
        }
    }

    #[test]
    fn a_cavity_stays_a_cavity() {
        let mut shell = TriMesh::icosphere(1.0, 2);
        let hollow = TriMesh::icosphere(0.5, 2);
        let first = shell.positions.len() as u32;
        shell.positions.extend(&hollow.positions);
        shell.triangles.extend(hollow.triangles.iter().map(|t| [t[0], t[2], t[1]].map(|v| v + first)));
        let expected = volume(&shell);
        shell.triangles.iter_mut().step_by(5).for_each(|t| t.swap(1, 2));
        let mended = alike(&shell).expect("faces differ");
        assert!((volume(&mended) - expected).abs() < 1e-12);
    }
}
