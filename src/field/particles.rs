//! Liquid particles as flat arrays, kept in the order of the grid.
//!
//! A particle carries position, velocity, the volume of liquid it stands for and a number that is never used twice; for the affine
//! transfer also the three gradient rows of its velocity. Particles are sorted by (tile, cell, id),
//! so sums over the particles of a cell have one order whatever the number of threads, and a cell's
//! particles lie side by side in memory. 58 bytes a particle, 94 with the affine rows. What else liquid
//! carries from its sources is a row of numbers a particle, described by [`Columns`](super::Columns).

use super::Id;
use crate::error::{Error, Result};
use crate::grid::{NONE, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// Gradient rows of the velocity, row a = ∇u_a, per second.
pub type Affine = [[f32; 3]; 3];

/// All particles of one liquid.
#[derive(Clone, Debug, Default)]
pub struct Particles {
    pub position: Vec<Vec3>,
    pub velocity: Vec<Vec3>,
    pub id: Vec<Id>,
    /// Liquid that it stands for, m³; particles exchange some only when they divide or join.
    pub volume: Vec<f32>,
    /// As long as the others with the affine transfer, else empty.
    pub affine: Vec<Affine>,
    /// Which liquid of the scene it is made of; empty if there is one liquid.
    pub liquid: Vec<u8>,
    /// What it carries from its source: as many numbers a particle as [`Particles::stride`] says.
    pub carried: Vec<f32>,
    pub stride: usize,
    /// Where the particles of each cell begin; one longer than the cells of the grid.
    pub start: Vec<u32>,
}

/// A tile and the box of its cells that hold particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileBox {
    pub tile: [i32; 3],
    pub low: [i32; 3],
    pub high: [i32; 3],
}

impl TileBox {
    /// One box a tile, each round all those of its tile, in the order of the tiles.
    pub fn merged(mut boxes: Vec<Self>) -> Vec<Self> {
        boxes.sort_by_key(|b| (b.tile[2], b.tile[1], b.tile[0]));
        boxes.dedup_by(|later, kept| {
            let same = later.tile == kept.tile;
            for a in (0..3).filter(|_| same) {
                kept.low[a] = kept.low[a].min(later.low[a]);
                kept.high[a] = kept.high[a].max(later.high[a]);
            }
            same
        });
        boxes
    }
}

impl Particles {
    pub fn len(&self) -> usize {
        self.position.len()
    }

    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// Add a particle; [`Particles::sort`] puts it in its place.
    pub fn push(&mut self, position: Vec3, velocity: Vec3, id: u64, volume: f32, affine: Option<Affine>) {
        self.position.push(position);
        self.velocity.push(velocity);
        self.id.push(Id::new(id));
        self.volume.push(volume);
        self.affine.extend(affine);
    }

    /// Their numbers, for files and hosts; asked for outside the threads of a simulation.
    pub fn ids(&self) -> Vec<u64> {
        self.id.iter().map(|id| id.number()).collect()
    }

    /// What a particle carries.
    #[inline]
    pub fn row(&self, p: usize) -> &[f32] {
        &self.carried[p * self.stride..(p + 1) * self.stride]
    }

    /// The particles in a cell, given by its place in the grid's fields.
    #[inline]
    pub fn of_cell(&self, place: usize) -> std::ops::Range<usize> {
        self.start[place] as usize..self.start[place + 1] as usize
    }

    /// The particles in a tile.
    pub fn of_tile(&self, tiles: &Tiles, tile: usize) -> std::ops::Range<usize> {
        let v = tiles.volume();
        self.start[tile * v] as usize..self.start[(tile + 1) * v] as usize
    }

    /// Liquid in all particles for which `counts` holds, m³, summed in one order.
    pub fn total_volume(&self, counts: impl Fn(usize) -> bool + Sync) -> f64 {
        crate::math::ordered_sum(self.len(), |range| {
            range.filter(|p| counts(*p)).map(|p| self.volume[p] as f64).sum::<f64>()
        })
    }

    /// Bytes held by the arrays.
    pub fn bytes(&self) -> usize {
        self.position.capacity() * 24
            + self.velocity.capacity() * 24
            + self.id.capacity() * 6
            + self.volume.capacity() * 4
            + self.affine.capacity() * 36
            + self.liquid.capacity()
            + self.carried.capacity() * 4
            + self.start.capacity() * 4
    }

    /// Sort by (cell, id) of the given grid. Every particle must lie in an existing tile.
    pub fn sort(&mut self, tiles: &Tiles) -> Result<()> {
        const CHUNK: usize = 8192;
        let of_chunk = |(n, chunk): (usize, &[Vec3])| {
            let mut runs = Runs::new(tiles);
            chunk.iter().enumerate().for_each(|(i, x)| runs.add(n * CHUNK + i, x, 0));
            runs.found
        };
        let found: Vec<Vec<Run>> = self.position.par_chunks(CHUNK).enumerate().map(of_chunk).collect();
        let parts = order_by_tile(tiles, &self.position, &self.id, found)?;
        self.arrange(tiles, parts);
        Ok(())
    }

    /// The particles of some runs at other positions, sorted on the given grid. Runs are in the order of their particles.
    pub fn moved(&self, tiles: &Tiles, runs: Vec<Vec<Run>>, position: Vec<Vec3>) -> Result<Self> {
        let parts = order_by_tile(tiles, &position, &self.id, runs)?;
        let (order, start) = joined(tiles, parts);
        Ok(self.gathered(&order, start, position))
    }

    /// Bring the particles into the order told for each tile, with the end of each of its cells in that.
    fn arrange(&mut self, tiles: &Tiles, parts: Vec<TileOrder>) {
        let (order, start) = joined(tiles, parts);
        let position = std::mem::take(&mut self.position);
        *self = self.gathered(&order, start, position);
    }

    /// Drop the sorted particles that `keep` does not name and put those behind them, which were pushed in the
    /// order of the grid's cells with ids above all others, in their places: cheaper than a sort.
    pub fn merge(&mut self, tiles: &Tiles, keep: &[bool]) -> Result<()> {
        let (old, v) = (keep.len(), tiles.volume());
        let of_new = |n: &[Vec3]| {
            let mut near = Nearby::new(tiles);
            n.iter().map(|x| near.place(x)).collect::<Vec<_>>()
        };
        let places: Vec<u32> = self.position[old..].par_chunks(2048).flat_map_iter(of_new).collect();
        if let Some(n) = places.iter().position(|p| *p == NONE) {
            return Err(left(self.id[old + n], &self.position[old + n]));
        }
        let of_tile = |t: usize| {
            let mut at = places.partition_point(|p| (*p as usize) < t * v);
            let mut order = Vec::with_capacity(self.of_tile(tiles, t).len());
            let ends: Vec<u32> = (t * v..(t + 1) * v)
                .map(|cell| {
                    order.extend(self.of_cell(cell).filter(|p| keep[*p]).map(|p| p as u32));
                    while at < places.len() && places[at] as usize == cell {
                        order.push((old + at) as u32);
                        at += 1;
                    }
                    order.len() as u32
                })
                .collect();
            (order, ends)
        };
        let parts: Vec<TileOrder> = (0..tiles.len()).into_par_iter().map(of_tile).collect();
        self.arrange(tiles, parts);
        Ok(())
    }

    /// The particles in another order, with positions by their old numbers.
    fn gathered(&self, order: &[u32], start: Vec<u32>, position: Vec<Vec3>) -> Self {
        // What some particles have all have.
        fn part<T: Copy + Send + Sync>(order: &[u32], from: &[T]) -> Vec<T> {
            let order = if from.is_empty() { &[] } else { order };
            order.par_iter().with_min_len(4096).map(|&i| from[i as usize]).collect()
        }
        let places = part(order, &position);
        drop(position);
        let mut carried = vec![0.0; self.stride * order.len()];
        if self.stride > 0 {
            let rows = carried.par_chunks_mut(self.stride).zip(order).with_min_len(4096);
            rows.for_each(|(row, i)| row.copy_from_slice(self.row(*i as usize)));
        }
        Self {
            position: places,
            velocity: part(order, &self.velocity),
            id: part(order, &self.id),
            volume: part(order, &self.volume),
            affine: part(order, &self.affine),
            liquid: part(order, &self.liquid),
            carried,
            stride: self.stride,
            start,
        }
    }
}

/// The particles of a tile in their order, and where each of its cells ends in that.
type TileOrder = (Vec<u32>, Vec<u32>);

/// Particles of one tile that follow each other in a list: their numbers and the cells of the tile they are in.
#[derive(Debug, Default)]
pub struct Run {
    coord: [i32; 3],
    numbers: Vec<u32>,
    cells: Vec<u16>,
    /// For particles of either kind, a bit for each layer of cells across x, y and z that holds one.
    layers: [[u8; 3]; 2],
}

impl Run {
    /// The box of the cells that hold particles of a kind, if there are any.
    pub fn occupied(&self, tiles: &Tiles, kind: usize) -> Option<TileBox> {
        let size = [SIDE as i32, SIDE as i32, tiles.depth() as i32];
        let (bits, base): (_, [i32; 3]) =
            (self.layers[kind], std::array::from_fn(|a| self.coord[a] * size[a]));
        let low = std::array::from_fn(|a| base[a] + bits[a].trailing_zeros() as i32);
        let high = std::array::from_fn(|a| base[a] + 7 - bits[a].leading_zeros() as i32);
        (bits != [0; 3]).then_some(TileBox { tile: self.coord, low, high })
    }
}

/// Puts particles that follow each other into runs. Neighbours in the list are neighbours in space, so they meet few tiles.
pub struct Runs<'a> {
    tiles: &'a Tiles,
    found: Vec<Run>,
    last: usize,
}

impl<'a> Runs<'a> {
    /// None yet. Of the grid only the lattice of its cells counts, not which tiles exist.
    pub fn new(tiles: &'a Tiles) -> Self {
        Self { tiles, found: Vec::new(), last: 0 }
    }

    /// Add the particle with a number, which is at x; its kind is 0 or 1.
    #[inline]
    pub fn add(&mut self, number: usize, x: &Vec3, kind: usize) {
        let (coord, local) = self.tiles.split(self.tiles.cell_at(x));
        if self.found.get(self.last).is_none_or(|run| run.coord != coord) {
            let known = self.found.iter().rposition(|run| run.coord == coord);
            self.last = known.unwrap_or(self.found.len());
            if known.is_none() {
                self.found.push(Run { coord, ..Run::default() });
            }
        }
        let run = &mut self.found[self.last];
        run.numbers.push(number as u32);
        run.cells.push(local as u16);
        let layers = &mut run.layers[kind];
        layers[0] |= 1 << (local % SIDE);
        layers[1] |= 1 << (local / SIDE % SIDE);
        layers[2] |= 1 << (local / (SIDE * SIDE));
    }

    pub fn done(self) -> Vec<Run> {
        self.found
    }
}

/// Finds the places of points that lie near each other: most share their tile, which then need not be looked up.
struct Nearby<'a> {
    tiles: &'a Tiles,
    coord: [i32; 3],
    tile: u32,
}

impl<'a> Nearby<'a> {
    fn new(tiles: &'a Tiles) -> Self {
        Self { tiles, coord: [i32::MAX; 3], tile: NONE }
    }

    /// The tile of a point, or [`NONE`], and the place in it.
    #[inline]
    fn locate(&mut self, x: &Vec3) -> (u32, usize) {
        let (coord, local) = self.tiles.split(self.tiles.cell_at(x));
        if coord != self.coord {
            (self.coord, self.tile) = (coord, self.tiles.find(&coord));
        }
        (self.tile, local)
    }

    fn place(&mut self, x: &Vec3) -> u32 {
        match self.locate(x) {
            (NONE, _) => NONE,
            (tile, local) => tile * self.tiles.volume() as u32 + local as u32,
        }
    }
}

fn left(id: Id, x: &Vec3) -> Error {
    Error::diverged("particles", format!("particle {id} left the grid at {x:?}"))
}

/// The order of the points in some runs by cell and id.
fn order_by_tile(tiles: &Tiles, points: &[Vec3], id: &[Id], runs: Vec<Vec<Run>>) -> Result<Vec<TileOrder>> {
    let v = tiles.volume();
    let mut runs: Vec<(u32, Run)> =
        runs.into_iter().flatten().map(|run| (tiles.find(&run.coord), run)).collect();
    // Stable, so pieces of a tile stay in the order of the list. Those without a tile come last.
    runs.sort_by_key(|run| run.0);
    if let Some((_, lost)) = runs.last().filter(|run| run.0 == NONE) {
        let p = lost.numbers[0] as usize;
        return Err(left(id[p], &points[p]));
    }
    let of_tile = |t: usize| {
        let first = |tile: usize| runs.partition_point(|run| (run.0 as usize) < tile);
        let runs = &runs[first(t)..first(t + 1)];
        let cells = || runs.iter().flat_map(|(_, run)| run.cells.iter().map(|c| *c as usize));
        let mut next = vec![0u32; v + 1];
        cells().for_each(|c| next[c + 1] += 1);
        (0..v).for_each(|c| next[c + 1] += next[c]);
        let mut order = vec![0u32; next[v] as usize];
        let numbers = runs.iter().flat_map(|(_, run)| run.numbers.iter().copied());
        numbers.zip(cells()).for_each(|(i, c)| {
            order[next[c] as usize] = i;
            next[c] += 1;
        });
        next.truncate(v);
        sort_cells(&mut order, &next, id);
        (order, next)
    };
    Ok((0..tiles.len()).into_par_iter().map(of_tile).collect())
}

/// The whole order, and where each cell begins in it.
fn joined(tiles: &Tiles, parts: Vec<TileOrder>) -> (Vec<u32>, Vec<u32>) {
    let mut order = vec![0; parts.iter().map(|(part, _)| part.len()).sum()];
    let mut start = vec![0; tiles.cells() + 1];
    let (mut rest, mut base, mut work) = (&mut order[..], 0, Vec::with_capacity(parts.len()));
    for ((part, ends), start) in parts.into_iter().zip(start[1..].chunks_mut(tiles.volume())) {
        let count = part.len();
        work.push((rest.split_off_mut(..count).unwrap_or_default(), start, part, ends, base));
        base += count as u32;
    }
    work.into_par_iter().with_min_len(16).for_each(|(order, start, part, ends, base)| {
        order.copy_from_slice(&part);
        start.iter_mut().zip(ends).for_each(|(start, end)| *start = base + end);
    });
    (order, start)
}

/// Sort each cell of a tile by id; the cells end at `ends`. Mostly they are in order: only newcomers are not.
fn sort_cells(order: &mut [u32], ends: &[u32], id: &[Id]) {
    let mut from = 0;
    for end in ends {
        let cell = &mut order[from..*end as usize];
        if !cell.is_sorted_by_key(|&i| id[i as usize]) {
            cell.sort_unstable_by_key(|&i| id[i as usize]);
        }
        from = *end as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_forgets_the_order_of_arrival() {
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, vec![[0, 0, 0], [1, 0, 0]]);
        let x = |i: u64| Vec3::new((i * 7 % 16) as f64 + 0.3, (i * 5 % 8) as f64 + 0.1, 2.5);
        let build = |ids: &mut dyn Iterator<Item = u64>| {
            let mut p = Particles::default();
            ids.for_each(|i| p.push(x(i), Vec3::x() * i as f64, i, 0.0, None));
            p.sort(&tiles).unwrap();
            p
        };
        let (a, b) = (build(&mut (0..900)), build(&mut (0..900).rev()));
        assert_eq!((&a.id, &a.position), (&b.id, &b.position));
        for place in 0..tiles.cells() {
            for i in a.of_cell(place) {
                assert_eq!(tiles.cell_at(&a.position[i]), tiles.cell(place));
                assert_eq!(a.velocity[i].x, a.id[i].number() as f64);
            }
        }
        let mut runs = Runs::new(&tiles);
        a.position.iter().enumerate().for_each(|(p, x)| runs.add(p, x, p % 2));
        let runs = runs.done();
        let boxes = [0, 1].iter().flat_map(|kind| runs.iter().filter_map(|run| run.occupied(&tiles, *kind)));
        let boxes = TileBox::merged(boxes.collect());
        assert_eq!(boxes.len(), 2);
        assert_eq!((boxes[0].low, boxes[0].high), ([0, 0, 2], [7, 7, 2]));
    }

    #[test]
    fn merging_newcomers_is_sorting_them() {
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, vec![[0, 0, 0], [1, 0, 0]]);
        let x = |i: u64| Vec3::new((i * 7 % 16) as f64 + 0.3, (i * 5 % 8) as f64 + 0.1, 2.5);
        let mut merged = Particles::default();
        (0..500).for_each(|i| merged.push(x(i), Vec3::zeros(), i, i as f32, None));
        merged.sort(&tiles).unwrap();
        let keep: Vec<bool> = merged.id.iter().map(|i| i.number() % 3 != 0).collect();
        let mut runs = Runs::new(&tiles);
        (0..500).filter(|p| keep[*p]).for_each(|p| runs.add(p, &merged.position[p], 0));
        let stay = merged.moved(&tiles, vec![runs.done()], merged.position.clone());
        let mut sorted = stay.unwrap();
        let mut newcomers: Vec<u64> = (500..600).collect();
        let place = |i: &u64| tiles.locate(tiles.cell_at(&x(*i))).unwrap();
        newcomers.sort_by_key(place);
        for (id, i) in (500..).zip(newcomers) {
            merged.push(x(i), Vec3::zeros(), id, 1.0, None);
            sorted.push(x(i), Vec3::zeros(), id, 1.0, None);
        }
        sorted.sort(&tiles).unwrap();
        merged.merge(&tiles, &keep).unwrap();
        assert_eq!(
            (&merged.id, &merged.position, &merged.start),
            (&sorted.id, &sorted.position, &sorted.start)
        );
    }

    #[test]
    fn a_particle_outside_the_grid_is_named() {
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, vec![[0, 0, 0]]);
        let mut p = Particles::default();
        p.push(Vec3::new(-1.0, 0.0, 0.0), Vec3::zeros(), 42, 0.0, None);
        assert!(p.sort(&tiles).unwrap_err().to_string().contains("particle 42"));
    }
}
