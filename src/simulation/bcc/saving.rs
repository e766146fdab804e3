//! The state of the simulator as named arrays.
//!
//! The octree is saved as its refined cells; the lattice, what solids close of it and the liquid's distance on it
//! follow. Velocities at circumcentres are saved, since they depend on how solids moved.

use super::mesh::{Mesh, liquid_at_cells, open_faces};
use super::{Bcc, State};
use crate::error::{Error, Result};
use crate::field::Solids;
use crate::mesh::bcc::Octree;
use crate::simulation::state::{Reader, Writer};
use crate::solver::bcc::LatticeValues;
use crate::surface::{Marker, ParticleLevelSet, TiledLevelSet};
use std::collections::HashSet;
use std::sync::Arc;

impl Bcc {
    pub(super) fn write(&self, out: &mut Writer) {
        let State {
            surface,
            mesh,
            velocity,
            known,
            values,
            pressure,
            off,
            mix,
            volume,
            expected,
            emitted,
            fastest,
            ..
        } = &self.now;
        let refined = mesh.as_ref().map(|m| m.lattice.octree().refined_cells()).unwrap_or_default();
        let refined: Vec<i32> = refined.iter().flatten().map(|v| *v as i32).collect();
        let known: Vec<i32> = known.iter().map(|k| *k as i32).collect();
        out.f64s("volumes", &[*volume, *expected, *fastest]);
        out.f64s("emitted", emitted);
        out.i32s("tiles", &surface.set.tiles.coords().concat());
        out.f64s("surface", &surface.set.phi);
        let markers = &surface.markers;
        out.vectors("markers", &markers.iter().map(|m| m.x).collect::<Vec<_>>());
        out.f64s("marker radius", &markers.iter().map(|m| m.radius).collect::<Vec<_>>());
        out.u64s("moment", &[surface.moment]);
        out.i32s("refined", &refined);
        out.f64s("face velocity", velocity);
        out.i32s("known faces", &known);
        out.vectors("velocity", &values.at_cells);
        out.f64s("pressure", pressure);
        if self.peels {
            out.i32s("cells off walls", &off.iter().map(|c| *c as i32).collect::<Vec<_>>());
        }
        mix.iter().enumerate().for_each(|(g, m)| out.vectors(&format!("shares {g}"), &m.at_cells));
    }

    pub(super) fn read(&mut self, from: &mut Reader, solids: &Solids) -> Result<()> {
        let volumes = from.f64s("volumes")?;
        let volumes = from.expect("volumes", volumes, 3)?;
        let volumes = from.finite("volumes", volumes)?;
        let emitted = from.f64s("emitted")?;
        let emitted = from.expect("emitted", emitted, self.now.emitted.len())?;
        let emitted = from.finite("emitted", emitted)?;
        let coords = from.tiles("tiles")?;
        let phi = from.f64s("surface")?;
        let phi = from.expect("surface", phi, coords.len() * 512)?;
        let set = TiledLevelSet::from_parts(self.options.cell, self.octree.origin, coords, phi, solids);
        let at = from.vectors("markers")?;
        let at = from.finite_points("markers", at)?;
        let near = self.options.domain.grow(self.options.domain.size().max());
        if !at.iter().all(|x| near.contains(x)) {
            return Err(Error::invalid("saved state", "a marker lies far outside the domain"));
        }
        let radius = from.f64s("marker radius")?;
        let radius = from.expect("marker radius", radius, at.len())?;
        let radius = from.finite("marker radius", radius)?;
        let markers = at.into_iter().zip(radius).map(|(x, radius)| Marker { x, radius }).collect();
        let [moment] = from.counters("moment")?;
        let surface = ParticleLevelSet { set, markers, per_cell: self.options.markers, moment };
        let refined: HashSet<[u32; 4]> =
            from.i32s("refined")?.chunks_exact(4).map(|c| [0, 1, 2, 3].map(|i| c[i] as u32)).collect();
        let wants = |c: &crate::mesh::bcc::OctreeCell| {
            refined.contains(&[c.level as u32, c.index[0], c.index[1], c.index[2]])
        };
        let mesh = Mesh::new(Octree::new(self.octree, wants)?)?;
        let (cells, faces) = (mesh.lattice.cells(), mesh.lattice.faces.cells.len());
        let velocity = from.f64s("face velocity")?;
        let velocity = from.expect("face velocity", velocity, faces)?;
        let known = from.i32s("known faces")?;
        let known = from.expect("known faces", known, faces)?.into_iter().map(|k| k != 0).collect();
        let at_cells = from.vectors("velocity")?;
        let at_cells = from.expect("velocity", at_cells, cells)?;
        let pressure = from.f64s("pressure")?;
        let pressure = from.expect("pressure", pressure, cells)?;
        let off = if self.peels { read_off(from, cells)? } else { Vec::new() };
        let mut saved = Vec::new();
        for g in 0..self.now.mix.len() {
            let name = format!("shares {g}");
            let shares = from.vectors(&name)?;
            saved.push(from.expect(&name, shares, cells)?);
        }
        let mix = self.saved_mix(&mesh, saved)?;
        let values = LatticeValues::new(&mesh.lattice, &mesh.edges, at_cells)?;
        let (open, solid) = open_faces(&mesh.lattice, solids)?;
        let liquid = liquid_at_cells(&mesh.lattice, (&open, &solid), &surface.set, solids);
        let [volume, expected, fastest] = [volumes[0], volumes[1], volumes[2]];
        self.now = State {
            surface,
            mesh: Some(Arc::new(mesh)),
            from: Vec::new(),
            open: Arc::new(open),
            solid: Arc::new(solid),
            velocity,
            known,
            held: Vec::new(),
            values,
            pressure,
            off,
            mix,
            liquid,
            volume,
            expected,
            emitted,
            fastest,
        };
        Ok(())
    }
}

/// Cells that were off their walls: numbers of cells, ascending.
fn read_off(from: &mut Reader, cells: usize) -> Result<Vec<u32>> {
    let off = from.i32s("cells off walls")?;
    if off.iter().any(|c| *c < 0 || *c as usize >= cells) || !off.is_sorted() {
        return Err(Error::invalid("saved state", "a cell off its wall is not one of the lattice"));
    }
    Ok(off.into_iter().map(|c| c as u32).collect())
}
