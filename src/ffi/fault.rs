//! Codes and messages that cross the border.

use super::guard::guard_value;
use crate::error::Error;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

/// What every call that can fail returns: MNS_OK or one of the negative MNS_ERROR codes.
pub type mns_result = i32;

/// The call did what it says.
pub const MNS_OK: i32 = 0;
/// A pointer, number, index or size that an argument may not have.
pub const MNS_ERROR_INVALID: i32 = -1;
/// The scene text is wrong; the message leads to the value.
pub const MNS_ERROR_SCENE: i32 = -2;
/// A mesh or shape cannot be used.
pub const MNS_ERROR_GEOMETRY: i32 = -3;
/// A file or saved state is not what it should be.
pub const MNS_ERROR_FORMAT: i32 = -4;
/// The operating system refused.
pub const MNS_ERROR_IO: i32 = -5;
/// More memory would be needed than is allowed or present.
pub const MNS_ERROR_MEMORY: i32 = -6;
/// A callback or mns_simulation_interrupt asked to stop; the last whole substep is kept.
pub const MNS_ERROR_CANCELLED: i32 = -7;
/// Numbers stopped being finite, or a solve did not converge; the last whole substep is kept.
pub const MNS_ERROR_DIVERGED: i32 = -8;
/// Another thread, or the call that runs this callback, is using the object.
pub const MNS_ERROR_BUSY: i32 = -9;
/// Data or a struct of a newer version than this library knows.
pub const MNS_ERROR_VERSION: i32 = -10;
/// A combination that this build or this simulator does not offer.
pub const MNS_ERROR_UNSUPPORTED: i32 = -11;
/// The handle was destroyed, is of another kind, or never was one.
pub const MNS_ERROR_HANDLE: i32 = -12;
/// A fault inside the library. The handle that it happened on can only be saved and destroyed.
pub const MNS_ERROR_PANIC: i32 = -13;

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Fault {
    pub code: mns_result,
    pub message: String,
}

impl Fault {
    pub fn invalid(what: &str, message: impl std::fmt::Display) -> Self {
        Self { code: MNS_ERROR_INVALID, message: format!("{what}: {message}") }
    }

    pub fn handle(what: &str) -> Self {
        let message = format!("{what}: this handle was destroyed, is of another kind, or never was one");
        Self { code: MNS_ERROR_HANDLE, message }
    }

    pub fn busy(what: &str) -> Self {
        Self { code: MNS_ERROR_BUSY, message: format!("the {what} is in use by another call") }
    }

    pub fn poisoned(what: &str) -> Self {
        let message = format!("a call failed inside this {what}: save the last whole state, then destroy it");
        Self { code: MNS_ERROR_PANIC, message }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Text that C can read: control characters become spaces, so nothing cuts it short.
pub(super) fn c_text(text: &str) -> CString {
    let clean: String = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    CString::new(clean).unwrap_or_default()
}

/// Keep the message for mns_last_error.
pub(super) fn remember(fault: &Fault) {
    // During the end of a thread there is nobody left to ask.
    let _ = LAST.try_with(|last| last.replace(c_text(&fault.message)));
}

/// The message of the last call that failed on this thread, in UTF-8, with names and numbers; empty if
/// none has failed. It is owned by the library and valid until the next call that fails on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn mns_last_error() -> *const c_char {
    guard_value("mns_last_error", c"".as_ptr(), || {
        LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
    })
}

/// The name of a code, as "MNS_ERROR_SCENE"; "unknown" for other numbers. Static text.
#[unsafe(no_mangle)]
pub extern "C" fn mns_result_name(result: mns_result) -> *const c_char {
    guard_value("mns_result_name", c"unknown".as_ptr(), || name(result).as_ptr())
}

fn name(result: mns_result) -> &'static CStr {
    match result {
        MNS_OK => c"MNS_OK",
        MNS_ERROR_INVALID => c"MNS_ERROR_INVALID",
        MNS_ERROR_SCENE => c"MNS_ERROR_SCENE",
        MNS_ERROR_GEOMETRY => c"MNS_ERROR_GEOMETRY",
        MNS_ERROR_FORMAT => c"MNS_ERROR_FORMAT",
        MNS_ERROR_IO => c"MNS_ERROR_IO",
        MNS_ERROR_MEMORY => c"MNS_ERROR_MEMORY",
        MNS_ERROR_CANCELLED => c"MNS_ERROR_CANCELLED",
        MNS_ERROR_DIVERGED => c"MNS_ERROR_DIVERGED",
        MNS_ERROR_BUSY => c"MNS_ERROR_BUSY",
        MNS_ERROR_VERSION => c"MNS_ERROR_VERSION",
        MNS_ERROR_UNSUPPORTED => c"MNS_ERROR_UNSUPPORTED",
        MNS_ERROR_HANDLE => c"MNS_ERROR_HANDLE",
        MNS_ERROR_PANIC => c"MNS_ERROR_PANIC",
        _ => c"unknown",
    }
}
