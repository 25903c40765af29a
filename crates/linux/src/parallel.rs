//! Does the same for every part of a network, several parts at a time.
//!
//! What building a network takes is mostly waiting: the kernel makes whoever opens
//! or closes a packet socket wait until no processor reads the old state any more,
//! some milliseconds, and those who wait together wait as long as one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many parts are under way at a time. More than there are processors, because
/// they wait.
const HANDS: usize = 32;

/// Returns what `work` makes of each part, in the order of the parts.
///
/// # Errors
///
/// The first error; parts that were not begun by then are left alone.
pub fn each<T, R, E>(
    parts: &[T],
    work: impl Fn(usize, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send,
    E: Send,
{
    let next = AtomicUsize::new(0);
    let hand = || {
        let mut made = Vec::new();
        while let n = next.fetch_add(1, Ordering::Relaxed)
            && let Some(part) = parts.get(n)
        {
            let result = work(n, part);
            if result.is_err() {
                next.store(parts.len(), Ordering::Relaxed);
            }
            made.push((n, result));
        }
        made
    };
    let mut made = together(parts.len(), hand);
    made.sort_by_key(|(n, _)| *n);
    made.into_iter().map(|(_, result)| result).collect()
}

pub fn drop_all<T: Send>(parts: Vec<T>) {
    let count = parts.len();
    let left = Mutex::new(parts);
    let take = || left.lock().ok()?.pop();
    together(count, || {
        while let Some(part) = take() {
            drop(part);
        }
        Vec::<()>::new()
    });
}

/// Runs `hand` on as many threads as `count` parts are worth, and returns what all
/// of them made.
fn together<R: Send>(count: usize, hand: impl Fn() -> Vec<R> + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let hands: Vec<_> = (0..count.min(HANDS)).map(|_| scope.spawn(&hand)).collect();
        let made = hands.into_iter().map(|hand| match hand.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        made.flatten().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_stands_in_the_order_of_its_parts() {
        let parts: Vec<u32> = (0..1_000).collect();

        let made = each(&parts, |n, part| Ok::<_, ()>((n, part * 2)));

        let expected: Vec<_> = (0..1_000).map(|n| (n as usize, n * 2)).collect();
        assert_eq!(made, Ok(expected));
    }

    #[test]
    fn an_error_ends_the_work() {
        let parts: Vec<u32> = (0..1_000).collect();

        let made = each(&parts, |_, part| match part {
            500 => Err(*part),
            other => Ok(*other),
        });

        assert_eq!(made, Err(500));
    }

    #[test]
    fn every_part_is_dropped() {
        let dropped = AtomicUsize::new(0);
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }

        drop_all((0..100).map(|_| Counted(&dropped)).collect());

        assert_eq!(dropped.into_inner(), 100);
    }
}
