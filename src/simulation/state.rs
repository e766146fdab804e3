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
//!
//! Writing has two parts: arrays are copied as they are handed over, while the simulation waits; the sums are made
//! by [`Writer::finish`] or, on their way to a disk, by [`Writer::finish_into`]; both may run on another thread while
//! the simulation goes on.
//!
//! Version 2 begins with what the arrays stand on: the program, the simulator, and its lattice.

use crate::error::{Error, Result};
use crate::math::Vec3;
use std::io;

const MAGIC: &[u8; 8] = b"MNSSTATE";
/// Version of the format.
pub const STATE_VERSION: u32 = 4;

/// Bytes that are turned into the file's order at once; small enough to stay in the fastest cache.
const BLOCK: usize = 6144;

/// Collects arrays.
pub struct Writer {
    bytes: Vec<u8>,
    /// Where the bytes of each array begin and end; its sum stands before them.
    arrays: Vec<[usize; 2]>,
    /// Bytes that there was no room for; 0 if there was for all.
    refused: usize,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    pub fn new() -> Self {
        Self::with_room(0)
    }

    /// With room for this many bytes.
    pub fn with_room(bytes: usize) -> Self {
        let mut all = Vec::new();
        // Where there is not so much room at once, less may do; what does not is noticed below.
        let _ = all.try_reserve(bytes);
        all.extend_from_slice(MAGIC);
        all.extend_from_slice(&STATE_VERSION.to_le_bytes());
        Self { bytes: all, arrays: Vec::new(), refused: 0 }
    }

    fn array<T, const N: usize>(&mut self, name: &str, values: &[T], bytes_of: impl Fn(&T) -> [u8; N]) {
        let needed = 16 + name.len() + values.len() * N;
        if self.refused > 0 || self.bytes.try_reserve(needed).is_err() {
            self.refused += needed;
            return;
        }
        self.bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(&((values.len() * N) as u64).to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        let begin = self.bytes.len();
        let mut block = [0; BLOCK];
        for part in values.chunks(BLOCK / N) {
            for (to, value) in block.chunks_exact_mut(N).zip(part) {
                to.copy_from_slice(&bytes_of(value));
            }
            self.bytes.extend_from_slice(&block[..part.len() * N]);
        }
        self.arrays.push([begin, self.bytes.len()]);
    }

    pub fn f64s(&mut self, name: &str, values: &[f64]) {
        self.array(name, values, |v| v.to_le_bytes());
    }

    pub fn f32s(&mut self, name: &str, values: &[f32]) {
        self.array(name, values, |v| v.to_le_bytes());
    }

    pub fn u64s(&mut self, name: &str, values: &[u64]) {
        self.array(name, values, |v| v.to_le_bytes());
    }

    pub fn i32s(&mut self, name: &str, values: &[i32]) {
        self.array(name, values, |v| v.to_le_bytes());
    }

    pub fn vectors(&mut self, name: &str, values: &[Vec3]) {
        self.array(name, values, |v| {
            let mut bytes = [0; 24];
            for (to, x) in bytes.chunks_exact_mut(8).zip(v.iter()) {
                to.copy_from_slice(&x.to_le_bytes());
            }
            bytes
        });
    }

    pub fn text(&mut self, name: &str, text: &str) {
        self.array(name, text.as_bytes(), |b| [*b]);
    }

    /// This, if there was room for all of it.
    pub fn whole(self) -> Result<Self> {
        if self.refused == 0 {
            return Ok(self);
        }
        let needed_mb = ((self.bytes.len() + self.refused) >> 20) as u64;
        let fix = "free some memory: what is simulated is not touched".into();
        Err(Error::Memory {
            what: "a copy of the state".into(),
            needed_mb,
            limit_mb: (self.bytes.len() >> 20) as u64,
            fix,
        })
    }

    /// Bytes so far.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Put the sums in.
    pub fn finish(mut self) -> Vec<u8> {
        // Nothing can go wrong where nothing is written.
        let _ = self.sum_up(|_| Ok(()));
        self.bytes
    }

    /// Put the sums in and hand the bytes over piece by piece, each as soon as it is done, so that a disk is busy while
    /// the sums of what follows are made.
    pub fn finish_into(&mut self, give: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.sum_up(give)
    }

    /// Every byte is read once: the sum over everything is put together from those of its parts.
    fn sum_up(&mut self, mut give: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut whole = crc32fast::Hasher::new();
        let mut done = 0;
        for [begin, end] in std::mem::take(&mut self.arrays) {
            let mut part = crc32fast::Hasher::new();
            part.update(&self.bytes[begin..end]);
            let sum = part.clone().finalize();
            self.bytes[begin - 4..begin].copy_from_slice(&sum.to_le_bytes());
            whole.update(&self.bytes[done..begin]);
            whole.combine(&part);
            give(&self.bytes[done..end])?;
            done = end;
        }
        let sum = whole.finalize().to_le_bytes();
        self.array("sum", &sum, |b| [*b]);
        let begin = self.bytes.len() - 4;
        let own = crc32fast::hash(&sum);
        self.bytes[begin - 4..begin].copy_from_slice(&own.to_le_bytes());
        give(&self.bytes[done..])
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

    pub fn damaged(&self, message: &str) -> Error {
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

    pub fn text(&mut self, name: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(self.array(name, 1)?).into_owned())
    }

    /// Coordinates of tiles, each once and near enough that places in them can be counted.
    pub fn tiles(&mut self, name: &str) -> Result<Vec<[i32; 3]>> {
        const FAR: i32 = 1 << 24;
        let coords: Vec<[i32; 3]> = self.i32s(name)?.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect();
        let near = |c: &[i32; 3]| c.iter().all(|x| (-FAR..FAR).contains(x));
        let mut each = coords.clone();
        each.sort_unstable();
        each.dedup();
        match coords.iter().all(near) && each.len() == coords.len() {
            true => Ok(coords),
            false => Err(self.damaged(&format!("the array '{name}' has tiles twice or out of reach"))),
        }
    }

    /// `values` if all of them are finite numbers.
    pub fn finite(&self, name: &str, values: Vec<f64>) -> Result<Vec<f64>> {
        match values.iter().all(|v| v.is_finite()) {
            true => Ok(values),
            false => Err(self.not_finite(name)),
        }
    }

    /// The same for points.
    pub fn finite_points(&self, name: &str, values: Vec<Vec3>) -> Result<Vec<Vec3>> {
        match values.iter().all(|v| v.iter().all(|c| c.is_finite())) {
            true => Ok(values),
            false => Err(self.not_finite(name)),
        }
    }

    fn not_finite(&self, name: &str) -> Error {
        self.damaged(&format!("the array '{name}' holds a number that is not finite"))
    }

    /// A count that can still be counted on from.
    pub fn counters<const N: usize>(&mut self, name: &str) -> Result<[u64; N]> {
        let values = self.u64s(name)?;
        let values = self.expect(name, values, N)?;
        match values.iter().all(|v| *v < 1 << 62) {
            true => Ok(std::array::from_fn(|i| values[i])),
            false => Err(self.damaged(&format!("the array '{name}' has counted too far"))),
        }
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
    fn long_arrays_are_copied_in_blocks_without_a_seam() {
        let values: Vec<f64> = (0..5000).map(|i| f64::from(i) * 0.25).collect();
        let places: Vec<Vec3> = values.iter().map(|v| Vec3::new(*v, -v, 1.0 / (1.0 + v))).collect();
        let filled = |values: &[f64], places: &[Vec3]| {
            let mut w = Writer::with_room(100);
            w.f64s("values", values);
            w.vectors("places", places);
            w.text("made by", "somebody");
            w
        };
        let bytes = filled(&values, &places).finish();
        assert_eq!(check(&bytes), Ok(3));
        let mut pieces = Vec::new();
        let give = |piece: &[u8]| {
            pieces.extend_from_slice(piece);
            Ok(())
        };
        filled(&values, &places).finish_into(give).unwrap();
        assert!(pieces == bytes, "piece by piece it is the same");
        let mut r = Reader::new(&bytes).unwrap();
        assert_eq!(r.f64s("values").unwrap(), values);
        assert_eq!(r.vectors("places").unwrap(), places);
        assert_eq!(r.text("made by").unwrap(), "somebody");
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
