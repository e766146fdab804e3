//! The one guard round every export.
//!
//! It saves the floating-point control word of the host, sets the default one (round to nearest, no
//! flushing of small numbers), runs the work, turns a panic or an error into a code and a message, and
//! gives the host its word back. A host that flushes denormal numbers to zero therefore gets the same
//! bits as any other, and the threads that a simulation starts inherit the default word.

use super::fault::{Fault, MNS_ERROR_PANIC, MNS_OK, mns_result, remember};
use super::log;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Run the body of an export that returns a code.
pub(super) fn guard(name: &str, work: impl FnOnce() -> Result<(), Fault>) -> mns_result {
    let result = enter(work);
    let fault = match result {
        Ok(Ok(())) => return MNS_OK,
        Ok(Err(fault)) => fault,
        Err(message) => Fault { code: MNS_ERROR_PANIC, message: format!("fault in {name}: {message}") },
    };
    remember(&fault);
    // A host's log callback runs as host code and may not stop the error from being told.
    log::error(name, &fault.message);
    fault.code
}

/// Run the body of an export that cannot fail and returns a value.
pub(super) fn guard_value<T>(_name: &str, fallback: T, work: impl FnOnce() -> T) -> T {
    enter(work).unwrap_or(fallback)
}

fn enter<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    quiet_panics();
    let _float = FloatState::enter();
    let depth = DEPTH.with(|d| d.replace(d.get() + 1));
    let result = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        panic_if_asked();
        work()
    }));
    DEPTH.with(|d| d.set(depth));
    result.map_err(|payload| {
        let message = describe(payload.as_ref());
        // The payload may be anything; what its drop does must not reach the host.
        std::mem::forget(payload);
        message
    })
}

thread_local! {
    /// How many exports this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where the last caught panic was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    /// The control word of the host, while an export runs.
    static HOST: Cell<u32> = const { Cell::new(DEFAULT_CONTROL) };
}

#[cfg(test)]
thread_local! {
    /// The next export on this thread panics.
    pub(super) static PANIC_NEXT: Cell<bool> = const { Cell::new(false) };
}

#[cfg(test)]
fn panic_if_asked() {
    if PANIC_NEXT.with(|p| p.replace(false)) {
        std::panic::panic_any("a test asked for this");
    }
}

fn describe(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    let place = PLACE.with(|p| std::mem::take(&mut *p.borrow_mut()));
    if place.is_empty() { text } else { format!("{text} ({place})") }
}

/// A library may not print: panics inside exports and on our workers are kept, all others go where
/// they went before.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let inside = DEPTH.try_with(|d| d.get() > 0).unwrap_or(false);
            let worker = std::thread::current().name().is_some_and(|n| n.starts_with("meniscus-"));
            if inside {
                let place = info.location().map(|l| format!("{}:{}", l.file(), l.line()));
                let _ = PLACE.try_with(|p| p.replace(place.unwrap_or_default()));
            } else if !worker {
                before(info);
            }
        }));
    });
}

/// Round to nearest, all exceptions masked, small numbers kept.
const DEFAULT_CONTROL: u32 = 0x1F80;

/// Gives the host its control word back when dropped.
struct FloatState {
    host: u32,
    outer: u32,
}

impl FloatState {
    fn enter() -> Self {
        let host = control();
        set_control(DEFAULT_CONTROL);
        Self { host, outer: HOST.with(|h| h.replace(host)) }
    }
}

impl Drop for FloatState {
    fn drop(&mut self) {
        HOST.with(|h| h.set(self.outer));
        set_control(self.host);
    }
}

/// Run a callback of the host with the host's own control word.
pub(super) fn as_host<T>(callback: impl FnOnce() -> T) -> T {
    set_control(HOST.with(Cell::get));
    let result = callback();
    set_control(DEFAULT_CONTROL);
    result
}

#[cfg(target_arch = "x86_64")]
fn control() -> u32 {
    let mut word = 0u32;
    // SAFETY: the instruction writes the four bytes of `word` and nothing else.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack, preserves_flags));
    }
    word
}

#[cfg(target_arch = "x86_64")]
fn set_control(word: u32) {
    // SAFETY: the word is the default or one that the processor gave us; Rust code runs under the
    // default one, and the host's is set only round the host's own code.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &word, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn control() -> u32 {
    DEFAULT_CONTROL
}

#[cfg(not(target_arch = "x86_64"))]
fn set_control(_word: u32) {}
