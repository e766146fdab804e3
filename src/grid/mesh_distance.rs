//! Signed distance of a triangle mesh on a sparse grid of its own.
//!
//! Distances sit at the nodes (lower corners) of cells of width h in the mesh's rest space, whatever
//! the liquid's cells are. Tiles exist where a node is within the band; there the distance is that of
//! the nearest feature, exact to round-off and to 1e-9 h, and further away it is the band. Negative
//! inside. The inside is where the winding number says so, see [`super::mesh_distance_sign`], after faces were turned to look
//! the way that most of their piece of the surface does; holes, doubled or turned faces and self-intersections are no obstacle.
//!
//! A mesh with an opening larger than [`OPENING`] of its area is thin: a cup without thickness, a leaf.
//! It has two sides and no inside, its distance is never negative, and [`MeshDistance::crosses`] tells
//! whether a path passes through it. For grids that see nothing thinner than they, a plate stands for it
//! ([`MeshDistance::plate`]): behind the sheet where it has a hollow side, so that a cup holds what it holds,
//! on both sides of it where it has none.
//! Checked by the tests here, tests/colliders.rs and tests/colliders_damaged.rs.

use super::mesh_distance_scan::scan;
use super::mesh_distance_sign::find_inside;
use super::tiles::{NONE, SIDE, Tiles};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::geometry::{Bvh, MeshEdges, TriMesh, Winding, away_from_hollow, facing_alike, largest_opening};
use crate::math::{Aabb, Vec3};

/// The largest opening of a solid mesh as a part of its area.
const OPENING: f64 = 0.01;

/// Whether a mesh bounds a body or is a sheet with two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Solid unless a large part of the surface is missing.
    #[default]
    Auto,
    Solid,
    Thin,
}

/// How a mesh is turned into distances.
#[derive(Clone, Copy, Debug)]
pub struct DistanceParams {
    /// Cell width, metres.
    pub cell: f64,
    /// Half width of the band, cells; at least 2.
    pub band: f64,
    pub kind: Kind,
    /// The most memory that the grid may take, MB.
    pub memory_mb: u64,
    /// Half the thickness of the plate that lies behind a thin mesh with a hollow side, metres; 0 for none.
    pub backing: f64,
}

impl Default for DistanceParams {
    fn default() -> Self {
        Self { cell: 0.01, band: 3.0, kind: Kind::Auto, memory_mb: 4096, backing: 0.0 }
    }
}

/// Distances of a mesh, with the tree that answers exact questions.
#[derive(Clone, Debug)]
pub struct MeshDistance {
    tiles: Tiles,
    /// Distance at the nodes, metres.
    field: Vec<f64>,
    /// Distances are exact up to here, metres.
    band: f64,
    thin: bool,
    bvh: Bvh,
    winding: Winding,
    backing: Option<Backing>,
}

/// The plate behind a sheet: everything within `half` of its triangles, each moved back by as much.
#[derive(Clone, Debug)]
struct Backing {
    half: f64,
    moved: Bvh,
}

impl MeshDistance {
    /// Distances of a mesh; `object` names it in errors.
    pub fn new(mesh: &TriMesh, object: &str, params: &DistanceParams, cancel: &Cancel) -> Result<Self> {
        mesh.check(object)?;
        if mesh.is_empty() {
            return Err(Error::geometry(object, "has no triangles"));
        }
        check_params(mesh, object, params)?;
        let mut edges = MeshEdges::new(mesh);
        let mut unbalanced = edges.unbalanced(mesh);
        // Two triangles that face different ways run along their edge in the same direction.
        let differ = unbalanced.iter().any(|(_, more)| *more > 1);
        let alike = if differ { facing_alike(mesh, &edges) } else { None };
        let mesh = alike.as_ref().unwrap_or(mesh);
        if alike.is_some() {
            edges = MeshEdges::new(mesh);
            unbalanced = edges.unbalanced(mesh);
        }
        let bvh = Bvh::new(mesh);
        let tiles = Tiles::new(params.cell, Vec3::zeros(), false, near_tiles(&bvh, object, params)?);
        cancel.check()?;
        let thin = is_thin(mesh, &unbalanced, params.kind);
        let mut field = scan(mesh, &edges, &tiles, params.band);
        cancel.check()?;
        let winding = Winding::new(&bvh);
        if thin {
            tiles.for_each(&mut field, |_, part| part.iter_mut().for_each(|d| *d *= params.cell));
        } else {
            let inside = find_inside(mesh, &unbalanced, &tiles, &field, &bvh, &winding, cancel);
            cancel.check()?;
            tiles.for_each(&mut field, |t, part| {
                let inside = &inside[t * part.len()..];
                part.iter_mut()
                    .zip(inside)
                    .for_each(|(d, i)| *d *= if *i { -params.cell } else { params.cell });
            });
        }
        let backing = if thin { backing(mesh, &edges, params.backing) } else { None };
        Ok(Self { tiles, field, band: params.band * params.cell, thin, bvh, winding, backing })
    }

    pub fn tiles(&self) -> &Tiles {
        &self.tiles
    }

    /// Distances at the nodes of the tiles.
    pub fn field(&self) -> &[f64] {
        &self.field
    }

    /// How far distances are exact, metres.
    pub fn band(&self) -> f64 {
        self.band
    }

    /// Whether the mesh is a sheet: two sides, no inside.
    pub fn is_thin(&self) -> bool {
        self.thin
    }

    /// Whether the plate of a thin mesh lies behind it, and not on both of its sides.
    pub fn is_backed(&self) -> bool {
        self.backing.is_some()
    }

    /// The distance to the plate of twice `half` that stands for a thin mesh where it is less than `reach`,
    /// elsewhere a number that is at least as large. Exact at any point; its hollow side is the sheet itself.
    pub fn plate(&self, x: &Vec3, half: f64, reach: f64) -> f64 {
        let Some(backing) = &self.backing else {
            return self.distance_within(x, reach + half).abs() - half;
        };
        // No interpolation is wrong by more than a cell; what is far need not be known.
        let least = self.distance(x) - 2.0 * backing.half - self.tiles.h();
        if least >= reach {
            return least;
        }
        let nearest = backing.moved.closest(x, reach + backing.half);
        nearest.map_or(reach, |c| c.distance - backing.half)
    }

    pub fn bvh(&self) -> &Bvh {
        &self.bvh
    }

    pub fn bounds(&self) -> Aabb {
        self.bvh.bounds()
    }

    /// Interpolated distance, held between −band and band.
    pub fn distance(&self, x: &Vec3) -> f64 {
        self.interpolate(x).0
    }

    /// The distance where its size is less than `reach`, which may be infinite, and elsewhere a number
    /// of the same sign that is at least as large. Interpolated in the band, from the tree beyond it.
    pub fn distance_within(&self, x: &Vec3, reach: f64) -> f64 {
        let (d, whole) = self.interpolate(x);
        // The distance to a sheet has a crease along it, which no interpolation follows.
        let creased = self.thin && d.abs() < 2.0 * self.tiles.h();
        if !creased && (whole || d.abs() >= reach) {
            return d;
        }
        // The band is at least two cells wide, so the sign is certain where a node is beyond it.
        self.bvh.closest(x, f64::INFINITY).map_or(d, |c| c.distance.copysign(d))
    }

    /// Interpolated distance, and whether the nodes round x are all in the band.
    fn interpolate(&self, x: &Vec3) -> (f64, bool) {
        let g = self.tiles.to_grid(x);
        let base = g.map(f64::floor);
        let [u, v, w] = (g - base).into();
        let d = self.nodes(base);
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let row = |i: usize| mix(d[i], d[i + 1], u);
        let mixed = mix(mix(row(0), row(2), v), mix(row(4), row(6), v), w);
        (mixed, d.iter().all(|v| v.abs() < self.band * (1.0 - 1e-12)))
    }

    /// Gradient of the interpolated distance; zero beyond the band.
    pub fn gradient(&self, x: &Vec3) -> Vec3 {
        let g = self.tiles.to_grid(x);
        let base = g.map(f64::floor);
        let t = g - base;
        let d = self.nodes(base);
        let weight = |i: usize, a: usize| if i >> a & 1 == 0 { 1.0 - t[a] } else { t[a] };
        let slope = |a: usize| {
            let (b, c) = ((a + 1) % 3, (a + 2) % 3);
            let part = |i: usize| {
                let sign = if i >> a & 1 == 0 { -1.0 } else { 1.0 };
                sign * weight(i, b) * weight(i, c) * d[i]
            };
            (0..8).map(part).sum::<f64>() / self.tiles.h()
        };
        Vec3::new(slope(0), slope(1), slope(2))
    }

    /// Distance without a grid, exact at any range: a tree query, and a winding number for the sign.
    pub fn exact_distance(&self, x: &Vec3) -> f64 {
        let d = self.bvh.closest(x, f64::INFINITY).map_or(f64::INFINITY, |c| c.distance);
        if !self.thin && self.winding.is_inside(&self.bvh, x) { -d } else { d }
    }

    /// Whether the straight path from a to b passes through a triangle.
    pub fn crosses(&self, a: &Vec3, b: &Vec3) -> bool {
        self.bvh.any_crossing(a, b)
    }

    /// Bytes of the grid.
    pub fn bytes(&self) -> usize {
        self.tiles.bytes() + 8 * self.field.len()
    }

    /// Distances at the eight nodes of the cell with this lower corner.
    fn nodes(&self, base: Vec3) -> [f64; 8] {
        if !base.iter().all(|c| c.abs() < 1e9) {
            return [self.band; 8];
        }
        let cell = [base.x as i32, base.y as i32, base.z as i32];
        let (tile, local) = self.tiles.split(cell);
        let t = self.tiles.find(&tile);
        let [x, y, z] = [local % SIDE, local / SIDE % SIDE, local / (SIDE * SIDE)];
        if t != NONE && x < 7 && y < 7 && z < 7 {
            let at = t as usize * self.tiles.volume() + local;
            return std::array::from_fn(|i| {
                self.field[at + (i & 1) + SIDE * (i >> 1 & 1) + SIDE * SIDE * (i >> 2)]
            });
        }
        std::array::from_fn(|i| {
            let node = [cell[0] + (i & 1) as i32, cell[1] + (i >> 1 & 1) as i32, cell[2] + (i >> 2) as i32];
            self.tiles.locate(node).map_or_else(|| self.beyond(node), |p| self.field[p])
        })
    }

    /// ±band at a node that no tile holds: the side of the last tile before it in its row. Nodes that
    /// are not in the band have no face between them.
    fn beyond(&self, node: [i32; 3]) -> f64 {
        let (tile, local) = self.tiles.split(node);
        let coords = self.tiles.coords();
        let key = |c: &[i32; 3]| (c[2], c[1], c[0]);
        let next = coords.partition_point(|c| key(c) < key(&tile));
        let same_row = |c: &[i32; 3]| c[1] == tile[1] && c[2] == tile[2];
        if next == 0 || !coords.get(next).is_some_and(same_row) || !same_row(&coords[next - 1]) {
            return self.band;
        }
        let last = (next - 1) * self.tiles.volume() + (local / SIDE) * SIDE + SIDE - 1;
        self.band.copysign(self.field[last])
    }
}

/// The plate behind a sheet, if it has a hollow side.
fn backing(mesh: &TriMesh, edges: &MeshEdges, half: f64) -> Option<Backing> {
    if half <= 0.0 {
        return None;
    }
    let away = away_from_hollow(mesh, edges);
    if away.iter().all(|n| *n == Vec3::zeros()) {
        return None;
    }
    let moved = |(t, n): (usize, &Vec3)| mesh.corners(t).map(|x| x + n * half);
    let positions: Vec<Vec3> = away.iter().enumerate().flat_map(moved).collect();
    let triangles = (0..away.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    Some(Backing { half, moved: Bvh::new(&TriMesh::new(positions, triangles)) })
}

fn check_params(mesh: &TriMesh, object: &str, params: &DistanceParams) -> Result<()> {
    let DistanceParams { cell, band, .. } = *params;
    if !(cell > 0.0 && cell.is_finite()) {
        return Err(Error::invalid(format!("{object}: cell"), format!("{cell} m is not a width")));
    }
    if !(2.0..=64.0).contains(&band) {
        return Err(Error::invalid(format!("{object}: band"), format!("{band} cells; use 2 to 64")));
    }
    let bounds = mesh.bounds();
    let furthest = bounds.lo.amax().max(bounds.hi.amax()) / cell;
    if furthest > 1e8 {
        let message = format!("reaches {furthest:.0} cells from the origin of its space; use larger cells");
        return Err(Error::geometry(object, message));
    }
    Ok(())
}

fn is_thin(mesh: &TriMesh, unbalanced: &[([u32; 2], u32)], kind: Kind) -> bool {
    match kind {
        Kind::Solid => false,
        Kind::Thin => true,
        Kind::Auto if unbalanced.is_empty() => false,
        Kind::Auto => {
            let area = |t| {
                let [a, b, c] = mesh.corners(t);
                (b - a).cross(&(c - a)).norm() * 0.5
            };
            let total: f64 = (0..mesh.triangles.len()).map(area).sum();
            largest_opening(&mesh.positions, unbalanced) > OPENING * total
        }
    }
}

/// Tiles with a node within the band, found by halving boxes of tiles.
fn near_tiles(bvh: &Bvh, object: &str, params: &DistanceParams) -> Result<Vec<[i32; 3]>> {
    let bounds = bvh.bounds().grow(params.band * params.cell);
    let tile = params.cell * SIDE as f64;
    let lo = bounds.lo.map(|c| (c / tile).floor() as i32);
    let hi = bounds.hi.map(|c| (c / tile).floor() as i32 + 1);
    let bytes_a_tile = (SIDE * SIDE * SIDE * 10 + 200) as u64;
    let most = (params.memory_mb << 20) / bytes_a_tile;
    let mut found = Vec::new();
    let mut boxes = vec![(lo, hi)];
    while let Some((lo, hi)) = boxes.pop() {
        let (low, high) = (lo.map(|c| c as f64 * tile), hi.map(|c| c as f64 * tile - params.cell));
        let reach = (0.5 * (high - low).norm() + params.band * params.cell) * (1.0 + 1e-12);
        if !bvh.is_within(&((low + high) * 0.5), reach) {
            continue;
        }
        let size = hi - lo;
        if size.max() <= 1 {
            found.push([lo.x, lo.y, lo.z]);
            if found.len() as u64 > most {
                return Err(Error::Memory {
                    what: format!("{object}: its distance grid"),
                    needed_mb: params.memory_mb + 1,
                    limit_mb: params.memory_mb,
                    fix: format!("use cells wider than {} m", params.cell),
                });
            }
            continue;
        }
        let axis = size.imax();
        let middle = lo[axis] + size[axis] / 2;
        let (mut below, mut above) = (hi, lo);
        (below[axis], above[axis]) = (middle, middle);
        boxes.extend([(lo, below), (above, hi)]);
    }
    Ok(found)
}

#[cfg(test)]
#[path = "mesh_distance_tests.rs"]
mod tests;
