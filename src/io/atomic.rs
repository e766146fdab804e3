//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name in the same folder (created anew, never followed through a
//! link), flushed to the disk, renamed over the old one, and the folder is flushed. Until the rename
//! the old file is untouched; after it the new one is complete. A failure removes the temporary file.
//! An fsync that failed is never repeated: the pages it lost would count as clean.

use super::blocks::Blocks;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Replace or create a file with these bytes.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// Replace or create a file with what `fill` writes.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
    publish(path, |file| {
        let mut out = BufWriter::with_capacity(BUFFER, file);
        fill(&mut out)?;
        out.flush()
    })
}

/// Replace or create a file with the pieces that `fill` hands over, while the disk is busy with those before them.
pub fn write_pieces(
    path: &Path,
    fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
) -> Result<()> {
    publish(path, |file| {
        std::thread::scope(|scope| {
            let mut blocks = Blocks::begin(scope, file)?;
            let filled = fill(&mut |piece| blocks.give(piece));
            blocks.end(filled)
        })
    })
}

/// What a short file is collected in.
const BUFFER: usize = 1 << 18;

/// Create a file under a temporary name, have it filled, flush it, and give it its name.
fn publish(path: &Path, fill: impl FnOnce(&File) -> io::Result<()>) -> Result<()> {
    let temporary = temporary_name(path);
    let file =
        OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(|e| explain(path, &e))?;
    let written = fill(&file).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&temporary, path));
    if let Err(e) = written {
        // The first failure is the one to report, so what the removal says does not matter.
        let _ = std::fs::remove_file(&temporary);
        return Err(explain(path, &e));
    }
    sync_folder(path)
}

/// All bytes of a file of at most `most` bytes. A device or a pipe might never end, or never begin, so only files
/// are read.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let told = |e: io::Error| Error::io(path, &e);
    if !std::fs::metadata(path).map_err(told)?.is_file() {
        return Err(Error::invalid(path.display().to_string(), "is not a file"));
    }
    let mut bytes = Vec::new();
    // One more than allowed tells a file that is too long, also one that grows meanwhile.
    File::open(path).map_err(told)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() as u64 > most {
        return Err(Error::invalid(path.display().to_string(), format!("is longer than {most} bytes")));
    }
    Ok(bytes)
}

/// Replace or create a file with what `fill` writes under the name that it is given: for libraries that open files
/// themselves.
pub fn write_by(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let temporary = temporary_name(path);
    let written = fill(&temporary).and_then(|()| {
        let synced = File::open(&temporary).and_then(|f| f.sync_all());
        synced.and_then(|()| std::fs::rename(&temporary, path)).map_err(|e| explain(path, &e))
    });
    if written.is_err() {
        // The first failure is the one to report.
        let _ = std::fs::remove_file(&temporary);
        return written;
    }
    sync_folder(path)
}

/// Make a folder and its parents; one that exists is fine.
pub fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| explain(path, &e))
}

/// What the operating system said, with the fix.
pub fn explain(path: &Path, error: &io::Error) -> Error {
    let fix = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full: free some space or choose another folder"
        }
        ErrorKind::PermissionDenied => {
            "writing is not allowed here: choose another folder or change its permissions"
        }
        ErrorKind::ReadOnlyFilesystem => "the disk is read-only: choose another folder",
        ErrorKind::NotADirectory => "a part of the path is a file, not a folder: choose another folder",
        ErrorKind::AlreadyExists => "a file is in the way: remove it or choose another folder",
        ErrorKind::FileTooLarge => "the file is larger than the system allows: raise the limit (ulimit -f)",
        _ => return Error::io(path, error),
    };
    Error::Io { path: path.display().to_string(), message: format!("{fix} ({error})") }
}

fn sync_folder(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    File::open(folder).and_then(|f| f.sync_all()).map_err(|e| explain(folder, &e))
}

/// A name beside the file that no other writer uses.
fn temporary_name(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::super::blocks::BLOCK;
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("meniscus_atomic_{name}_{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn entries(path: &Path) -> Vec<String> {
        std::fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let dir = folder("replace");
        let path = dir.join("a.bin");
        write(&path, b"old").unwrap();
        write(&path, b"new and longer").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new and longer");
        assert_eq!(entries(&dir), ["a.bin"]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_long_file_is_the_sum_of_its_pieces() {
        let dir = folder("pieces");
        let path = dir.join("a.bin");
        // Some blocks, in pieces that do not meet them.
        let whole: Vec<u8> = (0..BLOCK * 5 + BLOCK / 3).map(|i| ((i * 31) >> 7) as u8).collect();
        write_pieces(&path, |give| whole.chunks(BLOCK / 7).chain([&b"end"[..]]).try_for_each(give)).unwrap();
        let read = std::fs::read(&path).unwrap();
        assert!(read[..whole.len()] == whole && &read[whole.len()..] == b"end");
        let half = |give: &mut dyn FnMut(&[u8]) -> io::Result<()>| {
            give(&whole)?;
            Err(io::Error::from(ErrorKind::StorageFull))
        };
        let message = write_pieces(&path, half).unwrap_err().to_string();
        assert!(message.contains("disk is full"), "{message}");
        assert_eq!(std::fs::read(&path).unwrap().len(), whole.len() + 3, "the old one is left");
        assert_eq!(entries(&dir), ["a.bin"]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let dir = folder("fail");
        let path = dir.join("a.bin");
        write(&path, b"old").unwrap();
        let full = |out: &mut BufWriter<&File>| {
            out.write_all(b"half of it")?;
            Err(io::Error::from(ErrorKind::StorageFull))
        };
        let message = write_with(&path, full).unwrap_err().to_string();
        assert!(message.contains("disk is full") && message.contains("a.bin"), "{message}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(entries(&dir), ["a.bin"]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_folder_that_is_a_file_is_explained() {
        let dir = folder("file");
        let path = dir.join("a");
        write(&path, b"a file").unwrap();
        let message = write(&path.join("b"), b"x").unwrap_err().to_string();
        assert!(message.contains("not a folder"), "{message}");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
