//! Where the lattice must be fine: which octree cells are refined for the sake of the surface and of colliders.
//!
//! The finest cells of the octree are one or two cells of the tracker wide, whose tiles have 8; those a level above
//! are blocks of 2³ or 4³ cells of a tile. Blocks that hold a piece of the band |φ| < b, or of a wall between liquid and air,
//! are refined; a level up, those
//! that hold or touch a refined cell are refined too, so that every size of cell forms a layer at least one cell thick
//! on each side. In the liquid, cells that a collider crosses are at most [`AT_COLLIDERS`] of the tracker's cells wide,
//! unless the scene says otherwise. Its other [`Wishes`] are regions, the change of velocity over a cell, and a camera
//! for which nothing needs to be finer than it can tell.

use crate::error::Result;
use crate::field::Solids;
use crate::geometry::Shape;
use crate::grid::SIDE;
use crate::math::{Pose, Vec3};
use crate::mesh::bcc::{OctreeCell, Sizing};
use crate::scene::{self, CameraSizing};
use crate::surface::TiledLevelSet;
use rayon::prelude::*;

/// Width of liquid cells that a collider crosses, in cells of the tracker.
const AT_COLLIDERS: f64 = 2.0;
/// Cells outside a region may be wider than in it by this share of the distance.
const WIDENS: f64 = 0.5;
/// Cells at the surface are no wider than this many cells of the tracker, which knows distances no further away.
const WIDEST_AT_SURFACE: f64 = 4.0;
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
    /// For cells within `band` cells of the surface, in an octree of `depth` levels below its roots whose finest cells
    /// are `cube` cells of the tracker wide.
    pub fn new(set: &TiledLevelSet, depth: usize, cube: usize, band: f64) -> Self {
        let mut levels = vec![Vec::new(); depth];
        let mut finest = if depth == 0 { Vec::new() } else { sorted(blocks(set, 2 * cube, band)) };
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

/// The blocks of `width`³ cells, 2 or 4, that hold a piece of the band.
fn blocks(set: &TiledLevelSet, width: usize, band: f64) -> Vec<u64> {
    let (tiles, h, across) = (&set.tiles, set.tiles.h(), SIDE / width);
    let of_tile = |t: usize| {
        let (base, from) = (tiles.base(t), t * tiles.volume());
        let mut marked = 0u64;
        for l in 0..tiles.volume() {
            let near = set.phi[from + l].abs() < band * h && set.solid[from + l] > -IN_SOLIDS * h;
            if near || is_thin_wall(set, t, l) {
                let [x, y, z] = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v / width);
                marked |= 1 << (x + across * (y + across * z));
            }
        }
        let (w, s) = (width as i32, across as i32);
        let at = move |n: i32| [base[0] / w + n % s, base[1] / w + n / s % s, base[2] / w + n / (s * s)];
        let inside = move |c: [i32; 3]| c.iter().all(|x| *x >= 0).then(|| key(c.map(|x| x as u32)));
        (0..s.pow(3)).filter(move |n| marked >> n & 1 == 1).filter_map(move |n| inside(at(n)))
    };
    (0..tiles.len()).into_par_iter().flat_map_iter(of_tile).collect()
}

/// Whether a cell lies in the middle of a wall with liquid on one side and air on the other. No wide cell may reach
/// through such a wall: liquid would come out of it.
fn is_thin_wall(set: &TiledLevelSet, t: usize, l: usize) -> bool {
    let place = t * set.tiles.volume() + l;
    let shallow = |p: usize| (-IN_SOLIDS * set.tiles.h()..0.0).contains(&set.solid[p]);
    if !shallow(place) {
        return false;
    }
    let at = [l % SIDE, l / SIDE % SIDE, l / (SIDE * SIDE)].map(|v| v as i32);
    let beside = |n: usize| {
        let mut c = at;
        c[n / 2] += 2 * (n % 2) as i32 - 1;
        set.tiles.near(t, c[0], c[1], c[2])
    };
    (0..6).filter_map(beside).any(|p| shallow(p) && set.phi[p] * set.phi[place] < 0.0)
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

/// What a scene asks for besides the surface.
pub(super) struct Wishes {
    /// Regions and the width of cells in them, m.
    regions: Vec<(Shape, Pose, f64)>,
    camera: Option<CameraSizing>,
    /// m/s.
    pub change: Option<f64>,
    /// m.
    at_colliders: f64,
    cell: f64,
}

impl Wishes {
    /// From a scene in SI units with cells of this width.
    pub fn new(sizing: &scene::Sizing, cell: f64) -> Result<Self> {
        let mut regions = Vec::new();
        for region in &sizing.regions {
            let shape = region.shape.solid()?;
            regions.extend(shape.map(|(shape, pose)| (shape, pose, region.width * cell)));
        }
        let at_colliders = sizing.at_colliders.unwrap_or(AT_COLLIDERS) * cell;
        Ok(Self {
            regions,
            camera: sizing.camera.clone(),
            change: sizing.velocity_change,
            at_colliders,
            cell,
        })
    }

    /// The wishes that do not change with the flow.
    pub fn sizing(&self) -> Sizing<'_> {
        let mut sizing = Sizing::new();
        for (shape, pose, width) in &self.regions {
            sizing = sizing.inside(|x| shape.distance(&pose.to_local(x)), *width, WIDENS);
        }
        match &self.camera {
            None => sizing,
            Some(c) => {
                let eye = Vec3::from(c.eye);
                let (view, angle) = (Vec3::from(c.look_at) - eye, c.resolves.to_radians());
                sizing.camera(eye, view, angle, c.half_angle.to_radians(), c.outside)
            }
        }
    }

    /// Whether a cell is as narrow as there is a use for where the camera looks on the surface.
    pub fn is_unseen(&self, sizing: &Sizing, cell: &OctreeCell) -> bool {
        let limit = sizing.limit(&cell.centre, 0.87 * cell.width);
        cell.width <= 1.001 * limit.min(WIDEST_AT_SURFACE * self.cell)
    }
}

/// Whether a collider crosses a cell that is too wide for it, with liquid about.
pub(super) fn meets_collider(
    cell: &OctreeCell,
    set: &TiledLevelSet,
    solids: &Solids,
    wishes: &Wishes,
) -> bool {
    let h = set.tiles.h();
    if cell.width < 1.001 * wishes.at_colliders {
        return false;
    }
    let reach = 0.87 * cell.width + h;
    let crosses = solids.iter().any(|s| s.distance_within(&cell.centre, reach).abs() < reach);
    crosses && set.distance(&cell.centre) < 0.99 * set.band()
}
