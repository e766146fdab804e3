//! Points as classic BGEO, version 5, which Houdini and Partio read: big endian, one record a point.
//!
//! ```text
//! "Bgeo" 'V' version 5, points, primitives, groups of points and primitives,
//! attributes of points, vertices, primitives and the whole              all of them 4 bytes
//! for each attribute: 2 bytes of length, name, 2 bytes of width, 4 bytes of type, a default a component
//! for each point: x y z w, then the attributes                          4 bytes each
//! 00 ff, the end of what holds for the whole
//! ```
//!
//! Type 0 is a float, 1 a whole number, 5 a vector, which turns with the geometry. Names are Houdini's: `v` is
//! velocity, `pscale` the radius, `id` stays with its point (its lower 31 bits). Checked by
//! tests/formats/read_back.py with pysplashsurf, which nobody here wrote.

use std::io::{self, Write};

use crate::math::Vec3;

/// Write points with `v`, `pscale` and `id`.
pub fn write_points(
    position: &[Vec3],
    velocity: &[Vec3],
    id: &[u64],
    radius: f32,
    out: &mut impl Write,
) -> io::Result<()> {
    let count = i32::try_from(position.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "more points than BGEO can count"))?;
    out.write_all(b"BgeoV")?;
    for number in [5, count, 0, 0, 0, 3, 0, 0, 0] {
        out.write_all(&number.to_be_bytes())?;
    }
    for (name, width, kind) in [("v", 3u16, 5i32), ("pscale", 1, 0), ("id", 1, 1)] {
        out.write_all(&(name.len() as u16).to_be_bytes())?;
        out.write_all(name.as_bytes())?;
        out.write_all(&width.to_be_bytes())?;
        out.write_all(&kind.to_be_bytes())?;
        for _ in 0..width {
            out.write_all(&0i32.to_be_bytes())?;
        }
    }
    for (i, x) in position.iter().enumerate() {
        let v = velocity.get(i).copied().unwrap_or_default();
        let numbers = [x.x, x.y, x.z, 1.0, v.x, v.y, v.z].map(|c| c as f32);
        for number in numbers.into_iter().chain([radius]) {
            out.write_all(&number.to_be_bytes())?;
        }
        let id = id.get(i).copied().unwrap_or(i as u64) & 0x7fff_ffff;
        out.write_all(&(id as i32).to_be_bytes())?;
    }
    out.write_all(&[0, 0xff])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_takes_thirty_six_bytes() {
        let size = |n: usize| {
            let mut bytes = Vec::new();
            write_points(&vec![Vec3::x(); n], &vec![Vec3::y(); n], &[], 0.1, &mut bytes).unwrap();
            bytes.len()
        };
        assert_eq!(size(10) - size(0), 10 * 36);
    }
}
