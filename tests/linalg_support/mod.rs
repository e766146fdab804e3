//! Matrices with known properties, and dense truth.
#![allow(dead_code)]

use meniscus::linalg::*;

/// A small fixed random number generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [−1, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

pub fn random_vector(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..n).map(|_| random.unit()).collect()
}

pub fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// A random sparse matrix BᵀB + I.
pub fn random_spd(n: usize, seed: u64) -> Csr {
    let mut random = Random(seed ^ 0xABCD);
    let b: Vec<Vec<(usize, f64)>> =
        (0..n).map(|_| (0..3).map(|_| (random.next() as usize % n, random.unit())).collect()).collect();
    let mut triplets: Vec<(u32, u32, f64)> = (0..n as u32).map(|i| (i, i, 1.0)).collect();
    for row in &b {
        for &(i, u) in row {
            triplets.extend(row.iter().map(|&(j, v)| (i as u32, j as u32, u * v)));
        }
    }
    Csr::from_triplets(n, n, &triplets).unwrap()
}

pub fn dense(a: &Csr) -> nalgebra::DMatrix<f64> {
    nalgebra::DMatrix::from_fn(a.rows(), a.column_count(), |i, j| a.get(i, j))
}

pub fn dense_solve(a: &Csr, b: &[f64]) -> Vec<f64> {
    let x = dense(a).lu().solve(&nalgebra::DVector::from_column_slice(b)).unwrap();
    x.as_slice().to_vec()
}

/// The 7-point matrix of −Δ with h = 1: neighbours outside the box are walls at zero (`open`) or absent.
fn laplacian(size: [usize; 3], open: bool) -> Csr {
    let [nx, ny, nz] = size;
    Csr::from_rows(nx * ny * nz, nx * ny * nz, |i, row| {
        let c = [i % nx, i / nx % ny, i / (nx * ny)];
        let stride = [1, nx, nx * ny];
        let mut diagonal = 0.0;
        for axis in (0..3).rev() {
            if c[axis] > 0 {
                row.push(((i - stride[axis]) as u32, -1.0));
            }
        }
        for axis in 0..3 {
            diagonal += (c[axis] > 0 || open) as u32 as f64;
            diagonal += (c[axis] + 1 < size[axis] || open) as u32 as f64;
        }
        row.push((i as u32, diagonal));
        for axis in 0..3 {
            if c[axis] + 1 < size[axis] {
                row.push(((i + stride[axis]) as u32, -1.0));
            }
        }
    })
    .unwrap()
}

pub fn poisson(size: [usize; 3]) -> Csr {
    laplacian(size, true)
}

pub fn neumann(size: [usize; 3]) -> Csr {
    laplacian(size, false)
}

pub fn block_diagonal(blocks: &[&Csr]) -> Csr {
    let (mut triplets, mut start) = (vec![], 0u32);
    for block in blocks {
        for i in 0..block.rows() {
            let (columns, values) = block.row(i);
            triplets.extend(columns.iter().zip(values).map(|(&c, &v)| (start + i as u32, start + c, v)));
        }
        start += block.rows() as u32;
    }
    Csr::from_triplets(start as usize, start as usize, &triplets).unwrap()
}

pub fn shift_diagonal(a: &mut Csr, shift: f64) {
    for i in 0..a.rows() {
        let place = a.span(i).find(|&k| a.columns()[k] as usize == i).unwrap();
        a.values_mut()[place] += shift;
    }
}

pub fn point_preconditioners(a: &Csr) -> Vec<(&'static str, Box<dyn Preconditioner + '_>)> {
    vec![
        ("identity", Box::new(Identity)),
        ("jacobi", Box::new(Jacobi::new(&a.diagonal()).unwrap())),
        ("ic0", Box::new(Ic0::new(a, &Ic0Params::ic0()).unwrap())),
        ("mic0", Box::new(Ic0::new(a, &Ic0Params::mic0()).unwrap())),
        ("gauss-seidel", Box::new(SymmetricGaussSeidel::new(a).unwrap())),
        ("chebyshev", Box::new(Chebyshev::new(a, &a.diagonal(), 3, 10.0).unwrap())),
        ("blocked mic0", Box::new(Ic0::new(a, &Ic0Params { block_rows: 16, ..Ic0Params::mic0() }).unwrap())),
    ]
}

pub fn bits(v: &[f64]) -> Vec<u64> {
    v.iter().map(|v| v.to_bits()).collect()
}

/// u·M⁻¹v = v·M⁻¹u and u·M⁻¹u > 0 for a few random vectors.
pub fn check_symmetric(m: &mut dyn Preconditioner, n: usize) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for seed in 0..4 {
        let (u, v) = (random_vector(n, seed), random_vector(n, seed + 50));
        let (mut mu, mut mv) = (vec![0.0; n], vec![0.0; n]);
        m.apply(&u, &mut mu);
        m.apply(&v, &mut mv);
        let scale = norm(&u) * norm(&mv);
        assert!((dot(&u, &mv) - dot(&v, &mu)).abs() < 1e-12 * scale);
        assert!(dot(&u, &mu) > 0.0 && dot(&v, &mv) > 0.0);
    }
}
