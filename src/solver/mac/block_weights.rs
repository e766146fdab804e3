//! The weights of a dense block: what share of its cells and faces is liquid, and what is open.
//!
//! Scheme `area` [NMG09], [GFCK02]: a cell is liquid if its centre is; a face is open by its area; towards
//! air the pressure drops over the share θ = φ_a/(φ_a − φ_b) of the way.
//!
//! Scheme `volume`, the variational form of [BBB07] with free surfaces: with W_L the share of liquid,
//! ignoring solids, and W_F the share that is not solid, ignoring the surface, of the cube round a cell
//! (p) or a face (u), the velocity is the one nearest to u* in kinetic energy that keeps the volume:
//!
//! ```text
//!     max_p min_u  ½ (u − u*)ᵀ ρ W_Lᵘ W_Fᵘ (u − u*) + Δt uᵀ W_Fᵘ G W_Lᵖ p
//!     u = u* − Δt/ρ (W_Lᵘ)⁻¹ G q,        q = W_Lᵖ p,        Gᵀ W_Fᵘ u + solids = 0
//! ```
//!
//! In q this is a face graph again: open area h² W_Fᵘ, pressure dropping over h W_Lᵘ, q = 0 in cells
//! without liquid. A face whose cube holds no liquid has no mass and holds q = 0 beside it; the bound
//! [`LEAST`] stands for that. A solid that moves with v pushes div(W_Sᵘ v) − W_Sᵖ div v into a cell. A
//! pressure p_s of the surface leaves u = u* − Δt/ρ [(W_Lᵘ)⁻¹ G q + G p_s] with q = W_Lᵖ (p − p_s).
//! Still water is exact if gravity goes along an axis, as [`fraction::cube`] is exact for planes.

use super::block::{Block, Place, filled};
use super::pressure::LEAST_THETA;
use crate::error::Result;
use crate::geometry::fraction;

/// Shares of liquid below this count as none, and lengths are at least this share of a cell.
const LEAST: f64 = 1e-9;

/// Shares of cells and faces.
pub(super) struct Weights {
    /// Share of each cell that is liquid; 0 in air.
    pub liquid: Vec<f64>,
    /// Share of each cell that is solid, where that matters for moving solids.
    pub solid: Vec<f64>,
    /// Share of each face that is open; 0 on the border.
    pub open: [Vec<f64>; 3],
    /// Share of a cell's width over which pressure drops across each face.
    pub length: [Vec<f64>; 3],
}

impl Weights {
    fn new(block: &Block) -> Result<Self> {
        let cells = block.count(Place::Centre);
        let mut open: [Vec<f64>; 3] = Default::default();
        let mut length: [Vec<f64>; 3] = Default::default();
        for axis in 0..block.axes() {
            open[axis] = filled(block.count(Place::Face(axis)), 0.0)?;
            length[axis] = filled(block.count(Place::Face(axis)), 1.0)?;
        }
        Ok(Self { liquid: filled(cells, 0.0)?, solid: filled(cells, 0.0)?, open, length })
    }

    /// Scheme `area`.
    pub fn area(block: &Block) -> Result<Self> {
        let mut weights = Self::new(block)?;
        weights.liquid.iter_mut().zip(&block.liquid).for_each(|(w, phi)| *w = (*phi < 0.0) as u8 as f64);
        for axis in 0..block.axes() {
            block.each(Place::Face(axis), |at| {
                let face = block.at(Place::Face(axis), at);
                if block.is_border(axis, at) {
                    return;
                }
                weights.open[axis][face] = open_area(block, axis, at);
                let mut below = at;
                below[axis] -= 1;
                let phi = [below, at].map(|c| block.liquid[block.at(Place::Centre, c)]);
                let (near, far) = if phi[0] < phi[1] { (phi[0], phi[1]) } else { (phi[1], phi[0]) };
                if near < 0.0 && far >= 0.0 {
                    weights.length[axis][face] = (near / (near - far)).max(LEAST_THETA);
                }
            });
        }
        Ok(weights)
    }

    /// Scheme `volume`.
    pub fn volume(block: &Block) -> Result<Self> {
        let mut weights = Self::new(block)?;
        block.each(Place::Centre, |at| {
            let cell = block.at(Place::Centre, at);
            let middle = at.map(|i| 2 * i + 1);
            let share = liquid_share(block, middle);
            weights.liquid[cell] = if share < LEAST { 0.0 } else { share };
            weights.solid[cell] = solid_share(block, middle);
        });
        for axis in 0..block.axes() {
            block.each(Place::Face(axis), |at| {
                if block.is_border(axis, at) {
                    return;
                }
                let face = block.at(Place::Face(axis), at);
                let mut middle = at.map(|i| 2 * i + 1);
                middle[axis] -= 1;
                weights.open[axis][face] = 1.0 - solid_share(block, middle);
                weights.length[axis][face] = liquid_share(block, middle).max(LEAST);
            });
        }
        Ok(weights)
    }
}

/// Share of the area of a face that is not solid.
fn open_area(block: &Block, axis: usize, at: [usize; 3]) -> f64 {
    if block.solid.is_empty() {
        return 1.0;
    }
    let node = |d: [usize; 3]| block.solid[block.at(Place::Node, [at[0] + d[0], at[1] + d[1], at[2] + d[2]])];
    let unit = |a: usize| -> [usize; 3] { std::array::from_fn(|b| (a == b) as usize) };
    if block.axes() == 2 {
        return 1.0 - fraction::segment([node([0; 3]), node(unit(1 - axis))]);
    }
    let (ua, ub) = (unit((axis + 1) % 3), unit((axis + 2) % 3));
    let both = std::array::from_fn(|c| ua[c] + ub[c]);
    1.0 - fraction::rectangle([node([0; 3]), node(ua), node(ub), node(both)])
}

/// Share of liquid in the cube of one cell's size round a point, given in half cells.
fn liquid_share(block: &Block, middle: [usize; 3]) -> f64 {
    fraction::cube(corners(block.axes(), middle, |g| between_centres(block, g)))
}

/// Share of solid in such a cube.
fn solid_share(block: &Block, middle: [usize; 3]) -> f64 {
    if block.solid.is_empty() {
        return 0.0;
    }
    fraction::cube(corners(block.axes(), middle, |g| between_nodes(block, g)))
}

/// A distance at the corners of the cube round a point, in half cells. A flat block has one layer.
fn corners(axes: usize, middle: [usize; 3], distance: impl Fn([i64; 3]) -> f64) -> [f64; 8] {
    std::array::from_fn(|c| {
        distance(std::array::from_fn(|a| {
            let side = if c >> a & 1 == 1 { 1 } else { -1 };
            middle[a] as i64 + if a < axes { side } else { 0 }
        }))
    })
}

/// The liquid's distance at a point in half cells: means of the centres beside it, continued in straight
/// lines beyond the border.
fn between_centres(block: &Block, g: [i64; 3]) -> f64 {
    let parts = [0, 1, 2].map(|a| {
        let n = block.cells[a] as i64;
        // The centre of cell i is at 2i + 1; the lower one of two, and how far towards the upper.
        let low = (g[a] - 1).div_euclid(2).clamp(0, (n - 2).max(0));
        let t = (g[a] - 1 - 2 * low) as f64 * 0.5;
        (low as usize, if n == 1 { 0.0 } else { t })
    });
    blend(parts, |at| block.liquid[block.at(Place::Centre, at)])
}

/// The solid's distance at a point in half cells: means of the nodes beside it.
fn between_nodes(block: &Block, g: [i64; 3]) -> f64 {
    let parts = [0, 1, 2].map(|a| {
        let n = block.extent(Place::Node)[a] as i64;
        let low = g[a].div_euclid(2).clamp(0, (n - 2).max(0));
        (low as usize, if n == 1 { 0.0 } else { (g[a] - 2 * low) as f64 * 0.5 })
    });
    blend(parts, |at| block.solid[block.at(Place::Node, at)])
}

/// Interpolate along each axis between a place and the next; a share of 0 does not look at the next.
fn blend(parts: [(usize, f64); 3], value: impl Fn([usize; 3]) -> f64) -> f64 {
    let mut sum = 0.0;
    for c in 0..8 {
        let share = |a: usize| if c >> a & 1 == 1 { parts[a].1 } else { 1.0 - parts[a].1 };
        let weight = share(0) * share(1) * share(2);
        if weight != 0.0 {
            sum += weight * value(std::array::from_fn(|a| parts[a].0 + (c >> a & 1)));
        }
    }
    sum
}
