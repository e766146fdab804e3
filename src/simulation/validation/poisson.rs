//! Poisson's equation with curved boundaries, as published by Johansen and Colella [JC98].
//!
//! φ = r⁴ cos 3θ and Δφ = 7r² cos 3θ, on a flat grid of N cells across the unit box round the origin. **Curved surface**: φ
//! is given on r = 0.30 + 0.15 cos 6θ and sought inside. **Curved wall**: the slope of φ is given on the hole
//! r = 0.25 + 0.05 cos 6θ, φ on the sides of the box, and it is sought between. The equations are those of the
//! [block](crate::solver::mac::Block), scheme `area`: ghost fluid at the surface, open shares at the wall, pressures at the
//! centres even of cells that a wall cuts. The published scheme is not symmetric and more accurate near the boundary; ours
//! must be of second order as well and stay within known factors of its errors.

use super::{Effort, Figure};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::math::Vec3;
use crate::math::elementary::{atan2, cos, log, sin_cos};
use crate::mesh::AIR;
use crate::solver::mac::{Block, BlockField, BlockOptions, Equations, Place, Scheme};
use crate::solver::pressure;

/// Published greatest errors at the hole for 40, 80, 160 and 320 cells.
const PUBLISHED_WALL: [f64; 4] = [4.78e-5, 1.33e-5, 3.37e-6, 8.72e-7];

/// Orders and greatest errors at both boundaries. A few seconds, so that there is no shorter form.
pub fn curved_boundaries(_: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let cells = [40, 80, 160, 320];
    let errors = |with: fn(usize, &Cancel) -> Result<f64>| {
        cells.iter().map(|n| with(*n, cancel)).collect::<Result<Vec<f64>>>()
    };
    let (surface, wall) = (errors(surface_error)?, errors(wall_error)?);
    // From the two finest grids: on the coarsest an arm of the star is a few cells wide, and the greatest error half luck.
    // More than two is luck as well.
    let order = |e: &[f64]| (log(e[2] / e[3]) / std::f64::consts::LN_2).min(2.0);
    let mut figures = vec![
        Figure::new("curved-surface-order", order(&surface), 2.0, 0.2),
        Figure::new("curved-surface-320", surface[3], 0.0, 3e-6),
        Figure::new("curved-wall-order", order(&wall), 2.0, 0.2),
    ];
    for ((n, error), published) in cells.iter().zip(&wall).zip(PUBLISHED_WALL) {
        figures.push(Figure::new(format!("curved-wall-{n}"), *error, 0.0, 8.0 * published));
    }
    Ok(figures)
}

fn polar(x: &Vec3) -> (f64, f64) {
    (x.xy().norm(), atan2(x.y, x.x))
}

fn exact(x: &Vec3) -> f64 {
    let (r, angle) = polar(x);
    r.powi(4) * cos(3.0 * angle)
}

fn laplacian(x: &Vec3) -> f64 {
    let (r, angle) = polar(x);
    7.0 * r * r * cos(3.0 * angle)
}

/// ∇φ = r³ (4 cos 3θ e_r − 3 sin 3θ e_θ).
fn gradient(x: &Vec3) -> Vec3 {
    let (r, angle) = polar(x);
    let ((s3, c3), (s, c)) = (sin_cos(3.0 * angle), sin_cos(angle));
    let (out, round) = (4.0 * r.powi(3) * c3, -3.0 * r.powi(3) * s3);
    Vec3::new(out * c - round * s, out * s + round * c, 0.0)
}

/// A star with six arms, negative inside.
fn star(x: &Vec3, mean: f64, swing: f64) -> f64 {
    let (r, angle) = polar(x);
    r - mean - swing * cos(6.0 * angle)
}

const OPTIONS: BlockOptions =
    BlockOptions { scheme: Scheme::Area, dt: 1.0, tolerance: 1e-12, expansion: 0.0 };

/// A flat block over the unit box with `around` cells more on each side, of density one.
fn block(n: usize, around: usize) -> Result<Block> {
    let h = 1.0 / n as f64;
    let low = -0.5 - around as f64 * h;
    let mut block = Block::new([n + 2 * around, n + 2 * around, 1], Vec3::new(low, low, -0.5 * h), h)?;
    block.set(BlockField::Density, vec![1.0], "density")?;
    Ok(block)
}

/// The greatest error of the cells when φ is given on the free surface and `wall` adds what flows through walls, m³/s.
fn solve(
    block: &Block,
    source: impl Fn(usize, &Vec3) -> f64,
    wall: impl Fn(usize) -> f64,
    cancel: &Cancel,
) -> Result<f64> {
    let Equations { mut graph, numbers, places, .. } = block.equations(&OPTIONS)?;
    let centres = block.positions(Place::Centre)?;
    let rows: Vec<usize> = (0..numbers.len()).filter(|c| numbers[*c] != AIR).collect();
    for (row, cell) in rows.iter().enumerate() {
        // −Δp = source; what leaves through the wall counts as outflow.
        graph.source[row] = source(*cell, &centres[*cell]);
        graph.solid_outflow[row] = wall(*cell);
    }
    for (f, (axis, _, reversed)) in places.iter().enumerate().filter(|(f, _)| graph.far[*f] == AIR) {
        // The cut lies that far from the liquid's centre.
        let way = graph.length[f] * if *reversed { -1.0 } else { 1.0 };
        let centre = centres[rows[graph.near[f] as usize]];
        graph.surface_pressure[f] = exact(&(centre + Vec3::ith(*axis, way)));
    }
    let mut p = vec![0.0; graph.cells()];
    pressure::project(&mut graph, 1.0, &mut p, OPTIONS.tolerance, cancel)?;
    let error = |(cell, p): (&usize, &f64)| (p - exact(&centres[*cell])).abs();
    Ok(rows.iter().zip(&p).map(error).fold(0.0, f64::max))
}

fn surface_error(n: usize, cancel: &Cancel) -> Result<f64> {
    let mut block = block(n, 0)?;
    let liquid = block.positions(Place::Centre)?.iter().map(|x| star(x, 0.30, 0.15)).collect();
    block.set(BlockField::LiquidDistance, liquid, "liquid_distance")?;
    let volume = (n as f64).powi(-3);
    solve(&block, |_, x| -laplacian(x) * volume, |_| 0.0, cancel)
}

fn wall_error(n: usize, cancel: &Cancel) -> Result<f64> {
    // Air round the box gives φ on its sides, half a cell from the outermost centres.
    let mut block = block(n, 1)?;
    let h = 1.0 / n as f64;
    let centres = block.positions(Place::Centre)?;
    let nodes = block.positions(Place::Node)?;
    let liquid = centres.iter().map(|x| x.x.abs().max(x.y.abs()) - 0.5).collect();
    block.set(BlockField::LiquidDistance, liquid, "liquid_distance")?;
    let solid: Vec<f64> = nodes.iter().map(|x| star(x, 0.25, 0.05)).collect();
    block.set(BlockField::SolidDistance, solid.clone(), "solid_distance")?;
    let side = n + 2;
    let parts: Vec<Part> = (0..side * side)
        .map(|c| {
            let node = (c / side) * (side + 1) + c % side;
            let round = [node, node + 1, node + side + 2, node + side + 1];
            Part::cut(round.map(|m| (nodes[m], solid[m])))
        })
        .collect();
    let source = |cell: usize, _: &Vec3| -laplacian(&parts[cell].middle) * parts[cell].area * h;
    // Outflow through the wall is against the slope, which the source has to make good.
    let wall = |cell: usize| -gradient(&parts[cell].on_wall).dot(&parts[cell].wall) * h;
    solve(&block, source, wall, cancel)
}

/// The open part of a cell, cut by a straight wall.
#[derive(Default)]
struct Part {
    area: f64,
    middle: Vec3,
    /// Length of the wall times its normal into the solid, and its middle.
    wall: Vec3,
    on_wall: Vec3,
}

impl Part {
    /// From the corners of a cell in order, with their distances to the solid.
    fn cut(corners: [(Vec3, f64); 4]) -> Self {
        let (mut open, mut cuts) = (Vec::new(), Vec::new());
        for (i, (x, d)) in corners.iter().enumerate() {
            let (y, e) = &corners[(i + 1) % 4];
            if *d > 0.0 {
                open.push(*x);
            }
            if (*d > 0.0) != (*e > 0.0) {
                let cut = x + (y - x) * (d / (d - e));
                open.push(cut);
                cuts.push((cut, *d > 0.0));
            }
        }
        let Some(first) = open.first().copied() else { return Self::default() };
        let mut part = Self::default();
        for pair in open.windows(2) {
            let (a, b) = (pair[0] - first, pair[1] - first);
            let area = 0.5 * (a.x * b.y - a.y * b.x);
            part.area += area;
            part.middle += (first * 3.0 + a + b) * (area / 3.0);
        }
        part.middle /= part.area.max(f64::MIN_POSITIVE);
        if let [(a, a_leaves), (b, _)] = cuts[..] {
            // Anticlockwise round the open part the boundary goes from where it enters the solid to where it leaves it.
            let along = if a_leaves { b - a } else { a - b };
            part.wall = Vec3::new(along.y, -along.x, 0.0);
            part.on_wall = (a + b) * 0.5;
        }
        part
    }
}
