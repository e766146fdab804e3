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

use super::grid::MacGrid;
use crate::field::{Block, Hats, NearPatch, Particles, SidedFaces, TwinPatch, between, gather_blocks};
use crate::grid::SIDE;
use crate::math::elementary;
use rayon::prelude::*;

/// How velocity goes back to the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transfer {
    /// Share of a particle's own motion that outlives a hundredth of a second; the rest becomes that
    /// of the grid. A share of each step would damp fine grids, which take more steps, more than coarse.
    Flip {
        blend: f64,
    },
    Apic,
    /// The grid carries velocity itself; particles take it as it is. Corrected to second order or not.
    Grid {
        corrected: bool,
    },
}

/// The time for which the blend of FLIP is stated, s.
const BLEND_TIME: f64 = 0.01;

impl Transfer {
    /// The transfer of one step of dt seconds.
    pub fn over(self, dt: f64) -> Self {
        match self {
            Self::Flip { blend } => Self::Flip { blend: elementary::pow(blend, dt / BLEND_TIME) },
            Self::Apic | Self::Grid { .. } => self,
        }
    }
}

/// Weighted velocities and weights of one tile and one cell round it, for three axes.
type Blocks = Vec<Block<2>>;

/// Velocity of the faces from the particles for which `takes_part` holds. Returns which faces got one.
pub fn particles_to_grid(grid: &mut MacGrid, particles: &Particles, takes_part: &[bool]) -> [Vec<u8>; 3] {
    let tiles = &grid.tiles;
    let scatter = |t: usize| scatter_tile(grid, particles, takes_part, t);
    let blocks: Vec<Option<Blocks>> = (0..tiles.len()).into_par_iter().map(scatter).collect();
    let mut known: [Vec<u8>; 3] = std::array::from_fn(|_| tiles.field(0));
    for (axis, (velocity, known)) in grid.velocity.iter_mut().zip(&mut known).enumerate().take(tiles.axes()) {
        let v = tiles.volume();
        velocity.par_chunks_mut(v).zip(known.par_chunks_mut(v)).enumerate().for_each(|(t, (u, known))| {
            let mut sums = [[0.0; 2]; SIDE * SIDE * SIDE];
            gather_blocks(tiles, t, |n| blocks[n].as_ref().map(|b| &b[axis]), &mut sums[..v]);
            for ((u, known), [sum, weight]) in u.iter_mut().zip(known).zip(sums) {
                // A face at the rim of a particle's reach knows next to nothing; its neighbours know better.
                *known = (weight > 1e-3) as u8;
                *u = if *known == 1 { sum / weight } else { 0.0 };
            }
        });
    }
    known
}

fn scatter_tile(grid: &MacGrid, particles: &Particles, takes_part: &[bool], t: usize) -> Option<Blocks> {
    let (tiles, sight) = (&grid.tiles, grid.sight());
    let range = particles.of_tile(tiles, t);
    if !takes_part[range.clone()].contains(&true) {
        return None;
    }
    let (flat, h) = (tiles.is_flat(), tiles.h());
    let mut blocks: Blocks = vec![[[0.0; 2]; 1000]; tiles.axes()];
    let base = tiles.base_point(t);
    for p in range.filter(|p| takes_part[*p]) {
        let (g, v) = (tiles.to_grid(&particles.position[p]), &particles.velocity[p]);
        let at = between(&(g - base), flat);
        let eyes = sight.of_particle(t, &particles.position[p]);
        for (axis, block) in blocks.iter_mut().enumerate().take(tiles.axes()) {
            let v = v[axis];
            let here =
                [at[0][(axis != 0) as usize], at[1][(axis != 1) as usize], at[2][(axis != 2) as usize]];
            let hats = Hats::new(here);
            if let Some(eyes) = &eyes {
                let low = tiles.base(t);
                let seen = |at: [i32; 3]| {
                    let cell = std::array::from_fn(|a| low[a] + at[a]);
                    eyes.sees_face(cell, axis) && !sight.is_closed(t, cell, axis)
                };
                let row = particles.affine.get(p).map_or([0.0; 3], |rows| rows[axis].map(|c| c as f64 * h));
                let away = |a: usize, c: usize| row[a] * ((c >> a & 1) as f64 - here[a].1);
                let depth = |c: usize| if flat { 0.0 } else { away(2, c) };
                hats.add_where(block, seen, |c| [v + away(0, c) + away(1, c) + depth(c), 1.0]);
                continue;
            }
            match particles.affine.get(p) {
                None => hats.add(block, |_| [v, 1.0]),
                Some(rows) => {
                    let row = rows[axis].map(|c| c as f64 * h);
                    // What the gradient adds on the way from the particle to the corner.
                    let away = |a: usize, c: usize| row[a] * ((c >> a & 1) as f64 - here[a].1);
                    let depth = |c: usize| if flat { 0.0 } else { away(2, c) };
                    hats.add(block, |c| [v + away(0, c) + away(1, c) + depth(c), 1.0]);
                }
            }
        }
    }
    Some(blocks)
}

/// Give the particles for which `takes_part` holds the velocity of the grid; `below` is that of the lower sides of faces that sheets
/// close. `before` is the grid's velocity when the particles were last spread on it, with its lower sides. `keeps` is the share of what particles of a cell differ
/// from the grid that is left to them, besides the blend of FLIP; all of it if empty.
pub fn grid_to_particles(
    grid: &MacGrid,
    below: &[Vec<f64>; 3],
    before: SidedFaces,
    particles: &mut Particles,
    takes_part: &[bool],
    transfer: Transfer,
    keeps: &[f32],
) {
    let (tiles, sight) = (&grid.tiles, grid.sight());
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
    let (position, start) = (&particles.position, &particles.start);
    let of_cell = |cell: usize| start[cell] as usize..start[cell + 1] as usize;
    let patches = <(NearPatch, TwinPatch)>::default;
    work.into_par_iter().for_each_init(patches, |(now, both), (t, range, velocity, affine)| {
        match transfer {
            Transfer::Flip { .. } => both.load(tiles, [&grid.velocity, before[0]], tiles.coords()[t], 1),
            _ => now.load(tiles, &grid.velocity, tiles.coords()[t], 1),
        }
        let cells = (t * tiles.volume()..(t + 1) * tiles.volume()).map(|c| (c, of_cell(c)));
        let all = cells.flat_map(|(c, here)| here.map(move |p| (p, c)));
        for (p, cell) in all.filter(|(p, _)| takes_part[*p]) {
            let (i, g) = (p - range.start, tiles.to_grid(&position[p]));
            let eyes = sight.of_particle(t, &position[p]);
            let seen = |faces: SidedFaces| eyes.as_ref().map(|e| sight.velocity(t, e, faces, &g));
            let sided = [&grid.velocity, below];
            match transfer {
                Transfer::Flip { blend } => {
                    let [u, was] = match (seen(sided), seen(before)) {
                        (Some((u, _)), Some((was, _))) => [u, was],
                        _ => both.sample(&g),
                    };
                    let kept = if keeps.is_empty() { blend } else { blend * keeps[cell] as f64 };
                    velocity[i] = u + (velocity[i] - was) * kept;
                }
                Transfer::Grid { .. } => velocity[i] = seen(sided).map_or_else(|| now.sample(&g), |s| s.0),
                Transfer::Apic => {
                    let (u, rows) = seen(sided).unwrap_or_else(|| now.sample_gradient(&g));
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
    use crate::grid::Tiles;
    use crate::math::Vec3;

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
        let none = Default::default();
        grid_to_particles(&grid, &none, [&before, &none], &mut particles, &all, Transfer::Apic, &[]);
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
            let none = Default::default();
            let flip = Transfer::Flip { blend: 1.0 };
            grid_to_particles(&grid, &none, [&before, &none], &mut particles, &all, flip, &[]);
            assert!(particles.velocity.iter().zip(&was).all(|(a, b)| (a - b).norm() < 1e-14));
        }
    }
}
