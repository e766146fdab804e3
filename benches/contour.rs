//! Speed of the contour, of redistancing and of extrapolation, on one thread.
//!
//! `cargo bench --bench contour`. Gate: 5 million surface cells a second.

use meniscus::grid::{Order, Tiles, contour, extend_average, extend_linear, redistance};
use meniscus::math::Vec3;
use std::time::Instant;

/// The tiles of a wavy ball of the given radius in cells, and of its band.
fn ball(radius: f64, band: f64) -> (Tiles, Vec<f64>) {
    let h = 1.0 / radius;
    let phi = |x: Vec3| {
        let d = x / x.norm().max(1e-9);
        x.norm() - 1.0 - 0.03 * ((9.0 * d.x).sin() + (11.0 * d.y).sin() + (7.0 * d.z).sin())
    };
    let n = (radius * 1.2 / 8.0).ceil() as i32 + 1;
    let mut coords = Vec::new();
    for z in -n..n {
        for y in -n..n {
            for x in -n..n {
                let middle = Vec3::new(x as f64 + 0.5, y as f64 + 0.5, z as f64 + 0.5) * 8.0 * h;
                if phi(middle) < (7.0 + band) * h {
                    coords.push([x, y, z]);
                }
            }
        }
    }
    let tiles = Tiles::new(h, Vec3::zeros(), false, coords);
    let field = (0..tiles.cells()).map(|p| phi(tiles.centre(tiles.cell(p)))).collect();
    (tiles, field)
}

/// Seconds that this thread has run, so that a busy machine does not count; else those of the clock.
fn seconds(start: Instant) -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = ran.as_deref().and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or(start.elapsed().as_secs_f64(), |n| 1e-9 * n)
}

/// The least of several runs, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let time = |_| {
        let before = seconds(start);
        run();
        seconds(start) - before
    };
    (0..7).map(time).fold(f64::INFINITY, f64::min)
}

/// Cubes that the surface passes through.
fn surface_cells(tiles: &Tiles, field: &[f64]) -> usize {
    let inside = |cell: [i32; 3]| tiles.locate(cell).is_some_and(|p| field[p] < 0.0);
    (0..tiles.cells())
        .filter(|&p| {
            let [i, j, k] = tiles.cell(p);
            let count = (0..8).filter(|c| inside([i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)])).count();
            count != 0 && count != 8
        })
        .count()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let (tiles, field) = ball(100.0, 3.0);
    let cells = surface_cells(&tiles, &field);
    let mut triangles = 0;
    pool.install(|| {
        let seconds = best(|| triangles = contour(&tiles, &field).map_or(0, |c| c.mesh.triangles.len()));
        let rate = cells as f64 / seconds / 1e6;
        println!(
            "contour: {} tiles, {cells} surface cells, {triangles} triangles, {:.2} ms",
            tiles.len(),
            1e3 * seconds
        );
        println!("contour: {rate:.1} million surface cells/s on one thread (gate 5)");
        fields(&tiles, &field);
    });
    Ok(())
}

/// Redistancing a band of five cells, and five layers of extrapolation.
fn fields(tiles: &Tiles, field: &[f64]) {
    let in_band = |band: f64| field.iter().filter(|p| p.abs() < band * tiles.h()).count();
    let report = |what: &str, cells: usize, seconds: f64| {
        let rate = cells as f64 / seconds / 1e6;
        println!("{what}: {cells} cells in {:.1} ms, {rate:.1} million/s on one thread", 1e3 * seconds);
    };
    for order in [Order::First, Order::Second] {
        let mut phi = field.to_vec();
        let seconds = best(|| {
            let _ = redistance(tiles, &mut phi, 5, order);
        });
        report(&format!("redistance, {order:?}, band 5"), in_band(5.0), seconds);
    }
    let known: Vec<u8> = field.iter().map(|p| (*p < 0.0) as u8).collect();
    let filled = field.iter().filter(|p| **p >= 0.0 && **p < 5.0 * tiles.h()).count();
    let mut phi = field.to_vec();
    let seconds = best(|| {
        let _ = extend_average(tiles, &mut phi, &mut known.clone(), 5);
    });
    report("extend_average, 5 layers", filled, seconds);
    let seconds = best(|| {
        let _ = extend_linear(tiles, &mut phi, &known, 5);
    });
    report("extend_linear, 5 layers", filled, seconds);
}
