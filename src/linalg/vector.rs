//! Operations on long vectors: parallel, and with the same bits for any number of threads.
//!
//! Elementwise work is cut into chunks of [`CHUNK`] elements. A reduction sums each chunk in eight
//! lanes (lane i takes the elements i, i+8, …; the lanes are then added pairwise) and the chunks in
//! order, so the result is a function of the data alone. Sums are kept in f64 for f32 data too.

use crate::math::{CHUNK, ordered_max, ordered_sum};
use rayon::prelude::*;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A floating-point number that vectors and matrices are made of: f64, or f32 inside preconditioners.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Div<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Sub<Output = Self>
    + SubAssign
    + 'static
{
    /// The nearest value of this type.
    fn from_f64(v: f64) -> Self;
    /// The same value in f64.
    fn to_f64(self) -> f64;
}

impl Real for f64 {
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Real for f32 {
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

const LANES: usize = 8;

/// Σ over the elements of `term(i)`, in lanes; the ranges of callers are at most a chunk long.
#[inline(always)]
fn lane_sum(n: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let whole = n - n % LANES;
    let mut i = 0;
    while i < whole {
        for (l, lane) in lanes.iter_mut().enumerate() {
            *lane += term(i + l);
        }
        i += LANES;
    }
    for (l, lane) in lanes.iter_mut().enumerate().take(n - whole) {
        *lane += term(whole + l);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// a·b of slices at most a chunk long.
#[inline]
pub(crate) fn chunk_dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    lane_sum(n, |i| a[i].to_f64() * b[i].to_f64())
}

/// a·b.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    ordered_sum(a.len().min(b.len()), |r| chunk_dot(&a[r.clone()], &b[r]))
}

/// (a·b, a·c) in one pass.
pub fn dot2<T: Real>(a: &[T], b: &[T], c: &[T]) -> (f64, f64) {
    let part = |a: &[T], b: &[T], c: &[T]| (chunk_dot(a, b), chunk_dot(a, c));
    if a.len() <= CHUNK {
        return part(a, b, c);
    }
    let parts: Vec<_> = (a.par_chunks(CHUNK), b.par_chunks(CHUNK), c.par_chunks(CHUNK))
        .into_par_iter()
        .map(|(a, b, c)| part(a, b, c))
        .collect();
    parts.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1))
}

/// The Euclidean norm.
pub fn norm<T: Real>(a: &[T]) -> f64 {
    dot(a, a).sqrt()
}

/// The largest magnitude; NaN if there is one, 0 for an empty vector.
pub fn max_norm(a: &[f64]) -> f64 {
    if a.is_empty() { 0.0 } else { ordered_max(a.len(), |r| chunk_max(&a[r])) }
}

/// The largest magnitude in lanes, which keep no NaN; so that is looked for as in [`all_finite`].
fn chunk_max(a: &[f64]) -> f64 {
    let mut lanes = [0.0f64; LANES];
    let (eights, rest) = a.as_chunks::<LANES>();
    let larger = |m: &mut f64, v: &f64| *m = if v.abs() > *m { v.abs() } else { *m };
    eights.iter().for_each(|part| lanes.iter_mut().zip(part).for_each(|(m, v)| larger(m, v)));
    lanes.iter_mut().zip(rest).for_each(|(m, v)| larger(m, v));
    let most = lanes.iter().fold(0.0, |m: f64, v| m.max(*v));
    if lane_sum(a.len(), |i| a[i] * 0.0) == 0.0 || !a.iter().any(|v| v.is_nan()) { most } else { f64::NAN }
}

/// Whether every element is finite.
pub fn all_finite(a: &[f64]) -> bool {
    // An infinity or NaN makes v·0 a NaN, which a sum keeps; this has no branch a lane.
    ordered_sum(a.len(), |r| lane_sum(r.len(), |i| a[r.start + i] * 0.0)) == 0.0
}

/// Apply `f` to matching chunks of a vector that changes and one that does not.
fn update<T: Real>(y: &mut [T], x: &[T], f: impl Fn(&mut T, T) + Sync + Send) {
    let chunk = |(y, x): (&mut [T], &[T])| y.iter_mut().zip(x).for_each(|(y, x)| f(y, *x));
    if y.len() <= CHUNK {
        chunk((y, x));
    } else {
        y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(chunk);
    }
}

/// y ← y + s·x.
pub fn axpy<T: Real>(s: f64, x: &[T], y: &mut [T]) {
    let s = T::from_f64(s);
    update(y, x, |y, x| *y += s * x);
}

/// y ← x + s·y.
pub fn xpay<T: Real>(x: &[T], s: f64, y: &mut [T]) {
    let s = T::from_f64(s);
    update(y, x, |y, x| *y = x + s * *y);
}

/// y ← x.
pub fn copy<T: Real>(x: &[T], y: &mut [T]) {
    update(y, x, |y, x| *y = x);
}

/// y ← s·x.
pub fn scaled_copy<T: Real>(s: f64, x: &[T], y: &mut [T]) {
    let s = T::from_f64(s);
    update(y, x, |y, x| *y = s * x);
}

/// y ← s·y.
pub fn scale<T: Real>(s: f64, y: &mut [T]) {
    let s = T::from_f64(s);
    let chunk = |y: &mut [T]| y.iter_mut().for_each(|y| *y = s * *y);
    if y.len() <= CHUNK { chunk(y) } else { y.par_chunks_mut(CHUNK).for_each(chunk) }
}

/// y ← v.
pub fn fill<T: Real>(v: T, y: &mut [T]) {
    if y.len() <= CHUNK { y.fill(v) } else { y.par_chunks_mut(CHUNK).for_each(|y| y.fill(v)) }
}

/// z ← d∘r, the elementwise product.
pub fn multiply(d: &[f64], r: &[f64], z: &mut [f64]) {
    let chunk = |(z, (d, r)): (&mut [f64], (&[f64], &[f64]))| {
        z.iter_mut().zip(d.iter().zip(r)).for_each(|(z, (d, r))| *z = d * r)
    };
    if z.len() <= CHUNK {
        chunk((z, (d, r)));
    } else {
        z.par_chunks_mut(CHUNK).zip(d.par_chunks(CHUNK).zip(r.par_chunks(CHUNK))).for_each(chunk);
    }
}

/// z ← z + s·d∘r.
pub fn multiply_add(s: f64, d: &[f64], r: &[f64], z: &mut [f64]) {
    let chunk = |(z, (d, r)): (&mut [f64], (&[f64], &[f64]))| {
        z.iter_mut().zip(d.iter().zip(r)).for_each(|(z, (d, r))| *z += s * d * r)
    };
    if z.len() <= CHUNK {
        chunk((z, (d, r)));
    } else {
        z.par_chunks_mut(CHUNK).zip(d.par_chunks(CHUNK).zip(r.par_chunks(CHUNK))).for_each(chunk);
    }
}

/// Convert between precisions: y ← x.
pub fn convert<S: Real, T: Real>(x: &[S], y: &mut [T]) {
    convert_scaled(1.0, x, y);
}

/// Convert between precisions: y ← s·x, the product in f64.
pub fn convert_scaled<S: Real, T: Real>(s: f64, x: &[S], y: &mut [T]) {
    let chunk = |(y, x): (&mut [T], &[S])| {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = T::from_f64(s * x.to_f64()));
    };
    if y.len() <= CHUNK {
        chunk((y, x));
    } else {
        y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(chunk);
    }
}

/// The step of a descent method in one pass: x ← x + s·p, r ← r − s·q; returns r·r.
pub fn step<T: Real>(s: f64, p: &[T], q: &[T], x: &mut [T], r: &mut [T]) -> f64 {
    let t = T::from_f64(s);
    let chunk = |x: &mut [T], r: &mut [T], p: &[T], q: &[T]| {
        x.iter_mut().zip(p).for_each(|(x, p)| *x += t * *p);
        r.iter_mut().zip(q).for_each(|(r, q)| *r -= t * *q);
        chunk_dot(r, r)
    };
    if x.len() <= CHUNK {
        return chunk(x, r, p, q);
    }
    let moved = (x.par_chunks_mut(CHUNK), r.par_chunks_mut(CHUNK));
    let parts: Vec<f64> = (moved.0, moved.1, p.par_chunks(CHUNK), q.par_chunks(CHUNK))
        .into_par_iter()
        .map(|(x, r, p, q)| chunk(x, r, p, q))
        .collect();
    parts.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(n: usize, seed: u64) -> Vec<f64> {
        (0..n as u64).map(|i| ((i * 2654435761 + seed * 97) % 10007) as f64 / 10007.0 - 0.5).collect()
    }

    #[test]
    fn a_dot_product_agrees_with_a_plain_sum() {
        for n in [0, 1, 7, 8, 4095, 4096, 4097, 20_000] {
            let (a, b) = (samples(n, 1), samples(n, 2));
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            // Each of the n additions rounds by at most half an ulp of a partial sum below n/4.
            let bound = n as f64 * f64::EPSILON * (n as f64 / 4.0);
            assert!((dot(&a, &b) - plain).abs() <= bound);
            let (ab, aa) = dot2(&a, &b, &a);
            assert_eq!((ab, aa), (dot(&a, &b), dot(&a, &a)));
        }
    }

    #[test]
    fn reductions_have_the_same_bits_for_any_thread_count() {
        let (a, b) = (samples(100_000, 3), samples(100_000, 4));
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut x, mut r) = (a.clone(), b.clone());
                (step(0.3, &b, &a, &mut x, &mut r).to_bits(), dot(&x, &r).to_bits(), norm(&x).to_bits())
            })
        };
        assert!([2, 3, 8].iter().all(|&t| run(t) == run(1)));
    }

    #[test]
    fn a_single_bad_number_is_found() {
        let mut a = samples(10_000, 5);
        assert!(all_finite(&a));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            a[7777] = bad;
            assert!(!all_finite(&a));
        }
        assert!(all_finite(&[]) && all_finite(&[f64::MAX; 9]));
        a[7777] = f64::NAN;
        assert!(max_norm(&a).is_nan());
        a[7777] = f64::NEG_INFINITY;
        assert_eq!(max_norm(&a), f64::INFINITY);
        a[7777] = -3.0;
        assert_eq!((max_norm(&a), max_norm(&a[7770..7778]), max_norm(&[])), (3.0, 3.0, 0.0));
    }
}
