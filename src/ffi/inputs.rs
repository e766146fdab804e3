//! What a host hands over, copied and checked: settings, meshes with what their points carry, fields.

use super::fault::Fault;
use super::pointer::{check, text};
use super::records::{mns_attribute, mns_field, mns_named_mesh, mns_settings};
use super::versioned;
use crate::error::Error;
use crate::field::DenseField;
use crate::geometry::{Attribute, TriMesh};
use crate::io;
use crate::math::Mat3;
use crate::scene::{Scene, is_attribute_name};
use crate::simulation::{FieldFiles, Settings};
use std::path::PathBuf;
use std::sync::Arc;

/// Copies of everything that the host's settings point to.
#[derive(Default)]
pub(super) struct HostSettings {
    pub settings: Settings,
    pub folder: Option<PathBuf>,
    meshes: Vec<(String, TriMesh)>,
}

impl HostSettings {
    /// # Safety
    /// `settings` is NULL or settings whose pointers are valid.
    pub unsafe fn read(settings: *const mns_settings) -> Result<Self, Fault> {
        if settings.is_null() {
            return Ok(Self::default());
        }
        // SAFETY: the caller's promise.
        let s = unsafe { versioned::read(settings, "settings") }?;
        let threads = (s.threads > 0).then_some(s.threads as usize);
        let memory_limit = (s.memory_limit > 0).then_some(s.memory_limit);
        let folder = if s.mesh_folder.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            Some(PathBuf::from(unsafe { text(s.mesh_folder, "mesh_folder") }?))
        };
        // SAFETY: the caller's promise.
        let meshes = unsafe { records(s.meshes, s.mesh_count, "meshes") }?;
        // SAFETY: the caller's promise.
        let meshes = meshes.iter().map(|m| unsafe { named_mesh(m) }).collect::<Result<_, _>>()?;
        let mut fields = FieldFiles::new();
        // SAFETY: the caller's promise.
        for given in unsafe { records(s.fields, s.field_count, "fields") }? {
            // SAFETY: the caller's promise.
            let (name, field) = unsafe { (text(given.name, "field name")?, dense(&given)?) };
            fields.insert(name.to_string(), Arc::new(field));
        }
        Ok(Self { settings: Settings { threads, memory_limit, fields }, folder, meshes })
    }

    /// The settings with the fields that the scene names and that are not in memory read from the folder.
    pub fn with_fields(&self, scene: &Scene) -> crate::Result<Settings> {
        let mut settings = self.settings.clone();
        for (_, file) in scene.fields.iter().flat_map(|f| &f.files) {
            if !settings.fields.contains_key(file) {
                let path = self.find(file)?;
                let bytes = io::atomic::read(&path, io::mesh::MAX_MESH_BYTES)?;
                settings.fields.insert(file.clone(), Arc::new(io::nrrd::parse(file, &bytes)?));
            }
        }
        Ok(settings)
    }

    /// A file of the scene.
    fn find(&self, file: &str) -> crate::Result<PathBuf> {
        match &self.folder {
            Some(folder) => io::confine::Paths::new(folder).find(file),
            None => Err(Error::geometry(file, "is not in memory, and settings name no folder for files")),
        }
    }

    /// A mesh by the name that the scene gives: from memory, else from the folder.
    pub fn mesh(&self, file: &str) -> crate::Result<TriMesh> {
        if let Some((_, mesh)) = self.meshes.iter().find(|(name, _)| name == file) {
            return Ok(mesh.clone());
        }
        match self.settings.fields.get(file) {
            Some(field) => field.surface(file),
            None => io::mesh::read(self.find(file)?),
        }
    }
}

/// # Safety
/// The array of the record is valid.
pub(super) unsafe fn dense(given: &mns_field) -> Result<DenseField, Fault> {
    let width = given.values.width.clamp(1, 4) as usize;
    // SAFETY: the caller's promise.
    let values = unsafe { given.values.singles("field") }?;
    let size = given.counts.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let steps = Mat3::from_column_slice(&given.steps);
    Ok(DenseField::new("field", size, width, given.origin.into(), steps, values)?)
}

/// # Safety
/// The pointers of the record are valid.
unsafe fn named_mesh(m: &mns_named_mesh) -> Result<(String, TriMesh), Fault> {
    // SAFETY: the caller's promise.
    let (name, mesh) = unsafe {
        let name = text(m.name, "mesh name")?;
        let mut mesh = TriMesh::new(m.positions.vectors(name)?, m.triangles.triangles(name)?);
        mesh.attributes = attributes(m.attributes, m.attribute_count, name, mesh.positions.len())?;
        (name, mesh)
    };
    mesh.check(name)?;
    Ok((name.to_string(), mesh))
}

/// What the points of a mesh carry.
///
/// # Safety
/// `first` is NULL or points to `count` attributes whose pointers are valid.
pub(super) unsafe fn attributes(
    first: *const mns_attribute,
    count: usize,
    mesh: &str,
    points: usize,
) -> Result<Vec<Attribute>, Fault> {
    let mut all: Vec<Attribute> = Vec::new();
    // SAFETY: the caller's promise.
    for given in unsafe { records(first, count, "attributes") }? {
        // SAFETY: the caller's promise.
        let name = unsafe { text(given.name, "attribute name") }?;
        let what = format!("{mesh}: attribute {name}");
        if !is_attribute_name(name) || all.iter().any(|a| a.name == name) {
            return Err(Fault::invalid(
                &what,
                "a name is made of at most 64 letters, digits and _, and given once",
            ));
        }
        let width = given.values.width;
        if given.values.count != points || !(1..=4).contains(&width) {
            let message = format!(
                "{} elements of {width} numbers; there must be {points} of 1 to 4",
                given.values.count
            );
            return Err(Fault::invalid(&what, message));
        }
        // SAFETY: the caller's promise.
        let data = unsafe { given.values.singles(&what) }?;
        all.push(Attribute { name: name.to_string(), width: width as usize, data });
    }
    Ok(all)
}

/// A row of versioned structs, each as long as the first says.
///
/// # Safety
/// `first` is NULL or points to `count` structs of the size that the first names.
pub(super) unsafe fn records<T: versioned::Versioned>(
    first: *const T,
    count: usize,
    what: &str,
) -> Result<Vec<T>, Fault> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > 1 << 20 {
        return Err(Fault::invalid(what, format!("{count} of them cannot be")));
    }
    check(first, what)?;
    // SAFETY: not NULL; every versioned struct begins with its size.
    let stride = unsafe { first.cast::<u32>().read() } as usize;
    if !stride.is_multiple_of(align_of::<T>()) {
        return Err(Fault::invalid(
            what,
            format!("struct_size is {stride}; set it to the size of the struct"),
        ));
    }
    // SAFETY: struct i begins i strides after the first, by the caller's promise.
    (0..count).map(|i| unsafe { versioned::read(first.byte_add(i * stride), what) }).collect()
}
