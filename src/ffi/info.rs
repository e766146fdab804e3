//! Version and build.

use super::guard::guard_value;
use std::ffi::c_char;
use std::sync::OnceLock;

/// Version of this header: 10000 major + 100 minor + patch. Compare it with mns_version().
pub const MNS_VERSION: i32 = 100;

/// Version of the library that was loaded, counted as MNS_VERSION. While the major version is 0, header
/// and library must agree in the minor version; later a library serves all older headers of its major version.
#[unsafe(no_mangle)]
pub extern "C" fn mns_version() -> i32 {
    guard_value("mns_version", 0, || MNS_VERSION)
}

/// How the library was built, as JSON: version, target, simulators, whether checks are on. Static text.
#[unsafe(no_mangle)]
pub extern "C" fn mns_build_info() -> *const c_char {
    static TEXT: OnceLock<std::ffi::CString> = OnceLock::new();
    guard_value("mns_build_info", c"{}".as_ptr(), || TEXT.get_or_init(build_info).as_ptr())
}

fn build_info() -> std::ffi::CString {
    let text = serde_json::json!({
        "name": "meniscus",
        "version": env!("CARGO_PKG_VERSION"),
        "architecture": std::env::consts::ARCH,
        "system": std::env::consts::OS,
        "checks": cfg!(debug_assertions),
        "simulators": ["mac", "bcc"],
        "pieces": ["grid.pressure", "grid.viscosity", "grid.stokes", "lattice.pressure", "lattice.viscosity"],
        "scene_version": crate::scene::SCENE_VERSION,
        "state_version": crate::simulation::state::STATE_VERSION,
    });
    super::fault::c_text(&text.to_string())
}
