//! Growing outwards from known cells, layer by layer.
//!
//! One bit a cell says whether its value is known. A layer is all unknown cells beside a known one;
//! each gets its value from its known neighbours as they were before the layer, so the result does
//! not depend on the order or on the number of threads. Tiles far from the last layer are skipped.

use super::sheets::SEES_ALL;
use super::tiles::{NONE, SIDE, Tiles};
use rayon::prelude::*;

/// One bit a cell of a tile: bit 8y+x of word z.
pub(crate) type Mask = [u64; SIDE];

/// Which cells count as beside each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Cells that share a face.
    Faces,
    /// Cells that share at least a corner.
    Corners,
}

/// A known cell beside the one that is being filled: its place in the field and where it lies.
pub(super) type Neighbour = (usize, [i32; 3]);

/// The bits of the cells for which `test(place)` holds.
pub(super) fn masks(tiles: &Tiles, test: impl Fn(usize) -> bool + Sync) -> Vec<Mask> {
    let (volume, layer) = (tiles.volume(), SIDE * SIDE);
    let word = |start: usize| (0..layer).fold(0, |w, i| w | u64::from(test(start + i)) << i);
    let tile = |t: usize| {
        let mut mask = [0; SIDE];
        (0..tiles.depth()).for_each(|z| mask[z] = word(t * volume + z * layer));
        mask
    };
    (0..tiles.len()).into_par_iter().map(tile).collect()
}

/// Bits of a tile and one cell round it: bit x+1 of `[z+1][y+1]`.
pub(super) struct Rows([[u16; SIDE + 2]; SIDE + 2]);

impl Rows {
    /// Those given bit by bit.
    pub fn of(rows: [[u16; SIDE + 2]; SIDE + 2]) -> Self {
        Self(rows)
    }

    pub fn new(tiles: &Tiles, known: &[Mask], t: usize) -> Self {
        let depth = tiles.depth() as i32;
        let mut rows = [[0; SIDE + 2]; SIDE + 2];
        // Comparisons instead of divisions by a number that only the run tells.
        let beyond = |v: i32, size: i32| (v >= size) as i32 - (v < 0) as i32;
        for z in -1..=depth {
            let dz = beyond(z, depth);
            let lz = (z - dz * depth) as usize;
            for y in -1..=SIDE as i32 {
                let dy = beyond(y, SIDE as i32);
                let ly = y - dy * SIDE as i32;
                let byte = |dx: i32| match tiles.neighbour(t, dx, dy, dz) {
                    NONE => 0,
                    n => (known[n as usize][lz] >> (8 * ly) & 0xff) as u16,
                };
                rows[(z + 1) as usize][(y + 1) as usize] =
                    byte(-1) >> 7 | byte(0) << 1 | (byte(1) & 1) << (SIDE + 1);
            }
        }
        Self(rows)
    }

    /// The cells of row (y, z) beside a known cell, known ones included.
    fn dilated(&self, y: usize, z: usize, reach: Reach) -> u64 {
        let r = &self.0;
        let row = match reach {
            Reach::Faces => {
                let own = r[z + 1][y + 1];
                own | own << 1 | own >> 1 | r[z + 1][y] | r[z + 1][y + 2] | r[z][y + 1] | r[z + 2][y + 1]
            }
            Reach::Corners => {
                let any = (z..z + 3).flat_map(|z| (y..y + 3).map(move |y| r[z][y])).fold(0, |a, b| a | b);
                any | any << 1 | any >> 1
            }
        };
        u64::from(row >> 1 & 0xff)
    }

    /// The cells beside a known one, known ones included.
    pub fn grown(&self, depth: usize, reach: Reach) -> Mask {
        let mut mask = [0; SIDE];
        for (z, word) in mask.iter_mut().enumerate().take(depth) {
            *word = (0..SIDE).fold(0, |w, y| w | self.dilated(y, z, reach) << (8 * y));
        }
        mask
    }

    /// The cells that differ from one of their face neighbours.
    pub fn edge(&self, depth: usize) -> Mask {
        let r = &self.0;
        let mut mask = [0; SIDE];
        // On a grid one cell thick there is nothing above or below to differ from.
        let deep = if depth == 1 { 0 } else { u16::MAX };
        for (z, word) in mask.iter_mut().enumerate().take(depth) {
            for y in 0..SIDE {
                let own = r[z + 1][y + 1];
                let along =
                    (own ^ own << 1) | (own ^ own >> 1) | (own ^ r[z + 1][y]) | (own ^ r[z + 1][y + 2]);
                let across = (own ^ r[z][y + 1]) | (own ^ r[z + 2][y + 1]);
                *word |= u64::from((along | across & deep) >> 1 & 0xff) << (8 * y);
            }
        }
        mask
    }

    /// The known neighbours of local cell (x, y, z) that it sees, in a fixed order.
    pub fn neighbours(
        &self,
        tiles: &Tiles,
        t: usize,
        cell: [usize; 3],
        reach: Reach,
        out: &mut Vec<Neighbour>,
    ) {
        out.clear();
        let [x, y, z] = cell;
        for dz in -1..=1i32 {
            for dy in -1..=1i32 {
                let mut bits = self.0[(z as i32 + dz + 1) as usize][(y as i32 + dy + 1) as usize] >> x & 7;
                if dy == 0 && dz == 0 {
                    bits &= 5;
                }
                if reach == Reach::Faces && (dy != 0 || dz != 0) {
                    bits &= if dy != 0 && dz != 0 { 0 } else { 2 };
                }
                while bits != 0 {
                    let dx = bits.trailing_zeros() as i32 - 1;
                    bits &= bits - 1;
                    let (x, y, z) = (x as i32 + dx, y as i32 + dy, z as i32 + dz);
                    // Most lie in the same tile, where nobody has to be asked.
                    let side = SIDE as i32;
                    let within = (x | y | z) & !(side - 1) == 0;
                    let own = || t * tiles.volume() + ((z * side + y) * side + x) as usize;
                    let place =
                        if within && z < tiles.depth() as i32 { Some(own()) } else { tiles.near(t, x, y, z) };
                    out.extend(place.map(|p| (p, [dx, dy, dz])));
                }
            }
        }
        if let Some(sheets) = tiles.sheets(t) {
            let l = (z * SIDE + y) * SIDE + x;
            out.retain(|(_, offset)| sheets.sees(l, *offset));
        }
    }
}

/// Call `f(local place, [x, y, z])` for each set bit.
pub(super) fn for_each_bit(mask: &Mask, mut f: impl FnMut(usize, [usize; 3])) {
    for (z, word) in mask.iter().enumerate() {
        let mut word = *word;
        while word != 0 {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            f(z * SIDE * SIDE + bit, [bit % SIDE, bit / SIDE, z]);
        }
    }
}

/// The last cell of a tile along an axis.
const LAST: usize = SIDE - 1;

/// What one tile gained in a layer: the cells, and their values in the order of the bits.
struct Gain<T> {
    cells: Mask,
    values: Vec<T>,
}

/// How cells are filled.
pub(super) struct Filling<S, F> {
    pub reach: Reach,
    /// `same(tile)`: the value of all new cells of a tile, if one is known without asking their neighbours.
    pub same: S,
    /// `each(tile, local cell, known neighbours, values)`: the value of a new cell; None leaves it unknown for good.
    pub each: F,
}

/// Fill up to `layers` layers of cells round the known ones. The byte in `levels` of a cell filled in layer l, from 1,
/// becomes l + 1.
pub(super) fn grow<T: Copy + Send + Sync>(
    tiles: &Tiles,
    known: &mut [Mask],
    values: &mut [T],
    levels: &mut [u8],
    layers: usize,
    filling: Filling<
        impl Fn(usize) -> Option<T> + Sync,
        impl Fn(usize, [usize; 3], &[Neighbour], &[T]) -> Option<T> + Sync,
    >,
) {
    let mut refused = vec![[0; SIDE]; tiles.len()];
    let mut changed: Vec<bool> = known.iter().map(|m| m.iter().any(|w| *w != 0)).collect();
    for number in 0..layers {
        let near = |t: usize| {
            let beside = |d: i32| tiles.neighbour(t, d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1);
            (0..27).map(beside).any(|n| n != NONE && changed[n as usize])
        };
        let one = |t: usize| near(t).then(|| layer(tiles, known, &refused[t], values, t, &filling)).flatten();
        let gains: Vec<Option<(Gain<T>, Mask)>> = (0..tiles.len()).into_par_iter().map(one).collect();
        if gains.iter().all(Option::is_none) {
            return;
        }
        changed = gains.iter().map(Option::is_some).collect();
        let level = (number + 2).min(255) as u8;
        let parts = values.par_chunks_mut(tiles.volume()).zip(levels.par_chunks_mut(tiles.volume()));
        parts.zip(known.par_iter_mut().zip(&mut refused)).zip(gains).for_each(
            |(((values, levels), (known, refused)), gain)| {
                if let Some((gain, tried)) = gain {
                    let mut next = gain.values.into_iter();
                    for_each_bit(&gain.cells, |place, _| {
                        values[place] = next.next().unwrap_or(values[place]);
                        levels[place] = level;
                    });
                    for z in 0..SIDE {
                        known[z] |= gain.cells[z];
                        refused[z] |= tried[z] & !gain.cells[z];
                    }
                }
            },
        );
    }
}

/// Fill up to `layers` layers with the mean of the known face neighbours: [`grow`] for the commonest case.
pub(super) fn grow_mean(
    tiles: &Tiles,
    known: &mut [Mask],
    values: &mut [f64],
    levels: &mut [u8],
    layers: usize,
) {
    let mut changed: Vec<bool> = known.iter().map(|m| m.iter().any(|w| *w != 0)).collect();
    for number in 0..layers {
        let near = |t: usize| {
            const BESIDE: [[i32; 3]; 7] =
                [[0, 0, 0], [-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];
            let marked = |[x, y, z]: [i32; 3]| match tiles.neighbour(t, x, y, z) {
                NONE => false,
                n => changed[n as usize],
            };
            BESIDE.into_iter().any(marked)
        };
        let one = |t: usize| near(t).then(|| mean_layer(tiles, known, values, t)).flatten();
        let gains: Vec<Option<Gain<f64>>> =
            (0..tiles.len()).into_par_iter().with_min_len(4).map(one).collect();
        if gains.iter().all(Option::is_none) {
            return;
        }
        changed = gains.iter().map(Option::is_some).collect();
        let level = (number + 2).min(255) as u8;
        let parts = values.par_chunks_mut(tiles.volume()).zip(levels.par_chunks_mut(tiles.volume()));
        parts.zip(known.par_iter_mut()).zip(gains).with_min_len(16).for_each(
            |(((values, levels), known), gain)| {
                if let Some(gain) = gain {
                    let mut next = gain.values.into_iter();
                    for_each_bit(&gain.cells, |place, _| {
                        values[place] = next.next().unwrap_or(values[place]);
                        levels[place] = level;
                    });
                    (0..SIDE).for_each(|z| known[z] |= gain.cells[z]);
                }
            },
        );
    }
}

/// The cells beside known ones, each with the mean of those; None if there are none.
fn mean_layer(tiles: &Tiles, known: &[Mask], values: &[f64], t: usize) -> Option<Gain<f64>> {
    if (0..tiles.depth()).all(|z| known[t][z] == u64::MAX) {
        return None;
    }
    let rows = Rows::new(tiles, known, t);
    let mut cells = rows.grown(tiles.depth(), Reach::Faces);
    (0..SIDE).for_each(|z| cells[z] &= !known[t][z]);
    if cells == [0; SIDE] {
        return None;
    }
    let v = tiles.volume();
    let own = &values[t * v..(t + 1) * v];
    // A layer is a few cells of a tile: values are asked for one by one, those of the tile itself by a plain index.
    let beyond = |[dx, dy, dz]: [i32; 3], place: usize| match tiles.neighbour(t, dx, dy, dz) {
        NONE => 0.0,
        n => values[n as usize * v + place],
    };
    let mut means = Vec::with_capacity(cells.iter().map(|w| w.count_ones() as usize).sum());
    // Cells that see none of the known ones, because a sheet is between.
    let (sheets, mut behind) = (tiles.sheets(t), [0; SIDE]);
    // A grid one cell thick has nothing above and below.
    let deep = tiles.depth() > 1;
    for_each_bit(&cells, |_, [x, y, z]| {
        let at = (z * SIDE + y) * SIDE + x;
        let (mut sum, mut count) = (0.0, 0u32);
        let seen = sheets.map_or(SEES_ALL, |s| s.sees[at]);
        let mut add = |row: u16, bit: usize, way: u32, value: f64| {
            if row >> bit & 1 != 0 && seen >> way & 1 != 0 {
                sum += value;
                count += 1;
            }
        };
        // The neighbour below or above along an axis with the given stride, in this tile or in the next.
        let below = |i: usize, step: usize, to: [i32; 3]| match i {
            0 => beyond(to, at + LAST * step),
            _ => own[at - step],
        };
        let above = |i: usize, step: usize, to: [i32; 3]| match i {
            LAST => beyond(to, at - LAST * step),
            _ => own[at + step],
        };
        if deep {
            add(rows.0[z][y + 1], x + 1, 4, below(z, SIDE * SIDE, [0, 0, -1]));
        }
        add(rows.0[z + 1][y], x + 1, 10, below(y, SIDE, [0, -1, 0]));
        add(rows.0[z + 1][y + 1], x, 12, below(x, 1, [-1, 0, 0]));
        add(rows.0[z + 1][y + 1], x + 2, 14, above(x, 1, [1, 0, 0]));
        add(rows.0[z + 1][y + 2], x + 1, 16, above(y, SIDE, [0, 1, 0]));
        if deep {
            add(rows.0[z + 2][y + 1], x + 1, 22, above(z, SIDE * SIDE, [0, 0, 1]));
        }
        if count > 0 {
            means.push(sum / f64::from(count));
        } else {
            behind[z] |= 1 << (y * SIDE + x);
        }
    });
    (0..SIDE).for_each(|z| cells[z] &= !behind[z]);
    (!means.is_empty()).then_some(Gain { cells, values: means })
}

/// The cells that one tile gains, and all those that were tried; None if there are none.
fn layer<T: Copy>(
    tiles: &Tiles,
    known: &[Mask],
    refused: &Mask,
    values: &[T],
    t: usize,
    filling: &Filling<
        impl Fn(usize) -> Option<T>,
        impl Fn(usize, [usize; 3], &[Neighbour], &[T]) -> Option<T>,
    >,
) -> Option<(Gain<T>, Mask)> {
    if (0..tiles.depth()).all(|z| known[t][z] | refused[z] == u64::MAX) {
        return None;
    }
    let rows = Rows::new(tiles, known, t);
    let mut tried = rows.grown(tiles.depth(), filling.reach);
    (0..SIDE).for_each(|z| tried[z] &= !known[t][z] & !refused[z]);
    if tried == [0; SIDE] {
        return None;
    }
    if let Some(value) = (filling.same)(t).filter(|_| tiles.sheets(t).is_none()) {
        let count = tried.iter().map(|w| w.count_ones() as usize).sum();
        return Some((Gain { cells: tried, values: vec![value; count] }, tried));
    }
    let mut gain = Gain { cells: [0; SIDE], values: Vec::new() };
    let mut neighbours = Vec::with_capacity(26);
    let mut beyond = [0; SIDE];
    for_each_bit(&tried, |place, cell| {
        rows.neighbours(tiles, t, cell, filling.reach, &mut neighbours);
        if neighbours.is_empty() {
            // All of them are behind a sheet; others may come.
            beyond[place / (SIDE * SIDE)] |= 1 << (place % (SIDE * SIDE));
        } else if let Some(value) = (filling.each)(t, cell, &neighbours, values) {
            gain.cells[place / (SIDE * SIDE)] |= 1 << (place % (SIDE * SIDE));
            gain.values.push(value);
        }
    });
    (0..SIDE).for_each(|z| tried[z] &= !beyond[z]);
    (tried != [0; SIDE]).then_some((gain, tried))
}
