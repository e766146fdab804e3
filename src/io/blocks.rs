//! Long files, written in blocks past the memory of the operating system.
//!
//! A checkpoint of a gigabyte is written once and hardly ever read. Through the page cache it would take as much memory again,
//! push out what the host wants to keep there, and wait for pages: on machines that lend memory to each other finding them is
//! slower than the disk. So full blocks go straight to the disk (`O_DIRECT`) from one of two buffers, by a thread of their
//! own, while the other one is filled. Where the system or the disk does not allow it, and for what is left over at the end,
//! blocks are written as usual. Nothing is safe before the file is flushed; that is the caller's part.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Bytes of a block: long enough that a disk is never idle between two.
pub(super) const BLOCK: usize = 8 << 20;
/// Where blocks may begin, in memory and on every disk.
const PAGE: usize = 4096;

/// A file that is being written in blocks.
pub(super) struct Blocks<'a, 'scope> {
    scope: &'scope Scope<'scope, 'a>,
    lane: Lane<'scope>,
    filling: Block,
    beside: Option<Beside<'scope>>,
}

/// The thread that writes, and what goes to it and comes back.
struct Beside<'scope> {
    full: SyncSender<Block>,
    empty: Receiver<Block>,
    thread: ScopedJoinHandle<'scope, io::Result<()>>,
}

impl<'a, 'scope> Blocks<'a, 'scope> {
    pub fn begin(scope: &'scope Scope<'scope, 'a>, file: &'scope File) -> io::Result<Self> {
        Ok(Blocks { scope, lane: Lane { file, straight: None, at: 0 }, filling: Block::new()?, beside: None })
    }

    pub fn give(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            piece = self.filling.take(piece);
            if self.filling.is_full() {
                self.pass_on()?;
            }
        }
        Ok(())
    }

    /// Hand a full block to the thread and go on with the one that it gives back. The first full block starts the thread; a
    /// system that has none to spare has its blocks written here.
    fn pass_on(&mut self) -> io::Result<()> {
        if self.beside.is_none() && self.lane.at == 0 {
            self.beside = Beside::begin(self.scope, self.lane.file)?;
        }
        let Some(beside) = &self.beside else {
            self.lane.write(&self.filling)?;
            self.filling.clear();
            return Ok(());
        };
        // The thread ends early only with an error, which the end reports.
        let gone = || io::Error::other("it could not be written");
        let next = beside.empty.recv().map_err(|_| gone())?;
        self.lane.at += BLOCK as u64;
        beside.full.send(std::mem::replace(&mut self.filling, next)).map_err(|_| gone())
    }

    /// Wait for the blocks under way, then write what is left over; `filled` is what the maker of the pieces said.
    pub fn end(mut self, filled: io::Result<()>) -> io::Result<()> {
        if let Some(Beside { full, empty, thread }) = self.beside {
            drop((full, empty));
            let died = |_| Err(io::Error::other("the thread that writes has died"));
            // What it says is the reason, if there is one.
            thread.join().unwrap_or_else(died)?;
        }
        filled?;
        self.lane.write(&self.filling)
    }
}

impl<'scope> Beside<'scope> {
    fn begin(scope: &'scope Scope<'scope, '_>, file: &'scope File) -> io::Result<Option<Self>> {
        let (full, filled) = sync_channel::<Block>(1);
        let (give_back, empty) = sync_channel(2);
        // Nobody else holds the other end yet, and there is room.
        let _ = give_back.send(Block::new()?);
        let work = move || {
            let mut lane = Lane { file, straight: straight(file), at: 0 };
            for mut block in filled {
                lane.write(&block)?;
                block.clear();
                // At the end nobody waits for it.
                let _ = give_back.send(block);
            }
            Ok(())
        };
        let thread = Builder::new().name("meniscus-write".into()).spawn_scoped(scope, work);
        Ok(thread.ok().map(|thread| Beside { full, empty, thread }))
    }
}

/// Where the next block goes.
struct Lane<'a> {
    file: &'a File,
    straight: Option<File>,
    at: u64,
}

impl Lane<'_> {
    fn write(&mut self, block: &Block) -> io::Result<()> {
        let (bytes, at) = (block.bytes(), self.at);
        let write = |mut file: &File| file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        self.at += bytes.len() as u64;
        match self.straight.as_ref().filter(|_| block.is_full()).map(write) {
            // The disk wants other blocks than these.
            Some(Err(e)) if e.kind() == ErrorKind::InvalidInput => self.straight = None,
            Some(written) => return written,
            None => {}
        }
        write(self.file)
    }
}

/// The same file once more, with nothing kept in memory.
fn straight(file: &File) -> Option<File> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        use std::os::{fd::AsRawFd, unix::fs::OpenOptionsExt};
        const O_DIRECT: i32 = if cfg!(target_arch = "x86_64") { 0o40_000 } else { 0o200_000 };
        // By its number: the name might lead to another file by now.
        let same = format!("/proc/self/fd/{}", file.as_raw_fd());
        OpenOptions::new().write(true).custom_flags(O_DIRECT).open(same).ok()
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = (file, OpenOptions::new());
        None
    }
}

/// Bytes that begin at a page.
struct Block {
    room: Vec<u8>,
    start: usize,
}

impl Block {
    fn new() -> io::Result<Self> {
        let mut room: Vec<u8> = Vec::new();
        room.try_reserve_exact(BLOCK + PAGE)?;
        let start = room.as_ptr().align_offset(PAGE).min(PAGE);
        room.resize(start, 0);
        Ok(Block { room, start })
    }

    fn bytes(&self) -> &[u8] {
        &self.room[self.start..]
    }

    fn is_full(&self) -> bool {
        self.bytes().len() == BLOCK
    }

    fn clear(&mut self) {
        self.room.truncate(self.start);
    }

    /// As much of the piece as there is room for; the rest is returned.
    fn take<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let (now, later) = piece.split_at(piece.len().min(BLOCK - self.bytes().len()));
        self.room.extend_from_slice(now);
        later
    }
}
