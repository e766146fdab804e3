//! The state of a simulation as bytes: named arrays, each with its length and a checksum.
//!
//! ```text
//!     "MNSSTATE"  version u32
//!     array: name length u32, name, bytes u64, crc32 u32, bytes (little endian)        repeated
//! ```
//!
//! The last array, `sum`, is the crc32 of everything before it, names and lengths included.
//! Reading goes in the order of writing and checks names, sizes and sums, so that a damaged or
//! foreign file is refused and never misread.

use crate::error::{Error, Result};
use crate::math::Vec3;

const MAGIC: &[u8; 8] = b"MNSSTATE";
/// Version of the format.
pub const STATE_VERSION: u32 = 1;

/// Collects arrays.
pub struct Writer {
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    pub fn new() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(STATE_VERSION.to_le_bytes());
        Self { bytes }
    }

    fn array(&mut self, name: &str, size: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.extend((name.len() as u32).to_le_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.extend((size as u64).to_le_bytes());
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.bytes.reserve(size);
        fill(&mut self.bytes);
        let sum = crc32fast::hash(&self.bytes[at + 4..]);
        self.bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
    }

    pub fn f64s(&mut self, name: &str, values: &[f64]) {
        self.array(name, values.len() * 8, |b| values.iter().for_each(|v| b.extend(v.to_le_bytes())));
    }

    pub fn f32s(&mut self, name: &str, values: &[f32]) {
        self.array(name, values.len() * 4, |b| values.iter().for_each(|v| b.extend(v.to_le_bytes())));
    }

    pub fn u64s(&mut self, name: &str, values: &[u64]) {
        self.array(name, values.len() * 8, |b| values.iter().for_each(|v| b.extend(v.to_le_bytes())));
    }

    pub fn i32s(&mut self, name: &str, values: &[i32]) {
        self.array(name, values.len() * 4, |b| values.iter().for_each(|v| b.extend(v.to_le_bytes())));
    }

    pub fn vectors(&mut self, name: &str, values: &[Vec3]) {
        self.array(name, values.len() * 24, |b| {
            values.iter().flat_map(|v| v.iter()).for_each(|v| b.extend(v.to_le_bytes()));
        });
    }

    pub fn finish(mut self) -> Vec<u8> {
        let sum = crc32fast::hash(&self.bytes);
        self.array("sum", 4, |b| b.extend(sum.to_le_bytes()));
        self.bytes
    }
}

/// Reads arrays back in the order in which they were written.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Self { bytes, at: 0 };
        if reader.take(8)? != MAGIC {
            return Err(reader.damaged("this is not a saved state"));
        }
        match reader.u32()? {
            STATE_VERSION => Ok(reader),
            found => Err(Error::Version { what: "saved state".into(), found, supported: STATE_VERSION }),
        }
    }

    fn damaged(&self, message: &str) -> Error {
        Error::Format {
            file: "saved state".into(),
            place: format!("byte {}", self.at),
            message: message.to_string(),
        }
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(n).filter(|&e| e <= self.bytes.len());
        let end = end.ok_or_else(|| self.damaged("the file ends too early"))?;
        let part = &self.bytes[self.at..end];
        self.at = end;
        Ok(part)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(fixed(self.take(4)?)))
    }

    fn array(&mut self, name: &str, width: usize) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        if self.take(length)? != name.as_bytes() {
            return Err(self.damaged(&format!("the array '{name}' is missing")));
        }
        let size = u64::from_le_bytes(fixed(self.take(8)?));
        let sum = self.u32()?;
        let data = self.take(usize::try_from(size).unwrap_or(usize::MAX))?;
        if crc32fast::hash(data) != sum || !data.len().is_multiple_of(width) {
            return Err(self.damaged(&format!("the array '{name}' is damaged")));
        }
        Ok(data)
    }

    pub fn f64s(&mut self, name: &str) -> Result<Vec<f64>> {
        Ok(self.array(name, 8)?.chunks_exact(8).map(|c| f64::from_le_bytes(fixed(c))).collect())
    }

    pub fn f32s(&mut self, name: &str) -> Result<Vec<f32>> {
        Ok(self.array(name, 4)?.chunks_exact(4).map(|c| f32::from_le_bytes(fixed(c))).collect())
    }

    pub fn u64s(&mut self, name: &str) -> Result<Vec<u64>> {
        Ok(self.array(name, 8)?.chunks_exact(8).map(|c| u64::from_le_bytes(fixed(c))).collect())
    }

    pub fn i32s(&mut self, name: &str) -> Result<Vec<i32>> {
        Ok(self.array(name, 4)?.chunks_exact(4).map(|c| i32::from_le_bytes(fixed(c))).collect())
    }

    pub fn vectors(&mut self, name: &str) -> Result<Vec<Vec3>> {
        let number = |c: &[u8], a: usize| f64::from_le_bytes(fixed(&c[8 * a..8 * a + 8]));
        let vector = |c: &[u8]| Vec3::new(number(c, 0), number(c, 1), number(c, 2));
        Ok(self.array(name, 24)?.chunks_exact(24).map(vector).collect())
    }

    /// `values` if there are `expected` of them.
    pub fn expect<T>(&self, name: &str, values: Vec<T>, expected: usize) -> Result<Vec<T>> {
        if values.len() == expected {
            return Ok(values);
        }
        Err(self.damaged(&format!("the array '{name}' has {} values instead of {expected}", values.len())))
    }
}

/// Check a state without knowing what is in it; returns the number of arrays.
pub fn check(bytes: &[u8]) -> Result<usize> {
    let mut from = Reader::new(bytes)?;
    let mut count = 0;
    while from.at < bytes.len() {
        let begin = from.at;
        let length = from.u32()? as usize;
        let name = from.take(length)?;
        from.at = begin;
        if name == b"sum" {
            let sum = from.array("sum", 4)?;
            let good = sum == crc32fast::hash(&bytes[..begin]).to_le_bytes() && from.at == bytes.len();
            return if good { Ok(count) } else { Err(from.damaged("the sum over all of it is another")) };
        }
        from.array(&String::from_utf8_lossy(name), 1)?;
        count += 1;
    }
    Err(from.damaged("the file ends without its sum"))
}

/// The first N bytes; shorter slices are filled with zeros.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut w = Writer::new();
        w.f64s("speed", &[1.5, -2.25]);
        w.vectors("position", &[Vec3::new(1.0, 2.0, 3.0)]);
        w.u64s("id", &[7]);
        w.finish()
    }

    #[test]
    fn what_was_written_is_read_back() {
        let bytes = sample();
        let mut r = Reader::new(&bytes).unwrap();
        assert_eq!(r.f64s("speed").unwrap(), [1.5, -2.25]);
        assert_eq!(r.vectors("position").unwrap(), [Vec3::new(1.0, 2.0, 3.0)]);
        assert_eq!(r.u64s("id").unwrap(), [7]);
    }

    #[test]
    fn every_damage_is_noticed() {
        let bytes = sample();
        let read = |b: &[u8]| -> Result<()> {
            let mut r = Reader::new(b)?;
            r.f64s("speed")?;
            r.vectors("position")?;
            r.u64s("id").map(|_| ())
        };
        assert!(read(&bytes).is_ok());
        assert_eq!(check(&bytes), Ok(3));
        // What a simulation reads ends before the sum, which stands for whoever does not know the arrays.
        let whole = bytes.len() - (4 + 3 + 8 + 4 + 4);
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]).is_err(), end < whole);
            assert!(check(&bytes[..end]).is_err());
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&bad).is_err(), bit / 8 < whole, "bit {bit}");
            assert!(check(&bad).is_err(), "bit {bit}");
        }
    }
}
