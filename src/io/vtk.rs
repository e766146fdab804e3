//! What VTK's XML files have in common: arrays that are named in text and follow it in binary.
//!
//! The numbers stand after the XML, each array compressed by zlib in blocks, as VTK's own writer does, but raw and not as
//! text, so files are smaller than VTK's. Before the blocks of an array stand their number, their size before
//! compression, the size of a last block that is not full (0 if it is) and the compressed size of each (u64 all).

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rayon::prelude::*;
use std::io::{self, Read, Write};

/// Bytes of a block before compression.
const BLOCK: usize = 1 << 18;

/// Arrays on their way into a file.
#[derive(Default)]
pub(super) struct Arrays {
    data: Vec<u8>,
}

impl Arrays {
    /// Take an array; the element that names it.
    pub fn add(&mut self, kind: &str, name: &str, width: usize, bytes: &[u8]) -> io::Result<String> {
        let offset = self.data.len();
        let blocks: Vec<Vec<u8>> = bytes.par_chunks(BLOCK).map(deflate).collect::<io::Result<_>>()?;
        let last = bytes.len() % BLOCK;
        for number in [blocks.len(), BLOCK, last].into_iter().chain(blocks.iter().map(Vec::len)) {
            self.data.extend((number as u64).to_le_bytes());
        }
        blocks.iter().for_each(|b| self.data.extend_from_slice(b));
        Ok(format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{width}\" format=\"appended\" offset=\"{offset}\"/>\n"
        ))
    }

    /// A whole file: the text inside the element of its type, then the arrays.
    pub fn write(&self, file_type: &str, inside: &str, out: &mut impl Write) -> io::Result<()> {
        write!(
            out,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"{file_type}\" version=\"1.0\" byte_order=\"LittleEndian\" \
             header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\n<{file_type}>\n{inside}</{file_type}>\n\
             <AppendedData encoding=\"raw\">\n_"
        )?;
        out.write_all(&self.data)?;
        out.write_all(b"\n</AppendedData>\n</VTKFile>\n")
    }
}

fn deflate(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = ZlibEncoder::new(Vec::with_capacity(block.len() / 2), Compression::fast());
    out.write_all(block)?;
    out.finish()
}

/// Little-endian bytes of numbers.
pub(super) fn bytes_of<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    values.flatten().collect()
}

/// The text of a file, and its arrays by their elements.
pub(super) struct Parsed<'a> {
    pub text: &'a str,
    appended: &'a [u8],
}

impl<'a> Parsed<'a> {
    /// A file of a type that [`Arrays::write`] wrote.
    pub fn open(bytes: &'a [u8], file_type: &str) -> Result<Self, &'static str> {
        let start = bytes.windows(2).position(|w| w == b"\n_").ok_or("no appended data")? + 2;
        let text = std::str::from_utf8(&bytes[..start]).map_err(|_| "not text before its arrays")?;
        let head = text.lines().find(|l| l.contains("<VTKFile")).ok_or("not a file of VTK")?;
        if attribute(head, "type") != Some(file_type) {
            return Err("another type of file");
        }
        if !bytes.trim_ascii_end().ends_with(b"</VTKFile>") {
            return Err("the file ends too early");
        }
        let raw = text.contains("encoding=\"raw\"") && attribute(head, "header_type") == Some("UInt64");
        if !raw || attribute(head, "compressor") != Some("vtkZLibDataCompressor") {
            return Err("only raw appended data, compressed by zlib with sizes of 64 bits, are read here");
        }
        Ok(Self { text, appended: &bytes[start..] })
    }

    /// The elements that name arrays, in order.
    pub fn elements(&self) -> impl Iterator<Item = &'a str> {
        self.text.lines().filter(|l| l.contains("<DataArray"))
    }

    /// The bytes of the array that an element names.
    pub fn array(&self, element: &str) -> Option<Vec<u8>> {
        let at: usize = attribute(element, "offset")?.parse().ok()?;
        let number = |i: usize| -> Option<usize> {
            let place = at.checked_add(i.checked_mul(8)?)?;
            let raw = self.appended.get(place..place.checked_add(8)?)?;
            usize::try_from(u64::from_le_bytes(*raw.first_chunk()?)).ok()
        };
        let (count, size, last) = (number(0)?, number(1)?, number(2)?);
        let mut from = at.checked_add(count.checked_add(3)?.checked_mul(8)?)?;
        let mut out = Vec::new();
        for i in 0..count {
            let packed = number(3 + i)?;
            let block = self.appended.get(from..from.checked_add(packed)?)?;
            let most = if i + 1 == count && last > 0 { last } else { size };
            let before = out.len();
            // A damaged size may not ask for more than the block can hold.
            ZlibDecoder::new(block).take(most as u64).read_to_end(&mut out).ok()?;
            if out.len() - before != most {
                return None;
            }
            from += packed;
        }
        Some(out)
    }
}

/// The value of an attribute of an element.
pub(super) fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(&format!(" {name}=\"")).nth(1)?.split('"').next()
}

/// Whether a name can stand in XML between quotes.
pub(super) fn plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || " _-.".contains(c))
}

/// 32-bit numbers from bytes.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_length_come_back() {
        let mut arrays = Arrays::default();
        let data: Vec<Vec<u8>> = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1]
            .map(|n| (0..n).map(|i| ((i * i) >> 3) as u8).collect())
            .into();
        let lines: String = data.iter().map(|d| arrays.add("UInt8", "a", 1, d).unwrap()).collect();
        let mut file = Vec::new();
        arrays.write("PolyData", &lines, &mut file).unwrap();
        let parsed = Parsed::open(&file, "PolyData").unwrap();
        let back: Vec<Vec<u8>> = parsed.elements().map(|e| parsed.array(e).unwrap()).collect();
        assert_eq!(back, data);
        assert!(Parsed::open(&file, "UnstructuredGrid").is_err());
    }
}
