//! The liquid at the start.

use super::mesh::{Mesh, liquid_at_cells, octree, octree_domain, open_faces, touches};
use super::sizing::Wishes;
use super::{Bcc, BccOptions, State};
use crate::error::Result;
use crate::field::{Particles, Solids};
use crate::math::{Aabb, Vec3};
use crate::simulation::mac::InitialVolume;
use crate::solver::bcc::LatticeValues;
use crate::surface::{ParticleLevelSet, SurfaceTracker, TiledLevelSet};
use rayon::prelude::*;
use std::sync::Arc;

impl Bcc {
    /// A simulator with the given volumes of liquid.
    pub fn new(
        options: BccOptions,
        solids: &Solids,
        volumes: &[InitialVolume],
        emitters: usize,
    ) -> Result<Self> {
        let domain = octree_domain(
            f64::from(options.cube) * options.cell,
            options.depth,
            &options.domain,
            options.open,
        );
        let nearest = |x: &Vec3| volumes.iter().map(|v| (v.distance)(x)).fold(1e3 * options.cell, f64::min);
        let regions: Vec<Aabb> = volumes.iter().map(|v| v.bounds).collect();
        let surface = TiledLevelSet::filled(options.cell, domain.origin, solids, &regions, &nearest)?;
        let wishes = Wishes::new(&options.sizing, options.cell)?;
        let mesh = Mesh::new(octree(&domain, &surface, solids, &wishes, None)?)?;
        let (open, solid) = open_faces(&mesh.lattice, solids)?;
        let liquid = liquid_at_cells(&mesh.lattice, (&open, &solid), &surface, solids);
        let velocity = |x: &Vec3| {
            let inside = volumes.iter().min_by(|a, b| (a.distance)(x).total_cmp(&(b.distance)(x)));
            inside.map_or(Vec3::zeros(), |v| (v.velocity)(x))
        };
        let [volume, _] = surface.measure();
        let surface = ParticleLevelSet::new(surface, options.markers);
        let mut bcc = Self {
            options,
            octree: domain,
            wishes,
            peels: solids.walls().any(|w| w.peel),
            now: State::default(),
            next: State::default(),
            carried: Vec::new(),
            particles: Particles::default(),
        };
        bcc.now = moving_at(mesh, surface, liquid, &velocity)?;
        (bcc.now.open, bcc.now.solid) = (Arc::new(open), Arc::new(solid));
        bcc.now.mix = match &bcc.now.mesh {
            Some(mesh) => bcc.first_mix(mesh, volumes)?,
            None => Vec::new(),
        };
        bcc.now.emitted = vec![0.0; emitters];
        (bcc.now.volume, bcc.now.expected) = (volume, volume);
        Ok(bcc)
    }
}

/// A state in which the liquid has the given velocity.
fn moving_at(
    mesh: Mesh,
    surface: ParticleLevelSet,
    liquid: Vec<f64>,
    velocity: &(dyn Fn(&Vec3) -> Vec3 + Sync),
) -> Result<State> {
    let lattice = &mesh.lattice;
    let band = surface.set.band();
    let at =
        |c: u32| if liquid[c as usize] < band { velocity(&lattice.circumcentre(c)) } else { Vec3::zeros() };
    let at_cells: Vec<Vec3> = (0..lattice.cells() as u32).map(at).collect();
    let wet = |c: u32| liquid[c as usize] < 0.0;
    let known: Vec<bool> =
        (0..lattice.faces.cells.len()).into_par_iter().map(|f| touches(lattice, f, wet)).collect();
    let along = |f: usize| {
        if known[f] {
            velocity(&lattice.face_crossing(f)).dot(&lattice.dual_edge(f).normalize())
        } else {
            0.0
        }
    };
    let faces: Vec<f64> = (0..known.len()).map(along).collect();
    let speeds = at_cells.iter().zip(&liquid).filter(|(_, d)| **d < 0.0).map(|(v, _)| v.norm());
    let fastest = speeds.fold(0.0, f64::max);
    let values = LatticeValues::new(lattice, &mesh.edges, at_cells)?;
    let pressure = vec![0.0; lattice.cells()];
    Ok(State {
        surface,
        mesh: Some(Arc::new(mesh)),
        velocity: faces,
        known,
        values,
        pressure,
        liquid,
        fastest,
        ..State::default()
    })
}
