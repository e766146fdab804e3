//! Bytes packed by zstd, for checkpoints that shall take less room.
//!
//! ```text
//!     "MNSPACK1"
//!     chunk: bytes u32, packed bytes u32, crc32 of the packed bytes u32, one zstd frame        repeated
//!     end:   0 u32, 0 u32, crc32 of all bytes u32
//! ```
//!
//! A chunk is at most a megabyte, so whoever made a file up cannot make its reader hold more than it allows: the
//! chunks are unpacked one by one, and no more of them than the reader has room for.

use crate::error::{Error, Result};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::{self, Read};

const MAGIC: &[u8; 8] = b"MNSPACK1";
/// The most bytes of a chunk before it is packed.
const CHUNK: usize = 1 << 20;

/// Hand the packed form of some bytes over, piece by piece.
pub fn pack(bytes: &[u8], give: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    give(MAGIC)?;
    for chunk in bytes.chunks(CHUNK) {
        let packed = compress_to_vec(chunk, CompressionLevel::Fastest);
        give(&head(chunk.len(), packed.len(), crc32fast::hash(&packed)))?;
        give(&packed)?;
    }
    give(&head(0, 0, crc32fast::hash(bytes)))
}

fn head(bytes: usize, packed: usize, sum: u32) -> [u8; 12] {
    let mut head = [0; 12];
    for (to, number) in head.chunks_exact_mut(4).zip([bytes as u32, packed as u32, sum]) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    head
}

/// Whether bytes begin as packed ones do.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The bytes that were packed, at most `most` of them.
pub fn unpack(packed: &[u8], most: u64) -> Result<Vec<u8>> {
    let damaged = |at: usize, message: &str| Error::Format {
        file: "packed file".into(),
        place: format!("byte {at}"),
        message: message.into(),
    };
    let mut from = packed.strip_prefix(MAGIC).ok_or_else(|| damaged(0, "this is not a packed file"))?;
    let mut out = Vec::new();
    loop {
        let at = packed.len() - from.len();
        let (numbers, rest) =
            from.split_at_checked(12).ok_or_else(|| damaged(at, "the file ends too early"))?;
        let number = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| numbers[4 * i + b]));
        let (count, length, sum) = (number(0) as usize, number(1) as usize, number(2));
        if count == 0 {
            let whole = length == 0 && rest.is_empty() && crc32fast::hash(&out) == sum;
            return if whole { Ok(out) } else { Err(damaged(at, "the sum over all of it is another")) };
        }
        let (chunk, rest) =
            rest.split_at_checked(length).ok_or_else(|| damaged(at, "the file ends too early"))?;
        if count > CHUNK || crc32fast::hash(chunk) != sum {
            return Err(damaged(at, "a chunk is damaged"));
        }
        let needed = (out.len() + count) as u64;
        if needed > most || out.try_reserve(count).is_err() {
            let fix = "raise the limit, or go on where there is more memory".into();
            let what = "a packed file".into();
            return Err(Error::Memory { what, needed_mb: needed >> 20, limit_mb: most >> 20, fix });
        }
        let before = out.len();
        // One byte more than announced tells a frame that is too long, and no frame needs a longer memory than a chunk.
        let decoder = StreamingDecoder::new_with_max_window_size(chunk, 8 * CHUNK as u64);
        let read = decoder
            .map_err(|e| e.to_string())
            .and_then(|d| d.take(count as u64 + 1).read_to_end(&mut out).map_err(|e| e.to_string()));
        match read {
            Ok(_) if out.len() - before == count => from = rest,
            Ok(_) => return Err(damaged(at, "a chunk has another length than it says")),
            Err(why) => return Err(damaged(at, &why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let give = &mut |piece: &[u8]| {
            out.extend_from_slice(piece);
            Ok(())
        };
        pack(bytes, give).unwrap();
        out
    }

    fn sample(count: usize) -> Vec<u8> {
        (0..count).map(|i| if i % 8 < 5 { (i / 800) as u8 } else { ((i * i) >> 5) as u8 }).collect()
    }

    #[test]
    fn what_was_packed_comes_back_and_is_shorter() {
        for count in [0, 1, 1000, CHUNK, 2 * CHUNK + 77] {
            let bytes = sample(count);
            let small = packed(&bytes);
            assert!(is_packed(&small) && !is_packed(&bytes));
            assert!(unpack(&small, u64::MAX).unwrap() == bytes, "{count}");
            assert!(count < 1000 || small.len() < 3 * count / 4, "{} of {count}", small.len());
        }
    }

    #[test]
    fn every_damage_is_noticed() {
        let small = packed(&sample(3000));
        for end in 0..small.len() {
            assert!(unpack(&small[..end], u64::MAX).is_err(), "cut at {end}");
        }
        for bit in 0..small.len() * 8 {
            let mut bad = small.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(unpack(&bad, u64::MAX).is_err(), "bit {bit}");
        }
        assert!(unpack(&[small, vec![0]].concat(), u64::MAX).is_err(), "something behind the end");
    }

    #[test]
    fn no_more_is_unpacked_than_there_is_room_for() {
        let zeros = packed(&vec![0; 5 * CHUNK]);
        assert!(zeros.len() < 10_000);
        let error = unpack(&zeros, 3 * CHUNK as u64).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        assert_eq!(unpack(&zeros, 5 * CHUNK as u64).unwrap().len(), 5 * CHUNK);
    }
}
