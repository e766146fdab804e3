//! A pool of threads that ends with its owner.
//!
//! Dropping a pool of rayon tells its threads to end but does not wait for them. A host that unloads us
//! or counts its memory needs them gone, so this one waits.

use crate::error::{Error, Result};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// More threads than any machine of today has are a mistake.
const MAX_THREADS: usize = 1024;
/// Bytes of stack for each thread.
const STACK: usize = 4 << 20;

/// Threads of one simulation.
pub struct Pool {
    // Fields are dropped in this order: first the threads are told to end, then they are waited for.
    pool: rayon::ThreadPool,
    _threads: Threads,
}

type Handles = Arc<Mutex<Vec<JoinHandle<()>>>>;

/// Waits for all of them when dropped.
struct Threads(Handles);

impl Pool {
    /// A pool with this many threads, or one for each core.
    pub fn new(threads: Option<usize>) -> Result<Self> {
        let handles = Handles::default();
        let kept = handles.clone();
        // Both numbers are given, so that nothing is looked up in the environment.
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.clamp(1, MAX_THREADS));
        let spawn = move |thread: rayon::ThreadBuilder| {
            let named = std::thread::Builder::new().name(format!("meniscus-{}", thread.index()));
            let handle = named.stack_size(STACK).spawn(|| thread.run())?;
            kept.lock().unwrap_or_else(|e| e.into_inner()).push(handle);
            Ok(())
        };
        let pool = builder.spawn_handler(spawn).build();
        let pool = pool.map_err(|e| Error::invalid("threads", e.to_string()))?;
        Ok(Self { pool, _threads: Threads(handles) })
    }
}

impl Deref for Pool {
    type Target = rayon::ThreadPool;

    fn deref(&self) -> &Self::Target {
        &self.pool
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let handles = std::mem::take(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()));
        // A thread that panicked has already told whoever waited for its work.
        handles.into_iter().for_each(|h| drop(h.join()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn threads_are_gone_when_the_pool_is() {
        let count = Arc::new(AtomicUsize::new(0));
        struct Alive(Arc<AtomicUsize>);
        impl Drop for Alive {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        thread_local!(static HERE: std::cell::RefCell<Option<Alive>> = const { std::cell::RefCell::new(None) });
        let pool = Pool::new(Some(3)).unwrap();
        pool.broadcast(|_| {
            count.fetch_add(1, Ordering::SeqCst);
            HERE.with(|h| *h.borrow_mut() = Some(Alive(count.clone())));
        });
        assert_eq!(count.load(Ordering::SeqCst), 3);
        drop(pool);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}
