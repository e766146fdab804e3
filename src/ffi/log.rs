//! Messages for the host's console.

use super::fault::{Fault, c_text, mns_result};
use super::guard::{as_host, guard};
use std::ffi::{c_char, c_void};
use std::sync::Mutex;

/// Say nothing.
pub const MNS_LOG_NONE: i32 = 0;
/// Calls that failed.
pub const MNS_LOG_ERROR: i32 = 1;
/// Also what an artist should know, such as a collider that compresses liquid.
pub const MNS_LOG_WARNING: i32 = 2;
/// Also one line for each finished frame.
pub const MNS_LOG_INFO: i32 = 3;

/// Receives one message: its level and UTF-8 text without a line end, valid during the call. Runs on the
/// thread that called the library; must not throw.
pub type mns_log_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, level: i32, message: *const c_char)>;

#[derive(Clone, Copy)]
struct Sink {
    level: i32,
    callback: mns_log_callback,
    user: *mut c_void,
}

// SAFETY: the pointer is only handed back to the host, who promised a callback that any thread may run.
unsafe impl Send for Sink {}

static SINK: Mutex<Sink> =
    Mutex::new(Sink { level: MNS_LOG_NONE, callback: None, user: std::ptr::null_mut() });

/// Send messages up to a level to a callback, for the whole process; NULL (or MNS_LOG_NONE) for silence,
/// which is the default: the library never prints. `user` is handed to the callback and may be NULL. The
/// callback may be called from every thread that calls the library, also from several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_log_set(
    level: i32,
    callback: mns_log_callback,
    user: *mut c_void,
) -> mns_result {
    guard("mns_log_set", || {
        if !(MNS_LOG_NONE..=MNS_LOG_INFO).contains(&level) {
            return Err(Fault::invalid("level", format!("{level} is not one of the MNS_LOG levels")));
        }
        *SINK.lock().unwrap_or_else(|e| e.into_inner()) = Sink { level, callback, user };
        Ok(())
    })
}

/// Tell the host, if it wants to know.
fn send(level: i32, message: impl FnOnce() -> String) {
    // The lock is not held during the call, so a callback may set another one.
    let sink = *SINK.lock().unwrap_or_else(|e| e.into_inner());
    if let (true, Some(callback)) = (level <= sink.level, sink.callback) {
        let text = c_text(&message());
        // SAFETY: the host promised a callback that may be called with its own pointer.
        as_host(|| unsafe { callback(sink.user, level, text.as_ptr()) });
    }
}

/// A call failed. Runs after the host's control word is back, so it is left alone.
pub(super) fn error(name: &str, message: &str) {
    let sink = *SINK.lock().unwrap_or_else(|e| e.into_inner());
    if let (true, Some(callback)) = (MNS_LOG_ERROR <= sink.level, sink.callback) {
        let text = c_text(&format!("{name}: {message}"));
        // SAFETY: the host promised a callback that may be called with its own pointer.
        unsafe { callback(sink.user, MNS_LOG_ERROR, text.as_ptr()) };
    }
}

pub(super) fn warning(message: &str) {
    send(MNS_LOG_WARNING, || message.to_string());
}

pub(super) fn info(message: impl FnOnce() -> String) {
    send(MNS_LOG_INFO, message);
}
