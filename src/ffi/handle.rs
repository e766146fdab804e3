//! Handles: numbers that name an object in a table.
//!
//! ```text
//!     bits 56–63   0x40 + kind: no address of a user's program looks like this
//!     bits 24–55   generation of the slot, so that a destroyed handle stays destroyed
//!     bits  0–23   slot
//! ```
//!
//! An object is read by many calls at once or changed by one. Who would have to wait gets
//! MNS_ERROR_BUSY instead: a host's interface must never hang, and a callback that comes back into its
//! own object must not lock up.

use super::fault::Fault;
use crate::cancel::Cancel;
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

const SLOT_BITS: u64 = 24;
const TAG_SHIFT: u64 = 56;
const TAG: u64 = 0x40;

const _: () = assert!(size_of::<usize>() == 8, "handles need 64 bits");

/// An object behind a handle.
pub(super) struct Shared<T> {
    what: &'static str,
    state: RwLock<Option<T>>,
    /// Raised by any thread to stop the call that changes the object.
    pub cancel: Cancel,
}

/// Leave to read.
pub(super) struct Reading<'a, T>(RwLockReadGuard<'a, Option<T>>, &'static str);
/// Leave to change.
pub(super) struct Changing<'a, T>(RwLockWriteGuard<'a, Option<T>>, &'static str);

impl<T> Reading<'_, T> {
    pub fn get(&self) -> Result<&T, Fault> {
        self.0.as_ref().ok_or_else(|| Fault::handle(self.1))
    }
}

impl<T> Changing<'_, T> {
    pub fn get(&mut self) -> Result<&mut T, Fault> {
        self.0.as_mut().ok_or_else(|| Fault::handle(self.1))
    }
}

impl<T> Shared<T> {
    pub fn read(&self) -> Result<Reading<'_, T>, Fault> {
        match self.state.try_read() {
            Ok(state) => Ok(Reading(state, self.what)),
            Err(TryLockError::Poisoned(_)) => Err(Fault::poisoned(self.what)),
            Err(TryLockError::WouldBlock) => Err(Fault::busy(self.what)),
        }
    }

    pub fn change(&self) -> Result<Changing<'_, T>, Fault> {
        match self.state.try_write() {
            Ok(state) => Ok(Changing(state, self.what)),
            Err(TryLockError::Poisoned(_)) => Err(Fault::poisoned(self.what)),
            Err(TryLockError::WouldBlock) => Err(Fault::busy(self.what)),
        }
    }

    /// Like [`Shared::change`], also after a panic: for saving the last whole state and for the end.
    pub fn change_anyway(&self) -> Result<Changing<'_, T>, Fault> {
        match self.state.try_write() {
            Ok(state) => Ok(Changing(state, self.what)),
            Err(TryLockError::Poisoned(state)) => Ok(Changing(state.into_inner(), self.what)),
            Err(TryLockError::WouldBlock) => Err(Fault::busy(self.what)),
        }
    }
}

struct Slot<T> {
    generation: u32,
    object: Option<Arc<Shared<T>>>,
}

struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

/// All objects of one kind.
pub(super) struct Table<T> {
    what: &'static str,
    kind: u64,
    slots: Mutex<Slots<T>>,
}

impl<T> Table<T> {
    pub const fn new(what: &'static str, kind: u8) -> Self {
        let slots = Mutex::new(Slots { slots: Vec::new(), free: Vec::new() });
        Self { what, kind: TAG + kind as u64, slots }
    }

    fn lock(&self) -> MutexGuard<'_, Slots<T>> {
        // Nothing panics while the lock is held; were it so, the table would still be whole.
        self.slots.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Take an object in and give its handle.
    pub fn insert<H>(&self, object: T, cancel: Cancel) -> Result<*mut H, Fault> {
        let shared = Arc::new(Shared { what: self.what, state: RwLock::new(Some(object)), cancel });
        let mut table = self.lock();
        let slot = match table.free.pop() {
            Some(slot) => slot as usize,
            None if table.slots.len() < 1 << SLOT_BITS => {
                table.slots.push(Slot { generation: 0, object: None });
                table.slots.len() - 1
            }
            None => return Err(Fault::invalid(self.what, "more objects than there are handles")),
        };
        let entry = &mut table.slots[slot];
        entry.generation += 1;
        entry.object = Some(shared);
        let bits = self.kind << TAG_SHIFT | (entry.generation as u64) << SLOT_BITS | slot as u64;
        Ok(std::ptr::without_provenance_mut(bits as usize))
    }

    fn slot(&self, handle: usize) -> Result<(usize, u32), Fault> {
        let bits = handle as u64;
        if bits == 0 {
            return Err(Fault::invalid(self.what, "the handle is NULL"));
        }
        if bits >> TAG_SHIFT != self.kind {
            return Err(Fault::handle(self.what));
        }
        Ok(((bits & ((1 << SLOT_BITS) - 1)) as usize, (bits >> SLOT_BITS) as u32))
    }

    /// The object that a handle names.
    pub fn get<H>(&self, handle: *const H) -> Result<Arc<Shared<T>>, Fault> {
        let (slot, generation) = self.slot(handle.addr())?;
        let table = self.lock();
        let entry = table.slots.get(slot).filter(|s| s.generation == generation);
        entry.and_then(|s| s.object.clone()).ok_or_else(|| Fault::handle(self.what))
    }

    /// End an object; NULL is nothing to end.
    pub fn remove<H>(&self, handle: *const H) -> Result<(), Fault> {
        if handle.is_null() {
            return Ok(());
        }
        let shared = self.get(handle)?;
        // Whoever got hold of the object a moment ago finds it empty.
        let object = shared.change_anyway()?.0.take().ok_or_else(|| Fault::handle(self.what))?;
        let (slot, generation) = self.slot(handle.addr())?;
        {
            let mut table = self.lock();
            table.slots[slot].object = None;
            // A slot whose generations are used up is never used again.
            if generation < u32::MAX {
                table.free.push(slot as u32);
            }
        }
        drop(object);
        Ok(())
    }
}
