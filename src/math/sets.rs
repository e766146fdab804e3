//! Sets that grow together, such as the cells of one pool or the vertices of one piece.
//!
//! The lowest member names a set, so names do not depend on the order in which sets were joined.

/// Disjoint sets of the numbers from 0 on.
#[derive(Clone, Debug)]
pub struct Sets(Vec<u32>);

impl Sets {
    /// Every number below `n` is a set of its own.
    pub fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    /// The lowest member of the set of `k`.
    pub fn root(&mut self, mut k: u32) -> u32 {
        while self.0[k as usize] != k {
            // Every visit halves the way to the root.
            let above = self.0[self.0[k as usize] as usize];
            self.0[k as usize] = above;
            k = above;
        }
        k
    }

    #[inline]
    pub fn join(&mut self, a: u32, b: u32) {
        // Most pairs are joined already, by way of others.
        if self.0[a as usize] == self.0[b as usize] {
            return;
        }
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// The number of each member's set, counted in the order of their lowest members, and how many sets there are.
    pub fn numbered(&mut self) -> (Vec<u32>, usize) {
        let (mut number, mut count) = (vec![0; self.0.len()], 0);
        for k in 0..number.len() {
            let root = self.root(k as u32) as usize;
            number[k] = if root == k { count } else { number[root] };
            count += (root == k) as u32;
        }
        (number, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_by_their_lowest_member_however_they_were_joined() {
        for pairs in [[(5, 3), (3, 1), (2, 4)], [(4, 2), (1, 5), (5, 3)]] {
            let mut sets = Sets::new(6);
            pairs.iter().for_each(|(a, b)| sets.join(*a, *b));
            assert_eq!([0, 1, 2, 3, 4, 5].map(|k| sets.root(k)), [0, 1, 2, 1, 2, 1]);
            assert_eq!(sets.numbered(), (vec![0, 1, 2, 1, 2, 1], 3));
        }
    }
}
