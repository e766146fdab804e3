//! Matrix Market files: the exchange format of sparse linear algebra [BPR96].
//!
//! ```text
//!   %%MatrixMarket matrix coordinate real symmetric     banner: coordinate or array, general or symmetric
//!   % comments
//!   3 3 4                                               rows, columns, entries (array: rows, columns)
//!   1 1 2.0                                             row, column, value; counted from 1
//! ```
//!
//! Symmetric files hold the lower triangle. Numbers are written with as many digits as are needed to read
//! the same bits back. A reader's error names the line.

use super::csr::Csr;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Read a sparse matrix in coordinate form; entries at the same place are added.
pub fn read_matrix(path: &Path) -> Result<Csr> {
    let mut lines = Lines::open(path)?;
    let banner = lines.banner()?;
    if banner[0] != "coordinate" {
        return Err(lines.error("the matrix must be in coordinate form"));
    }
    let pattern = match banner[1].as_str() {
        "real" | "integer" | "double" => false,
        "pattern" => true,
        other => return Err(lines.error(&format!("values of kind {other} are not supported"))),
    };
    let symmetric = match banner[2].as_str() {
        "general" => false,
        "symmetric" => true,
        other => return Err(lines.error(&format!("{other} matrices are not supported"))),
    };
    let [rows, columns, entries] = lines.sizes::<3>()?;
    if rows >= u32::MAX as u64 || columns >= u32::MAX as u64 || entries > u32::MAX as u64 {
        return Err(lines.error(&format!("{rows} rows, {columns} columns or {entries} entries are too many")));
    }
    // The file, not its header, decides how much memory is taken.
    let mut triplets = Vec::with_capacity(entries.min(1 << 20) as usize);
    for _ in 0..entries {
        let words = lines.next_words()?;
        if words.len() != if pattern { 2 } else { 3 } {
            return Err(lines.error("a row, a column and a value were expected"));
        }
        let (i, j): (u64, u64) = (lines.parse(&words[0])?, lines.parse(&words[1])?);
        let value: f64 = if pattern { 1.0 } else { lines.parse(&words[2])? };
        if i == 0 || j == 0 || i > rows || j > columns {
            return Err(
                lines.error(&format!("entry ({i}, {j}) is outside {rows} rows and {columns} columns"))
            );
        }
        triplets.push((i as u32 - 1, j as u32 - 1, value));
        if symmetric && i != j {
            triplets.push((j as u32 - 1, i as u32 - 1, value));
        }
    }
    lines.end()?;
    Csr::from_triplets(rows as usize, columns as usize, &triplets)
}

/// Read a vector: an array with one column.
pub fn read_vector(path: &Path) -> Result<Vec<f64>> {
    let mut lines = Lines::open(path)?;
    let banner = lines.banner()?;
    if banner[0] != "array" || banner[2] != "general" || banner[1] == "complex" {
        return Err(lines.error("a vector must be a real general array"));
    }
    let [rows, columns] = lines.sizes::<2>()?;
    if columns != 1 {
        return Err(lines.error(&format!("a vector has 1 column, not {columns}")));
    }
    let mut values = Vec::with_capacity(rows.min(1 << 20) as usize);
    for _ in 0..rows {
        let words = lines.next_words()?;
        let [word] = &words[..] else {
            return Err(lines.error("one number was expected"));
        };
        values.push(lines.parse(word)?);
    }
    lines.end()?;
    Ok(values)
}

/// Write a matrix, all its entries.
pub fn write_matrix(path: &Path, a: &Csr) -> Result<()> {
    write(path, |out| format_matrix(out, a))
}

/// Write a vector.
pub fn write_vector(path: &Path, v: &[f64]) -> Result<()> {
    write(path, |out| format_vector(out, v))
}

/// A matrix as text.
pub fn format_matrix(out: &mut dyn Write, a: &Csr) -> std::io::Result<()> {
    writeln!(out, "%%MatrixMarket matrix coordinate real general")?;
    writeln!(out, "{} {} {}", a.rows(), a.column_count(), a.entries())?;
    for i in 0..a.rows() {
        let (columns, values) = a.row(i);
        for (c, v) in columns.iter().zip(values) {
            writeln!(out, "{} {} {v:e}", i + 1, c + 1)?;
        }
    }
    Ok(())
}

/// A vector as text.
pub fn format_vector(out: &mut dyn Write, v: &[f64]) -> std::io::Result<()> {
    writeln!(out, "%%MatrixMarket matrix array real general\n{} 1", v.len())?;
    v.iter().try_for_each(|v| writeln!(out, "{v:e}"))
}

fn write(path: &Path, body: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    let run = || {
        let mut out = BufWriter::new(File::create(path)?);
        body(&mut out)?;
        out.flush()
    };
    run().map_err(|e| Error::io(path, &e))
}

/// The lines of a file, counted.
struct Lines {
    reader: BufReader<File>,
    name: String,
    number: usize,
    line: String,
}

impl Lines {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, &e))?;
        let name = path.display().to_string();
        Ok(Self { reader: BufReader::new(file), name, number: 0, line: String::new() })
    }

    fn error(&self, message: &str) -> Error {
        Error::Format {
            file: self.name.clone(),
            place: format!("line {}", self.number),
            message: message.to_string(),
        }
    }

    /// The next line, or false at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        match self.reader.read_line(&mut self.line) {
            Ok(count) => Ok(count > 0),
            Err(e) => Err(self.error(&e.to_string())),
        }
    }

    /// Format, field and symmetry, in lower case.
    fn banner(&mut self) -> Result<[String; 3]> {
        self.advance()?;
        let lower = self.line.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        match words[..] {
            ["%%matrixmarket", "matrix", format, field, symmetry] => {
                Ok([format, field, symmetry].map(str::to_string))
            }
            _ => Err(self.error("the first line must be a %%MatrixMarket matrix banner")),
        }
    }

    /// The words of the next line that is neither empty nor a comment.
    fn next_words(&mut self) -> Result<Vec<String>> {
        while self.advance()? {
            if !self.line.trim().is_empty() && !self.line.starts_with('%') {
                return Ok(self.line.split_whitespace().map(str::to_string).collect());
            }
        }
        Err(self.error("the file ends too early"))
    }

    fn sizes<const N: usize>(&mut self) -> Result<[u64; N]> {
        let words = self.next_words()?;
        if words.len() != N {
            return Err(self.error(&format!("{N} sizes were expected")));
        }
        let mut sizes = [0; N];
        for (size, word) in sizes.iter_mut().zip(&words) {
            *size = self.parse(word)?;
        }
        Ok(sizes)
    }

    fn parse<T: std::str::FromStr>(&self, word: &str) -> Result<T> {
        word.parse().map_err(|_| self.error(&format!("\"{word}\" is not a number that fits here")))
    }

    fn end(&mut self) -> Result<()> {
        while self.advance()? {
            if !self.line.trim().is_empty() && !self.line.starts_with('%') {
                return Err(self.error("there is more than the header promised"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of its own in the system's temporary folder, removed at the end.
    struct Temporary(std::path::PathBuf);

    impl Temporary {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("meniscus-{}-{name}.mtx", std::process::id())))
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn read_text(name: &str, text: &str) -> Result<Csr> {
        let file = Temporary::new(name);
        std::fs::write(&file.0, text).unwrap();
        read_matrix(&file.0)
    }

    #[test]
    fn what_is_written_is_read_back_bit_for_bit() {
        let (matrix, vector) = (Temporary::new("matrix"), Temporary::new("vector"));
        let a = Csr::from_triplets(3, 4, &[(0, 3, 0.1), (2, 0, -1e-300), (1, 1, 1.0 / 3.0)]).unwrap();
        write_matrix(&matrix.0, &a).unwrap();
        assert_eq!(read_matrix(&matrix.0).unwrap(), a);
        let v = [0.1, -2.5e200, 5e-324, 0.0];
        write_vector(&vector.0, &v).unwrap();
        assert_eq!(read_vector(&vector.0).unwrap(), v);
    }

    #[test]
    fn a_symmetric_file_fills_both_triangles() {
        let a = read_text(
            "symmetric",
            "%%MatrixMarket matrix coordinate real symmetric\n% c\n\n2 2 2\n1 1 4\n2 1 -1\n",
        )
        .unwrap();
        assert_eq!((a.get(0, 0), a.get(0, 1), a.get(1, 0)), (4.0, -1.0, -1.0));
    }

    #[test]
    fn errors_name_the_line() {
        let banner = "%%MatrixMarket matrix coordinate real general\n";
        let place = |text: &str| match read_text("bad", text) {
            Err(Error::Format { place, .. }) => place,
            other => format!("{other:?}"),
        };
        assert_eq!(place("hello\n"), "line 1");
        assert_eq!(place(&format!("{banner}2 2\n")), "line 2");
        assert_eq!(place(&format!("{banner}2 2 1\n1 x 1\n")), "line 3");
        assert_eq!(place(&format!("{banner}2 2 1\n3 1 1\n")), "line 3");
        assert_eq!(place(&format!("{banner}2 2 2\n1 1 1\n")), "line 4");
        assert_eq!(place(&format!("{banner}2 2 1\n1 1 1\n1 2 1\n")), "line 4");
        assert_eq!(place(&format!("{banner}99999999999 2 1\n")), "line 2");
        assert_eq!(place("%%MatrixMarket matrix coordinate complex general\n1 1 1\n"), "line 1");
        assert!(read_matrix(Path::new("/nonexistent/file")).is_err());
    }
}
