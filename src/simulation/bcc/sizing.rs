//! Where the lattice must be fine: which octree cells are refined for the sake of the surface and of colliders.
//!
//! A tile of the tracker is 8 finest cells wide, so the cells of the octree one level above the finest are the 4³
//! pairs of a tile. Those that hold a piece of the band |φ| < b are refined; a level up, those that hold or touch a
//! refined cell are refined too, so that every size of cell forms a layer at least one cell thick on each side.
//! In the liquid, cells that a collider crosses are at most [`AT_COLLIDERS`] finest cells wide.

use crate::field::Solids;
use crate::grid::SIDE;
use crate::mesh::bcc::OctreeCell;
use crate::surface::TiledLevelSet;
use rayon::prelude::*;

/// Width of liquid cells that a collider crosses, in finest cells.
const AT_COLLIDERS: f64 = 2.0;
/// The surface that is continued deeper than this many cells into a solid needs no fine cells.
const IN_SOLIDS: f64 = 2.0;

/// The octree cells to refine: sorted keys for each level.
pub(super) struct Wanted {
    levels: Vec<Vec<u64>>,
}

/// One number for three that are not negative and below 2²¹.
fn key(at: [u32; 3]) -> u64 {
    (at[2] as u64) << 42 | (at[1] as u64) << 21 | at[0] as u64
}

fn unkey(key: u64) -> [u32; 3] {
    [0, 21, 42].map(|s| (key >> s & 0x1F_FFFF) as u32)
}

fn sorted(mut keys: Vec<u64>) -> Vec<u64> {
    keys.par_sort_unstable();
    keys.dedup();
    keys
}

impl Wanted {
    /// For cells within `band` finest cells of the surface, in an octree of `depth` levels below its roots.
    pub fn new(set: &TiledLevelSet, depth: usize, band: f64) -> Self {
        let mut levels = vec![Vec::new(); depth];
        let mut finest = if depth == 0 { Vec::new() } else { sorted(pairs(set, band)) };
        for level in levels.iter_mut().rev() {
            let above = finest.par_iter().flat_map_iter(|k| parents(unkey(*k))).collect();
            *level = std::mem::replace(&mut finest, sorted(above));
        }
        Self { levels }
    }

    pub fn contains(&self, cell: &OctreeCell) -> bool {
        self.levels.get(cell.level).is_some_and(|keys| keys.binary_search(&key(cell.index)).is_ok())
    }
}

/// The cells of 2³ finest cells that hold a piece of the band.
fn pairs(set: &TiledLevelSet, band: f64) -> Vec<u64> {
    let (tiles, h) = (&set.tiles, set.tiles.h());
    let of_tile = |t: usize| {
        let (base, from) = (tiles.base(t), t * tiles.volume());
        let mut marked = 0u64;
        for l in 0..tiles.volume() {
            if set.phi[from + l].abs() < band * h && set.solid[from + l] > -IN_SOLIDS * h {
                let [x, y, z] = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v / 2);
                marked |= 1 << (x + 4 * (y + 4 * z));
            }
        }
        let at = move |n: i32| [base[0] / 2 + n % 4, base[1] / 2 + n / 4 % 4, base[2] / 2 + n / 16];
        let inside = move |c: [i32; 3]| c.iter().all(|x| *x >= 0).then(|| key(c.map(|x| x as u32)));
        (0..64).filter(move |n| marked >> n & 1 == 1).filter_map(move |n| inside(at(n)))
    };
    (0..tiles.len()).into_par_iter().flat_map_iter(of_tile).collect()
}

/// The parents of a cell and of those round it.
fn parents(at: [u32; 3]) -> impl Iterator<Item = u64> {
    // An even cell touches the parent below its own, an odd one that above.
    let along = |a: usize| {
        let own = at[a] / 2;
        [own, if at[a].is_multiple_of(2) { own.saturating_sub(1) } else { own + 1 }]
    };
    let all = [along(0), along(1), along(2)];
    (0..8usize).map(move |n| key([all[0][n & 1], all[1][n >> 1 & 1], all[2][n >> 2]]))
}

/// Whether a collider crosses a cell that is too wide for it, with liquid about.
pub(super) fn meets_collider(cell: &OctreeCell, set: &TiledLevelSet, solids: &Solids) -> bool {
    let h = set.tiles.h();
    if cell.width < 1.001 * AT_COLLIDERS * h {
        return false;
    }
    let reach = 0.87 * cell.width + h;
    let crosses = solids.iter().any(|s| s.distance_within(&cell.centre, reach).abs() < reach);
    crosses && set.distance(&cell.centre) < 0.99 * set.band()
}
