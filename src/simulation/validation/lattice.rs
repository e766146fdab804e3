//! The cases of the simulator `bcc`: the same answers as for `mac`, read off the surface, since there are no particles.
//!
//! **Rest.** Water in a tilted box and in a ball, cells of several sizes below the surface: after a thousand steps no
//! liquid is faster than 10⁻¹² √(g L) and the surface has moved by less than 10⁻⁶ cells.
//!
//! **Fall.** Every cell has u = u₀ + g t.
//!
//! **Sloshing.** See [`super::basin`]; here the amplitude is 0.01 L. The mode is an integral over the liquid, by
//! Gauss over its closed surface: ∫ cos(k x) dV = ∮ sin(k x)/k n_x dA.
//!
//! **Dam.** See [`super::dam`]; the tip is the foremost point of the surface, and the depth its highest point at a gauge. `dam-mac` compares the front with that of `mac` at the same cell.

use super::basin::slab_below;
use super::measure::{Series, first_reach, value_at, zeros};
use super::{Effort, Figure, GRAVITY, advance, dam, simulation};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::math::Vec3;
use crate::math::elementary::{cos, sin, tanh};
use crate::simulation::Simulation;
use serde_json::{Value, json};
use std::f64::consts::PI;

/// Water at rest in a tilted box.
pub fn still_tilted(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let wall = json!({"container": true, "shape": {"box": {"min": [-0.3, -0.35, -0.3], "max": [0.3, 0.7, 0.3]}},
        "transform": {"translate": [0.5, 0.5, 0.5], "rotate": [12, 20, 9]}});
    still("still-tilted", wall, 0.4321, effort, cancel)
}

/// Water at rest in a ball.
pub fn still_ball(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let wall = json!({"container": true, "shape": {"sphere": {"center": [0.51, 0.5, 0.49], "radius": 0.43}}});
    still("still-ball", wall, 0.5432, effort, cancel)
}

fn still(name: &str, wall: Value, level: f64, effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cell = 0.0625;
    let scene = json!({"meniscus": 1, "frames": [0, 1000], "fps": 250,
        "domain": {"min": [0, 0, 0], "max": [1, 1, 1]}, "resolution": {"cell": cell},
        "simulator": {"type": "bcc", "detail": 4, "pressure_tolerance": 1e-13},
        "initial": [{"shape": {"box": {"min": [-1, -1, -1], "max": [2, level, 2]}}}],
        "colliders": [wall]});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut fastest = 0.0f64;
    advance(&mut sim, effort.pick(1000, 50), cancel, |sim, _| fastest = fastest.max(sim.report().max_speed))?;
    let top = reach(&sim.surface()?, &Vec3::y());
    Ok(vec![
        Figure::new(format!("{name}-speed"), fastest / GRAVITY.sqrt(), 0.0, 1e-12),
        Figure::new(format!("{name}-rise"), (top - level) / cell, 0.0, 1e-6),
    ])
}

/// A ball of water that falls with a sideways velocity.
pub fn free_fall(_: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 100, "simulator": {"type": "bcc"},
        "domain": {"min": [0, 0, 0], "max": [0.64, 0.96, 0.64]}, "resolution": {"cell": 0.02},
        "initial": [{"shape": {"sphere": {"center": [0.25, 0.75, 0.3], "radius": 0.1}}, "velocity": [0.5, 0, 0]}]});
    let mut sim = simulation(scene, &TriMesh::default())?;
    let mut worst = 0.0f64;
    advance(&mut sim, 20, cancel, |sim, time| {
        let exact = Vec3::new(0.5, -GRAVITY * time, 0.0);
        let Some(cells) = sim.cells() else { return };
        let wet = cells.velocity.iter().zip(cells.liquid).filter(|(_, d)| **d < 0.0);
        let error = wet.map(|(v, _)| (v - exact).norm()).fold(0.0, f64::max);
        worst = worst.max(error / (GRAVITY * time));
    })?;
    Ok(vec![Figure::new("free-fall", worst, 0.0, 1e-9), volume("free-fall-volume", &sim, 1e-3)])
}

/// The frequency of the first mode in a basin 1 m long and 0.5 m deep, 32 finest cells to the length.
pub fn sloshing(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for detail in [1, 4] {
        let (value, omega) = sloshing_frequency(detail, effort, cancel)?;
        figures.push(Figure::new(format!("sloshing-frequency-{detail}"), value, omega, 0.01 * omega));
    }
    Ok(figures)
}

fn sloshing_frequency(detail: u32, effort: Effort, cancel: &Cancel) -> Result<(f64, f64)> {
    let (length, depth) = (1.0, 0.5);
    let (cell, k) = (length / 32.0, PI / length);
    let omega = (GRAVITY * k * tanh(k * depth)).sqrt();
    let mesh = slab_below(|x| depth + 0.01 * length * cos(k * x), [-0.25, 1.25], [-0.25, 0.5]);
    let scene = json!({"meniscus": 1, "frames": [0, 400], "fps": 60,
        "domain": {"min": [0, 0, 0], "max": [length, 0.75, 0.125]}, "resolution": {"cell": cell},
        "simulator": {"type": "bcc", "detail": detail},
        "initial": [{"shape": {"mesh": {"file": "wave"}}}]});
    let mut sim = simulation(scene, &mesh)?;
    let mut mode = Series::new();
    let periods = effort.pick(3.0, 1.5);
    let frames = (60.0 * periods * 2.0 * PI / omega) as usize;
    let mut failed = None;
    advance(&mut sim, frames, cancel, |sim, time| match sim.surface() {
        Ok(surface) => mode.push((time, flux_through(&surface, |x| sin(k * x.x) / k))),
        Err(error) => failed = Some(error),
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let zeros = zeros(&mode);
    Ok(match zeros.as_slice() {
        [first, .., last] => (PI * (zeros.len() - 1) as f64 / (last - first), omega),
        _ => (f64::NAN, omega),
    })
}

/// ∮ f n_x dA over a closed mesh, by the middles of the sides of its triangles.
fn flux_through(mesh: &TriMesh, f: impl Fn(&Vec3) -> f64) -> f64 {
    let of = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
        let mean = (f(&((a + b) * 0.5)) + f(&((b + c) * 0.5)) + f(&((c + a) * 0.5))) / 3.0;
        0.5 * (b - a).cross(&(c - a)).x * mean
    };
    mesh.triangles.iter().map(of).sum()
}

/// When the front arrives, how the reservoir empties, and how far `mac` has come meanwhile.
pub fn dam_break(effort: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cell = effort.pick(0.01, 0.015);
    let unit = (dam::HEIGHT / GRAVITY).sqrt();
    let frames = (5.1 * unit * 100.0).ceil() as usize;
    let (mut ahead, mut depth) = (Series::new(), Series::new());
    let mut gauges = dam::ARRIVALS.map(|_| Series::new());
    let mut sim = simulation(dam_scene("bcc", cell), &TriMesh::default())?;
    advance(&mut sim, frames, cancel, |sim, time| {
        let surface = sim.surface().unwrap_or_default();
        let height = |at: f64, half: f64| {
            let gauge = surface.positions.iter().filter(|x| (x.x - at).abs() < half);
            gauge.map(|x| x.y).fold(0.0, f64::max) / dam::HEIGHT
        };
        ahead.push((time / unit, reach(&surface, &Vec3::x())));
        depth.push((time / unit, height(dam::GAUGE[0], dam::GAUGE[1])));
        for (gauge, (x, _)) in gauges.iter_mut().zip(dam::ARRIVALS) {
            gauge.push((time / unit, height(x, dam::ANSWERS[1])));
        }
    })?;
    let arrivals = dam::ARRIVALS.iter().zip(&gauges).map(|(&(x, exact), gauge)| {
        Figure::new(format!("dam-arrival-{x}"), first_reach(gauge, dam::ANSWERS[0]), exact, 0.05 * exact)
    });
    let struck = first_reach(&ahead, dam::LENGTH - 0.5 * cell);
    let wall = Figure::new("dam-arrival-wall", struck, dam::STRUCK, 0.05 * dam::STRUCK);
    let depths = dam::DEPTHS.iter().map(|&(moment, exact)| {
        Figure::new(format!("dam-depth-{moment}"), value_at(&depth, moment), exact, 0.03)
    });
    let mut figures: Vec<Figure> = arrivals.chain([wall]).chain(depths).collect();
    figures.push(volume("dam-volume", &sim, 1e-2));
    let moment = 1.5;
    let mut grid = simulation(dam_scene("mac", cell), &TriMesh::default())?;
    let mut other = Series::new();
    advance(&mut grid, (1.6 * unit * 100.0).ceil() as usize, cancel, |sim, time| {
        other.push((time / unit, reach(&sim.surface().unwrap_or_default(), &Vec3::x())));
    })?;
    // The tip is thinner than a cell, and trackers differ in when they lose it: two cells.
    let (ours, theirs) = (value_at(&ahead, moment), value_at(&other, moment));
    figures.push(Figure::new("dam-mac", ours, theirs, 2.0 * cell));
    Ok(figures)
}

fn dam_scene(simulator: &str, cell: f64) -> Value {
    json!({"meniscus": 1, "frames": [0, 200], "fps": 100,
        "domain": {"min": [0, 0, 0], "max": [dam::LENGTH, 0.6, 8.0 * cell]}, "resolution": {"cell": cell},
        "simulator": {"type": simulator},
        "initial": [{"shape": {"box": {"min": [-0.1, -0.1, -1], "max": [0.6, dam::HEIGHT, 1]}}}]})
}

/// The farthest point of a mesh along a direction.
fn reach(mesh: &TriMesh, along: &Vec3) -> f64 {
    mesh.positions.iter().map(|x| x.dot(along)).fold(f64::NEG_INFINITY, f64::max)
}

fn volume(name: &str, sim: &Simulation, tolerance: f64) -> Figure {
    Figure::new(name, sim.report().volume_error(), 0.0, tolerance)
}
