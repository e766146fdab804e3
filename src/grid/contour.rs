//! Marching cubes on the tiles: a closed triangle mesh of the zero set of a cell-centred field.
//!
//! The corners of a marching cube are eight cell centres, so cube (i,j,k) spans the centres of cells
//! (i,j,k) to (i+1,j+1,k+1) and belongs to the tile of its lowest cell, together with the three edges
//! that leave that cell upwards. Negative is inside, normals point to positive values, and a tile
//! that does not exist is outside, so that the mesh is always closed.
//!
//! ```text
//!   tile t            tile t+1
//!   · · · · · · · ·   · ·          one sign bit a cell, 64 a word; edges are crossed where a word
//!   · ■ ■ ■ · · · ·   · ·          differs from itself shifted. The number of a vertex is the first
//!   · ■ ■ · · · · ·   · ·          of its tile plus the count of bits before it: no hash map
//! ```
//!
//! Tiles are counted in parallel, a prefix sum gives each its range of vertices and triangles, and
//! they are written in parallel: the order depends only on the field. Crossings are linear and kept
//! [`MARGIN`] away from cell centres, so that no triangle loses its area.
//! Checked by tests/contour.rs (random fields are closed, oriented and manifold) and benches/contour.rs.

use super::contour_table::{TABLE, edge_base};
use super::tiles::{NONE, SIDE, Tiles};
use crate::error::{Error, Result};
use crate::geometry::TriMesh;
use crate::math::Vec3;
use rayon::prelude::*;
use std::ops::{Add, Mul};

/// Crossings stay this share of an edge away from its ends.
pub const MARGIN: f64 = 1e-4;

/// A surface, and for each of its vertices the two places of the field between which it lies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contour {
    pub mesh: TriMesh,
    /// Places in the field (nodes for [`super::contour_tets`]); [`NONE`] where no tile exists.
    pub places: Vec<[u32; 2]>,
    /// The vertex is at (1−t) times the first place plus t times the second.
    pub weights: Vec<f64>,
}

impl Contour {
    /// A value carried by the places, at the vertices. One without a tile takes its neighbour's.
    pub fn carry<T>(&self, field: &[T]) -> Vec<T>
    where
        T: Copy + Send + Sync + Add<Output = T> + Mul<f64, Output = T>,
    {
        let at = |([a, b], t): (&[u32; 2], &f64)| match (*a, *b) {
            (NONE, b) => field[b as usize],
            (a, NONE) => field[a as usize],
            (a, b) => field[a as usize] * (1.0 - t) + field[b as usize] * *t,
        };
        self.places.par_iter().zip(&self.weights).map(at).collect()
    }
}

/// Where the line from a (one sign) to b (the other) crosses zero, away from the ends.
#[inline]
pub(super) fn crossing(a: f64, b: f64) -> f64 {
    // NaN stays NaN: it is reported, not hidden.
    (a / (a - b)).clamp(MARGIN, 1.0 - MARGIN)
}

/// Sign bits of a tile: bit 8y+x of word z.
type Signs = [u64; SIDE];
/// Sign bits of a tile and the next cell on each axis: bit x of `[z][y]`.
type Rows = [[u16; SIDE + 1]; SIDE + 1];

/// The zero set of a field of the tiles.
///
/// On a grid one cell thick it is the surface of a slab one cell thick.
pub fn contour(tiles: &Tiles, phi: &[f64]) -> Result<Contour> {
    if phi.len() != tiles.cells() || phi.len() >= NONE as usize {
        let message = format!("{} values for {} cells", phi.len(), tiles.cells());
        return Err(Error::invalid("contour", message));
    }
    if tiles.is_flat() {
        let (thick, values, origin) = thicken(tiles, phi);
        return padded(&thick, &values, &|p| origin[p]);
    }
    padded(tiles, phi, &|p| p as u32)
}

/// Contour a grid after adding the missing tiles that own a part of the surface.
fn padded(tiles: &Tiles, phi: &[f64], origin: &(dyn Fn(usize) -> u32 + Sync)) -> Result<Contour> {
    let signs = signs(tiles, phi);
    let missing = missing_owners(tiles, &signs);
    if missing.is_empty() {
        return march(tiles, phi, &signs, origin);
    }
    let coords = tiles.coords().iter().copied().chain(missing).collect();
    let wide = Tiles::new(tiles.h(), tiles.origin(), false, coords);
    let of: Vec<u32> = wide.coords().iter().map(|c| tiles.find(c)).collect();
    let mut values = wide.field(tiles.h());
    wide.for_each(&mut values, |t, part| {
        if of[t] != NONE {
            part.copy_from_slice(tile_of(phi, of[t] as usize));
        }
    });
    let volume = tiles.volume();
    let back = |p: usize| match of[p / volume] {
        NONE => NONE,
        t => origin(t as usize * volume + p % volume),
    };
    march(&wide, &values, &self::signs(&wide, &values), &back)
}

/// A flat field as a slab: max(φ, |z| − h/2) in three layers of cells, and where each value is from.
fn thicken(tiles: &Tiles, phi: &[f64]) -> (Tiles, Vec<f64>, Vec<u32>) {
    let h = tiles.h();
    let both = tiles.coords().iter().flat_map(|&[x, y, _]| [[x, y, -1], [x, y, 0]]);
    let thick = Tiles::new(h, tiles.origin(), false, both.collect());
    let mut values = thick.field(h);
    let mut origin = thick.field(NONE);
    for (place, (value, from)) in values.iter_mut().zip(&mut origin).enumerate() {
        let [i, j, k] = thick.cell(place);
        if let (true, Some(p)) = (k.abs() <= 1, tiles.locate([i, j, 0])) {
            *value = phi[p].max((k.abs() as f64 - 0.5) * h);
            *from = p as u32;
        }
    }
    (thick, values, origin)
}

fn tile_of(field: &[f64], t: usize) -> &[f64] {
    const VOLUME: usize = SIDE * SIDE * SIDE;
    &field[t * VOLUME..(t + 1) * VOLUME]
}

fn signs(tiles: &Tiles, phi: &[f64]) -> Vec<Signs> {
    let word = |layer: &[f64]| layer.iter().enumerate().fold(0, |w, (i, p)| w | u64::from(*p < 0.0) << i);
    let tile = |t: usize| {
        let part = tile_of(phi, t);
        std::array::from_fn(|z| word(&part[z * SIDE * SIDE..(z + 1) * SIDE * SIDE]))
    };
    (0..tiles.len()).into_par_iter().map(tile).collect()
}

/// Tiles that do not exist but hold the lowest cell of a cube with an inside corner.
fn missing_owners(tiles: &Tiles, signs: &[Signs]) -> Vec<[i32; 3]> {
    const LOW_X: u64 = 0x0101_0101_0101_0101;
    let owners = |t: usize| {
        let c = tiles.coords()[t];
        (1..8usize).filter_map(move |d| {
            let low = [d & 1, d >> 1 & 1, d >> 2 & 1];
            let step = low.map(|l| -(l as i32));
            if tiles.neighbour(t, step[0], step[1], step[2]) != NONE {
                return None;
            }
            // Only cells in the lowest layers along these axes meet the neighbour's cubes.
            let mut mask = if low[0] == 1 { LOW_X } else { u64::MAX };
            mask &= if low[1] == 1 { 0xff } else { u64::MAX };
            let layers = if low[2] == 1 { 1 } else { SIDE };
            let met = signs[t][..layers].iter().any(|w| w & mask != 0);
            met.then(|| [c[0] + step[0], c[1] + step[1], c[2] + step[2]])
        })
    };
    (0..tiles.len()).into_par_iter().flat_map_iter(owners).collect()
}

/// What one tile adds to the mesh.
struct Block {
    tile: usize,
    /// Crossed edges along x, y, z.
    crossed: [Signs; 3],
    /// Vertices of the tile before each word of `crossed`.
    before: [[u16; SIDE]; 3],
    vertices: u32,
    triangles: u32,
    first_vertex: u32,
}

fn rows(tiles: &Tiles, signs: &[Signs], t: usize) -> Rows {
    let byte =
        |n: u32, y: usize, z: usize| if n == NONE { 0 } else { (signs[n as usize][z] >> (8 * y)) as u8 };
    let mut rows = [[0; SIDE + 1]; SIDE + 1];
    for (z, layer) in rows.iter_mut().enumerate() {
        for (y, row) in layer.iter_mut().enumerate() {
            let (dy, dz) = (y / SIDE, z / SIDE);
            let at = |dx: i32| byte(tiles.neighbour(t, dx, dy as i32, dz as i32), y % SIDE, z % SIDE);
            *row = at(0) as u16 | ((at(1) & 1) as u16) << SIDE;
        }
    }
    rows
}

/// Whether a tile and its upper neighbours can hold a crossing at all.
fn mixed(tiles: &Tiles, signs: &[Signs], t: usize) -> bool {
    let first = signs[t][0];
    let same = |n: u32| if n == NONE { first == 0 } else { signs[n as usize].iter().all(|w| *w == first) };
    let uniform = first == 0 || first == u64::MAX;
    !(uniform
        && (0..8i32)
            .all(|d| same(if d == 0 { t as u32 } else { tiles.neighbour(t, d & 1, d >> 1 & 1, d >> 2) })))
}

/// Call `f(x, y, z, case)` for each cube of the tile that the surface crosses.
#[inline]
fn for_each_cube(rows: &Rows, mut f: impl FnMut(usize, usize, usize, u8)) {
    for z in 0..SIDE {
        for y in 0..SIDE {
            let [a, b, c, d] = [rows[z][y], rows[z][y + 1], rows[z + 1][y], rows[z + 1][y + 1]];
            let (any, all) = (a | b | c | d, a & b & c & d);
            let mut active = (any | any >> 1) & !(all & all >> 1) & 0xff;
            while active != 0 {
                let x = active.trailing_zeros() as usize;
                active &= active - 1;
                let pair = |row: u16| (row >> x & 3) as u8;
                f(x, y, z, pair(a) | pair(b) << 2 | pair(c) << 4 | pair(d) << 6);
            }
        }
    }
}

fn count(tiles: &Tiles, signs: &[Signs], t: usize) -> Option<Block> {
    if !mixed(tiles, signs, t) {
        return None;
    }
    let rows = rows(tiles, signs, t);
    let mut crossed = [[0u64; SIDE]; 3];
    for z in 0..SIDE {
        for y in 0..SIDE {
            let a = rows[z][y];
            let others = [a >> 1, rows[z][y + 1], rows[z + 1][y]];
            for axis in 0..3 {
                crossed[axis][z] |= (((a ^ others[axis]) & 0xff) as u64) << (8 * y);
            }
        }
    }
    let (mut vertices, mut before) = (0, [[0; SIDE]; 3]);
    for axis in 0..3 {
        for z in 0..SIDE {
            before[axis][z] = vertices as u16;
            vertices += crossed[axis][z].count_ones();
        }
    }
    let mut triangles = 0;
    let table = &*TABLE;
    for_each_cube(&rows, |_, _, _, case| triangles += table.triangles(case).len() as u32);
    let some = vertices > 0 || triangles > 0;
    some.then_some(Block { tile: t, crossed, before, vertices, triangles, first_vertex: 0 })
}

fn march(
    tiles: &Tiles,
    phi: &[f64],
    signs: &[Signs],
    origin: &(dyn Fn(usize) -> u32 + Sync),
) -> Result<Contour> {
    let mut blocks: Vec<Block> =
        (0..tiles.len()).into_par_iter().filter_map(|t| count(tiles, signs, t)).collect();
    let (mut vertices, mut triangles) = (0u64, 0u64);
    let mut block_of = vec![NONE; tiles.len()];
    for (b, block) in blocks.iter_mut().enumerate() {
        block_of[block.tile] = b as u32;
        block.first_vertex = vertices as u32;
        vertices += u64::from(block.vertices);
        triangles += u64::from(block.triangles);
    }
    if vertices >= u64::from(NONE) {
        return Err(Error::invalid("contour", format!("{vertices} vertices are too many; use larger cells")));
    }
    let mut result = Contour {
        mesh: TriMesh::new(vec![Vec3::zeros(); vertices as usize], vec![[0; 3]; triangles as usize]),
        places: vec![[NONE; 2]; vertices as usize],
        weights: vec![0.0; vertices as usize],
    };
    let sizes = || blocks.iter().map(|b| b.vertices as usize);
    let positions = split(&mut result.mesh.positions, sizes());
    let places = split(&mut result.places, sizes());
    let weights = split(&mut result.weights, sizes());
    let triangles = split(&mut result.mesh.triangles, blocks.iter().map(|b| b.triangles as usize));
    let finite = blocks
        .par_iter()
        .zip(positions)
        .zip(places)
        .zip(weights)
        .zip(triangles)
        .map(|((((block, positions), places), weights), triangles)| {
            write_triangles(&Join { tiles, blocks: &blocks, block_of: &block_of }, block, signs, triangles);
            write_vertices(tiles, phi, block, (positions, places, weights), origin)
        })
        .collect::<Vec<bool>>();
    if finite.contains(&false) {
        return Err(Error::diverged("contour", "the field is not a number beside the surface"));
    }
    Ok(result)
}

/// Cut a slice into consecutive parts of the given lengths.
fn split<T>(mut rest: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut parts = Vec::new();
    for size in sizes {
        let (part, tail) = rest.split_at_mut(size);
        parts.push(part);
        rest = tail;
    }
    parts
}

/// Fill the vertices of a block; false if one of them is not a number.
fn write_vertices(
    tiles: &Tiles,
    phi: &[f64],
    block: &Block,
    (positions, places, weights): (&mut [Vec3], &mut [[u32; 2]], &mut [f64]),
    origin: &(dyn Fn(usize) -> u32 + Sync),
) -> bool {
    const STRIDES: [usize; 3] = [1, SIDE, SIDE * SIDE];
    let (volume, h) = (tiles.volume(), tiles.h());
    let own = block.tile * volume;
    let low = tiles.centre(tiles.base(block.tile));
    let (mut v, mut finite) = (0, true);
    for axis in 0..3 {
        let beyond =
            match tiles.neighbour(block.tile, (axis == 0) as i32, (axis == 1) as i32, (axis == 2) as i32) {
                NONE => None,
                n => Some(n as usize * volume),
            };
        for z in 0..SIDE {
            let mut word = block.crossed[axis][z];
            while word != 0 {
                let bit = word.trailing_zeros() as usize;
                word &= word - 1;
                let local = [bit % SIDE, bit / SIDE, z];
                let here = z * SIDE * SIDE + bit;
                let next = if local[axis] + 1 < SIDE {
                    Some(own + here + STRIDES[axis])
                } else {
                    beyond.map(|b| b + here - (SIDE - 1) * STRIDES[axis])
                };
                let t = crossing(phi[own + here], next.map_or(h, |p| phi[p]));
                let mut x = Vec3::new(local[0] as f64, local[1] as f64, local[2] as f64);
                x[axis] += t;
                positions[v] = low + x * h;
                places[v] = [origin(own + here), next.map_or(NONE, origin)];
                weights[v] = t;
                finite &= t.is_finite();
                v += 1;
            }
        }
    }
    finite
}

/// What is needed to find the number of a vertex.
struct Join<'a> {
    tiles: &'a Tiles,
    blocks: &'a [Block],
    block_of: &'a [u32],
}

impl Join<'_> {
    /// The blocks of a tile and of its seven upper neighbours, by the bits of the offset.
    fn around<'a>(&'a self, block: &'a Block) -> [&'a Block; 8] {
        std::array::from_fn(|d| {
            let d = d as i32;
            let n = self.tiles.neighbour(block.tile, d & 1, d >> 1 & 1, d >> 2 & 1);
            let b = if n == NONE { NONE } else { self.block_of[n as usize] };
            // A neighbour without a block has no crossed edge, so it is never asked.
            if b == NONE { block } else { &self.blocks[b as usize] }
        })
    }
}

fn write_triangles(join: &Join, block: &Block, signs: &[Signs], out: &mut [[u32; 3]]) {
    const EDGES: [(u8, u8); 12] = {
        let mut edges = [(0, 0); 12];
        let mut e = 0;
        while e < 12 {
            edges[e] = edge_base(e as u8);
            e += 1;
        }
        edges
    };
    let around = join.around(block);
    let rows = rows(join.tiles, signs, block.tile);
    let table = &*TABLE;
    let mut next = 0;
    let mut ids = [0u32; 12];
    for_each_cube(&rows, |x, y, z, case| {
        let mut edges = table.edges[case as usize];
        while edges != 0 {
            let e = edges.trailing_zeros() as usize;
            edges &= edges - 1;
            let (axis, corner) = (EDGES[e].0 as usize, EDGES[e].1 as usize);
            let at = [x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2)];
            let owner = around[at[0] >> 3 | (at[1] >> 3) << 1 | (at[2] >> 3) << 2];
            let (bit, layer) = ((at[1] & 7) * SIDE + (at[0] & 7), at[2] & 7);
            let lower = owner.crossed[axis][layer] & ((1u64 << bit) - 1);
            ids[e] = owner.first_vertex + u32::from(owner.before[axis][layer]) + lower.count_ones();
        }
        for triangle in table.triangles(case) {
            out[next] = triangle.map(|e| ids[e as usize]);
            next += 1;
        }
    });
}
