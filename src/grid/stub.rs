//! Temporary.
use super::*;
use crate::error::Result;
use rayon::prelude::*;
pub fn extrapolate_velocity(tiles: &Tiles, u: &mut [f64], known: &mut [u8], layers: usize) {
    for _ in 0..layers {
        let upd: Vec<(usize, f64)> = (0..tiles.cells())
            .into_par_iter()
            .filter(|&p| known[p] == 0)
            .filter_map(|p| {
                let c = tiles.cell(p);
                let t = p / tiles.volume();
                let b = tiles.base(t);
                let (mut s, mut n) = (0.0, 0);
                for a in 0..tiles.axes() {
                    for d in [-1, 1] {
                        let mut q = [c[0] - b[0], c[1] - b[1], c[2] - b[2]];
                        q[a] += d;
                        if let Some(q) = tiles.near(t, q[0], q[1], q[2]) {
                            if known[q] == 1 {
                                s += u[q];
                                n += 1;
                            }
                        }
                    }
                }
                (n > 0).then(|| (p, s / n as f64))
            })
            .collect();
        for (p, v) in upd {
            u[p] = v;
            known[p] = 1;
        }
    }
}
pub fn extrapolate_distance(tiles: &Tiles, u: &mut [f64], known: &mut [u8], layers: usize) {
    for _ in 0..layers {
        let upd: Vec<(usize, f64)> = (0..tiles.cells())
            .into_par_iter()
            .filter(|&p| known[p] == 0)
            .filter_map(|p| {
                let c = tiles.cell(p);
                let t = p / tiles.volume();
                let b = tiles.base(t);
                let (mut s, mut n, mut s2, mut n2) = (0.0, 0, 0.0, 0);
                for k in -1..=1 {
                    for j in -1..=1 {
                        for i in -1..=1 {
                            if tiles.is_flat() && k != 0 {
                                continue;
                            }
                            if i == 0 && j == 0 && k == 0 {
                                continue;
                            }
                            let q = [c[0] - b[0], c[1] - b[1], c[2] - b[2]];
                            let g = |m: i32| {
                                tiles
                                    .near(t, q[0] + m * i, q[1] + m * j, q[2] + m * k)
                                    .filter(|&x| known[x] == 1)
                            };
                            if let Some(q1) = g(1) {
                                s += u[q1];
                                n += 1;
                                if let Some(q2) = g(2) {
                                    s2 += 2.0 * u[q1] - u[q2];
                                    n2 += 1;
                                }
                            }
                        }
                    }
                }
                if n2 > 0 { Some((p, s2 / n2 as f64)) } else { (n > 0).then(|| (p, s / n as f64)) }
            })
            .collect();
        for (p, v) in upd {
            u[p] = v;
            known[p] = 1;
        }
    }
}
pub fn redistance(tiles: &Tiles, phi: &mut [f64], band: f64) -> Result<()> {
    let b = band * tiles.h();
    phi.iter_mut().for_each(|p| *p = p.clamp(-b, b));
    Ok(())
}
pub fn overlap_walls(liquid: &[f64], solid: &[f64], overlap: f64) -> Result<Vec<f64>> {
    Ok(liquid.iter().zip(solid).map(|(l, s)| l.max(-(s + overlap))).collect())
}
