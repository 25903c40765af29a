//! Does the work of many seeds on both processors.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Two processors look at networks side by side, unless one is asked for.
const THREADS: usize = 2;
/// So many seeds are taken at a time.
const BATCH: u64 = 50;
/// After so many batches is said how far it is.
const SAID_AFTER: u64 = 20;

/// Does `work` for every seed, and says now and then how far it is. Returns what each
/// thread counted.
pub fn side_by_side<T: Default + Send>(
    seeds: &Range<u64>,
    threads: Option<usize>,
    work: impl Fn(u64, &mut T) + Sync,
) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    let count = || {
        let mut counted = T::default();
        loop {
            let begin = next.fetch_add(BATCH, Ordering::Relaxed);
            if begin >= seeds.end {
                return counted;
            }
            let done = begin - seeds.start;
            if done > 0 && done.is_multiple_of(SAID_AFTER * BATCH) {
                eprintln!("{done} of {} networks", seeds.end - seeds.start);
            }
            for seed in begin..seeds.end.min(begin + BATCH) {
                work(seed, &mut counted);
            }
        }
    };
    thread::scope(|scope| {
        let threads = 0..threads.unwrap_or(THREADS).max(1);
        let workers: Vec<_> = threads.map(|_| scope.spawn(count)).collect();
        let workers = workers.into_iter();
        let counted = workers.map(|worker| worker.join());
        counted
            .map(|counted| counted.expect("a worker that panics has said why"))
            .collect()
    })
}
