//! The fields of the lattice at the cells of the tiles that carry the surface, for files.
//!
//! Pressure is that of the lattice cell that holds a centre; velocity is interpolated at the middle of each face.

use super::Bcc;
use crate::error::Result;
use crate::math::Vec3;
use crate::math::elementary::cbrt;
use crate::simulation::liquid::Moments;
use crate::simulation::volumes::VolumesView;
use rayon::prelude::*;

impl Bcc {
    /// Of the lattice cells; one that the surface runs through counts by the place of its centre.
    pub(super) fn sums(&self) -> Moments {
        let Some(mesh) = &self.now.mesh else { return Moments::default() };
        let volumes = mesh.lattice.cell_volumes();
        let share = |c: usize| (0.5 - self.now.liquid[c] / cbrt(volumes[c])).clamp(0.0, 1.0);
        let known = self.now.liquid.len().min(self.now.values.at_cells.len());
        Moments::of(known, |c| {
            (share(c) * volumes[c], mesh.lattice.circumcentre(c as u32), self.now.values.at_cells[c])
        })
    }

    pub(super) fn view(&self, viscosity: &[f64]) -> Result<VolumesView<'_>> {
        let set = &self.now.surface.set;
        let (tiles, mesh) = (&set.tiles, self.now.mesh()?);
        let lattice = &mesh.lattice;
        let places = || (0..tiles.cells()).into_par_iter();
        let at_centre = |place: usize| {
            let x = lattice.octree().domain().clamp(&tiles.centre(tiles.cell(place)));
            self.now.pressure[lattice.tets.cell[lattice.locate(&x)] as usize]
        };
        let velocity = Self::carried_by(&self.now, mesh);
        let on_face = |axis: usize, place: usize| {
            let mut x: Vec3 = tiles.centre(tiles.cell(place));
            x[axis] -= 0.5 * tiles.h();
            velocity.sample(&x)[axis]
        };
        let thickest = viscosity.iter().fold(0.0f64, |m, v| m.max(*v));
        Ok(VolumesView {
            tiles,
            liquid: (&set.phi).into(),
            solid: (&set.solid).into(),
            pressure: places().map(at_centre).collect::<Vec<_>>().into(),
            velocity: std::array::from_fn(|axis| {
                places().map(|place| on_face(axis, place)).collect::<Vec<_>>().into()
            }),
            viscosity: if thickest > 0.0 { tiles.field(thickest) } else { Vec::new() },
        })
    }
}
