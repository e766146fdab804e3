//! Scenes: checking and measuring a description before anything is built.

use super::fault::mns_result;
use super::guard::guard;
use super::pointer::text;
use super::records::mns_estimate;
use super::versioned::VersionedOut;
use crate::scene::Scene;
use crate::simulation::Simulation;
use std::ffi::c_char;

/// Check the JSON text of a scene (UTF-8, at most 16 MB) and estimate how big it will be, without
/// building anything. `out` may be NULL to check only. MNS_ERROR_SCENE says in words which value is
/// wrong and what is allowed there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_scene_estimate(json: *const c_char, out: *mut mns_estimate) -> mns_result {
    guard("mns_scene_estimate", || {
        // SAFETY: the header asks for text and for NULL or a struct that begins with its size.
        let (json, out) = unsafe {
            let out = if out.is_null() { None } else { Some(VersionedOut::new(out, "out")?) };
            (text(json, "json")?, out)
        };
        let scene = Scene::from_json(json)?;
        Simulation::supports(&scene)?;
        if let Some(out) = out {
            out.write(Simulation::estimate(&scene).into());
        }
        Ok(())
    })
}
