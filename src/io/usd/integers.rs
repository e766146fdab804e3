//! Whole numbers as binary USD packs them.
//!
//! Each number is told by its difference from the one before (the first from 0). Of these differences
//! the one that is met most often has the code 0 and takes no further room; the codes 1, 2 and 3 say
//! that it follows in one, two or four bytes:
//!
//! ```text
//!     common difference i32 | codes, two bits each, lowest first | differences that are not common
//! ```
//!
//! Numbers of 64 bits are told in the same way, with two, four and eight bytes.
//! The whole is then compressed. A leading byte counts chunks; 0 means that there is one without a
//! size of its own, which holds for everything below 2 GB.

use super::lz4;

/// Differences that are counted; those beyond are rare in indices of meshes.
const COUNTED: i32 = 1 << 15;

/// Compress bytes, with the leading byte for "one chunk".
pub(super) fn pack_bytes(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.append(&mut lz4::compress(data));
    out
}

/// Undo [`pack_bytes`]; nothing if it is damaged or longer than `most`.
pub(super) fn unpack_bytes(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    match packed.split_first()? {
        (0, block) => lz4::decompress(block, most),
        _ => None,
    }
}

/// Compress whole numbers.
pub(super) fn pack(values: &[i32]) -> Vec<u8> {
    pack_bytes(&encode(values))
}

/// Undo [`pack`] for `n` numbers.
pub(super) fn unpack(packed: &[u8], n: usize) -> Option<Vec<i32>> {
    // Two bits and at most four bytes a number; a packed byte cannot stand for more than 255 bytes.
    if n / 4 > packed.len().saturating_mul(256) {
        return None;
    }
    decode(&unpack_bytes(packed, encoded_size(n)?)?, n)
}

/// Compress whole numbers of 64 bits.
pub(super) fn pack_long(values: &[i64]) -> Vec<u8> {
    let before = std::iter::once(0).chain(values.iter().copied());
    let differences: Vec<i64> = values.iter().zip(before).map(|(v, b)| v.wrapping_sub(b)).collect();
    let small: Vec<i32> = differences.iter().filter_map(|d| i32::try_from(*d).ok()).collect();
    let common = i64::from(most_common(small.iter().copied()));
    let mut out = vec![0; 8 + values.len().div_ceil(4)];
    out[..8].copy_from_slice(&common.to_le_bytes());
    for (i, d) in differences.into_iter().enumerate() {
        let code = if d == common {
            0
        } else if let Ok(small) = i16::try_from(d) {
            out.extend(small.to_le_bytes());
            1
        } else if let Ok(medium) = i32::try_from(d) {
            out.extend(medium.to_le_bytes());
            2
        } else {
            out.extend(d.to_le_bytes());
            3
        };
        out[8 + i / 4] |= code << (2 * (i % 4));
    }
    pack_bytes(&out)
}

/// Undo [`pack_long`] for `n` numbers.
pub(super) fn unpack_long(packed: &[u8], n: usize) -> Option<Vec<i64>> {
    if n / 4 > packed.len().saturating_mul(256) {
        return None;
    }
    let bytes = unpack_bytes(packed, n.checked_mul(8)?.checked_add(8 + n.div_ceil(4))?)?;
    let mut rest = bytes.get(8 + n.div_ceil(4)..)?;
    let common = i64::from_le_bytes(*bytes.first_chunk()?);
    let mut value = 0i64;
    let mut out = Vec::with_capacity(n);
    for i in 0..n {
        let d = match bytes[8 + i / 4] >> (2 * (i % 4)) & 3 {
            0 => common,
            1 => i64::from(i16::from_le_bytes(take(&mut rest)?)),
            2 => i64::from(i32::from_le_bytes(take(&mut rest)?)),
            _ => i64::from_le_bytes(take(&mut rest)?),
        };
        value = value.wrapping_add(d);
        out.push(value);
    }
    Some(out)
}

fn encoded_size(n: usize) -> Option<usize> {
    n.checked_mul(4)?.checked_add(4 + n.div_ceil(4))
}

fn differences(values: &[i32]) -> impl Iterator<Item = i32> {
    let before = std::iter::once(0).chain(values.iter().copied());
    values.iter().zip(before).map(|(v, b)| v.wrapping_sub(b))
}

/// The difference that is met most often, among those that are small.
fn most_common(differences: impl Iterator<Item = i32>) -> i32 {
    let mut counts = vec![0u32; 2 * COUNTED as usize];
    for d in differences.filter(|d| (-COUNTED..COUNTED).contains(d)) {
        counts[(d + COUNTED) as usize] += 1;
    }
    let best = counts.iter().enumerate().max_by_key(|(i, n)| (**n, std::cmp::Reverse(*i)));
    best.map_or(0, |(i, _)| i as i32 - COUNTED)
}

fn encode(values: &[i32]) -> Vec<u8> {
    if values.is_empty() {
        return Vec::new();
    }
    let common = most_common(differences(values));
    let codes_at = 4;
    let mut out = vec![0; codes_at + values.len().div_ceil(4)];
    out[..4].copy_from_slice(&common.to_le_bytes());
    for (i, d) in differences(values).enumerate() {
        let code = if d == common {
            0
        } else if let Ok(small) = i8::try_from(d) {
            out.extend(small.to_le_bytes());
            1
        } else if let Ok(medium) = i16::try_from(d) {
            out.extend(medium.to_le_bytes());
            2
        } else {
            out.extend(d.to_le_bytes());
            3
        };
        out[codes_at + i / 4] |= code << (2 * (i % 4));
    }
    out
}

fn decode(bytes: &[u8], n: usize) -> Option<Vec<i32>> {
    if n == 0 {
        return Some(Vec::new());
    }
    let mut rest = bytes.get(4 + n.div_ceil(4)..)?;
    let common = i32::from_le_bytes(bytes.first_chunk()?.to_owned());
    let mut value = 0i32;
    let mut out = Vec::with_capacity(n);
    for i in 0..n {
        let code = bytes[4 + i / 4] >> (2 * (i % 4)) & 3;
        let d = match code {
            0 => common,
            1 => i32::from(i8::from_le_bytes(take(&mut rest)?)),
            2 => i32::from(i16::from_le_bytes(take(&mut rest)?)),
            _ => i32::from_le_bytes(take(&mut rest)?),
        };
        value = value.wrapping_add(d);
        out.push(value);
    }
    Some(out)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_come_back() {
        let odd = [0, 1, 2, 3, 3, -5, 200, 70_000, i32::MAX, i32::MIN, -1, 0];
        for n in 0..=odd.len() {
            assert_eq!(unpack(&pack(&odd[..n]), n).as_deref(), Some(&odd[..n]));
        }
        let steady: Vec<i32> = (0..100_000).map(|i| 7 * i).collect();
        let packed = pack(&steady);
        assert_eq!(unpack(&packed, steady.len()), Some(steady));
        assert!(packed.len() < 200, "{}", packed.len());
    }

    #[test]
    fn the_encoding_is_the_one_of_the_format() {
        // Differences 123, 0, 0, 4, 100000: common 0, codes 1 0 0 1, 3.
        let bytes = encode(&[123, 123, 123, 127, 100_127]);
        assert_eq!(bytes[..6], [0, 0, 0, 0, 0b0100_0001, 0b11]);
        assert_eq!(bytes[6..], [123, 4, 0xa0, 0x86, 1, 0]);
    }

    #[test]
    fn long_numbers_have_codes_of_their_own() {
        // Differences 5, 1, 1, 70000, 2⁴⁰: common 1, codes 1 0 0 2, 3.
        let start = 7 + 70_000;
        let numbers = [5, 6, 7, start, start + (1 << 40)];
        assert_eq!(unpack_long(&pack_long(&numbers), 5).as_deref(), Some(&numbers[..]));
        let bytes = unpack_bytes(&pack_long(&numbers), 100).unwrap();
        assert_eq!(bytes[..10], [1, 0, 0, 0, 0, 0, 0, 0, 0b1000_0001, 0b11]);
        assert_eq!(bytes[10..16], [5, 0, 0x70, 0x11, 1, 0]);
        assert_eq!(bytes[16..], (1i64 << 40).to_le_bytes());
    }

    #[test]
    fn absurd_counts_are_refused() {
        assert_eq!(unpack(&pack(&[1, 2, 3]), usize::MAX), None);
        assert_eq!(unpack(&pack(&[1, 2, 3]), 1 << 40), None);
        assert_eq!(unpack(&[], 3), None);
    }
}
