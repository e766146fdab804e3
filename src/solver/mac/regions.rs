//! Closed regions of a stencil: connected unknowns that no air pulls at.
//!
//! Each tile is cut into connected parts by growing a set of bits, one bit a cell, along the couplings
//! until it stays; parts of neighbouring tiles that touch are joined (union-find in the order of the
//! tiles). A region without any pull of the air has the constant as its null vector: the sum of its
//! right-hand side cannot be balanced, and its pressure is known up to a constant.

use super::stencil::{Kind, Stencil, face_neighbours};
use crate::grid::{NONE, SIDE, Tiles};
use crate::math::Sets;
use crate::solver::rigid::Floating;
use rayon::prelude::*;

/// A set of the cells of a tile: one word for each layer.
type Cells = [u64; SIDE];

/// Cells of a layer that have a neighbour below along x and y.
const NOT_FIRST_X: u64 = 0xFEFE_FEFE_FEFE_FEFE;
const NOT_FIRST_Y: u64 = 0xFFFF_FFFF_FFFF_FF00;

/// Connected cells of one tile.
#[derive(Clone, Copy, Debug)]
struct Part {
    tile: u32,
    cells: Cells,
    open: bool,
}

/// The unknowns of a tile, and which of them are coupled with the cell below along each axis.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    unknown: Cells,
    coupled: [Cells; 3],
}

/// The closed regions.
#[derive(Clone, Debug, Default)]
pub struct ClosedRegions {
    /// Parts of closed regions with the region of each, in the order of the tiles.
    parts: Vec<(Part, u32)>,
    /// Cells of each region.
    sizes: Vec<f64>,
}

impl ClosedRegions {
    /// Find them, from the kinds and links of the tiles. `pull` holds the pull of the air on each cell.
    pub(super) fn new(tiles: &Tiles, kinds: &[Kind], links: &[Links], pull: &[f32]) -> Self {
        let v = tiles.volume();
        let parts = |t: usize| match kinds[t] {
            Kind::Empty => Vec::new(),
            Kind::Plain => vec![Part { tile: t as u32, cells: links[t].unknown, open: false }],
            _ => links[t].parts(t as u32, bits(&pull[t * v..(t + 1) * v])),
        };
        let of_tile: Vec<Vec<Part>> = (0..tiles.len()).into_par_iter().with_min_len(16).map(parts).collect();
        let starts: Vec<usize> = of_tile
            .iter()
            .scan(0, |next, parts| {
                *next += parts.len();
                Some(*next - parts.len())
            })
            .collect();
        let parts: Vec<Part> = of_tile.iter().flatten().copied().collect();
        let mut sets = Sets::new(parts.len());
        for t in 0..tiles.len() {
            let beside = face_neighbours(tiles, t);
            for axis in 0..3 {
                let below = beside[2 * axis];
                if below == NONE {
                    continue;
                }
                for a in starts[t]..starts[t] + of_tile[t].len() {
                    let link = and(&parts[a].cells, &links[t].coupled[axis]);
                    let (first, count) = (starts[below as usize], of_tile[below as usize].len());
                    for (b, part) in parts.iter().enumerate().skip(first).take(count) {
                        if touch(axis, tiles.depth(), &link, &part.cells) {
                            sets.join(a as u32, b as u32);
                        }
                    }
                }
            }
        }
        Self::collect(&parts, &mut sets)
    }

    fn collect(parts: &[Part], sets: &mut Sets) -> Self {
        let mut open = vec![false; parts.len()];
        for k in (0..parts.len()).filter(|&k| parts[k].open) {
            open[sets.root(k as u32) as usize] = true;
        }
        let mut region = vec![NONE; parts.len()];
        let mut found = Self::default();
        for (k, part) in parts.iter().enumerate() {
            let root = sets.root(k as u32) as usize;
            if open[root] {
                continue;
            }
            if region[root] == NONE {
                region[root] = found.sizes.len() as u32;
                found.sizes.push(0.0);
            }
            found.sizes[region[root] as usize] +=
                part.cells.iter().map(|w| w.count_ones()).sum::<u32>() as f64;
            found.parts.push((*part, region[root]));
        }
        found
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Sum of a field over each region.
    pub fn sums(&self, tiles: &Tiles, field: &[f64]) -> Vec<f64> {
        let v = tiles.volume();
        let of_part: Vec<f64> = self
            .parts
            .par_iter()
            .with_min_len(16)
            .map(|(part, _)| {
                let mut sum = 0.0;
                each(&part.cells, |l| sum += field[part.tile as usize * v + l]);
                sum
            })
            .collect();
        let mut sums = vec![0.0; self.count()];
        self.parts.iter().zip(of_part).for_each(|((_, region), sum)| sums[*region as usize] += sum);
        sums
    }

    /// The region of each of the given places; `u32::MAX` outside.
    pub fn labels(&self, tiles: &Tiles, places: &[u32]) -> Vec<u32> {
        let mut label = vec![NONE; tiles.cells()];
        for (part, region) in &self.parts {
            each(&part.cells, |l| label[part.tile as usize * tiles.volume() + l] = *region);
        }
        places.iter().map(|&p| label[p as usize]).collect()
    }

    /// Make a field sum to zero in each region.
    pub fn project(&self, tiles: &Tiles, field: &mut [f64]) {
        if self.count() == 0 {
            return;
        }
        let sums = self.sums(tiles, field);
        let means: Vec<f64> = sums.iter().zip(&self.sizes).map(|(sum, size)| sum / size).collect();
        self.subtract(tiles, field, &means);
    }

    /// Remove the null vectors that are left when bodies feel some of the regions.
    pub fn project_floating(&self, tiles: &Tiles, field: &mut [f64], floating: &Floating) {
        if self.count() == 0 {
            return;
        }
        let sums = self.sums(tiles, field);
        let mut constants: Vec<f64> = sums.iter().zip(&self.sizes).map(|(sum, size)| sum / size).collect();
        let felt: Vec<f64> = floating.regions.iter().map(|&r| sums[r]).collect();
        for (r, c) in floating.regions.iter().zip(floating.null_part(&felt)) {
            constants[*r] = c;
        }
        self.subtract(tiles, field, &constants);
    }

    /// Subtract a constant from each region.
    fn subtract(&self, tiles: &Tiles, field: &mut [f64], constants: &[f64]) {
        let tile = |p: &(Part, u32)| p.0.tile as usize;
        tiles.for_each(field, |t, field| {
            let first = self.parts.partition_point(|p| tile(p) < t);
            for (part, region) in self.parts[first..].iter().take_while(|p| tile(p) == t) {
                each(&part.cells, |l| field[l] -= constants[*region as usize]);
            }
        });
    }

    /// Cells of each region.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }
}

/// Run `f` over the local cells of a set.
fn each(cells: &Cells, mut f: impl FnMut(usize)) {
    for (z, &word) in cells.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            f(z * SIDE * SIDE + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

fn and(a: &Cells, b: &Cells) -> Cells {
    std::array::from_fn(|z| a[z] & b[z])
}

/// The cells where a field is positive.
fn bits<T: Copy + PartialOrd + Default>(field: &[T]) -> Cells {
    let mut cells = [0; SIDE];
    for (word, layer) in cells.iter_mut().zip(field.chunks(SIDE * SIDE)) {
        *word = layer.iter().enumerate().fold(0, |w, (i, v)| w | ((*v > T::default()) as u64) << i);
    }
    cells
}

/// Whether cells of a tile, coupled with the cell below along an axis, meet cells of the tile below.
fn touch(axis: usize, depth: usize, link: &Cells, below: &Cells) -> bool {
    match axis {
        0 => (0..depth).any(|z| link[z] & !NOT_FIRST_X & (below[z] >> 7) != 0),
        1 => (0..depth).any(|z| link[z] & !NOT_FIRST_Y & (below[z] >> 56) != 0),
        _ => link[0] & below[depth - 1] != 0,
    }
}

impl Links {
    /// Those of a tile of unknowns without boundaries.
    pub(super) fn whole(tiles: &Tiles) -> Self {
        let all = std::array::from_fn(|z| if z < tiles.depth() { u64::MAX } else { 0 });
        Self {
            unknown: all,
            coupled: std::array::from_fn(|axis| if axis < tiles.axes() { all } else { [0; SIDE] }),
        }
    }

    /// Whether each unknown is coupled with the one below it along an axis, also with those of the tile there.
    pub(super) fn joins_all_below(&self, axis: usize, depth: usize, tile: Option<&Links>) -> bool {
        let under = |z: usize| tile.map_or(0, |t| t.unknown[z]);
        (0..depth).all(|z| {
            let own = self.unknown[z];
            let below = match axis {
                0 => (own << 1) & NOT_FIRST_X | (under(z) >> 7) & !NOT_FIRST_X,
                1 => (own << 8) | under(z) >> 56,
                _ if z > 0 => self.unknown[z - 1],
                _ => under(depth - 1),
            };
            self.coupled[axis][z] == own & below
        })
    }

    pub(super) fn new(tiles: &Tiles, stencil: &Stencil, t: usize) -> Self {
        let v = tiles.volume();
        let span = t * v..(t + 1) * v;
        Self {
            unknown: bits(&stencil.diagonal[span.clone()]),
            coupled: std::array::from_fn(|axis| bits(&stencil.coupling[axis][span.clone()])),
        }
    }

    /// The connected parts of the tile.
    fn parts(&self, tile: u32, pulled: Cells) -> Vec<Part> {
        let (mut rest, mut parts) = (self.unknown, Vec::new());
        while let Some(z) = (0..SIDE).find(|&z| rest[z] != 0) {
            let mut cells = [0; SIDE];
            cells[z] = rest[z] & rest[z].wrapping_neg();
            while self.grow(&mut cells) {}
            let open = and(&cells, &pulled).iter().any(|w| *w != 0);
            parts.push(Part { tile, cells, open });
            rest.iter_mut().zip(&cells).for_each(|(r, c)| *r &= !c);
        }
        parts
    }

    /// Add the cells that are coupled with the set. Returns whether there were any.
    fn grow(&self, cells: &mut Cells) -> bool {
        let [x, y, z] = &self.coupled;
        let mut changed = false;
        for k in 0..SIDE {
            let (x, y) = (x[k] & NOT_FIRST_X, y[k] & NOT_FIRST_Y);
            let before = cells[k];
            let mut w = before;
            if k > 0 {
                w |= cells[k - 1] & z[k];
            }
            if k + 1 < SIDE {
                w |= cells[k + 1] & z[k + 1];
            }
            for _ in 0..2 {
                w |= (w << 1) & x | (w & x) >> 1;
                w |= (w << 8) & y | (w & y) >> 8;
            }
            cells[k] = w;
            changed |= w != before;
        }
        changed
    }
}
