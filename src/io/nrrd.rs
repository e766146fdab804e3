//! Fields on a lattice as NRRD: a header of text, an empty line, and raw numbers. ParaView, 3D Slicer, Python (`pynrrd`) and
//! many others read and write it.
//!
//! ```text
//!     NRRD0004
//!     type: float                      or double
//!     dimension: 3                     4 with three numbers a sample, which are then the first axis
//!     sizes: 32 32 32
//!     space dimension: 3
//!     space directions: (0.1,0,0) (0,0.1,0) (0,0,0.1)
//!     space origin: (0,0,0)            the first sample
//!     endian: little                   or big
//!     encoding: raw
//! ```
//!
//! `spacings` may stand for directions along the axes. Everything else in the header is passed over, but for data in
//! another file or packed, which is refused. Sizes are compared with the bytes there are before anything is allocated.

use crate::error::{Error, Result};
use crate::field::DenseField;
use crate::math::{Mat3, Vec3};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Bytes of a header at most.
const MAX_HEADER: usize = 1 << 16;

/// Whether bytes begin as NRRD does.
pub fn is_nrrd(bytes: &[u8]) -> bool {
    bytes.starts_with(b"NRRD")
}

/// Read a field from the bytes of a file; `file` is its name, for errors.
pub fn parse(file: &str, bytes: &[u8]) -> Result<DenseField> {
    if !is_nrrd(bytes) {
        return Err(fault(file, "byte 0", "a NRRD file starts with the letters NRRD"));
    }
    let head = &bytes[..bytes.len().min(MAX_HEADER)];
    let ends = |mark: &[u8]| head.windows(mark.len()).position(|w| w == mark).map(|at| at + mark.len());
    let end = ends(b"\n\n").into_iter().chain(ends(b"\r\n\r\n")).min();
    let end = end.ok_or_else(|| fault(file, "header", "no empty line ends it"))?;
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| fault(file, "header", "is not text"))?;
    let header = Header::read(file, text)?;
    let values = header.numbers(file, &bytes[end..], end)?;
    DenseField::new(file, header.size, header.width, header.origin, header.axes, values)
}

struct Header {
    size: [usize; 3],
    width: usize,
    origin: Vec3,
    axes: Mat3,
    wide: bool,
    big: bool,
}

impl Header {
    fn read(file: &str, text: &str) -> Result<Self> {
        let line_of = |key: &str| {
            let named = |line: &'_ str| line.split_once(": ").is_some_and(|(k, _)| k.trim() == key);
            let found = text.lines().enumerate().find(|(_, line)| named(line));
            found.map(|(n, line)| {
                (format!("line {}", n + 1), line.split_once(": ").map_or("", |l| l.1).trim())
            })
        };
        let need = |key: &str| line_of(key).ok_or_else(|| fault(file, "header", format!("has no '{key}'")));
        let (place, kind) = need("type")?;
        let wide = match kind {
            "float" => false,
            "double" => true,
            _ => return Err(fault(file, place, "numbers must be of type float or double")),
        };
        let (place, encoding) = need("encoding")?;
        if encoding != "raw" {
            return Err(fault(file, place, "only raw numbers are read; write it with encoding raw"));
        }
        if line_of("data file").or(line_of("datafile")).is_some() {
            return Err(fault(file, "header", "its numbers are in another file; write both as one"));
        }
        let big = match line_of("endian") {
            Some((_, "big")) => true,
            Some((_, "little")) | None => false,
            Some((place, _)) => return Err(fault(file, place, "is neither little nor big")),
        };
        let (place, sizes) = need("sizes")?;
        let sizes: Option<Vec<usize>> = sizes.split_whitespace().map(|n| n.parse().ok()).collect();
        let (width, size) = match sizes.as_deref() {
            Some([x, y, z]) => (1, [*x, *y, *z]),
            Some([width @ (1 | 3), x, y, z]) => (*width, [*x, *y, *z]),
            _ => {
                let message = "must be three, or four with 1 or 3 numbers a sample as the first";
                return Err(fault(file, place, message));
            }
        };
        let axes = match (line_of("space directions"), line_of("spacings")) {
            (Some((place, text)), _) => {
                let all = vectors(text).filter(|v| v.len() == 3);
                let all = all.ok_or_else(|| fault(file, place, "must be three directions as (1,0,0)"))?;
                Mat3::from_columns(&all)
            }
            (None, Some((place, text))) => {
                let steps: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
                let steps = steps.get(steps.len().saturating_sub(3)..).filter(|s| s.len() == 3);
                let steps = steps.ok_or_else(|| fault(file, place, "must be three lengths"))?;
                Mat3::from_diagonal(&Vec3::new(steps[0], steps[1], steps[2]))
            }
            (None, None) => return Err(fault(file, "header", "has no 'space directions'")),
        };
        let origin = match line_of("space origin") {
            Some((place, text)) => match vectors(text).as_deref() {
                Some([origin]) => *origin,
                _ => return Err(fault(file, place, "must be a point as (0,0,0)")),
            },
            None => Vec3::zeros(),
        };
        Ok(Self { size, width, origin, axes, wide, big })
    }

    fn numbers(&self, file: &str, data: &[u8], at: usize) -> Result<Vec<f32>> {
        let size = if self.wide { 8 } else { 4 };
        let wanted = self.size.iter().try_fold(self.width * size, |n, s| n.checked_mul(*s));
        if wanted != Some(data.len()) {
            let message = format!("{} bytes of numbers do not fill {:?} samples", data.len(), self.size);
            return Err(fault(file, format!("byte {at}"), message));
        }
        let number = |b: &[u8]| match (self.wide, self.big, b) {
            (false, false, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (false, true, &[a, b, c, d]) => f32::from_be_bytes([a, b, c, d]),
            (_, big, &[a, b, c, d, e, f, g, h]) => {
                let bytes = [a, b, c, d, e, f, g, h];
                (if big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }) as f32
            }
            _ => f32::NAN,
        };
        Ok(data.chunks_exact(size).map(number).collect())
    }
}

/// Vectors as (1,0,0), `none` left out; None if a word is anything else.
fn vectors(text: &str) -> Option<Vec<Vec3>> {
    let mut all = Vec::new();
    // Spaces may stand inside brackets too.
    for part in text.replace("none", " ").split('(').skip(1) {
        let inside = part.trim_end().strip_suffix(')')?;
        let numbers: Option<Vec<f64>> = inside.split(',').map(|n| n.trim().parse().ok()).collect();
        let [x, y, z] = numbers?[..] else { return None };
        all.push(Vec3::new(x, y, z));
    }
    Some(all)
}

/// Write a field.
pub fn write(field: &DenseField, out: &mut impl Write) -> io::Result<()> {
    let ([nx, ny, nz], (origin, axes)) = (field.size(), field.place());
    let vector = |v: Vec3| format!("({:?},{:?},{:?})", v.x, v.y, v.z);
    let mut head = String::from("NRRD0004\ntype: float\n");
    let (dimension, first, none) = if field.width() == 1 { (3, "", "") } else { (4, "3 ", "none ") };
    let steps: Vec<String> = (0..3).map(|a| vector(axes.column(a).into())).collect();
    // Writing to a string does not fail.
    let _ = write!(
        head,
        "dimension: {dimension}\nsizes: {first}{nx} {ny} {nz}\nspace dimension: 3\n\
         space directions: {none}{}\nspace origin: {}\nendian: little\nencoding: raw\n\n",
        steps.join(" "),
        vector(origin)
    );
    out.write_all(head.as_bytes())?;
    let bytes: Vec<u8> = field.values().iter().flat_map(|v| v.to_le_bytes()).collect();
    out.write_all(&bytes)
}

fn fault(file: &str, place: impl Into<String>, message: impl Into<String>) -> Error {
    Error::Format { file: file.to_string(), place: place.into(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(width: usize) -> DenseField {
        let values = (0..24 * width).map(|n| n as f32 * 0.25 - 1.0).collect();
        let axes = Mat3::new(0.1, 0.02, 0.0, 0.0, 0.2, 0.0, 0.0, -0.01, 0.3);
        DenseField::new("test", [2, 3, 4], width, Vec3::new(1.0, -2.0, 0.1), axes, values).unwrap()
    }

    #[test]
    fn a_field_comes_back_to_the_last_bit() {
        for width in [1, 3] {
            let mut bytes = Vec::new();
            write(&field(width), &mut bytes).unwrap();
            assert_eq!(parse("a.nrrd", &bytes).unwrap(), field(width));
        }
    }

    #[test]
    fn what_other_programs_write_is_read() {
        let head = "NRRD0005\n# by hand\ntype: double\ndimension: 4\nspace: left-posterior-superior\nsizes: 3 1 2 1\n\
            kinds: vector domain domain domain\nendian: big\nencoding: raw\nspace directions: none (1, 0, 0) (0,2,0) (0,0,1)\n\
            space origin: (5,0,0)\nkey:=value\n\n";
        let mut bytes = head.as_bytes().to_vec();
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0f64].iter().for_each(|v| bytes.extend(v.to_be_bytes()));
        let field = parse("a.nrrd", &bytes).unwrap();
        assert_eq!(field.at(&Vec3::new(5.0, 1.0, 0.0)), Some(Vec3::new(2.5, 3.5, 4.5)));
        let spaced =
            "NRRD0004\ntype: float\ndimension: 3\nsizes: 1 1 1\nspacings: 0.5 0.5 2\nencoding: raw\n\n";
        let mut bytes = spaced.as_bytes().to_vec();
        bytes.extend(7f32.to_le_bytes());
        assert_eq!(parse("a.nrrd", &bytes).unwrap().at(&Vec3::new(0.2, 0.0, 0.9)).unwrap().x, 7.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut bytes = Vec::new();
        write(&field(1), &mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..150]).into_owned();
        let said = |change: (&str, &str)| {
            let mut changed = text.replace(change.0, change.1).into_bytes();
            changed.extend(&bytes[150..]);
            parse("a.nrrd", &changed).unwrap_err().to_string()
        };
        assert!(said(("float", "short")).contains("line 2"));
        assert!(said(("sizes: 2 3 4", "sizes: 2 3 99999999999")).contains("do not fill"));
        assert!(said(("sizes: 2 3 4", "sizes: 2 3")).contains("line 4"));
        assert!(said(("NRRD", "nrrd")).contains("letters NRRD"));
    }
}
