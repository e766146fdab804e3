//! How big a scene will be, from its description alone: before anything is allocated.
//!
//! What a process holds at its peak was measured on the example scenes, run to their end, and is, to a fifth,
//!
//! ```text
//!     mac   20 MB + 800 bytes a cell of a tile + 420 bytes a particle + 2,600 bytes a cell of thick liquid
//!     bcc   32 MB + 6,000 bytes a finest cell of liquid + 100 bytes a finest cell of the domain
//! ```
//!
//! and 600 bytes a triangle of a mesh, half a megabyte a solid and a megabyte a body, whose surfaces are kept as triangles too.
//! Of the 800 bytes of a cell some 350 are in use at any time: two states of 108 each, a velocity, what is known of faces, the
//! right-hand side and the levels of the solve. The rest is what the allocator keeps: arrays come and go in every substep and
//! are of another size in the next, because tiles come and go, so that what was given back fits nothing.
//!
//! Tiles of 8³ cells lie where liquid is and at least three cells round it. L cells of liquid are, once poured, a body, sheets and a
//! thread at the same time:
//!
//! ```text
//!     6 L + 160 L^⅔        a body that sways: its cells, and a skin of tiles
//!     17 L                 sheets of one cell's thickness, 9 with what is round them: ⁹⁄₈ + 1 tiles across, 512 cells each
//!     280 H                a thread from the top of the domain to its floor, H ≤ L cells: (⁹⁄₈ + 1)² tiles every 8 cells
//! ```
//!
//! and never more than the domain has, nor than surrounds a container of V cells, 1.3 (V^⅓ + 18)³: nine cells on each side of a
//! cube, three and two that liquid travels and the half of a tile, and a third more for a body that is no cube. The estimate is a tenth above this, so that it is not
//! below the peak. docs/reliability.md has the table.
//!
//! L is counted by points of a lattice that lie in the liquid's own shape, in the domain and in every container.
//! What an emitter without a rate will have given is bounded by what can cross the sides of its box B,
//!
//! ```text
//!     ∫ Σₐ √((|vₐ| + |uₐ|)² + 2 |gₐ| Bₐ) · B_b B_c dt,        u the speed at which it is moved
//! ```
//!
//! since liquid falls through it and what has left is made up for.

use super::report::Estimate;
use super::{FieldFiles, MeshSource, Settings};
use crate::error::{Error, Result};
use crate::geometry::{Bvh, TriMesh, Winding};
use crate::grid::SIDE;
use crate::math::{Aabb, Pose, Vec3};
use crate::scene::{Attributes, Emitter, FieldKind, Liquid, Scene, ShapeSpec, SimulatorType, Transform};

/// Bytes of a process that simulates next to nothing.
const BASE: f64 = 20e6;
const BASE_OF_LATTICE: f64 = 32e6;
const BYTES_A_TILE_CELL: f64 = 800.0;
const BYTES_A_PARTICLE: f64 = 420.0;
const BYTES_A_THICK_CELL: f64 = 2600.0;
const BYTES_A_LATTICE_CELL: f64 = 6000.0;
const BYTES_A_DOMAIN_CELL: f64 = 100.0;
const BYTES_A_TRIANGLE: f64 = 600.0;
const BYTES_A_SOLID: f64 = 0.5e6;
const BYTES_A_BODY: f64 = 1e6;
const ABOVE: f64 = 1.1;
/// Cells beyond the domain that tiles may reach on both sides together.
const MARGIN: f64 = 6.0;
/// Bytes of the surface file a liquid cell.
const DISK_BYTES_A_CELL: f64 = 60.0;
/// Pa·s from which on viscosity is solved for.
const THICK: f64 = 1e-2;
/// Points of the lattice that measures a region, on a side.
const POINTS: usize = 32;
/// The most frames at which an emitter is looked at.
const LOOKS: i64 = 1000;

/// What is known of the meshes of a scene.
#[derive(Clone, Copy)]
pub(super) enum Meshes<'a> {
    /// Nothing; liquid in them does not count, so that what is refused cannot work whatever they are.
    Least,
    /// Nothing; liquid in them may fill the domain.
    Most,
    Read(&'a MeshSource<'a>),
}

pub(super) fn estimate(scene: &Scene, meshes: Meshes) -> Result<Estimate> {
    let cell = scene.cell();
    let sides =
        scene.domain.as_ref().map(|d| [0, 1, 2].map(|a| ((d.max[a] - d.min[a]) / cell).ceil().max(1.0)));
    let domain = sides.map_or(f64::INFINITY, |n| n.iter().product());
    let look = Look { scene, meshes };
    let liquid = (look.liquid()? / cell.powi(3)).min(domain);
    let particles = liquid * scene.simulator.particles_per_cell as f64;
    let bytes = match scene.simulator.kind {
        SimulatorType::Bcc if domain.is_finite() => {
            BASE_OF_LATTICE + BYTES_A_LATTICE_CELL * liquid + BYTES_A_DOMAIN_CELL * domain
        }
        SimulatorType::Bcc => BASE_OF_LATTICE + BYTES_A_LATTICE_CELL * liquid,
        SimulatorType::Mac => {
            let matrix = if look.is_thick()? { BYTES_A_THICK_CELL * liquid } else { 0.0 };
            let tiles = tile_cells(liquid, sides, look.contained(cell)?);
            BASE + BYTES_A_TILE_CELL * tiles + BYTES_A_PARTICLE * particles + matrix
        }
    };
    let solids = BYTES_A_SOLID * scene.colliders.len() as f64 + BYTES_A_BODY * scene.bodies.len() as f64;
    let bytes = bytes + solids + BYTES_A_TRIANGLE * look.triangles()?;
    Ok(Estimate {
        domain_cells: if domain.is_finite() { domain as u64 } else { 0 },
        liquid_cells: liquid.round() as u64,
        particles: particles as u64,
        memory_bytes: (ABOVE * bytes) as u64,
        disk_bytes_per_frame: (liquid * DISK_BYTES_A_CELL) as u64,
    })
}

/// Refuse a scene that needs more than is allowed.
pub(super) fn check(scene: &Scene, settings: &Settings, meshes: Meshes) -> Result<()> {
    let needed = estimate(scene, meshes)?.memory_bytes + field_bytes(&settings.fields);
    // Without a limit, refuse only what no machine has: it would not fail but never end.
    let limit = settings.memory_limit.unwrap_or(1 << 42);
    if needed > limit { Err(out_of_memory("the scene", needed, limit)) } else { Ok(()) }
}

/// Fields as they were read, and in metres.
pub(super) fn field_bytes(fields: &FieldFiles) -> u64 {
    2 * fields.values().map(|f| f.bytes() as u64).sum::<u64>()
}

/// An error if the system would not give this many bytes. Nothing is touched, and all is given back at once.
pub(super) fn ask(what: &str, bytes: u64) -> Result<()> {
    let mut room: Vec<u8> = Vec::new();
    let given = usize::try_from(bytes).is_ok_and(|n| room.try_reserve_exact(n).is_ok());
    if given { Ok(()) } else { Err(out_of_memory(what, bytes, 0)) }
}

pub(super) fn out_of_memory(what: &str, needed: u64, limit: u64) -> Error {
    Error::Memory {
        what: what.to_string(),
        needed_mb: needed >> 20,
        limit_mb: limit >> 20,
        fix: match limit {
            0 => "the system gives no more; use larger cells or end other programs".to_string(),
            _ => "use larger cells or raise the limit".to_string(),
        },
    }
}

/// The inside of a shape, placed in the world.
struct Region {
    inside: Box<dyn Fn(&Vec3) -> bool>,
    bounds: Aabb,
}

struct Look<'a> {
    scene: &'a Scene,
    meshes: Meshes<'a>,
}

impl Look<'_> {
    /// Cells of the containers that liquid cannot leave; infinite without one.
    fn contained(&self, cell: f64) -> Result<f64> {
        let first = self.scene.frames[0] as f64;
        let mut least = f64::INFINITY;
        for c in self.scene.colliders.iter().filter(|c| c.container) {
            if let Some(region) = self.region(&c.shape, &c.transform, &Pose::identity(), first)? {
                least = least.min(self.measure(&region, &[]) / cell.powi(3));
            }
        }
        Ok(least)
    }

    /// Whether viscosity is solved for: that of a liquid, or what a source or a field gives it.
    fn is_thick(&self) -> Result<bool> {
        let s = self.scene;
        let thick = |v: f64| v >= THICK;
        let liquids =
            |l: &Liquid| l.viscosity().values().any(thick) || l.viscosity_by_age.iter().any(|k| thick(k[1]));
        let given = |a: &Attributes| a.get("viscosity").is_some_and(|v| v.numbers().into_iter().any(thick));
        let sources = s.initial.iter().map(|v| (&v.shape, &v.attributes));
        let sources = sources.chain(s.emitters.iter().map(|e| (&e.shape, &e.attributes)));
        if s.liquids.iter().any(liquids)
            || s.fields.iter().any(|f| f.kind == FieldKind::Viscosity)
            || sources.clone().any(|(_, a)| given(a))
        {
            return Ok(true);
        }
        let Meshes::Read(meshes) = self.meshes else { return Ok(false) };
        for file in sources.flat_map(|(shape, _)| shape.files()) {
            let mesh = meshes(file)?;
            if mesh.attribute("viscosity").is_some_and(|a| a.data.iter().any(|v| thick(f64::from(*v)))) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Liquid once everything is poured, m³.
    fn liquid(&self) -> Result<f64> {
        let first = self.scene.frames[0] as f64;
        let mut containers = Vec::new();
        for c in self.scene.colliders.iter().filter(|c| c.container) {
            containers.extend(self.region(&c.shape, &c.transform, &Pose::identity(), first)?);
        }
        let mut sum = 0.0;
        for v in &self.scene.initial {
            sum += match self.region(&v.shape, &v.transform, &Pose::identity(), first)? {
                Some(region) => self.measure(&region, &containers),
                None => self.unknown(&v.shape),
            };
        }
        for e in &self.scene.emitters {
            sum += self.poured(e)?;
        }
        Ok(sum)
    }

    /// Triangles of all meshes.
    fn triangles(&self) -> Result<f64> {
        let Meshes::Read(meshes) = self.meshes else { return Ok(0.0) };
        let s = self.scene;
        let solids = s.colliders.iter().map(|c| &c.shape).chain(s.bodies.iter().map(|b| &b.shape));
        let regions = s.initial.iter().map(|v| &v.shape).chain(s.emitters.iter().map(|e| &e.shape));
        let mut sum = 0.0;
        for file in solids.chain(regions).chain(s.sinks.iter().map(|s| &s.shape)).flat_map(|s| s.files()) {
            sum += meshes(file)?.triangles.len() as f64;
        }
        Ok(sum)
    }

    /// Liquid in a shape that is a file and was not read.
    fn unknown(&self, shape: &ShapeSpec) -> f64 {
        let domain = self.domain().size().product();
        match self.meshes {
            Meshes::Most if shape.files().next().is_some() && domain.is_finite() => domain,
            _ => 0.0,
        }
    }

    fn domain(&self) -> Aabb {
        let far = Vec3::repeat(f64::INFINITY);
        self.scene.domain.as_ref().map_or(Aabb::new(-far, far), |d| Aabb::new(d.min.into(), d.max.into()))
    }

    /// A shape where its object and what carries it put it; nothing for a file that was not read.
    fn region(&self, spec: &ShapeSpec, own: &Transform, parent: &Pose, frame: f64) -> Result<Option<Region>> {
        let (pose, scale, parent) = (own.pose(frame), own.scale, *parent);
        let local = move |x: &Vec3| pose.to_local(&parent.to_local(x)) / scale;
        let placed = |own: &Aabb| {
            Aabb::of_points(&own.corners().map(|c| parent.to_world(&pose.to_world(&(c * scale)))))
        };
        if let Some((shape, at)) = spec.solid()? {
            let bounds = spec.bounds().map_or_else(|| self.domain(), |own| placed(&own));
            let inside = move |x: &Vec3| shape.distance(&at.to_local(&local(x))) < 0.0;
            return Ok(Some(Region { inside: Box::new(inside), bounds }));
        }
        let (Meshes::Read(meshes), Some(file)) = (self.meshes, spec.files().next()) else { return Ok(None) };
        let by = match spec {
            ShapeSpec::Mesh { scale, .. } | ShapeSpec::Samples { scale, .. } => *scale,
            _ => 1.0,
        };
        let mesh: TriMesh = super::world::scaled(meshes(file)?, by);
        let tree = Bvh::new(&mesh);
        let winding = Winding::new(&tree);
        let inside = move |x: &Vec3| winding.is_inside(&tree, &local(x));
        Ok(Some(Region { inside: Box::new(inside), bounds: placed(&mesh.bounds()) }))
    }

    /// Volume of the part of a region that is in the domain and in all containers, m³.
    fn measure(&self, region: &Region, containers: &[Region]) -> f64 {
        let (domain, own) = (self.domain(), &region.bounds);
        let b = Aabb::new(own.lo.sup(&domain.lo), own.hi.inf(&domain.hi));
        let size = b.size();
        if b.is_empty() || !size.iter().all(|s| s.is_finite()) {
            return 0.0;
        }
        let at = |i: usize, a: usize| b.lo[a] + size[a] * (i as f64 + 0.5) / POINTS as f64;
        let point =
            |n: usize| Vec3::new(at(n % POINTS, 0), at(n / POINTS % POINTS, 1), at(n / POINTS / POINTS, 2));
        let held = |x: &Vec3| (region.inside)(x) && containers.iter().all(|c| (c.inside)(x));
        let count = (0..POINTS.pow(3)).filter(|n| held(&point(*n))).count();
        count as f64 / POINTS.pow(3) as f64 * size.product()
    }

    /// What an emitter gives in all, and its region, which is filled at once, m³.
    fn poured(&self, e: &Emitter) -> Result<f64> {
        let scene = self.scene;
        let [first, last] = scene.frames;
        let carried = |frame: f64| {
            let parent = e.parent.as_ref().and_then(|p| scene.colliders.iter().find(|c| c.name == *p));
            parent.map_or(Pose::identity(), |c| c.transform.pose(frame))
        };
        let start = first as f64;
        let Some(region) = self.region(&e.shape, &e.transform, &carried(start), start)? else {
            return Ok(self.unknown(&e.shape));
        };
        let stride = 1 + last.saturating_sub(first) / LOOKS;
        let own = region.bounds.size();
        // The box turns with the region; its diagonal bounds every side of it then.
        let turns = e.transform.is_animated() || e.parent.is_some();
        let size = if turns { Vec3::repeat(own.norm()) } else { own };
        let centre = |frame: f64| carried(frame).to_world(&e.transform.pose(frame).translation);
        let mut sum = 0.0;
        let mut frame = first;
        while frame < last {
            let next = frame.saturating_add(stride).min(last);
            let (a, b) = (frame as f64, next as f64);
            let seconds = scene.seconds(b) - scene.seconds(a);
            // A key between two looks may switch it on or hurry it.
            let on = (0..=4).map(|k| a + (b - a) * f64::from(k) / 4.0).filter(|f| e.active.at(*f));
            let rate = on.map(|f| match &e.rate_ml_s {
                Some(rate) => 1e-6 * rate.at(f),
                None => {
                    let moved = if turns { (centre(b) - centre(a)) / seconds } else { Vec3::zeros() };
                    let v = carried(f).rotation * Vec3::from(e.velocity.at(f));
                    through(&size, &(v.abs() + moved.abs()), &Vec3::from(scene.gravity.at(f)))
                }
            });
            sum += rate.fold(0.0, f64::max) * seconds;
            frame = next;
        }
        let total = e.total_ml.map_or(f64::INFINITY, |ml| 1e-6 * ml);
        Ok(sum.min(total) + own.product())
    }
}

/// Volume a second that can leave a box at a speed and under gravity.
fn through(size: &Vec3, speed: &Vec3, gravity: &Vec3) -> f64 {
    let out = |a: usize| (speed[a] * speed[a] + 2.0 * gravity[a].abs() * size[a]).sqrt();
    (0..3).map(|a| out(a) * size[(a + 1) % 3] * size[(a + 2) % 3]).sum()
}

/// Cells of the tiles that this much liquid may come to lie in, within a domain of `sides` and a container.
fn tile_cells(liquid: f64, sides: Option<[f64; 3]>, container: f64) -> f64 {
    let side = SIDE as f64;
    // Without a floor nobody knows how long a thread will be; one as long as the liquid's own size many times over.
    let height = sides.map_or(8.0 * liquid.cbrt(), |n| n[1]).min(liquid);
    let spread = (6.0 + 17.0) * liquid + 160.0 * liquid.cbrt().powi(2) + 280.0 * height;
    let all = sides.map_or(f64::INFINITY, |n| {
        // A slab of one cell has tiles of one cell.
        let cells = |n: f64| if n <= 1.0 { 1.0 } else { ((n + MARGIN) / side).ceil() * side };
        n.iter().map(|n| cells(*n)).product()
    });
    let within = 1.3 * (container.cbrt() + 18.0).powi(3);
    spread.min(all).min(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_never_exceed_the_domain_nor_what_liquid_can_reach() {
        assert_eq!(tile_cells(24000.0, Some([60.0, 40.0, 20.0]), f64::INFINITY), 72.0 * 48.0 * 32.0);
        let held = tile_cells(24000.0, Some([60.0, 40.0, 20.0]), 8000.0);
        assert!((held - 1.3 * 38f64.powi(3)).abs() < 1.0, "{held}");
        let drop = tile_cells(1000.0, None, f64::INFINITY);
        assert!((drop - (23000.0 + 16000.0 + 22400.0)).abs() < 1.0, "{drop}");
    }

    #[test]
    fn what_no_system_gives_is_an_error_and_not_the_end() {
        assert!(ask("a step", 1 << 20).is_ok());
        let refused = ask("a step", u64::MAX / 4).unwrap_err().to_string();
        assert!(
            refused.contains("a step needs") && refused.contains("the system gives no more"),
            "{refused}"
        );
    }

    #[test]
    fn absurd_sizes_are_counted_and_not_held() {
        let text = r#"{"meniscus": 1, "resolution": {"cell": 1e-6}, "domain": {"min": [0, 0, 0], "max": [9, 9, 9]},
            "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [9, 9, 9]}}}]}"#;
        if let Ok(scene) = Scene::from_json(text) {
            assert!(estimate(&scene.to_si(), Meshes::Least).unwrap().memory_bytes > 1 << 50);
        }
    }

    fn liquid(json: &str, meshes: Meshes) -> u64 {
        estimate(&Scene::from_json(json).unwrap().to_si(), meshes).unwrap().liquid_cells
    }

    #[test]
    fn liquid_in_a_mesh_counts_what_the_mesh_holds() {
        // A ball of radius 0.5 holds π/6 m³.
        let ball = |_: &str| Ok(TriMesh::icosphere(0.5, 3));
        let json = r#"{"meniscus": 1, "resolution": {"cell": 0.05},
            "domain": {"min": [-1, -1, -1], "max": [1, 1, 1]},
            "initial": [{"shape": {"mesh": {"file": "ball.obj"}}}]}"#;
        let held = std::f64::consts::PI / 6.0 / 0.05f64.powi(3);
        let read = liquid(json, Meshes::Read(&ball)) as f64;
        assert!((read / held - 1.0).abs() < 0.02, "{read} of {held}");
        assert_eq!(liquid(json, Meshes::Most), 64000);
        assert_eq!(liquid(json, Meshes::Least), 0);
        // A box of water of which the ball, a container, leaves only the upper half.
        let json = r#"{"meniscus": 1, "resolution": {"cell": 0.05},
            "domain": {"min": [-1, -1, -1], "max": [1, 1, 1]},
            "initial": [{"shape": {"box": {"min": [-1, 0, -1], "max": [1, 1, 1]}}}],
            "colliders": [{"name": "ball", "container": true, "shape": {"mesh": {"file": "ball.obj"}}}]}"#;
        let half = liquid(json, Meshes::Read(&ball)) as f64;
        assert!((half / (0.5 * held) - 1.0).abs() < 0.05, "{half} of {}", 0.5 * held);
    }

    #[test]
    fn an_emitter_without_a_rate_gives_what_its_speed_carries() {
        let json = r#"{"meniscus": 1, "resolution": {"cell": 0.01}, "frames": [1, 25], "fps": 24, "gravity": [0, 0, 0],
            "emitters": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.1, 0.1, 0.1]}}, "velocity": [0, -2, 0]}]}"#;
        // A tenth by a tenth at 2 m/s is 20 litres in a second; the region itself holds one.
        let litres = liquid(json, Meshes::Least) as f64 * 1e-3;
        assert!((litres - 21.0).abs() < 0.01, "{litres}");
    }
}
