//! Several liquids: how much of each is where, carried along with the flow.
//!
//! The share of every liquid sits at circumcentres, three liquids to a vector, and is read where a cell came from
//! like velocity is. Reading between cells blurs; what a step blurs is sharpened again by
//!
//! ```text
//!     s_i ← (1 − b) s_i + b s_i²/Σ s_j² ,        b = ½ min(1, |Δt u|/h)
//! ```
//!
//! which leaves whole shares and halves alone, so the border between two liquids stays where it is and a cell or two
//! wide. Shares are no ledger of volume; they only say which viscosity is where. Mixed liquids have the mean of the
//! logarithms of their viscosities, as on the grid.

use super::mesh::Mesh;
use super::thick::source_liquid;
use super::{Bcc, EXTENDED};
use crate::error::Result;
use crate::math::{Vec3, elementary};
use crate::simulation::liquid::Step;
use crate::simulation::mac::InitialVolume;
use crate::solver::bcc::{LatticeValues, LatticeVelocity, extend};
use rayon::prelude::*;

/// Liquids to a vector.
const GROUP: usize = 3;
/// Thinner liquids mix as if they had this viscosity, Pa·s: the mean of logarithms has no zero.
const THINNEST: f64 = 1e-4;

/// The shares where there is nothing but one liquid, vector by vector.
fn whole(liquid: usize, groups: usize) -> Vec<Vec3> {
    let one = |g: usize| if liquid / GROUP == g { Vec3::ith(liquid % GROUP, 1.0) } else { Vec3::zeros() };
    (0..groups).map(one).collect()
}

/// A list of shares for each cell as one field for each vector.
fn fields(mesh: &Mesh, cells: Vec<Vec<Vec3>>, groups: usize) -> Result<Vec<LatticeValues>> {
    let field = |g: usize| {
        let at_cells = cells.par_iter().map(|c| c[g]).collect();
        LatticeValues::new(&mesh.lattice, &mesh.edges, at_cells)
    };
    (0..groups).map(field).collect()
}

impl Bcc {
    fn groups(&self) -> usize {
        if self.options.liquids < 2 { 0 } else { self.options.liquids.div_ceil(GROUP) }
    }

    /// The shares at the start: each cell has the liquid of the nearest volume.
    pub(super) fn first_mix(&self, mesh: &Mesh, volumes: &[InitialVolume]) -> Result<Vec<LatticeValues>> {
        let groups = self.groups();
        if groups == 0 {
            return Ok(Vec::new());
        }
        let one = |c: usize| {
            let x = mesh.lattice.circumcentre(c as u32);
            let nearest = volumes.iter().min_by(|a, b| (a.distance)(&x).total_cmp(&(b.distance)(&x)));
            whole(nearest.map_or(0, |v| v.liquid as usize), groups)
        };
        fields(mesh, (0..mesh.lattice.cells()).into_par_iter().map(one).collect(), groups)
    }

    /// Shares that were saved, for a mesh.
    pub(super) fn saved_mix(&self, mesh: &Mesh, saved: Vec<Vec<Vec3>>) -> Result<Vec<LatticeValues>> {
        saved.into_iter().map(|at| LatticeValues::new(&mesh.lattice, &mesh.edges, at)).collect()
    }

    /// Carry the shares from the old lattice to the new one.
    pub(super) fn carry_mix(&mut self, step: &Step) -> Result<()> {
        let groups = self.groups();
        if groups == 0 {
            return Ok(());
        }
        let (old, new) = (self.now.mesh()?, self.next.mesh()?.clone());
        let flow = Self::carried_by(&self.now, old);
        let mixes: Vec<LatticeVelocity> =
            self.now.mix.iter().map(|m| LatticeVelocity::of(&old.lattice, &old.edges, m)).collect();
        let (lattice, h) = (&new.lattice, self.options.cell);
        let one = |c: usize| {
            let x = lattice.circumcentre(c as u32);
            if self.next.liquid[c] >= 0.0 {
                return None;
            }
            if let Some(liquid) = source_liquid(step, &x) {
                return Some(whole(liquid, groups));
            }
            let from = flow.trace(&x, -step.dt);
            let read = mixes.iter().map(|m| m.sample(&from)).collect();
            Some(sharpened(read, 0.5 * ((from - x).norm() / h).min(1.0)))
        };
        let carried: Vec<Option<Vec<Vec3>>> = (0..lattice.cells()).into_par_iter().map(one).collect();
        let mut mix = Vec::with_capacity(groups);
        for g in 0..groups {
            let mut values: Vec<Option<Vec3>> =
                carried.par_iter().map(|c| c.as_ref().map(|shares| shares[g])).collect();
            extend(lattice, &mut values, EXTENDED);
            let far = whole(0, groups)[g];
            let at_cells = values.into_iter().map(|s| s.unwrap_or(far)).collect();
            mix.push(LatticeValues::new(lattice, &new.edges, at_cells)?);
        }
        self.next.mix = mix;
        Ok(())
    }

    /// The viscosity of each tet of the new lattice, Pa·s.
    pub(super) fn tet_viscosity(&self, viscosity: &[f64], mesh: &Mesh) -> Vec<f64> {
        let tets = &mesh.lattice.tets;
        if self.next.mix.is_empty() {
            let thickest = viscosity.iter().fold(0.0f64, |m, v| m.max(*v));
            return vec![thickest; tets.vertices.len()];
        }
        let logarithm: Vec<f64> = viscosity.iter().map(|v| elementary::log(v.max(THINNEST))).collect();
        let of_cell = |c: usize| {
            let (mut sum, mut total) = (0.0, 0.0);
            for (i, log) in logarithm.iter().enumerate() {
                let share = self.next.mix[i / GROUP].at_cells[c][i % GROUP];
                (sum, total) = (sum + share * log, total + share);
            }
            if total > 0.0 { elementary::exp(sum / total) } else { 0.0 }
        };
        let cells: Vec<f64> = (0..mesh.lattice.cells()).into_par_iter().map(of_cell).collect();
        tets.cell.par_iter().map(|&c| cells[c as usize]).collect()
    }
}

/// Shares that add up to one again, and less blurred.
fn sharpened(mut shares: Vec<Vec3>, by: f64) -> Vec<Vec3> {
    shares.iter_mut().for_each(|s| *s = s.map(|x| x.max(0.0)));
    let sum = shares.iter().map(|s| s.sum()).sum::<f64>();
    if sum <= 0.0 {
        return whole(0, shares.len());
    }
    shares.iter_mut().for_each(|s| *s /= sum);
    let squares = shares.iter().map(|s| s.norm_squared()).sum::<f64>();
    shares.iter_mut().for_each(|s| *s = s.map(|x| (1.0 - by) * x + by * x * x / squares));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_or_half_stays_and_the_rest_grows_sharper() {
        assert_eq!(sharpened(vec![Vec3::new(0.0, 1.0, 0.0)], 0.5), vec![Vec3::new(0.0, 1.0, 0.0)]);
        let half = sharpened(vec![Vec3::new(0.5, 0.0, 0.5)], 0.5)[0];
        assert!((half - Vec3::new(0.5, 0.0, 0.5)).norm() < 1e-15);
        let more = sharpened(vec![Vec3::new(0.8, 0.2, 0.0), Vec3::zeros()], 0.5);
        assert!(more[0].x > 0.8 && (more[0].sum() - 1.0).abs() < 1e-15);
        assert_eq!(whole(4, 2)[1], Vec3::new(0.0, 1.0, 0.0));
    }
}
