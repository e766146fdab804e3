//! Sums of sparse rows: a small hash table from column to value.
//!
//! Products of sparse matrices and the merging of rows both add many entries into few columns. The
//! table holds the columns met so far in the order of arrival, so that clearing costs what filling
//! cost, and the sums are taken in the order of the calls.

use super::vector::Real;

const EMPTY: u32 = u32::MAX;

/// Adds values by column.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    /// Places in `entries`; the length is a power of two.
    slots: Vec<u32>,
    /// (column, sum) in order of arrival.
    entries: Vec<(u32, f64)>,
}

impl Accumulator {
    pub(crate) fn new() -> Self {
        Self { slots: vec![EMPTY; 128], entries: Vec::with_capacity(64) }
    }

    #[inline(always)]
    fn slot(&self, column: u32) -> usize {
        (column.wrapping_mul(0x9E37_79B1) >> 7) as usize & (self.slots.len() - 1)
    }

    /// Add `value` to `column`.
    #[inline]
    pub(crate) fn add(&mut self, column: u32, value: f64) {
        let mut slot = self.slot(column);
        loop {
            let place = self.slots[slot];
            if place == EMPTY {
                self.slots[slot] = self.entries.len() as u32;
                self.entries.push((column, value));
                if 2 * self.entries.len() > self.slots.len() {
                    self.grow();
                }
                return;
            }
            let entry = &mut self.entries[place as usize];
            if entry.0 == column {
                entry.1 += value;
                return;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn grow(&mut self) {
        self.slots = vec![EMPTY; 4 * self.slots.len()];
        for place in 0..self.entries.len() {
            self.take_slot(place);
        }
    }

    fn take_slot(&mut self, place: usize) {
        let mut slot = self.slot(self.entries[place].0);
        while self.slots[slot] != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = place as u32;
    }

    /// The sums, in order of arrival.
    pub(crate) fn entries(&self) -> &[(u32, f64)] {
        &self.entries
    }

    /// Forget everything.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(EMPTY);
        self.entries.clear();
    }

    /// Set the sum of `column` to zero if its magnitude is at most `bound`.
    pub(crate) fn clear_small(&mut self, column: u32, bound: f64) {
        if let Some(entry) = self.entries.iter_mut().find(|e| e.0 == column && e.1.abs() <= bound) {
            entry.1 = 0.0;
        }
    }

    /// Append the sums to a row in the order of columns, and forget everything.
    pub(crate) fn drain_sorted<T: Real>(&mut self, columns: &mut Vec<u32>, values: &mut Vec<T>) {
        if self.entries.len() <= 24 {
            insertion_sort(&mut self.entries);
        } else {
            self.entries.sort_unstable_by_key(|e| e.0);
        }
        columns.extend(self.entries.iter().map(|e| e.0));
        values.extend(self.entries.iter().map(|e| T::from_f64(e.1)));
        self.clear();
    }
}

fn insertion_sort(entries: &mut [(u32, f64)]) {
    for i in 1..entries.len() {
        let moving = entries[i];
        let mut k = i;
        while k > 0 && entries[k - 1].0 > moving.0 {
            entries[k] = entries[k - 1];
            k -= 1;
        }
        entries[k] = moving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_with_a_dense_row() {
        let mut accumulator = Accumulator::new();
        for round in 0..5u32 {
            let mut dense = vec![0.0; 1000];
            for k in 0..(300 * (round % 3) + 5) {
                let column = (k * 7919 + round) % 1000;
                accumulator.add(column, k as f64);
                dense[column as usize] += k as f64;
            }
            if round == 3 {
                accumulator.clear();
                continue;
            }
            let (mut columns, mut values) = (vec![], Vec::<f64>::new());
            accumulator.drain_sorted(&mut columns, &mut values);
            assert!(columns.windows(2).all(|w| w[0] < w[1]));
            columns.iter().zip(&values).for_each(|(&c, v)| assert_eq!(dense[c as usize], *v));
            assert_eq!(values.iter().sum::<f64>(), dense.iter().sum::<f64>());
        }
    }
}
