//! LZ4 blocks, the compression inside binary USD.
//!
//! ```text
//!     sequence:  token (literals << 4 | match − 4), more literal lengths, literals, offset u16, more match lengths
//! ```
//!
//! A length of 15 in the token goes on in bytes of 255 and one less than that. The last sequence has
//! literals only: at least five, and no match starts within the last twelve bytes, as the format asks.
//! Matches are looked for along short chains of places with the same four bytes, one place further if
//! that is better, so that blocks are no larger than those of the usual writer.

/// Places a chain is followed for.
const DEPTH: usize = 12;
const HASH_BITS: u32 = 16;
/// Farthest match.
const WINDOW: usize = 65_535;
const MIN_MATCH: usize = 4;
/// A match may not start in the last bytes, nor cover the very last.
const TAIL: usize = 12;
const LAST_LITERALS: usize = 5;
const NOWHERE: u32 = u32::MAX;

/// Finds earlier places with the same bytes.
struct Chains<'a> {
    data: &'a [u8],
    head: Vec<u32>,
    /// The place before each with the same hash, by place modulo the window.
    before: Vec<u32>,
    next: usize,
}

impl<'a> Chains<'a> {
    fn new(data: &'a [u8]) -> Self {
        Chains { data, head: vec![NOWHERE; 1 << HASH_BITS], before: vec![NOWHERE; WINDOW + 1], next: 0 }
    }

    fn hash(&self, at: usize) -> usize {
        let word = word(self.data, at);
        (word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
    }

    /// Enter all places before `end`.
    fn enter(&mut self, end: usize) {
        while self.next < end {
            let slot = self.hash(self.next);
            self.before[self.next & WINDOW] = self.head[slot];
            self.head[slot] = self.next as u32;
            self.next += 1;
        }
    }

    /// The longest match for the bytes at a place: where and how long.
    fn find(&mut self, at: usize) -> (usize, usize) {
        self.enter(at);
        let limit = self.data.len() - LAST_LITERALS - at;
        let (mut best, mut length) = (0, 0);
        let mut place = self.head[self.hash(at)];
        for _ in 0..DEPTH {
            let candidate = place as usize;
            if place == NOWHERE || candidate + WINDOW < at {
                break;
            }
            let same = common(self.data, candidate, at, limit);
            if same > length {
                (best, length) = (candidate, same);
            }
            place = self.before[candidate & WINDOW];
            if place as usize >= candidate {
                break;
            }
        }
        (best, length)
    }
}

fn word(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

/// Bytes that two places share, at most `limit`.
fn common(data: &[u8], a: usize, b: usize, limit: usize) -> usize {
    let pairs = data[a..].iter().zip(&data[b..b + limit]);
    pairs.take_while(|(x, y)| x == y).count()
}

/// Compress a block.
pub(super) fn compress(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() / 2 + 16);
    let mut anchor = 0;
    if data.len() > TAIL {
        let end = data.len() - TAIL;
        let mut chains = Chains::new(data);
        let (mut at, mut misses) = (0, 0usize);
        while at < end {
            let (mut from, mut length) = chains.find(at);
            if length < MIN_MATCH {
                // Bytes that do not repeat are passed faster and faster.
                misses += 1;
                at += 1 + (misses >> 6);
                continue;
            }
            misses = 0;
            if at + 1 < end {
                let (later, longer) = chains.find(at + 1);
                if longer > length + 1 {
                    (at, from, length) = (at + 1, later, longer);
                }
            }
            push_sequence(&mut out, &data[anchor..at], Some((at - from, length)));
            at += length;
            anchor = at;
            chains.enter(at.min(end));
        }
    }
    push_sequence(&mut out, &data[anchor..], None);
    out
}

fn push_length(out: &mut Vec<u8>, mut rest: usize) {
    while rest >= 255 {
        out.push(255);
        rest -= 255;
    }
    out.push(rest as u8);
}

fn push_sequence(out: &mut Vec<u8>, literals: &[u8], found: Option<(usize, usize)>) {
    let extra = found.map_or(0, |(_, length)| length - MIN_MATCH);
    out.push((literals.len().min(15) << 4 | extra.min(15)) as u8);
    if literals.len() >= 15 {
        push_length(out, literals.len() - 15);
    }
    out.extend_from_slice(literals);
    if let Some((offset, _)) = found {
        out.extend_from_slice(&(offset as u16).to_le_bytes());
        if extra >= 15 {
            push_length(out, extra - 15);
        }
    }
}

/// Undo [`compress`]; nothing if the block is damaged or holds more than `most` bytes.
pub(super) fn decompress(block: &[u8], most: usize) -> Option<Vec<u8>> {
    // A byte of a block makes at most 255 bytes, so a small file cannot ask for much memory.
    let mut out: Vec<u8> = Vec::with_capacity(most.min(block.len().saturating_mul(255)));
    let mut at = 0;
    loop {
        let token = *block.get(at)?;
        at += 1;
        let literals = read_length(block, &mut at, usize::from(token >> 4))?;
        let part = block.get(at..at.checked_add(literals)?)?;
        at += literals;
        if out.len() + literals > most {
            return None;
        }
        out.extend_from_slice(part);
        if at == block.len() {
            return Some(out);
        }
        let offset = usize::from(u16::from_le_bytes([*block.get(at)?, *block.get(at + 1)?]));
        at += 2;
        let length = read_length(block, &mut at, usize::from(token & 15))? + MIN_MATCH;
        if offset == 0 || offset > out.len() || out.len() + length > most {
            return None;
        }
        let start = out.len() - offset;
        // A match may reach into what it makes itself.
        for k in 0..length {
            out.push(out[start + k]);
        }
    }
}

fn read_length(block: &[u8], at: &mut usize, start: usize) -> Option<usize> {
    let mut length = start;
    if start == 15 {
        loop {
            let more = *block.get(*at)?;
            *at += 1;
            length += usize::from(more);
            if more < 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(n: usize, range: u64) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % range
        };
        (0..n).map(|_| next() as u8).collect()
    }

    #[test]
    fn blocks_of_every_length_come_back() {
        for n in (0..70).chain([255, 256, 300, 70_000]) {
            for range in [1, 2, 5, 256] {
                let data = sample(n, range);
                assert_eq!(decompress(&compress(&data), n).as_deref(), Some(&data[..]), "{n} of {range}");
            }
        }
        assert!(compress(&[7; 100_000]).len() < 500);
    }

    #[test]
    fn damaged_blocks_are_refused_or_harmless() {
        let data = sample(4000, 3);
        let block = compress(&data);
        assert_eq!(decompress(&block, data.len() - 1), None, "more than was promised");
        for end in 0..block.len() {
            assert!(decompress(&block[..end], data.len()).is_none_or(|d| d.len() <= data.len()));
        }
        for bit in 0..block.len() * 8 {
            let mut bad = block.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decompress(&bad, data.len()).is_none_or(|d| d.len() <= data.len()));
        }
    }
}
