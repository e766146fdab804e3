//! Incomplete Cholesky factors without fill: IC(0) and its modified form MIC(0).
//!
//! A ≈ (D + Uᵀ) D⁻¹ (D + U) with U restricted to the upper pattern of A. Column by column, pivot k
//! sends −uₖᵢuₖⱼ/dₖ to the entries (i, j), i, j > k. Where (i, j) is not in the pattern, IC(0) drops the
//! contribution and MIC(0) adds τ times it to both diagonals, so that the factors keep the row sums of
//! A [MV77], which takes the condition number of a Poisson matrix from h⁻² to h⁻¹. A pivot that falls
//! below σ times the diagonal it started from is replaced by that diagonal [Bri15]; this guards rows
//! that hang by a thread. τ = 0.97 and σ = 0.25 are Bridson's.
//!
//! Both triangular solves run over rows stored with their scaling, so one product and one difference
//! separate a row from the row before. With `block_rows` the couplings across blocks of that many rows
//! are left out (and lumped by τ): the blocks are then independent and run in parallel, the result
//! depends on the block length but not on the threads.

use super::csr::Csr;
use super::operator::Preconditioner;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// How the factors are made.
#[derive(Clone, Copy, Debug)]
pub struct Ic0Params {
    /// Share of dropped fill that goes to the diagonal: 0 is IC(0), near 1 is MIC(0).
    pub tau: f64,
    /// A pivot below this share of the original diagonal is not believed.
    pub sigma: f64,
    /// Rows of an independent block; `usize::MAX` for one block.
    pub block_rows: usize,
}

impl Ic0Params {
    /// Plain incomplete Cholesky.
    pub fn ic0() -> Self {
        Self { tau: 0.0, sigma: 0.25, block_rows: usize::MAX }
    }

    /// Modified incomplete Cholesky.
    pub fn mic0() -> Self {
        Self { tau: 0.97, ..Self::ic0() }
    }
}

/// The factors, ready to be applied.
#[derive(Clone, Debug)]
pub struct Ic0 {
    blocks: Vec<Block>,
}

/// The factors of the rows `rows`; columns are relative to the first of them.
#[derive(Clone, Debug)]
struct Block {
    rows: Range<usize>,
    inverse: Vec<f64>,
    lower: Triangle,
    upper: Triangle,
}

/// Strictly triangular rows, divided by the pivot of their row.
#[derive(Clone, Debug)]
struct Triangle {
    offsets: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Ic0 {
    /// Factor a symmetric matrix with a positive diagonal.
    pub fn new(a: &Csr, params: &Ic0Params) -> Result<Self> {
        let n = a.rows();
        if n != a.column_count() {
            return Err(Error::invalid(
                "incomplete cholesky",
                format!("{n} rows, {} columns", a.column_count()),
            ));
        }
        let length = params.block_rows.clamp(1, n.max(1));
        let range = |b: usize| b * length..((b + 1) * length).min(n);
        let factor = |b: usize| Factor::new(a, range(b), params.tau).map(|f| f.eliminate(params));
        let blocks: Result<Vec<_>> = (0..n.div_ceil(length)).into_par_iter().map(factor).collect();
        Ok(Self { blocks: blocks? })
    }
}

impl Preconditioner for Ic0 {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        let mut rest = z;
        let mut parts = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let (part, tail) = rest.split_at_mut(block.rows.len());
            parts.push((block, part));
            rest = tail;
        }
        parts.into_par_iter().for_each(|(block, z)| block.solve(&r[block.rows.clone()], z));
    }
}

/// A block during elimination: the diagonal and the strictly upper rows.
struct Factor {
    rows: Range<usize>,
    original: Vec<f64>,
    diagonal: Vec<f64>,
    offsets: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Factor {
    fn new(a: &Csr, rows: Range<usize>, tau: f64) -> Result<Self> {
        let n = rows.len();
        let (mut diagonal, mut original) = (vec![0.0; n], vec![0.0; n]);
        let (mut offsets, mut entries) = (vec![0u32], vec![]);
        for (k, i) in rows.clone().enumerate() {
            let (columns, values) = a.row(i);
            for (&c, &v) in columns.iter().zip(values) {
                let c = c as usize;
                if c == i {
                    original[k] = v;
                    diagonal[k] += v;
                } else if !rows.contains(&c) {
                    diagonal[k] += tau * v;
                } else if c > i {
                    entries.push(((c - rows.start) as u32, v));
                }
            }
            offsets.push(entries.len() as u32);
            if !(original[k] > 0.0 && original[k].is_finite()) {
                let message = format!("the diagonal of row {i} is {}, not positive", original[k]);
                return Err(Error::invalid("incomplete cholesky", message));
            }
        }
        Ok(Self { rows, original, diagonal, offsets, entries })
    }

    fn eliminate(mut self, params: &Ic0Params) -> Block {
        let n = self.rows.len();
        for k in 0..n {
            // A pivot that is not believed gives way to the original diagonal.
            if self.diagonal[k].is_nan() || self.diagonal[k] < params.sigma * self.original[k] {
                self.diagonal[k] = self.original[k];
            }
            let inverse = 1.0 / self.diagonal[k];
            let span = self.offsets[k] as usize..self.offsets[k + 1] as usize;
            for p in span.clone() {
                let (j, uj) = self.entries[p];
                self.diagonal[j as usize] -= uj * uj * inverse;
                for q in p + 1..span.end {
                    let (i, ui) = self.entries[q];
                    self.update(j, i, ui * uj * inverse, params.tau);
                }
            }
        }
        self.finish()
    }

    /// Subtract `v` from the entry (j, i), j < i, or lump it where the pattern has no such entry.
    fn update(&mut self, j: u32, i: u32, v: f64, tau: f64) {
        let row = &mut self.entries[self.offsets[j as usize] as usize..self.offsets[j as usize + 1] as usize];
        match row.binary_search_by_key(&i, |e| e.0) {
            Ok(place) => row[place].1 -= v,
            Err(_) => {
                self.diagonal[j as usize] -= tau * v;
                self.diagonal[i as usize] -= tau * v;
            }
        }
    }

    fn finish(self) -> Block {
        let inverse: Vec<f64> = self.diagonal.iter().map(|d| 1.0 / d).collect();
        let (n, mut upper) = (self.rows.len(), self.entries);
        let mut offsets = vec![0u32; n + 1];
        upper.iter().for_each(|e| offsets[e.0 as usize + 1] += 1);
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }
        let (mut next, mut lower) = (offsets.clone(), vec![(0u32, 0.0); upper.len()]);
        for k in 0..n {
            for e in &mut upper[self.offsets[k] as usize..self.offsets[k + 1] as usize] {
                let j = e.0 as usize;
                lower[next[j] as usize] = (k as u32, e.1 * inverse[j]);
                next[j] += 1;
                e.1 *= inverse[k];
            }
        }
        let lower = Triangle { offsets, entries: lower };
        let upper = Triangle { offsets: self.offsets, entries: upper };
        Block { rows: self.rows, inverse, lower, upper }
    }
}

impl Block {
    /// z ← (D+U)⁻¹ D (D+Uᵀ)⁻¹ r.
    fn solve(&self, r: &[f64], z: &mut [f64]) {
        for i in 0..z.len() {
            z[i] = self.lower.row(i).iter().fold(r[i] * self.inverse[i], |s, &(c, v)| s - v * z[c as usize]);
        }
        for i in (0..z.len()).rev() {
            // The nearest row comes last, so that the others do not wait for it.
            z[i] = self.upper.row(i).iter().rev().fold(z[i], |s, &(c, v)| s - v * z[c as usize]);
        }
    }
}

impl Triangle {
    fn row(&self, i: usize) -> &[(u32, f64)] {
        &self.entries[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
}
