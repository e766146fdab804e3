//! Flat arrays that cross the border.
//!
//! Inputs are read number by number, so any alignment and stride will do, and copied before a call
//! returns. Outputs point into memory of the library.

use super::fault::{Fault, MNS_ERROR_MEMORY, mns_result};
use super::guard::guard;
use super::pointer::{Out, check};
use crate::math::Vec3;
use std::ffi::c_void;

/// 32-bit floating point.
pub const MNS_TYPE_F32: i32 = 1;
/// 64-bit floating point.
pub const MNS_TYPE_F64: i32 = 2;
/// 32-bit signed integer.
pub const MNS_TYPE_I32: i32 = 3;
/// 32-bit unsigned integer.
pub const MNS_TYPE_U32: i32 = 4;
/// 64-bit signed integer.
pub const MNS_TYPE_I64: i32 = 5;
/// 64-bit unsigned integer.
pub const MNS_TYPE_U64: i32 = 6;
/// Byte.
pub const MNS_TYPE_U8: i32 = 7;

/// Numbers in memory: `count` elements, each of `width` numbers of one type, `stride` bytes from one
/// element to the next. As an input it is copied before the call returns. As an output it belongs to
/// the library and is valid until the next call that changes or destroys the object it came from.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mns_array {
    /// The first number; may be NULL if count is 0.
    pub data: *const c_void,
    /// Number of elements, such as points or triangles.
    pub count: usize,
    /// Bytes from one element to the next; 0 if they follow each other without a gap.
    pub stride: usize,
    /// One of the MNS_TYPE constants.
    pub r#type: i32,
    /// Numbers in an element: 3 for points, vectors and triangles.
    pub width: i32,
}

/// What a Rust slice is called in C.
pub(super) trait Element: Copy {
    const TYPE: i32;
    const WIDTH: i32;
}

macro_rules! elements {
    ($($element:ty, $type:expr, $width:expr;)*) => {
        $(impl Element for $element {
            const TYPE: i32 = $type;
            const WIDTH: i32 = $width;
        })*
    };
}
elements! {
    f32, MNS_TYPE_F32, 1;
    f64, MNS_TYPE_F64, 1;
    u64, MNS_TYPE_U64, 1;
    u8, MNS_TYPE_U8, 1;
    [u32; 3], MNS_TYPE_U32, 3;
    [u32; 4], MNS_TYPE_U32, 4;
    [i32; 3], MNS_TYPE_I32, 3;
    [f64; 8], MNS_TYPE_F64, 8;
    Vec3, MNS_TYPE_F64, 3;
}

impl mns_array {
    /// A view of a slice.
    pub(super) fn of<T: Element>(slice: &[T]) -> Self {
        Self {
            data: slice.as_ptr().cast(),
            count: slice.len(),
            stride: size_of::<T>(),
            r#type: T::TYPE,
            width: T::WIDTH,
        }
    }

    /// The same numbers, `width` of them to an element.
    pub(super) fn grouped(self, width: usize) -> Self {
        let width = width.max(1);
        Self {
            count: self.count / width,
            stride: self.stride * width,
            width: self.width * width as i32,
            ..self
        }
    }

    /// Bytes of one number.
    fn number_size(&self, what: &str) -> Result<usize, Fault> {
        match self.r#type {
            MNS_TYPE_F32 | MNS_TYPE_I32 | MNS_TYPE_U32 => Ok(4),
            MNS_TYPE_F64 | MNS_TYPE_I64 | MNS_TYPE_U64 => Ok(8),
            MNS_TYPE_U8 => Ok(1),
            other => Err(Fault::invalid(what, format!("{other} is not the type of an array"))),
        }
    }

    /// Refuse an array that cannot be; the bytes from one element to the next.
    fn checked_stride(&self, what: &str) -> Result<usize, Fault> {
        let size = self.number_size(what)?;
        let bad = |message: String| Err(Fault::invalid(what, message));
        if !(1..=1024).contains(&self.width) {
            return bad(format!("{} numbers in an element", self.width));
        }
        let packed = size * self.width as usize;
        let stride = if self.stride == 0 { packed } else { self.stride };
        if stride < packed {
            return bad(format!("the stride is {stride} bytes, an element has {packed}"));
        }
        let whole = self.count.checked_mul(stride).filter(|s| *s <= isize::MAX as usize);
        if whole.is_none() {
            return bad(format!("{} elements cannot be", self.count));
        }
        if self.count > 0 && self.data.is_null() {
            return bad(format!("has {} elements, but data is NULL", self.count));
        }
        Ok(stride)
    }

    /// Every number, converted.
    ///
    /// # Safety
    /// `data` points to as many bytes as `count`, `stride`, `type` and `width` say.
    unsafe fn numbers<T>(
        &self,
        what: &str,
        convert: impl Fn(Number) -> Result<T, String>,
    ) -> Result<Vec<T>, Fault> {
        let stride = self.checked_stride(what)?;
        let (size, width) = (self.number_size(what)?, self.width as usize);
        let mut out = reserve(self.count.saturating_mul(width), what)?;
        for i in 0..self.count {
            for w in 0..width {
                let at = self.data.cast::<u8>().wrapping_add(i * stride + w * size);
                // SAFETY: element i and number w lie within the array by the caller's promise.
                let number = unsafe { Number::at(at, self.r#type) };
                let value = convert(number).map_err(|m| Fault::invalid(what, format!("element {i}: {m}")))?;
                out.push(value);
            }
        }
        Ok(out)
    }

    /// Finite real numbers, f32 or f64, `width` to an element.
    ///
    /// # Safety
    /// As for `numbers`.
    pub(super) unsafe fn reals(&self, what: &str, width: i32) -> Result<Vec<f64>, Fault> {
        if !matches!(self.r#type, MNS_TYPE_F32 | MNS_TYPE_F64) {
            return Err(Fault::invalid(what, "must hold f32 or f64"));
        }
        self.check_width(what, width)?;
        // SAFETY: the caller's promise.
        unsafe {
            self.numbers(what, |n| match n {
                Number::Real(v) if v.is_finite() => Ok(v),
                _ => Err("is not a finite number".into()),
            })
        }
    }

    /// Numbers of any type as f32, also such that are not finite.
    ///
    /// # Safety
    /// As for `numbers`.
    pub(super) unsafe fn singles(&self, what: &str) -> Result<Vec<f32>, Fault> {
        // SAFETY: the caller's promise.
        unsafe { self.numbers(what, |n| Ok(n.as_f64() as f32)) }
    }

    /// Points.
    ///
    /// # Safety
    /// As for `numbers`.
    pub(super) unsafe fn vectors(&self, what: &str) -> Result<Vec<Vec3>, Fault> {
        // SAFETY: the caller's promise.
        let flat = unsafe { self.reals(what, 3) }?;
        Ok(flat.chunks_exact(3).map(Vec3::from_column_slice).collect())
    }

    /// Triangles.
    ///
    /// # Safety
    /// As for `numbers`.
    pub(super) unsafe fn triangles(&self, what: &str) -> Result<Vec<[u32; 3]>, Fault> {
        self.check_width(what, 3)?;
        // SAFETY: the caller's promise.
        let flat = unsafe {
            self.numbers(what, |n| match n {
                Number::Whole(v) => u32::try_from(v).map_err(|_| format!("{v} is not an index")),
                Number::Real(v) => Err(format!("{v} is a real number, not an index")),
            })
        }?;
        Ok(flat.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect())
    }

    fn check_width(&self, what: &str, width: i32) -> Result<(), Fault> {
        if self.width == width {
            return Ok(());
        }
        Err(Fault::invalid(what, format!("has {} numbers in an element, not {width}", self.width)))
    }
}

/// Room for numbers, or an error where a plain vector would end the process.
pub(super) fn reserve<T>(count: usize, what: &str) -> Result<Vec<T>, Fault> {
    let mut out = Vec::new();
    let fault = |_| Fault { code: MNS_ERROR_MEMORY, message: format!("{what}: no room for {count} numbers") };
    out.try_reserve_exact(count).map_err(fault)?;
    Ok(out)
}

/// One number of an array.
enum Number {
    Real(f64),
    Whole(i128),
}

impl Number {
    /// # Safety
    /// `at` points to a number of the type, aligned or not.
    unsafe fn at(at: *const u8, kind: i32) -> Self {
        // SAFETY: by the caller's promise the bytes can be read; every pattern of them is a number.
        unsafe {
            match kind {
                MNS_TYPE_F32 => Number::Real(at.cast::<f32>().read_unaligned() as f64),
                MNS_TYPE_F64 => Number::Real(at.cast::<f64>().read_unaligned()),
                MNS_TYPE_I32 => Number::Whole(at.cast::<i32>().read_unaligned() as i128),
                MNS_TYPE_U32 => Number::Whole(at.cast::<u32>().read_unaligned() as i128),
                MNS_TYPE_I64 => Number::Whole(at.cast::<i64>().read_unaligned() as i128),
                MNS_TYPE_U64 => Number::Whole(at.cast::<u64>().read_unaligned() as i128),
                _ => Number::Whole(at.read() as i128),
            }
        }
    }

    fn as_f64(&self) -> f64 {
        match self {
            Number::Real(v) => *v,
            Number::Whole(v) => *v as f64,
        }
    }
}

/// Copy an array's numbers, one after another, as 32-bit floats into memory of the caller. `capacity` is
/// the room in `out` in floats; less than count times width is MNS_ERROR_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_array_copy_f32(
    array: *const mns_array,
    out: *mut f32,
    capacity: usize,
) -> mns_result {
    guard("mns_array_copy_f32", || {
        // SAFETY: the header asks for a valid array and for `capacity` floats.
        unsafe { copy(array, out, capacity, |v| v as f32) }
    })
}

/// Like mns_array_copy_f32, as 64-bit floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mns_array_copy_f64(
    array: *const mns_array,
    out: *mut f64,
    capacity: usize,
) -> mns_result {
    guard("mns_array_copy_f64", || {
        // SAFETY: the header asks for a valid array and for `capacity` floats.
        unsafe { copy(array, out, capacity, |v| v) }
    })
}

/// # Safety
/// `array` is NULL or a valid array, `out` NULL or room for `capacity` numbers.
unsafe fn copy<T: Copy>(
    array: *const mns_array,
    out: *mut T,
    capacity: usize,
    convert: impl Fn(f64) -> T,
) -> Result<(), Fault> {
    check(array, "array")?;
    // SAFETY: neither is NULL; valid by the caller's promise.
    let (array, out) = unsafe { (array.read(), Out::new(out, "out")?) };
    let stride = array.checked_stride("array")?;
    let (size, width) = (array.number_size("array")?, array.width as usize);
    if array.count.saturating_mul(width) > capacity {
        let message = format!("there is room for {capacity} numbers of {}", array.count * width);
        return Err(Fault::invalid("capacity", message));
    }
    for i in 0..array.count * width {
        let at = array.data.cast::<u8>().wrapping_add(i / width * stride + i % width * size);
        // SAFETY: number i lies within the array, and i < capacity.
        unsafe { out.at(i).write(convert(Number::at(at, array.r#type).as_f64())) }
    }
    Ok(())
}
