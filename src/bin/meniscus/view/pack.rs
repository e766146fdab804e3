//! Meshes in few bytes, for the viewer.
//!
//! Positions are whole numbers of steps from the corner of the shot's box, 65,535 steps to its longest
//! side, so a vertex is off by half a step at most: 1/131,070 of that side. Vertices stand in the order
//! in which triangles first use them, each as the difference to the one before; a corner of a triangle is
//! how far it lies below the next new vertex, so a new one is 0. Differences are zigzag, numbers seven
//! bits a byte, and the whole is deflated (RFC 1951, which browsers inflate by themselves):
//!
//! ```text
//!     vertices, triangles, channels, 3 differences a vertex, 1 byte a vertex for each channel, 3 corners a triangle
//! ```
//!
//! A channel is a number to colour by, speed first, from 0 to 255 over its range in the shot.
//! Where a shot is too large for one page, vertices in one cube of `cube` steps become their mean and
//! triangles that vanish are left out.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use meniscus::geometry::TriMesh;
use meniscus::math::{Aabb, Vec3};
use meniscus::{Error, Result};
use std::collections::HashMap;
use std::io::Write;

/// Steps to the longest side of the box.
pub const STEPS: f64 = 65535.0;

/// How positions and speeds become whole numbers.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub low: Vec3,
    /// Metres.
    pub step: f64,
    /// Steps to the side of a cube whose vertices become one; 1 keeps all.
    pub cube: u32,
}

/// A mesh as bytes, and what is left of it.
pub struct Packed {
    pub bytes: Vec<u8>,
    pub vertices: usize,
    pub triangles: usize,
}

impl Grid {
    pub fn of(bounds: &Aabb) -> Self {
        let longest = bounds.size().max().max(1e-12);
        Grid { low: bounds.lo, step: longest / STEPS, cube: 1 }
    }

    fn place(&self, p: &Vec3) -> [i64; 3] {
        std::array::from_fn(|a| ((p[a] - self.low[a]) / self.step).round().clamp(-1e9, 1e9) as i64)
    }

    /// Pack a mesh; channels have a number from 0 to 1 for each vertex.
    pub fn pack(&self, mesh: &TriMesh, channels: &[Vec<f64>]) -> Result<Packed> {
        let points: Vec<[i64; 3]> = mesh.positions.iter().map(|p| self.place(p)).collect();
        let byte = |channel: &[f64], i: usize| 255.0 * channel.get(i).copied().unwrap_or(0.0).clamp(0.0, 1.0);
        let (members, of) = self.cubes(&points);
        let mut order = Order { place: vec![u32::MAX; members.len()], used: Vec::new(), corners: Vec::new() };
        let mut triangles = 0;
        for t in &mesh.triangles {
            let t = t.map(|v| of[v as usize]);
            if t[0] != t[1] && t[1] != t[2] && t[2] != t[0] {
                t.into_iter().for_each(|v| order.corner(v));
                triangles += 1;
            }
        }
        let mut raw = Vec::new();
        number(order.used.len() as u64, &mut raw);
        number(triangles as u64, &mut raw);
        number(channels.len() as u64, &mut raw);
        let mut before = [0i64; 3];
        for v in &order.used {
            let all = &members[*v as usize];
            let mean = |a: usize| {
                all.iter().map(|i| points[*i as usize][a]).sum::<i64>().div_euclid(all.len() as i64)
            };
            let here = [mean(0), mean(1), mean(2)];
            (0..3).for_each(|a| number(zigzag(here[a] - before[a]), &mut raw));
            before = here;
        }
        for channel in channels {
            raw.extend(order.used.iter().map(|v| {
                let all = &members[*v as usize];
                (all.iter().map(|i| byte(channel, *i as usize)).sum::<f64>() / all.len() as f64) as u8
            }));
        }
        raw.extend(order.corners);
        let mut out = DeflateEncoder::new(Vec::new(), Compression::new(6));
        let bytes = out.write_all(&raw).and_then(|()| out.finish());
        let bytes = bytes.map_err(|e| Error::invalid("mesh", e.to_string()))?;
        Ok(Packed { bytes, vertices: order.used.len(), triangles })
    }

    /// The vertices of each cube in order of appearance, and the cube of each vertex.
    fn cubes(&self, points: &[[i64; 3]]) -> (Vec<Vec<u32>>, Vec<u32>) {
        if self.cube <= 1 {
            return ((0..points.len() as u32).map(|i| vec![i]).collect(), (0..points.len() as u32).collect());
        }
        let side = i64::from(self.cube);
        let mut known: HashMap<[i64; 3], u32> = HashMap::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let of = points.iter().enumerate().map(|(i, p)| {
            let cube = *known.entry(p.map(|c| c.div_euclid(side))).or_insert_with(|| {
                members.push(Vec::new());
                members.len() as u32 - 1
            });
            members[cube as usize].push(i as u32);
            cube
        });
        let of = of.collect();
        (members, of)
    }
}

/// Vertices in order of first use.
struct Order {
    place: Vec<u32>,
    used: Vec<u32>,
    corners: Vec<u8>,
}

impl Order {
    fn corner(&mut self, vertex: u32) {
        let place = &mut self.place[vertex as usize];
        let next = self.used.len() as u32;
        if *place == u32::MAX {
            *place = next;
            self.used.push(vertex);
        }
        number(u64::from(next - *place), &mut self.corners);
    }
}

fn zigzag(x: i64) -> u64 {
    ((x << 1) ^ (x >> 63)) as u64
}

fn number(mut x: u64, out: &mut Vec<u8>) {
    while x >= 128 {
        out.push(x as u8 | 128);
        x >>= 7;
    }
    out.push(x as u8);
}

/// The mean length of an edge in steps, from every tenth triangle.
pub fn mean_edge(mesh: &TriMesh, grid: &Grid) -> Option<f64> {
    let some = mesh.triangles.iter().step_by(10);
    let edge = |t: &[u32; 3]| (mesh.positions[t[0] as usize] - mesh.positions[t[1] as usize]).norm();
    let (sum, count) = some.fold((0.0, 0.0), |(s, n), t| (s + edge(t), n + 1.0));
    (count > 0.0).then(|| sum / count / grid.step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::DeflateDecoder;
    use std::io::Read;

    /// What the viewer's script does.
    fn unpack(bytes: &[u8], grid: &Grid) -> (Vec<Vec3>, Vec<u8>, Vec<[u32; 3]>) {
        let mut raw = Vec::new();
        DeflateDecoder::new(bytes).read_to_end(&mut raw).unwrap();
        let mut at = 0;
        let mut next = |raw: &[u8]| {
            let (mut value, mut shift) = (0u64, 0);
            loop {
                let byte = raw[at];
                at += 1;
                value |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    return (value, at);
                }
            }
        };
        let (vertices, triangles, channels) = (next(&raw).0, next(&raw).0, next(&raw).0);
        let mut here = [0i64; 3];
        let mut positions = Vec::new();
        let mut end = 0;
        for _ in 0..vertices {
            for c in &mut here {
                let (z, place) = next(&raw);
                *c += (z >> 1) as i64 ^ -((z & 1) as i64);
                end = place;
            }
            positions.push(grid.low + Vec3::from(here.map(|c| c as f64)) * grid.step);
        }
        let speeds = raw[end..end + vertices as usize].to_vec();
        at = end + (channels * vertices) as usize;
        let mut next = |raw: &[u8]| {
            let (mut value, mut shift) = (0u64, 0);
            loop {
                let byte = raw[at];
                at += 1;
                value |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    return value as u32;
                }
            }
        };
        let mut seen = 0;
        let mut corner = || {
            let below = next(&raw);
            seen += u32::from(below == 0);
            // A new vertex is counted before its own number is known.
            if below == 0 { seen - 1 } else { seen - below }
        };
        let triangles = (0..triangles).map(|_| [corner(), corner(), corner()]).collect();
        (positions, speeds, triangles)
    }

    #[test]
    fn a_packed_ball_comes_back_to_half_a_step() {
        let ball = TriMesh::icosphere(0.3, 3);
        let grid = Grid::of(&Aabb::of_points(&ball.positions));
        let speeds: Vec<f64> = ball.positions.iter().map(|p| (p.y + 0.3).abs()).collect();
        let packed = grid.pack(&ball, &[speeds.clone(), vec![0.5; speeds.len()]]).unwrap();
        let (positions, speed, triangles) = unpack(&packed.bytes, &grid);
        assert_eq!((positions.len(), triangles.len()), (ball.positions.len(), ball.triangles.len()));
        for (old, new) in ball.triangles.iter().zip(&triangles) {
            for (o, n) in old.iter().zip(new) {
                let off = ball.positions[*o as usize] - positions[*n as usize];
                assert!(off.amax() <= 0.5 * grid.step * (1.0 + 1e-6), "{off}");
                let s = 255.0 * speeds[*o as usize];
                assert!((f64::from(speed[*n as usize]) - s).abs() <= 1.0);
            }
        }
        // Plain numbers would take 12 bytes for a place, 1 for speed and 24 for two triangles.
        assert!(2 * packed.bytes.len() < 37 * ball.positions.len(), "{} bytes", packed.bytes.len());
    }

    #[test]
    fn cubes_leave_fewer_vertices_and_the_shape() {
        let ball = TriMesh::icosphere(0.3, 5);
        let mut grid = Grid::of(&Aabb::of_points(&ball.positions));
        grid.cube = (3.0 * mean_edge(&ball, &grid).unwrap()) as u32;
        let packed = grid.pack(&ball, &[]).unwrap();
        assert!(packed.vertices * 4 < ball.positions.len() && packed.vertices > 100, "{}", packed.vertices);
        let (positions, _, _) = unpack(&packed.bytes, &grid);
        assert!(positions.iter().all(|p| (p.norm() - 0.3).abs() < 2.0 * f64::from(grid.cube) * grid.step));
        assert!(grid.pack(&TriMesh::default(), &[]).is_ok());
    }
}
