//! A slice through the signed distance of a mesh as a picture.
//!
//! `cargo run --release --example distance_slice -- examples/scenes/models/bunny.obj slice.png 128`
//! Blue inside, sand outside, grey where a thin mesh has no inside; lines every two cells, the surface
//! black. The slice is across z through the middle of the mesh.

use meniscus::grid::{DistanceParams, MeshDistance};
use meniscus::io::mesh;
use meniscus::math::Vec3;
use meniscus::{Cancel, Error, Result};

/// Cells of the band that is drawn.
const BAND: f64 = 10.0;

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, rest @ ..] = &arguments[..] else {
        return Err(Error::invalid("arguments", "give a mesh, a picture and, if you like, cells across"));
    };
    let across: f64 = rest.first().and_then(|a| a.parse().ok()).unwrap_or(128.0);
    let mesh = mesh::read(input)?;
    let bounds = mesh.bounds();
    let cell = bounds.size().max() / across;
    let params = DistanceParams { cell, band: BAND, ..Default::default() };
    let start = std::time::Instant::now();
    let field = MeshDistance::new(&mesh, input, &params, &Cancel::new())?;
    println!(
        "{} triangles, {} tiles, {:.3} s, {}",
        mesh.triangles.len(),
        field.tiles().len(),
        start.elapsed().as_secs_f64(),
        if field.is_thin() { "thin" } else { "solid" }
    );
    let drawn = bounds.grow(BAND * cell);
    let width = 480usize;
    let pixel = drawn.size().x / width as f64;
    let height = (drawn.size().y / pixel) as usize;
    let mut rows = Vec::with_capacity(3 * width * height);
    for j in 0..height {
        for i in 0..width {
            let x = drawn.lo.x + (i as f64 + 0.5) * pixel;
            let y = drawn.hi.y - (j as f64 + 0.5) * pixel;
            let d = field.distance(&Vec3::new(x, y, bounds.centre().z));
            rows.extend(colour(d / cell, pixel / cell, field.is_thin()));
        }
    }
    write(output, width, height, &rows)
}

/// Colour of a distance in cells, for pixels of `pixel` cells.
fn colour(d: f64, pixel: f64, thin: bool) -> [u8; 3] {
    let base = match (thin, d < 0.0) {
        (true, _) => [200.0, 200.0, 205.0],
        (_, true) => [80.0, 130.0, 200.0],
        _ => [235.0, 215.0, 180.0],
    };
    let near_line = (d / 2.0 - (d / 2.0).round()).abs() * 2.0 < 0.5 * pixel;
    let shade = if d.abs() < pixel {
        0.0
    } else if near_line && d.abs() < BAND - 0.5 {
        0.75
    } else {
        1.0 - 0.25 * d.abs() / BAND
    };
    base.map(|c| (c * shade) as u8)
}

fn write(path: &str, width: usize, height: usize, rows: &[u8]) -> Result<()> {
    let file = std::fs::File::create(path).map_err(|e| Error::io(path, &e))?;
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    let failed = |e: png::EncodingError| Error::Io { path: path.to_string(), message: e.to_string() };
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(rows).map_err(failed)
}
