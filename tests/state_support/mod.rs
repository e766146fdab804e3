//! Saved states, taken apart and put together again with their sums made right, as somebody would who means harm.
//!
//! The layout is that of src/simulation/state.rs: 12 bytes, then arrays of name, length, sum and bytes.

#![allow(dead_code)]

use std::ops::Range;

/// The arrays of a state, with the places of their bytes; stops where there are no more.
pub fn arrays(state: &[u8]) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    let number = |at: usize, n: usize| -> Option<usize> {
        let mut bytes = [0u8; 8];
        bytes[..n].copy_from_slice(state.get(at..at.checked_add(n)?)?);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let mut at = 12;
    while let Some(length) = number(at, 4) {
        let Some(name) = at.checked_add(4).and_then(|a| state.get(a..a.checked_add(length)?)) else { break };
        let begin = at + 4 + length + 12;
        let Some(size) = number(begin - 12, 8) else { break };
        let Some(end) = begin.checked_add(size).filter(|e| *e <= state.len()) else { break };
        found.push((String::from_utf8_lossy(name).into_owned(), begin..end));
        at = end;
    }
    found
}

/// Make every sum right that can be found.
pub fn repair(state: &mut [u8]) {
    for (name, place) in arrays(state) {
        if name == "sum" && place.len() == 4 {
            let head = place.start - (4 + 3 + 8 + 4);
            let sum = crc32(&state[..head]);
            state[place.clone()].copy_from_slice(&sum.to_le_bytes());
        }
        let sum = crc32(&state[place.clone()]);
        state[place.start - 4..place.start].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Put a number into an array of f64 of a state, with all sums right.
pub fn with_number(state: &[u8], array: &str, index: usize, value: f64) -> Vec<u8> {
    let mut bytes = state.to_vec();
    let place = arrays(&bytes).into_iter().find(|a| a.0 == array).expect("there is such an array").1;
    bytes[place.start + 8 * index..place.start + 8 * index + 8].copy_from_slice(&value.to_le_bytes());
    repair(&mut bytes);
    bytes
}

/// The numbers of an array of f64.
pub fn numbers(state: &[u8], array: &str) -> Vec<f64> {
    let place = arrays(state).into_iter().find(|a| a.0 == array).expect("there is such an array").1;
    state[place].chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect()
}

/// The usual CRC-32, by the book and slow, so that it is not the one that is tested.
pub fn crc32(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|n| (0..8).fold(n, |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 }))
        .collect();
    !bytes.iter().fold(!0u32, |c, b| table[((c ^ u32::from(*b)) & 255) as usize] ^ (c >> 8))
}
