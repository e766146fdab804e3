//! Meshes of a scene that are handed over frame by frame.
//!
//! A host that steps through a shot knows its animated meshes only up to the frame to come, and sends
//! those samples before each step. What is found out from samples, such as whether a mesh only moved,
//! is found out from those of one frame. A scene that says `by_frame` asks for the same treatment of
//! its files, so that a shot exported by a host gives the bits that the host saw. Checked by
//! tests/moving_geometry.rs.

use super::world::{Loader, scaled};
use super::{GeometryOf, Simulation};
use crate::error::Result;
use crate::geometry::TriMesh;
use crate::scene::ShapeSpec;

/// The samples of one object.
pub(super) struct Feed {
    pub of: GeometryOf,
    pub name: String,
    /// Frames and meshes in metres; an empty mesh is an object that is not there.
    samples: Vec<(f64, TriMesh)>,
}

impl Feed {
    /// Every object of a scene that is fed by frame.
    pub fn all(loader: &Loader) -> Result<Vec<Feed>> {
        let scene = loader.scene;
        let colliders = scene.colliders.iter().map(|c| (GeometryOf::Collider, &c.name, &c.shape));
        let emitters = scene.emitters.iter().map(|e| (GeometryOf::Emitter, &e.name, &e.shape));
        let mut feeds = Vec::new();
        for (of, name, shape) in colliders.chain(emitters) {
            if let ShapeSpec::Samples { files, scale, by_frame: true, .. } = shape {
                let read = |(f, file): &(f64, String)| Ok((*f, read(loader, file, *scale)?));
                let samples = files.iter().map(read).collect::<Result<_>>()?;
                feeds.push(Feed { of, name: name.clone(), samples });
            }
        }
        Ok(feeds)
    }

    /// The samples from a frame to the next, and before them the one that holds when the frame begins.
    fn window(&self, frame: i64) -> Vec<(f64, TriMesh)> {
        let (from, to) = (frame as f64, (frame + 1) as f64);
        let first = self.samples.partition_point(|s| s.0 <= from).saturating_sub(1);
        let end = self.samples.partition_point(|s| s.0 <= to).max(first + 1);
        self.samples[first..end.min(self.samples.len())].to_vec()
    }
}

/// A mesh of the scene in metres; nothing for a file without a name.
pub(super) fn read(loader: &Loader, file: &str, scale: f64) -> Result<TriMesh> {
    if file.is_empty() { Ok(TriMesh::default()) } else { Ok(scaled((loader.meshes)(file)?, scale)) }
}

impl Simulation {
    /// Hand over the samples from a frame to the next.
    pub(super) fn feed(&mut self, frame: i64) -> Result<()> {
        self.hand_over(frame, usize::MAX)
    }

    /// Stand where a finished frame left the objects, to the last bit: at the end of the frame before, or as the
    /// scene began.
    pub(super) fn feed_end(&mut self, frame: i64) -> Result<()> {
        let start = self.scene.frames[0];
        if frame > start { self.hand_over(frame - 1, usize::MAX) } else { self.hand_over(start, 1) }
    }

    fn hand_over(&mut self, frame: i64, most: usize) -> Result<()> {
        for i in 0..self.feeds.len() {
            let mut samples = self.feeds[i].window(frame);
            samples.truncate(most);
            let (of, name) = (self.feeds[i].of, self.feeds[i].name.clone());
            self.put_geometry(of, &name, samples, frame as f64)?;
        }
        Ok(())
    }
}
