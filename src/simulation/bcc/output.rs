//! The surface for pictures: the tracker's zero set, each vertex with its velocity.

use super::Bcc;
use crate::error::Result;
use crate::geometry::{Attribute, TriMesh};
use crate::surface::SurfaceTracker;

impl Bcc {
    pub(super) fn build_surface(&self, overlap: f64) -> Result<TriMesh> {
        let mut mesh = self.now.surface.triangulate(overlap)?;
        let lattice = self.now.mesh()?;
        let velocity = Self::carried_by(&self.now, lattice).sample_all(&mesh.positions);
        let data = velocity.iter().flat_map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect();
        mesh.attributes = vec![Attribute { name: "velocity".into(), width: 3, data }];
        Ok(mesh)
    }
}
