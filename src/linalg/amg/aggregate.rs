//! Groups of rows that become one coarse unknown each: repeated pairwise matching [Not10].
//!
//! A pass visits the groups in order and marries each to the free neighbour with the strongest
//! coupling Σ −aᵢⱼ over the members (Σ |aᵢⱼ| where several near-null vectors are given, since the signs
//! then mean nothing). Three passes on a 7-point matrix give boxes of 2×2×2. A coupling far below the
//! strongest one of a group is no reason to marry: such a group waits for the next pass or stays alone.
//! Rows that their diagonal dominates are smoothed well enough without a coarse grid and are left out.
//!
//! Matching is sequential inside blocks of a fixed number of rows and never crosses their borders: the
//! blocks run in parallel and the result does not depend on the threads.

use super::smoother::cut;
use crate::linalg::accumulate::Accumulator;
use crate::linalg::csr::Csr;
use crate::math::CHUNK;
use rayon::prelude::*;
use std::ops::Range;

/// The group of a row that has none.
pub(crate) const NONE: u32 = u32::MAX;
/// Matching is sequential in this many blocks, or in blocks of this many rows if those are larger.
const BLOCKS: usize = 16;
const BLOCK: usize = 1 << 17;
/// A coupling below this share of the strongest one of the group is weak.
const WEAK: f64 = 0.2;
/// A row whose diagonal is this many times the sum of the others' magnitudes needs no coarse grid.
const DOMINANT: f64 = 4.0;

/// A partition of some of the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// The group of each row, or [`NONE`].
    pub(crate) map: Vec<u32>,
    /// Members of group g: `rows[starts[g]..starts[g+1]]`.
    pub(crate) starts: Vec<u32>,
    pub(crate) rows: Vec<u32>,
}

impl Groups {
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub(crate) fn members(&self, g: usize) -> &[u32] {
        &self.rows[self.starts[g] as usize..self.starts[g + 1] as usize]
    }

    /// One group for each row that needs a coarse grid.
    fn single_rows(a: &Csr) -> Self {
        let dominated = |i: usize| {
            let (columns, values) = a.row(i);
            let (mut diagonal, mut others) = (0.0, 0.0);
            for (&c, v) in columns.iter().zip(values) {
                if c as usize == i { diagonal = *v } else { others += v.abs() }
            }
            diagonal >= DOMINANT * others
        };
        let kept: Vec<bool> =
            (0..a.rows()).into_par_iter().with_min_len(CHUNK).map(|i| !dominated(i)).collect();
        if kept.par_iter().all(|k| *k) {
            let count = |n: u32| (0..n).into_par_iter().with_min_len(CHUNK).collect::<Vec<u32>>();
            let n = a.rows() as u32;
            return Self { map: count(n), starts: count(n + 1), rows: count(n) };
        }
        let rows: Vec<u32> = (0..a.rows() as u32).filter(|&i| kept[i as usize]).collect();
        let mut map = vec![NONE; a.rows()];
        rows.iter().enumerate().for_each(|(g, &i)| map[i as usize] = g as u32);
        Self { map, starts: (0..=rows.len() as u32).collect(), rows }
    }

    /// From the group of each row; members ascend.
    fn from_map(map: Vec<u32>, count: usize) -> Self {
        let mut starts = vec![0u32; count + 1];
        map.iter().filter(|&&g| g != NONE).for_each(|&g| starts[g as usize + 1] += 1);
        for g in 0..count {
            starts[g + 1] += starts[g];
        }
        let (mut next, mut rows) = (starts.clone(), vec![0u32; starts[count] as usize]);
        for (i, &g) in map.iter().enumerate().filter(|e| *e.1 != NONE) {
            rows[next[g as usize] as usize] = i as u32;
            next[g as usize] += 1;
        }
        Self { map, starts, rows }
    }

    /// Groups of rows that follow each other: the unknowns of one coarse node.
    fn nodes(starts: &[u32]) -> Self {
        let n = starts.last().copied().unwrap_or(0);
        let mut map = vec![0; n as usize];
        for (g, w) in starts.windows(2).enumerate() {
            map[w[0] as usize..w[1] as usize].fill(g as u32);
        }
        Self { map, starts: starts.to_vec(), rows: (0..n).collect() }
    }
}

/// Groups after `passes` rounds of matching. `nodes` tells which rows belong together from the start.
pub(crate) fn aggregate(a: &Csr, passes: usize, nodes: Option<&[u32]>, signed: bool) -> Groups {
    let mut groups = nodes.map_or_else(|| Groups::single_rows(a), Groups::nodes);
    let mut blocks = block_ranges(&groups, a.rows());
    for pass in 0..passes {
        let lone_rows = pass == 0 && nodes.is_none();
        let pairs: Vec<_> =
            blocks.par_iter().map(|b| marry(a, &groups, b.clone(), signed, lone_rows)).collect();
        (groups, blocks) = merge(&groups, &blocks, pairs);
    }
    let width = nodes.map_or(1, |starts| starts.last().map_or(1, |n| n.div_ceil(starts.len() as u32)));
    attach(a, groups, (width as usize) << passes >> 2, signed)
}

/// The coupling of group g with each group it touches.
fn couplings(a: &Csr, groups: &Groups, g: usize, signed: bool, sums: &mut Accumulator) {
    sums.clear();
    for &i in groups.members(g) {
        let (columns, values) = a.row(i as usize);
        for (&c, &v) in columns.iter().zip(values) {
            let h = groups.map[c as usize];
            if h != NONE && h as usize != g {
                sums.add(h, if signed { -v } else { v.abs() });
            }
        }
    }
}

/// Join each group of fewer than `small` rows to the full group it is tied to most strongly.
fn attach(a: &Csr, groups: Groups, small: usize, signed: bool) -> Groups {
    let is_small = |g: usize| groups.members(g).len() < small;
    let target: Vec<u32> = (0..groups.count())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map_init(Accumulator::new, |sums, g| {
            if !is_small(g) {
                return NONE;
            }
            couplings(a, &groups, g, signed, sums);
            best_partner(sums.entries(), |h| !is_small(h as usize))
        })
        .collect();
    if target.iter().all(|&t| t == NONE) {
        return groups;
    }
    // Number the groups that stay, then send every row to its new group.
    let mut next = 0;
    let mut new_of: Vec<u32> = target
        .iter()
        .map(|&t| {
            next += (t == NONE) as u32;
            next.wrapping_sub(1)
        })
        .collect();
    for (g, &t) in target.iter().enumerate().filter(|e| *e.1 != NONE) {
        new_of[g] = new_of[t as usize];
    }
    let map: Vec<u32> = groups
        .map
        .par_iter()
        .with_min_len(CHUNK)
        .map(|&g| if g == NONE { NONE } else { new_of[g as usize] })
        .collect();
    Groups::from_map(map, next as usize)
}

/// Ranges of groups whose first rows lie in the same block.
fn block_ranges(groups: &Groups, rows: usize) -> Vec<Range<usize>> {
    let block = rows.div_ceil(BLOCKS).max(BLOCK);
    let first = |b: usize| {
        groups.starts[..groups.count()].partition_point(|&s| (groups.rows[s as usize] as usize) < b * block)
    };
    (0..rows.div_ceil(block)).map(|b| first(b)..first(b + 1)).collect()
}

/// Marry the groups of a block; returns the couples (second is [`NONE`] for the unmarried) in order.
fn marry(a: &Csr, groups: &Groups, block: Range<usize>, signed: bool, lone_rows: bool) -> Vec<(u32, u32)> {
    let mut taken = vec![false; block.len()];
    let mut couples = Vec::with_capacity(block.len() / 2 + 1);
    let mut sums = Accumulator::new();
    let mut lone = Vec::new();
    for g in block.clone() {
        if taken[g - block.start] {
            continue;
        }
        taken[g - block.start] = true;
        if lone_rows {
            // Rows have distinct columns: nothing to add up.
            let (columns, values) = a.row(groups.rows[g] as usize);
            let entry = |(&c, &v): (&u32, &f64)| (groups.map[c as usize], if signed { -v } else { v.abs() });
            lone.clear();
            lone.extend(columns.iter().zip(values).map(entry).filter(|e| e.0 != NONE && e.0 as usize != g));
        } else {
            couplings(a, groups, g, signed, &mut sums);
        }
        let found = if lone_rows { &lone[..] } else { sums.entries() };
        let free = |h: u32| block.contains(&(h as usize)) && !taken[h as usize - block.start];
        let partner = best_partner(found, free);
        if partner != NONE {
            taken[partner as usize - block.start] = true;
        }
        couples.push((g as u32, partner));
    }
    couples
}

/// The free group with the strongest coupling, the lowest of equals; [`NONE`] if all are weak.
fn best_partner(couplings: &[(u32, f64)], free: impl Fn(u32) -> bool) -> u32 {
    let strongest = couplings.iter().fold(0.0, |m: f64, e| m.max(e.1));
    let (mut partner, mut best) = (NONE, WEAK * strongest);
    for &(h, strength) in couplings {
        if strength > 0.0 && (strength > best || strength == best && h < partner) && free(h) {
            (partner, best) = (h, strength);
        }
    }
    partner
}

/// The groups that the couples form.
fn merge(
    old: &Groups,
    blocks: &[Range<usize>],
    couples: Vec<Vec<(u32, u32)>>,
) -> (Groups, Vec<Range<usize>>) {
    let mut first = 0;
    let ranges: Vec<Range<usize>> = couples
        .iter()
        .map(|c| {
            first += c.len();
            first - c.len()..first
        })
        .collect();
    let part = |old_range: &Range<usize>, range: &Range<usize>, couples: &[(u32, u32)]| {
        let mut new_of = vec![NONE; old_range.len()];
        let (mut lengths, mut rows) = (Vec::with_capacity(couples.len()), Vec::new());
        for (k, &(g, h)) in couples.iter().enumerate() {
            let before = rows.len();
            for g in [g, h].into_iter().filter(|&g| g != NONE) {
                new_of[g as usize - old_range.start] = (range.start + k) as u32;
                rows.extend_from_slice(old.members(g as usize));
            }
            lengths.push((rows.len() - before) as u32);
        }
        (new_of, lengths, rows)
    };
    let parts: Vec<_> = (blocks, &ranges, &couples).into_par_iter().map(|(b, r, c)| part(b, r, c)).collect();
    // Every part has its place, so that all are copied at once.
    let (mut new_of, mut rows) = (vec![0u32; old.count()], vec![0u32; old.rows.len()]);
    let mut starts = vec![0u32; first + 1];
    let (mut rest_of, mut rest_rows, mut rest_starts) = (&mut new_of[..], &mut rows[..], &mut starts[1..]);
    let (mut places, mut before) = (Vec::with_capacity(parts.len()), 0);
    for part in &parts {
        let to = (
            cut(&mut rest_of, part.0.len()),
            cut(&mut rest_starts, part.1.len()),
            cut(&mut rest_rows, part.2.len()),
        );
        places.push((to, part, before));
        before += part.2.len() as u32;
    }
    places.into_par_iter().for_each(|((of, starts, rows), part, before)| {
        of.copy_from_slice(&part.0);
        rows.copy_from_slice(&part.2);
        let mut end = before;
        for (start, length) in starts.iter_mut().zip(&part.1) {
            end += length;
            *start = end;
        }
    });
    let map = old
        .map
        .par_iter()
        .with_min_len(CHUNK)
        .map(|&g| if g == NONE { NONE } else { new_of[g as usize] })
        .collect();
    (Groups { map, starts, rows }, ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(n: usize) -> Csr {
        Csr::from_rows(n, n, |i, row| {
            row.push((i as u32, 2.0));
            if i > 0 {
                row.push((i as u32 - 1, -1.0));
            }
            if i + 1 < n {
                row.push((i as u32 + 1, -1.0));
            }
        })
        .unwrap()
    }

    #[test]
    fn two_passes_cut_a_chain_into_fours() {
        let groups = aggregate(&chain(16), 2, None, true);
        assert_eq!(groups.count(), 4);
        assert_eq!(groups.map, (0..16).map(|i| i / 4).collect::<Vec<u32>>());
        assert_eq!(groups.members(2), [8, 9, 10, 11]);
    }

    #[test]
    fn every_row_has_its_place_in_its_group_across_blocks() {
        let groups = aggregate(&chain(300_001), 3, None, true);
        for g in 0..groups.count() {
            assert!(groups.members(g).iter().all(|&i| groups.map[i as usize] == g as u32));
        }
        assert_eq!(groups.rows.len(), 300_001);
    }

    #[test]
    fn a_dominated_row_stays_out_and_nodes_stay_together() {
        let mut a = chain(4);
        let place = a.span(3).end - 1;
        a.values_mut()[place] = 100.0;
        assert_eq!(aggregate(&a, 1, None, true).map, [0, 0, 1, NONE]);
        let nodes = aggregate(&chain(9), 1, Some(&[0, 3, 6, 9]), false);
        assert_eq!(nodes.map, [0, 0, 0, 0, 0, 0, 1, 1, 1]);
    }
}
