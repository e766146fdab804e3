//! Polygons to triangles.
//!
//! A quadrangle is cut along the shorter diagonal that leaves both halves on the side of its normal.
//! Larger polygons are cut ear by ear in the plane of their mean normal; where no ear is left, as in
//! a polygon that crosses itself, the rest becomes a fan. A fan may cover places twice with opposite
//! signs, so enclosed volumes and winding numbers stay right.

use crate::math::Vec3;

/// Polygons with more corners become fans: looking for ears costs the square of the corners.
const MOST_EARS: usize = 512;

/// Polygons as runs of one list of vertex indices.
#[derive(Default)]
pub(in crate::io) struct Polygons {
    corners: Vec<u32>,
    ends: Vec<usize>,
}

impl Polygons {
    /// From the number of corners of each and the vertices of all; nothing if they do not fit together.
    pub fn of<N: Copy + TryInto<u32>>(counts: &[N], corners: &[N], vertices: usize) -> Option<Self> {
        let mut polygons = Self::default();
        let mut rest = corners;
        for n in counts {
            let n: u32 = (*n).try_into().ok()?;
            let (face, after) = rest.split_at_checked(n as usize)?;
            for corner in face {
                let vertex = (*corner).try_into().ok().filter(|v| (*v as usize) < vertices)?;
                polygons.push_corner(vertex);
            }
            polygons.end_polygon();
            rest = after;
        }
        Some(polygons)
    }

    pub fn push_corner(&mut self, vertex: u32) {
        self.corners.push(vertex);
    }

    pub fn end_polygon(&mut self) {
        self.ends.push(self.corners.len());
    }

    /// Vertices of all corners, one polygon after another.
    pub fn corners(&self) -> impl Iterator<Item = u32> {
        self.corners.iter().copied()
    }

    /// Triangles of all polygons, whose indices must be in range.
    pub fn triangulate(&self, positions: &[Vec3]) -> Vec<[u32; 3]> {
        let mut out = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for end in &self.ends {
            cut(positions, &self.corners[start..*end], &mut out);
            start = *end;
        }
        out
    }
}

fn cut(positions: &[Vec3], polygon: &[u32], out: &mut Vec<[u32; 3]>) {
    match *polygon {
        [] | [_] | [_, _] => {}
        [a, b, c] => out.push([a, b, c]),
        [a, b, c, d] => out.extend(cut_quadrangle(positions, [a, b, c, d])),
        _ if polygon.len() <= MOST_EARS => cut_ears(positions, polygon, out),
        _ => fan(polygon, out),
    }
}

fn fan(polygon: &[u32], out: &mut Vec<[u32; 3]>) {
    out.extend(polygon.windows(2).skip(1).map(|w| [polygon[0], w[0], w[1]]));
}

/// Twice the vector area (Newell).
fn newell(p: &[Vec3]) -> Vec3 {
    (1..p.len().saturating_sub(1)).map(|i| (p[i] - p[0]).cross(&(p[i + 1] - p[0]))).sum()
}

fn cut_quadrangle(positions: &[Vec3], q: [u32; 4]) -> [[u32; 3]; 2] {
    let p = q.map(|v| positions[v as usize]);
    let normal = newell(&p);
    let first = [[0, 1, 2], [0, 2, 3]];
    let second = [[0, 1, 3], [1, 2, 3]];
    let worst = |cut: &[[usize; 3]; 2]| {
        let one = |t: &[usize; 3]| newell(&t.map(|i| p[i])).dot(&normal);
        one(&cut[0]).min(one(&cut[1]))
    };
    let (w1, w2) = (worst(&first), worst(&second));
    let shorter = (p[0] - p[2]).norm_squared() <= (p[1] - p[3]).norm_squared();
    let use_first = if w1 > 0.0 && w2 > 0.0 { shorter } else { w1 >= w2 };
    (if use_first { first } else { second }).map(|t| t.map(|i| q[i]))
}

fn cut_ears(positions: &[Vec3], polygon: &[u32], out: &mut Vec<[u32; 3]>) {
    let points: Vec<Vec3> = polygon.iter().map(|v| positions[*v as usize]).collect();
    let normal = newell(&points);
    let mut ring: Vec<usize> = (0..polygon.len()).collect();
    let mut at = 0;
    let mut tried = 0;
    while ring.len() > 3 {
        let n = ring.len();
        let ear = [ring[(at + n - 1) % n], ring[at % n], ring[(at + 1) % n]];
        if is_ear(&points, &ring, ear, &normal) {
            out.push(ear.map(|i| polygon[i]));
            ring.remove(at % n);
            (at, tried) = (at % n, 0);
        } else {
            (at, tried) = ((at + 1) % n, tried + 1);
        }
        if tried > ring.len() {
            break;
        }
    }
    let rest: Vec<u32> = ring.iter().map(|i| polygon[*i]).collect();
    fan(&rest, out);
}

/// Whether the corner turns the right way and its triangle holds no other corner.
fn is_ear(points: &[Vec3], ring: &[usize], ear: [usize; 3], normal: &Vec3) -> bool {
    let [a, b, c] = ear.map(|i| points[i]);
    let side = |p: &Vec3, q: &Vec3, x: &Vec3| (q - p).cross(&(x - p)).dot(normal);
    if side(&a, &b, &c) <= 0.0 {
        return false;
    }
    let holds = |x: &Vec3| side(&a, &b, x) >= 0.0 && side(&b, &c, x) >= 0.0 && side(&c, &a, x) >= 0.0;
    // A corner at the same place as one of the ear's is no obstacle.
    let distinct = |x: &Vec3| *x != a && *x != b && *x != c;
    !ring.iter().filter(|i| !ear.contains(i)).map(|i| &points[*i]).any(|x| distinct(x) && holds(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas(outline: &[[f64; 2]]) -> Vec<f64> {
        let positions: Vec<Vec3> = outline.iter().map(|p| Vec3::new(p[0], p[1], 1.0)).collect();
        let mut polygons = Polygons::default();
        (0..outline.len() as u32).for_each(|v| polygons.push_corner(v));
        polygons.end_polygon();
        let triangles = polygons.triangulate(&positions);
        triangles.iter().map(|t| 0.5 * newell(&t.map(|v| positions[v as usize])).z).collect()
    }

    #[test]
    fn concave_polygons_are_covered_once() {
        let arrow = [[0.0, 0.0], [2.0, 1.0], [0.0, 2.0], [1.0, 1.0]];
        let arrow = areas(&arrow);
        assert_eq!(arrow.len(), 2);
        assert!(arrow.iter().all(|a| *a > 0.0) && arrow.iter().sum::<f64>() == 1.0);
        let comb = [[0.0, 0.0], [5.0, 0.0], [5.0, 3.0], [4.0, 3.0], [4.0, 1.0], [3.0, 1.0], [3.0, 3.0]];
        let comb: Vec<[f64; 2]> =
            comb.into_iter().chain([[2.0, 3.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]).collect();
        let comb = areas(&comb);
        assert_eq!(comb.len(), 10);
        assert!(comb.iter().all(|a| *a > 0.0) && comb.iter().sum::<f64>() == 11.0);
    }

    #[test]
    fn a_polygon_that_crosses_itself_keeps_its_signed_area() {
        let star: Vec<[f64; 2]> = [[0.0, 0.0], [4.0, 4.0], [4.0, 0.0], [0.0, 4.0], [-1.0, 2.0]].to_vec();
        // The shoelace sum of this outline.
        assert_eq!(areas(&star).iter().sum::<f64>(), 2.0);
    }
}
