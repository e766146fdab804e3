//! Memory that is asked for before it is needed.
//!
//! A processor sees by itself that an array is read from one end to the other and fetches ahead, but no further than
//! to the end of a page of 4 KB: there it begins anew, and waits. A row kernel reads 84 bytes of matrix a row and meets
//! such an end every fifty rows. Asking by hand for what lies half a page ahead takes most of the waiting away: products
//! gain half of their speed. Nothing is read and no result changes; the `unsafe` is the word for
//! the instruction, which may be given any address.

use std::ops::Range;

/// How far ahead, in bytes.
const AHEAD: usize = 2048;
/// Bytes that come at once.
const LINE: usize = 64;

/// Ask for what lies ahead of the given elements of an array that is read towards its end.
#[inline(always)]
pub(super) fn ahead<T>(array: &[T], used: Range<usize>) {
    let size = size_of::<T>().clamp(1, LINE);
    for k in used.step_by(LINE / size) {
        fetch(array.as_ptr().wrapping_add(k + AHEAD / size));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch<T>(at: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that the program can see, and an address that does not exist is passed over.
    unsafe { _mm_prefetch(at.cast(), _MM_HINT_T0) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch<T>(_: *const T) {}
