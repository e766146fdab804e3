//! Liquid particles as flat arrays, kept in the order of the grid.
//!
//! A particle carries position, velocity, the volume of liquid it stands for and a number that is never used twice; for the affine
//! transfer also the three gradient rows of its velocity. Particles are sorted by (tile, cell, id),
//! so sums over the particles of a cell have one order whatever the number of threads, and a cell's
//! particles lie side by side in memory. 60 bytes a particle, 96 with the affine rows.

use crate::error::{Error, Result};
use crate::grid::{NONE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// Gradient rows of the velocity, row a = ∇u_a, per second.
pub type Affine = [[f32; 3]; 3];

/// All particles of one liquid.
#[derive(Clone, Debug, Default)]
pub struct Particles {
    pub position: Vec<Vec3>,
    pub velocity: Vec<Vec3>,
    pub id: Vec<u64>,
    /// Liquid that it stands for, m³; particles never exchange any.
    pub volume: Vec<f32>,
    /// As long as the others with the affine transfer, else empty.
    pub affine: Vec<Affine>,
    /// Which liquid of the scene it is made of; empty if there is one liquid.
    pub liquid: Vec<u8>,
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
    fn add(&mut self, low: &[i32; 3], high: &[i32; 3]) {
        for a in 0..3 {
            self.low[a] = self.low[a].min(low[a]);
            self.high[a] = self.high[a].max(high[a]);
        }
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
        self.id.push(id);
        self.volume.push(volume);
        self.affine.extend(affine);
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
            + self.id.capacity() * 8
            + self.volume.capacity() * 4
            + self.affine.capacity() * 36
            + self.liquid.capacity()
            + self.start.capacity() * 4
    }

    /// The coordinates of the tiles that hold particles for which `counts` holds, in order, each with
    /// the box of its occupied cells.
    pub fn occupied(&self, tiles: &Tiles, counts: impl Fn(usize) -> bool + Sync) -> Vec<TileBox> {
        // Neighbours in the list are neighbours in space, so a chunk meets few tiles.
        const CHUNK: usize = 2048;
        let of_chunk = |n: usize| {
            let mut found: Vec<TileBox> = Vec::new();
            for p in (n * CHUNK..((n + 1) * CHUNK).min(self.len())).filter(|p| counts(*p)) {
                let cell = tiles.cell_at(&self.position[p]);
                let tile = tiles.split(cell).0;
                match found.iter_mut().rev().find(|b| b.tile == tile) {
                    Some(known) => known.add(&cell, &cell),
                    None => found.push(TileBox { tile, low: cell, high: cell }),
                }
            }
            found
        };
        let chunks = self.len().div_ceil(CHUNK);
        let found: Vec<Vec<TileBox>> = (0..chunks).into_par_iter().map(of_chunk).collect();
        let mut boxes = found.concat();
        boxes.sort_by_key(|b| (b.tile[2], b.tile[1], b.tile[0]));
        boxes.dedup_by(|later, kept| {
            let same = later.tile == kept.tile;
            if same {
                kept.add(&later.low, &later.high);
            }
            same
        });
        boxes
    }

    /// Sort by (cell, id) of the given grid. Every particle must lie in an existing tile.
    pub fn sort(&mut self, tiles: &Tiles) -> Result<()> {
        let places = self.places(tiles)?;
        let order = self.order(&places, tiles.cells());
        self.start = starts(&places, tiles.cells());
        self.gather(&order);
        Ok(())
    }

    /// Place of the cell of every particle.
    fn places(&self, tiles: &Tiles) -> Result<Vec<u32>> {
        // Neighbours in the list mostly share their tile, which then need not be looked up.
        let of_chunk = |points: &[Vec3]| {
            let (mut coord, mut tile) = ([i32::MAX; 3], NONE);
            let mut place = |x: &Vec3| {
                let (c, local) = tiles.split(tiles.cell_at(x));
                if c != coord {
                    (coord, tile) = (c, tiles.find(&c));
                }
                if tile == NONE { NONE } else { tile * tiles.volume() as u32 + local as u32 }
            };
            points.iter().map(&mut place).collect::<Vec<u32>>()
        };
        let places: Vec<u32> = self.position.par_chunks(2048).flat_map_iter(of_chunk).collect();
        match places.iter().position(|&p| p == NONE) {
            None => Ok(places),
            Some(i) => {
                let x = self.position[i];
                Err(Error::diverged("particles", format!("particle {} left the grid at {x:?}", self.id[i])))
            }
        }
    }

    /// The permutation that sorts by place and, within a cell, by id.
    fn order(&self, places: &[u32], cells: usize) -> Vec<u32> {
        let mut next = starts(places, cells);
        let mut order = vec![0u32; places.len()];
        for (i, &p) in places.iter().enumerate() {
            order[next[p as usize] as usize] = i as u32;
            next[p as usize] += 1;
        }
        // Within a cell the counting sort keeps the old order, so only cells that received
        // newcomers are out of order; a cell holds few particles and is sorted in place.
        let ends = &next;
        let bounds: Vec<u32> = std::iter::once(0).chain(ends.iter().take(cells).copied()).collect();
        sort_cells(&mut order, &bounds, &self.id);
        order
    }

    fn gather(&mut self, order: &[u32]) {
        fn pick<T: Copy + Send + Sync>(from: &[T], order: &[u32]) -> Vec<T> {
            order.par_iter().with_min_len(4096).map(|&i| from[i as usize]).collect()
        }
        self.position = pick(&self.position, order);
        self.velocity = pick(&self.velocity, order);
        self.id = pick(&self.id, order);
        self.volume = pick(&self.volume, order);
        if !self.affine.is_empty() {
            self.affine = pick(&self.affine, order);
        }
        if !self.liquid.is_empty() {
            self.liquid = pick(&self.liquid, order);
        }
    }

    /// Keep the particles for which `keep` holds. The order stays; `start` must be rebuilt by a sort.
    pub fn retain(&mut self, keep: &[bool]) {
        fn filter<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                keep[at - 1]
            });
        }
        if keep.iter().all(|&k| k) {
            return;
        }
        filter(&mut self.position, keep);
        filter(&mut self.velocity, keep);
        filter(&mut self.id, keep);
        filter(&mut self.volume, keep);
        if !self.affine.is_empty() {
            filter(&mut self.affine, keep);
        }
        if !self.liquid.is_empty() {
            filter(&mut self.liquid, keep);
        }
    }
}

/// Prefix sums of the counts by place.
fn starts(places: &[u32], cells: usize) -> Vec<u32> {
    let mut start = vec![0u32; cells + 1];
    for &p in places {
        start[p as usize + 1] += 1;
    }
    for c in 0..cells {
        start[c + 1] += start[c];
    }
    start
}

fn sort_cells(order: &mut [u32], bounds: &[u32], id: &[u64]) {
    let mut rest = order;
    let mut cells = Vec::new();
    for w in bounds.windows(2) {
        let (cell, tail) = rest.split_at_mut((w[1] - w[0]) as usize);
        rest = tail;
        if cell.len() > 1 {
            cells.push(cell);
        }
    }
    cells.into_par_iter().with_min_len(256).for_each(|cell| {
        if !cell.is_sorted_by_key(|&i| id[i as usize]) {
            cell.sort_unstable_by_key(|&i| id[i as usize]);
        }
    });
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
                assert_eq!(a.velocity[i].x, a.id[i] as f64);
            }
        }
        let boxes = a.occupied(&tiles, |_| true);
        assert_eq!(boxes.len(), 2);
        assert_eq!((boxes[0].low, boxes[0].high), ([0, 0, 2], [7, 7, 2]));
    }

    #[test]
    fn a_particle_outside_the_grid_is_named() {
        let tiles = Tiles::new(1.0, Vec3::zeros(), false, vec![[0, 0, 0]]);
        let mut p = Particles::default();
        p.push(Vec3::new(-1.0, 0.0, 0.0), Vec3::zeros(), 42, 0.0, None);
        assert!(p.sort(&tiles).unwrap_err().to_string().contains("particle 42"));
    }
}
