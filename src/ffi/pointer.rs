//! Pointers from C become checked values.

use super::fault::Fault;
use std::ffi::{CStr, c_char};

/// A place to write a result to: not NULL and aligned.
pub(super) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// # Safety
    /// `place` is NULL or may be written to while the value lives.
    pub unsafe fn new(place: *mut T, what: &str) -> Result<Self, Fault> {
        check(place, what)?;
        Ok(Self(place))
    }

    /// The same for a place that the caller may leave out.
    ///
    /// # Safety
    /// As for [`Out::new`].
    pub unsafe fn optional(place: *mut T, what: &str) -> Result<Option<Self>, Fault> {
        // SAFETY: the caller's promise.
        if place.is_null() { Ok(None) } else { unsafe { Self::new(place, what) }.map(Some) }
    }

    /// The place `i` values further on, for arrays.
    pub fn at(&self, i: usize) -> *mut T {
        self.0.wrapping_add(i)
    }

    pub fn write(&self, value: T) {
        // SAFETY: checked for NULL and alignment in `new`, writable by the promise made there.
        unsafe { self.0.write(value) }
    }
}

pub(super) fn check<T>(pointer: *const T, what: &str) -> Result<(), Fault> {
    if pointer.is_null() {
        return Err(Fault::invalid(what, "is NULL"));
    }
    if !pointer.is_aligned() {
        return Err(Fault::invalid(what, "is not aligned"));
    }
    Ok(())
}

/// Text of the host.
///
/// # Safety
/// `text` is NULL or ends with a zero byte, and lives as long as the result is used.
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Fault> {
    check(text, what)?;
    // SAFETY: not NULL, and ended by a zero byte by the caller's promise.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map_err(|e| Fault::invalid(what, format!("is not UTF-8 at byte {}", e.valid_up_to())))
}

/// Bytes of the host.
///
/// # Safety
/// `data` is NULL or points to `size` bytes that live as long as the result is used.
pub(super) unsafe fn bytes<'a>(data: *const u8, size: usize, what: &str) -> Result<&'a [u8], Fault> {
    check(data, what)?;
    if size > isize::MAX as usize {
        return Err(Fault::invalid(what, format!("{size} bytes cannot be")));
    }
    // SAFETY: not NULL, and of this size by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, size) })
}
