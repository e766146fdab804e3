//! Reading a simulation: frames, reports and named fields as borrowed views.
//!
//! Views that must be computed, such as the surface, are made when they are first asked for and kept
//! until the simulation changes, so const calls may run side by side.

use super::array::mns_array;
use super::fault::{Fault, c_text, mns_result};
use super::guard::guard;
use super::log;
use super::pointer::{Out, text};
use super::records::mns_report;
use super::simulation::{SIMULATIONS, mns_simulation};
use super::versioned::VersionedOut;
use crate::error::Result;
use crate::geometry::{Attribute, TriMesh};
use crate::io;
use crate::math::Vec3;
use crate::simulation::report::FrameReport;
use crate::simulation::{ColliderMesh, Simulation};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A simulation and what was computed to show it.
pub(super) struct Running {
    pub simulation: Simulation,
    pub report: FrameReport,
    pub saved: Vec<u8>,
    /// The folder that files of the scene are relative to.
    folder: Option<PathBuf>,
    surface: OnceLock<Result<TriMesh>>,
    poses: OnceLock<Vec<[f64; 8]>>,
    /// Velocities and forces of the bodies, six numbers each.
    bodies: OnceLock<(Vec<f64>, Vec<f64>)>,
    /// Triangles of the colliders that have others in each frame.
    deformed: OnceLock<Vec<(String, TriMesh)>>,
    report_text: OnceLock<CString>,
    /// Numbers of the particles.
    ids: OnceLock<Vec<u64>>,
    /// Positions of the cells, and velocities there.
    cells: OnceLock<(Vec<Vec3>, Vec<Vec3>)>,
    faces: [OnceLock<Vec<Vec3>>; 3],
    /// What the particles carry.
    carried: OnceLock<Vec<Attribute>>,
    /// Names of the fields of what liquid carries, for as long as the simulation lives.
    carried_names: Vec<CString>,
}

impl Running {
    pub fn new(simulation: Simulation, folder: Option<PathBuf>) -> Self {
        let names = simulation.attribute_names();
        let of = |kind: &str| names.iter().map(|n| c_text(&format!("{kind}.{n}"))).collect::<Vec<_>>();
        Self {
            carried: OnceLock::new(),
            carried_names: [of("surface"), of("particle")].concat(),
            report: simulation.report(),
            simulation,
            saved: Vec::new(),
            folder,
            surface: OnceLock::new(),
            poses: OnceLock::new(),
            bodies: OnceLock::new(),
            deformed: OnceLock::new(),
            report_text: OnceLock::new(),
            ids: OnceLock::new(),
            cells: OnceLock::new(),
            faces: Default::default(),
        }
    }

    /// The simulation is about to change.
    pub fn forget_views(&mut self) {
        self.saved = Vec::new();
        self.surface = OnceLock::new();
        self.poses = OnceLock::new();
        self.bodies = OnceLock::new();
        self.deformed = OnceLock::new();
        self.report_text = OnceLock::new();
        self.ids = OnceLock::new();
        self.cells = OnceLock::new();
        self.faces = Default::default();
        self.carried = OnceLock::new();
    }

    /// Write what is known of the frame that failed, if the scene names a folder for it; the log says where.
    pub fn dump_failure(&self) {
        let Some(parent) = &self.simulation.given().debug.dump_dir else { return };
        let base = self.folder.as_deref().unwrap_or(Path::new(""));
        match io::dump::write(&base.join(parent), &self.simulation) {
            Ok(Some(folder)) => log::warning(&format!("what failed is in {}", folder.display())),
            Ok(None) => {}
            Err(error) => log::warning(&format!("debug.dump_dir: {error}")),
        }
    }

    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.simulation.load(bytes)?;
        self.forget_views();
        self.report = self.simulation.report();
        Ok(())
    }

    /// The triangles of a collider, borrowed from the simulation or from here.
    fn collider_mesh(&self, name: &str) -> Result<&TriMesh, Fault> {
        let own = |c: ColliderMesh<'_>| (c.name.to_string(), c.mesh.into_owned());
        let all = || self.simulation.collider_meshes().into_iter();
        let deformed = self.deformed.get_or_init(|| all().filter(|c| c.deforms).map(own).collect());
        if let Some((_, mesh)) = deformed.iter().find(|(n, _)| n == name) {
            return Ok(mesh);
        }
        let found = all().find(|c| c.name == name).map(|c| c.mesh);
        match found {
            Some(Cow::Borrowed(mesh)) => Ok(mesh),
            _ => Err(Fault::invalid("name", format!("there is no collider {name:?}"))),
        }
    }

    fn surface(&self) -> Result<&TriMesh, Fault> {
        self.surface.get_or_init(|| self.simulation.surface()).as_ref().map_err(|e| e.clone().into())
    }

    fn poses(&self) -> &[[f64; 8]] {
        self.poses.get_or_init(|| {
            let row = |c: &crate::simulation::report::ColliderPose| {
                let (t, q) = (c.translate, c.rotate_quaternion_wxyz);
                [t[0], t[1], t[2], q[0], q[1], q[2], q[3], c.scale]
            };
            self.report.colliders.iter().map(row).collect()
        })
    }

    fn body_motions(&self) -> &(Vec<f64>, Vec<f64>) {
        self.bodies.get_or_init(|| {
            let all = &self.report.bodies;
            let velocity = all.iter().flat_map(|b| [b.velocity, b.angular_velocity].concat()).collect();
            (velocity, all.iter().flat_map(|b| [b.force, b.torque].concat()).collect())
        })
    }

    fn ids(&self) -> &[u64] {
        self.ids.get_or_init(|| self.simulation.particles().ids())
    }

    fn cells(&self) -> &(Vec<Vec3>, Vec<Vec3>) {
        self.cells.get_or_init(|| self.simulation.cell_motion())
    }

    fn faces(&self, axis: usize) -> &[Vec3] {
        self.faces[axis].get_or_init(|| self.simulation.face_positions(axis))
    }

    fn field(&self, name: &str) -> Result<mns_array, Fault> {
        let particles = self.simulation.particles();
        let cells = self.simulation.cell_fields();
        Ok(match name {
            "surface.position" => mns_array::of(&self.surface()?.positions),
            "surface.triangle" => mns_array::of(&self.surface()?.triangles),
            "surface.velocity" => {
                let velocity = self.surface()?.attribute("velocity").map_or(&[][..], |a| &a.data);
                mns_array::of(velocity).grouped(3)
            }
            "particle.position" => mns_array::of(&particles.position),
            "particle.velocity" => mns_array::of(&particles.velocity),
            "particle.id" => mns_array::of(self.ids()),
            "collider.pose" => mns_array::of(self.poses()),
            "body.velocity" => mns_array::of(self.body_motions().0.as_slice()).grouped(6),
            "body.force" => mns_array::of(self.body_motions().1.as_slice()).grouped(6),
            "cell.position" => mns_array::of(self.cells().0.as_slice()),
            "cell.velocity" => mns_array::of(self.cells().1.as_slice()),
            "cell.pressure" => mns_array::of(cells.pressure),
            "cell.distance" => mns_array::of(cells.distance),
            "face.position_x" => mns_array::of(self.faces(0)),
            "face.position_y" => mns_array::of(self.faces(1)),
            "face.position_z" => mns_array::of(self.faces(2)),
            "face.velocity_x" => mns_array::of(cells.faces[0]),
            "face.velocity_y" => mns_array::of(cells.faces[1]),
            "face.velocity_z" => mns_array::of(cells.faces[2]),
            _ => return self.carried_field(name),
        })
    }

    /// What the liquid carries, at the vertices of the surface or by particle.
    fn carried_field(&self, name: &str) -> Result<mns_array, Fault> {
        let is_known = self.carried_names.iter().any(|n| n.to_bytes() == name.as_bytes());
        let attributes = match name.split_once('.') {
            Some(("surface", own)) if is_known => (&self.surface()?.attributes, own),
            Some(("particle", own)) if is_known => {
                (self.carried.get_or_init(|| self.simulation.particle_attributes()), own)
            }
            _ => return Err(self.unknown_field(name)),
        };
        let found = attributes.0.iter().find(|a| a.name == attributes.1);
        let found = found.ok_or_else(|| self.unknown_field(name))?;
        Ok(mns_array::of(found.data.as_slice()).grouped(found.width))
    }

    /// The names of all fields, in order.
    fn field_names(&self) -> impl Iterator<Item = &CStr> {
        FIELDS.into_iter().chain(self.carried_names.iter().map(CString::as_c_str))
    }

    fn unknown_field(&self, name: &str) -> Fault {
        let known: Vec<_> = self.field_names().map(|f| f.to_string_lossy()).collect();
        Fault::invalid("name", format!("there is no field {name:?}; there are {}", known.join(", ")))
    }

    fn report_text(&self) -> &CStr {
        self.report_text.get_or_init(|| c_text(&serde_json::to_string(&self.report).unwrap_or_default()))
    }
}

const FIELDS: [&CStr; 19] = [
    c"surface.position",
    c"surface.triangle",
    c"surface.velocity",
    c"particle.position",
    c"particle.velocity",
    c"particle.id",
    c"collider.pose",
    c"body.velocity",
    c"body.force",
    c"cell.position",
    c"cell.velocity",
    c"cell.pressure",
    c"cell.distance",
    c"face.position_x",
    c"face.position_y",
    c"face.position_z",
    c"face.velocity_x",
    c"face.velocity_y",
    c"face.velocity_z",
];

/// The last finished frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_frame(
    simulation: *const mns_simulation,
    out: *mut i64,
) -> mns_result {
    guard("mns_simulation_frame", || {
        // SAFETY: the header asks for a place for a number.
        let out = unsafe { Out::new(out, "out") }?;
        let shared = SIMULATIONS.get(simulation)?;
        out.write(shared.read()?.get()?.simulation.frame());
        Ok(())
    })
}

/// Liquid in the scene in cubic metres: `volume` as measured, `expected` what was poured in less what left. Either
/// may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_volume(
    simulation: *const mns_simulation,
    volume: *mut f64,
    expected: *mut f64,
) -> mns_result {
    guard("mns_simulation_volume", || {
        // SAFETY: the header asks for NULL or places for numbers.
        let (volume, expected) =
            unsafe { (Out::optional(volume, "volume")?, Out::optional(expected, "expected")?) };
        let shared = SIMULATIONS.get(simulation)?;
        let reading = shared.read()?;
        let report = &reading.get()?.report;
        volume.inspect(|v| v.write(1e-3 * report.litres));
        expected.inspect(|e| e.write(1e-3 * report.litres_expected));
        Ok(())
    })
}

/// How the last frame went. Set out->struct_size first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_report(
    simulation: *const mns_simulation,
    out: *mut mns_report,
) -> mns_result {
    guard("mns_simulation_report", || {
        // SAFETY: the header asks for a struct that begins with its size.
        let out = unsafe { VersionedOut::new(out, "out") }?;
        let shared = SIMULATIONS.get(simulation)?;
        out.write(mns_report::from(&shared.read()?.get()?.report));
        Ok(())
    })
}

/// The same report with everything in it, also warnings and the places of colliders, as JSON. The text is
/// borrowed until the simulation changes or ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_report_json(
    simulation: *const mns_simulation,
    out: *mut *const c_char,
) -> mns_result {
    guard("mns_simulation_report_json", || {
        // SAFETY: the header asks for a place for a pointer.
        let out = unsafe { Out::new(out, "out") }?;
        let shared = SIMULATIONS.get(simulation)?;
        out.write(shared.read()?.get()?.report_text().as_ptr());
        Ok(())
    })
}

/// A field by its name, as a flat view that is borrowed until the simulation changes or ends. Metres and metres a
/// second, Y up, whatever the unit of the scene.
///
///     surface.position    f64 x 3    vertices of the liquid's surface
///     surface.triangle    u32 x 3    its triangles, counter-clockwise from outside
///     surface.velocity    f32 x 3    velocity at its vertices
///     particle.position   f64 x 3    the particles of the liquid
///     particle.velocity   f64 x 3
///     particle.id         u64        never used twice
///     collider.pose       f64 x 8    for each collider of the scene, then for each body: translation, rotation as a
///                                    quaternion w x y z, scale
///     body.velocity       f64 x 6    for each body: velocity of its centre of mass, angular velocity in radians
///     body.force          f64 x 6    for each body: force of the liquid in newtons, torque about the centre of mass
///     cell.position       f64 x 3    the cells on which pressure is solved; those of mac are cubes, sorted by tiles
///     cell.velocity       f64 x 3    velocity of the liquid there
///     cell.pressure       f64        Pa, 0 outside the liquid
///     cell.distance       f64        metres to the surface, negative in liquid; exact near the surface, cut off further away
///     face.position_x     f64 x 3    the lower face of each cell of mac across x, and so _y, _z; empty for bcc
///     face.velocity_x     f64        the velocity along x there, and so _y, _z; a flat scene has none across z
///     surface.NAME        f32        what the liquid carries: attributes of its sources, and viscosity, age or phase
///     particle.NAME       f32        if the scene's outputs ask for them; as many numbers each as the attribute has
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_field(
    simulation: *const mns_simulation,
    name: *const c_char,
    out: *mut mns_array,
) -> mns_result {
    guard("mns_simulation_field", || {
        // SAFETY: the header asks for text and for a place for an array.
        let (name, out) = unsafe { (text(name, "name")?, Out::new(out, "out")?) };
        let shared = SIMULATIONS.get(simulation)?;
        out.write(shared.read()?.get()?.field(name)?);
        Ok(())
    })
}

/// The name of field number `index`, counted from 0, as text that lives as long as the simulation; MNS_ERROR_INVALID
/// after the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_field_name(
    simulation: *const mns_simulation,
    index: usize,
    out: *mut *const c_char,
) -> mns_result {
    guard("mns_simulation_field_name", || {
        // SAFETY: the header asks for a place for a pointer.
        let out = unsafe { Out::new(out, "out") }?;
        let shared = SIMULATIONS.get(simulation)?;
        let reading = shared.read()?;
        let running = reading.get()?;
        let count = running.field_names().count();
        let name = running
            .field_names()
            .nth(index)
            .ok_or_else(|| Fault::invalid("index", format!("field {index} of {count}, counted from 0")))?;
        out.write(name.as_ptr());
        Ok(())
    })
}

/// The triangles of a collider or body at the present frame in its own coordinates, for pictures; place them with
/// collider.pose. Borrowed until the simulation changes or ends. A plane has no triangles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_simulation_collider_mesh(
    simulation: *const mns_simulation,
    name: *const c_char,
    positions: *mut mns_array,
    triangles: *mut mns_array,
) -> mns_result {
    guard("mns_simulation_collider_mesh", || {
        // SAFETY: the header asks for text and for places for two arrays.
        let (name, positions, triangles) = unsafe {
            (text(name, "name")?, Out::new(positions, "positions")?, Out::new(triangles, "triangles")?)
        };
        let shared = SIMULATIONS.get(simulation)?;
        let reading = shared.read()?;
        let mesh = reading.get()?.collider_mesh(name)?;
        positions.write(mns_array::of(&mesh.positions));
        triangles.write(mns_array::of(&mesh.triangles));
        Ok(())
    })
}
