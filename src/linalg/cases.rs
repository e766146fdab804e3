//! Matrices of the kind that simulators assemble, for benchmarks and tests.
//!
//! All are functions of a size and a fixed seed, so that two programs can solve the same system.

use super::csr::Csr;
use crate::error::Result;

/// −Δ on an n×n×n grid, 7 points, h = 1, walls at zero half a cell outside being cells of value zero.
pub fn poisson(n: usize) -> Result<Csr> {
    Csr::from_rows(n * n * n, n * n * n, |i, row| {
        let place = [i % n, i / n % n, i / (n * n)];
        let stride = [1, n, n * n];
        for axis in (0..3).rev().filter(|&axis| place[axis] > 0) {
            row.push(((i - stride[axis]) as u32, -1.0));
        }
        row.push((i as u32, 6.0));
        for axis in (0..3).filter(|&axis| place[axis] + 1 < n) {
            row.push(((i + stride[axis]) as u32, -1.0));
        }
    })
}

/// Numbers between −1 and 1 from a fixed sequence (splitmix64).
pub fn random_vector(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect()
}

/// The pressure matrix of a splash on an n×n×n grid: a pool, a thin sheet and drops, a ball in the pool.
///
/// Cells are in the liquid where φ < 0. A face of open fraction w between two liquid cells couples them by w;
/// one towards air adds w/θ to the diagonal, θ = φ/(φ − φ_air) (ghost fluid). The walls of the box are closed.
pub fn splash(n: usize) -> Result<Csr> {
    Ok(splash_on_grid(n)?.0)
}

/// The matrix of [`splash`], and the cell x + n(y + nz) of each row.
pub fn splash_on_grid(n: usize) -> Result<(Csr, Vec<usize>)> {
    let h = 1.0 / n as f64;
    let centres = random_vector(4 * 40, 7);
    let centre = |i: usize| [i % n, i / n % n, i / (n * n)].map(|c| (c as f64 + 0.5) * h);
    let liquid = |p: [f64; 3]| {
        let ball = |c: &[f64]| {
            let d: f64 = (0..3).map(|k| (p[k] - 0.5 - 0.45 * c[k]).powi(2)).sum();
            d.sqrt() - 0.05 - 0.03 * c[3]
        };
        let drops = centres.chunks(4).map(ball).fold(f64::INFINITY, f64::min);
        let pool = p[1] - 0.3 - 0.05 * (12.0 * (p[0] - 0.4) * (p[2] - 0.6));
        let sheet = (p[0] - 0.45 - 0.1 * p[1]).abs() - 1.6 * h;
        drops.min(pool).min(sheet.max(p[1] - 0.85))
    };
    let solid =
        |p: [f64; 3]| ((p[0] - 0.6).powi(2) + (p[1] - 0.2).powi(2) + (p[2] - 0.5).powi(2)).sqrt() - 0.15;
    let phi: Vec<f64> = (0..n * n * n).map(|i| liquid(centre(i))).collect();
    let neighbour = |i: usize, axis: usize, up: bool| {
        let place = [i % n, i / n % n, i / (n * n)][axis];
        let stride = [1, n, n * n][axis];
        if up { (place + 1 < n).then(|| i + stride) } else { (place > 0).then(|| i - stride) }
    };
    let open = |i: usize, j: usize| {
        let (a, b) = (centre(i), centre(j));
        (0.5 + solid([0, 1, 2].map(|k| 0.5 * (a[k] + b[k]))) / h).clamp(0.0, 1.0)
    };
    let faces = |i: usize| {
        [(2, false), (1, false), (0, false), (0, true), (1, true), (2, true)]
            .into_iter()
            .filter_map(move |(axis, up)| neighbour(i, axis, up))
            .map(move |j| (j, open(i, j)))
            .filter(|f| f.1 > 0.0)
    };
    let mut number = vec![u32::MAX; phi.len()];
    let mut cells = Vec::new();
    for i in 0..phi.len() {
        if phi[i] < 0.0 && faces(i).next().is_some() {
            number[i] = cells.len() as u32;
            cells.push(i);
        }
    }
    let matrix = Csr::from_rows(cells.len(), cells.len(), |row, entries| {
        let i = cells[row];
        let mut diagonal = 0.0;
        for (j, w) in faces(i) {
            if phi[j] < 0.0 {
                diagonal += w;
                entries.push((number[j], -w));
            } else {
                diagonal += w / (phi[i] / (phi[i] - phi[j])).max(1e-6);
            }
        }
        entries.push((row as u32, diagonal));
    })?;
    Ok((matrix, cells))
}

/// A viscosity matrix and the rigid motions that its stiffness part leaves alone.
pub struct Viscosity {
    pub matrix: Csr,
    /// Six numbers a row: three translations, three turns about the middle of the block.
    pub rigid_motions: Vec<f64>,
}

/// M + s K on the faces of a free block of n×n×n cells, τ = 2με, s = μΔt/(ρh²), M = 1.
///
/// uᵀK u = Σ_cells 2 Σ_a (δ_a u_a)² + Σ_edges (δ_b u_a + δ_a u_b)², over the edges whose four faces exist.
/// Its null space is the rigid motions sampled at the faces.
pub fn viscosity(n: usize, s: f64) -> Result<Viscosity> {
    let size = |axis: usize| [0, 1, 2].map(|k| if k == axis { n + 1 } else { n });
    let count = (n + 1) * n * n;
    let face = |axis: usize, p: [usize; 3]| {
        let [nx, ny, _] = size(axis);
        (axis * count + p[0] + nx * (p[1] + ny * p[2])) as u32
    };
    let mut triplets: Vec<(u32, u32, f64)> = (0..3 * count as u32).map(|i| (i, i, 1.0)).collect();
    let mut square = |terms: &[(u32, f64)], weight: f64| {
        for &(i, u) in terms {
            triplets.extend(terms.iter().map(|&(j, v)| (i, j, s * weight * u * v)));
        }
    };
    let shifted = |mut p: [usize; 3], axis: usize| {
        p[axis] += 1;
        p
    };
    for c in 0..n * n * n {
        let p = [c % n, c / n % n, c / (n * n)];
        for a in 0..3 {
            square(&[(face(a, p), -1.0), (face(a, shifted(p, a)), 1.0)], 2.0);
        }
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            // The edge at the lower corner of the cell in the plane (a, b); inside the block only.
            if p[a] > 0 && p[b] > 0 {
                let lower = |axis: usize, back: usize| {
                    let mut q = p;
                    q[back] -= 1;
                    face(axis, q)
                };
                square(
                    &[(face(a, p), 1.0), (lower(a, b), -1.0), (face(b, p), 1.0), (lower(b, a), -1.0)],
                    1.0,
                );
            }
        }
    }
    let matrix = Csr::from_triplets(3 * count, 3 * count, &triplets)?;
    let mut rigid_motions = Vec::with_capacity(18 * count);
    for axis in 0..3 {
        let [nx, ny, nz] = size(axis);
        for i in 0..nx * ny * nz {
            let place = [i % nx, i / nx % ny, i / (nx * ny)];
            let middle = 0.5 * n as f64;
            let x = [0, 1, 2].map(|k| place[k] as f64 + if k == axis { 0.0 } else { 0.5 } - middle);
            let turns = [[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]];
            rigid_motions.extend((0..3).map(|k| (k == axis) as u32 as f64));
            rigid_motions.extend(turns.map(|turn| turn[axis]));
        }
    }
    Ok(Viscosity { matrix, rigid_motions })
}

/// The divergence of the faces of a free block of n×n×n cells, numbered as in [`viscosity`]; h = 1.
pub fn divergence(n: usize) -> Result<Csr> {
    let count = (n + 1) * n * n;
    Csr::from_rows(n * n * n, 3 * count, |c, row| {
        let p = [c % n, c / n % n, c / (n * n)];
        for axis in 0..3 {
            let size = [0, 1, 2].map(|k| if k == axis { n + 1 } else { n });
            let face = axis * count + p[0] + size[0] * (p[1] + size[1] * p[2]);
            let stride = [1, size[0], size[0] * size[1]][axis];
            row.push((face as u32, -1.0));
            row.push(((face + stride) as u32, 1.0));
        }
    })
}
