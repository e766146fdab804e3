//! Velocity between particles and faces.
//!
//! Particles to grid: a face at x_f gets the weighted mean of the particles round it, with w the
//! trilinear hat of one cell,
//!
//! ```text
//!     u_f = Σ_p w(x_f − x_p) (v_p + C_p·(x_f − x_p)) / Σ_p w(x_f − x_p)          C_p = 0 with FLIP
//! ```
//!
//! Grid to particles: FLIP adds the change of the grid's velocity, blended with the velocity itself;
//! APIC takes the velocity and its gradient C_p [JSS15], so that rigid motion survives the exchange.
//! On a linear velocity field both reproduce the field exactly.
//!
//! Each tile scatters its own particles, in their order, into a block that reaches one cell beyond
//! the tile; then each tile sums the blocks that reach into it in a fixed order. The result has the
//! same bits for any number of threads.

use super::grid::MacGrid;
use crate::field::{Particles, VelocityPatch, face_offset};
use crate::grid::{Halo, NONE, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// How velocity goes back to the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transfer {
    /// Share of the change that is added; the rest takes the grid's velocity.
    Flip {
        blend: f64,
    },
    Apic,
}

/// Weighted velocities and weights of one tile and one cell round it, for three axes.
struct Block {
    sum: [[f64; 1000]; 3],
    weight: [[f64; 1000]; 3],
}

/// Velocity of the faces from the particles for which `takes_part` holds. Returns which faces got one.
pub fn particles_to_grid(grid: &mut MacGrid, particles: &Particles, takes_part: &[bool]) -> [Vec<u8>; 3] {
    let tiles = &grid.tiles;
    let blocks: Vec<Option<Box<Block>>> =
        (0..tiles.len()).into_par_iter().map(|t| scatter_tile(tiles, particles, takes_part, t)).collect();
    let mut known: [Vec<u8>; 3] = std::array::from_fn(|_| tiles.field(0));
    for (axis, (velocity, known)) in grid.velocity.iter_mut().zip(&mut known).enumerate() {
        let v = tiles.volume();
        velocity.par_chunks_mut(v).zip(known.par_chunks_mut(v)).enumerate().for_each(|(t, (u, known))| {
            gather_tile(tiles, &blocks, axis, t, u, known);
        });
    }
    known
}

fn scatter_tile(tiles: &Tiles, particles: &Particles, takes_part: &[bool], t: usize) -> Option<Box<Block>> {
    let range = particles.of_tile(tiles, t);
    if range.is_empty() {
        return None;
    }
    let mut block = Box::new(Block { sum: [[0.0; 1000]; 3], weight: [[0.0; 1000]; 3] });
    let base = tiles.base(t);
    let base = Vec3::new(base[0] as f64, base[1] as f64, base[2] as f64);
    for p in range.filter(|p| takes_part[*p]) {
        let local = tiles.to_grid(&particles.position[p]) - base;
        for axis in 0..tiles.axes() {
            let v = particles.velocity[p][axis];
            let row = particles.affine.get(p).map(|c| c[axis]);
            scatter(&mut block, tiles, axis, local, v, row);
        }
    }
    Some(block)
}

/// Add one component of one particle to the eight faces round it.
#[inline]
fn scatter(block: &mut Block, tiles: &Tiles, axis: usize, local: Vec3, v: f64, row: Option<[f32; 3]>) {
    let flat = tiles.is_flat();
    let x = local - face_offset(axis, flat);
    let low = x.map(f64::floor);
    let f = x - low;
    let layers = if flat { 1 } else { 2 };
    for c in 0..4 * layers {
        let d = [(c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64];
        let hat = |a: usize| if d[a] == 0.0 { 1.0 - f[a] } else { f[a] };
        let mut w = hat(0) * hat(1);
        let z = if flat { 0 } else { low.z as isize + d[2] as isize };
        if !flat {
            w *= hat(2);
        }
        let away = |a: usize| (d[a] - f[a]) * tiles.h();
        let depth = |r: [f32; 3]| if flat { 0.0 } else { r[2] as f64 * away(2) };
        let affine = row.map_or(0.0, |r| r[0] as f64 * away(0) + r[1] as f64 * away(1) + depth(r));
        let at = Halo::at(low.x as isize + d[0] as isize, low.y as isize + d[1] as isize, z);
        block.sum[axis][at] += w * (v + affine);
        block.weight[axis][at] += w;
    }
}

/// Sum what the tile and its neighbours scattered into it.
fn gather_tile(
    tiles: &Tiles,
    blocks: &[Option<Box<Block>>],
    axis: usize,
    t: usize,
    u: &mut [f64],
    known: &mut [u8],
) {
    let mut weight = [0.0; SIDE * SIDE * SIDE];
    u.fill(0.0);
    let (side, depth) = (SIDE as i32, tiles.depth() as i32);
    for d in 0..27 {
        let [dx, dy, dz] = [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1];
        let n = tiles.neighbour(t, dx, dy, dz);
        let Some(block) = (n != NONE).then(|| blocks[n as usize].as_ref()).flatten() else { continue };
        let reach = |step: i32, side: i32| match step {
            -1 => 0..1,
            1 => side - 1..side,
            _ => 0..side,
        };
        for k in reach(dz, depth) {
            for j in reach(dy, side) {
                for i in reach(dx, side) {
                    let at = Halo::at(
                        (i - dx * side) as isize,
                        (j - dy * side) as isize,
                        (k - dz * depth) as isize,
                    );
                    let l = ((k * side + j) * side + i) as usize;
                    u[l] += block.sum[axis][at];
                    weight[l] += block.weight[axis][at];
                }
            }
        }
    }
    for l in 0..u.len() {
        // A face at the rim of a particle's reach knows next to nothing; its neighbours know better.
        known[l] = (weight[l] > 1e-3) as u8;
        u[l] = if known[l] == 1 { u[l] / weight[l] } else { 0.0 };
    }
}

/// Give the particles for which `takes_part` holds the velocity of the grid. `before` is the grid's
/// velocity when the particles were last spread on it.
pub fn grid_to_particles(
    grid: &MacGrid,
    before: &[Vec<f64>; 3],
    particles: &mut Particles,
    takes_part: &[bool],
    transfer: Transfer,
) {
    let tiles = &grid.tiles;
    let ranges: Vec<_> = (0..tiles.len()).map(|t| particles.of_tile(tiles, t)).collect();
    let (mut velocity, mut affine) = (&mut particles.velocity[..], &mut particles.affine[..]);
    let mut work = Vec::new();
    for (t, range) in ranges.into_iter().enumerate() {
        let (v, rest) = velocity.split_at_mut(range.len());
        let (c, rest_c) = affine.split_at_mut(if affine.is_empty() { 0 } else { range.len() });
        (velocity, affine) = (rest, rest_c);
        if !range.is_empty() {
            work.push((t, range, v, c));
        }
    }
    let position = &particles.position;
    let patches = <(VelocityPatch, VelocityPatch)>::default;
    work.into_par_iter().for_each_init(patches, |(now, old), (t, range, velocity, affine)| {
        now.load(tiles, &grid.velocity, tiles.coords()[t], 1);
        if let Transfer::Flip { .. } = transfer {
            old.load(tiles, before, tiles.coords()[t], 1);
        }
        for (i, p) in range.enumerate().filter(|(_, p)| takes_part[*p]) {
            let g = tiles.to_grid(&position[p]);
            match transfer {
                Transfer::Flip { blend } => {
                    let (u, was) = (now.sample(&g), old.sample(&g));
                    velocity[i] = (velocity[i] + u - was) * blend + u * (1.0 - blend);
                }
                Transfer::Apic => {
                    let (u, rows) = now.sample_gradient(&g);
                    velocity[i] = u;
                    affine[i] = rows.map(|r| r.map(|c| (c / tiles.h()) as f32));
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Solids;

    fn cloud(
        flat: bool,
        affine: bool,
        velocity: impl Fn(&Vec3) -> Vec3,
        c: [[f32; 3]; 3],
    ) -> (MacGrid, Particles) {
        let coords = if flat { vec![[0, 0, 0], [1, 0, 0]] } else { vec![[0, 0, 0], [1, 0, 0], [0, 0, 1]] };
        let tiles = Tiles::new(0.5, Vec3::new(0.1, 0.2, 0.3), flat, coords);
        let mut particles = Particles::default();
        let depth = if flat { 1 } else { 10 };
        for n in 0..12 * 6 * depth * 8 {
            // A fixed scatter inside the tiles, in cells.
            let r = |m: usize| ((n * 2654435761 + m * 40503) % 1000) as f64 / 1000.0;
            let (i, j, k) = (n / 8 % 12, n / 96 % 6, n / 576);
            let g = Vec3::new(i as f64 + r(1), j as f64 + 1.0 + r(2), k as f64 + r(3));
            let inside = g.x < 7.0 || g.z < 7.0;
            let x = tiles.origin() + g * tiles.h();
            if inside {
                particles.push(x, velocity(&x), n as u64, 0.0, affine.then_some(c));
            }
        }
        particles.sort(&tiles).unwrap();
        (MacGrid::new(tiles, &Solids::default(), None), particles)
    }

    #[test]
    fn affine_motion_survives_the_round_trip() {
        // Binary fractions, so that f32 rows hold them exactly.
        let c = [[0.5, -1.0, 0.25], [1.0, 0.25, 2.0], [-0.5, 0.75, -0.75]];
        let field =
            |x: &Vec3| Vec3::from_fn(|a, _| (0..3).map(|b| c[a][b] as f64 * x[b]).sum::<f64>() + a as f64);
        let (mut grid, mut particles) = cloud(false, true, field, c);
        let all = vec![true; particles.len()];
        particles_to_grid(&mut grid, &particles, &all);
        let before = grid.velocity.clone();
        let was = particles.clone();
        grid_to_particles(&grid, &before, &mut particles, &all, Transfer::Apic);
        let mut checked = 0;
        for p in 0..particles.len() {
            // Only where all faces round the particle lie inside the cloud.
            let g = grid.tiles.to_grid(&particles.position[p]);
            if (2.0..10.0).contains(&g.x) && (2.5..5.5).contains(&g.y) && (2.0..6.0).contains(&g.z) {
                assert!((particles.velocity[p] - was.velocity[p]).norm() < 1e-12);
                assert!((0..9).all(|e| (particles.affine[p][e / 3][e % 3] - c[e / 3][e % 3]).abs() < 1e-6));
                checked += 1;
            }
        }
        assert!(checked > 500);
    }

    #[test]
    fn an_unchanged_grid_leaves_flip_particles_alone() {
        for flat in [false, true] {
            let (mut grid, mut particles) =
                cloud(flat, false, |x| Vec3::new(x.y.sin(), x.x, 0.0), [[0.0; 3]; 3]);
            let all = vec![true; particles.len()];
            let known = particles_to_grid(&mut grid, &particles, &all);
            assert!(known[0].contains(&1) && (!flat || known[2].iter().all(|k| *k == 0)));
            let (before, was) = (grid.velocity.clone(), particles.velocity.clone());
            grid_to_particles(&grid, &before, &mut particles, &all, Transfer::Flip { blend: 1.0 });
            assert!(particles.velocity.iter().zip(&was).all(|(a, b)| (a - b).norm() < 1e-14));
        }
    }
}
