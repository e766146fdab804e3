//! Work in a pool of threads, watched from the caller's thread.
//!
//! The pool computes; the caller's thread wakes several times a second, shows progress and asks
//! whether to cancel. So a host's callback always runs on the thread that called us.

use super::report::Progress;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Between two looks at the work.
const INTERVAL: Duration = Duration::from_millis(50);

/// Work that is over sooner than this is waited for without going to sleep, which takes longer to wake from. The core is
/// offered meanwhile: where all are taken, the work could not begin before the wait was over.
const SHORT: Duration = Duration::from_micros(50);

/// Run `work` in the pool. `watch` returns true to raise the flag.
pub(super) fn run<T: Send>(
    pool: &rayon::ThreadPool,
    cancel: &Cancel,
    progress: &Mutex<Progress>,
    watch: &mut dyn FnMut(&Progress) -> bool,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let mut result = None;
    let slot = &mut result;
    pool.in_place_scope(|scope| {
        // Dropped when the work ends, also by a panic, which wakes the loop below.
        let (alive, ended) = channel::<()>();
        scope.spawn(move |_| {
            let _alive = alive;
            *slot = Some(work());
        });
        let begin = Instant::now();
        loop {
            let now = *progress.lock().unwrap_or_else(|e| e.into_inner());
            if watch(&now) {
                cancel.cancel();
            }
            while begin.elapsed() < SHORT && ended.try_recv() == Err(TryRecvError::Empty) {
                std::thread::yield_now();
            }
            if ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
    });
    result.unwrap_or_else(|| Err(Error::diverged("simulation", "the work ended without a result")))
}
