//! Reductions with the same bits for any number of threads.
//!
//! Floating-point addition is not associative, so a sum that follows the scheduler changes from run
//! to run. Here the range is cut into chunks of a fixed length, each chunk is reduced on whichever
//! thread takes it, and the results are combined in the order of the chunks.

use rayon::prelude::*;
use std::ops::Range;

/// Elements of a chunk. Part of the definition of the result: changing it changes last bits.
pub const CHUNK: usize = 4096;

fn chunks(n: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    (0..n.div_ceil(CHUNK)).into_par_iter().map(move |c| c * CHUNK..((c + 1) * CHUNK).min(n))
}

/// Σ over chunks of `part(chunk)`, chunks in order.
pub fn ordered_sum(n: usize, part: impl Fn(Range<usize>) -> f64 + Sync + Send) -> f64 {
    if n <= CHUNK {
        return if n == 0 { 0.0 } else { part(0..n) };
    }
    chunks(n).map(part).collect::<Vec<f64>>().iter().sum()
}

/// The largest of `part(chunk)`; −∞ for an empty range. A NaN in any chunk is returned.
pub fn ordered_max(n: usize, part: impl Fn(Range<usize>) -> f64 + Sync + Send) -> f64 {
    let keep_nan = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
    chunks(n).map(part).collect::<Vec<f64>>().into_iter().fold(f64::NEG_INFINITY, keep_nan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_same_bits_for_any_thread_count() {
        let x: Vec<f64> = (0..100_000).map(|i| 1.0 / (1.0 + i as f64)).collect();
        let sum = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| ordered_sum(x.len(), |r| x[r].iter().sum()))
        };
        assert!([2, 3, 8].iter().all(|&t| sum(t).to_bits() == sum(1).to_bits()));
        assert!((sum(1) - 12.090146129863428).abs() < 1e-9);
    }

    #[test]
    fn a_nan_is_not_lost_in_a_maximum() {
        assert!(ordered_max(3, |_| f64::NAN).is_nan());
        assert_eq!(ordered_max(0, |_| 1.0), f64::NEG_INFINITY);
    }
}
