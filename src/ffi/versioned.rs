//! Structs that begin with `struct_size`, so that host and library may be of different age.
//!
//! Fields are only ever appended and zero means the default. An older host sends fewer bytes: the rest
//! is zero. A newer host sends more: they must be zero, or it wants something that this library does
//! not know, which is MNS_ERROR_VERSION. Results are cut to the host's size or filled up with zeros.

use super::fault::{Fault, MNS_ERROR_VERSION};
use super::pointer::check;

/// No struct of any version is as large as this; a larger size is rubbish.
const MAX_SIZE: usize = 4096;

/// A plain C struct whose first field is `uint32_t struct_size`.
///
/// # Safety
/// `repr(C)`, first field `struct_size: u32`, and all bits zero is a value.
pub(super) unsafe trait Versioned: Copy {
    fn set_size(&mut self, size: u32);
}

macro_rules! versioned {
    ($($name:ty),* $(,)?) => {$(
        // SAFETY: a repr(C) struct of numbers, pointers and optional function pointers that begins
        // with its size.
        unsafe impl $crate::ffi::versioned::Versioned for $name {
            fn set_size(&mut self, size: u32) {
                self.struct_size = size;
            }
        }
    )*};
}
pub(super) use versioned;

fn zeroed<T: Versioned>() -> T {
    // SAFETY: all bits zero is a value, by the trait's promise.
    unsafe { std::mem::zeroed() }
}

/// A fresh struct of this library's size.
pub(super) fn fresh<T: Versioned>() -> T {
    let mut value = zeroed::<T>();
    value.set_size(size_of::<T>() as u32);
    value
}

/// # Safety
/// `place` is NULL or points to a struct that begins with its size.
unsafe fn size_at<T>(place: *const T, what: &str) -> Result<usize, Fault> {
    check(place, what)?;
    // SAFETY: not NULL; every versioned struct begins with a u32.
    let size = unsafe { place.cast::<u32>().read() } as usize;
    if !(4..=MAX_SIZE).contains(&size) {
        return Err(Fault::invalid(what, format!("struct_size is {size}; set it to the size of the struct")));
    }
    Ok(size)
}

/// Read a struct of the host.
///
/// # Safety
/// `place` is NULL or points to as many readable bytes as its first field says.
pub(super) unsafe fn read<T: Versioned>(place: *const T, what: &str) -> Result<T, Fault> {
    // SAFETY: the caller's promise.
    let size = unsafe { size_at(place, what) }?;
    let known = size_of::<T>();
    let mut value = zeroed::<T>();
    // SAFETY: both regions hold at least that many bytes and do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(place.cast::<u8>(), (&raw mut value).cast::<u8>(), size.min(known));
    }
    for at in known..size {
        // SAFETY: within the bytes that the host promised.
        if unsafe { place.cast::<u8>().add(at).read() } != 0 {
            let message = format!("{what}: byte {at} is set, but this library knows only {known} bytes");
            return Err(Fault { code: MNS_ERROR_VERSION, message });
        }
    }
    Ok(value)
}

/// A place for a result, checked before the work is done.
pub(super) struct VersionedOut<T> {
    place: *mut T,
    size: usize,
}

impl<T: Versioned> VersionedOut<T> {
    /// # Safety
    /// `place` is NULL or points to as many writable bytes as its first field says.
    pub unsafe fn new(place: *mut T, what: &str) -> Result<Self, Fault> {
        // SAFETY: the caller's promise.
        let size = unsafe { size_at(place, what) }?;
        Ok(Self { place, size })
    }

    /// Write as much as the host has room for; its size stays what it is.
    pub fn write(&self, mut value: T) {
        value.set_size(self.size as u32);
        let known = size_of::<T>().min(self.size);
        let place = self.place.cast::<u8>();
        // SAFETY: `size` bytes are writable by the promise made in `new`, and `known` is at most that.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), place, known);
            std::ptr::write_bytes(place.add(known), 0, self.size - known);
        }
    }
}

/// Fill a struct of the host with defaults.
///
/// # Safety
/// `place` is NULL or points to `size` writable bytes.
pub(super) unsafe fn init<T: Versioned>(
    place: *mut T,
    size: usize,
    value: T,
    what: &str,
) -> Result<(), Fault> {
    check(place, what)?;
    if !(4..=MAX_SIZE).contains(&size) {
        return Err(Fault::invalid(what, format!("the size is {size}; pass the size of the struct")));
    }
    VersionedOut { place, size }.write(value);
    Ok(())
}
