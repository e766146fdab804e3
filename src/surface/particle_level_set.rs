//! A level set that the particles of the liquid keep honest.
//!
//! The signed distance φ at cell centres (negative in liquid) is carried backwards along the
//! velocity, φ′(x) = φ(x − u Δt), which is smooth, leaves still water alone, and loses what is
//! thinner than a cell. The particles, which lose nothing, then correct it in three ways:
//!
//! * *escaped*: a particle that finds itself in the air vouches for a sphere of the radius by which
//!   it was inside before: φ ← min(φ, |x − x_p| − r_p). Thin sheets survive this way. This is the
//!   particle level set [EMF02] with inner particles only.
//! * *crowded*: a cell in the air that holds nearly as many particles as a full one is liquid.
//!   Spray that gathers in a cup becomes a pool this way.
//! * *void*: a cell of liquid near the surface or a wall with no particle within a cell's width is air.
//!
//! Where flow is smooth none of the three fires, so a calm surface has no trace of single particles.
//! The zero set moves by these rules only; the caller restores the distance property afterwards.

use crate::field::{Particles, VelocityPatch};
use crate::grid::{NONE, Patch, SIDE, Tiles};
use crate::math::Vec3;
use rayon::prelude::*;

/// Bounds of what one particle vouches for, in cells.
const LEAST_RADIUS: f64 = 0.1;
const GREATEST_RADIUS: f64 = 0.5;
/// A cell of liquid whose nearest particle is further away than this many cells is void.
const VOID: f64 = 0.9;
/// Voids are looked for down to this depth, in cells; deeper down cells are reseeded instead.
const VOID_DEPTH: f64 = 1.5;
/// Share of the usual number of particles from which a cell in the air counts as liquid.
const CROWDED: f64 = 0.75;

/// How far the distance is kept, in metres: beyond, it is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Band(pub f64);

/// The distance on the new tiles, carried along the velocity of the old ones for `dt` seconds.
/// `margin` is how many cells a point may travel.
pub fn advect(
    old: &Tiles,
    phi: &[f64],
    velocity: &[Vec<f64>; 3],
    new: &Tiles,
    dt: f64,
    margin: usize,
    band: Band,
) -> Vec<f64> {
    let mut out = new.field(band.0);
    let patches = <(VelocityPatch, Patch)>::default;
    out.par_chunks_mut(new.volume()).enumerate().for_each_init(patches, |(u, distance), (t, part)| {
        let coord = new.coords()[t];
        distance.load(old, phi, coord, margin + 1, band.0);
        u.load(old, velocity, coord, margin + 1);
        let base = new.base(t);
        let middle = Vec3::new(0.5, 0.5, if new.is_flat() { 0.0 } else { 0.5 });
        for (l, out) in part.iter_mut().enumerate() {
            let cell = local_cell(base, l);
            let here = distance.get(cell);
            // What is far from the surface stays far: a step is shorter than the band.
            if here <= -band.0 || here >= band.0 && !near_surface(distance, cell, margin as i32, band) {
                *out = here.clamp(-band.0, band.0);
                continue;
            }
            let g = Vec3::new(cell[0] as f64, cell[1] as f64, cell[2] as f64) + middle;
            let from = u.trace(&g, -dt) - middle;
            *out = distance.sample(from.into());
        }
    });
    out
}

#[inline]
fn local_cell(base: [i32; 3], l: usize) -> [i32; 3] {
    [base[0] + (l % SIDE) as i32, base[1] + (l / SIDE % SIDE) as i32, base[2] + (l / (SIDE * SIDE)) as i32]
}

/// Whether a cell within `reach` along an axis is inside the band.
fn near_surface(distance: &Patch, c: [i32; 3], reach: i32, band: Band) -> bool {
    (0..3).any(|a| {
        [-reach, reach].iter().any(|d| {
            let mut other = c;
            other[a] += d;
            distance.get(other) < band.0
        })
    })
}

/// Note for each particle how far inside the surface it is: the sphere it will vouch for.
pub fn vouch(tiles: &Tiles, phi: &[f64], particles: &mut Particles) {
    let h = tiles.h();
    let ranges: Vec<_> = (0..tiles.len()).map(|t| particles.of_tile(tiles, t)).collect();
    let mut rest = &mut particles.radius[..];
    let mut work = Vec::new();
    for (t, range) in ranges.into_iter().enumerate() {
        let (radius, tail) = rest.split_at_mut(range.len());
        rest = tail;
        if !range.is_empty() {
            work.push((t, range, radius));
        }
    }
    let position = &particles.position;
    work.into_par_iter().for_each_init(Patch::default, |patch, (t, range, radius)| {
        patch.load(tiles, phi, tiles.coords()[t], 1, h);
        for (p, r) in range.zip(radius) {
            let depth = -patch.sample(tiles.centred(&position[p]));
            *r = depth.clamp(LEAST_RADIUS * h, GREATEST_RADIUS * h) as f32;
        }
    });
}

/// Correct a distance that was carried along the flow by the particles, which are sorted on `tiles`.
/// `full` is the usual number of particles in a cell; cells with `solid` below zero are left alone.
pub fn correct(tiles: &Tiles, phi: &mut [f64], particles: &Particles, solid: &[f64], full: f64) {
    let escaped = escaped_particles(tiles, phi, particles);
    let before = phi.to_vec();
    let h = tiles.h();
    tiles.for_each(phi, |t, part| {
        add_spheres(tiles, particles, &escaped, t, part);
        let base = t * tiles.volume();
        for (l, phi) in part.iter_mut().enumerate() {
            if solid[base + l] < 0.0 {
                continue;
            }
            // A cell beside a wall may have been inside it just now, where the distance is that of
            // whatever is on the other side.
            let beside_wall = solid[base + l] < h;
            let count = particles.of_cell(base + l).len() as f64 / full;
            if *phi > 0.0 && count >= CROWDED {
                *phi = phi.min(h * (0.5 - count.min(1.0)));
            }
            let shallow = before[base + l] > -VOID_DEPTH * h || beside_wall;
            if *phi < 0.0 && count == 0.0 && shallow {
                let nearest = nearest_particle(tiles, particles, t, l);
                *phi = phi.max(nearest - VOID * h);
            }
        }
    });
}

/// For each tile, its particles that are in the air.
fn escaped_particles(tiles: &Tiles, phi: &[f64], particles: &Particles) -> Vec<Vec<u32>> {
    (0..tiles.len())
        .into_par_iter()
        .map_init(Patch::default, |patch, t| {
            let range = particles.of_tile(tiles, t);
            if range.is_empty() {
                return Vec::new();
            }
            patch.load(tiles, phi, tiles.coords()[t], 1, tiles.h());
            let out = |p: &usize| patch.sample(tiles.centred(&particles.position[*p])) > 0.0;
            range.filter(out).map(|p| p as u32).collect()
        })
        .collect()
}

fn add_spheres(tiles: &Tiles, particles: &Particles, escaped: &[Vec<u32>], t: usize, part: &mut [f64]) {
    let base = tiles.base(t);
    let size = [SIDE as i32, SIDE as i32, tiles.depth() as i32];
    for d in 0..27 {
        let n = tiles.neighbour(t, d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1);
        if n == NONE {
            continue;
        }
        for &p in &escaped[n as usize] {
            let (x, r) = (particles.position[p as usize], particles.radius[p as usize] as f64);
            let cell = tiles.cell_at(&x);
            let range = |a: usize| {
                let c = cell[a] - base[a];
                (c - 1).max(0)..(c + 2).min(size[a])
            };
            for k in range(2) {
                for j in range(1) {
                    for i in range(0) {
                        let centre = tiles.centre([base[0] + i, base[1] + j, base[2] + k]);
                        let distance = away(tiles, &centre, &x) - r;
                        let l = ((k * size[1] + j) * size[0] + i) as usize;
                        part[l] = part[l].min(distance);
                    }
                }
            }
        }
    }
}

#[inline]
fn away(tiles: &Tiles, a: &Vec3, b: &Vec3) -> f64 {
    let mut d = a - b;
    if tiles.is_flat() {
        d.z = 0.0;
    }
    d.norm()
}

/// Distance from a cell's centre to the nearest particle of the cells round it; two cells if none.
fn nearest_particle(tiles: &Tiles, particles: &Particles, t: usize, l: usize) -> f64 {
    let (x, y, z) = ((l % SIDE) as i32, (l / SIDE % SIDE) as i32, (l / (SIDE * SIDE)) as i32);
    let centre = tiles.centre(tiles.cell(t * tiles.volume() + l));
    let mut nearest = 2.0 * tiles.h();
    for d in 0..27 {
        if let Some(place) = tiles.near(t, x + d % 3 - 1, y + d / 3 % 3 - 1, z + d / 9 - 1) {
            for p in particles.of_cell(place) {
                nearest = nearest.min(away(tiles, &centre, &particles.position[p]));
            }
        }
    }
    nearest
}
